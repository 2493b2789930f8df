/* model_output.h - what a run writes besides its answer: image, digests, chart, logits, outputs.
 *
 * Files are opened before the work, so that one that cannot be written is found at once, and appear
 * whole or not at all.
 */
#ifndef MODELS_MODEL_OUTPUT_H
#define MODELS_MODEL_OUTPUT_H

#include "emu/cli/request_profile.h"
#include "models/ask/model_inputs.h"

struct model_files { /* all owned; NULL: not wanted, or already committed */
    struct output_file *image, *digests, *chart, *logits;
    struct profile_files profile;
    struct model_save *save; /* of outputs */
    size_t saves;
};

/* Opens the files that a request names. Errors: EMU_USAGE (one is a file that is read, or an output
 * is not there), EMU_IO. Close with model_files_close, also after an error. */
enum emu_status model_files_open(const struct request *q, const struct op_graph *g,
                                 struct model_files *out) EMU_MUST_CHECK;
/* Discards what was not committed. */
void model_files_close(struct model_files *f);

/* Writes the file of the k-th --save. out: by output of the graph. EMU_IO. */
enum emu_status model_files_save(struct model_files *f, size_t k,
                                 const struct op_tensor *out) EMU_MUST_CHECK;
/* Writes the file of --logits: two F32 tensors, "input" and "logits". EMU_IO, EMU_NO_MEMORY. */
enum emu_status model_files_logits(struct model_files *f, const struct op_tensor *input,
                                   const struct op_tensor *logits) EMU_MUST_CHECK;

#endif
