// The proximal (augmented Lagrangian) form of the linear SVM.
//
//   min over w of 1/2 |w|^2 + sum_i psi_i(z_i),  z = Xw + bias,
//   psi_i(z) = max over beta of conjugate_i(beta) - z beta - softness_i/2 (beta - centre_i)^2
//
// The maximiser beta_i(z) is piecewise linear, so the objective is piecewise quadratic.
#pragma once

#include <memory>

#include "objective/losses.hpp"

namespace maxmargin {

struct Proximal {
  Terms terms;
  const double* centre;
  double softness;  // the width in z over which beta crosses [0, cost]; 0 for squared losses

  MAXMARGIN_INLINE double soften(Size k) const {
    return terms.cost[k] > 0.0 ? softness / terms.cost[k] : 0.0;
  }
};

struct Slope {
  double beta;  // the maximiser at z
  double stiffness;
  double sloped;  // 1 if beta moves with z, else 0: a bool would keep loops from vectorising

  // -d beta / d z.
  MAXMARGIN_INLINE double weight() const { return sloped > 0.0 ? 1.0 / stiffness : 0.0; }
};

MAXMARGIN_INLINE Slope slope(const Term& term, double soft, double centre, double z) {
  const double stiffness = term.curvature + soft;
  const double beta = term.argmax(term.target - z + soft * centre, stiffness);
  const bool sloped = (beta != 0.0) & (beta > term.lower) & (beta < term.upper);
  return {beta, stiffness, sloped ? 1.0 : 0.0};
}

// The derivative of the objective along a step: constant + s * square + sum over rows of
// -beta_k(z_k + s dz_k) dz_k. Rows that stay in one piece between two values of s add a line; they
// are summed once and leave the arrays, so that the narrower the bracket the less there is to do.
struct Line {
  const double *z, *dz;  // by row, the caller's
  Size n_rows;
  double constant, square;
};

class LineDerivative {
 public:
  struct Value {
    double derivative, curvature;
  };

  LineDerivative(const Proximal& prox, const Line& line)
      : prox_(prox),
        z_(line.z),
        dz_(line.dz),
        count_(line.n_rows),
        constant_(line.constant),
        square_(line.square) {}

  Value at(double s) const {
    return prox_.softness > 0.0 ? MAXMARGIN_CLONED(at<true>(s)) : MAXMARGIN_CLONED(at<false>(s));
  }

  // From now on s lies in [low, high].
  MAXMARGIN_INLINE void narrow(double low, double high) {
    if (!kept_) {
      stride_ = count_;
      kept_ = std::make_unique_for_overwrite<double[]>(5 * static_cast<std::size_t>(count_));
    }
    double *y = kept_.get(), *cost = y + stride_, *centre = cost + stride_, *z = centre + stride_,
           *dz = z + stride_;
    Size kept = 0;
    for (Size k = 0; k < count_; ++k) {
      const Term term = prox_.terms[k];
      const double soft = prox_.soften(k);
      const Slope from = slope(term, soft, prox_.centre[k], z_[k] + low * dz_[k]);
      const Slope to = slope(term, soft, prox_.centre[k], z_[k] + high * dz_[k]);
      const bool one_slope = from.sloped > 0.0 && to.sloped > 0.0 && from.beta * to.beta > 0.0;
      if (one_slope || from.beta == to.beta) {
        const double rise = one_slope ? from.weight() * dz_[k] * dz_[k] : 0.0;
        constant_ -= from.beta * dz_[k] + low * rise;
        square_ += rise;
      } else {
        // In place: what is written was read.
        y[kept] = prox_.terms.y[k];
        cost[kept] = prox_.terms.cost[k];
        centre[kept] = prox_.centre[k];
        z[kept] = z_[k];
        dz[kept] = dz_[k];
        ++kept;
      }
    }
    prox_ = Proximal{Terms{y, cost, prox_.terms.loss}, centre, prox_.softness};
    z_ = z;
    dz_ = dz;
    count_ = kept;
  }

 private:
  template <bool soft>
  MAXMARGIN_INLINE Value at(double s) const {
    const Proximal prox = prox_;
    const double *const z = z_, *const dz = dz_;
    double derivative = constant_ + s * square_, curvature = square_;
#pragma omp simd reduction(+ : derivative, curvature)
    for (Size k = 0; k < count_; ++k) {
      const Slope at =
          slope(prox.terms[k], soft ? prox.soften(k) : 0.0, prox.centre[k], z[k] + s * dz[k]);
      derivative -= at.beta * dz[k];
      curvature += at.weight() * dz[k] * dz[k];
    }
    return {derivative, curvature};
  }

  Proximal prox_;
  const double* z_;
  const double* dz_;
  Size count_;
  double constant_, square_;
  std::unique_ptr<double[]> kept_;  // y, cost, centre, z, dz of the rows still there
  Size stride_ = 0;
};

// The s > 0 at which the derivative vanishes, to `precision` of its value at 0. It is increasing
// and piecewise linear: Newton's iteration inside a bracket.
inline double exact_line_search(LineDerivative& along, double slope_at_0, double precision) {
  constexpr double kNarrower = 0.3;
  constexpr int kFew = 3;  // evaluations cost less than to sort the rows
  double low = 0.0, high = std::numeric_limits<double>::infinity();
  double low_slope = slope_at_0, high_slope = 0.0;
  double narrowed = std::numeric_limits<double>::infinity();  // the bracket's width, last time
  double s = 1.0;
  for (int evaluation = 0; evaluation < 100; ++evaluation) {
    const auto [derivative, curvature] = along.at(s);
    if (std::fabs(derivative) <= precision * std::fabs(slope_at_0)) break;
    if (derivative < 0.0) {
      low = s;
      low_slope = derivative;
    } else {
      high = s;
      high_slope = derivative;
    }
    if (evaluation >= kFew && high - low < kNarrower * narrowed) {
      MAXMARGIN_CLONED(along.narrow(low, high));
      narrowed = high - low;
    }
    double next = s - derivative / curvature;
    if (!(next > low && next < high)) {
      // The step can be too long by orders of magnitude: fall by decades until it is bracketed,
      // then alternate between the secant and the middle.
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
