// Problems of the hinge loss over some of the samples of one small kernel matrix: pairs of classes,
// or each class against the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "common/types.hpp"

namespace maxmargin {

struct BatchProblem {
  Size begin, n;               // where it lies among the samples of all problems
  const std::int32_t* sample;  // rows of the kernel matrix
  const double *y, *cost;
  double nu_sum;  // of the nu-SVM; 0: none
};

// Samples of a problem that are neighbours in the kernel matrix.
struct SampleRun {
  Size at, from, n;  // its first one in the problem and in the matrix, and how many they are
};

inline std::vector<SampleRun> runs_of(const BatchProblem& problem) {
  std::vector<SampleRun> found;
  for (Size k = 0; k < problem.n; ++k) {
    if (k > 0 && problem.sample[k] == problem.sample[k - 1] + 1)
      ++found.back().n;
    else
      found.push_back({k, problem.sample[k], 1});
  }
  return found;
}

struct ProblemBatch {
  const double* kernel;  // n x n, of all samples
  Size n, count;
  const std::int32_t* ends;  // problem p has the samples ends[p - 1] <= v < ends[p]
  const std::int32_t* sample;
  const double *y, *cost, *nu_sums;
  bool free;  // whether f has an intercept

  BatchProblem operator[](Size p) const {
    const Size begin = p == 0 ? 0 : ends[p - 1];
    return {begin, ends[p] - begin, sample + begin, y + begin, cost + begin, nu_sums[p]};
  }
};

}  // namespace maxmargin
