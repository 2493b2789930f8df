/* bench_exchange.c - host time of the fabric: resolving and replaying a phase of about 100,000
 * messages on mk2, and delivering it.
 *
 * Each round is a permutation of all tiles with messages of 4 words; rounds lie far enough apart
 * for any delay. Printed are medians of several runs and the count of what was moved. Issue is
 * timed through the port, without decoding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/exchange/exchange_private.h"
#include "emu/isa/insn_ops.h"
#include "tests/fixtures/bench_rows.h"

enum { ROUNDS = 77, WORDS = 4, ROUND_EVENTS = 240, RUNS = 9 };

struct exchange_bench {
    const struct arch *arch;
    struct exchange *x;
    struct tile *tile, **part;
    uint8_t *mem;
};

static double now_ms(void)
{
    return 1e3 * bench_seconds(CLOCK_MONOTONIC);
}

static void die(const char *what)
{
    fprintf(stderr, "bench_exchange: %s: %s\n", what, ss_error());
    exit(1);
}

static void issue(struct exchange_bench *b, uint32_t tile, uint32_t event, const struct insn *in)
{
    b->tile[tile].cycle = event;
    if (exchange_issue(b->tile[tile].exchange, &b->tile[tile], in) != FAULT_NONE)
        die(b->tile[tile].fault.detail);
}

/* Whether a message could not be sent because its sender changes its own settings meanwhile. */
static int meets(const struct arch *a, uint32_t s, uint32_t d)
{
    int delay = arch_exchange_delay(a, arch_tile_physical(a, s), arch_tile_physical(a, d));

    return delay >= -WORDS && delay <= WORDS;
}

/* A tile receives from `from` at event `when`, and sends to `to` so that the words are there at
 * `when`. */
static void issue_round(struct exchange_bench *b, uint32_t tile, uint32_t to, uint32_t from,
                        uint32_t when, uint32_t round)
{
    const struct arch *a = b->arch;
    int delay = arch_exchange_delay(a, arch_tile_physical(a, tile), arch_tile_physical(a, to));
    uint32_t out = a->mem_base + 4 * WORDS * round, in = out + 4 * WORDS * ROUNDS;
    uint32_t at = (uint32_t)((int)when - delay);
    const struct insn send = { .op = INSN_send, .i = WORDS - 1, .j = out, .k = 3 };
    const struct insn on = { .op = INSN_sendpicp, .n = arch_tile_physical(a, from), .o = in / 4 };
    const struct insn off = { .op = INSN_delayxpic, .k = a->null_source };
    int sends = !meets(a, tile, to);

    if (sends && at < when)
        issue(b, tile, at, &send);
    if (!meets(a, from, tile)) {
        issue(b, tile, when, &on);
        issue(b, tile, when + WORDS, &off);
    }
    if (sends && at > when)
        issue(b, tile, at, &send);
}

static void issue_phase(struct exchange_bench *b)
{
    uint32_t n = b->arch->tiles;

    for (uint32_t i = 0; i < n; i++) {
        if (exchange_begin(b->x, &b->tile[i], 0) != FAULT_NONE)
            die("begin");
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t shift = 1 + round * 397 % (n - 1);

        for (uint32_t i = 0; i < n; i++)
            issue_round(b, i, (i + shift) % n, (i + n - shift) % n, 200 + round * ROUND_EVENTS,
                        round);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (exchange_recv(b->x, &b->tile[i], 200 + ROUNDS * ROUND_EVENTS) != FAULT_NONE)
            die("RECV");
    }
}

static void bench_new(struct exchange_bench *b, const char *machine)
{
    struct arch *a = calloc(1, sizeof(*a));

    *b = (struct exchange_bench){ .arch = a };
    if (!a)
        exit(1);
    *a = *ss_arch_preset(machine);
    b->tile = aligned_alloc(64, a->tiles * sizeof(*b->tile));
    b->part = calloc(a->tiles, sizeof(*b->part));
    b->mem = calloc(a->tiles, a->mem_bytes);
    if (!b->tile || !b->part || !b->mem || exchange_new(a, NULL, &b->x) != EMU_OK)
        die("set-up");
    for (uint32_t i = 0; i < a->tiles; i++) {
        if (tile_init(&b->tile[i], a, i, b->mem + (size_t)i * a->mem_bytes) != EMU_OK)
            die("set-up");
        exchange_attach(b->x, i, &b->tile[i]);
        b->part[i] = &b->tile[i];
    }
}

static void bench_free(struct exchange_bench *b)
{
    for (uint32_t i = 0; i < b->arch->tiles; i++)
        tile_free(&b->tile[i]);
    exchange_free(b->x);
    free((void *)b->arch);
    free(b->tile);
    free(b->part);
    free(b->mem);
}

static double timed_resolve(struct exchange_bench *b, const struct exchange_phase **p)
{
    double start = now_ms();

    if (exchange_resolve(b->x, b->part, p) != EMU_OK)
        die("resolve");
    return now_ms() - start;
}

int main(int argc, char **argv)
{
    double logged[RUNS], resolved[RUNS], replayed[RUNS], delivered[RUNS];
    const struct exchange_phase *p = NULL;
    struct exchange_bench b;

    bench_new(&b, argc > 1 ? argv[1] : "mk2");
    for (int i = 0; i < RUNS; i++) {
        double start = now_ms();

        issue_phase(&b);
        logged[i] = now_ms() - start;
        exchange_cache_clear(b.x);
        resolved[i] = timed_resolve(&b, &p);
        issue_phase(&b);
        replayed[i] = timed_resolve(&b, &p);
        start = now_ms();
        exchange_deliver(p, b.part, 0, b.arch->tiles);
        delivered[i] = now_ms() - start;
    }
    bench_row("MB", (double)exchange_counts(b.x).cache_bytes / 1e6, "phase of %zu messages: cached",
              p->copies);
    bench_row("ms", bench_median(logged, RUNS), "phase of %zu messages: issue", p->copies);
    bench_row("ms", bench_median(resolved, RUNS), "phase of %zu messages: resolve", p->copies);
    bench_row("ms", bench_median(replayed, RUNS), "phase of %zu messages: replay", p->copies);
    bench_row("ms", bench_median(delivered, RUNS), "phase of %zu messages: deliver", p->copies);
    bench_free(&b);
    return 0;
}
