// Kernel values of dense samples.
#pragma once

#include <type_traits>

#include "kernels/row_source.hpp"

namespace maxmargin {

// Dense float32 samples, laid out in panels: of kPanel samples the first values, then the second
// ones and so on, so that a tile of some rows and kPanel samples runs in registers (Goto and van de
// Geijn, ACM TOMS 2008) and is turned into kernel values before it is written.
class DenseKernel {
 public:
  static constexpr Size kRows = 96;  // with them a panel is used often enough

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
      in_tiles(count, [&](Size r, Size height) {
        const float *some = rows + r * d_, *squares = row_squares + r;
        wide_ ? tile_wide(some, squares, height, p, values + r)
              : MAXMARGIN_CLONED(tile_narrow(some, squares, height, p, values + r));
      });
  }

  // sums[r][c] += coef[c][j] k(row r, sample j) over the samples j of a panel, in eight parts each.
  void add_sums(const float* rows, const float* row_squares, Size count, Size panel,
                const float* coef, Size n_sums, float* sums) const {
    in_tiles(count, [&](Size r, Size height) {
      const float *some = rows + r * d_, *squares = row_squares + r;
      float* own = sums + r * n_sums * 8;
      wide_ ? add_wide(some, squares, height, panel, coef, n_sums, own)
            : MAXMARGIN_CLONED(add_narrow(some, squares, height, panel, coef, n_sums, own));
    });
  }

  // out[r][0..n) = kernel values between sample index[r] of `other` and all samples here.
  void rows(const DenseKernel& other, const std::int32_t* index, Size count, float* const* out,
            int n_threads) const {
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
  // Rows of a tile: with 16 samples each, twelve registers of either width.
  static constexpr int kNarrow = 6, kWide = 12;

  template <class Use>
  void in_tiles(Size count, Use use) const {
    const Size height = wide_ ? kWide : kNarrow;
    for (Size r = 0; r < count; r += height) use(r, std::min(height, count - r));
  }

  // use(a constant equal to `height`), which is at most `most`.
  template <int most, class Use>
  MAXMARGIN_INLINE static void with(Size height, Use use) {
    if constexpr (most > 1) {
      if (height < most) return with<most - 1>(height, use);
    }
    use(std::integral_constant<int, most>());
  }

  MAXMARGIN_INLINE void tile_narrow(const float* rows, const float* row_squares, Size height,
                                    Size panel, float* const* values) const {
    with<kNarrow>(height, [&](auto h) MAXMARGIN_INLINED {
      tile_of<Eight, h>(rows, row_squares, panel, values);
    });
  }
  MAXMARGIN_WIDE void tile_wide(const float* rows, const float* row_squares, Size height,
                                Size panel, float* const* values) const {
    with<kWide>(height, [&](auto h) MAXMARGIN_INLINED {
      tile_of<Sixteen, h>(rows, row_squares, panel, values);
    });
  }

  MAXMARGIN_INLINE void add_narrow(const float* rows, const float* row_squares, Size height,
                                   Size panel, const float* coef, Size n_sums, float* sums) const {
    with<kNarrow>(height, [&](auto h) MAXMARGIN_INLINED {
      add_tile_of<Eight, h>(rows, row_squares, panel, coef, n_sums, sums);
    });
  }
  MAXMARGIN_WIDE void add_wide(const float* rows, const float* row_squares, Size height, Size panel,
                               const float* coef, Size n_sums, float* sums) const {
    with<kWide>(height, [&](auto h) MAXMARGIN_INLINED {
      add_tile_of<Sixteen, h>(rows, row_squares, panel, coef, n_sums, sums);
    });
  }

  template <class Vector, int height>
  MAXMARGIN_INLINE void tile_of(const float* rows, const float* row_squares, Size panel,
                                float* const* values) const {
    alignas(64) float tile[height][kPanel];
    values_of<Vector, height>(rows, row_squares, panel, tile);
    const Size begin = panel * kPanel, count = std::min(kPanel, n_ - begin);
    for (int r = 0; r < height; ++r) std::copy_n(tile[r], count, values[r] + begin);
  }

  template <class Vector, int height>
  MAXMARGIN_INLINE void add_tile_of(const float* rows, const float* row_squares, Size panel,
                                    const float* coef, Size n_sums, float* sums) const {
    alignas(64) float tile[height][kPanel];
    values_of<Vector, height>(rows, row_squares, panel, tile);
    for (int r = 0; r < height; ++r)
      for (Size c = 0; c < n_sums; ++c, sums += 8)
        eight_at(sums) += eight_at(coef + c * kPanel) * eight_at(tile[r]) +
                          eight_at(coef + c * kPanel + 8) * eight_at(tile[r] + 8);
  }

  template <class Vector, int height>
  MAXMARGIN_INLINE void values_of(const float* rows, const float* row_squares, Size panel,
                                  float (*tile)[kPanel]) const {
    constexpr int kValues = sizeof(Vector) / sizeof(float), kParts = kPanel / kValues;
    Vector sums[height][kParts];
#pragma GCC unroll 16  // as are the loops below: the sums stay in registers
    for (int r = 0; r < height; ++r)
      for (int part = 0; part < kParts; ++part) sums[r][part] = Vector{};
    const float* sample = panels_.data() + panel * kPanel * d_;
    for (Size k = 0; k < d_; ++k, sample += kPanel) {
      Vector x[kParts];
      for (int part = 0; part < kParts; ++part) x[part] = load<Vector>(sample + kValues * part);
#pragma GCC unroll 16
      for (int r = 0; r < height; ++r) {
        const float value = rows[r * d_ + k];
        for (int part = 0; part < kParts; ++part) sums[r][part] += value * x[part];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < height; ++r)
      for (int part = 0; part < kParts; ++part) store(sums[r][part], tile[r] + kValues * part);
    for (int r = 0; r < height; ++r)
      apply_kernel(formula_, row_squares[r], squares_.data() + panel * kPanel, kPanel, tile[r]);
  }

  Size n_, d_;
  KernelFormula formula_;
  LineVector<float> panels_;
  std::vector<float> squares_;
  const bool wide_ = MAXMARGIN_HAS_WIDE;
};

}  // namespace maxmargin
