/* names.h - the names of parameters in files of torchvision and of timm. */
#ifndef MODELS_NAMES_H
#define MODELS_NAMES_H

#include "models/weights/weights.h"

enum name_scheme { NAMES_TORCHVISION, NAMES_TIMM, NAMES_SCHEMES };
const char *names_text(enum name_scheme s); /* "timm" */

/* The name of a parameter of a layer, or of anything else that files have for the layer; suffix:
 * "weight", "running_mean", ... */
void names_make(const struct net *n, enum name_scheme s, uint32_t layer, const char *suffix,
                char out[96]);

#endif
