/* tile.h - the state of one tile: registers, accumulators, weights, CSRs, memory, faults.
 *
 * Registers are kept lane by lane (struct of arrays): lane 0..5 is worker 0..5, lane 6 the
 * supervisor, so that one host vector operation can serve all workers that execute the same
 * instruction. Exec functions reach them by tile_m(), tile_set_m() and friends; no other code
 * relies on the order. Time is not kept here: emu/bsp/barrel.c decides which context issues when.
 */
#ifndef EMU_TILE_H
#define EMU_TILE_H

#include <stdint.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/prng.h"
#include "emu/base/fail.h"

enum {
    LANE_SUPER = TILE_WORKERS, /* the supervisor's lane */
    TILE_LANES = 8,            /* a host vector of 32-bit lanes; lane 7 is unused */
    TILE_ACC = 32,             /* accumulators per worker */
    TILE_WEIGHTS = 64,         /* 64-bit entries of the common weight state */
    CODE_PAGE_BITS = 10,       /* code is decoded and cached in pages of 1 KiB ... */
    CODE_REACH_WORDS = 33,     /* ... and as many words after it, for code that runs on */
    DIRTY_PAGE_BITS = 12       /* writes are noted per 4 KiB */
};

enum fault {
#define FAULT(name, etype, text) FAULT_##name,
#include "emu/tile/fault.def"
#undef FAULT
    FAULT_COUNT
};

const char *fault_name(enum fault f); /* "INVALID_ADDR" */
const char *fault_text(enum fault f);
unsigned fault_etype(enum fault f); /* ETYPE field of $WSR and $SSR */

/* The first fault of a tile. detail is a static text that says which rule was broken. */
struct fault_record {
    enum fault kind;
    const char *detail;
    uint8_t lane;
    uint8_t in_aux; /* raised by the auxiliary half of a bundle */
    uint32_t pc;
    uint32_t addr;  /* meaningful for memory faults */
    uint32_t addr2; /* second address of a CONFLICT */
    uint64_t cycle;
};

enum context_state { CONTEXT_INACTIVE, CONTEXT_ACTIVE, CONTEXT_EXCEPTED = 3 };

/* Checking mode (tile_check.c). NULL in struct tile means off. */
struct tile_check;
/* Where the exchange instructions of a supervisor go (emu/exchange). NULL: no fabric, they raise
 * EXERR. */
struct exchange_port;
/* Decoded code pages (emu/bsp). */
struct code_page;
/* What the fast engine remembers of a tile (emu/fast). */
struct fast_state;

/* The index in acc[] of a worker's accumulator AACC[2 * unit + odd]: the even ones of units 0..15,
 * then the odd ones, so that the chains of one set are host vectors. */
static inline unsigned acc_index(unsigned unit, unsigned odd)
{
    return 16 * odd + unit;
}

struct tile {
    _Alignas(64) uint32_t m[16][TILE_LANES];
    uint32_t a[16][TILE_LANES];
    uint32_t acc[TILE_WORKERS][TILE_ACC]; /* f32 bits, at acc_index(); any pattern is kept (istacc
                                             moves raw halves) */
    uint64_t acc_generation;              /* changes with every write to acc[]: acc_changed() */
    uint64_t weight[TILE_WEIGHTS]; /* entry 4 * unit + n = $CWEI_unit_n; four f16 (lane 0 lowest) or
                                      two f32 */
    uint32_t weight_generation;    /* changes with every write to weight[] */

    uint32_t pc[TILE_LANES];  /* instruction being executed */
    uint32_t npc[TILE_LANES]; /* set to pc + length before exec_; a taken branch overwrites it */
    uint32_t
        rpt_count[TILE_LANES]; /* iterations left, the running one included; 0 outside a repeat */
    uint32_t rpt_first[TILE_LANES]; /* first bundle of the body */
    uint32_t rpt_end[TILE_LANES];   /* address after the last bundle of the body */
    uint32_t fp_ctl[TILE_LANES], fp_sts[TILE_LANES], tas[TILE_LANES];
    uint32_t fp_nfmt[TILE_LANES], fp_scl[TILE_LANES];
    uint32_t fp_seen; /* bits of $FP_STS that launches have cleared; no program sees them */
    uint32_t dbg_data[TILE_LANES], dbg_brk_id[TILE_LANES];
    struct prng prng[TILE_LANES];
    uint8_t state[TILE_LANES]; /* enum context_state */

