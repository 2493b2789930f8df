/* test_onnx_run.c - commands on small ONNX files: results are there whatever the input was, a sweep
 * takes what a run has kept, absent results stop nothing, names may have any bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <unistd.h>

#include "models/answer/model_report.h"
#include "tests/fixtures/picture_fixture.h"
#include "tests/fixtures/quiet_run.h"
#include "tests/fixtures/small_networks.h"

enum { ARGS_MAX = 32 };

static struct test_folder folder;

/* The exit code of `superstep WORDS` on few tiles. */
static int superstep(const char *const *word)
{
    char *argv[ARGS_MAX];
    int argc = 0;

    for (; word[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)word[argc];
    argv[argc++] = "-m";
    argv[argc++] = "toy16";
    argv[argc++] = "-q";
    argv[argc] = NULL;
    return quiet_run(argc, argv, 1);
}
#define SUPERSTEP(...) superstep((const char *const[]){ __VA_ARGS__, NULL })

static const char *network(const char *input, const char *output)
{
    const char *path = path_in(&folder, "%s.%s.onnx", input, output ? output : "absent");

    assert_true(small_network_write(input, output, path));
    return path;
}

static uint64_t file_bytes(const char *path)
{
    struct stat s;

    return stat(path, &s) ? 0 : (uint64_t)s.st_size;
}

/* Any input, drawn, with any output, one and several at a time. */
static void runs_without_files(void **state)
{
    (void)state;
    for (const struct small_input *in = small_inputs; in->name; in++) {
        for (const struct small_output *out = small_outputs; out->name; out++) {
            assert_int_equal(SUPERSTEP("run", network(in->name, out->name)), 0);
            assert_int_equal(SUPERSTEP("run", network(in->name, out->name), "-b", "4", "--report"),
                             0);
        }
    }
}

/* --image is for one input of one or three channels, whatever its form. */
static void pictures_of_any_form(void **state)
{
    (void)state;
    for (const struct small_input *in = small_inputs; in->name; in++)
        assert_int_equal(
            SUPERSTEP("run", network(in->name, "scores"), "--image", "models/pictures/cat.jpg"),
            in->pictures ? 0 : 2);
}

/* [4][16] in numpy's format. */
static const char *four_vectors(const char *name)
{
    static const char head[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 16), }";
    const char *path = path_in(&folder, "%s", name);
    float x[64];
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "\x93NUMPY\x01%c%c%c%s", 0, (int)sizeof(head), 0, head);
    fputc('\n', f);
    for (int k = 0; k < 64; k++)
        x[k] = (float)k / 64;
    fwrite(x, sizeof(x), 1, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* A file of several inputs has one name: every result is written and named. */
static void batch_of_one_file(void **state)
{
    const char *y = path_in(&folder, "y.npy"), *db = path_in(&folder, "p.db");
    const char *html = path_in(&folder, "p.html");

    (void)state;
    assert_int_equal(SUPERSTEP("run", network("vector", "scores"), "-b", "4", "--input",
                               four_vectors("x.npy"), "--save", y, "--profile", db, "--html", html),
                     0);
    assert_int_equal(file_bytes(y), 128 + 4 * 10 * sizeof(float));
    assert_true(file_bytes(db) > 0 && file_bytes(html) > 0);
    assert_int_equal(SUPERSTEP("run", network("vector", "scores"), "-b", "4", "--input",
                               four_vectors("x.npy"), "--json"),
                     0);
}

static void names_of_inputs(void **state)
{
    static const char *const one[] = { "x.npy" }, *const four[] = { "a", "b", "c", "d" };
    struct model_answer m = { .facts = { .batch = 4 } };
    char name[MODEL_INPUT_NAME];

    (void)state;
    assert_string_equal(model_input_name(&m, 3, name), "drawn numbers [3]");
    m.file = one;
    m.files = 1;
    assert_string_equal(model_input_name(&m, 3, name), "x.npy [3]");
    m.file = four;
    m.files = 4;
    assert_string_equal(model_input_name(&m, 3, name), "d");
    m.facts.batch = m.files = 1;
    assert_string_equal(model_input_name(&m, 0, name), "a");
}

/* Bytes that are no UTF-8 in names: JSON has U+FFFD for them. */
static void names_of_any_bytes(void **state)
{
    const char *path = path_in(&folder, "caf\xe9.onnx");

    (void)state;
    assert_true(small_network_write("vector", "scores", path));
    assert_int_equal(SUPERSTEP("run", path, "-b", "4", "--input", four_vectors("\xff.npy"),
                               "--json", "--html", path_in(&folder, "any.html")),
                     0);
}

/* What cannot be written takes nothing else with it. */
static void other_files_are_written(void **state)
{
    const char *y = path_in(&folder, "several.y.npy"), *t = path_in(&folder, "several.t.npy");
    const char *db = path_in(&folder, "several.db");
    char first[128], second[128];

    (void)state;
    snprintf(first, sizeof(first), "y=%s", "/dev/full");
    snprintf(second, sizeof(second), "t=%s", t);
    assert_int_equal(SUPERSTEP("run", network("vector", "several"), "--save", first, "--save",
                               second, "--html", "/dev/full", "--profile", db),
                     2);
    assert_true(!file_bytes(y) && file_bytes(t) > 0 && file_bytes(db) > 0);
}

static void absent_first_results(void **state)
{
    (void)state;
    for (const char *const *name = small_absent; *name; name++) {
        const char *path = network(*name, NULL);

        assert_int_equal(SUPERSTEP("run", path, "--dump", "groups"), 0);
        assert_int_equal(SUPERSTEP("run", path, "--compare-layers"), 0);
        assert_int_equal(SUPERSTEP("run", path, "--report", "--plan"), 0);
    }
    assert_int_equal(SUPERSTEP("train", network("split", NULL), "-b", "4", "--engine", "timing"),
                     0);
}

static int points_with(const char *db, const char *status)
{
    sqlite3_stmt *q;
    sqlite3 *store;
    int n;

    assert_int_equal(sqlite3_open_v2(db, &store, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(store, "SELECT count(*) FROM results WHERE status = ?1", -1, &q, NULL),
        SQLITE_OK);
    sqlite3_bind_text(q, 1, status, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    n = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(store);
    return n;
}

/* A run keeps the network, and the sweep takes it from there, whatever its inputs are. */
static void sweep_after_run(void **state)
{
    char cache[PATH_MAX];

    (void)state;
    snprintf(cache, sizeof(cache), "%s", path_in(&folder, "cache"));
    for (const struct small_input *in = small_inputs; in->name; in++) {
        const char *path = network(in->name, "scores");
        const char *db = path_in(&folder, "%s.db", in->name);

        assert_int_equal(SUPERSTEP("run", path, "--cache", cache), 0);
        assert_int_equal(SUPERSTEP("sweep", path, "--cache", cache, "-j", "1", "--vary",
                                   "sup_putcs_cycles=1,3", "-o", db),
                         0);
        assert_int_equal(points_with(db, "ok"), 2);
    }
    assert_int_equal(SUPERSTEP("sweep", network("vector", "scores"), "--no-cache", "-j", "1",
                               "--vary", "clock_mhz=1000,1100", "-o", path_in(&folder, "none.db")),
                     0);
}

static int begin(void **state)
{
    (void)state;
    folder_new(&folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

/* What is kept of a file is kept for the dimensions that were given. */
static void kept_for_its_dimensions(void **state)
{
    const char *path = network("vector", "scores");
    char cache[PATH_MAX];

    (void)state;
    snprintf(cache, sizeof(cache), "%s", path_in(&folder, "dimensions"));
    for (unsigned n = 2; n < 4; n++) {
        const char *y = path_in(&folder, "y%u.npy", n);
        char dim[16];

        snprintf(dim, sizeof(dim), "N=%u", n);
        assert_int_equal(SUPERSTEP("run", path, "--cache", cache, "--dim", dim, "--save", y), 0);
        assert_int_equal(file_bytes(y), 128 + n * 10 * sizeof(float));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_without_files),      cmocka_unit_test(pictures_of_any_form),
        cmocka_unit_test(batch_of_one_file),       cmocka_unit_test(names_of_inputs),
        cmocka_unit_test(names_of_any_bytes),      cmocka_unit_test(other_files_are_written),
        cmocka_unit_test(absent_first_results),    cmocka_unit_test(sweep_after_run),
        cmocka_unit_test(kept_for_its_dimensions),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
