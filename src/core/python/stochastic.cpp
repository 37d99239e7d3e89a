// Pegasos and SGD.
#include <vector>

#include "data/passes.hpp"
#include "python/row_source.hpp"
#include "stochastic/epochs.hpp"
#include "stochastic/kernel_rows.hpp"
#include "stochastic/multiclass_rows.hpp"
#include "stochastic/pegasos.hpp"
#include "stochastic/sgd.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

// Python's handle on the rows of K classes, and the memory that they need.
struct BoundRivalRows {
  const Rows& rows;
  const std::int32_t* y;
  Size n_classes;
  double feature;
  const double* anchor;
  std::vector<std::int32_t> rivals;
  std::vector<double> z;

  template <class Work>
  auto visit(Work work) {
    return std::visit(
        [&](const auto& view) {
          return work(RivalRows<std::decay_t<decltype(view)>>{view, y, n_classes, feature, anchor,
                                                              rivals.data(), z.data()});
        },
        rows.view);
  }
  Size n_features() {
    return visit([](const auto& view) { return view.n_features; });
  }
};

Size n_samples_of(const Rows& rows) {
  return rows.n_samples();
}
Size n_samples_of(const KernelView& rows) {
  return rows.n_samples;
}
Size n_samples_of(const BoundRivalRows& rows) {
  return rows.rows.n_samples();
}
Size n_features_of(const Rows& rows) {
  return rows.n_features();
}
Size n_features_of(const KernelView& rows) {
  return rows.n_features;
}
Size n_features_of(BoundRivalRows& rows) {
  return rows.n_features();
}
template <class Work>
void visit_rows(const Rows& rows, Work work) {
  std::visit(work, rows.view);
}
template <class Work>
void visit_rows(const KernelView& rows, Work work) {
  work(rows);
}
template <class Work>
void visit_rows(BoundRivalRows& rows, Work work) {
  rows.visit(work);
}

