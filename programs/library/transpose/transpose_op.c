/* transpose_op.c - the transpose of a matrix: every tile fetches a block and transposes it.
 *
 * Rows of a block have at least 8 words if the matrix allows, since each row is a message. */
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/tile_parts.h"

static const struct typed_kernels transpose = FLOAT_KERNELS(transpose);

enum { MESSAGE_WORDS = 8 };

/* Rows [r0, r1) and columns [c0, c1) of the source. */
struct transpose_block {
    uint32_t r0, r1, c0, c1;
};

/* Chooses into how many parts rows and columns are cut, columns in multiples of `unit`: at most
 * `tiles` blocks, of which the largest costs least. */
static void choose_grid(uint32_t rows, uint32_t columns, uint32_t unit, uint32_t tiles,
                        uint32_t *by_rows, uint32_t *by_columns)
{
    uint64_t best = UINT64_MAX;

    *by_rows = *by_columns = 1;
    for (uint32_t c = 1; c <= tiles; c++) {
        uint32_t units = (uint32_t)(((uint64_t)columns + unit - 1) / unit), r = tiles / c;
        uint64_t width, height;

        if (c > units)
            break;
        r = r > rows ? rows : r;
        width = (uint64_t)((units + c - 1) / c) * unit;
        height = ((uint64_t)rows + r - 1) / r;
        /* its words, plus a few cycles for each of its rows, which are messages */
        if (width * height + 3 * height < best) {
            best = width * height + 3 * height;
            *by_rows = r;
            *by_columns = c;
        }
    }
}

static uint32_t cut(uint32_t n, uint32_t unit, uint32_t parts, uint32_t i)
{
    uint64_t units = ((uint64_t)n + unit - 1) / unit, at = units * i / parts * unit;

    return at > n ? n : (uint32_t)at;
}

static void add_block(struct graph *g, uint32_t cs, struct tensor t, struct tensor out,
                      const struct transpose_block *b, uint32_t tile)
{
    struct tensor from =
        ss_tensor_slice(g, ss_tensor_slice(g, t, 0, b->r0, b->r1), 1, b->c0, b->c1);
    struct tensor to =
        ss_tensor_slice(g, ss_tensor_slice(g, out, 0, b->c0, b->c1), 1, b->r0, b->r1);
    const struct codelet *codelet = kernel_of_type(g, &transpose, ss_tensor_elem(g, t));

    ss_graph_map(g, to, tile);
    VERTEX_OF(transpose, codelet, g, cs, tile, .x = ss_tensor_flatten(g, from),
              .y = ss_tensor_flatten(g, to), .rows = b->r1 - b->r0, .cols = b->c1 - b->c0);
}

struct tensor ss_op_transpose(struct graph *g, struct program seq, struct tensor t,
                              const char *name)
{
    uint32_t rows, columns, by_rows, by_columns, cs;
    uint32_t unit = MESSAGE_WORDS * 4 / ss_elem_bytes(ss_tensor_elem(g, t)), tile;
    struct tensor out;

    if (ss_tensor_rank(g, t) != 2) {
        ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: expected a matrix, got %u dimensions", name,
                      ss_tensor_rank(g, t));
        return t;
    }
    rows = ss_tensor_shape(g, t)[0];
    columns = ss_tensor_shape(g, t)[1];
    out = ss_graph_variable(g, ss_tensor_elem(g, t), 2, (const uint32_t[]){ columns, rows }, name);
    if (!rows || !columns)
        return out;
    cs = op_compute_set(g, seq, name);
    choose_grid(rows, columns, unit, ss_graph_arch(g)->tiles, &by_rows, &by_columns);
    tile = ss_graph_first_tile(g, by_rows * by_columns);
    for (uint32_t i = 0; i < by_rows; i++) {
        for (uint32_t k = 0; k < by_columns; k++) {
            struct transpose_block b = { cut(rows, 2, by_rows, i), cut(rows, 2, by_rows, i + 1),
                                         cut(columns, unit, by_columns, k),
                                         cut(columns, unit, by_columns, k + 1) };

            if (b.r0 < b.r1 && b.c0 < b.c1)
                add_block(g, cs, t, out, &b, tile++ % ss_graph_arch(g)->tiles);
        }
    }
    return out;
}
