/* bench_chip.c - a full chip of busy tiles: emulated instructions per second and core against one
 * tile alone, the gain of the second core, resident memory, and how long a chip with few busy tiles
 * takes to start.
 *
 * The host is noisy: one tile and the whole chip, one thread and two are measured in turns, medians
 * are printed, and rates are per second of CPU time. The gain of the second core can only be taken
 * from elapsed time, so two threads that share nothing stand beside it.
 */
#include <sys/resource.h>

#include "emu/bsp/machine.h"
#include "tests/fixtures/bench_rows.h"
#include "tests/fixtures/tile_fixture.h"

enum { TURNS = 9, BUSY = 16, ALONE = 100 /* times as long is the loop of the tile alone */ };

#define LAUNCH                                                                                     \
    "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n sync 6\n stop: nop\n.align 8\n"

static const char integer_loop[] =
    LAUNCH "w: ldconst $m0, 8000 * TIMES\n"
           "l: add $m1, $m1, 3\n xor $m2, $m1, $m2\n shl $m3, $m2, 5\n sub $m4, $m3, $m1\n"
           "and $m5, $m4, $m2\n or $m6, $m5, $m3\n mul $m7, $m6, $m4\n brnzdec $m0, l\n"
           "exitz $mzero\n";

/* y = a x + b, two f32 at a time: load, multiply; load, add. */
static const char f32_loop[] =
    LAUNCH "w: setzi $m0, TIMES\n setzi $m3, 8000\n"
           "l: ldconst $m2, 0x6c000\n rpt $m3, 1\n"
           "{ ld64step $a0:1, $mzero, $m2+=, 1; f32v2mul $a4:5, $a0:1, $a2:3 }\n"
           "{ ld64step $a2:3, $mzero, $m2+=, -1; f32v2add $a6:7, $a4:5, $a6:7 }\n"
           "brnzdec $m0, l\n exitz $mzero\n";

#define RATE "M instructions/s"
#define GAIN "x"

struct seconds {
    double elapsed, cpu;
};

static struct seconds now(void)
{
    return (struct seconds){ bench_seconds(CLOCK_MONOTONIC),
                             bench_seconds(CLOCK_PROCESS_CPUTIME_ID) };
}

static double resident_kib(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss;
}

static void load(struct machine *m, const struct tile_fixture *r, uint32_t tiles, uint32_t touch)
{
    for (uint32_t i = 0; i < tiles; i++) {
        for (size_t s = 0; s < r->image->section_count; s++)
            tile_write(machine_tile(m, i), r->image->section[s].addr, r->image->section[s].bytes,
                       r->image->section[s].size);
        for (uint32_t off = 4096; off < touch; off += 4096)
            tile_write(machine_tile(m, i), r->arch.mem_base + off, "x", 1);
        machine_use(m, i, tile_fixture_symbol(r, "start"), 0);
    }
}

/* A chip whose tiles run one of the loops, `times` times as long as the shortest. */
static struct tile_fixture *loop_rig(const char *loop, unsigned times)
{
    char text[1024];

    snprintf(text, sizeof(text), ".set TIMES, %u\n%s", times, loop);
    return tile_fixture_new("mk2", text);
}

/* Instructions per second of `tiles` busy tiles on `threads` threads. */
static struct seconds rate(const struct tile_fixture *r, uint32_t tiles, unsigned threads)
{
    struct machine_options o = { .threads = threads };
    uint64_t instructions = 0;
    struct seconds from, to;
    struct machine *m;

    tile_must(machine_new(&r->arch, &o, &m) == EMU_OK, "machine");
    load(m, r, tiles, 0);
    from = now();
    tile_must(machine_run(m, UINT64_MAX) == MACHINE_HOST, "run");
    to = now();
    for (uint32_t i = 0; i < tiles; i++) {
        for (unsigned lane = 0; lane < TILE_LANES; lane++)
            instructions += machine_barrel(m, i)->instructions[lane];
    }
    machine_free(m);
    return (struct seconds){ (double)instructions / (to.elapsed - from.elapsed),
                             (double)instructions / (to.cpu - from.cpu) };
}

