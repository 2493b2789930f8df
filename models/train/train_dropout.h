/* train_dropout.h - what a training leaves out at random: dropout and stochastic depth.
 */
#ifndef MODELS_TRAIN_DROPOUT_H
#define MODELS_TRAIN_DROPOUT_H

#include "models/graph/op_graph.h"

/* Shares, 0 to below 1. */
struct train_dropout {
    double dropout; /* of the numbers that the last layer reads, in addition to Dropout nodes */
    /* Of pictures, of the last residual branch; branch l of n blocks (from 0 on) has l / n of it:
     * its result is 0 for a picture that is left out, and larger by what is left out for others. */
    double drop_connect;
};

/* Puts masks into a network with one input, of pictures: DropoutMask and Mul, for Dropout nodes
 * with their ratio, too. What they draw depends on a new input, "masks", u32 [2]; *masks is OP_NONE
 * if there is nothing to leave out. scores: of the network. EMU_USAGE: there are no residual
 * branches, EMU_NO_MEMORY. */
enum emu_status train_dropout_add(struct op_graph *g, const struct train_dropout *o,
                                  uint32_t scores, uint32_t *masks) EMU_MUST_CHECK;

#endif
