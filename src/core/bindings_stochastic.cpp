// Pegasos and SGD: arrays in, views out.
#include <vector>

#include "bindings.hpp"
#include "kernel_pegasos.hpp"
#include "pegasos.hpp"
#include "sgd.hpp"
#include "stochastic.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

Size n_samples_of(const Rows& rows) {
  return rows.n_samples();
}
Size n_samples_of(const KernelView& rows) {
  return rows.n_samples;
}
Size n_features_of(const Rows& rows) {
  return rows.n_features();
}
Size n_features_of(const KernelView& rows) {
  return rows.n_features;
}
template <class Work>
void visit_rows(const Rows& rows, Work work) {
  std::visit(work, rows.view);
}
template <class Work>
void visit_rows(const KernelView& rows, Work work) {
  work(rows);
}

Size features_of(const Pegasos& method) {
  return method.iterate.n_features;
}
Size features_of(const PlainSgd& method) {
  return method.iterate.n_features;
}
Size features_of(const DenseSgd& method) {
  return method.size - 1;
}

template <class View, class Method>
void descend_checked(const View& self, const BoundTerms& bound, Method& method, Sampler& sampler,
                     Window& window, Random& random, Size max_epochs, bool until_clean,
                     double seconds) {
  const Size n = n_samples_of(self);
  require(n > 0, "there are no rows");
  require(bound.n_samples == n, "terms and rows differ in length");
  require(sampler.n_samples == n, "order and rows differ in length");
  require(window.n_samples == n || window.n_samples == 0, "tally and rows differ in length");
  require(features_of(method) == n_features_of(self), "w and rows differ in n_features");
  bool sound = true;
  for (Size k = 0; k < n; ++k) sound &= 0 <= sampler.order[k] && sampler.order[k] < n;
  require(sound, "order holds a row that does not exist");
  nb::gil_scoped_release release;
  const Budget budget{max_epochs, until_clean, Deadline(seconds)};
  std::vector<double> g(static_cast<std::size_t>((n + sampler.n_batches - 1) / sampler.n_batches));
  visit_rows(self, [&](const auto& rows) {
    descend(rows, bound.terms, method, sampler, window, random, g.data(), budget);
  });
}

template <class View, class Method>
void bind_descend(nb::module_& m) {
  m.def("descend", &descend_checked<View, Method>, "rows"_a, "terms"_a, "method"_a, "sampler"_a,
        "window"_a, "random"_a, "max_epochs"_a, "until_clean"_a, "seconds"_a);
}

