// The choice of a working set: half of the last one, and the worst violators on either side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "smo/gradient.hpp"

namespace maxmargin {

// What the samples gain, and from where on that violates; the arrays are the solver's.
struct Violations {
  const double *up, *down;              // by sample: by rising, by falling
  const std::uint8_t* group;            // of each sample
  const double* threshold;              // by group
  const double *least_up, *least_down;  // by group: what gains beyond it violates
};

class WorkingSet {
 public:
  using Indices = std::vector<std::int32_t>;

  WorkingSet(Size n, Size size) : size_(size), member_(n, 0), rises_(n), falls_(n) {}

  const Indices& indices() const { return set_; }
  Size size() const { return static_cast<Size>(set_.size()); }
  Size kept() const { return kept_; }  // the first ones, which were in the one before

  // Its kernel values are at hand, so that the next one may keep some.
  void mark_gathered() { gathered_ = true; }

  // `surely` are in it.
  void select(const Violations& at, const Indices& surely) {
    const Size n = static_cast<Size>(member_.size());
    rises_.resize(n);
    falls_.resize(n);
    Size rises = 0, falls = 0;
    for (Size i = 0; i < n; ++i) {  // without branches: which violate cannot be foreseen
      const int g = at.group[i];
      rises_[rises] = falls_[falls] = static_cast<std::int32_t>(i);
      rises += at.up[i] > at.least_up[g];
      falls += at.down[i] > at.least_down[g];
    }
    rises_.resize(rises);
    falls_.resize(falls);
    renew(at, surely);
  }

 private:
  static constexpr double kNearly = 0.5;

  void renew(const Violations& at, const Indices& surely) {
    for (const std::int32_t i : set_) member_[i] = 0;
    if (!gathered_) set_.clear();  // halted: the block is not that of the set
    gathered_ = false;
    // The latest comers stay; there must be room for a pair.
    const Size keep = std::min({size(), size_ / 2, std::max<Size>(0, size_ - 2)});
    set_.erase(set_.begin(), set_.end() - keep);
    kept_ = size();
    for (const std::int32_t i : set_) member_[i] = 1;
    for (const std::int32_t i : surely) add(i);
    const Size fresh = size_ - size();
    // Seen from the thresholds, so that groups compare.
    const auto rise = [&](std::int32_t i) { return at.up[i] - at.threshold[at.group[i]]; };
    const auto fall = [&](std::int32_t i) { return at.down[i] + at.threshold[at.group[i]]; };
    take(rises_, rise, (fresh + 1) / 2);
    take(falls_, fall, size_ - size());
    take(rises_, rise, size_ - size());
  }

  // Of those not in the set yet the `count` largest by key, or, where so many are nearly as large
  // as the largest, any of these: the very worst are often neighbours, and one serves for all.
  template <class Key>
  void take(Indices& from, Key key, Size count) {
    std::erase_if(from, [&](std::int32_t i) { return member_[i] != 0; });
    count = std::min(count, static_cast<Size>(from.size()));
    if (count <= 0) return;
    double most = key(from.front());
    for (const std::int32_t i : from) most = std::max(most, key(i));
    const auto large = std::partition(from.begin(), from.end(),
                                      [&](std::int32_t i) { return key(i) > kNearly * most; });
    const Size many = large - from.begin();
    if (many > count)
      for (Size k = 0; k < count; ++k) std::swap(from[k], from[k + random_.below(many - k)]);
    else
      std::nth_element(from.begin(), from.begin() + count - 1, from.end(),
                       [&](std::int32_t a, std::int32_t b) { return key(a) > key(b); });
    for (Size k = 0; k < count; ++k) add(from[k]);
  }

  void add(std::int32_t i) {
    if (member_[i] != 0) return;
    member_[i] = 1;
    set_.push_back(i);
  }

  Size size_;  // at most
  std::vector<std::uint8_t> member_;
  Indices set_, rises_, falls_;
  Size kept_ = 0;
  bool gathered_ = false;
  Random random_{0};
};

}  // namespace maxmargin
