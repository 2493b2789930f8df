/* stream_input.h - batches of pictures in the order and type in which they cross the link, ahead of
 * need.
 */
#ifndef MODELS_STREAM_INPUT_H
#define MODELS_STREAM_INPUT_H

#include "models/stream/stream_run.h"

struct stream_input {
    const struct net *net; /* borrowed, like calls */
    const struct stream_calls *calls;
    enum elem elem;
    size_t batch_elements; /* rounded up: what is after the pictures is 0 */
    uint32_t slots;
    uint8_t *data;      /* owned [slots] batches */
    uint32_t *pictures; /* owned [slots] */
    uint8_t *rgb;       /* owned: one picture */
    uint64_t loaded;    /* batches */
    int end;
};

enum emu_status stream_input_init(struct stream_input *x, const struct net *net, enum elem elem,
                                  size_t batch_elements, uint32_t slots) EMU_MUST_CHECK;
void stream_input_free(struct stream_input *x);

/* Whether there is a batch of this number; loads it, and those before it. */
enum emu_status stream_input_has(struct stream_input *x, uint64_t batch, int *has) EMU_MUST_CHECK;
/* Of a batch that is there and at most slots - 1 after the last one loaded. */
const void *stream_input_batch(const struct stream_input *x, uint64_t batch, uint32_t *pictures);

/* How the chip is told of pictures of this type; u8 become there what f16 are here, to the bit. */
struct colours stream_input_pixels(const struct net *net, enum elem elem);

#endif
