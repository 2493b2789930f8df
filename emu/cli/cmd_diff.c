/* cmd_diff.c - compares two files written by `superstep run --digests`. */
#include "emu/cli/emu_commands.h"

#include <inttypes.h>
#include <stdio.h>

#include "emu/cli/commands.h"
#include "emu/job/digest_diff.h"

static void print_line(const char *key, const struct digest_diff *d, const struct digest_line *l)
{
    printf("%s ", key);
    if (d->of_chips)
        printf("chip %" PRIu32 " ", l->chip);
    printf("group %" PRIu32 " superstep %" PRIu64 " cycle %" PRIu64 " root %s\n", l->group,
           l->superstep, l->cycle, l->root);
}

static void print(const struct digest_diff *d, const struct request *r)
{
    static const char *const status[] = {
        [DIGESTS_EQUAL] = "equal",      [DIGESTS_MACHINE] = "other machine",
        [DIGESTS_ROOT] = "differ",      [DIGESTS_CYCLE] = "other cycle",
        [DIGESTS_ORDER] = "other step", [DIGESTS_LENGTH] = "other length",
    };

    printf("status %s\n", status[d->kind]);
    if (d->kind == DIGESTS_MACHINE)
        return;
    printf("equal_steps %" PRIu64 "\n", d->steps);
    if (d->kind == DIGESTS_EQUAL)
        return;
    if (d->kind == DIGESTS_LENGTH) {
        printf("longer %s\n", r->argument.item[d->longer]);
        print_line("next", d, &d->line[0]);
        return;
    }
    if (d->of_chips)
        printf("chip %" PRIu32 "\n", d->line[0].chip);
    printf("group %" PRIu32 "\nsuperstep %" PRIu64 "\n", d->line[0].group, d->line[0].superstep);
    if (d->tile >= 0)
        printf("tile %" PRId64 "\n", d->tile);
    print_line("a", d, &d->line[0]);
    print_line("b", d, &d->line[1]);
}

int cmd_diff(const struct request *q)
{
    struct digest_diff d;

    if (digest_diff(q->argument.item[0], q->argument.item[1], &d) != EMU_OK)
        return request_failed(q, NULL);
    print(&d, q);
    return d.kind == DIGESTS_EQUAL ? EXIT_RAN : EXIT_FAULTED;
}
