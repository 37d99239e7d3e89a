// Run-time choice of instruction set.
//
// MAXMARGIN_CLONES stands before a whole epoch or pass: the compiler emits one copy for AVX2 + FMA
// machines and one for any other, and the loader picks. Everything inlined into the epoch is
// compiled for the copy's machine, so the wheel runs anywhere and no build flag names a CPU.
//
// MAXMARGIN_WIDE stands before a function written for registers of 64 bytes, which is called only
// where MAXMARGIN_HAS_WIDE: the few loops that such registers speed up. A third copy of everything
// was no faster (docs/decisions/0010). MAXMARGIN_COUNTS is the same with a count of bits.
#pragma once

#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define MAXMARGIN_DISPATCHES
#endif

#if defined(MAXMARGIN_DISPATCHES) && !defined(MAXMARGIN_NO_CLONES)
#define MAXMARGIN_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define MAXMARGIN_CLONES
#endif

#if defined(MAXMARGIN_DISPATCHES) && !defined(MAXMARGIN_NO_WIDE)
#include <immintrin.h>
#define MAXMARGIN_INTRINSICS
#define MAXMARGIN_WIDE __attribute__((target("arch=x86-64-v4")))
#define MAXMARGIN_HAS_WIDE static_cast<bool>(__builtin_cpu_supports("x86-64-v4"))
#define MAXMARGIN_COUNTS __attribute__((target("arch=x86-64-v4,avx512vpopcntdq")))
#define MAXMARGIN_HAS_COUNTS \
  (MAXMARGIN_HAS_WIDE && static_cast<bool>(__builtin_cpu_supports("avx512vpopcntdq")))
#else
#define MAXMARGIN_WIDE
#define MAXMARGIN_HAS_WIDE false
#define MAXMARGIN_COUNTS
#define MAXMARGIN_HAS_COUNTS false
#endif

#if defined(__GNUC__)
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

namespace maxmargin {

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
