/* test_view.c - random chains of views against a list of elements per view, and the runs of views:
 * complete, in order, as long as possible, for any range.
 */
#include <time.h>

#include "emu/base/random.h"
#include "tests/fixtures/graph_fixture.h"

enum { CHAINS = 3000, CHAIN_STEPS = 9, POOL = 24, MAX_ELEMENTS = 600 };

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    return random_below(&random_state, n);
}

/* A tensor beside the plain truth about it: variable and offset of every element, in order. */
struct truth {
    struct tensor t;
    unsigned rank;
    uint32_t shape[TENSOR_MAX_RANK];
    uint32_t elements;
    uint64_t *at; /* variable << 32 | offset */
};

static struct truth truth_new(unsigned rank, const uint32_t *shape)
{
    struct truth r = { .rank = rank, .elements = 1 };

    for (unsigned k = 0; k < rank; k++) {
        r.shape[k] = shape[k];
        r.elements *= shape[k];
    }
    r.at = calloc(r.elements + 1, sizeof(*r.at));
    return r;
}

/* Index of element i in every dimension, and back. */
static void index_of(const struct truth *r, uint32_t i, uint32_t *index)
{
    for (unsigned k = r->rank; k-- > 0; i /= r->shape[k])
        index[k] = i % r->shape[k];
}

static uint32_t element_of(const struct truth *r, const uint32_t *index)
{
    uint32_t i = 0;

    for (unsigned k = 0; k < r->rank; k++)
        i = i * r->shape[k] + index[k];
    return i;
}

/* ---- each view operation by its definition ---- */

static struct truth truth_variable(struct graph *g)
{
    uint32_t shape[TENSOR_MAX_RANK], n = 1;
    unsigned rank = below(5);
    struct truth r;

    for (unsigned k = 0; k < rank; k++) {
        do
            shape[k] = below(40) ? 1 + below(3) * below(4) : 0;
        while (n * shape[k] > MAX_ELEMENTS);
        n *= shape[k];
    }
    r = truth_new(rank, shape);
    r.t = ss_graph_variable(g, ELEM_F16, rank, shape, "v");
    for (uint32_t i = 0; i < r.elements; i++)
        r.at[i] = (uint64_t)(g->variable.count - 1) << 32 | i;
    return r;
}

static struct truth truth_slice(struct graph *g, const struct truth *a)
{
    unsigned dim = below(a->rank);
    uint32_t begin = below(a->shape[dim] + 1), end = begin + below(a->shape[dim] - begin + 1);
    uint32_t shape[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK];
    struct truth r;

    memcpy(shape, a->shape, sizeof(shape));
    shape[dim] = end - begin;
    r = truth_new(a->rank, shape);
    r.t = ss_tensor_slice(g, a->t, dim, begin, end);
    for (uint32_t i = 0; i < r.elements; i++) {
        index_of(&r, i, index);
        index[dim] += begin;
        r.at[i] = a->at[element_of(a, index)];
    }
    return r;
}

static struct truth truth_index(struct graph *g, const struct truth *a)
{
    uint32_t row = below(a->shape[0]);
    struct truth r = truth_new(a->rank - 1, a->shape + 1);

    r.t = ss_tensor_index(g, a->t, row);
    memcpy(r.at, a->at + row * r.elements, r.elements * sizeof(*r.at));
    return r;
}

static struct truth truth_transpose(struct graph *g, const struct truth *a)
{
    unsigned order[TENSOR_MAX_RANK];
    uint32_t shape[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK], from[TENSOR_MAX_RANK];
    struct truth r;

    for (unsigned k = 0; k < a->rank; k++)
        order[k] = k;
    for (unsigned k = a->rank; k-- > 1;) {
        unsigned j = below(k + 1), t = order[k];

        order[k] = order[j];
        order[j] = t;
    }
    for (unsigned k = 0; k < a->rank; k++)
        shape[k] = a->shape[order[k]];
    r = truth_new(a->rank, shape);
    r.t = ss_tensor_transpose(g, a->t, order);
    for (uint32_t i = 0; i < r.elements; i++) {
        index_of(&r, i, index);
        for (unsigned k = 0; k < a->rank; k++)
            from[order[k]] = index[k];
        r.at[i] = a->at[element_of(a, from)];
    }
    return r;
}

