/* deadlock.c - who waits for what when nothing moves any more: tiles of a group that stand in the
 * same kind of wait, and which tiles their sync lacks. What those do instead is another wait.
 */
#include "emu/bsp/machine_internal.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1000 };

/* What tiles can wait for, in the order of enum tile_wait; NULL: they do not wait. */
static const char *const waits[WAIT_KINDS] = {
    [WAIT_RECV] = "for the end of their exchange (RECV)",
    [WAIT_DATA] = "for host data (RECV)",
    [WAIT_ANS] = "for the syncs voted ahead (ANS)",
    [WAIT_GROUP] = "for a sync of the group",
    [WAIT_CHIP] = "for a sync of the chip",
    [WAIT_CHIPS] = "for a sync of all chips",
    [WAIT_POD] = "for a sync of all chips of the pod",
    [WAIT_HOST] = "for a sync with the host",
    [WAIT_FAR] = "for words of other chips (RECV)",
};

const char *machine_wait_text(unsigned wait)
{
    return wait == WAIT_FAULT ? "for ever: it faulted" : waits[wait];
}

unsigned machine_wait_of(const struct machine *m, uint32_t tile)
{
    return is_far_wait(m, tile) ? WAIT_FAR : m->place[tile].wait;
}

/* A list of tiles that is being written: "0-11, 14", and " and 300 more" when it gets long. */
struct ranges {
    char *text;
    size_t bytes;
    uint32_t first, last, count, left; /* the range that is open; not written */
};

static void close_range(struct ranges *r)
{
    char one[32];

    if (!r->count)
        return;
    if (r->last == r->first)
        snprintf(one, sizeof(one), "%u", r->first);
    else
        snprintf(one, sizeof(one), "%u-%u", r->first, r->last);
    if (r->left || r->bytes + strlen(one) + 2 > MACHINE_WAIT_TILES - 24)
        r->left += r->count;
    else
        r->bytes += (size_t)sprintf(r->text + r->bytes, "%s%s", r->bytes ? ", " : "", one);
    r->count = 0;
}

static void add_to_ranges(struct ranges *r, uint32_t tile)
{
    if (r->count && tile == r->last + 1) {
        r->last++;
        r->count++;
        return;
    }
    close_range(r);
    r->first = r->last = tile;
    r->count = 1;
}

static void end_ranges(struct ranges *r)
{
    close_range(r);
    if (r->left)
        sprintf(r->text + r->bytes, " and %u more", r->left);
}

static int is_waiting(const struct machine *m, uint32_t tile, unsigned wait, unsigned group)
{
    return machine_wait_of(m, tile) == wait && m->place[tile].group == group;
}

/* Whether a sync of this kind needs the tile, which has neither come to it nor voted for it. */
static int is_missing(const struct machine *m, uint32_t tile, unsigned wait, unsigned group)
{
    const struct place *p = &m->place[tile];
    int of_group = wait == WAIT_GROUP || wait == WAIT_ANS;

    if (p->wait == WAIT_UNUSED || p->wait == wait || wait == WAIT_RECV || wait == WAIT_DATA ||
        wait == WAIT_FAR)
        return 0;
    return !of_group || (p->group == group && !exchange_log_of(m->exchange, tile)->votes);
}

/* 0: no tile of the group waits so. */
static int describe(const struct machine *m, unsigned wait, unsigned group, struct machine_wait *w)
{
    struct ranges here = { .text = w->tiles }, missing = { .text = w->missing };

    *w = (struct machine_wait){ .what = waits[wait], .group = group, .since = UINT64_MAX };
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        uint64_t at = m->place[i].arrived;

        if (is_missing(m, i, wait, group))
            add_to_ranges(&missing, i);
        if (!is_waiting(m, i, wait, group))
            continue;
        if (!w->count++)
            w->first = i;
        w->since = at < w->since ? at : w->since;
        w->latest = at > w->latest ? at : w->latest;
        add_to_ranges(&here, i);
    }
    end_ranges(&here);
    end_ranges(&missing);
    return w->count != 0;
}

size_t machine_waits(const struct machine *m, struct machine_wait *out, size_t room)
{
    size_t n = 0;

    for (unsigned wait = 0; wait < WAIT_KINDS; wait++) {
        for (unsigned g = 0; waits[wait] && g < m->groups && n < room; g++)
            n += (size_t)describe(m, wait, g, &out[n]);
    }
    return n;
}

int machine_tile_runs(const struct machine *m, uint32_t tile)
{
    return m->place[tile].wait == WAIT_NOT;
}

size_t machine_wait_print(const struct machine_wait *w, char *out, size_t room)
{
    int many = w->count > 1;
    char since[64];
    int n;

    if (w->since == w->latest)
        snprintf(since, sizeof(since), "cycle %llu", (unsigned long long)w->since);
    else
        snprintf(since, sizeof(since), "cycles %llu to %llu", (unsigned long long)w->since,
                 (unsigned long long)w->latest);
    n = snprintf(out, room, "; tile%s %s (group %u) %s %s since %s%s%s", many ? "s" : "", w->tiles,
                 w->group, many ? "wait" : "waits", w->what, since,
                 w->missing[0] ? ", missing there: " : "", w->missing);
    return (size_t)n < room ? (size_t)n : room - 1;
}

enum machine_stop machine_deadlock(const struct machine *m)
{
    struct machine_wait wait[MACHINE_WAITS];
    size_t n = machine_waits(m, wait, MACHINE_WAITS), bytes = 0;
    char text[TEXT_BYTES] = "";

    for (size_t i = 0; i < n; i++)
        bytes += machine_wait_print(&wait[i], text + bytes, sizeof(text) - bytes);
    ss_fail(EMU_FAULT, "deadlock: %s", n ? text + 2 : "no tile is in use");
    return MACHINE_DEADLOCK;
}
