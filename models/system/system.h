/* system.h - a network on a machine: compiled or found in the cache, loaded, fed, run, read,
 * billed.
 *
 * The caller gives a graph, a machine and how to lower the graph, and from then on names values of
 * the graph. Where these lie on which chip, and whether the program was compiled now or came from
 * the cache, is known here alone. A system has as many stages as chips; of one chip it is the whole
 * graph. Programs of several chips are not kept between runs.
 */
#ifndef MODELS_SYSTEM_H
#define MODELS_SYSTEM_H

#include "emu/base/progress.h"
#include "models/answer/layer_cycles.h"
#include "models/answer/memory_facts.h"
#include "models/keep/net_cache.h"
#include "models/lower/op_program.h"
#include "models/system/system_stages.h"

struct output_file;

struct system_options {
    /* schedules NULL: those of the folder, which gets those that are new. */
    struct op_program_options program;
    const char *folder; /* of what is kept between runs, as in disk_cache_of(); "": nothing is */
    /* Makes the graph ready: parameters, passes. Called before the first compilation of a graph;
     * NULL: it is ready. */
    enum emu_status (*ready)(void *ctx);
    void *ctx;
    unsigned chips;  /* of a replica; 0 and 1: the network is one program */
    const char *cut; /* borrowed: where stages begin, as split_graph() takes it; NULL: chosen */
    struct progress *progress; /* the caller's, borrowed, or NULL: told about compiling, so that its
                                  time is counted apart */
};

/* Says which batches of an open loop there are. It is asked in any order, and must give the same
 * answer each time for a batch. An error ends the run with it. */
struct system_batches {
    void *ctx;
    enum emu_status (*has)(void *ctx, uint64_t batch, int *has);
};

struct system {
    const struct op_graph *graph; /* borrowed */
    struct arch arch;
    struct system_options options;
    struct net_cache cache; /* all zero before system_find() */
    struct net_entry kept;  /* owned, found there; all zero: the program was compiled */
    /* Owned; all zero as long as nothing was compiled. Of several chips: the programs of stages, of
     * which the first one's stands in `program`, too, whose `compiled` is that of all. */
    struct op_program program;
    struct system_stages stages;
    struct system_ends ends;       /* owned; of the program of one chip */
    struct session *session;       /* owned; NULL before system_start() */
    struct system_batches batches; /* of an open loop that is connected */
    struct layer_cycles layers;    /* owned; of a program that was found, or system_bill_layers() */
    struct memory_facts memory;    /* owned; of a program that was found or compiled */
    int states_are_named; /* states and gradients are inputs and outputs of the image: of a program
                             that was compiled, only once it is to be kept or written */
};

/* ---- the program ---- */

/* Costs nothing. The graph may be made ready later, but has its inputs and outputs. Free with
 * system_free(), which also takes one that is all zero. */
void system_init(struct system *s, const struct arch *a, const struct op_graph *g,
                 const struct system_options *o);
void system_free(struct system *s);

/* Takes the program from the cache. in: its key there; the key's pointers are borrowed until
 * system_keep(). for_timing: only the timing engine is to run it. Returns 0 when it is not there,
 * or not whole. */
int system_find(struct system *s, const struct net_cache_input *in, int for_timing);
/* The same, with the graph itself, which must be ready, and the options as the key. choice, net,
 * model and request of `in` only name the entry for people, with `what` in front. Progress says
 * that it was found. */
int system_find_ready(struct system *s, const struct net_cache_input *in, const char *what,
                      int for_timing);
/* Makes the graph ready, plans and compiles. EMU_OK also for a network that does not fit
 * (system_fits()). Errors: those of ready() and op_program_new(). */
enum emu_status system_build(struct system *s) EMU_MUST_CHECK;
/* Whether there is a program and it fits. */
int system_fits(const struct system *s);
/* The bytes of the tile that needs most, of a network that was built. */
uint64_t system_need_bytes(const struct system *s);
/* The program's image, borrowed; NULL: it does not fit. */
const struct image *system_image(const struct system *s);
/* Writes the program's image to a file, with what was written into it. Errors: those of
 * image_write_to() and ss_compiled_add_input(). */
enum emu_status system_write_image(struct system *s, const struct output_file *f) EMU_MUST_CHECK;
/* Gives states and gradients their names in the image of a running machine, too: without them only
 * system_read() and system_write() find them. Errors: those of ss_compiled_add_input(). */
enum emu_status system_name_states(struct system *s) EMU_MUST_CHECK;
/* Adds a note to the image. Errors: those of ss_compiled_add_note(). */
enum emu_status system_note(struct system *s, const char *name, const char *text) EMU_MUST_CHECK;
/* Of a program that was compiled now; NULL: it was found, or given up. Borrowed. */
struct compiled *system_compiled(const struct system *s);
/* Fills s->layers, without cycles; for a program that was found they are filled already. Also for
 * one that does not fit. Errors: those of op_bill_init(). */
enum emu_status system_bill_layers(struct system *s) EMU_MUST_CHECK;
/* The rows of one chip, with their steps, which the rows of all have not where several chips
 * compute; filled as s->layers is. Borrowed. */
