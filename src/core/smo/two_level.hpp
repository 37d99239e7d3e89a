// Two-level sequential minimal optimisation for kernel machines.
//
//   max over beta of  sum_i target_i beta_i - epsilon |beta_i|  -  1/2 beta' K beta,
//   lower <= beta <= upper, and, for a free intercept, sum_i beta_i kept as it is in every group
//
// Outer level: a working set that fits the cache, half of it the worst violators, half kept from
// before (Joachims 1999; the scheme of ThunderSVM and oneDAL). Inner level: pairs chosen by second
// order (Fan, Chen and Lin, JMLR 2005) on the small dense block, until its violation is a fraction
// of what it was. Only then are the residuals of all samples brought up to date.
//
// Invariant between outer steps: residual = target - K beta, in double; K in float32.
#pragma once

#include <limits>

#include "common/deadline.hpp"
#include "kernels/row_cache.hpp"
#include "smo/gradient.hpp"
#include "smo/working_set.hpp"

namespace maxmargin {

class Smo {
 public:
  std::vector<double> beta, residual;
  Size steps = 0, outer_steps = 0;
  double dual = 0.0;              // the objective
  std::vector<double> threshold;  // of each group, midway between its two sides
  bool stuck = false;             // nothing is left to gain that rounding would show

  Smo(const SmoProblem& problem, Size working, Size capacity, Size first, RowSource source,
      int n_threads)
      : beta(problem.n, 0.0),
        residual(problem.target, problem.target + problem.n),
        threshold(1 + *std::max_element(problem.group, problem.group + problem.n), 0.0),
        problem_(problem),
        n_threads_(n_threads),
        n_groups_(static_cast<int>(threshold.size())),
        set_(problem.n, std::min(working, problem.n)),
        cache_(problem.n, std::max(capacity, std::min(working, problem.n)),
               std::max(first, std::min(working, problem.n)), std::move(source), n_threads),
        up_(problem.n),
        down_(problem.n),
        least_up_(threshold.size(), 0.0),
        least_down_(threshold.size(), 0.0) {
    begin();
  }

  // LIBSVM's m - M.
  double worst_violation() const { return violation_; }

  const RowCache& cache() const { return cache_; }
  void forget_rows() { cache_.clear(); }

  // Starts at the given point, of the given objective.
  void go_on(const double* point, const double* known, double value) {
    std::copy_n(point, problem_.n, beta.begin());
    std::copy_n(known, problem_.n, residual.begin());
    dual = value;
    begin();
  }

  // Outer steps until the gap is about tol times the dual value, or either is `negligible`.
  void run(double tol, double negligible, Size max_outer, Poll& poll) {
    constexpr int kPatience = 10;
    double best = dual;
    if (small(tol, negligible)) return;
    for (Size k = 0, idle = 0; k < max_outer; ++k) {
      poll();
      if (!step(0.0, poll) || small(tol, negligible)) return;
      idle = dual > best + 1e-15 * std::fabs(best) ? 0 : idle + 1;
      best = std::max(best, dual);
      stuck = idle == kPatience;
      if (stuck) return;
    }
  }

  bool small(double tol, double negligible) const {
    const double size = std::fabs(dual);
    return summary_.gap <= std::max(tol * size, negligible) ||
           (negligible > 0.0 && size <= negligible);
  }

  // One outer step; false if there is nothing left to gain. Halted before its rows are at hand, it
  // changes neither beta nor residuals.
  bool step(double goal, Poll& poll) {
    set_thresholds();
    stuck = !(violation_ > goal);
    if (stuck) return false;
    const double inner_goal = std::max(goal, kInner * violation_);
    Size made = work(inner_goal, {}, poll);
    if (made == 0)  // chance may take what rises from one group and what falls from another
      made = work(inner_goal, worst_pair(), poll);
    steps += made;
    ++outer_steps;
    stuck = made == 0;
    return made > 0;
  }

 private:
  static constexpr double kInner = 0.1;

  using Indices = WorkingSet::Indices;

  // Steps inside a working set that these belong to; how many.
  Size work(double goal, const Indices& surely, Poll& poll) {
    set_.select({up_.data(), down_.data(), problem_.group, threshold.data(), least_up_.data(),
                 least_down_.data()},
                surely);
    cache_.fetch(set_.indices().data(), set_.size(), poll);
    gather();
    const Size made = solve(goal);
    scatter();
    return made;
  }

  // In the group of the worst violation, who gains most by rising, and who does by falling.
  Indices worst_pair() const {
    Indices pair;
    for (int g = 0; g < n_groups_; ++g) {
      Size rise = -1, fall = -1;
      for (Size i = 0; i < problem_.n; ++i) {
        if (problem_.group[i] != g) continue;
        if (rise < 0 || up_[i] > up_[rise]) rise = i;
        if (fall < 0 || down_[i] > down_[fall]) fall = i;
      }
      if (rise != fall && up_[rise] + down_[fall] >= violation_)
        pair = {static_cast<std::int32_t>(rise), static_cast<std::int32_t>(fall)};
    }
    return pair;
  }

