/* test_stages.c - networks on several chips: stages give what one chip gives, wherever the graph is
 * cut; both engines and any number of threads agree to the cycle and the bit; what does not fit is
 * planned again, alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/job/run_image.h"
#include "emu/profile/bill.h"
#include "models/pass/op_pass.h"
#include "models/system/system.h"
#include "tests/fixtures/random_operators.h"
#include "tests/fixtures/seed_range.h"
#include "tests/fixtures/split_fixture.h"
#include "tests/fixtures/train_networks.h"

#define OK(expr) assert_int_equal(expr, EMU_OK)

enum { CHIPS_MAX = 4, SEEDS = 40, SEEDS_LONG = 4000 };

/* A network, and where it runs. */
struct trial {
    const struct op_graph *g; /* borrowed, like the next two */
    const struct op_tensor *in;
    const char *cut; /* NULL: chosen, or none */
    unsigned chips, threads;
    int timing, plain;
    enum elem real;
    uint32_t mem_bytes; /* 0: those of the machine */
};

/* What came of it. */
struct made {
    struct op_tensor *out; /* owned; by output; without numbers by timing */
    uint64_t cycles;
    char digest[SYSTEM_DIGEST_TEXT];
    int fits;
};

static struct arch machine_of(const struct trial *t)
{
    struct arch a = *ss_arch_preset("mk2");

    OK(ss_arch_set(&a, "tiles=32"));
    a.chips = t->chips;
    if (t->mem_bytes)
        a.mem_bytes = t->mem_bytes;
    OK(ss_arch_check(&a));
    return a;
}

static void run(const struct trial *t, struct system *s, struct made *m)
{
    const struct session_options o = {
        .threads = t->threads, .timing = t->timing, .plain = t->plain, .record = 1
    };

    OK(system_start(s, &o));
    for (uint32_t k = 0; k < t->g->inputs; k++)
        OK(system_write(s, t->g->input[k], &t->in[k]));
    if (system_run(s) != EMU_OK)
        fail_msg("%s: %s", t->cut ? t->cut : "whole", ss_error());
    for (uint32_t k = 0; !t->timing && k < t->g->outputs; k++)
        OK(system_read(s, t->g->output[k], &m->out[k]));
    m->cycles = ss_session_cycles(s->session);
    system_digest_text(s, m->digest);
    OK(system_bill(s));
}

/* The rows of all stages add up to what all chips did. */
static void bill_is_whole(const struct trial *t, const struct system *s)
{
    const struct run *r = ss_session_run_image(s->session);
    uint64_t sum = 0, all = 0;

    for (uint32_t k = 0; k < s->layers.rows; k++)
        sum += s->layers.row[k].cycles;
    for (uint32_t k = 0; k < t->chips; k++)
        all += ss_bill_of_group(r->chip[k].record, 0).total;
    assert_int_equal(sum, all);
}

static struct made make(const struct trial *t)
{
    const struct system_options o = { .program = { .lower = { .real = t->real },
                                                   .compile = { .threads = 1 } },
                                      .folder = "",
                                      .chips = t->chips,
                                      .cut = t->cut };
    struct arch a = machine_of(t);
    struct made m = { .out = emu_alloc(t->g->outputs + 1, sizeof(*m.out)) };
    struct system s;

    assert_non_null(m.out);
    system_init(&s, &a, t->g, &o);
    if (system_build(&s) != EMU_OK)
        fail_msg("%s: %s", t->cut ? t->cut : "whole", ss_error());
    m.fits = system_fits(&s);
    if (m.fits) {
        OK(system_bill_layers(&s));
        run(t, &s, &m);
        bill_is_whole(t, &s);
    }
    system_free(&s);
    return m;
}

static void made_free(const struct trial *t, struct made *m)
{
    for (uint32_t k = 0; k < t->g->outputs; k++)
        op_tensor_free(&m->out[k]);
    ss_free(m->out);
}

/* Stages are planned for themselves, so sums are rounded in another order: as near to f64 as f16
 * is. */
