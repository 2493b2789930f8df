/* test_run_chips.c - manifests of several chips: what is refused, which chip the sources and values
 * see, and runs of them: memory, streams, digests, faults and deadlocks of a chip.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "emu/base/alloc.h"
#include "emu/job/run_image.h"
#include "emu/job/run_profile.h"

#define OK(expr) assert_int_equal((expr), EMU_OK)

static void refuse(const char *text, const char *why)
{
    const struct manifest_options o = { .no_files = 1 };
    struct manifest *m;

    assert_int_not_equal(ss_manifest_read_text(text, strlen(text), "m", &o, &m), EMU_OK);
    if (!strstr(ss_error(), why))
        fail_msg("'%s' does not say '%s'", ss_error(), why);
    assert_null(m);
    assert_int_equal(alloc_live(), 0);
}

#define HEAD "{\"machine\": \"toy4\", "
#define CODE "\"asm\": \"main: sync 7\""

static void test_wrong_chips(void **state)
{
    (void)state;
    refuse(HEAD "\"chips\": 0, \"programs\": [{" CODE ", \"tiles\": 0}]}", " chips: ");
    refuse(HEAD "\"chips\": 4097, \"programs\": [{" CODE ", \"tiles\": 0}]}", " chips: ");
    refuse(HEAD "\"set\": {\"chips\": 2}, \"programs\": [{" CODE ", \"tiles\": 0}]}",
           "m: chips 2: expected a program for several chips");
    refuse(HEAD "\"programs\": [{" CODE ", \"tiles\": 0, \"chips\": 0}]}",
           " programs[0].chips: expected this only where the manifest has \"chips\"");
    refuse(HEAD "\"chips\": 2, \"programs\": [{" CODE ", \"tiles\": 0, \"chips\": 2}]}",
           " programs[0].chips: expected chips below 2, the chips of the system");
    refuse(HEAD "\"chips\": 2, \"programs\": [{" CODE ", \"tiles\": 0, \"chips\": [1, 1]}]}",
           "found chip 1 again");
    refuse(HEAD "\"chips\": 3, \"programs\": [{" CODE ", \"tiles\": 0, \"chips\": \"0-1\"}]}",
           " programs: expected a program on each of 3 chips, got none on chip 2");
    refuse(HEAD "\"chips\": 2, \"programs\": [{" CODE ", \"tiles\": 0}, {" CODE
                ", \"tiles\": \"0-1\", \"chips\": 1}]}",
           " programs[1].tiles: expected tiles that have no program yet, got tile 0");
    refuse(HEAD "\"chips\": 2, \"needs_chips\": 4, \"programs\": [{" CODE ", \"tiles\": 0}]}",
           "needs a machine with 4 chips, toy4 has 2");
    refuse(HEAD
           "\"chips\": 2, \"programs\": [{" CODE
           ", \"tiles\": 0}], \"streams\": [{\"id\": 1, \"direction\": \"to_host\", \"chip\": 2}]}",
           " streams[0].chip: ");
    refuse(HEAD "\"chips\": 2, \"programs\": [{" CODE
                ", \"tiles\": 0, \"memory\": [{\"name\": \"CHIP\", \"u32\": 1}]}]}",
           " programs[0].memory[0].name: ");
}

/* ---- runs ---- */

/* A manifest that was read, built and run. */
struct done {
    struct manifest *m;
    struct image *im;
    struct run *run;
    char *lines; /* of digests */
    FILE *file;
    size_t bytes;
};

static void run_text(struct done *d, const char *text, uint32_t chips)
{
    const struct manifest_options mo = { .no_files = 1, .chips = chips };
    struct run_options o = { .threads = 1, .max_cycles = 1000000 };

    *d = (struct done){ .lines = NULL };
    if (ss_manifest_read_text(text, strlen(text), "m", &mo, &d->m) != EMU_OK ||
        ss_manifest_build(d->m, 1, stderr, &d->im) != EMU_OK)
        fail_msg("%s", ss_error());
    d->file = open_memstream(&d->lines, &d->bytes);
    o.digests = d->file;
    OK(ss_run_new(d->im, &o, &d->run));
    OK(ss_run_manifest_streams(d->run, d->m));
    OK(ss_run_execute(d->run));
    fflush(d->file);
}

