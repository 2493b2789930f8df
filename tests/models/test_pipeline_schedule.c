/* test_pipeline_schedule.c - schedules of pipelines against what they are said to be: chips that
 * meet at exchanges, event by event, with what each has at hand and keeps; published and derived
 * rows of times, idle shares and kept micro batches; what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/fail.h"
#include "emu/base/random.h"
#include "models/pipeline/pipeline_time.h"
#include "tests/fixtures/graph_fixture.h"
#include "tests/fixtures/seed_range.h"

enum { SEEDS = 1000, SEEDS_LONG = 30000, MICROS = 20, STAGES = PIPELINE_STAGES };

/* What a test asks for by name. */
static struct pipeline_schedule schedule_of(const char *name, unsigned exchanges, unsigned stages,
                                            uint32_t micros)
{
    struct pipeline_schedule s;

    if (pipeline_schedule_make(&(struct pipeline_options){ name, exchanges, stages, micros }, &s) !=
        EMU_OK)
        fail_msg("%s", ss_error());
    return s;
}

static const struct {
    const char *name;
    unsigned exchanges;
} kinds[] = {
    { "sequential", 0 }, { "grouped", 1 }, { "grouped", 2 }, { "interleaved", 0 }, { "gpipe", 0 },
};

/* ---- chips that meet, event by event ---- */

/* Of each chip: its time, and what it has made and been sent. A box holds the last micro batch that
 * came over an edge, 1 + it; what is read late is in a shelf of boxes, newest first. */
struct chips {
    unsigned stages;
    uint64_t f[STAGES], b[STAGES], arrive[STAGES], exchange;
    uint64_t time[STAGES], meetings;
    int f_done[STAGES], b_done[STAGES];
    int kept[STAGES];                   /* most micro batches between F and the end of B */
    int last_f[STAGES], last_b[STAGES]; /* what lies in the buffers that are sent from */
    int shelf[STAGES][STAGES][2 * MICROS + 4 * STAGES]; /* [to][from] */
    int arrived[STAGES][STAGES];
    const struct pipeline_schedule *s;
    int shorter; /* rows that rings have less */
    int wrong;   /* values that were not there */
};

/* All chips meet in exchange `phase` of a round, and take what goes over edges. */
static void meet(struct chips *c, unsigned phase)
{
    uint64_t latest = 0;

    for (unsigned k = 0; k < c->stages; k++)
        latest = c->time[k] > latest ? c->time[k] : latest;
    for (unsigned k = 0; k < c->stages; k++)
        c->time[k] = latest + c->exchange + c->arrive[k];
    c->meetings++;
    for (unsigned from = 0; from < c->stages; from++) {
        for (unsigned to = 0; to < c->stages; to++) {
            if (from != to && pipeline_edge_phase(c->s, from, to) == phase)
                c->shelf[to][from][c->arrived[to][from]++] =
                    to < from ? c->last_b[from] : c->last_f[from];
        }
    }
}

/* What a stage finds in the oldest row of a ring. */
static int oldest(const struct chips *c, unsigned to, unsigned from)
{
    int rows = (int)pipeline_edge_rows(c->s, from, to) - c->shorter, n = c->arrived[to][from];

    return rows > 0 && n >= rows ? c->shelf[to][from][n - rows] : 0;
}

static void forward(struct chips *c, unsigned stage, int micro)
{
    c->wrong += micro != c->f_done[stage];
    for (unsigned from = 0; from < stage; from++)
        c->wrong += oldest(c, stage, from) != micro + 1;
    c->time[stage] += c->f[stage];
    c->last_f[stage] = ++c->f_done[stage];
    if (c->f_done[stage] - c->b_done[stage] > c->kept[stage])
        c->kept[stage] = c->f_done[stage] - c->b_done[stage];
}

static void backward(struct chips *c, unsigned stage, int micro)
{
    c->wrong += micro != c->b_done[stage] || micro >= c->f_done[stage];
    for (unsigned from = stage + 1; from < c->stages; from++)
        c->wrong += oldest(c, stage, from) != micro + 1;
    c->time[stage] += c->b[stage];
    c->last_b[stage] = ++c->b_done[stage];
}

