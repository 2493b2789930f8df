/* lab_conv.c - one convolution layer by the planner's cut: what was predicted beside what it took,
 * the numbers against sums in f64, and what the vendor published for layers of that name. Or one of
 * its gradients, by the input or by the weights.
 */
#include <math.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "programs/lab/lab_conv_back.h"

enum {
    LAYER,
    FIELD,
    WIDTH,
    IN,
    OUT,
    KERNEL,
    STRIDE,
    PAD,
    PAD_LOWER,
    GROUPS,
    BATCH,
    PARTIALS,
    ACT,
    PASS,
    SEED
};
enum { FORWARD, BY_DATA, BY_WEIGHTS };
enum { PICTURE = 4, SIDE_MAX = 1024, CHANNELS_MAX = 16384, PASSES = 3 };

/* Layers with published cycles; 0: none of them. */
static const struct published_layer {
    const char *name;
    uint32_t field, kernel, stride, pad, pad_lower, in, out, groups, batch, cycles;
} published[] = {
    { .name = "none" },
#define LAYER(...) { __VA_ARGS__ },
#include "programs/lab/poplar_layers.def"
#undef LAYER
};

static const char *const layer_names[] = {
    "none",
#define LAYER(name, ...) name,
#include "programs/lab/poplar_layers.def"
#undef LAYER
};

static const char *const partials_names[] = { "f16", "f32" };
static const char *const act_names[] = { "none", "relu", "swish" };
static const char *const pass_names[] = { "forward", "data", "weights" };

static const struct program_param param[] = {
    [LAYER] = { "layer", 0, 0, EMU_COUNT_OF(layer_names) - 1,
                "all sizes at once: those of a layer with published cycles" },
    [FIELD] = { "field", 56, 1, SIDE_MAX, "rows and columns, 56x56; one number: a square" },
    [WIDTH] = { "width", 0, 0, SIDE_MAX, "columns, 0: as many as rows" },
    [IN] = { "in", 64, 1, CHANNELS_MAX, "input channels of a group" },
    [OUT] = { "out", 64, 1, CHANNELS_MAX, "output channels of a group" },
    [KERNEL] = { "kernel", 3, 1, 15, "rows and columns of the kernel" },
    [STRIDE] = { "stride", 1, 1, 8, "rows and columns from window to window" },
    [PAD] = { "pad", 1, 0, 15, "rows and columns of zeros on all sides" },
    [PAD_LOWER] = { "pad-lower", 0, 0, 15, "more of them above and to the left" },
    [GROUPS] = { "groups", 1, 1, CHANNELS_MAX, "groups of channels; with in 1, out 1: depthwise" },
    [BATCH] = { "batch", 1, 1, 64, "pictures" },
    [PARTIALS] = { "partials", 0, 0, 1, "type of partial sums" },
    [ACT] = { "act", 0, 0, 2, "activation function after it" },
    [PASS] = { "pass", 0, 0, 2, "forward, or the gradient by its data or by its weights" },
    [SEED] = { "seed", 1, 0, UINT32_MAX, "of inputs and weights" },
};

static const struct param_words words[] = {
    { "layer", layer_names }, { "partials", partials_names },
    { "act", act_names },     { "pass", pass_names },
    { NULL, NULL },
};

/* A layer and its numbers. */
struct conv_lab {
    uint64_t value[EMU_COUNT_OF(param)];
    struct conv_plan plan;
    struct activation x, y;
    struct conv_layer layer;
    float *in, *weights; /* owned: [n][c][h][w]; [out][in of a group][k][k] */
    /* Of gradients: y is dy. */
    float *slope;           /* owned: [n][out][h][w], numbers of dy */
    struct conv_home home;  /* of the weights */
    struct activation dx;   /* by data */
    struct tensor gradient; /* by weights: [out][in of a group][k][k] */
};

static void conv_free(void *state)
{
    struct conv_lab *l = state;

    ss_free(l->in);
    ss_free(l->weights);
    ss_free(l->slope);
    ss_free(l);
}

/* ---- the graph ---- */

