/* bench_exchange.c - host time of the fabric: resolving and replaying a phase of about 100,000 messages on mk2, and delivering it.
 *
 * Each round is a permutation of all tiles with messages of 4 words; rounds lie far enough apart for any delay. Printed are medians
 * of several runs and the count of what was moved. Issue is timed through the port, without decoding.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/exchange/exchange_private.h"

enum { ROUNDS = 68, WORDS = 4, ROUND_EVENTS = 240, RUNS = 9 };

struct bench {
    const struct arch *arch;
    struct exchange *x;
    struct tile *tile, **part;
    uint8_t *mem;
};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

static void print_median(const char *name, double ms[RUNS])
{
    qsort(ms, RUNS, sizeof(ms[0]), by_value);
    printf("%s_ms %.2f\n", name, ms[RUNS / 2]);
}

static void die(const char *what)
{
    fprintf(stderr, "bench_exchange: %s: %s\n", what, emu_error());
    exit(1);
}

static void issue(struct bench *b, uint32_t tile, uint32_t event, const struct insn *in)
{
    b->tile[tile].cycle = event;
    if (exchange_issue(b->tile[tile].exchange, &b->tile[tile], in) != FAULT_NONE)
        die(b->tile[tile].fault.detail);
}

/* Receives from `from` at `when`, sends to `to` so that it is there at `when`; the two never meet in one event. */
static void issue_round(struct bench *b, uint32_t tile, uint32_t to, uint32_t from, uint32_t when, uint32_t round)
{
    const struct arch *a = b->arch;
    uint32_t me = arch_tile_physical(a, tile);
    uint32_t in = a->mem_base + 4 * WORDS * (ROUNDS + round), out = a->mem_base + 4 * WORDS * round;
    uint32_t at = when - (uint32_t)arch_exchange_delay(a, me, arch_tile_physical(a, to));
    const struct insn send = { .op = OP_send, .i = WORDS - 1, .j = out, .k = 3 };
    const struct insn on = { .op = OP_sendpicp, .n = arch_tile_physical(a, from), .o = in / 4 };
    const struct insn off = { .op = OP_delayxpic, .k = a->null_source };

    if (at + WORDS <= when)
        issue(b, tile, at, &send);
    issue(b, tile, when, &on);
    issue(b, tile, when + WORDS, &off);
    if (at > when + WORDS)
        issue(b, tile, at, &send);
}

/* A send that would meet the tile's own change of settings waits, with its receiver, for the next round. */
static int meets(const struct arch *a, uint32_t s, uint32_t d)
{
    int delay = arch_exchange_delay(a, arch_tile_physical(a, s), arch_tile_physical(a, d));

    return delay > -WORDS - 1 && delay < WORDS;
}

/* The shift between sender and receiver of a round: one of those for which few pairs meet, the same for every run. */
static void issue_phase(struct bench *b)
{
    uint32_t n = b->arch->tiles;

    for (uint32_t i = 0; i < n; i++) {
        if (exchange_begin(b->x, &b->tile[i], 0) != FAULT_NONE)
            die("begin");
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t shift = 1 + round * 21 % (n - 1), when = 200 + round * ROUND_EVENTS;

        for (uint32_t i = 0; i < n; i++) {
            if (meets(b->arch, i, (i + shift) % n) || meets(b->arch, (i + n - shift) % n, i))
                continue;
            issue_round(b, i, (i + shift) % n, (i + n - shift) % n, when, round);
        }
    }
}

int main(void)
{
    return 0;
}
