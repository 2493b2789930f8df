/* trace_events.c - slices of sync groups, layers and tiles, counters, transfers of the host.
 *
 * Processes are 1 the sync groups, 2 tiles, 3 host streams; of a system of several chips each chip
 * is a process, which has all these rows, and the last process has the outer syncs and a row for
 * each link. Slices of a row are nested or follow each other, and come in order. Transfers of a
 * stream overlap: they are asynchronous events.
 */
#include "emu/profile/trace_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"

enum { GROUPS = 1, TILES = 2, STREAMS = 3 }; /* processes, or parts of a chip's rows */
enum { ROWS = 1 << 20, LINK_ROWS = 1 << 16 /* behind the rows of outer syncs */ };
enum {
    LINK_PLANE = PROFILE_PLANES - 1,
    LAYER_ROW = 1000,
    WAITING_POINTS = 16,
    TILES_MAX = 1 << 20
};

struct tracer {
    struct profile *p; /* borrowed, like f */
    FILE *f;
    int began;         /* an event has been written */
    uint32_t chips;    /* of the system */
    uint32_t chip;     /* whose rows are written; chips: those of links */
    uint32_t *number;  /* owned: what the tiles of a superstep did */
    uint64_t *arrival; /* owned: when they arrived at its end */
    uint32_t tiles;    /* of the largest superstep */
    uint32_t tile;     /* whose row is being written, */
    uint32_t place;    /* its place among those of its sync group, */
    uint32_t group;    /* which is this one */
    /* the layer whose slice is open */
    char *layer; /* owned; NULL: none */
    uint64_t layer_starts, layer_ends;
    uint64_t link;      /* row of a link that is being written, */
    char link_name[64]; /* and what it is called */
};

/* ---- JSON ---- */

/* Bytes that are no ASCII are written by their numbers, so that the file is text whatever a name
 * holds. */
