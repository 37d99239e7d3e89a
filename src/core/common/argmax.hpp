// The largest of some values, four at a time, and where it is.
#pragma once

#include <cstdint>
#include <limits>

#include "common/types.hpp"

namespace maxmargin {

class Largest {
 public:
  typedef double Lanes __attribute__((vector_size(32), aligned(8)));
  typedef std::int64_t Places __attribute__((vector_size(32)));

  MAXMARGIN_INLINE void take(Lanes value, Size at) {
    const Places place = at + Places{0, 1, 2, 3}, better = value > best_;
    best_ = better ? value : best_;
    places_ = better ? place : places_;
  }
  MAXMARGIN_INLINE void take(double value, Size at) {
    if (value > best_[0]) {
      best_[0] = value;
      places_[0] = at;
    }
  }
  MAXMARGIN_INLINE double value(Size& at) const {
    int lane = 0;
    for (int k = 1; k < 4; ++k)
      if (best_[k] > best_[lane]) lane = k;
    at = places_[lane];
    return best_[lane];
  }

  static MAXMARGIN_INLINE Lanes load(const double* from) {
    return *reinterpret_cast<const Lanes*>(from);
  }

 private:
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  Lanes best_ = {kNever, kNever, kNever, kNever};
  Places places_ = {0, 0, 0, 0};
};

}  // namespace maxmargin
