// Kernel values of CSR samples.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/row_source.hpp"

namespace maxmargin {

// Some CSR rows laid out densely, column by column, so that one look at an index serves many
// products. Only columns in which a row has a value take room: the rest share one of zeros.
class SparsePanel {
 public:
  // Two samples by so many rows are eight wide registers of sums, or ten others.
  static constexpr Size kRows = 64, kNarrowRows = 40;

  explicit SparsePanel(Size n_features) : place_(static_cast<std::size_t>(n_features), 0) {}

  // Rows that there is room for: 8, or a multiple of 16 in wide registers and of 8 in others.
  Size width() const { return width_; }

  // The values of all columns that have any, `width` for each, and where those of each column
  // begin, in eights.
  const float* values() const { return values_.data(); }
  const std::uint32_t* places() const { return place_.data(); }

  // Lays out the rows index[0 .. count) of any CSR matrix instead of those before.
  template <class Rows, class Position>
  void fill(const Rows& rows, const Position* index, Size count, bool wide) {
    width_ = wide && count > 8 ? (count + 15) / 16 * 16 : (count + 7) / 8 * 8;
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
  LineVector<float> values_;
  Size width_ = 0;
};

// Of the sixteen values of a and b those at these places.
template <int... places>
MAXMARGIN_INLINE Eight shuffled(const Eight& a, const Eight& b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, places...);
#else
  typedef int Places __attribute__((vector_size(32)));
  return __builtin_shuffle(a, b, Places{places...});
#endif
}

// out[r][at + c] = in[c][r] for r < count and c < 8; 8 values of each in[c] are read whatever
// `count`.
MAXMARGIN_INLINE void transpose(const float* const* in, float* const* out, Size count, Size at) {
  Eight a[8], b[8];
  for (int c = 0; c < 8; ++c) a[c] = eight_at(in[c]);
  for (int c = 0; c < 8; c += 2) {
    b[c] = shuffled<0, 8, 1, 9, 4, 12, 5, 13>(a[c], a[c + 1]);
    b[c + 1] = shuffled<2, 10, 3, 11, 6, 14, 7, 15>(a[c], a[c + 1]);
  }
  for (int half = 0; half < 8; half += 4)
    for (int c = half; c < half + 2; ++c) {
      a[half + 2 * (c - half)] = shuffled<0, 1, 8, 9, 4, 5, 12, 13>(b[c], b[c + 2]);
      a[half + 2 * (c - half) + 1] = shuffled<2, 3, 10, 11, 6, 7, 14, 15>(b[c], b[c + 2]);
    }
  for (int c = 0; c < 4; ++c) {
    b[c] = shuffled<0, 1, 2, 3, 8, 9, 10, 11>(a[c], a[c + 4]);
    b[c + 4] = shuffled<4, 5, 6, 7, 12, 13, 14, 15>(a[c], a[c + 4]);
  }
  for (Size r = 0; r < count; ++r) eight_at(out[r] + at) = b[r];
}

// CSR samples two by two, laid out by the columns in which either has a value, so that one look at
// a column of a panel serves both. Among the samples of a window, those with values in the same
// columns are paired. The columns are cut into strips, of which a panel's values stay in the first
// cache while a window passes; fewer strips where a sample would have few values in each.
template <class Index>
class SamplePairs {
 public:
  static constexpr Size kWindow = 64;

  SamplePairs(const CsrRows<float, Index>& samples, int n_threads)
      : n_(samples.n_samples), slot_(static_cast<std::size_t>(n_)) {
    constexpr Size kColumns = 256, kValues = 32, kMost = 4;
    const Size stored = samples.work(0, n_), d = samples.n_features;
    n_strips_ = std::clamp<Size>(std::min(d / kColumns + 1, stored / (kValues * n_ + 1)), 1, kMost);
    for (Size strip = 1; strip < n_strips_; ++strip)
      ends_.push_back(static_cast<Index>(d / n_strips_ * strip));
    ends_.push_back(static_cast<Index>(d));
    // A window has as much room as its samples have values; pages not written to cost nothing.
    column_ = std::make_unique_for_overwrite<Index[]>(static_cast<std::size_t>(stored));
    value_ = std::make_unique_for_overwrite<Two[]>(static_cast<std::size_t>(stored));
    begin_.resize(static_cast<std::size_t>(n_windows() * begins_per_window()));
    in_threads(n_windows(), n_threads, [&](Size first, Size last) {
      for (Size window = first; window < last; ++window) MAXMARGIN_CLONED(lay_out(samples, window));
    });
  }

