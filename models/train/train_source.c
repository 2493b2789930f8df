/* train_source.c - a network by name or from a file, up to the graph that becomes a step. */
#include "models/ask/model_source.h"
#include "models/train/train_source.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "emu/base/random.h"
#include "models/ask/model_request.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/picture/picture_recipe.h"
#include "models/ask/network_choice.h"
#include "models/ask/onnx_request.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(NUMBER, batch)
OPTION_READ(NUMBER, classes)
OPTION_READ(TEXT, weights)
OPTION_READ(NUMBER, seed)
OPTION_READ(WORD, format)
OPTION_READ(WORD, rounding)
OPTION_READ(WORD, init)

enum { BATCH = 32 };

const char *train_format_text(const struct request *q)
{
    return option_format(q) == F32_F32   ? "f32"
           : option_format(q) == F16_F32 ? "16.32: f16 with f32 states"
           : option_rounding(q)          ? "16.16: f16, states rounded to the nearest"
                                         : "16.16: f16, states rounded stochastically";
}

/* ---- passes ---- */

/* All that keep norms and parameters as they are. */
static enum emu_status prepare(struct op_graph *g, int f32, struct precision_notes *notes)
{
    TRY(pass_join_pads(g));
    TRY(pass_recognise(g));
    TRY(pass_group_norms(g));
    if (f32) {
        TRY(pass_widen(g, NULL));
        TRY(pass_spell_windows(g));
    } else {
        TRY(pass_precision(g, notes));
    }
    return op_graph_check(g);
}

/* ---- names ---- */

/* Normal numbers as random_normal() draws them, without those beyond two deviations; their own
 * deviation is DEVIATION, by which they are divided. */
static double truncated_normal(uint64_t *state)
{
    static const double DEVIATION = 0.8858528530718432, MOST = 2;
    double x;

    do
        x = random_normal(state);
    while (fabs(x) > MOST);
    return x / DEVIATION;
}

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 40) * 0x1p-23 - 1;
}

static void draw_param(const struct net *n, uint32_t i, struct param *p, uint64_t seed,
                       enum train_init init)
{
    const struct net_param *info = &n->param[i];
    uint64_t state = hash_mix(seed + hash64(p->name, strlen(p->name)));
    double fan = p->rank ? (double)p->shape[0] : 1, in = p->rank > 1 ? (double)p->shape[1] : 0;
    int is_norm = info->role == PARAM_NORM || info->role == PARAM_BRANCH_NORM;
    double most;

    for (unsigned d = 2; d < p->rank; d++)
        fan *= p->shape[d];
    fan /= info->groups;
    most = init == INIT_TRUNCATED ? sqrt(6 / (in + fan)) : 1 / sqrt(fan);
    for (uint64_t k = 0; k < p->elements; k++) {
        if (is_norm)
            p->data[k] = !strcmp(info->suffix, "weight") || !strcmp(info->suffix, "running_var");
        else if (p->rank < 2)
            p->data[k] = 0;
        else if (info->role == PARAM_CLASSIFIER)
            p->data[k] = (float)(uniform(&state) * most);
        else if (init == INIT_TRUNCATED)
            p->data[k] = (float)(truncated_normal(&state) * sqrt(2 / fan));
        else
            p->data[k] = (float)(random_normal(&state) * sqrt(2 / fan));
    }
}

enum train_init train_init_of(const struct request *q, const struct net *n)
{
    if (request_has(q, OPTION_init))
        return option_init(q) ? INIT_TRUNCATED : INIT_NORMAL;
    return n->norm == NORM_BATCH ? INIT_NORMAL : INIT_TRUNCATED;
}

void train_source_seed(struct train_source *s, uint64_t seed, enum train_init init)
{
    for (uint32_t i = 0; s->net && i < s->weights->params; i++)
        draw_param(s->net, i, &s->weights->param[i], seed, init);
}

static enum emu_status open_name(const struct request *q, uint32_t batch, uint32_t classes,
                                 struct train_source *s)
{
    struct network_choice choice = network_choice_of(q);

