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
#include "common/random.hpp"
#include "kernels/row_cache.hpp"
#include "smo/subproblem.hpp"

namespace maxmargin {

struct SmoProblem {
  Size n;
  const double* target;
  const double* lower;
  const double* upper;
  const std::uint8_t* group;  // pairs are made within a group
  double epsilon;
  bool balanced;  // sums per group are kept: pairs; else single coordinates
};

// residual[begin .. end) -= sum over rows of change_r * row_r, by pieces that stay in the cache.
MAXMARGIN_INLINE void subtract_part(const float* const* rows, const double* change, Size count,
                                    Size begin, Size end, double* __restrict residual) {
  constexpr Size kPiece = 1024;
  for (Size from = begin; from < end; from += kPiece) {
    const Size to = std::min(from + kPiece, end);
    Size r = 0;
    for (; r + 4 <= count; r += 4) {
      const float* __restrict a = rows[r], * __restrict b = rows[r + 1], * __restrict c = rows[r + 2], * __restrict d = rows[r + 3];
      const double p = change[r], q = change[r + 1], s = change[r + 2], t = change[r + 3];
#pragma omp simd
      for (Size k = from; k < to; ++k)
        residual[k] -= (p * static_cast<double>(a[k]) + q * static_cast<double>(b[k])) +
                       (s * static_cast<double>(c[k]) + t * static_cast<double>(d[k]));
    }
    for (; r < count; ++r) {
      const float* __restrict a = rows[r];
      const double p = change[r];
#pragma omp simd
      for (Size k = from; k < to; ++k) residual[k] -= p * static_cast<double>(a[k]);
    }
  }
}

// What a look at some samples shows: the most that one of a group gains by rising or by falling,
// and the sum of what each could still gain with given thresholds, the Fenchel-Young gap of its
// term.
struct SmoLook {
  std::vector<double> most_up, most_down;  // by group
  double gap = 0.0;

  explicit SmoLook(int n_groups)
      : most_up(n_groups, -std::numeric_limits<double>::infinity()), most_down(most_up) {}

  void add(const SmoLook& other) {
    for (std::size_t g = 0; g < most_up.size(); ++g) {
      most_up[g] = std::max(most_up[g], other.most_up[g]);
      most_down[g] = std::max(most_down[g], other.most_down[g]);
    }
    gap += other.gap;
  }
};

// Of the samples begin <= k < end; writes what each gains by rising and by falling.
MAXMARGIN_INLINE SmoLook look_at_part(const SmoProblem& problem, int n_groups,
                                      const double* __restrict residual,
                                      const double* __restrict beta, const double* threshold,
                                      Size begin, Size end, double* __restrict up,
                                      double* __restrict down) {
  SmoLook look(n_groups);
  const double* __restrict lower = problem.lower;
  const double* __restrict upper = problem.upper;
  const std::uint8_t* __restrict group = problem.group;
  const double epsilon = problem.epsilon;
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (Size k = begin; k < end; ++k) {
    up[k] = rising(residual[k], beta[k], upper[k], epsilon);
    down[k] = falling(residual[k], beta[k], lower[k], epsilon);
    const double pull = residual[k] - (n_groups == 1 ? threshold[0] : threshold[group[k]]);
    const double above = pull - epsilon, below = pull + epsilon;
    const double high = upper[k] * above, low = lower[k] * below;
    const double best = above > 0.0 ? high : below < 0.0 ? low : 0.0;
    total += best - (pull * beta[k] - epsilon * std::fabs(beta[k]));
  }
  look.gap = total;
  if (n_groups == 1) {
    double most_up = look.most_up[0], most_down = most_up;
#pragma omp simd reduction(max : most_up, most_down)
    for (Size k = begin; k < end; ++k) {
      most_up = up[k] > most_up ? up[k] : most_up;
      most_down = down[k] > most_down ? down[k] : most_down;
    }
    look.most_up[0] = most_up;
    look.most_down[0] = most_down;
    return look;
  }
  for (Size k = begin; k < end; ++k) {
    look.most_up[group[k]] = std::max(look.most_up[group[k]], up[k]);
    look.most_down[group[k]] = std::max(look.most_down[group[k]], down[k]);
  }
  return look;
}

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
        working_(std::min(working, problem.n)),
        cache_(problem.n, std::max(capacity, working_), std::max(first, working_),
               std::move(source), n_threads),
        member_(problem.n, 0),
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

