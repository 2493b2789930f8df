/* profile_compare.c - two profiles as one database: the differences are queries over both. */
#include "emu/profile/profile_compare.h"

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/profile/profile_table.h"

/* The values of one that was repeated are one text. */
#define OPTIONS(db)                                                                                \
    "(SELECT name, group_concat(value, ', ') AS value FROM " db ".options GROUP BY name)"

/* A sum of both runs, as a row of a table; the first names the columns. */
#define TOTAL(name, sum)                                                                           \
    "SELECT '" name "' AS what, (SELECT " sum " FROM main.supersteps WHERE sync_group = 0) AS a, " \
    "(SELECT " sum " FROM b.supersteps WHERE sync_group = 0) AS b UNION ALL "
#define BYTES(name, value)                                                                         \
    "SELECT '" name "', (SELECT " value " FROM main.tiles), (SELECT " value " FROM b.tiles) "
#define TOTALS                                                                                     \
    TOTAL("cycles", "sum(ends - starts)")                                                          \
    TOTAL("exchange", "sum(exchange)")                                                             \
    TOTAL("link", "sum(link)")                                                                     \
    TOTAL("compute", "sum(compute)")                                                               \
    TOTAL("imbalance", "sum(imbalance)")                                                           \
    TOTAL("wait", "sum(wait)")                                                                     \
    TOTAL("sync", "sum(sync)")                                                                     \
    TOTAL("outer", "sum(\"outer\")")                                                               \
    TOTAL("supersteps", "count(*)")                                                                \
    TOTAL("words sent", "sum(words_out)")                                                          \
    BYTES("bytes on all tiles", "sum(used_bytes)")                                                 \
    "UNION ALL " BYTES("bytes on the fullest tile", "max(used_bytes)")
#define DIFFERENCE                                                                                 \
    "ifnull(b, 0) - ifnull(a, 0) AS difference, "                                                  \
    "round(100.0 * (ifnull(b, 0) - ifnull(a, 0)) / nullif(a, 0), 1) AS percent"

/* Cycles of machines with other clocks are no measure of time. */
#define MICROSECONDS(db) "round(1e6 * (SELECT value FROM " db ".meta WHERE key = 'seconds'), 1)"
#define TIME                                                                                       \
    "SELECT 'microseconds' AS what, a, b, round(b - a, 1) AS difference, "                         \
    "round(100.0 * (b - a) / nullif(a, 0), 1) AS percent FROM "                                    \
    "(SELECT " MICROSECONDS("main") " AS a, " MICROSECONDS("b") " AS b) UNION ALL "

/* Layers of one name are one row; those of one run alone have nothing on the other side. */
#define LAYERS                                                                                     \
    "SELECT name, a.cycles AS cycles_a, b.cycles AS cycles_b, "                                    \
    "ifnull(b.cycles, 0) - ifnull(a.cycles, 0) AS difference, "                                    \
    "ifnull(b.exchange, 0) - ifnull(a.exchange, 0) AS exchange, "                                  \
    "ifnull(b.compute, 0) - ifnull(a.compute, 0) AS compute, "                                     \
    "ifnull(b.sync, 0) - ifnull(a.sync, 0) AS sync, "                                              \
    "ifnull(b.bytes, 0) - ifnull(a.bytes, 0) AS max_tile_bytes, "                                  \
    "ifnull(b.held, 0) - ifnull(a.held, 0) AS held_bytes FROM "                                    \
    "(SELECT name, sum(cycles) AS cycles, sum(exchange) AS exchange, sum(compute) AS compute, "    \
    "sum(sync) AS sync, max(max_tile_bytes) AS bytes, sum(held_bytes) AS held "                    \
    "FROM main.layers GROUP BY name) a FULL JOIN "                                                 \
    "(SELECT name, sum(cycles) AS cycles, sum(exchange) AS exchange, sum(compute) AS compute, "    \
    "sum(sync) AS sync, max(max_tile_bytes) AS bytes, sum(held_bytes) AS held "                    \
    "FROM b.layers GROUP BY name) b USING (name) "                                                 \
    "WHERE ifnull(a.cycles, 0) + ifnull(b.cycles, 0) > 0 "

