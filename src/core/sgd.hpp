// Stochastic gradient descent with a choice of step sizes and update rules.
//
//   min over w, b of  lam/2 |w|^2 + sum_i (C_i / S) loss(f(x_i)),   S = sum_i C_i
//
// which is P / S for lam = 1/S, and the perceptron for lam = 0. Each epoch meets the rows in a new
// order. Bottou, "Stochastic gradient descent tricks" (2012) for the plain rule; Sutskever et al.
// (2013), Duchi et al. (2011), Tieleman and Hinton (2012), Kingma and Ba (2015) for the others.
//
// The plain rule costs O(stored values of the row) a step. The others keep a number or two for each
// weight and change every weight at every step: O(n_features) a mini-batch.
//
// The dual point: beta_i is the mean of g_i = descent(i) over the visits to row i since the epoch
// count was last a power of two, and the average of the iterates starts at the same moment. At the
// optimum w = sum_i g_i x_i, so what the mean has not settled yet shows as a gap, never as an error.
#pragma once

#include "clock.hpp"
#include "iterate.hpp"
#include "sampler.hpp"

namespace maxmargin {

// step(t) = first / (offset + rate t)^power, for t = 1, 2, ...
struct Schedule {
  double first, offset, rate, power;

  MAXMARGIN_INLINE double step(Size t) const {
    if (power == 0.0) return first;
    const double x = offset + rate * static_cast<double>(t);
    return power == 1.0 ? first / x : first / std::pow(x, power);
  }
};

struct SgdProblem {
  double lam;      // 0: not regularised
  double per_row;  // n / S: turns g_i into minus the gradient of the weighted mean loss
  Schedule schedule;
  BiasRule bias;
};

// Caller-owned. One window of epochs feeds the average and the dual point.
struct Window {
  double* g_sum;  // over the visits to each row in the window
  Size n_samples;
  Size epochs = 0;          // in the window, the present one included
  Size mistakes = 0;        // non-zero g_i, of the whole run
  Size epoch_mistakes = 0;  // of the present epoch

  // True if the average, too, has to start afresh.
  bool begin_epoch(Size done) {
    epoch_mistakes = 0;
    const bool fresh = (done & (done - 1)) == 0;
    if (fresh) {
      std::fill(g_sum, g_sum + n_samples, 0.0);
      epochs = 0;
    }
    ++epochs;
    return fresh;
  }

  MAXMARGIN_INLINE void visit(Size i, double g) {
    g_sum[i] += g;
    epoch_mistakes += g != 0.0;
    mistakes += g != 0.0;
  }
};

// w <- (1 - step lam) w + step (n/S) mean of g_i x_i: the perceptron's rule for lam = 0, step = 1.
struct PlainRule {
  Iterate& iterate;

  void forget_average() { iterate.forget_average(); }

  template <class Rows>
  MAXMARGIN_INLINE double predict(const Rows& rows, const BiasRule&, Size i) const {
    return iterate.predict(rows, i);
  }

  template <class Rows>
  MAXMARGIN_INLINE void step(const Rows& rows, const SgdProblem& problem, const std::int32_t* batch,
                             const double* g, Size size) {
    const double step = problem.schedule.step(++iterate.steps);
    const double keep = 1.0 - step * problem.lam;
    const double gain = step * problem.per_row / static_cast<double>(size);
    iterate.shrink(keep);
    if (problem.bias.shrinks) iterate.b *= keep;
    for (Size k = 0; k < size; ++k) {
      if (g[k] == 0.0) continue;
      iterate.add(rows, batch[k], gain * g[k]);
      iterate.b += gain * g[k] * problem.bias.feature * problem.bias.feature;
    }
    iterate.record(1.0);
  }
};

enum class Update { momentum, nesterov, adagrad, rmsprop, adam };

// The rules that keep a memory of past gradients. Caller-owned arrays of n_features + 1, the last
// entry being the weight of the bias feature.
struct DenseRule {
  double* w;
  double* average;
  double* gradient;
  double* first;   // velocity, or mean of the gradients
  double* second;  // sum or mean of their squares
  Size size;
  Update update;
  double momentum;  // decay of `first`
  double decay;     // of `second`
  Size steps = 0;
  Size averaged = 0;

