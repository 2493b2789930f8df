/* reason.h - why a part of a program takes its cycles, in the words of every screen and page.
 */
#ifndef EMU_REASON_H
#define EMU_REASON_H

#include <stdint.h>

/* Cycles of a layer or an operation: exchange + compute + sync are all of them; imbalance is a part
 * of compute (bill.h). bound: what it would take with all units at full rate; 0: not known. */
struct reason_parts {
    uint64_t exchange, compute, imbalance, sync;
    uint64_t bound, supersteps;
};

/* What most of them are, with its share of all: "compute is 69 %; at full rate 31 %". */
enum { REASON_TEXT = 96 };
void cycles_reason(const struct reason_parts *p, char text[REASON_TEXT]);

#endif
