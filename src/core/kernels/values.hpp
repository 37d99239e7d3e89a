// Kernel values in double, from dot products that BLAS has computed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "common/types.hpp"

namespace maxmargin {

// exp(x) for x <= 0, to the last bit or two; 0 below -708. With x = k log 2 + r, |r| <= log(2) / 2,
// it is 2^k times Taylor's polynomial of r.
MAXMARGIN_INLINE double exp_of_negative(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves a whole number
  const double shifted = x * 1.4426950408889634 + kRound;
  const double k = shifted - kRound;
  const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const auto power = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
  return x < -708.0 ? 0.0 : p * std::bit_cast<double>(power);
}

// values[i][j] = exp(-gamma |a_i - b_j|^2), in place of the dot products <a_i, b_j>. Where these
// overflow, the rows are far apart: the value is 0.
MAXMARGIN_INLINE void gaussian_values(double* values, const double* a_squares, Size n_a,
                                      const double* b_squares, Size n_b, double gamma) {
  for (Size i = 0; i < n_a; ++i) {
    double* __restrict row = values + i * n_b;
    const double square = a_squares[i];
#pragma omp simd
    for (Size j = 0; j < n_b; ++j) {
      constexpr double kMost = std::numeric_limits<double>::max();
      const double sum = square + b_squares[j] - 2.0 * row[j];
      const double distance = sum < kMost ? sum : kMost;  // so is NaN
      row[j] = exp_of_negative(distance > 0.0 ? -gamma * distance : 0.0);
    }
  }
}

// values[i] = (gamma values[i] + coef0)^degree, by squaring, some at a time.
MAXMARGIN_INLINE void polynomial_values(double* values, Size n, double gamma, double coef0,
                                        Size degree) {
  constexpr Size kTogether = 512;
  double power[kTogether];  // of 1, 2, 4, ... as it goes on
  for (Size begin = 0; begin < n; begin += kTogether) {
    double* __restrict some = values + begin;
    const Size count = std::min(kTogether, n - begin);
    for (Size k = 0; k < count; ++k) power[k] = gamma * some[k] + coef0;
    for (Size k = 0; k < count; ++k) some[k] = degree % 2 == 1 ? power[k] : 1.0;
    for (Size left = degree / 2; left > 0; left /= 2) {
      for (Size k = 0; k < count; ++k) power[k] *= power[k];
      if (left % 2 == 1)
        for (Size k = 0; k < count; ++k) some[k] *= power[k];
    }
  }
}

}  // namespace maxmargin
