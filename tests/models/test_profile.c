/* test_profile.c - the profile of a small network: its parts add up to the run and to each other,
 * the queries of docs/profile.md have answers, and damaged or foreign files are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/profile/profile_compare.h"
#include "emu/profile/profile_report.h"
#include "emu/profile/report_page.h"
#include "emu/profile/trace_events.h"
#include "models/cli/commands_models.h"
#include "tests/fixtures/quiet_run.h"

enum { TILES = 128, NUMBERS_MAX = 1 << 20 };

static char path[] = "/tmp/test_profile_XXXXXX";
static uint8_t *file;
static size_t file_bytes;

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

static int run_network(void **state)
{
    char *argv[] = { "run",
                     "efficientnet-b0",
                     "--resolution",
                     "32",
                     "--set",
                     "tiles=128",
                     "--no-cache",
                     "--quiet",
                     "--engine",
                     "timing",
                     "--profile",
                     path,
                     "--threads",
                     "1",
                     NULL };
    struct stat st;
    FILE *f;

    (void)state;
    close(mkstemp(path));
    if (quiet_run((int)EMU_COUNT_OF(argv) - 1, argv, 1) != EXIT_RAN)
        return -1;
    f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st))
        return -1;
    file_bytes = (size_t)st.st_size;
    file = malloc(file_bytes);
    if (!file || fread(file, 1, file_bytes, f) != file_bytes)
        return -1;
    fclose(f);
    return 0;
}

static int remove_network(void **state)
{
    (void)state;
    free(file);
    return unlink(path);
}

static struct profile *read_it(void)
{
    struct profile *p;

    must(profile_read(path, &p));
    return p;
}

/* ---- sums ---- */

static void cycles_add_up(void **state)
{
    struct profile *p = read_it();
    uint64_t cycles = profile_query_integer(p, "SELECT value FROM meta WHERE key = 'cycles'");

    (void)state;
    assert_true(cycles > 0);
    assert_int_equal(cycles, profile_query_integer(p, "SELECT sum(host + exchange + compute + wait "
                                                      "+ sync) FROM supersteps"));
    assert_int_equal(cycles, profile_query_integer(p, "SELECT max(ends) FROM supersteps"));
    assert_int_equal(cycles, profile_query_integer(p, "SELECT sum(cycles) FROM layers"));
    assert_int_equal(0, profile_query_integer(p, "SELECT count(*) FROM supersteps WHERE "
                                                 "mean_compute > largest_compute OR h_words > "
                                                 "max(words_in, words_out)"));
    assert_true(
        profile_query_integer(p, "SELECT count(*) FROM supersteps WHERE layer IS NOT NULL") > 50);
    profile_free(p);
}

/* What the packed numbers of all supersteps add up to. */
struct unpacked {
    struct profile *p;
    uint64_t sum[PROFILE_PLANES];
    uint64_t largest, steps;
};

static enum emu_status unpack_step(void *ctx, const struct profile_cursor *c)
{
    struct unpacked *u = ctx;
    uint32_t number[PROFILE_PLANES * TILES], tiles = (uint32_t)profile_integer(c, 1);
    uint64_t largest = 0;

    assert_true(tiles <= TILES);
    must(profile_numbers(c, 0, number, (size_t)PROFILE_PLANES * tiles));
    for (unsigned j = 0; j < PROFILE_PLANES; j++) {
        for (uint32_t k = 0; k < tiles; k++)
            u->sum[j] += number[j * tiles + k];
    }
    for (uint32_t k = 0; k < tiles; k++)
        largest = number[tiles + k] > largest ? number[tiles + k] : largest;
    assert_int_equal(largest, profile_integer(c, 2));
    u->steps++;
    return EMU_OK;
}

