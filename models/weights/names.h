/* names.h - the names of parameters in files of torchvision and of timm. */
#ifndef MODELS_NAMES_H
#define MODELS_NAMES_H

#include "models/weights/weights.h"

enum name_scheme { NAMES_TORCHVISION, NAMES_TIMM, NAMES_SCHEMES };
const char *names_text(enum name_scheme s); /* "timm" */

/* The name of a parameter with this suffix ("weight", "running_mean", or anything else that files
 * have) of the layer that has parameter `param`. */
void names_make(const struct net *n, enum name_scheme s, uint32_t param, const char *suffix,
                char out[96]);

#endif
