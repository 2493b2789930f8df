/* test_network_calls.c - networks and steps of training for a program: the same answers, cycles and
 * refusals as the commands whose words they take.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/base/fail.h"
#include "models/api/superstep.h"
#include "models/cli/commands_models.h"
#include "tests/fixtures/small_networks.h"

enum { SIDE = 16, PICTURE = SIDE * SIDE, CLASSES = 10, BATCH = 4, WORDS = 16 };

static const char cnn[] = "docs/howto/small_cnn.onnx";
#define WORDS_OF(...)                                                                              \
    (const char *const[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)

/* ---- the command, typed ---- */

/* What `superstep run WHAT words..` prints; the caller's. */
static char *typed(const char *what, const char *const *words, size_t count, FILE **stream,
                   int *code)
{
    const char *argv[WORDS] = { "run", what };
    FILE *before = *stream;
    char *text = NULL;
    size_t bytes;

    for (size_t i = 0; i < count; i++)
        argv[2 + i] = words[i];
    *stream = open_memstream(&text, &bytes);
    assert_non_null(*stream);
    *code =
        command_main(command_find(front_commands, "run"), (int)count + 2, (char **)(uintptr_t)argv);
    fclose(*stream);
    *stream = before;
    return text;
}

static struct ss_network *open_network(const char *what, const char *const *words, size_t count)
{
    struct ss_network *n;

    if (ss_network_open(what, words, count, NULL, &n) != EMU_OK)
        fail_msg("%s", ss_error());
    return n;
}

static void answers_are_those_of_the_command(void **state)
{
    static const char *const words[] = { "-m", "toy64", "--no-cache", "--plan", "--host" };
    const char *more[] = { "-m", "toy64", "--no-cache", "--plan", "--host", "--json", "-q" };
    struct ss_network *n = open_network(cnn, words, 5);
    char *want, *text;
    int code;

    (void)state;
    want = typed(cnn, more, 7, &stdout, &code);
    assert_int_equal(code, EXIT_RAN);
    assert_int_equal(ss_network_cycles(n), 0);
    for (int k = 0; k < 2; k++) { /* the second run is like the first */
        assert_int_equal(ss_network_run(n), EMU_OK);
        assert_int_equal(ss_network_json(n, &text), EMU_OK);
        assert_string_equal(text, want);
        ss_free(text);
    }
    assert_string_equal(ss_network_engine(n), "values");
    free(want);
    ss_network_close(n);
}

/* What the command says on stderr, which ends a process that is its own. */
static void typed_complaint(const char *word, char *text, size_t bytes)
{
    const char *argv[] = { "run", cnn, word, NULL };
    int end[2], status;
    pid_t child;
    ssize_t n;

    assert_int_equal(pipe(end), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(end[1], STDERR_FILENO);
        _exit(command_main(command_find(front_commands, "run"), 3, (char **)(uintptr_t)argv));
    }
    close(end[1]);
    n = read(end[0], text, bytes - 1);
    assert_true(n > 0);
    text[n] = 0;
    close(end[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), EXIT_BAD);
}

static void words_are_refused_as_by_the_command(void **state)
{
    static const char *const wrong[] = { "--iamge=x", "--zzz",      "--batch",    "--batch=0",
                                         "-Q",        "-b",         "--quiet=4",  "--pre",
                                         "one-more",  "-mtypo",     "--logits=x", "--set=x=1",
                                         "-qQ",       "--classes=4" };
    char said[1024], want[1024];
    struct ss_network *n;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(wrong); k++) {
        typed_complaint(wrong[k], said, sizeof(said));
        assert_int_not_equal(ss_network_open(cnn, &wrong[k], 1, NULL, &n), EMU_OK);
        assert_null(n);
        snprintf(want, sizeof(want), "superstep run: %.900s\n", ss_error());
        assert_string_equal(said, want);
    }
}

