/* lower_batches.h - a network as a loop over batches (lower_options.loop); private to models/lower.
 * For a stream of pictures the program is the body alone; for a step of training it is
 *
 *     gradients and running statistics to begin with
 *     repeat: pictures, targets, seeds of masks from the host; forward; backward, whose gradients
 *             are added to those that are there; loss and scores to the host
 *     update
 *
 * If there are IO tiles, they fetch the next batch and send results on while the other tiles
 * compute, in training even if a step has only one batch (ss_op_prefetch()).
 *
 * What changes with every micro batch is never the state itself, so a step whose gradients are no
 * numbers leaves all states as they were.
 */
#ifndef MODELS_LOWER_BATCHES_H
#define MODELS_LOWER_BATCHES_H

#include "models/lower/lowering.h"

/* Whether gradients of several micro batches add up. */
static inline int lower_has_batches(const struct lowering *l)
{
    return l->options->loop.batches > 1;
}
/* Whether inputs come by streams. */
static inline int lower_has_streams(const struct lowering *l)
{
    return lower_has_batches(l) || l->options->loop.is_open || l->options->loop.link.tiles;
}

/* Whether the host sends an input for every batch: one that has dimensions, is no state, and
 * is read by no update. 0 for all if they are written before a run. */
int lower_is_of_batch(const struct lowering *l, uint32_t value);
/* Adds what brings an input into raw, on compute tiles: the host writes it before a run, or it
 * comes with every batch, at the place `first` of the program. Elements are in the order of raw. */
void lower_arrive(struct lowering *l, struct lowered_value *in, struct tensor raw,
                  struct program first);
/* Whether a value that an output is of goes to the host with every batch. */
int lower_leaves(const struct lowering *l, uint32_t output);
/* Sends it there. */
void lower_stream_out(struct lowering *l, struct tensor t, struct lowered_value *out);

/* Begins the loop, once all inputs but those of batches have their places: what is added to
 * l->seq from here on is repeated, what is added to l->after follows. Without a loop both are one
 * sequence. EMU_NO_MEMORY. */
enum emu_status lower_batches_begin(struct lowering *l) EMU_MUST_CHECK;
/* Ends it: what is added to l->seq from here on follows. */
void lower_batches_end(struct lowering *l);
/* Makes one program of all, l->seq. Errors: those of ss_op_prefetch(). */
enum emu_status lower_batches_close(struct lowering *l) EMU_MUST_CHECK;
/* Copies the running statistics of a loop to their states. */
void lower_keep_statistics(struct lowering *l, struct program seq);

#endif
