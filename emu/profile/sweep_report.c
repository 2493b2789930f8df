/* sweep_report.c - queries of a sweep.
 *
 * Axes are rows of a table, and columns of what is printed: so queries of points are put together
 * from the names of axes.
 */
#include "emu/profile/sweep_report.h"

#include <stdlib.h>
#include <string.h>

#include "emu/profile/profile_table.h"

enum { ALL_POINTS = 48 }; /* more are not printed one by one */

/* Cycles of one input, and the memory that the chip is built with: what is left free costs as much
 * as what is used. */
#define PER_INPUT "(CASE WHEN r.status = 'ok' THEN r.cycles / r.inputs END)"
#define CHIP      "(r.chips * r.tiles * r.mem_bytes)"

/* A point of which no other one is better in both without being worse in one. */
#define FRONT                                                                                      \
    "(r.status = 'ok' AND NOT EXISTS (SELECT 1 FROM results o WHERE o.status = 'ok' AND "          \
    "o.cycles / o.inputs <= " PER_INPUT " AND o.chips * o.tiles * o.mem_bytes <= " CHIP            \
    " AND (o.cycles / o.inputs < " PER_INPUT " OR o.chips * o.tiles * o.mem_bytes < " CHIP ")))"

/* ---- queries of points ---- */

/* A name may have any character: quotes are doubled. */
static void print_name(const char *name, FILE *f)
{
    fputc('"', f);
    for (; *name; name++) {
        if (*name == '"')
            fputc('"', f);
        fputc(*name, f);
    }
    fputc('"', f);
}

static enum emu_status add_axis(void *ctx, const struct profile_cursor *c)
{
    FILE *f = ctx;

    fprintf(f,
            ", (SELECT value FROM settings s JOIN choices c ON c.axis = s.axis AND c.position = "
            "s.position WHERE s.point = r.point AND s.axis = %llu) AS ",
            (unsigned long long)profile_integer(c, 0));
    print_name(profile_text(c, 1), f);
    return EMU_OK;
}

/* "SELECT r.point, AXES.. COLUMNS FROM results r .. REST"; owned, free(). */
static enum emu_status points_query(struct profile *p, const char *columns, const char *rest,
                                    char **out)
{
    size_t bytes;
    FILE *f = open_memstream(out, &bytes);
    enum emu_status s;

    if (!f)
        return FAIL(NO_MEMORY, "a query");
    fputs("SELECT r.point", f);
    s = profile_query(p, "SELECT axis, name FROM axes ORDER BY axis", add_axis, f);
    fprintf(f, "%s FROM results r JOIN points USING (point) %s", columns, rest);
    if (fclose(f) && s == EMU_OK)
        s = FAIL(NO_MEMORY, "a query");
    if (s != EMU_OK)
        free(*out);
    return s;
}

static const char short_columns[] =
    ", CASE WHEN " FRONT " THEN '*' ELSE '' END AS \"Pareto\", status, " PER_INPUT
    " AS \"cycles/input\", round(inputs_per_second, 1) AS \"inputs/s\", "
    "round(need_bytes / 1024.0, 1) AS \"KiB/tile\", mem_bytes / 1024 AS \"of KiB\", "
    "CASE WHEN r.status = 'no memory' THEN ifnull(fullest_tile, 'expected') ELSE fullest_tile END "
    "AS tile, CASE WHEN image_of <> r.point AND r.status = 'no memory' OR run_of <> "
    "r.point THEN 'as ' || CASE r.status WHEN 'no memory' THEN image_of ELSE run_of END WHEN "
    "r.status = 'no memory' THEN CASE WHEN fullest_tile IS NULL THEN 'plan' ELSE 'plan, compile' "
    "END WHEN r.status = 'refused' THEN '-' WHEN image_of = r.point THEN 'compile, run' ELSE 'run' "
    "END AS stages";

static const char all_columns[] =
    ", status, message, inputs, tiles AS machine_tiles, chips AS machine_chips, "
    "mem_bytes, clock_mhz AS machine_clock_mhz, need_bytes, fullest_tile, used_bytes, cycles, "
    "exchange, link, compute, imbalance, wait, sync, outer, supersteps, words, macs, seconds, "
    "inputs_per_second, engine, " FRONT " AS pareto, image_of, run_of";

/* ---- sections ---- */

