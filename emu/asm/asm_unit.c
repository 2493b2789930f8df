/* asm_unit.c - a unit: its arena, its tables of names, its diagnostics, and how files enter it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

enum { ARENA_BLOCK_BYTES = 1 << 16, FIRST_BUCKETS = 64 };

#define DEFAULT_EXPANSION_BYTES ((size_t)64 << 20)

/* ---- arena ---- */

int unit_no_memory(struct asm_unit *u)
{
    u->no_memory = 1;
    return 0;
}

void *unit_alloc(struct asm_unit *u, size_t count, size_t size)
{
    struct arena_block *b = u->arena;
    size_t bytes, header = (sizeof(*b) + 15) & ~(size_t)15;
    char *p;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!b || b->bytes - b->used < bytes) {
        size_t room = bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES;

        b = emu_alloc(1, header + room);
        if (!b) {
            unit_no_memory(u);
            return NULL;
        }
        b->bytes = room;
        b->next = u->arena;
        u->arena = b;
    }
    p = (char *)b + header + b->used;
    b->used += bytes;
    return p;
}

struct span unit_copy(struct asm_unit *u, struct span s)
{
    char *p = unit_alloc(u, s.n + 1, 1);

    if (p && s.n)
        memcpy(p, s.s, s.n);
    return span_of(p, s.n);
}

static void arena_free(struct asm_unit *u)
{
    while (u->arena) {
        struct arena_block *next = u->arena->next;

        ss_free(u->arena);
        u->arena = next;
    }
}

/* ---- spans and tables ---- */

int span_is(struct span a, const char *b)
{
    return strlen(b) == a.n && !memcmp(a.s, b, a.n);
}

struct span span_trim(struct span s)
{
    while (s.n && strchr(" \t\r\f\v", s.s[0])) {
        s.s++;
        s.n--;
    }
    while (s.n && strchr(" \t\r\f\v", s.s[s.n - 1]))
        s.n--;
    return s;
}

static uint32_t span_hash(struct span s)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.s[i]) * 16777619u;
    return h;
}

static struct named **table_slot(const struct table *t, struct span name, uint32_t hash)
{
    struct named **at = &t->bucket[hash & (t->buckets - 1)];

    while (*at &&
           ((*at)->hash != hash || (*at)->len != name.n || memcmp((*at)->name, name.s, name.n)))
        at = &(*at)->next;
    return at;
}

struct named *table_find(const struct table *t, struct span name)
{
    return t->buckets ? *table_slot(t, name, span_hash(name)) : NULL;
}

int table_remove(struct table *t, struct span name)
{
    struct named **at = t->buckets ? table_slot(t, name, span_hash(name)) : NULL;

    if (!at || !*at)
        return 0;
    *at = (*at)->next;
    t->count--;
    return 1;
}

void table_free(struct table *t)
{
    ss_free(t->bucket);
    memset(t, 0, sizeof(*t));
}

static int table_grow(struct table *t)
{
    size_t buckets = t->buckets ? 2 * t->buckets : FIRST_BUCKETS;
    struct named **bucket = emu_alloc(buckets, sizeof(struct named *));

    if (!bucket)
        return 0;
    for (size_t i = 0; i < t->buckets; i++) {
        struct named *n = t->bucket[i], *next;

        for (; n; n = next) {
            next = n->next;
            n->next = bucket[n->hash & (buckets - 1)];
            bucket[n->hash & (buckets - 1)] = n;
        }
    }
    ss_free(t->bucket);
    t->bucket = bucket;
    t->buckets = buckets;
    return 1;
}

struct named *unit_insert(struct asm_unit *u, struct table *t, struct span name, size_t size)
{
    struct named *n = unit_alloc(u, 1, size);
    struct span copy = unit_copy(u, name);

    if (!n || !copy.s || (t->count >= t->buckets && !table_grow(t))) {
        unit_no_memory(u);
        return NULL;
    }
    n->name = copy.s;
    n->len = (uint32_t)copy.n;
    n->hash = span_hash(copy);
    n->next = t->bucket[n->hash & (t->buckets - 1)];
    t->bucket[n->hash & (t->buckets - 1)] = n;
    t->count++;
    return n;
}

const char *unit_file_name(struct asm_unit *u, const char *name, size_t n)
{
    struct named *found = table_find(&u->names, span_of(name, n));

    if (!found)
        found = unit_insert(u, &u->names, span_of(name, n), sizeof(*found));
    return found ? found->name : "";
}

/* ---- diagnostics ---- */

