/* test_pod_profile.c - bills and profiles of systems of several chips: parts add up to the cycles
 * of every chip, the profile has what the system has counted, and all its pictures show it. */
#include "tests/fixtures/pod_fixture.h"

#include <jansson.h>
#include <sqlite3.h>

#include "emu/load/image.h"
#include "emu/profile/bill.h"
#include "emu/profile/profile_report.h"
#include "emu/profile/report_page.h"
#include "emu/profile/trace_events.h"

/* Chips come to the first sync one after the other, the last one latest; then every tile sends 8
 * words to the same tile of the next chip; then they meet again. */
static const char uneven[] =
    "start: setzi $m1, 40 * CHIP + 5\n1: brnzdec $m1, 1b\nsync 6\n"
    "setzi $m3, 8\nput $INCOMING_DCOUNT, $m3\nsend 1, head, 4\nsend 8 - 1, words, 4\nsync 0\n"
    "setzi $m1, 30\n2: brnzdec $m1, 2b\nsync 5\nsync 7\n.align 8\n"
    "head:\n" POD_HEADER("(CHIP + 1) % COUNT", "TILE", "BASE + 0x3400", "8") "words:\n.rept 8\n"
                                                                             ".long 7\n.endr\n";

static void run_chips(struct chips *c, unsigned chips)
{
    char set[32], text[sizeof(uneven) + 32];

    snprintf(set, sizeof(set), "chips=%u", chips);
    chips_new(c, "toy4", set, NULL, NULL);
    if (chips > 1) {
        snprintf(text, sizeof(text), ".set COUNT, %u\n%s", chips, uneven);
        chips_program_all(c, text);
    } else {
        chips_program_all(c, "start: setzi $m1, 50\n1: brnzdec $m1, 1b\nsync 5\nsync 7\n");
    }
    chips_stop(c, MACHINE_HOST);
    assert_int_equal(pod_finish(c->pod), EMU_OK);
}

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

/* ---- bills ---- */

static void bill_of_chip(const struct chips *c, uint32_t chip)
{
    const struct record *r = c->chip[chip].record;
    struct bill sum = ss_bill_of_group(r, 0), step;
    uint64_t end = 0, link = 0;

    for (size_t i = 0; i < record_count(r); i++) {
        const struct record_step *s = record_at(r, i);

        step = ss_bill_of_step(r, i);
        assert_int_equal(step.total, s->end - end);
        assert_int_equal(step.outer > 0, s->scope == SCOPE_POD || s->scope == SCOPE_REPLICA);
        link += step.link;
        end = s->end;
    }
    assert_int_equal(sum.total, machine_cycles(pod_machine(c->pod, chip)));
    assert_int_equal(sum.total, sum.host + sum.exchange + sum.link + sum.compute + sum.wait +
                                    sum.sync + sum.outer);
    assert_int_equal(link > 0, c->count > 1);
    assert_int_equal(ss_bill_joins_chips(r), c->count > 1);
}

static void parts_add_up(void **state)
{
    (void)state;
    for (unsigned chips = 1; chips <= 4; chips *= 2) {
        struct chips c;

        run_chips(&c, chips);
        for (uint32_t chip = 0; chip < chips; chip++)
            bill_of_chip(&c, chip);
        /* Who comes later waits less. */
        for (uint32_t chip = 1; chip < chips; chip++)
            assert_int_equal(ss_bill_of_step(c.chip[chip - 1].record, 0).outer,
                             ss_bill_of_step(c.chip[chip].record, 0).outer + 40 * 6);
        chips_free(&c);
    }
}

/* ---- profiles ---- */

struct written {
    struct chips c;
    struct image *im;
    char *data;
    size_t bytes;
    struct profile *p; /* read from data */
};

static void make_image(struct written *w)
{
    must(image_new(&w->c.chip[0].arch, &w->im));
    for (uint32_t i = 0; i < 4 * w->c.count; i++)
        must(image_add_tile(w->im,
                            &(struct image_tile){
                                .chip = i / 4, .tile = i % 4, .entry = w->c.chip[0].arch.mem_base },
                            NULL, 0));
}

static void write_profile(struct written *w, unsigned chips)
{
    struct profile *p;
    FILE *f;

    run_chips(&w->c, chips);
    make_image(w);
    must(profile_new(1, &p));
    PROFILE_ROW(p, "meta", PROFILE_T("cycles"), PROFILE_I(pod_cycles(w->c.pod)));
    profile_add_program(p, w->im);
    for (uint32_t chip = 0; chip < chips; chip++)
        must(profile_add_chip(
            p, w->im, &(struct profile_chip){ .chip = chip, .record = w->c.chip[chip].record }));
    profile_add_pod(p, w->c.pod);
    f = open_memstream(&w->data, &w->bytes);
    must(profile_write(p, f));
    fclose(f);
    profile_free(p);
    must(profile_read_bytes(w->data, w->bytes, "pod.db", &w->p));
}

static void written_free(struct written *w)
{
    profile_free(w->p);
    ss_image_free(w->im);
    free(w->data);
    chips_free(&w->c);
}

