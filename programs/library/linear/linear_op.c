/* linear_op.c - fully connected layers: the rows of the weights, cut over tiles by plan_linear(),
 * times the vectors of all pictures. If rows themselves are cut, a second step adds up partial
 * results.
 *
 * Results are [n][c] in memory, so that the rows of a tile are one run for each picture. Rows after
 * the last channel are zero, and so are their results. */
#include <string.h>

#include "programs/library/layout/tile_choice.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/linear/linear_plan.h"

struct linear_layer {
    struct nn *nn;
    struct linear_plan plan;
    struct activation x, y;
    const struct tensor *w, *b; /* borrowed; NULL: constants */
    struct tensor rows;         /* f16: weights, tile after tile; of tensors a view */
    struct tensor bias;         /* f32 [1 or n][out] */
    struct tensor parts;        /* f32 [cut_in][n][out] */
    uint8_t *holds;             /* owned; by tile: 1 if it holds something that the step reads */
    const struct codelet *whole, *sum;
};

static struct nn_range rows_of(const struct linear_layer *l, uint32_t o)
{
    struct nn_range pairs = nn_part(l->plan.shape.out / LINEAR_ROWS, l->plan.cut_out, o);

    return (struct nn_range){ pairs.begin * LINEAR_ROWS, pairs.end * LINEAR_ROWS };
}

static struct nn_range inputs_of(const struct linear_layer *l, uint32_t i)
{
    struct nn_range quads = nn_part(l->plan.shape.in / LINEAR_IN, l->plan.cut_in, i);

    return (struct nn_range){ quads.begin * LINEAR_IN, quads.end * LINEAR_IN };
}

/* Some columns of some rows of a matrix, row by row. */
static struct tensor take(struct graph *g, struct tensor t, struct nn_range rows,
                          struct nn_range columns)
{
    const struct nn_range range[] = { rows, columns };

    return ss_tensor_flatten(g, nn_slice(g, t, range));
}

/* ---- parameters ---- */

static void add_weights(struct linear_layer *l, const float *weights)
{
    uint32_t out = l->plan.shape.out, in = l->plan.shape.in, n = out * in;
    uint16_t *m = emu_alloc(n, sizeof(*m)), *to = m;

    for (uint32_t k = 0; m && k < l->plan.cut_in * l->plan.cut_out; k++) {
        struct nn_range rows = rows_of(l, k % l->plan.cut_out);
        struct nn_range columns = inputs_of(l, k / l->plan.cut_out);

        for (uint32_t r = rows.begin; r < rows.end; r++) {
            for (uint32_t c = columns.begin; c < columns.end; c++, to++)
                *to = r < l->y.c && c < l->x.c ? nn_half(weights[(size_t)r * l->x.c + c]) : 0;
        }
    }
    if (m)
        l->rows = ss_graph_constant(l->nn->g, ELEM_F16, 1, &n, m, "weights");
    else
        ss_graph_fail(l->nn->g, EMU_NO_MEMORY, "%u weights", n);
    ss_free(m);
}

/* Makes the biases; one copy for every picture if their sums are made on different tiles. */
static void add_biases(struct linear_layer *l, const float *bias, enum activation_function act)
{
    uint32_t shape[2] = { l->plan.columns ? l->y.n : 1, l->plan.shape.out };
    float *b = emu_alloc(shape[1], sizeof(*b));

    for (uint32_t c = 0; b && c < shape[1]; c++) {
        if (c < l->y.c)
            b[c] = bias ? bias[c] : 0;
        else if (act == ACT_SIGMOID) /* the sigmoid of the lowest number is zero */
            b[c] = (float)fp_f16_value(NN_HALF_LOWEST);
    }
    if (b)
        l->bias = ss_graph_constant_repeated(l->nn->g, ELEM_F32, 2, shape, b, "bias");
    else
        ss_graph_fail(l->nn->g, EMU_NO_MEMORY, "%u biases", shape[1]);
    ss_free(b);
}

/* ---- parameters that are tensors ---- */

