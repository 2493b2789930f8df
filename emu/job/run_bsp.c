/* run_bsp.c - the BSP model beside what a run took: w + g h + l, with g and l of its machine. */
#include <inttypes.h>

#include "emu/job/bsp_probe.h"
#include "emu/job/run_image.h"
#include "emu/profile/bill.h"

/* Of the tiles that compute. */
struct model {
    struct bill b;
    struct bsp_cost c;
    size_t supersteps, syncs;
    double predicted;
    uint64_t measured; /* without what the group waits for others and for the host */
};

static size_t supersteps_of(const struct record *r)
{
    size_t n = 0;

    for (size_t i = 0; i < record_count(r); i++)
        n += !record_at(r, i)->group;
    return n;
}

/* What comes before the first sync has no l. */
static size_t syncs_of(const struct record *r)
{
    size_t n = supersteps_of(r);

    for (size_t i = 0; i < record_count(r); i++)
        n -= !record_at(r, i)->group && !record_at(r, i)->index;
    return n;
}

static enum emu_status make_model(const struct run *r, const char *cache, struct model *m)
{
    *m = (struct model){ .b = ss_bill_of_group(r->record, 0),
                         .supersteps = supersteps_of(r->record),
                         .syncs = syncs_of(r->record) };
    TRY(bsp_cost_of(ss_image_arch(r->im), r->options.threads, cache, &m->c));
    m->predicted =
        (double)m->b.largest_compute + m->c.g * (double)m->b.h_words + m->c.l * (double)m->syncs;
    m->measured = m->b.exchange + m->b.compute + m->b.sync;
    return EMU_OK;
}

enum emu_status run_print_bsp(const struct run *r, const char *cache, FILE *f)
{
    struct model m;

    if (!supersteps_of(r->record) || r->chips > 1)
        return EMU_OK;
    TRY(make_model(r, cache, &m));
    fprintf(f,
            "BSP model: w %" PRIu64 " + g %.2f x h %" PRIu64 " + l %.0f x %zu syncs = %.0f "
            "cycles; measured %" PRIu64 ", predicted is off by %+.1f %%\n",
            m.b.largest_compute, m.c.g, m.b.h_words, m.c.l, m.syncs, m.predicted, m.measured,
            m.measured ? 100 * (m.predicted / (double)m.measured - 1) : 0.0);
    return EMU_OK;
}

enum emu_status run_bsp_json(const struct run *r, json_t **out)
{
    struct model m;

    TRY(make_model(r, NULL, &m));
    *out = json_pack("{s:I, s:f, s:I, s:f, s:I, s:I, s:f, s:I}", "w_cycles",
                     (json_int_t)m.b.largest_compute, "g_cycles_per_word", m.c.g, "h_words",
                     (json_int_t)m.b.h_words, "l_cycles", m.c.l, "supersteps",
                     (json_int_t)m.supersteps, "syncs", (json_int_t)m.syncs, "predicted_cycles",
                     m.predicted, "measured_cycles", (json_int_t)m.measured);
    return *out ? EMU_OK : FAIL(NO_MEMORY, "the answer");
}
