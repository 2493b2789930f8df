/* model_options.c - the command line of a network. */
#include "models/run/model_options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_IMAGE = 'i' };
enum { KEY_PLAN = 0x100, KEY_LAYERS, KEY_COMPARE, KEY_CHART, KEY_LOGITS };

static const struct argp_option options[] = {
    { "image", KEY_IMAGE, "FILE", 0,
      "a JPEG or PNG; repeated for the pictures of a batch (default: pictures of Superstep)", 0 },
    { "logits", KEY_LOGITS, "FILE", 0,
      "write the normalised pictures and the numbers before softmax as safetensors", 0 },
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

static void check_request(const struct model_request *q, struct argp_state *state)
{
    int compiles = !strcmp(q->command, "compile");

    if (compiles && !q->output && !q->allow_oom && !q->layers && !q->plan && !q->report)
        argp_error(state, "compile writes an image: -o FILE.img");
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
        state->child_inputs[1] = &q->network;
        state->child_inputs[2] = &q->choice;
        return 0;
    case KEY_IMAGE:
        add_image(q, arg, state);
        return 0;
    case KEY_LOGITS:
        q->logits = arg;
        return 0;
    case KEY_CHART:
        q->chart = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one network at a time: '%s' is one too many", arg);
        return 0;
    case ARGP_KEY_END:
        check_request(q, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 },
                                              { &network_choice_argp, 0, NULL, 0 },
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
    q->network.name = network_name_find(argc, argv);
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
