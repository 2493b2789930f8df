/* tile_place.c - reads places, and prints what is there. */
#include "emu/step/tile_place.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 16, LIKE_MAX = 5 };

/* ---- types ---- */

int place_type_find(const char *name, unsigned *out)
{
    enum case_type t;

    *out = PLACE_HEX;
    if (!strcmp(name, "hex"))
        return 1;
    if (!case_type_find(name, &t) || t == CASE_BYTES)
        return 0;
    *out = (unsigned)t;
    return 1;
}

const char *place_type_name(unsigned type)
{
    return type == PLACE_HEX ? "hex" : case_type_name((enum case_type)type);
}

uint32_t place_type_bytes(unsigned type)
{
    return type == PLACE_HEX ? 4 : case_type_bytes((enum case_type)type);
}

/* ---- names ---- */

static int find_symbol(const struct image *im, const struct image_tile *t, const char *name,
                       struct step_place *out)
{
    size_t n;
    const struct image_symbol *s = image_symbols_of(im, t->symbols, &n);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(image_text(im, s[i].name), name) != 0)
            continue;
        out->addr = s[i].addr;
        out->bytes = s[i].bytes;
        return 1;
    }
    return 0;
}

/* The first range of the map with this owner; several of them that follow each other are one. */
static int find_range(const struct image *im, const struct image_tile *t, const char *name,
                      struct step_place *out)
{
    size_t n;
    const struct image_range *r = image_map_of(im, t->map, &n);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(image_text(im, r[i].owner), name) != 0)
            continue;
        out->addr = r[i].addr;
        for (size_t k = i; k < n && r[k].owner == r[i].owner && r[k].addr == out->addr + out->bytes;
             k++)
            out->bytes += r[k].bytes;
        return 1;
    }
    return 0;
}

/* The first part of an input or output that is on the tile. */
static int find_part(const struct image *im, const struct image_input *in,
                     const struct image_input_part *(*part)(const struct image *, size_t),
                     struct step_place *out)
{
    unsigned type;

    for (uint32_t k = 0; k < in->parts; k++) {
        const struct image_input_part *p = part(im, in->first_part + k);

        if (p->tile != out->tile || p->chip != out->chip % image_chip_count(im))
            continue;
        out->addr = p->addr;
        out->bytes = p->bytes;
        if (place_type_find(image_text(im, in->type), &type))
            out->type = type;
        return 1;
    }
    return 0;
}

static int find_input(const struct image *im, const char *name, struct step_place *out)
{
    for (size_t i = 0; i < image_input_count(im); i++) {
        if (!strcmp(image_text(im, image_input_at(im, i)->name), name))
            return find_part(im, image_input_at(im, i), image_input_part_at, out);
    }
    for (size_t i = 0; i < image_output_count(im); i++) {
        if (!strcmp(image_text(im, image_output_at(im, i)->name), name))
            return find_part(im, image_output_at(im, i), image_output_part_at, out);
    }
    return 0;
}

static size_t add_like(char *text, size_t n, size_t bytes, const char *name, unsigned *found)
{
    int more;

    if (*found >= LIKE_MAX || strlen(name) > PLACE_NAME)
        return n;
    more = snprintf(text + n, bytes - n, "%s%s", (*found)++ ? ", " : "", name);
    return n + (size_t)more < bytes ? n + (size_t)more : bytes - 1;
}

static int find_name(const struct image *im, const struct image_tile *t, const char *name,
                     struct step_place *out)
{
    return find_input(im, name, out) || find_symbol(im, t, name, out) ||
           find_range(im, t, name, out);
}

/* The first tile that has the name; NULL: none has. */
static const struct image_tile *tile_with(const struct image *im, const char *name)
{
    for (size_t i = 0; i < image_tile_count(im); i++) {
        const struct image_tile *t = image_tile_at(im, i);
        struct step_place p = { .chip = t->chip, .tile = t->tile };

        if (find_name(im, t, name, &p))
            return t;
    }
    return NULL;
}

/* Fails with names on the tile that contain this one. */
static enum emu_status unknown(const struct image *im, const struct image_tile *t, const char *name)
{
    char text[LIKE_MAX * (PLACE_NAME + 2) + 1] = "";
    const struct image_tile *other;
    unsigned found = 0;
    size_t n, at = 0;
    const struct image_symbol *s = image_symbols_of(im, t->symbols, &n);

    for (size_t i = 0; i < n; i++) {
        if (strstr(image_text(im, s[i].name), name))
            at = add_like(text, at, sizeof(text), image_text(im, s[i].name), &found);
    }
    const struct image_range *r = image_map_of(im, t->map, &n);