static void tiles_add_up(void **state)
{
    static const char *const column[] = { "exchange",  "compute",     "wait",         "words_in",
                                          "words_out", "messages_in", "messages_out", "link" };
    struct unpacked u = { .p = read_it() };

    (void)state;
    must(profile_query(u.p,
                       "SELECT cycles, tiles, largest_compute FROM superstep_tiles JOIN supersteps "
                       "ON id = superstep",
                       unpack_step, &u));
    assert_int_equal(u.steps, profile_query_integer(u.p, "SELECT count(*) FROM supersteps"));
    for (unsigned j = 0; j < PROFILE_PLANES; j++) {
        char sql[80];

        snprintf(sql, sizeof(sql), "SELECT sum(%s) FROM tiles", column[j]);
        assert_int_equal(u.sum[j], profile_query_integer(u.p, sql));
    }
    profile_free(u.p);
}

static enum emu_status unpack_map(void *ctx, const struct profile_cursor *c)
{
    static uint32_t number[NUMBERS_MAX];
    size_t n = profile_integer(c, 0);
    uint64_t bytes = 0, end = 0;

    assert_true(4 * n <= NUMBERS_MAX);
    must(profile_numbers(c, 1, number, 4 * n));
    for (size_t i = 0; i < n; i++) {
        assert_true(number[i] >= end); /* ascending, disjoint */
        end = (uint64_t)number[i] + number[n + i];
        bytes += number[n + i];
    }
    assert_int_equal(bytes, profile_integer(c, 2));
    *(uint64_t *)ctx += bytes;
    return EMU_OK;
}

static void memory_adds_up(void **state)
{
    struct profile *p = read_it();
    uint64_t bytes = 0;

    (void)state;
    must(profile_query(p, "SELECT ranges, map, used_bytes FROM tile_maps JOIN tiles USING (tile)",
                       unpack_map, &bytes));
    assert_true(bytes > 0);
    assert_int_equal(bytes, profile_query_integer(p, "SELECT sum(bytes) FROM tile_bytes"));
    assert_int_equal(bytes, profile_query_integer(p, "SELECT sum(bytes) FROM owners"));
    assert_int_equal(0, profile_query_integer(
                            p, "SELECT count(*) FROM owners WHERE most_bytes * tiles < bytes OR "
                               "owner NOT IN (SELECT id FROM names)"));
    assert_true(profile_query_integer(p, "SELECT count(*) FROM lifetimes") > 0);
    assert_true(profile_query_integer(p, "SELECT count(*) FROM tile_variables") > TILES / 2);
    profile_free(p);
}

/* ---- the page ---- */

static enum emu_status count_row(void *ctx, const struct profile_cursor *c)
{
    assert_true(profile_columns(c) > 0);
    ++*(unsigned *)ctx;
    return EMU_OK;
}

static void queries_of_the_page(void **state)
{
    FILE *f = fopen("docs/profile.md", "r");
    struct profile *p = read_it();
    char line[400], sql[2000] = "";
    unsigned queries = 0;
    int inside = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        unsigned rows = 0;

        if (!strcmp(line, "```sql\n")) {
            inside = 1;
            sql[0] = '\0';
        } else if (inside && !strcmp(line, "```\n")) {
            inside = 0;
            must(profile_query(p, sql, count_row, &rows));
            if (!rows)
                fail_msg("no rows: %s", sql);
            queries++;
        } else if (inside) {
            assert_true(strlen(sql) + strlen(line) < sizeof(sql));
            strcat(sql, line);
        }
    }
    fclose(f);
    assert_int_equal(queries, 10);
    profile_free(p);
}

static enum emu_status check_bsp(void *ctx, const struct profile_cursor *c)
{
    double g = profile_real(c, 0), l = profile_real(c, 1), w = profile_real(c, 2),
           h = profile_real(c, 3), n = profile_real(c, 4), measured = profile_real(c, 5);

    assert_true(g > 0.999 && g < 1.001 && l > 120 && l < 400);
    assert_in_range((uint64_t)(100 * (w + g * h + l * n) / measured), 75, 125);
    ++*(unsigned *)ctx;
    return EMU_OK;
}

