// Two labels told from others, without sorting.
#pragma once

#include "common/types.hpp"

namespace maxmargin {

// The first row of another label than y[0], if there are just two; else 0.
template <class T>
MAXMARGIN_INLINE Size second_label(const T* y, Size n) {
  Size other = 1;
  while (other < n && y[other] == y[0]) ++other;
  if (other >= n) return 0;
  const T one = y[0], two = y[other];
  int third = 0;
#pragma omp simd reduction(| : third)
  for (Size k = other; k < n; ++k) third |= (y[k] != one) & (y[k] != two);
  return third ? 0 : other;
}

}  // namespace maxmargin
