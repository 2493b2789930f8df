/* cmd_models.c - `superstep models`: the networks that are known by name, the layers of one, and
 * its weights as a file. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/cli/commands_models.h"
#include "models/ref/ref.h"
#include "models/stream/cmd_stream.h"

enum { KEY_BATCH = 'b', KEY_RESOLUTION = 'r', KEY_CLASSES = 'c', KEY_PADDING = 'p' };
enum { KEY_NORM = 'n', KEY_WEIGHTS = 'w', KEY_SEED = 's', KEY_OUTPUT = 'o' };

struct request {
    const char *name, *weights, *output;
    struct net_options net;
    uint64_t seed;
    int seeded;
};

static void choose_padding(struct request *q, const char *arg, struct argp_state *state)
{
    if (!strcmp(arg, "torch"))
        q->net.torch_padding = 1;
    else if (strcmp(arg, "same"))
        argp_error(state, "--padding is same or torch, not '%s'", arg);
}

static error_t parse_number(int key, char *arg, struct argp_state *state)
{
    struct request *q = state->input;

    switch (key) {
    case KEY_BATCH:
        q->net.batch = (uint32_t)option_positive(state, arg, NET_BATCH_MAX);
        return 0;
    case KEY_RESOLUTION:
        q->net.resolution = (uint32_t)option_positive(state, arg, NET_SIDE_MAX);
        return 0;
    case KEY_CLASSES:
        q->net.classes = (uint32_t)option_positive(state, arg, NET_CLASSES_MAX);
        return 0;
    case KEY_SEED:
        q->seed = option_number(state, arg, UINT64_MAX);
        q->seeded = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *q = state->input;

    switch (key) {
    case KEY_PADDING:
        choose_padding(q, arg, state);
        return 0;
    case KEY_NORM:
        q->net.norm = arg;
        return 0;
    case KEY_WEIGHTS:
        q->weights = arg;
        return 0;
    case KEY_OUTPUT:
        q->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (q->name)
            argp_error(state, "one network at a time: '%s' is one too many", arg);
        q->name = arg;
        return 0;
    case ARGP_KEY_END:
        if (!q->name && (q->output || q->weights))
            argp_error(state, "weights of which network?");
        if (q->weights && q->seeded)
            argp_error(state, "either --weights or --seed");
        return 0;
    default:
        return parse_number(key, arg, state);
    }
}

static const struct argp_option options[] = {
    { "batch", KEY_BATCH, "N", 0, "pictures at a time", 0 },
    { "resolution", KEY_RESOLUTION, "N", 0, "side of the picture", 0 },
    { "classes", KEY_CLASSES, "N", 0, "number of classes", 0 },
    { "padding", KEY_PADDING, "same|torch", 0,
      "how EfficientNet pads: as TensorFlow (default) or as torchvision", 0 },
    { "norm", KEY_NORM, "batch|group", 0, "kind of norm (default: the network's own)", 0 },
    { "weights", KEY_WEIGHTS, "FILE", 0,
      "check that a safetensors file has the weights of the network; lists what is wrong", 0 },
    { "seed", KEY_SEED, "N", 0, "seed of the weights that -o writes (default 1)", 0 },
    { "output", KEY_OUTPUT, "FILE", 0,
      "write weights to a safetensors file: those of --weights, else seeded ones with measured "
      "statistics",
      0 },
    { 0 },
};

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[NAME]",
    .doc = "List the networks that are known by name, or print the layers of one.\v"
           "Exit status: 0, or 2 for bad usage or a bad file.",
};

static enum emu_status list_networks(const struct request *q)
{
    printf("%-20s %11s %12s %10s  %s\n", "network", "parameters", "M mult-adds", "resolution",
           "what");
    for (unsigned i = 0; net_name(i); i++) {
        struct net *n;

        TRY(net_new(net_name(i), &q->net, &n));
        printf("%-20s %11" PRIu64 " %12.1f %10u  %s\n", n->name, net_params(n),
               (double)net_macs(n) / 1e6, n->resolution, net_text(i));
        net_free(n);
    }
    return EMU_OK;
}

static enum emu_status make_weights(const struct request *q, const struct net *n, struct weights *w)
{
    if (q->weights)
        return weights_read(w, n, q->weights, stderr);
    weights_seed(w, n, q->seeded ? q->seed : 1);
    fprintf(stderr, "measuring the statistics of %d pictures\n", CALIBRATION_PICTURES);
    return weights_calibrate(w, n, CALIBRATION_PICTURES);
}

static enum emu_status handle_weights(const struct request *q, const struct net *n)
{
    struct weights *w;
    enum emu_status s;

    TRY(weights_new(n, &w));
    s = make_weights(q, n, w);
    if (s == EMU_OK && w->names)
        printf("%s: all %u tensors are there, named as %s names them\n", q->weights, w->params,
               w->names);
    if (s == EMU_OK && q->output)
        s = weights_write(w, n, q->output);
    weights_free(w);
    return s;
}

static enum emu_status one_network(const struct request *q)
{
    struct net *n;
    enum emu_status s = EMU_OK;

    TRY(net_new(q->name, &q->net, &n));
    if (q->weights || q->output)
        s = handle_weights(q, n);
    else
        net_print(n, stdout);
    net_free(n);
    return s;
}

static int cmd_models(int argc, char **argv)
{
    struct request q = { 0 };

    if (command_line_parse(&parser, argc, argv, &q))
        return EXIT_BAD;
    if ((q.name ? one_network(&q) : list_networks(&q)) != EMU_OK) {
        fprintf(stderr, "superstep models: %s\n", emu_error());
        return EXIT_BAD;
    }
    return EXIT_RAN;
}

const struct command model_commands[] = {
    { "models", cmd_models, "list the networks, print one, check or write its weights" },
    { "stream", cmd_stream, "run a stream of pictures through a network, with IO tiles" },
    { NULL, NULL, NULL },
};