  Size n_windows() const { return (n_ + kWindow - 1) / kWindow; }
  Size n_strips() const { return n_strips_; }

  // Where the samples of a window lie among those of its pairs.
  const std::uint8_t* slots(Size window) const { return slot_.data() + window * kWindow; }

  // Where the columns and values of its first pair begin in the first strip, those of the second
  // pair and so on, then in the next strip: each ends where the next begins.
  const Size* begins(Size window) const { return begin_.data() + window * begins_per_window(); }

  struct Two {
    float one, two;
  };
  const Index* columns() const { return column_.get(); }
  const Two* values() const { return value_.get(); }

 private:
  // Which columns have values, roughly: some share a bit.
  struct Pattern {
    static constexpr int kWords = 4, kBitsOfBit = 8;
    std::uint64_t words[kWords];

    MAXMARGIN_INLINE void set(const CsrEntries<float, Index>& row, int shift) {
      alignas(8) std::uint8_t has[64 * kWords] = {};
      for (Size k = 0; k < row.count; ++k) has[row.column(k) >> shift] = 1;
      for (int k = 0; k < kWords; ++k) {
        words[k] = 0;
        for (int j = 0; j < 64; j += 8) {
          std::uint64_t eight;  // bytes, each 0 or 1, whose sum by powers of 2 is at the top
          std::memcpy(&eight, has + 64 * k + j, 8);
          words[k] |= ((eight * 0x0102040810204080u) >> 56) << j;
        }
      }
    }
    MAXMARGIN_INLINE int distance(const Pattern& other) const {
      int apart = 0;
      for (int k = 0; k < kWords; ++k) apart += std::popcount(words[k] ^ other.words[k]);
      return apart;
    }
  };

  // Puts samples in an order in which every two are a pair: the one with the most values comes
  // first and gets the one most like it, and so on.
  MAXMARGIN_INLINE static void pair_up(const CsrEntries<float, Index>* samples, Size count,
                                       int shift, Size* order) {
    Pattern pattern[kWindow];
    for (Size i = 0; i < count; ++i) pattern[i].set(samples[i], shift);
    std::iota(order, order + count, Size{0});
    std::stable_sort(order, order + count,
                     [&](Size i, Size j) { return samples[i].count > samples[j].count; });
    for (Size at = 0; at + 1 < count; at += 2) {
      Size best = at + 1;
      int least = std::numeric_limits<int>::max();
      for (Size j = at + 1; j < count; ++j) {
        const int apart = pattern[order[at]].distance(pattern[order[j]]);
        if (apart < least) best = j, least = apart;
      }
      std::rotate(order + at + 1, order + best, order + best + 1);
    }
  }

  MAXMARGIN_INLINE void lay_out(const CsrRows<float, Index>& samples, Size window) {
    const Size first = window * kWindow, count = std::min(kWindow, n_ - first);
    const int width = std::bit_width(static_cast<std::uint64_t>(samples.n_features));
    CsrEntries<float, Index> given[kWindow], left[kWindow + 1] = {};
    for (Size i = 0; i < count; ++i) given[i] = samples.entries(first + i);
    Size order[kWindow];
    pair_up(given, count, std::max(0, width - Pattern::kBitsOfBit), order);
    for (Size at = 0; at < count; ++at) {
      slot_[first + order[at]] = static_cast<std::uint8_t>(at);
      left[at] = given[order[at]];
    }
    Size* begin = begin_.data() + window * begins_per_window();
    *begin = samples.work(0, first);
    for (const Index end : ends_)
      for (Size at = 0; at < count; at += 2, ++begin)
        begin[1] = merge(taken(left[at], end), taken(left[at + 1], end), *begin);
  }

  // What a sample has in columns below `end`, which it has no longer.
  MAXMARGIN_INLINE static CsrEntries<float, Index> taken(CsrEntries<float, Index>& sample,
                                                         Index end) {
    const CsrEntries<float, Index> all = sample;
    const Size count = std::lower_bound(all.columns, all.columns + all.count, end) - all.columns;
    sample = {all.values + count, all.columns + count, all.count - count};
    return {all.values, all.columns, count};
  }

