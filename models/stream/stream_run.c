/* stream_run.c - compiles a network as a loop over batches, runs it, and answers its host transfers
 * (see stream_run.h). */
#include "models/stream/stream_run.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/host/host.h"
#include "models/stream/stream_input.h"
#include "models/stream/stream_times.h"

/* More than the batches that can be under way at a time, from request to results. */
enum { UNDER_WAY = 2 * PREFETCH_MAX_DEPTH + 4 };

struct picture_stream {
    const struct stream_network *net; /* borrowed, like arch */
    struct arch arch;
    struct stream_options o;
    struct pixel_format pixels;
    uint32_t in, out;     /* values of the graph: pictures, scores */
    struct system system; /* owned, like the following */
    struct stream_input input;
    struct stream_record record;
    struct stream_times times;
    const struct stream_calls *calls; /* borrowed during the run */
    uint64_t pictures;                /* that the caller has results of */
    uint32_t count[UNDER_WAY];        /* pictures of batch n, at n % UNDER_WAY */
    float *scores;                    /* owned; of a picture, if the chip has them as f16 */
};

/* ---- construction ---- */

/* An open loop: as many batches as there are pictures for. */
static void init_system(struct picture_stream *s)
{
    struct system_options o = { .program = { .lower = s->o.lower,
                                             .compile = s->o.compile,
                                             .schedules = s->o.schedules,
                                             .outlook = s->o.outlook },
                                .folder = s->o.folder,
                                .progress = s->o.progress };

    o.program.lower.loop.is_open = 1;
    o.program.lower.loop.results = 1;
    o.program.lower.loop.pixels = &s->pixels;
    system_init(&s->system, &s->arch, s->net->graph, &o);
}

/* Whether the program takes pictures as they are to cross the link: those that are not bytes as the
 * numbers that it computes with. */
static enum emu_status check_type(const struct picture_stream *s)
{
    enum elem takes = system_elem(&s->system, s->in);

    return takes == s->o.input ? EMU_OK
                               : FAIL(USAGE, "--input-type %s: %s reads pictures as u8 or %s",
                                      ss_elem_name(s->o.input), s->net->name, ss_elem_name(takes));
}

static enum emu_status build(struct picture_stream *s)
{
    s->scores = emu_alloc(s->net->classes, sizeof(*s->scores));
    if (!s->scores)
        return FAIL(NO_MEMORY, "scores");
    if (!s->o.kept_as ||
        !system_find_ready(&s->system, s->o.kept_as, "a stream of", s->o.session.timing))
        TRY(system_build(&s->system));
    TRY(check_type(s));
    s->record.batch_bytes = system_transfer_bytes(&s->system, s->in);
    return stream_input_init(&s->input, s->net, s->o.input, system_lanes(&s->system, s->in) != 0,
                             s->record.batch_bytes / ss_elem_bytes(s->o.input),
                             2 * s->o.lower.loop.link.depth + 2);
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
    s->in = net->graph->input[0];
    s->out = net->graph->output[0];
    s->pixels = picture_pixels(net->recipe.mean, net->recipe.std, o->input);
    init_system(s);
    status = build(s);
    if (status != EMU_OK) {
        stream_free(s);
        return status;
    }
    stream_times_init(&s->times, &s->arch, &s->o.lower.loop.link, &s->record);
    *out = s;
    return EMU_OK;
}

void stream_free(struct picture_stream *s)
{
    if (!s)
        return;
    system_free(&s->system);
    stream_input_free(&s->input);
    ss_free(s->record.row);
    ss_free(s->scores);
    ss_free(s);
}

struct system *stream_system(struct picture_stream *s)
{
    return &s->system;
}

void stream_keep(struct picture_stream *s)
{
    system_keep(&s->system, NULL, NULL);
}

const struct stream_record *stream_record(const struct picture_stream *s)
{
    return &s->record;
}

/* ---- what the host says ---- */

static enum emu_status has_batch(void *ctx, uint64_t n, int *has)
{
    return stream_input_has(&((struct picture_stream *)ctx)->input, n, has);
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

    if (system_elem(&s->system, s->out) == ELEM_F32)
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
    const struct system_batches batches = { s, has_batch };
    const struct session_calls in = { s, send_batch, batch_arrived };
    const struct session_calls out = { s, take_scores, results_left };

    TRY(system_connect_batches(&s->system, &batches));
    TRY(system_connect(&s->system, s->in, &in));
    return system_connect(&s->system, s->out, &out);
}

static void close_record(struct picture_stream *s)
{
    const struct host_stream_record *in = system_link(&s->system, s->in);

    s->record.cycles = ss_session_cycles(s->system.session);
    s->record.bytes_in = in->bytes;
    s->record.packets_in = in->packets;
    s->record.link_cycles = in->busy_cycles;
    s->record.bytes_out = system_link(&s->system, s->out)->bytes;
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
    TRY(system_start(&s->system, &so));
    TRY(connect(s));
    TRY(stream_input_has(&s->input, 0, &has));
    if (!has) {
        s->record.stopped = is_stopped(s);
        return EMU_OK;
    }
    status = system_run(&s->system);
    close_record(s);
    return s->record.stopped ? EMU_OK : status;
}
