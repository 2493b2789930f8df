/* onnx_numbers.h - what goes into a network of an ONNX file, and what comes out of it.
 */
#ifndef MODELS_ONNX_NUMBERS_H
#define MODELS_ONNX_NUMBERS_H

#include "emu/base/output_file.h"
#include "emu/cli/request.h"
#include "models/graph/op_graph.h"

enum { ONNX_INPUT_TEXT = 256 };

/* An input of a run. */
struct onnx_input {
    struct op_tensor numbers;   /* owned; of the input's shape */
    const char *name;           /* of a file, or NULL; borrowed */
    char text[ONNX_INPUT_TEXT]; /* where they come from: "models/pictures/cat.jpg, .." */
};

/* The numbers of all inputs, by g->input, from --input and --image; without them pictures of
 * Superstep, else drawn numbers: floats uniform in [-1, 1), integers 0 or 1. in: [g->inputs] zeros;
 * free each's numbers with op_tensor_free, also after an error. Errors: EMU_USAGE (an input that is
 * not there, two files for one, pictures for what takes none), EMU_BAD_FILE (another shape), those
 * of the readers. */
enum emu_status onnx_inputs_read(const struct request *q, const struct op_graph *g,
                                 struct onnx_input *in) EMU_MUST_CHECK;

/* Whether an input takes pictures: [n][3][h][w] with equal h and w. */
int onnx_takes_pictures(const struct op_shape *s);

/* The files of --save, opened before the work: EMU_USAGE names an output that is not there. */
struct onnx_save {
    uint32_t output; /* in g->output */
    struct output_file *file;
};
enum emu_status onnx_saves_open(const struct request *q, const struct op_graph *g,
                                struct onnx_save *save) EMU_MUST_CHECK;

/* Whether an output would take the place of a file that is read. EMU_USAGE. path NULL: no output.
 */
enum emu_status onnx_output_check(const struct request *q, const char *path) EMU_MUST_CHECK;

/* Names of classes, one a line; *out: owned list, *text: its owned text. */
enum emu_status onnx_labels_read(const char *path, char ***out, uint32_t *count,
                                 char **text) EMU_MUST_CHECK;

#endif
