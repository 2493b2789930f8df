/* manifest_tiles.c - sets of tiles as people write them: numbers, ranges, strides, lists of these,
 * "all". */
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest.h"

/* A set under construction. */
struct adder {
    const struct json_reader *r;
    const char *kind, *of; /* "tile"; the machine that has so many */
    uint32_t all;
    struct tile_list *out;
    size_t capacity;
    uint8_t *seen; /* owned [all] */
};

static enum emu_status add_tile(struct adder *a, const struct json_path *at, const json_t *v,
                                uint64_t tile)
{
    if (tile >= a->all)
        return json_wrong(a->r, at, v, "expected %ss below %" PRIu32 ", the %ss of %s", a->kind,
                          a->all, a->kind, a->of);
    if (a->seen[tile])
        return json_wrong(a->r, at, v, "expected every %s once, found %s %" PRIu64 " again",
                          a->kind, a->kind, tile);
    a->seen[tile] = 1;
    TRY(emu_grow((void **)&a->out->tile, a->out->count, &a->capacity, sizeof(*a->out->tile)));
    a->out->tile[a->out->count++] = (uint32_t)tile;
    return EMU_OK;
}

/* Reads digits; 0 if there are none or too many. */
static int take_number(const char **p, uint64_t *out)
{
    const char *start = *p;

    for (*out = 0; **p >= '0' && **p <= '9' && *p - start < 10; ++*p)
        *out = *out * 10 + (uint64_t)(**p - '0');
    return *p > start && (**p < '0' || **p > '9');
}

/* Reads a number, "last", or "last-31": so many before the last. 0 if it is none of these, or if
 * there are not so many tiles. */
static int take_tile(const struct adder *a, const char **p, uint64_t *out)
{
    uint64_t before = 0;

    if (strncmp(*p, "last", 4))
        return take_number(p, out);
    *p += 4;
    if (**p == '-') {
        ++*p;
        if (!take_number(p, &before))
            return 0;
    }
    *out = a->all - 1 - before;
    return before < a->all;
}

/* "7", "0-15", "0-31:2", "4-", "last-31-last" */
static enum emu_status add_range(struct adder *a, const struct json_path *at, const json_t *v,
                                 const char **p)
{
    uint64_t first, last, step = 1;
    int ok = take_tile(a, p, &first);

    last = first;
    if (ok && **p == '-') {
        ++*p;
        last = a->all - 1;
        if ((**p >= '0' && **p <= '9') || **p == 'l')
            ok = take_tile(a, p, &last);
        if (ok && **p == ':') {
            ++*p;
            ok = take_number(p, &step);
        }
    }
    if (!ok || (**p && **p != ',') || first > last || !step)
        return json_wrong(a->r, at, v,
                          "expected %ss such as 5, \"all\", \"0-15\", \"0-31:2\", \"4-\", "
                          "\"last-31-last\" or \"1,3,8-11\"",
                          a->kind);
    for (uint64_t tile = first; tile <= last; tile += step)
        TRY(add_tile(a, at, v, tile));
    return EMU_OK;
}

static enum emu_status add_text(struct adder *a, const struct json_path *at, const json_t *v,
                                const char *p)
{
    if (!strcmp(p, "all"))
        p = "0-";
    for (;;) {
        TRY(add_range(a, at, v, &p));
        if (!*p)
            return EMU_OK;
        p++;
    }
}

static enum emu_status add_value(struct adder *a, const struct json_path *at, const json_t *v)
{
    if (json_is_integer(v) && json_integer_value(v) >= 0)
        return add_tile(a, at, v, (uint64_t)json_integer_value(v));
    return add_text(a, at, v, json_is_string(v) ? json_string_value(v) : "");
}

static enum emu_status add_all(struct adder *a, const struct json_path *at, const json_t *v)
{
    if (!json_is_array(v))
        return add_value(a, at, v);
    for (size_t i = 0; i < json_array_size(v); i++) {
        struct json_path here = { at, NULL, i };

        TRY(add_value(a, &here, json_array_get(v, i)));
    }
    return EMU_OK;
}

static enum emu_status read_set(struct adder *a, const struct json_path *at, const json_t *v)
{
    enum emu_status s;

    a->seen = emu_alloc(a->all, 1);
    if (!a->seen)
        return FAIL(NO_MEMORY, "a set of %ss", a->kind);
    s = v ? add_all(a, at, v)
          : json_wrong(a->r, at, NULL, "expected %ss, such as \"all\"", a->kind);
    ss_free(a->seen);
    if (s == EMU_OK && !a->out->count)
        s = json_wrong(a->r, at, v, "expected at least one %s", a->kind);
    return s;
}

enum emu_status tile_list_read(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, const struct arch *arch, struct tile_list *out)
{
    struct adder a = { .r = r, .kind = "tile", .of = arch->name, .all = arch->tiles, .out = out };

    return read_set(&a, at, v);
}

enum emu_status chip_list_read(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, const struct arch *arch, struct tile_list *out)
{
    struct adder a = { .r = r, .kind = "chip", .of = "the system", .all = arch->chips, .out = out };

    return read_set(&a, at, v);
}

enum emu_status tile_list_read_text(const char *name, const char *text, const struct arch *arch,
                                    struct tile_list *out)
{
    const struct json_reader reader = { .file = name };
    json_t *v = json_string(text);
    enum emu_status s =
        v ? tile_list_read(&reader, NULL, v, arch, out) : FAIL(USAGE, "%s: not text", name);

    json_decref(v);
    return s;
}

void tile_list_free(struct tile_list *l)
{
    ss_free(l->tile);
    *l = (struct tile_list){ .tile = NULL };
}
