/* test_sweep.c - axes and points from command lines, what shares an image or cycles, and the file
 * of a sweep: transactions, locks, damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/cli/request_store.h"
#include "emu/profile/profile_private.h"
#include "emu/profile/sweep_page.h"
#include "emu/profile/sweep_report.h"
#include "models/ask/model_request.h"
#include "models/cli/commands_models.h"
#include "models/sweep/sweep_file.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(LIST, set)
OPTION_READ(WORD, engine)
OPTION_READ(TEXT, output)
OPTION_READ(NUMBER, batch)
OPTION_READ(WORD, depthwise)

static char folder[] = "/tmp/test_sweep_XXXXXX";
static char path[sizeof(folder) + 16];

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

/* A request as `superstep sweep WHAT --NAME VALUE ..` makes it. option: pairs, ends with NULL. */
static struct request *request_make(const char *what, const char *const *option)
{
    const struct command *c = command_find(front_commands, "sweep");
    const char *name[] = { what };
    struct request *q;

    assert_non_null(c);
    q = request_new(c);
    assert_non_null(q);
    must(c->look(q, &(struct option_list){ name, 1 }));
    for (; *option; option += 2) {
        const struct option_row *o = option_find(option[0], strlen(option[0]), q->use);

        if (!o)
            fail_msg("no option %s", option[0]);
        must(request_store(q, o, option[1]));
    }
    q->value[OPTION_WORD_engine].word = 1;
    q->value[OPTION_TEXT_output].text = path;
    return q;
}

/* *q: free it and the sweep with sweep_drop(). */
static enum emu_status sweep_of(const char *what, const char *const *option, struct request **q,
                                struct sweep *s)
{
    *q = request_make(what, option);
    return sweep_new(*q, s);
}

static void sweep_drop(struct request *q, struct sweep *s)
{
    sweep_free(s);
    request_free(q);
}

/* ---- points ---- */

static void test_product(void **state)
{
    static const char *const option[] = { "vary", "tiles=8,16", "vary", "n=32,48,64", NULL };
    struct request *q;
    struct sweep s;
    char text[80];

    (void)state;
    must(sweep_of("matmul", option, &q, &s));
    assert_int_equal(s.axes.points, 6);
    assert_int_equal(s.axes.axis[0].kind, AXIS_FIELD);
    assert_int_equal(s.axes.axis[1].kind, AXIS_PARAMETER);
    sweep_point_text(&s.axes, 1, text, sizeof(text));
    assert_string_equal(text, "tiles=8 n=48");
    sweep_point_text(&s.axes, 5, text, sizeof(text));
    assert_string_equal(text, "tiles=16 n=64");
    for (uint32_t p = 0; p < 6; p++)
        assert_int_equal(s.image_of[p], p);
    sweep_drop(q, &s);
}

/* Clocks change no cycles, what only a run reads changes no image; a machine counts by its fields,
 * so that bow is mk2 at another clock. */
static void test_sharing(void **state)
{
    static const char *const option[] = { "vary", "machine=mk2,bow",
                                          "vary", "sup_runall_cycles=6,4",
                                          "vary", "sync_chip_cycles=120,60",
                                          NULL };
    static const uint32_t image[] = { 0, 1, 0, 1, 0, 1, 0, 1 }, run[] = { 0, 1, 2, 3, 0, 1, 2, 3 };
    struct request *q;
    struct sweep s;

    (void)state;
    must(sweep_of("efficientnet-b0", option, &q, &s));
    assert_int_equal(s.axes.points, 8);
    /* bow has a name of its own, which its image has, too */
    for (uint32_t p = 0; p < 4; p++) {
        assert_int_equal(s.image_of[p], image[p]);
        assert_int_equal(s.run_of[p], run[p]);
    }
    sweep_drop(q, &s);
}

/* Of a manifest parameters are axes, latency changes cycles where there are links, and the clock
 * with them; a point for which it is no manifest has a reason. */
