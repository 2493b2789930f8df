/* test_training_options.c - `superstep train` and `evaluate` as users call them: what they write
 * besides parameters, what is looked for on the way, what is refused.
 */
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "emu/arch/arch_numbers.h"
#include "emu/cli/commands.h"
#include "models/cli/commands_models.h"
#include "models/weights/safetensors.h"
#include "tests/fixtures/training_fixture.h"

/* ---- gradients, the image, --check ---- */

struct weights_file {
    char *data; /* owned */
    struct safetensors tensors;
};

static void read_weights(const char *name, struct weights_file *out)
{
    FILE *f = fopen(training_file(name), "rb");
    size_t n;

    assert_non_null(f);
    out->data = malloc(1 << 16);
    assert_non_null(out->data);
    n = fread(out->data, 1, 1 << 16, f);
    fclose(f);
    if (safetensors_open(out->data, n, name, &out->tensors) != EMU_OK)
        fail_msg("%s", ss_error());
}

static void weights_file_free(struct weights_file *f)
{
    safetensors_free(&f->tensors);
    free(f->data);
}

static const float *numbers_of(const struct weights_file *f, const char *name, size_t count)
{
    for (size_t k = 0; k < f->tensors.tensors; k++) {
        const struct safetensor *t = &f->tensors.tensor[k];

        if (strcmp(t->name, name))
            continue;
        assert_int_equal(t->type, SAFETENSORS_F32);
        assert_int_equal(t->elements, count);
        return t->data;
    }
    fail_msg("there is no %s", name);
    return NULL;
}

/* What a step at a rate of 1 without momentum has taken from the parameters, whatever the loss
 * scale and the number of micro batches. */
static void gradients_are_of(const char *first, size_t count, const char *written,
                             const char *trained)
{
    struct weights_file g, w;
    const float *gradient, *after;
    double most = 0;

    read_weights(written, &g);
    read_weights(trained, &w);
    assert_int_equal(g.tensors.tensors, w.tensors.tensors);
    gradient = numbers_of(&g, first, count);
    after = numbers_of(&w, first, count);
    for (size_t k = 0; k < count; k++) {
        double before = ((int)(k * 37 % 64) - 32) / 64.0;

        assert_true(fabs(before - (double)after[k] - (double)gradient[k]) < 1e-6);
        most = fmax(most, fabs((double)gradient[k]));
    }
    assert_true(most > 1e-3);
    weights_file_free(&g);
    weights_file_free(&w);
}

static void gradients_are_written(void **state)
{
#define ONE_STEP                                                                                   \
    "--limit", "1", "--rate", "1", "--momentum", "0", "--schedule", "constant", "--gradients",     \
        training_file("gradients"), "-o", training_file("trained")
    (void)state;
    assert_int_equal(TRAIN(ONE_STEP), EXIT_RAN);
    gradients_are_of("second", (size_t)12 * TRAINING_CLASSES, "gradients", "trained");
    assert_int_equal(TRAIN(ONE_STEP, "--accumulate", "2", "--loss-scale", "64"), EXIT_RAN);
    gradients_are_of("first", (size_t)TRAINING_NUMBERS * 12, "gradients", "trained");
    training_picture_network();
    assert_int_equal(TRAIN(ONE_STEP, "--set", "mem_bytes=262144", "--io-tiles", "2"), EXIT_RAN);
    gradients_are_of("first", 16 * 9, "gradients", "trained");
    gradients_are_of("last", (size_t)TRAINING_CLASSES * 16, "gradients", "trained");
#undef ONE_STEP
}

/* A command of one file and one more argument. */
static int look_at(const char *command, const char *file, const char *option, const char *value)
{
    const char *argv[] = { command, training_file(file), option, value };
    const struct command *dis = command_find(emu_commands, command);
    FILE *out = stdout;
    int code;

    stdout = training_create("answer");
    code = command_main(dis ? dis : command_find(front_commands, command), value ? 4 : 3,
                        (char **)(uintptr_t)argv);
    fclose(stdout);
    stdout = out;
    return code;
}

