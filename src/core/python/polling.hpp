// What the binding files of long-running work share: asking Python whether to go on, results out.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "common/deadline.hpp"
#include "python/arrays.hpp"

namespace maxmargin {

// The address inside a capsule of scipy.linalg's cython_blas or cython_lapack, whose name spells
// the signature: `int *` sizes are 32-bit.
template <class Function>
Function function_from(nb::capsule capsule, const char* signature) {
  const char* name = capsule.name();
  require(name != nullptr && std::string(name).starts_with(signature),
          "BLAS functions must be SciPy's, with 32-bit integers");
  return reinterpret_cast<Function>(capsule.data());
}

// What long work asks: whether it is to stop.
using Stop = nb::typed<nb::callable, bool()>;

// Runs with the GIL released; Halted ends the work, with the point where it was.
template <class Work>
void polled(const Stop& stop, Work work) {
  Poll poll([&stop] {
    nb::gil_scoped_acquire acquire;
    return nb::cast<bool>(stop());
  });
  nb::gil_scoped_release release;
  try {
    work(poll);
  } catch (const Halted&) {
  }
}

// An array of Python's own.
template <class Values>
auto copied(const Values& values) {
  using T = std::remove_cvref_t<decltype(values[0])>;
  using View = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;
  using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
  return nb::typed<nb::object, Array>(
      nb::cast(View(values.data(), {values.size()}), nb::rv_policy::copy));
}

}  // namespace maxmargin
