/* stream_run.c - compiles a network as a loop over batches, runs it, and answers its host transfers
 * (see stream_run.h). */
#include "models/stream/stream_run.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/host/host.h"
#include "emu/job/run_image.h"
#include "models/lower/op_program.h"
#include "models/stream/stream_input.h"
#include "models/stream/stream_times.h"

/* More than the batches that can be under way at a time, from request to results. */
enum { UNDER_WAY = 2 * PREFETCH_MAX_DEPTH + 4 };

struct picture_stream {
    const struct stream_network *net; /* borrowed, like arch */
    struct arch arch;
    struct stream_options o;
    struct op_program p; /* owned, like the following */
    struct session *session;
    struct stream_input input;
    struct stream_record record;
    struct stream_times times;
    const struct stream_calls *calls; /* borrowed during the run */
    uint64_t pictures;                /* that the caller has results of */
    uint32_t count[UNDER_WAY];        /* pictures of batch n, at n % UNDER_WAY */
    float *scores;                    /* owned; of a picture, if the chip has them as f16 */
};

/* ---- construction ---- */

static enum emu_status build(struct picture_stream *s)
{
    struct pixel_format c = picture_pixels(s->net->recipe.mean, s->net->recipe.std, s->o.input);
    const struct op_program_options o = {
        .lower = { .real = ELEM_F16,
                   .memory_proportion = s->o.memory_proportion,
                   .parameter_proportion = s->o.parameter_proportion,
                   .depthwise = s->o.depthwise,
                   .loop = { .is_open = 1, .results = 1, .link = s->o.prefetch, .pixels = &c } },
        .compile = s->o.compile,
        .schedules = s->o.schedules,
        .outlook = s->o.outlook,
    };
    uint64_t numbers;

    s->scores = emu_alloc(s->net->classes, sizeof(*s->scores));
    if (!s->scores)
        return FAIL(NO_MEMORY, "scores");
    TRY(op_program_new(&s->arch, s->net->graph, &o, &s->p));
    numbers = tensor_elements(s->p.graph, s->p.network->in[0].raw);
    s->record.batch_bytes = numbers * elem_bytes(s->o.input);
    return stream_input_init(&s->input, s->net, s->o.input, numbers, 2 * s->o.prefetch.depth + 2);
}

enum emu_status stream_new(const struct stream_network *net, const struct arch *a,
                           const struct stream_options *o, struct picture_stream **out)
{
    struct picture_stream *s = emu_alloc(1, sizeof(*s));
    enum emu_status status;

    *out = NULL;
    if (!s)
        return FAIL(NO_MEMORY, "a stream");
    s->net = net;
    s->arch = *a;
    s->o = *o;
    status = build(s);
    if (status != EMU_OK) {
        stream_free(s);
        return status;
    }
    stream_times_init(&s->times, &s->arch, &s->o.prefetch, &s->record);
    *out = s;
    return EMU_OK;
}

void stream_free(struct picture_stream *s)
{
    if (!s)
        return;
    session_free(s->session);
    op_program_free(&s->p);
    stream_input_free(&s->input);
    emu_free(s->record.row);
    emu_free(s->scores);
    emu_free(s);
}

struct compiled *stream_compiled(const struct picture_stream *s)
{
    return s->p.compiled;
}

uint64_t stream_need_bytes(const struct picture_stream *s)
{
    return s->p.need_bytes;
}

const struct prefetch *stream_prefetch(const struct picture_stream *s)
{
    return &s->p.network->loop;
}

struct session *stream_session(struct picture_stream *s)
{
    return s->session;
}

const struct stream_record *stream_record(const struct picture_stream *s)
{
    return &s->record;
}

/* ---- what the host says ---- */

static enum emu_status send_begin(void *ctx, uint64_t n, void *data)
{
    struct picture_stream *s = ctx;
    uint32_t *there = data;
    int has;

    (void)n;
    for (uint32_t k = 0; k < s->o.prefetch.depth; k++) {
        TRY(stream_input_has(&s->input, k, &has));
        there[k] = (uint32_t)has;
    }
    return EMU_OK;
}

static enum emu_status send_control(void *ctx, uint64_t n, void *data)
{
    struct picture_stream *s = ctx;
    uint32_t *word = data, depth = s->o.prefetch.depth;
    int go, ask = 0;

