/* pixels_ref.c - pictures with three channels a pixel to four f16 a pixel, and bytes by a table:
 * meaning and cycles. */
#include "programs/library/kernel/codelet_ref.h"

enum { CHANNELS = 3, BYTES = 256, LANES = 4 };
enum { GROUP = 4 * LANES, LOOKED_UP = 4 /* elements of y of a group */ };

void pixels_u8_ref(const struct codelet_call *call)
{
    const uint8_t *x = call->arg[pixels__x].data;
    const uint16_t *table = call->arg[pixels_u8__table].data;
    uint16_t *y = call->arg[pixels_u8__y].data;

    for (uint32_t i = 0; i < call->arg[pixels_u8__n].value; i++) {
        uint32_t c = i % LANES;

        y[i] = c < CHANNELS ? table[BYTES * c + x[i / LANES * CHANNELS + c]] : 0;
    }
}

void pixels_f16_ref(const struct codelet_call *call)
{
    const uint16_t *x = call->arg[pixels__x].data;
    uint16_t *y = call->arg[pixels__y].data;

    for (uint32_t i = 0; i < call->arg[pixels__n].value; i++)
        y[i] = i % LANES < CHANNELS ? x[i / LANES * CHANNELS + i % LANES] : 0;
}

void pixels_f32_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[pixels__x].data;
    uint16_t *y = call->arg[pixels__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[pixels__n].value; i++)
        y[i] = i % LANES < CHANNELS ? fp_f16_from_f32(x[i / LANES * CHANNELS + i % LANES], 0, &env)
                                    : 0;
}

void lookup_u8_f16_ref(const struct codelet_call *call)
{
    const uint8_t *x = call->arg[lookup_u8__x].data;
    const uint16_t *table = call->arg[lookup_u8__table].data;
    uint16_t *y = call->arg[lookup_u8__y].data;

    for (uint32_t i = 0; i < call->arg[lookup_u8__n].value; i++)
        y[i] = table[x[i]];
}

void lookup_u8_f32_ref(const struct codelet_call *call)
{
    const uint8_t *x = call->arg[lookup_u8__x].data;
    const uint32_t *table = call->arg[lookup_u8__table].data;
    uint32_t *y = call->arg[lookup_u8__y].data;

    for (uint32_t i = 0; i < call->arg[lookup_u8__n].value; i++)
        y[i] = table[x[i]];
}

/* ---- cycles ---- */

struct pixels_shape {
    const struct arch *arch;
    uint32_t groups, before, each; /* slots before the loop, and of a group in it */
};

static uint64_t pixels_slots(const void *shape, unsigned w)
{
    enum { HEAD = 17, EXIT = 1 };
    const struct pixels_shape *s = shape;
    uint64_t groups = codelet_share(s->arch, s->groups, w);

    return HEAD + EXIT + (groups ? s->before + s->each * groups : 0);
}

static uint64_t pixels_cycles(const struct codelet_call *call, uint32_t groups, uint32_t before,
                              uint32_t each)
{
    const struct pixels_shape s = { call->arch, groups, before, each };

    return codelet_workers_cycles(call->arch, pixels_slots, &s);
}

uint64_t pixels_u8_cycles(const struct codelet_call *call)
{
    return pixels_cycles(call, call->arg[pixels_u8__n].value / GROUP, 3, 4 * 9 + 1);
}

uint64_t pixels_f16_cycles(const struct codelet_call *call)
{
    return pixels_cycles(call, call->arg[pixels__n].value / GROUP, 0, 2 * 10 + 2);
}

uint64_t pixels_f32_cycles(const struct codelet_call *call)
{
    return pixels_cycles(call, call->arg[pixels__n].value / GROUP, 0, 1 + 6 + 2 + 6 + 2);
}

uint64_t lookup_u8_f16_cycles(const struct codelet_call *call)
{
    return pixels_cycles(call, call->arg[lookup_u8__n].value / LOOKED_UP, 1, 4 + 4 + 2 + 2 + 1);
}

uint64_t lookup_u8_f32_cycles(const struct codelet_call *call)
{
    return pixels_cycles(call, call->arg[lookup_u8__n].value / LOOKED_UP, 1, 4 + 4 + 4 + 1);
}
