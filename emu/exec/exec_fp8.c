/* exec_fp8.c - instructions on 8-bit floating point (emu/base/fp8.h), which came with instruction
 * set ipu21: conversions and the matrix unit. Formats and scale are in $FP_NFMT and $FP_SCL.
 */
#include "emu/base/fp8.h"
#include "emu/exec/exec_amp.h"

static enum fp8_format register_format(const struct tile *t, unsigned lane)
{
    return t->fp_nfmt[lane] & FP_NFMT_ARF ? FP8_F143 : FP8_F152;
}

static enum fp8_format weight_format(const struct tile *t, unsigned lane)
{
    return t->fp_nfmt[lane] & FP_NFMT_CWEI ? FP8_F143 : FP8_F152;
}

/* The six bits of $FP_SCL are signed. */
static int scale_of(const struct tile *t, unsigned lane)
{
    return (int)(t->fp_scl[lane] ^ 32) - 32;
}

/* Bytes of one register become f16: two in each of `words` registers. */
static inline enum fault widen(struct tile *t, unsigned lane, const struct insn *in, unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t bytes = tile_a(t, lane, in->a), r[2];
    enum fp8_format format = register_format(t, lane);
    int scale = scale_of(t, lane);

    for (unsigned k = 0; k < words; k++, bytes >>= 16) {
        uint16_t lo = fp8_to_f16((uint8_t)bytes, format, scale, 2 * k, &env);
        uint16_t hi = fp8_to_f16((uint8_t)(bytes >> 8), format, scale, 2 * k + 1, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, words);
}

/* f8v2tof16 $aD, $aA: the two low bytes */
enum fault exec_f8v2tof16(struct tile *t, unsigned lane, const struct insn *in)
{
    return widen(t, lane, in, 1);
}

/* f8v4tof16 $aD:D+1, $aA */
enum fault exec_f8v4tof16(struct tile *t, unsigned lane, const struct insn *in)
{
    return widen(t, lane, in, 2);
}

/* The halves of `sources` registers from a on become bytes, four in a register. */
static inline enum fault narrow(struct tile *t, unsigned lane, const struct insn *in,
                                unsigned sources)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t r[2] = { 0, 0 };
    enum fp8_format format = register_format(t, lane);
    int scale = scale_of(t, lane);

    for (unsigned k = 0; k < sources; k++) {
        uint32_t a = tile_a(t, lane, in->a + k);
        uint32_t lo = fp8_from_f16(fp_f16_lo(a), format, scale, 2 * k, &env);
        uint32_t hi = fp8_from_f16(fp_f16_hi(a), format, scale, 2 * k + 1, &env);

        r[k / 2] |= (lo | hi << 8) << 16 * (k % 2);
    }
    return fp_finish(t, lane, &env, in->d, r, (sources + 1) / 2);
}

/* f16v2tof8 $aD, $aA: into the two low bytes; the others become 0 */
enum fault exec_f16v2tof8(struct tile *t, unsigned lane, const struct insn *in)
{
    return narrow(t, lane, in, 1);
}

/* f16v8tof8 $aD:D+1, $aA:A+3 */
enum fault exec_f16v8tof8(struct tile *t, unsigned lane, const struct insn *in)
{
    return narrow(t, lane, in, 4);
}

/* One set of the matrix unit: as with four f16, but eight products of bytes, scaled. */
static void set_step(struct amp_set *s, const struct amp_step *step, const struct fp8_vector *x,
                     const uint64_t *weight, enum fp8_format format, int scale,
                     const uint32_t partial[2], uint32_t out[2], struct fp_env *env)
{
    const struct amp_set old = *s;
    const uint32_t *running = step->phase ? old.even : old.odd;
    const uint32_t *leaving = step->phase ? old.odd : old.even;

    out[0] = leaving[0];
    out[1] = leaving[1];
    for (unsigned m = 0; m < step->units; m++) {
        struct fp8_vector w = fp8_vector_of(weight[AMP_VECTORS * m + step->phase], format);

        s->even[m] = fp8_add_exact_products(running[m], x, &w, scale, env);
    }
    amp_shift(s->odd, leaving, step->units, partial);
}

/* f8v8hihov4amp aD:2, aA:2, aB:2, phase: partial sums and results as f16v4hihov4amp */
enum fault exec_f8v8hihov4amp(struct tile *t, unsigned lane, const struct insn *in)
{
    struct amp_step step;
    struct fp_env env;
    struct amp_set s[2];
    struct fp8_vector x;
    uint32_t partial[2], out[2], r[2];
    enum fault fault;

    if (!amp_f16_phase(in->i, &step))
        return amp_bad_phase(t, lane);
    env = fp_env_begin(t, lane, 1);
    x = fp8_vector_of(tile_a(t, lane, in->a) | (uint64_t)tile_a(t, lane, in->a + 1) << 32,
                      register_format(t, lane));
    for (unsigned set = 0; set < 2; set++) {
        s[set] = amp_set_load(t, lane, set);
        amp_read_pair(t, lane, in->b + set, true, partial, &env);
        set_step(&s[set], &step, &x, t->weight + AMP_VECTORS * AMP_UNITS * set,
                 weight_format(t, lane), scale_of(t, lane), partial, out, &env);
        r[set] = amp_pack(out, 2 * set, &env);
    }
    fault = fp_finish(t, lane, &env, in->d, r, 2);
    for (unsigned set = 0; fault == FAULT_NONE && set < 2; set++)
        amp_set_store(t, lane, set, &s[set]);
    return fault;
}
