/* piece_op.c - sums and factors of the pieces of a list: parameters of a network, say, that lie one
 * after another. */
#include "programs/library/ops_pieces.h"

#include <stdlib.h>

#include "programs/compiler/base/arena.h"
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/tile_parts.h"

static const struct typed_kernels sums = FLOAT_KERNELS(total_sum);
static const struct typed_kernels squares = FLOAT_KERNELS(total_sumsq);
static const struct typed_kernels scale = FLOAT_KERNELS(mul_channel);

enum { ROW = 16 }; /* elements that take their factor at once */

/* Elements [begin, end) of a list lie on one tile and belong to one piece. */
struct share {
    uint32_t begin, end, tile, piece;
};
struct share_list {
    struct share *at; /* owned */
    size_t count, cap;
};

/* Cuts the runs of tiles where pieces end. */
static enum emu_status shares_of(struct graph *g, struct tensor t, const struct list_piece *piece,
                                 uint32_t pieces, struct share_list *out)
{
    struct tile_run *run;
    size_t runs;
    uint32_t k = 0;
    enum emu_status s;

    TRY(ss_graph_status(g));
    TRY(ss_graph_tile_runs(g, t, &run, &runs));
    s = EMU_OK;
    for (size_t i = 0; s == EMU_OK && i < runs; i++) {
        for (uint32_t at = (uint32_t)run[i].begin, end; s == EMU_OK && at < run[i].end; at = end) {
            while (k < pieces && piece[k].end <= at)
                k++;
            if (k == pieces || piece[k].begin > at || run[i].tile == UINT32_MAX) {
                s = FAIL(BAD_PROGRAM, "element %u is on no tile, or of no piece", at);
                break;
            }
            end = piece[k].end < run[i].end ? piece[k].end : (uint32_t)run[i].end;
            s = VEC_PUSH(out, (struct share){ at, end, run[i].tile, piece[k].number });
        }
    }
    ss_free(run);
    return s;
}

static int by_tile_and_piece(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    if (x->piece != y->piece)
        return x->piece < y->piece ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Shares [i, end) of a list, joined. */
static struct tensor joined(struct graph *g, struct tensor flat, const struct share_list *s,
                            size_t i, size_t end)
{
    struct tensor *part, t = ss_tensor_slice(g, flat, 0, s->at[i].begin, s->at[i].end);

    if (end - i == 1)
        return t;
    part = emu_alloc(end - i, sizeof(*part));
    if (!part) {
        ss_graph_fail(g, EMU_NO_MEMORY, "a piece");
        return t;
    }
    for (size_t k = i; k < end; k++)
        part[k - i] = ss_tensor_slice(g, flat, 0, s->at[k].begin, s->at[k].end);
    t = ss_tensor_concat(g, part, (unsigned)(end - i), 0);
    ss_free(part);
    return t;
}

/* Adds a vertex for each piece that a tile has a share of. sum: [tiles][numbers][workers]. */
static void add_sums(struct graph *g, uint32_t cs, const struct codelet *codelet, struct tensor t,
                     const struct share_list *s, struct tensor sum)
{
    struct tensor flat = ss_tensor_flatten(g, t);

    for (size_t i = 0, end; i < s->count && ss_graph_status(g) == EMU_OK; i = end) {
        const struct share *p = &s->at[i];

        for (end = i + 1;
             end < s->count && s->at[end].tile == p->tile && s->at[end].piece == p->piece;)
            end++;
        VERTEX_OF(total, codelet, g, cs, p->tile, .x = joined(g, flat, s, i, end),
                  .out = ss_tensor_index(g, ss_tensor_index(g, sum, p->tile), p->piece));
    }
}

struct tensor ss_op_piece_totals(struct graph *g, struct program seq, enum reduce_op op,
                                 struct tensor t, const struct list_piece *piece, uint32_t pieces,
                                 uint32_t numbers, const char *name)
{
    uint32_t tiles = ss_graph_compute_tiles(g), workers;
    struct share_list s = { 0 };
    struct tensor sum = op_nothing();
    enum emu_status st = shares_of(g, t, piece, pieces, &s);

    EMU_ASSERT(op == REDUCE_SUM || op == REDUCE_SUMSQ);
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        VEC_FREE(&s);
        return sum;
    }
    workers = ss_graph_arch(g)->workers;
    sum = ss_graph_variable(g, ELEM_F32, 3, (const uint32_t[]){ tiles, numbers, workers }, name);
    qsort(s.at, s.count, sizeof(*s.at), by_tile_and_piece);
    ss_graph_push(g, name);
    for (uint32_t k = 0; k < tiles; k++)
        ss_graph_map(g, ss_tensor_index(g, sum, k), k);
    ss_op_fill(g, seq, sum, 0, "none"); /* what a tile has no share of */
    add_sums(g, op_compute_set(g, seq, "workers"),
             kernel_of_type(g, op == REDUCE_SUM ? &sums : &squares, ss_tensor_elem(g, t)), t, &s,
             sum);
    VEC_FREE(&s);
    sum = ss_tensor_reshape(g, sum, 2, (const uint32_t[]){ tiles, numbers * workers });
    sum = ss_op_reduce(g, seq, REDUCE_SUM, sum, ELEM_F32, "tiles");
    sum = ss_tensor_reshape(g, sum, 2, (const uint32_t[]){ numbers, workers });
    sum = ss_op_row_reduce(g, seq, ROW_OP_SUM, sum, ELEM_F32, "numbers");
    ss_graph_pop(g);
    return sum;
}

