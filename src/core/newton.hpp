// Semismooth Newton for the proximal (augmented Lagrangian) form of the linear SVM.
//
//   min over w of 1/2 |w|^2 + sum_i psi_i(z_i),  z = Xw + bias,
//   psi_i(z) = max over beta of conjugate_i(beta) - z beta - softness_i/2 (beta - centre_i)^2
//
// The maximiser beta_i(z) is piecewise linear, so the objective is piecewise quadratic: a Newton
// step solves (I + sum over the rows in a sloped piece of x_i x_i' / stiffness_i) step = -gradient,
// and the step length is found exactly. With softness 0 (squared losses) this is the finite Newton
// method of Keerthi and DeCoste (JMLR 2005); with softness it is the inner problem of an augmented
// Lagrangian method (Rockafellar 1976; Li, Sun and Toh, SIAM J. Optim. 2018).
#pragma once

#include <vector>

#include "blas.hpp"
#include "dual_cd.hpp"
#include "losses.hpp"

namespace maxmargin {

// Labels, costs, centres and results below are indexed by position in `subset`, so that the same
// code runs on a sample of the rows.
struct Proximal {
  Terms terms;
  const double* centre;
  double softness;  // the width in z over which beta crosses [0, cost]

  MAXMARGIN_INLINE double soften(Size k) const {
    return terms.loss.bounded && terms.cost[k] > 0.0 ? softness / terms.cost[k] : 0.0;
  }
};

struct Slope {
  double beta;    // the maximiser at z
  double weight;  // -d beta / d z
};

MAXMARGIN_INLINE Slope slope(const Term& term, double soft, double centre, double z) {
  const double stiffness = term.curvature + soft;
  const double beta = term.argmax(term.target - z + soft * centre, stiffness);
  const bool sloped = beta != 0.0 && beta > term.lower && beta < term.upper;
  return {beta, sloped ? 1.0 / stiffness : 0.0};
}

// What the caller decides by: sums over a range of rows at the point z.
struct NewtonSums {
  double fenchel_young = 0.0;  // sum of cost * loss(z) + z beta - conjugate(beta): part of the gap
  double primal_loss = 0.0;
  Size n_sloped = 0;
  Size n_leaving = 0;  // no longer sloped, but still in the Gram matrix
};

// Per row: is it in a sloped piece now, and does the Gram matrix hold it?
enum PieceFlag : std::uint8_t { kSloped = 1, kInGram = 2 };

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

// Moves beta to its maximisers at z, and `combination` = sum of beta_k x_k along with it. Only rows
// whose beta changes are read.
template <class Rows>
MAXMARGIN_CLONES NewtonSums newton_dual(const Rows& rows, const std::int32_t* subset,
                                        const Proximal& prox, Bias bias, const double* z,
                                        Size begin, Size end, double* beta, double* combination,
                                        std::uint8_t* flags) {
  constexpr Size kChunk = 256;  // the formulas of a chunk run as vectors, then its rows are read
  double next[kChunk], weight[kChunk];
  NewtonSums sums;
  for (Size from = begin; from < end; from += kChunk) {
    const Size count = std::min(kChunk, end - from);
    double losses = 0.0, gaps = 0.0;
#pragma omp simd reduction(+ : losses, gaps)
    for (Size j = 0; j < count; ++j) {
      const Size k = from + j;
      const Term term = prox.terms[k];
      const Slope at = slope(term, prox.soften(k), prox.centre[k], z[k]);
      const double value = term.value(z[k]);
      next[j] = at.beta;
      weight[j] = at.weight;
      losses += value;
      gaps += value + z[k] * at.beta - term.conjugate(at.beta);
    }
    sums.primal_loss += losses;
    sums.fenchel_young += gaps;
    for (Size j = 0; j < count; ++j) {
      const Size k = from + j;
      const double change = next[j] - beta[k];
      if (change != 0.0) {
        beta[k] = next[j];
        rows.add_scaled(subset[k], change, combination);
        combination[rows.n_features] += change * bias.feature;
      }
      const bool held = (flags[k] & kInGram) != 0, sloped = weight[j] > 0.0;
      flags[k] = static_cast<std::uint8_t>((held ? kInGram : 0) | (sloped ? kSloped : 0));
      sums.n_sloped += sloped;
      sums.n_leaving += held && !sloped;
    }
  }
  return sums;
}

// gram = sum over the sloped rows of cost_k x_k x_k', by the rows that entered or left since. All
// weights are cost_k times one number that changes with the softness, so this sum does not.
template <class Rows>
MAXMARGIN_CLONES void newton_gram(const Rows& rows, const std::int32_t* subset, const double* cost,
                                  Bias bias, Size begin, Size end, Dsyrk dsyrk, std::uint8_t* flags,
                                  double* gram) {
  GramSum<Rows> entering(rows, bias, dsyrk, 1.0, gram), leaving(rows, bias, dsyrk, -1.0, gram);
  for (Size k = begin; k < end; ++k) {
    const bool held = (flags[k] & kInGram) != 0, sloped = (flags[k] & kSloped) != 0;
    if (held == sloped) continue;
    (sloped ? entering : leaving).add(subset[k], cost[k]);
    flags[k] = sloped ? kSloped | kInGram : 0;
  }
  entering.flush();
  leaving.flush();
}

// out[k] = <w, (x_i, bias.feature)> for i = subset[k].
template <class Rows>
MAXMARGIN_CLONES void newton_predict(const Rows& rows, const std::int32_t* subset, Bias bias,
                                     const double* w, Size begin, Size end, double* out) {
  const double offset = bias.feature * w[rows.n_features];
  for (Size k = begin; k < end; ++k) out[k] = rows.dot(subset[k], w) + offset;
}

// The s > 0 at which d/ds of the objective along the step vanishes, to `precision` of its slope at
// 0. The derivative is increasing and piecewise linear: Newton's iteration inside a bracket.
MAXMARGIN_CLONES inline double exact_line_search(const Proximal& prox, const double* z,
                                                 const double* dz, Size n_samples,
                                                 double slope_at_0, double w_dot_dw,
                                                 double dw_square, double precision) {
  double low = 0.0, high = std::numeric_limits<double>::infinity();
  double low_slope = slope_at_0, high_slope = 0.0;
  double s = 1.0;
  for (int evaluation = 0; evaluation < 100; ++evaluation) {
    double derivative = w_dot_dw + s * dw_square, curvature = dw_square;
#pragma omp simd reduction(+ : derivative, curvature)
    for (Size k = 0; k < n_samples; ++k) {
      const Slope at = slope(prox.terms[k], prox.soften(k), prox.centre[k], z[k] + s * dz[k]);
      derivative -= at.beta * dz[k];
      curvature += at.weight * dz[k] * dz[k];
    }
    if (std::fabs(derivative) <= precision * std::fabs(slope_at_0)) break;
    if (derivative < 0.0) {
      low = s;
      low_slope = derivative;
    } else {
      high = s;
      high_slope = derivative;
    }
    double next = s - derivative / curvature;
    if (!(next > low && next < high)) {
      // The step can be too long by orders of magnitude: fall by decades until it is bracketed,
      // then take the secant and the middle in turns.
      if (high_slope == 0.0) {
        next = 4.0 * low;
      } else if (low == 0.0) {
        next = 0.1 * high;
      } else {
        const double share = evaluation % 2 == 0 ? low_slope / (low_slope - high_slope) : 0.5;
        next = low + share * (high - low);
      }
    }
    if (!(next > low && next < high) || next > 1e15) break;
    s = next;
  }
  return s;
}

}  // namespace maxmargin
