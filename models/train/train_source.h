/* train_source.h - the network that a request trains: by name or from an ONNX file, twice, as a
 * step of training and for evaluation.
 */
#ifndef MODELS_TRAIN_SOURCE_H
#define MODELS_TRAIN_SOURCE_H

#include "emu/cli/request.h"
#include "models/data/dataset.h"
#include "models/onnx/onnx.h"
#include "models/pass/pass_precision.h"
#include "models/picture/picture_recipe.h"
#include "models/ask/onnx_weights.h"
#include "models/train/train_step.h"
#include "models/weights/weights.h"

/* The words of --format: activations, then parameters with states. */
enum { F16_F32, F16_F16, F32_F32 };
/* What they mean: "16.32: f16 with f32 states". */
const char *train_format_text(const struct request *q);

/* What a network reads and makes, in the words of pictures. */
struct train_shape {
    uint32_t batch, classes;
    uint32_t channels, height, width; /* of a picture; 0: [batch][numbers] */
    uint32_t numbers;                 /* of a picture */
    struct picture_recipe recipe;     /* of pictures for it, unless options say otherwise */
};

struct train_source {
    struct net *net;              /* owned; NULL: it is a file */
    struct weights *weights;      /* owned; of a network by name */
    struct onnx_model *model;     /* owned; NULL: it is a name */
    struct onnx_weights replaced; /* of --weights; the model's values lie in it */
    struct op_graph *graph;       /* of either */
    struct train_shape shape;
    struct precision_notes precision; /* all 0: nothing is f32 among f16 */
};

/* Reads the network with parameters, ready for train_step_make(): passes that keep norms have been
 * run, and what f16 would get wrong is marked. It takes the batch that is asked for, else 32; a
 * network by name has the classes that are asked for, else those of the data (NULL: its own).
 * Errors: those of net_new(), weights_read() and onnx_request_read(); EMU_BAD_FILE: a network that
 * cannot be trained; nodes that cannot run are printed on stdout. Free with train_source_free, also
 * after an error. */
enum emu_status train_source_open(const struct request *q, const struct dataset *data,
                                  struct train_source *out) EMU_MUST_CHECK;
/* Whether the machine can run a graph that was made of it, which `as` says ("in a step of
 * training"); nodes that it cannot are printed on stdout (as JSON, if the request says so).
 * EMU_BAD_FILE; EMU_USAGE names an instruction that the machine lacks. */
enum emu_status train_graph_check(const struct request *q, const struct arch *a, const char *as,
                                  struct op_graph *g) EMU_MUST_CHECK;
void train_source_free(struct train_source *s);
/* The batch, if another may be asked for; 0: the file fixes it. */
uint32_t train_source_batch(const struct train_source *s);

/* How parameters to begin with are drawn: convolutions with variance 2 / fan-out, the classifier
 * uniformly, norms 1 and 0. */
enum train_init {
    /* As torchvision does: convolutions normal, the classifier up to 1 / sqrt(classes). */
    INIT_NORMAL,
    /* As TensorFlow does, in which EfficientNets were published: convolutions normal, but numbers
     * beyond two deviations are drawn again, with the variance above; the classifier up to sqrt(6 /
     * (inputs + classes)). */
    INIT_TRUNCATED
};
/* What --init says; else that of the network's publication: truncated for networks with group
 * norms. */
enum train_init train_init_of(const struct request *q, const struct net *n);

void train_source_seed(struct train_source *s, uint64_t seed, enum train_init init);

#endif