struct tensor ss_op_piece_numbers(struct graph *g, struct program seq, struct tensor number,
                                  const char *name)
{
    uint32_t tiles = ss_graph_compute_tiles(g), n = (uint32_t)ss_tensor_elements(g, number);
    struct tensor all =
        ss_graph_variable(g, ss_tensor_elem(g, number), 2, (const uint32_t[]){ tiles, n }, name);

    for (uint32_t k = 0; k < tiles; k++)
        ss_graph_map(g, ss_tensor_index(g, all, k), k);
    number = ss_tensor_reshape(g, number, 2, (const uint32_t[]){ 1, n });
    ss_program_add(g, seq, ss_program_copy(g, ss_tensor_broadcast(g, number, 0, tiles), all));
    return all;
}

struct tensor ss_op_piece_mul(struct graph *g, struct program seq, struct tensor t,
                              const struct list_piece *piece, uint32_t pieces,
                              struct tensor numbers, const char *name)
{
    const struct codelet *codelet = kernel_of_type(g, &scale, ss_tensor_elem(g, t));
    struct tensor out = op_like(g, t, ss_tensor_elem(g, t), name), from = ss_tensor_flatten(g, t);
    struct tensor to = ss_tensor_flatten(g, out);
    struct share_list s = { 0 };
    enum emu_status st = shares_of(g, t, piece, pieces, &s);
    uint32_t cs;

    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        VEC_FREE(&s);
        return out;
    }
    cs = op_compute_set(g, seq, name);
    for (size_t i = 0; i < s.count && ss_graph_status(g) == EMU_OK; i++) {
        const struct share *p = &s.at[i];
        struct tensor one = ss_tensor_index(g, numbers, p->tile);

        if (p->begin % ROW || p->end % ROW)
            ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: tile %u has no whole rows of %d elements", name,
                          p->tile, ROW);
        one = ss_tensor_broadcast(g, ss_tensor_slice(g, one, 0, p->piece, p->piece + 1), 0, ROW);
        VERTEX_OF(channel, codelet, g, cs, p->tile,
                  .a = ss_tensor_slice(g, from, 0, p->begin, p->end), .b = one,
                  .out = ss_tensor_slice(g, to, 0, p->begin, p->end));
    }
    VEC_FREE(&s);
    return out;
}

/* ---- parts ---- */

/* Adds what elements [begin, end) of a tile's are. */
static void add_runs(const struct tile_parts *tiles, const struct tile_part *of, uint32_t begin,
                     uint32_t end, struct list_piece *out, uint32_t *count)
{
    uint32_t at = 0;

    for (uint32_t k = 0; k < of->runs && at < end; k++) {
        const struct tile_run *r = &tiles->run[of->first + k];
        uint32_t first = (uint32_t)r->begin, n = (uint32_t)(r->end - r->begin);
        uint32_t from = begin > at ? begin - at : 0, to = end - at < n ? end - at : n;

        if (from < to)
            out[(*count)++] = (struct list_piece){ first + from, first + to, r->tile };
        at += n;
    }
}

enum emu_status ss_op_list_part(struct graph *g, struct tensor t, uint32_t row, uint32_t i,
                                uint32_t parts, struct list_piece **run, uint32_t *runs)
{
    struct tile_parts tiles;
    size_t all = 0;

    *runs = 0;
    *run = NULL;
    TRY(tile_parts_of(g, ss_tensor_flatten(g, t), &tiles));
    for (size_t k = 0; k < tiles.count; k++)
        all += tiles.at[k].runs;
    *run = emu_alloc(all + 1, sizeof(**run));
    for (size_t k = 0; *run && k < tiles.count; k++) {
        const struct tile_part *of = &tiles.at[k];
        uint32_t rows = (uint32_t)((of->elements + row - 1) / row);

        add_runs(&tiles, of, cut_at(rows, parts, i) * row, cut_at(rows, parts, i + 1) * row, *run,
                 runs);
    }
    tile_parts_free(&tiles);
    return *run ? EMU_OK : FAIL(NO_MEMORY, "a part of %zu runs", all);
}

/* Whether one tile would have so much more than its share of a part, or half so much, that what is
 * computed of it would not lie there (op_like_one_of()). */
static int is_uneven(struct graph *g, struct tensor t, uint64_t fullest, uint64_t parts)
{
    uint64_t share = ss_tensor_elements(g, t) / ss_graph_compute_tiles(g) / (parts + !parts) + 1;
    uint64_t most = fullest / (parts + !parts);

    return most > LIKE_FEW && 2 * most / LIKE_UNEVEN > share;
}

uint32_t ss_op_list_parts(struct graph *g, struct tensor t, uint32_t most)
{
    struct tile_parts tiles;
    uint64_t fullest = 0;
    enum emu_status s = tile_parts_of(g, t, &tiles);

    if (s != EMU_OK) {
        ss_graph_fail(g, s, "%s", ss_error());
        return 0;
    }
    for (size_t k = 0; k < tiles.count; k++)
        fullest = tiles.at[k].elements > fullest ? tiles.at[k].elements : fullest;
    tile_parts_free(&tiles);
    if (is_uneven(g, t, fullest, (fullest + most - 1) / most) && most > LIKE_FEW)
        most = LIKE_FEW;
    return (uint32_t)((fullest + most - 1) / most);
}
