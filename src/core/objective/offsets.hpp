// The certificate of a kernel machine f = sum_i beta_i k(x_i, .) + b, as far as it is more than the
// sums of objective/certificate.hpp: the numbers that minimise P for known values z = K beta.
//
// With a mass s the number in the loss is a variable: the margin rho, for which -s rho joins P, or
// the tube epsilon, for which s epsilon does. A mass of 0 says that there is none.
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
inline double best_intercept(const Judged& judged, double epsilon, const double* z, Size n) {
  Falls falls;
  falls.reserve(static_cast<std::size_t>(judged.one_sided ? n : 2 * n));
  double start = 0.0;
  for (Size k = 0; k < n; ++k) {
    const double y = judged.y[k], cost = judged.cost[k], pull = judged.target_scale * y - z[k];
    if (!judged.one_sided || y > 0.0) {
      add_fall(falls, pull - epsilon, cost);
      start += cost;
    }
    if (!judged.one_sided || y < 0.0) add_fall(falls, pull + epsilon, cost);
  }
  return crossing(falls, start);
}

// The same, sought around a b that may be near: of all places only those are gathered between whose
// ends the derivative changes its sign.
template <bool one_sided>
MAXMARGIN_INLINE double best_intercept_near(const Judged& judged, const double* z, Size n,
                                            double b) {
  const double *y = judged.y, *cost = judged.cost;
  const double scale = judged.target_scale, epsilon = judged.epsilon;
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
      const double pull = scale * y[k] - z[k], rise = pull - epsilon, fall = pull + epsilon;
      const double up = !one_sided || y[k] > 0.0 ? cost[k] : 0.0;
      const double down = !one_sided || y[k] < 0.0 ? cost[k] : 0.0;
      before += (rise >= low ? up : 0.0) - (fall < low ? down : 0.0);
      after += (rise > high ? up : 0.0) - (fall <= high ? down : 0.0);
    }
    if (!(before > slack && after < -slack)) continue;
    Falls falls;
    for (Size k = 0; k < n; ++k) {
      const double pull = scale * y[k] - z[k], rise = pull - epsilon, fall = pull + epsilon;
      if ((!one_sided || y[k] > 0.0) && low <= rise && rise <= high) add_fall(falls, rise, cost[k]);
      if ((!one_sided || y[k] < 0.0) && low <= fall && fall <= high) add_fall(falls, fall, cost[k]);
    }
    return crossing(falls, before, total);
  }
  return best_intercept(judged, epsilon, z, n);
}

// The b that minimises the sum of squared losses. Newton's step is the last one if no sample gets
// or loses a slack in it; b stays between the ends that the signs of the derivative have set.
template <bool one_sided>
MAXMARGIN_INLINE double best_intercept_squared(const Judged& judged, const double* z, Size n,
                                               double b) {
  constexpr int kSteps = 100;
  constexpr double kRounding = 1e-8;  // of the slope; of the sum of losses it is the square of that
  const double *y = judged.y, *cost = judged.cost;
  const double scale = judged.target_scale, epsilon = judged.epsilon;
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (int step = 0; step < kSteps; ++step) {
    double pull = 0.0, size = 0.0, curvature = 0.0;
#pragma omp simd reduction(+ : pull, size, curvature)
    for (Size k = 0; k < n; ++k) {
      const double miss = scale * y[k] - z[k] - b;
      const double beyond = one_sided ? y[k] * miss : std::fabs(miss) - epsilon;
      const double slack = beyond > 0.0 ? beyond : 0.0;
      pull += cost[k] * std::copysign(slack, miss);
      size += cost[k] * slack;
      curvature += beyond > 0.0 ? cost[k] : 0.0;
    }
    if (!(std::fabs(pull) > kRounding * size)) return b;
    (pull > 0.0 ? low : high) = b;
    const double newton = b + pull / curvature;
    const double next = low < newton && newton < high ? newton : 0.5 * (low + high);
    if (newton == b || next == low || next == high) return b;
    b = next;
  }
  return b;
}

