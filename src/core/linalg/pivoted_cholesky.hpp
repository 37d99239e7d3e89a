// Symmetric positive semidefinite systems, by Cholesky's factors with complete pivoting (Higham,
// Accuracy and Stability of Numerical Algorithms, section 10.3): pivots that are 0 to rounding end
// it, and their unknowns stay 0.
#pragma once

#include <cmath>
#include <vector>

#include "common/types.hpp"

namespace maxmargin {

class PivotedCholesky {
 public:
  // A is m x m, row by row; it must outlive the factor's making only.
  MAXMARGIN_INLINE void factor(const double* A, Size m) {
    m_ = m;
    L_.resize(static_cast<std::size_t>(m * m));
    left_.resize(m);
    order_.clear();
    double largest = 0.0;
    for (Size i = 0; i < m; ++i) {
      left_[i] = A[i * m + i];
      largest = std::max(largest, left_[i]);
    }
    const double least = kRounding * static_cast<double>(m) * largest;
    for (Size j = 0; j < m; ++j) {
      Size pivot = 0;
      for (Size i = 1; i < m; ++i)
        if (left_[i] > left_[pivot]) pivot = i;
      if (!(left_[pivot] > least)) return;
      const double root = std::sqrt(left_[pivot]);
      double* row = L_.data() + pivot * m;
      for (Size i = 0; i < m; ++i) {
        if (left_[i] == kTaken) continue;
        double* other = L_.data() + i * m;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (Size k = 0; k < j; ++k) sum += other[k] * row[k];
        if (i == pivot) continue;
        other[j] = (A[i * m + pivot] - sum) / root;
        left_[i] -= other[j] * other[j];
      }
      row[j] = root;
      left_[pivot] = kTaken;
      order_.push_back(pivot);
    }
  }

  // The unknowns that have pivots, as many as the rank.
  const std::vector<Size>& pivots() const { return order_; }

  // x such that A x = right, as far as that can be.
  void solve(const double* right, double* x) const {
    const Size rank = static_cast<Size>(order_.size());
    std::fill_n(x, m_, 0.0);
    for (Size j = 0; j < rank; ++j) {
      const double* row = L_.data() + order_[j] * m_;
      double value = right[order_[j]];
      for (Size k = 0; k < j; ++k) value -= row[k] * x[order_[k]];
      x[order_[j]] = value / row[j];
    }
    for (Size j = rank; j-- > 0;) {
      const double* row = L_.data() + order_[j] * m_;
      x[order_[j]] /= row[j];
      for (Size k = 0; k < j; ++k) x[order_[k]] -= row[k] * x[order_[j]];
    }
  }

 private:
  static constexpr double kRounding = 2.3e-16, kTaken = -1e308;

  Size m_ = 0;
  std::vector<double> L_,
      left_;                 // the factor, a row for each unknown; what is left of A's diagonal
  std::vector<Size> order_;  // the pivots
};

}  // namespace maxmargin
