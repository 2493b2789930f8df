/* asm_exchange.c - the exchange for people who write assembly: functions that know the geometry of
 * the fabric, and .exchange blocks, which say what a tile sends and receives and become the
 * instructions for it.
 *
 *   .exchange TILE[, event]
 *       the code begins at this event; without it at event 0, right after the sync
 *   .send address, words, event[, tile]
 *       sends from `event` on, in both directions or only towards a tile
 *   .receive address, words, event, tile
 *       receives the words that `tile` sends from its event `event` on
 *   .endexchange
 *
 * Lines of a block may come in any order. The RECV that ends the exchange is written after it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_geometry.h"
#include "emu/asm/asm_internal.h"
#include "emu/isa/exchange_sequence.h"
#include "emu/base/alloc.h"

enum { BOTH_WAYS = 3, NO_TILE = -1, MAX_MESSAGES = 1 << 20 };

/* One .send or .receive. */
struct exchange_line {
    struct exchange_line *next;
    struct loc at;
    struct symbolic_addr addr;
    int64_t event;
    int64_t when; /* of this tile: the event, or when the first word arrives */
    uint32_t words;
    int32_t tile; /* logical, NO_TILE: none was given */
    int is_send;
};

struct exchange_block {
    struct loc at;
    uint32_t tile, first_event;
    struct section *section;
    size_t section_bytes;  /* when the block began */
    struct section **base; /* owned; symbolic_addr.base - 1 is an index in it */
    size_t bases, base_capacity;
    struct exchange_line *line, **line_end;
    size_t sends, receives;
    int broken;
};

/* ---- functions ---- */

enum exchange_function {
    F_DELAY,
    F_DIRECTION,
    F_PHYSICAL,
    F_PIC_LAG,
    F_LOGICAL,
    F_DELAY_MIN,
    F_DELAY_MAX
};

static const struct {
    const char *name;
    uint8_t arguments;
} functions[] = {
    [F_DELAY] = { "exch_delay", 2 },         [F_DIRECTION] = { "exch_dir", 2 },
    [F_PHYSICAL] = { "physical", 1 },        [F_PIC_LAG] = { "pic_lag", 1 },
    [F_LOGICAL] = { "logical", 1 },          [F_DELAY_MIN] = { "exch_delay_min", 0 },
    [F_DELAY_MAX] = { "exch_delay_max", 0 },
};

/* The smallest and the largest delay: a look at all pairs of tiles, therefore once. */
static const int *delay_span(struct asm_unit *u)
{
    if (!u->has_delay_span)
        arch_exchange_delay_span(&u->arch, &u->delay_span[0], &u->delay_span[1]);
    u->has_delay_span = 1;
    return u->delay_span;
}

static int64_t function_value(struct asm_unit *u, enum exchange_function f,
                              const uint32_t physical[2])
{
    const struct arch *a = &u->arch;

    switch (f) {
    case F_DELAY:
        return arch_exchange_delay(a, physical[0], physical[1]);
    case F_DIRECTION:
        return arch_exchange_direction(a, physical[0], physical[1]);
    case F_PHYSICAL:
        return physical[0];
    case F_PIC_LAG:
        return arch_pic_lag(a, physical[0]);
    default:
        return delay_span(u)[f == F_DELAY_MAX];
    }
}

static int check_tile(struct as *as, struct loc at, int64_t tile)
{
    uint32_t tiles = as->u->arch.tiles;

    if (tile >= 0 && tile < tiles)
        return 1;
    return as_error(as, at, "tile %" PRId64 ", but machine %s has tiles 0 to %" PRIu32, tile,
                    as->u->arch.name, tiles - 1);
}

static int parse_tile(struct as *as, uint32_t *out)
{
    struct loc at;
    int64_t tile;

    lex_blank(as);
    at = lex_here(as);
    if (!expr_parse_number(as, "the tile", &tile) || !check_tile(as, at, tile))
        return 0;
    *out = (uint32_t)tile;
    return 1;
}

