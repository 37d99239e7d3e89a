// SMO on few samples, whose kernel matrix is at hand in double: no working sets, no cache.
//
//   max over beta of  sum_i target_i beta_i - epsilon |beta_i|  -  1/2 beta' K beta,
//   lower <= beta <= upper, and, for a free intercept, sum_i beta_i kept as it is in every group
//
// A sample has a variable in each group, closed where it does not belong, so that all groups share
// one residual. Pairs are chosen by second order (Fan, Chen and Lin, JMLR 2005). Where they have
// cost several times what a linear system in the free variables would, that is solved: a Newton
// step, to the first bound on its way, and from there on, since pairs crawl where K is nearly
// singular.
//
// Invariant between steps: residual = target - K sum of beta over the groups.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/argmax.hpp"
#include "common/deadline.hpp"
#include "smo/free_variables.hpp"
#include "smo/subproblem.hpp"

namespace maxmargin {

class DenseSmo {
 public:
  std::vector<double> beta;      // n_groups x n
  std::vector<double> residual;  // n
  Size steps = 0, outer_steps = 0;

  explicit DenseSmo(const DenseProblem& problem)
      : beta(static_cast<std::size_t>(problem.n_groups * problem.n), 0.0),
        residual(problem.target, problem.target + problem.n),
        problem_(problem),
        free_(problem),
        rise_(beta.size()),
        fall_(beta.size()),
        diagonal_(problem.n),
        sides_(problem.n_groups) {
    for (Size k = 0; k < problem.n; ++k) diagonal_[k] = problem.kernel[k * problem.n + k];
    open_all();
  }

  // Starts at the given point.
  void start(const double* point) {
    beta.assign(point, point + beta.size());
    open_all();
    refresh();
  }

  // The sum of the groups: the coefficients of f.
  std::vector<double> folded() const {
    std::vector<double> sum(beta.begin(), beta.begin() + problem_.n);
    for (std::size_t v = problem_.n; v < beta.size(); ++v) sum[v % problem_.n] += beta[v];
    return sum;
  }

  // K beta, from nothing but the two.
  std::vector<double> values() const {
    std::vector<double> sums(problem_.n, 0.0);
    const std::vector<double> coef = folded();
    for (Size k = 0; k < problem_.n; ++k)
      if (coef[k] != 0.0) MAXMARGIN_CLONED(problem_.add_row(coef[k], k, sums.data()));
    return sums;
  }

  // LIBSVM's m - M.
  double worst_violation() {
    find_violation();
    return violation_;
  }

  // Outer steps until the gap is about tol times the dual value, or either is `negligible`; then
  // a last one in all free variables. True also if the dual value has stalled: it has not risen by
  // more than its rounding in kPatience of them. False if max_outer came first.
  bool run(double tol, double negligible, Size max_outer, Poll& poll) {
    constexpr int kPatience = 10;
    double best = dual();
    for (Size k = 0, idle = 0; k < max_outer; ++k) {
      poll();
      ++outer_steps;
      if (!made_steps()) return true;
      if (steps - fresh_ > kStepsPerRefresh * problem_.n) refresh();
      if (small(tol, negligible)) {
        polish();
        return true;
      }
      if (kPairsFirst * newton_work() <= spent_ && walk(spent_, poll)) {
        refresh();
        if (small(tol, negligible)) return true;
      }
      const double now = dual();
      const bool risen = now > best + std::max(1e-15 * std::fabs(best), rounding());
      idle = risen ? 0 : idle + 1;
      best = risen ? now : best;
      if (idle == kPatience) return true;
    }
    return false;
  }

 private:
  using Lanes = Largest::Lanes;
  struct Side {
    double up, down;  // the most that a variable of the group gains by rising, by falling
    Size at;          // the one that gains by rising
  };
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  static constexpr double kInner = 0.1;  // of the violation is left by an outer step
  static constexpr double kLeastDiagonal = 1e-12;
  static constexpr double kPerSample = 8;   // work of a pair, in multiplications of a factorisation
  static constexpr double kPairsFirst = 4;  // times the work of a Newton step
  static constexpr Size kStepsPerRefresh = 10;  // times n: each leaves its rounding in residual

