/* test_conv1x1.c - the matrix codelet conv1x1_f16: results, and cycles against a Bow chip.
 *
 * The silicon figures are public measurements of one 1x1 matrix codelet call on every tile, [n, 16]
 * x [16, 16] in f16, counter overhead taken off (docs/timing.md 5).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "emu/base/fp.h"
#include "tests/fixtures/tile_fixture.h"

static const struct {
    uint32_t positions;
    double cycles;
} silicon[] = {
#define POINT(positions, cycles) { positions, cycles },
#include "models/validate/amp_silicon.def"
#undef POINT
};

enum { POINTS = EMU_COUNT_OF(silicon), CHANNELS = 16 };

static struct tile_fixture *rig;
static uint32_t in_at, out_at, weights_at, state_at;

static int setup(void **state)
{
    static const char stub[] = ".globl conv1x1_f16\n.globl start\n.globl stop\n.supervisor\n"
                               "start: call $lr, conv1x1_f16\nstop: nop\n";
    struct asm_options o = { 0 };

    (void)state;
    rig = emu_alloc(1, sizeof(*rig));
    rig->arch = *ss_arch_preset("bow");
    o.arch = &rig->arch;
    tile_must(asm_unit_new(&o, &rig->unit) == EMU_OK, "unit");
    if (asm_unit_add_file(rig->unit, "programs/library/conv/conv1x1_f16.S") != EMU_OK ||
        asm_unit_add_text(rig->unit, "stub", stub, sizeof(stub) - 1) != EMU_OK ||
        asm_unit_link(rig->unit, NULL) != EMU_OK) {
        asm_diag_print(rig->unit, stderr);
        return -1;
    }
    rig->image = asm_unit_image(rig->unit);
    rig->mem = emu_alloc(1, rig->arch.mem_bytes);
    rig->tile = emu_alloc_aligned(1, sizeof(*rig->tile), 64);
    tile_must(code_cache_new(&rig->arch, 1, &rig->cache) == EMU_OK, "cache");
    in_at = rig->arch.mem_base + 0x4000;
    out_at = rig->arch.mem_base + rig->arch.region0_bytes;
    weights_at = out_at + 0x20000;
    state_at = weights_at + 0x400;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tile_fixture_free(rig);
    return 0;
}

/* Value k of a small deterministic sequence in -4..4, as f16. */
static uint16_t value(uint32_t k)
{
    struct fp_env env = { 0 };
    uint32_t h = k * 2654435761u;

    return fp_f16_from_f64((double)(h >> 13 & 7) - 3.0 + (h >> 20 & 1) * 0.5, 0, &env);
}

static double number(uint16_t h)
{
    return fp_f16_value(h);
}

/* Runs n positions and returns the cycles of the call. */
static uint64_t run(uint32_t n)
{
    uint32_t words[4] = { in_at, out_at, weights_at, n };

    tile_fixture_reset(rig, NULL);
    for (uint32_t k = 0; k < n * CHANNELS; k++) {
        uint16_t v = value(k);

        tile_write(rig->tile, in_at + 2 * k, &v, 2);
    }
    for (uint32_t k = 0; k < CHANNELS * CHANNELS; k++) {
        uint16_t v = value(k + 7777);

        tile_write(rig->tile, weights_at + 2 * k, &v, 2);
    }
    tile_write(rig->tile, state_at, words, sizeof(words));
    rig->tile->m[0][LANE_SUPER] = state_at;
    assert_int_equal(tile_fixture_run(rig), BARREL_HALT);
    return rig->barrel.cycle - rig->barrel.launch_cycle;
}

static void test_results(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 2, 5, 6, 7, 11, 12, 13, 18, 19, 64, 333, 2048 };

    (void)state;
    for (size_t s = 0; s < EMU_COUNT_OF(sizes); s++) {
        run(sizes[s]);
        for (uint32_t k = 0; k < sizes[s] * CHANNELS; k++) {
            double sum = 0; /* exact: products of small multiples of 1/2 */
            uint16_t got;

            for (uint32_t c = 0; c < CHANNELS; c++)
                sum += number(value(k / CHANNELS * CHANNELS + c)) *
                       number(value(k % CHANNELS * CHANNELS + c + 7777));
            tile_read(rig->tile, out_at + 2 * k, &got, 2);
            assert_true(number(got) == sum);
        }
    }
}

static double slope(const double *y)
{
    double mx = 0, my = 0, xx = 0, xy = 0;

    for (size_t i = 0; i < POINTS; i++) {
        mx += silicon[i].positions / (double)POINTS;
        my += y[i] / (double)POINTS;
    }
    for (size_t i = 0; i < POINTS; i++) {
        xx += (silicon[i].positions - mx) * (silicon[i].positions - mx);
        xy += (silicon[i].positions - mx) * (y[i] - my);
    }
    return xy / xx;
}

static void test_cycles_against_silicon(void **state)
{
    double hw[POINTS], ours[POINTS], least = INFINITY, most = -INFINITY, overhead, worst;

    (void)state;
    for (size_t i = 0; i < POINTS; i++) {
        hw[i] = silicon[i].cycles;
        ours[i] = (double)run(silicon[i].positions);
        /* 24 cycles for every position of the busiest worker, the rest is explained in
         * docs/timing.md 5 */
        assert_int_equal((uint64_t)ours[i], 24 * ((silicon[i].positions + 5) / 6) + 265);
        least = fmin(least, hw[i] - ours[i]);
        most = fmax(most, hw[i] - ours[i]);
    }
    overhead = (least + most) / 2;
    worst = (most - least) / 2;
    print_message("slope: silicon %.5f ours %.5f cycles per position; launch overhead %.1f cycles; "
                  "farthest point %.1f cycles\n",
                  slope(hw), slope(ours), overhead, worst);
    assert_true(fabs(slope(ours) / slope(hw) - 1) < 0.001);
    assert_true(worst <= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_cycles_against_silicon),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
