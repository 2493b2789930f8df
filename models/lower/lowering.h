/* lowering.h - an operator graph on its way to a graph of tiles; private to models/lower.
 *
 * Every value that is on the chip is a view in its logical shape, so that moving, cutting and
 * joining cost nothing until somebody reads. Floats are all of one type, f16 or f32, or f32 up to
 * one group and f16 behind it; integers are i32; truth values are the floats 0 and 1. A value may
 * also have a field, the activation that convolutions, pools and dense layers work on; the view is
 * then a view of the field.
 */
#ifndef MODELS_LOWERING_H
#define MODELS_LOWERING_H

#include "models/lower/equal_blocks.h"
#include "models/lower/groups.h"
#include "models/lower/op_lower.h"
#include "models/lower/readers.h"

/* Hides the member of struct op_value: lowerings ask readers.h instead. */
#pragma GCC poison readers

/* Where a value is. */
struct placed {
    struct tensor view; /* in the value's shape */
    int has_view;
    struct tensor wide; /* the view in f32, kept while a group in f16 reads it rounded */
    int is_narrowed;
    struct activation field; /* channels along `axis`; positions are the other axes, in order */
    unsigned axis;
    int has_field;
    int field_is_rounded;      /* a copy for convolutions and pools of a view in f32 */
    struct activation picture; /* [n][h][w][4]: of an input for first layers */
    uint32_t storage;          /* in lowering.storage */
    int has_storage;
    /* Of a state (lower_state.h), and of what it becomes: in its shape, and the same with the
     * elements that fill it up, flat. */
    struct tensor state, state_row;
    int has_state;
    struct tensor running; /* of a running statistic in a loop: state_row itself, now a copy */
    struct tensor home;    /* of a state: memory that lies where it is to lie, flat */
    int has_home;
    /* Of a parameter: what an update takes as its gradient, with the elements that fill it up, flat
     * and where the parameter lies. Of a gradient within a function: the same. */
    struct tensor gradient;
    int has_gradient; /* it is there */
    struct tensor
        blocks; /* of weights: in the form of ss_conv_weights_home(), floats as computed */
    int has_blocks;
    struct norm_statistics statistics; /* by which a norm of the library normed it */
    uint32_t normed_by; /* how the statistics are grouped (lower_norm_train.c); 0: there are none */
    /* Whether they were used since the value was placed. */
    int view_is_read, state_is_read, statistics_are_read;
    struct tensor seed; /* of an input that is one: ss_op_seed() */
    int has_seed;
    int is_lent; /* it is where a function has made it (lent_values.h) */
};

struct lowering {
    const struct op_graph *og;
    const struct node_groups *groups;
    struct graph *g;
    struct nn *nn;
    struct program seq;
    struct program arrival; /* of what other stages send (lower_stage.h) */
    struct program after;   /* what follows the batches of a loop (lower_batches.h); else seq */
    enum elem real;         /* of floats, where the lowering is now */
    struct lowered_network *out;
    struct placed *at;      /* by value */
    struct placed *outer;   /* the same outside of functions, where states are */
    uint32_t *storage_left; /* by storage: how often what lies there is still read */
    uint8_t *storage_is_input;
    uint8_t *is_kept;  /* by value */
    uint32_t *conv_of; /* by value: the convolution whose weights, a state, it is; OP_NONE: none */
    uint64_t *load;    /* by tile: elements of weights that lie there */
    uint32_t *gradient_of; /* by value: the parameter whose gradient it is; OP_NONE: none */
    const struct lower_options *options;
    const struct equal_blocks *blocks;
    struct block_function *function; /* by class of blocks */
    struct lent_value *lent;         /* by value: what functions can lend */
    uint8_t *is_result;              /* by value: it must outlive the function that makes it */
    uint32_t *like; /* by value: the state of an equal block that it lies like; OP_NONE: none */
    uint32_t storages;
    uint32_t draws; /* operations that have drawn numbers so far */
    uint32_t group; /* that is lowered now */
    uint32_t conv;  /* the next one of out->plans */
};

/* ---- operands and results ---- */

/* The elements of a type on the chip. */
enum elem lower_elem(const struct lowering *l, enum op_type type);
/* A value as a view of its shape. A constant is made when it is first asked for. */
struct tensor lower_view(struct lowering *l, uint32_t value);
/* A value as a field with channels along an axis, of n x h x w positions; f16. What is not one is
 * copied into a new one. */
struct activation lower_field(struct lowering *l, uint32_t value, unsigned axis, uint32_t n,
                              uint32_t h, uint32_t w);
