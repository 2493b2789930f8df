/* argmax_op.c - the first maximum of a tensor: of each worker, then of each tile, then of all; and
 * softmax of a whole tensor, which is made of other operations. */
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/tile_parts.h"

static const struct typed_kernels argmax = FLOAT_KERNELS(argmax);

/* Pairs of a value and an index; each part of a tensor has some. */
struct pairs {
    struct tensor value, index;
    uint32_t each; /* pairs of a part */
};

static struct pairs pairs_new(struct graph *g, const struct tile_parts *s, uint32_t each,
                              const char *name)
{
    uint32_t n = (uint32_t)s->count * each;
    struct pairs p = { .each = each };

    ss_graph_push(g, name);
    p.value = ss_graph_variable(g, ELEM_F32, 1, &n, "value");
    p.index = ss_graph_variable(g, ELEM_U32, 1, &n, "index");
    ss_graph_pop(g);
    for (size_t i = 0; i < s->count; i++) {
        uint32_t from = (uint32_t)i * each, to = from + each;

        ss_graph_map(g, ss_tensor_slice(g, p.value, 0, from, to), s->at[i].tile);
        ss_graph_map(g, ss_tensor_slice(g, p.index, 0, from, to), s->at[i].tile);
    }
    return p;
}

/* The pairs of a part. */
static struct pairs pairs_take(struct graph *g, const struct pairs *p, size_t part)
{
    uint32_t from = (uint32_t)part * p->each, to = from + p->each;

    return (struct pairs){ .value = ss_tensor_slice(g, p->value, 0, from, to),
                           .index = ss_tensor_slice(g, p->index, 0, from, to),
                           .each = p->each };
}

/* The parts of a tensor, one for each run, so that the first index of each is known. */
static enum emu_status runs_as_parts(struct graph *g, struct tensor t, struct tile_parts *out)
{
    struct tile_part *at;
    size_t runs = 0;

    TRY(tile_parts_of(g, t, out));
    for (size_t i = 0; i < out->count; i++)
        runs += out->at[i].runs;
    at = emu_alloc(runs + 1, sizeof(*at));
    if (!at) {
        tile_parts_free(out);
        return FAIL(NO_MEMORY, "%zu runs", runs);
    }
    for (size_t i = 0; i < runs; i++)
        at[i] = (struct tile_part){ out->run[i].tile, (uint32_t)i, 1,
                                    out->run[i].end - out->run[i].begin };
    ss_free(out->at);
    out->at = at;
    out->count = runs;
    return EMU_OK;
}

struct tensor ss_op_argmax(struct graph *g, struct program seq, struct tensor t, const char *name)
{
    struct tile_parts s, one = { 0 };
    struct tile_part root;
    struct pairs workers, tiles, best;
    const struct codelet *codelet = kernel_of_type(g, &argmax, ss_tensor_elem(g, t));
    uint32_t cs;
    enum emu_status st = runs_as_parts(g, t, &s);

    if (st == EMU_OK && !s.count) {
        tile_parts_free(&s);
        st = FAIL(BAD_PROGRAM, "no elements");
    }
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return t;
    }
    root = (struct tile_part){ .tile = s.at[0].tile };
    one.at = &root;
    one.count = 1;
    ss_graph_push(g, name);
    workers = pairs_new(g, &s, ss_graph_arch(g)->workers, "workers");
    tiles = pairs_new(g, &s, 1, "tiles");
    best = pairs_new(g, &one, 1, "best");
    cs = op_compute_set(g, seq, "workers");
    for (size_t i = 0; i < s.count; i++) {
        struct pairs own = pairs_take(g, &workers, i);

        VERTEX_OF(argmax, codelet, g, cs, s.at[i].tile, .x = tile_part_take(g, &s, i, t),
                  .base = (uint32_t)s.run[s.at[i].first].begin, .value = own.value,
                  .index = own.index);
    }
    cs = op_compute_set(g, seq, "tiles");
    for (size_t i = 0; i < s.count; i++) {
        struct pairs of = pairs_take(g, &workers, i), to = pairs_take(g, &tiles, i);

        VERTEX(argmax_final, g, cs, s.at[i].tile, .value = of.value, .index = of.index,
               .best_value = to.value, .best_index = to.index);
    }
    cs = op_compute_set(g, seq, "best");
    VERTEX(argmax_final, g, cs, root.tile, .value = tiles.value, .index = tiles.index,
           .best_value = best.value, .best_index = best.index);
    ss_graph_pop(g);
    tile_parts_free(&s);
    return best.index;
}

/* y = f(x, scalar[0]) on every part of x. */
static struct tensor with_scalar(struct graph *g, struct program seq, const struct codelet *f,
                                 struct tensor x, struct tensor scalar, const char *name)
{
    struct tensor y = op_like(g, x, ss_tensor_elem(g, x), name);
    struct tile_parts s;
    uint32_t cs;
    enum emu_status st = tile_parts_of(g, x, &s);

    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return y;
    }
    cs = op_compute_set(g, seq, name);
    for (size_t i = 0; i < s.count; i++) {
        VERTEX_OF(score, f, g, cs, s.at[i].tile, .x = tile_part_take(g, &s, i, x), .by = scalar,
                  .y = tile_part_take(g, &s, i, y));
    }
    tile_parts_free(&s);
    return y;
}

/* The reciprocal of one element, on its tile. */
static struct tensor reciprocal(struct graph *g, struct program seq, struct tensor x,
                                const char *name)
{
    struct tensor y = op_like(g, x, ELEM_F32, name);
    uint32_t cs = op_compute_set(g, seq, name);

    VERTEX(reciprocal_f32, g, cs, ss_graph_tile_of(g, x, 0), .x = x, .y = y);
    return y;
}

struct tensor ss_op_softmax(struct graph *g, struct program seq, struct tensor t, const char *name)
{
    struct tensor x = t, max, y, sum;

    if (ss_graph_status(g) != EMU_OK)
        return t;
    ss_graph_push(g, name);
    if (ss_tensor_elem(g, t) != ELEM_F32)
        x = ss_op_cast(g, seq, t, ELEM_F32, "cast");
    max = ss_op_total(g, seq, REDUCE_MAX, x, "max");
    y = with_scalar(g, seq, KERNEL_ROW(exp_sub_f32), x, max, "exp");
    sum = reciprocal(g, seq, ss_op_total(g, seq, REDUCE_SUM, y, "sum"), "reciprocal");
    y = with_scalar(g, seq, KERNEL_ROW(mul_by_f32), y, sum, "scale");
    ss_graph_pop(g);
    return y;
}
