// Read-only views of the samples: one interface for dense and CSR storage, resolved at compile
// time.
//
// A view never owns or copies the values. Products are accumulated in double whatever the storage
// type of samples and weights; several independent sums hide the latency of the additions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "common/types.hpp"

namespace maxmargin {

// The values of one row with their columns, stored zeros and all.
template <class T>
struct DenseEntries {
  const T* values;
  Size count;
  MAXMARGIN_INLINE Size column(Size k) const { return k; }
  MAXMARGIN_INLINE double value(Size k) const { return static_cast<double>(values[k]); }
};

template <class T, class Index>
struct CsrEntries {
  const T* values;
  const Index* columns;
  Size count;
  MAXMARGIN_INLINE Size column(Size k) const { return columns[k]; }
  MAXMARGIN_INLINE double value(Size k) const { return static_cast<double>(values[k]); }
};

// Most rows that a pass reads twice in a row: the formulas between the two run as vectors.
constexpr Size kMaxChunk = 1024;

template <class T>
struct DenseRows {
  static constexpr bool kSparse = false;
  const T* values;
  Size n_samples;
  Size n_features;

  MAXMARGIN_INLINE const T* row(Size i) const { return values + i * n_features; }

  MAXMARGIN_INLINE DenseEntries<T> entries(Size i) const { return {row(i), n_features}; }

  template <class Weight>
  MAXMARGIN_INLINE double dot(Size i, const Weight* w) const {
    constexpr int kLanes = 16;
    const T* x = row(i);
    double sums[kLanes] = {};
    Size j = 0;
    for (; j + kLanes <= n_features; j += kLanes)
      for (int k = 0; k < kLanes; ++k) sums[k] += static_cast<double>(x[j + k]) * w[j + k];
    for (; j + 4 <= n_features; j += 4)
      for (int k = 0; k < 4; ++k) sums[k] += static_cast<double>(x[j + k]) * w[j + k];
    for (int k = 0; k < 8; ++k) sums[k] += sums[k + 8];  // halves, so that vectors are added
    for (int k = 0; k < 4; ++k) sums[k] += sums[k + 4];
    double total = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    for (; j < n_features; ++j) total += static_cast<double>(x[j]) * w[j];
    return total;
  }

  // products[s * chunk() + j] = <w, x_k>, k = from + s * part + j < end, of each stream s and j <
  // count. Rows that are not four are taken four times, so that their company does not matter.
  MAXMARGIN_INLINE void dots(Size from, Size count, Size part, Size end, const double* w,
                             double* products) const {
    const bool spread = streams() == 4;
    const Size whole = spread ? std::clamp(end - from - 3 * part, Size{0}, count) : count / 4 * 4;
    const Size stride = spread ? part : 1, apart = spread ? chunk() : 1;
    for (Size j = 0; j < whole; j += spread ? 1 : 4)
      dot_four(from + j, stride, w, products + j, apart);
    for (Size j = whole; j < count; ++j)
      for (Size k = from + j, place = j; k < end; k += part, place += chunk())
        dot_four(k, 0, w, products + place, 0);
  }

  template <class Weight>
  MAXMARGIN_INLINE void add_scaled(Size i, double scale, Weight* w) const {
    const T* x = row(i);
#pragma omp simd
    for (Size j = 0; j < n_features; ++j) {
      w[j] = static_cast<Weight>(w[j] + scale * static_cast<double>(x[j]));
    }
  }

  // Four rows at once: w is read and written once.
  MAXMARGIN_INLINE void add_four(const Size* i, const double* scale, double* w) const {
    const T *a = row(i[0]), *b = row(i[1]), *c = row(i[2]), *d = row(i[3]);
    const double p = scale[0], q = scale[1], r = scale[2], s = scale[3];
#pragma omp simd
    for (Size j = 0; j < n_features; ++j) {
      w[j] += (p * static_cast<double>(a[j]) + q * static_cast<double>(b[j])) +
              (r * static_cast<double>(c[j]) + s * static_cast<double>(d[j]));
    }
  }

  MAXMARGIN_INLINE double squared_norm(Size i) const {
    const T* x = row(i);
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Size j = 0; j < n_features; ++j) {
      total += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    }
    return total;
  }

