/* test_random_operators.c - random operator graphs on a machine of few tiles against the f64
 * reference: every group within its derived bound, the passes keep the meaning, one, two and three
 * threads leave the same bits, and keeping all results changes no output.
 *
 * SUPERSTEP_LONG=1 runs 10,000 seeds, and then every operator that can be drawn must have been.
 * SUPERSTEP_SEED=n[,count] runs these; a single one prints its graph. When a seed fails, it is cut
 * down to as few nodes as still fail, and these are printed with the command that repeats it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "emu/arch/arch.h"
#include "emu/bsp/machine.h"
#include "emu/job/run_image.h"
#include "models/lower/op_program.h"
#include "models/operators/op_print.h"
#include "models/pass/pass_precision.h"
#include "models/bound/compare_groups.h"
#include "tests/fixtures/apart.h"
#include "tests/fixtures/random_operators.h"
#include "tests/fixtures/seed_range.h"

enum {
    SEEDS = 80,
    SEEDS_LONG = 10000,
    SECONDS = 120,
    TEXT_BYTES = 700,
    THREADS = 3,
    RECIPES = 256
};

/* Operators that no recipe draws, since gradients are made of them. */
static const enum op_code gradients[] = { OP_AveragePoolGradient,
                                          OP_BatchNormalizationGradient,
                                          OP_ConvWeightGradient,
                                          OP_GatherGradient,
                                          OP_GroupNormalizationGradient,
                                          OP_LayerNormalizationGradient,
                                          OP_MaxPoolGradient,
                                          OP_UnaryGradient };
enum { GRADIENTS = EMU_COUNT_OF(gradients) };

enum outcome { SAME, DOES_NOT_FIT, DIFFERS };

struct trial {
    uint64_t seed;
    struct random_operators *r;
    struct arch machine;
    struct op_program kept, bare; /* all results are kept, or none */
    struct op_tensor *in, *out;   /* borrowed, by input; owned, by output: what `kept` made */
    char text[TEXT_BYTES];        /* what differs */
};

/* What a seed gave, also when the process that ran it died. */
struct report {
    enum outcome outcome;
    unsigned nodes;
    uint64_t drawn[RECIPES];
    uint64_t gradients[GRADIENTS]; /* nodes that were compared */
    uint64_t groups;
    char text[TEXT_BYTES];
};

static enum outcome differs(struct trial *t, const char *fmt, ...) EMU_PRINTF(2, 3);
static enum outcome differs(struct trial *t, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(t->text, sizeof(t->text), fmt, args);
    va_end(args);
    return DIFFERS;
}

/* ---- passes ---- */

/* Passes compute with other roundings of constants, so whole graphs agree roughly: to 1e-3 of the
 * largest number. */
static enum outcome compare_passed(struct trial *t, uint32_t k, const struct op_tensor *want,
                                   const struct op_tensor *got)
{
    double largest = 1e-3;

    if (!op_shape_equal(&want->shape, &got->shape) || want->shape.type != got->shape.type)
        return differs(t, "passes: output %u has another shape or type", k);
    for (uint64_t i = 0; i < op_shape_count(&want->shape); i++)
        largest = fmax(largest, fabs(op_tensor_number(want, i)));
    for (uint64_t i = 0; i < op_shape_count(&want->shape); i++) {
        double a = op_tensor_number(want, i), b = op_tensor_number(got, i);

        if (!(fabs(a - b) <= 1e-3 * largest) && !(isnan(a) && isnan(b)) && isfinite(largest))
            return differs(t, "passes: output %u [%" PRIu64 "] is %.9g, before them %.9g", k, i, b,
                           a);
    }
    return SAME;
}

/* Numbers beyond f16 would be clipped. */
static enum elem real_of(const struct trial *t)
{
    return t->seed % 2 && !t->r->is_large ? ELEM_F16 : ELEM_F32;
}

