/* schedule_sends.c - an exchange problem read and checked: the tiles that take part, the sends, and
 * what bounds the number of events from below.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "emu/arch/arch_numbers.h"
#include "programs/compiler/base/key_sort.h"
#include "programs/compiler/schedule/schedule_private.h"

enum { NOBODY = UINT32_MAX };

/* A place where words arrive, for finding two words for one address. */
struct received_run {
    uint32_t tile, message, dest; /* dest: in exchange_problem.dest */
    struct symbolic_addr to;
    uint32_t words;
};

static enum emu_status no_memory(void)
{
    return FAIL(NO_MEMORY, "the schedule of an exchange");
}

/* ---- checks ---- */

static enum emu_status check_message(const struct exchange_problem *p, size_t i)
{
    const struct exchange_message *m = &p->message[i];
    uint32_t most = p->arch->mem_bytes / 4;

    if (m->tile >= p->arch->tiles)
        return FAIL(BAD_EXCHANGE, "message %zu is sent by tile %u: there are %u tiles", i, m->tile,
                    p->arch->tiles);
    if (!m->words || !m->dests)
        return FAIL(BAD_EXCHANGE, "message %zu of tile %u has no %s", i, m->tile,
                    m->words ? "receiver" : "words");
    if (m->words > most)
        return FAIL(BAD_EXCHANGE, "message %zu of tile %u has %u words, a tile has %u", i, m->tile,
                    m->words, most);
    if (m->from.bytes % 4)
        return FAIL(BAD_EXCHANGE, "message %zu of tile %u begins inside a word", i, m->tile);
    EMU_ASSERT(m->first <= p->dest_count && m->dests <= p->dest_count - m->first);
    for (uint32_t k = 0; k < m->dests; k++) {
        const struct exchange_dest *d = &p->dest[m->first + k];

        if (d->tile >= p->arch->tiles)
            return FAIL(BAD_EXCHANGE, "message %zu goes to tile %u: there are %u tiles", i, d->tile,
                        p->arch->tiles);
        if (d->tile == m->tile)
            return FAIL(BAD_EXCHANGE, "message %zu of tile %u goes to its sender", i, m->tile);
        if (d->to.bytes % 4)
            return FAIL(BAD_EXCHANGE, "message %zu begins inside a word of tile %u", i, d->tile);
    }
    return EMU_OK;
}

/* Sorts the arrivals of one tile, which come in the order of messages, by address and compares
 * neighbours. */
static enum emu_status check_arrivals(struct received_run *a, struct received_run *spare,
                                      uint32_t n, uint32_t *rank)
{
    key_sort_in(a, spare, n, sizeof(*a), offsetof(struct received_run, to), 2);
    for (uint32_t i = 0; i < n; i++) {
        const struct received_run *b = &a[i - (i > 0)];

        rank[a[i].dest] = i;
        if (!i || a[i].to.base != b->to.base ||
            b->to.bytes + 4 * (int64_t)b->words <= a[i].to.bytes)
            continue;
        return FAIL(BAD_EXCHANGE,
                    "messages %u and %u store at one address of tile %u: base %u, byte %u",
                    b->message, a[i].message, a[i].tile, a[i].to.base, a[i].to.bytes);
    }
    return EMU_OK;
}

static enum emu_status check_all_arrivals(struct schedule *s, const uint32_t *point_of)
{
    const struct exchange_problem *p = s->p;
    struct received_run *a = emu_alloc(p->dest_count, sizeof(*a)), *spare;
    uint32_t *next = emu_alloc(s->points + 1, sizeof(*next)), sum = 0, most = 0;
    enum emu_status st;

