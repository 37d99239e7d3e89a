// Pegasos: stochastic subgradient descent on the strongly convex SVM objective.
//
//   min over w, b of  P(w, b) = 1/2 |w|^2 + sum_i C_i loss(f(x_i)),   lam = 1 / sum_i C_i
//
// Shalev-Shwartz, Singer, Srebro, Cotter (Math. Prog. 2011), figures 1 and 2, for every loss of
// losses.hpp. With g_i = descent(i), the step 1/(lam t) along the subgradient lam (w - n g_i x_i) of
// lam P is
//
//   w <- (1 - 1/t) w + (n/t) g_i x_i,
//
// so that t w is n times the sum of all g_i x_i so far: beta_i counts the violations of row i.
// A free intercept has the same step without the shrinking; where b converges, so does the sum of
// the g_i / t, and then sum_i beta_i -> 0 (Kronecker's lemma): the dual constraint of a free b.
//
// Invariant: w = sum_i beta_i x_i, and b = feature^2 sum_i beta_i if it is penalised.
#pragma once

#include "clock.hpp"
#include "iterate.hpp"
#include "sampler.hpp"

namespace maxmargin {

enum class Averaging { none, uniform, suffix, weighted };

struct PegasosRule {
  Averaging averaging;
  double radius;  // of the ball that w is projected onto; infinite: no projection
  BiasRule bias;
};

MAXMARGIN_INLINE void record_point(const PegasosRule& rule, Iterate& iterate) {
  switch (rule.averaging) {
    case Averaging::none:
      return;
    case Averaging::uniform:
      return iterate.record(1.0);
    case Averaging::weighted:  // rho = 2 / (t + 2) of Lacoste-Julien, Schmidt, Bach, t from 0
      return iterate.record(static_cast<double>(iterate.steps));
    case Averaging::suffix:
      if (iterate.steps > iterate.horizon) {
        iterate.forget_average();
        iterate.horizon *= 2;
      }
      return iterate.record(1.0);
  }
}

MAXMARGIN_INLINE void project(const PegasosRule& rule, Iterate& iterate) {
  const double bias_weight = rule.bias.shrinks ? iterate.b / rule.bias.feature : 0.0;
  const double norm =
      std::sqrt(iterate.scale * iterate.scale * iterate.square + bias_weight * bias_weight);
  if (norm <= rule.radius) return;
  iterate.shrink(rule.radius / norm);
  if (rule.bias.shrinks) iterate.b *= rule.radius / norm;
}

template <class Rows>
MAXMARGIN_CLONES void pegasos(const Rows& rows, const Terms& terms, const PegasosRule& rule,
                              Sampler& sampler, Iterate& iterate, Random& random, double* g,
                              Size max_epochs, const Deadline& deadline) {
  constexpr Size kAhead = 4;
  constexpr Size kRowsPerClock = 256;
  const bool projects = rule.radius < std::numeric_limits<double>::infinity();
  const Size end_epoch = sampler.epochs + max_epochs;
  Size since_clock = 0;
  while (sampler.epochs < end_epoch) {
    if (sampler.cursor == 0) {
      sampler.draw(random);
      if (projects) {  // anew once an epoch, so that rounding does not add up
        iterate.square = 0.0;
        for (Size j = 0; j < iterate.w.size; ++j)
          iterate.square += iterate.w.v[j] * iterate.w.v[j];
      }
    }
    const Size begin = sampler.begin(sampler.cursor), end = sampler.begin(sampler.cursor + 1);
    ++iterate.steps;
    record_point(rule, iterate);
    const double t = static_cast<double>(iterate.steps);
    const double gain = static_cast<double>(rows.n_samples) / (t * static_cast<double>(end - begin));

    for (Size k = begin; k < end; ++k) {
      if (k + 2 * kAhead < sampler.n_samples) rows.prefetch_offset(sampler.order[k + 2 * kAhead]);
      if (k + kAhead < sampler.n_samples) rows.prefetch(sampler.order[k + kAhead]);
      const Size i = sampler.order[k];
      g[k - begin] = descent(terms, i, iterate.predict(rows, i));
    }
    iterate.shrink(1.0 - 1.0 / t);
    if (rule.bias.shrinks) iterate.b *= 1.0 - 1.0 / t;
    for (Size k = begin; k < end; ++k) {
      const double amount = gain * g[k - begin];
      if (amount == 0.0) continue;
      const Size i = sampler.order[k];
      if (projects) {
        const double a = amount / iterate.scale;
        iterate.square += a * (2.0 * rows.dot(i, iterate.w.v) + a * rows.squared_norm(i));
      }
      iterate.add(rows, i, amount);
      iterate.b += amount * rule.bias.feature * rule.bias.feature;
    }
    if (projects) project(rule, iterate);

    sampler.advance();
    since_clock += end - begin;
    if (since_clock >= kRowsPerClock) {
      if (deadline.passed()) return;
      since_clock = 0;
    }
  }
}

}  // namespace maxmargin
