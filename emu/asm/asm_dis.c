/* asm_dis.c - turns linked units back into assembly text that assembles to the same words.
 *
 * Words that are no instruction, and pairs that the assembler would refuse as a bundle, become
 * .int. Branch targets get labels named after their address.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"
#include "emu/isa/insn_ops.h"

static uint32_t word_at(const struct asm_section *s, uint32_t offset)
{
    uint32_t w;

    memcpy(&w, s->bytes + offset, sizeof(w));
    return w;
}

/* An instruction that assembles to its own words again. */
static int is_faithful(const struct insn *in, const uint32_t word[2])
{
    uint32_t again[2];
    unsigned n;

    if (in->op >= INSN_COUNT)
        return 0;
    n = isa_encode(in, again);
    return again[0] == word[0] && (n == 1 || again[1] == word[1]);
}

/* The same of a bundle. */
static int is_faithful_bundle(const struct insn *main, const struct insn *aux,
                              const uint32_t word[2])
{
    uint32_t again[2];

    if (main->op >= INSN_COUNT || aux->op >= INSN_COUNT)
        return 0;
    isa_encode_bundle(main, aux, again);
    return again[0] == word[0] && again[1] == word[1];
}

/* What stands at a word-aligned offset. */
struct dis_part {
    unsigned bytes;
    int is_code, is_bundle;
    struct insn main, aux;
};

static void read_piece(const struct asm_section *s, uint32_t offset, struct dis_part *p)
{
    uint32_t word[2] = { word_at(s, offset), 0 };
    int fits = s->size - offset >= 8;
    char why[160];

    memset(p, 0, sizeof(*p));
    p->bytes = 4;
    if (isa_is_wide(word[0]) && !fits)
        return;
    if (fits)
        word[1] = word_at(s, offset + 4);
    p->bytes = isa_decode(word, &p->main, &p->aux, &p->is_bundle);
    if (p->is_bundle)
        p->is_code = is_faithful_bundle(&p->main, &p->aux, word) &&
                     !insn_bundle_fault(&p->main, &p->aux, why, sizeof(why));
    else
        p->is_code = is_faithful(&p->main, word) &&
                     (p->bytes == 4 || (s->addr + offset) % 8 == 0) &&
                     !insn_writes_twice(&p->main, why, sizeof(why));
    if (!p->is_code)
        p->bytes = 4;
}

int64_t branch_target(const struct insn *in)
{
    const struct insn_form *f;

    if (in->op >= INSN_COUNT)
        return -1;
    f = isa_op_form(in->op);
    for (unsigned k = 0; k < f->operand_count && f->flags & INSN_CONTROL; k++) {
        if (f->operand[k].kind == OPD_ADDR)
            return (uint32_t)in->i;
    }
    return -1;
}

static unsigned print_piece(const struct asm_section *s, uint32_t offset, const struct dis_part *p,
                            const char *label, char *out, size_t bytes)
{
    char main[160], aux[160];

    if (!p->is_code) {
        snprintf(out, bytes, ".int 0x%08" PRIx32, word_at(s, offset));
        return p->bytes;
    }
    isa_print(&p->main, label, main, sizeof(main));
    if (p->is_bundle) {
        isa_print(&p->aux, NULL, aux, sizeof(aux));
        snprintf(out, bytes, "{ %s; %s }", main, aux);
    } else {
        snprintf(out, bytes, "%s", main);
    }
    return p->bytes;
}

unsigned asm_print_item(const struct asm_section *s, uint32_t offset, const char *label, char *out,
                        size_t bytes)
{
    struct dis_part p;

    if (offset >= s->size || offset % 4 || s->size - offset < 4) {
        snprintf(out, bytes, "?");
        return 4;
    }
    read_piece(s, offset, &p);
    return print_piece(s, offset, &p, label, out, bytes);
}

/* ---- whole images ---- */

enum { MARK_START = 1, MARK_TARGET = 2 }; /* of a word: an item starts here; a branch leads here */

struct listing {
    const struct asm_image *image;
    FILE *f;
    uint8_t **marks; /* one array per section, one byte per word */
};

static uint8_t *mark_at(const struct listing *l, int64_t addr)
{
    for (size_t i = 0; i < l->image->section_count; i++) {
        const struct asm_section *s = &l->image->section[i];
        int64_t offset = addr - s->addr;

        if (offset >= 0 && offset + 4 <= s->size && s->flags & ASM_EXEC)
            return offset % 4 ? NULL : &l->marks[i][offset / 4];
    }
    return NULL;
}

static void mark(struct listing *l, int target)
{
    for (size_t i = 0; i < l->image->section_count; i++) {
        const struct asm_section *s = &l->image->section[i];
        struct dis_part p;

        for (uint32_t at = 0; s->flags & ASM_EXEC && s->size - at >= 4; at += p.bytes) {
            uint8_t *m;

            read_piece(s, at, &p);
            if (!target)
                l->marks[i][at / 4] |= MARK_START;
            m = target && p.is_code ? mark_at(l, branch_target(&p.main)) : NULL;
            if (m)
                *m |= MARK_TARGET;
        }
    }
}

