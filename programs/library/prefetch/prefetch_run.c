/* prefetch_run.c - a fixed number of batches a run, with buffers that are full from run to run (see
 * prefetch.h, op_prefetch_run()). */
#include "programs/library/prefetch/prefetch_parts.h"

enum { WORD_BYTES = 4 };

struct prefetch_building {
    struct graph *g;
    uint32_t tiles; /* of IO */
    struct prefetch_run *r;
};

/* ---- buffers ---- */

/* Elements of a transfer, filled up to whole words. */
static uint64_t elements_of(const struct graph *g, const struct prefetch_transfer *t)
{
    uint64_t each = WORD_BYTES / elem_bytes(tensor_elem(g, t->at));

    return (tensor_elements(g, t->at) + each - 1) / each * each;
}

static uint64_t part_of(const struct prefetch_building *x, const struct prefetch_transfer *t,
                        uint32_t tiles)
{
    return prefetch_part_bytes(elements_of(x->g, t) * elem_bytes(tensor_elem(x->g, t->at)), tiles);
}

/* Bytes of all buffers on the fullest of so many tiles. */
static uint64_t bytes_on(const struct prefetch_building *x, uint32_t tiles)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < x->r->ins; k++)
        sum += part_of(x, &x->r->in[k], tiles);
    for (uint32_t k = 0; k < x->r->outs; k++)
        sum += part_of(x, &x->r->out[k], tiles);
    return sum;
}

static enum emu_status check_room(const struct prefetch_building *x)
{
    uint64_t room = prefetch_room(x->g);
    uint32_t all = graph_arch(x->g)->tiles, needed = x->tiles;

    if (bytes_on(x, x->tiles) <= room)
        return EMU_OK;
    while (needed < all && bytes_on(x, needed) > room)
        needed++;
    if (needed == all)
        return FAIL(USAGE, "a batch and its results do not fit the memory of %u IO tiles", all - 1);
    return FAIL(USAGE,
                "a batch and its results are %llu bytes on each of %u IO tiles, which have room "
                "for %llu; %u IO tiles are needed",
                (unsigned long long)bytes_on(x, x->tiles), x->tiles, (unsigned long long)room,
                needed);
}

static void make_buffer(struct prefetch_building *x, struct prefetch_transfer *t,
                        enum stream_way way)
{
    struct graph *g = x->g;
    enum elem e = tensor_elem(g, t->at);
    uint32_t n = (uint32_t)elements_of(g, t);

    t->stream = graph_stream(g, way, e, n, 1, t->name);
    t->buffer = prefetch_buffer(g, e, n, prefetch_first(g, x->tiles), x->tiles, t->name);
    if (way == STREAM_IN)
        graph_keep(g, t->buffer);
}

/* ---- parts of the program ---- */

/* Between buffers and what the body reads or makes: an exchange of all tiles. */
static void add_join(struct prefetch_building *x, struct program seq,
                     const struct prefetch_transfer *t, uint32_t count, enum stream_way way)
{
    struct graph *g = x->g;

    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = (uint32_t)tensor_elements(g, t[k].at);
        struct tensor at = tensor_flatten(g, t[k].at);
        struct tensor buffer = tensor_slice(g, t[k].buffer, 0, 0, n);

        program_add(g, seq,
                    way == STREAM_IN ? program_copy(g, buffer, at) : program_copy(g, at, buffer));
    }
}

static void add_begin(struct prefetch_building *x, struct program seq,
                      const struct prefetch_transfer *t, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        program_add(x->g, seq, program_stream_begin(x->g, t[k].stream, t[k].buffer));
}

static void add_end(struct prefetch_building *x, struct program seq,
                    const struct prefetch_transfer *t, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        program_add(x->g, seq, program_stream_end(x->g, t[k].stream, t[k].buffer));
}

/* A batch: it goes to the compute tiles; the next one comes while they compute; its results go to
 * IO tiles, which begin to send them. */
static struct program step_of(struct prefetch_building *x)
{
    struct graph *g = x->g;
    const struct prefetch_run *r = x->r;
    struct program step = program_sequence(g), io = program_sequence(g), send = program_sequence(g);

    add_join(x, step, r->in, r->ins, STREAM_IN);
    add_begin(x, io, r->in, r->ins);
    add_end(x, io, r->in, r->ins);
    add_end(x, io, r->out, r->outs); /* of the batch before */
    program_add(g, step, prefetch_both(g, r->body, io));
    add_join(x, step, r->out, r->outs, STREAM_OUT);
    add_begin(x, send, r->out, r->outs);
    program_add(g, step, prefetch_for_group(g, GROUP_IO, send));
    return step;
}

enum emu_status op_prefetch_run(struct graph *g, uint32_t io_tiles, struct prefetch_run *r,
                                struct program *out)
{
    struct prefetch_building x = { .g = g, .tiles = io_tiles, .r = r };
    struct program io, step;

    TRY(graph_status(g));
    TRY(check_room(&x));
    graph_push(g, "host");
    *out = program_sequence(g);
    for (uint32_t k = 0; k < r->ins; k++)
        make_buffer(&x, &r->in[k], STREAM_IN);
    for (uint32_t k = 0; k < r->outs; k++)
        make_buffer(&x, &r->out[k], STREAM_OUT);
    io = program_sequence(g);
    add_end(&x, io, r->out, r->outs);
    step = step_of(&x);
    program_add(g, *out, prefetch_for_group(g, GROUP_COMPUTE, r->before));
    program_add(g, *out, r->times > 1 ? program_repeat(g, r->times, step) : step);
    program_add(g, *out, prefetch_both(g, r->after, io));
    graph_pop(g);
    return graph_status(g);
}
