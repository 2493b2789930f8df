/* weights.h - the parameters of a network as f32 arrays: seeded, or from a safetensors file.
 *
 * A parameter's name is the layer's prefix and a suffix: .weight, .bias, .running_mean,
 * .running_var. Shapes are those of torch.
 */
#ifndef MODELS_WEIGHTS_H
#define MODELS_WEIGHTS_H

#include "models/net/net.h"

struct param {
    char name[96];
    uint32_t layer; /* that uses it */
    unsigned rank;
    uint32_t shape[4];
    uint64_t elements;
    float *data; /* owned by the weights */
};

struct weights {
    struct param *param; /* owned; by layer, then weight, bias, running_mean, running_var */
    uint32_t params;
    float *data;           /* owned; all parameters, one after the other */
    float classifier_gain; /* that weights_calibrate() has multiplied the classifier by; else 0 */
    const char *names; /* whose names the file had: "torchvision", "timm"; NULL: not from a file */
};

enum { WEIGHTS_LISTED = 20 };

/* All parameters of a network, zero. */
enum emu_status weights_new(const struct net *n, struct weights **out) EMU_MUST_CHECK;
/* The same without values: names and shapes only; data of all is NULL. */
enum emu_status weights_new_shapes(const struct net *n, struct weights **out) EMU_MUST_CHECK;
void weights_free(struct weights *w); /* NULL allowed */
/* The parameter of a layer with this suffix ("weight"), NULL if it has none. */
struct param *weights_find(const struct weights *w, uint32_t layer, const char *suffix);

/* Deterministic values that behave like trained ones: no picture makes a layer run away, and none
 * is lost among stronger ones.
 *
 * Convolutions are normal with variance 2 / fan-out, the classifier 64 / fan-in. Norms are near 1
 * and 0 (deviation a tenth), so that a mistaken channel shows; the last of a residual branch is
 * scaled by 0.3, so that blocks change little of what goes past them. Squeeze and excitation is a
 * gain control: beside a random part all squeezed numbers grow with the mean of the field, and all
 * gates fall with them, from 0.7 for nothing to a half for an ordinary field and less for a strong
 * one; without it every block would make strong pictures stronger and weak ones weaker, since swish
 * does. Networks without it have shifts of deviation 1 instead. Running statistics are 0 and 1
 * until weights_calibrate(). The bits depend on the seed, the parameter's name and shape, and on
 * where in the network it is. */
void weights_seed(struct weights *w, const struct net *n, uint64_t seed);

/* Reads all parameters from a safetensors file (F32, F16, BF16) with the names of torchvision or of
 * timm. Nothing is guessed: EMU_BAD_FILE counts the missing, unexpected and misshapen tensors and
 * those with values that are not finite, lists the first WEIGHTS_LISTED of them (to `list`, one
 * line each; NULL: none), says so when these are the weights of another network, and changes
 * nothing. Only num_batches_tracked of a batch norm may be there for nothing. EMU_IO,
 * EMU_NO_MEMORY. */
enum emu_status weights_read(struct weights *w, const struct net *n, const char *path,
                             FILE *list) EMU_MUST_CHECK;
/* The same from memory; name is for messages. */
enum emu_status weights_read_bytes(struct weights *w, const struct net *n, const void *data,
                                   size_t bytes, const char *name, FILE *list) EMU_MUST_CHECK;
/* Writes them as F32 with torchvision's names; beside path, then renamed. EMU_IO. */
enum emu_status weights_write(const struct weights *w, const struct net *n,
                              const char *path) EMU_MUST_CHECK;
/* The same into an output that was opened before; the caller commits it. */
enum emu_status weights_write_to(const struct weights *w,
                                 const struct output_file *out) EMU_MUST_CHECK;

/* What a norm layer in inference does to channel c: y = scale[c] x + shift[c]; from gamma, beta,
 * running statistics and eps. Batch norm only. Arrays of out_c values, owned by the caller. */
void weights_fold(const struct weights *w, const struct net *n, uint32_t layer, float *scale,
                  float *shift);

#endif
