/* case_place.c - first fit over the used ranges of one tile. */
#include "emu/job/case_place.h"

#include <string.h>

#include "emu/base/alloc.h"

static enum emu_status insert(struct case_layout *l, size_t at, uint32_t low, uint32_t high,
                              const char *what)
{
    TRY(emu_grow((void **)&l->used, l->count, &l->cap, sizeof(l->used[0])));
    memmove(&l->used[at + 1], &l->used[at], (l->count - at) * sizeof(l->used[0]));
    l->used[at] = (struct case_range_used){ low, high, what };
    l->count++;
    return EMU_OK;
}

enum emu_status case_layout_fix(struct case_layout *l, uint32_t address, uint32_t bytes,
                                const char *what)
{
    uint32_t base = l->arch->mem_base, end = base + l->arch->mem_bytes;
    size_t at = 0;

    if (address < base || address > end || bytes > end - address)
        return FAIL(BAD_FILE, "%s: 0x%x with %u bytes leaves the memory, 0x%x to 0x%x", what,
                    address, bytes, base, end);
    if (!bytes)
        return EMU_OK;
    while (at < l->count && l->used[at].high <= address)
        at++;
    if (at < l->count && l->used[at].low < address + bytes)
        return FAIL(BAD_FILE, "%s: 0x%x with %u bytes overlaps %s at 0x%x to 0x%x", what, address,
                    bytes, l->used[at].what, l->used[at].low, l->used[at].high);
    return insert(l, at, address, address + bytes, what);
}

/* First fit in [low, high). Returns 0 if nothing is large enough. */
static int fit(const struct case_layout *l, uint32_t low, uint32_t high, uint32_t bytes,
               uint32_t align, uint32_t *address, size_t *at)
{
    uint64_t free_from = low, limit = high;

    for (size_t i = 0; i <= l->count; i++) {
        uint64_t start = (free_from + align - 1) / align * align;
        uint64_t end = i < l->count && l->used[i].low < limit ? l->used[i].low : limit;

        if (start + bytes <= end) {
            *address = (uint32_t)start;
            *at = i;
            return 1;
        }
        if (i < l->count && l->used[i].high > free_from)
            free_from = l->used[i].high;
    }
    return 0;
}

enum emu_status case_layout_fit(struct case_layout *l, enum case_where where, uint32_t bytes,
                                uint32_t align, const char *what, uint32_t *address)
{
    uint32_t base = l->arch->mem_base, middle = base + l->arch->region0_bytes;
    uint32_t end = base + l->arch->mem_bytes, free0 = l->arch->region0_bytes;
    int first = where == CASE_REGION1 || where == CASE_REGION1_OR_0;
    int both = where == CASE_REGION1_OR_0 || where == CASE_REGION0_OR_1;
    uint32_t free1 = l->arch->mem_bytes - free0;
    size_t at = 0;

    for (int k = 0; k <= both; k++) {
        int region = k ? !first : first;

        if (fit(l, region ? middle : base, region ? end : middle, bytes, align, address, &at))
            return bytes ? insert(l, at, *address, *address + bytes, what) : EMU_OK;
    }
    for (size_t i = 0; i < l->count; i++) {
        uint32_t in0 = l->used[i].low >= middle   ? 0
                       : l->used[i].high < middle ? l->used[i].high
                                                  : middle;

        if (in0)
            free0 -= in0 - l->used[i].low;
        if (l->used[i].high > middle)
            free1 -= l->used[i].high - (l->used[i].low > middle ? l->used[i].low : middle);
    }
    return FAIL(BAD_FILE,
                "%s: %u bytes aligned to %u do not fit into %s; %u bytes are free in region 0, %u "
                "in region 1",
                what, bytes, align,
                both    ? "the tile"
                : first ? "region 1"
                        : "region 0",
                free0, free1);
}

void case_layout_free(struct case_layout *l)
{
    ss_free(l->used);
    l->used = NULL;
    l->count = l->cap = 0;
}
