/* test_model_run.c - a small network with every kind of layer of an EfficientNet, from layers to
 * answer: cycles by layer add up to the machine's, every layer agrees with the reference within its
 * bound, a wrong parameter breaks it, and the answer has what it must have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/emu.h"
#include "emu/profile/bill.h"
#include "models/net/net_build.h"
#include "models/pass/op_pass.h"
#include "models/bound/compare_groups.h"
#include "models/answer/model_chart.h"
#include "models/answer/model_report.h"
#include "models/keep/net_entry.h"
#include "models/keep/net_image.h"
#include "models/answer/op_bill.h"
#include "models/ask/model_facts.h"
#include "models/ask/model_request.h"
#include "models/weights/calibrate.h"
#include "programs/compiler/report/count_text.h"
#include "tests/fixtures/chip_fixture.h"

OPTION_READ(FLAG, plan)

enum { SIDE = 12, CLASSES = 10 };

struct compiled_net {
    struct arch arch;
    struct net *net;
    struct weights *weights;
    struct op_program p;
    struct session *session;
    struct layer_cycles layers;
    struct memory_facts memory;
    float scores[CLASSES];
};

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

/* A stem, one block with squeeze and excitation and a residual, a head. */
static void build_small(struct net_builder *b)
{
    uint32_t x, in, gate;

    x = build_picture(b);
    build_block(b, "stem", "stem");
    x = build_conv(b, x, "", ".conv", (struct build_kernels){ 24, 3, 2, 1 });
    x = build_norm(b, x, ".norm", ".norm", PARAM_NORM);
    in = build_unary(b, OP_Swish, x, ".act");
    build_block(b, "block", "block");
    x = build_conv(b, in, ".dw", ".dw", (struct build_kernels){ 24, 3, 1, 24 });
    x = build_norm(b, x, ".dw.norm", ".dw.norm", PARAM_NORM);
    x = build_unary(b, OP_Swish, x, ".dw.act");
    gate = build_unary(b, OP_GlobalAveragePool, x, ".pool");
    gate = build_squeeze(b, gate, ".fc", ".fc", 24, PARAM_GATE);
    gate = build_unary(b, OP_Sigmoid, gate, ".sigmoid");
    x = build_binary(b, OP_Mul, x, gate, ".scale");
    x = build_conv(b, x, ".project", ".project", (struct build_kernels){ 24, 1, 1, 1 });
    x = build_norm(b, x, ".project.norm", ".project.norm", PARAM_BRANCH_NORM);
    x = build_binary(b, OP_Add, x, in, ".add");
    x = build_unary(b, OP_GlobalAveragePool, x, "avgpool");
    build_classifier(b, x, "fc");
}

static struct net *small_net(void)
{
    struct net *n = emu_alloc(1, sizeof(*n));
    struct net_builder b = { .net = n, .batch_eps = 1e-3 };

    snprintf(n->name, sizeof(n->name), "small");
    n->batch = 1;
    n->resolution = SIDE;
    n->classes = CLASSES;
    n->crop = 1;
    must(op_graph_new(n->name, &n->graph));
    build_small(&b);
    must(b.status);
    return n;
}

static struct op_tensor picture_of(const struct op_graph *g)
{
    struct op_tensor t;
    float *picture = emu_alloc(3 * SIDE * SIDE, sizeof(*picture));

    must(op_tensor_new(&g->value[g->input[0]].shape, &t));
    synthetic_pictures(SIDE, 5, 1, picture);
    for (unsigned i = 0; i < 3 * SIDE * SIDE; i++)
        t.f[i] = (double)picture[i];
    ss_free(picture);
    return t;
}

static void run(struct compiled_net *r)
{
    struct session_options o = { .record = 1 };
    struct op_tensor input = picture_of(r->net->graph), scores;

    must(ss_session_new(r->p.compiled, &o, &r->session));
    must(op_program_write(&r->p, r->session, 0, &input));
    must(ss_session_run(r->session));
    must(op_program_read(&r->p, r->session, 0, &scores));
    for (unsigned i = 0; i < CLASSES; i++)
        r->scores[i] = (float)scores.f[i];
    op_tensor_free(&input);
    op_tensor_free(&scores);
}

