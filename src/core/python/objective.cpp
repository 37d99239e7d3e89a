// What is common to all linear problems: the terms of the samples and the intercepts.
#include "objective/intercept.hpp"
#include "python/arrays.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void bind_terms(nb::module_& m) {
  nb::class_<BoundTerms>(m, "Terms", "Labels, costs and loss: the per-sample terms.")
      .def(
          "__init__",
          [](BoundTerms* self, In<double> y, In<double> cost, double target_scale, double epsilon,
             bool one_sided, bool bounded) {
            const Size n = static_cast<Size>(y.shape(0));
            require_length(cost, n, "cost");
            const Loss loss{target_scale, epsilon, one_sided, bounded};  // nested, GCC 11 crashes
            new (self) BoundTerms{Terms{y.data(), cost.data(), loss}, n};
          },
          "y"_a.noconvert(), "cost"_a.noconvert(), "target_scale"_a, "epsilon"_a, "one_sided"_a,
          "bounded"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
}

void bind_bias(nb::module_& m) {
  nb::class_<Bias>(m, "Bias", "The intercept as a feature of constant value, beside an anchor.")
      .def(nb::init<double, double, bool>(), "feature"_a, "anchor"_a, "free"_a = false,
           "A free one's weight is no part of the objective, and the anchor follows.")
      .def_rw("feature", &Bias::feature)
      .def_rw("anchor", &Bias::anchor)
      .def_ro("free", &Bias::free);
}

void bind_class_bias(nb::module_& m) {
  nb::class_<BoundClassBias>(m, "ClassBias", "The intercepts of K classes, in a caller's arrays.")
      .def(
          "__init__",
          [](BoundClassBias* self, double feature, bool free, Out weight, Out anchor) {
            const Size length = static_cast<Size>(weight.shape(0));
            require_length(anchor, length, "anchor");
            new (self)
                BoundClassBias{ClassBias{feature, free, weight.data(), anchor.data()}, length};
          },
          "feature"_a, "free"_a, "weight"_a.noconvert(), "anchor"_a.noconvert(),
          nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>());
}

}  // namespace

void bind_objective(nb::module_& m) {
  bind_terms(m);
  bind_bias(m);
  bind_class_bias(m);
}

}  // namespace maxmargin
