/* ops_random.h - operations that draw from the tiles' generators: stochastic rounding, masks.
 *
 * Nothing of a generator outlasts an operation: each begins with a seed, the same on every tile,
 * and a number of its own. So results depend on these two and on where elements lie (rounding), or
 * on nothing else (masks), and there is nothing to save between steps of a training.
 */
#ifndef PROGRAMS_OPS_RANDOM_H
#define PROGRAMS_OPS_RANDOM_H

#include "emu/base/api.h"
#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

enum { RANDOM_SEED_WORDS = 2 };
enum { RANDOM_BLOCK = 64 };      /* elements of a mask that are drawn from one generator */
enum { RANDOM_CERTAIN = 65536 }; /* the probability 1 */

/* What numbers of operations are mixed with, so that no generator begins with zeros alone. */
#define RANDOM_OPERATION 0x55555555u

/* Copies a seed, u32 [2], to all tiles: u32 [tiles][8], with words of the workers behind it. */
struct tensor ss_op_seed(struct graph *g, struct program seq, struct tensor words,
                         const char *name);

/* t, f32, as f16, rounded stochastically: to one of the two neighbours, with probabilities that
 * make the mean exact to 2^-13 of their distance; what is an f16 stays. Every tile has multiples of
 * 4 elements. seed: of ss_op_seed(). About 3 slots for 4 elements. */
struct tensor ss_op_round_random(struct graph *g, struct program seq, struct tensor t,
                                 struct tensor seed, uint32_t operation, const char *name);

/* A new f16 [elements]: factor with probability keep / RANDOM_CERTAIN, else 0. Elements k
 * RANDOM_BLOCK and following: prng_begin() with the seed, k, and the operation's number exclusive
 * or RANDOM_OPERATION, then prng_mask() (emu/base/prng_draw.h). */
struct tensor ss_op_mask(struct graph *g, struct program seq, uint32_t elements, uint32_t keep,
                         float factor, struct tensor seed, uint32_t operation, const char *name);

SUPERSTEP_API_END

#endif
