/* profile_report.c - what a profile says, section by section: each is a query, printed as a table
 * or put under its key. */
#include "emu/profile/profile_report.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/profile/profile_table.h"

/* ---- sections ---- */

#define STEP_COLUMNS                                                                               \
    "chip, supersteps.sync_group, number, starts, ends - starts AS cycles, "                       \
    "supersteps.exchange, link, supersteps.compute, wait, supersteps.sync, \"outer\", "            \
    "supersteps.imbalance, largest_compute AS w, "                                                 \
    "mean_compute AS mean_w, h_words, slowest_tile, "                                              \
    "layers.name AS layer, names.text AS operation "                                               \
    "FROM supersteps JOIN names ON names.id = supersteps.operation LEFT JOIN layers USING "        \
    "(layer) "
#define PREDICTED "w + g * h_words + l * syncs"
#define LAYER_COLUMNS                                                                              \
    "SELECT layer, name, operation, cycles, "                                                      \
    "round(100.0 * cycles / (SELECT sum(cycles) FROM layers), 1) AS percent, exchange, compute, "  \
    "sync, imbalance, bound, max_tile_bytes, held_bytes, "                                         \
    "reason(exchange, compute, imbalance, sync, bound, supersteps) AS why "                        \
    "FROM layers WHERE cycles "

#define SATURATIONS                                                                                \
    "SELECT chip, superstep, layers.name AS layer, tiles, numbers, saturated FROM saturations "    \
    "LEFT JOIN layers USING (layer) ORDER BY chip, superstep"
/* A chip is complete when its last group is, which waits for no other one. */
#define WAITS                                                                                      \
    "SELECT chip AS waiting, last_chip AS waits_for, count(*) AS syncs, sum(cycles) AS cycles, "   \
    "max(cycles) AS most FROM (SELECT chip, last_chip, last_arrival - max(ends - \"outer\") AS "   \
    "cycles FROM outer_syncs JOIN supersteps ON ends = \"release\" AND joins = outer_syncs.scope " \
    "AND chip BETWEEN first_chip AND first_chip + chips - 1 GROUP BY outer_sync, chip) "           \
    "WHERE cycles GROUP BY chip, last_chip ORDER BY cycles DESC, chip, last_chip"

/* Of a system of several chips; and what has another title there. */
static const char phases_of_chips[] =
    "Cycles of each sync group: host + exchange + link + compute + wait + sync + outer; imbalance "
    "is a part of compute";
static const struct profile_section system_sections[] = {
    { "chips", "Chips: what each runs, and where it stands",
      "SELECT chips.chip AS chip, stage, replica, rung, side, max(ends) AS ends, "
      "count(*) AS supersteps FROM chips LEFT JOIN supersteps USING (chip) GROUP BY chips.chip",
      NULL },
    { "waits", "Who waits for whom at outer syncs: from the arrival of a chip to that of the last",
      WAITS " LIMIT 20", WAITS },
    { "links", "Links: what they carried, in one direction",
      "SELECT kind, chip AS from_chip, sum(bytes) AS bytes, sum(busy_cycles) AS busy_cycles, "
      "max(busy_cycles) AS most_at_once, round(100.0 * sum(busy_cycles) / (SELECT value FROM meta "
      "WHERE key = 'cycles'), 1) AS percent FROM link_loads GROUP BY kind, chip "
      "ORDER BY busy_cycles DESC, kind, chip LIMIT 20",
      NULL },
};

