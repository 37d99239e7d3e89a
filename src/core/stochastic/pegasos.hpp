// Pegasos: stochastic subgradient descent on the strongly convex SVM objective.
//
//   min over w, b of  P(w, b) = 1/2 |w|^2 + sum_i C_i loss(f(x_i)),   lam = 1 / sum_i C_i
//
// Shalev-Shwartz, Singer, Srebro, Cotter (Math. Prog. 2011), figures 1 and 2, for every loss of
// objective/losses.hpp. A subgradient of lam P at one row is lam (w - n g_i x_i), and the step is
// 1/(lam t):
//
//   w <- (1 - 1/t) w + (n/t) g_i x_i.
//
// The squared losses have no bounded subgradients, and far too long first steps would never come
// back: there t starts from an offset, where the step is one over the largest curvature.
//
// Invariant: t w = n sum of all g_i x_i so far (without projection).
#pragma once

#include "stochastic/averaged_iterate.hpp"

namespace maxmargin {

enum class Averaging { none, uniform, suffix, weighted };

struct Pegasos {
  Iterate& iterate;
  Bias bias;
  double n_samples;
  double offset;  // t = offset + steps
  Averaging averaging;
  double radius;  // of the ball that w is projected onto; infinite: no projection
  bool bias_in_ball;
  double square = 0.0;  // |v|^2, kept if there is a projection

  bool projects() const { return radius < std::numeric_limits<double>::infinity(); }
  const double* weights() const { return iterate.v; }
  Size steps() const { return iterate.steps; }
  Size step_work() const { return 0; }

  void forget_average() {
    if (averaging == Averaging::suffix) iterate.forget_average();
  }

  void begin_epoch() {
    if (!projects()) return;
    square = 0.0;  // summed again, so that rounding does not add up
    for (Size j = 0; j < iterate.n_features; ++j) square += iterate.v[j] * iterate.v[j];
  }

  template <class Rows>
  MAXMARGIN_INLINE double predict(const Rows& rows, Size i) const {
    return iterate.predict(rows, i);
  }

  template <class Rows>
  MAXMARGIN_INLINE void step(const Rows& rows, const std::int32_t* batch, const double* g,
                             Size size) {
    const double count = static_cast<double>(++iterate.steps), t = offset + count;
    // Weighted: rho = 2/(t + 1) for t = 1, 2, ... (Lacoste-Julien, Schmidt, Bach, 2012).
    if (averaging != Averaging::none)
      iterate.record(averaging == Averaging::weighted ? count : 1.0);
    shrink(1.0 - 1.0 / t);
    const double gain = n_samples / (t * static_cast<double>(size));
    for (Size k = 0; k < size; ++k) {
      if (g[k] == 0.0) continue;
      if (projects()) {
        const double a = gain * g[k] / iterate.scale;
        square += a * (2.0 * rows.dot(batch[k], iterate.v) + a * rows.squared_norm(batch[k]));
      }
      iterate.add(rows, batch[k], gain * g[k], bias);
    }
    if (projects()) project();
  }

 private:
  MAXMARGIN_INLINE void shrink(double keep) {
    const double before = iterate.scale * keep;
    iterate.shrink(keep, bias);
    if (iterate.scale != before) square *= before * before;  // v was folded
  }

  MAXMARGIN_INLINE void project() {
    const double bias_weight =
        bias_in_ball && bias.feature > 0.0 ? (iterate.b - bias.anchor) / bias.feature : 0.0;
    const Size inside = iterate.n_features - (bias_in_ball ? 0 : iterate.n_biases);
    double outside = 0.0;
    for (Size j = inside; j < iterate.n_features; ++j) outside += iterate.v[j] * iterate.v[j];
    const double norm = std::sqrt(iterate.scale * iterate.scale * std::max(0.0, square - outside) +
                                  bias_weight * bias_weight);
    if (norm <= radius) return;
    const double b = iterate.b, longer = norm / radius;
    for (Size j = inside; j < iterate.n_features; ++j) iterate.stretch(j, longer);
    square += outside * (longer * longer - 1.0);
    shrink(1.0 / longer);
    if (!bias_in_ball) iterate.b = b;
  }
};

}  // namespace maxmargin
