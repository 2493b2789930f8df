/* conv_plan.h - how a convolution is cut over tiles.
 *
 * GEMM: kernel 1 (or any kernel seen as shifted windows): positions, input channels, output
 * channels. DEPTHWISE: channels, rows, columns. FIRST: 3 or 4 input channels: rows, columns, output
 * channels. All cuts are tried; cost = input exchange (with halo) + compute by the codelets' own
 * formulas + exchange and reduction of partial results + syncs.
 */
#ifndef PROGRAMS_PLAN_CONV_H
#define PROGRAMS_PLAN_CONV_H

#include "programs/library/layout/plan.h"

enum conv_method { CONV_GEMM, CONV_WINDOW, CONV_DEPTHWISE, CONV_FIRST, CONV_POOL };
const char *conv_method_name(enum conv_method m);

struct conv_shape {
    uint32_t n, in_c, in_h, in_w, out_c, out_h, out_w, kernel, stride, groups;
    uint32_t pad;         /* rows or columns of zeros on the wider side: the halo of a border */
    uint32_t swish, relu; /* 1: that activation function follows */
    uint32_t add;         /* 1: another activation is added */
    uint32_t bias;        /* 1: there are biases that are not zero */
    uint32_t f32;         /* 1: partial sums in f32 */
    /* Cycles that a KiB of parameters on a tile is worth: they stay there for the whole program. */
    uint32_t kib_price;
};

struct conv_plan {
    struct conv_shape shape;
    enum conv_method method;
    /* Parts of: pictures, rows of the output (GEMM: positions), columns, blocks of 16 output
     * channels (or of groups), blocks of 16 input channels (groups: rows of the kernel). Their
     * product is the tiles used. */
    uint32_t cut_n, cut_h, cut_w, cut_out, cut_in;
    uint32_t first_tile, tiles;
    /* Piece k lies on tile number k + turn of these, around the end; partial sums of a group of
     * cut_in tiles are added up on the group sum_rotation further on. So that what a tile needs
     * comes from others: what lies there already would be copied, at a higher cost than an
     * exchange. */
    uint32_t turn, sum_rotation;
    struct plan_port port;
    /* Parameters: held by every tile that uses them for the whole program, or fetched: each part is
     * on one of those tiles, and sent to the others together with their input. */
    int fetched;
    uint64_t weight_bytes;   /* that the busiest tile uses */
    uint64_t resident_bytes; /* that it holds; fetched: on average */
    struct plan_cost cost;
};

/* The tile of piece k of a plan: (output piece) x cut_in + part of the input. */
static inline uint32_t conv_plan_tile(const struct conv_plan *p, uint64_t k)
{
    return p->first_tile + (uint32_t)((k + p->turn) % p->tiles);
}

/* How the tiles with partial results of the same output share the rows of 16 values of their sum,
 * numbered position by position, block by block: evenly, or each within one block, which saves a
 * call where even shares would reach into a second one. */
struct conv_shares {
    uint32_t blocks, positions, parts;
    int by_block;
    uint64_t words, calls, cycles; /* of the largest share: words of each term; of the codelet */
};
struct conv_shares conv_shares(const struct arch *a, const struct conv_plan *p, uint32_t blocks,
                               uint32_t positions);
/* First row of share i; of `parts`: after the last. */
uint32_t conv_share_begin(const struct conv_shares *s, uint32_t i);
/* The share that a row belongs to. */
uint32_t conv_share_with(const struct conv_shares *s, uint32_t row);

/* Whether a convolution is a first layer: of pictures [n][h][w][4]. Needs in_c, groups, kernel,
 * stride. */
int conv_is_first(const struct conv_shape *s);

/* Whether there is a way to make a convolution on a machine. EMU_USAGE: a shape that no method
 * takes, or a kernel with an instruction that the machine has not, named. */
enum emu_status conv_check(const struct arch *a, const struct conv_shape *s) EMU_MUST_CHECK;

/* The cheapest plan, the price of its parameters included, on tiles [first_tile, first_tile +
 * tiles) within memory_bytes of temporary memory a tile, else the one that needs least. EMU_USAGE
 * for shapes that no method takes. */
enum emu_status plan_conv(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                          uint32_t tiles, uint64_t memory_bytes,
                          struct conv_plan *out) EMU_MUST_CHECK;

/* The same for maxima of windows: as a convolution of in_c = out_c = groups channels. */
enum emu_status plan_pool(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                          uint32_t tiles, uint64_t memory_bytes,
                          struct conv_plan *out) EMU_MUST_CHECK;

/* Plans of a shape, fastest first: for every other plan there is one here that is no slower and
 * needs no more memory of either kind (in steps of a 256th of a tile's). */
struct conv_choice {
    struct conv_plan *plan; /* owned */
    size_t count;
};

/* All plans worth choosing from; kib_price of the shape is not looked at. Errors: as plan_conv, and
 * EMU_NO_MEMORY. Free with conv_choice_free. */
enum emu_status plan_conv_choice(const struct arch *a, const struct conv_shape *s,
                                 uint32_t first_tile, uint32_t tiles,
                                 struct conv_choice *out) EMU_MUST_CHECK;
void conv_choice_free(struct conv_choice *c);

#endif
