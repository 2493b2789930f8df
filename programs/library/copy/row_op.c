/* row_op.c - loops over the rows of a matrix: a counter on each tile, and rows that are taken and
 * stored where it says. */
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/tile_parts.h"

static const struct typed_kernels row_get = FLOAT_KERNELS(row_get);
static const struct typed_kernels row_put = FLOAT_KERNELS(row_put);

/* A tile has at least so many bytes of each part of a row: a block of a product's results. */
enum { LEAST_BYTES = 32, VECTOR_BYTES = 8 };

struct row_loop ss_op_row_loop(struct graph *g, uint32_t rows, const char *name)
{
    uint32_t tiles = ss_graph_compute_tiles(g);
    struct row_loop l = { .rows = rows };
    uint32_t *zeros = emu_alloc(tiles, sizeof(*zeros));

    if (!zeros) {
        ss_graph_fail(g, EMU_NO_MEMORY, "%s: %u counters", name, tiles);
        return l;
    }
    l.at = ss_graph_variable(g, ELEM_U32, 1, &tiles, name);
    for (uint32_t i = 0; i < tiles; i++)
        ss_graph_map(g, ss_tensor_slice(g, l.at, 0, i, i + 1), i);
    ss_graph_set_initial(g, l.at, zeros);
    ss_free(zeros);
    return l;
}

void ss_op_row_next(struct graph *g, struct program seq, const struct row_loop *l, const char *name)
{
    uint32_t cs = op_compute_set(g, seq, name);

    for (uint32_t i = 0; i < ss_graph_compute_tiles(g); i++)
        VERTEX(row_next, g, cs, i, .at = ss_tensor_slice(g, l->at, 0, i, i + 1), .rows = l->rows);
}

/* Elements of a row's part on each tile: whole vectors. */
static uint32_t share_of(struct graph *g, enum elem e, uint32_t n)
{
    uint32_t vector = VECTOR_BYTES / ss_elem_bytes(e), least = LEAST_BYTES / ss_elem_bytes(e);
    uint32_t tiles = ss_graph_compute_tiles(g), share = n / tiles + (n % tiles != 0);

    share = (share + vector - 1) / vector * vector;
    return share > least ? share : least;
}

/* [parts][rows][k][share], part i on tile i, as [rows][k][n]. */
static struct tensor in_order(struct graph *g, struct tensor parts, uint32_t n)
{
    const uint32_t *s = ss_tensor_shape(g, parts);
    uint32_t rows = s[1], k = s[2], all = s[0] * s[3];
    struct tensor t = ss_tensor_transpose(g, parts, (const unsigned[]){ 1, 2, 0, 3 });

    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ rows, k, all });
    return ss_tensor_slice(g, t, 2, 0, n);
}

static void map_parts(struct graph *g, struct tensor parts)
{
    for (uint32_t i = 0; i < ss_tensor_shape(g, parts)[0]; i++)
        ss_graph_map(g, ss_tensor_index(g, parts, i), i);
}

struct loop_rows ss_op_loop_rows(struct graph *g, const struct row_loop *l, enum elem e, uint32_t k,
                                 uint32_t n, const char *name)
{
    struct loop_rows r = { op_nothing(), op_nothing() };
    uint32_t share;

    if (ss_graph_status(g) != EMU_OK)
        return r;
    share = share_of(g, e, n);
    r.parts = ss_graph_variable(
        g, e, 4, (const uint32_t[]){ (n + share - 1) / share, l->rows, k, share }, name);
    map_parts(g, r.parts);
    r.all = in_order(g, r.parts, n);
    return r;
}

struct tensor ss_op_row_get(struct graph *g, struct program seq, const struct row_loop *l,
                            const struct loop_rows *r, const char *name)
{
    const uint32_t *s = ss_tensor_shape(g, r->parts);
    const uint32_t shape[] = { s[0], 1, s[2], s[3] };
    enum elem e = ss_tensor_elem(g, r->parts);
    const struct codelet *kernel = kernel_of_type(g, &row_get, e);
    struct tensor row = ss_graph_variable(g, e, 4, shape, name);
    uint32_t cs = op_compute_set(g, seq, name);

    if (ss_graph_status(g) != EMU_OK)
        return row;
    map_parts(g, row);
    for (uint32_t i = 0; i < shape[0]; i++)
        VERTEX_OF(row_get, kernel, g, cs, i,
                  .rows = ss_tensor_flatten(g, ss_tensor_index(g, r->parts, i)),
                  .at = ss_tensor_slice(g, l->at, 0, i, i + 1),
                  .row = ss_tensor_flatten(g, ss_tensor_index(g, row, i)));
    return ss_tensor_index(g, in_order(g, row, ss_tensor_shape(g, r->all)[2]), 0);
}

/* Columns [begin, begin + share) of a row [k][n]; where it has no more, zeros. */
static struct tensor part_of(struct graph *g, struct tensor row, uint32_t begin, uint32_t share,
                             struct tensor zero)
{
    uint32_t k = ss_tensor_shape(g, row)[0], n = ss_tensor_shape(g, row)[1];
    uint32_t end = begin + share < n ? begin + share : n;
    struct tensor part[] = { ss_tensor_slice(g, row, 1, begin, end), zero };

    if (end == begin + share)
        return ss_tensor_flatten(g, part[0]);
    part[1] = ss_tensor_broadcast(g, ss_tensor_broadcast(g, zero, 0, k), 1, begin + share - end);
    return ss_tensor_flatten(g, ss_tensor_concat(g, part, 2, 1));
}

void ss_op_row_put(struct graph *g, struct program seq, const struct row_loop *l,
                   const struct loop_rows *r, struct tensor row, const char *name)
{
    static const uint32_t nothing, one[] = { 1, 1 };
    const uint32_t *s = ss_tensor_shape(g, r->parts);
    uint32_t parts = s[0], share = s[3];
    enum elem e = ss_tensor_elem(g, r->parts);
    const struct codelet *kernel = kernel_of_type(g, &row_put, e);
    struct tensor zero = ss_graph_constant(g, e, 2, one, &nothing, "zero");
    uint32_t cs = op_compute_set(g, seq, name);

    if (ss_graph_status(g) != EMU_OK)
        return;
    ss_graph_map(g, zero, parts - 1);
    for (uint32_t i = 0; i < parts; i++)
        VERTEX_OF(row_put, kernel, g, cs, i,
                  .rows = ss_tensor_flatten(g, ss_tensor_index(g, r->parts, i)),
                  .at = ss_tensor_slice(g, l->at, 0, i, i + 1),
                  .row = part_of(g, row, i * share, share, zero));
}
