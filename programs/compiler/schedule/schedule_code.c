/* schedule_code.c - from the times of all sends to the instructions of every tile, and its size.
 */
#include "programs/compiler/schedule/schedule_private.h"

/* The timed sends and receives of all tiles, those of one tile together. */
struct tile_lists {
    struct timed_send *timed;      /* owned; [first_send[k] .. first_send[k + 1]) of endpoint k */
    struct timed_receive *receive; /* owned */
    uint32_t *first_send, *first_receive; /* owned; [points + 1] */
};

static void lists_free(struct tile_lists *l)
{
    emu_free(l->timed);
    emu_free(l->receive);
    emu_free(l->first_send);
    emu_free(l->first_receive);
}

static enum emu_status lists_alloc(struct tile_lists *l, uint32_t points, const struct send_list *j)
{
    l->timed = emu_alloc(j->sends, sizeof(*l->timed));
    l->receive = emu_alloc(j->dests, sizeof(*l->receive));
    l->first_send = emu_alloc((size_t)points + 2, sizeof(*l->first_send));
    l->first_receive = emu_alloc((size_t)points + 2, sizeof(*l->first_receive));
    if (l->timed && l->receive && l->first_send && l->first_receive)
        return EMU_OK;
    return FAIL(NO_MEMORY, "the code of an exchange");
}

/* Counts into [k + 2], so that the filling below leaves the right first[k]. */
static void lists_count(struct tile_lists *l, uint32_t points, const struct send_list *j)
{
    for (uint32_t i = 0; i < j->sends; i++)
        l->first_send[j->send[i].point + 2]++;
    for (uint32_t i = 0; i < j->dests; i++)
        l->first_receive[j->dest[i].point + 2]++;
    for (uint32_t k = 2; k < points + 2; k++) {
        l->first_send[k] += l->first_send[k - 1];
        l->first_receive[k] += l->first_receive[k - 1];
    }
}

static void lists_fill(struct tile_lists *l, const struct schedule *s, const struct send_list *j,
                       const struct timing *t)
{
    for (uint32_t i = 0; i < j->sends; i++) {
        const struct send *send = &j->send[i];
        const struct endpoint *from = &s->point[send->point];
        struct timed_send *x = &l->timed[l->first_send[send->point + 1]++];

        *x = (struct timed_send){ .event = t->start[i],
                                  .words = send->words,
                                  .addr = s->p->message[send->message].from };
        for (uint32_t k = send->first; k < send->first + send->dests; k++) {
            const struct send_dest *d = &j->dest[k];

            x->ctl |= arch_exchange_direction_between(&from->end, &s->point[d->point].end);
            l->receive[l->first_receive[d->point + 1]++] =
                (struct timed_receive){ .event = (int64_t)t->start[i] + d->delay,
                                        .words = send->words,
                                        .source = from->physical,
                                        .addr = d->to };
        }
    }
}

static uint32_t code_bytes(const struct exchange_sequence *p)
{
    uint32_t bytes = 0;

    for (size_t i = 0; i < p->count; i++)
        bytes += p->code[i].op == EXCHANGE_SENDPICP ? 8 : 4;
    return bytes;
}

/* The event at which the last word that endpoint k receives is in memory. */
static uint32_t arrival_of(const struct schedule *s, uint32_t k, const struct tile_lists *l)
{
    int64_t last = 0;

    for (uint32_t i = l->first_receive[k]; i < l->first_receive[k + 1]; i++) {
        const struct timed_receive *r = &l->receive[i];
        int64_t stored = r->event + r->words - 1 + s->point[k].lag;

        last = stored > last ? stored : last;
    }
    return (uint32_t)last;
}

static enum emu_status sequence_tile(const struct schedule *s, uint32_t k, struct tile_lists *l,
                                     struct tile_schedule *out)
{
    const struct endpoint *e = &s->point[k];
    uint32_t count = l->first_send[k + 1] - l->first_send[k];
    const struct sequence_options o = { .null_source = s->p->arch->null_source, .pic_lag = e->lag };
    size_t culprit;
    uint32_t words_out = 0;

    for (uint32_t i = 0; i < count; i++)
        words_out += l->timed[l->first_send[k] + i].words;
    *out = (struct tile_schedule){ .tile = e->tile,
                                   .arrival = arrival_of(s, k, l),
                                   .words_in = e->words_in,
                                   .words_out = words_out,
                                   .messages_in = e->messages_in,
                                   .messages_out = e->messages_out + count - e->sends };
    TRY(exchange_sequence(&o, l->timed + l->first_send[k], count, l->receive + l->first_receive[k],
                          l->first_receive[k + 1] - l->first_receive[k], &out->sequence, &culprit));
    out->bytes = code_bytes(&out->sequence);
    return EMU_OK;
}

static enum emu_status code_with(const struct schedule *s, const struct send_list *j,
                                 const struct timing *t, struct tile_lists *l,
                                 struct exchange_schedule *out)
{
    TRY(lists_alloc(l, s->points, j));
    lists_count(l, s->points, j);
    lists_fill(l, s, j, t);
    out->tile = emu_alloc(s->points, sizeof(*out->tile));
    if (!out->tile)
        return FAIL(NO_MEMORY, "the code of an exchange");
    out->tiles = s->points;
    for (uint32_t k = 0; k < s->points; k++) {
        TRY(sequence_tile(s, k, l, &out->tile[k]));
        out->code_bytes += out->tile[k].bytes;
    }
    out->events = t->events;
    out->bound = s->bound;
    return EMU_OK;
}

enum emu_status schedule_code(const struct schedule *s, const struct send_list *j,
                              const struct timing *t, struct exchange_schedule *out)
{
    struct tile_lists l = { .timed = NULL };
    enum emu_status st;

    *out = (struct exchange_schedule){ .tile = NULL };
    st = code_with(s, j, t, &l, out);
    lists_free(&l);
    if (st != EMU_OK)
        exchange_schedule_free(out);
    return st;
}
