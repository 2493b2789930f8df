/* conv_method_window.c - convolutions of any kernel, stride and dilation, dense or in groups of
 * whole blocks of 16 channels: the matrix unit on shifted windows of a tile's part of the field.
 *
 * Tiles are numbered (n, h, w, o, i): picture, rows, columns, blocks of the output, and input
 * blocks, with groups rows of the kernel. Each tile fetches its rows and columns
 * with halo and border. With a stride of s the rows that one tap of the kernel reads are s apart,
 * so rows with an equal remainder modulo s are kept together, in planes, and columns likewise: a
 * window is again a run of neighbours. Rows of a result are as long as rows of a plane;
 * the gap after the width of that part is left out when the result is copied together, or added up
 * with those of other input blocks. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_parts.h"
#include "programs/library/conv/conv_planes.h"

enum { POSITION_BYTES = 2 * CHANNEL_BLOCK };

/* A convolution under construction. */
struct window {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    struct activation x, y;
    struct conv_weights weights;
    uint32_t field_parts, unit; /* unit: blocks of a unit of the output */
    struct tensor products;     /* results of the matrix unit, of all tiles, flat */
    uint32_t made;              /* elements of it that are used so far */
    struct tensor *result;      /* owned; [cut_in][field_parts], each [blocks][n][h][w][16] */
};

static struct window_axis axis_w(const struct window *m)
{
    const struct conv_layer *l = m->layer;

    return (struct window_axis){ l->kernel_w, l->stride_w, l->dilation_w, (int32_t)l->pad_left };
}

/* The rows of the kernel that part i of the input is for. */
static struct window_axis axis_h(const struct window *m, uint32_t i)
{
    const struct conv_layer *l = m->layer;
    struct nn_range rows = conv_rows(&m->weights, i);
    int32_t skipped = (int32_t)(rows.begin * l->dilation_h);

    return (struct window_axis){ nn_size(rows), l->stride_h, l->dilation_h,
                                 (int32_t)l->pad_top - skipped };
}

/* How many columns of input a row of a result with so many columns has. */
static uint32_t row_size(const struct window *m, uint32_t columns)
{
    struct window_axis w = axis_w(m);

    return plane_size(&w, columns);
}

/* Positions of a result, including the gaps between rows. */
static uint32_t result_size(const struct window *m, const struct field_part *p)
{
    return (nn_size(p->h) - 1) * row_size(m, nn_size(p->w)) + nn_size(p->w);
}

/* The input of a tile for part i. */
static struct planes input_planes(const struct window *m, const struct field_part *p, uint32_t i)
{
    const struct windows win = { axis_h(m, i), axis_w(m), m->nn->zeros };

    return planes_of(&win, nn_size(p->h), nn_size(p->w));
}

/* The byte distance from each window to the next, through all input blocks, then to the first
 * window of the next outputs, which read the same blocks or blocks of their own. The caller frees
 * them; NULL, and the error of the graph, when out of memory. */
static uint32_t *new_steps(const struct window *m, const struct planes *l, uint32_t blocks, int own)
{
    const struct window_axis *h = &l->win.h, *w = &l->win.w;
    uint32_t n = blocks * h->kernel * w->kernel, here = 0;
    uint32_t *step = emu_alloc(n, sizeof(*step));

    if (!step) {
        ss_graph_fail(m->nn->g, EMU_NO_MEMORY, "windows");
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = (i + 1) % n, row = next / w->kernel % h->kernel, column = next % w->kernel;
        uint32_t to = next / w->kernel / h->kernel * planes_size(l) + planes_tap(l, row, column);

        if (!next && own)
            to = blocks * planes_size(l);
        step[i] = (to - here) * POSITION_BYTES;
        here = to;
    }
    return step;
}

/* ---- products ---- */

/* Adds one call: some blocks of the output of a part of the field, picture n, from part i of the
 * input. With groups these are blocks of one group, or groups of one block each. */
static void multiply_blocks(const struct window *m, uint32_t cs, const struct field_part *p,
                            uint32_t n, uint32_t i, struct nn_range out_blocks,
                            struct tensor weights, struct tensor out)
{
    struct graph *g = m->nn->g;
    int f32 = m->layer->partials == PARTIALS_F32;
    struct nn_range in = conv_in_blocks(&m->weights, i);
    struct planes l = input_planes(m, p, i);
    uint32_t each = nn_size(in), kb = each * l.win.h.kernel * l.win.w.kernel;
    uint32_t *step = new_steps(m, &l, each, m->layer->groups > 1 && m->unit == 1 && !f32);

    if (m->layer->groups > 1)
        in = (struct nn_range){ out_blocks.begin / m->unit * each,
                                ((out_blocks.end - 1) / m->unit + 1) * each };
    VERTEX_OF(conv_window, f32 ? KERNEL_ROW(conv_window_f16_f32) : KERNEL_ROW(conv_window_f16), g,
              cs, p->tile, .in = planes_input(m->nn, &m->x, &l, p, in, n), .out = out,
              .weights = weights, .kb = kb, .nb = nn_size(out_blocks) * conv_halves(m->layer),
              .f = result_size(m, p), .steps = word_list(step, kb));
    ss_free(step);
}

