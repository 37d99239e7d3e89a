// xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64: one generator per call, no
// globals.
#pragma once

#include <cstdint>
#include <utility>

#include "common/types.hpp"

namespace maxmargin {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), by the high half of a 32 x 32 bit product (a 64 x 64 bit one past 2^32).
  Size below(Size bound) {
    const auto limit = static_cast<std::uint64_t>(bound);
    if (limit >> 32 == 0) return static_cast<Size>(((next() >> 32) * limit) >> 32);
    return static_cast<Size>(next() % limit);
  }

  // Uniform in [0, 1).
  double uniform() { return 0x1p-53 * static_cast<double>(next() >> 11); }

  template <class T>
  void shuffle(T* items, Size count) {
    for (Size k = count - 1; k > 0; --k) std::swap(items[k], items[below(k + 1)]);
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t state_[4];
};

}  // namespace maxmargin
