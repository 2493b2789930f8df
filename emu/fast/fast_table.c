/* fast_table.c - which instructions have a fast function (see fast.h). */
#include "emu/fast/fast.h"

static fast_fn *const own[INSN_COUNT] = {
#define FAST(id) [INSN_##id] = fast_##id,
#include "emu/fast/fast.def"
#undef FAST
};

fast_fn *fast_find(unsigned op)
{
    return own[op] ? own[op] : fast_lanes[op];
}
