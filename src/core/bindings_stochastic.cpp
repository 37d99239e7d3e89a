// Pegasos and SGD: arrays in, views out.
#include "bindings.hpp"
#include "pegasos.hpp"
#include "sgd.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

LazyVector lazy(Out& v, Out& u) {
  const Size size = static_cast<Size>(v.shape(0));
  require_length(u, size, "u");
  return {v.data(), u.data(), size};
}

void require_state(const Rows& rows, const BoundTerms& bound, const Sampler& sampler, Out& g) {
  const Size n = rows.n_samples();
  require(n > 0, "there are no rows");
  require(bound.n_samples == n, "terms and rows differ in length");
  require(sampler.n_samples == n, "order and rows differ in length");
  bool sound = true;
  for (Size k = 0; k < n; ++k) sound &= 0 <= sampler.order[k] && sampler.order[k] < n;
  require(sound, "order holds a row that does not exist");
  const Size largest = (n + sampler.n_batches - 1) / sampler.n_batches;
  require(static_cast<Size>(g.shape(0)) >= largest, "g is shorter than a batch");
}

void require_iterate(const Rows& rows, const Iterate& iterate) {
  require(iterate.w.size == rows.n_features(), "w and rows differ in n_features");
  require(iterate.beta.size == 0 || iterate.beta.size == rows.n_samples(),
          "beta must have one entry a row, or none");
}

void pegasos_rows(const Rows& self, const BoundTerms& bound, const PegasosRule& rule,
                  Sampler& sampler, Iterate& iterate, Random& random, Out g, Size max_epochs,
                  double seconds) {
  require_state(self, bound, sampler, g);
  require_iterate(self, iterate);
  nb::gil_scoped_release release;
  const Deadline deadline(seconds);
  std::visit(
      [&](const auto& rows) {
        pegasos(rows, bound.terms, rule, sampler, iterate, random, g.data(), max_epochs, deadline);
      },
      self.view);
}

template <class Rule>
void sgd_rows(const Rows& self, const BoundTerms& bound, const SgdProblem& problem, Rule& rule,
              Sampler& sampler, Window& window, Random& random, Out& g, Size max_epochs,
              double seconds) {
  nb::gil_scoped_release release;
  const Deadline deadline(seconds);
  std::visit(
      [&](const auto& rows) {
        sgd(rows, bound.terms, problem, rule, sampler, window, random, g.data(), max_epochs,
            deadline);
      },
      self.view);
}

void sgd_plain(const Rows& self, const BoundTerms& bound, const SgdProblem& problem,
               Iterate& iterate, Sampler& sampler, Window& window, Random& random, Out g,
               Size max_epochs, double seconds) {
  require_state(self, bound, sampler, g);
  require_iterate(self, iterate);
  require(window.n_samples == self.n_samples(), "g_sum and rows differ in length");
  PlainRule rule{iterate};
  sgd_rows(self, bound, problem, rule, sampler, window, random, g, max_epochs, seconds);
}