/* One option of each kind that a program has no use for. */
static void what_prints_or_writes_is_refused(void **state)
{
    static const char *const wrong[] = { "--json",   "--save=y.npy",  "--steps", "--dump=tidy",
                                         "--report", "--chart=x.svg", "--strict" };
    struct ss_network *n;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(wrong); k++) {
        assert_int_equal(ss_network_open(cnn, &wrong[k], 1, NULL, &n), EMU_USAGE);
        assert_non_null(strstr(ss_error(), "does nothing here"));
    }
    assert_int_equal(ss_network_open("matmul", NULL, 0, NULL, &n), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "matmul is a program"));
    assert_int_equal(
        ss_network_open(cnn,
                        WORDS_OF("-m", "toy4", "--set", "sram=32K", "--no-cache", "--batch", "16"),
                        NULL, &n),
        EMU_USAGE);
    assert_non_null(strstr(ss_error(), "does not fit"));
}

/* ---- numbers ---- */

static void numbers_go_in_and_come_out(void **state)
{
    struct ss_network *n = open_network(cnn, WORDS_OF("-m", "toy64", "--no-cache"));
    float picture[PICTURE], first[CLASSES], scores[CLASSES];
    struct ss_value v;

    (void)state;
    assert_int_equal(ss_network_inputs(n), 1);
    assert_int_equal(ss_network_input(n, 0, &v), EMU_OK);
    assert_string_equal(v.name, "picture");
    assert_string_equal(v.type, "f32");
    assert_string_equal(v.meaning, "may be pictures");
    assert_int_equal(v.count, PICTURE);
    assert_int_equal(v.rank, 4);
    assert_int_equal(ss_network_output(n, 0, &v), EMU_OK);
    assert_string_equal(v.meaning, "scores of 10 classes");
    assert_int_equal(ss_network_input(n, 1, &v), EMU_USAGE);
    assert_int_equal(ss_network_read(n, "scores", scores, CLASSES), EMU_USAGE);
    for (int k = 0; k < PICTURE; k++)
        picture[k] = (float)(k % 7) / 4 - 1;
    assert_int_equal(ss_network_write(n, "picture", picture, PICTURE), EMU_OK);
    assert_int_equal(ss_network_run(n), EMU_OK);
    assert_int_equal(ss_network_read(n, "scores", first, CLASSES), EMU_OK);
    for (int k = 0; k < PICTURE; k++)
        picture[k] = 0;
    assert_int_equal(ss_network_write(n, "picture", picture, PICTURE), EMU_OK);
    assert_int_equal(ss_network_run(n), EMU_OK);
    assert_int_equal(ss_network_read(n, "scores", scores, CLASSES), EMU_OK);
    assert_memory_not_equal(first, scores, sizeof(scores));
    for (int k = 0; k < PICTURE; k++)
        picture[k] = (float)(k % 7) / 4 - 1;
    assert_int_equal(ss_network_write(n, "picture", picture, PICTURE), EMU_OK);
    assert_int_equal(ss_network_run(n), EMU_OK);
    assert_int_equal(ss_network_read(n, "scores", scores, CLASSES), EMU_OK);
    assert_memory_equal(first, scores, sizeof(scores));

    assert_int_equal(ss_network_write(n, "picture", picture, PICTURE - 1), EMU_USAGE);
    assert_int_equal(ss_network_write(n, "none", picture, PICTURE), EMU_USAGE);
    assert_string_equal(ss_error(), "no input 'none', there are: picture");
    assert_int_equal(ss_network_read(n, "scores", scores, CLASSES + 1), EMU_USAGE);
    ss_network_close(n);
}

