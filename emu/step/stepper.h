/* stepper.h - a run that stops where one wants to look, forwards and backwards.
 *
 * A position is a cycle: all tiles of all chips have issued what begins before it, and nothing else
 * but the rest of a round of six cycles, in which every due worker issues once. Words of an
 * exchange are in memory when the last tile of it has come to its RECV, those of other chips when
 * they arrive, but not before all that may send in that phase have come to theirs. So a position is
 * a state of the machine that does not depend on how it was reached.
 *
 * What is looked for may be found only after it happened: the machine runs on for a while, tile by
 * tile, and is then put back to an earlier state (history.h) and run to the cycle that was found.
 */
#ifndef EMU_STEPPER_H
#define EMU_STEPPER_H

#include "emu/step/history.h"
#include "emu/step/observe.h"

struct stepper;

/* What others know of a program, by superstep of sync group 0; name() NULL: nothing. */
struct step_names {
    void *ctx;
    /* The layer or step that it belongs to, on a chip of the system; NULL: none. Borrowed. */
    const char *(*name)(void *ctx, uint32_t chip, uint64_t superstep);
};

struct stepper_options {
    size_t history_bytes;
    struct step_names names;
    int (*interrupted)(void); /* asked now and then; NULL: nobody interrupts */
};

/* A run as history_new() takes it, borrowed. Errors: those of history_new(). */
enum emu_status stepper_new(struct run *r, const struct stepper_options *o,
                            struct stepper **out) EMU_MUST_CHECK;
void stepper_free(struct stepper *s);

/* ---- where it is ---- */

enum stepper_state {
    STEPPER_RUNS,
    STEPPER_ENDED,
    STEPPER_FAULTED,
    STEPPER_DEADLOCK,
    STEPPER_ERROR /* of the host, such as a stream that has ended */
};

struct run *stepper_run_of(const struct stepper *s);
struct history *stepper_history(const struct stepper *s);
enum stepper_state stepper_state(const struct stepper *s);
const char *stepper_why(const struct stepper *s); /* of a deadlock or an error; borrowed */
uint64_t stepper_cycle(const struct stepper *s);
/* Of the group of the chosen tile: the number of the superstep, the cycle in which it began, and
 * its name, NULL if there is none. */
uint64_t stepper_superstep(const struct stepper *s);
uint64_t stepper_begin(const struct stepper *s);
const char *stepper_name(const struct stepper *s, uint64_t superstep);
int stepper_names(const struct stepper *s); /* whether supersteps have names */
/* "exchange", "compute" or "sync": what the chosen tile does. Where a superstep begins, it is
 * exchange, whether or not something comes. */
const char *stepper_phase(const struct stepper *s);

/* What the chosen tile waits for: "for a sync of the chip"; NULL: it runs, or could. */
const char *stepper_waits(const struct stepper *s);

struct hash128 stepper_digest(struct stepper *s);

/* The context that is looked at. */
uint32_t stepper_chip(const struct stepper *s);
uint32_t stepper_tile(const struct stepper *s);
unsigned stepper_lane(const struct stepper *s);
/* The tile takes part. */
void stepper_choose(struct stepper *s, uint32_t chip, uint32_t tile, unsigned lane);
/* The first tile of a chip that takes part; UINT32_MAX: none does. */
uint32_t stepper_first_tile(const struct stepper *s, uint32_t chip);
/* Of the chip that is looked at. */
struct machine *stepper_machine(const struct stepper *s);
const struct record *stepper_record(const struct stepper *s);

/* ---- breakpoints and watchpoints ---- */

enum { STEPPER_POINTS = 32, POINT_ANY_LANE = TILE_LANES };

struct stepper_point {
    int number; /* from 1; 0: free */
    int is_watch;
    uint32_t chip, tile;
    uint32_t addr, bytes; /* bytes: of a watchpoint */
    unsigned lane;        /* of a breakpoint; or POINT_ANY_LANE */
};

/* Returns its number, 0 when there are STEPPER_POINTS already. */
int stepper_add_point(struct stepper *s, const struct stepper_point *p);
int stepper_delete_point(struct stepper *s, int number); /* 0: there is none */
/* The i-th, i < STEPPER_POINTS; NULL: free. */
const struct stepper_point *stepper_point_at(const struct stepper *s, unsigned i);

/* ---- going ---- */

enum stop_reason {
    STOP_END,   /* of the run, a fault or a deadlock: stepper_state() */
    STOP_THERE, /* where it was to go */
    STOP_BREAK,
    STOP_WATCH,
    STOP_INTERRUPT
};

/* Who wrote, for a watchpoint. */
enum writer_kind { WRITER_CONTEXT, WRITER_TILE, WRITER_HOST };
struct memory_writer {
    enum writer_kind kind;
    uint64_t cycle; /* words of a tile: in which all of its exchange are in memory */
    uint32_t chip, tile, addr, bytes;
    unsigned lane; /* WRITER_CONTEXT */
    uint32_t pc;
    uint32_t from_chip, from, from_addr; /* WRITER_TILE */
    char text[160];                      /* WRITER_CONTEXT: the instruction */
};

struct stepper_stop {
    enum stop_reason why;
    int point;      /* STOP_BREAK, STOP_WATCH: its number */
    uint32_t lanes; /* STOP_BREAK: contexts that are about to issue there, a bit each */
    struct memory_writer writer;
    struct issue issue; /* of GOAL_ISSUE: the one that was executed last; pc 0: none */
    char values[256];   /* what it has left */
};

enum goal_kind {
    GOAL_END,
    GOAL_CYCLE,     /* number: absolute */
    GOAL_SUPERSTEP, /* number: the beginning of the superstep, of the chosen tile's group */
    GOAL_NAME,      /* the next superstep that has this name and follows one with another */
    GOAL_PHASE,     /* number: so many phases of the chosen tile on */
    GOAL_ISSUE,     /* number: so many issues of the chosen context on */
    GOAL_TILE,      /* any issue of the chosen tile */
    GOAL_PC         /* number: an address; the chosen context, or with any_lane its tile */
};

struct goal {
    enum goal_kind kind;
    uint64_t number;
    const char *name;
    int any_lane;
    int ignores_points; /* go past breakpoints and watchpoints */
};

/* Runs forwards until the goal is reached, or something else stops it. Errors: EMU_NO_MEMORY, those
 * of the host's streams. After an error the stepper may only be freed. */
enum emu_status stepper_go(struct stepper *s, const struct goal *g,
                           struct stepper_stop *out) EMU_MUST_CHECK;
/* Goes to a cycle, forwards or backwards, past all points. */
enum emu_status stepper_go_to(struct stepper *s, uint64_t cycle) EMU_MUST_CHECK;
/* The cycles of beginnings of supersteps of the chosen tile's group that the run has come past.
 * Returns the n-th before the position (1: the last one before it), 0 if there are not so many. */
uint64_t stepper_boundary_before(const struct stepper *s, uint64_t n);
/* Goes back before the n-th last issue of the chosen context; *found: how many there were. */
enum emu_status stepper_back_issues(struct stepper *s, uint64_t n, uint64_t *found) EMU_MUST_CHECK;
/* Who wrote bytes of a tile last, before the position; *found is 0 when nobody has since the
 * beginning. The position stays. */
enum emu_status stepper_last_writer(struct stepper *s, uint32_t chip, uint32_t tile, uint32_t addr,
                                    uint32_t bytes, struct memory_writer *out,
                                    int *found) EMU_MUST_CHECK;

#endif
