/* request_profile.h - the profile that --profile asks for: what was asked, and the file. */
#ifndef EMU_REQUEST_PROFILE_H
#define EMU_REQUEST_PROFILE_H

#include "emu/base/output_file.h"
#include "emu/cli/request.h"
#include "emu/profile/profile_store.h"

/* What this program is, for --version and profiles: "0.1 (commit 1234567)". */
extern const char program_version[];

struct run;

/* What a run knows besides what the machine saw. */
struct profile_extras {
    const uint32_t *layer; /* as profile_add_record() has it */
    size_t layers;
    /* Adds rows, of layers and the like. NULL: there are none. */
    enum emu_status (*add)(void *ctx, struct profile *p);
    void *ctx;
};

/* Writes the profile of a recorded run into an output that was opened before the work. x may be
 * NULL. *file is NULL afterwards; if it was before, nothing happens. Errors: EMU_IO, EMU_NO_MEMORY,
 * those of bsp_probe() and of x->add(). */
enum emu_status request_profile(const struct request *q, struct run *r,
                                const struct profile_extras *x,
                                struct output_file **file) EMU_MUST_CHECK;

#endif
