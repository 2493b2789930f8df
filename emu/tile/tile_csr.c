/* tile_csr.c - control and status registers: what reading and writing each of csr.def does.
 */
#include "emu/isa/csr_names.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile.h"

enum {
    ETYPE_SHIFT = 4,
    WSR_ERPT = 1 << 9,
    FP_STS_MASK = 7,
    FP_CLR_ZAACC = 1 << 3,
    FP_NFMT_MASK = FP_NFMT_CWEI | FP_NFMT_ARF,
    FP_SCL_MASK = 63,
    FP_CTL_MASK = 7 | 7 << FP_CTL_RND_SHIFT | FP_CTL_ESR | FP_CTL_NANOO,
    TILE_ID_MASK = 0x7ff
};

/* ETYPE, and for a worker ERPT, of the fault that stopped the lane. */
static uint32_t exception_fields(const struct tile *t, unsigned lane)
{
    uint32_t v;

    if (t->fault.kind == FAULT_NONE || t->fault.lane != lane)
        return 0;
    v = fault_etype(t->fault.kind) << ETYPE_SHIFT;
    return lane != LANE_SUPER && t->rpt_count[lane] ? v | WSR_ERPT : v;
}

static uint32_t context_states(const struct tile *t)
{
    uint32_t v = t->state[LANE_SUPER];

    for (unsigned w = 0; w < TILE_WORKERS; w++)
        v |= (uint32_t)t->state[w] << (2 * w + 2);
    return v;
}

static uint32_t get_worker(const struct tile *t, unsigned lane, unsigned index)
{
    switch (index) {
    case CSR_W_PC:
        return t->pc[lane];
    case CSR_W_WSR:
        return lane | exception_fields(t, lane);
    case CSR_W_VERTEX_BASE:
        return t->m[13][lane];
    case CSR_W_WORKER_BASE:
        return t->m[12][lane];
    case CSR_W_REPEAT_COUNT:
        return t->rpt_count[lane];
    case CSR_W_REPEAT_FIRST:
        return t->rpt_first[lane];
    case CSR_W_REPEAT_END:
        return t->rpt_end[lane] ? t->rpt_end[lane] - ISA_BUNDLE_BYTES : 0;
    case CSR_W_COUNT_L:
        return (uint32_t)t->cycle;
    case CSR_W_COUNT_U:
        return (uint32_t)(t->cycle >> 32);
    case CSR_W_DBG_DATA:
        return t->dbg_data[lane];
    case CSR_W_DBG_BRK_ID:
        return t->dbg_brk_id[lane];
    default:
        return 0;
    }
}

static uint32_t get_upper(const struct tile *t, unsigned lane, unsigned index)
{
    switch (index) {
    case CSR_U_FP_STS:
        return t->fp_sts[lane];
    case CSR_U_FP_CTL:
        return t->fp_ctl[lane];
    case CSR_U_PRNG_0_0:
        return (uint32_t)t->prng[lane].s0;
    case CSR_U_PRNG_0_1:
        return (uint32_t)(t->prng[lane].s0 >> 32);
    case CSR_U_PRNG_1_0:
        return (uint32_t)t->prng[lane].s1;
    case CSR_U_PRNG_1_1:
        return (uint32_t)(t->prng[lane].s1 >> 32);
    case CSR_U_TAS:
        return t->tas[lane];
    default:
        return 0;
    }
}

/* Supervisor registers that are plain words of struct tile, or NULL. */
static uint32_t *super_word(struct tile *t, unsigned index)
{
    if (index >= CSR_S_WORKER0_BASE && index <= CSR_S_WORKER5_BASE)
        return &t->worker_base[index - CSR_S_WORKER0_BASE];
    if (index >= CSR_S_INCOMING_MUX && index <= CSR_S_EXCHANGE_ADJ)
        return &t->xcsr[index - CSR_S_INCOMING_MUX];
    switch (index) {
    case CSR_S_CCCSLOAD:
        return &t->cccsload;
    case CSR_S_DBG_DATA:
        return &t->dbg_data[LANE_SUPER];
    case CSR_S_DBG_BRK_ID:
        return &t->dbg_brk_id[LANE_SUPER];
    case CSR_S_DBG_CTL:
        return &t->dbg_ctl;
    case CSR_S_DBG_ECSR:
        return &t->dbg_ecsr;
    case CSR_S_DBG_ECLR:
        return &t->dbg_eclr;
    case CSR_S_IBRK0:
        return &t->ibrk0;
    case CSR_S_DBRK0:
        return &t->dbrk0;
    default:
        return NULL;
    }
}

