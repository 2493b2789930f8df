/* prefetch_parts.c - the buffers of IO tiles: whether they fit, where they lie, what moves between
 * them, the host and the tiles that compute (see prefetch_parts.h). */
#include "programs/library/prefetch/prefetch_parts.h"

/* 1 / RESERVED_PART of an IO tile's memory is left for code, vertex state and gaps [ASSUMED; only
 * the placement knows exactly]. */
enum { RESERVED_PART = 16, WORD_BYTES = 4 };
/* Parts of a batch on an IO tile are multiples of so many bytes, which are whole words of every
 * type, so that a request can write straight into the buffer. */
enum { GRAIN_BYTES = 64 };

/* ---- tiles ---- */

enum emu_status ss_prefetch_reserve(struct graph *g, const struct prefetch_options *o)
{
    uint32_t all, least = o->depth ? o->depth : 1;

    TRY(ss_graph_status(g));
    all = ss_graph_arch(g)->tiles;
    if (o->depth > PREFETCH_MAX_DEPTH)
        return FAIL(USAGE, "a prefetch depth of %u: expected at most %d", o->depth,
                    PREFETCH_MAX_DEPTH);
    if (!o->tiles && !o->depth)
        return EMU_OK;
    if (o->tiles < least || o->tiles >= all)
        return FAIL(USAGE,
                    "%u IO tiles for a prefetch depth of %u: expected at least %u, one for each "
                    "batch, and at most %u of the %u tiles",
                    o->tiles, o->depth, least, all - 1, all);
    ss_graph_set_group(g, all - o->tiles, o->tiles, GROUP_IO);
    return ss_graph_status(g);
}

/* The first IO tile of a buffer. */
static uint32_t first_tile(const struct prefetching *x, uint32_t buffer)
{
    return ss_graph_arch(x->g)->tiles - x->p->link.tiles + buffer * x->p->buffer_tiles;
}

/* Results of an open loop, scores say, are few, and lie on the last tile of a buffer, while its
 * control words lie on the first. */
static uint32_t tiles_of_results(const struct prefetching *x, uint32_t tiles)
{
    return prefetch_is_open(x->p) ? 1 : tiles;
}

/* ---- room ---- */

/* Elements of a transfer; those that IO tiles share are filled up to whole words. */
static uint64_t elements_of(const struct prefetching *x, const struct prefetch_transfer *t,
                            enum stream_way way)
{
    uint64_t n = ss_tensor_elements(x->g, t->at);
    uint64_t each = WORD_BYTES / ss_elem_bytes(ss_tensor_elem(x->g, t->at));
    int is_shared = x->p->link.tiles && (way == STREAM_IN || !prefetch_is_open(x->p));

    return is_shared ? (n + each - 1) / each * each : n;
}

