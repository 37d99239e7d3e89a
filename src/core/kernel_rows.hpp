// Rows of the kernel matrix, in float32.
//
// Every compiled kernel is a function of <x, z>, |x|^2 and |z|^2: a GEMM and one pass over its
// result while that is in the cache. Other kernels come from the caller, block by block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "blas.hpp"
#include "rows.hpp"

namespace maxmargin {

enum class KernelKind { kLinear, kPolynomial, kGaussian, kSigmoid, kCosine };

struct KernelFormula {
  KernelKind kind;
  float gamma, offset;
  int degree;
};

// exp(x) for x <= 0 to 2 ulp: 2^k by the exponent bits, the rest by a polynomial (Cephes' expf).
MAXMARGIN_INLINE float exp_negative(float x) {
  const float clamped = x < -87.0f ? -87.0f : x;
  const float k = std::nearbyintf(clamped * 1.44269504f);
  const float r = (clamped - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  union {
    std::int32_t bits;
    float value;
  } power{(static_cast<std::int32_t>(k) + 127) << 23};
  return x < -87.0f ? 0.0f : p * power.value;
}

MAXMARGIN_INLINE float integer_power(float base, int exponent) {
  float power = 1.0f;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

// Turns dot products <x, z_j> into kernel values; `square` and `squares` are |x|^2 and |z_j|^2.
MAXMARGIN_CLONES inline void apply_kernel(const KernelFormula& formula, float square,
                                          const float* squares, Size count, float* values) {
  const float gamma = formula.gamma, offset = formula.offset;
  switch (formula.kind) {
    case KernelKind::kLinear:
      break;
    case KernelKind::kPolynomial:
      for (Size j = 0; j < count; ++j)
        values[j] = integer_power(gamma * values[j] + offset, formula.degree);
      break;
    case KernelKind::kGaussian:
#pragma omp simd
      for (Size j = 0; j < count; ++j) {
        const float distance = square + squares[j] - 2.0f * values[j];
        values[j] = exp_negative(-gamma * (distance > 0.0f ? distance : 0.0f));
      }
      break;
    case KernelKind::kSigmoid:
      for (Size j = 0; j < count; ++j) values[j] = std::tanh(gamma * values[j] + offset);
      break;
    case KernelKind::kCosine:
#pragma omp simd
      for (Size j = 0; j < count; ++j) {
        const float product = std::sqrt(square * squares[j]);
        values[j] = product > 0.0f ? values[j] / product : 0.0f;
      }
      break;
  }
}

MAXMARGIN_CLONES inline double weighted_sum(const float* values, const double* weights,
                                            Size count) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (Size j = 0; j < count; ++j) total += weights[j] * static_cast<double>(values[j]);
  return total;
}

// out[r][0..n) = values of the kernel between sample index[r] and all samples.
using RowSource = std::function<void(const std::int32_t* index, Size count, float* const* out)>;

// x_i of dense float32 samples against all of them, or against a panel of sparse ones.
class DenseKernel {
 public:
  DenseKernel(const float* samples, const float* squares, Size n, Size d, KernelFormula formula,
              Sgemm sgemm)
      : samples_(samples), squares_(squares), n_(n), d_(d), formula_(formula), sgemm_(sgemm) {}

  Size n_features() const { return d_; }

  // Values between `count` given rows and samples begin <= j < end: values[r * stride + j - begin].
  void block(const float* rows, const float* row_squares, Size count, Size begin, Size end,
             float* values, Size stride) const {
    const int m = static_cast<int>(end - begin), k = static_cast<int>(count),
              d = static_cast<int>(d_), ldc = static_cast<int>(stride);
    const float one = 1.0f, zero = 0.0f;
    sgemm_("T", "N", &m, &k, &d, &one, samples_ + begin * d_, &d, rows, &d, &zero, values, &ldc);
    for (Size r = 0; r < count; ++r)
      apply_kernel(formula_, row_squares[r], squares_ + begin, end - begin, values + r * stride);
  }

  void rows(const std::int32_t* index, Size count, float* const* out) const {
    constexpr Size kRows = 128, kColumns = 512;
    std::vector<float> panel(static_cast<std::size_t>(std::min(count, kRows) * d_));
    std::vector<float> tile(static_cast<std::size_t>(std::min(count, kRows) * kColumns));
    std::vector<float> squares(static_cast<std::size_t>(std::min(count, kRows)));
    for (Size from = 0; from < count; from += kRows) {
      const Size rows = std::min(kRows, count - from);
      for (Size r = 0; r < rows; ++r) {
        std::copy_n(samples_ + index[from + r] * d_, d_, panel.data() + r * d_);
        squares[r] = squares_[index[from + r]];
      }
      for (Size begin = 0; begin < n_; begin += kColumns) {
        const Size end = std::min(begin + kColumns, n_);
        block(panel.data(), squares.data(), rows, begin, end, tile.data(), kColumns);
        for (Size r = 0; r < rows; ++r)
          std::copy_n(tile.data() + r * kColumns, end - begin, out[from + r] + begin);
      }
    }
  }

 private:
  const float* samples_;
  const float* squares_;
  Size n_, d_;
  KernelFormula formula_;
  Sgemm sgemm_;
};

// The same for CSR samples: some rows are laid out densely, column by column, and all samples are
// streamed against them, so that one look at an index serves many products.
template <class Index>
class SparseKernel {
 public:
  SparseKernel(CsrRows<float, Index> samples, const float* squares, KernelFormula formula)
      : samples_(samples), squares_(squares), formula_(formula) {}

  void rows(const std::int32_t* index, Size count, float* const* out) const {
    std::vector<float> panel(static_cast<std::size_t>(samples_.n_features) * kRows, 0.0f);
    for (Size from = 0; from < count; from += kRows) {
      const Size rows = std::min(kRows, count - from);
      for (Size r = 0; r < rows; ++r) spread(index[from + r], r, panel.data(), 1.0f);
      stream(rows, panel.data(), out + from);
      for (Size r = 0; r < rows; ++r) {
        spread(index[from + r], r, panel.data(), 0.0f);
        apply_kernel(formula_, squares_[index[from + r]], squares_, samples_.n_samples,
                     out[from + r]);
      }
    }
  }

 private:
  static constexpr Size kRows = 16;

  void spread(Size i, Size slot, float* panel, float scale) const {
    for (Size k = samples_.offsets[i]; k < samples_.offsets[i + 1]; ++k)
      panel[static_cast<Size>(samples_.columns[k]) * kRows + slot] = scale * samples_.values[k];
  }

  MAXMARGIN_CLONES void stream(Size rows, const float* panel, float* const* out) const {
    for (Size j = 0; j < samples_.n_samples; ++j) {
      float sums[kRows] = {};
      for (Size k = samples_.offsets[j]; k < samples_.offsets[j + 1]; ++k) {
        const float value = samples_.values[k];
        const float* column = panel + static_cast<Size>(samples_.columns[k]) * kRows;
#pragma omp simd
        for (Size r = 0; r < kRows; ++r) sums[r] += value * column[r];
      }
      for (Size r = 0; r < rows; ++r) out[r][j] = sums[r];
    }
  }

  CsrRows<float, Index> samples_;
  const float* squares_;
  KernelFormula formula_;
};

}  // namespace maxmargin
