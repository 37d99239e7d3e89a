// Prediction: out[r][p][c] = sum over the samples j of part p of coef[c][j] k(row r, sample j),
// where the values of the kernel are needed a tile at a time and never kept. Parts are classes: the
// sums of all pairs of classes take each sample's value once for each rival, not once for each
// pair.
//
// Some values at a time are summed in float32, as they are; these sums in double. A panel of dense
// samples in which a part ends and the next begins is computed for both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/dense.hpp"
#include "kernels/sparse.hpp"

namespace maxmargin {

struct Coefficients {
  const double* values;  // count x n_samples
  Size count;
  const std::int32_t* parts;  // how many samples each has, one after the other
  Size n_parts;
  Size size() const { return count * n_parts; }
};

// The largest of each sum, 1 where there is none: relative to it they fit float32.
inline std::vector<double> units_of(Coefficients coef, Size n_samples) {
  std::vector<double> units(static_cast<std::size_t>(coef.count));
  for (Size c = 0; c < coef.count; ++c) {
    for (Size j = 0; j < n_samples; ++j)
      units[c] = std::max(units[c], std::fabs(coef.values[c * n_samples + j]));
    if (units[c] == 0.0) units[c] = 1.0;
  }
  return units;
}

// Coefficients as the tiles of dense samples read them: by panels of samples, in float32, relative
// to the largest of their sum.
class PanelCoefficients {
 public:
  struct Part {
    Size first, last;  // panels
    std::vector<float> values;

    const float* of(Size panel, Size n_sums) const {
      return values.data() + (panel - first) * n_sums * kPanel;
    }
  };

  PanelCoefficients(Coefficients coef, Size n_samples)
      : n_sums(coef.count), units(units_of(coef, n_samples)) {
    for (Size p = 0, begin = 0; p < coef.n_parts; begin += coef.parts[p++]) {
      const Size end = begin + coef.parts[p], first = begin / kPanel;
      const Size last = end > begin ? (end - 1) / kPanel + 1 : first;
      std::vector<float> values(static_cast<std::size_t>((last - first) * n_sums * kPanel), 0.0f);
      for (Size c = 0; c < n_sums; ++c)
        for (Size j = begin; j < end; ++j)
          values[((j / kPanel - first) * n_sums + c) * kPanel + j % kPanel] =
              static_cast<float>(coef.values[c * n_samples + j] / units[c]);
      parts.push_back({first, last, std::move(values)});
    }
  }

  Size n_sums;
  std::vector<double> units;
  std::vector<Part> parts;
};

// Dense rows, one after the other in memory, with their squares.
inline void kernel_sums(const DenseKernel& kernel, const float* rows, const float* squares,
                        Size n_rows, Coefficients coef, double* out, int n_threads) {
  constexpr Size kRows = DenseKernel::kRows;
  constexpr Size kTogether = 16;  // panels that are summed in float32
  const PanelCoefficients weights(coef, kernel.n_samples());
  const Size n_sums = weights.n_sums;
  in_threads((n_rows + kRows - 1) / kRows, n_threads, [&](Size begin, Size end) {
    LineVector<float> sums(static_cast<std::size_t>(kRows * n_sums * 8));
    for (Size from = begin * kRows; from < std::min(end * kRows, n_rows); from += kRows) {
      const Size count = std::min(kRows, n_rows - from);
      double* part_out = out + from * coef.size();
      for (const auto& part : weights.parts) {
        for (Size r = 0; r < count; ++r) std::fill_n(part_out + r * coef.size(), n_sums, 0.0);
        for (Size first = part.first; first < part.last; first += kTogether) {
          std::fill_n(sums.begin(), count * n_sums * 8, 0.0f);
          for (Size p = first; p < std::min(first + kTogether, part.last); ++p)
            kernel.add_sums(rows + from * kernel.n_features(), squares + from, count, p,
                            part.of(p, n_sums), n_sums, sums.data());
          for (Size r = 0; r < count; ++r)
            for (Size c = 0; c < n_sums; ++c)
              for (int lane = 0; lane < 8; ++lane)
                part_out[r * coef.size() + c] +=
                    weights.units[c] * static_cast<double>(sums[(r * n_sums + c) * 8 + lane]);
        }
        part_out += n_sums;
      }
    }
  });
}

// CSR rows.
template <class Index, class RowIndex>
void kernel_sums(const SparseKernel<Index>& kernel, CsrRows<float, RowIndex> rows,
                 const float* squares, Coefficients coef, double* out, int n_threads) {
  constexpr Size kMost = SparseKernel<Index>::kRows, kWindow = SparseKernel<Index>::kWindow;
  constexpr Size kTogether = 16;  // samples that are summed in float32
  const Size n_rows = rows.n_samples, n = kernel.n_samples(), n_sums = coef.count;
  const Size together = kernel.panel_rows();
  const std::vector<double> units = units_of(coef, n);
  std::vector<float> weights(static_cast<std::size_t>(n_sums * n));
  for (Size c = 0; c < n_sums; ++c)
    for (Size j = 0; j < n; ++j)
      weights[c * n + j] = static_cast<float>(coef.values[c * n + j] / units[c]);
  in_threads((n_rows + together - 1) / together, n_threads, [&](Size begin, Size end) {
    SparsePanel panel(kernel.n_features());
    typename SparseKernel<Index>::Block block{};
    float row_squares[kMost] = {};
    std::vector<Size> index(kMost);
    std::vector<double> sums(static_cast<std::size_t>(n_sums * kMost));
    for (Size from = begin * together; from < std::min(end * together, n_rows); from += together) {
      const Size count = std::min(together, n_rows - from);
      std::iota(index.begin(), index.end(), from);
      panel.fill(rows, index.data(), count, kernel.wide());
      std::copy_n(squares + from, count, row_squares);
      double* part_out = out + from * coef.size();
      Size known = 0;  // windows whose block was there
      for (Size p = 0, j = 0; p < coef.n_parts; ++p, part_out += n_sums) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (const Size part_end = j + coef.parts[p]; j < part_end;) {
          if (j / kWindow == known) kernel.evaluate(panel, row_squares, known++, block);
          const Size stop = std::min({part_end, j + kTogether, known * kWindow});
          MAXMARGIN_CLONED(kernel.add_sums(block, j, stop, weights.data(), n_sums, sums.data()));
          j = stop;
        }
        for (Size r = 0; r < count; ++r)
          for (Size c = 0; c < n_sums; ++c)
            part_out[r * coef.size() + c] = units[c] * sums[c * kMost + r];
      }
    }
  });
}

}  // namespace maxmargin
