// Averaged stochastic steps on a squared loss, to start Newton's method from.
//
// For least squares, steps of one length, averaged, do about as well as the best fit of as many
// rows, whatever the condition (Bach and Moulines, NIPS 2013), at the price of reading them once;
// other squared losses keep a bias, which Newton takes away. Each step is implicit, taken at the
// point that it leads to (Toulis and Airoldi, Annals of Statistics 2017), so that no row, however
// long, throws w far.
#pragma once

#include <vector>

#include "common/deadline.hpp"
#include "common/random.hpp"
#include "objective/losses.hpp"

namespace maxmargin {

// P at w = 0.
MAXMARGIN_INLINE double loss_at_0(const Terms& terms, Size n) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (Size i = 0; i < n; ++i) total += terms[i].value(0.0);
  return total;
}

// Mean of the curvature that a row adds along itself.
MAXMARGIN_INLINE double mean_curvature(const Terms& terms, const double* squares, double feature,
                                       Size n) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (Size i = 0; i < n; ++i) total += 2.0 * terms.cost[i] * (squares[i] + feature * feature);
  return total / static_cast<double>(n);
}

// w = scale * v, and the sum of such points.
struct Averaged {
  std::vector<double> v, sum;
  double scale = 1.0;
  Size count = 0;

  explicit Averaged(std::size_t size) : v(size), sum(size) {}

  void fold() {
    for (double& weight : v) weight *= scale;
    scale = 1.0;
  }
  void record() {
    for (std::size_t j = 0; j < v.size(); ++j) sum[j] += v[j];
    ++count;
  }
};

// Steps over the rows drawn[0], ..., drawn[count - 1]: w += step beta x, and w shrinks.
template <class Rows>
MAXMARGIN_INLINE void implicit_steps(const Rows& rows, const Terms& terms, const double* squares,
                                     double feature, double step, const std::int32_t* drawn,
                                     Size count, Averaged& point) {
  constexpr Size kAhead = 4;
  const double keep = 1.0 / (1.0 + step / static_cast<double>(rows.n_samples));
  double* const v = point.v.data();
  double& bias = point.v[rows.n_features];
  for (Size k = 0; k < count; ++k) {
    if (k + 2 * kAhead < count) rows.prefetch_offset(drawn[k + 2 * kAhead]);
    if (k + kAhead < count) rows.prefetch(drawn[k + kAhead]);
    const Size i = drawn[k];
    const Term term = terms[i];
    const double z = point.scale * (rows.dot(i, v) + feature * bias);
    const double square = squares[i] + feature * feature;
    const double beta = term.argmax(term.target - z, term.curvature + step * square);
    point.scale *= keep;
    if (beta == 0.0) continue;
    const double amount = step * beta / point.scale;
    rows.add_scaled(i, amount, v);
    bias += amount * feature;
  }
}

// The average of the later ones of the steps from 0. The bias, last, has this feature.
template <class Rows>
std::vector<double> averaged_steps(const Rows& rows, const Terms& terms, const double* squares,
                                   double feature, Random& random, Poll& poll) {
  constexpr double kLength = 0.5;  // of the step at which the typical row is fitted
  constexpr Size kBlocks = 256, kSkipped = 100;
  constexpr Size kPerFeature = 48;
  const Size n = rows.n_samples, steps = std::min(n / 2, kPerFeature * (rows.n_features + 1));
  Averaged point(static_cast<std::size_t>(rows.n_features) + 1);
  const double gradient = MAXMARGIN_CLONED(mean_curvature(terms, squares, feature, n));
  if (!(gradient * static_cast<double>(n) > kLength)) return point.v;  // w is held near 0
  std::vector<std::int32_t> drawn(static_cast<std::size_t>(steps / kBlocks + 1));
  for (Size block = 0; block < kBlocks; ++block) {
    const Size count = (block + 1) * steps / kBlocks - block * steps / kBlocks;
    if (count == 0) continue;
    poll();
    for (Size k = 0; k < count; ++k) drawn[k] = static_cast<std::int32_t>(random.below(n));
    MAXMARGIN_CLONED(implicit_steps(rows, terms, squares, feature, kLength / gradient, drawn.data(),
                                    count, point));
    point.fold();
    if (block >= kSkipped) point.record();
  }
  for (double& weight : point.sum) weight /= static_cast<double>(std::max<Size>(1, point.count));
  return point.sum;
}

}  // namespace maxmargin
