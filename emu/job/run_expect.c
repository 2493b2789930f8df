/* run_expect.c - what a run left behind against what its manifest expects. */
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/differences.h"
#include "emu/job/run_image.h"
#include "emu/tile/tile_check.h"

struct run_expect {
    struct run *r;
    const struct manifest *m;
    struct differences d;
};

/* ---- memory ---- */

/* Address of what an expectation names on a tile, and how many bytes belong to it (0: not known).
 */
static enum emu_status find_place(const struct run_expect *x, const struct manifest_expect *e,
                                  uint32_t chip, uint32_t tile, uint32_t *addr, uint32_t *bytes)
{
    const struct manifest_program *p = manifest_program_of(x->m, chip, tile);
    const struct manifest_memory *mem = p ? manifest_find_memory(p, e->name) : NULL;
    const struct image_tile *t = image_find_tile(x->r->im, chip, tile);
    size_t n = 0;
    const struct image_symbol *s = t ? image_symbols_of(x->r->im, t->symbols, &n) : NULL;

    if (mem) {
        *addr = mem->place.address;
        *bytes = manifest_data_bytes(&mem->init);
        return EMU_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(image_text(x->r->im, s[i].name), e->name)) {
            *addr = s[i].addr;
            *bytes = s[i].bytes;
            return EMU_OK;
        }
    }
    return FAIL(BAD_FILE, "%s: expect[%zu].name: tile %" PRIu32 " has no memory or symbol \"%s\"",
                x->m->path, (size_t)(e - x->m->expect), tile, e->name);
}

static enum emu_status expect_tile(struct run_expect *x, const struct manifest_expect *e,
                                   uint32_t chip, size_t index)
{
    uint32_t tile = e->tiles.tile[index], addr = 0, room = 0;
    uint32_t bytes = manifest_data_bytes(&e->value);
    uint32_t from = e->from * case_type_bytes(e->value.data.type);
    const struct data_place place = { .arch = &x->m->arch,
                                      .chip = chip,
                                      .tile = tile,
                                      .index = (uint32_t)index,
                                      .count = (uint32_t)e->tiles.count };
    struct expected_elements elements = { .from = e->from,
                                          .tolerance = e->tolerance,
                                          .relative = e->relative };
    char where[320];
    enum emu_status s;
    uint8_t *got;

    TRY(find_place(x, e, chip, tile, &addr, &room));
    got = emu_alloc((size_t)bytes + 1, 1);
    if (!got)
        return FAIL(NO_MEMORY, "%" PRIu32 " bytes of a tile", bytes);
    if (x->r->chips > 1)
        snprintf(where, sizeof(where), "chip %" PRIu32 " tile %" PRIu32 " %.240s", chip, tile,
                 e->name);
    else
        snprintf(where, sizeof(where), "tile %" PRIu32 " %.256s", tile, e->name);
    elements.where = where;
    elements.got = got;
    if ((room && (from > room || bytes > room - from)) ||
        !tile_read(machine_tile(machine_of_chip(x->r, chip), tile), addr + from, got, bytes))
        s = FAIL(BAD_FILE, "%s: expect[%zu]: more values than \"%s\" has", x->m->path,
                 (size_t)(e - x->m->expect), e->name);
    else
        s = differences_values(&x->d, &e->value, &place, NULL, NULL, &elements);
    ss_free(got);
    return s;
}

static enum emu_status expect_memory(struct run_expect *x, const struct manifest_expect *e)
{
    for (size_t c = 0; c < e->chips.count; c++) {
        for (size_t i = 0; i < e->tiles.count; i++)
            TRY(expect_tile(x, e, e->chips.tile[c], i));
    }
    return EMU_OK;
}

/* ---- streams ---- */

static enum emu_status expect_stream(struct run_expect *x, const struct manifest_stream *s)
{
    const struct data_place place = { .arch = NULL };
    uint32_t bytes = manifest_data_bytes(&s->expect);
    size_t got_bytes = 0;
    const struct host *host = x->r->chip[s->chip].host;
    const uint8_t *got = host ? host_stream_bytes(host, s->id, &got_bytes) : NULL;
    char where[64];

    if (!bytes)
        return EMU_OK;
    if (x->r->chips > 1)
        snprintf(where, sizeof(where), "chip %" PRIu32 " stream %" PRIu32, s->chip, s->id);
    else
        snprintf(where, sizeof(where), "stream %" PRIu32, s->id);
    x->d.checked++;
    if (got_bytes != bytes) {
        strcat(where, " bytes");
        return differences_add(&x->d, where, json_integer(bytes),
                               json_integer((json_int_t)got_bytes));
    }
    return differences_values(&x->d, &s->expect, &place, NULL, NULL,
                              &(struct expected_elements){ .where = where, .got = got });
}

/* ---- figures ---- */

