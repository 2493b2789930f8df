/* arch.c - the built-in machines and the fields by name: lookup, reading from text, printing,
 * derived figures. */
#include "emu/arch/arch_private.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/nearest.h"

/* Of ss_arch_title(), each at most 50 bytes: a field's name and a number. */
enum { TITLE_FIELDS = 3 };
enum { MARK_H = 'H', MARK_M = 'M', MARK_A = 'A' };
enum column { COLUMN_mk1, COLUMN_mk2, COLUMN_bow, COLUMN_c600, COLUMN_toy };

#define TOY_TITLE "classroom machine"

static const struct arch presets[] = {
    {
        .base = "mk1",
#define VALUE(place, mk1, mk2, bow, c600, toy) place = mk1,
#include "emu/arch/arch_presets.def"
    },
    {
        .base = "mk2",
#define VALUE(place, mk1, mk2, bow, c600, toy) place = mk2,
#include "emu/arch/arch_presets.def"
    },
    {
        .base = "bow",
#define VALUE(place, mk1, mk2, bow, c600, toy) place = bow,
#include "emu/arch/arch_presets.def"
    },
    {
        .base = "c600",
#define VALUE(place, mk1, mk2, bow, c600, toy) place = c600,
#include "emu/arch/arch_presets.def"
    },
    {
        .base = "toy4",
#define TOY_NAME                               "toy4"
#define TOY_TILES                              4
#define VALUE(place, mk1, mk2, bow, c600, toy) place = toy,
#include "emu/arch/arch_presets.def"
#undef TOY_NAME
#undef TOY_TILES
    },
    {
        .base = "toy16",
#define TOY_NAME                               "toy16"
#define TOY_TILES                              16
#define VALUE(place, mk1, mk2, bow, c600, toy) place = toy,
#include "emu/arch/arch_presets.def"
#undef TOY_NAME
#undef TOY_TILES
    },
    {
        .base = "toy64",
#define TOY_NAME                               "toy64"
#define TOY_TILES                              64
#define VALUE(place, mk1, mk2, bow, c600, toy) place = toy,
#include "emu/arch/arch_presets.def"
#undef TOY_NAME
#undef TOY_TILES
    },
};

_Static_assert((int)ARCH_NUMBER_COUNT <= (int)ARCH_NUMBERS_MAX,
               "struct arch has room for all numbers");

/* Every field has one row in arch_presets.def: a missing row changes this sum, a second one warns
 * above. */
enum {
#define FIELD(name, type, unit, min, max, stage, mark, source, doc) +1
    FIELD_ROWS = 0
#include "emu/arch/arch_fields.def"
#undef FIELD
    ,
#define VALUE(place, mk1, mk2, bow, c600, toy) +1
    VALUE_ROWS = 0
#include "emu/arch/arch_presets.def"
};
_Static_assert(FIELD_ROWS == VALUE_ROWS, "arch_presets.def has one row per field");

#define PLACE_MEMBER(name) offsetof(struct arch, name), sizeof(((struct arch *)0)->name)
#define PLACE_NUMBER(name) offsetof(struct arch, number[ARCH_NUMBER_##name]), sizeof(uint64_t)

static const struct arch_field fields[ARCH_FIELD_COUNT] = {
#define MEMBER(name, ...) ROW(name, PLACE_MEMBER(name), __VA_ARGS__)
#define NUMBER(name, ...) ROW(name, PLACE_NUMBER(name), __VA_ARGS__)
#define ROW(...)          ROW_AT(__VA_ARGS__)
#define ROW_AT(name_, offset_, bytes_, type_, unit_, min_, max_, stage_, mark_, source_, doc_)     \
    [ARCH_FIELD_##name_] = { .name = #name_,                                                       \
                             .unit = unit_,                                                        \
                             .source = source_,                                                    \
                             .doc = doc_,                                                          \
                             .type = ARCH_TYPE_##type_,                                            \
                             .offset = (uint32_t)(offset_),                                        \
                             .bytes = (uint32_t)(bytes_),                                          \
                             .stage = ARCH_STAGE_##stage_,                                         \
                             .mark = MARK_##mark_,                                                 \
                             .min = min_,                                                          \
                             .max = max_ },
#include "emu/arch/arch_fields.def"
};

