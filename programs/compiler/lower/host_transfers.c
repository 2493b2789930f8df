/* host_transfers.c - transfers between a stream and a tensor. A tile makes as few requests of whole
 * words as possible, and the bytes cross the link in the order in which they lie on the tile. The
 * host puts them into the order of the tensor.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* A request takes a tile about as long as GAP_BYTES take to cross the link, so gaps up to that
 * length are sent along. A tile that would need more than MAX_REQUESTS requests collects its runs
 * in a buffer. */
enum { GAP_BYTES = 32, MAX_REQUESTS = 8 };

/* Bytes of the tensor on a tile. */
struct host_run {
    uint32_t tile, object, offset, bytes;
    uint64_t element;
};

/* A request in the making: runs [first, end) of the list. */
struct host_range {
    struct host_request request;
    size_t first, end;
};

struct host_job {
    struct graph_lowering *w;
    uint32_t stream;
    int in, begins;
    unsigned unit; /* bytes of an element */
    VEC(struct host_run) run;
    VEC(struct host_range) range;
    uint32_t rounds;
};

static enum emu_status find_runs(struct host_job *j, uint32_t view)
{
    struct graph_lowering *w = j->w;
    uint64_t element = 0;

    w->run.count = 0;
    TRY(storage_runs(w, view, &w->run));
    for (size_t i = 0; i < w->run.count; i++) {
        struct memory_run p = w->run.at[i];

        TRY(VEC_PUSH(&j->run, (struct host_run){ lower_object(w, p.object)->tile, p.object,
                                                 p.offset, p.bytes, element }));
        element += p.bytes / j->unit;
    }
    TRY(KEY_SORT(&j->run, struct host_run, object, 2));
    return KEY_SORT(&j->run, struct host_run, tile, 1);
}

/* The run after the last one of a request that begins with run i. What goes to the tile must lie
 * there without gaps; on the way to the host, gaps may be sent along. */
static size_t range_end(const struct host_job *j, size_t i, size_t end)
{
    uint32_t gap = j->in ? 0 : GAP_BYTES;
    size_t k = i + 1;

    for (; k < end; k++) {
        const struct host_run *a = &j->run.at[k - 1], *b = &j->run.at[k];

        if (a->object != b->object || b->offset < a->offset + a->bytes ||
            b->offset - (a->offset + a->bytes) > gap)
            break;
    }
    return k;
}

/* Makes requests straight to or from the places of the runs. *direct is 0 if a buffer is needed,
 * and there are no requests then. */
static enum emu_status try_direct(struct host_job *j, size_t first, size_t end, int *direct)
{
    size_t floor = j->range.count;

    *direct = 1;
    for (size_t i = first, next; i < end && *direct; i = next) {
        const struct host_run *p = &j->run.at[i], *last;
        struct host_request r = { p->tile,   (uint32_t)(j->range.count - floor), j->stream,
                                  p->object, round_down(p->offset, 4),           0 };
        uint32_t stop;

        next = range_end(j, i, end);
        last = &j->run.at[next - 1];
        stop = last->offset + last->bytes;
        if (j->range.count - floor == MAX_REQUESTS ||
            (j->in &&
             (p->offset & 3 || (stop & 3 && stop != j->w->note.at[p->object].data_bytes)))) {
            *direct = 0;
            break;
        }
        r.bytes = round_up(stop, 4) - r.offset;
        TRY(VEC_PUSH(&j->range, (struct host_range){ r, i, next }));
    }
    if (!*direct)
        j->range.count = floor;
    return EMU_OK;
}

/* All runs of a tile in one request, through a buffer. */
static enum emu_status use_buffer(struct host_job *j, size_t first, size_t end)
{
    struct graph_lowering *w = j->w;
    uint32_t tile = j->run.at[first].tile, buffer, at = 0;
    uint64_t bytes = 0;

    for (size_t i = first; i < end; i++)
        bytes += j->run.at[i].bytes;
    TRY(object_add_temporary(w, tile, bytes, CATEGORY_MESSAGE_BUFFER,
                             w->action.at[w->action.count - 1].name, &buffer));
    for (size_t i = first; i < end; i++) {
        struct host_run *p = &j->run.at[i];

        TRY(VEC_PUSH(&w->copy_run,
                     j->in ? (struct copy_run){ buffer, at, p->object, p->offset, p->bytes, 0 }
                           : (struct copy_run){ p->object, p->offset, buffer, at, p->bytes, 0 }));
        p->object = buffer;
        p->offset = at;
        at += p->bytes;
    }
    return VEC_PUSH(
        &j->range,
        (struct host_range){ { tile, 0, j->stream, buffer, 0, round_up(at, 4) }, first, end });
}

static enum emu_status find_requests(struct host_job *j)
{
    size_t n = j->run.count, floor;
    int direct;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && j->run.at[end].tile == j->run.at[i].tile;)
            end++;
        floor = j->range.count;
        TRY(try_direct(j, i, end, &direct));
        if (!direct && j->in && j->begins)
            return FAIL(BAD_PROGRAM,
                        "stream %s: what tile %u has of the tensor is more than %d runs, or not "
                        "whole words: it cannot be fetched while the program goes on",
                        j->w->g->stream.at[j->stream].name, j->run.at[i].tile, MAX_REQUESTS);
        if (!direct)
            TRY(use_buffer(j, i, end));
        if (j->range.count - floor > j->rounds)
            j->rounds = (uint32_t)(j->range.count - floor);
    }
    return EMU_OK;
}

/* ---- layout ---- */

