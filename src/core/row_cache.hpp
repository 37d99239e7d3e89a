// Kernel rows in a given number of bytes; the least recently used give way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "kernel_rows.hpp"

namespace maxmargin {

class RowCache {
 public:
  RowCache(Size n, Size capacity, RowSource source)
      : n_(n),
        capacity_(std::min(capacity, n)),
        source_(std::move(source)),
        values_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(capacity_) * n)),
        slot_(n, -1),
        owner_(capacity_, -1),
        used_(capacity_, 0) {}

  Size capacity() const { return capacity_; }
  Size rows_computed() const { return rows_computed_; }
  bool holds(Size i) const { return slot_[i] >= 0; }

  // Row i, which must have been fetched and not given way since.
  const float* row(Size i) const { return values_.get() + static_cast<Size>(slot_[i]) * n_; }

  // Makes room for the rows and computes those that are missing; at most `capacity` at a time.
  void fetch(const std::int32_t* index, Size count) {
    ++time_;
    missing_.clear();
    for (Size k = 0; k < count; ++k) {
      if (slot_[index[k]] >= 0)
        used_[slot_[index[k]]] = time_;
      else
        missing_.push_back(index[k]);
    }
    if (missing_.empty()) return;
    const std::vector<std::int32_t> slots = room_for(static_cast<Size>(missing_.size()));
    std::vector<float*> out(missing_.size());
    for (std::size_t k = 0; k < missing_.size(); ++k) {
      const std::int32_t slot = slots[k];
      if (owner_[slot] >= 0) slot_[owner_[slot]] = -1;
      owner_[slot] = missing_[k];
      slot_[missing_[k]] = slot;
      used_[slot] = time_;
      out[k] = values_.get() + static_cast<Size>(slot) * n_;
    }
    rows_computed_ += static_cast<Size>(missing_.size());
    try {
      source_(missing_.data(), static_cast<Size>(missing_.size()), out.data());
    } catch (...) {  // a caller's kernel may throw: what was not computed is not held
      for (const std::int32_t i : missing_) {
        owner_[slot_[i]] = -1;
        slot_[i] = -1;
      }
      throw;
    }
  }

 private:
  // Slots never used, then those used longest ago.
  std::vector<std::int32_t> room_for(Size count) {
    std::vector<std::int32_t> slots;
    while (filled_ < capacity_ && static_cast<Size>(slots.size()) < count) {
      used_[filled_] = time_;  // taken: not to be given away below
      slots.push_back(static_cast<std::int32_t>(filled_++));
    }
    const Size wanted = count - static_cast<Size>(slots.size());
    if (wanted == 0) return slots;
    std::vector<std::int32_t> order(capacity_);
    std::iota(order.begin(), order.end(), 0);
    std::nth_element(order.begin(), order.begin() + wanted - 1, order.end(),
                     [&](std::int32_t a, std::int32_t b) { return used_[a] < used_[b]; });
    slots.insert(slots.end(), order.begin(), order.begin() + wanted);
    return slots;
  }

  Size n_, capacity_;
  RowSource source_;
  std::unique_ptr<float[]> values_;
  std::vector<std::int32_t> slot_;   // of each sample; -1: none
  std::vector<std::int32_t> owner_;  // of each slot
  std::vector<std::int64_t> used_;   // when each slot was last asked for
  std::int64_t time_ = 0;
  Size filled_ = 0;  // slots that were ever in use
  Size rows_computed_ = 0;
  std::vector<std::int32_t> missing_;
};

}  // namespace maxmargin
