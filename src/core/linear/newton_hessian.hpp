// The Hessian of a Newton step, I + sum over the rows in a sloped piece of x_i x_i' / stiffness_i,
// and its Cholesky factor.
//
// Only its Gram matrix is kept from step to step: the weights of the sum are cost_i times one
// number that changes with the softness, so that rows which enter or leave are all that changes in
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/deadline.hpp"
#include "linalg/gram_columns.hpp"
#include "linear/newton_pass.hpp"

namespace maxmargin {

inline double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (std::size_t j = 0; j < a.size(); ++j) total += a[j] * b[j];
  return total;
}

inline double norm(const std::vector<double>& a) {
  return std::sqrt(inner(a, a));
}

// a + scale * b.
inline std::vector<double> shifted(std::vector<double> a, double scale,
                                   const std::vector<double>& b) {
  for (std::size_t j = 0; j < a.size(); ++j) a[j] += scale * b[j];
  return a;
}

// Of the rows of one problem; they, their costs and the intercept are the caller's.
template <class Rows>
class NewtonHessian {
 public:
  NewtonHessian(const Rows& rows, const double* cost, const Blas& blas)
      : rows_(rows), cost_(cost), blas_(blas), dim_(static_cast<int>(rows.n_features) + 1) {}

  // The upper triangle of the sum over the sloped rows, by cost.
  const GramMatrix& gram() const { return gram_; }

  // Brings the Gram matrix to the sloped rows.
  void refresh(const Bias& bias, const NewtonSums& sums, std::vector<std::uint8_t>& flags,
               Poll& poll) {
    if (gram_.empty()) {
      gram_.resize(dim_, poll);
      if constexpr (Rows::kSparse)
        if (dim_ > BitBatch::kWidest && sums.n_sloped > 2 * dim_)
          gram_.arrange(places_of(rows_, bias, flags, kSloped));
    }
    if (sums.n_leaving > sums.n_sloped) forget(flags);  // fewer rows to add again
    try {
      newton_gram(rows_, cost_, bias, blas_, flags, gram_, poll);
    } catch (...) {   // halted, or out of memory
      forget(flags);  // rows are lost that are flagged as held
      throw;
    }
  }

  void forget(std::vector<std::uint8_t>& flags) {
    gram_.clear();
    largest_trace_ = 0.0;
    for (auto& flag : flags) flag &= kSloped;
  }

  // I + stiffness * gram, its columns where the Gram matrix has them.
  void assemble(double stiffness, std::vector<double>& hessian, Poll& poll) const {
    const std::size_t dim = static_cast<std::size_t>(dim_);
    hessian.reserve(dim * dim);
    for (std::size_t j = 0; j < dim; ++j) {
      if (j % kColumnsPerPoll == 0) poll();
      if (hessian.size() < dim * dim) hessian.resize((j + 1) * dim);
      const double* column = gram_.column(static_cast<int>(j));
      for (std::size_t i = 0; i <= j; ++i) hessian[j * dim + i] = stiffness * column[i];
      hessian[j * (dim + 1)] += 1.0;
    }
  }

  // Where a Hessian is put to be factorised.
  std::vector<double>& factor() { return factor_; }

  // Whether it could be.
  bool factorised(Poll& poll) { return factorise(blas_, dim_, factor_.data(), dim_, poll); }

  // -hessian^-1 gradient, of a factor whose columns are where this matrix has them.
  std::vector<double> direction(const GramMatrix& gram, const std::vector<double>& gradient) const {
    std::vector<double> direction = gram.placed(gradient);
    solve_with_factor(direction);
    for (double& step : direction) step = -step;
    return gram.unplaced(direction);
  }

  // -hessian^-1 gradient, scaled to a unit diagonal, with the least ridge that factorises.
  std::vector<double> damped_direction(double stiffness, const std::vector<double>& gradient,
                                       Poll& poll) {
    const std::size_t dim = static_cast<std::size_t>(dim_);
    std::vector<double> scaled, scale(dim), direction = gram_.placed(gradient);
    assemble(stiffness, scaled, poll);
    for (std::size_t j = 0; j < dim; ++j) scale[j] = 1.0 / std::sqrt(scaled[j * (dim + 1)]);
    for (std::size_t j = 0; j < dim; ++j)
      for (std::size_t i = 0; i <= j; ++i) scaled[j * dim + i] *= scale[i] * scale[j];
    for (double ridge = 1e-15; ridge < 10.0; ridge *= 10.0) {
      factor_ = scaled;
      for (std::size_t j = 0; j < dim; ++j) factor_[j * (dim + 1)] = 1.0 + ridge;
      if (factorised(poll)) break;
    }
    for (std::size_t j = 0; j < dim; ++j) direction[j] *= -scale[j];
    solve_with_factor(direction);
    for (std::size_t j = 0; j < dim; ++j) direction[j] *= scale[j];
    return gram_.unplaced(direction);
  }

  // How far it may be from what it should be: rounding, also of rows that have left.
  double noise(double stiffness) {
    constexpr double kRounding = 1e-15;
    double trace = 0.0;
    for (int j = 0; j < gram_.dim(); ++j) trace += gram_.column(j)[j];
    largest_trace_ = std::max(largest_trace_, trace);
    return kRounding * (1.0 + stiffness * largest_trace_);
  }

 private:
  void solve_with_factor(std::vector<double>& v) const {
    const int one = 1;
    int info = 0;
    blas_.dpotrs("U", &dim_, &one, factor_.data(), &dim_, v.data(), &dim_, &info);
  }

  const Rows rows_;
  const double* const cost_;
  const Blas blas_;
  const int dim_;
  GramMatrix gram_;
  std::vector<double> factor_;  // of Cholesky
  double largest_trace_ = 0.0;  // of the Gram matrix, since it was 0
};

}  // namespace maxmargin
