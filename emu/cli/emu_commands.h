/* emu_commands.h - the commands of the machine. Each answers a request on stdout and returns its
 * exit code; what is wrong is one line on stderr.
 */
#ifndef EMU_EMU_COMMANDS_H
#define EMU_EMU_COMMANDS_H

#include "emu/cli/request.h"
#include "emu/job/run_image.h"

/* What a higher floor does when an image is run: it may have made the image, and knows what its
 * notes, inputs and outputs mean. */
struct image_hooks {
    /* Writes into tile memory, before the run. */
    enum emu_status (*before)(const struct request *q, struct run *r);
    /* Adds to the answer (ss_run_report()), after a run that came to its end. */
    enum emu_status (*after)(const struct request *q, struct run *r, json_t *answer);
    /* Adds to the answer of any run, and may print it instead: then *printed is 1. NULL: nothing.
     */
    enum emu_status (*print)(const struct request *q, const struct run *r, json_t *answer,
                             int *printed);
};

/* `run` and `compile` for manifests, source files and images; the image of a manifest goes to
 * --output. before() and after() are for images, print() is for all; NULL: there are none. */
int run_file(const struct request *q, const struct image_hooks *hooks);
int compile_file(const struct request *q);

/* Where two runs begin to differ, from what --digests wrote: 0 equal, 1 different. */
int cmd_diff(const struct request *q);

/* Prints a profile: text, --json, or one table with --csv. */
int cmd_report(const struct request *q);

/* What differs between two profiles: text or --json. */
int cmd_compare(const struct request *q);

/* Assembles and links files as one unit. Without --output a listing goes to stdout, else the unit
 * to a file. Diagnostics go to stderr. 0, or 2 also for source with errors. */
int cmd_asm(const struct request *q);

/* Prints a unit that `asm -o` wrote as assembly, which `asm --raw` turns into the same words again.
 */
int cmd_dis(const struct request *q);

/* One codelet on one tile: prints what changed, with --json one object with all of it. The trace,
 * and what the assembler has to say, go to stderr. 0 pass (an expected fault included), 1 fail,
 * fault or timeout. */
int cmd_tile(const struct request *q);

/* All machines that are built in, or every field of one. */
int cmd_machines(const struct request *q);

/* What is kept between runs (emu/base/disk_cache.h): the list, or with --clear none of it any more.
 */
int cmd_cache(const struct request *q);

#endif
