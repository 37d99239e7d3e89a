// Kernel rows.
#include <memory>
#include <variant>

#include "data/passes.hpp"
#include "data/sparse_products.hpp"
#include "kernels/pairwise_rows.hpp"
#include "kernels/prediction.hpp"
#include "python/polling.hpp"
#include "python/row_source.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

using FloatMatrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr Size kValuesPerCall = Size{1} << 22;  // of a caller's kernel, which returns doubles

// Of indices, returning a row of float32 for each.
using RowFunction = nb::typed<nb::callable, FloatMatrix(InOrder)>;

RowSource from_python(RowFunction function, Size n) {
  auto shared =
      std::shared_ptr<nb::callable>(new nb::callable(std::move(function)), [](auto* held) {
        nb::gil_scoped_acquire acquire;
        delete held;
      });
  return [shared, n](const std::int32_t* index, Size count, float* const* out) {
    nb::gil_scoped_acquire acquire;
    const Size most = std::max<Size>(1, kValuesPerCall / n);
    for (Size from = 0; from < count; from += most) {
      const Size rows = std::min(most, count - from);
      const std::size_t shape[1] = {static_cast<std::size_t>(rows)};
      nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>> asked(index + from, 1, shape);
      const auto block = nb::cast<FloatMatrix>((*shared)(nb::cast(asked, nb::rv_policy::copy)));
      require(static_cast<Size>(block.shape(0)) == rows && static_cast<Size>(block.shape(1)) == n,
              "the kernel returned a block of another shape than was asked for");
      for (Size r = 0; r < rows; ++r) std::copy_n(block.data() + r * n, n, out[from + r]);
    }
  };
}

template <class Index>
CsrRows<float, Index> csr_rows(In<float> values, In<Index> columns, In<Index> offsets,
                               Size n_features) {
  const Size n = static_cast<Size>(offsets.shape(0)) - 1;
  require_length(columns, static_cast<Size>(values.shape(0)), "columns");
  require(n >= 0 && MAXMARGIN_CLONED(canonical(offsets.data(), columns.data(), n, n_features,
                                               static_cast<Size>(columns.shape(0)))),
          "the CSR arrays are not in order");
  return {values.data(), columns.data(), offsets.data(), n, n_features};
}

template <class Kernel>
void make_source(BoundSource* self, std::shared_ptr<Kernel> kernel, int n_threads) {
  new (self)
      BoundSource{[kernel, n_threads](const std::int32_t* index, Size count, float* const* out) {
                    kernel->rows(*kernel, index, count, out, n_threads);
                  },
                  kernel->n_samples(), kernel, n_threads};
}

template <class Index>
void sparse_source(BoundSource* self, In<float> values, In<Index> columns, In<Index> offsets,
                   Size n_features, In<float> squares, const KernelFormula& formula,
                   int n_threads) {
  const auto rows = csr_rows<Index>(values, columns, offsets, n_features);
  require_length(squares, rows.n_samples, "squares");
  std::shared_ptr<SparseKernel<Index>> kernel;
  {
    nb::gil_scoped_release release;
    kernel = std::make_shared<SparseKernel<Index>>(rows, squares.data(), formula, n_threads);
  }
  make_source(self, std::move(kernel), n_threads);
}

Coefficients coefficients(const BoundSource& source, InMatrix<double> coef, InOrder parts,
                          Size n_rows, OutRows out) {
  require(static_cast<Size>(coef.shape(1)) == source.n_samples, "coef has the wrong shape");
  Size total = 0;
  for (std::size_t p = 0; p < parts.shape(0); ++p) {
    require(parts.data()[p] >= 0, "parts must not be negative");
    total += parts.data()[p];
  }
  require(total == source.n_samples, "parts must sum to the number of samples");
  const Coefficients weights{coef.data(), static_cast<Size>(coef.shape(0)), parts.data(),
                             static_cast<Size>(parts.shape(0))};
  require(static_cast<Size>(out.shape(0)) == n_rows &&
              static_cast<Size>(out.shape(1)) == weights.size(),
          "out has the wrong shape");
  return weights;
}

void predict_dense(const BoundSource& self, InMatrix<float> samples, In<float> squares,
                   InMatrix<double> coef, InOrder parts, OutRows out, int n_threads) {
  const auto* kernel = std::get_if<std::shared_ptr<DenseKernel>>(&self.kernel);
  require(kernel != nullptr, "only dense sources predict dense rows");
  const Size m = static_cast<Size>(samples.shape(0));
  require_length(squares, m, "squares");
  require(static_cast<Size>(samples.shape(1)) == (*kernel)->n_features(),
          "samples have the wrong number of columns");
  const Coefficients weights = coefficients(self, coef, parts, m, out);
  nb::gil_scoped_release release;
  kernel_sums(**kernel, samples.data(), squares.data(), m, weights, out.data(), n_threads);
}

