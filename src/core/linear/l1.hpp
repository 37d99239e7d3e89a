// The l1-regularised squared hinge on a working set of columns.
//
//   min over w of  sum_j p_j |w_j| + sum_i max(0, r_i)^2,  r = t - sum_j w_j column_j,
//
// in the units of linear/l1_columns.hpp: t_i = sqrt(C_i); p_j is 1, or 0 for a free intercept.
//
// Cyclic coordinate descent with one-dimensional Newton steps (Chang, Hsieh and Lin, JMLR 2008;
// Yuan, Chang, Hsieh and Lin, JMLR 2010), and Anderson extrapolation of the iterates and residuals
// (Bertrand and Massias, AISTATS 2021). The dual point is alpha_i = 2 sqrt(C_i) max(0, r_i), scaled
// so that no column exceeds its p_j.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/deadline.hpp"
#include "linear/l1_columns.hpp"
#include "linear/l1_gram.hpp"
#include "linear/l1_newton.hpp"

namespace maxmargin {

class L1WorkingSet {
 public:
  L1WorkingSet(const double* y, const double* cost, Size n, bool keep_row_numbers)
      : columns(factors(y, cost, n)), residual(n), dual_residual(n) {
    columns.keep_row_numbers(keep_row_numbers);
    target_.resize(n);
    for (Size i = 0; i < n; ++i) target_[i] = std::sqrt(cost[i]);
  }

  PackedColumns columns;
  std::vector<double> w, penalty, residual;
  std::vector<double> dual_residual;  // of the best dual point since `restart`
  double dual = 0.0, primal = 0.0;    // of the working set
  Size epochs = 0;

  // To be called after columns have been appended, with their penalties.
  MAXMARGIN_INLINE void extend(double p) {
    while (static_cast<Size>(w.size()) < columns.count()) {
      const Size j = static_cast<Size>(w.size());
      w.push_back(0.0);
      penalty.push_back(p);
      const double square = columns.with(j, [](const auto column) MAXMARGIN_INLINED {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (Size k = 0; k < column.count; ++k) sum += column.values[k] * column.values[k];
        return sum;
      });
      curvature_.push_back(2.0 * square);
    }
  }

  // Multiplies all costs; `restart` is to follow.
  void scale_costs(double by) {
    columns.scale(std::sqrt(by));
    for (double& value : target_) value *= std::sqrt(by);
    for (double& value : curvature_) value *= by;
  }

  // Recomputes the residuals, and forgets the dual point.
  MAXMARGIN_INLINE void restart() {
    residual = target_;
    for (Size j = 0; j < count(); ++j)
      if (w[j] != 0.0) columns.add(j, -w[j], residual.data());
    dual = 0.0;
    std::fill(dual_residual.begin(), dual_residual.end(), 0.0);
    check();
  }

  // Epochs until the gap of the working set is at most `target`.
  void descend(Size max_epochs, double target, Poll& poll) {
    for (Size done = 0; done < max_epochs && primal - dual > target;) {
      for (int cycle = 0; cycle < kCycles; ++cycle) {
        keep(0);
        for (int k = 1; k <= kHistory; ++k) {
          MAXMARGIN_CLONED(epoch(poll));
          keep(k);
        }
        done += kHistory;
        epochs += kHistory;
        MAXMARGIN_CLONED(extrapolate());
      }
      MAXMARGIN_CLONED(check());
    }
  }

  // A Newton step: by the Gram matrix of the columns not shrunk if that takes about as long as
  // so many conjugate gradients on the support, else by these.
  void newton(double precision, int max_iterations, Poll& poll) {
    L1Newton on_support(columns, w, penalty, residual);
    const Size gram = static_cast<Size>(active_.size()) * stored(active_);
    if (gram <= kGramTime * max_iterations * stored(on_support.support)) {
      L1GramNewton step(columns, w, penalty, residual, active_);
      step.solve(precision, poll);
      take(step, false);
    } else {
      on_support.solve(precision, max_iterations, poll);
      take(on_support, true);
    }
  }

  // Evaluates the dual point of these residuals, and keeps it if it is the best.
  MAXMARGIN_INLINE void consider(const std::vector<double>& r, std::vector<double>* products) {
    std::vector<double> rest(r);
    balance(rest);
    double linear = 0.0, square = 0.0, largest = 0.0;
    for (Size i = 0; i < n_rows(); ++i) {
      rest[i] = 2.0 * std::max(0.0, rest[i]);
      linear += target_[i] * rest[i];
      square += 0.25 * rest[i] * rest[i];
    }
    for (Size j = 0; j < count(); ++j) {
      const double c = columns.dot(j, rest.data());
      if (products) (*products)[j] = c;
      if (penalty[j] > 0.0) largest = std::max(largest, std::fabs(c));
    }
    if (!(square > 0.0)) return;
    const double scale = std::min(1.0 / std::max(largest, 1e-300), 0.5 * linear / square);
    const double value = scale * (linear - scale * square);
    if (value <= dual) return;
    dual = value;
    dual_residual = r;
  }

