// SMO on several problems that share a small kernel matrix, one after the other.
#pragma once

#include <algorithm>
#include <vector>

#include "objective/problem_batch.hpp"
#include "smo/dense.hpp"

namespace maxmargin {

struct Outcome {
  bool satisfied = false;  // the gap looks small enough
  Size steps = 0, outer_steps = 0;
  double violation = 0.0;
};

// The dual of a part as SMO has it, and where it starts. With a mass, the target is 0 and each
// label keeps the sum of its beta: half of the mass, given to one sample after the other.
struct PartDual {
  int n_groups;
  std::vector<double> kernel, target, lower, upper, begin;

  void pose(const Parts& parts, const Part& part) {
    n_groups = part.mass > 0.0 ? 2 : 1;
    kernel.resize(static_cast<std::size_t>(part.n * part.n));
    target.assign(part.n, 0.0);
    for (auto* values : {&lower, &upper, &begin}) values->assign(n_groups * part.n, 0.0);
    const std::vector<Stretch> together = stretches(part);
    double left[2] = {0.5 * part.mass, 0.5 * part.mass};
    for (Size k = 0; k < part.n; ++k) {
      const double y = part.y[k], cost = part.cost[k];
      const int side = y < 0.0 ? 1 : 0;
      const Size v = (n_groups == 2 ? side * part.n : 0) + k;
      (y < 0.0 ? lower : upper)[v] = y * cost;
      if (n_groups == 1) target[k] = y;
      const double share = std::min(left[side], cost);
      begin[v] = y * share;
      left[side] -= share;

      const double* row = parts.kernel + part.sample[k] * parts.n;
      double* own = kernel.data() + k * part.n;
      for (const auto& [at, from, n] : together) std::copy_n(row + from, n, own + at);
    }
  }
};

// Outer steps on each until its gap looks like tol times the dual value, or negligible. Once `poll`
// throws, that problem is left where it is, and those after it are not begun.
inline std::vector<Outcome> solve_parts(const Parts& parts, const double* negligible, double tol,
                                        Size max_outer, Poll& poll, double* beta) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(parts.count));
  PartDual dual;
  bool halted = false;
  for (Size p = 0; p < parts.count && !halted; ++p) {
    const Part part = parts[p];
    dual.pose(parts, part);
    WholeSmo smo({part.n, dual.n_groups, dual.kernel.data(), dual.target.data(), dual.lower.data(),
                  dual.upper.data(), 0.0, parts.free});
    if (part.mass > 0.0) smo.start(dual.begin.data());
    bool satisfied = false;
    try {
      satisfied = smo.run(tol, negligible[p], max_outer, poll);
    } catch (const Halted&) {
      halted = true;
    }
    const std::vector<double> found = smo.folded();
    std::copy(found.begin(), found.end(), beta + part.begin);
    outcomes[p] = {satisfied, smo.steps, smo.outer_steps, smo.worst_violation()};
  }
  return outcomes;
}

}  // namespace maxmargin
