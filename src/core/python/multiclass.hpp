// Python's handle on the problem of K classes, and how their weights are given.
#pragma once

#include <type_traits>

#include "data/class_weights.hpp"
#include "linear/crammer_singer.hpp"
#include "python/arrays.hpp"

namespace maxmargin {

template <class T>
using OutWeights = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

struct BoundClasses {
  ClassProblem problem;
  Size n_samples;
};

template <class Array>
void require_weights(const Rows& rows, Size n_classes, const Array& W) {
  require(n_classes >= 1, "there must be at least one class");
  using T = std::remove_const_t<typename Array::Scalar>;
  const Size size =
      std::visit([&](const auto& view) { return weights_size<T>(view, n_classes); }, rows.view);
  require(static_cast<Size>(W.size()) == size, "W does not have the layout of the rows");
}

}  // namespace maxmargin
