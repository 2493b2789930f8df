/* lower_options.h - how a graph is lowered, as text: for keys of what is kept between runs. */
#ifndef MODELS_LOWER_OPTIONS_H
#define MODELS_LOWER_OPTIONS_H

#include <stdio.h>

#include "models/lower/op_lower.h"

/* One line with every member. */
void lower_options_print(const struct lower_options *o, FILE *f);

#endif
