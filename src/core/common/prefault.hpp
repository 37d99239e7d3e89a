// Pages of fresh memory, all at once.
#pragma once

#include <cstdint>

#include "common/parallel.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // of Linux 5.14, which older headers do not know
#endif
#endif

namespace maxmargin {

// Has the system provide the memory now, in one call a thread, which is faster than page by page,
// when each is first written to. Where it cannot, nothing is lost.
inline void populate([[maybe_unused]] float* begin, [[maybe_unused]] Size count,
                     [[maybe_unused]] int n_threads) {
#if defined(MADV_POPULATE_WRITE)
  constexpr std::uintptr_t kPage = 1 << 16;  // a multiple of every page size in use
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + kPage - 1) / kPage;
  const auto to = reinterpret_cast<std::uintptr_t>(begin + count) / kPage;
  if (from >= to) return;
  in_threads(static_cast<Size>(to - from), n_threads, [&](Size first, Size last) {
    madvise(reinterpret_cast<void*>((from + first) * kPage),
            static_cast<std::size_t>(last - first) * kPage, MADV_POPULATE_WRITE);
  });
#endif
}

}  // namespace maxmargin