/* A new field with the numbers of a view. */
struct activation lower_field_of(struct lowering *l, struct tensor t, unsigned axis, uint32_t n,
                                 uint32_t h, uint32_t w);
/* A new field with the numbers of a view [c16][n][h][w][16], f16. */
struct activation lower_copied_field(struct lowering *l, struct tensor t, uint32_t channels);
/* Whether the numbers of a value are those of its field, so that operations may use either. */
static inline int placed_as_field(const struct placed *p)
{
    return p->has_field && !p->field_is_rounded;
}
/* Whether functions are computed on the field of a value: fields are f16, so what is to be f32 (a
 * pool's gradient plus another, say) is computed on its view, which is widened. */
int lower_computes_on_field(const struct lowering *l, uint32_t value);
/* Whether the numbers of a value are those of a field along the axis. */
int lower_has_field(const struct lowering *l, uint32_t value, unsigned axis);
/* The same for an operation that overwrites the field with its result (lower_set_field()): a copy,
 * if the field is read again later. */
struct activation lower_field_to_change(struct lowering *l, uint32_t value, unsigned axis,
                                        uint32_t n, uint32_t h, uint32_t w);
/* A value of two words as a seed of the tiles' generators: it is sent to them when first asked for.
 */
struct tensor lower_seed(struct lowering *l, uint32_t value);
/* A result, in new memory. The view may have another shape with as many elements. */
void lower_set_view(struct lowering *l, uint32_t value, struct tensor t);
void lower_set_field(struct lowering *l, uint32_t value, struct activation f, unsigned axis);
/* A result that lies where an input does: it is a view of it. */
void lower_set_alias(struct lowering *l, uint32_t value, uint32_t of, struct tensor t);
/* From now on nothing may overwrite a value, because other values are views of it. */
void lower_pin(struct lowering *l, uint32_t value);
/* The numbers of a state, f32, or a value as a view. */
struct tensor lower_state_numbers(struct lowering *l, uint32_t value);
/* Weights of a convolution: in the form of ss_conv_weights_home(), or [out][in][rows][columns]. */
struct tensor lower_weights(struct lowering *l, uint32_t value);
/* The statistics by which a norm of the library normed a value. */
const struct norm_statistics *lower_statistics(struct lowering *l, uint32_t value);
/* A value within a function: where its caller copies it to. reads: of the function. */
void lower_set_formal(struct lowering *l, uint32_t value, const struct placed *p, uint32_t reads);
/* The same for a value that is read where another function has made it. only: nothing else reads it
 * there. */
void lower_set_lent(struct lowering *l, uint32_t value, const struct placed *p, uint32_t reads,
                    int only);
/* A value has been read once. */
void lower_read_once(struct lowering *l, uint32_t value);
/* A value that has just been made, for reading after the run: where it was computed. */
struct tensor lower_made_view(struct lowering *l, uint32_t value);
/* Sets the first result of a node that only says which element of its first input goes where;
 * what comes from nowhere is `fill`. Other inputs are constants. */
enum emu_status lower_moved(struct lowering *l, const struct op_node *n, double fill);

/* What a list of indices picks along a dimension of t; those below 0 stand for `fill`. */
struct tensor lower_pick(struct lowering *l, struct tensor t, unsigned dim, const int64_t *index,
                         uint32_t count, double fill);

static inline const struct op_shape *lower_shape(const struct lowering *l, uint32_t value)
{
    return &l->og->value[value].shape;
}
static inline int lower_is_constant(const struct lowering *l, uint32_t value)
{
    return op_value_constant_kind(&l->og->value[value]);
}
/* Whether a value is a constant of one number, and which. */
int lower_scalar(const struct lowering *l, uint32_t value, double *number);

/* A field as a matrix whose columns are channels, those included that fill up blocks: rows are the
 * positions of all items, or, if each item has columns of its own, those of one. */
struct tensor lower_field_columns(struct lowering *l, const struct activation *f, int each_item);

/* A field of one position [n][c][1][1] again at all positions of a shape [n][c][h][w]. */
struct activation lower_spread_field(struct lowering *l, struct activation x,
                                     const struct op_shape *to, const char *name);

/* ---- views ---- */

struct tensor lower_reshape(struct lowering *l, struct tensor t, const struct op_shape *to);
/* t seen in the shape that numpy's broadcasting gives it. */
struct tensor lower_broadcast(struct lowering *l, struct tensor t, const struct op_shape *to);
/* Axis moved behind the others: [others ..][axis] as two dimensions, and back. */
struct tensor lower_rows(struct lowering *l, struct tensor t, unsigned axis);
struct tensor lower_from_rows(struct lowering *l, struct tensor t, const struct op_shape *to,
                              unsigned axis);
