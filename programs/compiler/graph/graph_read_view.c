/* graph_read_view.c - views of a graph file: blocks of variables as they are, others by the
 * functions that users call. */
#include "programs/compiler/graph/graph_read.h"

/* ---- blocks ---- */

/* What a block is to be, with room for its arrays. */
struct block {
    struct view v;
    uint32_t shape[TENSOR_MAX_RANK];
    int64_t stride[TENSOR_MAX_RANK];
};

/* "+ 8 by 1 + ...]": adds how far the last element is from the first one to *last. */
static enum emu_status read_strides(struct graph_reader *r, uint64_t elements, struct block *b,
                                    uint64_t *last)
{
    while (token_take(&r->lex, "+")) {
        uint64_t stride;
        uint32_t k = b->v.rank;

        if (k == TENSOR_MAX_RANK)
            return token_wrong(&r->lex, "expected at most %d dimensions", TENSOR_MAX_RANK);
        TRY(token_u32(&r->lex, "a size", &b->shape[k]));
        TRY(token_need(&r->lex, "by"));
        TRY(token_number(&r->lex, "a stride", 0, elements, &stride));
        b->stride[k] = (int64_t)stride;
        b->v.rank++;
        if (b->shape[k] > 1 && stride > (elements - *last) / (b->shape[k] - 1))
            return token_wrong(&r->lex, "expected a view that ends within the %llu elements",
                               (unsigned long long)elements);
        *last += b->shape[k] ? stride * (b->shape[k] - 1) : 0;
    }
    return token_need(&r->lex, "]");
}

/* "[2,4]" of the elements [begin, end); without a shape, they are one dimension. */
static enum emu_status read_as(struct graph_reader *r, uint64_t begin, uint64_t end,
                               struct block *b)
{
    uint64_t n = end - begin;
    unsigned rank = 1;

    if (token_take(&r->lex, "as"))
        TRY(token_shape(&r->lex, &rank, b->shape));
    else if (n > UINT32_MAX)
        return token_expected(&r->lex, "'as' and a shape, for %llu elements",
                              (unsigned long long)n);
    else
        b->shape[0] = (uint32_t)n;
    if (shape_elements(rank, b->shape) != n)
        return token_wrong(&r->lex, "%s has not the %llu elements of [%llu:%llu]",
                           shape_text(rank, b->shape).text, (unsigned long long)n,
                           (unsigned long long)begin, (unsigned long long)end);
    b->v.rank = (uint8_t)rank;
    b->v.offset = begin;
    for (int64_t step = 1; rank-- > 0; step *= b->shape[rank])
        b->stride[rank] = step;
    return EMU_OK;
}

/* Behind the bracket after the name of a variable. */
static enum emu_status read_part(struct graph_reader *r, uint64_t elements, struct block *b)
{
    uint64_t begin, end, last;

    TRY(token_number(&r->lex, "the number of an element", 0, elements, &begin));
    if (token_take(&r->lex, ":")) {
        TRY(token_number(&r->lex, "the end of a run", begin, elements, &end));
        TRY(token_need(&r->lex, "]"));
        return read_as(r, begin, end, b);
    }
    if (begin == elements)
        return token_wrong(&r->lex, "expected the number of an element below %llu",
                           (unsigned long long)elements);
    if (!token_is(&r->lex, "+"))
        return token_expected(&r->lex, "':' or '+'");
    last = begin + 1;
    b->v.offset = begin;
    return read_strides(r, elements, b, &last);
}

static enum emu_status read_block(struct graph_reader *r, struct tensor *out)
{
    struct block b = { .v = { .kind = VIEW_BLOCK } };
    const struct variable *x;
    uint32_t var;

    TRY(read_reference(r, NAME_VARIABLE, &var));
    x = &r->g->variable.at[var];
    b.v.var = var;
    b.v.elem = (uint8_t)x->elem;
    b.v.shape = b.shape;
    b.v.stride = b.stride;
    if (token_take(&r->lex, "[")) {
        TRY(read_part(r, x->elements, &b));
    } else if (token_is(&r->lex, "as")) {
        TRY(read_as(r, 0, x->elements, &b));
    } else {
        *out = x->whole;
        return EMU_OK;
    }
    out->view = view_add(r->g, &b.v);
    return reader_status(r);
}

/* ---- views of views ---- */

