/* net_cache.c - keys, and entries of kind "network". */
#include "models/keep/net_cache.h"
#include "models/ask/model_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/lower/lower_options.h"
#include "models/operators/op_hash.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, batch)
OPTION_READ(LIST, dim)
OPTION_READ(LIST, outputs)

#define KIND      "network"
#define KIND_NEED "need"

/* ---- keys ---- */

static void print_machine(const struct arch *a, FILE *f)
{
    for (size_t i = 0; i < ss_arch_field_count(); i++) {
        char value[ARCH_TEXT_MAX];

        if (ss_arch_field_at(i)->stage != ARCH_STAGE_C)
            continue;
        ss_arch_field_text(a, i, value, sizeof(value));
        fprintf(f, "%s=%s\n", ss_arch_field_at(i)->name, value);
    }
}

static void print_file(const struct net_cache_input *in, FILE *f)
{
    const struct request *q = in->request;
    char digits[33];

    hash128_text(onnx_model_hash(in->model), digits);
    fprintf(f, "onnx %s batch %" PRIu64 "\n", digits, (uint64_t)option_batch(q));
    for (size_t k = 0; k < option_dim(q)->count; k++)
        fprintf(f, "dim %s\n", option_dim(q)->item[k]);
    for (size_t k = 0; k < option_outputs(q)->count; k++)
        fprintf(f, "output %s\n", option_outputs(q)->item[k]);
}

static void print_name(const struct net_cache_input *in, FILE *f)
{
    const struct network_choice *c = in->choice;
    const struct net *n = in->net;

    fprintf(f, "%s batch %u resolution %u classes %u padding %d norm %s\n", n->name, n->batch,
            n->resolution, n->classes, n->torch_padding, c->net.norm ? c->net.norm : "");
}

static void print_network(const struct net_cache_input *in, FILE *f)
{
    const struct network_choice *c = in->choice;

    if (in->net)
        print_name(in, f);
    else
        print_file(in, f);
    fprintf(
        f,
        "exchange %d memory %a parameters %a depthwise %d real %d until %s partials %d blocks %d\n",
        (int)in->exchange, c->memory_proportion, c->parameter_proportion, (int)c->depthwise,
        (int)c->real, c->f32_until ? c->f32_until : "", (int)c->partials, (int)c->share_blocks);
}

/* Returns 0 when the weights cannot be read. */
static int print_weights(const struct network_choice *c, FILE *f)
{
    struct hash128 hash;
    char digits[33];

    if (!c->weights && c->blank) {
        fprintf(f, "blank\n");
        return 1;
    }
    if (!c->weights) {
        fprintf(f, "seed %" PRIu64 " calibrated %d\n", c->seed, !c->uncalibrated);
        return 1;
    }
    if (!disk_cache_hash_file(c->weights, &hash))
        return 0;
    hash128_text(hash, digits);
    fprintf(f, "file %s\n", digits);
    return 1;
}

/* Returns 0 when there is no memory for it. */
static int print_graph(const struct net_cache_input *in, FILE *f)
{
    struct hash128 hash;
    char digits[33];

    if (op_graph_hash(in->graph, &hash) != EMU_OK)
        return 0;
    hash128_text(hash, digits);
    fprintf(f, "graph %s exchange %d\n", digits, (int)in->exchange);
    lower_options_print(in->lower, f);
    return 1;
}

static int print_request(const struct net_cache_input *in, FILE *f)
{
    print_network(in, f);
    return print_weights(in->choice, f);
}

static int make_key(const struct net_cache_input *in, struct hash128 *key)
{
    struct hash128 part[2];
    char *text = NULL;
    size_t bytes = 0;
    FILE *f;
    int good;

    if (!disk_cache_program(&part[0]))
        return 0;
    f = open_memstream(&text, &bytes);
    if (!f)
        return 0;
    print_machine(in->arch, f);
    good = in->graph ? print_graph(in, f) : print_request(in, f);
    good = !fclose(f) && good;
    part[1] = hash128(text, bytes);
    free(text); /* allocated by open_memstream */
    *key = hash128(part, sizeof(part));
    return good;
}

