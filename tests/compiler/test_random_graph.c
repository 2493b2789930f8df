/* test_random_graph.c - random graphs, compiled and run on the machine with all checks on, against
 * the interpreter of the graph: every kept variable and every stream to the last bit.
 *
 * SUPERSTEP_LONG=1 runs 10,000 seeds. SUPERSTEP_SEED=n[,count] runs these; a single one prints the
 * graph. When a seed fails, steps are left out as long as it still does, and what is left is
 * printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include "emu/tile/tile_check.h"
#include "programs/compiler/compiled.h"
#include "tests/fixtures/apart.h"
#include "tests/fixtures/chip_fixture.h"
#include "tests/fixtures/random_graph.h"
#include "tests/fixtures/record_fixture.h"
#include "tests/fixtures/seed_range.h"

enum {
    SEEDS = 300,
    SEEDS_LONG = 10000,
    SECONDS = 60, /* at most, for one seed */
    MAX_NODES = 100000,
    TEXT_BYTES = 600,
    RUNS_MAX = 2
};

enum graph_outcome { SAME, DOES_NOT_FIT, INVALID, DIFFERS };

struct trial {
    uint64_t seed;
    struct random_graph *r;
    struct interpreter *p;
    struct compiled *c;
    struct session *s;
    void *fed[RUNS_MAX][RG_STREAMS]; /* borrowed by the interpreter */
    unsigned runs;
    char text[TEXT_BYTES]; /* what differs */
};

/* ---- one graph, both ways ---- */

static enum graph_outcome differs(struct trial *t, const char *what)
{
    snprintf(t->text, sizeof(t->text), "%s: %s", what, ss_error());
    return DIFFERS;
}

/* Random contents of a view of a variable, or of all of it. */
static enum graph_outcome write_both(struct trial *t, struct tensor x)
{
    uint64_t n = ss_tensor_elements(t->r->g, x);
    enum elem e = ss_tensor_elem(t->r->g, x);
    void *data = emu_alloc(n, ss_elem_bytes(e));
    enum emu_status a, b;

    assert_non_null(data);
    rg_fill(t->r, e, n, data);
    a = ss_interpreter_write(t->p, x, data);
    b = a == EMU_OK ? ss_session_write(t->s, x, data) : a;
    ss_free(data);
    return b == EMU_OK ? SAME : differs(t, "write");
}

static int is_kept(const struct random_graph *r, unsigned i)
{
    return r->var[i].kept || r->var[i].initial;
}

/* Inputs have values before every run, kept variables before the first one; later the host changes
 * some of them. */
static enum graph_outcome write_variables(struct trial *t)
{
    for (unsigned i = 0; i < t->r->vars; i++) {
        struct tensor x = t->r->var[i].t;

        if (t->r->var[i].input && write_both(t, x) != SAME)
            return DIFFERS;
        if (!is_kept(t->r, i) || (t->runs && rg_chance(t->r, 60)))
            continue;
        if (t->runs)
            x = rg_view(t->r, x, 0);
        if (write_both(t, x) != SAME)
            return DIFFERS;
    }
    return SAME;
}

static enum graph_outcome feed_streams(struct trial *t)
{
    for (unsigned i = 0; i < t->r->streams; i++) {
        const struct rg_stream *x = &t->r->stream[i];
        const struct stream *s = &t->r->g->stream.at[x->stream];
        uint64_t n = s->elements * RG_TRANSFERS;
        void *data = emu_alloc(n, ss_elem_bytes(s->elem));

        assert_non_null(data);
        t->fed[t->runs][i] = data;
        if (x->way != STREAM_IN)
            continue;
        rg_fill(t->r, s->elem, n, data);
        if (ss_interpreter_feed(t->p, x->stream, data, RG_TRANSFERS) != EMU_OK ||
            ss_session_feed(t->s, x->stream, data, RG_TRANSFERS) != EMU_OK)
            return differs(t, "feed");
    }
    return SAME;
}

