/* test_lower_random.c - random graphs, lowered and run on arrays (lowered_run.c), against the
 * interpreter: every kept variable and every stream to the last bit. Also: the lowering is
 * deterministic, and its check accepts what it makes.
 *
 * SUPERSTEP_LONG=1 runs 10,000 seeds. SUPERSTEP_SEED=n[,count] runs these, a single one with a
 * dump.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include "tests/fixtures/lowered_fixture.h"
#include "tests/fixtures/random_graph.h"
#include "tests/fixtures/seed_range.h"

enum { SEEDS = 150, SEEDS_LONG = 10000, MAX_NODES = 100000 };

struct lower_trial {
    struct random_graph *r;
    struct interpreter *p;
    struct lowered *l;
    struct lowered_run *run;
    void *fed[RG_STREAMS];
};

static char *dump_text(const struct lowered *l)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    lowered_dump(l, f);
    fclose(f);
    return text;
}

static void check_deterministic(const struct lower_trial *t)
{
    struct lowered *again;
    char *a, *b;

    assert_int_equal(lower_graph(t->r->g, NULL, &again), EMU_OK);
    a = dump_text(t->l);
    b = dump_text(again);
    assert_string_equal(a, b);
    free(a);
    free(b);
    lowered_free(again);
}

static void write_both(struct lower_trial *t)
{
    for (unsigned i = 0; i < t->r->vars; i++) {
        const struct rg_variable *v = &t->r->var[i];
        uint8_t *data;

        if (!v->kept && !v->input)
            continue;
        data = emu_alloc(v->elements, ss_elem_bytes(v->elem));
        assert_non_null(data);
        rg_fill(t->r, v->elem, v->elements, data);
        assert_int_equal(ss_interpreter_write(t->p, v->t, data), EMU_OK);
        lowered_run_write(t->run, v->t, data);
        ss_free(data);
    }
    for (unsigned i = 0; i < t->r->streams; i++) {
        const struct rg_stream *x = &t->r->stream[i];
        const struct stream *s = &t->r->g->stream.at[x->stream];
        uint64_t n = s->elements * RG_TRANSFERS;

        t->fed[i] = emu_alloc(n, ss_elem_bytes(s->elem));
        assert_non_null(t->fed[i]);
        if (x->way != STREAM_IN)
            continue;
        rg_fill(t->r, s->elem, n, t->fed[i]);
        assert_int_equal(ss_interpreter_feed(t->p, x->stream, t->fed[i], RG_TRANSFERS), EMU_OK);
        t->run->stream[x->stream].in = t->fed[i];
        t->run->stream[x->stream].in_left = RG_TRANSFERS;
    }
}

static int same_variables(struct lower_trial *t)
{
    int same = 1;

    for (unsigned i = 0; i < t->r->vars; i++) {
        const struct rg_variable *v = &t->r->var[i];
        size_t bytes = (size_t)v->elements * ss_elem_bytes(v->elem);
        uint8_t *want;

        if (!v->kept && !v->constant && !v->initial)
            continue;
        want = emu_alloc(bytes, 2);
        assert_non_null(want);
        assert_int_equal(ss_interpreter_read(t->p, v->t, want), EMU_OK);
        lowered_run_read(t->run, v->t, want + bytes);
        if (memcmp(want, want + bytes, bytes) != 0) {
            printf("variable %u (%s) differs\n", i, t->r->g->variable.at[i].name);
            same = 0;
        }
        ss_free(want);
    }
    return same;
}

static int same_streams(struct lower_trial *t)
{
    for (unsigned i = 0; i < t->r->streams; i++) {
        const struct rg_stream *x = &t->r->stream[i];
        const struct stream *s = &t->r->g->stream.at[x->stream];
        uint64_t n = 0;
        const void *want;

        if (x->way != STREAM_OUT)
            continue;
        want = ss_interpreter_output(t->p, x->stream, &n);
        if (n != t->run->stream[x->stream].outs ||
            (n && memcmp(want, t->run->stream[x->stream].out,
                         n * s->elements * ss_elem_bytes(s->elem)) != 0)) {
            printf("stream %s differs\n", s->name);
            return 0;
        }
    }
    return 1;
}

/* Whether a seed runs alike both ways. */
static int run_seed(uint64_t seed, FILE *dump)
{
    struct lower_trial t = { .r = random_graph_new(seed, NULL) };
    int same = 1;

    if (dump)
        ss_graph_dump(t.r->g, dump);
    assert_int_equal(ss_interpreter_new(t.r->g, &t.p), EMU_OK);
    assert_int_equal(ss_graph_check(t.r->g), EMU_OK);
    if (lower_graph(t.r->g, NULL, &t.l) != EMU_OK || lowered_check(t.l, 0) != EMU_OK) {
        printf("seed %" PRIu64 ": %s\n", seed, ss_error());
        same = 0;
    }
    if (dump && t.l)
        lowered_dump(t.l, dump);
    if (same) {
        check_deterministic(&t);
        t.run = lowered_run_new(t.l);
        write_both(&t);
        assert_int_equal(ss_interpreter_run(t.p, MAX_NODES), EMU_OK);
        if (lowered_run_once(t.run))
            printf("seed %" PRIu64 ": %s\n", seed, t.run->error);
        same = !t.run->error && same_variables(&t) && same_streams(&t);
    }
    lowered_run_free(t.run);
    lowered_free(t.l);
    ss_interpreter_free(t.p);
    for (unsigned i = 0; i < RG_STREAMS; i++)
        ss_free(t.fed[i]);
    random_graph_free(t.r);
    return same;
}

static void random_graphs_agree(void **state)
{
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);
    unsigned bad = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        if (!run_seed(seed, seeds.count == 1 ? stdout : NULL)) {
            printf("seed %" PRIu64 " differs\n", seed);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_graphs_agree) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lower random", tests, NULL, NULL);
}
