/* batches.h - a data set as batches for training or evaluation, in an order that a seed draws: the
 * same whatever the number of threads, and wherever it is entered.
 *
 * A picture that cannot be read is remembered and passed over: the next one in order takes its
 * place, so batches are always full and labels always right.
 */
#ifndef MODELS_BATCHES_H
#define MODELS_BATCHES_H

#include "models/data/augment.h"
#include "models/data/dataset.h"
#include "models/graph/op_tensor.h"

struct batch_options {
    uint32_t batch;               /* samples of a batch */
    struct picture_recipe recipe; /* of the pictures; bytes: the chip normalises them */
    enum augment augment;         /* of training, behind the recipe; AUGMENT_CROP takes its place */
    uint64_t seed;
    int shuffle;      /* it is training */
    double smoothing; /* of labels: this share is divided among all classes */
    uint32_t classes; /* of the network: at least the data set's */
};

struct batches {
    struct dataset *data; /* borrowed */
    struct batch_options o;
    uint32_t *order;      /* owned; samples as they come in this epoch */
    uint8_t *bad;         /* owned; by sample: 1: it cannot be read */
    uint64_t epoch, next; /* place in the order */
    uint64_t bads;
};

/* A row of targets, which adds up to 1: 1 for one class, or, with smoothing (below 1), that share
 * of it divided among all classes. to: [classes]. */
void label_targets(uint32_t label, uint32_t classes, double smoothing, double *to);

/* Errors: EMU_USAGE: the network has fewer classes than the data; EMU_NO_MEMORY. */
enum emu_status batches_new(struct dataset *d, const struct batch_options *o,
                            struct batches *out) EMU_MUST_CHECK;
void batches_free(struct batches *b);
/* Begins epoch `epoch` (from 0), behind its first `skip` samples in order. */
void batches_begin(struct batches *b, uint64_t epoch, uint64_t skip);

/* The next batch: data [batch][channels][height][width], flat, or as many elements in another
 * shape; targets [batch][classes], each row adding up to 1; labels [batch] (NULL: not wanted).
 * *count: samples that are new; 0: the epoch is at its end. Training gets whole batches only; of
 * evaluation the last one is filled up with its first sample. Errors: EMU_NO_MEMORY. EMU_BAD_FILE
 * when no picture at all can be read. */
enum emu_status batches_next(struct batches *b, struct op_tensor *data, struct op_tensor *targets,
                             uint32_t *labels, uint32_t *count) EMU_MUST_CHECK;

#endif