    TRY(stream_input_has(&s->input, depth ? n + 1 : n, &go));
    if (depth)
        TRY(stream_input_has(&s->input, n + depth, &ask));
    word[0] = (uint32_t)go;
    word[1] = (uint32_t)ask;
    return EMU_OK;
}

static enum emu_status send_batch(void *ctx, uint64_t n, void *data)
{
    struct picture_stream *s = ctx;
    uint32_t *pictures = &s->count[n % UNDER_WAY];

    memcpy(data, stream_input_batch(&s->input, n, pictures), s->record.batch_bytes);
    return stream_times_pictures(&s->times, n, *pictures);
}

static void batch_arrived(void *ctx, uint64_t n, const struct session_moment *when)
{
    stream_times_arrived(&((struct picture_stream *)ctx)->times, n, when);
}

static void results_left(void *ctx, uint64_t n, const struct session_moment *when)
{
    stream_times_left(&((struct picture_stream *)ctx)->times, n, when);
}

static int is_stopped(const struct picture_stream *s)
{
    return s->calls->stop && s->calls->stop(s->calls->ctx);
}

/* The scores of picture i of a batch, as f32. */
static const float *scores_of(struct picture_stream *s, const void *data, uint32_t i)
{
    size_t classes = s->net->classes;
    struct fp_env env = { 0 };

    if (s->p.network->out[0].elem == ELEM_F32)
        return (const float *)data + i * classes;
    for (size_t k = 0; k < classes; k++) {
        uint32_t word = fp_f16_to_f32(((const uint16_t *)data)[i * classes + k], &env);

        memcpy(&s->scores[k], &word, sizeof(word));
    }
    return s->scores;
}

static enum emu_status take_scores(void *ctx, uint64_t n, void *data)
{
    struct picture_stream *s = ctx;
    uint32_t pictures = s->count[n % UNDER_WAY];

    for (uint32_t i = 0; i < pictures; i++)
        TRY(s->calls->result(s->calls->ctx, s->pictures++, scores_of(s, data, i)));
    s->record.batches++;
    s->record.pictures = s->pictures;
    s->record.stopped = is_stopped(s);
    return !s->record.stopped
               ? EMU_OK
               : FAIL(FAULT, "stopped after %llu pictures", (unsigned long long)s->pictures);
}

static enum emu_status connect(struct picture_stream *s)
{
    const struct session_calls begin = { .ctx = s, .transfer = send_begin };
    const struct session_calls control = { .ctx = s, .transfer = send_control };
    const struct session_calls in = { s, send_batch, batch_arrived };
    const struct session_calls out = { s, take_scores, results_left };
    const struct lowered_network *n = s->p.network;

    if (s->o.prefetch.depth)
        TRY(session_connect(s->session, n->loop.begin, &begin));
    TRY(session_connect(s->session, n->loop.control, &control));
    TRY(session_connect(s->session, n->in[0].stream, &in));
    return session_connect(s->session, n->out[0].stream, &out);
}

static void close_record(struct picture_stream *s)
{
    const struct host *h = session_run_image(s->session)->host;
    const struct lowered_network *n = s->p.network;

    s->record.cycles = session_cycles(s->session);
    s->record.bytes_in = host_record(h, n->in[0].stream)->bytes;
    s->record.packets_in = host_record(h, n->in[0].stream)->packets;
    s->record.link_cycles = host_record(h, n->in[0].stream)->busy_cycles;
    s->record.bytes_out = host_record(h, n->out[0].stream)->bytes;
    stream_times_sum(&s->times);
}

enum emu_status stream_run(struct picture_stream *s, const struct stream_calls *calls)
{
    struct session_options so = s->o.session;
    enum emu_status status;
    int has;

    s->calls = s->input.calls = calls;
    so.watch = stream_times_watch;
    so.watch_ctx = &s->times;
    TRY(session_new(s->p.compiled, &so, &s->session));
    TRY(connect(s));
    TRY(stream_input_has(&s->input, 0, &has));
    if (!has) {
        s->record.stopped = is_stopped(s);
        return EMU_OK;
    }
    status = session_run(s->session);
    close_record(s);
    return s->record.stopped ? EMU_OK : status;
}
