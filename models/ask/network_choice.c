/* network_choice.c - the options of a network. */
#include "models/ask/network_choice.h"
#include "models/ask/model_request.h"

#include <stdio.h>
#include <string.h>

/* What is read of the command line. */
OPTION_READ(TEXT, cache)
OPTION_READ(NUMBER, batch)
OPTION_READ(NUMBER, resolution)
OPTION_READ(NUMBER, classes)
OPTION_READ(FLAG, torch_padding)
OPTION_READ(WORD, padding)
OPTION_READ(TEXT, norm)
OPTION_READ(TEXT, weights)
OPTION_READ(NUMBER, seed)
OPTION_READ(FLAG, no_calibration)
OPTION_READ(TEXT, write_weights)
OPTION_READ(PART, memory_proportion)
OPTION_READ(PART, parameter_memory)
OPTION_READ(WORD, depthwise)
OPTION_READ(FLAG, no_cache)
OPTION_READ(WORD, precision)
OPTION_READ(TEXT, f32_until)
OPTION_READ(WORD, partials)
OPTION_READ(FLAG, compare_layers)
OPTION_READ(WORD, share_blocks)

/* The words of --share-blocks, in their order; a comparison of layers keeps results of groups,
 * which functions do not have one by one. */
static enum lower_sharing sharing_of(const struct request *q)
{
    static const enum lower_sharing words[] = { SHARE_AUTO, SHARE_NONE, SHARE_ALIKE };

    return option_compare_layers(q) ? SHARE_NONE : words[option_share_blocks(q)];
}

struct network_choice network_choice_of(const struct request *q)
{
    return (struct network_choice){
        .name = q->what,
        .net = { .batch = (uint32_t)option_batch(q),
                 .resolution = (uint32_t)option_resolution(q),
                 .classes = (uint32_t)option_classes(q),
                 .torch_padding = option_torch_padding(q) || option_padding(q),
                 .norm = option_norm(q) },
        .weights = option_weights(q),
        .write_weights = option_write_weights(q),
        .seed = request_has(q, OPTION_seed) ? option_seed(q) : 1,
        .uncalibrated = option_no_calibration(q),
        .memory_proportion = option_memory_proportion(q),
        .parameter_proportion = option_parameter_memory(q),
        .depthwise = (enum conv_depthwise)option_depthwise(q),
        .real = option_precision(q) ? ELEM_F32 : ELEM_F16,
        .f32_until = option_f32_until(q),
        .partials = option_partials(q) ? PARTIALS_F32 : PARTIALS_F16,
        .share_blocks = sharing_of(q),
        .cache = option_no_cache(q) ? "" : option_cache(q),
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

    if (option_f32_until(q))
        snprintf(t.at, sizeof(t.at), "f32 up to %.96s, then f16", option_f32_until(q));
    else
        snprintf(t.at, sizeof(t.at), "%s", option_precision(q) ? "f32" : "f16");
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
