/* network_choice.h - which network a request means: its name and shape, its parameters, the memory
 * it may take. The same for every command that compiles a network.
 */
#ifndef MODELS_NETWORK_CHOICE_H
#define MODELS_NETWORK_CHOICE_H

#include <stdio.h>

#include "models/lower/op_lower.h"
#include "models/net/net.h"

struct request;

struct network_choice {
    const char *name;
    struct net_options net;
    const char *weights, *write_weights;            /* files; NULL: not given */
    uint64_t seed;                                  /* of the parameters, if no file has them */
    int uncalibrated;                               /* 1: drawn parameters are not calibrated */
    int blank;                                      /* 1: parameters are not drawn, but stay zero */
    double memory_proportion, parameter_proportion; /* as in struct lower_options */
    enum conv_depthwise depthwise;
    enum elem real;        /* of floats: ELEM_F16 or ELEM_F32 */
    const char *f32_until; /* those of all nodes up to this one are f32; NULL: as real says */
    enum conv_partials partials;
    enum lower_sharing share_blocks;
    FILE *notes;       /* borrowed: of the request; NULL: nothing is said */
    const char *cache; /* folder of what is kept between runs; NULL: the user's, "": none */
};

/* The choice in a request; texts are borrowed from it. */
struct network_choice network_choice_of(const struct request *q);

/* How it is lowered, as far as that does not depend on the command. */
struct lower_options network_lowering(const struct network_choice *c);

/* The types of its numbers: "f16", "f32 up to stem, then f16". */
struct precision_text {
    char at[128];
};
struct precision_text precision_text(const struct request *q);

/* The name as net_name() spells it; NULL if no network has it. */
const char *network_find(const char *name);

#endif