static int unit_vdiag(struct asm_unit *u, enum asm_diag_kind kind, struct loc at, const char *fmt,
                      va_list ap)
{
    char text[512];
    struct span copy;
    void *p = u->diag;

    vsnprintf(text, sizeof(text), fmt, ap);
    copy = unit_copy(u, span_of(text, strlen(text)));
    if (!copy.s || emu_grow(&p, u->diags, &u->diag_capacity, sizeof(*u->diag)) != EMU_OK)
        return unit_no_memory(u);
    u->diag = p;
    u->diag[u->diags++] = (struct asm_diag){ kind, at.file, at.line, at.column, copy.s };
    u->errors += kind == ASM_ERROR;
    return 0;
}

int unit_diag(struct asm_unit *u, enum asm_diag_kind kind, struct loc at, const char *fmt, ...)
{
    va_list ap;

    if (kind == ASM_ERROR && u->errors > MAX_ERRORS)
        return 0;
    va_start(ap, fmt);
    unit_vdiag(u, kind, at, fmt, ap);
    va_end(ap);
    if (kind == ASM_ERROR && u->errors == MAX_ERRORS)
        unit_diag(u, ASM_ERROR, at, "too many errors, giving up");
    return 0;
}

static void note_frames(struct as *as)
{
    enum { MAX_NOTES = 8 };
    unsigned notes = 0;

    for (unsigned i = as->frames; i-- > 1 && notes < MAX_NOTES; notes++) {
        const struct frame *f = &as->frame[i];
        const char *fmt = f->kind == FRAME_FILE    ? "included from here as '%s'"
                          : f->kind == FRAME_MACRO ? "in expansion of macro '%s'"
                                                   : "in expansion of '%s'";

        unit_diag(as->u, ASM_NOTE, f->called, fmt, f->name);
    }
}

int as_error(struct as *as, struct loc at, const char *fmt, ...)
{
    va_list ap;

    if (as->u->errors > MAX_ERRORS) {
        as->stop = 1;
        return 0;
    }
    va_start(ap, fmt);
    unit_vdiag(as->u, ASM_ERROR, at, fmt, ap);
    va_end(ap);
    note_frames(as);
    if (as->u->errors == MAX_ERRORS) {
        as->stop = 1;
        unit_diag(as->u, ASM_ERROR, at, "too many errors, giving up");
    }
    return 0;
}

int as_warning(struct as *as, struct loc at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    unit_vdiag(as->u, ASM_WARNING, at, fmt, ap);
    va_end(ap);
    note_frames(as);
    return 0;
}

size_t asm_diag_count(const struct asm_unit *u)
{
    return u->diags;
}

const struct asm_diag *asm_diag_at(const struct asm_unit *u, size_t i)
{
    EMU_ASSERT(i < u->diags);
    return &u->diag[i];
}

void asm_diag_print(const struct asm_unit *u, FILE *f)
{
    static const char *const kind[] = { "error", "warning", "note" };

    for (size_t i = 0; i < u->diags; i++) {
        const struct asm_diag *d = &u->diag[i];

        if (d->file)
            fprintf(f, "%s:", d->file);
        if (d->line)
            fprintf(f, "%u:", d->line);
        if (d->column)
            fprintf(f, "%u:", d->column);
        fprintf(f, "%s%s: %s\n", d->file ? " " : "", kind[d->kind], d->text);
    }
}

enum emu_status unit_status(const struct asm_unit *u)
{
    const struct asm_diag *first = NULL;

    if (u->no_memory)
        return FAIL(NO_MEMORY, "while assembling");
    if (!u->errors)
        return EMU_OK;
    for (size_t i = 0; i < u->diags && !first; i++)
        first = u->diag[i].kind == ASM_ERROR ? &u->diag[i] : NULL;
    if (!first->file)
        return FAIL(BAD_ASM, "%zu error%s, the first: %s", u->errors, u->errors == 1 ? "" : "s",
                    first->text);
    if (!first->line)
        return FAIL(BAD_ASM, "%zu error%s, the first: %s: %s", u->errors, u->errors == 1 ? "" : "s",
                    first->file, first->text);
    return FAIL(BAD_ASM, "%zu error%s, the first: %s:%u:%u: %s", u->errors,
                u->errors == 1 ? "" : "s", first->file, first->line, first->column, first->text);
}

/* Drops the messages of the last link: it will be done again. */
void unit_forget_link(struct asm_unit *u)
{
    if (u->was_linked) {
        u->diags = u->link_diags;
        u->errors = u->link_errors;
    }
    u->linked = u->was_linked = 0;
}

/* ---- units ---- */

enum emu_status asm_unit_new(const struct asm_options *options, struct asm_unit **out)
{
    static const struct asm_options defaults;
    struct asm_unit *u = emu_alloc(1, sizeof(*u));

    *out = NULL;
    if (!u)
        return FAIL(NO_MEMORY, "a unit");
    u->options = options ? *options : defaults;
    u->arch = u->options.arch ? *u->options.arch : *ss_arch_preset("mk2");
    if (!u->options.expansion_bytes)
        u->options.expansion_bytes = DEFAULT_EXPANSION_BYTES;
    u->source_end = &u->source;
    u->section_end = &u->section;
    u->member_end = &u->member;
    *out = u;
    return EMU_OK;
}

