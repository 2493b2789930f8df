/* prefetch_op.c - the programs of compute tiles and IO tiles around a body (see prefetch.h): they
 * request batches, join, send results, and ask the host whether batches follow. */
#include "programs/library/prefetch/prefetch_parts.h"

static struct program for_group(struct prefetching *x, unsigned group, struct program part)
{
    return prefetch_for_group(x->g, group, part);
}

/* An open loop has the body in several places. */
static struct program run_body(struct prefetching *x)
{
    return prefetch_is_open(x->p) ? ss_program_call(x->g, x->body) : x->p->body;
}

static void add_control(struct prefetching *x, struct program seq, uint32_t buffer,
                        prefetch_transfer_part *part)
{
    if (prefetch_is_open(x->p))
        ss_program_add(x->g, seq, part(x->g, x->p->control, x->control[buffer]));
}

static struct program if_word(struct prefetching *x, struct tensor words, uint32_t i,
                              struct program then)
{
    return ss_program_if(x->g, ss_tensor_index(x->g, words, i), then, ss_program_sequence(x->g));
}

/* Repeats a step: so many times, or while the host says that there is a batch. */
static struct program repeated(struct prefetching *x, struct program step)
{
    struct graph *g = x->g;

    if (prefetch_is_open(x->p))
        return ss_program_while(g, ss_program_sequence(g), ss_tensor_index(g, x->control[0], GO),
                                step);
    return x->p->times > 1 ? ss_program_repeat(g, x->p->times, step) : step;
}

/* ---- depth 0 ---- */

/* Without IO tiles: the compute tiles fetch. */
static void build_alone(struct prefetching *x, struct program all)
{
    struct graph *g = x->g;
    struct program step = ss_program_sequence(g);

    ss_program_add(g, all, x->p->before);
    ss_graph_push(g, "host");
    add_control(x, all, 0, ss_program_stream);
    prefetch_add_in(x, step, 0, ss_program_stream);
    ss_program_add(g, step, run_body(x));
    prefetch_add_out(x, step, 0, ss_program_stream);
    add_control(x, step, 0, ss_program_stream);
    ss_graph_pop(g);
    ss_program_add(g, all, repeated(x, step));
    ss_program_add(g, all, x->p->after);
}

/* With IO tiles: the compute tiles wait while they fetch. */
static void build_in_turn(struct prefetching *x, struct program all)
{
    struct graph *g = x->g;
    struct program step = ss_program_sequence(g), first = ss_program_sequence(g);
    struct program fetch = ss_program_sequence(g), send = ss_program_sequence(g);

    add_control(x, first, 0, ss_program_stream);
    ss_program_add(g, all, prefetch_both(g, x->p->before, first));
    prefetch_add_in(x, fetch, 0, ss_program_stream);
    ss_program_add(g, step, for_group(x, GROUP_IO, fetch));
    prefetch_hand_over(x, step, 0);
    ss_program_add(g, step, for_group(x, GROUP_COMPUTE, run_body(x)));
    prefetch_take_results(x, step, 0);
    prefetch_add_out(x, send, 0, ss_program_stream);
    add_control(x, send, 0, ss_program_stream);
    ss_program_add(g, step, for_group(x, GROUP_IO, send));
    ss_program_add(g, all, repeated(x, step));
    ss_program_add(g, all, for_group(x, GROUP_COMPUTE, x->p->after));
}

/* ---- open, depth 1 and more ---- */

/* Requests a batch for buffer k, and the control words that come with it. */
static struct program ask_for(struct prefetching *x, uint32_t k)
{
    struct program ask = ss_program_sequence(x->g);

    prefetch_add_in(x, ask, k, ss_program_stream_begin);
    add_control(x, ask, k, ss_program_stream_begin);
    return ask;
}

static void add_wait(struct prefetching *x, struct program seq, uint32_t k)
{
    prefetch_add_in(x, seq, k, ss_program_stream_end);
    add_control(x, seq, k, ss_program_stream_end);
    prefetch_add_out(x, seq, k, ss_program_stream_end);
}

/* Requests the first batches, and waits for the very first. */
static struct program begin_all(struct prefetching *x)
{
    struct graph *g = x->g;
    uint32_t depth = x->p->link.depth;
    struct tensor there = ss_graph_variable(g, ELEM_U32, 1, &depth, "begin");
    struct program io = ss_program_sequence(g);

    ss_graph_map(g, there, ss_graph_arch(g)->tiles - x->p->link.tiles);
    ss_program_add(g, io, ss_program_stream(g, x->p->begin, there));
    for (uint32_t k = 0; k < depth; k++)
        ss_program_add(g, io, if_word(x, there, k, ask_for(x, k)));
    add_wait(x, io, 0);
    return io;
}