    for (size_t i = 0; i < n; i++) {
        if (strstr(image_text(im, r[i].owner), name) && (!i || r[i - 1].owner != r[i].owner))
            at = add_like(text, at, sizeof(text), image_text(im, r[i].owner), &found);
    }
    other = found ? NULL : tile_with(im, name);
    if (other && other->chip != t->chip)
        return FAIL(USAGE, "tile %u of chip %u has no '%s', but tile %u of chip %u has: %s@%u.%u",
                    t->tile, t->chip, name, other->tile, other->chip, name, other->chip,
                    other->tile);
    if (other)
        return FAIL(USAGE, "tile %u has no '%s', but tile %u has: %s@%u", t->tile, name,
                    other->tile, name, other->tile);
    return found ? FAIL(USAGE, "tile %u has no '%s'; like it: %s", t->tile, name, text)
                 : FAIL(USAGE, "tile %u has no '%s': `variables` lists what it has", t->tile, name);
}

/* ---- places ---- */

static int read_number(const char *text, uint32_t *out)
{
    char *end;
    unsigned long v;

    errno = 0;
    v = strtoul(text, &end, 0);
    *out = (uint32_t)v;
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && v <= UINT32_MAX;
}

/* A name, a number or a register. */
static int find_base(const struct image *im, const struct image_tile *t, const char *text,
                     const uint32_t *m, struct step_place *out)
{
    uint32_t number;

    out->bytes = 0;
    out->type = PLACE_HEX;
    if (read_number(text, &out->addr)) {
        out->name[0] = 0;
        return 1;
    }
    snprintf(out->name, sizeof(out->name), "%s", text);
    if (m && !strncmp(text, "$m", 2) && read_number(text + 2, &number) && number < 16) {
        out->addr = m[number];
        return 1;
    }
    return find_name(im, t, text, out);
}

/* BASE+OFFSET, BASE..END, BASE*COUNT: cuts the text at its last `mark` and reads what follows. */
static int cut_number(char *text, const char *mark, uint32_t *out)
{
    char *at = NULL;

    for (char *next = strstr(text, mark); next; next = strstr(next + 1, mark))
        at = next;
    if (!at || at == text || !read_number(at + strlen(mark), out))
        return 0;
    *at = 0;
    return 1;
}

static enum emu_status read_parts(const struct image *im, const struct image_tile *t, char *text,
                                  const uint32_t *m, struct step_place *out)
{
    uint32_t offset = 0, end = 0;
    int has_end;

    if (find_base(im, t, text, m, out))
        return EMU_OK;
    has_end = cut_number(text, "..", &end);
    if (!has_end)
        cut_number(text, "*", &out->count);
    if (!find_base(im, t, text, m, out)) {
        if (!cut_number(text, "+", &offset) || !find_base(im, t, text, m, out))
            return unknown(im, t, text);
    }
    out->addr += offset;
    out->bytes = out->bytes > offset ? out->bytes - offset : 0;
    if (!has_end)
        return EMU_OK;
    if (end <= out->addr)
        return FAIL(USAGE, "the range ends at 0x%x, before it begins at 0x%x", end, out->addr);
    out->bytes = end - out->addr;
    return EMU_OK;
}

/* Reads "3", or "1.3": a tile of another chip. */
static int read_tile(const char *text, struct step_place *out)
{
    char chip[16], *dot;

    snprintf(chip, sizeof(chip), "%s", text);
    dot = strchr(chip, '.');
    if (!dot)
        return read_number(text, &out->tile);
    *dot = 0;
    return strlen(text) < sizeof(chip) && read_number(chip, &out->chip) &&
           read_number(dot + 1, &out->tile);
}

/* Takes "@3" from the end or "3:" from the beginning of a text. */
static const char *cut_tile(char *text, struct step_place *out)
{
    char *at = strrchr(text, '@'), *colon = strchr(text, ':');

    if (at && read_tile(at + 1, out)) {
        *at = 0;
        return text;
    }
    if (!colon)
        return text;
    *colon = 0;
    if (read_tile(text, out))
        return colon + 1;
    *colon = ':';
    return text;
}

/* The tile of a place, which takes part. */
static enum emu_status find_tile(const struct image *im, const struct step_place *p,
                                 const struct image_tile **out)
{
    const struct arch *a = ss_image_arch(im);

    if (p->chip >= a->chips)
        return FAIL(USAGE, "there is no chip %u: the system has %u", p->chip, a->chips);
    *out = image_find_tile(im, p->chip % image_chip_count(im), p->tile);
    if (*out)
        return EMU_OK;
    if (a->chips > 1)
        return FAIL(USAGE, "tile %u of chip %u takes no part in the program", p->tile, p->chip);
    return FAIL(USAGE, "tile %u takes no part: the program uses %zu of %u tiles", p->tile,
                image_tile_count(im), a->tiles);
}

