// Stochastic gradient descent with a choice of step sizes and update rules.
//
//   min over w, b of  lam/2 |w|^2 + sum_i (C_i / S) loss(f(x_i)),   S = sum_i C_i
//
// which is P / S for lam = 1/S, and the perceptron for lam = 0. Bottou, "Stochastic gradient
// descent tricks" (2012) for the plain rule; Sutskever et al. (2013), Duchi et al. (2011), Tieleman
// and Hinton (2012), Kingma and Ba (2015) for the others.
//
// The plain rule costs O(stored values of the row) a step. The others keep a number or two for each
// weight and change every weight at every step: O(n_features) a mini-batch.
#pragma once

#include "stochastic/averaged_iterate.hpp"

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
  double per_row;  // n / S: turns the mean of g_i x_i into minus the gradient of the loss
  Schedule schedule;
  Bias bias;
};

// w <- (1 - step lam) w + step (n/S) mean of g_i x_i: the perceptron's rule for lam = 0, step = 1.
struct PlainSgd {
  Iterate& iterate;
  SgdProblem problem;

  const double* weights() const { return iterate.v; }
  Size steps() const { return iterate.steps; }
  Size step_work() const { return 0; }
  void begin_epoch() {}
  void forget_average() { iterate.forget_average(); }

  template <class Rows>
  MAXMARGIN_INLINE double predict(const Rows& rows, Size i) const {
    return iterate.predict(rows, i);
  }

  template <class Rows>
  MAXMARGIN_INLINE void step(const Rows& rows, const std::int32_t* batch, const double* g,
                             Size size) {
    iterate.record(1.0);
    const double step = problem.schedule.step(++iterate.steps);
    const double gain = step * problem.per_row / static_cast<double>(size);
    iterate.shrink(1.0 - step * problem.lam, problem.bias);
    for (Size k = 0; k < size; ++k) {
      if (g[k] != 0.0) iterate.add(rows, batch[k], gain * g[k], problem.bias);
    }
  }
};

enum class Update { momentum, nesterov, adagrad, rmsprop, adam };

// The rules that remember past gradients. Caller-owned arrays of n_features + 1, the last entry
// being the weight of the bias feature.
struct DenseSgd {
  double* w;
  double* average;
  double* gradient;
  double* first;   // velocity, or mean of the gradients
  double* second;  // sum, or mean, of their squares
  Size size;
  SgdProblem problem;
  Update update;
  double momentum;  // decay of `first`
  double decay;     // of `second`
  Size done = 0;
  Size averaged = 0;

  const double* weights() const { return w; }
  Size steps() const { return done; }
  Size step_work() const { return size / 64; }  // 64 weights count as much as a short row
  void begin_epoch() {}
  void forget_average() { averaged = 0; }

  template <class Rows>
  MAXMARGIN_INLINE double predict(const Rows& rows, Size i) const {
    return value_at(rows, i, w, 1.0, problem.bias.anchor + problem.bias.feature * w[size - 1]);
  }

  template <class Rows>
  MAXMARGIN_INLINE void step(const Rows& rows, const std::int32_t* batch, const double* g,
                             Size count) {
    const double rho = 1.0 / static_cast<double>(++averaged);
    each([&](Size j) {
      average[j] += rho * (w[j] - average[j]);
      gradient[j] = problem.lam * w[j];
    });
    const double gain = problem.per_row / static_cast<double>(count);
    for (Size k = 0; k < count; ++k) {
      if (g[k] == 0.0) continue;
      rows.add_scaled(batch[k], -gain * g[k], gradient);
      gradient[size - 1] -= gain * g[k] * problem.bias.feature;
    }
    move(problem.schedule.step(++done));
  }

 private:
  template <class Change>
  MAXMARGIN_INLINE void each(Change change) {
#pragma omp simd
    for (Size j = 0; j < size; ++j) change(j);
  }

  MAXMARGIN_INLINE void move(double step) {
    constexpr double kTiny = 1e-8;
    const double t = static_cast<double>(done);
    const double first_share = 1.0 - std::pow(momentum, t);  // Adam's start from 0, undone
    const double second_share = 1.0 - std::pow(decay, t);
    switch (update) {
      case Update::momentum:
        return each([&](Size j) {
          first[j] = momentum * first[j] + gradient[j];
          w[j] -= step * first[j];
        });
      case Update::nesterov:
        return each([&](Size j) {
          first[j] = momentum * first[j] + gradient[j];
          w[j] -= step * (gradient[j] + momentum * first[j]);
        });
      case Update::adagrad:
        return each([&](Size j) {
          second[j] += gradient[j] * gradient[j];
          w[j] -= step * gradient[j] / (std::sqrt(second[j]) + kTiny);
        });
      case Update::rmsprop:
        return each([&](Size j) {
          second[j] = decay * second[j] + (1.0 - decay) * gradient[j] * gradient[j];
          w[j] -= step * gradient[j] / (std::sqrt(second[j]) + kTiny);
        });
      case Update::adam:
        return each([&](Size j) {
          first[j] = momentum * first[j] + (1.0 - momentum) * gradient[j];
          second[j] = decay * second[j] + (1.0 - decay) * gradient[j] * gradient[j];
          w[j] -= step * (first[j] / first_share) / (std::sqrt(second[j] / second_share) + kTiny);
        });
    }
  }
};

}  // namespace maxmargin
