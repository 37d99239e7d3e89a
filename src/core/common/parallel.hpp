// Work in threads, down to none where none can be started.
#pragma once

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "common/types.hpp"

namespace maxmargin {

// Threads that are waited for. (libc++ has had std::jthread for every program only since 20.)
class Threads {
 public:
  explicit Threads(std::size_t most) { started_.reserve(most); }
  ~Threads() {
    for (std::thread& thread : started_) thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // Whether another thread could be had for it.
  template <class Work>
  bool start(Work work) {
    try {
      started_.emplace_back(work);
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

 private:
  std::vector<std::thread> started_;
};

// work(first, last) on parts of 0 <= k < count: in a thread each, but the first part runs here, and
// so do those for which no thread could be had. What a part throws is thrown here, once all have
// ended.
template <class Work>
void in_threads(Size count, int n_threads, Work work) {
  const Size parts = std::max<Size>(1, std::min<Size>(n_threads, count));
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(parts));
  const auto run = [&](Size part) {
    try {
      work(part * count / parts, (part + 1) * count / parts);
    } catch (...) {
      thrown[part] = std::current_exception();
    }
  };
  {
    Threads others(static_cast<std::size_t>(parts - 1));
    Size started = 1;
    while (started < parts && others.start([&run, started] { run(started); })) ++started;
    run(0);
    for (Size part = started; part < parts; ++part) run(part);
  }
  for (const std::exception_ptr& error : thrown)
    if (error) std::rethrow_exception(error);
}

}  // namespace maxmargin
