// The passes of the certificate.
#include "objective/certificate.hpp"

#include <nanobind/operators.h>

#include "objective/offsets.hpp"
#include "python/arrays.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

struct BoundCertificateTerms {
  CertificateTerms terms;
  Size n_samples;
};

void make_terms(BoundCertificateTerms* self, In<double> y, In<double> cost, double target_scale,
                double epsilon, bool one_sided, bool bounded) {
  const Size n = static_cast<Size>(y.shape(0));
  require_length(cost, n, "cost");
  new (self) BoundCertificateTerms{
      CertificateTerms{y.data(), cost.data(), target_scale, epsilon, one_sided, bounded}, n};
}

void clip(const BoundCertificateTerms& self, In<double> beta, Out out) {
  require_length(beta, self.n_samples, "beta");
  require_length(out, self.n_samples, "out");
  nb::gil_scoped_release release;
  clip_dual(self.terms, beta.data(), self.n_samples, out.data());
}

void balance(const BoundCertificateTerms& self, Out beta) {
  require_length(beta, self.n_samples, "beta");
  nb::gil_scoped_release release;
  balance_dual(self.terms, beta.data(), self.n_samples);
}

CertificateSums sum_point(const BoundCertificateTerms& self, const Rows& rows,
                          const LinearPoint& point, Size begin, Size end) {
  return rows.visit(
      [&](const auto& view) { return certify_rows(self.terms, view, point, begin, end); });
}

template <class Beta>
void require_point(const BoundCertificateTerms& self, const Rows& rows, const In<double>& w,
                   const Beta& beta, const Out& dual_w) {
  require(rows.n_samples() == self.n_samples, "terms and rows differ in length");
  require_length(w, rows.n_features(), "w");
  require_length(beta, self.n_samples, "beta");
  require_length(dual_w, rows.n_features(), "dual_w");
}

CertificateSums sum_rows(const BoundCertificateTerms& self, const Rows& rows, In<double> w,
                         double b, In<double> beta, Size begin, Size end, Out dual_w) {
  rows.require_range(begin, end);
  require_point(self, rows, w, beta, dual_w);
  const LinearPoint point{w.data(), b, beta.data(), nullptr, dual_w.data()};
  return sum_point(self, rows, point, begin, end);
}

CertificateSums sum_rows_of_w(const BoundCertificateTerms& self, const Rows& rows, In<double> w,
                              double b, Out beta, Size begin, Size end, Out dual_w) {
  rows.require_range(begin, end);
  require(!self.terms.bounded, "only a squared loss tells beta from w");
  require_point(self, rows, w, beta, dual_w);
  const LinearPoint point{w.data(), b, nullptr, beta.data(), dual_w.data()};
  return sum_point(self, rows, point, begin, end);
}

CertificateSums sum_known_values(const BoundCertificateTerms& self, In<double> f, In<double> beta) {
  require_length(f, self.n_samples, "f");
  require_length(beta, self.n_samples, "beta");
  nb::gil_scoped_release release;
  return sum_values(self.terms, f.data(), beta.data(), self.n_samples);
}

Offsets offsets_of(const BoundCertificateTerms& self, In<double> z, bool free, double nu_sum) {
  require_length(z, self.n_samples, "z");
  nb::gil_scoped_release release;
  return best_offsets(self.terms, z.data(), self.n_samples, free, nu_sum);
}

double intercept_near(const BoundCertificateTerms& self, In<double> z, double b) {
  require_length(z, self.n_samples, "z");
  nb::gil_scoped_release release;
  const CertificateTerms& terms = self.terms;
  const Size n = self.n_samples;
  const auto best = [&](auto one_sided) {
    return terms.bounded
               ? MAXMARGIN_CLONED(best_intercept_near<one_sided>(terms, z.data(), n, b))
               : MAXMARGIN_CLONED(best_intercept_squared<one_sided>(terms, z.data(), n, b));
  };
  return terms.one_sided ? best(std::true_type{}) : best(std::false_type{});
}

Fractions fractions_of(const BoundCertificateTerms& self, In<double> f, In<double> beta) {
  require_length(f, self.n_samples, "f");
  require_length(beta, self.n_samples, "beta");
  return fractions(self.terms, f.data(), beta.data(), self.n_samples);
}

