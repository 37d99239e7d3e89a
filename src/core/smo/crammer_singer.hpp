// Two-level block coordinate ascent for the K-class kernel machine of Crammer and Singer.
//
//   max over alpha of  sum_ij [j != y_i] alpha_ij - 1/2 sum_j beta_j' K beta_j,
//   beta_ij = cost_i [j = y_i] - alpha_ij,   alpha_ij >= 0,   sum_j alpha_ij = cost_i,
//   and, for free intercepts, sum_i beta_ij = 0 for every class j
//
// Outer level: a working set of samples, half of it the worst violators, half kept from before, as
// in smo/two_level.hpp. Inner level: sweeps over its samples; a step is the best alpha_i, a
// projection (objective/simplex.hpp), until the violation is a fraction of what it was. Only then
// are the scores of all samples brought up to date.
//
// Free intercepts are the multipliers of their constraints (Hestenes 1969, Powell 1969):
// b_j = anchor_j + penalty sum_i beta_ij, and the anchor follows whenever the violation is no
// larger than the second term.
//
// Invariant between outer steps: score_ij = [j != y_i] + sum_k K_ik beta_kj, in double; K in
// float32.
#pragma once

#include "data/class_weights.hpp"
#include "kernels/row_cache.hpp"
#include "objective/simplex.hpp"
#include "smo/gradient.hpp"

namespace maxmargin {

struct ClassSmoProblem {
  Size n;
  Size n_classes;
  const std::int32_t* y;
  const double* cost;
  bool free;                       // intercepts
  double penalty;                  // of free ones
  const double* kernel = nullptr;  // all of K, where the problem is small: no working sets then
  int n_threads = 1;
};

// The problem on the working set. Scores are laid out class after class: a step moves few classes,
// each along a kernel row. Alpha is laid out sample after sample, padded.
struct ClassBlock {
  Size size = 0;
  std::vector<float> kernel;  // size x size
  std::vector<double> score, alpha, cost, diagonal;
  std::vector<double> b, at, moved;  // padded(n_classes)

  void resize(Size q, Size n_classes, std::size_t values) {
    const Size stride = padded(n_classes);
    size = q;
    kernel.resize(values);
    score.resize(static_cast<std::size_t>(q * n_classes));
    alpha.assign(static_cast<std::size_t>(q * stride), 0.0);
    cost.resize(q);
    diagonal.resize(q);
    for (auto* entries : {&b, &at, &moved}) entries->assign(stride, 0.0);
    std::fill(b.begin() + n_classes, b.end(), -1e300);
  }
};

// Sweeps until no sample's violation is above `goal`; returns the steps made.
template <class Real>
MAXMARGIN_INLINE Size solve_classes(ClassBlock& block, const Real* kernel, Size n_classes,
                                    double penalty, double goal, Size max_sweeps) {
  constexpr double kRelax = 1.4;  // as in solvers/linear/crammer_singer.py
  const Size q = block.size, stride = padded(n_classes);
  double *b = block.b.data(), *at = block.at.data(), *moved = block.moved.data();
  Size steps = 0;
  for (Size sweep = 0; sweep < max_sweeps; ++sweep) {
    const Size before = steps;
    for (Size k = 0; k < q; ++k) {
      double* alpha = block.alpha.data() + k * stride;
      for (Size j = 0; j < n_classes; ++j) at[j] = block.score[j * q + k];
      std::fill(at + n_classes, at + stride, 0.0);
      const auto [top, violation] = add_offsets(alpha, b, stride, block.cost[k], at);
      if (!(violation > goal)) continue;
      ++steps;
      const double square = std::max(block.diagonal[k] + penalty, 1e-200);
      project({block.cost[k], square, kRelax}, top, stride, at, alpha, moved);
      const Real* __restrict row = kernel + k * q;
      for (Size j = 0; j < n_classes; ++j) {
        const double change = moved[j];
        if (change == 0.0) continue;
        b[j] += penalty * change;
        double* __restrict score = block.score.data() + j * q;
#pragma omp simd
        for (Size m = 0; m < q; ++m) score[m] += change * static_cast<double>(row[m]);
      }
    }
    if (steps == before) break;
  }
  return steps;
}

class ClassSmo {
 public:
  std::vector<double> alpha, score;  // n_classes x n
  std::vector<double> b;
  Size steps = 0, outer_steps = 0;
  double violation = std::numeric_limits<double>::infinity();
  double gap = std::numeric_limits<double>::infinity(), dual = 0.0;  // about

  ClassSmo(const ClassSmoProblem& problem, Size working, Size capacity, Size first,
           RowSource source)
      : alpha(static_cast<std::size_t>(problem.n * problem.n_classes), 0.0),
        score(alpha.size(), 1.0),
        b(problem.n_classes, 0.0),
        problem_(problem),
        working_(std::min(working, problem.n)),
        cache_(problem.n, std::max(capacity, working_), std::max(first, working_),
               std::move(source), problem.n_threads),
        member_(problem.n, 0),
        violation_(problem.n),
        anchor_(b),
        sum_(b) {
    for (Size i = 0; i < problem.n; ++i) {
      const Size own = problem.y[i] * problem.n + i;
      alpha[own] = problem.cost[i];
      score[own] = 0.0;
    }
    if (!problem.kernel) return;
    set_.resize(problem.n);
    std::iota(set_.begin(), set_.end(), 0);
    kept_ = problem.n;
  }