static enum emu_status expect_figures(struct run_expect *x)
{
    const struct manifest *m = x->m;
    char text[33];

    TRY(differences_range(&x->d, "cycles", &m->expect_cycles, pod_cycles(x->r->pod)));
    for (uint32_t i = 0; i < x->r->chips * MACHINE_MAX_GROUPS; i++) {
        const struct machine *chip = machine_of_chip(x->r, i / MACHINE_MAX_GROUPS);
        uint64_t steps = machine_supersteps(chip, i % MACHINE_MAX_GROUPS);

        if (steps)
            TRY(differences_range(&x->d, "supersteps", &m->expect_supersteps, steps));
    }
    if (!m->expect_digest)
        return EMU_OK;
    x->d.checked++;
    hash128_text(pod_digest(x->r->pod), text);
    if (!strcmp(text, m->expect_digest))
        return EMU_OK;
    return differences_add(&x->d, "digest", json_string(m->expect_digest), json_string(text));
}

static enum emu_status expect_fault(struct run_expect *x)
{
    const struct manifest_fault *f = &x->m->expect_fault;
    struct machine_fault got;
    const char *exchange;
    uint32_t chip;

    if (!f->is_set)
        return EMU_OK;
    x->d.checked++;
    if (x->r->stop != MACHINE_FAULT)
        return differences_add(&x->d, "fault", json_string(f->name), json_null());
    got = run_fault(x->r, &chip);
    exchange = got.exchange ? exchange_fault_name(got.exchange->kind) : "";
    if (strcmp(f->name, fault_name(got.fault->kind)))
        return differences_add(&x->d, "fault", json_string(f->name),
                               json_string(fault_name(got.fault->kind)));
    if (f->exchange && strcmp(f->exchange, exchange))
        return differences_add(&x->d, "fault of the exchange", json_string(f->exchange),
                               json_string(exchange));
    if (f->chip >= 0 && f->chip != chip)
        return differences_add(&x->d, "chip of the fault", json_integer(f->chip),
                               json_integer(chip));
    if (f->tile >= 0 && f->tile != got.tile)
        return differences_add(&x->d, "tile of the fault", json_integer(f->tile),
                               json_integer(got.tile));
    if (f->superstep >= 0 && (uint64_t)f->superstep != got.superstep)
        return differences_add(&x->d, "superstep of the fault", json_integer(f->superstep),
                               json_integer((json_int_t)got.superstep));
    return EMU_OK;
}

/* Whether the checking mode reported that. */
static int was_reported(const struct run *r, const char *name)
{
    uint32_t tiles = ss_image_arch(r->im)->tiles;
    int found = 0;

    for (uint32_t i = 0; i < r->chips * tiles && !found; i++) {
        struct machine *chip = machine_of_chip(r, i / tiles);
        const struct tile *t = machine_tile(chip, i % tiles);

        if (!strcmp(name, "UNHEARD"))
            found = exchange_unheard_words(machine_exchange(chip), i % tiles) != 0;
        for (size_t k = 0; k < tile_check_count(t) && !found; k++)
            found = !strcmp(name, tile_check_name(tile_check_report(t, k)->kind));
    }
    return found;
}

static enum emu_status expect_check(struct run_expect *x)
{
    const char *name = x->m->expect_check;

    if (!name)
        return EMU_OK;
    x->d.checked++;
    return was_reported(x->r, name) ? EMU_OK
                                    : differences_add(&x->d, "report of the checking mode",
                                                      json_string(name), json_null());
}

static enum emu_status check_all(struct run_expect *x, int own_machine)
{
    const struct manifest *m = x->m;

    TRY(expect_fault(x));
    TRY(expect_check(x));
    for (size_t i = 0; i < m->expects; i++)
        TRY(expect_memory(x, &m->expect[i]));
    for (size_t i = 0; i < m->streams; i++)
        TRY(expect_stream(x, &m->stream[i]));
    return own_machine ? expect_figures(x) : EMU_OK;
}

enum emu_status ss_run_check(struct run *r, const struct manifest *m, int own_machine,
                             json_t **list, uint64_t *total, uint64_t *checked)
{
    struct run_expect x = { .r = r, .m = m };
    enum emu_status s;

    *list = NULL;
    *total = *checked = 0;
    if (!r || !m)
        return FAIL(BAD_PROGRAM, "there is no run, or no manifest to compare it with");
    x.d = (struct differences){ .list = json_array(),
                                .listed_max = RUN_MAX_DIFFERENCES,
                                .file = m->path };
    s = x.d.list ? check_all(&x, own_machine) : FAIL(NO_MEMORY, "the list of differences");
    *total = x.d.total;
    *checked = x.d.checked;
    *list = x.d.list;
    if (s != EMU_OK) {
        json_decref(x.d.list);
        *list = NULL;
    }
    return s;
}