static void compiled_net_new(const struct arch *a, struct compiled_net *r)
{
    struct op_program_options o = { .lower = { .real = ELEM_F16, .keep_end = UINT32_MAX } };
    struct picture_recipe recipe;
    char *note;

    memset(r, 0, sizeof(*r));
    r->arch = *a;
    r->net = small_net();
    recipe = picture_recipe_of(r->net, NULL);
    must(weights_new(r->net, &r->weights));
    weights_seed(r->weights, r->net, 3);
    weights_attach(r->weights, r->net);
    must(pass_all(r->net->graph));
    must(op_program_new(&r->arch, r->net->graph, &o, &r->p));
    assert_true(ss_compiled_fits(r->p.compiled));
    must(op_program_describe(&r->p));
    note = net_image_note(r->net, &recipe);
    assert_non_null(note);
    must(ss_compiled_add_note(r->p.compiled, NET_IMAGE_NOTE, note));
    free(note);
    must(op_bill_init(r->p.network, r->p.compiled, &r->arch, &r->layers));
    r->memory.compiled = r->p.compiled;
}

static void compiled_net_free(struct compiled_net *r)
{
    layer_cycles_free(&r->layers);
    ss_session_free(r->session);
    op_program_free(&r->p);
    weights_free(r->weights);
    net_free(r->net);
}

static int setup(void **state)
{
    static struct compiled_net r; /* of all tests: compiling takes most of the time */

    struct arch a = *ss_arch_preset("mk2");

    must(ss_arch_set(&a, "tiles=64"));
    compiled_net_new(&a, &r);
    run(&r);
    must(layer_cycles_bill(&r.layers, ss_session_run_image(r.session)));
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    compiled_net_free(*state);
    assert_int_equal(alloc_live(), 0);
    return 0;
}

/* ---- cycles and memory by layer ---- */

static const struct layer_bill *bill_of(const struct compiled_net *r, const char *layer)
{
    for (uint32_t k = 0; k < r->layers.rows; k++)
        if (!strcmp(r->layers.text[k].name, layer))
            return &r->layers.row[k];
    fail_msg("no bill of %s", layer);
    return NULL;
}

static void test_cycles_add_up(void **state)
{
    static const char *const own[] = { "stem",    "block.dw",    "block.pool", "block.fc",
                                       "avgpool", "block.scale", "fc",         "softmax" };
    struct compiled_net *r = *state;
    uint64_t sum = 0, macs = 0;

    for (uint32_t i = 0; i < r->layers.rows; i++) {
        const struct layer_bill *b = &r->layers.row[i];

        assert_true(b->cycles == b->compute + b->exchange + b->sync);
        assert_true(b->imbalance <= b->compute);
        sum += b->cycles;
        macs += b->macs;
    }
    assert_true(sum == ss_session_cycles(r->session));
    assert_true(r->layers.total.cycles == sum && macs == op_graph_macs(r->net->graph));
    for (size_t i = 0; i < EMU_COUNT_OF(own); i++) {
        const struct layer_bill *b = bill_of(r, own[i]);

        assert_true(b->cycles > 0 && b->held_bytes > 0);
        assert_true(b->max_tile_bytes > 0 && b->max_tile_bytes <= r->arch.mem_bytes);
        assert_true(b->held_tile_bytes * r->arch.tiles >= b->held_bytes);
    }
    assert_true(bill_of(r, "stem")->predicted > 0);
    /* What belongs to no layer is the wait for the host at the end. */
    assert_true(r->layers.row[r->layers.rows - 1].compute < 100);
}

static json_t *steps_of_image(const struct image *im)
{
    const uint32_t tiles[] = { 0, 17, 63 };
    const struct run_options o = { .threads = 1, .max_cycles = UINT64_MAX };
    struct run *r;
    json_t *steps;

    must(ss_run_new(im, &o, &r));
    must(ss_run_execute(r));
    steps = ss_bill_steps_json(r->record, im, tiles, EMU_COUNT_OF(tiles));
    assert_non_null(steps);
    ss_run_free(r);
    return steps;
}

static uint64_t number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    assert_true(json_is_integer(v));
    return (uint64_t)json_integer_value(v);
}

/* What the tiles of a superstep did is all of it. Returns how many only waited. */
static unsigned check_tile_steps(const json_t *step)
{
    uint64_t span = number_of(step, "ends") - number_of(step, "starts");
    unsigned waited = 0;
    json_t *tile;
    size_t i;

    assert_int_equal(json_array_size(json_object_get(step, "tile_steps")), 3);
    json_array_foreach(json_object_get(step, "tile_steps"), i, tile)
    {
        uint64_t wait = number_of(tile, "wait");

        assert_int_equal(number_of(tile, "exchange") + number_of(tile, "compute") + wait, span);
        waited += wait == span;
    }
    return waited;
}

