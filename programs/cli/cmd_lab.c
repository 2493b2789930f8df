/* cmd_lab.c - the programs of programs/lab by name: graphs, and manifests of assembly written by
 * hand (NAME.bsp.json).
 */
#include "programs/cli/cmd_lab.h"

#include <string.h>

#include "emu/cli/commands.h"
#include "emu/emu.h"
#include "programs/programs.h"

static const char folder[] = "programs/lab/", suffix[] = ".bsp.json";

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
static enum emu_status add_manifest(json_t *list, const struct embedded_file *f)
{
    const char *base = strrchr(f->name, '/') + 1;
    json_error_t error;
    json_t *root = json_loadb((const char *)f->data, f->bytes, 0, &error);
    const char *note = json_string_value(json_object_get(root, "note"));
    enum emu_status s;

    if (!root)
        return FAIL(BAD_FILE, "%s:%d: %s", f->name, error.line, error.text);
    s = add_row(list, base, strlen(base) - strlen(suffix), "assembly", note ? note : "");
    json_decref(root);
    return s;
}

static int is_manifest(const char *name)
{
    size_t n = strlen(name), end = strlen(suffix);

    return !strncmp(name, folder, strlen(folder)) && n > end && !strcmp(name + n - end, suffix);
}

static enum emu_status add_manifests(json_t *list)
{
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        if (is_manifest(f->name))
            TRY(add_manifest(list, f));
    }
    return EMU_OK;
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
    int n = snprintf(out, bytes, "%s%s%s", folder, name, suffix);

    return !strchr(name, '/') && n < (int)bytes && embedded_find(out);
}
