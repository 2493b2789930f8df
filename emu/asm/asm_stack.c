/* asm_stack.c - how much stack a function needs: the deepest way through the functions it calls. */
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

enum { CALLS_MAX = 1000 }; /* functions on one way */

enum stack_state { NOT_SEEN, OPEN, KNOWN };

struct stack_walk {
    const struct asm_image *image;
    uint8_t *state;  /* by symbol: enum stack_state; owned */
    uint32_t *bytes; /* by symbol, once it is known; owned */
    unsigned depth;
};

/* Where the code of a function ends: its size, or the next symbol that is a function, or its
 * section. */
static uint32_t end_of(const struct asm_image *image, const struct asm_symbol *f)
{
    uint32_t end = f->section->addr + f->section->size;
    const struct asm_symbol *next = f + 1, *last = image->symbol + image->symbol_count;

    if (f->size && f->size <= end - (uint32_t)f->value)
        return (uint32_t)f->value + f->size;
    while (next < last &&
           (next->section != f->section || next->value == f->value || next->type != ASM_FUNCTION))
        next++;
    return next < last && next->value < end ? (uint32_t)next->value : end;
}

static enum emu_status need(struct stack_walk *w, const struct asm_symbol *f, uint32_t *bytes);

/* The function that an address is in; else the last symbol before it. */
static const struct asm_symbol *function_at(const struct asm_image *image, uint32_t address)
{
    uint32_t offset;
    const struct asm_symbol *near = asm_symbolize(image, address, &offset), *f = near;

    while (f && f > image->symbol && (f->type != ASM_FUNCTION || f->section != near->section))
        f--;
    return f && f->type == ASM_FUNCTION && f->section == near->section ? f : near;
}

/* What a branch out of the function needs. */
static enum emu_status need_of_target(struct stack_walk *w, uint32_t target, uint32_t *most)
{
    const struct asm_symbol *f = function_at(w->image, target);
    uint32_t bytes;

    if (!f)
        return EMU_OK;
    TRY(need(w, f, &bytes));
    *most = bytes > *most ? bytes : *most;
    return EMU_OK;
}

static enum emu_status need_of_callees(struct stack_walk *w, const struct asm_symbol *f,
                                       uint32_t *most)
{
    const struct asm_section *s = f->section;
    uint32_t start = (uint32_t)f->value, end = end_of(w->image, f);

    for (uint32_t at = start; at < end && end - at >= ISA_WORD_BYTES;) {
        uint32_t word[2] = { 0, 0 };
        struct insn main, aux;
        int64_t target;
        int is_bundle;

        memcpy(word, s->bytes + (at - s->addr), end - at < sizeof(word) ? 4 : sizeof(word));
        at += isa_decode(word, &main, &aux, &is_bundle);
        target = branch_target(&main);
        if (target >= 0 && (target < start || target >= end))
            TRY(need_of_target(w, (uint32_t)target, most));
    }
    return EMU_OK;
}

static enum emu_status need(struct stack_walk *w, const struct asm_symbol *f, uint32_t *bytes)
{
    size_t k = (size_t)(f - w->image->symbol);
    uint32_t most = 0;

    if (w->state[k] == KNOWN) {
        *bytes = w->bytes[k];
        return EMU_OK;
    }
    if (w->state[k] == OPEN || w->depth == CALLS_MAX)
        return FAIL(BAD_ASM,
                    "%s calls itself, directly or not: how much stack it needs is not known",
                    f->name);
    w->state[k] = OPEN;
    w->depth++;
    TRY(need_of_callees(w, f, &most));
    w->depth--;
    w->state[k] = KNOWN;
    *bytes = w->bytes[k] = f->stack_bytes + most < most ? UINT32_MAX : f->stack_bytes + most;
    return EMU_OK;
}

enum emu_status asm_stack_bytes(const struct asm_image *image, const struct asm_symbol *function,
                                uint32_t *bytes)
{
    struct stack_walk w = { .image = image };
    enum emu_status s = EMU_OK;

    *bytes = 0;
    if (!function->section)
        return EMU_OK;
    w.state = emu_alloc(image->symbol_count, sizeof(*w.state));
    w.bytes = emu_alloc(image->symbol_count, sizeof(*w.bytes));
    s = w.state && w.bytes ? need(&w, function, bytes)
                           : FAIL(NO_MEMORY, "the functions of %zu symbols", image->symbol_count);
    ss_free(w.state);
    ss_free(w.bytes);
    return s;
}
