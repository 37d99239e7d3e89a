// The order in which a stochastic solver meets the rows: epochs of near-equal mini-batches.
//
// "Shuffle" permutes the rows for each epoch, "uniform" draws them with replacement, as the
// theorems assume. Both write the whole epoch into `order` at its start, so the steps are the same
// code and know which row comes next.
#pragma once

#include <cstdint>

#include "common/random.hpp"

namespace maxmargin {

// Caller-owned; an epoch can be left at any batch and taken up again.
struct Sampler {
  std::int32_t* order;
  Size n_samples;
  Size n_batches;  // of an epoch
  bool uniform;
  Size cursor = 0;  // next batch; 0: a new epoch starts
  Size epochs = 0;  // whole epochs done

  void draw(Random& random) {
    if (uniform) {
      for (Size k = 0; k < n_samples; ++k)
        order[k] = static_cast<std::int32_t>(random.below(n_samples));
    } else {
      random.shuffle(order, n_samples);
    }
  }

  // Batch j is order[begin(j)], ..., order[begin(j + 1) - 1]: no batch is short by more than a row.
  MAXMARGIN_INLINE Size begin(Size j) const { return j * n_samples / n_batches; }

  Size largest_batch() const { return (n_samples + n_batches - 1) / n_batches; }

  void advance() {
    if (++cursor == n_batches) {
      cursor = 0;
      ++epochs;
    }
  }
};

}  // namespace maxmargin
