// Python's handle on a source of kernel rows.
#pragma once

#include <memory>
#include <variant>

#include "kernels/prediction.hpp"
#include "python/arrays.hpp"

namespace maxmargin {

using AnyKernel =
    std::variant<std::monostate, std::shared_ptr<DenseKernel>, std::shared_ptr<SparseKernel<int>>,
                 std::shared_ptr<SparseKernel<long long>>>;

// What it needs is kept alive by the bindings.
struct BoundSource {
  RowSource rows;
  Size n_samples;
  AnyKernel kernel = {};  // where it can also predict
  int n_threads = 1;
};

}  // namespace maxmargin
