/* test_training.c - `superstep train` as users call it: what it writes, that a training which was
 * stopped goes on to the same bits, what is refused.
 */
#include <glob.h>
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

#include "emu/cli/commands.h"
#include "models/cli/commands_models.h"
#include "models/onnx/onnx.h"
#include "models/weights/safetensors.h"

enum { SIDE = 4, NUMBERS = SIDE * SIDE, PICTURES = 40, CLASSES = 3, PATH = 128, ARGS = 32 };

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[8][PATH];
    static unsigned k;

    k = (k + 1) % 8;
    snprintf(path[k], PATH, "%s/%s", dir, name);
    return path[k];
}

static FILE *create(const char *name)
{
    FILE *f = fopen(in_dir(name), "wb");

    assert_non_null(f);
    return f;
}

/* ---- a network and its data ---- */

static uint32_t parameter_of(struct op_graph *g, const char *name, const struct op_shape *s)
{
    uint64_t n = op_shape_count(s);
    float *data = op_graph_alloc(g, n, sizeof(*data));
    uint32_t v;

    assert_int_equal(op_value_new(g, name, OP_PARAM, s, &v), EMU_OK);
    for (uint64_t k = 0; k < n; k++)
        data[k] = (float)((int)(k * 37 % 64) - 32) / 64;
    g->value[v].data = data;
    return v;
}

static uint32_t parameter(struct op_graph *g, const char *name, uint32_t rows, uint32_t columns)
{
    const struct op_shape s = { OP_TYPE_F32, 2, { rows, columns } };

    return parameter_of(g, name, &s);
}

static uint32_t node(struct op_graph *g, const char *op, uint32_t a, uint32_t b)
{
    const uint32_t in[] = { a, b };
    const struct op_request r = { .op = op, .in = in, .ins = b == OP_NONE ? 1 : 2, .outs = 1 };
    uint32_t out;

    assert_int_equal(op_node(g, &r, &out), EMU_OK);
    return out;
}

static void write_network(void)
{
    const struct op_shape pictures = { OP_TYPE_F32, 2, { 8, NUMBERS } };
    struct op_graph *g;
    uint32_t x;
    FILE *f = create("net.onnx");

    assert_int_equal(op_graph_new("net", &g), EMU_OK);
    assert_int_equal(op_value_new(g, "x", OP_INPUT, &pictures, &x), EMU_OK);
    assert_int_equal(op_graph_input(g, x), EMU_OK);
    x = node(g, "Relu", node(g, "Gemm", x, parameter(g, "first", NUMBERS, 12)), OP_NONE);
    assert_int_equal(op_graph_output(g, node(g, "Gemm", x, parameter(g, "second", 12, CLASSES))),
                     EMU_OK);
    assert_int_equal(onnx_write(g, f), EMU_OK);
    fclose(f);
    op_graph_free(g);
}

/* A first layer of pictures, and a dense one whose weights are turned before they are used, as
 * exporters spell it. */
static void write_picture_network(void)
{
    static const int64_t two[] = { 2, 2 }, pads[] = { 1, 1, 1, 1 };
    static const struct op_named_attr attr[] = {
        { "strides", { .kind = OP_ATTR_INTS, .count = 2, .ints = two } },
        { "pads", { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } },
    };
    const struct op_shape pictures = { OP_TYPE_F32, 4, { 8, 1, SIDE, SIDE } };
    const struct op_shape kernels = { OP_TYPE_F32, 4, { 16, 1, 3, 3 } };
    struct op_graph *g;
    uint32_t in[2], x;
    const struct op_request conv = {
        .op = "Conv", .in = in, .ins = 2, .outs = 1, .attr = attr, .attrs = EMU_COUNT_OF(attr)
    };
    FILE *f = create("net.onnx");

    assert_int_equal(op_graph_new("net", &g), EMU_OK);
    g->parameters_change = 1; /* so that the turned weights are not written instead */
    assert_int_equal(op_value_new(g, "x", OP_INPUT, &pictures, &in[0]), EMU_OK);
    assert_int_equal(op_graph_input(g, in[0]), EMU_OK);
    in[1] = parameter_of(g, "first", &kernels);
    assert_int_equal(op_node(g, &conv, &x), EMU_OK);
    x = node(g, "GlobalAveragePool", node(g, "Relu", x, OP_NONE), OP_NONE);
    x = node(g, "Flatten", x, OP_NONE);
    x = node(g, "MatMul", x, node(g, "Transpose", parameter(g, "last", CLASSES, 16), OP_NONE));
    assert_int_equal(op_graph_output(g, x), EMU_OK);
    assert_int_equal(onnx_write(g, f), EMU_OK);
    fclose(f);
    op_graph_free(g);
}

