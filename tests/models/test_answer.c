/* test_answer.c - the answer of `superstep run efficientnet-b0 --resolution 32` as JSON and as
 * text: every field that is promised is there, and the numbers agree with each other: cycles of
 * layers and phases with those of the run, bytes of categories, gaps and free bytes with the
 * memory, tiles of the histogram with the chip, rates with cycles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/arch/arch_numbers.h"
#include "emu/emu.h"
#include "emu/profile/profile_store.h"
#include "models/cli/commands_models.h"
#include "models/weights/weights.h"
#include "programs/compiler/report/count_text.h"
#include "programs/programs.h"

/* What a command that ends with this code writes to stdout; free() it. */
static char *answer_with(int expected, int argc, char **argv)
{
    FILE *f = tmpfile();
    int saved = dup(STDOUT_FILENO), code;
    char *text = NULL;
    size_t size = 0;
    ssize_t got;

    assert_non_null(f);
    fflush(stdout);
    dup2(fileno(f), STDOUT_FILENO);
    code = command_main(command_find(front_commands, "run"), argc, argv);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_int_equal(code, expected);
    rewind(f);
    got = getdelim(&text, &size, 0, f);
    assert_true(got > 0);
    fclose(f);
    return text;
}

static char *answer_to(int argc, char **argv)
{
    return answer_with(EXIT_RAN, argc, argv);
}

static int run_json(void **state)
{
    char *argv[] = { "run",          "-q",        "efficientnet-b0",
                     "--resolution", "32",        "--no-calibration",
                     "--json",       "--batch",   "2",
                     "--set",        "tiles=256", NULL };
    json_error_t error;
    char *text;

    text = answer_to(EMU_COUNT_OF(argv) - 1, argv);
    *state = json_loads(text, 0, &error);
    free(text);
    return *state ? 0 : -1;
}

static int drop_json(void **state)
{
    json_decref(*state);
    return 0;
}

static uint64_t number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_integer(v) || json_integer_value(v) < 0)
        fail_msg("%s is missing, or no number from 0 on", key);
    return (uint64_t)json_integer_value(v);
}

static double real(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_number(v))
        fail_msg("%s is missing, or no number", key);
    return json_number_value(v);
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    if (!s || !*s)
        fail_msg("%s is missing, or no text", key);
    return s;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-6 * fabs(b)))
        fail_msg("%.9g, expected %.9g", a, b);
}

static uint64_t sum_of(const json_t *o)
{
    const char *key;
    json_t *v;
    uint64_t sum = 0;

    json_object_foreach((json_t *)o, key, v)
    {
        sum += number(o, key);
    }
    return sum;
}

/* ---- the fields ---- */

static void test_head(void **state)
{
    const json_t *o = *state;
    double cycles = (double)number(o, "cycles"), seconds = real(o, "seconds");
    double macs = (double)number(o, "macs_per_picture");
    struct arch a = *ss_arch_preset("mk2");

    assert_int_equal(ss_arch_set(&a, "tiles=256"), EMU_OK);
    assert_string_equal(text(o, "network"), "efficientnet-b0");
    assert_string_equal(text(o, "machine"), "mk2");
    assert_string_equal(text(o, "engine"), "values");
    assert_int_equal(number(o, "batch"), 2);
    assert_int_equal(number(o, "resolution"), 32);
    assert_int_equal(number(o, "parameters"), 5288548);
    assert_int_equal(number(o, "tiles"), a.tiles);
    assert_near(seconds, cycles / ((double)a.clock_mhz * 1e6));
    assert_near(real(o, "pictures_per_second"), 2 / seconds);
    assert_near(real(o, "mac_efficiency"), 2 * macs / (cycles * a.tiles * arch_f16_macs_f16(&a)));
    assert_int_equal(strlen(text(o, "digest")), 32);
    assert_int_equal(strspn(text(o, "digest"), "0123456789abcdef"), 32);
    assert_true(json_array_size(json_object_get(o, "assumed")) > 0);
    assert_true(json_array_size(json_object_get(o, "published")) > 0);
}

