// Kernel values of dense samples.
#pragma once

#include "kernel_rows.hpp"

namespace maxmargin {

// Dense float32 samples, laid out in panels: of kPanel samples the first values, then the second
// ones and so on, so that a tile of kHeight rows and kPanel samples runs in registers (Goto and
// van de Geijn, ACM TOMS 2008) and is turned into kernel values before it is written.
class DenseKernel {
 public:
  static constexpr Size kHeight = 6;

  DenseKernel(const float* samples, const float* squares, Size n, Size d, KernelFormula formula)
      : n_(n),
        d_(d),
        formula_(formula),
        panels_(static_cast<std::size_t>(n_panels() * kPanel * d)),
        squares_(static_cast<std::size_t>(n_panels() * kPanel)) {
    std::copy_n(squares, n, squares_.begin());
    for (Size i = 0; i < n; ++i) {
      float* column = panels_.data() + (i / kPanel) * kPanel * d + i % kPanel;
      for (Size k = 0; k < d; ++k) column[k * kPanel] = samples[i * d + k];
    }
  }

  Size n_samples() const { return n_; }
  Size n_features() const { return d_; }
  Size n_panels() const { return (n_ + kPanel - 1) / kPanel; }

  // Sample i as a row, and its square.
  void unpack(Size i, float* row) const {
    const float* column = panels_.data() + (i / kPanel) * kPanel * d_ + i % kPanel;
    for (Size k = 0; k < d_; ++k) row[k] = column[k * kPanel];
  }
  float square(Size i) const { return squares_[i]; }

  // Kernel values between `count` rows, one after the other in memory, and the samples of the
  // panels first <= p < last: values[r][j] for sample j.
  void block(const float* rows, const float* row_squares, Size count, Size first, Size last,
             float* const* values) const {
    for (Size p = first; p < last; ++p)
      for (Size r = 0; r < count; r += kHeight)
        tile(rows + r * d_, row_squares + r, std::min(kHeight, count - r), p, values + r);
  }

  // sums[r][c] += coef[c][j] k(row r, sample j) over the samples j of a panel, in eight parts each.
  void add_sums(const float* rows, const float* row_squares, Size count, Size panel,
                const float* coef, Size n_sums, float* sums) const {
    for (Size r = 0; r < count; r += kHeight)
      add_tile(rows + r * d_, row_squares + r, std::min(kHeight, count - r), panel, coef, n_sums,
               sums + r * n_sums * 8);
  }

  // out[r][0..n) = kernel values between sample index[r] of `other` and all samples here.
  void rows(const DenseKernel& other, const std::int32_t* index, Size count, float* const* out,
            int n_threads) const {
    constexpr Size kRows = 16 * kHeight;  // with them a panel is used often enough
    std::vector<float> block_rows(static_cast<std::size_t>(std::min(count, kRows) * d_));
    std::vector<float> squares(static_cast<std::size_t>(std::min(count, kRows)));
    for (Size from = 0; from < count; from += kRows) {
      const Size rows = std::min(kRows, count - from);
      for (Size r = 0; r < rows; ++r) {
        other.unpack(index[from + r], block_rows.data() + r * d_);
        squares[r] = other.square(index[from + r]);
      }
      in_threads(n_panels(), n_threads, [&](Size first, Size last) {
        block(block_rows.data(), squares.data(), rows, first, last, out + from);
      });
    }
  }

 private:
  MAXMARGIN_CLONES void tile(const float* rows, const float* row_squares, Size height, Size panel,
                             float* const* values) const {
    switch (height) {
      case 1:
        return tile_of<1>(rows, row_squares, panel, values);
      case 2:
        return tile_of<2>(rows, row_squares, panel, values);
      case 3:
        return tile_of<3>(rows, row_squares, panel, values);
      case 4:
        return tile_of<4>(rows, row_squares, panel, values);
      case 5:
        return tile_of<5>(rows, row_squares, panel, values);
      default:
        return tile_of<kHeight>(rows, row_squares, panel, values);
    }
  }

  MAXMARGIN_CLONES void add_tile(const float* rows, const float* row_squares, Size height,
                                 Size panel, const float* coef, Size n_sums, float* sums) const {
    switch (height) {
      case 1:
        return add_tile_of<1>(rows, row_squares, panel, coef, n_sums, sums);
      case 2:
        return add_tile_of<2>(rows, row_squares, panel, coef, n_sums, sums);
      case 3:
        return add_tile_of<3>(rows, row_squares, panel, coef, n_sums, sums);
      case 4:
        return add_tile_of<4>(rows, row_squares, panel, coef, n_sums, sums);
      case 5:
        return add_tile_of<5>(rows, row_squares, panel, coef, n_sums, sums);
      default:
        return add_tile_of<kHeight>(rows, row_squares, panel, coef, n_sums, sums);
    }
  }

  template <int height>
  MAXMARGIN_INLINE void tile_of(const float* rows, const float* row_squares, Size panel,
                                float* const* values) const {
    float tile[height][kPanel];
    values_of<height>(rows, row_squares, panel, tile);
    const Size begin = panel * kPanel, count = std::min(kPanel, n_ - begin);
    for (int r = 0; r < height; ++r) std::copy_n(tile[r], count, values[r] + begin);
  }

  template <int height>
  MAXMARGIN_INLINE void add_tile_of(const float* rows, const float* row_squares, Size panel,
                                    const float* coef, Size n_sums, float* sums) const {
    float tile[height][kPanel];
    values_of<height>(rows, row_squares, panel, tile);
    for (int r = 0; r < height; ++r)
      for (Size c = 0; c < n_sums; ++c, sums += 8)
        eight_at(sums) += eight_at(coef + c * kPanel) * eight_at(tile[r]) +
                          eight_at(coef + c * kPanel + 8) * eight_at(tile[r] + 8);
  }

  template <int height>
  MAXMARGIN_INLINE void values_of(const float* rows, const float* row_squares, Size panel,
                                  float (*tile)[kPanel]) const {
    Eight low[height], high[height];
#pragma GCC unroll 8  // as are the loops below: the sums stay in registers
    for (int r = 0; r < height; ++r) low[r] = high[r] = Eight{};
    const float* sample = panels_.data() + panel * kPanel * d_;
    for (Size k = 0; k < d_; ++k, sample += kPanel) {
      const Eight a = eight_at(sample), b = eight_at(sample + 8);
#pragma GCC unroll 8
      for (int r = 0; r < height; ++r) {
        const float value = rows[r * d_ + k];
        low[r] += value * a;
        high[r] += value * b;
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < height; ++r) {
      eight_at(tile[r]) = low[r];
      eight_at(tile[r] + 8) = high[r];
    }
    for (int r = 0; r < height; ++r)
      apply_kernel(formula_, row_squares[r], squares_.data() + panel * kPanel, kPanel, tile[r]);
  }

  Size n_, d_;
  KernelFormula formula_;
  LineVector<float> panels_;
  std::vector<float> squares_;
};

}  // namespace maxmargin
