// K classes: Crammer and Singer's machine, and one pass over the rows for all of one-vs-rest.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <type_traits>

#include "data/passes.hpp"
#include "linear/crammer_singer.hpp"
#include "linear/one_vs_rest.hpp"
#include "objective/multiclass_certificate.hpp"
#include "python/polling.hpp"
#include "python/row_source.hpp"
#include "smo/crammer_singer.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

template <class T>
using OutWeights = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr const char* kOnlyCsr = "float32 weights are for CSR rows";

struct BoundClasses {
  ClassProblem problem;
  Size n_samples;
};

template <class Array>
void require_weights(const Rows& rows, Size n_classes, const Array& W) {
  using T = std::remove_const_t<typename Array::Scalar>;
  const Size size =
      std::visit([&](const auto& view) { return weights_size<T>(view, n_classes); }, rows.view);
  require(static_cast<Size>(W.size()) == size, "W does not have the layout of the rows");
}

void predict_class_rows(const Rows& self, InMatrix<double> W, Size n_classes, Size begin, Size end,
                        OutRows out) {
  self.require_range(begin, end);
  require_weights(self, n_classes, W);
  require_length(out, self.n_samples(), "out");
  require(static_cast<Size>(out.shape(1)) == padded(n_classes), "out has too few columns");
  nb::gil_scoped_release release;
  std::visit(
      [&](const auto& rows) {
        MAXMARGIN_CLONED(predict_classes(rows, W.data(), n_classes, begin, end, out.data()));
      },
      self.view);
}

void combine_class_rows(const Rows& self, InMatrix<double> beta, Size begin, Size end, OutRows W) {
  const Size n_classes = static_cast<Size>(beta.shape(1));
  self.require_range(begin, end);
  require_length(beta, self.n_samples(), "beta");
  require_weights(self, n_classes, W);
  nb::gil_scoped_release release;
  std::visit(
      [&](const auto& rows) {
        MAXMARGIN_CLONED(combine_classes(rows, beta.data(), n_classes, begin, end, W.data()));
      },
      self.view);
}

Tally certify_class_rows(const BoundClasses& bound, const Rows& self, InMatrix<double> W,
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
  const JudgedClasses judged{bound.problem.y, bound.problem.cost, K};
  nb::gil_scoped_release release;
  return std::visit(
      [&](const auto& rows) {
        return MAXMARGIN_CLONED(certify_classes(rows, judged, W.data(), b.data(), beta.data(),
                                                begin, end, dual_W.data()));
      },
      self.view);
}

Tally tally_class_values(const BoundClasses& bound, InMatrix<double> z, InMatrix<double> beta) {
  const Size K = bound.problem.n_classes;
  for (const auto& values : {z, beta}) {
    require_length(values, bound.n_samples, "values");
    require(static_cast<Size>(values.shape(1)) == K, "values must have a column for each class");
  }
  const JudgedClasses judged{bound.problem.y, bound.problem.cost, K};
  nb::gil_scoped_release release;
  return tally_all_classes(judged, z.data(), beta.data(), bound.n_samples);
}

template <class T>
void crammer_singer_rows(const Rows& self, const BoundClasses& bound, OutRows alpha,
                         OutWeights<T> W, Out w_bias, Out anchor, double feature, bool free,
                         OutOrder order, Sweep& sweep, Random& random, double relax,
                         Size max_epochs, double relative_target, double seconds) {
  const Size n = self.n_samples(), K = bound.problem.n_classes;
  require(bound.n_samples == n, "classes and rows differ in length");
  require_length(alpha, n, "alpha");
  require(static_cast<Size>(alpha.shape(1)) == padded(K), "alpha has too few columns");
  require_weights(self, K, W);
  require_length(w_bias, K, "w_bias");
  require_length(anchor, K, "anchor");
  require_length(order, n, "order");
  require(-1 <= sweep.cursor && sweep.cursor <= sweep.n_active && sweep.n_active <= n,
          "sweep out of bounds");
  require(all_within(order.data(), n, n), "order holds a row that does not exist");
  nb::gil_scoped_release release;
  ClassScratch scratch(K);
  const ClassState<T> state{alpha.data(), W.data(), w_bias.data(), anchor.data(),
                            feature,      free,     order.data()};
  const Deadline deadline(seconds);
  std::visit(
      [&]<class View>(const View& rows) {
        if constexpr (std::is_same_v<T, double> || View::kSparse) {
          MAXMARGIN_CLONED(crammer_singer(rows, bound.problem, state, scratch, sweep, random, relax,
                                          max_epochs, relative_target, deadline));
        } else {
          throw std::invalid_argument(kOnlyCsr);
        }
      },
      self.view);
}