static void test_manifest(void **state)
{
    static const char *const option[] = {
        "vary",   "chips=1,2", "vary", "link_latency_ns=0,500", "vary", "clock_mhz=1000,2000",
        "define", "WORDS=8",   NULL
    };
    static const uint32_t image[] = { 0, 0, 0, 0, 4, 4, 4, 4 }, run[] = { 0, 0, 0, 0, 4, 5, 6, 7 };
    struct request *q;
    struct sweep_point p;
    struct sweep s;

    (void)state;
    must(sweep_of("pingpong", option, &q, &s));
    assert_int_equal(s.axes.points, 8);
    assert_true(s.of_chips);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(s.image_of[i], image[i]);
        assert_int_equal(s.run_of[i], run[i]);
    }
    assert_string_equal(s.axes.axis[3].name, "WORDS");
    assert_int_equal(s.axes.axis[3].kind, AXIS_FIXED);
    assert_string_equal(sweep_choice(&s.axes, 0, 3), "8");
    assert_string_equal(sweep_axis_stage(&s, &s.axes.axis[0]), "compile");
    assert_string_equal(sweep_axis_stage(&s, &s.axes.axis[1]), "run");
    assert_string_equal(sweep_axis_stage(&s, &s.axes.axis[2]), "run");
    must(sweep_point_new(&s, 0, &p));
    assert_null(p.manifest);
    assert_non_null(strstr(p.why, "at least 2 chips"));
    sweep_point_free(&s, &p);
    must(sweep_point_new(&s, 7, &p));
    assert_non_null(p.manifest);
    assert_string_equal(p.why, "");
    assert_int_equal(p.arch.chips, 2);
    assert_int_equal(p.arch.clock_mhz, 2000);
    sweep_point_free(&s, &p);
    sweep_drop(q, &s);
}

static void test_point(void **state)
{
    static const char *const option[] = {
        "set",  "clock_mhz=1000",          "vary", "batch=1,3", "vary", "sram=256K",
        "vary", "depthwise=mixed,sliding", NULL
    };
    struct request *q;
    struct sweep_point p;
    struct sweep s;

    (void)state;
    must(sweep_of("efficientnet-b0", option, &q, &s));
    must(sweep_point_new(&s, 3, &p));
    assert_int_equal(option_batch(&p.model), 3);
    assert_int_equal(option_depthwise(&p.model), 1);
    assert_int_equal(p.arch.mem_bytes, 262144);
    assert_int_equal(p.arch.clock_mhz, 1000);
    assert_int_equal(option_set(q)->count, 1); /* the sweep's own is as it was */
    sweep_point_free(&s, &p);
    sweep_drop(q, &s);
}

