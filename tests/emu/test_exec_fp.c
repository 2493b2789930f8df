/* test_exec_fp.c - the floating-point instructions of the auxiliary lane as instructions: which
 * registers and halves they take, what they do to $FP_STS and the PRNG, and that a trap writes
 * nothing. What one lane of an operation gives is tested with emu/base/fp.h; here each operation is
 * only recognised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emu/base/fp_math.h"
#include "emu/exec/exec_rows.h"
#include "emu/isa/insn_ops.h"

enum { LANE = 2, D = 0, A = 2, B = 4, D4 = 0, A4 = 8 };

#define QNAN  0x7fc00000u
#define SNAN  0x7f800001u
#define INF   0x7f800000u
#define MAX32 0x7f7fffffu
#define ONE   0x3f800000u
#define TWO   0x40000000u

static struct tile tile;

/* Registers n and n + 1 get two words. */
static void set2(unsigned n, uint32_t v0, uint32_t v1)
{
    tile.a[n][LANE] = v0;
    tile.a[n + 1][LANE] = v1;
}

static void start(uint32_t fp_ctl)
{
    memset(&tile, 0, sizeof(tile));
    tile.fp_ctl[LANE] = fp_ctl;
    prng_seed(&tile.prng[LANE], 7);
    for (unsigned r = 0; r < 14; r++)
        tile.a[r][LANE] = 0xdead0000 + r;
}

static enum fault run(unsigned op, unsigned d, unsigned a, unsigned b, int32_t i)
{
    struct insn in = {
        .op = (uint16_t)op, .d = (uint8_t)d, .a = (uint8_t)a, .b = (uint8_t)b, .i = i
    };

    return exec_table[op](&tile, LANE, &in);
}

#define CHECK(name, got, want)                                                                     \
    do {                                                                                           \
        uint32_t got_ = (got), want_ = (want);                                                     \
        if (got_ != want_)                                                                         \
            fail_msg("%s: %08x instead of %08x", name, got_, want_);                               \
    } while (0)

/* Operands in registers A, A+1 and B, B+1, results in D, D+1; words: how many results there are. */
struct sample {
    uint16_t op;
    uint32_t a[2], b[2];
    unsigned words;
    uint32_t d[2];
    uint32_t sts;
};

static void check_samples(const struct sample *s, size_t n)
{
    for (size_t k = 0; k < n; k++, s++) {
        const char *name = isa_op_form(s->op)->name;

        start(0);
        set2(A, s->a[0], s->a[1]);
        set2(B, s->b[0], s->b[1]);
        assert_int_equal(run(s->op, D, A, B, 0), FAULT_NONE);
        CHECK(name, tile.a[D][LANE], s->d[0]);
        CHECK(name, tile.a[D + 1][LANE], s->words == 2 ? s->d[1] : 0xdead0001);
        CHECK(name, tile.a[A][LANE], s->a[0]);
        CHECK(name, tile.a[B + 1][LANE], s->b[1]);
        CHECK(name, tile.fp_sts[LANE], s->sts);
    }
}

