/* test_manifest.c - manifests: what they say when they are wrong, and what they become when they
 * are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest.h"
#include "emu/job/run_image.h"

static struct manifest *read_text(const char *text)
{
    const struct manifest_options o = { .no_files = 1 };
    struct manifest *m;

    if (ss_manifest_read_text(text, strlen(text), "dir/test.bsp.json", &o, &m) != EMU_OK)
        fail_msg("%s", ss_error());
    return m;
}

/* The text is refused, with the file, the place and what was expected. */
static void refuse(const char *text, const char *place, const char *expected)
{
    const struct manifest_options o = { .no_files = 1 };
    struct manifest *m;
    char want[200];

    assert_int_equal(ss_manifest_read_text(text, strlen(text), "x.json", &o, &m), EMU_BAD_FILE);
    assert_null(m);
    snprintf(want, sizeof(want), "x.json:%s", place);
    if (strncmp(ss_error(), want, strlen(want)) || !strstr(ss_error(), expected))
        fail_msg("\"%s\" does not begin with \"%s\" and say \"%s\"", ss_error(), want, expected);
}

#define PROGRAM(rest)                                                                              \
    "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"main:\",\"tiles\":\"all\"" rest
#define MEMORY(entry) PROGRAM(",\"memory\":[" entry "]}]}")
#define STREAM(entry) PROGRAM("}],\"streams\":[" entry "]}")
#define EXPECT(entry) PROGRAM("}],\"expect\":[" entry "]}")

static void wrong_shapes(void **state)
{
    (void)state;
    refuse("{", "1:", "string or '}' expected");
    refuse("[]", " ", "expected an object");
    refuse("{\"machine\":\"toy4\"}", " programs: ", "at least one program");
    refuse("{\"programs\":[],\"expect_cylces\":3}", " expect_cylces: ", "this one is unknown");
    refuse("{\"machine\":\"toy5\",\"programs\":[{}]}", " machine: ", "built-in machine");
    refuse("{\"machine\":\"toy4\",\"set\":{\"tails\":4},\"programs\":[{}]}",
           " set.tails: ", "field");
    refuse("{\"machine\":\"toy4\",\"set\":[],\"programs\":[{}]}", " set: ", "object");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"tiles\":0}]}",
           " programs[0]: ", "either \"source\" or \"asm\"");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"source\":[],\"tiles\":0}]}",
           " programs[0].source: ", "file");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"source\":[\"a\",3],\"tiles\":0}]}",
           " programs[0].source[1]: ", "expected a string");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"\",\"tiles\":0}]}",
           " programs[0].asm: ", "not empty");
    refuse(PROGRAM(",\"group\":64}]}"), " programs[0].group: ", "from 0 to 63");
    refuse(PROGRAM(",\"code_bytes\":99999999}]}"), " programs[0].code_bytes: ", "from 4 to");
    refuse(PROGRAM(",\"defines\":{\"N\":[1]}}]}"),
           " programs[0].defines.N: ", "string or an integer");
    refuse(PROGRAM("},{\"asm\":\"a:\",\"tiles\":2}]}"),
           " programs[1].tiles: ", "no program yet, got tile 2");
    refuse(PROGRAM("}],\"runs\":-1}"), " runs: ", "from 0");
    refuse(PROGRAM("}],\"max_cycles\":0}"), " max_cycles: ", "from 1");
    refuse(PROGRAM("}],\"include\":[3]}"), " include[0]: ", "string");
}

static void wrong_tiles(void **state)
{
    static const char *const bad[] = { "\"\"",   "\"a\"",   "\"3-1\"", "\"0-2:0\"", "\"1,\"",
                                       "\"-1\"", "\"0--\"", "-1",      "1.5",       "{}" };
    char text[200];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text),
                 "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"a:\",\"tiles\":%s}]}", bad[i]);
        refuse(text, " programs[0].tiles: ", "expected tiles such as");
    }
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"a:\",\"tiles\":4}]}",
           " programs[0].tiles: ", "tiles below 4");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"a:\",\"tiles\":[0,\"0-1\"]}]}",
           " programs[0].tiles[1]: ", "found tile 0 again");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"a:\"}]}", " programs[0].tiles: ", "all");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"a:\",\"tiles\":[]}]}",
           " programs[0].tiles: ", "at least one");
}

