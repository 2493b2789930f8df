/* stream_options.c - the options of `superstep stream`. */
#include "models/stream/stream_options.h"

#include "models/ask/model_request.h"
#include "models/ask/network_choice.h"
#include "programs/cli/program_request.h"

enum { IO_TILES = 32, PREFETCH = 3 };

struct stream_options stream_options_of(const struct request *q)
{
    static const enum elem input[] = { ELEM_U8, ELEM_F16, ELEM_F32 };
    const struct network_choice choice = network_choice_of(q);
    struct stream_options o = {
        .lower = network_lowering(&choice),
        .input = input[model_request(q)->input_type],
        .folder = choice.cache,
        .compile = compile_options_of(q),
        .session = session_options_of(q),
    };

    o.lower.loop.link = (struct prefetch_options){
        request_has(q, OPTION_io_tiles) ? (uint32_t)model_request(q)->io_tiles : IO_TILES,
        request_has(q, OPTION_prefetch) ? (uint32_t)model_request(q)->prefetch : PREFETCH
    };
    o.session.host.jitter_ns = (uint32_t)model_request(q)->host_jitter;
    o.session.host.seed = model_request(q)->host_seed;
    o.session.record = o.session.record_exchanges;
    o.session.record_limit = PROFILE_SUPERSTEPS;
    return o;
}
