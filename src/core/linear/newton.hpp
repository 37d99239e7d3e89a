// Semismooth Newton for the proximal form of the linear SVM (objective/proximal.hpp).
//
// A Newton step solves (I + sum over the rows in a sloped piece of x_i x_i' / stiffness_i) step =
// -gradient, and the step length is found exactly. With softness 0 (squared losses) this is the
// finite Newton method of Keerthi and DeCoste (JMLR 2005); with softness it is the inner problem of
// an augmented Lagrangian method (Rockafellar 1976; Li, Sun and Toh, SIAM J. Optim. 2018).
//
// The Hessian may be that of a sample of the rows instead (Byrd, Chin, Neveitt and Nocedal, SIAM J.
// Optim. 2011); the gradient and the gap are always those of all rows of the level.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/deadline.hpp"
#include "data/passes.hpp"
#include "linear/averaged_sgd.hpp"
#include "linear/newton_hessian.hpp"

namespace maxmargin {

// Rows in a sloped piece, for each feature, from which a sample tells the curvature of all.
constexpr Size kRowsForHessian = 100;

// The Hessian of a sample of the rows, whatever its storage.
struct SubsampledHessian {
  // Its upper triangle where the sample's rows are in the pieces that the flags tell of all rows;
  // its columns are where the Gram matrix has them.
  std::function<void(const std::vector<std::uint8_t>& flags, Poll& poll, std::vector<double>& out)>
      compute;
  const GramMatrix* gram = nullptr;

  explicit operator bool() const { return gram != nullptr; }
};

// What the calls of `solve` have come to.
enum class Phase {
  kRough,       // no call yet
  kPredicting,  // the first one: steps predict the combination where they can
  kRecomputing  // that did not do, so that precision may be lacking: steps sum it up
};

// How a step is made.
enum class StepKind {
  kFull,      // in full at once, which saves a pass over the rows where it does; else searched
  kSearched,  // its length is found first
  kPredicted  // the same, and the Hessian says what the combination will be
};

struct NewtonDirection {
  std::vector<double> step;
  bool exact;  // by the point's own Hessian, undamped
};

// What the last step leaves to the next one.
struct LastStep {
  bool full;               // its length was 1
  bool promising = false;  // the caller knows that the gap seemed small enough before it
  double imbalance = 0.0;  // before it
};

// Newton's method on all rows, or on a sample whose costs are raised to stand for all.
//
// `w` has the bias as its last entry. After `evaluate` and `step`: z = Xw + bias, beta is its
// maximiser, combination = sum of beta_k (x_k, bias.feature), and the sums below belong to it.
template <class Rows>
class NewtonLevel {
 public:
  double softness = 0.0;
  std::vector<double> w;
  double primal = 0.0, imbalance = 0.0, softening = 0.0;
  Size n_steps = 0;

  NewtonLevel(const Rows& rows, Terms terms, Bias& bias, const Blas& blas)
      : w(rows.n_features + 1),
        rows_(rows),
        terms_(terms),
        bias_(bias),
        state_(rows.n_samples, terms.loss.bounded),
        combination_(w.size()),
        hessian_(rows, terms.cost, blas),
        last_{.full = !terms.loss.bounded},
        per_poll_(std::max<Size>(1, kValuesPerPoll * std::max<Size>(1, rows.n_samples) /
                                        std::max<Size>(1, rows.work(0, rows.n_samples)))) {}

  std::vector<double>& centre() { return state_.centre; }
  const std::vector<double>& beta() const { return state_.beta; }
  const std::vector<std::uint8_t>& flags() const { return state_.flags; }
  const std::vector<double>& combination() const { return combination_; }
  const std::vector<double>& z() const { return state_.z; }
  const GramMatrix& gram() const { return hessian_.gram(); }
  Size n_sloped() const { return sums_.n_sloped; }
  double gap() const { return imbalance + softening; }
  double b() const { return bias_.anchor + bias_.feature * w.back(); }

