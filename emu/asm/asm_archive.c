/* asm_archive.c - archives of objects (`ar`): a member becomes part of the unit when it defines a
 * symbol that is used and not defined.
 *
 * The index of an archive is not believed: what a member defines is read from the member. Long
 * names are those of GNU (a member "//") or BSD ("#1/length").
 */
#include <ar.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

struct archive_member {
    struct archive_member *next; /* in the unit */
    const char *name;            /* "lib.a(member.o)"; in the arena, like the data */
    struct span data;
    int loaded;
};

/* A global symbol and the first member that defines it. */
struct member_symbol {
    struct named n;
    struct archive_member *member;
};

struct archive {
    struct asm_unit *u;
    struct loc at; /* of messages: the name of the archive */
    struct span data, names;
    size_t next; /* offset of the next header */
};

static int archive_error(struct archive *a, const char *why)
{
    return unit_diag(a->u, ASM_ERROR, a->at, "the member at 0x%zx %s", a->next, why);
}

int archive_is(struct span data)
{
    return data.n >= SARMAG && !memcmp(data.s, ARMAG, SARMAG);
}

/* Digits up to a blank or the end of the field. */
static int read_decimal(const char *field, size_t n, uint64_t *out)
{
    size_t i = 0;

    for (*out = 0; i < n && field[i] >= '0' && field[i] <= '9'; i++)
        *out = *out * 10 + (uint64_t)(field[i] - '0');
    return i > 0 && (i == n || field[i] == ' ' || field[i] == '/');
}

/* A name in the member "//": it ends with "/\n". */
static int long_name(const struct archive *a, const char *field, size_t n, struct span *out)
{
    uint64_t at;
    const char *end;

    if (!read_decimal(field, n, &at) || at >= a->names.n)
        return 0;
    *out = span_of(a->names.s + at, a->names.n - (size_t)at);
    end = memchr(out->s, '\n', out->n);
    if (!end || end == out->s || end[-1] != '/')
        return 0;
    out->n = (size_t)(end - 1 - out->s);
    return 1;
}

/* The name of a member; *data loses what of it is the name. */
static int name_of(const struct archive *a, const struct ar_hdr *h, struct span *data,
                   struct span *out)
{
    size_t n = sizeof(h->ar_name);
    uint64_t length;

    if (h->ar_name[0] == '/' && h->ar_name[1] >= '0' && h->ar_name[1] <= '9')
        return long_name(a, h->ar_name + 1, n - 1, out);
    if (!memcmp(h->ar_name, "#1/", 3)) {
        if (!read_decimal(h->ar_name + 3, n - 3, &length) || length > data->n)
            return 0;
        *out = span_of(data->s, strnlen(data->s, (size_t)length));
        *data = span_of(data->s + length, data->n - (size_t)length);
        return 1;
    }
    while (n && h->ar_name[n - 1] == ' ')
        n--;
    if (n > 1 && h->ar_name[n - 1] == '/' && h->ar_name[0] != '/')
        n--;
    *out = span_of(h->ar_name, n);
    return 1;
}

struct visit_symbols {
    struct asm_unit *u;
    struct archive_member *member;
};

static int add_symbol(void *ctx, struct span name)
{
    const struct visit_symbols *v = ctx;
    struct member_symbol *s;

    if (table_find(&v->u->member_symbols, name))
        return 1;
    s = (struct member_symbol *)unit_insert(v->u, &v->u->member_symbols, name, sizeof(*s));
    if (s)
        s->member = v->member;
    return s != NULL;
}

/* An object; data lives as long as the unit. */
static int add_member(struct archive *a, struct span name, struct span data)
{
    struct archive_member *m = unit_alloc(a->u, 1, sizeof(*m));
    size_t room = strlen(a->at.file) + name.n + 3;
    char *text = unit_alloc(a->u, room, 1);

    if (!m || !text)
        return unit_no_memory(a->u);
    snprintf(text, room, "%s(%.*s)", a->at.file, (int)name.n, name.s);
    *m = (struct archive_member){ .name = text, .data = data };
    *a->u->member_end = m;
    a->u->member_end = &m->next;
    return elf_each_global(a->u, text, data, add_symbol, &(struct visit_symbols){ a->u, m });
}

static int is_index(struct span name)
{
    return span_is(name, "/") || span_is(name, "/SYM64/") || span_is(name, "__.SYMDEF") ||
           span_is(name, "__.SYMDEF SORTED");
}

static int read_member(struct archive *a)
{
    struct ar_hdr h;
    struct span data, name;
    uint64_t bytes;

    if (a->data.n - a->next < sizeof(h))
        return archive_error(a, "ends within its header");
    memcpy(&h, a->data.s + a->next, sizeof(h));
    if (memcmp(h.ar_fmag, ARFMAG, sizeof(h.ar_fmag)) ||
        !read_decimal(h.ar_size, sizeof(h.ar_size), &bytes))
        return archive_error(a, "has no header");
    if (bytes > a->data.n - a->next - sizeof(h))
        return archive_error(a, "leads outside the archive");
    data = span_of(a->data.s + a->next + sizeof(h), (size_t)bytes);
    if (!name_of(a, &h, &data, &name))
        return archive_error(a, "has a name that leads outside");
    a->next += sizeof(h) + (size_t)bytes + (bytes & 1);
    if (span_is(name, "//"))
        a->names = data;
    else if (!is_index(name))
        return add_member(a, name, data);
    return 1;
}

int archive_add(struct asm_unit *u, const char *name, struct span data)
{
    struct archive a = { .u = u, .data = unit_copy(u, data), .next = SARMAG };

    a.at.file = unit_file_name(u, name, strlen(name));
    if (!a.data.s)
        return unit_no_memory(u);
    while (a.next < a.data.n) {
        if (!read_member(&a))
            return 0;
    }
    return 1;
}

static struct source *load(struct asm_unit *u, struct archive_member *m)
{
    if (m->loaded)
        return NULL;
    m->loaded = 1;
    return elf_read(u, m->name, m->data);
}

struct source *archive_pull(struct asm_unit *u, struct span symbol)
{
    struct member_symbol *s = (struct member_symbol *)table_find(&u->member_symbols, symbol);

    return s ? load(u, s->member) : NULL;
}

void archive_pull_all(struct asm_unit *u)
{
    for (struct archive_member *m = u->member; m; m = m->next)
        load(u, m);
}