/* Most tiles of a network have nothing to do in most supersteps, and vote ahead for their syncs:
 * each superstep begins where the one before it ended all the same. */
static void test_steps_of_an_image(void **state)
{
    struct compiled_net *r = *state;
    json_t *steps = steps_of_image(ss_compiled_image(r->p.compiled)), *step;
    uint64_t end = 0;
    unsigned waited = 0;
    size_t i;

    assert_true(json_array_size(steps) > 10);
    json_array_foreach(steps, i, step)
    {
        assert_int_equal(number_of(step, "starts"), end);
        end = number_of(step, "ends");
        assert_true(end > number_of(step, "starts"));
        waited += check_tile_steps(step);
    }
    assert_true(waited > 0); /* some skipped whole supersteps */
    assert_string_equal(json_string_value(json_object_get(json_array_get(steps, 1), "scope")),
                        "stem");
    assert_int_equal(end, ss_session_cycles(r->session));
    json_decref(steps);
}

static void test_bill_adds_up(void **state)
{
    struct compiled_net *r = *state;
    const struct record *record = ss_session_run_image(r->session)->record;
    struct bill b = ss_bill_of_group(record, 0);
    char text[200];

    if (!bill_check(record, ss_session_cycles(r->session), text, sizeof(text)))
        fail_msg("%s", text);
    assert_int_equal(b.compute, r->layers.total.compute);
    assert_int_equal(b.exchange, r->layers.total.exchange);
    assert_int_equal(b.imbalance, r->layers.total.imbalance);
}

/* 12 x 12 pictures: 6 x 6 x 24 results of 3 x 3 x 3 products, on 64 tiles; the sliding unit has a
 * quarter of the rate. */
static void test_bounds(void **state)
{
    struct compiled_net *r = *state;
    double tile = (double)arch_f16_macs_f16(&r->arch) * 64;

    assert_true(bill_of(r, "stem")->bound >= (uint64_t)(6 * 6 * 24 * 27 / tile));
    assert_true(bill_of(r, "block.dw")->bound >= (uint64_t)(4 * 6 * 6 * 24 * 9 / tile));
    assert_true(bill_of(r, "block.dw")->bound < bill_of(r, "block.dw")->cycles);
}

/* ---- against the reference ---- */

static void test_layers_agree(void **state)
{
    struct compiled_net *r = *state;
    const struct lower_options o = { .real = ELEM_F16, .keep_end = r->p.network->groups.count };
    struct group_comparison sum = { 0 };
    size_t bytes;
    char *text;

    sum.f = open_memstream(&text, &bytes);
    assert_non_null(sum.f);
    compare_groups_begin(&sum);
    must(compare_groups(&r->p, r->session, &o, &sum));
    assert_int_equal(compare_groups_end(&sum), EMU_OK);
    fclose(sum.f);
    if (sum.broken)
        fail_msg("%s\n%s", sum.first, text);
    assert_int_equal(sum.compared, r->p.network->groups.count);
    free(text); /* allocated by open_memstream */
}

/* ---- the answer ---- */

static struct model_answer answer_of(struct compiled_net *r, const struct request *q,
                                     const char *const *picture)
{
    return (struct model_answer){ .request = q,
                                  .facts = op_facts(r->net->graph, r->net->name, 1, 1000),
                                  .memory = &r->memory,
                                  .arch = r->arch,
                                  .layers = &r->layers,
                                  .weights = "seed 3",
                                  .file = picture,
                                  .files = 1,
                                  .run = ss_session_run_image(r->session),
                                  .scores = r->scores };
}

static void test_top(void **state)
{
    struct compiled_net *r = *state;
    const struct request asked = { .use = USE_RUN };
    const char *picture = "made";
    struct model_answer m = answer_of(r, &asked, &picture);
    const float scores[2 * CLASSES] = { 0, 0, 0, 0, 0, 0,    0, 0,    0,   0,
                                        0, 3, 0, 9, 3, 0.5f, 0, 0.5f, 0.5f };
    uint32_t top[MODEL_TOP];
    double sum = 0;

    for (unsigned i = 0; i < CLASSES; i++)
        sum += (double)r->scores[i];
    assert_true(sum > 0.999 && sum < 1.001);
    m.scores = scores;
    model_top(&m, 1, top);
    assert_true(top[0] == 3 && top[1] == 1 && top[2] == 4 && top[3] == 5 && top[4] == 7);
}

