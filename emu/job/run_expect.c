/* run_expect.c - what a run left behind against what its manifest expects. */
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/case_run.h"
#include "emu/job/run_image.h"

struct expect_differ {
    struct run *r;
    const struct manifest *m;
    json_t *list; /* borrowed */
    uint64_t total, checked;
};

/* Takes want and got over. */
static enum emu_status differ_add(struct expect_differ *d, const char *what, json_t *want,
                                  json_t *got)
{
    json_t *entry;

    if (d->total++ >= RUN_MAX_DIFFERENCES) {
        json_decref(want);
        json_decref(got);
        return EMU_OK;
    }
    entry = json_pack("{s:s, s:o, s:o}", "what", what, "expected", want, "got", got);
    if (!entry || json_array_append_new(d->list, entry))
        return FAIL(NO_MEMORY, "the list of differences");
    return EMU_OK;
}

/* Elements of one type; where names them in the report, from is the number of the first. */
static enum emu_status compare(struct expect_differ *d, const char *where, enum case_type type,
                               uint32_t from, uint32_t count, const uint8_t *want,
                               const uint8_t *got, double tolerance, double relative)
{
    struct case_data w = { .type = type }, g = { .type = type };

    w.data = (uint8_t *)(uintptr_t)want; /* only read */
    g.data = (uint8_t *)(uintptr_t)got;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = case_element_bits(&w, i), b = case_element_bits(&g, i);
        char what[360];

        d->checked++;
        if (case_elements_agree(type, a, b, tolerance, relative))
            continue;
        snprintf(what, sizeof(what), "%.300s[%" PRIu32 "]", where, from + i);
        TRY(differ_add(d, what, case_element_json(type, a), case_element_json(type, b)));
    }
    return EMU_OK;
}

/* ---- memory ---- */

/* Address of what an expectation names on a tile, and how many bytes belong to it (0: not known).
 */
static enum emu_status find_place(const struct expect_differ *d, const struct manifest_expect *e,
                                  uint32_t tile, uint32_t *addr, uint32_t *bytes)
{
    const struct manifest_program *p = manifest_program_of(d->m, tile);
    const struct manifest_memory *mem = p ? manifest_find_memory(p, e->name) : NULL;
    const struct image_tile *t = image_find_tile(d->r->im, 0, tile);
    size_t n = 0;
    const struct image_symbol *s = t ? image_symbols_of(d->r->im, t->symbols, &n) : NULL;

    if (mem) {
        *addr = mem->place.address;
        *bytes = manifest_data_bytes(&mem->init);
        return EMU_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(image_text(d->r->im, s[i].name), e->name)) {
            *addr = s[i].addr;
            *bytes = s[i].bytes;
            return EMU_OK;
        }
    }
    return FAIL(BAD_FILE, "%s: expect[%zu].name: tile %" PRIu32 " has no memory or symbol \"%s\"",
                d->m->path, (size_t)(e - d->m->expect), tile, e->name);
}

/* want and got have room for the values of one tile. */
static enum emu_status expect_tile(struct expect_differ *d, const struct manifest_expect *e,
                                   size_t index, uint8_t *want, uint8_t *got)
{
    uint32_t tile = e->tiles.tile[index], addr = 0, room = 0;
    uint32_t bytes = manifest_data_bytes(&e->value), from = 0;
    enum case_type type = e->value.data.type;
    const struct data_place place = { .arch = &d->m->arch,
                                      .tile = tile,
                                      .index = (uint32_t)index,
                                      .count = (uint32_t)e->tiles.count };
    char where[320];

    TRY(find_place(d, e, tile, &addr, &room));
    from = e->from * case_type_bytes(type);
    if ((room && (from > room || bytes > room - from)) ||
        !tile_read(machine_tile(d->r->machine, tile), addr + from, got, bytes))
        return FAIL(BAD_FILE, "%s: expect[%zu]: more values than \"%s\" has", d->m->path,
                    (size_t)(e - d->m->expect), e->name);
    TRY(manifest_data_fill(&e->value, &place, want));
    snprintf(where, sizeof(where), "tile %" PRIu32 " %.256s", tile, e->name);
    return compare(d, where, type == CASE_BYTES ? CASE_U8 : type, e->from,
                   bytes / case_type_bytes(type), want, got, e->tolerance, e->relative);
}

static enum emu_status expect_memory(struct expect_differ *d, const struct manifest_expect *e)
{
    uint32_t bytes = manifest_data_bytes(&e->value);
    uint8_t *want = emu_alloc((size_t)bytes + 4, 1), *got = emu_alloc((size_t)bytes + 4, 1);
    enum emu_status s = want && got ? EMU_OK : FAIL(NO_MEMORY, "%u expected bytes", bytes);

    for (size_t i = 0; i < e->tiles.count && s == EMU_OK; i++)
        s = expect_tile(d, e, i, want, got);
    emu_free(want);
    emu_free(got);
    return s;
}