/* It can be looked at and run; the training that wrote it has the bits of one that did not. */
static void the_image_of_a_step(void **state)
{
    (void)state;
    assert_int_equal(TRAIN("--engine", "timing", "-o", training_file("step.img")), EXIT_RAN);
    assert_int_equal(look_at("dis", "step.img", "--tile", "3"), EXIT_RAN);
    assert_true(training_has("answer", "tile 3, group 0, entry"));
    assert_int_equal(look_at("run", "step.img", "-q", NULL), EXIT_RAN);
    assert_int_equal(
        TRAIN("--limit", "3", "-o", training_file("again.img"), "--checkpoint", training_file("a")),
        EXIT_RAN);
    assert_int_equal(TRAIN("--limit", "3", "--checkpoint", training_file("b")), EXIT_RAN);
    assert_true(training_same("step.img", "again.img"));
    assert_true(training_same("a", "b"));
    training_picture_network();
    assert_int_equal(TRAIN("--set", "mem_bytes=262144", "--io-tiles", "2", "--limit", "1", "-o",
                           training_file("io.img")),
                     EXIT_RAN);
    assert_int_equal(look_at("dis", "io.img", "--tile", "15"), EXIT_RAN);
    assert_int_equal(TRAIN("--engine", "timing", "-o", training_file("trained")), EXIT_BAD);
    assert_non_null(strstr(ss_error(), "parameters need values, and --engine timing has none"));
}

/* Entries of the cache of a kind. */
static unsigned entries(const char *kind)
{
    char pattern[TRAINING_PATH];
    unsigned n;
    glob_t g;

    snprintf(pattern, sizeof(pattern), "%s/cache/*.%s", training_dir, kind);
    n = glob(pattern, 0, NULL, &g) ? 0 : (unsigned)g.gl_pathc;
    globfree(&g);
    return n;
}

/* A step from the cache: with gradients, as an image, by streams and without; the bits are those of
 * the one that was compiled, and nothing is compiled again. */
static void kept_steps_have_the_same_bits(void **state)
{
#define KEPT(name, ...)                                                                            \
    assert_int_equal(TRAIN(__VA_ARGS__, "--limit", "3", "--cache", training_file("cache"),         \
                           "--checkpoint", training_file(name)),                                   \
                     EXIT_RAN)
#define STREAMS "--set", "mem_bytes=262144", "--io-tiles", "2", "--accumulate", "2"
    (void)state;
    KEPT("a", "--gradients", training_file("gradients"), "--digests", training_file("digests"));
    assert_int_equal(entries("network"), 2); /* the step and the evaluation */
    KEPT("b", "--gradients", training_file("again"), "--digests", training_file("same"), "--plain");
    assert_true(training_same("a", "b") && training_same("digests", "same"));
    assert_true(training_same("gradients", "again"));
    KEPT("c", "-o", training_file("c.img"));
    assert_int_equal(entries("network"), 3); /* no gradients stay */
    KEPT("d", "-o", training_file("d.img"));
    assert_true(training_same("a", "c"));
    assert_true(training_same("c", "d"));
    assert_true(training_same("c.img", "d.img"));
    training_picture_network();
    KEPT("e", STREAMS);
    assert_int_equal(entries("network"), 5);
    KEPT("f", STREAMS, "--seed", "2");
    KEPT("g", STREAMS);
    assert_int_equal(entries("network"), 5);
    assert_true(training_same("e", "g"));
    assert_false(training_same("e", "f"));
#undef STREAMS
#undef KEPT
}

/* On a small tile words come into the memory element from which it fetches instructions then; one
 * with more memory has them elsewhere. */
