/* training.h - everything that `superstep train` makes on the way; for models/train, and for
 * models/api, which begins one in the same way.
 *
 * training_open.c from a request to a training that is compiled: options, network, programs
 *   cmd_train.c         the command: data, files; what is told when
 *   train_loop.c        epochs, steps, evaluations, checkpoints
 *   train_report.c      the answer
 */
#ifndef MODELS_TRAINING_H
#define MODELS_TRAINING_H

#include "emu/base/progress.h"
#include "emu/base/progress_meter.h"
#include "models/data/batches.h"
#include "models/train/train_bill.h"
#include "models/train/train_checkpoint.h"
#include "models/train/train_link.h"
#include "models/train/train_pictures.h"
#include "models/train/train_schedule.h"
#include "models/train/train_source.h"
#include "programs/cli/program_request.h"

enum { TRAINING_CURVES = 8, TRAINING_OPTIONS = 4096 };

/* A micro batch that is on the chip or on its way to it. */
struct micro_batch {
    uint32_t *label;  /* owned; by picture */
    uint64_t samples; /* of the epoch that are gone with it */
};
enum { UNDER_WAY = 4 }; /* more than there ever are */

struct training {
    const struct request *q; /* borrowed */
    struct arch arch;
    struct progress progress;
    struct dataset *data, *test_data; /* owned; test_data NULL: there is none */
    struct batches batches, test_batches;
    struct train_source source, test_source;
    struct network_choice choice;
    struct net_cache_input kept_as; /* of them, as the cache knows them */
    struct train_optimiser optimiser;
    struct train_schedule schedule;
    double loss_scale, smoothing;
    int dynamic_scale, skips; /* of the loss; a step that overflows does not stop the training */
    enum elem real;
    enum lower_states states;
    struct train_pictures prepared;
    uint64_t epochs, steps_max, steps_epoch;
    uint64_t supersteps;                    /* of a step; 0: not known */
    struct progress_meter meter;            /* of the supersteps of a step */
    uint32_t accumulate;                    /* micro batches of a step */
    struct train_chip_options chip_options; /* of the step */
    struct train_chip chip, test_chip;      /* owned; test_chip is all zero without test data */
    int tries; /* 1: only whether programs fit is wanted (fit_search.h) */
    /* For steps that were compiled and do not fit, the bytes of the tile that needs most; 0: there
     * is none. On machines with less memory they are not compiled again. */
    struct {
        uint64_t plain;     /* nothing is computed again */
        uint64_t beside_io; /* the other tiles are for IO */
    } unfit;
    struct train_link link;             /* how pictures get there */
    struct op_tensor pictures, targets; /* of a batch; owned */
    struct micro_batch way[UNDER_WAY];  /* micro batch n is at n % UNDER_WAY */
    uint64_t taken, done;               /* micro batches for the chip; done by it */
    struct train_progress at;
    char options[TRAINING_OPTIONS]; /* at.options */
    struct train_average average;   /* owned */
    struct train_log log;
    struct train_passes passes; /* of a step; owned */
    struct train_bill bill;     /* of the first step of this run */
    double host_seconds;        /* of all steps of this run */
    uint64_t steps_run;         /* of this run */
    /* Owned; NULL: not wanted. image: of the step's program. */
    struct output_file *parameters, *image, *gradients, *digests, *curve[TRAINING_CURVES];
    struct profile_files profile; /* of the machine that trains */
    int stopped;                  /* by an interrupt, at --limit or at --max-cycles */
    int code;
};

/* What the options say, by t->q. EMU_USAGE. */
enum emu_status training_read_options(struct training *t) EMU_MUST_CHECK;
/* The networks, and how pictures get to the chip. Errors: those of train_source_open(),
 * train_pictures_of(), train_link_of(). */
enum emu_status training_open_network(struct training *t) EMU_MUST_CHECK;
/* t->options and what follows from them; again after they change. */
void training_set_options(struct training *t);
/* The step, with IO tiles and blocks that are computed again as it needs to fit, and the
 * evaluation. Errors: those of train_step_make(), train_recompute(), train_chip_new(). EMU_OK also
 * if they do not fit. */
enum emu_status training_compile(struct training *t) EMU_MUST_CHECK;
int training_chip_fits(const struct train_chip *chip);
/* What the supersteps of the step are for: of a program that was found it was kept. */
enum emu_status training_know_passes(struct training *t) EMU_MUST_CHECK;
/* Keeps programs that were compiled for the next training; nothing depends on it. */
void training_keep(struct training *t);
void training_free(struct training *t); /* t may be all zero but for q */

/* Runs what is left of the training. Errors: those of a step; EMU_FAULT: the loss is no number. */
enum emu_status training_run(struct training *t) EMU_MUST_CHECK;
/* Whether the machine that trains has come to --max-cycles. */
int training_is_out_of_cycles(const struct training *t);
/* One step or evaluation batch without values, for the timing engine. */
enum emu_status training_time(struct training *t) EMU_MUST_CHECK;

/* The answer, as text or JSON; and on one line of stderr, what an epoch has brought. */
enum emu_status training_report(struct training *t, FILE *f) EMU_MUST_CHECK;
void training_tell_epoch(const struct training *t, double epoch);
void training_tell_step(const struct training *t);
/* Writes parameters and curves, each of them even if another fails; sets t->code. */
void training_write_files(struct training *t);

#endif
