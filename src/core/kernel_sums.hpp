// Prediction: out[r][p][c] = sum over the samples j of part p of coef[c][j] k(row r, sample j),
// where the values of the kernel are needed a tile at a time and never kept. Parts are classes: the
// sums of all pairs of classes take each sample's value once for each rival, not once for each
// pair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernel_rows.hpp"

namespace maxmargin {

struct Coefficients {
  const double* values;  // count x n_samples
  Size count;
  const std::int32_t* parts;  // how many samples each has, one after the other
  Size n_parts;
  Size size() const { return count * n_parts; }
};

MAXMARGIN_CLONES inline double weighted_sum(const float* values, const double* weights,
                                            Size count) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (Size j = 0; j < count; ++j) total += weights[j] * static_cast<double>(values[j]);
  return total;
}

// Room of one thread for the values of some rows and samples.
struct SumTile {
  static constexpr Size kColumns = 512;
  explicit SumTile(Size n_rows)
      : values(static_cast<std::size_t>(n_rows * kColumns)), rows(n_rows) {
    for (Size r = 0; r < n_rows; ++r) rows[r] = values.data() + r * kColumns;
  }
  std::vector<float> values;
  std::vector<float*> rows;
};

// The sums of `count` rows; block(first, last, values) gives values[r][j - first] of the kernel.
template <class Block>
void sum_tiles(Size n_samples, Size count, Coefficients coef, SumTile& tile, double* out,
               Block block) {
  constexpr Size kColumns = SumTile::kColumns;
  float* const* values = tile.rows.data();
  std::fill_n(out, count * coef.size(), 0.0);
  for (Size first = 0; first < n_samples; first += kColumns) {
    const Size last = std::min(first + kColumns, n_samples);
    block(first, last, values);
    for (Size part = 0, begin = 0; part < coef.n_parts; begin += coef.parts[part++]) {
      const Size from = std::max(begin, first), to = std::min(begin + coef.parts[part], last);
      if (from >= to) continue;
      for (Size r = 0; r < count; ++r)
        for (Size c = 0; c < coef.count; ++c)
          out[r * coef.size() + part * coef.count + c] += weighted_sum(
              values[r] + (from - first), coef.values + c * n_samples + from, to - from);
    }
  }
}

// Dense rows, one after the other in memory, with their squares.
inline void kernel_sums(const DenseKernel& kernel, const float* rows, const float* squares,
                        Size n_rows, Coefficients coef, double* out, int n_threads) {
  constexpr Size kRows = 16 * DenseKernel::kHeight, kWidth = DenseKernel::kWidth;
  in_threads((n_rows + kRows - 1) / kRows, n_threads, [&](Size begin, Size end) {
    SumTile room(kRows);
    for (Size from = begin * kRows; from < std::min(end * kRows, n_rows); from += kRows) {
      const Size count = std::min(kRows, n_rows - from);
      sum_tiles(kernel.n_samples(), count, coef, room, out + from * coef.size(),
                [&](Size first, Size last, float* const* values) {
                  kernel.block(rows + from * kernel.n_features(), squares + from, count,
                               first / kWidth, (last + kWidth - 1) / kWidth, values, first);
                });
    }
  });
}

// CSR rows.
template <class Index, class RowIndex>
void kernel_sums(const SparseKernel<Index>& kernel, CsrRows<float, RowIndex> rows,
                 const float* squares, Coefficients coef, double* out, int n_threads) {
  constexpr Size kRows = SparseKernel<Index>::kRows;
  const Size n_rows = rows.n_samples;
  in_threads((n_rows + kRows - 1) / kRows, n_threads, [&](Size begin, Size end) {
    SumTile room(kRows);
    SparsePanel panel(kernel.n_features());
    float row_squares[kRows] = {};
    std::vector<Size> index(kRows);
    for (Size from = begin * kRows; from < std::min(end * kRows, n_rows); from += kRows) {
      const Size count = std::min(kRows, n_rows - from);
      std::iota(index.begin(), index.end(), from);
      panel.fill(rows, index.data(), count);
      std::copy_n(squares + from, count, row_squares);
      sum_tiles(kernel.n_samples(), count, coef, room, out + from * coef.size(),
                [&](Size first, Size last, float* const* values) {
                  kernel.tile(panel, row_squares, count, first, last, values, first);
                });
    }
  });
}

}  // namespace maxmargin
