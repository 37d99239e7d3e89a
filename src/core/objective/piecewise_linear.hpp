// The minimum of a convex function that is piecewise linear.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "common/types.hpp"

namespace maxmargin {

// Places where a derivative falls, and by how much.
using Falls = std::vector<std::pair<double, double>>;

// What sums of so much may be off by.
MAXMARGIN_INLINE double rounding_of(double total) {
  return 1e-12 * total;
}

// Another one; in the place of the last it is one with it.
MAXMARGIN_INLINE void add_fall(Falls& falls, double place, double fall) {
  if (!falls.empty() && falls.back().first == place)
    falls.back().second += fall;
  else
    falls.emplace_back(place, fall);
}

// Of steps in any order the one by place that takes a derivative to `level`, or the last one; what
// there is `left` of the derivative comes to be what is before that step. All others that are not
// before it come to be after it. No more is put in order than that takes.
inline Falls::iterator reaching(Falls::iterator begin, Falls::iterator end, double level,
                                double& left) {
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end,
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    double after = left;
    for (auto step = begin; step != middle; ++step) after -= step->second;
    if (after <= level) {
      end = middle;
    } else {
      begin = middle;
      left = after;
    }
  }
  return begin;
}

// Where a derivative that starts at `start` and falls at these places, which get another order,
// crosses 0; midway between the ends of the stretch where it is 0 to rounding, which `total` is the
// scale of. Places where it does not fall have no say.
inline double crossing(Falls& falls, double start, double total) {
  std::erase_if(falls, [](const auto& step) { return !(step.second > 0.0); });
  if (falls.empty()) return 0.0;
  const double slack = rounding_of(total);
  double left = start;
  const auto first = reaching(falls.begin(), falls.end(), slack, left);
  const double from = first->first;
  if (left - first->second < -slack) return from;
  return 0.5 * (from + reaching(first, falls.end(), -slack, left)->first);
}

// The same where they are all the falls there are.
inline double crossing(Falls& falls, double start) {
  double total = 0.0;
  for (const auto& step : falls) total += step.second;
  return crossing(falls, start, total);
}

}  // namespace maxmargin