/* A result [blocks][f][16], or [2 blocks][f][8], without the gaps between its rows:
 * [blocks][1][h][w][16]. */
static struct tensor without_gaps(const struct window *m, const struct field_part *p,
                                  uint32_t blocks, struct tensor t)
{
    struct graph *g = m->nn->g;
    uint32_t h = nn_size(p->h), w = nn_size(p->w), f = result_size(m, p);
    uint32_t n = blocks * conv_halves(m->layer), units = conv_units(m->layer);
    uint32_t wide = row_size(m, w), shape[5] = { n, 1, h - 1, wide, units };
    struct tensor part[2], last;

    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ n, f, units });
    last = ss_tensor_reshape(g, ss_tensor_slice(g, t, 1, f - w, f), 5,
                             (const uint32_t[]){ n, 1, 1, w, units });
    if (h == 1)
        return last;
    part[0] = ss_tensor_reshape(g, ss_tensor_slice(g, t, 1, 0, (h - 1) * wide), 5, shape);
    part[0] = ss_tensor_slice(g, part[0], 3, 0, w);
    part[1] = last;
    return ss_tensor_concat(g, part, 2, 2);
}

/* The elements of products that get the result of a part of a picture; puts them on the tile. */
static struct tensor new_product(struct window *m, const struct field_part *p, uint32_t blocks)
{
    uint32_t n = blocks * result_size(m, p) * CHANNEL_BLOCK;
    struct tensor t = ss_tensor_slice(m->nn->g, m->products, 0, m->made, m->made + n);

    m->made += n;
    ss_graph_map(m->nn->g, t, p->tile);
    return t;
}

static struct field_part field_part_of(const struct window *m, uint32_t i, uint32_t index)
{
    return field_part_at(m->plan, &m->y, index, i);
}

/* Adds all calls of the tile of part `index` of the field and part i of the input. A group with
 * several blocks of outputs takes a call of its own. */
static void multiply_field_part(struct window *m, uint32_t cs, uint32_t i, uint32_t index)
{
    struct graph *g = m->nn->g;
    struct field_part p = field_part_of(m, i, index);
    uint32_t blocks = nn_size(p.o), pictures = nn_size(p.n), stop;
    int whole = m->layer->groups == 1 || m->unit * conv_halves(m->layer) == 1;
    struct tensor weights =
        conv_weights_on(&m->weights, i, index % m->plan->cut_out, p.copy, p.tile);
    uint32_t weights_size = (uint32_t)ss_tensor_elements(g, weights) / blocks;
    uint32_t block_size = result_size(m, &p) * CHANNEL_BLOCK;
    struct tensor *picture = emu_alloc(pictures, sizeof(*picture));

    if (!picture) {
        ss_graph_fail(g, EMU_NO_MEMORY, "pictures of a part");
        return;
    }
    for (uint32_t n = 0; n < pictures; n++) {
        struct tensor out = new_product(m, &p, blocks);

        for (uint32_t b = 0; b < blocks; b = stop) {
            uint32_t end = ((p.o.begin + b) / m->unit + 1) * m->unit - p.o.begin; /* of its group */

            stop = whole || end > blocks ? blocks : end;
            multiply_blocks(m, cs, &p, p.n.begin + n, i,
                            (struct nn_range){ p.o.begin + b, p.o.begin + stop },
                            ss_tensor_slice(g, weights, 0, b * weights_size, stop * weights_size),
                            ss_tensor_slice(g, out, 0, b * block_size, stop * block_size));
        }
        picture[n] = without_gaps(m, &p, blocks, out);
    }
    m->result[(size_t)i * m->field_parts + index] = ss_tensor_concat(g, picture, pictures, 1);
    ss_free(picture);
}

/* How many elements all results have. */
static uint32_t products_size(const struct window *m)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < m->field_parts; k++) {
        struct field_part p = field_part_of(m, 0, k);

        n += nn_size(p.o) * nn_size(p.n) * result_size(m, &p) * CHANNEL_BLOCK;
    }
    return n * m->plan->cut_in;
}

static void multiply(struct window *m)
{
    struct graph *g = m->nn->g;
    uint32_t cs = op_compute_set(g, m->nn->seq, "multiply"), n = products_size(m);

    m->products = ss_graph_variable(g, m->layer->partials == PARTIALS_F32 ? ELEM_F32 : ELEM_F16, 1,
                                    &n, "products");
    for (uint32_t i = 0; i < m->plan->cut_in; i++) {
        for (uint32_t k = 0; k < m->field_parts; k++)
            multiply_field_part(m, cs, i, k);
    }
}

/* ---- results ---- */