/* x / sqrt(mean(x * x)) of numbers that f16 has, though it has not their squares. */
static void write_network_of_large_numbers(void)
{
    static const int64_t last[] = { 1 };
    static const struct op_named_attr axes = { "axes",
                                               { .kind = OP_ATTR_INTS, .count = 1, .ints = last } };
    const struct op_shape pictures = { OP_TYPE_F32, 2, { 8, NUMBERS } },
                          one = { .type = OP_TYPE_F32 };
    const double size = 20000;
    struct op_graph *g;
    uint32_t x, by, square;
    const struct op_request mean = {
        .op = "ReduceMean", .in = &square, .ins = 1, .outs = 1, .attr = &axes, .attrs = 1
    };
    FILE *f = create("net.onnx");

    assert_int_equal(op_graph_new("net", &g), EMU_OK);
    g->parameters_change = 1;
    assert_int_equal(op_value_new(g, "x", OP_INPUT, &pictures, &x), EMU_OK);
    assert_int_equal(op_graph_input(g, x), EMU_OK);
    assert_int_equal(op_constant_new(g, &one, &size, &by), EMU_OK);
    x = node(g, "Mul", x, by);
    square = node(g, "Mul", x, x);
    assert_int_equal(op_node(g, &mean, &by), EMU_OK);
    x = node(g, "Div", x, node(g, "Sqrt", by, OP_NONE));
    assert_int_equal(op_graph_output(g, node(g, "Gemm", x, parameter(g, "w", NUMBERS, CLASSES))),
                     EMU_OK);
    assert_int_equal(onnx_write(g, f), EMU_OK);
    fclose(f);
    op_graph_free(g);
}

static void put_words(FILE *f, const uint32_t *word, unsigned n)
{
    for (unsigned k = 0; k < 4 * n; k++)
        fputc((int)(word[k / 4] >> (24 - 8 * (k % 4)) & 0xff), f);
}

/* Pictures that are bright in the row of their class. */
static void write_data(const char *part)
{
    char name[64];
    FILE *f;

    snprintf(name, sizeof(name), "%s-images-idx3-ubyte", part);
    f = create(name);
    put_words(f, (const uint32_t[]){ 0x803, PICTURES, SIDE, SIDE }, 4);
    for (unsigned k = 0; k < PICTURES * NUMBERS; k++)
        fputc(k % NUMBERS / SIDE == k / NUMBERS % CLASSES ? 200 : (int)(k * 29 % 60), f);
    fclose(f);
    snprintf(name, sizeof(name), "%s-labels-idx1-ubyte", part);
    f = create(name);
    put_words(f, (const uint32_t[]){ 0x801, PICTURES }, 2);
    for (unsigned k = 0; k < PICTURES; k++)
        fputc((int)(k % CLASSES), f);
    fclose(f);
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/superstep-training-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    write_network();
    write_data("train");
    write_data("t10k");
    return 0;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command) || alloc_live() != 0;
}

/* ---- the command ---- */

/* `superstep COMMAND net.onnx --data DIR -m toy16 -q` and more arguments. Returns the exit code. */
static int execute(const char *command, const char *const *more)
{
    const char *argv[ARGS] = { command, in_dir("net.onnx"), "--data", dir, "-m", "toy16", "-q" };
    int argc = 7, code;
    FILE *out = stdout;

    for (; *more; more++)
        argv[argc++] = *more;
    stdout = create("answer");
    code = command_main(command_find(model_commands, command), argc, (char **)(uintptr_t)argv);
    fclose(stdout);
    stdout = out;
    return code;
}
#define TRAIN(...)    execute("train", (const char *const[]){ __VA_ARGS__, NULL })
#define EVALUATE(...) execute("evaluate", (const char *const[]){ __VA_ARGS__, NULL })