  double objective(const std::vector<double>& at, const std::vector<double>& r) const {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (Size i = 0; i < n_rows(); ++i) sum += r[i] > 0.0 ? r[i] * r[i] : 0.0;
    for (Size j = 0; j < count(); ++j) sum += penalty[j] * std::fabs(at[j]);
    return sum;
  }

  Size count() const { return static_cast<Size>(w.size()); }
  Size n_rows() const { return columns.n_rows(); }

  // Primal and dual of the working set; sets aside the columns that seem to stay at 0.
  MAXMARGIN_INLINE void check() {
    std::vector<double> products(count());
    consider(residual, &products);
    primal = objective(w, residual);
    double excess = 0.0;
    for (Size j = 0; j < count(); ++j)
      if (penalty[j] > 0.0) excess = std::max(excess, std::fabs(products[j]) - 1.0);
    const double least = 1.0 - std::clamp(excess, kLeastSlack, 1.0);
    active_.clear();
    for (Size j = 0; j < count(); ++j)
      if (w[j] != 0.0 || penalty[j] == 0.0 || std::fabs(products[j]) >= least) active_.push_back(j);
  }

 private:
  static constexpr int kHistory = 5, kCycles = 2;
  static constexpr double kLeastSlack = 0.1, kDescent = 0.01;
  static constexpr Size kPollValues = 1 << 20;
  static constexpr Size kGramTime = 16;

  static std::vector<double> factors(const double* y, const double* cost, Size n) {
    std::vector<double> factor(n);
    for (Size i = 0; i < n; ++i) factor[i] = y[i] * std::sqrt(cost[i]);
    return factor;
  }

  MAXMARGIN_INLINE void epoch(Poll& poll) {
    Size read = 0;
    for (const Size j : active_) {
      step(j);
      read += columns.stored(j);
      if (read < kPollValues) continue;
      read = 0;
      poll();
    }
  }

  // A Newton step in w_j, shorter if it would not descend.
  MAXMARGIN_INLINE void step(Size j) {
    double slope = 0.0, active = 0.0;
    const double* r = residual.data();
    columns.with(j, [&](const auto column) MAXMARGIN_INLINED {
      double sum = 0.0, square = 0.0;
#pragma omp simd reduction(+ : sum, square)
      for (Size k = 0; k < column.count; ++k) {
        const double value = column.values[k], rest = r[column.row(k)];
        const double on = rest > 0.0 ? value : 0.0;
        sum += on * rest;
        square += on * on;
      }
      slope = -2.0 * sum;
      active = 2.0 * square;
    });
    const double p = penalty[j], curvature = std::max(active, 1e-12 * curvature_[j]);
    if (!(curvature > 0.0)) {
      w[j] = p > 0.0 ? 0.0 : w[j];
      return;
    }
    double d = -w[j];
    if (slope + p <= curvature * w[j])
      d = -(slope + p) / curvature;
    else if (slope - p >= curvature * w[j])
      d = -(slope - p) / curvature;
    if (d == 0.0) return;
    for (int halvings = 0; halvings < 30; ++halvings, d *= 0.5) {
      const double change = p * (std::fabs(w[j] + d) - std::fabs(w[j]));
      const double enough = kDescent * (slope * d + change);
      const double bound = slope * d + 0.5 * curvature_[j] * d * d + change;
      if (bound <= enough || loss_change(j, d) + change <= enough) {
        w[j] += d;
        columns.add(j, -d, residual.data());
        return;
      }
    }
  }

  MAXMARGIN_INLINE double loss_change(Size j, double d) const {
    const double* r = residual.data();
    return columns.with(j, [&](const auto column) MAXMARGIN_INLINED {
      double sum = 0.0;
      for (Size k = 0; k < column.count; ++k) {
        const double before = std::max(0.0, r[column.row(k)]);
        const double after = std::max(0.0, r[column.row(k)] - d * column.values[k]);
        sum += (after - before) * (after + before);
      }
      return sum;
    });
  }

  Size stored(const std::vector<Size>& chosen) const {
    Size sum = 0;
    for (const Size j : chosen) sum += columns.stored(j);
    return sum;
  }

