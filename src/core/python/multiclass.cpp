// K classes at once: their weights, and the certificate of Crammer and Singer's machine.
#include "python/multiclass.hpp"

#include "data/passes.hpp"
#include "objective/multiclass_certificate.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void predict_class_rows(const Rows& self, InMatrix<double> W, Size n_classes, Size begin, Size end,
                        OutRows out) {
  self.require_range(begin, end);
  require_weights(self, n_classes, W);
  require_length(out, self.n_samples(), "out");
  require(static_cast<Size>(out.shape(1)) == padded(n_classes), "out has too few columns");
  self.visit([&](const auto& rows) {
    MAXMARGIN_CLONED(predict_classes(rows, W.data(), n_classes, begin, end, out.data()));
  });
}

void combine_class_rows(const Rows& self, InMatrix<double> beta, Size begin, Size end, OutRows W) {
  const Size n_classes = static_cast<Size>(beta.shape(1));
  self.require_range(begin, end);
  require_length(beta, self.n_samples(), "beta");
  require_weights(self, n_classes, W);
  self.visit([&](const auto& rows) {
    MAXMARGIN_CLONED(combine_classes(rows, beta.data(), n_classes, begin, end, W.data()));
  });
}

CertificateSums certify_class_rows(const BoundClasses& bound, const Rows& self, InMatrix<double> W,
                                   In<double> b, InMatrix<double> beta, Size begin, Size end,
                                   OutRows dual_W) {
  const Size K = bound.problem.n_classes;
  self.require_range(begin, end);
  require(bound.n_samples == self.n_samples(), "classes and rows differ in length");
  require_weights(self, K, W);
  require_weights(self, K, dual_W);
  require_length(b, K, "b");
  require_length(beta, bound.n_samples, "beta");
  require(static_cast<Size>(beta.shape(1)) == K, "beta must have a column for each class");
  const ClassCertificateTerms terms{bound.problem.y, bound.problem.cost, K};
  return self.visit([&](const auto& rows) {
    return MAXMARGIN_CLONED(
        certify_classes(rows, terms, W.data(), b.data(), beta.data(), begin, end, dual_W.data()));
  });
}

CertificateSums sum_class_values(const BoundClasses& bound, InMatrix<double> z,
                                 InMatrix<double> beta) {
  const Size K = bound.problem.n_classes;
  for (const auto& values : {z, beta}) {
    require_length(values, bound.n_samples, "values");
    require(static_cast<Size>(values.shape(1)) == K, "values must have a column for each class");
  }
  const ClassCertificateTerms terms{bound.problem.y, bound.problem.cost, K};
  nb::gil_scoped_release release;
  return sum_all_classes(terms, z.data(), beta.data(), bound.n_samples);
}

void bind_class_problem(nb::module_& m) {
  nb::class_<BoundClasses>(m, "Classes", "Labels 0, ..., K - 1, costs and row norms.")
      .def(
          "__init__",
          [](BoundClasses* self, InOrder y, In<double> cost, In<double> squared_norms,
             Size n_classes) {
            const Size n = static_cast<Size>(y.shape(0));
            require_length(cost, n, "cost");
            require_length(squared_norms, n, "squared_norms");
            require(n_classes >= 1, "there must be at least one class");
            require(all_within(y.data(), n, n_classes), "y holds a class that does not exist");
            new (self) BoundClasses{
                ClassProblem{y.data(), cost.data(), squared_norms.data(), n_classes}, n};
          },
          "y"_a.noconvert(), "cost"_a.noconvert(), "squared_norms"_a.noconvert(), "n_classes"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("sum_rows", &certify_class_rows, "rows"_a, "W"_a, "b"_a, "beta"_a, "begin"_a, "end"_a,
           "dual_W"_a.noconvert())
      .def("sum_values", &sum_class_values, "z"_a, "beta"_a);
}

void bind_class_weights(nb::module_& m) {
  m.def(
      "padded",
      [](Size n_classes, bool narrow) {
        return narrow ? padded<float>(n_classes) : padded(n_classes);
      },
      "n_classes"_a, "narrow"_a = false,
      "Length of a piece of classes, in whole vectors of float64 or of float32.");
  m.def(
      "by_feature",
      [](const Rows& self) {
        return std::visit([](const auto& view) { return by_feature(view); }, self.view);
      },
      "rows"_a, "Whether weights that meet these rows are laid out a feature after the other.");
  m.def("predict_classes", &predict_class_rows, "rows"_a, "W"_a, "n_classes"_a, "begin"_a, "end"_a,
        "out"_a.noconvert());
  m.def("combine_classes", &combine_class_rows, "rows"_a, "beta"_a, "begin"_a, "end"_a,
        "W"_a.noconvert());
}

}  // namespace

void bind_classes(nb::module_& m) {
  bind_class_problem(m);
  bind_class_weights(m);
}

}  // namespace maxmargin