static void sequential(struct chips *c, int micros)
{
    int stages = (int)c->stages;

    for (int m = 0; m < micros; m++) {
        for (int k = 0; k < stages; k++) {
            meet(c, (unsigned)k);
            forward(c, (unsigned)k, m);
        }
        for (int k = stages - 1; k >= 0; k--) {
            meet(c, (unsigned)(2 * stages - 1 - k));
            backward(c, (unsigned)k, m);
        }
    }
}

static int is_micro(int m, int micros)
{
    return m >= 0 && m < micros;
}

/* All forwards of a time step, then all backwards; with one exchange both at once. */
static void grouped(struct chips *c, int micros, int exchanges)
{
    int stages = (int)c->stages;

    for (int t = 0; t < micros + 2 * (stages - 1); t++) {
        int forwards = t < micros + stages - 1, backwards = t >= stages - 1;

        if (forwards || exchanges == 1)
            meet(c, 0);
        for (int k = 0; k < stages; k++)
            if (is_micro(t - k, micros))
                forward(c, (unsigned)k, t - k);
        if (backwards && exchanges == 2)
            meet(c, 1);
        for (int k = 0; k < stages; k++)
            if (is_micro(t - (2 * (stages - 1) - k), micros))
                backward(c, (unsigned)k, t - (2 * (stages - 1) - k));
    }
}

static void gpipe(struct chips *c, int micros)
{
    int stages = (int)c->stages;

    for (int t = 0; t < micros + stages - 1; t++) {
        meet(c, 0);
        for (int k = 0; k < stages; k++)
            if (is_micro(t - k, micros))
                forward(c, (unsigned)k, t - k);
    }
    for (int t = 0; t < micros + stages - 1; t++) {
        meet(c, 1);
        for (int k = 0; k < stages; k++)
            if (is_micro(t - (stages - 1 - k), micros))
                backward(c, (unsigned)k, t - (stages - 1 - k));
    }
}

static void interleaved(struct chips *c, int micros)
{
    int stages = (int)c->stages;

    for (int p = 0; p < 2 * (micros + stages - 1); p++) {
        meet(c, (unsigned)(p % 2));
        for (int k = 0; k < stages; k++) {
            int f = p - k, b = p - (2 * stages - 1 - k);

            if (f % 2 == 0 && is_micro(f / 2, micros))
                forward(c, (unsigned)k, f / 2);
            if (b % 2 == 0 && b >= 0 && is_micro(b / 2, micros))
                backward(c, (unsigned)k, b / 2);
        }
    }
}

/* Runs a schedule on chips; returns when the last one is ready. */
static uint64_t run_chips(struct chips *c)
{
    int micros = (int)c->s->micros;
    uint64_t latest = 0;

    c->stages = c->s->stages;
    switch (c->s->kind) {
    case PIPELINE_sequential:
        sequential(c, micros);
        break;
    case PIPELINE_grouped:
        grouped(c, micros, (int)c->s->phases);
        break;
    case PIPELINE_gpipe:
        gpipe(c, micros);
        break;
    default:
        interleaved(c, micros);
    }
    for (unsigned k = 0; k < c->stages; k++) {
        assert_int_equal(c->f_done[k], micros);
        assert_int_equal(c->b_done[k], micros);
        latest = c->time[k] > latest ? c->time[k] : latest;
    }
    return latest;
}

/* Everything that is said of a schedule against the chips. */
static void compare(const struct pipeline_schedule *s, struct chips *c)
{
    const struct pipeline_times t = { c->f, c->b, c->arrive, c->exchange };
    uint64_t cycles;

    c->s = s;
    cycles = run_chips(c);
    assert_int_equal(c->wrong, 0);
    assert_int_equal(pipeline_cycles(s, &t), cycles);
    assert_int_equal(pipeline_exchanges(s), c->meetings);
    for (unsigned k = 0; k < s->stages; k++)
        assert_int_equal(pipeline_stash_rows(s, k), c->kept[k]);
}

static void random_pipelines(void **state)
{
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);
    static struct chips c;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        uint64_t draw = hash_mix(seed);
        unsigned kind = random_below(&draw, EMU_COUNT_OF(kinds)),
                 stages = 2 + random_below(&draw, 3);
        uint32_t micros = stages + random_below(&draw, MICROS + 1 - stages);
        struct pipeline_schedule s =
            schedule_of(kinds[kind].name, kinds[kind].exchanges, stages, micros);

        memset(&c, 0, sizeof(c));
        c.exchange = random_below(&draw, 2) ? random_below(&draw, 1000) : 0;
        for (unsigned k = 0; k < stages; k++) {
            c.f[k] = random_below(&draw, 3000);
            c.b[k] = random_below(&draw, 9000);
            c.arrive[k] = random_below(&draw, 2) ? random_below(&draw, 100) : 0;
        }
        compare(&s, &c);
    }
}