static void test_f32(void **state)
{
    static const struct sample sample[] = {
        { INSN_f32add, { ONE }, { TWO }, 1, { 0x40400000 }, 0 },
        { INSN_f32add, { MAX32 }, { MAX32 }, 1, { INF }, FP_OFLO },
        { INSN_f32add, { INF }, { INF | FP_F32_SIGN }, 1, { QNAN }, FP_INV },
        { INSN_f32add, { 0xffc12345 }, { ONE }, 1, { QNAN }, 0 },
        { INSN_f32add, { ONE }, { SNAN }, 1, { QNAN }, FP_INV },
        { INSN_f32add, { 1 }, { 0x007fffff }, 1, { 0 }, 0 },
        { INSN_f32v2add, { ONE, TWO }, { ONE, ONE }, 2, { TWO, 0x40400000 }, 0 },
        { INSN_f32v2add_b, { ONE, TWO }, { ONE, TWO }, 2, { TWO, 0x40400000 }, 0 },
        { INSN_f32sub, { ONE }, { TWO }, 1, { 0xbf800000 }, 0 },
        { INSN_f32v2sub, { ONE, TWO }, { ONE, ONE }, 2, { 0, ONE }, 0 },
        { INSN_f32v2sub_b, { TWO, ONE }, { TWO, ONE }, 2, { 0, ONE }, 0 },
        { INSN_f32mul, { 0x80000000 }, { 0 }, 1, { 0x80000000 }, 0 },
        { INSN_f32v2mul, { TWO, MAX32 }, { TWO, TWO }, 2, { 0x40800000, INF }, FP_OFLO },
        { INSN_f32v2mul_b, { TWO, ONE }, { ONE, TWO }, 2, { TWO, 0x40800000 }, 0 },
        { INSN_f32absadd, { 0xbf800000 }, { 0xc0000000 }, 1, { 0x40400000 }, 0 },
        { INSN_f32v2absadd, { 0xbf800000, ONE }, { ONE, 0xbf800000 }, 2, { TWO, TWO }, 0 },
        { INSN_f32absmax, { 0xc0000000 }, { ONE }, 1, { TWO }, 0 },
        { INSN_f32v2absmax, { 0xc0000000, 0 }, { ONE, 0x80000000 }, 2, { TWO, 0 }, 0 },
        { INSN_f32max, { 0x80000000 }, { 0 }, 1, { 0 }, 0 },
        { INSN_f32max, { QNAN }, { ONE }, 1, { ONE }, 0 },
        { INSN_f32v2max, { ONE, SNAN }, { TWO, ONE }, 2, { TWO, QNAN }, FP_INV },
        { INSN_f32min, { 0 }, { 0x80000000 }, 1, { 0x80000000 }, 0 },
        { INSN_f32v2min, { ONE, QNAN }, { TWO, 0xffffffff }, 2, { ONE, QNAN }, 0 },
        { INSN_f32clamp, { 0x40800000 }, { ONE, TWO }, 1, { TWO }, 0 },
        { INSN_f32clamp, { 0 }, { ONE, TWO }, 1, { ONE }, 0 },
        { INSN_f32clamp, { QNAN }, { ONE, TWO }, 1, { QNAN }, 0 },
        { INSN_f32v2clamp, { 0x3fc00000, 0xc0000000 }, { ONE, TWO }, 2, { 0x3fc00000, ONE }, 0 },
        { INSN_f32div, { ONE }, { TWO }, 1, { 0x3f000000 }, 0 },
        { INSN_f32div, { ONE }, { 0x80000000 }, 1, { 0xff800000 }, FP_DIV0 },
        { INSN_f32div, { 0 }, { 0 }, 1, { QNAN }, FP_INV },
        { INSN_f32sqrt, { 0x40800000 }, { 0 }, 1, { TWO }, 0 },
        { INSN_f32sqrt, { 0xbf800000 }, { 0 }, 1, { QNAN }, FP_INV },
        { INSN_f32oox, { TWO }, { 0 }, 1, { 0x3f000000 }, 0 },
        { INSN_f32oox, { 0 }, { 0 }, 1, { INF }, FP_DIV0 },
        { INSN_f32oorx, { 0x40800000 }, { 0 }, 1, { 0x3f000000 }, 0 },
        { INSN_f32class, { SNAN }, { 0 }, 1, { FP_CLASS_SNAN }, 0 },
        { INSN_f32class, { 0x80000000 }, { 0 }, 1, { 5 }, 0 },
        { INSN_f32v2class, { QNAN, ONE }, { 0 }, 1, { 2 | FP_CLASS_POS_NORMAL << 8 }, 0 },
    };

    (void)state;
    check_samples(sample, EMU_COUNT_OF(sample));
}

