/* test_results.c - CSV and JSON lines of odd names, the best classes, and files that end too early:
 * a full device, a limit, a killed process, and going on after them.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fixtures/picture_fixture.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "emu/base/alloc.h"
#include "emu/base/prng.h"
#include "emu/base/name_text.h"
#include "models/feed/results.h"

enum { CLASSES = 7 };

static const float scores[CLASSES] = { 0.125f, 0.5f, 0.1f, 0.0625f, 0.5f, 0.015625f, 0.03125f };

static struct results *open_results(const char *path, int resume)
{
    struct results_options o = { .resume = resume };
    struct results *r;

    if (results_open(path, &o, &r) != EMU_OK || results_begin(r) != EMU_OK)
        fail_msg("%s", ss_error());
    return r;
}

static void put(struct results *r, const char *name, uint64_t index)
{
    assert_int_equal(results_put(r, name, index, scores, CLASSES), EMU_OK);
}

static void expect_file(const char *path, const char *text)
{
    char *data;

    read_file(path, &data);
    assert_string_equal(data, text);
    free(data);
}

#define HEADER                                                                                     \
    "file,index,class1,score1,class2,score2,class3,score3,class4,score4,class5,score5,file_hex\n"
#define TOP_CSV   "1,0.5,4,0.5,0,0.125,2,0.100000001,3,0.0625"
#define TOP_JSONL "\"classes\": [1, 4, 0, 2, 3], \"scores\": [0.5, 0.5, 0.125, 0.100000001, 0.0625]"

/* ---- names of classes ---- */

static void names_stand_beside_classes(void **state)
{
    static const char *const names[CLASSES] = { "cat", "a, b", "dog", "\"q\"", "e", "f", "g" };
    struct results_options o = { .names = names };
    struct results *r;
    char path[2][64];

    (void)state;
    snprintf(path[0], sizeof(path[0]), "/tmp/superstep-names-%d.csv", getpid());
    snprintf(path[1], sizeof(path[1]), "/tmp/superstep-names-%d.jsonl", getpid());
    for (int k = 0; k < 2; k++) {
        o.resume = 0;
        assert_int_equal(results_open(path[k], &o, &r), EMU_OK);
        assert_int_equal(results_begin(r), EMU_OK);
        put(r, "x.jpg", 0);
        assert_int_equal(results_close(r), EMU_OK);
        o.resume = 1;
        assert_int_equal(results_open(path[k], &o, &r), EMU_OK);
        assert_int_equal(results_kept(r), 1);
        assert_int_equal(results_close(r), EMU_OK);
    }
    expect_file(
        path[0],
        "file,index,class1,name1,score1,class2,name2,score2,class3,name3,score3,class4,"
        "name4,score4,class5,name5,score5,file_hex\n"
        "x.jpg,0,1,\"a, b\",0.5,4,e,0.5,0,cat,0.125,2,dog,0.100000001,3,\"\"\"q\"\"\",0.0625,\n");
    expect_file(path[1],
                "{\"file\": \"x.jpg\", \"index\": 0, \"classes\": [1, 4, 0, 2, 3], \"names\": "
                "[\"a, b\", \"e\", \"cat\", \"dog\", \"\\\"q\\\"\"], \"scores\": [0.5, 0.5, 0.125, "
                "0.100000001, 0.0625]}\n");
    o.names = NULL; /* another format */
    assert_int_equal(results_open(path[0], &o, &r), EMU_BAD_FILE);
    unlink(path[0]);
    unlink(path[1]);
}

/* ---- text ---- */

/* A name, and what becomes of it. */
struct odd_name {
    const char *name, *json;
    const char *csv; /* NULL: the name itself */
    const char *hex; /* NULL: the name is good UTF-8 */
};