  // Outer steps until the gap looks like tol times the dual value, or either is `negligible`.
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
    return seen_.gap <= std::max(tol * size, negligible) ||
           (negligible > 0.0 && size <= negligible);
  }

  // One outer step; false if there is nothing left to gain. Halted before its rows are at hand, it
  // changes neither beta nor residuals.
  bool step(double goal, Poll& poll) {
    settle();
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
  static constexpr double kInner = 0.1, kNearly = 0.5;

  using Indices = std::vector<std::int32_t>;

  // Steps inside a working set that these belong to; how many.
  Size work(double goal, const Indices& surely, Poll& poll) {
    select(surely);
    cache_.fetch(set_.data(), static_cast<Size>(set_.size()), poll);
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
    look({}, {});
    settle();
    look({}, {});
  }

  // Takes these rows times their changes from the residuals, part by part, and looks at each part
  // while it is in the cache: what the variables could gain, the worst violation, and the gap with
  // the thresholds of the step. Sums do not depend on the threads.
  void look(const std::vector<const float*>& rows, const std::vector<double>& change) {
    constexpr Size kPart = 4096, kWorthThreads = Size{1} << 18, kOwnWork = 8;
    const Size n = problem_.n, count = static_cast<Size>(rows.size());
    std::vector<SmoLook> parts(static_cast<std::size_t>((n + kPart - 1) / kPart),
                               SmoLook(n_groups_));
    const int n_threads = (count + kOwnWork) * n < kWorthThreads ? 1 : n_threads_;
    in_threads(static_cast<Size>(parts.size()), n_threads, [&](Size first, Size last) {
      for (Size part = first; part < last; ++part) {
        const Size begin = part * kPart, end = std::min(begin + kPart, n);
        MAXMARGIN_CLONED(
            subtract_part(rows.data(), change.data(), count, begin, end, residual.data()));
        parts[part] =
            MAXMARGIN_CLONED(look_at_part(problem_, n_groups_, residual.data(), beta.data(),
                                          threshold.data(), begin, end, up_.data(), down_.data()));
      }
    });
    seen_ = SmoLook(n_groups_);
    for (const SmoLook& part : parts) seen_.add(part);
    violation_ = -std::numeric_limits<double>::infinity();
    for (int g = 0; g < n_groups_; ++g) {
      const double up = seen_.most_up[g], down = seen_.most_down[g];
      violation_ = std::max(violation_, problem_.balanced ? up + down : std::max(up, down));
    }
  }

  // The thresholds of the groups as the last look would have them, for the step that follows.
  void settle() {
    if (!problem_.balanced) return;
    for (int g = 0; g < n_groups_; ++g) {
      threshold[g] = middle(-seen_.most_down[g], seen_.most_up[g]);
      least_up_[g] = -seen_.most_down[g];
      least_down_[g] = -seen_.most_up[g];
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

  // The working set: half of the last one, these, and the worst violators on either side.
  void select(const Indices& surely) {
    const Size n = problem_.n;
    rises_.resize(n);
    falls_.resize(n);
    Size rises = 0, falls = 0;
    for (Size i = 0; i < n; ++i) {  // without branches: which violate cannot be foreseen
      const int g = problem_.group[i];
      rises_[rises] = falls_[falls] = static_cast<std::int32_t>(i);
      rises += up_[i] > least_up_[g];
      falls += down_[i] > least_down_[g];
    }
    rises_.resize(rises);
    falls_.resize(falls);
    renew(surely);
  }

  void renew(const Indices& surely) {
    for (const std::int32_t i : set_) member_[i] = 0;
    if (!gathered_) set_.clear();  // halted: the block is not that of the set
    gathered_ = false;
    // The latest comers stay; there must be room for a pair.
    const Size keep =
        std::min({static_cast<Size>(set_.size()), working_ / 2, std::max<Size>(0, working_ - 2)});
    set_.erase(set_.begin(), set_.end() - keep);
    kept_ = static_cast<Size>(set_.size());
    for (const std::int32_t i : set_) member_[i] = 1;
    for (const std::int32_t i : surely) add(i);
    const Size fresh = working_ - static_cast<Size>(set_.size());
    // Seen from the thresholds, so that groups compare.
    const auto rise = [this](std::int32_t i) { return up_[i] - threshold[problem_.group[i]]; };
    const auto fall = [this](std::int32_t i) { return down_[i] + threshold[problem_.group[i]]; };
    take(rises_, rise, (fresh + 1) / 2);
    take(falls_, fall, working_ - static_cast<Size>(set_.size()));
    take(rises_, rise, working_ - static_cast<Size>(set_.size()));
  }

  // Of those not in the set yet the `count` largest by key, or, where so many are nearly as large
  // as the largest, any of these: the very worst are often neighbours, and one serves for all.
  template <class Key>
  void take(std::vector<std::int32_t>& from, Key key, Size count) {
    std::erase_if(from, [&](std::int32_t i) { return member_[i] != 0; });
    count = std::min(count, static_cast<Size>(from.size()));
    if (count <= 0) return;
    double most = key(from.front());
    for (const std::int32_t i : from) most = std::max(most, key(i));
    const auto large = std::partition(from.begin(), from.end(),
                                      [&](std::int32_t i) { return key(i) > kNearly * most; });
    const Size many = large - from.begin();
    if (many > count)
      for (Size k = 0; k < count; ++k) std::swap(from[k], from[k + random_.below(many - k)]);
    else
      std::nth_element(from.begin(), from.begin() + count - 1, from.end(),
                       [&](std::int32_t a, std::int32_t b) { return key(a) > key(b); });
    for (Size k = 0; k < count; ++k) add(from[k]);
  }

  void add(std::int32_t i) {
    if (member_[i] != 0) return;
    member_[i] = 1;
    set_.push_back(i);
  }

  void gather() {
    const Size q = static_cast<Size>(set_.size()), before = block_.size;
    old_.swap(block_.kernel);
    block_.resize(q, static_cast<std::size_t>(q) * q);
    float* kernel = block_.kernel.data();
    cache_.among(set_, kept_, old_, before, kernel);
    for (Size a = 0; a < q; ++a) {
      const Size i = set_[a];
      block_.residual[a] = residual[i];
      block_.beta[a] = beta[i];
      block_.lower[a] = problem_.lower[i];
      block_.upper[a] = problem_.upper[i];
      block_.diagonal[a] = static_cast<double>(kernel[a * q + a]);
      block_.group[a] = problem_.group[i];
    }
    gathered_ = true;
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
      const Size i = set_[a];
      if (block_.beta[a] == beta[i]) continue;
      rows.push_back(cache_.row(i));
      change.push_back(block_.beta[a] - beta[i]);
      account(a, i);
      beta[i] = block_.beta[a];
    }
    look(rows, change);
  }

  SmoProblem problem_;
  int n_threads_;
  double violation_ = 0.0;
  int n_groups_;
  Size working_;
  RowCache cache_;
  std::vector<std::uint8_t> member_;
  std::vector<std::int32_t> set_, rises_, falls_;
  std::vector<double> up_, down_;
  SmoLook seen_{0};                            // at the last look
  std::vector<double> least_up_, least_down_;  // of each group: what gains beyond it violates
  SmoBlock block_;
  std::vector<float> old_;  // the kernel of the block before
  Size kept_ = 0;           // samples of the set that were in the one before
  bool gathered_ = false;
  Random random_{0};
};

}  // namespace maxmargin
