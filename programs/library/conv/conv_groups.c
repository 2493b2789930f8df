/* conv_groups.c - joins neighbouring groups of channels until they are whole blocks of 16, or until
 * there is one group. An output gets weights of zero for the channels it did not read before;
 * adding these products changes no sum.
 */
#include <string.h>

#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_groups.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/conv/field_partition.h"

void conv_join_shape(struct conv_shape *s)
{
    uint32_t in = s->groups ? s->in_c / s->groups : 0, out = s->groups ? s->out_c / s->groups : 0;
    uint32_t join = 1, groups;

    if (!in || !out || s->in_c % s->groups || s->out_c % s->groups)
        return;
    if (s->groups == 1 || (in == 1 && out == 1 && ss_conv_slides(s)))
        return;
    while (join * in % CHANNEL_BLOCK || join * out % CHANNEL_BLOCK)
        join++;
    groups = ceil_div(s->groups, join);
    if (groups == 1 || groups * join * in > channel_blocks(s->in_c) * CHANNEL_BLOCK ||
        groups * join * out > channel_blocks(s->out_c) * CHANNEL_BLOCK) {
        s->groups = 1;
        return;
    }
    s->groups = groups;
    s->in_c = groups * join * in;
    s->out_c = groups * join * out;
}

float *conv_join_weights(uint32_t in_c, const struct conv_layer *l, const struct conv_shape *joined)
{
    uint32_t in = in_c / l->groups, wide = joined->in_c / joined->groups;
    uint32_t out = l->out_c / l->groups, high = joined->out_c / joined->groups;
    uint32_t taps = l->kernel_h * l->kernel_w;
    float *w = emu_alloc((size_t)joined->out_c * wide * taps, sizeof(*w));

    for (uint32_t o = 0; w && o < l->out_c; o++) {
        /* The first channel that it reads, counted in its new group. */
        uint32_t first = o / out * in - o / high * wide;

        memcpy(w + ((size_t)o * wide + first) * taps, l->weights + (size_t)o * in * taps,
               (size_t)in * taps * sizeof(*w));
    }
    return w;
}

struct tensor conv_join_tensor(struct nn *nn, uint32_t in_c, const struct conv_layer *l,
                               const struct conv_shape *joined)
{
    uint32_t in = in_c / l->groups, wide = joined->in_c / joined->groups;
    uint32_t out = l->out_c / l->groups, high = joined->out_c / joined->groups;
    struct tensor t = conv_f16(nn, *l->w, "weights");
    struct tensor *row = emu_alloc(l->groups, sizeof(*row));

    if (!row)
        ss_graph_fail(nn->g, EMU_NO_MEMORY, "weights of %u groups", l->groups);
    for (uint32_t k = 0; k < l->groups && ss_graph_status(nn->g) == EMU_OK; k++) {
        uint32_t first = k * in - k * out / high * wide;

        row[k] = field_part_add_border(nn, conv_some_zeros(nn),
                                       ss_tensor_slice(nn->g, t, 0, k * out, (k + 1) * out), 1,
                                       first, wide - first - in);
    }
    if (ss_graph_status(nn->g) == EMU_OK)
        t = conv_pad(nn, ss_tensor_concat(nn->g, row, l->groups, 0), 0, joined->out_c);
    ss_free(row);
    return t;
}
