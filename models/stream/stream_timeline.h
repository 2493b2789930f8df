/* stream_timeline.h - a stretch of a stream as text: a lane for the link, one for the IO tiles, one
 * for the compute tiles. */
#ifndef MODELS_STREAM_TIMELINE_H
#define MODELS_STREAM_TIMELINE_H

#include "models/stream/stream_run.h"

/* Some periods in the steady part. Batches are their last digit, joins are J, nothing is a dot. */
void stream_timeline(const struct stream_record *r, FILE *f);

#endif