static void end(struct done *d)
{
    ss_run_free(d->run);
    ss_image_free(d->im);
    ss_manifest_free(d->m);
    fclose(d->file);
    free(d->lines);
    assert_int_equal(alloc_live(), 0);
}

/* The differences to what is expected; fails if there are not so many. */
static void expect_unmet(struct done *d, uint64_t want, const char *first)
{
    uint64_t unmet, checked;
    json_t *list;

    OK(ss_run_check(d->run, d->m, 1, &list, &unmet, &checked));
    if (unmet != want)
        json_dumpf(list, stderr, 0);
    assert_int_equal(unmet, want);
    assert_true(checked > 0);
    if (first)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "what")),
                            first);
    json_decref(list);
}

/* Every tile sends two words to the same tile of the next chip: 100 times its chip plus its tile.
 */
#define RING                                                                                       \
    HEAD "\"chips\": 2, \"programs\": [{\"tiles\": \"0-1\", \"asm\": \""                           \
         "#include <superstep/bsp.h>\\n"                                                           \
         ".supervisor\\n"                                                                          \
         "main: sync SYNC_POD\\n"                                                                  \
         "CHIP_EXPECT 2, $m3\\n"                                                                   \
         "CHIP_SEND head, words, 2\\n"                                                             \
         "sync SYNC_RECV\\n"                                                                       \
         "sync SYNC_END\\n"                                                                        \
         ".align 8\\n"                                                                             \
         "head: CHIP_HEADER ((CHIP + 1) % CHIPS), TILE, got, 2\\n"                                 \
         "\", \"memory\": [{\"name\": \"words\", \"u32_per_tile\": \"100 * chip + tile + i\", "    \
         "\"count\": 2}, {\"name\": \"got\", \"bytes\": 8}]}], "
#define GOT                                                                                        \
    "\"expect\": [{\"tiles\": \"0-1\", \"name\": \"got\", \"count\": 2, "                          \
    "\"u32_per_tile\": \"100 * ((chip + chips - 1) % chips) + tile + i\"}]"

static void test_ring(void **state)
{
    (void)state;
    for (uint32_t chips = 2; chips <= 4; chips++) {
        struct done d;
        json_t *report;

        run_text(&d, RING GOT "}", chips);
        assert_true(ss_run_ended(d.run));
        expect_unmet(&d, 0, NULL);
        assert_int_equal(image_chip_count(d.im), chips);
        assert_int_equal(image_zone_scope(d.im, 6), SCOPE_POD);
        report = ss_run_report(d.run, "ok", NULL, 0, 0);
        assert_int_equal(json_integer_value(json_object_get(report, "chips")), chips);
        assert_int_equal(json_integer_value(json_object_get(report, "tiles_used")), 2 * chips);
        assert_int_equal(json_integer_value(json_object_get(report, "outer_syncs")), 1);
        assert_int_equal(json_integer_value(json_object_get(report, "bytes_between_chips")),
                         16 * chips);
        assert_int_equal(json_array_size(json_object_get(report, "each_chip")), chips);
        json_decref(report);
        end(&d);
    }
}

static void test_ring_differs(void **state)
{
    struct done d;

    (void)state;
    run_text(&d,
             RING "\"expect\": [{\"tiles\": 1, \"chips\": 1, \"name\": \"got\", \"u32\": [1, 2]}, "
                  "{\"tiles\": 1, \"chips\": 0, \"name\": \"got\", \"u32\": [1, 2]}], "
                  "\"expect_digest\": \"00000000000000000000000000000000\"}",
             0);
    expect_unmet(&d, 3, "chip 0 tile 1 got[0]");
    end(&d);
}

/* Lines of digests say the chip. */
static void test_digests_name_chips(void **state)
{
    struct done d;
    char line[80];

    (void)state;
    run_text(&d, RING GOT "}", 0);
    assert_memory_equal(d.lines, "superstep-digests 1\nmachine toy4 tiles 4 chips 2\nstep 0 0 0 ",
                        60);
    snprintf(line, sizeof(line), "\nstep 1 0 1 ");
    assert_non_null(strstr(d.lines, line));
    end(&d);
}

