/* test_train_link.c - pictures of training as bytes through IO tiles: the same steps, to the bit,
 * as with the numbers that the host writes, on a machine of as many tiles as compute. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "emu/base/random.h"
#include "emu/bsp/record.h"
#include "emu/job/run_file.h"
#include "models/picture/picture_recipe.h"
#include "models/train/train_bill.h"
#include "models/train/train_chip.h"
#include "tests/fixtures/train_fixture.h"

enum { PICTURES = 3, CLASSES = 5, STEPS = 3, TILES = 40, IO_TILES = 4 };

static const double mean[3] = { 0.485, 0.456, 0.406 }, std[3] = { 0.229, 0.224, 0.225 };

/* ---- networks ---- */

static struct op_graph *graph;
static uint64_t seed;

static uint32_t value(enum op_value_kind kind, unsigned rank, const uint32_t *dim)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    char name[32];
    float *data;
    uint32_t v;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    snprintf(name, sizeof(name), "v%u", graph->values);
    assert_int_equal(op_value_new(graph, name, kind, &s, &v), EMU_OK);
    if (kind == OP_INPUT) {
        assert_int_equal(op_graph_input(graph, v), EMU_OK);
        return v;
    }
    data = op_graph_alloc(graph, op_shape_count(&s), sizeof(*data));
    assert_non_null(data);
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        data[k] = (float)((double)random_below(&seed, 2001) / 1000 - 1) * 0.4f;
    graph->value[v].data = data;
    return v;
}
#define VALUE(kind, ...)                                                                           \
    value(kind, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

static uint32_t node(const char *op, uint32_t ins, const uint32_t *in,
                     const struct op_named_attr *attr, uint32_t attrs)
{
    const struct op_request r = {
        .op = op, .in = in, .ins = ins, .outs = 1, .attr = attr, .attrs = attrs
    };
    uint32_t out;

    if (op_node(graph, &r, &out) != EMU_OK || graph->problems)
        fail_msg("%s: %s", op, ss_error());
    return out;
}
#define NODE(op, ...)                                                                              \
    node(op, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ }, NULL, 0)

static uint32_t conv(uint32_t x, uint32_t in, uint32_t out, int64_t stride)
{
    const int64_t pads[] = { 1, 1, 1, 1 }, strides[] = { stride, stride };
    const struct op_named_attr attr[] = {
        { "pads", { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } },
        { "strides", { .kind = OP_ATTR_INTS, .count = 2, .ints = strides } },
    };
    const uint32_t v[] = { x, VALUE(OP_PARAM, out, in, 3, 3), VALUE(OP_PARAM, out) };

    return NODE("Relu", node("Conv", 3, v, attr, EMU_COUNT_OF(attr)));
}

static void convolutions(uint32_t channels)
{
    uint32_t x = conv(VALUE(OP_INPUT, PICTURES, channels, 8, 8), channels, 20, 1);

    x = NODE("Flatten", NODE("GlobalAveragePool", conv(x, 20, 16, 2)));
    x = NODE("Gemm", x, VALUE(OP_PARAM, 16, CLASSES), VALUE(OP_PARAM, CLASSES));
    assert_int_equal(op_graph_output(graph, x), EMU_OK);
}

static void colours(void)
{
    convolutions(3);
}

static void grey(void)
{
    convolutions(1);
}

static void flat(void)
{
    uint32_t x = VALUE(OP_INPUT, PICTURES, 63);

    x = NODE("Tanh", NODE("Gemm", x, VALUE(OP_PARAM, 63, 24), VALUE(OP_PARAM, 24)));
    x = NODE("Gemm", x, VALUE(OP_PARAM, 24, CLASSES), VALUE(OP_PARAM, CLASSES));
    assert_int_equal(op_graph_output(graph, x), EMU_OK);
}

/* ---- chips ---- */

/* How a step is tried. */
struct link_case {
    void (*network)(void);
    enum elem real;
    enum lower_states states;
    uint32_t batches; /* micro batches of a step */
    struct train_dropout drop;
};