static const struct profile_section sections[] = {
    { "options", "Options", "SELECT * FROM options", NULL },
    { "phases",
      "Cycles of each sync group: host + exchange + compute + wait + sync; imbalance is a part of "
      "compute",
      "SELECT chip, sync_group, max(tiles) AS tiles, count(*) AS supersteps, "
      "sum(host + exchange + link + compute + wait + sync + \"outer\") AS cycles, "
      "sum(host) AS host, sum(exchange) AS exchange, sum(link) AS link, sum(compute) AS compute, "
      "sum(wait) AS wait, sum(sync) AS sync, sum(\"outer\") AS \"outer\", "
      "sum(imbalance) AS imbalance FROM supersteps GROUP BY chip, sync_group",
      NULL },
    { "bsp",
      "The BSP model: a superstep takes w + g h + l; w is the most that a tile computes, h the "
      "most "
      "words it sends or receives",
      "SELECT chip, w, h_words, supersteps, syncs, g, l, round(" PREDICTED
      ") AS predicted, measured, "
      "round(100.0 * (" PREDICTED ") / measured - 100, 1) AS percent_off FROM "
      "(SELECT chip, sum(largest_compute) AS w, sum(h_words) AS h_words, count(*) AS supersteps, "
      "sum(number > 0) AS syncs, sum(exchange + compute + sync) AS measured, (SELECT value FROM "
      "meta WHERE key = 'bsp_g') AS "
      "g, "
      "(SELECT value FROM meta WHERE key = 'bsp_l') AS l FROM supersteps WHERE sync_group = 0 "
      "GROUP BY chip)",
      NULL },
    { "needs", "Tiles that do not fit; code_bytes: of them in region 0, for code",
      "SELECT chip, tile, need_bytes, m.value AS memory_bytes, code_bytes, r.value AS "
      "region0_bytes, "
      "peak_bytes FROM tile_needs, machine m, machine r WHERE m.field = 'mem_bytes' AND r.field = "
      "'region0_bytes' AND (need_bytes > m.value OR code_bytes > r.value) "
      "ORDER BY need_bytes DESC, tile LIMIT 10",
      NULL },
    { "peak_owners", "What fills the fullest of them at its worst moment",
      "SELECT p.chip, p.tile, o.text AS owner, c.text AS category, bytes FROM peak_owners p JOIN "
      "names o "
      "ON o.id = owner JOIN names c ON c.id = category WHERE (p.chip, p.tile) = (SELECT chip, "
      "tile FROM peak_owners WHERE chip = (SELECT min(chip) FROM advice) ORDER BY rowid LIMIT 1) "
      "ORDER BY p.rowid LIMIT 10",
      NULL },
    { "advice", "What would help", "SELECT chip, text FROM advice ORDER BY chip, position", NULL },
    { "layers",
      "Slowest layers; bytes on the fullest tile meanwhile, and held on all tiles all the time",
      LAYER_COLUMNS "ORDER BY cycles DESC, layer LIMIT 10", LAYER_COLUMNS "ORDER BY layer" },
    { "slowest_supersteps", "Slowest supersteps",
      "SELECT " STEP_COLUMNS "ORDER BY ends - starts DESC, supersteps.id LIMIT 10", NULL },
    { "memory", "Memory by category",
      "SELECT category, sum(bytes) AS bytes, max(bytes) AS most_on_a_tile, count(*) AS tiles "
      "FROM tile_bytes GROUP BY category ORDER BY sum(bytes) DESC",
      NULL },
    { "owners", "Largest owners of memory, on all tiles",
      "SELECT chip, o.text AS owner, c.text AS category, bytes, tiles, most_bytes, most_tile "
      "FROM owners JOIN names o ON o.id = owner JOIN names c ON c.id = category "
      "ORDER BY bytes DESC, owner, chip LIMIT 10",
      NULL },
    { "fullest_tiles", "Fullest tiles",
      "SELECT chip, tile, used_bytes, (SELECT value FROM machine WHERE field = 'mem_bytes') AS "
      "memory_bytes, compute, exchange, link, wait FROM tiles ORDER BY used_bytes DESC, chip, tile "
      "LIMIT 5",
      NULL },
    { "saturations", "Supersteps with results beyond the range of f16, first seen on so many tiles",
      SATURATIONS " LIMIT 20", SATURATIONS },
    { "streams", "Streams between host and tiles", "SELECT * FROM streams", NULL },
    { "faults", "Faults", "SELECT * FROM faults", NULL },
};

static const char *const csv[] = {
    [PROFILE_CSV_LAYERS] = "SELECT * FROM layers ORDER BY layer",
    [PROFILE_CSV_STEPS] =
        "SELECT supersteps.id, chip, supersteps.sync_group, number, starts, ends, tiles, joins, "
        "host, supersteps.exchange, link, supersteps.compute, wait, supersteps.sync, \"outer\", "
        "supersteps.imbalance, "
        "largest_compute, mean_compute, round(largest_compute + (number > 0) * l.value + h_words * "
        "g.value) AS "
        "predicted, h_words, words_in, words_out, messages_in, messages_out, slowest_tile, "
        "text AS operation, scope, layers.name AS layer "
        "FROM supersteps JOIN names ON names.id = supersteps.operation "
        "LEFT JOIN layers USING (layer) LEFT JOIN meta g ON g.key = 'bsp_g' "
        "LEFT JOIN meta l ON l.key = 'bsp_l' ORDER BY supersteps.id",
    [PROFILE_CSV_TILES] = "SELECT chip, tile, sync_group, used_bytes, exchange, link, compute, "
                          "wait, words_in, words_out, messages_in, messages_out, \"row\", "
                          "\"column\" FROM tiles ORDER BY chip, tile",
};

enum emu_status profile_report_csv(struct profile *p, enum profile_csv which, FILE *f)
{
    return profile_print_csv(p, csv[which], f);
}

/* ---- for people ---- */

/* The parts of the cycles of sync group 0, which add up to them. */
struct parts {
    double work, imbalance, exchange, wait, sync, host, chips, all;
};

static enum emu_status take_parts(void *ctx, const struct profile_cursor *c)
{
    struct parts *t = ctx;

    t->host = profile_real(c, 0);
    t->exchange = profile_real(c, 1);
    t->imbalance = profile_real(c, 3);
    t->work = profile_real(c, 2) - t->imbalance;
    t->wait = profile_real(c, 4);
    t->sync = profile_real(c, 5);
    t->chips = profile_real(c, 6);
    t->all = t->work + t->imbalance + t->exchange + t->wait + t->sync + t->host + t->chips;
    return EMU_OK;
}

