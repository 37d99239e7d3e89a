// Large matrices a panel of columns at a time: a whole product or factorisation may take seconds,
// and Ctrl-C is to be heard meanwhile.
#pragma once

#include <algorithm>

#include "common/deadline.hpp"
#include "data/rows.hpp"
#include "linalg/blas.hpp"

namespace maxmargin {

constexpr int kPanelColumns = 512;  // columns

// What a symmetric matrix gets: alpha A A', A of `depth` columns, or alpha A'A (trans "T"), A of
// `depth` rows. A is the caller's.
struct RankUpdate {
  const char* trans;
  int depth;
  double alpha;
  const double* a;
  int lda;
};

// The columns from `begin` to `end` of the upper triangle of C + update.
inline void add_panel(const Blas& blas, const RankUpdate& update, int begin, int end, double* c,
                      int ldc) {
  const auto& [trans, depth, alpha, a, lda] = update;
  const bool turned = *trans == 'T';
  const int width = end - begin;
  const double one = 1.0;
  const double* const own = a + (turned ? static_cast<Size>(begin) * lda : begin);
  double* const column = c + static_cast<Size>(begin) * ldc;
  if (begin > 0)
    blas.dgemm(trans, turned ? "N" : "T", &begin, &width, &depth, &alpha, a, &lda, own, &lda, &one,
               column, &ldc);
  blas.dsyrk("U", trans, &width, &depth, &alpha, own, &lda, &one, column + begin, &ldc);
}

// All n columns.
inline void add_panels(const Blas& blas, const RankUpdate& update, int n, double* c, int ldc,
                       Poll& poll) {
  if (n <= 2 * kPanelColumns) return add_panel(blas, update, 0, n, c, ldc);
  for (int begin = 0; begin < n; begin += kPanelColumns) {
    poll();
    add_panel(blas, update, begin, std::min(begin + kPanelColumns, n), c, ldc);
  }
}

// The Cholesky factor of an upper triangle, in its place; whether there is one.
inline bool factorise(const Blas& blas, int n, double* a, int lda, Poll& poll) {
  const int block = n <= 2 * kPanelColumns ? n : kPanelColumns;
  const double one = 1.0;
  int info = 0;
  for (int k = 0; k < n; k += block) {
    const int depth = std::min(block, n - k), rest = n - k - depth;
    double* const corner = a + static_cast<Size>(k) * (lda + 1);
    double* const row = corner + static_cast<Size>(depth) * lda;
    blas.dpotrf("U", &depth, corner, &lda, &info);
    if (info != 0) return false;
    if (rest == 0) break;
    for (int begin = 0; begin < rest; begin += kPanelColumns) {
      poll();
      const int width = std::min(kPanelColumns, rest - begin);
      blas.dtrsm("L", "U", "T", "N", &depth, &width, &one, corner, &lda,
                 row + static_cast<Size>(begin) * lda, &lda);
    }
    add_panels(blas, {"T", depth, -1.0, row, lda}, rest, row + depth, lda, poll);
  }
  return true;
}

}  // namespace maxmargin
