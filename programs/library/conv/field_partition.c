/* field_partition.c - cuts of a field, and inputs with halo and border. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/field_partition.h"

#include <string.h>

struct field_part field_part_at(const struct conv_plan *plan, const struct activation *y,
                                uint32_t index, uint32_t i)
{
    uint64_t k = (uint64_t)index * plan->cut_in + i;
    uint32_t o = index % plan->cut_out, rest = index / plan->cut_out;
    uint32_t w = rest % plan->cut_w, h = rest / plan->cut_w % plan->cut_h;

    return (struct field_part){ .tile = conv_plan_tile(plan, k),
                                .copy = rest,
                                .border = conv_plan_tile(plan, k + plan->tiles / 2),
                                .n = nn_part(y->n, plan->cut_n, rest / plan->cut_w / plan->cut_h),
                                .h = nn_part(y->h, plan->cut_h, h),
                                .w = nn_part(y->w, plan->cut_w, w),
                                .o = conv_output_part(plan, o) };
}

/* The input positions that a part needs in a dimension: [begin, end) of the field, and how many
 * border elements before and after that. */
struct reach {
    struct nn_range in;
    uint32_t before, after;
};

static uint32_t limit(int64_t v, uint32_t size)
{
    return v < 0 ? 0 : v > (int64_t)size ? size : (uint32_t)v;
}

static struct reach reach_of(const struct window_axis *a, struct nn_range out, uint32_t size)
{
    int64_t begin = (int64_t)out.begin * a->stride - a->pad;
    int64_t end = (int64_t)(out.end - 1) * a->stride + conv_reach(a->kernel, a->dilation) - a->pad;
    struct reach r = { .in = { limit(begin, size), limit(end, size) } };

    r.before = begin < 0 ? (uint32_t)((end < 0 ? end : 0) - begin) : 0;
    r.after = end > (int64_t)size ? (uint32_t)(end - (begin > (int64_t)size ? begin : size)) : 0;
    return r;
}

static uint32_t reach_size(const struct reach *r)
{
    return nn_size(r->in) + r->before + r->after;
}

struct tensor field_part_add_border(struct nn *nn, struct tensor border, struct tensor t,
                                    unsigned dim, uint32_t before, uint32_t after)
{
    unsigned rank = ss_tensor_rank(nn->g, t), parts = 0;
    uint32_t shape[TENSOR_MAX_RANK];
    struct tensor part[3];

    memcpy(shape, ss_tensor_shape(nn->g, t), rank * sizeof(*shape));
    shape[dim] = before;
    if (before)
        part[parts++] = nn_repeat(nn, border, rank, shape);
    part[parts++] = t;
    shape[dim] = after;
    if (after)
        part[parts++] = nn_repeat(nn, border, rank, shape);
    return parts > 1 ? ss_tensor_concat(nn->g, part, parts, dim) : t;
}

/* The elements of r in a dimension of t; only border, if r lies outside t. */
static struct tensor reach_take(struct nn *nn, struct tensor border, struct tensor t, unsigned dim,
                                const struct reach *r)
{
    unsigned rank = ss_tensor_rank(nn->g, t);
    uint32_t shape[TENSOR_MAX_RANK];

    if (nn_size(r->in))
        return field_part_add_border(nn, border,
                                     ss_tensor_slice(nn->g, t, dim, r->in.begin, r->in.end), dim,
                                     r->before, r->after);
    memcpy(shape, ss_tensor_shape(nn->g, t), rank * sizeof(*shape));
    shape[dim] = reach_size(r);
    return nn_repeat(nn, border, rank, shape);
}

struct tensor field_part_input(struct nn *nn, const struct activation *x, const struct windows *win,
                               const struct field_part *p, struct nn_range blocks, uint32_t n,
                               uint32_t *rows, uint32_t *columns)
{
    struct graph *g = nn->g;
    struct reach h = reach_of(&win->h, p->h, x->h);
    struct reach w = reach_of(&win->w, p->w, x->w);
    unsigned picture = ss_tensor_rank(g, x->t) == 4 ? 0 : 1; /* pictures have no blocks */
    struct tensor border = ss_tensor_index(g, win->border, p->border), t = x->t;

    if (picture)
        t = ss_tensor_slice(g, t, 0, blocks.begin, blocks.end);
    t = ss_tensor_slice(g, t, picture, n, n + 1);
    t = reach_take(nn, border, t, picture + 2, &w);
    t = reach_take(nn, border, t, picture + 1, &h);
    *rows = reach_size(&h);
    *columns = reach_size(&w);
    return t;
}

struct tensor field_part_output(struct nn *nn, const struct activation *y,
                                const struct field_part *p, uint32_t n)
{
    return nn_slice(
        nn->g, y->t,
        (const struct nn_range[]){ p->o, { n, n + 1 }, p->h, p->w, { 0, CHANNEL_BLOCK } });
}
