// The samples and their targets: every choice of storage and type is made here.
#include "common/random.hpp"
#include "common/shuffle.hpp"
#include "data/passes.hpp"
#include "data/target_summary.hpp"
#include "data/two_labels.hpp"
#include "python/arrays.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

template <class T>
void dense(Rows* self, InMatrix<T> X) {
  new (self)
      Rows{DenseRows<T>{X.data(), static_cast<Size>(X.shape(0)), static_cast<Size>(X.shape(1))}};
}

// Columns and offsets are checked here, so that no later pass can leave its arrays.
template <class T, class Index>
void csr(Rows* self, In<T> values, In<Index> columns, In<Index> offsets, Size n_features) {
  require_length(columns, static_cast<Size>(values.shape(0)), "columns");
  require(offsets.shape(0) >= 1, "offsets must not be empty");
  require(n_features >= 0, "n_features must not be negative");
  const Size n_samples = static_cast<Size>(offsets.shape(0)) - 1;
  bool valid = false;
  {
    nb::gil_scoped_release release;
    valid = MAXMARGIN_CLONED(canonical(offsets.data(), columns.data(), n_samples, n_features,
                                       static_cast<Size>(columns.shape(0))));
  }
  require(valid,
          "CSR offsets must rise from 0 to at most the number of stored values, and the column "
          "indices of a row must rise strictly within [0, n_features): call X.sum_duplicates()");
  new (self)
      Rows{CsrRows<T, Index>{values.data(), columns.data(), offsets.data(), n_samples, n_features}};
}

void predict_rows(const Rows& self, In<double> w, double b, Size begin, Size end, Out out) {
  self.require_range(begin, end);
  require(static_cast<Size>(w.shape(0)) >= self.n_features(), "w is shorter than n_features");
  require_length(out, self.n_samples(), "out");
  self.visit([&](const auto& rows) {
    MAXMARGIN_CLONED(predict(rows, w.data(), b, begin, end, out.data()));
  });
}

void combine_rows(const Rows& self, In<double> beta, Size begin, Size end, Out w) {
  self.require_range(begin, end);
  require_length(beta, self.n_samples(), "beta");
  require(static_cast<Size>(w.shape(0)) >= self.n_features(), "w is shorter than n_features");
  self.visit([&](const auto& rows) {
    MAXMARGIN_CLONED(combine(rows, beta.data(), begin, end, w.data()));
  });
}

void products_rows(const Rows& self, In<double> w, In<double> beta, Size begin, Size end, Out z,
                   Out v) {
  self.require_range(begin, end);
  require_length(w, self.n_features(), "w");
  require_length(beta, self.n_samples(), "beta");
  require_length(z, self.n_samples(), "z");
  require_length(v, self.n_features(), "v");
  self.visit([&](const auto& rows) {
    MAXMARGIN_CLONED(products(rows, w.data(), beta.data(), begin, end, z.data(), v.data()));
  });
}

void products_of_pairs_rows(const Rows& self, OutRows pairs, In<double> beta, Size begin, Size end,
                            Out z) {
  self.require_range(begin, end);
  require_length(pairs, self.n_features(), "pairs");
  require(pairs.shape(1) == 2, "pairs must have two columns");
  require_length(beta, self.n_samples(), "beta");
  require_length(z, self.n_samples(), "z");
  self.visit([&]<class View>(const View& rows) {
    if constexpr (View::kSparse)
      MAXMARGIN_CLONED(products_of_pairs(rows, pairs.data(), beta.data(), begin, end, z.data()));
    else
      throw std::invalid_argument("pairs of weights are for CSR rows");
  });
}

void squared_norm_rows(const Rows& self, Size begin, Size end, Out out) {
  self.require_range(begin, end);
  require_length(out, self.n_samples(), "out");
  self.visit(
      [&](const auto& rows) { MAXMARGIN_CLONED(squared_norms(rows, begin, end, out.data())); });
}

template <class Out>
bool compress_rows(const Rows& self, Size begin, Size end, In<double> centre, double unit,
                   OutOrder offsets,
                   nb::ndarray<Out, nb::ndim<1>, nb::c_contig, nb::device::cpu> values,
                   OutOrder columns) {
  self.require_range(begin, end);
  require_length(offsets, self.n_samples() + 1, "offsets");
  require(offsets.data()[begin] >= 0, "offsets must not be negative");
  const Size room = std::min<Size>(std::min(values.shape(0), columns.shape(0)),
                                   std::numeric_limits<std::int32_t>::max());
  require_length(centre, self.n_features(), "centre");
  const Compressed<Out> to{room, offsets.data(), values.data(), columns.data()};
  return self.visit([&]<class View>(const View& rows) {
    if constexpr (View::kSparse) {
      throw std::invalid_argument("only dense rows are compressed");
      return false;
    } else {
      return compress(rows, begin, end, centre.data(), unit, to);
    }
  });
}

