// Newton's method: its levels as Python objects.
#include "linear/newton.hpp"

#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "data/passes.hpp"
#include "data/poisson_sample.hpp"
#include "python/arrays.hpp"
#include "python/polling.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

template <class Rows>
using LevelOf = std::unique_ptr<NewtonLevel<Rows>>;

template <class Variant>
struct LevelsOf;
template <class... Views>
struct LevelsOf<std::variant<Views...>> {
  using type = std::variant<LevelOf<Views>...>;
};

struct Level {
  LevelsOf<AnyRows>::type any;

  template <class Visitor>
  decltype(auto) visit(Visitor visitor) const {
    return std::visit([&](const auto& level) -> decltype(auto) { return visitor(*level); }, any);
  }
};

void make_level(Level* self, const Rows& rows, const BoundTerms& bound, Bias& bias,
                const Blas& blas) {
  require(bound.n_samples == rows.n_samples(), "terms and rows differ in length");
  std::visit(
      [&]<class View>(const View& view) {
        new (self) Level{std::make_unique<NewtonLevel<View>>(view, bound.terms, bias, blas)};
      },
      rows.view);
}

// At w, with the centre given or in the middle of the box.
void start(const Level& self, In<double> w, double softness, std::optional<In<double>> centre,
           Stop stop) {
  self.visit([&](auto& level) {
    require_length(w, static_cast<Size>(level.w.size()), "w");
    if (centre) require_length(*centre, static_cast<Size>(level.z().size()), "centre");
    std::copy_n(w.data(), level.w.size(), level.w.begin());
    level.softness = softness;
    polled(stop, [&](Poll& poll) {
      if (centre)
        std::copy_n(centre->data(), level.centre().size(), level.centre().begin());
      else
        level.centre_in_box(poll);
    });
    nb::gil_scoped_release release;
    level.evaluate();
  });
}

void descend(const Level& self, In<double> squared_norms, double feature, Random& random,
             Stop stop) {
  self.visit([&](auto& level) {
    require_length(squared_norms, static_cast<Size>(level.z().size()), "squared_norms");
    polled(stop, [&](Poll& poll) { level.descend(squared_norms.data(), feature, random, poll); });
  });
}

void step(const Level& self, Stop stop) {
  self.visit([&](auto& level) { polled(stop, [&](Poll& poll) { level.step(poll); }); });
}

void use_hessian_of(const Level& self, const Level& sample, InOrder indices) {
  self.visit([&](auto& level) {
    sample.visit([&](auto& part) {
      require(part.w.size() == level.w.size(), "levels of different columns");
      const Size count = static_cast<Size>(part.z().size());
      require_length(indices, count, "indices");
      require(all_within(indices.data(), count, static_cast<Size>(level.z().size())),
              "indices holds a row that does not exist");
      level.use_hessian_of(part, indices.data());
    });
  });
}

void rough_solve(const Level& self, double tol, double shrink, double floor, Size max_steps,
                 Stop stop) {
  self.visit([&](auto& level) {
    polled(stop, [&](Poll& poll) { level.rough_solve(tol, shrink, floor, max_steps, poll); });
  });
}

void solve(const Level& self, double tol, double shrink, Size max_steps, Stop stop) {
  self.visit([&](auto& level) {
    polled(stop, [&](Poll& poll) { level.solve(tol, shrink, max_steps, poll); });
  });
}

// In the order of the features.
auto hessian(const Level& self, Stop stop) {
  std::vector<double> upper;
  self.visit([&](auto& level) {
    std::vector<double> kept;
    polled(stop, [&](Poll& poll) { level.hessian(poll, kept); });
    const Size dim = level.gram().dim();
    if (static_cast<Size>(kept.size()) < dim * dim) return;  // halted
    upper.resize(kept.size());
    for (Size j = 0; j < dim; ++j)
      for (Size i = 0; i <= j; ++i) {
        const Size p = level.gram().place(i), q = level.gram().place(j);
        upper[j * dim + i] = kept[std::max(p, q) * dim + std::min(p, q)];
      }
  });
  return copied(upper);
}

void bind_blas(nb::module_& m) {
  nb::class_<Blas>(m, "Blas", "Functions of SciPy's BLAS and LAPACK.")
      .def(
          "__init__",
          [](Blas* self, nb::capsule dsyrk, nb::capsule dgemm, nb::capsule dtrsm,
             nb::capsule dpotrf, nb::capsule dpotrs) {
            new (self)
                Blas{function_from<Dsyrk>(dsyrk, "void (char *, char *, int *, int *"),
                     function_from<Dgemm>(dgemm, "void (char *, char *, int *, int *, int *"),
                     function_from<Dtrsm>(dtrsm, "void (char *, char *, char *, char *, "),
                     function_from<Dpotrf>(dpotrf, "void (char *, int *, "),
                     function_from<Dpotrs>(dpotrs, "void (char *, int *, int *, ")};
          },
          "dsyrk"_a, "dgemm"_a, "dtrsm"_a, "dpotrf"_a, "dpotrs"_a);
}

