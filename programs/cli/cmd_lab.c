/* cmd_lab.c - the programs of programs/lab by name: graphs, and manifests of assembly written by
 * hand (NAME.bsp.json).
 */
#include "programs/cli/cmd_lab.h"

#include <string.h>

#include "emu/cli/commands.h"
#include "emu/cli/docs_folder.h"
#include "emu/emu.h"
#include "programs/cli/cmd_exercise.h"
#include "programs/lab/lesson/lesson.h"
#include "programs/programs.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, steps)
OPTION_READ(TEXT, chart)

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

    for (const struct named_program *const *p = ss_lab_programs; s == EMU_OK && *p; p++)
        s = add_row(list, (*p)->name, strlen((*p)->name), "graph", (*p)->text);
    return s;
}

enum emu_status lab_print_names(FILE *f)
{
    json_t *list, *row;
    enum emu_status s = list_programs(&list);
    size_t i;

    if (s == EMU_OK)
        json_array_foreach(list, i, row)
            fprintf(f, " %s", json_string_value(json_object_get(row, "name")));
    json_decref(list);
    return s;
}

/* The way through the lab: programs and exercises in the order of the lesson of 90 minutes. */
static const char order[] =
    "\nIn order, a lesson of 90 minutes: ring, exercise 1, exercise 3, mistake_two_writers,\n"
    "mistake_race, broadcast-ways, reduce, matvec-rows, matvec-blocks, mistake_imbalance,\n"
    "exercise 12, pingpong, halo. Then a course of two days.\n";

static void print_way(void)
{
    unsigned exercises = 0;

    while (exercise_at(exercises))
        exercises++;
    printf("%s  the course     %s/course.md\n  the exercises  superstep lab exercise: %u of them\n"
           "  all programs   %s/lab.md\n",
           order, docs_folder(), exercises, docs_folder());
}

int lab_list(const struct request *q)
{
    json_t *list, *row;
    enum emu_status s = list_programs(&list);
    size_t i;

    if (s == EMU_OK && (option_steps(q) || option_chart(q)))
        s = FAIL(USAGE, "--%s: of which program?", option_steps(q) ? "steps" : "chart");
    if (s == EMU_OK && option_json(q)) {
        json_dumpf(list, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        printf("\n");
    } else if (s == EMU_OK) {
        json_array_foreach(list, i, row)
            printf("%-15s %-9s %s\n", json_string_value(json_object_get(row, "name")),
                   json_string_value(json_object_get(row, "kind")),
                   json_string_value(json_object_get(row, "text")));
        print_way();
    }
    json_decref(list);
    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}

int lab_find_manifest(const char *name, char *out, size_t bytes)
{
    int n = snprintf(out, bytes, "%s%s%s", folder, name, suffix);

    return !strchr(name, '/') && n < (int)bytes && embedded_find(out);
}

/* A number, or an expression of tiles and the parameters before. */
static void print_number(const char *before, const json_t *v, FILE *f)
{
    if (json_is_string(v))
        fprintf(f, "%s%s", before, json_string_value(v));
    else
        fprintf(f, "%s%" JSON_INTEGER_FORMAT, before, json_integer_value(v));
}

void lab_print_parameters(const char *name, const char *path, FILE *f)
{
    const struct embedded_file *file = embedded_find(path);
    json_t *root = file ? json_loadb((const char *)file->data, file->bytes, 0, NULL) : NULL;
    json_t *list = json_object_get(root, "parameters"), *p;
    const char *key;

    if (list)
        fprintf(f, "Parameters of %s (-D NAME=VALUE):\n", name);
    json_object_foreach(list, key, p)
    {
        fprintf(f, "  %s: %s", key, json_string_value(json_object_get(p, "text")));
        print_number(" (default ", json_object_get(p, "value"), f);
        print_number(", ", json_object_get(p, "low"), f);
        print_number(" to ", json_object_get(p, "high"), f);
        fprintf(f, ")\n");
    }
    json_decref(root);
}

struct nearest_text lab_hint(struct nearest *s)
{
    struct nearest_text hint;
    json_t *list, *row;
    size_t i;

    if (list_programs(&list) == EMU_OK)
        json_array_foreach(list, i, row)
            nearest_try(s, json_string_value(json_object_get(row, "name")));
    hint = nearest_hint(s);
    json_decref(list);
    return hint;
}