    /* supervisor CSRs */
    uint32_t fp_ictl, fp_infmt, fp_iscl, ssr, cccsload, worker_base[TILE_WORKERS];
    uint32_t dbg_ctl, dbg_ecsr, dbg_eclr, ibrk0, dbrk0;
    uint32_t xcsr[12]; /* 0xa0..0xab, exchange */

    /* requests of the last supervisor or exit instruction to the barrel, which takes and clears
     * them */
    uint8_t launched; /* bit n: worker n was started by run or runall */
    uint8_t exited;   /* bit n: worker n executed an exit */
    int8_t sync_zone; /* zone of a sync that was issued; -1: none */

    uint8_t *mem; /* borrowed: mem_bytes, first byte at address mem_base */
    uint32_t mem_base, mem_bytes, region0_bytes;
    uint32_t code_end; /* offset after the highest decoded code; stores below it may hit code */
    struct code_page *
        *page;      /* owned: region0_bytes >> CODE_PAGE_BITS entries, NULL where not decoded */
    uint8_t *dirty; /* owned: 1 per 4 KiB page written since the caller last cleared it */

    const struct arch *arch; /* borrowed */
    uint32_t id;             /* logical tile, chip number in the high half */
    uint8_t in_aux;          /* the auxiliary half of a bundle is being executed */
    uint64_t cycle; /* of the instruction being executed; written by the barrel, read by $COUNT and
                       $SCOUNT */
    struct fault_record fault;
    struct tile_check *check;       /* borrowed or NULL */
    struct exchange_port *exchange; /* borrowed or NULL */
    struct fast_state *fast;        /* owned: one block without pointers, or NULL; fast_begin() */
};

/* Call it after every store into acc[]. */
static inline void acc_changed(struct tile *t)
{
    t->acc_generation++;
}

/* AACC[n] of a worker, n < TILE_ACC, for code outside the matrix unit. */
static inline uint32_t tile_acc(const struct tile *t, unsigned lane, unsigned n)
{
    return t->acc[lane][acc_index(n / 2, n % 2)];
}

static inline void tile_set_acc(struct tile *t, unsigned lane, unsigned n, uint32_t v)
{
    t->acc[lane][acc_index(n / 2, n % 2)] = v;
    acc_changed(t);
}

/* Fills a tile for a machine; mem is borrowed and at least arch->mem_bytes long. All contexts are
 * inactive, registers 0, every PRNG seeded with the tile and worker number [ASSUMED]. Free what it
 * allocates with tile_free. */
enum emu_status tile_init(struct tile *t, const struct arch *arch, uint32_t id,
                          uint8_t *mem) EMU_MUST_CHECK;
void tile_free(struct tile *t);

/* Records a fault, marks the lane excepted and returns kind. Of several faults the tile keeps the
 * one with the lowest cycle; within one cycle, that of the auxiliary half. Pass addr 0 where an
 * address means nothing. */
enum fault tile_fault(struct tile *t, unsigned lane, enum fault kind, uint32_t addr,
                      const char *detail);

/* Registers. Reads of $m15, $a14, $a15 give 0. Writes to $m12..$m15 and $a14, $a15 are dropped.
 * $m12 and $m13 hold the bases of a worker (a launch writes them to t->m directly), and 0 for the
 * supervisor. */
static inline uint32_t tile_m(const struct tile *t, unsigned lane, unsigned r)
{
    return t->m[r][lane];
}

static inline void tile_set_m(struct tile *t, unsigned lane, unsigned r, uint32_t v)
{
    if (r < 12)
        t->m[r][lane] = v;
}

static inline uint32_t tile_a(const struct tile *t, unsigned lane, unsigned r)
{
    return t->a[r][lane];
}