enum emu_status tile_place_read(const struct image *im, const char *text, uint32_t chip,
                                uint32_t tile, const uint32_t *m, struct step_place *out)
{
    const struct arch *a = ss_image_arch(im);
    char copy[PLACE_NAME + 40];
    const struct image_tile *t;
    const char *rest;

    memset(out, 0, sizeof(*out));
    if (strlen(text) >= sizeof(copy))
        return FAIL(USAGE, "a place of %zu characters", strlen(text));
    snprintf(copy, sizeof(copy), "%s", text);
    out->chip = chip;
    out->tile = tile;
    rest = cut_tile(copy, out);
    TRY(find_tile(im, out, &t));
    TRY(read_parts(im, t, copy + (rest - copy), m, out));
    if (out->addr - a->mem_base >= a->mem_bytes)
        return FAIL(USAGE, "0x%x is outside tile memory, 0x%x to 0x%x", out->addr, a->mem_base,
                    a->mem_base + a->mem_bytes);
    return EMU_OK;
}

/* ---- text ---- */

static void print_source(const struct image *im, const struct image_tile *t, uint32_t addr,
                         char *out, size_t bytes)
{
    uint32_t line;
    const char *file = image_source(im, t, addr, &line), *slash = file ? strrchr(file, '/') : NULL;

    if (file && line && bytes)
        snprintf(out, bytes, " (%s:%u)", slash ? slash + 1 : file, line);
}

void place_text(const struct image *im, uint32_t chip, uint32_t tile, uint32_t addr, char *out,
                size_t bytes)
{
    const struct image_tile *t = image_find_tile(im, chip % image_chip_count(im), tile);
    const struct image_range *r = t ? image_range_at(im, t, addr) : NULL;
    uint32_t offset = 0;
    const char *name = t ? image_symbolize(im, t, addr, &offset) : NULL;
    size_t n;

    out[0] = 0;
    if (name && (!r || addr - offset >= r->addr)) {
        snprintf(out, bytes, offset ? "%.100s+0x%x" : "%.100s", name, offset);
        n = strlen(out);
        print_source(im, t, addr, out + n, bytes - n);
        return;
    }
    if (!r)
        return;
    offset = addr - r->addr;
    snprintf(out, bytes, offset ? "%.60s %.120s+0x%x" : "%.60s %.120s", image_text(im, r->category),
             image_text(im, r->owner), offset);
}

static uint32_t bits_at(const struct tile *t, uint32_t addr, unsigned type)
{
    uint32_t bits = 0;

    tile_read(t, addr, &bits, place_type_bytes(type));
    return bits;
}

static void print_element(uint32_t bits, unsigned type, FILE *f)
{
    if (type == PLACE_HEX)
        fprintf(f, " 0x%08x", bits);
    else if (case_type_is_float((enum case_type)type))
        fprintf(f, " %.*g", type == CASE_F16 ? 5 : 9, case_bits_value((enum case_type)type, bits));
    else
        fprintf(f, " %.0f", case_bits_value((enum case_type)type, bits));
}

static uint32_t elements_there(const struct tile *t, uint32_t addr, unsigned type, uint32_t count)
{
    uint32_t off = addr - t->mem_base;
    uint32_t room = off < t->mem_bytes ? (t->mem_bytes - off) / place_type_bytes(type) : 0;

    return count < room ? count : room;
}

uint32_t place_print(const struct tile *t, uint32_t addr, unsigned type, uint32_t count, FILE *f)
{
    uint32_t size = place_type_bytes(type), a_line = LINE_BYTES / size;

    count = elements_there(t, addr, type, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i % a_line == 0)
            fprintf(f, "%s0x%x:", i ? "\n" : "", addr + i * size);
        print_element(bits_at(t, addr + i * size, type), type, f);
    }
    if (count)
        fprintf(f, "\n");
    return count;
}

static json_t *element_json(uint32_t bits, unsigned type)
{
    char text[32];
    double v;

    if (type == PLACE_HEX) {
        snprintf(text, sizeof(text), "0x%08x", bits);
        return json_string(text);
    }
    v = case_bits_value((enum case_type)type, bits);
    if (!isfinite(v)) { /* JSON has no numbers for them */
        snprintf(text, sizeof(text), "%g", v);
        return json_string(text);
    }
    return case_type_is_float((enum case_type)type) ? json_real(v) : json_integer((json_int_t)v);
}

json_t *place_json(const struct tile *t, uint32_t addr, unsigned type, uint32_t count)
{
    uint32_t size = place_type_bytes(type);
    json_t *values = json_array();

    count = elements_there(t, addr, type, count);
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(values, element_json(bits_at(t, addr + i * size, type), type));
    return json_pack("{s:i, s:I, s:s, s:o}", "tile", (int)(t->id & 0xffff), "address",
                     (json_int_t)addr, "type", place_type_name(type), "values", values);
}

uint32_t place_count(const struct step_place *p, unsigned type)
{
    uint32_t size = place_type_bytes(type);

    if (p->count)
        return p->count;
    return p->bytes >= size ? p->bytes / size : LINE_BYTES / size;
}
