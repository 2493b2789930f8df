/* train_loop.c - epochs, steps, evaluations, checkpoints. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "emu/base/alloc.h"
#include "emu/cli/interrupt.h"
#include "models/ask/model_request.h"
#include "programs/cli/program_request.h"
#include "models/train/train_evaluate.h"
#include "models/train/train_watch.h"
#include "models/train/training.h"

/* What is read of the command line. */
OPTION_READ(TEXT, checkpoint)
OPTION_READ(NUMBER, every)
OPTION_READ(NUMBER, max_cycles)

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How many of the first `count` rows of scores are largest at their label. */
static uint32_t count_right(const struct op_tensor *scores, const uint32_t *label, uint32_t count)
{
    uint32_t right = 0;

    for (uint32_t k = 0; k < count; k++)
        right += scores_best(scores, k) == label[k];
    return right;
}

/* All test pictures with the parameters of now. */
static enum emu_status evaluate(struct training *t)
{
    struct evaluation e;
    enum emu_status s;

    if (!t->test_data)
        return EMU_OK;
    TRY(train_chip_copy_states(&t->chip, &t->test_chip));
    if (t->average.taken)
        TRY(train_average_give(&t->average, &t->test_chip));
    s = train_evaluate(&t->test_chip, &t->test_batches, NULL, NULL, &e);
    if (s == EMU_OK) {
        const struct train_row r = { .step = (double)t->at.steps,
                                     .epoch = (double)t->at.epoch,
                                     .test = 1,
                                     .loss = e.loss,
                                     .accuracy = evaluation_accuracy(&e),
                                     .pictures = (double)e.pictures,
                                     .cycles = (double)e.cycles };

        s = train_log_add(&t->log, &r);
    }
    evaluation_free(&e);
    return s;
}

/* ---- steps ---- */

/* The micro batches of a step, as they come. */
struct step_feed {
    struct training *t;
    struct train_row *row;
    uint32_t asked; /* of them; then comes the first of the next step */
};

static uint64_t pictures_of_step(const struct training *t)
{
    return (uint64_t)t->chip.batches * t->source.shape.batch;
}

static enum emu_status next_batch(void *ctx, const struct op_tensor **data,
                                  const struct op_tensor **targets)
{
    struct step_feed *f = ctx;
    struct training *t = f->t;
    struct micro_batch *m = &t->way[t->taken % UNDER_WAY];
    uint32_t count = 0;

    if (f->asked++ < t->chip.batches || t->data->samples - t->batches.next >= pictures_of_step(t))
        TRY(batches_next(&t->batches, &t->pictures, &t->targets, m->label, &count));
    m->samples = t->batches.next;
    t->taken += count != 0;
    *data = count ? &t->pictures : NULL;
    *targets = &t->targets;
    return EMU_OK;
}

static enum emu_status batch_done(void *ctx, double loss, const struct op_tensor *scores)
{
    struct step_feed *f = ctx;
    struct training *t = f->t;
    uint32_t count = t->source.shape.batch;

    f->row->loss += loss / t->chip.batches;
    f->row->accuracy += count_right(scores, t->way[t->done++ % UNDER_WAY].label, count);
    f->row->pictures += count;
    return EMU_OK;
}

/* Decides what follows from a step with NaN or infinity. samples: of the epoch, before the step. */
static enum emu_status overflowed(struct training *t, const struct train_row *r, uint64_t samples)
{
    enum { IN_A_ROW = 50 };
    struct session_options so = session_options_of(t->q);
    struct step_feed again = { .t = t };
    const struct train_feed feed = { &again, next_batch, NULL };
    char where[256];

    if (t->skips && t->chip.loss_scale.bad < IN_A_ROW)
        return EMU_OK;
    batches_begin(&t->batches, t->at.epoch, samples);
    so.max_cycles = 0;
    TRY(train_watch(&t->arch, &t->chip, &t->chip_options, &so, &feed, r->rate, where));
    return FAIL(FAULT,
                "step %" PRIu64 "%s: %s no number%s%s; parameters are those of the step before: a "
                "smaller --rate, another --loss-scale (%g), or --on-overflow skip",
                t->at.steps, t->skips ? ", the last of 50 in a row that were skipped" : "",
                isfinite(r->loss) ? "a gradient is" : "the loss is", *where ? ", first in " : "",
                where, t->chip.loss_scale.now);
}

