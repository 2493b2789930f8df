/* test_endless.c - supersteps that never end: machine_run_out() ends them as machine_run() does,
 * though it brings one tile to the limit instead of all; and what does end is the same either way.
 */
#include "tests/fixtures/chip_fixture.h"

#include "emu/exchange/host_header.h"
#include "emu/host/host.h"

/* Tiles that get a turn stop within so many cycles of its end. */
enum { TURN = MACHINE_TURN_CYCLES, MARGIN = 100, TILES = 4, LIMIT = 40 * 1000 * 1000 };

#define BUSY(n)  "setzi $m1, " #n "\n9: brnzdec $m1, 9b\n" /* 6 n cycles */
#define LONG     BUSY(1000000)                             /* more than two turns */
#define SPIN     "8: bri 8b\n"
#define FOR_EVER "start: " SPIN
#define ENDS     "start: " LONG LONG "sync 4\n" LONG "sync 4\nsync 6\n"

static void chip_of(struct chip *c, unsigned threads, const char *const text[TILES])
{
    chip_new(c, "toy4", &(struct machine_options){ .threads = threads });
    for (uint32_t i = 0; i < TILES; i++)
        chip_program(c, i, 0, text[i]);
}

/* All tiles run for ever but the first `short_ones`, which come to a sync. Of those that do not the
 * first is at the limit, the others had one turn, or the longer ones that short_ones needed. */
static void check_limit(unsigned threads, uint32_t short_ones, uint64_t turn)
{
    const char *text[TILES];
    struct machine_wait wait;
    struct chip c;

    for (uint32_t i = 0; i < TILES; i++)
        text[i] = i < short_ones ? ENDS : FOR_EVER;
    chip_of(&c, threads, text);
    assert_int_equal(machine_run_out(c.m, LIMIT), MACHINE_LIMIT);
    assert_in_range(machine_cycles(c.m), LIMIT, LIMIT + MARGIN);
    for (uint32_t i = short_ones; i < TILES; i++) {
        uint64_t want = i == short_ones ? LIMIT : turn;

        assert_in_range(barrel_clock(machine_barrel(c.m, i)), want, want + MARGIN);
    }
    assert_int_equal(machine_waits(c.m, &wait, 1), short_ones != 0);
    if (short_ones)
        assert_int_equal(atoi(wait.missing), short_ones);
    chip_free(&c);
}

static void one_tile_comes_to_the_limit(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        check_limit(threads, 0, TURN);
        check_limit(threads, 1, 4ull * TURN);  /* tile 0 had to go on alone */
        check_limit(threads, 3, 16ull * TURN); /* and tile 1, after the second turn */
    }
}

/* machine_run() has them all there. */
static void all_come_to_a_cycle(void **state)
{
    const char *const text[TILES] = { FOR_EVER, FOR_EVER, ENDS, FOR_EVER };
    struct chip c;

    (void)state;
    chip_of(&c, 1, text);
    assert_int_equal(machine_run(c.m, LIMIT), MACHINE_LIMIT);
    for (uint32_t i = 0; i < TILES; i++) {
        if (i != 2)
            assert_in_range(barrel_clock(machine_barrel(c.m, i)), LIMIT, LIMIT + MARGIN);
    }
    /* It may be asked for the end afterwards. */
    assert_int_equal(machine_run_out(c.m, 2 * LIMIT), MACHINE_LIMIT);
    assert_in_range(machine_cycles(c.m), 2 * LIMIT, 2 * LIMIT + MARGIN);
    chip_free(&c);
}

/* Long supersteps that end: the same cycles and bytes, whoever went on alone. */
static void long_supersteps_are_the_same(void **state)
{
    const char *const text[TILES] = { ENDS, "start: sync 4\n" LONG LONG LONG "sync 4\nsync 6\n",
                                      "start: " LONG "sync 4\nsync 4\nsync 6\n", ENDS };
    struct chip c[2];

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        chip_of(&c[k], 2, text);
        assert_int_equal((k ? machine_run_out : machine_run)(c[k].m, UINT64_MAX / 2), MACHINE_HOST);
        assert_int_equal(machine_finish(c[k].m), EMU_OK);
    }
    assert_in_range(machine_cycles(c[0].m), 30 * 1000 * 1000, 31 * 1000 * 1000);
    assert_int_equal(machine_cycles(c[0].m), machine_cycles(c[1].m));
    assert_true(hash128_equal(machine_digest(c[0].m), machine_digest(c[1].m)));
    chip_free(&c[1]);
    chip_free(&c[0]);
}

