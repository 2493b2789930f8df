/* net_bill.c - the layers of a network as rows of its bill. */
#include "models/run/net_bill.h"

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"

double layer_bound(const struct arch *a, const struct layer *l, uint32_t batch)
{
    double values = (double)layer_elements(l) * batch / a->tiles;
    double macs = (double)layer_macs(l) * batch / a->tiles / a->f16_macs_f16;
    double exponential = values * a->slots_f16sigm / 2;

    switch (l->op) {
    case LAYER_CONV:
        return l->groups == l->in_c && l->groups > 1 ? 4 * macs : macs;
    case LAYER_LINEAR:
        return macs;
    case LAYER_SWISH:
        return exponential + values / 4;
    case LAYER_SIGMOID:
    case LAYER_SOFTMAX:
        return exponential;
    case LAYER_NORM:
        return l->norm == NORM_GROUP ? 3 * values / 4 : 0;
    case LAYER_AVGPOOL:
        return (double)l->in_c * l->in_h * l->in_w * batch / a->tiles / 4;
    case LAYER_MAXPOOL:
        return values * l->kernel * l->kernel / 4;
    case LAYER_INPUT:
        return 0;
    default:
        return values / 4;
    }
}

struct layer_text net_bill_text(const struct net *n, uint32_t first, uint32_t last)
{
    struct layer_text t = { n->layer[first].name, n->layer[first].block, "" };
    size_t used = 0;

    for (uint32_t i = first; i <= last && used < sizeof(t.op); i++)
        used += (size_t)snprintf(t.op + used, sizeof(t.op) - used, "%s%s", i > first ? "+" : "",
                                 layer_op_name(n->layer[i].op));
    return t;
}

struct model_facts net_facts(const struct net *n)
{
    enum { F16_BYTES = 2, COLOURS = 3 };
    struct model_facts f = { .name = n->name,
                             .batch = n->batch,
                             .classes = n->classes,
                             .resolution = n->resolution,
                             .parameters = net_params(n),
                             .macs = net_macs(n) };

    snprintf(f.input, sizeof(f.input), "%ux%u", n->resolution, n->resolution);
    f.input_bytes = (uint64_t)n->batch * COLOURS * n->resolution * n->resolution * F16_BYTES;
    f.output_bytes = (uint64_t)n->batch * n->classes * F16_BYTES;
    return f;
}

static uint32_t make_sources(const struct net_graph *ng, const struct arch *a,
                             struct layer_source *out)
{
    const struct net *n = ng->net;
    uint32_t rows = 0;

    for (uint32_t i = 0; i < n->layers; i++) {
        const struct layer_graph *lg = &ng->layer[i];
        struct layer_source *s;

        if (n->layer[i].op == LAYER_INPUT)
            continue;
        if (!rows || lg->into == i || out[rows - 1].layer != lg->into)
            out[rows++] = (struct layer_source){ .layer = i,
                                                 .scope = lg->scope,
                                                 .plan = lg->plan.cut_n ? &lg->plan : NULL };
        s = &out[rows - 1];
        s->last = i;
        s->macs += layer_macs(&n->layer[i]) * n->batch;
        s->bound += (uint64_t)layer_bound(a, &n->layer[i], n->batch);
    }
    for (uint32_t k = 0; k < rows; k++)
        out[k].text = net_bill_text(n, out[k].layer, out[k].last);
    return rows;
}

enum emu_status net_bill_init(const struct net_graph *ng, const struct compiled *c,
                              const struct arch *a, struct layer_cycles *out)
{
    struct layer_source *source = emu_alloc(ng->net->layers + 1, sizeof(*source));
    enum emu_status s;

    *out = (struct layer_cycles){ .row = NULL };
    if (!source)
        return FAIL(NO_MEMORY, "bills of %u layers", ng->net->layers);
    s = layer_cycles_init(source, make_sources(ng, a, source), c, out);
    emu_free(source);
    return s;
}