static const struct profile_section sections[] = {
    { "axes", "What each value gives, over all points that have it",
      "SELECT a.name AS axis, c.value, count(r.point) AS points, sum(r.status = 'ok') AS fit, "
      "min(" PER_INPUT ") AS \"best cycles/input\", CAST(avg(" PER_INPUT ") AS INTEGER) AS mean, "
      "round(max(inputs_per_second), 1) AS \"best inputs/s\", round(min(need_bytes) / 1024.0, 1) "
      "AS "
      "\"least KiB/tile\" FROM axes a JOIN choices c USING (axis) "
      "JOIN settings s ON s.axis = c.axis AND s.position = c.position LEFT JOIN results r ON "
      "r.point = s.point WHERE a.kind <> 'fixed' GROUP BY a.axis, c.position ORDER BY a.axis, "
      "c.position",
      "SELECT a.name AS axis, a.kind, a.unit, a.stage, c.value, count(r.point) AS points, "
      "sum(r.status = 'ok') AS fit, min(" PER_INPUT ") AS best_cycles_per_input, avg(" PER_INPUT
      ") AS mean_cycles_per_input, max(inputs_per_second) AS best_inputs_per_second, "
      "min(need_bytes) AS least_need_bytes FROM axes a JOIN choices c USING (axis) JOIN settings s "
      "ON s.axis = c.axis AND s.position = c.position LEFT JOIN results r ON r.point = s.point "
      "GROUP BY a.axis, c.position ORDER BY a.axis, c.position" },
    { "no_memory", "What does not fit, the least missing first",
      "SELECT point, round(need_bytes / 1024.0, 1) AS \"needs KiB\", mem_bytes / 1024 AS "
      "\"has KiB\", CASE WHEN fullest_tile IS NULL THEN 'expected' ELSE fullest_tile END AS tile, "
      "(SELECT group_concat(category || ' ' || printf('%.1f', fullest_bytes / 1024.0), ', ') FROM "
      "(SELECT * FROM categories c WHERE c.point = results.point ORDER BY fullest_bytes DESC "
      "LIMIT 3)) AS \"most of it, KiB\" FROM results WHERE status = 'no memory' ORDER BY "
      "need_bytes - mem_bytes, point LIMIT 8",
      NULL },
    { "failed", "Faults, findings, and what cannot be built",
      "SELECT point, status, message FROM results WHERE status IN ('fault', 'found', 'refused', "
      "'failed') "
      "ORDER BY "
      "point LIMIT 8",
      NULL },
    { "work", "What was executed, in seconds of a processor",
      "SELECT stage, count(*) AS times, round(sum(seconds), 1) AS seconds, round(avg(seconds), "
      "2) AS mean, count(DISTINCT process) AS processes FROM work GROUP BY stage ORDER "
      "BY sum(seconds) DESC",
      "SELECT stage, count(*) AS times, sum(seconds) AS seconds, count(DISTINCT process) AS "
      "processes FROM work GROUP BY stage ORDER BY stage" },
};

/* ---- text ---- */

static enum emu_status print_points(struct profile *p, FILE *f)
{
    uint64_t results = profile_query_integer(p, "SELECT count(*) FROM results");
    enum emu_status s;
    char *sql;

    TRY(points_query(p, short_columns,
                     results > ALL_POINTS ? "WHERE " FRONT " ORDER BY r.point" : "ORDER BY r.point",
                     &sql));
    s = profile_print_table(
        p,
        results > ALL_POINTS
            ? "The Pareto front of cycles and SRAM built (--csv points has all)"
            : "Points (*: none is better in cycles and SRAM built, tiles x memory)",
        sql, f);
    free(sql); /* allocated by open_memstream() */
    return s;
}

/* Points whose cycles another engine computed than the one that was asked for, and why. */
static enum emu_status print_other_engine(void *ctx, const struct profile_cursor *c)
{
    fprintf(ctx, "%s point%s: engine %s\n", profile_text(c, 0),
            profile_integer(c, 0) == 1 ? "" : "s", profile_text(c, 1));
    return EMU_OK;
}

static enum emu_status print_other_engines(struct profile *p, FILE *f)
{
    return profile_query(p,
                         "SELECT count(*), engine FROM results WHERE engine <> (SELECT value FROM "
                         "meta WHERE key = 'engine') GROUP BY engine ORDER BY min(point)",
                         print_other_engine, f);
}

static void print_head(struct profile *p, FILE *f)
{
    char what[PROFILE_META_TEXT], machine[PROFILE_META_TEXT], engine[PROFILE_META_TEXT],
        version[PROFILE_META_TEXT];

    profile_meta(p, "what", what);
    profile_meta(p, "machine", machine);
    profile_meta(p, "engine", engine);
    profile_meta(p, "program_version", version);
    fprintf(f, "Sweep of %s on %s, engine %s, superstep %s\n", what, machine, engine, version);
    fprintf(
        f, "%llu points, %llu images, %llu different runs; %llu are not done yet\n",
        (unsigned long long)profile_query_integer(p, "SELECT count(*) FROM points"),
        (unsigned long long)profile_query_integer(p, "SELECT count(DISTINCT image_of) FROM points"),
        (unsigned long long)profile_query_integer(p, "SELECT count(DISTINCT run_of) FROM points"),
        (unsigned long long)profile_query_integer(
            p, "SELECT (SELECT count(*) FROM points) - (SELECT count(*) FROM results)"));
}