static void wrong_values(void **state)
{
    (void)state;
    refuse(MEMORY("{\"name\":\"x\"}"), " programs[0].memory[0]: ", "expected an array");
    refuse(MEMORY("{\"u32\":1}"), " programs[0].memory[0].name: ", "string");
    refuse(MEMORY("{\"name\":\"3\",\"u32\":1}"), " programs[0].memory[0].name: ", "letters");
    refuse(MEMORY("{\"name\":\"TILE\",\"u32\":1}"),
           " programs[0].memory[0].name: ", "not used before");
    refuse(MEMORY("{\"name\":\"x\",\"u32\":1},{\"name\":\"x\",\"u32\":1}"),
           " programs[0].memory[1].name: ", "not used before");
    refuse(MEMORY("{\"name\":\"x\",\"u32\":-1}"), " programs[0].memory[0].u32: ", "expected a u32");
    refuse(MEMORY("{\"name\":\"x\",\"u8\":[1,256]}"),
           " programs[0].memory[0].u8[1]: ", "expected a u8");
    refuse(MEMORY("{\"name\":\"x\",\"u32\":1,\"f32\":1}"), " programs[0].memory[0]: ", "one array");
    refuse(MEMORY("{\"name\":\"x\",\"u32\":1,\"align\":3}"),
           " programs[0].memory[0].align: ", "power");
    refuse(MEMORY("{\"name\":\"x\",\"u32\":1,\"region\":2}"),
           " programs[0].memory[0].region: ", "0 to 1");
    refuse(MEMORY("{\"name\":\"x\",\"u32\":1,\"at\":4,\"region\":1}"),
           " programs[0].memory[0].at: ", "both");
    refuse(MEMORY("{\"name\":\"x\",\"u32_per_tile\":\"tile +\"}"),
           " programs[0].memory[0].u32_per_tile: ", "expected a number");
    refuse(MEMORY("{\"name\":\"x\",\"u32_per_tile\":\"tail\"}"),
           " programs[0].memory[0].u32_per_tile: ", "unknown name");
    refuse(MEMORY("{\"name\":\"x\",\"u32_per_tile\":[1,2]}"),
           " programs[0].memory[0].u32_per_tile: ", "each of the 4 tiles");
    refuse(MEMORY("{\"name\":\"x\",\"u32_per_tile\":[[1],[2],[3],[4,5]]}"),
           " programs[0].memory[0].u32_per_tile[3]: ", "expected 1 elements");
    refuse(MEMORY("{\"name\":\"x\",\"u32_sequence\":\"i\"}"),
           " programs[0].memory[0].u32_sequence: ", "u32_per_tile");
    refuse(MEMORY("{\"name\":\"x\",\"u32\":[1],\"count\":3}"),
           " programs[0].memory[0]: ", "expression");
    refuse(MEMORY("{\"name\":\"x\",\"u32_per_tile\":\"i\",\"count\":0}"),
           " programs[0].memory[0].count: ", "from 1");
}

