/* insn_shape.h - what the operands of a LANES row of insn.def say about its lanes: registers,
 * sources, broadcast, address. It is computed from the text of the row, so that the compiler knows
 * it where it instantiates a function for that row.
 */
#ifndef EMU_INSN_SHAPE_H
#define EMU_INSN_SHAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum insn_source {
    SOURCE_NONE,
    SOURCE_M, /* register A or B of the main file */
    SOURCE_A, /* register of the auxiliary file */
    SOURCE_IMMEDIATE
};

enum insn_broadcast { BROADCAST_NONE, BROADCAST_LOW /* :B, :BL */, BROADCAST_HIGH /* :BU */ };

struct insn_shape {
    uint8_t file;      /* SOURCE_M or SOURCE_A: of the first operand */
    uint8_t words;     /* registers of the first operand: 1, 2 or 4 */
    uint8_t source[3]; /* enum insn_source of the operands after it */
    uint8_t broadcast; /* enum insn_broadcast of source 0 */
    bool steps;        /* the address is A + X, and X moves by source 2; else A + B + source 2 */
    bool writes;       /* the first operand is a destination D, not a value S to be stored */
};

#define INSN_SHAPE_INLINE static inline __attribute__((always_inline))

/* comma: the one before the operand, or NULL. */
INSN_SHAPE_INLINE enum insn_source insn_source_after(const char *comma)
{
    if (!comma)
        return SOURCE_NONE;
    return comma[2] == 'm' ? SOURCE_M : comma[2] == 'a' ? SOURCE_A : SOURCE_IMMEDIATE;
}

INSN_SHAPE_INLINE enum insn_broadcast insn_broadcast_after(const char *comma)
{
    if (!comma || comma[4] != ':' || comma[5] != 'B')
        return BROADCAST_NONE;
    return comma[6] == 'U' ? BROADCAST_HIGH : BROADCAST_LOW;
}

/* operands: the text of that column of insn.def. */
INSN_SHAPE_INLINE struct insn_shape insn_shape(const char *operands)
{
    const char *first = strchr(operands, ','), *second = first ? strchr(first + 1, ',') : NULL;
    const char *third = second ? strchr(second + 1, ',') : NULL;

    return (struct insn_shape){
        .file = operands[0] == 'm' ? SOURCE_M : SOURCE_A,
        .words = operands[2] == ':' ? (uint8_t)(operands[3] - '0') : 1,
        .source = { insn_source_after(first), insn_source_after(second), insn_source_after(third) },
        .broadcast = insn_broadcast_after(first),
        .steps = second && second[3] == 'X',
        .writes = operands[1] == 'D',
    };
}

#endif