template <class T>
void bind_crammer_singer(nb::module_& m) {
  m.def("crammer_singer", &crammer_singer_rows<T>, "rows"_a, "classes"_a, "alpha"_a,
        "W"_a.noconvert(), "w_bias"_a, "anchor"_a, "feature"_a, "free"_a, "order"_a, "sweep"_a,
        "random"_a, "relax"_a, "max_epochs"_a, "relative_target"_a, "seconds"_a);
}

template <class T>
bool one_vs_rest_rows(const Rows& self, InOrder y, const BoundTerms& bound, In<double> norms,
                      Size n_classes, OutRows beta, OutWeights<T> W, Out w_bias, Out anchor,
                      double feature, bool free, Out threshold, Out violation, Out dual,
                      OutMask active, InOrder order, Sweep& sweep, double seconds) {
  const Size n = self.n_samples(), stride = padded(n_classes), done = sweep.epochs;
  require(bound.n_samples == n, "terms and rows differ in length");
  require_length(y, n, "y");
  require_length(norms, n, "squared_norms");
  require_length(order, n, "order");
  require_length(beta, n, "beta");
  require_length(active, n, "active");
  require(static_cast<Size>(beta.shape(1)) == stride, "beta has too few columns");
  require(static_cast<Size>(active.shape(1)) == stride, "active has too few columns");
  require_weights(self, n_classes, W);
  require_length(w_bias, stride, "w_bias");
  require_length(anchor, stride, "anchor");
  require_length(threshold, stride, "threshold");
  require_length(violation, stride, "violation");
  require_length(dual, stride, "dual");
  require(-1 <= sweep.cursor && sweep.cursor <= n, "sweep out of bounds");
  require(all_within(order.data(), n, n), "order holds a row that does not exist");
  nb::gil_scoped_release release;
  RestScratch scratch(n_classes);
  const RestProblem problem{y.data(), bound.terms.cost, norms.data(), n_classes, bound.terms.loss};
  const RestState<T> state{beta.data(), W.data(),     w_bias.data(),    anchor.data(),
                           feature,     free,         threshold.data(), violation.data(),
                           dual.data(), active.data()};
  const Deadline deadline(seconds);
  std::visit(
      [&]<class View>(const View& rows) {
        if constexpr (std::is_same_v<T, double> || View::kSparse) {
          MAXMARGIN_CLONED(
              one_vs_rest(rows, problem, state, order.data(), scratch, sweep, deadline));
        } else {
          throw std::invalid_argument(kOnlyCsr);
        }
      },
      self.view);
  return sweep.epochs > done;
}

template <class T>
void bind_one_vs_rest(nb::module_& m) {
  m.def("one_vs_rest", &one_vs_rest_rows<T>, "rows"_a, "y"_a, "terms"_a, "squared_norms"_a,
        "n_classes"_a, "beta"_a, "W"_a.noconvert(), "w_bias"_a, "anchor"_a, "feature"_a, "free"_a,
        "threshold"_a, "violation"_a, "dual"_a, "active"_a, "order"_a, "sweep"_a, "seconds"_a,
        "An epoch for all classes, or the part of it that fits in the time; whether it is whole.");
}

struct BoundClassSmo {
  std::unique_ptr<ClassSmo> smo;
};

}  // namespace

