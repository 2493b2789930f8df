/* place_tile.h - the objects of one tile, and where they go. Private to this folder. */
#ifndef PROGRAMS_PLACE_TILE_H
#define PROGRAMS_PLACE_TILE_H

#include "programs/compiler/place/place.h"
#include "programs/compiler/place/place_live.h"

/* What placement knows of an object. The items of a tile are hashed as one block of memory, so the
 * struct has no padding. */
struct place_item {
    uint32_t bytes, live;
    uint16_t align;
    uint8_t region; /* enum field_region */
    uint8_t limits; /* ITEM_... */
};
enum {
    ITEM_CONSTRAINED = 1, /* to a region, or apart from another one */
    ITEM_NEAR = 2,        /* below PLACE_REACH */
    ITEM_LOADED = 4,      /* before the last loader_tail_bytes of the memory */
    ITEM_RECEIVES = 8     /* words arrive in it: not beside code, if possible */
};

/* Everything that the placement of a tile depends on. The number of an item is its index in the
 * list. */
struct place_job {
    const struct arch *arch;
    const struct live_table *live;
    uint32_t code_bytes, items, pairs, wishes;
    const struct place_item *item;   /* borrowed */
    const struct object_pair *apart; /* borrowed; numbers of items */
    const struct object_pair *wish;  /* the same: apart, if possible */
};

/* The items that have a place, in the coordinates of a trial (see place_tile.c). Coordinates and
 * sizes are far below 2^62, so that they can be compared as signed numbers. What is always in use
 * is no item of its own here, but part of a solid range, which no other item may touch. */
enum { PLACED_LANES = 4 }; /* that a search looks at together; the lists end with as many more */

struct placed_items {
    int64_t *low, *high; /* by low */
    uint64_t *live;      /* their live sets */
    uint32_t count;
};

struct solid_range {
    uint64_t low, high;
};

struct solid_ranges {
    struct solid_range *at; /* by low; no two of them touch */
    uint32_t count;
};

/* An item and the number that it is sorted by. */
struct place_key {
    uint32_t high, low, item;
};

/* The items that each item is paired with. */
struct place_partners {
    uint32_t *first; /* by item, and one more: in of */
    uint32_t *of;
};

/* Scratch memory for the work on one tile; one per thread. */
struct place_scratch {
    struct place_key *order, *spare; /* spare: for sorting */
    struct placed_items placed;
    struct solid_ranges solid;
    uint64_t *addr, *best; /* by item; best: the result */
    struct place_partners apart, wish;
    int64_t *delta; /* bytes that come into use with each step */
};

/* For jobs of at most so many items, pairs and wishes. */
enum emu_status place_scratch_init(struct place_scratch *w, const struct place_job *most,
                                   uint32_t steps) EMU_MUST_CHECK;
void place_scratch_free(struct place_scratch *w);

/* Decides all addresses. The result is w->best: byte addresses, which may lie past the end of the
 * memory. */
void place_tile(const struct place_job *job, struct place_scratch *w);
/* The figures of a tile whose addresses are w->best. */
struct tile_place place_tile_measure(const struct place_job *job, struct place_scratch *w);

/* The first address of the block of memory elements that holds addr, and the end of the block that
 * holds the byte before `end`. A block is one element of region 0, or the interleaved elements of
 * region 1. Accesses to different blocks never collide.
 */
uint64_t place_block_low(const struct arch *a, uint64_t addr);
uint64_t place_block_high(const struct arch *a, uint64_t end);

#endif
