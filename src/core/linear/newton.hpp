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

#include <cstdint>
#include <vector>

#include "common/deadline.hpp"
#include "data/passes.hpp"
#include "linalg/gram_columns.hpp"
#include "linear/averaged_sgd.hpp"
#include "linear/newton_pass.hpp"

namespace maxmargin {

inline double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (std::size_t j = 0; j < a.size(); ++j) total += a[j] * b[j];
  return total;
}

inline double norm(const std::vector<double>& a) {
  return std::sqrt(inner(a, a));
}

// a + scale * b.
inline std::vector<double> shifted(std::vector<double> a, double scale,
                                   const std::vector<double>& b) {
  for (std::size_t j = 0; j < a.size(); ++j) a[j] += scale * b[j];
  return a;
}

// Rows in a sloped piece, for each feature, from which a sample tells the curvature of all.
constexpr Size kRowsForHessian = 100;

// What gives its Hessian: the level of a sample, whatever its storage.
struct SubsampledHessian {
  virtual ~SubsampledHessian() = default;
  virtual Size n_sloped() const = 0;

  // The Hessian's upper triangle where the sample's rows are in the pieces that `flags` tells of
  // all rows; `places` are theirs among those. Its columns are where the Gram matrix has them.
  virtual void hessian(const std::vector<std::uint8_t>& flags, const std::int32_t* places,
                       Poll& poll, std::vector<double>& out) = 0;
  virtual const GramMatrix& gram() const = 0;
};

// Newton's method on all rows, or on a sample whose costs are raised to stand for all.
//
// `w` has the bias as its last entry. After `evaluate` and `step`: z = Xw + bias, beta is its
// maximiser, combination = sum of beta_k (x_k, bias.feature), and the sums below belong to it.
template <class Rows>
class NewtonLevel : public SubsampledHessian {
 public:
  double softness = 0.0;
  std::vector<double> w;
  double primal = 0.0, imbalance = 0.0, softening = 0.0;
  Size n_steps = 0;

  // `free`: the intercept's weight is not part of the objective.
  NewtonLevel(const Rows& rows, Terms terms, Bias& bias, bool free, const Blas& blas)
      : w(rows.n_features + 1),
        rows_(rows),
        terms_(terms),
        bias_(bias),
        free_(free),
        blas_(blas),
        state_(rows.n_samples, terms.loss.bounded),
        combination_(w.size()),
        trusting_(!terms.loss.bounded),
        per_poll_(std::max<Size>(1, kValuesPerPoll * std::max<Size>(1, rows.n_samples) /
                                        std::max<Size>(1, rows.work(0, rows.n_samples)))) {}

  std::vector<double>& centre() { return state_.centre; }
  const std::vector<double>& beta() const { return state_.beta; }
  const std::vector<std::uint8_t>& flags() const { return state_.flags; }
  const std::vector<double>& combination() const { return combination_; }
  const std::vector<double>& z() const { return state_.z; }
  double gap() const { return imbalance + softening; }
  double b() const { return bias_.anchor + bias_.feature * w.back(); }

  // Takes the curvature from a sample, which must outlive this, if that had rows enough to tell it:
  // no Gram matrix of all rows is needed then, as long as the steps do well. `places` are those of
  // the sample's rows among these.
  void use_hessian_of(SubsampledHessian& sample, const std::int32_t* places) {
    if (!terms_.loss.bounded &&
        sample.n_sloped() >= kRowsForHessian * static_cast<Size>(w.size())) {
      sample_ = &sample;
      places_ = places;
    }
  }

  // Predicts z, and puts beta and its sums there.
  void evaluate() { sum_afresh(Move::kTo); }

  // To where stochastic steps of a squared loss lead, or to 0 if that is better. A free intercept
  // takes part in them with a feature of its own.
  void descend(const double* squares, double feature, Random& random, Poll& poll) {
    w = averaged_steps(rows_, terms_, squares, feature, random, poll);
    if (free_) {
      bias_.anchor = feature * w.back();
      w.back() = 0.0;
    }
    evaluate();
    if (primal <= MAXMARGIN_CLONED(loss_at_0(terms_, rows_.n_samples))) return;
    std::fill(w.begin(), w.end(), 0.0);
    if (free_) bias_.anchor = 0.0;
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
    std::vector<double> direction = next_direction(poll);
    if (exact_ && drift_ * norm(direction) > kDrift * std::fabs(inner(gradient_, direction))) {
      sum_afresh(Move::kStay);
      direction = direction_by_factor(gram_);
    }
    previous_ = imbalance;
    advance(direction, poll);
    if (imbalance > kWorthwhile * previous_) sample_ = nullptr;
  }