static const struct {
    enum column column;
    enum arch_field_id field;
    char mark;
} mark_exceptions[] = {
#define MARK(column, field, mark) { COLUMN_##column, ARCH_FIELD_##field, MARK_##mark },
#include "emu/arch/arch_presets.def"
};

static const char *const kind_names[ARCH_EXCHANGE_KIND_COUNT] = {
    [ARCH_EXCHANGE_FLAT] = "flat",
    [ARCH_EXCHANGE_COLUMNS] = "columns",
};

static const char *const clash_names[ARCH_CLASH_COUNT] = {
    [ARCH_CLASH_IGNORE] = "ignore",
    [ARCH_CLASH_FAULT] = "fault",
};

static const char *const rail_names[ARCH_RAIL_COUNT] = {
    [ARCH_RAIL_MESH] = "mesh",
    [ARCH_RAIL_TORUS] = "torus",
};

/* The words of fields that are written, by type and value. */
static const struct {
    const char *const *word;
    uint32_t count;
} written[] = {
    [ARCH_TYPE_kind] = { kind_names, ARCH_EXCHANGE_KIND_COUNT },
    [ARCH_TYPE_clash] = { clash_names, ARCH_CLASH_COUNT },
    [ARCH_TYPE_rails] = { rail_names, ARCH_RAIL_COUNT },
};

