/* fuzz_arch.c - any bytes as a machine file: refused with a message, or a possible machine that
 * survives being written. */
#include <stdint.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/arch/arch_elements.h"
#include "emu/arch/arch_geometry.h"
#include "emu/base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arch a, again;
    int low, high;
    char *text;

    if (ss_arch_load_text((const char *)data, size, "fuzz", &a) != EMU_OK) {
        EMU_ASSERT(strncmp(ss_error(), "fuzz:", 5) == 0);
        return 0;
    }
    EMU_ASSERT(ss_arch_check(&a) == EMU_OK);
    for (uint32_t t = 0; t < a.tiles; t += 1 + a.tiles / 16)
        EMU_ASSERT(arch_tile_logical(&a, arch_tile_physical(&a, t)) == (int)t);
    arch_exchange_delay_span(&a, &low, &high);
    EMU_ASSERT(low <= high);
    EMU_ASSERT(arch_element_of(&a, a.mem_base) >= 0);
    EMU_ASSERT(arch_element_of(&a, a.mem_base + a.mem_bytes) == -1);
    text = ss_arch_to_json(&a);
    EMU_ASSERT(text);
    EMU_ASSERT(ss_arch_load_text(text, strlen(text), "fuzz", &again) == EMU_OK);
    EMU_ASSERT(ss_arch_equal(&a, &again));
    ss_free(text);
    return 0;
}
