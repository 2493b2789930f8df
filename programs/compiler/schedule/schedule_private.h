/* schedule_private.h - an exchange while it is scheduled: which tiles take part, what is sent, the
 * orders that were tried, and the best times so far.
 */
#ifndef PROGRAMS_SCHEDULE_PRIVATE_H
#define PROGRAMS_SCHEDULE_PRIVATE_H

#include "programs/compiler/schedule/schedule.h"
#include "programs/compiler/schedule/schedule_block.h"
#include "programs/compiler/schedule/timeline.h"

/* A tile that takes part. */
struct endpoint {
    uint32_t tile, physical;
    struct arch_exchange_end end;
    uint32_t lag; /* pic_lag */
    uint32_t words_in, words_out;
    uint32_t messages_in, messages_out; /* of the problem */
    uint32_t sends;                     /* sent by it, before any is split */
    uint32_t last_in;                   /* 1 + the last message in, while messages are read */
    uint32_t in_place;    /* words sent from or stored in objects with which it does both, where the
                             machine forbids that at one event */
    uint32_t memory_port; /* if in_place: the number of its memory among all ports */
};

/* One receiver of a send. */
struct send_dest {
    uint32_t point; /* endpoint */
    int32_t delay;  /* T from the sender */
    uint32_t rank;  /* of its address among all that the endpoint receives at */
    struct symbolic_addr to;
    uint8_t in_place; /* counted in point.in_place */
};

/* What is sent in one go: a message, several messages that follow each other in the memories of the
 * sender and of all receivers, or one message to some of its receivers. */
struct send {
    uint32_t point, words;
    uint32_t first, dests; /* in schedule.dest */
    uint32_t message;      /* the first of them, for its address and for error messages */
    uint8_t in_place;      /* counted in point.in_place */
};

/* The messages as sends. */
struct send_list {
    struct send *send;      /* owned */
    struct send_dest *dest; /* owned */
    uint32_t sends, dests;
};

/* When every send begins, in events of its sender. */
struct timing {
    uint32_t *start; /* owned; [sends] */
    uint32_t events; /* release to the last word in memory; UINT32_MAX: none found yet */
};

struct schedule {
    const struct exchange_problem *p; /* borrowed */
    struct endpoint *point;           /* owned; ascending tiles */
    uint32_t points;
    uint32_t ports; /* senders, as many receivers, and the memories of points with in_place */
    struct send_list list;
    uint32_t *rank; /* owned; [p->dest_count]: of the destination's address among all of its tile */
    uint32_t bound; /* B */
    uint32_t least; /* a lower bound of the events of any schedule */
};

/* ---- schedule_sends.c ---- */

/* Reads and checks a problem. Errors: those of exchange_schedule(). Free s in any case. */
enum emu_status schedule_read(struct schedule *s, const struct exchange_problem *p) EMU_MUST_CHECK;
void schedule_free(struct schedule *s);
/* Splits the sends into parts with at most `receivers` receivers each, as long as no tile sends
 * more than B words because of it. out is empty when there is nothing to split. */
enum emu_status schedule_split(const struct schedule *s, uint32_t receivers,
                               struct send_list *out) EMU_MUST_CHECK;
void send_list_free(struct send_list *l);

/* ---- schedule_order.c ---- */

/* What a list of sends is sorted by. */
struct order_key {
    uint64_t key;
    uint32_t send;
};

enum send_order {
    ORDER_SHIFT,   /* by the distance from source to first destination: neighbours follow neighbours
                    */
    ORDER_BACK,    /* the same, largest distance first */
    ORDER_WORDS,   /* longest first; sends of equal length as in ORDER_BACK */
    ORDER_LOAD,    /* fullest endpoint first, longest first */
    ORDER_ADDRESS, /* by the rank of the address among all that the first receiver gets */
    ORDER_ROUNDS,  /* by rounds in which every tile sends once and receives once */
    ORDER_BEST     /* as in the best times so far, which there must be: no pass before its rounds */
};

/* Sorts by key; stable. scratch has as many entries. */
void order_sort(struct order_key *key, struct order_key *scratch, uint32_t n);
/* Sorts all sends of l by an order other than ORDER_ROUNDS. key and scratch: [l->sends]. */
void order_make(const struct schedule *s, const struct send_list *l, enum send_order order,
                struct order_key *key, struct order_key *scratch);

