/* chips_match.c - the two ends of every channel are brought together: what the parts of the sender
 * become on the tiles of the receiver. Nothing depends on addresses, so that the length of code is
 * known before anything is placed.
 */
#include "programs/compiler/base/key_sort.h"
#include "programs/compiler/lower/lowered.h"

#include <string.h>

/* A channel of one chip that its program uses. */
struct channel_end {
    const struct channel *channel;
    uint32_t chip, number;       /* of the channel, in its graph */
    uint8_t scopes;              /* bit s: used in an exchange of enum chips_scope s */
    struct chip_part_list parts; /* of all uses; owned */
};

struct matching {
    struct lowered *const *l;
    unsigned chips;
    VEC(struct channel_end) end;
};

/* ---- parts ---- */

/* Those of one step. */
static enum emu_status step_parts(const struct lowered *l, const struct step *step,
                                  uint32_t channel, struct chip_part_list *out)
{
    out->count = 0;
    for (uint64_t i = step->first; i < step->first + step->count; i++)
        if (l->chip_part.at[i].channel == channel)
            TRY(VEC_PUSH(out, l->chip_part.at[i]));
    return KEY_SORT(out, struct chip_part, at, 1);
}

static int same_place(const struct chip_part *a, const struct chip_part *b)
{
    return a->object == b->object && a->offset == b->offset && a->bytes == b->bytes;
}

static int same_places(const struct chip_part_list *a, const struct chip_part_list *b)
{
    for (size_t i = 0; i < a->count && a->count == b->count; i++)
        if (!same_place(&a->at[i], &b->at[i]))
            return 0;
    return a->count == b->count;
}

/* Whether a list of uses, each of which begins at byte 0 of its channel, has this one. */
static int has_use(const struct chip_part_list *uses, const struct chip_part_list *use)
{
    for (size_t first = 0, end; first < uses->count; first = end) {
        size_t same = 0;

        for (end = first; end < uses->count && (end == first || uses->at[end].at); end++)
            same += end - first < use->count && same_place(&uses->at[end], &use->at[end - first]);
        if (same == use->count && end - first == use->count)
            return 1;
    }
    return 0;
}

enum emu_status chip_parts_of(const struct lowered *l, uint32_t channel, struct chip_part_list *out)
{
    struct chip_part_list use = { 0 };
    enum emu_status s = EMU_OK;

    out->count = 0;
    for (size_t i = 0; i < l->step.count && s == EMU_OK; i++) {
        if (l->step.at[i].kind != STEP_CHIPS)
            continue;
        s = step_parts(l, &l->step.at[i], channel, &use);
        for (size_t k = has_use(out, &use) ? use.count : 0; k < use.count && s == EMU_OK; k++)
            s = VEC_PUSH(out, use.at[k]);
    }
    VEC_FREE(&use);
    return s;
}

/* Finds out where an end is used. The sender knows one place only, so a receiver has only one. */
static enum emu_status look_at_end(const struct matching *m, struct channel_end *e)
{
    const struct lowered *l = m->l[e->chip];
    struct chip_part_list parts = { 0 };
    enum emu_status s = chip_parts_of(l, e->number, &e->parts);

    for (size_t i = 0; i < l->step.count && s == EMU_OK; i++) {
        const struct step *step = &l->step.at[i];

        if (step->kind != STEP_CHIPS)
            continue;
        s = step_parts(l, step, e->number, &parts);
        e->scopes |= parts.count ? (uint8_t)(1u << step->n) : 0;
        if (s == EMU_OK && parts.count && e->channel->way == CHANNEL_RECEIVE &&
            !same_places(&parts, &e->parts))
            s = FAIL(BAD_PROGRAM,
                     "channel %s: chip %u receives it in different places: expected the same "
                     "tensor everywhere",
                     e->channel->name, e->chip);
    }
    VEC_FREE(&parts);
    return s;
}

static enum emu_status list_ends(struct matching *m)
{
    for (uint32_t k = 0; k < m->chips; k++) {
        const struct graph *g = m->l[k]->graph;

        for (uint32_t i = 0; i < g->channel.count; i++) {
            struct channel_end e = { .channel = &g->channel.at[i], .chip = k, .number = i };

            TRY(VEC_PUSH(&m->end, e));
            TRY(look_at_end(m, &m->end.at[m->end.count - 1]));
            if (!m->end.at[m->end.count - 1].scopes) /* used nowhere */
                m->end.count--;
        }
    }
    return EMU_OK;
}

/* ---- who belongs to whom ---- */

/* The end of the other way that has the same name. */
static enum emu_status find_other(const struct matching *m, const struct channel_end *e,
                                  struct channel_end **out)
{
    int sends = e->channel->way == CHANNEL_SEND;