/* A chip sees itself, its sources and values, and its own stream. */
/* Rows of a profile say of which chip they are. */
static void check_profile(const struct done *d)
{
    struct profile *p;

    OK(profile_new(1, &p));
    OK(run_profile(p, d->run, NULL, 0));
    assert_int_equal(profile_chips(p), d->run->chips);
    for (uint32_t chip = 0; chip < d->run->chips; chip++) {
        OK(profile_choose_chip(p, chip));
        assert_int_equal(profile_query_integer(p, "SELECT count(*) FROM tiles"), 1);
        assert_int_equal(
            profile_query_integer(p, "SELECT stage FROM chips JOIN tiles USING (chip)"), chip);
        assert_int_equal(profile_query_integer(p, "SELECT max(ends) FROM supersteps"),
                         machine_cycles(machine_of_chip(d->run, chip)));
        assert_int_equal(profile_query_integer(p, "SELECT count(*) FROM streams"), chip == 1);
    }
    profile_free(p);
}

static void test_each_chip_is_itself(void **state)
{
    struct done d;

    (void)state;
    run_text(
        &d,
        HEAD
        "\"chips\": 2, \"programs\": ["
        "{\"tiles\": 0, \"chips\": 0, \"asm\": \".supervisor\\nmain: setzi $m0, 10\\n"
        "setzi $m1, note\\nst32 $m0, $m1, $m15, 0\\nsync 7\", "
        "\"memory\": [{\"name\": \"note\", \"u32\": 0}]}, "
        "{\"tiles\": 0, \"chips\": \"1-\", \"asm\": \".supervisor\\n"
        "main: setzi $m0, 20 + CHIP + 100 * CHIPS\\nsetzi $m1, note\\n"
        "st32 $m0, $m1, $m15, 0\\n"
        "sync 4\\nsetzi $m2, head\\nput $OUTGOING_BASE, $m2\\nsend 1, 0, 4\\nsync 0\\nsync 7\\n"
        ".align 8\\nhead: .int 1 << 31 | note, 3 << 19 | 1\", "
        "\"memory\": [{\"name\": \"note\", \"u32\": 0}]}], "
        "\"streams\": [{\"id\": 3, \"chip\": 1, \"direction\": \"to_host\", "
        "\"expect\": {\"u32\": [221]}}], "
        "\"expect\": [{\"tiles\": 0, \"chips\": 0, \"name\": \"note\", \"u32\": 10}, "
        "{\"tiles\": 0, \"chips\": 1, \"name\": \"note\", \"u32\": 221}]}",
        0);
    if (!ss_run_ended(d.run))
        fail_msg("%s", ss_run_stop_text(d.run));
    expect_unmet(&d, 0, NULL);
    assert_null(d.run->chip[0].host);
    assert_non_null(d.run->chip[1].host);
    OK(pod_finish(d.run->pod));
    check_profile(&d);
    end(&d);
}

/* ---- what goes wrong ---- */

static void expect_stop(struct done *d, const char *const *part, size_t parts)
{
    char *text = ss_run_stop_text(d->run);

    for (size_t i = 0; i < parts; i++) {
        if (!strstr(text, part[i]))
            fail_msg("'%s' does not say '%s'", text, part[i]);
    }
    ss_free(text);
}

static void test_faults_name_chips(void **state)
{
    static const char *const parts[] = { "EXERR NO_TILE", "tile 99 of chip 0", "; chip 1, tile 2",
                                         "main" };
    struct done d;
    json_t *report, *fault;

    (void)state;
    run_text(&d,
             HEAD "\"chips\": 2, \"programs\": [{\"tiles\": 2, \"asm\": \""
                  "#include <superstep/bsp.h>\\n.supervisor\\nmain: sync SYNC_POD\\n"
                  ".if CHIP == 1\\nCHIP_SEND head, head, 2\\n.endif\\nsync SYNC_RECV\\n"
                  "sync SYNC_END\\n.align 8\\nhead: CHIP_HEADER 0, 99, MEM_BASE, 2\\n\"}], "
                  "\"expect_fault\": {\"name\": \"EXERR\", \"exchange\": \"NO_TILE\", \"chip\": 1, "
                  "\"tile\": 2}}",
             0);
    assert_int_equal(d.run->stop, MACHINE_FAULT);
    expect_stop(&d, parts, EMU_COUNT_OF(parts));
    expect_unmet(&d, 0, NULL);
    report = ss_run_report(d.run, "fault", NULL, 0, 0);
    fault = json_object_get(report, "fault");
    assert_int_equal(json_integer_value(json_object_get(fault, "chip")), 1);
    assert_int_equal(json_integer_value(json_object_get(fault, "other_chip")), 0);
    assert_int_equal(json_integer_value(json_object_get(fault, "other_tile")), 99);
    json_decref(report);
    end(&d);
}

