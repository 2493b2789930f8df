/* run_image.h - what is in a run of an image (run_file.h), for those who look at its machine.
 *
 *   ss_run_new, ss_run_stream_*, ss_run_execute  run_image.c
 *   ss_run_check                                run_expect.c
 *   ss_run_report, ss_run_print                 run_report.c
 */
#ifndef EMU_RUN_IMAGE_H
#define EMU_RUN_IMAGE_H

#include "emu/bsp/digest.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/record.h"
#include "emu/bsp/replay.h"
#include "emu/host/host.h"
#include "emu/job/manifest.h"
#include "emu/job/run_file.h"
#include "emu/pod/pod.h"

/* What belongs to one chip of a run; owned. Its machine: machine_of_chip(). */
struct run_chip {
    struct replay *replay; /* NULL: the values engine */
    struct host *host;     /* NULL when the image has no streams on this chip */
    struct record *record;
    struct digests *digests; /* NULL: none are written */
};

struct run {
    const struct image *im; /* borrowed */
    struct run_options options;
    struct pod *pod;       /* owned, like the following */
    struct run_chip *chip; /* [chips] */
    uint32_t chips;
    struct machine *machine; /* what there is of chip 0; borrowed, like the following */
    struct replay *replay;
    struct host *host;
    struct record *record;
    uint8_t **data;   /* values of streams, one entry per stream of the image; owned */
    uint8_t *written; /* of the first `inputs` inputs of the image; owned */
    size_t inputs, written_cap;
    uint64_t runs;          /* answered host syncs */
    enum machine_stop stop; /* at a host sync ss_run_execute() may go on, for larger options.runs */
    char *error;            /* why it stopped, where ss_error() said so; else NULL */
};

static inline struct machine *machine_of_chip(const struct run *r, uint32_t chip)
{
    return pod_machine(r->pod, chip);
}

/* After MACHINE_FAULT: the fault, and on which chip. */
struct machine_fault run_fault(const struct run *r, uint32_t *chip);

/* Which chip of the image a chip of the system runs: every replica has all of them. */
static inline uint32_t run_stage(const struct run *r, uint32_t chip)
{
    return chip % image_chip_count(r->im);
}

/* What the image says of a tile of a chip of the system; NULL: it takes no part. */
static inline const struct image_tile *run_image_tile(const struct run *r, uint32_t chip,
                                                      uint32_t tile)
{
    return image_find_tile(r->im, run_stage(r, chip), tile);
}

/* As ss_run_stream_file(), of a chip of the image; -1: the one that has a stream of this number.
 * EMU_USAGE, too, where several have. */
enum emu_status run_stream_of_chip(struct run *r, int64_t chip, uint32_t id,
                                   const char *path) EMU_MUST_CHECK;

/* The name of an input that holds nothing until the host writes it, and has not been written;
 * borrowed. NULL: there is none. */
const char *run_input_missing(const struct run *r);

/* Before a run: counts the words from tile to tile on each chip, for exchange_pairs(). Errors:
 * those of exchange_count_pairs(). */
enum emu_status run_count_pairs(struct run *r) EMU_MUST_CHECK;

/* What checking mode has to say against the program: its reports but CONFLICT, which is a fault
 * anyway; words sent to nobody; tiles and phases whose words clash with what they read. */
uint64_t run_check_findings(const struct run *r);

/* The tables of supersteps, of one chip after the other; with tiles (may be NULL) also what each of
 * them did in every superstep.
 */
void run_print_steps(const struct run *r, const struct tile_list *tiles, FILE *f);
/* The same in a report: "steps", and "bsp" (run_bsp_json()), of several chips all "steps" in
 * one list.
 * Errors: EMU_NO_MEMORY, those of the probe. */
enum emu_status run_put_steps(const struct run *r, const struct tile_list *tiles,
                              json_t *report) EMU_MUST_CHECK;

/* run_bsp.c: w + g h + l of all supersteps of sync group 0 beside what they took, on one line, or
 * as a new object; g and l are fitted by a probe on the machine of the run (bsp_cost_of(): cache),
 * whose errors these are. Of a run without supersteps nothing is printed. */
enum emu_status run_print_bsp(const struct run *r, const char *cache, FILE *f) EMU_MUST_CHECK;
enum emu_status run_bsp_json(const struct run *r, json_t **out) EMU_MUST_CHECK;

#endif