/* --layer stands for all sizes. */
static void take_layer(uint64_t *value)
{
    const struct published_layer *p = &published[value[LAYER]];

    if (value[LAYER]) {
        value[FIELD] = p->field;
        value[WIDTH] = 0;
        value[IN] = p->in;
        value[OUT] = p->out;
        value[KERNEL] = p->kernel;
        value[STRIDE] = p->stride;
        value[PAD] = p->pad;
        value[PAD_LOWER] = p->pad_lower;
        value[GROUPS] = p->groups;
        value[BATCH] = p->batch;
    }
    if (!value[WIDTH])
        value[WIDTH] = value[FIELD];
}

/* A field for the host to write. */
static void new_field(struct graph *g, struct activation *x, const char *name)
{
    uint32_t shape[5] = { (x->c + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK, x->n, x->h, x->w,
                          CHANNEL_BLOCK };

    x->t = ss_graph_variable(g, ELEM_F16, 5, shape, name);
    ss_graph_map_linear(g, x->t, CHANNEL_BLOCK, CHANNEL_BLOCK, 0, ss_graph_arch(g)->tiles);
    ss_graph_keep(g, x->t);
}

/* Channels that are in memory: blocks of 16, or 4 of a picture. */
static struct activation new_input(struct graph *g, struct nn *nn, const uint64_t *value)
{
    struct conv_shape s = { .in_c = (uint32_t)(value[IN] * value[GROUPS]),
                            .groups = (uint32_t)value[GROUPS],
                            .kernel_h = (uint32_t)value[KERNEL],
                            .kernel_w = (uint32_t)value[KERNEL],
                            .stride_h = (uint32_t)value[STRIDE],
                            .stride_w = (uint32_t)value[STRIDE],
                            .dilation_h = 1,
                            .dilation_w = 1 };
    struct activation x = { .n = (uint32_t)value[BATCH],
                            .c = s.in_c,
                            .h = (uint32_t)value[FIELD],
                            .w = (uint32_t)value[WIDTH] };

    if (ss_conv_is_first(&s))
        x.t = ss_op_picture(nn, x.n, x.h, x.w, "x").t;
    else
        new_field(g, &x, "x");
    return x;
}

static enum emu_status check_sizes(const uint64_t *value)
{
    uint64_t high = value[FIELD] + 2 * value[PAD] + value[PAD_LOWER];
    uint64_t wide = value[WIDTH] + 2 * value[PAD] + value[PAD_LOWER];
    uint64_t in = value[IN] * value[GROUPS], out = value[OUT] * value[GROUPS];

    if (value[KERNEL] > high || value[KERNEL] > wide)
        return FAIL(USAGE, "kernel %u is larger than the padded field of %u x %u",
                    (unsigned)value[KERNEL], (unsigned)high, (unsigned)wide);
    if (in > CHANNELS_MAX || out > CHANNELS_MAX)
        return FAIL(USAGE, "%llu to %llu channels in all groups: at most %d",
                    (unsigned long long)in, (unsigned long long)out, CHANNELS_MAX);
    if (value[BATCH] * value[FIELD] * value[WIDTH] * (in > out ? in : out) > 1u << 28)
        return FAIL(USAGE, "more than 2^28 activations");
    return EMU_OK;
}

void lab_conv_defaults(const struct arch *a, uint64_t *value)
{
    value[FIELD] = lab_scaled(a, value[FIELD], 4, 1);
    value[IN] = lab_scaled(a, value[IN], 4, 16);
    value[OUT] = lab_scaled(a, value[OUT], 4, 16);
}

/* One gradient of the layer on l->x, whose numbers only the one by weights reads. */
static enum emu_status build_gradient(struct graph *g, struct nn *nn, struct conv_lab *l)
{
    struct conv_shape s = ss_conv_layer_shape(&l->x, &l->layer);
    struct tensor blocks;

    if (l->layer.act != ACT_NONE)
        return FAIL(USAGE, "act: of gradients expected none");
    l->y = (struct activation){ .n = l->x.n, .c = l->layer.out_c, .h = s.out_h, .w = s.out_w };
    new_field(g, &l->y, "dy");
    if (l->value[PASS] == BY_WEIGHTS) {
        blocks = ss_op_conv_weight_gradient(nn, l->x, l->y, &l->layer, "conv");
        ss_graph_keep(g, blocks);
        l->gradient = ss_conv_weights_matrix(nn, &l->x, &l->layer, blocks);
        return EMU_OK;
    }
    if (ss_conv_is_first(&s))
        return FAIL(USAGE,
                    "pass: of a layer with %u channels that reads pictures there is no "
                    "gradient by its data",
                    l->x.c);
    l->home = ss_conv_weights_home(nn, &l->x, &l->layer, ELEM_F16, "weights");
    ss_graph_keep(g, l->home.blocks);
    l->layer.w = &l->home.blocks;
    l->dx = ss_op_conv_data_gradient(nn, l->y, &l->layer, &l->x, "conv");
    ss_graph_keep(g, l->dx.t);
    return EMU_OK;
}

static enum emu_status conv_build(struct graph *g, const uint64_t *value, void **state)
{
    struct program seq = ss_program_sequence(g);
    struct conv_lab *l = emu_alloc(1, sizeof(*l));
    enum emu_status st = EMU_OK;
    uint64_t *v, weights;
    struct nn *nn;

    if (!l)
        return FAIL(NO_MEMORY, "a lab program");
    *state = l;
    v = l->value;
    memcpy(v, value, sizeof(l->value));
    take_layer(v);
    TRY(check_sizes(v));
    weights = v[OUT] * v[GROUPS] * v[IN] * v[KERNEL] * v[KERNEL];
    l->weights = lab_numbers(weights, 2 * v[SEED] + 1, 10);
    if (!l->weights)
        return FAIL(NO_MEMORY, "%llu weights", (unsigned long long)weights);
    l->layer = (struct conv_layer){ .out_c = (uint32_t)(v[OUT] * v[GROUPS]),
                                    .kernel_h = (uint32_t)v[KERNEL],
                                    .kernel_w = (uint32_t)v[KERNEL],
                                    .stride_h = (uint32_t)v[STRIDE],
                                    .stride_w = (uint32_t)v[STRIDE],
                                    .dilation_h = 1,
                                    .dilation_w = 1,
                                    .groups = (uint32_t)v[GROUPS],
                                    .pad_top = (uint32_t)(v[PAD] + v[PAD_LOWER]),
                                    .pad_left = (uint32_t)(v[PAD] + v[PAD_LOWER]),
                                    .pad_bottom = (uint32_t)v[PAD],
                                    .pad_right = (uint32_t)v[PAD],
                                    .weights = l->weights,
                                    .act = (enum activation_function)v[ACT],
                                    .partials = (enum conv_partials)v[PARTIALS] };
    TRY(ss_nn_new(g, seq, 0, &nn));
    l->x = new_input(g, nn, v);
    if (v[PASS] == FORWARD) {
        l->y = ss_op_conv(nn, l->x, &l->layer, &l->plan, "conv");
        ss_graph_keep(g, l->y.t);
    } else {
        st = build_gradient(g, nn, l);
    }
    ss_nn_free(nn);
    ss_graph_set_program(g, seq);
    return st == EMU_OK ? ss_graph_status(g) : st;
}

/* ---- numbers ---- */

/* Where channel c of position i of picture n lies in the memory of f. */
static size_t place_of(const struct graph *g, const struct activation *f, uint32_t n, uint32_t c,
                       uint32_t i)
{
    size_t positions = (size_t)f->h * f->w;

    if (ss_tensor_rank(g, f->t) == 4)
        return (n * positions + i) * PICTURE + c;
    return (((size_t)(c / CHANNEL_BLOCK) * f->n + n) * positions + i) * CHANNEL_BLOCK +
           c % CHANNEL_BLOCK;
}

/* Gives a field numbers [n][c][h][w] from a seed; *numbers: owned. */
static enum emu_status write_field(struct session *s, const struct activation *f, uint64_t seed,
                                   float **numbers)
{
    const struct graph *g = ss_session_graph(s);
    uint32_t positions = f->h * f->w;
    uint64_t n = (uint64_t)f->n * f->c * positions, all = ss_tensor_elements(g, f->t);
    float *values = emu_alloc(all, sizeof(*values));
    enum emu_status st;

    *numbers = lab_numbers(n, seed, 10);
    if (!*numbers || !values) {
        ss_free(values);
        return FAIL(NO_MEMORY, "%llu activations", (unsigned long long)n);
    }
    for (uint64_t i = 0; i < n; i++)
        values[place_of(g, f, (uint32_t)(i / positions / f->c), (uint32_t)(i / positions % f->c),
                        (uint32_t)(i % positions))] = (*numbers)[i];
    st = lab_write(s, g, f->t, values, all);
    ss_free(values);
    return st;
}

/* Weights where they live, with zeros for channels that there are not. */
static enum emu_status write_weights(struct session *s, const struct conv_lab *l)
{
    const struct graph *g = ss_session_graph(s);
    uint64_t all = ss_tensor_elements(g, l->home.blocks);
    float *zeros = emu_alloc(all, sizeof(*zeros));
    enum emu_status st = lab_write(s, g, l->home.blocks, zeros, all);

    ss_free(zeros);
    TRY(st);
    return lab_write(s, g, l->home.weights, l->weights, ss_tensor_elements(g, l->home.weights));
}

static enum emu_status conv_before(struct session *s, void *state)
{
    struct conv_lab *l = state;

    if (l->value[PASS] != BY_DATA)
        TRY(write_field(s, &l->x, 2 * l->value[SEED], &l->in));
    if (l->value[PASS] == FORWARD)
        return EMU_OK;
    if (l->value[PASS] == BY_DATA)
        TRY(write_weights(s, l));
    return write_field(s, &l->y, 2 * l->value[SEED] + 3, &l->slope);
}

/* One channel of one picture of the result: sums in f64 and how far the machine may be from them.
 * Every 16 products, and every tap of the kernel, a partial sum v is rounded: to f16 by at most |v|
 * 2^-11, to f32 four times by |v| 2^-24. Twice that, for what the roundings do to each other. */
struct channel_sums {
    const struct conv_lab *l;
    uint32_t n, out;
    double *part, *sum, *bound; /* [positions] */
};

/* Adds the products of an input channel with one weight. */
static void add_products(const struct channel_sums *s, uint32_t c, uint32_t row, uint32_t column,
                         double weight)
{
    const struct conv_lab *l = s->l;
    const struct conv_layer *k = &l->layer;
    const float *x = l->in + ((size_t)s->n * l->x.c + c) * l->x.h * l->x.w;

    for (uint32_t oy = 0; oy < l->y.h; oy++) {
        uint32_t y = oy * k->stride_h + row - k->pad_top; /* wraps above: beyond the field, too */

        for (uint32_t ox = 0; ox < l->y.w && y < l->x.h; ox++) {
            uint32_t at = ox * k->stride_w + column - k->pad_left;

            if (at < l->x.w)
                s->part[oy * l->y.w + ox] += weight * (double)x[y * l->x.w + at];
        }
    }
}

/* Input channels [begin, end) of a group, those that one tile adds up. */
static void add_part(const struct channel_sums *s, uint32_t begin, uint32_t end, double rounding)
{
    const struct conv_layer *k = &s->l->layer;
    uint32_t each = s->l->x.c / k->groups, taps = k->kernel_h * k->kernel_w;
    uint32_t first = s->out / (k->out_c / k->groups) * each, positions = s->l->y.h * s->l->y.w;
    const float *w = s->l->weights + (size_t)s->out * each * taps;

    memset(s->part, 0, positions * sizeof(*s->part));
    for (uint32_t at = begin, stop; at < end; at = stop) {
        stop = at + CHANNEL_BLOCK < end ? at + CHANNEL_BLOCK : end;
        for (uint32_t t = 0; t < taps; t++) {
            for (uint32_t c = at; c < stop; c++)
                add_products(s, first + c, t / k->kernel_w, t % k->kernel_w,
                             (double)w[(size_t)c * taps + t]);
            for (uint32_t i = 0; i < positions; i++)
                s->bound[i] += fabs(s->part[i]) * rounding;
        }
    }
    for (uint32_t i = 0; i < positions; i++)
        s->sum[i] += s->part[i];
}

static double activate(double v, enum activation_function act)
{
    return act == ACT_RELU ? fmax(v, 0) : act == ACT_SWISH ? v / (1 + exp(-v)) : v;
}

static void add_channel(const struct channel_sums *s)
{
    const struct conv_plan *p = &s->l->plan;
    int f32 = s->l->layer.partials == PARTIALS_F32 && p->method != CONV_DEPTHWISE;
    int cut = p->method == CONV_GEMM || (p->method == CONV_WINDOW && s->l->layer.groups == 1);
    uint32_t each = s->l->x.c / s->l->layer.groups,
             blocks = (each + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK;
    uint32_t parts = cut ? p->cut_in : 1, positions = s->l->y.h * s->l->y.w;

    memset(s->sum, 0, positions * sizeof(*s->sum));
    memset(s->bound, 0, positions * sizeof(*s->bound));
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t begin = blocks * i / parts * CHANNEL_BLOCK,
                 end = blocks * (i + 1) / parts * CHANNEL_BLOCK;

        add_part(s, begin, end < each ? end : each, f32 ? 0x1p-21 : 0x1p-10);
    }
    /* The sum becomes f16, then the function of it, whose error is up to 1.61 units of the sum. */
    for (uint32_t i = 0; i < positions; i++) {
        s->bound[i] = s->bound[i] * 1.1 + fabs(s->sum[i]) * 3 * 0x1p-11 + 0x1p-24;
        s->sum[i] = activate(s->sum[i], s->l->layer.act);
    }
}

/* All results, and how far they may be off, in the order of y's memory. */
static void add_all(const struct conv_lab *l, const struct graph *g, double *room, float *want,
                    float *bound)
{
    uint32_t positions = l->y.h * l->y.w;
    struct channel_sums s = { l, 0, 0, room, room + positions, room + 2 * (size_t)positions };

    for (s.n = 0; s.n < l->y.n; s.n++) {
        for (s.out = 0; s.out < l->y.c; s.out++) {
            add_channel(&s);
            for (uint32_t i = 0; i < positions; i++) {
                size_t at = place_of(g, &l->y, s.n, s.out, i);

                want[at] = (float)s.sum[i];
                bound[at] = (float)s.bound[i];
            }
        }
    }
}

static enum emu_status compare(const struct conv_lab *l, struct session *s, json_t *answer)
{
    const struct graph *g = ss_session_graph(s);
    uint64_t n = ss_tensor_elements(g, l->y.t), positions = (uint64_t)l->y.h * l->y.w;
    double *room = emu_alloc(PASSES * positions, sizeof(*room));
    float *want = emu_alloc(n, sizeof(*want)), *bound = emu_alloc(n, sizeof(*bound)), *got = NULL;
    enum emu_status st =
        room && want && bound ? EMU_OK : FAIL(NO_MEMORY, "%llu sums", (unsigned long long)n);

    if (st == EMU_OK)
        st = lab_read(s, g, l->y.t, &got, n);
    if (st == EMU_OK) {
        add_all(l, g, room, want, bound);
        st = lab_compare_each(got, want, bound, n, answer);
    }
    ss_free(room);
    ss_free(want);
    ss_free(bound);
    ss_free(got);
    return st;
}

/* ---- gradients ---- */

/* The gradient of number i of x or of the weights, and its bound, into the order of memory. */
static void place_gradient(const struct conv_lab *l, const struct graph *g,
                           const struct conv_back *b, const double *sum, const double *root,
                           uint64_t i, float *want, float *bound)
{
    uint32_t positions = l->x.h * l->x.w;
    size_t at = i;

    if (l->value[PASS] == BY_DATA)
        at = place_of(g, &l->dx, (uint32_t)(i / positions / l->x.c),
                      (uint32_t)(i / positions % l->x.c), (uint32_t)(i % positions));
    want[at] = (float)sum[i];
    bound[at] = (float)(l->value[PASS] == BY_DATA ? conv_back_data_bound(b, sum[i], root[i])
                                                  : conv_back_weights_bound(sum[i], root[i]));
}

static enum emu_status compare_gradient(const struct conv_lab *l, struct session *s, json_t *answer)
{
    const struct graph *g = ss_session_graph(s);
    const struct conv_back b = { &l->layer, l->x, l->y, l->in, l->slope, l->weights };
    int by_data = l->value[PASS] == BY_DATA;
    struct tensor t = by_data ? l->dx.t : l->gradient;
    uint64_t all = ss_tensor_elements(g, t);
    uint64_t n = by_data ? (uint64_t)l->x.n * l->x.c * l->x.h * l->x.w : all;
    double *sum = emu_alloc(n, sizeof(*sum)), *root = emu_alloc(n, sizeof(*root));
    float *want = emu_alloc(all, sizeof(*want)), *bound = emu_alloc(all, sizeof(*bound));
    float *got = NULL;
    enum emu_status st = sum && root && want && bound
                             ? lab_read(s, g, t, &got, all)
                             : FAIL(NO_MEMORY, "%llu sums", (unsigned long long)n);

    if (st == EMU_OK) {
        (by_data ? conv_back_data : conv_back_weights)(&b, sum, root);
        for (uint64_t i = 0; i < n; i++)
            place_gradient(l, g, &b, sum, root, i, want, bound);
        st = lab_compare_each(got, want, bound, all, answer);
    }
    ss_free(sum);
    ss_free(root);
    ss_free(want);
    ss_free(bound);
    ss_free(got);
    return st;
}

/* ---- the answer ---- */

static uint64_t multiply_adds(const struct conv_lab *l)
{
    return (uint64_t)l->y.n * l->y.h * l->y.w * l->y.c * (l->x.c / l->layer.groups) *
           l->layer.kernel_h * l->layer.kernel_w;
}

static void note_sizes(const struct conv_lab *l, json_t *answer)
{
    char sizes[120];

    snprintf(sizes, sizeof(sizes), "%u x %u x %u x %u to %u x %u x %u, kernel %u, stride %u",
             l->x.n, l->x.c, l->x.h, l->x.w, l->y.c, l->y.h, l->y.w, l->layer.kernel_h,
             l->layer.stride_h);
    json_object_set_new(answer, "layer", json_string(sizes));
    json_object_set_new(answer, "pass", json_string(pass_names[l->value[PASS]]));
}

static void note_plan(const struct session *s, const struct conv_lab *l, json_t *answer)
{
    const struct conv_plan *p = &l->plan;
    const struct plan_cost *c = &p->cost;
    char parts[80];

    snprintf(parts, sizeof(parts), "%u x %u x %u x %u x %u", p->cut_n, p->cut_h, p->cut_w,
             p->cut_out, p->cut_in);
    json_object_set_new(
        answer, "plan",
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "method",
                  ss_conv_method_name(p->method), "partials", partials_names[l->layer.partials],
                  "parts_n_h_w_out_in", parts, "exchange_cycles", (json_int_t)c->exchange_in,
                  "compute_cycles", (json_int_t)c->compute, "partials_exchange_cycles",
                  (json_int_t)c->exchange_partials, "reduce_cycles", (json_int_t)c->reduce,
                  "rearrange_cycles", (json_int_t)c->rearrange, "sync_cycles", (json_int_t)c->sync,
                  "total_cycles", (json_int_t)c->total, "temporary_bytes",
                  (json_int_t)c->tile_bytes));
    lab_note(answer, "executed_over_predicted", (double)ss_session_cycles(s) / (double)c->total);
}

