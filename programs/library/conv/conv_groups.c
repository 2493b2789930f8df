/* conv_groups.c - joins neighbouring groups of channels until they are whole blocks of 16, or until
 * there is one group. An output gets weights of zero for the channels it did not read before;
 * adding these products changes no sum.
 */
#include <string.h>

#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_groups.h"

void conv_join_shape(struct conv_shape *s)
{
    uint32_t in = s->groups ? s->in_c / s->groups : 0, out = s->groups ? s->out_c / s->groups : 0;
    uint32_t join = 1, groups;

    if (!in || !out || s->in_c % s->groups || s->out_c % s->groups)
        return;
    if (s->groups == 1 || (in == 1 && out == 1 && conv_slides(s)))
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
