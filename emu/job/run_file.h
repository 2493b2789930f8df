/* run_file.h - images and manifests (docs/lab.md) in a program of one's own: what `superstep run
 * FILE` does.
 *
 *   ss_manifest_read, ss_manifest_build  or ss_image_read(): an image
 *   ss_run_new, ss_run_stream_..., ss_run_input_file, ss_run_execute
 *   ss_run_check                          what a manifest expects
 *   ss_run_report, ss_run_print           the answer, as JSON or as `key value` lines
 */
#ifndef EMU_RUN_FILE_H
#define EMU_RUN_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/api.h"
#include "emu/base/status.h"
#include "emu/bsp/machine_superstep.h"
#include "emu/host/host_options.h"

SUPERSTEP_API_BEGIN

struct image;
struct json_t; /* json_t of jansson */
struct manifest;
struct run;

/* ---- manifests ---- */

struct manifest_options {
    const char *machine;    /* preset or file, instead of the one in the manifest; NULL: none */
    const char *const *set; /* "field=value", applied last */
    size_t sets;
    uint32_t chips;            /* of the system, after that; 0: as the manifest says */
    int no_files;              /* machines must be presets */
    int raw;                   /* no C preprocessor; sources may name no other files */
    const char *const *define; /* "NAME=VALUE": parameters of the manifest */
    size_t defines;
};

/* Reads a manifest from a file or from text; name appears in messages and gives the directory of
 * relative paths.
 *
 * out    owned by the caller, NULL on failure; free with ss_manifest_free
 * Errors EMU_IO, EMU_BAD_FILE (file, line of a syntax error, JSON path, what was expected),
 * EMU_BAD_MACHINE, EMU_NO_MEMORY */
enum emu_status ss_manifest_read(const char *path, const struct manifest_options *o,
                                 struct manifest **out) EMU_MUST_CHECK;
enum emu_status ss_manifest_read_text(const char *text, size_t bytes, const char *name,
                                      const struct manifest_options *o,
                                      struct manifest **out) EMU_MUST_CHECK;
void ss_manifest_free(struct manifest *m); /* NULL allowed */

/* Assembles the programs for their tiles and makes the image.
 *
 * threads    that assemble; 0: as many as cores
 * messages   where diagnostics of the assembler go
 * out        owned by the caller
 * Errors     EMU_BAD_ASM, EMU_IO (sources), EMU_BAD_FILE (memory does not fit, unknown entry or
 *            symbol), EMU_BAD_IMAGE, EMU_NO_MEMORY
 * Cost       cpp once for each source; one assembly for each tile whose program asks who it is,
 *            else one for all */
enum emu_status ss_manifest_build(struct manifest *m, unsigned threads, FILE *messages,
                                  struct image **out) EMU_MUST_CHECK;

/* ---- runs ---- */

/* The engines have the same cycles. The timing engine has no values, and is used where they are not
 * needed to know the cycles: ss_run_engine(). */
enum run_engine { ENGINE_VALUES, ENGINE_TIMING };

struct run_options {
    unsigned threads; /* 0: all cores */
    enum run_engine engine;
    int plain, check; /* instructions one by one only; checking mode */
    FILE *digests;    /* borrowed; NULL: none are written */
    uint64_t runs;    /* how often the host answers the host sync */
    uint64_t max_cycles;
    int unrecorded;        /* do not keep what every superstep cost */
    int record_exchanges;  /* keep who sends to whom, too, for profiles */
    uint64_t record_limit; /* supersteps that are kept; 0: all */
    struct host_options host;
    uint32_t link_jitter_ns; /* packets between chips are late by a random 0 .. link_jitter_ns */
    void (*watch)(void *ctx, const struct machine_superstep *s); /* NULL allowed */
    void *watch_ctx;
};

/* A machine with the image loaded. out is owned by the caller, NULL on failure; free with
 * ss_run_free. Errors: EMU_NO_MEMORY, EMU_BAD_IMAGE. */
enum emu_status ss_run_new(const struct image *im, const struct run_options *o,
                           struct run **out) EMU_MUST_CHECK;
void ss_run_free(struct run *r); /* NULL allowed */

/* Which engine runs the program. *why, if it is not the one that was asked for, is what its cycles
 * depend on, borrowed from the run; else NULL. */
