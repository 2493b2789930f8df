/* compile_store.h - for who compiles one network several times: what compilations may share,
 * schedules of exchanges, by content; what came of an attempt; what to say when all have failed.
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

/* ss_graph_compile() with a store, which is borrowed; NULL: none. */
enum emu_status graph_compile_with(struct graph *g, const struct compile_options *o,
                                   struct schedule_store *store,
                                   struct compiled **out) EMU_MUST_CHECK;

/* The same of ss_graphs_compile(). */
enum emu_status graphs_compile_with(struct graph *const *g, unsigned n,
                                    const struct compile_options *o, struct schedule_store *store,
                                    struct compiled **out) EMU_MUST_CHECK;

/* Whether it was given up before its exchanges were scheduled (GIVE_UP_MEMORY, GIVE_UP_CODE). */
int compiled_given_up(const struct compiled *c);
/* What ss_compiled_need_bytes() and ss_compiled_code_bytes() say of all chips, of the chip alone
 * whose part c is. */
uint64_t compiled_own_need_bytes(const struct compiled *c);
uint64_t compiled_own_code_bytes(const struct compiled *c);
/* Of a program that does not fit: sentences that all reports give instead of what they would advise
 * themselves, for instance what was tried. Copied. Of several chips the last one that does not fit
 * has them, so that they are said once and last. EMU_NO_MEMORY. */
enum emu_status compiled_set_advice(struct compiled *c, const char *const *line,
                                    size_t lines) EMU_MUST_CHECK;

#endif
