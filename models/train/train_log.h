/* train_log.h - what happened at every step, and at every evaluation: the curve of a training. */
#ifndef MODELS_TRAIN_LOG_H
#define MODELS_TRAIN_LOG_H

#include <stdint.h>
#include <stdio.h>

#include "emu/base/fail.h"

/* A step; of an evaluation, which follows a step, `test` is 1. */
struct train_row {
    double step, epoch; /* the step's number, from 1; epochs begun, from 1 */
    double test;
    double loss, accuracy; /* means over the pictures; accuracy 0 to 1 */
    double rate, cycles;   /* of the step; of an evaluation 0 and those of all its batches */
    double pictures;
};
enum { TRAIN_ROW_NUMBERS = sizeof(struct train_row) / sizeof(double) };

struct train_log {
    struct train_row *row; /* owned */
    size_t rows, cap;
};

enum emu_status train_log_add(struct train_log *l, const struct train_row *r) EMU_MUST_CHECK;
void train_log_free(struct train_log *l);
/* Means over the steps (or evaluations) of an epoch, by pictures; 0 pictures: there are none. */
struct train_row train_log_epoch(const struct train_log *l, double epoch, int test);

/* "step,epoch,part,loss,accuracy,rate,cycles,pictures" and a line for each row. */
void train_log_csv(const struct train_log *l, FILE *f);
/* Two panels over the steps: loss and accuracy, of steps (thin, with a mean over some) and of
 * evaluations. title: what was trained. */
void train_log_svg(const struct train_log *l, const char *title, FILE *f);

#endif