static int is_equal(const char *a, const char *b)
{
    FILE *f = fopen(in_dir(a), "rb"), *g = fopen(in_dir(b), "rb");
    int x, y, same = 1;

    assert_non_null(f);
    assert_non_null(g);
    do {
        x = fgetc(f);
        y = fgetc(g);
        same = same && x == y;
    } while (x != EOF && y != EOF);
    fclose(f);
    fclose(g);
    return same;
}

static int has_text(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "rb");
    char all[8192];
    size_t n;

    assert_non_null(f);
    n = fread(all, 1, sizeof(all), f);
    fclose(f);
    return memmem(all, n, text, strlen(text)) != NULL;
}

/* The last number of column `column` of the curve. */
static double last_of_curve(const char *name, unsigned column)
{
    FILE *f = fopen(in_dir(name), "r");
    char line[256], last[256] = "", *at = last;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        strcpy(last, line);
    fclose(f);
    for (; column; column--)
        at = strchr(at, ',') + 1;
    return strtod(at, NULL);
}

/* Parameters keep names and shapes, and the network is tested with them. */
static void networks_of_pictures(void **state)
{
    (void)state;
    write_picture_network();
    assert_int_equal(TRAIN("--set", "mem_bytes=262144", "--epochs", "2", "--rate", "0.05",
                           "--curve", in_dir("curve.csv"), "--curve", in_dir("curve.svg"), "-o",
                           in_dir("out.safetensors")),
                     EXIT_RAN);
    assert_true(has_text("curve.svg", " with mem_bytes=262144"));
    assert_true(has_text("curve.csv", "test"));
    assert_true(has_text("out.safetensors", "\"last\":{\"dtype\":\"F32\",\"shape\":[3,16]"));
    assert_true(has_text("out.safetensors", "\"first\":{\"dtype\":\"F32\",\"shape\":[16,1,3,3]"));
}

static void learns(void **state)
{
    (void)state;
    assert_int_equal(TRAIN("--epochs", "6", "--rate", "0.05", "--curve", in_dir("curve.csv"),
                           "--curve", in_dir("curve.svg"), "-o", in_dir("out.safetensors")),
                     EXIT_RAN);
    assert_true(last_of_curve("curve.csv", 4) > 0.95); /* accuracy of the last evaluation */
    assert_int_equal(access(in_dir("curve.svg"), F_OK), 0);
    assert_int_equal(access(in_dir("out.safetensors"), F_OK), 0);
}

static void goes_on_to_the_same_bits(void **state)
{
    (void)state;
    assert_int_equal(TRAIN("--epochs", "3", "-o", in_dir("whole"), "-j", "1"), EXIT_RAN);
    assert_int_equal(
        TRAIN("--epochs", "3", "--checkpoint", in_dir("ckpt"), "--every", "2", "--limit", "7"),
        EXIT_RAN);
    assert_int_equal(TRAIN("--epochs", "3", "--checkpoint", in_dir("ckpt"), "--every", "2",
                           "--resume", "-o", in_dir("resumed"), "-j", "3"),
                     EXIT_RAN);
    assert_true(is_equal("whole", "resumed"));
    assert_int_equal(
        TRAIN("--epochs", "3", "--seed", "9", "--checkpoint", in_dir("ckpt"), "--resume"),
        EXIT_BAD);
    assert_non_null(strstr(ss_error(), "--seed was 1, is 9: a training goes on"));
    assert_int_equal(
        TRAIN("--rate", "0.05", "--batch", "8", "--checkpoint", in_dir("ckpt"), "--resume"),
        EXIT_BAD);
    assert_non_null(strstr(ss_error(), "--rate was 0.1, is 0.05: a training goes on"));
    /* More epochs go on. */
    assert_int_equal(TRAIN("--epochs", "4", "--checkpoint", in_dir("ckpt"), "--resume", "--curve",
                           in_dir("more.csv")),
                     EXIT_RAN);
    assert_true(last_of_curve("more.csv", 0) > last_of_curve("more.csv", 1));
    assert_int_equal(lround(last_of_curve("more.csv", 1)), 4);
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
        _exit(TRAIN("--epochs", "100000", "--every", "1", "--checkpoint", in_dir("ckpt"), "-o",
                    in_dir("out.safetensors"), "-j", "1"));
    }
    while (glob(in_dir(when), 0, NULL, &found) == GLOB_NOMATCH)
        usleep(1000);
    globfree(&found);
    kill(child, signal_number);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_PARTIAL);
    assert_int_equal(glob(in_dir("*.tmp"), 0, NULL, &found), GLOB_NOMATCH);
}

