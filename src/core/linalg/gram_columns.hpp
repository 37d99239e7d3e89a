// An order of columns in which those that are not 0 together are neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "linalg/gram_matrix.hpp"
#include "objective/intercept.hpp"

namespace maxmargin {

// Bits of up to 64 rows for each column: where it is not 0. The bias is the last column.
template <class Rows>
std::vector<std::uint64_t> bits_of(const Rows& rows, const Bias& bias,
                                   const std::vector<Size>& some) {
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(rows.n_features) + 1);
  for (std::size_t r = 0; r < some.size(); ++r) {
    const std::uint64_t bit = std::uint64_t(1) << r;
    const auto x = rows.entries(some[r]);
    for (Size k = 0; k < x.count; ++k) bits[x.column(k)] |= bit;
    if (bias.feature != 0.0) bits.back() |= bit;
  }
  return bits;
}

// Strips of eight columns in which each of those rows has a value.
MAXMARGIN_INLINE std::vector<double> strips_of(const std::vector<std::uint64_t>& bits,
                                               const std::vector<std::int32_t>& columns) {
  std::vector<double> strips(64);
  for (std::size_t begin = 0; begin < columns.size(); begin += 8) {
    std::uint64_t any = 0;
    for (std::size_t k = begin; k < std::min(begin + 8, columns.size()); ++k)
      any |= bits[columns[k]];
    for (int r = 0; r < 64; ++r) strips[r] += (any >> r) & 1;
  }
  return strips;
}

// Columns by eights. Each begins with the commonest that is left, and the one that joins is not 0
// in as many rows as possible where the strip is not, and in as few others. Those that are 0 in all
// of these rows come last.
MAXMARGIN_INLINE std::vector<std::int32_t> by_strips(const std::vector<std::uint64_t>& bits) {
  std::vector<std::int32_t> left(bits.size()), order;
  std::iota(left.begin(), left.end(), 0);
  std::stable_sort(left.begin(), left.end(), [&](std::int32_t a, std::int32_t b) {
    return __builtin_popcountll(bits[a]) > __builtin_popcountll(bits[b]);
  });
  std::uint64_t strip = 0;
  while (!left.empty() && bits[left.front()] != 0) {
    if (order.size() % 8 == 0) strip = bits[left.front()];
    std::size_t best = 0;
    int most = -64;
    for (std::size_t k = 0; k < left.size(); ++k) {
      const std::uint64_t own = bits[left[k]];
      const int gain = 2 * __builtin_popcountll(own & strip) - __builtin_popcountll(own);
      if (gain > most && own != 0) {
        best = k;
        most = gain;
      }
    }
    strip |= bits[left[best]];
    order.push_back(left[best]);
    left.erase(left.begin() + static_cast<Size>(best));
  }
  std::sort(left.begin(), left.end());
  order.insert(order.end(), left.begin(), left.end());
  return order;
}

// The place of each column, if the products of the rows marked by `flags` cost less by tiles, in
// another order of columns, than as they are: found on some of them, tried on others. Else nothing.
template <class Rows>
std::vector<std::int32_t> places_of(const Rows& rows, const Bias& bias,
                                    const std::vector<std::uint8_t>& flags, std::uint8_t marked) {
  constexpr double kWorthwhile = 0.85;
  std::vector<Size> found, tried;
  Size seen = 0;
  const Size count = std::count_if(flags.begin(), flags.end(),
                                   [&](std::uint8_t flag) { return (flag & marked) != 0; });
  const Size apart = std::max<Size>(1, count / 128);
  for (Size i = 0; i < rows.n_samples && tried.size() < 64; ++i)
    if ((flags[i] & marked) != 0 && seen++ % apart == 0)
      (found.size() > tried.size() ? tried : found).push_back(i);
  std::vector<std::int32_t> own(static_cast<std::size_t>(rows.n_features) + 1);
  std::iota(own.begin(), own.end(), 0);
  const std::vector<std::uint64_t> judges = bits_of(rows, bias, tried);
  const std::vector<std::int32_t> order = MAXMARGIN_CLONED(by_strips(bits_of(rows, bias, found)));
  const std::vector<double> before = MAXMARGIN_CLONED(strips_of(judges, own)),
                            after = MAXMARGIN_CLONED(strips_of(judges, order));
  const double dim = static_cast<double>(own.size());
  double cost = 0.0, arranged_cost = 0.0;
  for (std::size_t r = 0; r < tried.size(); ++r) {
    const double values = static_cast<double>(rows.entries(tried[r]).count);
    cost += scattered(values, before[r], dim) ? values * values : tile_cost(before[r], dim);
    arranged_cost += tile_cost(after[r], dim);
  }
  if (!(arranged_cost < kWorthwhile * cost)) return {};
  for (std::size_t k = 0; k < order.size(); ++k) own[order[k]] = static_cast<std::int32_t>(k);
  return own;
}

}  // namespace maxmargin
