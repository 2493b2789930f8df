/* conv_rotation.c - counts for every rotation of the parts how much data would stay on its tile,
 * and takes the rotation with the least; of equal ones the nearest to none, or to the one whose
 * turn it is. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_rotation.h"

/* Counts positions that stay, for the parts of a plan and their input. */
struct rotations {
    const struct conv_plan *plan;
    const struct activation *x;
    uint32_t pad_top, pad_left;
    uint64_t *stays; /* owned; by rotation, [plan->tiles]: positions that stay on their tile */
};

/* A dimension of the output, and how its windows lie on the input. */
struct rotation_span {
    uint32_t size, parts, reach, stride, pad;
};

/* The parts of a dimension of the output that read [begin, end) of the input. */
static struct nn_range parts_reading(const struct rotation_span *s, uint32_t begin, uint32_t end)
{
    uint32_t k = s->reach - 1, last = (end - 1 + s->pad) / s->stride;
    uint32_t first = begin + s->pad > k ? ceil_div(begin + s->pad - k, s->stride) : 0;

    last = last < s->size ? last : s->size - 1;
    if (first > last)
        return (struct nn_range){ 0, 0 };
    return (struct nn_range){ part_with(s->size, s->parts, first),
                              part_with(s->size, s->parts, last) + 1 };
}

/* Notes that data of a part lies on a tile: counts for the rotation that puts the part there. */
static void note(struct rotations *t, uint64_t part, uint32_t tile, uint32_t positions)
{
    const struct conv_plan *p = t->plan;

    if (tile >= p->first_tile && tile - p->first_tile < p->tiles)
        t->stays[(tile - p->first_tile + p->tiles - part % p->tiles) % p->tiles] += positions;
}

/* The parts of the output that read input block b, and the parts of the input that have it. */
static void channels_with(const struct conv_plan *p, uint32_t b, struct nn_range *o,
                          struct nn_range *i)
{
    const struct conv_shape *s = &p->shape;
    uint32_t in = channel_blocks(s->in_c) / conv_units_of(p), unit = conv_unit_blocks(p), at;

    *o = (struct nn_range){ 0, p->cut_out };
    *i = (struct nn_range){ 0, p->cut_in };
    if (p->method == CONV_FIRST)
        return;
    if (s->groups == 1)
        in = channel_blocks(s->in_c);
    else
        *o = (struct nn_range){ conv_output_part_with(p, b / in * unit),
                                conv_output_part_with(p, b / in * unit + unit - 1) + 1 };
    if (s->groups > 1 && p->method != CONV_GEMM)
        return;
    at = part_with(in, p->cut_in, b % in);
    *i = (struct nn_range){ at, at + 1 };
}

/* Notes that columns [w, end) of row h of block b of picture n lie on a tile. */
static void note_columns(struct rotations *t, uint32_t b, uint32_t n, uint32_t h, uint32_t w,
                         uint32_t end, uint32_t tile)
{
    const struct conv_plan *p = t->plan;
    const struct conv_shape *s = &p->shape;
    struct nn_range rows, columns = { 0, 1 }, o, i;
    uint32_t picture = part_with(s->n, p->cut_n, n);

    channels_with(p, b, &o, &i);
    if (p->method == CONV_GEMM) {
        uint32_t all = s->n * s->out_h * s->out_w;
        uint32_t row = (n * s->out_h + h / s->stride_h) * s->out_w;
        uint32_t first = ceil_div(w, s->stride_w), last = (end - 1) / s->stride_w;

        if (h % s->stride_h || first > last || last >= s->out_w || h / s->stride_h >= s->out_h)
            return;
        rows.begin = part_with(all, p->cut_h, row + first);
        rows.end = part_with(all, p->cut_h, row + last) + 1;
        picture = 0;
    } else {
        struct rotation_span high = { s->out_h, p->cut_h, conv_reach(s->kernel_h, s->dilation_h),
                                      s->stride_h, t->pad_top };
        struct rotation_span wide = { s->out_w, p->cut_w, conv_reach(s->kernel_w, s->dilation_w),
                                      s->stride_w, t->pad_left };

        rows = parts_reading(&high, h, h + 1);
        columns = parts_reading(&wide, w, end);
    }
    for (uint32_t r = rows.begin; r < rows.end; r++) {
        for (uint32_t c = columns.begin; c < columns.end; c++) {
            uint64_t at = (((uint64_t)picture * p->cut_h + r) * p->cut_w + c) * p->cut_out;

            for (uint32_t k = o.begin; k < o.end; k++) {
                for (uint32_t m = i.begin; m < i.end; m++)
                    note(t, (at + k) * p->cut_in + m, tile, end - w);
            }
        }
    }
}

/* Notes elements of x that lie on a tile, row by row. */
static void note_run(struct rotations *t, const struct tile_run *run)
{
    const struct activation *x = t->x;
    uint64_t unit = t->plan->method == CONV_FIRST ? 4 : CHANNEL_BLOCK;
    uint64_t at = run->begin / unit, end = (run->end + unit - 1) / unit, stop;

    for (; at < end; at = stop) {
        uint64_t row = at / x->w, plane = row / x->h;
        uint32_t w = (uint32_t)(at % x->w), columns;

        stop = (row + 1) * x->w < end ? (row + 1) * x->w : end;
        columns = (uint32_t)(stop - at);
        note_columns(t, (uint32_t)(plane / x->n), (uint32_t)(plane % x->n), (uint32_t)(row % x->h),
                     w, w + columns, run->tile);
    }
}