static enum graph_outcome compare(struct trial *t, const char *name, enum elem e, uint64_t n,
                                  const uint8_t *want, const uint8_t *got)
{
    unsigned size = ss_elem_bytes(e);
    uint64_t bad = 0, first = 0;
    uint32_t w = 0, g = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (memcmp(want + i * size, got + i * size, size) && !bad++)
            first = i;
    }
    if (!bad)
        return SAME;
    memcpy(&w, want + first * size, size);
    memcpy(&g, got + first * size, size);
    snprintf(t->text, sizeof(t->text),
             "run %u: %s: %" PRIu64 " of %" PRIu64 " elements differ, first %" PRIu64
             ": 0x%x, expected 0x%x",
             t->runs, name, bad, n, first, g, w);
    return DIFFERS;
}

static enum graph_outcome compare_tensor(struct trial *t, struct tensor x, const char *name)
{
    uint64_t n = ss_tensor_elements(t->r->g, x);
    enum elem e = ss_tensor_elem(t->r->g, x);
    uint8_t *want = emu_alloc(2 * n, ss_elem_bytes(e)), *got = want + n * ss_elem_bytes(e);
    enum graph_outcome o;

    assert_non_null(want);
    if (ss_interpreter_read(t->p, x, want) != EMU_OK || ss_session_read(t->s, x, got) != EMU_OK)
        o = differs(t, "read");
    else
        o = compare(t, name, e, n, want, got);
    ss_free(want);
    return o;
}

static enum graph_outcome compare_stream(struct trial *t, const struct rg_stream *x)
{
    const struct stream *s = &t->r->g->stream.at[x->stream];
    uint64_t n, m;
    const void *want = ss_interpreter_output(t->p, x->stream, &n);
    void *got;
    enum graph_outcome o = SAME;

    if (ss_session_output(t->s, x->stream, &got, &m) != EMU_OK)
        return differs(t, "output");
    if (n != m) {
        snprintf(t->text, sizeof(t->text), "run %u: %s: %" PRIu64 " transfers, expected %" PRIu64,
                 t->runs, s->name, m, n);
        o = DIFFERS;
    } else if (n) {
        o = compare(t, s->name, s->elem, n * s->elements, want, got);
    }
    ss_free(got);
    return o;
}

static enum graph_outcome compare_all(struct trial *t)
{
    for (unsigned i = 0; i < t->r->vars; i++) {
        struct tensor x = t->r->var[i].t;

        if (!is_kept(t->r, i) && !t->r->var[i].constant)
            continue;
        if (compare_tensor(t, x, t->r->g->variable.at[i].name) != SAME ||
            compare_tensor(t, rg_view(t->r, x, 1), t->r->g->variable.at[i].name) != SAME)
            return DIFFERS;
    }
    for (unsigned i = 0; i < t->r->streams; i++) {
        if (t->r->stream[i].way == STREAM_OUT && compare_stream(t, &t->r->stream[i]) != SAME)
            return DIFFERS;
    }
    return SAME;
}

static enum graph_outcome run_once(struct trial *t)
{
    if (write_variables(t) != SAME || feed_streams(t) != SAME)
        return DIFFERS;
    if (ss_interpreter_run(t->p, MAX_NODES) != EMU_OK) {
        differs(t, "interpreter");
        return INVALID;
    }
    if (ss_session_run(t->s) != EMU_OK)
        return differs(t, "machine");
    return compare_all(t);
}

/* Races, and stores where nobody may. Loads of bytes that nobody wrote are no mistake here: words
 * are moved whole, with whatever lies beside an element, and vectors read after the end. Copies
 * read whole vectors of their source, and their target may lie beside it: no races, they drop these
 * bytes. */
static enum graph_outcome check_reports(struct trial *t)
{
    struct run *run = ss_session_run_image(t->s);

    for (uint32_t i = 0; i < t->r->g->arch.tiles; i++) {
        const struct tile *tile = machine_tile(run->machine, i);
        const struct image_tile *where = image_find_tile(run->im, 0, i);

        for (size_t k = 0; k < tile_check_count(tile); k++) {
            const struct tile_check_report *x = tile_check_report(tile, k);
            uint32_t offset = 0;
            const char *name = image_symbolize(run->im, where, x->pc, &offset);

            if (x->kind == TILE_CHECK_UNWRITTEN ||
                (x->kind == TILE_CHECK_RACE && name && !strncmp(name, "copy_", 5)))
                continue;
            snprintf(t->text, sizeof(t->text), "check: %s at %s+0x%x, tile %u, w%u and w%u, 0x%x",
                     tile_check_name(x->kind), name ? name : "?", offset, i, x->lane, x->other,
                     x->addr);
            return DIFFERS;
        }
    }
    return SAME;
}