const struct arch *ss_arch_preset(const char *name)
{
    for (size_t i = 0; name && i < EMU_COUNT_OF(presets); i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

size_t ss_arch_preset_count(void)
{
    return EMU_COUNT_OF(presets);
}

const char *ss_arch_preset_name(size_t i)
{
    return i < EMU_COUNT_OF(presets) ? presets[i].name : NULL;
}

size_t ss_arch_field_count(void)
{
    return ARCH_FIELD_COUNT;
}

const struct arch_field *ss_arch_field_at(size_t i)
{
    return i < ARCH_FIELD_COUNT ? &fields[i] : NULL;
}

const struct arch_field *ss_arch_field_find(const char *name)
{
    for (size_t i = 0; name && i < ARCH_FIELD_COUNT; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

/* The words that a field of this type is written with, by value; NULL for numbers and texts. */
static const char *const *words_of(enum arch_type type, uint32_t *count)
{
    *count = type < EMU_COUNT_OF(written) ? written[type].count : 0;
    return *count ? written[type].word : NULL;
}

int arch_type_is_written(enum arch_type type)
{
    uint32_t words;

    return type == ARCH_TYPE_text || words_of(type, &words) != NULL;
}

const char *ss_arch_field_nearest(const char *name)
{
    size_t length = name ? strlen(name) : 0, best = SIZE_MAX;
    const char *nearest = NULL;

    if (length < 3 || length > ARCH_TEXT_MAX)
        return NULL;
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        size_t d = nearest_distance(name, length, fields[i].name);

        if (strstr(fields[i].name, name))
            d = 1; /* half a name, as in "interleave" */
        if (d < best) {
            best = d;
            nearest = fields[i].name;
        }
    }
    return best <= 1 + length / 4 ? nearest : NULL;
}

void arch_suggest(const char *unknown, char *out, size_t bytes)
{
    const char *nearest = ss_arch_field_nearest(unknown);

    out[0] = '\0';
    if (nearest)
        snprintf(out, bytes, ", did you mean '%s'?", nearest);
}

static const void *field_pointer(const struct arch *a, size_t i)
{
    return (const char *)a + fields[i].offset;
}

uint64_t ss_arch_field_number(const struct arch *a, size_t i)
{
    uint64_t v64 = 0;
    uint32_t v32 = 0;

    if (!a || i >= ARCH_FIELD_COUNT || fields[i].type == ARCH_TYPE_text)
        return 0;
    if (fields[i].bytes == sizeof(v64))
        memcpy(&v64, field_pointer(a, i), sizeof(v64));
    else
        memcpy(&v32, field_pointer(a, i), sizeof(v32));
    return v64 + v32;
}

void ss_arch_field_text(const struct arch *a, size_t i, char *out, size_t bytes)
{
    uint64_t v = ss_arch_field_number(a, i);
    uint32_t words;

    if (!a || i >= ARCH_FIELD_COUNT) {
        snprintf(out, bytes, "%s", "");
        return;
    }
    switch (fields[i].type) {
    case ARCH_TYPE_text:
        snprintf(out, bytes, "%s", (const char *)field_pointer(a, i));
        break;
    case ARCH_TYPE_kind:
    case ARCH_TYPE_clash:
    case ARCH_TYPE_rails:
        snprintf(out, bytes, "%s", words_of(fields[i].type, &words)[v]);
        break;
    case ARCH_TYPE_hex:
        snprintf(out, bytes, "0x%" PRIx64, v);
        break;
    case ARCH_TYPE_u32:
    case ARCH_TYPE_u64:
        snprintf(out, bytes, "%" PRIu64, v);
        break;
    }
}

static int field_same(const struct arch *a, const struct arch *b, size_t i)
{
    if (fields[i].type == ARCH_TYPE_text)
        return strcmp(field_pointer(a, i), field_pointer(b, i)) == 0;
    return ss_arch_field_number(a, i) == ss_arch_field_number(b, i);
}

int ss_arch_equal(const struct arch *a, const struct arch *b)
{
    if (!a || !b || strcmp(a->base, b->base) != 0)
        return a == b;
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++)
        if (!field_same(a, b, i))
            return 0;
    return 1;
}

int ss_arch_compiles_equal(const struct arch *a, const struct arch *b)
{
    if (!a || !b)
        return a == b;
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++)
        if (fields[i].stage == ARCH_STAGE_C && !field_same(a, b, i))
            return 0;
    return 1;
}

char ss_arch_field_mark(const struct arch *a, size_t i)
{
    const struct arch *base = a ? ss_arch_preset(a->base) : NULL;
    size_t column = base ? (size_t)(base - presets) : COLUMN_toy;

    if (!a || i >= ARCH_FIELD_COUNT)
        return MARK_A;
    if (fields[i].type == ARCH_TYPE_text)
        return fields[i].mark;
    if (!base || !field_same(a, base, i))
        return MARK_A;
    if (column > COLUMN_toy)
        column = COLUMN_toy;
    for (size_t k = 0; k < EMU_COUNT_OF(mark_exceptions); k++)
        if (mark_exceptions[k].column == column && mark_exceptions[k].field == i)
            return mark_exceptions[k].mark;
    return fields[i].mark;
}

int arch_field_changed(const struct arch *a, size_t i)
{
    const struct arch *base = ss_arch_preset(a->base);

    return base && !field_same(a, base, i);
}

struct arch_title ss_arch_title(const struct arch *a)
{
    const struct arch *base = a ? ss_arch_preset(a->base) : NULL;
    struct arch_title t;
    char value[ARCH_TEXT_MAX];
    unsigned changed = 0;
    size_t n = (size_t)snprintf(t.at, sizeof(t.at), "%s", a ? a->name : "");

    if (!base || strcmp(a->name, base->name) != 0)
        return t;
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        if (fields[i].type == ARCH_TYPE_text || !arch_field_changed(a, i) ||
            changed++ >= TITLE_FIELDS)
            continue;
        ss_arch_field_text(a, i, value, sizeof(value));
        n += (size_t)snprintf(t.at + n, sizeof(t.at) - n, "%s%s=%s", changed > 1 ? ", " : " with ",
                              fields[i].name, value);
    }
    if (changed > TITLE_FIELDS)
        snprintf(t.at + n, sizeof(t.at) - n, ", %u more", changed - TITLE_FIELDS);
    return t;
}