/* The model is near what was measured. */
static void bsp_model(void **state)
{
    struct profile *p = read_it();
    unsigned rows = 0;

    (void)state;
    must(profile_query(p,
                       "SELECT g.value, l.value, sum(largest_compute), sum(h_words), count(*), "
                       "sum(ends - starts) FROM supersteps, meta g, meta l WHERE g.key = 'bsp_g' "
                       "AND l.key = 'bsp_l'",
                       check_bsp, &rows));
    assert_int_equal(rows, 1);
    profile_free(p);
}

static void reports(void **state)
{
    struct profile *p = read_it();
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    json_t *o;

    (void)state;
    must(profile_report(p, f));
    must(profile_report_csv(p, PROFILE_CSV_TILES, f));
    must(profile_report_tile(p, 0, 3, f));
    assert_int_equal(profile_report_tile(p, 0, TILES, f), EMU_USAGE);
    fclose(f);
    assert_non_null(strstr(text, "efficientnet-b0 --set tiles=128"));
    assert_non_null(strstr(text, "\ntile,sync_group,used_bytes,"));
    assert_non_null(strstr(text, "exchange code"));
    free(text);
    must(profile_report_json(p, &o));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "machine"), "tiles")),
                     TILES);
    assert_int_equal(json_array_size(json_object_get(o, "layers")),
                     profile_query_integer(p, "SELECT count(*) FROM layers WHERE cycles"));
    assert_true(json_array_size(json_object_get(o, "faults")) == 0);
    json_decref(o);
    profile_free(p);
}

/* ---- the timeline ---- */

enum { ROWS_MAX = 64, DEPTH_MAX = 8 };

/* What is open on a row of the trace, or the last point of a counter. */
struct trace_row {
    json_int_t pid, tid;
    const char *counter; /* NULL: slices */
    json_int_t last, ends[DEPTH_MAX];
    unsigned depth;
};

struct trace_check {
    struct trace_row row[ROWS_MAX];
    unsigned rows, slices, begun, ended;
    json_int_t outer_cycles; /* of slices of sync group 0 that are in no other */
};

static json_int_t number(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    assert_true(json_is_integer(v) && json_integer_value(v) >= 0);
    return json_integer_value(v);
}

static struct trace_row *row_of(struct trace_check *t, const json_t *e, const char *counter)
{
    json_int_t pid = number(e, "pid"), tid = number(e, "tid");
    unsigned i = 0;

    while (i < t->rows &&
           (t->row[i].pid != pid || t->row[i].tid != tid || !counter != !t->row[i].counter ||
            (counter && strcmp(counter, t->row[i].counter) != 0)))
        i++;
    assert_true(i < ROWS_MAX);
    if (i == t->rows)
        t->row[t->rows++] = (struct trace_row){ .pid = pid, .tid = tid, .counter = counter };
    return &t->row[i];
}

/* In order; a slice ends before the one that it is in. */
static void check_slice(struct trace_check *t, const json_t *e)
{
    struct trace_row *r = row_of(t, e, NULL);
    json_int_t starts = number(e, "ts"), ends = starts + number(e, "dur");

    assert_true(starts >= r->last);
    r->last = starts;
    while (r->depth && r->ends[r->depth - 1] <= starts)
        r->depth--;
    assert_true(!r->depth || ends <= r->ends[r->depth - 1]);
    assert_true(r->depth < DEPTH_MAX);
    if (!r->depth && r->pid == 1 && r->tid == 1)
        t->outer_cycles += ends - starts;
    r->ends[r->depth++] = ends;
    t->slices++;
}

static void check_event(struct trace_check *t, const json_t *e)
{
    const char *phase = json_string_value(json_object_get(e, "ph")),
               *name = json_string_value(json_object_get(e, "name"));

    assert_true(phase && strlen(phase) == 1 && name && *name);
    switch (*phase) {
    case 'X':
        check_slice(t, e);
        break;
    case 'C': {
        struct trace_row *r = row_of(t, e, name);

        assert_true(number(e, "ts") >= r->last);
        r->last = number(e, "ts");
        number(json_object_get(e, "args"), name);
        break;
    }
    case 'b':
    case 'e':
        number(e, "id");
        number(e, "ts");
        *(*phase == 'b' ? &t->begun : &t->ended) += 1;
        break;
    default:
        assert_int_equal(*phase, 'M');
        assert_true(json_is_string(json_object_get(json_object_get(e, "args"), "name")));
    }
}

