/* model_weights.h - the parameters of a run: read from a file, or seeded and calibrated. */
#ifndef MODELS_MODEL_WEIGHTS_H
#define MODELS_MODEL_WEIGHTS_H

#include "models/ask/network_choice.h"
#include "models/weights/calibrate.h"

/* text [bytes]: gets one line that says where the parameters came from. Bad tensors of a file are
 * listed in its notes. Free *out with weights_free. Errors: those of weights_read(). */
enum emu_status model_weights_get(const struct network_choice *c, const struct net *n,
                                  struct weights **out, char *text, size_t bytes) EMU_MUST_CHECK;
/* The same line for parameters that an earlier run made or read. names: as in struct weights. */
void model_weights_text(const struct network_choice *c, const char *names, char *text,
                        size_t bytes);

#endif
