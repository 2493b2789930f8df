/* train_evaluate.c - scores of all pictures, and what they say. */
#include "models/train/train_evaluate.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"

uint32_t scores_best(const struct op_tensor *scores, uint32_t k)
{
    uint32_t classes = scores->shape.dim[1], best = 0;
    const double *row = scores->f + (size_t)k * classes;

    for (uint32_t c = 1; c < classes; c++)
        best = row[c] > row[best] ? c : best;
    return best;
}

/* The loss of row k. */
static double loss_of(const struct op_tensor *scores, uint32_t k, uint32_t label)
{
    uint32_t classes = scores->shape.dim[1];
    const double *row = scores->f + (size_t)k * classes;
    double most = row[0], sum = 0;

    for (uint32_t c = 1; c < classes; c++)
        most = fmax(most, row[c]);
    for (uint32_t c = 0; c < classes; c++)
        sum += exp(row[c] - most);
    return log(sum) + most - row[label];
}

/* Room for a batch. */
struct batch_room {
    struct op_tensor pictures, targets;
    uint32_t *label; /* owned */
};

static enum emu_status room_init(struct batch_room *r, const struct train_chip *chip)
{
    const struct op_value *v = chip->g->value;
    const struct op_shape *scores = &v[chip->step.scores].shape;
    const struct op_shape targets = { OP_TYPE_F32, 2, { scores->dim[0], scores->dim[1] } };

    memset(r, 0, sizeof(*r));
    TRY(op_tensor_new(&v[chip->step.data].shape, &r->pictures));
    TRY(op_tensor_new(&targets, &r->targets));
    r->label = emu_alloc(scores->dim[0], sizeof(*r->label));
    return r->label ? EMU_OK : FAIL(NO_MEMORY, "labels");
}

static void room_free(struct batch_room *r)
{
    op_tensor_free(&r->pictures);
    op_tensor_free(&r->targets);
    ss_free(r->label);
}

static enum emu_status score_batch(struct train_chip *chip, const struct batch_room *r,
                                   uint32_t count, struct evaluation *out)
{
    uint64_t before = ss_session_cycles(chip->system.session);
    struct op_tensor scores;

    TRY(train_chip_scores(chip, &r->pictures, &scores));
    out->cycles += ss_session_cycles(chip->system.session) - before;
    out->batches++;
    out->pictures += count;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t best = scores_best(&scores, k);

        out->right += best == r->label[k];
        out->loss += loss_of(&scores, k, r->label[k]);
        out->taken[(size_t)r->label[k] * out->classes + best]++;
    }
    op_tensor_free(&scores);
    return EMU_OK;
}

static enum emu_status score_all(struct train_chip *chip, struct batches *b,
                                 struct progress_meter *meter, int (*stop)(void),
                                 struct batch_room *r, struct evaluation *out)
{
    uint32_t count;

    batches_begin(b, 0, 0);
    while (!stop || !stop()) {
        TRY(batches_next(b, &r->pictures, &r->targets, r->label, &count));
        if (!count)
            break;
        TRY(score_batch(chip, r, count, out));
        if (meter)
            progress_meter_add(meter, count);
    }
    return EMU_OK;
}

enum emu_status train_evaluate(struct train_chip *chip, struct batches *b,
                               struct progress_meter *meter, int (*stop)(void),
                               struct evaluation *out)
{
    struct batch_room room;
    enum emu_status s;

    *out = (struct evaluation){ .classes = chip->g->value[chip->step.scores].shape.dim[1] };
    out->taken = emu_alloc((size_t)out->classes * out->classes, sizeof(*out->taken));
    if (!out->taken)
        return FAIL(NO_MEMORY, "%u classes", out->classes);
    s = room_init(&room, chip);
    if (s == EMU_OK)
        s = score_all(chip, b, meter, stop, &room, out);
    room_free(&room);
    if (out->pictures)
        out->loss /= (double)out->pictures;
    return s;
}

void evaluation_free(struct evaluation *e)
{
    ss_free(e->taken);
    *e = (struct evaluation){ .taken = NULL };
}

double evaluation_accuracy(const struct evaluation *e)
{
    return e->pictures ? (double)e->right / (double)e->pictures : 0;
}