  // Whole rows, but the longest: the hardware prefetcher is slow to follow. Epochs over rows of 400
  // and 1,000 float32 values take 0.65 and 0.8 of the time that 16 lines ahead would leave.
  MAXMARGIN_INLINE void prefetch(Size i) const {
    constexpr Size kLine = 64 / sizeof(T);
    constexpr Size kMaxLines = 64;
    const T* x = row(i);
    const Size end = n_features < kMaxLines * kLine ? n_features : kMaxLines * kLine;
    for (Size j = 0; j < end; j += kLine) MAXMARGIN_PREFETCH(x + j);
  }

  MAXMARGIN_INLINE void prefetch_offset(Size) const {}

  Size work(Size begin, Size end) const { return (end - begin) * n_features; }

  // Rows of a stream that stay in the second cache, beside those of the others, until they are read
  // again.
  Size chunk() const {
    constexpr Size kBytes = 3 << 14;
    return std::clamp(kBytes / bytes(), Size{2}, kMaxChunk / streams());
  }

  // Rows come faster from several places at a time: 54 or 784 values in two thirds of the time, 200
  // in half of it.
  Size streams() const { return bytes() >= 128 ? 4 : 1; }

 private:
  typedef double Four __attribute__((vector_size(32)));

  MAXMARGIN_INLINE static Four four(const double* x) { return load<Four>(x); }
  MAXMARGIN_INLINE static Four four(const float* x) {
    typedef float Floats __attribute__((vector_size(16)));
    return __builtin_convertvector(load<Floats>(x), Four);
  }

  // The products of the rows i, i + stride, ..., four of them, whose places in `products` are so
  // far apart: w is read once.
  MAXMARGIN_INLINE void dot_four(Size i, Size stride, const double* w, double* products,
                                 Size apart) const {
    const T* x[4] = {row(i), row(i + stride), row(i + 2 * stride), row(i + 3 * stride)};
    Four even[4] = {}, odd[4] = {};
    Size j = 0;
    for (; j + 8 <= n_features; j += 8) {
      const Four near = load<Four>(w + j), far = load<Four>(w + j + 4);
      for (int r = 0; r < 4; ++r) even[r] += four(x[r] + j) * near;
      for (int r = 0; r < 4; ++r) odd[r] += four(x[r] + j + 4) * far;
    }
    if (j + 4 <= n_features) {
      const Four last = load<Four>(w + j);
      for (int r = 0; r < 4; ++r) even[r] += four(x[r] + j) * last;
      j += 4;
    }
    double rest[4] = {};
    for (; j < n_features; ++j)
      for (int r = 0; r < 4; ++r) rest[r] += static_cast<double>(x[r][j]) * w[j];
    for (int r = 0; r < 4; ++r) {
      const Four sums = even[r] + odd[r];
      products[r * apart] = ((sums[0] + sums[2]) + (sums[1] + sums[3])) + rest[r];
    }
  }

  Size bytes() const { return static_cast<Size>(sizeof(T)) * (n_features < 1 ? 1 : n_features); }
};

template <class T, class Index>
struct CsrRows {
  static constexpr bool kSparse = true;
  const T* values;
  const Index* columns;
  const Index* offsets;
  Size n_samples;
  Size n_features;

  MAXMARGIN_INLINE CsrEntries<T, Index> entries(Size i) const {
    return {values + offsets[i], columns + offsets[i],
            static_cast<Size>(offsets[i + 1] - offsets[i])};
  }

  template <class Weight>
  MAXMARGIN_INLINE double dot(Size i, const Weight* w) const {
    return sum_of_products<false>(i, w);
  }

  // The products of so many rows; a weight vector beyond the cache is fetched ahead. What comes
  // after a row must not matter for its bits: the loop is the same for all.
  MAXMARGIN_INLINE void dots(Size from, Size count, Size, Size, const double* w,
                             double* products) const {
    for (Size i = from; i < from + count; ++i)
      products[i - from] = wide() ? sum_of_products<true>(i, w) : dot(i, w);
  }

