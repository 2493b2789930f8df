/* test_pipeline_program.c - programs of stages on chips: every F and B sees the numbers of its own
 * micro batch, whatever the schedule; the interpreter, the machine and the timing engine agree;
 * cycles are those of pipeline_cycles(); code is as long for any number of micro batches.
 *
 * The stages of the test have an edge from each to every other one, past all between: forward and
 * back. Each number says who made it and for which micro batch. What F and B read is written down,
 * row by row.
 */
#include "tests/fixtures/chip_system.h"

#include "models/pipeline/pipeline_time.h"
#include "models/pipeline/stage_program.h"

enum { STAGES = 4, WORDS = 8, MICROS = 32, COLUMNS = 8, MAX_CYCLE = 100000000 };

static const struct {
    const char *name;
    unsigned exchanges;
} kinds[] = {
    { "sequential", 0 }, { "grouped", 1 }, { "grouped", 2 }, { "interleaved", 0 }, { "gpipe", 0 },
};

/* ---- stages ---- */

/* What a stage says in F and in B of a micro batch. */
static float said(unsigned stage, int backward, uint32_t micro)
{
    return (float)(1000 * (stage + 1) + (backward ? 500 : 0) + micro);
}

/* How often each stage repeats a small fill in F and in B, to take its time. */
struct delays {
    uint32_t f[STAGES], b[STAGES];
};

struct trial {
    struct pipeline_schedule s;
    struct delays delay;
    uint32_t less; /* rows by which stashes and rings are too short */
    struct graph *g[STAGES];
    /* Rows of what F and B have read, and of which micro batch they thought they were. */
    struct tensor f_log[STAGES], b_log[STAGES];
    struct compiled *c;
    long live; /* allocations before */
};

/* One of F or B under construction. */
struct side {
    struct program seq;
    struct tensor count; /* micro batches begun */
    struct tensor column[COLUMNS];
    unsigned columns;
    struct tensor out; /* what goes to other stages */
};

static struct tensor kept_zero(struct graph *g, uint32_t n, const char *name)
{
    static const float zeros[WORDS];
    struct tensor t = ss_graph_variable(g, ELEM_F32, SHAPE(n), name);

    ss_graph_map(g, t, 0);
    ss_graph_set_initial(g, t, zeros);
    ss_graph_keep(g, t);
    return t;
}

static void add_column(struct graph *g, struct side *x, struct tensor t)
{
    x->column[x->columns++] = ss_tensor_slice(g, ss_tensor_flatten(g, t), 0, 0, 1);
}

static void side_begin(struct graph *g, struct side *x)
{
    x->seq = ss_program_sequence(g);
    x->count = kept_zero(g, 1, "count");
    x->out = ss_graph_variable(g, ELEM_F32, SHAPE(WORDS), "out");
    ss_graph_map_linear(g, x->out, 2, 2, 1, 4);
    add_column(g, x, ss_op_binary_scalar(g, x->seq, BINARY_ADD, x->count, 0, "now"));
}

static uint32_t shorter(const struct trial *x, uint32_t rows)
{
    return rows > x->less ? rows - x->less : 1;
}

/* Writes the row down, says what the stage says, counts, and waits. Returns the log. */
static struct tensor side_end(struct trial *x, struct graph *g, struct side *side, float base,
                              uint32_t delay)
{
    struct row_loop rows = ss_op_row_loop(g, x->s.micros, "row");
    struct loop_rows log = ss_op_loop_rows(g, &rows, ELEM_F32, 1, COLUMNS, "log");
    struct tensor dust = ss_graph_variable(g, ELEM_F32, SHAPE(4), "dust"), row, next;
    struct program wait = ss_program_sequence(g);

    while (side->columns < COLUMNS)
        side->column[side->columns++] = side->column[0];
    row = ss_tensor_reshape(g, ss_tensor_concat(g, side->column, COLUMNS, 0), SHAPE(1, COLUMNS));
    ss_op_row_put(g, side->seq, &rows, &log, row, "write down");
    ss_op_row_next(g, side->seq, &rows, "next");
    next = ss_op_binary_scalar(g, side->seq, BINARY_ADD, side->count, base, "say");
    ss_program_add(g, side->seq,
                   ss_program_copy(g, ss_tensor_broadcast(g, next, 0, WORDS), side->out));
    next = ss_op_binary_scalar(g, side->seq, BINARY_ADD, side->count, 1, "one more");
    ss_program_add(g, side->seq, ss_program_copy(g, next, side->count));
    ss_graph_map(g, dust, 3);
    ss_op_fill(g, wait, dust, 1, "dust");
    ss_program_add(g, side->seq, ss_program_repeat(g, delay, wait));
    ss_graph_keep(g, log.all);
    return log.all;
}

