/* classic_linear.c - linear algebra: an inner product, a product of matrices in blocks, the LU
 * decomposition, conjugate gradients.
 */
#include "programs/lab/classic/classic.h"
#include "programs/library/kernel/vertex_fields.h"

#include <string.h>

/* ---- inner product ---- */

static const struct program_param inner_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all" },
    { "n", 256, 2, 32768, "numbers of a tile, f32" },
};

static enum emu_status inner_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], UINT16_MAX), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g);
    struct tensor x, y, out;
    float *a, *b, *sum;
    struct classic *c;

    TRY(classic_new(state, &c));
    x = classic_blocks(g, ELEM_F32, p, n, "x");
    y = classic_blocks(g, ELEM_F32, p, n, "y");
    out =
        ss_op_total(g, seq, REDUCE_SUM, ss_op_binary(g, seq, BINARY_MUL, x, y, "products"), "sum");
    ss_graph_keep(g, out);
    ss_graph_set_program(g, seq);
    a = classic_floats((uint64_t)p * n, 7);
    b = classic_floats((uint64_t)p * n, 8);
    sum = emu_alloc(1, sizeof(*sum));
    for (uint64_t i = 0; a && b && sum && i < (uint64_t)p * n; i++)
        *sum += a[i] * b[i]; /* multiples of 1/64: exact up to 2^18 */
    classic_input(g, c, x, a);
    classic_input(g, c, y, b);
    classic_result(g, c, out, sum, 0);
    classic_note(c, "p", p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_inner, "inner-product", "inner product of two vectors", inner_param,
                inner_build, NULL);

/* ---- SUMMA's product, in the order of Cannon ---- */

static const struct program_param blocks_param[] = {
    { "q", 0, 0, 64,
      "blocks in a row of blocks, one on each tile; 0: as the tiles allow, at most 8" },
    { "b", 12, 1, 64, "rows of a block, f32" },
};

/* Tile (i, j) has block (i, j) of all three. In step s it takes block (i, k) of a and (k, j) of b,
 * k = i + j + s: each block is wanted by one tile of a row, and one of a column. */
static struct program product_step(struct graph *g, struct tensor a, struct tensor b,
                                   struct tensor c, uint32_t q, uint32_t s)
{
    uint32_t cs = ss_graph_compute_set(g, "step");

    for (uint32_t i = 0; i < q; i++) {
        for (uint32_t j = 0; j < q; j++) {
            uint32_t k = (i + j + s) % q, tile = i * q + j;
            uint32_t v = ss_graph_vertex(g, cs, "block_product_f32", tile);

            ss_vertex_connect(g, v, "a", ss_tensor_index(g, a, i * q + k));
            ss_vertex_connect(g, v, "b", ss_tensor_index(g, b, k * q + j));
            ss_vertex_connect(g, v, "c", ss_tensor_index(g, c, tile));
            ss_vertex_set_u32(g, v, "n", ss_tensor_shape(g, a)[2]);
        }
    }
    return ss_program_execute(g, cs);
}

/* [q q][n][n] on q q tiles. */
static struct tensor square_blocks(struct graph *g, uint32_t q, uint32_t n, const char *name)
{
    const uint32_t shape[3] = { q * q, n, n };

    return ss_tensor_reshape(g, classic_blocks(g, ELEM_F32, q * q, n * n, name), 3, shape);
}

/* Element (r, c) of a matrix in blocks. */
static float *at(float *x, uint32_t q, uint32_t n, uint32_t r, uint32_t c)
{
    return x + ((size_t)(r / n * q + c / n) * n + r % n) * n + c % n;
}

/* Products are multiples of 1/64; sums of a few thousand are exact in any order. */
static float *plain_product(float *a, float *b, uint32_t q, uint32_t n)
{
    uint32_t size = q * n;
    float *out = emu_alloc((size_t)size * size, sizeof(*out));

    for (uint32_t r = 0; a && b && out && r < size; r++) {
        for (uint32_t k = 0; k < size; k++) {
            for (uint32_t c = 0; c < size; c++)
                *at(out, q, n, r, c) += *at(a, q, n, r, k) * *at(b, q, n, k, c);
        }
    }
    return out;
}

static uint32_t square_root(uint32_t n)
{
    uint32_t q = 1;

    while ((q + 1) * (q + 1) <= n)
        q++;
    return q;
}

