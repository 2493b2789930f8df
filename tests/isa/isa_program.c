/* isa_program.c - the program around the instructions of a block: all shapes in one unit, each
 * after its own label.
 *
 *   isa_lone    the code as written, then exitz
 *   isa_bundle  the single instruction with a companion in the other lane, then exitz
 *   isa_rpt     the same bundle as the body of a repeat of one
 *   isa_super   the code as written for the supervisor, then br
 *
 * A companion shows that both halves read the registers as they were: it copies what the
 * instruction overwrites, or overwrites what the instruction reads.
 */
#include "tests/isa/isa_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/asm/asm.h"
#include "emu/base/alloc.h"

enum { SPARE_M = 11, SPARE_A = 13 };

static int first_register(const struct isa_place *list, unsigned count, char file)
{
    for (unsigned i = 0; i < count; i++) {
        if (list[i].kind == PLACE_REGISTER && list[i].file == file && list[i].lane < 0)
            return list[i].number;
    }
    return -1;
}

struct isa_companion isa_companion_of(const struct isa_block *b)
{
    int out_a = first_register(b->out, b->out_count, 'a');
    int in_a = first_register(b->in, b->in_count, 'a');
    struct isa_companion c = { .number = SPARE_M, .value = 0x5a5a5, .from = -1 };

    if (b->form->lane == LANE_A) {
        c.file = 'm';
        if (out_a >= 0 && out_a < 14)
            c.from = out_a;
        return c;
    }
    c.file = 'a';
    c.number = SPARE_A;
    if (out_a >= 0 && out_a < 14)
        c.from = out_a;
    else if (in_a >= 0 && in_a < 14)
        c.number = (uint8_t)in_a;
    return c;
}

static void companion_text(const struct isa_block *b, char *out, size_t bytes)
{
    struct isa_companion c = isa_companion_of(b);

    if (c.from < 0)
        snprintf(out, bytes, "setzi $%c%u, 0x%x", c.file, c.number, c.value);
    else if (c.file == 'm')
        snprintf(out, bytes, "atom $m%u, $a%d", c.number, c.from);
    else
        snprintf(out, bytes, "or $a%u, $a%d, 0", c.number, c.from);
}

int isa_block_is_single(const struct isa_block *b)
{
    return b->lines == 1 && !strstr(b->code, "{ ") && !strstr(b->code, ":\n");
}

/* ---- text ---- */

struct isa_text {
    char *s;
    size_t n, cap;
    int failed;
};