    for (uint32_t k = 0; next && k < s->points; k++) {
        next[k] = sum;
        sum += s->point[k].messages_in;
        most = s->point[k].messages_in > most ? s->point[k].messages_in : most;
    }
    s->rank = emu_alloc(p->dest_count, sizeof(*s->rank));
    spare = emu_alloc(most, sizeof(*spare));
    st = a && next && spare && s->rank ? EMU_OK : no_memory();
    for (size_t i = 0; st == EMU_OK && i < p->messages; i++) {
        const struct exchange_message *m = &p->message[i];

        for (uint32_t k = 0; k < m->dests; k++) {
            const struct exchange_dest *d = &p->dest[m->first + k];

            a[next[point_of[d->tile]]++] = (struct received_run){ .tile = d->tile,
                                                                  .message = (uint32_t)i,
                                                                  .dest = m->first + k,
                                                                  .to = d->to,
                                                                  .words = m->words };
        }
    }
    for (uint32_t k = 0; st == EMU_OK && k < s->points; k++) {
        uint32_t n = s->point[k].messages_in;

        st = check_arrivals(a + next[k] - n, spare, n, s->rank);
    }
    ss_free(a);
    ss_free(spare);
    ss_free(next);
    return st;
}

/* ---- who takes part ---- */

static enum emu_status list_points(struct schedule *s, uint32_t *point_of)
{
    const struct exchange_problem *p = s->p;
    const struct arch *a = p->arch;

    for (uint32_t t = 0; t < a->tiles; t++)
        point_of[t] = NOBODY;
    for (size_t i = 0; i < p->messages; i++) {
        const struct exchange_message *m = &p->message[i];

        TRY(check_message(p, i));
        point_of[m->tile] = 0;
        for (uint32_t k = 0; k < m->dests; k++)
            point_of[p->dest[m->first + k].tile] = 0;
    }
    for (uint32_t t = 0; t < a->tiles; t++)
        s->points += point_of[t] != NOBODY;
    s->point = emu_alloc(s->points, sizeof(*s->point));
    if (!s->point)
        return no_memory();
    for (uint32_t t = 0, k = 0; t < a->tiles; t++) {
        if (point_of[t] == NOBODY)
            continue;
        s->point[k].tile = t;
        s->point[k].physical = arch_tile_physical(a, t);
        s->point[k].end = arch_exchange_end_of(a, s->point[k].physical);
        s->point[k].lag = arch_pic_lag(a, s->point[k].physical);
        point_of[t] = k++;
    }
    return EMU_OK;
}

static enum emu_status count_words(struct schedule *s, const uint32_t *point_of)
{
    const struct exchange_problem *p = s->p;
    uint32_t most = p->arch->mem_bytes / 4;

    for (size_t i = 0; i < p->messages; i++) {
        const struct exchange_message *m = &p->message[i];
        struct endpoint *from = &s->point[point_of[m->tile]];

        from->words_out += m->words;
        from->messages_out++;
        if (from->words_out >> 29)
            return FAIL(BAD_EXCHANGE, "tile %u sends more words than an exchange may last",
                        m->tile);
        for (uint32_t k = 0; k < m->dests; k++) {
            struct endpoint *to = &s->point[point_of[p->dest[m->first + k].tile]];

            to->words_in += m->words;
            to->messages_in++;
            if (to->last_in == i + 1)
                return FAIL(BAD_EXCHANGE, "message %zu of tile %u goes to tile %u twice", i,
                            m->tile, to->tile);
            to->last_in = (uint32_t)i + 1;
            if (to->words_in > most)
                return FAIL(BAD_EXCHANGE,
                            "tile %u receives more than the %u words of its memory: some address "
                            "twice",
                            to->tile, most);
        }
    }
    return EMU_OK;
}

/* ---- sends ---- */

static int addr_follows(struct symbolic_addr a, uint32_t words, struct symbolic_addr b)
{
    return a.base == b.base && a.bytes + 4 * (int64_t)words == b.bytes;
}

/* Whether a message continues, in all memories, a send of `words` words that began with another
 * message. */
static int message_follows(const struct exchange_problem *p, const struct exchange_message *first,
                           uint32_t words, const struct exchange_message *m)
{
    if (m->tile != first->tile || m->dests != first->dests ||
        !addr_follows(first->from, words, m->from))
        return 0;
    for (uint32_t k = 0; k < m->dests; k++) {
        const struct exchange_dest *a = &p->dest[first->first + k], *b = &p->dest[m->first + k];

        if (a->tile != b->tile || !addr_follows(a->to, words, b->to))
            return 0;
    }
    return 1;
}

