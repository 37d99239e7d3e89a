// How long work may go on before Python is asked: an epoch looks at a deadline and returns, longer
// work with state of its own asks whether to go on.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace maxmargin {

using Clock = std::chrono::steady_clock;

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool passed() const { return Clock::now() >= end_; }

 private:
  Clock::time_point end_;
};

struct Halted {};

// Throws Halted once `stop` says so; asks it at once and then every 20 ms.
class Poll {
 public:
  explicit Poll(std::function<bool()> stop) : stop_(std::move(stop)) {}

  void operator()() {
    const auto now = Clock::now();
    if (now < next_) return;
    if (stop_()) throw Halted{};
    next_ = Clock::now() + kInterval;
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{20};
  std::function<bool()> stop_;
  Clock::time_point next_ = Clock::time_point::min();
};

}  // namespace maxmargin