/* "NAME=VALUE ..", from pairs. */
static enum emu_status print_setting(void *ctx, const struct profile_cursor *c)
{
    fprintf(ctx, " %s=%s", profile_text(c, 0), profile_text(c, 1));
    return EMU_OK;
}

struct best {
    uint64_t point;
    char number[64];
};

static enum emu_status take_best(void *ctx, const struct profile_cursor *c)
{
    struct best *b = ctx;

    b->point = profile_integer(c, 0);
    snprintf(b->number, sizeof(b->number), "%s", profile_text(c, 1));
    return EMU_OK;
}

static enum emu_status print_best(struct profile *p, const char *title, const char *sql, FILE *f)
{
    struct best b = { .point = 0 };
    char settings[256];

    TRY(profile_query(p, sql, take_best, &b));
    if (!b.point)
        return EMU_OK;
    fprintf(f, "%s %s, point %llu:", title, b.number, (unsigned long long)b.point);
    snprintf(settings, sizeof(settings),
             "SELECT a.name, c.value FROM settings s JOIN axes a USING (axis) JOIN choices c USING "
             "(axis, position) WHERE s.point = %llu AND a.kind <> 'fixed' ORDER BY a.axis",
             (unsigned long long)b.point);
    TRY(profile_query(p, settings, print_setting, f));
    fputc('\n', f);
    return EMU_OK;
}

enum emu_status sweep_report(struct profile *p, FILE *f)
{
    print_head(p, f);
    TRY(print_other_engines(p, f));
    TRY(print_points(p, f));
    TRY(profile_print_sections(p, sections, sizeof(sections) / sizeof(sections[0]), f));
    fputc('\n', f);
    TRY(print_best(p, "Fewest cycles of an input:",
                   "SELECT point, printf('%,d', " PER_INPUT ") FROM results r WHERE status = 'ok' "
                   "ORDER BY " PER_INPUT ", point LIMIT 1",
                   f));
    TRY(print_best(p, "Most inputs a second:",
                   "SELECT point, printf('%.1f', inputs_per_second) FROM results WHERE status = "
                   "'ok' ORDER BY inputs_per_second DESC, point LIMIT 1",
                   f));
    return print_best(p, "Least SRAM built, tiles times KiB:",
                      "SELECT point, printf('%,d', " CHIP " / 1024) FROM results r WHERE status = "
                      "'ok' ORDER BY " CHIP ", point LIMIT 1",
                      f);
}

/* ---- JSON and CSV ---- */

static enum emu_status put_pair(void *ctx, const struct profile_cursor *c)
{
    return json_object_set_new(ctx, profile_text(c, 0), profile_cell_json(c, 1))
               ? FAIL(NO_MEMORY, "the answer")
               : EMU_OK;
}

static enum emu_status put_points(struct profile *p, json_t *o)
{
    enum emu_status s;
    json_t *rows = NULL;
    char *sql;

    TRY(points_query(p, all_columns, "ORDER BY r.point", &sql));
    s = profile_rows_json(p, sql, &rows);
    free(sql); /* allocated by open_memstream() */
    TRY(s);
    return json_object_set_new(o, "points", rows) ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

static enum emu_status put_all(struct profile *p, json_t *o)
{
    TRY(profile_query(p, "SELECT key, value FROM meta", put_pair, o));
    if (json_object_set_new(
            o, "points_all",
            json_integer((json_int_t)profile_query_integer(p, "SELECT count(*) FROM points"))))
        return FAIL(NO_MEMORY, "the answer");
    TRY(put_points(p, o));
    return profile_put_sections(p, sections, sizeof(sections) / sizeof(sections[0]), o);
}

enum emu_status sweep_report_json(struct profile *p, json_t **out)
{
    return profile_object_json(p, put_all, out);
}

enum emu_status sweep_report_csv(struct profile *p, enum sweep_csv which, FILE *f)
{
    enum emu_status s;
    char *sql;

    if (which == SWEEP_CSV_BYTES)
        return profile_print_csv(p,
                                 "SELECT point, category, bytes, fullest_bytes FROM categories "
                                 "ORDER BY point, category",
                                 f);
    TRY(points_query(p, all_columns, "ORDER BY r.point", &sql));
    s = profile_print_csv(p, sql, f);
    free(sql); /* allocated by open_memstream() */
    return s;
}
