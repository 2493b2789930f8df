/* norm_sums.h - sums of groups of channels over tiles, for group norms.
 *
 * Every tile adds up what it has, first by channel, then by group of channels: two numbers for each
 * group of which it has a part. Exchanges follow: some tiles add up a part of these numbers each,
 * once or twice. What is left are a few parts for each group, which the tiles with its channels
 * take.
 *
 * What travels together is a bundle: the sums of a group, or, if groups are strided, so that every
 * tile has channels of all of them, those of all groups of a picture. Four strided groups, as
 * networks have them, lie side by side in every vector: a tile adds up all it has of a picture at
 * once.
 */
#ifndef PROGRAMS_NORM_SUMS_H
#define PROGRAMS_NORM_SUMS_H

#include "programs/library/layout/tile_blocks.h"

/* Neighbouring tile blocks of one tile and picture, for which there is one vertex. */
struct norm_unit {
    uint32_t first, count; /* in tile_blocks.list */
    uint32_t tile, n;      /* n: the picture */
};

/* The sums of a unit, or of several, that are of a bundle. */
struct norm_part {
    uint64_t bundle; /* picture * bundles + bundle */
    uint32_t order;  /* among those of the bundle */
    uint32_t tile;
    struct tensor sums; /* [width] */
};

/* Filled by norm_sums_make(). */
struct norm_sums {
    struct nn *nn;
    struct graph *g;
    struct activation x;
    uint32_t groups;
    int strided;
    const struct tile_blocks *all; /* borrowed */
    uint32_t each;                 /* channels of a group */
    uint32_t bundles;              /* of a picture */
    uint32_t width; /* numbers of a bundle: sum and sum of squares of each of its groups */
    int four;       /* strided groups, four of them */
    VEC(struct norm_unit)
    unit; /* of four groups what a tile has of a picture, if that is one run;
             of others a tile block */
    VEC(struct norm_part) part, added; /* by bundle; those that the next step reads, and makes */
    size_t *first;         /* owned; where each bundle begins in `part`, and the end of the last */
    uint32_t relays;       /* into which the sums of a bundle are added up first; 0: not twice */
    uint32_t parts;        /* into which they are added up before tiles take them */
    uint64_t phase_cycles; /* of an exchange besides its words */
};

/* Adds the compute sets that make m->parts sums for each bundle of x, whose tile blocks are `all`;
 * groups divide the channels. Errors: those of the graph, EMU_NO_MEMORY. Free with norm_sums_free,
 * also after an error. */
enum emu_status norm_sums_make(struct nn *nn, const struct activation *x,
                               const struct tile_blocks *all, uint32_t groups, int strided,
                               struct norm_sums *out) EMU_MUST_CHECK;
void norm_sums_free(struct norm_sums *m);

/* The bundles of which a tile block has channels. */
struct nn_range norm_sums_touched(const struct norm_sums *m, const struct tile_block *f);
/* How many channels of its first group lie before a tile block; of strided groups, the group of its
 * first channel. */
uint32_t norm_sums_before(const struct norm_sums *m, const struct tile_block *f);
/* The sums [m->parts] of the first bundle of a unit; those of its next bundles follow. */
const struct norm_part *norm_sums_of(const struct norm_sums *m, const struct norm_unit *u);

/* The number of the first of sums p [n] that lies on a tile; n: none does. */
uint32_t norm_parts_own(const struct norm_part *p, uint32_t n, uint32_t tile);
/* Sums p [n] without one of them, part by part; with a number of n all. */
struct tensor norm_parts_without(const struct norm_sums *m, const struct norm_part *p, uint32_t n,
                                 uint32_t own);
/* Factor of a sum that makes it a mean. */
static inline float norm_sums_inverse(const struct norm_sums *m)
{
    return 1.0f / ((float)m->each * (float)(m->x.h * m->x.w));
}

#endif
