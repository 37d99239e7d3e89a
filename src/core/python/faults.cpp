// Allocations that fail on purpose, in builds for tests: the linker sends the core's calls of
// operator new here (MAXMARGIN_FAULTS in CMakeLists.txt).
#include <atomic>
#include <new>

#include "python/arrays.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

std::atomic<std::int64_t> after{0}, times{0}, failed{0};
std::atomic<std::size_t> least{0};

bool fails(std::size_t bytes) {
  if (times.load(std::memory_order_relaxed) == 0 || bytes < least) return false;
  if (after.fetch_sub(1) > 0 || times.fetch_sub(1) <= 0) return false;
  ++failed;
  return true;
}

}  // namespace

void bind_faults(nb::module_& m) {
  m.def(
      "fail_allocations",
      [](std::int64_t first, std::int64_t count, std::size_t bytes) {
        times = 0;
        after = first;
        least = bytes;
        failed = 0;
        times = count;
      },
      "after"_a, "times"_a, "least"_a = 0,
      "Of the allocations of at least so many bytes some succeed, then some fail. For tests.");
  m.def("failed_allocations", [] { return failed.load(); }, "How many did.");
}

}  // namespace maxmargin

#define MAXMARGIN_FAILING(name, parameters, arguments)   \
  void* __real_##name parameters;                        \
  void* __wrap_##name parameters {                       \
    if (maxmargin::fails(bytes)) throw std::bad_alloc(); \
    return __real_##name arguments;                      \
  }
extern "C" {
MAXMARGIN_FAILING(_Znwm, (std::size_t bytes), (bytes))
MAXMARGIN_FAILING(_Znam, (std::size_t bytes), (bytes))
MAXMARGIN_FAILING(_ZnwmSt11align_val_t, (std::size_t bytes, std::align_val_t at), (bytes, at))
MAXMARGIN_FAILING(_ZnamSt11align_val_t, (std::size_t bytes, std::align_val_t at), (bytes, at))
}
