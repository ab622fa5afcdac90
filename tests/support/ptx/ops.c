/* SPDX-License-Identifier: MIT */
/* Value opcodes: what an instruction computes from up to three sources of 64 bits, of which it reads its type's width.
 * Results of signed types are sign-extended; the register's width cuts them. */
#include "tests/support/ptx/code.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define SOURCES uint64_t a, uint64_t b, uint64_t c
#define UNUSED ((void)a, (void)b, (void)c)

/* ---- bits of floats ---- */

static float f32(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static uint64_t bits_f32(float value)
{
    uint32_t low;
    memcpy(&low, &value, sizeof low);
    return low;
}

static double f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- integers ---- */

#define FUNCTION(name, expression)                                                                                     \
    __attribute__((unused)) static uint64_t name(SOURCES)                                                              \
    {                                                                                                                  \
        UNUSED;                                                                                                        \
        return (uint64_t)(expression);                                                                                 \
    }
/* `unsigned_type` wraps around where a signed one must not. */
#define INTEGER(t, type, unsigned_type)                                                                                \
    FUNCTION(add_##t, (type)(unsigned_type)((unsigned_type)a + (unsigned_type)b))                                      \
    FUNCTION(sub_##t, (type)(unsigned_type)((unsigned_type)a - (unsigned_type)b))                                      \
    FUNCTION(mul_##t, (type)(unsigned_type)(UINT64_C(1) * (unsigned_type)a * (unsigned_type)b))                        \
    FUNCTION(mad_##t, (type)(unsigned_type)(UINT64_C(1) * (unsigned_type)a * (unsigned_type)b + c))                    \
    FUNCTION(neg_##t, (type)(unsigned_type)(0 - (unsigned_type)a))                                                     \
    FUNCTION(min_##t, (type)a < (type)b ? (type)a : (type)b)                                                           \
    FUNCTION(max_##t, (type)a > (type)b ? (type)a : (type)b)                                                           \
    FUNCTION(shr_##t,                                                                                                  \
             (uint32_t)b >= 8 * sizeof(type) ? ((type)a < 0 ? (type)-1 : (type)0) : (type)((type)a >> (uint32_t)b))    \
    FUNCTION(shl_##t,                                                                                                  \
             (uint32_t)b >= 8 * sizeof(type) ? (unsigned_type)0 : (unsigned_type)((unsigned_type)a << (uint32_t)b))    \
    FUNCTION(eq_##t, (type)a == (type)b)                                                                               \
    FUNCTION(ne_##t, (type)a != (type)b)                                                                               \
    FUNCTION(lt_##t, (type)a < (type)b)                                                                                \
    FUNCTION(le_##t, (type)a <= (type)b)                                                                               \
    FUNCTION(gt_##t, (type)a > (type)b)                                                                                \
    FUNCTION(ge_##t, (type)a >= (type)b)                                                                               \
    FUNCTION(to_##t, (type)a)                                                                                          \
    FUNCTION(f32_of_##t, bits_f32((float)(type)a))                                                                     \
    FUNCTION(f64_of_##t, bits_f64((double)(type)a))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits" /* an unsigned number is never below 0 */
INTEGER(u8, uint8_t, uint8_t)
INTEGER(s8, int8_t, uint8_t)
INTEGER(u16, uint16_t, uint16_t)
INTEGER(s16, int16_t, uint16_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(s32, int32_t, uint32_t)
INTEGER(u64, uint64_t, uint64_t)
INTEGER(s64, int64_t, uint64_t)
#pragma GCC diagnostic pop

/* A division by 0 has an unspecified value on a device, and any is as good. */
#define DIVISION(t, type, overflows)                                                                                   \
    FUNCTION(div_##t, (type)b == 0 || (overflows) ? (type)(0 - a) : (type)((type)a / (type)b))                         \
    FUNCTION(rem_##t, (type)b == 0 || (overflows) ? (type)0 : (type)((type)a % (type)b))
DIVISION(u32, uint32_t, false)
DIVISION(s32, int32_t, (int32_t)b == -1)
DIVISION(u64, uint64_t, false)
DIVISION(s64, int64_t, (int64_t)b == -1)

FUNCTION(hi_u32, (uint64_t)(uint32_t)a *(uint32_t)b >> 32)
FUNCTION(hi_s32, ((int64_t)(int32_t)a * (int32_t)b) >> 32)
FUNCTION(hi_u64, (unsigned __int128)a *b >> 64)
FUNCTION(hi_s64, ((__int128)(int64_t)a * (int64_t)b) >> 64)
FUNCTION(wide_u16, (uint32_t)(uint16_t)a *(uint16_t)b)
FUNCTION(wide_s16, (int32_t)(int16_t)a *(int16_t)b)
FUNCTION(wide_u32, (uint64_t)(uint32_t)a *(uint32_t)b)
FUNCTION(wide_s32, (int64_t)(int32_t)a *(int32_t)b)
FUNCTION(madwide_u32, (uint64_t)(uint32_t)a *(uint32_t)b + c)
FUNCTION(madwide_s32, (uint64_t)((int64_t)(int32_t)a *(int32_t)b) + c)

FUNCTION(and_bits, a &b)
FUNCTION(or_bits, a | b)
FUNCTION(xor_bits, a ^ b)
FUNCTION(not_bits, ~a)
FUNCTION(same, a)
FUNCTION(select_bits, (c & 1) != 0 ? a : b)
FUNCTION(popc_b32, __builtin_popcount((uint32_t)a))
FUNCTION(popc_b64, __builtin_popcountll(a))
FUNCTION(clz_b32, (uint32_t)a == 0 ? 32 : __builtin_clz((uint32_t)a))

/* ---- addresses ---- */

FUNCTION(generic_shared, a | PTX_SHARED_WINDOW)
FUNCTION(generic_local, a | PTX_LOCAL_WINDOW)
FUNCTION(shared_generic, a ^ PTX_SHARED_WINDOW)
FUNCTION(local_generic, a ^ PTX_LOCAL_WINDOW)

/* ---- floats ---- */

#define FLOAT(t, suffix)                                                                                               \
    FUNCTION(add_##t, bits_##t(t(a) + t(b)))                                                                           \
    FUNCTION(sub_##t, bits_##t(t(a) - t(b)))                                                                           \
    FUNCTION(mul_##t, bits_##t(t(a) * t(b)))                                                                           \
    FUNCTION(div_##t, bits_##t(t(a) / t(b)))                                                                           \
    FUNCTION(rcp_##t, bits_##t(1 / t(a)))                                                                              \
    FUNCTION(sqrt_##t, bits_##t(sqrt##suffix(t(a))))                                                                   \
    FUNCTION(fma_##t, bits_##t(fma##suffix(t(a), t(b), t(c))))                                                         \
    FUNCTION(min_##t, bits_##t(fmin##suffix(t(a), t(b))))                                                              \
    FUNCTION(max_##t, bits_##t(fmax##suffix(t(a), t(b))))                                                              \
    FUNCTION(neg_##t, bits_##t(-t(a)))                                                                                 \
    FUNCTION(abs_##t, bits_##t(fabs##suffix(t(a))))                                                                    \
    FUNCTION(eq_##t, t(a) == t(b))                                                                                     \
    FUNCTION(ne_##t, islessgreater(t(a), t(b)))                                                                        \
    FUNCTION(lt_##t, t(a) < t(b))                                                                                      \
    FUNCTION(le_##t, t(a) <= t(b))                                                                                     \
    FUNCTION(gt_##t, t(a) > t(b))                                                                                      \
    FUNCTION(ge_##t, t(a) >= t(b))                                                                                     \
    FUNCTION(equ_##t, !islessgreater(t(a), t(b)))                                                                      \
    FUNCTION(neu_##t, !(t(a) == t(b)))                                                                                 \
    FUNCTION(ltu_##t, !(t(a) >= t(b)))                                                                                 \
    FUNCTION(leu_##t, !(t(a) > t(b)))                                                                                  \
    FUNCTION(gtu_##t, !(t(a) <= t(b)))                                                                                 \
    FUNCTION(geu_##t, !(t(a) < t(b)))                                                                                  \
    FUNCTION(num_##t, !isunordered(t(a), t(b)))                                                                        \
    FUNCTION(nan_##t, isunordered(t(a), t(b)))
FLOAT(f32, f)
FLOAT(f64, )

/* Rounded towards minus infinity. */
static uint64_t fma_down_f32(SOURCES)
{
    const int before = fegetround();
    (void)fesetround(FE_DOWNWARD);
    const volatile float x = f32(a), y = f32(b), z = f32(c);
    const volatile float result = fmaf(x, y, z);
    (void)fesetround(before);
    return bits_f32(result);
}

/* Subnormal numbers count as 0 of their sign. */
static float flushed(float value)
{
    return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

/* In [0, 1], and NaN becomes 0. */
static float saturated(float value)
{
    return value > 0 ? fminf(value, 1) : 0;
}

FUNCTION(ex2_f32, bits_f32(exp2f(f32(a))))
FUNCTION(ex2_ftz_f32, bits_f32(flushed(exp2f(flushed(f32(a))))))
FUNCTION(lg2_f32, bits_f32(log2f(f32(a))))
FUNCTION(lg2_ftz_f32, bits_f32(log2f(flushed(f32(a)))))
FUNCTION(rsqrt_f32, bits_f32(1 / sqrtf(f32(a))))
FUNCTION(f32_of_f64, bits_f32((float)f64(a)))
FUNCTION(f64_of_f32, bits_f64(f32(a)))
FUNCTION(sat_f32, bits_f32(saturated(f32(a))))
FUNCTION(rint_f32, bits_f32(rintf(f32(a))))
FUNCTION(trunc_f32, bits_f32(truncf(f32(a))))

/* Floats to integers: out of range goes to the nearest end, NaN to 0. */
#define TO_INTEGER(t, type, least, first_beyond, most)                                                                 \
    FUNCTION(trunc_##t##_f32, isnan(f32(a))              ? (type)0                                                     \
                              : f32(a) >= (first_beyond) ? (type)(most)                                                \
                              : f32(a) <= (float)(least) ? (type)(least)                                               \
                                                         : (type)f32(a))
TO_INTEGER(s32, int32_t, INT32_MIN, 0x1p31F, INT32_MAX)
TO_INTEGER(u32, uint32_t, 0, 0x1p32F, UINT32_MAX)
TO_INTEGER(s64, int64_t, INT64_MIN, 0x1p63F, INT64_MAX)
TO_INTEGER(u64, uint64_t, 0, 0x1p64F, UINT64_MAX)

/* ---- the table ---- */

#define COMPARE_INTEGERS(t)                                                                                            \
    {"setp.eq." #t, 2, eq_##t}, {"setp.ne." #t, 2, ne_##t}, {"setp.lt." #t, 2, lt_##t}, {"setp.le." #t, 2, le_##t},    \
        {"setp.gt." #t, 2, gt_##t},                                                                                    \
    {                                                                                                                  \
        "setp.ge." #t, 2, ge_##t                                                                                       \
    }
#define WIDEN(t)                                                                                                       \
    {"cvt." #t ".u8", 1, to_##t##_of_u8}, {"cvt." #t ".s8", 1, to_##t##_of_s8},                                        \
        {"cvt." #t ".u16", 1, to_##t##_of_u16}, {"cvt." #t ".s16", 1, to_##t##_of_s16},                                \
        {"cvt." #t ".u32", 1, to_##t##_of_u32}, {"cvt." #t ".s32", 1, to_##t##_of_s32},                                \
        {"cvt." #t ".u64", 1, to_##t##_of_u64},                                                                        \
    {                                                                                                                  \
        "cvt." #t ".s64", 1, to_##t##_of_s64                                                                           \
    }
#define CONVERT(t, type)                                                                                               \
    FUNCTION(to_##t##_of_u8, (type)(uint8_t)a)                                                                         \
    FUNCTION(to_##t##_of_s8, (type)(int8_t)a)                                                                          \
    FUNCTION(to_##t##_of_u16, (type)(uint16_t)a)                                                                       \
    FUNCTION(to_##t##_of_s16, (type)(int16_t)a)                                                                        \
    FUNCTION(to_##t##_of_u32, (type)(uint32_t)a)                                                                       \
    FUNCTION(to_##t##_of_s32, (type)(int32_t)a)                                                                        \
    FUNCTION(to_##t##_of_u64, (type)(uint64_t)a)                                                                       \
    FUNCTION(to_##t##_of_s64, (type)(int64_t)a)
CONVERT(u8, uint8_t)
CONVERT(s8, int8_t)
CONVERT(u16, uint16_t)
CONVERT(s16, int16_t)
CONVERT(u32, uint32_t)
CONVERT(s32, int32_t)
CONVERT(u64, uint64_t)
CONVERT(s64, int64_t)

#define ARITHMETIC(t)                                                                                                  \
    {"add." #t, 2, add_##t}, {"sub." #t, 2, sub_##t}, {"mul.lo." #t, 2, mul_##t}, {"mad.lo." #t, 3, mad_##t},          \
        {"min." #t, 2, min_##t}, {"max." #t, 2, max_##t}, {"shr." #t, 2, shr_##t}, {"selp." #t, 3, select_bits},       \
        {"mov." #t, 1, same}, {"cvt.rn.f32." #t, 1, f32_of_##t}, {"cvt.rn.f64." #t, 1, f64_of_##t},                    \
        COMPARE_INTEGERS(t)
#define BITS(bits)                                                                                                     \
    {"and.b" #bits, 2, and_bits}, {"or.b" #bits, 2, or_bits}, {"xor.b" #bits, 2, xor_bits},                            \
        {"not.b" #bits, 1, not_bits}, {"shl.b" #bits, 2, shl_u##bits}, {"shr.b" #bits, 2, shr_u##bits},                \
        {"selp.b" #bits, 3, select_bits}, {"mov.b" #bits, 1, same}, {"setp.eq.b" #bits, 2, eq_u##bits},                \
        {"setp.ne.b" #bits, 2, ne_u##bits},                                                                            \
    {                                                                                                                  \
        "neg.s" #bits, 1, neg_s##bits                                                                                  \
    }
#define DIVIDE(t)                                                                                                      \
    {"div." #t, 2, div_##t}, {"rem." #t, 2, rem_##t},                                                                  \
    {                                                                                                                  \
        "mul.hi." #t, 2, hi_##t                                                                                        \
    }
#define FLOATS(t)                                                                                                      \
    {"add." #t, 2, add_##t}, {"add.rn." #t, 2, add_##t}, {"sub." #t, 2, sub_##t}, {"sub.rn." #t, 2, sub_##t},          \
        {"mul." #t, 2, mul_##t}, {"mul.rn." #t, 2, mul_##t}, {"div.rn." #t, 2, div_##t}, {"rcp.rn." #t, 1, rcp_##t},   \
        {"sqrt.rn." #t, 1, sqrt_##t}, {"fma.rn." #t, 3, fma_##t}, {"min." #t, 2, min_##t}, {"max." #t, 2, max_##t},    \
        {"neg." #t, 1, neg_##t}, {"abs." #t, 1, abs_##t}, {"selp." #t, 3, select_bits}, {"mov." #t, 1, same},          \
        {"setp.eq." #t, 2, eq_##t}, {"setp.ne." #t, 2, ne_##t}, {"setp.lt." #t, 2, lt_##t},                            \
        {"setp.le." #t, 2, le_##t}, {"setp.gt." #t, 2, gt_##t}, {"setp.ge." #t, 2, ge_##t},                            \
        {"setp.equ." #t, 2, equ_##t}, {"setp.neu." #t, 2, neu_##t}, {"setp.ltu." #t, 2, ltu_##t},                      \
        {"setp.leu." #t, 2, leu_##t}, {"setp.gtu." #t, 2, gtu_##t}, {"setp.geu." #t, 2, geu_##t},                      \
        {"setp.num." #t, 2, num_##t},                                                                                  \
    {                                                                                                                  \
        "setp.nan." #t, 2, nan_##t                                                                                     \
    }

static const struct ptx_op ops[] = {
    ARITHMETIC(u16),
    ARITHMETIC(s16),
    ARITHMETIC(u32),
    ARITHMETIC(s32),
    ARITHMETIC(u64),
    ARITHMETIC(s64),
    BITS(16),
    BITS(32),
    BITS(64),
    DIVIDE(u32),
    DIVIDE(s32),
    DIVIDE(u64),
    DIVIDE(s64),
    FLOATS(f32),
    FLOATS(f64),
    WIDEN(u8),
    WIDEN(s8),
    WIDEN(u16),
    WIDEN(s16),
    WIDEN(u32),
    WIDEN(s32),
    WIDEN(u64),
    WIDEN(s64),
    {"mul.wide.u16", 2, wide_u16},
    {"mul.wide.s16", 2, wide_s16},
    {"mul.wide.u32", 2, wide_u32},
    {"mul.wide.s32", 2, wide_s32},
    {"mad.wide.u32", 3, madwide_u32},
    {"mad.wide.s32", 3, madwide_s32},
    {"and.pred", 2, and_bits},
    {"or.pred", 2, or_bits},
    {"xor.pred", 2, xor_bits},
    {"not.pred", 1, not_bits},
    {"mov.pred", 1, same},
    {"popc.b32", 1, popc_b32},
    {"popc.b64", 1, popc_b64},
    {"clz.b32", 1, clz_b32},
    {"cvta.to.global.u64", 1, same},
    {"cvta.global.u64", 1, same},
    {"cvta.shared.u64", 1, generic_shared},
    {"cvta.local.u64", 1, generic_local},
    {"cvta.to.shared.u64", 1, shared_generic},
    {"cvta.to.local.u64", 1, local_generic},
    {"fma.rm.f32", 3, fma_down_f32},
    {"ex2.approx.f32", 1, ex2_f32},
    {"ex2.approx.ftz.f32", 1, ex2_ftz_f32},
    {"lg2.approx.f32", 1, lg2_f32},
    {"lg2.approx.ftz.f32", 1, lg2_ftz_f32},
    {"rsqrt.approx.f32", 1, rsqrt_f32},
    {"cvt.rn.f32.f64", 1, f32_of_f64},
    {"cvt.f64.f32", 1, f64_of_f32},
    {"cvt.sat.f32.f32", 1, sat_f32},
    {"cvt.rni.f32.f32", 1, rint_f32},
    {"cvt.rzi.f32.f32", 1, trunc_f32},
    {"cvt.rzi.s32.f32", 1, trunc_s32_f32},
    {"cvt.rzi.u32.f32", 1, trunc_u32_f32},
    {"cvt.rzi.s64.f32", 1, trunc_s64_f32},
    {"cvt.rzi.u64.f32", 1, trunc_u64_f32},
};

const struct ptx_op *ptx_op_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strlen(ops[i].name) == length && memcmp(ops[i].name, name, length) == 0)
            return &ops[i];
    return NULL;
}
