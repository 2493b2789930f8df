/* conv_field.c - convolutions in which a tile computes a part of the field. Each tile fetches its
 * rows and columns with the halo, and zeros where the field ends.
 *
 * Tiles are numbered (n, h, w, o): picture, rows, columns, blocks of output channels. */
#include <string.h>

#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_field.h"
#include "programs/library/conv/conv_parts.h"

/* The parameters of a part; puts them on its tile. */
static struct tensor weights_of(const struct conv_field *d, const struct field_part *p)
{
    struct graph *g = d->nn->g;
    struct tensor t;

    if (d->layer->w)
        return ss_tensor_slice(g, d->weights, 0, p->o.begin * d->values, p->o.end * d->values);
    t = ss_tensor_index(g, d->weights, d->plan->fetched ? 0 : p->copy);
    t = ss_tensor_slice(g, t, 0, p->o.begin, p->o.end);
    if (!d->plan->fetched)
        ss_graph_map(g, t, p->tile);
    return ss_tensor_flatten(g, t);
}

/* Where picture n of a part is computed: in its part of y, or as sums in f32. */
static struct tensor result_of(const struct conv_field *d, const struct field_part *p, uint32_t n)
{
    uint32_t halves = conv_halves(d->layer), units = conv_units(d->layer);
    uint32_t shape[3] = { nn_size(p->o) * halves, nn_size(p->h) * nn_size(p->w), units };
    struct tensor y = d->has_sums ? ss_graph_variable(d->nn->g, ELEM_F32, 3, shape, "sums")
                                  : field_part_output(d->nn, &d->y, p, n);

    ss_graph_map(d->nn->g, y, p->tile);
    return y;
}

/* Adds the calls for all pictures of a part; result: one tensor for each. */
static void add_field_part(const struct conv_field *d, uint32_t cs, const struct field_part *p,
                           struct tensor *result)
{
    struct graph *g = d->nn->g;
    const struct conv_layer *l = d->layer;
    struct windows win = { .h = { l->kernel_h, l->stride_h, 1, (int32_t)l->pad_top },
                           .w = { l->kernel_w, l->stride_w, 1, (int32_t)l->pad_left },
                           .border = d->nn->zeros };
    struct field_call c = { .cs = cs, .weights = weights_of(d, p) };

    for (uint32_t n = p->n.begin; n < p->n.end; n++) {
        struct tensor x = field_part_input(d->nn, &d->x, &win, p, p->o, n, &c.hp, &c.wp);
        struct tensor y = result_of(d, p, n);

        result[n - p->n.begin] = y;
        c.x = ss_tensor_flatten(g, x);
        c.y = ss_tensor_flatten(g, y);
        d->add(d, &c, p);
    }
}

static void finish_in_place(const struct conv_field *d, struct conv_finish *finish,
                            const struct field_part *p)
{
    const struct nn_range part[] = { p->o, p->n, p->h, p->w, { 0, CHANNEL_BLOCK } };

    conv_finish_add(finish, p->copy, p->o, p->tile,
                    ss_tensor_flatten(d->nn->g, nn_slice(d->nn->g, d->y.t, part)),
                    nn_size(p->n) * nn_size(p->h) * nn_size(p->w));
}

/* Turns the f32 sums of part `index` into its part of y. */
static void finish_sums(const struct conv_field *d, struct conv_finish *finish,
                        const struct field_part *p, uint32_t index, const struct tensor *picture)
{
    struct graph *g = d->nn->g;
    const struct nn_range part[] = { p->o, p->n, p->h, p->w, { 0, CHANNEL_BLOCK } };
    uint32_t positions = nn_size(p->n) * nn_size(p->h) * nn_size(p->w);
    uint32_t shape[3] = { nn_size(p->o), positions, CHANNEL_BLOCK };
    struct tensor sums = ss_tensor_concat(g, picture, nn_size(p->n), 1);
    struct conv_sum s = { .plan = d->plan,
                          .parts = 1,
                          .first_part = index,
                          .first_copy = p->copy,
                          .blocks = p->o,
                          .partial = &sums,
                          .y = ss_tensor_reshape(g, nn_slice(g, d->y.t, part), 3, shape) };

    conv_add_up(finish, &s);
}

void conv_field_run(const struct conv_field *d)
{
    const struct conv_plan *p = d->plan;
    uint32_t parts = p->cut_n * p->cut_h * p->cut_w * p->cut_out;
    uint32_t cs = op_compute_set(d->nn->g, d->nn->seq, "convolve");
    struct tensor *result = emu_alloc((size_t)parts * d->y.n, sizeof(*result));
    struct conv_finish finish;

    if (!result) {
        ss_graph_fail(d->nn->g, EMU_NO_MEMORY, "%u parts", parts);
        return;
    }
    for (uint32_t i = 0; i < parts; i++) {
        struct field_part at = field_part_at(p, &d->y, i, 0);

        add_field_part(d, cs, &at, result + (size_t)i * d->y.n);
    }
    if (conv_finish_begin(d->nn, d->layer, parts / p->cut_out, &finish) == EMU_OK) {
        for (uint32_t i = 0; i < parts; i++) {
            struct field_part at = field_part_at(p, &d->y, i, 0);

            if (d->has_sums)
                finish_sums(d, &finish, &at, i, result + (size_t)i * d->y.n);
            else
                finish_in_place(d, &finish, &at);
        }
    }
    ss_free(result);
}

/* Puts each part of the only copy on one of the tiles that use it. */
static void place_parts(const struct conv_field *d, struct tensor t)
{
    const struct conv_plan *p = d->plan;
    struct graph *g = d->nn->g;

    for (uint32_t o = 0; o < p->cut_out; o++) {
        struct nn_range part = conv_output_part(p, o);
        uint64_t bytes = (uint64_t)nn_size(part) * d->values * sizeof(uint16_t);

        ss_graph_map(g, ss_tensor_slice(g, ss_tensor_index(g, t, 0), 0, part.begin, part.end),
                     nn_holder(d->nn, p, o, 0, bytes));
    }
}

struct tensor conv_field_constant(const struct conv_field *d, uint16_t *packed)
{
    const struct conv_plan *p = d->plan;
    uint32_t copies = p->fetched ? 1 : p->cut_n * p->cut_h * p->cut_w;
    uint32_t shape[3] = { copies, d->blocks, d->values };
    struct tensor t = d->x.t;

    if (packed) {
        t = ss_graph_constant_repeated(d->nn->g, ELEM_F16, 3, shape, packed, "weights");
        if (p->fetched)
            place_parts(d, t);
    } else {
        ss_graph_fail(d->nn->g, EMU_NO_MEMORY, "weights");
    }
    ss_free(packed);
    return t;
}

void conv_gather_block(const struct conv_layer *l, uint32_t first, uint32_t n, uint16_t *out)
{
    memset(out, 0, (size_t)CHANNEL_BLOCK * n * sizeof(*out));
    for (uint32_t c = 0; c < CHANNEL_BLOCK && first + c < l->out_c; c++) {
        for (uint32_t k = 0; k < n; k++)
            out[c * n + k] = nn_half(l->weights[(size_t)(first + c) * n + k]);
    }
}