const struct layer_cycles *system_chip_layers(const struct system *s, unsigned chip);
/* Keeps a program that was compiled, if there is a cache and it fits, under what system_find()
 * looked for; before anything is written into its image. names: of the weights' tensors, NULL
 * without a file. more: what else the caller wants to know of it (system_more()), or NULL;
 * borrowed. Progress says whether it was kept; nothing depends on it. */
void system_keep(struct system *s, const char *names, json_t *more);
/* What was kept with a program that was found; borrowed. NULL: nothing, or it was compiled. */
const json_t *system_more(const struct system *s);
/* For a network that was not found, but did not fit when it was compiled before: the bytes that it
 * needs; 0: nothing is known. */
uint64_t system_known_need(const struct system *s);
/* Keeps how much memory a network needs that was built and does not fit. EMU_IO, EMU_NO_MEMORY: it
 * is not kept. */
enum emu_status system_keep_need(const struct system *s) EMU_MUST_CHECK;
/* Another machine for the same program: image_set_arch(). */
enum emu_status system_set_arch(struct system *s, const struct arch *a) EMU_MUST_CHECK;

/* ---- values ---- */

/* The type of an input, state or output on the chip, */
enum elem system_elem(const struct system *s, uint32_t value);
/* whether it comes and goes by a stream, a transfer for each batch, */
int system_is_streamed(const struct system *s, uint32_t value);
/* and the bytes of such a transfer. */
size_t system_transfer_bytes(const struct system *s, uint32_t value);
/* Not 0: an input of pictures comes pixel by pixel, so many numbers each; 0: in the order of its
 * shape. */
unsigned system_lanes(const struct system *s, uint32_t value);
/* Numbers as a transfer has them: fewer bytes where it is filled up. *out is owned by the caller.
 * Errors: those of op_numbers_pack(). */
enum emu_status system_pack(const struct system *s, uint32_t value, const struct op_tensor *t,
                            uint8_t **out, uint64_t *bytes) EMU_MUST_CHECK;

/* ---- runs ---- */

/* Loads the program into a machine. If overflows or ranges are asked for and one occurs in a
 * program from the cache, the program is compiled after all to say where. Errors: those of
 * ss_session_new(). */
enum emu_status system_start(struct system *s, const struct session_options *o) EMU_MUST_CHECK;
/* The machine is gone; another may be started. */
void system_stop(struct system *s);
/* Writes an input or a state before a run, into the image as long as no machine was started; reads
 * an output or a state after it; values are those of the graph. Reading: free with op_tensor_free.
 * Errors: those of op_program_write() and op_program_read(). */
enum emu_status system_write(struct system *s, uint32_t value,
                             const struct op_tensor *t) EMU_MUST_CHECK;
enum emu_status system_read(struct system *s, uint32_t value, struct op_tensor *out) EMU_MUST_CHECK;
/* Zeros for all inputs that are no states and that no stream brings: a machine wants them written
 * even where nobody looks at numbers. */
enum emu_status system_write_zeros(struct system *s) EMU_MUST_CHECK;
/* Whether the gradient of a state can be read (lower_options.gradients). */
int system_has_gradient(const struct system *s, uint32_t state);
/* The gradient of a state that was kept (lower_options.gradients), as the program has it. The same.
 */
enum emu_status system_read_gradient(struct system *s, uint32_t state,
                                     struct op_tensor *out) EMU_MUST_CHECK;
/* Connects the stream of an input or output of the graph (system_is_streamed()) to the caller,
 * once, before the first run. Data are the elements as system_pack() and op_numbers_unpack() have
 * them. Errors: those of ss_session_connect(). */
enum emu_status system_connect(struct system *s, uint32_t value,
                               const struct session_calls *c) EMU_MUST_CHECK;
/* Connects what the loop asks the host, once, before the first run. b is copied. Errors: those of
 * ss_session_connect(). */
enum emu_status system_connect_batches(struct system *s,
                                       const struct system_batches *b) EMU_MUST_CHECK;
/* What has crossed the link for a streamed input or output so far; borrowed. */
const struct host_stream_record *system_link(const struct system *s, uint32_t value);
/* The first transfer of a streamed input for IO tiles that look ahead: they ask for the second one
 * while it is computed. Data as in a transfer. */
enum emu_status system_write_ahead(struct system *s, uint32_t value,
                                   const void *data) EMU_MUST_CHECK;
/* Runs the program once: ss_session_run(). */
enum emu_status system_run(struct system *s) EMU_MUST_CHECK;
/* Adds the cycles of the runs to s->layers. Errors: those of layer_cycles_bill(). */
enum emu_status system_bill(struct system *s) EMU_MUST_CHECK;
/* The hash of all memory as it is now; of a machine without values why there is none. */
enum { SYSTEM_DIGEST_TEXT = 40 };
void system_digest_text(const struct system *s, char text[SYSTEM_DIGEST_TEXT]);
/* The running machine, borrowed; NULL before system_start(). */
struct run *system_machine(const struct system *s);

#endif
