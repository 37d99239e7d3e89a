// The type of sizes and indices, and loops over pieces of a range.
#pragma once

#include <algorithm>
#include <cstddef>

#include "common/simd.hpp"

namespace maxmargin {

using Size = std::ptrdiff_t;

constexpr Size kPiece = 4096;

// use(begin, end) for all of 0, ..., n - 1, a piece at a time: sums of pieces are more accurate.
template <class Use>
MAXMARGIN_INLINE void in_pieces(Size n, Use use) {
  for (Size begin = 0; begin < n; begin += kPiece) use(begin, std::min(begin + kPiece, n));
}

}  // namespace maxmargin
