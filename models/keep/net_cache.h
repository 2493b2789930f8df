/* net_cache.h - compiled networks in the cache on disk: what makes two of them the same, finding
 * one, keeping one.
 *
 * A key holds all that the compiler reads: the options of the compiler, the fields of the machine
 * that compiling reads (arch_fields.def), the program's own file, and
 *   - of a request: the network by name with its options, or the contents of an ONNX file and of
 * those beside it with the sizes and outputs that were asked for, and where parameters come from
 * (of a file its contents). So a network that was kept need not be made to be found;
 *   - or of a graph that is ready: op_graph_hash().
 * Pictures and all other fields are inputs of the run.
 */
#ifndef MODELS_NET_CACHE_H
#define MODELS_NET_CACHE_H

#include "emu/base/disk_cache.h"
#include "models/onnx/onnx.h"
#include "models/keep/net_entry.h"
#include "models/ask/network_choice.h"

/* What is to be compiled; all borrowed. */
struct net_cache_input {
    /* Not NULL: the key is the graph itself and how it is lowered, not where it came from; `what`
     * says what is made of it ("a stream of"). */
    const struct op_graph *graph;
    const struct lower_options *lower;
    const char *what;
    const struct network_choice *choice;
    const struct net *net;          /* NULL: a file */
    const struct onnx_model *model; /* of the file, read as the request says */
    const struct request *request;
    const struct arch *arch;
    enum exchange_target exchange;
};

struct net_cache {
    struct disk_cache disk; /* no folder: nothing is found and nothing is kept */
    struct net_cache_input in;
    struct hash128 key;
};

/* Opens the cache of the choice and computes the key. If something cannot be read (the weights, the
 * program itself), that is no error here: there is no cache then. */
void net_cache_open(const struct net_cache_input *in, struct net_cache *out);
/* Returns 1 when the network is there and whole. What cannot be used counts as not there.
 * for_timing: only the timing engine is to run it (ss_image_read_for_timing()). */
int net_cache_find(const struct net_cache *c, int for_timing, struct net_entry *out);
/* Keeps a network that fits; its image must have no pictures. names: of the weights' tensors, NULL
 * without a file; more: net_entry.more, or NULL. Errors: EMU_IO, EMU_NO_MEMORY: it is not
 * kept. */
enum emu_status net_cache_keep(const struct net_cache *c, const struct compiled *program,
                               const struct layer_cycles *k, const char *names,
                               json_t *more) EMU_MUST_CHECK;
/* For a network that is known not to fit: the bytes of the tile that needs most, so that it need
 * not be compiled again to find that out. Returns 0 when nothing is known of it. */
int net_cache_find_need(const struct net_cache *c, uint64_t *need);
/* Keeps them. Errors: EMU_IO, EMU_NO_MEMORY: they are not kept. */
enum emu_status net_cache_keep_need(const struct net_cache *c, uint64_t need) EMU_MUST_CHECK;
/* One line: "efficientnet-b4, 380x380, batch 1, on mk2, seed 1"; "FILE.onnx, on mk2, parameters of
 * the file". */
void net_cache_label(const struct net_cache_input *in, char *out, size_t bytes);

#endif
