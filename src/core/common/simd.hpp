// Run-time choice of instruction set.
//
// MAXMARGIN_CLONED(f(x, y)) is f(x, y), for a whole epoch or pass f that is MAXMARGIN_INLINE: it is
// compiled once for AVX2 + FMA machines and once for any other, and each call takes the copy of the
// machine it runs on. Everything inlined into f is compiled for the copy's machine, so the wheel
// runs anywhere and no build flag names a CPU. A plain call of f is right too, but only inside of
// another f fast. (The loader could choose instead, by target_clones, but GCC lets no exception
// leave such functions, and neither musl nor macOS have them.)
//
// MAXMARGIN_WIDE stands before a function written for registers of 64 bytes, which is called only
// where MAXMARGIN_HAS_WIDE: the few loops that such registers speed up. A third copy of everything
// was no faster (docs/decisions/0010). MAXMARGIN_COUNTS is the same with a count of bits.
#pragma once

#include <cstring>

#if defined(__GNUC__) || defined(__clang__)  // clang-cl says that it is no GCC
#define MAXMARGIN_INLINE inline __attribute__((always_inline))
#define MAXMARGIN_INLINED __attribute__((always_inline))  // behind the parameters of a lambda
#define MAXMARGIN_PREFETCH(address) __builtin_prefetch(address)
#define MAXMARGIN_PREFETCH_FAR(address) __builtin_prefetch(address, 0, 2)  // past the first cache
#else
#define MAXMARGIN_INLINE inline
#define MAXMARGIN_INLINED
#define MAXMARGIN_PREFETCH(address) static_cast<void>(0)
#define MAXMARGIN_PREFETCH_FAR(address) static_cast<void>(0)
#endif

// Features are named one by one: GCC 11 knows "x86-64-v3" neither as a target of a function nor as
// a question. (On Windows GCC does not align the stack as AVX needs it.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define MAXMARGIN_AVX2_FEATURES "avx2,fma,bmi,bmi2,lzcnt,popcnt"
#define MAXMARGIN_HAS(feature) static_cast<bool>(__builtin_cpu_supports(feature))
#define MAXMARGIN_CLONED(...) \
  ::maxmargin::on_this_machine([&]() MAXMARGIN_INLINED { return __VA_ARGS__; })
#else
#define MAXMARGIN_CLONED(...) __VA_ARGS__
#endif

#if defined(MAXMARGIN_AVX2_FEATURES) && !defined(MAXMARGIN_NO_WIDE)
#include <immintrin.h>
#define MAXMARGIN_INTRINSICS
#define MAXMARGIN_WIDE_FEATURES \
  MAXMARGIN_AVX2_FEATURES ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#define MAXMARGIN_WIDE __attribute__((target(MAXMARGIN_WIDE_FEATURES)))
#define MAXMARGIN_HAS_WIDE ::maxmargin::kHasWide
#define MAXMARGIN_COUNTS __attribute__((target(MAXMARGIN_WIDE_FEATURES ",avx512vpopcntdq")))
#define MAXMARGIN_HAS_COUNTS (MAXMARGIN_HAS_WIDE && MAXMARGIN_HAS("avx512vpopcntdq"))
#else
#define MAXMARGIN_WIDE
#define MAXMARGIN_HAS_WIDE false
#define MAXMARGIN_COUNTS
#define MAXMARGIN_HAS_COUNTS false
#endif

namespace maxmargin {

#if defined(MAXMARGIN_AVX2_FEATURES)
inline const bool kHasAvx2 = MAXMARGIN_HAS("avx2") && MAXMARGIN_HAS("fma") &&
                             MAXMARGIN_HAS("bmi") && MAXMARGIN_HAS("bmi2") &&
                             MAXMARGIN_HAS("lzcnt") && MAXMARGIN_HAS("popcnt");
inline const bool kHasWide = kHasAvx2 && MAXMARGIN_HAS("avx512f") && MAXMARGIN_HAS("avx512bw") &&
                             MAXMARGIN_HAS("avx512cd") && MAXMARGIN_HAS("avx512dq") &&
                             MAXMARGIN_HAS("avx512vl");

template <class Call>
__attribute__((target(MAXMARGIN_AVX2_FEATURES))) auto with_avx2(Call call) {
  return call();
}
template <class Call>
auto without_avx2(Call call) {
  return call();
}
template <class Call>
MAXMARGIN_INLINE auto on_this_machine(Call call) {
  return kHasAvx2 ? with_avx2(call) : without_avx2(call);
}
#endif

// A vector of the values that begin there, at any place. (As a template argument a vector type
// would lose an `aligned` of its own.)
template <class Vector, class T>
MAXMARGIN_INLINE Vector load(const T* from) {
  Vector values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

template <class Vector, class T>
MAXMARGIN_INLINE void store(const Vector& values, T* to) {
  std::memcpy(to, &values, sizeof values);
}

}  // namespace maxmargin
