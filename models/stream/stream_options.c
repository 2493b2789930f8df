/* stream_options.c - the options of `superstep stream`. */
#include "models/stream/stream_options.h"

#include "models/ask/model_request.h"
#include "models/ask/network_choice.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, io_tiles)
OPTION_READ(NUMBER, prefetch)
OPTION_READ(WORD, input_type)
OPTION_READ(NUMBER, host_jitter)
OPTION_READ(NUMBER, host_seed)

enum { IO_TILES = 32, PREFETCH = 3 };

struct stream_options stream_options_of(const struct request *q)
{
    static const enum elem input[] = { ELEM_U8, ELEM_F16, ELEM_F32 };
    const struct network_choice choice = network_choice_of(q);
    struct stream_options o = {
        .lower = network_lowering(&choice),
        .input = input[option_input_type(q)],
        .folder = choice.cache,
        .compile = compile_options_of(q),
        .session = session_options_of(q),
    };

    o.lower.loop.link = (struct prefetch_options){
        request_has(q, OPTION_io_tiles) ? (uint32_t)option_io_tiles(q) : IO_TILES,
        request_has(q, OPTION_prefetch) ? (uint32_t)option_prefetch(q) : PREFETCH
    };
    o.session.host.jitter_ns = (uint32_t)option_host_jitter(q);
    o.session.host.seed = option_host_seed(q);
    o.session.record = o.session.record_exchanges;
    o.session.record_limit = PROFILE_SUPERSTEPS;
    return o;
}
