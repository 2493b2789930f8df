/* elementwise_ref.h - the cycles of codelets that treat each element alone.
 *
 * Some of them have a fast loop, for two edges that lie so far apart that one instruction can
 * access both. The formulas in the table do not know addresses, so they give the longest time.
 */
#ifndef PROGRAMS_ELEMENTWISE_REF_H
#define PROGRAMS_ELEMENTWISE_REF_H

#include "programs/library/kernel/codelet_ref.h"

enum elementwise_kind {
    ELEMENTWISE_UNARY,
    ELEMENTWISE_SCALAR,
    ELEMENTWISE_SCALARS, /* two of them */
    ELEMENTWISE_STEPS2,  /* two operands, several instructions one after the other */
    ELEMENTWISE_BINARY,
    ELEMENTWISE_INPLACE,
    ELEMENTWISE_AXPY,
    ELEMENTWISE_CHANNEL,
    ELEMENTWISE_WIDEN,  /* cast f16 f32 */
    ELEMENTWISE_NARROW, /* cast f32 f16 */
    ELEMENTWISE_U8_F16,
    ELEMENTWISE_U8_F32,
    ELEMENTWISE_FUNCTION1, /* function.S: of one operand, of two, */
    ELEMENTWISE_FUNCTION2,
    ELEMENTWISE_FUNCTION_SCALAR, /* of one and a scalar, */
    ELEMENTWISE_F16_I32,         /* casts */
    ELEMENTWISE_I32_F16,
    ELEMENTWISE_SELECT,
};

enum { ELEMENTWISE_STEPS = 10 };

/* How two edges lie to each other: a and b (binary), y and x (axpy), input and output (others). */
enum elementwise_place {
    PLACE_NEAR,
    PLACE_FAR,   /* one instruction can access both */
    PLACE_PACED, /* the same, and the edge that an operation changes in place lies in region 1 */
    PLACES
};

/* A codelet: how many instructions of the auxiliary lane a vector takes (function.inc: a pair);
 * slots: for the first of them which number of the machine has its slots, or 0 for one slot; what
 * comes after the first may be in any order. */
struct elementwise {
    enum elementwise_kind kind;
    unsigned width; /* elements of a vector of the first operand */
    unsigned steps;
    uint8_t slots[ELEMENTWISE_STEPS];
    unsigned tail_steps; /* the same for the tail, the elements after the last whole vector */
    uint8_t tail[ELEMENTWISE_STEPS];
};

/* NULL if the codelet is none of these. */
const struct elementwise *elementwise_find(const struct codelet *codelet);

/* The cycles of a call. n: elements of the first edge; c: channel codelets: elements of b. */
uint64_t elementwise_cycles_at(const struct arch *a, const struct elementwise *e, uint32_t n,
                               uint32_t c, enum elementwise_place place);

/* The longest of these times; n and c are taken from the call's fields. */
uint64_t elementwise_cycles(const struct codelet_call *call, const struct codelet *codelet);

/* How edges at byte addresses p and q lie. If an edge is changed in place, p must be its address.
 */
enum elementwise_place elementwise_place(const struct arch *a, const struct elementwise *e,
                                         uint32_t p, uint32_t q, uint32_t n, uint32_t c);

#define ELEMENTWISE_CYCLES(name)                                                                   \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return elementwise_cycles(call, KERNEL_ROW(name));                                         \
    }

#endif
