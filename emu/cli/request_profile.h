/* request_profile.h - the files of --profile and --trace-out: what was asked, and what came out. */
#ifndef EMU_REQUEST_PROFILE_H
#define EMU_REQUEST_PROFILE_H

#include "emu/base/output_file.h"
#include "emu/cli/request.h"
#include "emu/profile/profile_store.h"

/* What this program is, for --version and profiles: "0.1 (commit 1234567)". */
extern const char program_version[];

struct option_row;
struct run;

/* Calls visit for every option that was given and is part of what is run, in the order of
 * lists (option_rows()); value: as a user would write it, "" for a flag; borrowed for the call. */
typedef void option_visit(void *ctx, const struct option_row *o, const char *value);
void request_visit_options(const struct request *q, option_visit *visit, void *ctx);

/* What a run knows besides what the machine saw. */
struct profile_extras {
    const uint32_t *layer; /* as in struct profile_chip */
    size_t layers;
    /* Add rows: first() those whose names have ids already (profile_take()), add() those of layers
     * and the like. NULL: there are none. */
    enum emu_status (*first)(void *ctx, struct profile *p);
    enum emu_status (*add)(void *ctx, struct profile *p);
    void *ctx;
    const char *cache; /* folder of what is kept between runs; NULL: that of --cache */
};

/* What a profile becomes: opened before the work; NULL: not wanted, or in its place. */
struct profile_files {
    struct output_file *store, *trace, *page;
};

/* Opens the files that a request names. EMU_USAGE for --trace-tiles that are no tiles, or a file
 * that is read; EMU_IO. Close with profile_files_close, also on failure. */
enum emu_status profile_files_open(const struct request *q,
                                   struct profile_files *out) EMU_MUST_CHECK;
void profile_files_close(struct profile_files *f); /* discards what was not written */
/* Whether a request asks for any of them: the run must be recorded, with its transfers. */
int request_profiles(const struct request *q);

/* Writes them for a recorded run, if they are wanted. x may be NULL. Errors: EMU_IO, EMU_NO_MEMORY,
 * those of bsp_probe() and of x->add(). */
enum emu_status request_profile(const struct request *q, struct run *r,
                                const struct profile_extras *x,
                                struct profile_files *f) EMU_MUST_CHECK;
/* Writes them for a program that does not fit: everything but cycles. a: the machine. Says on
 * stderr that there is no timeline. Errors: as above. */
struct arch;
enum emu_status request_profile_unfit(const struct request *q, const struct arch *a,
                                      const struct profile_extras *x,
                                      struct profile_files *f) EMU_MUST_CHECK;
/* Writes what is wanted of a profile besides itself: its trace and its page. EMU_USAGE: tiles that
 * the machine does not have. */
enum emu_status request_pictures(const struct request *q, struct profile *p,
                                 struct profile_files *f) EMU_MUST_CHECK;

#endif
