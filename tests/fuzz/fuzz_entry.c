/* fuzz_entry.c - any bytes as what the cache keeps of a network: refused, or read; then it can be
 * written as it is reported. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/fail.h"
#include "models/keep/net_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(void *ctx, uint32_t tile, const uint64_t *bytes)
{
    (void)bytes;
    EMU_ASSERT(tile < *(const uint32_t *)ctx);
}

static void look_at(const struct net_entry *e, const struct arch *a)
{
    uint32_t tiles = a->tiles;
    FILE *f = fopen("/dev/null", "w");

    for (uint32_t i = 0; i < e->layers.rows; i++) {
        const struct layer_bill *b = &e->layers.row[i];

        EMU_ASSERT(b->layer == BILL_NONE ? i + 1 == e->layers.rows
                                         : b->last < BILL_NONE && e->layers.text[i].name);
        EMU_ASSERT(ss_conv_method_name(e->layers.plan[i].method));
    }
    for (size_t i = 0; i < e->layers.steps; i++) {
        const struct billed_step *s = &e->layers.step[i];

        EMU_ASSERT(s->row < e->layers.rows);
        EMU_ASSERT((uint64_t)s->first_share + s->shares <= e->layers.shares);
    }
    EMU_ASSERT(memory_facts_tiles(&e->memory, visit, &tiles) == EMU_OK);
    memory_facts_print(&e->memory, f);
    fclose(f);
}

/* Most of an entry is an image, which has a fuzzer of its own: the object is what is new here. So
 * the bytes are tried as an object, too, in front of an image without tiles. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct arch *a = ss_arch_preset("toy4");
    struct net_entry e;

    if (net_entry_read(data, size, a, 0, &e) == EMU_OK)
        look_at(&e, a);
    net_entry_free(&e);
    if (net_entry_read_object((const char *)data, size, a, &e) == EMU_OK)
        look_at(&e, a);
    net_entry_free(&e);
    return 0;
}
