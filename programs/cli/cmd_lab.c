/* cmd_lab.c - the programs of programs/lab by name: graphs, and manifests of assembly written by
 * hand (NAME.bsp.json).
 */
#include "programs/cli/cmd_lab.h"

#include <glob.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "emu/cli/commands.h"
#include "programs/programs.h"

static const char suffix[] = ".bsp.json";

/* One line of the table, or one object of the array. */
static enum emu_status add_row(json_t *list, const char *name, size_t length, const char *kind,
                               const char *text)
{
    json_t *row = json_pack("{s:s%, s:s, s:s}", "name", name, length, "kind", kind, "text", text);

    if (!row || json_array_append_new(list, row))
        return FAIL(NO_MEMORY, "the list of programs");
    return EMU_OK;
}

/* A manifest says in its note what it shows. */
static enum emu_status add_manifest(json_t *list, const char *path)
{
    const char *base = strrchr(path, '/') + 1;
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    const char *note = json_string_value(json_object_get(root, "note"));
    enum emu_status s;

    if (!root)
        return FAIL(BAD_FILE, "%s:%d: %s", path, error.line, error.text);
    s = add_row(list, base, strlen(base) - strlen(suffix), "assembly", note ? note : "");
    json_decref(root);
    return s;
}

static enum emu_status add_manifests(json_t *list)
{
    char pattern[PATH_MAX];
    enum emu_status s = EMU_OK;
    glob_t found;

    if (!asm_home_file("programs/lab", pattern, sizeof(pattern) - sizeof(suffix) - 2))
        return FAIL(IO, "programs/lab: not found from the executable upwards; SUPERSTEP_HOME can "
                        "say where");
    strcat(strcat(pattern, "/*"), suffix);
    if (glob(pattern, 0, NULL, &found))
        return FAIL(IO, "%s: no such files", pattern);
    for (size_t i = 0; i < found.gl_pathc && s == EMU_OK; i++)
        s = add_manifest(list, found.gl_pathv[i]);
    globfree(&found);
    return s;
}

static enum emu_status list_programs(json_t **out)
{
    json_t *list = *out = json_array();
    enum emu_status s = list ? add_manifests(list) : FAIL(NO_MEMORY, "the list of programs");

    for (const struct named_program *const *p = lab_programs; s == EMU_OK && *p; p++)
        s = add_row(list, (*p)->name, strlen((*p)->name), "graph", (*p)->text);
    return s;
}

int lab_list(const struct request *q)
{
    json_t *list, *row;
    enum emu_status s = list_programs(&list);
    size_t i;

    if (s == EMU_OK && q->json) {
        json_dumpf(list, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        printf("\n");
    } else if (s == EMU_OK) {
        json_array_foreach(list, i, row)
            printf("%-15s %-9s %s\n", json_string_value(json_object_get(row, "name")),
                   json_string_value(json_object_get(row, "kind")),
                   json_string_value(json_object_get(row, "text")));
    }
    json_decref(list);
    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}

int lab_find_manifest(const char *name, char *out, size_t bytes)
{
    char file[NAME_MAX];
    int n = snprintf(file, sizeof(file), "programs/lab/%s%s", name, suffix);

    return !strchr(name, '/') && n < (int)sizeof(file) && asm_home_file(file, out, bytes) &&
           !access(out, R_OK);
}
