/* transpose_ref.c - transpose16_f16, transpose16_at_f16, transpose_16, transpose_32: meaning and
 * cycles. */
#include <string.h>

#include "programs/library/kernel/codelet_ref.h"

enum { BLOCK = 16 };

static void transpose_block(const uint16_t *x, uint16_t *y)
{
    for (uint32_t i = 0; i < BLOCK * BLOCK; i++)
        y[i % BLOCK * BLOCK + i / BLOCK] = x[i];
}

void transpose16_f16_ref(const struct codelet_call *call)
{
    const uint16_t *x = call->arg[transpose16__x].data;
    uint16_t *y = call->arg[transpose16__y].data;

    for (size_t b = 0; b < call->arg[transpose16__blocks].value; b++)
        transpose_block(x + b * BLOCK * BLOCK, y + b * BLOCK * BLOCK);
}

void transpose16_at_f16_ref(const struct codelet_call *call)
{
    const uint8_t *x = call->arg[transpose16_at__x].data;
    uint16_t *y = call->arg[transpose16_at__y].data;
    const uint32_t *at = call->arg[transpose16_at__at].data;

    for (size_t b = 0; b < call->arg[transpose16_at__blocks].value; b++)
        transpose_block((const uint16_t *)(x + at[b]), y + b * BLOCK * BLOCK);
}

static uint64_t transpose16_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t blocks = codelet_block(call->arch, call->arg[transpose16__blocks].value, w);

    return blocks ? 14 + 7 + 3 + 4 + (blocks > 1) + (blocks - 1) * 68 + 1 + 48 + 10 + 7 : 14 + 1;
}

uint64_t transpose16_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, transpose16_slots, call);
}

static uint64_t transpose16_at_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t blocks = codelet_block(call->arch, call->arg[transpose16_at__blocks].value, w);

    return blocks ? 15 + 11 + 3 + 4 + (blocks > 1) + (blocks - 1) * 72 + 1 + 48 + 10 + 7 : 15 + 1;
}

uint64_t transpose16_at_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, transpose16_at_slots, call);
}

/* bytes: of an element */
static void transpose(const struct codelet_call *call, unsigned bytes)
{
    size_t rows = call->arg[transpose__rows].value, cols = call->arg[transpose__cols].value;
    const uint8_t *x = call->arg[transpose__x].data;
    uint8_t *y = call->arg[transpose__y].data;

    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            memcpy(y + (c * rows + r) * bytes, x + (r * cols + c) * bytes, bytes);
    }
}

void transpose_16_ref(const struct codelet_call *call)
{
    transpose(call, 2);
}

void transpose_32_ref(const struct codelet_call *call)
{
    transpose(call, 4);
}

void transpose_f16_ref(const struct codelet_call *call)
{
    transpose(call, 2);
}

void transpose_f32_ref(const struct codelet_call *call)
{
    transpose(call, 4);
}

/* ---- cycles: the instructions of transpose_32.inc and transpose_16.inc, counted ---- */

struct transpose_shape {
    const struct arch *arch;
    uint64_t rows, cols;
    int doubles; /* of transpose_32: rows of y begin at multiples of 8 bytes */
};

static uint64_t transpose_32_slots(const void *shape, unsigned w)
{
    const struct transpose_shape *s = shape;
    uint64_t columns = codelet_share(s->arch, s->cols, w);
    uint64_t slots = 7 + 4 + 2;

    if (!columns)
        return slots + 1;
    slots += 5 + 3 + (s->rows % 2 ? 0 : 2);
    return slots + columns * (5 + (s->doubles ? 3 * s->rows / 2 : 2 * s->rows)) + 1;
}

/* The longer of both ways to store rows. */
uint64_t transpose_32_cycles(const struct codelet_call *call)
{
    struct transpose_shape s = { call->arch, call->arg[transpose__rows].value,
                                 call->arg[transpose__cols].value, 0 };

    return codelet_workers_cycles(call->arch, transpose_32_slots, &s);
}

uint64_t transpose_32_cycles_at(const struct codelet_call *call, uint32_t y)
{
    struct transpose_shape s = { call->arch, call->arg[transpose__rows].value,
                                 call->arg[transpose__cols].value, 0 };

    s.doubles = s.rows % 2 == 0 && y % 8 == 0;
    return codelet_workers_cycles(call->arch, transpose_32_slots, &s);
}

static uint64_t transpose_16_slots(const void *shape, unsigned w)
{
    const struct transpose_shape *s = shape;
    uint64_t pairs = codelet_share(s->arch, s->cols / 2, w), odd = s->rows % 2;
    uint64_t words = s->rows < 2 ? 1 : 1 + 4 + 3 * (s->rows / 2 - 1);
    uint64_t slots = 10 + 1 + 4 + 2 + s->cols % 2;

    if (s->cols % 2 && w == s->arch->workers - 1)
        slots += 5 + words + 1 + 4 * odd + 2;
    slots += 2;
    if (!pairs)
        return slots + 1;
    return slots + 5 + pairs * (1 + words + 1 + 4 * odd + 2 + odd + words + 3) + 1;
}

uint64_t transpose_16_cycles(const struct codelet_call *call)
{
    struct transpose_shape s = { call->arch, call->arg[transpose__rows].value,
                                 call->arg[transpose__cols].value, 0 };

    return codelet_workers_cycles(call->arch, transpose_16_slots, &s);
}

uint64_t transpose_f32_cycles(const struct codelet_call *call)
{
    return transpose_32_cycles(call);
}

uint64_t transpose_f16_cycles(const struct codelet_call *call)
{
    return transpose_16_cycles(call);
}
