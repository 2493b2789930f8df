/* network_choice.c - the options of a network. */
#include "models/run/network_choice.h"

#include <string.h>

struct network_choice network_choice_of(const struct request *q)
{
    return (struct network_choice){
        .name = q->what,
        .net = { .batch = (uint32_t)q->batch,
                 .resolution = (uint32_t)q->resolution,
                 .classes = (uint32_t)q->classes,
                 .torch_padding = q->torch_padding || q->padding,
                 .norm = q->norm },
        .weights = q->weights,
        .write_weights = q->write_weights,
        .seed = request_has(q, OPTION_seed) ? q->seed : 1,
        .uncalibrated = q->no_calibration,
        .memory_proportion = q->memory_proportion,
        .parameter_proportion = q->parameter_memory,
        .depthwise = (enum conv_depthwise)q->depthwise,
        .real = q->precision ? ELEM_F32 : ELEM_F16,
        .partials = q->partials ? PARTIALS_F32 : PARTIALS_F16,
        .cache = q->no_cache ? "" : q->cache,
    };
}

struct lower_options network_lowering(const struct network_choice *c)
{
    return (struct lower_options){ .real = c->real,
                                   .memory_proportion = c->memory_proportion,
                                   .parameter_proportion = c->parameter_proportion,
                                   .depthwise = c->depthwise,
                                   .partials = c->partials };
}

const char *network_find(const char *name)
{
    for (unsigned k = 0; net_name(k); k++) {
        if (!strcmp(net_name(k), name))
            return net_name(k);
    }
    return NULL;
}
