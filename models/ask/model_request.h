/* model_request.h - what can be asked about networks: the options of options_models.def, and the
 * things and commands of this floor. */
#ifndef MODELS_MODEL_REQUEST_H
#define MODELS_MODEL_REQUEST_H

#include "programs/cli/program_options.h"

#define THING_NETWORK USE_BIT(4) /* known by name */
#define THING_ONNX    USE_BIT(5) /* FILE.onnx: a network, compiled */
#define USE_MODELS    USE_BIT(48)
#define USE_OPERATORS USE_BIT(49)
#define USE_STREAM    USE_BIT(50)
#define USE_TRAIN     USE_BIT(51)
#define USE_EVALUATE  USE_BIT(52)
#define USE_VALIDATE  USE_BIT(53)

struct model_request {
    union { /* the same request as the floors below know it */
        struct request q;
        struct program_request program;
    };
#define OPTION(field, kind, letter, name, arg, low, high, uses, help) FIELD_##kind field;
#include "models/ask/options_models.def"
};

enum model_option_id {
    OPTION_MODELS = OPTION_PROGRAMS_END - 1,
#define OPTION(field, kind, letter, name, arg, low, high, uses, help) OPTION_##field,
#include "models/ask/options_models.def"
    OPTION_COUNT
};

/* A request of request_new(), or the first member of a struct model_request. */
static inline const struct model_request *model_request(const struct request *q)
{
    return (const struct model_request *)q;
}

#endif
