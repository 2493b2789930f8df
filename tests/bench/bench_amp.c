/* bench_amp.c - speed of the fast matrix path: multiply-adds per second of one core, by calling the
 * functions in a loop, without the interpreter around them.
 *
 * Times are CPU time of the thread. The machine may be noisy, so each case runs in short rounds in
 * turn with the others, and the median is printed.
 */
#include <stdio.h>

#include "emu/base/random.h"
#include "emu/exec/exec_rows.h"
#include "emu/fast/fast.h"
#include "tests/fixtures/bench_rows.h"

enum { ROUNDS = 301, CALLS = 2000 };

enum variant { ORDINARY, RELOAD /* new weights every 16 calls */, STOCHASTIC, WIDE };

struct amp_bench {
    const char *name;
    fast_fn *fast; /* NULL: the plain function, lane by lane */
    exec_fn *plain;
    unsigned immediates, macs; /* macs: multiply-adds per worker and call */
    enum variant variant;
    int f32_x, f32_partials;
    double ns[ROUNDS];
};

/* clang-format off */
#define F16(id, immediates, macs, f32_partials) \
    { #id, fast_##id, NULL, immediates, macs, ORDINARY, 0, f32_partials, { 0 } }
#define F32(id, immediates, macs) \
    { #id, fast_##id, NULL, immediates, macs, ORDINARY, 1, 1, { 0 } }
/* clang-format on */

static struct amp_bench benches[] = {
    F16(f16v4hihov4amp, 4, 64, 0),
    { "  new weights every 16 calls", fast_f16v4hihov4amp, NULL, 4, 64, RELOAD, 0, 0, { 0 } },
    { "  stochastic rounding", fast_f16v4hihov4amp, NULL, 4, 64, STOCHASTIC, 0, 0, { 0 } },
    { "  values too far apart for f64", fast_f16v4hihov4amp, NULL, 4, 64, WIDE, 0, 0, { 0 } },
    { "  plain", NULL, exec_f16v4hihov4amp, 4, 64, ORDINARY, 0, 0, { 0 } },
    F16(f16v4hihoamp, 4, 32, 0),
    F16(f16v4sihoamp, 4, 32, 1),
    F16(f16v4sisoamp, 4, 32, 1),
    F16(f16v4hihov4slic, 1, 64, 0),
    F16(f16v4sisoslic, 1, 32, 1),
    F32(f32sisoamp, 8, 8),
    F32(f32sisov2amp, 8, 16),
    { "  plain", NULL, exec_f32sisov2amp, 8, 16, ORDINARY, 1, 1, { 0 } },
    F16(f16v8acc, 1, 8, 0),
    F16(f16v8sqacc, 1, 8, 0),
    F16(f16v4acc, 1, 4, 0),
    F16(f16v4cmac, 1, 4, 0),
    F16(f16v4mix, 1, 8, 0),
    F32(f32v4acc, 1, 4),
    F32(f32v2axpy, 1, 2),
    F32(f32v2gina, 1, 2),
    F16(f16v2gina, 1, 2, 0),
};

static double now_ns(void)
{
    return 1e9 * bench_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static uint32_t noise_word(uint64_t *seed, double scale, int f32)
{
    struct fp_env env = { 0 };
    uint16_t lo = fp_f16_from_f64(random_normal(seed) * scale, 0, &env);

    if (f32)
        return fp_bits((float)(random_normal(seed) * scale));
    return fp_f16_pack(lo, fp_f16_from_f64(random_normal(seed) * scale, 0, &env));
}

static void fill(struct tile *t, const struct amp_bench *b)
{
    uint64_t seed = 1;

    for (unsigned k = 0; k < TILE_WEIGHTS; k++)
        t->weight[k] =
            (uint64_t)noise_word(&seed, 0.05, b->f32_x) << 32 | noise_word(&seed, 0.05, b->f32_x);
    t->weight_generation++;
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned r = 0; r < 8; r++)
            t->a[r][lane] = noise_word(&seed, 1, b->f32_x);
        for (unsigned r = 2; b->f32_partials && r < 4; r++)
            t->a[r][lane] = noise_word(&seed, 1, 1);
        if (b->variant == WIDE)
            for (unsigned r = 0; r < 8; r += 2)
                t->a[r][lane] = fp_f16_pack(0x0001, 0x7400); /* 2^-24 and 2^14 */
        t->fp_ctl[lane] = b->variant == STOCHASTIC ? FP_CTL_ESR : 0;
        t->tas[lane] = noise_word(&seed, 1, b->f32_x);
    }
    memset(t->acc, 0, sizeof(t->acc));
}

/* ns per call for all six workers. Registers a0:1 and a4:5 x in turn, a2:3 partials, a8:9 results.
 */
static double run_round(struct tile *t, const struct amp_bench *b)
{
    struct insn in = { .b = 2, .d = 8 };
    double start;
    int refused = 0;

    fill(t, b);
    start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        in.a = i & 4;
        in.i = i & (int)(b->immediates - 1);
        if (i % 16 == 0 && b->variant == RELOAD)
            t->weight_generation++;
        if (b->fast)
            refused += !b->fast(t, LANES_ALL, &in);
        else
            for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
                refused += b->plain(t, lane, &in) != FAULT_NONE;
    }
    if (refused)
        printf("# %s: %d of %d calls refused\n", b->name, refused, CALLS);
    return (now_ns() - start) / CALLS;
}

int main(void)
{
    static struct tile t;
    static uint8_t mem[1 << 20];

    if (tile_init(&t, ss_arch_preset("mk2"), 0, mem) != EMU_OK || !fast_begin(&t))
        return 2;
    for (int r = 0; r < ROUNDS; r++) {
        for (size_t k = 0; k < EMU_COUNT_OF(benches); k++)
            benches[k].ns[r] =
                benches[k].fast || r % 20 == 0 ? run_round(&t, &benches[k]) : benches[k].ns[r - 1];
    }
    for (size_t k = 0; k < EMU_COUNT_OF(benches); k++) {
        struct amp_bench *b = &benches[k];
        double macs = b->macs * TILE_WORKERS;

        bench_row("GMAC/s", macs / bench_median(b->ns, ROUNDS), "%s", b->name);
    }
    tile_free(&t);
    return 0;
}