static void text_add(struct isa_text *t, const char *s, size_t n)
{
    while (!t->failed && t->n + n + 1 > t->cap) {
        char *grown = emu_realloc(t->s, t->cap ? 2 * t->cap : 4096, 1);

        t->failed = !grown;
        if (grown) {
            t->s = grown;
            t->cap = t->cap ? 2 * t->cap : 4096;
        }
    }
    if (t->failed)
        return;
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

static void text_puts(struct isa_text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

/* What {name} stands for, or NULL: {v} is the number of the shape, others are columns. */
static const char *replacement(const struct isa_block *b, const struct isa_row *row,
                               const char *name, size_t n, const char *shape)
{
    if (n == 3 && !memcmp(name, "{v}", 3))
        return shape;
    for (unsigned i = 0; i < b->in_count; i++) {
        if (b->in[i].kind == PLACE_TEXT && strlen(b->in[i].name) == n &&
            !memcmp(b->in[i].name, name, n))
            return row->in[i].text;
    }
    return NULL;
}

static void text_code(struct isa_text *t, const struct isa_block *b, const struct isa_row *row,
                      const char *code, int shape)
{
    char number[4];

    snprintf(number, sizeof(number), "%d", shape);
    while (code && *code) {
        size_t plain = strcspn(code, "{");
        const char *close = strchr(code + plain, '}');
        const char *with = NULL;

        text_add(t, code, plain);
        code += plain;
        if (!*code)
            return;
        if (close)
            with = replacement(b, row, code, (size_t)(close - code + 1), number);
        if (with) {
            text_puts(t, with);
            code = close + 1;
        } else {
            text_puts(t, "{"); /* a bundle */
            code++;
        }
    }
}

static void text_bundle(struct isa_text *t, const struct isa_block *b, const struct isa_row *row,
                        int shape)
{
    char companion[64];

    companion_text(b, companion, sizeof(companion));
    text_puts(t, "\t{\n\t");
    if (b->form->lane == LANE_A) {
        text_puts(t, companion);
        text_puts(t, "\n");
        text_code(t, b, row, b->code, shape);
    } else {
        text_code(t, b, row, b->code, shape);
        text_puts(t, "\t");
        text_puts(t, companion);
        text_puts(t, "\n");
    }
    text_puts(t, "\t}\n\texitz $mzero\n");
}

static void text_program(struct isa_text *t, const struct isa_block *b, const struct isa_row *row)
{
    if (b->only & ONLY_WORKER) {
        text_puts(t, "\t.worker\n\t.align 8\nisa_lone:\n");
        text_code(t, b, row, b->code, SHAPE_LONE);
        text_puts(t, "\texitz $mzero\n");
        text_code(t, b, row, b->tail, SHAPE_LONE);
    }
    if (isa_shape_applies(b, SHAPE_BUNDLE)) {
        text_puts(t, "\t.align 8\nisa_bundle:\n");
        text_bundle(t, b, row, SHAPE_BUNDLE);
    }
    if (isa_shape_applies(b, SHAPE_RPT)) {
        text_puts(t, "\t.align 8\nisa_rpt:\n\t{\n\trpt 1, 0\n\tfnop\n\t}\n");
        text_bundle(t, b, row, SHAPE_RPT);
    }
    if (b->only & ONLY_SUPERVISOR) {
        text_puts(t, "\t.supervisor\n\t.align 8\nisa_super:\n");
        text_code(t, b, row, b->code, ISA_SHAPE_SUPER);
        text_puts(t, "\tbr $m10\n");
        text_code(t, b, row, b->tail, ISA_SHAPE_SUPER);
    }
}

/* ---- assembling ---- */

enum emu_status isa_program_new(const struct isa_block *b, const struct isa_row *row,
                                struct isa_program **out)
{
    struct isa_program *p = emu_alloc(1, sizeof(*p));
    const struct case_options options = { .messages = stderr };
    struct isa_text t = { 0 };
    enum emu_status s;

    *out = NULL;
    if (!p)
        return FAIL(NO_MEMORY, "a program");
    text_program(&t, b, row);
    p->block = b;
    p->text = t.s;
    p->start = (struct tile_case){ .as = b->only & ONLY_WORKER ? CASE_WORKER : CASE_SUPERVISOR,
                                   .state = { .place = { .name = "state" } },
                                   .stack_bytes = 256,
                                   .scratch_bytes = 64 };
    p->program =
        (struct manifest_program){ .text = t.s,
                                   .entry = b->only & ONLY_WORKER ? "isa_lone" : "isa_super",
                                   .memory = b->memory,
                                   .memories = b->memory_count };
    p->m = (struct manifest){ .path = (char *)(uintptr_t)b->file,
                              .arch = *ss_arch_preset("mk2"),
                              .program = &p->program,
                              .programs = 1,
                              .max_cycles = 10000000,
                              .tile_case = &p->start,
                              .raw = 1 };
    p->m.arch.number[ARCH_NUMBER_isa] =
        ISA_IPU21; /* rows may have all instructions, and all registers they can name */
    p->m.arch.number[ARCH_NUMBER_main_registers] = 13;
    p->m.arch.number[ARCH_NUMBER_aux_registers] = 14;
    s = t.failed ? FAIL(NO_MEMORY, "the text of a program") : case_build(&p->m, &options, &p->run);
    if (s != EMU_OK) {
        isa_program_free(p);
        return s;
    }
    *out = p;
    return EMU_OK;
}

void isa_program_free(struct isa_program *p)
{
    if (!p)
        return;
    case_run_free(p->run);
    ss_free(p->text);
    for (unsigned i = 0; i < EMU_COUNT_OF(p->image); i++)
        ss_free(p->image[i]);
    ss_free(p);
}

/* ---- is it the form it claims to be? ---- */

static int is_register_text(const char *s, char file, unsigned span)
{
    unsigned long first, last;
    char *end;

    if (!strcmp(s, "$azeros"))
        return file == 'a' && span == 2;
    if (!strcmp(s, "$azero"))
        return file == 'a' && span == 1;
    if (!strncmp(s, "$m", 2) && s[2] >= 'a')
        return file == 'm' && span == 1; /* $mzero, $mvertex_base */
    if (s[0] != '$' || s[1] != file || s[2] < '0' || s[2] > '9')
        return 0;
    first = strtoul(s + 2, &end, 10);
    if (end[0] != ':' || end[1] < '0' || end[1] > '9')
        return span == 1 && !end[0];
    last = strtoul(end + 1, &end, 10);
    return !*end && last - first + 1 == span;
}

static int operand_matches(const struct operand *o, const char *text)
{
    static const char *const suffix[] = { "", "+=", "++", "@", ">>" };
    size_t n = strlen(text), k = strlen(suffix[o->suffix]);
    char s[ISA_NAME];

    if (n < k || strcmp(text + n - k, suffix[o->suffix]) || n >= sizeof(s))
        return 0;
    memcpy(s, text, n - k);
    s[n - k] = 0;
    n -= k;
    switch (o->kind) {
    case OPD_M:
        return is_register_text(s, 'm', 1);
    case OPD_A:
        return is_register_text(s, 'a', 1);
    case OPD_M2:
        return is_register_text(s, 'm', 2);
    case OPD_A2:
        return is_register_text(s, 'a', 2);
    case OPD_A4:
        return is_register_text(s, 'a', 4);
    case OPD_A_BL:
    case OPD_A_B:
        return (n > 3 && !strcmp(s + n - 3, ":BL")) || (n > 2 && !strcmp(s + n - 2, ":B"));
    case OPD_A_BU:
        return n > 3 && !strcmp(s + n - 3, ":BU");
    case OPD_CSRNAME:
        return s[0] == '$' && s[1] >= 'A' && s[1] <= 'Z';
    default:
        return s[0] != '$';
    }
}

/* Whether one statement has the mnemonic and operand kinds of a form. Immediates are told apart by
 * the decoded operation. */
static int statement_matches(const struct insn_form *f, const char *s, size_t n)
{
    size_t mn = strcspn(s, " \t\n");
    unsigned count = 0;

    if (mn > n)
        mn = n;
    if (strlen(f->mnemonic) != mn || memcmp(f->mnemonic, s, mn))
        return 0;
    for (size_t i = mn; i < n;) {
        size_t start = i + strspn(s + i, " \t,"), len = strcspn(s + start, ",\n}");
        char text[ISA_NAME];

        if (start >= n)
            break;
        if (start + len > n)
            len = n - start;
        i = start + len;
        while (len && (s[start + len - 1] == ' ' || s[start + len - 1] == '\t'))
            len--;
        if (!len)
            break;
        if (len >= sizeof(text) || count >= f->operand_count)
            return 0;
        memcpy(text, s + start, len);
        text[len] = 0;
        if (!operand_matches(&f->operand[count++], text))
            return 0;
    }
    return count == f->operand_count;
}

static int text_contains_form(const struct isa_program *p)
{
    for (const char *s = p->text; *s;) {
        size_t skip = strspn(s, " \t\n{"), n = strcspn(s + skip, "\n;");

        if (n && statement_matches(p->block->form, s + skip, n))
            return 1;
        s += skip + n;
        s += *s != 0;
    }
    return 0;
}

/* Operations that a form may be written as. */
static int form_makes(const struct insn_form *f, unsigned op)
{
    return f->op == op;
}

static int code_contains_form(const struct isa_program *p)
{
    const struct asm_image *image = asm_unit_image(p->run->unit);

    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        for (uint32_t off = 0; off + 4 <= s->size;) {
            uint32_t w[2] = { 0, 0 };
            struct insn main, aux;
            int bundle;

            memcpy(w, s->bytes + off, s->size - off >= 8 ? 8 : 4);
            off += isa_decode(w, &main, &aux, &bundle);
            if (form_makes(p->block->form, main.op) ||
                (bundle && form_makes(p->block->form, aux.op)))
                return 1;
        }
    }
    return 0;
}

/* Disassembles, assembles again, compares the bytes. */
static enum emu_status check_round_trip(const struct isa_program *p)
{
    const struct asm_image *image = asm_unit_image(p->run->unit), *again;
    struct asm_options options = { .arch = p->run->arch, .raw = 1, .no_files = 1 };
    struct asm_unit *u = NULL;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    enum emu_status s = f ? asm_disassemble(image, f) : FAIL(NO_MEMORY, "a disassembly");

    if (f)
        fclose(f);
    if (s == EMU_OK)
        s = asm_unit_new(&options, &u);
    if (s == EMU_OK)
        s = asm_unit_add_text(u, "disassembly", text, bytes);
    if (s == EMU_OK)
        s = asm_unit_link(u, NULL);
    again = s == EMU_OK ? asm_unit_image(u) : NULL;
    if (again && (again->section_count != image->section_count ||
                  again->section[0].size != image->section[0].size ||
                  memcmp(again->section[0].bytes, image->section[0].bytes, image->section[0].size)))
        s = FAIL(BAD_ASM, "the disassembly assembles to other words:\n%.600s", text);
    asm_unit_free(u);
    free(text); /* allocated by open_memstream */
    return s;
}

enum emu_status isa_program_check(const struct isa_program *p)
{
    if (!text_contains_form(p) || !code_contains_form(p))
        return FAIL(BAD_ASM, "%s is not in the code: mnemonic and operands of another form",
                    p->block->form->name);
    return check_round_trip(p);
}
