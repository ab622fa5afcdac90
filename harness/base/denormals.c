/* SPDX-License-Identifier: MIT */
#include "harness/base/denormals.h"

#include <float.h>
#include <stdint.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

void gnn_denormals_flush(void)
{
#ifdef __x86_64__
    enum { DENORMALS_ARE_ZERO = 1 << 6, FLUSH_TO_ZERO = 1 << 15 };
    _mm_setcsr(_mm_getcsr() | DENORMALS_ARE_ZERO | FLUSH_TO_ZERO);
#elif defined(__aarch64__)
    enum { FLUSH_TO_ZERO = 1 << 24 };
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | FLUSH_TO_ZERO));
#endif
}

bool gnn_denormals_are_flushed(void)
{
    volatile float half = FLT_MIN;
    half *= 0.5F;
    return half == 0;
}
