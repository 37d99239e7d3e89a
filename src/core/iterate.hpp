// The iterate of a stochastic subgradient method and its average, at O(stored values) a step.
//
//   w = scale v,    sum over t of share_t w_t = mass v - u,    mass = sum over t of share_t scale_t
//
// A step shrinks w as a whole, which is one product, and adds a multiple of one row to v; u takes
// what the past of the average must not see of it (Xu 2011; Bottou's averaged SGD). The dual
// coordinates go through the same two vectors, hence the
//
// Invariant: w = sum_i beta_i x_i, for the iterate and for its average alike.
#pragma once

#include "losses.hpp"

namespace maxmargin {

struct LazyVector {
  double* v;
  double* u;
  Size size;

  // The same vector and the same sum, with scale 1 and mass 0.
  void fold(double scale, double mass) const {
    for (Size j = 0; j < size; ++j) {
      u[j] -= mass * v[j];
      v[j] *= scale;
    }
  }

  void forget_sum() const { std::fill(u, u + size, 0.0); }
};

// How b = bias.feature * (its weight) moves: as a penalised weight, or free of the shrinking.
struct BiasRule {
  double feature;  // 0: no intercept
  bool shrinks;
};

// Caller-owned arrays; beta is empty where the rows are not kept (a stream).
struct Iterate {
  LazyVector w, beta;
  double scale = 1.0;
  double mass = 0.0;
  double total = 0.0;  // sum of the shares
  double b = 0.0;
  double b_sum = 0.0;
  double square = 0.0;  // |v|^2, kept by the solvers that project
  Size steps = 0;
  Size horizon = 0;  // the step at which a suffix average starts afresh

  template <class Rows>
  MAXMARGIN_INLINE double predict(const Rows& rows, Size i) const {
    return scale * rows.dot(i, w.v) + b;
  }

  // Counts the present point in the average, with the given share.
  MAXMARGIN_INLINE void record(double share) {
    mass += share * scale;
    total += share;
    b_sum += share * b;
  }

  void forget_average() {
    w.forget_sum();
    beta.forget_sum();
    mass = total = b_sum = 0.0;
  }

  // Rounding: u and mass v cancel more the smaller the scale, so it is not left to fall far.
  MAXMARGIN_INLINE void shrink(double keep) {
    constexpr double kSmallest = 1e-6;
    scale *= keep;
    if (scale >= kSmallest) return;
    w.fold(scale, mass);
    beta.fold(scale, mass);
    square *= scale * scale;
    scale = 1.0;
    mass = 0.0;
  }

  // w += amount x_i, beta_i += amount.
  template <class Rows>
  MAXMARGIN_INLINE void add(const Rows& rows, Size i, double amount) {
    const double a = amount / scale;
    rows.add_scaled(i, a, w.v);
    if (mass != 0.0) rows.add_scaled(i, mass * a, w.u);
    if (beta.size == 0) return;
    beta.v[i] += a;
    beta.u[i] += mass * a;
  }
};

// Minus a subgradient of cost * loss at z: the beta that attains the maximum of losses.hpp. On the
// boundary z = 0 the perceptron takes the far end of its box, else it would never leave w = 0.
MAXMARGIN_INLINE double descent(const Terms& terms, Size i, double z) {
  const Term term = terms[i];
  if (terms.loss.target_scale == 0.0 && z == 0.0) return term.lower + term.upper;
  return term.argmax(term.target - z, term.curvature);
}

}  // namespace maxmargin
