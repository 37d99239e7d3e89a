// Coordinate descent for linear machines: two classes, each against the rest, Crammer and Singer's.
#include <type_traits>

#include "data/passes.hpp"
#include "linear/crammer_singer.hpp"
#include "linear/dual_cd.hpp"
#include "linear/one_vs_rest.hpp"
#include "python/multiclass.hpp"
#include "python/polling.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

template <class T>
using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Python's handles: the arrays behind them are kept alive by the bindings.
struct BoundDualProblem {
  const Rows& rows;
  DualProblem problem;
};
struct BoundDualState {
  DualState state;
  Size n_samples;
};
struct BoundRestProblem {
  const Rows& rows;
  RestProblem problem;
};
struct BoundRestState {
  RestState state;
  Size n_samples, n_classes;
};
struct BoundClassState {
  ClassState state;
  Size n_samples, n_classes;
};

void require_order(const std::int32_t* order, const Sweep& sweep, Size n_samples) {
  require(-1 <= sweep.cursor && sweep.cursor <= sweep.n_active && sweep.n_active <= n_samples,
          "sweep out of bounds");
  require(all_within(order, n_samples, n_samples), "order holds a row that does not exist");
}

// use(view of the rows), where they may meet weights of this type.
template <class T, class Use>
void with_class_rows(const Rows& rows, Use use) {
  rows.visit([&]<class View>(const View& view) {
    if constexpr (std::is_same_v<T, double> || View::kSparse)
      use(view);
    else
      throw std::invalid_argument("float32 weights are for CSR rows");
  });
}

template <class Weight>
void dual_cd_rows(const BoundDualProblem& bound, const BoundDualState& at, OutVector<Weight> w,
                  const SweepBudget& budget) {
  const Sweep& sweep = at.state.sweep;
  require(at.n_samples == bound.rows.n_samples(), "state and rows differ in length");
  require_length(w, bound.rows.n_features(), "w");
  require(0.0 < sweep.share && sweep.share <= 1.0, "share must lie in (0, 1]");
  require_order(at.state.order, sweep, at.n_samples);
  bound.rows.visit([&](const auto& rows) {
    MAXMARGIN_CLONED(dual_cd(rows, bound.problem, at.state, w.data(), budget));
  });
}

template <class T>
bool one_vs_rest_rows(const BoundRestProblem& bound, BoundRestState& at, OutWeights<T> W,
                      double seconds) {
  const Sweep& sweep = at.state.sweep;
  const Size done = sweep.epochs;
  require(at.n_samples == bound.rows.n_samples(), "state and rows differ in length");
  require(at.n_classes == bound.problem.n_classes, "state and problem differ in their classes");
  require_weights(bound.rows, at.n_classes, W);
  require_order(at.state.order, sweep, at.n_samples);
  const Deadline deadline(seconds);
  with_class_rows<T>(bound.rows, [&](const auto& rows) {
    MAXMARGIN_CLONED(one_vs_rest(rows, bound.problem, at.state, W.data(), deadline));
  });
  return sweep.epochs > done;
}

template <class T>
void crammer_singer_rows(const Rows& rows, const BoundClasses& bound, BoundClassState& at,
                         OutWeights<T> W, double relax, const SweepBudget& budget) {
  require(bound.n_samples == rows.n_samples(), "classes and rows differ in length");
  require(at.n_samples == rows.n_samples(), "state and rows differ in length");
  require(at.n_classes == bound.problem.n_classes, "state and classes differ in number");
  require_weights(rows, at.n_classes, W);
  require_order(at.state.order, at.state.sweep, at.n_samples);
  with_class_rows<T>(rows, [&](const auto& view) {
    MAXMARGIN_CLONED(crammer_singer(view, bound.problem, at.state, W.data(), relax, budget));
  });
}

void bind_sweep(nb::module_& m) {
  nb::class_<Sweep>(m, "Sweep", "Where dual coordinate descent stands.")
      .def(nb::init<Size>(), "n_active"_a)
      .def_rw("n_active", &Sweep::n_active)
      .def_rw("share", &Sweep::share)
      .def_rw("threshold", &Sweep::threshold)
      .def_ro("violation", &Sweep::violation)
      .def_ro("violations", &Sweep::violations)
      .def_ro("last_gap", &Sweep::last_gap)
      .def_ro("left", &Sweep::left)
      .def_rw("dual", &Sweep::dual)
      .def_ro("last_dual", &Sweep::last_dual)
      .def_rw("bias_weight", &Sweep::bias_weight)
      .def_rw("epochs", &Sweep::epochs)
      .def_ro("steps", &Sweep::steps);
  nb::class_<SweepBudget>(m, "SweepBudget", "When a call ends: by epochs, gap or time.")
      .def(nb::init<Size, double, double>(), "max_epochs"_a, "relative_target"_a, "seconds"_a);
}

