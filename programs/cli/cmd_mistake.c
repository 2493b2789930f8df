/* cmd_mistake.c - the diagnosis of a program with a mistake: what was meant, what the machine said,
 * how to find it, how to mend it.
 */
#include "programs/cli/cmd_mistake.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/json_text.h"
#include "emu/cli/commands.h"
#include "emu/emu.h"
#include "programs/lab/lesson/lesson.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, steps)

const struct mistake *mistake_of_request(const struct request *q)
{
    return strcmp(q->command->name, "lab") || option_steps(q) ? NULL : mistake_find(q->what);
}

/* "RACE: two workers ...; tile 0, w1 at 0x4c020 (work+0x8), mistake_race.S:19" of one report. */
static json_t *report_text(const json_t *c)
{
    const char *source = json_string_value(json_object_get(c, "source"));

    return json_sprintf("%s: %s; tile %d, worker %s at %s%s%s, address %s, %d times",
                        json_string_value(json_object_get(c, "name")),
                        json_string_value(json_object_get(c, "detail")),
                        (int)json_integer_value(json_object_get(c, "tile")),
                        json_string_value(json_object_get(c, "context")),
                        json_string_value(json_object_get(c, "pc")), source ? ", " : "",
                        source ? source : "", json_string_value(json_object_get(c, "address")),
                        (int)json_integer_value(json_object_get(c, "count")));
}

static json_t *bill_text(const struct run *r)
{
    struct bill b = ss_bill_of_group(r->record, 0);
    uint64_t w = b.largest_compute ? b.largest_compute : 1;

    return json_sprintf(
        "the slowest tile computes for %llu cycles, the mean one for %llu: %llu %% of "
        "the tiles' time is waiting",
        (unsigned long long)b.largest_compute, (unsigned long long)b.mean_compute,
        (unsigned long long)(100 * (b.largest_compute - b.mean_compute) / w));
}

/* What the machine said, as one text; a new reference. */
static json_t *said(const struct run *r, const json_t *report)
{
    const json_t *check = json_array_get(json_object_get(report, "checks"), 0);
    char *text;
    json_t *o;

    if (check)
        return report_text(check);
    if (r->stop == MACHINE_HOST)
        return bill_text(r);
    text = ss_run_stop_text(r);
    o = json_text(text ? text : "");
    ss_free(text);
    return o;
}

void mistake_print_before(const struct mistake *m)
{
    lesson_print_text("Meant", m->meant);
}

void mistake_print_after(const struct mistake *m)
{
    lesson_print_text("How to find it", m->find);
    lesson_print_text("How to mend it", m->mend);
}

enum emu_status mistake_answer(const struct request *q, const struct run *r, json_t *report)
{
    const struct mistake *m = mistake_of_request(q);
    json_t *text = said(r, report);

    if (!text)
        return FAIL(NO_MEMORY, "a diagnosis");
    if (option_json(q))
        return json_object_set_new(report, "mistake",
                                   json_pack("{s:s, s:o, s:s, s:s}", "meant", m->meant, "said",
                                             text, "find", m->find, "mend", m->mend))
                   ? FAIL(NO_MEMORY, "a diagnosis")
                   : EMU_OK;
    mistake_print_before(m);
    lesson_print_text("The machine says", json_string_value(text));
    mistake_print_after(m);
    printf("status %s\n", json_string_value(json_object_get(report, "status")));
    json_decref(text);
    return EMU_OK;
}
