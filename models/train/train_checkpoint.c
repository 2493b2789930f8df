/* train_checkpoint.c - states, progress and log to a safetensors file and back. */
#include "models/train/train_checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/base/output_file.h"
#include "models/feed/feed_file.h"
#include "models/operators/op_update.h"
#include "models/weights/safetensors.h"

static const char progress_name[] = "superstep.progress", log_name[] = "superstep.log";
static const char options_name[] = "superstep.options";
enum { PROGRESS_BYTES = offsetof(struct train_progress, options) };
enum { PROGRESS_NUMBERS = PROGRESS_BYTES / sizeof(uint64_t), MORE_TENSORS = 8 };
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
        ss_free((void *)(uintptr_t)w->tensor[k].data);
    ss_free(w->tensor);
}

/* Number k of a list of f16, or of f32: the chip has them exactly so. */
static void put_number(int half, double number, void *list, uint64_t k)
{
    struct fp_env env = { 0 };

    if (half)
        ((uint16_t *)list)[k] = fp_f16_from_f64(number, 0, &env);
    else
        ((float *)list)[k] = (float)number;
}

static double get_number(int half, const void *list, uint64_t k)
{
    struct fp_env env = { 0 };
    uint16_t h;
    float f;

    if (half) {
        memcpy(&h, (const char *)list + k * sizeof(h), sizeof(h));
        return (double)fp_float(fp_f16_to_f32(h, &env));
    }
    memcpy(&f, (const char *)list + k * sizeof(f), sizeof(f));
    return (double)f;
}

/* One more tensor, for numbers of a value; its data are zeros. */
static enum emu_status add_tensor(const struct op_value *v, int half, struct written *w)
{
    struct safetensor *t = &w->tensor[w->n];
    uint64_t n = op_shape_count(&v->shape);
    size_t size = half ? sizeof(uint16_t) : sizeof(float);
    void *data = emu_alloc(n + 1, size);

    if (!data)
        return FAIL(NO_MEMORY, "%s", v->name);
    *t = (struct safetensor){ .name = v->name,
                              .type = half ? SAFETENSORS_F16 : SAFETENSORS_F32,
                              .rank = v->shape.rank,
                              .elements = n,
                              .bytes = n * size,
                              .data = data };
    w->n++;
    for (unsigned d = 0; d < v->shape.rank; d++)
        t->shape[d] = v->shape.dim[d];
    return EMU_OK;
}

/* Its numbers, which are freed. */
static void put_numbers(struct safetensor *t, struct op_tensor *numbers)
{
    for (uint64_t k = 0; k < t->elements; k++)
        put_number(t->type == SAFETENSORS_F16, numbers->f[k], (void *)(uintptr_t)t->data, k);
    op_tensor_free(numbers);
}

static enum emu_status add_state(struct train_chip *chip, uint32_t value, struct written *w)
{
    struct op_tensor numbers;

    TRY(add_tensor(&chip->g->value[value], train_chip_elem(chip, value) == ELEM_F16, w));
    TRY(train_chip_read(chip, value, &numbers));
    put_numbers(&w->tensor[w->n - 1], &numbers);
    return EMU_OK;
}

static enum emu_status add_states(struct train_chip *chip, int slots, struct written *w)
{
    const struct op_graph *g = chip->g;

