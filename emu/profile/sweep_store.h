/* sweep_store.h - the file of a sweep: a SQLite database that grows in transactions, so that it is
 * whole at every moment, and whoever is killed can go on (docs/sweep.md; sweep.sql).
 *
 * Rows are put and queried as those of a profile (profile_store.h).
 */
#ifndef EMU_SWEEP_STORE_H
#define EMU_SWEEP_STORE_H

#include "emu/profile/profile_store.h"

/* Opens the file for writing, or makes it; one process at a time.
 *
 * isnew   1: there was no file, or an empty one. Then it has no tables before sweep_store_begin()
 *         and sweep_store_commit()
 * Errors  EMU_USAGE     another process writes it
 *         EMU_BAD_FILE  something else is there, or a sweep of another version
 *         EMU_IO, EMU_NO_MEMORY
 * Free with profile_free(). A process that forks does not use it in the child. */
enum emu_status sweep_store_open(const char *path, int *isnew, struct profile **out) EMU_MUST_CHECK;
/* What is put between these two is in the file wholly or not at all. Of a new file the first
 * transaction makes the tables. Errors of commit: the first of any row; EMU_IO. */
enum emu_status sweep_store_begin(struct profile *p) EMU_MUST_CHECK;
enum emu_status sweep_store_commit(struct profile *p) EMU_MUST_CHECK;
/* Closes in a child what was inherited, so that the lock is the parent's alone. */
void sweep_store_forget(struct profile *p);

/* All bytes of the file as they are between two transactions, for reading. *data: sqlite3_free().
 * EMU_IO, EMU_NO_MEMORY. */
enum emu_status sweep_store_bytes(const char *path, unsigned char **data,
                                  size_t *bytes) EMU_MUST_CHECK;

#endif
