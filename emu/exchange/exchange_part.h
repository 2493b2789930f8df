/* exchange_part.h - what one tile does in an exchange that is proven to be valid, in figures:
 * whoever has scheduled it knows them, and a run that moves no words need not execute its code.
 */
#ifndef EMU_EXCHANGE_PART_H
#define EMU_EXCHANGE_PART_H

#include <stdint.h>

/* The code of the exchange, which begins at event 0 of a phase. The tiles that have a part with one
 * number take part in the exchange together, and no others. */
struct exchange_part {
    uint32_t addr, bytes;  /* of the code; the address of an instruction */
    uint32_t exchange;     /* number of the exchange, from 1 on */
    uint32_t instructions; /* of the supervisor */
    uint32_t events;       /* that they take, one after the other */
    uint32_t end_event;    /* at which the last word received is in memory; 0: none is */
    uint32_t words_in, words_out;
};

enum { EXCHANGE_PARTS_MAX = 1 << 24 }; /* numbers are below */

#endif
