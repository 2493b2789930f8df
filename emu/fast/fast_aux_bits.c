/* fast_aux_bits.c - the auxiliary lane's raw-bit instructions for all workers at once. They have no
 * rare cases. */
#include "emu/fast/fast_fp.h"

typedef v8u bits_fn(v8u a, v8u b);

FAST_INLINE v8u and_bits(v8u a, v8u b)
{
    return a & b;
}

FAST_INLINE v8u andc_bits(v8u a, v8u b)
{
    return a & ~b;
}

FAST_INLINE v8u or_bits(v8u a, v8u b)
{
    return a | b;
}

/* The halves of a lane: first named, lands low. */
FAST_INLINE v8u high_low(v8u a, v8u b)
{
    return a >> 16 | b << 16;
}

FAST_INLINE v8u low_low(v8u a, v8u b)
{
    return (a & 0xffff) | b << 16;
}

FAST_INLINE v8u high_high(v8u a, v8u b)
{
    return a >> 16 | (b & 0xffff0000);
}

FAST_INLINE v8u low_high(v8u a, v8u b)
{
    return (a & 0xffff) | (b & 0xffff0000);
}

FAST_INLINE int set(struct tile *t, uint32_t lanes, const struct insn *in, v8u v)
{
    put_a(t, lanes, in->d, 1, v, v);
    return 1;
}

FAST_INLINE int set2(struct tile *t, uint32_t lanes, const struct insn *in, v8u v0, v8u v1)
{
    put_a(t, lanes, in->d, 2, v0, v1);
    return 1;
}

FAST_INLINE int one(struct tile *t, uint32_t lanes, const struct insn *in, bits_fn *op)
{
    return set(t, lanes, in, op(fast_a(t, in->a), fast_a(t, in->b)));
}

FAST_INLINE v8u immediate(const struct insn *in)
{
    return (v8u){ 0 } + (uint32_t)in->i;
}

FAST_INLINE int one_immediate(struct tile *t, uint32_t lanes, const struct insn *in, bits_fn *op)
{
    return set(t, lanes, in, op(fast_a(t, in->a), immediate(in)));
}

FAST_INLINE int two(struct tile *t, uint32_t lanes, const struct insn *in, bits_fn *op)
{
    return set2(t, lanes, in, op(fast_a(t, in->a), fast_a(t, in->b)),
                op(fast_a(t, in->a + 1u), fast_a(t, in->b + 1u)));
}

int fast_and_a(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, and_bits);
}

int fast_and_au12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one_immediate(t, lanes, in, and_bits);
}

int fast_and_ah12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one_immediate(t, lanes, in, and_bits);
}

int fast_andc_a(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, andc_bits);
}

int fast_andc_au12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one_immediate(t, lanes, in, andc_bits);
}

int fast_andc_ah12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one_immediate(t, lanes, in, andc_bits);
}

int fast_or_a(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, or_bits);
}

int fast_or_au12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one_immediate(t, lanes, in, or_bits);
}

int fast_or_ah12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one_immediate(t, lanes, in, or_bits);
}

int fast_not(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ~fast_a(t, in->a));
}

int fast_and64(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, and_bits);
}

int fast_andc64(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, andc_bits);
}

int fast_or64(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, or_bits);
}

int fast_not64(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set2(t, lanes, in, ~fast_a(t, in->a), ~fast_a(t, in->a + 1u));
}

int fast_setzi_a(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, immediate(in));
}

int fast_roll16_a(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, high_low);
}

int fast_roll32(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set2(t, lanes, in, fast_a(t, in->a + 1u), fast_a(t, in->b));
}

int fast_sort4x16lo_a(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, low_low);
}

int fast_sort4x16lo_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, high_low);
}

int fast_sort4x16hi_a(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, high_high);
}

int fast_sort4x16hi_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, low_high);
}

int fast_sort4x32lo(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set2(t, lanes, in, fast_a(t, in->a), fast_a(t, in->b));
}

int fast_sort4x32hi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set2(t, lanes, in, fast_a(t, in->a + 1u), fast_a(t, in->b + 1u));
}