/* As --image does, and the names are in the answer although the program's are gone. */
static void pictures_are_prepared_as_by_the_command(void **state)
{
    static const char *const words[] = {
        "-m", "toy64", "--no-cache", "--image", "models/pictures/cat.jpg", "--json", "-q"
    };
    struct ss_network *n = open_network(cnn, WORDS_OF("-m", "toy64", "--no-cache"));
    char name[] = "models/pictures/cat.jpg", *text, *want;
    const char *file = name;
    struct ss_value v;
    int code;

    (void)state;
    assert_int_equal(ss_network_write_pictures(n, "picture", &file, 1), EMU_OK);
    memset(name, 'x', sizeof(name) - 1);
    assert_int_equal(ss_network_run(n), EMU_OK);
    assert_int_equal(ss_network_input(n, 0, &v), EMU_OK);
    assert_non_null(strstr(v.meaning, "pictures: "));
    assert_int_equal(ss_network_json(n, &text), EMU_OK);
    want = typed(cnn, words, 7, &stdout, &code);
    assert_string_equal(text, want);
    ss_free(text);
    free(want);
    assert_int_equal(ss_network_write_pictures(n, "picture", (const char *const[]){ cnn, cnn }, 2),
                     EMU_USAGE);
    assert_int_equal(ss_network_write_pictures(n, "picture", &file, 0), EMU_USAGE);
    assert_int_equal(ss_network_write_pictures(n, "picture", &file, 1), EMU_IO);
    assert_int_equal(ss_network_run(n), EMU_OK); /* on the picture that there was */
    ss_network_close(n);
}

static void integers_are_integers(void **state)
{
    char path[] = "/tmp/superstep-calls-XXXXXX";
    int64_t id[64] = { 0 };
    float number[64] = { 0.5f };
    struct ss_network *n;
    struct ss_value v;

    (void)state;
    close(mkstemp(path));
    assert_true(small_network_write("tokens", "scores", path));
    n = open_network(path, WORDS_OF("-m", "toy16", "--no-cache"));
    assert_int_equal(ss_network_input(n, 0, &v), EMU_OK);
    assert_true(v.count <= 64);
    assert_string_equal(v.type, "i64");
    assert_int_equal(ss_network_write(n, v.name, number, (size_t)v.count), EMU_BAD_FILE);
    number[0] = 3;
    assert_int_equal(ss_network_write(n, v.name, number, (size_t)v.count), EMU_OK);
    assert_int_equal(ss_network_write_integers(n, v.name, id, (size_t)v.count), EMU_OK);
    assert_int_equal(ss_network_run(n), EMU_OK);
    ss_network_close(n);
    unlink(path);
}

/* ---- what it cost ---- */

static void layers_and_memory_add_up(void **state)
{
    struct ss_network *n =
        open_network(cnn, WORDS_OF("-m", "toy64", "--no-cache", "--engine", "timing"));
    uint64_t bytes[64], most = 0, all = 0, cycles = 0;
    struct ss_memory m;
    struct ss_layer l;
    float scores[CLASSES];

    (void)state;
    assert_int_equal(ss_network_run(n), EMU_OK);
    assert_int_equal(ss_network_read(n, "scores", scores, CLASSES), EMU_USAGE);
    for (uint32_t i = 0; i < ss_network_layers(n); i++) {
        assert_int_equal(ss_network_layer(n, i, &l), EMU_OK);
        assert_int_equal(l.cycles, l.compute + l.exchange + l.sync);
        cycles += l.cycles;
    }
    assert_int_equal(ss_network_layer(n, ss_network_layers(n), &l), EMU_USAGE);
    assert_int_equal(cycles, ss_network_cycles(n));
    assert_true(ss_network_seconds(n) > 0);
    assert_non_null(strstr(ss_network_engine(n), "timing"));
    assert_int_equal(ss_network_memory(n, &m), EMU_OK);
    assert_int_equal(m.tiles, 64);
    assert_int_equal(ss_network_tile_bytes(n, bytes, 63), EMU_USAGE);
    assert_int_equal(ss_network_tile_bytes(n, bytes, 64), EMU_OK);
    for (int k = 0; k < 64; k++) {
        all += bytes[k];
        most = bytes[k] > most ? bytes[k] : most;
    }
    assert_int_equal(all, m.total_bytes);
    assert_int_equal(most, m.max_tile_bytes);
    assert_true(m.need_bytes >= most && m.need_bytes <= m.tile_bytes);
    ss_network_close(n);
}

