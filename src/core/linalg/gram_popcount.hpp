// Sums of weight * x x' over rows of indicators.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linalg/gram_matrix.hpp"

namespace maxmargin {

// Collects rows that are 0 but for one number, the same in all of them, and adds sign * weight *
// sum of x x' by counting: a bit for each row and column, and the rows that two columns share are
// the bits of both. Indicators of categories are such rows.
class BitBatch {
 public:
  static constexpr Size kWidest = 512;  // columns

  // `expected` rows will be shown: a few are not worth the look at all pairs of columns.
  BitBatch(GramMatrix& gram, double sign, Size expected)
      : gram_(gram.data()),
        dim_(gram.dim()),
        stride_(gram.stride()),
        sign_(sign),
        worthwhile_(expected >= kFewest && dim_ <= kWidest) {}

  // Takes the row (x, last), unless it is of another kind than those that wait, or so empty that
  // its products are quicker made one by one.
  template <class T, class Index>
  MAXMARGIN_INLINE bool take(const CsrEntries<T, Index>& x, double weight, double last) {
    if (!worthwhile_ || kShare * x.count < dim_ || !all_equal(x)) return false;
    if (filled_ == 0) {
      weight_ = weight;
      value_ = x.value(0);
      last_ = last;
      bits_.resize(static_cast<std::size_t>(dim_) * kWords);
    } else if (weight != weight_ || x.value(0) != value_) {
      return false;
    }
    const std::uint64_t bit = std::uint64_t(1) << (filled_ % 64);
    std::uint64_t* const word = bits_.data() + filled_ / 64;
    for (Size j = 0; j < x.count; ++j) word[x.column(j) * kWords] |= bit;
    if (last != 0.0) word[(dim_ - 1) * kWords] |= bit;
    if (++filled_ == 64 * kWords) flush();
    return true;
  }

  MAXMARGIN_INLINE void flush() {
    if (filled_ == 0) return;
    wide_ ? count_wide() : count();
    std::fill(bits_.begin(), bits_.end(), 0);
    filled_ = 0;
  }

 private:
  template <class T, class Index>
  MAXMARGIN_INLINE static bool all_equal(const CsrEntries<T, Index>& x) {
    const T* const values = x.values;
    int others = 0;
#pragma omp simd reduction(+ : others)
    for (Size j = 1; j < x.count; ++j) others += values[j] != values[0];
    return others == 0 && values[0] != T(0);
  }

  MAXMARGIN_INLINE void count() {
    const Size words = (filled_ + 511) / 512 * 8;
    for (Size j = 0; j < dim_; ++j) {
      const double unit = sign_ * weight_ * entry(j);
      double* const out = gram_ + j * stride_;
      for (Size i = 0; i <= j; ++i) {
        const Size rows = shared(bits_.data() + i * kWords, bits_.data() + j * kWords, words);
        out[i] += unit * entry(i) * static_cast<double>(rows);
      }
    }
  }
  MAXMARGIN_COUNTS void count_wide() { count(); }

  MAXMARGIN_INLINE double entry(Size column) const { return column + 1 < dim_ ? value_ : last_; }

  MAXMARGIN_INLINE static Size shared(const std::uint64_t* a, const std::uint64_t* b, Size words) {
    Size rows = 0;
#pragma omp simd reduction(+ : rows)
    for (Size k = 0; k < words; ++k) rows += __builtin_popcountll(a[k] & b[k]);
    return rows;
  }

  static constexpr Size kWords = 32;  // of 64 rows: the bits of 100 columns fill the first cache
  static constexpr Size kShare = 12;  // one in so many columns must have a value
  static constexpr Size kFewest = 256;
  double* gram_;
  Size dim_, stride_;
  double sign_;
  bool worthwhile_;
  Size filled_ = 0;
  double weight_ = 0.0, value_ = 0.0, last_ = 0.0;
  const bool wide_ = MAXMARGIN_HAS_COUNTS;
  LineVector<std::uint64_t> bits_;  // by column
};

}  // namespace maxmargin
