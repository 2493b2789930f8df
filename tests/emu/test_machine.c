/* test_machine.c - when syncs release, what they carry, how votes, deadlocks and mistakes end, and
 * what the record and the digests say of it. Cycles are counted by hand from docs/timing.md 3.
 */
#include "emu/arch/arch_numbers.h"
#include "tests/fixtures/chip_fixture.h"

#include "emu/exchange/exchange.h"

/* Programs keep words at NOTES, which $m11 holds. */
enum { NOTES = 0x3000, DATA = 0x3100, SUPER = LANE_SUPER };

#define START    "start: setzi $m11, BASE + 0x3000\n"
#define BUSY(n)  "setzi $m1, " #n "\n1: brnzdec $m1, 1b\n"
#define CLOCK(k) "get $m0, $SCOUNT_L\nst32 $m0, $m11, " #k "\n"
#define SSR(k)   "get $m0, $SSR\nst32 $m0, $m11, " #k "\n"
#define SET_LC   "setzi $m2, 2\nput $CR, $m2\n"
#define CLEAR_LC "setzi $m2, 1\nput $CR, $m2\n"

/* Cycles of BUSY(n): 6 until the counter can be read, 6 for each taken branch, 1 for the last. */
enum { START_CYCLES = 1, NOTE_CYCLES = 7 /* the store waits for the clock */ };
static uint64_t busy(uint64_t n)
{
    return 7 + 6 * n;
}

static uint32_t note(struct chip *c, uint32_t tile, unsigned k)
{
    return chip_word(c, tile, c->arch.mem_base + NOTES + 4 * k);
}

static unsigned gc(struct chip *c, uint32_t tile, unsigned k)
{
    return (note(c, tile, k) & SSR_GC) != 0;
}

/* --- the cycle of a release --- */

static void check_release(unsigned zone0, unsigned zone1, unsigned group1, uint32_t cost, int host)
{
    struct chip c;
    char text[256];

    chip_new(&c, "toy4", NULL);
    snprintf(text, sizeof(text), START BUSY(10) "sync %u\n" CLOCK(0) "sync 6\n", zone0);
    chip_program(&c, 0, 0, text);
    snprintf(text, sizeof(text), START BUSY(100) "sync %u\n" CLOCK(0) "sync 6\n", zone1);
    chip_program(&c, 2, group1, text);
    chip_stops(&c, MACHINE_HOST);
    if (host) {
        assert_int_equal(machine_cycles(c.m), START_CYCLES + busy(100));
        machine_release_host(c.m);
        chip_stops(&c, MACHINE_HOST);
    }
    assert_int_equal(note(&c, 0, 0), START_CYCLES + busy(100) + cost);
    assert_int_equal(note(&c, 2, 0), START_CYCLES + busy(100) + cost);
    assert_int_equal(machine_cycles(c.m), START_CYCLES + busy(100) + cost + NOTE_CYCLES);
    assert_int_equal(machine_supersteps(c.m, 0), 1);
    assert_int_equal(machine_supersteps(c.m, group1), 1);
    assert_int_equal(machine_supersteps(c.m, group1 + 1), 0);
    chip_free(&c);
}

static void test_release_cycle(void **state)
{
    const struct arch *a = ss_arch_preset("toy4");

    (void)state;
    check_release(3, 3, 0, a->sync_chip_cycles, 0);
    check_release(4, 4, 0, a->sync_chip_cycles, 0);
    check_release(4, 12, 1, a->sync_chip_cycles, 0);
    check_release(5, 13, 1, arch_sync_chips_cycles(a), 0);
    check_release(14, 6, 0, arch_sync_host_cycles(a), 1);
    check_release(6, 6, 63 - 1, arch_sync_host_cycles(a), 1);
    check_release(7, 15, 0, arch_sync_host_cycles(a), 1);
    check_release(7, 6, 1, arch_sync_host_cycles(a), 1);
}

