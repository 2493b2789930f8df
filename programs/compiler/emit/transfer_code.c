/* transfer_code.c - requests to the host and packets to other chips, as code and headers. */
#include "programs/compiler/emit/transfer_code.h"

#include "emu/arch/arch_numbers.h"
#include "emu/exchange/link_header.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"

enum { SEND_CTL = 4 /* beyond the chip */, HOST_HEADER_WORDS = 2, DELAY_MAX = 1 << 19 };

static int fail_sticky(struct transfer_code *t, enum emu_status s)
{
    if (t->out->b->status == EMU_OK)
        t->out->b->status = s;
    return t->out->b->status != EMU_OK;
}

/* Sends a header, which gets a label. */
static void send_header(struct transfer_code *t, struct transfer_header h)
{
    h.label = code_label(t->out->b);
    code_insn_label(t->out->b,
                    (struct insn){ .op = INSN_send, .i = HOST_HEADER_WORDS - 1, .k = SEND_CTL },
                    h.label);
    fail_sticky(t, VEC_PUSH(&t->header, h));
}

/* ---- host ---- */

/* Waits for n events. */
static void put_delay(struct transfer_code *t, uint64_t n)
{
    while (n) {
        uint32_t part = n < DELAY_MAX ? (uint32_t)n : DELAY_MAX;

        writer_insn(t->out, (struct insn){ .op = INSN_delay, .i = (int32_t)part - 1 });
        n -= part;
    }
}

/* All tiles issue their request of a round at the same event. */
void transfer_host(struct transfer_code *t, const struct step_part *part, const struct step *step)
{
    uint32_t mark = code_mark(t->out->b, step->name);
    uint64_t interval = arch_host_send_min_events(t->p->arch);
    uint32_t round = 0;

    if (interval < HOST_HEADER_WORDS)
        interval = HOST_HEADER_WORDS;
    writer_settle(t->out);
    code_range(t->out->b, CATEGORY_HOST_CODE, step->name);
    writer_sync(t->out, emit_index_zone(t->p, step));
    for (uint32_t k = part->first; k < part->first + part->count; k++) {
        const struct host_request *r = &t->p->l->host_request.at[k];

        put_delay(t, interval * (r->round - round));
        round = r->round + 1;
        send_header(
            t, (struct transfer_header){ .owner = step->name, .part = LOWERED_NONE, .number = k });
    }
    if (part->count && !step->begins)
        writer_await(t->out, WAIT_WORDS, CATEGORY_HOST_CODE, step->name);
    code_unmark(t->out->b, mark);
}

/* Waits for the end of what earlier requests have begun. */
void transfer_await(struct transfer_code *t, const struct step *step)
{
    writer_settle(t->out);
    writer_await(t->out, WAIT_WORDS, CATEGORY_HOST_CODE, step->name);
}

static void put_host_header(struct transfer_code *t, const struct transfer_header *h)
{
    const struct host_request *r = &t->p->l->host_request.at[h->number];
    const struct stream *s = &t->p->l->graph->stream.at[r->stream];
    struct host_header header = { .stream = r->stream,
                                  .addr = writer_address_of(t->out, r->object) + r->offset,
                                  .bytes = r->bytes,
                                  .to_host = s->way == STREAM_OUT };
    uint32_t word[HOST_HEADER_WORDS];

    if (r->bytes / ISA_WORD_BYTES >> HOST_HEADER_WORDS_BITS || r->stream >= HOST_HEADER_STREAMS) {
        fail_sticky(t,
                    FAIL(BAD_PROGRAM, "stream %s: a request of %u bytes, or more than %d streams",
                         s->name, r->bytes, HOST_HEADER_STREAMS));
        return;
    }
    host_header_pack(&header, word);
    code_range(t->out->b, CATEGORY_HOST_CODE, h->owner);
    code_place(t->out->b, h->label);
    code_word(t->out->b, word[0]);
    code_word(t->out->b, word[1]);
}

/* ---- chips ---- */

static int receives(const struct lowered *l, const struct chip_part *p)
{
    return l->graph->channel.at[p->channel].way == CHANNEL_RECEIVE;
}

/* Says how many words will come. They may come from the release on, so it is said before the sync,
 * where it costs nothing. What the host may still send would be counted among them: it is awaited
 * first. */
static void put_count(struct transfer_code *t, const struct step_part *part)
{
    const struct lowered *l = t->p->l;
    uint32_t words = 0;

    for (uint32_t k = part->first; k < part->first + part->count; k++)
        words += receives(l, &l->chip_part.at[k]) ? l->chip_part.at[k].bytes / ISA_WORD_BYTES : 0;
    if (!words)
        return;
    if (t->begins)
        writer_sync(t->out, SYNC_RECV);
    writer_constant(t->out, M_SCRATCH, words);
    writer_put(t->out, CSR_S_INCOMING_DCOUNT, M_SCRATCH);
}

/* A header and, at once, its payload. */
static void send_packets(struct transfer_code *t, uint32_t number, uint32_t owner)
{
    const struct lowered *l = t->p->l;
    const struct chip_part *p = &l->chip_part.at[number];
    uint32_t at = p->offset;

    for (uint32_t k = p->packet; k < p->packet + p->packets; k++) {
        uint32_t bytes = l->chip_packet.at[k].bytes;

        send_header(t, (struct transfer_header){ .owner = owner, .part = number, .number = k });
        writer_insn(t->out, (struct insn){ .op = INSN_send,
                                           .i = (int32_t)(bytes / ISA_WORD_BYTES) - 1,
                                           .j = writer_address_of(t->out, p->object) + at,
                                           .k = SEND_CTL });
        at += bytes;
    }
}

void transfer_chips(struct transfer_code *t, const struct step_part *part, const struct step *step)
{
    uint32_t mark = code_mark(t->out->b, step->name);

    writer_prepare(t->out);
    writer_settle(t->out);
    code_range(t->out->b, CATEGORY_EXCHANGE_CODE, step->name);
    put_count(t, part);
    writer_sync(t->out, emit_index_zone(t->p, step));
    for (uint32_t k = part->first; k < part->first + part->count; k++)
        send_packets(t, k, step->name);
    writer_await(t->out, WAIT_WORDS, CATEGORY_EXCHANGE_CODE, step->name);
    code_unmark(t->out->b, mark);
}

static void put_chip_header(struct transfer_code *t, const struct transfer_header *h)
{
    const struct lowered *l = t->p->l;
    const struct chip_packet *x = &l->chip_packet.at[h->number];
    const struct object *o = &t->p->in->peer[x->chip]->object.at[x->object];
    struct link_header header = { .chip = x->chip,
                                  .tile = o->tile,
                                  .addr = t->out->object ? o->addr + x->offset : 0,
                                  .words = x->bytes / ISA_WORD_BYTES };
    uint32_t word[LINK_HEADER_WORDS];

    link_header_pack(&header, word);
    code_range(t->out->b, CATEGORY_EXCHANGE_CODE, h->owner);
    code_place(t->out->b, h->label);
    code_link(t->out->b, l->graph->channel.at[l->chip_part.at[h->part].channel].replica);
    code_word(t->out->b, word[0]);
    code_word(t->out->b, word[1]);
}

/* ---- both ---- */

void transfer_headers(struct transfer_code *t)
{
    for (size_t i = 0; i < t->header.count && t->out->b->status == EMU_OK; i++) {
        const struct transfer_header *h = &t->header.at[i];

        if (h->part == LOWERED_NONE)
            put_host_header(t, h);
        else
            put_chip_header(t, h);
    }
}

void transfer_code_free(struct transfer_code *t)
{
    VEC_FREE(&t->header);
}