  void forget_average() { averaged = 0; }

  template <class Rows>
  MAXMARGIN_INLINE double predict(const Rows& rows, const BiasRule& bias, Size i) const {
    return rows.dot(i, w) + bias.feature * w[rows.n_features];
  }

  template <class Rows>
  MAXMARGIN_INLINE void step(const Rows& rows, const SgdProblem& problem, const std::int32_t* batch,
                             const double* g, Size count) {
    const double gain = problem.per_row / static_cast<double>(count);
    const Size d = size - 1;
    for (Size j = 0; j < d; ++j) gradient[j] = problem.lam * w[j];
    gradient[d] = problem.bias.shrinks ? problem.lam * w[d] : 0.0;
    for (Size k = 0; k < count; ++k) {
      if (g[k] == 0.0) continue;
      rows.add_scaled(batch[k], -gain * g[k], gradient);
      gradient[d] -= gain * g[k] * problem.bias.feature;
    }
    move(problem.schedule.step(++steps));
    const double rho = 1.0 / static_cast<double>(++averaged);
    for (Size j = 0; j < size; ++j) average[j] += rho * (w[j] - average[j]);
  }

  MAXMARGIN_INLINE void move(double step) {
    constexpr double kTiny = 1e-8;
    const double t = static_cast<double>(steps);
    const double first_whole = 1.0 - std::pow(momentum, t), second_whole = 1.0 - std::pow(decay, t);
    for (Size j = 0; j < size; ++j) {
      const double slope = gradient[j];
      switch (update) {
        case Update::momentum:
          first[j] = momentum * first[j] + slope;
          w[j] -= step * first[j];
          break;
        case Update::nesterov:
          first[j] = momentum * first[j] + slope;
          w[j] -= step * (slope + momentum * first[j]);
          break;
        case Update::adagrad:
          second[j] += slope * slope;
          w[j] -= step * slope / (std::sqrt(second[j]) + kTiny);
          break;
        case Update::rmsprop:
          second[j] = decay * second[j] + (1.0 - decay) * slope * slope;
          w[j] -= step * slope / (std::sqrt(second[j]) + kTiny);
          break;
        case Update::adam:
          first[j] = momentum * first[j] + (1.0 - momentum) * slope;
          second[j] = decay * second[j] + (1.0 - decay) * slope * slope;
          w[j] -= step * (first[j] / first_whole) / (std::sqrt(second[j] / second_whole) + kTiny);
          break;
      }
    }
  }
};

template <class Rows, class Rule>
MAXMARGIN_CLONES void sgd(const Rows& rows, const Terms& terms, const SgdProblem& problem,
                          Rule& rule, Sampler& sampler, Window& window, Random& random, double* g,
                          Size max_epochs, const Deadline& deadline) {
  constexpr Size kAhead = 4;
  constexpr Size kRowsPerClock = 256;
  const Size end_epoch = sampler.epochs + max_epochs;
  Size since_clock = 0;
  while (sampler.epochs < end_epoch) {
    if (sampler.cursor == 0) {
      sampler.draw(random);
      if (window.begin_epoch(sampler.epochs)) rule.forget_average();
    }
    const Size begin = sampler.begin(sampler.cursor), end = sampler.begin(sampler.cursor + 1);
    for (Size k = begin; k < end; ++k) {
      if (k + 2 * kAhead < sampler.n_samples) rows.prefetch_offset(sampler.order[k + 2 * kAhead]);
      if (k + kAhead < sampler.n_samples) rows.prefetch(sampler.order[k + kAhead]);
      const Size i = sampler.order[k];
      g[k - begin] = descent(terms, i, rule.predict(rows, problem.bias, i));
      window.visit(i, g[k - begin]);
    }
    rule.step(rows, problem, sampler.order + begin, g, end - begin);

    sampler.advance();
    // Without a regulariser an epoch without mistakes is the end: nothing would move any more.
    if (sampler.cursor == 0 && problem.lam == 0.0 && window.epoch_mistakes == 0) return;
    since_clock += end - begin;
    if (since_clock >= kRowsPerClock) {
      if (deadline.passed()) return;
      since_clock = 0;
    }
  }
}

}  // namespace maxmargin
