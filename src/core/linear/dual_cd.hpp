// Dual coordinate descent for the linear SVM.
//
//   max over beta of  sum_i conjugate_i(beta_i) - 1/2 |sum_i beta_i x_i|^2,  lower <= beta <= upper
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan (ICML 2008), algorithms 1 and 3, for every loss of
// objective/losses.hpp. The bias is a further feature of constant value `bias.feature`; a free
// intercept is its proximal iteration: after each epoch the anchor follows (docs/decisions/0003).
//
// Invariant: (w, bias_weight) = sum_i beta_i (x_i, bias.feature), up to the rounding of Weight: in
// float twice as many weights are in the cache, and an epoch over wide sparse rows waits for them.
// A cold start makes a warm-up pass over a fifth of the rows before its first epoch, so that most
// rows meet weights that know something: up to a tenth fewer visits on text. Rows that sit at a
// kink with more slack than the last epoch's mean violation, or a quarter of its worst, are shrunk;
// the caller brings all of them back before it certifies, so shrinking cannot change the answer.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "common/deadline.hpp"
#include "common/shuffle.hpp"
#include "linear/sweep.hpp"
#include "objective/intercept.hpp"
#include "objective/losses.hpp"

namespace maxmargin {

// What is maximised; the caller's, and it does not change.
struct DualProblem {
  Terms terms;
  const double* squared_norms;  // n_samples
};

// Where the solver stands between its calls, all of it the caller's. The weights come beside it: an
// array of float or double.
struct DualState {
  double* beta;         // n_samples
  std::int32_t* order;  // each row once, the active ones first
  Bias& bias;
  Sweep& sweep;
  Random& random;
};

// Each row of the warm-up pass makes up for the whole loss, also for what later ones will make up
// for: the best multiple of such a beta is a smaller one. A bound could forbid a larger one.
template <class Rows, class Weight>
MAXMARGIN_INLINE void scale_down(const Rows& rows, const Terms& terms, const DualState& state,
                                 Weight* w) {
  double* const beta = state.beta;
  Sweep& sweep = state.sweep;
  double linear = 0.0, square = sweep.bias_weight * sweep.bias_weight;
  for (Size i = 0; i < rows.n_samples; ++i) {
    const Term term = terms[i];
    linear += (term.target - state.bias.anchor) * beta[i] - term.epsilon * std::fabs(beta[i]);
    square += term.curvature * beta[i] * beta[i];
  }
#pragma omp simd reduction(+ : square)
  for (Size j = 0; j < rows.n_features; ++j) square += static_cast<double>(w[j]) * w[j];
  const double scale = linear / square;
  if (!(scale > 0.0 && scale < 1.0)) return;
  for (Size i = 0; i < rows.n_samples; ++i) beta[i] *= scale;
  for (Size j = 0; j < rows.n_features; ++j) w[j] = static_cast<Weight>(scale * w[j]);
  sweep.bias_weight *= scale;
  sweep.dual = 0.5 * scale * linear;
}

inline void begin_epoch(const DualState& state, Size n_samples) {
  Sweep& sweep = state.sweep;
  sweep.cursor = 0;
  shuffle_rows(state.random, state.order, sweep.n_active, n_samples);
  sweep.left_out = static_cast<Size>((1.0 - sweep.share) * static_cast<double>(sweep.n_active));
  sweep.violation = sweep.violations = sweep.gap = 0.0;
  sweep.violators = 0;
}

// Goes through the active rows from the cursor on; false if the deadline came first.
template <class Rows, class Weight>
MAXMARGIN_INLINE bool visit_active(const Rows& rows, const DualProblem& problem,
                                   const DualState& state, Weight* w, const Deadline& deadline) {
  constexpr Size kAhead = 3;
  constexpr Size kClockMask = 255;
  const Terms& terms = problem.terms;
  const double* const squared_norms = problem.squared_norms;
  double* const beta = state.beta;
  std::int32_t* const order = state.order;
  const Bias& bias = state.bias;
  Sweep& sweep = state.sweep;
  const double bias_square = bias.feature * bias.feature;
  while (sweep.cursor < sweep.n_active - sweep.left_out) {
    const Size k = sweep.cursor;
    if ((++sweep.steps & kClockMask) == 0 && deadline.passed()) return false;
    if (k + 2 * kAhead < sweep.n_active) rows.prefetch_offset(order[k + 2 * kAhead]);
    if (k + kAhead < sweep.n_active) rows.prefetch(order[k + kAhead]);
    const Size i = order[k];
    const Term term = terms[i];
    const double z = rows.dot(i, w) + bias.feature * sweep.bias_weight + bias.anchor;
    const double old = beta[i];
    const double v = violation(term, z, old);
    if (v < -sweep.threshold) {
      std::swap(order[k], order[--sweep.n_active]);
      continue;
    }
    sweep.cursor = k + 1;
    if (v <= 0.0) continue;
    sweep.note(v);
    sweep.gap += term.value(z) + z * old - term.conjugate(old);
    const double square = squared_norms[i] + bias_square;
    const double next = term.argmax(term.target - z + square * old, square + term.curvature);
    const double change = next - old;
    if (change == 0.0) continue;
    beta[i] = next;
    sweep.dual += term.conjugate(next) - term.conjugate(old) - change * (z + 0.5 * square * change);
    rows.add_scaled(i, change, w);
    sweep.bias_weight += change * bias.feature;
  }
  return true;
}

template <class Rows, class Weight>
MAXMARGIN_INLINE void dual_cd(const Rows& rows, const DualProblem& problem, const DualState& state,
                              Weight* w, const SweepBudget& budget) {
  const Deadline deadline(budget.seconds);
  Sweep& sweep = state.sweep;
  Bias& bias = state.bias;
  for (Size epoch = 0; epoch < budget.max_epochs;) {
    if (sweep.cursor < 0) begin_epoch(state, rows.n_samples);
    if (!visit_active(rows, problem, state, w, deadline)) return;
    sweep.cursor = -1;
    const bool warmed_up = sweep.epochs == 0 && sweep.share < 1.0;
    if (warmed_up) scale_down(rows, problem.terms, state, w);
    const double shift = bias.free ? bias.feature * sweep.bias_weight : 0.0;
    bias.anchor += shift;
    if (bias.free) sweep.dual -= sweep.bias_weight * sweep.bias_weight;
    if (warmed_up) {
      sweep.begin();
    } else {
      sweep.finish_epoch(budget.relative_target * sweep.dual);
      ++epoch;
    }
    sweep.threshold += kInterceptDriftSlack * std::fabs(shift);
    if (!warmed_up && sweep.left <= budget.relative_target * sweep.dual) return;
  }
}

}  // namespace maxmargin