static uint32_t get_super(struct tile *t, unsigned index)
{
    const uint32_t *word = super_word(t, index);

    if (word)
        return *word;
    switch (index) {
    case CSR_S_PC:
        return t->pc[LANE_SUPER];
    case CSR_S_SSR:
        return t->ssr | exception_fields(t, LANE_SUPER);
    case CSR_S_TILE_ID:
        return t->id & TILE_ID_MASK;
    case CSR_S_FP_ICTL:
        return t->fp_ictl;
    case CSR_S_SCOUNT_L:
        return (uint32_t)t->cycle;
    case CSR_S_SCOUNT_U:
        return (uint32_t)(t->cycle >> 32);
    case CSR_S_CTXT_STS:
        return context_states(t);
    default:
        return 0;
    }
}

uint32_t tile_csr_get(struct tile *t, unsigned lane, char space, unsigned index)
{
    EMU_ASSERT(lane <= LANE_SUPER);
    switch (space) {
    case 'W':
        return get_worker(t, lane, index);
    case 'U':
        return get_upper(t, lane, index);
    default:
        return get_super(t, index);
    }
}

static uint64_t with_low(uint64_t v, uint32_t low)
{
    return (v & ~(uint64_t)UINT32_MAX) | low;
}

static uint64_t with_high(uint64_t v, uint32_t high)
{
    return (v & UINT32_MAX) | (uint64_t)high << 32;
}

static void put_worker(struct tile *t, unsigned lane, unsigned index, uint32_t v)
{
    if (index == CSR_W_DBG_DATA)
        t->dbg_data[lane] = v;
    else if (index == CSR_W_DBG_BRK_ID)
        t->dbg_brk_id[lane] = v;
}

static void put_upper(struct tile *t, unsigned lane, unsigned index, uint32_t v)
{
    struct prng *p = &t->prng[lane];

    switch (index) {
    case CSR_U_FP_CLR:
        t->fp_sts[lane] &= ~(v & FP_STS_MASK);
        if (v & FP_CLR_ZAACC && lane < TILE_WORKERS)
            memset(t->acc[lane], 0, sizeof(t->acc[lane]));
        break;
    case CSR_U_FP_CTL:
        t->fp_ctl[lane] = v & FP_CTL_MASK;
        break;
    case CSR_U_PRNG_0_0:
        p->s0 = with_low(p->s0, v);
        break;
    case CSR_U_PRNG_0_1:
        p->s0 = with_high(p->s0, v);
        break;
    case CSR_U_PRNG_1_0:
        p->s1 = with_low(p->s1, v);
        break;
    case CSR_U_PRNG_1_1:
        p->s1 = with_high(p->s1, v);
        break;
    case CSR_U_PRNG_SEED:
        prng_seed(p, v);
        break;
    case CSR_U_TAS:
        t->tas[lane] = v;
        break;
    case CSR_U_FP_NFMT:
        t->fp_nfmt[lane] = v & FP_NFMT_MASK;
        break;
    case CSR_U_FP_SCL:
        t->fp_scl[lane] = v & FP_SCL_MASK;
        break;
    default:
        break;
    }
}

static void put_cr(struct tile *t, uint32_t v)
{
    if (v & CR_LC_CLR)
        t->ssr &= ~(uint32_t)SSR_LC;
    if (v & CR_LC_SET)
        t->ssr |= SSR_LC;
    if (v & CR_ZCWEI) {
        memset(t->weight, 0, sizeof(t->weight));
        t->weight_generation++;
    }
}

static void put_super(struct tile *t, unsigned index, uint32_t v)
{
    uint32_t *word = super_word(t, index);

    if (word)
        *word = v;
    else if (index == CSR_S_CR)
        put_cr(t, v);
    else if (index == CSR_S_FP_ICTL)
        t->fp_ictl = v & FP_CTL_MASK;
    else if (index == CSR_S_FP_INFMT)
        t->fp_infmt = v & FP_NFMT_MASK;
    else if (index == CSR_S_FP_ISCL)
        t->fp_iscl = v & FP_SCL_MASK;
}

void tile_csr_put(struct tile *t, unsigned lane, char space, unsigned index, uint32_t v)
{
    EMU_ASSERT(lane <= LANE_SUPER);
    switch (space) {
    case 'W':
        put_worker(t, lane, index, v);
        break;
    case 'U':
        put_upper(t, lane, index, v);
        break;
    default:
        put_super(t, index, v);
        break;
    }
}