static void test_f16(void **state)
{
    /* halves: 3c00 1, 4000 2, 4200 3, 4400 4, 7bff 65504 */
    static const struct sample sample[] = {
        { INSN_f16v2add, { 0x40003c00 }, { 0x3c003c00 }, 1, { 0x42004000 }, 0 },
        { INSN_f16v2add_bl, { 0x40003c00 }, { 0x3c004000 }, 1, { 0x40004200 }, 0 },
        { INSN_f16v2add_bu, { 0x40003c00 }, { 0x3c004000 }, 1, { 0x42004400 }, 0 },
        { INSN_f16v4add,
          { 0x40003c00, 0x00010000 },
          { 0x3c003c00, 0x00018000 },
          2,
          { 0x42004000, 0x00020000 },
          0 },
        { INSN_f16v4add_bl,
          { 0x40003c00, 0 },
          { 0x3c004000, 0x40003c00 },
          2,
          { 0x40004200, 0x42004000 },
          0 },
        { INSN_f16v4add_bu,
          { 0x40003c00, 0 },
          { 0x3c004000, 0x40003c00 },
          2,
          { 0x42004400, 0x44004200 },
          0 },
        { INSN_f16v4add, { 0x7bff7bff, 0 }, { 0x7bff0000, 0 }, 2, { 0x7bff7bff, 0 }, FP_OFLO },
        { INSN_f16v4add, { 0, 0x7e010000 }, { 0, 0 }, 2, { 0, 0x7e000000 }, 0 },
        { INSN_f16v4add, { 0, 0x7c010000 }, { 0, 0 }, 2, { 0, 0x7e000000 }, FP_INV },
        { INSN_f16v2sub, { 0x40003c00 }, { 0x3c003c00 }, 1, { 0x3c000000 }, 0 },
        { INSN_f16v2sub_bl, { 0x40003c00 }, { 0x3c004000 }, 1, { 0x0000bc00 }, 0 },
        { INSN_f16v2sub_bu, { 0x40003c00 }, { 0x3c004000 }, 1, { 0x3c000000 }, 0 },
        { INSN_f16v4sub,
          { 0x40003c00, 0x42004000 },
          { 0x3c003c00, 0x3c003c00 },
          2,
          { 0x3c000000, 0x40003c00 },
          0 },
        { INSN_f16v4sub_bl,
          { 0x40003c00, 0 },
          { 0x3c003c00, 0x40003c00 },
          2,
          { 0, 0xbc000000 },
          0 },
        { INSN_f16v4sub_bu,
          { 0x40003c00, 0 },
          { 0x3c003c00, 0x40003c00 },
          2,
          { 0x3c003c00, 0x00003c00 },
          0 },
        { INSN_f16v2mul, { 0x40003c00 }, { 0x40004200 }, 1, { 0x44004200 }, 0 },
        { INSN_f16v2mul_bl, { 0x40003c00 }, { 0x40004200 }, 1, { 0x40004200 }, 0 },
        { INSN_f16v2mul_bu, { 0x40003c00 }, { 0x40003c00 }, 1, { 0x44004000 }, 0 },
        { INSN_f16v4mul,
          { 0x40003c00, 0x80000001 },
          { 0x40004200, 0x00003800 },
          2,
          { 0x44004200, 0x80000000 },
          0 },
        { INSN_f16v4mul_bl,
          { 0x40003c00, 0 },
          { 0x40004200, 0x3c003c00 },
          2,
          { 0x40004200, 0x3c003c00 },
          0 },
        { INSN_f16v4mul_bu,
          { 0x40003c00, 0 },
          { 0x40003c00, 0x3c003c00 },
          2,
          { 0x44004000, 0x40004000 },
          0 },
        { INSN_f16v2absadd, { 0xc000bc00 }, { 0x4000bc00 }, 1, { 0x44004000 }, 0 },
        { INSN_f16v4absadd,
          { 0xc000bc00, 0xbc003c00 },
          { 0x4000bc00, 0 },
          2,
          { 0x44004000, 0x3c003c00 },
          0 },
        { INSN_f16v2absmax, { 0xc000bc00 }, { 0x3c003c00 }, 1, { 0x40003c00 }, 0 },
        { INSN_f16v4absmax,
          { 0xc000bc00, 0x80000000 },
          { 0x3c003c00, 0xbc000000 },
          2,
          { 0x40003c00, 0x3c000000 },
          0 },
        { INSN_f16v2max, { 0x8000bc00 }, { 0x00003c00 }, 1, { 0x00003c00 }, 0 },
        { INSN_f16v4max,
          { 0x8000bc00, 0x7e00fc00 },
          { 0x00003c00, 0x3c003c00 },
          2,
          { 0x00003c00, 0x3c003c00 },
          0 },
        { INSN_f16v2min, { 0x0000bc00 }, { 0x80003c00 }, 1, { 0x8000bc00 }, 0 },
        { INSN_f16v4min,
          { 0x0000bc00, 0x7c01fc00 },
          { 0x80003c00, 0x3c003c00 },
          2,
          { 0x8000bc00, 0x7e00fc00 },
          FP_INV },
        { INSN_f16v2clamp, { 0x44000000 }, { 0x40003c00 }, 1, { 0x40003c00 }, 0 },
        { INSN_f16v4clamp,
          { 0x44000000, 0x7e003e00 },
          { 0x40003c00, 0 },
          2,
          { 0x40003c00, 0x7e003e00 },
          0 },
        { INSN_f16v2class, { 0x80007c01 }, { 0 }, 1, { 0x0501 }, 0 },
        { INSN_f16v4class, { 0x80007e00, 0x00017c00 }, { 0 }, 1, { 0x070a0502 }, 0 },
        { INSN_f16v2sum, { 0x40003c00 }, { 0 }, 1, { 0x40400000 }, 0 },
        { INSN_f16v4sum, { 0x40003c00, 0x7bff0001 }, { 0 }, 2, { 0x40400000, 0x477fe000 }, 0 },
        { INSN_f16v2maxc, { 0x40003c00 }, { 0 }, 1, { 0x40004000 }, 0 },
        { INSN_f16v4maxc, { 0x40003c00, 0xbc008000 }, { 0 }, 1, { 0x80004000 }, 0 },
    };

    (void)state;
    check_samples(sample, EMU_COUNT_OF(sample));
}

/* One comparison in all its forms; order is the relation of 1, 2, 2 to 2, 2, 1, as bits lt eq gt.
 */
