/* cmd_compare.c - what differs between the profiles of two runs. */
#include "emu/cli/emu_commands.h"

#include "emu/cli/commands.h"
#include "emu/profile/profile_compare.h"
#include "emu/profile/report_page.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, html)

static enum emu_status write_page(const struct request *q, struct profile *a, struct profile *b)
{
    struct output_file *page = NULL;

    for (size_t i = 0; i < q->argument.count; i++)
        TRY(output_not_input(option_html(q), q->argument.item[i]));
    TRY(output_open(option_html(q), &page));
    return output_finish(&page, report_page_write(a, b, output_stream(page)));
}

static enum emu_status compare(const struct request *q, struct profile *a, struct profile *b)
{
    json_t *o;

    if (option_html(q))
        return write_page(q, a, b);
    if (!option_json(q))
        return profile_compare(a, b, stdout);
    TRY(profile_compare_json(a, b, &o));
    ss_run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

int cmd_compare(const struct request *q)
{
    struct profile *a = NULL, *b = NULL;
    enum emu_status s = profile_read(q->argument.item[0], &a);

    if (s == EMU_OK)
        s = profile_read(q->argument.item[1], &b);
    if (s == EMU_OK && (profile_is_sweep(a) || profile_is_sweep(b)))
        s = FAIL(USAGE, "%s is a sweep, and no profile of a run",
                 profile_path(profile_is_sweep(a) ? a : b));
    if (s == EMU_OK)
        s = compare(q, a, b);
    profile_free(a);
    profile_free(b);
    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