static int has_states(const struct op_graph *g)
{
    int found = 0;

    for (uint32_t k = 0; k < g->inputs; k++)
        found |= g->value[g->input[k]].kind == OP_STATE;
    return found;
}

/* As for a run; steps of training are of one type. Some graphs begin in f32 and end in f16. In f32
 * every group is to be as exact as f32 is. */
static enum emu_status prepare(const struct trial *t)
{
    struct op_graph *g = t->r->g;
    int half = real_of(t) == ELEM_F16, begins_wide = half && t->seed % 8 == 5 && !has_states(g);
    struct precision_notes notes;

    TRY(pass_all(g));
    if (half && !has_states(g))
        TRY(pass_precision(g, &notes));
    if (g->nodes && (begins_wide || !half)) {
        TRY(pass_widen(g, half ? g->node[t->seed / 8 % g->nodes].name : NULL));
        TRY(pass_spell_windows(g));
    }
    return op_lower_check(g);
}

/* The graph as it is lowered. */
static enum outcome run_passes(struct trial *t)
{
    struct op_graph *g = t->r->g;
    struct op_tensor *got = emu_alloc(g->outputs + 1, sizeof(*got));
    enum outcome o = SAME;

    assert_non_null(got);
    if (prepare(t) != EMU_OK)
        o = differs(t, "passes: %s", ss_error());
    else if (g->problems)
        o = differs(t, "refused: %s of %s: %s", g->problem[0].op, g->problem[0].inputs,
                    g->problem[0].why);
    else if (op_graph_run(g, t->in, 0, got) != EMU_OK)
        o = differs(t, "reference: %s", ss_error());
    for (uint32_t k = 0; k < g->outputs; k++) {
        if (o == SAME && !t->r->has_steps)
            o = compare_passed(t, k, &ro_output_value(t->r, k)->t, &got[k]);
        op_tensor_free(&got[k]);
    }
    ss_free(got);
    return o;
}

/* ---- the machine ---- */

static int has_node(const struct op_graph *g, enum op_code op)
{
    int found = 0;

    for (uint32_t i = 0; i < g->nodes; i++)
        found |= op_node_is(&g->node[i], op);
    return found;
}

/* A machine of 16 or 64 tiles. Region 1 of the toys is one block of elements, and a product whose
 * operands are transposed there and whose result is there, too, needs two. */
static struct arch machine_of(const struct trial *t)
{
    static const char *const toys[] = { "toy16", "toy64" };
    const struct arch *toy = ss_arch_preset(toys[t->seed / 2 % 2]);
    struct arch a = *toy;

    if (has_node(t->r->g, OP_ConvWeightGradient)) {
        a = *ss_arch_preset("mk2");
        assert_int_equal(ss_arch_set(&a, toy->tiles == 16 ? "tiles=16" : "tiles=64"), EMU_OK);
    }
    return a;
}

static enum outcome compile(struct trial *t, int keep, struct op_program *out)
{
    struct op_program_options o = { .compile = { .threads = 1 } };

    o.lower.real = real_of(t);
    o.lower.partials = t->seed % 3 ? PARTIALS_F16 : PARTIALS_F32;
    o.lower.keep_end = keep ? UINT32_MAX : 0;
    if (op_program_new(&t->machine, t->r->g, &o, out) != EMU_OK)
        return differs(t, "compiler: %s", ss_error());
    return ss_compiled_fits(out->compiled) ? SAME : DOES_NOT_FIT;
}

/* *out: the session after a run, owned; NULL if there is none. */
static enum outcome run(struct trial *t, const struct op_program *p, unsigned threads,
                        struct session **out)
{
    const struct session_options so = { .threads = threads };

    *out = NULL;
    if (ss_session_new(p->compiled, &so, out) != EMU_OK)
        return differs(t, "session: %s", ss_error());
    for (uint32_t k = 0; k < t->r->g->inputs; k++) {
        if (op_program_write(p, *out, k, &t->in[k]) != EMU_OK)
            return differs(t, "write: %s", ss_error());
    }
    return ss_session_run(*out) == EMU_OK ? SAME : differs(t, "machine: %s", ss_error());
}