/* logical(p): the tile with a physical number. */
static const struct expr_node *logical_of(struct as *as)
{
    struct loc at;
    int64_t physical;
    int tile;

    lex_blank(as);
    at = lex_here(as);
    if (!expr_parse_number(as, "the physical number", &physical))
        return NULL;
    tile = physical >= 0 && physical <= INT32_MAX
               ? arch_tile_logical(&as->u->arch, (uint32_t)physical)
               : -1;
    if (tile < 0) {
        as_error(as, at, "machine %s has no tile with the physical number %" PRId64,
                 as->u->arch.name, physical);
        return NULL;
    }
    return lex_expect(as, ')', " after the number") ? expr_number(as, tile) : NULL;
}

int exchange_function(struct as *as, struct span name, const struct expr_node **out)
{
    unsigned f = 0;
    uint32_t physical[2];
    uint32_t tile;

    while (f < EMU_COUNT_OF(functions) && !span_is(name, functions[f].name))
        f++;
    if (f == EMU_COUNT_OF(functions))
        return 0;
    *out = NULL;
    as->top->p++; /* the parenthesis */
    if (f == F_LOGICAL) {
        *out = logical_of(as);
        return 1;
    }
    for (unsigned i = 0; i < functions[f].arguments; i++) {
        if ((i && !lex_expect(as, ',', " and another tile")) || !parse_tile(as, &tile))
            return 1;
        physical[i] = arch_tile_physical(&as->u->arch, tile);
    }
    if (lex_expect(as, ')', " after the tiles"))
        *out = expr_number(as, function_value(as->u, f, physical));
    return 1;
}

/* ---- blocks ---- */

int exchange_open_block(struct as *as, struct loc at, int argument)
{
    struct exchange_block *b;
    int64_t first = 0;

    (void)argument;
    if (as->exchange) {
        as_error(as, at, ".exchange in an exchange");
        return unit_diag(as->u, ASM_NOTE, as->exchange->at, "it began here");
    }
    b = unit_alloc(as->u, 1, sizeof(*b));
    if (!b)
        return 0;
    *b = (struct exchange_block){ .at = at,
                                  .section = as->section,
                                  .section_bytes = as->section->size };
    b->line_end = &b->line;
    if (!parse_tile(as, &b->tile))
        return 0;
    if (lex_accept(as, ',') && !expr_parse_number(as, "the first event", &first))
        return 0;
    if (first < 0 || first > INT32_MAX)
        return as_error(as, at, "an exchange cannot begin at event %" PRId64, first);
    b->first_event = (uint32_t)first;
    as->exchange = b;
    return 1;
}

static int find_base(struct as *as, struct section *s, uint32_t *base)
{
    struct exchange_block *b = as->exchange;
    void *p = b->base;
    size_t i = 0;

    while (i < b->bases && b->base[i] != s)
        i++;
    if (i == b->bases) {
        if (emu_grow(&p, b->bases, &b->base_capacity, sizeof(*b->base)) != EMU_OK)
            return unit_no_memory(as->u);
        b->base = p;
        b->base[b->bases++] = s;
    }
    *base = (uint32_t)i + 1;
    return 1;
}

static int parse_address(struct as *as, struct symbolic_addr *out)
{
    struct value v;
    struct loc at;

    if (!expr_parse_known(as, "the address", &at, &v))
        return 0;
    if (v.number % 4)
        return as_error(as, at, "the address must be a multiple of 4");
    if (v.number < INT32_MIN || v.number > INT32_MAX)
        return as_error(as, at, "no tile has the address %" PRId64, v.number);
    out->bytes = (uint32_t)v.number;
    out->base = 0;
    return v.kind == VALUE_NUMBER || find_base(as, v.section, &out->base);
}

static int parse_words(struct as *as, uint32_t *out)
{
    struct loc at;
    int64_t words;

    lex_blank(as);
    at = lex_here(as);
    if (!expr_parse_number(as, "the number of words", &words))
        return 0;
    if (words < 1 || words > as->u->arch.mem_bytes / 4)
        return as_error(as, at, "%" PRId64 " words: a tile has room for 1 to %" PRIu32, words,
                        as->u->arch.mem_bytes / 4);
    *out = (uint32_t)words;
    return 1;
}