template <class T, class Index>
void bind_csr(nb::class_<Rows>& type) {
  type.def("__init__", &csr<T, Index>, "values"_a.noconvert(), "columns"_a.noconvert(),
           "offsets"_a.noconvert(), "n_features"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>());
}

void bind_rows(nb::module_& m) {
  auto rows = nb::class_<Rows>(m, "Rows", "A read-only view of the samples, dense or CSR.");
  rows.def("__init__", &dense<float>, "X"_a.noconvert(), nb::keep_alive<1, 2>());
  rows.def("__init__", &dense<double>, "X"_a.noconvert(), nb::keep_alive<1, 2>());
  bind_csr<float, int>(rows);
  bind_csr<double, int>(rows);
  bind_csr<float, long long>(rows);
  bind_csr<double, long long>(rows);
  rows.def_prop_ro("n_samples", &Rows::n_samples);
  rows.def_prop_ro("n_features", &Rows::n_features);
  rows.def(
      "work",
      [](const Rows& self, Size begin, Size end) {
        self.require_range(begin, end);
        return std::visit([&](const auto& view) { return view.work(begin, end); }, self.view);
      },
      "begin"_a, "end"_a, "Stored values in a range of rows.");
  rows.def("predict", &predict_rows, "w"_a, "b"_a, "begin"_a, "end"_a, "out"_a.noconvert());
  rows.def("combine", &combine_rows, "beta"_a, "begin"_a, "end"_a, "w"_a.noconvert());
  rows.def("products", &products_rows, "w"_a, "beta"_a, "begin"_a, "end"_a, "z"_a.noconvert(),
           "v"_a.noconvert());
  rows.def("products_of_pairs", &products_of_pairs_rows, "pairs"_a.noconvert(), "beta"_a, "begin"_a,
           "end"_a, "z"_a.noconvert());
  rows.def("compress", &compress_rows<float>, "begin"_a, "end"_a, "centre"_a, "unit"_a,
           "offsets"_a.noconvert(), "values"_a.noconvert(), "columns"_a.noconvert());
  rows.def("compress", &compress_rows<double>, "begin"_a, "end"_a, "centre"_a, "unit"_a,
           "offsets"_a.noconvert(), "values"_a.noconvert(), "columns"_a.noconvert());
  rows.def("squared_norms", &squared_norm_rows, "begin"_a, "end"_a, "out"_a.noconvert());
}

void bind_targets(nb::module_& m) {
  nb::class_<TargetSummary>(m, "TargetSummary", "How far labels and costs reach.")
      .def(
          "__init__",
          [](TargetSummary* self, In<double> y, In<double> cost) {
            const Size n = static_cast<Size>(y.shape(0));
            require_length(cost, n, "cost");
            nb::gil_scoped_release release;
            new (self) TargetSummary{MAXMARGIN_CLONED(summarise_targets(y.data(), cost.data(), n))};
          },
          "y"_a, "cost"_a)
      .def_ro("max_abs", &TargetSummary::max_abs, "The largest |y|; infinite if one is not finite.")
      .def_ro("total_cost", &TargetSummary::total_cost)
      .def_ro("valid", &TargetSummary::valid, "Whether every cost is finite, and 0 or larger.")
      .def_ro("is_binary", &TargetSummary::is_binary, "Whether every y is -1 or +1.")
      .def_ro("constant", &TargetSummary::constant, "Whether samples of positive cost have one y.");
}

template <class T>
void bind_second_label(nb::module_& m) {
  m.def(
      "second_label",
      [](In<T> y) {
        nb::gil_scoped_release release;
        return MAXMARGIN_CLONED(second_label(y.data(), static_cast<Size>(y.shape(0))));
      },
      "y"_a.noconvert(),
      "The first row of another label than y[0], if there are just two; else 0.");
}

void bind_random(nb::module_& m) {
  nb::class_<Random>(m, "Random")
      .def(nb::init<std::uint64_t>(), "seed"_a)
      .def(
          "below",
          [](Random& self, Size bound) {
            require(bound >= 1, "bound must be at least 1");
            return self.below(bound);
          },
          "bound"_a, "A uniform draw from 0, ..., bound - 1.")
      .def(
          "shuffle_rows",
          [](Random& self, OutOrder order, Size count) {
            const Size n = static_cast<Size>(order.shape(0));
            require(count >= 0 && count <= n, "count out of bounds");
            require(all_within(order.data(), n, n), "order out of bounds");
            shuffle_rows(self, order.data(), count, n);
          },
          "order"_a.noconvert(), "count"_a,
          "Put the first rows of the order, which has each row once, in a new one.");
}

}  // namespace

void bind_data(nb::module_& m) {
  bind_rows(m);
  bind_targets(m);
  bind_second_label<double>(m);
  bind_second_label<float>(m);
  bind_second_label<std::uint64_t>(m);
  bind_second_label<std::uint32_t>(m);
  bind_second_label<std::uint16_t>(m);
  bind_second_label<std::uint8_t>(m);
  bind_random(m);
}

}  // namespace maxmargin
