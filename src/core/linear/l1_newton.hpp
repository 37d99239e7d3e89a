// A Newton step on the support of an l1-regularised problem, and the dual point that belongs to it.
//
// With the signs of w and the rows of positive residual as they are, the objective is quadratic.
// Conjugate gradients with a diagonal preconditioner find its minimum w + d. Its residuals
// r - X d, on those rows, are a dual point in which every column of the support is at its bound up
// to the error of the solve, even where w + d changes a sign: far better than r itself.
#pragma once

#include <cmath>
#include <vector>

#include "common/deadline.hpp"
#include "linear/l1_columns.hpp"

namespace maxmargin {

class L1Newton {
 public:
  L1Newton(const PackedColumns& columns, const std::vector<double>& w,
           const std::vector<double>& penalty, const std::vector<double>& residual)
      : columns_(columns), residual_(residual), move(residual.size(), 0.0) {
    for (Size j = 0; j < static_cast<Size>(w.size()); ++j)
      if (w[j] != 0.0 || penalty[j] == 0.0) support.push_back(j);
    const std::size_t size = support.size();
    direction.assign(size, 0.0);
    slope_.resize(size);
    inverse_.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      const Size j = support[k];
      slope_[k] = std::copysign(penalty[j], w[j]);
    }
  }

  // Iterates until no entry of the gradient exceeds `precision`; false if it ends before.
  bool solve(double precision, int max_iterations, Poll& poll) {
    MAXMARGIN_CLONED(begin());
    for (int k = 0; k < max_iterations; ++k) {
      poll();
      if (largest() <= precision) return true;
      if (!MAXMARGIN_CLONED(iterate())) return false;
    }
    return false;
  }

 private:
  const PackedColumns& columns_;
  const std::vector<double>& residual_;

 public:
  std::vector<Size> support;
  std::vector<double> direction;  // d, of the support
  std::vector<double> move;       // X d

 private:
  // The gradient at w, and the diagonal of the Hessian.
  MAXMARGIN_INLINE void begin() {
    const double* r = residual_.data();
    for (std::size_t k = 0; k < support.size(); ++k) {
      double sum = 0.0, square = 0.0;
      columns_.with(support[k], [&](const auto column) MAXMARGIN_INLINED {
        double a = 0.0, b = 0.0;
#pragma omp simd reduction(+ : a, b)
        for (Size i = 0; i < column.count; ++i) {
          const double rest = r[column.row(i)], on = rest > 0.0 ? column.values[i] : 0.0;
          a += on * rest;
          b += on * on;
        }
        sum = a;
        square = b;
      });
      slope_[k] -= 2.0 * sum;
      inverse_[k] = square > 0.0 ? 0.5 / square : 0.0;
    }
    conjugate_.assign(support.size(), 0.0);
    moved_.resize(residual_.size());
    last_ = 0.0;
  }

  double largest() const {
    double most = 0.0;
    for (const double slope : slope_) most = std::max(most, std::fabs(slope));
    return most;
  }

  MAXMARGIN_INLINE bool iterate() {
    double size = 0.0;
    for (std::size_t k = 0; k < support.size(); ++k) size += inverse_[k] * slope_[k] * slope_[k];
    const double keep = last_ > 0.0 ? size / last_ : 0.0;
    last_ = size;
    std::fill(moved_.begin(), moved_.end(), 0.0);
    for (std::size_t k = 0; k < support.size(); ++k) {
      conjugate_[k] = keep * conjugate_[k] - inverse_[k] * slope_[k];
      columns_.add(support[k], conjugate_[k], moved_.data());
    }
    double curvature = 0.0;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const double on = residual_[i] > 0.0 ? moved_[i] : 0.0;
      curvature += on * on;
    }
    if (!(curvature > 0.0) || !(size > 0.0)) return false;
    const double length = 0.5 * size / curvature;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      move[i] += length * moved_[i];
      moved_[i] = residual_[i] > 0.0 ? moved_[i] : 0.0;
    }
    for (std::size_t k = 0; k < support.size(); ++k) {
      direction[k] += length * conjugate_[k];
      slope_[k] += 2.0 * length * columns_.dot(support[k], moved_.data());
    }
    return true;
  }

  std::vector<double> slope_, inverse_, conjugate_, moved_;
  double last_ = 0.0;
};

}  // namespace maxmargin