void arch_field_expected(size_t i, char *out, size_t bytes)
{
    const struct arch_field *f = &fields[i];

    switch (f->type) {
    case ARCH_TYPE_text:
        snprintf(out, bytes, "a text of %" PRIu64 " to %" PRIu64 " printable bytes", f->min,
                 f->max);
        break;
    case ARCH_TYPE_kind:
        snprintf(out, bytes, "\"flat\" or \"columns\"");
        break;
    case ARCH_TYPE_clash:
        snprintf(out, bytes,
                 "\"ignore\" or \"fault\" (a stall would make every later word meet another "
                 "event than planned, so it has no meaning here)");
        break;
    case ARCH_TYPE_rails:
        snprintf(out, bytes, "\"mesh\" or \"torus\"");
        break;
    case ARCH_TYPE_u32:
    case ARCH_TYPE_u64:
    case ARCH_TYPE_hex:
        if (f->min == f->max)
            snprintf(out, bytes, "%" PRIu64 " %s: the instruction set fixes it", f->min, f->unit);
        else if (f->type == ARCH_TYPE_hex)
            snprintf(out, bytes, "an integer from 0x%" PRIx64 " to 0x%" PRIx64 " (%s)", f->min,
                     f->max, f->unit);
        else
            snprintf(out, bytes, "an integer from %" PRIu64 " to %" PRIu64 " (%s)", f->min, f->max,
                     f->unit);
        break;
    }
}

static void store(struct arch *a, const struct arch_field *f, uint64_t v)
{
    uint32_t v32 = (uint32_t)v;

    if (f->bytes == sizeof(v))
        memcpy((char *)a + f->offset, &v, sizeof(v));
    else
        memcpy((char *)a + f->offset, &v32, sizeof(v32));
}

int arch_field_store_number(struct arch *a, size_t i, uint64_t v)
{
    const struct arch_field *f = &fields[i];

    if (arch_type_is_written(f->type) || v < f->min || v > f->max)
        return -1;
    store(a, f, v);
    if (i == ARCH_FIELD_tiles)
        arch_exchange_make_room(a);
    return 0;
}

int arch_field_store_text(struct arch *a, size_t i, const char *s, size_t n)
{
    const struct arch_field *f = &fields[i];
    char *dst = (char *)a + f->offset;
    uint32_t count;
    const char *const *word = words_of(f->type, &count);

    for (uint32_t k = 0; word && k < count; k++)
        if (strlen(word[k]) == n && memcmp(word[k], s, n) == 0) {
            store(a, f, k);
            if (f->type == ARCH_TYPE_kind)
                arch_exchange_make_room(a);
            return 0;
        }
    if (f->type != ARCH_TYPE_text || n < f->min || n > f->max)
        return -1;
    for (size_t k = 0; k < n; k++)
        if (s[k] < ' ' || s[k] > '~')
            return -1;
    memset(dst, 0, ARCH_TEXT_MAX);
    memcpy(dst, s, n);
    return 0;
}

int arch_parse_number(const char *s, size_t n, uint64_t *out)
{
    unsigned base = 10, shift = 0;
    uint64_t v = 0;

    size_t unit = n > 2 && s[n - 1] == 'i' ? n - 2 : n - 1; /* of its letter */

    if (n > 1 && memchr("KMG", s[unit], 3)) {
        shift = s[unit] == 'K' ? 10 : s[unit] == 'M' ? 20 : 30;
        n = unit;
    } else if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
        n -= 2;
    }
    if (n == 0)
        return -1;
    for (size_t k = 0; k < n; k++) {
        unsigned c = (unsigned char)s[k], digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (c | 0x20) - 'a' + 10;
        else
            return -1;
        if (v > (UINT64_MAX - digit) / base)
            return -1;
        v = v * base + digit;
    }
    if (v > UINT64_MAX >> shift)
        return -1;
    *out = v << shift;
    return 0;
}

/* The memory of a tile, with region 0 as near to its share of it as whole pairs of interleaved
 * elements leave to region 1. */
