/* cast_ref.c - cast between u8, i32, f16 and f32: meaning. */
#include "programs/library/elementwise/elementwise_ref.h"

void cast_u8_f16_ref(const struct codelet_call *call)
{
    const uint8_t *x = call->arg[unary__x].data;
    uint16_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f16_from_f64(x[i], 0, &env);
}

void cast_u8_f32_ref(const struct codelet_call *call)
{
    const uint8_t *x = call->arg[unary__x].data;
    uint32_t *y = call->arg[unary__y].data;
    const struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f32_from_u32(x[i], &env);
}

void cast_f16_f32_ref(const struct codelet_call *call)
{
    const uint16_t *x = call->arg[unary__x].data;
    uint32_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f16_to_f32(x[i], &env);
}

void cast_f32_f16_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[unary__x].data;
    uint16_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f16_from_f32(x[i], 0, &env);
}

void cast_i32_f32_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[unary__x].data;
    uint32_t *y = call->arg[unary__y].data;
    const struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f32_from_i32(x[i], &env);
}

void cast_f32_i32_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[unary__x].data;
    uint32_t *y = call->arg[unary__y].data;
    struct fp_env env = { .rnd = FP_RND_ZERO };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f32_to_i32(x[i], &env);
}

void cast_f16_i32_ref(const struct codelet_call *call)
{
    const uint16_t *x = call->arg[unary__x].data;
    uint32_t *y = call->arg[unary__y].data;
    struct fp_env env = { .rnd = FP_RND_ZERO };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f32_to_i32(fp_f16_to_f32(x[i], &env), &env);
}

void cast_i32_f16_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[unary__x].data;
    uint16_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f16_from_f32(fp_f32_from_i32(x[i], &env), 0, &env);
}

ELEMENTWISE_CYCLES(cast_u8_f16)
ELEMENTWISE_CYCLES(cast_u8_f32)
ELEMENTWISE_CYCLES(cast_f16_f32)
ELEMENTWISE_CYCLES(cast_f32_f16)
ELEMENTWISE_CYCLES(cast_i32_f32)
ELEMENTWISE_CYCLES(cast_f32_i32)
ELEMENTWISE_CYCLES(cast_f16_i32)
ELEMENTWISE_CYCLES(cast_i32_f16)