struct heard {
    unsigned lines;
    int compiled;
};

static void hear(void *ctx, const char *text)
{
    struct heard *h = ctx;

    h->lines++;
    h->compiled |= !strncmp(text, "lower", 5);
    assert_null(strchr(text, '\n'));
}

static void a_listener_hears_the_stages(void **state)
{
    struct heard heard = { 0 };
    const struct ss_listener l = { hear, &heard };
    struct ss_network *n;

    (void)state;
    assert_int_equal(ss_network_open(cnn, WORDS_OF("-m", "toy64", "--no-cache"), &l, &n), EMU_OK);
    assert_true(heard.lines > 4 && heard.compiled);
    heard.lines = 0;
    assert_int_equal(ss_network_run(n), EMU_OK);
    assert_true(heard.lines > 0);
    ss_network_close(n);
}

static void a_profile_is_written(void **state)
{
    char path[] = "/tmp/superstep-calls-XXXXXX", head[16] = "";
    struct ss_network *n = open_network(cnn, WORDS_OF("-m", "toy64", "--no-cache"));
    FILE *f;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(ss_network_profile(n, path), EMU_OK);
    assert_int_equal(ss_network_run(n), EMU_OK);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(head, 1, 15, f), 15);
    assert_string_equal(head, "SQLite format 3");
    fclose(f);
    unlink(path);
    assert_int_equal(ss_network_profile(n, NULL), EMU_OK);
    assert_int_equal(ss_network_run(n), EMU_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(ss_network_profile(n, "/no/such/folder/x.db"), EMU_OK);
    assert_int_equal(ss_network_run(n), EMU_IO);
    ss_network_close(n);
}

/* ---- training ---- */

static void picture_batch(float *data, uint32_t *label)
{
    for (int k = 0; k < BATCH; k++) {
        label[k] = (uint32_t)k;
        for (int i = 0; i < PICTURE; i++)
            data[k * PICTURE + i] = (float)k - 1.5f;
    }
}

static struct ss_training *open_training(const char *const *words, size_t count)
{
    struct ss_training *t;

    if (ss_training_open(cnn, words, count, NULL, &t) != EMU_OK)
        fail_msg("%s", ss_error());
    return t;
}

static void steps_lower_the_loss(void **state)
{
    static float data[BATCH * PICTURE], scores[BATCH * CLASSES], targets[BATCH * CLASSES];
    struct ss_training *t = open_training(WORDS_OF("-m", "toy64", "--set", "sram=256K", "--batch",
                                                   "4", "--no-cache", "--rate", "0.05"));
    uint32_t label[BATCH], right = 0;
    double first = 0, loss = 0;
    struct ss_value v;

    (void)state;
    picture_batch(data, label);
    assert_int_equal(ss_training_data(t, &v), EMU_OK);
    assert_int_equal(v.count, BATCH * PICTURE);
    assert_true(ss_training_rate(t) == 0.05);
    assert_int_equal(ss_training_step_labels(t, data, BATCH * PICTURE, label, BATCH, &first),
                     EMU_OK);
    for (int k = 0; k < BATCH; k++)
        targets[k * CLASSES + k] = 1;
    for (int k = 0; k < 15; k++)
        assert_int_equal(
            ss_training_step(t, data, BATCH * PICTURE, targets, BATCH * CLASSES, &loss), EMU_OK);
    assert_true(first > 1.5 && loss < 0.7 * first);
    assert_int_equal(ss_training_steps(t), 16);
    assert_int_equal(ss_training_skipped(t), 0);
    assert_true(ss_training_cycles(t) > 1000);
    assert_int_equal(ss_training_scores(t, scores, BATCH * CLASSES), EMU_OK);
    for (int k = 0; k < BATCH; k++) {
        uint32_t best = 0;

        for (uint32_t c = 0; c < CLASSES; c++)
            best = scores[k * CLASSES + (int)c] > scores[k * CLASSES + (int)best] ? c : best;
        right += best == label[k];
    }
    assert_true(right >= 2);
    label[1] = CLASSES;
    assert_int_equal(ss_training_step_labels(t, data, BATCH * PICTURE, label, BATCH, NULL),
                     EMU_USAGE);
    assert_int_equal(ss_training_step(t, data, PICTURE, targets, CLASSES, NULL), EMU_USAGE);
    assert_int_equal(ss_training_set_rate(t, NAN), EMU_USAGE);
    ss_training_close(t);
}

