// Kernel values of CSR samples.
#pragma once

#include "kernel_rows.hpp"

namespace maxmargin {

// Some CSR rows laid out densely, column by column, so that one look at an index serves many
// products. Only columns in which a row has a value take room: the rest share one of zeros.
class SparsePanel {
 public:
  static constexpr Size kRows = 32;

  explicit SparsePanel(Size n_features) : place_(static_cast<std::size_t>(n_features), 0) {}

  // Rows that there is room for, a multiple of 8.
  Size width() const { return width_; }

  // The values of all columns that have any, `width` for each, and where those of each column
  // begin, in eights.
  const float* values() const { return values_.data(); }
  const std::uint32_t* places() const { return place_.data(); }

  // Lays out the rows index[0 .. count) of any CSR matrix instead of those before.
  template <class Rows, class Position>
  void fill(const Rows& rows, const Position* index, Size count) {
    width_ = (count + 7) / 8 * 8;
    for (const Size column : columns_) place_[column] = 0;
    columns_.clear();
    values_.assign(width_, 0.0f);
    for (Size r = 0; r < count; ++r)
      for (Size k = rows.offsets[index[r]]; k < rows.offsets[index[r] + 1]; ++k) {
        std::uint32_t& place = place_[rows.columns[k]];
        if (place == 0) {
          columns_.push_back(rows.columns[k]);
          place = static_cast<std::uint32_t>(values_.size() / 8);
          values_.resize(values_.size() + width_, 0.0f);
        }
        values_[std::size_t{8} * place + r] = rows.values[k];
      }
  }