static void wrong_streams_and_expectations(void **state)
{
    (void)state;
    refuse(STREAM("{\"direction\":\"to_host\"}"), " streams[0].id: ", "number");
    refuse(STREAM("{\"id\":9999,\"direction\":\"to_host\"}"), " streams[0].id: ", "from 0");
    refuse(STREAM("{\"id\":1,\"direction\":\"up\"}"), " streams[0].direction: ", "to_tiles");
    refuse(STREAM("{\"id\":1,\"direction\":\"to_tiles\"}"), " streams[0]: ", "expected an array");
    refuse(STREAM("{\"id\":1,\"direction\":\"to_tiles\",\"u32\":\"x\"}"),
           " streams[0]: ", "no addresses");
    refuse(STREAM("{\"id\":1,\"direction\":\"to_host\",\"repeat\":true}"),
           " streams[0]: ", "repeat");
    refuse(STREAM("{\"id\":1,\"direction\":\"to_host\"},{\"id\":1,\"direction\":\"to_host\"}"),
           " streams[1].id: ", "not used before");
    refuse(STREAM("{\"id\":1,\"direction\":\"to_tiles\",\"u32\":1,\"expect\":{}}"),
           " streams[0].expect: ", "to the host");
    refuse(STREAM("{\"id\":1,\"direction\":\"to_host\",\"depth\":0}"),
           " streams[0].depth: ", "from 1");
    refuse(EXPECT("{\"name\":\"x\",\"u32\":1}"), " expect[0].tiles: ", "all");
    refuse(EXPECT("{\"tiles\":0,\"u32\":1}"), " expect[0].name: ", "string");
    refuse(EXPECT("{\"tiles\":0,\"name\":\"x\",\"u32\":\"main\"}"),
           " expect[0]: ", "not addresses");
    refuse(EXPECT("{\"tiles\":0,\"name\":\"x\",\"f32\":1,\"tolerance\":-1}"),
           " expect[0].tolerance: ", "not negative");
    refuse("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"a:\",\"tiles\":0}],"
           "\"expect\":[{\"tiles\":1,\"name\":\"x\",\"u32\":1}]}",
           " expect[0].tiles: ", "got tile 1");
    refuse(PROGRAM("}],\"expect_cycles\":[5,4]}"), " expect_cycles: ", "from 5");
    refuse(PROGRAM("}],\"expect_cycles\":[5]}"), " expect_cycles: ", "a lowest and a highest");
    refuse(PROGRAM("}],\"expect_fault\":\"OOPS\"}"), " expect_fault: ", "CONFLICT");
    refuse(PROGRAM("}],\"expect_fault\":{\"name\":\"EXERR\",\"exchange\":\"LOUD\"}}"),
           " expect_fault.exchange: ", "SILENT");
    refuse(PROGRAM("}],\"expect_digest\":\"12\"}"), " expect_digest: ", "32");
}

static void tile_lists(void **state)
{
    struct manifest *m = read_text("{\"machine\":\"toy16\",\"programs\":["
                                   "{\"asm\":\"a:\",\"tiles\":[9,\"0-6:3\",\"12-\"]},"
                                   "{\"asm\":\"b:\",\"tiles\":\"1,10-11\",\"group\":2}]}");
    static const uint32_t want[] = { 9, 0, 3, 6, 12, 13, 14, 15 };

    (void)state;
    assert_int_equal(m->program[0].tiles.count, EMU_COUNT_OF(want));
    assert_memory_equal(m->program[0].tiles.tile, want, sizeof(want));
    assert_int_equal(m->program[1].tiles.count, 3);
    assert_int_equal(m->program[1].group, 2);
    assert_ptr_equal(manifest_program_of(m, 0, 11), &m->program[1]);
    assert_null(manifest_program_of(m, 0, 8));
    ss_manifest_free(m);
}

static void expressions(void **state)
{
    const struct expr_variable v[] = { { "tile", 7 }, { "i", 3 } };
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        { "1+2*3", 7 },
        { "(1+2)*3", 9 },
        { "tile*10+i", 73 },
        { "-tile", -7 },
        { "7/-2", -3 },
        { "-7 % 3", -1 },
        { "1<<4|1", 17 },
        { "0xff & ~0x0f", 240 },
        { "tile<4?1:2", 2 },
        { "tile>=7 && i!=2", 1 },
        { "1?2:3?4:5", 2 },
        { "!tile", 0 },
        { "0x7fffffffffffffff+1", INT64_MIN },
        { "(-0x7fffffffffffffff-1)/-1", INT64_MIN },
        { "1<<64", 0 },
        { "-1>>70", -1 },
        { "tile^i", 4 },
    };
    static const char *const bad[] = { "",    "1+", "(1",     "1)", "1/0", "1%0",
                                       "2x",  "0x", "tile i", "a",  "1?2", "99999999999999999999",
                                       "1=2", "$" };
    char deep[400];
    const char *why;
    int64_t out;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(good); i++) {
        if (!expr_evaluate(good[i].text, v, 2, &out, &why))
            fail_msg("%s: %s", good[i].text, why);
        assert_int_equal(out, good[i].value);
    }
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        if (expr_evaluate(bad[i], v, 2, &out, &why))
            fail_msg("\"%s\" is %lld", bad[i], (long long)out);
        assert_non_null(why);
    }
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = 0;
    assert_false(expr_evaluate(deep, v, 2, &out, &why));
}