/* address, words, event[, tile] */
static int parse_line(struct as *as, struct exchange_line *l)
{
    uint32_t tile;

    if (!parse_address(as, &l->addr) || !lex_expect(as, ',', " and the number of words") ||
        !parse_words(as, &l->words) || !lex_expect(as, ',', " and the event") ||
        !expr_parse_number(as, "the event", &l->event))
        return 0;
    l->tile = NO_TILE;
    if (!lex_accept(as, ',')) {
        if (l->is_send)
            return 1;
        return as_error(as, lex_here(as), "expected ',' and the tile that sends");
    }
    if (!parse_tile(as, &tile))
        return 0;
    if (tile == as->exchange->tile)
        return as_error(as, l->at, "tile %" PRIu32 " cannot exchange with itself", tile);
    l->tile = (int32_t)tile;
    return 1;
}

int exchange_message(struct as *as, struct loc at, int is_send)
{
    struct exchange_block *b = as->exchange;
    struct exchange_line *l;

    if (!b)
        return as_error(as, at, "%s outside of .exchange and .endexchange",
                        is_send ? ".send" : ".receive");
    l = unit_alloc(as->u, 1, sizeof(*l));
    if (!l)
        return 0;
    l->at = at;
    l->is_send = is_send;
    if (b->sends + b->receives == MAX_MESSAGES)
        return as_error(as, at, "more than %d messages in one exchange", MAX_MESSAGES);
    if (!parse_line(as, l)) {
        b->broken = 1;
        return 0;
    }
    *b->line_end = l;
    b->line_end = &l->next;
    b->sends += is_send != 0;
    b->receives += !is_send;
    return 1;
}

/* ---- code ---- */

static const struct expr_node *addr_node(struct as *as, struct symbolic_addr a, int in_words)
{
    int32_t bytes = (int32_t)a.bytes; /* as parse_address() had it */
    const struct expr_node *n;

    if (!a.base)
        return expr_number(as, in_words ? bytes / 4 : bytes);
    n = expr_place(as, as->exchange->base[a.base - 1], bytes);
    return n && in_words ? expr_binary(as, as->exchange->at, '/', n, expr_number(as, 4)) : n;
}

/* Appends an operand; NULL where memory ran out. */
static void operand_add(struct insn_text *t, const struct expr_node *n)
{
    struct operand_text *o = &t->operand[t->count++];

    o->kind = TEXT_EXPR;
    o->expr = n;
    o->at = t->at;
    o->text = span_of("", 0);
}

static int emit_code(struct as *as, const struct exchange_insn *c, struct loc at)
{
    static const char *const mnemonic[] = {
        [EXCHANGE_SEND] = "send",           [EXCHANGE_SENDOFF] = "sendoff",
        [EXCHANGE_SENDXPIC] = "sendpic",    [EXCHANGE_SENDPIC] = "sendpic",
        [EXCHANGE_SENDPICP] = "sendpicp",   [EXCHANGE_DELAY] = "delay",
        [EXCHANGE_DELAYXPIC] = "delayxpic", [EXCHANGE_DELAYPIC] = "delaypic",
    };
    struct insn_text t = { .mode = as->mode, .any_mode = as->allow[ANY_MODE], .at = at };
    const char *m = mnemonic[c->op];

    t.first = isa_form_find(m, strlen(m));
    operand_add(&t, expr_number(as, (int64_t)c->events - 1));
    if (c->op == EXCHANGE_SEND || c->op == EXCHANGE_SENDPICP)
        operand_add(&t, addr_node(as, c->from, 0));
    if (c->op == EXCHANGE_SENDOFF || c->op == EXCHANGE_SENDXPIC || c->op == EXCHANGE_DELAYXPIC ||
        c->op == EXCHANGE_DELAYPIC)
        operand_add(&t, expr_number(as, 0));
    if (c->op == EXCHANGE_SENDPIC)
        operand_add(&t, expr_number(as, 2));
    if (c->op == EXCHANGE_SEND || c->op == EXCHANGE_SENDOFF || c->op == EXCHANGE_SENDPICP)
        operand_add(&t, expr_number(as, c->ctl));
    if (c->op == EXCHANGE_SENDPICP)
        operand_add(&t, expr_number(as, 0));
    if (c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_SENDXPIC || c->op == EXCHANGE_DELAYXPIC)
        operand_add(&t, expr_number(as, c->source));
    if (c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_SENDPIC || c->op == EXCHANGE_DELAYPIC)
        operand_add(&t, addr_node(as, c->to, 1));
    for (unsigned k = 0; k < t.count; k++) {
        if (!t.operand[k].expr)
            return 0;
    }
    return insn_emit(as, &t);
}

