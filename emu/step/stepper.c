/* stepper.c - positions of a run: running to a cycle, going back to one, and what is there. */
#include <string.h>
#include <time.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine_state.h"
#include "emu/step/step_search.h"

enum { PATIENCE = 10, CHUNK_CYCLES = 1 << 14, MIB = 1 << 20 };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- running ---- */

static enum emu_status keep_reason(struct stepper *s)
{
    ss_free(s->why);
    s->why = emu_strdup(ss_error());
    return s->why ? EMU_OK : FAIL(NO_MEMORY, "a message");
}

/* The run goes on after host syncs as ss_run_execute() has it. */
static void run_on(struct stepper *s, uint64_t to)
{
    struct run *r = s->run;

    r->stop = pod_run_all(r->pod, to);
    while (r->stop == MACHINE_HOST && r->runs < r->options.runs) {
        pod_release_host(r->pod);
        r->runs++;
        r->stop = pod_run_all(r->pod, to);
    }
}

/* So far every entry of a record ends with the release of a sync. */
static void all_boundaries(struct stepper *s)
{
    for (uint32_t i = 0; i < s->run->chips; i++)
        s->boundaries[i] = SIZE_MAX;
}

enum emu_status stepper_advance(struct stepper *s, uint64_t to)
{
    double begin = seconds();

    EMU_ASSERT(to >= s->cycle);
    if (s->state == STEPPER_RUNS)
        run_on(s, to);
    s->run_seconds += seconds() - begin;
    s->cycle = to;
    if (s->state != STEPPER_RUNS)
        return EMU_OK;
    all_boundaries(s);
    switch (s->run->stop) {
    case MACHINE_HOST:
        s->state = STEPPER_ENDED;
        for (uint32_t i = 0; i < s->run->chips; i++)
            s->boundaries[i] = record_count(s->run->chip[i].record);
        return pod_finish(s->run->pod);
    case MACHINE_FAULT:
        s->state = STEPPER_FAULTED;
        return EMU_OK;
    case MACHINE_DEADLOCK:
        s->state = STEPPER_DEADLOCK;
        return keep_reason(s);
    case MACHINE_ERROR:
        s->state = STEPPER_ERROR;
        return keep_reason(s);
    case MACHINE_LIMIT:
    case MACHINE_OUTER:
        break;
    }
    return EMU_OK;
}

enum emu_status stepper_put_away(struct stepper *s, int must)
{
    double begin = seconds();

    if (s->state != STEPPER_RUNS || s->held ||
        s->cycle <= history_cycle(s->history, history_count(s->history) - 1) ||
        (!must && s->run_seconds < PATIENCE * s->put_away_seconds))
        return EMU_OK;
    TRY(history_take(s->history, s->cycle));
    s->put_away_seconds = seconds() - begin;
    s->run_seconds = 0;
    return EMU_OK;
}

void stepper_hold(struct stepper *s, uint64_t held)
{
    s->held = held;
    machine_hold(stepper_machine(s), s->tile, held ? held : UINT64_MAX);
}

static enum emu_status restore(struct stepper *s, uint64_t cycle)
{
    size_t i = history_find(s->history, cycle);

    TRY(history_restore(s->history, i));
    s->cycle = history_cycle(s->history, i);
    s->state = STEPPER_RUNS;
    all_boundaries(s);
    return EMU_OK;
}

/* Whether the chosen tile has gone too far for a position. */
static int is_beyond(const struct stepper *s, uint64_t held)
{
    return held && (s->held ? held < s->held : held < s->cycle);
}

enum emu_status stepper_go_position(struct stepper *s, uint64_t cycle, uint64_t held)
{
    int lags = s->held && held != s->held;

    if (cycle < s->cycle || is_beyond(s, held)) {
        TRY(restore(s, held ? held : cycle));
        lags = 0;
    }
    stepper_hold(s, held);
    if (lags && s->cycle == cycle)
        TRY(stepper_advance(s, cycle));
    while (s->cycle < cycle) {
        uint64_t left = cycle - s->cycle;

        TRY(stepper_put_away(s, 0));
        TRY(stepper_advance(s, left < CHUNK_CYCLES ? cycle : s->cycle + CHUNK_CYCLES));
        if (s->state != STEPPER_RUNS)
            s->cycle = cycle;
    }
    return EMU_OK;
}