    *out = NULL;
    for (size_t i = 0; i < m->end.count; i++) {
        struct channel_end *x = &m->end.at[i];

        if (x == e || strcmp(x->channel->name, e->channel->name) != 0)
            continue;
        if (x->channel->way == e->channel->way)
            return FAIL(BAD_PROGRAM, "channel %s: chips %u and %u both %s: expected one of them",
                        e->channel->name, e->chip, x->chip, sends ? "send to it" : "receive it");
        *out = x;
    }
    if (*out)
        return EMU_OK;
    return FAIL(BAD_PROGRAM, "channel %s: chip %u %s, and no chip %s", e->channel->name, e->chip,
                sends ? "sends to it" : "receives it", sends ? "receives it" : "sends to it");
}

static const char *scope_text(uint8_t scopes)
{
    return scopes == 1 << CHIPS_OF_REPLICA ? "the replica"
           : scopes == 1 << CHIPS_OF_POD   ? "the pod"
                                           : "both replica and pod";
}

static enum emu_status check_ends(const struct matching *m, const struct channel_end *from,
                                  const struct channel_end *to)
{
    const struct channel *a = from->channel, *b = to->channel;
    int64_t replicas = m->l[0]->graph->arch.chips / m->chips;

    if (a->elem != b->elem || a->elements != b->elements)
        return FAIL(BAD_PROGRAM,
                    "channel %s: chip %u sends %llu elements of type %s, %llu bytes, and chip %u "
                    "receives %llu of type %s, %llu bytes",
                    a->name, from->chip, (unsigned long long)a->elements, ss_elem_name(a->elem),
                    (unsigned long long)a->elements * ss_elem_bytes(a->elem), to->chip,
                    (unsigned long long)b->elements, ss_elem_name(b->elem),
                    (unsigned long long)b->elements * ss_elem_bytes(b->elem));
    if (from->scopes != to->scopes)
        return FAIL(BAD_PROGRAM,
                    "channel %s: chip %u sends to it in exchanges of all chips of %s, and chip %u "
                    "receives it in those of %s",
                    a->name, from->chip, scope_text(from->scopes), to->chip,
                    scope_text(to->scopes));
    if (from->chip == to->chip && a->replica % replicas == 0)
        return FAIL(BAD_PROGRAM, "channel %s: chip %u sends it to itself: expected another chip",
                    a->name, from->chip);
    return EMU_OK;
}

/* ---- packets ---- */

/* The part that has a byte of the channel. */
static size_t part_at(const struct chip_part_list *list, uint32_t byte)
{
    size_t low = 0, high = list->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (list->at[middle].at <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Adds the packets of a part of the sender. */
static enum emu_status cut_part(struct lowered *l, struct chip_part *p,
                                const struct channel_end *to, uint32_t most)
{
    const struct chip_part_list *list = &to->parts;
    size_t i = part_at(list, p->at);
    uint32_t at = p->at, end = p->at + p->bytes;

    p->packet = (uint32_t)l->chip_packet.count;
    while (at < end) {
        const struct chip_part *r = &list->at[i];
        uint32_t stop = r->at + r->bytes < end ? r->at + r->bytes : end;
        uint32_t bytes = stop - at < most ? stop - at : most;

        TRY(VEC_PUSH(&l->chip_packet,
                     (struct chip_packet){ to->chip, r->object, r->offset + (at - r->at), bytes }));
        at += bytes;
        i += at == r->at + r->bytes;
    }
    p->packets = (uint32_t)l->chip_packet.count - p->packet;
    return EMU_OK;
}

static enum emu_status cut_parts(const struct matching *m, const struct channel_end *from,
                                 const struct channel_end *to)
{
    struct lowered *l = m->l[from->chip];
    uint32_t most = 4 * chip_packet_words(&l->graph->arch);

    for (size_t i = 0; i < l->chip_part.count; i++)
        if (l->chip_part.at[i].channel == from->number)
            TRY(cut_part(l, &l->chip_part.at[i], to, most));
    return l->chip_packet.count < UINT32_MAX
               ? EMU_OK
               : FAIL(BAD_PROGRAM, "chip %u: too many packets", from->chip);
}

static enum emu_status match(struct matching *m)
{
    TRY(list_ends(m));
    for (size_t i = 0; i < m->end.count; i++) {
        struct channel_end *e = &m->end.at[i], *other;

        TRY(find_other(m, e, &other));
        if (e->channel->way != CHANNEL_SEND)
            continue;
        TRY(check_ends(m, e, other));
        TRY(cut_parts(m, e, other));
    }
    return EMU_OK;
}

enum emu_status chips_match(struct lowered *const *l, unsigned chips)
{
    struct matching m = { .l = l, .chips = chips };
    enum emu_status s = match(&m);

    for (size_t i = 0; i < m.end.count; i++)
        VEC_FREE(&m.end.at[i].parts);
    VEC_FREE(&m.end);
    return s;
}
