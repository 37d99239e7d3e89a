// Two labels told from others, without sorting.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "rows.hpp"

namespace maxmargin {

// The lesser and the greater value of y, which has a stride, if it has just two.
template <class T>
MAXMARGIN_CLONES std::optional<std::pair<T, T>> two_labels(const T* y, Size stride, Size n) {
  constexpr Size kChunk = 4096;  // between looks, so that a third one ends it soon
  Size other = 1;
  while (other < n && y[other * stride] == y[0]) ++other;
  if (other >= n) return std::nullopt;
  const T one = y[0], two = y[other * stride];
  for (Size from = other; from < n; from += kChunk) {
    const Size end = std::min(from + kChunk, n);
    int third = 0;
#pragma omp simd reduction(| : third)
    for (Size k = from; k < end; ++k) third |= (y[k * stride] != one) & (y[k * stride] != two);
    if (third) return std::nullopt;
  }
  return std::pair{std::min(one, two), std::max(one, two)};
}

}  // namespace maxmargin
