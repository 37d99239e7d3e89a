// Kernel Pegasos: the kernel matrix as rows for stochastic/pegasos.hpp.
//
//   min over f of  P(f) = 1/2 |f|^2 + sum_i C_i loss(f(x_i)),   f = sum_j c_j k(x_j, .) + b
//
// Shalev-Shwartz, Singer, Srebro, Cotter (Math. Prog. 2011), section 4, figure 3: the steps are
// those of the linear solver, and a step at x_i changes c_i only. What they ask of a row is
// <x_i, v> and v += a x_i. With v = (c, z), z = Kc, row i is (e_i, K_i):
//
//   <x_i, v> = z_i,    v += a x_i:  c_i += a,  z += a K_i.
//
// So a draw inside the margin costs nothing, and one outside it a row of K, where figure 3 sums
// over all support vectors at every draw. Rows are computed in tiles, for many draws ahead.
//
// Invariant: z = Kc + what z began with, which may come from samples that are not here (a stream).
#pragma once

#include "kernels/row_cache.hpp"

namespace maxmargin {

// What comes after (c, z) in a vector moves with it but is never read.
class KernelView {
 public:
  Size n_samples, n_features;

  KernelView(Size n, Size n_features, Size capacity, Size together, RowSource source)
      : n_samples(n),
        n_features(n_features),
        together_(std::min(together, std::min(capacity, n))),
        cache_(n, capacity, capacity, std::move(source)) {
    wanted_.reserve(static_cast<std::size_t>(together_));
  }

  MAXMARGIN_INLINE double dot(Size i, const double* v) const { return v[n_samples + i]; }

  MAXMARGIN_INLINE void add_scaled(Size i, double scale, double* v) const {
    v[i] += scale;
    add_row(row(i), scale, v + n_samples);
  }

  MAXMARGIN_INLINE double squared_norm(Size i) const { return static_cast<double>(row(i)[i]); }
  MAXMARGIN_INLINE void prefetch(Size) const {}
  MAXMARGIN_INLINE void prefetch_offset(Size) const {}

  // Computes the rows of the next draws that `moves`, as the point stands, if that is due. `done`
  // counts the draws of the whole run, order[0..left) are the next ones of this epoch.
  template <class Moves>
  void fetch_ahead(const std::int32_t* order, Size left, Size done, Moves moves) const {
    if (done < seen_) return;
    wanted_.clear();
    Size k = 0;
    for (; k < left && k < kDraws * together_; ++k) {
      if (static_cast<Size>(wanted_.size()) == together_) break;
      if (moves(order[k])) wanted_.push_back(order[k]);
    }
    seen_ = done + k;
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    cache_.fetch(wanted_.data(), static_cast<Size>(wanted_.size()));
  }

  // out[c] += sum over k of coef[c][k] K_index[k], for `n_coef` rows of coefficients.
  void combine(const std::int32_t* index, Size count, const double* coef, Size n_coef,
               double* out) const {
    for (Size from = 0; from < count; from += together_) {
      const Size end = std::min(from + together_, count);
      cache_.fetch(index + from, end - from);
      for (Size k = from; k < end; ++k)
        for (Size c = 0; c < n_coef; ++c)
          MAXMARGIN_CLONED(add_row(cache_.row(index[k]), coef[c * count + k], out + c * n_samples));
    }
  }

  Size rows_computed() const { return cache_.rows_computed(); }

 private:
  static constexpr Size kDraws = 16;  // for each row computed together: further ahead is a guess

  MAXMARGIN_INLINE void add_row(const float* row, double scale, double* z) const {
#pragma omp simd
    for (Size j = 0; j < n_samples; ++j) z[j] += scale * static_cast<double>(row[j]);
  }

  const float* row(Size i) const {
    const std::int32_t index = static_cast<std::int32_t>(i);
    cache_.fetch(&index, 1);
    return cache_.row(i);
  }

  Size together_;
  mutable RowCache cache_;
  mutable std::vector<std::int32_t> wanted_;
  mutable Size seen_ = 0;  // draws of the run that were looked at
};

}  // namespace maxmargin
