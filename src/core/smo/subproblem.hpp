// The inner level of SMO: the problem on a working set, or on all samples where they are few.
//
// Pairs are chosen by second order (Fan, Chen and Lin, JMLR 2005) on a small dense block of the
// kernel matrix; without an intercept single coordinates are, by what they gain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/types.hpp"

namespace maxmargin {

// What beta_i gains per unit if it rises, or if it falls; -infinity where the box is closed.
MAXMARGIN_INLINE double rising(double residual, double beta, double upper, double epsilon) {
  const double rate = residual - (beta >= 0.0 ? epsilon : -epsilon);
  return beta < upper ? rate : -std::numeric_limits<double>::infinity();
}
MAXMARGIN_INLINE double falling(double residual, double beta, double lower, double epsilon) {
  const double rate = -residual - (beta <= 0.0 ? epsilon : -epsilon);
  return beta > lower ? rate : -std::numeric_limits<double>::infinity();
}

// How far beta_i may go before its box or its kink at 0.
MAXMARGIN_INLINE double room_above(double beta, double upper, double epsilon) {
  return epsilon > 0.0 && beta < 0.0 ? -beta : upper - beta;
}
MAXMARGIN_INLINE double room_below(double beta, double lower, double epsilon) {
  return epsilon > 0.0 && beta > 0.0 ? beta : beta - lower;
}

// The problem on the working set, by value: everything the inner loop touches is in these arrays.
struct SmoBlock {
  Size size = 0;
  std::vector<float> kernel;  // size x size
  std::vector<double> residual, beta, lower, upper, diagonal, up, down, gain;
  std::vector<std::uint8_t> group;

  void resize(Size q, std::size_t values) {
    size = q;
    kernel.resize(values);
    for (auto* values : {&residual, &beta, &lower, &upper, &diagonal, &up, &down, &gain})
      values->resize(q);
    group.resize(q);
  }
};

// K_ii + K_jj - 2 K_ij of two samples, kept away from the rounding errors of K: a shorter step than
// the best one gains as well.
template <class Real>
MAXMARGIN_INLINE double pair_curvature(double k_ii, double k_jj, Real k_ij) {
  constexpr double kRounding = 16.0 * static_cast<double>(std::numeric_limits<Real>::epsilon());
  const double floor = kRounding * (k_ii + k_jj) + 1e-12 * kRounding;
  const double curvature = k_ii + k_jj - 2.0 * static_cast<double>(k_ij);
  return curvature > floor ? curvature : floor;
}

// First position of the largest value.
MAXMARGIN_INLINE Size position_of_max(const double* values, Size count, double& largest) {
  double best = -std::numeric_limits<double>::infinity();
#pragma omp simd reduction(max : best)
  for (Size k = 0; k < count; ++k) best = values[k] > best ? values[k] : best;
  largest = best;
  Size at = 0;
  while (at + 1 < count && values[at] != best) ++at;
  return at;
}

// The variable that gains most by rising, in the group of the worst violation.
struct FirstOfPair {
  Size at = 0;
  double up = -std::numeric_limits<double>::infinity();         // what it gains
  double violation = -std::numeric_limits<double>::infinity();  // with the one that falls best
};

MAXMARGIN_INLINE FirstOfPair first_of_pair(const SmoBlock& block, int n_groups) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const double *up = block.up.data(), *down = block.down.data();
  FirstOfPair first;
  if (n_groups == 1) {
    double most_down;
    first.at = position_of_max(up, block.size, first.up);
    position_of_max(down, block.size, most_down);
    first.violation = first.up + most_down;
    return first;
  }
  for (int g = 0; g < n_groups; ++g) {
    Size at = 0;
    double most_up = kNever, most_down = kNever;
    for (Size k = 0; k < block.size; ++k) {
      if (block.group[k] != g) continue;
      if (up[k] > most_up) {
        most_up = up[k];
        at = k;
      }
      most_down = std::max(most_down, down[k]);
    }
    if (most_up + most_down > first.violation) first = {at, most_up, most_up + most_down};
  }
  return first;
}

// What it gains with each partner of its group.
template <class Real>
MAXMARGIN_INLINE void pair_gains(SmoBlock& block, const Real* __restrict row,
                                 const FirstOfPair& first) {
  const double* __restrict diagonal = block.diagonal.data();
  const double* __restrict down = block.down.data();
  double* __restrict gain = block.gain.data();
  const std::uint8_t* __restrict group = block.group.data();
  const double diagonal_i = diagonal[first.at];
  const std::uint8_t own = group[first.at];
#pragma omp simd
  for (Size k = 0; k < block.size; ++k) {
    const double slope = first.up + down[k];
    const double curvature = pair_curvature(diagonal_i, diagonal[k], row[k]);
    const double value = slope * slope / curvature;
    gain[k] = ((slope > 0.0) & (group[k] == own)) ? value : 0.0;
  }
}

