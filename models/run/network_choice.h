/* network_choice.h - the options of a network, the same for every command that compiles one: its
 * shape, its parameters, the memory it may take.
 */
#ifndef MODELS_NETWORK_CHOICE_H
#define MODELS_NETWORK_CHOICE_H

#include <argp.h>

#include "models/build/net_graph.h"

struct network_choice {
    const char *name; /* of the network; the command's own parser sets it */
    struct net_options net;
    const char *weights, *write_weights; /* files; NULL: not given */
    uint64_t seed;                       /* of parameters when there are no weights */
    int seeded;                          /* --seed was given */
    int uncalibrated;
    double memory_proportion, parameter_proportion; /* of a tile; 0: not given */
};

/* A child parser: input is a struct network_choice, zeroed. */
extern const struct argp network_choice_argp;

/* The network that the first name among the arguments means; NULL if there is none. */
const char *network_name_find(int argc, char **argv);

#endif