/* The weights w [out][in], as a view in the order of the constant; zeros are added. */
static void take_weights(struct linear_layer *l, struct tensor w)
{
    struct graph *g = l->nn->g;
    uint32_t parts = l->plan.cut_in * l->plan.cut_out;
    struct tensor *part = emu_alloc(parts, sizeof(*part));

    if (!part)
        ss_graph_fail(g, EMU_NO_MEMORY, "%u parts", parts);
    w = conv_pad(l->nn, conv_f16(l->nn, w, "weights"), 1, l->plan.shape.in);
    w = conv_pad(l->nn, w, 0, l->plan.shape.out);
    for (uint32_t k = 0; k < parts && ss_graph_status(g) == EMU_OK; k++)
        part[k] = take(g, w, rows_of(l, k % l->plan.cut_out), inputs_of(l, k / l->plan.cut_out));
    if (ss_graph_status(g) == EMU_OK)
        l->rows = ss_tensor_concat(g, part, parts, 0);
    ss_free(part);
}

/* The biases b [out] in f32, as often as there are copies of the constant; like there, the sigmoid
 * of what follows them is zero. */
static void take_biases(struct linear_layer *l, struct tensor b, enum activation_function act)
{
    struct graph *g = l->nn->g;
    uint32_t n = l->plan.shape.out - l->y.c;
    float v[CHANNEL_BLOCK];
    struct tensor part[2] = { ss_tensor_flatten(g, b) };

    if (ss_tensor_elem(g, b) != ELEM_F32)
        part[0] = ss_op_cast(g, l->nn->seq, part[0], ELEM_F32, "bias");
    for (uint32_t i = 0; i < CHANNEL_BLOCK; i++)
        v[i] = act == ACT_SIGMOID ? (float)fp_f16_value(NN_HALF_LOWEST) : 0;
    if (n) {
        part[1] = ss_graph_constant(g, ELEM_F32, 1, &n, v, "bias of no channel");
        ss_graph_map(g, part[1], 0);
    }
    l->bias = ss_tensor_reshape(g, ss_tensor_concat(g, part, 1 + (n > 0), 0), 2,
                                (const uint32_t[]){ 1, l->plan.shape.out });
    if (l->plan.columns)
        l->bias = ss_tensor_broadcast(g, l->bias, 0, l->y.n);
}

/* ---- tiles ---- */

/* A part that computes some rows. */
struct linear_part {
    const struct linear_layer *l;
    struct nn_range blocks; /* of 16 rows; empty for partial results */
};

/* Whether a tile holds something that the part reads, or will read the part's results as factors.
 */
static int avoids(const void *ctx, uint32_t tile)
{
    const struct linear_part *p = ctx;
    const struct nn *nn = p->l->nn;

    if (p->l->holds[tile])
        return 1;
    return nn->pooled && nn->pooled_c == p->l->y.c && nn->pooled[tile].begin < p->blocks.end &&
           p->blocks.begin < nn->pooled[tile].end;
}

static uint32_t take_tile(const struct linear_layer *l, struct tile_choice *s, struct nn_range rows,
                          int results)
{
    struct linear_part p = { .l = l };

    if (results)
        p.blocks = (struct nn_range){ rows.begin / CHANNEL_BLOCK, channel_blocks(rows.end) };
    return tile_choice_take(s, avoids, &p);
}

/* Finds the tiles that hold some of x. *others: how many hold nothing. */
static enum emu_status find_holders(struct linear_layer *l, uint32_t *others)
{
    uint32_t tiles = ss_graph_compute_tiles(l->nn->g);
    struct tile_parts s;

    *others = tiles;
    l->holds = emu_alloc(tiles, 1);
    if (!l->holds)
        return FAIL(NO_MEMORY, "%u tiles", tiles);
    TRY(tile_parts_of(l->nn->g, l->x.t, &s));
    for (size_t i = 0; i < s.count; i++)
        l->holds[s.at[i].tile] = 1;
    *others -= (uint32_t)s.count;
    tile_parts_free(&s);
    return EMU_OK;
}

/* ---- steps ---- */

static struct tensor on_tile(struct linear_layer *l, struct tensor t, uint32_t tile)
{
    ss_graph_map(l->nn->g, t, tile);
    return t;
}

