/* test_step.c - the stepper: a position is the same state however it was reached, stops are where
 * things happen, writers are who wrote, and no line breaks it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine_state.h"
#include "emu/job/manifest.h"
#include "emu/job/run_in_memory.h"
#include "emu/step/step_shell.h"

/* ---- runs ---- */

struct bench {
    struct manifest *m;
    struct image *im;
    struct run *run;
    struct stepper *s;
};

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

static void open_run(struct bench *b, const char *path, const char *text, unsigned threads)
{
    const struct manifest_options mo = { 0 };
    const struct run_options o = { .threads = threads, .max_cycles = UINT64_MAX / 2 };

    must(text ? ss_manifest_read_text(text, strlen(text), path, &mo, &b->m)
              : ss_manifest_read(path, &mo, &b->m));
    must(ss_manifest_build(b->m, 1, stderr, &b->im));
    must(ss_run_new(b->im, &o, &b->run));
    must(run_manifest_streams_in_memory(b->run, b->m));
}

static void open_stepper(struct bench *b, const char *path, const char *text, size_t bytes)
{
    const struct stepper_options o = { .history_bytes = bytes };

    open_run(b, path, text, 1);
    must(stepper_new(b->run, &o, &b->s));
}

static void close_bench(struct bench *b)
{
    stepper_free(b->s);
    ss_run_free(b->run);
    ss_image_free(b->im);
    ss_manifest_free(b->m);
}

static struct hash128 digest(const struct bench *b)
{
    return b->s ? stepper_digest(b->s) : machine_digest(b->run->machine);
}

static struct stepper_stop go(struct bench *b, struct goal g)
{
    struct stepper_stop stop;

    must(stepper_go(b->s, &g, &stop));
    return stop;
}

/* All registers of the tiles, and where they are. */
static uint64_t registers(const struct bench *b)
{
    uint64_t h = 0;

    for (uint32_t i = 0; i < ss_image_arch(b->im)->tiles; i++) {
        const struct tile *t = machine_tile(b->run->machine, i);
        struct machine_place p = machine_place(b->run->machine, i);
        uint64_t part[6] = { h,
                             hash64(t->m, sizeof(t->m)),
                             hash64(t->a, sizeof(t->a)),
                             hash64(t->pc, sizeof(t->pc)),
                             p.clock,
                             p.arrived };

        h = hash64(part, sizeof(part));
    }
    return h;
}

static const char *const programs[] = { "programs/lab/ring.bsp.json",
                                        "programs/lab/allreduce.bsp.json",
                                        "programs/lab/stream.bsp.json",
                                        "programs/lab/overlap.bsp.json" };

/* What the plain run comes to. */
static struct hash128 plain_end(const char *path, uint64_t *cycles)
{
    struct bench b = { .s = NULL };
    struct hash128 d;

    open_run(&b, path, NULL, 1);
    must(ss_run_execute(b.run));
    assert_int_equal(b.run->stop, MACHINE_HOST);
    *cycles = machine_cycles(b.run->machine);
    d = digest(&b);
    close_bench(&b);
    return d;
}

/* ---- positions ---- */

/* The last word of the line that --digests writes for a superstep of group 0. */
static void plain_roots(const char *path, char root[][33], unsigned most, unsigned *count)
{
    struct bench b = { .s = NULL };
    const struct manifest_options mo = { 0 };
    char *text = NULL, *line, *rest = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    const struct run_options o = { .threads = 1, .max_cycles = UINT64_MAX / 2, .digests = f };

    must(ss_manifest_read(path, &mo, &b.m));
    must(ss_manifest_build(b.m, 1, stderr, &b.im));
    must(ss_run_new(b.im, &o, &b.run));
    must(ss_run_execute(b.run));
    close_bench(&b);
    fclose(f);
    *count = 0;
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        unsigned group, superstep;
        unsigned long long cycle;
        char word[40];

        if (sscanf(line, "step %u %u %llu %32s", &group, &superstep, &cycle, word) != 4 || group ||
            superstep != *count || *count == most)
            continue;
        memcpy(root[(*count)++], word, 33);
    }
    free(text);
}

