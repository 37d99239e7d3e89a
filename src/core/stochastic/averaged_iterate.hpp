// The iterate of a stochastic subgradient method and its average, at O(stored values) a step.
//
//   w = scale v,    sum over t of share_t w_t = mass v - u,    mass = sum over t of share_t scale_t
//
// A step shrinks w as a whole, which is one product, and adds a multiple of one row to v; u takes
// what the past of the average must not see of it (Xu 2011; Bottou's averaged SGD).
#pragma once

#include "common/shuffle.hpp"
#include "objective/intercept.hpp"
#include "objective/losses.hpp"

namespace maxmargin {

// f(x_i) of the weights scale v and the intercept b. Rows of several classes
// (stochastic/multiclass_rows.hpp) have their intercepts in v, and a margin.
template <class Rows>
MAXMARGIN_INLINE double value_at(const Rows& rows, Size i, const double* v, double scale,
                                 double b) {
  if constexpr (requires { rows.margin(i, v, scale); })
    return rows.margin(i, v, scale);
  else
    return scale * rows.dot(i, v) + b;
}

// Caller-owned arrays. A penalised intercept is a weight like the others; b shrinks to its anchor.
struct Iterate {
  double* v;
  double* u;
  Size n_features;
  Size n_biases;  // the last features that are those of intercepts, if they are not in b
  double scale = 1.0;
  double mass = 0.0;
  double total = 0.0;  // sum of the shares
  double b = 0.0;
  double b_sum = 0.0;
  Size steps = 0;

  template <class Rows>
  MAXMARGIN_INLINE double predict(const Rows& rows, Size i) const {
    return value_at(rows, i, v, scale, b);
  }

  // Counts the present point in the average, with the given share.
  MAXMARGIN_INLINE void record(double share) {
    mass += share * scale;
    total += share;
    b_sum += share * b;
  }

  void forget_average() {
    std::fill(u, u + n_features, 0.0);
    mass = total = b_sum = 0.0;
  }

  // v_j <- factor v_j, with the past as it was.
  MAXMARGIN_INLINE void stretch(Size j, double factor) {
    const double change = (factor - 1.0) * v[j];
    v[j] += change;
    u[j] += mass * change;
  }

  // (w, b) <- keep (w, b) + (1 - keep) (0, anchor).
  MAXMARGIN_INLINE void shrink(double keep, const Bias& bias) {
    constexpr double kSmallest = 1e-6;  // below, mass v and u would cancel too many digits
    b = bias.anchor + keep * (b - bias.anchor);
    scale *= keep;
    if (scale < kSmallest) fold();
  }

  // w += amount x_i, and the bias weight likewise.
  template <class Rows>
  MAXMARGIN_INLINE void add(const Rows& rows, Size i, double amount, const Bias& bias) {
    const double a = amount / scale;
    rows.add_scaled(i, a, v);
    if (mass != 0.0) rows.add_scaled(i, mass * a, u);
    b += amount * bias.feature * bias.feature;
  }

 private:
  // The same w and the same sum, with scale 1 and mass 0.
  void fold() {
    for (Size j = 0; j < n_features; ++j) {
      u[j] -= mass * v[j];
      v[j] *= scale;
    }
    scale = 1.0;
    mass = 0.0;
  }
};

}  // namespace maxmargin
