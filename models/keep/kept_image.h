/* kept_image.h - a compiled network that was kept as an image: inputs and outputs of its graph by
 * their names, as op_program.h has them of a network that was compiled now.
 */
#ifndef MODELS_KEPT_IMAGE_H
#define MODELS_KEPT_IMAGE_H

#include "emu/job/run_image.h"
#include "emu/load/image.h"
#include "models/lower/op_program.h"

/* Writes the numbers of input k of the graph into the image itself. EMU_USAGE (a number beyond the
 * range), EMU_BAD_IMAGE (the image is of another graph), EMU_NO_MEMORY. */
enum emu_status kept_input_fill(const struct op_graph *g, uint32_t k, const struct op_tensor *t,
                                struct image *im) EMU_MUST_CHECK;
/* The same before a run s: of the image, or of the program p where im is NULL. */
enum emu_status network_input_write(const struct op_graph *g, uint32_t k, const struct op_tensor *t,
                                    const struct op_program *p, const struct image *im,
                                    struct session *s) EMU_MUST_CHECK;
/* Reads output k after a run. Free with op_tensor_free. EMU_BAD_IMAGE, EMU_NO_MEMORY. */
enum emu_status kept_output_read(const struct op_graph *g, uint32_t k, const struct image *im,
                                 const struct run *r, struct op_tensor *out) EMU_MUST_CHECK;

#endif