static void test_deadlocks_name_chips(void **state)
{
    static const char *const parts[] = { "chip 0: tile 0", "chip 1: tile 0", "lacks 1 of 1" };
    struct done d;
    json_t *report, *waiting;

    (void)state;
    run_text(&d,
             HEAD "\"chips\": 2, \"programs\": [{\"tiles\": 0, \"asm\": \""
                  "#include <superstep/bsp.h>\\n.supervisor\\nmain: sync SYNC_POD\\n"
                  ".if CHIP == 1\\nCHIP_EXPECT 1, $m3\\n.endif\\nsync SYNC_RECV\\n"
                  "sync SYNC_REPLICA\\nsync SYNC_END\\n\"}]}",
             0);
    assert_int_equal(d.run->stop, MACHINE_DEADLOCK);
    expect_stop(&d, parts, EMU_COUNT_OF(parts));
    report = ss_run_report(d.run, "deadlock", NULL, 0, 0);
    waiting = json_object_get(report, "waiting");
    assert_int_equal(json_array_size(waiting), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(waiting, 1), "chip")), 1);
    json_decref(report);
    end(&d);
}

/* One chip of a program for any number of them; no line says a chip. */
static void test_one_chip_is_enough(void **state)
{
    struct done d;
    json_t *report;

    (void)state;
    run_text(&d, HEAD "\"chips\": 2, \"programs\": [{\"tiles\": 0, " CODE "}]}", 1);
    assert_true(ss_run_ended(d.run));
    report = ss_run_report(d.run, "ok", NULL, 0, 0);
    assert_null(json_object_get(report, "chips"));
    assert_null(json_object_get(report, "each_chip"));
    assert_null(strstr(d.lines, "chips"));
    json_decref(report);
    end(&d);
}

/* A program for one chip on a system of two is two replicas; a file is written by one. */
static void test_replicas(void **state)
{
    static const uint32_t code[] = { 0 };
    struct arch a = *ss_arch_preset("toy4");
    const struct run_options o = { .threads = 1, .max_cycles = 1000 };
    struct image *im;
    struct run *r;
    uint32_t blob;

    (void)state;
    OK(ss_arch_set(&a, "chips=3"));
    OK(image_new(&a, &im));
    OK(image_blob(im, code, sizeof(code), &blob));
    OK(image_add_stream(im, &(struct image_stream){ .id = 1, .direction = STREAM_TO_HOST }));
    OK(image_add_tile(im, &(struct image_tile){ .entry = a.mem_base },
                      (struct image_segment[]){ { a.mem_base, 4, blob } }, 1));
    OK(ss_run_new(im, &o, &r));
    assert_int_equal(r->chips, 3);
    assert_int_equal(pod_replica_chips(r->pod), 1);
    assert_int_equal(ss_run_stream_file(r, 1, "/tmp/never", 0), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "3 replicas cannot write one file"));
    OK(ss_run_stream_file(r, 1, NULL, 0));
    ss_run_free(r);
    OK(image_add_tile(im, &(struct image_tile){ .chip = 1, .entry = a.mem_base }, NULL, 0));
    assert_int_equal(ss_run_new(im, &o, &r), EMU_BAD_IMAGE);
    assert_non_null(strstr(ss_error(), "for 2 chips, its machine toy4 has 3"));
    ss_image_free(im);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_chips),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_ring_differs),
        cmocka_unit_test(test_digests_name_chips),
        cmocka_unit_test(test_each_chip_is_itself),
        cmocka_unit_test(test_faults_name_chips),
        cmocka_unit_test(test_deadlocks_name_chips),
        cmocka_unit_test(test_one_chip_is_enough),
        cmocka_unit_test(test_replicas),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
