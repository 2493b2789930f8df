/* codelet.c - the fields of codelets, and the code of a set of them. */
#include "programs/compiler/base/codelet.h"

#include "emu/isa/insn_ops.h"

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

/* ---- what a codelet of the user's does ---- */

/* What the instructions of an entry say about it. */
struct entry_use {
    const char *foreign; /* an instruction of the other context; NULL: there is none */
    int stack;           /* whether it takes one */
};

/* The end of an entry, as an offset in its section. */
static uint32_t end_of(const struct asm_symbol *entry)
{
    uint32_t at = (uint32_t)entry->value - entry->section->addr;

    return entry->size && entry->size <= entry->section->size - at ? at + entry->size
                                                                   : entry->section->size;
}

/* A worker's stack begins at $mworker_base, the supervisor's is made by changing $sp. */
static void add_use(enum codelet_kind kind, const struct insn *in, struct entry_use *use)
{
    enum { SP = 11, WORKER_BASE = 12 };
    const int works = kind == CODELET_MULTI;
    struct insn_regs regs;

    if (in->op >= INSN_COUNT)
        return;
    regs = isa_registers(in);
    if (!(isa_op_form(in->op)->context & (works ? CTX_W : CTX_S)))
        use->foreign = isa_op_form(in->op)->mnemonic;
    use->stack |= works ? regs.m_read >> WORKER_BASE & 1 : regs.m_write >> SP & 1;
}

static struct entry_use find_use(const struct codelet *codelet, const struct asm_symbol *entry)
{
    const struct asm_section *s = entry->section;
    struct entry_use use = { NULL, 0 };
    uint32_t at = (uint32_t)entry->value - s->addr, end = end_of(entry);

    while (at < end && end - at >= ISA_WORD_BYTES) {
        struct insn in[2] = { { .op = INSN_ILLEGAL }, { .op = INSN_ILLEGAL } };
        uint32_t word[2] = { 0, 0 };
        int is_bundle = 0;

        memcpy(word, s->bytes + at, end - at < sizeof(word) ? ISA_WORD_BYTES : sizeof(word));
        at += isa_decode(word, &in[0], &in[1], &is_bundle);
        for (int k = 0; k <= is_bundle; k++)
            add_use(codelet->kind, &in[k], &use);
    }
    return use;
}

/* Checks the code of a codelet. *bytes: the stack it needs, as its user knows or its code says. */
static enum emu_status check_own(const struct codelet *codelet, const struct asm_image *image,
                                 const struct asm_symbol *entry, uint32_t *bytes)
{
    enum { STACK_ALIGN = 8 };
    struct entry_use use = find_use(codelet, entry);

    if (use.foreign)
        return FAIL(BAD_PROGRAM, "codelet %s: %s no %s", codelet->name,
                    codelet->kind == CODELET_MULTI ? "workers have" : "the supervisor has",
                    use.foreign);
    *bytes = codelet->stack_bytes;
    if (!*bytes)
        TRY(asm_stack_bytes(image, entry, bytes));
    if (!*bytes && use.stack)
        return FAIL(BAD_PROGRAM,
                    "codelet %s uses a stack of unknown size: neither .stack_sizes nor stack_bytes "
                    "of struct own_codelet says how many bytes it needs",
                    codelet->name);
    if (*bytes > CODELET_STACK_MAX)
        return FAIL(BAD_PROGRAM, "codelet %s needs %u bytes of stack: at most %d", codelet->name,
                    *bytes, CODELET_STACK_MAX);
    *bytes = (*bytes + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN;
    return EMU_OK;
}

/* ---- linking ---- */

static enum emu_status link_set(const struct codelet *const *set, const char *const *order,
                                size_t n, struct codelet_code *c)
{
    const struct asm_layout layout = { .code_addr = c->addr, .root = order, .roots = n };

    c->entry = emu_alloc(n + 1, sizeof(*c->entry));
    c->stack = emu_alloc(n + 1, sizeof(*c->stack));
    if (!c->entry || !c->stack)
        return FAIL(NO_MEMORY, "a set of %zu codelets", n);
    TRY(asm_unit_link(c->unit, &layout));
    c->image = asm_unit_image(c->unit);
    for (size_t i = 0; i < n; i++) {
        const struct asm_symbol *entry = asm_entry_find(c->image, set[i]->name);

        if (!entry || !entry->section)
            return FAIL(BAD_PROGRAM, "codelet %s has no code", set[i]->name);
        if (set[i]->files)
            TRY(check_own(set[i], c->image, entry, &c->stack[i]));
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
    ss_free((void *)c->code);
    ss_free(c->entry);
    ss_free(c->stack);
    memset(c, 0, sizeof(*c));
}