static struct truth truth_reshape(struct graph *g, const struct truth *a)
{
    uint32_t shape[TENSOR_MAX_RANK], left = a->elements;
    unsigned rank = 0;
    struct truth r;

    while (left != 1 && left && rank < 5) { /* cut off a random divisor */
        uint32_t divisor = 1 + below(left);

        while (left % divisor)
            divisor--;
        shape[rank++] = divisor;
        left /= divisor;
    }
    if (left != 1 || !below(4))
        shape[rank++] = left;
    r = truth_new(rank, shape);
    if (a->elements && !below(4)) {
        r.rank = 1;
        r.shape[0] = a->elements;
        r.t = ss_tensor_flatten(g, a->t);
    } else {
        r.t = ss_tensor_reshape(g, a->t, rank, shape);
    }
    memcpy(r.at, a->at, r.elements * sizeof(*r.at));
    return r;
}

static struct truth truth_broadcast(struct graph *g, const struct truth *a, unsigned dim)
{
    uint32_t shape[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK];
    struct truth r;

    memcpy(shape, a->shape, sizeof(shape));
    shape[dim] = below(4);
    r = truth_new(a->rank, shape);
    r.t = ss_tensor_broadcast(g, a->t, dim, shape[dim]);
    for (uint32_t i = 0; i < r.elements; i++) {
        index_of(&r, i, index);
        index[dim] = 0;
        r.at[i] = a->at[element_of(a, index)];
    }
    return r;
}

/* Two or three tensors: a, slices of a, and others that fit. */
static struct truth truth_concat(struct graph *g, const struct truth *a, const struct truth *pool,
                                 unsigned pooled)
{
    unsigned dim = below(a->rank), n = 1;
    uint32_t shape[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK];
    const struct truth *part[3] = { a };
    struct tensor t[3] = { a->t };
    struct truth r;

    for (unsigned k = 0; k < pooled && n < 3; k++) {
        const struct truth *b = &pool[(k + below(pooled)) % pooled];
        int fits = b->rank == a->rank;

        for (unsigned d = 0; fits && d < a->rank; d++)
            fits = d == dim || a->shape[d] == b->shape[d];
        if (fits) {
            part[n] = b;
            t[n++] = b->t;
        }
    }
    memcpy(shape, a->shape, sizeof(shape));
    for (unsigned k = 1; k < n; k++)
        shape[dim] += part[k]->shape[dim];
    r = truth_new(a->rank, shape);
    r.t = ss_tensor_concat(g, t, n, dim);
    for (uint32_t i = 0; i < r.elements; i++) {
        unsigned k = 0;

        index_of(&r, i, index);
        while (index[dim] >= part[k]->shape[dim])
            index[dim] -= part[k++]->shape[dim];
        r.at[i] = part[k]->at[element_of(part[k], index)];
    }
    return r;
}

/* ---- comparison ---- */

struct seen {
    const struct truth *r;
    uint32_t at;
    uint64_t last; /* where the last run ended */
    int any;
};

static enum emu_status see_run(void *ctx, const struct view_run *run)
{
    struct seen *s = ctx;
    uint64_t begin = (uint64_t)run->var << 32 | run->offset;

    assert_true(run->elements > 0);
    assert_false(s->any && s->last == begin); /* else the run was not as long as possible */
    for (uint64_t k = 0; k < run->elements; k++)
        assert_int_equal(s->r->at[s->at++], begin + k);
    s->last = begin + run->elements;
    s->any = 1;
    return EMU_OK;
}

