// Large matrices a panel of columns at a time: a whole product or factorisation may take seconds,
// and Ctrl-C is to be heard meanwhile.
#pragma once

#include <algorithm>

#include "common/deadline.hpp"
#include "data/rows.hpp"
#include "linalg/blas.hpp"

namespace maxmargin {

constexpr int kPanel = 512;  // columns

// The columns from `begin` to `end` of the upper triangle of C += alpha A A', A of `depth` columns,
// or of C += alpha A'A (trans "T"), A of `depth` rows.
inline void add_panel(const Blas& blas, const char* trans, int begin, int end, int depth,
                      double alpha, const double* a, int lda, double* c, int ldc) {
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

// All columns.
inline void add_panels(const Blas& blas, const char* trans, int n, int depth, double alpha,
                       const double* a, int lda, double* c, int ldc, Poll& poll) {
  if (n <= 2 * kPanel) return add_panel(blas, trans, 0, n, depth, alpha, a, lda, c, ldc);
  for (int begin = 0; begin < n; begin += kPanel) {
    poll();
    add_panel(blas, trans, begin, std::min(begin + kPanel, n), depth, alpha, a, lda, c, ldc);
  }
}

// The Cholesky factor of an upper triangle, in its place; whether there is one.
inline bool factorise(const Blas& blas, int n, double* a, int lda, Poll& poll) {
  const int block = n <= 2 * kPanel ? n : kPanel;
  const double one = 1.0;
  int info = 0;
  for (int k = 0; k < n; k += block) {
    const int depth = std::min(block, n - k), rest = n - k - depth;
    double* const corner = a + static_cast<Size>(k) * (lda + 1);
    double* const row = corner + static_cast<Size>(depth) * lda;
    blas.dpotrf("U", &depth, corner, &lda, &info);
    if (info != 0) return false;
    if (rest == 0) break;
    for (int begin = 0; begin < rest; begin += kPanel) {
      poll();
      const int width = std::min(kPanel, rest - begin);
      blas.dtrsm("L", "U", "T", "N", &depth, &width, &one, corner, &lda,
                 row + static_cast<Size>(begin) * lda, &lda);
    }
    add_panels(blas, "T", rest, depth, -1.0, row, lda, row + depth, lda, poll);
  }
  return true;
}

}  // namespace maxmargin
