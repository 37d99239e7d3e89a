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

#include "rows.hpp"

namespace maxmargin {

struct Loss {
  double target_scale;  // target = target_scale * y; 0 for the perceptron
  double epsilon;       // half width of the insensitive tube
  bool one_sided;       // beta has the sign of y (classification)
  bool bounded;         // |beta| <= cost (absolute losses), else curvature 1 / (2 cost)
};

// The numbers of one sample's term.
struct Term {
  double target, lower, upper, curvature, epsilon;

  // argmax over [lower, upper] of pull * beta - epsilon |beta| - stiffness/2 beta^2.
  MAXMARGIN_INLINE double argmax(double pull, double stiffness) const {
    const double reach = std::fabs(pull) - epsilon;
    const double beta = reach > 0.0 ? std::copysign(reach / stiffness, pull) : 0.0;
    return std::min(std::max(beta, lower), upper);
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

struct Terms {
  const double* y;
  const double* cost;
  Loss loss;

  MAXMARGIN_INLINE Term operator[](Size i) const {
    const double c = cost[i];
    const double reach = loss.bounded || c == 0.0 ? c : std::numeric_limits<double>::infinity();
    return Term{
        .target = loss.target_scale * y[i],
        .lower = loss.one_sided && y[i] > 0.0 ? 0.0 : -reach,
        .upper = loss.one_sided && y[i] < 0.0 ? 0.0 : reach,
        .curvature = loss.bounded || c == 0.0 ? 0.0 : 0.5 / c,
        .epsilon = loss.epsilon,
    };
  }
};

}  // namespace maxmargin
