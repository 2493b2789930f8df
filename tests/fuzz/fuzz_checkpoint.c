/* fuzz_checkpoint.c - any bytes as a checkpoint of a small training: refused with the file in the
 * message, or taken; then what the training writes of it is taken again, and its log can be drawn.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "models/train/train_checkpoint.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BATCH = 2, NUMBERS = 4, CLASSES = 3 };

/* What a training has besides the file. */
struct small {
    struct op_graph *g;
    struct train_chip chip;
    struct train_average average;
};

static uint32_t value(struct op_graph *g, const char *name, enum op_value_kind kind, uint32_t rows,
                      uint32_t columns)
{
    const struct op_shape s = { OP_TYPE_F32, 2, { rows, columns } };
    uint32_t v;

    EMU_ASSERT(op_value_new(g, name, kind, &s, &v) == EMU_OK);
    if (kind == OP_PARAM)
        g->value[v].data = op_graph_alloc(g, op_shape_count(&s), sizeof(float));
    return v;
}

/* Scores of one dense layer, with momentum, on four tiles. */
static struct small *small_once(void)
{
    static struct small s;
    struct train_chip_options o = train_chip_usual();
    const struct session_options so = { .threads = 1 };
    struct train_optimiser optimiser;
    struct train_step step;
    uint32_t in[2], scores;
    const struct op_request gemm = { .op = "Gemm", .in = in, .ins = 2, .outs = 1 };

    if (s.g)
        return &s;
    EMU_ASSERT(op_graph_new("small", &s.g) == EMU_OK);
    in[0] = value(s.g, "x", OP_INPUT, BATCH, NUMBERS);
    in[1] = value(s.g, "w", OP_PARAM, NUMBERS, CLASSES);
    EMU_ASSERT(op_graph_input(s.g, in[0]) == EMU_OK && op_node(s.g, &gemm, &scores) == EMU_OK &&
               op_graph_output(s.g, scores) == EMU_OK &&
               train_optimiser_of("sgd", &optimiser) == EMU_OK &&
               train_step_make(s.g, &optimiser, &step) == EMU_OK && op_lower_check(s.g) == EMU_OK &&
               !s.g->problems &&
               train_chip_new(ss_arch_preset("toy4"), s.g, &step, &o, &s.chip) == EMU_OK &&
               train_chip_begin(&s.chip, &so) == EMU_OK &&
               train_average_new(s.g, 0.5, &s.average) == EMU_OK);
    return &s;
}

/* The checkpoint of what was taken, as bytes of *data (owned). */
static size_t written(struct small *s, const struct train_progress *p, const struct train_log *log,
                      uint8_t **data)
{
    char path[] = "/dev/shm/superstep-fuzz-XXXXXX";
    int fd = mkstemp(path);
    FILE *f;
    size_t n;

    EMU_ASSERT(fd >= 0);
    close(fd);
    EMU_ASSERT(train_checkpoint_write(&s->chip, p, log, &s->average, path) == EMU_OK);
    f = fopen(path, "rb");
    *data = emu_alloc(1 << 20, 1);
    EMU_ASSERT(f && *data);
    n = fread(*data, 1, 1 << 20, f);
    fclose(f);
    unlink(path);
    return n;
}

/* Written, taken and written again: the same bytes. */
static void check_again(struct small *s, struct train_progress p, struct train_log *log)
{
    uint8_t *a, *b;
    size_t n = written(s, &p, log, &a), m;
    enum emu_status st = train_checkpoint_take(&s->chip, &p, log, &s->average, a, n, "written");

    EMU_ASSERT(st == EMU_OK);
    m = written(s, &p, log, &b);
    EMU_ASSERT(n == m && !memcmp(a, b, n));
    ss_free(a);
    ss_free(b);
}

/* Compiling may take longer than an input may. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    small_once();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct small *s = small_once();
    struct train_progress p = { .seed = 1, .batch = BATCH };
    struct train_log log = { .row = NULL };
    enum emu_status st = train_checkpoint_take(&s->chip, &p, &log, &s->average, data, size, "fuzz");

    EMU_ASSERT(st == EMU_OK || st == EMU_BAD_FILE || st == EMU_USAGE);
    if (st == EMU_OK) {
        FILE *f = fopen("/dev/null", "w");

        EMU_ASSERT(f);
        train_log_csv(&log, f);
        train_log_svg(&log, "fuzz", f);
        fclose(f);
        check_again(s, p, &log);
    } else {
        EMU_ASSERT(strstr(ss_error(), "fuzz"));
    }
    train_log_free(&log);
    return 0;
}