template <class Index>
void predict_sparse(const BoundSource& self, In<float> values, In<Index> columns, In<Index> offsets,
                    In<float> squares, InMatrix<double> coef, InOrder parts, OutRows out,
                    int n_threads) {
  const auto predict = [&](const auto& kernel) {
    const auto rows = csr_rows<Index>(values, columns, offsets, kernel.n_features());
    require_length(squares, rows.n_samples, "squares");
    const Coefficients weights = coefficients(self, coef, parts, rows.n_samples, out);
    nb::gil_scoped_release release;
    kernel_sums(kernel, rows, squares.data(), weights, out.data(), n_threads);
  };
  if (const auto* kernel = std::get_if<std::shared_ptr<SparseKernel<int>>>(&self.kernel))
    return predict(**kernel);
  const auto* kernel = std::get_if<std::shared_ptr<SparseKernel<long long>>>(&self.kernel);
  require(kernel != nullptr, "only sparse sources predict sparse rows");
  predict(**kernel);
}

using AnyClassRows = std::variant<std::shared_ptr<ClassRows<DenseKernel>>,
                                  std::shared_ptr<ClassRows<SparseKernel<int>>>,
                                  std::shared_ptr<ClassRows<SparseKernel<long long>>>>;

// Python's handle on the rows of one class.
struct BoundClassRows {
  AnyClassRows rows;
};

struct ClassRowsOf {
  Size most;
  AnyClassRows operator()(std::monostate) const {
    throw std::invalid_argument("only compiled kernels keep the rows of a class");
  }
  template <class Kernel>
  AnyClassRows operator()(const std::shared_ptr<Kernel>& kernel) const {
    return std::make_shared<ClassRows<Kernel>>(kernel, most);
  }
};

struct PairOf {
  int n_threads;
  template <class Kernel>
  BoundSource operator()(const std::shared_ptr<ClassRows<Kernel>>& first,
                         const std::shared_ptr<ClassRows<Kernel>>& second) const {
    return {pair_rows(first, second, n_threads),
            first->n_samples() + second->n_samples(),
            {},
            n_threads};
  }
  template <class First, class Second>
  BoundSource operator()(const First&, const Second&) const {
    throw std::invalid_argument("the classes are stored in different ways");
  }
};

// work(a, b, out) on the views of CSR rows, for a value of each row of A with each of B.
template <class Work>
void with_pairs(const Rows& A, const Rows& B, OutRows out, Work work) {
  require_length(out, A.n_samples(), "out");
  require(static_cast<Size>(out.shape(1)) == B.n_samples(), "out has other columns than B rows");
  require(A.n_features() == B.n_features(), "A and B differ in their features");
  nb::gil_scoped_release release;
  std::visit(
      [&]<class Left, class Right>(const Left& a, const Right& b) {
        if constexpr (Left::kSparse && Right::kSparse)
          work(a, b, out.data());
        else
          throw std::invalid_argument("A and B must be sparse");
      },
      A.view, B.view);
}

void dense_source(BoundSource* self, InMatrix<float> samples, In<float> squares,
                  const KernelFormula& formula, int n_threads) {
  const Size n = static_cast<Size>(samples.shape(0)), d = static_cast<Size>(samples.shape(1));
  require_length(squares, n, "squares");
  make_source(self, std::make_shared<DenseKernel>(samples.data(), squares.data(), n, d, formula),
              n_threads);
}

BoundSource twice(const BoundSource& source) {
  const Size n = source.n_samples;
  const RowSource once = source.rows;
  return {[once, n](const std::int32_t* index, Size count, float* const* out) {
            std::vector<std::int32_t> sample(index, index + count);
            for (std::int32_t& i : sample) i %= static_cast<int>(n);
            once(sample.data(), count, out);
            for (Size r = 0; r < count; ++r) std::copy_n(out[r], n, out[r] + n);
          },
          2 * n,
          {},
          source.n_threads};
}

BoundSource centred_source(const BoundSource& source, In<double> means, double mean) {
  require_length(means, source.n_samples, "means");
  return {centred(source.rows, means.data(), source.n_samples, mean),
          source.n_samples,
          {},
          source.n_threads};
}