/* All numbers of stages, also the smallest and the largest. */
static void all_sizes(void **state)
{
    static struct chips c;

    (void)state;
    for (unsigned kind = 0; kind < EMU_COUNT_OF(kinds); kind++) {
        for (unsigned stages = 1; stages <= STAGES; stages++) {
            for (uint32_t micros = stages; micros <= MICROS; micros += 1 + stages) {
                struct pipeline_schedule s =
                    schedule_of(kinds[kind].name, kinds[kind].exchanges, stages, micros);

                memset(&c, 0, sizeof(c));
                for (unsigned k = 0; k < stages; k++) {
                    c.f[k] = 10 + k;
                    c.b[k] = 40 - 3 * k;
                }
                c.exchange = 1;
                compare(&s, &c);
            }
        }
    }
}

/* A ring of one row less gives a stage another micro batch, if it has rows to spare. */
static void no_ring_is_too_long(void **state)
{
    static struct chips c;

    (void)state;
    for (unsigned kind = 0; kind < EMU_COUNT_OF(kinds); kind++) {
        struct pipeline_schedule s = schedule_of(kinds[kind].name, kinds[kind].exchanges, 4, 9);

        memset(&c, 0, sizeof(c));
        c.s = &s;
        c.shorter = 1;
        run_chips(&c);
        assert_true(c.wrong > 0);
    }
}

/* ---- formulas ---- */

static const uint64_t balanced_f[] = { 1, 1, 1, 1 }, balanced_b[] = { 3, 3, 3, 3 };
/* EfficientNet-B4-G16 cut at block4a, thousand cycles. */
static const uint64_t block4a_f[] = { 591, 975 }, block4a_b[] = { 2367, 2517 };

static uint64_t cycles_of(const char *name, unsigned exchanges, unsigned stages, uint32_t micros,
                          const uint64_t *f, const uint64_t *b, uint64_t exchange)
{
    const struct pipeline_times t = { f, b, NULL, exchange };
    struct pipeline_schedule s = schedule_of(name, exchanges, stages, micros);

    return pipeline_cycles(&s, &t);
}

static void balanced_stages(void **state)
{
    const struct pipeline_times t = { balanced_f, balanced_b, NULL, 0 };
    static const double bubbles[][3] = { { 16, 5.88, 15.79 },
                                         { 32, 3.03, 8.57 },
                                         { 64, 1.54, 4.48 },
                                         { 128, 0.78, 2.29 },
                                         { 256, 0.39, 1.16 } };

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(bubbles); i++) {
        uint32_t micros = (uint32_t)bubbles[i][0];

        for (unsigned stages = 2; stages <= 4; stages += 2) {
            for (unsigned kind = 1; kind < EMU_COUNT_OF(kinds); kind++) {
                struct pipeline_schedule s =
                    schedule_of(kinds[kind].name, kinds[kind].exchanges, stages, micros);

                if (s.kind == PIPELINE_interleaved)
                    continue;
                assert_int_equal(pipeline_cycles(&s, &t), 4 * (micros + stages - 1));
                assert_int_equal(pipeline_slot(&s, &t), 4);
                assert_int_equal(pipeline_fill(&s, &t), 4 * (stages - 1));
                assert_true(fabs(100 * pipeline_bubble(&s, &t) - bubbles[i][stages / 2]) < 0.005);
                assert_true(fabs(pipeline_idle(&s, &t, PIPELINE_NONE) - pipeline_bubble(&s, &t)) <
                            1e-12);
            }
        }
        assert_int_equal(cycles_of("interleaved", 0, 2, micros, balanced_f, balanced_b, 0),
                         6 * (micros - 1) + 8);
    }
}

