/* conv_plans.c - divides the memory of a tile between parameters, which stay, and what each layer
 * needs while it runs.
 *
 * At any moment a tile holds code, the parameters that stay (R bytes), activations that are needed
 * later, and the temporaries of the layer that runs: its copy of the input, its result, partial
 * sums, fetched parameters. So a larger R leaves less for each layer. For several R every
 * convolution starts with its fastest plan that leaves room for the rest; then, as long as
 * parameters take more than R, one plan is replaced by a smaller one: among all convolutions the
 * one for which this costs the fewest cycles per byte. Where no R leaves enough memory, the plans
 * that need least are taken, whatever they cost.
 */
#include "models/lower/conv_plans.h"

#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"

enum {
    R_STEPS = 32, /* of a tile: sizes of R that are tried */
    /* What code, vertex state and work lists take on the fullest tile: for codelets and the
     * program, and for each layer. Measured on B4 and B4-G16 at batch 1 to 12: 0.2 to 0.3 KiB a
     * layer. */
    FIXED_BYTES = 32 * 1024,
    LAYER_BYTES = 256,
    /* Activations, and parameters that are cut into few parts, have uneven shares, and there are
     * gaps: the fullest tile has more than the even share, by this part of it. */
    UNEVEN = 8,
    SPARE = 32 /* and this part of the memory is left free, because all this is an estimate */
};

/* The plans of convolutions of one shape. */
struct shape_choice {
    struct conv_shape shape;
    struct conv_choice choice; /* owned */
};

/* A convolution. */
struct planned_conv {
    uint32_t shape; /* in shapes */
    uint64_t live;  /* as in struct conv_request */
    uint64_t cap;   /* on its temporaries */
    size_t at;      /* the plan: in the choice of the shape */
    size_t next;    /* the cheapest plan with fewer bytes of parameters; SIZE_MAX: none */
};

struct chooser {
    const struct arch *a;
    const struct conv_demand *d;
    uint32_t tiles;
    struct shape_choice *shape; /* owned */
    struct planned_conv *conv;  /* owned; one for each request */
    uint32_t shapes;
};

static void chooser_free(struct chooser *c)
{
    for (uint32_t i = 0; i < c->shapes; i++)
        ss_conv_choice_free(&c->shape[i].choice);
    ss_free(c->shape);
    ss_free(c->conv);
}

/* ---- what there is to choose from ---- */

static enum emu_status find_shape(struct chooser *c, const struct conv_shape *s, uint32_t *index)
{
    for (*index = 0; *index < c->shapes; ++*index) {
        if (!memcmp(&c->shape[*index].shape, s, sizeof(*s)))
            return EMU_OK;
    }
    c->shape[c->shapes].shape = *s;
    return ss_plan_conv_choice(c->a, s, 0, c->tiles, &c->shape[c->shapes++].choice);
}

static enum emu_status chooser_init(struct chooser *c)
{
    uint32_t convs = c->d->convs;

    c->shape = emu_alloc(convs + 1, sizeof(*c->shape));
    c->conv = emu_alloc(convs + 1, sizeof(*c->conv));
    if (!c->shape || !c->conv)
        return FAIL(NO_MEMORY, "plans of %u convolutions", convs);
    for (uint32_t i = 0; i < convs; i++) {
        const struct conv_request *r = &c->d->conv[i];

        c->conv[i].live = r->live;
        TRY(find_shape(c, &r->shape, &c->conv[i].shape));
    }
    return EMU_OK;
}

/* ---- one choice ---- */

static const struct conv_choice *choice_of(const struct chooser *c, const struct planned_conv *conv)
{
    return &c->shape[conv->shape].choice;
}

static const struct conv_plan *plan_of(const struct chooser *c, const struct planned_conv *conv)
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
static void find_next(const struct chooser *c, struct planned_conv *conv)
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
static int choose_fastest(const struct chooser *c, struct planned_conv *conv)
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

    for (uint32_t i = 0; i < c->d->convs; i++)
        bytes += plan_of(c, &c->conv[i])->resident_bytes;
    return bytes;
}

/* The convolution whose next step costs least per byte, NULL if none has one. */
static struct planned_conv *cheapest(const struct chooser *c)
{
    struct planned_conv *best = NULL;

