// Dual block coordinate ascent for the K-class linear SVM.
//
//   max over alpha of  sum_ij [j != y_i] alpha_ij - 1/2 |W|^2,   W_j = sum_i beta_ij x_i,
//   beta_ij = cost_i [j = y_i] - alpha_ij,   alpha_ij >= 0,   sum_j alpha_ij = cost_i
//
// Crammer and Singer (JMLR 2001); one sample at a time as in Keerthi et al. (KDD 2008), where the
// sub-problem is a projection on the simplex (Blondel, Fujino, Ueda, ICPR 2014). The bias is a
// further feature of constant value; a free one is its proximal iteration, as in dual_cd.hpp.
//
// Steps go beyond the maximum along their sample, as in successive over-relaxation (Mangasarian and
// Musicant 1999): the dual still never falls, and ill-conditioned problems need fewer epochs.
//
// Invariant: W_j = sum_i beta_ij (x_i, feature), and every alpha_i lies in its simplex.
// Samples whose alpha has one entry, with more pull than the others by the last epoch's mean
// violation, are set aside; the caller brings all of them back before it certifies, so shrinking
// cannot change the answer. Sweep::violation is the sum of the violations here.
#pragma once

#include <vector>

#include "class_weights.hpp"
#include "dual_cd.hpp"

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

struct ClassProblem {
  const std::int32_t* y;
  const double* cost;
  const double* squared_norms;
  Size n_classes;
};

// Caller-owned.
struct ClassState {
  double* alpha;   // n_samples x padded(n_classes); the padding stays 0
  double* W;       // class_weights.hpp
  double* w_bias;  // n_classes
  double* anchor;  // n_classes
  double feature;  // 0: no intercept
  bool free;
  std::int32_t* order;
};

// Where a sample is worked on: one entry a class.
struct ClassScratch {
  explicit ClassScratch(Size n_classes)
      : offset(static_cast<std::size_t>(padded(n_classes)), -1e300),
        pull(offset.size()),
        moved(offset.size()),
        busy(offset.size()) {}
  std::vector<double> offset, pull, moved;
  std::vector<int> busy;
};

template <class Rows>
MAXMARGIN_CLONES void crammer_singer(const Rows& rows, const ClassProblem& problem,
                                     const ClassState& state, ClassScratch& scratch, Sweep& sweep,
                                     Random& random, Size max_epochs, double relative_target,
                                     const Deadline& deadline) {
  constexpr double kRelax = 1.4;  // measured: 1 needs up to twice the epochs, 1.9 as many as 1
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr Size kAhead = 2;
  constexpr Size kClockMask = 63;
  const Size K = problem.n_classes, stride = padded(K);
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
      random.shuffle(order, sweep.n_active);
      sweep.violation = 0.0;
      sweep.gap = 0.0;
    }
    while (sweep.cursor < sweep.n_active) {
      const Size k = sweep.cursor;
      if ((++sweep.steps & kClockMask) == 0 && deadline.passed()) return;
      if (k + 2 * kAhead < sweep.n_active) rows.prefetch_offset(order[k + 2 * kAhead]);
      if (k + kAhead < sweep.n_active) {
        const Size next = order[k + kAhead];
        rows.prefetch(next);
        MAXMARGIN_PREFETCH(state.alpha + next * stride);
      }
      if (k + 1 < sweep.n_active) prefetch_weights(rows, order[k + 1], state.W, K);
      const Size i = order[k];
      const double cost = problem.cost[i];
      double* alpha = state.alpha + i * stride;
      scores(rows, i, state.W, K, pull);
      pull[problem.y[i]] -= 1.0;
      double top = -kNone, open = -kNone, held = kNone;
#pragma omp simd reduction(max : top, open) reduction(min : held)
      for (Size j = 0; j < stride; ++j) {
        const double p = pull[j] + offset[j];
        const double up = alpha[j] < cost ? p : -kNone;
        const double down = alpha[j] > 0.0 ? p : kNone;
        pull[j] = p;
        top = p > top ? p : top;
        open = up > open ? up : open;
        held = down < held ? down : held;
      }
      const double violation = open - held;
      if (violation < -sweep.threshold || cost == 0.0) {
        std::swap(order[k], order[--sweep.n_active]);
        continue;
      }
      sweep.cursor = k + 1;
      if (violation <= 0.0) continue;
      sweep.violation += violation;

      // The projection of alpha + kRelax pull / square on the simplex.
      const double square = std::max(problem.squared_norms[i] + feature_square, 1e-200);
      const double scale = kRelax / square;
      double bracket = 0.0, largest = -kNone;
#pragma omp simd reduction(+ : bracket) reduction(max : largest)
      for (Size j = 0; j < stride; ++j) {
        const double below = pull[j] - top;
        const double m = alpha[j] + below * scale;
        bracket -= alpha[j] * below;
        moved[j] = m;
        largest = m > largest ? m : largest;
      }
      sweep.gap += bracket;
      const auto [theta, count] = simplex_threshold(moved, stride, largest, cost);
      double gain = 0.0;
#pragma omp simd reduction(+ : gain)
      for (Size j = 0; j < stride; ++j) {
        const double above = moved[j] - theta;
        double next = above > 0.0 ? above : 0.0;
        next = count <= 1.0 && above > 0.0 ? cost : next;
        const double change = next - alpha[j];
        gain += change != 0.0 ? change * (pull[j] - 0.5 * square * change) : 0.0;
        alpha[j] = next;
        moved[j] = -change;
      }
      sweep.dual += gain;
      if (state.feature != 0.0) {
        for (Size j = 0; j < K; ++j) state.w_bias[j] += moved[j] * state.feature;
        refresh();
      }
      add_to_classes(rows, i, moved, K, busy, state.W);
    }
    sweep.cursor = -1;
    sweep.threshold =
        sweep.violation > 0.0 ? sweep.violation / static_cast<double>(sweep.n_active) : kNone;
    if (state.free) {
      for (Size j = 0; j < K; ++j) {
        state.anchor[j] += state.feature * state.w_bias[j];
        sweep.dual -= state.w_bias[j] * state.w_bias[j];
      }
    }
    refresh();
    sweep.last_gap = sweep.gap;
    sweep.last_dual = sweep.dual;
    ++sweep.epochs;
    ++epoch;
    if (sweep.gap <= relative_target * sweep.dual) return;
  }
}

}  // namespace maxmargin