static enum emu_status read_concat(struct graph_reader *r, struct tensor *out)
{
    VEC(struct tensor) part = { 0 };
    struct tensor t;
    enum emu_status s;
    uint32_t dim;

    TRY(token_u32(&r->lex, "a dimension", &dim));
    TRY(token_need(&r->lex, ":"));
    do {
        s = read_view(r, &t);
        if (s == EMU_OK)
            s = VEC_PUSH(&part, t);
    } while (s == EMU_OK && token_take(&r->lex, ","));
    if (s == EMU_OK)
        *out = ss_tensor_concat(r->g, part.at, (unsigned)part.count, dim);
    VEC_FREE(&part);
    return s;
}

static enum emu_status read_reshape(struct graph_reader *r, struct tensor *out)
{
    uint32_t shape[TENSOR_MAX_RANK];
    struct tensor t;
    unsigned rank;

    TRY(token_shape(&r->lex, &rank, shape));
    TRY(token_need(&r->lex, ":"));
    TRY(read_view(r, &t));
    *out = ss_tensor_reshape(r->g, t, rank, shape);
    return EMU_OK;
}

static enum emu_status read_slice(struct graph_reader *r, struct tensor *out)
{
    uint32_t dim, begin, end;
    struct tensor t;

    TRY(token_u32(&r->lex, "a dimension", &dim));
    TRY(token_need(&r->lex, ","));
    TRY(token_u32(&r->lex, "where the slice begins", &begin));
    TRY(token_need(&r->lex, ":"));
    TRY(token_u32(&r->lex, "where the slice ends", &end));
    TRY(token_need(&r->lex, ":"));
    TRY(read_view(r, &t));
    *out = ss_tensor_slice(r->g, t, dim, begin, end);
    return EMU_OK;
}

static enum emu_status read_transpose(struct graph_reader *r, struct tensor *out)
{
    unsigned order[TENSOR_MAX_RANK], n = 0;
    struct tensor t;

    do {
        if (n == TENSOR_MAX_RANK)
            return token_expected(&r->lex, "at most %d dimensions", TENSOR_MAX_RANK);
        TRY(token_u32(&r->lex, "a dimension", &order[n++]));
    } while (token_take(&r->lex, ","));
    TRY(token_need(&r->lex, ":"));
    TRY(read_view(r, &t));
    if (n != ss_tensor_rank(r->g, t))
        return token_wrong(&r->lex, "transpose of %s names %u dimensions",
                           view_text(r->g, t.view).text, n);
    *out = ss_tensor_transpose(r->g, t, order);
    return EMU_OK;
}

static enum emu_status read_broadcast(struct graph_reader *r, struct tensor *out)
{
    uint32_t dim, times;
    struct tensor t;

    TRY(token_u32(&r->lex, "a dimension", &dim));
    TRY(token_need(&r->lex, ","));
    TRY(token_u32(&r->lex, "how often", &times));
    TRY(token_need(&r->lex, "times"));
    TRY(token_need(&r->lex, ":"));
    TRY(read_view(r, &t));
    *out = ss_tensor_broadcast(r->g, t, dim, times);
    return EMU_OK;
}

/* The word of a view that is made of others, with the bracket behind it; else nothing is taken. */
static int take_function(struct graph_reader *r)
{
    const char *at = r->lex.at;
    int kind = token_take_row(&r->lex, view_words, VIEW_WORDS);

    if (kind >= 0 && token_take(&r->lex, "("))
        return kind;
    r->lex.at = at;
    return VIEW_BLOCK;
}

enum emu_status read_view(struct graph_reader *r, struct tensor *out)
{
    static enum emu_status (*const read[VIEW_WORDS])(struct graph_reader *, struct tensor *) = {
        [VIEW_BLOCK] = read_block,         [VIEW_CONCAT] = read_concat,
        [VIEW_RESHAPE] = read_reshape,     [VIEW_SLICE] = read_slice,
        [VIEW_TRANSPOSE] = read_transpose, [VIEW_BROADCAST] = read_broadcast
    };
    int kind = take_function(r);

    TRY(reader_enter(r));
    TRY(read[kind](r, out));
    r->depth--;
    TRY(reader_status(r));
    return kind == VIEW_BLOCK ? EMU_OK : token_need(&r->lex, ")");
}
