/* copy_ref.c - copy_8, copy_16, copy_32, copy_64: meaning and time. */
#include <string.h>

#include "programs/codelets/codelet_ref.h"

enum { SRC, DST, N };

static void copy(const struct codelet_call *call, unsigned bits)
{
    if (call->arg[N].value)
        memcpy(call->arg[DST].data, call->arg[SRC].data, (size_t)call->arg[N].value * (bits / 8));
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

/* ---- time: the instructions of copy.inc, counted ---- */

struct copy_shape {
    const struct arch *arch;
    unsigned bits;
    uint32_t begin, end; /* of dst, bytes; what matters is their place in a vector */
    unsigned phase;      /* bytes by which the vectors of dst lie behind those of src */
    int far;             /* src and dst: one instruction may load and store */
};

/* Pieces [at, end) of a vector, the branch back included. */
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

/* count vectors, from the test whether there are any to the exit. */
static uint64_t aligned_slots(const struct copy_shape *s, uint64_t count)
{
    return s->far ? 2 + 5 + (count - 1) : 2 + 4 + 2 * (count - 1);
}

static uint64_t shifted_slots(const struct copy_shape *s, uint64_t count)
{
    uint64_t slots = s->bits == 8 ? 2 : 0;

    if (s->phase & 1)
        return slots + 7 + 6 * count + 1;
    slots += s->bits < 32 ? 3 : 1;
    if (s->phase == 4)
        return slots + 5 + 2 * (count - 1);
    return slots + 8 + 4 * ((count - 1) / 2) + 3 * ((count - 1) % 2) + 2;
}

static uint64_t copy_slots(const void *shape, unsigned w)
{
    const struct copy_shape *s = shape;
    uint32_t full = (s->begin + 7) & ~7u, tail = s->end & ~7u;
    uint64_t count = codelet_block(s->arch, tail > full ? (tail - full) / 8 : 0, w);
    uint64_t slots = s->bits == 8 ? 22 : 23;

    if (w == s->arch->workers - 1) {
        uint32_t end = s->end < full ? s->end : full;

        slots += 5 + (s->begin < end ? edge_slots(s->bits, s->begin, end) : 0);
    } else if (w == s->arch->workers - 2) {
        slots += 6 + (tail >= full && tail < s->end ? edge_slots(s->bits, tail, s->end) : 0);
    }
    if (!count)
        return slots + 3;
    return slots + 8 + (s->phase ? shifted_slots(s, count) : aligned_slots(s, count));
}

static uint64_t copy_64_slots(const void *shape, unsigned w)
{
    const struct copy_shape *s = shape;
    uint64_t count = codelet_block(s->arch, s->end / 8, w), slots = 15;

    if (w == s->arch->workers - 1)
        slots += s->end % 8 ? 6 : 2;
    return count ? slots + 7 + aligned_slots(s, count) : slots + 3;
}

static uint64_t copy_cycles_of(const struct copy_shape *s)
{
    return codelet_workers_cycles(s->arch, s->bits == 64 ? copy_64_slots : copy_slots, s);
}

static struct copy_shape copy_shape(const struct arch *a, unsigned bits, uint32_t phase,
                                    uint32_t dst, uint32_t n)
{
    uint32_t begin = bits == 64 ? 0 : 8 + dst % 8;

    return (struct copy_shape){ a,         bits, begin, begin + n * (bits == 64 ? 4 : bits / 8),
                                phase % 8, 0 };
}

uint64_t copy_cycles_at(const struct arch *a, unsigned bits, uint32_t src, uint32_t dst, uint32_t n)
{
    struct copy_shape s = copy_shape(a, bits, src - dst, dst, n);
    uint32_t gap = src < dst ? dst - src : src - dst;

    s.far = gap >= 2 * a->element_bytes + 8;
    return copy_cycles_of(&s);
}

/* The most over all places of both runs. */
static uint64_t copy_cycles(const struct codelet_call *call, unsigned bits)
{
    uint64_t most = 0;

    for (uint32_t dst = 0; dst < 8; dst += bits / 8) {
        for (uint32_t phase = 0; phase < 8; phase += bits / 8) {
            struct copy_shape s = copy_shape(call->arch, bits, phase, dst, call->arg[N].value);

            for (s.far = 0; s.far < 2; s.far++) {
                uint64_t cycles = copy_cycles_of(&s);

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
