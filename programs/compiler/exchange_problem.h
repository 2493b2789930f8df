/* exchange_problem.h - the messages of a lowered step as a problem for the scheduler.
 *
 * In a problem the objects of a step are numbered in the order in which its messages name them. So
 * the exchanges of equal layers, which differ in nothing but their objects, are equal problems.
 */
#ifndef PROGRAMS_EXCHANGE_PROBLEM_H
#define PROGRAMS_EXCHANGE_PROBLEM_H

#include "programs/compiler/lower/lowered.h"
#include "programs/compiler/schedule/schedule.h"

/* The messages of a step. Their bases are objects of the program until they are numbered. */
struct step_messages {
    VEC(struct exchange_message) message;
    VEC(struct exchange_dest) dest;
};

/* What numbering needs and finds out; reused for the next step by the same thread. */
struct step_objects {
    VEC(uint32_t) base;    /* objects, by number in the problem */
    VEC(uint32_t) text;    /* the end of what a schedule depends on, */
    struct hash128 hash;   /* and the hash of all before it */
    uint32_t *number;      /* by object: its number in the problem; owned */
    uint32_t *stamp;       /* by object: the build for which number is valid; owned */
    uint32_t build, known; /* known: entries of number and stamp */
};

/* The messages of a STEP_EXCHANGE, whose former contents are lost. EMU_NO_MEMORY. */
enum emu_status step_messages_read(const struct lowered *l, uint32_t step,
                                   struct step_messages *out) EMU_MUST_CHECK;
void step_messages_free(struct step_messages *m);
/* Gives the objects their numbers. o->base says which they were, and *hash stands for all that the
 * schedule depends on. EMU_NO_MEMORY. */
enum emu_status step_messages_number(struct step_messages *m, struct step_objects *o,
                                     struct hash128 *hash) EMU_MUST_CHECK;
void step_objects_free(struct step_objects *o);

struct exchange_problem step_problem(const struct step_messages *m, const struct arch *a);

/* The chip, with as much memory as a program may ask for: the scheduler refuses tiles that receive
 * more than they can hold. Whether they can is for the placement to find out, which says more about
 * it. */
struct arch exchange_arch(const struct arch *a);

#endif
