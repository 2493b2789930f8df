/* network_run.h - a network from the request to a run that can be read: what `run` and `compile` do
 * for people, and models/api for programs. The caller prints, writes files, and knows exit codes.
 *
 * In order: open, prepare, inputs; init, then find, or system_build(); start, execute, outputs,
 * look, bill, answer. From start on all may be done again.
 */
#ifndef MODELS_NETWORK_RUN_H
#define MODELS_NETWORK_RUN_H

#include "emu/base/progress_meter.h"
#include "models/answer/model_output.h"
#include "models/answer/model_report.h"
#include "models/ask/model_source.h"
#include "models/system/system.h"

/* Everything that is made on the way; owned unless a member says otherwise. */
struct network_run {
    const struct request *q; /* borrowed */
    struct arch arch;
    struct model_source source;
    struct picture_recipe recipe; /* of the pictures of a network by name */
    struct model_input *in;       /* by input of the graph */
    struct op_tensor *out;        /* by output of the graph, after a run with values */
    struct system system;
    char *cut;                  /* owned; of --cut auto; NULL: nothing fits */
    struct answer_stage *stage; /* owned; of several chips, with the bill of layers */
    struct layer_range *ranges; /* owned; by row of layers; NULL: not asked for */
    float *scores;
    struct class_names classes;  /* --labels */
    struct progress_meter meter; /* of the execution */
    struct progress progress;
};

/* The machine, and the network as model_source_open() opens it. m must stay where it is; free with
 * network_run_free(), also after an error. Errors: those of request_arch(), model_source_open(). */
enum emu_status network_run_open(struct network_run *m, const struct request *q) EMU_MUST_CHECK;
void network_run_free(struct network_run *m); /* all zero, or opened */
/* Names of classes, how pictures are taken, and the cut of --cut auto. Errors: those of
 * class_names_read(), model_source_recipe(), picture_choose(), cut_choose(); EMU_USAGE for --cut
 * all. */
enum emu_status network_run_prepare(struct network_run *m) EMU_MUST_CHECK;
/* The numbers of all inputs: model_inputs_read(). */
enum emu_status network_run_inputs(struct network_run *m) EMU_MUST_CHECK;
/* What messages begin with: the name of a network, borrowed; NULL: a file is named by its own. */
const char *network_run_subject(const struct network_run *m);

/* m->system, without a program. */
void network_run_init(struct network_run *m);
/* Takes the program from the cache. Returns 0 when it is not there, or more is wanted than it has.
 */
int network_run_find(struct network_run *m);
/* The rows of layers of a program that was compiled, without cycles. Errors: those of
 * system_bill_layers(). */
enum emu_status network_run_layers(struct network_run *m) EMU_MUST_CHECK;
/* Keeps it there, if it was compiled: system_keep(). */
void network_run_keep(struct network_run *m);

/* NaN and infinity in weights and inputs: warns, and notes them for the answer. */
void network_run_look_at_inputs(struct network_run *m);
/* A machine with program and inputs; what an earlier run has left is gone. digests: as in struct
 * session_options. Errors: those of system_start() and system_write(). */
enum emu_status network_run_start(struct network_run *m, FILE *digests) EMU_MUST_CHECK;
/* Runs it, with progress: system_run(). */
enum emu_status network_run_execute(struct network_run *m) EMU_MUST_CHECK;
/* Progress: how many cycles it took. */
void network_run_tell(struct network_run *m);
/* Reads all outputs of a run with values. Errors: those of system_read(). */
enum emu_status network_run_outputs(struct network_run *m) EMU_MUST_CHECK;
/* The same of results as of inputs, and what was clipped. */
void network_run_look(struct network_run *m);
/* Whether results were clipped in a run, and the first chip where some were. */
int network_run_clipped(const struct network_run *m, uint32_t *chip);
/* Cycles and ranges by layer. Errors: those of layer_ranges_new(), system_bill(). */
enum emu_status network_run_bill(struct network_run *m) EMU_MUST_CHECK;

/* All that is known; before a run without cycles. Borrowed from m. */
struct model_answer network_run_answer(const struct network_run *m);
/* Writes the profile of a run: model_profile_write(). */
enum emu_status network_run_profile(struct network_run *m, struct profile_files *f) EMU_MUST_CHECK;

#endif