/* The end of an edge at a stage: it sends, or it reads and writes down what it has read. */
static void edge_end(struct trial *x, unsigned stage, unsigned from, unsigned to, struct side *side,
                     struct stage_edge *e, struct program *arrived)
{
    struct graph *g = x->g[stage];
    enum channel_way way = from == stage ? CHANNEL_SEND : CHANNEL_RECEIVE;
    uint32_t rows = shorter(x, pipeline_edge_rows(&x->s, from, to));
    char name[32];

    snprintf(name, sizeof(name), "%u to %u", from, to);
    *e = (struct stage_edge){ .from = from, .to = to };
    e->use.channel = ss_graph_channel(g, way, ELEM_F32, WORDS, 0, name);
    if (from == stage) {
        e->use.t = side->out;
        return;
    }
    e->use.t = ss_graph_variable(g, ELEM_F32, SHAPE(WORDS), name);
    ss_graph_map_linear(g, e->use.t, 2, 2, 5, 4);
    add_column(g, side, stage_ring(g, rows, e->use.t, side->seq, arrived, name));
    e->arrived = arrived;
}

static void add_edges(struct trial *x, unsigned stage, struct side *f, struct side *b,
                      struct stage_edge *e, struct program *arrived)
{
    for (unsigned other = 0; other < x->s.stages; other++) {
        unsigned low = other < stage ? other : stage, high = other < stage ? stage : other;

        if (other == stage)
            continue;
        edge_end(x, stage, low, high, f, e++, arrived++);
        edge_end(x, stage, high, low, b, e++, arrived++);
    }
}

static void make_stage(struct trial *x, unsigned stage)
{
    struct graph *g = x->g[stage] = graph_of_chips("toy16", x->s.stages);
    struct stage_edge edge[2 * STAGES];
    struct program arrived[2 * STAGES], all = ss_program_sequence(g);
    struct side f = { 0 }, b = { 0 };
    struct stage_stash stash =
        stage_stash_new(g, shorter(x, pipeline_stash_rows(&x->s, stage)), ELEM_F32, WORDS, "stash");
    struct stage_parts parts = { .edge = edge, .edges = 2 * (x->s.stages - 1) };

    side_begin(g, &f);
    side_begin(g, &b);
    add_column(g, &b, f.count);
    add_column(g, &b, stage_stash_get(g, b.seq, &stash, "kept"));
    add_edges(x, stage, &f, &b, edge, arrived);
    x->f_log[stage] = side_end(x, g, &f, said(stage, 0, 0), x->delay.f[stage]);
    stage_stash_put(g, f.seq, &stash, f.out, "keep");
    x->b_log[stage] = side_end(x, g, &b, said(stage, 1, 0), x->delay.b[stage]);
    parts.f = ss_graph_function(g, f.seq, "F");
    parts.b = ss_graph_function(g, b.seq, "B");
    ss_program_add(g, all, stage_program(g, &x->s, stage, &parts));
    if (x->s.stages > 1)
        ss_program_add(g, all, ss_program_exchange_chips(g, CHIPS_OF_REPLICA, NULL, 0));
    ss_graph_set_program(g, all);
}

static void trial_new(struct trial *x, unsigned kind, unsigned stages, uint32_t micros,
                      const struct delays *delay, uint32_t less)
{
    const struct pipeline_options o = { kinds[kind].name, kinds[kind].exchanges, stages, micros };
    const struct compile_options co = { .threads = 1 };

    *x = (struct trial){ .delay = *delay, .less = less, .live = alloc_live() };
    OK(pipeline_schedule_make(&o, &x->s));
    for (unsigned k = 0; k < stages; k++)
        make_stage(x, k);
    OK(ss_graphs_compile(x->g, stages, &co, &x->c));
    assert_true(ss_compiled_fits(x->c));
}

