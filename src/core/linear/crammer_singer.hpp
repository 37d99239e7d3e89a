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
// Samples whose alpha has one entry, with more pull than the others by the last epoch's mean
// violation, are shrunk; the caller brings all of them back before it certifies, so shrinking
// cannot change the answer.
#pragma once

#include <vector>

#include "common/deadline.hpp"
#include "common/shuffle.hpp"
#include "data/class_weights.hpp"
#include "linear/sweep.hpp"
#include "objective/intercept.hpp"
#include "objective/losses.hpp"
#include "objective/simplex.hpp"

namespace maxmargin {

struct ClassProblem {
  const std::int32_t* y;
  const double* cost;
  const double* squared_norms;
  Size n_classes;
};

// Caller-owned.
template <class T>
struct ClassState {
  double* alpha;   // n_samples x padded(n_classes); the padding stays 0
  T* W;            // data/class_weights.hpp
  double* w_bias;  // n_classes
  double* anchor;  // n_classes
  double feature;  // 0: no intercept
  bool free;
  std::int32_t* order;
};

// Where a sample is worked on: one entry a class, in vectors of any weights.
struct ClassScratch {
  explicit ClassScratch(Size n_classes)
      : offset(static_cast<std::size_t>(padded<float>(n_classes)), -1e300),
        pull(offset.size()),
        moved(offset.size()),
        busy(offset.size()) {}
  std::vector<double> offset, pull, moved;
  std::vector<int> busy;
};

struct ClassMove {
  double violation, bracket, gain;
};

// The step of one sample, if its variables violate their conditions. `pull` comes in without
// `offset`; `moved` becomes the change of beta. With kStride known at compile time all of it stays
// in registers.
template <Size kStride>
MAXMARGIN_INLINE ClassMove best_move(double cost, double square, double relax, const double* offset,
                                     Size any_stride, double* pull, double* alpha, double* moved) {
  const Size stride = kStride > 0 ? kStride : any_stride;
  const auto [top, violation] = look_at(alpha, offset, stride, cost, pull);
  if (violation <= 0.0 || cost == 0.0) return {violation, 0.0, 0.0};
  const auto [bracket, gain] = project(alpha, pull, top, stride, cost, square, relax, moved);
  return {violation, bracket, gain};
}

template <Size kStride>
ClassMove move_in_simplex(double cost, double square, double relax, const double* offset,
                          Size any_stride, double* pull, double* alpha, double* moved) {
  return MAXMARGIN_CLONED(
      best_move<kStride>(cost, square, relax, offset, any_stride, pull, alpha, moved));
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

template <class Rows, class T>
MAXMARGIN_INLINE void crammer_singer(const Rows& rows, const ClassProblem& problem,
                                     const ClassState<T>& state, ClassScratch& scratch,
                                     Sweep& sweep, Random& random, double relax, Size max_epochs,
                                     double relative_target, const Deadline& deadline) {
  constexpr Size kAhead = 2;
  constexpr Size kClockMask = 63;
  const Size K = problem.n_classes, stride = padded(K);
  const auto move_sample = mover(stride);
  double *offset = scratch.offset.data(), *pull = scratch.pull.data();
  double* moved = scratch.moved.data();
  int* busy = scratch.busy.data();
  std::int32_t* order = state.order;
  const double feature_square = state.feature * state.feature;
  const auto refresh = [&] {
    for (Size j = 0; j < K; ++j)
      offset[j] = 1.0 + state.feature * state.w_bias[j] + state.anchor[j];
  };
  refresh();
  for (Size epoch = 0; epoch < max_epochs;) {
    if (sweep.cursor < 0) {
      sweep.cursor = 0;
      shuffle_rows(random, order, sweep.n_active, rows.n_samples);
      sweep.violations = sweep.gap = 0.0;
    }
    while (sweep.cursor < sweep.n_active) {
      const Size k = sweep.cursor;
      if ((++sweep.steps & kClockMask) == 0 && deadline.passed()) return;
      if (k + 2 * kAhead < sweep.n_active) rows.prefetch_offset(order[k + 2 * kAhead]);
      if (k + kAhead < sweep.n_active) {
        const Size next = order[k + kAhead];
        rows.prefetch(next);
        MAXMARGIN_PREFETCH(state.alpha + next * stride);
        MAXMARGIN_PREFETCH(state.alpha + (next + 1) * stride - 1);
        MAXMARGIN_PREFETCH(problem.y + next);
        MAXMARGIN_PREFETCH(problem.cost + next);
        MAXMARGIN_PREFETCH(problem.squared_norms + next);
      }
      if (k + 1 < sweep.n_active) prefetch_weights(rows, order[k + 1], state.W, K);
      const Size i = order[k];
      const double cost = problem.cost[i];
      const double square = std::max(problem.squared_norms[i] + feature_square, 1e-200);
      scores(rows, i, state.W, K, pull);
      pull[problem.y[i]] -= 1.0;
      const ClassMove move =
          move_sample(cost, square, relax, offset, stride, pull, state.alpha + i * stride, moved);
      if (move.violation < -sweep.threshold || cost == 0.0) {
        std::swap(order[k], order[--sweep.n_active]);
        continue;
      }
      sweep.cursor = k + 1;
      if (move.violation <= 0.0) continue;
      sweep.violations += move.violation;
      sweep.gap += move.bracket;
      sweep.dual += move.gain;
      if (state.feature != 0.0) {
        for (Size j = 0; j < K; ++j) state.w_bias[j] += moved[j] * state.feature;
        refresh();
      }
      add_to_classes(rows, i, moved, K, busy, state.W);
    }
    sweep.cursor = -1;
    sweep.threshold = sweep.violations > 0.0
                          ? sweep.violations / static_cast<double>(sweep.n_active)
                          : std::numeric_limits<double>::infinity();
    if (state.free) {
      double farthest = 0.0;
      for (Size j = 0; j < K; ++j) {
        const double shift = state.feature * state.w_bias[j];
        state.anchor[j] += shift;
        sweep.dual -= state.w_bias[j] * state.w_bias[j];
        farthest = std::max(farthest, std::fabs(shift));
      }
      sweep.threshold += 2.0 * kInterceptDriftSlack * farthest;  // two classes may move apart
    }
    refresh();
    sweep.finish_epoch();
    ++epoch;
    if (sweep.left <= relative_target * sweep.dual) return;
  }
}

}  // namespace maxmargin