static void test_top5(void **state)
{
    const json_t *top = json_object_get(*state, "top5"), *entry;
    const json_t *pictures = json_object_get(*state, "pictures");
    double before = 1;
    size_t i;

    assert_int_equal(json_array_size(top), 5);
    json_array_foreach((json_t *)top, i, entry)
    {
        assert_in_range(number(entry, "class"), 0, 999);
        assert_true(real(entry, "score") > 0 && real(entry, "score") <= before);
        before = real(entry, "score");
    }
    assert_int_equal(json_array_size(pictures), 2);
    assert_true(json_equal(top, json_object_get(json_array_get(pictures, 0), "top5")));
    assert_non_null(strstr(text(json_array_get(pictures, 1), "picture"), "landscape.png"));
}

static void test_layers(void **state)
{
    const json_t *layers = json_object_get(*state, "layers"), *b, *phases;
    uint64_t cycles = 0, compute = 0, exchange = 0, sync = 0, macs = 0, most = 0;
    size_t i;

    json_array_foreach((json_t *)layers, i, b)
    {
        text(b, "name");
        /* Cycles between layers have no operation. */
        assert_true(json_is_string(json_object_get(b, "op")));
        assert_int_equal(number(b, "cycles"),
                         number(b, "compute") + number(b, "exchange") + number(b, "sync"));
        assert_true(number(b, "imbalance") <= number(b, "compute"));
        cycles += number(b, "cycles");
        compute += number(b, "compute");
        exchange += number(b, "exchange");
        sync += number(b, "sync");
        macs += number(b, "macs");
        most = number(b, "max_tile_bytes") > most ? number(b, "max_tile_bytes") : most;
    }
    assert_true(i > 60);
    assert_int_equal(cycles, number(*state, "cycles"));
    assert_int_equal(macs, 2 * number(*state, "macs_per_picture"));
    phases = json_object_get(*state, "phases");
    assert_int_equal(compute, number(phases, "compute"));
    assert_int_equal(exchange, number(phases, "exchange"));
    assert_int_equal(sync, number(phases, "sync"));
    assert_true(number(phases, "lower_bound") < cycles);
    assert_true(most <= number(json_object_get(*state, "memory"), "max_tile_bytes"));
}

static void test_memory(void **state)
{
    const json_t *m = json_object_get(*state, "memory"), *bin;
    uint64_t tiles = number(m, "tiles_used"), bytes = number(m, "tile_bytes"), counted = 0;
    uint64_t total = number(m, "total_bytes"), most = number(m, "max_tile_bytes"), fullest = 0;
    size_t i;

    assert_int_equal(sum_of(json_object_get(m, "by_category")), total);
    assert_int_equal(total + number(m, "gap_bytes") + number(m, "free_bytes"), tiles * bytes);
    assert_int_equal(number(m, "mean_tile_bytes"), total / tiles);
    json_array_foreach(json_object_get(m, "histogram"), i, bin)
    {
        counted += number(bin, "tiles");
        if (number(bin, "tiles"))
            fullest = i;
    }
    assert_int_equal(counted, tiles);
    bin = json_array_get(json_object_get(m, "histogram"), fullest);
    assert_in_range(most, number(bin, "from_bytes"), number(bin, "to_bytes"));
}

static void test_fullest_tiles(void **state)
{
    const json_t *m = json_object_get(*state, "memory"), *t, *owner;
    uint64_t before = number(m, "max_tile_bytes");
    size_t i, k;

    assert_int_equal(json_array_size(json_object_get(m, "tiles")), 5);
    json_array_foreach(json_object_get(m, "tiles"), i, t)
    {
        uint64_t used = number(t, "used_bytes"), peak = number(t, "peak_bytes"), owned = 0;

        assert_true(i ? used <= before : used == before);
        before = used;
        assert_int_equal(sum_of(json_object_get(t, "by_category")), used);
        assert_int_equal(used + number(t, "gap_bytes") + number(t, "free_bytes"),
                         number(m, "tile_bytes"));
        assert_int_equal(sum_of(json_object_get(t, "peak_by_category")), peak);
        assert_true(peak <= used);
        assert_non_null(strstr(text(t, "peak"), "step "));
        json_array_foreach(json_object_get(t, "peak_owners"), k, owner)
        {
            text(owner, "owner");
            owned += number(owner, "bytes");
        }
        assert_true(k > 3 && owned <= peak);
    }
}

