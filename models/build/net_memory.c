/* net_memory.c - divides the memory of a tile between parameters, which stay, and what each layer
 * needs while it runs.
 *
 * At any moment a tile holds code, the parameters that stay (R bytes), activations that are needed
 * later, and the temporaries of the layer that runs: its copy of the input, its result, partial
 * sums, fetched parameters. So a larger R leaves less for each layer. For several R every
 * convolution starts with its fastest plan that leaves room for the rest; then, as long as
 * parameters take more than R, the plan is replaced, of all convolutions, that costs least cycles
 * per byte.
 */
#include "models/build/net_memory.h"

#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "models/build/fusion.h"

enum {
    R_STEPS = 32, /* of a tile: sizes of R that are tried */
    /* What code, vertex state and work lists take on the fullest tile: codelets and the program;
     * each layer. Measured on B4 and B4-G16 at batch 1 to 12: 0.2 to 0.3 KiB a layer. */
    FIXED_BYTES = 32 * 1024,
    LAYER_BYTES = 256,
    /* Uneven shares of activations and of parameters that are cut into few parts, and gaps: so much
     * of what is evenly spread comes on top on the fullest tile. */
    UNEVEN = 8,
    SPARE = 32 /* and so much of the memory is left, because all this is an estimate */
};

/* The plans of convolutions of one shape. */
struct shape_choice {
    struct conv_shape shape;
    struct conv_choice choice; /* owned */
};

/* A convolution. */
struct conv {
    uint32_t layer, shape; /* in shapes */
    uint64_t live;         /* bytes live on the fullest tile while it runs, besides its own */
    uint64_t cap;          /* on its temporaries */
    size_t at;             /* the plan: in the choice of the shape */
    size_t next;           /* the cheapest plan with fewer bytes of parameters; SIZE_MAX: none */
};

struct chooser {
    const struct arch *a;
    const struct net *n;
    const struct net_graph_options *o;
    uint32_t tiles;
    struct shape_choice *shape; /* owned */
    struct conv *conv;          /* owned */
    uint32_t shapes, convs;
    uint64_t fixed;      /* bytes of a tile that are not for the choice */
    uint64_t other_live; /* most activations while another layer runs */
};

static void chooser_free(struct chooser *c)
{
    for (uint32_t i = 0; i < c->shapes; i++)
        conv_choice_free(&c->shape[i].choice);
    emu_free(c->shape);
    emu_free(c->conv);
}

/* ---- what there is to choose from ---- */

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

static enum emu_status find_shape(struct chooser *c, const struct conv_shape *s, uint32_t *index)
{
    for (*index = 0; *index < c->shapes; ++*index) {
        if (!memcmp(&c->shape[*index].shape, s, sizeof(*s)))
            return EMU_OK;
    }
    c->shape[c->shapes].shape = *s;
    return plan_conv_choice(c->a, s, 0, c->tiles, &c->shape[c->shapes++].choice);
}

static uint64_t on_a_tile(const struct chooser *c, uint64_t bytes)
{
    uint64_t even = bytes / c->tiles + 1;

    return even + even / UNEVEN;
}

static enum emu_status collect(struct chooser *c, const uint32_t *users, const uint64_t *live)
{
    uint64_t linear = 0;

    for (uint32_t i = 0, last; i < c->n->layers; i = last + 1) {
        const struct layer *l = &c->n->layer[i];
        uint64_t bytes = on_a_tile(c, live[i]);

        last = fusion_last(c->n, users, i);
        if (l->op == LAYER_LINEAR)
            linear += 2 * layer_params(l);
        if (l->op == LAYER_CONV) {
            struct conv_shape s = net_conv_shape(c->n, users, i, c->o->depthwise);
            struct conv *conv = &c->conv[c->convs++];

            *conv = (struct conv){ .layer = i, .live = bytes };
            TRY(find_shape(c, &s, &conv->shape));
        } else if (bytes > c->other_live) {
            c->other_live = bytes;
        }
    }
    c->fixed = FIXED_BYTES + (uint64_t)c->n->layers * LAYER_BYTES + on_a_tile(c, linear) +
               c->a->mem_bytes / SPARE + c->o->reserve_bytes;
    return EMU_OK;
}

static enum emu_status chooser_init(struct chooser *c)
{
    uint32_t layers = c->n->layers, *users = emu_alloc(layers + 1, sizeof(*users));
    uint64_t *live = emu_alloc(layers + 1, sizeof(*live));
    enum emu_status s;

    c->shape = emu_alloc(layers + 1, sizeof(*c->shape));
    c->conv = emu_alloc(layers + 1, sizeof(*c->conv));
    s = users && live && c->shape && c->conv ? EMU_OK
                                             : FAIL(NO_MEMORY, "plans of %u layers", layers);
    if (s == EMU_OK)
        s = net_live_bytes(c->n, c->o->keep_begin, c->o->keep_end, live);
    if (s == EMU_OK) {
        fusion_count_users(c->n, users);
        s = collect(c, users, live);
    }
    emu_free(users);
    emu_free(live);
    return s;
}

/* ---- one choice ---- */

static const struct conv_choice *choice_of(const struct chooser *c, const struct conv *conv)
{
    return &c->shape[conv->shape].choice;
}

static const struct conv_plan *plan_of(const struct chooser *c, const struct conv *conv)
{
    return &choice_of(c, conv)->plan[conv->at];
}

/* Whether the step from p to q costs fewer cycles per byte than that to r. */
static int is_cheaper(const struct conv_plan *p, const struct conv_plan *q,
                      const struct conv_plan *r)
{
    return (q->cost.total - p->cost.total) * (p->resident_bytes - r->resident_bytes) <
           (r->cost.total - p->cost.total) * (p->resident_bytes - q->resident_bytes);
}

