/* stream_report.h - the cycles and bytes of a stream of pictures, as text and as JSON. */
#ifndef MODELS_STREAM_REPORT_H
#define MODELS_STREAM_REPORT_H

#include <jansson.h>

#include "models/ask/network_choice.h"
#include "models/feed/feed.h"
#include "models/stream/stream_run.h"

/* What the report is about; borrowed. */
struct stream_answer {
    const struct stream_network *net;
    const struct arch *arch;
    const struct stream_options *options;
    const struct system_loop *loop;
    struct precision_text precision;
    const struct stream_record *record;
    const char *digest;       /* of all memory at the end */
    struct feed_counts files; /* JSON has these two, too */
    int interrupted;
};

void stream_report(const struct stream_answer *a, FILE *f);
json_t *stream_report_json(const struct stream_answer *a); /* new; NULL when out of memory */

#endif
