// The dual gradient of a kernel machine over all samples: how it is brought up to date, and what it
// says about the violation and the gap.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "smo/subproblem.hpp"

namespace maxmargin {

// The arrays, of n values, are the caller's.
struct SmoProblem {
  Size n;
  const double* target;
  const double* lower;
  const double* upper;
  const std::uint8_t* group;  // pairs are made within a group
  double epsilon;
  bool balanced;  // sums per group are kept: pairs; else single coordinates
};

// residual[begin .. end) -= sum over rows of change_r * row_r, by pieces that stay in the cache.
MAXMARGIN_INLINE void subtract_part(const float* const* rows, const double* change, Size count,
                                    Size begin, Size end, double* __restrict residual) {
  constexpr Size kPiece = 1024;
  for (Size from = begin; from < end; from += kPiece) {
    const Size to = std::min(from + kPiece, end);
    Size r = 0;
    for (; r + 4 <= count; r += 4) {
      const float* __restrict a = rows[r], * __restrict b = rows[r + 1], * __restrict c = rows[r + 2], * __restrict d = rows[r + 3];
      const double p = change[r], q = change[r + 1], s = change[r + 2], t = change[r + 3];
#pragma omp simd
      for (Size k = from; k < to; ++k)
        residual[k] -= (p * static_cast<double>(a[k]) + q * static_cast<double>(b[k])) +
                       (s * static_cast<double>(c[k]) + t * static_cast<double>(d[k]));
    }
    for (; r < count; ++r) {
      const float* __restrict a = rows[r];
      const double p = change[r];
#pragma omp simd
      for (Size k = from; k < to; ++k) residual[k] -= p * static_cast<double>(a[k]);
    }
  }
}

// Of some samples: the most that one of a group gains by rising or by falling, and the sum of what
// each could still gain with given thresholds, the Fenchel-Young gap of its term.
struct GradientSummary {
  std::vector<double> most_up, most_down;  // by group
  double gap = 0.0;

  explicit GradientSummary(int n_groups)
      : most_up(n_groups, -std::numeric_limits<double>::infinity()), most_down(most_up) {}

  void add(const GradientSummary& other) {
    for (std::size_t g = 0; g < most_up.size(); ++g) {
      most_up[g] = std::max(most_up[g], other.most_up[g]);
      most_down[g] = std::max(most_down[g], other.most_down[g]);
    }
    gap += other.gap;
  }
};

// A point of SMO, in the solver's arrays.
struct SmoPoint {
  double* residual;
  const double* beta;
  const double* threshold;  // by group
  double *up, *down;        // what each variable gains by rising and by falling: written
};

// Of the samples begin <= k < end.
MAXMARGIN_INLINE GradientSummary summarise(const SmoProblem& problem, int n_groups,
                                           const SmoPoint& point, Size begin, Size end) {
  GradientSummary summary(n_groups);
  const double* __restrict residual = point.residual;
  const double* __restrict beta = point.beta;
  const double* const threshold = point.threshold;
  double* __restrict up = point.up;
  double* __restrict down = point.down;
  const double* __restrict lower = problem.lower;
  const double* __restrict upper = problem.upper;
  const std::uint8_t* __restrict group = problem.group;
  const double epsilon = problem.epsilon;
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (Size k = begin; k < end; ++k) {
    up[k] = rising(residual[k], beta[k], upper[k], epsilon);
    down[k] = falling(residual[k], beta[k], lower[k], epsilon);
    const double gradient = residual[k] - (n_groups == 1 ? threshold[0] : threshold[group[k]]);
    const double above = gradient - epsilon, below = gradient + epsilon;
    const double high = upper[k] * above, low = lower[k] * below;
    const double best = above > 0.0 ? high : below < 0.0 ? low : 0.0;
    total += best - (gradient * beta[k] - epsilon * std::fabs(beta[k]));
  }
  summary.gap = total;
  if (n_groups == 1) {
    double most_up = summary.most_up[0], most_down = most_up;
#pragma omp simd reduction(max : most_up, most_down)
    for (Size k = begin; k < end; ++k) {
      most_up = up[k] > most_up ? up[k] : most_up;
      most_down = down[k] > most_down ? down[k] : most_down;
    }
    summary.most_up[0] = most_up;
    summary.most_down[0] = most_down;
    return summary;
  }
  for (Size k = begin; k < end; ++k) {
    summary.most_up[group[k]] = std::max(summary.most_up[group[k]], up[k]);
    summary.most_down[group[k]] = std::max(summary.most_down[group[k]], down[k]);
  }
  return summary;
}

}  // namespace maxmargin