/* Two supersteps of one group beside one of the other; a wider sync joins them. */
static void test_groups_have_their_own_clocks(void **state)
{
    uint64_t sync = ss_arch_preset("toy4")->sync_chip_cycles, first, second, other;
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0,
                 START BUSY(9) "sync 3\n" CLOCK(0)
                     BUSY(5) "sync 3\n" CLOCK(1) "sync 4\n" CLOCK(2) "sync 6\n");
    chip_program(&c, 2, 0,
                 START BUSY(3) "sync 3\n" CLOCK(0)
                     BUSY(50) "sync 3\n" CLOCK(1) "sync 4\n" CLOCK(2) "sync 6\n");
    chip_program(&c, 1, 7, START BUSY(400) "sync 3\n" CLOCK(0) "sync 4\n" CLOCK(2) "sync 6\n");
    chip_program(&c, 3, 7, START BUSY(4) "sync 3\n" CLOCK(0) "sync 4\n" CLOCK(2) "sync 6\n");
    chip_stops(&c, MACHINE_HOST);
    first = START_CYCLES + busy(9) + sync;
    second = first + NOTE_CYCLES + busy(50) + sync;
    other = START_CYCLES + busy(400) + sync;
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(note(&c, i, 0), i % 2 ? other : first);
        assert_int_equal(note(&c, i, 2), other + NOTE_CYCLES + sync);
        assert_int_equal(machine_tile_group(c.m, i), i % 2 ? 7 : 0);
        assert_true(machine_tile_used(c.m, i));
    }
    assert_int_equal(note(&c, 0, 1), second);
    assert_int_equal(note(&c, 2, 1), second);
    assert_int_equal(machine_supersteps(c.m, 0), 3);
    assert_int_equal(machine_supersteps(c.m, 7), 2);
    chip_free(&c);
}

/* A run that is cut into pieces is the same run. */
static void test_pieces(void **state)
{
    static const uint64_t pieces[] = { UINT64_MAX / 2, 1, 7, 100 };
    struct hash128 want = { 0, 0 };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(pieces); k++) {
        enum machine_stop stop = MACHINE_LIMIT;
        struct chip c;

        chip_new(&c, "toy4", NULL);
        chip_program(&c, 0, 0, START BUSY(30) "sync 3\n" CLOCK(0) "sync 4\n" CLOCK(1) "sync 6\n");
        chip_program(
            &c, 1, 1,
            START BUSY(3) "sync 3\n" CLOCK(0) "sync 3\n" CLOCK(1) "sync 4\n" CLOCK(2) "sync 6\n");
        for (uint64_t limit = pieces[k]; stop == MACHINE_LIMIT; limit += pieces[k])
            stop = machine_run(c.m, limit);
        assert_int_equal(stop, MACHINE_HOST);
        if (!k)
            want = machine_digest(c.m);
        assert_true(hash128_equal(machine_digest(c.m), want));
        chip_free(&c);
    }
}

/* --- consensus --- */

static void test_consensus(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 16; bits++) {
        struct chip c;

        chip_new(&c, "toy4", NULL);
        for (uint32_t i = 0; i < 4; i++)
            chip_program(&c, i, i / 2,
                         bits >> i & 1 ? START SET_LC "sync 3\n" SSR(0) "sync 4\n" SSR(1) CLEAR_LC
                             "sync 13\n" SSR(2) SET_LC "sync 12\n" SSR(3) "sync 6\n"
                                       : START CLEAR_LC "sync 3\n" SSR(0) "sync 12\n" SSR(1) SET_LC
                             "sync 5\n" SSR(2) SET_LC "sync 4\n" SSR(3) "sync 6\n");
        chip_stops(&c, MACHINE_HOST);
        for (uint32_t i = 0; i < 4; i++) {
            unsigned mine = bits >> (i & 2) & 3;

            assert_int_equal(gc(&c, i, 0), mine == 3);
            assert_int_equal(gc(&c, i, 1), bits == 15);
            assert_int_equal(gc(&c, i, 2), bits == 0);
            assert_int_equal(gc(&c, i, 3), 1);
            assert_int_equal(note(&c, i, 0) & SSR_LC, bits >> i & 1 ? SSR_LC : 0);
        }
        chip_free(&c);
    }
}

/* LC is the AND of the statuses of all exits since it was set. */
static void test_consensus_of_workers(void **state)
{
    static const char text[] =
        START SET_LC "setzi $m3, work\nrunall $m3, $mzero, 0\nsync 2\n"
                     "sync 3\n" SSR(0) "sync 6\n.worker\n"
                                       "work: get $m0, $WSR\nand $m0, $m0, 7\n"
                                       "cmpeq $m0, $m0, TILE\nexitz $m0\n";
    struct chip c;

    (void)state;
    chip_new(&c, "toy16", NULL);
    for (uint32_t i = 4; i < 8; i++) /* workers 4 and 5 of their tiles say no; 6 and 7 are none */
        chip_program(&c, i, i / 6, text);
    chip_stops(&c, MACHINE_HOST);
    for (uint32_t i = 4; i < 8; i++)
        assert_int_equal(gc(&c, i, 0), i >= 6);
    chip_free(&c);
}

/* --- votes --- */