/* Copies the control word of buffer k to that of buffer 0, which the loop tests. */
static struct program end_loop(struct prefetching *x, uint32_t k)
{
    return for_group(x, GROUP_IO,
                     ss_program_copy(x->g, ss_tensor_index(x->g, x->control[k], GO),
                                     ss_tensor_index(x->g, x->control[0], GO)));
}

/* Computes the batch of buffer k and joins the next one, then does the same for the buffers after
 * k.
 */
static struct program step_from(struct prefetching *x, uint32_t k)
{
    struct graph *g = x->g;
    struct program step = ss_program_sequence(g), io = ss_program_sequence(g),
                   send = ss_program_sequence(g);
    uint32_t next = (k + 1) % x->p->link.depth;

    ss_program_add(g, io, if_word(x, x->control[k], ASK, ask_for(x, k)));
    add_wait(x, io, next);
    ss_program_add(g, step, prefetch_both(g, run_body(x), io));
    prefetch_hand_over(x, step, next);
    prefetch_take_results(x, step, next);
    prefetch_add_out(x, send, next, ss_program_stream_begin);
    ss_program_add(g, step, for_group(x, GROUP_IO, send));
    if (next)
        ss_program_add(g, step,
                       ss_program_if(g, ss_tensor_index(g, x->control[next], GO),
                                     step_from(x, next), end_loop(x, next)));
    return step;
}

static void build_ahead(struct prefetching *x, struct program all)
{
    struct graph *g = x->g;
    struct program io = ss_program_sequence(g);

    ss_program_add(g, all, prefetch_both(g, x->p->before, begin_all(x)));
    prefetch_hand_over(x, all, 0);
    ss_program_add(g, all, repeated(x, step_from(x, 0)));
    ss_program_add(g, all, for_group(x, GROUP_COMPUTE, run_body(x)));
    prefetch_take_results(x, all, 0);
    prefetch_add_out(x, io, 0, ss_program_stream);
    for (uint32_t k = 1; k < x->p->link.depth; k++) /* for results that are still on their way */
        add_wait(x, io, k);
    ss_program_add(g, all, prefetch_both(g, x->p->after, io));
}

/* ---- a fixed number, depth 1 ---- */

/* A batch: it goes to the compute tiles; the next one comes while they compute; its results go to
 * IO tiles, which begin to send them. */
static struct program full_step(struct prefetching *x)
{
    struct graph *g = x->g;
    struct program step = ss_program_sequence(g), io = ss_program_sequence(g),
                   send = ss_program_sequence(g);

    prefetch_hand_over(x, step, 0);
    prefetch_add_in(x, io, 0, ss_program_stream_begin);
    prefetch_add_in(x, io, 0, ss_program_stream_end);
    prefetch_add_out(x, io, 0, ss_program_stream_end); /* of the batch before */
    ss_program_add(g, step, prefetch_both(g, run_body(x), io));
    prefetch_take_results(x, step, 0);
    prefetch_add_out(x, send, 0, ss_program_stream_begin);
    ss_program_add(g, step, for_group(x, GROUP_IO, send));
    return step;
}

static void build_full(struct prefetching *x, struct program all)
{
    struct graph *g = x->g;
    struct program io = ss_program_sequence(g);

    prefetch_add_out(x, io, 0, ss_program_stream_end);
    ss_program_add(g, all, for_group(x, GROUP_COMPUTE, x->p->before));
    ss_program_add(g, all, repeated(x, full_step(x)));
    ss_program_add(g, all, prefetch_both(g, x->p->after, io));
}

static void build_with_tiles(struct prefetching *x, struct program all)
{
    if (!x->p->link.depth)
        build_in_turn(x, all);
    else if (prefetch_is_open(x->p))
        build_ahead(x, all);
    else
        build_full(x, all);
}

enum emu_status ss_op_prefetch(struct graph *g, struct prefetch *p, struct program *out)
{
    struct prefetching x = { .g = g, .p = p };

    TRY(ss_graph_status(g));
    if (!prefetch_is_open(p) && p->link.depth > 1)
        return FAIL(USAGE, "a prefetch depth of %u for %u batches a run: expected at most 1",
                    p->link.depth, p->times);
    ss_graph_push(g, "host");
    TRY(prefetch_make(&x));
    if (prefetch_is_open(p))
        x.body = ss_graph_function(g, p->body, "body");
    *out = ss_program_sequence(g);
    if (p->link.tiles)
        build_with_tiles(&x, *out);
    ss_graph_pop(g);
    if (!p->link.tiles)
        build_alone(&x, *out);
    return ss_graph_status(g);
}
