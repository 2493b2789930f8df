/* code.c - decodes worker code pages and shares them by content (see code.h). */
#include "emu/bsp/code.h"

#include <pthread.h>
#include <stddef.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "emu/bsp/code_word.h"
#include "emu/isa/insn_ops.h"

enum { CODE_BUCKETS = 4096 };

struct code_entry {
    struct hash128 key;
    struct code_entry *next;
    struct code_page page;
};

struct code_cache {
    pthread_mutex_t lock;
    const struct arch *arch; /* borrowed */
    unsigned threads;
    struct code_word *words; /* owned: CODE_WORDS of each thread */
    size_t pages;
    struct code_entry *bucket[CODE_BUCKETS]; /* owned lists */
};

enum emu_status code_cache_new(const struct arch *arch, unsigned threads, struct code_cache **out)
{
    struct code_cache *c = emu_alloc(1, sizeof(*c));

    *out = NULL;
    if (c)
        c->words = emu_alloc_aligned(threads * CODE_WORDS, sizeof(*c->words), sizeof(*c->words));
    if (!c || !c->words) {
        ss_free(c);
        return FAIL(NO_MEMORY, "a code cache for %u threads", threads);
    }
    c->arch = arch;
    c->threads = threads;
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return EMU_OK;
}

void code_cache_free(struct code_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < CODE_BUCKETS; i++) {
        for (struct code_entry *e = c->bucket[i], *next; e; e = next) {
            next = e->next;
            ss_free(e);
        }
    }
    pthread_mutex_destroy(&c->lock);
    ss_free(c->words);
    ss_free(c);
}

size_t code_cache_pages(struct code_cache *c)
{
    return c->pages;
}

struct code_word *code_cache_words(struct code_cache *c, unsigned thread)
{
    EMU_ASSERT(thread < c->threads);
    return c->words + (size_t)thread * CODE_WORDS;
}

/* The number of the machine that has the issue slots of an operation; 0, which is another: it takes
 * one. */
static const uint8_t slots_number[INSN_COUNT] = {
#define ONE                                                       0
#define COST(class)                                               0
#define SLOTS(field)                                              ARCH_NUMBER_slots_##field
#define INSN(id, mn, operands, lane, ctx, since, word, time, ...) [INSN_##id] = time,
#define LANES(operation, ...)                                     INSN(__VA_ARGS__)
#define ALIAS(...)
#include "emu/isa/insn.def"
#undef ONE
#undef COST
#undef SLOTS
#undef INSN
#undef LANES
#undef ALIAS
};

/* Worker issue slots of an operation on a machine. */
static unsigned code_slots(const struct arch *arch, unsigned op)
{
    return slots_number[op] ? (unsigned)arch->number[slots_number[op]] : 1;
}

const char *code_invalid(const struct arch *arch, const struct insn *in)
{
    enum isa_need need =
        isa_needs(in, arch_isa(arch), arch_main_registers(arch), arch_aux_registers(arch), NULL);

    return need == ISA_NEEDS_NOTHING   ? NULL
           : need == ISA_NEEDS_VERSION ? "no such instruction"
                                       : "it reads a register that the machine does not have";
}

static const char *invalid_for_worker(const struct arch *arch, const struct code_slot *s)
{
    const char *main = code_invalid(arch, &s->main);
    const char *aux = s->is_bundle ? code_invalid(arch, &s->aux) : NULL;

    if (main || aux)
        return main ? main : aux;
    if (!(isa_op_form(s->main.op)->context & CTX_W))
        return "a supervisor instruction in a worker";
    return NULL;
}

static void choose_order(struct code_slot *s)
{
    struct insn_regs m = isa_registers(&s->main), a = isa_registers(&s->aux);
    uint32_t rows = a.a_write & m.a_read;

    if (!rows) {
        s->order = ORDER_AUX_FIRST;
    } else if (!(m.a_write & a.a_read)) {
        s->order = ORDER_MAIN_FIRST;
    } else if (s->fast_put) { /* it reads nothing but what it stores */
        s->order = ORDER_KEEP;
    } else {
        s->order = ORDER_SWAP;
        for (unsigned r = 0; r < 16; r++) {
            if (rows >> r & 1)
                s->swap[s->swap_count++] = (uint8_t)r;
        }
        s->main_word = 0;
    }
}

