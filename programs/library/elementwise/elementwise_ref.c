/* elementwise_ref.c - the cycles of codelets that treat each element alone: the instructions of
 * their .inc files, counted. */
#include "programs/library/elementwise/elementwise_ref.h"

#include "emu/arch/arch_numbers.h"

enum { FAST_LEAST = 8, FAST_ROWS = 5, STEP_MOST = 511 }; /* as in elementwise.inc, channel.S */

#define SLOTS(field)             ARCH_NUMBER_slots_##field
#define PLAIN(name, kind, width) [ROW_##name] = { ELEMENTWISE_##kind, width, 1, { 0 }, 1, { 0 } }
#define BINARY(op)                                                                                 \
    PLAIN(op##_f16, BINARY, 4), PLAIN(op##_f32, BINARY, 2), PLAIN(op##_inplace_f16, INPLACE, 4),   \
        PLAIN(op##_inplace_f32, INPLACE, 2), PLAIN(op##_scalar_f16, SCALAR, 4),                    \
        PLAIN(op##_scalar_f32, SCALAR, 2), PLAIN(op##_channel_f16, CHANNEL, 4),                    \
        PLAIN(op##_channel_f32, CHANNEL, 2)
/* steps: how many instructions a vector takes; the first two take `slots` slots. tail: how many the
 * tail takes; the first takes `slots`. */
#define STEPS(name, kind, width, steps, slots, tail)                                               \
    [ROW_##name] = { ELEMENTWISE_##kind, width, steps, { slots, slots }, tail, { slots } }
#define UNARY(name, width, slots) STEPS(name, UNARY, width, 2, SLOTS(slots), 1)
#define SWISH(name, width, slots) STEPS(name, UNARY, width, 3, SLOTS(slots), 2)
#define FOUR(slots)               SLOTS(slots), SLOTS(slots), SLOTS(slots), SLOTS(slots)
#define ROOT_F16(name, slots)                                                                      \
    [ROW_##name] = { ELEMENTWISE_UNARY,        4, 7,                                               \
                     { 0, 0, FOUR(slots), 0 }, 4, { 0, SLOTS(slots), SLOTS(slots), 0 } }
#define WHOLE(name)         STEPS(name##_f16, UNARY, 4, 7, 0, 4), STEPS(name##_f32, UNARY, 2, 2, 0, 1)
#define COMPARE(name, kind) STEPS(name##_f16, kind, 4, 2, 0, 2), STEPS(name##_f32, kind, 2, 2, 0, 2)
/* steps: how many instructions a pair takes; the first of them take the slots that follow. */
#define FUNCTION1(name, steps, ...)                                                                \
    STEPS_OF(name##_f16, FUNCTION1, 4, steps, __VA_ARGS__),                                        \
        STEPS_OF(name##_f32, FUNCTION1, 2, steps, __VA_ARGS__)
#define LISTS2(name, steps, ...)                                                                   \
    STEPS_OF(name##_f16, FUNCTION2, 4, steps, __VA_ARGS__),                                        \
        STEPS_OF(name##_f32, FUNCTION2, 2, steps, __VA_ARGS__)
#define FUNCTION2(name, steps, ...)                                                                \
    LISTS2(name, steps, __VA_ARGS__),                                                              \
        STEPS_OF(name##_scalar_f16, FUNCTION_SCALAR, 4, steps, __VA_ARGS__),                       \
        STEPS_OF(name##_scalar_f32, FUNCTION_SCALAR, 2, steps, __VA_ARGS__),                       \
        STEPS_OF(scalar_##name##_f16, FUNCTION_SCALAR, 4, steps, __VA_ARGS__),                     \
        STEPS_OF(scalar_##name##_f32, FUNCTION_SCALAR, 2, steps, __VA_ARGS__)
#define STEPS_OF(name, kind, width, steps, ...)                                                    \
    [ROW_##name] = { ELEMENTWISE_##kind, width, steps, { __VA_ARGS__ }, 0, { 0 } }

/* By row of the table of codelets; width 0: not an elementwise codelet. */
static const struct elementwise elementwise_table[CODELET_ROWS] = {
    BINARY(add),
    BINARY(sub),
    BINARY(mul),
    BINARY(max),
    STEPS(axpy_f16, AXPY, 4, 2, 0, 3),
    STEPS(axpy_f32, AXPY, 2, 2, 0, 3),
    PLAIN(relu_f16, UNARY, 4),
    PLAIN(relu_f32, UNARY, 2),
    UNARY(sigmoid_f16, 4, f16sigm),
    UNARY(sigmoid_f32, 2, f32sigm),
    SWISH(swish_f16, 4, f16sigm),
    SWISH(swish_f32, 2, f32sigm),
    UNARY(tanh_f16, 4, f16tanh),
    UNARY(tanh_f32, 2, f32tanh),
    UNARY(exp_f16, 4, f16exp),
    UNARY(exp_f32, 2, f32exp),
    ROOT_F16(sqrt_f16, f32sqrt),
    ROOT_F16(rsqrt_f16, f32oorx),
    UNARY(sqrt_f32, 2, f32sqrt),
    UNARY(rsqrt_f32, 2, f32oorx),
    STEPS(cast_i32_f32, UNARY, 2, 2, 0, 1),
    STEPS(cast_f32_i32, UNARY, 2, 4, 0, 2),
    PLAIN(cast_f16_f32, WIDEN, 4),
    PLAIN(cast_f32_f16, NARROW, 4),
    PLAIN(cast_u8_f16, U8_F16, 4),
    PLAIN(cast_u8_f32, U8_F32, 4),
    BINARY(min),
    PLAIN(scalar_sub_f16, SCALAR, 4),
    PLAIN(scalar_sub_f32, SCALAR, 2),
    COMPARE(less, BINARY),
    COMPARE(less_scalar, SCALAR),
    COMPARE(scalar_less, SCALAR),
    COMPARE(less_or_equal, BINARY),
    COMPARE(less_or_equal_scalar, SCALAR),
    COMPARE(scalar_less_or_equal, SCALAR),
    COMPARE(equal, BINARY),
    COMPARE(equal_scalar, SCALAR),
    COMPARE(leaky_relu, SCALAR),
    PLAIN(abs_f16, UNARY, 4),
    PLAIN(abs_f32, UNARY, 2),
    UNARY(log_f16, 4, f16log),
    UNARY(log_f32, 2, f32log),
    ROOT_F16(reciprocal_f16, f32oox),
    WHOLE(floor),
    WHOLE(ceil),
    WHOLE(round),
    STEPS(hard_swish_f16, UNARY, 4, 5, 0, 6),
    STEPS(hard_swish_f32, UNARY, 2, 4, 0, 4),
    PLAIN(clamp_f16, SCALARS, 4),
    PLAIN(clamp_f32, SCALARS, 2),
    STEPS(hard_sigmoid_f16, SCALARS, 4, 3, 0, 3),
    STEPS(hard_sigmoid_f32, SCALARS, 2, 3, 0, 3),
    PLAIN(select_f16, SELECT, 4),
    PLAIN(select_f32, SELECT, 2),
    FUNCTION2(div, 2, SLOTS(f32div), SLOTS(f32div)),
    FUNCTION2(pow, 27, SLOTS(f32log), SLOTS(f32log), SLOTS(f32exp), SLOTS(f32exp)),
    STEPS(relu_slope_f16, BINARY, 4, 2, 0, 2),
    STEPS_OF(relu_slope_f32, FUNCTION2, 2, 2, 0),
    LISTS2(sigmoid_slope, 3, 0),
    LISTS2(tanh_slope, 3, 0),
    STEPS(swish_slope_f16, STEPS2, 4, 7, SLOTS(f16sigm), 6),
    STEPS_OF(swish_slope_f32, FUNCTION2, 2, 7, SLOTS(f32sigm), SLOTS(f32sigm)),
    FUNCTION1(erf, 16, SLOTS(f32tanh), SLOTS(f32tanh)),
    [ROW_gelu_f16] = { ELEMENTWISE_UNARY,
                       4,
                       10,
                       { 0, SLOTS(f16sigm), SLOTS(f16sigm) },
                       9,
                       { SLOTS(f16sigm) } },
    STEPS_OF(gelu_f32, FUNCTION1, 2, 17, SLOTS(f32sigm), SLOTS(f32sigm)),
    FUNCTION1(sign, 5, 0),
    FUNCTION1(sin, 22, 0),
    FUNCTION1(cos, 23, 0),
    STEPS_OF(cast_f16_i32, F16_I32, 4, 4, 0),
    STEPS_OF(cast_i32_f16, I32_F16, 2, 2, 0),
};

const struct elementwise *elementwise_find(const struct codelet *codelet)
{
    const struct elementwise *e = &elementwise_table[codelet - codelet_table];

    return e->width ? e : NULL;
}

struct elementwise_shape {
    const struct arch *arch;
    const struct elementwise *e;
    uint32_t n, c;
    enum elementwise_place place;
};

static uint64_t slots_of(const struct arch *a, const uint8_t *number, unsigned n)
{
    uint64_t slots = n;

    for (unsigned i = 0; i < n && i < ELEMENTWISE_STEPS; i++)
        slots += number[i] ? a->number[number[i]] - 1 : 0;
    return slots;
}

/* ---- elements after the last whole vector, n modulo its width of them ---- */

/* UNARY_TAIL and BINARY_TAIL, without the exit. */
static uint64_t operation_tail_slots(const struct elementwise_shape *s, unsigned rest)
{
    int two_inputs = s->e->kind == ELEMENTWISE_STEPS2 || s->e->kind == ELEMENTWISE_BINARY ||
                     s->e->kind == ELEMENTWISE_INPLACE || s->e->kind == ELEMENTWISE_AXPY;
    uint64_t op = slots_of(s->arch, s->e->tail, s->e->tail_steps), slots = 2;

    if (!rest)
        return slots;
    if (s->e->width == 2)
        return slots + 2 + (unsigned)two_inputs + op + 1;
    slots += 2;
    if (rest & 2)
        slots += 3 + (unsigned)two_inputs + op + 2;
    return slots + (rest & 1 ? 2 + (unsigned)two_inputs + op + 2 : 0);
}

/* TAIL_STORE of cast.S: `rest` f16, the branch back included. */
static unsigned store_slots(unsigned rest)
{
    return rest == 1 ? 1 + 4 : rest == 2 ? 1 + 2 : 1 + 3 + 4;
}

enum { U8_TAIL_SLOTS = 10 }; /* of U8_TAIL of cast.S */

/* The tails of cast.S, the branch back included. */
static uint64_t cast_tail_slots(const struct elementwise_shape *s, unsigned rest)
{
    uint64_t slots = 2;

    if (!rest)
        return slots;
    switch (s->e->kind) {
    case ELEMENTWISE_WIDEN:
        return slots + 5 + 4 * rest + 1;
    case ELEMENTWISE_NARROW:
        return slots + 4 + 1 + (rest == 1 ? 3 : rest == 2 ? 4 : 6) + store_slots(rest);
    case ELEMENTWISE_U8_F32:
        return slots + 5 + U8_TAIL_SLOTS + 5 + 3 * rest + 1;
    default:
        return slots + 4 + 3 + (rest > 1 ? 2 + U8_TAIL_SLOTS : 0) + 3 + store_slots(rest);
    }
}

/* ---- whole vectors ---- */

/* Slots of all instructions of the operation but the first. */
static uint64_t rest_slots(const struct elementwise_shape *s)
{
    return slots_of(s->arch, s->e->slots + 1, s->e->steps - 1);
}

static int is_fast(const struct elementwise_shape *s, uint64_t count)
{
    return s->place != PLACE_NEAR && count >= FAST_LEAST;
}

/* TRY_FAST of elementwise.inc. */
static unsigned try_slots(uint64_t count)
{
    return count >= FAST_LEAST ? 6 : 3;
}

/* UNARY, STEPS2: slots for `count` vectors, from the test whether there are any to the last store.
 */
static uint64_t unary_slots(const struct elementwise_shape *s, uint64_t count)
{
    uint64_t first = slots_of(s->arch, s->e->slots, 1), rest = rest_slots(s);

    if (s->e->steps > 1)
        return count ? 2 + first + (count - 1) * (first + rest) + rest + 1 : 1;
    if (!count)
        return try_slots(count);
    return try_slots(count) + (is_fast(s, count) ? 8 + (count - 2) + 2 : 2 + 2 * (count - 1) + 1);
}

/* BINARY, BINARY_INPLACE, AXPY: the same. */
static uint64_t binary_slots(const struct elementwise_shape *s, uint64_t count)
{
    uint64_t slots = try_slots(count);
    unsigned two = s->e->steps - 1;

    if (!count)
        return slots;
    if (!is_fast(s, count))
        return slots + 3 + 3 * (count - 1) + two + 1;
    if (s->e->kind != ELEMENTWISE_BINARY)
        slots += 3;
    if (s->place == PLACE_FAR || s->e->kind == ELEMENTWISE_BINARY)
        return slots + 6 + 2 * (count - 1) + two + 1;
    return slots + 6 + (two ? 2 : 5) + (count - 3) + 3;
}

/* Codelets of cast.S: slots from the instruction after the test whether there are any vectors, to
 * the exit. */
static uint64_t cast_slots(const struct elementwise_shape *s, uint64_t count)
{
    uint64_t try = count >= FAST_LEAST ? 9 : 2;

    switch (s->e->kind) {
    case ELEMENTWISE_WIDEN:
        return try + (is_fast(s, count) ? 6 + 2 * (count - 1) : 2 + 3 * (count - 1)) + 3;
    case ELEMENTWISE_NARROW:
        return try + (is_fast(s, count) ? 11 + 2 * (count - 2) + 3 : 3 + 3 * (count - 1) + 2);
    case ELEMENTWISE_U8_F16:
        return 6 + 6 * (count - 1) + 5 + 1;
    default:
        return 6 + 7 * (count - 1) + 7 + 1;
    }
}

static uint64_t worker_cast_slots(const void *shape, unsigned w)
{
    const struct elementwise_shape *s = shape;
    uint64_t count = codelet_share(s->arch, s->n / s->e->width, w), slots = 15 + 1;

    if (w == s->arch->workers - 1)
        slots += cast_tail_slots(s, s->n % s->e->width);
    return slots + (count ? cast_slots(s, count) : 1);
}

static uint64_t worker_operation_slots(const void *shape, unsigned w)
{
    static const unsigned prologue[] = {
        [ELEMENTWISE_UNARY] = 13,  [ELEMENTWISE_SCALAR] = 14, [ELEMENTWISE_SCALARS] = 15,
        [ELEMENTWISE_STEPS2] = 14, [ELEMENTWISE_BINARY] = 14, [ELEMENTWISE_INPLACE] = 16,
        [ELEMENTWISE_AXPY] = 17
    };
    const struct elementwise_shape *s = shape;
    uint64_t vectors = s->n / s->e->width, slots = prologue[s->e->kind] + 1;

    if (w == s->arch->workers - 1)
        slots += operation_tail_slots(s, s->n % s->e->width);
    if (s->e->kind < ELEMENTWISE_BINARY)
        slots += unary_slots(s, codelet_share(s->arch, vectors, w));
    else if (s->e->kind == ELEMENTWISE_BINARY)
        slots += binary_slots(s, codelet_share(s->arch, vectors, w));
    else
        slots += binary_slots(s, codelet_block(s->arch, vectors, w));
    return slots + 1;
}

/* ---- functions, select ---- */

static int makes_f16(const struct elementwise *e)
{
    return e->kind == ELEMENTWISE_I32_F16 || (e->width == 4 && e->kind != ELEMENTWISE_F16_I32);
}

/* LOAD and the store of function.inc, with the function and the branch. */
static uint64_t pair_slots(const struct elementwise_shape *s)
{
    uint64_t load = s->e->width == 4 ? 2 : 1, slots = load + (makes_f16(s->e) ? 2 : 1) + 1;

    if (s->e->kind == ELEMENTWISE_FUNCTION2)
        slots += load;
    if (s->e->kind == ELEMENTWISE_FUNCTION_SCALAR)
        slots += 2;
    return slots + slots_of(s->arch, s->e->slots, s->e->steps);
}

/* The odd element. */
static uint64_t last_slots(const struct elementwise_shape *s)
{
    uint64_t slots = 3 + 3 + (makes_f16(s->e) ? 4 : 2);

    if (s->e->kind == ELEMENTWISE_FUNCTION2)
        slots += 1 + 3;
    if (s->e->kind == ELEMENTWISE_FUNCTION_SCALAR)
        slots += 2;
    return slots + slots_of(s->arch, s->e->slots, s->e->steps);
}

static uint64_t function_slots(const void *shape, unsigned w)
{
    const struct elementwise_shape *s = shape;
    uint64_t slots = 17 + 1 + 1;

    if (s->e->kind == ELEMENTWISE_FUNCTION2)
        slots += 1 + 2;
    if (s->e->kind == ELEMENTWISE_FUNCTION1)
        slots++; /* the address of its constants */
    if (w == s->arch->workers - 1)
        slots += 2 + (s->n % 2 ? last_slots(s) : 0);
    return slots + codelet_share(s->arch, s->n / 2, w) * pair_slots(s);
}

static uint64_t select_slots(const void *shape, unsigned w)
{
    const struct elementwise_shape *s = shape;
    unsigned rest = s->n % s->e->width;
    uint64_t count = codelet_share(s->arch, s->n / s->e->width, w), slots = 16 + 1 + 1;

    if (count)
        slots += 2 + 5 * count;
    if (w < s->arch->workers - 1)
        return slots;
    if (s->e->width == 2)
        return slots + 2 + (rest ? 1 + 5 + 1 : 0);
    return slots + 4 + (rest & 2 ? 2 + 5 + 1 : 0) + (rest & 1 ? 1 + 5 + 3 : 0);
}

/* ---- channels ---- */

/* Slots of a worker for its `rows` rows of `columns` columns, up to the exit. */
static uint64_t columns_slots(uint64_t rows, uint64_t columns, int far)
{
    uint64_t slots = (far ? 2 : 0) + 1;

    if (far && rows >= FAST_ROWS)
        return slots + 1 + columns * (11 + (rows - 2));
    return slots + columns * (8 + 2 * (rows - 1));
}

static uint64_t channel_slots(const void *shape, unsigned w)
{
    const struct elementwise_shape *s = shape;
    uint64_t row = s->c / s->e->width, all = s->c ? s->n / s->c : 0, rows, columns;
    uint64_t slots = 10 + arch_slots_f32div(s->arch) - 1 + 2, find = row <= STEP_MOST ? 6 : 2;
    int far = s->place != PLACE_NEAR && row <= STEP_MOST;

    slots += row >= 2 * s->arch->workers ? 0 : 2;
    if (row >= 2 * s->arch->workers || row >= all) {
        columns = codelet_share(s->arch, row, w);
        slots += 8 + 2;
        if (!columns || !all)
            return slots + (columns ? 2 : 0) + 1;
        return slots + 2 + find + columns_slots(all, columns, far);
    }
    rows = codelet_block(s->arch, all, w);
    slots += 7 + 4 + 2;
    if (!rows)
        return slots + 1;
    slots += find;
    if (far && row % 2 == 0)
        return slots + 2 + 4 + row / 2 * (10 + 2 * rows) + 1;
    return slots + (far ? 2 : 0) + 4 + columns_slots(rows, row, far);
}

/* ---- calls ---- */

uint64_t elementwise_cycles_at(const struct arch *a, const struct elementwise *e, uint32_t n,
                               uint32_t c, enum elementwise_place place)
{
    struct elementwise_shape s = { a, e, n, c, place };
    worker_slots *slots = e->kind < ELEMENTWISE_CHANNEL      ? worker_operation_slots
                          : e->kind == ELEMENTWISE_CHANNEL   ? channel_slots
                          : e->kind == ELEMENTWISE_SELECT    ? select_slots
                          : e->kind >= ELEMENTWISE_FUNCTION1 ? function_slots
                                                             : worker_cast_slots;

    return codelet_workers_cycles(a, slots, &s);
}

/* How many elements the first edge has. */
static uint32_t elements_of(const struct codelet_call *call, const struct codelet *codelet)
{
    switch (codelet_state(codelet)) {
    case STATE_unary:
        return call->arg[unary__n].value;
    case STATE_binary:
        return call->arg[binary__n].value;
    case STATE_inplace:
        return call->arg[inplace__n].value;
    case STATE_scalar:
        return call->arg[scalar__n].value;
    case STATE_scalars:
        return call->arg[scalars__n].value;
    case STATE_select:
        return call->arg[select__n].value;
    case STATE_channel:
        return call->arg[channel__n].value;
    default:
        EMU_ASSERT(codelet_state(codelet) == STATE_axpy);
        return call->arg[axpy__n].value;
    }
}

uint64_t elementwise_cycles(const struct codelet_call *call, const struct codelet *codelet)
{
    const struct elementwise *e = elementwise_find(codelet);
    uint32_t n = elements_of(call, codelet);
    uint32_t c = e->kind == ELEMENTWISE_CHANNEL ? call->arg[channel__c].value : 0;
    uint64_t most = 0;

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
        return c / e->width <= STEP_MOST && gap >= element + 2 * 8 * (STEP_MOST + 1);
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
