/* asm_directive.c - the table of all directives, and the functions of those that make no data. */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"
#include "emu/base/nearest.h"

/* ---- sections ---- */

static int enter_section(struct as *as, struct span name, uint32_t flags, struct loc at)
{
    struct section *s = section_get(as, name, flags, at);

    if (!s)
        return 0;
    as->previous = as->section;
    as->section = s;
    return 1;
}

static int starts_with(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.n >= n && !memcmp(s.s, prefix, n) && (s.n == n || s.s[n] == '.');
}

/* What tools want to know about a program is no part of it, whatever the flags say. */
static int is_for_tools(struct span name)
{
    static const char *const tools[] = { ".comment", ".eh_frame", ".note", ".stack_sizes" };
    static const char *const prefix[] = { ".debug_", ".llvm_" };

    for (size_t i = 0; i < EMU_COUNT_OF(tools); i++) {
        if (starts_with(name, tools[i]))
            return 1;
    }
    for (size_t i = 0; i < EMU_COUNT_OF(prefix); i++) {
        if (name.n > strlen(prefix[i]) && !memcmp(name.s, prefix[i], strlen(prefix[i])))
            return 1;
    }
    return 0;
}

/* 0 if the name says nothing. */
static uint32_t default_flags(struct span name)
{
    if (is_for_tools(name))
        return SECTION_UNLOADED;
    if (starts_with(name, ".text"))
        return ASM_ALLOC | ASM_EXEC;
    if (starts_with(name, ".rodata"))
        return ASM_ALLOC;
    if (starts_with(name, ".data") || starts_with(name, ".bss"))
        return ASM_ALLOC | ASM_WRITE;
    return 0;
}

static int section_flags(struct as *as, struct span name, uint32_t *flags, int *in_group)
{
    struct loc at;
    char *text;
    size_t n;

    lex_blank(as);
    at = lex_here(as);
    if (!lex_string(as, &text, &n))
        return 0;
    *flags = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == 'a')
            *flags |= ASM_ALLOC;
        else if (text[i] == 'x')
            *flags |= ASM_EXEC;
        else if (text[i] == 'w')
            *flags |= ASM_WRITE;
        else if (text[i] == 'G')
            *in_group = 1;
        else if (!strchr("MSoeR", text[i]))
            return as_error(as, at, "unknown section flag '%c' (known: a, w, x, G, M, S, o, e, R)",
                            text[i]);
    }
    if (!(*flags & ASM_ALLOC) || is_for_tools(name))
        *flags = SECTION_UNLOADED;
    return 1;
}

/* @type[, entry size][, group[, comdat]]: the last two names of the rest of the statement. */
static int section_group(struct as *as, struct span *group)
{
    struct loc at = lex_here(as);
    struct span rest = lex_statement_text(as), word[2] = { { NULL, 0 }, { NULL, 0 } };
    const char *p = rest.s, *end = rest.s + rest.n;

    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;

        word[0] = word[1];
        word[1] = span_trim(span_of(p, (size_t)(stop - p)));
        p = comma ? comma + 1 : end;
    }
    if (!span_is(word[1], "comdat") || !word[0].n)
        return as_error(as, at, "expected @type, group, comdat");
    *group = word[0];
    return 1;
}

static int section_name(struct as *as, struct span *name)
{
    struct frame *f = as->top;

    lex_blank(as);
    if (lex_peek(as) == '"')
        return lex_name(as, name);
    name->s = f->p;
    while (f->p < f->end && !strchr(", \t\r\n;#\"", *f->p))
        f->p++;
    name->n = (size_t)(f->p - name->s);
    return name->n ? 1 : as_error(as, lex_here(as), "expected the name of a section");
}

/* .section name[, "flags"[, @type, ...]]; the name runs to a comma or blank, so that it may hold
 * any other character. */
static int do_section(struct as *as, struct loc at, int argument)
{
    struct span name, group;
    uint32_t flags;
    int in_group = 0;

    (void)argument;
    if (!section_name(as, &name))
        return 0;
    flags = default_flags(name);
    if (table_find(&as->source->sections, name))
        flags = 0;
    if (lex_accept(as, ',')) {
        if (!section_flags(as, name, &flags, &in_group))
            return 0;
        if (in_group && (!lex_expect(as, ',', " after the flags") || !section_group(as, &group)))
            return 0;
        lex_statement_text(as);
    }
    if (!enter_section(as, name, flags, at))
        return 0;
    return !in_group || section_join_group(as, group);
}

