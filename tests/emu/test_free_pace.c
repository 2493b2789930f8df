/* test_free_pace.c - workers of a site, each run to its end by itself (round_run_freely()), against
 * the same workers round by round, by the fast functions or plainly: equal registers, memory,
 * counters and cycles, $COUNT included.
 *
 * The programs are random: workers part and meet, turn loops and repeat bodies as often as their
 * numbers say, store to memory of their own, and leave when they like.
 */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

enum { PROGRAMS = 100, PIECES = 24, TEXT_BYTES = 1 << 14, OWN_BYTES = 1024 };

struct program {
    char text[TEXT_BYTES];
    size_t length;
    unsigned labels, stores;
    uint64_t random;
};

EMU_PRINTF(2, 3)
static void write_text(struct program *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    p->length += (size_t)vsnprintf(p->text + p->length, TEXT_BYTES - p->length, fmt, ap);
    va_end(ap);
    assert_true(p->length < TEXT_BYTES);
}

static unsigned draw(struct program *p, uint32_t below)
{
    return random_below(&p->random, below);
}

/* $m4 = a number of the worker, at most `most`, which is one less than a power of two. */
static void write_number(struct program *p, unsigned most)
{
    write_text(p, "mul $m4, $m0, %u\n add $m4, $m4, %u\n and $m4, $m4, %u\n", draw(p, 16),
               draw(p, 16), most);
}

static void write_step(struct program *p)
{
    switch (draw(p, 4)) {
    case 0:
        write_text(p, "add $m3, $m3, %u\n", draw(p, 1000));
        break;
    case 1:
        write_text(p, "st32 $m3, $m2, $mzero, %u\n", p->stores++ % (OWN_BYTES / 4));
        break;
    case 2:
        write_text(p, "get $m5, $COUNT_L\n xor $m3, $m3, $m5\n");
        break;
    default:
        write_text(p, "ld32 $m5, $m2, $mzero, %u\n add $m3, $m3, $m5\n", draw(p, OWN_BYTES / 4));
    }
}

static void write_loop(struct program *p)
{
    unsigned label = p->labels++;

    write_number(p, 7);
    write_text(p, "l%u:\n", label);
    write_step(p);
    write_step(p);
    write_text(p, "brnzdec $m4, l%u\n", label);
}

static void write_body(struct program *p)
{
    write_number(p, 7);
    write_text(p, ".align 8\n nop\n rpt $m4, 1\n");
    write_text(p, "{ add $m3, $m3, %u; f32v2add $a0:1, $a0:1, $a2:3 }\n", draw(p, 1000));
    write_text(p, "{ mul $m3, $m3, %u; f32v2add $a2:3, $a0:1, $a2:3 }\n", 1 + 2 * draw(p, 50));
}

static void write_ways(struct program *p, int two)
{
    unsigned label = p->labels;

    p->labels += 2;
    write_number(p, draw(p, 2) ? 1 : 3);
    write_text(p, "brz $m4, l%u\n", label);
    write_step(p);
    write_loop(p);
    if (two)
        write_text(p, "bri l%u\n", label + 1);
    write_text(p, "l%u:\n", label);
    write_step(p);
    write_text(p, "l%u:\n", label + 1);
}

static void write_leave(struct program *p)
{
    unsigned label = p->labels++;

    write_number(p, 7);
    write_text(p, "brnz $m4, l%u\n exitz $m3\n l%u:\n", label, label);
}

/* A load from an address that is aligned for some workers only. */
static void write_fault(struct program *p)
{
    write_number(p, 3);
    write_text(p, "shr $m4, $m4, 1\n ld32 $m5, $m2, $m4, 0\n");
}

/* Between launch and sync the supervisor does what `between` says. */
static void write_program(struct program *p, const char *between, int faults)
{
    unsigned fault_at = faults ? draw(p, PIECES) : PIECES;

    write_text(p,
               "start: setzi $m1, w\n setzi $m7, 3\n site: runall $m1, $mzero, 0\n %s sync 2\n"
               "stop: nop\n w: get $m0, $WSR\n and $m0, $m0, 7\n setzi $m2, data\n"
               "mul $m4, $m0, %d\n add $m2, $m2, $m4\n",
               between, OWN_BYTES);
    for (unsigned i = 0; i < PIECES; i++) {
        unsigned kind = draw(p, 10);

        if (i == fault_at)
            write_fault(p);
        if (kind < 4)
            write_step(p);
        else if (kind < 6)
            write_loop(p);
        else if (kind < 8)
            write_ways(p, kind == 7);
        else if (kind < 9 || i < PIECES / 2)
            write_body(p);
        else
            write_leave(p);
    }
    write_text(p, "exitz $mzero\n .align 8\n data: .zero %d\n", 6 * OWN_BYTES);
}

