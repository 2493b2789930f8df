/* ss_network.h - networks for a program: opened by the words of `superstep run`, fed, run, read,
 * and billed by layer. ss_training.h has steps of training.
 *
 *   struct ss_network *n;
 *   const char *words[] = { "--machine", "toy64", "--batch", "4" };
 *
 *   ss_network_open("net.onnx", words, 4, NULL, &n);
 *   ss_network_write(n, "x", numbers, count);
 *   ss_network_run(n);
 *   ss_network_read(n, "y", scores, classes);
 *
 * What the command line refuses is an error here in the same words, which ss_error() has. A handle
 * belongs to one thread at a time. Texts and lists are borrowed from the handle, and valid until it
 * runs again or is closed.
 */
#ifndef MODELS_SS_NETWORK_H
#define MODELS_SS_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/api.h"
#include "emu/base/status.h"

SUPERSTEP_API_BEGIN

/* Who hears what the command would print on stderr, progress and warnings, line by line, without
 * its end. It may be called from any thread, of one at a time. */
struct ss_listener {
    void (*line)(void *ctx, const char *text);
    void *ctx;
};

/* An input or output: what one number of it is, how many there are, and what they mean. */
enum { SS_RANK_MAX = 8 };
struct ss_value {
    const char *name;
    const char *type; /* of its file: "f32", "i64" */
    unsigned rank;
    uint32_t dim[SS_RANK_MAX];
    uint64_t count;      /* of numbers: the product of dim[0..rank) */
    const char *meaning; /* "pictures: ..", "scores of 10 classes"; "": nothing is known */
};

/* Where the cycles of a run went, and what the memory of the tiles is for: a row of the answer's
 * "layers" (docs/json.md). Cycles are 0 before a run. */
struct ss_layer {
    const char *name, *block, *op; /* op: of all nodes that run as one, "conv+norm+relu" */
    uint64_t cycles, compute, exchange, sync; /* the first is the sum of the others */
    uint64_t imbalance;                       /* of compute: above the mean of the tiles */
    uint64_t supersteps, macs;
    uint64_t lower_bound, predicted; /* cycles; predicted 0: the planner was not asked */
    uint64_t max_tile_bytes;         /* in use on the fullest tile meanwhile */
    uint64_t held_bytes;             /* code and parameters on all tiles */
    uint64_t held_max_tile_bytes;    /* and on the tile that holds most */
};

/* Bytes of tile memory that a program takes. */
struct ss_memory {
    uint32_t tiles;          /* of the machine */
    uint64_t tile_bytes;     /* memory of each */
    uint64_t need_bytes;     /* of the fullest tile, with gaps */
    uint64_t max_tile_bytes; /* of the fullest tile, without */
    uint64_t total_bytes;    /* of all tiles */
};

struct ss_network;

/* Opens a network and compiles it, or finds it compiled in the cache.
 *
 * what      as `superstep run` takes it: "efficientnet-b4", "net.onnx"
 * words     [count] options as on its command line, each word by itself; NULL for none. --image,
 *           --input, --weights and the like name files; inputs that nothing is said of are what the
 *           command would take. Refused is what prints, or ends a command: --json, --save, ..
 * listener  copied; NULL: nothing is said
 * Errors    EMU_USAGE: words, or a network that does not fit its machine; EMU_BAD_FILE,
 *           EMU_BAD_MACHINE, EMU_IO, EMU_NO_MEMORY. *out is NULL then; else ss_network_close() it
 */
enum emu_status ss_network_open(const char *what, const char *const *words, size_t count,
                                const struct ss_listener *listener,
                                struct ss_network **out) EMU_MUST_CHECK;
void ss_network_close(struct ss_network *n); /* NULL allowed */

/* ---- numbers ---- */

uint32_t ss_network_inputs(const struct ss_network *n); /* how many */
uint32_t ss_network_outputs(const struct ss_network *n);
/* The i-th of them. EMU_USAGE: there are fewer. */
enum emu_status ss_network_input(const struct ss_network *n, uint32_t i,
                                 struct ss_value *out) EMU_MUST_CHECK;
enum emu_status ss_network_output(const struct ss_network *n, uint32_t i,
                                  struct ss_value *out) EMU_MUST_CHECK;

/* The numbers of an input for all runs from now on, row-major: `count` of them, all that it has.
 * They are rounded to the input's type; an input of integers takes floats that are integers.
 * Errors: EMU_USAGE: no such input, another count; EMU_BAD_FILE: numbers that its type has not. */
enum emu_status ss_network_write(struct ss_network *n, const char *input, const float *numbers,
                                 size_t count) EMU_MUST_CHECK;
/* The same from integers, for inputs of any type. */
enum emu_status ss_network_write_integers(struct ss_network *n, const char *input,
                                          const int64_t *numbers, size_t count) EMU_MUST_CHECK;
/* The same from pictures, JPEG or PNG, prepared as `superstep run --image` does it; fewer than the
 * batch are repeated. Errors: EMU_USAGE: an input that takes none, more than the batch; EMU_IO,
 * EMU_BAD_FILE. */
enum emu_status ss_network_write_pictures(struct ss_network *n, const char *input,
                                          const char *const *files, size_t count) EMU_MUST_CHECK;

/* Runs the network once, on a machine as it is after loading: the same inputs give the same bits
 * and cycles. Errors: EMU_FAULT: the machine faulted, came to --max-cycles, or --check has found
 * something; EMU_IO: a profile cannot be written. */
enum emu_status ss_network_run(struct ss_network *n) EMU_MUST_CHECK;

/* The numbers of an output after a run, row-major, as floats or rounded towards 0 to integers.
 * EMU_USAGE: no such output, another count, no run before, or one by --engine timing, which has no
 * values. */
enum emu_status ss_network_read(const struct ss_network *n, const char *output, float *numbers,
                                size_t count) EMU_MUST_CHECK;
enum emu_status ss_network_read_integers(const struct ss_network *n, const char *output,
                                         int64_t *numbers, size_t count) EMU_MUST_CHECK;

/* ---- what it cost ---- */

uint64_t ss_network_cycles(const struct ss_network *n); /* of the last run; 0: there was none */
double ss_network_seconds(const struct ss_network *n);  /* at the machine's clock */
/* Which engine ran, and why: "values", "timing". "" before a run. */
const char *ss_network_engine(const struct ss_network *n);
enum emu_status ss_network_memory(const struct ss_network *n, struct ss_memory *out) EMU_MUST_CHECK;
/* The bytes of every tile: `tiles` of them, all that the machine has. EMU_USAGE: another number. */
enum emu_status ss_network_tile_bytes(const struct ss_network *n, uint64_t *bytes,
                                      size_t tiles) EMU_MUST_CHECK;
uint32_t ss_network_layers(const struct ss_network *n); /* how many, with the row of no layer */
/* EMU_USAGE: there are fewer. */
enum emu_status ss_network_layer(const struct ss_network *n, uint32_t i,
                                 struct ss_layer *out) EMU_MUST_CHECK;
/* The answer as `superstep run --json` prints it. *text is the caller's: ss_free it. */
enum emu_status ss_network_json(const struct ss_network *n, char **text) EMU_MUST_CHECK;
/* Every run from now on writes a profile to this file, as --profile does; NULL: none does. */
enum emu_status ss_network_profile(struct ss_network *n, const char *file) EMU_MUST_CHECK;

SUPERSTEP_API_END

#endif