/* ---- the text ---- */

static void test_text(void **state)
{
    static const char *const said[] = {
        "Best classes of ",
        "Time on the chip",
        " images/s",
        "  compute ",
        "  exchange ",
        "  sync ",
        "  imbalance ",
        "  lower bound ",
        "Layers: cycles, and bytes of tile memory",
        "stem ",
        "fc ",
        "category, bytes",
        "mean of a tile",
        "most on a tile",
        "Tiles by bytes used",
        "Fullest tiles",
        "worst moment: step ",
        "Published figures",
        "here: ",
        "Assumed of the machine",
    };
    char *argv[] = { "run",
                     "-q",
                     "efficientnet-b0",
                     "--resolution",
                     "32",
                     "--no-calibration",
                     "--report",
                     "--set",
                     "tiles=256",
                     NULL };
    char *t = answer_to(EMU_COUNT_OF(argv) - 1, argv), *at = t;
    unsigned tiles = 0;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(said); i++) {
        if (!strstr(t, said[i]))
            fail_msg("the report does not say '%s'", said[i]);
    }
    while ((at = strstr(at, "worst moment: step "))) {
        tiles++;
        at++;
    }
    assert_int_equal(tiles, 5);
    free(t);
}

/* ---- one screen ---- */

enum { SCREEN_LINES = 40, SCREEN_COLUMNS = 100 };

static void assert_screen(const char *text)
{
    unsigned lines = 0;

    for (const char *at = text; *at; lines++) {
        size_t n = strcspn(at, "\n");

        if (n > SCREEN_COLUMNS)
            fail_msg("%zu columns: %.*s", n, (int)n, at);
        at += n + (at[n] != 0);
    }
    assert_in_range(lines, 10, SCREEN_LINES);
}

static void assert_says(const char *text, const char *const *said, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strstr(text, said[i]))
            fail_msg("the answer does not say '%s'", said[i]);
    }
}

/* Without --report: one screen with the same numbers as --json, a line for each of the pictures
 * that have room. */
static void test_screen(void **state)
{
    static const char *const said[] = { "Slowest layers", "Memory: ",      "Phases: compute ",
                                        "Best classes",   "cat.jpg: ",     "landscape.png: ",
                                        " images/s",      "More: --report" };
    char *argv[] = { "run",
                     "-q",
                     "efficientnet-b0",
                     "--set",
                     "tiles=256",
                     "--resolution",
                     "32",
                     "--no-calibration",
                     "--batch",
                     "2",
                     NULL };
    char *t = answer_to(EMU_COUNT_OF(argv) - 1, argv), cycles[64];

    assert_screen(t);
    assert_says(t, said, EMU_COUNT_OF(said));
    snprintf(cycles, sizeof(cycles), "\n%s cycles, ", count_text(number(*state, "cycles")).at);
    assert_non_null(strstr(t, cycles));
    assert_non_null(strstr(t, text(*state, "digest")));
    free(t);
}

/* Too few tiles by a little: compiled, and the screen says what is missing. */
static void test_shortage(void **state)
{
    static const char *const said[] = { "OUT OF MEMORY: 18 of 18 tiles", "are missing.",
                                        "All tiles together need", "What fills tile ",
                                        "What would help\n  1. Nothing was tried" };
    char *argv[] = { "run",
                     "-q",
                     "efficientnet-b0",
                     "--set",
                     "tiles=18",
                     "--resolution",
                     "32",
                     "--no-calibration",
                     "--try-for",
                     "0",
                     NULL };
    char *t = answer_with(EXIT_FAULTED, EMU_COUNT_OF(argv) - 1, argv);

    (void)state;
    assert_screen(t);
    assert_says(t, said, EMU_COUNT_OF(said));
    free(t);
}

