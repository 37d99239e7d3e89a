// The columns of a working set, packed one after another.
//
// A value is sqrt(C_i) y_i x_ij: with the residuals r_i = sqrt(C_i) (1 - y_i f_i) the loss is
// sum max(0, r_i)^2, and a row of cost 0 has no values.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "data/rows.hpp"

namespace maxmargin {

// One column: its values and their rows, which are all rows in order if `kWhole`.
template <bool kWhole>
struct PackedColumn {
  const double* values;
  const std::int32_t* rows;
  Size count;
  MAXMARGIN_INLINE Size row(Size k) const { return kWhole ? k : rows[k]; }
};

class PackedColumns {
 public:
  // `factor` is sqrt(C_i) y_i.
  explicit PackedColumns(std::vector<double> factor) : factor_(std::move(factor)) {}

  Size n_rows() const { return static_cast<Size>(factor_.size()); }
  Size count() const { return static_cast<Size>(begin_.size()) - 1; }
  Size stored() const { return begin_.back(); }
  Size stored(Size j) const { return begin_[j + 1] - begin_[j]; }

  // The same value in every row.
  void append_constant(double value) {
    for (Size i = 0; i < n_rows(); ++i) {
      values_.push_back(factor_[i] * value);
      if (!whole_) rows_.push_back(static_cast<std::int32_t>(i));
    }
    begin_.push_back(static_cast<Size>(values_.size()));
  }

  // Columns of dense rows.
  template <class T>
  MAXMARGIN_INLINE void append(const DenseRows<T>& from, const std::int32_t* features, Size count) {
    const Size n = n_rows(), first = begin_.back();
    values_.resize(first + count * n);
    for (Size i = 0; i < n; ++i) {
      const T* x = from.row(i);
      for (Size k = 0; k < count; ++k)
        values_[first + k * n + i] = factor_[i] * static_cast<double>(x[features[k]]);
    }
    for (Size k = 0; k < count; ++k) begin_.push_back(begin_.back() + n);
  }

  // Columns of CSR rows.
  template <class T, class Index>
  MAXMARGIN_INLINE void append(const CsrRows<T, Index>& from, const std::int32_t* features,
                               Size count) {
    std::vector<std::int32_t> place(from.n_features, -1);
    for (Size k = 0; k < count; ++k) place[features[k]] = static_cast<std::int32_t>(k);
    std::vector<Size> next(count, 0);
    const Size end = from.offsets[from.n_samples];
    for (Size at = 0; at < end; ++at) {
      const std::int32_t k = place[from.columns[at]];
      if (k >= 0) ++next[k];
    }
    for (Size k = 0; k < count; ++k) {
      const Size begin = begin_.back();
      begin_.push_back(begin + next[k]);
      next[k] = begin;
    }
    values_.resize(begin_.back());
    rows_.resize(begin_.back());
    for (Size i = 0; i < n_rows(); ++i)
      for (Size at = from.offsets[i]; at < from.offsets[i + 1]; ++at) {
        const std::int32_t k = place[from.columns[at]];
        if (k < 0) continue;
        values_[next[k]] = factor_[i] * static_cast<double>(from.values[at]);
        rows_[next[k]++] = static_cast<std::int32_t>(i);
      }
  }

  // Multiplies all values, also those of columns to come.
  void scale(double by) {
    for (double& value : factor_) value *= by;
    for (double& value : values_) value *= by;
  }

  void keep_row_numbers(bool keep) { whole_ = !keep; }

  // use(column j).
  template <class Use>
  MAXMARGIN_INLINE auto with(Size j, Use use) const {
    const double* values = values_.data() + begin_[j];
    if (whole_) return use(PackedColumn<true>{values, nullptr, stored(j)});
    return use(PackedColumn<false>{values, rows_.data() + begin_[j], stored(j)});
  }

  // The inner product of column j with a vector over the rows.
  MAXMARGIN_INLINE double dot(Size j, const double* v) const {
    return with(j, [&](const auto column) MAXMARGIN_INLINED {
      double sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (Size k = 0; k < column.count; ++k) sum += column.values[k] * v[column.row(k)];
      return sum;
    });
  }

  // v += scale times column j.
  MAXMARGIN_INLINE void add(Size j, double scale, double* v) const {
    with(j, [&](const auto column) MAXMARGIN_INLINED {
      for (Size k = 0; k < column.count; ++k) v[column.row(k)] += scale * column.values[k];
    });
  }

 private:
  std::vector<double> factor_;
  std::vector<Size> begin_{0};
  std::vector<std::int32_t> rows_;
  std::vector<double> values_;
  bool whole_ = false;
};

}  // namespace maxmargin
