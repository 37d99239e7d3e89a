// A proximal Newton step on some columns of an l1-regularised problem, by their Gram matrix.
//
// With the rows of positive residual as they are, the loss is quadratic. Coordinate descent on the
// Gram matrix of those rows, and conjugate gradients once the signs are known, find the minimum
// w + d of that and the penalty. There no column exceeds its bound, whatever signs change: the dual
// point of the residuals r - X d errs by rows alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/deadline.hpp"
#include "linear/l1_columns.hpp"

namespace maxmargin {

class L1GramNewton {
 public:
  L1GramNewton(const PackedColumns& columns, const std::vector<double>& w,
               const std::vector<double>& penalty, const std::vector<double>& residual,
               std::vector<Size> chosen)
      : support(std::move(chosen)),
        direction(support.size(), 0.0),
        move(residual.size(), 0.0),
        columns_(columns),
        w_(w),
        penalty_(penalty),
        residual_(residual) {}

  // Until no optimality condition is violated by more than `precision`, or for so many rounds.
  void solve(double precision, Poll& poll) {
    form(poll);
    for (int round = 0; round < kRounds; ++round) {
      poll();
      double worst = 0.0;
      for (int k = 0; k < kSweeps; ++k)
        if ((worst = MAXMARGIN_CLONED(sweep())) <= precision) break;
      if (worst <= precision) break;
      MAXMARGIN_CLONED(descend_with_signs(precision));
    }
    for (Size k = 0; k < size(); ++k) columns_.add(support[k], direction[k], move.data());
  }

  std::vector<Size> support;
  std::vector<double> direction;  // d, of these columns
  std::vector<double> move;       // X d

 private:
  static constexpr int kRounds = 30, kSweeps = 8, kGradients = 64;
  static constexpr double kFlat = 1e-14;  // share of the diagonal's curvature that is rounding

  Size size() const { return static_cast<Size>(support.size()); }
  double* row(Size k) { return hessian_.data() + k * size(); }

  // The gradient and the Hessian of the loss at w.
  void form(Poll& poll) {
    slope_.resize(support.size());
    hessian_.resize(support.size() * support.size());
    std::vector<double> column(residual_.size(), 0.0);
    for (Size k = 0; k < size(); ++k) {
      poll();
      MAXMARGIN_CLONED(form(k, column));
    }
  }

  MAXMARGIN_INLINE void form(Size k, std::vector<double>& column) {
    double slope = 0.0;
    columns_.with(support[k], [&](const auto packed) MAXMARGIN_INLINED {
      for (Size at = 0; at < packed.count; ++at) {
        const double rest = residual_[packed.row(at)];
        column[packed.row(at)] = rest > 0.0 ? packed.values[at] : 0.0;
        slope += column[packed.row(at)] * rest;
      }
    });
    slope_[k] = -2.0 * slope;
    for (Size other = 0; other <= k; ++other)
      row(k)[other] = row(other)[k] = 2.0 * columns_.dot(support[other], column.data());
    columns_.with(support[k], [&](const auto packed) MAXMARGIN_INLINED {
      for (Size at = 0; at < packed.count; ++at) column[packed.row(at)] = 0.0;
    });
  }

  // Returns the largest violation met.
  MAXMARGIN_INLINE double sweep() {
    double worst = 0.0;
    for (Size k = 0; k < size(); ++k) {
      const double p = penalty_[support[k]], slope = slope_[k], curvature = row(k)[k];
      if (!(curvature > 0.0)) {
        direction[k] = p > 0.0 ? -w_[support[k]] : 0.0;
        continue;
      }
      const double at = w_[support[k]] + direction[k], free = curvature * at - slope;
      const double change =
          std::copysign(std::max(0.0, std::fabs(free) - p), free) / curvature - at;
      if (change == 0.0) continue;
      worst = std::max(worst, curvature * std::fabs(change));
      direction[k] += change;
      const double* column = row(k);
#pragma omp simd
      for (Size other = 0; other < size(); ++other) slope_[other] += change * column[other];
    }
    return worst;
  }

  // Conjugate gradients for the minimum at which w + d keeps its signs and its zeros, and the way
  // there up to the first change of a sign.
  MAXMARGIN_INLINE void descend_with_signs(double precision) {
    std::vector<double> rest(support.size(), 0.0), step(rest), along(rest), product(rest);
    for (Size k = 0; k < size(); ++k) {
      const double at = w_[support[k]] + direction[k], p = penalty_[support[k]];
      if (moves(k)) rest[k] = -slope_[k] - std::copysign(p, at);
    }
    double last = 0.0;
    for (int done = 0; done < kGradients; ++done) {
      double now = 0.0, largest = 0.0, curvature = 0.0, diagonal = 0.0;
      for (Size k = 0; k < size(); ++k) {
        if (moves(k)) now += rest[k] * rest[k] / row(k)[k];
        largest = std::max(largest, std::fabs(rest[k]));
      }
      if (largest <= 0.1 * precision) break;
      for (Size k = 0; k < size(); ++k)
        if (moves(k)) along[k] = rest[k] / row(k)[k] + (last > 0.0 ? now / last * along[k] : 0.0);
      last = now;
      multiply(along, product);
      for (Size k = 0; k < size(); ++k) {
        curvature += along[k] * product[k];
        diagonal += along[k] * along[k] * row(k)[k];
      }
      if (!(curvature > kFlat * diagonal)) break;
      for (Size k = 0; k < size(); ++k) {
        step[k] += now / curvature * along[k];
        if (moves(k)) rest[k] -= now / curvature * product[k];
      }
    }
    go_along(step);
  }

  bool moves(Size k) const {
    const bool zero = w_[support[k]] + direction[k] == 0.0 && penalty_[support[k]] > 0.0;
    return !zero && hessian_[k * size() + k] > 0.0;
  }

  MAXMARGIN_INLINE void multiply(const std::vector<double>& v, std::vector<double>& product) {
    std::fill(product.begin(), product.end(), 0.0);
    for (Size k = 0; k < size(); ++k) {
      const double* column = row(k);
      if (v[k] == 0.0) continue;
#pragma omp simd
      for (Size other = 0; other < size(); ++other) product[other] += v[k] * column[other];
    }
  }

  // w + d + step, or as far as the first change of a sign, where that weight becomes 0.
  MAXMARGIN_INLINE void go_along(const std::vector<double>& step) {
    double length = 1.0;
    Size first = -1;
    for (Size k = 0; k < size(); ++k) {
      const double at = w_[support[k]] + direction[k];
      if (penalty_[support[k]] == 0.0 || at * step[k] >= 0.0 || -at / step[k] >= length) continue;
      length = -at / step[k];
      first = k;
    }
    std::vector<double> product(support.size());
    multiply(step, product);
    for (Size k = 0; k < size(); ++k) {
      direction[k] += length * step[k];
      slope_[k] += length * product[k];
    }
    if (first >= 0) direction[first] = -w_[support[first]];
  }

  const PackedColumns& columns_;
  const std::vector<double>&w_, &penalty_, &residual_;
  std::vector<double> slope_, hessian_;
};

}  // namespace maxmargin