/* Beginnings of supersteps hold what the plain run has there; going back gives them again. */
static void supersteps_both_ways(void **state)
{
    enum { MOST = 64 };
    char root[MOST][33], text[33];
    unsigned count, k = 0;
    struct hash128 seen[MOST];
    uint64_t cycle[MOST], found[MOST];
    struct bench b = { .s = NULL };

    (void)state;
    plain_roots(programs[0], root, MOST, &count);
    assert_true(count >= 3);
    open_stepper(&b, programs[0], NULL, 1 << 24);
    for (;; k++) {
        struct stepper_stop stop;

        seen[k] = digest(&b);
        found[k] = registers(&b);
        cycle[k] = stepper_cycle(b.s);
        assert_int_equal(stepper_superstep(b.s), k);
        if (k) {
            hash128_text(seen[k], text);
            assert_string_equal(text, root[k - 1]);
        }
        stop = go(&b, (struct goal){ .kind = GOAL_SUPERSTEP, .number = k + 1 });
        if (stop.why == STOP_END)
            break;
    }
    assert_int_equal(k, count - 1);
    assert_int_equal(stepper_state(b.s), STEPPER_ENDED);
    while (k) {
        must(stepper_go_to(b.s, stepper_boundary_before(b.s, 1)));
        assert_int_equal(stepper_cycle(b.s), cycle[k]);
        assert_true(hash128_equal(digest(&b), seen[k]));
        assert_true(registers(&b) == found[k]);
        k--;
    }
    close_bench(&b);
}

static uint32_t next_random(uint32_t *x)
{
    *x = *x * 1664525 + 1013904223;
    return *x >> 8;
}

/* Any order of positions gives the same state at each, with any memory for the past, and the end is
 * that of the plain run. */
static void positions_in_any_order(const char *path, size_t bytes, uint32_t seed)
{
    enum { PLACES = 12, MOVES = 60 };
    uint64_t end, cycle[PLACES], found[PLACES];
    struct hash128 last = plain_end(path, &end), seen[PLACES];
    int known[PLACES] = { 0 };
    struct bench b = { .s = NULL };

    open_stepper(&b, path, NULL, bytes);
    for (unsigned k = 0; k < PLACES; k++)
        cycle[k] = k ? next_random(&seed) % (end + 20) : 0;
    for (unsigned i = 0; i < MOVES; i++) {
        unsigned k = next_random(&seed) % PLACES;

        must(stepper_go_to(b.s, cycle[k]));
        if (next_random(&seed) % 4 == 0 && stepper_state(b.s) == STEPPER_RUNS) {
            go(&b, (struct goal){ .kind = GOAL_ISSUE, .number = 1 + next_random(&seed) % 9 });
            must(stepper_go_to(b.s, cycle[k]));
        }
        if (known[k])
            assert_true(hash128_equal(digest(&b), seen[k]) && registers(&b) == found[k]);
        seen[k] = digest(&b);
        found[k] = registers(&b);
        known[k] = 1;
    }
    must(stepper_go_to(b.s, 0));
    assert_int_equal(go(&b, (struct goal){ .kind = GOAL_END }).why, STOP_END);
    assert_int_equal(stepper_state(b.s), STEPPER_ENDED);
    assert_int_equal(machine_cycles(b.run->machine), end);
    assert_int_equal(stepper_cycle(b.s), end + 1);
    assert_true(hash128_equal(digest(&b), last));
    close_bench(&b);
}

static void any_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(programs); i++) {
        positions_in_any_order(programs[i], 1 << 24, 7 + (uint32_t)i);
        positions_in_any_order(programs[i], 1, 77 + (uint32_t)i); /* hardly any past */
    }
}

/* ---- single issues ---- */