 private:
  std::vector<std::uint32_t> place_;  // 0: that of the zeros
  std::vector<Size> columns_;
  LineVector values_;
  Size width_ = 0;
};

// out[r][at + c] = in[c][r] for r < count and c < 8, where in has rows of `stride` values, 8 of
// which are read whatever `count`.
template <Size stride>
MAXMARGIN_INLINE void transpose(const float* in, float* const* out, Size count, Size at) {
  Eight a[8], b[8];
  for (int c = 0; c < 8; ++c) a[c] = eight_at(in + c * stride);
  for (int c = 0; c < 8; c += 2) {
    b[c] = __builtin_shufflevector(a[c], a[c + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[c + 1] = __builtin_shufflevector(a[c], a[c + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int half = 0; half < 8; half += 4)
    for (int c = half; c < half + 2; ++c) {
      a[half + 2 * (c - half)] = __builtin_shufflevector(b[c], b[c + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      a[half + 2 * (c - half) + 1] =
          __builtin_shufflevector(b[c], b[c + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int c = 0; c < 4; ++c) {
    b[c] = __builtin_shufflevector(a[c], a[c + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[c + 4] = __builtin_shufflevector(a[c], a[c + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (Size r = 0; r < count; ++r) eight_at(out[r] + at) = b[r];
}

// CSR samples: all of them are streamed against a panel of rows.
template <class Index>
class SparseKernel {
 public:
  static constexpr Size kRows = SparsePanel::kRows;
  static constexpr Size kTile = 128;  // samples of a thread's share

  SparseKernel(CsrRows<float, Index> samples, const float* squares, KernelFormula formula)
      : samples_(samples), squares_(squares), formula_(formula) {}

  Size n_samples() const { return samples_.n_samples; }
  Size n_features() const { return samples_.n_features; }

  // Kernel values between `count` rows in the panel and the samples first <= j < last:
  // values[r][j]. `row_squares` has kRows entries, whatever `count`.
  MAXMARGIN_CLONES void tile(const SparsePanel& panel, const float* row_squares, Size count,
                             Size first, Size last, float* const* values) const {
    switch (panel.width() / 8) {
      case 1:
        return tile_of<1>(panel, row_squares, count, first, last, values);
      case 2:
        return tile_of<2>(panel, row_squares, count, first, last, values);
      case 3:
        return tile_of<3>(panel, row_squares, count, first, last, values);
      default:
        return tile_of<kRows / 8>(panel, row_squares, count, first, last, values);
    }
  }

  // sums[c][r] += coef[c][j] k(row r, sample j) over the samples j of a panel of them, for each of
  // kRows rows r that the panel of rows has.
  MAXMARGIN_CLONES void add_sums(const SparsePanel& panel, const float* row_squares, Size samples,
                                 const float* coef, Size n_sums, double* sums) const {
    switch (panel.width() / 8) {
      case 1:
        return add_sums_of<1>(panel, row_squares, samples, coef, n_sums, sums);
      case 2:
        return add_sums_of<2>(panel, row_squares, samples, coef, n_sums, sums);
      case 3:
        return add_sums_of<3>(panel, row_squares, samples, coef, n_sums, sums);
      default:
        return add_sums_of<kRows / 8>(panel, row_squares, samples, coef, n_sums, sums);
    }
  }

  // out[r][0..n) = kernel values between sample index[r] of `other` and all samples here.
  void rows(const SparseKernel& other, const std::int32_t* index, Size count, float* const* out,
            int n_threads) const {
    const Size n_tiles = (n_samples() + kTile - 1) / kTile;
    in_threads(n_tiles, n_threads, [&](Size first, Size last) {
      SparsePanel panel(n_features());
      float squares[kRows] = {};
      for (Size from = 0; from < count; from += kRows) {
        const Size rows = std::min(kRows, count - from);
        panel.fill(other.samples_, index + from, rows);
        for (Size r = 0; r < rows; ++r) squares[r] = other.squares_[index[from + r]];
        tile(panel, squares, rows, first * kTile, std::min(last * kTile, n_samples()), out + from);
      }
    });
  }

 private:
  // All with 8 kLanes rows in the panel.
  template <int kLanes>
  MAXMARGIN_INLINE void tile_of(const SparsePanel& panel, const float* row_squares, Size count,
                                Size first, Size last, float* const* values) const {
    alignas(64) float block[kPanel][8 * kLanes];
    for (Size from = first; from < last; from += kPanel) {
      const Size samples = std::min(kPanel, last - from);
      values_of<kLanes>(panel, row_squares, from, samples, block);
      if (samples == kPanel) {
        for (Size s = 0; s < kPanel; s += 8)
          for (Size r = 0; r < count; r += 8)
            transpose<8 * kLanes>(block[s] + r, values + r, std::min<Size>(8, count - r), from + s);
        continue;
      }
      for (Size r = 0; r < count; ++r)
        for (Size s = 0; s < samples; ++s) values[r][from + s] = block[s][r];
    }
  }

  template <int kLanes>
  MAXMARGIN_INLINE void add_sums_of(const SparsePanel& panel, const float* row_squares,
                                    Size samples, const float* coef, Size n_sums,
                                    double* sums) const {
    alignas(64) float block[kPanel][8 * kLanes];
    const Size from = samples * kPanel, count = std::min(kPanel, n_samples() - from);
    values_of<kLanes>(panel, row_squares, from, count, block);
    for (Size c = 0; c < n_sums; ++c, coef += kPanel, sums += kRows) {
      Eight total[kLanes] = {};
      for (Size s = 0; s < count; ++s)
        for (int lane = 0; lane < kLanes; ++lane)
          total[lane] += coef[s] * eight_at(block[s] + 8 * lane);
      for (int lane = 0; lane < kLanes; ++lane)
        for (int r = 0; r < 8; ++r) sums[8 * lane + r] += static_cast<double>(total[lane][r]);
    }
  }

  // block[s] = kernel values between sample from + s and the rows of the panel.
  template <int kLanes>
  MAXMARGIN_INLINE void values_of(const SparsePanel& panel, const float* row_squares, Size from,
                                  Size count, float (*block)[8 * kLanes]) const {
    const auto* columns = reinterpret_cast<const Eight*>(panel.values());
    const std::uint32_t* place = panel.places();
    for (Size s = 0; s < count; ++s) {
      Eight even[kLanes] = {}, odd[kLanes] = {};
      const auto add = [&](Eight* sums, Size k) MAXMARGIN_INLINED {
        const Eight* column = columns + place[samples_.columns[k]];
        const float value = samples_.values[k];
        for (int lane = 0; lane < kLanes; ++lane) sums[lane] += value * column[lane];
      };
      const Size end = samples_.offsets[from + s + 1];
      Size k = samples_.offsets[from + s];
      for (; k + 2 <= end; k += 2) {
        add(even, k);
        add(odd, k + 1);
      }
      if (k < end) add(even, k);
      for (int lane = 0; lane < kLanes; ++lane)
        eight_at(block[s] + 8 * lane) = even[lane] + odd[lane];
      apply_kernel(formula_, squares_[from + s], row_squares, 8 * kLanes, block[s]);
    }
  }

  CsrRows<float, Index> samples_;
  const float* squares_;
  KernelFormula formula_;
};

}  // namespace maxmargin
