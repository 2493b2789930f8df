/* pipeline_schedule.h - which stage of a pipeline works on which micro batch when, and how long it
 * keeps what it has.
 *
 * Time is cut into *phases*. Before each phase all chips meet and exchange what goes between
 * stages; in it each stage computes F (forward) of one micro batch, B (backward) of one, first F
 * and then B, or nothing. A *round* is a fixed number of phases, and every round the pipeline takes
 * one more micro batch: what a stage does with micro batch m it does m rounds later than with
 * micro batch 0. A phase in which no stage has work is left out, with its exchange.
 *
 *   grouped       F of all stages, B of all; a round is one phase, or with 2 exchanges two
 *   gpipe         F of all micro batches, then B of all: two rounds for a micro batch
 *   interleaved   stages do F and B in turns, their neighbours the other one: two phases a round
 *   sequential    one micro batch, one stage after the other: 2 stages phases a round
 *
 * All have B in the order of the micro batches, so gradients add up in one order.
 */
#ifndef MODELS_PIPELINE_SCHEDULE_H
#define MODELS_PIPELINE_SCHEDULE_H

#include <stdint.h>
#include <stdio.h>

#include "emu/base/status.h"

enum pipeline_kind {
#define PIPELINE(name, text) PIPELINE_##name,
#include "models/pipeline/pipeline_kinds.def"
#undef PIPELINE
    PIPELINE_KINDS
};
const char *pipeline_kind_name(enum pipeline_kind k); /* "gpipe" */

enum {
    PIPELINE_STAGES = 8,                     /* most */
    PIPELINE_PHASES = 2 * PIPELINE_STAGES,   /* most of a round */
    PIPELINE_MICROS = 1 << 20,               /* most micro batches */
    PIPELINE_SPANS = 4 * PIPELINE_STAGES + 1 /* see pipeline_spans() */
};
#define PIPELINE_NONE UINT32_MAX

/* When a stage works on micro batch 0, and which exchange takes what it has made for other stages:
 * the next one that stands before phase `sent` of a round. */
struct pipeline_turn {
    uint32_t round;
    unsigned phase, sent;
};

struct pipeline_schedule {
    enum pipeline_kind kind;
    unsigned stages;
    unsigned phases; /* of a round */
    uint32_t micros, rounds;
    struct pipeline_turn f[PIPELINE_STAGES], b[PIPELINE_STAGES];
};

/* What is asked for: --schedule, --exchanges, --chips, --accumulate. */
struct pipeline_options {
    const char *schedule; /* NULL: grouped */
    unsigned exchanges;   /* of a round of the grouped schedule, 1 or 2; 0: 1 */
    unsigned stages;
    uint32_t micros; /* micro batches of an update */
};
/* EMU_USAGE says what is wrong: no such schedule, exchanges of a schedule that has its own, more
 * stages than PIPELINE_STAGES, fewer micro batches than stages. */
enum emu_status pipeline_schedule_make(const struct pipeline_options *o,
                                       struct pipeline_schedule *out) EMU_MUST_CHECK;

/* Micro batches; PIPELINE_NONE: no such work. */
struct pipeline_work {
    uint32_t f, b;
};
struct pipeline_work pipeline_work_at(const struct pipeline_schedule *s, unsigned stage,
                                      uint32_t round, unsigned phase);
/* Whether a phase is there: some stage has work. */
int pipeline_has_phase(const struct pipeline_schedule *s, uint32_t round, unsigned phase);
/* All phases that are there; before each is an exchange. */
uint64_t pipeline_exchanges(const struct pipeline_schedule *s);
/* The rounds, ascending, at which something begins or ends; the last is s->rounds. All rounds from
 * 0 or one of these up to the next are alike: the same phases, and in each the same stages work.
 * Returns how many, at least 1. */
unsigned pipeline_spans(const struct pipeline_schedule *s, uint32_t at[PIPELINE_SPANS]);

/* Micro batches of which a stage must keep what B reads and F has had, with the one at work. */
uint32_t pipeline_stash_rows(const struct pipeline_schedule *s, unsigned stage);
/* An edge from a stage to another: of F to a later one, of B to an earlier one. Each exchange
 * before phase pipeline_edge_phase() takes it along, also before there is anything and after the
 * last. */
unsigned pipeline_edge_phase(const struct pipeline_schedule *s, unsigned from, unsigned to);
/* What it brings is read after so many of these exchanges, the one that brought it counted: 1 for
 * neighbours. The reader keeps a ring of so many rows; what it reads is the oldest row. */
uint32_t pipeline_edge_rows(const struct pipeline_schedule *s, unsigned from, unsigned to);

/* A line for each stage, a column for each phase: F0, B0 and so on, a dot where a stage has nothing
 * to do. Phases of both have both: F3B1. */
void pipeline_draw(const struct pipeline_schedule *s, FILE *f);

#endif