  const double* row(Size k) const { return problem_.row(k); }

  void refresh() {
    const std::vector<double> sums = values();
    for (Size k = 0; k < problem_.n; ++k) residual[k] = problem_.target[k] - sums[k];
    fresh_ = steps;
  }

  // What a variable gains by rising is residual + rise, by falling fall - residual.
  void open(Size v) {
    rise_[v] = rising(0.0, beta[v], problem_.upper[v], problem_.epsilon);
    fall_[v] = falling(0.0, beta[v], problem_.lower[v], problem_.epsilon);
  }
  void open_all() {
    for (Size v = 0; v < static_cast<Size>(beta.size()); ++v) open(v);
  }

  MAXMARGIN_INLINE Side side_of(int g) const {
    const Size n = problem_.n;
    const double *values = residual.data(), *rise = rise_.data() + g * n,
                 *fall = fall_.data() + g * n;
    Largest up, down;
    Size k = 0;
    for (; k + 4 <= n; k += 4) {
      const Lanes at = Largest::load(values + k);
      up.take(at + Largest::load(rise + k), k);
      down.take(Largest::load(fall + k) - at, k);
    }
    for (; k < n; ++k) {
      up.take(values[k] + rise[k], k);
      down.take(fall[k] - values[k], k);
    }
    Side side;
    Size ignored;
    side.up = up.value(side.at);
    side.down = down.value(ignored);
    return side;
  }

  // The group of the worst violation.
  MAXMARGIN_INLINE int worst_group() {
    int worst = 0;
    violation_ = kNever;
    for (int g = 0; g < problem_.n_groups; ++g) {
      sides_[g] = side_of(g);
      const double own = problem_.balanced ? sides_[g].up + sides_[g].down
                                           : std::max(sides_[g].up, sides_[g].down);
      if (own > violation_) {
        violation_ = own;
        worst = g;
      }
    }
    return worst;
  }

  void find_violation() { MAXMARGIN_CLONED(worst_group()); }

  // The partner with which i gains most.
  MAXMARGIN_INLINE Size partner(int g, Size i, double up) const {
    const Size n = problem_.n;
    const double *values = residual.data(), *fall = fall_.data() + g * n, *row_i = row(i);
    const double *diagonal = diagonal_.data(), k_ii = diagonal[i];
    constexpr double kRounding = 16.0 * std::numeric_limits<double>::epsilon();
    Largest gain;
    Size k = 0;
    for (; k + 4 <= n; k += 4) {
      const Lanes slope = up + (Largest::load(fall + k) - Largest::load(values + k));
      const Lanes both = k_ii + Largest::load(diagonal + k);
      const Lanes floor = kRounding * both + 1e-12 * kRounding;
      Lanes curvature = both - 2.0 * Largest::load(row_i + k);
      curvature = curvature > floor ? curvature : floor;
      gain.take(slope > 0.0 ? slope * slope / curvature : Lanes{}, k);
    }
    for (; k < n; ++k) {
      const double slope = up + (fall[k] - values[k]);
      gain.take(slope > 0.0 ? slope * slope / pair_curvature(k_ii, diagonal[k], row_i[k]) : 0.0, k);
    }
    Size j;
    gain.value(j);
    return j;
  }

  MAXMARGIN_INLINE void shift(Size i, double change_i, Size j, double change_j) {
    const double* __restrict a = row(i), * __restrict b = row(j);
    double* __restrict values = residual.data();
#pragma omp simd
    for (Size k = 0; k < problem_.n; ++k) values[k] -= change_i * a[k] + change_j * b[k];
  }

