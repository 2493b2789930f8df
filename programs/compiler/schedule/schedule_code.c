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
    ss_free(l->timed);
    ss_free(l->receive);
    ss_free(l->first_send);
    ss_free(l->first_receive);
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

/* A schedule while its tiles get their instructions one by one. */
struct coding {
    const struct schedule *s;
    struct tile_lists lists;
    struct exchange_sequence sequence; /* owned; of one tile after the other */
    struct packed_code code;           /* owned; of all tiles so far */
    struct tile_schedule *tile;        /* owned; [points] */
};

static enum emu_status sequence_tile(struct coding *c, uint32_t k)
{
    const struct endpoint *e = &c->s->point[k];
    struct tile_lists *l = &c->lists;
    uint32_t count = l->first_send[k + 1] - l->first_send[k];
    const struct sequence_options o = { .null_source = c->s->p->arch->null_source,
                                        .pic_lag = e->lag };
    size_t culprit;
    uint32_t words_out = 0;

    for (uint32_t i = 0; i < count; i++)
        words_out += l->timed[l->first_send[k] + i].words;
    TRY(exchange_sequence(&o, l->timed + l->first_send[k], count, l->receive + l->first_receive[k],
                          l->first_receive[k + 1] - l->first_receive[k], &c->sequence, &culprit));
    c->tile[k] = (struct tile_schedule){ .tile = e->tile,
                                         .insns = (uint32_t)c->sequence.count,
                                         .end_event = c->sequence.end_event,
                                         .first = (uint32_t)c->code.word.count,
                                         .bytes = code_bytes(&c->sequence),
                                         .arrival = arrival_of(c->s, k, l),
                                         .words_in = e->words_in,
                                         .words_out = words_out,
                                         .messages_in = e->messages_in,
                                         .messages_out = e->messages_out + count - e->sends };
    TRY(packed_code_add(&c->code, &c->sequence));
    return c->code.word.count < UINT32_MAX ? EMU_OK : FAIL(NO_MEMORY, "the code of an exchange");
}

static enum emu_status code_tiles(struct coding *c, const struct send_list *j,
                                  const struct timing *t)
{
    const struct schedule *s = c->s;

    TRY(lists_alloc(&c->lists, s->points, j));
    lists_count(&c->lists, s->points, j);
    lists_fill(&c->lists, s, j, t);
    c->tile = emu_alloc(s->points, sizeof(*c->tile));
    if (!c->tile)
        return FAIL(NO_MEMORY, "the code of an exchange");
    for (uint32_t k = 0; k < s->points; k++)
        TRY(sequence_tile(c, k));
    return EMU_OK;
}

static enum emu_status make_block(const struct coding *c, uint32_t events,
                                  struct exchange_schedule *out)
{
    struct schedule_head head = { .tiles = c->s->points,
                                  .events = events,
                                  .bound = c->s->bound,
                                  .words = (uint32_t)c->code.word.count };
    struct schedule_block *b;

    for (uint32_t k = 0; k < head.tiles; k++)
        head.code_bytes += c->tile[k].bytes;
    TRY(schedule_block_new(&head, c->tile, c->code.word.at, &b));
    schedule_block_use(b, out);
    schedule_block_release(b);
    return EMU_OK;
}

enum emu_status schedule_code(const struct schedule *s, const struct send_list *j,
                              const struct timing *t, struct exchange_schedule *out)
{
    struct coding c = { .s = s };
    enum emu_status st;

    *out = (struct exchange_schedule){ .tile = NULL };
    st = code_tiles(&c, j, t);
    if (st == EMU_OK)
        st = make_block(&c, t->events, out);
    lists_free(&c.lists);
    exchange_sequence_free(&c.sequence);
    packed_code_free(&c.code);
    ss_free(c.tile);
    return st;
}