/* ---- sums ---- */

/* Notes that elements of the residual lie on a tile: counts for the rotations of groups that bring
 * their sum there. GEMM only, where blocks and positions are cut into parts. */
static void note_added(const struct arch *a, const struct conv_plan *p, const struct tile_run *run,
                       uint64_t *stays)
{
    const struct conv_shape *s = &p->shape;
    uint32_t positions = s->n * s->out_h * s->out_w, groups = p->cut_h * p->cut_out;
    struct conv_sum_cut cut = { 0 };

    for (uint64_t at = run->begin / CHANNEL_BLOCK;
         at < (run->end + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK; at++) {
        uint32_t b = (uint32_t)(at / positions), f = (uint32_t)(at % positions);
        uint32_t o = conv_output_part_with(p, b), h = part_with(positions, p->cut_h, f);
        struct nn_range out = conv_output_part(p, o), in = nn_part(positions, p->cut_h, h);
        uint64_t part;
        uint32_t i;

        if (cut.blocks != nn_size(out) || cut.positions != nn_size(in))
            cut = conv_sum_cut(a, p, nn_size(out), nn_size(in));
        i = conv_sum_part_with(&cut, (b - out.begin) * nn_size(in) + f - in.begin);
        part = (run->tile - p->first_tile + 2ull * p->tiles - p->rotation - i) % p->tiles;
        if (run->tile < p->first_tile || part % p->cut_in || part / p->cut_in >= groups)
            continue;
        stays[(part / p->cut_in + groups - (h * p->cut_out + o)) % groups]++;
    }
}

/* ---- choice ---- */

/* How far apart two rotations of n are, in the shorter direction. */
static uint32_t distance(uint32_t a, uint32_t b, uint32_t n)
{
    uint32_t d = a < b ? b - a : a - b;

    return d < n - d ? d : n - d;
}

/* The rotation in [first, n) with the least; of equal ones the nearest to `wanted`. */
static uint32_t least_of(const uint64_t *stays, uint32_t first, uint32_t n, uint32_t wanted)
{
    uint32_t best = first;

    for (uint32_t k = first; k < n; k++) {
        if (stays[k] < stays[best] ||
            (stays[k] == stays[best] && distance(k, wanted, n) < distance(best, wanted, n)))
            best = k;
    }
    return best;
}

/* The rotation that is nearest to whose turn it is (ss_graph_take_turns()). */
static uint32_t wanted_rotation(struct nn *nn, const struct conv_plan *p)
{
    uint64_t parts = (uint64_t)p->cut_n * p->cut_h * p->cut_w * p->cut_out * p->cut_in;

    return parts < p->tiles ? ss_graph_first_tile(nn->g, (uint32_t)parts) % p->tiles : 0;
}

static enum emu_status choose_sum_rotation(struct nn *nn, const struct activation *add,
                                           struct conv_plan *p)
{
    uint32_t groups = p->cut_h * p->cut_w * p->cut_n * p->cut_out;
    struct tile_run *run = NULL;
    uint64_t *stays;
    size_t runs = 0;

    p->sum_rotation = 0;
    if (p->cut_in == 1 || groups == 1)
        return EMU_OK;
    p->sum_rotation = 1;
    if (!add || p->method != CONV_GEMM)
        return EMU_OK;
    TRY(ss_graph_tile_runs(nn->g, add->t, &run, &runs));
    stays = emu_alloc(groups, sizeof(*stays));
    for (size_t k = 0; k < runs && stays; k++)
        note_added(ss_graph_arch(nn->g), p, &run[k], stays);
    if (stays)
        p->sum_rotation = least_of(stays, 1, groups, 0);
    ss_free(run);
    ss_free(stays);
    return stays ? EMU_OK : FAIL(NO_MEMORY, "rotations of %u groups", groups);
}

enum emu_status conv_rotation_choose(struct nn *nn, const struct activation *x,
                                     const struct activation *add, uint32_t pad_top,
                                     uint32_t pad_left, struct conv_plan *p)
{
    struct rotations t = { p, x, pad_top, pad_left, emu_alloc(p->tiles, sizeof(*t.stays)) };
    struct tile_run *run = NULL;
    size_t runs = 0;
    enum emu_status s;

    p->rotation = 0;
    if (!t.stays)
        return FAIL(NO_MEMORY, "rotations of %u tiles", p->tiles);
    s = ss_graph_tile_runs(nn->g, x->t, &run, &runs);
    for (size_t k = 0; k < runs && s == EMU_OK; k++)
        note_run(&t, &run[k]);
    if (s == EMU_OK)
        p->rotation = least_of(t.stays, 0, p->tiles, wanted_rotation(nn, p));
    ss_free(run);
    ss_free(t.stays);
    return s == EMU_OK ? choose_sum_rotation(nn, add, p) : s;
}
