// The matrix that sums of weight * x x' go to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/aligned.hpp"
#include "common/deadline.hpp"
#include "data/rows.hpp"

namespace maxmargin {

constexpr Size kColumnsPerPoll = 64;  // of a matrix that is filled or copied

constexpr double kTileCost = 3.0;  // of a tile for one row, against a product made by itself

// What the products of a row cost by tiles; a batch of rows also comes to those that few share.
inline double tile_cost(double strips, double dim) {
  constexpr double kShared = 1.0 / 550.0;
  return kTileCost * strips * strips + kShared * dim * dim;
}

// Whether those of so many values, in so many strips of eight columns, are quicker made by
// themselves.
inline bool scattered(double count, double strips, double dim) {
  constexpr double kScatterCost = 8.0;  // of one, against one inside SYRK
  return kScatterCost * count * count < dim * dim && count * count <= kTileCost * strips * strips;
}

// A square matrix in Fortran order, padded to whole tiles, whose columns begin at cache lines. Only
// its upper triangle is meant. The rows and columns may be kept at other places than their own.
class GramMatrix {
 public:
  bool empty() const { return values_.empty(); }
  int dim() const { return dim_; }
  int stride() const { return stride_; }

  // All zeros.
  void resize(int dim, Poll& poll) {
    dim_ = dim;
    stride_ = (dim + kLine - 1) / kLine * kLine;
    const std::size_t column = static_cast<std::size_t>(stride_);
    LineVector<double> zeros;
    zeros.reserve(column * column);
    for (std::size_t j = 1; j <= column; ++j) {
      if (j % kColumnsPerPoll == 0) poll();
      zeros.resize(j * column, 0.0);
    }
    values_ = std::move(zeros);
  }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }

  // Where each column, and row, is kept from now on.
  void arrange(std::vector<std::int32_t> places) { places_ = std::move(places); }
  bool arranged() const { return !places_.empty(); }
  MAXMARGIN_INLINE Size place(Size j) const { return arranged() ? places_[j] : j; }

  // A vector at these places, and back.
  std::vector<double> placed(const std::vector<double>& v) const {
    std::vector<double> out(v.size());
    for (std::size_t j = 0; j < v.size(); ++j) out[place(j)] = v[j];
    return out;
  }
  std::vector<double> unplaced(const std::vector<double>& v) const {
    std::vector<double> out(v.size());
    for (std::size_t j = 0; j < v.size(); ++j) out[j] = v[place(j)];
    return out;
  }

  double* data() { return values_.data(); }
  const double* column(int j) const { return values_.data() + static_cast<Size>(j) * stride_; }

 private:
  static constexpr int kLine = 8;  // values

  int dim_ = 0, stride_ = 0;
  LineVector<double> values_;
  std::vector<std::int32_t> places_;  // none: their own
};

}  // namespace maxmargin
