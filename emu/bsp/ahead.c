/* ahead.c - exchanges whose outcome is known before the tiles of the phase come to their RECV.
 *
 * Where every tile that has a part in a known exchange (exchange_known.h) is released at the code
 * of that part, with nothing under way, the exchange is over before it begins: a tile goes on after
 * its RECV in the same turn, so that it is looked at once in a superstep. Tiles without a part may
 * send what nobody expects, so they have their turn first; if one of them was not silent, the phase
 * is resolved when all tiles have come (sync.c), as it is without this file.
 */
#include "emu/bsp/barrel_ahead.h"
#include "emu/bsp/machine_internal.h"

/* Whether nothing is under way on a tile that has just been released, and nobody wants to see what
 * it executes. */
static int is_idle(const struct barrel *b)
{
    return !b->plain && !b->watched && !b->options.trace_issue && !b->waiting && !b->running &&
           b->all_free <= b->cycle;
}

void ahead_add(struct machine *m, struct exchange_beginning *b, uint32_t tile)
{
    exchange_beginning_add(m->exchange, b, &m->tile[tile], is_idle(&m->barrel[tile]));
}

/* Whether the exchange of a group is that of the phase, and not known yet. */
static int is_looked_at(const struct group *g, unsigned phase)
{
    return g->phase == phase && !g->resolved;
}

static void set_phase(struct machine *m, unsigned phase, enum ahead ahead,
                      const struct exchange_beginning *b)
{
    for (unsigned k = 0; k < m->groups; k++) {
        if (!is_looked_at(&m->group[k], phase))
            continue;
        m->group[k].ahead = (uint8_t)ahead;
        m->group[k].beginning = *b;
    }
}

static int believe(struct machine *m, unsigned phase, const struct exchange_beginning *b)
{
    set_phase(m, phase, AHEAD_ALL, b);
    return sync_resolved(m, phase, exchange_believe(m->exchange, b));
}

int ahead_begin(struct machine *m, unsigned phase, const struct exchange_beginning *b)
{
    if (!exchange_beginning_is_known(m->exchange, b) ||
        m->group[phase].release + b->events >= m->max_cycle)
        return 0;
    if (!b->others)
        return believe(m, phase, b);
    set_phase(m, phase, AHEAD_OTHERS, b);
    return 0;
}

static int begins_part(const struct machine *m, uint32_t tile)
{
    return exchange_first_part(m->exchange, tile) != NULL;
}

/* Whether a tile without a part has come to the end of its exchange, and was silent. */
static int was_silent(const struct machine *m, uint32_t tile)
{
    const struct place *p = &m->place[tile];

    return p->received || (p->wait != WAIT_NOT && p->wait != WAIT_RECV &&
                           exchange_is_silent(exchange_log_of(m->exchange, tile)));
}

static int others_were_silent(const struct machine *m, unsigned phase)
{
    for (unsigned k = 0; k < m->groups; k++) {
        const struct group *g = &m->group[k];

        for (uint32_t i = 0; is_looked_at(g, phase) && i < g->tiles; i++) {
            if (!begins_part(m, g->tile[i]) && !was_silent(m, g->tile[i]))
                return 0;
        }
    }
    return 1;
}

/* Their exchange is over. */
static void end_others(struct machine *m, unsigned phase)
{
    for (unsigned k = 0; k < m->groups; k++) {
        const struct group *g = &m->group[k];

        for (uint32_t i = 0; is_looked_at(g, phase) && i < g->tiles; i++)
            m->place[g->tile[i]].received |= !begins_part(m, g->tile[i]);
    }
}

int ahead_settle(struct machine *m, unsigned phase)
{
    const struct exchange_beginning b = m->group[phase].beginning;

    if (!others_were_silent(m, phase)) {
        set_phase(m, phase, AHEAD_NOT, &b);
        return 1;
    }
    end_others(m, phase);
    return believe(m, phase, &b);
}

int ahead_is_held(const struct machine *m, uint32_t tile)
{
    return m->group[m->place[tile].group].ahead == AHEAD_OTHERS && begins_part(m, tile);
}

static int is_ahead(const struct machine *m, uint32_t tile)
{
    return m->group[m->place[tile].group].ahead == AHEAD_ALL && !m->place[tile].received;
}

int ahead_issue(struct machine *m, uint32_t tile)
{
    struct exchange_log *log = exchange_log_of(m->exchange, tile);
    const struct exchange_part *part;
    struct barrel *b = &m->barrel[tile];
    struct tile *t = &m->tile[tile];

    if (!is_ahead(m, tile) || !begins_part(m, tile))
        return 0;
    part = exchange_take_first(m->exchange, tile);
    log->known = part;
    log->open = 1;
    b->cycle += part->events;
    b->issued[LANE_SUPER] += part->instructions;
    b->instructions[LANE_SUPER] += part->instructions;
    t->cycle = b->cycle;
    t->pc[LANE_SUPER] += part->bytes;
    return barrel_issue_sync(b, t, SYNC_RECV);
}

void ahead_receive(struct machine *m, uint32_t tile)
{
    struct exchange_log *log = exchange_log_of(m->exchange, tile);
    struct place *p = &m->place[tile];
    const struct exchange_part *part = log->known;

    if (!is_ahead(m, tile))
        return;
    p->received = 1;
    log->known = NULL;
    if (!part)
        return;
    p->words_in = part->words_in;
    p->words_out = part->words_out;
    if (p->wait != WAIT_RECV)
        return;
    p->received_at = p->release + part->end_event;
    if (p->received_at < p->arrived + 1)
        p->received_at = p->arrived + 1;
    p->settled = p->received_at;
    p->arrived = p->received_at - 1;
}
