/* results.h - the best classes of every picture, as CSV or JSON lines.
 *
 *   CSV    file,index,class1,score1,...,class5,score5,file_hex      (RFC 4180, one header line)
 *   JSONL  {"file": "a.jpg", "index": 0, "classes": [281, ...], "scores": [0.5, ...]}
 *
 * The text is always valid UTF-8. A name that is not has U+FFFD for each odd byte, and its bytes in
 * file_hex. Scores have the digits that give the same f32 again; one that is not finite is null, or
 * an empty field. Every result is written at once and whole: what was put is in the file when the
 * process ends for whatever reason, and a line that a full disk has cut is taken back.
 */
#ifndef MODELS_RESULTS_H
#define MODELS_RESULTS_H

#include <stdint.h>

#include "models/feed/results_maker.h"
#include "programs/programs.h"

enum { RESULTS_TOP = 5 };

enum results_format { RESULTS_BY_NAME, RESULTS_CSV, RESULTS_JSONL };

struct results_options {
    enum results_format format; /* BY_NAME: .csv or .jsonl; "-" is CSV */
    int resume;                 /* go on after the results that the file holds */
};

struct results;

/* path: a file; "-" is stdout. Makes the file if there is none; nothing is changed before
 * results_begin(), and without it results_close() leaves all as it was. EMU_USAGE: an unknown
 * ending, resume of stdout; EMU_BAD_FILE: resume of a file that is not of this format; EMU_IO,
 * EMU_NO_MEMORY.
 *
 * A command that writes results ignores SIGXFSZ (and SIGPIPE), so that a limit of the file size
 * arrives as an error here instead of ending the process. */
enum emu_status results_open(const char *path, const struct results_options *o,
                             struct results **out) EMU_MUST_CHECK;

/* Before results_begin(), which writes it down beside the file: what makes the results from here
 * on; borrowed until then. EMU_BAD_FILE where the file that is resumed was made by something else.
 * Means nothing for stdout, devices and pipes. */
enum emu_status results_made_by(struct results *r, const struct results_maker *m) EMU_MUST_CHECK;

/* Before the first put: empties the file, or, with resume, removes a line without an end, which a
 * crash has left; writes the header. EMU_IO, EMU_NO_MEMORY. */
enum emu_status results_begin(struct results *r) EMU_MUST_CHECK;

/* The RESULTS_TOP best of `classes` scores, best first, equal ones by class. index: of feed_next(),
 * going up from call to call, as resume takes the last one for the furthest.
 * EMU_IO: the message says why, and how many results the file holds; nothing more can be put. */
enum emu_status results_put(struct results *r, const char *name, uint64_t index, const float *score,
                            uint32_t classes) EMU_MUST_CHECK;

uint64_t results_kept(const struct results *r); /* whole results in the file, earlier ones too */

/* After opening with resume: files that need no more work, for feed_options.skip; 0: none. */
uint64_t results_done(const struct results *r);
/* Whether the last result of the file is about this name: what feed_skipped() gives. If not, the
 * pictures are not those of the earlier run. EMU_BAD_FILE says both names. */
enum emu_status results_check_last(const struct results *r, const char *name) EMU_MUST_CHECK;

/* Frees r in any case; NULL allowed. EMU_IO when the file system reports late that it could not
 * keep what was written. */
enum emu_status results_close(struct results *r) EMU_MUST_CHECK;

#endif
