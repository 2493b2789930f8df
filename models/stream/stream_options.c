/* stream_options.c - the command line of `superstep stream`. */
#include "models/stream/stream_options.h"

#include <argp.h>
#include <string.h>

enum { KEY_OUTPUT = 'o', KEY_THREADS = 'j', KEY_CHECK = 'k', KEY_QUIET = 'q', KEY_BATCH = 'b' };
enum { KEY_WEIGHTS = 'w', KEY_SEED = 's', KEY_LIMIT = 'n' };
enum { KEY_IO = 0x100, KEY_PREFETCH, KEY_INPUT, KEY_BANDWIDTH, KEY_JITTER, KEY_JITTER_SEED };
enum { KEY_RESOLUTION = 0x200, KEY_TORCH, KEY_PROPORTION, KEY_UNCALIBRATED, KEY_EXCHANGE };
enum { KEY_JSON = 0x300, KEY_DECODERS, KEY_QUEUE, KEY_PLAIN, KEY_RESUME };

enum { IO_TILES = 32, PREFETCH = 3, DECODERS_MAX = 4096, QUEUE_MAX = 1 << 16 };

static const struct argp_option options[] = {
    { "io-tiles", KEY_IO, "N", 0, "tiles that fetch and send instead of computing (default 32)",
      0 },
    { "prefetch", KEY_PREFETCH, "N", 0,
      "batches that they hold, up to 8 (default 3); 0: fetch, then compute", 0 },
    { "input-type", KEY_INPUT, "u8|f16|f32", 0, "how pictures cross the link (default u8)", 0 },
    { "host-bandwidth", KEY_BANDWIDTH, "MB/s", 0, "of the host link (default: the machine's)", 0 },
    { "host-jitter", KEY_JITTER, "NS", 0, "each packet is late by a random time up to this", 0 },
    { "host-seed", KEY_JITTER_SEED, "N", 0, "of the jitter (default 0)", 0 },
    { "output", KEY_OUTPUT, "FILE", 0, "results of each picture: .csv, .jsonl, or - for CSV", 0 },
    { "resume", KEY_RESUME, NULL, 0, "go on behind the results that the output holds already", 0 },
    { "limit", KEY_LIMIT, "N", 0, "pictures, at most", 0 },
    { "decoders", KEY_DECODERS, "N", 0, "threads that decode pictures (default: all cores)", 0 },
    { "queue", KEY_QUEUE, "N", 0, "decoded pictures that wait, at most", 0 },
    { "batch", KEY_BATCH, "N", 0, "pictures at a time (default 1)", 0 },
    { "resolution", KEY_RESOLUTION, "N", 0, "side of the pictures (default: the network's)", 0 },
    { "weights", KEY_WEIGHTS, "FILE", 0, "parameters from a safetensors file", 0 },
    { "seed", KEY_SEED, "N", 0, "else parameters are made from this seed (default 1)", 0 },
    { "no-calibration", KEY_UNCALIBRATED, NULL, 0, "do not measure the statistics of batch norms",
      0 },
    { "torch-padding", KEY_TORCH, NULL, 0, "pad k / 2 on both sides", 0 },
    { "memory-proportion", KEY_PROPORTION, "F", 0,
      "temporaries of a layer take at most this part of a tile's memory, 0 to 1", 0 },
    { "exchange", KEY_EXCHANGE, "cycles|memory", 0,
      "what exchange code is optimised for (default cycles)", 0 },
    { "threads", KEY_THREADS, "N", 0, "host threads (default: all cores); changes no result", 0 },
    { "check", KEY_CHECK, NULL, 0, "report reads of memory that was never written, and more", 0 },
    { "plain", KEY_PLAIN, NULL, 0, "without fast paths; changes no result", 0 },
    { "json", KEY_JSON, NULL, 0, "print the answer as JSON", 0 },
    { "quiet", KEY_QUIET, NULL, 0, "no progress on stderr", 0 },
    { 0 },
};

static void choose_input(struct stream_request *q, const char *arg, struct argp_state *state)
{
    static const enum elem elems[] = { ELEM_U8, ELEM_F16, ELEM_F32 };

    for (unsigned k = 0; k < EMU_COUNT_OF(elems); k++) {
        if (!strcmp(arg, elem_name(elems[k]))) {
            q->stream.input = elems[k];
            return;
        }
    }
    argp_error(state, "--input-type is u8, f16 or f32, not '%s'", arg);
}

static void choose_exchange(struct stream_request *q, const char *arg, struct argp_state *state)
{
    if (!strcmp(arg, "cycles"))
        q->stream.compile.exchange = EXCHANGE_CYCLES;
    else if (!strcmp(arg, "memory"))
        q->stream.compile.exchange = EXCHANGE_MEMORY;
    else
        argp_error(state, "--exchange is cycles or memory, not '%s'", arg);
}

