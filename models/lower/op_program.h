/* op_program.h - an operator graph compiled for a machine: graph of tiles, plans, image. How much
 * memory a program needs is known once it is compiled; if that is more than expected, it is planned
 * again for less.
 */
#ifndef MODELS_OP_PROGRAM_H
#define MODELS_OP_PROGRAM_H

#include "models/lower/op_lower.h"
#include "programs/compiler/compile_store.h"

struct op_program_options {
    struct lower_options lower;
    struct compile_options compile;
    struct schedule_store *schedules; /* borrowed; NULL: attempts share one of their own */
    /* 1: do not compile a network that is expected to need OP_HOPELESS times the memory. */
    int give_up;
    /* 1: of a network that does not fit only op_program.need_bytes is wanted; implies give_up. */
    int outlook;
};

enum { OP_HOPELESS = 2 };
/* Whether a network with these plans is expected to need so much, and more than what is allowed for
 * code in any case. */
int op_plans_hopeless(const struct conv_plans *p, const struct arch *a);

struct op_program {         /* all owned */
    struct op_graph *alike; /* NULL: the graph is lowered as it is. Else the same with parameters as
                               states; shares all but its values */
    struct graph *graph;
    struct lowered_network *network;
    struct compiled *compiled; /* may not fit: ss_compiled_fits(); NULL: given up, plans say why */
    unsigned chip;             /* of a stage; 0: it computes the whole graph, or the first stage */
    uint64_t need_bytes;       /* of the tile that needs most; what is expected if compiled is NULL,
                                  an estimate where it was given up */
};

/* Plans, builds and compiles. og is borrowed. Errors: those of op_lower() and ss_graph_compile();
 * EMU_USAGE when there are too few IO tiles (ss_error() says how many are needed). Free with
 * op_program_free. */
enum emu_status op_program_new(const struct arch *a, const struct op_graph *og,
                               const struct op_program_options *o,
                               struct op_program *out) EMU_MUST_CHECK;
void op_program_free(struct op_program *p); /* p may be all zero, and is all zero afterwards */

/* The same for the stages of a network, stage k on chip k of a replica: og[k] is its graph,
 * stage[k] its place, which replaces o->lower.stage; both are borrowed. Programs are compiled as
 * one, which is out[0].compiled; out[k].compiled is the part of chip k. A stage that does not fit
 * is planned again, the others stay. give_up and outlook are not looked at. Free with
 * op_programs_free(), which takes them all. */
enum emu_status op_programs_new(const struct arch *a, const struct op_graph *const *og,
                                const struct lower_stage *stage, unsigned stages,
                                const struct op_program_options *o,
                                struct op_program *out) EMU_MUST_CHECK;
void op_programs_free(struct op_program *p, unsigned stages); /* may be all zero */

/* Writes input k before a run: the numbers of t, which has the input's shape, rounded to what the
 * chip has. Reads output k after it. EMU_USAGE (a number beyond the range), EMU_NO_MEMORY, those of
 * ss_session_write() and ss_session_read(). op_program_read(): free with op_tensor_free. */
enum emu_status op_program_write(const struct op_program *p, struct session *s, uint32_t k,
                                 const struct op_tensor *t) EMU_MUST_CHECK;
enum emu_status op_program_read(const struct op_program *p, struct session *s, uint32_t k,
                                struct op_tensor *out) EMU_MUST_CHECK;

/* The same of an output or of a value that was kept. */
enum emu_status op_program_read_value(const struct op_program *p, struct session *s,
                                      const struct lowered_value *v,
                                      struct op_tensor *out) EMU_MUST_CHECK;

/* Declares the inputs, without numbers, and the outputs of the graph as inputs and outputs of the
 * image, by their names, all but states. A value that comes by a stream is an input if the host
 * writes its first transfer into the memory of IO tiles. Errors: those of ss_compiled_add_input()
 * and ss_compiled_add_output(). */
enum emu_status op_program_describe(const struct op_program *p) EMU_MUST_CHECK;
/* The same of states, which are both, and of gradients that were kept, as outputs
 * (op_gradient_name()). They may lie in as many pieces as they have elements, which takes time and
 * memory: only an image that is written or kept needs it. */
enum emu_status op_program_describe_states(const struct op_program *p) EMU_MUST_CHECK;
/* What the image calls the gradient of a parameter. */
struct gradient_name {
    char at[600];
};
struct gradient_name op_gradient_name(const char *parameter);
/* Numbers as the chip has them, and back. lanes: as in lowered_value. name: for messages. *out is
 * owned by the caller. EMU_USAGE (a number beyond the range), EMU_NO_MEMORY. */
enum emu_status op_numbers_pack(enum elem e, unsigned lanes, const char *name,
                                const struct op_tensor *t, uint8_t **out,
                                uint64_t *bytes) EMU_MUST_CHECK;
enum emu_status op_numbers_unpack(enum elem e, const void *data, const struct op_shape *shape,
                                  struct op_tensor *out) EMU_MUST_CHECK;

/* Pictures [n][c][h][w] as the chip takes them: f16 [n][h][w][4], to the nearest, channels from c
 * on 0. *out is owned by the caller; *bytes: its size. EMU_USAGE (a number beyond f16),
 * EMU_NO_MEMORY. */
enum emu_status op_pixels_pack(const struct op_tensor *t, uint8_t **out,
                               uint64_t *bytes) EMU_MUST_CHECK;

#endif