static enum outcome compare_all_groups(struct trial *t, struct session *s, uint64_t *groups)
{
    struct group_comparison sum = { .rows = json_array() };
    struct lower_options o = { .real = real_of(t),
                               .partials = t->seed % 3 ? PARTIALS_F16 : PARTIALS_F32,
                               .keep_end = t->kept.network->groups.count };
    enum outcome result = SAME;

    if (compare_groups(&t->kept, s, &o, &sum) != EMU_OK)
        result = differs(t, "compare: %s", ss_error());
    else if (sum.broken)
        result = differs(t, "bound: %s", sum.first);
    *groups += sum.compared;
    json_decref(sum.rows);
    return result;
}

/* All outputs of the run of `kept` are kept for the other one. */
static enum outcome read_outputs(struct trial *t, struct session *s)
{
    for (uint32_t k = 0; k < t->r->g->outputs; k++) {
        if (op_program_read(&t->kept, s, k, &t->out[k]) != EMU_OK)
            return differs(t, "read: %s", ss_error());
    }
    return SAME;
}

static enum outcome run_kept(struct trial *t, uint64_t *groups)
{
    struct hash128 digest[THREADS];
    enum outcome o = SAME;

    for (unsigned k = 0; k < THREADS && o == SAME; k++) {
        struct session *s;

        o = run(t, &t->kept, k + 1, &s);
        if (o == SAME)
            digest[k] = machine_digest(ss_session_run_image(s)->machine);
        if (o == SAME && k && !hash128_equal(digest[0], digest[k]))
            o = differs(t, "threads: %u leave other bits", k + 1);
        if (o == SAME && !k)
            o = read_outputs(t, s);
        if (o == SAME && !k)
            o = compare_all_groups(t, s, groups);
        ss_session_free(s);
    }
    return o;
}

/* Whether the convolutions are cut in the same way: what is kept leaves less memory to plan with,
 * and other cuts are other sums. */
static int same_plans(const struct trial *t)
{
    const struct conv_plans *a = &t->kept.network->plans, *b = &t->bare.network->plans;

    for (uint32_t k = 0; k < a->convs; k++) {
        if (memcmp(&a->plan[k], &b->plan[k], sizeof(a->plan[k])) != 0)
            return 0;
    }
    return 1;
}

/* Without what is kept, values lie where others lay before, and are overwritten in place. */
static enum outcome run_bare(struct trial *t)
{
    struct session *s = NULL;
    enum outcome o = run(t, &t->bare, 2, &s);

    for (uint32_t k = 0; k < t->r->g->outputs && o == SAME && same_plans(t); k++) {
        struct op_tensor got;

        if (op_program_read(&t->bare, s, k, &got) != EMU_OK) {
            o = differs(t, "read: %s", ss_error());
            break;
        }
        if (memcmp(got.any, t->out[k].any, op_shape_count(&got.shape) * sizeof(*got.f)) != 0)
            o = differs(t, "kept: output %u is another one when nothing is kept", k);
        op_tensor_free(&got);
    }
    ss_session_free(s);
    return o;
}

/* ---- one seed ---- */

static enum outcome run_all(struct trial *t, uint64_t *groups)
{
    enum outcome o = run_passes(t);

    t->machine = machine_of(t);
    if (o == SAME && t->r->g->nodes)
        o = compile(t, 1, &t->kept);
    if (o == SAME && t->r->g->nodes)
        o = run_kept(t, groups);
    if (o == SAME && t->r->g->nodes)
        o = compile(t, 0, &t->bare);
    if (o == SAME && t->r->g->nodes)
        o = run_bare(t);
    return o;
}

