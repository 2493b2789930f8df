/* test_profile_kinds.c - profiles of runs that are not a plain network that was compiled and ended
 * well: what does not fit, what faults, what comes from the cache, streams; and who sends to whom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/cli/commands.h"
#include "emu/profile/profile_report.h"
#include "emu/profile/report_page.h"
#include "tests/fixtures/quiet_run.h"

enum { ARGS_MAX = 32, TILES = 96, PAIRS_MAX = TILES * TILES };

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

/* The profile of a command, whose last option it becomes; code: of the command. */
static struct profile *profile_of(int code, const char *const *arg)
{
    char path[] = "/tmp/test_profile_XXXXXX", *argv[ARGS_MAX];
    struct profile *p;
    int argc = 0, got;

    close(mkstemp(path));
    for (; arg[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)arg[argc];
    argv[argc++] = "--profile";
    argv[argc++] = path;
    argv[argc] = NULL;
    got = quiet_run(argc, argv, 0);
    if (got != code)
        fail_msg("%s %s: exit code %d", argv[0], argv[1], got);
    must(profile_read(path, &p));
    unlink(path);
    return p;
}
#define PROFILE_OF(code, ...) profile_of(code, (const char *const[]){ __VA_ARGS__, NULL })

#define NUMBER(p, sql) profile_query_integer(p, sql)

static char *report_of(struct profile *p)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    must(profile_report(p, f));
    fclose(f);
    return text;
}

/* ---- what does not fit ---- */

static void out_of_memory(void **state)
{
    struct profile *p = PROFILE_OF(EXIT_FAULTED, "run", "matmul", "-m", "toy16", "-D", "m=512",
                                   "-D", "n=512", "-D", "k=512", "-q");
    char *text = report_of(p), status[PROFILE_META_TEXT];

    (void)state;
    profile_meta(p, "status", status);
    assert_string_equal(status, "out_of_memory");
    assert_int_equal(NUMBER(p, "SELECT count(*) FROM supersteps"), 0);
    assert_int_equal(NUMBER(p, "SELECT count(*) FROM meta WHERE key = 'cycles'"), 0);
    assert_int_equal(NUMBER(p, "SELECT count(*) FROM tiles"), 16);
    assert_int_equal(NUMBER(p, "SELECT count(*) FROM tile_needs, machine WHERE field = 'mem_bytes' "
                               "AND need_bytes > value"),
                     16);
    assert_int_equal(NUMBER(p, "SELECT sum(used_bytes) FROM tiles"),
                     NUMBER(p, "SELECT sum(bytes) FROM tile_bytes"));
    /* What is in use at the worst moment of a tile is all of its peak. */
    assert_int_equal(NUMBER(p, "SELECT count(*) FROM (SELECT tile, sum(bytes) AS bytes FROM "
                               "peak_owners GROUP BY tile) JOIN tile_needs USING (tile) WHERE "
                               "bytes = peak_bytes"),
                     5);
    assert_true(NUMBER(p, "SELECT count(*) FROM advice") >= 2);
    assert_true(NUMBER(p, "SELECT count(*) FROM program JOIN tile_needs ON step = peak_step") >=
                16);
    assert_int_equal(NUMBER(p, "SELECT count(*) FROM tile_variables"), 16);
    assert_non_null(strstr(text, "Tiles that do not fit"));
    assert_non_null(strstr(text, "c/multiply"));
    assert_non_null(strstr(text, "--set mem_bytes="));
    free(text);
    profile_free(p);
}

/* ---- several chips ---- */