/* What most cycles are, in words. */
static enum emu_status print_reason(struct profile *p, FILE *f)
{
    struct parts t = { 0 };

    TRY(profile_query(p,
                      "SELECT sum(host), sum(exchange), sum(compute), sum(imbalance), sum(wait), "
                      "sum(sync), sum(link + \"outer\") FROM supersteps WHERE sync_group = 0",
                      take_parts, &t));
    if (t.all <= 0)
        return EMU_OK;
    fprintf(f,
            "%.1f %% of the cycles are compute that all tiles share, %.1f %% wait for the slowest "
            "of them\n(imbalance), %.1f %% are exchange, %.1f %% sync, %.1f %% other groups and "
            "the host",
            100 * t.work / t.all, 100 * t.imbalance / t.all, 100 * t.exchange / t.all,
            100 * t.sync / t.all, 100 * (t.wait + t.host) / t.all);
    if (profile_chips(p) > 1)
        fprintf(f, ",\n%.1f %% links and other chips", 100 * t.chips / t.all);
    fputc('\n', f);
    return EMU_OK;
}

static enum emu_status print_machine(void *ctx, const struct profile_cursor *c)
{
    if (profile_integer(c, 4) > 1)
        fprintf(ctx, "on %s chips of ", profile_text(c, 4));
    else
        fprintf(ctx, "on ");
    fprintf(ctx, "%s: %s tiles of %s bytes, %s MHz\n", profile_text(c, 0), profile_text(c, 1),
            profile_text(c, 2), profile_text(c, 3));
    return EMU_OK;
}

static enum emu_status print_head(struct profile *p, FILE *f)
{
    char text[PROFILE_META_TEXT], seconds[PROFILE_META_TEXT], note[PROFILE_META_TEXT];

    profile_meta(p, "command", text);
    fprintf(f, "%s\n", text);
    TRY(profile_query(
        p,
        "SELECT ifnull((SELECT value FROM meta WHERE key = 'machine_title'), a.value), b.value, "
        "c.value, d.value, (SELECT count(*) FROM chips) FROM machine a, machine b, machine c, "
        "machine d WHERE a.field = 'name' "
        "AND b.field = 'tiles' AND c.field = "
        "'mem_bytes' AND d.field = 'clock_mhz'",
        print_machine, f));
    profile_meta(p, "program_version", text);
    fprintf(f, "superstep %s; ", text);
    profile_meta(p, "engine", text);
    profile_meta(p, "engine_note", note);
    if (*text)
        fprintf(f, "engine %s%s%s%s; ", text, *note ? " (" : "", note, *note ? ")" : "");
    profile_meta(p, "status", text);
    fprintf(f, "status %s\n", text);
    if (!strcmp(text, "out_of_memory"))
        return EMU_OK;
    profile_meta(p, "cycles", text);
    profile_meta(p, "seconds", seconds);
    fprintf(f, "%s cycles, %.6f s on the chip\n", text, strtod(seconds, NULL));
    return print_reason(p, f);
}

enum emu_status profile_report(struct profile *p, FILE *f)
{
    TRY(print_head(p, f));
    if (profile_chips(p) > 1)
        TRY(profile_print_sections(p, system_sections, EMU_COUNT_OF(system_sections), f));
    for (size_t i = 0; i < EMU_COUNT_OF(sections); i++) {
        struct profile_section s = sections[i];

        if (profile_chips(p) > 1 && !strcmp(s.key, "phases"))
            s.title = phases_of_chips;
        TRY(profile_print_sections(p, &s, 1, f));
    }
    return EMU_OK;
}

/* ---- JSON ---- */

/* "key": value pairs from two columns. */
static enum emu_status put_pair(void *ctx, const struct profile_cursor *c)
{
    json_t *v = NULL;
    const char *key = profile_text(c, 0);

    switch (profile_kind_of(c, 1)) {
    case PROFILE_INTEGER:
        v = json_integer((json_int_t)profile_integer(c, 1));
        break;
    case PROFILE_REAL:
        v = json_real(profile_real(c, 1));
        break;
    default:
        v = json_text(profile_text(c, 1));
    }
    json_object_set_new(ctx, key, v); /* what is no text is left out */
    return EMU_OK;
}

static enum emu_status put_all(struct profile *p, json_t *o)
{
    json_t *machine = json_object();

    TRY(profile_query(p, "SELECT key, value FROM meta", put_pair, o));
    if (json_object_set_new(o, "machine", machine))
        return FAIL(NO_MEMORY, "the answer");
    TRY(profile_query(p, "SELECT field, value FROM machine", put_pair, machine));
    if (profile_chips(p) > 1)
        TRY(profile_put_sections(p, system_sections, EMU_COUNT_OF(system_sections), o));
    return profile_put_sections(p, sections, EMU_COUNT_OF(sections), o);
}

enum emu_status profile_report_json(struct profile *p, json_t **out)
{
    return profile_object_json(p, put_all, out);
}
