/* run_report.c - the answer of a run: one JSON tree, printed as such or as `key value` lines. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/exchange/exchange_explain.h"
#include "emu/job/case_run.h"
#include "emu/profile/bill.h"
#include "emu/job/run_check.h"

enum { MAX_REPORTS = 20, KEY_BYTES = 160, WAITS_MAX = 2 * MACHINE_WAITS };

/* json_object_set_new with what was packed; a NULL shows up when the tree is finished. */
static int put(json_t *o, const char *key, json_t *v)
{
    return json_object_set_new(o, key, v) == 0;
}

static int put_number(json_t *o, const char *key, uint64_t v)
{
    return put(o, key, json_integer((json_int_t)v));
}

static json_t *hex(uint32_t v)
{
    return json_sprintf("0x%" PRIx32, v);
}

/* "0x4c010 (main+0x10)" */
static json_t *address_json(const struct run *r, uint32_t chip, uint32_t tile, uint32_t addr)
{
    const struct image_tile *t = run_image_tile(r, chip, tile);
    uint32_t offset = 0;
    const char *name = t ? image_symbolize(r->im, t, addr, &offset) : NULL;

    if (!name)
        return hex(addr);
    return json_sprintf(offset ? "0x%" PRIx32 " (%s+0x%" PRIx32 ")" : "0x%" PRIx32 " (%s)", addr,
                        name, offset);
}

/* "ring.S:12", or NULL where no line is known */
static json_t *source_json(const struct run *r, uint32_t chip, uint32_t tile, uint32_t addr)
{
    const struct image_tile *t = run_image_tile(r, chip, tile);
    uint32_t line = 0;
    const char *file = t ? image_source(r->im, t, addr, &line) : NULL;

    return file && line ? json_sprintf("%s:%" PRIu32, file, line) : NULL;
}

/* "chip" where there are several. */
static int put_chip(const struct run *r, json_t *o, const char *key, uint32_t chip)
{
    return r->chips == 1 || put_number(o, key, chip);
}

/* ---- faults ---- */

static int put_exchange_fault(const struct run *r, json_t *o, uint32_t chip,
                              const struct exchange_fault *x)
{
    uint32_t other = x->is_far ? x->chip : chip;
    char text[600];
    int n = exchange_fault_print(x, text, sizeof(text)), ok;

    EMU_ASSERT(n >= 0 && (size_t)n < sizeof(text));
    exchange_fault_explain(machine_exchange(machine_of_chip(r, chip)), x, text + n,
                           sizeof(text) - (size_t)n);
    ok = put(o, "exchange", json_string(exchange_fault_name(x->kind))) &&
         put(o, "message", json_text(text)) && put_number(o, "event", x->event);
    if (x->addr)
        ok = ok && put(o, "own_address", address_json(r, chip, x->tile, x->addr));
    if (x->other == EXCHANGE_NOBODY)
        return ok;
    ok = ok && (!x->is_far || put_number(o, "other_chip", other)) &&
         put_number(o, "other_tile", x->other);
    if (x->other_addr && other < r->chips)
        ok = ok && put(o, "other_address", address_json(r, other, x->other, x->other_addr));
    return ok;
}

