/* isa_text.c - reads .isa files, line by line. Values stay text: what they are depends on where the
 * code was placed. */
#include "tests/isa/isa_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/isa/insn_ops.h"
#include "emu/tile/tile.h"

/* The line being read, cut into words in place. */
struct cursor {
    const char *path;
    int line;
    char *next;
};

static enum emu_status wrong(const struct cursor *c, const char *what, const char *got)
{
    return FAIL(BAD_FILE, "%s:%d: %s%s%s", c->path, c->line, what, got ? ", got " : "",
                got ? got : "");
}

/* The next blank-separated word, or NULL at the end of the line. */
static char *word(struct cursor *c)
{
    char *s = c->next + strspn(c->next, " \t");
    size_t n = strcspn(s, " \t\n");

    if (!n)
        return NULL;
    c->next = s + n + (s[n] != 0);
    s[n] = 0;
    return s;
}

static enum emu_status copy_name(const struct cursor *c, const char *s, char out[ISA_NAME])
{
    if (strlen(s) >= ISA_NAME)
        return wrong(c, "a word is too long", s);
    strcpy(out, s);
    return EMU_OK;
}

/* ---- places ---- */

static int parse_index(const char *s, unsigned long limit, uint8_t *out)
{
    char *end;
    unsigned long n = strtoul(s, &end, 10);

    if (s[0] < '0' || s[0] > '9' || *end || n >= limit)
        return 0;
    *out = (uint8_t)n;
    return 1;
}

static int parse_register(const char *s, struct isa_place *p)
{
    p->kind = PLACE_REGISTER;
    if (!strncmp(s, "acc", 3) && parse_index(s + 3, TILE_ACC, &p->number))
        p->file = 'c';
    else if (!strncmp(s, "cw", 2) && parse_index(s + 2, TILE_WEIGHTS, &p->number))
        p->file = 'w';
    else if ((s[0] == 'm' || s[0] == 'a') && parse_index(s + 1, 16, &p->number))
        p->file = s[0];
    else if (isa_csr_find('U', s, strlen(s)) || isa_csr_find('W', s, strlen(s)) ||
             isa_csr_find('S', s, strlen(s)))
        p->file = 'r';
    else
        return 0;
    return 1;
}

static enum emu_status parse_place(const struct cursor *c, const char *s, struct isa_place *p)
{
    size_t n = strlen(s);

    memset(p, 0, sizeof(*p));
    p->lane = -1;
    TRY(copy_name(c, s, p->name));
    if (s[0] == '{' && s[n - 1] == '}') {
        p->kind = PLACE_TEXT;
        return EMU_OK;
    }
    if (s[0] == '[' && s[n - 1] == ']') {
        p->kind = PLACE_MEMORY;
        memmove(p->name, s + 1, n - 2);
        p->name[n - 2] = 0;
        return EMU_OK;
    }
    if (!strcmp(s, "slots") || !strcmp(s, "scycles")) {
        p->kind = s[1] == 'l' ? PLACE_SLOTS : PLACE_CYCLES;
        return EMU_OK;
    }
    if (s[0] == 'w' && s[1] >= '0' && s[1] < '0' + TILE_WORKERS && s[2] == '.') {
        p->lane = s[1] - '0';
        s += 3;
    }
    return parse_register(s, p) ? EMU_OK
                                : wrong(c, "expected a register, CSR, [address] or {name}", s);
}

/* : in in -> out out */
static enum emu_status parse_header(struct cursor *c, struct isa_block *b)
{
    int outputs = 0;

    for (char *s; (s = word(c));) {
        if (!strcmp(s, "->")) {
            outputs = 1;
            continue;
        }
        if ((outputs ? b->out_count : b->in_count) == ISA_MAX_COLUMNS)
            return wrong(c, "too many columns", NULL);
        TRY(parse_place(c, s, outputs ? &b->out[b->out_count++] : &b->in[b->in_count++]));
    }
    return outputs ? EMU_OK : wrong(c, "expected -> in the header", NULL);
}

/* ---- rows ---- */

static enum emu_status parse_tokens(struct cursor *c, struct isa_token *out, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char *s = word(c);

        if (!s || !strcmp(s, "->"))
            return wrong(c, "expected more values: one for each column", NULL);
        TRY(copy_name(c, s, out[i].text));
    }
    return EMU_OK;
}