static void print_text(struct tracer *t, const char *text)
{
    fputc('"', t->f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(t->f, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(t->f, "\\u%04x", c);
        else
            fputc(c, t->f);
    }
    fputc('"', t->f);
}

/* Begins an event: everything but its arguments and its end. */
static void begin_event(struct tracer *t, const char *phase, unsigned pid, uint64_t tid,
                        const char *name)
{
    if (t->chips > 1) {
        tid += (uint64_t)(pid - 1) * ROWS;
        pid = t->chip + 1;
    }
    fprintf(t->f,
            "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%" PRIu64 ",\"name\":", t->began ? "," : "",
            phase, pid, tid);
    t->began = 1;
    print_text(t, name);
}

static void print_slice(struct tracer *t, unsigned pid, uint64_t tid, const char *name,
                        uint64_t starts, uint64_t cycles)
{
    begin_event(t, "X", pid, tid, name);
    fprintf(t->f, ",\"ts\":%" PRIu64 ",\"dur\":%" PRIu64 "}", starts, cycles);
}

static void print_counter(struct tracer *t, const char *name, uint64_t at, uint64_t value)
{
    begin_event(t, "C", GROUPS, 0, name);
    fprintf(t->f, ",\"ts\":%" PRIu64 ",\"args\":{\"%s\":%" PRIu64 "}}", at, name, value);
}

/* What a process (tid 0) or a row is called, and where it stands. */
static void print_name(struct tracer *t, const char *what, unsigned pid, uint64_t tid,
                       const char *name)
{
    begin_event(t, "M", pid, tid, what);
    fputs(",\"args\":{\"name\":", t->f);
    print_text(t, name);
    fputs("}}", t->f);
}

/* A chip of several is one process. */
static void name_process(struct tracer *t, unsigned pid, const char *name)
{
    char chip[40];

    snprintf(chip, sizeof(chip), "chip %" PRIu32, t->chip);
    if (t->chips == 1)
        print_name(t, "process_name", pid, 0, name);
    else if (pid == GROUPS)
        print_name(t, "process_name", pid, 0, t->chip < t->chips ? chip : name);
}

/* ---- sync groups ---- */

/* Phases of a superstep, which fill it in this order. */
static void print_phases(struct tracer *t, unsigned pid, uint64_t tid, uint64_t at,
                         const char *const *name, const uint64_t *cycles, size_t phases)
{
    for (size_t i = 0; i < phases; i++) {
        if (cycles[i])
            print_slice(t, pid, tid, name[i], at, cycles[i]);
        at += cycles[i];
    }
}

#define STEP_SQL                                                                                   \
    "SELECT sync_group, number, starts, ends, host, supersteps.exchange, supersteps.compute, "     \
    "wait, supersteps.sync, h_words, words_in, slowest_tile, supersteps.imbalance, "               \
    "ifnull(layers.name, ''), text, link, \"outer\" FROM supersteps JOIN names ON names.id = "     \
    "supersteps.operation LEFT JOIN layers USING (layer) ORDER BY sync_group, supersteps.id"

static enum emu_status print_superstep(void *ctx, const struct profile_cursor *c)
{
    static const char *const phase[] = { "exchange", "link", "compute", "wait", "sync", "outer" };
    struct tracer *t = ctx;
    uint64_t group = profile_integer(c, 0), starts = profile_integer(c, 2),
             ends = profile_integer(c, 3), host = profile_integer(c, 4);
    const uint64_t cycles[] = { profile_integer(c, 5), profile_integer(c, 15),
                                profile_integer(c, 6), profile_integer(c, 7),
                                profile_integer(c, 8), profile_integer(c, 16) };

    if (host)
        print_slice(t, GROUPS, group + 1, "host", starts - host, host);
    begin_event(t, "X", GROUPS, group + 1,
                *profile_text(c, 13) ? profile_text(c, 13) : profile_text(c, 14));
    fprintf(t->f,
            ",\"ts\":%" PRIu64 ",\"dur\":%" PRIu64 ",\"args\":{\"superstep\":%" PRIu64
            ",\"h_words\":%" PRIu64 ",\"words\":%" PRIu64 ",\"slowest_tile\":%" PRIu64
            ",\"imbalance\":%" PRIu64 ",\"operation\":",
            starts, ends - starts, profile_integer(c, 1), profile_integer(c, 9),
            profile_integer(c, 10), profile_integer(c, 11), profile_integer(c, 12));
    print_text(t, profile_text(c, 14));
    fputs("}}", t->f);
    print_phases(t, GROUPS, group + 1, starts, phase, cycles, EMU_COUNT_OF(phase));
    return EMU_OK;
}

static enum emu_status name_group(void *ctx, const struct profile_cursor *c)
{
    char name[80];

    snprintf(name, sizeof(name), "sync group %" PRIu64 " (%" PRIu64 " tiles)",
             profile_integer(c, 0), profile_integer(c, 1));
    print_name(ctx, "thread_name", GROUPS, profile_integer(c, 0) + 1, name);
    return EMU_OK;
}

static void end_layer(struct tracer *t)
{
    if (t->layer)
        print_slice(t, GROUPS, LAYER_ROW, t->layer, t->layer_starts,
                    t->layer_ends - t->layer_starts);
    ss_free(t->layer);
    t->layer = NULL;
}

/* Supersteps of one layer that follow each other are one slice. */
static enum emu_status follow_layer(void *ctx, const struct profile_cursor *c)
{
    struct tracer *t = ctx;
    const char *name = profile_text(c, 0);

    if (t->layer && (strcmp(t->layer, name) != 0 || t->layer_ends != profile_integer(c, 1)))
        end_layer(t);
    t->layer_ends = profile_integer(c, 2);
    if (t->layer)
        return EMU_OK;
    t->layer_starts = profile_integer(c, 1);
    t->layer = emu_strdup(name);
    return t->layer ? EMU_OK : FAIL(NO_MEMORY, "a trace");
}

static enum emu_status print_groups(struct tracer *t)
{
    name_process(t, GROUPS, "sync groups");
    TRY(profile_query(t->p, "SELECT sync_group, max(tiles) FROM supersteps GROUP BY sync_group",
                      name_group, t));
    TRY(profile_query(t->p, STEP_SQL, print_superstep, t));
    if (profile_query_integer(t->p, "SELECT count(*) FROM layers"))
        print_name(t, "thread_name", GROUPS, LAYER_ROW, "layers");
    TRY(profile_query(t->p,
                      "SELECT name, starts, ends FROM supersteps JOIN layers USING (layer) WHERE "
                      "sync_group = 0 ORDER BY id",
                      follow_layer, t));
    end_layer(t);
    return EMU_OK;
}

/* ---- counters of sync group 0 ---- */

static enum emu_status count_words(void *ctx, const struct profile_cursor *c)
{
    uint64_t starts = profile_integer(c, 0), exchange = profile_integer(c, 1);

    if (profile_integer(c, 2)) {
        print_counter(ctx, "words moved", starts, profile_integer(c, 2));
        print_counter(ctx, "words moved", starts + exchange, 0);
    }
    return EMU_OK;
}

static enum emu_status count_bytes(void *ctx, const struct profile_cursor *c)
{
    print_counter(ctx, "bytes live on the fullest tile", profile_integer(c, 0),
                  profile_integer(c, 1));
    return EMU_OK;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* How many tiles have arrived, at some of their arrivals. */
static enum emu_status count_waiting(void *ctx, const struct profile_cursor *c)
{
    struct tracer *t = ctx;
    uint64_t starts = profile_integer(c, 0);
    uint32_t n = (uint32_t)profile_integer(c, 1);

    if (n > t->tiles)
        return FAIL(BAD_FILE, "%.200s: a damaged profile: tiles of a superstep",
                    profile_path(t->p));
    TRY(profile_numbers(c, 2, t->number, (size_t)PROFILE_PLANES * n));
    for (uint32_t k = 0; k < n; k++)
        t->arrival[k] =
            starts + t->number[k] + t->number[n + k] + t->number[(size_t)LINK_PLANE * n + k];
    qsort(t->arrival, n, sizeof(*t->arrival), by_size);
    print_counter(t, "tiles waiting", starts, 0);
    for (uint32_t i = 1; i <= WAITING_POINTS && n; i++) {
        uint32_t k = (uint32_t)((uint64_t)n * i / WAITING_POINTS);

        if (k && (k == n || t->arrival[k - 1] < t->arrival[k]))
            print_counter(t, "tiles waiting", t->arrival[k - 1], k);
    }
    return EMU_OK;
}

static enum emu_status print_counters(struct tracer *t)
{
    TRY(profile_query(t->p,
                      "SELECT starts, exchange, words_in FROM supersteps WHERE sync_group = 0 "
                      "ORDER BY id",
                      count_words, t));
    TRY(profile_query(t->p,
                      "SELECT starts, max(fullest_bytes) FROM supersteps JOIN program ON superstep "
                      "= number WHERE sync_group = 0 GROUP BY supersteps.id",
                      count_bytes, t));
    return profile_query(
        t->p,
        "SELECT starts, tiles, superstep_tiles.cycles FROM supersteps JOIN superstep_tiles ON "
        "superstep = id WHERE sync_group = 0 ORDER BY id",
        count_waiting, t);
}

/* ---- tiles ---- */

static enum emu_status print_tile_step(void *ctx, const struct profile_cursor *c)
{
    static const char *const phase[] = { "exchange", "link", "compute", "wait" };
    static const unsigned plane[] = { 0, LINK_PLANE, 1, 2 };
    struct tracer *t = ctx;
    uint32_t n = (uint32_t)profile_integer(c, 1);
    uint64_t cycles[EMU_COUNT_OF(phase)], all = 0;

    if (n > t->tiles || t->place >= n)
        return FAIL(BAD_FILE, "%.200s: a damaged profile: tiles of a superstep",
                    profile_path(t->p));
    TRY(profile_numbers(c, 2, t->number, (size_t)PROFILE_PLANES * n));
    for (size_t i = 0; i < EMU_COUNT_OF(phase); i++) {
        cycles[i] = t->number[(size_t)plane[i] * n + t->place];
        all += cycles[i];
    }
    begin_event(t, "X", TILES, t->tile + 1, profile_text(c, 3));
    fprintf(t->f,
            ",\"ts\":%" PRIu64 ",\"dur\":%" PRIu64 ",\"args\":{\"words_in\":%" PRIu32
            ",\"words_out\":%" PRIu32 "}}",
            profile_integer(c, 0), all, t->number[3 * n + t->place], t->number[4 * n + t->place]);
    print_phases(t, TILES, t->tile + 1, profile_integer(c, 0), phase, cycles, EMU_COUNT_OF(phase));
    return EMU_OK;
}

static enum emu_status take_group(void *ctx, const struct profile_cursor *c)
{
    struct tracer *t = ctx;

    t->group = (uint32_t)profile_integer(c, 0);
    t->place = (uint32_t)profile_integer(c, 1);
    return EMU_OK;
}

static enum emu_status print_tile(struct tracer *t, uint32_t tile)
{
    char sql[400], name[32];

    t->tile = tile;
    t->group = UINT32_MAX;
    snprintf(sql, sizeof(sql),
             "SELECT sync_group, (SELECT count(*) FROM tiles a WHERE a.sync_group = "
             "tiles.sync_group AND a.tile < tiles.tile) FROM tiles WHERE tile = %" PRIu32,
             tile);
    TRY(profile_query(t->p, sql, take_group, t));
    if (t->group == UINT32_MAX)
        return EMU_OK;
    snprintf(name, sizeof(name), "tile %" PRIu32, tile);
    print_name(t, "thread_name", TILES, tile + 1, name);
    snprintf(sql, sizeof(sql),
             "SELECT starts, supersteps.tiles, superstep_tiles.cycles, ifnull(layers.name, text) "
             "FROM supersteps "
             "JOIN superstep_tiles ON superstep = supersteps.id JOIN names ON names.id = "
             "supersteps.operation LEFT JOIN layers USING (layer) WHERE sync_group = %" PRIu32
             " ORDER BY supersteps.id",
             t->group);
    return profile_query(t->p, sql, print_tile_step, t);
}

static enum emu_status print_io_tile(void *ctx, const struct profile_cursor *c)
{
    return print_tile(ctx, (uint32_t)profile_integer(c, 0));
}

/* IO tiles, which are in groups of their own, always have rows. */
static enum emu_status print_tiles(struct tracer *t, const uint32_t *tile, size_t tiles)
{
    name_process(t, TILES, "tiles");
    for (size_t i = 0; i < tiles; i++)
        TRY(print_tile(t, tile[i]));
    if (tiles)
        return EMU_OK;
    return profile_query(t->p, "SELECT tile FROM tiles WHERE sync_group > 0 ORDER BY tile",
                         print_io_tile, t);
}

/* ---- the host ---- */

static enum emu_status name_stream(void *ctx, const struct profile_cursor *c)
{
    char name[200];

    snprintf(name, sizeof(name), "stream %" PRIu64 " %.120s (%.20s)", profile_integer(c, 0),
             profile_text(c, 1), profile_text(c, 2));
    print_name(ctx, "thread_name", STREAMS, profile_integer(c, 0) + 1, name);
    return EMU_OK;
}

static void print_end_of_transfer(struct tracer *t, const char *phase, uint64_t stream,
                                  uint64_t number, uint64_t at)
{
    begin_event(t, phase, STREAMS, stream + 1, "transfer");
    fprintf(t->f, ",\"cat\":\"host\",\"id\":%" PRIu64 ",\"ts\":%" PRIu64, number, at);
}

static enum emu_status print_transfer(void *ctx, const struct profile_cursor *c)
{
    struct tracer *t = ctx;
    uint64_t number = profile_integer(c, 0), stream = profile_integer(c, 1);

    print_end_of_transfer(t, "b", stream, number, profile_integer(c, 4));
    fprintf(t->f, ",\"args\":{\"tile\":%" PRIu64 ",\"bytes\":%" PRIu64 "}}", profile_integer(c, 2),
            profile_integer(c, 3));
    print_end_of_transfer(t, "e", stream, number, profile_integer(c, 5));
    fputc('}', t->f);
    return EMU_OK;
}

static enum emu_status print_streams(struct tracer *t)
{
    if (!profile_query_integer(t->p, "SELECT count(*) FROM streams"))
        return EMU_OK;
    name_process(t, STREAMS, "host");
    TRY(profile_query(t->p, "SELECT stream, name, direction FROM streams", name_stream, t));
    return profile_query(t->p,
                         "SELECT rowid, stream, tile, bytes, issued, arrived FROM transfers "
                         "ORDER BY stream, issued",
                         print_transfer, t);
}

/* ---- what joins chips ---- */

/* From the arrival of the first chip to the release. */
static enum emu_status print_outer(void *ctx, const struct profile_cursor *c)
{
    struct tracer *t = ctx;
    uint64_t first = profile_integer(c, 3);

    begin_event(t, "X", GROUPS, profile_integer(c, 0) + 1, profile_text(c, 1));
    fprintf(t->f,
            ",\"ts\":%" PRIu64 ",\"dur\":%" PRIu64 ",\"args\":{\"last_chip\":%" PRIu64
            ",\"last_arrival\":%" PRIu64 ",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 "}}",
            first, profile_integer(c, 2) - first, profile_integer(c, 5), profile_integer(c, 4),
            profile_integer(c, 6), profile_integer(c, 7));
    return EMU_OK;
}

