/* cmd_lab.c - `superstep lab`: lists the programs of programs/lab, and runs one.
 *
 * There are two kinds: manifests of assembly written by hand (NAME.bsp.json), which `run` takes as
 * files, and graphs, which it knows by name. Here both have names.
 */
#include <glob.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "programs/programs.h"

static const char suffix[] = ".bsp.json";
static const struct named_program *const *const graphs[] = { lab_programs, NULL };

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

static int print_list(int json)
{
    json_t *list, *row;
    enum emu_status s = list_programs(&list);
    size_t i;

    if (s == EMU_OK && json) {
        json_dumpf(list, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        printf("\n");
    } else if (s == EMU_OK) {
        json_array_foreach(list, i, row)
            printf("%-15s %-9s %s\n", json_string_value(json_object_get(row, "name")),
                   json_string_value(json_object_get(row, "kind")),
                   json_string_value(json_object_get(row, "text")));
    }
    json_decref(list);
    if (s == EMU_OK)
        return EXIT_RAN;
    fprintf(stderr, "superstep lab: %s\n", emu_error());
    return EXIT_BAD;
}

static int usage(FILE *f)
{
    fprintf(f, "usage: superstep lab [--json]\n"
               "       superstep lab NAME [OPTIONS]\n\n"
               "Without a name: list the programs of the lab. With one: what `superstep run` does "
               "with it;\n`superstep lab NAME --help` tells its options. docs/lab.md says what "
               "each program shows.\n");
    return f == stdout ? EXIT_RAN : EXIT_BAD;
}

/* A command of the machine. */
static int run_command(int argc, char **argv)
{
    for (const struct command *c = emu_commands; c->name; c++) {
        if (!strcmp(c->name, argv[0]))
            return c->run(argc, argv);
    }
    return EXIT_BAD;
}

static int is_graph(const char *name)
{
    for (const struct named_program *const *p = lab_programs; *p; p++) {
        if (!strcmp((*p)->name, name))
            return 1;
    }
    return 0;
}

/* The path of the manifest of that name; 0 when there is none. */
static int find_manifest(const char *name, char *out, size_t bytes)
{
    char file[NAME_MAX];
    int n = snprintf(file, sizeof(file), "programs/lab/%s%s", name, suffix);

    return !strchr(name, '/') && n < (int)sizeof(file) && asm_home_file(file, out, bytes) &&
           !access(out, R_OK);
}

static int cmd_lab(int argc, char **argv)
{
    char run[] = "run", path[PATH_MAX], *given[2];
    int code = EXIT_BAD;

    if (argc == 1 || (argc == 2 && !strcmp(argv[1], "--json")))
        return print_list(argc == 2);
    if (argv[1][0] == '-')
        return usage(strcmp(argv[1], "--help") && strcmp(argv[1], "-?") ? stderr : stdout);
    memcpy(given, argv, sizeof(given));
    argv[0] = run;
    if (is_graph(argv[1])) {
        code = program_command(argc, argv, graphs);
    } else if (find_manifest(argv[1], path, sizeof(path))) {
        argv[1] = path;
        code = run_command(argc, argv);
    } else {
        fprintf(stderr, "superstep lab: no program '%s'; `superstep lab` lists them\n", argv[1]);
    }
    memcpy(argv, given, sizeof(given));
    return code;
}

const struct command program_commands[] = {
    { "lab", cmd_lab, "list the programs of the lab, or run one by its name" },
    { NULL, NULL, NULL },
};
