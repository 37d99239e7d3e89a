// SMO on several problems that share a small kernel matrix, one after the other.
#pragma once

#include <algorithm>
#include <vector>

#include "objective/problem_batch.hpp"
#include "smo/dense.hpp"

namespace maxmargin {

struct Outcome {
  bool satisfied = false;  // the gap seems small enough
  Size steps = 0, outer_steps = 0;
  double violation = 0.0;
};

// The dual of a problem as SMO has it, and where it starts. With a nu_sum, the target is 0 and each
// label keeps the sum of its beta: half of the nu_sum, given to one sample after the other.
struct BatchDual {
  int n_groups;
  std::vector<double> kernel, target, lower, upper, begin;

  void pose(const ProblemBatch& batch, const BatchProblem& problem) {
    n_groups = problem.nu_sum > 0.0 ? 2 : 1;
    kernel.resize(static_cast<std::size_t>(problem.n * problem.n));
    target.assign(problem.n, 0.0);
    for (auto* values : {&lower, &upper, &begin}) values->assign(n_groups * problem.n, 0.0);
    const std::vector<SampleRun> together = runs_of(problem);
    double left[2] = {0.5 * problem.nu_sum, 0.5 * problem.nu_sum};
    for (Size k = 0; k < problem.n; ++k) {
      const double y = problem.y[k], cost = problem.cost[k];
      const int side = y < 0.0 ? 1 : 0;
      const Size v = (n_groups == 2 ? side * problem.n : 0) + k;
      (y < 0.0 ? lower : upper)[v] = y * cost;
      if (n_groups == 1) target[k] = y;
      const double share = std::min(left[side], cost);
      begin[v] = y * share;
      left[side] -= share;

      const double* row = batch.kernel + problem.sample[k] * batch.n;
      double* own = kernel.data() + k * problem.n;
      for (const auto& [at, from, n] : together) std::copy_n(row + from, n, own + at);
    }
  }
};

// Outer steps on each until its gap is about tol times the dual value, or negligible. Once `poll`
// throws, that problem is left where it is, and those after it are not begun.
inline std::vector<Outcome> solve_batch(const ProblemBatch& batch, const double* negligible,
                                        double tol, Size max_outer, Poll& poll, double* beta) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(batch.count));
  BatchDual dual;
  bool halted = false;
  for (Size p = 0; p < batch.count && !halted; ++p) {
    const BatchProblem problem = batch[p];
    dual.pose(batch, problem);
    DenseSmo smo({problem.n, dual.n_groups, dual.kernel.data(), dual.target.data(),
                  dual.lower.data(), dual.upper.data(), 0.0, batch.free});
    if (problem.nu_sum > 0.0) smo.start(dual.begin.data());
    bool satisfied = false;
    try {
      satisfied = smo.run(tol, negligible[p], max_outer, poll);
    } catch (const Halted&) {
      halted = true;
    }
    const std::vector<double> found = smo.folded();
    std::copy(found.begin(), found.end(), beta + problem.begin);
    outcomes[p] = {satisfied, smo.steps, smo.outer_steps, smo.worst_violation()};
  }
  return outcomes;
}

}  // namespace maxmargin