static void compare(struct graph *g, const struct truth *r)
{
    struct seen s = { .r = r };
    uint32_t begin = below(r->elements + 1), end = begin + below(r->elements - begin + 1);

    assert_int_equal(ss_graph_status(g), EMU_OK);
    assert_int_equal(ss_tensor_rank(g, r->t), r->rank);
    for (unsigned k = 0; k < r->rank; k++)
        assert_int_equal(ss_tensor_shape(g, r->t)[k], r->shape[k]);
    assert_int_equal(ss_tensor_elements(g, r->t), r->elements);
    assert_int_equal(view_runs(g, r->t.view, 0, r->elements, see_run, &s), EMU_OK);
    assert_int_equal(s.at, r->elements);
    s = (struct seen){ .r = r, .at = begin };
    assert_int_equal(view_runs(g, r->t.view, begin, end, see_run, &s), EMU_OK);
    assert_int_equal(s.at, end);
    for (uint32_t i = 0; i < r->elements; i++) {
        struct view_run run = view_at(g, r->t.view, i);

        assert_true(run.elements >= 1 && run.elements <= r->elements - i);
        for (uint64_t k = 0; k < run.elements; k++)
            assert_int_equal(r->at[i + k], ((uint64_t)run.var << 32 | run.offset) + k);
    }
}

static struct truth random_view(struct graph *g, const struct truth *pool, unsigned pooled)
{
    const struct truth *a = &pool[below(pooled)];

    for (unsigned k = 0; k < 4 && g->view.at[a->t.view].kind == VIEW_BLOCK; k++)
        a = &pool[below(pooled)]; /* nodes are the harder ones */
    switch (below(10)) {
    case 0:
        return truth_variable(g);
    case 1:
    case 2:
        return a->rank ? truth_slice(g, a) : truth_reshape(g, a);
    case 3:
        return a->rank && a->shape[0] ? truth_index(g, a) : truth_reshape(g, a);
    case 4:
        return truth_transpose(g, a);
    case 5:
        return truth_reshape(g, a);
    case 6:
    case 7:
        for (unsigned k = 0; k < a->rank; k++)
            if (a->shape[k] == 1 && a->elements * 4 < MAX_ELEMENTS && below(2))
                return truth_broadcast(g, a, k);
        return truth_transpose(g, a);
    default:
        return a->rank && a->elements < MAX_ELEMENTS / 3 ? truth_concat(g, a, pool, pooled)
                                                         : truth_reshape(g, a);
    }
}

static void random_chains_are_what_they_say(void **state)
{
    unsigned kinds[VIEW_BROADCAST + 1] = { 0 };

    (void)state;
    random_state = 1;
    for (unsigned chain = 0; chain < CHAINS; chain++) {
        struct truth pool[POOL];
        struct graph *g = graph_on("toy4");
        unsigned n = 0;

        pool[n++] = truth_variable(g);
        pool[n++] = truth_variable(g);
        while (n < POOL) {
            pool[n] = random_view(g, pool, n);
            compare(g, &pool[n]);
            kinds[g->view.at[pool[n].t.view].kind]++;
            n++;
        }
        for (unsigned k = 0; k < n; k++)
            free(pool[k].at);
        ss_graph_free(g);
    }
    for (unsigned k = 0; k <= VIEW_BROADCAST; k++) {
        print_message("kind %u: %u\n", k, kinds[k]);
        assert_true(kinds[k] > 100);
    }
}

/* ---- what stays one block, and how many runs there are ---- */

static enum emu_status count_run(void *ctx, const struct view_run *run)
{
    (void)run;
    ++*(uint64_t *)ctx;
    return EMU_OK;
}

static uint64_t runs(const struct graph *g, struct tensor t)
{
    uint64_t n = 0;

    assert_int_equal(view_runs(g, t.view, 0, ss_tensor_elements(g, t), count_run, &n), EMU_OK);
    return n;
}

static enum view_kind kind(const struct graph *g, struct tensor t)
{
    return g->view.at[t.view].kind;
}