/* Where there are no layers, what supersteps begin with. */
#define OPERATIONS                                                                                 \
    "SELECT text AS operation, a.cycles AS cycles_a, b.cycles AS cycles_b, "                       \
    "ifnull(b.cycles, 0) - ifnull(a.cycles, 0) AS difference, "                                    \
    "a.steps AS supersteps_a, b.steps AS supersteps_b FROM "                                       \
    "(SELECT text, sum(ends - starts) AS cycles, count(*) AS steps FROM main.supersteps JOIN "     \
    "main.names n ON n.id = operation GROUP BY text) a FULL JOIN "                                 \
    "(SELECT text, sum(ends - starts) AS cycles, count(*) AS steps FROM b.supersteps JOIN "        \
    "b.names n ON n.id = operation GROUP BY text) b USING (text) "                                 \
    "WHERE NOT EXISTS (SELECT * FROM main.layers) "

/* Sync group 0 of each chip, and the bytes of its tiles. */
#define CHIP_SUMS(db)                                                                              \
    "(SELECT chip, cycles, exchange, link, compute, \"outer\", bytes FROM (SELECT chip, "          \
    "sum(ends - starts) AS cycles, sum(exchange) AS exchange, sum(link) AS link, "                 \
    "sum(compute) AS compute, sum(\"outer\") AS \"outer\" FROM " db                                \
    ".supersteps WHERE sync_group = 0 GROUP BY chip) JOIN (SELECT chip, sum(used_bytes) AS "       \
    "bytes FROM " db ".tiles GROUP BY chip) USING (chip))"
#define CHIPS                                                                                      \
    "SELECT chip, a.cycles AS cycles_a, b.cycles AS cycles_b, "                                    \
    "ifnull(b.cycles, 0) - ifnull(a.cycles, 0) AS difference, "                                    \
    "ifnull(b.exchange, 0) - ifnull(a.exchange, 0) AS exchange, "                                  \
    "ifnull(b.link, 0) - ifnull(a.link, 0) AS link, "                                              \
    "ifnull(b.compute, 0) - ifnull(a.compute, 0) AS compute, "                                     \
    "ifnull(b.\"outer\", 0) - ifnull(a.\"outer\", 0) AS \"outer\", "                               \
    "ifnull(b.bytes, 0) - ifnull(a.bytes, 0) AS bytes "                                            \
    "FROM " CHIP_SUMS("main") " a FULL JOIN " CHIP_SUMS(                                           \
        "b") " b USING (chip) "                                                                    \
             "WHERE max((SELECT count(*) FROM main.chips), (SELECT count(*) FROM b.chips)) > 1 "   \
             "ORDER BY chip"

static const struct profile_section sections[] = {
    { "options", "Options; - : not given",
      "SELECT name, a.value AS a, b.value AS b FROM " OPTIONS("main") " a FULL JOIN " OPTIONS(
          "b") " b USING (name) WHERE a.value IS NOT b.value",
      NULL },
    { "machine", "Fields of the machine",
      "SELECT field, a.value AS a, b.value AS b, a.unit FROM main.machine a JOIN b.machine b "
      "USING (field) WHERE a.value IS NOT b.value",
      NULL },
    { "totals", "Time of the run, cycles of sync group 0, supersteps, words, bytes",
      TIME "SELECT what, a, b, " DIFFERENCE " FROM (" TOTALS ") "
           "WHERE what NOT IN ('link', 'outer') OR a OR b",
      NULL },
    { "chips", "Chips: cycles of sync group 0 of both, and what B has more of", CHIPS, NULL },
    { "memory", "Bytes by category, on all tiles",
      "SELECT category, a, b, " DIFFERENCE " FROM (SELECT category, sum(bytes) AS a FROM "
      "main.tile_bytes GROUP BY category) FULL JOIN (SELECT category, sum(bytes) AS b FROM "
      "b.tile_bytes GROUP BY category) USING (category) WHERE a IS NOT b "
      "ORDER BY abs(ifnull(b, 0) - ifnull(a, 0)) DESC",
      NULL },
    { "layers", "Layers: cycles of both, and what B has more of",
      LAYERS "AND (a.cycles IS NOT b.cycles OR a.bytes IS NOT b.bytes) "
             "ORDER BY abs(difference) DESC, name LIMIT 20",
      LAYERS "ORDER BY abs(difference) DESC, name" },
    { "operations", "Operations: cycles of both",
      OPERATIONS "AND a.cycles IS NOT b.cycles ORDER BY abs(difference) DESC, text LIMIT 20",
      OPERATIONS "ORDER BY abs(difference) DESC, text" },
};