static void steps_are_checked(void **state)
{
#define ONE_STEP "--limit", "1", "--set", "mem_bytes=262144"
    (void)state;
    assert_int_equal(TRAIN("--check", "--limit", "1"), EXIT_FAULTED);
    assert_int_equal(EVALUATE("--check"), EXIT_FAULTED);
    assert_int_equal(TRAIN("--check", ONE_STEP, "--checkpoint", training_file("a")), EXIT_RAN);
    assert_int_equal(TRAIN(ONE_STEP, "--checkpoint", training_file("b")), EXIT_RAN);
    assert_true(training_same("a", "b"));
    training_picture_network();
    assert_int_equal(TRAIN("--check", ONE_STEP, "--accumulate", "2", "--io-tiles", "2"), EXIT_RAN);
#undef ONE_STEP
}

/* --ranges counts the numbers of all batches: of Relu, 12 of each picture, and as many of the
 * pictures that fill the last batch up. */
static void ranges_are_of_all_pictures(void **state)
{
    enum { BATCH = 8, BATCHES = (TRAINING_PICTURES + BATCH - 1) / BATCH };
    char text[64];

    (void)state;
    assert_int_equal(TRAIN("--limit", "1", "-o", training_file("out")), EXIT_RAN);
    assert_int_equal(EVALUATE("--ranges", "--json", "-w", training_file("out")), EXIT_RAN);
    snprintf(text, sizeof(text), "\"numbers\": %d,", BATCHES * BATCH * 12);
    assert_true(training_has("answer", "\"ranges\": [") && training_has("answer", text));
    assert_int_equal(EVALUATE("--ranges", "-w", training_file("out")), EXIT_RAN);
    assert_true(training_has("answer", "Ranges: f16 numbers that codelets left in memory"));
}

/* A training ends before the step that would begin at that cycle or later, with what it has, and
 * goes on from there. */
static void cycles_end_a_training(void **state)
{
    double step;
    char cycles[32];

    (void)state;
    assert_int_equal(TRAIN("--limit", "1", "--curve", training_file("one.csv")), EXIT_RAN);
    step = training_last("one.csv", 6);
    assert_true(step > 1000);
    snprintf(cycles, sizeof(cycles), "%.0f", 2.5 * step);
    assert_int_equal(TRAIN("--max-cycles", cycles, "--epochs", "2", "--checkpoint",
                           training_file("ckpt"), "--curve", training_file("cut.csv")),
                     EXIT_PARTIAL);
    assert_int_equal(lround(training_last("cut.csv", 0)), 3);
    assert_int_equal(TRAIN("--epochs", "2", "--checkpoint", training_file("ckpt"), "--resume", "-o",
                           training_file("resumed")),
                     EXIT_RAN);
    assert_int_equal(
        TRAIN("--epochs", "2", "-o", training_file("whole"), "--max-cycles", "1000000000"),
        EXIT_RAN);
    assert_true(training_same("whole", "resumed"));
}

/* What f16 would get wrong is in f32, in steps and in evaluations. */
static void squares_beyond_f16(void **state)
{
    (void)state;
    training_network_of_large_numbers();
    assert_int_equal(TRAIN("--epochs", "4", "--rate", "0.05", "--curve", training_file("curve.csv"),
                           "-o", training_file("out.safetensors")),
                     EXIT_RAN);
    assert_true(training_last("curve.csv", 4) > 0.9);
    assert_true(training_has("answer", "precision   "));
    assert_true(training_has("answer", "f16 would get them wrong"));
    assert_int_equal(EVALUATE("-w", training_file("out.safetensors"), "--json"), EXIT_RAN);
    assert_true(training_has("answer", "\"accuracy\": 1.0") ||
                training_has("answer", "\"accuracy\": 0.9"));
    assert_int_equal(TRAIN("--limit", "1", "--json"), EXIT_RAN);
    assert_true(training_has("answer", "\"f32_nodes\": "));
    assert_false(training_has("answer", "\"f32_nodes\": 0"));
}

/* Of the JSON answer: the mean of the steps, and what the passes of the first add up to. */
static void read_cycles(double *mean, double *first)
{
    json_t *o = json_load_file(training_file("answer"), 0, NULL), *row;
    size_t k;

    *mean = json_number_value(json_object_get(o, "cycles_per_step"));
    *first = 0;
    json_array_foreach(json_object_get(o, "passes"), k, row)
    {
        *first += json_number_value(json_object_get(row, "cycles"));
    }
    json_decref(o);
    assert_true(*mean > 0 && *first > 0);
}

