/* augment.h - pictures as training wants them: drawn pieces, mirrored, in the network's size. */
#ifndef MODELS_AUGMENT_H
#define MODELS_AUGMENT_H

#include "models/picture/picture.h"

enum augment {
    AUGMENT_NONE,  /* all of the picture */
    AUGMENT_FLIP,  /* mirrored, every other time */
    AUGMENT_SHIFT, /* and moved by up to an eighth of the side, with black from outside */
    AUGMENT_CROP   /* a piece of 8 to 100 % of the area, 3:4 to 4:3, mirrored every other time */
};

/* p changed by what the seed draws, as width x height. Errors: EMU_NO_MEMORY. Free *out with
 * picture_free. */
enum emu_status augment_picture(const struct picture *p, enum augment how, uint64_t seed,
                                uint32_t width, uint32_t height,
                                struct picture *out) EMU_MUST_CHECK;

#endif
