// What the rows add to a certificate.
//
// The solvers take their formulas from objective/losses.hpp; these are written apart from it, from
// the text book, so that an error in one shows in the other. Per sample, with slack xi (of the
// margin, or of the tube around the target):
//
//   loss       cost xi, or cost xi^2
//   dual term  target beta - epsilon |beta|, less beta^2 / (4 cost) for the squared losses
//   box        |beta| <= cost for the absolute losses; beta y >= 0 in classification
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "data/rows.hpp"

namespace maxmargin {

struct CertificateTerms {
  const double* y;
  const double* cost;
  double target_scale, epsilon;
  bool one_sided, bounded;
};

struct CertificateSums {
  double losses = 0.0, conjugates = 0.0, fenchel_young = 0.0, slacks = 0.0;
  double sum = 0.0, size = 0.0;  // of beta and of |beta|
  double kkt_violation = 0.0;    // largest |beta - prox(beta + cost residual)| / cost
  Size n_free = 0, n_bounded = 0;

  CertificateSums operator+(const CertificateSums& other) const {
    return {losses + other.losses,
            conjugates + other.conjugates,
            fenchel_young + other.fenchel_young,
            slacks + other.slacks,
            sum + other.sum,
            size + other.size,
            std::max(kkt_violation, other.kkt_violation),
            n_free + other.n_free,
            n_bounded + other.n_bounded};
  }
};

struct Squares {
  double own = 0.0, dual = 0.0, apart = 0.0;  // |w|^2, |v|^2 and |w - v|^2
};

// Of v the values are so far apart: it may be a column. A stride that is not a constant of 1 there
// would keep the loop from vectorising.
template <class Stride>
MAXMARGIN_INLINE Squares squares_by(const double* w, const double* v, Stride stride, Size n) {
  Squares total;
  in_pieces(n, [&](Size begin, Size end) MAXMARGIN_INLINED {
    double own = 0.0, dual = 0.0, apart = 0.0;
#pragma omp simd reduction(+ : own, dual, apart)
    for (Size j = begin; j < end; ++j) {
      const double other = v[j * stride], difference = w[j] - other;
      own += w[j] * w[j];
      dual += other * other;
      apart += difference * difference;
    }
    total.own += own;
    total.dual += dual;
    total.apart += apart;
  });
  return total;
}

inline Squares squares_of(const double* w, const double* v, Size stride, Size n) {
  if (stride == 1) return MAXMARGIN_CLONED(squares_by(w, v, std::integral_constant<Size, 1>{}, n));
  return MAXMARGIN_CLONED(squares_by(w, v, stride, n));
}

// The kinds of loss at compile time: chosen per sample, they would keep the loops from vectorising.
template <bool one_sided, bool bounded>
struct Formulas {
  const CertificateTerms& terms;

  struct Box {
    double lower, upper;
  };

  MAXMARGIN_INLINE Box box(double y, double cost) const {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    const double reach = bounded ? cost : cost * kAny;
    const double down = one_sided && y > 0.0 ? 0.0 : kAny, up = one_sided && y < 0.0 ? 0.0 : kAny;
    const double size = cost > 0.0 ? reach : 0.0;
    return {-std::min(size, down), std::min(size, up)};
  }

  MAXMARGIN_INLINE void clip(const double* beta, Size n, double* out) const {
    const double *y = terms.y, *cost = terms.cost;
#pragma omp simd
    for (Size k = 0; k < n; ++k) {
      const Box at = box(y[k], cost[k]);
      const double above = beta[k] < at.lower ? at.lower : beta[k];
      out[k] = above > at.upper ? at.upper : above;
    }
  }

