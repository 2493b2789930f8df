/* fast_int.h - 32 bits of every worker at once: integer arithmetic, logic, shifts, comparisons and
 * moves of halves and bytes; the vector functions that lanes.def names. There are no rare cases. */
#ifndef EMU_FAST_INT_H
#define EMU_FAST_INT_H

#include "emu/fast/fast_fp.h"

FAST_INLINE v8u v_add(v8u a, v8u b)
{
    return a + b;
}

FAST_INLINE v8u v_sub(v8u a, v8u b)
{
    return a - b;
}

FAST_INLINE v8u v_mul(v8u a, v8u b)
{
    return a * b;
}

FAST_INLINE v8u v_max(v8u a, v8u b)
{
    return (v8u)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

FAST_INLINE v8u v_min(v8u a, v8u b)
{
    return (v8u)_mm256_min_epi32((__m256i)a, (__m256i)b);
}

/* Comparisons give 1 or 0. */
FAST_INLINE v8u v_cmpeq(v8u a, v8u b)
{
    return (v8u)(a == b) & 1;
}

FAST_INLINE v8u v_cmpne(v8u a, v8u b)
{
    return (v8u)(a != b) & 1;
}

FAST_INLINE v8u v_cmpslt(v8u a, v8u b)
{
    return (v8u)((v8i)a < (v8i)b) & 1;
}

FAST_INLINE v8u v_cmpult(v8u a, v8u b)
{
    return (v8u)(a < b) & 1;
}

FAST_INLINE v8u v_and(v8u a, v8u b)
{
    return a & b;
}

FAST_INLINE v8u v_andc(v8u a, v8u b)
{
    return a & ~b;
}

FAST_INLINE v8u v_or(v8u a, v8u b)
{
    return a | b;
}

FAST_INLINE v8u v_xor(v8u a, v8u b)
{
    return a ^ b;
}

FAST_INLINE v8u v_xnor(v8u a, v8u b)
{
    return ~(a ^ b);
}

FAST_INLINE v8u v_not(v8u a)
{
    return ~a;
}

FAST_INLINE v8u v_copy(v8u a)
{
    return a;
}

/* Host shifts of vectors take counts above 31 as the machine does. */
FAST_INLINE v8u v_shl(v8u a, v8u n)
{
    return (v8u)_mm256_sllv_epi32((__m256i)a, (__m256i)n);
}

FAST_INLINE v8u v_shr(v8u a, v8u n)
{
    return (v8u)_mm256_srlv_epi32((__m256i)a, (__m256i)n);
}

FAST_INLINE v8u v_shrs(v8u a, v8u n)
{
    return (v8u)_mm256_srav_epi32((__m256i)a, (__m256i)n);
}

FAST_INLINE v8u v_roll16(v8u a, v8u b)
{
    return a >> 16 | b << 16;
}

FAST_INLINE v8u v_roll8r(v8u a, v8u b)
{
    return a >> 8 | b << 24;
}

FAST_INLINE v8u v_roll8l(v8u a, v8u b)
{
    return a >> 24 | b << 8;
}

FAST_INLINE v8u v_sort4x16lo(v8u a, v8u b)
{
    return (a & 0xffff) | b << 16;
}

FAST_INLINE v8u v_sort4x16hi(v8u a, v8u b)
{
    return a >> 16 | (b & 0xffff0000);
}

#endif