void compute_rows(const BoundSource& source, InOrder index, FloatMatrix out) {
  const Size count = static_cast<Size>(index.shape(0));
  require(static_cast<Size>(out.shape(0)) == count &&
              static_cast<Size>(out.shape(1)) == source.n_samples,
          "out has the wrong shape");
  for (Size k = 0; k < count; ++k)
    require(0 <= index(k) && index(k) < source.n_samples, "index holds a row that does not exist");
  std::vector<float*> rows(count);
  for (Size k = 0; k < count; ++k) rows[k] = out.data() + k * source.n_samples;
  nb::gil_scoped_release release;
  source.rows(index.data(), count, rows.data());
}

template <class Index>
void bind_sparse_source(nb::class_<BoundSource>& type) {
  type.def("__init__", &sparse_source<Index>, "values"_a.noconvert(), "columns"_a.noconvert(),
           "offsets"_a.noconvert(), "n_features"_a, "squares"_a.noconvert(), "formula"_a,
           "n_threads"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 6>());
  type.def("predict", &predict_sparse<Index>, "values"_a.noconvert(), "columns"_a.noconvert(),
           "offsets"_a.noconvert(), "squares"_a.noconvert(), "coef"_a, "parts"_a,
           "out"_a.noconvert(), "n_threads"_a);
}

void bind_source(nb::module_& m) {
  auto type = nb::class_<BoundSource>(m, "KernelRows", "A source of kernel rows.");
  type.def("__init__", &dense_source, "samples"_a.noconvert(), "squares"_a.noconvert(), "formula"_a,
           "n_threads"_a);
  type.def("predict", &predict_dense, "samples"_a.noconvert(), "squares"_a.noconvert(), "coef"_a,
           "parts"_a, "out"_a.noconvert(), "n_threads"_a,
           "Sums of coef times kernel values with the samples of this source.");
  bind_sparse_source<int>(type);
  bind_sparse_source<long long>(type);
  type.def(
      "__init__",
      [](BoundSource* self, RowFunction function, Size n_samples) {
        require(n_samples >= 1, "there are no samples");
        new (self) BoundSource{from_python(std::move(function), n_samples), n_samples};
      },
      "function"_a, "n_samples"_a);
  type.def("twice", &twice, nb::keep_alive<0, 1>(),
           "Every sample twice: rows of n values, and the same again.");
  type.def("centred", &centred_source, "means"_a.noconvert(), "mean"_a, nb::keep_alive<0, 1>(),
           nb::keep_alive<0, 2>(),
           "Values seen from a point c: k(x, z) - <x, c> - <z, c> + <c, c>.");
  type.def("rows", &compute_rows, "index"_a, "out"_a.noconvert());
}

void bind_formula(nb::module_& m) {
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
}

void bind_sparse_products(nb::module_& m) {
  m.def(
      "sparse_products",
      [](const Rows& A, const Rows& B, OutRows out) {
        with_pairs(A, B, out, [](const auto& a, const auto& b, double* values) {
          MAXMARGIN_CLONED(sparse_products(a, ByColumn(b), values));
        });
      },
      "A"_a, "B"_a, "out"_a.noconvert(), "out = A B' of CSR rows, in double.");
  m.def(
      "sparse_distances",
      [](const Rows& A, const Rows& B, OutRows out) {
        with_pairs(A, B, out, [](const auto& a, const auto& b, double* values) {
          sparse_distances(a, b, values);
        });
      },
      "A"_a, "B"_a, "out"_a.noconvert(),
      "Squared distances of CSR rows, from their differences, in double.");
}

void bind_class_rows(nb::module_& m) {
  nb::class_<BoundClassRows>(m, "ClassRows", "Kernel rows of a class among its own samples.")
      .def(
          "__init__",
          [](BoundClassRows* self, const BoundSource& source, Size most) {
            new (self) BoundClassRows{std::visit(ClassRowsOf{most}, source.kernel)};
          },
          "source"_a, "most"_a, nb::keep_alive<1, 2>())
      .def(
          "pair",
          [](const BoundClassRows& self, const BoundClassRows& other, int n_threads) {
            return std::visit(PairOf{n_threads}, self.rows, other.rows);
          },
          "other"_a, "n_threads"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
          "The source of rows for the samples of this class, then those of the other.")
      .def_prop_ro("rows_kept", [](const BoundClassRows& self) {
        return std::visit([](const auto& rows) { return rows->rows_kept(); }, self.rows);
      });
}

}  // namespace

void bind_kernels(nb::module_& m) {
  bind_formula(m);
  bind_sparse_products(m);
  bind_source(m);
  bind_class_rows(m);
}

}  // namespace maxmargin
