// One sample of Crammer and Singer's dual: the best alpha of a simplex.
//
//   max over alpha of  <score, alpha> - 1/2 square |alpha - now|^2,   alpha >= 0, sum_j alpha_j =
//   cost
//
// is the projection of now + score / square on the simplex (Blondel, Fujino, Ueda, ICPR 2014).
#pragma once

#include <limits>

#include "common/types.hpp"

namespace maxmargin {

// Some of the values: their sum and their number.
struct Some {
  double sum, count;
};

struct Threshold {
  double theta;
  double count;  // of the values above it
};

// sum_j max(0, v_j - theta) = size > 0. Newton's iteration on this piecewise linear function of
// theta, from the left (Michelot 1986): it ends in the exact theta once the values above stay the
// same. Whatever values it begins with, their theta is on the left, and after one pass it is done
// if they are the right ones.
MAXMARGIN_INLINE Threshold simplex_threshold(const double* v, Size length, double size,
                                             Some above) {
  double theta = (above.sum - size) / above.count;
  for (;;) {
    double sum = 0.0, count = 0.0;
#pragma omp simd reduction(+ : sum, count)
    for (Size j = 0; j < length; ++j) {
      sum += v[j] > theta ? v[j] : 0.0;
      count += v[j] > theta ? 1.0 : 0.0;
    }
    if (sum == above.sum && count == above.count) return {theta, count};
    const double next = (sum - size) / count;
    if (!(next > theta)) return {theta, count};  // by rounding
    theta = next;
    above = {sum, count};
  }
}

struct SimplexGradient {
  double top;        // the largest score
  double violation;  // what the best move within the simplex gains per unit; negative: slack
};

// Adds the offsets to the scores, and finds what of alpha violates.
MAXMARGIN_INLINE SimplexGradient add_offsets(const double* alpha, const double* offset, Size length,
                                             double cost, double* score) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double top = -kNone, open = -kNone, held = kNone;
#pragma omp simd reduction(max : top, open) reduction(min : held)
  for (Size j = 0; j < length; ++j) {
    const double p = score[j] + offset[j];
    const double up = alpha[j] < cost ? p : -kNone;
    const double down = alpha[j] > 0.0 ? p : kNone;
    score[j] = p;
    top = p > top ? p : top;
    open = up > open ? up : open;
    held = down < held ? down : held;
  }
  return {top, open - held};
}

// The problem of one sample, but for its scores.
struct SimplexProblem {
  double cost;    // what alpha sums to
  double square;  // of the row's length
  double relax;   // < 2: how many times as far as the maximum a step goes
};

struct SimplexStep {
  double fenchel_young;  // the sample's share of the gap before the step
  double gain;           // of the dual by the step
};

// Moves alpha, `relax` times as far as the maximum, as in successive over-relaxation (Mangasarian
// and Musicant 1999): the dual never falls, and with relax > 1 ill-conditioned problems need fewer
// steps. `moved` is the change of beta = -alpha + constant.
MAXMARGIN_INLINE SimplexStep project(const SimplexProblem& problem, double top, Size length,
                                     const double* score, double* alpha, double* moved) {
  const double cost = problem.cost, square = problem.square, scale = problem.relax / square;
  double fenchel_young = 0.0, largest = -std::numeric_limits<double>::infinity(), sum = 0.0,
         count = 0.0;
#pragma omp simd reduction(+ : fenchel_young, sum, count) reduction(max : largest)
  for (Size j = 0; j < length; ++j) {
    const double below = score[j] - top;
    const double m = alpha[j] + below * scale;
    fenchel_young -= alpha[j] * below;
    sum += alpha[j] > 0.0 ? m : 0.0;
    count += alpha[j] > 0.0 ? 1.0 : 0.0;
    moved[j] = m;
    largest = m > largest ? m : largest;
  }
  const bool alone = largest - cost > (sum - cost) / count;
  const Threshold found =
      simplex_threshold(moved, length, cost, alone ? Some{largest, 1.0} : Some{sum, count});
  const double theta = found.theta, above = found.count;
  double gain = 0.0;
#pragma omp simd reduction(+ : gain)
  for (Size j = 0; j < length; ++j) {
    const double part = moved[j] - theta;
    double next = part > 0.0 ? part : 0.0;
    next = above <= 1.0 && part > 0.0 ? cost : next;
    const double change = next - alpha[j];
    gain += change != 0.0 ? change * (score[j] - 0.5 * square * change) : 0.0;
    alpha[j] = next;
    moved[j] = -change;
  }
  return {fenchel_young, gain};
}

}  // namespace maxmargin