static enum emu_status name_outers(void *ctx, const struct profile_cursor *c)
{
    char name[64];

    snprintf(name, sizeof(name), "outer syncs from chip %" PRIu64, profile_integer(c, 0));
    print_name(ctx, "thread_name", GROUPS, profile_integer(c, 0) + 1, name);
    return EMU_OK;
}

/* As long as its bytes take at the full rate, from the release on. */
static enum emu_status print_load(void *ctx, const struct profile_cursor *c)
{
    struct tracer *t = ctx;
    char name[sizeof(t->link_name)];

    snprintf(name, sizeof(name), "%.20s of chip %" PRIu64, profile_text(c, 0),
             profile_integer(c, 1));
    if (strcmp(name, t->link_name) != 0) {
        memcpy(t->link_name, name, sizeof(name));
        print_name(t, "thread_name", GROUPS, ++t->link, name);
    }
    begin_event(t, "X", GROUPS, t->link, profile_text(c, 0));
    fprintf(t->f, ",\"ts\":%" PRIu64 ",\"dur\":%" PRIu64 ",\"args\":{\"bytes\":%" PRIu64 "}}",
            profile_integer(c, 2), profile_integer(c, 3), profile_integer(c, 4));
    return EMU_OK;
}

static enum emu_status print_links(struct tracer *t)
{
    t->chip = t->chips;
    t->link = LINK_ROWS;
    name_process(t, GROUPS, "links");
    TRY(profile_query(t->p, "SELECT DISTINCT first_chip FROM outer_syncs", name_outers, t));
    TRY(profile_query(t->p,
                      "SELECT first_chip, scope, \"release\", first_arrival, last_arrival, "
                      "last_chip, packets, bytes FROM outer_syncs ORDER BY first_chip, outer_sync",
                      print_outer, t));
    return profile_query(t->p,
                         "SELECT kind, chip, \"release\", busy_cycles, link_loads.bytes FROM "
                         "link_loads JOIN outer_syncs USING (outer_sync) ORDER BY kind, chip, "
                         "\"release\"",
                         print_load, t);
}

