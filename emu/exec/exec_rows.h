/* exec_rows.h - the functions of exec_*.c, one for every row of insn.def, whose name is behind
 * exec_ (exec.h). */
#ifndef EMU_EXEC_ROWS_H
#define EMU_EXEC_ROWS_H

#include "emu/exec/exec.h"

#define INSN(id, mn, operands, lane, ctx, since, word, time, flags, wsrc, msrc) exec_fn exec_##id;
#define ALIAS(id, mn, operands, lane, ctx, map, flags, msrc)
#define LANES(operation, ...) INSN(__VA_ARGS__)
#include "emu/isa/insn.def"
#undef LANES
#undef INSN
#undef ALIAS

#endif