static void test_refused(void **state)
{
    static const struct {
        const char *what, *vary, *message;
    } bad[] = {
        { "matmul", "tiles", "--vary 'tiles': expected NAME=V1,V2,.." },
        { "matmul", "=4", "--vary '=4': expected" },
        { "matmul", "tiles=4,", "--vary 'tiles=4,': a value is missing" },
        { "matmul", "tiles=4,8,4", "--vary tiles: 4 is given twice" },
        { "matmul", "tils=4", "'tils' cannot be varied; did you mean 'tiles'?" },
        { "matmul", "batch=4", "'batch' cannot be varied" },
        { "matmul", "engine=values", "'engine' cannot be varied" },
        { "matmul", "seen_superstep_cycles=4", "seen_superstep_cycles cannot be varied: no run" },
        { "matmul", "title=x", "title cannot be varied: no run reads it" },
        { "matmul", "amp_units=16",
          "amp_units cannot be varied: the instruction set fixes it at 8" },
        { "matmul", "chips=2", "chips cannot be varied: what is swept runs on one chip" },
        { "ring", "chips=2", "chips cannot be varied: what is swept runs on one chip" },
        { "ring", "rail=mesh", "rail cannot be varied: only runs of several chips read it" },
        { "halo", "ALL=8", "'ALL' cannot be varied" }, /* it follows from others */
        { "pingpong", "chips=two", "chips=two: --chips: 'two' is not a number" },
        { "matmul", "host_packet_bytes=8", "host_packet_bytes cannot be varied: only streams" },
        { "matmul", "tiles=4,three", "tiles=three: --set tiles: expected an integer" },
        { "matmul", "workers=8", "workers=8: machine mk2: workers: 8, but the machine runs six" },
        { "efficientnet-b0", "depthwise=both", "depthwise=both: --depthwise is mixed or sliding" },
        { "efficientnet-b0", "torch-padding=1", "torch-padding=1: --torch-padding: expected yes" },
        { "efficientnet-b0", "resolution=1", "resolution=1: " },
        { "efficientnet-b0", "machine=mk2,mk1", "machine=mk1: " },
        { "efficientnet-b0", "mem_bytes=300000",
          "mem_bytes=300000: machine mk2: mem_bytes: 300000 is not a multiple of element_bytes "
          "16384; nearest: mem_bytes 278528 or 311296" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        const char *const option[] = { "vary", bad[i].vary, NULL };
        struct request *q;
        struct sweep s;

        assert_true(sweep_of(bad[i].what, option, &q, &s) != EMU_OK);
        if (strncmp(ss_error(), bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("\n got  %s\n want %s", ss_error(), bad[i].message);
        sweep_drop(q, &s);
    }
}

static void test_points_file(void **state)
{
    static const struct {
        const char *text, *message; /* NULL: two points */
    } file[] = {
        { "tiles,sram\n8,256K\n16,624K\n", NULL },
        { "tiles,sram\r\n8,256K\r\n\r\n16,624K", NULL },
        { "", ": expected a line of names" },
        { "tiles,sram\n", ": no point in it" },
        { "tiles,sram\n8\n", ":2: expected 2 values" },
        { "tiles,sram\n8,256K,1\n", ":2: expected 2 values" },
        { "tiles,sram\n8,\n", ":2: expected 2 values" },
        { "tiles,sram\n8,256K\n8,256K\n", ":3: this point is given twice" },
        { "tiles,\n8,256K\n", "'' cannot be varied" },
    };
    char name[sizeof(path)];

    (void)state;
    snprintf(name, sizeof(name), "%s/points", folder);
    for (size_t i = 0; i < EMU_COUNT_OF(file); i++) {
        const char *const option[] = { "points", name, NULL };
        FILE *f = fopen(name, "w");
        struct request *q;
        struct sweep s;
        enum emu_status st;

        assert_non_null(f);
        fputs(file[i].text, f);
        fclose(f);
        st = sweep_of("matmul", option, &q, &s);
        assert_int_equal(st == EMU_OK, !file[i].message);
        if (st == EMU_OK)
            assert_string_equal(sweep_choice(&s.axes, 1, 1), "624K");
        else if (!strstr(ss_error(), file[i].message))
            fail_msg("\n got  %s\n want %s", ss_error(), file[i].message);
        sweep_drop(q, &s);
    }
    unlink(name);
}

/* ---- the file ---- */

static json_t *result_of(uint32_t point, uint64_t cycles, uint64_t mem_bytes)
{
    return json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:[[sii]], s:[[sf]]}",
                     "point", (json_int_t)point, "status", "ok", "message", "", "inputs",
                     (json_int_t)2, "mem_bytes", (json_int_t)mem_bytes, "tiles", (json_int_t)4,
                     "cycles", (json_int_t)cycles, "need_bytes", (json_int_t)1000, "used_bytes",
                     (json_int_t)4000, "fullest_tile", (json_int_t)3, "engine", "timing",
                     "categories", "variable", 7, 3, "work", "run", 0.5);
}

static void add_built(struct sweep_file *f, uint32_t point, uint64_t cycles, uint64_t mem_bytes,
                      uint32_t want)
{
    json_t *o = result_of(point, cycles, mem_bytes);
    uint32_t added;

    must(sweep_file_add(f, o, "here:1", &added));
    assert_int_equal(added, want);
    json_decref(o);
}

static void add(struct sweep_file *f, uint32_t point, uint64_t cycles, uint32_t want)
{
    add_built(f, point, cycles, 1024, want);
}

static const char *const clocks[] = { "vary", "tiles=4,8", "vary", "clock_mhz=1000,2000", NULL };

/* A result comes with those of the same cycles, once; another process finds it; a definition that
 * differs is refused by name. */
static void test_file(void **state)
{
    static const char *const other[] = { "vary", "tiles=4,16", "vary", "clock_mhz=1000,2000",
                                         NULL };
    static const char *const more[] = { "define",    "m=5",  "vary",
                                        "tiles=4,8", "vary", "clock_mhz=1000,2000",
                                        NULL };
    struct request *q, *p;
    struct sweep s, t;
    struct sweep_file f, g;

    (void)state;
    unlink(path);
    must(sweep_of("matmul", clocks, &q, &s));
    must(sweep_file_open(&s, &f));
    add(&f, 1, 5000, 2);
    add(&f, 1, 5000, 0);
    add(&f, 99, 5000, 0);
    assert_int_equal(sweep_file_open(&s, &g), EMU_USAGE); /* locked */
    assert_non_null(strstr(ss_error(), "another sweep is writing it"));
    sweep_file_close(&g);
    sweep_file_close(&f);

    must(sweep_file_open(&s, &f));
    assert_int_equal(f.dones, 2);
    assert_true(f.done[0] && f.done[1] && !f.done[2]);
    assert_int_equal(
        profile_query_integer(f.store, "SELECT 1e9 * seconds FROM results WHERE point = 2"), 2500);
    assert_int_equal(profile_query_integer(f.store, "SELECT count(*) FROM work"), 1);
    sweep_file_close(&f);

    must(sweep_of("matmul", other, &p, &t));
    assert_int_equal(sweep_file_open(&t, &f), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "--vary tiles 4,8, not 4,16"));
    sweep_file_close(&f);
    sweep_drop(p, &t);
    must(sweep_of("matmul", more, &p, &t));
    assert_int_equal(sweep_file_open(&t, &f), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "the parameter m 1024, not 5"));
    sweep_file_close(&f);
    sweep_drop(p, &t);
    sweep_drop(q, &s);
}