void bind_classes(nb::module_& m) {
  nb::class_<BoundClasses>(m, "Classes", "Labels 0, ..., K - 1, costs and row norms.")
      .def(
          "__init__",
          [](BoundClasses* self, InOrder y, In<double> cost, In<double> squared_norms,
             Size n_classes) {
            const Size n = static_cast<Size>(y.shape(0));
            require_length(cost, n, "cost");
            require_length(squared_norms, n, "squared_norms");
            require(all_within(y.data(), n, n_classes), "y holds a class that does not exist");
            new (self) BoundClasses{
                ClassProblem{y.data(), cost.data(), squared_norms.data(), n_classes}, n};
          },
          "y"_a.noconvert(), "cost"_a.noconvert(), "squared_norms"_a.noconvert(), "n_classes"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("tally", &certify_class_rows, "rows"_a, "W"_a, "b"_a, "beta"_a, "begin"_a, "end"_a,
           "dual_W"_a)
      .def("tally_values", &tally_class_values, "z"_a, "beta"_a);
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
        "out"_a);
  m.def("combine_classes", &combine_class_rows, "rows"_a, "beta"_a, "begin"_a, "end"_a, "W"_a);
  bind_one_vs_rest<double>(m);
  bind_one_vs_rest<float>(m);
  bind_crammer_singer<double>(m);
  bind_crammer_singer<float>(m);

  nb::class_<BoundClassSmo>(m, "ClassSmo", "Two-level block coordinate ascent for K classes.")
      .def(
          "__init__",
          [](BoundClassSmo* self, const BoundSource& source, const BoundClasses& classes, bool free,
             double penalty, Size working, Size capacity, std::optional<InMatrix<double>> kernel,
             std::optional<Size> first) {
            const Size n = source.n_samples;
            require(n > 0 && working >= 2, "nothing to work on");
            require(classes.n_samples == n, "classes and rows differ in length");
            require(!kernel || (static_cast<Size>(kernel->shape(0)) == n &&
                                static_cast<Size>(kernel->shape(1)) == n),
                    "kernel has the wrong shape");
            const ClassSmoProblem problem{n,
                                          classes.problem.n_classes,
                                          classes.problem.y,
                                          classes.problem.cost,
                                          free,
                                          penalty,
                                          kernel ? kernel->data() : nullptr,
                                          source.n_threads};
            new (self) BoundClassSmo{std::make_unique<ClassSmo>(
                problem, working, capacity, first.value_or(capacity), source.rows)};
          },
          "source"_a, "classes"_a, "free"_a, "penalty"_a, "working"_a, "capacity"_a,
          "kernel"_a.noconvert() = nb::none(), "first"_a = nb::none(), nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 8>())
      .def(
          "run",
          [](BoundClassSmo& self, double tol, double negligible, Size max_outer,
             nb::callable stop) {
            polled(stop, [&](Poll& poll) { self.smo->run(tol, negligible, max_outer, poll); });
          },
          "tol"_a, "negligible"_a, "max_outer"_a, "stop"_a,
          "Outer steps until the gap looks small enough.")
      .def(
          "go_on",
          [](BoundClassSmo& self, InMatrix<double> alpha, InMatrix<double> pull, In<double> b) {
            require(alpha.size() == self.smo->alpha.size(), "alpha has the wrong shape");
            require(pull.size() == self.smo->pull.size(), "pull has the wrong shape");
            require_length(b, static_cast<Size>(self.smo->b.size()), "b");
            self.smo->go_on(alpha.data(), pull.data(), b.data());
          },
          "alpha"_a, "pull"_a, "b"_a, "Go on from there.")
      .def_prop_ro("alpha", [](const BoundClassSmo& self) { return copied(self.smo->alpha); })
      .def_prop_ro("pull", [](const BoundClassSmo& self) { return copied(self.smo->pull); })
      .def_prop_ro("b", [](const BoundClassSmo& self) { return copied(self.smo->b); })
      .def_prop_ro("violation", [](const BoundClassSmo& self) { return self.smo->violation; })
      .def_prop_ro("gap", [](const BoundClassSmo& self) { return self.smo->gap; })
      .def_prop_ro("dual", [](const BoundClassSmo& self) { return self.smo->dual; })
      .def_prop_ro("steps", [](const BoundClassSmo& self) { return self.smo->steps; })
      .def_prop_ro("outer_steps", [](const BoundClassSmo& self) { return self.smo->outer_steps; })
      .def_prop_ro("rows_computed",
                   [](const BoundClassSmo& self) { return self.smo->cache().rows_computed(); });
}

}  // namespace maxmargin