struct linked {
    struct op_graph *g; /* owned */
    struct train_chip chip;
    struct pixel_format pixels;
    int bytes;                      /* its feed gives */
    struct op_tensor data, targets; /* of a micro batch */
    uint64_t at, end, asked, told;  /* micro batches: the next one; that there are */
    double loss;
};

static void linked_begin(struct linked *x, const struct link_case *c, uint32_t io_tiles,
                         enum elem input, unsigned threads, int timing)
{
    const struct session_options so = { .threads = threads, .timing = timing, .record = 1 };
    struct train_chip_options o = train_chip_usual();
    struct train_optimiser opt;
    struct train_step step;
    struct arch a = *ss_arch_preset("mk2");
    char tiles[32];

    seed = 3;
    *x = (struct linked){ .bytes = input == ELEM_U8, .end = UINT64_MAX };
    snprintf(tiles, sizeof(tiles), "tiles=%u", TILES + io_tiles);
    assert_int_equal(ss_arch_set(&a, tiles), EMU_OK);
    assert_int_equal(op_graph_new("linked", &graph), EMU_OK);
    x->g = graph;
    c->network();
    assert_int_equal(train_optimiser_of("sgd", &opt), EMU_OK);
    opt.drop = c->drop;
    if (train_step_make(graph, &opt, &step) != EMU_OK)
        fail_msg("%s", ss_error());
    x->pixels = picture_pixels(mean, std, input);
    o.program.lower.real = c->real;
    o.program.lower.states = c->states;
    o.program.lower.loop.link = (struct prefetch_options){ io_tiles, io_tiles != 0 };
    o.program.lower.loop.pixels = x->bytes ? &x->pixels : NULL;
    o.batches = c->batches;
    if (train_chip_new(&a, graph, &step, &o, &x->chip) != EMU_OK ||
        train_chip_begin(&x->chip, &so) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(op_tensor_new(&graph->value[step.data].shape, &x->data), EMU_OK);
    assert_int_equal(op_tensor_new(&graph->value[step.targets].shape, &x->targets), EMU_OK);
}

static void linked_end(struct linked *x)
{
    train_chip_free(&x->chip);
    op_tensor_free(&x->data);
    op_tensor_free(&x->targets);
    op_graph_free(x->g);
}

/* Micro batch n: bytes drawn from its number, or what they mean. */
static enum emu_status next_bytes(void *ctx, const struct op_tensor **data,
                                  const struct op_tensor **targets)
{
    struct linked *x = ctx;
    const struct op_shape *s = &x->data.shape;
    uint64_t n = op_shape_count(s), state = hash_mix(x->at + 1);
    uint32_t plane = s->rank == 4 ? s->dim[2] * s->dim[3] : (uint32_t)n;

    x->asked++;
    *data = x->at < x->end ? &x->data : NULL;
    *targets = &x->targets;
    if (!*data)
        return EMU_OK;
    for (uint64_t k = 0; k < n; k++) {
        unsigned c = s->rank == 4 ? (unsigned)(k / plane % s->dim[1]) : 0;
        uint32_t v = random_below(&state, 256);

        x->data.f[k] = x->bytes ? v : (double)picture_normal(mean[c], std[c], (float)v);
    }
    for (uint64_t k = 0; k < op_shape_count(&x->targets.shape); k++)
        x->targets.f[k] = k % CLASSES == (k / CLASSES + x->at) % CLASSES;
    x->at++;
    return EMU_OK;
}

static enum emu_status told(void *ctx, double loss, const struct op_tensor *scores)
{
    struct linked *x = ctx;

