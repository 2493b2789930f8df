/* fast_convert.c - conversions of several halves for all workers at once (see fast_convert.h).
 * Plain meaning: emu/exec/exec_convert.c. */
#include "emu/fast/fast_convert.h"

int fast_f16v2tof32(struct tile *t, uint32_t lanes, const struct insn *in)
{
    __m128i low, high;
    v8u r0, r1;

    split_halves(fast_a(t, in->a), &low, &high);
    r0 = (v8u)_mm256_cvtph_ps(low);
    r1 = (v8u)_mm256_cvtph_ps(high);
    if (is_rare(f32_nan(r0) | f32_nan(r1), lanes))
        return 0;
    put_a(t, lanes, in->d, 2, r0, r1);
    return 1;
}

int fast_f32tof16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    __m128i h = narrow(fast_a(t, in->a));
    v8u r = join_halves(h, h);

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(r), lanes))
        return 0;
    put_a(t, lanes, in->d, 1, r, r);
    return 1;
}

int fast_f32v2tof16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u r = join_halves(narrow(fast_a(t, in->a)), narrow(fast_a(t, in->a + 1u)));

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(r), lanes))
        return 0;
    put_a(t, lanes, in->d, 1, r, r);
    return 1;
}

int fast_f32v4tof16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u r0 = join_halves(narrow(fast_a(t, in->a)), narrow(fast_a(t, in->a + 1u)));
    v8u r1 = join_halves(narrow(fast_a(t, in->a + 2u)), narrow(fast_a(t, in->a + 3u)));

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(r0) | f16_special(r1), lanes))
        return 0;
    put_a(t, lanes, in->d, 2, r0, r1);
    return 1;
}