/* Some biases, on the tile that uses them if they are a constant. */
static struct tensor biases_on(struct linear_layer *l, struct nn_range rows,
                               struct nn_range columns, uint32_t tile)
{
    struct tensor t = take(l->nn->g, l->bias, rows, columns);

    return l->b ? t : on_tile(l, t, tile);
}

/* Adds part k: some rows times the vectors, with whole or partial results. */
static void multiply_part(struct linear_layer *l, uint32_t cs, uint32_t k, uint32_t at,
                          uint32_t tile)
{
    struct graph *g = l->nn->g;
    struct nn_range rows = rows_of(l, k % l->plan.cut_out), n = { 0, l->x.n }, one = { 0, 1 };
    struct nn_range in = inputs_of(l, k / l->plan.cut_out);
    struct tensor a = ss_tensor_slice(g, l->rows, 0, at, at + nn_size(rows) * nn_size(in));
    struct tensor x = take(g, nn_vectors(g, &l->x), n, in);
    struct tensor y = take(g,
                           l->plan.columns ? ss_tensor_index(g, l->parts, k / l->plan.cut_out)
                                           : nn_vectors(g, &l->y),
                           n, rows);

    if (!l->w)
        ss_graph_map(g, a, tile);
    ss_graph_map(g, y, tile);
    if (l->plan.columns)
        VERTEX(linear_f16_f32, g, cs, tile, .a = a, .x = x, .y = y, .k = nn_size(in),
               .m = nn_size(rows));
    else
        VERTEX_OF(linear, l->whole, g, cs, tile, .a = a, .x = x,
                  .bias = biases_on(l, one, rows, tile), .y = y, .k = nn_size(in),
                  .m = nn_size(rows));
}

/* Adds the multiplication; afterwards `holds` has the tiles with its results. */
static enum emu_status multiply(struct linear_layer *l)
{
    uint32_t shape[3] = { l->plan.cut_in, l->x.n, l->plan.shape.out }, at = 0;
    uint32_t parts = l->plan.cut_in * l->plan.cut_out;
    uint32_t cs = op_compute_set(l->nn->g, l->nn->seq, "multiply");
    struct tile_choice s;

    TRY(tile_choice_new(l->nn, parts, &s));
    if (l->plan.columns)
        l->parts = ss_graph_variable(l->nn->g, ELEM_F32, 3, shape, "partials");
    for (uint32_t k = 0; k < parts; k++) {
        struct nn_range rows = rows_of(l, k % l->plan.cut_out);

        multiply_part(l, cs, k, at, take_tile(l, &s, rows, !l->plan.columns));
        at += nn_size(rows) * nn_size(inputs_of(l, k / l->plan.cut_out));
    }
    memcpy(l->holds, s.taken, s.tiles);
    tile_choice_free(&s);
    return EMU_OK;
}

/* Adds up the partial results of some columns of picture n. */
static void add_columns(struct linear_layer *l, uint32_t cs, uint32_t n, struct nn_range columns,
                        uint32_t tile)
{
    struct graph *g = l->nn->g;
    struct nn_range picture = { n, n + 1 };
    struct nn_range all[] = { { 0, l->plan.cut_in }, picture, columns };

    VERTEX_OF(sum_bias, l->sum, g, cs, tile,
              .partials = ss_tensor_flatten(g, nn_slice(g, l->parts, all)),
              .bias = biases_on(l, picture, columns, tile),
              .out = on_tile(l, take(g, nn_vectors(g, &l->y), picture, columns), tile),
              .p = l->plan.cut_in);
}

static enum emu_status add_partials(struct linear_layer *l)
{
    uint32_t out = l->plan.shape.out, step = l->plan.columns;
    uint32_t parts = (out + step - 1) / step, cs = op_compute_set(l->nn->g, l->nn->seq, "sum");
    struct tile_choice s;

    TRY(tile_choice_new(l->nn, parts * l->y.n, &s));
    for (uint32_t k = 0; k < parts * l->y.n; k++) {
        struct nn_range columns = { k % parts * step, (k % parts + 1) * step };

        columns.end = columns.end < out ? columns.end : out;
        add_columns(l, cs, k / parts, columns, take_tile(l, &s, columns, 1));
    }
    tile_choice_free(&s);
    return EMU_OK;
}

