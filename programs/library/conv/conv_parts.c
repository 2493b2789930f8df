/* conv_parts.c - weights in blocks, and the adding up of partial results. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_parts.h"
#include "programs/library/conv/conv_tensors.h"

#include <string.h>

enum { BLOCK = CHANNEL_BLOCK * CHANNEL_BLOCK };

struct tensor conv_sums_of(struct graph *g, const struct conv_layer *l, struct tensor sums,
                           struct nn_range blocks, struct nn_range positions)
{
    uint32_t halves = conv_halves(l);
    const struct nn_range part[] = { { blocks.begin * halves, blocks.end * halves },
                                     positions,
                                     { 0, conv_units(l) } };

    return nn_slice(g, sums, part);
}

/* ---- weights ---- */

static uint32_t in_blocks(const struct conv_weights *w)
{
    return channel_blocks(w->channels);
}

/* Whether cut_in cuts rows of the kernel instead of input blocks. */
static int cuts_rows(const struct conv_weights *w)
{
    return w->layer->groups > 1 && w->plan->method == CONV_WINDOW;
}

static uint32_t out_blocks(const struct conv_weights *w)
{
    return channel_blocks(w->plan->shape.out_c);
}

struct nn_range conv_in_blocks(const struct conv_weights *w, uint32_t i)
{
    struct nn_range all = { 0, in_blocks(w) };

    return cuts_rows(w) ? all : nn_part(all.end, w->plan->cut_in, i);
}

struct nn_range conv_rows(const struct conv_weights *w, uint32_t i)
{
    struct nn_range all = { 0, w->layer->kernel_h };

    return cuts_rows(w) ? nn_part(all.end, w->plan->cut_in, i) : all;
}

/* Which weight blocks of an output block are in part i. */
static struct nn_range span_of(const struct conv_weights *w, uint32_t i)
{
    struct nn_range in = conv_in_blocks(w, i), rows = conv_rows(w, i);
    uint32_t each = w->layer->kernel_w * (cuts_rows(w) ? nn_size(in) : w->layer->kernel_h);

    if (cuts_rows(w))
        return (struct nn_range){ rows.begin * each, rows.end * each };
    return (struct nn_range){ in.begin * each, in.end * each };
}

/* How many values part (i, o) has, and how many are before it in a copy; o runs fastest. */
static uint32_t part_size(const struct conv_weights *w, uint32_t i, uint32_t o)
{
    return nn_size(span_of(w, i)) * nn_size(conv_output_part(w->plan, o)) * BLOCK;
}

static uint32_t part_at(const struct conv_weights *w, uint32_t i, uint32_t o)
{
    struct nn_range span = span_of(w, i);

    return (span.begin * out_blocks(w) + nn_size(span) * conv_output_part(w->plan, o).begin) *
           BLOCK;
}

/* Writes 16 weights of one output channel and one tap, from input channel `column` on. */
static void pack_row(const struct conv_weights *w, uint32_t row, uint32_t column, uint32_t tap,
                     uint16_t *out)
{
    uint32_t taps = w->layer->kernel_h * w->layer->kernel_w;
    const float *from = w->layer->weights + ((size_t)row * w->channels + column) * taps + tap;
    uint32_t n = w->channels - column < CHANNEL_BLOCK ? w->channels - column : CHANNEL_BLOCK;

    for (uint32_t k = 0; k < n; k++)
        out[k] = nn_half(from[(size_t)k * taps]);
}

/* Writes part (i, o) in the order of the matrix unit: [out][in][rows][columns][16][16], or, for
 * sums in f32, [2 out][in][rows][columns][8][16]. */
