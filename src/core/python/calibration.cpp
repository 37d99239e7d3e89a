// The maps from decision values to probabilities.
#include "objective/increasing_map.hpp"
#include "python/arrays.hpp"

using namespace nanobind::literals;

namespace maxmargin {

void bind_calibration(nb::module_& m) {
  m.def(
      "fit_map_weights",
      [](InMatrix<double> functions, In<double> target, In<double> weight, In<double> centre,
         double ridge, Out out) {
        const Size n = static_cast<Size>(functions.shape(0));
        require(functions.shape(1) == kFunctions, "functions must have four columns");
        require_length(target, n, "target");
        require_length(weight, n, "weight");
        require_length(centre, kFunctions, "centre");
        require_length(out, kFunctions, "out");
        nb::gil_scoped_release release;
        MapWeights begin{};
        std::copy_n(centre.data(), kFunctions, begin.begin());
        const MapData data{functions.data(), target.data(), weight.data(), n};
        const MapWeights found = fit_map_weights(data, begin, ridge);
        std::copy(found.begin(), found.end(), out.data());
      },
      "functions"_a, "target"_a, "weight"_a, "centre"_a, "ridge"_a, "out"_a.noconvert(),
      "Weights >= 0 of four functions in log-odds, by likelihood, held to those of `centre`.");
}

}  // namespace maxmargin