/* ---- the layer ---- */

static const struct act_kernels whole_rows = ACT_KERNELS_4(linear, f16);
static const struct act_kernels sums = ACT_KERNELS_4(sum_bias, f16);

/* Plans for the tiles that hold nothing of x, if those are the majority; else for all. */
static enum emu_status plan(struct linear_layer *l, uint32_t out, enum activation_function act)
{
    const struct arch *a = ss_graph_arch(l->nn->g);
    uint32_t others, tiles = ss_graph_compute_tiles(l->nn->g);
    struct linear_shape s = { .n = l->x.n,
                              .in = (l->x.c + LINEAR_IN - 1) / LINEAR_IN * LINEAR_IN,
                              .out = channel_blocks(out) * CHANNEL_BLOCK };

    l->whole = s.whole = nn_codelet(l->nn->g, &whole_rows, act);
    l->sum = s.sum = nn_codelet(l->nn->g, &sums, act);
    TRY(ss_graph_status(l->nn->g));
    TRY(find_holders(l, &others));
    return plan_linear(a, &s, others > tiles / 2 ? others : tiles, &l->plan);
}

/* Makes the variable of the result, [n][c16][16] in memory. */
static void add_result(struct linear_layer *l, uint32_t out)
{
    struct graph *g = l->nn->g;
    uint32_t n = l->x.n, blocks = channel_blocks(out);
    struct tensor t =
        ss_graph_variable(g, ELEM_F16, 3, (const uint32_t[]){ n, blocks, CHANNEL_BLOCK }, "out");

    t = ss_tensor_transpose(g, t, (const unsigned[]){ 1, 0, 2 });
    t = ss_tensor_reshape(g, t, 5, (const uint32_t[]){ blocks, n, 1, 1, CHANNEL_BLOCK });
    l->y = (struct activation){ t, n, out, 1, 1 };
}

static enum emu_status build(struct linear_layer *l, uint32_t out, const float *weights,
                             const float *bias, enum activation_function act)
{
    TRY(ss_graph_status(l->nn->g));
    if (l->x.h != 1 || l->x.w != 1)
        return FAIL(USAGE, "a field of %u x %u: expected one position", l->x.h, l->x.w);
    TRY(plan(l, out, act));
    add_result(l, out);
    if (l->w)
        take_weights(l, *l->w);
    else
        add_weights(l, weights);
    if (l->b)
        take_biases(l, *l->b, act);
    else
        add_biases(l, bias, act);
    TRY(multiply(l));
    return l->plan.columns ? add_partials(l) : EMU_OK;
}

static struct activation add_layer(struct linear_layer *l, uint32_t out, const float *weights,
                                   const float *bias, enum activation_function act,
                                   const char *name)
{
    struct graph *g = nn_graph(l->nn);
    enum emu_status s;

    if (ss_graph_status(g) != EMU_OK)
        return l->y;
    ss_graph_push(g, name);
    s = build(l, out, weights, bias, act);
    ss_graph_pop(g);
    if (s != EMU_OK)
        ss_graph_fail(g, s, "%s: %s", name, ss_error());
    ss_free(l->holds);
    return l->y;
}

struct activation ss_op_linear(struct nn *nn, struct activation x, uint32_t out,
                               const float *weights, const float *bias,
                               enum activation_function act, const char *name)
{
    struct linear_layer l = { .nn = nn, .x = x, .y = x };

    return add_layer(&l, out, weights, bias, act, name);
}

struct activation ss_op_linear_tensors(struct nn *nn, struct activation x, struct tensor w,
                                       const struct tensor *b, enum activation_function act,
                                       const char *name)
{
    struct linear_layer l = { .nn = nn, .x = x, .y = x, .w = &w, .b = b };
    struct graph *g = nn_graph(nn);

    if (ss_tensor_rank(g, w) != 2 || ss_tensor_shape(g, w)[1] != x.c) {
        ss_graph_fail(g, EMU_USAGE, "%s: weights of another shape: expected [out][%u]", name, x.c);
        return x;
    }
    return add_layer(&l, ss_tensor_shape(g, w)[0], NULL, NULL, act, name);
}