#define JOIN "sync 4\n" CLOCK(3) "sync 6\n"

static const char waiter[] = START BUSY(50) "sync 3\n" CLOCK(0) BUSY(60) "sync 3\n" CLOCK(1) JOIN;

struct vote {
    const char *voter;
    uint64_t vote_cycle; /* of its last sans; 0: it counts no later than the others */
    uint64_t ans_cycle;  /* arrival at sync ANS */
};

static void check_vote(const struct vote *v)
{
    uint64_t sync = ss_arch_preset("toy4")->sync_chip_cycles, arrived, first, second;
    struct chip c;

    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, waiter);
    chip_program(&c, 3, 0, waiter);
    chip_program(&c, 2, 0, v->voter);
    chip_stops(&c, MACHINE_HOST);
    arrived = START_CYCLES + busy(50);
    first = (arrived > v->vote_cycle ? arrived : v->vote_cycle) + sync;
    second = first + NOTE_CYCLES + busy(60) + sync;
    assert_int_equal(note(&c, 0, 0), first);
    assert_int_equal(note(&c, 3, 1), second);
    assert_int_equal(note(&c, 2, 0), second > v->ans_cycle + 1 ? second : v->ans_cycle + 1);
    assert_int_equal(machine_supersteps(c.m, 0), 3);
    assert_int_equal(note(&c, 2, 3), note(&c, 0, 3));
    chip_free(&c);
}

static void test_votes(void **state)
{
    static const struct vote votes[] = {
        { START "sans 1\nsync 1\n" CLOCK(0) JOIN, 0, 2 },
        { START "sans 1\n" BUSY(500) "sync 1\n" CLOCK(0) JOIN, 0, 2 + 7 + 3000 },
        { START "sans 0\n" BUSY(4) "sans 0\n" BUSY(9) "sync 1\n" CLOCK(0) JOIN, 0, 64 + 33 },
        { START BUSY(300) "sans 1\nsync 1\n" CLOCK(0) JOIN, 1 + 7 + 1800, 1 + 7 + 1800 + 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(votes); i++)
        check_vote(&votes[i]);
}

/* With votes left a tile may stand in a wider sync already; the syncs of its group take them. */
static void test_votes_left_in_a_wider_sync(void **state)
{
    uint64_t sync = ss_arch_preset("toy4")->sync_chip_cycles, joined;
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, waiter);
    chip_program(&c, 1, 0, START "sans 1\n" JOIN);
    chip_stops(&c, MACHINE_HOST);
    joined = START_CYCLES + busy(50) + sync + NOTE_CYCLES + busy(60) + sync + NOTE_CYCLES + sync;
    assert_int_equal(note(&c, 0, 3), joined);
    assert_int_equal(note(&c, 1, 3), joined);
    chip_free(&c);
}

/* ANS with no votes left costs one cycle, whether there were any or not. */
static void test_ans_without_votes(void **state)
{
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, START "sync 1\n" CLOCK(0) "sync 1\n" CLOCK(1) "sync 6\n");
    chip_stops(&c, MACHINE_HOST);
    assert_int_equal(note(&c, 0, 0), START_CYCLES + 1);
    assert_int_equal(note(&c, 0, 1), START_CYCLES + 1 + NOTE_CYCLES + 1);
    assert_int_equal(machine_supersteps(c.m, 0), 0);
    chip_free(&c);
}