    w->tensor = emu_alloc(2 * (size_t)g->inputs + MORE_TENSORS, sizeof(*w->tensor));
    if (!w->tensor)
        return FAIL(NO_MEMORY, "a checkpoint");
    for (uint32_t k = 0; k < g->inputs; k++) {
        if (g->value[g->input[k]].kind == OP_STATE &&
            (slots || !train_state_is_slot(g, g->input[k])))
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

/* Averages as f64: "superstep.average.NAME", and how often they were taken. */
static enum emu_status add_averages(const struct train_average *a, struct written *w)
{
    for (uint32_t k = 0; a->share > 0 && k < a->g->inputs; k++) {
        const struct op_tensor *m = &a->mean[k];
        struct safetensor t = { .type = SAFETENSORS_F64, .rank = m->shape.rank };

        if (!m->any)
            continue;
        t.elements = op_shape_count(&m->shape);
        t.bytes = t.elements * sizeof(*m->f);
        for (unsigned d = 0; d < t.rank; d++)
            t.shape[d] = m->shape.dim[d];
        t.name = a->name[k];
        TRY(add_copy(w, t, m->f));
    }
    return EMU_OK;
}

static enum emu_status collect(struct train_chip *chip, const struct train_progress *p,
                               const struct train_log *log, const struct train_average *a,
                               struct written *w)
{
    struct train_progress now = *p;

    now.averaged = a->taken;
    now.loss.good = chip->loss_scale.good;
    now.loss.bad = chip->loss_scale.bad;
    now.loss.skipped = chip->skipped;
    memcpy(&now.loss.scale_bits, &chip->loss_scale.now, sizeof(now.loss.scale_bits));
    TRY(add_states(chip, 1, w));
    TRY(add_averages(a, w));
    TRY(add_copy(w,
                 (struct safetensor){ .name = progress_name,
                                      .type = SAFETENSORS_U64,
                                      .rank = 1,
                                      .shape = { PROGRESS_NUMBERS },
                                      .elements = PROGRESS_NUMBERS,
                                      .bytes = PROGRESS_BYTES },
                 &now));
    if (p->options)
        TRY(add_copy(w,
                     (struct safetensor){ .name = options_name,
                                          .type = SAFETENSORS_U8,
                                          .rank = 1,
                                          .shape = { strlen(p->options) },
                                          .elements = strlen(p->options),
                                          .bytes = strlen(p->options) },
                     p->options));
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
                                       const struct train_log *log, const struct train_average *a,
                                       const char *path)
{
    struct written w = { 0 };
    struct output_file *out;
    enum emu_status s;

    TRY(output_open(path, &out));
    s = collect(chip, p, log, a, &w);
    if (s == EMU_OK)
        s = safetensors_write_to(w.tensor, w.n, out);
    written_free(&w);
    return output_end(out, s);
}

/* Averages in place of parameters and statistics. */
static void put_averages(const struct train_average *a, struct written *w)
{
    for (uint32_t k = 0, at = 0; a->taken && k < a->g->inputs; k++) {
        const struct op_tensor *m = &a->mean[k];

        for (uint64_t i = 0; m->any && i < w->tensor[at].elements; i++)
            put_number(w->tensor[at].type == SAFETENSORS_F16, m->f[i],
                       (void *)(uintptr_t)w->tensor[at].data, i);
        at += m->any != NULL;
    }
}

enum emu_status train_parameters_write(struct train_chip *chip, const struct train_average *a,
                                       struct output_file *out)
{
    struct written w = { 0 };
    enum emu_status s = add_states(chip, 0, &w);

    if (s == EMU_OK)
        put_averages(a, &w);
    if (s == EMU_OK)
        s = safetensors_write_to(w.tensor, w.n, out);
    written_free(&w);
    return s;
}

static enum emu_status add_gradients(struct train_chip *chip, struct written *w)
{
    w->tensor = emu_alloc(chip->g->inputs + 1, sizeof(*w->tensor));
    if (!w->tensor)
        return FAIL(NO_MEMORY, "gradients");
    for (uint32_t k = 0; k < chip->g->inputs; k++) {
        uint32_t parameter = chip->g->input[k];
        struct op_tensor numbers;

        if (!system_has_gradient(&chip->system, parameter))
            continue;
        TRY(add_tensor(&chip->g->value[parameter], 0, w));
        TRY(train_chip_gradient(chip, parameter, &numbers));
        put_numbers(&w->tensor[w->n - 1], &numbers);
    }
    return EMU_OK;
}

enum emu_status train_gradients_write(struct train_chip *chip, struct output_file *out)
{
    struct written w = { 0 };
    enum emu_status s =
        chip->scale > 0 ? add_gradients(chip, &w) : FAIL(USAGE, "--gradients: no step has run");

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
    int half = train_chip_elem(chip, value) == ELEM_F16;
    int same = t->type == (half ? SAFETENSORS_F16 : SAFETENSORS_F32) && t->rank == v->shape.rank;
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
    for (uint64_t k = 0; k < t->elements; k++)
        numbers.f[k] = get_number(half, t->data, k);
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

/* The first line of the options that was another one. Both end with lines that are whole. */
static enum emu_status refuse_options(const struct safetensors *f, const char *now,
                                      const char *path)
{
    const struct safetensor *t = find(f, options_name);
    const char *was = t ? t->data : NULL, *end = t ? was + t->bytes : NULL;

    while (was && now && was < end && *now) {
        const char *line = memchr(was, '\n', (size_t)(end - was));
        size_t length = line ? (size_t)(line - was) : (size_t)(end - was);
        size_t length_now = strcspn(now, "\n"), name = strcspn(now, "=");

        if (length != length_now || memcmp(was, now, length)) {
            if (length <= name || memcmp(was, now, name))
                break;
            return FAIL(USAGE,
                        "%s: %.*s was %.*s, is %.*s: a training goes on with the options that it "
                        "began with; only --epochs may differ, and what changes no result",
                        path, (int)name, now, (int)(length - name - 1), was + name + 1,
                        (int)(length_now - name - 1), now + name + 1);
        }
        was += length + 1;
        now += length_now + (now[length_now] != '\0');
    }
    return FAIL(USAGE, "%s was made with other options, or by another version of Superstep", path);
}

static enum emu_status read_progress(const struct safetensors *f, struct train_progress *p,
                                     const char *path)
{
    const struct safetensor *t = find(f, progress_name);
    struct train_progress was;
    double scale;

    if (!t || t->type != SAFETENSORS_U64 || t->bytes != PROGRESS_BYTES)
        return FAIL(BAD_FILE, "%s: no checkpoint of a training: it has no %s of %d U64", path,
                    progress_name, PROGRESS_NUMBERS);
    memcpy(&was, t->data, PROGRESS_BYTES);
    memcpy(&scale, &was.loss.scale_bits, sizeof(scale));
    if (!(scale > 0 && scale <= LOSS_SCALE_MAX))
        return FAIL(BAD_FILE, "%s: a damaged checkpoint: a loss scale of %g", path, scale);
    if (was.recipe != p->recipe || was.seed != p->seed || was.batch != p->batch)
        return refuse_options(f, p->options, path);
    was.options = p->options;
    *p = was;
    return EMU_OK;
}

static enum emu_status read_averages(const struct safetensors *f, struct train_average *a,
                                     const char *path)
{
    for (uint32_t k = 0; a->share > 0 && k < a->g->inputs; k++) {
        const struct safetensor *t;

        if (!a->mean[k].any)
            continue;
        t = find(f, a->name[k]);
        if (!t || t->type != SAFETENSORS_F64 || t->elements != op_shape_count(&a->mean[k].shape))
            return FAIL(BAD_FILE, "%s: there is no %s", path, a->name[k]);
        memcpy(a->mean[k].f, t->data, t->bytes);
    }
    return EMU_OK;
}

/* Whether a training of so many steps can have written the row. Losses may be no number. */
static int is_row(const struct train_row *r, uint64_t steps)
{
    enum { LOSS_MAX_EXPONENT = 130 /* sums of f32 have less */ };
    const double whole[] = { r->step, r->epoch, r->cycles, r->pictures };
    int good = (r->test == 0 || r->test == 1) && r->accuracy >= 0 && r->accuracy <= 1 &&
               isfinite(r->rate) && r->step <= (double)steps && r->step >= (r->test == 0);

    for (size_t k = 0; k < EMU_COUNT_OF(whole); k++)
        good &= whole[k] >= 0 && whole[k] <= 0x1p64 && whole[k] == floor(whole[k]);
    return good && (!isfinite(r->loss) || fabs(r->loss) <= ldexp(1, LOSS_MAX_EXPONENT));
}

/* Adds the rows of a file, which are one for each step and some of evaluations. */
static enum emu_status read_log(const struct safetensors *f, uint64_t steps, struct train_log *log,
                                const char *path)
{
    const struct safetensor *t = find(f, log_name);
    uint64_t of_steps = 0;

    if (!t || t->type != SAFETENSORS_F64 || t->rank != 2 || t->shape[1] != TRAIN_ROW_NUMBERS)
        return FAIL(BAD_FILE, "%s: no checkpoint of a training: it has no %s", path, log_name);
    log->rows = 0;
    for (uint64_t k = 0; k < t->shape[0]; k++) {
        struct train_row r;

        memcpy(&r, (const char *)t->data + k * sizeof(r), sizeof(r));
        if (!is_row(&r, steps))
            return FAIL(BAD_FILE, "%s: a damaged checkpoint: row %" PRIu64 " of %s", path, k,
                        log_name);
        of_steps += r.test == 0;
        TRY(train_log_add(log, &r));
    }
    return of_steps == steps
               ? EMU_OK
               : FAIL(BAD_FILE,
                      "%s: a damaged checkpoint: %s has %" PRIu64 " steps, %s says %" PRIu64, path,
                      log_name, of_steps, progress_name, steps);
}

/* Steps, and how the loss scale was reached. */
static void set_counts(struct train_chip *chip, const struct train_progress *p)
{
    chip->steps = p->steps;
    chip->skipped = p->loss.skipped;
    chip->loss_scale.good = p->loss.good;
    chip->loss_scale.bad = p->loss.bad;
    memcpy(&chip->loss_scale.now, &p->loss.scale_bits, sizeof(chip->loss_scale.now));
}

enum emu_status train_checkpoint_take(struct train_chip *chip, struct train_progress *p,
                                      struct train_log *log, struct train_average *a,
                                      const void *data, size_t bytes, const char *path)
{
    struct safetensors f = { 0 };
    enum emu_status s = safetensors_open(data, bytes, path, &f);

    if (s == EMU_OK)
        s = read_progress(&f, p, path);
    if (s == EMU_OK)
        s = read_log(&f, p->steps, log, path);
    if (s == EMU_OK)
        s = read_states(chip, &f, path);
    if (s == EMU_OK)
        s = read_averages(&f, a, path);
    if (s == EMU_OK) {
        a->taken = p->averaged;
        set_counts(chip, p);
    }
    safetensors_free(&f);
    return s;
}

enum emu_status train_checkpoint_read(struct train_chip *chip, struct train_progress *p,
                                      struct train_log *log, struct train_average *a,
                                      const char *path)
{
    uint8_t *data;
    size_t bytes;
    enum emu_status s = feed_file_bytes(path, BYTES_MAX, &data, &bytes);

    if (s != EMU_OK)
        return ss_fail(s, "%s: %s", path, ss_error());
    s = train_checkpoint_take(chip, p, log, a, data, bytes, path);
    ss_free(data);
    return s;
}
