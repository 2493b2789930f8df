/* ss_training.c - steps of training for a program (see ss_training.h): `superstep train`,
 * called. */
#include "models/api/ss_training.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/cli/request_look.h"
#include "emu/job/run_image.h"
#include "models/api/called.h"
#include "models/ask/model_request.h"
#include "models/cli/commands_models.h"
#include "models/train/training.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(NUMBER, seed)
OPTION_READ(NUMBER, max_cycles)

struct ss_training {
    struct called called;
    struct training training;
    double rate;
    struct op_tensor scores; /* owned: of all pictures of the last step */
    const float *data;       /* borrowed while a step runs, like targets */
    uint32_t taken, done;    /* micro batches of it */
    const double *targets;
    double loss;
    uint64_t cycles;
    char engine[RUN_ENGINE_TEXT];
    uint32_t *state, states; /* owned: values of the graph that change */
};

static enum emu_status no_training(void)
{
    return FAIL(USAGE, "the training is NULL");
}

static const struct op_value *value_of(const struct ss_training *t, uint32_t value)
{
    return &t->training.chip.g->value[value];
}

/* ---- open ---- */

static enum emu_status list_states(struct ss_training *t)
{
    const struct op_graph *g = t->training.chip.g;

    t->state = emu_alloc(g->inputs + 1, sizeof(*t->state));
    if (!t->state)
        return FAIL(NO_MEMORY, "states");
    for (uint32_t k = 0; k < g->inputs; k++) {
        if (g->value[g->input[k]].kind == OP_STATE)
            t->state[t->states++] = g->input[k];
    }
    return EMU_OK;
}

static enum emu_status begin_machine(struct training *t)
{
    struct session_options o = session_options_of(t->q);

    if (!training_chip_fits(&t->chip))
        return called_unfit(system_need_bytes(&t->chip.system), &t->arch);
    TRY(train_chip_begin(&t->chip, &o));
    training_keep(t);
    return EMU_OK;
}

static enum emu_status open_step(struct ss_training *u, const struct request *q)
{
    struct training *t = &u->training;

    t->q = q;
    if (request_has(q, OPTION_max_cycles))
        return FAIL(USAGE, "--max-cycles does nothing here: the caller says when a step begins");
    TRY(request_arch(q, "mk2", &t->arch));
    TRY(training_read_options(t));
    t->at.seed = request_has(q, OPTION_seed) ? option_seed(q) : 1;
    t->progress = progress_begin(request_progress(q));
    TRY(training_open_network(t));
    training_set_options(t);
    TRY(training_compile(t));
    if (training_chip_fits(&t->chip))
        TRY(training_know_passes(t));
    TRY(begin_machine(t));
    u->rate = t->schedule.rate;
    return list_states(u);
}

/* The words, behind one that lets numbers come before each step. */
static enum emu_status begin_call(struct ss_training *t, const char *what, const char *const *words,
                                  size_t count, const struct ss_listener *l)
{
    static const char *const before[] = { "--io-tiles=0" };
    enum { BEFORE = EMU_COUNT_OF(before) };
    const char **all;
    enum emu_status s;

    if (!words && count)
        return FAIL(USAGE, "%zu words of a command are NULL", count);
    all = emu_alloc(count + BEFORE, sizeof(*all));
    if (!all)
        return FAIL(NO_MEMORY, "a command");
    all[0] = before[0];
    for (size_t i = 0; i < count; i++)
        all[BEFORE + i] = words[i];
    s = called_begin(&t->called, command_find(model_commands, "train"), what, all, count + BEFORE,
                     l);
    ss_free(all);
    return s;
}

enum emu_status ss_training_open(const char *what, const char *const *words, size_t count,
                                 const struct ss_listener *listener, struct ss_training **out)
{
    struct ss_training *t = emu_alloc(1, sizeof(*t));
    enum emu_status s;

    *out = NULL;
    if (!t)
        return FAIL(NO_MEMORY, "a training");
    s = begin_call(t, what, words, count, listener);
    if (s == EMU_OK)
        s = open_step(t, called_request(&t->called));
    if (s == EMU_OK)
        *out = t;
    else
        ss_training_close(t);
    return s;
}

void ss_training_close(struct ss_training *t)
{
    if (!t)
        return;
    training_free(&t->training);
    called_end(&t->called);
    op_tensor_free(&t->scores);
    ss_free(t->state);
    ss_free(t);
}

/* ---- what a step takes ---- */

/* A value of a micro batch, as all of a step have it. */
static struct ss_value of_step(const struct ss_training *t, uint32_t value, const char *meaning)
{
    struct ss_value v = called_value(t->training.chip.g, value, meaning);

    v.dim[0] *= t->training.chip.batches;
    v.count *= t->training.chip.batches;
    return v;
}

