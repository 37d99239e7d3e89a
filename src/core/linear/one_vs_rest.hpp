// The first epochs of dual coordinate descent for K classes, each against the rest.
//
//   for every class j:  max over beta_j of  sum_i conjugate_ij(beta_ij) - 1/2 |sum_i beta_ij x_i|^2
//
// The K problems of linear/dual_cd.hpp have the same rows, so one pass serves all of them: K
// products with x_i at once, K steps that know nothing of each other, K weights moved along x_i. An
// epoch is what K epochs of linear/dual_cd.hpp in the same order would be, but for the warm-up
// before the first. While most pairs of a row and a class are in play this is cheaper by far; later
// on linear/dual_cd.hpp, which visits those in play only, takes over.
//
// Invariant: w_j = sum_i beta_ij (x_i, feature), but for the rounding of W. After an epoch `active`
// marks the pairs that have no more slack than a quarter of the worst violation of the one before,
// and what kInterceptDriftSlack adds.
#pragma once

#include <vector>

#include "common/deadline.hpp"
#include "common/shuffle.hpp"
#include "data/class_weights.hpp"
#include "linear/sweep.hpp"
#include "objective/intercept.hpp"
#include "objective/losses.hpp"

namespace maxmargin {

struct RestProblem {
  const std::int32_t* y;  // class of each row; one outside [0, n_classes) is of the rest for all
  const double* cost;
  const double* squared_norms;
  Size n_classes;
  Loss loss;
};

// Caller-owned; the arrays by class have padded(n_classes) entries.
template <class T>
struct RestState {
  double* beta;  // n_samples x padded(n_classes); the padding stays 0
  T* W;          // data/class_weights.hpp
  double* w_bias;
  double* anchor;
  double feature;  // 0: no intercept
  bool free;
  double* threshold;  // slack beyond which a pair is out of play
  double* violation;  // worst seen in this epoch
  double* dual;       // value of each dual objective, kept up to date
  std::uint8_t* active;
};

// In vectors of any weights.
struct RestScratch {
  explicit RestScratch(Size n_classes)
      : z(static_cast<std::size_t>(padded<float>(n_classes))), change(z.size()), busy(z.size()) {}
  std::vector<double> z, change;
  std::vector<int> busy;
};

// One epoch over the rows in the order given, from sweep.cursor on.
template <class Rows, class T>
MAXMARGIN_INLINE void one_vs_rest(const Rows& rows, const RestProblem& problem,
                                  const RestState<T>& state, const std::int32_t* order,
                                  RestScratch& scratch, Sweep& sweep, const Deadline& deadline) {
  constexpr Size kAhead = 2;
  constexpr Size kClockMask = 63;
  constexpr double kShrink = 0.25;  // of the worst violation
  const Size K = problem.n_classes, stride = padded(K), n = rows.n_samples;
  double *z = scratch.z.data(), *change = scratch.change.data();
  const double *w_bias = state.w_bias, *anchor = state.anchor, *threshold = state.threshold;
  double *worst = state.violation, *dual = state.dual;
  const double feature = state.feature;
  if (sweep.cursor < 0) {
    sweep.cursor = 0;
    std::fill(worst, worst + stride, 0.0);
  }
  for (; sweep.cursor < n; ++sweep.cursor) {
    const Size k = sweep.cursor;
    if ((++sweep.steps & kClockMask) == 0 && deadline.passed()) return;
    if (k + 2 * kAhead < n) rows.prefetch_offset(order[k + 2 * kAhead]);
    if (k + kAhead < n) {
      const Size next = order[k + kAhead];
      rows.prefetch(next);
      MAXMARGIN_PREFETCH(problem.y + next);
      MAXMARGIN_PREFETCH(problem.cost + next);
      MAXMARGIN_PREFETCH(problem.squared_norms + next);
      for (Size j = 0; j < stride; j += 8) MAXMARGIN_PREFETCH(state.beta + next * stride + j);
    }
    if (k + 1 < n) prefetch_weights(rows, order[k + 1], state.W, K);
    const Size i = order[k], own = problem.y[i];
    const double cost = problem.cost[i];
    const double square = problem.squared_norms[i] + feature * feature;
    double* beta = state.beta + i * stride;
    std::uint8_t* active = state.active + i * stride;
    scores(rows, i, state.W, K, z);
#pragma omp simd
    for (Size j = 0; j < stride; ++j) {
      const Term term = term_of(problem.loss, j == own ? 1.0 : -1.0, cost);
      const double old = beta[j], at = z[j] + feature * w_bias[j] + anchor[j];
      const double v = violation(term, at, old);
      const double top = term.argmax(term.target - at + square * old, square + term.curvature);
      const double next = ((v > 0.0) & (j < K)) ? top : old;
      const double step = next - old;
      const double gain =
          term.conjugate(next) - term.conjugate(old) - step * (at + 0.5 * square * step);
      dual[j] += step != 0.0 ? gain : 0.0;
      worst[j] = v > worst[j] ? v : worst[j];
      beta[j] = next;
      change[j] = step;
      z[j] = v + threshold[j];
    }
    for (Size j = 0; j < stride; ++j) active[j] = z[j] >= 0.0;
    if (feature != 0.0)
      for (Size j = 0; j < K; ++j) state.w_bias[j] += change[j] * feature;
    add_to_classes(rows, i, change, K, scratch.busy.data(), state.W);
  }
  for (Size j = 0; j < K; ++j) {
    state.threshold[j] =
        worst[j] > 0.0 ? kShrink * worst[j] : std::numeric_limits<double>::infinity();
    if (!state.free) continue;
    const double shift = feature * w_bias[j];
    state.anchor[j] += shift;
    state.threshold[j] += kInterceptDriftSlack * std::fabs(shift);
    dual[j] -= w_bias[j] * w_bias[j];
  }
  sweep.cursor = -1;
  ++sweep.epochs;
}

}  // namespace maxmargin