enum run_engine ss_run_engine(const struct run *r, const char **why);
/* Whether memory holds values: not with the timing engine. */
int ss_run_has_values(const struct run *r);
/* What every answer says: the engine that ran, and why if another one was asked for. */
enum { RUN_ENGINE_TEXT = 640 };
/* Of that only why, or which branch was not looked at; "" if there is nothing to say. */
void ss_run_engine_note(const struct run *r, char text[RUN_ENGINE_TEXT]);
void ss_run_engine_text(const struct run *r, char text[RUN_ENGINE_TEXT]);

/* Connects a stream of the image: to a file (path; NULL: memory that grows, only for a stream to
 * the host; it is in its place after ss_run_commit), or, to the tiles, from `bytes` at data, which
 * is taken over. Errors: EMU_USAGE for a stream that the image does not have, EMU_IO,
 * EMU_NO_MEMORY.
 */
enum emu_status ss_run_stream_file(struct run *r, uint32_t id, const char *path,
                                   int repeat) EMU_MUST_CHECK;
enum emu_status ss_run_stream_data(struct run *r, uint32_t id, uint8_t *data, uint64_t bytes,
                                   int repeat) EMU_MUST_CHECK;
/* All streams of a manifest. */
enum emu_status ss_run_manifest_streams(struct run *r, const struct manifest *m) EMU_MUST_CHECK;

/* Writes the elements of an input of the image, as they are in a file, into tile memory; before the
 * run. Without it the input holds what it held when the image was made. EMU_USAGE for a name the
 * image does not have, with those it has; EMU_BAD_FILE for a file of another size; EMU_IO. */
enum emu_status ss_run_input_file(struct run *r, const char *name, const char *path) EMU_MUST_CHECK;

/* The same from memory: all bytes of the input, of which the timing engine takes none.
 * EMU_BAD_IMAGE when it has another number of them. */
enum emu_status ss_run_input_write(struct run *r, const char *name, const void *data,
                                   uint64_t bytes) EMU_MUST_CHECK;
/* The same for an input or, when there is none of that name, an output: what lies there between
 * runs, such as a state that a program changes. */
enum emu_status ss_run_value_write(struct run *r, const char *name, const void *data,
                                   uint64_t bytes) EMU_MUST_CHECK;
/* After a run: all bytes of an output of the image. EMU_BAD_IMAGE when the image has none of that
 * name, or one of another size. */
enum emu_status ss_run_output_read(const struct run *r, const char *name, void *data,
                                   uint64_t bytes) EMU_MUST_CHECK;

/* Runs to the end: a host sync that is not answered, a fault, a deadlock, the limit.
 * ss_run_ended() and ss_run_stop_text() say which. Errors: EMU_IO when streams cannot be written,
 * EMU_NO_MEMORY. Whether all digests have reached their file is for the caller, who opened it, to
 * find out. */
enum emu_status ss_run_execute(struct run *r) EMU_MUST_CHECK;

/* Puts the files of streams in their places; without it, ss_run_free() removes them. EMU_IO. */
enum emu_status ss_run_commit(struct run *r) EMU_MUST_CHECK;

/* Compares with what the manifest expects. *list receives a new JSON array with at most
 * RUN_MAX_DIFFERENCES objects {what, expected, got}; *total counts all differences, *checked the
 * single comparisons. Cycles, supersteps and the digest count only when the machine is the
 * manifest's own. Errors: EMU_BAD_FILE (an unknown symbol, a bad expression), EMU_NO_MEMORY. */
enum { RUN_MAX_DIFFERENCES = 20 };
enum emu_status ss_run_check(struct run *r, const struct manifest *m, int own_machine,
                             struct json_t **list, uint64_t *total,
                             uint64_t *checked) EMU_MUST_CHECK;

/* The answer as a new JSON object; differences is borrowed and may be NULL. NULL when out of
 * memory. */
struct json_t *ss_run_report(struct run *r, const char *status, const struct json_t *differences,
                             uint64_t total, uint64_t checked);
/* Whether the run ended in a host sync, as programs do. */
int ss_run_ended(const struct run *r);
/* Why a run that did not end in a host sync stopped, in one line, like "INVALID_ADDR (...): tile 3,
 * superstep 5, w2 at 0x4c010 (main+0x10)"; NULL when out of memory. Free with ss_free. */
char *ss_run_stop_text(const struct run *r);
/* Whether it stopped because it came to max_cycles. */
int ss_run_reached_limit(const struct run *r);
/* The object as `key value` lines, nested keys joined by dots. */
void ss_run_print(const struct json_t *report, FILE *f);
void ss_run_print_json(const struct json_t *report, FILE *f); /* every command's --json */

SUPERSTEP_API_END

#endif
