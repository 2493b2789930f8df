/* request_profile.c - the command line as it was understood, and the file of a profile. */
#include "emu/cli/request_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cli/commands.h"
#include "emu/cli/options.h"
#include "emu/job/bsp_probe.h"
#include "emu/job/run_profile.h"
#include "emu/profile/report_page.h"
#include "emu/profile/trace_events.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)
OPTION_READ(TEXT, profile)
OPTION_READ(TEXT, trace_out)
OPTION_READ(TEXT, trace_tiles)
OPTION_READ(TEXT, html)
OPTION_READ(TEXT, cache)

enum { WORD_TEXT = 64 };

/* The value of an option that was given as text; of a list that of entry i. */
static const char *value_text(const struct request *q, const struct option_row *o, size_t i,
                              char number[WORD_TEXT])
{
    const union option_value *v = &q->value[o->number];
    const char *word = o->arg;

    switch (o->kind) {
    case KIND_TEXT:
        return v->text;
    case KIND_LIST:
        return v->list.item[i];
    case KIND_NUMBER:
        snprintf(number, WORD_TEXT, "%" PRIu64, v->number);
        return number;
    case KIND_PART:
    case KIND_REAL:
        snprintf(number, WORD_TEXT, "%.9g", o->kind == KIND_PART ? v->part : v->real);
        return number;
    case KIND_WORD:
        for (unsigned k = v->word; k; k--)
            word = strchr(word, '|') + 1;
        snprintf(number, WORD_TEXT, "%.*s", (int)strcspn(word, "|"), word);
        return number;
    case KIND_FLAG:
    case KIND_TAKES:
    case KIND_AFTER:
        break;
    }
    return "";
}

static size_t times_given(const struct request *q, const struct option_row *o)
{
    if (!(o->uses & q->use) || !q->given[o->number])
        return 0;
    return o->kind == KIND_LIST ? q->value[o->number].list.count : 1;
}

/* What changes no result is part of the command, and no option of the run. */
static int is_of_run(const struct option_row *o)
{
    return !option_in(option_shows, o->number);
}

static void add_options(struct profile *p, const struct request *q, FILE *command)
{
    char number[WORD_TEXT];

    fprintf(command, "superstep %s %s", q->command->name, q->what ? q->what : "");
    for (const struct option_row *o = option_rows(); o->name; o++) {
        for (size_t i = 0; i < times_given(q, o); i++) {
            const char *value = value_text(q, o, i, number);

            fprintf(command, " --%s%s%s", o->name, *value ? " " : "", value);
            if (is_of_run(o))
                PROFILE_ROW(p, "options", PROFILE_T(o->name), PROFILE_T(value));
        }
    }
}

