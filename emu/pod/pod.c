/* pod.c - chips that run by turns until all of them wait, and the syncs that join them. */
#include "emu/pod/pod_internal.h"

#include "emu/base/alloc.h"

typedef enum machine_stop run_machine(struct machine *m, uint64_t max_cycle);

/* ---- making one ---- */

static enum emu_status chips_new(struct pod *p, const struct machine_options *each)
{
    p->chip = emu_alloc(p->chips, sizeof(*p->chip));
    p->digest = emu_alloc(p->chips, sizeof(*p->digest));
    if (!p->chip || !p->digest)
        return FAIL(NO_MEMORY, "%u chips", p->chips);
    for (uint32_t i = 0; i < p->chips; i++) {
        struct machine_options o = each[i];

        o.chip = i;
        o.outer = p->chips > 1;
        TRY(machine_new(&p->arch, &o, &p->chip[i].machine));
        p->chip[i].phase = POD_NO_PHASE;
    }
    return EMU_OK;
}

enum emu_status pod_new(const struct arch *a, const struct machine_options *each,
                        const struct pod_options *o, struct pod **out)
{
    struct pod *p = emu_alloc(1, sizeof(*p));
    enum emu_status s;

    *out = NULL;
    if (!p)
        return FAIL(NO_MEMORY, "a system");
    p->arch = *a;
    p->chips = a->chips;
    p->links = link_numbers_of(a);
    if (o)
        p->options = *o;
    if (!p->options.replica_chips)
        p->options.replica_chips = p->chips;
    if (p->chips % p->options.replica_chips)
        s = FAIL(USAGE, "replicas of %u chips in a system of %u: expected a divisor",
                 p->options.replica_chips, p->chips);
    else
        s = chips_new(p, each);
    if (s != EMU_OK) {
        pod_free(p);
        return s;
    }
    *out = p;
    return EMU_OK;
}

void pod_free(struct pod *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; p->chip && i < p->chips; i++)
        machine_free(p->chip[i].machine);
    ss_free(p->chip);
    ss_free(p->outer);
    ss_free(p->load);
    ss_free(p->flow);
    ss_free(p->digest);
    ss_free(p);
}

uint32_t pod_chips(const struct pod *p)
{
    return p->chips;
}

uint32_t pod_replica_chips(const struct pod *p)
{
    return p->options.replica_chips;
}

struct machine *pod_machine(const struct pod *p, uint32_t chip)
{
    EMU_ASSERT(chip < p->chips);
    return p->chip[chip].machine;
}

const struct link_numbers *pod_links(const struct pod *p)
{
    return &p->links;
}

size_t pod_outer_count(const struct pod *p)
{
    return p->outers;
}

const struct pod_outer *pod_outer_at(const struct pod *p, size_t i)
{
    EMU_ASSERT(i < p->outers);
    return &p->outer[i];
}

const struct pod_load *pod_load_at(const struct pod *p, size_t i)
{
    EMU_ASSERT(i < p->loads);
    return &p->load[i];
}

/* ---- one round: every chip runs as far as it can ---- */

static void run_chips(struct pod *p, run_machine *run, uint64_t max_cycle)
{
    for (uint32_t i = 0; i < p->chips; i++) {
        struct pod_chip *c = &p->chip[i];

        if (!c->is_ready)
            continue;
        c->stop = run(c->machine, max_cycle);
        c->is_ready = 0;
        if (c->stop == MACHINE_ERROR)
            return; /* ss_error() is about this one */
    }
}

static int any_stopped(const struct pod *p, enum machine_stop stop)
{
    for (uint32_t i = 0; i < p->chips; i++) {
        if (p->chip[i].stop == stop)
            return 1;
    }
    return 0;
}

static int all_stopped(const struct pod *p, enum machine_stop stop)
{
    for (uint32_t i = 0; i < p->chips; i++) {
        if (p->chip[i].stop != stop)
            return 0;
    }
    return 1;
}

/* The earliest fault; of several in one cycle that of the lowest chip. */
static enum machine_stop note_fault(struct pod *p)
{
    const struct fault_record *first = NULL;

    for (uint32_t i = 0; i < p->chips; i++) {
        struct machine_fault f;

        if (p->chip[i].stop != MACHINE_FAULT)
            continue;
        f = machine_fault(p->chip[i].machine);
        if (first && first->cycle <= f.fault->cycle)
            continue;
        first = f.fault;
        p->fault = (struct pod_fault){ .chip = i, .fault = f };
    }
    return MACHINE_FAULT;
}

struct pod_fault pod_fault(const struct pod *p)
{
    return p->fault;
}

/* ---- words ---- */

/* Whether nobody sends any more in the phase. */
static int is_phase_over(const struct pod *p, uint32_t phase)
{
    const struct pod_outer *o = &p->outer[phase];

    for (uint32_t i = o->first_chip; i < o->first_chip + o->chips; i++) {
        if (p->chip[i].is_ready || machine_may_send_far(p->chip[i].machine))
            return 0;
    }
    return 1;
}

/* Delivers what was sent in all phases that are over. Returns 1 when there was one, -1 on a fault
 * or error. */
