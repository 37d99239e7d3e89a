// Run-time choice of instruction set.
//
// MAXMARGIN_CLONES stands before a whole epoch or pass: the compiler emits one copy for AVX2 + FMA
// machines and one for any other, and the loader picks. Everything inlined into the epoch is
// compiled for the copy's machine, so the wheel runs anywhere and no build flag names a CPU.
//
// MAXMARGIN_WIDE stands before a function written for 32 registers of 64 bytes, which is called
// only where MAXMARGIN_HAS_WIDE: the few loops that are bound by arithmetic. A third copy of
// everything was no faster.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && \
    !defined(MAXMARGIN_NO_CLONES)
#include <immintrin.h>
#define MAXMARGIN_INTRINSICS
#define MAXMARGIN_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define MAXMARGIN_WIDE __attribute__((target("arch=x86-64-v4")))
#define MAXMARGIN_HAS_WIDE                                                     \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&  \
   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && \
   __builtin_cpu_supports("avx512cd"))
#else
#define MAXMARGIN_CLONES
#define MAXMARGIN_WIDE
#define MAXMARGIN_HAS_WIDE false
#endif

#if defined(__GNUC__)
#define MAXMARGIN_INLINE inline __attribute__((always_inline))
#define MAXMARGIN_INLINED __attribute__((always_inline))  // behind the parameters of a lambda
#define MAXMARGIN_PREFETCH(address) __builtin_prefetch(address)
#else
#define MAXMARGIN_INLINE inline
#define MAXMARGIN_INLINED
#define MAXMARGIN_PREFETCH(address) static_cast<void>(0)
#endif
