/* conv_groups.c - joins neighbouring groups of channels until they are whole blocks of 16, or until
 * there is one group. An output gets weights of zero for the channels it did not read before;
 * adding these products changes no sum.
 */
#include <string.h>

#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_groups.h"

uint32_t conv_whole_groups(uint32_t in_c, uint32_t out_c, uint32_t groups)
{
    uint32_t in = groups ? in_c / groups : 0, out = groups ? out_c / groups : 0;

    if (!groups || in_c % groups || out_c % groups || (in == 1 && out == 1))
        return groups; /* no groups, or depthwise: one channel each */
    for (uint32_t join = 1; join < groups; join++) {
        if (groups % join == 0 && join * in % CHANNEL_BLOCK == 0 && join * out % CHANNEL_BLOCK == 0)
            return groups / join;
    }
    return 1;
}

float *conv_join_groups(uint32_t in_c, const struct conv_layer *l, uint32_t joined)
{
    uint32_t in = in_c / l->groups, wide = in_c / joined, out = l->out_c / l->groups;
    uint32_t taps = l->kernel * l->kernel, join = l->groups / joined;
    float *w = emu_alloc((size_t)l->out_c * wide * taps, sizeof(*w));

    for (uint32_t o = 0; w && o < l->out_c; o++) {
        uint32_t first =
            o / out % join * in; /* the first channel that it reads, counted in its new group */

        memcpy(w + ((size_t)o * wide + first) * taps, l->weights + (size_t)o * in * taps,
               (size_t)in * taps * sizeof(*w));
    }
    return w;
}
