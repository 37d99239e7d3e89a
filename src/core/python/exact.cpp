// Products to twice the digits of a double, for certificates in which rounding counts.
//
// Compiled without contraction (CMakeLists.txt): fused instructions would change the sums that
// find the rounding errors.
#include <cmath>

#include "python/arrays.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

// high + low, where low is what rounding lost (Ogita, Rump and Oishi, SIAM J. Sci. Comput. 2005).
struct Double2 {
  double high = 0.0, low = 0.0;

  MAXMARGIN_INLINE void add_product(double a, double b) {
    const double product = a * b, lost = std::fma(a, b, -product);
    const double sum = high + product, part = sum - high;
    low += ((high - (sum - part)) + (product - part)) + lost;
    high = sum;
  }
};

template <class View>
MAXMARGIN_INLINE void exact_products(const View& rows, const double* w, Size begin, Size end,
                                     double* high, double* low) {
  for (Size i = begin; i < end; ++i) {
    const auto entries = rows.entries(i);
    Double2 sum;
    for (Size k = 0; k < entries.count; ++k)
      sum.add_product(entries.value(k), w[entries.column(k)]);
    high[i] = sum.high;
    low[i] = sum.low;
  }
}

}  // namespace

void bind_exact(nb::module_& m) {
  m.def(
      "exact_products",
      [](const Rows& rows, In<double> w, Size begin, Size end, Out high, Out low) {
        rows.require_range(begin, end);
        require_length(w, rows.n_features(), "w");
        require_length(high, rows.n_samples(), "high");
        require_length(low, rows.n_samples(), "low");
        rows.visit([&](const auto& view) {
          MAXMARGIN_CLONED(exact_products(view, w.data(), begin, end, high.data(), low.data()));
        });
      },
      "rows"_a, "w"_a, "begin"_a, "end"_a, "high"_a.noconvert(), "low"_a.noconvert(),
      "<w, x_i> as high + low, to twice the digits of a double.");
}

}  // namespace maxmargin
