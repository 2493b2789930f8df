/* profile_memory.h - what the memory of the tiles is for, as rows of a profile. Part of
 * profile_add.c. */
#ifndef EMU_PROFILE_MEMORY_H
#define EMU_PROFILE_MEMORY_H

#include "emu/load/image.h"
#include "emu/profile/profile_store.h"

struct owner_sum;

enum { PROFILE_KINDS = 64 };

struct profile_memory {
    struct profile *p; /* borrowed */
    const struct image *im;
    uint32_t chip;            /* of the system */
    struct owner_sum *owner;  /* owned; a hash table */
    size_t owners, owner_cap; /* owner_cap: a power of two */
    uint32_t last;            /* entry of the last range */
    struct profile_kind_bytes {
        uint32_t category; /* a string of the image */
        uint64_t bytes;    /* of the tile at work */
    } kind[PROFILE_KINDS];
    unsigned kinds;
    uint32_t *plane; /* owned: numbers of one tile */
    size_t plane_cap;
};

/* p and im are borrowed. EMU_NO_MEMORY. Free with profile_memory_free, also on failure. */
enum emu_status profile_memory_init(struct profile *p, const struct image *im, uint32_t chip,
                                    struct profile_memory *out) EMU_MUST_CHECK;
void profile_memory_free(struct profile_memory *m);
/* Adds the rows of a tile, and its bytes to those of their owners. *used: all of them.
 * EMU_NO_MEMORY. */
enum emu_status profile_memory_tile(struct profile_memory *m, const struct image_tile *t,
                                    uint64_t *used) EMU_MUST_CHECK;
/* Adds the rows of the owners, after the last tile. */
void profile_memory_owners(struct profile_memory *m);

#endif