static void pack_part(const struct conv_weights *w, uint32_t i, uint32_t o, uint16_t *out)
{
    struct nn_range ib = conv_in_blocks(w, i), ob = conv_output_part(w->plan, o),
                    r = conv_rows(w, i);
    uint32_t columns = w->layer->kernel_w, units = conv_units(w->layer);
    uint32_t end = ob.end * CHANNEL_BLOCK;

    if (end > w->layer->out_c)
        end = w->layer->out_c;
    for (uint32_t first = ob.begin * CHANNEL_BLOCK; first < ob.end * CHANNEL_BLOCK; first += units)
        for (uint32_t b = ib.begin; b < ib.end; b++)
            for (uint32_t tap = r.begin * columns; tap < r.end * columns; tap++) {
                for (uint32_t row = first; row < first + units && row < end; row++)
                    pack_row(w, row, b * CHANNEL_BLOCK, tap,
                             out + (size_t)(row - first) * CHANNEL_BLOCK);
                out += units * CHANNEL_BLOCK;
            }
}

/* Puts each part of the only copy on one of the tiles that use it. */
static void place_parts(const struct conv_weights *w)
{
    struct graph *g = w->nn->g;
    struct tensor all = ss_tensor_index(g, w->t, 0);

    for (uint32_t i = 0; i < w->plan->cut_in; i++) {
        for (uint32_t o = 0; o < w->plan->cut_out; o++) {
            uint32_t at = part_at(w, i, o), n = part_size(w, i, o);

            ss_graph_map(g, ss_tensor_slice(g, all, 0, at, at + n),
                         nn_holder(w->nn, w->plan, o, i, n * sizeof(uint16_t)));
        }
    }
}

static void constant_weights(struct conv_weights *w, uint32_t users)
{
    uint32_t copies = w->plan->fetched ? 1 : users;
    struct graph *g = w->nn->g;
    uint32_t taps = w->layer->kernel_h * w->layer->kernel_w;
    uint32_t n = in_blocks(w) * out_blocks(w) * taps * BLOCK;
    uint16_t *v = emu_alloc(n, sizeof(*v));

    w->t = w->nn->zeros;
    if (!v) {
        ss_graph_fail(g, EMU_NO_MEMORY, "%u weights", n);
        return;
    }
    for (uint32_t i = 0; i < w->plan->cut_in; i++) {
        for (uint32_t o = 0; o < w->plan->cut_out; o++)
            pack_part(w, i, o, v + part_at(w, i, o));
    }
    w->t =
        ss_graph_constant_repeated(g, ELEM_F16, 2, (const uint32_t[]){ copies, n }, v, "weights");
    ss_free(v);
    if (w->plan->fetched)
        place_parts(w);
}

/* Part (i, o) of weights in the form of ss_conv_weights_home(), as pack_part() has it; flat. */
static struct tensor part_view(const struct conv_weights *w, struct tensor blocks, uint32_t i,
                               uint32_t o)
{
    struct graph *g = w->nn->g;
    struct nn_range ob = conv_output_part(w->plan, o), ib = conv_in_blocks(w, i),
                    r = conv_rows(w, i);
    uint32_t units = conv_units(w->layer), columns = w->layer->kernel_w;
    const uint32_t halves[] = { nn_size(ob),           nn_size(ib), nn_size(r),   columns,
                                CHANNEL_BLOCK / units, units,       CHANNEL_BLOCK };

    blocks = ss_tensor_slice(g, blocks, 0, ob.begin, ob.end);
    blocks = ss_tensor_slice(g, blocks, 1, ib.begin, ib.end);
    blocks = ss_tensor_slice(g, blocks, 2, r.begin, r.end);
    if (units < CHANNEL_BLOCK)
        blocks = ss_tensor_transpose(g, ss_tensor_reshape(g, blocks, 7, halves),
                                     (const unsigned[]){ 0, 4, 1, 2, 3, 5, 6 });
    return ss_tensor_flatten(g, blocks);
}

static void take_tensor(struct conv_weights *w)
{
    struct graph *g = w->nn->g;
    uint32_t parts = w->plan->cut_in * w->plan->cut_out;
    struct tensor blocks = conv_weight_blocks(w->nn, w->layer, w->plan->method, w->channels);
    struct tensor *part = emu_alloc(parts, sizeof(*part));

    if (!part)
        ss_graph_fail(g, EMU_NO_MEMORY, "%u parts", parts);
    for (uint32_t k = 0; k < parts && ss_graph_status(g) == EMU_OK; k++)
        part[k] = part_view(w, blocks, k / w->plan->cut_out, k % w->plan->cut_out);
    if (ss_graph_status(g) == EMU_OK)
        w->t = conv_fetched(w->nn, w->plan, part);
    ss_free(part);
}

