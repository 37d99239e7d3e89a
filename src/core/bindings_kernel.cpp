// Kernel rows and SMO.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "bindings.hpp"
#include "kernel_pegasos.hpp"
#include "passes.hpp"
#include "polled.hpp"
#include "smo.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

using FloatMatrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Groups = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Python's handle on a source of rows, with what it needs kept alive by the bindings.
struct BoundSource {
  RowSource rows;
  Size n_samples;
  std::shared_ptr<DenseKernel> dense = nullptr;  // where it can also predict
  int n_threads = 1;
};

constexpr Size kRows = 96;  // predicted together

// out[r][c] = sum over the samples j of coef[c][j] k(row r, sample j).
void predict_rows(const DenseKernel& kernel, const float* rows, const float* squares, Size count,
                  const double* coef, Size n_coef, double* out) {
  constexpr Size kPanels = 32, kColumns = kPanels * DenseKernel::kWidth;
  std::vector<float> tile(static_cast<std::size_t>(kRows * kColumns));
  std::vector<float*> values(count);
  std::fill_n(out, count * n_coef, 0.0);
  for (Size first = 0; first < kernel.n_panels(); first += kPanels) {
    const Size last = std::min(first + kPanels, kernel.n_panels());
    const Size begin = first * DenseKernel::kWidth;
    const Size width = std::min(last * DenseKernel::kWidth, kernel.n_samples()) - begin;
    for (Size r = 0; r < count; ++r) values[r] = tile.data() + r * kColumns;
    kernel.block(rows, squares, count, first, last, values.data(), begin);
    for (Size r = 0; r < count; ++r)
      for (Size c = 0; c < n_coef; ++c)
        out[r * n_coef + c] +=
            weighted_sum(tile.data() + r * kColumns, coef + c * kernel.n_samples() + begin, width);
  }
}

RowSource from_python(nb::callable function, Size n) {
  auto shared =
      std::shared_ptr<nb::callable>(new nb::callable(std::move(function)), [](auto* held) {
        nb::gil_scoped_acquire acquire;
        delete held;
      });
  return [shared, n](const std::int32_t* index, Size count, float* const* out) {
    nb::gil_scoped_acquire acquire;
    const std::size_t shape[1] = {static_cast<std::size_t>(count)};
    nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>> asked(index, 1, shape);
    const auto block = nb::cast<FloatMatrix>((*shared)(nb::cast(asked, nb::rv_policy::copy)));
    require(static_cast<Size>(block.shape(0)) == count && static_cast<Size>(block.shape(1)) == n,
            "the kernel returned a block of another shape than was asked for");
    for (Size r = 0; r < count; ++r) std::copy_n(block.data() + r * n, n, out[r]);
  };
}

template <class Index>
void sparse_source(BoundSource* self, In<float> values, In<Index> columns, In<Index> offsets,
                   Size n_features, In<float> squares, const KernelFormula& formula) {
  const Size n = static_cast<Size>(offsets.shape(0)) - 1;
  require_length(squares, n, "squares");
  require_length(columns, static_cast<Size>(values.shape(0)), "columns");
  require(n >= 0 && canonical(offsets.data(), columns.data(), n, n_features,
                              static_cast<Size>(columns.shape(0))),
          "the CSR arrays are not in order");
  const CsrRows<float, Index> rows{values.data(), columns.data(), offsets.data(), n, n_features};
  auto kernel = std::make_shared<SparseKernel<Index>>(rows, squares.data(), formula);
  new (self) BoundSource{[kernel](const std::int32_t* index, Size count, float* const* out) {
                           kernel->rows(index, count, out);
                         },
                         n};
}

struct BoundSmo {
  std::unique_ptr<Smo> smo;
};

}  // namespace

