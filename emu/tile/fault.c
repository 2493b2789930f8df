/* fault.c - names, texts and exception numbers of fault.def, and the record of a tile's first
 * fault.
 */
#include "emu/tile/tile.h"

static const struct {
    const char *name;
    const char *text;
    unsigned etype;
} fault_rows[FAULT_COUNT] = {
#define FAULT(name, etype, text) [FAULT_##name] = { #name, text, etype },
#include "emu/tile/fault.def"
#undef FAULT
};

const char *fault_name(enum fault f)
{
    return (unsigned)f < FAULT_COUNT ? fault_rows[f].name : "?";
}

const char *fault_text(enum fault f)
{
    return (unsigned)f < FAULT_COUNT ? fault_rows[f].text : "?";
}

unsigned fault_etype(enum fault f)
{
    return (unsigned)f < FAULT_COUNT ? fault_rows[f].etype : 0;
}

enum fault tile_fault(struct tile *t, unsigned lane, enum fault kind, uint32_t addr,
                      const char *detail)
{
    EMU_ASSERT(kind != FAULT_NONE && lane <= LANE_SUPER);
    t->state[lane] = CONTEXT_EXCEPTED;
    if (t->fault.kind != FAULT_NONE &&
        (t->fault.cycle < t->cycle ||
         (t->fault.cycle == t->cycle && (t->fault.in_aux || !t->in_aux))))
        return kind;
    t->fault = (struct fault_record){
        .kind = kind,
        .detail = detail,
        .lane = (uint8_t)lane,
        .in_aux = t->in_aux,
        .pc = t->pc[lane],
        .addr = addr,
        .cycle = t->cycle,
    };
    return kind;
}