static void add_send(struct schedule *s, const uint32_t *point_of, size_t i)
{
    const struct exchange_problem *p = s->p;
    const struct exchange_message *m = &p->message[i];
    struct send_list *l = &s->list;
    uint32_t from = point_of[m->tile];

    s->point[from].sends++;
    l->send[l->sends++] = (struct send){ .point = from,
                                         .words = m->words,
                                         .first = l->dests,
                                         .dests = m->dests,
                                         .message = (uint32_t)i };
    for (uint32_t k = 0; k < m->dests; k++) {
        const struct exchange_dest *d = &p->dest[m->first + k];
        uint32_t to = point_of[d->tile];

        l->dest[l->dests++] = (struct send_dest){ .point = to,
                                                  .delay = arch_exchange_delay_between(
                                                      &s->point[from].end, &s->point[to].end),
                                                  .rank = s->rank[m->first + k],
                                                  .to = d->to };
    }
}

static enum emu_status list_sends(struct schedule *s, const uint32_t *point_of)
{
    const struct exchange_problem *p = s->p;

    s->list.send = emu_alloc(p->messages, sizeof(*s->list.send));
    s->list.dest = emu_alloc(p->dest_count, sizeof(*s->list.dest));
    if (!s->list.send || !s->list.dest)
        return no_memory();
    for (size_t i = 0; i < p->messages; i++) {
        struct send *last = s->list.sends ? &s->list.send[s->list.sends - 1] : NULL;

        if (last && message_follows(p, &p->message[last->message], last->words, &p->message[i]))
            last->words += p->message[i].words;
        else
            add_send(s, point_of, i);
    }
    return EMU_OK;
}

/* ---- objects in place ---- */

/* Marks the sends and receivers of one object of one endpoint, if there are both. Sends are
 * numbered before receivers. */
static void mark_object(struct send_list *l, const struct order_key *key, uint32_t n)
{
    if (key[0].send >= l->sends || key[n - 1].send < l->sends)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (key[i].send < l->sends)
            l->send[key[i].send].in_place = 1;
        else
            l->dest[key[i].send - l->sends].in_place = 1;
    }
}

static uint64_t object_key(uint32_t point, uint32_t base)
{
    return (uint64_t)point << 32 | base;
}

static void mark_objects(struct schedule *s, struct order_key *key, struct order_key *scratch)
{
    struct send_list *l = &s->list;
    uint32_t n = 0, first = 0;

    for (uint32_t j = 0; j < l->sends; j++, n++)
        key[n] = (struct order_key){
            object_key(l->send[j].point, s->p->message[l->send[j].message].from.base), n
        };
    for (uint32_t k = 0; k < l->dests; k++, n++)
        key[n] = (struct order_key){ object_key(l->dest[k].point, l->dest[k].to.base), n };
    order_sort(key, scratch, n);
    for (uint32_t i = 1; i <= n; i++) {
        if (i < n && key[i].key == key[first].key)
            continue;
        mark_object(l, key + first, i - first);
        first = i;
    }
}

static enum emu_status mark_all(struct schedule *s)
{
    const struct send_list *l = &s->list;
    size_t n = (size_t)l->sends + l->dests;
    struct order_key *key = emu_alloc(n, sizeof(*key)), *scratch = emu_alloc(n, sizeof(*scratch));
    int ok = key && scratch;

    if (ok)
        mark_objects(s, key, scratch);
    ss_free(key);
    ss_free(scratch);
    return ok ? EMU_OK : no_memory();
}

/* Finds the objects that their tile sends from and stores into. No placement puts the two into
 * different memory elements; where the machine faults when they meet, no event may have both. */
static enum emu_status find_in_place(struct schedule *s)
{
    const struct send_list *l = &s->list;