/* Bytes of a list of transfers on the fullest of so many tiles. */
static uint64_t bytes_of(const struct prefetching *x, enum stream_way way, uint32_t tiles)
{
    const struct prefetch_transfer *t = way == STREAM_IN ? x->p->in : x->p->out;
    uint32_t count = way == STREAM_IN ? x->p->ins : x->p->outs;
    uint64_t sum = 0;

    for (uint32_t k = 0; k < count; k++) {
        uint64_t bytes = elements_of(x, &t[k], way) * ss_elem_bytes(ss_tensor_elem(x->g, t[k].at));
        uint64_t grains = (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES;

        sum += (grains + tiles - 1) / tiles * GRAIN_BYTES;
    }
    return sum;
}

/* Bytes of a buffer for a batch and its results. */
static uint64_t bytes_on(const struct prefetching *x, uint32_t tiles)
{
    return bytes_of(x, STREAM_IN, tiles) + bytes_of(x, STREAM_OUT, tiles_of_results(x, tiles));
}

static enum emu_status check_room(struct prefetching *x)
{
    const struct arch *a = ss_graph_arch(x->g);
    uint64_t room = a->mem_bytes - a->mem_bytes / RESERVED_PART;
    struct prefetch *p = x->p;
    uint32_t buffers = prefetch_buffers(p), tiles = 1;

    p->buffer_bytes = bytes_of(x, STREAM_IN, p->buffer_tiles);
    while (tiles * buffers < a->tiles && bytes_on(x, tiles) > room)
        tiles++;
    if (tiles * buffers >= a->tiles)
        return FAIL(USAGE, "%u batch%s and results do not fit the memory of %u IO tiles", buffers,
                    buffers > 1 ? "es" : "", a->tiles - 1);
    p->needed_tiles = tiles * buffers;
    if (tiles <= p->buffer_tiles)
        return EMU_OK;
    return FAIL(USAGE,
                "a batch and its results are %llu bytes on each of %u IO tiles, which have room "
                "for %llu; for %u batch%s %u IO tiles are needed",
                (unsigned long long)bytes_on(x, p->buffer_tiles), p->buffer_tiles,
                (unsigned long long)room, buffers, buffers > 1 ? "es" : "", p->needed_tiles);
}

/* ---- what is made ---- */

/* n elements for a transfer on tiles first, first + 1, .. */
static struct tensor new_buffer(struct prefetching *x, const struct prefetch_transfer *t,
                                uint32_t n, uint32_t first, uint32_t tiles)
{
    enum elem e = ss_tensor_elem(x->g, t->at);
    uint32_t grain = GRAIN_BYTES / ss_elem_bytes(e);
    struct tensor buffer = ss_graph_variable(x->g, e, 1, &n, t->name);

    ss_graph_map_linear(x->g, buffer, grain, grain, first, tiles);
    return buffer;
}

/* For all batches that are held. */
static void make_buffers(struct prefetching *x)
{
    struct prefetch *p = x->p;
    uint32_t tiles = p->buffer_tiles, few = tiles_of_results(x, tiles);

    for (uint32_t k = 0; k < prefetch_buffers(p); k++) {
        uint32_t first = first_tile(x, k), end = first + tiles;

        for (struct prefetch_transfer *t = p->in; t < p->in + p->ins; t++)
            t->buffer[k] = new_buffer(x, t, (uint32_t)elements_of(x, t, STREAM_IN), first, tiles);
        for (struct prefetch_transfer *t = p->out; t < p->out + p->outs; t++)
            t->buffer[k] =
                new_buffer(x, t, (uint32_t)elements_of(x, t, STREAM_OUT), end - few, few);
    }
    for (uint32_t i = 0; i < p->ins && !prefetch_is_open(p); i++)
        ss_graph_keep(x->g, p->in[i].buffer[0]);
}

static void use_in_place(struct prefetching *x, struct prefetch_transfer *t, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        t[i].buffer[0] = ss_tensor_flatten(x->g, t[i].at);
}

static void make_streams(struct prefetching *x, struct prefetch_transfer *t, uint32_t count,
                         enum stream_way way)
{
    for (uint32_t i = 0; i < count; i++)
        t[i].stream =
            ss_graph_stream(x->g, way, ss_tensor_elem(x->g, t[i].at), elements_of(x, &t[i], way),
                            prefetch_buffers(x->p), t[i].name);
}

/* The words by which an open loop knows whether batches follow. */
static void make_control(struct prefetching *x)
{
    static const uint32_t words = CONTROL_WORDS;
    struct prefetch *p = x->p;

    if (!prefetch_is_open(p))
        return;

    for (uint32_t k = 0; k < prefetch_buffers(p); k++) {
        x->control[k] = ss_graph_variable(x->g, ELEM_U32, 1, &words, "control");
        ss_graph_map(x->g, x->control[k], p->link.tiles ? first_tile(x, k) : 0);
    }
    p->control =
        ss_graph_stream(x->g, STREAM_IN, ELEM_U32, CONTROL_WORDS, prefetch_buffers(p), "control");
}

enum emu_status prefetch_make(struct prefetching *x)
{
    struct prefetch *p = x->p;

    p->begin = p->control = UINT32_MAX;
    p->buffer_tiles = p->link.tiles / prefetch_buffers(p);
    p->buffer_bytes = p->needed_tiles = 0;
    if (p->link.tiles) {
        TRY(check_room(x));
        make_buffers(x);
    } else {
        use_in_place(x, p->in, p->ins);
        use_in_place(x, p->out, p->outs);
    }
    make_control(x);
    make_streams(x, p->in, p->ins, STREAM_IN);
    make_streams(x, p->out, p->outs, STREAM_OUT);
    if (prefetch_is_open(p) && p->link.depth)
        p->begin = ss_graph_stream(x->g, STREAM_IN, ELEM_U32, p->link.depth, 1, "begin");
    return ss_graph_status(x->g);
}

/* ---- what moves ---- */

static void add_transfers(struct prefetching *x, struct program seq,
                          const struct prefetch_transfer *t, uint32_t count, uint32_t buffer,
                          prefetch_transfer_part *part)
{
    for (uint32_t i = 0; i < count; i++)
        ss_program_add(x->g, seq, part(x->g, t[i].stream, t[i].buffer[buffer]));
}

void prefetch_add_in(struct prefetching *x, struct program seq, uint32_t buffer,
                     prefetch_transfer_part *part)
{
    add_transfers(x, seq, x->p->in, x->p->ins, buffer, part);
}

void prefetch_add_out(struct prefetching *x, struct program seq, uint32_t buffer,
                      prefetch_transfer_part *part)
{
    add_transfers(x, seq, x->p->out, x->p->outs, buffer, part);
}

/* The elements of a buffer without what fills it up. */
static struct tensor elements_in(struct prefetching *x, const struct prefetch_transfer *t,
                                 uint32_t buffer)
{
    return ss_tensor_slice(x->g, t->buffer[buffer], 0, 0,
                           (uint32_t)ss_tensor_elements(x->g, t->at));
}

void prefetch_hand_over(struct prefetching *x, struct program seq, uint32_t buffer)
{
    for (uint32_t i = 0; i < x->p->ins; i++) {
        const struct prefetch_transfer *t = &x->p->in[i];

        ss_program_add(
            x->g, seq,
            ss_program_copy(x->g, elements_in(x, t, buffer), ss_tensor_flatten(x->g, t->at)));
    }
}

void prefetch_take_results(struct prefetching *x, struct program seq, uint32_t buffer)
{
    for (uint32_t i = 0; i < x->p->outs; i++) {
        const struct prefetch_transfer *t = &x->p->out[i];

        ss_program_add(
            x->g, seq,
            ss_program_copy(x->g, ss_tensor_flatten(x->g, t->at), elements_in(x, t, buffer)));
    }
}
