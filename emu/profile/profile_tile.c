/* profile_tile.c - the memory of one tile, range by range. */
#include <inttypes.h>

#include "emu/base/alloc.h"
#include "emu/profile/profile_report.h"

enum { MAP_PLANES = 4, RANGES_MAX = 1 << 24 };

struct tile_map {
    uint32_t *plane; /* owned: address, bytes, category, owner of each range */
    size_t ranges;
    int found;
};

static enum emu_status take_map(void *ctx, const struct profile_cursor *c)
{
    struct tile_map *m = ctx;

    m->ranges = profile_integer(c, 0);
    m->found = 1;
    ss_free(m->plane);
    m->plane = NULL;
    if (m->ranges > RANGES_MAX)
        return FAIL(BAD_FILE, "a damaged profile: %zu ranges", m->ranges);
    m->plane = emu_alloc(m->ranges * MAP_PLANES + 1, sizeof(*m->plane));
    return m->plane ? profile_numbers(c, 1, m->plane, m->ranges * MAP_PLANES)
                    : FAIL(NO_MEMORY, "a map");
}

static enum emu_status take_name(void *ctx, const struct profile_cursor *c)
{
    char **text = ctx;

    *text = emu_strdup(profile_text(c, 0));
    return *text ? EMU_OK : FAIL(NO_MEMORY, "a name");
}

/* width: of the column; 0: the last. */
static enum emu_status print_name(struct profile *p, uint32_t id, int width, FILE *f)
{
    char sql[80], *text = NULL;
    enum emu_status s;

    snprintf(sql, sizeof(sql), "SELECT text FROM names WHERE id = %" PRIu32, id);
    s = profile_query(p, sql, take_name, &text);
    if (s == EMU_OK)
        fprintf(f, width ? "%-*s  " : "%-*s\n", width, text ? text : "");
    ss_free(text);
    return s;
}

static enum emu_status print_ranges(struct profile *p, const struct tile_map *m, FILE *f)
{
    const uint32_t *address = m->plane, *bytes = address + m->ranges, *category = bytes + m->ranges,
                   *owner = category + m->ranges;

    fprintf(f, "%-8s  %7s  %-15s  %s\n", "address", "bytes", "category", "owner");
    for (size_t i = 0; i < m->ranges; i++) {
        fprintf(f, "0x%06" PRIx32 "  %7" PRIu32 "  ", address[i], bytes[i]);
        TRY(print_name(p, category[i], 15, f));
        TRY(print_name(p, owner[i], 0, f));
    }
    return EMU_OK;
}

enum emu_status profile_report_tile(struct profile *p, uint32_t chip, uint32_t tile, FILE *f)
{
    struct tile_map m = { .plane = NULL };
    enum emu_status s;
    char sql[120];

    snprintf(sql, sizeof(sql),
             "SELECT ranges, map FROM tile_maps WHERE chip = %" PRIu32 " AND tile = %" PRIu32, chip,
             tile);
    s = profile_query(p, sql, take_map, &m);
    if (s == EMU_OK)
        s = m.found ? print_ranges(p, &m, f)
            : profile_chips(p) > 1
                ? FAIL(USAGE, "%.200s: the program does not use tile %" PRIu32 " of chip %" PRIu32,
                       profile_path(p), tile, chip)
                : FAIL(USAGE, "%.200s: the program does not use tile %" PRIu32, profile_path(p),
                       tile);
    ss_free(m.plane);
    return s;
}
