// The intercept as every solver of the core has it: <w, (x, feature)> + anchor.
//
// A free intercept is solved for by proximal steps: its weight is penalised by the distance to the
// anchor, and the anchor follows (docs/decisions/0003).
#pragma once

namespace maxmargin {

struct Bias {
  double feature;  // 0: no intercept
  double anchor;
};

}  // namespace maxmargin
