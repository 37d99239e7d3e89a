// The weights of K classes, laid out for the rows they meet.
//
//   dense rows  a class after the other: a step moves few classes, each along a whole row
//   CSR rows    a feature after the other, its classes in one piece: one index serves all of them
//
// `stride` is the length of such a piece: n_features, or n_classes rounded up to whole lanes.
#pragma once

#include <algorithm>

#include "rows.hpp"

namespace maxmargin {

constexpr Size kClassLanes = 4;
typedef double ClassLanes __attribute__((vector_size(32), aligned(8)));

constexpr Size padded(Size n_classes) {
  return (n_classes + kClassLanes - 1) / kClassLanes * kClassLanes;
}

MAXMARGIN_INLINE ClassLanes lanes_at(const double* x) {
  return *reinterpret_cast<const ClassLanes*>(x);
}

MAXMARGIN_INLINE ClassLanes lanes_at(const float* x) {
  typedef float Narrow __attribute__((vector_size(16), aligned(4)));
  return __builtin_convertvector(*reinterpret_cast<const Narrow*>(x), ClassLanes);
}

template <int classes, class T>
MAXMARGIN_INLINE void score_classes(const T* x, Size n_features, const double* W, double* z) {
  ClassLanes sums[classes], more[classes];
  for (int c = 0; c < classes; ++c) sums[c] = more[c] = ClassLanes{};
  Size j = 0;
  for (; j + 2 * kClassLanes <= n_features; j += 2 * kClassLanes) {
    const ClassLanes near = lanes_at(x + j), far = lanes_at(x + j + kClassLanes);
    for (int c = 0; c < classes; ++c) {
      sums[c] += near * lanes_at(W + c * n_features + j);
      more[c] += far * lanes_at(W + c * n_features + j + kClassLanes);
    }
  }
  for (int c = 0; c < classes; ++c) {
    const ClassLanes both = sums[c] + more[c];
    double total = (both[0] + both[1]) + (both[2] + both[3]);
    for (Size k = j; k < n_features; ++k)
      total += static_cast<double>(x[k]) * W[c * n_features + k];
    z[c] = total;
  }
}

// z_j = <w_j, x_i> for every class j; z has room for `padded(n_classes)`.
template <class T>
MAXMARGIN_INLINE void scores(const DenseRows<T>& rows, Size i, const double* W, Size n_classes,
                             double* z) {
  const T* x = rows.row(i);
  const Size d = rows.n_features;
  Size j = 0;
  for (; j + 4 <= n_classes; j += 4) score_classes<4>(x, d, W + j * d, z + j);
  for (; j + 2 <= n_classes; j += 2) score_classes<2>(x, d, W + j * d, z + j);
  if (j < n_classes) score_classes<1>(x, d, W + j * d, z + j);
}

template <int vectors, class T, class Index>
MAXMARGIN_INLINE void score_lanes(const CsrRows<T, Index>& rows, Size i, const double* W,
                                  Size stride, double* z) {
  ClassLanes sums[vectors];
  for (int v = 0; v < vectors; ++v) sums[v] = ClassLanes{};
  for (Size k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
    const double value = static_cast<double>(rows.values[k]);
    const ClassLanes* w = reinterpret_cast<const ClassLanes*>(W + rows.columns[k] * stride);
    for (int v = 0; v < vectors; ++v) sums[v] += value * w[v];
  }
  for (int v = 0; v < vectors; ++v) reinterpret_cast<ClassLanes*>(z)[v] = sums[v];
}

template <class T, class Index>
MAXMARGIN_INLINE void scores(const CsrRows<T, Index>& rows, Size i, const double* W, Size n_classes,
                             double* z) {
  constexpr Size kMost = 6;  // vectors: as many sums as stay in registers
  const Size stride = padded(n_classes);
  Size left = stride / kClassLanes;
  for (; left > kMost; left -= kMost, W += kMost * kClassLanes, z += kMost * kClassLanes)
    score_lanes<kMost>(rows, i, W, stride, z);
  switch (left) {
    case 1:
      return score_lanes<1>(rows, i, W, stride, z);
    case 2:
      return score_lanes<2>(rows, i, W, stride, z);
    case 3:
      return score_lanes<3>(rows, i, W, stride, z);
    case 4:
      return score_lanes<4>(rows, i, W, stride, z);
    case 5:
      return score_lanes<5>(rows, i, W, stride, z);
    default:
      return score_lanes<6>(rows, i, W, stride, z);
  }
}

// w_j += amount_j x_i for every class j; amounts are padded with 0, `busy` is room for a list.
template <class T>
MAXMARGIN_INLINE void add_to_classes(const DenseRows<T>& rows, Size i, const double* amounts,
                                     Size n_classes, int*, double* W) {
  for (Size j = 0; j < n_classes; ++j)
    if (amounts[j] != 0.0) rows.add_scaled(i, amounts[j], W + j * rows.n_features);
}

// Vectors of classes without a change are left alone: most steps move two or three classes.
template <class T, class Index>
MAXMARGIN_INLINE void add_to_classes(const CsrRows<T, Index>& rows, Size i, const double* amounts,
                                     Size n_classes, int* busy, double* W) {
  const Size stride = padded(n_classes);
  Size count = 0;
  for (Size j = 0; j < stride; j += kClassLanes) {
    busy[count] = static_cast<int>(j);
    count += (amounts[j] != 0.0) | (amounts[j + 1] != 0.0) | (amounts[j + 2] != 0.0) |
             (amounts[j + 3] != 0.0);
  }
  for (Size k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
    const double value = static_cast<double>(rows.values[k]);
    double* w = W + rows.columns[k] * stride;
    for (Size c = 0; c < count; ++c) {
      ClassLanes* lanes = reinterpret_cast<ClassLanes*>(w + busy[c]);
      *lanes += value * lanes_at(amounts + busy[c]);
    }
  }
}

// Calls for the weights that row i is about to meet.
template <class T>
MAXMARGIN_INLINE void prefetch_weights(const DenseRows<T>&, Size, const double*, Size) {}

template <class T, class Index>
MAXMARGIN_INLINE void prefetch_weights(const CsrRows<T, Index>& rows, Size i, const double* W,
                                       Size n_classes) {
  constexpr Size kLine = 64 / sizeof(double), kMost = 4 * kLine;  // then the hardware follows
  const Size stride = padded(n_classes), end = std::min(stride, kMost);
  for (Size k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
    const double* w = W + rows.columns[k] * stride;
    for (Size j = 0; j < end; j += kLine) MAXMARGIN_PREFETCH(w + j);
  }
}

// out[i][j] = <w_j, x_i> for begin <= i < end; the rows of out have `padded(n_classes)` entries.
template <class Rows>
MAXMARGIN_CLONES void predict_classes(const Rows& rows, const double* W, Size n_classes, Size begin,
                                      Size end, double* out) {
  for (Size i = begin; i < end; ++i) scores(rows, i, W, n_classes, out + i * padded(n_classes));
}

}  // namespace maxmargin
