// Rows of the kernel matrix, in float32.
//
// Every compiled kernel is a function of <x, z>, |x|^2 and |z|^2: products in tiles, turned into
// kernel values before they are written. Other kernels come from the caller, block by block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "rows.hpp"

namespace maxmargin {

// Vectors whose first value begins a cache line.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  bool operator==(const LineAllocator&) const { return true; }
};
using LineVector = std::vector<float, LineAllocator<float>>;

enum class KernelKind { kLinear, kPolynomial, kGaussian, kSigmoid, kCosine };

struct KernelFormula {
  KernelKind kind;
  float gamma, offset;
  int degree;
};

// 2^x for x <= 0 to 1 ulp: a power of two by the exponent bits, the rest by a polynomial with the
// least relative error; 0 below 2^-125, where float32 ends.
MAXMARGIN_INLINE float power_of_two(float x) {
  const float clamped = x < -125.0f ? -125.0f : x;
  const float k = std::nearbyintf(clamped), r = clamped - k;
  float p = 1.5353362e-4f;
  p = p * r + 1.3398874e-3f;
  p = p * r + 9.618437e-3f;
  p = p * r + 5.5503324e-2f;
  p = p * r + 2.4022648e-1f;
  p = p * r + 6.931472e-1f;
  union {
    float value;
    std::int32_t bits;
  } power{p * r + 1.0f};
  power.bits += static_cast<std::int32_t>(k) << 23;
  return x < -125.0f ? 0.0f : power.value;
}

MAXMARGIN_INLINE float integer_power(float base, int exponent) {
  float power = 1.0f;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

// Turns dot products <x, z_j> into kernel values; `square` and `squares` are |x|^2 and |z_j|^2.
MAXMARGIN_INLINE void apply_kernel(const KernelFormula& formula, float square, const float* squares,
                                   Size count, float* values) {
  const float gamma = formula.gamma, offset = formula.offset;
  switch (formula.kind) {
    case KernelKind::kLinear:
      break;
    case KernelKind::kPolynomial:
      for (Size j = 0; j < count; ++j)
        values[j] = integer_power(gamma * values[j] + offset, formula.degree);
      break;
    case KernelKind::kGaussian: {
      constexpr float kLog2OfE = 1.44269504f;
      const float rate = -gamma * kLog2OfE;
#pragma omp simd
      for (Size j = 0; j < count; ++j) {
        const float distance = square + squares[j] - 2.0f * values[j];
        values[j] = power_of_two(rate * (distance > 0.0f ? distance : 0.0f));
      }
      break;
    }
    case KernelKind::kSigmoid:
      for (Size j = 0; j < count; ++j) values[j] = std::tanh(gamma * values[j] + offset);
      break;
    case KernelKind::kCosine:
#pragma omp simd
      for (Size j = 0; j < count; ++j) {
        const float product = std::sqrt(square) * std::sqrt(squares[j]);
        values[j] = product > 0.0f ? values[j] / product : 0.0f;
      }
      break;
  }
}

// work(first, last) on parts of 0 <= k < count; the first part runs here, without a thread. What a
// part throws is thrown here, once all have ended.
template <class Work>
void in_threads(Size count, int n_threads, Work work) {
  const Size parts = std::max<Size>(1, std::min<Size>(n_threads, count));
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(parts));
  {
    std::vector<std::jthread> others;
    for (Size part = 1; part < parts; ++part)
      others.emplace_back([&, part] {
        try {
          work(part * count / parts, (part + 1) * count / parts);
        } catch (...) {
          thrown[part] = std::current_exception();
        }
      });
    work(0, count / parts);
  }
  for (const std::exception_ptr& error : thrown)
    if (error) std::rethrow_exception(error);
}

// out[r][0..n) = values of the kernel between sample index[r] and all samples.
using RowSource = std::function<void(const std::int32_t* index, Size count, float* const* out)>;

// The same rows with the samples seen from a point c of their space: means_i = <x_i, c> and
// mean = <c, c>.
inline RowSource centred(RowSource source, const double* means, Size n, double mean) {
  return [=](const std::int32_t* index, Size count, float* const* out) {
    source(index, count, out);
    for (Size r = 0; r < count; ++r) {
      const double shift = mean - means[index[r]];
      for (Size k = 0; k < n; ++k)
        out[r][k] = static_cast<float>(static_cast<double>(out[r][k]) + (shift - means[k]));
    }
  };
}