    assert_int_equal(scores->shape.dim[1], CLASSES);
    x->loss += loss;
    x->told++;
    return EMU_OK;
}

/* A step, which must be one or none. */
static double linked_step(struct linked *x, int is_whole)
{
    const struct train_feed feed = { x, next_bytes, told };
    int whole;

    x->loss = 0;
    if (train_chip_update(&x->chip, &feed, 0.05, &whole) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(whole, is_whole);
    return x->loss;
}

static void equal_states(struct linked *a, struct linked *b)
{
    for (uint32_t k = 0; k < a->g->inputs; k++) {
        const struct op_value *v = &a->g->value[a->g->input[k]];
        struct op_tensor x, y;

        if (v->kind != OP_STATE)
            continue;
        assert_int_equal(train_chip_read(&a->chip, a->g->input[k], &x), EMU_OK);
        assert_int_equal(train_chip_read(&b->chip, op_value_find(b->g, v->name), &y), EMU_OK);
        for (uint64_t i = 0; i < op_shape_count(&x.shape); i++) {
            if (x.f[i] != y.f[i] || isnan(x.f[i]))
                fail_msg("%s: %.9g, not %.9g", v->name, y.f[i], x.f[i]);
        }
        op_tensor_free(&x);
        op_tensor_free(&y);
    }
}

/* ---- tests ---- */

/* Losses and states are the same bits, whatever the threads. */
static void same_bits(const struct link_case *c, enum elem input)
{
    struct linked direct, link[2];

    linked_begin(&direct, c, 0, c->real, 2, 0);
    linked_begin(&link[0], c, IO_TILES, input, 1, 0);
    linked_begin(&link[1], c, IO_TILES, input, 3, 0);
    for (unsigned k = 0; k < STEPS; k++) {
        double want = linked_step(&direct, 1);

        for (unsigned i = 0; i < 2; i++) {
            double is = linked_step(&link[i], 1);

            if (is != want)
                fail_msg("step %u: loss %.9g, not %.9g", k, is, want);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(link[i].told, direct.told);
        assert_int_equal(link[i].asked, direct.asked + 1); /* the first one of the next step */
        equal_states(&direct, &link[i]);
        linked_end(&link[i]);
    }
    assert_int_equal(direct.chip.skipped, 0);
    linked_end(&direct);
}

static void bytes_are_numbers(void **state)
{
    static const struct link_case cases[] = {
        { colours, ELEM_F16, STATES_F32, 1, { 0, 0 } },
        { colours, ELEM_F16, STATES_F16_STOCHASTIC, 2, { .dropout = 0.3 } },
        { grey, ELEM_F16, STATES_F32, 2, { 0, 0 } },
        { flat, ELEM_F16, STATES_F32, 1, { .dropout = 0.3 } },
        { flat, ELEM_F32, STATES_F32, 2, { 0, 0 } },
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(cases); k++)
        same_bits(&cases[k], ELEM_U8);
    same_bits(&cases[1], ELEM_F16);
}

/* Bytes without IO tiles: a loop on the chip asks for them, or the host writes them. */
static void bytes_elsewhere(void **state)
{
    static const struct link_case cases[] = {
        { colours, ELEM_F16, STATES_F32, 2, { 0, 0 } },
        { colours, ELEM_F16, STATES_F32, 1, { 0, 0 } },
        { flat, ELEM_F16, STATES_F32, 1, { 0, 0 } }, /* no whole words */
    };

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(cases); i++) {
        struct linked a, b;

        linked_begin(&a, &cases[i], 0, ELEM_F16, 2, 0);
        linked_begin(&b, &cases[i], 0, ELEM_U8, 2, 0);
        for (unsigned k = 0; k < STEPS; k++)
            assert_true(linked_step(&a, 1) == linked_step(&b, 1));
        equal_states(&a, &b);
        linked_end(&a);
        linked_end(&b);
    }
}

/* Micro batches that end within a step or before it change nothing, and leave nothing behind. */
static void ends(void **state)
{
    const struct link_case c = { colours, ELEM_F16, STATES_F32, 2, { .dropout = 0.3 } };
    struct linked whole, cut;

    (void)state;
    linked_begin(&whole, &c, IO_TILES, ELEM_U8, 2, 0);
    linked_begin(&cut, &c, IO_TILES, ELEM_U8, 2, 0);
    for (unsigned k = 0; k < STEPS; k++)
        linked_step(&whole, 1);
    linked_step(&cut, 1);
    cut.end = 3; /* the first one of the next step is there already, the second will not come */
    linked_step(&cut, 0);
    linked_step(&cut, 0); /* not even a first one */
    cut.end = UINT64_MAX;
    cut.at = 2;
    for (unsigned k = 1; k < STEPS; k++)
        linked_step(&cut, 1);
    assert_int_equal(cut.chip.steps, STEPS);
    equal_states(&whole, &cut);
    linked_end(&whole);
    linked_end(&cut);
}

/* The next superstep of a group from *i on; NULL: there is none. */
static const struct record_step *next_of(const struct record *r, unsigned group, size_t *i)
{
    while (*i < record_count(r)) {
        const struct record_step *s = record_at(r, (*i)++);

        if (s->group == group)
            return s;
    }
    return NULL;
}

/* Group by group: in which order an engine comes to supersteps of two groups is its own. */
static void same_record(const struct record *a, const struct record *b)
{
    size_t seen = 0;

    assert_int_equal(record_count(a), record_count(b));
    for (unsigned group = 0; group < 2; group++) {
        const struct record_step *x, *y;

        for (size_t i = 0, j = 0; (x = next_of(a, group, &i)); seen++) {
            y = next_of(b, group, &j);
            assert_non_null(y);
            assert_int_equal(x->index, y->index);
            assert_int_equal(x->tiles, y->tiles);
            assert_int_equal(x->release, y->release);
            assert_int_equal(x->end, y->end);
        }
    }
    assert_int_equal(seen, record_count(a));
}

static void ran_by(const struct linked *l, enum run_engine engine)
{
    const char *why;

    assert_int_equal(ss_run_engine(ss_session_run_image(l->chip.system.session), &why), engine);
}

/* The timing engine gives the cycles of a step exactly; passes add up to them; what crosses the
 * link meanwhile costs less than when the compute tiles wait for it. */
static void cycles(void **state)
{
    const struct link_case c = { colours, ELEM_F16, STATES_F32, 3, { 0, 0 } };
    struct linked values, times, direct;
    struct train_bill b, d;

    (void)state;
    linked_begin(&values, &c, IO_TILES, ELEM_U8, 2, 0);
    linked_begin(&times, &c, IO_TILES, ELEM_U8, 2, 1);
    linked_begin(&direct, &c, 0, ELEM_F16, 2, 1);
    linked_step(&values, 1);
    assert_int_equal(train_chip_time(&times.chip), EMU_OK);
    assert_int_equal(train_chip_time(&direct.chip), EMU_OK);
    ran_by(&values, ENGINE_VALUES);
    ran_by(&times, ENGINE_TIMING);
    ran_by(&direct, ENGINE_TIMING);
    same_record(ss_session_record(values.chip.system.session),
                ss_session_record(times.chip.system.session));
    trial_bill(&values.chip, &b);
    trial_bill(&direct.chip, &d);
    assert_int_equal(b.cycles, ss_session_cycles(values.chip.system.session));
    assert_int_equal(ss_session_cycles(values.chip.system.session),
                     ss_session_cycles(times.chip.system.session));
    assert_true(b.pass[PASS_HOST].cycles > 0);
    if (b.pass[PASS_HOST].cycles * 3 > d.pass[PASS_HOST].cycles)
        fail_msg("host: %llu cycles, %llu without IO tiles",
                 (unsigned long long)b.pass[PASS_HOST].cycles,
                 (unsigned long long)d.pass[PASS_HOST].cycles);
    linked_end(&values);
    linked_end(&times);
    linked_end(&direct);
}

/* No tile is left to compute. */
static void refused(void **state)
{
    const struct arch *a = ss_arch_preset("toy16");
    struct op_program_options o = { .lower = { .real = ELEM_F16, .loop.link = { 16, 1 } } };
    struct train_optimiser opt;
    struct train_step step;
    struct op_program p;

    (void)state;
    seed = 3;
    assert_int_equal(op_graph_new("refused", &graph), EMU_OK);
    colours();
    assert_int_equal(train_optimiser_of("sgd", &opt), EMU_OK);
    assert_int_equal(train_step_make(graph, &opt, &step), EMU_OK);
    assert_int_equal(op_program_new(a, graph, &o, &p), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "16 IO tiles"));
    op_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_numbers),
        cmocka_unit_test(bytes_elsewhere),
        cmocka_unit_test(ends),
        cmocka_unit_test(cycles),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
