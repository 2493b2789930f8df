/* softmax_ref.c - exp_sub_{f16,f32}, mul_by_{f16,f32}, reciprocal_f32: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/elementwise/elementwise_ref.h"

typedef uint32_t with_scalar(uint32_t x, uint32_t s, struct fp_env *env);

static void each_f32(const struct codelet_call *call, with_scalar *f)
{
    const uint32_t *x = call->arg[score__x].data, *s = call->arg[score__by].data;
    uint32_t *y = call->arg[score__y].data, scalar = *s;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[score__n].value; i++)
        y[i] = f(x[i], scalar, &env);
}

/* f in f32, its result rounded to f16 */
static void each_f16(const struct codelet_call *call, with_scalar *f)
{
    const uint16_t *x = call->arg[score__x].data;
    const uint32_t *s = call->arg[score__by].data;
    uint32_t scalar = *s;
    uint16_t *y = call->arg[score__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[score__n].value; i++)
        y[i] = fp_f16_from_f32(f(fp_f16_to_f32(x[i], &env), scalar, &env), 0, &env);
}

static uint32_t exp_sub(uint32_t x, uint32_t s, struct fp_env *env)
{
    return fp_f32_exp(fp_f32_sub(x, s, env), env);
}

static uint32_t difference(uint32_t x, uint32_t s, struct fp_env *env)
{
    return fp_f32_sub(x, s, env);
}

static uint32_t product(uint32_t x, uint32_t s, struct fp_env *env)
{
    return fp_f32_mul(x, s, env);
}

void exp_sub_f32_ref(const struct codelet_call *call)
{
    each_f32(call, exp_sub);
}

void exp_sub_f16_ref(const struct codelet_call *call)
{
    uint16_t *y = call->arg[score__y].data;
    struct fp_env env = { 0 };

    each_f16(call, difference);
    for (uint32_t i = 0; i < call->arg[score__n].value; i++)
        y[i] = fp_f16_exp(y[i], 0, &env);
}

void mul_by_f32_ref(const struct codelet_call *call)
{
    each_f32(call, product);
}

void mul_by_f16_ref(const struct codelet_call *call)
{
    each_f16(call, product);
}

void reciprocal_f32_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[score__x].data;
    uint32_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f32_oox(x[i], &env);
}

/* ---- cycles: as the operations of unary.inc, with one slot more for the scalar ---- */

#define SLOTS(field) ARCH_NUMBER_slots_##field

static const struct elementwise exp_sub_f32_steps = {
    ELEMENTWISE_SCALAR, 2, 3, { 0, SLOTS(f32exp), SLOTS(f32exp) }, 2, { 0, SLOTS(f32exp) }
};
static const struct elementwise exp_sub_f16_steps = {
    ELEMENTWISE_SCALAR,        4, 7, { 0, 0, 0, 0, 0, SLOTS(f16exp), SLOTS(f16exp) }, 4,
    { 0, 0, 0, SLOTS(f16exp) }
};
static const struct elementwise mul_by_f32_steps = { ELEMENTWISE_SCALAR, 2, 1, { 0 }, 1, { 0 } };
static const struct elementwise mul_by_f16_steps = { ELEMENTWISE_SCALAR, 4, 5, { 0 }, 3, { 0 } };
static const struct elementwise reciprocal_f32_steps = {
    ELEMENTWISE_UNARY, 2, 2, { SLOTS(f32oox), SLOTS(f32oox) }, 1, { SLOTS(f32oox) }
};

static uint64_t scalar_cycles(const struct codelet_call *call, const struct elementwise *e,
                              enum elementwise_place place)
{
    return elementwise_cycles_at(call->arch, e, call->arg[score__n].value, 0, place) +
           call->arch->workers;
}

uint64_t mul_by_f32_cycles_at(const struct codelet_call *call, uint32_t x, uint32_t y)
{
    const struct elementwise *e = &mul_by_f32_steps;

    return scalar_cycles(call, e,
                         elementwise_place(call->arch, e, x, y, call->arg[score__n].value, 0));
}

uint64_t mul_by_f32_cycles(const struct codelet_call *call)
{
    uint64_t near = scalar_cycles(call, &mul_by_f32_steps, PLACE_NEAR);
    uint64_t far = scalar_cycles(call, &mul_by_f32_steps, PLACE_FAR);

    return near > far ? near : far;
}

uint64_t exp_sub_f32_cycles(const struct codelet_call *call)
{
    return scalar_cycles(call, &exp_sub_f32_steps, PLACE_NEAR);
}

uint64_t exp_sub_f16_cycles(const struct codelet_call *call)
{
    return scalar_cycles(call, &exp_sub_f16_steps, PLACE_NEAR);
}

uint64_t mul_by_f16_cycles(const struct codelet_call *call)
{
    return scalar_cycles(call, &mul_by_f16_steps, PLACE_NEAR);
}

uint64_t reciprocal_f32_cycles(const struct codelet_call *call)
{
    return elementwise_cycles_at(call->arch, &reciprocal_f32_steps, call->arg[unary__n].value, 0,
                                 PLACE_NEAR);
}
