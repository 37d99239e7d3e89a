// Newton steps in the free variables of a small SVM, whose kernel matrix is at hand in double.
//
// A singular matrix, as that of a linear kernel with few columns, has changes that leave K beta as
// it is. Along them the dual value is linear, so that each such step ends at a bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/types.hpp"
#include "linalg/pivoted_cholesky.hpp"

namespace maxmargin {

// The arrays are the caller's.
struct DenseProblem {
  Size n;
  int n_groups;
  const double* kernel;  // n x n
  const double* target;  // n
  const double* lower;   // n_groups x n, as the upper ones
  const double* upper;
  double epsilon;
  bool balanced;           // sums per group are kept: pairs; else single coordinates
  double elsewhere = 0.0;  // the objective of variables that stay as they are

  const double* row(Size k) const { return kernel + k * n; }

  // sums += factor times row k.
  MAXMARGIN_INLINE void add_row(double factor, Size k, double* __restrict sums) const {
    const double* __restrict values = row(k);
#pragma omp simd
    for (Size i = 0; i < n; ++i) sums[i] += factor * values[i];
  }
};

// How far a step went: not at all, to the first bound on its way, or all of it.
enum class Reach { kNone, kBound, kFull };

// The system in the variables that are free at a point.
class FreeVariables {
 public:
  explicit FreeVariables(const DenseProblem& problem) : problem_(problem) {}

  // The free variables: not 0, and inside their box.
  void find(const std::vector<double>& beta) {
    free_.clear();
    begins_.clear();
    for (int g = 0; g < problem_.n_groups; ++g) {
      begins_.push_back(static_cast<Size>(free_.size()));
      for (Size k = 0, v = g * problem_.n; k < problem_.n; ++k, ++v)
        if (beta[v] != 0.0 && beta[v] > problem_.lower[v] && beta[v] < problem_.upper[v])
          free_.push_back({v, k});
    }
    begins_.push_back(static_cast<Size>(free_.size()));
  }

  // Multiplications, or what takes as long, of a step: the system and its factors, of the last
  // rank.
  double work() const {
    const double m = static_cast<double>(free_.size()), rank = std::min(m, rank_);
    return m * (rank * rank / 3.0 + 8.0 * m);
  }

  // One step: Newton's, or in a flat direction if that gains more, and more than `least_gain`. With
  // the pieces of the losses as they are, the change d and the thresholds t of the groups satisfy
  // K_FF d + t = residual -+ epsilon, and d sums to 0 in each group; projected to such d, it is a
  // system without t.
  Reach step(std::vector<double>& beta, std::vector<double>& residual, double least_gain) {
    const Size m = static_cast<Size>(free_.size());
    if (m == 0) return Reach::kNone;
    MAXMARGIN_CLONED(make_system());
    for (auto* values : {&right_, &change_, &left_, &product_}) values->resize(m);
    for (Size a = 0; a < m; ++a) {
      const auto [v, k] = free_[a];
      right_[a] = residual[k] - std::copysign(problem_.epsilon, beta[v]);
    }
    centre(right_.data());
    MAXMARGIN_CLONED(factor_.factor(system_.data(), m));
    rank_ = static_cast<double>(factor_.pivots().size());
    const double share = find_newton_change(beta);
    const double gained = share > 0.0 ? gain(share) : 0.0;
    if (find_flat_change()) {
      const double flat = std::min(longest(beta), best_share());
      if (gain(flat) > std::max(gained, least_gain)) {
        move(flat, beta, residual);
        return Reach::kBound;
      }
    }
    if (!(gained > 0.0)) return Reach::kNone;
    find_newton_change(beta);
    move(share, beta, residual);
    return share == 1.0 ? Reach::kFull : Reach::kBound;
  }

 private:
  struct Free {
    Size variable, sample;
  };
  static constexpr double kConstant = 1e-8;  // share of a change that is constant in each group

  // Subtracts each group's mean from m values.
  MAXMARGIN_INLINE void centre(double* values) const {
    if (!problem_.balanced) return;
    for (int g = 0; g < problem_.n_groups; ++g) {
      const Size from = begins_[g], to = begins_[g + 1];
      double sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (Size a = from; a < to; ++a) sum += values[a];
      const double mean = sum / static_cast<double>(std::max<Size>(1, to - from));
#pragma omp simd
      for (Size a = from; a < to; ++a) values[a] -= mean;
    }
  }