/* Elapsed time of two pieces of work that share nothing, on so many threads. */
static double share_nothing(int threads)
{
    double from = bench_seconds(CLOCK_MONOTONIC);

#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int i = 0; i < 2; i++) {
        uint64_t v = 1;

        for (int k = 0; k < 100000000; k++)
            __asm__ volatile("add $1, %0" : "+r"(v));
    }
    return bench_seconds(CLOCK_MONOTONIC) - from;
}

static void bench_loop(const char *name, const char *loop)
{
    struct tile_fixture *shortest = loop_rig(loop, 1), *longer = loop_rig(loop, ALONE);
    double one[TURNS], chip[TURNS], two[TURNS], gain[TURNS], nothing[TURNS];
    uint32_t tiles = shortest->arch.tiles;

    for (int k = 0; k < TURNS; k++) {
        struct seconds a = rate(shortest, tiles, 1), b = rate(shortest, tiles, 2);

        one[k] = rate(longer, 1, 1).cpu;
        chip[k] = a.cpu;
        two[k] = b.cpu;
        gain[k] = b.elapsed / a.elapsed;
        nothing[k] = share_nothing(1) / share_nothing(2);
    }
    bench_row(RATE, bench_median(one, TURNS) / 1e6, "%s, one busy tile", name);
    bench_row(RATE, bench_median(chip, TURNS) / 1e6, "%s, %u tiles, one thread", name, tiles);
    bench_row(RATE, bench_median(two, TURNS) / 1e6, "%s, %u tiles, two threads", name, tiles);
    bench_row(GAIN, bench_median(gain, TURNS), "%s, gain of the second core", name);
    bench_row(GAIN, bench_median(nothing, TURNS), "%s, gain of two that share nothing", name);
    tile_fixture_free(shortest);
    tile_fixture_free(longer);
}

/* From nothing to the first cycle of a chip with BUSY tiles whose memory is full. */
static double start_seconds(const struct tile_fixture *r)
{
    struct machine_options o = { .threads = 2 };
    struct machine *m;
    double from = bench_seconds(CLOCK_MONOTONIC);

    tile_must(machine_new(&r->arch, &o, &m) == EMU_OK, "machine");
    load(m, r, BUSY, r->arch.mem_bytes);
    tile_must(machine_run(m, 1) == MACHINE_LIMIT, "first cycle");
    from = bench_seconds(CLOCK_MONOTONIC) - from;
    machine_free(m);
    return from;
}

static void bench_start(void)
{
    struct tile_fixture *r = loop_rig(integer_loop, 1);
    double start[TURNS];

    for (int k = 0; k < TURNS; k++)
        start[k] = start_seconds(r);
    bench_row("ms", 1e3 * bench_median(start, TURNS), "a chip with %d busy tiles starts", BUSY);
    tile_fixture_free(r);
}

/* Last, since it is the most this process ever needs. */
static void bench_memory(void)
{
    struct machine_options o = { .threads = 2 };
    struct tile_fixture *r = loop_rig(f32_loop, 1);
    double busy = resident_kib();
    struct machine *m;

    tile_must(machine_new(&r->arch, &o, &m) == EMU_OK, "machine");
    load(m, r, r->arch.tiles, r->arch.mem_bytes);
    tile_must(machine_run(m, UINT64_MAX) == MACHINE_HOST, "run");
    machine_digest(m);
    bench_row("GiB", busy / (1 << 20), "resident, loops on all tiles");
    bench_row("GiB", resident_kib() / (1 << 20), "resident, every page of all tiles touched");
    machine_free(m);
    tile_fixture_free(r);
}

int main(void)
{
    bench_loop("integer loop", integer_loop);
    bench_loop("f32v2 loop", f32_loop);
    bench_start();
    bench_memory();
    return 0;
}
