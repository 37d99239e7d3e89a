// Sums of weight * x x' over chosen rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "linalg/blocked.hpp"
#include "linalg/gram_popcount.hpp"
#include "objective/intercept.hpp"

namespace maxmargin {

// Collects 64 rows, and adds sign * sum of x x' to the upper triangle of `gram` by tiles of 8 x 4,
// in wide registers of 8 x 8, each kept there while the rows that are not 0 in it are gone through:
// zeros of dense storage come in runs, and whole tiles of them cost nothing.
class TileBatch {
 public:
  TileBatch(GramMatrix& gram, double sign)
      : matrix_(gram),
        gram_(gram.data()),
        stride_(gram.stride()),
        sign_(sign),
        strips_(stride_ / 8) {}

  // Takes the row scale * (x, last), unless it is long and most of it is not 0: SYRK is the better
  // place then.
  template <class T>
  MAXMARGIN_INLINE bool take(const T* x, int count, double scale, double last) {
    make_room();
    const int whole = count / 8;
    int found = 0;
    for (int k = 0; k < whole; ++k) found += pack(k, x + 8 * k, scale);
    double rest[8] = {};
    for (int j = 8 * whole; j < count; ++j) rest[j - 8 * whole] = static_cast<double>(x[j]);
    rest[count - 8 * whole] = last;
    found += pack(whole, rest, scale);
    return keep(found);
  }

  // The same, of values at the places of their columns.
  template <class T, class Index>
  MAXMARGIN_INLINE bool take(CsrEntries<T, Index> x, double scale, double last) {
    make_room();
    double* const out = packed_.data() + 8 * filled_;
    std::uint8_t* const found = found_.data() + filled_;
    int strips = 0;
    const auto put = [&](Size place, double value) MAXMARGIN_INLINED {
      const Size begin = kRows * (place / 8);
      out[8 * begin + place % 8] = value;
      strips += found[begin] == 0;
      found[begin] = 1;
    };
    for (Size j = 0; j < x.count; ++j) put(matrix_.place(x.column(j)), scale * x.value(j));
    if (last != 0.0) put(matrix_.place(matrix_.dim() - 1), scale * last);
    return keep(strips);
  }

  MAXMARGIN_INLINE void flush() {
    if (filled_ == 0) return;
    for (Size k = 0; k < strips_; ++k) rows_[k] = mask(found_.data() + kRows * k);
    wide_ ? add_wide() : add_narrow();
    for (Size k = 0; k < strips_; ++k)
      for (std::uint64_t rows = rows_[k]; rows != 0; rows &= rows - 1)
        std::fill_n(packed_.data() + 8 * (kRows * k + __builtin_ctzll(rows)), 8, 0.0);
    std::fill(found_.begin(), found_.end(), 0);
    filled_ = 0;
  }

 private:
  // Goes on to the next row, unless this one is long and has values in most strips.
  MAXMARGIN_INLINE bool keep(int strips) {
    if (stride_ > kLong && 10 * strips > 7 * strips_) {
      for (Size k = 0; k < strips_; ++k) drop(k);
      return false;
    }
    if (++filled_ == kRows) flush();
    return true;
  }

  MAXMARGIN_INLINE void make_room() {
    if (!packed_.empty()) return;
    packed_.resize(static_cast<std::size_t>(8 * kRows * strips_));
    found_.resize(static_cast<std::size_t>(kRows * strips_));
    rows_.resize(static_cast<std::size_t>(strips_));
  }

  // A bit for each of 64 bytes, which are 0 or 1: a product brings those of eight together.
  MAXMARGIN_INLINE static std::uint64_t mask(const std::uint8_t* bytes) {
    std::uint64_t bits = 0;
    for (int k = 0; k < 8; ++k) {
      std::uint64_t eight = 0;
      for (int j = 0; j < 8; ++j) eight |= std::uint64_t(bytes[8 * k + j]) << (8 * j);
      bits |= (eight * 0x0102040810204080) >> 56 << (8 * k);
    }
    return bits;
  }

  typedef double Four __attribute__((vector_size(32)));
  typedef double Wide __attribute__((vector_size(64)));

  MAXMARGIN_INLINE void add_narrow() {
    for (Size J = 0; J < strips_; ++J)
      for (Size I = 0; I <= J; ++I)
        if (const std::uint64_t rows = rows_[I] & rows_[J]) {
          add_tile(I, 2 * J, rows);
          add_tile(I, 2 * J + 1, rows);
        }
  }

