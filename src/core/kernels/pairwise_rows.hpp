// Kernel rows for pairs of classes, which share those of a class among its own samples.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "kernels/row_source.hpp"

namespace maxmargin {

// Rows among the samples of a class: the first `most` that are asked for are kept. Several threads
// may ask at a time.
template <class Kernel>
class ClassRows {
 public:
  ClassRows(std::shared_ptr<const Kernel> kernel, Size most)
      : kernel_(std::move(kernel)), most_(most), held_(kernel_->n_samples()) {}

  const Kernel& kernel() const { return *kernel_; }
  Size n_samples() const { return kernel_->n_samples(); }
  Size rows_kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

  void rows(const std::int32_t* index, Size count, float* const* out, int n_threads) {
    std::vector<const float*> known(count);
    {
      const std::lock_guard lock(mutex_);
      for (Size r = 0; r < count; ++r) known[r] = held_[index[r]].get();
    }
    std::vector<std::int32_t> missing;
    std::vector<float*> to;
    for (Size r = 0; r < count; ++r) {
      if (known[r]) {
        std::copy_n(known[r], n_samples(), out[r]);
      } else {
        missing.push_back(index[r]);
        to.push_back(out[r]);
      }
    }
    kernel_->rows(*kernel_, missing.data(), static_cast<Size>(missing.size()), to.data(),
                  n_threads);
    for (std::size_t k = 0; k < missing.size(); ++k) keep(missing[k], to[k]);
  }

 private:
  void keep(Size i, const float* values) {
    {
      const std::lock_guard lock(mutex_);
      if (kept_ >= most_ || held_[i]) return;
    }
    std::unique_ptr<float[]> row(new (std::nothrow) float[static_cast<std::size_t>(n_samples())]);
    if (row) std::copy_n(values, n_samples(), row.get());
    const std::lock_guard lock(mutex_);
    if (!row) most_ = kept_;  // memory is short: those held must do
    if (!row || kept_ >= most_ || held_[i]) return;
    held_[i] = std::move(row);
    ++kept_;
  }

  std::shared_ptr<const Kernel> kernel_;
  Size most_, kept_ = 0;
  std::vector<std::unique_ptr<float[]>> held_;  // once there, they stay
  mutable std::mutex mutex_;
};

// Rows of two classes together: the samples of the first, then those of the second.
template <class Kernel>
RowSource pair_rows(std::shared_ptr<ClassRows<Kernel>> first,
                    std::shared_ptr<ClassRows<Kernel>> second, int n_threads) {
  return [=](const std::int32_t* index, Size count, float* const* out) {
    const Size split = first->n_samples();
    for (const bool own_first : {true, false}) {
      ClassRows<Kernel>&own = own_first ? *first : *second, &rival = own_first ? *second : *first;
      std::vector<std::int32_t> some;
      std::vector<float*> own_out, rival_out;
      for (Size r = 0; r < count; ++r) {
        if ((index[r] < split) != own_first) continue;
        some.push_back(static_cast<std::int32_t>(own_first ? index[r] : index[r] - split));
        own_out.push_back(out[r] + (own_first ? 0 : split));
        rival_out.push_back(out[r] + (own_first ? split : 0));
      }
      const Size many = static_cast<Size>(some.size());
      own.rows(some.data(), many, own_out.data(), n_threads);
      rival.kernel().rows(own.kernel(), some.data(), many, rival_out.data(), n_threads);
    }
  };
}

}  // namespace maxmargin
