/* request_machine.c - the machine that --machine and --set ask for. */
#include "emu/cli/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emu/cli/commands.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(LIST, set)
OPTION_READ(NUMBER, chips)

static enum emu_status set_chips(struct arch *a, uint64_t chips)
{
    char text[40];

    snprintf(text, sizeof(text), "chips=%" PRIu64, chips);
    return ss_arch_set(a, text);
}

static enum emu_status set_fields(const struct request *q, struct arch *a)
{
    for (size_t i = 0; i < option_set(q)->count; i++)
        TRY(ss_arch_set(a, option_set(q)->item[i]));
    if (request_has(q, OPTION_chips))
        TRY(set_chips(a, option_chips(q)));
    return ss_arch_check(a);
}

enum emu_status request_machine_from(const struct request *q, struct arch *a)
{
    if (option_machine(q))
        TRY(ss_arch_from_name_or_file(option_machine(q), a));
    return set_fields(q, a);
}

enum emu_status request_machine(const struct request *q, const char *fallback, struct arch *out)
{
    TRY(ss_arch_from_name_or_file(option_machine(q) ? option_machine(q) : fallback, out));
    return set_fields(q, out);
}

enum emu_status request_check_arch(const struct arch *a)
{
    return a->chips > 1
               ? FAIL(USAGE, "chips %u: expected 1: the program runs on one chip", a->chips)
               : EMU_OK;
}

/* A what-if that changes nothing is told. */
static void warn_of_unread(const struct request *q, const struct arch *a)
{
    for (size_t i = 0; i < option_set(q)->count; i++) {
        const char *text = option_set(q)->item[i];
        size_t n = strcspn(text, "=");
        char name[ARCH_TEXT_MAX];
        const struct arch_field *f;

        snprintf(name, sizeof(name), "%.*s", (int)n, text);
        f = ss_arch_field_find(name);
        if (!f || f->type == ARCH_TYPE_text)
            continue;
        if (f->stage == ARCH_STAGE_N)
            fprintf(request_notes(q), "superstep %s: warning: --set %s: no run reads it (%s)\n",
                    q->command->name, name, f->doc);
        else if (f->stage == ARCH_STAGE_L && a->chips == 1)
            fprintf(request_notes(q),
                    "superstep %s: warning: --set %s: a run of one chip does not read it (%s)\n",
                    q->command->name, name, f->doc);
    }
}

/* chips: of the machine where nobody says how many it has. */
static enum emu_status machine_from(const struct request *q, uint32_t chips, struct arch *a)
{
    if (option_machine(q))
        TRY(ss_arch_from_name_or_file(option_machine(q), a));
    if (chips > 1 && a->chips == 1)
        TRY(set_chips(a, chips));
    TRY(set_fields(q, a));
    warn_of_unread(q, a);
    return EMU_OK;
}

enum emu_status request_arch_from(const struct request *q, struct arch *a)
{
    TRY(machine_from(q, 1, a));
    return request_check_arch(a);
}

enum emu_status request_arch_of_chips(const struct request *q, uint32_t chips, struct arch *a)
{
    TRY(machine_from(q, chips, a));
    if (a->chips % chips)
        return FAIL(USAGE, "chips %u: expected a multiple of %u: the program is for %u chips",
                    a->chips, chips, chips);
    return EMU_OK;
}

enum emu_status request_arch(const struct request *q, const char *fallback, struct arch *out)
{
    TRY(ss_arch_from_name_or_file(option_machine(q) ? option_machine(q) : fallback, out));
    return request_arch_from(q, out);
}