/* The LC of a voter counts in the consensus of the others, as it stood at its last vote. */
static void test_votes_and_consensus(void **state)
{
    static const struct {
        const char *voter;
        unsigned gc[2];
    } cases[] = {
        { START SET_LC "sans 1\n" CLEAR_LC BUSY(100) "sync 1\nsync 6\n", { 1, 1 } },
        { START CLEAR_LC "sans 1\n" SET_LC BUSY(100) "sync 1\nsync 6\n", { 0, 0 } },
        { START CLEAR_LC "sans 0\n" SET_LC "sans 0\n" CLEAR_LC "sync 1\nsync 6\n", { 1, 1 } },
        { START CLEAR_LC "sans 0\n" SET_LC "sync 1\nsync 3\nsync 6\n", { 0, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(cases); i++) {
        struct chip c;

        chip_new(&c, "toy4", NULL);
        chip_program(&c, 0, 0, START SET_LC "sync 3\n" SSR(0) "sync 3\n" SSR(1) "sync 6\n");
        chip_program(&c, 1, 0, cases[i].voter);
        chip_stops(&c, MACHINE_HOST);
        assert_int_equal(gc(&c, 0, 0), cases[i].gc[0]);
        assert_int_equal(gc(&c, 0, 1), cases[i].gc[1]);
        chip_free(&c);
    }
}

/* --- runs that cannot go on --- */

static void test_deadlock(void **state)
{
    static const struct {
        const char *program[2]; /* of tiles 1 and 3 */
        unsigned group;         /* of tile 3 */
        const char *message;
    } cases[] = {
        { { START "sync 3\n", START "sync 4\n" },
          0,
          "deadlock: tile 1 (group 0) waits for a sync of the group since cycle 1, missing there: "
          "3; "
          "tile 3 (group 0) waits for a sync of the chip since cycle 1, missing there: 1" },
        { { START BUSY(2) "sync 12\n", START "sync 13\n" },
          1,
          "waits for a sync of the chip since cycle 20, missing there: 3; tile 3 (group 1) waits "
          "for "
          "a sync of all chips since cycle 1, missing there: 1" },
        { { START "sync 5\n", START "sync 6\n" },
          0,
          "waits for a sync of all chips since cycle 1, missing there: 3; tile 3 (group 0) waits "
          "for "
          "a sync with the host since cycle 1, missing there: 1" },
        { { START "sync 6\n", START "sync 3\nsync 3\nsync 4\n" },
          9,
          "deadlock: tile 3 (group 9) waits for a sync of the chip since cycle 241, missing there: "
          "1; tile 1 (group 0) waits for a sync with the host since cycle 1, missing there: 3" },
        { { START "sans 0\nsync 1\n", START "sync 6\n" },
          0,
          "deadlock: tile 1 (group 0) waits for the syncs voted ahead (ANS) since cycle 2, missing "
          "there: 3; tile 3 (group 0) waits for a sync with the host since cycle 1, missing there: "
          "1" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(cases); i++) {
        struct chip c;

        chip_new(&c, "toy4", NULL);
        assert_int_equal(c.arch.sync_chip_cycles, 120);
        chip_program(&c, 1, 0, cases[i].program[0]);
        chip_program(&c, 3, cases[i].group, cases[i].program[1]);
        chip_stops(&c, MACHINE_DEADLOCK);
        if (!strstr(ss_error(), cases[i].message))
            fail_msg("'%s' instead of '%s'", ss_error(), cases[i].message);
        chip_free(&c);
    }
}

/* Runs two tiles of a toy into a fault of the second one. */
static void check_fault(const char *first, const char *second, uint64_t superstep,
                        const char *detail, struct chip *c)
{
    struct machine_fault f;

    chip_new(c, "toy4", NULL);
    chip_program(c, 0, 0, first);
    chip_program(c, 2, 0, second);
    assert_int_equal(machine_run(c->m, UINT64_MAX), MACHINE_FAULT);
    f = machine_fault(c->m);
    assert_int_equal(f.tile, 2);
    assert_int_equal(f.superstep, superstep);
    assert_ptr_equal(f.fault, &machine_tile(c->m, 2)->fault);
    assert_int_equal(f.fault->kind, FAULT_EXERR);
    assert_int_equal(f.fault->lane, SUPER);
    if (detail && !strstr(f.fault->detail, detail))
        fail_msg("'%s' instead of '%s'", f.fault->detail, detail);
}

/* On a toy a word takes 10 events. Tile 0 sends two words at events 0 and 1. */
#define SEND_TWO       "send 1, BASE + 0x3100, 1\n"
#define LISTEN         "delaypic 0, 0, (BASE + 0x3200) / 4\ndelayxpic 9, 0, 0\n"
#define LISTEN_NO_MORE "delayxpic 1, 0, 1600\n"

/* A missing RECV is found at the next release, in the superstep that begins there. */
static void test_exchange_without_recv(void **state)
{
    static const struct {
        const char *first, *second;
        uint64_t superstep; /* of the group */
        enum exchange_fault_kind kind;
    } cases[] = {
        { START "sync 4\n" SEND_TWO "sync 0\nsync 4\nsync 6\n",
          START "sync 4\n" LISTEN LISTEN_NO_MORE "sync 4\nsync 6\n", .superstep = 2,
          .kind = EXCHANGE_FAULT_MISSING_RECV },
        { START "sync 4\n" SEND_TWO "sync 0\nsync 4\nsync 6\n",
          START "sync 4\n" LISTEN "sync 4\nsync 6\n", .superstep = 1,
          .kind = EXCHANGE_FAULT_MUX_LEFT_ON },
        { START "sync 4\n" SEND_TWO "sync 0\nsync 4\nsync 6\n",
          START "sync 4\n" LISTEN "sync 0\nsync 4\nsync 6\n", .superstep = 1,
          .kind = EXCHANGE_FAULT_MUX_LEFT_ON },
        { START "sync 4\nsync 4\nsync 4\nsync 6\n",
          START "sync 4\nsync 4\n" SEND_TWO "sync 4\nsync 6\n", .superstep = 3,
          .kind = EXCHANGE_FAULT_MISSING_RECV },
        /* and at the last host sync, after which nothing begins */
        { START "sync 4\nsync 6\n", START "sync 4\n" SEND_TWO "sync 6\n", .superstep = 1,
          .kind = EXCHANGE_FAULT_MISSING_RECV },
        { START "sync 4\nsync 6\n", START "sync 4\nsync 0\n" SEND_TWO "sync 6\n", .superstep = 1,
          .kind = EXCHANGE_FAULT_OUTSIDE_PHASE },
        { START "sync 4\nsync 6\n", START "sync 4\n" LISTEN LISTEN_NO_MORE "sync 0\nsync 6\n",
          .superstep = 1, .kind = EXCHANGE_FAULT_SILENT },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(cases); i++) {
        struct chip c;

        check_fault(cases[i].first, cases[i].second, cases[i].superstep, NULL, &c);
        assert_non_null(machine_fault(c.m).exchange);
        if (machine_fault(c.m).exchange->kind != cases[i].kind)
            fail_msg("case %zu: %s", i, exchange_fault_name(machine_fault(c.m).exchange->kind));
        assert_int_equal(machine_fault(c.m).exchange->tile, 2);
        chip_free(&c);
    }
}

static void test_workers_must_be_idle(void **state)
{
    static const unsigned zones[] = { 0, 1, 3, 4, 5, 6, 7, 12, 13, 14, 15 };
    struct chip c;
    char text[256];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(zones); i++) {
        snprintf(text, sizeof(text),
                 START "setzi $m3, work\nrun $m3, $mzero, 0\nsync %u\nsync 6\n"
                       ".worker\nwork: setzi $m0, 100\n1: brnzdec $m0, 1b\nexitz $mzero\n",
                 zones[i]);
        check_fault(START "sync 6\n", text, 0, "workers must be idle", &c);
        chip_free(&c);
    }
}

static void test_reserved_zones(void **state)
{
    static const unsigned zones[] = { 8, 9, 10, 11 };
    struct chip c;
    char text[64];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(zones); i++) {
        snprintf(text, sizeof(text), START "sync %u\nsync 6\n", zones[i]);
        check_fault(START "sync 6\n", text, 0, "reserved sync zone", &c);
        chip_free(&c);
    }
}

/* Of several faulting tiles the lowest counts, whichever came first and on however many threads. */
static void test_lowest_tile_counts(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct machine_options o = { .threads = threads };
        struct chip c;

        chip_new(&c, "toy16", &o);
        chip_program(&c, 3, 0, START "sync 3\nsync 6\n");
        for (uint32_t i = 4; i < 16; i++)
            chip_program(&c, i, 1,
                         i == 4 ? START "sync 3\n" BUSY(1000) "trap 15\n"
                                : START "sync 3\n" BUSY(2) "trap 0\n");
        assert_int_equal(machine_run(c.m, UINT64_MAX), MACHINE_FAULT);
        assert_int_equal(machine_fault(c.m).tile, 4);
        assert_int_equal(machine_fault(c.m).superstep, 1);
        assert_int_equal(machine_fault(c.m).fault->kind, FAULT_PBRK1);
        assert_null(machine_fault(c.m).exchange);
        chip_free(&c);
    }
}

