/* exchange_problem.c - messages, numbered objects, and the hash of both (see exchange_problem.h).
 */
#include "programs/compiler/exchange_problem.h"

#include <string.h>

static enum emu_status add_message(const struct lowered *l, const struct message *t,
                                   struct step_messages *out)
{
    struct exchange_message m = { .tile = l->object.at[t->object].tile,
                                  .from = { t->object, t->offset },
                                  .words = t->bytes / 4,
                                  .first = (uint32_t)out->dest.count,
                                  .dests = t->dests };

    TRY(VEC_PUSH(&out->message, m));
    for (uint32_t i = 0; i < t->dests; i++) {
        const struct message_dest *d = &l->message_dest.at[t->first + i];
        struct exchange_dest to = { .tile = l->object.at[d->object].tile,
                                    .to = { d->object, d->offset } };

        TRY(VEC_PUSH(&out->dest, to));
    }
    return EMU_OK;
}

/* Room for n entries, no more: the largest exchange of a network can be half of its messages. */
#define RESERVE(v, n) reserve((void **)&(v)->at, &(v)->cap, n, sizeof(*(v)->at))

static enum emu_status reserve(void **at, size_t *cap, size_t n, size_t size)
{
    void *p;

    if (n <= *cap)
        return EMU_OK;
    p = emu_realloc(*at, n, size);
    if (!p)
        return FAIL(NO_MEMORY, "exchange of %zu messages", n);
    *at = p;
    *cap = n;
    return EMU_OK;
}

enum emu_status step_messages_read(const struct lowered *l, uint32_t step,
                                   struct step_messages *out)
{
    const struct step *s = &l->step.at[step];
    size_t dests = 0;

    out->message.count = out->dest.count = 0;
    for (uint64_t i = 0; i < s->count; i++)
        dests += l->message.at[s->first + i].dests;
    TRY(RESERVE(&out->message, s->count));
    TRY(RESERVE(&out->dest, dests));
    for (uint64_t i = 0; i < s->count; i++)
        TRY(add_message(l, &l->message.at[s->first + i], out));
    return EMU_OK;
}

void step_messages_free(struct step_messages *m)
{
    VEC_FREE(&m->message);
    VEC_FREE(&m->dest);
}

/* ---- numbers ---- */

enum { TEXT_MAX = 1 << 14 }; /* words that are kept at least until they are hashed */

/* Room for objects up to one with this number. */
static enum emu_status know(struct step_objects *o, uint32_t object)
{
    uint32_t want = object + object / 2 + 1;
    uint32_t *number, *stamp;

    if (object < o->known)
        return EMU_OK;
    number = emu_realloc(o->number, want, sizeof(*number));
    o->number = number ? number : o->number;
    stamp = emu_realloc(o->stamp, want, sizeof(*stamp));
    o->stamp = stamp ? stamp : o->stamp;
    if (!number || !stamp)
        return FAIL(NO_MEMORY, "exchange of %u objects", object);
    memset(stamp + o->known, 0, (want - o->known) * sizeof(*stamp));
    o->known = want;
    return EMU_OK;
}

static enum emu_status number_of(struct step_objects *o, uint32_t *base)
{
    uint32_t object = *base;

    TRY(know(o, object));
    if (o->stamp[object] != o->build) {
        o->stamp[object] = o->build;
        o->number[object] = (uint32_t)o->base.count;
        TRY(VEC_PUSH(&o->base, object));
    }
    *base = o->number[object];
    return EMU_OK;
}

/* Puts the text so far into the hash. */
static void hash_text(struct step_objects *o)
{
    struct hash128 both[2] = { o->hash, hash128(o->text.at, o->text.count * sizeof(*o->text.at)) };

    o->hash = hash128(both, sizeof(both));
    o->text.count = 0;
}

static enum emu_status add_text(struct step_objects *o, uint32_t a, uint32_t b, uint32_t c,
                                uint32_t d)
{
    TRY(VEC_PUSH(&o->text, a));
    TRY(VEC_PUSH(&o->text, b));
    TRY(VEC_PUSH(&o->text, c));
    return VEC_PUSH(&o->text, d);
}

static enum emu_status number_message(struct step_messages *p, struct exchange_message *m,
                                      struct step_objects *o)
{
    if (o->text.count >= TEXT_MAX)
        hash_text(o);
    TRY(number_of(o, &m->from.base));
    TRY(add_text(o, m->tile, m->words, m->from.base, m->from.bytes));
    TRY(VEC_PUSH(&o->text, m->dests));
    for (uint32_t i = m->first; i < m->first + m->dests; i++) {
        struct exchange_dest *d = &p->dest.at[i];

        TRY(number_of(o, &d->to.base));
        TRY(add_text(o, d->tile, d->to.base, d->to.bytes, 0));
    }
    return EMU_OK;
}

enum emu_status step_messages_number(struct step_messages *m, struct step_objects *o,
                                     struct hash128 *hash)
{
    o->build++;
    o->base.count = o->text.count = 0;
    o->hash = (struct hash128){ 0 };
    for (size_t i = 0; i < m->message.count; i++)
        TRY(number_message(m, &m->message.at[i], o));
    hash_text(o);
    *hash = o->hash;
    return EMU_OK;
}

void step_objects_free(struct step_objects *o)
{
    VEC_FREE(&o->base);
    VEC_FREE(&o->text);
    ss_free(o->number);
    ss_free(o->stamp);
}

/* ---- problems ---- */

struct exchange_problem step_problem(const struct step_messages *m, const struct arch *a)
{
    return (struct exchange_problem){ .arch = a,
                                      .message = m->message.at,
                                      .messages = m->message.count,
                                      .dest = m->dest.at,
                                      .dest_count = m->dest.count };
}

struct arch exchange_arch(const struct arch *a)
{
    struct arch large = *a;

    large.mem_bytes = 1u << 31;
    return large;
}
