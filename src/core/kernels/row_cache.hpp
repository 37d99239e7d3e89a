// Kernel rows in a given number of bytes; the least recently used give way.
//
// Memory is taken as rows come, block by block: a fit that needs few rows takes little. Beyond the
// `first` rows it is taken only where it pays: whenever as many rows were computed a second time as
// are held, twice as many are held from then on. So at most two rows are computed again for each
// that is held, until all are held that may be. Where there is no more memory to be had, the rows
// held must do, until more are needed at a time than are held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <vector>

#include "common/deadline.hpp"
#include "common/prefault.hpp"
#include "kernels/row_source.hpp"

namespace maxmargin {

class RowCache {
 public:
  RowCache(Size n, Size capacity, Size first, RowSource source, int n_threads = 1)
      : n_(n),
        most_(std::min(capacity, n)),
        rows_per_block_(std::max<Size>(1, kBlockValues / std::max<Size>(1, n))),
        first_(std::min(whole_blocks(first), most_)),
        capacity_(first_),
        source_(std::move(source)),
        slot_(n, -1),
        known_(n, 0),
        n_threads_(n_threads) {}
  RowCache(const RowCache&) = delete;
  RowCache(RowCache&&) = default;

  Size rows_computed() const { return rows_computed_; }
  Size most_held() const { return most_held_; }

  // Row i, which must have been fetched and not given way since.
  const float* row(Size i) const { return at(slot_[i]); }

  // Makes room for the rows and computes those that are missing; at most `capacity` at a time.
  // Between pieces of them it asks whether to go on. Rows that were not computed are not held.
  void fetch(const std::int32_t* index, Size count, Poll& poll) {
    ++time_;
    missing_.clear();
    for (Size k = 0; k < count; ++k) {
      if (slot_[index[k]] >= 0)
        used_[slot_[index[k]]] = time_;
      else
        missing_.push_back(index[k]);
    }
    if (missing_.empty()) return;
    for (const std::int32_t i : missing_) again_ += known_[i];
    if (again_ >= capacity_ && capacity_ < most_) {
      capacity_ = std::min(2 * capacity_, most_);
      again_ = 0;
    }
    const std::vector<std::int32_t> slots = room_for(static_cast<Size>(missing_.size()), count);
    std::vector<float*> out(missing_.size());
    for (std::size_t k = 0; k < missing_.size(); ++k) {
      const std::int32_t slot = slots[k];
      if (owner_[slot] >= 0) slot_[owner_[slot]] = -1;
      owner_[slot] = missing_[k];
      slot_[missing_[k]] = slot;
      used_[slot] = time_;
      out[k] = at(slot);
    }
    Size done = 0;
    try {
      while (done < static_cast<Size>(missing_.size())) {
        poll();
        done += compute(missing_.data() + done, out.data() + done,
                        static_cast<Size>(missing_.size()) - done);
      }
    } catch (...) {  // halted, or a caller's kernel threw
      for (const std::int32_t slot : std::span(slots).subspan(done)) {
        slot_[owner_[slot]] = -1;
        owner_[slot] = -1;
        used_[slot] = 0;
      }
      throw;
    }
  }

  // The same, for work that is short enough not to be asked.
  void fetch(const std::int32_t* index, Size count) {
    Poll never([] { return false; });
    fetch(index, count, never);
  }

  // Gives all memory back.
  void clear() {
    blocks_.clear();
    reserve_.reset();
    owner_.clear();
    used_.clear();
    std::fill(slot_.begin(), slot_.end(), -1);
    std::fill(known_.begin(), known_.end(), 0);
    filled_ = 0;
    again_ = 0;
    capacity_ = first_;
  }

