// Whole kernel matrices, and SMO on them.
#include <nanobind/stl/vector.h>

#include "data/passes.hpp"
#include "kernels/values.hpp"
#include "objective/offsets.hpp"
#include "python/polling.hpp"
#include "smo/batch.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void bind_values(nb::module_& m) {
  m.def(
      "gaussian_values",
      [](OutRows values, In<double> a_squares, In<double> b_squares, double gamma) {
        const Size n_a = static_cast<Size>(values.shape(0)), n_b = values.shape(1);
        require_length(a_squares, n_a, "a_squares");
        require_length(b_squares, n_b, "b_squares");
        nb::gil_scoped_release release;
        MAXMARGIN_CLONED(
            gaussian_values(values.data(), a_squares.data(), n_a, b_squares.data(), n_b, gamma));
      },
      "values"_a.noconvert(), "a_squares"_a, "b_squares"_a, "gamma"_a,
      "exp(-gamma |a - b|^2) in place of <a, b>.");

  m.def(
      "polynomial_values",
      [](OutRows values, double gamma, double coef0, Size degree) {
        require(degree >= 0, "degree must not be negative");
        nb::gil_scoped_release release;
        MAXMARGIN_CLONED(polynomial_values(values.data(), static_cast<Size>(values.size()), gamma,
                                           coef0, degree));
      },
      "values"_a.noconvert(), "gamma"_a, "coef0"_a, "degree"_a,
      "(gamma <a, b> + coef0)^degree in place of <a, b>.");
}

void make_smo(DenseSmo* self, InMatrix<double> kernel, In<double> target, InMatrix<double> lower,
              InMatrix<double> upper, double epsilon, bool balanced, double elsewhere) {
  const Size n = static_cast<Size>(target.shape(0)), groups = lower.shape(0);
  require(static_cast<Size>(kernel.shape(0)) == n && kernel.shape(1) == kernel.shape(0),
          "kernel has the wrong shape");
  for (const auto& bound : {lower, upper})
    require(static_cast<Size>(bound.shape(0)) == groups && groups > 0 &&
                static_cast<Size>(bound.shape(1)) == n,
            "the bounds have the wrong shape");
  new (self) DenseSmo({n, static_cast<int>(groups), kernel.data(), target.data(), lower.data(),
                       upper.data(), epsilon, balanced, elsewhere});
}

bool run(DenseSmo& self, double tol, double negligible, Size max_outer, Stop stop) {
  bool satisfied = false;
  polled(stop, [&](Poll& poll) { satisfied = self.run(tol, negligible, max_outer, poll); });
  return satisfied;
}

void bind_dense(nb::module_& m) {
  nb::class_<DenseSmo>(m, "DenseSmo", "SMO on few samples, whose kernel matrix is at hand.")
      .def("__init__", &make_smo, "kernel"_a.noconvert(), "target"_a.noconvert(),
           "lower"_a.noconvert(), "upper"_a.noconvert(), "epsilon"_a, "balanced"_a,
           "elsewhere"_a = 0.0, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
      .def(
          "start",
          [](DenseSmo& self, InMatrix<double> beta) {
            require(beta.size() == self.beta.size(), "beta has the wrong shape");
            self.start(beta.data());
          },
          "beta"_a)
      .def("run", &run, "tol"_a, "negligible"_a, "max_outer"_a, "stop"_a,
           "Outer steps until the gap seems small enough: then True.")
      .def_prop_ro("beta", [](const DenseSmo& self) { return copied(self.folded()); })
      .def_prop_ro(
          "variables", [](const DenseSmo& self) { return copied(self.beta); }, "Group after group.")
      .def_prop_ro(
          "values", [](const DenseSmo& self) { return copied(self.values()); }, "K beta.")
      .def_prop_ro("violation", &DenseSmo::worst_violation, "LIBSVM's m - M.")
      .def_ro("steps", &DenseSmo::steps)
      .def_ro("outer_steps", &DenseSmo::outer_steps);
}

void make_batch(ProblemBatch* self, InMatrix<double> kernel, InOrder ends, InOrder sample,
                In<double> y, In<double> cost, In<double> nu_sums, bool free) {
  const Size n = static_cast<Size>(kernel.shape(0)), total = sample.shape(0);
  const Size count = static_cast<Size>(ends.shape(0));
  require(count > 0, "there are no problems");
  require(kernel.shape(1) == kernel.shape(0), "kernel must be square");
  require_length(y, total, "y");
  require_length(cost, total, "cost");
  require_length(nu_sums, count, "nu_sums");
  Size last = 0;
  for (Size p = 0; p < count; ++p) {
    require(ends(p) > last, "ends must increase");
    last = ends(p);
  }
  require(last == total, "ends must end with the samples");
  require(all_within(sample.data(), total, n), "sample holds a row that does not exist");
  new (self) ProblemBatch{kernel.data(), n,           count,          ends.data(), sample.data(),
                          y.data(),      cost.data(), nu_sums.data(), free};
}

std::vector<Outcome> solve(const ProblemBatch& self, In<double> negligible, double tol,
                           Size max_outer, Stop stop, Out beta) {
  require_length(negligible, self.count, "negligible");
  require_length(beta, self.ends[self.count - 1], "beta");
  std::vector<Outcome> outcomes;
  polled(stop, [&](Poll& poll) {
    outcomes = solve_batch(self, negligible.data(), tol, max_outer, poll, beta.data());
  });
  return outcomes;
}

std::vector<CertificateParts> certify(const ProblemBatch& self, In<double> beta) {
  require_length(beta, self.ends[self.count - 1], "beta");
  nb::gil_scoped_release release;
  return MAXMARGIN_CLONED(certify_batch(self, beta.data()));
}

void bind_batch(nb::module_& m) {
  nb::class_<Outcome>(m, "Outcome", "How far SMO came.")
      .def_ro("satisfied", &Outcome::satisfied)
      .def_ro("steps", &Outcome::steps)
      .def_ro("outer_steps", &Outcome::outer_steps)
      .def_ro("violation", &Outcome::violation);

  nb::class_<ProblemBatch>(m, "ProblemBatch", "Hinge problems over samples of one kernel matrix.")
      .def("__init__", &make_batch, "kernel"_a.noconvert(), "ends"_a.noconvert(),
           "sample"_a.noconvert(), "y"_a.noconvert(), "cost"_a.noconvert(), "nu_sums"_a.noconvert(),
           "free"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>())
      .def("solve", &solve, "negligible"_a, "tol"_a, "max_outer"_a, "stop"_a, "beta"_a.noconvert(),
           "Outer steps on each until its gap seems small enough.")
      .def("certify", &certify, "beta"_a, "What each certificate is made of.");
}

}  // namespace

void bind_dense_smo(nb::module_& m) {
  bind_values(m);
  bind_dense(m);
  bind_batch(m);
}

}  // namespace maxmargin