static const struct odd_name odd[] = {
    { "a.jpg", .json = "\"a.jpg\"" },
    { "a,b.jpg", .json = "\"a,b.jpg\"", .csv = "\"a,b.jpg\"" },
    { "say \"hi\".jpg", .json = "\"say \\\"hi\\\".jpg\"", .csv = "\"say \"\"hi\"\".jpg\"" },
    { "\"", .json = "\"\\\"\"", .csv = "\"\"\"\"" },
    { "two\nlines.jpg", .json = "\"two\\u000alines.jpg\"", .csv = "\"two\nlines.jpg\"" },
    { "end\r", .json = "\"end\\u000d\"", .csv = "\"end\r\"" },
    { " space", .json = "\" space\"", .csv = "\" space\"" },
    { "back\\slash\t\x7f", .json = "\"back\\\\slash\\u0009\\u007f\"" },
    { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x88", .json = "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x88\"" },
    { "\xe4.jpg", .json = "\"\xef\xbf\xbd.jpg\"", .csv = "\xef\xbf\xbd.jpg", .hex = "e42e6a7067" },
    { "\xc3", .json = "\"\xef\xbf\xbd\"", .csv = "\xef\xbf\xbd", .hex = "c3" },
    { "\xc0\x80", .json = "\"\xef\xbf\xbd\xef\xbf\xbd\"", .csv = "\xef\xbf\xbd\xef\xbf\xbd",
      .hex = "c080" },
    { "\xed\xa0\x80,", .json = "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd,\"",
      .csv = "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd,\"", .hex = "eda0802c" },
    { "\xf4\x90\x80\x80", .json = "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
      .csv = "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", .hex = "f4908080" },
};

static void test_csv(void **state)
{
    char want[4096] = HEADER;
    struct test_folder d;
    struct results *r;

    (void)state;
    folder_new(&d);
    r = open_results(path_in(&d, "r.csv"), 0);
    for (unsigned i = 0; i < EMU_COUNT_OF(odd); i++) {
        const char *csv = odd[i].csv ? odd[i].csv : odd[i].name;

        put(r, odd[i].name, 3 * i);
        sprintf(want + strlen(want), "%s,%u," TOP_CSV ",%s\n", csv, 3 * i,
                odd[i].hex ? odd[i].hex : "");
    }
    assert_int_equal(results_kept(r), EMU_COUNT_OF(odd));
    expect_file(path_in(&d, "r.csv"), want); /* before it is closed */
    assert_int_equal(results_close(r), EMU_OK);
    expect_file(path_in(&d, "r.csv"), want);
    folder_remove(&d);
}

static void test_jsonl(void **state)
{
    struct test_folder d;
    struct results *r;
    char line[1024];
    FILE *f;

    (void)state;
    folder_new(&d);
    r = open_results(path_in(&d, "r.jsonl"), 0);
    for (unsigned i = 0; i < EMU_COUNT_OF(odd); i++)
        put(r, odd[i].name, i);
    assert_int_equal(results_close(r), EMU_OK);
    f = fopen(path_in(&d, "r.jsonl"), "r");
    for (unsigned i = 0; i < EMU_COUNT_OF(odd); i++) {
        char want[1024], hex[64] = "";
        json_t *o;

        if (odd[i].hex)
            sprintf(hex, ", \"file_hex\": \"%s\"", odd[i].hex);
        sprintf(want, "{\"file\": %s, \"index\": %u, " TOP_JSONL "%s}\n", odd[i].json, i, hex);
        assert_non_null(fgets(line, sizeof(line), f));
        assert_string_equal(line, want);
        o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(o);
        if (!odd[i].hex)
            assert_string_equal(json_string_value(json_object_get(o, "file")), odd[i].name);
        json_decref(o);
    }
    assert_null(fgets(line, sizeof(line), f));
    fclose(f);
    folder_remove(&d);
}

/* Fewer classes than wanted; numbers that are none; equal ones by class. */
static void test_top(void **state)
{
    static const float few[] = { -1, 2.5f };
    static const float odd_score[] = { NAN, -INFINITY, 1, NAN, INFINITY, 1, 1 };
    struct test_folder d;
    struct results *r;

    (void)state;
    folder_new(&d);
    r = open_results(path_in(&d, "r.csv"), 0);
    assert_int_equal(results_put(r, "few", 0, few, 2), EMU_OK);
    assert_int_equal(results_put(r, "odd", 1, odd_score, 7), EMU_OK);
    assert_int_equal(results_put(r, "nan", 2, odd_score, 1), EMU_OK);
    assert_int_equal(results_put(r, "none", 3, few, 0), EMU_OK);
    assert_int_equal(results_close(r), EMU_OK);
    expect_file(path_in(&d, "r.csv"), HEADER "few,0,1,2.5,0,-1,,,,,,,\nodd,1,4,,2,1,5,1,6,1,1,,\n"
                                             "nan,2,0,,,,,,,,,,\nnone,3,,,,,,,,,,,\n");
    r = open_results(path_in(&d, "r.jsonl"), 0);
    assert_int_equal(results_put(r, "few", 0, few, 2), EMU_OK);
    assert_int_equal(results_put(r, "odd", 1, odd_score, 7), EMU_OK);
    assert_int_equal(results_close(r), EMU_OK);
    expect_file(path_in(&d, "r.jsonl"),
                "{\"file\": \"few\", \"index\": 0, \"classes\": [1, 0], \"scores\": [2.5, -1]}\n"
                "{\"file\": \"odd\", \"index\": 1, \"classes\": [4, 2, 5, 6, 1], "
                "\"scores\": [null, 1, 1, 1, null]}\n");
    folder_remove(&d);
}

