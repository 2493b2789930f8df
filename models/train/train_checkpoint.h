/* train_checkpoint.h - a training as a file, from which it goes on to the same bits.
 *
 * A safetensors file: every state of the step under its name (parameters as weight files name them,
 * "PARAMETER.momentum" and the like), and "superstep.progress", "superstep.options",
 * "superstep.log". Only f32 states
 * can change from step to step, so the file has all that does.
 */
#ifndef MODELS_TRAIN_CHECKPOINT_H
#define MODELS_TRAIN_CHECKPOINT_H

#include "emu/base/output_file.h"
#include "models/train/train_average.h"
#include "models/train/train_log.h"

/* Where a training is, and what it must be asked for again to go on with the same bits. */
struct train_progress {
    uint64_t steps;          /* done */
    uint64_t epoch, samples; /* that is under way, from 0; taken of its order */
    uint64_t seed, batch;
    uint64_t recipe; /* hash of options */
    struct {
        uint64_t scale_bits; /* of the f64 */
        uint64_t good, bad, skipped;
    } loss;            /* train_chip.h: loss_scale, skipped */
    uint64_t averaged; /* how often averages were taken */
    /* Lines "NAME=VALUE" of everything that changes results (train_options.h), which a checkpoint
     * keeps beside the numbers above; borrowed, NULL: none. */
    const char *options;
};

/* Writes the states that chip has now, and averages if there are any. The file at path appears
 * whole or stays as it was. Errors: EMU_IO, EMU_NO_MEMORY. */
enum emu_status train_checkpoint_write(struct train_chip *chip, const struct train_progress *p,
                                       const struct train_log *log, const struct train_average *a,
                                       const char *path) EMU_MUST_CHECK;
/* Reads a file into chip, p, log and a, which may have a part of it after an error. Errors: EMU_IO;
 * EMU_BAD_FILE: it is damaged, or of another network; EMU_USAGE names the first of p's options that
 * was another one. */
enum emu_status train_checkpoint_read(struct train_chip *chip, struct train_progress *p,
                                      struct train_log *log, struct train_average *a,
                                      const char *path) EMU_MUST_CHECK;

/* The same of a file that was read; path is for messages. */
enum emu_status train_checkpoint_take(struct train_chip *chip, struct train_progress *p,
                                      struct train_log *log, struct train_average *a,
                                      const void *data, size_t bytes,
                                      const char *path) EMU_MUST_CHECK;

/* Writes the gradients of the last step by all parameters, f32 (train_chip_gradient()), under the
 * names of these. EMU_USAGE: no step has run. */
enum emu_status train_gradients_write(struct train_chip *chip,
                                      struct output_file *out) EMU_MUST_CHECK;

/* Writes parameters and running statistics only, for other programs; averages if there are any. */
enum emu_status train_parameters_write(struct train_chip *chip, const struct train_average *a,
                                       struct output_file *out) EMU_MUST_CHECK;

#endif