// Dense float32 samples, laid out in panels: of kWidth samples the first values, then the second
// ones and so on, so that a tile of kHeight rows and kWidth samples runs in registers (Goto and
// van de Geijn, ACM TOMS 2008) and is turned into kernel values before it is written.
class DenseKernel {
 public:
  static constexpr Size kWidth = 16;
  static constexpr Size kHeight = 6;

  DenseKernel(const float* samples, const float* squares, Size n, Size d, KernelFormula formula)
      : n_(n),
        d_(d),
        formula_(formula),
        panels_(static_cast<std::size_t>(n_panels() * kWidth * d)),
        squares_(static_cast<std::size_t>(n_panels() * kWidth)) {
    std::copy_n(squares, n, squares_.begin());
    for (Size i = 0; i < n; ++i) {
      float* column = panels_.data() + (i / kWidth) * kWidth * d + i % kWidth;
      for (Size k = 0; k < d; ++k) column[k * kWidth] = samples[i * d + k];
    }
  }

  Size n_samples() const { return n_; }
  Size n_features() const { return d_; }
  Size n_panels() const { return (n_ + kWidth - 1) / kWidth; }

  // Sample i as a row, and its square.
  void unpack(Size i, float* row) const {
    const float* column = panels_.data() + (i / kWidth) * kWidth * d_ + i % kWidth;
    for (Size k = 0; k < d_; ++k) row[k] = column[k * kWidth];
  }
  float square(Size i) const { return squares_[i]; }

  // Kernel values between `count` rows, one after the other in memory, and the samples of the
  // panels first <= p < last: values[r][j - origin] for sample j.
  void block(const float* rows, const float* row_squares, Size count, Size first, Size last,
             float* const* values, Size origin = 0) const {
    for (Size p = first; p < last; ++p)
      for (Size r = 0; r < count; r += kHeight)
        tile(rows + r * d_, row_squares + r, std::min(kHeight, count - r), p, values + r, origin);
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
                             float* const* values, Size origin) const {
    switch (height) {
      case 1:
        return tile_of<1>(rows, row_squares, panel, values, origin);
      case 2:
        return tile_of<2>(rows, row_squares, panel, values, origin);
      case 3:
        return tile_of<3>(rows, row_squares, panel, values, origin);
      case 4:
        return tile_of<4>(rows, row_squares, panel, values, origin);
      case 5:
        return tile_of<5>(rows, row_squares, panel, values, origin);
      default:
        return tile_of<kHeight>(rows, row_squares, panel, values, origin);
    }
  }

  template <int height>
  MAXMARGIN_INLINE void tile_of(const float* rows, const float* row_squares, Size panel,
                                float* const* values, Size origin) const {
    typedef float Lanes __attribute__((vector_size(32), aligned(4)));
    Lanes low[height], high[height];
#pragma GCC unroll 8  // as are the loops below: the sums stay in registers
    for (int r = 0; r < height; ++r) low[r] = high[r] = Lanes{};
    const float* sample = panels_.data() + panel * kWidth * d_;
    for (Size k = 0; k < d_; ++k, sample += kWidth) {
      const Lanes a = *reinterpret_cast<const Lanes*>(sample);
      const Lanes b = *reinterpret_cast<const Lanes*>(sample + 8);
#pragma GCC unroll 8
      for (int r = 0; r < height; ++r) {
        const float value = rows[r * d_ + k];
        low[r] += value * a;
        high[r] += value * b;
      }
    }
    const Size begin = panel * kWidth;
    const bool whole = begin + kWidth <= n_;
    float sums[height][kWidth];
#pragma GCC unroll 8
    for (int r = 0; r < height; ++r) {
      *reinterpret_cast<Lanes*>(sums[r]) = low[r];
      *reinterpret_cast<Lanes*>(sums[r] + 8) = high[r];
    }
    for (int r = 0; r < height; ++r) {
      apply_kernel(formula_, row_squares[r], squares_.data() + begin, kWidth, sums[r]);
      std::copy_n(sums[r], whole ? kWidth : n_ - begin, values[r] + (begin - origin));
    }
  }