  // K_FF, centred in rows and columns. It is symmetric: the columns are centred by its transpose.
  MAXMARGIN_INLINE void make_system() {
    const Size m = static_cast<Size>(free_.size());
    system_.resize(static_cast<std::size_t>(m * m));
    for (Size a = 0; a < m; ++a) {
      const double* values = problem_.row(free_[a].sample);
      double* own = system_.data() + a * m;
      for (Size b = 0; b < m; ++b) own[b] = values[free_[b].sample];
      centre(own);
    }
    if (!problem_.balanced) return;
    for (Size a = 0; a < m; ++a)
      for (Size b = 0; b < a; ++b) std::swap(system_[a * m + b], system_[b * m + a]);
    for (Size a = 0; a < m; ++a) centre(system_.data() + a * m);
  }

  // The solution of the system, and the share of it that stays in the box.
  double find_newton_change(const std::vector<double>& beta) {
    factor_.solve(right_.data(), change_.data());
    centre(change_.data());
    return std::min(1.0, longest(beta));
  }

  // Replaces the solution of the system by a change that the matrix maps to 0: along what the
  // solution leaves of the right side. False if that is nothing but rounding, or there is none.
  bool find_flat_change() {
    const Size m = static_cast<Size>(free_.size()), rank = factor_.pivots().size();
    if (m - rank <= (problem_.balanced ? problem_.n_groups : 0)) return false;
    MAXMARGIN_CLONED(multiply(change_.data()));
    for (Size a = 0; a < m; ++a) left_[a] = right_[a] - product_[a];
    for (const Size a : factor_.pivots()) left_[a] = 0.0;
    MAXMARGIN_CLONED(multiply(left_.data()));
    factor_.solve(product_.data(), change_.data());
    for (Size a = 0; a < m; ++a) change_[a] = left_[a] - change_[a];
    const double before = size_of_change();
    centre(change_.data());
    return size_of_change() > kConstant * before;
  }

  // The system times these values.
  MAXMARGIN_INLINE void multiply(const double* __restrict values) {
    const Size m = static_cast<Size>(free_.size());
    for (Size a = 0; a < m; ++a) {
      const double* own = system_.data() + a * m;
      double sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (Size b = 0; b < m; ++b) sum += own[b] * values[b];
      product_[a] = sum;
    }
  }

  double size_of_change() const {
    double size = 0.0;
    for (const double value : change_) size = std::max(size, std::fabs(value));
    return size;
  }

  // The largest share of the change that stays in the box.
  double longest(const std::vector<double>& beta) const {
    double share = std::numeric_limits<double>::infinity();
    for (Size a = 0; a < static_cast<Size>(free_.size()); ++a)
      share = std::min(share, room(a, beta) / std::fabs(change_[a]));
    return share;
  }

  void move(double share, std::vector<double>& beta, std::vector<double>& residual) const {
    for (Size a = 0; a < static_cast<Size>(free_.size()); ++a) {
      const auto [v, k] = free_[a];
      const double end = change_[a] > 0.0 ? high(v, beta) : low(v, beta);
      const bool reached = share * std::fabs(change_[a]) >= room(a, beta);
      const double before = beta[v];
      beta[v] = reached ? end : before + share * change_[a];
      MAXMARGIN_CLONED(problem_.add_row(before - beta[v], k, residual.data()));
    }
  }

  // What a share of the change adds to the dual value. The difference of two values would be
  // rounding where a bound is near: the step to it is needed all the same.
  double gain(double share) {
    const auto [slope, curvature] = along_change();
    return share * (slope - 0.5 * share * curvature);
  }

  // The share of the change that adds most.
  double best_share() {
    const auto [slope, curvature] = along_change();
    return slope > 0.0 && curvature > 0.0 ? slope / curvature
                                          : std::numeric_limits<double>::infinity();
  }

  // Slope and curvature of the dual value along the change.
  std::pair<double, double> along_change() {
    MAXMARGIN_CLONED(multiply(change_.data()));
    double slope = 0.0, curvature = 0.0;
    for (Size a = 0; a < static_cast<Size>(free_.size()); ++a) {
      slope += right_[a] * change_[a];
      curvature += product_[a] * change_[a];
    }
    return {slope, curvature};
  }

  // The piece of the loss that a free variable is on ends at 0 and at a bound.
  double low(Size v, const std::vector<double>& beta) const {
    return beta[v] > 0.0 ? 0.0 : problem_.lower[v];
  }
  double high(Size v, const std::vector<double>& beta) const {
    return beta[v] > 0.0 ? problem_.upper[v] : 0.0;
  }
  double room(Size a, const std::vector<double>& beta) const {
    const Size v = free_[a].variable;
    return change_[a] > 0.0 ? high(v, beta) - beta[v] : beta[v] - low(v, beta);
  }

  const DenseProblem problem_;
  std::vector<Free> free_;    // group after group
  std::vector<Size> begins_;  // of the groups, and the end
  std::vector<double> system_, right_, change_, left_, product_;
  PivotedCholesky factor_;
  double rank_ = std::numeric_limits<double>::infinity();  // of the last system
};

}  // namespace maxmargin
