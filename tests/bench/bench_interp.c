/* bench_interp.c - emulated instructions and multiply-adds per second and core on small loops,
 * cycle accounting on.
 *
 * Seconds are those of the process' own CPU time; each figure is the median of nine runs. A bundle
 * counts as two instructions.
 */
#include "tests/fixtures/bench_rows.h"
#include "tests/fixtures/tile_fixture.h"

enum { RUNS = 9 };

/* macs: multiply-adds per issue slot of the loop. */
static void bench(const char *name, const char *text, double macs, int plain)
{
    struct tile_fixture *r = tile_fixture_new("mk2", text);
    double seconds[RUNS], median;
    uint64_t instructions = 0, slots = 0;

    for (int k = 0; k < RUNS; k++) {
        double start;

        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
        tile_must(barrel_run(&r->barrel, r->tile, tile_fixture_symbol(r, "stop"), UINT64_MAX) ==
                      BARREL_HALT,
                  "run");
        seconds[k] = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    }
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++) {
        instructions += r->barrel.instructions[lane];
        slots += r->barrel.issued[lane];
    }
    median = bench_median(seconds, RUNS);
    bench_row("M instructions/s", (double)instructions / median / 1e6, "%s", name);
    if (macs > 0)
        bench_row("GMAC/s", (double)slots * macs / median / 1e9, "%s", name);
    tile_fixture_free(r);
}

#define LAUNCH "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n"

static const char integer_loop[] = LAUNCH
    "w: setzi $m0, 0x7ffff\n"
    "l: add $m1, $m1, 3\n xor $m2, $m1, $m2\n shl $m3, $m2, 5\n sub $m4, $m3, $m1\n"
    "and $m5, $m4, $m2\n or $m6, $m5, $m3\n mul $m7, $m6, $m4\n brnzdec $m0, l\n exitz $mzero\n";

/* y = a x + b over a buffer, two f32 at a time: load, multiply; load, add. */
static const char f32_loop[] =
    LAUNCH ".align 8\n"
           "w: setzi $m0, 16\n setzi $m3, 60000\n"
           "l: ldconst $m2, 0x6c000\n rpt $m3, 1\n"
           "{ ld64step $a0:1, $mzero, $m2+=, 1; f32v2mul $a4:5, $a0:1, $a2:3 }\n"
           "{ ld64step $a2:3, $mzero, $m2+=, -1; f32v2add $a6:7, $a4:5, $a6:7 }\n"
           "brnzdec $m0, l\n exitz $mzero\n";

/* The inner loop of a convolution: inputs and partial sums in, results out in place, a step of the
 * matrix or the sliding unit a bundle, with four immediates in turn. */
#define STEP(unit, in, out, i)                                                                     \
    "{ ld2xst64pace $a0:3, " in ", $m4:5+=, $mzero, 0b010101; " unit " " out ", $a0:1, $a2:3, " i  \
    " }\n"
#define STEP_LOOP(unit, i0, i1, i2, i3)                                                            \
    LAUNCH ".align 8\n"                                                                            \
           "w: setzi $m0, 16\n setzi $m3, 60000\n"                                                 \
           "l: setzi $m8, 0x8c000\n ldconst $m9, 0xac000\n ldconst $m10, 0xb4008\n"                \
           "get $m1, $WSR\n and $m1, $m1, 7\n shl $m1, $m1, 9\n"                                   \
           "add $m8, $m8, $m1\n add $m9, $m9, $m1\n add $m10, $m10, $m1\n"                         \
           "tapack $m4:5, $m8, $m9, $m10\n nop\n"                                                  \
           "rpt $m3, 3\n" STEP(unit, "$a4:5", "$a6:7", i0) STEP(unit, "$a6:7", "$a4:5", i1)        \
               STEP(unit, "$a4:5", "$a6:7", i2)                                                    \
                   STEP(unit, "$a6:7", "$a4:5", i3) "brnzdec $m0, l\n exitz $mzero\n"

static const char amp_loop[] = STEP_LOOP("f16v4hihov4amp", "0", "1", "2", "3");
static const char slic_loop[] = STEP_LOOP("f16v4hihov4slic", "0", "1", "0", "1");

/* The inner loop of a swish: tanh, multiply, add, of two f16 each. */
static const char tanh_loop[] =
    LAUNCH ".align 8\n"
           "w: setzi $m0, 4\n setzi $m3, 60000\n ldconst $a0, 0x3c01b555\n nop\n"
           "l: rpt $m3, 1\n"
           "{ nop; f16v2tanh $a1, $a0 }\n"
           "{ nop; f16v2add $a0, $a1, $a0 }\n"
           "brnzdec $m0, l\n exitz $mzero\n";

static const char supervisor_loop[] =
    "start: setzi $m0, 0x3ffff\n"
    "l: add $m1, $m1, 3\n nop\n nop\n nop\n nop\n xor $m2, $m1, $m2\n nop\n brnzdec $m0, l\n"
    "stop: nop\n";

int main(void)
{
    bench("integer loop, 8 instructions", integer_loop, 0, 0);
    bench("f32v2 multiply-add loop", f32_loop, 1, 0);
    bench("matrix loop, f16, 16 units", amp_loop, 64, 0);
    bench("sliding loop, f16, 16 units", slic_loop, 64, 0);
    bench("f16 tanh loop", tanh_loop, 0, 0);
    bench("supervisor loop", supervisor_loop, 0, 0);
    bench("integer loop, plain functions", integer_loop, 0, 1);
    bench("f32v2 loop, plain functions", f32_loop, 1, 1);
    return 0;
}
