/* elementwise_ref.h - the time of unary, binary, channel and cast codelets.
 *
 * The fast loops of some need two edges that are so far apart that one instruction can access both,
 * which the formulas of the table cannot know: they give the longest time.
 */
#ifndef PROGRAMS_ELEMENTWISE_REF_H
#define PROGRAMS_ELEMENTWISE_REF_H

#include "programs/library/kernel/codelet_ref.h"

enum elementwise_kind {
    ELEMENTWISE_UNARY,
    ELEMENTWISE_SCALAR,
    ELEMENTWISE_BINARY,
    ELEMENTWISE_INPLACE,
    ELEMENTWISE_AXPY,
    ELEMENTWISE_CHANNEL,
    ELEMENTWISE_WIDEN,  /* cast f16 f32 */
    ELEMENTWISE_NARROW, /* cast f32 f16 */
    ELEMENTWISE_U8_F16,
    ELEMENTWISE_U8_F32,
};

enum { ELEMENTWISE_STEPS = 7, ELEMENTWISE_TAIL = 4 };

/* How two edges lie: a and b (binary), y and x (axpy), input and output (others). */
enum elementwise_place {
    PLACE_NEAR,
    PLACE_FAR,   /* an instruction can access both */
    PLACE_PACED, /* besides, the edge of an operation in place lies in region 1 */
    PLACES
};

/* A codelet: instructions of the auxiliary lane a vector takes, each with the field of struct arch
 * that has its slots, or 0: one slot. */
struct elementwise {
    enum elementwise_kind kind;
    unsigned width; /* elements of a vector */
    unsigned steps;
    size_t slots[ELEMENTWISE_STEPS];
    unsigned tail_steps; /* the same of its tail, of what is after the last whole vector */
    size_t tail[ELEMENTWISE_TAIL];
};

/* NULL if the codelet is none of these. */
const struct elementwise *elementwise_find(const struct codelet *codelet);

/* n: elements of the first edge; c: of b, of channel codelets. */
uint64_t elementwise_cycles_at(const struct arch *a, const struct elementwise *e, uint32_t n,
                               uint32_t c, enum elementwise_place place);

/* The longest of them; counts are taken from the fields of the row. */
uint64_t elementwise_cycles(const struct codelet_call *call, const struct codelet *codelet);

/* How edges at addresses p and q lie; p is the edge that is read and written, if there is one. */
enum elementwise_place elementwise_place(const struct arch *a, const struct elementwise *e,
                                         uint32_t p, uint32_t q, uint32_t n, uint32_t c);

#define ELEMENTWISE_CYCLES(name)                                                                   \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return elementwise_cycles(call, KERNEL_ROW(name));                                         \
    }

#endif