/* ---- builds and runs ---- */

struct manifest_outcome {
    json_t *report, *differences;
};

static void run_text(const char *text, unsigned threads, struct manifest_outcome *out)
{
    struct manifest *m = read_text(text);
    struct run_options o = { .threads = threads, .max_cycles = m->max_cycles, .runs = m->runs };
    uint64_t total = 0, checked = 0;
    struct image *im;
    struct run *r = NULL;

    if (ss_manifest_build(m, threads, stderr, &im) != EMU_OK || ss_run_new(im, &o, &r) != EMU_OK ||
        ss_run_manifest_streams(r, m) != EMU_OK || ss_run_execute(r) != EMU_OK ||
        ss_run_check(r, m, 1, &out->differences, &total, &checked) != EMU_OK)
        fail_msg("%s", ss_error());
    out->report = ss_run_report(r, "done", out->differences, total, checked);
    assert_non_null(out->report);
    ss_run_free(r);
    ss_image_free(im);
    ss_manifest_free(m);
}

static void outcome_free(struct manifest_outcome *o)
{
    json_decref(o->report);
    json_decref(o->differences);
}

static int64_t number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_integer(v))
        fail_msg("no number %s", key);
    return json_integer_value(v);
}

#define RING                                                                                       \
    "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"#include <superstep/bsp.h>\\n.supervisor\\n"   \
    "main: sync SYNC_CHIP\\n.exchange TILE\\n.send a, 2, 0\\n.receive b, 2, 0, (TILE + 3) % "      \
    "TILES\\n"                                                                                     \
    ".endexchange\\nsync SYNC_RECV\\nsync SYNC_HOST\\n\",\"tiles\":\"all\",\"memory\":["           \
    "{\"name\":\"a\",\"u32_per_tile\":\"10 * tile + "                                              \
    "i\",\"count\":2},{\"name\":\"b\",\"bytes\":8},"                                               \
    "{\"name\":\"p\",\"u32\":[\"b+4\",\"main\"]}]}],\"expect\":["                                  \
    "{\"tiles\":\"all\",\"name\":\"b\",\"u32_per_tile\":\"10 * ((tile + 3) % 4) + "                \
    "i\",\"count\":2}"

static void ring_runs(void **state)
{
    struct manifest_outcome o, again;

    (void)state;
    run_text(RING "],\"expect_cycles\":134,\"expect_supersteps\":2}", 1, &o);
    if (number_of(o.report, "unmet"))
        fail_msg("%s", json_dumps(o.differences, 0));
    assert_int_equal(number_of(o.report, "words_received"), 8);
    assert_int_equal(number_of(o.report, "expectations"), 10);
    run_text(RING "],\"runs\":2}", 2, &again);
    assert_int_equal(number_of(again.report, "unmet"), 0);
    outcome_free(&o);
    outcome_free(&again);
}

/* Of any length, and with a parameter at the end. */
static void long_expressions(void **state)
{
    struct manifest_outcome o;
    char zeros[4 * 600 + 1] = "", text[8000];

    (void)state;
    for (unsigned i = 0; i < 600; i++)
        strcat(zeros, " + 0");
    snprintf(text, sizeof(text),
             RING ",{\"tiles\":\"1-{1%s + ONE}\",\"name\":\"a\",\"count\":2,\"u32_per_tile\":"
                  "\"10 * tile + i%s + ONE - 1\"}],\"parameters\":{\"ONE\":{\"value\":1,\"low\":1,"
                  "\"high\":1}}}",
             zeros, zeros);
    run_text(text, 1, &o);
    assert_int_equal(number_of(o.report, "unmet"), 0);
    assert_int_equal(number_of(o.report, "expectations"), 8 + 4);
    outcome_free(&o);
}