/* A first step has the same cycles with both engines; each of the two others begins with a sync
 * with the host. */
static void later_steps_wait_for_the_host(void **state)
{
    double timed, mean, first, one, sync = arch_sync_host_cycles(ss_arch_preset("toy16"));

    (void)state;
    assert_int_equal(TRAIN("--engine", "timing", "--json"), EXIT_RAN);
    read_cycles(&timed, &first);
    assert_true(timed == first);
    assert_int_equal(TRAIN("--limit", "1", "--json"), EXIT_RAN);
    read_cycles(&one, &first);
    assert_true(one == timed && first == timed);
    assert_int_equal(TRAIN("--limit", "3", "--json"), EXIT_RAN);
    read_cycles(&mean, &first);
    assert_true(first == timed);
    assert_true(mean > timed && 3 * mean < 3 * timed + 2 * sync);
}

static void every_method_runs(void **state)
{
    static const char *const method[] = { "sgd", "rmsprop", "lars", "adamw" };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(method); k++)
        assert_int_equal(TRAIN("--optimiser", method[k], "--limit", "2"), EXIT_RAN);
    assert_int_equal(TRAIN("--engine", "timing"), EXIT_RAN);
    assert_int_equal(TRAIN("--format", "f32", "--schedule", "step", "--warmup", "2", "--limit", "3",
                           "--smoothing", "0.1"),
                     EXIT_RAN);
}

static void what_goes_wrong(void **state)
{
    (void)state;
    assert_int_equal(TRAIN("--rate", "1e38", "--format", "f32"), EXIT_FAULTED);
    assert_int_equal(
        TRAIN("--rate", "1e38", "--format", "f32", "--on-overflow", "skip", "--limit", "9"),
        EXIT_RAN);
    assert_int_equal(TRAIN("--momentum", "1"), EXIT_BAD);
    assert_int_equal(TRAIN("--loss-scale", "dynamic:"), EXIT_BAD);
    assert_int_equal(TRAIN("--loss-scale", "dynamics"), EXIT_BAD);
    assert_int_equal(TRAIN("--loss-scale", "dynamic", "--on-overflow", "stop"), EXIT_BAD);
    assert_int_equal(TRAIN("--rounding", "nearest"), EXIT_BAD);
    assert_int_equal(TRAIN("--dropout", "1"), EXIT_BAD);
    assert_int_equal(TRAIN("--drop-connect", "0.2"), EXIT_BAD); /* no residual branches */
    assert_int_equal(TRAIN("--loss-scale", "0.5"), EXIT_BAD);
    assert_int_equal(TRAIN("--curve", training_file("curve.txt")), EXIT_BAD);
    assert_int_equal(TRAIN("--test", training_file("nothing")), EXIT_BAD);
    assert_int_equal(TRAIN("-o", training_file("no/folder")), EXIT_BAD);
    assert_int_equal(TRAIN("--checkpoint", training_file("net.onnx"), "--resume"), EXIT_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gradients_are_written, training_begin, training_end),
        cmocka_unit_test_setup_teardown(the_image_of_a_step, training_begin, training_end),
        cmocka_unit_test_setup_teardown(kept_steps_have_the_same_bits, training_begin,
                                        training_end),
        cmocka_unit_test_setup_teardown(steps_are_checked, training_begin, training_end),
        cmocka_unit_test_setup_teardown(ranges_are_of_all_pictures, training_begin, training_end),
        cmocka_unit_test_setup_teardown(cycles_end_a_training, training_begin, training_end),
        cmocka_unit_test_setup_teardown(squares_beyond_f16, training_begin, training_end),
        cmocka_unit_test_setup_teardown(later_steps_wait_for_the_host, training_begin,
                                        training_end),
        cmocka_unit_test_setup_teardown(every_method_runs, training_begin, training_end),
        cmocka_unit_test_setup_teardown(what_goes_wrong, training_begin, training_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
