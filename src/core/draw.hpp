// A sample of the rows, each with a chance of its own (Poisson sampling).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "random.hpp"

namespace maxmargin {

// The rows drawn, their numbers in [0, 1) and their chances, which the numbers are below.
struct Draw {
  std::vector<std::int32_t> places;
  std::vector<double> numbers, chances;
};

// Row k has the chance share + pull * cost_k * squares_k.
MAXMARGIN_CLONES inline Draw draw_rows(const double* cost, const double* squares, Size n,
                                       double share, double pull, Random& random) {
  constexpr Size kChunk = 4096;
  Draw draw;
  std::size_t count = 0;
  const auto resize = [&](std::size_t size) {
    draw.places.resize(size);
    draw.numbers.resize(size);
    draw.chances.resize(size);
  };
  for (Size from = 0; from < n; from += kChunk) {
    resize(count + kChunk);
    for (Size k = from; k < std::min(from + kChunk, n); ++k) {  // which ones: without a branch
      const double number = random.uniform(), chance = share + pull * cost[k] * squares[k];
      draw.places[count] = static_cast<std::int32_t>(k);
      draw.numbers[count] = number;
      draw.chances[count] = chance;
      count += number < chance;
    }
  }
  resize(count);
  return draw;
}

}  // namespace maxmargin
