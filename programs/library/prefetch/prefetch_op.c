/* prefetch_op.c - the programs of compute tiles and IO tiles around a body (see prefetch.h): they
 * request batches, join, send results, and ask the host whether batches follow. */
#include "programs/library/prefetch/prefetch_parts.h"

enum { GO, ASK, CONTROL_WORDS };

struct prefetching {
    struct graph *g;
    const struct prefetch_options *o;
    struct prefetch *p;
    struct tensor in, out;
    struct tensor buffer[PREFETCH_MAX_DEPTH], result[PREFETCH_MAX_DEPTH];
    struct tensor control[PREFETCH_MAX_DEPTH]; /* of the batch in the buffer */
    uint32_t body;                             /* function */
};

/* ---- tiles and memory ---- */

static uint32_t buffers_of(const struct prefetch_options *o)
{
    return o->depth ? o->depth : 1;
}

static enum emu_status check_size(struct prefetching *x)
{
    uint64_t room = prefetch_room(x->g), tiles;
    uint64_t bytes = tensor_elements(x->g, x->in) * elem_bytes(tensor_elem(x->g, x->in));
    uint64_t results = tensor_elements(x->g, x->out) * elem_bytes(tensor_elem(x->g, x->out));

    x->p->buffer_tiles = x->o->tiles / buffers_of(x->o);
    x->p->buffer_bytes = prefetch_part_bytes(bytes, x->p->buffer_tiles);
    if (results + PREFETCH_GRAIN_BYTES > room)
        return FAIL(USAGE, "results of %llu bytes, an IO tile has room for %llu",
                    (unsigned long long)results, (unsigned long long)room);
    room -= results;
    room -= room % PREFETCH_GRAIN_BYTES;
    tiles = (bytes + room - 1) / room;
    x->p->needed_tiles = (uint32_t)(tiles * buffers_of(x->o));
    if (x->p->buffer_bytes <= room)
        return EMU_OK;
    return FAIL(USAGE,
                "%u IO tiles hold %u batches of %llu bytes on %u tiles each: %llu bytes a tile, "
                "which has room for %llu; %u IO tiles are needed",
                x->o->tiles, buffers_of(x->o), (unsigned long long)bytes, x->p->buffer_tiles,
                (unsigned long long)x->p->buffer_bytes, (unsigned long long)room,
                x->p->needed_tiles);
}

/* Makes the buffers. The control words of a buffer lie on its first tile, results on its last. */
static void make_buffers(struct prefetching *x)
{
    struct graph *g = x->g;
    uint32_t n = (uint32_t)tensor_elements(g, x->in), m = (uint32_t)tensor_elements(g, x->out);
    uint32_t tiles = x->p->buffer_tiles;

    for (uint32_t k = 0; k < buffers_of(x->o); k++) {
        uint32_t first = prefetch_first(g, x->o->tiles) + k * tiles;

        x->buffer[k] = prefetch_buffer(g, tensor_elem(g, x->in), n, first, tiles, "buffer");
        x->result[k] = graph_variable(g, tensor_elem(g, x->out), 1, &m, "results");
        graph_map(g, x->result[k], first + tiles - 1);
    }
}

static void make_control(struct prefetching *x)
{
    static const uint32_t words = CONTROL_WORDS;
    struct graph *g = x->g;

    for (uint32_t k = 0; k < buffers_of(x->o); k++) {
        x->control[k] = graph_variable(g, ELEM_U32, 1, &words, "control");
        graph_map(g, x->control[k],
                  x->o->tiles ? prefetch_first(g, x->o->tiles) + k * x->p->buffer_tiles : 0);
    }
}

static void make_streams(struct prefetching *x)
{
    struct graph *g = x->g;
    uint32_t depth = buffers_of(x->o);

    x->p->control = graph_stream(g, STREAM_IN, ELEM_U32, CONTROL_WORDS, depth, "control");
    x->p->in = graph_stream(g, STREAM_IN, tensor_elem(g, x->in), tensor_elements(g, x->in), depth,
                            "batches");
    x->p->out = graph_stream(g, STREAM_OUT, tensor_elem(g, x->out), tensor_elements(g, x->out),
                             depth, "out");
    if (x->o->depth)
        x->p->begin = graph_stream(g, STREAM_IN, ELEM_U32, x->o->depth, 1, "begin");
}

/* ---- parts of the program ---- */

static struct program for_group(struct prefetching *x, unsigned group, struct program part)
{
    return prefetch_for_group(x->g, group, part);
}

static struct program run_body(struct prefetching *x)
{
    return program_call(x->g, x->body);
}

static struct program hand_over(struct prefetching *x, uint32_t buffer)
{
    return program_copy(x->g, x->buffer[buffer], tensor_flatten(x->g, x->in));
}

static struct program take_results(struct prefetching *x, uint32_t buffer)
{
    return program_copy(x->g, tensor_flatten(x->g, x->out), x->result[buffer]);
}

static struct program if_word(struct prefetching *x, struct tensor words, uint32_t i,
                              struct program then)
{
    return program_if(x->g, tensor_index(x->g, words, i), then, program_sequence(x->g));
}

/* A loop that repeats `step` while the host says that there is a batch. */
static struct program while_go(struct prefetching *x, struct program step)
{
    return program_while(x->g, program_sequence(x->g), tensor_index(x->g, x->control[0], GO), step);
}

/* ---- depth 0 ---- */

/* Without IO tiles: the compute tiles fetch. */
static struct program build_alone(struct prefetching *x)
{
    struct graph *g = x->g;
    struct program all = program_sequence(g), step = program_sequence(g);

