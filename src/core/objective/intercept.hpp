// The intercept as every solver of the core has it: <w, (x, feature)> + anchor.
//
// A free intercept is solved for by proximal steps: its weight is penalised by the distance to the
// anchor, and the anchor follows (docs/decisions/0003).
#pragma once

namespace maxmargin {

struct Bias {
  double feature;  // 0: no intercept
  double anchor;
  bool free = false;  // its weight is no part of the objective, and the anchor follows
};

// Those of K classes; the arrays are the caller's and have an entry for each class.
struct ClassBias {
  double feature;  // 0: no intercepts
  bool free;
  double* weight;
  double* anchor;
};

}  // namespace maxmargin