  Size n_, d_;
  KernelFormula formula_;
  LineVector panels_;
  std::vector<float> squares_;
};

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
  typedef float Lanes __attribute__((vector_size(32), aligned(4)));
  Lanes a[8], b[8];
  for (int c = 0; c < 8; ++c) a[c] = *reinterpret_cast<const Lanes*>(in + c * stride);
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
  for (Size r = 0; r < count; ++r) *reinterpret_cast<Lanes*>(out[r] + at) = b[r];
}

// The same for CSR samples: all of them are streamed against a panel of rows.
template <class Index>
class SparseKernel {
 public:
  static constexpr Size kRows = SparsePanel::kRows;
  static constexpr Size kTile = 512;

  SparseKernel(CsrRows<float, Index> samples, const float* squares, KernelFormula formula)
      : samples_(samples), squares_(squares), formula_(formula) {}

  Size n_samples() const { return samples_.n_samples; }
  Size n_features() const { return samples_.n_features; }

  // Kernel values between `count` rows in the panel and the samples first <= j < last:
  // values[r][j - origin]. `row_squares` has kRows entries, whatever `count`.
  MAXMARGIN_CLONES void tile(const SparsePanel& panel, const float* row_squares, Size count,
                             Size first, Size last, float* const* values, Size origin = 0) const {
    switch (panel.width() / 8) {
      case 1:
        return tile_of<1>(panel, row_squares, count, first, last, values, origin);
      case 2:
        return tile_of<2>(panel, row_squares, count, first, last, values, origin);
      case 3:
        return tile_of<3>(panel, row_squares, count, first, last, values, origin);
      default:
        return tile_of<kRows / 8>(panel, row_squares, count, first, last, values, origin);
    }
  }

  void rows(const SparseKernel& other, const std::int32_t* index, Size count, float* const* out,
            int n_threads) const {
    const Size n_panels = (count + kRows - 1) / kRows, n_tiles = (n_samples() + kTile - 1) / kTile;
    in_threads(n_panels, n_threads, [&](Size first, Size last) {
      SparsePanel panel(n_features());
      float squares[kRows] = {};
      for (Size from = first * kRows; from < std::min(last * kRows, count); from += kRows) {
        const Size rows = std::min(kRows, count - from);
        panel.fill(other.samples_, index + from, rows);
        for (Size r = 0; r < rows; ++r) squares[r] = other.squares_[index[from + r]];
        in_threads(n_tiles, n_panels == 1 ? n_threads : 1, [&](Size begin, Size end) {
          tile(panel, squares, rows, begin * kTile, std::min(end * kTile, n_samples()), out + from);
        });
      }
    });
  }

 private:
  // With 8 kLanes rows in the panel.
  template <int kLanes>
  MAXMARGIN_INLINE void tile_of(const SparsePanel& panel, const float* row_squares, Size count,
                                Size first, Size last, float* const* values, Size origin) const {
    typedef float Lanes __attribute__((vector_size(32), aligned(4)));
    constexpr Size kSamples = 16, kWidth = 8 * kLanes;
    alignas(64) float block[kSamples][kWidth];
    const auto* columns = reinterpret_cast<const Lanes*>(panel.values());
    const std::uint32_t* place = panel.places();
    for (Size from = first; from < last; from += kSamples) {
      const Size samples = std::min(kSamples, last - from);
      for (Size s = 0; s < samples; ++s) {
        Lanes even[kLanes] = {}, odd[kLanes] = {};
        const auto add = [&](Lanes* sums, Size k) {
          const Lanes* column = columns + place[samples_.columns[k]];
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
          *reinterpret_cast<Lanes*>(block[s] + 8 * lane) = even[lane] + odd[lane];
        apply_kernel(formula_, squares_[from + s], row_squares, kWidth, block[s]);
      }
      if (samples == kSamples) {
        for (Size s = 0; s < kSamples; s += 8)
          for (Size r = 0; r < count; r += 8)
            transpose<kWidth>(block[s] + r, values + r, std::min<Size>(8, count - r),
                              from + s - origin);
        continue;
      }
      for (Size r = 0; r < count; ++r)
        for (Size s = 0; s < samples; ++s) values[r][from + s - origin] = block[s][r];
    }
  }

  CsrRows<float, Index> samples_;
  const float* squares_;
  KernelFormula formula_;
};

}  // namespace maxmargin