// The t that minimises sum_i cost_i max(0, t - v_i) - mass t over some samples: its slope falls by
// cost_i, seen from above, at v_i.
template <class Value, class Belongs>
double best_threshold(const Judged& judged, Size n, double mass, Value value, Belongs belongs) {
  Falls falls;
  falls.reserve(static_cast<std::size_t>(n));
  for (Size k = 0; k < n; ++k)
    if (belongs(judged.y[k])) add_fall(falls, value(k), judged.cost[k]);
  return crossing(falls, mass);
}

// With a mass each side has a threshold of its own: rho - b for the positive samples and rho + b
// for the negative ones, or epsilon + b above the tube and epsilon - b below it.
inline Offsets best_offsets(const Judged& judged, const double* z, Size n, bool free, double mass) {
  if (mass == 0.0) {
    const double number = judged.one_sided ? judged.target_scale : judged.epsilon;
    return {free ? best_intercept(judged, judged.epsilon, z, n) : 0.0, number};
  }
  const auto all = [](double) { return true; };
  const auto value = [z](Size k) { return z[k]; };
  const auto mirrored = [z](Size k) { return -z[k]; };
  if (judged.one_sided && !free) return {0.0, best_threshold(judged, n, mass, value, all)};
  const double half = 0.5 * mass;
  if (judged.one_sided) {
    const double rise = best_threshold(judged, n, half, value, [](double y) { return y > 0.0; });
    const double fall = best_threshold(judged, n, half, mirrored, [](double y) { return y < 0.0; });
    return {0.5 * (fall - rise), 0.5 * (fall + rise)};
  }
  const double* y = judged.y;
  const double above =
      -best_threshold(judged, n, half, [z, y](Size k) { return z[k] - y[k]; }, all);
  const double below =
      -best_threshold(judged, n, half, [z, y](Size k) { return y[k] - z[k]; }, all);
  if (above + below < 0.0) return {best_intercept(judged, 0.0, z, n), 0.0};
  return {0.5 * (above - below), 0.5 * (above + below)};
}

// The costs of the margin errors (bounded, with slack) and of the support vectors, as shares.
struct Fractions {
  double margin_errors, support_vectors;
};

inline Fractions fractions(const Judged& judged, const double* f, const double* beta, Size n) {
  double errors = 0.0, support = 0.0, total = 0.0;
  for (Size k = 0; k < n; ++k) {
    const double y = judged.y[k], cost = judged.cost[k];
    const double slack =
        judged.one_sided ? judged.target_scale - y * f[k] : std::fabs(y - f[k]) - judged.epsilon;
    total += cost;
    if (beta[k] != 0.0) support += cost;
    if (beta[k] != 0.0 && std::fabs(beta[k]) >= cost && slack > 0.0) errors += cost;
  }
  return {errors / total, support / total};
}

// All that is needed to judge f = sum_i beta_i k(x_i, .), completed by what minimises P for it.
struct Verdict {
  Offsets offsets;
  double square;  // of |w|
  Tally tally;
  Fractions fractions;
};

// For each of some problems of the hinge loss, from nothing but the kernel matrix and beta.
MAXMARGIN_INLINE std::vector<Verdict> judge_parts(const Parts& parts, const double* beta) {
  std::vector<Verdict> verdicts;
  std::vector<double> f;
  for (Size p = 0; p < parts.count; ++p) {
    const Part part = parts[p];
    const double* coef = beta + part.begin;
    const std::vector<Stretch> together = stretches(part);
    f.assign(static_cast<std::size_t>(part.n), 0.0);
    for (Size j = 0; j < part.n; ++j) {
      if (coef[j] == 0.0) continue;
      const double* row = parts.kernel + part.sample[j] * parts.n;
      for (const auto& [at, from, n] : together)
        for (Size i = 0; i < n; ++i) f[at + i] += coef[j] * row[from + i];
    }
    double square = 0.0;
    for (Size i = 0; i < part.n; ++i) square += coef[i] * f[i];
    Judged judged{part.y, part.cost, 1.0, 0.0, true, true};
    const Offsets best = best_offsets(judged, f.data(), part.n, parts.free, part.mass);
    judged.target_scale = best.number;
    for (double& value : f) value += best.b;
    verdicts.push_back({best, square, tally_values(judged, f.data(), coef, part.n),
                        fractions(judged, f.data(), coef, part.n)});
  }
  return verdicts;
}

}  // namespace maxmargin
