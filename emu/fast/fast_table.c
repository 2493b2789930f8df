/* fast_table.c - the entry points of the fast engine: which instructions have a fast function, and
 * the state of a tile (see fast.h). */
#include "emu/base/alloc.h"
#include "emu/fast/fast_state.h"
#include "emu/isa/insn_ops.h"

static fast_fn *const own[INSN_COUNT] = {
#define FAST(id) [INSN_##id] = fast_##id,
#define FAST_PUT(id)
#include "emu/fast/fast.def"
#undef FAST
#undef FAST_PUT
};

static fast_put_fn *const put[INSN_COUNT] = {
#define FAST(id)
#define FAST_PUT(id) [INSN_##id] = fast_put_##id,
#include "emu/fast/fast.def"
#undef FAST
#undef FAST_PUT
};

int fast_none(struct tile *t, uint32_t lanes, const struct insn *in)
{
    (void)t, (void)lanes, (void)in;
    return 0;
}

fast_fn *fast_find(unsigned op)
{
    fast_fn *fn = own[op] ? own[op] : fast_lanes[op];

    return fn ? fn : fast_none;
}

fast_put_fn *fast_find_put(unsigned op)
{
    return put[op];
}

bool fast_begin(struct tile *t)
{
    if (EMU_UNLIKELY(!t->fast))
        t->fast = emu_alloc_aligned(1, sizeof(*t->fast), _Alignof(struct fast_state));
    return t->fast != NULL;
}

void fast_begin_rounds(struct tile *t, uint32_t late_lanes)
{
    if (t->fast)
        t->fast->late_lanes = (uint8_t)late_lanes;
}
