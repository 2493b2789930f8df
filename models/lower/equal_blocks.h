/* equal_blocks.h - blocks of a graph that are the same but for the values they read: each such
 * class can be lowered once and called.
 *
 * A stretch is the longest possible run of groups of one block (op_node.block): the forward part of
 * a block, say, or its backward part. Its values are numbered in the order in which its nodes name
 * them. Two stretches are equal if their groups have the same operators, attributes and functions
 * and name values by the same numbers; if values with the same number have the same shape, kind
 * and, for constants, contents; and if everything that the lowering may ask about the readers of
 * their results has the same answer (readers.h). Value k then has the same role in both stretches.
 */
#ifndef MODELS_EQUAL_BLOCKS_H
#define MODELS_EQUAL_BLOCKS_H

#include "models/lower/groups.h"

struct stretch {
    uint32_t begin, groups; /* [begin, begin + groups) of node_groups */
    uint32_t class;
    uint32_t *value; /* owned; by number */
};

struct block_class {
    uint32_t first; /* stretch, the first of them */
    uint32_t count; /* of stretches */
    uint32_t values;
    uint32_t *reads; /* owned; by number: how often a stretch reads it */
    uint8_t *made;   /* owned; by number: a node of the stretch makes it */
    uint8_t *asked;  /* owned; by number: it is read after one of the stretches */
};

struct equal_blocks {
    struct stretch *stretch;   /* owned; in order; only those of a class */
    struct block_class *class; /* owned */
    uint32_t stretches, classes;
};

/* Errors: EMU_NO_MEMORY. Free with equal_blocks_free, which accepts one of zeros. */
enum emu_status equal_blocks_find(const struct op_graph *g, const struct node_groups *groups,
                                  struct equal_blocks *out) EMU_MUST_CHECK;
void equal_blocks_free(struct equal_blocks *b);

/* Constants of that many numbers can be parameters of blocks. */
enum { PARAMETER_MIN = 16 };
int value_is_parameter_like(const struct op_value *v);
/* The same, but two such constants of one shape are alike, whatever they contain. */
enum emu_status equal_blocks_find_by_shape(const struct op_graph *g,
                                           const struct node_groups *groups,
                                           struct equal_blocks *out) EMU_MUST_CHECK;

/* The stretch that begins with a group; NULL: none. */
const struct stretch *equal_blocks_at(const struct equal_blocks *b, uint32_t group);
/* Whether value k, which the stretch makes, is read after the stretch. */
int stretch_is_asked(const struct op_graph *g, const struct equal_blocks *b,
                     const struct stretch *s, uint32_t k);

#endif
