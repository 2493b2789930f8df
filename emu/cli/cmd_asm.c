/* cmd_asm.c - assembles and links files as one unit; prints a listing, or writes the unit or an
 * object. */
#include "emu/cli/emu_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/base/output_file.h"
#include "emu/cli/commands.h"
#include "emu/job/run_file.h"

/* What is read of the command line. */
OPTION_READ(LIST, define)
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, output)
OPTION_READ(FLAG, raw)
OPTION_READ(LIST, include)
OPTION_READ(FLAG, object)
OPTION_READ(FLAG, undefined)
OPTION_READ(NUMBER, code)
OPTION_READ(NUMBER, data)

/* ---- listing ---- */

static void list_words(const struct asm_section *s, uint32_t at, unsigned bytes)
{
    char text[20] = "";
    size_t n = 0;

    for (unsigned i = 0; i < bytes; i += 4) {
        uint32_t w;

        memcpy(&w, s->bytes + at + i, 4);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%08" PRIx32 " ", w);
    }
    printf("  %05" PRIx32 "  %-18s ", s->addr + at, text);
}

static void list_labels(const struct asm_image *image, const struct asm_section *s, uint32_t at)
{
    for (size_t i = 0; i < image->symbol_count; i++) {
        const struct asm_symbol *y = &image->symbol[i];

        if (y->section == s && y->value == (int64_t)s->addr + at)
            printf("%s:\n", y->name);
    }
}

static void list_section(const struct asm_image *image, const struct asm_section *s)
{
    uint32_t at = 0;

    printf("\n%s, %" PRIu32 " bytes at 0x%" PRIx32 ", from %s\n", s->name, s->size, s->addr,
           s->file);
    while (s->flags & ASM_EXEC && s->size - at >= 4) {
        const struct asm_line *line = asm_line_of(image, s->addr + at);
        char text[400];
        unsigned bytes = asm_print_item(s, at, NULL, text, sizeof(text));

        list_labels(image, s, at);
        list_words(s, at, bytes);
        if (line)
            printf("%-56s %s:%" PRIu32 "\n", text, line->file, line->line);
        else
            printf("%s\n", text);
        at += bytes;
    }
    for (uint32_t i = 0; at < s->size; i++, at++)
        printf("%s%02x%s", i % 16 ? " " : "  ", s->bytes[at],
               i % 16 == 15 || at + 1 == s->size ? "\n" : "");
}

static void list_symbols(const struct asm_image *image)
{
    printf("\nsymbols\n");
    for (size_t i = 0; i < image->symbol_count; i++) {
        const struct asm_symbol *y = &image->symbol[i];

        printf("  %08" PRIx64 " %c%c %6" PRIu32 " ", (uint64_t)y->value,
               y->weak     ? 'w'
               : y->global ? 'g'
                           : 'l',
               !y->section               ? 'n'
               : y->type == ASM_FUNCTION ? 'f'
               : y->type == ASM_OBJECT   ? 'o'
                                         : ' ',
               y->size);
        printf("%s", y->name);
        if (y->stack_bytes)
            printf(" (stack %" PRIu32 ")", y->stack_bytes);
        printf("\n");
    }
}

static void list(const struct asm_image *image)
{
    for (size_t i = 0; i < image->section_count; i++)
        list_section(image, &image->section[i]);
    list_symbols(image);
}

/* ---- the same as JSON ---- */

/* An instruction: its words in hexadecimal, its text, and where it stands in a source. */
static json_t *item_json(const struct asm_image *image, const struct asm_section *s, uint32_t at,
                         unsigned *bytes)
{
    const struct asm_line *line = asm_line_of(image, s->addr + at);
    json_t *o, *words = json_array();
    char text[400];

    *bytes = asm_print_item(s, at, NULL, text, sizeof(text));
    for (unsigned i = 0; i < *bytes; i += 4) {
        char digits[9];
        uint32_t w;

        memcpy(&w, s->bytes + at + i, 4);
        snprintf(digits, sizeof(digits), "%08" PRIx32, w);
        json_array_append_new(words, json_string(digits));
    }
    o = json_pack("{s:I, s:o, s:o}", "address", (json_int_t)s->addr + at, "words", words, "text",
                  json_text(text));
    if (o && line) {
        json_object_set_new(o, "file", json_text(line->file));
        json_object_set_new(o, "line", json_integer(line->line));
    }
    return o;
}

