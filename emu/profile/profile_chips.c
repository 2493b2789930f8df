/* profile_chips.c - chips of a system in a profile: what joins them, and queries for one of them.
 *
 * Views of the connection have the names of tables and hide them, so that every query sees the
 * chosen chip alone. They are ours, and only select: the file that was read stays untrusted.
 */
#include "emu/profile/profile_private.h"

#include <inttypes.h>
#include <string.h>

#include "emu/pod/pod.h"

enum { VIEW_SQL = 200, CHIPS_MAX = 4096 };

/* Tables whose rows belong to chips. Of some, queries want the order in which rows came. */
static const struct {
    const char *name;
    int in_order;
} chip_tables[] = {
    { "tiles", 0 },      { "tile_bytes", 0 },     { "tile_maps", 0 }, { "owners", 0 },
    { "program", 0 },    { "tile_variables", 0 }, { "lifetimes", 0 }, { "tile_needs", 0 },
    { "supersteps", 0 }, { "saturations", 0 },    { "streams", 0 },   { "faults", 0 },
    { "transfers", 1 },  { "peak_owners", 1 },    { "advice", 0 },
};

uint32_t profile_chips(struct profile *p)
{
    if (!p->chips) /* of a sweep: of the largest system in it */
        p->chips = (uint32_t)profile_query_integer(p, p->kind == &store_sweep
                                                          ? "SELECT max(chips) FROM results"
                                                          : "SELECT count(*) FROM chips");
    return !p->chips ? 1 : p->chips < CHIPS_MAX ? p->chips : CHIPS_MAX;
}

int profile_is_shown(const struct profile_cursor *c, unsigned column)
{
    static const char *const of_chips[] = { "chip", "joins", "link", "outer" };
    const char *name = profile_column(c, column);
    size_t i = 0;

    while (i < EMU_COUNT_OF(of_chips) && strcmp(of_chips[i], name) != 0)
        i++;
    return i == EMU_COUNT_OF(of_chips) || profile_chips(profile_of_cursor(c)) > 1;
}

static enum emu_status drop_views(struct profile *p)
{
    char sql[VIEW_SQL];

    for (size_t i = 0; i < EMU_COUNT_OF(chip_tables); i++) {
        snprintf(sql, sizeof(sql), "DROP VIEW IF EXISTS temp.%s", chip_tables[i].name);
        TRY(store_sql(p, sql));
    }
    return EMU_OK;
}

enum emu_status profile_choose_chip(struct profile *p, int64_t chip)
{
    char sql[VIEW_SQL];

    TRY(profile_pack(p)); /* what waits belongs into the tables */
    TRY(drop_views(p));
    if (chip == PROFILE_ALL_CHIPS)
        return EMU_OK;
    if (chip < 0 || chip >= profile_chips(p))
        return FAIL(USAGE, "%.200s: expected a chip below %" PRIu32 ", got %" PRId64,
                    profile_path(p) ? profile_path(p) : "a profile", profile_chips(p), chip);
    for (size_t i = 0; i < EMU_COUNT_OF(chip_tables); i++) {
        const char *name = chip_tables[i].name;

        snprintf(sql, sizeof(sql),
                 "CREATE TEMP VIEW %s AS SELECT *%s FROM main.%s WHERE ifnull(chip, %" PRId64
                 ") = %" PRId64,
                 name, chip_tables[i].in_order ? ", rowid AS rowid" : "", name, chip, chip);
        TRY(store_sql(p, sql));
    }
    return EMU_OK;
}

/* ---- what joins them ---- */

static const char *kind_text(enum link_kind k)
{
    static const char *const text[LINK_KINDS] = {
        [LINK_PAIR] = "pair",
        [LINK_CROSS] = "cross",
        [LINK_UP] = "up",
        [LINK_DOWN] = "down",
        [LINK_GATEWAY_UP] = "gateway up",
        [LINK_GATEWAY_DOWN] = "gateway down",
    };

    EMU_ASSERT(k < LINK_KINDS);
    return text[k];
}

static void add_loads(struct profile *p, const struct pod *pod, size_t sync)
{
    const struct pod_outer *o = pod_outer_at(pod, sync);

    for (size_t i = o->first_load; i < o->first_load + o->loads; i++) {
        const struct pod_load *l = pod_load_at(pod, i);

        PROFILE_ROW(p, "link_loads", PROFILE_I(sync), PROFILE_T(kind_text(l->link.kind)),
                    PROFILE_I(l->link.chip), PROFILE_I(l->bytes), PROFILE_I(l->busy_cycles));
    }
}

void profile_add_pod(struct profile *p, const struct pod *pod)
{
    for (size_t i = 0; i < pod_outer_count(pod); i++) {
        const struct pod_outer *o = pod_outer_at(pod, i);

        PROFILE_ROW(p, "outer_syncs", PROFILE_I(i), PROFILE_T(sync_scope_name(o->scope)),
                    PROFILE_I(o->zone), PROFILE_I(o->first_chip), PROFILE_I(o->chips),
                    PROFILE_I(o->release), PROFILE_I(o->first), PROFILE_I(o->latest),
                    PROFILE_I(o->last_chip), PROFILE_I(o->packets), PROFILE_I(o->bytes),
                    PROFILE_I(o->arrived));
        add_loads(p, pod, i);
    }
}