/* Workers that may go at their own pace, as far as nothing disturbs them, are stopped as well. */
static void workers_are_stopped(void **state)
{
    static const char text[] = "start: setzi $m3, work\nsite: runall $m3, $mzero, 0\nsync 2\n"
                               "sync 6\n.worker\n.align 8\nwork: bri work\n";
    const uint64_t far = UINT64_C(3) << 27; /* far enough for a pace of their own */
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    for (uint32_t i = 0; i < TILES; i++) {
        struct asm_unit *u = chip_assemble(&c.arch, i, text);
        uint32_t site = (uint32_t)asm_symbol_find(asm_unit_image(u), "site")->value;

        chip_load(&c, i, 0, u);
        assert_int_equal(machine_sites(c.m, i, &site, 1), EMU_OK);
        asm_unit_free(u);
    }
    assert_int_equal(machine_run_out(c.m, far), MACHINE_LIMIT);
    assert_in_range(barrel_clock(machine_barrel(c.m, 0)), far, far + MARGIN);
    for (uint32_t i = 1; i < TILES; i++)
        assert_in_range(barrel_clock(machine_barrel(c.m, i)), TURN, TURN + MARGIN);
    chip_free(&c);
}

/* Two groups that do not wait for each other: one has short supersteps without an end. */
static void groups_go_on(void **state)
{
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, "start: " BUSY(1000) "sync 3\nbri start\n");
    chip_program(&c, 1, 1, FOR_EVER);
    chip_program(&c, 2, 1, FOR_EVER);
    assert_int_equal(machine_run_out(c.m, LIMIT), MACHINE_LIMIT);
    assert_true(machine_supersteps(c.m, 0) > LIMIT / 6200);
    assert_in_range(machine_cycles(c.m), LIMIT, LIMIT + 7000);
    chip_free(&c);
}

/* ---- with a host ---- */

/* Tile 2 has asked for data and computes for ever: it may go on no further than the host is known,
 * which waits for requests of tiles that had their turn. */
static void host_is_known(void **state)
{
    enum { HEADER = 0x3000, BUFFER = 0x8000, STREAM = 5, BYTES = 64 };
    const struct host_header h = { .stream = STREAM, .addr = 0, .bytes = BYTES };
    const char *const text[TILES] = { FOR_EVER, FOR_EVER, "start: send 1, BASE + 0x3000, 4\n" SPIN,
                                      FOR_EVER };
    static const uint8_t data[BYTES] = { 1 };
    struct host_header placed = h;
    struct host *host;
    uint32_t word[2];
    struct chip c;

    (void)state;
    chip_of(&c, 2, text);
    placed.addr = c.arch.mem_base + BUFFER;
    host_header_pack(&placed, word);
    assert_true(tile_write(machine_tile(c.m, 2), c.arch.mem_base + HEADER, word, sizeof(word)));
    assert_int_equal(host_new(&c.arch, NULL, &host), EMU_OK);
    assert_int_equal(host_stream_from_memory(host, STREAM, 2, data, BYTES, 1), EMU_OK);
    host_attach(host, c.m);
    assert_int_equal(machine_run_out(c.m, LIMIT), MACHINE_LIMIT);
    assert_in_range(barrel_clock(machine_barrel(c.m, 0)), LIMIT, LIMIT + MARGIN);
    assert_true(barrel_clock(machine_barrel(c.m, 3)) < LIMIT);
    assert_int_equal(chip_word(&c, 2, c.arch.mem_base + BUFFER), 1);
    host_free(host);
    chip_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tile_comes_to_the_limit),
        cmocka_unit_test(all_come_to_a_cycle),
        cmocka_unit_test(long_supersteps_are_the_same),
        cmocka_unit_test(workers_are_stopped),
        cmocka_unit_test(groups_go_on),
        cmocka_unit_test(host_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
