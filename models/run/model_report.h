/* model_report.h - what a compilation and a run of a network came to, for people and as JSON. */
#ifndef MODELS_MODEL_REPORT_H
#define MODELS_MODEL_REPORT_H

#include "models/run/layer_cycles.h"
#include "models/run/network_choice.h"

/* Everything is borrowed. */
struct model_answer {
    const struct request *request;
    const struct net *net;
    const struct net_graph *graph;
    const struct compiled *compiled;
    struct arch arch;
    const struct layer_cycles *layers;
    const char *weights;        /* where they came from, one line */
    const char *const *picture; /* names, by picture of the batch */
    struct run *run;            /* NULL: it was compiled only */
    const float *scores;        /* [batch][classes]; NULL: there are none */
};

enum { MODEL_TOP = 5 };

/* Class of the k-th best score of a picture, k from 0: the smaller number first where scores are
 * equal. */
void model_top(const struct model_answer *m, uint32_t picture, uint32_t top[MODEL_TOP]);

uint64_t model_cycles(const struct model_answer *m);
double model_seconds(const struct model_answer *m); /* on the chip, at its clock */
double
model_efficiency(const struct model_answer *m); /* of the matrix unit's multiply-adds, 0..1 */

/* "conv+norm+swish": the layers that were fused. */
void model_bill_op(const struct model_answer *m, const struct layer_bill *b, char *out,
                   size_t bytes);
const char *model_bill_name(const struct model_answer *m, const struct layer_bill *b);

/* The answer on one screen: at most 40 lines of 100 columns, classes and cycles last. */
void model_summary(const struct model_answer *m, FILE *f);
/* Everything, layer by layer. */
void model_report(const struct model_answer *m, FILE *f);
/* How every convolution is cut, with predicted and, after a run, executed cycles. */
void model_report_plans(const struct model_answer *m, FILE *f);
/* Published figures that bear on the run, and how far it is from them. */
void model_report_published(const struct model_answer *m, FILE *f);
/* Of a network that was given up before it was compiled (struct net_program_options): what its
 * plans need, and what would help. */
void model_hopeless(const struct net_graph *ng, const struct arch *a, FILE *f);
json_t *model_hopeless_json(const struct net_graph *ng, const struct arch *a); /* as below */
json_t *model_report_json(const struct model_answer *m); /* new; NULL when out of memory */
json_t *model_published_json(const struct model_answer *m);

/* Calls back for every field of the machine whose value is assumed; text: "name = value unit". */
typedef void assumed_visit(void *ctx, const char *text, const char *doc);
void model_assumed(const struct arch *a, assumed_visit *visit, void *ctx);

#endif
