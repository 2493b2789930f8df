/* request.c - the values of a request: how options of each kind are stored, what may stand
 * together, and how its failure is told.
 */
#include "emu/cli/request.h"

#include <float.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/cli/commands.h"
#include "emu/cli/options.h"
#include "emu/cli/request_store.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(FLAG, quiet)

FILE *request_progress(const struct request *q)
{
    return option_quiet(q) ? NULL : request_notes(q);
}

int request_has(const struct request *q, unsigned option)
{
    return q->given[option];
}

/* Whether a message begins with what it is about, as one of a file does. */
static int says_subject(const char *message, const char *subject)
{
    size_t n = strlen(subject);

    return !strncmp(message, subject, n) && message[n] == ':';
}

int request_failed(const struct request *q, const char *subject)
{
    if (subject && says_subject(ss_error(), subject))
        subject = NULL;
    fprintf(stderr, "superstep %s: %s%s%s\n", q->command->name, subject ? subject : "",
            subject ? ": " : "", ss_error());
    return EXIT_BAD;
}

int request_number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 0);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *out >= low && *out <= high;
}

/* ---- one option ---- */

static enum emu_status store_number(const struct option_row *o, const char *arg, uint64_t *out)
{
    if (request_number(arg, o->low, o->high, out))
        return EMU_OK;
    return FAIL(USAGE, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, o->name, arg,
                o->low, o->high);
}

static enum emu_status store_part(const struct option_row *o, const char *arg, double *out)
{
    char *end;

    *out = strtod(arg, &end);
    if (end != arg && !*end && *out > 0 && *out <= 1)
        return EMU_OK;
    return FAIL(USAGE, "--%s: '%s' is not a number above 0 and at most 1", o->name, arg);
}

static enum emu_status store_real(const struct option_row *o, const char *arg, double *out)
{
    char *end;

    *out = strtod(arg, &end);
    if (end != arg && !*end && *out >= 0 && *out <= DBL_MAX)
        return EMU_OK;
    return FAIL(USAGE, "--%s: '%s' is not a number from 0 on", o->name, arg);
}

/* Writes "u8, f16 or f32" for "u8|f16|f32". */
static void print_words(const char *words, char *out, size_t bytes)
{
    size_t n = 0;

    for (const char *at = words; *at && n + 5 < bytes; at++) {
        if (*at == '|')
            n += (size_t)sprintf(out + n, "%s", strchr(at + 1, '|') ? ", " : " or ");
        else
            out[n++] = *at;
    }
    out[n] = 0;
}

static enum emu_status store_word(const struct option_row *o, const char *arg, unsigned *out)
{
    size_t length = strlen(arg);
    char text[120];

    *out = 0;
    for (const char *at = o->arg; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        if (length && !strncmp(at, arg, length) && (!at[length] || at[length] == '|'))
            return EMU_OK;
        ++*out;
    }
    print_words(o->arg, text, sizeof(text));
    return FAIL(USAGE, "--%s is %s, not '%s'", o->name, text, arg);
}

static enum emu_status store_item(const struct option_row *o, const char *arg,
                                  struct option_list *list)
{
    const char **item;

    if (list->count == o->high)
        return FAIL(USAGE, "more than %" PRIu64 " --%s options", o->high, o->name);
    item = emu_realloc(list->item, list->count + 1, sizeof(*item));
    if (!item)
        return FAIL(NO_MEMORY, "the command line");
    list->item = item;
    item[list->count++] = arg;
    return EMU_OK;
}

enum emu_status request_store(struct request *q, const struct option_row *o, const char *arg)
{
    union option_value *v = &q->value[o->number];

    q->given[o->number] = 1;
    switch (o->kind) {
    case KIND_FLAG:
        v->flag = 1;
        return EMU_OK;
    case KIND_TEXT:
        v->text = arg ? arg : "";
        return EMU_OK;
    case KIND_NUMBER:
        return store_number(o, arg, &v->number);
    case KIND_PART:
        return store_part(o, arg, &v->part);
    case KIND_REAL:
        return store_real(o, arg, &v->real);
    case KIND_WORD:
        return store_word(o, arg, &v->word);
    case KIND_LIST:
        return store_item(o, arg, &v->list);
    case KIND_TAKES:
    case KIND_AFTER:
        break;
    }
    return EMU_OK;
}

/* ---- the whole ---- */

/* All uses of an option, whatever its rows. */
static use_set uses_of(unsigned number)
{
    use_set uses = 0;

    for (const struct option_row *o = option_rows(); o->name; o++) {
        if (o->number == number)
            uses |= o->uses;
    }
    return uses;
}

/* Refuses an option that is not for what the request is about. */
static enum emu_status check_uses(const struct request *q, unsigned number)
{
    use_set uses = uses_of(number), here = uses & q->command->uses;
    int taken = option_is_of(uses, q->command->uses);
    char text[160];

    for (const struct option_refusal *r = option_without; r->uses; r++) {
        if (r->option == number && r->uses & q->use)
            return FAIL(USAGE, "--%s does nothing here: %s", option_name(number, uses), r->why);
    }
    if (taken && q->command->uses & uses & USE_STEP && !(here & USE_RUN))
        return EMU_OK;
    if (taken && uses & q->use & ~USE_STEP)
        return EMU_OK;
    here &= ~USE_STEP;
    if (!here || !taken)
        return FAIL(USAGE, "--%s does nothing here: it is for superstep %s",
                    option_name(number, uses), uses & USE_RUN ? "run" : "compile");
    uses_print(here, text, sizeof(text));
    return FAIL(USAGE, "--%s does nothing for %s; it is for %s", option_name(number, here),
                use_name(q->use), text);
}

enum emu_status request_check(const struct request *q)
{
    for (const struct option_row *o = option_rows(); o->name; o++) {
        if (q->given[o->number])
            TRY(check_uses(q, o->number));
    }
    for (const struct option_rule *r = option_either; r->uses; r++) {
        if (r->uses & q->use && q->given[r->a] && q->given[r->b])
            return FAIL(USAGE, "either --%s or --%s, not both", option_name(r->a, q->use),
                        option_name(r->b, q->use));
    }
    for (const struct option_rule *r = option_needs; r->uses; r++) {
        if (r->uses & q->use && q->given[r->a] && !q->given[r->b])
            return FAIL(USAGE, "--%s does nothing without --%s", option_name(r->a, q->use),
                        option_name(r->b, q->use));
    }
    for (const struct option_rule *r = option_values; r->uses; r++) {
        if (r->uses & q->use && option_engine(q) && q->given[r->a])
            return FAIL(USAGE, "--%s needs values, and --engine timing has none",
                        option_name(r->a, q->use));
    }
    return EMU_OK;
}

enum emu_status request_check_called(const struct request *q)
{
    for (const struct option_rule *r = option_typed; r->uses; r++) {
        if (q->given[r->a])
            return FAIL(USAGE, "--%s does nothing here: it is for a command that is typed",
                        option_name(r->a, q->use));
    }
    return EMU_OK;
}

struct request *request_new(const struct command *c)
{
    struct request *q = emu_alloc(1, sizeof(*q));

    if (q)
        q->command = c;
    return q;
}

void request_free(struct request *q)
{
    if (!q)
        return;
    for (const struct option_row *o = option_rows(); o->name; o++) {
        struct option_list *list = &q->value[o->number].list;

        if (o->kind != KIND_LIST)
            continue;
        ss_free(list->item);
        list->item = NULL;
    }
    ss_free(q->argument.item);
    ss_free(q->path);
    ss_free(q->bytes);
    ss_free(q);
}
