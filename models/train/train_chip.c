/* train_chip.c - steps of training executed on a chip: states stay there from step to step. */
#include "models/train/train_chip.h"

#include <math.h>
#include <string.h>

#include "emu/base/random.h"
#include "emu/job/run_image.h"

struct train_chip_options train_chip_usual(void)
{
    return (struct train_chip_options){
        .program.lower.real = ELEM_F16, .folder = "", .loss_scale = 128, .seed = 1
    };
}

/* Whether there is nothing to compile: the program was kept, or is known not to fit. */
static int find(struct system *s, const struct train_chip_options *o)
{
    uint64_t need;

    if (!o->kept_as)
        return 0;
    if (system_find_ready(s, o->kept_as, o->what, o->for_timing))
        return 1;
    need = system_known_need(s);
    if (need <= s->arch.mem_bytes)
        return 0;
    s->program.need_bytes = need;
    return 1;
}

enum emu_status train_chip_build(struct train_chip *t)
{
    TRY(system_build(&t->system));
    if (!system_fits(&t->system)) /* a failure only costs the next run some time */
        (void)!system_keep_need(&t->system);
    return EMU_OK;
}

enum emu_status train_chip_new(const struct arch *a, const struct op_graph *g,
                               const struct train_step *step, const struct train_chip_options *o,
                               struct train_chip *out)
{
    struct system_options with = { .program = o->program,
                                   .folder = o->folder,
                                   .progress = o->progress };
    struct lower_options *lower = &with.program.lower;

    *out = (struct train_chip){ .g = g,
                                .step = *step,
                                .batches = o->batches ? o->batches : 1,
                                .looks_ahead = lower->loop.link.tiles && !lower->watch,
                                .loss_scale = { .now = o->loss_scale, .dynamic = o->dynamic_scale },
                                .seed = o->seed };
    if (lower->watch)
        lower->loop = (struct lower_loop){ .pixels = lower->loop.pixels };
    else
        lower->loop.batches = out->batches;
    system_init(&out->system, a, g, &with);
    return find(&out->system, o) ? EMU_OK : train_chip_build(out);
}

void train_chip_end(struct train_chip *t)
{
    system_stop(&t->system);
    ss_free(t->stream);
    t->stream = NULL;
    t->results = 0;
    t->scale = 0;
    t->has_next = 0;
}

void train_chip_free(struct train_chip *t)
{
    train_chip_end(t);
    op_tensor_free(&t->loss);
    op_tensor_free(&t->scores);
    system_free(&t->system);
    memset(t, 0, sizeof(*t));
}

/* ---- states ---- */

enum elem train_chip_elem(const struct train_chip *t, uint32_t state)
{
    return system_elem(&t->system, state);
}

enum emu_status train_chip_write(struct train_chip *t, uint32_t state,
                                 const struct op_tensor *numbers)
{
    return system_write(&t->system, state, numbers);
}

enum emu_status train_chip_read(struct train_chip *t, uint32_t state, struct op_tensor *out)
{
    return system_read(&t->system, state, out);
}

static enum emu_status write_state(struct train_chip *t, uint32_t state)
{
    const struct op_value *v = &t->g->value[state];
    struct op_tensor numbers;
    enum emu_status s;

    TRY(v->data ? op_value_read(t->g, state, &numbers) : op_tensor_new(&v->shape, &numbers));
    s = train_chip_write(t, state, &numbers);
    op_tensor_free(&numbers);
    return s;
}

static enum emu_status write_states(struct train_chip *t)
{
    for (uint32_t k = 0; k < t->g->inputs; k++) {
        if (t->g->value[t->g->input[k]].kind == OP_STATE)
            TRY(write_state(t, t->g->input[k]));
    }
    return EMU_OK;
}

enum emu_status train_chip_begin(struct train_chip *t, const struct session_options *o)
{
    TRY(system_start(&t->system, o));
    if (ss_run_has_values(system_machine(&t->system)))
        TRY(write_states(t));
    return train_chip_connect(t);
}

/* ---- a step ---- */

void train_seed(uint64_t seed, enum train_draw what, uint64_t number, int64_t word[2])
{
    uint64_t words = hash_mix(hash_mix(seed + (uint64_t)what) + number);

    word[0] = (int64_t)(uint32_t)words;
    word[1] = (int64_t)(words >> 32);
}

static enum emu_status write_number(struct train_chip *t, uint32_t value, double number)
{
    const struct op_tensor one = { .shape = t->g->value[value].shape, .f = &number };

    return system_write(&t->system, value, &one);
}

static enum emu_status write_seed(struct train_chip *t, uint32_t value, enum train_draw what,
                                  uint64_t number)
{
    int64_t word[2];
    const struct op_tensor seed = { .shape = t->g->value[value].shape, .i = word };

    train_seed(t->seed, what, number, word);
    return system_write(&t->system, value, &seed);
}

/* The loss scale of the next step. */
static void adapt(struct loss_scale *s, int skipped)
{
    s->good = skipped ? 0 : s->good + 1;
    s->bad = skipped ? s->bad + 1 : 0;
    if (!s->dynamic)
        return;
    if (skipped) {
        s->now /= 2;
    } else if (s->good == LOSS_SCALE_GROWS) {
        s->now = fmin(2 * s->now, LOSS_SCALE_MAX);
        s->good = 0;
    }
}