/* Nodes of the graph as it was drawn, before passes. */
static void count_gradients(const struct op_graph *g, uint64_t count[GRADIENTS])
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        for (unsigned k = 0; k < GRADIENTS; k++)
            count[k] += op_node_is(&g->node[i], gradients[k]);
    }
}

/* most: nodes at most, 0: all. dump: NULL, or where the graph is printed before it runs. */
static void try_seed(uint64_t seed, unsigned most, FILE *dump, struct report *out)
{
    long live = alloc_live();
    struct trial t = { .seed = seed, .r = random_operators_new(seed, most, out->drawn) };
    struct op_graph *g = t.r->g;
    uint32_t outputs = g->outputs;
    uint64_t count[GRADIENTS] = { 0 };

    out->nodes = t.r->nodes;
    count_gradients(g, count);
    if (dump) {
        op_graph_print(g, dump);
        fflush(dump);
    }
    t.in = emu_alloc(g->inputs + 1, sizeof(*t.in));
    t.out = emu_alloc(outputs + 1, sizeof(*t.out));
    assert_true(t.in && t.out);
    for (uint32_t k = 0; k < g->inputs; k++)
        t.in[k] = ro_input_value(t.r, k)->t;
    out->outcome = run_all(&t, &out->groups);
    if (out->outcome == SAME)
        memcpy(out->gradients, count, sizeof(count));
    memcpy(out->text, t.text, TEXT_BYTES);
    for (uint32_t k = 0; k < outputs; k++)
        op_tensor_free(&t.out[k]);
    ss_free(t.in);
    ss_free(t.out);
    op_program_free(&t.kept);
    op_program_free(&t.bare);
    random_operators_free(t.r);
    if (alloc_live() != live && out->outcome != DIFFERS) {
        out->outcome = DIFFERS;
        snprintf(out->text, TEXT_BYTES, "%ld blocks of memory are left", alloc_live() - live);
    }
}

struct seed_call {
    uint64_t seed;
    unsigned most;
    FILE *dump;
};

static void call_seed(void *ctx, void *report)
{
    const struct seed_call *c = ctx;

    try_seed(c->seed, c->most, c->dump, report);
}

/* The same in a process of its own. */
static struct report try_apart(uint64_t seed, unsigned most, FILE *dump)
{
    struct seed_call c = { seed, most, dump };
    struct report out;
    char why[64];

    if (!apart(call_seed, &c, SECONDS, &out, sizeof(out), why, sizeof(why))) {
        out.outcome = DIFFERS;
        memcpy(out.text, why, sizeof(why));
    }
    return out;
}

/* ---- the reducer ---- */

/* What kind of failure a message is of: its first word. */
static int same_kind(const char *a, const char *b)
{
    size_t n = strcspn(a, ":");

    return n == strcspn(b, ":") && !memcmp(a, b, n);
}

/* As few nodes as still fail in the same way; they are printed. */
static void reduce(uint64_t seed, const struct report *why)
{
    unsigned most = 1;
    struct report now = *why;

    for (; most < why->nodes; most++) {
        now = try_apart(seed, most, NULL);
        if (now.outcome == DIFFERS && same_kind(now.text, why->text))
            break;
    }
    if (most == why->nodes)
        now = *why;
    printf("seed %" PRIu64 ", its first %u recipes: %s\n", seed, most, now.text);
    try_apart(seed, most, stdout);
    printf("again: SUPERSTEP_SEED=%" PRIu64
           " build/obj/release/tests/models/test_random_operators\n",
           seed);
}

/* ---- tests ---- */

/* What all seeds have drawn and compared. */
struct totals {
    uint64_t drawn[RECIPES], gradients[GRADIENTS];
};

static void add_counts(struct totals *sum, const struct report *x)
{
    for (unsigned k = 0; k < RECIPES; k++)
        sum->drawn[k] += x->drawn[k];
    for (unsigned k = 0; k < GRADIENTS; k++)
        sum->gradients[k] += x->gradients[k];
}

