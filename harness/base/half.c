/* SPDX-License-Identifier: MIT */
#include "harness/base/half.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

const char *const gnn_feature_type_words[] = {[GNN_F32] = "f32", [GNN_F16] = "f16", NULL};

void gnn_halves_widen_plain(const uint16_t *halves, uint64_t count, float *out)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = gnn_half_widen(halves[i]);
}

void gnn_halves_narrow_plain(const float *values, uint64_t count, uint16_t *out)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = gnn_half_narrow(values[i]);
}

#ifdef __x86_64__
enum { LANES = 8 };

static bool has_f16c(void)
{
    return __builtin_cpu_supports("avx") != 0 && __builtin_cpu_supports("f16c") != 0;
}

/* Return the number of elements that were converted: whole vectors. */
__attribute__((target("avx,f16c"))) static uint64_t widen_vectors(const uint16_t *halves, uint64_t count, float *out)
{
    uint64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(halves + i))));
    return i;
}

__attribute__((target("avx,f16c"))) static uint64_t narrow_vectors(const float *values, uint64_t count, uint16_t *out)
{
    uint64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}
#else
static bool has_f16c(void)
{
    return false;
}

static uint64_t widen_vectors(const uint16_t *halves, uint64_t count, float *out)
{
    (void)halves, (void)count, (void)out;
    return 0;
}

static uint64_t narrow_vectors(const float *values, uint64_t count, uint16_t *out)
{
    (void)values, (void)count, (void)out;
    return 0;
}
#endif

void gnn_halves_widen(const uint16_t *halves, uint64_t count, float *out)
{
    const uint64_t done = has_f16c() ? widen_vectors(halves, count, out) : 0;
    gnn_halves_widen_plain(halves + done, count - done, out + done);
}

void gnn_halves_narrow(const float *values, uint64_t count, uint16_t *out)
{
    const uint64_t done = has_f16c() ? narrow_vectors(values, count, out) : 0;
    gnn_halves_narrow_plain(values + done, count - done, out + done);
}
