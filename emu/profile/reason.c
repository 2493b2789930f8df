/* reason.c - cycles in words. */
#include "emu/profile/reason.h"

#include <inttypes.h>
#include <stdio.h>

/* From these shares on, exchange, sync, imbalance or a near bound is named as the reason. */
static const double much_exchange = 0.4, much_sync = 0.3, much_imbalance = 0.3, near_bound = 0.5;

void cycles_reason(const struct reason_parts *p, char text[REASON_TEXT])
{
    uint64_t cycles = p->exchange + p->compute + p->sync;
    double all = cycles ? (double)cycles : 1;
    double exchange = (double)p->exchange / all, sync = (double)p->sync / all;
    double imbalance = (double)p->imbalance / all, bound = (double)p->bound / all;
    int n;

    if (exchange >= much_exchange && exchange >= imbalance) {
        snprintf(text, REASON_TEXT, "it moves data: exchange is %.0f %%", 100 * exchange);
    } else if (sync >= much_sync && sync >= imbalance) {
        snprintf(text, REASON_TEXT, "sync is %.0f %%: %" PRIu64 " short superstep%s", 100 * sync,
                 p->supersteps, p->supersteps == 1 ? "" : "s");
    } else if (imbalance >= much_imbalance) {
        snprintf(text, REASON_TEXT, "uneven: tiles wait %.0f %% for the slowest", 100 * imbalance);
    } else if (bound >= near_bound) {
        snprintf(text, REASON_TEXT, "work: at full rate it would take %.0f %%", 100 * bound);
    } else {
        n = snprintf(text, REASON_TEXT, "compute is %.0f %%", 100 * (double)p->compute / all);
        if (p->bound)
            snprintf(text + n, REASON_TEXT - (size_t)n, "; at full rate %.0f %%", 100 * bound);
    }
}