static uint64_t ask(struct written *w, const char *sql, uint32_t chip)
{
    char text[400];

    snprintf(text, sizeof(text), sql, chip);
    return profile_query_integer(w->p, text);
}

static void check_chip(struct written *w, uint32_t chip)
{
    const struct record *r = w->c.chip[chip].record;

    assert_int_equal(ask(w,
                         "SELECT sum(host + exchange + link + compute + wait + sync + "
                         "\"outer\") FROM supersteps WHERE chip = %u",
                         chip),
                     machine_cycles(pod_machine(w->c.pod, chip)));
    assert_int_equal(ask(w, "SELECT count(*) FROM supersteps WHERE chip = %u", chip),
                     record_count(r));
    assert_int_equal(ask(w, "SELECT count(*) FROM tiles WHERE chip = %u", chip), 4);
    assert_int_equal(ask(w, "SELECT stage FROM chips WHERE chip = %u", chip), chip);
    assert_int_equal(ask(w, "SELECT rung FROM chips WHERE chip = %u", chip), chip / 2);
    assert_int_equal(ask(w, "SELECT sum(link) FROM tiles WHERE chip = %u", chip) > 0,
                     w->c.count > 1);
}

static void rows_of_chips(void **state)
{
    (void)state;
    for (unsigned chips = 1; chips <= 4; chips *= 2) {
        struct written w;
        uint64_t bytes = 32 * 4 * chips;

        write_profile(&w, chips);
        for (uint32_t chip = 0; chip < chips; chip++)
            check_chip(&w, chip);
        assert_int_equal(profile_chips(w.p), chips);
        assert_int_equal(ask(&w, "SELECT count(*) FROM outer_syncs", 0), chips > 1 ? 2 : 0);
        assert_int_equal(ask(&w, "SELECT sum(bytes) FROM outer_syncs", 0), chips > 1 ? bytes : 0);
        if (chips == 2) /* each word passes one link */
            assert_int_equal(ask(&w, "SELECT sum(bytes) FROM link_loads WHERE kind = 'pair'", 0),
                             bytes);
        assert_int_equal(ask(&w, "SELECT last_chip FROM outer_syncs WHERE outer_sync = 0", 0),
                         chips - 1);
        written_free(&w);
    }
}

static void queries_of_one_chip(void **state)
{
    struct written w;

    (void)state;
    write_profile(&w, 4);
    must(profile_choose_chip(w.p, 2));
    assert_int_equal(ask(&w, "SELECT count(*) FROM supersteps", 0),
                     record_count(w.c.chip[2].record));
    assert_int_equal(ask(&w, "SELECT max(chip) + min(chip) FROM tiles", 0), 4);
    assert_int_equal(profile_choose_chip(w.p, 4), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "expected a chip below 4, got 4"));
    must(profile_choose_chip(w.p, PROFILE_ALL_CHIPS));
    assert_int_equal(ask(&w, "SELECT count(*) FROM tiles", 0), 16);
    written_free(&w);
}

/* ---- what is shown ---- */

static char *report_of(struct profile *p)
{
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    must(profile_report(p, f));
    must(profile_report_csv(p, PROFILE_CSV_STEPS, f));
    must(profile_report_csv(p, PROFILE_CSV_TILES, f));
    fclose(f);
    return text;
}

static void reports(void **state)
{
    static const char *const of_chips[] = { "\nChips: ",
                                            "Who waits for whom",
                                            "\nLinks: ",
                                            "  link  ",
                                            "outer",
                                            "on 2 chips of ",
                                            "links and other chips",
                                            "exchange + link + compute",
                                            "id,chip,",
                                            "\nchip,tile," };

    (void)state;
    for (unsigned chips = 1; chips <= 2; chips++) {
        struct written w;
        json_t *o;
        char *text;

        write_profile(&w, chips);
        text = report_of(w.p);
        for (size_t i = 0; i < EMU_COUNT_OF(of_chips); i++) {
            if (!strstr(text, of_chips[i]) != (chips == 1))
                fail_msg("%u chips, \"%s\":\n%s", chips, of_chips[i], text);
        }
        must(profile_report_json(w.p, &o));
        assert_int_equal(json_array_size(json_object_get(o, "chips")), chips > 1 ? chips : 0);
        assert_int_equal(json_array_size(json_object_get(o, "waits")), chips - 1);
        assert_int_equal(json_array_size(json_object_get(o, "links")), chips > 1 ? 2 : 0);
        json_decref(o);
        free(text);
        written_free(&w);
    }
}

