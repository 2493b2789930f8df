/* stream_timeline.h - draws a part of a stream as text: a lane for the link, one for the IO tiles,
 * one for the compute tiles. */
#ifndef MODELS_STREAM_TIMELINE_H
#define MODELS_STREAM_TIMELINE_H

#include "models/stream/stream_run.h"

/* Draws some periods of the steady part. A batch is drawn as the last digit of its number, a join
 * as J, nothing as a dot. */
void stream_timeline(const struct stream_record *r, FILE *f);

#endif