    for (uint32_t i = 0; i < c->d->convs; i++) {
        struct planned_conv *x = &c->conv[i];
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
    int fits = c->d->fixed_bytes + resident + c->d->other_live <= memory;

    for (uint32_t i = 0; i < c->d->convs; i++) {
        struct planned_conv *x = &c->conv[i];

        used = c->d->fixed_bytes + resident + x->live;
        x->cap = used < memory ? memory - used : 0;
        x->cap -= x->cap / UNEVEN;
        if (c->d->memory_proportion > 0 && x->cap > c->d->memory_proportion * (double)memory)
            x->cap = (uint64_t)(c->d->memory_proportion * (double)memory);
        fits &= choose_fastest(c, x);
        find_next(c, x);
    }
    for (bytes = total_resident(c); bytes > resident;) {
        struct planned_conv *x = cheapest(c);

        if (!x)
            return 0;
        bytes -= plan_of(c, x)->resident_bytes;
        x->at = x->next;
        bytes += plan_of(c, x)->resident_bytes;
        find_next(c, x);
    }
    return fits;
}

/* ---- the choice that needs least ---- */

/* A plan of a convolution, as a limit: each convolution takes, among its plans that are at most as
 * full while they run, the one with the smallest parameters. From that follows what the fullest
 * tile needs. */
struct candidate {
    uint64_t full;     /* bytes while it runs, parameters apart */
    uint64_t resident; /* of its parameters */
    uint32_t conv;
    size_t plan;
};

/* The most bytes of parameters that the caller lets stay. */
static uint64_t resident_limit(const struct chooser *c)
{
    return c->d->parameter_proportion > 0
               ? (uint64_t)(c->d->parameter_proportion * (double)c->a->mem_bytes)
               : UINT64_MAX;
}

static int compare_candidates(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    if (a->full != b->full)
        return a->full < b->full ? -1 : 1;
    if (a->conv != b->conv)
        return a->conv < b->conv ? -1 : 1;
    return a->plan < b->plan ? -1 : a->plan > b->plan;
}

/* The most bytes of temporaries that the caller allows a plan, but at least what the smallest plan
 * needs. */
static uint64_t temporary_limit(const struct chooser *c, const struct conv_choice *all)
{
    uint64_t least = UINT64_MAX, limit = (uint64_t)(c->d->memory_proportion * c->a->mem_bytes);

    if (c->d->memory_proportion <= 0)
        return UINT64_MAX;
    for (size_t i = 0; i < all->count; i++)
        least = all->plan[i].cost.tile_bytes < least ? all->plan[i].cost.tile_bytes : least;
    return limit > least ? limit : least;
}

/* All of them, the least full first. Owned by the caller; NULL when out of memory. */
static struct candidate *candidates_of(const struct chooser *c, size_t *count)
{
    struct candidate *out;
    size_t n = 0;

    for (uint32_t i = 0; i < c->d->convs; i++)
        n += choice_of(c, &c->conv[i])->count;
    out = emu_alloc(n + 1, sizeof(*out));
    *count = 0;
    for (uint32_t i = 0; out && i < c->d->convs; i++) {
        const struct conv_choice *all = choice_of(c, &c->conv[i]);
        uint64_t limit = temporary_limit(c, all);

        for (size_t k = 0; k < all->count; k++) {
            const struct conv_plan *p = &all->plan[k];

            if (p->cost.tile_bytes <= limit)
                out[(*count)++] = (struct candidate){ c->conv[i].live + p->cost.tile_bytes,
                                                      p->resident_bytes, i, k };
        }
    }
    if (out)
        qsort(out, *count, sizeof(*out), compare_candidates);
    return out;
}

/* Every convolution takes of the first n candidates the one whose parameters take least. Returns
 * how many of them lead to the least need. */
static size_t walk_candidates(struct chooser *c, const struct candidate *list, size_t n)
{
    uint64_t limit = resident_limit(c), sum = 0, least = UINT64_MAX, least_over = UINT64_MAX;
    size_t best = n;
    uint32_t missing = c->d->convs;

    for (uint32_t i = 0; i < c->d->convs; i++)
        c->conv[i].at = SIZE_MAX;
    for (size_t k = 0; k < n; k++) {
        struct planned_conv *x = &c->conv[list[k].conv];
        uint64_t had = x->at == SIZE_MAX ? 0 : plan_of(c, x)->resident_bytes, over, need;

        if (x->at != SIZE_MAX && list[k].resident >= had)
            continue;
        missing -= x->at == SIZE_MAX;
        sum += list[k].resident - had;
        x->at = list[k].plan;
        over = sum > limit ? sum - limit : 0;
        need = sum + (list[k].full > c->d->other_live ? list[k].full : c->d->other_live);
        if (!missing && (over < least_over || (over == least_over && need < least))) {
            least_over = over;
            least = need;
            best = k + 1;
        }
    }
    return best;
}

/* Parameters beyond what the caller allows are the greater evil. */
static enum emu_status choose_least(struct chooser *c)
{
    size_t n, best;
    struct candidate *list = candidates_of(c, &n);