static enum emu_status parse_fault(struct cursor *c, int *fault)
{
    const char *s = word(c);

    for (int f = FAULT_NONE + 1; s && f < FAULT_COUNT; f++) {
        if (!strcmp(s, fault_name((enum fault)f))) {
            *fault = f;
            return EMU_OK;
        }
    }
    return wrong(c, "expected the name of a fault", s ? s : "nothing");
}

static enum emu_status parse_row(struct cursor *c, struct isa_block *b, enum isa_row_kind kind)
{
    struct isa_row *r;
    char *s;

    TRY(emu_grow((void **)&b->row, b->row_count, &b->row_cap, sizeof(b->row[0])));
    r = &b->row[b->row_count++];
    memset(r, 0, sizeof(*r));
    r->kind = kind;
    r->line = c->line;
    if (kind == ROW_FAULT)
        TRY(parse_fault(c, &r->fault));
    TRY(parse_tokens(c, r->in, b->in_count));
    s = word(c);
    if (!s || strcmp(s, "->"))
        return wrong(c, "expected -> after the inputs", s);
    if (kind != ROW_FAULT)
        return parse_tokens(c, r->out, b->out_count);
    TRY(parse_tokens(c, &r->address, 1));
    s = word(c);
    if (!s || strcmp(s, "=>"))
        return EMU_OK;
    r->has_out = 1;
    return parse_tokens(c, r->out, b->out_count);
}

/* ---- memories ---- */

/* Appends values of one type to a memory. */
static enum emu_status parse_values(struct cursor *c, struct manifest_memory *m,
                                    enum case_type type)
{
    uint32_t size = case_type_bytes(type);

    m->init.data.type = CASE_U8; /* the types of continuation lines may differ */
    for (char *s; (s = word(c));) {
        unsigned long long v = strtoull(s, NULL, 0);
        uint8_t *data = emu_realloc(m->init.data.data, m->init.data.bytes + size, 1);

        if (!data)
            return FAIL(NO_MEMORY, "a memory");
        m->init.data.data = data;
        for (uint32_t k = 0; k < size; k++)
            data[m->init.data.bytes + k] = (uint8_t)(v >> 8 * k);
        m->init.data.bytes += size;
        m->init.data.count = m->init.elements = m->init.data.bytes;
    }
    return EMU_OK;
}

/* mem NAME [region R] [align A] [at ADDRESS] TYPE VALUES */
static enum emu_status parse_memory(struct cursor *c, struct manifest_memory *m)
{
    const char *name = word(c);
    enum case_type type;

    memset(m, 0, sizeof(*m));
    m->place.region = 1;
    m->place.align = 8;
    m->place.name = name ? emu_strdup(name) : NULL;
    if (!m->place.name)
        return wrong(c, "expected a name", NULL);
    for (char *s; (s = word(c));) {
        char *v;

        if (case_type_find(s, &type))
            return parse_values(c, m, type);
        v = word(c);
        if (!v)
            return wrong(c, "expected a value after", s);
        if (!strcmp(s, "region")) {
            m->place.region = (uint32_t)strtoul(v, NULL, 0);
        } else if (!strcmp(s, "align")) {
            m->place.align = (uint32_t)strtoul(v, NULL, 0);
        } else if (!strcmp(s, "at")) {
            m->place.is_fixed = 1;
            m->place.address = (uint32_t)strtoul(v, NULL, 0);
        } else {
            return wrong(c, "expected region, align, at or a type", s);
        }
    }
    return EMU_OK;
}

static enum emu_status copy_memory(const struct manifest_memory *from, struct manifest_memory *to)
{
    *to = *from;
    to->place.name = emu_strdup(from->place.name);
    to->init.data.data = emu_alloc(from->init.data.bytes + 1, 1);
    if (!to->place.name || !to->init.data.data)
        return FAIL(NO_MEMORY, "a memory");
    if (from->init.data.bytes)
        memcpy(to->init.data.data, from->init.data.data, from->init.data.bytes);
    return EMU_OK;
}

static enum emu_status add_memory(struct cursor *c, struct isa_file *f, struct isa_block *b)
{
    struct manifest_memory **list = b ? &b->memory : &f->memory;
    size_t *count = b ? &b->memory_count : &f->memory_count;

