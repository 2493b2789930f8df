/* cmd_report.c - prints a profile that `run --profile` wrote. */
#include "emu/cli/emu_commands.h"

#include "emu/cli/commands.h"
#include "emu/cli/request_profile.h"
#include "emu/profile/profile_report.h"

static enum emu_status print_json(struct profile *p)
{
    json_t *o;

    TRY(profile_report_json(p, &o));
    run_print_json(o, stdout);
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

static enum emu_status print(const struct request *q, struct profile *p)
{
    if (q->trace_out || q->html)
        return write_pictures(q, p);
    if (q->json)
        return print_json(p);
    if (request_has(q, OPTION_csv))
        return profile_report_csv(p, (enum profile_csv)q->csv, stdout);
    if (request_has(q, OPTION_tile))
        return profile_report_tile(p, (uint32_t)q->tile, stdout);
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
