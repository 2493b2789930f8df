/* model_options.h - what `superstep run NETWORK` and `superstep compile NETWORK` were asked for. */
#ifndef MODELS_MODEL_OPTIONS_H
#define MODELS_MODEL_OPTIONS_H

#include "models/build/net_graph.h"

enum { MODEL_IMAGES_MAX = 64 };

struct model_request {
    const char *command, *name; /* "run" or "compile"; of the network */
    struct net_options net;
    struct machine_choice machine;
    struct run_choice choice; /* of the fields below */
    struct compile_options compile;
    struct session_options run;
    double memory_proportion, parameter_proportion;
    const char *image[MODEL_IMAGES_MAX]; /* in turn for the pictures of a batch */
    unsigned images;                     /* 0: those that come with Superstep */
    const char *weights, *write_weights, *logits, *output, *digests, *chart;
    uint64_t seed;
    int seeded; /* --seed was given */
    int uncalibrated;
    int plan, layers, compare, report, json, allow_oom; /* what is printed and done */
};

/* The network that the first name among the arguments means; NULL if there is none. */
const char *model_name_find(int argc, char **argv);

/* Fills q from the command line; complains and ends the program as argp does. 0: ok. */
int model_options_parse(int argc, char **argv, struct model_request *q);

#endif