/* A process for each chip, and one for links. */
static void timeline(void **state)
{
    struct written w;
    json_t *o, *events, *e;
    char *text, names[200] = "";
    size_t bytes, i;
    json_int_t outer = 0, loads = 0;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    write_profile(&w, 2);
    must(trace_events_write(w.p, (const uint32_t[]){ 0, 3 }, 2, f));
    fclose(f);
    o = json_loads(text, 0, NULL);
    assert_non_null(o);
    events = json_object_get(o, "traceEvents");
    json_array_foreach(events, i, e)
    {
        const char *name = json_string_value(json_object_get(e, "name"));
        json_int_t pid = json_integer_value(json_object_get(e, "pid"));

        assert_in_range(pid, 1, 3);
        if (!strcmp(name, "process_name"))
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%d %s;", (int)pid,
                     json_string_value(json_object_get(json_object_get(e, "args"), "name")));
        if (!strcmp(name, "outer") && pid < 3)
            outer += json_integer_value(json_object_get(e, "dur"));
        if (!strcmp(name, "pair") && pid == 3)
            loads += json_integer_value(json_object_get(json_object_get(e, "args"), "bytes"));
    }
    assert_string_equal(names, "1 chip 0;2 chip 1;3 links;");
    assert_int_equal(outer, ask(&w, "SELECT sum(\"outer\") FROM supersteps", 0));
    assert_int_equal(loads, ask(&w, "SELECT sum(bytes) FROM link_loads", 0));
    json_decref(o);
    free(text);
    written_free(&w);
}

static void page(void **state)
{
    struct written w;
    char *text, *data;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    json_t *list, *first;

    (void)state;
    write_profile(&w, 2);
    must(report_page_write(w.p, NULL, f));
    fclose(f);
    assert_non_null(strstr(text, "id=\"blob-A0-link\""));
    assert_non_null(strstr(text, "id=\"blob-A1-exchange\""));
    data = strstr(text, "application/json\">");
    assert_non_null(data);
    data += strlen("application/json\">");
    list = json_loads(data, JSON_DISABLE_EOF_CHECK, NULL);
    assert_int_equal(json_array_size(list), 2);
    first = json_array_get(list, 0);
    assert_int_equal(json_array_size(json_object_get(
                         json_object_get(json_object_get(first, "system"), "chips"), "rows")),
                     2);
    assert_null(json_object_get(json_array_get(list, 1), "system"));
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(json_array_get(list, 1), "tiles"), "rows")),
        4);
    json_decref(list);
    free(text);
    written_free(&w);
}

/* ---- damage ---- */

static void look_at(struct profile *p, FILE *f)
{
    json_t *o = NULL;
    const enum emu_status s[] = {
        profile_report(p, f),
        profile_report_csv(p, PROFILE_CSV_STEPS, f),
        trace_events_write(p, NULL, 0, f),
        report_page_write(p, NULL, f),
        profile_report_json(p, &o),
    };

    for (size_t i = 0; i < EMU_COUNT_OF(s); i++)
        assert_true(s[i] == EMU_OK || s[i] == EMU_BAD_FILE);
    json_decref(o);
}

/* Numbers of a file that nobody of us wrote: refused, or shown to the end. */
static void foreign_numbers(void **state)
{
    static const char *const change[] = {
        "UPDATE chips SET chip = chip + 1000000000",
        "UPDATE chips SET replica = -5, stage = 9223372036854775807",
        "UPDATE tiles SET chip = -1 - chip",
        "UPDATE supersteps SET chip = 77",
        "UPDATE supersteps SET joins = 'nobody', \"outer\" = -3, link = 9223372036854775807",
        "UPDATE outer_syncs SET last_chip = -1, \"release\" = -9223372036854775808",
        "UPDATE outer_syncs SET chips = 9223372036854775807, scope = 'x<script>'",
        "UPDATE link_loads SET kind = 'warp' || kind, busy_cycles = -1, chip = chip + 4000000000",
        "DELETE FROM chips WHERE chip",
        "DELETE FROM tiles",
        "WITH RECURSIVE n(k) AS (SELECT 2 UNION ALL SELECT k + 1 FROM n WHERE k < 40) INSERT INTO "
        "chips SELECT k, 0, 0, 0, 0, 0 FROM n",
    };
    FILE *f = fopen("/dev/null", "w");
    struct written w;

    (void)state;
    write_profile(&w, 2);
    for (size_t i = 0; i < EMU_COUNT_OF(change); i++) {
        unsigned char *data = sqlite3_malloc64(w.bytes), *out;
        sqlite3_int64 bytes;
        struct profile *p;
        sqlite3 *db;

        memcpy(data, w.data, w.bytes);
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        assert_int_equal(
            sqlite3_deserialize(db, "main", data, (sqlite3_int64)w.bytes, (sqlite3_int64)w.bytes,
                                SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
            SQLITE_OK);
        if (sqlite3_exec(db, change[i], NULL, NULL, NULL) != SQLITE_OK)
            fail_msg("%s: %s", change[i], sqlite3_errmsg(db));
        out = sqlite3_serialize(db, "main", &bytes, 0);
        sqlite3_close(db);
        must(profile_read_bytes(out, (size_t)bytes, "x.db", &p));
        look_at(p, f);
        profile_free(p);
        sqlite3_free(out);
    }
    fclose(f);
    written_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(rows_of_chips),
        cmocka_unit_test(queries_of_one_chip),
        cmocka_unit_test(reports),
        cmocka_unit_test(timeline),
        cmocka_unit_test(page),
        cmocka_unit_test(foreign_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
