/* cmd_stream.h - `superstep stream`: runs pictures from files through a network, and writes the
 * results into a file. */
#ifndef MODELS_CMD_STREAM_H
#define MODELS_CMD_STREAM_H

#include "emu/cli/commands.h"

int cmd_stream(const struct request *q);

#endif
