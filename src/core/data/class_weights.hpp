// The weights of K classes, laid out for the rows they meet.
//
//   by feature  a feature after the other, its classes in one piece: one index serves all of them,
//               and no sum runs across lanes. For CSR rows, and for dense ones of few features.
//   by class    a class after the other: a step moves few classes, each along a whole row.
//
// `stride` is the length of such a piece: n_classes rounded up to whole lanes, or n_features.
// Weights by feature may be float32: half the memory to move, and twice the lanes.
#pragma once

#include <algorithm>
#include <vector>

#include "data/rows.hpp"

namespace maxmargin {

template <class T>
constexpr Size kLanes = 32 / sizeof(T);
constexpr Size kClassLanes = kLanes<double>;

template <class T>
struct LanesOf {
  typedef T Own __attribute__((vector_size(32), aligned(sizeof(T))));
  typedef double Wide __attribute__((vector_size(kLanes<T> * 8), aligned(8)));  // in float64
};
template <class T>
using Lanes = typename LanesOf<T>::Own;
template <class T>
using WideLanes = typename LanesOf<T>::Wide;
using ClassLanes = Lanes<double>;

template <class T = double>
constexpr Size padded(Size n_classes) {
  return (n_classes + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

MAXMARGIN_INLINE ClassLanes lanes_at(const double* x) {
  return *reinterpret_cast<const ClassLanes*>(x);
}

MAXMARGIN_INLINE ClassLanes lanes_at(const float* x) {
  typedef float Narrow __attribute__((vector_size(16), aligned(4)));
  return __builtin_convertvector(*reinterpret_cast<const Narrow*>(x), ClassLanes);
}

template <class Rows>
MAXMARGIN_INLINE bool by_feature(const Rows& rows) {
  constexpr Size kFewFeatures = 64;  // measured: 16 and 36 gain, 256 loses
  return Rows::kSparse || rows.n_features <= kFewFeatures;
}

template <class T = double, class Rows>
Size weights_size(const Rows& rows, Size n_classes) {
  return rows.n_features * (by_feature(rows) ? padded<T>(n_classes) : n_classes);
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

// Two sums for each vector hide the latency of the additions.
template <int vectors, class Entries, class T>
MAXMARGIN_INLINE void score_lanes(const Entries& x, const T* W, Size stride, double* z) {
  Lanes<T> even[vectors], odd[vectors];
  for (int v = 0; v < vectors; ++v) even[v] = odd[v] = Lanes<T>{};
  const auto add = [&](Size k, Lanes<T>* sums) {
    const T value = static_cast<T>(x.value(k));
    const auto* w = reinterpret_cast<const Lanes<T>*>(W + x.column(k) * stride);
    for (int v = 0; v < vectors; ++v) sums[v] += value * w[v];
  };
  Size k = 0;
  for (; k + 2 <= x.count; k += 2) {
    add(k, even);
    add(k + 1, odd);
  }
  if (k < x.count) add(k, even);
  for (int v = 0; v < vectors; ++v)
    reinterpret_cast<WideLanes<T>*>(z)[v] = __builtin_convertvector(even[v] + odd[v], WideLanes<T>);
}

template <class Entries, class T>
MAXMARGIN_INLINE void score_features(const Entries& x, const T* W, Size stride, double* z) {
  constexpr Size kMost = 6;  // vectors: as many sums as stay in registers
  constexpr Size kPart = kMost * kLanes<T>;
  Size left = stride / kLanes<T>;
  for (; left > kMost; left -= kMost, W += kPart, z += kPart) score_lanes<kMost>(x, W, stride, z);
  switch (left) {
    case 1:
      return score_lanes<1>(x, W, stride, z);
    case 2:
      return score_lanes<2>(x, W, stride, z);
    case 3:
      return score_lanes<3>(x, W, stride, z);
    case 4:
      return score_lanes<4>(x, W, stride, z);
    case 5:
      return score_lanes<5>(x, W, stride, z);
    default:
      return score_lanes<6>(x, W, stride, z);
  }
}

// z_j = <w_j, x_i> for every class j; z has room for `padded<T>(n_classes)`.
template <class Rows, class T>
MAXMARGIN_INLINE void scores(const Rows& rows, Size i, const T* W, Size n_classes, double* z) {
  if (by_feature(rows)) return score_features(rows.entries(i), W, padded<T>(n_classes), z);
  if constexpr (!Rows::kSparse) {
    const auto* x = rows.row(i);
    const Size d = rows.n_features;
    Size j = 0;
    for (; j + 4 <= n_classes; j += 4) score_classes<4>(x, d, W + j * d, z + j);
    for (; j + 2 <= n_classes; j += 2) score_classes<2>(x, d, W + j * d, z + j);
    if (j < n_classes) score_classes<1>(x, d, W + j * d, z + j);
  }
}

template <int vectors, class Entries, class T>
MAXMARGIN_INLINE void add_lanes(const Entries& x, const double* amounts, const int* busy,
                                Size stride, T* W) {
  Lanes<T> amount[vectors];
  for (int v = 0; v < vectors; ++v)
    amount[v] = __builtin_convertvector(*reinterpret_cast<const WideLanes<T>*>(amounts + busy[v]),
                                        Lanes<T>);
  for (Size k = 0; k < x.count; ++k) {
    const T value = static_cast<T>(x.value(k));
    T* w = W + x.column(k) * stride;
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<Lanes<T>*>(w + busy[v]) += value * amount[v];
  }
}

// Vectors of classes without a change are left alone: most steps move two or three classes.
template <class Entries, class T>
MAXMARGIN_INLINE void add_to_features(const Entries& x, const double* amounts, Size stride,
                                      int* busy, T* W) {
  Size count = 0;
  for (Size j = 0; j < stride; j += kLanes<T>) {
    int moved = 0;
    for (Size k = 0; k < kLanes<T>; ++k) moved |= amounts[j + k] != 0.0;
    busy[count] = static_cast<int>(j);
    count += moved;
  }
  for (; count > 3; count -= 3, busy += 3) add_lanes<3>(x, amounts, busy, stride, W);
  switch (count) {
    case 1:
      return add_lanes<1>(x, amounts, busy, stride, W);
    case 2:
      return add_lanes<2>(x, amounts, busy, stride, W);
    case 3:
      return add_lanes<3>(x, amounts, busy, stride, W);
    default:
      return;
  }
}

// w_j += amount_j x_i for every class j; amounts are padded with 0, `busy` is room for a list.
template <class Rows, class T>
MAXMARGIN_INLINE void add_to_classes(const Rows& rows, Size i, const double* amounts,
                                     Size n_classes, int* busy, T* W) {
  if (by_feature(rows))
    return add_to_features(rows.entries(i), amounts, padded<T>(n_classes), busy, W);
  if constexpr (!Rows::kSparse) {
    for (Size j = 0; j < n_classes; ++j)
      if (amounts[j] != 0.0) rows.add_scaled(i, amounts[j], W + j * rows.n_features);
  }
}

// Calls for the weights that row i is about to meet, where they are too many for the caches.
template <class Rows, class T>
MAXMARGIN_INLINE void prefetch_weights(const Rows& rows, Size i, const T* W, Size n_classes) {
  constexpr Size kLine = 64 / sizeof(T), kMost = 4 * kLine;  // then the hardware follows
  constexpr Size kNear = (1 << 18) / sizeof(T);              // weights
  if constexpr (Rows::kSparse) {
    const Size stride = padded<T>(n_classes), end = std::min(stride, kMost);
    if (rows.n_features * stride <= kNear) return;
    const auto x = rows.entries(i);
    for (Size k = 0; k < x.count; ++k) {
      const T* w = W + x.column(k) * stride;
      for (Size j = 0; j < end; j += kLine) MAXMARGIN_PREFETCH(w + j);
    }
  }
}

// out[i][j] = <w_j, x_i> for begin <= i < end; the rows of out have `padded(n_classes)` entries.
template <class Rows>
MAXMARGIN_INLINE void predict_classes(const Rows& rows, const double* W, Size n_classes, Size begin,
                                      Size end, double* out) {
  for (Size i = begin; i < end; ++i) scores(rows, i, W, n_classes, out + i * padded(n_classes));
}

// w_j += sum of beta_ij x_i over begin <= i < end.
template <class Rows>
MAXMARGIN_INLINE void combine_classes(const Rows& rows, const double* beta, Size n_classes,
                                      Size begin, Size end, double* W) {
  std::vector<double> amounts(static_cast<std::size_t>(padded(n_classes)));
  std::vector<int> busy(amounts.size());
  for (Size i = begin; i < end; ++i) {
    std::copy_n(beta + i * n_classes, n_classes, amounts.data());
    add_to_classes(rows, i, amounts.data(), n_classes, busy.data(), W);
  }
}

}  // namespace maxmargin