  // Takes the curvature from a sample, which must outlive this, if that had rows enough to tell it:
  // no Gram matrix of all rows is needed then, as long as the steps do well. `indices` are those of
  // the sample's rows among these, and the caller's.
  template <class Sample>
  void use_hessian_of(Sample& sample, const std::int32_t* indices) {
    if (terms_.loss.bounded || sample.n_sloped() < kRowsForHessian * static_cast<Size>(w.size()))
      return;
    sample_ = {[&sample, indices](const std::vector<std::uint8_t>& flags, Poll& poll,
                                  std::vector<double>& out) {
                 sample.hessian_at(flags, indices, poll, out);
               },
               &sample.gram()};
  }

  // Predicts z, and puts beta and its sums there.
  void evaluate() { recompute(Move::kTo); }

  // To where stochastic steps of a squared loss lead, or to 0 if that is better. A free intercept
  // takes part in them with a feature of its own.
  void descend(const double* squares, double feature, Random& random, Poll& poll) {
    w = averaged_steps(rows_, terms_, squares, feature, random, poll);
    if (bias_.free) {
      bias_.anchor = feature * w.back();
      w.back() = 0.0;
    }
    evaluate();
    if (primal <= MAXMARGIN_CLONED(loss_at_0(terms_, rows_.n_samples))) return;
    std::fill(w.begin(), w.end(), 0.0);
    if (bias_.free) bias_.anchor = 0.0;
    evaluate();
  }

  // The centre at the middle of the box: right to first order for the rows at the kink, whoever
  // they are. Regression has to know z first, to tell the side. Squared losses need no centre.
  void centre_in_box(Poll& poll) {
    if (!terms_.loss.bounded) return;
    if (!terms_.loss.one_sided) predict(w, state_.z, poll);
    for (Size k = 0; k < rows_.n_samples; ++k) {
      const double side =
          terms_.loss.one_sided ? terms_.y[k] : terms_.y[k] - state_.z[k] - bias_.anchor;
      state_.centre[k] = side == 0.0 ? 0.0 : std::copysign(0.5 * terms_.cost[k], side);
    }
  }

  // One step of exact length. If it is halted, nothing has moved.
  void step(Poll& poll) {
    // Direction, again where the gradient is no longer known well enough for it.
    NewtonDirection direction = next_direction(poll);
    const bool predicted = direction.exact && phase_ != Phase::kRecomputing;
    const double slope = predicted ? std::fabs(inner(gradient_, direction.step)) : 0.0;
    if (predicted && drift_ * norm(direction.step) > kDrift * slope) {
      recompute(Move::kStay);
      direction.step = hessian_.direction(gram(), gradient_);
    }
    // Step.
    last_.imbalance = imbalance;
    const StepKind kind = predicted    ? StepKind::kPredicted
                          : last_.full ? StepKind::kFull
                                       : StepKind::kSearched;
    advance(direction.step, kind, poll);
    // Check of the sample, whose Hessian may lead too slowly.
    if (imbalance > kWorthwhile * last_.imbalance) sample_ = {};
  }

  // One outer step: the dual point becomes the centre, b the anchor.
  void recentre(double shrink) {
    constexpr Size kFew = 10'000;
    if (terms_.loss.bounded) state_.centre = state_.beta;
    softness *= shrink;
    if (bias_.free) {
      bias_.anchor = b();
      w.back() = 0.0;
    }
    // Where it costs little or the end is near, rounding errors that have added up are wiped out.
    const bool precise = rows_.n_samples <= kFew || gap() <= 1e-5 * primal;
    precise ? evaluate() : pass({Move::kStay, w.data()}, w);
  }

  // Solves a sample roughly, down to the softness at which its sampling error is felt: `floor`.
  void rough_solve(double tol, double shrink, double floor, Size max_steps, Poll& poll) {
    constexpr double kSampled = 2e-3;  // of the gap at the start: below it the sample's error rules
    const double sampled = terms_.loss.bounded ? 0.0 : kSampled * imbalance;
    for (const Size end = n_steps + max_steps; n_steps < end; ++n_steps) {
      if (imbalance <= std::max(kRough * primal, sampled)) {
        if (!terms_.loss.bounded || softening <= 0.5 * tol * primal) return;
        if (softness * shrink <= floor) {
          softness *= shrink;
          return;
        }
        recentre(shrink);
      }
      step(poll);
    }
  }