static void blocks_stay_blocks(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor t = ss_graph_variable(g, ELEM_F32, SHAPE(8, 6, 4), "t"), u, part[3];

    (void)state;
    u = ss_tensor_slice(g, ss_tensor_slice(g, t, 0, 2, 6), 2, 1, 3);
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    assert_int_equal(runs(g, u), 24);
    u = ss_tensor_reshape(g, ss_tensor_slice(g, t, 0, 2, 6), SHAPE(2, 2, 24));
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    assert_int_equal(runs(g, u), 1);
    u = ss_tensor_reshape(g, ss_tensor_transpose(g, t, (unsigned[]){ 1, 2, 0 }), SHAPE(24, 2, 4));
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    u = ss_tensor_broadcast(g, ss_tensor_reshape(g, ss_tensor_index(g, t, 1), SHAPE(1, 24)), 0, 5);
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    assert_int_equal(kind(g, ss_tensor_reshape(g, u, SHAPE(5, 2, 12))), VIEW_BLOCK);
    assert_int_equal(kind(g, ss_tensor_flatten(g, u)), VIEW_RESHAPE);
    /* Pieces of a variable that are put together again are the variable. */
    part[0] = ss_tensor_slice(g, t, 1, 0, 1);
    part[1] = ss_tensor_slice(g, t, 1, 1, 4);
    part[2] = ss_tensor_slice(g, t, 1, 4, 6);
    u = ss_tensor_concat(g, part, 3, 1);
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    assert_int_equal(runs(g, u), 1);
    part[0] = ss_tensor_slice(g, t, 0, 1, 2);
    part[1] = ss_tensor_slice(g, t, 0, 4, 5);
    part[2] = ss_tensor_slice(g, t, 0, 7, 8);
    u = ss_tensor_concat(g, part, 3, 0);
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    assert_int_equal(g->view.at[u.view].stride[0], 72);
    ss_graph_free(g);
}

static void nodes_become_simpler(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor a = ss_graph_variable(g, ELEM_F32, SHAPE(4, 6), "a");
    struct tensor b = ss_graph_variable(g, ELEM_F32, SHAPE(2, 6), "b");
    struct tensor ab = ss_tensor_concat(g, (struct tensor[]){ a, b }, 2, 0), u;

    (void)state;
    assert_int_equal(runs(g, ab), 2);
    assert_int_equal(kind(g, ss_tensor_slice(g, ab, 0, 1, 4)), VIEW_BLOCK);
    assert_int_equal(kind(g, ss_tensor_index(g, ab, 5)), VIEW_BLOCK);
    u = ss_tensor_flatten(g, ab);
    assert_int_equal(kind(g, u), VIEW_CONCAT);
    assert_int_equal(runs(g, u), 2);
    assert_int_equal(kind(g, ss_tensor_slice(g, u, 0, 24, 30)), VIEW_BLOCK);
    u = ss_tensor_transpose(g, ab, (unsigned[]){ 1, 0 });
    assert_int_equal(kind(g, u), VIEW_CONCAT);
    assert_int_equal(kind(g, ss_tensor_slice(g, u, 1, 4, 6)), VIEW_BLOCK);
    /* The order of two slices does not matter. */
    u = ss_tensor_slice(g, ss_tensor_slice(g, ab, 1, 1, 3), 0, 0, 4);
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    /* A chain of concatenations is one. */
    u = a;
    for (unsigned k = 0; k < 100; k++)
        u = ss_tensor_concat(g, (struct tensor[]){ u, k % 2 ? a : b }, 2, 0);
    assert_int_equal(g->view.at[u.view].parts, 101);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_free(g);
}

/* A matrix in 16 x 16 blocks that looks like a matrix: tiles, columns and rows within a block row
 * are affine, and so is a transposed tile. */
static void blocked_matrices(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor t = ss_graph_variable(g, ELEM_F16, SHAPE(4, 8, 16, 16), "t"), m, u;

    (void)state;
    m = ss_tensor_reshape(g, ss_tensor_transpose(g, t, (unsigned[]){ 0, 2, 1, 3 }), SHAPE(64, 128));
    assert_int_equal(kind(g, m), VIEW_RESHAPE);
    assert_int_equal(runs(g, m), 64 * 8 - 3); /* a last row continues in the next block row */
    u = ss_tensor_slice(g, ss_tensor_slice(g, m, 0, 16, 32), 1, 32, 48);
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    assert_int_equal(runs(g, u), 1);
    assert_int_equal(view_at(g, u.view, 0).offset, (1 * 8 + 2) * 256);
    u = ss_tensor_transpose(g, m, (unsigned[]){ 1, 0 });
    assert_int_equal(kind(g, u), VIEW_RESHAPE);
    u = ss_tensor_slice(g, ss_tensor_slice(g, u, 0, 100, 104), 1, 48, 64);
    assert_int_equal(kind(g, u), VIEW_BLOCK);
    assert_int_equal(view_at(g, u.view, 1).offset, (3 * 8 + 6) * 256 + 4 + 16);
    assert_int_equal(kind(g, ss_tensor_index(g, ss_tensor_slice(g, m, 1, 16, 32), 5)), VIEW_BLOCK);
    assert_int_equal(kind(g, ss_tensor_slice(g, m, 1, 8, 24)), VIEW_SLICE);
    ss_graph_free(g);
}

