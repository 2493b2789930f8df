/* softmax_op.c - softmax of every picture. Its classes are divided among some tiles, in three
 * steps: maxima, exponentials and their sums, quotients.
 *
 * Each step runs on other tiles than the one before: copying results that lie on the same tile
 * takes a call, which is slower than fetching everything from other tiles. */
#include "programs/library/layout/tile_choice.h"
#include "programs/library/layout/plan_cost.h"

enum { SCORES_VECTOR = 4 }; /* parts have a multiple of so many classes */

struct scores {
    struct nn *nn;
    struct activation x;
    uint32_t vectors, parts; /* of a picture's classes */
    struct tensor in;        /* [n][vectors][4] f16; the lowest number after the last class */
    struct tensor max;       /* [n][parts] f32 */
    struct tensor exp;       /* [n][vectors][4] f32 */
    struct tensor sum;       /* [n][parts][workers] f32 */
    struct tensor out;       /* as exp */
    uint8_t *holds;          /* owned; by tile: 1 if it holds classes */
};

/* ---- how many parts ---- */

/* Predicted cycles, without the part of the exchange that does not depend on the number of parts.
 */
static uint64_t parts_cost(const struct arch *a, uint32_t vectors, uint32_t parts)
{
    uint32_t n = ceil_div(vectors, parts) * SCORES_VECTOR, sums = parts * a->workers;

    return KERNEL_CYCLES(softmax_max, KERNEL_ROW(softmax_max_f16), a, .x = n) +
           KERNEL_CYCLES(softmax_exp, KERNEL_ROW(softmax_exp_f16), a, .x = n,
                         .max = parts + parts % 2) +
           KERNEL_CYCLES(softmax_scale, KERNEL_ROW(softmax_scale_f32), a, .x = n, .sums = sums) +
           2 * n + parts + sums; /* classes twice in f16, exponentials; maxima, sums */
}

static uint32_t choose_parts(const struct arch *a, uint32_t n, uint32_t vectors)
{
    uint64_t best = UINT64_MAX;
    uint32_t parts = 1;

    for (uint32_t cut = 1; cut <= vectors; cut = next_cut(vectors, cut)) {
        uint64_t cost = parts_cost(a, vectors, cut);

        if (cut > 1 && (uint64_t)cut * n > a->tiles)
            break;
        if (cost >= best)
            continue;
        best = cost;
        parts = cut;
    }
    return parts;
}

/* ---- steps ---- */

/* The classes of a part of picture n in t [n][vectors][4]. */
static struct tensor take(struct scores *s, struct tensor t, uint32_t n, uint32_t part)
{
    const struct nn_range range[] = { { n, n + 1 },
                                      nn_part(s->vectors, s->parts, part),
                                      { 0, SCORES_VECTOR } };

    return ss_tensor_flatten(s->nn->g, nn_slice(s->nn->g, t, range));
}

static struct tensor on_tile(struct scores *s, struct tensor t, uint32_t tile)
{
    ss_graph_map(s->nn->g, t, tile);
    return t;
}

static void max_part(struct scores *s, uint32_t cs, uint32_t n, uint32_t part, uint32_t tile)
{
    struct graph *g = s->nn->g;
    struct tensor out = ss_tensor_slice(g, ss_tensor_index(g, s->max, n), 0, part, part + 1);

    VERTEX(softmax_max_f16, g, cs, tile, .x = take(s, s->in, n, part),
           .out = on_tile(s, out, tile));
}

static void exp_part(struct scores *s, uint32_t cs, uint32_t n, uint32_t part, uint32_t tile)
{
    struct graph *g = s->nn->g;
    struct tensor max[2] = { ss_tensor_index(g, s->max, n) };
    struct tensor sum = ss_tensor_index(g, ss_tensor_index(g, s->sum, n), part);

    max[1] = ss_tensor_slice(g, max[0], 0, 0, 1); /* the codelet needs an even number */
    VERTEX(softmax_exp_f16, g, cs, tile, .x = take(s, s->in, n, part),
           .max = s->parts % 2 ? ss_tensor_concat(g, max, 2, 0) : max[0],
           .y = on_tile(s, take(s, s->exp, n, part), tile), .sum = on_tile(s, sum, tile));
}

static void scale_part(struct scores *s, uint32_t cs, uint32_t n, uint32_t part, uint32_t tile)
{
    struct graph *g = s->nn->g;

    VERTEX(softmax_scale_f32, g, cs, tile, .x = take(s, s->exp, n, part),
           .sums = ss_tensor_flatten(g, ss_tensor_index(g, s->sum, n)),
           .y = on_tile(s, take(s, s->out, n, part), tile));
}