static void trial_free(struct trial *x)
{
    ss_compiled_free(x->c);
    for (unsigned k = 0; k < x->s.stages; k++)
        ss_graph_free(x->g[k]);
    assert_int_equal(alloc_live(), x->live);
}

static const struct delays delays = { { 20, 50, 30, 40 }, { 55, 35, 70, 45 } };

/* ---- values ---- */

/* F that stage k has finished when it begins B of a micro batch. */
static uint32_t forwards_before(const struct pipeline_schedule *s, unsigned k, uint32_t micro)
{
    uint32_t n = s->kind == PIPELINE_grouped       ? micro + 2 * (s->stages - 1 - k) + 1
                 : s->kind == PIPELINE_interleaved ? micro + s->stages - k
                 : s->kind == PIPELINE_sequential  ? micro + 1
                                                   : s->micros;

    return n < s->micros ? n : s->micros;
}

static unsigned expect_row(const struct pipeline_schedule *s, unsigned k, int backward,
                           uint32_t micro, float row[COLUMNS])
{
    unsigned n = 0, first = backward ? k + 1 : 0, end = backward ? s->stages : k;

    row[n++] = (float)micro;
    if (backward) {
        row[n++] = (float)forwards_before(s, k, micro);
        row[n++] = said(k, 0, micro);
    }
    for (unsigned other = first; other < end; other++)
        row[n++] = said(other, backward, micro);
    return n;
}

/* Micro batches of which a stage has read something else than it should have. */
static unsigned wrong_rows(struct trial *x, unsigned k, struct interpreter *p, int backward)
{
    float log[MICROS][COLUMNS], row[COLUMNS];
    unsigned wrong = 0;

    OK(ss_interpreter_read(p, backward ? x->b_log[k] : x->f_log[k], log));
    for (uint32_t m = 0; m < x->s.micros; m++) {
        unsigned n = expect_row(&x->s, k, backward, m, row);

        wrong += memcmp(row, log[m], n * sizeof(*row)) != 0;
    }
    return wrong;
}

static void same_memory(struct trial *x, unsigned k, struct chip_system *s, struct interpreter *p)
{
    const struct graph *g = x->g[k];

    for (uint32_t v = 0; v < g->variable.count; v++) {
        const struct variable *u = &g->variable.at[v];
        float is[MICROS * COLUMNS], expected[MICROS * COLUMNS];

        if (!u->kept)
            continue;
        assert_true(u->elements <= MICROS * COLUMNS);
        chip_system_move(s, k, v, (uint8_t *)is, 0);
        OK(ss_interpreter_read(p, u->whole, expected));
        assert_memory_equal(is, expected, u->elements * sizeof(*is));
    }
}

/* Runs the interpreter and, unless s is NULL, compares the machine with it. Returns rows that are
 * not those of the micro batch. */
static unsigned run_values(struct trial *x, struct chip_system *s)
{
    struct interpreter *p[STAGES];
    unsigned wrong = 0;

    for (unsigned k = 0; k < x->s.stages; k++)
        OK(ss_interpreter_new(x->g[k], &p[k]));
    OK(ss_interpreters_run(p, x->s.stages, 1, MAX_CYCLE));
    for (unsigned k = 0; k < x->s.stages; k++) {
        wrong += wrong_rows(x, k, p[k], 0) + wrong_rows(x, k, p[k], 1);
        if (s)
            same_memory(x, k, s, p[k]);
    }
    for (unsigned k = 0; k < x->s.stages; k++)
        ss_interpreter_free(p[k]);
    return wrong;
}