static json_t *fault_json(const struct run *r)
{
    uint32_t chip;
    struct machine_fault f = run_fault(r, &chip);
    const struct fault_record *x = f.fault;
    uint32_t pc = f.exchange && f.exchange->pc ? f.exchange->pc : x->pc;
    json_t *o = json_object(), *source = source_json(r, chip, f.tile, pc);
    json_t *after = source ? NULL : source_json(r, chip, f.tile, pc - ISA_WORD_BYTES); /* ran past
                                                                                          it */
    int ok = o && put(o, "name", json_string(fault_name(x->kind)));

    if (x->detail)
        ok = ok && put(o, "detail", json_text(x->detail));
    ok = ok && put_chip(r, o, "chip", chip) && put_number(o, "tile", f.tile) &&
         put_number(o, "group", machine_tile_group(machine_of_chip(r, chip), f.tile)) &&
         put_number(o, "superstep", f.superstep) &&
         put(o, "context", json_string(case_lane_name(x->lane))) &&
         put(o, "pc", address_json(r, chip, f.tile, pc));
    if (source)
        ok = ok && put(o, "source", source);
    if (after)
        ok = ok && put(o, "behind", after);
    ok = ok && put_number(o, "cycle", x->cycle);
    if (x->addr && !f.exchange)
        ok = ok && put(o, "address", address_json(r, chip, f.tile, x->addr));
    if (x->kind == FAULT_CONFLICT)
        ok = ok && put(o, "address2", address_json(r, chip, f.tile, x->addr2));
    if (f.exchange)
        ok = ok && put_exchange_fault(r, o, chip, f.exchange);
    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

/* A value of a fault's object with what is to stand before it; the place may be missing. */
static void print_part(FILE *f, const json_t *o, const char *before, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (json_is_integer(v))
        fprintf(f, "%s%" JSON_INTEGER_FORMAT, before, json_integer_value(v));
    else if (v)
        fprintf(f, "%s%s", before, json_string_value(v));
}

static void print_fault(FILE *f, const struct run *r, const json_t *o)
{
    const char *const part[][2] = { { "; chip ", "chip" },
                                    { r->chips > 1 ? ", tile " : "; tile ", "tile" },
                                    { ", superstep ", "superstep" },
                                    { ", ", "context" },
                                    { " at ", "pc" },
                                    { ", ", "source" },
                                    { ", behind ", "behind" },
                                    { ", address ", "address" },
                                    { " and ", "address2" },
                                    { ", cycle ", "cycle" } };

    print_part(f, o, "", "name");
    print_part(f, o, " ", "exchange");
    print_part(f, o, ": ", json_object_get(o, "message") ? "message" : "detail");
    for (size_t i = 0; i < EMU_COUNT_OF(part); i++)
        print_part(f, o, part[i][0], part[i][1]);
    if (json_object_get(o, "behind"))
        fprintf(f,
                "; code ends there: the last instruction of a supervisor is sync %s, of a worker "
                "exitz",
                image_zone_scope(r->im, 6) == SCOPE_HOST ? "6 (SYNC_HOST)" : "7 (SYNC_END)");
}

/* Looks on the chips that run a tile's program for one where it computes. */
static int runs_on(const struct run *r, const struct image_tile *t, uint32_t *chip)
{
    for (*chip = t->chip; *chip < r->chips; *chip += image_chip_count(r->im)) {
        if (machine_tile_runs(machine_of_chip(r, *chip), t->tile))
            return 1;
    }
    return 0;
}

/* The lowest tile that computes; none does: the image's first one. */
static uint32_t running_tile(const struct run *r, uint32_t *chip)
{
    uint32_t tiles = image_tile_count(r->im);

    for (uint32_t i = 0; i < tiles; i++) {
        if (runs_on(r, image_tile_at(r->im, i), chip))
            return image_tile_at(r->im, i)->tile;
    }
    *chip = 0;
    return tiles ? image_tile_at(r->im, 0)->tile : 0;
}

/* Where a tile is that goes round for ever. */
static void print_limit(FILE *f, const struct run *r)
{
    uint32_t chip, tile = running_tile(r, &chip);
    uint32_t pc = machine_tile(machine_of_chip(r, chip), tile)->pc[LANE_SUPER];
    json_t *source = source_json(r, chip, tile, pc);

    fprintf(f, "more than %" PRIu64 " cycles: an endless loop? Tile %" PRIu32,
            r->options.max_cycles, tile);
    if (r->chips > 1)
        fprintf(f, " of chip %" PRIu32, chip);
    fprintf(f, " is at 0x%" PRIx32, pc);
    if (source)
        fprintf(f, ", %s", json_string_value(source));
    json_decref(source);
}

int ss_run_reached_limit(const struct run *r)
{
    return r->stop == MACHINE_LIMIT && !r->error;
}

char *ss_run_stop_text(const struct run *r)
{
    json_t *fault = r && r->stop == MACHINE_FAULT ? fault_json(r) : NULL;
    char *text = NULL, *copy;
    size_t bytes = 0;
    FILE *f = r ? open_memstream(&text, &bytes) : NULL;

    if (f) {
        if (fault)
            print_fault(f, r, fault);
        else if (ss_run_reached_limit(r))
            print_limit(f, r);
        else
            fputs(r->error ? r->error : "stopped", f);
        fclose(f);
    }
    json_decref(fault);
    copy = f ? emu_strdup(text) : NULL;
    free(text);
    return copy;
}

/* ---- deadlocks ---- */

static json_t *wait_json(const struct run *r, uint32_t chip, const struct machine_wait *w)
{
    uint32_t pc = machine_tile(machine_of_chip(r, chip), w->first)->pc[LANE_SUPER] - ISA_WORD_BYTES;
    json_t *o = json_object(), *source = source_json(r, chip, w->first, pc);
    int ok = o && put_chip(r, o, "chip", chip) && put(o, "tiles", json_string(w->tiles)) &&
             put_number(o, "count", w->count) && put_number(o, "group", w->group) &&
             put(o, "wait", json_text(w->what)) && put_number(o, "since_cycle", w->since) &&
             put_number(o, "last_cycle", w->latest) &&
             (!w->missing[0] || put(o, "missing", json_text(w->missing))) &&
             put(o, "pc", address_json(r, chip, w->first, pc));

    if (ok && source)
        ok = put(o, "source", source);
    else
        json_decref(source);
    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

/* Who waits for what, and where the first of them stands. */
static json_t *waits_json(const struct run *r)
{
    struct pod_wait wait[WAITS_MAX];
    size_t n = pod_waits(r->pod, wait, WAITS_MAX);
    json_t *list = json_array();

    for (size_t i = 0; list && i < n; i++) {
        if (json_array_append_new(list, wait_json(r, wait[i].chip, &wait[i].wait))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* ---- the checking mode ---- */

static json_t *check_json(const struct run *r, uint32_t chip, uint32_t tile,
                          const struct tile_check_report *c)
{
    json_t *o = json_pack(
        "{s:s, s:s, s:i, s:s, s:o, s:o, s:I, s:I}", "name", tile_check_name(c->kind), "detail",
        tile_check_text(c->kind), "tile", (int)tile, "context", case_lane_name(c->lane), "pc",
        address_json(r, chip, tile, c->pc), "address", address_json(r, chip, tile, c->addr),
        "cycle", (json_int_t)c->cycle, "count", (json_int_t)c->count);
    json_t *source = source_json(r, chip, tile, c->pc);

    if (o && source)
        put(o, "source", source);
    else
        json_decref(source);
    if (!o || (put_chip(r, o, "chip", chip) && run_check_put_vertex(r, chip, tile, c, o)))
        return o;
    json_decref(o);
    return NULL;
}

/* Calls back for every tile of every chip until that returns 0. */
static int each_tile(const struct run *r, int (*visit)(void *ctx, uint32_t chip, uint32_t tile),
                     void *ctx)
{
    for (uint32_t chip = 0; chip < r->chips; chip++) {
        for (uint32_t tile = 0; tile < ss_image_arch(r->im)->tiles; tile++) {
            if (!visit(ctx, chip, tile))
                return 0;
        }
    }
    return 1;
}

/* A list of what was found on tiles, at most MAX_REPORTS of it. */
struct finding_list {
    const struct run *r;
    json_t *list;
    uint64_t total;
};

static int add_checks(void *ctx, uint32_t chip, uint32_t tile)
{
    struct finding_list *l = ctx;
    const struct tile *t = machine_tile(machine_of_chip(l->r, chip), tile);

    for (size_t i = 0; i < tile_check_count(t); i++) {
        if (++l->total <= MAX_REPORTS &&
            json_array_append_new(l->list, check_json(l->r, chip, tile, tile_check_report(t, i))))
            return 0;
    }
    return 1;
}

static int count_findings(void *ctx, uint32_t chip, uint32_t tile)
{
    struct finding_list *l = ctx;
    struct machine *m = machine_of_chip(l->r, chip);
    const struct tile *t = machine_tile(m, tile);

    l->total += exchange_unheard_words(machine_exchange(m), tile);
    for (size_t i = 0; i < tile_check_count(t); i++)
        l->total += tile_check_report(t, i)->kind != TILE_CHECK_CONFLICT;
    return 1;
}

uint64_t run_check_findings(const struct run *r)
{
    struct finding_list l = { .r = r };

    if (!r->options.check)
        return 0;
    for (uint32_t chip = 0; chip < r->chips; chip++)
        l.total += exchange_clashes(machine_exchange(machine_of_chip(r, chip))).total;
    each_tile(r, count_findings, &l);
    return l.total;
}

/* The tiles that sent words which no tile received; the total counts those words. */
static int add_unheard(void *ctx, uint32_t chip, uint32_t tile)
{
    struct finding_list *l = ctx;
    uint64_t words = exchange_unheard_words(machine_exchange(machine_of_chip(l->r, chip)), tile);
    json_t *o;

    l->total += words;
    if (!words || json_array_size(l->list) >= MAX_REPORTS)
        return 1;
    o = json_object();
    return o && put_chip(l->r, o, "chip", chip) && put_number(o, "tile", tile) &&
           put_number(o, "words", words) && json_array_append_new(l->list, o) == 0;
}

/* A new list of what visit() finds; NULL when out of memory. */
static json_t *find_all(const struct run *r, int (*visit)(void *ctx, uint32_t chip, uint32_t tile),
                        uint64_t *total)
{
    struct finding_list l = { .r = r, .list = json_array() };

    if (l.list && !each_tile(r, visit, &l)) {
        json_decref(l.list);
        l.list = NULL;
    }
    *total = l.total;
    return l.list;
}

static int put_unheard(const struct run *r, json_t *o)
{
    uint64_t unheard;
    json_t *senders = find_all(r, add_unheard, &unheard);

    if (!unheard) {
        json_decref(senders);
        return senders != NULL;
    }
    return put_number(o, "check_unheard_words", unheard) && put(o, "check_unheard", senders);
}

/* The superstep, as the record has it, that began when a tile was released in this cycle. */
static int put_superstep(const struct run *r, json_t *o, uint32_t chip, uint32_t tile,
                         uint64_t release)
{
    unsigned group = machine_tile_group(machine_of_chip(r, chip), tile);
    const struct record *record = r->chip[chip].record;

    for (size_t i = 0; i < record_count(record); i++) {
        const struct record_step *s = record_at(record, i);

        if (s->group == group && s->release == release)
            return put_number(o, "superstep", s->index);
    }
    return 1;
}

static json_t *clash_json(const struct run *r, uint32_t chip, const struct exchange_clash *c)
{
    const struct exchange_fault *f = &c->first;
    json_t *o = json_object(), *source = source_json(r, chip, f->tile, f->pc);
    int ok = o && put_chip(r, o, "chip", chip) && put_number(o, "tile", f->tile) &&
             put_superstep(r, o, chip, f->tile, f->cycle - f->event) &&
             put_exchange_fault(r, o, chip, f) && put_number(o, "element", f->element) &&
             put(o, "read_address", address_json(r, chip, f->tile, f->value)) &&
             put(o, "pc", address_json(r, chip, f->tile, f->pc));

    if (ok && source)
        ok = put(o, "source", source);
    else
        json_decref(source);
    if (ok && put_number(o, "words", c->words))
        return o;
    json_decref(o);
    return NULL;
}

static int add_clashes(const struct run *r, uint32_t chip, const struct exchange_clashes *c,
                       json_t *list)
{
    for (size_t i = 0; i < c->count && json_array_size(list) < MAX_REPORTS; i++) {
        if (json_array_append_new(list, clash_json(r, chip, &c->clash[i])))
            return 0;
    }
    return list != NULL;
}

static int put_clashes(const struct run *r, json_t *o)
{
    json_t *list = json_array();
    uint64_t total = 0, words = 0;
    int ok = 1;

    for (uint32_t chip = 0; chip < r->chips && ok; chip++) {
        const struct exchange_clashes c =
            exchange_clashes(machine_exchange(machine_of_chip(r, chip)));

        total += c.total;
        words += c.words;
        ok = add_clashes(r, chip, &c, list);
    }
    if (ok && total)
        return put_number(o, "check_clash_phases", total) &&
               put_number(o, "check_clash_words", words) && put(o, "check_clashes", list);
    json_decref(list);
    return ok;
}

static int put_checks(const struct run *r, json_t *o)
{
    uint64_t reports = 0;
    json_t *checks = find_all(r, add_checks, &reports);

    return put_number(o, "check_reports", reports) && put(o, "checks", checks) &&
           put_unheard(r, o) && put_clashes(r, o);
}

/* ---- the rest ---- */

/* Of the chips from `first` on. */
static int put_words(const struct run *r, uint32_t first, uint32_t chips, json_t *o)
{
    struct bill sum = { 0 }, b;

    for (uint32_t chip = first; chip < first + chips; chip++) {
        const struct record *record = r->chip[chip].record;

        for (size_t i = 0; i < record_count(record); i++) {
            b = ss_bill_of_step(record, i);
            ss_bill_add(&sum, &b);
        }
    }
    return put_number(o, "words_sent", sum.words_out) &&
           put_number(o, "words_received", sum.words_in);
}

static int add_group(const struct run *r, uint32_t chip, unsigned group, json_t *list)
{
    uint64_t tiles = 0;
    json_t *o;

    for (size_t i = 0; i < image_tile_count(r->im); i++) {
        const struct image_tile *t = image_tile_at(r->im, i);

        tiles += t->group == group && t->chip == run_stage(r, chip);
    }
    if (!tiles)
        return 1;
    o = json_object();
    return o && put_chip(r, o, "chip", chip) && put_number(o, "group", group) &&
           put_number(o, "tiles", tiles) &&
           put_number(o, "supersteps", machine_supersteps(machine_of_chip(r, chip), group)) &&
           json_array_append_new(list, o) == 0;
}

static json_t *groups_json(const struct run *r)
{
    json_t *list = json_array();

    for (uint32_t chip = 0; chip < r->chips; chip++) {
        for (unsigned g = 0; list && g < MACHINE_MAX_GROUPS; g++) {
            if (add_group(r, chip, g, list))
                continue;
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *stream_json(const struct run *r, uint32_t chip, const struct image_stream *s)
{
    const struct host *host = r->chip[chip].host;
    const struct host_stream_record *h = host ? host_record(host, s->id) : NULL;
    json_t *o = json_pack("{s:i, s:o, s:s}", "id", (int)s->id, "name",
                          json_text(image_text(r->im, s->name)), "direction",
                          s->direction == STREAM_TO_HOST ? "to_host" : "to_tiles");

    if (o)
        put_chip(r, o, "chip", chip);
    if (o && h) {
        put_number(o, "transfers", h->transfers);
        put_number(o, "bytes", h->bytes);
        put_number(o, "packets", h->packets);
        put_number(o, "busy_cycles", h->busy_cycles);
        put_number(o, "waiting_cycles", h->waiting_cycles);
        put_number(o, "starved_cycles", h->starved_cycles);
        put_number(o, "latency_cycles_max", h->latency_cycles_max);
    }
    return o;
}

static json_t *streams_json(const struct run *r)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < image_stream_count(r->im); i++) {
        const struct image_stream *s = image_stream_at(r->im, i);

        for (uint32_t chip = s->chip; chip < r->chips; chip += image_chip_count(r->im))
            json_array_append_new(list, stream_json(r, chip, s));
    }
    return list;
}

/* ---- several chips ---- */

static json_t *chip_json(struct run *r, uint32_t chip)
{
    struct machine *m = machine_of_chip(r, chip);
    json_t *o = json_object();
    char digest[33];

    if (ss_run_has_values(r))
        hash128_text(machine_digest(m), digest);
    if (o && put_number(o, "chip", chip) && put_number(o, "cycles", machine_cycles(m)) &&
        put_words(r, chip, 1, o) &&
        (!ss_run_has_values(r) || put(o, "digest", json_string(digest))))
        return o;
    json_decref(o);
    return NULL;
}

/* What syncs of several chips joined, and what went between chips after them. */
static int put_outer(const struct run *r, json_t *o)
{
    size_t n = pod_outer_count(r->pod);
    uint64_t packets = 0, bytes = 0;

    for (size_t i = 0; i < n; i++) {
        packets += pod_outer_at(r->pod, i)->packets;
        bytes += pod_outer_at(r->pod, i)->bytes;
    }
    return put_number(o, "outer_syncs", n) && put_number(o, "packets_between_chips", packets) &&
           put_number(o, "bytes_between_chips", bytes);
}

static int put_system(struct run *r, json_t *o)
{
    json_t *list;

    if (r->chips == 1)
        return 1;
    list = json_array();
    for (uint32_t chip = 0; list && chip < r->chips; chip++) {
        if (json_array_append_new(list, chip_json(r, chip))) {
            json_decref(list);
            return 0;
        }
    }
    return put_outer(r, o) && put(o, "each_chip", list);
}

/* ---- figures ---- */

static int put_figures(struct run *r, json_t *o)
{
    const struct arch *a = ss_image_arch(r->im);
    uint64_t cycles = pod_cycles(r->pod);
    double seconds = (double)cycles / ((double)a->clock_mhz * 1e6);
    char digest[33], engine[RUN_ENGINE_TEXT];

    ss_run_engine_text(r, engine);
    if (ss_run_has_values(r))
        hash128_text(pod_digest(r->pod), digest);
    return put(o, "machine", json_string(a->name)) &&
           put(o, "machine_changes", ss_arch_changes(a)) && put_chip(r, o, "chips", r->chips) &&
           put_number(o, "tiles", a->tiles) &&
           put_number(o, "tiles_used",
                      image_tile_count(r->im) * r->chips / image_chip_count(r->im)) &&
           put(o, "groups", groups_json(r)) && put_number(o, "host_answers", r->runs) &&
           put_number(o, "cycles", cycles) && put(o, "seconds", json_real(seconds)) &&
           put_words(r, 0, r->chips, o) && put(o, "engine", json_string(engine)) &&
           (!ss_run_has_values(r) || put(o, "digest", json_string(digest))) && put_system(r, o);
}

json_t *ss_run_report(struct run *r, const char *status, const json_t *differences, uint64_t total,
                      uint64_t checked)
{
    json_t *o = r ? json_object() : NULL;
    int ok = o && put(o, "status", json_string(status));

    if (!o)
        return NULL;
    if (r->error)
        ok = ok && put(o, "message", json_text(r->error));
    if (r->stop == MACHINE_FAULT)
        ok = ok && put(o, "fault", fault_json(r));
    if (r->stop == MACHINE_DEADLOCK)
        ok = ok && put(o, "waiting", waits_json(r));
    ok = ok && put_figures(r, o);
    if (image_stream_count(r->im))
        ok = ok && put(o, "streams", streams_json(r));
    if (differences) {
        ok = ok && put_number(o, "expectations", checked) && put_number(o, "unmet", total) &&
             json_object_set(o, "differences", (json_t *)(uintptr_t)differences) == 0;
    }
    if (r->options.check)
        ok = ok && put_checks(r, o);
    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

/* ---- supersteps ---- */

void run_print_steps(const struct run *r, const struct tile_list *tiles, FILE *f)
{
    for (uint32_t chip = 0; chip < r->chips; chip++) {
        const struct record *record = r->chip[chip].record;

        if (r->chips > 1)
            fprintf(f, "%schip %" PRIu32 "\n", chip ? "\n" : "", chip);
        ss_bill_print_steps(record, r->im, f);
        if (!tiles || !tiles->count)
            continue;
        fprintf(f, "\n");
        ss_bill_print_tiles(record, tiles->tile, tiles->count, f);
    }
}

static json_t *steps_json(const struct run *r, const struct tile_list *tiles, uint32_t chip)
{
    return ss_bill_steps_json(r->chip[chip].record, r->im, tiles ? tiles->tile : NULL,
                              tiles ? tiles->count : 0);
}

/* The steps of all chips in one list, each with its chip. */
static enum emu_status put_steps_of_chips(const struct run *r, const struct tile_list *tiles,
                                          json_t *report)
{
    json_t *all = json_array(), *step;
    int ok = all != NULL;
    size_t i;

    for (uint32_t chip = 0; chip < r->chips && ok; chip++) {
        json_t *steps = steps_json(r, tiles, chip);

        json_array_foreach(steps, i, step)
        {
            ok = ok && put_chip(r, step, "chip", chip);
        }
        ok = ok && steps && json_array_extend(all, steps) == 0;
        json_decref(steps);
    }
    if (!ok) {
        json_decref(all);
        return FAIL(NO_MEMORY, "the answer");
    }
    return json_object_set_new(report, "steps", all) ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

enum emu_status run_put_steps(const struct run *r, const struct tile_list *tiles, json_t *report)
{
    json_t *bsp;

    if (r->chips > 1)
        return put_steps_of_chips(r, tiles, report);
    if (json_object_set_new(report, "steps", steps_json(r, tiles, 0)))
        return FAIL(NO_MEMORY, "the answer");
    TRY(run_bsp_json(r, &bsp));
    return json_object_set_new(report, "bsp", bsp) ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

/* ---- lines ---- */

static void print_value(const char *key, const json_t *v, FILE *f)
{
    char text[64];

    if (json_is_string(v)) {
        fprintf(f, "%s %s\n", key, json_string_value(v));
    } else if (json_is_integer(v)) {
        fprintf(f, "%s %" JSON_INTEGER_FORMAT "\n", key, json_integer_value(v));
    } else if (json_is_real(v)) {
        snprintf(text, sizeof(text), "%.6g", json_real_value(v));
        fprintf(f, "%s %s\n", key, text);
    } else {
        fprintf(f, "%s none\n", key);
    }
}

static void print_tree(const char *prefix, const json_t *v, FILE *f)
{
    char key[KEY_BYTES];
    const char *name;
    json_t *child;

    if (json_is_object(v)) {
        json_object_foreach((json_t *)(uintptr_t)v, name, child)
        {
            snprintf(key, sizeof(key), "%s%s%s", prefix, prefix[0] ? "." : "", name);
            print_tree(key, child, f);
        }
    } else if (json_is_array(v)) {
        for (size_t i = 0; i < json_array_size(v); i++) {
            snprintf(key, sizeof(key), "%s[%zu]", prefix, i);
            print_tree(key, json_array_get(v, i), f);
        }
    } else {
        print_value(prefix, v, f);
    }
}

void ss_run_print(const json_t *report, FILE *f)
{
    print_tree("", report, f);
}

enum { JSON_VERSION = 2 }; /* docs/json.md */

void ss_run_print_json(const json_t *report, FILE *f)
{
    json_t *o = json_is_object(report) ? json_pack("{s:i}", "json_version", JSON_VERSION) : NULL;

    if (o && json_object_update(o, (json_t *)(uintptr_t)report)) {
        json_decref(o);
        o = NULL; /* without its version rather than not at all */
    }
    json_dumpf(o ? o : report, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    fprintf(f, "\n");
    json_decref(o);
}
