// Plain passes over the samples: f = Xw + b, w = X'beta, |x_i|^2.
#pragma once

#include <cstdint>

#include "data/rows.hpp"

namespace maxmargin {

// out[i] = <w, x_i> + b for begin <= i < end.
template <class Rows>
MAXMARGIN_INLINE void predict(const Rows& rows, const double* w, double b, Size begin, Size end,
                              double* out) {
  const auto shift = [&](Size from, Size count, const double* products) MAXMARGIN_INLINED {
    for (Size j = 0; j < count; ++j) out[from + j] = products[j] + b;
  };
  in_streams(rows, begin, end, w, shift);
}

// w += sum of beta_i x_i over begin <= i < end.
template <class Rows>
MAXMARGIN_INLINE void combine(const Rows& rows, const double* beta, Size begin, Size end,
                              double* w) {
  RowSum sum(rows, w);
  const auto add = [&](Size from, Size count, const double*)
                       MAXMARGIN_INLINED { sum.add(from, count, beta + from); };
  in_streams(rows, begin, end, nullptr, add);
  sum.finish();
}

// Both at once: z[i] = <w, x_i> and v += beta_i x_i for begin <= i < end.
template <class Rows>
MAXMARGIN_INLINE void products(const Rows& rows, const double* w, const double* beta, Size begin,
                               Size end, double* z, double* v) {
  RowSum sum(rows, v);
  const auto keep = [&](Size from, Size count, const double* made) MAXMARGIN_INLINED {
    for (Size j = 0; j < count; ++j) z[from + j] = made[j];
    sum.add(from, count, beta + from);
  };
  in_streams(rows, begin, end, w, keep);
  sum.finish();
}

// The same of pairs (w_j, v_j), where both miss the cache: three quarters of the time.
template <class T, class Index>
MAXMARGIN_INLINE void products_of_pairs(const CsrRows<T, Index>& rows, double* pairs,
                                        const double* beta, Size begin, Size end, double* z) {
  for (Size i = begin; i < end; ++i) z[i] = rows.meet(i, beta[i], pairs);
}

template <class Rows>
MAXMARGIN_INLINE void squared_norms(const Rows& rows, Size begin, Size end, double* out) {
  in_streams(rows, begin, end, [&](Size i) MAXMARGIN_INLINED { out[i] = rows.squared_norm(i); });
}

// Where compressed rows go: columns, and values; row i from offsets[i] to offsets[i + 1].
template <class Out>
struct Compressed {
  Size room;
  std::int32_t* offsets;
  Out* values;
  std::int32_t* columns;
};

// What differs from `centre` in one row, by how much, times `unit`; where it ends.
template <class T, class Out>
struct CompressRow {
  const double* centre;
  double unit;
  const Compressed<Out>& out;

  MAXMARGIN_INLINE Size operator()(const T* x, Size n_features, Size at) const {
    Size j = 0;
    while (j < n_features) {
      constexpr Size kPiece = 8;  // such values come in runs
      if (j + kPiece > n_features) {
        take(x, j++, at);
        continue;
      }
      int found = 0;
      for (Size k = 0; k < kPiece; ++k) found |= static_cast<double>(x[j + k]) != centre[j + k];
      for (Size k = 0; found != 0 && k < kPiece; ++k) take(x, j + k, at);
      j += kPiece;
    }
    return at;
  }

  MAXMARGIN_INLINE void take(const T* x, Size j, Size& at) const {
    const double apart = static_cast<double>(x[j]) - centre[j];
    out.values[at] = static_cast<Out>(unit * apart);
    out.columns[at] = static_cast<std::int32_t>(j);
    at += apart != 0.0;
  }
};

#if defined(MAXMARGIN_INTRINSICS)
// The same, eight values at a time.
template <class T, class Out>
struct CompressRowWide : CompressRow<T, Out> {
  MAXMARGIN_WIDE Size operator()(const T* x, Size n_features, Size at) const {
    __m256i column = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    Size j = 0;
    for (; j + 8 <= n_features; j += 8, column = _mm256_add_epi32(column, _mm256_set1_epi32(8))) {
      const __m512d apart = _mm512_sub_pd(load(x + j), _mm512_loadu_pd(this->centre + j));
      const __mmask8 found = _mm512_cmp_pd_mask(apart, _mm512_setzero_pd(), _CMP_NEQ_UQ);
      if (found == 0) continue;
      store(_mm512_mul_pd(_mm512_set1_pd(this->unit), apart), found, this->out.values + at);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(this->out.columns + at),
                          _mm256_maskz_compress_epi32(found, column));
      at += __builtin_popcount(found);
    }
    for (; j < n_features; ++j) this->take(x, j, at);
    return at;
  }