    s->ports = 2 * s->points;
    if (arch_exchange_clash(s->p->arch) != ARCH_CLASH_FAULT)
        return EMU_OK;
    TRY(mark_all(s));
    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];

        s->point[send->point].in_place += send->in_place ? send->words : 0;
        for (uint32_t k = send->first; k < send->first + send->dests; k++)
            s->point[l->dest[k].point].in_place += l->dest[k].in_place ? send->words : 0;
    }
    for (uint32_t k = 0; k < s->points; k++)
        s->point[k].memory_port = s->point[k].in_place ? s->ports++ : 0;
    return EMU_OK;
}

void send_list_free(struct send_list *l)
{
    ss_free(l->send);
    ss_free(l->dest);
    *l = (struct send_list){ .send = NULL };
}

/* ---- parts of the receivers ---- */

static uint32_t parts_of(const struct send *send, uint32_t receivers)
{
    return (send->dests + receivers - 1) / receivers;
}

/* Decides into how many parts every send is split, and counts all parts. room: [points] words that
 * a tile may still send. */
static uint32_t choose_parts(const struct schedule *s, uint32_t receivers, uint32_t *room,
                             uint32_t *parts)
{
    const struct send_list *l = &s->list;
    uint32_t sum = 0;

    for (uint32_t k = 0; k < s->points; k++)
        room[k] = s->bound - s->point[k].words_out;
    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];
        uint64_t more = (uint64_t)(parts_of(send, receivers) - 1) * send->words;

        parts[j] = more <= room[send->point] ? parts_of(send, receivers) : 1;
        room[send->point] -= parts[j] > 1 ? (uint32_t)more : 0;
        sum += parts[j];
    }
    return sum;
}

static void fill_parts(const struct send_list *l, const uint32_t *parts, uint32_t receivers,
                       struct send_list *out)
{
    for (uint32_t j = 0; j < l->sends; j++) {
        struct send part = l->send[j];
        uint32_t left = part.dests;

        for (uint32_t k = 0; k < parts[j]; k++) {
            part.dests = parts[j] == 1 || left < receivers ? left : receivers;
            out->send[out->sends++] = part;
            part.first += part.dests;
            left -= part.dests;
        }
    }
    for (; out->dests < l->dests; out->dests++)
        out->dest[out->dests] = l->dest[out->dests];
}

static enum emu_status split_with(const struct schedule *s, uint32_t receivers, uint32_t *room,
                                  uint32_t *parts, struct send_list *out)
{
    uint32_t sends;

    if (!room || !parts)
        return no_memory();
    sends = choose_parts(s, receivers, room, parts);
    if (sends == s->list.sends)
        return EMU_OK;
    out->send = emu_alloc(sends, sizeof(*out->send));
    out->dest = emu_alloc(s->list.dests, sizeof(*out->dest));
    if (!out->send || !out->dest) {
        send_list_free(out);
        return no_memory();
    }
    fill_parts(&s->list, parts, receivers, out);
    return EMU_OK;
}

enum emu_status schedule_split(const struct schedule *s, uint32_t receivers, struct send_list *out)
{
    uint32_t *room = emu_alloc(s->points, sizeof(*room));
    uint32_t *parts = emu_alloc(s->list.sends, sizeof(*parts));
    enum emu_status st;

    *out = (struct send_list){ .send = NULL };
    st = split_with(s, receivers, room, parts, out);
    ss_free(room);
    ss_free(parts);
    return st;
}

/* ---- bounds ---- */

/* The words of all messages within a set of tiles in which every message goes from one member to
 * all others. With three tiles or more, no two such messages can be on their way at once. */
struct closed_set {
    uint64_t hash; /* of the sender and the receivers, in any order */
    uint64_t words;
};

