/* schedule_private.h - an exchange while it is scheduled: who takes part, what is sent, the orders
 * that were tried, and the best times so far.
 */
#ifndef PROGRAMS_SCHEDULE_PRIVATE_H
#define PROGRAMS_SCHEDULE_PRIVATE_H

#include "programs/compiler/schedule/schedule.h"
#include "programs/compiler/schedule/timeline.h"

/* A tile that takes part. */
struct endpoint {
    uint32_t tile, physical;
    uint32_t lag; /* pic_lag */
    uint32_t words_in, words_out;
    uint32_t messages_in, messages_out; /* of the problem */
    uint32_t jobs;                      /* that it sends, before any is split */
    uint32_t last_in;                   /* 1 + the last message in, while they are read */
};

/* One receiver of a job. */
struct job_dest {
    uint32_t point; /* endpoint */
    int32_t delay;  /* T from the sender */
    uint32_t rank;  /* of the address among those of the endpoint */
    struct plan_addr to;
};

/* What is sent in one go: messages that follow each other in all memories, or a part of the
 * receivers of one. */
struct job {
    uint32_t point, words;
    uint32_t first, dests; /* in schedule.dest */
    uint32_t message;      /* the first one: address and errors */
};

/* The messages as jobs. */
struct job_list {
    struct job *job;       /* owned */
    struct job_dest *dest; /* owned */
    uint32_t jobs, dests;
};

/* When every job is sent: events of the senders. */
struct timing {
    uint32_t *start; /* owned; [jobs] */
    uint32_t events; /* release to the last word in memory; UINT32_MAX: none found yet */
};

struct schedule {
    const struct exchange_problem *p; /* borrowed */
    struct endpoint *point;           /* owned; ascending tiles */
    uint32_t points;
    struct job_list list;
    uint32_t *rank; /* owned; [p->dest_count]: of the address among those of its tile */
    uint32_t bound; /* B */
    uint32_t least; /* events of an ideal schedule, or a little less */
};

/* ---- schedule_jobs.c ---- */

/* Reads and checks a problem. Errors as exchange_schedule; s can be freed in any case. */
enum emu_status schedule_read(struct schedule *s, const struct exchange_problem *p) EMU_MUST_CHECK;
void schedule_free(struct schedule *s);
/* The same jobs with at most `receivers` receivers each, as long as no tile sends more than B words
 * for that. out: empty when there is nothing to split. */
enum emu_status schedule_split(const struct schedule *s, uint32_t receivers,
                               struct job_list *out) EMU_MUST_CHECK;
void job_list_free(struct job_list *l);

/* ---- schedule_order.c ---- */

/* What a list of jobs is sorted by. */
struct order_key {
    uint64_t key;
    uint32_t job;
};

enum job_order {
    ORDER_SHIFT,   /* by the way from source to first destination: neighbours follow neighbours */
    ORDER_BACK,    /* the same, largest way first */
    ORDER_WORDS,   /* longest first, those of one length as ORDER_BACK */
    ORDER_DELAY,   /* longest delay first */
    ORDER_LOAD,    /* fullest endpoint first, longest first */
    ORDER_ADDRESS, /* by the place among what the first receiver gets, in order of addresses */
    ORDER_ROUNDS   /* by rounds in which every tile has one job to send and one to receive */
};

/* Sorts by key, equal ones as they stand. scratch: as many entries. */
void order_sort(struct order_key *key, struct order_key *scratch, uint32_t n);
/* All jobs of l in an order, not ORDER_ROUNDS; key and scratch: [l->jobs]. */
void order_make(const struct schedule *s, const struct job_list *l, enum job_order order,
                struct order_key *key, struct order_key *scratch);

/* ---- schedule_colour.c ---- */

/* ORDER_ROUNDS, for jobs with one receiver each: the least number of rounds. EMU_NO_MEMORY. */
enum emu_status schedule_rounds(const struct schedule *s, const struct job_list *l,
                                struct order_key *key, struct order_key *scratch) EMU_MUST_CHECK;

/* ---- schedule_pass.c ---- */

enum { SCHEDULE_GOOD_PERCENT = 5 }; /* above schedule.least: not worth more search */

/* A way to begin. */
struct attempt {
    enum job_order order;
    int on_grid;     /* schedule_grid() */
    int in_order;    /* no receiver gets a job before one that was placed earlier */
    unsigned rounds; /* at most; reversed time and back, as long as that helps */
};

struct search {
    const struct schedule *s;
    const struct job_list *l;
    struct timelines ports;   /* senders, then receivers */
    struct timeline_use *use; /* owned; of job j from l->job[j].first + j on: sender, receivers */
    struct order_key *key, *scratch; /* owned; [jobs] */
    int32_t *start;                  /* owned; of the pass: may be negative after a backward one */
    uint32_t *part;  /* owned; [jobs] number of the part: parts have no port in common */
    uint32_t *end;   /* owned; [parts] events of each in this pass, */
    uint32_t *least; /* owned; [parts] and in f->best */
    uint32_t parts;
    uint32_t *arrived; /* owned; [points] event after what came in so far, where order counts */
    uint32_t *phase;   /* owned; [jobs] (schedule_grid) */
    uint32_t unit;     /* of the grid */
    uint32_t passes;   /* that may still be made */
    int hopeless;      /* the last pass was given up */
    struct timing best;
};

/* s and l are borrowed. Free f in any case. EMU_NO_MEMORY. */
enum emu_status search_init(struct search *f, const struct schedule *s,
                            const struct job_list *l) EMU_MUST_CHECK;
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

/* Where the jobs may begin so that those of one way fit each other: at events that leave phase[j]
 * when divided by the result, which divides the words of all jobs; 1: anywhere. phase: [l->jobs],
 * not written then. */
uint32_t schedule_grid(const struct schedule *s, const struct job_list *l, uint32_t *phase);

/* ---- schedule_code.c ---- */

/* The plans of all tiles for these times. out: as of exchange_schedule. */
enum emu_status schedule_code(const struct schedule *s, const struct job_list *l,
                              const struct timing *t, struct exchange_schedule *out) EMU_MUST_CHECK;

/* ---- schedule_check.c ---- */

/* Proves a schedule word by word and event by event, from its plans alone: whoever listens hears
 * the word of the problem that belongs at the address, the right way round, and nothing is missing.
 * EMU_BAD_EXCHANGE with the place of the first mistake. For tests: costs about as much as running
 * the exchange. */
enum emu_status schedule_prove(const struct exchange_problem *p,
                               const struct exchange_schedule *s) EMU_MUST_CHECK;

#endif