  // Writes from `at` on; where that ends.
  MAXMARGIN_INLINE Size merge(const CsrEntries<float, Index> one,
                              const CsrEntries<float, Index> two, Size at) {
    Size j = 0, k = 0;
    for (; j < one.count && k < two.count; ++at) {
      const Index a = one.columns[j], b = two.columns[k];
      const float x = one.values[j], y = two.values[k];
      column_[at] = a < b ? a : b;
      value_[at] = {a <= b ? x : 0.0f, b <= a ? y : 0.0f};
      j += a <= b;
      k += b <= a;
    }
    for (; j < one.count; ++j, ++at)
      column_[at] = one.columns[j], value_[at] = {one.values[j], 0.0f};
    for (; k < two.count; ++k, ++at)
      column_[at] = two.columns[k], value_[at] = {0.0f, two.values[k]};
    return at;
  }

  Size begins_per_window() const { return n_strips_ * (kWindow / 2) + 1; }

  Size n_, n_strips_;
  std::vector<Index> ends_;         // of the strips
  std::vector<std::uint8_t> slot_;  // of each sample, in its window
  std::vector<Size> begin_;         // by window, strip and pair
  std::unique_ptr<Index[]> column_;
  std::unique_ptr<Two[]> value_;
};

// CSR samples: all of them are streamed against a panel of rows.
template <class Index>
class SparseKernel {
 public:
  static constexpr Size kRows = SparsePanel::kRows, kWindow = SamplePairs<Index>::kWindow;

  // Kernel values of the samples of a window, by slot, with the rows of a panel.
  struct Block {
    alignas(64) float values[kWindow][kRows];
  };

  SparseKernel(CsrRows<float, Index> samples, const float* squares, KernelFormula formula,
               int n_threads)
      : samples_(samples), squares_(squares), formula_(formula), pairs_(samples, n_threads) {}

  Size n_samples() const { return samples_.n_samples; }
  Size n_features() const { return samples_.n_features; }
  Size n_windows() const { return pairs_.n_windows(); }

  // Rows that a panel should have at most.
  Size panel_rows() const { return wide_ ? kRows : SparsePanel::kNarrowRows; }
  bool wide() const { return wide_; }

  // `row_squares` has kRows entries, whatever the panel has.
  void evaluate(const SparsePanel& panel, const float* row_squares, Size window,
                Block& block) const {
    if (wide_ && panel.width() > 8)
      evaluate_wide(panel, row_squares, window, block);
    else
      MAXMARGIN_CLONED(evaluate_narrow(panel, row_squares, window, block));
  }

  // sums[c][r] += coef[c][j] k(row r, sample j) over the samples begin <= j < end of a window.
  MAXMARGIN_INLINE void add_sums(const Block& block, Size begin, Size end, const float* coef,
                                 Size n_sums, double* sums) const {
    const std::uint8_t* slot = pairs_.slots(0);
    for (Size c = 0; c < n_sums; ++c, coef += n_samples(), sums += kRows) {
      for (Size from = 0; from < panel_rows(); from += 8) {
        Eight total = {};
        for (Size j = begin; j < end; ++j)
          total += coef[j] * eight_at(block.values[slot[j]] + from);
        for (int r = 0; r < 8; ++r) sums[from + r] += static_cast<double>(total[r]);
      }
    }
  }

  // out[r][0..n) = kernel values between sample index[r] of `other` and all samples here.
  void rows(const SparseKernel& other, const std::int32_t* index, Size count, float* const* out,
            int n_threads) const {
    in_threads(n_windows(), n_threads, [&](Size first, Size last) {
      SparsePanel panel(n_features());
      Block block{};
      float squares[kRows] = {};
      for (Size from = 0; from < count; from += panel_rows()) {
        const Size rows = std::min(panel_rows(), count - from);
        panel.fill(other.samples_, index + from, rows, wide_);
        for (Size r = 0; r < rows; ++r) squares[r] = other.squares_[index[from + r]];
        for (Size window = first; window < last; ++window) {
          evaluate(panel, squares, window, block);
          MAXMARGIN_CLONED(write(block, window, rows, out + from));
        }
      }
    });
  }