/* Every f32 comes back from its digits. */
static void test_digits(void **state)
{
    struct prng p;
    struct test_folder d;
    struct results *r;
    uint32_t bits[200];
    float v[200];
    char line[512];
    FILE *f;

    (void)state;
    folder_new(&d);
    prng_seed(&p, 11);
    r = open_results(path_in(&d, "r.csv"), 0);
    for (int i = 0; i < 200; i++) {
        bits[i] = (uint32_t)prng_next(&p) & 0xbf7fffffu; /* no NaN, no infinity */
        memcpy(&v[i], &bits[i], 4);
        assert_int_equal(results_put(r, "x", (uint64_t)i, &v[i], 1), EMU_OK);
    }
    assert_int_equal(results_close(r), EMU_OK);
    f = fopen(path_in(&d, "r.csv"), "r");
    assert_non_null(fgets(line, sizeof(line), f));
    for (int i = 0; i < 200; i++) {
        float back;

        assert_non_null(fgets(line, sizeof(line), f));
        assert_int_equal(sscanf(line, "x,%*d,0,%f,", &back), 1);
        assert_memory_equal(&back, &v[i], 4);
    }
    fclose(f);
    folder_remove(&d);
}

static void test_format(void **state)
{
    struct results_options o = { .format = RESULTS_JSONL };
    struct test_folder d;
    struct results *r;

    (void)state;
    folder_new(&d);
    assert_int_equal(results_open(path_in(&d, "r.csv"), &o, &r), EMU_OK);
    assert_int_equal(results_begin(r), EMU_OK);
    put(r, "x", 0);
    assert_int_equal(results_close(r), EMU_OK);
    expect_file(path_in(&d, "r.csv"), "{\"file\": \"x\", \"index\": 0, " TOP_JSONL "}\n");
    o.format = RESULTS_BY_NAME;
    assert_int_equal(results_open(path_in(&d, "r.txt"), &o, &r), EMU_USAGE);
    assert_null(r);
    assert_int_equal(access(path_in(&d, "r.txt"), F_OK), -1);
    assert_int_equal(results_open(path_in(&d, "none/r.csv"), &o, &r), EMU_IO);
    assert_int_equal(results_open(path_in(&d, "%s", ""), &o, &r), EMU_USAGE);
    o.resume = 1;
    assert_int_equal(results_open("-", &o, &r), EMU_USAGE);
    assert_int_equal(results_close(NULL), EMU_OK);
    folder_remove(&d);
}

static void test_stdout(void **state)
{
    int saved, fd;
    struct test_folder d;
    struct results *r;

    (void)state;
    folder_new(&d);
    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    fd = open(path_in(&d, "out"), O_CREAT | O_RDWR, 0666);
    assert_int_equal(write(fd, "before\n", 7), 7);
    dup2(fd, STDOUT_FILENO);
    r = open_results("-", 0);
    put(r, "x", 0);
    assert_int_equal(results_close(r), EMU_OK);
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO); /* it was still open */
    close(saved);
    close(fd);
    expect_file(path_in(&d, "out"), "before\n" HEADER "x,0," TOP_CSV ",\n");
    folder_remove(&d);
}

/* ---- what cannot be written ---- */

static void expect_error(const char *a, const char *b)
{
    if (!strstr(ss_error(), a) || !strstr(ss_error(), b))
        fail_msg("'%s' does not say '%s' and '%s'", ss_error(), a, b);
}