/* Counts a step, and whether it has changed the states. */
static enum emu_status count_step(struct train_chip *t)
{
    double sum[2] = { 0, 0 };

    for (unsigned k = 0; k < EMU_COUNT_OF(sum); k++) {
        struct op_tensor one;

        if (t->step.sum[k] == OP_NONE)
            continue;
        TRY(system_read(&t->system, t->step.sum[k], &one));
        sum[k] = one.f[0];
        op_tensor_free(&one);
    }
    t->steps++;
    t->skipped += !train_sums_finite(sum);
    adapt(&t->loss_scale, !train_sums_finite(sum));
    return EMU_OK;
}

/* What all micro batches of a step have. */
static enum emu_status write_step(struct train_chip *t, double rate)
{
    t->scale = 1 / (t->loss_scale.now * t->batches);
    TRY(write_number(t, t->step.loss_scale, t->loss_scale.now));
    TRY(write_number(t, t->step.scale, t->scale));
    TRY(write_number(t, t->step.rate, rate));
    TRY(write_number(t, t->step.number, (double)(t->steps + 1 - t->skipped)));
    return write_seed(t, t->step.seed, ROUNDING, t->steps);
}

enum emu_status train_chip_step(struct train_chip *t, const struct op_tensor *data,
                                const struct op_tensor *targets, double rate, double *loss,
                                struct op_tensor *scores)
{
    struct op_tensor one;

    TRY(system_write(&t->system, t->step.data, data));
    TRY(system_write(&t->system, t->step.targets, targets));
    TRY(write_step(t, rate));
    if (t->step.masks != OP_NONE)
        TRY(write_seed(t, t->step.masks, MASKS, t->steps * t->batches + t->asked));
    TRY(system_run(&t->system));
    TRY(system_read(&t->system, t->step.loss, &one));
    *loss = one.f[0];
    op_tensor_free(&one);
    TRY(count_step(t));
    return scores ? system_read(&t->system, t->step.scores, scores) : EMU_OK;
}

/* A step of one batch. */
static enum emu_status update_once(struct train_chip *t, double rate)
{
    struct op_tensor scores;
    enum emu_status s;
    double loss;

    TRY(t->feed->next(t->feed->ctx, &t->data, &t->targets));
    t->dry = !t->data;
    if (t->dry)
        return EMU_OK;
    TRY(train_chip_step(t, t->data, t->targets, rate, &loss, &scores));
    s = t->feed->done(t->feed->ctx, loss, &scores);
    op_tensor_free(&scores);
    return s;
}

static enum emu_status update_by_streams(struct train_chip *t, double rate)
{
    if (t->looks_ahead)
        TRY(train_chip_first(t));
    if (t->dry)
        return EMU_OK;
    TRY(write_step(t, rate));
    TRY(system_run(&t->system));
    return t->dry ? EMU_OK : count_step(t);
}

enum emu_status train_chip_update(struct train_chip *t, const struct train_feed *feed, double rate,
                                  int *whole)
{
    enum emu_status s;

    t->feed = feed;
    t->asked = 0;
    t->parts = 0;
    t->dry = 0;
    s = train_chip_streams(t) ? update_by_streams(t, rate) : update_once(t, rate);
    t->feed = NULL;
    t->asked = 0;
    *whole = !t->dry;
    return s;
}

enum emu_status train_chip_gradient(struct train_chip *t, uint32_t parameter, struct op_tensor *out)
{
    TRY(system_read_gradient(&t->system, parameter, out));
    for (uint64_t k = 0; k < op_shape_count(&out->shape); k++)
        out->f[k] *= t->scale;
    return EMU_OK;
}

enum emu_status train_chip_time(struct train_chip *t)
{
    TRY(system_write_zeros(&t->system));
    t->steps++;
    return system_run(&t->system);
}

enum emu_status train_chip_image(struct train_chip *t, double rate)
{
    TRY(write_states(t));
    TRY(system_write_zeros(&t->system));
    if (t->looks_ahead)
        TRY(train_chip_first(t));
    return write_step(t, rate);
}

enum emu_status train_chip_scores(struct train_chip *t, const struct op_tensor *data,
                                  struct op_tensor *scores)
{
    TRY(system_write(&t->system, t->step.data, data));
    TRY(system_run(&t->system));
    return system_read(&t->system, t->step.scores, scores);
}

enum emu_status train_chip_copy_states(struct train_chip *from, struct train_chip *to)
{
    for (uint32_t k = 0; k < to->g->inputs; k++) {
        const struct op_value *v = &to->g->value[to->g->input[k]];
        struct op_tensor numbers;
        enum emu_status s;

        if (v->kind != OP_STATE)
            continue;
        TRY(train_chip_read(from, op_value_find(from->g, v->name), &numbers));
        s = train_chip_write(to, to->g->input[k], &numbers);
        op_tensor_free(&numbers);
        TRY(s);
    }
    return EMU_OK;
}
