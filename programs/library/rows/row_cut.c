/* row_cut.c - chooses how many pieces a row is cut into, and takes the pieces out of tensors. */
#include "programs/library/rows/row_cut.h"

#include "programs/library/layout/plan_cost.h"

enum { MOST_VECTORS = 4095 }; /* of a worker: what all machines can repeat */

/* ---- pieces ---- */

static uint32_t row_vectors(const struct row_cut *c)
{
    return ceil_div(c->n, c->lanes);
}

static struct row_piece piece_of(const struct row_cut *c, uint32_t rows, uint32_t vectors)
{
    return (struct row_piece){ .rows = rows,
                               .parts = c->parts,
                               .step = c->workers / c->parts,
                               .each = ceil_div(vectors, c->parts) };
}

struct row_piece row_piece(const struct row_cut *c, uint32_t i)
{
    uint32_t group = i / c->pieces, k = i % c->pieces, vectors = row_vectors(c);
    uint32_t r0 = cut_at(c->rows, c->groups, group);
    struct row_piece p =
        piece_of(c, cut_size(c->rows, c->groups, group), cut_size(vectors, c->pieces, k));

    p.tile = (c->first + cut_at(c->tiles, row_pieces(c), i)) % c->tiles;
    p.r0 = r0;
    p.r1 = r0 + p.rows;
    p.c0 = cut_at(vectors, c->pieces, k) * c->lanes;
    p.c1 = cut_at(vectors, c->pieces, k + 1) * c->lanes;
    p.n = (p.c1 < c->n ? p.c1 : c->n) - p.c0;
    return p;
}

/* The largest piece. */
static struct row_piece largest(const struct row_cut *c)
{
    uint32_t vectors = ceil_div(row_vectors(c), c->pieces);
    struct row_piece p = piece_of(c, ceil_div(c->rows, c->groups), vectors);

    p.n = vectors * c->lanes < c->n ? vectors * c->lanes : c->n;
    return p;
}

/* ---- the choice ---- */

/* Bringing p partial results of each of so many rows of a tile together: at once, or, if they are
 * many, in two steps. */
static uint64_t join_cycles(const struct arch *a, uint64_t latency, uint64_t rows, uint64_t p)
{
    uint64_t half = 1;

    if (p <= ROW_MOST_PARTIALS)
        return a->sync_chip_cycles + latency + rows * p;
    while (half * half < p)
        half++;
    return 2 * (a->sync_chip_cycles + latency + rows * half * 2);
}

static uint64_t cut_cycles(const struct arch *a, uint64_t latency, const struct row_cut *c,
                           row_cut_cycles *cycles, unsigned joins)
{
    struct row_piece most = largest(c);
    uint64_t p = (uint64_t)c->pieces * c->parts,
             words = (uint64_t)most.rows * most.n * 2 / c->lanes;
    uint64_t all = cycles(a, c, &most, p < ROW_MOST_PARTIALS ? (uint32_t)p : ROW_MOST_PARTIALS);

    if (most.each > MOST_VECTORS)
        return UINT64_MAX - 1;
    return all + words + (c->pieces > 1 ? joins * join_cycles(a, latency, most.rows, p) : 0);
}

struct row_cut row_cut_choose(struct graph *g, struct tensor t, row_cut_cycles *cycles,
                              unsigned joins)
{
    const struct arch *a = ss_graph_arch(g);
    uint64_t best = UINT64_MAX, latency = plan_exchange_latency(a);
    struct row_cut out = { .rows = ss_tensor_shape(g, t)[0],
                           .n = ss_tensor_shape(g, t)[1],
                           .lanes = 8 / ss_elem_bytes(ss_tensor_elem(g, t)),
                           .workers = a->workers,
                           .tiles = ss_graph_compute_tiles(g) };
    struct row_cut c = out;
    uint32_t most = c.rows < c.tiles ? c.tiles / c.rows : 1, vectors = row_vectors(&c);

    for (c.pieces = 1; c.pieces <= most; c.pieces = next_cut(vectors, c.pieces)) {
        c.groups = c.rows < c.tiles / c.pieces ? c.rows : c.tiles / c.pieces;
        for (c.parts = 1; c.parts <= c.workers; c.parts++) {
            uint64_t cost;

            if (c.workers % c.parts)
                continue;
            cost = cut_cycles(a, latency, &c, cycles, joins);
            if (cost < best) {
                best = cost;
                out = c;
            }
        }
    }
    out.first = ss_graph_first_tile(g, row_pieces(&out));
    return out;
}

/* ---- views ---- */

struct tensor row_filled(struct graph *g, const struct row_cut *c, struct tensor t)
{
    uint32_t more = row_vectors(c) * c->lanes - c->n;
    struct tensor part[2] = { t, ss_tensor_slice(g, t, 1, c->n - 1, c->n) };

    if (!more)
        return t;
    part[1] = ss_tensor_broadcast(g, part[1], 1, more);
    return ss_tensor_concat(g, part, 2, 1);
}

struct tensor row_take(struct graph *g, const struct row_piece *p, struct tensor t)
{
    t = ss_tensor_slice(g, ss_tensor_slice(g, t, 0, p->r0, p->r1), 1, p->c0, p->c1);
    return ss_tensor_flatten(g, t);
}

struct tensor row_variable(struct graph *g, const struct row_cut *c, enum elem e, const char *name)
{
    uint32_t shape[2] = { c->rows, row_vectors(c) * c->lanes };
    struct tensor t = ss_graph_variable(g, e, 2, shape, name);

    for (uint32_t i = 0; i < row_pieces(c); i++) {
        struct row_piece p = row_piece(c, i);

        ss_graph_map(g, row_take(g, &p, t), p.tile);
    }
    return t;
}

struct tensor row_real(struct graph *g, const struct row_cut *c, struct tensor t)
{
    return ss_tensor_slice(g, t, 1, 0, c->n);
}

struct tensor row_partials_take(struct graph *g, const struct row_cut *c, uint32_t i,
                                struct tensor t)
{
    uint32_t k = i % c->pieces;
    struct row_piece p = row_piece(c, i);

    t = ss_tensor_slice(g, ss_tensor_slice(g, t, 0, p.r0, p.r1), 1, k * c->parts,
                        (k + 1) * c->parts);
    return ss_tensor_flatten(g, t);
}

struct tensor row_partials(struct graph *g, const struct row_cut *c, const char *name)
{
    uint32_t shape[2] = { c->rows, c->pieces * c->parts };
    struct tensor t = ss_graph_variable(g, ELEM_F32, 2, shape, name);

    for (uint32_t i = 0; i < row_pieces(c); i++)
        ss_graph_map(g, row_partials_take(g, c, i, t), row_piece(c, i).tile);
    return t;
}

struct tensor row_partials_all(struct graph *g, const struct row_piece *p, struct tensor t)
{
    return ss_tensor_flatten(g, ss_tensor_slice(g, t, 0, p->r0, p->r1));
}

int row_operand(struct graph *g, struct tensor t, const char *name)
{
    enum elem e = ss_tensor_elem(g, t);

    if (ss_graph_status(g) != EMU_OK)
        return 0;
    if (ss_tensor_rank(g, t) == 2 && ss_tensor_elements(g, t) && (e == ELEM_F16 || e == ELEM_F32))
        return 1;
    ss_graph_fail(
        g, EMU_BAD_PROGRAM,
        "%s: expected a matrix of f16 or f32 that is not empty, got %u dimensions and %llu "
        "elements of %s",
        name, ss_tensor_rank(g, t), (unsigned long long)ss_tensor_elements(g, t), ss_elem_name(e));
    return 0;
}