static void test_full_device(void **state)
{
    struct results_options o = { .format = RESULTS_JSONL };
    struct results *r;

    (void)state;
    assert_int_equal(results_open("/dev/full", &o, &r), EMU_OK);
    assert_int_equal(results_begin(r), EMU_OK); /* nothing to write yet */
    assert_int_equal(results_put(r, "x", 0, scores, CLASSES), EMU_IO);
    expect_error("/dev/full: No space left", "0 results are kept");
    assert_int_equal(results_put(r, "y", 1, scores, CLASSES), EMU_IO);
    expect_error("an earlier error", "0 results are kept");
    assert_int_equal(results_close(r), EMU_OK);
    o.format = RESULTS_CSV;
    assert_int_equal(results_open("/dev/full", &o, &r), EMU_OK);
    assert_int_equal(results_begin(r), EMU_IO);
    expect_error("No space left", "0 results are kept");
    assert_int_equal(results_close(r), EMU_OK);
}

/* How many results a file of at most `bytes` bytes takes; it then has no part of a line. */
static uint64_t fill(const char *path, size_t bytes)
{
    struct rlimit saved, limit;
    struct results *r;
    uint64_t n = 0;
    char *data;
    size_t size;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
    limit = saved;
    limit.rlim_cur = bytes;
    r = open_results(path, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    while (results_put(r, "name.jpg", n, scores, CLASSES) == EMU_OK)
        n++;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
    expect_error("File too large", " results are kept");
    assert_null(strstr(ss_error(), "part of"));
    assert_int_equal(results_kept(r), n);
    assert_int_equal(results_close(r), EMU_OK);
    size = read_file(path, &data);
    assert_true(size <= bytes && (!size || data[size - 1] == '\n'));
    free(data);
    return n;
}

static void test_limit(void **state)
{
    static const size_t bytes[] = { 0, 50, 1000, 1001, 1002, 4096 };
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    struct test_folder d;

    (void)state;
    folder_new(&d);
    for (unsigned i = 0; i < EMU_COUNT_OF(bytes); i++) {
        uint64_t n = fill(path_in(&d, "r.jsonl"), bytes[i]);

        assert_in_range(n, bytes[i] / 140, bytes[i] / 110);
    }
    signal(SIGXFSZ, before);
    folder_remove(&d);
}

/* A reader that goes away: what is in the pipe cannot be taken back, and the message says so. */
static void test_pipe(void **state)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int saved = dup(STDOUT_FILENO), ends[2];
    enum emu_status s = EMU_OK;
    struct results *r;
    uint64_t n = 0;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK); /* a full pipe is an error then */
    r = open_results("-", 0);
    while (s == EMU_OK) {
        s = results_put(r, "x", n, scores, CLASSES);
        n += s == EMU_OK;
    }
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(ends[0]);
    assert_int_equal(s, EMU_IO);
    assert_true(n > 100);
    assert_int_equal(results_kept(r), n);
    assert_int_equal(results_close(r), EMU_OK);
    signal(SIGPIPE, before);
}