/* Plans after the present one are slower. */
static void find_next(const struct chooser *c, struct conv *conv)
{
    const struct conv_choice *all = choice_of(c, conv);
    const struct conv_plan *p = &all->plan[conv->at];

    conv->next = SIZE_MAX;
    for (size_t i = conv->at + 1; i < all->count; i++) {
        const struct conv_plan *q = &all->plan[i];

        if (q->cost.tile_bytes <= conv->cap && q->resident_bytes < p->resident_bytes &&
            (conv->next == SIZE_MAX || is_cheaper(p, q, &all->plan[conv->next])))
            conv->next = i;
    }
}

/* The fastest plan within the cap, else the one that needs least; whether it is within. */
static int choose_fastest(const struct chooser *c, struct conv *conv)
{
    const struct conv_choice *all = choice_of(c, conv);

    for (conv->at = 0; conv->at < all->count; conv->at++) {
        if (all->plan[conv->at].cost.tile_bytes <= conv->cap)
            return 1;
    }
    conv->at = 0;
    for (size_t i = 1; i < all->count; i++) {
        if (all->plan[i].cost.tile_bytes < all->plan[conv->at].cost.tile_bytes)
            conv->at = i;
    }
    return 0;
}

static uint64_t total_resident(const struct chooser *c)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < c->convs; i++)
        bytes += plan_of(c, &c->conv[i])->resident_bytes;
    return bytes;
}

/* The convolution whose next step costs least per byte, NULL if none has one. */
static struct conv *cheapest(const struct chooser *c)
{
    struct conv *best = NULL;

    for (uint32_t i = 0; i < c->convs; i++) {
        struct conv *x = &c->conv[i];
        const struct conv_plan *p, *q;

        if (x->next == SIZE_MAX)
            continue;
        if (best) {
            const struct conv_plan *bp = plan_of(c, best),
                                   *bq = &choice_of(c, best)->plan[best->next];

            p = plan_of(c, x);
            q = &choice_of(c, x)->plan[x->next];
            if ((q->cost.total - p->cost.total) * (bp->resident_bytes - bq->resident_bytes) >=
                (bq->cost.total - bp->cost.total) * (p->resident_bytes - q->resident_bytes))
                continue;
        }
        best = x;
    }
    return best;
}

/* Plans for at most `resident` bytes of parameters on a tile; whether there are such. */
static int choose(struct chooser *c, uint64_t resident)
{
    uint64_t memory = c->a->mem_bytes, used, bytes;
    int fits = c->fixed + resident + c->other_live <= memory;

    for (uint32_t i = 0; i < c->convs; i++) {
        struct conv *x = &c->conv[i];

        used = c->fixed + resident + x->live;
        x->cap = used < memory ? memory - used : 0;
        x->cap -= x->cap / UNEVEN;
        if (c->o->memory_proportion > 0 && x->cap > c->o->memory_proportion * (double)memory)
            x->cap = (uint64_t)(c->o->memory_proportion * (double)memory);
        fits &= choose_fastest(c, x);
        find_next(c, x);
    }
    for (bytes = total_resident(c); bytes > resident;) {
        struct conv *x = cheapest(c);

        if (!x)
            return 0;
        bytes -= plan_of(c, x)->resident_bytes;
        x->at = x->next;
        bytes += plan_of(c, x)->resident_bytes;
        find_next(c, x);
    }
    return fits;
}

/* ---- the best choice ---- */

static void take_plans(const struct chooser *c, struct net_plans *out)
{
    uint64_t most = c->other_live;

    out->convs = c->convs;
    out->resident_bytes = total_resident(c);
    out->cycles = out->fetched = 0;
    for (uint32_t i = 0; i < c->convs; i++) {
        const struct conv *x = &c->conv[i];
        const struct conv_plan *p = plan_of(c, x);

        out->plan[x->layer] = *p;
        out->cycles += p->cost.total;
        out->fetched += p->fetched != 0;
        if (x->live + p->cost.tile_bytes > most)
            most = x->live + p->cost.tile_bytes;
    }
    out->peak_bytes = c->fixed + out->resident_bytes + most;
}

static uint64_t total_cycles(const struct chooser *c)
{
    uint64_t cycles = 0;

    for (uint32_t i = 0; i < c->convs; i++)
        cycles += plan_of(c, &c->conv[i])->cost.total;
    return cycles;
}

static void choose_best(struct chooser *c, struct net_plans *out)
{
    uint64_t memory = c->a->mem_bytes;

    for (uint32_t k = 1; k <= R_STEPS; k++) {
        uint64_t resident = memory * k / R_STEPS;
        int fits;

        if (c->o->parameter_proportion > 0) {
            resident = (uint64_t)(c->o->parameter_proportion * (double)memory);
            k = R_STEPS;
        }
        fits = choose(c, resident);
        if (!out->convs || (fits && (!out->fits || total_cycles(c) < out->cycles))) {
            take_plans(c, out);
            out->fits = fits;
        }
    }
}

enum emu_status net_plans_choose(const struct arch *a, uint32_t tiles, const struct net *n,
                                 const struct net_graph_options *o, struct net_plans *out)
{
    struct chooser c = { .a = a, .n = n, .o = o, .tiles = tiles };
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    out->plan = emu_alloc(n->layers + 1, sizeof(*out->plan));
    s = out->plan ? chooser_init(&c) : FAIL(NO_MEMORY, "plans of %u layers", n->layers);
    if (s == EMU_OK) {
        out->layers = n->layers;
        choose_best(&c, out);
    } else {
        net_plans_free(out);
    }
    chooser_free(&c);
    return s;
}

void net_plans_free(struct net_plans *p)
{
    emu_free(p->plan);
    memset(p, 0, sizeof(*p));
}
