/* embed_manifest.c - run while the library is built: a manifest of the lab that needs no other
 * file and no C preprocessor, because its sources, preprocessed, stand in it.
 *
 *   embed_manifest OUT FILE.bsp.json
 *
 * Messages still name the files and lines of the sources: the text keeps cpp's line markers. The
 * sources must not ask the preprocessor for the machine, which is chosen when the manifest is run.
 */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "emu/base/json_read.h"

/* The tool is older than the embedded files: it makes one of them. */
const struct embedded_file embedded_files[] = { { NULL, NULL, 0 } };

/* A "source" beside the manifest. */
static void path_of(const char *manifest, const char *source, char *out, size_t bytes)
{
    const char *slash = strrchr(manifest, '/');

    snprintf(out, bytes, "%.*s%s", slash ? (int)(slash + 1 - manifest) : 0, manifest, source);
}

/* Puts the preprocessed text of a program into it, instead of its source and its defines. */
static enum emu_status replace_source(const char *manifest, json_t *program,
                                      const struct asm_options *o)
{
    const char *source = json_string_value(json_object_get(program, "source"));
    const char *given = json_string_value(json_object_get(program, "asm"));
    char path[512], *text = NULL;
    struct asm_unit *u;
    enum emu_status s;
    size_t bytes = 0;

    if (!source == !given)
        return FAIL(BAD_FILE, "%s: expected one source or one asm in each program", manifest);
    if (source)
        path_of(manifest, source, path, sizeof(path));
    else
        snprintf(path, sizeof(path), "%s: asm", manifest);
    TRY(asm_unit_new(o, &u));
    s = asm_unit_preprocess(u, path, given, given ? strlen(given) : 0, &text, &bytes);
    asm_diag_print(u, stderr);
    asm_unit_free(u);
    json_object_del(program, "source");
    json_object_del(program, "defines");
    if (s == EMU_OK && json_object_set_new(program, "asm", json_stringn(text, bytes)))
        s = FAIL(NO_MEMORY, "%s", manifest);
    ss_free(text);
    return s;
}

static enum emu_status embed_program(const char *manifest, json_t *program)
{
    static const char *const include[] = { "emu/asm/include", "." };
    const struct json_reader r = { .file = manifest };
    const struct json_path at = { NULL, "defines", 0 };
    char **define = NULL;
    size_t defines = 0;
    enum emu_status s =
        json_read_defines(&r, &at, json_object_get(program, "defines"), &define, &defines);

    if (s == EMU_OK)
        s = replace_source(manifest, program,
                           &(struct asm_options){ .include_dirs = include,
                                                  .include_dir_count = EMU_COUNT_OF(include),
                                                  .defines = (const char *const *)define,
                                                  .define_count = defines,
                                                  .any_machine = 1 });
    for (size_t i = 0; i < defines; i++)
        ss_free(define[i]);
    ss_free(define);
    return s;
}

static enum emu_status embed_programs(const char *out, const char *manifest, json_t *root)
{
    json_t *program;
    size_t i;

    json_array_foreach(json_object_get(root, "programs"), i, program)
        TRY(embed_program(manifest, program));
    return json_dump_file(root, out, JSON_INDENT(1)) ? FAIL(IO, "%s: cannot be written", out)
                                                     : EMU_OK;
}

static enum emu_status embed(const char *out, const char *manifest)
{
    json_t *root = NULL;
    char *text = NULL;
    size_t bytes = 0;
    enum emu_status s = json_read_file(manifest, &text, &bytes);

    if (s == EMU_OK)
        s = json_read_text(text, bytes, manifest, &root);
    ss_free(text);
    if (s == EMU_OK)
        s = embed_programs(out, manifest, root);
    json_decref(root);
    return s;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: embed_manifest OUT FILE.bsp.json\n");
        return 2;
    }
    if (embed(argv[1], argv[2]) == EMU_OK)
        return 0;
    fprintf(stderr, "embed_manifest: %s\n", ss_error());
    return 1;
}