/* The parameters are all that a step depends on: given to another training, they make the same one;
 * and micro batches of one step are as many pictures at once, up to rounding. */
static void parameters_make_the_step(void **state)
{
    static float data[BATCH * PICTURE], numbers[1 << 12];
    static const char *const one[] = { "-m", "toy64",      "--set",      "sram=256K", "--batch",
                                       "4",  "--no-cache", "--momentum", "0" };
    static const char *const two[] = { "-m",           "toy64",      "--set",
                                       "sram=256K",    "--batch",    "2",
                                       "--no-cache",   "--momentum", "0",
                                       "--accumulate", "2" };
    struct ss_training *a = open_training(one, 9), *b = open_training(one, 9),
                       *c = open_training(two, 11);
    double la, lb, lc;
    uint32_t label[BATCH];
    struct ss_value v;

    (void)state;
    picture_batch(data, label);
    assert_int_equal(ss_training_step_labels(a, data, BATCH * PICTURE, label, BATCH, &la), EMU_OK);
    assert_int_equal(ss_training_step_labels(c, data, BATCH * PICTURE, label, BATCH, &lc), EMU_OK);
    assert_true(fabs(la - lc) < 0.1); /* norms see two pictures */
    assert_true(ss_training_parameters(a) > 4);
    for (uint32_t i = 0; i < ss_training_parameters(a); i++) {
        assert_int_equal(ss_training_parameter(a, i, &v), EMU_OK);
        assert_int_equal(ss_training_read(a, v.name, numbers, (size_t)v.count), EMU_OK);
        assert_int_equal(ss_training_write(b, v.name, numbers, (size_t)v.count), EMU_OK);
    }
    assert_int_equal(ss_training_step_labels(a, data, BATCH * PICTURE, label, BATCH, &la), EMU_OK);
    assert_int_equal(ss_training_step_labels(b, data, BATCH * PICTURE, label, BATCH, &lb), EMU_OK);
    assert_true(la == lb);
    assert_int_equal(ss_training_read(a, "none", numbers, 1), EMU_USAGE);
    ss_training_close(a);
    ss_training_close(b);
    ss_training_close(c);
}

/* With IO tiles a step asks for the next one's numbers, which there are not yet. */
static void steps_through_io_tiles(void **state)
{
    static float data[BATCH * PICTURE];
    struct ss_training *a =
        open_training(WORDS_OF("-m", "toy64", "--set", "sram=256K", "--batch", "4", "--no-cache"));
    struct ss_training *b =
        open_training(WORDS_OF("-m", "toy64", "--set", "sram=256K", "--batch", "4", "--no-cache",
                               "--io-tiles", "4", "--input-type", "f16"));
    uint32_t label[BATCH];
    double la, lb;

    (void)state;
    picture_batch(data, label);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(ss_training_step_labels(a, data, BATCH * PICTURE, label, BATCH, &la),
                         EMU_OK);
        assert_int_equal(ss_training_step_labels(b, data, BATCH * PICTURE, label, BATCH, &lb),
                         EMU_OK);
        assert_true(fabs(la - lb) < 0.05 && la > 0);
    }
    ss_training_close(a);
    ss_training_close(b);
}

