/* test_training.c - `superstep train` as users call it: what it learns, that a training which was
 * stopped goes on to the same bits.
 */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/base/status.h"
#include "emu/cli/commands.h"
#include "tests/fixtures/training_fixture.h"

/* Parameters keep names and shapes, and the network is tested with them. */
static void networks_of_pictures(void **state)
{
    (void)state;
    training_picture_network();
    assert_int_equal(TRAIN("--set", "mem_bytes=262144", "--epochs", "2", "--rate", "0.05",
                           "--curve", training_file("curve.csv"), "--curve",
                           training_file("curve.svg"), "-o", training_file("out.safetensors")),
                     EXIT_RAN);
    assert_true(training_has("curve.svg", " with mem_bytes=262144"));
    assert_true(training_has("curve.csv", "test"));
    assert_true(training_has("out.safetensors", "\"last\":{\"dtype\":\"F32\",\"shape\":[3,16]"));
    assert_true(
        training_has("out.safetensors", "\"first\":{\"dtype\":\"F32\",\"shape\":[16,1,3,3]"));
}

static void learns(void **state)
{
    (void)state;
    assert_int_equal(TRAIN("--epochs", "6", "--rate", "0.05", "--curve", training_file("curve.csv"),
                           "--curve", training_file("curve.svg"), "-o",
                           training_file("out.safetensors")),
                     EXIT_RAN);
    assert_true(training_last("curve.csv", 4) > 0.95); /* accuracy of the last evaluation */
    assert_int_equal(access(training_file("curve.svg"), F_OK), 0);
    assert_int_equal(access(training_file("out.safetensors"), F_OK), 0);
}

static void goes_on_to_the_same_bits(void **state)
{
    (void)state;
    assert_int_equal(TRAIN("--epochs", "3", "-o", training_file("whole"), "-j", "1"), EXIT_RAN);
    assert_int_equal(TRAIN("--epochs", "3", "--checkpoint", training_file("ckpt"), "--every", "2",
                           "--limit", "7"),
                     EXIT_RAN);
    assert_int_equal(TRAIN("--epochs", "3", "--checkpoint", training_file("ckpt"), "--every", "2",
                           "--resume", "-o", training_file("resumed"), "-j", "3"),
                     EXIT_RAN);
    assert_true(training_same("whole", "resumed"));
    assert_int_equal(
        TRAIN("--epochs", "3", "--seed", "9", "--checkpoint", training_file("ckpt"), "--resume"),
        EXIT_BAD);
    assert_non_null(strstr(ss_error(), "--seed was 1, is 9: a training goes on"));
    assert_int_equal(
        TRAIN("--rate", "0.05", "--batch", "8", "--checkpoint", training_file("ckpt"), "--resume"),
        EXIT_BAD);
    assert_non_null(strstr(ss_error(), "--rate was 0.1, is 0.05: a training goes on"));
    /* More epochs go on. */
    assert_int_equal(TRAIN("--epochs", "4", "--checkpoint", training_file("ckpt"), "--resume",
                           "--curve", training_file("more.csv")),
                     EXIT_RAN);
    assert_true(training_last("more.csv", 0) > training_last("more.csv", 1));
    assert_int_equal(lround(training_last("more.csv", 1)), 4);
}

/* The signal comes when a temporary file is there, or a checkpoint, and leaves no such file. */
static void ends_by_signal(int signal_number, const char *when)
{
    glob_t found;
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (!child) {
        signal(SIGINT, SIG_DFL); /* a shell's background job ignores it */
        _exit(TRAIN("--epochs", "100000", "--every", "1", "--checkpoint", training_file("ckpt"),
                    "-o", training_file("out.safetensors"), "-j", "1"));
    }
    while (glob(training_file(when), 0, NULL, &found) == GLOB_NOMATCH)
        usleep(1000);
    globfree(&found);
    kill(child, signal_number);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_PARTIAL);
    assert_int_equal(glob(training_file("*.tmp"), 0, NULL, &found), GLOB_NOMATCH);
}

/* First of all tests: a process that forks must not have threads. */
static void signals_leave_nothing_torn(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(signals); k++) {
        ends_by_signal(signals[k], "out.safetensors*.tmp");
        ends_by_signal(signals[k], "ckpt");
        assert_int_equal(access(training_file("out.safetensors"), F_OK), 0);
        unlink(training_file("ckpt"));
    }
}

/* What a training says of its test pictures is what `evaluate` says of its parameters, and these
 * are what another training begins with. */