/* ---- for people ---- */

static void print_run(const char *name, const char *path, const char *command, FILE *f)
{
    fprintf(f, "%s  %s: %s\n", name, path, command);
}

/* "59.7 us". */
struct duration {
    char at[32];
};

static struct duration duration_text(double seconds)
{
    struct duration d;

    if (seconds < 1e-3)
        snprintf(d.at, sizeof(d.at), "%.1f us", 1e6 * seconds);
    else if (seconds < 1)
        snprintf(d.at, sizeof(d.at), "%.3f ms", 1e3 * seconds);
    else
        snprintf(d.at, sizeof(d.at), "%.3f s", seconds);
    return d;
}

static double percent_more(double a, double b)
{
    return a > 0 ? 100 * (b - a) / a : 0;
}

/* Time first where clocks differ. Columns: cycles, seconds, MHz of A, then of B. */
static enum emu_status print_heads(void *ctx, const struct profile_cursor *c)
{
    double cycles[2], seconds[2], clock[2];

    for (unsigned k = 0; k < 2; k++) {
        cycles[k] = profile_real(c, 3 * k);
        seconds[k] = profile_real(c, 3 * k + 1);
        clock[k] = profile_real(c, 3 * k + 2);
    }
    if (clock[0] != clock[1])
        fprintf(ctx,
                "A takes %s, B %s: %+.2f %% (%.0f cycles at %.0f MHz, %.0f at %.0f MHz: %+.2f "
                "%%)\n",
                duration_text(seconds[0]).at, duration_text(seconds[1]).at,
                percent_more(seconds[0], seconds[1]), cycles[0], clock[0], cycles[1], clock[1],
                percent_more(cycles[0], cycles[1]));
    else if (cycles[0] == cycles[1])
        fprintf(ctx, "both take %.0f cycles, %s\n", cycles[0], duration_text(seconds[0]).at);
    else
        fprintf(ctx, "A takes %.0f cycles, %s, B %.0f, %s: %+.2f %%\n", cycles[0],
                duration_text(seconds[0]).at, cycles[1], duration_text(seconds[1]).at,
                percent_more(cycles[0], cycles[1]));
    return EMU_OK;
}

enum emu_status profile_compare(struct profile *a, const struct profile *b, FILE *f)
{
    char command[PROFILE_META_TEXT];

    TRY(profile_attach(a, b));
    profile_meta(a, "command", command);
    print_run("A", profile_path(a), command, f);
    TRY(profile_query(a, "SELECT value FROM b.meta WHERE key = 'command'", profile_take_text,
                      command));
    print_run("B", profile_path(b), command, f);
    TRY(profile_query(a,
                      "SELECT a.value, c.value, e.value, b.value, d.value, f.value FROM main.meta "
                      "a, b.meta b, main.meta c, b.meta d, main.machine e, b.machine f WHERE "
                      "a.key = 'cycles' AND b.key = 'cycles' AND c.key = 'seconds' AND d.key = "
                      "'seconds' AND e.field = 'clock_mhz' AND f.field = 'clock_mhz'",
                      print_heads, f));
    return profile_print_sections(a, sections, EMU_COUNT_OF(sections), f);
}

/* ---- JSON ---- */

static enum emu_status put_all(struct profile *a, const struct profile *b, json_t *o)
{
    if (json_object_set_new(o, "a", json_text(profile_path(a))) ||
        json_object_set_new(o, "b", json_text(profile_path(b))) ||
        json_object_set_new(o, "schema_version", json_integer(PROFILE_VERSION)))
        return FAIL(BAD_FILE, "a name of a file that is no text");
    TRY(profile_attach(a, b));
    return profile_put_sections(a, sections, EMU_COUNT_OF(sections), o);
}

enum emu_status profile_compare_json(struct profile *a, const struct profile *b, json_t **out)
{
    enum emu_status s;

    *out = json_object();
    s = *out ? put_all(a, b, *out) : FAIL(NO_MEMORY, "the answer");
    if (s == EMU_OK)
        return EMU_OK;
    json_decref(*out);
    *out = NULL;
    return s;
}
