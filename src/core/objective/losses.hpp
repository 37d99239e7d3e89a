// Every loss of the library is one piecewise quadratic, given by its dual:
//
//   cost * loss(z) = max over beta in [lower, upper] of
//                    (target - z) beta - epsilon |beta| - curvature/2 beta^2,
//
// where z = f(x). Hinge, squared hinge, perceptron, squared, epsilon-insensitive and squared
// epsilon-insensitive differ only in the numbers below, so that each solver is written once.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/rows.hpp"

namespace maxmargin {

// The choices are kept as numbers too: with a branch on them a loop over samples would not
// vectorise.
struct Loss {
  double target_scale;  // target = target_scale * y; 0 for the perceptron
  double epsilon;       // half width of the insensitive tube
  bool one_sided;       // beta has the sign of y (classification)
  bool bounded;         // |beta| <= cost (absolute losses), else curvature 1 / (2 cost)
  double growth = bounded ? 1.0 : std::numeric_limits<double>::infinity();        // |beta| / cost
  double other_side = one_sided ? 0.0 : std::numeric_limits<double>::infinity();  // -y beta
  double curving = bounded ? 0.0 : 0.5;  // curvature * cost
};

// The numbers of one sample's term.
struct Term {
  double target, lower, upper, curvature, epsilon;

  // argmax over [lower, upper] of gradient * beta - epsilon |beta| - stiffness/2 beta^2.
  MAXMARGIN_INLINE double argmax(double gradient, double stiffness) const {
    const double reach = std::fabs(gradient) - epsilon;
    const double beta = reach > 0.0 ? std::copysign(reach / stiffness, gradient) : 0.0;
    const double above = beta < lower ? lower : beta;
    return above > upper ? upper : above;
  }

  // The dual term: what beta contributes to D besides -|w|^2/2.
  MAXMARGIN_INLINE double conjugate(double beta) const {
    return target * beta - epsilon * std::fabs(beta) - 0.5 * curvature * beta * beta;
  }

  // cost * loss(z). With curvature 0 the maximiser is an end of the box.
  MAXMARGIN_INLINE double value(double z) const {
    const double beta = argmax(target - z, curvature);
    return beta == 0.0 ? 0.0 : conjugate(beta) - z * beta;
  }
};

MAXMARGIN_INLINE Term term_of(const Loss& loss, double label, double cost) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double reach = cost > 0.0 ? cost * loss.growth : 0.0;
  const double down = label > 0.0 ? loss.other_side : kInfinity;
  const double up = label < 0.0 ? loss.other_side : kInfinity;
  return Term{
      .target = loss.target_scale * label,
      .lower = -(reach < down ? reach : down),
      .upper = reach < up ? reach : up,
      .curvature = cost > 0.0 ? loss.curving / cost : 0.0,
      .epsilon = loss.epsilon,
  };
}

struct Terms {
  const double* y;
  const double* cost;
  Loss loss;

  MAXMARGIN_INLINE Term operator[](Size i) const { return term_of(loss, y[i], cost[i]); }
};

}  // namespace maxmargin
