/* train_chip_stream.c - the host's end of the streams of a step: asks the feed for the next micro
 * batch when the chip does, and hands on what comes back. IO tiles ask for a micro batch while the
 * one before it is computed. So during the last micro batch of a step they ask for the first one of
 * the next step. */
#include <string.h>

#include "models/train/train_chip.h"

int train_chip_streams(const struct train_chip *t)
{
    return system_is_streamed(&t->system, t->step.data);
}

/* ---- to the chip ---- */

/* The first stream that asks for a micro batch, transfer n, gets it from the feed. */
static enum emu_status begin_batch(struct train_chip *t, uint64_t n)
{
    if (n < t->sent)
        return EMU_OK;
    t->sent = n + 1;
    if (!t->feed || t->dry)
        return EMU_OK;
    TRY(t->feed->next(t->feed->ctx, &t->data, &t->targets));
    if (t->asked == t->batches)
        t->has_next = t->data != NULL;
    else
        t->dry = !t->data;
    t->asked++;
    return EMU_OK;
}

static enum emu_status pack(const struct train_chip *t, uint32_t value, uint8_t **out,
                            uint64_t *bytes)
{
    int64_t word[2];
    const struct op_tensor seed = { .shape = t->g->value[value].shape, .i = word };

    if (value == t->step.masks)
        train_seed(t->seed, MASKS, t->steps * t->batches + t->asked - 1, word);
    return system_pack(&t->system, value,
                       value == t->step.data      ? t->data
                       : value == t->step.targets ? t->targets
                                                  : &seed,
                       out, bytes);
}

/* The bytes of a transfer. If the feed has ended they are zeros or, within a step that has begun,
 * NaN, so that the step changes no state. */
static enum emu_status fill(const struct train_chip *t, uint32_t value, void *data)
{
    uint8_t *packed;
    uint64_t bytes;

    memset(data, t->feed && t->dry ? 0xff : 0, system_transfer_bytes(&t->system, value));
    if (!t->feed || t->dry || !t->data)
        return EMU_OK;
    TRY(pack(t, value, &packed, &bytes));
    memcpy(data, packed, (size_t)bytes);
    ss_free(packed);
    return EMU_OK;
}

static enum emu_status send(void *ctx, uint64_t n, void *data)
{
    struct chip_stream *s = ctx;

    TRY(begin_batch(s->chip, n));
    return fill(s->chip, s->value, data);
}

static enum emu_status write_first(struct train_chip *t, uint32_t value)
{
    uint8_t *data = emu_alloc(system_transfer_bytes(&t->system, value) + 1, 1);
    enum emu_status s =
        data ? fill(t, value, data) : FAIL(NO_MEMORY, "%s", t->g->value[value].name);

    if (s == EMU_OK)
        s = system_write_ahead(&t->system, value, data);
    ss_free(data);
    return s;
}

enum emu_status train_chip_first(struct train_chip *t)
{
    t->asked = 1;
    if (t->has_next) {
        t->has_next = 0;
        return EMU_OK;
    }
    if (t->feed) {
        TRY(t->feed->next(t->feed->ctx, &t->data, &t->targets));
        t->dry = !t->data;
    }
    for (uint32_t k = 0; !t->dry && k < t->g->inputs; k++) {
        if (system_is_streamed(&t->system, t->g->input[k]))
            TRY(write_first(t, t->g->input[k]));
    }
    return EMU_OK;
}

/* ---- from the chip ---- */

/* With the last of its results a micro batch is done. */
static enum emu_status receive(void *ctx, uint64_t n, void *data)
{
    struct chip_stream *s = ctx;
    struct train_chip *t = s->chip;
    struct op_tensor *to = s->value == t->step.scores ? &t->scores : &t->loss;

    (void)n;
    if (!t->feed || t->dry)
        return EMU_OK;
    op_tensor_free(to);
    TRY(op_numbers_unpack(system_elem(&t->system, s->value), data, &t->g->value[s->value].shape,
                          to));
    t->parts = (t->parts + 1) % t->results;
    return t->parts ? EMU_OK : t->feed->done(t->feed->ctx, t->loss.f[0], &t->scores);
}

/* ---- all ---- */

static enum emu_status connect(struct train_chip *t, uint32_t value, struct chip_stream *s,
                               int is_out)
{
    const struct session_calls c = { .ctx = s, .transfer = is_out ? receive : send };

    *s = (struct chip_stream){ .chip = t, .value = value };
    if (!system_is_streamed(&t->system, value))
        return EMU_OK;
    t->results += (uint32_t)is_out;
    return system_connect(&t->system, value, &c);
}

enum emu_status train_chip_connect(struct train_chip *t)
{
    t->stream = emu_alloc(t->g->inputs + t->g->outputs + 1, sizeof(*t->stream));
    if (!t->stream)
        return FAIL(NO_MEMORY, "streams of a step");
    for (uint32_t k = 0; k < t->g->inputs; k++)
        TRY(connect(t, t->g->input[k], &t->stream[k], 0));
    for (uint32_t k = 0; k < t->g->outputs; k++)
        TRY(connect(t, t->g->output[k], &t->stream[t->g->inputs + k], 1));
    return EMU_OK;
}