/* The parts of the bill are the cycles of the run. */
static enum graph_outcome check_bill(struct trial *t)
{
    struct run *run = ss_session_run_image(t->s);

    return bill_check(run->record, ss_session_cycles(t->s), t->text, sizeof(t->text)) ? SAME
                                                                                      : DIFFERS;
}

/* ---- the same again ---- */

static int segments_equal(const struct image *a, const struct image *b, size_t tile)
{
    const struct image_tile *x = image_tile_at(a, tile), *y = image_tile_at(b, tile);

    if (x->tile != y->tile || x->entry != y->entry || x->group != y->group ||
        x->segments != y->segments)
        return 0;
    for (uint32_t i = 0; i < x->segments; i++) {
        const struct image_segment *s = image_segment_at(a, x->first_segment + i);
        const struct image_segment *t = image_segment_at(b, y->first_segment + i);
        uint32_t n, m;
        const uint8_t *p = image_blob_bytes(a, s->blob, &n), *q = image_blob_bytes(b, t->blob, &m);

        if (s->addr != t->addr || s->bytes != t->bytes || n != m || (n && memcmp(p, q, n)))
            return 0;
    }
    return 1;
}

/* Inputs are zero. */
static enum emu_status clear_inputs(const struct random_graph *r, struct session *s)
{
    for (unsigned i = 0; i < r->vars; i++) {
        struct tensor x = r->var[i].t;
        enum emu_status status;
        void *zero;

        if (!r->var[i].input)
            continue;
        zero = emu_alloc(ss_tensor_elements(r->g, x), ss_elem_bytes(ss_tensor_elem(r->g, x)));
        assert_non_null(zero);
        status = ss_session_write(s, x, zero);
        ss_free(zero);
        TRY(status);
    }
    return EMU_OK;
}

/* Cycles and digest of a run in which nobody wrote anything else before. */
static enum emu_status run_empty(const struct random_graph *r, const struct compiled *c,
                                 unsigned threads, uint64_t *cycles, struct hash128 *digest)
{
    const struct session_options so = { .threads = threads };
    struct session *s;
    enum emu_status status = ss_session_new(c, &so, &s);

    if (status == EMU_OK)
        status = clear_inputs(r, s);
    if (status == EMU_OK)
        status = ss_session_run(s);
    if (status == EMU_OK) {
        *cycles = ss_session_cycles(s);
        *digest = machine_digest(ss_session_run_image(s)->machine);
    }
    ss_session_free(s);
    return status;
}

static int runs_equal(struct trial *t, const struct compiled *other)
{
    struct hash128 digest[2];
    uint64_t cycles[2];

    for (unsigned i = 0; i < t->r->streams; i++) {
        if (t->r->stream[i].way == STREAM_IN)
            return 1; /* needs data */
    }
    return run_empty(t->r, t->c, 1, &cycles[0], &digest[0]) == EMU_OK &&
           run_empty(t->r, other, 2, &cycles[1], &digest[1]) == EMU_OK && cycles[0] == cycles[1] &&
           !memcmp(&digest[0], &digest[1], sizeof(digest[0]));
}

/* Compiled on two threads the image has the same bytes, and run
 * on two threads it does the same. */
static enum graph_outcome run_again(struct trial *t, struct compile_options co)
{
    struct compiled *other;
    int equal = 1;

    co.threads = 2;
    if (ss_graph_compile(t->r->g, &co, &other) != EMU_OK)
        return differs(t, "compiler, once more");
    equal = other->image && image_tile_count(other->image) == image_tile_count(t->c->image);
    for (size_t i = 0; equal && i < image_tile_count(other->image); i++)
        equal = segments_equal(t->c->image, other->image, i);
    if (!equal)
        snprintf(t->text, sizeof(t->text), "the image of two threads is another one");
    else if (!runs_equal(t, other))
        snprintf(t->text, sizeof(t->text), "two threads run differently");
    ss_compiled_free(other);
    return t->text[0] ? DIFFERS : SAME;
}