/* First of all tests: a process that forks must not have threads. */
static void signals_leave_nothing_torn(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(signals); k++) {
        ends_by_signal(signals[k], "out.safetensors*.tmp");
        ends_by_signal(signals[k], "ckpt");
        assert_int_equal(access(in_dir("out.safetensors"), F_OK), 0);
        unlink(in_dir("ckpt"));
    }
}

/* What a training says of its test pictures is what `evaluate` says of its parameters, and these
 * are what another training begins with. */
static void parameters_are_evaluated_and_trained_on(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(TRAIN("--epochs", "2", "--rate", "0.02", "--curve", in_dir("curve.csv"), "-o",
                           in_dir("out.safetensors")),
                     EXIT_RAN);
    assert_true(has_text("answer", "training    all of a picture, resized (bicubic) to 4 x 4, "
                                   "neither cut nor mirrored; gray, mean 0.5, deviation 0.5\n"
                                   "testing     all of a picture"));
    assert_int_equal(EVALUATE("-w", in_dir("out.safetensors")), EXIT_RAN);
    snprintf(text, sizeof(text), "loss        %.4f\naccuracy    %.2f %%",
             last_of_curve("curve.csv", 3), 100 * last_of_curve("curve.csv", 4));
    assert_true(has_text("answer", text) && has_text("answer", "engine      values\ndigest      "));
    assert_int_equal(EVALUATE("-w", in_dir("out.safetensors"), "--json", "--format", "f32",
                              "--digests", in_dir("digests")),
                     EXIT_RAN);
    assert_true(has_text("answer", "\"confusion\": ["));
    assert_true(has_text("digests", "\nstep 0 1 "));
    assert_int_equal(
        TRAIN("-w", in_dir("out.safetensors"), "--rate", "1e-30", "-o", in_dir("again")), EXIT_RAN);
    assert_true(is_equal("out.safetensors", "again"));
    assert_int_equal(EVALUATE("--digests", in_dir("net.onnx")), EXIT_BAD);
    assert_int_equal(TRAIN("--digests", in_dir("net.onnx")), EXIT_BAD);
    assert_int_equal(EVALUATE("--mean", "0.5,0.5"), EXIT_BAD);
    assert_int_equal(EVALUATE("-w", in_dir("net.onnx")), EXIT_BAD);
    assert_int_equal(EVALUATE("--batch", "16"), EXIT_BAD); /* the file says 8 */
    assert_non_null(strstr(ss_error(), "--batch 16: the file fixes the batch"));
    assert_int_equal(TRAIN("--batch", "16"), EXIT_BAD);
}

/* The memory that the answer says to fit: "sram=96K". */
static void named_memory(char out[32])
{
    FILE *f = fopen(in_dir("answer"), "rb");
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
    assert_true(has_text("answer", "Nothing was tried (--try-for 0)"));
    assert_int_equal(TRAIN("--set", "sram=32K", "--limit", "1"), EXIT_FAULTED);
    named_memory(memory);
    assert_int_equal(TRAIN("--set", memory, "--limit", "1"), EXIT_RAN);
}

/* Augmentations are asked for, where pictures are small; and pictures are prepared as options say.
 */
static void pictures_are_prepared_as_asked(void **state)
{
    (void)state;
    write_picture_network();
#define ONE_STEP "--set", "mem_bytes=262144", "--limit", "1"
    assert_int_equal(TRAIN(ONE_STEP, "--augment", "crop"), EXIT_RAN);
    assert_true(has_text("answer",
                         "training    a drawn piece of 8 to 100 % of the area, resized to "
                         "4 x 4, mirrored every other time; gray"));
    assert_true(has_text("answer", "testing     shorter side to 4 (bicubic), middle 4 x 4"));
    assert_int_equal(TRAIN(ONE_STEP, "--crop", "0.5", "--mean", "0", "--std", "1"), EXIT_RAN);
    assert_true(has_text("answer", "training    shorter side to 8 (bicubic), middle 4 x 4 (as "
                                   "chosen), neither cut nor mirrored; gray, mean 0, deviation 1"));
    assert_int_equal(TRAIN(ONE_STEP, "--channels", "bgr"), EXIT_BAD);
    assert_int_equal(TRAIN(ONE_STEP, "--std", "0"), EXIT_BAD);
#undef ONE_STEP
}

