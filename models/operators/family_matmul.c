/* family_matmul.c - MatMul and Gemm.
 *
 * Every sum runs over its terms in ascending order, whatever the layout of the operands and the
 * number of threads.
 */
#include <string.h>

#include "models/operators/op_families.h"

enum {
    ROWS = 8,              /* of the left operand that share a read of the right one */
    COLUMNS = 8,           /* sums that are computed together if the right operand is transposed */
    PARALLEL_MIN = 1 << 16 /* products from which threads are worth their start */
};

/* Elements of a matrix: at[i * row + j * column]. */
struct matmul_matrix {
    union {
        const double *f;
        const int64_t *i;
    };
    uint64_t row, column;
};

/* out [m][n], zeros so far, becomes a [m][k] times b [k][n]. */
struct matmul_product {
    uint64_t m, k, n;
    struct matmul_matrix a, b;
    union {
        double *f;
        int64_t *i;
    } out;
};

/* --- one product -------------------------------------------------------------------------- */

/* Rows of b are read in order, each for some rows of a. */
static void product_by_rows(const struct matmul_product *p, uint64_t first, uint64_t last)
{
    for (uint64_t t = 0; t < p->k; t++) {
        const double *b = p->b.f + t * p->b.row;

        for (uint64_t i = first; i < last; i++) {
            double x = p->a.f[i * p->a.row + t * p->a.column], *out = p->out.f + i * p->n;

            for (uint64_t j = 0; j < p->n; j++)
                out[j] += x * b[j];
        }
    }
}

/* Columns of b are read in order, some at a time; behind the last one it again. */
static void product_by_columns(const struct matmul_product *p, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i < last; i++) {
        const double *a = p->a.f + i * p->a.row;

        for (uint64_t j = 0; j < p->n; j += COLUMNS) {
            uint64_t n = p->n - j < COLUMNS ? p->n - j : COLUMNS;
            double sum[COLUMNS] = { 0 };
            const double *b[COLUMNS];

            for (uint64_t c = 0; c < COLUMNS; c++)
                b[c] = p->b.f + (j + (c < n ? c : n - 1)) * p->b.column;
            for (uint64_t t = 0; t < p->k; t++) {
                for (uint64_t c = 0; c < COLUMNS; c++)
                    sum[c] += a[t * p->a.column] * b[c][t * p->b.row];
            }
            memcpy(p->out.f + i * p->n + j, sum, n * sizeof(*sum));
        }
    }
}

/* Wraps. */
static void product_of_ints(const struct matmul_product *p, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i < last; i++) {
        for (uint64_t j = 0; j < p->n; j++) {
            const int64_t *a = p->a.i + i * p->a.row, *b = p->b.i + j * p->b.column;
            uint64_t sum = 0;

            for (uint64_t t = 0; t < p->k; t++)
                sum += (uint64_t)a[t * p->a.column] * (uint64_t)b[t * p->b.row];
            p->out.i[i * p->n + j] = (int64_t)sum;
        }
    }
}

static void product_compute(const struct matmul_product *p, int floats)
{
    int64_t blocks = (int64_t)((p->m + ROWS - 1) / ROWS);
    int many = (double)p->m * (double)p->k * (double)p->n >= PARALLEL_MIN;

#pragma omp parallel for schedule(dynamic) if (many)
    for (int64_t block = 0; block < blocks; block++) {
        uint64_t first = (uint64_t)block * ROWS;
        uint64_t last = first + ROWS < p->m ? first + ROWS : p->m;

        if (!floats)
            product_of_ints(p, first, last);
        else if (p->b.column == 1)
            product_by_rows(p, first, last);
        else
            product_by_columns(p, first, last);
    }
}

/* --- MatMul ------------------------------------------------------------------------------- */

/* The operands as stacks of matrices. */
struct stacks {
    struct op_shape a, b;  /* the stacks: what is before the last two dimensions */
    struct op_shape batch; /* both, broadcast */
    uint32_t m, k, n;
};

static enum emu_status stacks_of(struct op_call *c, struct stacks *s)
{
    struct op_shape a = *c->in[0], b = *c->in[1];

    if (!a.rank || !b.rank)
        return op_refuse(c, "of a single number");
    if (a.rank == 1) /* a row */
        a = (struct op_shape){ .type = a.type, .rank = 2, .dim = { 1, a.dim[0] } };
    if (b.rank == 1) { /* a column */
        b.rank = 2;
        b.dim[1] = 1;
    }
    s->m = a.dim[a.rank - 2];
    s->k = a.dim[a.rank - 1];
    s->n = b.dim[b.rank - 1];
    if (b.dim[b.rank - 2] != s->k)
        return op_refuse(c, "rows of %u numbers by columns of %u", s->k, b.dim[b.rank - 2]);
    a.rank -= 2;
    b.rank -= 2;
    s->a = a;
    s->b = b;
    return op_broadcast(c, &a, &b, &s->batch);
}

static enum emu_status matmul_infer(struct op_call *c)
{
    struct op_shape *out = &c->out[0];
    struct stacks s;

    TRY(stacks_of(c, &s));
    *out = s.batch;
    if (c->in[0]->rank > 1)
        out->dim[out->rank++] = s.m;
    if (c->in[1]->rank > 1)
        out->dim[out->rank++] = s.n;
    return EMU_OK;
}