struct compare {
    uint16_t f16v2, f16v2_bl, f16v2_bu, f16v4, f16v4_bl, f16v4_bu, f32, f32v2, f32v2_b;
    unsigned relations;
};

static const struct compare compares[] = {
#define CMP(c, relations)                                                                          \
    { INSN_f16v2cmp##c, INSN_f16v2cmp##c##_bl, INSN_f16v2cmp##c##_bu,                              \
      INSN_f16v4cmp##c, INSN_f16v4cmp##c##_bl, INSN_f16v4cmp##c##_bu,                              \
      INSN_f32cmp##c,   INSN_f32v2cmp##c,      INSN_f32v2cmp##c##_b,                               \
      relations },
    CMP(lt, 1) CMP(eq, 2) CMP(le, 3) CMP(gt, 4) CMP(ne, 5) CMP(ge, 6)
#undef CMP
};

enum { LT = 1, EQ = 2, GT = 4 };

static uint32_t mask32(const struct compare *c, unsigned relation)
{
    return c->relations & relation ? 0xffffffff : 0;
}

static uint32_t mask16(const struct compare *c, unsigned lo, unsigned hi)
{
    return (c->relations & lo ? 0xffff : 0) | (c->relations & hi ? 0xffff0000 : 0);
}

static void test_compare(void **state)
{
    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(compares); k++) {
        const struct compare *c = &compares[k];
        const struct sample sample[] = {
            { c->f32, { ONE }, { TWO }, 1, { mask32(c, LT) }, 0 },
            { c->f32, { 0 }, { 0x80000000 }, 1, { mask32(c, EQ) }, 0 },
            { c->f32, { TWO }, { ONE }, 1, { mask32(c, GT) }, 0 },
            { c->f32, { QNAN }, { ONE }, 1, { c->relations == (LT | GT) ? 0xffffffff : 0 }, 0 },
            { c->f32,
              { SNAN },
              { ONE },
              1,
              { c->relations == (LT | GT) ? 0xffffffff : 0 },
              FP_INV },
            { c->f32v2, { ONE, TWO }, { TWO, ONE }, 2, { mask32(c, LT), mask32(c, GT) }, 0 },
            { c->f32v2_b, { ONE, TWO }, { TWO, ONE }, 2, { mask32(c, LT), mask32(c, EQ) }, 0 },
            { c->f16v2, { 0x40003c00 }, { 0x3c004000 }, 1, { mask16(c, LT, GT) }, 0 },
            { c->f16v2_bl, { 0x40003c00 }, { 0x3c004000 }, 1, { mask16(c, LT, EQ) }, 0 },
            { c->f16v2_bu, { 0x40003c00 }, { 0x3c004000 }, 1, { mask16(c, EQ, GT) }, 0 },
            { c->f16v4,
              { 0x40003c00, 0x80000000 },
              { 0x3c004000, 0x00003c00 },
              2,
              { mask16(c, LT, GT), mask16(c, LT, EQ) },
              0 },
            { c->f16v4_bl,
              { 0x40003c00, 0 },
              { 0x3c004000, 0x40003800 },
              2,
              { mask16(c, LT, EQ), mask16(c, GT, LT) },
              0 },
            { c->f16v4_bu,
              { 0x40003c00, 0 },
              { 0x3c004000, 0x42004000 },
              2,
              { mask16(c, EQ, GT), mask16(c, EQ, LT) },
              0 },
        };

        check_samples(sample, EMU_COUNT_OF(sample));
    }
}

