/* exchange_explain.c - faults of the fabric in the terms of whoever wrote the sender's code. */
#include "emu/exchange/exchange_explain.h"

#include <stdio.h>

#include "emu/exchange/exchange_private.h"

/* "; it sends at events 0 to 3, 8" */
static int print_sends(const struct exchange_log *log, char *out, size_t bytes)
{
    enum { SHOWN = 4 };
    int single = log->sends == 1 && log->send[0].words == 1;
    int n = snprintf(out, bytes, "%s",
                     !log->sends ? "; it sends nothing at all"
                     : single    ? "; it sends at event"
                                 : "; it sends at events");

    for (size_t i = 0; i < log->sends && i < SHOWN && (size_t)n < bytes; i++) {
        const struct exchange_send *s = &log->send[i];

        n += snprintf(out + n, bytes - (size_t)n, s->words > 1 ? "%s %u to %u" : "%s %u",
                      i ? "," : "", s->event, s->event + s->words - 1);
    }
    if (log->sends > SHOWN && (size_t)n < bytes)
        n += snprintf(out + n, bytes - (size_t)n, " and %zu times more", log->sends - SHOWN);
    return n;
}

int exchange_fault_explain(const struct exchange *x, const struct exchange_fault *f, char *out,
                           size_t bytes)
{
    int sent, n;

    out[0] = 0;
    if ((f->kind != EXCHANGE_FAULT_SILENT && f->kind != EXCHANGE_FAULT_TWICE) ||
        f->other >= x->tiles)
        return 0;
    sent =
        (int)f->event - arch_exchange_delay(x->arch, x->physical[f->other], x->physical[f->tile]);
    n = snprintf(out, bytes, "; what arrives at event %u leaves tile %u at its event %d", f->event,
                 f->other, sent);
    if (f->kind == EXCHANGE_FAULT_SILENT && (size_t)n < bytes)
        n += print_sends(&x->log[f->other], out + n, bytes - (size_t)n);
    return n;
}