static void values_and_timing_agree(void **state)
{
    static const struct delays none = { { 1, 1, 1, 1 }, { 1, 1, 1, 1 } };

    (void)state;
    for (unsigned kind = 0; kind < EMU_COUNT_OF(kinds); kind++) {
        for (unsigned stages = 1; stages <= STAGES; stages++) {
            for (uint32_t micros = stages; micros <= 9; micros += 9 - stages) {
                struct chip_system values, timing;
                struct trial x;

                trial_new(&x, kind, stages, micros, &none, 0);
                chip_system_new(&values, x.c, 1, 0);
                chip_system_run(&values, MAX_CYCLE);
                assert_int_equal(run_values(&x, &values), 0);
                chip_system_new(&timing, x.c, 1, 1);
                chip_system_run(&timing, MAX_CYCLE);
                chip_system_same_records(&values, &timing, kinds[kind].name);
                chip_system_free(&values);
                chip_system_free(&timing);
                trial_free(&x);
            }
        }
    }
}

/* Then B reads the stash of another micro batch, and stages what passed them too late. */
static void rings_one_row_short(void **state)
{
    (void)state;
    for (unsigned kind = 1; kind < EMU_COUNT_OF(kinds); kind++) {
        struct trial x;

        trial_new(&x, kind, 4, 9, &delays, 1);
        assert_true(run_values(&x, NULL) > 9);
        trial_free(&x);
    }
}

/* ---- cycles ---- */

/* What each stage took in a phase, and what all needed to meet. */
struct phase_cycles {
    uint64_t stage[STAGES], meet;
};

/* A schedule timed. */
struct timed {
    struct pipeline_schedule s;
    struct phase_cycles *phase; /* owned; pipeline_exchanges() */
    uint64_t cycles;            /* from the arrival at the first exchange to that behind the last
                                   phase */
};

/* Arrivals of a chip at the syncs of all. */
static void find_phases(const struct record *r, unsigned k, struct phase_cycles *out, size_t phases)
{
    uint64_t release = 0;
    size_t n = 0;

    for (size_t i = 0; i < record_count(r); i++) {
        const struct record_step *step = record_at(r, i);

        if (step->scope != SCOPE_REPLICA)
            continue;
        if (n)
            out[n - 1].stage[k] = step->end - step->sync_cycles - release;
        release = step->end;
        n++;
    }
    assert_int_equal(n, phases + 1);
}

static void timed_new(struct timed *t, unsigned kind, unsigned stages, uint32_t micros)
{
    struct chip_system system;
    struct trial x;
    size_t phases;

    OK(pipeline_schedule_make(
        &(struct pipeline_options){ kinds[kind].name, kinds[kind].exchanges, stages, micros },
        &t->s));
    phases = pipeline_exchanges(&t->s);
    t->phase = emu_alloc(phases, sizeof(*t->phase));
    assert_non_null(t->phase);
    trial_new(&x, kind, stages, micros, &delays, 0);
    chip_system_new(&system, x.c, 1, 1);
    chip_system_run(&system, MAX_CYCLE);
    assert_int_equal(pod_outer_count(system.pod), phases + 1);
    for (size_t i = 0; i < phases; i++) {
        const struct pod_outer *o = pod_outer_at(system.pod, i);

        t->phase[i].meet = o->release - o->latest;
    }
    t->cycles = pod_outer_at(system.pod, phases)->latest - pod_outer_at(system.pod, 0)->latest;
    for (unsigned k = 0; k < stages; k++)
        find_phases(system.record[k], k, t->phase, phases);
    chip_system_free(&system);
    trial_free(&x);
}

static void timed_free(struct timed *t)
{
    ss_free(t->phase);
}

/* What a stage took for F, B, or both in one phase: in the last round but one of those in which all
 * stages work, else the last time but one that it did that. 0: it never does. */
static uint64_t usual_cycles(const struct timed *t, unsigned k, int f, int b)
{
    uint64_t last = 0, found = 0;
    size_t i = 0;

    for (uint32_t r = 0; r < t->s.rounds; r++) {
        for (unsigned p = 0; p < t->s.phases; p++) {
            struct pipeline_work w = pipeline_work_at(&t->s, k, r, p);
            int is = f == (w.f != PIPELINE_NONE) && b == (w.b != PIPELINE_NONE);

            if (!pipeline_has_phase(&t->s, r, p))
                continue;
            if (is && r == t->s.micros - 2)
                return t->phase[i].stage[k];
            found = is ? last : found;
            last = is ? t->phase[i].stage[k] : last;
            i++;
        }
    }
    return found ? found : last;
}

/* F and B as they were measured. A stage that does both in one phase needs its words once, not
 * twice: that part is `arrive`. */