/* ---- schedule_rounds.c ---- */

/* ORDER_ROUNDS, for sends with one receiver each: the least number of rounds. EMU_NO_MEMORY. */
enum emu_status schedule_rounds(const struct schedule *s, const struct send_list *l,
                                struct order_key *key, struct order_key *scratch) EMU_MUST_CHECK;

/* ---- schedule_pass.c ---- */

enum { SCHEDULE_GOOD_PERCENT = 5 }; /* above schedule.least: not worth more search */

/* One way to search: an order, and what it has to keep. */
struct attempt {
    enum send_order order;
    int on_grid;     /* schedule_grid() */
    int in_order;    /* no receiver gets a send before one that was placed earlier */
    unsigned rounds; /* at most; in each, reversed time and back, as long as that helps */
};

/* A send as the passes see it: what they read in the order of their keys lies together. */
struct job {
    uint32_t first_use; /* its ports: use[first_use], its sender's first, to that of the next job */
    uint32_t words;
    uint32_t tail; /* events from its start to its last word in memory */
    uint32_t part; /* parts have no port in common */
};

struct search {
    const struct schedule *s;
    const struct send_list *l;
    struct timelines ports;
    struct timeline_use *use;        /* owned; of all jobs */
    struct job *job;                 /* owned; [sends + 1] */
    struct order_key *key, *scratch; /* owned; [sends] */
    int32_t *start;  /* owned; times of this pass; may be negative after one in reversed time */
    uint32_t *end;   /* owned; [parts] events of each in this pass, */
    uint32_t *least; /* owned; [parts] the same in f->best */
    uint32_t parts;
    uint32_t *arrived; /* owned; [points] event after the last word that came in so far, if order
                          counts */
    uint32_t *phase;   /* owned; [sends] (schedule_grid) */
    uint32_t unit;     /* of the grid */
    uint32_t passes;   /* that may still be made */
    uint32_t below;    /* only times with fewer events are of use */
    int hopeless;      /* the last pass was given up: it was taking far too many events */
    struct timing best;
};

/* Prepares a search for times with fewer than `below` events, a number that is not good; s and l
 * are borrowed. Free f with search_free in any case. EMU_NO_MEMORY. */
enum emu_status search_init(struct search *f, const struct schedule *s, const struct send_list *l,
                            uint32_t below) EMU_MUST_CHECK;
void search_free(struct search *f);
/* Keeps in f->best every part that has fewer events than before. EMU_NO_MEMORY. */
enum emu_status search_attempt(struct search *f, const struct attempt *a) EMU_MUST_CHECK;
int search_is_good(const struct search *f);
void search_forget(struct search *f); /* the best so far */

static inline int schedule_is_within(const struct schedule *s, uint32_t events, unsigned percent)
{
    return events <= s->least + (uint64_t)s->least * percent / 100;
}

/* ---- schedule_grid.c ---- */

/* A grid on which sends that go the same way round the fabric fit each other. The result is the
 * unit of the grid, which divides the words of every send: send j may begin at events e with e %
 * unit == phase[j]. phase: [l->sends]. A unit of 1 means that sends may begin anywhere; phase is
 * then not written. */
uint32_t schedule_grid(const struct schedule *s, const struct send_list *l, uint32_t *phase);

/* ---- schedule_code.c ---- */

/* The instructions of all tiles for these times. out: as in exchange_schedule(). */
enum emu_status schedule_code(const struct schedule *s, const struct send_list *l,
                              const struct timing *t, struct exchange_schedule *out) EMU_MUST_CHECK;

/* ---- schedule_check.c ---- */

/* Proves a schedule word by word and event by event, from its instructions alone: every tile that
 * listens hears the word that the problem wants at that address, the right way round, and no word
 * is missing. EMU_BAD_EXCHANGE with the place of the first mistake. For tests: costs about as much
 * as running the exchange. */
enum emu_status schedule_prove(const struct exchange_problem *p,
                               const struct exchange_schedule *s) EMU_MUST_CHECK;

#endif
