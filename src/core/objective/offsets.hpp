// The certificate of a kernel machine f = sum_i beta_i k(x_i, .) + b, as far as it is more than the
// sums of objective/certificate.hpp: the numbers that minimise P for known values z = K beta.
//
// With a nu_sum s the number in the loss is a variable: the margin rho, for which -s rho joins P,
// or the tube epsilon, for which s epsilon does. A nu_sum of 0 says that there is none.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "objective/certificate.hpp"
#include "objective/piecewise_linear.hpp"
#include "objective/problem_batch.hpp"

namespace maxmargin {

struct Offsets {
  double b, number;
};

// The b that minimises the sum of absolute losses. The derivative in b falls by cost where a sample
// leaves its costly side and where it enters the other one, if it has it.
inline double best_intercept(const CertificateTerms& terms, double epsilon, const double* z,
                             Size n) {
  Falls falls;
  falls.reserve(static_cast<std::size_t>(terms.one_sided ? n : 2 * n));
  double start = 0.0;
  for (Size k = 0; k < n; ++k) {
    const double y = terms.y[k], cost = terms.cost[k], gradient = terms.target_scale * y - z[k];
    if (!terms.one_sided || y > 0.0) {
      add_fall(falls, gradient - epsilon, cost);
      start += cost;
    }
    if (!terms.one_sided || y < 0.0) add_fall(falls, gradient + epsilon, cost);
  }
  return crossing(falls, start);
}

// The same, sought around a b that may be near: of all places only those are gathered between whose
// ends the derivative changes its sign.
template <bool one_sided>
MAXMARGIN_INLINE double best_intercept_near(const CertificateTerms& terms, const double* z, Size n,
                                            double b) {
  const double *y = terms.y, *cost = terms.cost;
  const double scale = terms.target_scale, epsilon = terms.epsilon;
  double total = 0.0, spread = 0.0;
#pragma omp simd reduction(+ : total, spread)
  for (Size k = 0; k < n; ++k) {
    total += (one_sided ? 1.0 : 2.0) * cost[k];
    spread += std::fabs(scale * y[k] - z[k] - b);
  }
  const double slack = rounding_of(total);
  double reach = spread / (256.0 * static_cast<double>(n));
  for (int attempt = 0; attempt < 5; ++attempt, reach *= 16.0) {
    const double low = b - reach, high = b + reach;
    double before = 0.0, after = 0.0;
#pragma omp simd reduction(+ : before, after)
    for (Size k = 0; k < n; ++k) {
      const double gradient = scale * y[k] - z[k], rise = gradient - epsilon,
                   fall = gradient + epsilon;
      const double up = !one_sided || y[k] > 0.0 ? cost[k] : 0.0;
      const double down = !one_sided || y[k] < 0.0 ? cost[k] : 0.0;
      before += (rise >= low ? up : 0.0) - (fall < low ? down : 0.0);
      after += (rise > high ? up : 0.0) - (fall <= high ? down : 0.0);
    }
    if (!(before > slack && after < -slack)) continue;
    Falls falls;
    for (Size k = 0; k < n; ++k) {
      const double gradient = scale * y[k] - z[k], rise = gradient - epsilon,
                   fall = gradient + epsilon;
      if ((!one_sided || y[k] > 0.0) && low <= rise && rise <= high) add_fall(falls, rise, cost[k]);
      if ((!one_sided || y[k] < 0.0) && low <= fall && fall <= high) add_fall(falls, fall, cost[k]);
    }
    return crossing(falls, before, total);
  }
  return best_intercept(terms, epsilon, z, n);
}

// The b that minimises the sum of squared losses. Newton's step is the last one if no sample gets
// or loses a slack in it; b stays between the ends that the signs of the derivative have set.
template <bool one_sided>
MAXMARGIN_INLINE double best_intercept_squared(const CertificateTerms& terms, const double* z,
                                               Size n, double b) {
  constexpr int kSteps = 100;
  constexpr double kRounding = 1e-8;  // of the slope; of the sum of losses it is the square of that
  const double *y = terms.y, *cost = terms.cost;
  const double scale = terms.target_scale, epsilon = terms.epsilon;
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (int step = 0; step < kSteps; ++step) {
    double gradient = 0.0, size = 0.0, curvature = 0.0;
#pragma omp simd reduction(+ : gradient, size, curvature)
    for (Size k = 0; k < n; ++k) {
      const double miss = scale * y[k] - z[k] - b;
      const double beyond = one_sided ? y[k] * miss : std::fabs(miss) - epsilon;
      const double slack = beyond > 0.0 ? beyond : 0.0;
      gradient += cost[k] * std::copysign(slack, miss);
      size += cost[k] * slack;
      curvature += beyond > 0.0 ? cost[k] : 0.0;
    }
    if (!(std::fabs(gradient) > kRounding * size)) return b;
    (gradient > 0.0 ? low : high) = b;
    const double newton = b + gradient / curvature;
    const double next = low < newton && newton < high ? newton : 0.5 * (low + high);
    if (newton == b || next == low || next == high) return b;
    b = next;
  }
  return b;
}

// The t that minimises sum_i cost_i max(0, t - v_i) - nu_sum t over some samples: its slope falls
// by cost_i, seen from above, at v_i.
template <class Value, class Belongs>
double best_threshold(const CertificateTerms& terms, Size n, double nu_sum, Value value,
                      Belongs belongs) {
  Falls falls;
  falls.reserve(static_cast<std::size_t>(n));
  for (Size k = 0; k < n; ++k)
    if (belongs(terms.y[k])) add_fall(falls, value(k), terms.cost[k]);
  return crossing(falls, nu_sum);
}

// With a nu_sum each side has a threshold of its own: rho - b for the positive samples and rho + b
// for the negative ones, or epsilon + b above the tube and epsilon - b below it.
inline Offsets best_offsets(const CertificateTerms& terms, const double* z, Size n, bool free,
                            double nu_sum) {
  if (nu_sum == 0.0) {
    const double number = terms.one_sided ? terms.target_scale : terms.epsilon;
    return {free ? best_intercept(terms, terms.epsilon, z, n) : 0.0, number};
  }
  const auto all = [](double) { return true; };
  const auto value = [z](Size k) { return z[k]; };
  const auto mirrored = [z](Size k) { return -z[k]; };
  if (terms.one_sided && !free) return {0.0, best_threshold(terms, n, nu_sum, value, all)};
  const double half = 0.5 * nu_sum;
  if (terms.one_sided) {
    const double rise = best_threshold(terms, n, half, value, [](double y) { return y > 0.0; });
    const double fall = best_threshold(terms, n, half, mirrored, [](double y) { return y < 0.0; });
    return {0.5 * (fall - rise), 0.5 * (fall + rise)};
  }
  const double* y = terms.y;
  const double above = -best_threshold(terms, n, half, [z, y](Size k) { return z[k] - y[k]; }, all);
  const double below = -best_threshold(terms, n, half, [z, y](Size k) { return y[k] - z[k]; }, all);
  if (above + below < 0.0) return {best_intercept(terms, 0.0, z, n), 0.0};
  return {0.5 * (above - below), 0.5 * (above + below)};
}

// The costs of the margin errors (bounded, with slack) and of the support vectors, as shares.
struct Fractions {
  double margin_errors, support_vectors;
};

inline Fractions fractions(const CertificateTerms& terms, const double* f, const double* beta,
                           Size n) {
  double errors = 0.0, support = 0.0, total = 0.0;
  for (Size k = 0; k < n; ++k) {
    const double y = terms.y[k], cost = terms.cost[k];
    const double slack =
        terms.one_sided ? terms.target_scale - y * f[k] : std::fabs(y - f[k]) - terms.epsilon;
    total += cost;
    if (beta[k] != 0.0) support += cost;
    if (beta[k] != 0.0 && std::fabs(beta[k]) >= cost && slack > 0.0) errors += cost;
  }
  return {errors / total, support / total};
}

// All that is needed to judge f = sum_i beta_i k(x_i, .), completed by what minimises P for it.
struct CertificateParts {
  Offsets offsets;
  double square;  // of |w|
  CertificateSums sums;
  Fractions fractions;
};

// For each of some problems of the hinge loss, from nothing but the kernel matrix and beta.
MAXMARGIN_INLINE std::vector<CertificateParts> certify_batch(const ProblemBatch& batch,
                                                             const double* beta) {
  std::vector<CertificateParts> found;
  std::vector<double> f;
  for (Size p = 0; p < batch.count; ++p) {
    const BatchProblem problem = batch[p];
    const double* coef = beta + problem.begin;
    const std::vector<SampleRun> together = runs_of(problem);
    f.assign(static_cast<std::size_t>(problem.n), 0.0);
    for (Size j = 0; j < problem.n; ++j) {
      if (coef[j] == 0.0) continue;
      const double* row = batch.kernel + problem.sample[j] * batch.n;
      for (const auto& [at, from, n] : together)
        for (Size i = 0; i < n; ++i) f[at + i] += coef[j] * row[from + i];
    }
    double square = 0.0;
    for (Size i = 0; i < problem.n; ++i) square += coef[i] * f[i];
    CertificateTerms terms{problem.y, problem.cost, 1.0, 0.0, true, true};
    const Offsets best = best_offsets(terms, f.data(), problem.n, batch.free, problem.nu_sum);
    terms.target_scale = best.number;
    for (double& value : f) value += best.b;
    found.push_back({best, square, sum_values(terms, f.data(), coef, problem.n),
                     fractions(terms, f.data(), coef, problem.n)});
  }
  return found;
}

}  // namespace maxmargin
