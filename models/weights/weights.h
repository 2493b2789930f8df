/* weights.h - the parameters of a network as f32 arrays: seeded, or from a safetensors file.
 *
 * Parameters are those of the network (net.h), in its order: parameter i of the weights is that of
 * the network, and of the same network for another size of pictures.
 */
#ifndef MODELS_WEIGHTS_H
#define MODELS_WEIGHTS_H

#include "models/net/net.h"

struct output_file;

struct param {
    char name[96]; /* torchvision's: "features.1.0.block.0.0.weight" */
    unsigned rank;
    uint32_t shape[4];
    uint64_t elements;
    float *data; /* owned by the weights */
};

struct weights {
    struct param *param; /* owned */
    uint32_t params;
    float *data; /* owned; all parameters, one after the other */
    float
        classifier_gain; /* by which weights_calibrate() multiplied the classifier; 0: it did not */
    const char *names;   /* the names in the file: "torchvision", "timm"; NULL: there is no file */
};

enum { WEIGHTS_LISTED = 20 };

/* All parameters of a network, set to zero. */
enum emu_status weights_new(const struct net *n, struct weights **out) EMU_MUST_CHECK;
/* The same without values: names and shapes only; data of all is NULL. */
enum emu_status weights_new_shapes(const struct net *n, struct weights **out) EMU_MUST_CHECK;
void weights_free(struct weights *w); /* NULL allowed */
/* The parameter of a layer ("block2a.expand") with this suffix ("weight"), NULL if it has none. */
struct param *weights_find(const struct weights *w, const struct net *n, const char *layer,
                           const char *suffix);
/* Makes them the numbers of the network's graph, which borrows them. */
void weights_attach(const struct weights *w, struct net *n);

/* Sets deterministic values that behave like trained ones: activations neither grow nor fade from
 * layer to layer, whatever the picture.
 *
 * Weights of convolutions are normally distributed with variance 2 / fan-out, those of the
 * classifier with 64 / fan-in. Norms have scales near 1 and shifts near 0 (deviation 0.1), so that
 * swapped channels show; the last norm of a residual branch is scaled by 0.3, so that a block
 * changes little of its shortcut. Squeeze and excitation controls the gain: besides a random part,
 * all squeezed numbers grow with the mean of the field, and all gates fall with them, from 0.7 for
 * an empty field to a half for an ordinary field and less for a strong one. Without that every
 * block would make strong pictures stronger and weak ones weaker, since swish does. Networks
 * without squeeze and excitation have shifts of deviation 1 instead. Running statistics are 0 and 1
 * until weights_calibrate(). The bits depend on the seed, on the parameter's name and shape, and on
 * its place in the network. */
void weights_seed(struct weights *w, const struct net *n, uint64_t seed);

/* Values for programs of which only the cycles count: biases and variances are 1, all else stays 0.
 * Thus no operation is left out that trained parameters would need. */
void weights_blank(struct weights *w);

/* Reads all parameters from a safetensors file (F32, F16, BF16) with torchvision's or timm's names.
 * The file must match the network exactly, except that num_batches_tracked of batch norms is
 * ignored. If it does not, w stays as it was, and the message of EMU_BAD_FILE counts the tensors
 * that are missing, unexpected, of another shape or not finite, and names the network whose weights
 * these are, if it is another. The first WEIGHTS_LISTED such tensors are printed to `list`, one
 * line each (NULL: nowhere). EMU_IO, EMU_NO_MEMORY. */
enum emu_status weights_read(struct weights *w, const struct net *n, const char *path,
                             FILE *list) EMU_MUST_CHECK;
/* The same from memory; name is for messages. */
enum emu_status weights_read_bytes(struct weights *w, const struct net *n, const void *data,
                                   size_t bytes, const char *name, FILE *list) EMU_MUST_CHECK;
/* Whose names the tensors of a file have for this network, as weights.names says after reading it;
 * the numbers are not read. *out is a constant. EMU_IO, EMU_BAD_FILE (no safetensors file),
 * EMU_NO_MEMORY. */
enum emu_status weights_family(const struct net *n, const char *path,
                               const char **out) EMU_MUST_CHECK;
/* Writes them as F32 with torchvision's names. The file appears whole or not at all. EMU_IO. */
enum emu_status weights_write(const struct weights *w, const struct net *n,
                              const char *path) EMU_MUST_CHECK;
/* The same into an output that was opened before; the caller commits it. */
enum emu_status weights_write_to(const struct weights *w,
                                 const struct output_file *out) EMU_MUST_CHECK;

#endif
