// What the binding files share: array types, their checks, and Python's handles on views.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

#include "data/rows.hpp"
#include "objective/intercept.hpp"
#include "objective/losses.hpp"

namespace maxmargin {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutRows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using InOrder = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutFlags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutMask = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutOrder = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class Array>
void require_length(const Array& array, Size length, const char* name) {
  if (static_cast<Size>(array.shape(0)) != length)
    throw std::invalid_argument(std::string(name) + " has length " +
                                std::to_string(array.shape(0)) + ", expected " +
                                std::to_string(length));
}

// Python's handle on a view; the arrays behind it are kept alive by the bindings.
struct Rows {
  AnyRows view;
  Size n_samples() const {
    return std::visit([](const auto& rows) { return rows.n_samples; }, view);
  }
  Size n_features() const {
    return std::visit([](const auto& rows) { return rows.n_features; }, view);
  }
  // work(the view), with the GIL released.
  template <class Work>
  decltype(auto) visit(Work work) const {
    nb::gil_scoped_release release;
    return std::visit(work, view);
  }
  void require_range(Size begin, Size end) const {
    require(0 <= begin && begin <= end && end <= n_samples(), "row range out of bounds");
  }
};

struct BoundTerms {
  Terms terms;
  Size n_samples;
};

// Python's handle on the intercepts of K classes.
struct BoundClassBias {
  ClassBias bias;
  Size length;  // of its arrays
};

// One for each file of this folder.
void bind_calibration(nb::module_& m);
void bind_certificate(nb::module_& m);
void bind_classes(nb::module_& m);  // multiclass.cpp: K classes at once
void bind_data(nb::module_& m);
void bind_dense_smo(nb::module_& m);  // SMO on a whole kernel matrix
void bind_exact(nb::module_& m);      // to twice the digits
void bind_faults(nb::module_& m);     // only in builds for tests
void bind_kernels(nb::module_& m);
void bind_l1(nb::module_& m);      // a penalty of |w| instead of its square
void bind_linear(nb::module_& m);  // coordinate descent
void bind_newton(nb::module_& m);
void bind_objective(nb::module_& m);
void bind_smo(nb::module_& m);
void bind_stochastic(nb::module_& m);  // Pegasos and SGD

}  // namespace maxmargin
