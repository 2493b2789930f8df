/* insn_ops.h - operations and forms by name: who includes it is compiled with every row of
 * insn.def. What takes any instruction includes isa.h (tests/check_reach.sh counts).
 */
#ifndef EMU_INSN_OPS_H
#define EMU_INSN_OPS_H

#include "emu/isa/isa.h"

/* Operations: one per INSN row. ALIAS rows are spellings of these and have no operation of their
 * own. */
enum insn_op {
#define INSN(id, mn, operands, lane, ctx, since, word, time, flags, wsrc, msrc) INSN_##id,
#define ALIAS(id, mn, operands, lane, ctx, map, flags, msrc)
#define LANES(operation, ...) INSN(__VA_ARGS__)
#include "emu/isa/insn.def"
#undef LANES
#undef INSN
#undef ALIAS
    INSN_COUNT,
    INSN_ILLEGAL = INSN_COUNT /* no row matches the word */
};

/* One number per row of insn.def, aliases included, in file order. */
enum insn_form_id {
#define INSN(id, mn, operands, lane, ctx, since, word, time, flags, wsrc, msrc) FORM_##id,
#define ALIAS(id, mn, operands, lane, ctx, map, flags, msrc)                    FORM_##id,
#define LANES(operation, ...)                                                   INSN(__VA_ARGS__)
#include "emu/isa/insn.def"
#undef LANES
#undef INSN
#undef ALIAS
    FORM_COUNT
};

#endif