void bind_kernel(nb::module_& m) {
  nb::enum_<KernelKind>(m, "KernelKind")
      .value("linear", KernelKind::kLinear)
      .value("polynomial", KernelKind::kPolynomial)
      .value("gaussian", KernelKind::kGaussian)
      .value("sigmoid", KernelKind::kSigmoid)
      .value("cosine", KernelKind::kCosine);

  nb::class_<KernelFormula>(m, "KernelFormula", "A kernel of <x, z>, |x|^2 and |z|^2.")
      .def(
          "__init__",
          [](KernelFormula* self, KernelKind kind, double gamma, double offset, int degree) {
            new (self)
                KernelFormula{kind, static_cast<float>(gamma), static_cast<float>(offset), degree};
          },
          "kind"_a, "gamma"_a, "offset"_a, "degree"_a);

  nb::class_<BoundSource>(m, "KernelRows", "A source of kernel rows.")
      .def(
          "__init__",
          [](BoundSource* self, InMatrix<float> samples, In<float> squares,
             const KernelFormula& formula, int n_threads) {
            const Size n = static_cast<Size>(samples.shape(0));
            require_length(squares, n, "squares");
            auto kernel = std::make_shared<DenseKernel>(
                samples.data(), squares.data(), n, static_cast<Size>(samples.shape(1)), formula);
            new (self) BoundSource{
                [kernel, n_threads](const std::int32_t* index, Size count, float* const* out) {
                  kernel->rows(index, count, out, n_threads);
                },
                n, kernel, n_threads};
          },
          "samples"_a.noconvert(), "squares"_a.noconvert(), "formula"_a, "n_threads"_a)
      .def("__init__", &sparse_source<int>, "values"_a.noconvert(), "columns"_a.noconvert(),
           "offsets"_a.noconvert(), "n_features"_a, "squares"_a.noconvert(), "formula"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 6>())
      .def("__init__", &sparse_source<long long>, "values"_a.noconvert(), "columns"_a.noconvert(),
           "offsets"_a.noconvert(), "n_features"_a, "squares"_a.noconvert(), "formula"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 6>())
      .def(
          "__init__",
          [](BoundSource* self, nb::callable function, Size n_samples) {
            new (self) BoundSource{from_python(std::move(function), n_samples), n_samples};
          },
          "function"_a, "n_samples"_a)
      .def(
          "twice",
          [](const BoundSource& self) {
            const Size n = self.n_samples;
            const RowSource once = self.rows;
            return BoundSource{[once, n](const std::int32_t* index, Size count, float* const* out) {
                                 std::vector<std::int32_t> sample(index, index + count);
                                 for (std::int32_t& i : sample) i %= static_cast<int>(n);
                                 once(sample.data(), count, out);
                                 for (Size r = 0; r < count; ++r)
                                   std::copy_n(out[r], n, out[r] + n);
                               },
                               2 * n};
          },
          nb::keep_alive<0, 1>(), "Every sample twice: rows of n values, and the same again.")
      .def(
          "rows",
          [](const BoundSource& self, InOrder index, FloatMatrix out) {
            const Size count = static_cast<Size>(index.shape(0));
            require(static_cast<Size>(out.shape(0)) == count &&
                        static_cast<Size>(out.shape(1)) == self.n_samples,
                    "out has the wrong shape");
            for (Size k = 0; k < count; ++k)
              require(0 <= index(k) && index(k) < self.n_samples,
                      "index holds a row that does not exist");
            std::vector<float*> rows(count);
            for (Size k = 0; k < count; ++k) rows[k] = out.data() + k * self.n_samples;
            nb::gil_scoped_release release;
            self.rows(index.data(), count, rows.data());
          },
          "index"_a, "out"_a)
      .def(
          "predict",
          [](const BoundSource& self, InMatrix<float> samples, In<float> squares,
             InMatrix<double> coef, OutRows out) {
            require(self.dense != nullptr, "only dense sources predict");
            const Size m = static_cast<Size>(samples.shape(0)),
                       d = static_cast<Size>(samples.shape(1));
            require_length(squares, m, "squares");
            const Size n = self.n_samples, p = static_cast<Size>(coef.shape(0));
            require(static_cast<Size>(coef.shape(1)) == n, "coef has the wrong shape");
            require(static_cast<Size>(out.shape(0)) == m && static_cast<Size>(out.shape(1)) == p,
                    "out has the wrong shape");
            require(d == self.dense->n_features(), "samples have the wrong number of columns");
            nb::gil_scoped_release release;
            in_threads((m + kRows - 1) / kRows, self.n_threads, [&](Size first, Size last) {
              for (Size part = first; part < last; ++part) {
                const Size from = part * kRows, rows = std::min(kRows, m - from);
                predict_rows(*self.dense, samples.data() + from * d, squares.data() + from, rows,
                             coef.data(), p, out.data() + from * p);
              }
            });
          },
          "samples"_a.noconvert(), "squares"_a.noconvert(), "coef"_a, "out"_a,
          "Sums of coef times kernel values with the samples of this source.");

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

  nb::class_<BoundSmo>(m, "Smo", "Two-level sequential minimal optimisation.")
      .def(
          "__init__",
          [](BoundSmo* self, const BoundSource& source, In<double> target, In<double> lower,
             In<double> upper, Groups group, double epsilon, bool balanced, Size working,
             Size capacity) {
            const Size n = source.n_samples;
            require(n > 0 && working >= 2, "nothing to work on");
            require_length(target, n, "target");
            require_length(lower, n, "lower");
            require_length(upper, n, "upper");
            require_length(group, n, "group");
            const SmoProblem problem{
                n, target.data(), lower.data(), upper.data(), group.data(), epsilon, balanced};
            new (self) BoundSmo{std::make_unique<Smo>(problem, working, capacity, source.rows)};
          },
          "source"_a, "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
          "group"_a.noconvert(), "epsilon"_a, "balanced"_a, "working"_a, "capacity"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
          nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>())
      .def(
          "start",
          [](BoundSmo& self, In<double> beta, nb::callable stop) {
            require_length(beta, static_cast<Size>(self.smo->beta.size()), "beta");
            polled(stop, [&](Poll& poll) { self.smo->start(beta.data(), poll); });
          },
          "beta"_a, "stop"_a)
      .def(
          "run",
          [](BoundSmo& self, double tol, double negligible, Size max_outer, nb::callable stop) {
            polled(stop, [&](Poll& poll) { self.smo->run(tol, negligible, max_outer, poll); });
          },
          "tol"_a, "negligible"_a, "max_outer"_a, "stop"_a,
          "Outer steps until the gap looks small enough.")
      .def(
          "fresh_residual",
          [](BoundSmo& self, nb::callable stop) {
            std::vector<double> fresh;
            polled(stop, [&](Poll& poll) { fresh = self.smo->fresh_residual(poll); });
            return copied(fresh);
          },
          "stop"_a, "target - K beta anew.")
      .def(
          "correct",
          [](BoundSmo& self, In<double> residual) {
            require_length(residual, static_cast<Size>(self.smo->residual.size()), "residual");
            std::copy_n(residual.data(), residual.shape(0), self.smo->residual.begin());
          },
          "residual"_a, "Go on from residuals known better than the float32 rows give them.")
      .def_prop_ro("beta", [](const BoundSmo& self) { return copied(self.smo->beta); })
      .def_prop_ro("residual", [](const BoundSmo& self) { return copied(self.smo->residual); })
      .def_prop_ro("violation", [](const BoundSmo& self) { return self.smo->violation; })
      .def_prop_ro("stuck", [](const BoundSmo& self) { return self.smo->stuck; })
      .def_prop_ro("steps", [](const BoundSmo& self) { return self.smo->steps; })
      .def_prop_ro("outer_steps", [](const BoundSmo& self) { return self.smo->outer_steps; })
      .def_prop_ro("rows_computed",
                   [](const BoundSmo& self) { return self.smo->cache().rows_computed(); });
}

}  // namespace maxmargin