void bind_sums(nb::module_& m) {
  nb::class_<CertificateSums>(m, "CertificateSums", "What some rows add to a certificate.")
      .def(nb::self + nb::self)
      .def_ro("losses", &CertificateSums::losses)
      .def_ro("conjugates", &CertificateSums::conjugates)
      .def_ro("fenchel_young", &CertificateSums::fenchel_young)
      .def_ro("slacks", &CertificateSums::slacks)
      .def_ro("sum", &CertificateSums::sum)
      .def_ro("size", &CertificateSums::size)
      .def_ro("kkt_violation", &CertificateSums::kkt_violation)
      .def_ro("n_free", &CertificateSums::n_free)
      .def_ro("n_bounded", &CertificateSums::n_bounded);
}

void bind_squares(nb::module_& m) {
  nb::class_<Squares>(m, "Squares", "The squared lengths of w and v and of what is between them.")
      .def(
          "__init__",
          [](Squares* self, In<double> w,
             nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> v) {
            const Size n = static_cast<Size>(w.shape(0));
            require_length(v, n, "v");
            nb::gil_scoped_release release;
            new (self) Squares{squares_of(w.data(), v.data(), v.stride(0), n)};
          },
          "w"_a, "v"_a)
      .def_ro("own", &Squares::own)
      .def_ro("dual", &Squares::dual)
      .def_ro("apart", &Squares::apart);
}

void bind_terms(nb::module_& m) {
  nb::class_<BoundCertificateTerms>(m, "CertificateTerms",
                                    "Labels, costs and loss as the certificate reads them.")
      .def("__init__", &make_terms, "y"_a.noconvert(), "cost"_a.noconvert(), "target_scale"_a,
           "epsilon"_a, "one_sided"_a, "bounded"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("clip", &clip, "beta"_a, "out"_a.noconvert(), "beta inside its box.")
      .def("balance", &balance, "beta"_a.noconvert(),
           "Scale entries of a beta inside its box until they sum to 0.")
      .def("sum_rows", &sum_rows, "rows"_a, "w"_a, "b"_a, "beta"_a, "begin"_a, "end"_a,
           "dual_w"_a.noconvert())
      .def("sum_rows_of_w", &sum_rows_of_w, "rows"_a, "w"_a, "b"_a, "beta"_a.noconvert(), "begin"_a,
           "end"_a, "dual_w"_a.noconvert(), "By the beta that belongs to w, which is written.")
      .def("sum_values", &sum_known_values, "f"_a, "beta"_a,
           "Without the rows, where the values f(x_i) are known.")
      .def("best_offsets", &offsets_of, "z"_a, "free"_a, "nu_sum"_a,
           "What minimises P at values z: b, and the number in the loss.")
      .def("best_intercept", &intercept_near, "z"_a, "b"_a,
           "What minimises P at values z: b, sought from this one on.")
      .def("fractions", &fractions_of, "f"_a, "beta"_a);
}

void bind_parts(nb::module_& m) {
  nb::class_<Offsets>(m, "Offsets", "An intercept, and the margin or tube.")
      .def_ro("b", &Offsets::b)
      .def_ro("number", &Offsets::number);

  nb::class_<Fractions>(m, "Fractions", "Shares of the costs.")
      .def_ro("margin_errors", &Fractions::margin_errors)
      .def_ro("support_vectors", &Fractions::support_vectors);

  nb::class_<CertificateParts>(m, "CertificateParts",
                               "What the certificate of a small kernel machine is made of.")
      .def_prop_ro("b", [](const CertificateParts& self) { return self.offsets.b; })
      .def_prop_ro("number", [](const CertificateParts& self) { return self.offsets.number; })
      .def_ro("square", &CertificateParts::square)
      .def_ro("sums", &CertificateParts::sums)
      .def_ro("fractions", &CertificateParts::fractions);
}

}  // namespace

void bind_certificate(nb::module_& m) {
  bind_sums(m);
  bind_squares(m);
  bind_terms(m);
  bind_parts(m);
}

}  // namespace maxmargin