static int deliver_words(struct pod *p)
{
    int moved = 0;

    for (uint32_t i = 0; i < p->chips; i++) {
        uint32_t phase = p->chip[i].phase;
        enum emu_status s;

        if (phase == POD_NO_PHASE || !is_phase_over(p, phase))
            continue;
        s = pod_deliver(p, phase);
        for (uint32_t k = 0; k < p->outer[phase].chips; k++) {
            struct pod_chip *c = &p->chip[p->outer[phase].first_chip + k];

            c->phase = POD_NO_PHASE;
            c->is_ready = 1;
            if (s == EMU_FAULT && machine_fault(c->machine).fault)
                c->stop = MACHINE_FAULT;
        }
        if (s != EMU_OK) {
            p->failed = s != EMU_FAULT;
            return -1;
        }
        moved = 1;
    }
    return moved;
}

/* ---- syncs ---- */

/* Whether all chips of a sync stand in it; then out says how they came. */
static int is_complete(const struct pod *p, struct pod_outer *out, uint32_t *consensus)
{
    *consensus = UINT32_MAX;
    out->first = UINT64_MAX;
    out->latest = 0;
    for (uint32_t i = out->first_chip; i < out->first_chip + out->chips; i++) {
        struct machine_outer o;

        if (p->chip[i].is_ready || p->chip[i].stop != MACHINE_OUTER ||
            p->chip[i].phase != POD_NO_PHASE)
            return 0;
        o = machine_outer(p->chip[i].machine);
        if (o.scope != out->scope)
            return 0;
        *consensus &= o.consensus;
        if (i == out->first_chip)
            out->zone = o.zone;
        if (out->first > o.latest)
            out->first = o.latest;
        if (i == out->first_chip || out->latest < o.latest) {
            out->latest = o.latest;
            out->last_chip = i;
        }
    }
    return 1;
}

/* Returns 1 when the sync of these chips was complete and is released, -1 on a fault or error. */
static int release_sync(struct pod *p, enum sync_scope scope, uint32_t first_chip, uint32_t chips)
{
    struct pod_outer o = { .scope = scope, .first_chip = first_chip, .chips = chips };
    uint32_t consensus;

    if (!is_complete(p, &o, &consensus))
        return 0;
    if (emu_grow((void **)&p->outer, p->outers, &p->outer_cap, sizeof(o)) != EMU_OK) {
        p->failed = 1;
        return -1;
    }
    o.release = o.latest + link_sync_cycles(&p->arch, chips);
    for (uint32_t i = first_chip; i < first_chip + chips; i++) {
        enum emu_status s = machine_release_outer(p->chip[i].machine, scope, o.release, consensus);

        if (s == EMU_FAULT)
            p->chip[i].stop = MACHINE_FAULT;
        else if (s != EMU_OK)
            p->failed = 1;
        if (s != EMU_OK)
            return -1;
        p->chip[i].is_ready = 1;
        p->chip[i].phase = (uint32_t)p->outers;
    }
    p->outer[p->outers++] = o;
    return 1;
}

static int release_syncs(struct pod *p)
{
    uint32_t chips = p->options.replica_chips;
    int moved = 0;

    for (uint32_t first = 0; first < p->chips; first += chips) {
        int r = release_sync(p, SCOPE_REPLICA, first, chips);

        if (r < 0)
            return r;
        moved |= r;
    }
    return moved ? moved : release_sync(p, SCOPE_POD, 0, p->chips);
}

/* ---- the run ---- */

/* Nothing moves: why? */
static enum machine_stop stop_reason(const struct pod *p)
{
    if (any_stopped(p, MACHINE_LIMIT))
        return MACHINE_LIMIT;
    if (all_stopped(p, MACHINE_HOST))
        return MACHINE_HOST;
    return pod_deadlock(p);
}

static enum machine_stop run_to(struct pod *p, run_machine *run, uint64_t max_cycle)
{
    if (p->chips == 1)
        return p->chip[0].stop = run(p->chip[0].machine, max_cycle);
    for (uint32_t i = 0; i < p->chips; i++)
        p->chip[i].is_ready = 1;
    for (;;) {
        int moved;

        run_chips(p, run, max_cycle);
        if (any_stopped(p, MACHINE_ERROR))
            return MACHINE_ERROR;
        if (any_stopped(p, MACHINE_FAULT))
            return note_fault(p);
        moved = deliver_words(p);
        if (!moved)
            moved = release_syncs(p);
        if (p->failed)
            return MACHINE_ERROR;
        if (moved < 0)
            return note_fault(p);
        if (!moved)
            return stop_reason(p);
    }
}

enum machine_stop pod_run(struct pod *p, uint64_t max_cycle)
{
    return run_to(p, machine_run_out, max_cycle);
}

enum machine_stop pod_run_all(struct pod *p, uint64_t max_cycle)
{
    return run_to(p, machine_run, max_cycle);
}

void pod_release_host(struct pod *p)
{
    for (uint32_t i = 0; i < p->chips; i++)
        machine_release_host(p->chip[i].machine);
}

enum emu_status pod_finish(struct pod *p)
{
    for (uint32_t i = 0; i < p->chips; i++)
        TRY(machine_finish(p->chip[i].machine));
    return EMU_OK;
}

uint64_t pod_cycles(const struct pod *p)
{
    uint64_t latest = 0;

    for (uint32_t i = 0; i < p->chips; i++) {
        uint64_t cycles = machine_cycles(p->chip[i].machine);

        if (latest < cycles)
            latest = cycles;
    }
    return latest;
}

struct hash128 pod_digest(struct pod *p)
{
    for (uint32_t i = 0; i < p->chips; i++)
        p->digest[i] = machine_digest(p->chip[i].machine);
    return p->chips == 1 ? p->digest[0] : hash128(p->digest, p->chips * sizeof(*p->digest));
}