/* What the compiler knows of each chip: chips 0 and 2 run one program, 1 and 3 another. */
static void graphs_of_chips(void **state)
{
    (void)state;
    for (unsigned chips = 2; chips <= 4; chips += 2) {
        struct profile *p = PROFILE_OF(EXIT_RAN, "run", "tests/step/pair.graph", "-q", "--chips",
                                       chips == 2 ? "2" : "4");

        assert_int_equal(profile_chips(p), chips);
        assert_int_equal(NUMBER(p, "SELECT count(DISTINCT chip) FROM tile_variables"), chips);
        assert_int_equal(NUMBER(p, "SELECT count(DISTINCT chip) FROM tile_needs"), chips);
        assert_int_equal(NUMBER(p, "SELECT count(*) FROM program JOIN names ON id = name WHERE "
                                   "text LIKE '%first_marks' AND chip % 2 = 0"),
                         chips / 2);
        assert_int_equal(NUMBER(p, "SELECT count(*) FROM program JOIN names ON id = name WHERE "
                                   "text LIKE '%second_marks' AND chip % 2 = 1"),
                         chips / 2);
        assert_int_equal(NUMBER(p, "SELECT count(*) FROM program JOIN names ON id = name WHERE "
                                   "text LIKE '%marks'"),
                         chips);
        assert_int_equal(NUMBER(p, "SELECT count(*) FROM program WHERE kind = 'chips'"), chips);
        assert_int_equal(NUMBER(p, "SELECT count(*) FROM outer_syncs WHERE zone = 5"), chips / 2);
        assert_int_equal(NUMBER(p, "SELECT count(*) FROM outer_syncs"), chips / 2);
        must(profile_choose_chip(p, (int64_t)chips - 1));
        assert_int_equal(NUMBER(p, "SELECT count(DISTINCT chip) FROM tile_variables"), 1);
        assert_int_equal(NUMBER(p, "SELECT count(*) FROM program JOIN names ON id = name WHERE "
                                   "text LIKE '%first_marks'"),
                         0);
        profile_free(p);
    }
}

/* ---- faults ---- */

static void a_fault(void **state)
{
    struct profile *p = PROFILE_OF(EXIT_RAN, "run", "mistake_recv", "-q");

    (void)state;
    assert_int_equal(NUMBER(p, "SELECT count(*) FROM faults WHERE kind = 'fault' AND tile >= 0 AND "
                               "cycle > 0"),
                     1);
    assert_true(NUMBER(p, "SELECT count(*) FROM supersteps") > 0);
    profile_free(p);
}

/* ---- who sends to whom ---- */

/* The words of every tile, from the pairs of its exchange, beside those of the superstep. */
struct received {
    uint32_t pair[PROFILE_PAIR_PLANES * PAIRS_MAX], step[PROFILE_PLANES * TILES];
    uint64_t supersteps;
};

static enum emu_status check_exchange(void *ctx, const struct profile_cursor *c)
{
    struct received *r = ctx;
    size_t n = profile_integer(c, 0), tiles = profile_integer(c, 2);
    uint64_t words[TILES] = { 0 }, messages[TILES] = { 0 };

    assert_true(n && n <= PAIRS_MAX && tiles <= TILES);
    must(profile_numbers(c, 1, r->pair, PROFILE_PAIR_PLANES * n));
    must(profile_numbers(c, 3, r->step, PROFILE_PLANES * tiles));
    for (size_t i = 0; i < n; i++) {
        uint32_t to = r->pair[i], from = r->pair[n + i];

        assert_true(to < TILES && from < TILES && r->pair[2 * n + i] >= r->pair[3 * n + i]);
        assert_true(!i || to > r->pair[i - 1] ||
                    (to == r->pair[i - 1] && from > r->pair[n + i - 1]));
        words[to] += r->pair[2 * n + i];
        messages[to] += r->pair[3 * n + i];
    }
    for (size_t k = 0; k < tiles; k++) { /* all tiles are in one group */
        assert_int_equal(words[k], r->step[3 * tiles + k]);
        assert_int_equal(messages[k], r->step[5 * tiles + k]);
    }
    r->supersteps++;
    return EMU_OK;
}