/* ---- the timing engine ---- */

static enum emu_status run_timed(struct trial *t, struct session *s)
{
    for (unsigned run = 0; run < t->runs; run++) {
        TRY(clear_inputs(t->r, s));
        for (unsigned i = 0; i < t->r->streams; i++) {
            const struct rg_stream *x = &t->r->stream[i];

            if (x->way == STREAM_IN)
                TRY(ss_session_feed(s, x->stream, t->fed[run][i], RG_TRANSFERS));
        }
        TRY(ss_session_run(s));
    }
    return EMU_OK;
}

/* The timing engine, whose memory holds zeros, takes the same cycles on every tile in every
 * superstep. Where these depend on data it is not used. */
static enum graph_outcome check_timing(struct trial *t)
{
    const struct session_options so = {
        .threads = 1 + t->seed % 3, .timing = 1, .record = 1, .record_exchanges = 1
    };
    enum graph_outcome o = SAME;
    struct session *s;
    const char *why;

    if (ss_session_new(t->c, &so, &s) != EMU_OK)
        return differs(t, "timing engine");
    if (ss_run_engine(ss_session_run_image(s), &why) == ENGINE_TIMING) {
        if (run_timed(t, s) != EMU_OK)
            o = differs(t, "timing engine");
        else if (!record_same(ss_session_record(t->s), ss_session_record(s), t->text, TEXT_BYTES))
            o = DIFFERS;
    }
    ss_session_free(s);
    return o;
}

/* ---- one seed ---- */

static enum graph_outcome run_both(struct trial *t)
{
    struct compile_options co = { .threads = 1,
                                  .exchange = t->seed % 3 ? EXCHANGE_CYCLES : EXCHANGE_MEMORY };
    struct session_options so = {
        .threads = 1, .check = 1, .record = 1, .record_exchanges = 1, .plain = t->seed % 16 == 0
    };
    unsigned runs = t->seed % 4 ? 1 : RUNS_MAX;
    enum graph_outcome o;

    if (ss_interpreter_new(t->r->g, &t->p) != EMU_OK) {
        differs(t, "builder");
        return INVALID;
    }
    if (ss_graph_compile(t->r->g, &co, &t->c) != EMU_OK)
        return differs(t, "compiler");
    if (!ss_compiled_fits(t->c))
        return DOES_NOT_FIT;
    if (ss_session_new(t->c, &so, &t->s) != EMU_OK)
        return differs(t, "session");
    for (t->runs = 0; t->runs < runs; t->runs++) {
        o = run_once(t);
        if (o != SAME)
            return o;
    }
    o = check_reports(t);
    if (o == SAME)
        o = check_bill(t);
    if (o == SAME)
        o = check_timing(t);
    return o == SAME && t->seed % 32 == 5 ? run_again(t, co) : o;
}

/* What a seed gave, also when the process that ran it died. */
struct report {
    enum graph_outcome outcome;
    unsigned steps; /* that can be left out */
    char text[TEXT_BYTES];
};

/* dump: NULL, or where the graph is printed before it runs. */
static void try_seed(uint64_t seed, const uint8_t *drop, FILE *dump, struct report *out)
{
    long live = alloc_live();
    struct trial t = { .seed = seed, .r = random_graph_new(seed, drop) };
    enum graph_outcome o;

    out->steps = t.r->step;
    if (dump) {
        ss_graph_dump(t.r->g, dump);
        fflush(dump);
    }
    o = run_both(&t);
    memcpy(out->text, t.text, TEXT_BYTES);
    ss_session_free(t.s);
    ss_compiled_free(t.c);
    ss_interpreter_free(t.p);
    for (unsigned i = 0; i < RUNS_MAX * RG_STREAMS; i++)
        ss_free(t.fed[i / RG_STREAMS][i % RG_STREAMS]);
    random_graph_free(t.r);
    if (alloc_live() != live && o != DIFFERS) {
        o = DIFFERS;
        snprintf(out->text, TEXT_BYTES, "%ld blocks of memory are left", alloc_live() - live);
    }
    out->outcome = o;
}