static void test_json(void **state)
{
    static const char *const key[] = { "network",        "machine",  "batch",
                                       "cycles",         "layers",   "seconds",
                                       "mac_efficiency", "memory",   "pictures_per_second",
                                       "top5",           "digest",   "engine",
                                       "assumed",        "published" };
    static const char *const layer_key[] = { "name",     "op",   "cycles", "compute",
                                             "exchange", "sync", "macs",   "max_tile_bytes" };
    const struct request asked = { .use = USE_RUN };
    struct compiled_net *r = *state;
    const char *picture = "made";
    struct model_answer m = answer_of(r, &asked, &picture);
    json_t *o = model_report_json(&m), *memory = json_object_get(o, "memory"), *layer;
    size_t i;

    for (i = 0; i < EMU_COUNT_OF(key); i++)
        assert_non_null(json_object_get(o, key[i]));
    assert_true(json_is_integer(json_object_get(memory, "max_tile_bytes")));
    assert_true(json_is_integer(json_object_get(memory, "total_bytes")));
    assert_true(
        json_is_integer(json_object_get(json_object_get(memory, "by_category"), "constant")));
    assert_int_equal(json_array_size(json_object_get(o, "top5")), 5);
    json_array_foreach(json_object_get(o, "layers"), i, layer)
    {
        for (size_t k = 0; k < EMU_COUNT_OF(layer_key); k++)
            assert_non_null(json_object_get(layer, layer_key[k]));
    }
    assert_int_equal(i, r->layers.rows);
    json_decref(o);
}

static void test_text(void **state)
{
    struct request asked = { .use = USE_RUN };
    struct compiled_net *r = *state;
    const char *picture = "made";
    struct model_answer m = answer_of(r, &asked, &picture);
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    asked.value[OPTION_FLAG_plan].flag = 1;
    model_report(&m, f);
    fclose(f);
    assert_non_null(strstr(text, "Best classes of made"));
    assert_non_null(strstr(text, "Conv+Swish"));
    assert_non_null(strstr(text, "block.scale"));
    assert_non_null(strstr(text, "Plans:"));
    assert_non_null(strstr(text, "Memory of"));
    free(text);
}

/* Pixels of all boxes of a colour in the group that begins with a title. */
static double bar_height(const char *svg, const char *title)
{
    const char *at = strstr(svg, title), *end = at ? strstr(at, "</g>") : NULL;
    double sum = 0;

    while (at && (at = strstr(at, "height=\"")) && at < end)
        sum += strtod(at += strlen("height=\""), NULL);
    return sum;
}

static void test_chart(void **state)
{
    const struct request asked = { .use = USE_RUN };
    struct compiled_net *r = *state;
    const char *picture = "made";
    struct model_answer m = answer_of(r, &asked, &picture);
    uint64_t stem = bill_of(r, "stem")->cycles, block = 0;
    char *svg = NULL, title[64];
    double ratio;
    size_t bytes;
    FILE *f = open_memstream(&svg, &bytes);

    must(model_chart_draw(&m, f));
    fclose(f);
    assert_non_null(strstr(svg, "</svg>"));
    assert_non_null(strstr(svg, "constant"));
    assert_non_null(strstr(svg, "on 64 tiles of mk2"));
    /* All other layers are in one block; two pixels of each bar are the line of its bound. */
    for (uint32_t i = 0; i < r->layers.rows; i++)
        block += r->layers.row[i].layer == BILL_NONE ? 0 : r->layers.row[i].cycles;
    block -= stem;
    snprintf(title, sizeof(title), "<title>stem: %s cycles", count_text(stem).at);
    ratio = bar_height(svg, title) - 2;
    snprintf(title, sizeof(title), "<title>block: %s cycles", count_text(block).at);
    ratio /= bar_height(svg, title) - 2;
    assert_true(ratio > 0.98 * (double)stem / (double)block);
    assert_true(ratio < 1.02 * (double)stem / (double)block);
    free(svg); /* allocated by open_memstream */
}

/* ---- from the cache ---- */

static char *all_text(const struct model_answer *m)
{
    json_t *o = model_report_json(m);
    char *text, *json = json_dumps(o, 0);
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    assert_true(f && json);
    model_report(m, f);
    model_report_plans(m, f);
    model_summary(m, f);
    must(model_chart_draw(m, f));
    fputs(json, f);
    fclose(f);
    free(json); /* allocated by jansson, and what is returned by open_memstream */
    json_decref(o);
    return text;
}