/* n issues of a context, then as many back. */
static void issues_both_ways(const char *path, uint32_t tile, uint64_t begin, unsigned n)
{
    struct bench b = { .s = NULL };
    struct hash128 seen;
    uint64_t found, cycle, count, back;
    unsigned lane = LANE_SUPER;

    open_stepper(&b, path, NULL, 1 << 24);
    stepper_choose(b.s, 0, tile, lane);
    must(stepper_go_to(b.s, begin));
    go(&b, (struct goal){ .kind = GOAL_ISSUE, .number = 1 });
    seen = digest(&b);
    found = registers(&b);
    cycle = stepper_cycle(b.s);
    count = machine_barrel(b.run->machine, tile)->issued[lane];
    for (unsigned i = 0; i < n; i++) {
        struct stepper_stop stop = go(&b, (struct goal){ .kind = GOAL_ISSUE, .number = 1 });

        assert_int_equal(stop.why, STOP_THERE);
        assert_int_equal(machine_barrel(b.run->machine, tile)->issued[lane], count + i + 1);
        assert_true(stop.issue.cycle < stepper_cycle(b.s));
    }
    must(stepper_back_issues(b.s, n, &back));
    assert_int_equal(back, n);
    assert_int_equal(machine_barrel(b.run->machine, tile)->issued[lane], count);
    must(stepper_go_to(b.s, cycle));
    assert_true(hash128_equal(digest(&b), seen));
    assert_true(registers(&b) == found);
    close_bench(&b);
}

static void issues(void **state)
{
    (void)state;
    issues_both_ways(programs[0], 3, 0, 40);
    issues_both_ways(programs[0], 0, 300, 15);
    issues_both_ways(programs[1], 5, 100, 30);
    issues_both_ways(programs[2], 13, 50, 10);
}

/* ---- stops ---- */

#define WORKERS                                                                                    \
    "{ \"machine\": \"toy4\", \"programs\": [ { \"tiles\": \"all\", \"asm\": \""                   \
    "#include <superstep/bsp.h>\\n.supervisor\\nmain: setzi $m1, work\\nsetzi $m2, cells\\n"       \
    "sync SYNC_CHIP\\nrunall $m1, $m2, 0\\nsync SYNC_LOCAL\\nsync SYNC_HOST\\n"                    \
    ".worker\\nwork: get $m0, $WSR\\nand $m0, $m0, 7\\nsetzi $m3, 42\\nadd $m3, $m3, $m0\\n"       \
    "shl $m0, $m0, 2\\nadd $m4, $m13, $m0\\nstore: st32 $m3, $m4, 0\\nexitz $mzero\\n\", "         \
    "\"memory\": [ { \"name\": \"cells\", \"bytes\": 32 } ] } ] }"

static uint32_t symbol(const struct bench *b, uint32_t tile, const char *name)
{
    const struct image_tile *t = image_find_tile(b->im, 0, tile);
    size_t n;
    const struct image_symbol *s = image_symbols_of(b->im, t->symbols, &n);

    for (size_t i = 0; i < n; i++) {
        if (!strcmp(image_text(b->im, s[i].name), name))
            return s[i].addr;
    }
    fail_msg("no symbol %s", name);
    return 0;
}

/* All workers stop before the store; each store is a write by its worker. */
static void breaks_and_writes(void **state)
{
    struct bench b = { .s = NULL };
    struct stepper_point p = { .tile = 2, .lane = POINT_ANY_LANE };
    struct stepper_stop stop;
    uint32_t cells, value = 0;

    (void)state;
    open_stepper(&b, "workers.bsp.json", WORKERS, 1 << 24);
    cells = symbol(&b, 2, "cells");
    p.addr = symbol(&b, 2, "store");
    assert_int_equal(stepper_add_point(b.s, &p), 1);
    stop = go(&b, (struct goal){ .kind = GOAL_END });
    assert_int_equal(stop.why, STOP_BREAK);
    assert_int_equal(stop.point, 1);
    assert_int_equal(stop.lanes, (1 << TILE_WORKERS) - 1);
    for (unsigned w = 0; w < TILE_WORKERS; w++)
        assert_int_equal(machine_tile(b.run->machine, 2)->pc[w], p.addr);
    assert_int_equal(stepper_delete_point(b.s, 1), 1);
    p = (struct stepper_point){ .is_watch = 1, .tile = 2, .addr = cells + 12, .bytes = 4 };
    assert_int_equal(stepper_add_point(b.s, &p), 2);
    stop = go(&b, (struct goal){ .kind = GOAL_END });
    assert_int_equal(stop.why, STOP_WATCH);
    assert_int_equal(stop.writer.kind, WRITER_CONTEXT);
    assert_int_equal(stop.writer.lane, 3);
    assert_int_equal(stop.writer.pc, symbol(&b, 2, "store"));
    assert_int_equal(stop.writer.addr, cells + 12);
    assert_true(tile_read(machine_tile(b.run->machine, 2), cells + 12, &value, 4));
    assert_int_equal(value, 45);
    assert_int_equal(go(&b, (struct goal){ .kind = GOAL_END }).why, STOP_END);
    close_bench(&b);
}

