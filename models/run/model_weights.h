/* model_weights.h - the parameters of a run: from a file, or seeded with measured statistics. */
#ifndef MODELS_MODEL_WEIGHTS_H
#define MODELS_MODEL_WEIGHTS_H

#include "models/ref/ref.h"
#include "models/run/network_choice.h"

/* *how: one line for people about where they came from, in `text`. Bad tensors of a file are listed
 * on stderr. Free with weights_free. */
enum emu_status model_weights_get(const struct network_choice *c, const struct net *n,
                                  struct weights **out, char *text, size_t bytes) EMU_MUST_CHECK;

#endif
