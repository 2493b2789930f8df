/* cmd_asm.c - assembles and links files as one unit; prints a listing, or writes the unit. */
#include "emu/cli/cmd_asm.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/cli/command_line.h"
#include "emu/cli/commands.h"

struct request {
    const char *machine, *output;
    const char **include, **define, **file; /* owned arrays of borrowed strings */
    size_t includes, defines, files, capacity;
    struct asm_layout layout;
    int raw;
};

static error_t parse_address(struct argp_state *state, const char *arg, uint32_t *out)
{
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(arg, &end, 0);
    if (*end || errno || !v || v > UINT32_MAX) {
        argp_error(state, "'%s' is not an address", arg);
        return EINVAL;
    }
    *out = (uint32_t)v;
    return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;

    switch (key) {
    case 'I':
        r->include[r->includes++] = arg;
        return 0;
    case 'D':
        r->define[r->defines++] = arg;
        return 0;
    case 'm':
        r->machine = arg;
        return 0;
    case 'o':
        r->output = arg;
        return 0;
    case 'r':
        r->raw = 1;
        return 0;
    case 'u':
        r->layout.allow_undefined = 1;
        return 0;
    case 't':
        return parse_address(state, arg, &r->layout.code_addr);
    case 'd':
        return parse_address(state, arg, &r->layout.data_addr);
    case ARGP_KEY_ARG:
        r->file[r->files++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (r->files)
            return 0;
        argp_error(state, "nothing to assemble");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    { "include", 'I', "DIR", 0, "look for included files in DIR; may be repeated", 0 },
    { "define", 'D', "NAME[=VALUE]", 0, "define a macro of the C preprocessor; may be repeated",
      0 },
    { "machine", 'm', "NAME|FILE", 0, "machine to assemble for (default mk2)", 0 },
    { "output", 'o', "FILE", 0, "write the unit to FILE instead of a listing to stdout", 0 },
    { "raw", 'r', NULL, 0, "do not run the C preprocessor", 0 },
    { "allow-undefined", 'u', NULL, 0, "undefined symbols are warnings and count as 0", 0 },
    { "code", 't', "ADDRESS", 0, "address of the first executable section", 0 },
    { "data", 'd', "ADDRESS", 0, "address of the first other section", 0 },
    { 0 },
};

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .args_doc = "FILE.S...",
    .doc = "Assemble and link tile assembly as one unit.\vThe listing shows address, words, text "
           "and source line of "
           "every instruction, then the symbols. `dis` reads what -o writes.",
};

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

/* ---- the command ---- */

static enum emu_status write_unit(const struct asm_image *image, const char *path)
{
    FILE *f = fopen(path, "w");
    enum emu_status st;

    if (!f)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    st = asm_image_write(image, f);
    if (fclose(f) && st == EMU_OK)
        st = FAIL(IO, "%s: %s", path, strerror(errno));
    return st;
}

static enum emu_status assemble(struct asm_unit *u, const struct request *r)
{
    enum emu_status st = EMU_OK;

    /* all files are read even if one is wrong: one run shows what there is to mend */
    for (size_t i = 0; i < r->files; i++) {
        enum emu_status one = asm_unit_add_file(u, r->file[i]);

        if (one != EMU_OK && one != EMU_BAD_ASM)
            return one;
        st = one;
    }
    TRY(st);
    TRY(asm_unit_link(u, &r->layout));
    if (r->output)
        return write_unit(asm_unit_image(u), r->output);
    list(asm_unit_image(u));
    return fflush(stdout) || ferror(stdout) ? FAIL(IO, "standard output: %s", strerror(errno))
                                            : EMU_OK;
}

static enum emu_status run(const struct request *r)
{
    struct asm_options o = { .include_dirs = r->include,
                             .include_dir_count = r->includes,
                             .defines = r->define,
                             .define_count = r->defines,
                             .raw = r->raw };
    struct asm_unit *u = NULL;
    enum emu_status st;
    struct arch arch;

    TRY(arch_from_name_or_file(r->machine, &arch));
    o.arch = &arch;
    TRY(asm_unit_new(&o, &u));
    st = assemble(u, r);
    asm_diag_print(u, stderr);
    asm_unit_free(u);
    return st;
}

int cmd_asm(int argc, char **argv)
{
    struct request r = { .machine = "mk2" };
    size_t n = (size_t)argc + 1;
    enum emu_status st;

    r.include = emu_alloc(n, sizeof(*r.include));
    r.define = emu_alloc(n, sizeof(*r.define));
    r.file = emu_alloc(n, sizeof(*r.file));
    if (!r.include || !r.define || !r.file) {
        st = FAIL(NO_MEMORY, "the command line");
    } else {
        st = command_line_parse(&parser, argc, argv, &r) ? FAIL(USAGE, "see --help") : run(&r);
    }
    if (st != EMU_OK)
        fprintf(stderr, "superstep asm: %s\n", emu_error());
    emu_free(r.include);
    emu_free(r.define);
    emu_free(r.file);
    return st == EMU_OK ? EXIT_RAN : EXIT_BAD;
}
