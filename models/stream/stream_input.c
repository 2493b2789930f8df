/* stream_input.c - asks for pictures and converts them into batches (see stream_input.h). */
#include "emu/base/alloc.h"
#include "models/stream/stream_input.h"

#include <string.h>

enum { CHANNELS = 3 };

static size_t batch_bytes(const struct stream_input *x)
{
    return x->batch_elements * ss_elem_bytes(x->pixels.elem);
}

enum emu_status stream_input_init(struct stream_input *x, const struct stream_network *net,
                                  enum elem elem, int by_pixel, size_t batch_elements,
                                  uint32_t slots)
{
    *x = (struct stream_input){ .net = net,
                                .pixels = picture_pixels(net->recipe.mean, net->recipe.std, elem),
                                .by_pixel = by_pixel,
                                .batch_elements = batch_elements,
                                .slots = slots };
    x->data = emu_alloc(slots, batch_bytes(x));
    x->pictures = emu_alloc(slots, sizeof(*x->pictures));
    x->rgb = emu_alloc((size_t)net->recipe.width * net->recipe.height, CHANNELS);
    return x->data && x->pictures && x->rgb ? EMU_OK
                                            : FAIL(NO_MEMORY, "%u batches of pictures", slots);
}

void stream_input_free(struct stream_input *x)
{
    ss_free(x->data);
    ss_free(x->pictures);
    ss_free(x->rgb);
}

static void convert(const struct stream_input *x, uint8_t *batch, uint32_t picture)
{
    size_t plane = (size_t)x->net->recipe.width * x->net->recipe.height;

    for (size_t i = 0; i < plane * CHANNELS; i++) {
        unsigned channel = i % CHANNELS;
        size_t at = picture * plane * CHANNELS + (x->by_pixel ? i : channel * plane + i / CHANNELS);
        uint16_t half = x->pixels.table[channel][x->rgb[i]];
        float v = x->pixels.number[channel][x->rgb[i]];

        if (x->pixels.elem == ELEM_U8)
            batch[at] = x->rgb[i];
        else if (x->pixels.elem == ELEM_F16)
            memcpy(batch + at * sizeof(half), &half, sizeof(half));
        else
            memcpy(batch + at * sizeof(v), &v, sizeof(v));
    }
}

static enum emu_status load_batch(struct stream_input *x)
{
    uint64_t slot = x->loaded % x->slots;
    uint8_t *batch = x->data + slot * batch_bytes(x);
    uint32_t n = 0;

    memset(batch, 0, batch_bytes(x));
    while (n < x->net->batch && !x->end) {
        int more = !x->calls->stop || !x->calls->stop(x->calls->ctx);

        if (more)
            TRY(x->calls->next(x->calls->ctx, x->rgb, &more));
        x->end = !more;
        if (more)
            convert(x, batch, n++);
    }
    x->pictures[slot] = n;
    x->loaded += n != 0;
    return EMU_OK;
}

enum emu_status stream_input_has(struct stream_input *x, uint64_t batch, int *has)
{
    while (x->loaded <= batch && !x->end)
        TRY(load_batch(x));
    *has = x->loaded > batch;
    return EMU_OK;
}

const void *stream_input_batch(const struct stream_input *x, uint64_t batch, uint32_t *pictures)
{
    EMU_ASSERT(batch < x->loaded && x->loaded - batch <= x->slots);
    *pictures = x->pictures[batch % x->slots];
    return x->data + batch % x->slots * batch_bytes(x);
}
