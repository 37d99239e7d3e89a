// The weights of increasing functions in log-odds, by weighted likelihood.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "common/types.hpp"

namespace maxmargin {

constexpr int kFunctions = 4;

using MapWeights = std::array<double, kFunctions>;

// What the weights are fitted to: the functions at each of n scores, one after the other,
// the chance that it has the label, and how many samples it stands for.
struct MapData {
  const double* functions;
  const double* target;
  const double* weight;
  Size n;
};

inline double log_odds(const double* functions, const MapWeights& a) {
  double z = 0.0;
  for (int k = 0; k < kFunctions; ++k) z += functions[k] * a[k];
  return z;
}

// Σ w (log(1 + exp(z)) - t z) + ½ ridge |a - centre|², z = functions · a.
inline double map_loss(const MapData& data, const MapWeights& a, const MapWeights& centre,
                       double ridge) {
  double sum = 0.0;
  for (Size i = 0; i < data.n; ++i) {
    const double z = log_odds(data.functions + kFunctions * i, a);
    const double soft = std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
    sum += data.weight[i] * (soft - data.target[i] * z);
  }
  for (int k = 0; k < kFunctions; ++k) sum += 0.5 * ridge * (a[k] - centre[k]) * (a[k] - centre[k]);
  return sum;
}

struct MapSlope {
  MapWeights gradient;
  std::array<MapWeights, kFunctions> curvature;
};

inline MapSlope map_slope(const MapData& data, const MapWeights& a, const MapWeights& centre,
                          double ridge) {
  MapSlope found{};
  for (Size i = 0; i < data.n; ++i) {
    const double* f = data.functions + kFunctions * i;
    const double p = 1.0 / (1.0 + std::exp(-log_odds(f, a)));
    const double first = data.weight[i] * (p - data.target[i]);
    const double second = data.weight[i] * p * (1.0 - p);
    for (int k = 0; k < kFunctions; ++k) {
      found.gradient[k] += first * f[k];
      for (int j = 0; j <= k; ++j) found.curvature[k][j] += second * f[k] * f[j];
    }
  }
  for (int k = 0; k < kFunctions; ++k) {
    found.gradient[k] += ridge * (a[k] - centre[k]);
    found.curvature[k][k] += ridge + 1e-9;
  }
  return found;
}

// The Newton step of the weights that move, 0 for the others: Cholesky in place.
inline MapWeights map_step(MapSlope slope, const std::array<bool, kFunctions>& moving) {
  auto& L = slope.curvature;
  for (int k = 0; k < kFunctions; ++k) {
    if (moving[k]) continue;
    for (int j = 0; j < k; ++j) L[k][j] = 0.0;
    for (int i = k + 1; i < kFunctions; ++i) L[i][k] = 0.0;
    L[k][k] = 1.0;
    slope.gradient[k] = 0.0;
  }
  for (int k = 0; k < kFunctions; ++k) {
    for (int j = 0; j <= k; ++j) {
      double value = L[k][j];
      for (int i = 0; i < j; ++i) value -= L[k][i] * L[j][i];
      L[k][j] = k == j ? std::sqrt(std::max(value, 1e-300)) : value / L[j][j];
    }
  }
  MapWeights x = slope.gradient;
  for (int k = 0; k < kFunctions; ++k) {
    for (int i = 0; i < k; ++i) x[k] -= L[k][i] * x[i];
    x[k] /= L[k][k];
  }
  for (int k = kFunctions - 1; k >= 0; --k) {
    for (int i = k + 1; i < kFunctions; ++i) x[k] -= L[i][k] * x[i];
    x[k] /= L[k][k];
  }
  return x;
}

// Minimises the loss over a >= 0, from `centre`: Newton steps in the weights that are not held at
// 0, with halving.
inline MapWeights fit_map_weights(const MapData& data, const MapWeights& centre, double ridge) {
  constexpr int kSteps = 50, kHalvings = 30;
  double total = 1.0;
  for (Size i = 0; i < data.n; ++i) total += data.weight[i];
  MapWeights a = centre;
  double value = map_loss(data, a, centre, ridge);
  for (int round = 0; round < kSteps; ++round) {
    const MapSlope slope = map_slope(data, a, centre, ridge);
    std::array<bool, kFunctions> moving{};
    double largest = 0.0;
    for (int k = 0; k < kFunctions; ++k) {
      moving[k] = a[k] > 0.0 || slope.gradient[k] < 0.0;
      if (moving[k]) largest = std::max(largest, std::abs(slope.gradient[k]));
    }
    if (!(largest > 1e-5 * total)) break;
    const MapWeights step = map_step(slope, moving);
    double factor = 1.0;
    bool lower = false;
    for (int halving = 0; halving < kHalvings && !lower; ++halving, factor *= 0.5) {
      MapWeights trial;
      for (int k = 0; k < kFunctions; ++k) trial[k] = std::max(a[k] - factor * step[k], 0.0);
      const double reached = map_loss(data, trial, centre, ridge);
      lower = reached < value;
      if (lower) {
        a = trial;
        value = reached;
      }
    }
    if (!lower) break;
  }
  return a;
}

}  // namespace maxmargin
