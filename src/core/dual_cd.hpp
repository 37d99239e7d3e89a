// Dual coordinate descent for the linear SVM.
//
//   max over beta of  sum_i conjugate_i(beta_i) - 1/2 |sum_i beta_i x_i|^2,  lower <= beta <= upper
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan (ICML 2008), algorithms 1 and 3, for every loss of
// losses.hpp. The bias is a further feature of constant value `bias.feature`; a free intercept is
// its proximal iteration: after each epoch the anchor follows (docs/decisions/0003).
//
// Invariant: (w, bias_weight) = sum_i beta_i (x_i, bias.feature), up to the rounding of Weight: in
// float twice as many weights are in the cache, and an epoch over wide sparse rows waits for them.
// A cold start tastes a fifth of the rows before its first epoch, so that most rows meet weights
// that know something: up to a tenth fewer visits on text. Rows that sit at a kink with more slack
// than the last epoch's mean violation, or a quarter of its worst, are set aside; the caller brings
// all of them back before it certifies, so shrinking cannot change the answer.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "bias.hpp"
#include "clock.hpp"
#include "losses.hpp"
#include "order.hpp"

namespace maxmargin {

// Rows follow the anchor across their kinks: more slack is asked of them, by so many times what the
// anchor moved in the last epoch.
constexpr double kSway = 2.0;

// Caller-owned; an epoch can be left at the deadline and taken up again.
struct Sweep {
  Size n_active;
  Size cursor = -1;    // next position in the order; -1: a new epoch starts
  double share = 0.2;  // of the active rows, to be visited in the next epoch
  Size left_out = 0;   // active rows, the last of the order, that this epoch does not visit
  double threshold = std::numeric_limits<double>::infinity();  // slack: beyond it, set aside
  double violation = 0.0;                                      // worst seen in this epoch
  double violations = 0.0;                                     // the sum of those seen in it
  Size violators = 0;                                          // how many they were
  double gap = 0.0;        // sum of the Fenchel-Young gaps met in this epoch: about the duality gap
  double last_gap = 0.0;   // the same of the last epoch that visited all of them
  double rate = 1.0;       // how much of it an epoch leaves
  double left = 0.0;       // what that epoch will have left of it
  double dual = 0.0;       // value of the dual objective, kept up to date
  double last_dual = 0.0;  // the same at the end of the last whole epoch
  double bias_weight = 0.0;  // sum_i beta_i times the bias feature
  Size epochs = 0;           // done, one that was a share too, but not the taste
  Size steps = 0;            // rows visited

  explicit Sweep(Size rows) : n_active(rows) {}

  void note(double found) {
    violation = std::max(violation, found);
    violations += found;
    ++violators;
  }

  // The taste of the rows is over.
  void begin() {
    share = 1.0;
    if (violators > 0) threshold = kOfWorst * violation;
  }

  // An epoch is whole. Gaps met before a step are about those that the last epoch left; the first
  // epoch meets those of a start that knew little, and their fall is about that of two epochs.
  void look_ahead() {
    if (gap > 0.0 && last_gap > 0.0) {
      rate = std::min(1.0, gap / last_gap);
      if (epochs == 1) rate = std::sqrt(rate);
    }
    left = gap * rate;
    last_gap = gap;
    last_dual = dual;
    ++epochs;
  }

  // An epoch of dual coordinate descent is over, which is to leave no more than `target`. What is
  // left falls about evenly within an epoch, so that a share of the next may do; it is the last
  // then, for it cannot tell what it will have left.
  void look_ahead(double target) {
    constexpr double kLeast = 0.3, kMost = 0.9;
    threshold = worth_a_look();
    if (share < 1.0) {
      share = 1.0;
      left = target;
      last_gap = 0.0;  // an epoch between this one and the last whole one is no measure
      last_dual = dual;
      ++epochs;
      return;
    }
    look_ahead();
    const double fall = left * (1.0 - left / last_gap), wanted = left - target;
    if (0.0 < wanted && wanted < kMost * fall) share = std::max(kLeast, wanted / fall);
  }

 private:
  static constexpr double kOfWorst = 0.25;

