/* network_choice.c - parses the options of a network. */
#include "models/run/network_choice.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_WEIGHTS = 'w', KEY_BATCH = 'b' };
enum { KEY_SEED = 0x100, KEY_UNCALIBRATED, KEY_WRITE_WEIGHTS, KEY_RESOLUTION, KEY_TORCH };
enum { KEY_PROPORTION = 0x200, KEY_PARAMETERS };

static const struct argp_option options[] = {
    { "weights", KEY_WEIGHTS, "FILE", 0,
      "parameters from a safetensors file with the names of torchvision or timm", 0 },
    { "seed", KEY_SEED, "N", 0, "else parameters are made from this seed (default 1)", 0 },
    { "no-calibration", KEY_UNCALIBRATED, NULL, 0,
      "do not measure the statistics of batch norms; cycles and memory are the same", 0 },
    { "write-weights", KEY_WRITE_WEIGHTS, "FILE", 0, "write the parameters as safetensors", 0 },
    { "batch", KEY_BATCH, "N", 0, "pictures at a time (default 1)", 0 },
    { "resolution", KEY_RESOLUTION, "N", 0, "side of the pictures (default: the network's)", 0 },
    { "torch-padding", KEY_TORCH, NULL, 0,
      "pad k / 2 on both sides, as torchvision does (default: TensorFlow's SAME)", 0 },
    { "memory-proportion", KEY_PROPORTION, "F", 0,
      "temporaries of a layer take at most this part of a tile's memory, 0 to 1", 0 },
    { "parameter-memory", KEY_PARAMETERS, "F", 0,
      "parameters of convolutions that stay on tiles take at most this part of a tile's memory, 0 "
      "to 1; the others are fetched (default: what is left)",
      0 },
    { 0 },
};

static double option_part(struct argp_state *state, const char *arg)
{
    char *end;
    double v = strtod(arg, &end);

    if (end == arg || *end || !(v > 0 && v <= 1))
        argp_error(state, "'%s' is not a number above 0 and at most 1", arg);
    return v;
}

static error_t parse_parameters(int key, char *arg, struct argp_state *state)
{
    struct network_choice *c = state->input;

    switch (key) {
    case KEY_WEIGHTS:
        c->weights = arg;
        return 0;
    case KEY_WRITE_WEIGHTS:
        c->write_weights = arg;
        return 0;
    case KEY_SEED:
        c->seed = option_number(state, arg, UINT64_MAX);
        c->seeded = 1;
        return 0;
    case KEY_UNCALIBRATED:
        c->uncalibrated = 1;
        return 0;
    case ARGP_KEY_END:
        if (c->weights && c->seeded)
            argp_error(state, "either --weights or --seed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_choice(int key, char *arg, struct argp_state *state)
{
    struct network_choice *c = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        c->seed = 1;
        return 0;
    case KEY_BATCH:
        c->net.batch = (uint32_t)option_positive(state, arg, NET_BATCH_MAX);
        return 0;
    case KEY_RESOLUTION:
        c->net.resolution = (uint32_t)option_positive(state, arg, NET_SIDE_MAX);
        return 0;
    case KEY_TORCH:
        c->net.torch_padding = 1;
        return 0;
    case KEY_PROPORTION:
        c->memory_proportion = option_part(state, arg);
        return 0;
    case KEY_PARAMETERS:
        c->parameter_proportion = option_part(state, arg);
        return 0;
    default:
        return parse_parameters(key, arg, state);
    }
}

const struct argp network_choice_argp = { .options = options, .parser = parse_choice };

const char *network_name_find(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        for (unsigned k = 0; net_name(k); k++) {
            if (!strcmp(net_name(k), argv[i]))
                return net_name(k);
        }
    }
    return NULL;
}
