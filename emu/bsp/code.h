/* code.h - worker code, decoded in advance: pages of 1 KiB with one slot per word, shared by all
 * tiles that hold the same bytes.
 *
 * A page goes on a little into the next one, so that a loop across the border is found whole. It
 * depends only on its bytes, these included, and on the machine. Tiles point to pages (t->page[]);
 * a write to a page drops the pointer (tile_code_written) and the next fetch decodes again. Pages
 * live until the cache is freed, so a stale pointer stays readable.
 */
#ifndef EMU_CODE_H
#define EMU_CODE_H

#include "emu/fast/fast.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile.h"

enum {
    CODE_PAGE_WORDS = 1 << (CODE_PAGE_BITS - 2),
    /* The last word of the reach is there as the second half of a bundle only. */
    CODE_PAGE_SLOTS = CODE_PAGE_WORDS + CODE_REACH_WORDS - 1,
    CODE_PAGE_END = 2 /* empty slots: where the last item may end */
};

/* In which order the halves of a bundle are run, so that both see the registers as they were before
 * the bundle. */
enum bundle_order {
    ORDER_SINGLE, /* no bundle */
    ORDER_AUX_FIRST,
    ORDER_MAIN_FIRST,
    ORDER_KEEP, /* aux first; main then stores old values, which it is given */
    ORDER_SWAP  /* aux first; main then sees the old rows */
};

struct code_slot {
    struct insn main, aux;
    fast_fn *fast_main, *fast_aux; /* fast_none(): plain only */
    fast_put_fn *fast_put;         /* of the main half of a bundle, or NULL */
    const char *invalid;           /* why a worker may not execute this, or NULL */
    uint8_t invalid_fault;         /* enum fault that goes with it */
    uint8_t bytes;                 /* 4 or 8 */
    uint8_t is_bundle;
    uint16_t slots;       /* worker issue slots */
    uint8_t instructions; /* 1, or 2 for a bundle */
    uint8_t flags;        /* enum insn_flags of the main half, or-ed with the aux half's */
    uint8_t order;        /* enum bundle_order */
    uint8_t swap_count;
    uint8_t swap[4]; /* rows of t->a that ORDER_SWAP hands back to main */
    /* Items of this page from here on that follow each other whatever happens, but for faults:
     * valid, neither control nor system. And how many of them, from here on, are bundles. */
    uint16_t straight, bundles;
    uint16_t straight_words, straight_instructions; /* their length, what they count */
    uint32_t straight_slots;                        /* and take */
    uint32_t main_word; /* the main half, equal in equal ones; 0 with ORDER_SWAP */
};

struct code_page {
    struct code_slot slot[CODE_PAGE_SLOTS + CODE_PAGE_END];
};

/* The slot of an address, NULL where none is decoded. */
static inline const struct code_slot *code_slot_at(const struct tile *t, uint32_t pc)
{
    uint32_t off = pc - t->mem_base;
    const struct code_page *page;

    if (EMU_UNLIKELY(off >= t->region0_bytes || (pc & 3)))
        return NULL;
    page = t->page[off >> CODE_PAGE_BITS];
    return EMU_LIKELY(page != NULL) ? &page->slot[off / 4 % CODE_PAGE_WORDS] : NULL;
}

/* The item after one that is part of straight code. */
static inline const struct code_slot *code_slot_after(const struct code_slot *s)
{
    return s->bytes == ISA_BUNDLE_BYTES ? s + 2 : s + 1; /* a guess is sooner right than a sum */
}

struct code_cache;
struct code_word;

/* A cache for tiles of one machine (arch is borrowed). Pages may be used from several threads; of
 * the instructions of supervisors (code_word.h) each thread has a table of its own. */
enum emu_status code_cache_new(const struct arch *arch, unsigned threads,
                               struct code_cache **out) EMU_MUST_CHECK;
void code_cache_free(struct code_cache *c);
size_t code_cache_pages(struct code_cache *c);
struct code_word *code_cache_words(struct code_cache *c, unsigned thread);

/* The page that holds pc, decoded; sets t->page[] and t->code_end. pc must lie in region 0. NULL
 * only when out of memory. */
const struct code_page *code_page_get(struct code_cache *c, struct tile *t, uint32_t pc);

/* Why a machine cannot execute a decoded instruction, or NULL: it is none, came with a later
 * instruction set, or reads a register that the machine does not have. */
const char *code_invalid(const struct arch *arch, const struct insn *in);

#endif
