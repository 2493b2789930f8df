/* image_vertex.c - the fields of a vertex: what its form says, and where the words of its state
 * point to.
 */
#include "emu/load/image_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vertex_walk {
    const struct image *im;
    const struct image_vertex *v;
    uint32_t (*word)(const void *memory, uint32_t addr);
    const void *memory;
    enum emu_status (*visit)(void *ctx, const struct image_field *f);
    void *ctx;
};

enum { TABLE_ENTRY = 8 /* bytes: address, elements */ };

static enum emu_status visit_own(const struct vertex_walk *w, uint32_t addr, uint32_t bytes)
{
    const struct image_field f = { .addr = addr, .bytes = bytes, .use = 'r' };

    return w->visit(w->ctx, &f);
}

/* The runs of a field that is a table of so many, with elements of that size. */
static enum emu_status visit_runs(const struct vertex_walk *w, struct image_field *f, uint32_t runs,
                                  uint32_t elem_bytes)
{
    uint32_t table = f->addr;

    if (runs > w->im->arch.mem_bytes / TABLE_ENTRY)
        return FAIL(BAD_IMAGE, "the form of a vertex: %u runs", runs);
    TRY(visit_own(w, table, runs * TABLE_ENTRY));
    for (uint32_t k = 0; k < runs; k++) {
        f->addr = w->word(w->memory, table + TABLE_ENTRY * k);
        f->bytes = w->word(w->memory, table + TABLE_ENTRY * k + 4) * elem_bytes;
        TRY(w->visit(w->ctx, f));
    }
    return EMU_OK;
}

/* One field of a form, "x:0:r:384", or "list:2:r:17x4" for 17 runs of elements of 4 bytes. */
static enum emu_status visit_field(const struct vertex_walk *w, const char *text)
{
    struct image_field f = { .bytes = 0 };
    uint32_t word, elem_bytes = 0;
    int n = 0;

    if (sscanf(text, "%63[^: ]:%u:%c:%u%n", f.name, &word, &f.use, &f.bytes, &n) != 4 ||
        !strchr("rwb", f.use) || word > w->im->arch.mem_bytes / 4 ||
        (text[n] == 'x' && sscanf(text + n, "x%u", &elem_bytes) != 1))
        return FAIL(BAD_IMAGE, "the form of a vertex: '%.80s'", text);
    f.addr = w->word(w->memory, w->v->state + 4 * word);
    return elem_bytes ? visit_runs(w, &f, f.bytes, elem_bytes) : w->visit(w->ctx, &f);
}

enum emu_status
image_vertex_fields(const struct image *im, const struct image_vertex *v,
                    uint32_t (*word)(const void *memory, uint32_t addr), const void *memory,
                    enum emu_status (*visit)(void *ctx, const struct image_field *f), void *ctx)
{
    const struct vertex_walk w = { im, v, word, memory, visit, ctx };
    const char *text = strchr(image_text(im, v->form), ' ');
    uint32_t words;

    if (!text || sscanf(text, " %u", &words) != 1 || words > im->arch.mem_bytes / 4)
        return FAIL(BAD_IMAGE, "the form of a vertex: '%.80s'", image_text(im, v->form));
    TRY(visit_own(&w, v->state, 4 * words));
    for (text = strchr(text + 1, ' '); text; text = strchr(text + 1, ' '))
        TRY(visit_field(&w, text + 1));
    return EMU_OK;
}

void image_vertex_codelet(const struct image *im, const struct image_vertex *v, char out[64])
{
    const char *text = image_text(im, v->form);

    snprintf(out, 64, "%.*s", (int)strcspn(text, " "), text);
}