  MAXMARGIN_WIDE static __m512d load(const double* x) { return _mm512_loadu_pd(x); }
  MAXMARGIN_WIDE static __m512d load(const float* x) { return _mm512_cvtps_pd(_mm256_loadu_ps(x)); }
  MAXMARGIN_WIDE static void store(__m512d v, __mmask8 found, double* to) {
    _mm512_storeu_pd(to, _mm512_maskz_compress_pd(found, v));
  }
  MAXMARGIN_WIDE static void store(__m512d v, __mmask8 found, float* to) {
    _mm256_storeu_ps(to, _mm256_maskz_compress_ps(found, _mm512_cvtpd_ps(v)));
  }
};
#endif

// Rows begin <= i < end, each by `compress_row`. A whole row may be written before what does not
// differ is dropped, so that n_features entries of room are needed; whether they were there.
template <class T, class Out, class OneRow>
MAXMARGIN_INLINE bool compress_by(const DenseRows<T>& rows, Size begin, Size end,
                                  const Compressed<Out>& out, const OneRow& compress_row) {
  Size at = out.offsets[begin];
  for (Size i = begin; i < end; ++i) {
    if (at + rows.n_features > out.room) return false;
    at = compress_row(rows.row(i), rows.n_features, at);
    out.offsets[i + 1] = static_cast<std::int32_t>(at);
  }
  return true;
}

template <class T, class Out>
MAXMARGIN_INLINE bool compress_narrow(const DenseRows<T>& rows, Size begin, Size end,
                                      const double* centre, double unit,
                                      const Compressed<Out>& out) {
  return compress_by(rows, begin, end, out, CompressRow<T, Out>{centre, unit, out});
}

// What differs from `centre` in the rows begin <= i < end, by how much, times `unit`; `offsets` are
// found here from that of `begin` on. Whether there was room.
template <class T, class Out>
bool compress(const DenseRows<T>& rows, Size begin, Size end, const double* centre, double unit,
              const Compressed<Out>& out) {
#if defined(MAXMARGIN_INTRINSICS)
  if (MAXMARGIN_HAS_WIDE)
    return compress_by(rows, begin, end, out, CompressRowWide<T, Out>{{centre, unit, out}});
#endif
  return MAXMARGIN_CLONED(compress_narrow(rows, begin, end, centre, unit, out));
}

template <class Index>
MAXMARGIN_INLINE bool within(const Index* indices, Size count, Size bound) {
  Index smallest = 0, largest = -1;
#pragma omp simd reduction(min : smallest) reduction(max : largest)
  for (Size k = 0; k < count; ++k) {
    smallest = indices[k] < smallest ? indices[k] : smallest;
    largest = indices[k] > largest ? indices[k] : largest;
  }
  return smallest >= 0 && largest < bound;
}

// Whether every index lies in [0, bound).
template <class Index>
bool all_within(const Index* indices, Size count, Size bound) {
  return MAXMARGIN_CLONED(within(indices, count, bound));
}

// Whether the columns of every CSR row rise strictly within [0, n_features), and the offsets rise
// from 0 to at most `stored`. Whatever reads the rows later relies on it.
template <class Index>
MAXMARGIN_INLINE bool canonical(const Index* offsets, const Index* columns, Size n_samples,
                                Size n_features, Size stored) {
  if (offsets[0] != 0 || offsets[n_samples] > stored) return false;
  for (Size i = 0; i < n_samples; ++i) {
    if (offsets[i] > offsets[i + 1]) return false;
  }
  Index falls = 0, allowed = 0;  // from one entry to the next, and to the first of another row
#pragma omp simd reduction(+ : falls)
  for (Size k = 1; k < offsets[n_samples]; ++k) falls += columns[k] <= columns[k - 1];
  for (Size i = 0; i < n_samples; ++i) {
    const Size first = offsets[i], last = offsets[i + 1] - 1;
    if (first > last) continue;
    if (columns[first] < 0 || columns[last] >= n_features) return false;
    if (first > 0) allowed += columns[first] <= columns[first - 1];
  }
  return falls == allowed;
}

}  // namespace maxmargin