static enum emu_status product_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t most = square_root(ss_graph_arch(g)->tiles), n = (uint32_t)value[1];
    uint32_t q = value[0] ? (uint32_t)value[0] : most < 8 ? most : 8;
    struct program seq = ss_program_sequence(g);
    struct tensor a, b, product;
    struct classic *c;
    float *x, *y;

    if (q > most)
        return FAIL(USAGE, "q is %u: %u blocks, but the machine has %u tiles", q, q * q,
                    ss_graph_arch(g)->tiles);
    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "block_product_f32", TAKES("a", F32), TAKES("b", F32), CHANGES("c", F32),
                    NUMBER("n"));
    a = square_blocks(g, q, n, "a");
    b = square_blocks(g, q, n, "b");
    product = square_blocks(g, q, n, "c");
    for (uint32_t s = 0; s < q; s++)
        ss_program_add(g, seq, product_step(g, a, b, product, q, s));
    ss_graph_set_program(g, seq);
    x = classic_floats((uint64_t)q * n * q * n, 9);
    y = classic_floats((uint64_t)q * n * q * n, 10);
    classic_result(g, c, product, plain_product(x, y, q, n), 0);
    classic_input(g, c, a, x);
    classic_input(g, c, b, y);
    classic_input(g, c, product, emu_alloc((size_t)q * n * q * n, sizeof(float)));
    classic_note(c, "q", q);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_summa, "summa", "matrix product on a square of tiles", blocks_param,
                product_build, NULL);

/* ---- LU ---- */

static const struct program_param lu_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 32, 2, 256, "rows and columns, f32" },
};

/* Row i is on tile i mod p. Step k: row k goes to all tiles, which subtract from each of their
 * later rows what makes its column k zero. The factors are the columns of L. */
static void lu_step(struct graph *g, struct program seq, struct tensor u, struct tensor l,
                    uint32_t p, uint32_t k)
{
    uint32_t n = ss_tensor_shape(g, u)[0], cs = ss_graph_compute_set(g, "step");
    struct tensor pivot = ss_tensor_slice(g, ss_tensor_index(g, u, k), 0, k, n);

    for (uint32_t i = k + 1; i < n; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "eliminate_f32", i % p);

        ss_vertex_connect(g, v, "pivot", pivot);
        ss_vertex_connect(g, v, "row", ss_tensor_slice(g, ss_tensor_index(g, u, i), 0, k, n));
        ss_vertex_connect(g, v, "factor",
                          ss_tensor_slice(g, ss_tensor_index(g, l, i), 0, k, k + 1));
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
}

static struct tensor dealt_rows(struct graph *g, uint32_t n, uint32_t p, const char *name)
{
    const uint32_t shape[2] = { n, n };
    struct tensor t = ss_graph_variable(g, ELEM_F32, 2, shape, name);

    for (uint32_t i = 0; i < n; i++)
        ss_graph_map(g, ss_tensor_index(g, t, i), i % p);
    ss_graph_keep(g, t);
    return t;
}

/* The same steps in C. Below the diagonal u keeps what it had when its column became zero. */
static void plain_lu(float *u, float *l, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = k + 1; i < n; i++) {
            float factor = l[i * n + k] = u[i * n + k] / u[k * n + k];

            for (uint32_t j = k + 1; j < n; j++)
                u[i * n + j] -= u[k * n + j] * factor;
        }
    }
}

static enum emu_status lu_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g);
    float *x, *u, *l;
    struct classic *c;
    struct tensor tu, tl;

    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "eliminate_f32", TAKES("pivot", F32), CHANGES("row", F32),
                    GIVES("factor", F32), LENGTH_OF("n", "row"));
    tu = dealt_rows(g, n, p, "u");
    tl = dealt_rows(g, n, p, "l");
    for (uint32_t k = 0; k + 1 < n; k++)
        lu_step(g, seq, tu, tl, p, k);
    ss_graph_set_program(g, seq);
    x = classic_floats((uint64_t)n * n, 11);
    u = emu_alloc((size_t)n * n, sizeof(*u));
    l = emu_alloc((size_t)n * n, sizeof(*l));
    if (x && u && l) {
        for (uint32_t i = 0; i < n; i++)
            x[i * n + i] += (float)n; /* no row need be exchanged */
        memcpy(u, x, (size_t)n * n * sizeof(*u));
        plain_lu(u, l, n);
    }
    classic_input(g, c, tu, x);
    classic_input(g, c, tl, emu_alloc((size_t)n * n, sizeof(float)));
    classic_result(g, c, tu, u, 0);
    classic_result(g, c, tl, l, 0);
    classic_note(c, "p", p);
    classic_note(c, "rows", (n + p - 1) / p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_lu, "lu", "LU decomposition, rows dealt out to the tiles", lu_param,
                lu_build, NULL);