/* ---- streams ---- */

static enum emu_status expect_stream(struct expect_differ *d, const struct manifest_stream *s)
{
    const struct data_place place = { .arch = NULL };
    uint32_t bytes = manifest_data_bytes(&s->expect);
    size_t got_bytes = 0;
    const uint8_t *got = d->r->host ? host_stream_bytes(d->r->host, s->id, &got_bytes) : NULL;
    enum case_type type = s->expect.data.type;
    char where[64];
    enum emu_status st;
    uint8_t *want;

    if (!bytes)
        return EMU_OK;
    snprintf(where, sizeof(where), "stream %" PRIu32, s->id);
    d->checked++;
    if (got_bytes != bytes) {
        strcat(where, " bytes");
        return differ_add(d, where, json_integer(bytes), json_integer((json_int_t)got_bytes));
    }
    want = emu_alloc(bytes, 1);
    if (!want)
        return FAIL(NO_MEMORY, "%u expected bytes", bytes);
    st = manifest_data_fill(&s->expect, &place, want);
    if (st == EMU_OK)
        st = compare(d, where, type, 0, bytes / case_type_bytes(type), want, got, 0, 0);
    emu_free(want);
    return st;
}

/* ---- figures ---- */

static json_t *range_json(const struct json_range *r)
{
    if (r->low == r->high)
        return json_integer((json_int_t)r->low);
    return json_pack("[I, I]", (json_int_t)r->low, (json_int_t)r->high);
}

static enum emu_status expect_range(struct expect_differ *d, const char *what,
                                    const struct json_range *r, uint64_t got)
{
    if (!r->is_set)
        return EMU_OK;
    d->checked++;
    if (got >= r->low && got <= r->high)
        return EMU_OK;
    return differ_add(d, what, range_json(r), json_integer((json_int_t)got));
}

static enum emu_status expect_figures(struct expect_differ *d)
{
    const struct manifest *m = d->m;
    char text[33];

    TRY(expect_range(d, "cycles", &m->expect_cycles, machine_cycles(d->r->machine)));
    for (unsigned g = 0; g < MACHINE_MAX_GROUPS; g++) {
        uint64_t steps = machine_supersteps(d->r->machine, g);

        if (steps)
            TRY(expect_range(d, "supersteps", &m->expect_supersteps, steps));
    }
    if (!m->expect_digest)
        return EMU_OK;
    d->checked++;
    hash128_text(machine_digest(d->r->machine), text);
    if (!strcmp(text, m->expect_digest))
        return EMU_OK;
    return differ_add(d, "digest", json_string(m->expect_digest), json_string(text));
}

static enum emu_status expect_fault(struct expect_differ *d)
{
    const struct manifest_fault *f = &d->m->expect_fault;
    struct machine_fault got;
    const char *exchange;

    if (!f->is_set)
        return EMU_OK;
    d->checked++;
    if (d->r->stop != MACHINE_FAULT)
        return differ_add(d, "fault", json_string(f->name), json_null());
    got = machine_fault(d->r->machine);
    exchange = got.exchange ? exchange_fault_name(got.exchange->kind) : "";
    if (strcmp(f->name, fault_name(got.fault->kind)))
        return differ_add(d, "fault", json_string(f->name),
                          json_string(fault_name(got.fault->kind)));
    if (f->exchange && strcmp(f->exchange, exchange))
        return differ_add(d, "fault of the exchange", json_string(f->exchange),
                          json_string(exchange));
    if (f->tile >= 0 && f->tile != got.tile)
        return differ_add(d, "tile of the fault", json_integer(f->tile), json_integer(got.tile));
    if (f->superstep >= 0 && (uint64_t)f->superstep != got.superstep)
        return differ_add(d, "superstep of the fault", json_integer(f->superstep),
                          json_integer((json_int_t)got.superstep));
    return EMU_OK;
}

static enum emu_status check_all(struct expect_differ *d, int own_machine)
{
    const struct manifest *m = d->m;

    TRY(expect_fault(d));
    for (size_t i = 0; i < m->expects; i++)
        TRY(expect_memory(d, &m->expect[i]));
    for (size_t i = 0; i < m->streams; i++)
        TRY(expect_stream(d, &m->stream[i]));
    return own_machine ? expect_figures(d) : EMU_OK;
}

enum emu_status run_check(struct run *r, const struct manifest *m, int own_machine, json_t **list,
                          uint64_t *total, uint64_t *checked)
{
    struct expect_differ d = { .r = r, .m = m, .list = json_array() };
    enum emu_status s = d.list ? check_all(&d, own_machine) : FAIL(NO_MEMORY, "a list");

    *total = d.total;
    *checked = d.checked;
    *list = d.list;
    if (s != EMU_OK) {
        json_decref(d.list);
        *list = NULL;
    }
    return s;
}
