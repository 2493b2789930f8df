/* stream_times.c - when each batch was where (see stream_times.h), the means, and what bounds them.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "models/stream/stream_times.h"

#include <string.h>

const char *stream_bound_name(enum stream_bound b)
{
    static const char *const names[] = { "host link", "IO tiles", "compute tiles" };

    return names[b];
}

void stream_times_init(struct stream_times *t, const struct arch *a,
                       const struct prefetch_options *o, struct stream_record *r)
{
    *t = (struct stream_times){ .arch = a, .o = o, .record = r };
}

static struct stream_batch *row_of(struct stream_times *t, uint64_t n)
{
    return n < t->record->rows ? &t->record->row[n] : NULL;
}

enum emu_status stream_times_pictures(struct stream_times *t, uint64_t n, uint32_t pictures)
{
    struct stream_record *r = t->record;

    if (n >= STREAM_ROWS_MAX)
        return EMU_OK;
    TRY(emu_grow((void **)&r->row, r->rows, &r->cap, sizeof(*r->row)));
    r->row[r->rows++] = (struct stream_batch){ .pictures = pictures };
    return EMU_OK;
}

void stream_times_arrived(struct stream_times *t, uint64_t n, const struct session_moment *when)
{
    struct stream_batch *b = row_of(t, n);

    if (!b)
        return;
    b->asked = when->issued;
    b->begun = when->begun;
    b->here = when->here;
    if (!t->o->tiles)
        b->computing = when->here;
}

void stream_times_left(struct stream_times *t, uint64_t n, const struct session_moment *when)
{
    struct stream_batch *b = row_of(t, n);

    if (!b)
        return;
    b->taken = when->here;
    if (!t->o->tiles)
        b->computed = when->issued;
}

/* ---- wide syncs ---- */

static void note_join(struct stream_times *t, const struct machine_superstep *s)
{
    struct stream_batch *now = row_of(t, t->joins);
    struct stream_batch *before = t->joins ? row_of(t, t->joins - 1) : NULL;

    if (before)
        before->computed = s->arrived;
    if (now)
        now->joined = s->end;
    t->joins++;
}

static void note_consensus(struct stream_times *t, const struct machine_superstep *s)
{
    struct stream_batch *b = t->joins ? row_of(t, t->joins - 1) : NULL;

    if (b)
        b->computing = s->end;
}

/* With buffers, joins and consensuses take turns. At the end two consensuses may follow each other,
 * with no superstep of the network between them: the first leaves the steps of the buffers, the
 * second the loop around them. */
static void watch_ahead(struct stream_times *t, const struct machine_superstep *s)
{
    int again = t->consensus && s->release == t->last;

    if (t->consensus && !again)
        note_join(t, s);
    else if (t->wide || again)
        note_consensus(t, s);
    else
        note_join(t, s);
    t->consensus = again || (t->wide && !t->consensus);
}

/* With depth 0: consensus, join, results. */
static void watch_in_turn(struct stream_times *t, const struct machine_superstep *s)
{
    struct stream_batch *b = t->joins ? row_of(t, t->joins - 1) : NULL;

    switch (t->wide % 3) {
    case 1:
        b = row_of(t, t->joins++);
        if (b)
            b->joined = s->end;
        break;
    case 2:
        if (b)
            b->computed = s->arrived;
        break;
    default:
        break;
    }
}

void stream_times_watch(void *ctx, const struct machine_superstep *s)
{
    struct stream_times *t = ctx;
    struct stream_batch *b = t->joins ? row_of(t, t->joins - 1) : NULL;

    if (s->group || !t->o->tiles)
        return;
    if (!t->o->depth && b && !b->computing && s->release == b->joined)
        b->computing = s->received; /* this superstep began with the join's release */
    if (!s->wide)
        return;
    if (t->o->depth)
        watch_ahead(t, s);
    else
        watch_in_turn(t, s);
    t->last = s->end;
    t->wide++;
}

/* ---- means ---- */

/* The cycle in which the time of a batch begins. */
static uint64_t begin_of(const struct stream_times *t, const struct stream_batch *b)
{
    return t->o->depth ? b->joined : b->asked;
}

/* The steady part begins one batch after the first `depth` ones, when the start no longer has an
 * effect, and ends before the last batch, which has no successor to measure a period to. */
static void find_steady(struct stream_times *t)
{
    struct stream_record *r = t->record;
    size_t n = r->batches < r->rows ? (size_t)r->batches : r->rows;

    r->end = n ? n - 1 : 0;
    r->first = t->o->depth + 1u;
    if (r->first >= r->end)
        r->first = r->end ? r->end - 1 : 0;
}

/* The round trip of the smallest request. */
static double latency_of(const struct arch *a)
{
    return (double)(arch_host_route_cycles(a) + ss_arch_cycles_from_ns(a, arch_host_latency_ns(a)));
}

static void apply_rule(struct stream_times *t)
{
    struct stream_record *r = t->record;
    const struct arch *a = t->arch;
    double cycles_per_byte = (double)a->clock_mhz / arch_host_link_mbytes_per_s(a);
    double out = r->batches ? (double)r->bytes_out / (double)r->batches * cycles_per_byte : 0;
    double most = 0, in = (double)r->batch_bytes * cycles_per_byte;

    r->rule[STREAM_BY_HOST] = in > out ? in : out;
    r->rule[STREAM_BY_COMPUTE] = r->join + r->compute + (double)a->sync_chip_cycles;
    if (t->o->depth)
        r->rule[STREAM_BY_IO] = (r->rule[STREAM_BY_HOST] + latency_of(a) + r->join) / t->o->depth;
    for (unsigned k = 0; k < STREAM_BOUNDS; k++) {
        if (r->rule[k] > (k == STREAM_BY_IO ? 1.02 : 1) * most) {
            most = r->rule[k];
            r->bound = (enum stream_bound)k;
        }
    }
    r->expected = most;
    for (unsigned k = 0; k < STREAM_BOUNDS; k++)
        r->expected = r->rule[k] > r->expected ? r->rule[k] : r->expected;
    if (!t->o->depth) /* the batch, its results, and whether there is a next one: in turn */
        r->expected = in + out + r->rule[STREAM_BY_COMPUTE] + 3 * latency_of(a);
}

void stream_times_sum(struct stream_times *t)
{
    struct stream_record *r = t->record;
    double n;

    find_steady(t);
    n = (double)(r->end - r->first);
    for (size_t i = r->first; i < r->end; i++) {
        const struct stream_batch *b = &r->row[i];

        r->period += (double)(begin_of(t, b + 1) - begin_of(t, b)) / n;
        r->transfer += (double)(b->here - b->asked) / n;
        r->join += b->joined ? (double)(b->computing - b->joined) / n : 0;
        r->compute += (double)(b->computed - b->computing) / n;
    }
    r->wait = r->period - r->join - r->compute;
    apply_rule(t);
}
