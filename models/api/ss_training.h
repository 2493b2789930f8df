/* ss_training.h - steps of training for a program: opened by the words of `superstep train`,
 * on numbers that the program gives (ss_network.h has what is the same for networks that run).
 */
#ifndef MODELS_SS_TRAINING_H
#define MODELS_SS_TRAINING_H

#include "models/api/ss_network.h"

SUPERSTEP_API_BEGIN

struct ss_training;

/* Opens a network as a step of training, and compiles it or finds it in the cache.
 *
 * words   [count] options as on the command line of `superstep train`: --batch, --optimiser,
 *         --rate, --momentum, --format, --accumulate, .. Refused is what a program says by its
 *         calls: data, epochs, schedules, checkpoints, --max-cycles. Without --io-tiles numbers
 *         come before each step, which the command line says with --io-tiles 0
 * Errors  as for ss_network_open(); *out: ss_training_close() it
 */
enum emu_status ss_training_open(const char *what, const char *const *words, size_t count,
                                 const struct ss_listener *listener,
                                 struct ss_training **out) EMU_MUST_CHECK;
void ss_training_close(struct ss_training *t); /* NULL allowed */

/* What a step takes: data [pictures].., as the network reads them (with --input-type u8 pixels, 0
 * to 255), and targets [pictures][classes]; of --accumulate K micro batches K times as many. */
enum emu_status ss_training_data(const struct ss_training *t, struct ss_value *out) EMU_MUST_CHECK;
enum emu_status ss_training_targets(const struct ss_training *t,
                                    struct ss_value *out) EMU_MUST_CHECK;

/* The rate of learning of the next steps: --rate, until it is set. EMU_USAGE: it is negative or no
 * number. */
double ss_training_rate(const struct ss_training *t);
enum emu_status ss_training_set_rate(struct ss_training *t, double rate) EMU_MUST_CHECK;

/* One step: parameters become those after it. loss: the mean over the pictures; NULL: not wanted.
 * A step whose loss or gradients are no numbers changes nothing, which ss_training_skipped()
 * counts. Each row of targets adds up to 1. With --engine timing numbers are not looked at, and the
 * loss is NaN. Errors: EMU_USAGE: other counts; EMU_FAULT. */
enum emu_status ss_training_step(struct ss_training *t, const float *data, size_t count,
                                 const float *targets, size_t target_count,
                                 double *loss) EMU_MUST_CHECK;
/* The same with the class of each picture, of which --smoothing makes targets. EMU_USAGE: a class
 * that there is not, too. */
enum emu_status ss_training_step_labels(struct ss_training *t, const float *data, size_t count,
                                        const uint32_t *labels, size_t label_count,
                                        double *loss) EMU_MUST_CHECK;
/* The scores of the last step, [pictures][classes], before softmax. EMU_USAGE: another count, or
 * there are none. */
enum emu_status ss_training_scores(const struct ss_training *t, float *scores,
                                   size_t count) EMU_MUST_CHECK;

uint64_t ss_training_steps(const struct ss_training *t); /* so far, with those that were skipped */
uint64_t ss_training_skipped(const struct ss_training *t); /* of them */
uint64_t ss_training_cycles(const struct ss_training *t);  /* of the last step */
double ss_training_seconds(const struct ss_training *t);   /* at the machine's clock */
const char *ss_training_engine(const struct ss_training *t);
enum emu_status ss_training_memory(const struct ss_training *t,
                                   struct ss_memory *out) EMU_MUST_CHECK;

/* Parameters and what else changes from step to step, by their names: running statistics, and
 * states of the optimiser, "PARAMETER.momentum". EMU_USAGE: no such one, another count. */
uint32_t ss_training_parameters(const struct ss_training *t); /* how many */
enum emu_status ss_training_parameter(const struct ss_training *t, uint32_t i,
                                      struct ss_value *out) EMU_MUST_CHECK;
enum emu_status ss_training_read(struct ss_training *t, const char *parameter, float *numbers,
                                 size_t count) EMU_MUST_CHECK;
enum emu_status ss_training_write(struct ss_training *t, const char *parameter,
                                  const float *numbers, size_t count) EMU_MUST_CHECK;
/* Writes parameters and running statistics as `superstep train -o` does, for --weights. EMU_IO. */
enum emu_status ss_training_save(struct ss_training *t, const char *file) EMU_MUST_CHECK;

SUPERSTEP_API_END

#endif