static uint8_t *entry_of(struct compiled_net *r, size_t *bytes)
{
    char path[] = "/tmp/test_entry_XXXXXX";
    struct output_file *out;
    uint8_t *data;
    FILE *f;

    close(mkstemp(path));
    must(output_open(path, &out));
    must(output_end(out, net_entry_write(r->p.compiled, &r->layers, "timm", NULL, out)));
    f = fopen(path, "rb");
    assert_true(f && !fseek(f, 0, SEEK_END));
    *bytes = (size_t)ftell(f);
    rewind(f);
    data = emu_alloc(*bytes, 1);
    assert_true(data && fread(data, 1, *bytes, f) == *bytes);
    fclose(f);
    unlink(path);
    return data;
}

/* What remains of an entry that is read for a machine and written again: the image file. */
static char *image_file_of(const struct arch *a, const uint8_t *data, size_t bytes,
                           size_t *out_bytes)
{
    char path[] = "/tmp/test_image_XXXXXX";
    struct net_entry e;
    char *text;
    FILE *f;

    close(mkstemp(path));
    must(net_entry_read(data, bytes, a, 0, &e));
    must(ss_image_write(e.image, path));
    net_entry_free(&e);
    f = fopen(path, "rb");
    assert_true(f && !fseek(f, 0, SEEK_END));
    *out_bytes = (size_t)ftell(f);
    rewind(f);
    text = emu_alloc(*out_bytes, 1);
    assert_true(text && fread(text, 1, *out_bytes, f) == *out_bytes);
    fclose(f);
    unlink(path);
    return text;
}

/* Whatever is cut off or damaged in what describes the program, nothing but an error comes of it;
 * what is not refused can be billed and printed. */
static void damage_entry(struct compiled_net *r, const struct model_answer *m, uint8_t *data,
                         size_t bytes)
{
    uint64_t text;

    memcpy(&text, data, sizeof(text));
    for (size_t cut = 0; cut < bytes; cut += 1 + bytes / 20) {
        struct net_entry e;

        assert_int_equal(net_entry_read(data, cut, &r->arch, 0, &e), EMU_BAD_IMAGE);
    }
    for (size_t at = 0; at < text; at += 1 + text / 400) {
        struct model_answer other = *m;
        struct net_entry e;
        char *object = (char *)data + 2 * sizeof(text), was = object[at];

        object[at] = was == '1' ? '9' : was ^ 1;
        if (net_entry_read_object(object, text, &r->arch, &e) == EMU_OK) {
            other.memory = &e.memory;
            other.layers = &e.layers;
            if (layer_cycles_bill(&e.layers, ss_session_run_image(r->session)) == EMU_OK)
                free(all_text(&other));
        }
        net_entry_free(&e);
        object[at] = was;
    }
}

/* A run from what was kept gives the same answer, on a machine with another clock, too. */
static void test_entry(void **state)
{
    struct request asked = { .use = USE_RUN };
    const struct session_options o = { .record = 1 };
    struct compiled_net *r = *state;
    const char *picture = "made";
    struct model_answer m = answer_of(r, &asked, &picture), other = m;
    struct op_tensor picture_numbers = picture_of(r->net->graph);
    struct session *session;
    uint64_t input_bytes;
    uint8_t *input;
    struct arch fast = r->arch;
    struct net_entry e;
    size_t bytes;
    uint8_t *data = entry_of(r, &bytes);
    char *a, *b;

    asked.value[OPTION_FLAG_plan].flag = 1;
    must(ss_arch_set(&fast, "clock_mhz=2000"));
    must(net_entry_read(data, bytes, &fast, 0, &e));
    assert_string_equal(e.names, "timm");
    assert_true(ss_arch_equal(ss_image_arch(e.image), &fast));
    must(image_set_arch(e.image, &r->arch));
    must(ss_session_new_image(e.image, &o, &session));
    must(op_pixels_pack(&picture_numbers, &input, &input_bytes));
    assert_int_equal(input_bytes, 8 * SIDE * SIDE);
    must(ss_run_input_write(ss_session_run_image(session), NET_IMAGE_INPUT, input, input_bytes));
    must(ss_session_run(session));
    must(layer_cycles_bill(&e.layers, ss_session_run_image(session)));
    other.run = ss_session_run_image(session);
    other.layers = &e.layers;
    other.memory = &e.memory;
    a = all_text(&m);
    b = all_text(&other);
    assert_string_equal(a, b);
    damage_entry(r, &m, data, bytes);
    free(a);
    free(b);
    ss_session_free(session);
    net_entry_free(&e);
    op_tensor_free(&picture_numbers);
    ss_free(input);
    ss_free(data);
}