enum emu_status stepper_go_to(struct stepper *s, uint64_t cycle)
{
    return stepper_go_position(s, cycle, 0);
}

/* ---- where it is ---- */

/* A fault of the fabric is found when the last tile of the exchange is at its RECV. */
static uint64_t fault_cycle(const struct stepper *s)
{
    uint32_t chip;
    struct machine_fault fault = run_fault(s->run, &chip);
    struct machine *m = machine_of_chip(s->run, chip);
    uint64_t first = UINT64_MAX, last = 0;

    for (uint32_t i = 0; i < ss_image_arch(s->run->im)->tiles; i++) {
        const struct fault_record *f = &machine_tile(m, i)->fault;
        struct machine_place p = machine_place(m, i);

        if (f->kind && f->cycle < first)
            first = f->cycle;
        if (p.in_exchange && p.arrived > last)
            last = p.arrived;
    }
    return fault.exchange && last > first ? last : first;
}

uint64_t stepper_end_cycle(const struct stepper *s)
{
    if (s->state == STEPPER_FAULTED)
        return fault_cycle(s) + 1;
    return s->state == STEPPER_ERROR ? s->cycle : pod_cycles(s->run->pod) + 1;
}

int stepper_is_boundary(const struct stepper *s, size_t i)
{
    return i < s->boundaries[s->chip] && record_at(stepper_record(s), i)->group ==
                                             machine_tile_group(stepper_machine(s), s->tile);
}

uint64_t stepper_round(const struct stepper *s, uint32_t chip, uint32_t tile, uint64_t cycle)
{
    const struct barrel *b = machine_barrel(machine_of_chip(s->run, chip), tile);
    uint64_t begin = cycle - (cycle + TILE_WORKERS - b->phase) % TILE_WORKERS;

    if (!b->running) /* b->cycle: from there on it waits for its operands */
        begin = cycle < b->cycle ? cycle : b->cycle;
    return begin > s->cycle ? begin : s->cycle;
}

struct run *stepper_run_of(const struct stepper *s)
{
    return s->run;
}

struct history *stepper_history(const struct stepper *s)
{
    return s->history;
}

enum stepper_state stepper_state(const struct stepper *s)
{
    return s->state;
}

const char *stepper_why(const struct stepper *s)
{
    return s->why ? s->why : "";
}

uint64_t stepper_cycle(const struct stepper *s)
{
    return s->cycle;
}

/* The last superstep of the group that is over; NULL: none is. A sync that is complete may have a
 * release that is still to come. */
static const struct record_step *last_ended(const struct stepper *s)
{
    for (size_t i = record_count(stepper_record(s)); i--;) {
        const struct record_step *r = record_at(stepper_record(s), i);

        if (stepper_is_boundary(s, i) && r->end <= s->cycle)
            return r;
    }
    return NULL;
}

uint64_t stepper_superstep(const struct stepper *s)
{
    const struct record_step *r = last_ended(s);

    return r ? r->index + 1 : 0;
}

uint64_t stepper_begin(const struct stepper *s)
{
    const struct record_step *r = last_ended(s);

    return r ? r->end : 0;
}

struct hash128 stepper_digest(struct stepper *s)
{
    return history_digest(s->history);
}

const char *stepper_waits(const struct stepper *s)
{
    struct machine_place p = machine_place(stepper_machine(s), s->tile);

    return !p.waits && p.release > s->cycle ? "for the release of its sync" : p.waits;
}

const char *stepper_name(const struct stepper *s, uint64_t superstep)
{
    const struct step_names *n = &s->options.names;

    return n->name && !machine_tile_group(stepper_machine(s), s->tile)
               ? n->name(n->ctx, s->chip, superstep)
               : NULL;
}

int stepper_names(const struct stepper *s)
{
    return s->options.names.name != NULL;
}