  Size solve(double goal) {
    const float* kernel = block_.kernel.data();
    const Size limit = 100 * block_.size;
    return problem_.balanced
               ? MAXMARGIN_CLONED(
                     solve_pairs(block_, kernel, problem_.epsilon, goal, limit, n_groups_))
               : MAXMARGIN_CLONED(solve_singles(block_, kernel, problem_.epsilon, goal, limit));
  }

  void begin() {
    update({}, {});
    set_thresholds();
    update({}, {});
  }

  // Takes these rows times their changes from the residuals, part by part, and summarises each part
  // while it is in the cache: what the variables could gain, the worst violation, and the gap with
  // the thresholds of the step. Sums do not depend on the threads.
  void update(const std::vector<const float*>& rows, const std::vector<double>& change) {
    constexpr Size kPart = 4096, kWorthThreads = Size{1} << 18, kOwnWork = 8;
    const Size n = problem_.n, count = static_cast<Size>(rows.size());
    std::vector<GradientSummary> parts(static_cast<std::size_t>((n + kPart - 1) / kPart),
                                       GradientSummary(n_groups_));
    const SmoPoint point{residual.data(), beta.data(), threshold.data(), up_.data(), down_.data()};
    const int n_threads = (count + kOwnWork) * n < kWorthThreads ? 1 : n_threads_;
    in_threads(static_cast<Size>(parts.size()), n_threads, [&](Size first, Size last) {
      for (Size part = first; part < last; ++part) {
        const Size begin = part * kPart, end = std::min(begin + kPart, n);
        MAXMARGIN_CLONED(
            subtract_part(rows.data(), change.data(), count, begin, end, residual.data()));
        parts[part] = MAXMARGIN_CLONED(summarise(problem_, n_groups_, point, begin, end));
      }
    });
    summary_ = GradientSummary(n_groups_);
    for (const GradientSummary& part : parts) summary_.add(part);
    violation_ = -std::numeric_limits<double>::infinity();
    for (int g = 0; g < n_groups_; ++g) {
      const double up = summary_.most_up[g], down = summary_.most_down[g];
      violation_ = std::max(violation_, problem_.balanced ? up + down : std::max(up, down));
    }
  }

  // The thresholds of the groups as the summary would have them, for the step that follows.
  void set_thresholds() {
    if (!problem_.balanced) return;
    for (int g = 0; g < n_groups_; ++g) {
      threshold[g] = middle(-summary_.most_down[g], summary_.most_up[g]);
      least_up_[g] = -summary_.most_down[g];
      least_down_[g] = -summary_.most_up[g];
    }
  }

  // Of an interval that is open to one side where all variables of a group are at one bound.
  // Some compilers begin a maximum at the least finite number.
  static double middle(double low, double high) {
    const auto open = [](double end) {
      return std::fabs(end) >= std::numeric_limits<double>::max();
    };
    if (open(low)) return open(high) ? 0.0 : high;
    return open(high) ? low : 0.5 * (low + high);
  }

  void gather() {
    const Size q = set_.size(), before = block_.size;
    const Indices& set = set_.indices();
    old_.swap(block_.kernel);
    block_.resize(q, static_cast<std::size_t>(q) * q);
    float* kernel = block_.kernel.data();
    cache_.among(set, set_.kept(), old_, before, kernel);
    for (Size a = 0; a < q; ++a) {
      const Size i = set[a];
      block_.residual[a] = residual[i];
      block_.beta[a] = beta[i];
      block_.lower[a] = problem_.lower[i];
      block_.upper[a] = problem_.upper[i];
      block_.diagonal[a] = static_cast<double>(kernel[a * q + a]);
      block_.group[a] = problem_.group[i];
    }
    set_.mark_gathered();
  }

  // What variable a of the block, sample i, adds to the objective, a quadratic function.
  void account(Size a, Size i) {
    const double before = beta[i], after = block_.beta[a];
    dual += 0.5 * (after - before) * (residual[i] + block_.residual[a]) -
            problem_.epsilon * (std::fabs(after) - std::fabs(before));
  }

  void scatter() {
    std::vector<const float*> rows;
    std::vector<double> change;
    for (Size a = 0; a < block_.size; ++a) {
      const Size i = set_.indices()[a];
      if (block_.beta[a] == beta[i]) continue;
      rows.push_back(cache_.row(i));
      change.push_back(block_.beta[a] - beta[i]);
      account(a, i);
      beta[i] = block_.beta[a];
    }
    update(rows, change);
  }

  SmoProblem problem_;
  int n_threads_;
  double violation_ = 0.0;
  int n_groups_;
  WorkingSet set_;
  RowCache cache_;
  std::vector<double> up_, down_;
  GradientSummary summary_{0};                 // of the last update
  std::vector<double> least_up_, least_down_;  // of each group: what gains beyond it violates
  SmoBlock block_;
  std::vector<float> old_;  // the kernel of the block before
};

}  // namespace maxmargin