  // Moves a variable, to the bound or the kink itself where it is reached; returns the change.
  MAXMARGIN_INLINE double move(Size v, double step) {
    const double before = beta[v], epsilon = problem_.epsilon;
    if (step >= 0.0) {
      const double end = epsilon > 0.0 && before < 0.0 ? 0.0 : problem_.upper[v];
      beta[v] = step < end - before ? before + step : end;
    } else {
      const double end = epsilon > 0.0 && before > 0.0 ? 0.0 : problem_.lower[v];
      beta[v] = -step < before - end ? before + step : end;
    }
    open(v);
    return beta[v] - before;
  }

  // Pairs until the violation is a fraction of what it was; the number of steps.
  MAXMARGIN_INLINE Size pairs(double goal, Size limit) {
    const Size n = problem_.n;
    Size made = 0;
    for (int g; g = worst_group(), made < limit && violation_ > goal; ++made) {
      const Size i = sides_[g].at, j = partner(g, i, sides_[g].up), v = g * n + i, u = g * n + j;
      const double slope = sides_[g].up + (fall_[u] - residual[j]);
      if (!(slope > 0.0)) break;
      const double epsilon = problem_.epsilon;
      const double step = std::min({slope / pair_curvature(diagonal_[i], diagonal_[j], row(i)[j]),
                                    room_above(beta[v], problem_.upper[v], epsilon),
                                    room_below(beta[u], problem_.lower[u], epsilon)});
      move(v, step);
      move(u, -step);
      shift(i, step, j, -step);
    }
    return made;
  }

  // The coordinate that gains most of those that violate by more than `goal`.
  MAXMARGIN_INLINE Size coordinate(double goal) const {
    const Size n = problem_.n;
    const double *values = residual.data(), *rise = rise_.data(), *fall = fall_.data();
    Largest gain;
    for (Size k = 0; k < n; ++k) {
      const double most = std::max(values[k] + rise[k], fall[k] - values[k]);
      gain.take(most > goal ? most * most / std::max(kLeastDiagonal, diagonal_[k]) : 0.0, k);
    }
    Size i;
    gain.value(i);
    return i;
  }

  // The same without an intercept: one coordinate at a time.
  MAXMARGIN_INLINE Size singles(double goal, Size limit) {
    Size made = 0;
    for (; worst_group(), made < limit && violation_ > goal; ++made) {
      const Size i = coordinate(goal);
      const double up = residual[i] + rise_[i], down = fall_[i] - residual[i];
      const double slope = up > down ? up : -down;
      const double change = move(i, slope / std::max(kLeastDiagonal, diagonal_[i]));
      shift(i, change, i, 0.0);
    }
    return made;
  }

  bool made_steps() {
    find_violation();
    if (!(violation_ > 0.0)) return false;
    const Size limit = std::max<Size>(problem_.n, 100);
    const double goal = kInner * violation_;
    const Size made = problem_.balanced ? MAXMARGIN_CLONED(pairs(goal, limit))
                                        : MAXMARGIN_CLONED(singles(goal, limit));
    steps += made;
    spent_ += kPerSample * static_cast<double>(made * problem_.n);
    return made > 0;
  }

  double threshold(int g) const {
    if (!problem_.balanced) return 0.0;
    const double low = -sides_[g].down, high = sides_[g].up;
    if (std::isinf(low)) return std::isinf(high) ? 0.0 : high;
    return std::isinf(high) ? low : 0.5 * (low + high);
  }

  // The gap with these thresholds: the sum of what each variable could still gain at the present
  // residuals, which is the Fenchel-Young gap of its term.
  double gap() { return MAXMARGIN_CLONED(sum_of_gains()); }

