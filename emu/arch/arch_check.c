/* arch_check.c - which machines are impossible: checks the limits of each field, then the rules
 * between fields; and which values nearby are possible. */
#include "emu/arch/arch_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
    MAC_F16_PER_UNIT = 4, /* one AMP unit: a dot product of four f16, or one f32 product */
    FORMULA_COLUMNS = 16, /* arch_exchange.c knows T for this many */
    MUX_BITS = 13         /* width of the source field in exchange instructions */
};

EMU_PRINTF(4, 5)
static int problem(struct arch_problem *p, enum arch_field_id field, enum arch_field_id other,
                   const char *fmt, ...)
{
    va_list ap;

    p->field = field;
    p->other = other;
    va_start(ap, fmt);
    vsnprintf(p->why, sizeof(p->why), fmt, ap);
    va_end(ap);
    return 1;
}

#define REFUSE(field, other, ...)                                                                  \
    return problem(p, ARCH_FIELD_##field, ARCH_FIELD_##other, __VA_ARGS__)

static int find_limit(const struct arch *a, struct arch_problem *p)
{
    char value[ARCH_TEXT_MAX], expected[160];

    if (!ss_arch_preset(a->base)) {
        p->field = p->other = ARCH_FIELD_name;
        snprintf(p->why, sizeof(p->why), "base '%.40s' is not a built-in machine", a->base);
        return 1;
    }
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        const struct arch_field *f = ss_arch_field_at(i);
        uint64_t v = ss_arch_field_number(a, i);

        if (f->type == ARCH_TYPE_text)
            v = strlen((const char *)a + f->offset);
        if (v >= f->min && v <= f->max)
            continue;
        arch_field_expected(i, expected, sizeof(expected));
        ss_arch_field_text(a, i, value, sizeof(value));
        return problem(p, (enum arch_field_id)i, (enum arch_field_id)i, "expected %s, got %s",
                       expected, value);
    }
    return 0;
}

static int find_memory(const struct arch *a, struct arch_problem *p)
{
    uint32_t group = arch_region1_interleave(a) * a->element_bytes;

    if (a->element_bytes & (a->element_bytes - 1))
        REFUSE(element_bytes, element_bytes, "%u is not a power of two", a->element_bytes);
    if (a->mem_base % a->element_bytes)
        REFUSE(mem_base, element_bytes, "0x%x is not a multiple of element_bytes %u", a->mem_base,
               a->element_bytes);
    if (a->mem_bytes % a->element_bytes)
        REFUSE(mem_bytes, element_bytes, "%u is not a multiple of element_bytes %u", a->mem_bytes,
               a->element_bytes);
    if (a->region0_bytes % a->element_bytes)
        REFUSE(region0_bytes, element_bytes, "%u is not a multiple of element_bytes %u",
               a->region0_bytes, a->element_bytes);
    if (a->region0_bytes > a->mem_bytes)
        REFUSE(region0_bytes, mem_bytes, "%u is more than mem_bytes %u", a->region0_bytes,
               a->mem_bytes);
    if (arch_loader_head_bytes(a) % 8 || arch_loader_head_bytes(a) >= a->region0_bytes)
        REFUSE(loader_head_bytes, region0_bytes,
               "%u: expected a multiple of 8, where code may begin, below region0_bytes %u",
               arch_loader_head_bytes(a), a->region0_bytes);
    if (arch_loader_tail_bytes(a) >= a->mem_bytes)
        REFUSE(loader_tail_bytes, mem_bytes, "%u of %u bytes", arch_loader_tail_bytes(a),
               a->mem_bytes);
    if ((a->mem_bytes - a->region0_bytes) % group)
        REFUSE(mem_bytes, region0_bytes,
               "region 1 (mem_bytes - region0_bytes = %u) is not a multiple of %u: "
               "%u interleaved elements of %u bytes",
               a->mem_bytes - a->region0_bytes, group, arch_region1_interleave(a),
               a->element_bytes);
    if ((uint64_t)a->mem_base + a->mem_bytes > (uint64_t)1 << arch_address_bits(a))
        REFUSE(mem_bytes, mem_base, "memory ends at 0x%x, beyond %u address bits",
               a->mem_base + a->mem_bytes, arch_address_bits(a));
    return 0;
}

