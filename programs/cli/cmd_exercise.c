/* cmd_exercise.c - exercises of the lab: what is asked, the file to finish, and whether a file does
 * it.
 */
#include "programs/cli/cmd_exercise.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "emu/cli/commands.h"
#include "emu/emu.h"
#include "emu/job/check_list.h"
#include "programs/cli/cmd_mistake.h"
#include "programs/lab/lesson/lesson.h"

enum { PATH_BYTES = 128 };

int lab_is_exercise(const char *word)
{
    return !strcmp(word, "exercise") || !strcmp(word, "check");
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

static enum emu_status embedded(const struct exercise *e, const char *tail,
                                const struct embedded_file **out)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "programs/lab/exercise/%s%s", e->name, tail);
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
    json_t *list = q->json ? json_array() : NULL;

    for (unsigned i = 0; exercise_at(i); i++) {
        if (list)
            json_array_append_new(list, exercise_json(exercise_at(i), i + 1));
        else
            printf("%2u %-10s %s\n", i + 1, exercise_at(i)->name, exercise_at(i)->title);
    }
    if (list) {
        run_print_json(list, stdout);
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

    TRY(embedded(e, "_task.S", &f));
    if (!access(path, F_OK))
        return FAIL(USAGE, "%s is there already, and is not replaced", path);
    TRY(output_open(path, &out));
    fwrite(f->data, 1, f->bytes, output_stream(out));
    return output_end(out, EMU_OK);
}

static enum emu_status show(const struct request *q, const struct exercise *e, unsigned number)
{
    char title[80];
    json_t *o;

    if (q->output)
        TRY(write_task(e, q->output));
    if (q->json) {
        o = exercise_json(e, number);
        run_print_json(o, stdout);
        json_decref(o);
        return EMU_OK;
    }
    snprintf(title, sizeof(title), "Exercise %u, %s", number, e->title);
    lesson_print_text(title, e->task);
    if (q->output)
        printf("%s is the unfinished file; superstep lab check %u %s checks it\n", q->output,
               number, q->output);
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

static enum emu_status check(const struct request *q, const struct exercise *e, unsigned number,
                             const char *path, int *code)
{
    const struct embedded_file *f;
    json_t *list, *o;
    size_t wrong;

    TRY(embedded(e, ".check.json", &f));
    if (access(path, R_OK))
        return FAIL(IO, "%s: cannot be read", path);
    TRY(check_list_run((const char *)f->data, f->bytes, e->name, path, stderr, &list, &wrong));
    *code = wrong ? EXIT_FAULTED : EXIT_RAN;
    if (q->json) {
        o = json_pack("{s:i, s:s, s:s, s:O}", "exercise", (int)number, "name", e->name, "status",
                      wrong ? "wrong" : "ok", "checks", list);
        run_print_json(o, stdout);
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

static enum emu_status answer(const struct request *q, int *code)
{
    const char *const *arg = q->argument.item;
    size_t n = q->argument.count;
    const struct exercise *e;
    unsigned number;

    *code = EXIT_RAN;
    if (!strcmp(arg[0], "check")) {
        if (n != 3 || q->output)
            return FAIL(USAGE, "expected an exercise and a file: superstep lab check N FILE.S");
        TRY(find(arg[1], &e, &number));
        return check(q, e, number, arg[2], code);
    }
    if (n > 2)
        return FAIL(USAGE,
                    "one exercise at a time: '%s' is one too many; -o FILE.S writes its file",
                    arg[2]);
    if (n == 1)
        return q->output ? FAIL(USAGE, "--output: of which exercise?") : list_all(q);
    TRY(find(arg[1], &e, &number));
    return show(q, e, number);
}

int lab_exercise(const struct request *q)
{
    int code;

    return answer(q, &code) == EMU_OK ? code : request_failed(q, NULL);
}