static void measure(const struct timed *t, uint64_t *f, uint64_t *b, uint64_t *arrive)
{
    for (unsigned k = 0; k < t->s.stages; k++) {
        uint64_t both = usual_cycles(t, k, 1, 1);

        f[k] = usual_cycles(t, k, 1, 0);
        b[k] = usual_cycles(t, k, 0, 1);
        arrive[k] = both && f[k] ? f[k] + b[k] - both : 0;
        if (both && f[k]) {
            f[k] = both - b[k];
            b[k] -= arrive[k];
        } else if (both) {
            b[k] = both;
        }
    }
}

/* Cycles by which control code takes less where loops begin and end, in all of a run; by which a
 * run of as few micro batches as stages differs from others in that: some loops are none then. */
enum { CONTROL = 40, FEW_MICROS = 8, MEASURED = 12, PREDICTED = 31 };

/* Cycles beside the formula. */
static int64_t rest_of(const struct timed *t, const struct pipeline_times *times)
{
    return (int64_t)(t->cycles - pipeline_cycles(&t->s, times));
}

static int64_t timed_rest(unsigned kind, unsigned stages, uint32_t micros,
                          const struct pipeline_times *times)
{
    struct timed t;
    int64_t rest;

    timed_new(&t, kind, stages, micros);
    for (size_t i = 0; i < pipeline_exchanges(&t.s); i++)
        assert_int_equal(t.phase[i].meet, times->exchange);
    rest = rest_of(&t, times);
    timed_free(&t);
    return rest;
}

/* From the phases of one run to the cycles of others. What is left is the same for any number of
 * micro batches: one more costs exactly a slot. */
static void cycles_are_predicted(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < EMU_COUNT_OF(kinds); kind++) {
        for (unsigned stages = 2; stages <= STAGES; stages++) {
            uint64_t f[STAGES], b[STAGES], arrive[STAGES];
            struct pipeline_times times = { f, b, arrive, 0 };
            struct timed t;
            int64_t rest;

            timed_new(&t, kind, stages, MEASURED);
            measure(&t, f, b, arrive);
            times.exchange = t.phase[0].meet;
            rest = rest_of(&t, &times);
            timed_free(&t);
            assert_true(rest <= 0 && rest >= -CONTROL);
            assert_int_equal(timed_rest(kind, stages, PREDICTED, &times), rest);
            assert_true(llabs(timed_rest(kind, stages, stages, &times) - rest) < FEW_MICROS);
        }
    }
}

/* ---- code ---- */

static void code_is_as_long_for_any_number(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < EMU_COUNT_OF(kinds); kind++) {
        struct trial few, many;

        trial_new(&few, kind, STAGES, 8, &delays, 0);
        trial_new(&many, kind, STAGES, 256, &delays, 0);
        for (unsigned k = 0; k < STAGES; k++)
            assert_int_equal(ss_compiled_code_bytes(ss_compiled_chip(few.c, k)),
                             ss_compiled_code_bytes(ss_compiled_chip(many.c, k)));
        trial_free(&many);
        trial_free(&few);
    }
}

static void edges_of_others_are_refused(void **state)
{
    static const unsigned ends[][2] = { { 0, 2 }, { 1, 1 }, { 1, 3 } };
    struct pipeline_schedule s;

    (void)state;
    OK(pipeline_schedule_make(&(struct pipeline_options){ .stages = 3, .micros = 3 }, &s));
    for (unsigned i = 0; i < EMU_COUNT_OF(ends); i++) {
        const struct stage_edge e = { .from = ends[i][0], .to = ends[i][1] };
        struct graph *g = graph_of_chips("toy4", 3);
        char says[80];

        stage_program(g, &s, 1, &(struct stage_parts){ .edge = &e, .edges = 1 });
        snprintf(says, sizeof(says), "an edge from stage %u to stage %u in the program of stage 1",
                 e.from, e.to);
        builder_says(g, says);
        ss_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_timing_agree),
        cmocka_unit_test(rings_one_row_short),
        cmocka_unit_test(cycles_are_predicted),
        cmocka_unit_test(code_is_as_long_for_any_number),
        cmocka_unit_test(edges_of_others_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
