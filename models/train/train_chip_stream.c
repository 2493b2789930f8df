/* train_chip_stream.c - the host's end of the streams of a step that is a loop over micro batches:
 * asks the feed for the next one when the chip does, and hands on what comes back. */
#include <string.h>

#include "models/train/train_chip.h"

int train_chip_loops(const struct train_chip *t)
{
    return t->program.network->in[op_graph_input_index(t->g, t->step.data)].is_streamed;
}

/* ---- to the chip ---- */

/* The first stream of a micro batch that is asked for begins it. */
static enum emu_status begin_batch(struct train_chip *t, const struct lowered_value *v)
{
    if (v->value != t->step.data || !t->feed || t->dry)
        return EMU_OK;
    TRY(t->feed->next(t->feed->ctx, &t->data, &t->targets));
    t->dry = !t->data;
    return EMU_OK;
}

static enum emu_status pack(const struct train_chip *t, const struct lowered_value *v,
                            uint8_t **out, uint64_t *bytes)
{
    int64_t word[2];
    const struct op_tensor seed = { .shape = t->g->value[v->value].shape, .i = word };

    if (v->value == t->step.masks)
        train_seed(t->seed, MASKS, t->steps * t->batches + t->batch, word);
    return op_numbers_pack(v->elem, v->pixels, v->name,
                           v->value == t->step.data      ? t->data
                           : v->value == t->step.targets ? t->targets
                                                         : &seed,
                           out, bytes);
}

static enum emu_status send(void *ctx, uint64_t n, void *data)
{
    struct chip_stream *s = ctx;
    struct train_chip *t = s->chip;
    uint64_t bytes;
    uint8_t *packed;

    (void)n;
    TRY(begin_batch(t, s->value));
    bytes = tensor_elements(t->program.graph, s->value->raw) * elem_bytes(s->value->elem);
    if (!t->feed || t->dry) { /* zeros; or no numbers, of which no state becomes anything */
        memset(data, t->feed ? 0xff : 0, (size_t)bytes);
        return EMU_OK;
    }
    TRY(pack(t, s->value, &packed, &bytes));
    memcpy(data, packed, (size_t)bytes);
    emu_free(packed);
    return EMU_OK;
}

/* ---- from the chip ---- */

/* Scores come first, in the order of the outputs; with the loss the micro batch is done. */
static enum emu_status receive(void *ctx, uint64_t n, void *data)
{
    struct chip_stream *s = ctx;
    struct train_chip *t = s->chip;
    const struct lowered_value *v = s->value;
    struct op_tensor loss;

    (void)n;
    if (!t->feed || t->dry)
        return EMU_OK;
    if (v->value == t->step.scores) {
        op_tensor_free(&t->scores);
        return op_numbers_unpack(v->elem, data, &t->g->value[v->value].shape, &t->scores);
    }
    TRY(op_numbers_unpack(v->elem, data, &t->g->value[v->value].shape, &loss));
    t->loss = loss.f[0];
    op_tensor_free(&loss);
    t->batch++;
    return t->feed->done(t->feed->ctx, t->loss, &t->scores);
}

/* ---- all ---- */

static enum emu_status connect(struct train_chip *t, const struct lowered_value *v,
                               struct chip_stream *s, int is_out)
{
    const struct session_calls c = { .ctx = s, .transfer = is_out ? receive : send };

    *s = (struct chip_stream){ .chip = t, .value = v };
    return v->is_streamed ? session_connect(t->session, v->stream, &c) : EMU_OK;
}

enum emu_status train_chip_connect(struct train_chip *t)
{
    const struct lowered_network *n = t->program.network;

    t->stream = emu_alloc(t->g->inputs + t->g->outputs + 1, sizeof(*t->stream));
    if (!t->stream)
        return FAIL(NO_MEMORY, "streams of a step");
    for (uint32_t k = 0; k < t->g->inputs; k++)
        TRY(connect(t, &n->in[k], &t->stream[k], 0));
    for (uint32_t k = 0; k < t->g->outputs; k++)
        TRY(connect(t, &n->out[k], &t->stream[t->g->inputs + k], 1));
    return EMU_OK;
}