  // Solves until the estimate of the gap promises `tol`; called again, goes on from there. Where
  // the next step will do, by what the last one did, only w makes it: a squared loss tells beta
  // from w, so that the proof's own pass over the rows can serve as the step's.
  void solve(double tol, double shrink, Size max_steps, Poll& poll) {
    begin_solve();
    for (const Size end = n_steps + max_steps; n_steps < end; ++n_steps) {
      // Gap check: what is promising is the caller's to prove, once.
      const bool promising = gap() <= tol * (primal - gap());
      if (promising && !last_.promising) {
        last_.promising = true;
        return;
      }
      // Last step.
      if (!promising && next_step_will_do(tol)) {
        w = shifted(std::move(w), 1.0, next_direction(poll).step);
        ++n_steps;
        return;
      }
      // Outer step, where the softening is what is left of the gap.
      if (promising || imbalance <= 0.3 * softening) recentre(shrink);
      // Newton step.
      step(poll);
      last_.promising = false;
    }
  }

  // The Hessian's upper triangle at the point, its columns where the Gram matrix has them.
  void hessian(Poll& poll, std::vector<double>& out) {
    hessian_.refresh(bias_, sums_, state_.flags, poll);
    hessian_.assemble(stiffness(), out, poll);
  }

  // The same where the rows are in the pieces that `flags` tells of the rows at `indices`.
  void hessian_at(const std::vector<std::uint8_t>& flags, const std::int32_t* indices, Poll& poll,
                  std::vector<double>& out) {
    sums_.n_sloped = sums_.n_leaving = 0;
    for (Size k = 0; k < rows_.n_samples; ++k) {
      const std::uint8_t held = state_.flags[k] & kInGram, sloped = flags[indices[k]] & kSloped;
      state_.flags[k] = held | sloped;
      sums_.n_sloped += sloped != 0;
      sums_.n_leaving += held && !sloped;
    }
    hessian(poll, out);
  }

 private:
  static constexpr double kPrecision = 0.3;  // of the line search
  static constexpr double kRough = 0.3;
  static constexpr double kDrift = 0.1;       // of the gradient may be error
  static constexpr double kWorthwhile = 0.1;  // of the gap may be left by a step, or it is too slow
  static constexpr Size kValuesPerPoll = Size(1) << 22;

  Proximal prox() const {
    const bool soft = terms_.loss.bounded;  // else the centre does not matter
    return {terms_, soft ? state_.centre.data() : state_.beta.data(), soft ? softness : 0.0};
  }

  // -d beta / d z of a sloped row, in units of its cost.
  double stiffness() const { return terms_.loss.bounded ? 1.0 / softness : 2.0; }

  // Without the errors of predictions, if the last call did not do.
  void begin_solve() {
    if (phase_ == Phase::kRough) {
      phase_ = Phase::kPredicting;
      return;
    }
    phase_ = Phase::kRecomputing;
    hessian_.forget(state_.flags);
    evaluate();
    last_.full = true;
    last_.imbalance = 0.0;
  }

  // Steps of squared losses converge quadratically at the end.
  bool next_step_will_do(double tol) const {
    if (bias_.free || terms_.loss.bounded) return false;
    // A sample's curvature does better on the first step than on the later ones.
    const double target = (sample_ ? 0.25 : 1.0) * tol * (primal - gap());
    return gap() * gap() <= last_.imbalance * target;
  }

  // Moves z and beta, and takes the sums at `point`, which is where w is or will be.
  void pass(const Motion& motion, const std::vector<double>& point) {
    const auto pass_of = [&](auto bounded) {
      return MAXMARGIN_CLONED(
          newton_pass<bounded>(rows_, prox(), bias_, motion, state_, combination_.data()));
    };
    sums_ = terms_.loss.bounded ? pass_of(std::true_type{}) : pass_of(std::false_type{});
    gradient_ = shifted(point, -1.0, combination_);
    imbalance = 0.5 * inner(gradient_, gradient_);
    softening = sums_.fenchel_young;
    const double penalised = inner(point, point) - (bias_.free ? point.back() * point.back() : 0.0);
    primal = 0.5 * penalised + sums_.primal_loss;
  }

