/* model_report.h - the results of compiling and running a network, as text and as JSON. */
#ifndef MODELS_MODEL_REPORT_H
#define MODELS_MODEL_REPORT_H

#include <jansson.h>

#include "emu/arch/arch.h"
#include "models/answer/class_names.h"
#include "models/answer/layer_cycles.h"
#include "models/answer/layer_range.h"
#include "models/pass/pass_precision.h"
#include "models/answer/memory_facts.h"
#include "models/ask/model_facts.h"
#include "models/ask/not_finite.h"
#include "models/ask/network_choice.h"

/* A stage of several, on a chip of its own. */
struct answer_stage {
    const char *first; /* borrowed: its first layer */
    uint32_t layers;
    uint64_t cycles;         /* of its layers */
    uint64_t between;        /* all others: it waits for stages before it, or words travel */
    uint64_t max_tile_bytes; /* in use on its fullest tile */
    uint64_t need_bytes;     /* as ss_compiled_need_bytes() */
    uint64_t sent_bytes;     /* to other stages */
};

/* Everything is borrowed. */
struct model_answer {
    const struct request *request;
    struct model_facts facts;
    const struct memory_facts *memory;
    struct arch arch;
    const struct layer_cycles *layers;
    const struct layer_range *ranges; /* by row of layers; NULL: not asked for */
    const char *weights;              /* one line that says where they came from */
    const char *const *file;          /* [files] names: of the inputs' files; NULL: drawn numbers */
    uint32_t files;                   /* 1: of the whole batch; else batch */
    const char *recipe; /* one line: how pictures were prepared; NULL: there are none */
    struct run *run;    /* NULL: the network was only compiled */
    const struct answer_stage *stage;        /* [stages] */
    uint32_t stages;                         /* 0 and 1: one chip computes it all */
    const struct class_names *classes;       /* NULL, or empty: classes are numbers only */
    const float *scores;                     /* [batch][classes]; NULL without a run */
    const struct not_finite *not_finite;     /* like the next: NULL: nothing is said of them */
    const struct precision_notes *precision; /* of a network in f16; all 0: nothing is f32 */
};

enum { MODEL_TOP = 5 };

/* The classes with the best scores of a picture, best first; where scores are equal, the lower
 * class first. */
void model_top(const struct model_answer *m, uint32_t picture, uint32_t top[MODEL_TOP]);

uint64_t model_cycles(const struct model_answer *m);
double model_seconds(const struct model_answer *m); /* on the chip, at its clock */
double
model_efficiency(const struct model_answer *m); /* of the matrix unit's multiply-adds, 0..1 */

/* The kinds of the layers that were fused: "conv+norm+swish". */
const char *model_bill_op(const struct model_answer *m, const struct layer_bill *b);
const char *model_bill_name(const struct model_answer *m, const struct layer_bill *b);

/* What input p of the batch was, for people: "cat.jpg", "x.npy [2]" of a file with several inputs,
 * "drawn numbers". Returns out. */
enum { MODEL_INPUT_NAME = 512 };
const char *model_input_name(const struct model_answer *m, uint32_t p, char out[MODEL_INPUT_NAME]);

/* The first line of every report: which network on which machine. */
void model_print_title(const struct model_answer *m, FILE *f);

/* Stages, a row each; nothing of one chip (model_stages.c). */
void model_print_stages(const struct model_answer *m, FILE *f);
json_t *model_stages_json(const struct model_answer *m);

/* Prints the answer on one screen: at most 40 lines of 100 columns, classes and cycles last. */
void model_summary(const struct model_answer *m, FILE *f);
/* Prints everything, layer by layer. */
void model_report(const struct model_answer *m, FILE *f);
/* Prints how every convolution is cut, with predicted and, after a run, executed cycles. */
void model_report_plans(const struct model_answer *m, FILE *f);
/* Prints how much of a network in f16 computes in f32, if any, and which constants were clamped. */
void model_report_precision(const struct model_answer *m, FILE *f);
/* Prints the published figures about such a run, and how far it is from them. */
void model_report_published(const struct model_answer *m, FILE *f);
json_t *model_report_json(const struct model_answer *m);
/* The machine stopped before the end: says why on stderr, with a subject as request_failed() has
 * it, and prints the cycles until then, but no bill of layers. EMU_NO_MEMORY. */
enum emu_status model_report_fault(const struct request *q, const char *subject,
                                   struct session *s) EMU_MUST_CHECK;
/* Adds the best classes of all pictures to an object. Reads only these members of m: facts (batch,
 * classes), file (NULL: without names), files and scores. 0 when out of memory. */
int model_put_classes(const struct model_answer *m, json_t *o);
json_t *model_published_json(const struct model_answer *m);
/* Names of the constants that a pass clamped, the first of them. */
json_t *model_clamped_json(const struct precision_notes *p);

/* Calls visit for every field of the machine whose value is assumed; text: "name = value unit". */
typedef void assumed_visit(void *ctx, const char *text, const char *doc);
void model_assumed(const struct arch *a, assumed_visit *visit, void *ctx);

#endif