/* Piece p of an activation with the shape of y, [blocks][n][h][w][16]. */
static struct tensor part_of(const struct window *m, const struct field_part *p, struct tensor t)
{
    const struct nn_range r[] = { p->o, p->n, p->h, p->w, { 0, CHANNEL_BLOCK } };

    return nn_slice(m->nn->g, t, r);
}

/* [blocks][positions][16], or [2 blocks][positions][8] */
static struct tensor by_positions(struct graph *g, struct tensor t)
{
    const uint32_t *s = ss_tensor_shape(g, t);
    uint32_t shape[3] = { s[0], s[1] * s[2] * s[3], s[4] };

    return ss_tensor_reshape(g, t, 3, shape);
}

/* Finishes whole sums: copies their rows together, then adds bias and activation in place. */
static enum emu_status finish_in_place(const struct window *m)
{
    struct graph *g = m->nn->g;
    struct tensor *to = emu_alloc(m->field_parts, sizeof(*to));
    struct conv_finish finish;

    if (!to)
        return FAIL(NO_MEMORY, "%u parts", m->field_parts);
    for (uint32_t k = 0; k < m->field_parts; k++) {
        struct field_part p = field_part_of(m, 0, k);

        to[k] = part_of(m, &p, m->y.t);
        ss_graph_map(g, to[k], p.tile);
        to[k] = ss_tensor_flatten(g, to[k]);
        m->result[k] = ss_tensor_flatten(g, m->result[k]);
    }
    ss_program_add(g, m->nn->seq,
                   ss_program_copy(g, ss_tensor_concat(g, m->result, m->field_parts, 0),
                                   ss_tensor_concat(g, to, m->field_parts, 0)));
    ss_free(to);
    TRY(conv_finish_begin(m->nn, m->layer, m->field_parts / m->plan->cut_out, &finish));
    for (uint32_t k = 0; k < m->field_parts; k++) {
        struct field_part p = field_part_of(m, 0, k);

        conv_finish_add(&finish, p.copy, p.o, p.tile, ss_tensor_flatten(g, part_of(m, &p, m->y.t)),
                        nn_size(p.n) * nn_size(p.h) * nn_size(p.w));
    }
    return EMU_OK;
}

/* The part of the field whose tiles add up the partial results of part k. */
static uint32_t sum_group(const struct window *m, uint32_t k)
{
    return (k + m->plan->sum_rotation) % m->field_parts;
}

/* Finishes partial sums, sums with a residual, or sums in f32. */
static enum emu_status add_up(const struct window *m)
{
    struct graph *g = m->nn->g;
    uint32_t parts = m->plan->cut_in, copies = m->field_parts / m->plan->cut_out;
    struct tensor *partial = emu_alloc(parts, sizeof(*partial));
    struct conv_finish finish;
    enum emu_status s = partial ? EMU_OK : FAIL(NO_MEMORY, "partial results");

    if (s == EMU_OK)
        s = conv_finish_begin(m->nn, m->layer, parts * copies, &finish);
    for (uint32_t k = 0; s == EMU_OK && k < m->field_parts; k++) {
        struct field_part p = field_part_of(m, 0, k);
        struct conv_sum sum = { .parts = parts,
                                .plan = m->plan,
                                .first_part = sum_group(m, k) * parts,
                                .first_copy = p.copy,
                                .copy_step = copies,
                                .blocks = p.o,
                                .partial = partial,
                                .y = by_positions(g, part_of(m, &p, m->y.t)),
                                .adds = m->layer->add != NULL };

        for (uint32_t i = 0; i < parts; i++)
            partial[i] = by_positions(g, m->result[(size_t)i * m->field_parts + k]);
        if (sum.adds)
            sum.add = by_positions(g, part_of(m, &p, m->layer->add->t));
        conv_add_up(&finish, &sum);
    }
    ss_free(partial);
    return s;
}

void conv_window(struct nn *nn, struct activation x, const struct conv_layer *layer,
                 const struct conv_plan *plan, struct activation y)
{
    struct window m = { .nn = nn, .layer = layer, .plan = plan, .x = x, .y = y };
    enum emu_status s;

    m.field_parts = plan->cut_n * plan->cut_h * plan->cut_w * plan->cut_out;
    m.weights = (struct conv_weights){
        .nn = nn, .layer = layer, .plan = plan, .channels = x.c / layer->groups
    };
    m.unit = conv_unit_blocks(plan);
    m.result = emu_alloc((size_t)plan->cut_in * m.field_parts, sizeof(*m.result));
    if (m.result) {
        conv_weights_new(&m.weights, m.field_parts / plan->cut_out);
        multiply(&m);
        s = plan->cut_in == 1 && !layer->add && layer->partials == PARTIALS_F16
                ? finish_in_place(&m)
                : add_up(&m);
    } else {
        s = FAIL(NO_MEMORY, "%u parts", m.field_parts);
    }
    if (s != EMU_OK)
        ss_graph_fail(nn->g, s, "%s", ss_error());
    ss_free(m.result);
}