enum emu_status ss_training_data(const struct ss_training *t, struct ss_value *out)
{
    if (!t)
        return no_training();
    *out = of_step(t, t->training.chip.step.data,
                   t->training.link.pixels.elem == ELEM_U8 ? "pixels, 0 to 255"
                   : t->training.source.shape.channels     ? "pictures"
                                                           : "");
    return EMU_OK;
}

enum emu_status ss_training_targets(const struct ss_training *t, struct ss_value *out)
{
    if (!t)
        return no_training();
    *out = of_step(t, t->training.chip.step.targets, "shares of classes, 1 in all");
    return EMU_OK;
}

double ss_training_rate(const struct ss_training *t)
{
    return t ? t->rate : 0;
}

enum emu_status ss_training_set_rate(struct ss_training *t, double rate)
{
    if (!t)
        return no_training();
    if (!(rate >= 0 && isfinite(rate)))
        return FAIL(USAGE, "a rate of %g", rate);
    t->rate = rate;
    return EMU_OK;
}

/* ---- a step ---- */

/* The next micro batch. A step never asks for that of the next one: there is none yet. */
static enum emu_status next_batch(void *ctx, const struct op_tensor **data,
                                  const struct op_tensor **targets)
{
    struct ss_training *t = ctx;
    struct training *u = &t->training;
    uint64_t n = op_shape_count(&u->pictures.shape), m = op_shape_count(&u->targets.shape);
    int more = t->taken < u->chip.batches;

    for (uint64_t k = 0; more && k < n; k++)
        u->pictures.f[k] = (double)t->data[t->taken * n + k];
    for (uint64_t k = 0; more && k < m; k++)
        u->targets.f[k] = t->targets[t->taken * m + k];
    op_tensor_round(&u->pictures);
    t->taken += (uint32_t)more;
    *data = more ? &u->pictures : NULL;
    *targets = &u->targets;
    return EMU_OK;
}

static enum emu_status batch_done(void *ctx, double loss, const struct op_tensor *scores)
{
    struct ss_training *t = ctx;
    uint64_t n = op_shape_count(&scores->shape);

    t->loss += loss / t->training.chip.batches;
    memcpy(t->scores.f + t->done++ * n, scores->f, n * sizeof(*scores->f));
    return EMU_OK;
}

/* Room for what goes there and back, once. */
static enum emu_status make_room(struct ss_training *t)
{
    struct training *u = &t->training;
    const struct train_step *step = &u->chip.step;
    struct op_shape scores = value_of(t, step->scores)->shape;

    if (u->pictures.any)
        return EMU_OK;
    scores.dim[0] *= u->chip.batches;
    TRY(op_tensor_new(&value_of(t, step->targets)->shape, &u->targets));
    TRY(op_tensor_new(&scores, &t->scores));
    return op_tensor_new(&value_of(t, step->data)->shape, &u->pictures);
}

static enum emu_status step_with_values(struct ss_training *t)
{
    const struct train_feed feed = { t, next_batch, batch_done };
    int whole;

    TRY(make_room(t));
    t->taken = t->done = 0;
    t->loss = 0;
    return train_chip_update(&t->training.chip, &feed, t->rate, &whole);
}

static enum emu_status check_findings(struct training *t)
{
    return request_findings(t->q, system_machine(&t->chip.system), 0)
               ? FAIL(FAULT, "--check has findings, which a listener hears")
               : EMU_OK;
}

static enum emu_status step(struct ss_training *t, const float *data, const double *targets,
                            double *loss)
{
    struct training *u = &t->training;
    uint64_t before = ss_session_cycles(u->chip.system.session);

    t->data = data;
    t->targets = targets;
    t->loss = NAN;
    TRY(option_engine(u->q) ? train_chip_time(&u->chip) : step_with_values(t));
    t->cycles = ss_session_cycles(u->chip.system.session) - before;
    ss_run_engine_text(system_machine(&u->chip.system), t->engine);
    if (loss)
        *loss = t->loss;
    return check_findings(u);
}

static enum emu_status check_counts(const struct ss_training *t, size_t data, size_t targets)
{
    struct ss_value d, g;

    TRY(ss_training_data(t, &d));
    TRY(ss_training_targets(t, &g));
    if (option_engine(t->training.q))
        return EMU_OK;
    TRY(called_count(d.name, d.count, data));
    return called_count(g.name, g.count, targets);
}

enum emu_status ss_training_step(struct ss_training *t, const float *data, size_t count,
                                 const float *targets, size_t target_count, double *loss)
{
    enum emu_status s;
    double *wide;

    TRY(check_counts(t, count, target_count));
    wide = emu_alloc(target_count + 1, sizeof(*wide));
    if (!wide)
        return FAIL(NO_MEMORY, "targets");
    for (size_t k = 0; targets && k < target_count; k++)
        wide[k] = (double)targets[k];
    s = step(t, data, wide, loss);
    ss_free(wide);
    return s;
}

