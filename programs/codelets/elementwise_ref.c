/* elementwise_ref.c - the time of unary, binary, channel and cast codelets: the instructions of
 * their .inc files, counted.
 */
#include "programs/codelets/elementwise_ref.h"

#include <string.h>

enum { FAST_LEAST = 8, FAST_ROWS = 5, FAST_STEP = 512 }; /* as in elementwise.inc, channel.inc */

#define SLOTS(field) offsetof(struct arch, slots_##field)
#define BINARY(op)                                                                                 \
    { #op "_f16", ELEMENTWISE_BINARY, 4, 1, { 0 } },                                               \
        { #op "_f32", ELEMENTWISE_BINARY, 2, 1, { 0 } },                                           \
        { #op "_inplace_f16", ELEMENTWISE_INPLACE, 4, 1, { 0 } },                                  \
        { #op "_inplace_f32", ELEMENTWISE_INPLACE, 2, 1, { 0 } },                                  \
        { #op "_scalar_f16", ELEMENTWISE_SCALAR, 4, 1, { 0 } },                                    \
        { #op "_scalar_f32", ELEMENTWISE_SCALAR, 2, 1, { 0 } },                                    \
        { #op "_channel_f16", ELEMENTWISE_CHANNEL, 4, 1, { 0 } },                                  \
    {                                                                                              \
#op "_channel_f32", ELEMENTWISE_CHANNEL, 2, 1,                                             \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define UNARY(name, width, slots)                                                                  \
    {                                                                                              \
#name, ELEMENTWISE_UNARY, width, 2,                                                        \
        {                                                                                          \
            SLOTS(slots), SLOTS(slots)                                                             \
        }                                                                                          \
    }
#define ROOT_F16(name, slots)                                                                      \
    {                                                                                              \
#name, ELEMENTWISE_UNARY, 4, 7,                                                            \
        {                                                                                          \
            0, 0, SLOTS(slots), SLOTS(slots), SLOTS(slots), SLOTS(slots), 0                        \
        }                                                                                          \
    }

static const struct elementwise elementwise_table[] = {
    BINARY(add),
    BINARY(sub),
    BINARY(mul),
    BINARY(max),
    { "axpy_f16", ELEMENTWISE_AXPY, 4, 2, { 0 } },
    { "axpy_f32", ELEMENTWISE_AXPY, 2, 2, { 0 } },
    { "relu_f16", ELEMENTWISE_UNARY, 4, 1, { 0 } },
    { "relu_f32", ELEMENTWISE_UNARY, 2, 1, { 0 } },
    UNARY(sigmoid_f16, 4, f16sigm),
    UNARY(sigmoid_f32, 2, f32sigm),
    { "swish_f16", ELEMENTWISE_UNARY, 4, 3, { SLOTS(f16sigm), SLOTS(f16sigm), 0 } },
    { "swish_f32", ELEMENTWISE_UNARY, 2, 3, { SLOTS(f32sigm), SLOTS(f32sigm), 0 } },
    UNARY(tanh_f16, 4, f16tanh),
    UNARY(tanh_f32, 2, f32tanh),
    UNARY(exp_f16, 4, f16exp),
    UNARY(exp_f32, 2, f32exp),
    ROOT_F16(sqrt_f16, f32sqrt),
    ROOT_F16(rsqrt_f16, f32oorx),
    UNARY(sqrt_f32, 2, f32sqrt),
    UNARY(rsqrt_f32, 2, f32oorx),
    { "cast_i32_f32", ELEMENTWISE_UNARY, 2, 2, { 0 } },
    { "cast_f32_i32", ELEMENTWISE_UNARY, 2, 4, { 0 } },
    { "cast_f16_f32", ELEMENTWISE_WIDEN, 4, 2, { 0 } },
    { "cast_f32_f16", ELEMENTWISE_NARROW, 4, 1, { 0 } },
    { "cast_u8_f16", ELEMENTWISE_U8_F16, 8, 1, { 0 } },
    { "cast_u8_f32", ELEMENTWISE_U8_F32, 8, 1, { 0 } },
};

const struct elementwise *elementwise_find(const char *codelet)
{
    for (size_t i = 0; i < EMU_COUNT_OF(elementwise_table); i++) {
        if (!strcmp(elementwise_table[i].name, codelet))
            return &elementwise_table[i];
    }
    return NULL;
}

struct elementwise_shape {
    const struct arch *arch;
    const struct elementwise *e;
    uint32_t n, c;
    enum elementwise_place place;
};

/* Slots of the instructions [first, steps). */
static uint64_t step_slots(const struct elementwise_shape *s, unsigned first)
{
    uint64_t slots = 0;

    for (unsigned i = first; i < s->e->steps; i++) {
        size_t field = s->e->slots[i];

        slots += field ? *(const uint32_t *)((const char *)s->arch + field) : 1;
    }
    return slots;
}

/* ---- elements behind the last whole vector; the branch back included ---- */

/* TAIL_STORE: `rest` f16. */
static unsigned store_slots(unsigned rest)
{
    return rest == 1 ? 1 + 4 : rest == 2 ? 1 + 2 : 1 + 3 + 4;
}

static uint64_t tail_slots_f16(const struct elementwise_shape *s, unsigned rest)
{
    int two_inputs = s->e->kind >= ELEMENTWISE_BINARY;
    uint64_t slots = 2;

    if (!rest)
        return slots;
    slots += 4 + 1 + store_slots(rest);
    if (s->e->kind == ELEMENTWISE_NARROW)
        return slots + 1 + (rest == 1 ? 2 : rest == 2 ? 3 : 5);
    if (two_inputs)
        slots += rest == 1 ? 3 : rest == 2 ? 3 : 6;
    else
        slots += rest == 1 ? 2 : rest == 2 ? 2 : 4;
    return slots + step_slots(s, 0);
}

static uint64_t tail_slots_f32(const struct elementwise_shape *s, unsigned rest)
{
    int two_inputs = s->e->kind >= ELEMENTWISE_BINARY;

    if (!rest)
        return 2;
    return 2 + (two_inputs ? 4 : 3) + step_slots(s, 0) + 2;
}

static uint64_t tail_slots(const struct elementwise_shape *s)
{
    unsigned rest = s->n % s->e->width;

    switch (s->e->kind) {
    case ELEMENTWISE_WIDEN:
        return rest ? 2 + 5 + 4 * rest + 1 : 2;
    case ELEMENTWISE_U8_F32:
        if (!rest)
            return 2;
        return 2 + 4 + 11 * ((rest + 3) / 4) + 3 * rest + 1;
    case ELEMENTWISE_U8_F16:
        if (!rest)
            return 2;
        return 2 + 3 + 12 + 2 + (rest & 4 ? 2 : 0) + 2 + (rest & 3 ? 2 + store_slots(rest & 3) : 0);
    default:
        return s->e->width == 4 ? tail_slots_f16(s, rest) : tail_slots_f32(s, rest);
    }
}

/* ---- whole vectors ---- */

/* The tests for the fast loop of count vectors; *fast: whether it is taken. */
static uint64_t try_slots(const struct elementwise_shape *s, uint64_t count, unsigned test,
                          int *fast)
{
    *fast = s->place != PLACE_NEAR && count >= FAST_LEAST;
    return count >= FAST_LEAST ? 2 + test : 2;
}

/* count vectors, at least one, from the test whether there are any (not included) to the exit. */
static uint64_t loop_slots(const struct elementwise_shape *s, uint64_t count)
{
    uint64_t first = step_slots(s, 0) - step_slots(s, 1), rest = step_slots(s, 1), slots;
    unsigned two = s->e->steps - 1;
    int fast;

    switch (s->e->kind) {
    case ELEMENTWISE_UNARY:
    case ELEMENTWISE_SCALAR:
        if (s->e->steps > 1)
            return 2 + first + (count - 1) * (first + rest) + rest + 2;
        slots = try_slots(s, count, 4, &fast);
        return slots + (fast ? 8 + (count - 2) + 3 : 3 + 2 * (count - 1) + 2);
    case ELEMENTWISE_BINARY:
        slots = try_slots(s, count, 4, &fast) + 2;
        return slots + (fast ? 6 + 2 * (count - 1) : 5 + 3 * (count - 1));
    case ELEMENTWISE_INPLACE:
    case ELEMENTWISE_AXPY:
        slots = try_slots(s, count, 4, &fast);
        if (!fast)
            return slots + 5 + 3 * (count - 1) + two + 2;
        if (s->place == PLACE_FAR)
            return slots + 3 + 6 + 2 * (count - 1) + two + 2;
        return slots + 3 + 6 + (two ? 2 : 4) + (count - 3) + (two ? 0 : 1) + 3 + 1;
    case ELEMENTWISE_WIDEN:
        slots = try_slots(s, count, 7, &fast);
        return slots + (fast ? 6 + 2 * (count - 1) + 3 : 2 + 3 * (count - 1) + 3);
    case ELEMENTWISE_NARROW:
        slots = try_slots(s, count, 7, &fast);
        return slots + (fast ? 11 + 2 * (count - 2) + 3 : 3 + 3 * (count - 1) + 2);
    case ELEMENTWISE_U8_F16:
        return 2 + 15 * (count - 1) + 12 + 4;
    default:
        return 2 + 14 * (count - 1) + 13 + 2;
    }
}

static uint64_t worker_elementwise_slots(const void *shape, unsigned w)
{
    static const unsigned prologue[] = {
        [ELEMENTWISE_UNARY] = 14,   [ELEMENTWISE_SCALAR] = 15, [ELEMENTWISE_BINARY] = 15,
        [ELEMENTWISE_INPLACE] = 17, [ELEMENTWISE_AXPY] = 18,   [ELEMENTWISE_WIDEN] = 15,
        [ELEMENTWISE_NARROW] = 15,  [ELEMENTWISE_U8_F16] = 15, [ELEMENTWISE_U8_F32] = 15,
    };
    const struct elementwise_shape *s = shape;
    int block = s->e->kind == ELEMENTWISE_INPLACE || s->e->kind == ELEMENTWISE_AXPY;
    uint64_t vectors = s->n / s->e->width;
    uint64_t count =
        block ? codelet_block(s->arch, vectors, w) : codelet_share(s->arch, vectors, w);
    uint64_t slots = prologue[s->e->kind] + 1;

    if (w == s->arch->workers - 1)
        slots += tail_slots(s);
    return slots + (count ? loop_slots(s, count) : 1);
}

/* ---- channels ---- */

static uint64_t channel_slots(const void *shape, unsigned w)
{
    const struct elementwise_shape *s = shape;
    uint64_t row = s->c / s->e->width, rows = s->c ? s->n / s->c : 0, columns = row;
    uint64_t slots = 10 + s->arch->slots_f32div - 1 + 2;

    if (row >= 2 * s->arch->workers || row >= rows) {
        slots += (row >= 2 * s->arch->workers ? 0 : 2) + 7;
        columns = codelet_share(s->arch, row, w);
    } else {
        slots += 2 + 7 + 9;
        rows = codelet_block(s->arch, rows, w);
    }
    slots += 2;
    if (!columns)
        return slots + 1;
    slots += 2;
    if (!rows)
        return slots + 1;
    slots += 2 + (rows >= FAST_ROWS ? 2 : 0) + (rows >= FAST_ROWS && row < FAST_STEP ? 6 : 0);
    if (s->place != PLACE_NEAR && rows >= FAST_ROWS && row < FAST_STEP)
        return slots + 1 + columns * (11 + (rows - 2)) + 1;
    return slots + columns * (8 + 2 * (rows - 1)) + 1;
}

/* ---- calls ---- */

uint64_t elementwise_cycles_at(const struct arch *a, const struct elementwise *e, uint32_t n,
                               uint32_t c, enum elementwise_place place)
{
    struct elementwise_shape s = { a, e, n, c, place };

    return codelet_workers_cycles(
        a, e->kind == ELEMENTWISE_CHANNEL ? channel_slots : worker_elementwise_slots, &s);
}

static uint32_t length_of(const struct codelet_call *call, const struct codelet *row,
                          const char *field)
{
    int i = codelet_field_find(row, field);

    return i < 0 ? 0 : call->arg[i].value;
}

uint64_t elementwise_cycles(const struct codelet_call *call, const char *codelet)
{
    const struct codelet *row = codelet_find(codelet);
    const struct elementwise *e = elementwise_find(codelet);
    uint32_t n = length_of(call, row, "n"), c = 0;
    uint64_t most = 0;

    if (e->kind == ELEMENTWISE_CHANNEL)
        c = length_of(call, row, "c");
    for (unsigned place = 0; place < PLACES; place++) {
        uint64_t cycles = elementwise_cycles_at(call->arch, e, n, c, (enum elementwise_place)place);

        most = cycles > most ? cycles : most;
    }
    return most;
}

static int is_far(const struct arch *a, const struct elementwise *e, uint32_t p, uint32_t q,
                  uint32_t n, uint32_t c)
{
    int64_t gap = p < q ? q - p : p - q, element = 2 * (int64_t)a->element_bytes;

    if (e->kind == ELEMENTWISE_WIDEN || e->kind == ELEMENTWISE_NARROW)
        return gap - 2 * (int64_t)n >= element + 3 * 2 * (int64_t)a->workers * 8;
    if (e->kind == ELEMENTWISE_CHANNEL)
        return gap - 16 * (int64_t)(c / e->width) >= element;
    return gap >= element + 2 * (int64_t)a->workers * 8;
}

enum elementwise_place elementwise_place(const struct arch *a, const struct elementwise *e,
                                         uint32_t p, uint32_t q, uint32_t n, uint32_t c)
{
    if (!is_far(a, e, p, q, n, c))
        return PLACE_NEAR;
    if (e->kind != ELEMENTWISE_INPLACE && e->kind != ELEMENTWISE_AXPY)
        return PLACE_FAR;
    return p >= a->mem_base + a->region0_bytes ? PLACE_PACED : PLACE_FAR;
}
