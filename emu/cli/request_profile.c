/* request_profile.c - the command line as it was understood, and the file of a profile. */
#include "emu/cli/request_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cli/commands.h"
#include "emu/cli/options.h"
#include "emu/job/bsp_probe.h"
#include "emu/job/run_profile.h"

enum { WORD_TEXT = 64 };

/* The value of an option that was given as text; of a list that of entry i. */
static const char *value_text(const struct request *q, const struct option_row *o, size_t i,
                              char number[WORD_TEXT])
{
    const void *field = (const char *)q + o->offset;
    const char *word = o->arg;

    switch (o->kind) {
    case KIND_TEXT:
        return *(const char *const *)field;
    case KIND_LIST:
        return ((const struct option_list *)field)->item[i];
    case KIND_NUMBER:
        snprintf(number, WORD_TEXT, "%" PRIu64, *(const uint64_t *)field);
        return number;
    case KIND_PART:
    case KIND_REAL:
        snprintf(number, WORD_TEXT, "%.9g", *(const double *)field);
        return number;
    case KIND_WORD:
        for (unsigned k = *(const unsigned *)field; k; k--)
            word = strchr(word, '|') + 1;
        snprintf(number, WORD_TEXT, "%.*s", (int)strcspn(word, "|"), word);
        return number;
    case KIND_FLAG:
        break;
    }
    return "";
}

static size_t times_given(const struct request *q, const struct option_row *o)
{
    const void *field = (const char *)q + o->offset;

    if (!(o->uses & q->use) || !q->given[o->number])
        return 0;
    return o->kind == KIND_LIST ? ((const struct option_list *)field)->count : 1;
}

/* What changes no result is part of the command, and no option of the run. */
static int is_of_run(const struct option_row *o)
{
    return o->number != OPTION_profile && o->number != OPTION_quiet && o->number != OPTION_threads;
}

static void add_options(struct profile *p, const struct request *q, FILE *command)
{
    char number[WORD_TEXT];

    fprintf(command, "superstep %s %s", q->command->name, q->what ? q->what : "");
    for (const struct option_row *o = option_rows; o->name; o++) {
        for (size_t i = 0; i < times_given(q, o); i++) {
            const char *value = value_text(q, o, i, number);

            fprintf(command, " --%s%s%s", o->name, *value ? " " : "", value);
            if (is_of_run(o))
                PROFILE_ROW(p, "options", PROFILE_T(o->name), PROFILE_T(value));
        }
    }
}

static enum emu_status add_request(struct profile *p, const struct request *q)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return FAIL(NO_MEMORY, "a profile");
    add_options(p, q, f);
    if (fclose(f))
        return FAIL(NO_MEMORY, "a profile");
    PROFILE_ROW(p, "meta", PROFILE_T("program_version"), PROFILE_T(program_version));
    PROFILE_ROW(p, "meta", PROFILE_T("what"), PROFILE_T(q->what ? q->what : ""));
    PROFILE_ROW(p, "meta", PROFILE_T("command"), PROFILE_T(text));
    free(text); /* allocated by open_memstream() */
    return EMU_OK;
}

static enum emu_status add_bsp(struct profile *p, const struct request *q, const struct run *r)
{
    struct bsp_cost c;

    TRY(bsp_probe(image_arch(r->im), (unsigned)q->threads, &c));
    PROFILE_ROW(p, "meta", PROFILE_T("bsp_g"), PROFILE_R(c.g));
    PROFILE_ROW(p, "meta", PROFILE_T("bsp_l"), PROFILE_R(c.l));
    return EMU_OK;
}

static enum emu_status fill(struct profile *p, const struct request *q, struct run *r,
                            const struct profile_extras *x)
{
    TRY(add_request(p, q));
    TRY(add_bsp(p, q, r));
    TRY(run_profile(p, r, x ? x->layer : NULL, x ? x->layers : 0));
    return x && x->add ? x->add(x->ctx, p) : EMU_OK;
}

enum emu_status request_profile(const struct request *q, struct run *r,
                                const struct profile_extras *x, struct output_file **file)
{
    struct profile *p = NULL;
    enum emu_status s;

    if (!*file)
        return EMU_OK;
    s = profile_new(&p);
    if (s == EMU_OK)
        s = fill(p, q, r, x);
    if (s == EMU_OK)
        s = profile_write(p, output_stream(*file));
    profile_free(p);
    return output_finish(file, s);
}