/* Targets of labels; *out is owned by the caller. */
static enum emu_status targets_of(const struct ss_training *t, const uint32_t *labels, size_t n,
                                  double **out)
{
    uint32_t classes = t->training.source.shape.classes;

    *out = emu_alloc(n * classes + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "targets");
    for (size_t k = 0; labels && k < n; k++) {
        if (labels[k] >= classes)
            return FAIL(USAGE, "label %zu is %u, of %u classes", k, labels[k], classes);
        label_targets(labels[k], classes, t->training.smoothing, *out + k * classes);
    }
    return EMU_OK;
}

enum emu_status ss_training_step_labels(struct ss_training *t, const float *data, size_t count,
                                        const uint32_t *labels, size_t label_count, double *loss)
{
    double *targets = NULL;
    enum emu_status s;

    if (!t)
        return no_training();
    TRY(check_counts(t, count, label_count * t->training.source.shape.classes));
    s = targets_of(t, labels, label_count, &targets);
    if (s == EMU_OK)
        s = step(t, data, targets, loss);
    ss_free(targets);
    return s;
}

enum emu_status ss_training_scores(const struct ss_training *t, float *scores, size_t count)
{
    if (!t)
        return no_training();
    if (!t->scores.any)
        return FAIL(USAGE, "scores: no step with values has run");
    TRY(called_count("scores", op_shape_count(&t->scores.shape), count));
    for (size_t k = 0; k < count; k++)
        scores[k] = (float)t->scores.f[k];
    return EMU_OK;
}

/* ---- what it cost ---- */

uint64_t ss_training_steps(const struct ss_training *t)
{
    return t ? t->training.chip.steps : 0;
}

uint64_t ss_training_skipped(const struct ss_training *t)
{
    return t ? t->training.chip.skipped : 0;
}

uint64_t ss_training_cycles(const struct ss_training *t)
{
    return t ? t->cycles : 0;
}

double ss_training_seconds(const struct ss_training *t)
{
    return t ? (double)t->cycles / ((double)t->training.arch.clock_mhz * 1e6) : 0;
}

const char *ss_training_engine(const struct ss_training *t)
{
    return t ? t->engine : "";
}

enum emu_status ss_training_memory(const struct ss_training *t, struct ss_memory *out)
{
    return t ? called_memory(&t->training.chip.system.memory, &t->training.arch, out)
             : no_training();
}

/* ---- parameters ---- */

uint32_t ss_training_parameters(const struct ss_training *t)
{
    return t ? t->states : 0;
}

enum emu_status ss_training_parameter(const struct ss_training *t, uint32_t i, struct ss_value *out)
{
    if (!t)
        return no_training();
    if (i >= t->states)
        return FAIL(USAGE, "parameter %u of %u", i, t->states);
    *out = called_value(t->training.chip.g, t->state[i],
                        train_state_is_slot(t->training.chip.g, t->state[i]) ? "of the optimiser"
                                                                             : "");
    return EMU_OK;
}

static enum emu_status find_state(const struct ss_training *t, const char *name, size_t count,
                                  uint32_t *value)
{
    uint32_t k;

    if (!t)
        return no_training();
    TRY(called_find(t->training.chip.g, t->state, t->states, "parameter", name, &k));
    *value = t->state[k];
    return called_count(name, op_shape_count(&value_of(t, *value)->shape), count);
}

enum emu_status ss_training_read(struct ss_training *t, const char *parameter, float *numbers,
                                 size_t count)
{
    struct op_tensor read;
    uint32_t value;

    TRY(find_state(t, parameter, count, &value));
    if (option_engine(t->training.q))
        return FAIL(USAGE, "%s: --engine timing has no values", parameter);
    TRY(train_chip_read(&t->training.chip, value, &read));
    for (size_t k = 0; k < count; k++)
        numbers[k] = (float)op_tensor_number(&read, k);
    op_tensor_free(&read);
    return EMU_OK;
}

enum emu_status ss_training_write(struct ss_training *t, const char *parameter,
                                  const float *numbers, size_t count)
{
    struct op_tensor written;
    enum emu_status s;
    uint32_t value;

    TRY(find_state(t, parameter, count, &value));
    TRY(op_tensor_new(&value_of(t, value)->shape, &written));
    for (size_t k = 0; k < count; k++)
        written.f[k] = (double)numbers[k];
    s = train_chip_write(&t->training.chip, value, &written);
    op_tensor_free(&written);
    return s;
}

enum emu_status ss_training_save(struct ss_training *t, const char *file)
{
    struct output_file *out;

    if (!t)
        return no_training();
    if (!file)
        return FAIL(USAGE, "the name of a file is NULL");
    if (option_engine(t->training.q))
        return FAIL(USAGE, "%s: --engine timing has no values", file);
    TRY(output_open(file, &out));
    return output_end(out, train_parameters_write(&t->training.chip, &t->training.average, out));
}