void request_visit_options(const struct request *q, option_visit *visit, void *ctx)
{
    char number[WORD_TEXT];

    for (const struct option_row *o = option_rows(); o->name; o++) {
        for (size_t i = 0; is_of_run(o) && i < times_given(q, o); i++)
            visit(ctx, o, value_text(q, o, i, number));
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

static enum emu_status add_bsp(struct profile *p, const struct request *q, const struct run *r,
                               const struct profile_extras *x)
{
    const char *cache = x && x->cache ? x->cache : option_cache(q);
    struct bsp_cost c;

    TRY(bsp_cost_of(ss_image_arch(r->im), (unsigned)option_threads(q), cache, &c));
    PROFILE_ROW(p, "meta", PROFILE_T("bsp_g"), PROFILE_R(c.g));
    PROFILE_ROW(p, "meta", PROFILE_T("bsp_l"), PROFILE_R(c.l));
    return EMU_OK;
}

static enum emu_status fill(struct profile *p, const struct request *q, struct run *r,
                            const struct profile_extras *x)
{
    if (x && x->first)
        TRY(x->first(x->ctx, p));
    TRY(add_request(p, q));
    TRY(add_bsp(p, q, r, x));
    TRY(run_profile(p, r, x ? x->layer : NULL, x ? x->layers : 0));
    return x && x->add ? x->add(x->ctx, p) : EMU_OK;
}

static enum emu_status fill_unfit(struct profile *p, const struct request *q, const struct arch *a,
                                  const struct profile_extras *x)
{
    TRY(add_request(p, q));
    PROFILE_ROW(p, "meta", PROFILE_T("status"), PROFILE_T("out_of_memory"));
    profile_add_machine(p, a);
    return x->add(x->ctx, p);
}

/* ---- files ---- */

/* The tiles of --trace-tiles on a machine of so many. */
static enum emu_status trace_tiles(const struct request *q, uint32_t tiles, struct tile_list *out)
{
    const struct arch a = { .name = "the machine", .tiles = tiles };

    *out = (struct tile_list){ .tile = NULL };
    return option_trace_tiles(q)
               ? tile_list_read_text("--trace-tiles", option_trace_tiles(q), &a, out)
               : EMU_OK;
}

enum emu_status profile_files_open(const struct request *q, struct profile_files *out)
{
    const char *input = q->path ? q->path : q->what;
    struct tile_list tiles;
    enum emu_status s = trace_tiles(q, UINT16_MAX, &tiles);

    *out = (struct profile_files){ NULL, NULL, NULL };
    tile_list_free(&tiles);
    TRY(s);
    TRY(output_not_input(option_profile(q), input));
    TRY(output_not_input(option_trace_out(q), input));
    TRY(output_open(option_profile(q), &out->store));
    TRY(output_not_input(option_html(q), input));
    TRY(output_open(option_trace_out(q), &out->trace));
    return output_open(option_html(q), &out->page);
}

void profile_files_close(struct profile_files *f)
{
    output_discard(f->store);
    output_discard(f->trace);
    output_discard(f->page);
    *f = (struct profile_files){ NULL, NULL, NULL };
}

int request_profiles(const struct request *q)
{
    return option_profile(q) || option_trace_out(q) || option_html(q);
}

static enum emu_status write_trace(const struct request *q, struct profile *p,
                                   struct profile_files *f)
{
    uint64_t tiles = profile_query_integer(p, "SELECT value FROM machine WHERE field = 'tiles'");
    struct tile_list list;
    enum emu_status s;

    if (!f->trace)
        return EMU_OK;
    s = trace_tiles(q, (uint32_t)tiles, &list);
    if (s == EMU_OK)
        s = trace_events_write(p, list.tile, list.count, output_stream(f->trace));
    tile_list_free(&list);
    return output_finish(&f->trace, s);
}

enum emu_status request_pictures(const struct request *q, struct profile *p,
                                 struct profile_files *f)
{
    enum emu_status trace = write_trace(q, p, f);
    enum emu_status page =
        f->page ? output_finish(&f->page, report_page_write(p, NULL, output_stream(f->page)))
                : EMU_OK;

    return page == EMU_OK ? trace : page;
}

static enum emu_status write_files(const struct request *q, struct profile *p,
                                   struct profile_files *f)
{
    enum emu_status pictures = request_pictures(q, p, f);
    enum emu_status store =
        f->store ? output_finish(&f->store, profile_write(p, output_stream(f->store))) : EMU_OK;

    return store == EMU_OK ? pictures : store;
}

enum emu_status request_profile_unfit(const struct request *q, const struct arch *a,
                                      const struct profile_extras *x, struct profile_files *f)
{
    struct profile *p = NULL;
    enum emu_status s = EMU_OK;

    if (f->trace)
        fprintf(stderr, "superstep %s: %s is not written: the program does not fit\n",
                q->command->name, option_trace_out(q));
    output_discard(f->trace);
    f->trace = NULL;
    if (!f->store && !f->page)
        return EMU_OK;
    s = profile_new((unsigned)option_threads(q), &p);
    if (s == EMU_OK)
        s = fill_unfit(p, q, a, x);
    if (s == EMU_OK)
        s = write_files(q, p, f);
    profile_free(p);
    return s;
}

enum emu_status request_profile(const struct request *q, struct run *r,
                                const struct profile_extras *x, struct profile_files *f)
{
    struct profile *p = NULL;
    enum emu_status s;

    if (!f->store && !f->trace && !f->page)
        return EMU_OK;
    s = profile_new((unsigned)option_threads(q), &p);
    if (s == EMU_OK)
        s = fill(p, q, r, x);
    if (s == EMU_OK)
        s = write_files(q, p, f);
    profile_free(p);
    return s;
}