static void trained_parameters_run(void **state)
{
    static float data[BATCH * PICTURE];
    char path[] = "/tmp/superstep-calls-XXXXXX";
    struct ss_training *t =
        open_training(WORDS_OF("-m", "toy64", "--set", "sram=256K", "--batch", "4", "--no-cache"));
    struct ss_network *n;
    uint32_t label[BATCH];

    (void)state;
    close(mkstemp(path));
    picture_batch(data, label);
    assert_int_equal(ss_training_step_labels(t, data, BATCH * PICTURE, label, BATCH, NULL), EMU_OK);
    assert_int_equal(ss_training_save(t, path), EMU_OK);
    assert_int_equal(ss_training_save(t, "/no/such/folder/x"), EMU_IO);
    ss_training_close(t);
    n = open_network(cnn, WORDS_OF("-m", "toy64", "--no-cache", "-w", path));
    assert_int_equal(ss_network_run(n), EMU_OK);
    ss_network_close(n);
    unlink(path);
}

static void a_step_is_timed(void **state)
{
    struct ss_training *t = open_training(WORDS_OF("-m", "toy64", "--set", "sram=256K", "--batch",
                                                   "4", "--no-cache", "--engine", "timing"));
    struct ss_memory m;
    double loss = 0;

    (void)state;
    assert_int_equal(ss_training_step(t, NULL, 0, NULL, 0, &loss), EMU_OK);
    assert_true(isnan(loss));
    assert_true(ss_training_cycles(t) > 1000 && ss_training_seconds(t) > 0);
    assert_non_null(strstr(ss_training_engine(t), "timing"));
    assert_int_equal(ss_training_memory(t, &m), EMU_OK);
    assert_true(m.max_tile_bytes > 0 && m.max_tile_bytes <= m.tile_bytes);
    ss_training_close(t);
}

static void trainings_are_refused(void **state)
{
    static const char *const wrong[] = { "--data=x", "--epochs=2", "--schedule=step", "--resume",
                                         "--curve=x.csv" };
    struct ss_training *t;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(wrong); k++) {
        assert_int_equal(ss_training_open(cnn, &wrong[k], 1, NULL, &t), EMU_USAGE);
        assert_null(t);
    }
    assert_int_equal(ss_training_open(cnn, WORDS_OF("--momentum", "2"), NULL, &t), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "below 1"));
    assert_int_equal(ss_training_open(cnn, WORDS_OF("--max-cycles", "9"), NULL, &t), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "the caller says when a step begins"));
    assert_int_equal(
        ss_training_open(cnn, WORDS_OF("-m", "toy4", "--no-cache", "--batch", "64"), NULL, &t),
        EMU_USAGE);
    assert_non_null(strstr(ss_error(), "does not fit"));
}

static int nothing_is_left(void **state)
{
    (void)state;
    return alloc_live() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_command),
        cmocka_unit_test(words_are_refused_as_by_the_command),
        cmocka_unit_test(what_prints_or_writes_is_refused),
        cmocka_unit_test(numbers_go_in_and_come_out),
        cmocka_unit_test(pictures_are_prepared_as_by_the_command),
        cmocka_unit_test(integers_are_integers),
        cmocka_unit_test(layers_and_memory_add_up),
        cmocka_unit_test(a_listener_hears_the_stages),
        cmocka_unit_test(a_profile_is_written),
        cmocka_unit_test(steps_lower_the_loss),
        cmocka_unit_test(parameters_make_the_step),
        cmocka_unit_test(steps_through_io_tiles),
        cmocka_unit_test(trained_parameters_run),
        cmocka_unit_test(a_step_is_timed),
        cmocka_unit_test(trainings_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
