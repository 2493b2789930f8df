/* net_print.c - the layers as a table for people. */
#include <inttypes.h>

#include "models/net/net.h"

/* "3x3/2 g48": kernel, stride, groups; "" for layers without a window. */
static void window_text(const struct layer *l, char out[48])
{
    int n;

    out[0] = 0;
    if (l->op != LAYER_CONV && l->op != LAYER_MAXPOOL)
        return;
    n = snprintf(out, 48, "%ux%u/%u", l->kernel, l->kernel, l->stride);
    if (l->groups > 1)
        snprintf(out + n, 48 - (size_t)n, " g%u", l->groups);
}

static void shape_text(uint32_t c, uint32_t h, uint32_t w, char out[48])
{
    snprintf(out, 48, "%ux%ux%u", c, h, w);
}

void net_print(const struct net *n, FILE *f)
{
    fprintf(f, "%-24s %-8s %-15s %-15s %-12s %-9s %13s %11s\n", "layer", "op", "in", "out",
            "window", "padding", "multiply-adds", "parameters");
    for (uint32_t i = 0; i < n->layers; i++) {
        const struct layer *l = &n->layer[i];
        char in[48], out[48], window[48], pad[48] = "";

        shape_text(l->in_c, l->in_h, l->in_w, in);
        shape_text(l->out_c, l->out_h, l->out_w, out);
        window_text(l, window);
        if (window[0] && l->kernel > 1)
            snprintf(pad, sizeof(pad), "%u,%u %u,%u", l->pad.before_h, l->pad.after_h,
                     l->pad.before_w, l->pad.after_w);
        fprintf(f, "%-24s %-8s %-15s %-15s %-12s %-9s %13" PRIu64 " %11" PRIu64 "\n", l->name,
                layer_op_name(l->op), in, out, window, pad, layer_macs(l), layer_params(l));
    }
    fprintf(f,
            "%s: %u layers, %" PRIu64 " parameters, %.1f M multiply-adds for one picture of "
            "%ux%u, %u classes\n",
            n->name, n->layers, net_params(n), (double)net_macs(n) / 1e6, n->resolution,
            n->resolution, n->classes);
}
