// What the rows add to the certificate of a K-class problem.
//
// Written apart from linear/crammer_singer.hpp, from the text book. Per sample, with a_j = -beta_j
// >= 0 for the classes j other than y, so that beta_y = sum_j a_j <= cost:
//
//   slack      xi = max over j of [j != y] + z_j - z_y, at least 0
//   loss       cost xi
//   dual term  beta_y
//   bracket    loss + <z, beta> - beta_y = (cost - beta_y) xi + sum_j a_j (xi - (1 + z_j - z_y))
#pragma once

#include <vector>

#include "data/class_weights.hpp"
#include "objective/certificate.hpp"

namespace maxmargin {

struct ClassCertificateTerms {
  const std::int32_t* y;
  const double* cost;
  Size n_classes;
};

MAXMARGIN_INLINE void add_classes(const double* z, const double* beta, Size y, double cost,
                                  Size n_classes, CertificateSums& total) {
  double slack = 0.0;
  for (Size j = 0; j < n_classes; ++j) {
    const double miss = j == y ? 0.0 : 1.0 + z[j] - z[y];
    slack = miss > slack ? miss : slack;
  }
  double bracket = std::max(0.0, cost - beta[y]) * slack;
  for (Size j = 0; j < n_classes; ++j)
    if (j != y) bracket -= beta[j] * (slack - (1.0 + z[j] - z[y]));
  total.losses += cost * slack;
  total.conjugates += beta[y];
  total.fenchel_young += bracket;
  total.slacks += cost > 0.0 ? slack : 0.0;
  if (cost > 0.0) total.kkt_violation = std::max(total.kkt_violation, bracket / cost);
  total.n_bounded += beta[y] > 0.0 && beta[y] >= cost;
  total.n_free += beta[y] > 0.0 && beta[y] < cost;
}

// Rows begin <= i < end of the certificate of (W, b) by a feasible beta, and
// dual_W_j += sum_i beta_ij x_i.
template <class Rows>
MAXMARGIN_INLINE CertificateSums certify_classes(const Rows& rows,
                                                 const ClassCertificateTerms& terms,
                                                 const double* W, const double* b,
                                                 const double* beta, Size begin, Size end,
                                                 double* dual_W) {
  const Size K = terms.n_classes;
  std::vector<double> z(static_cast<std::size_t>(padded(K))), amounts(z.size());
  std::vector<int> busy(z.size());
  CertificateSums total;
  for (Size i = begin; i < end; ++i) {
    const double* at = beta + i * K;
    scores(rows, i, W, K, z.data());
    for (Size j = 0; j < K; ++j) z[j] += b[j];
    add_classes(z.data(), at, terms.y[i], terms.cost[i], K, total);
    std::copy_n(at, K, amounts.data());
    if (at[terms.y[i]] != 0.0) add_to_classes(rows, i, amounts.data(), K, busy.data(), dual_W);
  }
  return total;
}

// What all samples add at known values z, b included.
inline CertificateSums sum_all_classes(const ClassCertificateTerms& terms, const double* z,
                                       const double* beta, Size n) {
  const Size K = terms.n_classes;
  CertificateSums total;
  for (Size i = 0; i < n; ++i)
    add_classes(z + i * K, beta + i * K, terms.y[i], terms.cost[i], K, total);
  return total;
}

}  // namespace maxmargin
