/* bench_chip.c - a full chip of busy tiles: emulated instructions per second and core against one
 * tile alone, the gain of the second core, resident memory, and how long a chip with few busy tiles
 * takes to start.
 *
 * One tile and the whole chip, one thread and two are measured in turns, since the host is noisy;
 * medians are printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "emu/bsp/machine.h"
#include "tests/unit/tile_rig.h"

enum { TURNS = 5, BUSY = 16 };

static const char text[] =
    "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n sync 6\n stop: nop\n"
    "w: setzi $m0, 0x3fff\n"
    "l: add $m1, $m1, 3\n xor $m2, $m1, $m2\n shl $m3, $m2, 5\n sub $m4, $m3, $m1\n"
    "and $m5, $m4, $m2\n or $m6, $m5, $m3\n mul $m7, $m6, $m4\n brnzdec $m0, l\n exitz $mzero\n";

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, TURNS, sizeof(*v), by_value);
    return v[TURNS / 2];
}

static long resident_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    }
    if (f)
        fclose(f);
    return kib;
}

static void load(struct machine *m, const struct tile_rig *r, uint32_t tiles, uint32_t touch)
{
    for (uint32_t i = 0; i < tiles; i++) {
        for (size_t s = 0; s < r->image->section_count; s++)
            tile_write(machine_tile(m, i), r->image->section[s].addr, r->image->section[s].bytes,
                       r->image->section[s].size);
        for (uint32_t off = 4096; off < touch; off += 4096)
            tile_write(machine_tile(m, i), r->arch.mem_base + off, "x", 1);
        machine_use(m, i, rig_symbol(r, "start"), 0);
    }
}

/* Instructions per second of `tiles` busy tiles on `threads` threads. */
static double rate(const struct tile_rig *r, uint32_t tiles, unsigned threads, uint32_t touch,
                   unsigned repeats)
{
    struct machine_options o = { .threads = threads };
    uint64_t instructions = 0;
    struct machine *m;
    double spent = 0;

    for (unsigned k = 0; k < repeats; k++) {
        double from;

        rig_must(machine_new(&r->arch, &o, &m) == EMU_OK, "machine");
        load(m, r, tiles, touch);
        from = seconds();
        rig_must(machine_run(m, UINT64_MAX) == MACHINE_HOST, "run");
        spent += seconds() - from;
        for (uint32_t i = 0; i < tiles; i++) {
            for (unsigned lane = 0; lane < TILE_LANES; lane++)
                instructions += machine_barrel(m, i)->instructions[lane];
        }
        machine_free(m);
    }
    return (double)instructions / spent;
}

static double start_seconds(const struct tile_rig *r)
{
    struct machine_options o = { .threads = 2 };
    struct machine *m;
    double from = seconds();

    rig_must(machine_new(&r->arch, &o, &m) == EMU_OK, "machine");
    load(m, r, BUSY, r->arch.mem_bytes);
    rig_must(machine_run(m, 1) == MACHINE_LIMIT, "first cycle");
    from = seconds() - from;
    machine_free(m);
    return from;
}

int main(void)
{
    struct tile_rig *r = rig_new("mk2", text);
    double one[TURNS], chip[TURNS], two[TURNS], start[TURNS], a, b, c;

    for (int k = 0; k < TURNS; k++) {
        one[k] = rate(r, 1, 1, 0, 300);
        chip[k] = rate(r, r->arch.tiles, 1, 0, 1);
        two[k] = rate(r, r->arch.tiles, 2, 0, 1);
        start[k] = start_seconds(r);
    }
    a = median(one);
    b = median(chip);
    c = median(two);
    printf("one busy tile, one thread            %8.1f M instructions/s\n", a / 1e6);
    printf("%u busy tiles, one thread          %8.1f M instructions/s  (%.1f %% of one tile)\n",
           r->arch.tiles, b / 1e6, 100 * b / a);
    printf("%u busy tiles, two threads         %8.1f M instructions/s  (%.2f times one thread)\n",
           r->arch.tiles, c / 1e6, c / b);
    printf("a chip with %d busy tiles starts in   %8.1f ms\n", BUSY, 1e3 * median(start));
    rate(r, r->arch.tiles, 2, r->arch.mem_bytes, 1);
    printf("resident with every page of every tile touched %.3f GiB\n",
           (double)resident_kib() / (1 << 20));
    printf("(medians of %d turns)\n", TURNS);
    rig_free(r);
    return 0;
}