    program_add(g, all, program_stream(g, x->p->control, x->control[0]));
    program_add(g, step, program_stream(g, x->p->in, tensor_flatten(g, x->in)));
    program_add(g, step, run_body(x));
    program_add(g, step, program_stream(g, x->p->out, tensor_flatten(g, x->out)));
    program_add(g, step, program_stream(g, x->p->control, x->control[0]));
    program_add(g, all, while_go(x, step));
    return all;
}

/* With IO tiles: the compute tiles wait while they fetch. */
static struct program build_in_turn(struct prefetching *x)
{
    struct graph *g = x->g;
    struct program all = program_sequence(g), step = program_sequence(g), io = program_sequence(g);

    program_add(g, all, for_group(x, GROUP_IO, program_stream(g, x->p->control, x->control[0])));
    program_add(g, step, for_group(x, GROUP_IO, program_stream(g, x->p->in, x->buffer[0])));
    program_add(g, step, hand_over(x, 0));
    program_add(g, step, for_group(x, GROUP_COMPUTE, run_body(x)));
    program_add(g, step, take_results(x, 0));
    program_add(g, io, program_stream(g, x->p->out, x->result[0]));
    program_add(g, io, program_stream(g, x->p->control, x->control[0]));
    program_add(g, step, for_group(x, GROUP_IO, io));
    program_add(g, all, while_go(x, step));
    return all;
}

/* ---- depth 1 and more ---- */

/* Requests a batch for buffer k, and the control words that come with it. */
static struct program ask_for(struct prefetching *x, uint32_t k)
{
    struct program ask = program_sequence(x->g);

    program_add(x->g, ask, program_stream_begin(x->g, x->p->in, x->buffer[k]));
    program_add(x->g, ask, program_stream_begin(x->g, x->p->control, x->control[k]));
    return ask;
}

static void add_wait(struct prefetching *x, struct program seq, uint32_t k)
{
    program_add(x->g, seq, program_stream_end(x->g, x->p->in, x->buffer[k]));
    program_add(x->g, seq, program_stream_end(x->g, x->p->control, x->control[k]));
    program_add(x->g, seq, program_stream_end(x->g, x->p->out, x->result[k]));
}

/* Requests the first batches, and waits for the very first. */
static struct program begin_all(struct prefetching *x)
{
    struct graph *g = x->g;
    struct tensor there = graph_variable(g, ELEM_U32, 1, &x->o->depth, "begin");
    struct program io = program_sequence(g);

    graph_map(g, there, prefetch_first(g, x->o->tiles));
    program_add(g, io, program_stream(g, x->p->begin, there));
    for (uint32_t k = 0; k < x->o->depth; k++)
        program_add(g, io, if_word(x, there, k, ask_for(x, k)));
    add_wait(x, io, 0);
    return for_group(x, GROUP_IO, io);
}

/* Copies the control word of buffer k to that of buffer 0, which the loop tests. */
static struct program end_loop(struct prefetching *x, uint32_t k)
{
    return for_group(x, GROUP_IO,
                     program_copy(x->g, tensor_index(x->g, x->control[k], GO),
                                  tensor_index(x->g, x->control[0], GO)));
}

/* Computes the batch of buffer k and joins the next one, then does the same for the buffers after
 * k.
 */
static struct program step_from(struct prefetching *x, uint32_t k)
{
    struct graph *g = x->g;
    struct program step = program_sequence(g), io = program_sequence(g);
    uint32_t next = (k + 1) % x->o->depth;

    program_add(g, io, if_word(x, x->control[k], ASK, ask_for(x, k)));
    add_wait(x, io, next);
    program_add(g, step, prefetch_both(g, run_body(x), io));
    program_add(g, step, hand_over(x, next));
    program_add(g, step, take_results(x, next));
    program_add(g, step,
                for_group(x, GROUP_IO, program_stream_begin(g, x->p->out, x->result[next])));
    if (next)
        program_add(g, step,
                    program_if(g, tensor_index(g, x->control[next], GO), step_from(x, next),
                               end_loop(x, next)));
    return step;
}

static struct program build_ahead(struct prefetching *x)
{
    struct graph *g = x->g;
    struct program all = program_sequence(g), io = program_sequence(g);

    program_add(g, all, begin_all(x));
    program_add(g, all, hand_over(x, 0));
    program_add(g, all, while_go(x, step_from(x, 0)));
    program_add(g, all, for_group(x, GROUP_COMPUTE, run_body(x)));
    program_add(g, all, take_results(x, 0));
    program_add(g, io, program_stream(g, x->p->out, x->result[0]));
    for (uint32_t k = 1; k < x->o->depth; k++) /* wait for results that are still on their way */
        add_wait(x, io, k);
    program_add(g, all, for_group(x, GROUP_IO, io));
    return all;
}

enum emu_status op_prefetch(struct graph *g, const struct prefetch_options *o, struct tensor in,
                            struct program body, struct tensor out, struct program *loop,
                            struct prefetch *streams)
{
    struct prefetching x = { .g = g, .o = o, .p = streams, .in = in, .out = out };

    *streams = (struct prefetch){ .begin = UINT32_MAX };
    TRY(graph_status(g));
    if (o->tiles)
        TRY(check_size(&x));
    graph_push(g, "prefetch");
    if (o->tiles)
        make_buffers(&x);
    make_control(&x);
    make_streams(&x);
    x.body = graph_function(g, body, "body");
    *loop = !o->tiles ? build_alone(&x) : o->depth ? build_ahead(&x) : build_in_turn(&x);
    graph_pop(g);
    return graph_status(g);
}