void sgd_dense(const Rows& self, const BoundTerms& bound, const SgdProblem& problem,
               DenseRule& rule, Sampler& sampler, Window& window, Random& random, Out g,
               Size max_epochs, double seconds) {
  require_state(self, bound, sampler, g);
  require(rule.size == self.n_features() + 1, "w must have n_features + 1 entries");
  require(window.n_samples == self.n_samples(), "g_sum and rows differ in length");
  sgd_rows(self, bound, problem, rule, sampler, window, random, g, max_epochs, seconds);
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

  nb::class_<BiasRule>(m, "BiasRule", "How a stochastic step moves the intercept.")
      .def(nb::init<double, bool>(), "feature"_a, "shrinks"_a)
      .def_ro("feature", &BiasRule::feature)
      .def_ro("shrinks", &BiasRule::shrinks);

  nb::class_<Iterate>(m, "Iterate", "A scaled point and its average, in two vectors each.")
      .def(
          "__init__",
          [](Iterate* self, Out v, Out u, Out beta_v, Out beta_u) {
            new (self) Iterate{lazy(v, u), lazy(beta_v, beta_u)};
          },
          "v"_a.noconvert(), "u"_a.noconvert(), "beta_v"_a.noconvert(), "beta_u"_a.noconvert(),
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
          nb::keep_alive<1, 5>())
      .def_rw("scale", &Iterate::scale)
      .def_rw("mass", &Iterate::mass)
      .def_rw("total", &Iterate::total)
      .def_rw("b", &Iterate::b)
      .def_rw("b_sum", &Iterate::b_sum)
      .def_rw("steps", &Iterate::steps)
      .def_rw("horizon", &Iterate::horizon);

  nb::class_<Window>(m, "Window", "The epochs that the average and the dual point are taken over.")
      .def(
          "__init__",
          [](Window* self, Out g_sum) {
            new (self) Window{g_sum.data(), static_cast<Size>(g_sum.shape(0))};
          },
          "g_sum"_a.noconvert(), nb::keep_alive<1, 2>())
      .def_ro("epochs", &Window::epochs)
      .def_ro("mistakes", &Window::mistakes)
      .def_ro("epoch_mistakes", &Window::epoch_mistakes);
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  bind_state(m);

  nb::enum_<Averaging>(m, "Averaging")
      .value("none", Averaging::none)
      .value("uniform", Averaging::uniform)
      .value("suffix", Averaging::suffix)
      .value("weighted", Averaging::weighted);
  nb::class_<PegasosRule>(m, "PegasosRule")
      .def(nb::init<Averaging, double, BiasRule>(), "averaging"_a, "radius"_a, "bias"_a);
  m.def("pegasos", &pegasos_rows, "rows"_a, "terms"_a, "rule"_a, "sampler"_a, "iterate"_a,
        "random"_a, "g"_a, "max_epochs"_a, "seconds"_a);

  nb::enum_<Update>(m, "Update")
      .value("momentum", Update::momentum)
      .value("nesterov", Update::nesterov)
      .value("adagrad", Update::adagrad)
      .value("rmsprop", Update::rmsprop)
      .value("adam", Update::adam);
  nb::class_<Schedule>(m, "Schedule", "step(t) = first / (offset + rate t)^power")
      .def(nb::init<double, double, double, double>(), "first"_a, "offset"_a, "rate"_a, "power"_a)
      .def("step", &Schedule::step, "t"_a);
  nb::class_<SgdProblem>(m, "SgdProblem")
      .def(nb::init<double, double, Schedule, BiasRule>(), "lam"_a, "per_row"_a, "schedule"_a,
           "bias"_a);
  nb::class_<DenseRule>(m, "DenseRule", "A rule that remembers past gradients.")
      .def(
          "__init__",
          [](DenseRule* self, OutRows memory, Update update, double momentum, double decay) {
            require(memory.shape(0) == 5, "memory must have 5 rows");
            const Size size = static_cast<Size>(memory.shape(1));
            require(size >= 1, "memory needs a column for the bias");
            double* at = memory.data();
            new (self) DenseRule{at,           at + size,     at + 2 * size, at + 3 * size,
                                 at + 4 * size, size,          update,        momentum,
                                 decay};
          },
          "memory"_a.noconvert(), "update"_a, "momentum"_a, "decay"_a, nb::keep_alive<1, 2>())
      .def_ro("steps", &DenseRule::steps);
  m.def("sgd_plain", &sgd_plain, "rows"_a, "terms"_a, "problem"_a, "iterate"_a, "sampler"_a,
        "window"_a, "random"_a, "g"_a, "max_epochs"_a, "seconds"_a);
  m.def("sgd_dense", &sgd_dense, "rows"_a, "terms"_a, "problem"_a, "rule"_a, "sampler"_a,
        "window"_a, "random"_a, "g"_a, "max_epochs"_a, "seconds"_a);
}

}  // namespace maxmargin
