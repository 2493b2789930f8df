/* bench_amp.c - speed of the fast matrix path: multiply-adds per second of one core, by calling the
 * functions in a loop, without the interpreter around them.
 *
 * Times are CPU time of the thread. The machine may be noisy, so each case runs in short rounds in
 * turn with the others; the median and the fastest round are printed, and the cycles of the fastest,
 * whose length is measured by a chain of additions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "emu/bsp/fast.h"
#include "emu/exec/exec.h"

enum { ROUNDS = 301, CALLS = 2000 };

struct bench {
    const char *name;
    fast_fn *fast; /* NULL: the plain function, lane by lane */
    exec_fn *plain;
    unsigned phases, macs; /* macs per worker and call */
    double scale;          /* of x and of the first accumulators */
    int reload, stochastic;
    double ns[ROUNDS];
};

static struct bench benches[] = {
    { .name = "f16v4hihov4amp", .fast = fast_f16v4hihov4amp, .phases = 4, .macs = 64, .scale = 1 },
    { .name = "f16v4hihov4amp, new weights every 16 calls", .fast = fast_f16v4hihov4amp,
      .phases = 4, .macs = 64, .scale = 1, .reload = 1 },
    { .name = "f16v4hihov4amp, stochastic", .fast = fast_f16v4hihov4amp, .phases = 4, .macs = 64,
      .scale = 1, .stochastic = 1 },
    { .name = "f16v4hihov4amp, wide values", .fast = fast_f16v4hihov4amp, .phases = 4, .macs = 64,
      .scale = 1e4 },
    { .name = "f16v4hihov4amp, plain", .plain = exec_f16v4hihov4amp, .phases = 4, .macs = 64,
      .scale = 1 },
    { .name = "f16v4hihoamp", .fast = fast_f16v4hihoamp, .phases = 4, .macs = 32, .scale = 1 },
    { .name = "f16v4sisoamp", .fast = fast_f16v4sisoamp, .phases = 4, .macs = 32, .scale = 1 },
    { .name = "f16v4hihov4slic", .fast = fast_f16v4hihov4slic, .phases = 1, .macs = 64, .scale = 1 },
    { .name = "f16v4sisoslic", .fast = fast_f16v4sisoslic, .phases = 1, .macs = 32, .scale = 1 },
};

static double now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* About normally distributed, mean 0, deviation 1. */
static double noise(uint64_t *seed)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*seed >> 40) * 0x1p-24;
    }
    return sum;
}

static uint16_t f16_noise(uint64_t *seed, double scale)
{
    struct fp_env env = { 0 };

    return fp_f16_from_f64(noise(seed) * scale, 0, &env);
}

static void fill(struct tile *t, const struct bench *b)
{
    uint64_t seed = 1;

    for (unsigned k = 0; k < TILE_WEIGHTS; k++)
        for (unsigned i = 0; i < 4; i++)
            t->weight[k] = t->weight[k] << 16 | f16_noise(&seed, 0.05);
    t->weight_generation++;
    for (unsigned r = 0; r < 8; r++)
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
            t->a[r][lane] = fp_f16_pack(f16_noise(&seed, b->scale), f16_noise(&seed, b->scale));
    memset(t->acc, 0, sizeof(t->acc));
    acc_forget(t);
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        t->fp_ctl[lane] = b->stochastic ? FP_CTL_ESR : 0;
}

/* ns per call for all six workers. Registers a0:1 x, a2:3 partials, a4:5 results. */
static double run_round(struct tile *t, const struct bench *b)
{
    struct insn in = { .a = 0, .b = 2, .d = 4 };
    double start;
    int refused = 0;

    fill(t, b);
    start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        in.a = i & 8 ? 6 : 0;
        in.i = i % (int)b->phases;
        if (b->reload && i % 16 == 0)
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

static double add_chain_ns(void)
{
    uint64_t v = 0;
    double start = now_ns();

    for (int i = 0; i < 100000; i++)
        __asm__ volatile("add $1, %0" : "+r"(v));
    return (now_ns() - start) / 100000;
}

int main(void)
{
    static struct tile t;
    static uint8_t mem[1 << 20];
    double cycle_ns = 1e9;

    if (tile_init(&t, arch_preset("mk2"), 0, mem) != EMU_OK)
        return 2;
    for (int r = 0; r < ROUNDS; r++) {
        double ns = add_chain_ns();

        cycle_ns = ns < cycle_ns ? ns : cycle_ns;
        for (size_t k = 0; k < EMU_COUNT_OF(benches); k++)
            benches[k].ns[r] = benches[k].fast || r % 20 == 0 ? run_round(&t, &benches[k])
                                                              : benches[k].ns[r - 1];
    }
    printf("# %-44s %10s %10s %10s\n", "GMAC/s of one core", "median", "fastest", "cycles");
    for (size_t k = 0; k < EMU_COUNT_OF(benches); k++) {
        struct bench *b = &benches[k];
        double macs = b->macs * TILE_WORKERS;

        qsort(b->ns, ROUNDS, sizeof(b->ns[0]), by_value);
        printf("%-46s %10.2f %10.2f %10.0f\n", b->name, macs / b->ns[ROUNDS / 2], macs / b->ns[0],
               b->ns[0] / cycle_ns);
    }
    tile_free(&t);
    return 0;
}
