/* model_inputs.h - what goes into a network, and the files for what comes out of it.
 */
#ifndef MODELS_MODEL_INPUTS_H
#define MODELS_MODEL_INPUTS_H

#include "emu/base/output_file.h"
#include "emu/cli/request.h"
#include "models/picture/picture_recipe.h"

enum { MODEL_INPUT_FROM = RECIPE_TEXT + 128 };

/* An input of a run. */
struct model_input {
    struct op_tensor numbers;    /* owned; of the input's shape */
    const char **name;           /* owned list of borrowed names of files; NULL: drawn numbers */
    uint32_t names;              /* 1, or one for each picture of the batch */
    char text[MODEL_INPUT_FROM]; /* where they come from: "models/pictures/cat.jpg, .." */
    char recipe[RECIPE_TEXT];    /* how pictures were prepared; "": it takes none */
};

/* The numbers of all inputs, by g->input, from --input and --image; without them pictures of
 * Superstep, else drawn numbers: floats uniform in [-1, 1), integers 0 or 1. recipe: how pictures
 * are prepared, unless options say otherwise; NULL: seven eighths of
 * the shorter side. Only squares of three channels get pictures unasked; with --image inputs of one
 * channel, oblong ones, those with channels last, and of bytes take them, too. in:
 * [g->inputs] zeros; free each with model_input_free, also after an error. Errors: EMU_USAGE (an
 * input that is not there, two files for one, pictures for what takes none), EMU_BAD_FILE (another
 * shape), those of the readers. */
enum emu_status model_inputs_read(const struct request *q, const struct op_graph *g,
                                  const struct picture_recipe *recipe,
                                  struct model_input *in) EMU_MUST_CHECK;

void model_input_free(struct model_input *in);

/* Numbers of an input that come from elsewhere become those of its type; file is for messages.
 * EMU_BAD_FILE: of another shape, floats for integers, or integers that the type has not. */
enum emu_status model_input_take(const struct op_graph *g, uint32_t value, const char *file,
                                 struct op_tensor *t) EMU_MUST_CHECK;
/* Whether an input can be pictures; and pictures from files in place of its numbers, prepared as
 * model_inputs_read() does it. Names in *in are borrowed from files. EMU_USAGE: it takes none;
 * those of net_pictures_read(). */
int model_input_pictures(const struct op_shape *s);
enum emu_status model_input_read_pictures(const struct request *q, const struct op_graph *g,
                                          uint32_t value, const struct picture_recipe *recipe,
                                          const struct option_list *files,
                                          struct model_input *in) EMU_MUST_CHECK;

/* The files of --save, opened before the work: EMU_USAGE names an output that is not there. */
struct model_save {
    uint32_t output; /* in g->output */
    struct output_file *file;
};
enum emu_status model_saves_open(const struct request *q, const struct op_graph *g,
                                 struct model_save *save) EMU_MUST_CHECK;

/* Whether an output would take the place of a file that is read. EMU_USAGE. path NULL: no output.
 */
enum emu_status model_output_check(const struct request *q, const char *path) EMU_MUST_CHECK;

#endif
