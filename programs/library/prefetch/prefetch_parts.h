/* prefetch_parts.h - what the loops of IO tiles have in common: buffers, room, parts of a group;
 * private to programs/library/prefetch.
 */
#ifndef PROGRAMS_PREFETCH_PARTS_H
#define PROGRAMS_PREFETCH_PARTS_H

#include "emu/emu.h"
#include "programs/library/prefetch/prefetch.h"

/* Parts of a batch on an IO tile are multiples of so many bytes, which are whole words of every
 * type, so that a request can write straight into the buffer. */
enum { PREFETCH_GRAIN_BYTES = 64 };
enum { GROUP_COMPUTE, GROUP_IO };

/* The tiles of IO: the first of so many. */
static inline uint32_t prefetch_first(const struct graph *g, uint32_t io_tiles)
{
    return graph_arch(g)->tiles - io_tiles;
}

/* Bytes of the fullest of `tiles` tiles that hold so many. */
uint64_t prefetch_part_bytes(uint64_t bytes, uint32_t tiles);
/* Bytes of an IO tile that buffers may take. */
uint64_t prefetch_room(const struct graph *g);
/* n elements on IO tiles first, first + 1, .. */
struct tensor prefetch_buffer(struct graph *g, enum elem e, uint32_t n, uint32_t first,
                              uint32_t tiles, const char *name);

static inline struct program prefetch_for_group(struct graph *g, unsigned group,
                                                struct program part)
{
    return program_together(g, &group, &part, 1);
}

static inline struct program prefetch_both(struct graph *g, struct program compute,
                                           struct program io)
{
    const unsigned groups[] = { GROUP_COMPUTE, GROUP_IO };
    const struct program parts[] = { compute, io };

    return program_together(g, groups, parts, 2);
}

#endif
