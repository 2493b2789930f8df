/* asm_file.c - linked units as text files, for people and for other tools.
 *
 *   superstep-unit 2
 *   machine "mk2"
 *   section ADDRESS FLAGS ALIGNMENT BYTES "NAME" "SOURCE"
 *    19000005 99e00000 9ad00000 ...
 *   symbol VALUE FLAGS BYTES STACK_BYTES "NAME" "SOURCE"
 *   end
 *
 * The words of a section follow its line in hexadecimal; bytes that do not fill a word have two
 * digits each. Section flags: a loaded, x executable, w writable. Symbol flags: g global, w weak, f
 * function, o object, n a plain number; - if none. Blank lines and lines that begin with # are
 * skipped.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

enum { WORDS_PER_LINE = 8 };

/* ---- writing ---- */

static void write_name(FILE *f, const char *name)
{
    putc('"', f);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\' || (unsigned char)*name < 32)
            fprintf(f, "\\x%02x", (unsigned char)*name);
        else
            putc(*name, f);
    }
    putc('"', f);
}

static void write_section(FILE *f, const struct asm_section *s)
{
    uint32_t words = s->size / 4;

    fprintf(f, "section 0x%" PRIx32 " %s%s%s %" PRIu32 " %" PRIu32 " ", s->addr,
            s->flags & ASM_ALLOC ? "a" : "", s->flags & ASM_EXEC ? "x" : "",
            s->flags & ASM_WRITE ? "w" : "", s->align, s->size);
    write_name(f, s->name);
    putc(' ', f);
    write_name(f, s->file);
    putc('\n', f);
    for (uint32_t i = 0; i < words; i++) {
        uint32_t w;

        memcpy(&w, s->bytes + 4 * i, 4);
        fprintf(f, " %08" PRIx32 "%s", w, i % WORDS_PER_LINE == WORDS_PER_LINE - 1 ? "\n" : "");
    }
    for (uint32_t i = 4 * words; i < s->size; i++)
        fprintf(f, " %02x", s->bytes[i]);
    if (words % WORDS_PER_LINE || s->size % 4)
        putc('\n', f);
}

static void write_symbol(FILE *f, const struct asm_symbol *s)
{
    char flags[8];
    size_t n = 0;

    if (s->global)
        flags[n++] = 'g';
    if (s->weak)
        flags[n++] = 'w';
    if (s->type != ASM_NOTYPE)
        flags[n++] = s->type == ASM_FUNCTION ? 'f' : 'o';
    if (!s->section)
        flags[n++] = 'n';
    if (!n)
        flags[n++] = '-';
    flags[n] = 0;
    fprintf(f, "symbol 0x%" PRIx64 " %s %" PRIu32 " %" PRIu32 " ", (uint64_t)s->value, flags,
            s->size, s->stack_bytes);
    write_name(f, s->name);
    putc(' ', f);
    write_name(f, s->file);
    putc('\n', f);
}

enum emu_status asm_image_write(const struct asm_image *image, FILE *f)
{
    fprintf(f, "superstep-unit 2\nmachine ");
    write_name(f, image->machine);
    putc('\n', f);
    for (size_t i = 0; i < image->section_count; i++)
        write_section(f, &image->section[i]);
    for (size_t i = 0; i < image->symbol_count; i++)
        write_symbol(f, &image->symbol[i]);
    fprintf(f, "end\n");
    if (fflush(f) || ferror(f))
        return FAIL(IO, "writing a unit: %s", strerror(errno));
    return EMU_OK;
}

/* ---- reading ---- */

struct asm_file_reader {
    const char *file, *p, *end;
    unsigned line;
    struct asm_image *image;
    size_t section_capacity, symbol_capacity;
};

static enum emu_status bad(const struct asm_file_reader *r, const char *why)
{
    return FAIL(BAD_FILE, "%s:%u: %s", r->file, r->line, why);
}

