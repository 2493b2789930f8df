/* results.h - the best classes of every picture, as CSV or JSON lines.
 *
 *   CSV    file,index,class1,score1,...,class5,score5,file_hex      (RFC 4180, one header line)
 *   JSONL  {"file": "a.jpg", "index": 0, "classes": [281, ...], "scores": [0.5, ...]}
 *
 * With names of classes CSV has name1 behind class1 and so on, and JSONL "names" behind "classes".
 *
 * The text is always valid UTF-8. In a name that is not, each odd byte becomes U+FFFD, and file_hex
 * has the bytes of the name. Scores have enough digits to read the same f32 again; a score that is
 * not finite is null, in CSV an empty field. Every result is one write of a whole line: it is in
 * the file however the process ends, and a line that a full disk has cut short is removed again.
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
    const char *const *names;   /* borrowed, in UTF-8, by class; NULL: classes have numbers only */
};

struct results;

/* path: a file; "-" is stdout. Creates the file if there is none, but changes nothing before
 * results_begin(): without that call results_close() leaves everything as it was. A file is locked
 * until then. Errors: EMU_USAGE for an unknown ending, resume of stdout, or a file that another
 * process is writing; EMU_BAD_FILE for resume of a file in another format;
 * EMU_IO, EMU_NO_MEMORY.
 *
 * A command that writes results should ignore SIGXFSZ and SIGPIPE, so that a limit on file sizes
 * becomes an error here instead of ending the process. */
enum emu_status results_open(const char *path, const struct results_options *o,
                             struct results **out) EMU_MUST_CHECK;

/* Says what makes the results; to be called before results_begin(), which writes it into a note
 * beside the file. m is borrowed until then. EMU_BAD_FILE when the file to be resumed was made by
 * something else. Without effect for stdout, devices and pipes. */
enum emu_status results_made_by(struct results *r, const struct results_maker *m) EMU_MUST_CHECK;

/* To be called before the first results_put(): empties the file and writes the header; with resume,
 * removes the unfinished line that a crash may have left instead. EMU_IO, EMU_NO_MEMORY. */
enum emu_status results_begin(struct results *r) EMU_MUST_CHECK;

/* Writes the RESULTS_TOP best of `classes` scores, best first; of equal scores the lower class
 * comes first. index: as feed_next() gives it; it must grow from call to call, because resume goes
 * on after the last line. EMU_IO: the message says why, and how many results the file holds; after
 * that nothing more can be put. */
enum emu_status results_put(struct results *r, const char *name, uint64_t index, const float *score,
                            uint32_t classes) EMU_MUST_CHECK;

/* Whole results in the file, those of earlier runs included. */
uint64_t results_kept(const struct results *r);

/* After opening with resume: how many files earlier runs have dealt with (feed_options.skip). */
uint64_t results_done(const struct results *r);
/* Checks that the last result in the file is about `name`, which feed_skipped() gave. If it is not,
 * the pictures are not those of the earlier run: EMU_BAD_FILE, with both names. */
enum emu_status results_check_last(const struct results *r, const char *name) EMU_MUST_CHECK;

/* Frees r even on errors; NULL allowed. EMU_IO when the file system reports only now that it could
 * not keep what was written. */
enum emu_status results_close(struct results *r) EMU_MUST_CHECK;

#endif
