/* network_choice.c - the options of a network. */
#include "models/ask/network_choice.h"
#include "models/ask/model_request.h"

#include <stdio.h>
#include <string.h>

/* The words of --share-blocks, in their order; a comparison of layers keeps results of groups,
 * which functions do not have one by one. */
static enum lower_sharing sharing_of(const struct request *q)
{
    static const enum lower_sharing words[] = { SHARE_AUTO, SHARE_NONE, SHARE_ALIKE };

    return model_request(q)->compare_layers ? SHARE_NONE : words[model_request(q)->share_blocks];
}

struct network_choice network_choice_of(const struct request *q)
{
    return (struct network_choice){
        .name = q->what,
        .net = { .batch = (uint32_t)model_request(q)->batch,
                 .resolution = (uint32_t)model_request(q)->resolution,
                 .classes = (uint32_t)model_request(q)->classes,
                 .torch_padding = model_request(q)->torch_padding || model_request(q)->padding,
                 .norm = model_request(q)->norm },
        .weights = model_request(q)->weights,
        .write_weights = model_request(q)->write_weights,
        .seed = request_has(q, OPTION_seed) ? model_request(q)->seed : 1,
        .uncalibrated = model_request(q)->no_calibration,
        .memory_proportion = model_request(q)->memory_proportion,
        .parameter_proportion = model_request(q)->parameter_memory,
        .depthwise = (enum conv_depthwise)model_request(q)->depthwise,
        .real = model_request(q)->precision ? ELEM_F32 : ELEM_F16,
        .f32_until = model_request(q)->f32_until,
        .partials = model_request(q)->partials ? PARTIALS_F32 : PARTIALS_F16,
        .share_blocks = sharing_of(q),
        .cache = model_request(q)->no_cache ? "" : q->cache,
        .notes = request_notes(q),
    };
}

struct lower_options network_lowering(const struct network_choice *c)
{
    return (struct lower_options){ .real = c->real,
                                   .memory_proportion = c->memory_proportion,
                                   .parameter_proportion = c->parameter_proportion,
                                   .depthwise = c->depthwise,
                                   .partials = c->partials,
                                   .share_blocks = c->share_blocks };
}

struct precision_text precision_text(const struct request *q)
{
    struct precision_text t;

    if (model_request(q)->f32_until)
        snprintf(t.at, sizeof(t.at), "f32 up to %.96s, then f16", model_request(q)->f32_until);
    else
        snprintf(t.at, sizeof(t.at), "%s", model_request(q)->precision ? "f32" : "f16");
    return t;
}

const char *network_find(const char *name)
{
    for (unsigned k = 0; net_name(k); k++) {
        if (!strcmp(net_name(k), name))
            return net_name(k);
    }
    return NULL;
}
