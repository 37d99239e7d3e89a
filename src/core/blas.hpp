// BLAS as SciPy ships it: function pointers handed in from Python, nothing is linked.
#pragma once

namespace maxmargin {

// C := alpha A A' + beta C, Fortran storage, 32-bit integers.
using Dsyrk = void (*)(const char* uplo, const char* trans, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* beta,
                       double* c, const int* ldc);

}  // namespace maxmargin