  MAXMARGIN_WIDE void add_wide() {
    for (Size J = 0; J < strips_; ++J)
      for (Size I = 0; I <= J; ++I)
        if (const std::uint64_t rows = rows_[I] & rows_[J]) add_wide_tile(I, J, rows);
  }

  // Eight values of the row, if they are not all 0; whether.
  template <class T>
  MAXMARGIN_INLINE bool pack(int k, const T* x, double scale) {
    int found = 0;
    for (int j = 0; j < 8; ++j) found |= x[j] != T(0);
    if (!found) return false;
    const Size place = kRows * k + filled_;
    for (int j = 0; j < 8; ++j) packed_[8 * place + j] = scale * static_cast<double>(x[j]);
    found_[place] = 1;
    return true;
  }

  // Takes a strip of the row back.
  MAXMARGIN_INLINE void drop(Size k) {
    const Size place = kRows * k + filled_;
    std::fill_n(packed_.data() + 8 * place, 8, 0.0);
    found_[place] = 0;
  }

  // Rows 8I, ..., 8I + 7 and columns 8J, ..., 8J + 7.
  MAXMARGIN_INLINE void add_wide_tile(Size I, Size J, std::uint64_t rows) {
    const double *left = packed_.data() + 8 * kRows * I, *right = packed_.data() + 8 * kRows * J;
    Wide sums[8] = {};
    for (; rows != 0; rows &= rows - 1) {
      const int r = 8 * __builtin_ctzll(rows);
      const Wide a = load<Wide>(left + r);
      for (int j = 0; j < 8; ++j) sums[j] += a * right[r + j];
    }
    for (int j = 0; j < 8; ++j) add(gram_ + (8 * J + j) * stride_ + 8 * I, sums[j]);
  }

  // Rows 8I, ..., 8I + 7 and columns 4J, ..., 4J + 3. What lies below the diagonal nobody reads.
  MAXMARGIN_INLINE void add_tile(Size I, Size J, std::uint64_t rows) {
    const double* left = packed_.data() + 8 * kRows * I;
    const double* right = packed_.data() + 8 * kRows * (J / 2) + 4 * (J % 2);
    Four upper[4] = {}, lower[4] = {};
    for (; rows != 0; rows &= rows - 1) {
      const int r = 8 * __builtin_ctzll(rows);
      const Four a = load<Four>(left + r), b = load<Four>(left + r + 4);
      for (int j = 0; j < 4; ++j) {
        upper[j] += a * right[r + j];
        lower[j] += b * right[r + j];
      }
    }
    for (int j = 0; j < 4; ++j) {
      double* out = gram_ + (4 * J + j) * stride_ + 8 * I;
      add(out, upper[j]);
      add(out + 4, lower[j]);
    }
  }

  template <class Vector>
  MAXMARGIN_INLINE void add(double* out, const Vector& sum) const {
    store(load<Vector>(out) + sign_ * sum, out);
  }

  static constexpr Size kRows = 64, kLong = 256;
  const GramMatrix& matrix_;
  double* gram_;
  Size stride_;
  double sign_;
  Size strips_;  // of eight columns
  Size filled_ = 0;
  const bool wide_ = MAXMARGIN_HAS_WIDE;
  LineVector<double> packed_;        // a strip of each row, then the next; what is not there is 0
  std::vector<std::uint8_t> found_;  // whether it is
  std::vector<std::uint64_t> rows_;  // the same as bits
};

// Adds weight * x x' to the upper triangle of `gram` (Fortran order, the bias last), or takes it
// away (sign -1). CSR rows of indicators are counted, others with few values, far apart, scattered;
// the rest and dense rows go to the tiles; what these do not take waits in a block, scaled by the
// root of their weight, for a SYRK.
template <class Rows>
class GramSum {
 public:
  static constexpr int kRowsAtATime = 256;

  // About `expected` rows will be added.
  GramSum(const Rows& rows, Bias bias, double sign, Size expected, GramMatrix& gram)
      : rows_(rows),
        bias_(bias),
        sign_(sign),
        matrix_(gram),
        gram_(gram.data()),
        dim_(gram.dim()),
        stride_(gram.stride()),
        columns_(std::clamp(kBlock / dim_, 2 * kRowsAtATime, 4 * kRowsAtATime)),
        column_(dim_ + 1),
        value_(dim_ + 1),
        bits_(gram, sign, expected),
        tiles_(gram, sign) {}

