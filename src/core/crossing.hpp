// The minimum of a convex function that is piecewise linear.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "rows.hpp"

namespace maxmargin {

// Where a derivative that starts at `start` and falls at each of n places crosses 0; midway between
// the ends of the stretch where it is 0 to rounding. Places where it does not fall have no say.
inline double crossing(const double* places, const double* falls, Size n, double start) {
  std::vector<std::pair<double, double>> steps;
  steps.reserve(static_cast<std::size_t>(n));
  double total = 0.0;
  for (Size k = 0; k < n; ++k) {
    if (!(falls[k] > 0.0)) continue;
    steps.emplace_back(places[k], falls[k]);
    total += falls[k];
  }
  std::sort(steps.begin(), steps.end());
  const double slack = 1e-12 * total;
  double left = start, first = 0.0, last = 0.0;
  bool found = false;
  for (const auto& [place, fall] : steps) {
    left -= fall;
    last = place;
    if (!found) first = place;
    found |= left <= slack;
    if (left < -slack) break;
  }
  return 0.5 * (first + last);
}

}  // namespace maxmargin