static void decode_slot(const struct arch *arch, const uint32_t word[2], struct code_slot *s)
{
    int is_bundle;

    s->bytes = (uint8_t)isa_decode(word, &s->main, &s->aux, &is_bundle);
    s->is_bundle = (uint8_t)is_bundle;
    s->instructions = is_bundle ? 2 : 1;
    s->slots = 1;
    s->invalid_fault = FAULT_INVALID_INSTR;
    s->invalid = invalid_for_worker(arch, s);
    if (!s->invalid && s->is_bundle &&
        (isa_registers(&s->main).a_write & isa_registers(&s->aux).a_write)) {
        s->invalid_fault = FAULT_INVALID_OP;
        s->invalid = "both halves of the bundle write one register";
    }
    if (s->invalid)
        return;
    s->flags = isa_op_form(s->main.op)->flags;
    s->slots = (uint16_t)code_slots(arch, s->main.op);
    s->main_word = word[0];
    s->fast_main = fast_find(s->main.op);
    if (is_bundle) {
        unsigned slots = code_slots(arch, s->aux.op);

        s->flags |= isa_op_form(s->aux.op)->flags;
        s->slots = (uint16_t)(slots > s->slots ? slots : s->slots);
        s->fast_aux = fast_find(s->aux.op);
        s->fast_put = fast_find_put(s->main.op);
        choose_order(s);
    }
}

/* Counts what follows each slot. */
static void count_straight(struct code_slot *slot)
{
    for (unsigned i = CODE_PAGE_SLOTS; i-- > 0;) {
        struct code_slot *s = &slot[i];
        const struct code_slot *next = code_slot_after(s);

        if (s->invalid || s->flags & (INSN_CONTROL | INSN_SYSTEM))
            continue;
        s->straight = (uint16_t)(1 + next->straight);
        s->straight_words = (uint16_t)(s->bytes / 4 + next->straight_words);
        s->straight_slots = s->slots + next->straight_slots;
        s->straight_instructions = (uint16_t)(s->instructions + next->straight_instructions);
        if (s->is_bundle)
            s->bundles = (uint16_t)(1 + next->bundles);
    }
}

static struct code_entry *decode_page(const struct arch *arch, const uint32_t *word,
                                      struct hash128 key)
{
    struct code_entry *e = emu_alloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->key = key;
    for (unsigned i = 0; i < CODE_PAGE_SLOTS; i++)
        decode_slot(arch, &word[i], &e->page.slot[i]);
    count_straight(e->page.slot);
    return e;
}

const struct code_page *code_page_get(struct code_cache *c, struct tile *t, uint32_t pc)
{
    uint32_t index = (pc - t->mem_base) >> CODE_PAGE_BITS;
    uint32_t word[CODE_PAGE_WORDS + CODE_REACH_WORDS] = { 0 };
    uint32_t off = index << CODE_PAGE_BITS, bytes = t->region0_bytes - off;
    struct hash128 key;
    struct code_entry *e;

    if (bytes > sizeof(word))
        bytes = sizeof(word);
    memcpy(word, t->mem + off, bytes);
    key = hash128(word, sizeof(word));
    pthread_mutex_lock(&c->lock);
    for (e = c->bucket[key.lo % CODE_BUCKETS]; e && !hash128_equal(e->key, key); e = e->next)
        ;
    if (!e && (e = decode_page(c->arch, word, key)) != NULL) {
        e->next = c->bucket[key.lo % CODE_BUCKETS];
        c->bucket[key.lo % CODE_BUCKETS] = e;
        c->pages++;
    }
    pthread_mutex_unlock(&c->lock);
    if (!e)
        return NULL;
    t->page[index] = &e->page;
    if (t->code_end < off + bytes)
        t->code_end = off + bytes;
    return &e->page;
}
