// The first epochs of dual coordinate descent for K classes, each against the rest.
//
//   for every class j:  max over beta_j of  sum_i conjugate_ij(beta_ij) - 1/2 |sum_i beta_ij x_i|^2
//
// The K problems of linear/dual_cd.hpp have the same rows, so one pass serves all of them: K
// products with x_i at once, K steps that know nothing of each other, K weights moved along x_i. An
// epoch is what K epochs of linear/dual_cd.hpp in the same order would be, but for the warm-up
// before the first. While most pairs of a row and a class are active this is cheaper by far; later
// on linear/dual_cd.hpp, which visits the active ones only, takes over.
//
// Invariant: w_j = sum_i beta_ij (x_i, feature), but for the rounding of W. After an epoch `active`
// marks the pairs that have no more slack than a quarter of the worst violation of the one before,
// and what kInterceptDriftSlack adds.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/deadline.hpp"
#include "common/shuffle.hpp"
#include "data/class_weights.hpp"
#include "linear/sweep.hpp"
#include "objective/intercept.hpp"
#include "objective/losses.hpp"

namespace maxmargin {

// What is maximised; the arrays are the caller's.
struct RestProblem {
  const std::int32_t* y;  // class of each row; one outside [0, n_classes) is of the rest for all
  const double* cost;
  const double* squared_norms;
  Size n_classes;
  Loss loss;
};

// Where the classes stand between the epochs. The weights come beside it, laid out as
// data/class_weights.hpp says; what is of the caller's has the length that is said.
struct RestState {
  double* beta;          // n_samples x padded(n_classes); the padding stays 0
  std::uint8_t* active;  // the same
  ClassBias bias;        // padded(n_classes)
  const std::int32_t* order;
  Sweep& sweep;

  // By class, in whole vectors.
  std::vector<double> threshold;  // slack beyond which a pair is not active
  std::vector<double> violation;  // worst seen in this epoch
  std::vector<double> dual;       // value of each dual objective, kept up to date

  // Where a row is worked on, in vectors of any weights.
  std::vector<double> z, change;
  std::vector<int> busy;

  RestState(double* beta, std::uint8_t* active, ClassBias bias, const std::int32_t* order,
            Sweep& sweep, Size n_classes)
      : beta(beta),
        active(active),
        bias(bias),
        order(order),
        sweep(sweep),
        threshold(static_cast<std::size_t>(padded(n_classes)),
                  std::numeric_limits<double>::infinity()),
        violation(threshold.size()),
        dual(threshold.size()),
        z(static_cast<std::size_t>(padded<float>(n_classes))),
        change(z.size()),
        busy(z.size()) {}
};

// Fetches what the rows after the k-th of the order will need.
template <class Rows, class T>
MAXMARGIN_INLINE void prefetch_next(const Rows& rows, const RestProblem& problem,
                                    const RestState& state, const T* W, Size k) {
  constexpr Size kAhead = 2;
  const Size stride = padded(problem.n_classes), n = rows.n_samples;
  const std::int32_t* const order = state.order;
  if (k + 2 * kAhead < n) rows.prefetch_offset(order[k + 2 * kAhead]);
  if (k + kAhead < n) {
    const Size next = order[k + kAhead];
    rows.prefetch(next);
    MAXMARGIN_PREFETCH(problem.y + next);
    MAXMARGIN_PREFETCH(problem.cost + next);
    MAXMARGIN_PREFETCH(problem.squared_norms + next);
    for (Size j = 0; j < stride; j += 8) MAXMARGIN_PREFETCH(state.beta + next * stride + j);
  }
  if (k + 1 < n) prefetch_weights(rows, order[k + 1], W, problem.n_classes);
}

// The steps of row i in all classes, for the products in state.z: state.change is by how much.
MAXMARGIN_INLINE void step_all_classes(const RestProblem& problem, RestState& state, Size i) {
  const Size K = problem.n_classes, stride = padded(K), own = problem.y[i];
  const double feature = state.bias.feature, cost = problem.cost[i];
  const double square = problem.squared_norms[i] + feature * feature;
  const double *w_bias = state.bias.weight, *anchor = state.bias.anchor;
  const double* threshold = state.threshold.data();
  double *worst = state.violation.data(), *dual = state.dual.data();
  double *z = state.z.data(), *change = state.change.data();
  double* beta = state.beta + i * stride;
  std::uint8_t* active = state.active + i * stride;
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
}

// The thresholds of the next epoch; free intercepts' anchors follow.
inline void finish_epoch(RestState& state, Size n_classes) {
  constexpr double kShrink = 0.25;  // of the worst violation
  const ClassBias& bias = state.bias;
  for (Size j = 0; j < n_classes; ++j) {
    const double worst = state.violation[j];
    state.threshold[j] = worst > 0.0 ? kShrink * worst : std::numeric_limits<double>::infinity();
    if (!bias.free) continue;
    const double shift = bias.feature * bias.weight[j];
    bias.anchor[j] += shift;
    state.threshold[j] += kInterceptDriftSlack * std::fabs(shift);
    state.dual[j] -= bias.weight[j] * bias.weight[j];
  }
  state.sweep.cursor = -1;
  ++state.sweep.epochs;
}

// One epoch over the rows in the order given, from the cursor on.
template <class Rows, class T>
MAXMARGIN_INLINE void one_vs_rest(const Rows& rows, const RestProblem& problem, RestState& state,
                                  T* W, const Deadline& deadline) {
  constexpr Size kClockMask = 63;
  const Size K = problem.n_classes;
  const double feature = state.bias.feature;
  const double* const change = state.change.data();
  Sweep& sweep = state.sweep;
  if (sweep.cursor < 0) {
    sweep.cursor = 0;
    std::fill(state.violation.begin(), state.violation.end(), 0.0);
  }
  for (; sweep.cursor < rows.n_samples; ++sweep.cursor) {
    const Size k = sweep.cursor, i = state.order[k];
    if ((++sweep.steps & kClockMask) == 0 && deadline.passed()) return;
    prefetch_next(rows, problem, state, W, k);
    scores(rows, i, W, K, state.z.data());
    step_all_classes(problem, state, i);
    if (feature != 0.0)
      for (Size j = 0; j < K; ++j) state.bias.weight[j] += change[j] * feature;
    add_to_classes(rows, i, change, K, state.busy.data(), W);
  }
  finish_epoch(state, K);
}

}  // namespace maxmargin