static int holds(const void *ctx, uint32_t tile)
{
    return ((const uint8_t *)ctx)[tile];
}

typedef void score_step(struct scores *s, uint32_t cs, uint32_t n, uint32_t part, uint32_t tile);

/* Adds a step for all parts, on tiles that have neither results of the step before nor classes. */
static enum emu_status add_step(struct scores *s, score_step *step, const char *name)
{
    uint32_t cs = op_compute_set(s->nn->g, s->nn->seq, name), parts = s->x.n * s->parts;
    struct tile_choice choice;

    TRY(tile_choice_new(s->nn, parts, &choice));
    for (uint32_t k = 0; k < parts; k++)
        step(s, cs, k / s->parts, k % s->parts, tile_choice_take(&choice, holds, s->holds));
    for (uint32_t t = 0; t < choice.tiles; t++)
        s->holds[t] |= choice.taken[t];
    tile_choice_free(&choice);
    return EMU_OK;
}

/* ---- the operation ---- */

static enum emu_status find_holders(struct scores *s)
{
    struct tile_parts parts;

    s->holds = emu_alloc(ss_graph_arch(s->nn->g)->tiles, 1);
    if (!s->holds)
        return FAIL(NO_MEMORY, "tiles");
    TRY(tile_parts_of(s->nn->g, s->x.t, &parts));
    for (size_t i = 0; i < parts.count; i++)
        s->holds[parts.at[i].tile] = 1;
    tile_parts_free(&parts);
    return EMU_OK;
}

/* The classes, with padding that makes the last ones a whole vector. */
static struct tensor whole_vectors(struct scores *s)
{
    struct graph *g = s->nn->g;
    uint32_t more = s->vectors * SCORES_VECTOR - s->x.c, shape[2] = { 1, more };
    const uint16_t lowest[SCORES_VECTOR] = { NN_HALF_LOWEST, NN_HALF_LOWEST, NN_HALF_LOWEST };
    struct tensor part[2] = { nn_vectors(g, &s->x) };

    part[0] = ss_tensor_slice(g, part[0], 1, 0, s->x.c);
    if (!more)
        return part[0];
    part[1] = ss_graph_constant(g, ELEM_F16, 2, shape, lowest, "lowest");
    ss_graph_map(g, part[1], s->nn->small_layer_tile);
    part[1] = ss_tensor_broadcast(g, part[1], 0, s->x.n);
    return ss_tensor_concat(g, part, 2, 1);
}

static enum emu_status build(struct scores *s)
{
    struct graph *g = s->nn->g;
    uint32_t workers = ss_graph_arch(g)->workers;
    uint32_t shape[3] = { s->x.n, s->vectors, SCORES_VECTOR };
    uint32_t sums[3] = { s->x.n, s->parts, workers };

    TRY(ss_graph_status(g));
    TRY(find_holders(s));
    s->in = ss_tensor_reshape(g, whole_vectors(s), 3, shape);
    s->max = ss_graph_variable(g, ELEM_F32, 2, sums, "max");
    s->exp = ss_graph_variable(g, ELEM_F32, 3, shape, "exp");
    s->sum = ss_graph_variable(g, ELEM_F32, 3, sums, "sums");
    s->out = ss_graph_variable(g, ELEM_F32, 3, shape, "scores");
    TRY(add_step(s, max_part, "max"));
    TRY(add_step(s, exp_part, "exp"));
    return add_step(s, scale_part, "scale");
}

struct tensor ss_op_scores(struct nn *nn, struct activation x, const char *name)
{
    struct graph *g = nn_graph(nn);
    struct scores s = { .nn = nn, .x = x };
    enum emu_status st;

    if (ss_graph_status(g) != EMU_OK)
        return x.t;
    s.vectors = ceil_div(x.c, SCORES_VECTOR);
    s.parts = choose_parts(ss_graph_arch(g), x.n, s.vectors);
    s.out = x.t;
    ss_graph_push(g, name);
    st = build(&s);
    ss_graph_pop(g);
    ss_free(s.holds);
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return x.t;
    }
    s.out = ss_tensor_reshape(g, s.out, 2, (const uint32_t[]){ x.n, s.vectors * SCORES_VECTOR });
    return ss_tensor_slice(g, s.out, 1, 0, x.c);
}