/* A word of the ring comes from the tile to the left, from where that tile had it. */
static void written_by_a_tile(void **state)
{
    struct bench b = { .s = NULL };
    struct stepper_point p = { .is_watch = 1, .tile = 5, .bytes = 4 };
    struct stepper_stop stop;
    struct memory_writer last;
    uint32_t value = 0;
    int found;

    (void)state;
    open_stepper(&b, programs[0], NULL, 1 << 24);
    p.addr = symbol(&b, 5, "there") + 8;
    stepper_add_point(b.s, &p);
    stop = go(&b, (struct goal){ .kind = GOAL_END });
    assert_int_equal(stop.why, STOP_WATCH);
    assert_int_equal(stop.writer.kind, WRITER_TILE);
    assert_int_equal(stop.writer.from, 4);
    assert_true(stop.writer.from_addr <= symbol(&b, 4, "here") + 8);
    assert_true(tile_read(machine_tile(b.run->machine, 5), p.addr, &value, 4));
    assert_int_equal(value, 402);
    stop = go(&b, (struct goal){ .kind = GOAL_END, .ignores_points = 1 });
    must(stepper_last_writer(b.s, 0, 5, symbol(&b, 5, "here") + 8, 4, &last, &found));
    assert_true(found);
    assert_int_equal(last.kind, WRITER_TILE);
    assert_int_equal(last.from, 4);
    must(stepper_last_writer(b.s, 0, 5, symbol(&b, 5, "smaller"), 4, &last, &found));
    assert_true(found);
    assert_int_equal(last.kind, WRITER_CONTEXT);
    assert_int_equal(last.lane, LANE_SUPER);
    must(stepper_last_writer(b.s, 0, 5, symbol(&b, 5, "main"), 4, &last, &found));
    assert_false(found);
    close_bench(&b);
}

static void written_by_the_host(void **state)
{
    struct bench b = { .s = NULL };
    struct stepper_point p = { .is_watch = 1, .tile = 12, .bytes = 4 };
    struct stepper_stop stop;
    uint32_t value = 1;

    (void)state;
    open_stepper(&b, programs[2], NULL, 1 << 24);
    p.addr = symbol(&b, 12, "block");
    stepper_add_point(b.s, &p);
    p.addr += 4; /* the first word is 0 */
    stop = go(&b, (struct goal){ .kind = GOAL_END });
    assert_int_equal(stop.why, STOP_WATCH);
    assert_int_equal(stop.writer.kind, WRITER_HOST);
    assert_true(tile_read(machine_tile(b.run->machine, 12), p.addr, &value, 4));
    assert_int_equal(value, 1);
    close_bench(&b);
}

static void faults(void **state)
{
    struct bench b = { .s = NULL };
    struct stepper_stop stop;
    uint64_t cycle;

    (void)state;
    open_stepper(&b, "programs/lab/mistake_recv.bsp.json", NULL, 1 << 24);
    stop = go(&b, (struct goal){ .kind = GOAL_END });
    assert_int_equal(stop.why, STOP_END);
    assert_int_equal(stepper_state(b.s), STEPPER_FAULTED);
    assert_int_equal(machine_fault(b.run->machine).tile, 1);
    cycle = stepper_cycle(b.s);
    must(stepper_go_to(b.s, cycle - 130));
    assert_int_equal(stepper_state(b.s), STEPPER_RUNS);
    assert_int_equal(go(&b, (struct goal){ .kind = GOAL_END }).why, STOP_END);
    assert_int_equal(stepper_cycle(b.s), cycle);
    close_bench(&b);
}