/* --- the host sync --- */

static void test_host_answers(void **state)
{
    uint64_t clock = START_CYCLES + busy(20);
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, START "2: sync 6\n" CLOCK(0) "bri 2b\n");
    chip_program(&c, 1, 5, START BUSY(20) "2: sync 14\n" CLOCK(0) BUSY(3) "bri 2b\n");
    for (unsigned k = 0; k < 5; k++) {
        chip_stops(&c, MACHINE_HOST);
        assert_int_equal(machine_cycles(c.m), clock);
        chip_stops(&c, MACHINE_HOST); /* nobody answered: nothing moves */
        assert_int_equal(machine_cycles(c.m), clock);
        assert_int_equal(machine_supersteps(c.m, 5), k);
        machine_release_host(c.m);
        assert_int_equal(machine_supersteps(c.m, 5), k + 1);
        clock += arch_sync_host_cycles(&c.arch);
        chip_stops(&c, MACHINE_HOST);
        assert_int_equal(note(&c, 0, 0), clock);
        assert_int_equal(note(&c, 1, 0), clock);
        clock += NOTE_CYCLES + busy(3) + arch_sup_branch_cycles(&c.arch);
    }
    assert_int_equal(machine_finish(c.m), EMU_OK);
    assert_int_equal(machine_supersteps(c.m, 5), 6);
    assert_int_equal(record_count(c.record), 12);
    chip_free(&c);
}