static enum emu_status add_stream_run(struct host_job *j, uint32_t floor, uint64_t element,
                                      uint32_t bytes)
{
    struct lowered *l = j->w->l;
    struct stream_run *last =
        l->stream_run.count > floor ? &l->stream_run.at[l->stream_run.count - 1] : NULL;

    if (!bytes)
        return EMU_OK;
    if (last && last->bytes + (uint64_t)bytes <= UINT32_MAX &&
        (element == UINT64_MAX
             ? last->element == UINT64_MAX
             : last->element != UINT64_MAX && last->element + last->bytes / j->unit == element)) {
        last->bytes += bytes;
        return EMU_OK;
    }
    return VEC_PUSH(&l->stream_run, (struct stream_run){ element, bytes });
}

static enum emu_status lay_out_range(struct host_job *j, uint32_t floor, const struct host_range *r)
{
    uint32_t at = r->request.offset, end = r->request.offset + r->request.bytes;

    for (size_t i = r->first; i < r->end; i++) {
        const struct host_run *p = &j->run.at[i];

        TRY(add_stream_run(j, floor, UINT64_MAX, p->offset - at));
        TRY(add_stream_run(j, floor, p->element, p->bytes));
        at = p->offset + p->bytes;
    }
    return add_stream_run(j, floor, UINT64_MAX, end - at);
}

/* Describes the order in which the bytes cross the link: round by round, and tile by tile within a
 * round. */
static enum emu_status lay_out(struct host_job *j)
{
    struct lowered *l = j->w->l;
    struct stream_layout x = { .stream = j->stream, .first = (uint32_t)l->stream_run.count };

    for (uint32_t round = 0; round < j->rounds; round++) {
        for (size_t i = 0; i < j->range.count; i++) {
            if (j->range.at[i].request.round == round)
                TRY(lay_out_range(j, x.first, &j->range.at[i]));
        }
    }
    if (l->stream_run.count >= UINT32_MAX)
        return FAIL(BAD_PROGRAM, "lowering: too many runs of streams");
    x.runs = (uint32_t)l->stream_run.count - x.first;
    return VEC_PUSH(&l->stream_layout, x);
}

static enum emu_status build(struct host_job *j, uint32_t view)
{
    struct graph_lowering *w = j->w;
    size_t first = w->l->host_request.count;

    TRY(find_runs(j, view));
    TRY(find_requests(j));
    for (size_t i = 0; i < j->range.count; i++) {
        const struct host_range *r = &j->range.at[i];

        TRY(VEC_PUSH(&w->l->host_request, r->request));
        for (size_t k = r->first; k < r->end; k++)
            TRY(lower_access(w, j->run.at[k].object, j->run.at[k].offset, j->run.at[k].bytes,
                             PHASE_WORK, j->in));
    }
    action_set_step(w, PHASE_WORK, STEP_HOST, first, w->l->host_request.count - first);
    w->action.at[w->action.count - 1].step[PHASE_WORK].n = (uint32_t)w->l->stream_layout.count;
    w->action.at[w->action.count - 1].step[PHASE_WORK].begins = (uint8_t)j->begins;
    TRY(lay_out(j));
    return copy_runs_lower(w, &w->copy_run, PHASE_FETCH, j->in ? PHASE_SCATTER : PHASE_GATHER,
                           j->in ? PHASE_SCATTER : PHASE_GATHER);
}

/* Lists the tiles of the transfer, each once. Objects that the tiles only send need not be in use
 * any more. */
static enum emu_status build_await(struct host_job *j, uint32_t view)
{
    struct graph_lowering *w = j->w;
    size_t first = w->l->host_request.count, last;

    TRY(find_runs(j, view));
    for (size_t i = 0; i < j->run.count; i++) {
        const struct host_run *p = &j->run.at[i];
        uint32_t words = round_down(p->offset, 4);

        if (j->in)
            TRY(lower_access(w, p->object, p->offset, p->bytes, PHASE_WORK, 0));
        last = w->l->host_request.count;
        if (last == first || w->l->host_request.at[last - 1].tile != p->tile)
            TRY(VEC_PUSH(
                &w->l->host_request,
                (struct host_request){ p->tile, 0, j->stream, p->object, words, j->in ? 4 : 0 }));
    }
    action_set_step(w, PHASE_WORK, STEP_AWAIT, first, w->l->host_request.count - first);
    return EMU_OK;
}

enum emu_status host_await_action(struct graph_lowering *w, uint32_t stream, uint32_t view,
                                  uint32_t *action)
{
    const struct stream *x = &w->g->stream.at[stream];
    struct host_job j = {
        .w = w, .stream = stream, .in = x->way == STREAM_IN, .unit = ss_elem_bytes(x->elem)
    };
    enum emu_status s;

    *action = LOWERED_NONE;
    if (!w->g->view.at[view].elements)
        return EMU_OK;
    TRY(action_begin(w, x->name, x->scope, action));
    s = build_await(&j, view);
    VEC_FREE(&j.run);
    TRY(s);
    return action_end(w);
}

enum emu_status host_action(struct graph_lowering *w, uint32_t stream, uint32_t view, int begins,
                            uint32_t *action)
{
    const struct stream *x = &w->g->stream.at[stream];
    struct host_job j = { .w = w,
                          .stream = stream,
                          .in = x->way == STREAM_IN,
                          .begins = begins,
                          .unit = ss_elem_bytes(x->elem) };
    enum emu_status s;

    *action = LOWERED_NONE;
    if (!w->g->view.at[view].elements)
        return EMU_OK;
    w->copy_run.count = 0;
    TRY(action_begin(w, x->name, x->scope, action));
    s = build(&j, view);
    VEC_FREE(&j.run);
    VEC_FREE(&j.range);
    TRY(s);
    return action_end(w);
}