static void test_convert(void **state)
{
    static const struct sample sample[] = {
        { INSN_f32toi32, { 0xbfc00000 }, { 0 }, 1, { 0xfffffffe }, 0 },
        { INSN_f32toi32, { 0x4f000000 }, { 0 }, 1, { 0x7fffffff }, FP_INV },
        { INSN_f32toui32, { 0x4f000000 }, { 0 }, 1, { 0x80000000 }, 0 },
        { INSN_f32toui32, { 0xbf800000 }, { 0 }, 1, { 0 }, FP_INV },
        { INSN_f32toui32, { QNAN }, { 0 }, 1, { 0 }, FP_INV },
        { INSN_f32fromi32, { 0xffffffff }, { 0 }, 1, { 0xbf800000 }, 0 },
        { INSN_f32fromui32, { 0xffffffff }, { 0 }, 1, { 0x4f800000 }, 0 },
        { INSN_f16tof32, { 0x40003c00 }, { 0 }, 1, { ONE }, 0 },
        { INSN_f16tof32, { 0x7c010001 }, { 0 }, 1, { 0x33800000 }, 0 },
        { INSN_f16v2tof32, { 0x40003c00 }, { 0 }, 2, { ONE, TWO }, 0 },
        { INSN_f16v2tof32, { 0x7c010001 }, { 0 }, 2, { 0x33800000, QNAN }, FP_INV },
        { INSN_f32tof16, { ONE }, { 0 }, 1, { 0x3c003c00 }, 0 },
        { INSN_f32tof16, { 0xc7800000 }, { 0 }, 1, { 0xfbfffbff }, FP_OFLO },
        { INSN_f32tof16, { INF }, { 0 }, 1, { 0x7c007c00 }, 0 },
        { INSN_f32v2tof16, { ONE, TWO }, { 0 }, 1, { 0x40003c00 }, 0 },
        { INSN_f32sufromui, { 0 }, { 0 }, 1, { 0xbf000000 }, 0 },
        { INSN_f32sufromui, { 0x80000000 }, { 0 }, 1, { 0x2f000000 }, 0 },
        { INSN_f32v2sufromui, { 0x7fffffff, 0x80000000 }, { 0 }, 2, { 0xaf000000, 0x2f000000 }, 0 },
        { INSN_f16v2sufromui, { 0x8000ffff }, { 0 }, 1, { 0x00803800 }, 0 },
        { INSN_f16v4sufromui, { 0x80007fff, 0xffff0000 }, { 0 }, 2, { 0x00808080, 0x3800b800 }, 0 },
        { INSN_f32exp, { 0 }, { 0 }, 1, { ONE }, 0 },
        { INSN_f32exp, { 0x43000000 }, { 0 }, 1, { INF }, FP_OFLO },
        { INSN_f32exp2, { ONE }, { 0 }, 1, { TWO }, 0 },
        { INSN_f32ln, { ONE }, { 0 }, 1, { 0 }, 0 },
        { INSN_f32ln, { 0 }, { 0 }, 1, { 0xff800000 }, FP_DIV0 },
        { INSN_f32ln, { TWO }, { 0 }, 1, { 0x3f317218 }, 0 },
        { INSN_f32log2, { TWO }, { 0 }, 1, { ONE }, 0 },
        { INSN_f32tanh, { INF }, { 0 }, 1, { ONE }, 0 },
        { INSN_f32sigm, { 0 }, { 0 }, 1, { 0x3f000000 }, 0 },
        { INSN_f16v2exp, { 0xfc000000 }, { 0 }, 1, { 0x00003c00 }, 0 },
        { INSN_f16v2exp2, { 0x40003c00 }, { 0 }, 1, { 0x44004000 }, 0 },
        { INSN_f16v2ln, { 0x3c004000 }, { 0 }, 1, { 0x0000398c }, 0 },
        { INSN_f16v2log2, { 0x44004000 }, { 0 }, 1, { 0x40003c00 }, 0 },
        { INSN_f16v2tanh, { 0x7c00fc00 }, { 0 }, 1, { 0x3c00bc00 }, 0 },
        { INSN_f16v2sigm, { 0x7c000000 }, { 0 }, 1, { 0x3c003800 }, 0 },
    };

    (void)state;
    check_samples(sample, EMU_COUNT_OF(sample));

    start(0);
    set2(A4, ONE, TWO);
    set2(A4 + 2, 0x40400000, 0x40800000);
    assert_int_equal(run(INSN_f32v4tof16, D4, A4, 0, 0), FAULT_NONE);
    CHECK("f32v4tof16", tile.a[D4][LANE], 0x40003c00);
    CHECK("f32v4tof16", tile.a[D4 + 1][LANE], 0x44004200);
}

/* f32int takes its mode from the immediate, everything else from $FP_CTL.RND. */
static void test_rounding_modes(void **state)
{
    static const struct {
        unsigned rnd;
        uint32_t floor_of_half, i32_of_half, f16_up;
    } want[] = {
        { FP_RND_NEAREST, 0x80000000, 0, 0x3c003c00 },
        { FP_RND_UP, 0x80000000, 0, 0x3c013c01 },
        { FP_RND_DOWN, 0xbf800000, 0xffffffff, 0x3c003c00 },
        { FP_RND_ZERO, 0x80000000, 0, 0x3c003c00 },
    };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(want); k++) {
        start(0);
        set2(A, 0xbf000000, 0); /* -0.5 */
        assert_int_equal(run(INSN_f32int, D, A, 0, (int32_t)want[k].rnd), FAULT_NONE);
        CHECK("f32int", tile.a[D][LANE], want[k].floor_of_half);
        start(want[k].rnd << FP_CTL_RND_SHIFT);
        set2(A, 0xbf000000, 0x3f800001);
        run(INSN_f32toi32, D, A, 0, 0);
        CHECK("f32toi32", tile.a[D][LANE], want[k].i32_of_half);
        run(INSN_f32tof16, D, A + 1, 0, 0);
        CHECK("f32tof16", tile.a[D][LANE], want[k].f16_up);
    }
    start(FP_CTL_NANOO);
    set2(A, 0x7bff3c00, 0);
    run(INSN_f16v2add, D, A, A, 0);
    CHECK("NANOO", tile.a[D][LANE], 0x7e004000);
    CHECK("NANOO", tile.fp_sts[LANE], FP_OFLO);
}

