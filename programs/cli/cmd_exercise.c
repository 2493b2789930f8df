/* cmd_exercise.c - exercises of the lab: what is asked, the file to finish, and whether a file does
 * it; and texts to look at: solutions, and the sources of programs.
 */
#include "programs/cli/cmd_exercise.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "emu/cli/commands.h"
#include "emu/emu.h"
#include "emu/job/check_list.h"
#include "programs/cli/cmd_mistake.h"
#include "programs/cli/lab_chart.h"
#include "programs/lab/lesson/lesson.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, steps)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, chart)

enum { PATH_BYTES = 128 };

static const char *const words[] = { "exercise", "check", "solution", "source", NULL };

const char *lab_word(size_t i)
{
    return words[i];
}

int lab_is_exercise(const char *word)
{
    for (size_t i = 0; words[i]; i++) {
        if (!strcmp(word, words[i]))
            return 1;
    }
    return 0;
}

static unsigned count(void)
{
    unsigned n = 0;

    while (exercise_at(n))
        n++;
    return n;
}

/* By its number or its name. */
static enum emu_status find(const char *text, const struct exercise **out, unsigned *number)
{
    uint64_t n = 0;

    for (*number = 1; exercise_at(*number - 1); ++*number) {
        *out = exercise_at(*number - 1);
        if (!strcmp(text, (*out)->name) || (request_number(text, 1, count(), &n) && n == *number))
            return EMU_OK;
    }
    return FAIL(USAGE,
                "no exercise '%s': expected a number from 1 to %u, or a name that `superstep lab "
                "exercise` lists",
                text, count());
}

static enum emu_status embedded(const struct exercise *e, const char *place, const char *tail,
                                const struct embedded_file **out)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "programs/lab/%s/%s%s", place, e->name, tail);
    *out = embedded_find(path);
    return *out ? EMU_OK : FAIL(IO, "%s: not part of the program", path);
}

static json_t *exercise_json(const struct exercise *e, unsigned number)
{
    return json_pack("{s:i, s:s, s:s, s:s}", "exercise", (int)number, "name", e->name, "title",
                     e->title, "task", e->task);
}

static enum emu_status list_all(const struct request *q)
{
    json_t *list = option_json(q) ? json_array() : NULL;

    for (unsigned i = 0; exercise_at(i); i++) {
        if (list)
            json_array_append_new(list, exercise_json(exercise_at(i), i + 1));
        else
            printf("%2u %-10s %s\n", i + 1, exercise_at(i)->name, exercise_at(i)->title);
    }
    if (list) {
        ss_run_print_json(list, stdout);
        json_decref(list);
    } else {
        printf("\nsuperstep lab exercise N prints one, -o my.S writes its unfinished file, "
               "superstep lab "
               "check N my.S checks yours\n");
    }
    return EMU_OK;
}

/* A file that is there is a student's work. */
static enum emu_status write_task(const struct exercise *e, const char *path)
{
    const struct embedded_file *f;
    struct output_file *out;

    TRY(embedded(e, "exercise", "_task.S", &f));
    if (!access(path, F_OK))
        return FAIL(USAGE, "%s is there already, and is not replaced", path);
    TRY(output_open(path, &out));
    fwrite(f->data, 1, f->bytes, output_stream(out));
    return output_end(out, EMU_OK);
}

static enum emu_status print_solution(const struct exercise *e)
{
    const struct embedded_file *f;

    TRY(embedded(e, "solution", "_solution.S", &f));
    fwrite(f->data, 1, f->bytes, stdout);
    return EMU_OK;
}

/* The assembly of a program, or the manifest that has it. */
static enum emu_status print_source(const char *name)
{
    static const char *const tail[] = { ".S", ".bsp.json" };
    const struct embedded_file *f = NULL;
    char path[PATH_BYTES];

    for (size_t i = 0; i < EMU_COUNT_OF(tail) && !f; i++) {
        snprintf(path, sizeof(path), "programs/lab/%.80s%s", name, tail[i]);
        f = embedded_find(path);
    }
    if (!f)
        return FAIL(USAGE,
                    "no assembly of '%.80s': `superstep lab` lists programs; those that are graphs "
                    "are C, in programs/lab of the tree",
                    name);
    fwrite(f->data, 1, f->bytes, stdout);
    return EMU_OK;
}

static enum emu_status show(const struct request *q, const struct exercise *e, unsigned number)
{
    char title[80];
    json_t *o;

    if (option_output(q))
        TRY(write_task(e, option_output(q)));
    if (option_json(q)) {
        o = exercise_json(e, number);
        ss_run_print_json(o, stdout);
        json_decref(o);
        return EMU_OK;
    }
    snprintf(title, sizeof(title), "Exercise %u, %s", number, e->title);
    lesson_print_text(title, e->task);
    if (option_output(q))
        printf("%s is the unfinished file; superstep lab check %u %s checks it\n", option_output(q),
               number, option_output(q));
    else
        printf("superstep lab exercise %u -o my.S writes the unfinished file\n", number);
    return EMU_OK;
}

