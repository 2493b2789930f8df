/* cmd_report.c - prints a profile that `run --profile` wrote, or a sweep. */
#include "emu/cli/emu_commands.h"

#include "emu/cli/commands.h"
#include "emu/cli/request_profile.h"
#include "emu/profile/profile_report.h"
#include "emu/profile/sweep_page.h"
#include "emu/profile/sweep_report.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, trace_out)
OPTION_READ(TEXT, html)
OPTION_READ(WORD, csv)
OPTION_READ(NUMBER, tile)
OPTION_READ(NUMBER, of_chip)

enum { CSV_OF_SWEEP = PROFILE_CSV_TILES + 1 }; /* the words of --csv from here on */

static enum emu_status print_json(struct profile *p)
{
    json_t *o;

    TRY((profile_is_sweep(p) ? sweep_report_json : profile_report_json)(p, &o));
    ss_run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

static enum emu_status write_pictures(const struct request *q, struct profile *p)
{
    struct profile_files files;
    enum emu_status s = profile_files_open(q, &files);

    if (s == EMU_OK)
        s = request_pictures(q, p, &files);
    profile_files_close(&files);
    return s;
}

static enum emu_status write_sweep_page(const struct request *q, struct profile *p)
{
    struct output_file *page;

    TRY(output_not_input(option_html(q), profile_path(p)));
    TRY(output_open(option_html(q), &page));
    return output_end(page, sweep_page_write(p, output_stream(page)));
}

static enum emu_status print_sweep(const struct request *q, struct profile *p)
{
    const char *wrong = option_trace_out(q)              ? "trace-out"
                        : request_has(q, OPTION_tile)    ? "tile"
                        : request_has(q, OPTION_of_chip) ? "chip"
                                                         : NULL;

    if (wrong)
        return FAIL(USAGE, "%s is a sweep: --%s is for profiles", profile_path(p), wrong);
    if (option_html(q))
        return write_sweep_page(q, p);
    if (option_json(q))
        return print_json(p);
    if (!request_has(q, OPTION_csv))
        return sweep_report(p, stdout);
    if (option_csv(q) < CSV_OF_SWEEP)
        return FAIL(USAGE, "%s is a sweep: --csv points or bytes", profile_path(p));
    return sweep_report_csv(p, (enum sweep_csv)(option_csv(q) - CSV_OF_SWEEP), stdout);
}

static enum emu_status print(const struct request *q, struct profile *p)
{
    if (profile_is_sweep(p))
        return print_sweep(q, p);
    if (request_has(q, OPTION_csv) && option_csv(q) >= CSV_OF_SWEEP)
        return FAIL(USAGE, "%s is the profile of a run: --csv layers, steps or tiles",
                    profile_path(p));
    if (option_trace_out(q) || option_html(q))
        return write_pictures(q, p);
    if (request_has(q, OPTION_of_chip))
        TRY(profile_choose_chip(p, (int64_t)option_of_chip(q)));
    if (option_json(q))
        return print_json(p);
    if (request_has(q, OPTION_csv))
        return profile_report_csv(p, (enum profile_csv)option_csv(q), stdout);
    if (request_has(q, OPTION_tile))
        return profile_report_tile(p, (uint32_t)option_of_chip(q), (uint32_t)option_tile(q),
                                   stdout);
    return profile_report(p, stdout);
}

int cmd_report(const struct request *q)
{
    struct profile *p;
    enum emu_status s = profile_read(q->argument.item[0], &p);

    if (s == EMU_OK)
        s = print(q, p);
    profile_free(p);
    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