    TRY(emu_grow((void **)list, *count, b ? &b->memory_cap : &f->memory_cap, sizeof(**list)));
    memset(&(*list)[*count], 0, sizeof(**list));
    f->last = &(*list)[(*count)++];
    return parse_memory(c, f->last);
}

/* ---- blocks ---- */

static enum emu_status new_block(struct cursor *c, struct isa_file *f)
{
    const char *name = word(c);
    struct isa_block *b;

    TRY(emu_grow((void **)&f->block, f->block_count, &f->block_cap, sizeof(f->block[0])));
    b = &f->block[f->block_count++];
    memset(b, 0, sizeof(*b));
    b->file = f->path;
    b->line = c->line;
    for (unsigned i = 0; name && i < FORM_COUNT; i++) {
        if (!strcmp(isa_form(i)->name, name))
            b->form = isa_form(i);
    }
    if (!b->form)
        return wrong(c, "expected a row of insn.def", name);
    b->only = (b->form->context & CTX_W ? ONLY_WORKER : 0u) |
              (b->form->context & CTX_S ? ONLY_SUPERVISOR : 0u);
    for (size_t i = 0; i < f->memory_count; i++) {
        TRY(emu_grow((void **)&b->memory, b->memory_count, &b->memory_cap, sizeof(b->memory[0])));
        memset(&b->memory[b->memory_count], 0, sizeof(b->memory[0]));
        TRY(copy_memory(&f->memory[i], &b->memory[b->memory_count++]));
    }
    for (size_t i = 0; i < f->set_count; i++) {
        TRY(emu_grow((void **)&b->set, b->set_count, &b->set_cap, sizeof(b->set[0])));
        b->set[b->set_count++] = f->set[i];
    }
    return EMU_OK;
}

static enum emu_status append_text(char **text, const char *line)
{
    size_t old = *text ? strlen(*text) : 0, n = strlen(line);
    char *s = emu_realloc(*text, old + n + 2, 1);

    if (!s)
        return FAIL(NO_MEMORY, "code");
    *text = s;
    memcpy(s + old, line, n + 1);
    if (!n || line[n - 1] != '\n')
        strcat(s, "\n");
    return EMU_OK;
}

static enum emu_status parse_set(struct cursor *c, struct isa_file *f, struct isa_block *b)
{
    struct isa_set **list = b ? &b->set : &f->set, *set;
    size_t *count = b ? &b->set_count : &f->set_count;
    char *s = word(c);

    TRY(emu_grow((void **)list, *count, b ? &b->set_cap : &f->set_cap, sizeof(*set)));
    set = &(*list)[(*count)++];
    memset(set, 0, sizeof(*set));
    if (!s)
        return wrong(c, "expected a name", NULL);
    TRY(parse_place(c, s, &set->place));
    s = word(c);
    if (!s || strcmp(s, "="))
        return wrong(c, "expected =", s);
    return parse_tokens(c, &set->value, 1);
}

static enum emu_status parse_not(struct cursor *c, struct isa_block *b)
{
    static const char *const names[] = { "one", "six", "mixed", "bundle", "rpt", "plain", "fast" };

    for (char *s; (s = word(c)) && s[0] != '#';) {
        unsigned bit = 0;

        for (unsigned i = 0; i < EMU_COUNT_OF(names); i++) {
            if (!strcmp(names[i], s))
                bit = 1u << i;
        }
        if (!bit)
            return wrong(c, "expected a mode", s);
        b->skip |= bit;
    }
    return EMU_OK;
}

static enum emu_status parse_free(struct cursor *c, struct isa_block *b)
{
    for (char *s; (s = word(c));) {
        if (strlen(b->free) + strlen(s) + 2 > sizeof(b->free))
            return wrong(c, "the list of free names is too long", NULL);
        strcat(b->free, " ");
        strcat(b->free, s);
    }
    return EMU_OK;
}

int isa_block_frees(const struct isa_block *b, const char *name)
{
    size_t n = strlen(name);

    for (const char *s = b->free; (s = strstr(s, name)); s += n) {
        if (s > b->free && s[-1] == ' ' && (!s[n] || s[n] == ' '))
            return 1;
    }
    return 0;
}

