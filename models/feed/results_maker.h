/* results_maker.h - what made a file of results, in a note FILE.run beside it, so that no other
 * network, weights or machine goes on with the file.
 */
#ifndef MODELS_RESULTS_MAKER_H
#define MODELS_RESULTS_MAKER_H

#include "programs/programs.h"

/* One line each, of less than 200 characters; borrowed. */
struct results_maker {
    const char *network, *weights, *machine;
};

/* Whether the note of a file says the same. EMU_BAD_FILE says what differs, and both; a file
 * without a note gives a warning on stderr. EMU_IO. */
enum emu_status results_maker_check(const char *path, const struct results_maker *m) EMU_MUST_CHECK;
/* Writes the note, or replaces it. EMU_IO. */
enum emu_status results_maker_write(const char *path, const struct results_maker *m) EMU_MUST_CHECK;

#endif
