/* model_request.h - the things and commands of this floor, as uses of options. */
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

#endif