static void is_near(const struct trial *t, const struct made *m, const struct op_tensor *want)
{
    for (uint32_t k = 0; k < t->g->outputs; k++) {
        double largest = 1e-3;

        for (uint64_t i = 0; i < op_shape_count(&want[k].shape); i++)
            largest = fmax(largest, fabs(op_tensor_number(&want[k], i)));
        for (uint64_t i = 0; i < op_shape_count(&want[k].shape); i++) {
            double a = op_tensor_number(&want[k], i), b = op_tensor_number(&m->out[k], i);

            if (!(fabs(a - b) <= 0.02 * largest))
                fail_msg("%s: output %u [%llu] is %.9g, expected %.9g", t->cut ? t->cut : "whole",
                         k, (unsigned long long)i, b, a);
        }
    }
}

static void are_equal(const struct trial *t, const struct made *a, const struct made *b)
{
    for (uint32_t k = 0; k < t->g->outputs; k++)
        assert_memory_equal(a->out[k].any, b->out[k].any,
                            op_shape_count(&a->out[k].shape) * sizeof(double));
}

/* All ways to run one split. */
static void try_ways(struct trial t, const struct op_tensor *want)
{
    struct made first, other;

    t.threads = 1;
    first = make(&t);
    assert_true(first.fits);
    is_near(&t, &first, want);
    t.threads = 2;
    other = make(&t);
    assert_string_equal(other.digest, first.digest);
    assert_int_equal(other.cycles, first.cycles);
    are_equal(&t, &first, &other);
    made_free(&t, &other);
    t.plain = 1;
    other = make(&t);
    assert_string_equal(other.digest, first.digest);
    assert_int_equal(other.cycles, first.cycles);
    made_free(&t, &other);
    t.plain = 0;
    t.timing = 1;
    other = make(&t);
    assert_int_equal(other.cycles, first.cycles);
    made_free(&t, &other);
    made_free(&t, &first);
}

/* ---- tests ---- */

static void (*const drafts[])(void) = { relu_and_tanh,  batch_norms, layer_norms, class_token,
                                        residual_block, pools,       u_net };

/* Small networks at every place, on two chips. */
static void two_stages(void **state)
{
    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(drafts); k++) {
        struct op_graph *g = draft_network(drafts[k]);
        struct split_places p;
        struct whole w;

        OK(pass_all(g));
        OK(split_places(g, 1, &p));
        assert_true(p.count > 0);
        whole_begin(&w, g, NULL);
        for (uint32_t i = 0; i < p.count; i += 1 + p.count / 4)
            try_ways((struct trial){ g, w.in, p.at[i].name, 2, .real = ELEM_F16 }, w.out);
        whole_end(&w);
        split_places_free(&p);
        op_graph_free(g);
    }
}

/* As many stages as there are, chosen by the system, in both types. */
static void many_stages(void **state)
{
    (void)state;
    for (unsigned chips = 1; chips <= CHIPS_MAX; chips++) {
        struct op_graph *g = draft_network(u_net);
        struct whole w;

        OK(pass_all(g));
        whole_begin(&w, g, NULL);
        try_ways((struct trial){ g, w.in, NULL, chips, .real = ELEM_F16 }, w.out);
        whole_end(&w);
        op_graph_free(g);
    }
}

/* Every operator, cut somewhere: inputs, outputs and edges of all types and ranks. In f32 so that
 * numbers stay near f64. */
static void random_graphs(void **state)
{
    struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);
    unsigned tried = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct random_operators *r = random_operators_new(seed, 0, NULL);
        struct split_places p = { .count = 0 };
        struct whole w;

        if (!r->is_large && !r->has_steps && !ro_trains(seed)) {
            OK(pass_all(r->g));
            OK(pass_widen(r->g, NULL));
            OK(op_lower_check(r->g));
            if (!r->g->problems)
                OK(split_places(r->g, 1, &p));
        }
        for (uint32_t i = (uint32_t)seed % (p.count + 1); i < p.count; i = p.count) {
            struct trial t = { r->g, NULL, p.at[i].name, 2, .threads = 1, .real = ELEM_F32 };
            struct made m;

            whole_begin(&w, r->g, NULL);
            t.in = w.in;
            m = make(&t);
            if (m.fits)
                is_near(&t, &m, w.out);
            tried += (unsigned)m.fits;
            made_free(&t, &m);
            whole_end(&w);
        }
        split_places_free(&p);
        random_operators_free(r);
    }
    assert_true(seeds.count == 1 || tried * 10 >= seeds.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_stages),
        cmocka_unit_test(many_stages),
        cmocka_unit_test(random_graphs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
