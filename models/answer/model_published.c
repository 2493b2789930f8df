/* model_published.c - compares a run with the published figures that bear on it. */
#include <inttypes.h>
#include <string.h>

#include "emu/base/fail.h"
#include "models/answer/model_report.h"

/* The figures of published.def. */
static const struct figure {
    const char *id;
    double low, high;
    const char *unit, *what, *source;
} figures[] = {
#define FIGURE(id, low, high, unit, evidence, measure, what, source, why)                          \
    { #id, low, high, unit, what, source },
#include "models/answer/published.def"
};

enum relation { LARGEST_BATCH, TRAINING_SLOT, TRAINING_RATE, STEP_OVERHEAD, EXCHANGE_LONGER };

/* Which of them bear on a network ("": on all), and how a run compares. */
static const struct bearing {
    const char *id, *network;
    enum relation relation;
} bearings[] = {
    { "batch.b4_g16", "efficientnet-b4-g16", LARGEST_BATCH },
    { "batch.b4", "efficientnet-b4", LARGEST_BATCH },
    { "training.slot", "efficientnet-b4-g16", TRAINING_SLOT },
    { "training.rate", "efficientnet-b4-g16", TRAINING_RATE },
    { "superstep", "", STEP_OVERHEAD },
    { "exchange.longer", "", EXCHANGE_LONGER },
};

static const struct figure *figure_find(const char *id)
{
    for (size_t i = 0; i < EMU_COUNT_OF(figures); i++) {
        if (!strcmp(figures[i].id, id))
            return &figures[i];
    }
    EMU_ASSERT(!"a figure that published.def does not have");
    return NULL;
}

/* Whether a figure is about this network: "efficientnet-b4" is not about efficientnet-b4-g16. */
static int bears(const struct bearing *b, const struct model_facts *n)
{
    return !b->network[0] || !strcmp(b->network, n->name);
}

/* Compares the run with a figure, in words. */
static void compare(const struct model_answer *m, const struct bearing *b, const struct figure *f,
                    char *out, size_t bytes)
{
    const struct layer_bill *t = &m->layers->total;
    double cycles = (double)model_cycles(m), batch = m->facts.batch, value = (f->low + f->high) / 2;

    switch (b->relation) {
    case LARGEST_BATCH:
        snprintf(out, bytes, "here: batch %u, fullest tile %.1f %%", m->facts.batch,
                 100.0 * (double)t->max_tile_bytes / m->arch.mem_bytes);
        break;
    case TRAINING_SLOT:
        snprintf(out, bytes, "here: %.2f M cycles forward for three pictures on one chip",
                 3 * cycles / batch / 1e6);
        break;
    case TRAINING_RATE:
        snprintf(out, bytes, "here: %.1f images/s, forward only: %.2f times",
                 batch / model_seconds(m), batch / model_seconds(m) / value);
        break;
    case STEP_OVERHEAD:
        snprintf(out, bytes, "here: %.0f of sync a superstep, mean of %u",
                 t->supersteps ? (double)t->sync / t->supersteps : 0, t->supersteps);
        break;
    case EXCHANGE_LONGER:
        snprintf(out, bytes, "here: that would be %.0f cycles, %.2f %% of the run",
                 (double)t->exchange * value / 100,
                 cycles > 0 ? (double)t->exchange * value / cycles : 0);
        break;
    }
}

static void print_figure(const struct figure *f, FILE *out)
{
    if (f->low == f->high)
        fprintf(out, "  %.9g %s", f->low, f->unit);
    else
        fprintf(out, "  %.9g to %.9g %s", f->low, f->high, f->unit);
    fprintf(out, ", %s [%s]; %s\n", f->what, f->id, f->source);
}

void model_report_published(const struct model_answer *m, FILE *f)
{
    char here[160];

    fprintf(f, "\nPublished figures (superstep validate has them all)\n");
    for (size_t i = 0; i < EMU_COUNT_OF(bearings); i++) {
        const struct figure *fig = figure_find(bearings[i].id);

        if (!bears(&bearings[i], &m->facts))
            continue;
        compare(m, &bearings[i], fig, here, sizeof(here));
        print_figure(fig, f);
        fprintf(f, "    %s\n", here);
    }
}

json_t *model_published_json(const struct model_answer *m)
{
    json_t *list = json_array();
    char here[160];

    for (size_t i = 0; list && i < EMU_COUNT_OF(bearings); i++) {
        const struct figure *f = figure_find(bearings[i].id);

        if (!bears(&bearings[i], &m->facts))
            continue;
        compare(m, &bearings[i], f, here, sizeof(here));
        if (json_array_append_new(list,
                                  json_pack("{s:s, s:f, s:f, s:s, s:s, s:s, s:s}", "id", f->id,
                                            "value", f->low, "value_high", f->high, "unit", f->unit,
                                            "what", f->what, "source", f->source, "here", here))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
