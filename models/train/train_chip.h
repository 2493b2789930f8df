/* train_chip.h - steps of training executed on a chip. */
#ifndef MODELS_TRAIN_CHIP_H
#define MODELS_TRAIN_CHIP_H

#include "models/system/system.h"
#include "models/train/train_step.h"

struct train_chip_options {
    struct op_program_options program;
    const char *folder; /* of what is kept between runs, as in struct system_options */
    /* Borrowed, what names the program there, as in system_find_ready(), and `what` before it;
     * NULL: it is compiled. A program that is known not to fit is not compiled again
     * (system_known_need()). */
    const struct net_cache_input *kept_as;
    const char *what;
    int for_timing;            /* only the timing engine is to run it */
    struct progress *progress; /* as in struct system_options */
    double loss_scale;         /* the factor of the loss before its gradients are made */
    int dynamic_scale;         /* it is the first one */
    uint64_t seed;             /* of everything that is drawn */
    uint32_t batches;          /* micro batches of a step, in a loop on the chip; 0: one */
    /* program.lower.loop.link: what is of a micro batch goes through its IO tiles;
     * program.lower.loop.pixels: with bytes as pictures, of which the feed gives the numbers 0 to
     * 255. */
};
/* f16 with f32 states, loss scale 128, seed 1. */
struct train_chip_options train_chip_usual(void);

/* What a step draws. */
enum train_draw { ROUNDING, MASKS };
/* The two words that are the seed of a step's draws, for step `number` (from 0 on; of masks: micro
 * batch) of a training with that seed. Everything else that draws depend on is the operation's
 * number and, for rounding, tile and worker. */
void train_seed(uint64_t seed, enum train_draw what, uint64_t number, int64_t word[2]);

/* How the loss scale changes: torch's GradScaler. */
struct loss_scale {
    double now;
    int dynamic;   /* halved after a step that is skipped, doubled after LOSS_SCALE_GROWS */
    uint64_t good; /* steps in a row that were not skipped */
    uint64_t bad;  /* that were */
};
enum { LOSS_SCALE_GROWS = 2000, LOSS_SCALE_MAX = 32768 /* it is an f16 */ };

/* Gives the micro batches of a step, and gets their results. */
struct train_feed {
    void *ctx;
    /* The pictures and targets of the next one, of the shapes of the step's inputs, borrowed until
     * the next call. *data NULL: there are no more. With IO tiles the first one of the next step is
     * asked for, too, before the last one is done. */
    enum emu_status (*next)(void *ctx, const struct op_tensor **data,
                            const struct op_tensor **targets);
    /* The mean loss of its pictures; scores [pictures][classes] are borrowed. */
    enum emu_status (*done)(void *ctx, double loss, const struct op_tensor *scores);
};

/* The host's end of a stream of micro batches; private to train_chip_stream.c. */
struct chip_stream {
    struct train_chip *chip;
    uint32_t value;
};

struct train_chip {
    const struct op_graph *g; /* borrowed: made by train_step_make(), states with numbers */
    struct train_step step;
    struct loss_scale loss_scale;
    double scale;         /* of the last step: what its gradients are multiplied with */
    uint64_t seed;        /* of the rounding of states: with the step's number */
    struct system system; /* owned */
    uint32_t batches;     /* micro batches of a step */
    int looks_ahead;      /* IO tiles fetch a micro batch before it is needed */
    uint64_t steps;       /* done: the next one is step steps + 1 */
    uint64_t skipped;     /* of them: a gradient was no number, and no state has changed */
    int has_next;         /* the first micro batch of the next step is on the IO tiles */
    uint64_t sent;        /* micro batches that have been asked for by streams, in all steps */
    /* While a step runs: */
    uint32_t asked;                         /* micro batches of it that are or were on the chip */
    uint32_t parts;                         /* results that have come of the one in hand */
    const struct train_feed *feed;          /* borrowed; NULL: what is sent are zeros */
    const struct op_tensor *data, *targets; /* borrowed: of the micro batch */
    int dry;                                /* the feed has ended before the step */
    struct op_tensor loss, scores;          /* owned: of the micro batch */
    struct chip_stream *stream; /* owned, with train_chip_begin(); by input, then by output */
    uint32_t results;           /* streams of them */
};