  // Scales entries of the heavier sign down until beta sums to 0, which lies in every box. Those
  // inside their box give way first, so that those at a bound stay there.
  MAXMARGIN_INLINE void balance(double* beta, Size n) const {
    const double *y = terms.y, *cost = terms.cost;
    double rise = 0.0, bound_rise = 0.0, fall = 0.0, bound_fall = 0.0;
#pragma omp simd reduction(+ : rise, bound_rise, fall, bound_fall)
    for (Size k = 0; k < n; ++k) {
      const Box at = box(y[k], cost[k]);
      const double up = beta[k] > 0.0 ? beta[k] : 0.0, down = beta[k] < 0.0 ? beta[k] : 0.0;
      const double bound_up = beta[k] == at.upper ? up : 0.0;
      const double bound_down = beta[k] == at.lower ? down : 0.0;
      rise += up - bound_up;
      bound_rise += bound_up;
      fall += down - bound_down;
      bound_fall += bound_down;
    }
    const double excess = (rise + bound_rise) + (fall + bound_fall);
    if (excess == 0.0) return;
    const double sign = excess > 0.0 ? 1.0 : -1.0;
    const double inside = excess > 0.0 ? rise : fall,
                 bound = excess > 0.0 ? bound_rise : bound_fall;
    const double lighter = excess > 0.0 ? fall + bound_fall : rise + bound_rise;
    const bool enough = sign * (lighter + bound) <= 0.0;
    const double giving = enough ? inside : inside + bound,
                 others = enough ? lighter + bound : lighter;
    const double remaining = std::clamp((0.0 - others) / giving, 0.0, 1.0);
#pragma omp simd
    for (Size k = 0; k < n; ++k) {
      const Box at = box(y[k], cost[k]);
      const bool stays = enough && (beta[k] == at.lower || beta[k] == at.upper);
      beta[k] *= sign * beta[k] > 0.0 && !stays ? remaining : 1.0;
    }
  }

  // The beta that a squared loss has at f = z, where the bracket is 0.
  MAXMARGIN_INLINE void answer(const double* z, Size begin, Size count, double* beta) const {
    const double *y = terms.y + begin, *cost = terms.cost + begin;
#pragma omp simd
    for (Size k = 0; k < count; ++k) {
      const double miss =
          one_sided ? terms.target_scale - y[k] * z[k] : std::fabs(y[k] - z[k]) - terms.epsilon;
      const double size = 2.0 * cost[k] * (miss > 0.0 ? miss : 0.0);
      beta[k] = one_sided ? y[k] * size : std::copysign(size, y[k] - z[k]);
    }
  }

  MAXMARGIN_INLINE void add(const double* z, const double* beta, Size begin, Size count,
                            CertificateSums& total) const {
    const double *y = terms.y + begin, *cost = terms.cost + begin;
    const double scale = terms.target_scale, epsilon = terms.epsilon;
    double losses = 0.0, conjugates = 0.0, fenchel_young = 0.0, slacks = 0.0, worst = 0.0;
    double sum = 0.0, size = 0.0, n_free = 0.0, n_bounded = 0.0;
#pragma omp simd reduction(+ : losses, conjugates, fenchel_young, slacks, sum, size, n_free, \
                               n_bounded) reduction(max : worst)
    for (Size k = 0; k < count; ++k) {
      const double target = scale * y[k];
      const double miss = one_sided ? scale - y[k] * z[k] : std::fabs(y[k] - z[k]) - epsilon;
      const double slack = miss > 0.0 ? miss : 0.0;
      const double loss = cost[k] * (bounded ? slack : slack * slack);
      const double curvature = bounded || cost[k] == 0.0 ? 0.0 : 0.5 / cost[k];
      const double conjugate =
          target * beta[k] - epsilon * std::fabs(beta[k]) - 0.5 * curvature * beta[k] * beta[k];
      const double bracket = loss + z[k] * beta[k] - conjugate;
      losses += loss;
      conjugates += conjugate;
      fenchel_young += bracket > 0.0 ? bracket : 0.0;
      slacks += cost[k] > 0.0 ? slack : 0.0;
      sum += beta[k];
      size += std::fabs(beta[k]);

      const Box at = box(y[k], cost[k]);
      const double residual = target - z[k] - curvature * beta[k];
      const double stepped = beta[k] + cost[k] * residual;
      const double reach = std::fabs(stepped) - cost[k] * epsilon;
      double moved = reach > 0.0 ? std::copysign(reach, stepped) : 0.0;
      moved = moved < at.lower ? at.lower : moved;
      moved = moved > at.upper ? at.upper : moved;
      const double change = std::fabs(beta[k] - moved);
      const double violation = cost[k] > 0.0 ? change / cost[k] : 0.0;
      worst = violation > worst ? violation : worst;

      const double support = beta[k] != 0.0 ? 1.0 : 0.0;
      const double low = beta[k] == at.lower ? support : 0.0;
      const double high = beta[k] == at.upper ? support : 0.0;
      const double ends = low > high ? low : high;
      n_bounded += ends;
      n_free += support - ends;
    }
    total.losses += losses;
    total.conjugates += conjugates;
    total.fenchel_young += fenchel_young;
    total.slacks += slacks;
    total.sum += sum;
    total.size += size;
    total.kkt_violation = std::max(total.kkt_violation, worst);
    total.n_free += static_cast<Size>(n_free);
    total.n_bounded += static_cast<Size>(n_bounded);
  }
};

