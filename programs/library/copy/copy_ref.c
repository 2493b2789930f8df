/* copy_ref.c - copy_8, copy_16, copy_32, copy_64: meaning and cycles. */
#include <string.h>

#include "programs/library/kernel/codelet_ref.h"

static void copy(const struct codelet_call *call, unsigned bits)
{
    if (call->arg[copy__n].value)
        memcpy(call->arg[copy__dst].data, call->arg[copy__src].data,
               (size_t)call->arg[copy__n].value * (bits / 8));
}

void copy_8_ref(const struct codelet_call *call)
{
    copy(call, 8);
}

void copy_16_ref(const struct codelet_call *call)
{
    copy(call, 16);
}

void copy_32_ref(const struct codelet_call *call)
{
    copy(call, 32);
}

void copy_64_ref(const struct codelet_call *call)
{
    copy(call, 32);
}

/* ---- cycles: the instructions of copy.S, counted ---- */

enum { PACED_LEAST = 13 }; /* as in copy.S */

/* What a worker finds out about src and dst if both begin at multiples of 8. */
enum copy_place { COPY_SLOW, COPY_FAR, COPY_PACED, COPY_CROSS, COPY_PLACES };

struct copy_shape {
    const struct arch *arch;
    unsigned bits;
    uint32_t src, dst, bytes;
    enum copy_place place;
    int placed; /* 1: src and dst are addresses; 0: only their places in a vector, and `place`
                   counts */
};

/* Slots for bytes [at, end) of a vector, the branch back included. */
static unsigned edge_slots(unsigned bits, uint32_t at, uint32_t end)
{
    unsigned slots = 3;

    switch (bits) {
    case 8:
        return 32 * ((end + 3) / 4 - at / 4) + 1;
    case 16:
        if (at & 2) {
            slots += 5;
            at += 2;
        }
        slots += 2;
        if (at == end)
            return slots;
        slots += 3;
        if (end - at < 4)
            return slots + 3 + 1;
        return end - at == 4 ? slots + 5 : slots + 5 + 1 + 3 + 1;
    default:
        return 3 + 1;
    }
}

static enum copy_place place_of(const struct copy_shape *s, uint32_t src, uint32_t dst)
{
    uint32_t gap = src < dst ? dst - src : src - dst, first = src < dst ? src : dst;

    if (gap >= 2 * s->arch->element_bytes + 8)
        return COPY_FAR;
    if (first < s->arch->mem_base + s->arch->region0_bytes)
        return COPY_SLOW;
    return (src ^ dst) & 8 ? COPY_CROSS : COPY_PACED;
}

/* Slots for `count` vectors from byte `at` of dst on, from the test whether one instruction can
 * both load and store, to the exit. */
static uint64_t aligned_slots(const struct copy_shape *s, uint32_t at, uint64_t count)
{
    enum copy_place place = s->placed ? place_of(s, at + (s->src - s->dst), at) : s->place;
    uint64_t slots = 2;

    if (place == COPY_FAR)
        return slots + 5 + (count - 1);
    slots += 2;
    if (count >= PACED_LEAST)
        slots += 4 + (place == COPY_SLOW ? 0 : 3);
    if (count < PACED_LEAST || place == COPY_SLOW)
        return slots + 4 + 2 * (count - 1);
    return slots + (place == COPY_PACED ? 5 + (count - 1) : 8 + (count - 2) + 3);
}

static uint64_t shifted_slots(const struct copy_shape *s, unsigned phase, uint64_t count)
{
    uint64_t slots = s->bits == 8 ? 2 : 0;

    if (phase & 1)
        return slots + 7 + 6 * count + 1;
    slots += s->bits < 32 ? 3 : 1;
    if (phase == 4)
        return slots + 5 + 2 * (count - 1);
    return slots + 8 + 4 * ((count - 1) / 2) + 3 * ((count - 1) % 2) + 2;
}

static uint64_t copy_slots(const void *shape, unsigned w)
{
    const struct copy_shape *s = shape;
    uint32_t begin = s->dst, stop = begin + s->bytes, full = (begin + 7) & ~7u, tail = stop & ~7u;
    uint64_t vectors = tail > full ? (tail - full) / 8 : 0;
    uint64_t count = codelet_block(s->arch, vectors, w), slots = s->bits == 8 ? 22 : 23;
    unsigned phase = (s->src - s->dst) % 8;

    if (w == s->arch->workers - 1) {
        uint32_t end = stop < full ? stop : full;

        slots += 5 + (begin < end ? edge_slots(s->bits, begin, end) : 0);
    } else if (w == s->arch->workers - 2) {
        slots += 6 + (tail >= full && tail < stop ? edge_slots(s->bits, tail, stop) : 0);
    }
    if (!count)
        return slots + 3;
    slots += 8;
    if (phase)
        return slots + shifted_slots(s, phase, count);
    full += 8 * w * (uint32_t)codelet_block(s->arch, vectors, 0);
    return slots + aligned_slots(s, full, count);
}

static uint64_t copy_64_slots(const void *shape, unsigned w)
{
    const struct copy_shape *s = shape;
    uint64_t vectors = s->bytes / 8, count = codelet_block(s->arch, vectors, w), slots = 15;

    if (w == s->arch->workers - 1)
        slots += s->bytes % 8 ? 6 : 2;
    if (!count)
        return slots + 3;
    return slots + 7 +
           aligned_slots(s, s->dst + 8 * w * (uint32_t)codelet_block(s->arch, vectors, 0), count);
}

static uint64_t copy_cycles_of(const struct copy_shape *s)
{
    return codelet_workers_cycles(s->arch, s->bits == 64 ? copy_64_slots : copy_slots, s);
}

static uint32_t copy_bytes(unsigned bits, uint32_t n)
{
    return n * (bits == 64 ? 4 : bits / 8);
}

uint64_t copy_cycles_at(const struct arch *a, unsigned bits, uint32_t src, uint32_t dst, uint32_t n)
{
    struct copy_shape s = { a, bits, src, dst, copy_bytes(bits, n), COPY_SLOW, 1 };

    return copy_cycles_of(&s);
}

/* The most cycles that a call may take, wherever both runs lie. */
static uint64_t copy_cycles(const struct codelet_call *call, unsigned bits)
{
    struct copy_shape s = { .arch = call->arch, .bits = bits };
    uint64_t most = 0;

    s.bytes = copy_bytes(bits, call->arg[copy__n].value);
    for (s.dst = 8; s.dst < 16; s.dst += bits / 8) {
        for (s.src = 8; s.src < 16; s.src += bits / 8) {
            for (unsigned place = 0; place < COPY_PLACES; place++) {
                uint64_t cycles;

                s.place = (enum copy_place)place;
                cycles = copy_cycles_of(&s);
                most = cycles > most ? cycles : most;
            }
        }
    }
    return most;
}

uint64_t copy_8_cycles(const struct codelet_call *call)
{
    return copy_cycles(call, 8);
}

uint64_t copy_16_cycles(const struct codelet_call *call)
{
    return copy_cycles(call, 16);
}

uint64_t copy_32_cycles(const struct codelet_call *call)
{
    return copy_cycles(call, 32);
}

uint64_t copy_64_cycles(const struct codelet_call *call)
{
    return copy_cycles(call, 64);
}