struct seed_call {
    uint64_t seed;
    const uint8_t *drop;
    FILE *dump;
};

static void call_seed(void *ctx, void *report)
{
    const struct seed_call *c = ctx;

    try_seed(c->seed, c->drop, c->dump, report);
}

/* The same in a process of its own. */
static struct report try_apart(uint64_t seed, const uint8_t *drop, FILE *dump)
{
    struct seed_call c = { seed, drop, dump };
    struct report out;
    char why[64];

    if (!apart(call_seed, &c, SECONDS, &out, sizeof(out), why, sizeof(why))) {
        out.outcome = DIFFERS;
        memcpy(out.text, why, sizeof(why));
    }
    return out;
}

/* ---- the reducer ---- */

/* The first words of a message: what kind of failure it is. */
static int same_kind(const char *a, const char *b)
{
    size_t n = strcspn(a, "0123456789");

    return n == strcspn(b, "0123456789") && !memcmp(a, b, n);
}

/* Leaves out steps, many at a time at first, as long as the seed still fails in the same way. */
static void reduce(uint64_t seed, const struct report *why)
{
    unsigned steps = why->steps ? why->steps : RG_STEPS;
    uint8_t drop[RG_STEPS] = { 0 };
    struct report last = *why;

    for (unsigned n = steps; n; n /= 2) {
        for (unsigned first = 0; first < steps && first < RG_STEPS; first += n) {
            uint8_t before[RG_STEPS];
            struct report now;

            memcpy(before, drop, sizeof(drop));
            for (unsigned i = first; i < first + n && i < RG_STEPS; i++)
                drop[i] = 1;
            if (!memcmp(before, drop, sizeof(drop)))
                continue;
            now = try_apart(seed, drop, NULL);
            if (now.outcome == DIFFERS && same_kind(now.text, why->text))
                last = now;
            else
                memcpy(drop, before, sizeof(drop));
        }
    }
    printf("seed %" PRIu64 ", reduced: %s\n", seed, last.text);
    try_apart(seed, drop, stdout);
}

/* ---- tests ---- */

static void run_seeds(uint64_t first, uint64_t count)
{
    unsigned outcomes[DIFFERS + 1] = { 0 };
    int print = getenv("SUPERSTEP_VERBOSE") && count == 1;

    for (uint64_t seed = first; seed < first + count; seed++) {
        struct report x = try_apart(seed, NULL, print ? stdout : NULL);

        outcomes[x.outcome]++;
        if (x.outcome == DIFFERS || x.outcome == INVALID)
            printf("seed %" PRIu64 ": %s\n", seed, x.text);
        if (x.outcome == DIFFERS && outcomes[DIFFERS] == 1 && !getenv("SUPERSTEP_NO_REDUCE"))
            reduce(seed, &x);
    }
    printf("%u the same, %u do not fit, %u invalid, %u differ\n", outcomes[SAME],
           outcomes[DOES_NOT_FIT], outcomes[INVALID], outcomes[DIFFERS]);
    assert_int_equal(outcomes[DIFFERS] + outcomes[INVALID], 0);
    assert_true(count < 20 || outcomes[DOES_NOT_FIT] <= count / 20);
}

static void random_graphs_agree(void **state)
{
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);

    (void)state;
    run_seeds(seeds.first, seeds.count);
}

/* Every rule is for a codelet of the table; those of the table without a rule are named. */
static void rules_follow_the_table(void **state)
{
    (void)state;
    for (unsigned k = 0; k < rg_rule_count; k++)
        assert_non_null(codelet_find(rg_rules[k].codelet));
    for (unsigned i = 0; i < codelet_count; i++) {
        unsigned k = 0;

        while (k < rg_rule_count && strcmp(rg_rules[k].codelet, codelet_table[i].name))
            k++;
        if (k == rg_rule_count)
            printf("# no random vertices of %s\n", codelet_table[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_agree),
        cmocka_unit_test(rules_follow_the_table),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("random graph", tests, NULL, NULL);
}
