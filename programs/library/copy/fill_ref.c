/* fill_ref.c - fill_u8, fill_f16, fill_f32: meaning and cycles. */
#include <string.h>

#include "programs/library/kernel/codelet_ref.h"

void fill_u8_ref(const struct codelet_call *call)
{
    memset(call->arg[fill_u8__out].data, (int)(call->arg[fill_u8__value].value & 0xff),
           call->arg[fill_u8__n].value);
}

void fill_f16_ref(const struct codelet_call *call)
{
    uint16_t *out = call->arg[fill__out].data;

    for (uint32_t i = 0; i < call->arg[fill__n].value; i++)
        out[i] = (uint16_t)call->arg[fill__value].value;
}

void fill_f32_ref(const struct codelet_call *call)
{
    uint32_t *out = call->arg[fill__out].data;

    for (uint32_t i = 0; i < call->arg[fill__n].value; i++)
        out[i] = call->arg[fill__value].value;
}

/* ---- cycles: the instructions of fill.S, counted ---- */

struct fill_shape {
    const struct arch *arch;
    unsigned bits;
    uint32_t begin, end; /* bytes; only their places in a vector matter */
};

/* Slots for bytes [at, end) of a vector, the branch back included. */
static unsigned edge_slots(unsigned bits, uint32_t at, uint32_t end)
{
    unsigned slots = 3;

    switch (bits) {
    case 8:
        return 1 + 18 * ((end + 3) / 4 - at / 4) + 1;
    case 16:
        if (at & 2) {
            slots += 5;
            at += 2;
        }
        slots += 2;
        if (at == end)
            return slots;
        slots += 2 + (end - at < 4 ? 0 : 4);
        return end - at == 4 ? slots : slots + 3 + 1;
    default:
        return 1 + 1;
    }
}

/* Slots for what is left after the whole vectors of a run that begins at a multiple of 8. */
static unsigned tail_slots(unsigned bits, uint32_t bytes)
{
    unsigned slots = 2 + (bytes & 4 ? 2 : 0);

    switch (bits) {
    case 8:
        return slots + 1 + 2 + (bytes & 3 ? 10 : 0);
    case 16:
        return slots + 2 + (bytes & 2 ? 3 : 0);
    default:
        return slots;
    }
}

static uint64_t fill_slots(const void *shape, unsigned w)
{
    const struct fill_shape *s = shape;
    uint32_t full = (s->begin + 7) & ~7u, tail = s->end & ~7u;
    uint32_t vectors = tail > full ? (tail - full) / 8 : 0;
    uint64_t slots = (s->bits == 8 ? 8 : 9) + 1 + codelet_share(s->arch, vectors, w) + 1;

    if (s->begin % 8 == 0)
        return slots + 6 + 1 + (w == s->arch->workers - 1 ? tail_slots(s->bits, s->end) : 0);
    slots += 15;
    if (w == s->arch->workers - 1) {
        uint32_t end = s->end < full ? s->end : full;

        slots += 5 + (s->begin < end ? edge_slots(s->bits, s->begin, end) : 0);
    } else if (w == s->arch->workers - 2) {
        slots += 6 + (tail >= full && tail < s->end ? edge_slots(s->bits, tail, s->end) : 0);
    }
    return slots;
}

uint64_t fill_cycles_at(const struct arch *a, unsigned bits, uint32_t out, uint32_t n)
{
    uint32_t begin = out % 8;
    struct fill_shape s = { a, bits, 8 + begin, 8 + begin + n * (bits / 8) };

    return codelet_workers_cycles(a, fill_slots, &s);
}

/* The most cycles that a call may take, wherever the run begins. */
static uint64_t fill_cycles(const struct codelet_call *call, unsigned bits)
{
    uint64_t most = 0;

    for (uint32_t out = 0; out < 8; out += bits / 8) {
        uint64_t cycles = fill_cycles_at(call->arch, bits, out, call->arg[fill__n].value);

        most = cycles > most ? cycles : most;
    }
    return most;
}

uint64_t fill_u8_cycles(const struct codelet_call *call)
{
    return fill_cycles(call, 8);
}

uint64_t fill_f16_cycles(const struct codelet_call *call)
{
    return fill_cycles(call, 16);
}

uint64_t fill_f32_cycles(const struct codelet_call *call)
{
    return fill_cycles(call, 32);
}