  // Values among the samples of a set, whose rows must be held but for the first `kept`: these are
  // the last of the `before` samples whose values among each other are in `old`. K is symmetric.
  void among(const std::vector<std::int32_t>& set, Size kept, const std::vector<float>& old,
             Size before, float* values) const {
    const Size q = static_cast<Size>(set.size()), gone = before - kept;
    for (Size a = 0; a < kept; ++a)
      std::copy_n(old.data() + (a + gone) * before + gone, kept, values + a * q);
    constexpr Size kWorthThreads = Size{1} << 14;
    const int n_threads = (q - kept) * q < kWorthThreads ? 1 : n_threads_;
    in_threads(q - kept, n_threads, [&](Size first, Size last) {
      for (Size a = kept + first; a < kept + last; ++a) {
        const float* held = row(set[a]);
        for (Size b = 0; b <= a; ++b) values[a * q + b] = values[b * q + a] = held[set[b]];
      }
    });
  }

 private:
  static constexpr Size kBlockValues = Size{1} << 23;  // 32 MB, which malloc maps and unmaps
  static constexpr Size kReserve = 2 * kBlockValues;   // left to others where memory is short

  // So many slots or a few more: only the last block may be shorter than the others.
  Size whole_blocks(Size slots) const {
    return (slots + rows_per_block_ - 1) / rows_per_block_ * rows_per_block_;
  }

  float* at(Size slot) const {
    return blocks_[slot / rows_per_block_].get() + slot % rows_per_block_ * n_;
  }

  // Computes the first of the rows, as many as take a moment, and returns how many.
  Size compute(const std::int32_t* index, float* const* out, Size count) {
    constexpr std::chrono::milliseconds kShort{50}, kLong{150};
    const Size rows = std::min(piece_, count);
    const auto begin = Clock::now();
    source_(index, rows, out);
    const auto took = Clock::now() - begin;
    if (took < kShort && rows == piece_) piece_ *= 2;
    if (took > kLong) piece_ = std::max<Size>(1, piece_ / 2);
    rows_computed_ += rows;
    for (Size k = 0; k < rows; ++k) known_[index[k]] = 1;
    return rows;
  }

  // Another block of slots, unless memory is short and the `needed` slots are there without it.
  void grow(Size needed) {
    const Size slots = static_cast<Size>(owner_.size());
    const Size more = std::min(rows_per_block_, capacity_ - slots);
    try {
      if (slots > 0 && !reserve_)
        reserve_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(kReserve));
      auto block = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(more * n_));
      if (slots > 0) populate(block.get(), more * n_, n_threads_);  // the first may do
      blocks_.reserve(blocks_.size() + 1);
      used_.resize(slots + more, 0);
      owner_.resize(slots + more, -1);
      blocks_.push_back(std::move(block));
      most_held_ = std::max(most_held_, slots + more);
    } catch (const std::bad_alloc&) {
      used_.resize(slots);
      reserve_.reset();
      if (slots < needed) throw;
      capacity_ = slots;
    }
  }

  // Slots never used, then those used longest ago; `needed` are in use from now on.
  std::vector<std::int32_t> room_for(Size count, Size needed) {
    if (needed > capacity_) capacity_ = first_;  // memory was short: it is asked for again
    std::vector<std::int32_t> slots;
    while (filled_ < capacity_ && static_cast<Size>(slots.size()) < count) {
      if (filled_ == static_cast<Size>(owner_.size())) {
        grow(needed);
        continue;
      }
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

  Size n_;
  Size most_;  // slots that there may be
  Size rows_per_block_;
  Size first_, capacity_;  // slots at first, and at present: those of whole blocks, or all
  RowSource source_;
  std::vector<std::unique_ptr<float[]>> blocks_;
  std::unique_ptr<float[]> reserve_;  // never touched
  std::vector<std::int32_t> slot_;    // of each sample; -1: none
  std::vector<std::int32_t> owner_;   // of each slot; -1: none
  std::vector<std::int64_t> used_;    // when each slot was last asked for
  std::vector<std::uint8_t> known_;   // whether the row of each sample was computed before
  Size again_ = 0;                    // rows computed once more since the capacity last grew
  Size most_held_ = 0;                // slots that there were at a time
  Size piece_ = 2;                    // rows that are computed in a moment
  std::int64_t time_ = 0;
  Size filled_ = 0;  // slots that were ever in use
  Size rows_computed_ = 0;
  std::vector<std::int32_t> missing_;
  int n_threads_;
};

}  // namespace maxmargin