  template <class Part>
  void in_parts(Size per_part, Poll& poll, Part part) {
    for (Size begin = 0; begin < rows_.n_samples; begin += per_part) {
      poll();
      part(begin, std::min(begin + per_part, rows_.n_samples));
    }
  }

  void predict(const std::vector<double>& direction, std::vector<double>& out, Poll& poll) {
    in_parts(per_poll_, poll, [&](Size begin, Size end) {
      MAXMARGIN_CLONED(maxmargin::predict(rows_, direction.data(), bias_.feature * direction.back(),
                                          begin, end, out.data()));
    });
  }

  // Moves along the direction to where the derivative vanishes.
  void advance(const std::vector<double>& direction, StepKind kind, Poll& poll) {
    const double slope_at_0 = inner(gradient_, direction);
    if (kind == StepKind::kFull) {
      if (full_step(direction, slope_at_0)) return;
      for (Size k = 0; k < rows_.n_samples; ++k) state_.z[k] -= state_.dz[k];
    } else {
      predict(direction, state_.dz, poll);
    }
    LineDerivative along(prox(), {state_.z.data(), state_.dz.data(), rows_.n_samples,
                                  inner(w, direction), inner(direction, direction)});
    const double length = exact_line_search(along, slope_at_0, kPrecision);
    w = shifted(std::move(w), length, direction);
    last_.full = length == 1.0;
    Motion motion{Move::kAlong, direction.data(), length};
    if (kind == StepKind::kPredicted) {  // (hessian - I) direction = -gradient - direction
      motion.slope = stiffness();
      combination_ = shifted(std::move(combination_), length, shifted(gradient_, 1.0, direction));
    }
    pass(motion, w);
    if (kind != StepKind::kPredicted) return;
    drift_ += length * hessian_.noise(stiffness()) * norm(direction);
    if (drift_ > kDrift * std::sqrt(2.0 * imbalance)) recompute(Move::kStay);
  }

  // Whether it goes far enough. If not, w has not moved, but z has.
  bool full_step(const std::vector<double>& direction, double slope_at_0) {
    pass({Move::kBy, direction.data()}, shifted(w, 1.0, direction));
    if (!(std::fabs(inner(gradient_, direction)) <= kPrecision * std::fabs(slope_at_0)))
      return false;
    w = shifted(std::move(w), 1.0, direction);
    return true;
  }

  // The combination again, without the errors that have added up.
  void recompute(Move move) {
    std::fill(state_.beta.begin(), state_.beta.end(), 0.0);
    std::fill(combination_.begin(), combination_.end(), 0.0);
    drift_ = 0.0;
    pass({move, w.data()}, w);
  }

  // -hessian^-1 gradient, by Cholesky; damped where rounding has spoilt the matrix.
  NewtonDirection next_direction(Poll& poll) {
    if (sample_) {
      sample_.compute(state_.flags, poll, hessian_.factor());
      if (hessian_.factorised(poll)) return {hessian_.direction(*sample_.gram, gradient_), false};
      sample_ = {};
    }
    hessian(poll, hessian_.factor());
    if (hessian_.factorised(poll)) return {hessian_.direction(gram(), gradient_), true};
    hessian_.forget(state_.flags);  // taking away an outlying row leaves its rounding errors behind
    hessian_.refresh(bias_, sums_, state_.flags, poll);
    return {hessian_.damped_direction(stiffness(), gradient_, poll), false};
  }

  const Rows rows_;
  const Terms terms_;
  Bias& bias_;  // the caller's
  RowState state_;
  std::vector<double> combination_, gradient_;
  NewtonSums sums_;
  NewtonHessian<Rows> hessian_;
  SubsampledHessian sample_;  // used while there is one
  Phase phase_ = Phase::kRough;
  LastStep last_;
  double drift_ = 0.0;   // bound on the error of the combination
  const Size per_poll_;  // rows
};

}  // namespace maxmargin
