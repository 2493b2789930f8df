/* schedule_grid.c - a common clock for sends that go the same way round the fabric.
 *
 * Among such sends the delay from s to d is the sum of a part that depends on s only and a part
 * that depends on d only. Take the part of s off the clock of s: when every send begins at a
 * multiple of the common size on these clocks, they all fit each other without gaps. Each way has
 * clocks of its own; only where a tile changes from one way to another are some events lost.
 */
#include "emu/arch/arch_numbers.h"
#include "programs/compiler/schedule/schedule_private.h"

enum {
    WAYS = 4,
    UNIT_LEAST = 4, /* words: below, gaps are short anyway */
    UNIT_MOST = 32, /* above, waiting for the grid costs more than it saves */
    TOWARDS_LAST = 1,
    NO_DELAY = INT32_MIN / 2
};

struct ways {
    struct arch_exchange_end far[WAYS]; /* with which the delays of a way are measured */
    int32_t delay[WAYS];                /* the largest delay to that place */
};

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Which half of the columns a tile lies in (docs/exchange.md 2). */
static uint32_t half_of(const struct arch *a, uint32_t physical)
{
    uint32_t row = arch_physical_count(a) / arch_exchange_rows(a);

    return physical % row >= row / 2;
}

/* The columns of a half are folded: the first of half 0 lies beside the last of half 1. */
static void ways_init(struct ways *w, const struct arch *a)
{
    uint32_t row = arch_physical_count(a) / arch_exchange_rows(a),
             column = row / arch_exchange_columns(a);

    w->far[0] = arch_exchange_end_of(a, 0);
    w->far[1] = arch_exchange_end_of(a, row - column);
    w->far[2] = arch_exchange_end_of(a, row / 2 - column);
    w->far[3] = arch_exchange_end_of(a, row / 2);
    for (unsigned k = 0; k < WAYS; k++)
        w->delay[k] = NO_DELAY;
}

/* The way of a send: its direction and the half of its first receiver. */
static uint32_t send_way(const struct schedule *s, const struct send_list *l,
                         const struct send *send)
{
    const struct endpoint *from = &s->point[send->point];
    const struct endpoint *to = &s->point[l->dest[send->first].point];
    uint32_t last = arch_exchange_direction_between(&from->end, &to->end) == TOWARDS_LAST;

    return 2 * last + half_of(s->p->arch, to->physical);
}

static int32_t way_delay(const struct schedule *s, const struct send *send, const struct ways *w,
                         uint32_t way)
{
    return arch_exchange_delay_between(&s->point[send->point].end, &w->far[way]);
}

uint32_t schedule_grid(const struct schedule *s, const struct send_list *l, uint32_t *phase)
{
    uint32_t unit = 0;
    struct ways w;

    if (arch_exchange_kind(s->p->arch) != ARCH_EXCHANGE_COLUMNS)
        return 1;
    for (uint32_t j = 0; j < l->sends && unit != 1; j++)
        unit = greatest_divisor(l->send[j].words, unit);
    while (unit > UNIT_MOST && unit % 2 == 0)
        unit /= 2;
    if (unit < UNIT_LEAST)
        return 1;
    ways_init(&w, s->p->arch);
    for (uint32_t j = 0; j < l->sends; j++) {
        uint32_t way = send_way(s, l, &l->send[j]);
        int32_t delay = way_delay(s, &l->send[j], &w, way);

        w.delay[way] = delay > w.delay[way] ? delay : w.delay[way];
    }
    for (unsigned k = 0; k < WAYS; k++) /* an even number of events between the clocks of a tile */
        w.delay[k] += (w.delay[k] + arch_exchange_delay_between(&w.far[0], &w.far[k])) & 1;
    for (uint32_t j = 0; j < l->sends; j++) {
        uint32_t way = send_way(s, l, &l->send[j]);

        phase[j] = (uint32_t)(w.delay[way] - way_delay(s, &l->send[j], &w, way)) % unit;
    }
    return unit;
}