/* The passes are alike in arithmetic, so a third of the cycles is what compares with one of them.
 */
static void note_published(const struct session *s, const struct conv_lab *l, json_t *answer)
{
    const struct published_layer *p = &published[l->value[LAYER]];

    if (l->value[LAYER])
        json_object_set_new(answer, "published",
                            json_pack("{s:s, s:I, s:I, s:f}", "layer", p->name,
                                      "three_passes_cycles", (json_int_t)p->cycles,
                                      "a_third_cycles", (json_int_t)(p->cycles / PASSES),
                                      "percent_of_a_third",
                                      100.0 * PASSES * (double)ss_session_cycles(s) / p->cycles));
}

static enum emu_status conv_after(struct session *s, void *state, json_t *answer)
{
    const struct arch *a = ss_graph_arch(ss_session_graph(s));
    const struct conv_lab *l = state;
    double macs = (double)multiply_adds(l);

    note_sizes(l, answer);
    if (l->value[PASS] == FORWARD)
        note_plan(s, l, answer);
    json_object_set_new(answer, "multiply_adds", json_integer((json_int_t)macs));
    lab_note(answer, "percent_of_matrix_peak",
             100 * macs / ((double)ss_session_cycles(s) * a->tiles * arch_f16_macs_f16(a)));
    note_published(s, l, answer);
    return l->value[PASS] == FORWARD ? compare(l, s, answer) : compare_gradient(l, s, answer);
}

const struct named_program lab_conv = {
    .name = "conv",
    .text = "one convolution layer, cut over tiles by the planner",
    .param = param,
    .params = EMU_COUNT_OF(param),
    .words = words,
    .pair = { "field", "width" },
    .build = conv_build,
    .before = conv_before,
    .after = conv_after,
    .done = conv_free,
};