static void parameters_are_evaluated_and_trained_on(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(TRAIN("--epochs", "2", "--rate", "0.02", "--curve", training_file("curve.csv"),
                           "-o", training_file("out.safetensors")),
                     EXIT_RAN);
    assert_true(training_has("answer", "training    all of a picture, resized (bicubic) to 4 x 4, "
                                       "neither cut nor mirrored; gray, mean 0.5, deviation 0.5\n"
                                       "testing     all of a picture"));
    assert_int_equal(EVALUATE("-w", training_file("out.safetensors")), EXIT_RAN);
    snprintf(text, sizeof(text), "loss        %.4f\naccuracy    %.2f %%",
             training_last("curve.csv", 3), 100 * training_last("curve.csv", 4));
    assert_true(training_has("answer", text) &&
                training_has("answer", "engine      values\ndigest      "));
    assert_int_equal(EVALUATE("-w", training_file("out.safetensors"), "--json", "--format", "f32",
                              "--digests", training_file("digests")),
                     EXIT_RAN);
    assert_true(training_has("answer", "\"confusion\": ["));
    assert_true(training_has("digests", "\nstep 0 1 "));
    assert_int_equal(TRAIN("-w", training_file("out.safetensors"), "--rate", "1e-30", "-o",
                           training_file("again")),
                     EXIT_RAN);
    assert_true(training_same("out.safetensors", "again"));
    assert_int_equal(EVALUATE("--digests", training_file("net.onnx")), EXIT_BAD);
    assert_int_equal(TRAIN("--digests", training_file("net.onnx")), EXIT_BAD);
    assert_int_equal(EVALUATE("--mean", "0.5,0.5"), EXIT_BAD);
    assert_int_equal(EVALUATE("-w", training_file("net.onnx")), EXIT_BAD);
    assert_int_equal(EVALUATE("--batch", "16"), EXIT_BAD); /* the file says 8 */
    assert_non_null(strstr(ss_error(), "--batch 16: the file fixes the batch"));
    assert_int_equal(TRAIN("--batch", "16"), EXIT_BAD);
}

/* The memory that the answer says to fit: "sram=96K". */
static void named_memory(char out[32])
{
    FILE *f = fopen(training_file("answer"), "rb");
    int found = 0;
    char line[512];

    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        const char *at = strstr(line, "Tiles with more memory: --set ");

        found |= at && sscanf(at, "Tiles with more memory: --set %31s fits", out) == 1;
    }
    fclose(f);
    assert_true(found);
}

/* What is said to fit was tried and does. */
static void small_machines_are_told_what_fits(void **state)
{
    char memory[32];

    (void)state;
    assert_int_equal(EVALUATE("--set", "sram=32K"), EXIT_FAULTED);
    named_memory(memory);
    assert_int_equal(EVALUATE("--set", memory), EXIT_RAN);
    assert_int_equal(EVALUATE("--set", "sram=32K", "--try-for", "0"), EXIT_FAULTED);
    assert_true(training_has("answer", "Nothing was tried (--try-for 0)"));
    assert_int_equal(TRAIN("--set", "sram=32K", "--limit", "1"), EXIT_FAULTED);
    named_memory(memory);
    assert_int_equal(TRAIN("--set", memory, "--limit", "1"), EXIT_RAN);
}

/* Augmentations are asked for, where pictures are small; and pictures are prepared as options say.
 */
static void pictures_are_prepared_as_asked(void **state)
{
    (void)state;
    training_picture_network();
#define ONE_STEP "--set", "mem_bytes=262144", "--limit", "1"
    assert_int_equal(TRAIN(ONE_STEP, "--augment", "crop"), EXIT_RAN);
    assert_true(training_has("answer",
                             "training    a drawn piece of 8 to 100 % of the area, resized to "
                             "4 x 4, mirrored every other time; gray"));
    assert_true(training_has("answer", "testing     shorter side to 4 (bicubic), middle 4 x 4"));
    assert_int_equal(TRAIN(ONE_STEP, "--crop", "0.5", "--mean", "0", "--std", "1"), EXIT_RAN);
    assert_true(training_has("answer",
                             "training    shorter side to 8 (bicubic), middle 4 x 4 (as "
                             "chosen), neither cut nor mirrored; gray, mean 0, deviation 1"));
    assert_int_equal(TRAIN(ONE_STEP, "--channels", "bgr"), EXIT_BAD);
    assert_int_equal(TRAIN(ONE_STEP, "--std", "0"), EXIT_BAD);
#undef ONE_STEP
}

/* Steps of two micro batches: stopped and resumed, with other threads, they are the same. */
static void micro_batches_go_on_to_the_same_bits(void **state)
{
    (void)state;
    assert_int_equal(
        TRAIN("--epochs", "2", "--accumulate", "2", "-o", training_file("sum"), "-j", "1"),
        EXIT_RAN);
    assert_int_equal(TRAIN("--epochs", "2", "--accumulate", "2", "--checkpoint",
                           training_file("ckpt"), "--every", "1", "--limit", "1"),
                     EXIT_RAN);
    assert_int_equal(TRAIN("--epochs", "2", "--accumulate", "2", "--checkpoint",
                           training_file("ckpt"), "--resume", "-o", training_file("sum2"), "-j",
                           "3"),
                     EXIT_RAN);
    assert_true(training_same("sum", "sum2"));
    assert_int_equal(TRAIN("--epochs", "2", "--checkpoint", training_file("ckpt"), "--resume"),
                     EXIT_BAD);
    assert_int_equal(TRAIN("--accumulate", "1000"), EXIT_BAD);
}

/* Bytes through IO tiles give the bits of numbers that the host writes, on a machine of as many
 * tiles as compute; with a rest of an epoch that is less than a step, stopped and resumed, and with
 * other threads. */