static void two_uneven_stages(void **state)
{
    static const uint32_t rows[][4] = { { 16, 58830, 79710, 103200 },
                                        { 32, 114702, 157854, 206400 },
                                        { 64, 226446, 314142, 412800 },
                                        { 128, 449934, 626718, 825600 },
                                        { 256, 896910, 1251870, 1651200 } };
    const struct pipeline_times t = { block4a_f, block4a_b, NULL, 58 };
    struct pipeline_schedule s;

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(rows); i++) {
        uint32_t k = rows[i][0];

        assert_int_equal(cycles_of("grouped", 2, 2, k, block4a_f, block4a_b, 0), rows[i][1]);
        assert_int_equal(cycles_of("gpipe", 0, 2, k, block4a_f, block4a_b, 0), rows[i][1]);
        assert_int_equal(cycles_of("interleaved", 0, 2, k, block4a_f, block4a_b, 0), rows[i][2]);
        assert_int_equal(cycles_of("sequential", 0, 2, k, block4a_f, block4a_b, 0), rows[i][3]);
        assert_int_equal(cycles_of("sequential", 0, 2, k, block4a_f, block4a_b, 7),
                         rows[i][3] + 2 * 2 * k * 7);
        assert_int_equal(cycles_of("grouped", 2, 2, k, block4a_f, block4a_b, 7),
                         rows[i][1] + 2 * (k + 1) * 7);
        assert_int_equal(cycles_of("grouped", 1, 2, k, block4a_f, block4a_b, 7),
                         (k - 1) * (975 + 2517) + 591 + (975 + 2517) + 2367 + (k + 2) * 7);
    }
    s = schedule_of("grouped", 2, 2, 16);
    assert_int_equal(pipeline_slot(&s, &t), 975 + 2517 + 2 * 58);
    s = schedule_of("grouped", 1, 2, 16);
    assert_int_equal(pipeline_slot(&s, &t), 975 + 2517 + 58);
    s = schedule_of("interleaved", 0, 2, 16);
    assert_int_equal(pipeline_slot(&s, &t), 2517 + 2367 + 2 * 58);
    s = schedule_of("sequential", 0, 2, 16);
    assert_int_equal(pipeline_slot(&s, &t), 591 + 975 + 2367 + 2517 + 4 * 58);
}

static void rows_say(const char *name, unsigned exchanges, const uint32_t rows[4])
{
    struct pipeline_schedule s = schedule_of(name, exchanges, 4, 16);

    for (unsigned k = 0; k < 4; k++)
        assert_int_equal(pipeline_stash_rows(&s, k), rows[k]);
}

