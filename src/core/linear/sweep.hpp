// The state of dual coordinate descent between its calls: where an epoch is, which rows are active,
// and what the last epochs say about the duality gap.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "objective/losses.hpp"

namespace maxmargin {

// Slack that is asked of a row beyond the threshold before it is shrunk, in units of how far the
// intercept moved in the last epoch: rows follow it across the kinks of their losses.
constexpr double kInterceptDriftSlack = 2.0;

// When a call ends: after so many epochs, with a gap that seems to be this fraction of the dual
// value, or when the time is over.
struct SweepBudget {
  Size max_epochs;
  double relative_target;
  double seconds;
};

// Caller-owned; an epoch can be left at the deadline and taken up again.
struct Sweep {
  Size n_active;
  Size cursor = -1;    // next position in the order; -1: a new epoch starts
  double share = 0.2;  // of the active rows, to be visited in the next epoch
  Size left_out = 0;   // active rows, the last of the order, that this epoch does not visit
  double threshold = std::numeric_limits<double>::infinity();  // slack beyond which a row is shrunk
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
  Size epochs = 0;           // done, one of a share too, but not the warm-up
  Size steps = 0;            // rows visited

  explicit Sweep(Size rows) : n_active(rows) {}

  void note(double found) {
    violation = std::max(violation, found);
    violations += found;
    ++violators;
  }

  // The warm-up pass on a subsample of the rows is over.
  void begin() {
    share = 1.0;
    if (violators > 0) threshold = kOfWorst * violation;
  }

  // An epoch is whole. Gaps met before a step are about those that the last epoch left; the first
  // epoch meets those of a start that knew little, and their fall is about that of two epochs.
  void finish_epoch() {
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
  void finish_epoch(double target) {
    constexpr double kLeast = 0.3, kMost = 0.9;
    threshold = shrinking_threshold();
    if (share < 1.0) {
      share = 1.0;
      left = target;
      last_gap = 0.0;  // an epoch between this one and the last whole one is no measure
      last_dual = dual;
      ++epochs;
      return;
    }
    finish_epoch();
    const double fall = left * (1.0 - left / last_gap), wanted = left - target;
    if (0.0 < wanted && wanted < kMost * fall) share = std::max(kLeast, wanted / fall);
  }

 private:
  static constexpr double kOfWorst = 0.25;

  // Slack beyond which a row is shrunk: left out of the next epoch. On text the whole of the worst
  // violation shrinks too late, and 0.03 of it, or half of the mean, in error.
  double shrinking_threshold() const {
    if (violators == 0) return std::numeric_limits<double>::infinity();
    return std::min(kOfWorst * violation, violations / static_cast<double>(violators));
  }
};

// Largest gain per unit step over the directions that the box leaves open; negative: slack.
MAXMARGIN_INLINE double violation(const Term& term, double z, double beta) {
  const double gradient = term.target - z - term.curvature * beta;
  const double up = beta < term.upper ? gradient - (beta >= 0.0 ? term.epsilon : -term.epsilon)
                                      : -std::numeric_limits<double>::infinity();
  const double down = beta > term.lower ? -gradient - (beta <= 0.0 ? term.epsilon : -term.epsilon)
                                        : -std::numeric_limits<double>::infinity();
  return std::max(up, down);
}

}  // namespace maxmargin