  template <class Weight>
  MAXMARGIN_INLINE void add_scaled(Size i, double scale, Weight* w) const {
    constexpr int kLanes = 8;  // columns are distinct
    const Size end = offsets[i + 1];
    Size k = offsets[i];
    for (; k + kLanes <= end; k += kLanes) {
      Weight at[kLanes];
      for (int j = 0; j < kLanes; ++j) at[j] = w[columns[k + j]];
      for (int j = 0; j < kLanes; ++j)
        at[j] = static_cast<Weight>(at[j] + scale * static_cast<double>(values[k + j]));
      for (int j = 0; j < kLanes; ++j) w[columns[k + j]] = at[j];
    }
    for (; k < end; ++k) {
      Weight& at = w[columns[k]];
      at = static_cast<Weight>(at + scale * static_cast<double>(values[k]));
    }
  }

  // The same where row i + 1 is likely the next.
  MAXMARGIN_INLINE void add_in_turn(Size i, double scale, double* w) const {
    if (!wide()) return add_scaled(i, scale, w);
    Size k = offsets[i];
    for (; k + 4 <= offsets[i + 1]; k += 4) {
      fetch(k, [&](Size j) MAXMARGIN_INLINED { return w + j; });
      for (Size j = k; j < k + 4; ++j) w[columns[j]] += scale * static_cast<double>(values[j]);
    }
    for (; k < offsets[i + 1]; ++k) w[columns[k]] += scale * static_cast<double>(values[k]);
  }