/* ---- conjugate gradients ---- */

static const struct program_param cg_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "rows", 4, 1, 64, "rows of the field on a tile" },
    { "width", 32, 4, 1024, "columns, even; the outermost are 0" },
    { "steps", 10, 1, 1000, "iterations" },
};

enum { CG_P, CG_ROWS, CG_WIDTH, CG_STEPS };

/* Vectors of the iteration, as strips of a field; d, which is multiplied by the matrix, with a row
 * of the neighbour above and one below. */
struct cg {
    uint32_t p, rows, width;
    struct tensor x, r, d, ad, rr, dad;
};

static struct tensor inner_rows(struct graph *g, const struct cg *s)
{
    return ss_tensor_slice(g, s->d, 1, 1, s->rows + 1);
}

static struct tensor strips(struct graph *g, const struct cg *s, uint32_t rows, const char *name)
{
    const uint32_t shape[3] = { s->p, rows, s->width };

    return ss_tensor_reshape(g, classic_blocks(g, ELEM_F32, s->p, rows * s->width, name), 3, shape);
}

/* ad = 4 d - its four neighbours: what is to be inverted is minus the Laplacian. */
static void multiply(struct graph *g, struct program seq, const struct cg *s)
{
    uint32_t cs = ss_graph_compute_set(g, "multiply");
    struct tensor below = ss_tensor_slice(g, s->d, 0, 1, s->p);
    struct tensor above = ss_tensor_slice(g, s->d, 0, 0, s->p - 1);

    if (s->p > 1) {
        ss_program_add(g, seq,
                       ss_program_copy(g, ss_tensor_slice(g, above, 1, s->rows, s->rows + 1),
                                       ss_tensor_slice(g, below, 1, 0, 1)));
        ss_program_add(g, seq,
                       ss_program_copy(g, ss_tensor_slice(g, below, 1, 1, 2),
                                       ss_tensor_slice(g, above, 1, s->rows + 1, s->rows + 2)));
    }
    for (uint32_t i = 0; i < s->p; i++)
        VERTEX(stencil5_f32, g, cs, i, .x = ss_tensor_flatten(g, ss_tensor_index(g, s->d, i)),
               .y = ss_tensor_flatten(g, ss_tensor_index(g, s->ad, i)), .c0 = 4, .c1 = -1,
               .h = s->rows, .w = s->width);
    ss_program_add(g, seq, ss_program_execute(g, cs));
}

static struct tensor dot(struct graph *g, struct program seq, struct tensor x, struct tensor y,
                         const char *name)
{
    return ss_op_total(g, seq, REDUCE_SUM, ss_op_binary(g, seq, BINARY_MUL, x, y, name), name);
}

/* y = y + (sign over / under) x, or x + (..) y. */
static void update(struct graph *g, struct program seq, const struct cg *s, struct tensor y,
                   struct tensor x, struct tensor over, struct tensor under, float sign, int grow)
{
    uint32_t cs = ss_graph_compute_set(g, "update");

    for (uint32_t i = 0; i < s->p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "update_f32", i);

        ss_vertex_connect(g, v, "y", ss_tensor_flatten(g, ss_tensor_index(g, y, i)));
        ss_vertex_connect(g, v, "x", ss_tensor_flatten(g, ss_tensor_index(g, x, i)));
        ss_vertex_connect(g, v, "over", over);
        ss_vertex_connect(g, v, "under", under);
        ss_vertex_set_f32(g, v, "sign", sign);
        ss_vertex_set_u32(g, v, "grow", (uint32_t)grow);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
}

static struct program cg_step(struct graph *g, const struct cg *s)
{
    struct program seq = ss_program_sequence(g);
    struct tensor d = inner_rows(g, s), next;

    multiply(g, seq, s);
    ss_program_add(g, seq, ss_program_copy(g, dot(g, seq, d, s->ad, "dad"), s->dad));
    update(g, seq, s, s->x, d, s->rr, s->dad, 1, 0);
    update(g, seq, s, s->r, s->ad, s->rr, s->dad, -1, 0);
    next = dot(g, seq, s->r, s->r, "rr");
    update(g, seq, s, d, s->r, next, s->rr, 1, 1);
    ss_program_add(g, seq, ss_program_copy(g, next, s->rr));
    return seq;
}

