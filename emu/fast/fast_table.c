/* fast_table.c - which instructions have a fast function (see fast.h). */
#include "emu/fast/fast.h"

fast_fn *const fast_table[INSN_COUNT] = {
#define FAST(id) [INSN_##id] = fast_##id,
#include "emu/fast/fast.def"
#undef FAST
};