/* ---- all of it ---- */

static enum emu_status print_chip(struct tracer *t, const uint32_t *tile, size_t tiles)
{
    TRY(print_groups(t));
    TRY(print_counters(t));
    TRY(print_tiles(t, tile, tiles));
    return print_streams(t);
}

static enum emu_status print_chips(struct tracer *t, const uint32_t *tile, size_t tiles)
{
    if (t->chips == 1)
        return print_chip(t, tile, tiles);
    for (t->chip = 0; t->chip < t->chips; t->chip++) {
        TRY(profile_choose_chip(t->p, t->chip));
        TRY(print_chip(t, tile, tiles));
    }
    TRY(profile_choose_chip(t->p, PROFILE_ALL_CHIPS));
    return print_links(t);
}

static enum emu_status print_all(struct tracer *t, const uint32_t *tile, size_t tiles)
{
    char command[PROFILE_META_TEXT];

    profile_meta(t->p, "command", command);
    fputs(
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":\"1 us is 1 cycle of the tile clock\","
        "\"command\":",
        t->f);
    print_text(t, command);
    fputs("},\"traceEvents\":[", t->f);
    TRY(print_chips(t, tile, tiles));
    fputs("\n]}\n", t->f);
    return EMU_OK;
}

enum emu_status trace_events_write(struct profile *p, const uint32_t *tile, size_t tiles, FILE *f)
{
    struct tracer t = { .p = p, .f = f, .chips = profile_chips(p) };
    uint64_t most = profile_query_integer(p, "SELECT max(tiles) FROM supersteps");
    enum emu_status s;

    t.tiles = (uint32_t)(most < TILES_MAX ? most : TILES_MAX);
    t.number = emu_alloc((size_t)t.tiles + 1, PROFILE_PLANES * sizeof(*t.number));
    t.arrival = emu_alloc((size_t)t.tiles + 1, sizeof(*t.arrival));
    s = t.number && t.arrival ? print_all(&t, tile, tiles) : FAIL(NO_MEMORY, "a trace");
    ss_free(t.number);
    ss_free(t.arrival);
    ss_free(t.layer);
    return s;
}
