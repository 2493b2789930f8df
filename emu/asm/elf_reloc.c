/* elf_reloc.c - the kinds of relocations, and how a value gets into its field. */
#include "emu/asm/elf_reloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/fail.h"

static const struct reloc_kind kinds[] = {
#define RELOC(number_, name_, bytes_, bits_, scale_, from_, where_)                                \
    { .name = "R_COLOSSUS_" #name_,                                                                \
      .number = number_,                                                                           \
      .bytes = bytes_,                                                                             \
      .bits = bits_,                                                                               \
      .scale = scale_,                                                                             \
      .from = RELOC_FROM_##from_,                                                                  \
      .where = RELOC_WHERE_##where_ },
#include "emu/asm/elf_reloc.def"
};

const struct reloc_kind *reloc_kind(uint32_t number)
{
    for (size_t i = 0; i < EMU_COUNT_OF(kinds); i++) {
        if (kinds[i].number == number)
            return &kinds[i];
    }
    return NULL;
}

/* The field of a word with a value in it. */
static uint64_t placed(const struct reloc_kind *k, uint64_t word, uint64_t field)
{
    uint64_t mask = k->bits < 64 ? (UINT64_C(1) << k->bits) - 1 : UINT64_MAX;

    if (k->where == RELOC_WHERE_RUN) {
        mask = 0xf0fff;
        field = (field & 0xf000) << 4 | (field & 0xfff);
    }
    return (word & ~mask) | (field & mask);
}

/* Whether the value fits; else says what would. */
static int fits(const struct reloc_kind *k, int64_t value, uint32_t from, char *why, unsigned bytes)
{
    uint64_t field = (uint64_t)value - from, step = UINT64_C(1) << k->scale;

    if (k->bits == 64)
        return 1;
    if (value >= from && field >> k->scale < UINT64_C(1) << k->bits && !(field % step))
        return 1;
    snprintf(why, bytes, "expected 0x%" PRIx32 "..0x%" PRIx64 "%s%.0" PRIu64 ", got %s0x%" PRIx64,
             from, from + (UINT64_C(1) << (k->bits + k->scale)) - step,
             k->scale ? ", a multiple of " : "", k->scale ? step : 0, value < 0 ? "-" : "",
             value < 0 ? -(uint64_t)value : (uint64_t)value);
    return 0;
}

int reloc_apply(const struct reloc_kind *k, int64_t value, uint32_t region0, uint8_t *at, char *why,
                unsigned why_bytes)
{
    uint32_t from = k->from == RELOC_FROM_REGION0 ? region0 : 0;
    uint64_t word = 0;

    if (!fits(k, value, from, why, why_bytes))
        return 0;
    memcpy(&word, at, k->bytes);
    word = placed(k, word, ((uint64_t)value - from) >> k->scale);
    memcpy(at, &word, k->bytes);
    return 1;
}
