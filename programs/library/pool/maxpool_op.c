/* maxpool_op.c - layers that work position by position, besides convolutions: sums of two
 * activations, and max pools. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_rotation.h"
#include "programs/library/conv/field_partition.h"

/* ---- sums ---- */

static void add_parts(struct nn *nn, const struct tile_parts *parts, struct activation a,
                      struct activation b, const struct codelet *codelet, const char *name)
{
    struct graph *g = nn->g;
    uint32_t cs;

    graph_push(g, name);
    cs = op_compute_set(g, nn->seq, "add");
    for (size_t i = 0; i < parts->count; i++)
        VERTEX_OF(inplace, codelet, g, cs, parts->at[i].tile, .a = tile_part_take(g, parts, i, a.t),
                  .b = tile_part_take(g, parts, i, b.t));
    graph_pop(g);
}

struct activation op_activation_add(struct nn *nn, struct activation a, struct activation b,
                                    enum activation_function act, const char *name)
{
    struct tile_parts parts = { 0 };
    enum emu_status s = graph_status(nn->g);

    if (s == EMU_OK && (a.n != b.n || a.c != b.c || a.h != b.h || a.w != b.w))
        s = FAIL(USAGE, "the sum of %u x %u x %u x %u and %u x %u x %u x %u values", a.n, a.c, a.h,
                 a.w, b.n, b.c, b.h, b.w);
    if (s == EMU_OK && act != ACT_NONE && act != ACT_RELU)
        s = FAIL(USAGE, "a sum with this activation after: expected none, or relu");
    if (s == EMU_OK)
        s = tile_parts_of(nn->g, a.t, &parts);
    if (s == EMU_OK)
        add_parts(nn, &parts, a, b,
                  act == ACT_RELU ? KERNEL_ROW(add_relu_f16) : KERNEL_ROW(add_inplace_f16), name);
    else
        graph_fail(nn->g, s, "%s: %s", name, emu_error());
    tile_parts_free(&parts);
    return a;
}

/* ---- maxima ---- */

enum { LOWEST_VALUES = 64 };

/* A constant with the lowest f16 on every tile: the padding of a max pool. */
static struct tensor new_lowest(struct nn *nn)
{
    uint32_t tiles = graph_compute_tiles(nn->g), *tile = emu_alloc(tiles, sizeof(*tile));
    uint16_t value[LOWEST_VALUES];
    struct tensor t = nn->zeros;

    for (int i = 0; i < LOWEST_VALUES; i++)
        value[i] = NN_HALF_LOWEST;
    for (uint32_t i = 0; tile && i < tiles; i++)
        tile[i] = i;
    if (tile)
        t = nn_constant(nn, value, LOWEST_VALUES, tile, tiles, "lowest");
    else
        graph_fail(nn->g, EMU_NO_MEMORY, "lowest numbers");
    emu_free(tile);
    return t;
}

static void pool_field_part(struct nn *nn, uint32_t cs, const struct activation *x,
                            const struct activation *y, const struct windows *win,
                            const struct field_part *p)
{
    struct graph *g = nn->g;

    for (uint32_t n = p->n.begin; n < p->n.end; n++) {
        uint32_t rows, columns;
        struct tensor in = field_part_input(nn, x, win, p, p->o, n, &rows, &columns);
        struct tensor out = field_part_output(nn, y, p, n);

        graph_map(g, out, p->tile);
        VERTEX(maxpool_f16, g, cs, p->tile, .x = tensor_flatten(g, in), .y = tensor_flatten(g, out),
               .blocks = nn_size(p->o), .ho = nn_size(p->h), .wo = nn_size(p->w), .hp = rows,
               .wp = columns, .k = win->h.kernel, .stride = win->h.stride);
    }
}

static uint32_t pool_size(uint32_t in, uint32_t kernel, uint32_t stride, uint32_t pad)
{
    return in + 2 * pad < kernel || !stride ? 0 : (in + 2 * pad - kernel) / stride + 1;
}

struct activation op_max_pool(struct nn *nn, struct activation x, uint32_t kernel, uint32_t stride,
                              uint32_t pad, const char *name)
{
    struct graph *g = nn->g;
    const struct arch *a = graph_arch(g);
    struct conv_shape s = { .n = x.n, .in_c = x.c, .in_h = x.h, .in_w = x.w, .out_c = x.c };
    struct windows win = { { kernel, stride, 1, (int32_t)pad },
                           { kernel, stride, 1, (int32_t)pad },
                           nn->zeros };
    enum emu_status st = graph_status(g);
    struct activation y = x;
    struct conv_plan p;
    uint32_t cs, parts;

    s.kernel_h = s.kernel_w = kernel;
    s.stride_h = s.stride_w = stride;
    s.dilation_h = s.dilation_w = 1;
    s.groups = x.c;
    s.out_h = pool_size(x.h, kernel, stride, pad);
    s.out_w = pool_size(x.w, kernel, stride, pad);
    if (st == EMU_OK && pad >= kernel)
        st = FAIL(USAGE, "a border of %u around windows of %u", pad, kernel);
    if (st == EMU_OK)
        st = plan_pool(a, &s, 0, graph_compute_tiles(nn->g), nn->memory_bytes, &p);
    if (st == EMU_OK)
        st = conv_rotation_choose(nn, &x, NULL, pad, pad, &p);
    if (st != EMU_OK) {
        graph_fail(g, st, "%s: %s", name, emu_error());
        return x;
    }
    graph_push(g, name);
    parts = p.cut_n * p.cut_h * p.cut_w * p.cut_out;
    y = nn_activation(nn, x.n, x.c, s.out_h, s.out_w, "out");
    if (pad)
        win.border = new_lowest(nn);
    cs = op_compute_set(g, nn->seq, "pool");
    for (uint32_t i = 0; i < parts; i++) {
        struct field_part at = field_part_at(&p, &y, channel_blocks(x.c), i, 0);

        pool_field_part(nn, cs, &x, &y, &win, &at);
    }
    graph_pop(g);
    return y;
}