static enum emu_status parse_keyword(struct cursor *c, struct isa_file *f, struct isa_block *b,
                                     const char *key)
{
    if (!strcmp(key, "form"))
        return new_block(c, f);
    if (!strcmp(key, "mem"))
        return add_memory(c, f, b);
    if (!strcmp(key, "set"))
        return parse_set(c, f, b);
    if (!b)
        return wrong(c, "expected form, mem or set first", key);
    if (!strcmp(key, ":"))
        return parse_header(c, b);
    if (!strcmp(key, "ok"))
        return parse_row(c, b, ROW_OK);
    if (!strcmp(key, "edge"))
        return parse_row(c, b, ROW_EDGE);
    if (!strcmp(key, "fault"))
        return parse_row(c, b, ROW_FAULT);
    if (!strcmp(key, "not"))
        return parse_not(c, b);
    if (!strcmp(key, "free"))
        return parse_free(c, b);
    if (!strcmp(key, "only")) {
        const char *s = word(c);

        b->only = s && !strcmp(s, "worker")       ? ONLY_WORKER
                  : s && !strcmp(s, "supervisor") ? ONLY_SUPERVISOR
                                                  : 0;
        return b->only ? EMU_OK : wrong(c, "expected worker or supervisor", s);
    }
    return wrong(c, "unknown line", key);
}

/* Lines of code: those that begin with a tab, and labels. Everything from `tail` to the next
 * keyword goes to the tail. */
static int is_code(const char *line)
{
    size_t n = strcspn(line, " \t\n");

    return line[0] == '\t' || line[0] == '.' || (n > 1 && line[n - 1] == ':');
}

static enum emu_status parse_line(struct cursor *c, struct isa_file *f, int *in_tail)
{
    struct isa_block *b = f->block_count ? &f->block[f->block_count - 1] : NULL;
    enum case_type type;
    char *key;

    if (b && is_code(c->next)) {
        b->lines += !*in_tail && c->next[0] == '\t';
        return append_text(*in_tail ? &b->tail : &b->code, c->next);
    }
    if (c->next[0] == ' ' && f->last) {
        key = word(c);
        if (!key || !case_type_find(key, &type))
            return wrong(c, "expected a type and more values", key);
        return parse_values(c, f->last, type);
    }
    key = word(c);
    if (!key || key[0] == '#')
        return EMU_OK;
    *in_tail = !strcmp(key, "tail");
    if (*in_tail)
        return EMU_OK;
    return parse_keyword(c, f, b, key);
}

static enum emu_status check_blocks(const struct isa_file *f)
{
    for (size_t i = 0; i < f->block_count; i++) {
        const struct isa_block *b = &f->block[i];

        if (!b->code || !b->row_count)
            return FAIL(BAD_FILE, "%s:%d: a block without code or without rows", b->file, b->line);
    }
    return EMU_OK;
}

enum emu_status isa_file_read(const char *path, struct isa_file *out)
{
    struct cursor c = { .path = path };
    FILE *f = fopen(path, "r");
    enum emu_status s = EMU_OK;
    size_t bytes = 0;
    char *line = NULL;
    int in_tail = 0;

    memset(out, 0, sizeof(*out));
    if (!f)
        return FAIL(IO, "%s: cannot be read", path);
    out->path = emu_strdup(path);
    while (s == EMU_OK && getline(&line, &bytes, f) > 0) {
        c.line++;
        c.next = line;
        s = parse_line(&c, out, &in_tail);
    }
    free(line); /* allocated by getline */
    fclose(f);
    return s == EMU_OK ? check_blocks(out) : s;
}

static void free_memories(struct manifest_memory *m, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ss_free((void *)(uintptr_t)m[i].place.name);
        ss_free(m[i].init.data.data);
    }
    ss_free(m);
}

void isa_file_free(struct isa_file *f)
{
    for (size_t i = 0; i < f->block_count; i++) {
        struct isa_block *b = &f->block[i];

        ss_free(b->code);
        ss_free(b->tail);
        ss_free(b->set);
        ss_free(b->row);
        free_memories(b->memory, b->memory_count);
    }
    ss_free(f->block);
    free_memories(f->memory, f->memory_count);
    ss_free(f->set);
    ss_free(f->path);
}