static void run_seeds(uint64_t first, uint64_t count, struct totals *sum)
{
    unsigned outcomes[DIFFERS + 1] = { 0 };
    uint64_t groups = 0, nodes = 0;

    for (uint64_t seed = first; seed < first + count; seed++) {
        struct report x =
            try_apart(seed, 0, count == 1 && getenv("SUPERSTEP_SEED") ? stdout : NULL);

        outcomes[x.outcome]++;
        groups += x.groups;
        nodes += x.nodes;
        add_counts(sum, &x);
        if (x.outcome != DIFFERS)
            continue;
        printf("seed %" PRIu64 ": %s\n", seed, x.text);
        if (outcomes[DIFFERS] == 1 && !getenv("SUPERSTEP_NO_REDUCE"))
            reduce(seed, &x);
    }
    printf("%u the same, %u do not fit, %u differ; %" PRIu64 " recipes, %" PRIu64
           " groups compared\n",
           outcomes[SAME], outcomes[DOES_NOT_FIT], outcomes[DIFFERS], nodes, groups);
    for (unsigned k = 0; k < GRADIENTS; k++)
        printf("%s%" PRIu64 " %s", k ? ", " : "of these ", sum->gradients[k],
               op_name(gradients[k]));
    printf("\n");
    assert_int_equal(outcomes[DIFFERS], 0);
    assert_true(count < 20 || outcomes[DOES_NOT_FIT] <= count / 20);
}

static void random_operators_agree(void **state)
{
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);
    int all = seeds.is_long && !seeds.chosen;
    struct totals sum = { .drawn = { 0 } };

    (void)state;
    run_seeds(seeds.first, seeds.count, &sum);
    for (unsigned k = 0; all && ro_recipe(k); k++)
        assert_true(sum.drawn[k] > 0);
    for (unsigned k = 0; all && k < GRADIENTS; k++)
        assert_true(sum.gradients[k] > 0);
}

/* Seeds that have differed. */
static void what_once_differed_agrees(void **state)
{
    static const uint64_t seeds[] = {
        7410940, /* gradients of pools, f16 fields, added in f16 where all is to be f32 */
        7411950, /* the same */
        7411783, /* a convolution of channels alone that is joined to blocks, plus a value */
    };
    struct totals sum = { .drawn = { 0 } };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(seeds) && !getenv("SUPERSTEP_SEED"); k++)
        run_seeds(seeds[k], 1, &sum);
}

/* What no recipe draws, and why: a new operator is drawn or stands here. */
static void recipes_follow_the_table(void **state)
{
    static const char *const not_drawn[] = {
        /* of shapes or constants alone: they fold */
        "Constant", "ConstantOfShape", "EyeLike", "NonZero", "Range", "Shape", "Size",
        /* integers */
        "BitShift",
        /* read as newer ones, or as what they are made of */
        "Attention", "CenterCropPad", "Mish", "RMSNormalization", "RotaryEmbedding", "Scatter",
        "Upsample",
        /* of steps of training: test_train_chip.c */
        "DropoutMask", "ParameterUpdate"
    };

    (void)state;
    for (unsigned i = 0; op_row(i); i++) {
        const char *name = op_row(i)->name;
        unsigned found = 0;

        for (unsigned k = 0; ro_recipe(k); k++)
            found |= !strcmp(ro_recipe(k)->op, name) ? 1u : 0;
        for (unsigned k = 0; k < EMU_COUNT_OF(gradients); k++)
            found |= gradients[k] == op_row(i)->code ? 1u : 0;
        for (unsigned k = 0; k < EMU_COUNT_OF(not_drawn); k++)
            found += !strcmp(not_drawn[k], name) ? 2u : 0;
        if (found != 1 && found != 2)
            fail_msg("%s: %s", name, found ? "drawn, and said not to be" : "no recipe draws it");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_follow_the_table),
        cmocka_unit_test(random_operators_agree),
        cmocka_unit_test(what_once_differed_agrees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
