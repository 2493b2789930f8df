/* exec_rng.c - random numbers and random masks from the worker's generator. Each instruction
 * advances the generator by a fixed number of outputs, independent of its operands; so the streams
 * of workers stay comparable. */
#include "emu/exec/exec_rows.h"

/* urand32 $aD */
enum fault exec_urand32(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_set_a(t, lane, in->d, (uint32_t)prng_next(&t->prng[lane]));
    return FAULT_NONE;
}

static enum fault set_pair(struct tile *t, unsigned lane, unsigned d, uint64_t v)
{
    tile_set_a(t, lane, d, (uint32_t)v);
    tile_set_a(t, lane, d + 1, (uint32_t)(v >> 32));
    return FAULT_NONE;
}

static uint64_t get_pair(const struct tile *t, unsigned lane, unsigned r)
{
    return tile_a(t, lane, r) | (uint64_t)tile_a(t, lane, r + 1) << 32;
}

/* urand64 $aD:D+1 */
enum fault exec_urand64(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_pair(t, lane, in->d, prng_next(&t->prng[lane]));
}

/* f16v2grand $aD */
enum fault exec_f16v2grand(struct tile *t, unsigned lane, const struct insn *in)
{
    uint16_t lo = prng_grand_f16(&t->prng[lane]);
    uint16_t hi = prng_grand_f16(&t->prng[lane]);

    tile_set_a(t, lane, in->d, fp_f16_pack(lo, hi));
    return FAULT_NONE;
}

/* f32v2grand $aD:D+1 */
enum fault exec_f32v2grand(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t lo = prng_grand_f32(&t->prng[lane]);
    uint32_t hi = prng_grand_f32(&t->prng[lane]);

    return set_pair(t, lane, in->d, lo | (uint64_t)hi << 32);
}

/* f16v4rmask $aD:D+1, $aA:A+1, $aB */
enum fault exec_f16v4rmask(struct tile *t, unsigned lane, const struct insn *in)
{
    uint64_t out = prng_next(&t->prng[lane]);

    return set_pair(t, lane, in->d,
                    prng_rmask_f16v4(out, get_pair(t, lane, in->a), tile_a(t, lane, in->b)));
}

/* f32v2rmask $aD:D+1, $aA:A+1, $aB */
enum fault exec_f32v2rmask(struct tile *t, unsigned lane, const struct insn *in)
{
    uint64_t out = prng_next(&t->prng[lane]);

    return set_pair(t, lane, in->d,
                    prng_rmask_f32v2(out, get_pair(t, lane, in->a), tile_a(t, lane, in->b)));
}