/* Sends before receives, each in the order of time. */
static int by_time(const void *a, const void *b)
{
    const struct exchange_line *x = *(struct exchange_line *const *)a,
                               *y = *(struct exchange_line *const *)b;

    if (x->is_send != y->is_send)
        return x->is_send ? -1 : 1;
    return x->when < y->when ? -1 : x->when > y->when;
}

/* The lines of a block in the order of by_time(), and as messages. */
static void list_messages(const struct as *as, struct exchange_line **line, struct timed_send *send,
                          struct timed_receive *receive)
{
    const struct exchange_block *b = as->exchange;
    const struct arch *a = &as->u->arch;
    uint32_t own = arch_tile_physical(a, b->tile);
    size_t n = 0;

    for (struct exchange_line *l = b->line; l; l = l->next) {
        uint32_t other = l->tile == NO_TILE ? 0 : arch_tile_physical(a, (uint32_t)l->tile);

        line[n++] = l;
        l->when = l->event;
        if (l->is_send) {
            *send++ = (struct timed_send){ .event = l->event,
                                           .words = l->words,
                                           .ctl = l->tile == NO_TILE
                                                      ? BOTH_WAYS
                                                      : arch_exchange_direction(a, own, other),
                                           .addr = l->addr };
            continue;
        }
        l->when += arch_exchange_delay(a, other, own);
        *receive++ = (struct timed_receive){
            .event = l->when, .words = l->words, .source = other, .addr = l->addr
        };
    }
    if (n)
        qsort(line, n, sizeof(struct exchange_line *), by_time);
}

/* How many sends, or receives, have begun by an event. */
static size_t lines_until(const struct exchange_block *b, struct exchange_line *const *line,
                          int is_send, int64_t event)
{
    size_t first = is_send ? 0 : b->sends, low = first;
    size_t high = first + (is_send ? b->sends : b->receives);

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (line[mid]->when <= event)
            low = mid + 1;
        else
            high = mid;
    }
    return low - first;
}

/* The last of them; NULL: there is none. */
static const struct exchange_line *line_at(const struct exchange_block *b,
                                           struct exchange_line *const *line, int is_send,
                                           int64_t event)
{
    size_t n = lines_until(b, line, is_send, event);

    return n ? line[(is_send ? 0 : b->sends) + n - 1] : NULL;
}

/* The line that became a message of the sequence, for the place of an error. */
static struct loc find_culprit(const struct exchange_block *b, struct exchange_line *const *line,
                               const struct timed_send *send, const struct timed_receive *receive,
                               size_t culprit)
{
    int is_send = culprit >= b->receives;
    const struct exchange_line *l;

    if (culprit >= b->sends + b->receives)
        return b->at;
    l = line_at(b, line, is_send,
                is_send ? send[culprit - b->receives].event : receive[culprit].event);
    return l ? l->at : b->at;
}

/* The line that an instruction is made for, which faults name: what it listens to or makes room
 * for, else what it sends; `at` if it only waits. */
