// Random orders of the rows that still read the memory in streams.
//
// Rows drawn from all over a large matrix miss the cache of page addresses, and no prefetcher can
// follow: a quarter of an epoch of coordinate descent on text. So the rows are cut into runs of
// neighbours, and some runs at a time, drawn at random, are gone through side by side, a row of
// each in a turn. Between two neighbours come many strangers, so epochs do as well as with a full
// shuffle, which runs read one after the other do not where neighbours have one label. Each run is
// entered at a place of its own: if all began with their first row, that row would come early in
// every epoch, and what drifts within an epoch (the bias) would drift the same way in the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/random.hpp"

namespace maxmargin {

// The rows order[0], ..., order[count - 1], of n, in a new order.
inline void shuffle_rows(Random& random, std::int32_t* order, Size count, Size n) {
  constexpr Size kRun = 64, kStreams = 32, kSparse = 16;
  if (count < 2 * kRun * kStreams || kSparse * count < n) {  // few, or far from each other
    random.shuffle(order, count);
    return;
  }
  std::vector<std::uint8_t> chosen(static_cast<std::size_t>(n));
  for (Size k = 0; k < count; ++k) chosen[order[k]] = 1;
  std::vector<std::int32_t> sorted(static_cast<std::size_t>(count) + 1);
  for (Size i = 0, k = 0; i < n; ++i) {
    sorted[k] = static_cast<std::int32_t>(i);
    k += chosen[i];
  }
  struct Run {
    Size first, entry;
  };
  std::vector<Run> runs(static_cast<std::size_t>((count + kRun - 1) / kRun));
  for (std::size_t r = 0; r < runs.size(); ++r)
    runs[r] = {static_cast<Size>(r) * kRun, random.below(kRun)};
  const Size n_runs = static_cast<Size>(runs.size()), n_groups = n_runs / kStreams;
  random.shuffle(runs.data(), n_runs);
  std::int32_t* next = order;
  for (Size group = 0; group < n_groups; ++group) {
    const Size from = group * n_runs / n_groups, to = (group + 1) * n_runs / n_groups;
    for (Size step = 0; step < kRun; ++step) {
      std::int32_t* const turn = next;
      for (Size r = from; r < to; ++r) {
        const Size place = runs[r].first + (runs[r].entry + step) % kRun;
        if (place < count) *next++ = sorted[place];
      }
      random.shuffle(turn, next - turn);
    }
  }
}

}  // namespace maxmargin
