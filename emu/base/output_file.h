/* output_file.h - a file that a command writes: opened before the work begins, in its place only
 * when it is whole.
 *
 * What is written goes into a temporary file beside the target, which output_commit() renames: an
 * earlier file stays until then, and stays for good when something fails. Temporary files go away
 * with the process, also when a signal ends it (INT, TERM, HUP, PIPE, XFSZ, ABRT); SIGKILL
 * excepted. What is no regular file (a device, a pipe, the file that is standard output) is written
 * directly.
 */
#ifndef EMU_OUTPUT_FILE_H
#define EMU_OUTPUT_FILE_H

#include <stdio.h>

#include "emu/base/fail.h"

struct output_file;

/* Opens the output at path; a link keeps pointing where it does.
 *
 * path    NULL: no output is wanted, *out is NULL, which the other functions take
 * out     owned by the caller; ends with output_commit() or output_discard()
 * Errors  EMU_IO (the folder is not there, may not be written, is full), EMU_NO_MEMORY */
enum emu_status output_open(const char *path, struct output_file **out) EMU_MUST_CHECK;

const char *output_path(const struct output_file *o); /* as output_open() got it; borrowed */

/* Where to write; borrowed, NULL without an output. It has no descriptor of its own (fileno()), and
 * keeps the reason of the first write that failed for output_commit(). */
FILE *output_stream(const struct output_file *o);
/* The descriptor behind it, for whoever writes to that; flush the stream first. */
int output_fd(const struct output_file *o);

/* Puts the file in its place and frees o, on failure, too: then an earlier file is as it was.
 * Errors: EMU_IO, also for what could not be written before. */
enum emu_status output_commit(struct output_file *o) EMU_MUST_CHECK;

/* Removes what was written and frees o; ss_error() stays. */
void output_discard(struct output_file *o);

/* Commits when s is EMU_OK, else discards; returns s, or why the commit failed. */
enum emu_status output_end(struct output_file *o, enum emu_status s) EMU_MUST_CHECK;

/* output_end() of an output that others may still end: *o is NULL afterwards. */
enum emu_status output_finish(struct output_file **o, enum emu_status s) EMU_MUST_CHECK;

/* Removes the temporary files of all outputs, for the signal handler of a command that ends the
 * process itself. */
void output_remove_temporaries(void);
/* Handles the signals that end a process, so that temporary files go with it. Those that are
 * ignored, or that somebody else handles, stay so. output_open() has done it already. */
void output_handle_signals(void);

/* Refuses an output that is the same file as an input; either may be NULL. Errors: EMU_USAGE. */
enum emu_status output_not_input(const char *output, const char *input) EMU_MUST_CHECK;

#endif
