// Sums of weight * x x' over chosen rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "bias.hpp"
#include "blas.hpp"
#include "rows.hpp"

namespace maxmargin {

// Adds weight * x x' to the upper triangle of `gram` (Fortran order, the bias last), or takes it
// away (sign -1). Rows with few values are scattered; the others wait in a block, scaled by the
// root of their weight, for a SYRK.
template <class Rows>
class GramSum {
 public:
  GramSum(const Rows& rows, Bias bias, Dsyrk dsyrk, double sign, double* gram)
      : rows_(rows),
        bias_(bias),
        dsyrk_(dsyrk),
        sign_(sign),
        gram_(gram),
        dim_(static_cast<int>(rows.n_features) + 1),
        columns_(std::clamp(kBlock / dim_, 256, 1024)),
        column_(dim_ + 1),
        value_(dim_ + 1) {}

  MAXMARGIN_INLINE void add(Size i, double weight) {
    constexpr double kScatterCost = 8.0;  // of one scattered product, against one inside SYRK
    if (Rows::kSparse || dim_ > kWide) {  // a narrow dense row is not worth the search for zeros
      const int count = rows_.gather(i, column_.data(), value_.data());
      if (kScatterCost * count * count < static_cast<double>(dim_) * dim_) {
        scatter(count, sign_ * weight);
        return;
      }
    }
    enqueue(i, std::sqrt(weight));
  }

  void flush() {
    const double one = 1.0;
    if (filled_ > 0)
      dsyrk_("U", "N", &dim_, &filled_, &sign_, block_.data(), &dim_, &one, gram_, &dim_);
    filled_ = 0;
  }

 private:
  // The gathered columns must be sorted: only the upper triangle is kept.
  MAXMARGIN_INLINE void scatter(int count, double weight) {
    column_[count] = dim_ - 1;
    value_[count] = bias_.feature;
    const int* __restrict column = column_.data();
    const double* __restrict value = value_.data();
    for (int j = 0; j <= count; ++j) {
      double* __restrict out = gram_ + static_cast<Size>(column[j]) * dim_;
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
  int dim_;
  int columns_;
  int filled_ = 0;
  std::vector<int> column_;  // of one row, while it is scattered
  std::vector<double> value_;
  std::vector<double> block_;
};

}  // namespace maxmargin
