// Dual block coordinate ascent for the K-class linear SVM.
//
//   max over alpha of  sum_ij [j != y_i] alpha_ij - 1/2 |W|^2,   W_j = sum_i beta_ij x_i,
//   beta_ij = cost_i [j = y_i] - alpha_ij,   alpha_ij >= 0,   sum_j alpha_ij = cost_i
//
// Crammer and Singer (JMLR 2001); one sample at a time as in Keerthi et al. (KDD 2008), where the
// sub-problem is a projection (objective/simplex.hpp). The bias is a further feature of constant
// value; a free one is its proximal iteration, as in linear/dual_cd.hpp.
//
// Invariant: W_j = sum_i beta_ij (x_i, feature), and every alpha_i lies in its simplex.
// Samples whose alpha has one entry, with more score than the others by the last epoch's mean
// violation, are shrunk; the caller brings all of them back before it certifies, so shrinking
// cannot change the answer.
#pragma once

#include <algorithm>
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
#include "objective/simplex.hpp"

namespace maxmargin {

// What is maximised; the arrays, by sample, are the caller's.
struct ClassProblem {
  const std::int32_t* y;
  const double* cost;
  const double* squared_norms;
  Size n_classes;
};

// Where the solver stands between its calls. The weights come beside it, laid out as
// data/class_weights.hpp says.
struct ClassState {
  double* alpha;        // the caller's: n_samples x padded(n_classes); the padding stays 0
  ClassBias bias;       // n_classes
  std::int32_t* order;  // the caller's: each sample once, the active ones first
  Sweep& sweep;
  Random& random;

  // Where a sample is worked on: one entry a class, in vectors of any weights.
  std::vector<double> offset, score, moved;
  std::vector<int> busy;

  ClassState(double* alpha, ClassBias bias, std::int32_t* order, Sweep& sweep, Random& random,
             Size n_classes)
      : alpha(alpha),
        bias(bias),
        order(order),
        sweep(sweep),
        random(random),
        offset(static_cast<std::size_t>(padded<float>(n_classes)), -1e300),
        score(offset.size()),
        moved(offset.size()),
        busy(offset.size()) {}