const char *stepper_phase(const struct stepper *s)
{
    struct machine_place p = machine_place(stepper_machine(s), s->tile);

    if (p.at_sync || p.release > s->cycle)
        return "sync";
    if (p.waits ||
        (!p.received && exchange_log_of(machine_exchange(stepper_machine(s)), s->tile)->open))
        return "exchange";
    return !p.received && p.release && p.clock == p.release ? "exchange" : "compute";
}

struct machine *stepper_machine(const struct stepper *s)
{
    return machine_of_chip(s->run, s->chip);
}

const struct record *stepper_record(const struct stepper *s)
{
    return s->run->chip[s->chip].record;
}

uint32_t stepper_chip(const struct stepper *s)
{
    return s->chip;
}

uint32_t stepper_tile(const struct stepper *s)
{
    return s->tile;
}

unsigned stepper_lane(const struct stepper *s)
{
    return s->lane;
}

void stepper_choose(struct stepper *s, uint32_t chip, uint32_t tile, unsigned lane)
{
    EMU_ASSERT(chip < s->run->chips && machine_tile_used(machine_of_chip(s->run, chip), tile) &&
               lane <= LANE_SUPER);
    if ((tile != s->tile || chip != s->chip) && s->held) /* the next move lets it go on */
        machine_hold(stepper_machine(s), s->tile, UINT64_MAX);
    s->chip = chip;
    s->tile = tile;
    s->lane = lane;
}

uint64_t stepper_boundary_before(const struct stepper *s, uint64_t n)
{
    for (size_t i = record_count(stepper_record(s)); i--;) {
        const struct record_step *e = record_at(stepper_record(s), i);

        if (stepper_is_boundary(s, i) && e->end < s->cycle && !--n)
            return e->end;
    }
    return 0;
}

/* ---- points ---- */

int stepper_add_point(struct stepper *s, const struct stepper_point *p)
{
    for (unsigned i = 0; i < STEPPER_POINTS; i++) {
        if (s->point[i].number)
            continue;
        s->point[i] = *p;
        return s->point[i].number = ++s->points;
    }
    return 0;
}

int stepper_delete_point(struct stepper *s, int number)
{
    for (unsigned i = 0; i < STEPPER_POINTS; i++) {
        if (!number || s->point[i].number != number)
            continue;
        s->point[i].number = 0;
        return 1;
    }
    return 0;
}

const struct stepper_point *stepper_point_at(const struct stepper *s, unsigned i)
{
    EMU_ASSERT(i < STEPPER_POINTS);
    return s->point[i].number ? &s->point[i] : NULL;
}

/* ---- all ---- */

uint32_t stepper_first_tile(const struct stepper *s, uint32_t chip)
{
    for (uint32_t tile = 0; tile < ss_image_arch(s->run->im)->tiles; tile++) {
        if (machine_tile_used(machine_of_chip(s->run, chip), tile))
            return tile;
    }
    return UINT32_MAX;
}

/* Of the first chip that takes part. */
static enum emu_status choose_first(struct stepper *s)
{
    for (uint32_t chip = 0; chip < s->run->chips; chip++) {
        uint32_t tile = stepper_first_tile(s, chip);

        if (tile == UINT32_MAX)
            continue;
        stepper_choose(s, chip, tile, LANE_SUPER);
        return EMU_OK;
    }
    return FAIL(USAGE, "the program uses no tile");
}

enum emu_status stepper_new(struct run *r, const struct stepper_options *o, struct stepper **out)
{
    struct stepper *s;
    enum emu_status st;

    *out = NULL;
    s = emu_alloc(1, sizeof(*s));
    if (!s)
        return FAIL(NO_MEMORY, "a stepper");
    s->run = r;
    s->options = *o;
    s->boundaries = emu_alloc(r->chips, sizeof(*s->boundaries));
    st = s->boundaries ? choose_first(s) : FAIL(NO_MEMORY, "a stepper");
    if (st == EMU_OK) {
        all_boundaries(s);
        st = history_new(r, o->history_bytes, &s->history);
    }
    if (st == EMU_OK)
        *out = s;
    else
        stepper_free(s);
    return st;
}

void stepper_free(struct stepper *s)
{
    if (!s)
        return;
    history_free(s->history);
    ss_free(s->boundaries);
    ss_free(s->why);
    ss_free(s);
}