/* Another value for a field, 0 when there is none that is possible. */
static int vary(struct arch *a, size_t field)
{
    const struct arch_field *d = ss_arch_field_at(field);
    const uint64_t now = ss_arch_field_number(a, field);
    const uint64_t value[] = { now + 4, now + 1, now / 2, now * 2 };
    char text[100];

    if (d->type == ARCH_TYPE_text || d->type == ARCH_TYPE_rails) {
        snprintf(text, sizeof(text), "%s=%s", d->name,
                 d->type == ARCH_TYPE_text ? "other" : "mesh");
        return ss_arch_set(a, text) == EMU_OK;
    }
    for (size_t i = 0; i < EMU_COUNT_OF(value); i++) {
        struct arch other = *a;

        snprintf(text, sizeof(text), "%s=%llu", d->name, (unsigned long long)value[i]);
        if (value[i] != now && ss_arch_set(&other, text) == EMU_OK &&
            ss_arch_check(&other) == EMU_OK) {
            *a = other;
            return 1;
        }
    }
    return 0;
}

/* A program for another machine is the same byte for byte if only fields of other stages than C
 * differ: all of them are varied at once. */
static void test_what_if(void **state)
{
    struct compiled_net *r = *state, other;
    struct arch a = r->arch;
    size_t bytes[2], image_bytes[2], varied = 0;
    uint8_t *data[2];
    char *image[2];
    uint64_t text;

    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        if (ss_arch_field_at(i)->stage == ARCH_STAGE_C)
            continue;
        if (!vary(&a, i))
            fail_msg("no other value for %s", ss_arch_field_at(i)->name);
        assert_true(ss_arch_compiles_equal(&r->arch, &a));
        varied++;
    }
    assert_true(varied > 20 && !ss_arch_equal(&r->arch, &a));
    compiled_net_new(&a, &other);
    data[0] = entry_of(r, &bytes[0]);
    data[1] = entry_of(&other, &bytes[1]);
    memcpy(&text, data[0], sizeof(text));
    assert_memory_equal(data[0], data[1], sizeof(text) + text); /* layers, plans, memory */
    for (int i = 0; i < 2; i++)
        image[i] = image_file_of(&a, data[i], bytes[i], &image_bytes[i]);
    assert_int_equal(image_bytes[0], image_bytes[1]);
    assert_memory_equal(image[0], image[1], image_bytes[0]);
    for (int i = 0; i < 2; i++) {
        ss_free(data[i]);
        ss_free(image[i]);
    }
    compiled_net_free(&other);
}

/* A field that compiling reads makes another program. */
static void test_stages(void **state)
{
    struct compiled_net *r = *state;
    size_t read = 0;

    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        struct arch a = r->arch;

        if (ss_arch_field_at(i)->stage != ARCH_STAGE_C || !vary(&a, i))
            continue;
        assert_false(ss_arch_compiles_equal(&r->arch, &a));
        read++;
    }
    assert_true(read > 20);
}

/* Another machine than the image was compiled for is refused. */
static void test_entry_of_other_machine(void **state)
{
    struct compiled_net *r = *state;
    struct arch slow = r->arch;
    struct net_entry e;
    struct image *im;

    must(ss_arch_set(&slow, "sync_chip_cycles=100"));
    must(image_new(&r->arch, &im));
    assert_int_equal(image_set_arch(im, &slow), EMU_BAD_IMAGE);
    assert_true(ss_arch_equal(ss_image_arch(im), &r->arch));
    ss_image_free(im);
    memset(&e, 0, sizeof(e));
    net_entry_free(&e); /* takes what is all zero */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycles_add_up),
        cmocka_unit_test(test_bill_adds_up),
        cmocka_unit_test(test_steps_of_an_image),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_layers_agree),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_chart),
        cmocka_unit_test(test_entry),
        cmocka_unit_test(test_entry_of_other_machine),
        cmocka_unit_test(test_what_if),
        cmocka_unit_test(test_stages),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
