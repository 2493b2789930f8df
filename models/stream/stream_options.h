/* stream_options.h - what `superstep stream` was asked for. */
#ifndef MODELS_STREAM_OPTIONS_H
#define MODELS_STREAM_OPTIONS_H

#include "models/run/network_choice.h"
#include "models/stream/stream_run.h"

struct stream_request {
    struct network_choice network;
    struct machine_choice machine;
    struct run_choice choice; /* of stream and json */
    struct stream_options stream;
    int json;
    uint32_t host_mbytes_per_s; /* 0: the machine's */
    const char *output;         /* NULL: results are not kept */
    int resume;                 /* go on behind the results that output holds */
    const char *const *path;    /* of pictures; borrowed */
    size_t paths;               /* 0: those of Superstep */
    uint64_t limit; /* pictures, at most, resumed ones included; 0: all, 8 of those of Superstep */
    unsigned decoders, queue; /* feed_options */
};

/* Fills q from the command line; complains and ends the program as argp does. 0: ok. */
int stream_options_parse(int argc, char **argv, struct stream_request *q);

#endif