static void bytes_go_through_io_tiles(void **state)
{
#define THREE_EPOCHS "--set", "mem_bytes=262144", "--epochs", "3", "--accumulate", "2"
    (void)state;
    training_picture_network();
    assert_int_equal(TRAIN(THREE_EPOCHS, "--set", "tiles=14", "-o", training_file("plain")),
                     EXIT_RAN);
    assert_true(
        training_has("answer", "f16, normalised by the host, through the tiles that compute"));
    assert_int_equal(TRAIN(THREE_EPOCHS, "--io-tiles", "2", "-o", training_file("io"), "-j", "1"),
                     EXIT_RAN);
    assert_true(training_has("answer", "8 bits, normalised by the chip, through 2 IO tiles"));
    assert_true(training_same("plain", "io"));
    assert_int_equal(TRAIN(THREE_EPOCHS, "--io-tiles", "2", "--checkpoint",
                           training_file("io.ckpt"), "--every", "1", "--limit", "3"),
                     EXIT_RAN);
    assert_int_equal(TRAIN(THREE_EPOCHS, "--io-tiles", "2", "--checkpoint",
                           training_file("io.ckpt"), "--resume", "-o", training_file("io2"), "-j",
                           "3"),
                     EXIT_RAN);
    assert_true(training_same("io", "io2"));
    assert_int_equal(TRAIN(THREE_EPOCHS, "--checkpoint", training_file("io.ckpt"), "--resume"),
                     EXIT_BAD);
    assert_int_equal(TRAIN("--io-tiles", "16"), EXIT_BAD);
    assert_int_equal(TRAIN("--input-type", "f32"), EXIT_BAD);
    assert_int_equal(TRAIN("--init", "truncated"), EXIT_BAD); /* a file has weights of its own */
}

/* Everything that is drawn, found or averaged goes on as if nothing had happened, too. */
static void f16_states_go_on_to_the_same_bits(void **state)
{
#define RECIPE                                                                                     \
    "--epochs", "6", "--rate", "0.05", "--format", "16.16", "--loss-scale", "dynamic:1024",        \
        "--dropout", "0.1", "--average", "0.5"
    (void)state;
    assert_int_equal(TRAIN(RECIPE, "-o", training_file("whole"), "-j", "1", "--curve",
                           training_file("curve.csv"), "--json"),
                     EXIT_RAN);
    assert_true(training_last("curve.csv", 4) > 0.9);
    assert_true(training_has("answer", "\"skipped\": 0"));
    assert_int_equal(
        TRAIN(RECIPE, "--checkpoint", training_file("ckpt"), "--every", "2", "--limit", "7"),
        EXIT_RAN);
    assert_int_equal(TRAIN(RECIPE, "--checkpoint", training_file("ckpt"), "--every", "2",
                           "--resume", "-o", training_file("resumed"), "-j", "3"),
                     EXIT_RAN);
    assert_true(training_same("whole", "resumed"));
    assert_true(training_has("whole", "F16"));
    assert_int_equal(
        TRAIN(RECIPE, "--rounding", "nearest", "--checkpoint", training_file("ckpt"), "--resume"),
        EXIT_BAD);
#undef RECIPE
}

/* A disk that is full in the middle of a checkpoint: the last whole one stays. */
static void a_full_disk_leaves_the_last_checkpoint(void **state)
{
    struct rlimit was, small;

    (void)state;
    assert_int_equal(TRAIN("--checkpoint", training_file("ckpt"), "--limit", "2"), EXIT_RAN);
    assert_int_equal(TRAIN("--checkpoint", training_file("copy"), "--limit", "2"), EXIT_RAN);
    assert_true(training_same("ckpt", "copy"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    small.rlim_cur = 500;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(TRAIN("--checkpoint", training_file("ckpt"), "--limit", "4", "--resume"),
                     EXIT_BAD);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_true(training_same("ckpt", "copy"));
    assert_int_equal(TRAIN("--checkpoint", training_file("ckpt"), "--limit", "4", "--resume"),
                     EXIT_RAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(signals_leave_nothing_torn, training_begin, training_end),
        cmocka_unit_test_setup_teardown(parameters_are_evaluated_and_trained_on, training_begin,
                                        training_end),
        cmocka_unit_test_setup_teardown(small_machines_are_told_what_fits, training_begin,
                                        training_end),
        cmocka_unit_test_setup_teardown(pictures_are_prepared_as_asked, training_begin,
                                        training_end),
        cmocka_unit_test_setup_teardown(learns, training_begin, training_end),
        cmocka_unit_test_setup_teardown(networks_of_pictures, training_begin, training_end),
        cmocka_unit_test_setup_teardown(bytes_go_through_io_tiles, training_begin, training_end),
        cmocka_unit_test_setup_teardown(goes_on_to_the_same_bits, training_begin, training_end),
        cmocka_unit_test_setup_teardown(micro_batches_go_on_to_the_same_bits, training_begin,
                                        training_end),
        cmocka_unit_test_setup_teardown(f16_states_go_on_to_the_same_bits, training_begin,
                                        training_end),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_last_checkpoint, training_begin,
                                        training_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
