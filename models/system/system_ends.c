/* system_ends.c - the host's ends of a program, from the lowered network, or from JSON:
 *
 *   in, out  [element type, lanes, streamed, stream, elements of a transfer] each
 *   loop     [depth, begin, control, tiles of a buffer, bytes on the fullest of them]
 */
#include "models/system/system_ends.h"

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"

enum { NUMBERS = 5, LANES_MAX = 4, STREAMS_MAX = 65536 };
#define NO_STREAM UINT32_MAX

static enum emu_status ends_new(uint32_t ins, uint32_t outs, struct system_ends *e)
{
    *e = (struct system_ends){ .ins = ins, .outs = outs };
    e->in = emu_alloc(ins + 1, sizeof(*e->in));
    e->out = emu_alloc(outs + 1, sizeof(*e->out));
    return e->in && e->out ? EMU_OK : FAIL(NO_MEMORY, "the inputs and outputs of a network");
}

void system_ends_free(struct system_ends *e)
{
    ss_free(e->in);
    ss_free(e->out);
    *e = (struct system_ends){ .in = NULL };
}

static struct system_end end_of(const struct lowered_value *v, const struct graph *g)
{
    struct system_end e = { .elem = v->elem, .lanes = v->lanes, .is_streamed = v->is_streamed };

    if (v->is_streamed) {
        e.stream = v->stream;
        e.elements = ss_tensor_elements(g, v->raw);
    }
    return e;
}

enum emu_status system_ends_of(const struct lowered_network *n, const struct graph *g,
                               struct system_ends *out)
{
    enum emu_status s = ends_new(n->graph->inputs, n->graph->outputs, out);

    if (s != EMU_OK) {
        system_ends_free(out);
        return s;
    }
    for (uint32_t k = 0; k < out->ins; k++)
        out->in[k] = end_of(&n->in[k], g);
    for (uint32_t k = 0; k < out->outs; k++)
        out->out[k] = end_of(&n->out[k], g);
    out->loop = (struct system_loop){ .depth = n->loop.link.depth,
                                      .begin = n->loop.begin,
                                      .control = n->loop.control,
                                      .buffer_tiles = n->loop.buffer_tiles,
                                      .buffer_bytes = n->loop.buffer_bytes };
    return EMU_OK;
}

/* ---- JSON ---- */

static json_t *list_json(const struct system_end *e, uint32_t n)
{
    json_t *list = json_array();

    for (uint32_t k = 0; k < n; k++)
        json_array_append_new(list, json_pack("[iiiII]", (int)e[k].elem, (int)e[k].lanes,
                                              e[k].is_streamed, (json_int_t)e[k].stream,
                                              (json_int_t)e[k].elements));
    return list;
}

json_t *system_ends_json(const struct system_ends *e)
{
    const struct system_loop *l = &e->loop;

    return json_pack("{s:o, s:o, s:[IIIII]}", "in", list_json(e->in, e->ins), "out",
                     list_json(e->out, e->outs), "loop", (json_int_t)l->depth, (json_int_t)l->begin,
                     (json_int_t)l->control, (json_int_t)l->buffer_tiles,
                     (json_int_t)l->buffer_bytes);
}

static int take_end(const json_t *row, struct system_end *e)
{
    uint64_t v[NUMBERS];

    if (!json_take_numbers(row, NUMBERS, v))
        return 0;
    *e = (struct system_end){ .elem = (enum elem)v[0],
                              .lanes = (unsigned)v[1],
                              .is_streamed = v[2] != 0,
                              .stream = (uint32_t)v[3],
                              .elements = v[4] };
    return v[0] < ELEM_COUNT && v[1] <= LANES_MAX && v[3] < STREAMS_MAX && v[4] <= UINT32_MAX;
}

static int take_list(const json_t *list, struct system_end *e, uint32_t n)
{
    int good = json_array_size(list) == n;

    for (uint32_t k = 0; k < n && good; k++)
        good = take_end(json_array_get(list, k), &e[k]);
    return good;
}

static int is_stream(uint64_t n)
{
    return n < STREAMS_MAX || n == NO_STREAM;
}

static int take_loop(const json_t *row, struct system_loop *l)
{
    uint64_t v[NUMBERS];

    if (!json_take_numbers(row, NUMBERS, v))
        return 0;
    *l = (struct system_loop){ .depth = (uint32_t)v[0],
                               .begin = (uint32_t)v[1],
                               .control = (uint32_t)v[2],
                               .buffer_tiles = (uint32_t)v[3],
                               .buffer_bytes = v[4] };
    return v[0] <= PREFETCH_MAX_DEPTH && is_stream(v[1]) && is_stream(v[2]) && v[3] <= UINT32_MAX;
}

int system_ends_take(const json_t *o, const struct op_graph *g, struct system_ends *out)
{
    return ends_new(g->inputs, g->outputs, out) == EMU_OK &&
           take_list(json_object_get(o, "in"), out->in, out->ins) &&
           take_list(json_object_get(o, "out"), out->out, out->outs) &&
           take_loop(json_object_get(o, "loop"), &out->loop);
}