static void pairs_add_up(struct profile *p)
{
    struct received *r = emu_alloc(1, sizeof(*r));

    assert_non_null(r);
    must(profile_query(p,
                       "SELECT pairs, list, tiles, cycles FROM supersteps s JOIN exchanges e ON "
                       "e.exchange = exchange_id JOIN superstep_tiles ON superstep = s.id",
                       check_exchange, r));
    assert_int_equal(r->supersteps,
                     NUMBER(p, "SELECT count(*) FROM supersteps WHERE words_in > 0"));
    assert_int_equal(NUMBER(p, "SELECT sum(words_in) FROM supersteps"),
                     NUMBER(p, "SELECT sum(words) FROM supersteps JOIN exchanges e ON e.exchange = "
                               "exchange_id"));
    assert_true(NUMBER(p, "SELECT sum(messages_out) FROM supersteps") > 100);
    ss_free(r);
}

/* ---- the cache ---- */

/* A network that was compiled has the same program and lifetimes as when it comes from the cache,
 * and both engines exchange the same. */
static void from_the_cache(void **state)
{
    static const char same[] =
        "SELECT (SELECT count(*) FROM main.program) = (SELECT count(*) FROM b.program) AND NOT "
        "EXISTS (SELECT step, superstep, kind, text, fullest_tile, fullest_bytes FROM main.program "
        "JOIN main.names ON id = name EXCEPT SELECT step, superstep, kind, text, fullest_tile, "
        "fullest_bytes FROM b.program JOIN b.names ON id = name) AND NOT EXISTS (SELECT * FROM "
        "main.lifetimes EXCEPT SELECT * FROM b.lifetimes) AND NOT EXISTS (SELECT tile, variables "
        "FROM main.tile_variables EXCEPT SELECT tile, variables FROM b.tile_variables) AND NOT "
        "EXISTS (SELECT * FROM main.tile_needs EXCEPT SELECT * FROM b.tile_needs) AND NOT EXISTS "
        "(SELECT exchange, pairs, list FROM main.exchanges EXCEPT SELECT exchange, pairs, list "
        "FROM "
        "b.exchanges)";
    char folder[] = "/tmp/test_cache_XXXXXX", remove[64];
    struct profile *a, *b;

    (void)state;
    assert_non_null(mkdtemp(folder));
    a = PROFILE_OF(EXIT_RAN, "run", "efficientnet-b0", "--resolution", "32", "--set", "tiles=96",
                   "-q", "--cache", folder);
    pairs_add_up(a);
    b = PROFILE_OF(EXIT_RAN, "run", "efficientnet-b0", "--resolution", "32", "--set", "tiles=96",
                   "-q", "--cache", folder, "--engine", "timing");
    assert_true(NUMBER(b, "SELECT count(*) FROM program") > 100);
    assert_true(NUMBER(b, "SELECT count(*) FROM lifetimes") > 10);
    must(profile_attach(a, b));
    assert_int_equal(NUMBER(a, same), 1);
    profile_free(a);
    profile_free(b);
    snprintf(remove, sizeof(remove), "rm -r %s", folder);
    assert_int_equal(system(remove), 0);
}

/* ---- streams ---- */

static void a_stream(void **state)
{
    struct profile *p = PROFILE_OF(EXIT_RAN, "stream", "efficientnet-b0", "--resolution", "32",
                                   "--set", "tiles=128", "--limit", "3", "-q", "--engine", "timing",
                                   "--io-tiles", "32", "--prefetch", "1");

    (void)state;
    assert_int_equal(NUMBER(p, "SELECT count(DISTINCT sync_group) FROM tiles"), 2);
    assert_int_equal(NUMBER(p, "SELECT count(DISTINCT sync_group) FROM supersteps"), 2);
    assert_true(NUMBER(p, "SELECT count(*) FROM streams WHERE bytes > 0") >= 2);
    assert_true(NUMBER(p, "SELECT count(*) FROM transfers WHERE arrived > issued") > 10);
    assert_int_equal(NUMBER(p, "SELECT value FROM meta WHERE key = 'supersteps_left_out'"), 0);
    assert_int_equal(NUMBER(p, "SELECT value FROM meta WHERE key = 'cycles'"),
                     NUMBER(p, "SELECT max(ends) FROM supersteps"));
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_of_chips), cmocka_unit_test(out_of_memory),
        cmocka_unit_test(a_fault),         cmocka_unit_test(from_the_cache),
        cmocka_unit_test(a_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