  const RowCache& cache() const { return cache_; }

  // Goes on from there, where the sums of beta are 0 if the intercepts are free.
  void go_on(const double* new_alpha, const double* new_score, const double* new_b) {
    std::copy_n(new_alpha, alpha.size(), alpha.begin());
    std::copy_n(new_score, score.size(), score.begin());
    std::copy_n(new_b, b.size(), b.begin());
    anchor_ = b;
    std::fill(sum_.begin(), sum_.end(), 0.0);
  }

  // Outer steps until the gap is about tol times the dual value, or is `negligible`.
  void run(double tol, double negligible, Size max_outer, Poll& poll) {
    for (Size k = 0; k < max_outer; ++k) {
      poll();
      measure();
      if (problem_.free && violation <= off_balance()) follow();
      if (gap <= std::max(tol * dual, negligible)) return;
      if (!step(poll)) return;
    }
  }

 private:
  static constexpr double kInner = 0.1;
  static constexpr Size kSweeps = 100;
  static constexpr Size kChunk = 512;  // samples summed over at a time

  // Rows that change the scores of one class, and by how much.
  struct Moves {
    std::vector<const float*> rows;
    std::vector<double> change;
    void add(const float* row, double amount) {
      if (amount == 0.0) return;
      rows.push_back(row);
      change.push_back(-amount);  // they are subtracted
    }
  };

  void add_moves() {
    constexpr Size kPart = 1024, kWorthThreads = Size{1} << 20;
    const Size n = problem_.n;
    Size rows = 0;
    for (const Moves& moves : moves_) rows += static_cast<Size>(moves.rows.size());
    const int n_threads = rows * n < kWorthThreads ? 1 : problem_.n_threads;
    in_threads((n + kPart - 1) / kPart, n_threads, [&](Size first, Size last) {
      for (Size part = first; part < last; ++part)
        for (Size j = 0; j < problem_.n_classes; ++j)
          MAXMARGIN_CLONED(subtract_part(moves_[j].rows.data(), moves_[j].change.data(),
                                         static_cast<Size>(moves_[j].rows.size()), part * kPart,
                                         std::min((part + 1) * kPart, n), score.data() + j * n));
    });
  }

  // By how much the intercepts would move if the anchor followed.
  double off_balance() const {
    double worst = 0.0;
    for (const double sum : sum_) worst = std::max(worst, std::fabs(problem_.penalty * sum));
    return worst;
  }

  void follow() {
    for (std::size_t j = 0; j < b.size(); ++j) anchor_[j] += problem_.penalty * sum_[j];
    intercepts();
    measure();
  }

  void intercepts() {
    for (std::size_t j = 0; j < b.size(); ++j)
      b[j] = problem_.free ? anchor_[j] + problem_.penalty * sum_[j] : 0.0;
  }

  // Every sample's violation, the worst of them, the gap and the dual value.
  void measure() { MAXMARGIN_CLONED(sum_over_all()); }

  struct Sums {
    double fenchel_young = 0.0, twice_dual = 0.0;
    double worst = -std::numeric_limits<double>::infinity();
  };

  MAXMARGIN_INLINE void sum_over_all() {
    Sums sums;
    for (Size from = 0; from < problem_.n; from += kChunk)
      add_chunk(from, std::min(kChunk, problem_.n - from), sums);
    violation = sums.worst;
    gap = sums.fenchel_young;
    dual = 0.5 * sums.twice_dual;
    if (!problem_.free) return;
    for (const double sum : sum_) gap += problem_.penalty * sum * sum;
  }

  // Of the samples from <= i < from + count.
  MAXMARGIN_INLINE void add_chunk(Size from, Size count, Sums& sums) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const Size n = problem_.n, K = problem_.n_classes;
    const double* cost = problem_.cost + from;
    double top[kChunk], open[kChunk], held[kChunk];
    for (Size k = 0; k < count; ++k) {
      top[k] = open[k] = -kNone;
      held[k] = kNone;
    }
    for (Size j = 0; j < K; ++j) {
      const double *a = alpha.data() + j * n + from, *p = score.data() + j * n + from;
      const double offset = b[j];
#pragma omp simd
      for (Size k = 0; k < count; ++k) {
        const double at = p[k] + offset;
        const double up = a[k] < cost[k] ? at : -kNone, down = a[k] > 0.0 ? at : kNone;
        top[k] = at > top[k] ? at : top[k];
        open[k] = up > open[k] ? up : open[k];
        held[k] = down < held[k] ? down : held[k];
      }
    }
    double fenchel_young = sums.fenchel_young, twice_dual = sums.twice_dual;
    for (Size j = 0; j < K; ++j) {
      const double *a = alpha.data() + j * n + from, *p = score.data() + j * n + from;
      const double offset = b[j];
#pragma omp simd reduction(+ : fenchel_young, twice_dual)
      for (Size k = 0; k < count; ++k) {
        fenchel_young += a[k] * (top[k] - (p[k] + offset));
        twice_dual += a[k] * p[k];
      }
    }
    for (Size k = 0; k < count; ++k) {
      const Size own = problem_.y[from + k] * n + from + k;
      twice_dual += cost[k] - alpha[own] - cost[k] * score[own];
      violation_[from + k] = open[k] - held[k];
      sums.worst = std::max(sums.worst, violation_[from + k]);
    }
    sums.fenchel_young = fenchel_young;
    sums.twice_dual = twice_dual;
  }