static int set_order(const void *x, const void *y)
{
    const struct closed_set *a = x, *b = y;

    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static uint64_t tile_hash(uint64_t tile)
{
    return hash_mix((tile + 1) * HASH_STEP);
}

static uint32_t largest(uint32_t a, int64_t b)
{
    return b > (int64_t)a ? (uint32_t)b : a;
}

static enum emu_status bound_sets(struct schedule *s)
{
    const struct send_list *l = &s->list;
    struct closed_set *set = emu_alloc(l->sends, sizeof(*set));
    uint32_t sets = 0;

    if (!set)
        return no_memory();
    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];
        uint64_t hash = tile_hash(send->point);

        if (send->dests < 2)
            continue;
        for (uint32_t k = 0; k < send->dests; k++)
            hash += tile_hash(l->dest[send->first + k].point);
        set[sets++] = (struct closed_set){ .hash = hash, .words = send->words };
    }
    qsort(set, sets, sizeof(*set), set_order);
    for (uint32_t i = 1; i < sets; i++) {
        if (set[i].hash == set[i - 1].hash)
            set[i].words += set[i - 1].words;
    }
    for (uint32_t i = 0; i < sets; i++)
        s->bound = largest(s->bound, (int64_t)set[i].words);
    ss_free(set);
    return EMU_OK;
}

/* No word reaches a mux before the least delay of its tile; no word is in memory sooner after its
 * send than the least delay plus lag; the words of B follow each other somewhere; and so do the
 * words of objects in place. */
static enum emu_status bound_events(struct schedule *s)
{
    const struct send_list *l = &s->list;
    int32_t *in = emu_alloc(s->points, sizeof(*in)), *out = emu_alloc(s->points, sizeof(*out));
    int32_t soonest = INT32_MAX;

    if (!in || !out) {
        ss_free(in);
        ss_free(out);
        return no_memory();
    }
    for (uint32_t k = 0; k < s->points; k++)
        in[k] = out[k] = INT32_MAX;
    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];
        int32_t most = INT32_MIN;

        for (uint32_t k = send->first; k < send->first + send->dests; k++) {
            const struct send_dest *d = &l->dest[k];
            int32_t after = d->delay + (int32_t)s->point[d->point].lag;

            in[d->point] = d->delay < in[d->point] ? d->delay : in[d->point];
            most = after > most ? after : most;
            soonest = after < soonest ? after : soonest;
        }
        out[send->point] = most < out[send->point] ? most : out[send->point];
    }
    for (uint32_t k = 0; k < s->points; k++) {
        const struct endpoint *e = &s->point[k];

        if (e->words_in)
            s->least =
                largest(s->least, (in[k] > 0 ? in[k] : 0) + (int64_t)e->words_in + e->lag - 1);
        if (e->words_out)
            s->least = largest(s->least, (int64_t)out[k] + e->words_out - 1);
        s->least = largest(s->least, (int64_t)e->in_place - 1);
    }
    s->least = largest(s->least, (int64_t)s->bound + soonest - 1);
    ss_free(in);
    ss_free(out);
    return EMU_OK;
}

/* ---- all of it ---- */

static enum emu_status read_with(struct schedule *s, uint32_t *point_of)
{
    TRY(list_points(s, point_of));
    TRY(count_words(s, point_of));
    TRY(check_all_arrivals(s, point_of));
    TRY(list_sends(s, point_of));
    TRY(find_in_place(s));
    for (uint32_t k = 0; k < s->points; k++) {
        s->bound = largest(s->bound, s->point[k].words_in);
        s->bound = largest(s->bound, s->point[k].words_out);
    }
    TRY(bound_sets(s));
    return bound_events(s);
}

enum emu_status schedule_read(struct schedule *s, const struct exchange_problem *p)
{
    uint32_t *point_of = emu_alloc(p->arch->tiles, sizeof(*point_of));
    enum emu_status st;

    *s = (struct schedule){ .p = p };
    if (p->messages >= UINT32_MAX || p->dest_count >= UINT32_MAX) {
        ss_free(point_of);
        return FAIL(BAD_EXCHANGE, "%zu messages are too many for one exchange", p->messages);
    }
    st = point_of ? read_with(s, point_of) : no_memory();
    ss_free(point_of);
    return st;
}

void schedule_free(struct schedule *s)
{
    ss_free(s->point);
    ss_free(s->rank);
    send_list_free(&s->list);
    *s = (struct schedule){ .p = NULL };
}