static struct trace_check check_trace(const char *text, size_t bytes)
{
    struct trace_check t = { .rows = 0 };
    json_error_t error;
    json_t *o = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error), *e;
    size_t i;

    if (!o)
        fail_msg("line %d: %s", error.line, error.text);
    json_array_foreach(json_object_get(o, "traceEvents"), i, e) check_event(&t, e);
    json_decref(o);
    return t;
}

static struct trace_check trace_of(struct profile *p, const uint32_t *tile, size_t tiles)
{
    struct trace_check t;
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    must(trace_events_write(p, tile, tiles, f));
    fclose(f);
    t = check_trace(text, bytes);
    free(text);
    return t;
}

static void timeline(void **state)
{
    static const uint32_t tile[] = { 0, 5, TILES - 1 };
    struct profile *p = read_it();
    struct trace_check without = trace_of(p, NULL, 0), with = trace_of(p, tile, 3);
    uint64_t steps = profile_query_integer(p, "SELECT count(*) FROM supersteps");

    (void)state;
    assert_int_equal(with.outer_cycles,
                     profile_query_integer(p, "SELECT value FROM meta WHERE key = 'cycles'"));
    assert_int_equal(without.rows, 5); /* the group, layers, three counters */
    assert_int_equal(with.rows, 8);
    assert_true(without.slices > 2 * steps);
    assert_true(with.slices > without.slices + 3 * steps);
    assert_int_equal(with.begun, 0);
    profile_free(p);
}

/* Two sync groups, IO tiles, streams. */
static void timeline_of_streams(void **state)
{
    char db[] = "/tmp/test_profile_XXXXXX",
         *argv[] = { "run", "stream", "--quiet", "--profile", db, NULL };
    struct trace_check t;
    struct profile *p;

    (void)state;
    close(mkstemp(db));
    assert_int_equal(quiet_run(5, argv, 1), EXIT_RAN);
    must(profile_read(db, &p));
    t = trace_of(p, NULL, 0);
    assert_true(t.begun > 10);
    assert_int_equal(t.begun, t.ended);
    assert_int_equal(t.begun, profile_query_integer(p, "SELECT sum(transfers) FROM streams"));
    assert_int_equal(0, profile_query_integer(p, "SELECT count(*) FROM transfers JOIN tiles USING "
                                                 "(tile) WHERE issued >= arrived"));
    assert_int_equal(profile_query_integer(p, "SELECT sum(bytes) FROM transfers"),
                     profile_query_integer(p, "SELECT sum(bytes) FROM streams"));
    assert_int_equal(t.rows, 2 + 4 + 2); /* groups, IO tiles, counters of words and waiting */
    profile_free(p);
    unlink(db);
}

/* ---- two runs ---- */

static json_t *row_of_key(const json_t *rows, const char *key, const char *value)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (!strcmp(json_string_value(json_object_get(row, key)), value))
            return row;
    }
    return NULL;
}

static json_int_t sum_of(const json_t *rows, const char *key)
{
    json_int_t sum = 0;
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) sum += json_integer_value(json_object_get(row, key));
    return sum;
}

