/* compile_store.h - what compilations may share: schedules of exchanges, by content.
 *
 * Attempts of one network, other batches, other weights, machines with other memories have many
 * exchanges in common; whoever compiles with the store of another compilation schedules only those
 * that it had not. Results are the same with and without.
 */
#ifndef PROGRAMS_COMPILE_STORE_H
#define PROGRAMS_COMPILE_STORE_H

#include "programs/compiler/compiler.h"

struct schedule_store;

/* folder: of a cache, from which schedules of other processes are read (docs/cache.md); NULL: the
 * folder of the environment; "": none. EMU_NO_MEMORY. Free with schedule_store_free (NULL allowed),
 * when nothing compiles with it any more. */
enum emu_status schedule_store_new(const char *folder, struct schedule_store **out) EMU_MUST_CHECK;
void schedule_store_free(struct schedule_store *s);
/* Adds to the folder, if there is one, what it has not yet. EMU_IO. */
enum emu_status schedule_store_write(struct schedule_store *s) EMU_MUST_CHECK;

/* graph_compile() with a store, which is borrowed; NULL: none. */
enum emu_status graph_compile_with(struct graph *g, const struct compile_options *o,
                                   struct schedule_store *store,
                                   struct compiled **out) EMU_MUST_CHECK;

#endif