static enum emu_status set_sram(struct arch *a, const char *text)
{
    uint64_t element = a->element_bytes, all, before = a->mem_bytes / element, region0, v;

    if (arch_parse_number(text, strlen(text), &v) || v < 2 * element ||
        v > fields[ARCH_FIELD_mem_bytes].max)
        return FAIL(BAD_MACHINE,
                    "--set sram: expected %" PRIu64 " to %" PRIu64
                    " bytes, as in 256K, got '%.80s'",
                    2 * element, fields[ARCH_FIELD_mem_bytes].max, text);
    all = v / element;
    if (v % element)
        return FAIL(BAD_MACHINE,
                    "--set sram: %" PRIu64 " is not a multiple of element_bytes %" PRIu64
                    "; nearest: %" PRIu64 "K or %" PRIu64 "K",
                    v, element, all * element / 1024, (all + 1) * element / 1024);
    region0 = (2 * all * a->region0_bytes / element + before) / (2 * before);
    if ((all - region0) % 2) /* the nearer of two neighbours */
        region0 += region0 < 2 || all * a->region0_bytes / element >= region0 * before ? 1 : -1;
    a->mem_bytes = (uint32_t)v;
    a->region0_bytes = (uint32_t)(region0 * element);
    return EMU_OK;
}

enum emu_status ss_arch_set(struct arch *a, const char *field_equals_value)
{
    const char *equals = field_equals_value ? strchr(field_equals_value, '=') : NULL, *value;
    char name[ARCH_TEXT_MAX], hint[ARCH_TEXT_MAX + 32], expected[160];
    const struct arch_field *f;
    size_t i, length;
    uint64_t v;
    int bad;

    if (!a)
        return FAIL(BAD_MACHINE,
                    "there is no machine: arch is NULL, which ss_arch_preset() gives for "
                    "a name that it does not know");
    if (!equals)
        return FAIL(BAD_MACHINE, "--set '%.80s': expected field=value",
                    field_equals_value ? field_equals_value : "");
    length = (size_t)(equals - field_equals_value);
    if (length >= sizeof(name))
        length = sizeof(name) - 1;
    memcpy(name, field_equals_value, length);
    name[length] = '\0';
    value = equals + 1;
    if (!strcmp(name, "sram"))
        return set_sram(a, value);
    f = ss_arch_field_find(name);
    if (!f) {
        arch_suggest(name, hint, sizeof(hint));
        return FAIL(BAD_MACHINE, "--set: unknown field '%s'%s", name, hint);
    }
    i = (size_t)(f - fields);
    if (arch_type_is_written(f->type))
        bad = arch_field_store_text(a, i, value, strlen(value));
    else
        bad = arch_parse_number(value, strlen(value), &v) || arch_field_store_number(a, i, v);
    if (bad) {
        arch_field_expected(i, expected, sizeof(expected));
        return FAIL(BAD_MACHINE, "--set %s: expected %s, got '%.80s'", f->name, expected, value);
    }
    return EMU_OK;
}

/* What a change of the field cannot do, for people; "" where it is read by every run. */
static const char *limit_of(const struct arch_field *f)
{
    if (f->type == ARCH_TYPE_text)
        return "";
    if (f->min == f->max)
        return "; fixed by the instruction set";
    return f->stage == ARCH_STAGE_N   ? "; no run reads it"
           : f->stage == ARCH_STAGE_H ? "; cycles hang on it only where the host takes part"
           : f->stage == ARCH_STAGE_L ? "; cycles hang on it only where there are several chips"
                                      : "";
}

static void print_field(const struct arch *a, const struct arch *base, size_t i, FILE *out)
{
    char value[ARCH_TEXT_MAX], was[ARCH_TEXT_MAX];

    ss_arch_field_text(a, i, value, sizeof(value));
    fprintf(out, "%-24s  %-17s  %-12s  %c  %s%s [%s]", fields[i].name, value, fields[i].unit,
            ss_arch_field_mark(a, i), fields[i].doc, limit_of(&fields[i]), fields[i].source);
    if (arch_field_changed(a, i)) {
        ss_arch_field_text(base, i, was, sizeof(was));
        fprintf(out, " (%s: %s)", base->name, was);
    }
    fputc('\n', out);
}