void asm_unit_free(struct asm_unit *u)
{
    if (!u)
        return;
    for (struct source *s = u->source; s; s = s->next) {
        table_free(&s->symbols);
        table_free(&s->sections);
        table_free(&s->numbered);
    }
    for (struct section *s = u->section; s; s = s->next) {
        ss_free(s->bytes);
        ss_free(s->item);
        ss_free(s->fixup);
    }
    table_free(&u->names);
    table_free(&u->globals);
    table_free(&u->groups);
    table_free(&u->member_symbols);
    ss_free(u->order);
    ss_free(u->diag);
    ss_free(u->image.section);
    ss_free(u->image.symbol);
    ss_free(u->line);
    arena_free(u);
    ss_free(u);
}

const struct asm_image *asm_unit_image(const struct asm_unit *u)
{
    return u->linked ? &u->image : NULL;
}

struct source *unit_new_source(struct asm_unit *u, const char *name)
{
    struct source *s = unit_alloc(u, 1, sizeof(*s));

    if (!s) {
        unit_no_memory(u);
        return NULL;
    }
    s->name = unit_file_name(u, name, strlen(name));
    *u->source_end = s;
    u->source_end = &s->next;
    return s;
}

/* Assembles text into the unit; markers: it comes from cpp. */
static enum emu_status unit_assemble(struct asm_unit *u, const char *name, struct span text,
                                     int markers)
{
    struct source *source = unit_new_source(u, name);
    struct as *as = emu_alloc(1, sizeof(*as));

    unit_forget_link(u);
    if (source && as) {
        as->u = u;
        as->source = source;
        as->markers = markers;
        as->frame[0] = (struct frame){ .kind = FRAME_FILE,
                                       .p = text.s,
                                       .end = text.s + text.n,
                                       .line_start = text.s,
                                       .file = source->name,
                                       .line = 1,
                                       .name = source->name };
        as->top = as->frame;
        as->frames = 1;
        source_assemble(as);
        exchange_drop_block(as);
        frames_end(as);
        while (as->frames)
            ss_free(as->frame[--as->frames].owned);
        table_free(&as->macros);
    } else {
        unit_no_memory(u);
    }
    ss_free(as);
    return unit_status(u);
}

enum emu_status asm_unit_add_text(struct asm_unit *u, const char *name, const char *text,
                                  size_t len)
{
    enum emu_status st;
    char *made = NULL;
    size_t n = 0;

    if (u->options.raw || u->options.preprocessed)
        return unit_assemble(u, name, span_of(text, len), u->options.preprocessed);
    st = cpp_run(u, name, span_of(text, len), &made, &n);
    if (st == EMU_OK)
        st = unit_assemble(u, name, span_of(made, n), 1);
    ss_free(made);
    return st;
}

int asm_is_object(const void *data, size_t len)
{
    struct span s = span_of(data, len);

    return elf_is_object(s) || archive_is(s);
}

enum emu_status asm_unit_add_object(struct asm_unit *u, const char *name, const void *data,
                                    size_t len)
{
    struct span s = span_of(data, len);

    unit_forget_link(u);
    if (archive_is(s))
        archive_add(u, name, s);
    else
        elf_read(u, name, s);
    return unit_status(u);
}

/* A source that was read: through cpp, which reads it again, or as it is. */
static enum emu_status add_source(struct asm_unit *u, const char *path, struct span text)
{
    enum emu_status st;
    char *made;
    size_t n;

    if (u->options.raw)
        return unit_assemble(u, path, text, 0);
    st = cpp_run(u, path, span_of(NULL, 0), &made, &n);
    if (st == EMU_OK)
        st = unit_assemble(u, path, span_of(made, n), 1);
    ss_free(made);
    return st;
}

enum emu_status asm_unit_add_file(struct asm_unit *u, const char *path)
{
    enum emu_status st;
    char *data;
    size_t n;

    st = file_read(path, &data, &n);
    if (st == EMU_OK)
        st = asm_is_object(data, n) ? asm_unit_add_object(u, path, data, n)
                                    : add_source(u, path, span_of(data, n));
    ss_free(data);
    return st;
}

enum emu_status asm_unit_preprocess(struct asm_unit *u, const char *path, const char *text,
                                    size_t len, char **out, size_t *out_len)
{
    if (!text) {
        TRY(file_read(path, out, out_len));
        if (u->options.raw || asm_is_object(*out, *out_len))
            return EMU_OK;
        ss_free(*out);
    }
    if (!u->options.raw)
        return cpp_run(u, path, span_of(text, len), out, out_len);
    *out = emu_strndup(text, len);
    *out_len = len;
    return *out ? EMU_OK : FAIL(NO_MEMORY, "a source of %zu bytes", len);
}
