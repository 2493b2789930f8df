/* emit_channels.c - the channels and zones of an image. */
#include "programs/compiler/emit/emit_channels.h"

#include <string.h>

#include "programs/compiler/emit/control.h"
#include "programs/compiler/emit/emit_index.h"

struct channel_image {
    struct image *im;
    VEC(struct image_channel_part) part;
    struct chip_part_list list;
};

/* Adds what one chip has of a channel; nothing if its program does not use it. */
static enum emu_status add_end(struct channel_image *x, const struct lowered *l, uint32_t chip,
                               uint32_t channel)
{
    int receives = l->graph->channel.at[channel].way == CHANNEL_RECEIVE;

    TRY(chip_parts_of(l, channel, &x->list));
    for (size_t i = 0; i < x->list.count; i++) {
        const struct chip_part *p = &x->list.at[i];
        struct image_channel_part out = { .chip = chip,
                                          .receives = (uint32_t)receives,
                                          .tile = p->tile,
                                          .addr = l->object.at[p->object].addr + p->offset,
                                          .bytes = p->bytes };

        TRY(VEC_PUSH(&x->part, out));
    }
    return EMU_OK;
}

/* Adds a channel by the end that sends; the other one has the same name. */
static enum emu_status add_channel(struct channel_image *x, const struct lowered *const *l,
                                   unsigned chips, uint32_t chip, uint32_t channel)
{
    const char *name = l[chip]->graph->channel.at[channel].name;
    struct image_channel out = { .name = 0 };

    x->part.count = 0;
    TRY(add_end(x, l[chip], chip, channel));
    if (!x->part.count)
        return EMU_OK;
    for (uint32_t k = 0; k < chips; k++)
        for (uint32_t i = 0; i < l[k]->graph->channel.count; i++) {
            const struct channel *c = &l[k]->graph->channel.at[i];

            if (c->way == CHANNEL_RECEIVE && !strcmp(c->name, name))
                TRY(add_end(x, l[k], k, i));
        }
    TRY(image_string(x->im, name, &out.name));
    out.parts = (uint32_t)x->part.count;
    return image_add_channel(x->im, &out, x->part.at);
}

static enum emu_status add_channels(struct channel_image *x, const struct lowered *const *l,
                                    unsigned chips)
{
    for (uint32_t k = 0; k < chips; k++)
        for (uint32_t i = 0; i < l[k]->graph->channel.count; i++)
            if (l[k]->graph->channel.at[i].way == CHANNEL_SEND)
                TRY(add_channel(x, l, chips, k, i));
    return EMU_OK;
}

static enum emu_status set_zones(const struct arch *a, struct image *im)
{
    uint32_t host = control_host_zone(a);

    if (host == SYNC_REPLICA || host == SYNC_POD)
        return FAIL(BAD_MACHINE,
                    "sync_host_zone %u: exchanges between chips have zones %d and %d: expected "
                    "another one, 7 for instance",
                    host, SYNC_REPLICA, SYNC_POD);
    TRY(image_set_zone(im, SYNC_INTERNAL, SCOPE_GROUP));
    TRY(image_set_zone(im, SYNC_CHIP, SCOPE_CHIP));
    TRY(image_set_zone(im, SYNC_REPLICA, SCOPE_REPLICA));
    TRY(image_set_zone(im, SYNC_POD, SCOPE_POD));
    return image_set_zone(im, host, SCOPE_HOST);
}

enum emu_status emit_channels(const struct lowered *const *l, unsigned chips, struct image *im)
{
    struct channel_image x = { .im = im };
    enum emu_status s = add_channels(&x, l, chips);

    VEC_FREE(&x.part);
    VEC_FREE(&x.list);
    return s == EMU_OK ? set_zones(ss_image_arch(im), im) : s;
}
