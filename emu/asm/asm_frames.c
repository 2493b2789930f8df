/* asm_frames.c - what `.stack_sizes` says: the size of the frame of each function, by the place
 * where the function begins. */
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

static int by_place(const void *a, const void *b)
{
    const struct frame_size *x = a, *y = b;

    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

int frame_sizes_add(struct asm_unit *u, struct frame_sizes *f, struct frame_size size)
{
    if (f->n == f->room) {
        size_t room = 2 * f->room + 16;
        struct frame_size *at = emu_realloc(f->at, room, sizeof(*at));

        if (!at)
            return unit_no_memory(u);
        f->at = at;
        f->room = room;
    }
    f->at[f->n++] = size;
    return 1;
}

void frame_sizes_sort(struct frame_sizes *f)
{
    if (f->n)
        qsort(f->at, f->n, sizeof(*f->at), by_place);
}

void frame_sizes_give(const struct frame_sizes *f, struct symbol *s)
{
    const struct frame_size key = { s->section, s->offset, 0 }, *found = NULL;

    if (f->n && s->state == SYMBOL_LABEL && !s->stack_bytes && !s->numbered &&
        strncmp(s->n.name, ".L", 2))
        found = bsearch(&key, f->at, f->n, sizeof(key), by_place);
    if (found)
        s->stack_bytes = found->bytes;
}

/* ---- in sources ---- */

enum { SIZE_BITS = 32 };

static int in_stack_sizes(const struct as *as)
{
    return !strncmp(as->section->n.name, STACK_SIZES, strlen(STACK_SIZES));
}

int frame_number(struct as *as, struct value v, unsigned bytes)
{
    struct frame_sizes *f = &as->frame_sizes;

    if (!in_stack_sizes(as))
        return 1;
    if (bytes == sizeof(uint32_t)) {
        as->frame_shift = v.kind == VALUE_PLACE ? 0 : SIZE_BITS;
        return v.kind != VALUE_PLACE ||
               frame_sizes_add(as->u, f, (struct frame_size){ v.section, (uint32_t)v.number, 0 });
    }
    if (bytes == 1 && f->n && v.kind == VALUE_NUMBER && as->frame_shift < SIZE_BITS) {
        f->at[f->n - 1].bytes |= (uint32_t)(v.number & 0x7f) << as->frame_shift;
        as->frame_shift = v.number & 0x80 ? as->frame_shift + 7 : SIZE_BITS;
    }
    return 1;
}

void frame_leb128(struct as *as, struct value v)
{
    struct frame_sizes *f = &as->frame_sizes;

    if (in_stack_sizes(as) && f->n && v.kind == VALUE_NUMBER && as->frame_shift < SIZE_BITS) {
        f->at[f->n - 1].bytes =
            v.number < 0 || v.number > UINT32_MAX ? UINT32_MAX : (uint32_t)v.number;
        as->frame_shift = SIZE_BITS;
    }
}

void frames_end(struct as *as)
{
    const struct table *t = &as->source->symbols;

    frame_sizes_sort(&as->frame_sizes);
    for (size_t i = 0; as->frame_sizes.n && i < t->buckets; i++) {
        for (struct named *n = t->bucket[i]; n; n = n->next)
            frame_sizes_give(&as->frame_sizes, (struct symbol *)n);
    }
    ss_free(as->frame_sizes.at);
}
