/* codelet.c - the fields of codelets, and the code of a set of them. */
#include "programs/compiler/base/codelet.h"

#include <string.h>

int codelet_field_find(const struct codelet *c, const char *name)
{
    for (unsigned i = 0; i < c->fields; i++) {
        if (c->field[i].kind != FIELD_APART && !strcmp(c->field[i].name, name))
            return (int)i;
    }
    return -1;
}

unsigned codelet_state_bytes(const struct codelet *c)
{
    unsigned words = 0;

    for (unsigned i = 0; i < c->fields; i++)
        words += c->field[i].kind != FIELD_APART;
    return 4 * words;
}

int codelet_field_offset(const struct codelet *c, unsigned field)
{
    int offset = 0;

    if (c->field[field].kind == FIELD_APART)
        return -1;
    for (unsigned i = 0; i < field; i++)
        offset += c->field[i].kind == FIELD_APART ? 0 : 4;
    return offset;
}

int field_is_edge(enum field_kind k)
{
    return k == FIELD_IN || k == FIELD_OUT || k == FIELD_INOUT;
}

int field_is_list(enum field_kind k)
{
    return k == FIELD_IN_LIST || k == FIELD_OUT_LIST;
}

int field_is_written(enum field_kind k)
{
    return k == FIELD_OUT || k == FIELD_INOUT || k == FIELD_OUT_LIST;
}

/* Copies all sections into one block. */
static enum emu_status copy_sections(struct codelet_code *c)
{
    uint8_t *code;

    for (size_t i = 0; i < c->image->section_count; i++) {
        const struct asm_section *s = &c->image->section[i];

        if (s->addr + s->size - c->addr > c->bytes)
            c->bytes = s->addr + s->size - c->addr;
    }
    code = emu_alloc(c->bytes ? c->bytes : 1, 1);
    if (!code)
        return FAIL(NO_MEMORY, "the code of codelets");
    for (size_t i = 0; i < c->image->section_count; i++)
        memcpy(code + (c->image->section[i].addr - c->addr), c->image->section[i].bytes,
               c->image->section[i].size);
    c->code = code;
    return EMU_OK;
}

/* Workers of compiled programs have no stack. */
static enum emu_status check_stack(const struct codelet *codelet, const struct asm_image *image,
                                   const struct asm_symbol *entry)
{
    uint32_t bytes;

    if (!codelet->files)
        return EMU_OK;
    TRY(asm_stack_bytes(image, entry, &bytes));
    return bytes ? FAIL(BAD_PROGRAM,
                        "codelet %s needs %u bytes of stack, and compiled programs have none",
                        codelet->name, bytes)
                 : EMU_OK;
}

static enum emu_status link_set(const struct codelet *const *set, const char *const *order,
                                size_t n, struct codelet_code *c)
{
    const struct asm_layout layout = { .code_addr = c->addr, .root = order, .roots = n };

    c->entry = emu_alloc(n + 1, sizeof(*c->entry));
    if (!c->entry)
        return FAIL(NO_MEMORY, "a set of %zu codelets", n);
    TRY(asm_unit_link(c->unit, &layout));
    c->image = asm_unit_image(c->unit);
    for (size_t i = 0; i < n; i++) {
        const struct asm_symbol *entry = asm_entry_find(c->image, set[i]->name);

        TRY(check_stack(set[i], c->image, entry));
        c->entry[i] = (uint32_t)entry->value;
    }
    return copy_sections(c);
}

enum emu_status codelet_code_link(struct asm_unit *u, const struct codelet *const *set,
                                  const char *const *order, size_t n, uint32_t addr,
                                  struct codelet_code *out)
{
    enum emu_status s;

    *out = (struct codelet_code){ .addr = addr, .unit = u };
    s = link_set(set, order, n, out);
    if (s != EMU_OK)
        codelet_code_free(out);
    return s;
}

void codelet_code_free(struct codelet_code *c)
{
    asm_unit_free(c->unit);
    emu_free((void *)c->code);
    emu_free(c->entry);
    memset(c, 0, sizeof(*c));
}