void ss_arch_print(const struct arch *a, FILE *f)
{
    const struct arch *base;

    if (!a)
        return;
    base = ss_arch_preset(a->base);
    fprintf(f, "%-24s  %-17s  %-12s  -  the preset this machine was made from\n", "base", a->base,
            "-");
#define GROUP(title) fputs("# " title "\n", f);
#define FIELD(name, type, unit, min, max, stage, mark, source, doc)                                \
    print_field(a, base, ARCH_FIELD_##name, f);
#include "emu/arch/arch_fields.def"
#undef FIELD
    fputs("# Derived, one chip\n", f);
    fprintf(f, "# %-22s  %-17" PRIu64 "  op/s\n", "f16_ops_per_s", ss_arch_f16_ops_per_s(a));
    fprintf(f, "# %-22s  %-17" PRIu64 "  op/s\n", "f32_ops_per_s", ss_arch_f32_ops_per_s(a));
    fprintf(f, "# %-22s  %-17" PRIu64 "  bytes/s\n", "mem_bytes_per_s", ss_arch_mem_bytes_per_s(a));
    fprintf(f, "# %-22s  %-17" PRIu64 "  bytes/s\n", "exchange_bytes_per_s",
            ss_arch_exchange_bytes_per_s(a));
    fprintf(f, "# %-22s  %-17" PRIu64 "  bytes/s, all links, both ways\n", "link_bytes_per_s",
            ss_arch_link_bytes_per_s(a));
    fputs(
        "# Marks: H read in vendor code, vendor page or hardware log; M marketing, third party or "
        "derived; A assumed, or set here\n",
        f);
}

static uint64_t per_second(const struct arch *a, uint64_t per_tile_and_cycle)
{
    return (uint64_t)a->tiles * a->clock_mhz * 1000000u * per_tile_and_cycle;
}

uint32_t ss_arch_loader_base(const struct arch *a)
{
    return a->mem_base + arch_loader_head_bytes(a);
}

uint64_t ss_arch_f16_ops_per_s(const struct arch *a)
{
    return a ? per_second(a, 2u * arch_f16_macs_f16(a)) : 0;
}

uint64_t ss_arch_f32_ops_per_s(const struct arch *a)
{
    return a ? per_second(a, 2u * arch_f32_macs(a)) : 0;
}

uint64_t ss_arch_mem_bytes_per_s(const struct arch *a)
{
    return a ? per_second(a, arch_mem_peak_bytes(a)) : 0;
}

uint64_t ss_arch_exchange_bytes_per_s(const struct arch *a)
{
    return a ? per_second(a, arch_exchange_bytes(a)) : 0;
}

uint64_t ss_arch_link_bytes_per_s(const struct arch *a)
{
    uint64_t links = 0;

    if (a)
        links = (uint64_t)arch_links_pair(a) + arch_links_cross(a) + arch_links_up(a) +
                arch_links_down(a);
    return a ? 2 * links * arch_link_mbytes_per_s(a) * 1000000 : 0;
}

uint64_t ss_arch_cycles_from_ns(const struct arch *a, uint64_t ns)
{
    if (!a)
        return 0;
    return ns / 1000 * a->clock_mhz + (ns % 1000 * a->clock_mhz + 999) / 1000;
}

/* bytes / (rate MB/s) seconds x clock MHz: the millions cancel. */
uint64_t ss_arch_cycles_for_bytes(const struct arch *a, uint64_t bytes, uint32_t mbytes_per_s)
{
    uint64_t whole, rest;

    if (!a || !mbytes_per_s)
        return 0;
    whole = bytes / mbytes_per_s;
    rest = bytes % mbytes_per_s;
    return whole * a->clock_mhz + (rest * a->clock_mhz + mbytes_per_s - 1) / mbytes_per_s;
}
