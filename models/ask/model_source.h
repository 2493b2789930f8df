/* model_source.h - what `run` and `compile` were given, a network by name or an ONNX file, as an
 * operator graph that is ready to be lowered.
 */
#ifndef MODELS_MODEL_SOURCE_H
#define MODELS_MODEL_SOURCE_H

#include "emu/base/progress.h"
#include "models/onnx/onnx.h"
#include "models/pass/pass_precision.h"
#include "models/picture/picture_recipe.h"
#include "models/ask/model_facts.h"
#include "models/ask/network_choice.h"
#include "models/ask/not_finite.h"
#include "models/ask/onnx_weights.h"
#include "models/weights/weights.h"

enum { WEIGHTS_TEXT = 512 };

struct model_source {
    struct network_choice choice;
    struct not_finite
        not_finite; /* NaN and infinity in the weights, once these have their numbers */
    struct precision_notes precision; /* what became f32 in a network in f16 */
    struct net *net;                  /* owned; NULL: it is a file */
    struct weights *weights;      /* owned; of a network by name, from model_source_finish() on */
    struct onnx_model *model;     /* owned; NULL: it is a name */
    struct onnx_weights replaced; /* owned: numbers of the model that come from elsewhere */
    struct op_graph *graph;       /* of either */
    uint64_t parameters;          /* numbers, before constants are folded and norms absorbed */
    uint32_t folded;              /* nodes of a file that are left after folding */
    int json;                     /* 1: what cannot run is told as JSON */
    FILE *notes, *answers;        /* borrowed: those of the request */
    char weights_text[WEIGHTS_TEXT]; /* one line that says where parameters came from */
};

/* Finds the network or reads the file q->what; its graph is as its builder or its file made it. All
 * nodes of a file that cannot be read go to request_answers() (as JSON, if the request says so),
 * and the error is EMU_BAD_FILE. Errors: those of net_new() and onnx_request_read(). Free with
 * model_source_free, also after an error. */
enum emu_status model_source_read(const struct request *q, struct model_source *out) EMU_MUST_CHECK;
/* The same, and a file's graph is then ready; all nodes that the machine cannot run are printed,
 * too. Of a network by name the
 * parameters have no numbers yet. EMU_USAGE names an instruction that the machine lacks. */
enum emu_status model_source_open(const struct request *q, const struct arch *a,
                                  struct progress *progress,
                                  struct model_source *out) EMU_MUST_CHECK;
/* The same; folded() is called with the graph of a file between folding and passes. NULL: it is not
 * called. Errors: those of folded(), too. */
typedef enum emu_status model_folded_fn(const struct request *q, const struct op_graph *g);
enum emu_status model_source_open_seen(const struct request *q, const struct arch *a,
                                       struct progress *progress, model_folded_fn *folded,
                                       struct model_source *out) EMU_MUST_CHECK;
/* Gives the parameters their numbers; does nothing for files. Errors: those of model_weights_get().
 */
enum emu_status model_source_attach(struct model_source *s,
                                    struct progress *progress) EMU_MUST_CHECK;
/* Makes the graph ready to be lowered in the precision that was chosen: all passes, and for f32 the
 * one that spells windows. EMU_NO_MEMORY. */
enum emu_status model_source_pass(struct model_source *s) EMU_MUST_CHECK;
/* Whether the machine can run every node after the passes; those that it cannot go to
 * s->answers. EMU_BAD_FILE; EMU_USAGE names an instruction that the machine lacks. */
enum emu_status model_source_check(struct model_source *s, const struct arch *a) EMU_MUST_CHECK;
/* Makes parameters and runs the passes; does nothing for files, or when it was done before. Errors:
 * those of model_weights_get(). */
enum emu_status model_source_finish(struct model_source *s,
                                    struct progress *progress) EMU_MUST_CHECK;
/* How a network by name takes pictures: the family of the names in its file of weights says it.
 * Errors: those of weights_family(); EMU_USAGE, the weights would be written over that file. */
enum emu_status model_source_recipe(const struct model_source *s,
                                    struct picture_recipe *out) EMU_MUST_CHECK;
void model_source_free(struct model_source *s);

/* Prints what of a graph cannot run: a table, or with json the object of docs/json.md. */
void model_print_problems(const struct op_graph *g, int json, FILE *f);

/* What reports say of it; texts are borrowed from it. */
struct model_facts model_source_facts(const struct model_source *s);

#endif
