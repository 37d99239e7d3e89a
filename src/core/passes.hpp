// Plain passes over the samples: f = Xw + b, w = X'beta, |x_i|^2.
#pragma once

#include <cstdint>

#include "rows.hpp"

namespace maxmargin {

// out[i] = <w, x_i> + b for begin <= i < end.
template <class Rows>
MAXMARGIN_CLONES void predict(const Rows& rows, const double* w, double b, Size begin, Size end,
                              double* out) {
  in_streams(rows, begin, end, [&](Size i) MAXMARGIN_INLINED { out[i] = rows.dot(i, w) + b; });
}

// w += sum of beta_i x_i over begin <= i < end.
template <class Rows>
MAXMARGIN_CLONES void combine(const Rows& rows, const double* beta, Size begin, Size end,
                              double* w) {
  RowSum sum(rows, w);
  in_streams(rows, begin, end, [&](Size i) MAXMARGIN_INLINED {
    if (beta[i] != 0.0) sum.add(i, beta[i]);
  });
  sum.finish();
}

template <class Rows>
MAXMARGIN_CLONES void squared_norms(const Rows& rows, Size begin, Size end, double* out) {
  in_streams(rows, begin, end, [&](Size i) MAXMARGIN_INLINED { out[i] = rows.squared_norm(i); });
}

// What differs from `centre` in the rows begin <= i < end: columns, and values by how much, times
// `unit`; row i from offsets[i] to offsets[i + 1], which is found here. A whole row is written
// before what does not differ is dropped, so both arrays need n_features entries of room. Whether
// they had it.
template <class T, class Out>
MAXMARGIN_CLONES bool compress(const DenseRows<T>& rows, Size begin, Size end, const double* centre,
                               double unit, Size room, std::int32_t* offsets, Out* values,
                               std::int32_t* columns) {
  Size at = offsets[begin];
  for (Size i = begin; i < end; ++i) {
    if (at + rows.n_features > room) return false;
    const T* x = rows.row(i);
    Size j = 0;
    const auto take = [&] {
      const double apart = static_cast<double>(x[j]) - centre[j];
      values[at] = static_cast<Out>(unit * apart);
      columns[at] = static_cast<std::int32_t>(j++);
      at += apart != 0.0;
    };
    while (j < rows.n_features) {
      constexpr Size kPiece = 8;  // such values come in runs
      if (j + kPiece > rows.n_features) {
        take();
        continue;
      }
      int found = 0;
      for (Size k = 0; k < kPiece; ++k) found |= static_cast<double>(x[j + k]) != centre[j + k];
      if (found == 0) {
        j += kPiece;
      } else {
        for (Size k = 0; k < kPiece; ++k) take();
      }
    }
    offsets[i + 1] = static_cast<std::int32_t>(at);
  }
  return true;
}

// Whether every index lies in [0, bound).
template <class Index>
MAXMARGIN_CLONES bool all_within(const Index* indices, Size count, Size bound) {
  Index smallest = 0, largest = -1;
#pragma omp simd reduction(min : smallest) reduction(max : largest)
  for (Size k = 0; k < count; ++k) {
    smallest = indices[k] < smallest ? indices[k] : smallest;
    largest = indices[k] > largest ? indices[k] : largest;
  }
  return smallest >= 0 && largest < bound;
}

// Whether the columns of every CSR row rise strictly within [0, n_features), and the offsets rise
// from 0 to at most `stored`. Whatever reads the rows later relies on it.
template <class Index>
MAXMARGIN_CLONES bool canonical(const Index* offsets, const Index* columns, Size n_samples,
                                Size n_features, Size stored) {
  if (offsets[0] != 0 || offsets[n_samples] > stored) return false;
  for (Size i = 0; i < n_samples; ++i) {
    if (offsets[i] > offsets[i + 1]) return false;
  }
  bool sound = true;
  for (Size i = 0; i < n_samples && sound; ++i) {
    const Size begin = offsets[i], end = offsets[i + 1];
    if (begin == end) continue;
    sound = columns[begin] >= 0 && columns[end - 1] < n_features;
    int falls = 0;
#pragma omp simd reduction(+ : falls)
    for (Size k = begin + 1; k < end; ++k) falls += columns[k] <= columns[k - 1];
    sound = sound && falls == 0;
  }
  return sound;
}

}  // namespace maxmargin
