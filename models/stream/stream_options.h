/* stream_options.h - what `superstep stream` was asked for. */
#ifndef MODELS_STREAM_OPTIONS_H
#define MODELS_STREAM_OPTIONS_H

#include "models/run/model_options.h"
#include "models/stream/stream_run.h"

struct stream_request {
    struct model_request model; /* network, machine, weights, compilation, what is printed */
    struct stream_options stream;
    uint32_t host_mbytes_per_s; /* 0: the machine's */
    const char *output;         /* NULL: results are not kept */
    int resume;                 /* go on behind the results that output holds */
    const char *const *path;    /* of pictures; borrowed */
    size_t paths;               /* 0: those of Superstep */
    uint64_t limit;             /* pictures, at most; 0: all, 8 of those of Superstep */
    unsigned decoders, queue;   /* feed_options */
};

/* Fills q from the command line; complains and ends the program as argp does. 0: ok. */
int stream_options_parse(int argc, char **argv, struct stream_request *q);

#endif
