// Rows of the kernel matrix, in float32.
//
// Every compiled kernel is a function of <x, z>, |x|^2 and |z|^2: products in tiles, turned into
// kernel values before they are written. Other kernels come from the caller, block by block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "common/aligned.hpp"
#include "common/parallel.hpp"
#include "data/rows.hpp"

namespace maxmargin {

// Eight values that begin at any place, as one vector; sixteen are loaded and stored.
typedef float Eight __attribute__((vector_size(32), aligned(4)));
typedef float Sixteen __attribute__((vector_size(64)));

MAXMARGIN_INLINE const Eight& eight_at(const float* values) {
  return *reinterpret_cast<const Eight*>(values);
}
MAXMARGIN_INLINE Eight& eight_at(float* values) {
  return *reinterpret_cast<Eight*>(values);
}

// Samples whose kernel values are computed, and summed, at a time.
constexpr Size kPanel = 16;

enum class KernelKind { kLinear, kPolynomial, kGaussian, kSigmoid, kCosine };

struct KernelFormula {
  KernelKind kind;
  float gamma, offset;
  int degree;
};

// 2^x for x <= 0 to 1 ulp: a power of two by the exponent bits, the rest by a polynomial with the
// least relative error; 0 below 2^-125, where float32 ends.
MAXMARGIN_INLINE float power_of_two(float x) {
  const float clamped = x < -125.0f ? -125.0f : x;
  const float k = std::nearbyintf(clamped), r = clamped - k;
  float p = 1.5353362e-4f;
  p = p * r + 1.3398874e-3f;
  p = p * r + 9.618437e-3f;
  p = p * r + 5.5503324e-2f;
  p = p * r + 2.4022648e-1f;
  p = p * r + 6.931472e-1f;
  union {
    float value;
    std::int32_t bits;
  } power{p * r + 1.0f};
  power.bits += static_cast<std::int32_t>(k) << 23;
  return x < -125.0f ? 0.0f : power.value;
}

MAXMARGIN_INLINE float integer_power(float base, int exponent) {
  float power = 1.0f;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

// Turns dot products <x, z_j> into kernel values; `square` and `squares` are |x|^2 and |z_j|^2.
MAXMARGIN_INLINE void apply_kernel(const KernelFormula& formula, float square, const float* squares,
                                   Size count, float* values) {
  const float gamma = formula.gamma, offset = formula.offset;
  switch (formula.kind) {
    case KernelKind::kLinear:
      break;
    case KernelKind::kPolynomial:
      for (Size j = 0; j < count; ++j) {
        constexpr float kMost = std::numeric_limits<float>::max();  // infinity times 0 is not 0
        const float power = integer_power(gamma * values[j] + offset, formula.degree);
        values[j] = power > kMost ? kMost : power < -kMost ? -kMost : power;
      }
      break;
    case KernelKind::kGaussian: {
      constexpr float kLog2OfE = 1.44269504f, kMost = std::numeric_limits<float>::max();
      const float rate = -gamma * kLog2OfE;
#pragma omp simd
      for (Size j = 0; j < count; ++j) {
        const float sum = square + squares[j] - 2.0f * values[j];
        const float distance = sum < kMost ? sum : kMost;  // so is NaN, of rows that overflow
        values[j] = power_of_two(rate * (distance > 0.0f ? distance : 0.0f));
      }
      break;
    }
    case KernelKind::kSigmoid:
      for (Size j = 0; j < count; ++j) values[j] = std::tanh(gamma * values[j] + offset);
      break;
    case KernelKind::kCosine:
#pragma omp simd
      for (Size j = 0; j < count; ++j) {
        const float product = std::sqrt(square) * std::sqrt(squares[j]);
        values[j] = product > 0.0f ? values[j] / product : 0.0f;
      }
      break;
  }
}

// out[r][0..n) = values of the kernel between sample index[r] and all samples.
using RowSource = std::function<void(const std::int32_t* index, Size count, float* const* out)>;

// The same rows with the samples seen from a point c of their space: means_i = <x_i, c> and
// mean = <c, c>.
inline RowSource centred(RowSource source, const double* means, Size n, double mean) {
  return [=](const std::int32_t* index, Size count, float* const* out) {
    source(index, count, out);
    for (Size r = 0; r < count; ++r) {
      const double shift = mean - means[index[r]];
      for (Size k = 0; k < n; ++k)
        out[r][k] = static_cast<float>(static_cast<double>(out[r][k]) + (shift - means[k]));
    }
  };
}

}  // namespace maxmargin
