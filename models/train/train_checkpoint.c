/* train_checkpoint.c - states, progress and log to a safetensors file and back. */
#include "models/train/train_checkpoint.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/output_file.h"
#include "models/feed/feed_file.h"
#include "models/operators/op_update.h"
#include "models/weights/safetensors.h"

static const char progress_name[] = "superstep.progress", log_name[] = "superstep.log";
enum { PROGRESS_NUMBERS = sizeof(struct train_progress) / sizeof(uint64_t) };
static const uint64_t BYTES_MAX = UINT64_C(1) << 34;

/* ---- writing ---- */

/* Tensors to be written; their data are owned. */
struct written {
    struct safetensor *tensor;
    size_t n;
};

static void written_free(struct written *w)
{
    for (size_t k = 0; w->tensor && k < w->n; k++)
        emu_free((void *)(uintptr_t)w->tensor[k].data);
    emu_free(w->tensor);
}

static enum emu_status add_state(struct train_chip *chip, uint32_t value, struct written *w)
{
    const struct op_value *v = &chip->g->value[value];
    struct safetensor *t = &w->tensor[w->n];
    uint64_t n = op_shape_count(&v->shape);
    float *data = emu_alloc(n + 1, sizeof(*data));
    struct op_tensor numbers;
    enum emu_status s;

    if (!data)
        return FAIL(NO_MEMORY, "%s", v->name);
    *t = (struct safetensor){ .name = v->name,
                              .type = SAFETENSORS_F32,
                              .rank = v->shape.rank,
                              .elements = n,
                              .bytes = n * sizeof(*data),
                              .data = data };
    w->n++;
    for (unsigned d = 0; d < v->shape.rank; d++)
        t->shape[d] = v->shape.dim[d];
    s = train_chip_read(chip, value, &numbers);
    for (uint64_t k = 0; s == EMU_OK && k < n; k++)
        data[k] = (float)numbers.f[k];
    if (s == EMU_OK)
        op_tensor_free(&numbers);
    return s;
}

/* Whether a state belongs to the network, not to the optimiser: parameters and statistics have no
 * name that is another state's with a slot behind. */
static int is_slot(const struct op_graph *g, uint32_t value)
{
    const char *name = g->value[value].name, *dot = strrchr(name, '.');
    char parameter[512];
    uint32_t of;

    if (!dot || (size_t)(dot - name) >= sizeof(parameter))
        return 0;
    memcpy(parameter, name, (size_t)(dot - name));
    parameter[dot - name] = '\0';
    of = op_value_find(g, parameter);
    return of != OP_NONE && g->value[of].kind == OP_STATE;
}

static enum emu_status add_states(struct train_chip *chip, int slots, struct written *w)
{
    const struct op_graph *g = chip->g;

    w->tensor = emu_alloc(g->inputs + 3, sizeof(*w->tensor));
    if (!w->tensor)
        return FAIL(NO_MEMORY, "a checkpoint");
    for (uint32_t k = 0; k < g->inputs; k++) {
        if (g->value[g->input[k]].kind == OP_STATE && (slots || !is_slot(g, g->input[k])))
            TRY(add_state(chip, g->input[k], w));
    }
    return EMU_OK;
}

static enum emu_status add_copy(struct written *w, struct safetensor t, const void *data)
{
    void *copy = emu_alloc(t.bytes + 1, 1);

    if (!copy)
        return FAIL(NO_MEMORY, "a checkpoint");
    memcpy(copy, data, t.bytes);
    t.data = copy;
    w->tensor[w->n++] = t;
    return EMU_OK;
}

static enum emu_status collect(struct train_chip *chip, const struct train_progress *p,
                               const struct train_log *log, struct written *w)
{
    TRY(add_states(chip, 1, w));
    TRY(add_copy(w,
                 (struct safetensor){ .name = progress_name,
                                      .type = SAFETENSORS_U64,
                                      .rank = 1,
                                      .shape = { PROGRESS_NUMBERS },
                                      .elements = PROGRESS_NUMBERS,
                                      .bytes = sizeof(*p) },
                 p));
    return add_copy(w,
                    (struct safetensor){ .name = log_name,
                                         .type = SAFETENSORS_F64,
                                         .rank = 2,
                                         .shape = { log->rows, TRAIN_ROW_NUMBERS },
                                         .elements = log->rows * TRAIN_ROW_NUMBERS,
                                         .bytes = log->rows * sizeof(*log->row) },
                    log->row ? (const void *)log->row : (const void *)"");
}

enum emu_status train_checkpoint_write(struct train_chip *chip, const struct train_progress *p,
                                       const struct train_log *log, const char *path)
{
    struct written w = { 0 };
    struct output_file *out;
    enum emu_status s;

    TRY(output_open(path, &out));
    s = collect(chip, p, log, &w);
    if (s == EMU_OK)
        s = safetensors_write_to(w.tensor, w.n, out);
    written_free(&w);
    return output_end(out, s);
}

