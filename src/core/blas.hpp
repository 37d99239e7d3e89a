// BLAS and LAPACK as SciPy ships them: function pointers handed in from Python, nothing is linked.
// Fortran storage, 32-bit integers.
#pragma once

namespace maxmargin {

// C := alpha A A' + beta C.
using Dsyrk = void (*)(const char* uplo, const char* trans, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* beta,
                       double* c, const int* ldc);

// Cholesky factor of A in place.
using Dpotrf = void (*)(const char* uplo, const int* n, double* a, const int* lda, int* info);

// Solves A X = B in place of B, A given by its Cholesky factor.
using Dpotrs = void (*)(const char* uplo, const int* n, const int* nrhs, const double* a,
                        const int* lda, double* b, const int* ldb, int* info);

struct Blas {
  Dsyrk dsyrk;
  Dpotrf dpotrf;
  Dpotrs dpotrs;
};

}  // namespace maxmargin