/* $FP_STS is sticky, and of this worker only. */
static void test_flags_stick(void **state)
{
    (void)state;
    start(0);
    tile.fp_sts[LANE] = FP_DIV0;
    set2(A, MAX32, 0);
    run(INSN_f32add, D, A, A, 0);
    CHECK("sticky", tile.fp_sts[LANE], FP_DIV0 | FP_OFLO);
    run(INSN_f32add, D, A + 1, A + 1, 0);
    CHECK("sticky", tile.fp_sts[LANE], FP_DIV0 | FP_OFLO);
    CHECK("other worker", tile.fp_sts[LANE + 1], 0);
}

/* Rows that raise something, with operands A, B that make them: enabled, they fault and leave all
 * else as it was. */
static void test_traps(void **state)
{
    static const struct {
        uint16_t op;
        uint32_t a[2], b[2], flag;
        const char *detail;
    } trap[] = {
        { INSN_f32add, { MAX32 }, { MAX32 }, FP_OFLO, "overflow" },
        { INSN_f32v2add, { ONE, INF }, { ONE, 0xff800000 }, FP_INV, "invalid operation" },
        { INSN_f32div, { ONE }, { 0 }, FP_DIV0, "division by zero" },
        { INSN_f32v2max, { ONE, SNAN }, { ONE, ONE }, FP_INV, "invalid operation" },
        { INSN_f32v2cmpeq, { ONE, SNAN }, { ONE, ONE }, FP_INV, "invalid operation" },
        { INSN_f32v2clamp, { ONE, SNAN }, { ONE, ONE }, FP_INV, "invalid operation" },
        { INSN_f32sqrt, { 0xbf800000 }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f32int, { SNAN }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f16v4add,
          { 0x3c003c00, 0x7bff3c00 },
          { 0x3c003c00, 0x7bff3c00 },
          FP_OFLO,
          "overflow" },
        { INSN_f16v4max, { 0, 0x7c010000 }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f16v4clamp, { 0, 0x7c010000 }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f16v4sum, { 0, 0x7c01 }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f16v4maxc, { 0, 0x7c01 }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f32toi32, { QNAN }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f32toui32, { INF }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f16v2tof32, { 0x7c010000 }, { 0 }, FP_INV, "invalid operation" },
        { INSN_f32v2tof16, { ONE, 0x47800000 }, { 0 }, FP_OFLO, "overflow" },
        { INSN_f32tof16, { 0x47800000 }, { 0 }, FP_OFLO, "overflow" },
        { INSN_f32exp, { 0x43000000 }, { 0 }, FP_OFLO, "overflow" },
        { INSN_f32ln, { 0 }, { 0 }, FP_DIV0, "division by zero" },
        { INSN_f16v2ln, { 0xbc003c00 }, { 0 }, FP_INV, "invalid operation" },
    };
    struct tile before;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(trap); k++) {
        const char *name = isa_op_form(trap[k].op)->name;

        for (uint32_t other = 0; other < 8; other++) {
            start(other & ~trap[k].flag);
            set2(A, trap[k].a[0], trap[k].a[1]);
            set2(B, trap[k].b[0], trap[k].b[1]);
            assert_int_equal(run(trap[k].op, D, A, B, 0), FAULT_NONE);
            CHECK(name, tile.fp_sts[LANE], trap[k].flag);
        }

        start(trap[k].flag);
        set2(A, trap[k].a[0], trap[k].a[1]);
        set2(B, trap[k].b[0], trap[k].b[1]);
        tile.pc[LANE] = 0x1100;
        before = tile;
        assert_int_equal(run(trap[k].op, D, A, B, 0), FAULT_FP);
        assert_memory_equal(tile.a, before.a, sizeof(tile.a));
        CHECK(name, tile.fp_sts[LANE], 0);
        assert_string_equal(tile.fault.detail, trap[k].detail);
        assert_true(tile.fault.kind == FAULT_FP && tile.fault.lane == LANE &&
                    tile.fault.pc == 0x1100);
        assert_memory_equal(&tile.prng, &before.prng, sizeof(tile.prng));
    }
}

/* How often each family draws from the generator: rounding to f16 once with ESR; random
 * instructions always. */
