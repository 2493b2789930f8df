/* lower_stage.h - a network of which this chip computes one stage (lower_options.stage): what comes
 * from other chips, and what goes to them; private to models/lower.
 *
 * All chips run the network once, one after the other. Between two stages all of them meet, and
 * everything that the stage before has made for others travels (ss_program_exchange_chips()):
 *
 *     stage 0:  compute  x0                        x1
 *     stage 1:           x0  buffers  compute      x1
 *     stage 2:           x0                        x1  buffers  compute
 *
 * An edge lies in a buffer at each end, dealt over the compute tiles in the order of its elements.
 * Both ends deal by the same rule, so a tile sends to the tile with its own number. The reader's
 * end says which type travels.
 */
#ifndef MODELS_LOWER_STAGE_H
#define MODELS_LOWER_STAGE_H

#include "models/lower/lowering.h"

/* Whether an input comes from another stage. */
int lower_comes_from_stage(const struct lowering *l, uint32_t value);
/* Whether an output goes to another one. */
int lower_goes_to_stage(const struct lowering *l, uint32_t value);

/* Before the inputs of this stage are placed: the chip waits for the stages before it. */
void lower_stage_begin(struct lowering *l);
/* An input that comes from another stage arrives in raw, on compute tiles, in its order. */
void lower_stage_arrive(struct lowering *l, struct lowered_value *in, struct tensor raw);
/* Behind the outputs: sends them, and lets the stages behind meet. EMU_NO_MEMORY. */
enum emu_status lower_stage_end(struct lowering *l) EMU_MUST_CHECK;

#endif