 private:
  MAXMARGIN_INLINE void write(const Block& block, Size window, Size rows, float* const* out) const {
    const std::uint8_t* slot = pairs_.slots(window);
    const Size begin = window * kWindow, count = std::min(kWindow, n_samples() - begin);
    Size j = 0;
    for (; j + 8 <= count; j += 8)
      for (Size r = 0; r < rows; r += 8) {
        const float* in[8];
        for (Size c = 0; c < 8; ++c) in[c] = block.values[slot[j + c]] + r;
        transpose(in, out + r, std::min<Size>(8, rows - r), begin + j);
      }
    for (; j < count; ++j)
      for (Size r = 0; r < rows; ++r) out[r][begin + j] = block.values[slot[j]][r];
    if (begin + 2 * kWindow > n_samples()) return;
    for (Size r = 0; r < rows; ++r)  // the lines come while the next window is evaluated
      for (Size k = kWindow; k < 2 * kWindow; k += 16) MAXMARGIN_PREFETCH(out[r] + begin + k);
  }

  MAXMARGIN_INLINE void evaluate_narrow(const SparsePanel& panel, const float* row_squares,
                                        Size window, Block& block) const {
    switch (panel.width() / 8) {
      case 1:
        return evaluate_with<Eight, 1>(panel, row_squares, window, block);
      case 2:
        return evaluate_with<Eight, 2>(panel, row_squares, window, block);
      case 3:
        return evaluate_with<Eight, 3>(panel, row_squares, window, block);
      case 4:
        return evaluate_with<Eight, 4>(panel, row_squares, window, block);
      default:
        return evaluate_with<Eight, 5>(panel, row_squares, window, block);
    }
  }

  MAXMARGIN_WIDE void evaluate_wide(const SparsePanel& panel, const float* row_squares, Size window,
                                    Block& block) const {
    switch (panel.width() / 16) {
      case 1:
        return evaluate_with<Sixteen, 1>(panel, row_squares, window, block);
      case 2:
        return evaluate_with<Sixteen, 2>(panel, row_squares, window, block);
      case 3:
        return evaluate_with<Sixteen, 3>(panel, row_squares, window, block);
      default:
        return evaluate_with<Sixteen, 4>(panel, row_squares, window, block);
    }
  }

  // With kLanes vectors of rows in the panel.
  template <class Vector, int kLanes>
  MAXMARGIN_INLINE void evaluate_with(const SparsePanel& panel, const float* row_squares,
                                      Size window, Block& block) const {
    constexpr Size kValues = sizeof(Vector) / sizeof(float);
    const float* columns = panel.values();
    const std::uint32_t* place = panel.places();
    const Index* column = pairs_.columns();
    const auto* value = pairs_.values();
    const Size begin = window * kWindow, count = std::min(kWindow, n_samples() - begin);
    const Size n_strips = pairs_.n_strips();
    const Size* range = pairs_.begins(window);
    for (Size strip = 0; strip < n_strips; ++strip) {
      for (Size at = 0; at < count; at += 2, ++range) {
        Vector one[kLanes] = {}, two[kLanes] = {};
        if (strip > 0) {
          for (int lane = 0; lane < kLanes; ++lane) {
            one[lane] = load<Vector>(block.values[at] + kValues * lane);
            two[lane] = load<Vector>(block.values[at + 1] + kValues * lane);
          }
        }
        for (Size k = range[0]; k < range[1]; ++k) {
          const float* from = columns + Size{8} * place[column[k]];
          Vector x[kLanes];
#pragma GCC unroll 8  // as are the loops below: all of it stays in registers
          for (int lane = 0; lane < kLanes; ++lane) x[lane] = load<Vector>(from + kValues * lane);
#pragma GCC unroll 8
          for (int lane = 0; lane < kLanes; ++lane) one[lane] += value[k].one * x[lane];
#pragma GCC unroll 8
          for (int lane = 0; lane < kLanes; ++lane) two[lane] += value[k].two * x[lane];
        }
        for (int lane = 0; lane < kLanes; ++lane) {
          store(one[lane], block.values[at] + kValues * lane);
          store(two[lane], block.values[at + 1] + kValues * lane);
        }
      }
    }
    const std::uint8_t* slot = pairs_.slots(window);
    for (Size j = 0; j < count; ++j)
      apply_kernel(formula_, squares_[begin + j], row_squares, kValues * kLanes,
                   block.values[slot[j]]);
  }

  CsrRows<float, Index> samples_;
  const float* squares_;
  KernelFormula formula_;
  SamplePairs<Index> pairs_;
  const bool wide_ = MAXMARGIN_HAS_WIDE;
};

}  // namespace maxmargin