/* A process that is killed after the 25th result. */
static void test_killed(void **state)
{
    struct test_folder d;
    struct results *r;
    pid_t child;
    int status;

    (void)state;
    folder_new(&d);
    fflush(stdout);
    child = fork();
    if (!child) {
        r = open_results(path_in(&d, "r.csv"), 0);
        for (uint64_t i = 0; i < 25; i++)
            if (results_put(r, "x", i, scores, CLASSES) != EMU_OK)
                _exit(1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    r = open_results(path_in(&d, "r.csv"), 1);
    assert_int_equal(results_kept(r), 25);
    assert_int_equal(results_done(r), 25);
    assert_int_equal(results_close(r), EMU_OK);
    folder_remove(&d);
}

/* ---- going on ---- */

/* A file of results of all odd names, cut after every byte, goes on as if nothing had been. */
static void resume_everywhere(const struct test_folder *d, const char *name)
{
    struct results *r = open_results(path_in(d, "%s", name), 0);
    char *whole, *again;
    size_t bytes;

    for (unsigned i = 0; i < EMU_COUNT_OF(odd); i++)
        put(r, odd[i].name, i);
    assert_int_equal(results_close(r), EMU_OK);
    bytes = read_file(path_in(d, "%s", name), &whole);
    for (size_t n = 0; n <= bytes; n++) {
        uint64_t done;

        write_bytes(path_in(d, "%s", name), whole, n);
        r = open_results(path_in(d, "%s", name), 1);
        done = results_done(r);
        assert_int_equal(results_kept(r), done);
        if (done) {
            assert_int_equal(results_check_last(r, odd[done - 1].name), EMU_OK);
            assert_int_equal(results_check_last(r, "another"), EMU_BAD_FILE);
        }
        for (uint64_t i = done; i < EMU_COUNT_OF(odd); i++)
            put(r, odd[i].name, i);
        assert_int_equal(results_kept(r), EMU_COUNT_OF(odd));
        assert_int_equal(results_close(r), EMU_OK);
        assert_int_equal(read_file(path_in(d, "%s", name), &again), bytes);
        assert_memory_equal(again, whole, bytes);
        free(again);
    }
    free(whole);
}

static void test_resume(void **state)
{
    struct test_folder d;
    struct results *r;

    (void)state;
    folder_new(&d);
    resume_everywhere(&d, "r.csv");
    resume_everywhere(&d, "r.jsonl");
    r = open_results(path_in(&d, "new.csv"), 1); /* nothing to go on from */
    assert_int_equal(results_done(r), 0);
    assert_int_equal(results_check_last(r, "x"), EMU_OK);
    put(r, "gaps", 41); /* files before it were bad */
    assert_int_equal(results_close(r), EMU_OK);
    r = open_results(path_in(&d, "new.csv"), 1);
    assert_int_equal(results_done(r), 42);
    assert_int_equal(results_kept(r), 1);
    assert_int_equal(results_close(r), EMU_OK);
    folder_remove(&d);
}

/* Files that are something else stay as they are. */
/* A file is written by one stream at a time. */
static void test_lock(void **state)
{
    const struct results_options o = { 0 };
    struct results *r, *other;
    struct test_folder d;

    (void)state;
    folder_new(&d);
    r = open_results(path_in(&d, "r.csv"), 0);
    assert_int_equal(results_open(path_in(&d, "r.csv"), &o, &other), EMU_USAGE);
    assert_null(other);
    assert_non_null(strstr(ss_error(), "r.csv: another stream is writing it"));
    assert_int_equal(results_close(r), EMU_OK);
    r = open_results(path_in(&d, "r.csv"), 1);
    assert_int_equal(results_close(r), EMU_OK);
    folder_remove(&d);
}

static void test_resume_other(void **state)
{
    static const char *const text[][2] = {
        { "r.csv", "name,class\nx,1\n" },
        { "r.csv", "something" },
        { "r.csv", HEADER "x,y," TOP_CSV ",\n" },
        { "r.csv", HEADER "x\n" },
        { "r.csv", HEADER "\n" },
        { "r.csv", "\n" },
        { "r.jsonl", HEADER },
        { "r.jsonl", "{}\n" },
        { "r.jsonl", "{\"file\": 1, \"index\": 0, }\n" },
        { "r.jsonl", "{\"file\": \"x\", \"index\": x, }\n" },
        { "r.jsonl", "{\"file\": \"x\", \"index\": 18446744073709551616, }\n" },
        { "r.jsonl", "{\"file\": \"x}\n" },
        { "r.jsonl", "\n" },
    };
    struct results_options o = { .resume = 1 };
    long live = alloc_live();
    struct test_folder d;
    struct results *r;

    (void)state;
    folder_new(&d);
    for (unsigned i = 0; i < EMU_COUNT_OF(text); i++) {
        const char *path = path_in(&d, "%s", text[i][0]);

        write_bytes(path, text[i][1], strlen(text[i][1]));
        assert_int_equal(results_open(path, &o, &r), EMU_BAD_FILE);
        assert_null(r);
        expect_error("not resumed", text[i][0]);
        expect_file(path, text[i][1]);
    }
    assert_int_equal(alloc_live(), live);
    folder_remove(&d);
}

/* Opens with resume, says who makes the results, begins; the status. */
static enum emu_status resume_by(const char *path, const struct results_maker *m)
{
    struct results_options o = { .resume = 1 };
    enum emu_status s;
    struct results *r;

    assert_int_equal(results_open(path, &o, &r), EMU_OK);
    s = results_made_by(r, m);
    if (s == EMU_OK) {
        assert_int_equal(results_begin(r), EMU_OK);
        put(r, "x", results_done(r));
    }
    assert_int_equal(results_close(r), EMU_OK);
    return s;
}

/* Another network, other weights or another machine do not go on with a file; one of an earlier
 * release, without a note, gets its note. */
static void test_made_by(void **state)
{
    static const struct results_maker first = { "b0 (1)", "of a seed (2)", "mk2 (3)" };
    static const struct results_maker other[] = { { "b1 (1)", "of a seed (2)", "mk2 (3)" },
                                                  { "b0 (1)", "of a seed (4)", "mk2 (3)" },
                                                  { "b0 (1)", "of a seed (2)", "bow (3)" } };
    static const char *const said[] = { "network b0 (1), now it is b1 (1)",
                                        "weights of a seed (2), now it is of a seed (4)",
                                        "machine mk2 (3), now it is bow (3)" };
    const char *path, *note;
    struct test_folder d;
    char *before;

    (void)state;
    folder_new(&d);
    path = path_in(&d, "r.csv");
    note = path_in(&d, "r.csv.run");
    assert_int_equal(resume_by(path, &first), EMU_OK); /* nothing there yet */
    assert_int_equal(resume_by(path, &first), EMU_OK);
    expect_file(note, "network b0 (1)\nweights of a seed (2)\nmachine mk2 (3)\n");
    read_file(path, &before);
    for (unsigned i = 0; i < EMU_COUNT_OF(other); i++) {
        assert_int_equal(resume_by(path, &other[i]), EMU_BAD_FILE);
        expect_error("not resumed", said[i]);
        expect_file(path, before);
    }
    unlink(note);
    assert_int_equal(resume_by(path, &other[0]), EMU_OK);
    expect_file(note, "network b1 (1)\nweights of a seed (2)\nmachine mk2 (3)\n");
    write_bytes(note, "network b1 (1)\n", 15);
    assert_int_equal(resume_by(path, &other[0]), EMU_BAD_FILE);
    free(before);
    folder_remove(&d);
}

/* A command that is refused, or whose network does not fit, has opened its results for nothing. */
static void test_not_begun(void **state)
{
    static const char text[] = HEADER "x,0," TOP_CSV ",\ny,1,";
    struct test_folder d;
    struct results *r;

    (void)state;
    folder_new(&d);
    for (int resume = 0; resume < 2; resume++) {
        struct results_options o = { .resume = resume };
        const char *path = path_in(&d, "r.csv");

        write_bytes(path, text, sizeof(text) - 1);
        assert_int_equal(results_open(path, &o, &r), EMU_OK);
        assert_int_equal(results_kept(r), resume);
        assert_int_equal(results_close(r), EMU_OK);
        expect_file(path, text);
        assert_int_equal(results_open(path_in(&d, "new.csv"), &o, &r), EMU_OK);
        assert_int_equal(results_close(r), EMU_OK);
        assert_int_equal(access(path_in(&d, "new.csv"), F_OK), -1);
    }
    folder_remove(&d);
}

/* Each allocation fails once. */
static void test_no_memory(void **state)
{
    struct results_options o = { .resume = 1 };
    struct test_folder d;
    unsigned failures = 0;

    (void)state;
    folder_new(&d);
    for (long nth = 0; nth < 12; nth++) {
        const char *path = path_in(&d, "r.csv");
        long live = alloc_live();
        enum emu_status s;
        struct results *r;

        alloc_test_fail_at(-1);
        r = open_results(path, 1);
        put(r, "x", results_done(r));
        assert_int_equal(results_close(r), EMU_OK);
        alloc_test_fail_at(nth);
        s = results_open(path, &o, &r);
        if (s == EMU_OK)
            s = results_begin(r);
        if (s == EMU_OK)
            s = results_put(r, "y", results_done(r), scores, CLASSES);
        alloc_test_fail_at(-1);
        assert_true(s == EMU_OK || s == EMU_NO_MEMORY);
        failures += s != EMU_OK;
        assert_int_equal(results_close(r), EMU_OK);
        assert_int_equal(alloc_live(), live);
    }
    assert_in_range(failures, 5, 11);
    folder_remove(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_beside_classes),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_stdout),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_other),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_made_by),
        cmocka_unit_test(test_not_begun),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
