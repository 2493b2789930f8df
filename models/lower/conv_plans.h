/* conv_plans.h - plans for all convolutions of a program that together fit the memory of one chip:
 * which parameters stay on the tiles that use them, which are fetched, and how much memory a layer
 * may take while it runs. The choice minimises the sum of predicted cycles.
 */
#ifndef MODELS_CONV_PLANS_H
#define MODELS_CONV_PLANS_H

#include "programs/programs.h"

/* A convolution of the program. */
struct conv_request {
    struct conv_shape shape;
    uint64_t live; /* bytes on the fullest tile while it runs, besides its own */
};

/* What plans are chosen for. */
struct conv_demand {
    const struct conv_request *conv; /* borrowed */
    uint32_t convs;
    uint64_t fixed_bytes; /* bytes of a tile that the choice cannot use: code, other parameters */
    uint64_t other_live;  /* most bytes on a tile while something else runs */
    int least_memory; /* 1: take the plans that need least, even if others are expected to fit */
    /* Shares of a tile's memory, 0 to 1; 0: what the rest leaves. */
    double memory_proportion;    /* for the temporaries of one layer */
    double parameter_proportion; /* for the parameters of convolutions */
};

struct conv_plans {
    struct conv_plan *plan;  /* owned; one for each request */
    uint32_t convs, fetched; /* fetched: convolutions whose parameters are fetched */
    /* Expected bytes on the fullest tile. */
    uint64_t resident_bytes; /* parameters of convolutions, which stay */
    uint64_t peak_bytes;     /* everything, at the worst moment */
    uint64_t cycles;         /* predicted, of all convolutions */
    int fits;                /* 1: a tile has peak_bytes; 0: these are the plans that need least */
};

/* Plans for the first `tiles` tiles of a chip. Errors: those of ss_plan_conv(), EMU_NO_MEMORY. Free
 * with conv_plans_free. */
enum emu_status conv_plans_choose(const struct arch *a, uint32_t tiles, const struct conv_demand *d,
                                  struct conv_plans *out) EMU_MUST_CHECK;
void conv_plans_free(struct conv_plans *p);

/* The bytes on the fullest tile of something that has `bytes` bytes on all tiles together:
 * activations, and parameters that are cut into few parts, are not spread evenly. */
uint64_t conv_plans_on_a_tile(uint64_t bytes, uint32_t tiles);
/* Bytes of a tile that a program with `layers` layers never leaves for the choice: codelets, vertex
 * state, work lists, and a reserve, since all this is an estimate. */
uint64_t conv_plans_fixed(const struct arch *a, uint32_t layers);

#endif