  MAXMARGIN_INLINE void add(Size i, double weight) {
    if constexpr (Rows::kSparse) {
      const auto x = rows_.entries(i);
      if (bits_.take(x, weight, bias_.feature)) return;
      if (!matrix_.arranged() && scattered(static_cast<double>(x.count), n_strips(x), dim_)) {
        scatter(x, sign_ * weight);
        return;
      }
      if (tiles_.take(x, std::sqrt(weight), bias_.feature)) return;
    } else if (tiles_.take(rows_.row(i), dim_ - 1, std::sqrt(weight), bias_.feature)) {
      return;
    }
    enqueue(i, std::sqrt(weight));
  }

  // Room for kRowsAtATime more: to be asked for before they come, where an exception may pass.
  void make_room(const Blas& blas, Poll& poll) {
    if (filled_ + kRowsAtATime > columns_) flush_block(blas, poll);
  }

  void flush_block(const Blas& blas, Poll& poll) {
    if (filled_ > 0)
      add_panels(blas, {"N", filled_, sign_, block_.data(), dim_}, dim_, gram_, stride_, poll);
    filled_ = 0;
  }

  // What waits elsewhere.
  MAXMARGIN_INLINE void flush_batches() {
    bits_.flush();
    tiles_.flush();
  }

 private:
  // Strips of eight columns in which the row has a value.
  template <class Entries>
  MAXMARGIN_INLINE static int n_strips(const Entries& x) {
    int strips = x.count > 0;
    for (Size j = 1; j < x.count; ++j) strips += x.column(j) / 8 != x.column(j - 1) / 8;
    return strips;
  }

  // The columns must be sorted: only the upper triangle is kept.
  template <class Entries>
  MAXMARGIN_INLINE void scatter(const Entries& x, double weight) {
    const int count = static_cast<int>(x.count);
    for (int j = 0; j < count; ++j) {
      column_[j] = static_cast<int>(x.column(j));
      value_[j] = x.value(j);
    }
    column_[count] = dim_ - 1;
    value_[count] = bias_.feature;
    const int* __restrict column = column_.data();
    const double* __restrict value = value_.data();
    const int own = count + (bias_.feature != 0.0);
    for (int j = 0; j < own; ++j) {
      double* __restrict out = gram_ + static_cast<Size>(column[j]) * stride_;
      const double scaled = weight * value[j];
      int k = 0;
      for (; k + 4 <= j + 1; k += 4) {  // columns are distinct: four sums at a time
        const double o0 = out[column[k]] + scaled * value[k];
        const double o1 = out[column[k + 1]] + scaled * value[k + 1];
        const double o2 = out[column[k + 2]] + scaled * value[k + 2];
        const double o3 = out[column[k + 3]] + scaled * value[k + 3];
        out[column[k]] = o0;
        out[column[k + 1]] = o1;
        out[column[k + 2]] = o2;
        out[column[k + 3]] = o3;
      }
      for (; k <= j; ++k) out[column[k]] += scaled * value[k];
    }
  }

  MAXMARGIN_INLINE void enqueue(Size i, double root) {
    if (block_.empty()) block_.resize(static_cast<std::size_t>(dim_) * columns_);
    double* column = block_.data() + static_cast<std::size_t>(filled_) * dim_;
    std::fill(column, column + dim_, 0.0);
    const auto x = rows_.entries(i);
    for (Size j = 0; j < x.count; ++j) column[matrix_.place(x.column(j))] = root * x.value(j);
    column[matrix_.place(dim_ - 1)] = root * bias_.feature;
    ++filled_;
  }

  static constexpr int kBlock = 32768;  // values: half an L2 cache, where the columns fit in it
  const Rows& rows_;
  Bias bias_;
  double sign_;
  const GramMatrix& matrix_;
  double* gram_;
  int dim_, stride_;
  int columns_;
  int filled_ = 0;
  std::vector<int> column_;  // of one row, while it is scattered
  std::vector<double> value_;
  std::vector<double> block_;
  BitBatch bits_;
  TileBatch tiles_;
};

}  // namespace maxmargin