/* Steps of two micro batches: stopped and resumed, with other threads, they are the same. */
static void micro_batches_go_on_to_the_same_bits(void **state)
{
    (void)state;
    assert_int_equal(TRAIN("--epochs", "2", "--accumulate", "2", "-o", in_dir("sum"), "-j", "1"),
                     EXIT_RAN);
    assert_int_equal(TRAIN("--epochs", "2", "--accumulate", "2", "--checkpoint", in_dir("ckpt"),
                           "--every", "1", "--limit", "1"),
                     EXIT_RAN);
    assert_int_equal(TRAIN("--epochs", "2", "--accumulate", "2", "--checkpoint", in_dir("ckpt"),
                           "--resume", "-o", in_dir("sum2"), "-j", "3"),
                     EXIT_RAN);
    assert_true(is_equal("sum", "sum2"));
    assert_int_equal(TRAIN("--epochs", "2", "--checkpoint", in_dir("ckpt"), "--resume"), EXIT_BAD);
    assert_int_equal(TRAIN("--accumulate", "1000"), EXIT_BAD);
}

/* Bytes through IO tiles give the bits of numbers that the host writes, on a machine of as many
 * tiles as compute; with a rest of an epoch that is less than a step, stopped and resumed, and with
 * other threads. */
static void bytes_go_through_io_tiles(void **state)
{
#define THREE_EPOCHS "--set", "mem_bytes=262144", "--epochs", "3", "--accumulate", "2"
    (void)state;
    write_picture_network();
    assert_int_equal(TRAIN(THREE_EPOCHS, "--set", "tiles=14", "-o", in_dir("plain")), EXIT_RAN);
    assert_true(has_text("answer", "f16, normalised by the host, through the tiles that compute"));
    assert_int_equal(TRAIN(THREE_EPOCHS, "--io-tiles", "2", "-o", in_dir("io"), "-j", "1"),
                     EXIT_RAN);
    assert_true(has_text("answer", "8 bits, normalised by the chip, through 2 IO tiles"));
    assert_true(is_equal("plain", "io"));
    assert_int_equal(TRAIN(THREE_EPOCHS, "--io-tiles", "2", "--checkpoint", in_dir("io.ckpt"),
                           "--every", "1", "--limit", "3"),
                     EXIT_RAN);
    assert_int_equal(TRAIN(THREE_EPOCHS, "--io-tiles", "2", "--checkpoint", in_dir("io.ckpt"),
                           "--resume", "-o", in_dir("io2"), "-j", "3"),
                     EXIT_RAN);
    assert_true(is_equal("io", "io2"));
    assert_int_equal(TRAIN(THREE_EPOCHS, "--checkpoint", in_dir("io.ckpt"), "--resume"), EXIT_BAD);
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
    assert_int_equal(
        TRAIN(RECIPE, "-o", in_dir("whole"), "-j", "1", "--curve", in_dir("curve.csv"), "--json"),
        EXIT_RAN);
    assert_true(last_of_curve("curve.csv", 4) > 0.9);
    assert_true(has_text("answer", "\"skipped\": 0"));
    assert_int_equal(TRAIN(RECIPE, "--checkpoint", in_dir("ckpt"), "--every", "2", "--limit", "7"),
                     EXIT_RAN);
    assert_int_equal(TRAIN(RECIPE, "--checkpoint", in_dir("ckpt"), "--every", "2", "--resume", "-o",
                           in_dir("resumed"), "-j", "3"),
                     EXIT_RAN);
    assert_true(is_equal("whole", "resumed"));
    assert_true(has_text("whole", "F16"));
    assert_int_equal(
        TRAIN(RECIPE, "--rounding", "nearest", "--checkpoint", in_dir("ckpt"), "--resume"),
        EXIT_BAD);
#undef RECIPE
}