static unsigned draws_of(const char *id, int esr)
{
    static const char *const rounding[] = { "f16v2add",  "f16v4add",   "f16v2sub",    "f16v4sub",
                                            "f16v2mul",  "f16v4mul",   "f16v2absadd", "f16v4absadd",
                                            "f32tof16",  "f32v2tof16", "f32v4tof16",  "f16v2suf",
                                            "f16v4suf",  "f16v2exp",   "f16v2ln",     "f16v2log",
                                            "f16v2tanh", "f16v2sigm",  "f16v2tof8",   "f16v8tof8",
                                            "f8v2tof16", "f8v4tof16" };
    static const char *const always[] = { "urand32", "urand64", "f16v4rmask", "f32v2rmask" };

    for (size_t k = 0; k < EMU_COUNT_OF(rounding); k++) {
        if (!strncmp(id, rounding[k], strlen(rounding[k])))
            return esr ? 1 : 0;
    }
    for (size_t k = 0; k < EMU_COUNT_OF(always); k++) {
        if (!strcmp(id, always[k]))
            return 1;
    }
    return !strcmp(id, "f16v2grand") || !strcmp(id, "f32v2grand") ? 2 : 0;
}

/* The rows of this family: the auxiliary lane but raw bits, CSRs and what works on accumulators. */
static int is_family(const struct insn_form *f)
{
    static const char *const not_here[] = { "acc",  "mac",  "axpy",  "aop",   "mix",
                                            "gina", "oamp", "v4amp", "v2amp", "slic" };

    if (f->is_alias || f->lane != LANE_A ||
        (strncmp(f->name, "f8", 2) && strncmp(f->name, "f16", 3) && strncmp(f->name, "f32", 3) &&
         strncmp(f->name, "urand", 5)))
        return 0;
    for (size_t k = 0; k < EMU_COUNT_OF(not_here); k++) {
        size_t n = strlen(not_here[k]);

        if (strlen(f->name) > n && !strcmp(f->name + strlen(f->name) - n, not_here[k]))
            return 0;
    }
    return 1;
}

static void test_draws(void **state)
{
    unsigned rows = 0;

    (void)state;
    for (unsigned k = 0; k < FORM_COUNT; k++) {
        const struct insn_form *f = isa_form(k);

        if (!is_family(f))
            continue;
        rows++;
        for (int esr = 0; esr < 2; esr++) {
            struct prng want[TILE_LANES];
            unsigned draws = draws_of(f->name, esr);

            start(esr ? FP_CTL_ESR : 0);
            for (unsigned r = 0; r < 14; r++)
                tile.a[r][LANE] = 0x3c003555 + r;
            memcpy(want, tile.prng, sizeof(want));
            for (unsigned n = 0; n < draws; n++)
                prng_next(&want[LANE]);
            assert_int_equal(run(f->op, D, A4, B, 0), FAULT_NONE);
            if (memcmp(want, tile.prng, sizeof(want)))
                fail_msg("%s does not draw %u times with ESR %d", f->name, draws, esr);
        }
    }
    assert_int_equal(rows, 149);
}

/* Every lane rounds with its own bits of the one output. */
static void test_stochastic_lanes(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 64; seed++) {
        struct fp_env env = { .stochastic = 1 };
        uint16_t want[4], mul[4], suf[4], ln[2];
        struct prng p;

        prng_seed(&p, seed);
        env.random = prng_next(&p);
        for (unsigned i = 0; i < 4; i++) {
            want[i] = fp_f16_from_f32(0x3f800fff + i, i, &env);
            mul[i] = fp_f16_mul(0x3c01, (uint16_t)(0x3cab + i), i, &env);
            suf[i] = fp_f16_sufromui((uint16_t)(0x1235 + i), i, &env);
        }
        ln[0] = fp_f16_ln(0x4001, 0, &env);
        ln[1] = fp_f16_ln(0x4001, 1, &env);
        start(FP_CTL_ESR);
        for (unsigned i = 0; i < 4; i++)
            tile.a[A4 + i][LANE] = 0x3f800fff + i;
        prng_seed(&tile.prng[LANE], seed);
        run(INSN_f32v4tof16, D4, A4, 0, 0);
        CHECK("f32v4tof16", tile.a[D4][LANE], fp_f16_pack(want[0], want[1]));
        CHECK("f32v4tof16", tile.a[D4 + 1][LANE], fp_f16_pack(want[2], want[3]));
        prng_seed(&tile.prng[LANE], seed);
        run(INSN_f32tof16, D, A4, 0, 0);
        CHECK("f32tof16", tile.a[D][LANE], fp_f16_pack(want[0], want[0]));
        prng_seed(&tile.prng[LANE], seed);
        set2(A, 0x3c013c01, 0x3c013c01);
        set2(B, 0x3cac3cab, 0x3cae3cad);
        run(INSN_f16v4mul, D, A, B, 0);
        CHECK("f16v4mul", tile.a[D][LANE], fp_f16_pack(mul[0], mul[1]));
        CHECK("f16v4mul", tile.a[D + 1][LANE], fp_f16_pack(mul[2], mul[3]));
        prng_seed(&tile.prng[LANE], seed);
        set2(A, 0x12361235, 0x12381237);
        run(INSN_f16v4sufromui, D, A, 0, 0);
        CHECK("f16v4sufromui", tile.a[D][LANE], fp_f16_pack(suf[0], suf[1]));
        CHECK("f16v4sufromui", tile.a[D + 1][LANE], fp_f16_pack(suf[2], suf[3]));
        prng_seed(&tile.prng[LANE], seed);
        set2(A, 0x40014001, 0);
        run(INSN_f16v2ln, D, A, 0, 0);
        CHECK("f16v2ln", tile.a[D][LANE], fp_f16_pack(ln[0], ln[1]));
    }
}