/* The field with a border of zeros, [rows][width], in f64. */
static double plain_dot(const double *x, const double *y, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void plain_multiply(const double *d, double *ad, uint32_t rows, uint32_t width)
{
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 1; c + 1 < width; c++) {
            const double *at_d = d + (size_t)r * width + c;
            double up = r ? at_d[-(ptrdiff_t)width] : 0, down = r + 1 < rows ? at_d[width] : 0;

            ad[(size_t)r * width + c] = 4 * at_d[0] - up - down - at_d[-1] - at_d[1];
        }
    }
}

/* x after so many steps from 0, in f64. */
static void plain_cg(const float *b, float *out, uint32_t rows, uint32_t width, uint64_t steps,
                     double *work)
{
    size_t n = (size_t)rows * width;
    double *x = work, *r = work + n, *d = work + 2 * n, *ad = work + 3 * n, rr;

    for (size_t i = 0; i < n; i++)
        r[i] = d[i] = (double)b[i];
    rr = plain_dot(r, r, n);
    for (uint64_t k = 0; k < steps; k++) {
        double alpha, next;

        plain_multiply(d, ad, rows, width);
        alpha = rr / plain_dot(d, ad, n);
        for (size_t i = 0; i < n; i++) {
            x[i] += alpha * d[i];
            r[i] -= alpha * ad[i];
        }
        next = plain_dot(r, r, n);
        for (size_t i = 0; i < n; i++)
            d[i] = r[i] + next / rr * d[i];
        rr = next;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (float)x[i];
}

/* Right-hand side with the border columns 0, the start of r and d; and what x becomes. */
static void cg_data(struct graph *g, struct classic *c, const struct cg *s, uint64_t steps)
{
    uint32_t rows = s->p * s->rows;
    size_t n = (size_t)rows * s->width;
    float *b = classic_floats(n, 12), *d = emu_alloc(n, sizeof(*d)), *x = emu_alloc(n, sizeof(*x));
    double *work = emu_alloc(4 * n, sizeof(*work));

    if (b && d && x && work) {
        for (uint32_t r = 0; r < rows; r++)
            b[(size_t)r * s->width] = b[(size_t)(r + 1) * s->width - 1] = 0;
        memcpy(d, b, n * sizeof(*d));
        plain_cg(b, x, rows, s->width, steps, work);
    }
    ss_free(work);
    classic_input(g, c, s->d, emu_alloc(n + 2 * (size_t)s->p * s->width, sizeof(float)));
    classic_input(g, c, inner_rows(g, s), d);
    classic_input(g, c, s->r, b);
    classic_input(g, c, s->x, emu_alloc(n, sizeof(float)));
    classic_result(g, c, s->x, x, 1e-4);
}

static enum emu_status cg_build(struct graph *g, const uint64_t *value, void **state)
{
    struct cg s = { .p = classic_tiles(g, value[CG_P], 64),
                    .rows = (uint32_t)value[CG_ROWS],
                    .width = (uint32_t)value[CG_WIDTH] };
    struct program seq = ss_program_sequence(g);
    struct classic *c;

    if (s.width % 2)
        return FAIL(USAGE, "width is %u, expected an even number", s.width);
    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "update_f32", CHANGES("y", F32), TAKES("x", F32), TAKES("over", F32),
                    TAKES("under", F32), REAL("sign"), NUMBER("grow"), LENGTH_OF("n", "y"));
    s.x = strips(g, &s, s.rows, "x");
    s.r = strips(g, &s, s.rows, "r");
    s.d = strips(g, &s, s.rows + 2, "d");
    s.ad = strips(g, &s, s.rows, "ad");
    s.dad = classic_on_tile(g, ELEM_F32, 0, 1, "d_ad");
    s.rr = classic_on_tile(g, ELEM_F32, 0, 1, "r_r");
    ss_program_add(g, seq, ss_program_copy(g, dot(g, seq, s.r, s.r, "first"), s.rr));
    ss_program_add(g, seq, ss_program_repeat(g, (uint32_t)value[CG_STEPS], cg_step(g, &s)));
    ss_graph_set_program(g, seq);
    cg_data(g, c, &s, value[CG_STEPS]);
    classic_note(c, "p", s.p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_cg, "cg", "conjugate gradients for the Laplacian of a field", cg_param,
                cg_build, NULL);