void bind_dual_cd(nb::module_& m) {
  nb::class_<BoundDualProblem>(m, "DualProblem", "Rows, terms and norms of a linear problem.")
      .def(
          "__init__",
          [](BoundDualProblem* self, const Rows& rows, const BoundTerms& bound, In<double> norms) {
            require(bound.n_samples == rows.n_samples(), "terms and rows differ in length");
            require_length(norms, rows.n_samples(), "squared_norms");
            new (self) BoundDualProblem{rows, DualProblem{bound.terms, norms.data()}};
          },
          "rows"_a, "terms"_a, "squared_norms"_a.noconvert(), nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
  nb::class_<BoundDualState>(m, "DualState", "A dual point and its sweep, in a caller's arrays.")
      .def(
          "__init__",
          [](BoundDualState* self, Out beta, OutOrder order, Bias& bias, Sweep& sweep,
             Random& random) {
            const Size n = static_cast<Size>(beta.shape(0));
            require_length(order, n, "order");
            new (self) BoundDualState{DualState{beta.data(), order.data(), bias, sweep, random}, n};
          },
          "beta"_a.noconvert(), "order"_a.noconvert(), "bias"_a, "sweep"_a, "random"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
          nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>());
  m.def("dual_cd", &dual_cd_rows<float>, "problem"_a, "state"_a, "w"_a.noconvert(), "budget"_a);
  m.def("dual_cd", &dual_cd_rows<double>, "problem"_a, "state"_a, "w"_a.noconvert(), "budget"_a);
}

void make_rest_state(BoundRestState* self, OutRows beta, OutMask active,
                     const BoundClassBias& bound, Size n_classes, InOrder order, Sweep& sweep) {
  const Size n = static_cast<Size>(beta.shape(0)), stride = padded(n_classes);
  require(n_classes >= 1, "there must be at least one class");
  require_length(order, n, "order");
  require_length(active, n, "active");
  require(bound.length == stride, "bias must have whole vectors of classes");
  require(static_cast<Size>(beta.shape(1)) == stride, "beta has too few columns");
  require(static_cast<Size>(active.shape(1)) == stride, "active has too few columns");
  new (self) BoundRestState{
      RestState(beta.data(), active.data(), bound.bias, order.data(), sweep, n_classes), n,
      n_classes};
}

void bind_rest_state(nb::module_& m) {
  nb::class_<BoundRestState>(m, "RestState", "The K dual points of one-vs-rest and their sweep.")
      .def("__init__", &make_rest_state, "beta"_a.noconvert(), "active"_a.noconvert(), "bias"_a,
           "n_classes"_a, "order"_a.noconvert(), "sweep"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 6>(),
           nb::keep_alive<1, 7>())
      .def_prop_ro(
          "threshold", [](const BoundRestState& self) { return copied(self.state.threshold); },
          "Of each class: the slack beyond which a pair is not active.")
      .def_prop_ro(
          "dual", [](const BoundRestState& self) { return copied(self.state.dual); },
          "Of each class: the value of its dual objective.");
}

void bind_one_vs_rest(nb::module_& m) {
  nb::class_<BoundRestProblem>(m, "RestProblem", "K problems over the same rows, one a class.")
      .def(
          "__init__",
          [](BoundRestProblem* self, const Rows& rows, InOrder y, const BoundTerms& bound,
             In<double> norms, Size n_classes) {
            const Size n = rows.n_samples();
            require(bound.n_samples == n, "terms and rows differ in length");
            require_length(y, n, "y");
            require_length(norms, n, "squared_norms");
            new (self) BoundRestProblem{rows, RestProblem{y.data(), bound.terms.cost, norms.data(),
                                                          n_classes, bound.terms.loss}};
          },
          "rows"_a, "y"_a.noconvert(), "terms"_a, "squared_norms"_a.noconvert(), "n_classes"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
          nb::keep_alive<1, 5>());
  constexpr const char* kDoc =
      "An epoch for all classes, or the part of it that fits in the time; whether it is whole.";
  m.def("one_vs_rest", &one_vs_rest_rows<double>, "problem"_a, "state"_a, "W"_a.noconvert(),
        "seconds"_a, kDoc);
  m.def("one_vs_rest", &one_vs_rest_rows<float>, "problem"_a, "state"_a, "W"_a.noconvert(),
        "seconds"_a, kDoc);
}

void make_class_state(BoundClassState* self, OutRows alpha, const BoundClassBias& bound,
                      OutOrder order, Sweep& sweep, Random& random) {
  const Size n = static_cast<Size>(alpha.shape(0)), n_classes = bound.length;
  require_length(order, n, "order");
  require(static_cast<Size>(alpha.shape(1)) == padded(n_classes), "alpha has too few columns");
  new (self) BoundClassState{
      ClassState(alpha.data(), bound.bias, order.data(), sweep, random, n_classes), n, n_classes};
}

template <class T>
void bind_crammer_singer(nb::module_& m) {
  m.def("crammer_singer", &crammer_singer_rows<T>, "rows"_a, "classes"_a, "state"_a,
        "W"_a.noconvert(), "relax"_a, "budget"_a);
}

void bind_class_state(nb::module_& m) {
  nb::class_<BoundClassState>(m, "ClassState", "The dual point of K classes and its sweep.")
      .def("__init__", &make_class_state, "alpha"_a.noconvert(), "bias"_a, "order"_a.noconvert(),
           "sweep"_a, "random"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>());
}

}  // namespace

void bind_linear(nb::module_& m) {
  bind_sweep(m);
  bind_dual_cd(m);
  bind_rest_state(m);
  bind_one_vs_rest(m);
  bind_class_state(m);
  bind_crammer_singer<double>(m);
  bind_crammer_singer<float>(m);
}

}  // namespace maxmargin