static void skip_blanks(struct asm_file_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

/* The next word of the line; empty at its end. */
static struct span read_word(struct asm_file_reader *r)
{
    const char *start;

    skip_blanks(r);
    start = r->p;
    while (r->p < r->end && !isspace((unsigned char)*r->p))
        r->p++;
    return span_of(start, (size_t)(r->p - start));
}

static enum emu_status read_number(struct asm_file_reader *r, uint64_t limit, uint64_t *out)
{
    struct span s = read_word(r);
    char text[24], *end;

    if (!s.n || s.n >= sizeof(text) || !isdigit((unsigned char)s.s[0]))
        return bad(r, "expected a number");
    memcpy(text, s.s, s.n);
    text[s.n] = 0;
    errno = 0;
    *out = strtoull(text, &end, 0);
    if (*end || errno || *out > limit)
        return bad(r, "bad number, or too large");
    return EMU_OK;
}

static int hex_value(int c)
{
    return isdigit(c) ? c - '0' : isxdigit(c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* A name in quotes into memory of its own. */
static enum emu_status read_name(struct asm_file_reader *r, const char **out)
{
    const char *close;
    char *text;
    size_t n = 0;

    *out = NULL;
    skip_blanks(r);
    if (r->p == r->end || *r->p != '"')
        return bad(r, "expected a name in quotes");
    r->p++;
    close = memchr(r->p, '"', (size_t)(r->end - r->p));
    if (!close || memchr(r->p, '\n', (size_t)(close - r->p)))
        return bad(r, "unterminated name");
    text = emu_alloc((size_t)(close - r->p) + 1, 1);
    if (!text)
        return FAIL(NO_MEMORY, "a name");
    while (r->p < close) {
        if (*r->p == '\\' && close - r->p > 3 && r->p[1] == 'x' &&
            hex_value((unsigned char)r->p[2]) >= 0 && hex_value((unsigned char)r->p[3]) >= 0) {
            text[n++] =
                (char)(hex_value((unsigned char)r->p[2]) * 16 + hex_value((unsigned char)r->p[3]));
            r->p += 4;
        } else {
            text[n++] = *r->p++;
        }
    }
    r->p = close + 1;
    *out = text;
    return EMU_OK;
}

static enum emu_status read_line_end(struct asm_file_reader *r)
{
    skip_blanks(r);
    if (r->p < r->end && *r->p != '\n')
        return bad(r, "unexpected text at the end of the line");
    return EMU_OK;
}

/* To the start of the next line that says something. */
static void next_line(struct asm_file_reader *r)
{
    for (;;) {
        skip_blanks(r);
        if (r->p == r->end)
            return;
        if (*r->p == '#')
            while (r->p < r->end && *r->p != '\n')
                r->p++;
        if (r->p < r->end && *r->p != '\n')
            return;
        if (r->p < r->end) {
            r->p++;
            r->line++;
        }
    }
}

static enum emu_status read_flags(struct asm_file_reader *r, const char *known, unsigned *out)
{
    struct span s = read_word(r);

    *out = 0;
    if (span_is(s, "-"))
        return EMU_OK;
    for (size_t i = 0; i < s.n; i++) {
        const char *c = s.s[i] ? strchr(known, s.s[i]) : NULL;

        if (!c)
            return bad(r, "unknown flag");
        *out |= 1u << (c - known);
    }
    return s.n ? EMU_OK : bad(r, "expected flags");
}

static enum emu_status read_bytes(struct asm_file_reader *r, struct asm_section *s)
{
    uint8_t *bytes = emu_alloc(s->size, 1);
    uint32_t n = 0;

    s->bytes = bytes;
    if (!bytes)
        return FAIL(NO_MEMORY, "a section of %" PRIu32 " bytes", s->size);
    while (n < s->size) {
        uint32_t v = 0, digits = s->size - n >= 4 ? 8 : 2;
        struct span word;

        next_line(r);
        word = read_word(r);
        if (word.n != digits)
            return bad(r, "expected a word of 8 digits, or a byte of 2");
        for (size_t i = 0; i < word.n; i++) {
            int h = hex_value((unsigned char)word.s[i]);

            if (h < 0)
                return bad(r, "bad hexadecimal digit");
            v = v << 4 | (uint32_t)h;
        }
        for (uint32_t i = 0; i < digits / 2; i++)
            bytes[n++] = (uint8_t)(v >> 8 * i);
    }
    return read_line_end(r);
}

static enum emu_status read_section(struct asm_file_reader *r)
{
    enum { MAX_SECTION_BYTES = 1 << 22 };
    struct asm_image *image = r->image;
    void *p = image->section;
    struct asm_section *s;
    uint64_t addr, align, size;

    TRY(emu_grow(&p, image->section_count, &r->section_capacity, sizeof(*s)));
    image->section = p;
    s = &image->section[image->section_count++];
    memset(s, 0, sizeof(*s));
    TRY(read_number(r, UINT32_MAX, &addr));
    TRY(read_flags(r, "axw", &s->flags));
    TRY(read_number(r, MAX_ALIGN, &align));
    TRY(read_number(r, MAX_SECTION_BYTES, &size));
    TRY(read_name(r, &s->name));
    TRY(read_name(r, &s->file));
    TRY(read_line_end(r));
    if (align < MIN_SECTION_ALIGN || align & (align - 1) || addr % align)
        return bad(r, "bad alignment");
    if (addr + size > UINT32_MAX)
        return bad(r, "the section is too large");
    s->addr = (uint32_t)addr;
    s->align = (uint32_t)align;
    s->size = (uint32_t)size;
    return read_bytes(r, s);
}

static enum emu_status read_symbol(struct asm_file_reader *r)
{
    enum { GLOBAL = 1, WEAK = 2, FUNCTION = 4, OBJECT = 8, NUMBER = 16 };
    struct asm_image *image = r->image;
    void *p = image->symbol;
    struct asm_symbol *s;
    uint64_t value, size, stack;
    unsigned flags;

    TRY(emu_grow(&p, image->symbol_count, &r->symbol_capacity, sizeof(*s)));
    image->symbol = p;
    s = &image->symbol[image->symbol_count++];
    memset(s, 0, sizeof(*s));
    TRY(read_number(r, UINT64_MAX, &value));
    TRY(read_flags(r, "gwfon", &flags));
    TRY(read_number(r, UINT32_MAX, &size));
    TRY(read_number(r, UINT32_MAX, &stack));
    TRY(read_name(r, &s->name));
    TRY(read_name(r, &s->file));
    s->value = (int64_t)value;
    s->size = (uint32_t)size;
    s->stack_bytes = (uint32_t)stack;
    s->global = flags & GLOBAL ? 1 : 0;
    s->weak = flags & WEAK ? 1 : 0;
    s->type = flags & FUNCTION ? ASM_FUNCTION : flags & OBJECT ? ASM_OBJECT : ASM_NOTYPE;
    if (!(flags & NUMBER)) {
        for (size_t i = 0; i < image->section_count && !s->section; i++) {
            const struct asm_section *in = &image->section[i];

            if (s->value >= in->addr && s->value <= (int64_t)in->addr + in->size)
                s->section = in;
        }
        if (!s->section)
            return bad(r, "the symbol lies in no section");
    }
    return read_line_end(r);
}

static enum emu_status read_image(struct asm_file_reader *r)
{
    struct span word;
    int symbols = 0;

    word = read_word(r);
    if (!span_is(word, "superstep-unit"))
        return bad(r, "expected 'superstep-unit 2'");
    word = read_word(r);
    if (span_is(word, "1"))
        return bad(r,
                   "a unit of version 1, whose words mean something else now: assemble it again");
    if (!span_is(word, "2"))
        return bad(r, "expected 'superstep-unit 2'");
    next_line(r);
    if (!span_is(read_word(r), "machine"))
        return bad(r, "expected 'machine'");
    TRY(read_name(r, &r->image->machine));
    for (;;) {
        TRY(read_line_end(r));
        next_line(r);
        word = read_word(r);
        if (span_is(word, "section") && !symbols) {
            TRY(read_section(r));
        } else if (span_is(word, "symbol")) {
            symbols = 1;
            TRY(read_symbol(r));
        } else {
            break;
        }
    }
    return span_is(word, "end") ? EMU_OK : bad(r, "expected 'section', 'symbol' or 'end'");
}

enum emu_status asm_image_read_text(const char *name, const char *text, size_t len,
                                    struct asm_image *out)
{
    struct asm_file_reader r = { name, text, text + len, 1, out, 0, 0 };
    enum emu_status st;

    memset(out, 0, sizeof(*out));
    st = read_image(&r);
    if (st != EMU_OK)
        asm_image_free(out);
    else
        image_order(out);
    return st;
}

void asm_image_free(struct asm_image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        ss_free((void *)image->section[i].name);
        ss_free((void *)image->section[i].file);
        ss_free((void *)image->section[i].bytes);
        ss_free((void *)image->section[i].lines);
    }
    for (size_t i = 0; i < image->symbol_count; i++) {
        ss_free((void *)image->symbol[i].name);
        ss_free((void *)image->symbol[i].file);
    }
    ss_free((void *)image->machine);
    ss_free(image->section);
    ss_free(image->symbol);
    memset(image, 0, sizeof(*image));
}