/* The host may answer after machine_finish(), too: every superstep is recorded once. */
static void test_host_answers_late(void **state)
{
    uint64_t clock = START_CYCLES;
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, START "2: sync 6\n" CLOCK(0) BUSY(3) "bri 2b\n");
    for (unsigned k = 0; k < 3; k++) {
        chip_stops(&c, MACHINE_HOST);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(machine_finish(c.m), EMU_OK);
            assert_int_equal(machine_supersteps(c.m, 0), k + 1);
            assert_int_equal(record_count(c.record), k + 1);
        }
        assert_int_equal(record_at(c.record, k)->index, k);
        assert_int_equal(record_at(c.record, k)->end, clock);
        machine_release_host(c.m);
        assert_int_equal(machine_supersteps(c.m, 0), k + 1);
        clock += arch_sync_host_cycles(&c.arch) + NOTE_CYCLES + busy(3) +
                 arch_sup_branch_cycles(&c.arch);
    }
    chip_free(&c);
}

/* --- the record --- */

/* A tile arrives where its compute ends; want of a tile that voted says when it did that. */
static void check_step(const struct chip *c, size_t i, uint32_t tile, struct tile_step want)
{
    struct tile_step got = record_tile(c->record, i, tile);

    if (!want.arrival_cycles)
        want.arrival_cycles = want.exchange_cycles + want.compute_cycles;
    if (memcmp(&got, &want, sizeof(got)))
        fail_msg("superstep %zu, tile %u: exchange %u compute %u wait %u in %u out %u, not %u %u "
                 "%u %u %u",
                 i, tile, got.exchange_cycles, got.compute_cycles, got.wait_cycles, got.words_in,
                 got.words_out, want.exchange_cycles, want.compute_cycles, want.wait_cycles,
                 want.words_in, want.words_out);
}

/* All supersteps of group 0, of two tiles; want says when each ends and what its sync takes. Each
 * begins where the one before ends. */
static void check_supersteps(const struct chip *c, const struct record_step *want, size_t n)
{
    assert_int_equal(record_count(c->record), n);
    for (size_t i = 0; i < n; i++) {
        const struct record_step *got = record_at(c->record, i);

        assert_int_equal(got->group, 0);
        assert_int_equal(got->index, i);
        assert_int_equal(got->release, i ? want[i - 1].end : 0);
        assert_int_equal(got->end, want[i].end);
        assert_int_equal(got->tiles, 2);
        assert_int_equal(got->sync_cycles, want[i].sync_cycles);
        assert_int_equal(got->host_cycles, 0);
    }
}

/* Tile 1 votes for two syncs and computes on beyond the second of them: each superstep has its part
 * of that, and the vote does not delay what the others do. */
static void test_record_of_votes(void **state)
{
    uint32_t sync = ss_arch_preset("toy4")->sync_chip_cycles;
    uint32_t first = (uint32_t)(START_CYCLES + busy(50)) + sync;
    uint32_t second = (uint32_t)busy(60) + sync, last = (uint32_t)(START_CYCLES + busy(500)) + 1;
    uint64_t join = last + 1 + sync;
    const struct record_step steps[] = { { .end = first, .sync_cycles = sync },
                                         { .end = first + second, .sync_cycles = sync },
                                         { .end = join, .sync_cycles = sync },
                                         { .end = join } };
    struct chip c;
    struct bill b;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, START BUSY(50) "sync 3\n" BUSY(60) "sync 3\nsync 4\nsync 6\n");
    chip_program(&c, 1, 0, START "sans 1\n" BUSY(500) "sync 1\nsync 4\nsync 6\n");
    chip_stops(&c, MACHINE_HOST);
    assert_int_equal(machine_finish(c.m), EMU_OK);
    check_supersteps(&c, steps, EMU_COUNT_OF(steps));
    check_step(&c, 0, 1,
               (struct tile_step){ .compute_cycles = first, .arrival_cycles = START_CYCLES });
    assert_int_equal(record_tile(c.record, 1, 1).compute_cycles, second);
    assert_int_equal(record_tile(c.record, 1, 1).arrival_cycles, 0);
    check_step(&c, 2, 1,
               (struct tile_step){ .compute_cycles = (uint32_t)(join - sync - first - second),
                                   .wait_cycles = sync });
    b = ss_bill_of_step(c.record, 1);
    assert_int_equal(b.compute, busy(60));
    assert_int_equal(b.imbalance, 0); /* on the mean the tiles computed longer than tile 0 */
    b = ss_bill_of_step(c.record, 2);
    assert_int_equal(b.compute, join - sync - first - second);
    assert_int_equal(b.imbalance, b.compute - b.compute / 2);
    chip_free(&c);
}

