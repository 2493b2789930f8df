/* net.h - networks that are known by name: builders of operator graphs, with what a picture must
 * look like and what every parameter is for; no numbers of parameters, no tiles.
 *
 * Nodes and blocks have the names of the published layer tables, parameters those of torchvision;
 * models/weights/names.h derives timm's. The graph is what models/onnx writes to a file: passes
 * (models/pass) change it, and indices of values and nodes hold until then.
 */
#ifndef MODELS_NET_H
#define MODELS_NET_H

#include "emu/base/nearest.h"
#include "models/operators/operators.h"

enum norm_kind {
    NORM_BATCH,
    NORM_GROUP,            /* channel c in group c mod 4: that of the published networks */
    NORM_GROUP_CONTIGUOUS, /* of neighbouring channels: torch's */
};

enum { NET_NAME_MAX = 64 };

/* What a parameter belongs to. Seeded values of the kinds differ. */
enum param_role {
    PARAM_CONV,
    PARAM_SQUEEZE,     /* the first layer of squeeze and excitation */
    PARAM_GATE,        /* its second layer */
    PARAM_CLASSIFIER,  /* makes the logits */
    PARAM_NORM,        /* of a norm */
    PARAM_BRANCH_NORM, /* of the last norm of a residual branch */
};

/* A parameter. Its name in weight files is that of its value, its shape torch's. */
struct net_param {
    uint32_t value;           /* of the graph */
    char layer[NET_NAME_MAX]; /* "block2a.expand" */
    char block[NET_NAME_MAX]; /* "block2a" */
    const char *suffix;       /* "weight", "bias", "running_mean", "running_var" */
    enum param_role role;
    uint32_t groups; /* of a convolution, else 1 */
};

struct net {
    char name[NET_NAME_MAX];
    uint32_t batch, resolution, classes;
    /* How pictures are prepared (models/picture/picture_recipe.h). */
    double crop;                       /* side of the cut over the shorter side before it */
    uint32_t torch_side, torch_resize; /* torchvision's side of the cut, and shorter side before */
    int torch_bilinear;                /* else bicubic */
    int torch_padding;                 /* as in struct net_options, like the next */
    enum norm_kind norm;
    int gated;               /* it has squeeze and excitation */
    struct op_graph *graph;  /* owned: "picture" [n][3][side][side] to "scores" [n][classes] */
    struct net_param *param; /* owned; by layer, then weight, bias, running_mean, running_var */
    uint32_t params;
};

enum { NET_BATCH_MAX = 4096, NET_SIDE_MIN = 8, NET_SIDE_MAX = 4096, NET_CLASSES_MAX = 1 << 16 };

/* What a user may choose; 0 means the network's own value (batch 1, 1000 classes).
 *
 * The two public families of EfficientNet differ in padding and in the eps of batch norm:
 * TensorFlow pads as SAME, with eps 1e-3; torchvision and timm's own weights pad k / 2 on both
 * sides, with eps 1e-5 for B0 to B4. ResNet-50 exists with torch padding only and always has it.
 * Group norm has 4 groups and eps 1e-3. Channel c of the published networks is in group c mod 4;
 * groups of neighbouring channels are a network with other weights.
 */
struct net_options {
    uint32_t batch, resolution, classes;
    int torch_padding; /* k / 2 on both sides, as torchvision; else TensorFlow's SAME */
    const char *norm;  /* "batch", "group", "group-contiguous"; NULL: the network's own */
};

/* A network by name: efficientnet-b0 .. -b7, the same with -g16, resnet-50. NULL o: all zeros.
 * Errors: EMU_USAGE (no such name; the message has the nearest; or a number out of range),
 * EMU_NO_MEMORY. net_free accepts NULL. */
enum emu_status net_new(const char *name, const struct net_options *o,
                        struct net **out) EMU_MUST_CHECK;
void net_free(struct net *n);
/* The same network, with the same parameters in the same order, for another size and number of
 * pictures. EMU_NO_MEMORY. Free with net_free. */
enum emu_status net_resized(const struct net *n, uint32_t resolution, uint32_t batch,
                            struct net **out) EMU_MUST_CHECK;
/* The name of network i, and one line about it; NULL after the last one. */
const char *net_name(unsigned i);
void net_nearest(struct nearest *s); /* tries all names */
const char *net_text(unsigned i);

/* The shape of a parameter; its elements are op_shape_count(). */
static inline const struct op_shape *net_param_shape(const struct net *n, uint32_t param)
{
    return &n->graph->value[n->param[param].value].shape;
}
/* Trainable parameters: without running statistics. */
uint64_t net_params(const struct net *n);

/* The name of the value that is the logits: the classifier's result. */
extern const char net_logits[];

/* The graph as a table for people, and its size. The text is the same for equal networks only. */
void net_print(const struct net *n, FILE *f);
/* Its last line: nodes, parameters, multiply-adds, resolution, classes. */
void net_print_size(const struct net *n, FILE *f);

#endif