static void test_random(void **state)
{
    struct prng p;
    uint64_t out;
    uint32_t f0;
    uint16_t h0;

    (void)state;
    start(0);
    p = tile.prng[LANE];
    run(INSN_urand64, D, 0, 0, 0);
    out = prng_next(&p);
    CHECK("urand64", tile.a[D][LANE], (uint32_t)out);
    CHECK("urand64", tile.a[D + 1][LANE], (uint32_t)(out >> 32));
    run(INSN_urand32, D, 0, 0, 0);
    CHECK("urand32", tile.a[D][LANE], (uint32_t)prng_next(&p));
    CHECK("urand32", tile.a[D + 1][LANE], (uint32_t)(out >> 32));
    run(INSN_f32v2grand, D, 0, 0, 0);
    f0 = prng_grand_f32(&p);
    CHECK("f32v2grand", tile.a[D][LANE], f0);
    CHECK("f32v2grand", tile.a[D + 1][LANE], prng_grand_f32(&p));
    run(INSN_f16v2grand, D, 0, 0, 0);
    h0 = prng_grand_f16(&p);
    CHECK("f16v2grand", tile.a[D][LANE], fp_f16_pack(h0, prng_grand_f16(&p)));

    set2(A, 0x22221111, 0x44443333);
    set2(B, 0x8000, 0);
    run(INSN_f16v4rmask, D, A, B, 0);
    out = prng_rmask_f16v4(prng_next(&p), 0x4444333322221111, 0x8000);
    CHECK("f16v4rmask", tile.a[D][LANE], (uint32_t)out);
    CHECK("f16v4rmask", tile.a[D + 1][LANE], (uint32_t)(out >> 32));
    run(INSN_f32v2rmask, D, A, B, 0);
    out = prng_rmask_f32v2(prng_next(&p), 0x4444333322221111, 0x8000);
    CHECK("f32v2rmask", tile.a[D][LANE], (uint32_t)out);
    CHECK("f32v2rmask", tile.a[D + 1][LANE], (uint32_t)(out >> 32));
    set2(B, 0x10000, 0);
    run(INSN_f16v4rmask, D, A, B, 0);
    CHECK("f16v4rmask keeps all", tile.a[D + 1][LANE], 0x44443333);
}

/* Sources are read before results are written, also when they are the same registers; $azeros
 * swallows results and keeps 0. */
static void test_overlap(void **state)
{
    (void)state;
    start(0);
    set2(A, 0x40003c00, 0x44004200);
    run(INSN_f16v2tof32, A, A, 0, 0);
    CHECK("f16v2tof32", tile.a[A][LANE], ONE);
    CHECK("f16v2tof32", tile.a[A + 1][LANE], TWO);
    run(INSN_f32v2clamp, A, A, A, 0); /* bounds 1, 2 */
    CHECK("f32v2clamp", tile.a[A + 1][LANE], TWO);
    run(INSN_f32v2mul_b, A, A + 1, A, 0);
    CHECK("f32v2mul", tile.a[A][LANE], TWO);
    CHECK("f32v2mul", tile.a[A + 1][LANE], 0x40800000);
    run(INSN_f32v2sufromui, A, A, 0, 0);
    CHECK("f32v2sufromui", tile.a[A + 1][LANE], fp_f32_sufromui(0x40800000));

    for (unsigned k = 0; k < FORM_COUNT; k++) {
        const struct insn_form *f = isa_form(k);

        if (!is_family(f))
            continue;
        run(f->op, 14, A4, B, 0);
        run(f->op, 15 & ~1u, 12, 14, 0);
        CHECK(f->name, tile.a[14][LANE] | tile.a[15][LANE], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_f16),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_rounding_modes),
        cmocka_unit_test(test_flags_stick),
        cmocka_unit_test(test_traps),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_stochastic_lanes),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_overlap),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