static int do_push_section(struct as *as, struct loc at, int argument)
{
    struct section_place here = { as->section, as->previous };

    if (as->pushed == MAX_PUSHED)
        return as_error(as, at, "more than %d sections are pushed", MAX_PUSHED);
    if (!do_section(as, at, argument))
        return 0;
    as->push[as->pushed++] = here;
    return 1;
}

static int do_pop_section(struct as *as, struct loc at, int argument)
{
    (void)argument;
    if (!as->pushed)
        return as_error(as, at, "this closes nothing: no .pushsection before it");
    as->pushed--;
    as->section = as->push[as->pushed].section;
    as->previous = as->push[as->pushed].previous;
    return 1;
}

static int do_previous(struct as *as, struct loc at, int argument)
{
    struct section *previous = as->previous;

    (void)argument;
    if (!previous)
        return as_error(as, at, "there was no other section before");
    as->previous = as->section;
    as->section = previous;
    return 1;
}

static int do_named_section(struct as *as, struct loc at, int argument)
{
    static const char *const names[] = { ".text", ".data", ".rodata", ".bss" };
    struct span name = span_of(names[argument], strlen(names[argument]));

    return enter_section(as, name, default_flags(name), at);
}

/* ---- symbols ---- */

enum binding { BIND_GLOBAL, BIND_WEAK, BIND_LOCAL, BIND_EXTERN };

static int do_binding(struct as *as, struct loc at, int argument)
{
    (void)at;
    do {
        struct span name;
        struct symbol *s;

        if (lex_accept(as, '@')) { /* `.globl name, @function` occurs; the type says nothing here */
            lex_word(as);
            continue;
        }
        if (!lex_name(as, &name))
            return 0;
        s = symbol_get(as, name);
        if (!s)
            return 0;
        if (argument != BIND_EXTERN)
            s->global = argument != BIND_LOCAL;
        if (argument == BIND_WEAK)
            s->weak = 1;
    } while (lex_accept(as, ','));
    return 1;
}

static int do_equ(struct as *as, struct loc at, int argument)
{
    struct span name;
    const struct expr_node *n;

    (void)argument;
    if (!lex_name(as, &name) || !lex_expect(as, ',', " after the name"))
        return 0;
    n = expr_parse(as);
    return n && symbol_assign(as, name, n, at);
}

/* .type symbol, @function; the comma may be left out */
static int do_type(struct as *as, struct loc at, int argument)
{
    struct span name, type;
    struct symbol *s;

    (void)at;
    (void)argument;
    if (!lex_name(as, &name))
        return 0;
    lex_accept(as, ',');
    type = lex_statement_text(as);
    s = symbol_get(as, name);
    if (!s)
        return 0;
    if (memmem(type.s, type.n, "func", 4) || memmem(type.s, type.n, "FUNC", 4))
        s->type = ASM_FUNCTION;
    else if (memmem(type.s, type.n, "object", 6) || memmem(type.s, type.n, "OBJECT", 6))
        s->type = ASM_OBJECT;
    return 1;
}

static int do_size(struct as *as, struct loc at, int argument)
{
    struct span name;
    struct symbol *s;

    (void)at;
    (void)argument;
    if (!lex_name(as, &name) || !lex_expect(as, ',', " after the name"))
        return 0;
    s = symbol_get(as, name);
    if (!s)
        return 0;
    as->in_size = 1;
    s->size = expr_parse(as);
    as->in_size = 0;
    return s->size != NULL;
}

/* A file may say twice what a common symbol needs, but not two things. */
static int check_common(struct as *as, const struct symbol *s, int64_t bytes, int64_t align,
                        struct loc at)
{
    const struct section *room = s->section;
    uint32_t least = align < MIN_SECTION_ALIGN ? MIN_SECTION_ALIGN : (uint32_t)align;

    if (room->size == (size_t)bytes && room->align == least)
        return 1;
    as_error(as, at, "'%s' is already common with another size or alignment", s->n.name);
    unit_diag(as->u, ASM_NOTE, s->defined, "here");
    return 0;
}

/* .comm symbol, bytes[, alignment]: a common symbol, which the linker gives room; and .lcomm: zeros
 * in .bss, local to the file. */