static int is_plain_name(const char *name)
{
    if (!*name || !strncmp(name, ".L", 2))
        return 0;
    for (; *name; name++) {
        if (*name == '"' || *name == '\\' || (unsigned char)*name < 32)
            return 0;
    }
    return 1;
}

/* The first symbol whose value is not below v. */
static size_t lower_bound(const struct asm_image *image, int64_t v)
{
    size_t low = 0, high = image->symbol_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (image->symbol[mid].value < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Labels of symbols at an address. A name that was used before, or cannot be written, is left out.
 */
static void print_symbols(struct listing *l, const struct asm_section *s, uint32_t offset)
{
    const struct asm_image *image = l->image;
    int64_t addr = (int64_t)s->addr + offset;

    for (size_t i = lower_bound(image, addr); i < image->symbol_count; i++) {
        const struct asm_symbol *y = &image->symbol[i];
        size_t same = 0;

        if (y->value != addr)
            break;
        if (y->section != s || !is_plain_name(y->name))
            continue;
        while (same < i &&
               (!image->symbol[same].section || strcmp(image->symbol[same].name, y->name)))
            same++;
        if (same < i)
            continue;
        if (y->global)
            fprintf(l->f, ".globl \"%s\"\n", y->name);
        fprintf(l->f, "\"%s\":\n", y->name);
    }
}

static void print_code(struct listing *l, size_t index)
{
    const struct asm_section *s = &l->image->section[index];
    uint32_t at;
    struct dis_part p;

    for (at = 0; s->size - at >= 4; at += p.bytes) {
        uint8_t *m;
        char label[24], text[400];
        int64_t target;

        read_piece(s, at, &p);
        print_symbols(l, s, at);
        if (l->marks[index][at / 4] == (MARK_START | MARK_TARGET))
            fprintf(l->f, ".L%" PRIx32 ":\n", s->addr + at);
        target = p.is_code ? branch_target(&p.main) : -1;
        m = mark_at(l, target);
        snprintf(label, sizeof(label), ".L%" PRIx64, (uint64_t)target);
        print_piece(s, at, &p, m && *m & MARK_START ? label : NULL, text, sizeof(text));
        fprintf(l->f, "\t%s\n", text);
    }
    for (; at < s->size; at++)
        fprintf(l->f, "\t.byte 0x%02x\n", s->bytes[at]);
}

static int has_symbol(const struct listing *l, int64_t addr)
{
    size_t i = lower_bound(l->image, addr);

    return i < l->image->symbol_count && l->image->symbol[i].value == addr;
}

static void print_data(struct listing *l, const struct asm_section *s)
{
    enum { BYTES_PER_LINE = 16 };
    unsigned used = 0;

    for (uint32_t at = 0; at < s->size; at++) {
        int last = at + 1 == s->size || has_symbol(l, (int64_t)s->addr + at + 1);

        if (!used)
            print_symbols(l, s, at);
        fprintf(l->f, "%s0x%02x", used++ ? ", " : "\t.byte ", s->bytes[at]);
        if (last || used == BYTES_PER_LINE) {
            fputc('\n', l->f);
            used = 0;
        }
    }
}

static int is_section(const struct asm_image *image, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(image->section[i].name, name))
            return 1;
    }
    return 0;
}

static void print_section(struct listing *l, size_t index)
{
    const struct asm_image *image = l->image;
    const struct asm_section *s = &image->section[index];
    const char *name = s->name;
    char made[64];

    /* sections of one name in several files would become one */
    if (!is_plain_name(name) || is_section(image, index, name)) {
        unsigned k = 0;

        do
            snprintf(made, sizeof(made), ".dis.%zu.%u", index, k++);
        while (is_section(image, image->section_count, made));
        name = made;
    }
    fprintf(l->f, "\n# 0x%" PRIx32 ", %" PRIu32 " bytes\n", s->addr, s->size);
    fprintf(l->f, ".section \"%s\", \"a%s%s\"\n", name, s->flags & ASM_EXEC ? "x" : "",
            s->flags & ASM_WRITE ? "w" : "");
    fprintf(l->f, ".balign %" PRIu32 "\n", s->align);
    if (s->flags & ASM_EXEC)
        print_code(l, index);
    else
        print_data(l, s);
}

enum emu_status asm_disassemble(const struct asm_image *image, FILE *f)
{
    struct listing l = { image, f, NULL };
    size_t n = image->section_count;
    int ok;

    l.marks = emu_alloc(n, sizeof(*l.marks));
    ok = l.marks != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        l.marks[i] = emu_alloc(image->section[i].size / 4 + 1, 1);
        ok = l.marks[i] != NULL;
    }
    if (ok) {
        mark(&l, 0);
        mark(&l, 1);
        fprintf(f, ".allow_invalid_execution_mode\n.allow_invalid_repeat\n");
        for (size_t i = 0; i < n; i++)
            print_section(&l, i);
    }
    for (size_t i = 0; l.marks && i < n; i++)
        ss_free(l.marks[i]);
    ss_free(l.marks);
    if (!ok)
        return FAIL(NO_MEMORY, "disassembling");
    if (fflush(f) || ferror(f))
        return FAIL(IO, "writing assembly: %s", strerror(errno));
    return EMU_OK;
}
