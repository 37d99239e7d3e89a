// The matrix that sums of weight * x x' go to.
#pragma once

#include <algorithm>

#include "lines.hpp"
#include "rows.hpp"

namespace maxmargin {

// A square matrix in Fortran order, padded to whole tiles, whose columns begin at cache lines. Only
// its upper triangle is meant.
class GramMatrix {
 public:
  bool empty() const { return values_.empty(); }
  int dim() const { return dim_; }
  int stride() const { return stride_; }

  void resize(int dim) {
    dim_ = dim;
    stride_ = (dim + kLine - 1) / kLine * kLine;
    values_.assign(static_cast<std::size_t>(stride_) * stride_, 0.0);
  }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }

  double* data() { return values_.data(); }
  const double* column(int j) const { return values_.data() + static_cast<Size>(j) * stride_; }

 private:
  static constexpr int kLine = 8;  // values

  int dim_ = 0, stride_ = 0;
  LineVector<double> values_;
};

}  // namespace maxmargin