  // <w, x_i>, and v += scale x_i, of weights in pairs (w_j, v_j): one line of the cache has both.
  MAXMARGIN_INLINE double meet(Size i, double scale, double* pairs) const {
    const Size end = offsets[i + 1];
    Size k = offsets[i];
    double sums[4] = {};
    for (; k + 4 <= end; k += 4) {
      fetch(k, [&](Size j) MAXMARGIN_INLINED { return pairs + 2 * j; });
      for (int j = 0; j < 4; ++j) sums[j] += meet_one(k + j, scale, pairs);
    }
    for (; k < end; ++k) sums[0] += meet_one(k, scale, pairs);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  MAXMARGIN_INLINE double squared_norm(Size i) const {
    constexpr int kLanes = 32;  // sums enough to keep pace with the memory
    const Size end = offsets[i + 1];
    Size k = offsets[i];
    double total = 0.0;
    if (k + kLanes <= end) {
      double sums[kLanes] = {};
      for (; k + kLanes <= end; k += kLanes)
        for (int j = 0; j < kLanes; ++j) sums[j] += square(k + j);
      for (int half = kLanes / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
      total = sums[0];
    }
    double s0 = 0.0, s1 = 0.0;  // by hand: to set lanes up takes longer than a short row
    for (; k + 2 <= end; k += 2) {
      s0 += square(k);
      s1 += square(k + 1);
    }
    if (k < end) s0 += square(k);
    return total + (s0 + s1);
  }

  // Whole rows, but the longest: in the first cache they would take the place of weights.
  MAXMARGIN_INLINE void prefetch(Size i) const {
    constexpr Size kMost = 1024;  // values
    const Size begin = offsets[i], end = std::min<Size>(offsets[i + 1], begin + kMost);
    for (Size k = begin; k < end; k += 64 / sizeof(T)) MAXMARGIN_PREFETCH_FAR(values + k);
    for (Size k = begin; k < end; k += 64 / sizeof(Index)) MAXMARGIN_PREFETCH_FAR(columns + k);
  }

  MAXMARGIN_INLINE void prefetch_offset(Size i) const { MAXMARGIN_PREFETCH(offsets + i); }

  Size work(Size begin, Size end) const { return offsets[end] - offsets[begin]; }

  Size chunk() const { return 256; }  // 460 KB of MNIST
  Size streams() const { return 1; }

 private:
  static constexpr Size kAhead = 40;  // values, the best of 20 to 64 on text

  MAXMARGIN_INLINE bool wide() const { return n_features > 1 << 14; }  // weights beyond the cache

  MAXMARGIN_INLINE double square(Size k) const {
    return static_cast<double>(values[k]) * static_cast<double>(values[k]);
  }

  MAXMARGIN_INLINE double meet_one(Size k, double scale, double* pairs) const {
    const double value = static_cast<double>(values[k]);
    double* at = pairs + 2 * static_cast<Size>(columns[k]);
    if (scale != 0.0) at[1] += scale * value;
    return value * at[0];
  }

  // The weights, found by `of`, of four values ahead of the four from k on, or of the last.
  template <class Of>
  MAXMARGIN_INLINE void fetch(Size k, Of of) const {
    const Size from = std::min<Size>(k + kAhead, offsets[n_samples] - 4);
    for (Size j = from; j < from + 4; ++j) MAXMARGIN_PREFETCH(of(columns[j]));
  }

  template <bool in_turn, class Weight>
  MAXMARGIN_INLINE double sum_of_products(Size i, const Weight* w) const {
    const Size end = offsets[i + 1];
    Size k = offsets[i];
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    for (; k + 4 <= end; k += 4) {
      if constexpr (in_turn) fetch(k, [&](Size j) MAXMARGIN_INLINED { return w + j; });
      s0 += static_cast<double>(values[k]) * w[columns[k]];
      s1 += static_cast<double>(values[k + 1]) * w[columns[k + 1]];
      s2 += static_cast<double>(values[k + 2]) * w[columns[k + 2]];
      s3 += static_cast<double>(values[k + 3]) * w[columns[k + 3]];
    }
    for (; k < end; ++k) s0 += static_cast<double>(values[k]) * w[columns[k]];
    return (s0 + s1) + (s2 + s3);
  }
};

// Goes through the rows begin <= k < end in the streams that suit the storage: read(k), a row of
// each stream in turn.
template <class Rows, class Read>
MAXMARGIN_INLINE void in_streams(const Rows& rows, Size begin, Size end, Read read) {
  const Size streams = rows.streams(), part = (end - begin + streams - 1) / streams;
  for (Size j = begin; j < begin + part; ++j)
    for (Size k = j; k < end; k += part) read(k);
}

// The same by chunks: use(k, count, products) for the rows k, ..., k + count - 1, whose products
// with w were just made; without w there are none.
template <class Rows, class Use>
MAXMARGIN_INLINE void in_streams(const Rows& rows, Size begin, Size end, const double* w, Use use) {
  double products[kMaxChunk];
  const Size streams = rows.streams(), chunk = rows.chunk();
  const Size part = (end - begin + streams - 1) / streams;
  for (Size from = begin; from < begin + part; from += chunk) {
    const Size count = chunk < begin + part - from ? chunk : begin + part - from;
    if (w) rows.dots(from, count, part, end, w, products);
    for (Size k = from, place = 0; k < end; k += part, place += chunk)
      use(k, count < end - k ? count : end - k, products + place);
  }
}

// w += sum of scale_i x_i. Dense rows wait until they are four.
template <class Rows>
class RowSum {
 public:
  MAXMARGIN_INLINE RowSum(const Rows& rows, double* w) : rows_(rows), w_(w) {}

  // A chunk of rows from this one on, but for those whose scale is 0: which ones is hard to
  // predict, so they are listed first, without a branch.
  MAXMARGIN_INLINE void add(Size from, Size count, const double* scale) {
    std::int32_t some[kMaxChunk];
    Size n_some = 0;
    for (Size j = 0; j < count; ++j) {
      some[n_some] = static_cast<std::int32_t>(j);
      n_some += scale[j] != 0.0;
    }
    for (Size j = 0; j < n_some; ++j) add(from + some[j], scale[some[j]]);
  }

  MAXMARGIN_INLINE void add(Size i, double scale) {
    if constexpr (Rows::kSparse) {
      rows_.add_in_turn(i, scale, w_);
    } else {
      row_[waiting_] = i;
      scale_[waiting_] = scale;
      if (++waiting_ < 4) return;
      rows_.add_four(row_, scale_, w_);
      waiting_ = 0;
    }
  }

  MAXMARGIN_INLINE void finish() {
    for (int k = 0; k < waiting_; ++k) rows_.add_scaled(row_[k], scale_[k], w_);
    waiting_ = 0;
  }

 private:
  const Rows& rows_;
  double* w_;
  Size row_[4] = {};
  double scale_[4] = {};
  int waiting_ = 0;
};

using AnyRows =
    std::variant<DenseRows<float>, DenseRows<double>, CsrRows<float, int>, CsrRows<double, int>,
                 CsrRows<float, long long>, CsrRows<double, long long>>;

}  // namespace maxmargin