/* Two runs: what the host takes between them is in the bill, too. Tile 1 is alone in its group and
 * waits for tile 0. */
static void test_record_of_two_runs(void **state)
{
    struct chip c;
    struct bill b;
    char text[200];

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0, START "2: " BUSY(20) "sync 4\nsync 6\nbri 2b\n");
    chip_program(&c, 1, 1, START "2: sync 4\nsync 6\nbri 2b\n");
    chip_stops(&c, MACHINE_HOST);
    assert_int_equal(machine_finish(c.m), EMU_OK);
    machine_release_host(c.m);
    chip_stops(&c, MACHINE_HOST);
    assert_int_equal(machine_finish(c.m), EMU_OK);
    assert_int_equal(record_count(c.record), 8);
    if (!bill_check(c.record, machine_cycles(c.m), text, sizeof(text)))
        fail_msg("%s", text);
    b = ss_bill_of_group(c.record, 0);
    assert_int_equal(b.host, arch_sync_host_cycles(&c.arch));
    assert_int_equal(b.wait, 0);
    assert_int_equal(b.sync, 2 * c.arch.sync_chip_cycles);
    b = ss_bill_of_group(c.record, 1);
    assert_int_equal(b.wait, 2 * busy(20));
    assert_int_equal(b.exchange, 0);
    chip_free(&c);
}

/* Two words from tile 0 to tile 2, then some work. Events of tile 0: send 0, 1; RECV 2, over at 3.
 * Events of tile 2: delaypic 0, delayxpic 1..10, delayxpic 11, 12; RECV 13, over at 14. */
static void test_record(void **state)
{
    uint32_t sync = ss_arch_preset("toy4")->sync_chip_cycles;
    uint32_t busy10 = (uint32_t)busy(10), busy20 = (uint32_t)busy(20), last = (uint32_t)busy(1);
    uint64_t first = START_CYCLES + busy20 + sync, second = first + 3 + busy10 + sync;
    const struct record_step steps[] = { { .end = first, .sync_cycles = sync },
                                         { .end = second, .sync_cycles = sync },
                                         { .end = second + last } };
    const struct {
        size_t superstep;
        uint32_t tile;
        struct tile_step want;
    } tiles[] = {
        { 0, 0, { .compute_cycles = 1, .wait_cycles = busy20 + sync } },
        { 0, 2, { .compute_cycles = 1 + busy20, .wait_cycles = sync } },
        { 1,
          0,
          { .exchange_cycles = 3, .compute_cycles = busy10, .wait_cycles = sync, .words_out = 2 } },
        { 1, 2, { .exchange_cycles = 14, .wait_cycles = busy10 - 11 + sync, .words_in = 2 } },
        { 2, 0, { .compute_cycles = last } },
        { 2, 2, { .wait_cycles = last } },
    };
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 0, 0,
                 START "sync 4\n" SEND_TWO "sync 0\n" BUSY(10) "sync 4\n" BUSY(1) "sync 6\n");
    chip_program(&c, 2, 0,
                 START BUSY(20) "sync 4\n" LISTEN LISTEN_NO_MORE "sync 0\nsync 4\n"
                                "sync 6\n");
    chip_stops(&c, MACHINE_HOST);
    assert_int_equal(record_count(c.record), 2);
    assert_int_equal(machine_finish(c.m), EMU_OK);
    check_supersteps(&c, steps, EMU_COUNT_OF(steps));
    for (size_t i = 0; i < EMU_COUNT_OF(tiles); i++)
        check_step(&c, tiles[i].superstep, tiles[i].tile, tiles[i].want);
    for (size_t i = 0; i < 3; i++) {
        check_step(&c, i, 1, (struct tile_step){ 0 });
        check_step(&c, i, 3, (struct tile_step){ 0 });
    }
    chip_free(&c);
}

/* --- digests --- */

enum { PAGE = 4096 };

/* docs/machine.md 12, written once more. */
static struct hash128 hash_of_tile(const struct chip *c, const uint8_t *mem)
{
    struct hash128 page[64];
    uint32_t n = 0;