  // What the intercepts and the margin add to the products of any sample.
  void refresh_offsets(Size n_classes) {
    for (Size j = 0; j < n_classes; ++j)
      offset[j] = 1.0 + bias.feature * bias.weight[j] + bias.anchor[j];
  }
};

struct ClassMove {
  double violation, fenchel_young, gain;
};

// The step of one sample, if its variables violate their conditions. `score` comes in without
// `offset`; `moved` becomes the change of beta. With kStride known at compile time all of it stays
// in registers.
template <Size kStride>
MAXMARGIN_INLINE ClassMove best_move(const SimplexProblem& problem, const double* offset,
                                     Size any_stride, double* score, double* alpha, double* moved) {
  const Size stride = kStride > 0 ? kStride : any_stride;
  const auto [top, violation] = add_offsets(alpha, offset, stride, problem.cost, score);
  if (violation <= 0.0 || problem.cost == 0.0) return {violation, 0.0, 0.0};
  const auto [fenchel_young, gain] = project(problem, top, stride, score, alpha, moved);
  return {violation, fenchel_young, gain};
}

template <Size kStride>
ClassMove move_in_simplex(const SimplexProblem& problem, const double* offset, Size any_stride,
                          double* score, double* alpha, double* moved) {
  return MAXMARGIN_CLONED(best_move<kStride>(problem, offset, any_stride, score, alpha, moved));
}

inline auto mover(Size stride) {
  constexpr Size L = kClassLanes;
  switch (stride / L) {
    case 1:
      return &move_in_simplex<L>;
    case 2:
      return &move_in_simplex<2 * L>;
    case 3:
      return &move_in_simplex<3 * L>;
    case 4:
      return &move_in_simplex<4 * L>;
    case 5:
      return &move_in_simplex<5 * L>;
    default:
      return &move_in_simplex<0>;
  }
}

// Fetches what the active samples after the k-th will need.
template <class Rows, class T>
MAXMARGIN_INLINE void prefetch_next(const Rows& rows, const ClassProblem& problem,
                                    const ClassState& state, const T* W, Size k) {
  constexpr Size kAhead = 2;
  const Size stride = padded(problem.n_classes), n_active = state.sweep.n_active;
  const std::int32_t* const order = state.order;
  if (k + 2 * kAhead < n_active) rows.prefetch_offset(order[k + 2 * kAhead]);
  if (k + kAhead < n_active) {
    const Size next = order[k + kAhead];
    rows.prefetch(next);
    MAXMARGIN_PREFETCH(state.alpha + next * stride);
    MAXMARGIN_PREFETCH(state.alpha + (next + 1) * stride - 1);
    MAXMARGIN_PREFETCH(problem.y + next);
    MAXMARGIN_PREFETCH(problem.cost + next);
    MAXMARGIN_PREFETCH(problem.squared_norms + next);
  }
  if (k + 1 < n_active) prefetch_weights(rows, order[k + 1], W, problem.n_classes);
}

// Goes through the active samples from the cursor on; false if the deadline came first.
template <class Rows, class T>
MAXMARGIN_INLINE bool visit_active(const Rows& rows, const ClassProblem& problem, ClassState& state,
                                   T* W, double relax, const Deadline& deadline) {
  constexpr Size kClockMask = 63;
  const Size K = problem.n_classes, stride = padded(K);
  const auto move_sample = mover(stride);
  const double feature = state.bias.feature, feature_square = feature * feature;
  const double* const offset = state.offset.data();
  double *const score = state.score.data(), *const moved = state.moved.data();
  std::int32_t* const order = state.order;
  Sweep& sweep = state.sweep;
  while (sweep.cursor < sweep.n_active) {
    const Size k = sweep.cursor, i = order[k];
    if ((++sweep.steps & kClockMask) == 0 && deadline.passed()) return false;
    prefetch_next(rows, problem, state, W, k);
    const SimplexProblem own{problem.cost[i],
                             std::max(problem.squared_norms[i] + feature_square, 1e-200), relax};
    scores(rows, i, W, K, score);
    score[problem.y[i]] -= 1.0;
    const ClassMove move = move_sample(own, offset, stride, score, state.alpha + i * stride, moved);
    if (move.violation < -sweep.threshold || own.cost == 0.0) {
      std::swap(order[k], order[--sweep.n_active]);
      continue;
    }
    sweep.cursor = k + 1;
    if (move.violation <= 0.0) continue;
    sweep.violations += move.violation;
    sweep.gap += move.fenchel_young;
    sweep.dual += move.gain;
    if (feature != 0.0) {
      for (Size j = 0; j < K; ++j) state.bias.weight[j] += moved[j] * feature;
      state.refresh_offsets(K);
    }
    add_to_classes(rows, i, moved, K, state.busy.data(), W);
  }
  return true;
}

// The threshold of the next epoch; free intercepts' anchors follow.
inline void finish_epoch(ClassState& state, Size n_classes) {
  Sweep& sweep = state.sweep;
  const ClassBias& bias = state.bias;
  sweep.cursor = -1;
  sweep.threshold = sweep.violations > 0.0 ? sweep.violations / static_cast<double>(sweep.n_active)
                                           : std::numeric_limits<double>::infinity();
  if (bias.free) {
    double farthest = 0.0;
    for (Size j = 0; j < n_classes; ++j) {
      const double shift = bias.feature * bias.weight[j];
      bias.anchor[j] += shift;
      sweep.dual -= bias.weight[j] * bias.weight[j];
      farthest = std::max(farthest, std::fabs(shift));
    }
    sweep.threshold += 2.0 * kInterceptDriftSlack * farthest;  // two classes may move apart
  }
  state.refresh_offsets(n_classes);
  sweep.finish_epoch();
}

template <class Rows, class T>
MAXMARGIN_INLINE void crammer_singer(const Rows& rows, const ClassProblem& problem,
                                     ClassState& state, T* W, double relax,
                                     const SweepBudget& budget) {
  const Deadline deadline(budget.seconds);
  Sweep& sweep = state.sweep;
  state.refresh_offsets(problem.n_classes);
  for (Size epoch = 0; epoch < budget.max_epochs; ++epoch) {
    if (sweep.cursor < 0) {
      sweep.cursor = 0;
      shuffle_rows(state.random, state.order, sweep.n_active, rows.n_samples);
      sweep.violations = sweep.gap = 0.0;
    }
    if (!visit_active(rows, problem, state, W, relax, deadline)) return;
    finish_epoch(state, problem.n_classes);
    if (sweep.left <= budget.relative_target * sweep.dual) return;
  }
}

}  // namespace maxmargin