// The sums that the dual point is made of, for each row.
template <class View>
Size n_sums_of(const View&) {
  return 1;
}
Size n_sums_of(const BoundRivalRows& rows) {
  return rows.n_classes;
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
void descend_checked(View& self, const BoundTerms& bound, Method& method, const EpochState& state,
                     const EpochBudget& budget) {
  const Size n = n_samples_of(self);
  const Sampler& sampler = state.sampler;
  const Window& window = state.window;
  require(n > 0, "there are no rows");
  require(bound.n_samples == n, "terms and rows differ in length");
  require(sampler.n_samples == n, "order and rows differ in length");
  require(window.n_samples == n || window.n_samples == 0, "tally and rows differ in length");
  require(window.n_sums == n_sums_of(self), "tally has too few or too many columns");
  require(features_of(method) == n_features_of(self), "w and rows differ in n_features");
  require(all_within(sampler.order, n, n), "order holds a row that does not exist");
  nb::gil_scoped_release release;
  visit_rows(self, [&](const auto& rows) {
    MAXMARGIN_CLONED(descend(rows, bound.terms, method, state, budget));
  });
}

template <class View, class Method>
void bind_descend(nb::module_& m) {
  m.def("descend", &descend_checked<View, Method>, "rows"_a, "terms"_a, "method"_a, "state"_a,
        "budget"_a);
}

void bind_sampler(nb::module_& m) {
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
}

void bind_window(nb::module_& m) {
  nb::class_<Window>(m, "Window", "The recent visits, from which the dual point is made.")
      .def(
          "__init__",
          [](Window* self, OutRows tally, Size horizon) {
            require(tally.shape(1) >= 2, "tally must have 2 columns or more");
            require(horizon >= 1, "horizon must be at least 1");
            new (self) Window{tally.data(), static_cast<Size>(tally.shape(0)),
                              static_cast<Size>(tally.shape(1)) - 1, horizon};
          },
          "tally"_a.noconvert(), "horizon"_a, nb::keep_alive<1, 2>())
      .def_ro("horizon", &Window::horizon)
      .def_ro("mistakes", &Window::mistakes)
      .def_ro("epoch_mistakes", &Window::epoch_mistakes);
}

void bind_epochs(nb::module_& m) {
  nb::class_<EpochState>(m, "EpochState", "Where a run of a stochastic method stands beside it.")
      .def(
          "__init__",
          [](EpochState* self, Sampler& sampler, Window& window, Random& random) {
            new (self) EpochState{sampler, window, random};
          },
          "sampler"_a, "window"_a, "random"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
          nb::keep_alive<1, 4>());
  nb::class_<EpochBudget>(m, "EpochBudget", "When a call ends: by epochs, mistakes or time.")
      .def(nb::init<Size, bool, double>(), "max_epochs"_a, "until_clean"_a, "seconds"_a);
}

void bind_iterate(nb::module_& m) {
  nb::class_<Iterate>(m, "Iterate", "A scaled point and its average, in two vectors.")
      .def(
          "__init__",
          [](Iterate* self, Out v, Out u, Size n_biases) {
            const Size d = static_cast<Size>(v.shape(0));
            require_length(u, d, "u");
            require(0 <= n_biases && n_biases <= d, "n_biases exceeds the length of v");
            new (self) Iterate{v.data(), u.data(), d, n_biases};
          },
          "v"_a.noconvert(), "u"_a.noconvert(), "n_biases"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>())
      .def_rw("scale", &Iterate::scale)
      .def_rw("mass", &Iterate::mass)
      .def_rw("total", &Iterate::total)
      .def_rw("b", &Iterate::b)
      .def_rw("b_sum", &Iterate::b_sum)
      .def_rw("steps", &Iterate::steps);
}

void make_rival_rows(BoundRivalRows* self, const Rows& rows, InOrder y, Size n_classes,
                     double feature, In<double> anchor) {
  const Size n = rows.n_samples();
  require(n_classes >= 2, "there must be at least two classes");
  require_length(y, n, "y");
  require_length(anchor, n_classes, "anchor");
  require(all_within(y.data(), n, n_classes), "y holds a class that does not exist");
  new (self) BoundRivalRows{rows,
                            y.data(),
                            n_classes,
                            feature,
                            anchor.data(),
                            std::vector<std::int32_t>(n),
                            std::vector<double>(padded(n_classes))};
}

void bind_rival_rows(nb::module_& m) {
  nb::class_<BoundRivalRows>(m, "RivalRows", "Rows that face a rival class, for K classes.")
      .def("__init__", &make_rival_rows, "rows"_a, "y"_a.noconvert(), "n_classes"_a, "feature"_a,
           "anchor"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 6>())
      .def_prop_ro("n_features", &BoundRivalRows::n_features);
}

void bind_kernel_view(nb::module_& m) {
  nb::class_<KernelView>(m, "KernelView", "The kernel matrix as rows of a stochastic solver.")
      .def(
          "__init__",
          [](KernelView* self, const BoundSource& source, Size n_features, Size capacity,
             Size together) {
            const Size n = source.n_samples;
            require(n > 0 && n_features >= 2 * n, "n_features must be at least 2 n_samples");
            require(capacity >= 1 && together >= 1, "capacity and together must be at least 1");
            new (self) KernelView(n, n_features, capacity, together, source.rows);
          },
          "source"_a, "n_features"_a, "capacity"_a, "together"_a, nb::keep_alive<1, 2>())
      .def(
          "combine",
          [](const KernelView& self, InOrder index, InMatrix<double> coef, OutRows out) {
            const Size count = static_cast<Size>(index.shape(0)), n = self.n_samples;
            require(static_cast<Size>(coef.shape(1)) == count, "coef has the wrong shape");
            require(out.shape(0) == coef.shape(0) && static_cast<Size>(out.shape(1)) == n,
                    "out has the wrong shape");
            for (Size k = 0; k < count; ++k)
              require(0 <= index(k) && index(k) < n, "index holds a row that does not exist");
            nb::gil_scoped_release release;
            self.combine(index.data(), count, coef.data(), static_cast<Size>(coef.shape(0)),
                         out.data());
          },
          "index"_a, "coef"_a, "out"_a.noconvert(), "Adds the rows times coef to out.")
      .def_prop_ro("rows_computed", &KernelView::rows_computed);
}

void bind_pegasos(nb::module_& m) {
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
  bind_descend<BoundRivalRows, Pegasos>(m);
  bind_descend<KernelView, Pegasos>(m);
}

void bind_sgd_problem(nb::module_& m) {
  nb::class_<Schedule>(m, "Schedule", "step(t) = first / (offset + rate t)^power")
      .def(nb::init<double, double, double, double>(), "first"_a, "offset"_a, "rate"_a, "power"_a)
      .def("step", &Schedule::step, "t"_a);
  nb::class_<SgdProblem>(m, "SgdProblem")
      .def(nb::init<double, double, Schedule, Bias>(), "lam"_a, "per_row"_a, "schedule"_a, "bias"_a)
      .def_rw("bias", &SgdProblem::bias);
}

void bind_plain_sgd(nb::module_& m) {
  nb::class_<PlainSgd>(m, "PlainSgd")
      .def(
          "__init__",
          [](PlainSgd* self, Iterate& iterate, SgdProblem problem) {
            new (self) PlainSgd{iterate, problem};
          },
          "iterate"_a, "problem"_a, nb::keep_alive<1, 2>())
      .def_rw("problem", &PlainSgd::problem);
  bind_descend<Rows, PlainSgd>(m);
  bind_descend<BoundRivalRows, PlainSgd>(m);
}

void bind_dense_sgd(nb::module_& m) {
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
      .def_rw("steps", &DenseSgd::done)
      .def_rw("averaged", &DenseSgd::averaged)
      .def_rw("problem", &DenseSgd::problem);
  bind_descend<Rows, DenseSgd>(m);
  bind_descend<BoundRivalRows, DenseSgd>(m);
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  bind_sampler(m);
  bind_window(m);
  bind_epochs(m);
  bind_iterate(m);
  bind_rival_rows(m);
  bind_kernel_view(m);
  bind_pegasos(m);
  bind_sgd_problem(m);
  bind_plain_sgd(m);
  bind_dense_sgd(m);
}

}  // namespace maxmargin
