// A sample of the rows, each with a chance of its own (Poisson sampling).
#pragma once

#include <cstdint>
#include <vector>

#include "common/random.hpp"

namespace maxmargin {

// The rows drawn, their numbers in [0, 1) and their chances, which the numbers are below.
struct PoissonSample {
  std::vector<std::int32_t> indices;
  std::vector<double> numbers, chances;

  void reserve(std::size_t count) {
    indices.reserve(count);
    numbers.reserve(count);
    chances.reserve(count);
  }
};

// Row k has the chance share + by_norm * cost_k * squares_k; about `expected` rows are drawn.
MAXMARGIN_INLINE PoissonSample draw_rows(const double* cost, const double* squares, Size n,
                                         double share, double by_norm, Size expected,
                                         Random& random) {
  PoissonSample draw;
  draw.reserve(static_cast<std::size_t>(expected + expected / 8 + kPiece));
  in_pieces(n, [&](Size begin, Size end) MAXMARGIN_INLINED {
    std::int32_t indices[kPiece];
    double numbers[kPiece], chances[kPiece];
    Size count = 0;
    for (Size k = begin; k < end; ++k) {  // which ones is unpredictable: without a branch
      indices[count] = static_cast<std::int32_t>(k);
      numbers[count] = random.uniform();
      chances[count] = share + by_norm * cost[k] * squares[k];
      count += numbers[count] < chances[count];
    }
    draw.indices.insert(draw.indices.end(), indices, indices + count);
    draw.numbers.insert(draw.numbers.end(), numbers, numbers + count);
    draw.chances.insert(draw.chances.end(), chances, chances + count);
  });
  return draw;
}

}  // namespace maxmargin