static int do_common(struct as *as, struct loc at, int is_global)
{
    struct section *here = as->section, *room;
    struct span name;
    int64_t bytes, align = 0;
    struct symbol *s;
    int ok;

    if (!lex_name(as, &name) || !lex_expect(as, ',', " after the name") ||
        !expr_parse_number(as, "the size", &bytes) ||
        (lex_accept(as, ',') && !expr_parse_number(as, "the alignment", &align)))
        return 0;
    if (bytes < 0 || align < 0)
        return as_error(as, at, "the size or the alignment is negative");
    s = symbol_get(as, name);
    if (!s)
        return 0;
    if (s->common)
        return check_common(as, s, bytes, align, at);
    room = is_global ? section_new_common(as->u, as->source, s)
                     : section_get(as, span_of(".bss", 4), default_flags(span_of(".bss", 4)), at);
    if (!room)
        return 0;
    s->type = ASM_OBJECT;
    s->size = expr_number(as, bytes);
    s->global |= is_global;
    s->common |= is_global;
    as->section = room;
    ok = s->size && section_align(as, (uint64_t)align, 0, 1, 0, at) &&
         symbol_define_label(as, name, at) && section_fill(as, (uint64_t)bytes, 1, 0, at);
    as->section = here;
    return ok;
}

/* .stack_usage symbol, bytes: made by the macros of poplar/StackSizeDefs.hpp. */
static int do_stack_usage(struct as *as, struct loc at, int argument)
{
    struct span name;
    struct symbol *s;
    int64_t bytes;

    (void)argument;
    if (!lex_name(as, &name) || !lex_expect(as, ',', " after the name"))
        return 0;
    if (name.n > 6 &&
        !memcmp(name.s, ".text.", 6)) /* PopLibs names the section of some functions */
        name = span_of(name.s + 6, name.n - 6);
    s = symbol_get(as, name);
    if (!s || !expr_parse_number(as, "the stack size", &bytes))
        return 0;
    if (bytes < 0 || bytes > as->u->arch.mem_bytes)
        return as_error(as, at, "a stack of %lld bytes", (long long)bytes);
    s->stack_bytes = (uint32_t)bytes;
    return 1;
}

/* ---- modes ---- */

static int do_mode(struct as *as, struct loc at, int argument)
{
    (void)at;
    as->mode = (uint8_t)argument;
    return 1;
}

static int do_allow(struct as *as, struct loc at, int argument)
{
    (void)at;
    as->allow[argument] = 1;
    return 1;
}

static int do_forbid(struct as *as, struct loc at, int argument)
{
    (void)at;
    as->allow[argument] = 0;
    return 1;
}

static int do_any_repeat(struct as *as, struct loc at, int argument)
{
    (void)at;
    (void)argument;
    as->source->any_repeat = 1;
    return 1;
}

/* ---- messages ---- */

static int do_message(struct as *as, struct loc at, int argument)
{
    struct span s = lex_statement_text(as);

    if (s.n >= 2 && s.s[0] == '"' && s.s[s.n - 1] == '"')
        s = span_of(s.s + 1, s.n - 2);
    if (!s.n)
        s = span_of(".err", 4);
    if (argument == ASM_WARNING) {
        as_warning(as, at, "%.*s", (int)s.n, s.s);
        return 1;
    }
    return as_error(as, at, "%.*s", (int)s.n, s.s);
}

static int do_ignore(struct as *as, struct loc at, int argument)
{
    (void)at;
    (void)argument;
    lex_statement_text(as);
    return 1;
}

static int do_stray(struct as *as, struct loc at, int argument)
{
    static const char *const openers[] = { ".macro", ".rept" };

    return as_error(as, at, "this closes nothing: no %s before it", openers[argument]);
}

/* ---- macros and files ---- */

static int do_macro(struct as *as, struct loc at, int argument)
{
    (void)argument;
    return macro_define(as, at);
}

static int do_repeat(struct as *as, struct loc at, int argument)
{
    static const char *const names[] = { ".rept", ".irp", ".irpc" };

    return macro_repeat(as, span_of(names[argument], strlen(names[argument])), at);
}

static int do_exitm(struct as *as, struct loc at, int argument)
{
    (void)argument;
    return macro_exit(as, at);
}

static int do_purgem(struct as *as, struct loc at, int argument)
{
    struct span name;

    (void)argument;
    if (!lex_name(as, &name))
        return 0;
    if (!table_remove(&as->macros, name))
        return as_error(as, at, "no macro '%.*s'", (int)name.n, name.s);
    return 1;
}