/* A process that ends within a transaction leaves the file as it was before, also the first one. */
static void test_unfinished(void **state)
{
    struct profile *p;
    int isnew;

    (void)state;
    for (int rows = 0; rows < 2; rows++) {
        unlink(path);
        for (int turn = 0; turn < 3; turn++) {
            pid_t pid = fork();
            int status;

            if (!pid) {
                if (sweep_store_open(path, &isnew, &p) != EMU_OK || sweep_store_begin(p) != EMU_OK)
                    _exit(1);
                PROFILE_ROW(p, "meta", PROFILE_T("what"), PROFILE_I(turn));
                sqlite3_db_cacheflush(p->db); /* some of it reaches the file */
                if (rows && turn == 0 && sweep_store_commit(p) != EMU_OK)
                    _exit(1);
                _exit(0);
            }
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_int_equal(status, 0);
            must(sweep_store_open(path, &isnew, &p));
            assert_int_equal(isnew, !rows);
            if (rows)
                assert_int_equal(profile_query_integer(p, "SELECT count(*) FROM meta"), 1);
            profile_free(p);
        }
    }
}

/* Reports of a sweep that is not over, as text, JSON, CSV and page; and of damaged files. */
static void test_report(void **state)
{
    struct request *q;
    struct sweep s;
    struct sweep_file f;
    struct profile *p;
    FILE *null = fopen("/dev/null", "w");
    json_t *o, *points;
    uint8_t *bytes;
    struct stat st;
    int fd;

    (void)state;
    unlink(path);
    must(sweep_of("matmul", clocks, &q, &s));
    must(sweep_file_open(&s, &f));
    must(profile_read(path, &p)); /* while it is written */
    must(sweep_report(p, null));
    profile_free(p);
    add(&f, 1, 6000, 2);
    add(&f, 3, 4000, 2);
    sweep_file_close(&f);
    must(profile_read(path, &p));
    assert_true(profile_is_sweep(p));
    must(sweep_report(p, null));
    must(sweep_report_csv(p, SWEEP_CSV_POINTS, null));
    must(sweep_report_csv(p, SWEEP_CSV_BYTES, null));
    must(sweep_page_write(p, null));
    must(sweep_report_json(p, &o));
    points = json_object_get(o, "points");
    assert_int_equal(json_array_size(points), 4);
    /* the same memory, so only the points with fewer cycles are on the front */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(points, i), "pareto")),
                         i >= 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(points, 3), "clock_mhz")),
                        "2000");
    json_decref(o);
    profile_free(p);

    assert_int_equal(stat(path, &st), 0);
    bytes = emu_alloc((size_t)st.st_size, 1);
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    for (off_t at = 0; at < st.st_size; at += 97) {
        uint8_t was = bytes[at];
        enum emu_status r;

        bytes[at] ^= 0x55;
        r = profile_read_bytes(bytes, (size_t)st.st_size, "x.db", &p);
        if (r == EMU_OK && profile_is_sweep(p)) /* a changed number: no more than another report */
            (void)!sweep_report(p, null);
        profile_free(p);
        bytes[at] = was;
    }
    ss_free(bytes);
    fclose(null);
    sweep_drop(q, &s);
}

