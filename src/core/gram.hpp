// Sums of weight * x x' over chosen rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bias.hpp"
#include "blas.hpp"
#include "rows.hpp"

namespace maxmargin {

// A square matrix in Fortran order whose columns begin at cache lines, so that no quad of rows
// straddles two. Only its upper triangle is meant.
class GramMatrix {
 public:
  bool empty() const { return values_.empty(); }
  int dim() const { return dim_; }
  int stride() const { return stride_; }

  void resize(int dim) {
    dim_ = dim;
    stride_ = (dim + kLine - 1) / kLine * kLine;
    values_.assign(static_cast<std::size_t>(stride_) * dim + kLine, 0.0);
  }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }

  double* data() { return values_.data() + skipped(); }
  const double* column(int j) const {
    return values_.data() + skipped() + static_cast<Size>(j) * stride_;
  }

 private:
  static constexpr int kLine = 8;  // values

  Size skipped() const {
    const auto past = reinterpret_cast<std::uintptr_t>(values_.data()) / sizeof(double) % kLine;
    return static_cast<Size>((kLine - past) % kLine);
  }

  int dim_ = 0, stride_ = 0;
  std::vector<double> values_;
};

// Collects rows of dense storage that are mostly 0, and adds weight * x x' of each to the upper
// triangle of `gram` (Fortran order). Such zeros come in runs, so a row is kept as quads of
// neighbouring columns of which one at least is not 0. The matrix is gone through by blocks of
// columns that stay in the cache while all rows of the batch are added to them.
class QuadBatch {
 public:
  explicit QuadBatch(GramMatrix& gram)
      : dim_(gram.dim()),
        stride_(gram.stride()),
        gram_(gram.data()),
        block_(std::max(4, kCacheBytes / static_cast<int>(sizeof(double)) / stride_)) {}

  // Takes the row, if that is cheaper than SYRK; x has dim values and zeros up to a multiple of 4.
  MAXMARGIN_INLINE bool take(const double* x, double weight) {
    constexpr double kQuadCost = 6.0;  // of one product with a quad, against one inside SYRK
    const Row row{weight, heads_.size(), columns_.size()};
    for (int head = 0; head < dim_; head += 4) {
      if (x[head] == 0.0 && x[head + 1] == 0.0 && x[head + 2] == 0.0 && x[head + 3] == 0.0)
        continue;
      heads_.push_back(head);
      quads_.insert(quads_.end(), x + head, x + head + 4);
      for (int k = head; k < std::min(head + 4, dim_); ++k) {
        if (x[k] == 0.0) continue;
        columns_.push_back(k);
        reaches_.push_back(heads_.size() - row.quads);
        values_.push_back(x[k]);
      }
    }
    const double quads = static_cast<double>(heads_.size() - row.quads);
    const double values = static_cast<double>(columns_.size() - row.columns);
    if (kQuadCost * quads * values >= static_cast<double>(dim_) * dim_) {
      heads_.resize(row.quads);
      quads_.resize(4 * row.quads);
      columns_.resize(row.columns);
      reaches_.resize(row.columns);
      values_.resize(row.columns);
      return false;
    }
    rows_.push_back(row);
    if (rows_.size() == kRows) flush();
    return true;
  }

