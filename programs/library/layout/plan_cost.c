/* plan_cost.c - the costs that all plans are made of: exchange phases and calls of codelets. */
#include "programs/library/layout/plan_cost.h"

#include <string.h>

/* If all tiles send and receive all the time, to and from changing partners, schedules have gaps: a
 * phase takes 1.16 to 1.22 events a word besides the lag (bench_schedule: irregular 32 x 8, 68 x 8,
 * 20 x 64). One gap in so many words: */
enum { FULL_LOAD_HOLES = 5 };

struct plan_port plan_port(const struct arch *a)
{
    int low, high;

    arch_exchange_delay_span(a, &low, &high);
    return (struct plan_port){ .way = high > 0 ? (uint64_t)high : 0,
                               .lag = arch_pic_lag(a, arch_tile_physical(a, a->tiles - 1)) };
}

uint64_t plan_port_cycles(const struct plan_port *p, uint64_t words, uint64_t fan_out)
{
    uint64_t events = words + words / (FULL_LOAD_HOLES * (fan_out ? fan_out : 1));

    if (!words)
        return 0;
    return (events > p->way ? events : p->way) + p->lag;
}

uint64_t plan_exchange_latency(const struct arch *a)
{
    struct plan_port p = plan_port(a);

    return p.way + p.lag;
}

uint64_t plan_exchange_cycles(const struct arch *a, uint64_t words)
{
    return words ? a->sync_chip_cycles + words + plan_exchange_latency(a) : 0;
}

uint64_t plan_cycles(const struct arch *a, const struct codelet *c, const struct plan_field *field,
                     unsigned fields)
{
    struct codelet_call call = { .arch = a };

    for (unsigned i = 0; i < fields; i++) {
        struct codelet_arg *arg = &call.arg[field[i].field];

        EMU_ASSERT(field[i].field < c->fields);
        arg->elements = arg->value = field[i].n;
    }
    for (unsigned i = 0; i < c->fields; i++) {
        int of = c->field[i].kind == FIELD_LENGTH ? codelet_field_find(c, c->field[i].other) : -1;

        if (of >= 0)
            call.arg[i].elements = call.arg[i].value = call.arg[of].elements;
    }
    return c->cycles(&call);
}

uint64_t plan_copy_cycles(const struct arch *a, uint64_t bytes)
{
    const struct plan_field field[] = { { copy__src, (uint32_t)(bytes / 4) },
                                        { copy__dst, (uint32_t)(bytes / 4) } };

    return bytes ? plan_cycles(a, KERNEL_ROW(copy_64), field, EMU_COUNT_OF(field)) : 0;
}
