/* exec_convert.c - conversions between f32, f16 and integers, and the uniform numbers made of
 * random integers. */
#include "emu/exec/exec_fp.h"

/* f32toi32 $aD, $aA */
enum fault exec_f32toi32(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r = fp_f32_to_i32(tile_a(t, lane, in->a), &env);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f32toui32 $aD, $aA */
enum fault exec_f32toui32(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r = fp_f32_to_u32(tile_a(t, lane, in->a), &env);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f32fromi32 $aD, $aA */
enum fault exec_f32fromi32(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);

    tile_set_a(t, lane, in->d, fp_f32_from_i32(tile_a(t, lane, in->a), &env));
    return FAULT_NONE;
}

/* f32fromui32 $aD, $aA */
enum fault exec_f32fromui32(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);

    tile_set_a(t, lane, in->d, fp_f32_from_u32(tile_a(t, lane, in->a), &env));
    return FAULT_NONE;
}

/* f16tof32 $aD, $aA */
enum fault exec_f16tof32(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r = fp_f16_to_f32(fp_f16_lo(tile_a(t, lane, in->a)), &env);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f16v2tof32 $aD:D+1, $aA */
enum fault exec_f16v2tof32(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t a = tile_a(t, lane, in->a);
    uint32_t r[2] = { fp_f16_to_f32(fp_f16_lo(a), &env), fp_f16_to_f32(fp_f16_hi(a), &env) };

    return fp_finish(t, lane, &env, in->d, r, 2);
}

/* f32tof16 $aD, $aA
 *
 * One rounding; both halves get its result. */
enum fault exec_f32tof16(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint16_t h = fp_f16_from_f32(tile_a(t, lane, in->a), 0, &env);
    uint32_t r = fp_f16_pack(h, h);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* Two f32 registers from a on become one register per two lanes. */
static inline enum fault f32_to_f16(struct tile *t, unsigned lane, const struct insn *in,
                                    unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t r[2];

    for (unsigned k = 0; k < words; k++) {
        uint16_t lo = fp_f16_from_f32(tile_a(t, lane, in->a + 2 * k), 2 * k, &env);
        uint16_t hi = fp_f16_from_f32(tile_a(t, lane, in->a + 2 * k + 1), 2 * k + 1, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, words);
}

/* f32v2tof16 $aD, $aA:A+1 */
enum fault exec_f32v2tof16(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_to_f16(t, lane, in, 1);
}

/* f32v4tof16 $aD:D+1, $aA:A+3 */
enum fault exec_f32v4tof16(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_to_f16(t, lane, in, 2);
}

/* f32sufromui $aD, $aA */
enum fault exec_f32sufromui(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_set_a(t, lane, in->d, fp_f32_sufromui(tile_a(t, lane, in->a)));
    return FAULT_NONE;
}

/* f32v2sufromui $aD:D+1, $aA:A+1 */
enum fault exec_f32v2sufromui(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t lo = fp_f32_sufromui(tile_a(t, lane, in->a));
    uint32_t hi = fp_f32_sufromui(tile_a(t, lane, in->a + 1));

    tile_set_a(t, lane, in->d, lo);
    tile_set_a(t, lane, in->d + 1, hi);
    return FAULT_NONE;
}

static inline enum fault f16_sufromui(struct tile *t, unsigned lane, const struct insn *in,
                                      unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t r[2];

    for (unsigned k = 0; k < words; k++) {
        uint32_t a = tile_a(t, lane, in->a + k);
        uint16_t lo = fp_f16_sufromui(fp_f16_lo(a), 2 * k, &env);
        uint16_t hi = fp_f16_sufromui(fp_f16_hi(a), 2 * k + 1, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, words);
}

/* f16v2sufromui $aD, $aA */
enum fault exec_f16v2sufromui(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_sufromui(t, lane, in, 1);
}

/* f16v4sufromui $aD:D+1, $aA:A+1 */
enum fault exec_f16v4sufromui(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_sufromui(t, lane, in, 2);
}
