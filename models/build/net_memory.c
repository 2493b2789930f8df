/* net_memory.c - what the plans of a network's convolutions are chosen for: their shapes, and what
 * else lies on the tiles while they run. */
#include "models/build/net_memory.h"

#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "models/build/fusion.h"

struct conv_layer net_conv_layer(const struct layer *l)
{
    return (struct conv_layer){ .out_c = l->out_c,
                                .groups = l->groups,
                                .kernel_h = l->kernel,
                                .kernel_w = l->kernel,
                                .stride_h = l->stride,
                                .stride_w = l->stride,
                                .dilation_h = 1,
                                .dilation_w = 1,
                                .pad_top = l->pad.before_h,
                                .pad_bottom = l->pad.after_h,
                                .pad_left = l->pad.before_w,
                                .pad_right = l->pad.after_w };
}

struct conv_shape net_conv_shape(const struct net *n, const uint32_t *users, uint32_t i,
                                 enum conv_depthwise depthwise)
{
    const struct layer *l = &n->layer[i];
    struct fusion f = fusion_of_conv(n, users, i);
    struct activation other = { .n = n->batch };
    float bias = 0;
    const struct activation x = { .n = n->batch, .c = l->in_c, .h = l->in_h, .w = l->in_w };
    struct conv_layer c = net_conv_layer(l);

    c.bias = l->bias || f.norm != LAYER_NONE ? &bias : NULL;
    c.act = f.act;
    c.depthwise = depthwise;
    c.add = f.add == LAYER_NONE ? NULL : &other;
    return conv_layer_shape(&x, &c);
}

/* A network's convolutions. */
struct net_demand {
    const struct net *n;
    const struct net_graph_options *o;
    struct conv_request *conv; /* owned */
    uint32_t *layer;           /* owned; of each request */
    struct conv_demand d;
};

static void collect(struct net_demand *m, const struct arch *a, uint32_t tiles,
                    const uint32_t *users, const uint64_t *live)
{
    uint64_t linear = 0;

    for (uint32_t i = 0, last; i < m->n->layers; i = last + 1) {
        const struct layer *l = &m->n->layer[i];
        uint64_t bytes = conv_plans_on_a_tile(live[i], tiles);

        last = fusion_last(m->n, users, i);
        if (l->op == LAYER_LINEAR)
            linear += 2 * layer_params(l);
        if (l->op == LAYER_CONV) {
            m->layer[m->d.convs] = i;
            m->conv[m->d.convs++] =
                (struct conv_request){ .shape = net_conv_shape(m->n, users, i, m->o->depthwise),
                                       .live = bytes };
        } else if (bytes > m->d.other_live) {
            m->d.other_live = bytes;
        }
    }
    m->d.conv = m->conv;
    m->d.memory_proportion = m->o->memory_proportion;
    m->d.parameter_proportion = m->o->parameter_proportion;
    m->d.fixed_bytes = conv_plans_fixed(a, m->n->layers) + conv_plans_on_a_tile(linear, tiles) +
                       m->o->reserve_bytes;
}

static enum emu_status demand(struct net_demand *m, const struct arch *a, uint32_t tiles)
{
    uint32_t layers = m->n->layers, *users = emu_alloc(layers + 1, sizeof(*users));
    uint64_t *live = emu_alloc(layers + 1, sizeof(*live));
    enum emu_status s;

    m->conv = emu_alloc(layers + 1, sizeof(*m->conv));
    m->layer = emu_alloc(layers + 1, sizeof(*m->layer));
    s = users && live && m->conv && m->layer ? EMU_OK
                                             : FAIL(NO_MEMORY, "plans of %u layers", layers);
    if (s == EMU_OK)
        s = net_live_bytes(m->n, m->o->keep_begin, m->o->keep_end, live);
    if (s == EMU_OK) {
        fusion_count_users(m->n, users);
        collect(m, a, tiles, users, live);
    }
    emu_free(users);
    emu_free(live);
    return s;
}

/* Plans by layer. */
static enum emu_status spread(const struct net_demand *m, struct conv_plans *p)
{
    struct conv_plan *plan = emu_alloc(m->n->layers + 1, sizeof(*plan));

    if (!plan)
        return FAIL(NO_MEMORY, "plans of %u layers", m->n->layers);
    for (uint32_t i = 0; i < p->convs; i++)
        plan[m->layer[i]] = p->plan[i];
    emu_free(p->plan);
    p->plan = plan;
    return EMU_OK;
}

enum emu_status net_plans_choose(const struct arch *a, uint32_t tiles, const struct net *n,
                                 const struct net_graph_options *o, struct conv_plans *out)
{
    struct net_demand m = { .n = n, .o = o };
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    s = demand(&m, a, tiles);
    if (s == EMU_OK)
        s = conv_plans_choose(a, tiles, &m.d, out);
    if (s == EMU_OK)
        s = spread(&m, out);
    if (s != EMU_OK)
        conv_plans_free(out);
    emu_free(m.conv);
    emu_free(m.layer);
    return s;
}
