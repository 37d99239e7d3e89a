// How far the labels and the costs of a problem reach: what its checks ask, in one pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/types.hpp"

namespace maxmargin {

struct Extent {
  double reach = 0.0;  // largest |y|; infinite if one is not finite
  double total_cost = 0.0;
  bool sound = true;  // every cost is finite, and 0 or larger
  bool signs = true;  // every y is -1 or +1
  bool alike = true;  // samples of positive cost have one y
};

MAXMARGIN_INLINE Extent extent_of(const double* y, const double* cost, Size n) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Size first = std::find_if(cost, cost + n, [](double c) { return c > 0.0; }) - cost;
  const double one = first < n ? y[first] : 0.0;
  Extent extent;
  in_pieces(n, [&](Size begin, Size end) MAXMARGIN_INLINED {
    double reach = 0.0, total = 0.0, wild = 0.0, unsound = 0.0, others = 0.0, unlike = 0.0;
#pragma omp simd reduction(max : reach) reduction(+ : total, wild, unsound, others, unlike)
    for (Size k = begin; k < end; ++k) {
      const double size = std::fabs(y[k]);
      reach = size > reach ? size : reach;
      total += cost[k];
      wild += size < kInfinity ? 0.0 : 1.0;
      unsound += cost[k] >= 0.0 && cost[k] < kInfinity ? 0.0 : 1.0;
      others += size == 1.0 ? 0.0 : 1.0;
      unlike += cost[k] > 0.0 && y[k] != one ? 1.0 : 0.0;
    }
    extent.reach = std::max(extent.reach, wild > 0.0 ? kInfinity : reach);
    extent.total_cost += total;
    extent.sound = extent.sound && unsound == 0.0;
    extent.signs = extent.signs && others == 0.0;
    extent.alike = extent.alike && unlike == 0.0;
  });
  return extent;
}

}  // namespace maxmargin