  // One outer step; false if there is nothing left to gain. Halted before its rows are at hand, it
  // changes nothing.
  bool step(Poll& poll) {
    Size made = 0;
    if (violation > 0.0) {
      const double penalty = problem_.free ? problem_.penalty : 0.0, goal = kInner * violation;
      if (!problem_.kernel) {
        select();
        cache_.fetch(set_.data(), static_cast<Size>(set_.size()), poll);
      }
      gather();
      made = problem_.kernel ? MAXMARGIN_CLONED(solve_classes(block_, problem_.kernel, b.size(),
                                                              penalty, goal, kSweeps))
                             : MAXMARGIN_CLONED(solve_classes(block_, block_.kernel.data(),
                                                              b.size(), penalty, goal, kSweeps));
      scatter();
    }
    steps += made;
    ++outer_steps;
    return made > 0;
  }

  // The working set: half of the last one, and the worst violators.
  void select() {
    for (const std::int32_t i : set_) member_[i] = 0;
    if (!gathered_) set_.clear();  // halted: the block is not that of the set
    gathered_ = false;
    const Size keep = std::min(static_cast<Size>(set_.size()), working_ / 2);
    set_.erase(set_.begin(), set_.end() - keep);
    kept_ = keep;
    for (const std::int32_t i : set_) member_[i] = 1;
    candidates_.clear();
    for (Size i = 0; i < problem_.n; ++i)
      if (violation_[i] > 0.0 && !member_[i]) candidates_.push_back(static_cast<std::int32_t>(i));
    const Size count = std::min(working_ - keep, static_cast<Size>(candidates_.size()));
    std::nth_element(
        candidates_.begin(), candidates_.begin() + count, candidates_.end(),
        [&](std::int32_t one, std::int32_t two) { return violation_[one] > violation_[two]; });
    for (Size k = 0; k < count; ++k) member_[candidates_[k]] = 1;
    set_.insert(set_.end(), candidates_.begin(), candidates_.begin() + count);
  }

  void gather() {
    const Size q = static_cast<Size>(set_.size()), n = problem_.n, K = problem_.n_classes;
    const Size before = block_.size, stride = padded(K);
    old_.swap(block_.kernel);
    block_.resize(q, K, problem_.kernel ? 0 : static_cast<std::size_t>(q) * q);
    float* kernel = block_.kernel.data();
    if (!problem_.kernel) cache_.among(set_, kept_, old_, before, kernel);
    for (Size a = 0; a < q; ++a) {
      const Size i = set_[a];
      block_.cost[a] = problem_.cost[i];
      block_.diagonal[a] =
          problem_.kernel ? problem_.kernel[i * n + i] : static_cast<double>(kernel[a * q + a]);
      for (Size j = 0; j < K; ++j) {
        block_.score[j * q + a] = score[j * n + i];
        block_.alpha[a * stride + j] = alpha[j * n + i];
      }
    }
    std::copy(b.begin(), b.end(), block_.b.begin());
    gathered_ = true;
  }

  void scatter() {
    const Size q = block_.size, n = problem_.n, K = problem_.n_classes, stride = padded(K);
    moves_.assign(K, {});
    for (Size a = 0; a < q; ++a) {
      const Size i = set_[a];
      for (Size j = 0; j < K; ++j) {
        const double change = alpha[j * n + i] - block_.alpha[a * stride + j];
        if (change == 0.0) continue;
        alpha[j * n + i] = block_.alpha[a * stride + j];
        sum_[j] += change;
        if (!problem_.kernel) moves_[j].add(cache_.row(i), change);
      }
    }
    if (problem_.kernel)
      score = block_.score;
    else
      add_moves();
    intercepts();
  }

  ClassSmoProblem problem_;
  Size working_;
  RowCache cache_;
  std::vector<std::uint8_t> member_;
  std::vector<std::int32_t> set_, candidates_;
  std::vector<double> violation_;     // of each sample
  std::vector<double> anchor_, sum_;  // of each class: b without the penalty, sum of beta
  std::vector<Moves> moves_;
  ClassBlock block_;
  std::vector<float> old_;  // the kernel of the block before
  Size kept_ = 0;           // samples of the set that were in the one before
  bool gathered_ = false;
};

}  // namespace maxmargin