static int find_compute(const struct arch *a, struct arch_problem *p)
{
    uint32_t units = arch_amp_sets(a) * arch_amp_units(a);

    if (a->workers != TILE_WORKERS)
        REFUSE(workers, workers,
               "%u, but the machine runs six: the barrel has six slots and "
               "programs split work by six",
               a->workers);
    if (arch_isa(a) != 1 && arch_isa(a) != 2 && arch_isa(a) != 21)
        REFUSE(isa, isa, "%u, but the versions are 1 (ipu1), 2 (ipu2) and 21 (ipu21)", arch_isa(a));
    if (arch_load_latency_cycles(a) > a->workers)
        REFUSE(load_latency_cycles, workers,
               "%u, but only up to %u cycles are hidden by the barrel and nothing else is modelled",
               arch_load_latency_cycles(a), a->workers);
    if (arch_accumulators(a) != units * arch_amp_unit_accumulators(a))
        REFUSE(accumulators, amp_sets, "%u, but amp_sets x amp_units x amp_unit_accumulators is %u",
               arch_accumulators(a), units * arch_amp_unit_accumulators(a));
    if (arch_f16_macs_f16(a) != MAC_F16_PER_UNIT * units)
        REFUSE(f16_macs_f16, amp_sets, "%u, but %u AMP units do %u multiply-adds a cycle",
               arch_f16_macs_f16(a), units, MAC_F16_PER_UNIT * units);
    if (arch_f16_macs_f32(a) != MAC_F16_PER_UNIT * arch_amp_units(a))
        REFUSE(f16_macs_f32, amp_units,
               "%u, but one set of %u AMP units does %u multiply-adds a cycle",
               arch_f16_macs_f32(a), arch_amp_units(a), MAC_F16_PER_UNIT * arch_amp_units(a));
    if (arch_f32_macs(a) != units)
        REFUSE(f32_macs, amp_sets, "%u, but %u AMP units do one multiply-add each",
               arch_f32_macs(a), units);
    if (arch_isa(a) > 1 && arch_amp_sets(a) < 2)
        REFUSE(isa, amp_sets, "%u, but its instructions work on two sets of AMP units, not on %u",
               arch_isa(a), arch_amp_sets(a));
    return 0;
}

static int find_exchange(const struct arch *a, struct arch_problem *p)
{
    int columns = arch_exchange_kind(a) == ARCH_EXCHANGE_COLUMNS;

    if (columns && arch_exchange_columns(a) != FORMULA_COLUMNS)
        REFUSE(exchange_columns, exchange_kind, "%u, but delays are known for %u columns only",
               arch_exchange_columns(a), FORMULA_COLUMNS);
    if (columns && a->tiles % 2)
        REFUSE(tiles, exchange_kind, "%u is odd, but tiles of a column exchange come in pairs",
               a->tiles);
    if (columns && a->tiles > arch_physical_count(a))
        REFUSE(tiles, exchange_rows, "%u, but %u rows of %u columns hold %u tiles", a->tiles,
               arch_exchange_rows(a), arch_exchange_columns(a), arch_physical_count(a));
    if (columns && arch_physical_count(a) > arch_host_source(a))
        REFUSE(host_source, exchange_rows, "0x%x selects a tile: physical ids reach 0x%x",
               arch_host_source(a), arch_physical_count(a) - 1);
    if (a->tiles > arch_host_source(a))
        REFUSE(host_source, tiles, "0x%x selects a tile: there are %u", arch_host_source(a),
               a->tiles);
    if (arch_host_source(a) + arch_host_source_count(a) > 1u << MUX_BITS)
        REFUSE(host_source, host_source_count, "0x%x and %u more do not fit the %u bits of the mux",
               arch_host_source(a), arch_host_source_count(a) - 1, MUX_BITS);
    if (a->null_source < arch_physical_count(a))
        REFUSE(null_source, tiles, "0x%x selects a tile: physical ids reach 0x%x", a->null_source,
               arch_physical_count(a) - 1);
    if (a->null_source - arch_host_source(a) < arch_host_source_count(a))
        REFUSE(null_source, host_source, "0x%x is one of the %u host sources from 0x%x",
               a->null_source, arch_host_source_count(a), arch_host_source(a));
    if (arch_exchange_pair_bytes(a) != 0 &&
        arch_exchange_pair_bytes(a) != 2 * arch_exchange_bytes(a))
        REFUSE(exchange_pair_bytes, exchange_bytes,
               "%u, but a pair has twice the %u of a tile, or 0", arch_exchange_pair_bytes(a),
               arch_exchange_bytes(a));
    return 0;
}

