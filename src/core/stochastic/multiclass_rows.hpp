// K classes for the stochastic solvers: their one problem as a hinge on rows that face a rival.
//
//   min over W, b of  1/2 |W|^2 + sum_i C_i max(0, 1 - m_i),   m_i = z_y - max over j != y of z_j,
//   z_j = <w_j, x_i> + b_j
//
// Crammer and Singer (JMLR 2001). With r the rival, the class j != y of the largest z_j, a
// subgradient at sample i is that of the hinge with label +1 on the row x_i (e_y - e_r) of all
// weights: what its g adds to w_y it takes from w_r. What the steps ask of a row is then
//
//   <row, v> = <x_i, v_y> - <x_i, v_r>,    v += a row:  v_y += a x_i,  v_r -= a x_i,
//
// and they are those of stochastic/pegasos.hpp and stochastic/sgd.hpp. A vector v holds the weights
// as data/class_weights.hpp lays them out, and then a bias weight for each class: b_j = anchor_j +
// feature v_bias_j.
//
// `margin` chooses the rival; the row faces it until the next call for the same sample, so that all
// of a mini-batch moves by subgradients at one point.
#pragma once

#include "data/class_weights.hpp"

namespace maxmargin {

template <class Rows>
struct RivalRows {
  const Rows& rows;
  const std::int32_t* y;
  Size n_classes;
  double feature;        // 0: no intercept
  const double* anchor;  // n_classes
  std::int32_t* rivals;  // n_samples
  double* z;             // room for `padded(n_classes)`
  Size n_samples = rows.n_samples;
  Size n_weights = weights_size(rows, n_classes);
  Size n_features = n_weights + n_classes;

  // The margin of the weights scale v.
  MAXMARGIN_INLINE double margin(Size i, const double* v, double scale) const {
    const double* bias = v + n_weights;
    scores(rows, i, v, n_classes, z);
    const Size own = y[i];
    double largest = -std::numeric_limits<double>::infinity(), of_own = 0.0;
    Size rival = own == 0 ? 1 : 0;
    for (Size j = 0; j < n_classes; ++j) {
      const double value = scale * (z[j] + feature * bias[j]) + anchor[j];
      if (j == own) {
        of_own = value;
      } else if (value > largest) {
        largest = value;
        rival = j;
      }
    }
    rivals[i] = static_cast<std::int32_t>(rival);
    return of_own - largest;
  }

  MAXMARGIN_INLINE Size rival(Size i) const { return rivals[i]; }

  MAXMARGIN_INLINE double dot(Size i, const double* v) const {
    const double* bias = v + n_weights;
    return dot_pair(i, v, y[i], rivals[i]) + feature * (bias[y[i]] - bias[rivals[i]]);
  }

  MAXMARGIN_INLINE void add_scaled(Size i, double scale, double* v) const {
    double* bias = v + n_weights;
    add_to_pair(i, scale, v, y[i], rivals[i]);
    bias[y[i]] += scale * feature;
    bias[rivals[i]] -= scale * feature;
  }

  MAXMARGIN_INLINE double squared_norm(Size i) const {
    return 2.0 * (rows.squared_norm(i) + feature * feature);
  }

  MAXMARGIN_INLINE void prefetch(Size i) const { rows.prefetch(i); }
  MAXMARGIN_INLINE void prefetch_offset(Size i) const { rows.prefetch_offset(i); }
  MAXMARGIN_INLINE void prefetch_weights(Size i, const double* v) const {
    maxmargin::prefetch_weights(rows, i, v, n_classes);
  }

 private:
  MAXMARGIN_INLINE double dot_pair(Size i, const double* W, Size up, Size down) const {
    if (!by_feature(rows))
      return rows.dot(i, W + up * rows.n_features) - rows.dot(i, W + down * rows.n_features);
    const Size stride = padded(n_classes);
    const auto x = rows.entries(i);
    double total = 0.0;
    for (Size k = 0; k < x.count; ++k) {
      const double* w = W + x.column(k) * stride;
      total += x.value(k) * (w[up] - w[down]);
    }
    return total;
  }

  MAXMARGIN_INLINE void add_to_pair(Size i, double a, double* W, Size up, Size down) const {
    if (!by_feature(rows)) {
      rows.add_scaled(i, a, W + up * rows.n_features);
      rows.add_scaled(i, -a, W + down * rows.n_features);
      return;
    }
    const Size stride = padded(n_classes);
    const auto x = rows.entries(i);
    for (Size k = 0; k < x.count; ++k) {
      const double change = a * x.value(k);
      double* w = W + x.column(k) * stride;
      w[up] += change;
      w[down] -= change;
    }
  }
};

}  // namespace maxmargin