/* A disk that is full in the middle of a checkpoint: the last whole one stays. */
static void a_full_disk_leaves_the_last_checkpoint(void **state)
{
    struct rlimit was, small;

    (void)state;
    assert_int_equal(TRAIN("--checkpoint", in_dir("ckpt"), "--limit", "2"), EXIT_RAN);
    assert_int_equal(TRAIN("--checkpoint", in_dir("copy"), "--limit", "2"), EXIT_RAN);
    assert_true(is_equal("ckpt", "copy"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    small.rlim_cur = 500;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(TRAIN("--checkpoint", in_dir("ckpt"), "--limit", "4", "--resume"), EXIT_BAD);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_true(is_equal("ckpt", "copy"));
    assert_int_equal(TRAIN("--checkpoint", in_dir("ckpt"), "--limit", "4", "--resume"), EXIT_RAN);
}

/* ---- gradients, the image, --check ---- */

struct weights_file {
    char *data; /* owned */
    struct safetensors tensors;
};

static void read_weights(const char *name, struct weights_file *out)
{
    FILE *f = fopen(in_dir(name), "rb");
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
        in_dir("gradients"), "-o", in_dir("trained")
    (void)state;
    assert_int_equal(TRAIN(ONE_STEP), EXIT_RAN);
    gradients_are_of("second", (size_t)12 * CLASSES, "gradients", "trained");
    assert_int_equal(TRAIN(ONE_STEP, "--accumulate", "2", "--loss-scale", "64"), EXIT_RAN);
    gradients_are_of("first", (size_t)NUMBERS * 12, "gradients", "trained");
    write_picture_network();
    assert_int_equal(TRAIN(ONE_STEP, "--set", "mem_bytes=262144", "--io-tiles", "2"), EXIT_RAN);
    gradients_are_of("first", 16 * 9, "gradients", "trained");
    gradients_are_of("last", (size_t)CLASSES * 16, "gradients", "trained");
#undef ONE_STEP
}

/* A command of one file and one more argument. */
static int look_at(const char *command, const char *file, const char *option, const char *value)
{
    const char *argv[] = { command, in_dir(file), option, value };
    const struct command *dis = command_find(emu_commands, command);
    FILE *out = stdout;
    int code;

    stdout = create("answer");
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
    assert_int_equal(TRAIN("--engine", "timing", "-o", in_dir("step.img")), EXIT_RAN);
    assert_int_equal(look_at("dis", "step.img", "--tile", "3"), EXIT_RAN);
    assert_true(has_text("answer", "tile 3, group 0, entry"));
    assert_int_equal(look_at("run", "step.img", "-q", NULL), EXIT_RAN);
    assert_int_equal(TRAIN("--limit", "3", "-o", in_dir("again.img"), "--checkpoint", in_dir("a")),
                     EXIT_RAN);
    assert_int_equal(TRAIN("--limit", "3", "--checkpoint", in_dir("b")), EXIT_RAN);
    assert_true(is_equal("step.img", "again.img"));
    assert_true(is_equal("a", "b"));
    write_picture_network();
    assert_int_equal(TRAIN("--set", "mem_bytes=262144", "--io-tiles", "2", "--limit", "1", "-o",
                           in_dir("io.img")),
                     EXIT_RAN);
    assert_int_equal(look_at("dis", "io.img", "--tile", "15"), EXIT_RAN);
    assert_int_equal(TRAIN("--engine", "timing", "-o", in_dir("trained")), EXIT_BAD);
    assert_non_null(strstr(ss_error(), "parameters need values, and --engine timing has none"));
}

/* Entries of the cache of a kind. */
static unsigned entries(const char *kind)
{
    char pattern[PATH];
    unsigned n;
    glob_t g;

    snprintf(pattern, sizeof(pattern), "%s/cache/*.%s", dir, kind);
    n = glob(pattern, 0, NULL, &g) ? 0 : (unsigned)g.gl_pathc;
    globfree(&g);
    return n;
}

/* A step from the cache: with gradients, as an image, by streams and without; the bits are those of
 * the one that was compiled, and nothing is compiled again. */
static void kept_steps_have_the_same_bits(void **state)
{
#define KEPT(name, ...)                                                                            \
    assert_int_equal(TRAIN(__VA_ARGS__, "--limit", "3", "--cache", in_dir("cache"),                \
                           "--checkpoint", in_dir(name)),                                          \
                     EXIT_RAN)
#define STREAMS "--set", "mem_bytes=262144", "--io-tiles", "2", "--accumulate", "2"
    (void)state;
    KEPT("a", "--gradients", in_dir("gradients"), "--digests", in_dir("digests"));
    assert_int_equal(entries("network"), 2); /* the step and the evaluation */
    KEPT("b", "--gradients", in_dir("again"), "--digests", in_dir("same"), "--plain");
    assert_true(is_equal("a", "b") && is_equal("digests", "same"));
    assert_true(is_equal("gradients", "again"));
    KEPT("c", "-o", in_dir("c.img"));
    assert_int_equal(entries("network"), 3); /* no gradients stay */
    KEPT("d", "-o", in_dir("d.img"));
    assert_true(is_equal("a", "c"));
    assert_true(is_equal("c", "d"));
    assert_true(is_equal("c.img", "d.img"));
    write_picture_network();
    KEPT("e", STREAMS);
    assert_int_equal(entries("network"), 5);
    KEPT("f", STREAMS, "--seed", "2");
    KEPT("g", STREAMS);
    assert_int_equal(entries("network"), 5);
    assert_true(is_equal("e", "g"));
    assert_false(is_equal("e", "f"));
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
    assert_int_equal(TRAIN("--check", ONE_STEP, "--checkpoint", in_dir("a")), EXIT_RAN);
    assert_int_equal(TRAIN(ONE_STEP, "--checkpoint", in_dir("b")), EXIT_RAN);
    assert_true(is_equal("a", "b"));
    write_picture_network();
    assert_int_equal(TRAIN("--check", ONE_STEP, "--accumulate", "2", "--io-tiles", "2"), EXIT_RAN);
#undef ONE_STEP
}

/* What f16 would get wrong is in f32, in steps and in evaluations. */
static void squares_beyond_f16(void **state)
{
    (void)state;
    write_network_of_large_numbers();
    assert_int_equal(TRAIN("--epochs", "4", "--rate", "0.05", "--curve", in_dir("curve.csv"), "-o",
                           in_dir("out.safetensors")),
                     EXIT_RAN);
    assert_true(last_of_curve("curve.csv", 4) > 0.9);
    assert_true(has_text("answer", "precision   "));
    assert_true(has_text("answer", "f16 would get them wrong"));
    assert_int_equal(EVALUATE("-w", in_dir("out.safetensors"), "--json"), EXIT_RAN);
    assert_true(has_text("answer", "\"accuracy\": 1.0") || has_text("answer", "\"accuracy\": 0.9"));
    assert_int_equal(TRAIN("--limit", "1", "--json"), EXIT_RAN);
    assert_true(has_text("answer", "\"f32_nodes\": "));
    assert_false(has_text("answer", "\"f32_nodes\": 0"));
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
    assert_int_equal(TRAIN("--curve", in_dir("curve.txt")), EXIT_BAD);
    assert_int_equal(TRAIN("--test", in_dir("nothing")), EXIT_BAD);
    assert_int_equal(TRAIN("-o", in_dir("no/folder")), EXIT_BAD);
    assert_int_equal(TRAIN("--checkpoint", in_dir("net.onnx"), "--resume"), EXIT_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(signals_leave_nothing_torn, begin, end),
        cmocka_unit_test_setup_teardown(parameters_are_evaluated_and_trained_on, begin, end),
        cmocka_unit_test_setup_teardown(small_machines_are_told_what_fits, begin, end),
        cmocka_unit_test_setup_teardown(pictures_are_prepared_as_asked, begin, end),
        cmocka_unit_test_setup_teardown(learns, begin, end),
        cmocka_unit_test_setup_teardown(networks_of_pictures, begin, end),
        cmocka_unit_test_setup_teardown(bytes_go_through_io_tiles, begin, end),
        cmocka_unit_test_setup_teardown(goes_on_to_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(micro_batches_go_on_to_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(f16_states_go_on_to_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_last_checkpoint, begin, end),
        cmocka_unit_test_setup_teardown(gradients_are_written, begin, end),
        cmocka_unit_test_setup_teardown(the_image_of_a_step, begin, end),
        cmocka_unit_test_setup_teardown(kept_steps_have_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(steps_are_checked, begin, end),
        cmocka_unit_test_setup_teardown(squares_beyond_f16, begin, end),
        cmocka_unit_test_setup_teardown(every_method_runs, begin, end),
        cmocka_unit_test_setup_teardown(what_goes_wrong, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
