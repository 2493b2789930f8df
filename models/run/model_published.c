/* model_published.c - compares a run with published figures. */
#include <inttypes.h>
#include <string.h>

#include "emu/base/fail.h"
#include "models/run/model_report.h"

enum published_relation {
    LARGEST_BATCH,
    TRAINING_SLOT,
    TRAINING_RATE,
    STEP_OVERHEAD,
    EXCHANGE_LONGER
};

static const struct published {
    const char *network;
    enum published_relation relation;
    double value;
    const char *what, *source;
} table[] = {
#define PUBLISHED(network, relation, value, what, source)                                          \
    { network, relation, value, what, source },
#include "models/run/published.def"
#undef PUBLISHED
};

/* Whether a figure is about this network: "efficientnet-b4" is not about efficientnet-b4-g16. */
static int bears(const struct published *p, const struct net *n)
{
    return !p->network[0] || !strcmp(p->network, n->name);
}

/* Compares the run with a figure, in words. */
static void compare(const struct model_answer *m, const struct published *p, char *out,
                    size_t bytes)
{
    const struct layer_bill *t = &m->layers->total;
    double cycles = (double)model_cycles(m), batch = m->net->batch;

    switch (p->relation) {
    case LARGEST_BATCH:
        snprintf(out, bytes, "here: batch %u, fullest tile %.1f %%", m->net->batch,
                 100.0 * (double)t->max_tile_bytes / m->arch.mem_bytes);
        break;
    case TRAINING_SLOT:
        snprintf(out, bytes, "here: %.2f M cycles forward for three pictures on one chip",
                 3 * cycles / batch / 1e6);
        break;
    case TRAINING_RATE:
        snprintf(out, bytes, "here: %.1f images/s, forward only: %.2f times",
                 batch / model_seconds(m), batch / model_seconds(m) / p->value);
        break;
    case STEP_OVERHEAD:
        snprintf(out, bytes, "here: %.0f of sync a superstep, mean of %u",
                 t->supersteps ? (double)t->sync / t->supersteps : 0, t->supersteps);
        break;
    case EXCHANGE_LONGER:
        snprintf(out, bytes, "here: that would be %.0f cycles, %.2f %% of the run",
                 (double)t->exchange * p->value / 100,
                 cycles > 0 ? (double)t->exchange * p->value / cycles : 0);
        break;
    }
}

void model_report_published(const struct model_answer *m, FILE *f)
{
    char here[160];

    fprintf(f, "\nPublished figures\n");
    for (size_t i = 0; i < EMU_COUNT_OF(table); i++) {
        if (!bears(&table[i], m->net))
            continue;
        compare(m, &table[i], here, sizeof(here));
        fprintf(f, "  %.9g %s; %s\n    %s\n", table[i].value, table[i].what, table[i].source, here);
    }
}

json_t *model_published_json(const struct model_answer *m)
{
    json_t *list = json_array();
    char here[160];

    for (size_t i = 0; list && i < EMU_COUNT_OF(table); i++) {
        if (!bears(&table[i], m->net))
            continue;
        compare(m, &table[i], here, sizeof(here));
        if (json_array_append_new(list, json_pack("{s:f, s:s, s:s, s:s}", "value", table[i].value,
                                                  "what", table[i].what, "source", table[i].source,
                                                  "here", here))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