/* What is built counts, not what is used of it: of two points with the same cycles and the same
 * need, the one with more memory is not on the front. */
static void test_front(void **state)
{
    static const char *const option[] = { "vary", "sram=192K,384K,624K", NULL };
    static const uint64_t cycles[] = { 5000, 4000, 4000 };
    struct request *q;
    struct sweep s;
    struct sweep_file f;
    struct profile *p;
    json_t *o;

    (void)state;
    unlink(path);
    must(sweep_of("matmul", option, &q, &s));
    must(sweep_file_open(&s, &f));
    for (uint32_t i = 0; i < 3; i++)
        add_built(&f, i + 1, cycles[i], (1 + i) * 196608, 1);
    sweep_file_close(&f);
    must(profile_read(path, &p));
    must(sweep_report_json(p, &o));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(json_integer_value(json_object_get(
                             json_array_get(json_object_get(o, "points"), i), "pareto")),
                         i < 2);
    json_decref(o);
    profile_free(p);
    sweep_drop(q, &s);
}

/* Parameters that are not varied have one value at all points, whatever machine they have: that of
 * the command line, else the default on its machine. */
static void test_one_question(void **state)
{
    static const char *const option[] = { "vary",   "tiles=16,1472", "vary", "n=64,96",
                                          "define", "k=48",          NULL };
    static const char *const small[] = { "machine", "toy16", "vary", "machine=toy4,mk2", NULL };
    static const char *const want[] = { "16", "64", "1024", "48" };
    uint64_t value[PROGRAM_MAX_PARAMS], base[PROGRAM_MAX_PARAMS];
    struct request *q;
    struct sweep_point p;
    struct sweep s;
    char text[80];

    (void)state;
    must(sweep_of("matmul", option, &q, &s));
    assert_int_equal(s.axes.axes, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(sweep_choice(&s.axes, 0, i), want[i]);
    assert_int_equal(s.axes.axis[2].kind, AXIS_FIXED);
    sweep_point_text(&s.axes, 3, text, sizeof(text));
    assert_string_equal(text, "tiles=1472 n=96");
    for (uint32_t i = 0; i < 4; i++) {
        must(sweep_point_new(&s, i, &p));
        must(program_values(&p.model, value));
        assert_int_equal(value[0], 1024);
        assert_int_equal(value[1], i % 2 ? 96 : 64);
        assert_int_equal(value[2], 48);
        sweep_point_free(&s, &p);
    }
    sweep_drop(q, &s);
    must(sweep_of("matmul", small, &q, &s));
    must(program_values(q, base));
    assert_true(base[0] < 1024);
    for (uint32_t i = 0; i < 2; i++) {
        must(sweep_point_new(&s, i, &p));
        must(program_values(&p.model, value));
        assert_memory_equal(value, base, 3 * sizeof(*value));
        sweep_point_free(&s, &p);
    }
    sweep_drop(q, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_front),    cmocka_unit_test(test_one_question),
        cmocka_unit_test(test_product),  cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_manifest), cmocka_unit_test(test_point),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_points_file),
        cmocka_unit_test(test_file),     cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_report),
    };
    int failed;

    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/sweep.db", folder);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
