// Inner products and distances of CSR rows in double, for what float32 tiles are checked by.
//
// The rows of one side are listed by column, so that a value meets only the rows that have one in
// its column: a row of sums that stays in the cache collects them.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "data/rows.hpp"

namespace maxmargin {

// CSR rows turned over: of each column, the rows with a value there, and the values.
class ByColumn {
 public:
  template <class T, class Index>
  explicit ByColumn(const CsrRows<T, Index>& rows)
      : n_rows_(rows.n_samples),
        begin_(static_cast<std::size_t>(rows.n_features) + 1, 0),
        row_(static_cast<std::size_t>(rows.work(0, rows.n_samples))),
        value_(row_.size()) {
    const Size first = rows.offsets[0], end = rows.offsets[n_rows_];
    for (Size k = first; k < end; ++k) ++begin_[rows.columns[k] + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<Size> next(begin_.begin(), begin_.end() - 1);
    for (Size i = 0; i < n_rows_; ++i)
      for (Size k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
        const Size place = next[rows.columns[k]]++;
        row_[place] = static_cast<std::int32_t>(i);
        value_[place] = static_cast<double>(rows.values[k]);
      }
  }

  Size n_rows() const { return n_rows_; }

  // sums[j] += <x, row j>.
  template <class Entries>
  MAXMARGIN_INLINE void add_products(const Entries& x, double* sums) const {
    for (Size k = 0; k < x.count; ++k) {
      const double value = x.value(k);
      const Size end = begin_[x.column(k) + 1];
      for (Size at = begin_[x.column(k)]; at < end; ++at) sums[row_[at]] += value * value_[at];
    }
  }

 private:
  Size n_rows_;
  std::vector<Size> begin_;
  std::vector<std::int32_t> row_;
  std::vector<double> value_;
};

// out[i][j] = <row i of A, row j of B>.
template <class T, class Index>
MAXMARGIN_INLINE void sparse_products(const CsrRows<T, Index>& A, const ByColumn& B, double* out) {
  std::fill_n(out, A.n_samples * B.n_rows(), 0.0);
  for (Size i = 0; i < A.n_samples; ++i) B.add_products(A.entries(i), out + i * B.n_rows());
}

// |x - z|^2 as a sum of squared differences: no digits cancel, however far the rows are from 0.
template <class First, class Second>
double squared_distance(const First& x, const Second& z) {
  double sum = 0.0;
  Size j = 0, k = 0;
  while (j < x.count || k < z.count) {
    const bool from_x = k == z.count || (j < x.count && x.column(j) <= z.column(k));
    const bool from_z = j == x.count || (k < z.count && z.column(k) <= x.column(j));
    const double difference =
        (from_x ? double{x.value(j)} : 0.0) - (from_z ? double{z.value(k)} : 0.0);
    sum += difference * difference;
    j += from_x;
    k += from_z;
  }
  return sum;
}

// out[i][j] = |row i of A - row j of B|^2.
template <class Left, class Right>
void sparse_distances(const Left& A, const Right& B, double* out) {
  for (Size i = 0; i < A.n_samples; ++i)
    for (Size j = 0; j < B.n_samples; ++j) *out++ = squared_distance(A.entries(i), B.entries(j));
}

}  // namespace maxmargin