    choice.net.batch = batch;
    choice.net.classes = classes;
    TRY(net_new(q->what, &choice.net, &s->net));
    TRY(weights_new(s->net, &s->weights));
    s->graph = s->net->graph;
    if (option_weights(q))
        TRY(weights_read(s->weights, s->net, option_weights(q), request_notes(q)));
    else
        train_source_seed(s, request_has(q, OPTION_seed) ? option_seed(q) : 1,
                          train_init_of(q, s->net));
    weights_attach(s->weights, s->net);
    s->shape.recipe = picture_recipe_of(s->net, s->weights->names);
    return EMU_OK;
}

/* ---- files ---- */

static enum emu_status open_file(const struct request *q, uint32_t batch, struct train_source *s)
{
    struct request with_batch = *q; /* the file's own batch is left open, or stands in it */

    if (request_has(q, OPTION_init))
        return FAIL(USAGE, "--init: %s has weights of its own", q->what);
    with_batch.value[OPTION_NUMBER_batch].number = batch;
    TRY(onnx_request_read(&with_batch, 1, &s->replaced, &s->model));
    s->graph = s->model->graph;
    if (s->graph->nodes_wrong) {
        model_print_problems(s->graph, option_json(q), request_answers(q));
        return op_graph_refused(s->graph, "");
    }
    return op_graph_tidy(s->graph);
}

/* ---- shapes ---- */

static enum emu_status shape_of(const struct op_graph *g, struct train_shape *t)
{
    const struct op_shape *in, *out;
    char text[OP_SHAPE_TEXT];

    if (g->inputs != 1 || !g->outputs)
        return FAIL(BAD_FILE, "%u inputs and %u outputs: a network with one of each can be trained",
                    g->inputs, g->outputs);
    in = &g->value[g->input[0]].shape;
    out = &g->value[g->output[0]].shape;
    if (op_type_kind(in->type) != OP_KIND_FLOAT || (in->rank != 2 && in->rank != 4) ||
        (in->rank == 4 && in->dim[1] != 1 && in->dim[1] != 3))
        return FAIL(BAD_FILE,
                    "the input is %s; pictures are [batch][1 or 3][height][width] or "
                    "[batch][numbers]",
                    op_shape_text(in, text));
    if (out->rank != 2 || out->dim[0] != in->dim[0])
        return FAIL(BAD_FILE, "the output is %s; expected scores [%u][classes]",
                    op_shape_text(out, text), in->dim[0]);
    t->batch = in->dim[0];
    t->classes = out->dim[1];
    t->numbers = (uint32_t)op_shape_span(in, 1, in->rank);
    if (in->rank == 4) {
        t->channels = in->dim[1];
        t->height = in->dim[2];
        t->width = in->dim[3];
    }
    return EMU_OK;
}

enum emu_status train_source_open(const struct request *q, const struct dataset *data,
                                  struct train_source *out)
{
    uint32_t batch = option_batch(q) ? (uint32_t)option_batch(q) : BATCH;
    uint32_t classes = (uint32_t)option_classes(q);
    struct train_shape *t = &out->shape;

    if (!classes && data)
        classes = data->classes;
    memset(out, 0, sizeof(*out));
    TRY(network_find(q->what) ? open_name(q, batch, classes, out) : open_file(q, batch, out));
    TRY(shape_of(out->graph, t));
    if (out->model) { /* files do not say */
        t->recipe = picture_recipe_usual(t->width, t->height);
        if (t->channels != 3)
            picture_recipe_gray(&t->recipe);
    }
    return prepare(out->graph, option_format(q) == F32_F32, &out->precision);
}

enum emu_status train_graph_check(const struct request *q, const struct arch *a, const char *as,
                                  struct op_graph *g)
{
    TRY(op_lower_check(g));
    if (!g->nodes_wrong)
        return op_lower_check_machine(a, g);
    model_print_problems(g, option_json(q), request_answers(q));
    return FAIL(BAD_FILE, "%u of %u nodes cannot run %s", g->nodes_wrong, g->nodes, as);
}

uint32_t train_source_batch(const struct train_source *s)
{
    return s->net || s->model->batched ? s->shape.batch : 0;
}

void train_source_free(struct train_source *s)
{
    weights_free(s->weights);
    net_free(s->net);
    onnx_model_free(s->model);
    onnx_weights_free(&s->replaced);
    memset(s, 0, sizeof(*s));
}