static struct loc line_of_code(const struct as *as, struct exchange_line *const *line,
                               const struct exchange_insn *c, struct loc at)
{
    const struct exchange_block *b = as->exchange;
    int delays = c->op == EXCHANGE_DELAYXPIC || c->op == EXCHANGE_DELAYPIC;
    int sets_mux =
        c->op == EXCHANGE_SENDXPIC || c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_DELAYXPIC;
    uint32_t set = c->event + (delays ? c->events - 1 : 0);
    const struct exchange_line *sent = line_at(b, line, 1, c->event),
                               *heard = line_at(b, line, 0, set);
    int lag = arch_pic_lag(&as->u->arch, arch_tile_physical(&as->u->arch, b->tile));
    size_t next = lines_until(b, line, 0, (int64_t)set - lag - 1);

    if (sets_mux && heard && c->source != as->u->arch.null_source)
        return heard->at;
    if (c->op == EXCHANGE_DELAYPIC && next < b->receives)
        return line[b->sends + next]->at;
    if (sent && c->event - sent->when < sent->words)
        return sent->at;
    return sets_mux && heard ? heard->at : at;
}

static int emit_sequence(struct as *as, struct exchange_line **line, struct timed_send *send,
                         struct timed_receive *receive, struct loc at)
{
    const struct exchange_block *b = as->exchange;
    const struct arch *a = &as->u->arch;
    const struct sequence_options o = { .null_source = a->null_source,
                                        .pic_lag = arch_pic_lag(a, arch_tile_physical(a, b->tile)),
                                        .first_event = b->first_event,
                                        .misaligned = as->section->size % 8 != 0 };
    struct exchange_sequence sequence = { .code = NULL };
    size_t culprit = 0;
    enum emu_status st;
    int ok = 0;

    list_messages(as, line, send, receive);
    st = exchange_sequence(&o, send, b->sends, receive, b->receives, &sequence, &culprit);
    if (st == EMU_BAD_EXCHANGE)
        as_error(as, find_culprit(b, line, send, receive, culprit), "%s", ss_error());
    else
        ok = st == EMU_OK || unit_no_memory(as->u);
    for (size_t i = 0; ok && i < sequence.count; i++)
        ok = emit_code(as, &sequence.code[i], line_of_code(as, line, &sequence.code[i], at));
    exchange_sequence_free(&sequence);
    return ok;
}

static int emit_block(struct as *as, struct loc at)
{
    const struct exchange_block *b = as->exchange;
    struct exchange_line **line =
        emu_alloc(b->sends + b->receives + 1, sizeof(struct exchange_line *));
    struct timed_send *send = emu_alloc(b->sends + 1, sizeof(*send));
    struct timed_receive *receive = emu_alloc(b->receives + 1, sizeof(*receive));
    int ok = line && send && receive ? emit_sequence(as, line, send, receive, at)
                                     : unit_no_memory(as->u);

    ss_free(line);
    ss_free(send);
    ss_free(receive);
    return ok;
}

/* Forgets the block that is open, if any. */
void exchange_drop_block(struct as *as)
{
    if (as->exchange)
        ss_free(as->exchange->base);
    as->exchange = NULL;
}

int exchange_close_block(struct as *as, struct loc at, int argument)
{
    struct exchange_block *b = as->exchange;
    int ok;

    (void)argument;
    if (!b)
        return as_error(as, at, "this closes nothing: no .exchange before it");
    if (b->section != as->section || b->section_bytes != as->section->size)
        ok = as_error(as, at, "only .send and .receive may stand between .exchange and this");
    else if (!(as->section->flags & ASM_EXEC) || as->section->size % 4)
        ok = as_error(as, at,
                      "an exchange in section '%s' at offset %zu: expected an executable "
                      "section and a multiple of 4",
                      as->section->n.name, as->section->size);
    else
        ok = !b->broken && emit_block(as, at);
    exchange_drop_block(as);
    return ok;
}

/* At the end of a file. */
void exchange_finish(struct as *as)
{
    if (as->exchange)
        as_error(as, as->exchange->at, "no .endexchange for this");
}
