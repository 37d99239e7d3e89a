// BLAS and LAPACK as SciPy ships them: function pointers handed in from Python, nothing is linked.
// Fortran storage, 32-bit integers.
#pragma once

namespace maxmargin {

// C := alpha A A' + beta C.
using Dsyrk = void (*)(const char* uplo, const char* trans, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* beta,
                       double* c, const int* ldc);

// C := alpha A B + beta C, A and B transposed or not.
using Dgemm = void (*)(const char* transa, const char* transb, const int* m, const int* n,
                       const int* k, const double* alpha, const double* a, const int* lda,
                       const double* b, const int* ldb, const double* beta, double* c,
                       const int* ldc);

// Solves A X = alpha B in place of B, A a triangle.
using Dtrsm = void (*)(const char* side, const char* uplo, const char* transa, const char* diag,
                       const int* m, const int* n, const double* alpha, const double* a,
                       const int* lda, double* b, const int* ldb);

// Cholesky factor of A in place.
using Dpotrf = void (*)(const char* uplo, const int* n, double* a, const int* lda, int* info);

// Solves A X = B in place of B, A given by its Cholesky factor.
using Dpotrs = void (*)(const char* uplo, const int* n, const int* nrhs, const double* a,
                        const int* lda, double* b, const int* ldb, int* info);

struct Blas {
  Dsyrk dsyrk;
  Dgemm dgemm;
  Dtrsm dtrsm;
  Dpotrf dpotrf;
  Dpotrs dpotrs;
};

}  // namespace maxmargin