int directive_file(struct as *as, struct loc at, char **name, char **out, size_t *len)
{
    const struct asm_options *o = &as->u->options;
    const char *slash = strrchr(at.file, '/');
    enum emu_status st;
    char *quoted, path[4096];
    struct span copy;
    size_t n;

    if (!lex_string(as, &quoted, &n))
        return 0;
    copy = unit_copy(as->u, span_of(quoted, n));
    if (!copy.s)
        return 0;
    *name = (char *)copy.s;
    if (o->no_files)
        return as_error(as, at, "files are not allowed here");
    snprintf(path, sizeof(path), "%.*s%s", slash && **name != '/' ? (int)(slash - at.file + 1) : 0,
             at.file, *name);
    st = file_read(path, out, len);
    for (size_t i = 0; i < o->include_dir_count && st == EMU_IO; i++) {
        snprintf(path, sizeof(path), "%s/%s", o->include_dirs[i], *name);
        st = file_read(path, out, len);
    }
    if (st == EMU_OK)
        return 1;
    return st == EMU_NO_MEMORY ? unit_no_memory(as->u)
                               : as_error(as, at, "cannot read '%s'", *name);
}

static int do_include(struct as *as, struct loc at, int argument)
{
    struct frame f = { .kind = FRAME_FILE, .line = 1, .called = at };
    char *name, *text;
    size_t len;

    (void)argument;
    if (!directive_file(as, at, &name, &text, &len) || !lex_expect_end(as))
        return 0;
    if (len > as->u->options.expansion_bytes - as->expanded) {
        ss_free(text);
        return as_error(as, at, "the included files are too long");
    }
    as->expanded += len;
    f.owned = text;
    f.p = f.line_start = text;
    f.end = text + len;
    f.name = name;
    f.file = unit_file_name(as->u, name, strlen(name));
    return frame_push(as, &f);
}

/* ---- the table ---- */

enum {
    IN_BUNDLE = 1,
    OWN_END = 2
}; /* allowed between braces; the handler looks for the end of the statement itself */