void bind_level_solves(nb::class_<Level>& type) {
  type.def("__init__", &make_level, "rows"_a, "terms"_a, "bias"_a, "blas"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
  type.def("start", &start, "w"_a, "softness"_a, "centre"_a.none(), "stop"_a,
           "Go to w; without a centre, take the middle of the box.");
  type.def("descend", &descend, "squared_norms"_a, "feature"_a, "random"_a, "stop"_a,
           "Go to where stochastic steps of a squared loss lead; `feature` is the intercept's.");
  type.def("step", &step, "stop"_a);
  type.def("use_hessian_of", &use_hessian_of, "sample"_a, "indices"_a.noconvert(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           "Take the curvature from a sample of the rows at these indices, if it has rows enough.");
  type.def("rough_solve", &rough_solve, "tol"_a, "shrink"_a, "floor"_a, "max_steps"_a, "stop"_a);
  type.def("solve", &solve, "tol"_a, "shrink"_a, "max_steps"_a, "stop"_a);
  type.def("hessian", &hessian, "stop"_a, "The upper triangle, column by column.");
}

// A property of whatever a level has.
template <class Get>
void bind_value(nb::class_<Level>& type, const char* name, Get get) {
  type.def_prop_ro(name, [get](const Level& self) { return self.visit(get); });
}
template <class Get>
void bind_array(nb::class_<Level>& type, const char* name, Get get) {
  type.def_prop_ro(name, [get](const Level& self) {
    return self.visit([&](auto& level) { return copied(get(level)); });
  });
}

void bind_level_values(nb::class_<Level>& type) {
  bind_array(type, "w", [](auto& level) -> auto& { return level.w; });
  bind_array(type, "beta", [](auto& level) -> auto& { return level.beta(); });
  bind_array(type, "z", [](auto& level) -> auto& { return level.z(); });
  bind_array(type, "combination", [](auto& level) -> auto& { return level.combination(); });
  bind_array(type, "flags", [](auto& level) -> auto& { return level.flags(); });
  bind_value(type, "b", [](auto& level) { return level.b(); });
  bind_value(type, "arranged", [](auto& level) { return level.gram().arranged(); });
  bind_value(type, "softness", [](auto& level) { return level.softness; });
  bind_value(type, "n_steps", [](auto& level) { return level.n_steps; });
  bind_value(type, "n_sloped", [](auto& level) { return level.n_sloped(); });
  bind_value(type, "primal", [](auto& level) { return level.primal; });
  bind_value(type, "softening", [](auto& level) { return level.softening; });
  bind_value(type, "imbalance", [](auto& level) { return level.imbalance; });
}

void bind_draw(nb::module_& m) {
  nb::class_<PoissonSample>(m, "PoissonSample",
                            "A sample of the rows, each with a chance of its own.")
      .def(
          "__init__",
          [](PoissonSample* self, In<double> cost, In<double> squared_norms, double share,
             double by_norm, Size expected, Random& random) {
            const Size n = static_cast<Size>(cost.shape(0));
            require_length(squared_norms, n, "squared_norms");
            require(0 <= expected && expected <= n, "expected out of bounds");
            nb::gil_scoped_release release;
            new (self) PoissonSample{MAXMARGIN_CLONED(
                draw_rows(cost.data(), squared_norms.data(), n, share, by_norm, expected, random))};
          },
          "cost"_a, "squared_norms"_a, "share"_a, "by_norm"_a, "expected"_a, "random"_a,
          "Row k has the chance share + by_norm * cost_k * squared_norms_k.")
      .def_prop_ro("indices", [](const PoissonSample& self) { return copied(self.indices); })
      .def_prop_ro("numbers", [](const PoissonSample& self) { return copied(self.numbers); })
      .def_prop_ro("chances", [](const PoissonSample& self) { return copied(self.chances); });
}

// Python's handle on the line of a search.
struct BoundLine {
  Line line;
  double slope_at_0;
};

void make_line(BoundLine* self, In<double> z, In<double> dz, double slope_at_0, double w_dot_dw,
               double dw_square) {
  const Size n = static_cast<Size>(z.shape(0));
  require_length(dz, n, "dz");
  new (self) BoundLine{Line{z.data(), dz.data(), n, w_dot_dw, dw_square}, slope_at_0};
}

double line_search(const BoundTerms& bound, In<double> centre, double softness,
                   const BoundLine& search, double precision) {
  require_length(centre, bound.n_samples, "centre");
  require(search.line.n_rows == bound.n_samples, "line and terms differ in length");
  const Proximal prox{bound.terms, centre.data(), bound.terms.loss.bounded ? softness : 0.0};
  LineDerivative along(prox, search.line);
  return exact_line_search(along, search.slope_at_0, precision);
}

void bind_line_search(nb::module_& m) {
  nb::class_<BoundLine>(m, "Line", "z + s dz, and what w + s dw adds to the objective along it.")
      .def("__init__", &make_line, "z"_a.noconvert(), "dz"_a.noconvert(), "slope_at_0"_a,
           "w_dot_dw"_a, "dw_square"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  m.def("line_search", &line_search, "terms"_a, "centre"_a, "softness"_a, "line"_a, "precision"_a);
}

}  // namespace

void bind_newton(nb::module_& m) {
  bind_blas(m);
  m.attr("ROWS_FOR_HESSIAN") = kRowsForHessian;
  nb::class_<Level> type(m, "NewtonLevel", "Newton's method on all rows, or on a sample.");
  bind_level_solves(type);
  bind_level_values(type);
  bind_draw(m);
  bind_line_search(m);
}

}  // namespace maxmargin
