/* schedule_store.h - schedules that were made before, by the content of their exchanges.
 *
 * What a schedule depends on is the messages, in order, with the bases of their addresses numbered
 * as they first appear; what it is optimised for; and a few fields of the machine. A found schedule
 * is the one that would be made, word by word.
 *
 * A store keeps schedules compressed, in memory, and reads what the folder of a cache has from
 * other processes; schedule_store_write() adds what is new to the folder. Its type and the
 * functions that make one are in compile_store.h.
 */
#ifndef PROGRAMS_SCHEDULE_STORE_H
#define PROGRAMS_SCHEDULE_STORE_H

#include "programs/compiler/compile_store.h"
#include "programs/compiler/schedule/schedule_block.h"

/* Receivers of all messages of an exchange: what has fewer is scheduled faster than looked for. */
enum { SCHEDULE_STORE_LEAST = 512 };

/* Whether schedules depend on a field of the machine (enum arch_field_id). Of the memory they do
 * not: the compiler schedules for tiles of 2 GB, and placing finds out what fits. */
int schedule_store_reads(size_t field);

/* The key of an exchange. problem: the hash of its messages. */
struct hash128 schedule_store_key(const struct schedule_store *s, const struct arch *a,
                                  enum exchange_target target, struct hash128 problem);

/* Returns 1 and makes out, which is overwritten, a user of the schedule; 0: there is none. Any
 * number of threads may call both functions at once; s may be NULL: there is nothing. */
int schedule_store_find(struct schedule_store *s, struct hash128 key,
                        struct exchange_schedule *out);
/* Keeps the schedule of a problem. Returns 0 if it does not: there is no memory, or it has it. */
int schedule_store_keep(struct schedule_store *s, struct hash128 key,
                        const struct exchange_problem *p, const struct exchange_schedule *x);

#endif
