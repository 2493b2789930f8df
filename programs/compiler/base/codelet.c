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

void codelet_code_free(struct codelet_code *c)
{
    asm_image_free(&c->image);
    emu_free((void *)c->code);
    emu_free(c->entry);
    memset(c, 0, sizeof(*c));
}
