/* step_search.h - the inside of a stepper. Shared by the files of emu/step only. */
#ifndef EMU_STEP_SEARCH_H
#define EMU_STEP_SEARCH_H

#include "emu/step/stepper.h"

struct stepper {
    struct run *run; /* borrowed */
    struct stepper_options options;
    struct history *history; /* owned */
    uint64_t cycle;          /* the position; the machine is there between two calls */
    uint64_t held;           /* the chosen tile is only there; 0: as far as the others */
    enum stepper_state state;
    char *why;          /* owned: of a deadlock or an error; else NULL */
    size_t *boundaries; /* owned [chips]: entries of each record that end with a release */
    uint32_t chip, tile;
    unsigned lane;
    struct stepper_point point[STEPPER_POINTS];
    int points;                  /* numbers given so far */
    uint64_t stopped_at, passed; /* of a stop at a breakpoint: its cycle, and the last issue of it
                                    that the next search goes past */
    double put_away_seconds, run_seconds; /* the last state took; run since then */
};

/* Runs the machine to a cycle, at least that of its position. */
enum emu_status stepper_advance(struct stepper *s, uint64_t to) EMU_MUST_CHECK;
/* Goes to a position: a cycle, and how far the chosen tile is; held 0: as far as the others. */
enum emu_status stepper_go_position(struct stepper *s, uint64_t cycle,
                                    uint64_t held) EMU_MUST_CHECK;
/* How far the chosen tile is to go while the others are at the position. */
void stepper_hold(struct stepper *s, uint64_t held);
/* Puts the present state away; where running since the last one took little time, only if `must`.
 */
enum emu_status stepper_put_away(struct stepper *s, int must) EMU_MUST_CHECK;
/* The cycle at which a run that does not go on has come to its end: the state is the same whenever
 * it is run to it. */
uint64_t stepper_end_cycle(const struct stepper *s);
/* Whether entry i of the chosen chip's record ends with a release of the chosen tile's group. */
int stepper_is_boundary(const struct stepper *s, size_t i);
/* The position before what a tile is about to issue in `cycle`: with workers the first cycle of
 * their round, else the one from which the supervisor would issue but for its operands. */
uint64_t stepper_round(const struct stepper *s, uint32_t chip, uint32_t tile, uint64_t cycle);

#endif
