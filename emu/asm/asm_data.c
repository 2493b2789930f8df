/* asm_data.c - directives that put data or padding into a section. */
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

/* Whether v can be written in n bytes, signed or unsigned. */
static int fits(int64_t v, unsigned n)
{
    return n == 8 || (v >= -(INT64_C(1) << (8 * n - 1)) && v < INT64_C(1) << 8 * n);
}

static int one_integer(struct as *as, unsigned bytes)
{
    struct fixup f = { .kind = FIXUP_DATA, .bytes = (uint8_t)bytes };
    struct value v;

    lex_blank(as);
    f.at = lex_here(as);
    f.offset = (uint32_t)as->section->size;
    f.expr = expr_parse_data(as, bytes);
    if (!f.expr)
        return 0;
    v = expr_eval(f.expr, 0);
    if (v.kind == VALUE_WRONG)
        return as_error(as, f.at, "%s", v.why);
    if (!section_is_loaded(as->section) && !frame_number(as, v, bytes))
        return 0;
    if (v.kind == VALUE_NUMBER) {
        if (!fits(v.number, bytes))
            return as_error(as, f.at, "%lld does not fit in %u bytes", (long long)v.number, bytes);
        return section_fill(as, 1, bytes, (uint64_t)v.number, f.at);
    }
    return section_fill(as, 1, bytes, 0, f.at) && section_fixup(as, &f);
}

int data_integers(struct as *as, struct loc at, int bytes)
{
    (void)at;
    if (lex_at_end(as))
        return 1;
    do {
        if (!one_integer(as, (unsigned)bytes))
            return 0;
    } while (lex_accept(as, ','));
    return 1;
}

/* Numbers in groups of seven bits, the low ones first. Those that are not known yet can only be
 * dropped. */
int data_leb128(struct as *as, struct loc at, int is_signed)
{
    do {
        struct value v;
        uint8_t bytes[10];
        size_t n = 0;
        int more = 1;

        if (!expr_parse_value(as, &at, &v))
            return 0;
        if (!section_is_loaded(as->section)) {
            frame_leb128(as, v);
            continue;
        }
        if (v.kind != VALUE_NUMBER)
            return as_error(as, at, "the value must be a number that is known here");
        for (; more; n++) {
            int sign = (int)(v.number >> 6 & 1);

            bytes[n] = v.number & 0x7f;
            v.number = is_signed ? v.number >> 7 : (int64_t)((uint64_t)v.number >> 7);
            more = is_signed ? v.number != -sign : v.number != 0;
            bytes[n] |= (uint8_t)(more << 7);
        }
        if (!section_emit(as, bytes, n, ITEM_DATA, at))
            return 0;
    } while (lex_accept(as, ','));
    return 1;
}

/* Text of a floating-point number: sign, name characters, and the sign of an exponent. */
static int float_text(struct as *as, char *out, size_t bytes)
{
    struct frame *f = as->top;
    struct loc at;
    const char *start;
    size_t n;

    lex_blank(as);
    at = lex_here(as);
    start = f->p;
    while (f->p < f->end &&
           (lex_is_name((unsigned char)*f->p) ||
            (strchr("+-", *f->p) && *f->p && (f->p == start || (f->p[-1] | 0x20) == 'e'))))
        f->p++;
    n = (size_t)(f->p - start);
    if (!n || n >= bytes)
        return as_error(as, at, "expected a number");
    memcpy(out, start, n);
    out[n] = 0;
    return 1;
}

int data_floats(struct as *as, struct loc at, int bytes)
{
    do {
        char text[80], *end;
        uint64_t bits = 0;

        if (!float_text(as, text, sizeof(text)))
            return 0;
        if (bytes == 4) {
            float v = strtof(text, &end);

            memcpy(&bits, &v, sizeof(v));
        } else {
            double v = strtod(text, &end);

            memcpy(&bits, &v, sizeof(v));
        }
        if (*end || end == text)
            return as_error(as, at, "bad number '%s'", text);
        if (!section_fill(as, 1, (unsigned)bytes, bits, at))
            return 0;
    } while (lex_accept(as, ','));
    return 1;
}

