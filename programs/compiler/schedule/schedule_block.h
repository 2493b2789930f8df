/* schedule_block.h - a schedule in one piece of memory, which belongs to all exchanges that have it
 * and to the store in which it is kept; whoever is the last to release it frees it.
 *
 * A block holds no pointers and no objects, so it is also what a store writes into a file.
 */
#ifndef PROGRAMS_SCHEDULE_BLOCK_H
#define PROGRAMS_SCHEDULE_BLOCK_H

#include "programs/compiler/schedule/schedule.h"

struct schedule_head {
    uint32_t tiles, events, bound; /* as in struct exchange_schedule */
    uint32_t words;                /* of the code */
    uint64_t code_bytes;
};

struct schedule_block;

/* Copies the tiles and words of a schedule into a block with one user, the caller. EMU_NO_MEMORY.
 */
enum emu_status schedule_block_new(const struct schedule_head *head,
                                   const struct tile_schedule *tile, const uint32_t *word,
                                   struct schedule_block **out) EMU_MUST_CHECK;
/* Makes out, which is overwritten, a user. Threads may do this at once. */
void schedule_block_use(struct schedule_block *b, struct exchange_schedule *out);
void schedule_block_release(struct schedule_block *b); /* NULL does nothing */

/* The head, the tiles and the words as bytes, and back. Bytes that are no block give
 * EMU_BAD_FILE. */
const void *schedule_block_data(const struct schedule_block *b, size_t *bytes);
enum emu_status schedule_block_read(const void *data, size_t bytes,
                                    struct schedule_block **out) EMU_MUST_CHECK;

#endif
