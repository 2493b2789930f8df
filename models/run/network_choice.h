/* network_choice.h - which network a request is about, the same for every command that compiles
 * one: its shape, its parameters, the memory it may take.
 */
#ifndef MODELS_NETWORK_CHOICE_H
#define MODELS_NETWORK_CHOICE_H

#include "emu/cli/request.h"
#include "models/build/net_graph.h"

struct network_choice {
    const char *name;
    struct net_options net;
    const char *weights, *write_weights; /* files; NULL: not given */
    uint64_t seed;                       /* of parameters when there are no weights */
    int uncalibrated;
    double memory_proportion, parameter_proportion; /* of a tile; 0: not given */
};

/* The choice of a request; texts are borrowed. */
struct network_choice network_choice_of(const struct request *q);

/* The network of that name, as net_name() spells it; NULL: there is none. */
const char *network_find(const char *name);

#endif
