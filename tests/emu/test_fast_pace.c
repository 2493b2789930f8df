/* test_fast_pace.c - the fast functions of paced loads and stores against the plain ones, worker
 * after worker in the order of a round: on addresses so near each other that accesses of one worker
 * meet in a memory element, and that one loads what another has stored. Registers, memory and
 * refusals are compared; what is refused must have changed nothing. */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

#include "emu/exec/exec_rows.h"
#include "emu/fast/fast.h"
#include "emu/isa/insn_ops.h"

enum { ROUNDS = 200000, AREA_BYTES = 256 };

static struct tile fast, plain;
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    return random_below(&seed, below);
}

/* Where the addresses lie: in region 0, and on both sides of an edge between two groups of elements
 * of region 1. */
static uint32_t area(unsigned n)
{
    uint32_t region1 = fast.mem_base + fast.region0_bytes;

    return n == 0 ? fast.mem_base + 4096 : region1 + 2 * fast.arch->element_bytes - AREA_BYTES / 2;
}

/* Mostly what may stand together: region 0, even words of region 1, odd words of it. */
static uint32_t address(unsigned n, unsigned parity)
{
    if (!draw(40))
        return area(draw(2)) + draw(AREA_BYTES - 8);
    if (n == 0)
        return area(0) + 8 * draw(AREA_BYTES / 8);
    return area(1) + 16 * draw(AREA_BYTES / 16) + 8 * (parity ^ (n & 1));
}

static void set_addresses(unsigned lane, const struct insn *in)
{
    unsigned parity = draw(2);
    uint32_t a0 = address(0, parity), a1 = address(1, parity), a2 = address(2, parity);

    /* Address 2 lies in the high bits of both words: 11 of its bits, then 10. */
    tile_set_m(&fast, lane, in->x, a0 | a2 << 21);
    tile_set_m(&fast, lane, in->x + 1u, a1 | a2 >> 11 << 21);
    tile_set_m(&fast, lane, in->t, draw(UINT32_MAX));
}

static void copy_areas(struct tile *to, const struct tile *from)
{
    for (unsigned n = 0; n < 2; n++) {
        uint32_t off = area(n) - from->mem_base;

        memcpy(to->mem + off, from->mem + off, AREA_BYTES);
    }
}

static int areas_differ(void)
{
    for (unsigned n = 0; n < 2; n++) {
        uint32_t off = area(n) - fast.mem_base;

        if (memcmp(fast.mem + off, plain.mem + off, AREA_BYTES))
            return 1;
    }
    return 0;
}

static void fill(const struct insn *in)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        set_addresses(lane, in);
        for (unsigned r = 0; r < 8; r++)
            tile_set_a(&fast, lane, r, draw(UINT32_MAX));
    }
    for (unsigned n = 0; n < 2; n++) {
        for (unsigned k = 0; k < AREA_BYTES; k++)
            fast.mem[area(n) - fast.mem_base + k] = (uint8_t)draw(256);
    }
    memcpy(plain.m, fast.m, sizeof(plain.m));
    memcpy(plain.a, fast.a, sizeof(plain.a));
    copy_areas(&plain, &fast);
}

/* Worker after worker, the late ones last. Returns 0 where one of them faults. */
static int run_plain(const struct insn *in, uint32_t lanes, uint32_t late)
{
    const uint32_t turn[2] = { lanes & ~late, lanes & late };

    for (unsigned k = 0; k < 2; k++) {
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
            if ((turn[k] >> lane & 1) && exec_table[in->op](&plain, lane, in) != FAULT_NONE)
                return 0;
        }
    }
    return 1;
}

/* Returns whether the fast function did it. */
static int compare(const struct insn *in)
{
    uint32_t lanes = draw(3) ? LANES_ALL : 1 + draw(LANES_ALL), late = (1u << draw(6)) - 1;
    const char *name = isa_op_form(in->op)->name;
    int done;

    fill(in);
    fast_begin_rounds(&fast, late);
    done = fast_find(in->op)(&fast, lanes, in);
    if (done && !run_plain(in, lanes, late))
        fail_msg("%s lanes %02x: done, but a worker faults", name, lanes);
    if (memcmp(fast.m, plain.m, sizeof(fast.m)) || memcmp(fast.a, plain.a, sizeof(fast.a)) ||
        areas_differ())
        fail_msg("%s lanes %02x late %02x: %s", name, lanes, late,
                 done ? "not as plain" : "refused, but changed something");
    memset(&plain.fault, 0, sizeof(plain.fault));
    return done;
}

static void test_near_addresses(void **state)
{
    static const enum insn_op op[] = { INSN_ld2x64pace, INSN_ldst64pace, INSN_st64pace,
                                       INSN_ld2xst64pace };
    unsigned done[EMU_COUNT_OF(op)] = { 0 };

    (void)state;
    seed = 5;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned k = round % EMU_COUNT_OF(op);
        struct insn in = { .op = (uint16_t)op[k], .d = 0, .e = 2, .s = 4, .x = 8, .t = 10 };

        in.i = (int32_t)draw(op[k] == INSN_ld2xst64pace ? 64 : op[k] == INSN_st64pace ? 4 : 16);
        done[k] += (unsigned)compare(&in);
    }
    /* A function that always refuses would pass. */
    for (unsigned k = 0; k < EMU_COUNT_OF(op); k++)
        assert_true(done[k] > ROUNDS / 40);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_near_addresses) };
    struct arch a = *ss_arch_preset("mk2");

    cmocka_set_message_output(CM_OUTPUT_TAP);
    zero_tile_new(&fast, &a, 0);
    zero_tile_new(&plain, &a, 0);
    tile_must(fast_begin(&fast), "fast state");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
