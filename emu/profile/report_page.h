/* report_page.h - one or two profiles as one HTML file that needs nothing beside it
 * (docs/profile.md). What it shows and how is in emu/profile/page, which is part of the program.
 *
 *   report_page.c     its parts in their places, and the tables
 *   report_blobs.c    what is known per tile, packed
 */
#ifndef EMU_REPORT_PAGE_H
#define EMU_REPORT_PAGE_H

#include <jansson.h>

#include "emu/profile/profile_store.h"

/* Writes the page. b: a second run, to be compared with the first; NULL: there is none. Errors:
 * EMU_BAD_FILE, EMU_NO_MEMORY; whoever commits the file asks for errors of f. */
enum emu_status report_page_write(struct profile *a, struct profile *b, FILE *f) EMU_MUST_CHECK;

/* Writes the lists of numbers of a run as elements blob-LETTER-NAME: zlib of u32, little-endian, in
 * base64; and sets *lists to how many entries they have. Columns follow each other.
 *
 *   exchange, compute, words_in, words_out, messages_in, messages_out
 *                [supersteps][tiles of its group]
 *   maps-K       of tiles [K * tiles_per_blob ..]: gap before, bytes, category, owner
 *   objects-K    gap before (which may be negative), bytes, category, owner, lifetime
 *   pairs-K      of exchange K: receiver less the one before, sender less the one before (0 at the
 *                first), words, messages */
enum emu_status report_blobs_write(struct profile *p, const char *letter, json_t **lists,
                                   FILE *f) EMU_MUST_CHECK;

/* JSON for a script element of a page. EMU_NO_MEMORY. */
enum emu_status page_print_data(const json_t *data, FILE *f) EMU_MUST_CHECK;

#endif
