/* stream_options.h - the options of a stream from those of the command line. */
#ifndef MODELS_STREAM_OPTIONS_H
#define MODELS_STREAM_OPTIONS_H

#include "models/ask/network_choice.h"
#include "models/stream/stream_run.h"

struct stream_options stream_options_of(const struct request *q);

#endif
