// SMO on working sets: two classes, regression and one class; Crammer and Singer's machine.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "python/multiclass.hpp"
#include "python/polling.hpp"
#include "python/row_source.hpp"
#include "smo/crammer_singer.hpp"
#include "smo/two_level.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

using Groups = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Both are held by a pointer: their arrays may not move.
struct BoundSmo {
  std::unique_ptr<Smo> smo;
};
struct BoundClassSmo {
  std::unique_ptr<ClassSmo> smo;
};

template <class Bound>
void run(Bound& self, double tol, double negligible, Size max_outer, Stop stop) {
  polled(stop, [&](Poll& poll) { self.smo->run(tol, negligible, max_outer, poll); });
}

void make_smo_problem(SmoProblem* self, In<double> target, In<double> lower, In<double> upper,
                      Groups group, double epsilon, bool balanced) {
  const Size n = static_cast<Size>(target.shape(0));
  require_length(lower, n, "lower");
  require_length(upper, n, "upper");
  require_length(group, n, "group");
  new (self)
      SmoProblem{n, target.data(), lower.data(), upper.data(), group.data(), epsilon, balanced};
}

void bind_smo_problem(nb::module_& m) {
  nb::class_<SmoProblem>(m, "SmoProblem", "Targets, boxes and groups of the dual variables.")
      .def("__init__", &make_smo_problem, "target"_a.noconvert(), "lower"_a.noconvert(),
           "upper"_a.noconvert(), "group"_a.noconvert(), "epsilon"_a, "balanced"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>());
}

void make_smo(BoundSmo* self, const BoundSource& source, const SmoProblem& problem, Size working,
              Size capacity, std::optional<Size> first) {
  require(source.n_samples > 0 && working >= 2, "nothing to work on");
  require(problem.n == source.n_samples, "problem and source differ in length");
  new (self) BoundSmo{std::make_unique<Smo>(problem, working, capacity, first.value_or(capacity),
                                            source.rows, source.n_threads)};
}

void go_on(BoundSmo& self, In<double> beta, In<double> residual, double dual) {
  const Size n = static_cast<Size>(self.smo->beta.size());
  require_length(beta, n, "beta");
  require_length(residual, n, "residual");
  self.smo->go_on(beta.data(), residual.data(), dual);
}

void bind_working_set_smo(nb::module_& m) {
  nb::class_<BoundSmo>(m, "Smo", "Two-level sequential minimal optimisation.")
      .def("__init__", &make_smo, "source"_a, "problem"_a, "working"_a, "capacity"_a,
           "first"_a = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("run", &run<BoundSmo>, "tol"_a, "negligible"_a, "max_outer"_a, "stop"_a,
           "Outer steps until the gap seems small enough.")
      .def("go_on", &go_on, "beta"_a, "residual"_a, "dual"_a, "Start or go on from there.")
      .def(
          "forget_rows", [](BoundSmo& self) { self.smo->forget_rows(); },
          "Give the memory of the kernel rows back; those needed are computed again.")
      .def_prop_ro("beta", [](const BoundSmo& self) { return copied(self.smo->beta); })
      .def_prop_ro("residual", [](const BoundSmo& self) { return copied(self.smo->residual); })
      .def_prop_ro("dual", [](const BoundSmo& self) { return self.smo->dual; })
      .def_prop_ro("thresholds", [](const BoundSmo& self) { return copied(self.smo->threshold); })
      .def_prop_ro(
          "violation", [](BoundSmo& self) { return self.smo->worst_violation(); },
          "LIBSVM's m - M.")
      .def_prop_ro("steps", [](const BoundSmo& self) { return self.smo->steps; })
      .def_prop_ro("outer_steps", [](const BoundSmo& self) { return self.smo->outer_steps; })
      .def_prop_ro("rows_computed",
                   [](const BoundSmo& self) { return self.smo->cache().rows_computed(); })
      .def_prop_ro("most_held", [](const BoundSmo& self) { return self.smo->cache().most_held(); });
}

void make_class_smo(BoundClassSmo* self, const BoundSource& source, const BoundClasses& classes,
                    bool free, double penalty, Size working, Size capacity,
                    std::optional<InMatrix<double>> kernel, std::optional<Size> first) {
  const Size n = source.n_samples;
  require(n > 0 && working >= 2, "nothing to work on");
  require(classes.n_samples == n, "classes and rows differ in length");
  require(!kernel || (static_cast<Size>(kernel->shape(0)) == n &&
                      static_cast<Size>(kernel->shape(1)) == n),
          "kernel has the wrong shape");
  const ClassSmoProblem problem{
      n,       classes.problem.n_classes,         classes.problem.y, classes.problem.cost, free,
      penalty, kernel ? kernel->data() : nullptr, source.n_threads};
  new (self) BoundClassSmo{std::make_unique<ClassSmo>(problem, working, capacity,
                                                      first.value_or(capacity), source.rows)};
}

void go_on_classes(BoundClassSmo& self, InMatrix<double> alpha, InMatrix<double> score,
                   In<double> b) {
  require(alpha.size() == self.smo->alpha.size(), "alpha has the wrong shape");
  require(score.size() == self.smo->score.size(), "scores has the wrong shape");
  require_length(b, static_cast<Size>(self.smo->b.size()), "b");
  self.smo->go_on(alpha.data(), score.data(), b.data());
}

void bind_class_smo(nb::module_& m) {
  nb::class_<BoundClassSmo>(m, "ClassSmo", "Two-level block coordinate ascent for K classes.")
      .def("__init__", &make_class_smo, "source"_a, "classes"_a, "free"_a, "penalty"_a, "working"_a,
           "capacity"_a, "kernel"_a.noconvert() = nb::none(), "first"_a = nb::none(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 8>())
      .def("run", &run<BoundClassSmo>, "tol"_a, "negligible"_a, "max_outer"_a, "stop"_a,
           "Outer steps until the gap seems small enough.")
      .def("go_on", &go_on_classes, "alpha"_a, "scores"_a, "b"_a, "Go on from there.")
      .def_prop_ro("alpha", [](const BoundClassSmo& self) { return copied(self.smo->alpha); })
      .def_prop_ro("scores", [](const BoundClassSmo& self) { return copied(self.smo->score); })
      .def_prop_ro("b", [](const BoundClassSmo& self) { return copied(self.smo->b); })
      .def_prop_ro("violation", [](const BoundClassSmo& self) { return self.smo->violation; })
      .def_prop_ro("gap", [](const BoundClassSmo& self) { return self.smo->gap; })
      .def_prop_ro("dual", [](const BoundClassSmo& self) { return self.smo->dual; })
      .def_prop_ro("steps", [](const BoundClassSmo& self) { return self.smo->steps; })
      .def_prop_ro("outer_steps", [](const BoundClassSmo& self) { return self.smo->outer_steps; })
      .def_prop_ro("rows_computed",
                   [](const BoundClassSmo& self) { return self.smo->cache().rows_computed(); });
}

}  // namespace

void bind_smo(nb::module_& m) {
  bind_smo_problem(m);
  bind_working_set_smo(m);
  bind_class_smo(m);
}

}  // namespace maxmargin