int data_strings(struct as *as, struct loc at, int terminated)
{
    do {
        char *text;
        size_t n;

        if (!lex_string(as, &text, &n) || !section_emit(as, text, n, ITEM_DATA, at))
            return 0;
        if (terminated && !section_fill(as, 1, 1, 0, at))
            return 0;
    } while (lex_accept(as, ','));
    return 1;
}

/* An optional further argument; *given says whether it was there. */
static int optional_number(struct as *as, const char *what, int64_t *out, int *given)
{
    *given = 0;
    if (!lex_accept(as, ','))
        return 1;
    if (lex_at_end(as) || lex_peek(as) == ',')
        return 1;
    *given = 1;
    return expr_parse_number(as, what, out);
}

/* .space count[, byte] */
int data_space(struct as *as, struct loc at, int argument)
{
    int64_t count, byte = 0;
    int given;

    (void)argument;
    if (!expr_parse_number(as, "the size", &count) ||
        !optional_number(as, "the byte", &byte, &given))
        return 0;
    if (count < 0)
        return as_error(as, at, "the size is negative");
    return section_fill(as, (uint64_t)count, 1, (uint64_t)byte & 0xff, at);
}

/* .fill count[, width[, value]] */
int data_fill(struct as *as, struct loc at, int argument)
{
    int64_t count, width = 1, value = 0;
    int given;

    (void)argument;
    if (!expr_parse_number(as, "the count", &count) ||
        !optional_number(as, "the width", &width, &given) ||
        !optional_number(as, "the value", &value, &given))
        return 0;
    if (count < 0 || width < 0 || width > 8)
        return as_error(as, at, "the count must not be negative, and the width be 0 to 8");
    return !width || section_fill(as, (uint64_t)count, (unsigned)width, (uint64_t)value, at);
}

/* .align bytes[, fill[, max]]; .p2align takes the logarithm */
int data_align(struct as *as, struct loc at, int power)
{
    int64_t align, fill = 0, max = 0;
    int has_fill, has_max;

    if (!expr_parse_number(as, "the alignment", &align) ||
        !optional_number(as, "the fill byte", &fill, &has_fill) ||
        !optional_number(as, "the limit", &max, &has_max))
        return 0;
    if (power)
        align = align >= 0 && align < 32 ? INT64_C(1) << align : -1;
    if (align < 0 || max < 0)
        return as_error(as, at, "the alignment must be a power of two up to %d", MAX_ALIGN);
    return section_align(as, (uint64_t)align, fill, has_fill, (uint64_t)max, at);
}

/* .org place[, byte], and `. = place`: only forward, within the section */
int data_org(struct as *as, struct loc at, int argument)
{
    const struct expr_node *n = expr_parse(as);
    int64_t byte = 0;
    struct value v;
    int given;

    (void)argument;
    if (!n || !optional_number(as, "the byte", &byte, &given))
        return 0;
    v = expr_eval(n, 0);
    if (v.kind == VALUE_PLACE && v.section != as->section)
        return as_error(as, at, "the place is in another section");
    if (v.kind != VALUE_PLACE && v.kind != VALUE_NUMBER)
        return as_error(as, at, "the place is not known here");
    if (v.number < (int64_t)as->section->size)
        return as_error(as, at, "cannot move back to offset %lld", (long long)v.number);
    return section_fill(as, (uint64_t)v.number - as->section->size, 1, (uint64_t)byte & 0xff, at);
}

/* .incbin "file"[, skip[, count]] */
int data_incbin(struct as *as, struct loc at, int argument)
{
    int64_t skip = 0, count = INT64_MAX;
    char *name, *text;
    size_t len;
    int given, ok;

    (void)argument;
    if (!directive_file(as, at, &name, &text, &len))
        return 0;
    ok = optional_number(as, "the offset", &skip, &given) &&
         optional_number(as, "the size", &count, &given);
    if (ok && (skip < 0 || count < 0 || (uint64_t)skip > len))
        ok = as_error(as, at, "'%s' has %zu bytes only", name, len);
    if (ok) {
        size_t n = len - (size_t)skip;

        ok = section_emit(as, text + skip, (uint64_t)count < n ? (size_t)count : n, ITEM_DATA, at);
    }
    ss_free(text);
    return ok;
}
