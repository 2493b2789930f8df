/* fast_weights.h - the weights of a tile as the fast matrix path needs them: converted, transposed
 * so that units are neighbours, with the range of their magnitudes. They are converted again when
 * the weights have changed.
 */
#ifndef EMU_FAST_WEIGHTS_H
#define EMU_FAST_WEIGHTS_H

#include "emu/fast/fast_state.h"

/* What a cache can hold: f16 weights with the ranges of the first 2, 4 or 8 units of one set or of
 * both, or f32 weights. */
enum weights_key {
    WEIGHTS_NONE,
    WEIGHTS_F16_U2,
    WEIGHTS_F16_U2_BOTH,
    WEIGHTS_F16_U4,
    WEIGHTS_F16_U4_BOTH,
    WEIGHTS_F16_U8,
    WEIGHTS_F16_U8_BOTH,
    WEIGHTS_F32
};

static inline enum weights_key weights_key(unsigned units, unsigned sets)
{
    return (enum weights_key)(WEIGHTS_F16_U2 + units / 4 * 2 + sets - 1);
}

void fast_weights_refresh(struct tile *t, enum weights_key key);

/* The cache, valid for key. Takes about 350 host cycles after the weights have changed, else only a
 * comparison. */
static inline const struct weight_cache *fast_weights(struct tile *t, enum weights_key key)
{
    if (EMU_UNLIKELY(t->fast->weights.key != key ||
                     t->fast->weights.generation != t->weight_generation))
        fast_weights_refresh(t, key);
    return &t->fast->weights;
}

#endif