/* The matrix of a stack that is read for an index of the batch. */
static uint64_t stack_at(const struct op_shape *stack, const struct op_shape *batch,
                         const uint32_t index[OP_RANK_MAX])
{
    uint64_t stride[OP_RANK_MAX], at = 0;

    op_broadcast_strides(stack, batch, stride);
    for (unsigned k = 0; k < batch->rank; k++)
        at += index[k] * stride[k];
    return at;
}

static enum emu_status matmul_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    int floats = op_type_kind(c->in[0]->type) == OP_KIND_FLOAT;
    uint32_t index[OP_RANK_MAX] = { 0 };
    uint64_t done = 0;
    struct stacks s;

    TRY(stacks_of(c, &s));
    if (!op_shape_count(&out->shape))
        return EMU_OK;
    do {
        uint64_t a = stack_at(&s.a, &s.batch, index) * s.m * s.k;
        uint64_t b = stack_at(&s.b, &s.batch, index) * s.k * s.n;
        struct matmul_product p = { .m = s.m, .k = s.k, .n = s.n };

        p.a = (struct matmul_matrix){ .row = s.k, .column = 1 };
        p.b = (struct matmul_matrix){ .row = s.n, .column = 1 };
        if (floats) {
            p.a.f = in[0]->f + a;
            p.b.f = in[1]->f + b;
            p.out.f = out->f + done;
        } else {
            p.a.i = in[0]->i + a;
            p.b.i = in[1]->i + b;
            p.out.i = out->i + done;
        }
        product_compute(&p, floats);
        done += (uint64_t)s.m * s.n;
    } while (op_index_next(&s.batch, index));
    return EMU_OK;
}

/* --- Gemm --------------------------------------------------------------------------------- */

static enum emu_status gemm_infer(struct op_call *c)
{
    const struct op_shape *a = c->in[0], *b = c->in[1];
    int a_turned = op_int(c, "transA") != 0, b_turned = op_int(c, "transB") != 0;
    struct op_shape both;

    if (a->rank != 2 || b->rank != 2)
        return op_refuse(c, "of %u and %u dimensions: both have 2", a->rank, b->rank);
    if (a->dim[!a_turned] != b->dim[b_turned])
        return op_refuse(c, "rows of %u numbers by columns of %u", a->dim[!a_turned],
                         b->dim[b_turned]);
    c->out[0] = (struct op_shape){ .type = a->type,
                                   .rank = 2,
                                   .dim = { a->dim[a_turned], b->dim[!b_turned] } };
    if (!op_given(c, 2))
        return EMU_OK;
    TRY(op_broadcast(c, &c->out[0], c->in[2], &both));
    if (!op_shape_equal(&both, &c->out[0]))
        return op_refuse(c, "C has more dimensions or elements than the product");
    return EMU_OK;
}

/* out = alpha out + beta c. */
static void gemm_add(struct op_call *c, const struct op_tensor *add, struct op_tensor *out)
{
    double alpha = op_float(c, "alpha"), beta = add ? op_float(c, "beta") : 0;
    int floats = op_type_kind(out->shape.type) == OP_KIND_FLOAT;
    uint64_t stride[OP_RANK_MAX] = { 0 }, n = out->shape.dim[1];

    if (add)
        op_broadcast_strides(&add->shape, &out->shape, stride);
    for (uint64_t at = 0; at < op_shape_count(&out->shape); at++) {
        uint64_t from = at / n * stride[0] + at % n * stride[1];
        double y = beta != 0 ? beta * op_tensor_number(add, from) : 0;

        if (floats)
            out->f[at] = alpha * out->f[at] + y;
        else if (alpha == 1 && (beta == 0 || beta == 1)) /* exact */
            out->i[at] = (int64_t)((uint64_t)out->i[at] + (beta != 0 ? (uint64_t)add->i[from] : 0));
        else
            out->i[at] = op_whole(alpha * op_tensor_number(out, at) + y);
    }
}

static enum emu_status gemm_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    int floats = op_type_kind(c->in[0]->type) == OP_KIND_FLOAT;
    int a_turned = op_int(c, "transA") != 0, b_turned = op_int(c, "transB") != 0;
    uint64_t a_row = c->in[0]->dim[1], b_row = c->in[1]->dim[1];
    struct matmul_product p = { .m = out->shape.dim[0],
                                .k = c->in[0]->dim[!a_turned],
                                .n = out->shape.dim[1] };

    if (!op_shape_count(&out->shape))
        return EMU_OK;
    p.a.row = a_turned ? 1 : a_row;
    p.a.column = a_turned ? a_row : 1;
    p.b.row = b_turned ? 1 : b_row;
    p.b.column = b_turned ? b_row : 1;
    if (floats) {
        p.a.f = in[0]->f;
        p.b.f = in[1]->f;
        p.out.f = out->f;
    } else {
        p.a.i = in[0]->i;
        p.b.i = in[1]->i;
        p.out.i = out->i;
    }
    product_compute(&p, floats);
    gemm_add(c, op_given(c, 2) ? in[2] : NULL, out);
    return EMU_OK;
}

/* --- the family --------------------------------------------------------------------------- */

static int is_gemm(const struct op_call *c)
{
    return op_named(c, OP_Gemm);
}

static enum emu_status infer(struct op_call *c)
{
    return is_gemm(c) ? gemm_infer(c) : matmul_infer(c);
}

static enum emu_status ref(struct op_call *c, const struct op_tensor *const *in,
                           struct op_tensor *out)
{
    return is_gemm(c) ? gemm_ref(c, in, out) : matmul_ref(c, in, out);
}

const struct op_family family_matmul = { .infer = infer,
                                         .ref = ref,
                                         .gradient = gradient_matmul_node };