/* Fewer tiles and another kind of exchange: what differs by layer adds up to what differs. */
static void two_runs(void **state)
{
    char db[] = "/tmp/test_profile_XXXXXX",
         *argv[] = { "run",        "efficientnet-b0", "--resolution", "32",
                     "--set",      "tiles=96",        "--set",        "sync_chip_cycles=99",
                     "--no-cache", "--quiet",         "--engine",     "timing",
                     "--exchange", "memory",          "--profile",    db,
                     NULL };
    struct profile *a = read_it(), *b;
    json_t *o, *cycles;

    (void)state;
    close(mkstemp(db));
    assert_int_equal(quiet_run((int)EMU_COUNT_OF(argv) - 1, argv, 1), EXIT_RAN);
    must(profile_read(db, &b));
    must(profile_compare_json(a, b, &o));
    profile_free(b);
    unlink(db);
    cycles = row_of_key(json_object_get(o, "totals"), "what", "cycles");
    assert_true(json_integer_value(json_object_get(cycles, "difference")) != 0);
    assert_int_equal(json_integer_value(json_object_get(cycles, "difference")),
                     sum_of(json_object_get(o, "layers"), "difference"));
    assert_int_equal(sum_of(json_object_get(o, "layers"), "cycles_a"),
                     json_integer_value(json_object_get(cycles, "a")));
    assert_int_equal(json_array_size(json_object_get(o, "options")), 2); /* set, exchange */
    assert_string_equal(json_string_value(json_object_get(
                            row_of_key(json_object_get(o, "options"), "name", "set"), "b")),
                        "tiles=96, sync_chip_cycles=99");
    assert_int_equal(json_array_size(json_object_get(o, "machine")), 2);
    assert_int_equal(
        sum_of(json_object_get(o, "memory"), "difference"),
        json_integer_value(json_object_get(
            row_of_key(json_object_get(o, "totals"), "what", "bytes on all tiles"), "difference")));
    json_decref(o);
    profile_free(a);
}

static void a_run_and_itself(void **state)
{
    struct profile *a = read_it(), *b = read_it();
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    must(profile_compare(a, b, f));
    fclose(f);
    assert_non_null(strstr(text, "both take"));
    assert_null(strstr(text, "Options"));
    assert_null(strstr(text, "Layers"));
    free(text);
    profile_free(a);
    profile_free(b);
}

/* ---- the page ---- */

/* Its data are those of the profile, no text of a run can end them, and it names no other file. */
static void page(void **state)
{
    static const char begin[] = "<script id=\"data\" type=\"application/json\">",
                      end[] = "</script>";
    struct profile *p = read_it();
    char *text = NULL, *data, *stop, sql[120];
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    json_t *list, *o, *rows;

    (void)state;
    must(report_page_write(p, NULL, f));
    fclose(f);
    data = strstr(text, begin);
    assert_non_null(data);
    data += strlen(begin);
    stop = strstr(data, end);
    assert_non_null(stop);
    assert_null(memchr(data, '<', (size_t)(stop - data)));
    list = json_loadb(data, (size_t)(stop - data), JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_array_size(list), 1);
    o = json_array_get(list, 0);
    rows = json_object_get(json_object_get(o, "tiles"), "rows");
    assert_int_equal(json_array_size(rows), profile_query_integer(p, "SELECT count(*) FROM tiles"));
    rows = json_array_get(json_array_get(rows, 7), 13); /* bytes by category of tile 7 */
    assert_int_equal(json_array_size(rows), json_array_size(json_object_get(o, "categories")));
    snprintf(sql, sizeof(sql), "SELECT bytes FROM tile_bytes WHERE tile = 7 AND category = '%s'",
             json_string_value(json_array_get(json_object_get(o, "categories"), 0)));
    assert_true(profile_query_integer(p, sql) > 0);
    assert_int_equal(json_integer_value(json_array_get(rows, 0)), profile_query_integer(p, sql));
    assert_int_equal(json_array_size(json_object_get(json_object_get(o, "supersteps"), "rows")),
                     profile_query_integer(p, "SELECT count(*) FROM supersteps"));
    assert_null(strstr(text, "http"));
    assert_null(strstr(text, "src="));
    assert_non_null(strstr(text, "id=\"blob-A-maps-0\""));
    assert_non_null(strstr(text, "id=\"blob-A-pairs-1\""));
    json_decref(list);
    free(text);
    profile_free(p);
}

/* ---- damage ---- */

