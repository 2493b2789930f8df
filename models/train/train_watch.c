/* train_watch.c - executes a step again and looks at every result. */
#include "models/train/train_watch.h"

#include <math.h>

/* The first sum that is no number. */
static enum emu_status find_first(const struct train_chip *w, char where[256])
{
    const struct lowered_network *n = w->system.program.network;

    for (uint32_t k = 0; k < n->watches; k++) {
        float sum;

        TRY(ss_session_read(w->system.session, n->watched[k].sum, &sum));
        if (isfinite(sum))
            continue;
        snprintf(where, 256, "%s (%s)", n->watched[k].node, isnan(sum) ? "NaN" : "infinity");
        break;
    }
    return EMU_OK;
}

/* Copies everything on which the step's results depend. */
static enum emu_status set_as(struct train_chip *from, struct train_chip *to)
{
    to->seed = from->seed;
    to->steps = from->steps - 1;
    to->skipped = from->skipped - (from->loss_scale.bad > 0);
    to->loss_scale = from->loss_scale;
    to->loss_scale.now *= from->loss_scale.dynamic && from->loss_scale.bad ? 2 : 1;
    return train_chip_copy_states(from, to);
}

/* Runs the micro batches of the step, each alone, up to the one in which something is no number. */
static enum emu_status run_batches(struct train_chip *w, const struct train_feed *feed, double rate,
                                   char where[256])
{
    for (w->asked = 0; w->asked < w->batches && !where[0]; w->asked++) {
        const struct op_tensor *data, *targets;
        double loss;

        TRY(feed->next(feed->ctx, &data, &targets));
        if (!data)
            break;
        TRY(train_chip_step(w, data, targets, w->batches > 1 ? 0 : rate, &loss, NULL));
        w->steps--; /* the same one again */
        TRY(find_first(w, where));
    }
    return EMU_OK;
}

enum emu_status train_watch(const struct arch *a, struct train_chip *chip,
                            const struct train_chip_options *o, const struct session_options *so,
                            const struct train_feed *feed, double rate, char where[256])
{
    struct train_chip_options with = *o;
    struct train_chip w;
    enum emu_status s;

    where[0] = '\0';
    with.kept_as = NULL; /* sums are read where the compiler says that they are */
    with.program.lower.watch = 1;
    with.program.lower.share_blocks = SHARE_NONE; /* every group has sums of its own */
    s = train_chip_new(a, chip->g, &chip->step, &with, &w);
    if (s == EMU_OK && system_fits(&w.system)) {
        s = train_chip_begin(&w, so);
        if (s == EMU_OK)
            s = set_as(chip, &w);
        if (s == EMU_OK)
            s = run_batches(&w, feed, rate, where);
    }
    train_chip_free(&w);
    return s;
}
