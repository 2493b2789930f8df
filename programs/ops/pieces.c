/* pieces.c - cuts of a field, and inputs with halo and border. */
#include "programs/ops/pieces.h"

#include <string.h>

struct piece piece_at(const struct conv_plan *plan, const struct feature *y, uint32_t blocks,
                      uint32_t index)
{
    uint32_t o = index % plan->cut_out, rest = index / plan->cut_out;
    uint32_t w = rest % plan->cut_w, h = rest / plan->cut_w % plan->cut_h;

    return (struct piece){ .tile = plan->first_tile + index,
                           .copy = rest,
                           .n = nn_part(y->n, plan->cut_n, rest / plan->cut_w / plan->cut_h),
                           .h = nn_part(y->h, plan->cut_h, h),
                           .w = nn_part(y->w, plan->cut_w, w),
                           .o = nn_part(blocks, plan->cut_out, o) };
}

/* Input positions of a dimension: [begin, end) of the field, and how many stand before and behind
 * it. */
struct reach {
    struct nn_range in;
    uint32_t before, behind;
};

static uint32_t limit(int64_t v, uint32_t size)
{
    return v < 0 ? 0 : v > (int64_t)size ? size : (uint32_t)v;
}

static struct reach reach_of(const struct windows *win, struct nn_range out, uint32_t pad,
                             uint32_t size)
{
    int64_t begin = (int64_t)out.begin * win->stride - pad;
    int64_t end = (int64_t)(out.end - 1) * win->stride + win->kernel - pad;

    return (struct reach){ { limit(begin, size), limit(end, size) },
                           begin < 0 ? (uint32_t)-begin : 0,
                           end > (int64_t)size ? (uint32_t)(end - size) : 0 };
}

static uint32_t reach_size(const struct reach *r)
{
    return nn_size(r->in) + r->before + r->behind;
}

struct tensor piece_add_border(struct nn *nn, struct tensor border, struct tensor t, unsigned dim,
                               uint32_t before, uint32_t behind)
{
    unsigned rank = tensor_rank(nn->g, t), parts = 0;
    uint32_t shape[TENSOR_MAX_RANK], size;
    struct tensor part[3];

    memcpy(shape, tensor_shape(nn->g, t), rank * sizeof(*shape));
    size = shape[dim];
    shape[dim] = before;
    if (before)
        part[parts++] = nn_repeat(nn, border, rank, shape);
    if (size)
        part[parts++] = t;
    shape[dim] = behind;
    if (behind)
        part[parts++] = nn_repeat(nn, border, rank, shape);
    return parts > 1 ? tensor_concat(nn->g, part, parts, dim) : parts ? part[0] : t;
}

struct tensor piece_input(struct nn *nn, const struct feature *x, const struct windows *win,
                          const struct piece *p, struct nn_range blocks, uint32_t n, uint32_t *rows,
                          uint32_t *columns)
{
    struct graph *g = nn->g;
    struct reach h = reach_of(win, p->h, win->pad_top, x->h);
    struct reach w = reach_of(win, p->w, win->pad_left, x->w);
    unsigned picture = tensor_rank(g, x->t) == 4 ? 0 : 1; /* pictures have no blocks */
    struct tensor border = tensor_index(g, win->border, p->tile), t = x->t;

    if (picture)
        t = tensor_slice(g, t, 0, blocks.begin, blocks.end);
    t = tensor_slice(g, t, picture, n, n + 1);
    t = tensor_slice(g, t, picture + 1, h.in.begin, h.in.end);
    t = tensor_slice(g, t, picture + 2, w.in.begin, w.in.end);
    t = piece_add_border(nn, border, t, picture + 2, w.before, w.behind);
    t = piece_add_border(nn, border, t, picture + 1, h.before, h.behind);
    *rows = reach_size(&h);
    *columns = reach_size(&w);
    return t;
}

struct tensor piece_output(struct nn *nn, const struct feature *y, const struct piece *p,
                           uint32_t n)
{
    return nn_slice(nn->g, y->t,
                    (const struct nn_range[]){ p->o, { n, n + 1 }, p->h, p->w, { 0, NN_ATOM } });
}
