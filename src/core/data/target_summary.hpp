// How far the labels and the costs of a problem reach: what its checks ask, in one pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/types.hpp"

namespace maxmargin {

struct TargetSummary {
  double max_abs = 0.0;  // largest |y|; infinite if one is not finite
  double total_cost = 0.0;
  bool valid = true;      // every cost is finite, and 0 or larger
  bool is_binary = true;  // every y is -1 or +1
  bool constant = true;   // samples of positive cost have one y
};

MAXMARGIN_INLINE TargetSummary summarise_targets(const double* y, const double* cost, Size n) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Size first = std::find_if(cost, cost + n, [](double c) { return c > 0.0; }) - cost;
  const double one = first < n ? y[first] : 0.0;
  TargetSummary summary;
  in_pieces(n, [&](Size begin, Size end) MAXMARGIN_INLINED {
    double max_abs = 0.0, total = 0.0, wild = 0.0, invalid = 0.0, others = 0.0, different = 0.0;
#pragma omp simd reduction(max : max_abs) reduction(+ : total, wild, invalid, others, different)
    for (Size k = begin; k < end; ++k) {
      const double size = std::fabs(y[k]);
      max_abs = size > max_abs ? size : max_abs;
      total += cost[k];
      wild += size < kInfinity ? 0.0 : 1.0;
      invalid += cost[k] >= 0.0 && cost[k] < kInfinity ? 0.0 : 1.0;
      others += size == 1.0 ? 0.0 : 1.0;
      different += cost[k] > 0.0 && y[k] != one ? 1.0 : 0.0;
    }
    summary.max_abs = std::max(summary.max_abs, wild > 0.0 ? kInfinity : max_abs);
    summary.total_cost += total;
    summary.valid = summary.valid && invalid == 0.0;
    summary.is_binary = summary.is_binary && others == 0.0;
    summary.constant = summary.constant && different == 0.0;
  });
  return summary;
}

}  // namespace maxmargin
