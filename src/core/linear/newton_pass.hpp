// What a Newton step does with the rows: move z and beta, predict, add to the Gram matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "linalg/gram.hpp"
#include "objective/intercept.hpp"
#include "objective/proximal.hpp"

namespace maxmargin {

// Sums over the rows at the point z.
struct NewtonSums {
  double fenchel_young = 0.0;  // sum of cost * loss(z) + z beta - conjugate(beta): part of the gap
  double primal_loss = 0.0;
  Size n_sloped = 0;
  Size n_leaving = 0;  // no longer sloped, but still in the Gram matrix
};

// Per row: is it in a sloped piece now, and does the Gram matrix hold it?
enum PieceFlag : std::uint8_t { kSloped = 1, kInGram = 2 };

struct RowState {
  std::vector<double> z, dz, beta, centre;
  std::vector<std::uint8_t> flags;

  RowState(Size count, bool centred)
      : z(count), dz(count), beta(count), centre(centred ? count : 0), flags(count) {}
};

enum class Move {
  kStay,  // z as it is
  kTo,    // z = X direction + bias
  kBy,    // dz = X direction, z += dz
  kAlong  // z += length * dz, which is at hand
};

// How a pass moves z; the direction, n_features + 1 values, is the caller's.
struct Motion {
  Move move;
  const double* direction;
  double length = 1.0;  // of a move along dz
  double slope = 0.0;  // -d beta / d z of a sloped row, in units of its cost, where the combination
                       // has moved along as if no row left its piece
};

// Moves z, then beta to its maximisers, and `combination` = sum of beta_k x_k along with it: one
// pass over the rows, whose chunk is still in the cache when its turn comes again. Without a move
// only the rows whose beta changes are read, and along a predicted step only those that leave their
// piece.
template <bool soft, class Rows>
MAXMARGIN_INLINE NewtonSums newton_pass(const Rows& rows, const Proximal prox, Bias bias,
                                        const Motion motion, RowState& state, double* combination) {
  const Move move = motion.move;
  const double* const direction = motion.direction;
  double next[kMaxChunk], sloped[kMaxChunk];
  RowSum sum(rows, combination);
  NewtonSums sums;
  const bool reads = move == Move::kTo || move == Move::kBy;
  const double offset =
      reads ? bias.feature * direction[rows.n_features] + (move == Move::kTo ? bias.anchor : 0.0)
            : 0.0;
  const auto follow = [&](Size from, Size count, const double* products) MAXMARGIN_INLINED {
    double* __restrict z = state.z.data() + from, * __restrict dz = state.dz.data() + from;
    if (move == Move::kTo)
      for (Size j = 0; j < count; ++j) z[j] = products[j] + offset;
    if (move == Move::kBy)
      for (Size j = 0; j < count; ++j) z[j] += dz[j] = products[j] + offset;
    if (move == Move::kAlong)
      for (Size j = 0; j < count; ++j) z[j] += motion.length * dz[j];
    double losses = 0.0, gaps = 0.0;
#pragma omp simd reduction(+ : losses, gaps)
    for (Size j = 0; j < count; ++j) {
      const Size k = from + j;
      const Term term = prox.terms[k];
      const Slope at = slope(term, soft ? prox.soften(k) : 0.0, prox.centre[k], z[j]);
      const double value = soft ? term.value(z[j]) : term.conjugate(at.beta) - z[j] * at.beta;
      next[j] = at.beta;
      sloped[j] = at.sloped;
      losses += value;
      if (soft) gaps += value + z[j] * at.beta - term.conjugate(at.beta);
    }
    sums.primal_loss += losses;
    sums.fenchel_young += gaps;
    double* __restrict beta = state.beta.data() + from;
    std::uint8_t* __restrict flags = state.flags.data() + from;
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Size j = 0; j < count; ++j) {
      const double before = beta[j], own = flags[j] & kSloped;
      const double predicted =
          before - own * motion.length * motion.slope * prox.terms.cost[from + j] * dz[j];
      const bool stays = motion.slope > 0.0 && own * sloped[j] * before * next[j] > 0.0;
      const double change = stays ? 0.0 : next[j] - predicted;
      beta[j] = next[j];
      next[j] = change;
      total += change;
    }
    sum.add(from, count, next);
    combination[rows.n_features] += total * bias.feature;
    for (Size j = 0; j < count; ++j) {
      const std::uint8_t held = flags[j] & kInGram, now = sloped[j] > 0.0 ? kSloped : 0;
      flags[j] = held | now;
      sums.n_sloped += now != 0;
      sums.n_leaving += held != 0 && now == 0;
    }
  };
  in_streams(rows, 0, rows.n_samples, reads ? direction : nullptr, follow);
  sum.finish();
  return sums;
}

// The rows of a Gram matrix that change.
struct Changed {
  std::vector<std::int32_t> rows;
  Size entering = 0, leaving = 0;

  explicit Changed(const std::vector<std::uint8_t>& flags) : rows(flags.size()) {
    Size count = 0;
    for (std::size_t k = 0; k < flags.size(); ++k) {  // unpredictable: without a branch
      rows[count] = static_cast<std::int32_t>(k);
      entering += flags[k] == kSloped;
      leaving += flags[k] == kInGram;
      count = entering + leaving;
    }
  }
  Size count() const { return entering + leaving; }
};

// Those from `begin` to `end`.
template <class Rows>
MAXMARGIN_INLINE void add_changed(const Rows& rows, const double* cost, const Changed& changed,
                                  Size begin, Size end, std::uint8_t* flags,
                                  GramSum<Rows>& entering, GramSum<Rows>& leaving) {
  constexpr Size kAhead = 4;
  const std::int32_t* const order = changed.rows.data();
  const Size count = changed.count();
  for (Size j = begin; j < end; ++j) {
    if (j + 2 * kAhead < count) rows.prefetch_offset(order[j + 2 * kAhead]);
    if (j + kAhead < count) rows.prefetch(order[j + kAhead]);
    const Size k = order[j];
    const bool sloped = (flags[k] & kSloped) != 0;
    (sloped ? entering : leaving).add(k, cost[k]);
    flags[k] = sloped ? kSloped | kInGram : 0;
  }
  if (end == count) {
    entering.flush_batches();
    leaving.flush_batches();
  }
}

// gram = sum over the sloped rows of cost_k x_k x_k', by the rows that entered or left since. All
// weights are cost_k times one number that changes with the softness, so this sum does not.
template <class Rows>
void newton_gram(const Rows& rows, const double* cost, Bias bias, const Blas& blas,
                 std::vector<std::uint8_t>& flags, GramMatrix& gram, Poll& poll) {
  constexpr Size kFlopsPerPoll = Size(1) << 29, kMost = GramSum<Rows>::kRowsAtATime;
  const Size dim = gram.dim(), part = std::clamp<Size>(kFlopsPerPoll / (dim * dim), 1, kMost);
  const Changed changed(flags);
  GramSum<Rows> entering(rows, bias, 1.0, changed.entering, gram);
  GramSum<Rows> leaving(rows, bias, -1.0, changed.leaving, gram);
  for (Size begin = 0; begin < changed.count(); begin += part) {
    poll();
    entering.make_room(blas, poll);
    leaving.make_room(blas, poll);
    MAXMARGIN_CLONED(add_changed(rows, cost, changed, begin,
                                 std::min(begin + part, changed.count()), flags.data(), entering,
                                 leaving));
  }
  entering.flush_block(blas, poll);
  leaving.flush_block(blas, poll);
}

}  // namespace maxmargin