/* Plans and compiles a step, or finds it; train_chip_begin() makes a machine of it. EMU_OK also for
 * a program that does not fit (system_fits()). Errors: those of system_build(). Free with
 * train_chip_free. */
enum emu_status train_chip_new(const struct arch *a, const struct op_graph *g,
                               const struct train_step *step, const struct train_chip_options *o,
                               struct train_chip *out) EMU_MUST_CHECK;
/* Compiles a step that was not compiled because it is known not to fit, so that a report can say
 * why it does not. Errors: those of system_build(). */
enum emu_status train_chip_build(struct train_chip *t) EMU_MUST_CHECK;
void train_chip_free(struct train_chip *t); /* t may be all zero */
/* Loads the program into a machine and gives all states their numbers; those without any are 0. */
enum emu_status train_chip_begin(struct train_chip *t,
                                 const struct session_options *o) EMU_MUST_CHECK;
/* The machine is gone; another one may begin. */
void train_chip_end(struct train_chip *t);

/* One step of one batch, on a chip without streams. data, targets: of the shapes of the step's
 * inputs. loss: the mean over the pictures.
 * Counts in t->skipped when it has changed no state. scores: [pictures][classes], owned by the
 * caller; NULL: not wanted. Errors: those of ss_session_run(), EMU_NO_MEMORY. */
enum emu_status train_chip_step(struct train_chip *t, const struct op_tensor *data,
                                const struct op_tensor *targets, double rate, double *loss,
                                struct op_tensor *scores) EMU_MUST_CHECK;

/* One step of t->batches micro batches: the gradients of all of them add up, undivided, and the
 * update divides by their number. *whole 0: the feed has ended before, and nothing has changed or
 * been counted. Errors: those of train_chip_step() and of the feed. */
enum emu_status train_chip_update(struct train_chip *t, const struct train_feed *feed, double rate,
                                  int *whole) EMU_MUST_CHECK;

/* One step on zeros, for the timing engine, which has no values. */
enum emu_status train_chip_time(struct train_chip *t) EMU_MUST_CHECK;
/* Writes what the first step begins with into the program's image: states, rate, seeds; of pictures
 * and targets zeros, if the host writes them before a step. Before train_chip_begin(). Errors:
 * those of system_write(). */
enum emu_status train_chip_image(struct train_chip *t, double rate) EMU_MUST_CHECK;

/* The scores of a batch, of a graph made by train_eval_make(). */
enum emu_status train_chip_scores(struct train_chip *t, const struct op_tensor *data,
                                  struct op_tensor *scores) EMU_MUST_CHECK;
/* The gradient of the last step's mean loss by a parameter, a state, in its shape, without the loss
 * scale; as the update has taken it, before decay. program.lower.gradients must have been set. Free
 * with op_tensor_free. Errors: those of system_read_gradient(). */
enum emu_status train_chip_gradient(struct train_chip *t, uint32_t parameter,
                                    struct op_tensor *out) EMU_MUST_CHECK;
/* Gives the states of one chip those of the same name of another, which has them all. */
enum emu_status train_chip_copy_states(struct train_chip *from,
                                       struct train_chip *to) EMU_MUST_CHECK;

/* Connects the streams of a session to the feed of whatever step runs. t must stay where it is. */
enum emu_status train_chip_connect(struct train_chip *t) EMU_MUST_CHECK;
/* Whether the step is fed by streams. */
int train_chip_streams(const struct train_chip *t);
/* Writes the first micro batch of a step to the IO tiles, if it is not there: of the feed, or
 * zeros. t->dry: there is none. */
enum emu_status train_chip_first(struct train_chip *t) EMU_MUST_CHECK;

/* What a state is made of on the chip: f32 or f16. */
enum elem train_chip_elem(const struct train_chip *t, uint32_t state);
/* The numbers of a state, by its value in the graph. Reading: free with op_tensor_free. */
enum emu_status train_chip_read(struct train_chip *t, uint32_t state,
                                struct op_tensor *out) EMU_MUST_CHECK;
enum emu_status train_chip_write(struct train_chip *t, uint32_t state,
                                 const struct op_tensor *numbers) EMU_MUST_CHECK;

#endif
