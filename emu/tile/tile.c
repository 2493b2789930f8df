/* tile.c - creates a tile, launches its workers, and gives the host access to its memory.
 */
#include "emu/tile/tile.h"

#include "emu/base/alloc.h"
#include "emu/tile/tile_check.h"
#include "emu/tile/tile_range.h"

enum emu_status tile_init(struct tile *t, const struct arch *arch, uint32_t id, uint8_t *mem)
{
    memset(t, 0, sizeof(*t));
    if (arch->workers > TILE_WORKERS)
        return FAIL(BAD_MACHINE, "%u workers, a tile has at most %d", arch->workers, TILE_WORKERS);
    if (arch->region0_bytes > arch->mem_bytes)
        return FAIL(BAD_MACHINE, "region 0 has %u bytes, the memory only %u", arch->region0_bytes,
                    arch->mem_bytes);
    t->arch = arch;
    t->id = id;
    t->mem = mem;
    t->mem_base = arch->mem_base;
    t->mem_bytes = arch->mem_bytes;
    t->region0_bytes = arch->region0_bytes;
    t->sync_zone = -1;
    for (unsigned lane = 0; lane < TILE_LANES; lane++)
        prng_seed(&t->prng[lane], id * TILE_LANES + lane);
    t->page = emu_alloc(tile_pages(t->region0_bytes, CODE_PAGE_BITS), sizeof(struct code_page *));
    t->dirty = emu_alloc(tile_pages(t->mem_bytes, DIRTY_PAGE_BITS), 1);
    if (t->page && t->dirty)
        return EMU_OK;
    tile_free(t);
    return FAIL(NO_MEMORY, "page tables of tile %u", id);
}

void tile_free(struct tile *t)
{
    ss_free(t->page);
    ss_free(t->dirty);
    ss_free(t->fast);
    t->page = NULL;
    t->dirty = NULL;
    t->fast = NULL;
}

void tile_launch(struct tile *t, unsigned worker, uint32_t entry, uint32_t vertex_base)
{
    EMU_ASSERT(worker < t->arch->workers && t->state[worker] == CONTEXT_INACTIVE);
    t->m[12][worker] = t->worker_base[worker];
    t->m[13][worker] = vertex_base;
    t->pc[worker] = entry;
    t->npc[worker] = entry;
    t->rpt_count[worker] = 0;
    t->fp_ctl[worker] = t->fp_ictl;
    t->fp_nfmt[worker] = t->fp_infmt;
    t->fp_scl[worker] = t->fp_iscl;
    t->fp_seen |= t->fp_sts[worker];
    t->fp_sts[worker] = 0;
    t->state[worker] = CONTEXT_ACTIVE;
    t->launched |= (uint8_t)(1u << worker);
    if (EMU_UNLIKELY(t->check != NULL))
        tile_check_launch(t, worker);
}

uint32_t tile_exceptions(const struct tile *t)
{
    uint32_t seen = t->fp_seen;

    for (unsigned lane = 0; lane < TILE_LANES; lane++)
        seen |= t->fp_sts[lane];
    return seen;
}

int tile_read(const struct tile *t, uint32_t addr, void *out, uint32_t bytes)
{
    uint32_t off = addr - t->mem_base;

    if (!tile_has(t, off, bytes))
        return 0;
    memcpy(out, t->mem + off, bytes);
    return 1;
}

int tile_write(struct tile *t, uint32_t addr, const void *data, uint32_t bytes)
{
    uint32_t off = addr - t->mem_base;

    if (!tile_has(t, off, bytes))
        return 0;
    if (!bytes)
        return 1;
    memcpy(t->mem + off, data, bytes);
    tile_code_written(t, off, bytes);
    return 1;
}

/* Decoded code may reach into the next page. */
void tile_code_written(struct tile *t, uint32_t off, uint32_t bytes)
{
    const uint32_t reach = 4 * CODE_REACH_WORDS;
    uint32_t last = off + bytes - 1, code_first = off < reach ? 0 : off - reach;
    uint32_t code_last = last < t->region0_bytes ? last : t->region0_bytes - 1;

    EMU_ASSERT(bytes && tile_has(t, off, bytes));
    memset(t->dirty + (off >> DIRTY_PAGE_BITS), 1,
           (last >> DIRTY_PAGE_BITS) - (off >> DIRTY_PAGE_BITS) + 1);
    if (off < t->region0_bytes)
        for (uint32_t p = code_first >> CODE_PAGE_BITS; p <= code_last >> CODE_PAGE_BITS; p++)
            t->page[p] = NULL;
    if (EMU_UNLIKELY(t->check != NULL))
        tile_check_written(t, off, bytes);
}