/* Too few by far: the plans know it, nothing is compiled. */
static void test_hopeless(void **state)
{
    char *argv[] = { "run",          "-q", "efficientnet-b0",  "--set",     "tiles=8",
                     "--resolution", "32", "--no-calibration", "--try-for", "0",
                     "--json",       NULL };
    char *t = answer_with(EXIT_FAULTED, EMU_COUNT_OF(argv) - 1, argv);
    json_t *o = json_loads(t, 0, NULL);

    (void)state;
    assert_false(json_is_true(json_object_get(o, "fits")));
    assert_true(number(o, "expected_max_tile_bytes") > 2 * number(o, "tile_bytes"));
    assert_true(json_array_size(json_object_get(o, "advice")) > 0);
    json_decref(o);
    free(t);
}

/* ---- the range of f16 ---- */

/* What a command that ends well writes to stderr; free() it. */
static char *errors_of(int argc, char **argv)
{
    FILE *f = tmpfile();
    int saved = dup(STDERR_FILENO);
    char *text = NULL;
    size_t size = 0;

    assert_non_null(f);
    dup2(fileno(f), STDERR_FILENO);
    free(answer_to(argc, argv));
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(f);
    if (getdelim(&text, &size, 0, f) < 0) {
        free(text);
        text = calloc(1, 1);
    }
    fclose(f);
    return text;
}

/* Weights of which one layer is multiplied by a factor, as a file. */
static void write_scaled(const char *path, const char *layer, float factor)
{
    struct weights *w;
    struct param *p;
    struct net *n;

    assert_int_equal(net_new("efficientnet-b0", NULL, &n), EMU_OK);
    assert_int_equal(weights_new(n, &w), EMU_OK);
    weights_seed(w, n, 1);
    p = weights_find(w, n, layer, "weight");
    for (uint64_t i = 0; i < p->elements; i++)
        p->data[i] *= factor;
    assert_int_equal(weights_write(w, n, path), EMU_OK);
    weights_free(w);
    net_free(n);
}

/* Results in block3a.expand of pictures of 32 x 32: 144 channels of 8 x 8. */
enum { EXPANDED = 144 * 8 * 8 };

/* Sums that f16 does not hold are named by their layer, without being asked for, and counted;
 * others are not. */
static void test_overflow(void **state)
{
    char path[] = "/tmp/test_answer_XXXXXX";
    char *argv[] = { "run",          "-q", "efficientnet-b0", "--set", "tiles=256",
                     "--resolution", "32", "--weights",       path,    NULL };
    char *said, *where;
    unsigned superstep = 0, values = 0, tiles = 0;

    (void)state;
    close(mkstemp(path));
    write_scaled(path, "block3a.expand", 1);
    said = errors_of(EMU_COUNT_OF(argv) - 1, argv);
    assert_string_equal(said, "");
    free(said);
    write_scaled(path, "block3a.expand", 1e5f);
    said = errors_of(EMU_COUNT_OF(argv) - 1, argv);
    where = strstr(said, "beyond the range of f16 were clipped, first in layer block3a.expand ");
    if (!where)
        fail_msg("'%s' does not name the layer", said);
    if (sscanf(strchr(where, '('), "(superstep %u, %u tiles; %u of their results", &superstep,
               &tiles, &values) != 3 ||
        !tiles || !values || values > EXPANDED)
        fail_msg("'%s' does not count the values", said);
    free(said);
    unlink(path);
}

/* The same on several chips: of chip 1, whose supersteps are its own; --ranges has it there, too.
 */
