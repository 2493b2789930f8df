/* vertex_forms.c - forms of calls as text (vertex_forms.h). */
#include "programs/compiler/emit/vertex_forms.h"

#include <stdio.h>
#include <stdlib.h>

/* Of an edge or work list: 0 for other fields. */
static char use_of(enum field_kind k)
{
    switch (k) {
    case FIELD_IN:
    case FIELD_IN_LIST:
    case FIELD_WORDS:
        return 'r';
    case FIELD_OUT:
    case FIELD_OUT_LIST:
        return 'w';
    case FIELD_INOUT:
        return 'b';
    default:
        return 0;
    }
}

static void print_field(FILE *f, const struct codelet *c, uint32_t field, uint32_t length)
{
    const struct codelet_field *x = &c->field[field];
    char use = use_of(x->kind);
    uint32_t bytes = x->kind == FIELD_WORDS ? 4 : ss_elem_bytes(x->elem);

    if (!use || !length)
        return;
    fprintf(f, " %s:%d:%c:", x->name, codelet_field_offset(c, field) / 4, use);
    if (field_is_list(x->kind))
        fprintf(f, "%ux%u", length, bytes);
    else
        fprintf(f, "%llu", (unsigned long long)length * bytes);
}

static enum emu_status form_text(const struct lowered *l, const struct call_form *form, char **out)
{
    const struct codelet *c = l->codelet.at[form->codelet];
    unsigned bytes = codelet_state_bytes(c);
    size_t size;
    FILE *f;

    *out = NULL;
    f = open_memstream(out, &size);
    if (!f)
        return FAIL(NO_MEMORY, "the form of a vertex");
    fprintf(f, "%s %u", c->name, bytes ? bytes / 4 : 1);
    for (uint32_t k = 0; k < c->fields; k++)
        print_field(f, c, k, l->form_length.at[form->first + k]);
    return fclose(f) ? FAIL(NO_MEMORY, "the form of a vertex") : EMU_OK;
}

enum emu_status vertex_forms(const struct lowered *l, struct image *im, uint32_t **out)
{
    uint32_t *id = emu_alloc(l->form.count + 1, sizeof(*id));
    enum emu_status s = id ? EMU_OK : FAIL(NO_MEMORY, "%zu forms", l->form.count);

    *out = id;
    for (size_t i = 0; s == EMU_OK && i < l->form.count; i++) {
        char *text;

        s = form_text(l, &l->form.at[i], &text);
        if (s == EMU_OK)
            s = image_string(im, text, &id[i]);
        free(text);
    }
    return s;
}
