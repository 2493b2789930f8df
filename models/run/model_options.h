/* model_options.h - what `superstep run NETWORK` and `superstep compile NETWORK` were asked for. */
#ifndef MODELS_MODEL_OPTIONS_H
#define MODELS_MODEL_OPTIONS_H

#include "models/run/network_choice.h"

enum { MODEL_IMAGES_MAX = 64 };

struct model_request {
    const char *command; /* "run" or "compile" */
    struct network_choice network;
    struct machine_choice machine;
    struct run_choice choice; /* of the fields below */
    struct compile_options compile;
    struct session_options run;
    const char *image[MODEL_IMAGES_MAX]; /* in turn for the pictures of a batch */
    unsigned images;                     /* 0: those that come with Superstep */
    const char *logits, *output, *digests, *chart;
    int plan, layers, compare, report, json, allow_oom; /* what is printed and done */
};

/* Fills q from the command line; complains and ends the program as argp does. 0: ok. */
int model_options_parse(int argc, char **argv, struct model_request *q);

#endif