static void test_overflow_of_chip(void **state)
{
    char path[] = "/tmp/test_answer_XXXXXX";
    char *argv[] = { "run",          "-q",       "efficientnet-b0", "--set",    "tiles=256",
                     "--resolution", "32",       "--weights",       path,       "--cut",
                     "block3a",      "--ranges", "--json",          "--strict", NULL };
    char *said = NULL, *text;
    unsigned superstep, tiles, values;
    json_t *o, *layer;
    size_t i, clipped = 0;

    (void)state;
    close(mkstemp(path));
    write_scaled(path, "block3a.expand", 1e5f);
    argv[EMU_COUNT_OF(argv) - 2] = NULL;
    said = errors_of(EMU_COUNT_OF(argv) - 2, argv);
    text = strstr(said, "first in layer block3a.expand (");
    if (!text || sscanf(strchr(text, '('), "(superstep %u of chip 1, %u tiles; %u of their results",
                        &superstep, &tiles, &values) != 3)
        fail_msg("'%s' does not name the layer and the chip", said);
    assert_true(tiles && values && values <= EXPANDED);
    free(said);
    argv[EMU_COUNT_OF(argv) - 2] = "--strict";
    text = answer_with(EXIT_FAULTED, EMU_COUNT_OF(argv) - 1, argv);
    o = json_loads(text, 0, NULL);
    assert_non_null(o);
    json_array_foreach(json_object_get(o, "layers"), i, layer)
    {
        int is_it = !strcmp(json_string_value(json_object_get(layer, "name")), "block3a.expand");

        if (!strcmp(json_string_value(json_object_get(layer, "name")), "stem"))
            assert_int_equal(json_integer_value(json_object_get(layer, "saturated")), 0);
        if (!is_it)
            continue;
        clipped++;
        assert_int_equal(json_integer_value(json_object_get(layer, "chip")), 1);
        assert_true(json_integer_value(json_object_get(layer, "saturated")) > 0);
        assert_true(json_real_value(json_object_get(layer, "largest")) == 65504);
    }
    assert_int_equal(clipped, 1);
    json_decref(o);
    free(text);
    unlink(path);
}

/* --ranges: the layer whose sums are too large is at the end of the range, and those before it are
 * not. */
static void test_ranges(void **state)
{
    char path[] = "/tmp/test_answer_XXXXXX", db[] = "/tmp/test_answer_XXXXXX";
    char *argv[] = { "run",      "-q",        "efficientnet-b0",
                     "--set",    "tiles=256", "--resolution",
                     "32",       "--weights", path,
                     "--ranges", "--profile", db,
                     NULL };
    double largest[2];
    char saturated[2][16], *text, *line;
    struct profile *p;

    (void)state;
    close(mkstemp(path));
    close(mkstemp(db));
    write_scaled(path, "block3a.expand", 1e5f);
    text = answer_to(EMU_COUNT_OF(argv) - 1, argv);
    line = strstr(text, "\nRanges:");
    assert_non_null(line);
    assert_int_equal(
        sscanf(strstr(line, "\nstem "), " stem %*s %lf %*s %15s", &largest[0], saturated[0]), 2);
    assert_int_equal(sscanf(strstr(line, "\nblock3a.expand "), " block3a.expand %*s %lf %*s %15s",
                            &largest[1], saturated[1]),
                     2);
    assert_true(largest[0] > 0.1 && largest[0] < 100);
    assert_string_equal(saturated[0], "0");
    assert_true(largest[1] == 65504);
    assert_true(atoi(saturated[1]) > 0);
    free(text);
    unlink(path);
    assert_int_equal(profile_read(db, &p), EMU_OK);
    unlink(db);
    assert_int_equal(profile_query_integer(p, "SELECT sum(saturated) FROM saturations JOIN layers "
                                              "USING (layer) WHERE name = 'block3a.expand'"),
                     atoi(saturated[1]));
    assert_true(profile_query_integer(p, "SELECT max(tiles) FROM saturations JOIN layers USING "
                                         "(layer) WHERE name = 'block3a.expand'") > 0);
    assert_int_equal(profile_query_integer(p, "SELECT count(*) FROM saturations JOIN layers USING "
                                              "(layer) WHERE name = 'stem'"),
                     0);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),   cmocka_unit_test(test_head),
        cmocka_unit_test(test_top5),     cmocka_unit_test(test_layers),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_fullest_tiles),
        cmocka_unit_test(test_text),     cmocka_unit_test(test_screen),
        cmocka_unit_test(test_shortage), cmocka_unit_test(test_hopeless),
        cmocka_unit_test(test_overflow), cmocka_unit_test(test_overflow_of_chip),
    };

    return cmocka_run_group_tests(tests, run_json, drop_json);
}