static void refuse(const void *data, size_t bytes, const char *message)
{
    struct profile *p;

    assert_int_equal(profile_read_bytes(data, bytes, "x.db", &p), EMU_BAD_FILE);
    assert_null(p);
    if (strncmp(ss_error() + strcspn(ss_error(), "x"), "x.db", 4) || !strstr(ss_error(), message))
        fail_msg("\"%s\" does not say \"%s\"", ss_error(), message);
}

/* A database after some SQL; sqlite3_free it. */
static unsigned char *database(const void *from, size_t from_bytes, const char *sql,
                               sqlite3_int64 *bytes)
{
    unsigned char *copy = sqlite3_malloc64(from_bytes + 1), *out;
    sqlite3 *db;

    memcpy(copy, from, from_bytes);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    if (from_bytes)
        assert_int_equal(sqlite3_deserialize(
                             db, "main", copy, (sqlite3_int64)from_bytes, (sqlite3_int64)from_bytes,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
                         SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    out = sqlite3_serialize(db, "main", bytes, 0);
    sqlite3_close(db);
    return out;
}

static void refuse_after(size_t from_bytes, const char *sql, const char *message)
{
    sqlite3_int64 bytes;
    unsigned char *data = database(file, from_bytes, sql, &bytes);

    refuse(data, (size_t)bytes, message);
    sqlite3_free(data);
}

static void foreign_files(void **state)
{
    struct profile *p;

    (void)state;
    refuse("no database at all, but longer than a header of one hundred bytes would be, so that it "
           "is read to the end",
           120, "no profile");
    refuse("", 0, "no profile");
    refuse(file, 100, "");
    refuse(file, file_bytes / 2, "damaged");
    refuse_after(0, "CREATE TABLE t(x)", "no profile");
    refuse_after(file_bytes, "PRAGMA user_version = 4", "version 4");
    refuse_after(file_bytes, "CREATE TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END",
                 "no profile");
    refuse_after(file_bytes,
                 "DROP TABLE faults; CREATE VIEW faults AS WITH RECURSIVE r(kind, text, tile, "
                 "superstep, cycle) AS (SELECT 1, 1, 1, 1, 1 UNION ALL SELECT * FROM r) SELECT * "
                 "FROM r",
                 "no profile");
    assert_int_equal(profile_read("/nowhere/x.db", &p), EMU_IO);
}

/* Whatever byte is damaged, of the file's header or of those that begin a page: refused, or read to
 * the end. */
static void damaged_bytes(void **state)
{
    uint8_t *copy = malloc(file_bytes);
    FILE *f = fopen("/dev/null", "w");
    unsigned refused = 0;

    (void)state;
    for (size_t at = 0, n = 0; at < file_bytes; at += at < 4096 ? 29 : 4097, n++) {
        struct profile *p;
        enum emu_status s;

        memcpy(copy, file, file_bytes);
        copy[at < 4096 ? at : at / 4096 * 4096 + n % 12] ^= (uint8_t)(1u << n % 8);
        s = profile_read_bytes(copy, file_bytes, "x.db", &p);
        if (s == EMU_OK)
            s = profile_report(p, f);
        refused += s != EMU_OK;
        assert_true(s == EMU_OK || s == EMU_BAD_FILE);
        profile_free(p);
    }
    assert_in_range(refused, 50, 10000);
    fclose(f);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_add_up),    cmocka_unit_test(tiles_add_up),
        cmocka_unit_test(memory_adds_up),   cmocka_unit_test(queries_of_the_page),
        cmocka_unit_test(bsp_model),        cmocka_unit_test(reports),
        cmocka_unit_test(timeline),         cmocka_unit_test(timeline_of_streams),
        cmocka_unit_test(two_runs),         cmocka_unit_test(page),
        cmocka_unit_test(a_run_and_itself), cmocka_unit_test(foreign_files),
        cmocka_unit_test(damaged_bytes),
    };

    return cmocka_run_group_tests(tests, run_network, remove_network);
}