static void unmet_expectations(void **state)
{
    struct manifest_outcome o;

    (void)state;
    run_text(RING
             ",{\"tiles\":\"1-2\",\"name\":\"a\",\"from\":1,\"u32\":11}],\"expect_cycles\":[1,9],"
             "\"expect_supersteps\":7,\"expect_digest\":\"00000000000000000000000000000000\","
             "\"expect_fault\":\"CONFLICT\"}",
             1, &o);
    assert_int_equal(number_of(o.report, "unmet"), 5);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(o.differences, 1), "what")),
        "tile 2 a[1]");
    assert_int_equal(number_of(json_array_get(o.differences, 1), "got"), 21);
    outcome_free(&o);
}

/* What cannot be computed is said with the file, the tile and what was to be compared. */
static void an_expectation_that_divides_by_zero(void **state)
{
    struct manifest *m =
        read_text(RING ",{\"tiles\":\"all\",\"name\":\"a\",\"u32_per_tile\":\"0 / (tile - 3)\"}]}");
    struct run_options o = { .threads = 1, .max_cycles = m->max_cycles };
    uint64_t total, checked;
    json_t *differences;
    struct image *im;
    struct run *r;

    (void)state;
    if (ss_manifest_build(m, 1, stderr, &im) != EMU_OK || ss_run_new(im, &o, &r) != EMU_OK ||
        ss_run_execute(r) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(ss_run_check(r, m, 1, &differences, &total, &checked), EMU_BAD_FILE);
    assert_null(differences);
    assert_string_equal(ss_error(), "dir/test.bsp.json: tile 3 a: \"0 / (tile - 3)\" for tile 3, "
                                    "element 0: division by zero");
    ss_run_free(r);
    ss_image_free(im);
    ss_manifest_free(m);
}

/* One tile reads two words from the host, adds them and sends the sum back, twice. */
static void streams_run(void **state)
{
    struct manifest_outcome o;

    (void)state;
    run_text(
        "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"#include <superstep/bsp.h>\\n"
        ".supervisor\\nmain: setzi $m0, in\\n setzi $m1, out\\n"
        "loop: HOST_REQUEST ask\\n sync SYNC_RECV\\n ld32 $m2, $m0, 0\\n ld32 $m3, $m0, 1\\n"
        " add $m2, $m2, $m3\\n st32 $m2, $m1, 0\\n HOST_REQUEST tell\\n sync SYNC_RECV\\n"
        " sync SYNC_HOST\\n bri loop\\nask: HOST_READ 3, in, 2\\ntell: HOST_WRITE 4, out, 1\\n\","
        "\"tiles\":1,\"memory\":[{\"name\":\"in\",\"bytes\":8},{\"name\":\"out\",\"bytes\":4}]}],"
        "\"streams\":[{\"id\":3,\"direction\":\"to_tiles\",\"u32\":[1,2,30,40]},"
        "{\"id\":4,\"direction\":\"to_host\",\"expect\":{\"u32\":[3,70]}}],\"runs\":1,"
        "\"expect\":[{\"tiles\":1,\"name\":\"out\",\"u32\":70}]}",
        1, &o);
    if (number_of(o.report, "unmet"))
        fail_msg("%s", json_dumps(o.differences, 0));
    assert_int_equal(number_of(o.report, "host_answers"), 1);
    assert_int_equal(number_of(json_array_get(json_object_get(o.report, "streams"), 1), "bytes"),
                     8);
    outcome_free(&o);
}

static void refuse_build(const char *text, enum emu_status want, const char *message)
{
    struct manifest *m = read_text(text);
    FILE *quiet = fopen("/dev/null", "w");
    struct image *im;

    assert_int_equal(ss_manifest_build(m, 1, quiet, &im), want);
    assert_null(im);
    if (!strstr(ss_error(), message))
        fail_msg("\"%s\" does not say \"%s\"", ss_error(), message);
    fclose(quiet);
    ss_manifest_free(m);
}

static void builds_that_fail(void **state)
{
    (void)state;
    refuse_build("{\"asm\":\"e: nop\",\"entry\":\"e\",\"as\":\"worker\"}", EMU_BAD_FILE,
                 "dir/test.bsp.json: expected a manifest; this is a case of one tile");
    refuse_build(
        "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"main: sync 6\",\"tiles\":0,\"memory\":["
        "{\"name\":\"x\",\"u32\":[1,\"main\",\"x+4\",\"y-4\"]}]}]}",
        EMU_BAD_FILE, "memory[0]: element 3: expected a memory or a symbol of the code, got \"y\"");
    refuse_build("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"start: sync 6\",\"tiles\":0}]}",
                 EMU_BAD_FILE, "programs[0].entry: no label \"main\"");
    refuse_build("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"main: sink 6\",\"tiles\":0}]}",
                 EMU_BAD_ASM, "dir/test.bsp.json:1: asm:1");
    refuse_build(
        "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"main:\\n.if TILE == 2\\noops\\n.endif\\n"
        "sync 6\",\"tiles\":\"all\"}]}",
        EMU_BAD_ASM, "for tile 2: 1 error, the first: dir/test.bsp.json:1: asm:3");
    /* the line of the manifest, then that of the text */
    refuse_build("{\n\"note\": \"[{\\\"asm\\\":\",\n\"machine\":\"toy4\",\n\"programs\":[\n"
                 "{\"asm\":\"main: sync 6\",\"tiles\":0},\n"
                 "{\"tiles\":[1, 2],\n\"asm\":\"main: sync 6\\n sink 6\"}]}",
                 EMU_BAD_ASM, "dir/test.bsp.json:7: asm:2");
    refuse_build(MEMORY("{\"name\":\"x\",\"bytes\":99999}"), EMU_BAD_FILE,
                 "do not fit into region 1");
    refuse_build(
        "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"main: sync 6\",\"tiles\":0,\"memory\":["
        "{\"name\":\"x\",\"u32\":[\"nowhere\"]}]}]}",
        EMU_BAD_FILE,
        "programs[0].memory[0]: element 0: expected a memory or a symbol of the code, got "
        "\"nowhere\"");
    refuse_build(
        "{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"main: sync 6\\n.space 64\",\"tiles\":0,"
        "\"code_bytes\":64}]}",
        EMU_BAD_FILE, "\"code_bytes\" leaves room");
    refuse_build("{\"machine\":\"toy4\",\"programs\":[{\"asm\":\"main: sync "
                 "6\",\"tiles\":\"all\",\"memory\":["
                 "{\"name\":\"x\",\"u32_per_tile\":\"6 / (tile - 3)\"}]}]}",
                 EMU_BAD_FILE, "programs[0].memory[0]: \"6 / (tile - 3)\" for tile");
    refuse_build("{\"machine\":\"toy4\",\"programs\":[{\"source\":\"none.S\",\"tiles\":0}]}",
                 EMU_IO, "dir/none.S");
}

static void no_memory(void **state)
{
    const struct manifest_options o = { .no_files = 1 };
    const char *text = RING "]}";

    (void)state;
    for (long n = 0;; n++) {
        struct manifest *m;
        long live = alloc_live();
        enum emu_status s;

        alloc_test_fail_at(n);
        s = ss_manifest_read_text(text, strlen(text), "x.json", &o, &m);
        alloc_test_fail_at(-1);
        if (s == EMU_OK) {
            assert_true(n > 8);
            ss_manifest_free(m);
            assert_int_equal(alloc_live(), live);
            break;
        }
        assert_int_equal(s, EMU_NO_MEMORY);
        assert_int_equal(alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_shapes),
        cmocka_unit_test(wrong_tiles),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(wrong_streams_and_expectations),
        cmocka_unit_test(tile_lists),
        cmocka_unit_test(expressions),
        cmocka_unit_test(ring_runs),
        cmocka_unit_test(unmet_expectations),
        cmocka_unit_test(streams_run),
        cmocka_unit_test(builds_that_fail),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(long_expressions),
        cmocka_unit_test(an_expectation_that_divides_by_zero),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