static void four_stages_keep(void **state)
{
    struct pipeline_schedule s = schedule_of("grouped", 1, 4, 16);

    (void)state;
    rows_say("grouped", 1, (const uint32_t[]){ 7, 5, 3, 1 });
    rows_say("grouped", 2, (const uint32_t[]){ 7, 5, 3, 1 });
    rows_say("interleaved", 0, (const uint32_t[]){ 4, 3, 2, 1 });
    rows_say("sequential", 0, (const uint32_t[]){ 1, 1, 1, 1 });
    rows_say("gpipe", 0, (const uint32_t[]){ 16, 16, 16, 16 });
    assert_int_equal(pipeline_edge_rows(&s, 0, 1), 1);
    assert_int_equal(pipeline_edge_rows(&s, 0, 3), 3);
    assert_int_equal(pipeline_edge_rows(&s, 3, 1), 2);
    s = schedule_of("interleaved", 0, 4, 16);
    assert_int_equal(pipeline_edge_rows(&s, 0, 3), 2);
    s = schedule_of("sequential", 0, 4, 16);
    assert_int_equal(pipeline_edge_rows(&s, 0, 3), 1);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Any times: one exchange in a time step is never slower than two. */
static void orders_of_schedules(void **state)
{
    uint64_t draw = 17;

    (void)state;
    for (unsigned i = 0; i < SEEDS; i++) {
        unsigned stages = 2 + random_below(&draw, 3);
        uint32_t micros = stages + random_below(&draw, MICROS);
        uint64_t f[4], b[4], y = random_below(&draw, 50), one, two;

        for (unsigned k = 0; k < stages; k++) {
            f[k] = random_below(&draw, 1000);
            b[k] = random_below(&draw, 3000);
        }
        one = cycles_of("grouped", 1, stages, micros, f, b, y);
        two = cycles_of("grouped", 2, stages, micros, f, b, y);
        assert_true(one <= two);
        assert_int_equal(two, cycles_of("gpipe", 0, stages, micros, f, b, y));
        assert_true(two <= cycles_of("sequential", 0, stages, micros, f, b, y));
        if (stages == 2)
            assert_int_equal(one, (micros - 2) * larger(f[0] + b[0], f[1] + b[1]) + f[0] +
                                      larger(f[0], f[1] + b[1]) + larger(f[1] + b[1], b[0]) + b[0] +
                                      (micros + 2) * y);
    }
}

/* ---- pictures and refusals ---- */

static void drawn(const char *name, unsigned exchanges, unsigned stages, uint32_t micros,
                  const char *expected)
{
    struct pipeline_schedule s = schedule_of(name, exchanges, stages, micros);
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    pipeline_draw(&s, f);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
}

static void pictures(void **state)
{
    const struct pipeline_times t = { balanced_f, balanced_b, NULL, 0 };
    struct pipeline_schedule s;

    (void)state;
    drawn("gpipe", 0, 4, 4,
          "stage 0  F0 F1 F2 F3 .  .  .  .  .  .  B0 B1 B2 B3\n"
          "stage 1  .  F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3 .\n"
          "stage 2  .  .  F0 F1 F2 F3 .  .  B0 B1 B2 B3 .  .\n"
          "stage 3  .  .  .  F0 F1 F2 F3 B0 B1 B2 B3 .  .  .\n");
    drawn("grouped", 1, 2, 4,
          "stage 0  F0   F1   F2B0 F3B1 B2   B3\n"
          "stage 1  .    F0B0 F1B1 F2B2 F3B3 .\n");
    drawn("grouped", 2, 2, 4,
          "stage 0  F0 F1 .  F2 B0 F3 B1 .  B2 B3\n"
          "stage 1  .  F0 B0 F1 B1 F2 B2 F3 B3 .\n");
    drawn("interleaved", 0, 2, 4,
          "stage 0  F0 .  F1 B0 F2 B1 F3 B2 .  B3\n"
          "stage 1  .  F0 B0 F1 B1 F2 B2 F3 B3 .\n");
    s = schedule_of("sequential", 0, 4, 4);
    assert_true(fabs(pipeline_idle(&s, &t, PIPELINE_NONE) - 0.75) < 1e-12);
    s = schedule_of("gpipe", 0, 4, 4);
    assert_true(fabs(pipeline_idle(&s, &t, PIPELINE_NONE) - 3.0 / 7) < 1e-12);
    assert_true(fabs(pipeline_idle(&s, &t, 2) - 3.0 / 7) < 1e-12);
}

static void refused(const char *name, unsigned exchanges, unsigned stages, uint32_t micros,
                    const char *says)
{
    const struct pipeline_options o = { name, exchanges, stages, micros };
    struct pipeline_schedule s;

    assert_int_equal(pipeline_schedule_make(&o, &s), EMU_USAGE);
    error_says(says);
}

static void what_is_refused(void **state)
{
    (void)state;
    refused("gpip", 0, 2, 4,
            "--schedule gpip: expected grouped, interleaved, sequential or gpipe|"
            "did you mean 'gpipe'?");
    refused("1f1b", 0, 2, 4, "--schedule 1f1b: expected grouped");
    refused("gpipe", 2, 2, 4, "--exchanges 2: only the grouped schedule|and --schedule is gpipe");
    refused(NULL, 3, 2, 4, "--exchanges 3: expected 1 or 2");
    refused(NULL, 0, 2, 1, "--accumulate 1: expected at least 2 micro batches, one for each stage");
    refused(NULL, 0, 4, 3, "--accumulate 3: expected at least 4");
    refused(NULL, 0, 2, 1 << 21, "--accumulate 2097152: expected at most 1048576");
    refused(NULL, 0, 9, 20, "a pipeline has 1 to 8 stages, not 9");
    refused(NULL, 0, 0, 20, "a pipeline has 1 to 8 stages, not 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balanced_stages),     cmocka_unit_test(two_uneven_stages),
        cmocka_unit_test(four_stages_keep),    cmocka_unit_test(random_pipelines),
        cmocka_unit_test(all_sizes),           cmocka_unit_test(no_ring_is_too_long),
        cmocka_unit_test(orders_of_schedules), cmocka_unit_test(pictures),
        cmocka_unit_test(what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
