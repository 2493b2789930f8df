/* model_options.c - the command line of a network. */
#include "models/run/model_options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_IMAGE = 'i', KEY_WEIGHTS = 'w', KEY_BATCH = 'b' };
enum { KEY_WRITE_WEIGHTS = 0x100, KEY_RESOLUTION, KEY_TORCH, KEY_PROPORTION, KEY_UNCALIBRATED };
enum { KEY_PLAN = 0x200, KEY_LAYERS, KEY_COMPARE, KEY_PARAMETERS };
enum { KEY_SEED = 0x300, KEY_CHART, KEY_LOGITS };

static const struct argp_option options[] = {
    { "image", KEY_IMAGE, "FILE", 0,
      "a JPEG or PNG; repeated for the pictures of a batch (default: pictures of Superstep)", 0 },
    { "weights", KEY_WEIGHTS, "FILE", 0,
      "parameters from a safetensors file with the names of torchvision or timm", 0 },
    { "seed", KEY_SEED, "N", 0, "else parameters are made from this seed (default 1)", 0 },
    { "no-calibration", KEY_UNCALIBRATED, NULL, 0,
      "do not measure the statistics of batch norms; cycles and memory are the same", 0 },
    { "write-weights", KEY_WRITE_WEIGHTS, "FILE", 0, "write the parameters as safetensors", 0 },
    { "logits", KEY_LOGITS, "FILE", 0,
      "write the normalised pictures and the numbers before softmax as safetensors", 0 },
    { "batch", KEY_BATCH, "N", 0, "pictures at a time (default 1)", 0 },
    { "resolution", KEY_RESOLUTION, "N", 0, "side of the pictures (default: the network's)", 0 },
    { "torch-padding", KEY_TORCH, NULL, 0,
      "pad k / 2 on both sides, as torchvision does (default: TensorFlow's SAME)", 0 },
    { "memory-proportion", KEY_PROPORTION, "F", 0,
      "temporaries of a layer take at most this part of a tile's memory, 0 to 1", 0 },
    { "parameter-memory", KEY_PARAMETERS, "F", 0,
      "parameters of convolutions that stay on tiles take at most this part of a tile's memory, 0 "
      "to "
      "1; the others are fetched (default: what is left)",
      0 },
    { "layers", KEY_LAYERS, NULL, 0, "print the layers of the network and stop", 0 },
    { "plan", KEY_PLAN, NULL, 0, "print how every convolution is cut, predicted against run", 0 },
    { "compare-layers", KEY_COMPARE, NULL, 0,
      "instead of a report compare every layer with the f64 reference, fed with the machine's "
      "inputs",
      0 },
    { "chart", KEY_CHART, "FILE.svg", 0,
      "draw the cycles of all blocks and the memory of all tiles", 0 },
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

static void add_image(struct model_request *q, const char *arg, struct argp_state *state)
{
    if (q->images == MODEL_IMAGES_MAX)
        argp_error(state, "at most %d pictures", MODEL_IMAGES_MAX);
    else
        q->image[q->images++] = arg;
}

/* Where a flag is kept; NULL for other options. */
static int *flag_of(int key, struct model_request *q)
{
    switch (key) {
    case KEY_UNCALIBRATED:
        return &q->uncalibrated;
    case KEY_TORCH:
        return &q->net.torch_padding;
    case KEY_LAYERS:
        return &q->layers;
    case KEY_PLAN:
        return &q->plan;
    case KEY_COMPARE:
        return &q->compare;
    default:
        return NULL;
    }
}

static error_t parse_file(int key, char *arg, struct model_request *q)
{
    switch (key) {
    case KEY_WEIGHTS:
        q->weights = arg;
        return 0;
    case KEY_WRITE_WEIGHTS:
        q->write_weights = arg;
        return 0;
    case KEY_LOGITS:
        q->logits = arg;
        return 0;
    case KEY_CHART:
        q->chart = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_number(int key, char *arg, struct argp_state *state)
{
    struct model_request *q = state->input;

    switch (key) {
    case KEY_SEED:
        q->seed = option_number(state, arg, UINT64_MAX);
        q->seeded = 1;
        return 0;
    case KEY_BATCH:
        q->net.batch = (uint32_t)option_positive(state, arg, NET_BATCH_MAX);
        return 0;
    case KEY_RESOLUTION:
        q->net.resolution = (uint32_t)option_positive(state, arg, NET_SIDE_MAX);
        return 0;
    case KEY_PROPORTION:
        q->memory_proportion = option_part(state, arg);
        return 0;
    case KEY_PARAMETERS:
        q->parameter_proportion = option_part(state, arg);
        return 0;
    case KEY_IMAGE:
        add_image(q, arg, state);
        return 0;
    default:
        return parse_file(key, arg, q);
    }
}

static void check_request(const struct model_request *q, struct argp_state *state)
{
    int compiles = !strcmp(q->command, "compile");

    if (compiles && !q->output && !q->allow_oom && !q->layers && !q->plan && !q->report)
        argp_error(state, "compile writes an image: -o FILE.img");
    if (q->weights && q->seeded)
        argp_error(state, "either --weights or --seed");
    if (compiles && q->compare)
        argp_error(state, "--compare-layers needs `superstep run`");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct model_request *q = state->input;
    int *flag = flag_of(key, q);

    if (flag) {
        *flag = 1;
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &q->machine;
        state->child_inputs[1] = &q->choice;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one network at a time: '%s' is one too many", arg);
        return 0;
    case ARGP_KEY_END:
        check_request(q, state);
        return 0;
    default:
        return parse_number(key, arg, state);
    }
}

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 },
                                              { &run_choice_argp, 0, NULL, 0 },
                                              { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "NETWORK",
    .doc =
        "Compile a network for one chip, run pictures through it instruction by instruction, and "
        "print the best classes, the cycles of every layer and what the memory is for.\v"
        "Exit status: 0 ran, 1 fault, a broken bound of --compare-layers or too little memory, 2 "
        "bad usage or file.",
};

int model_options_parse(int argc, char **argv, struct model_request *q)
{
    memset(q, 0, sizeof(*q));
    q->command = argv[0];
    q->name = model_name_find(argc, argv);
    q->seed = 1;
    q->compile.progress = stderr;
    q->choice = (struct run_choice){ .compile = &q->compile,
                                     .run = &q->run,
                                     .output = &q->output,
                                     .digests = &q->digests,
                                     .json = &q->json,
                                     .report = &q->report,
                                     .allow_oom = &q->allow_oom };
    return command_line_parse(&parser, argc, argv, q) != 0;
}

const char *model_name_find(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        for (unsigned k = 0; net_name(k); k++) {
            if (!strcmp(net_name(k), argv[i]))
                return net_name(k);
        }
    }
    return NULL;
}
