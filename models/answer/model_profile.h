/* model_profile.h - the profile of a run of a network (docs/profile.md). */
#ifndef MODELS_MODEL_PROFILE_H
#define MODELS_MODEL_PROFILE_H

#include "emu/cli/request_profile.h"
#include "models/answer/layer_cycles.h"

/* Everything is borrowed. */
struct model_profile {
    const struct request *request;
    const struct layer_cycles *layers;
    const struct compiled *compiled; /* NULL: the program came from the cache */
    const void *kept;                /* then: what program_profile_pack() said of it */
    size_t kept_bytes;
    struct session *session; /* after its run */
};

/* Writes it: request_profile(). */
enum emu_status model_profile_write(const struct model_profile *m,
                                    struct profile_files *f) EMU_MUST_CHECK;
/* The same for a network that does not fit: session is not read. */
enum emu_status model_profile_unfit(const struct model_profile *m,
                                    struct profile_files *f) EMU_MUST_CHECK;

#endif
