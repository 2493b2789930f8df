/* bench_schedule.c - the exchange scheduler on mk2: events against B + 112, bytes of code against
 * what is allowed (12 per message in, 8 per message out or started 64 words), and host time.
 * Without the argument `table` only host times are printed, as rows.
 */
#include <inttypes.h>

#include "tests/fixtures/bench_rows.h"
#include "tests/fixtures/exchange_patterns.h"

enum { RUNS = 3, ALWAYS = 112 };

static int table;

static double now_ms(void)
{
    return 1e3 * bench_seconds(CLOCK_THREAD_CPUTIME_ID);
}

/* Bytes allowed for all tiles. */
static uint64_t allowance(const struct pattern *p)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < p->messages; i++)
        bytes += 8 * ((p->message[i].words + 63) / 64) + 12 * (uint64_t)p->message[i].dests;
    return bytes;
}

/* Schedules a pattern, prints its line, and frees it. */
static void measure(struct pattern *p, enum exchange_target target)
{
    struct exchange_problem problem = pattern_problem(p);
    int runs = p->dests > 300000 ? 1 : RUNS;
    uint32_t events = 0, bound = 0, most = 0;
    uint64_t bytes = 0;
    double ms[RUNS];
    const char *aim = target == EXCHANGE_CYCLES ? "cycles" : "memory";

    for (int i = 0; i < runs; i++) {
        struct exchange_schedule s;
        double start = now_ms();

        if (exchange_schedule(&problem, target, &s) != EMU_OK) {
            fprintf(stderr, "bench_schedule: %s: %s\n", p->name, ss_error());
            exit(1);
        }
        ms[i] = now_ms() - start;
        events = s.events;
        bound = s.bound;
        bytes = s.code_bytes;
        for (uint32_t k = 0; k < s.tiles; k++)
            most = s.tile[k].bytes > most ? s.tile[k].bytes : most;
        exchange_schedule_free(&s);
    }
    if (!table) {
        bench_row("ms", bench_median(ms, (size_t)runs), "schedule for %s, %s", aim, p->name);
        return;
    }
    printf("%-28s %-6s %8zu %8zu %7" PRIu32 " %7" PRIu32 " %6.3f %6.2f %6.2f %7" PRIu32 " %8.1f\n",
           p->name, aim, p->messages, p->dests, bound, events, events / (double)(bound + ALWAYS),
           (double)bytes / (double)allowance(p), (double)bytes / (double)p->dests, most,
           bench_median(ms, (size_t)runs));
    fflush(stdout);
}

static void both(struct pattern *p)
{
    measure(p, EXCHANGE_CYCLES);
    measure(p, EXCHANGE_MEMORY);
    pattern_free(p);
}

#define PATTERN(name, make)                                                                        \
    do {                                                                                           \
        struct pattern p;                                                                          \
                                                                                                   \
        pattern_new(&p, "mk2", name);                                                              \
        make;                                                                                      \
        both(&p);                                                                                  \
    } while (0)

int main(int argc, char **argv)
{
    table = argc > 1 && !strcmp(argv[1], "table");
    if (table)
        printf("%-28s %-6s %8s %8s %7s %7s %6s %6s %6s %7s %8s\n", "pattern", "target", "sends",
               "receives", "B", "events", "/B+112", "code", "B/recv", "most", "ms");
    PATTERN("gather 8 x 8", pattern_gather(&p, 8, 1, 8));
    PATTERN("gather 64 x 8", pattern_gather(&p, 64, 1, 8));
    PATTERN("gather 23 x 64", pattern_gather(&p, 23, 1, 64));
    PATTERN("gather 16 stride 92 x 8", pattern_gather(&p, 16, 92, 8));
    PATTERN("gather 64 stride 23 x 8", pattern_gather(&p, 64, 23, 8));
    PATTERN("gather 32 stride 46 x 32", pattern_gather(&p, 32, 46, 32));
    PATTERN("scatter 16 x 8", pattern_transpose(&p, 16, 1, 8));
    PATTERN("scatter 64 x 8", pattern_transpose(&p, 64, 1, 8));
    PATTERN("scatter 64 x 16", pattern_transpose(&p, 64, 1, 16));
    PATTERN("scatter 16 stride 92 x 8", pattern_transpose(&p, 16, 92, 8));
    PATTERN("scatter 64 stride 23 x 8", pattern_transpose(&p, 64, 23, 8));
    PATTERN("scatter 46 stride 32 x 32", pattern_transpose(&p, 46, 32, 32));
    PATTERN("broadcast 1472 x 1000", pattern_broadcast(&p, 1472, 1, 1000));
    PATTERN("broadcast 16 x 64", pattern_broadcast(&p, 16, 1, 64));
    PATTERN("aligned 16 fan 2 x 8", pattern_aligned(&p, 16, 2, 8));
    PATTERN("aligned 32 fan 4 x 16", pattern_aligned(&p, 32, 4, 16));
    PATTERN("aligned 8 fan 8 x 64", pattern_aligned(&p, 8, 8, 64));
    PATTERN("halo 46 x 8", pattern_halo(&p, 46, 8, 0));
    PATTERN("halo 32 x 64", pattern_halo(&p, 32, 64, 0));
    PATTERN("halo corners 46 x 8", pattern_halo(&p, 46, 8, 1));
    PATTERN("halo corners 46 x 32", pattern_halo(&p, 46, 32, 1));
    PATTERN("rotate 1 x 64", pattern_rotate(&p, 1, 64));
    PATTERN("rotate 700 x 1000", pattern_rotate(&p, 700, 1000));
    PATTERN("irregular 8 x 8", pattern_irregular(&p, 8, 8, 8));
    PATTERN("irregular 32 x 8", pattern_irregular(&p, 32, 8, 8));
    PATTERN("irregular 68 x 8", pattern_irregular(&p, 68, 8, 8));
    PATTERN("irregular 20 x 64", pattern_irregular(&p, 20, 64, 64));
    PATTERN("irregular 20 x 8..64", pattern_irregular(&p, 20, 8, 64));
    PATTERN("random 20000 x 40 to 4", pattern_random(&p, 20000, 40, 4));
    if (table) {
        PATTERN("gather 1472 x 8", pattern_gather(&p, 1472, 1, 8));
        PATTERN("transpose 1472 x 8", pattern_transpose(&p, 1472, 1, 8));
    }
    return 0;
}
