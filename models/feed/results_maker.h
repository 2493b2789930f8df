/* results_maker.h - the note FILE.run beside a file of results, which says what made them, so that
 * a run with another network, other weights or another machine does not go on with the file.
 */
#ifndef MODELS_RESULTS_MAKER_H
#define MODELS_RESULTS_MAKER_H

#include "programs/programs.h"

/* One line each, of less than 200 characters; borrowed. */
struct results_maker {
    const char *network, *weights, *machine;
};

/* Compares m with the note of the file `path`. EMU_BAD_FILE says what differs, with both values; a
 * missing note is a warning on stderr. EMU_IO. */
enum emu_status results_maker_check(const char *path, const struct results_maker *m) EMU_MUST_CHECK;
/* Writes or replaces the note. EMU_IO. */
enum emu_status results_maker_write(const char *path, const struct results_maker *m) EMU_MUST_CHECK;

#endif
