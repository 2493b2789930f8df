/* stream_options.c - the command line of `superstep stream`. */
#include "models/stream/stream_options.h"

#include <string.h>

#include "models/feed/feed.h"

enum { KEY_OUTPUT = 'o', KEY_LIMIT = 'n' };
enum { KEY_IO = 0x100, KEY_PREFETCH, KEY_INPUT, KEY_BANDWIDTH, KEY_JITTER, KEY_JITTER_SEED };
enum { KEY_RESUME = 0x200, KEY_DECODERS, KEY_QUEUE };

enum { IO_TILES = 32, PREFETCH = 3 };

static const struct argp_option options[] = {
    { "io-tiles", KEY_IO, "N", 0, "tiles that fetch and send instead of computing (default 32)",
      0 },
    { "prefetch", KEY_PREFETCH, "N", 0,
      "batches that they hold, up to 8 (default 3); 0: fetch, then compute", 0 },
    { "input-type", KEY_INPUT, "u8|f16|f32", 0, "how pictures cross the link (default u8)", 0 },
    { "host-bandwidth", KEY_BANDWIDTH, "MB/s", 0, "of the host link (default: the machine's)", 0 },
    { "host-jitter", KEY_JITTER, "NS", 0, "each packet is late by a random time up to this", 0 },
    { "host-seed", KEY_JITTER_SEED, "N", 0, "of the jitter (default 0)", 0 },
    { "output", KEY_OUTPUT, "FILE", 0,
      "results of each picture: .csv, .jsonl, or - for CSV on stdout, and the answer on stderr",
      0 },
    { "resume", KEY_RESUME, NULL, 0, "go on behind the results that the output holds already", 0 },
    { "limit", KEY_LIMIT, "N", 0, "pictures, at most; with those of the output that is resumed",
      0 },
    { "decoders", KEY_DECODERS, "N", 0, "threads that decode pictures (default: all cores)", 0 },
    { "queue", KEY_QUEUE, "N", 0, "decoded pictures that wait, at most", 0 },
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
        q->decoders = (unsigned)option_number(state, arg, FEED_THREADS_MAX);
        return 0;
    case KEY_QUEUE:
        q->queue = (unsigned)option_number(state, arg, FEED_QUEUE_MAX);
        return 0;
    default:
        return parse_link(key, arg, state);
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct stream_request *q = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &q->machine;
        state->child_inputs[1] = &q->network;
        state->child_inputs[2] = &q->choice;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            return ARGP_ERR_UNKNOWN;
        q->network.name = network_name_find(2, (char *[]){ NULL, arg });
        if (!q->network.name)
            argp_error(state, "'%s' is no network; superstep models lists them", arg);
        return 0;
    case ARGP_KEY_ARGS:
        q->path = (const char *const *)state->argv + state->next;
        q->paths = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (!q->network.name)
            argp_error(state, "which network?");
        if (q->resume && !q->output)
            argp_error(state, "--resume goes on with results: --output FILE");
        return 0;
    default:
        return parse_files(key, arg, state);
    }
}

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 },
                                              { &network_choice_argp, 0, NULL, 0 },
                                              { &work_choice_argp, 0, NULL, 0 },
                                              { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "NETWORK [PICTURE|DIRECTORY|@LIST|-]...",
    .doc =
        "Run a stream of pictures through a network: IO tiles fetch the next batches while the "
        "other tiles compute. Every batch is executed. Without pictures those of Superstep are "
        "taken in turn.\v"
        "Exit status: 0 ran, 1 fault or too little memory, 2 bad usage or file, too few IO tiles, "
        "or no result at all, 3 some pictures or results are missing: bad files, an interrupt "
        "(what was done is kept), a full disk.",
};

int stream_options_parse(int argc, char **argv, struct stream_request *q)
{
    memset(q, 0, sizeof(*q));
    q->stream.prefetch = (struct prefetch_options){ IO_TILES, PREFETCH };
    q->stream.compile.progress = stderr;
    q->choice = (struct run_choice){ .compile = &q->stream.compile,
                                     .run = &q->stream.session,
                                     .json = &q->json };
    return command_line_parse(&parser, argc, argv, q) != 0;
}