    if (!list)
        return FAIL(NO_MEMORY, "plans of %u convolutions", c->d->convs);
    best = walk_candidates(c, list, n);
    walk_candidates(c, list, best);
    ss_free(list);
    return EMU_OK;
}

/* ---- the best choice ---- */

static void take_plans(const struct chooser *c, struct conv_plans *out)
{
    uint64_t most = c->d->other_live;

    out->convs = c->d->convs;
    out->resident_bytes = total_resident(c);
    out->cycles = out->fetched = 0;
    for (uint32_t i = 0; i < c->d->convs; i++) {
        const struct planned_conv *x = &c->conv[i];
        const struct conv_plan *p = plan_of(c, x);

        out->plan[i] = *p;
        out->cycles += p->cost.total;
        out->fetched += p->fetched != 0;
        if (x->live + p->cost.tile_bytes > most)
            most = x->live + p->cost.tile_bytes;
    }
    out->peak_bytes = c->d->fixed_bytes + out->resident_bytes + most;
}

static uint64_t total_cycles(const struct chooser *c)
{
    uint64_t cycles = 0;

    for (uint32_t i = 0; i < c->d->convs; i++)
        cycles += plan_of(c, &c->conv[i])->cost.total;
    return cycles;
}

static void choose_fitting(struct chooser *c, struct conv_plans *out)
{
    uint64_t memory = c->a->mem_bytes;

    for (uint32_t k = 1; k <= R_STEPS; k++) {
        uint64_t resident = memory * k / R_STEPS;

        if (resident_limit(c) != UINT64_MAX) {
            resident = resident_limit(c);
            k = R_STEPS;
        }
        if (choose(c, resident) && (!out->fits || total_cycles(c) < out->cycles)) {
            take_plans(c, out);
            out->fits = 1;
        }
    }
}

static enum emu_status choose_best(struct chooser *c, struct conv_plans *out)
{
    if (!c->d->least_memory)
        choose_fitting(c, out);
    if (out->fits)
        return EMU_OK;
    TRY(choose_least(c));
    take_plans(c, out);
    return EMU_OK;
}

enum emu_status conv_plans_choose(const struct arch *a, uint32_t tiles, const struct conv_demand *d,
                                  struct conv_plans *out)
{
    struct chooser c = { .a = a, .d = d, .tiles = tiles };
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    out->plan = emu_alloc(d->convs + 1, sizeof(*out->plan));
    s = out->plan ? chooser_init(&c) : FAIL(NO_MEMORY, "plans of %u convolutions", d->convs);
    if (s == EMU_OK)
        s = choose_best(&c, out);
    if (s != EMU_OK)
        conv_plans_free(out);
    chooser_free(&c);
    return s;
}

void conv_plans_free(struct conv_plans *p)
{
    ss_free(p->plan);
    memset(p, 0, sizeof(*p));
}

uint64_t conv_plans_on_a_tile(uint64_t bytes, uint32_t tiles)
{
    uint64_t even = bytes / tiles + 1;

    return even + even / UNEVEN;
}

uint64_t conv_plans_fixed(const struct arch *a, uint32_t layers)
{
    return FIXED_BYTES + (uint64_t)layers * LAYER_BYTES + a->mem_bytes / SPARE;
}