static const struct directive {
    const char *name;
    data_fn *run;
    int argument;
    uint8_t flags;
} directives[] = {
    { ".section", do_section, 0, 0 },
    { ".pushsection", do_push_section, 0, 0 },
    { ".popsection", do_pop_section, 0, 0 },
    { ".previous", do_previous, 0, 0 },
    { ".text", do_named_section, 0, 0 },
    { ".data", do_named_section, 1, 0 },
    { ".rodata", do_named_section, 2, 0 },
    { ".bss", do_named_section, 3, 0 },
    { ".globl", do_binding, BIND_GLOBAL, 0 },
    { ".global", do_binding, BIND_GLOBAL, 0 },
    { ".weak", do_binding, BIND_WEAK, 0 },
    { ".local", do_binding, BIND_LOCAL, 0 },
    { ".extern", do_binding, BIND_EXTERN, 0 },
    { ".equ", do_equ, 0, IN_BUNDLE },
    { ".set", do_equ, 0, IN_BUNDLE },
    { ".type", do_type, 0, 0 },
    { ".size", do_size, 0, 0 },
    { ".comm", do_common, 1, 0 },
    { ".lcomm", do_common, 0, 0 },
    { ".stack_usage", do_stack_usage, 0, 0 },
    { ".worker", do_mode, MODE_WORKER, 0 },
    { ".supervisor", do_mode, MODE_SUPERVISOR, 0 },
    { ".allow_optimizations", do_allow, OPTIMIZATIONS, 0 },
    { ".allow_invalid_execution_mode", do_allow, ANY_MODE, 0 },
    { ".error_on_invalid_execution_mode", do_forbid, ANY_MODE, 0 },
    { ".allow_invalid_operands", do_allow, ANY_OPERANDS, 0 },
    { ".error_on_invalid_operands", do_forbid, ANY_OPERANDS, 0 },
    { ".warn_on_invalid_bundles", do_allow, ANY_BUNDLE, 0 },
    { ".error_on_invalid_bundles", do_forbid, ANY_BUNDLE, 0 },
    { ".allow_invalid_repeat", do_any_repeat, 0, 0 },
    { ".error", do_message, ASM_ERROR, IN_BUNDLE },
    { ".err", do_message, ASM_ERROR, IN_BUNDLE },
    { ".warning", do_message, ASM_WARNING, IN_BUNDLE },
    { ".file", do_ignore, 0, 0 },
    { ".ident", do_ignore, 0, 0 },
    { ".hidden", do_ignore, 0, 0 },
    { ".protected", do_ignore, 0, 0 },
    { ".internal", do_ignore, 0, 0 },
    { ".addrsig", do_ignore, 0, 0 },
    { ".addrsig_sym", do_ignore, 0, 0 },
    { ".loc", do_ignore, 0, IN_BUNDLE },
    { ".macro", do_macro, 0, IN_BUNDLE | OWN_END },
    { ".endm", do_stray, 0, IN_BUNDLE },
    { ".endmacro", do_stray, 0, IN_BUNDLE },
    { ".exitm", do_exitm, 0, IN_BUNDLE | OWN_END },
    { ".purgem", do_purgem, 0, IN_BUNDLE },
    { ".rept", do_repeat, 0, IN_BUNDLE | OWN_END },
    { ".irp", do_repeat, 1, IN_BUNDLE | OWN_END },
    { ".irpc", do_repeat, 2, IN_BUNDLE | OWN_END },
    { ".endr", do_stray, 1, IN_BUNDLE },
    { ".include", do_include, 0, IN_BUNDLE | OWN_END },
    { ".incbin", data_incbin, 0, 0 },
    { ".byte", data_integers, 1, 0 },
    { ".half", data_integers, 2, 0 },
    { ".short", data_integers, 2, 0 },
    { ".hword", data_integers, 2, 0 },
    { ".2byte", data_integers, 2, 0 },
    { ".int", data_integers, 4, 0 },
    { ".long", data_integers, 4, 0 },
    { ".word", data_integers, 4, 0 },
    { ".4byte", data_integers, 4, 0 },
    { ".quad", data_integers, 8, 0 },
    { ".8byte", data_integers, 8, 0 },
    { ".dc.b", data_integers, 1, 0 },
    { ".dc.w", data_integers, 2, 0 },
    { ".dc", data_integers, 2, 0 },
    { ".dc.l", data_integers, 4, 0 },
    { ".dc.a", data_integers, 4, 0 },
    { ".uleb128", data_leb128, 0, 0 },
    { ".sleb128", data_leb128, 1, 0 },
    { ".float", data_floats, 4, 0 },
    { ".single", data_floats, 4, 0 },
    { ".dc.s", data_floats, 4, 0 },
    { ".double", data_floats, 8, 0 },
    { ".dc.d", data_floats, 8, 0 },
    { ".ascii", data_strings, 0, 0 },
    { ".asciz", data_strings, 1, 0 },
    { ".string", data_strings, 1, 0 },
    { ".space", data_space, 0, 0 },
    { ".skip", data_space, 0, 0 },
    { ".zero", data_space, 0, 0 },
    { ".fill", data_fill, 0, 0 },
    { ".align", data_align, 0, 0 },
    { ".balign", data_align, 0, 0 },
    { ".p2align", data_align, 1, 0 },
    { ".org", data_org, 0, 0 },
    { ".exchange", exchange_open_block, 0, 0 },
    { ".send", exchange_message, 1, 0 },
    { ".receive", exchange_message, 0, 0 },
    { ".endexchange", exchange_close_block, 0, 0 },
};

const char *directive_nearest(struct span name)
{
    struct nearest meant = { .word = name.s, .n = name.n };

    for (size_t i = 0; i < EMU_COUNT_OF(directives); i++)
        nearest_try(&meant, directives[i].name);
    return meant.best;
}

int directive_run(struct as *as, struct span name, struct loc at)
{
    const char *nearest;

    if (name.n > 5 && !memcmp(name.s, ".cfi_", 5)) /* how to unwind the stack is for debuggers */
        return do_ignore(as, at, 0);
    for (size_t i = 0; i < EMU_COUNT_OF(directives); i++) {
        const struct directive *d = &directives[i];

        if (name.n < 2 || name.s[1] != d->name[1] || !span_is(name, d->name))
            continue;
        if (as->bundle.open && !(d->flags & IN_BUNDLE))
            return as_error(as, at, "%s cannot stand in a bundle", d->name);
        return d->run(as, at, d->argument) && (d->flags & OWN_END || lex_expect_end(as));
    }
    nearest = directive_nearest(name);
    if (nearest)
        return as_error(as, at, "unknown directive '%.*s'; did you mean '%s'?", (int)name.n, name.s,
                        nearest);
    return as_error(as, at, "unknown directive '%.*s'", (int)name.n, name.s);
}