static int find_system(const struct arch *a, struct arch_problem *p)
{
    if (a->chips > arch_chips_max(a))
        REFUSE(chips, chips_max, "%u, but the largest pod has chips_max %u", a->chips,
               arch_chips_max(a));
    if (arch_chips_per_machine(a) > arch_chips_max(a))
        REFUSE(chips_per_machine, chips_max, "%u is more than chips_max %u",
               arch_chips_per_machine(a), arch_chips_max(a));
    if (arch_host_packet_bytes(a) % 4)
        REFUSE(host_packet_bytes, host_packet_bytes, "%u is not a multiple of 4",
               arch_host_packet_bytes(a));
    if (a->chips > 1 && !(arch_links_pair(a) + arch_links_up(a) + arch_links_down(a)))
        REFUSE(links_pair, chips, "0, but %u chips need links", a->chips);
    if (arch_chips_per_machine(a) % 2 && a->chips > arch_chips_per_machine(a))
        REFUSE(chips_per_machine, chips, "%u, but a machine is made of rungs of two chips",
               arch_chips_per_machine(a));
    return 0;
}

static int find_impossible(const struct arch *a, struct arch_problem *p)
{
    return find_limit(a, p) || find_memory(a, p) || find_compute(a, p) || find_exchange(a, p) ||
           find_system(a, p);
}

/* ---- what would be possible ---- */

enum {
    NEAR_STEPS = 64,   /* values tried in each direction, one by one, */
    NEAR_PAGES = 64,   /* and as many multiples of a page */
    NEAR_PAGE = 16384, /* the least that sizes of memory are multiples of */
};

static int is_possible(const struct arch *a, size_t field, uint64_t value)
{
    struct arch other = *a;
    struct arch_problem p;

    return !arch_field_store_number(&other, field, value) && !find_impossible(&other, &p);
}

/* The nearest possible value on one side of what the field has. */
static int find_near(const struct arch *a, size_t field, int up, uint64_t *out)
{
    uint64_t now = ss_arch_field_number(a, field), page = now / NEAR_PAGE * NEAR_PAGE;

    for (uint64_t step = 1; step <= NEAR_STEPS; step++) {
        *out = up ? now + step : now - step;
        if ((up || step <= now) && is_possible(a, field, *out))
            return 1;
    }
    for (uint64_t step = 0; step <= NEAR_PAGES; step++) {
        *out = up ? page + step * NEAR_PAGE : page - step * NEAR_PAGE;
        if ((up ? *out > now : step * NEAR_PAGE <= page && *out < now) &&
            is_possible(a, field, *out))
            return 1;
    }
    return 0;
}

/* Adds "; nearest: mem_bytes 311296 or 344064" to the reason. Returns 0 when there is none. */
static int add_nearest(const struct arch *a, size_t field, struct arch_problem *p)
{
    size_t n = strlen(p->why);
    uint64_t value[2];
    int found[2];

    if (arch_type_is_written(ss_arch_field_at(field)->type))
        return 0;
    for (int up = 0; up < 2; up++)
        found[up] = find_near(a, field, up, &value[up]);
    if (found[0] && found[1])
        snprintf(p->why + n, sizeof(p->why) - n, "; nearest: %s %" PRIu64 " or %" PRIu64,
                 ss_arch_field_at(field)->name, value[0], value[1]);
    else if (found[0] || found[1])
        snprintf(p->why + n, sizeof(p->why) - n, "; nearest: %s %" PRIu64,
                 ss_arch_field_at(field)->name, value[found[1]]);
    return found[0] || found[1];
}

int arch_find_problem(const struct arch *a, struct arch_problem *p)
{
    if (!find_impossible(a, p))
        return 0;
    if (!add_nearest(a, p->field, p) && p->other != p->field)
        add_nearest(a, p->other, p);
    return 1;
}

enum emu_status ss_arch_check(const struct arch *a)
{
    struct arch_problem p;

    if (!a)
        return FAIL(BAD_MACHINE,
                    "there is no machine: arch is NULL, which ss_arch_preset() gives for "
                    "a name that it does not know");
    if (arch_find_problem(a, &p))
        return FAIL(BAD_MACHINE, "machine %s: %s: %s", a->name, ss_arch_field_at(p.field)->name,
                    p.why);
    return EMU_OK;
}