enum emu_status train_parameters_write(struct train_chip *chip, struct output_file *out)
{
    struct written w = { 0 };
    enum emu_status s = add_states(chip, 0, &w);

    if (s == EMU_OK)
        s = safetensors_write_to(w.tensor, w.n, out);
    written_free(&w);
    return s;
}

/* ---- reading ---- */

static const struct safetensor *find(const struct safetensors *f, const char *name)
{
    for (size_t k = 0; k < f->tensors; k++) {
        if (!strcmp(f->tensor[k].name, name))
            return &f->tensor[k];
    }
    return NULL;
}

/* Gives the chip a state; t is checked. */
static enum emu_status read_state(struct train_chip *chip, const struct safetensor *t,
                                  uint32_t value, const char *path)
{
    const struct op_value *v = &chip->g->value[value];
    int same = t->type == SAFETENSORS_F32 && t->rank == v->shape.rank;
    struct op_tensor numbers;
    enum emu_status s;

    for (unsigned d = 0; same && d < t->rank; d++)
        same = t->shape[d] == v->shape.dim[d];
    if (!same) {
        char is[200];

        safetensors_text(t, is);
        return FAIL(BAD_FILE, "%s: %s is %s: a checkpoint of another network", path, t->name, is);
    }
    TRY(op_tensor_new(&v->shape, &numbers));
    for (uint64_t k = 0; k < t->elements; k++) {
        float x;

        memcpy(&x, (const char *)t->data + k * sizeof(x), sizeof(x));
        numbers.f[k] = (double)x;
    }
    s = train_chip_write(chip, value, &numbers);
    op_tensor_free(&numbers);
    return s;
}

static enum emu_status read_states(struct train_chip *chip, const struct safetensors *f,
                                   const char *path)
{
    const struct op_graph *g = chip->g;

    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_value *v = &g->value[g->input[k]];
        const struct safetensor *t = find(f, v->name);

        if (v->kind != OP_STATE)
            continue;
        if (!t)
            return FAIL(BAD_FILE, "%s: there is no %s: a checkpoint of another network", path,
                        v->name);
        TRY(read_state(chip, t, g->input[k], path));
    }
    return EMU_OK;
}

static enum emu_status read_progress(const struct safetensors *f, struct train_progress *p,
                                     const char *path)
{
    const struct safetensor *t = find(f, progress_name);
    struct train_progress was;

    if (!t || t->type != SAFETENSORS_U64 || t->bytes != sizeof(was))
        return FAIL(BAD_FILE, "%s: no checkpoint of a training: it has no %s of %d U64", path,
                    progress_name, PROGRESS_NUMBERS);
    memcpy(&was, t->data, sizeof(was));
    if (was.seed != p->seed || was.batch != p->batch)
        return FAIL(USAGE, "%s was made with --seed %" PRIu64 " --batch %" PRIu64, path, was.seed,
                    was.batch);
    if (was.recipe != p->recipe)
        return FAIL(USAGE,
                    "%s was made with other options (optimiser, rate, schedule, epochs, data ..): "
                    "results would be neither's",
                    path);
    *p = was;
    return EMU_OK;
}

static enum emu_status read_log(const struct safetensors *f, struct train_log *log,
                                const char *path)
{
    const struct safetensor *t = find(f, log_name);

    if (!t || t->type != SAFETENSORS_F64 || t->rank != 2 || t->shape[1] != TRAIN_ROW_NUMBERS)
        return FAIL(BAD_FILE, "%s: no checkpoint of a training: it has no %s", path, log_name);
    log->rows = 0;
    for (uint64_t k = 0; k < t->shape[0]; k++) {
        struct train_row r;

        memcpy(&r, (const char *)t->data + k * sizeof(r), sizeof(r));
        TRY(train_log_add(log, &r));
    }
    return EMU_OK;
}

enum emu_status train_checkpoint_read(struct train_chip *chip, struct train_progress *p,
                                      struct train_log *log, const char *path)
{
    struct safetensors f = { 0 };
    uint8_t *data;
    size_t bytes;
    enum emu_status s = feed_file_bytes(path, BYTES_MAX, &data, &bytes);

    if (s != EMU_OK)
        return emu_fail(s, "%s: %s", path, emu_error());
    s = safetensors_open(data, bytes, path, &f);
    if (s == EMU_OK)
        s = read_progress(&f, p, path);
    if (s == EMU_OK)
        s = read_log(&f, log, path);
    if (s == EMU_OK)
        s = read_states(chip, &f, path);
    if (s == EMU_OK)
        chip->steps = p->steps;
    safetensors_free(&f);
    emu_free(data);
    return s;
}
