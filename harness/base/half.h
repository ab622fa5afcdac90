/* SPDX-License-Identifier: MIT */
/* IEEE 754 half-precision numbers (binary16, "float16") on disk, and single precision in memory. Every half is exactly
 * a float, so widening loses nothing. Narrowing rounds to the nearest half, ties to even. */
#ifndef GNN_BASE_HALF_H
#define GNN_BASE_HALF_H

#include "harness/oocgnn.h"

#include <string.h>

/* The number format of feature rows on disk, as an option's choice; the words are "f32" and "f16". */
enum gnn_feature_type { GNN_F32, GNN_F16 };
extern const char *const gnn_feature_type_words[];
#ifndef __cplusplus
_Static_assert(sizeof(enum gnn_feature_type) == sizeof(uint32_t), "a choice is 32 bits");
#endif

static inline uint32_t gnn_feature_type_bytes(enum gnn_feature_type type)
{
    return type == GNN_F16 ? (uint32_t)sizeof(uint16_t) : (uint32_t)sizeof(float);
}

/* The largest finite half. Floats from GNN_HALF_OVERFLOW on are narrowed to infinity. */
#define GNN_HALF_MAX 65504.0f
#define GNN_HALF_OVERFLOW 65520.0f

/* Returns the float with the value of a half. A signalling NaN becomes quiet, as the processor's own conversion makes
 * it. */
GNN_DEVICE static inline float gnn_half_widen(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000U) << 16, exponent = half >> 10 & 0x1fU, fraction = half & 0x3ffU;
    uint32_t bits;
    float value;
    if (exponent == 0) { /* zero or a subnormal: a multiple of 2^-24 */
        const float magnitude = (float)fraction * 5.9604644775390625e-8f;
        memcpy(&bits, &magnitude, sizeof bits);
    } else if (exponent == 0x1fU) {
        bits = 0x7f800000U | fraction << 13 | (fraction != 0 ? 0x400000U : 0);
    } else {
        bits = (exponent + 112) << 23 | fraction << 13;
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns the half nearest to a float; NaN stays NaN. */
static inline uint16_t gnn_half_narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
        return (uint16_t)(sign | 0x7e00U | (magnitude >> 13 & 0x3ffU));
    if (magnitude >= 0x477ff000U) /* GNN_HALF_OVERFLOW */
        return (uint16_t)(sign | 0x7c00U);
    if (magnitude >= 0x38800000U) /* 2^-14, the smallest normal half */
        return (uint16_t)(sign | (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13);
    const uint32_t shift = 126 - (magnitude >> 23); /* of the fraction, to multiples of 2^-24 */
    if (shift > 24)
        return (uint16_t)sign;
    const uint32_t fraction = (magnitude & 0x7fffffU) | 0x800000U, whole = fraction >> shift;
    const uint32_t rest = fraction & ((1U << shift) - 1), tie = 1U << (shift - 1);
    return (uint16_t)(sign | (whole + (rest > tie || (rest == tie && (whole & 1U) != 0))));
}

/* Convert `count` numbers. They use the processor's conversion (F16C) where it has one, and the functions above
 * elsewhere; the results have the same bits. Arrays do not overlap and need no alignment beyond their type's. */
void gnn_halves_widen(const uint16_t *halves, uint64_t count, float *out);
void gnn_halves_narrow(const float *values, uint64_t count, uint16_t *out);

/* The same with the functions above only, for tests. */
void gnn_halves_widen_plain(const uint16_t *halves, uint64_t count, float *out);
void gnn_halves_narrow_plain(const float *values, uint64_t count, uint16_t *out);

#endif