static void expect_equal(const struct tile_fixture *x, const struct tile_fixture *y,
                         const char *text)
{
    const struct tile *a = x->tile, *b = y->tile;

    if (a->fault.kind != b->fault.kind || a->fault.cycle != b->fault.cycle ||
        (!a->fault.kind && x->barrel.cycle != y->barrel.cycle))
        print_error("%s", text);
    assert_int_equal(a->fault.kind, b->fault.kind);
    assert_int_equal(a->fault.cycle, b->fault.cycle);
    assert_int_equal(a->fault.lane, b->fault.lane);
    assert_int_equal(a->fault.pc, b->fault.pc);
    if (a->fault.kind) /* beyond that, workers are in different places */
        return;
    assert_int_equal(x->barrel.cycle, y->barrel.cycle);
    assert_int_equal(x->barrel.exit_seen, y->barrel.exit_seen);
    assert_memory_equal(x->barrel.freed, y->barrel.freed, sizeof(x->barrel.freed));
    assert_memory_equal(x->barrel.issued, y->barrel.issued, sizeof(x->barrel.issued));
    assert_memory_equal(x->barrel.instructions, y->barrel.instructions,
                        sizeof(x->barrel.instructions));
    assert_memory_equal(a->m, b->m, sizeof(a->m));
    assert_memory_equal(a->a, b->a, sizeof(a->a));
    assert_memory_equal(a->mem, b->mem, a->mem_bytes);
    assert_int_equal(a->ssr, b->ssr);
}

/* Runs to the end in turns of so many cycles; 0: in one go. */
static enum barrel_stop run_in_turns(struct tile_fixture *f, uint64_t cycles)
{
    enum barrel_stop stop = BARREL_LIMIT;

    if (!cycles)
        return tile_fixture_run(f);
    for (f->barrel.turn = cycles; stop == BARREL_LIMIT; f->barrel.turn += cycles)
        stop = barrel_run(&f->barrel, f->tile, tile_fixture_symbol(f, "stop"), f->barrel.turn);
    return stop;
}

/* Returns how many runs faulted. */
static unsigned compare_turns(const char *between, int faults, uint64_t seed, uint64_t turn)
{
    unsigned faulted = 0;

    for (unsigned n = 0; n < PROGRAMS; n++) {
        struct program p = { .random = seed + n };
        struct tile_fixture *free_pace, *rounds;
        enum barrel_stop stop;
        uint32_t site;

        write_program(&p, between, faults);
        free_pace = tile_fixture_new("mk2", p.text);
        rounds = tile_fixture_new("mk2", p.text);
        tile_fixture_reset(rounds, &(struct barrel_options){ .plain = n % 2 });
        site = tile_fixture_symbol(free_pace, "site");
        free_pace->barrel.site = &site;
        free_pace->barrel.sites = 1;
        free_pace->barrel.undisturbed = UINT64_MAX;
        stop = run_in_turns(free_pace, turn);
        assert_int_equal(stop, tile_fixture_run(rounds));
        expect_equal(free_pace, rounds, p.text);
        faulted += stop == BARREL_FAULT;
        tile_fixture_free(free_pace);
        tile_fixture_free(rounds);
    }
    return faulted;
}

static unsigned compare(const char *between, int faults, uint64_t seed)
{
    return compare_turns(between, faults, seed, 0);
}

static void workers_end_where_they_would(void **state)
{
    (void)state;
    assert_int_equal(compare("", 0, 1), 0);
    assert_int_equal(compare("setzi $m3, 5\n brneg $m3, stop\n nop\n", 0, 1000), 0);
    assert_int_equal(compare("s: brnzdec $m7, s\n setzi $m7, 1\n", 0, 2000), 0);
}

/* It may not go ahead of workers whose memory it reads, or which it counts cycles with. */
static void supervisor_may_do_more(void **state)
{
    (void)state;
    assert_int_equal(compare("setzi $m3, data\n ld32 $m4, $m3, $mzero, 1\n", 0, 3000), 0);
    assert_int_equal(compare("get $m4, $SCOUNT_L\n", 0, 4000), 0);
}

/* Stopped in the middle of it, each worker at its own place, and let go on. */
static void turns_change_nothing(void **state)
{
    (void)state;
    assert_int_equal(compare_turns("", 0, 6000, 50), 0);
    assert_int_equal(compare_turns("", 0, 7000, 700), 0);
}

static void first_fault_is_found(void **state)
{
    unsigned faulted;

    (void)state;
    faulted = compare("", 1, 5000);
    assert_true(faulted > PROGRAMS / 4 && faulted < PROGRAMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_end_where_they_would),
        cmocka_unit_test(supervisor_may_do_more),
        cmocka_unit_test(turns_change_nothing),
        cmocka_unit_test(first_fault_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