  MAXMARGIN_INLINE double sum_of_gains() {
    worst_group();
    double total = 0.0;
    for (int g = 0; g < problem_.n_groups; ++g) {
      const double middle = threshold(g), epsilon = problem_.epsilon;
      for (Size k = 0, v = g * problem_.n; k < problem_.n; ++k, ++v) {
        const double gradient = residual[k] - middle;
        const double above = gradient - epsilon, below = gradient + epsilon;
        const double most = above > 0.0   ? problem_.upper[v] * above
                            : below < 0.0 ? problem_.lower[v] * below
                                          : 0.0;
        total += most - (gradient * beta[v] - epsilon * std::fabs(beta[v]));
      }
    }
    return total;
  }

  double dual() const { return MAXMARGIN_CLONED(dual_objective()); }

  MAXMARGIN_INLINE double dual_objective() const {
    const double *target = problem_.target, *values = residual.data();
    double total = problem_.elsewhere;
    for (int g = 0; g < problem_.n_groups; ++g) {
      const double* point = beta.data() + g * problem_.n;
#pragma omp simd reduction(+ : total)
      for (Size k = 0; k < problem_.n; ++k)
        total += 0.5 * point[k] * (target[k] + values[k]) - problem_.epsilon * std::fabs(point[k]);
    }
    return total;
  }

  // What errors of K beta, each about one rounding of its terms, make of the dual value.
  double rounding() const {
    double total = 0.0;
    for (std::size_t v = 0; v < beta.size(); ++v)
      total += beta[v] * beta[v] * diagonal_[v % problem_.n];
    return std::numeric_limits<double>::epsilon() * total;
  }

  bool small(double tol, double negligible) {
    const double value = std::fabs(dual());
    return gap() <= std::max(tol * value, negligible) || value <= negligible;
  }

  // Multiplications, or what takes as long: those of a step, and of residuals made again.
  double newton_work() {
    free_.find(beta);
    const double support = static_cast<double>(beta.size() - std::ranges::count(beta, 0.0));
    return free_.work() + 3.0 * support * static_cast<double>(problem_.n);
  }

  // A step in the free variables; in a flat direction if that gains enough.
  Reach newton(double least_gain) {
    const Reach reach = free_.step(beta, residual, least_gain);
    if (reach != Reach::kNone) open_all();
    return reach;
  }

  // Newton steps until one is made in full, or the work is spent; whether any was made. Each that
  // is not made in full puts a variable on its bound, and pairs would free it again: a walk that
  // was cut short is given twice the work next time.
  bool walk(double work, Poll& poll) {
    bool moved = false, ended = false;
    for (double left = reach_ * work; !ended && (left -= newton_work()) >= 0.0;) {
      poll();
      const Reach made = newton(rounding());
      moved |= made != Reach::kNone;
      ended = made != Reach::kBound;
    }
    reach_ = ended ? 1.0 : 2.0 * reach_;
    spent_ = 0.0;
    return moved;
  }

  // The optimum itself, if the free variables are the right ones: one Newton step reaches it, and
  // a second one what rounding left. Kept if the gap falls.
  void polish() {
    constexpr double kUnfelt = 4e4, kRounding = 1e-14;
    const double spent = kPerSample * static_cast<double>(steps * problem_.n);
    double before = gap();
    for (int k = 0; k < 2 && before > kRounding * std::fabs(dual()); ++k) {
      if (newton_work() > std::max(kUnfelt, spent / kPairsFirst)) return;
      const std::vector<double> old_beta = beta, old_residual = residual;
      if (newton(std::numeric_limits<double>::infinity()) == Reach::kNone) return;
      refresh();
      const double after = gap();
      if (!(after < before)) {
        beta = old_beta;
        residual = old_residual;
        open_all();
        return;
      }
      before = after;
    }
  }

  DenseProblem problem_;
  FreeVariables free_;
  double violation_ = 0.0;
  std::vector<double> rise_, fall_, diagonal_;
  std::vector<Side> sides_;
  Size fresh_ = 0;      // steps when the residuals were made again
  double spent_ = 0.0;  // work on pairs since the last Newton step
  double reach_ = 1.0;  // times that work may be spent on a walk
};

}  // namespace maxmargin
