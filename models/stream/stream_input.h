/* stream_input.h - loads pictures ahead of need, as batches in the layout and type in which they
 * cross the host link.
 */
#ifndef MODELS_STREAM_INPUT_H
#define MODELS_STREAM_INPUT_H

#include "models/stream/stream_run.h"

struct stream_input {
    const struct stream_network *net; /* borrowed, like calls */
    const struct stream_calls *calls;
    struct pixel_format pixels;
    int by_pixel;          /* 1: [height][width][3]; 0: [3][height][width] */
    size_t batch_elements; /* of a batch on the link; elements after its last picture are 0 */
    uint32_t slots;        /* batch b is in slot b % slots */
    uint8_t *data;         /* owned; [slots] batches */
    uint32_t *pictures;    /* owned; [slots]: how many pictures the batch has */
    uint8_t *rgb;          /* owned; one picture */
    uint64_t loaded;       /* batches loaded so far */
    int end;               /* there are no more pictures */
};

/* elem, by_pixel: how pictures cross the link. The caller sets x->calls afterwards. EMU_NO_MEMORY.
 * Free with stream_input_free, also on failure. */
enum emu_status stream_input_init(struct stream_input *x, const struct stream_network *net,
                                  enum elem elem, int by_pixel, size_t batch_elements,
                                  uint32_t slots) EMU_MUST_CHECK;
void stream_input_free(struct stream_input *x);

/* Loads batches up to number `batch`. *has: whether there is such a batch. Errors: those of
 * calls->next(). */
enum emu_status stream_input_has(struct stream_input *x, uint64_t batch, int *has) EMU_MUST_CHECK;
/* The elements of one of the last `slots` batches loaded, borrowed until its slot is used again;
 * *pictures: how many it has. */
const void *stream_input_batch(const struct stream_input *x, uint64_t batch, uint32_t *pictures);

#endif
