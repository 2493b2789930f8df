/* tile_memory.c - loads and stores of a running program: alignment, bounds, regions, memory
 * elements.
 *
 * Alignment is checked first, then bounds, then the region [ASSUMED: the chip names one exception
 * for all of them].
 */
#include "emu/arch/arch_elements.h"
#include "emu/arch/arch_geometry.h"
#include "emu/tile/tile.h"

#include "emu/tile/tile_check.h"
#include "emu/tile/tile_range.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tile memory is copied as it is");

/* Which rule an access of 1, 2, 4, 8 or 16 bytes breaks, or NULL. */
static inline const char *access_error(const struct tile *t, uint32_t addr, uint32_t bytes)
{
    uint32_t off = addr - t->mem_base;

    if (EMU_UNLIKELY(addr & (bytes - 1)))
        return "address is not a multiple of the access size";
    if (EMU_UNLIKELY(!tile_has(t, off, bytes)))
        return "address is outside tile memory";
    if (EMU_UNLIKELY(bytes == 16 && off < t->region0_bytes))
        return "16-byte load outside the interleaved region 1";
    return NULL;
}

static inline enum fault load(struct tile *t, unsigned lane, uint32_t addr, void *out,
                              uint32_t bytes)
{
    const char *error = access_error(t, addr, bytes);

    if (EMU_UNLIKELY(error != NULL))
        return tile_fault(t, lane, FAULT_INVALID_ADDR, addr, error);
    memcpy(out, t->mem + (addr - t->mem_base), bytes);
    if (EMU_UNLIKELY(t->check != NULL))
        tile_check_load(t, lane, addr, bytes);
    return FAULT_NONE;
}

static inline enum fault store(struct tile *t, unsigned lane, uint32_t addr, const void *v,
                               uint32_t bytes)
{
    const char *error = access_error(t, addr, bytes);
    uint32_t off = addr - t->mem_base;

    if (EMU_UNLIKELY(error != NULL))
        return tile_fault(t, lane, FAULT_INVALID_ADDR, addr, error);
    if (EMU_UNLIKELY(t->check != NULL))
        tile_check_storing(t, lane, addr, bytes);
    memcpy(t->mem + off, v, bytes);
    tile_written(t, off, bytes);
    if (EMU_UNLIKELY(t->check != NULL))
        tile_check_store(t, lane, addr, bytes);
    return FAULT_NONE;
}

enum fault tile_load8(struct tile *t, unsigned lane, uint32_t addr, uint8_t *out)
{
    return load(t, lane, addr, out, 1);
}

enum fault tile_load16(struct tile *t, unsigned lane, uint32_t addr, uint16_t *out)
{
    return load(t, lane, addr, out, 2);
}

enum fault tile_load32(struct tile *t, unsigned lane, uint32_t addr, uint32_t *out)
{
    return load(t, lane, addr, out, 4);
}

enum fault tile_load64(struct tile *t, unsigned lane, uint32_t addr, uint32_t out[2])
{
    return load(t, lane, addr, out, 8);
}

enum fault tile_load128(struct tile *t, unsigned lane, uint32_t addr, uint32_t out[4])
{
    return load(t, lane, addr, out, 16);
}

enum fault tile_store32(struct tile *t, unsigned lane, uint32_t addr, uint32_t v)
{
    return store(t, lane, addr, &v, 4);
}

enum fault tile_store64(struct tile *t, unsigned lane, uint32_t addr, const uint32_t v[2])
{
    return store(t, lane, addr, v, 8);
}

enum fault tile_conflict(struct tile *t, unsigned lane, uint32_t addr1, uint32_t addr2)
{
    int element = arch_element_of(t->arch, addr1);

    if (element < 0 || element != arch_element_of(t->arch, addr2))
        return FAULT_NONE;
    if (EMU_UNLIKELY(t->check != NULL))
        tile_check_conflict(t, lane, addr1, addr2);
    tile_fault(t, lane, FAULT_CONFLICT, addr1,
               "simultaneous accesses fall into one memory element");
    if (t->fault.kind == FAULT_CONFLICT && t->fault.lane == lane && t->fault.cycle == t->cycle)
        t->fault.addr2 = addr2; /* the record is this one, no earlier fault */
    return FAULT_CONFLICT;
}