/* What was chosen otherwise than usual, so that entries of one network can be told apart. */
static void print_choices(const struct net_cache_input *in, FILE *f)
{
    const struct network_choice *c = in->choice;
    const struct request *q = in->request;

    if (c->real != ELEM_F16)
        fprintf(f, ", f32");
    if (c->f32_until)
        fprintf(f, ", f32 until %s", c->f32_until);
    if (c->partials != PARTIALS_F16)
        fprintf(f, ", partials f32");
    if (in->exchange)
        fprintf(f, ", exchange memory");
    if (c->depthwise)
        fprintf(f, ", depthwise sliding");
    if (c->share_blocks != SHARE_AUTO)
        fprintf(f, ", share blocks %s", c->share_blocks == SHARE_NONE ? "off" : "on");
    if (c->memory_proportion > 0)
        fprintf(f, ", memory proportion %g", c->memory_proportion);
    if (c->parameter_proportion > 0)
        fprintf(f, ", parameter memory %g", c->parameter_proportion);
    for (size_t k = 0; k < option_outputs(q)->count; k++)
        fprintf(f, ", output %s", option_outputs(q)->item[k]);
}

static void print_label(const struct net_cache_input *in, FILE *f)
{
    const struct network_choice *c = in->choice;
    const struct request *q = in->request;
    const struct net *n = in->net;

    if (in->what)
        fprintf(f, "%s ", in->what);
    if (n)
        fprintf(f, "%s, %ux%u, batch %u, ", n->name, n->resolution, n->resolution, n->batch);
    else
        fprintf(f, "%s, ", c->name);
    if (!n && option_batch(q))
        fprintf(f, "batch %" PRIu64 ", ", (uint64_t)option_batch(q));
    for (size_t k = 0; k < option_dim(q)->count; k++)
        fprintf(f, "%s, ", option_dim(q)->item[k]);
    fprintf(f, "on %s, ", ss_arch_title(in->arch).at);
    if (c->weights)
        fprintf(f, "%s", c->weights);
    else if (!n)
        fprintf(f, "parameters of the file");
    else if (c->blank)
        fprintf(f, "without parameters");
    else
        fprintf(f, "seed %" PRIu64 "%s", c->seed, c->uncalibrated ? ", not calibrated" : "");
    if (n && c->net.classes)
        fprintf(f, ", %u classes", n->classes);
    if (n && c->net.torch_padding)
        fprintf(f, ", torch padding");
    if (n && c->net.norm)
        fprintf(f, ", norm %s", c->net.norm);
    print_choices(in, f);
}

void net_cache_label(const struct net_cache_input *in, char *out, size_t bytes)
{
    FILE *f = fmemopen(out, bytes, "w");

    out[0] = 0;
    if (!f)
        return;
    print_label(in, f);
    fclose(f);
    out[bytes - 1] = 0;
}

/* ---- entries ---- */

void net_cache_open(const struct net_cache_input *in, struct net_cache *out)
{
    *out = (struct net_cache){ .disk = disk_cache_of(in->choice->cache), .in = *in };
    if (out->disk.folder[0] && !make_key(in, &out->key))
        out->disk = disk_cache_none();
}

int net_cache_find(const struct net_cache *c, int for_timing, struct net_entry *out)
{
    struct disk_cache_entry e;
    enum emu_status s;

    if (!disk_cache_read(&c->disk, c->key, KIND, &e))
        return 0;
    s = net_entry_read(e.body, e.bytes, c->in.arch, for_timing, out);
    disk_cache_entry_free(&e);
    return s == EMU_OK;
}

enum emu_status net_cache_keep(const struct net_cache *c, const struct compiled *program,
                               const struct layer_cycles *k, const char *names, json_t *more)
{
    struct disk_cache_writer w;
    char label[DISK_CACHE_LABEL_MAX];
    struct hash128 now;

    /* The file of the weights may have changed between the two readings. */
    if (!make_key(&c->in, &now) || !hash128_equal(now, c->key))
        return FAIL(IO, "the weights changed meanwhile");
    net_cache_label(&c->in, label, sizeof(label));
    TRY(disk_cache_begin(&c->disk, c->key, KIND, label, &w));
    return disk_cache_end(&c->disk, &w, net_entry_write(program, k, names, more, w.out));
}

/* ---- networks that do not fit ---- */

int net_cache_find_need(const struct net_cache *c, uint64_t *need)
{
    struct disk_cache_entry e;
    int good;

    if (!disk_cache_read(&c->disk, c->key, KIND_NEED, &e))
        return 0;
    good = e.bytes == sizeof(*need);
    if (good)
        memcpy(need, e.body, sizeof(*need));
    disk_cache_entry_free(&e);
    return good;
}

enum emu_status net_cache_keep_need(const struct net_cache *c, uint64_t need)
{
    char label[DISK_CACHE_LABEL_MAX];

    net_cache_label(&c->in, label, sizeof(label));
    return disk_cache_keep(&c->disk, c->key, KIND_NEED, label, &need, sizeof(need));
}