/* Code as instructions, what is left and data as bytes in hexadecimal. */
static json_t *section_json(const struct asm_image *image, const struct asm_section *s)
{
    json_t *code = json_array(), *o;
    uint32_t at = 0;
    char *hex;

    while (s->flags & ASM_EXEC && s->size - at >= 4) {
        unsigned bytes;

        json_array_append_new(code, item_json(image, s, at, &bytes));
        at += bytes;
    }
    hex = emu_alloc(2 * (size_t)(s->size - at) + 1, 1);
    if (!hex) {
        json_decref(code);
        return NULL;
    }
    for (uint32_t i = at; i < s->size; i++)
        snprintf(hex + 2 * (size_t)(i - at), 3, "%02x", s->bytes[i]);
    o = json_pack("{s:o, s:o, s:I, s:I, s:o, s:s}", "name", json_text(s->name), "file",
                  json_text(s->file), "address", (json_int_t)s->addr, "bytes", (json_int_t)s->size,
                  "code", code, "data", hex);
    ss_free(hex);
    return o;
}

static json_t *symbol_json(const struct asm_symbol *y)
{
    static const char *const type[] = {
        [ASM_NOTYPE] = "", [ASM_FUNCTION] = "function", [ASM_OBJECT] = "object"
    };

    return json_pack("{s:o, s:I, s:s?, s:s, s:b, s:b, s:I, s:I}", "name", json_text(y->name),
                     "value", (json_int_t)y->value, "section", y->section ? y->section->name : NULL,
                     "type", type[y->type], "global", y->global, "weak", y->weak, "bytes",
                     (json_int_t)y->size, "stack_bytes", (json_int_t)y->stack_bytes);
}

static enum emu_status list_json(const struct asm_image *image)
{
    json_t *sections = json_array(), *symbols = json_array(), *o;

    for (size_t i = 0; i < image->section_count; i++)
        json_array_append_new(sections, section_json(image, &image->section[i]));
    for (size_t i = 0; i < image->symbol_count; i++)
        json_array_append_new(symbols, symbol_json(&image->symbol[i]));
    o = json_pack("{s:s, s:o, s:o}", "machine", image->machine, "sections", sections, "symbols",
                  symbols);
    if (!o || json_array_size(json_object_get(o, "sections")) != image->section_count ||
        json_array_size(json_object_get(o, "symbols")) != image->symbol_count) {
        json_decref(o);
        return FAIL(NO_MEMORY, "the listing");
    }
    ss_run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

/* ---- the command ---- */

static enum emu_status write_object(struct asm_unit *u, FILE *out)
{
    uint8_t *data;
    size_t bytes;
    int failed;

    TRY(asm_unit_object(u, &data, &bytes));
    failed = fwrite(data, 1, bytes, out) != bytes;
    ss_free(data);
    return failed ? FAIL(IO, "writing an object: %s", strerror(errno)) : EMU_OK;
}

static enum emu_status link_unit(struct asm_unit *u, const struct request *q, FILE *out)
{
    const struct asm_layout layout = { .code_addr = (uint32_t)option_code(q),
                                       .data_addr = (uint32_t)option_data(q),
                                       .allow_undefined = option_undefined(q) };

    TRY(asm_unit_link(u, &layout));
    if (out)
        return asm_image_write(asm_unit_image(u), out);
    if (option_json(q))
        TRY(list_json(asm_unit_image(u)));
    else
        list(asm_unit_image(u));
    return fflush(stdout) || ferror(stdout) ? FAIL(IO, "standard output: %s", strerror(errno))
                                            : EMU_OK;
}

static enum emu_status assemble(struct asm_unit *u, const struct request *q, FILE *out)
{
    enum emu_status st = EMU_OK;

    /* all files are read even if one is wrong: one run shows what there is to mend */
    for (size_t i = 0; i < q->argument.count; i++) {
        enum emu_status one = asm_unit_add_file(u, q->argument.item[i]);

        if (one != EMU_OK && one != EMU_BAD_ASM)
            return one;
        st = one;
    }
    TRY(st);
    return option_object(q) ? write_object(u, out) : link_unit(u, q, out);
}

static enum emu_status open_output(const struct request *q, struct output_file **out)
{
    for (size_t i = 0; i < q->argument.count; i++)
        TRY(output_not_input(option_output(q), q->argument.item[i]));
    return output_open(option_output(q), out);
}

static enum emu_status run(const struct request *q)
{
    struct asm_options o = { .include_dirs = option_include(q)->item,
                             .include_dir_count = option_include(q)->count,
                             .defines = option_define(q)->item,
                             .define_count = option_define(q)->count,
                             .raw = option_raw(q) };
    struct output_file *out;
    struct asm_unit *u = NULL;
    enum emu_status st;
    struct arch arch;

    TRY(request_machine(q, "mk2", &arch));
    o.arch = &arch;
    TRY(open_output(q, &out));
    st = asm_unit_new(&o, &u);
    if (st == EMU_OK)
        st = assemble(u, q, output_stream(out));
    st = output_end(out, st);
    asm_diag_print(u, stderr);
    asm_unit_free(u);
    return st;
}

int cmd_asm(const struct request *q)
{
    return run(q) == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
