// What the stochastic solvers share: the epochs, the subgradient and the dual point.
//
// A solver is a Method: predict(rows, i), step(rows, batch, g, size), begin_epoch(),
// forget_average(), weights(), steps() and step_work(), what a step costs beside its rows, in rows.
// It moves by g_i = descent(i), minus a subgradient of C_i loss(f(x_i)) in f.
//
// Rows that are dear one by one (stochastic/kernel_rows.hpp) have fetch_ahead(...), and are told
// which of the next draws would move the point as it stands.
//
// The dual point: at the optimum w = sum_i g_i x_i for some choice of subgradients, so beta_i is
// the mean of g_i over the visits to row i. It lies in the box of objective/losses.hpp because each
// g_i does. With K classes it has an entry for each, from the g_i that faced that class
// (stochastic/multiclass_rows.hpp). The visits count from the last restart, at 1, 2, 4, 8, ...
// epochs: the recent half, free of the first steps, whose size has nothing to do with the solution.
#pragma once

#include <vector>

#include "common/deadline.hpp"
#include "objective/losses.hpp"
#include "stochastic/minibatch.hpp"

namespace maxmargin {

// On the boundary z = 0 the perceptron takes the far end of its box, else it would never leave
// w = 0.
MAXMARGIN_INLINE double descent(const Terms& terms, Size i, double z) {
  const Term term = terms[i];
  if (terms.loss.target_scale == 0.0 && z == 0.0) return term.lower + term.upper;
  return term.argmax(term.target - z, term.curvature);
}

// Caller-owned; n_samples is 0 where the rows are not kept (a stream), and so no dual point.
struct Window {
  double* tally;  // for each row: sums of g_i, number of visits
  Size n_samples;
  Size n_sums;              // 1, or one for each class
  Size horizon;             // the step after which the window starts afresh
  Size mistakes = 0;        // non-zero g_i, of the whole run
  Size epoch_mistakes = 0;  // of the present epoch

  MAXMARGIN_INLINE bool restarts_at(Size step) {
    if (step <= horizon) return false;
    horizon *= 2;
    std::fill(tally, tally + (n_sums + 1) * n_samples, 0.0);
    return true;
  }

  MAXMARGIN_INLINE void visit(Size i, Size sum, double g) {
    epoch_mistakes += g != 0.0;
    mistakes += g != 0.0;
    if (n_samples == 0) return;
    double* row = tally + (n_sums + 1) * i;
    row[sum] += g;
    row[n_sums] += 1.0;
  }
};

// What a visit costs, in rows of one f.
template <class Rows>
Size visit_work(const Rows& rows) {
  if constexpr (requires { rows.n_classes; })
    return rows.n_classes;
  else
    return 1;
}

// Which of its sums a row adds to.
template <class Rows>
MAXMARGIN_INLINE Size sum_of(const Rows& rows, Size i) {
  if constexpr (requires { rows.rival(i); })
    return rows.rival(i);
  else
    return 0;
}

struct EpochBudget {
  Size max_epochs;
  bool until_clean;  // an epoch without a mistake ends the run: a perceptron has nothing to add
  double seconds;
};

// Where a run stands between its calls, beside the method. All of it is the caller's.
struct EpochState {
  Sampler& sampler;
  Window& window;
  Random& random;
};

// Fetches what the draws after the k-th will need.
template <class Rows, class Method>
MAXMARGIN_INLINE void prefetch_next(const Rows& rows, const Method& method, const Sampler& sampler,
                                    Size k) {
  constexpr Size kAhead = 4;
  const std::int32_t* const order = sampler.order;
  if (k + 2 * kAhead < sampler.n_samples) rows.prefetch_offset(order[k + 2 * kAhead]);
  if (k + kAhead < sampler.n_samples) rows.prefetch(order[k + kAhead]);
  if constexpr (requires { rows.prefetch_weights(k, method.weights()); }) {
    if (k + 1 < sampler.n_samples) rows.prefetch_weights(order[k + 1], method.weights());
  }
}

template <class Rows, class Method>
MAXMARGIN_INLINE void descend(const Rows& rows, const Terms& terms, Method& method,
                              const EpochState& state, const EpochBudget& budget) {
  constexpr bool kDear = requires { rows.fetch_ahead(nullptr, 0, 0, [](Size) { return true; }); };
  constexpr Size kWorkPerClock = kDear ? 1 : 256;
  const Deadline deadline(budget.seconds);
  Sampler& sampler = state.sampler;
  Window& window = state.window;
  const Size end_epoch = sampler.epochs + budget.max_epochs;
  std::vector<double> descents(static_cast<std::size_t>(sampler.largest_batch()));
  double* const g = descents.data();
  Size since_clock = 0;
  while (sampler.epochs < end_epoch) {
    if (sampler.cursor == 0) {
      sampler.draw(state.random);
      window.epoch_mistakes = 0;
      method.begin_epoch();
    }
    if (window.restarts_at(method.steps() + 1)) method.forget_average();
    const Size begin = sampler.begin(sampler.cursor), end = sampler.begin(sampler.cursor + 1);
    if constexpr (kDear) {
      rows.fetch_ahead(sampler.order + begin, sampler.n_samples - begin,
                       sampler.epochs * sampler.n_samples + begin,
                       [&](Size i) { return descent(terms, i, method.predict(rows, i)) != 0.0; });
    }
    for (Size k = begin; k < end; ++k) {
      prefetch_next(rows, method, sampler, k);
      const Size i = sampler.order[k];
      g[k - begin] = descent(terms, i, method.predict(rows, i));
      window.visit(i, sum_of(rows, i), g[k - begin]);
    }
    method.step(rows, sampler.order + begin, g, end - begin);

    sampler.advance();
    if (sampler.cursor == 0 && budget.until_clean && window.epoch_mistakes == 0) return;
    since_clock += (end - begin) * visit_work(rows) + method.step_work();
    if (since_clock >= kWorkPerClock) {
      if (deadline.passed()) return;
      since_clock = 0;
    }
  }
}

}  // namespace maxmargin