// A point to be certified; all arrays are the caller's. If `answer` is given, the beta that belongs
// to w is written there, and judges instead of `beta`.
struct LinearPoint {
  const double* w;
  double b;
  const double* beta;
  double* answer;
  double* dual_w;  // the rows' beta_i x_i are added to it
};

template <class Formulas, class Rows>
MAXMARGIN_INLINE CertificateSums certify_by(const Formulas& formulas, const Rows& rows,
                                            const LinearPoint& point, Size begin, Size end) {
  const double b = point.b, *const beta = point.answer ? point.answer : point.beta;
  double* const answer = point.answer;
  double f[kMaxChunk];
  RowSum sum(rows, point.dual_w);
  CertificateSums total;
  const auto judge = [&](Size from, Size count, const double* products) MAXMARGIN_INLINED {
    for (Size j = 0; j < count; ++j) f[j] = products[j] + b;
    if (answer) formulas.answer(f, from, count, answer + from);
    sum.add(from, count, beta + from);
    formulas.add(f, beta + from, from, count, total);
  };
  in_streams(rows, begin, end, point.w, judge);
  sum.finish();
  return total;
}

template <class Formulas>
MAXMARGIN_INLINE CertificateSums sum_by(const Formulas& formulas, const double* f,
                                        const double* beta, Size n) {
  CertificateSums total;
  in_pieces(n, [&](Size begin, Size end) MAXMARGIN_INLINED {
    formulas.add(f + begin, beta + begin, begin, end - begin, total);
  });
  return total;
}

// use(the formulas of the loss).
template <class Use>
auto with_formulas(const CertificateTerms& terms, Use use) {
  if (terms.one_sided)
    return terms.bounded ? use(Formulas<true, true>{terms}) : use(Formulas<true, false>{terms});
  return terms.bounded ? use(Formulas<false, true>{terms}) : use(Formulas<false, false>{terms});
}

// What all samples add at known values f.
inline CertificateSums sum_values(const CertificateTerms& terms, const double* f,
                                  const double* beta, Size n) {
  return with_formulas(
      terms, [&](auto formulas) { return MAXMARGIN_CLONED(sum_by(formulas, f, beta, n)); });
}

// out = beta inside its box.
inline void clip_dual(const CertificateTerms& terms, const double* beta, Size n, double* out) {
  with_formulas(terms, [&](auto formulas) { MAXMARGIN_CLONED(formulas.clip(beta, n, out)); });
}

// beta with a sum of 0, inside its box.
inline void balance_dual(const CertificateTerms& terms, double* beta, Size n) {
  with_formulas(terms, [&](auto formulas) { MAXMARGIN_CLONED(formulas.balance(beta, n)); });
}

// Rows begin <= i < end of the certificate of a point.
template <class Rows>
CertificateSums certify_rows(const CertificateTerms& terms, const Rows& rows,
                             const LinearPoint& point, Size begin, Size end) {
  return with_formulas(terms, [&](auto formulas) {
    return MAXMARGIN_CLONED(certify_by(formulas, rows, point, begin, end));
  });
}

}  // namespace maxmargin