static void meter_begin(struct training *t)
{
    progress_meter_begin(&t->meter, t->progress.f, "execute", "supersteps", t->supersteps);
}

/* One step: all of its micro batches. *done 0: the epoch has no more pictures for it. */
static enum emu_status one_step(struct training *t, int *done)
{
    struct train_row r = { .step = (double)t->at.steps + 1,
                           .epoch = (double)t->at.epoch + 1,
                           .rate = train_rate(&t->schedule, t->at.steps) };
    struct step_feed f = { .t = t, .row = &r, .asked = (uint32_t)t->chip.has_next };
    const struct train_feed feed = { &f, next_batch, batch_done };
    uint64_t before = ss_session_cycles(t->chip.system.session), skipped = t->chip.skipped;
    uint64_t samples = t->at.samples;
    double begun = seconds();
    enum emu_status s;

    *done = 0;
    if (t->data->samples - samples < pictures_of_step(t))
        return EMU_OK;
    meter_begin(t);
    s = train_chip_update(&t->chip, &feed, r.rate, done);
    progress_meter_end(&t->meter);
    TRY(s);
    if (!*done) {
        t->done = t->taken;
        return EMU_OK;
    }
    r.accuracy /= r.pictures;
    r.cycles = (double)(ss_session_cycles(t->chip.system.session) - before);
    t->host_seconds += seconds() - begun;
    t->steps_run++;
    t->at.steps++;
    t->at.samples = t->way[(t->done - 1) % UNDER_WAY].samples;
    TRY(train_log_add(&t->log, &r));
    return t->chip.skipped > skipped || !isfinite(r.loss) ? overflowed(t, &r, samples) : EMU_OK;
}

static enum emu_status checkpoint(struct training *t)
{
    return option_checkpoint(t->q) ? train_checkpoint_write(&t->chip, &t->at, &t->log, &t->average,
                                                            option_checkpoint(t->q))
                                   : EMU_OK;
}

int training_is_out_of_cycles(const struct training *t)
{
    return option_max_cycles(t->q) &&
           ss_session_cycles(t->chip.system.session) >= option_max_cycles(t->q);
}

static int is_at_end(struct training *t)
{
    t->stopped = interrupt_came() || t->at.steps >= t->steps_max || training_is_out_of_cycles(t);
    return t->stopped;
}

/* Steps to the end of the epoch, or until the training is stopped. */
static enum emu_status rest_of_epoch(struct training *t)
{
    uint64_t every = option_every(t->q);
    int done;

    while (!is_at_end(t)) {
        TRY(one_step(t, &done));
        if (!done)
            break;
        training_tell_step(t);
        if (every && t->at.steps % every == 0)
            TRY(checkpoint(t));
    }
    return EMU_OK;
}

enum emu_status training_run(struct training *t)
{
    while (t->at.epoch < t->epochs && !is_at_end(t)) {
        batches_begin(&t->batches, t->at.epoch, t->at.samples);
        TRY(rest_of_epoch(t));
        if (t->stopped)
            break;
        t->at.epoch++;
        t->at.samples = 0;
        if (t->average.share > 0)
            TRY(train_average_take(&t->average, &t->chip));
        TRY(evaluate(t));
        training_tell_epoch(t, (double)t->at.epoch);
        if (!option_every(t->q))
            TRY(checkpoint(t));
    }
    return checkpoint(t);
}

enum emu_status training_time(struct training *t)
{
    double begun = seconds();
    enum emu_status s;

    meter_begin(t);
    s = train_chip_time(&t->chip);
    progress_meter_end(&t->meter);
    TRY(s);
    t->host_seconds = seconds() - begun;
    t->steps_run = 1;
    return EMU_OK;
}