void conv_weights_new(struct conv_weights *w, uint32_t users)
{
    if (w->layer->w) {
        take_tensor(w);
        return;
    }
    constant_weights(w, users);
}

struct tensor conv_weights_on(const struct conv_weights *w, uint32_t i, uint32_t o, uint32_t copy,
                              uint32_t tile)
{
    struct graph *g = w->nn->g;
    uint32_t at = part_at(w, i, o);
    struct tensor t = w->layer->w ? w->t : ss_tensor_index(g, w->t, w->plan->fetched ? 0 : copy);

    t = ss_tensor_slice(g, t, 0, at, at + part_size(w, i, o));
    if (!w->plan->fetched)
        ss_graph_map(g, t, tile);
    return t;
}

/* ---- partial results ---- */

/* What is added up for positions `at` of block b: all partial results and the residual. */
static struct tensor terms_of(struct graph *g, const struct conv_layer *layer,
                              const struct conv_sum *s, uint32_t b, struct nn_range at)
{
    const struct nn_range block = { b, b + 1 };
    uint32_t terms = s->parts + (s->adds != 0);
    struct tensor *term = emu_alloc(terms, sizeof(*term)), all = s->y;

    if (!term) {
        ss_graph_fail(g, EMU_NO_MEMORY, "partial results");
        return all;
    }
    for (uint32_t i = 0; i < terms; i++)
        term[i] = ss_tensor_flatten(
            g, conv_sums_of(g, layer, i < s->parts ? s->partial[i] : s->add, block, at));
    all = ss_tensor_concat(g, term, terms, 0);
    ss_free(term);
    return all;
}

/* Adds up positions `at` of block b on a tile. */
static void add_block(struct conv_finish *f, const struct conv_sum *s,
                      const struct codelet *codelet, uint32_t i, uint32_t b, struct nn_range at)
{
    struct graph *g = f->nn->g;
    uint32_t tile = conv_plan_tile(s->plan, s->first_part + i);
    struct tensor y =
        nn_slice(g, s->y, (const struct nn_range[]){ { b, b + 1 }, at, { 0, CHANNEL_BLOCK } });
    struct nn_range block = { s->blocks.begin + b, s->blocks.begin + b + 1 };

    ss_graph_map(g, y, tile);
    VERTEX_OF(reduce_bias, codelet, g, f->cs, tile, .partials = terms_of(g, f->layer, s, b, at),
              .bias = conv_finish_bias(f, s->first_copy + i * s->copy_step, block),
              .out = ss_tensor_flatten(g, y), .p = s->parts + (s->adds != 0));
}

void conv_add_up(struct conv_finish *f, const struct conv_sum *s)
{
    uint32_t wide = ss_tensor_shape(f->nn->g, s->y)[1];
    struct conv_sum_cut cut =
        conv_sum_cut(ss_graph_arch(f->nn->g), s->plan, nn_size(s->blocks), wide);
    int f32 = f->layer->partials == PARTIALS_F32;
    const struct codelet *codelet = nn_codelet(f->nn->g, &conv_sum_kernels[f32], f->layer->act);

    conv_finish_start(f, "add");
    for (uint32_t i = 0; i < s->parts; i++) {
        struct nn_range rows = { conv_sum_part_begin(&cut, i), conv_sum_part_begin(&cut, i + 1) };

        (void)conv_finish_map(f, s->first_copy + i * s->copy_step, s->blocks,
                              conv_plan_tile(s->plan, s->first_part + i));
        for (uint32_t at = rows.begin, stop; at < rows.end; at = stop) {
            uint32_t b = at / wide;

            stop = (b + 1) * wide < rows.end ? (b + 1) * wide : rows.end;
            add_block(f, s, codelet, i, b, (struct nn_range){ at % wide, at % wide + stop - at });
        }
    }
}