  // One outer step: the dual point becomes the centre, b the anchor.
  void recentre(double shrink) {
    constexpr Size kFew = 10'000;
    if (terms_.loss.bounded) state_.centre = state_.beta;
    softness *= shrink;
    if (free_) {
      bias_.anchor = b();
      w.back() = 0.0;
    }
    // Where it costs little or the end is near, rounding errors that have added up are wiped out.
    const bool afresh = rows_.n_samples <= kFew || gap() <= 1e-5 * primal;
    afresh ? evaluate() : pass(Move::kStay, w);
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
  // the next step will do, by what the last one did, only w makes it (`ahead`): a squared loss
  // tells beta from w, so that the proof's own pass over the rows can serve as the step's.
  void solve(double tol, double shrink, Size max_steps, Poll& poll) {
    predicting_ = n_solves_++ == 0;
    if (!predicting_) {  // the last call did not do: precision may be what is lacking
      forget_gram();
      evaluate();
      trusting_ = true;
      previous_ = 0.0;
    }
    for (const Size end = n_steps + max_steps; n_steps < end; ++n_steps) {
      const bool promising = gap() <= tol * (primal - gap());
      if (promising && !promised_) {
        promised_ = true;
        return;
      }
      // A sample's curvature does better on the first step than on the later ones.
      const double target = (sample_ ? 0.25 : 1.0) * tol * (primal - gap());
      if (!promising && !free_ && !terms_.loss.bounded && gap() * gap() <= previous_ * target) {
        const std::vector<double> direction = next_direction(poll);
        w = shifted(std::move(w), 1.0, direction);
        ahead_ = true;
        ++n_steps;
        return;
      }
      const bool settled = imbalance <= 0.3 * softening;  // the softening is what is left
      if (settled || promising) recentre(shrink);
      step(poll);
      promised_ = false;
    }
  }

  // The Hessian's upper triangle at the point, its columns where the Gram matrix has them.
  void hessian(Poll& poll, std::vector<double>& out) {
    refresh_gram(poll);
    assemble(out, poll);
  }

  const GramMatrix& gram() const override { return gram_; }
  Size n_sloped() const override { return sums_.n_sloped; }

  void hessian(const std::vector<std::uint8_t>& flags, const std::int32_t* places, Poll& poll,
               std::vector<double>& out) override {
    sums_.n_sloped = sums_.n_leaving = 0;
    for (Size k = 0; k < rows_.n_samples; ++k) {
      const std::uint8_t held = state_.flags[k] & kInGram, sloped = flags[places[k]] & kSloped;
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

  void pass(Move move, const std::vector<double>& direction, const std::vector<double>& point,
            Along along = {}) {
    const auto pass_of = [&](auto bounded) {
      return MAXMARGIN_CLONED(newton_pass<bounded>(rows_, prox(), bias_, move, direction.data(),
                                                   along, state_, combination_.data()));
    };
    sums_ = terms_.loss.bounded ? pass_of(std::true_type{}) : pass_of(std::false_type{});
    gradient_ = shifted(point, -1.0, combination_);
    imbalance = 0.5 * inner(gradient_, gradient_);
    softening = sums_.fenchel_young;
    const double penalised = inner(point, point) - (free_ ? point.back() * point.back() : 0.0);
    primal = 0.5 * penalised + sums_.primal_loss;
    ahead_ = false;
  }
  void pass(Move move, const std::vector<double>& point) { pass(move, point, point); }

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
  void advance(const std::vector<double>& direction, Poll& poll) {
    const double slope_at_0 = inner(gradient_, direction);
    const bool trusting = !exact_ && trusting_;
    if (trusting) {  // the whole step at once saves a pass where it is right
      pass(Move::kBy, direction, shifted(w, 1.0, direction));
      if (std::fabs(inner(gradient_, direction)) <= kPrecision * std::fabs(slope_at_0)) {
        w = shifted(std::move(w), 1.0, direction);
        return;
      }
      for (Size k = 0; k < rows_.n_samples; ++k) state_.z[k] -= state_.dz[k];
    } else {
      predict(direction, state_.dz, poll);
    }
    LineDerivative along(prox(), state_.z.data(), state_.dz.data(), rows_.n_samples,
                         inner(w, direction), inner(direction, direction));
    const double length = exact_line_search(along, slope_at_0, kPrecision);
    w = shifted(std::move(w), length, direction);
    trusting_ = length == 1.0;
    Along step{.length = length};
    if (exact_) {  // (hessian - I) direction = -gradient - direction
      step.slope = stiffness();
      combination_ = shifted(std::move(combination_), length, shifted(gradient_, 1.0, direction));
    }
    pass(Move::kAlong, direction, w, step);
    if (!exact_) return;
    drift_ += length * noise() * norm(direction);
    if (drift_ > kDrift * std::sqrt(2.0 * imbalance)) sum_afresh(Move::kStay);
  }

  // How far the Hessian may be from what it should be: rounding, also of rows that have left.
  double noise() {
    constexpr double kRounding = 1e-15;
    double trace = 0.0;
    for (int j = 0; j < gram_.dim(); ++j) trace += gram_.column(j)[j];
    largest_trace_ = std::max(largest_trace_, trace);
    return kRounding * (1.0 + stiffness() * largest_trace_);
  }

  // The combination again, without the errors that have added up.
  void sum_afresh(Move move) {
    std::fill(state_.beta.begin(), state_.beta.end(), 0.0);
    std::fill(combination_.begin(), combination_.end(), 0.0);
    drift_ = 0.0;
    pass(move, w);
  }

  // -hessian^-1 gradient, by Cholesky; damped where rounding has spoilt the matrix.
  std::vector<double> next_direction(Poll& poll) {
    exact_ = false;
    if (sample_) {
      sample_->hessian(state_.flags, places_, poll, factor_);
      if (factorised(poll)) return direction_by_factor(sample_->gram());
      sample_ = nullptr;
    }
    hessian(poll, factor_);
    if (factorised(poll)) {
      exact_ = predicting_;
      return direction_by_factor(gram_);
    }
    forget_gram();  // taking away an outlying row leaves its rounding errors behind
    refresh_gram(poll);
    return damped_direction(poll);
  }

  void refresh_gram(Poll& poll) {
    if (gram_.empty()) {
      gram_.resize(static_cast<int>(w.size()), poll);
      if constexpr (Rows::kSparse)
        if (gram_.dim() > BitBatch::kWidest && sums_.n_sloped > 2 * gram_.dim())
          gram_.arrange(places_of(rows_, bias_, state_.flags, kSloped));
    }
    if (sums_.n_leaving > sums_.n_sloped) forget_gram();  // fewer rows to add again
    try {
      newton_gram(rows_, terms_.cost, bias_, blas_, state_.flags, gram_, poll);
    } catch (...) {   // halted, or out of memory
      forget_gram();  // rows are lost that are flagged as held
      throw;
    }
  }

  void forget_gram() {
    gram_.clear();
    largest_trace_ = 0.0;
    for (auto& flag : state_.flags) flag &= kSloped;
  }

  // I + stiffness * gram.
  void assemble(std::vector<double>& hessian, Poll& poll) const {
    const std::size_t dim = w.size();
    hessian.reserve(dim * dim);
    for (std::size_t j = 0; j < dim; ++j) {
      if (j % kColumnsPerPoll == 0) poll();
      if (hessian.size() < dim * dim) hessian.resize((j + 1) * dim);
      const double* column = gram_.column(static_cast<int>(j));
      for (std::size_t i = 0; i <= j; ++i) hessian[j * dim + i] = stiffness() * column[i];
      hessian[j * (dim + 1)] += 1.0;
    }
  }

  bool factorised(Poll& poll) {
    const int dim = static_cast<int>(w.size());
    return factorise(blas_, dim, factor_.data(), dim, poll);
  }

  // -hessian^-1 gradient, of a factor whose columns are where this matrix has them.
  std::vector<double> direction_by_factor(const GramMatrix& gram) const {
    std::vector<double> direction = gram.placed(gradient_);
    solve_with_factor(direction);
    for (double& step : direction) step = -step;
    return gram.unplaced(direction);
  }

  void solve_with_factor(std::vector<double>& v) const {
    const int dim = static_cast<int>(w.size()), one = 1;
    int info = 0;
    blas_.dpotrs("U", &dim, &one, factor_.data(), &dim, v.data(), &dim, &info);
  }

  // -hessian^-1 gradient, scaled to a unit diagonal, with the least ridge that factorises.
  std::vector<double> damped_direction(Poll& poll) {
    const std::size_t dim = w.size();
    std::vector<double> scaled, scale(dim), direction = gram_.placed(gradient_);
    assemble(scaled, poll);
    for (std::size_t j = 0; j < dim; ++j) scale[j] = 1.0 / std::sqrt(scaled[j * (dim + 1)]);
    for (std::size_t j = 0; j < dim; ++j)
      for (std::size_t i = 0; i <= j; ++i) scaled[j * dim + i] *= scale[i] * scale[j];
    for (double ridge = 1e-15; ridge < 10.0; ridge *= 10.0) {
      factor_ = scaled;
      for (std::size_t j = 0; j < dim; ++j) factor_[j * (dim + 1)] = 1.0 + ridge;
      if (factorised(poll)) break;
    }
    for (std::size_t j = 0; j < dim; ++j) direction[j] *= -scale[j];
    solve_with_factor(direction);
    for (std::size_t j = 0; j < dim; ++j) direction[j] *= scale[j];
    return gram_.unplaced(direction);
  }

  const Rows rows_;
  const Terms terms_;
  Bias& bias_;
  const bool free_;
  const Blas blas_;
  RowState state_;
  std::vector<double> combination_, gradient_;
  NewtonSums sums_;
  GramMatrix gram_;             // upper triangle, of the rows flagged as held, by cost
  std::vector<double> factor_;  // of Cholesky
  bool exact_ = false;          // the factor is that of the point's own Hessian, and predicts it
  bool predicting_ = true;      // steps predict the combination
  Size n_solves_ = 0;
  bool trusting_;                        // the last step had length 1
  bool promised_ = false;                // the caller has seen that the gap looks small enough
  bool ahead_ = false;                   // w has moved on, z and beta have not
  SubsampledHessian* sample_ = nullptr;  // whose Hessian is used
  const std::int32_t* places_ = nullptr;
  double previous_ = 0.0;       // the imbalance before the last step
  double largest_trace_ = 0.0;  // of the Gram matrix, since it was 0
  double drift_ = 0.0;          // bound on the error of the combination
  const Size per_poll_;         // rows
};

}  // namespace maxmargin