// Pairs until the violation in every group is at most `goal`; returns the steps made.
template <class Real>
MAXMARGIN_INLINE Size solve_pairs(SmoBlock& block, const Real* kernel, double epsilon, double goal,
                                  Size max_steps, int n_groups) {
  const Size q = block.size;
  double* __restrict residual = block.residual.data(), * __restrict beta = block.beta.data();
  const double* __restrict lower = block.lower.data(), * __restrict upper = block.upper.data();
  const double* __restrict diagonal = block.diagonal.data();
  double* __restrict up = block.up.data(), * __restrict down = block.down.data();
  Size steps = 0;
  for (; steps < max_steps; ++steps) {
#pragma omp simd
    for (Size k = 0; k < q; ++k) {
      up[k] = rising(residual[k], beta[k], upper[k], epsilon);
      down[k] = falling(residual[k], beta[k], lower[k], epsilon);
    }
    // Working pair: i by the violation, j by what the pair gains.
    const FirstOfPair first = first_of_pair(block, n_groups);
    if (!(first.violation > goal)) break;
    const Size i = first.at;
    const Real* __restrict row_i = kernel + i * q;
    pair_gains(block, row_i, first);
    double best_gain;
    const Size j = position_of_max(block.gain.data(), q, best_gain);
    if (!(best_gain > 0.0)) break;
    const Real* __restrict row_j = kernel + j * q;
    // Step, to the bound itself where it is reached, whatever rounding would make of the sum.
    const double curvature = pair_curvature(diagonal[i], diagonal[j], row_i[j]);
    const double room_i = room_above(beta[i], upper[i], epsilon);
    const double room_j = room_below(beta[j], lower[j], epsilon);
    const double step = std::min({(first.up + down[j]) / curvature, room_i, room_j});
    beta[i] = step == room_i ? (epsilon > 0.0 && beta[i] < 0.0 ? 0.0 : upper[i]) : beta[i] + step;
    beta[j] = step == room_j ? (epsilon > 0.0 && beta[j] > 0.0 ? 0.0 : lower[j]) : beta[j] - step;
#pragma omp simd
    for (Size k = 0; k < q; ++k)
      residual[k] -= step * (static_cast<double>(row_i[k]) - static_cast<double>(row_j[k]));
  }
  return steps;
}

// The same without an intercept: one coordinate at a time, the one that gains most.
template <class Real>
MAXMARGIN_INLINE Size solve_singles(SmoBlock& block, const Real* kernel, double epsilon,
                                    double goal, Size max_steps) {
  const Size q = block.size;
  double* __restrict residual = block.residual.data(), * __restrict beta = block.beta.data();
  const double* __restrict lower = block.lower.data(), * __restrict upper = block.upper.data();
  const double* __restrict diagonal = block.diagonal.data();
  double* __restrict gain = block.gain.data(), * __restrict slope = block.up.data();
  constexpr double kLeastDiagonal = 1e-12;
  Size steps = 0;
  for (; steps < max_steps; ++steps) {
#pragma omp simd
    for (Size k = 0; k < q; ++k) {
      const double up = rising(residual[k], beta[k], upper[k], epsilon);
      const double down = falling(residual[k], beta[k], lower[k], epsilon);
      const double most = up > down ? up : down;
      const double curvature = diagonal[k] > kLeastDiagonal ? diagonal[k] : kLeastDiagonal;
      slope[k] = up > down ? most : -most;
      gain[k] = most > goal ? most * most / curvature : 0.0;
    }
    double best;
    const Size i = position_of_max(gain, q, best);
    if (!(best > 0.0)) break;
    const double curvature = std::max(kLeastDiagonal, diagonal[i]);
    double next;
    if (slope[i] > 0.0) {
      const double room = room_above(beta[i], upper[i], epsilon), step = slope[i] / curvature;
      next = step < room ? beta[i] + step : (epsilon > 0.0 && beta[i] < 0.0 ? 0.0 : upper[i]);
    } else {
      const double room = room_below(beta[i], lower[i], epsilon), step = -slope[i] / curvature;
      next = step < room ? beta[i] - step : (epsilon > 0.0 && beta[i] > 0.0 ? 0.0 : lower[i]);
    }
    const double change = next - beta[i];
    beta[i] = next;
    const Real* __restrict row = kernel + i * q;
#pragma omp simd
    for (Size k = 0; k < q; ++k) residual[k] -= change * static_cast<double>(row[k]);
  }
  return steps;
}

}  // namespace maxmargin
