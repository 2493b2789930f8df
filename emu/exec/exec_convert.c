/* exec_convert.c - floating-point instructions that are not the same operation in every lane: class
 * codes, maxima across halves, conversions between formats; and the pieces of emu/base/fp.h that
 * lanes.def needs in another form. */
#include "emu/exec/exec_fp.h"
#include "emu/exec/exec_lanes.h"

uint32_t f32_class_code(uint32_t a)
{
    return (uint32_t)fp_f32_class(a);
}

/* One code per byte, lane 0 lowest; the upper half is 0 [ASSUMED]. */
uint32_t f16_class_pair(uint32_t a)
{
    return (uint32_t)fp_f16_class(fp_f16_lo(a)) | (uint32_t)fp_f16_class(fp_f16_hi(a)) << 8;
}

uint32_t f16_sum_pair(uint32_t a, struct fp_env *env)
{
    return fp_f32_sum_exact_f16(fp_f16_lo(a), fp_f16_hi(a), env);
}

/* The maximum of both halves, in both [ASSUMED for the upper one]. */
uint32_t f16_max_pair(uint32_t a, struct fp_env *env)
{
    uint16_t h = fp_f16_max(fp_f16_lo(a), fp_f16_hi(a), env);

    return fp_f16_pack(h, h);
}

/* The low half. */
uint32_t f16_widen(uint32_t a, struct fp_env *env)
{
    return fp_f16_to_f32(fp_f16_lo(a), env);
}

uint32_t f32_from_signed(uint32_t a, struct fp_env *env)
{
    return fp_f32_from_i32(a, env);
}

uint32_t f32_from_unsigned(uint32_t a, struct fp_env *env)
{
    return fp_f32_from_u32(a, env);
}

/* f32v2class $aD, $aA:A+1
 *
 * One code per byte, as f16v2class; the packing is ASSUMED. */
enum fault exec_f32v2class(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t lo = f32_class_code(tile_a(t, lane, in->a));
    uint32_t hi = f32_class_code(tile_a(t, lane, in->a + 1));

    tile_set_a(t, lane, in->d, lo | hi << 8);
    return FAULT_NONE;
}

/* f16v4class $aD, $aA:A+1 */
enum fault exec_f16v4class(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t lo = f16_class_pair(tile_a(t, lane, in->a));
    uint32_t hi = f16_class_pair(tile_a(t, lane, in->a + 1));

    tile_set_a(t, lane, in->d, lo | hi << 16);
    return FAULT_NONE;
}

/* f16v4maxc $aD, $aA:A+1 */
enum fault exec_f16v4maxc(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t lo = f16_max_pair(tile_a(t, lane, in->a), &env);
    uint32_t hi = f16_max_pair(tile_a(t, lane, in->a + 1), &env);
    uint32_t r = fp_f16_pack(fp_f16_lo(lo), fp_f16_lo(hi));

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f32int $aD, $aA, mode: 0 to 3, as $FP_CTL.RND */
enum fault exec_f32int(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env;
    uint32_t r;

    if (in->i < 0 || in->i > 3)
        return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "no such rounding mode");
    env = fp_env_begin(t, lane, 0);
    r = fp_f32_int(tile_a(t, lane, in->a), (unsigned)in->i, &env);
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
