/* model_dump.h - `--dump STAGE`: a network on its way to the chip, as text. */
#ifndef MODELS_MODEL_DUMP_H
#define MODELS_MODEL_DUMP_H

#include "emu/cli/request.h"

/* Prints the network of a request, by name or from a file, as it is after the stage
 * option_stage(q): one of pass_stage(), groups of nodes that run as one, plans of
 * convolutions, or the graph of tiles. Parameters of a network by name are blank unless a file has
 * them. EMU_USAGE lists the stages if there is no such one; else those of model_source_read(),
 * passes, and op_lower(). */
enum emu_status model_dump(const struct request *q) EMU_MUST_CHECK;

#endif