  // Slack beyond which a row is not worth a look in the next epoch. On text the whole of the worst
  // violation shrinks too late, and 0.03 of it, or half of the mean, in error.
  double worth_a_look() const {
    if (violators == 0) return std::numeric_limits<double>::infinity();
    return std::min(kOfWorst * violation, violations / static_cast<double>(violators));
  }
};

// Largest gain per unit step over the directions that the box leaves open; negative: slack.
MAXMARGIN_INLINE double violation(const Term& term, double z, double beta) {
  const double pull = term.target - z - term.curvature * beta;
  const double up = beta < term.upper ? pull - (beta >= 0.0 ? term.epsilon : -term.epsilon)
                                      : -std::numeric_limits<double>::infinity();
  const double down = beta > term.lower ? -pull - (beta <= 0.0 ? term.epsilon : -term.epsilon)
                                        : -std::numeric_limits<double>::infinity();
  return std::max(up, down);
}

// Each row of the taste makes up for the whole loss, also for what later ones will make up for: the
// best multiple of such a beta is a smaller one. A bound could forbid a larger one.
template <class Weight>
MAXMARGIN_INLINE void scale_down(const Terms& terms, Size n_samples, Size n_features, double anchor,
                                 double* beta, Weight* w, Sweep& sweep) {
  double linear = 0.0, square = sweep.bias_weight * sweep.bias_weight;
  for (Size i = 0; i < n_samples; ++i) {
    const Term term = terms[i];
    linear += (term.target - anchor) * beta[i] - term.epsilon * std::fabs(beta[i]);
    square += term.curvature * beta[i] * beta[i];
  }
#pragma omp simd reduction(+ : square)
  for (Size j = 0; j < n_features; ++j) square += static_cast<double>(w[j]) * w[j];
  const double scale = linear / square;
  if (!(scale > 0.0 && scale < 1.0)) return;
  for (Size i = 0; i < n_samples; ++i) beta[i] *= scale;
  for (Size j = 0; j < n_features; ++j) w[j] = static_cast<Weight>(scale * w[j]);
  sweep.bias_weight *= scale;
  sweep.dual = 0.5 * scale * linear;
}

template <class Rows, class Weight>
MAXMARGIN_INLINE void dual_cd(const Rows& rows, const Terms& terms, const double* squared_norms,
                              Bias& bias, bool free, double* beta, Weight* w, std::int32_t* order,
                              Sweep& sweep, Random& random, Size max_epochs, double relative_target,
                              const Deadline& deadline) {
  constexpr Size kAhead = 3;
  constexpr Size kClockMask = 255;
  const double bias_square = bias.feature * bias.feature;
  for (Size epoch = 0; epoch < max_epochs;) {
    if (sweep.cursor < 0) {
      sweep.cursor = 0;
      shuffle_rows(random, order, sweep.n_active, rows.n_samples);
      sweep.left_out = static_cast<Size>((1.0 - sweep.share) * static_cast<double>(sweep.n_active));
      sweep.violation = sweep.violations = sweep.gap = 0.0;
      sweep.violators = 0;
    }
    while (sweep.cursor < sweep.n_active - sweep.left_out) {
      const Size k = sweep.cursor;
      if ((++sweep.steps & kClockMask) == 0 && deadline.passed()) return;
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
      sweep.dual +=
          term.conjugate(next) - term.conjugate(old) - change * (z + 0.5 * square * change);
      rows.add_scaled(i, change, w);
      sweep.bias_weight += change * bias.feature;
    }
    sweep.cursor = -1;
    const bool tasted = sweep.epochs == 0 && sweep.share < 1.0;
    if (tasted) scale_down(terms, rows.n_samples, rows.n_features, bias.anchor, beta, w, sweep);
    const double shift = free ? bias.feature * sweep.bias_weight : 0.0;
    bias.anchor += shift;
    if (free) sweep.dual -= sweep.bias_weight * sweep.bias_weight;
    if (tasted) {
      sweep.begin();
    } else {
      sweep.look_ahead(relative_target * sweep.dual);
      ++epoch;
    }
    sweep.threshold += kSway * std::fabs(shift);
    if (!tasted && sweep.left <= relative_target * sweep.dual) return;
  }
}

}  // namespace maxmargin