  MAXMARGIN_INLINE void flush() {
    std::vector<std::size_t> cursor(rows_.size());
    for (std::size_t r = 0; r < rows_.size(); ++r) cursor[r] = rows_[r].columns;
    for (int from = 0; from < dim_; from += block_) {
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        const std::size_t end = r + 1 < rows_.size() ? rows_[r + 1].columns : columns_.size();
        for (; cursor[r] < end && columns_[cursor[r]] < from + block_; ++cursor[r])
          add_column(rows_[r], cursor[r]);
      }
    }
    rows_.clear();
    heads_.clear();
    quads_.clear();
    columns_.clear();
    reaches_.clear();
    values_.clear();
  }

 private:
  struct Row {
    double weight;
    std::size_t quads, columns;  // where its own begin
  };

  // The quad on the diagonal reaches below it, where nobody reads.
  MAXMARGIN_INLINE void add_column(const Row& row, std::size_t place) {
    double* __restrict out = gram_ + static_cast<Size>(columns_[place]) * stride_;
    const int* __restrict head = heads_.data() + row.quads;
    const double* __restrict quad = quads_.data() + 4 * row.quads;
    const double scale = row.weight * values_[place];
    for (std::size_t q = 0; q < reaches_[place]; ++q) {
      double* __restrict at = out + head[q];
      const double* __restrict x = quad + 4 * q;
      const double a = at[0] + scale * x[0], b = at[1] + scale * x[1];
      const double c = at[2] + scale * x[2], d = at[3] + scale * x[3];
      at[0] = a;  // all read before any is written: one vector
      at[1] = b;
      at[2] = c;
      at[3] = d;
    }
  }

  static constexpr std::size_t kRows = 64;
  static constexpr int kCacheBytes = 1 << 17;
  int dim_, stride_;
  double* gram_;
  int block_;
  std::vector<Row> rows_;
  std::vector<int> heads_;            // first columns of the quads, row after row
  std::vector<double> quads_;         // four values for each
  std::vector<int> columns_;          // of the values that are not 0
  std::vector<std::size_t> reaches_;  // the row's quads up to the diagonal of that column
  std::vector<double> values_;
};

// Adds weight * x x' to the upper triangle of `gram` (Fortran order, the bias last), or takes it
// away (sign -1). Rows with few values are scattered; the others wait in a block, scaled by the
// root of their weight, for a SYRK.
template <class Rows>
class GramSum {
 public:
  GramSum(const Rows& rows, Bias bias, Dsyrk dsyrk, double sign, GramMatrix& gram)
      : rows_(rows),
        bias_(bias),
        dsyrk_(dsyrk),
        sign_(sign),
        gram_(gram.data()),
        dim_(gram.dim()),
        stride_(gram.stride()),
        columns_(std::clamp(kBlock / dim_, 256, 1024)),
        column_(dim_ + 1),
        value_(dim_ + 4),
        quads_(gram) {}

  MAXMARGIN_INLINE void add(Size i, double weight) {
    if constexpr (Rows::kSparse) {
      constexpr double kScatterCost = 8.0;  // of one scattered product, against one inside SYRK
      const int count = rows_.gather(i, column_.data(), value_.data());
      if (kScatterCost * count * count < static_cast<double>(dim_) * dim_) {
        scatter(count, sign_ * weight);
        return;
      }
    } else if (dim_ > kWide) {  // a narrow row is not worth the search for zeros
      std::copy_n(rows_.row(i), dim_ - 1, value_.begin());
      value_[dim_ - 1] = bias_.feature;
      if (quads_.take(value_.data(), sign_ * weight)) return;
    }
    enqueue(i, std::sqrt(weight));
  }

  void flush() {
    const double one = 1.0;
    if (filled_ > 0)
      dsyrk_("U", "N", &dim_, &filled_, &sign_, block_.data(), &dim_, &one, gram_, &stride_);
    filled_ = 0;
  }

  // All that still waits.
  MAXMARGIN_INLINE void finish() {
    flush();
    quads_.flush();
  }

 private:
  // The gathered columns must be sorted: only the upper triangle is kept.
  MAXMARGIN_INLINE void scatter(int count, double weight) {
    column_[count] = dim_ - 1;
    value_[count] = bias_.feature;
    const int* __restrict column = column_.data();
    const double* __restrict value = value_.data();
    for (int j = 0; j <= count; ++j) {
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
    rows_.add_scaled(i, root, column);
    column[dim_ - 1] = root * bias_.feature;
    if (++filled_ == columns_) flush();
  }

  static constexpr int kWide = 256;
  static constexpr int kBlock = 32768;  // values: half an L2 cache, where 256 columns fit in it
  const Rows& rows_;
  Bias bias_;
  Dsyrk dsyrk_;
  double sign_;
  double* gram_;
  int dim_, stride_;
  int columns_;
  int filled_ = 0;
  std::vector<int> column_;    // of one row, while it is scattered
  std::vector<double> value_;  // with zeros behind it
  std::vector<double> block_;
  QuadBatch quads_;
};

}  // namespace maxmargin
