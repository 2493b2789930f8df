/* op_program.h - an operator graph compiled for a machine: graph of tiles, plans, image. How much
 * memory a program needs is known once it is compiled; if that is more than expected, it is planned
 * again for less.
 */
#ifndef MODELS_OP_PROGRAM_H
#define MODELS_OP_PROGRAM_H

#include "models/lower/op_lower.h"

struct op_program_options {
    struct lower_options lower;
    struct compile_options compile;
};

struct op_program { /* all owned */
    struct graph *graph;
    struct lowered_network *network;
    struct compiled *compiled; /* may not fit: compiled_fits() */
};

/* Plans, builds and compiles. og is borrowed. Errors: those of op_lower() and graph_compile(). Free
 * with op_program_free. */
enum emu_status op_program_new(const struct arch *a, const struct op_graph *og,
                               const struct op_program_options *o,
                               struct op_program *out) EMU_MUST_CHECK;
void op_program_free(struct op_program *p); /* p may be all zero, and is all zero afterwards */

/* Writes input k before a run: the numbers of t, which has the input's shape, rounded to what the
 * chip has. Reads output k after it. EMU_USAGE (a number beyond the range), EMU_NO_MEMORY, those of
 * session_write() and session_read(). op_program_read(): free with op_tensor_free. */
enum emu_status op_program_write(const struct op_program *p, struct session *s, uint32_t k,
                                 const struct op_tensor *t) EMU_MUST_CHECK;
enum emu_status op_program_read(const struct op_program *p, struct session *s, uint32_t k,
                                struct op_tensor *out) EMU_MUST_CHECK;

/* The same of an output or of a value that was kept. */
enum emu_status op_program_read_value(const struct op_program *p, struct session *s,
                                      const struct lowered_value *v,
                                      struct op_tensor *out) EMU_MUST_CHECK;

/* Makes input k an input of the image, with these numbers. Errors: those of compiled_add_input().
 */
enum emu_status op_program_fill(const struct op_program *p, uint32_t k,
                                const struct op_tensor *t) EMU_MUST_CHECK;

#endif
