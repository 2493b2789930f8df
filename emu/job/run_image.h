/* run_image.h - runs an image on a machine with a host, and says what came out.
 *
 *   run_new, run_stream_*, run_execute          run_image.c
 *   run_check                                   run_expect.c: what a manifest expects
 *   run_report, run_print                       run_report.c: the answer, as JSON or as `key value`
 *                                               lines
 */
#ifndef EMU_RUN_IMAGE_H
#define EMU_RUN_IMAGE_H

#include "emu/bsp/digest.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/record.h"
#include "emu/host/host.h"
#include "emu/job/manifest.h"

struct run_options {
    unsigned threads; /* 0: all cores */
    int plain, check; /* struct machine_options */
    FILE *digests;    /* borrowed; NULL: none are written */
    uint64_t runs;    /* how often the host answers the host sync */
    uint64_t max_cycles;
    int unrecorded; /* do not keep the supersteps: struct run's record stays empty */
    struct host_options host;
    void (*watch)(void *ctx, const struct machine_superstep *s); /* struct machine_options */
    void *watch_ctx;
};

struct run {
    const struct image *im; /* borrowed */
    struct run_options options;
    struct machine *machine; /* owned, like the following */
    struct host *host;       /* NULL when the image has no streams */
    struct record *record;
    struct digests *digests; /* NULL: none are written */
    uint8_t **data;          /* values of streams, one entry per stream of the image */
    uint64_t runs;           /* answered host syncs */
    enum machine_stop stop;
    char *error; /* why it stopped, where emu_error() said so; else NULL */
};

/* A machine with the image loaded. out is owned by the caller, NULL on failure; free with run_free.
 * Errors: EMU_NO_MEMORY, EMU_BAD_IMAGE. */
enum emu_status run_new(const struct image *im, const struct run_options *o,
                        struct run **out) EMU_MUST_CHECK;
void run_free(struct run *r); /* NULL allowed */

/* Connects a stream of the image: to a file (path; NULL: memory that grows, only for a stream to
 * the host; one to the host is in its place after host_commit), or, to the tiles, from `bytes` at
 * data, which is taken over. Errors: EMU_USAGE for a stream that the image does not have, EMU_IO,
 * EMU_NO_MEMORY. */
enum emu_status run_stream_file(struct run *r, uint32_t id, const char *path,
                                int repeat) EMU_MUST_CHECK;
enum emu_status run_stream_data(struct run *r, uint32_t id, uint8_t *data, uint64_t bytes,
                                int repeat) EMU_MUST_CHECK;
/* All streams of a manifest. */
enum emu_status run_manifest_streams(struct run *r, const struct manifest *m) EMU_MUST_CHECK;

/* Writes the elements of an input of the image, as they are in a file, into tile memory; before the
 * run. Without it the input holds what it held when the image was made. EMU_USAGE for a name the
 * image does not have, with those it has; EMU_BAD_FILE for a file of another size; EMU_IO. */
enum emu_status run_input_file(struct run *r, const char *name, const char *path) EMU_MUST_CHECK;

/* The same from memory: all bytes of the input. EMU_BAD_IMAGE when it has another number of them.
 */
enum emu_status run_input_write(struct run *r, const char *name, const void *data,
                                uint64_t bytes) EMU_MUST_CHECK;
/* After a run: all bytes of an output of the image. EMU_BAD_IMAGE when the image has none of that
 * name, or one of another size. */
enum emu_status run_output_read(const struct run *r, const char *name, void *data,
                                uint64_t bytes) EMU_MUST_CHECK;

/* Runs to the end: a host sync that is not answered, a fault, a deadlock, the limit. r->stop says
 * which. After a host sync it may be called again, with more answers in r->options.runs. Errors:
 * EMU_IO when streams cannot be written, EMU_NO_MEMORY. Whether all digests have reached their file
 * is for who opened it to ask. */
enum emu_status run_execute(struct run *r) EMU_MUST_CHECK;

/* Compares with what the manifest expects. *list receives a new JSON array with at most
 * RUN_MAX_DIFFERENCES objects {what, expected, got}; *total counts all differences, *checked the
 * single comparisons. Cycles, supersteps and the digest count only when the machine is the
 * manifest's own. Errors: EMU_BAD_FILE (an unknown symbol, a bad expression), EMU_NO_MEMORY. */
enum { RUN_MAX_DIFFERENCES = 20 };
enum emu_status run_check(struct run *r, const struct manifest *m, int own_machine, json_t **list,
                          uint64_t *total, uint64_t *checked) EMU_MUST_CHECK;

/* The answer as a new JSON object; differences is borrowed and may be NULL. NULL when out of
 * memory. */
json_t *run_report(struct run *r, const char *status, const json_t *differences, uint64_t total,
                   uint64_t checked);
/* What checking mode has to say against the program: its reports but CONFLICT, which is a fault
 * anyway. Words that nobody received do not count. */
uint64_t run_check_reports(const struct run *r);
/* Why a run that did not end in a host sync stopped, in one line, like "INVALID_ADDR (...): tile 3,
 * superstep 5, w2 at 0x4c010 (main+0x10)"; NULL when out of memory. Free with emu_free. */
char *run_stop_text(const struct run *r);
/* The object as `key value` lines, nested keys joined by dots. */
void run_print(const json_t *report, FILE *f);
void run_print_json(const json_t *report, FILE *f); /* every command's --json */

/* The tables of supersteps; with tiles (may be NULL) also what each of them did in every superstep.
 */
void run_print_steps(const struct run *r, const struct tile_list *tiles, FILE *f);
/* The same as a new JSON array, NULL when out of memory. */
json_t *run_steps_json(const struct run *r, const struct tile_list *tiles);

#endif