    for (uint32_t at = 0; at < c->arch.mem_bytes; at += PAGE)
        page[n++] =
            hash128(mem + at, c->arch.mem_bytes - at < PAGE ? c->arch.mem_bytes - at : PAGE);
    assert_true(n <= EMU_COUNT_OF(page));
    return hash128(page, n * sizeof(page[0]));
}

static struct hash128 hash_of_tiles(struct chip *c, uint32_t from, uint32_t to)
{
    struct hash128 tile[16];

    assert_true(to - from <= EMU_COUNT_OF(tile));
    for (uint32_t i = from; i < to; i++)
        tile[i - from] = hash_of_tile(c, machine_tile(c->m, i)->mem);
    return hash128(tile, (to - from) * sizeof(tile[0]));
}

static const char *next_line(const char *p)
{
    p = strchr(p, '\n');
    assert_non_null(p);
    return p + 1;
}

static void check_line(const char **p, const char *start, struct hash128 h)
{
    char want[128], digits[33];

    hash128_text(h, digits);
    snprintf(want, sizeof(want), "%s %s\n", start, digits);
    if (strncmp(*p, want, strlen(want)))
        fail_msg("'%.60s' instead of '%s'", *p, want);
    *p = next_line(*p);
}

static void test_digests(void **state)
{
    static const char text[] = START "sync 3\n" CLOCK(0) "sync 4\n" CLOCK(1) "sync 6\n";
    struct hash128 after[2];
    const char *p;
    char start[64];
    struct chip c;

    (void)state;
    chip_new(&c, "toy4", NULL);
    chip_program(&c, 1, 0, text);
    chip_program(&c, 2, 0, text);
    /* the first sync costs 120 cycles, the second comes 7 later */
    assert_int_equal(machine_run(c.m, 100), MACHINE_LIMIT);
    after[0] = hash_of_tiles(&c, 1, 3);
    chip_stops(&c, MACHINE_HOST);
    after[1] = hash_of_tiles(&c, 1, 3);
    assert_int_equal(machine_finish(c.m), EMU_OK);
    assert_true(hash128_equal(machine_digest(c.m), hash_of_tiles(&c, 0, 4)));
    assert_false(hash128_equal(after[0], after[1]));
    fflush(c.file);
    p = next_line(next_line(c.lines));
    check_line(&p, "step 0 0 121", after[0]);
    assert_memory_equal(p, "step 0 1 248 ", 13); /* its memory is gone by now */
    p = next_line(p);
    assert_memory_equal(p, "tile 1 ", 7);
    p = next_line(p);
    assert_memory_equal(p, "tile 2 ", 7);
    p = next_line(p);
    check_line(&p, "step 0 2 255", after[1]);
    for (uint32_t i = 1; i < 3; i++) {
        snprintf(start, sizeof(start), "tile %u", i);
        check_line(&p, start, hash_of_tile(&c, machine_tile(c.m, i)->mem));
    }
    assert_string_equal(p, "");
    chip_free(&c);
}

/* The same with the last page cut short, and without digest lines. */
static void test_digest_of_a_short_page(void **state)
{
    struct arch a = *ss_arch_preset("toy4");
    const struct machine_options o = { .threads = 1 };
    struct chip c = { .arch = a };
    static const uint8_t last = 7;

    (void)state;
    assert_int_equal(ss_arch_set(&c.arch, "mem_bytes=65544"), EMU_OK);
    assert_int_equal(machine_new(&c.arch, &o, &c.m), EMU_OK);
    assert_true(hash128_equal(machine_digest(c.m), hash_of_tiles(&c, 0, 4)));
    assert_true(tile_write(machine_tile(c.m, 3), c.arch.mem_base + 65543, &last, 1));
    assert_true(hash128_equal(machine_digest(c.m), hash_of_tiles(&c, 0, 4)));
    machine_free(c.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_cycle),
        cmocka_unit_test(test_groups_have_their_own_clocks),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_consensus),
        cmocka_unit_test(test_consensus_of_workers),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_votes_left_in_a_wider_sync),
        cmocka_unit_test(test_ans_without_votes),
        cmocka_unit_test(test_votes_and_consensus),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_exchange_without_recv),
        cmocka_unit_test(test_workers_must_be_idle),
        cmocka_unit_test(test_reserved_zones),
        cmocka_unit_test(test_lowest_tile_counts),
        cmocka_unit_test(test_host_answers),
        cmocka_unit_test(test_host_answers_late),
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_record_of_votes),
        cmocka_unit_test(test_record_of_two_runs),
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_digest_of_a_short_page),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