/* A constant of that shape, all of whose elements are one number: a broadcast view. */
struct tensor lower_filled(struct lowering *l, enum elem e, const struct op_shape *s,
                           double number);
/* A constant with given numbers; as op_value_read() gives them. */
struct tensor lower_numbers(struct lowering *l, enum elem e, const struct op_tensor *t,
                            const char *name);
/* The same in f16, each number once for every channel of a block: [..][16]. */
struct tensor lower_lanes(struct lowering *l, const struct op_tensor *t, const char *name);
/* What a view, of the shape of a value, contains at the start: the numbers of the value, if it has
 * some. */
void lower_set_initial(struct lowering *l, struct tensor t, uint32_t value);

/* ---- families ---- */

/* Lowers a group whose first node is of the family. Errors: those of the graph; others are
 * EMU_BAD_FILE and name what is missing. */
typedef enum emu_status lower_group(struct lowering *l, const struct node_group *group,
                                    const struct op_node *n);
/* Why a node cannot be lowered, in words; NULL: it can. */
typedef const char *lower_obstacle(const struct op_graph *g, const struct op_node *n);

struct lower_family {
    lower_group *lower;       /* NULL: none is built */
    lower_obstacle *obstacle; /* NULL: nothing of the family is in the way */
};

lower_group lower_alias, lower_binary, lower_cast, lower_conv_back, lower_dense, lower_gather,
    lower_group_norm, lower_loss, lower_matmul, lower_norm, lower_norm_back, lower_norm_train,
    lower_pool, lower_random, lower_recurrent, lower_reduce, lower_resize, lower_slice, lower_slope,
    lower_softmax, lower_unary, lower_update, lower_view_node;
lower_obstacle conv_back_obstacle, recurrent_obstacle, dense_obstacle, binary_obstacle,
    unary_obstacle, slice_obstacle, loss_obstacle, norm_obstacle, pool_obstacle, reduce_obstacle,
    slope_obstacle, softmax_obstacle, matmul_obstacle, cast_obstacle, gather_obstacle,
    resize_obstacle, random_obstacle, update_obstacle;

/* The gradient of weights that a node makes, from its form in blocks. */
struct tensor lower_gradient_of_blocks(struct lowering *l, const struct op_node *n,
                                       struct tensor blocks);

/* The weights of a convolution from their form in blocks (lower_state.c). */
struct tensor lower_of_blocks(struct lowering *l, uint32_t state, struct tensor blocks);

/* The result of a group whose first node is a norm: t times number[0] plus number[1], which
 * broadcast to it, and the activation function of the group. */
void lower_scaled(struct lowering *l, const struct node_group *group, struct tensor t,
                  const struct op_tensor number[2], const char *name);

/* Lowers a group of nodes. */
enum emu_status lower_one(struct lowering *l, const struct node_group *group) EMU_MUST_CHECK;

/* ConvTranspose, which belongs to the family of Conv. */
enum emu_status lower_conv_transpose(struct lowering *l, const struct op_node *n);
lower_obstacle conv_transpose_obstacle;

/* Called after the last group in f32 of a network whose other groups are f16: values that are read
 * later are rounded, and l->real is f16 from here on. */
void lower_narrow(struct lowering *l);
/* Losses, statistics and gradients of parameters are f32 also among values that are f16: what
 * computes in f16 reads such a value rounded, until it is widened again. */
void lower_narrow_value(struct lowering *l, uint32_t value);
void lower_widen_value(struct lowering *l, uint32_t value);
/* A value for a group in f32 among others that are f16: its view is a copy in f32 until
 * lower_as_before(). takes_f16: the group takes f16 as it is. OP_NONE and integers: nothing is
 * done. */
void lower_as_wide(struct lowering *l, uint32_t value, int takes_f16, struct placed *before);
void lower_as_before(struct lowering *l, uint32_t value, const struct placed *before);
/* A result in f32 becomes f16. */
void lower_round_value(struct lowering *l, uint32_t value);

/* A call of a node's family that knows shapes and attributes. */
struct op_call lower_call(const struct lowering *l, const struct op_node *n);
/* The attribute `axis`, counted from the first dimension of the first input. */
unsigned lower_axis(const struct lowering *l, const struct op_node *n);

#endif