static double option_part(struct argp_state *state, const char *arg)
{
    char *end;
    double v = strtod(arg, &end);

    if (end == arg || *end || !(v > 0 && v <= 1))
        argp_error(state, "'%s' is not a number above 0 and at most 1", arg);
    return v;
}

static error_t parse_link(int key, char *arg, struct argp_state *state)
{
    struct stream_request *q = state->input;

    switch (key) {
    case KEY_IO:
        q->stream.prefetch.tiles = (uint32_t)option_number(state, arg, UINT16_MAX);
        return 0;
    case KEY_PREFETCH:
        q->stream.prefetch.depth = (uint32_t)option_number(state, arg, PREFETCH_MAX_DEPTH);
        return 0;
    case KEY_INPUT:
        choose_input(q, arg, state);
        return 0;
    case KEY_BANDWIDTH:
        q->host_mbytes_per_s = (uint32_t)option_positive(state, arg, UINT32_MAX);
        return 0;
    case KEY_JITTER:
        q->stream.session.host.jitter_ns = (uint32_t)option_number(state, arg, UINT32_MAX);
        return 0;
    case KEY_JITTER_SEED:
        q->stream.session.host.seed = option_number(state, arg, UINT64_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_files(int key, char *arg, struct argp_state *state)
{
    struct stream_request *q = state->input;

    switch (key) {
    case KEY_OUTPUT:
        q->output = arg;
        return 0;
    case KEY_RESUME:
        q->resume = 1;
        return 0;
    case KEY_LIMIT:
        q->limit = option_positive(state, arg, UINT64_MAX);
        return 0;
    case KEY_DECODERS:
        q->decoders = (unsigned)option_number(state, arg, DECODERS_MAX);
        return 0;
    case KEY_QUEUE:
        q->queue = (unsigned)option_number(state, arg, QUEUE_MAX);
        return 0;
    case KEY_WEIGHTS:
        q->model.weights = arg;
        return 0;
    case KEY_JSON:
        q->model.json = 1;
        return 0;
    case KEY_QUIET:
        q->stream.compile.progress = NULL;
        return 0;
    default:
        return parse_link(key, arg, state);
    }
}

static error_t parse_network(int key, char *arg, struct argp_state *state)
{
    struct stream_request *q = state->input;

    switch (key) {
    case KEY_BATCH:
        q->model.net.batch = (uint32_t)option_positive(state, arg, NET_BATCH_MAX);
        return 0;
    case KEY_RESOLUTION:
        q->model.net.resolution = (uint32_t)option_positive(state, arg, NET_SIDE_MAX);
        return 0;
    case KEY_SEED:
        q->model.seed = option_number(state, arg, UINT64_MAX);
        q->model.seeded = 1;
        return 0;
    case KEY_UNCALIBRATED:
        q->model.uncalibrated = 1;
        return 0;
    case KEY_TORCH:
        q->model.net.torch_padding = 1;
        return 0;
    case KEY_PROPORTION:
        q->stream.memory_proportion = option_part(state, arg);
        return 0;
    default:
        return parse_files(key, arg, state);
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct stream_request *q = state->input;

    switch (key) {
    case KEY_EXCHANGE:
        choose_exchange(q, arg, state);
        return 0;
    case KEY_THREADS:
        q->stream.session.threads = q->stream.compile.threads =
            (unsigned)option_number(state, arg, DECODERS_MAX);
        return 0;
    case KEY_CHECK:
        q->stream.session.check = 1;
        return 0;
    case KEY_PLAIN:
        q->stream.session.plain = 1;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &q->model.machine;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            return ARGP_ERR_UNKNOWN;
        q->model.name = model_name_find(2, (char *[]){ NULL, arg });
        if (!q->model.name)
            argp_error(state, "'%s' is no network; superstep models lists them", arg);
        return 0;
    case ARGP_KEY_ARGS:
        q->path = (const char *const *)state->argv + state->next;
        q->paths = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (!q->model.name)
            argp_error(state, "which network?");
        if (q->resume && !q->output)
            argp_error(state, "--resume goes on with results: --output FILE");
        return 0;
    default:
        return parse_network(key, arg, state);
    }
}

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 }, { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "NETWORK [PICTURE|DIRECTORY|@LIST|-]...",
    .doc = "Run a stream of pictures through a network: IO tiles fetch the next batches while the "
           "other tiles compute. Every batch is executed. Without pictures those of Superstep are "
           "taken in turn.\v"
           "Exit status: 0 ran, 1 fault or too little memory, 2 bad usage or file, or too few IO "
           "tiles, 3 some pictures or results are missing: bad files, an interrupt (what was done "
           "is kept), a full disk.",
};

int stream_options_parse(int argc, char **argv, struct stream_request *q)
{
    memset(q, 0, sizeof(*q));
    q->model.command = argv[0];
    q->model.seed = 1;
    q->stream.prefetch = (struct prefetch_options){ IO_TILES, PREFETCH };
    q->stream.compile.progress = stderr;
    return command_line_parse(&parser, argc, argv, q) != 0;
}