  // Takes the step, shortened until it descends, and considers its dual point.
  template <class Step>
  void take(const Step& step, bool keep_signs) {
    std::vector<double> model(residual.size(), 0.0);
    for (Size i = 0; i < n_rows(); ++i)
      if (residual[i] > 0.0) model[i] = residual[i] - step.move[i];
    MAXMARGIN_CLONED(consider(model, nullptr));
    double length = 1.0;
    for (int halvings = 0; halvings < 6; ++halvings, length *= 0.5)
      if (MAXMARGIN_CLONED(descends(step, length, keep_signs))) break;
    MAXMARGIN_CLONED(check());
  }

  // Goes along the direction if the objective falls; a weight that may not change its sign becomes
  // 0 instead.
  template <class Step>
  MAXMARGIN_INLINE bool descends(const Step& step, double length, bool keep_signs) {
    std::vector<double> at(w), r(residual);
    for (Size i = 0; i < n_rows(); ++i) r[i] -= length * step.move[i];
    for (std::size_t k = 0; k < step.support.size(); ++k) {
      const Size j = step.support[k];
      at[j] += length * step.direction[k];
      if (!keep_signs || penalty[j] == 0.0 || at[j] * w[j] > 0.0) continue;
      columns.add(j, at[j], r.data());
      at[j] = 0.0;
    }
    if (objective(at, r) >= objective(w, residual)) return false;
    w.swap(at);
    residual.swap(r);
    return true;
  }

  void keep(int k) {
    w_history_[k] = w;
    r_history_[k] = residual;
  }

  // The affine combination of the last iterates whose step is shortest, if the objective falls.
  MAXMARGIN_INLINE void extrapolate() {
    std::array<double, kHistory> mix{};
    if (!shortest_step(mix)) return;
    std::vector<double> at(w.size(), 0.0), r(residual.size(), 0.0);
    for (int k = 0; k < kHistory; ++k) {
      for (std::size_t j = 0; j < at.size(); ++j) at[j] += mix[k] * w_history_[k + 1][j];
      for (std::size_t i = 0; i < r.size(); ++i) r[i] += mix[k] * r_history_[k + 1][i];
    }
    if (objective(at, r) >= objective(w, residual)) return;
    w.swap(at);
    residual.swap(r);
  }

  // Weights c summing to 1 with the least |sum_k c_k (w_{k+1} - w_k)|, by Gaussian elimination.
  MAXMARGIN_INLINE bool shortest_step(std::array<double, kHistory>& mix) const {
    double gram[kHistory][kHistory + 1];
    double trace = 0.0;
    for (int a = 0; a < kHistory; ++a)
      for (int b = 0; b <= a; ++b) {
        double sum = 0.0;
        for (const Size j : active_)
          sum +=
              (w_history_[a + 1][j] - w_history_[a][j]) * (w_history_[b + 1][j] - w_history_[b][j]);
        gram[a][b] = gram[b][a] = sum;
        if (a == b) trace += sum;
      }
    if (!(trace > 0.0)) return false;
    for (int a = 0; a < kHistory; ++a) {
      gram[a][a] += 1e-12 * trace;
      gram[a][kHistory] = 1.0;
    }
    for (int a = 0; a < kHistory; ++a)
      for (int b = 0; b < kHistory; ++b) {
        if (b == a) continue;
        const double factor = gram[b][a] / gram[a][a];
        for (int k = a; k <= kHistory; ++k) gram[b][k] -= factor * gram[a][k];
      }
    double total = 0.0;
    for (int a = 0; a < kHistory; ++a) total += mix[a] = gram[a][kHistory] / gram[a][a];
    if (!std::isfinite(total) || total == 0.0) return false;
    for (double& part : mix) part /= total;
    return true;
  }

  // Moves residuals along the labels until their dual point is balanced, if the intercept is free:
  // Newton's method for the best constant, whose derivative is monotone and piecewise linear.
  MAXMARGIN_INLINE void balance(std::vector<double>& r) const {
    for (Size j = 0; j < count(); ++j) {
      if (penalty[j] > 0.0) continue;
      for (int round = 0; round < 50; ++round) {
        double sum = 0.0, square = 0.0;
        columns.with(j, [&](const auto column) MAXMARGIN_INLINED {
          for (Size k = 0; k < column.count; ++k) {
            const double rest = r[column.row(k)];
            if (rest <= 0.0) continue;
            sum += rest * column.values[k];
            square += column.values[k] * column.values[k];
          }
        });
        if (!(square > 0.0) || std::fabs(sum) <= 1e-15 * curvature_[j]) break;
        columns.add(j, -sum / square, r.data());
      }
    }
  }

  std::vector<double> target_, curvature_;
  std::vector<Size> active_;
  std::array<std::vector<double>, kHistory + 1> w_history_, r_history_;
};

}  // namespace maxmargin