static void print_outcomes(const json_t *list)
{
    json_t *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        const char *why = json_string_value(json_object_get(o, "why"));
        const char *title = json_string_value(json_object_get(o, "title"));

        if (why)
            printf("wrong  %s: %s\n", title, why);
        else
            printf("ok     %s: %" JSON_INTEGER_FORMAT " cycles\n", title,
                   json_integer_value(json_object_get(o, "cycles")));
    }
}

/* --steps prints the supersteps of every check, --chart draws the check with the most tiles. */
struct looking {
    const struct request *q;
    const struct exercise *e;
    uint32_t tiles; /* of the check that is drawn; 0: there was none */
};

static enum emu_status look_at(void *ctx, const char *title, const struct run *r)
{
    struct looking *l = ctx;
    uint32_t tiles = ss_image_arch(r->im)->tiles;

    if (option_steps(l->q)) {
        printf("%s:\n", title);
        run_print_steps(r, NULL, stdout);
        TRY(run_print_bsp(r, NULL, stdout));
        printf("\n");
    }
    if (tiles <= l->tiles)
        return EMU_OK;
    l->tiles = tiles;
    return option_chart(l->q) ? lab_chart(option_chart(l->q), l->e->name, r, NULL, NULL) : EMU_OK;
}

static enum emu_status run_checks(const struct request *q, const struct exercise *e,
                                  const char *path, json_t **list, size_t *wrong)
{
    struct looking l = { .q = q, .e = e };
    const struct check_look look = { .at = look_at, .ctx = &l, .pairs = option_chart(q) != NULL };
    const struct embedded_file *f;

    if (option_steps(q) && option_json(q))
        return FAIL(USAGE, "--steps and --json exclude each other for `check`");
    TRY(embedded(e, "exercise", ".check.json", &f));
    if (access(path, R_OK))
        return FAIL(IO, "%s: cannot be read", path);
    if (option_chart(q))
        TRY(output_not_input(option_chart(q), path));
    TRY(check_list_run((const char *)f->data, f->bytes, e->name, path, stderr, &look, list, wrong));
    if ((option_steps(q) || option_chart(q)) && !l.tiles)
        fprintf(stderr,
                "superstep lab: %s runs on a single tile: there are no supersteps to show\n",
                e->name);
    return EMU_OK;
}

static enum emu_status check(const struct request *q, const struct exercise *e, unsigned number,
                             const char *path, int *code)
{
    json_t *list, *o;
    size_t wrong;

    TRY(run_checks(q, e, path, &list, &wrong));
    *code = wrong ? EXIT_FAULTED : EXIT_RAN;
    if (option_json(q)) {
        o = json_pack("{s:i, s:s, s:s, s:O}", "exercise", (int)number, "name", e->name, "status",
                      wrong ? "wrong" : "ok", "checks", list);
        ss_run_print_json(o, stdout);
        json_decref(o);
    } else {
        print_outcomes(list);
        if (wrong)
            printf("exercise %u, %s: %zu of %zu checks are wrong\n", number, e->title, wrong,
                   json_array_size(list));
        else
            printf("exercise %u, %s: done\n", number, e->title);
    }
    json_decref(list);
    return EMU_OK;
}

/* `solution N` and `source NAME`. */
static enum emu_status answer_text(const struct request *q)
{
    const char *const *arg = q->argument.item;
    const struct exercise *e;
    unsigned number;

    if (q->argument.count != 2 || option_output(q) || option_json(q))
        return FAIL(USAGE, "expected `superstep lab solution N` or `superstep lab source NAME`, "
                           "which print a text");
    if (!strcmp(arg[0], "source"))
        return print_source(arg[1]);
    TRY(find(arg[1], &e, &number));
    return print_solution(e);
}

static enum emu_status answer(const struct request *q, int *code)
{
    const char *const *arg = q->argument.item;
    size_t n = q->argument.count;
    const struct exercise *e;
    unsigned number;

    *code = EXIT_RAN;
    if ((option_steps(q) || option_chart(q)) && strcmp(arg[0], "check"))
        return FAIL(USAGE, "--%s is for programs and `check`, not for `%s`",
                    option_steps(q) ? "steps" : "chart", arg[0]);
    if (!strcmp(arg[0], "solution") || !strcmp(arg[0], "source"))
        return answer_text(q);
    if (!strcmp(arg[0], "check")) {
        if (n != 3 || option_output(q))
            return FAIL(USAGE, "expected an exercise and a file: superstep lab check N FILE.S");
        TRY(find(arg[1], &e, &number));
        return check(q, e, number, arg[2], code);
    }
    if (n > 2)
        return FAIL(USAGE,
                    "one exercise at a time: '%s' is one too many; -o FILE.S writes its file",
                    arg[2]);
    if (n == 1)
        return option_output(q) ? FAIL(USAGE, "--output: of which exercise?") : list_all(q);
    TRY(find(arg[1], &e, &number));
    return show(q, e, number);
}

int lab_exercise(const struct request *q)
{
    int code;

    return answer(q, &code) == EMU_OK ? code : request_failed(q, NULL);
}
