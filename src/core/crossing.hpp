// The minimum of a convex function that is piecewise linear.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "rows.hpp"

namespace maxmargin {

// Places where a derivative falls, and by how much.
using Falls = std::vector<std::pair<double, double>>;

// Where a derivative that starts at `start` and falls at these places, which get sorted, crosses 0;
// midway between the ends of the stretch where it is 0 to rounding. Places where it does not fall
// have no say.
inline double crossing(Falls& falls, double start) {
  std::erase_if(falls, [](const auto& step) { return !(step.second > 0.0); });
  std::sort(falls.begin(), falls.end());
  double total = 0.0;
  for (const auto& step : falls) total += step.second;
  const double slack = 1e-12 * total;
  double left = start, first = 0.0, last = 0.0;
  bool found = false;
  for (const auto& [place, fall] : falls) {
    left -= fall;
    last = place;
    if (!found) first = place;
    found |= left <= slack;
    if (left < -slack) break;
  }
  return 0.5 * (first + last);
}

}  // namespace maxmargin