/* Phases follow each other: exchange, compute, sync, and the next superstep. */
static void phases(void **state)
{
    static const char *const order[] = { "compute", "sync", "exchange", "compute", "sync" };
    struct bench b = { .s = NULL };
    unsigned at = 0;

    (void)state;
    open_stepper(&b, programs[0], NULL, 1 << 24);
    for (unsigned i = 0; i < 12 && at < EMU_COUNT_OF(order); i++) {
        if (!strcmp(stepper_phase(b.s), order[at]))
            at++;
        go(&b, (struct goal){ .kind = GOAL_PHASE, .number = 1 });
    }
    assert_int_equal(at, EMU_COUNT_OF(order));
    close_bench(&b);
}

/* ---- lines ---- */

static const char *const words[] = {
    "superstep",
    "n",
    "p",
    "s",
    "c",
    "to",
    "back",
    "w",
    "tile",
    "r",
    "x",
    "d",
    "v",
    "e",
    "who",
    "break",
    "watch",
    "delete",
    "info",
    "table",
    "waits",
    "digest",
    "help",
    "history",
    "cycle",
    "pc",
    "layer",
    "begin",
    "end",
    "0",
    "1",
    "3",
    "99999999999999999999",
    "-1",
    "0x4c000",
    "here",
    "there@3",
    "here+4*3",
    "3:smaller",
    "$m2",
    "main",
    "@",
    "+",
    "*",
    "..",
    "0x4c000..0x4c010@1",
    "here..1",
    "w0",
    "w5",
    "s7",
    "hex",
    "f16",
    "f32",
    "u8",
    "all",
    "csr",
    "bundle",
    "\x80\xff",
    "%s%n",
    "#",
    "50000",
    "0xffffffff",
    "0x4c000*99999999",
    "here+4294967295",
    ":::",
    "5:",
};

static void hostile_lines(void **state)
{
    struct bench b = { .s = NULL };
    struct step_shell *shell;
    char *text = NULL, line[400];
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    uint32_t seed = 1;

    (void)state;
    open_stepper(&b, programs[0], NULL, 1 << 22);
    for (int json = 0; json < 2; json++) {
        must(step_shell_new(b.s, f, json, &shell));
        for (unsigned i = 0; i < 400; i++) {
            unsigned n = next_random(&seed) % 5;
            size_t at = 0;
            int quits;

            line[0] = 0;
            for (unsigned k = 0; k < n; k++)
                at += (size_t)snprintf(line + at, sizeof(line) - at, "%s ",
                                       words[next_random(&seed) % EMU_COUNT_OF(words)]);
            must(step_shell_do(shell, line, &quits));
            assert_false(quits);
        }
        assert_true(step_shell_wrong(shell) > 50);
        step_shell_free(shell);
    }
    fclose(f);
    free(text);
    close_bench(&b);
}

/* Every command has a beginning that means it, and help for it. */
static void every_command(void **state)
{
    struct bench b = { .s = NULL };
    struct step_shell *shell;
    char *text = NULL, line[80];
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    int quits;

    (void)state;
    open_stepper(&b, programs[0], NULL, 1 << 22);
    must(step_shell_new(b.s, f, 0, &shell));
    for (unsigned i = 0; step_command_name(i); i++) {
        snprintf(line, sizeof(line), "help %s", step_command_name(i));
        must(step_shell_do(shell, line, &quits));
        assert_int_equal(step_shell_wrong(shell), 0);
        assert_non_null(strstr(text, step_command_name(i)));
    }
    must(step_shell_do(shell, "quit", &quits));
    assert_true(quits);
    step_shell_free(shell);
    fclose(f);
    free(text);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(supersteps_both_ways),
        cmocka_unit_test(any_order),
        cmocka_unit_test(issues),
        cmocka_unit_test(breaks_and_writes),
        cmocka_unit_test(written_by_a_tile),
        cmocka_unit_test(written_by_the_host),
        cmocka_unit_test(faults),
        cmocka_unit_test(phases),
        cmocka_unit_test(hostile_lines),
        cmocka_unit_test(every_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
