/* conv_planes.c - views of an input in planes. */
#include "programs/library/conv/conv.h"
#include "programs/library/conv/conv_planes.h"

/* The planes of an axis: taps k and k + n read the same plane, where n = period() of the axis. */
static uint32_t period(const struct window_axis *a)
{
    uint32_t divisor = a->dilation, rest = a->stride;

    while (rest) {
        uint32_t next = divisor % rest;

        divisor = rest;
        rest = next;
    }
    return a->stride / divisor;
}

static uint32_t planes_along(const struct window_axis *a)
{
    return a->kernel < period(a) ? a->kernel : period(a);
}

uint32_t plane_size(const struct window_axis *a, uint32_t outputs)
{
    return outputs + (a->kernel - 1) * a->dilation / a->stride;
}

struct planes planes_of(const struct windows *win, uint32_t rows, uint32_t columns)
{
    return (struct planes){ .win = *win,
                            .plane_rows = planes_along(&win->h),
                            .plane_columns = planes_along(&win->w),
                            .rows = plane_size(&win->h, rows),
                            .columns = plane_size(&win->w, columns) };
}

uint32_t planes_size(const struct planes *l)
{
    return l->plane_rows * l->plane_columns * l->rows * l->columns;
}

uint32_t planes_tap(const struct planes *l, uint32_t row, uint32_t column)
{
    const struct window_axis *h = &l->win.h, *w = &l->win.w;
    uint32_t plane = row % period(h) * l->plane_columns + column % period(w);

    return (plane * l->rows + row * h->dilation / h->stride) * l->columns +
           column * w->dilation / w->stride;
}

/* One plane: every stride-th row from that of tap (row, column) on, and columns likewise. */
static struct tensor plane_of(struct nn *nn, const struct planes *l, uint32_t from, struct tensor t,
                              uint32_t row, uint32_t column)
{
    struct graph *g = nn->g;
    struct tensor border = ss_tensor_index(g, l->win.border, from);

    row = row * l->win.h.dilation % l->win.h.stride;
    column = column * l->win.w.dilation % l->win.w.stride;
    t = ss_tensor_slice(g, t, 2, row, ss_tensor_shape(g, t)[2]);
    t = ss_tensor_slice(g, t, 3, column, ss_tensor_shape(g, t)[3]);
    t = conv_every(g, t, l->win.h.stride, l->win.w.stride);
    t = field_part_add_border(nn, border, t, 3, 0, l->columns - ss_tensor_shape(g, t)[3]);
    return field_part_add_border(nn, border, t, 2, 0, l->rows - ss_tensor_shape(g, t)[2]);
}

struct tensor planes_input(struct nn *nn, const struct activation *x, const struct planes *l,
                           const struct field_part *p, struct nn_range blocks, uint32_t n)
{
    struct graph *g = nn->g;
    uint32_t rows, columns, planes = l->plane_rows * l->plane_columns;
    struct tensor t = field_part_input(nn, x, &l->win, p, blocks, n, &rows, &columns);
    struct tensor *part = emu_alloc(planes, sizeof(*part));

    if (!part) {
        ss_graph_fail(g, EMU_NO_MEMORY, "planes of an input");
        return t;
    }
    for (uint32_t k = 0; k < planes && ss_graph_status(g) == EMU_OK; k++)
        part[k] = plane_of(nn, l, p->border, t, k / l->plane_columns, k % l->plane_columns);
    if (ss_graph_status(g) == EMU_OK)
        t = ss_tensor_concat(g, part, planes, 1);
    ss_free(part);
    return ss_tensor_flatten(g, t);
}