void bind_state(nb::module_& m) {
  nb::class_<Sampler>(m, "Sampler", "Epochs of mini-batches, drawn into a caller's array.")
      .def(
          "__init__",
          [](Sampler* self, OutOrder order, Size batch_size, bool uniform) {
            const Size n = static_cast<Size>(order.shape(0));
            require(batch_size >= 1, "batch_size must be at least 1");
            const Size batches = batch_size >= n ? 1 : (n + batch_size - 1) / batch_size;
            new (self) Sampler{order.data(), n, batches, uniform};
          },
          "order"_a.noconvert(), "batch_size"_a, "uniform"_a, nb::keep_alive<1, 2>())
      .def_ro("n_batches", &Sampler::n_batches)
      .def_ro("cursor", &Sampler::cursor)
      .def_ro("epochs", &Sampler::epochs)
      .def("begin", &Sampler::begin, "batch"_a, "Where a batch begins in the order.");

  nb::class_<Window>(m, "Window", "The recent visits, from which the dual point is made.")
      .def(
          "__init__",
          [](Window* self, OutRows tally, Size horizon) {
            require(tally.shape(1) == 2, "tally must have 2 columns");
            require(horizon >= 1, "horizon must be at least 1");
            new (self) Window{tally.data(), static_cast<Size>(tally.shape(0)), horizon};
          },
          "tally"_a.noconvert(), "horizon"_a, nb::keep_alive<1, 2>())
      .def_ro("horizon", &Window::horizon)
      .def_ro("mistakes", &Window::mistakes)
      .def_ro("epoch_mistakes", &Window::epoch_mistakes);

  nb::class_<Iterate>(m, "Iterate", "A scaled point and its average, in two vectors.")
      .def(
          "__init__",
          [](Iterate* self, Out v, Out u) {
            const Size d = static_cast<Size>(v.shape(0));
            require_length(u, d, "u");
            new (self) Iterate{v.data(), u.data(), d};
          },
          "v"_a.noconvert(), "u"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def_rw("scale", &Iterate::scale)
      .def_rw("mass", &Iterate::mass)
      .def_rw("total", &Iterate::total)
      .def_rw("b", &Iterate::b)
      .def_rw("b_sum", &Iterate::b_sum)
      .def_rw("steps", &Iterate::steps);
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  bind_state(m);

  nb::enum_<Averaging>(m, "Averaging")
      .value("none", Averaging::none)
      .value("uniform", Averaging::uniform)
      .value("suffix", Averaging::suffix)
      .value("weighted", Averaging::weighted);
  nb::class_<Pegasos>(m, "Pegasos")
      .def(
          "__init__",
          [](Pegasos* self, Iterate& iterate, Bias bias, Size n_samples, double offset,
             Averaging averaging, double radius, bool bias_in_ball) {
            new (self)
                Pegasos{iterate, bias,        static_cast<double>(n_samples), offset, averaging,
                        radius,  bias_in_ball};
          },
          "iterate"_a, "bias"_a, "n_samples"_a, "offset"_a, "averaging"_a, "radius"_a,
          "bias_in_ball"_a, nb::keep_alive<1, 2>())
      .def_ro("offset", &Pegasos::offset)
      .def_rw("bias", &Pegasos::bias);
  bind_descend<Rows, Pegasos>(m);
  bind_descend<KernelView, Pegasos>(m);

  nb::class_<Schedule>(m, "Schedule", "step(t) = first / (offset + rate t)^power")
      .def(nb::init<double, double, double, double>(), "first"_a, "offset"_a, "rate"_a, "power"_a)
      .def("step", &Schedule::step, "t"_a);
  nb::class_<SgdProblem>(m, "SgdProblem")
      .def(nb::init<double, double, Schedule, Bias>(), "lam"_a, "per_row"_a, "schedule"_a, "bias"_a)
      .def_rw("bias", &SgdProblem::bias);
  nb::class_<PlainSgd>(m, "PlainSgd")
      .def(
          "__init__",
          [](PlainSgd* self, Iterate& iterate, SgdProblem problem) {
            new (self) PlainSgd{iterate, problem};
          },
          "iterate"_a, "problem"_a, nb::keep_alive<1, 2>())
      .def_rw("problem", &PlainSgd::problem);
  bind_descend<Rows, PlainSgd>(m);

  nb::enum_<Update>(m, "Update")
      .value("momentum", Update::momentum)
      .value("nesterov", Update::nesterov)
      .value("adagrad", Update::adagrad)
      .value("rmsprop", Update::rmsprop)
      .value("adam", Update::adam);
  nb::class_<DenseSgd>(m, "DenseSgd", "Rules that remember past gradients.")
      .def(
          "__init__",
          [](DenseSgd* self, OutRows memory, SgdProblem problem, Update update, double momentum,
             double decay) {
            require(memory.shape(0) == 5 && memory.shape(1) >= 1,
                    "memory must be 5 x (n_features + 1)");
            const Size size = static_cast<Size>(memory.shape(1));
            double* at = memory.data();
            new (self) DenseSgd{at,   at + size, at + 2 * size, at + 3 * size, at + 4 * size,
                                size, problem,   update,        momentum,      decay};
          },
          "memory"_a.noconvert(), "problem"_a, "update"_a, "momentum"_a, "decay"_a,
          nb::keep_alive<1, 2>())
      .def_ro("steps", &DenseSgd::done)
      .def_ro("averaged", &DenseSgd::averaged)
      .def_rw("problem", &DenseSgd::problem);
  bind_descend<Rows, DenseSgd>(m);
}

}  // namespace maxmargin