static inline void tile_set_a(struct tile *t, unsigned lane, unsigned r, uint32_t v)
{
    if (r < 14)
        t->a[r][lane] = v;
}

/* Launches a worker as run and runall do, and sets its bit in t->launched. */
void tile_launch(struct tile *t, unsigned worker, uint32_t entry, uint32_t vertex_base);
/* The exceptions that instructions of the tile have raised so far, as bits of $FP_STS. */
uint32_t tile_exceptions(const struct tile *t);

/* Memory access by a running program, little endian. addr must be aligned to the size; accesses of
 * 16 bytes are possible in region 1 only.
 *
 * out    written only on success
 * Returns FAULT_NONE, or records and returns FAULT_INVALID_ADDR. Costs no cycles: timing lives in
 * emu/bsp/barrel.c. Stores note the dirty page and drop a decoded code page they hit. The checking
 * mode sees every access. */
enum fault tile_load8(struct tile *t, unsigned lane, uint32_t addr, uint8_t *out);
enum fault tile_load16(struct tile *t, unsigned lane, uint32_t addr, uint16_t *out);
enum fault tile_load32(struct tile *t, unsigned lane, uint32_t addr, uint32_t *out);
enum fault tile_load64(struct tile *t, unsigned lane, uint32_t addr, uint32_t out[2]);
enum fault tile_load128(struct tile *t, unsigned lane, uint32_t addr, uint32_t out[4]);
enum fault tile_store32(struct tile *t, unsigned lane, uint32_t addr, uint32_t v);
enum fault tile_store64(struct tile *t, unsigned lane, uint32_t addr, const uint32_t v[2]);

/* Raises CONFLICT when two simultaneous accesses of one instruction fall into one memory element.
 */
enum fault tile_conflict(struct tile *t, unsigned lane, uint32_t addr1, uint32_t addr2);

/* Access by the host: needs no alignment, does not count as an access of the program and raises no
 * faults. Returns 0 when the range is not in memory. */
int tile_read(const struct tile *t, uint32_t addr, void *out, uint32_t bytes);
int tile_write(struct tile *t, uint32_t addr, const void *data, uint32_t bytes);

/* Must be called after a write to [off, off + bytes) of memory: marks dirty pages, drops decoded
 * code, tells the checking mode. Every writer calls one of these two functions; tile_written()
 * takes at most 16 bytes, within one dirty page. */
void tile_code_written(struct tile *t, uint32_t off, uint32_t bytes);
static inline void tile_written(struct tile *t, uint32_t off, uint32_t bytes)
{
    t->dirty[off >> DIRTY_PAGE_BITS] = 1;
    if (EMU_UNLIKELY(off < t->code_end || t->check))
        tile_code_written(t, off, bytes);
}

/* CSR access. space as in isa.h ('W', 'U', 'S'). Unknown or write-only registers read 0; writes to
 * read-only ones are ignored (ASSUMED). Side effects ($FP_CLR, $PRNG_SEED, $CR) happen here. */
uint32_t tile_csr_get(struct tile *t, unsigned lane, char space, unsigned index);
void tile_csr_put(struct tile *t, unsigned lane, char space, unsigned index, uint32_t v);

/* Sync zones, the operand of sync. */
enum { SYNC_RECV = 0, SYNC_ANS = 1, SYNC_LOCAL = 2, SYNC_INTERNAL = 3 };

/* $SSR bits */
enum { SSR_LC = 1, SSR_GC = 2, SSR_ANS = 4, SSR_RAERR = 8 };

/* Bits of $CR, all of them actions. */
enum { CR_LC_CLR = 1, CR_LC_SET = 2, CR_ZCWEI = 4 };
/* $FP_NFMT bits: 1 is F143, 0 F152; for weights and for operands in registers */
enum { FP_NFMT_CWEI = 1, FP_NFMT_ARF = 2 };
/* $FP_CTL bits */
enum { FP_CTL_RND_SHIFT = 16, FP_CTL_ESR = 1 << 19, FP_CTL_NANOO = 1 << 20 };

#endif
