/* model_profile.c - what a run of a network adds to a profile: layers, the program they were
 * compiled to, overflows. */
#include "models/answer/model_profile.h"

#include "emu/base/alloc.h"
#include "models/ask/model_request.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(FLAG, no_cache)

static void add_layers(struct profile *p, const struct layer_cycles *k)
{
    for (uint32_t i = 0; i < k->rows; i++) {
        const struct layer_bill *b = &k->row[i];
        const struct layer_text *t = &k->text[i];

        PROFILE_ROW(p, "layers", PROFILE_I(i), PROFILE_T(t->name), PROFILE_T(t->block),
                    PROFILE_T(t->op), PROFILE_I(b->supersteps), PROFILE_I(b->cycles),
                    PROFILE_I(b->exchange), PROFILE_I(b->compute), PROFILE_I(b->sync),
                    PROFILE_I(b->imbalance), PROFILE_I(b->macs), PROFILE_I(b->bound),
                    PROFILE_I(b->predicted), PROFILE_I(b->max_tile_bytes), PROFILE_I(b->held_bytes),
                    PROFILE_I(b->held_tile_bytes));
    }
}

/* The first result of each chip that its type cannot hold. */
static void add_overflows(struct profile *p, const struct session *s)
{
    uint32_t chips = s ? ss_session_run_image((struct session *)(uintptr_t)s)->chips : 0;
    char text[120];

    for (uint32_t chip = 0; chip < chips; chip++) {
        struct session_overflow o = ss_session_chip_overflow(s, chip);

        if (!o.tiles)
            continue;
        snprintf(text, sizeof(text),
                 "results beyond the range of their type on %u tiles, first here", o.tiles);
        PROFILE_ROW(p, "faults", PROFILE_T("overflow"), PROFILE_T(text),
                    chips > 1 ? PROFILE_I(chip) : PROFILE_N, PROFILE_N, PROFILE_I(o.superstep),
                    PROFILE_N);
    }
}

/* A profile being made. */
struct network_rows {
    const struct model_profile *m;
    const uint32_t *layer; /* by superstep */
    size_t layers;
};

static enum emu_status take_program(void *ctx, struct profile *p)
{
    const struct model_profile *m = ((const struct network_rows *)ctx)->m;

    return m->kept ? program_profile_unpack(p, m->kept, m->kept_bytes) : EMU_OK;
}

static enum emu_status add_network(void *ctx, struct profile *p)
{
    const struct network_rows *n = ctx;

    add_layers(p, n->m->layers);
    add_overflows(p, n->m->session);
    TRY(program_profile_overflows(p, n->m->session, n->layer, n->layers));
    return n->m->compiled ? program_profile_rows(p, n->m->compiled) : EMU_OK;
}

static enum emu_status add_unfit(void *ctx, struct profile *p)
{
    add_layers(p, ((const struct model_profile *)ctx)->layers);
    return EMU_OK;
}

enum emu_status model_profile_write(const struct model_profile *m, struct profile_files *f)
{
    struct network_rows rows = { .m = m };
    struct profile_extras x = { .first = take_program,
                                .add = add_network,
                                .ctx = &rows,
                                .cache = option_no_cache(m->request) ? "" : NULL };
    uint32_t *layer = NULL;
    enum emu_status s;

    if (!request_profiles(m->request))
        return EMU_OK;
    s = layer_cycles_supersteps(m->layers, &layer, &x.layers);
    x.layer = rows.layer = layer;
    rows.layers = x.layers;
    if (s == EMU_OK)
        s = request_profile(m->request, ss_session_run_image(m->session), &x, f);
    ss_free(layer);
    return s;
}

enum emu_status model_profile_unfit(const struct model_profile *m, struct profile_files *f)
{
    struct model_profile copy = *m;

    return program_profile_unfit(m->request, m->compiled, add_unfit, &copy, f);
}
