// The l1-regularised problem: its working set as a Python object.
#include "linear/l1.hpp"

#include "data/passes.hpp"
#include "python/arrays.hpp"
#include "python/polling.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void make(L1WorkingSet* self, const Rows& rows, In<double> y, In<double> cost) {
  require_length(y, rows.n_samples(), "y");
  require_length(cost, rows.n_samples(), "cost");
  const bool sparse = std::visit([]<class View>(const View&) { return View::kSparse; }, rows.view);
  new (self) L1WorkingSet(y.data(), cost.data(), rows.n_samples(), sparse);
}

void append(L1WorkingSet& self, const Rows& rows, InOrder features) {
  const Size count = static_cast<Size>(features.shape(0));
  require(rows.n_samples() == self.n_rows(), "rows of another problem");
  require(all_within(features.data(), count, rows.n_features()), "features out of bounds");
  nb::gil_scoped_release release;
  std::visit(
      [&](const auto& view) {
        MAXMARGIN_CLONED(self.columns.append(view, features.data(), count));
      },
      rows.view);
  MAXMARGIN_CLONED(self.extend(1.0));
}

void restart(L1WorkingSet& self, In<double> w) {
  require_length(w, self.count(), "w");
  std::copy_n(w.data(), self.w.size(), self.w.begin());
  nb::gil_scoped_release release;
  MAXMARGIN_CLONED(self.restart());
}

}  // namespace

void bind_l1(nb::module_& m) {
  nb::class_<L1WorkingSet>(m, "L1WorkingSet", "Some columns of an l1-regularised problem.")
      .def("__init__", &make, "rows"_a, "y"_a, "cost"_a)
      .def("append", &append, "rows"_a, "features"_a.noconvert(), "Pack these columns too.")
      .def(
          "append_constant",
          [](L1WorkingSet& self, double value, double penalty) {
            self.columns.append_constant(value);
            MAXMARGIN_CLONED(self.extend(penalty));
          },
          "value"_a, "penalty"_a, "Pack a column of this value: that of the intercept.")
      .def("scale_costs", &L1WorkingSet::scale_costs, "by"_a,
           "Multiply all costs; `restart` is to follow.")
      .def("restart", &restart, "w"_a, "Go to w, with residuals of its own.")
      .def(
          "descend",
          [](L1WorkingSet& self, Size max_epochs, double target, Stop stop) {
            polled(stop, [&](Poll& poll) { self.descend(max_epochs, target, poll); });
          },
          "max_epochs"_a, "target"_a, "stop"_a,
          "Make epochs until the gap of these columns is at most the target.")
      .def(
          "newton",
          [](L1WorkingSet& self, double precision, int max_iterations, Stop stop) {
            polled(stop, [&](Poll& poll) { self.newton(precision, max_iterations, poll); });
          },
          "precision"_a, "max_iterations"_a, "stop"_a, "Make a Newton step on the support.")
      .def_prop_ro("w", [](const L1WorkingSet& self) { return copied(self.w); })
      .def_prop_ro("residual", [](const L1WorkingSet& self) { return copied(self.residual); })
      .def_prop_ro("dual_residual",
                   [](const L1WorkingSet& self) { return copied(self.dual_residual); })
      .def_prop_ro("stored", [](const L1WorkingSet& self) { return self.columns.stored(); })
      .def_ro("primal", &L1WorkingSet::primal)
      .def_ro("dual", &L1WorkingSet::dual)
      .def_ro("epochs", &L1WorkingSet::epochs);
}

}  // namespace maxmargin
