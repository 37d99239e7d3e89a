// A deadline that an epoch looks at now and then, so that Python gets to answer Ctrl-C.
#pragma once

#include <chrono>

namespace maxmargin {

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool passed() const { return Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
};

}  // namespace maxmargin
