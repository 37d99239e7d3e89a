// One sample of Crammer and Singer's dual: the best alpha of a simplex.
//
//   max over alpha of  <pull, alpha> - 1/2 square |alpha - now|^2,   alpha >= 0, sum_j alpha_j =
//   cost
//
// is the projection of now + pull / square on the simplex (Blondel, Fujino, Ueda, ICPR 2014).
#pragma once

#include <limits>

#include "rows.hpp"

namespace maxmargin {

struct Threshold {
  double theta;
  double count;  // of the values above it
};

// sum_j max(0, v_j - theta) = size, where `largest` is the largest value and size > 0. Newton's
// iteration on this piecewise linear function of theta, from the left (Michelot 1986): it ends in
// the exact theta once no more values fall below, after a few passes.
MAXMARGIN_INLINE Threshold simplex_threshold(const double* v, Size length, double largest,
                                             double size) {
  Threshold at{largest - size, static_cast<double>(length) + 1.0};
  for (;;) {
    double sum = 0.0, count = 0.0;
#pragma omp simd reduction(+ : sum, count)
    for (Size j = 0; j < length; ++j) {
      sum += v[j] > at.theta ? v[j] - largest : 0.0;
      count += v[j] > at.theta ? 1.0 : 0.0;
    }
    // Not fewer: done. (Rounding can let one through again, so it is not asked for the same.)
    if (count >= at.count || count <= 1.0) return {at.theta, count};
    at = {largest + (sum - size) / count, count};
  }
}

struct Pulled {
  double top;        // the largest pull
  double violation;  // what the best move within the simplex gains per unit; negative: slack
};

// Adds the offsets to the pulls and looks at them.
MAXMARGIN_INLINE Pulled look_at(const double* alpha, const double* offset, Size length, double cost,
                                double* pull) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double top = -kNone, open = -kNone, held = kNone;
#pragma omp simd reduction(max : top, open) reduction(min : held)
  for (Size j = 0; j < length; ++j) {
    const double p = pull[j] + offset[j];
    const double up = alpha[j] < cost ? p : -kNone;
    const double down = alpha[j] > 0.0 ? p : kNone;
    pull[j] = p;
    top = p > top ? p : top;
    open = up > open ? up : open;
    held = down < held ? down : held;
  }
  return {top, open - held};
}

struct SimplexStep {
  double bracket;  // the sample's share of the gap before the step
  double gain;     // of the dual by the step
};

// Moves alpha. Steps go beyond the maximum, as in successive over-relaxation (Mangasarian and
// Musicant 1999): the dual still never falls, and ill-conditioned problems need fewer of them.
// `moved` is the change of beta = -alpha + constant.
MAXMARGIN_INLINE SimplexStep project(double* alpha, const double* pull, double top, Size length,
                                     double cost, double square, double* moved) {
  constexpr double kRelax = 1.4;  // measured: 1 needs up to twice the epochs, 1.9 as many as 1
  const double scale = kRelax / square;
  double bracket = 0.0, largest = -std::numeric_limits<double>::infinity();
#pragma omp simd reduction(+ : bracket) reduction(max : largest)
  for (Size j = 0; j < length; ++j) {
    const double below = pull[j] - top;
    const double m = alpha[j] + below * scale;
    bracket -= alpha[j] * below;
    moved[j] = m;
    largest = m > largest ? m : largest;
  }
  const auto [theta, count] = simplex_threshold(moved, length, largest, cost);
  double gain = 0.0;
#pragma omp simd reduction(+ : gain)
  for (Size j = 0; j < length; ++j) {
    const double above = moved[j] - theta;
    double next = above > 0.0 ? above : 0.0;
    next = count <= 1.0 && above > 0.0 ? cost : next;
    const double change = next - alpha[j];
    gain += change != 0.0 ? change * (pull[j] - 0.5 * square * change) : 0.0;
    alpha[j] = next;
    moved[j] = -change;
  }
  return {bracket, gain};
}

}  // namespace maxmargin