/* A tile's columns of a matrix that is made of many pieces: time does not grow with the pieces that
 * are not touched, nor with elements in a row. */
static void large_views_are_fast(void **state)
{
    enum { PIECES = 1000, ROWS = 1000 };
    struct graph *g = graph_on("toy4");
    struct tensor *piece = calloc(PIECES, sizeof(*piece)), all;
    clock_t start = clock();
    uint64_t n = 0;

    (void)state;
    for (unsigned k = 0; k < PIECES; k++)
        piece[k] = ss_graph_variable(g, ELEM_F32, SHAPE(ROWS, 64), "p");
    all = ss_tensor_concat(g, piece, PIECES, 1);
    for (unsigned k = 0; k < PIECES; k++)
        n += runs(g, ss_tensor_slice(g, all, 1, 64 * k, 64 * k + 64));
    assert_int_equal(n, PIECES);
    assert_int_equal(runs(g, all), PIECES * ROWS);
    for (unsigned k = 0; k < ROWS; k++)
        n += runs(g, ss_tensor_slice(g, all, 0, k, k + 1));
    assert_int_equal(n, PIECES + PIECES * ROWS);
    print_message("2 million runs in %.3f s of CPU time\n",
                  (double)(clock() - start) / CLOCKS_PER_SEC);
    assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
    free(piece);
    ss_graph_free(g);
}

static enum emu_status stop_at_third(void *ctx, const struct view_run *run)
{
    (void)run;
    return ++*(unsigned *)ctx == 3 ? FAIL(FAULT, "enough") : EMU_OK;
}

static void a_visitor_can_stop(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor t = ss_graph_variable(g, ELEM_F32, SHAPE(8, 8), "t");
    unsigned n = 0;

    (void)state;
    t = ss_tensor_slice(g, t, 1, 0, 4);
    assert_int_equal(view_runs(g, t.view, 0, 32, stop_at_third, &n), EMU_FAULT);
    assert_int_equal(n, 3);
    ss_graph_free(g);
}

/* Equal shapes and strides are one place in memory, however many blocks have them; equal shapes
 * alone are not enough. */
static void equal_layouts_are_stored_once(void **state)
{
    enum { ROWS = 200 };
    struct graph *g = graph_on("toy4");
    struct tensor t = ss_graph_variable(g, ELEM_F32, SHAPE(ROWS, ROWS), "t"), row[ROWS];
    struct tensor across = ss_tensor_transpose(g, t, (unsigned[]){ 1, 0 });
    const struct view *v;

    (void)state;
    assert_ptr_not_equal(g->view.at[across.view].shape, g->view.at[t.view].shape);
    assert_int_equal(g->view.at[across.view].stride[0], 1);
    for (unsigned k = 0; k < ROWS; k++) {
        ss_tensor_slice(g, t, 0, 0, k + 1); /* as many different ones */
        row[k] = ss_tensor_index(g, t, k);
    }
    v = g->view.at;
    for (unsigned k = 0; k < ROWS; k++) {
        assert_ptr_equal(v[row[k].view].shape, v[row[0].view].shape);
        assert_ptr_equal(v[row[k].view].stride, v[row[0].view].stride);
        assert_int_equal(v[row[k].view].offset, k * ROWS);
        assert_int_equal(v[row[k].view].shape[0], ROWS);
    }
    assert_true(g->layouts.used <= ROWS + 3);
    ss_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_chains_are_what_they_say),
        cmocka_unit_test(blocks_stay_blocks),
        cmocka_unit_test(nodes_become_simpler),
        cmocka_unit_test(large_views_are_fast),
        cmocka_unit_test(a_visitor_can_stop),
        cmocka_unit_test(blocked_matrices),
        cmocka_unit_test(equal_layouts_are_stored_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
