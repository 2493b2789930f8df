/* step_look.c - commands that look: where the run is, registers, memory, code, the exchange. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_geometry.h"
#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/bsp/machine_state.h"
#include "emu/base/fp.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"
#include "emu/job/case_run.h"
#include "emu/step/step_answer.h"

enum {
    CODE_ITEMS = 8,       /* of disassemble, where no number is given */
    CODE_BACK = 4,        /* of them before the pc */
    MEMORY_MAX = 1 << 16, /* elements of one answer */
    LIST_MAX = 200,       /* lines of variables */
    LOG_LINES = 16
};

static const struct run *run_of(const struct step_shell *h)
{
    return stepper_run_of(h->s);
}

/* ---- names of tiles ---- */

void step_tile_name(const struct step_shell *h, uint32_t chip, uint32_t tile, char out[40])
{
    int n = snprintf(out, 40, "tile %u", tile);

    if (run_of(h)->chips > 1)
        snprintf(out + n, 40 - (size_t)n, " of chip %u", chip);
}

void step_tile_prefix(const struct step_shell *h, uint32_t chip, uint32_t tile, char out[40])
{
    if (run_of(h)->chips > 1)
        snprintf(out, 40, "%u.%u.", chip, tile);
    else
        snprintf(out, 40, "%u.", tile);
}

/* ---- code ---- */

/* The address that a branch goes to; 0: it is none, or goes where a register says. */
static uint32_t branch_target(const struct insn *in)
{
    const struct insn_form *f = in->op < INSN_COUNT ? isa_op_form(in->op) : NULL;

    if (!f || (f->cost != COST_BRANCH && f->cost != COST_JUMP))
        return 0;
    for (unsigned k = 0; k < f->operand_count; k++) {
        if (f->operand[k].kind == OPD_ADDR)
            return f->operand[k].letter == 'i' ? (uint32_t)in->i : in->j;
    }
    return 0;
}

unsigned step_item(const struct step_shell *h, uint32_t chip, uint32_t tile, uint32_t addr,
                   char *out, size_t bytes)
{
    const struct tile *t = machine_tile(machine_of_chip(run_of(h), chip), tile);
    const struct image_tile *it = run_image_tile(run_of(h), chip, tile);
    uint32_t word[2] = { 0, 0 }, target, offset = 0;
    struct insn main, aux;
    char label[STEP_PLACE_TEXT] = "";
    int is_bundle;
    unsigned n;

    if (!tile_read(t, addr, word, 8) && !tile_read(t, addr, word, 4)) {
        snprintf(out, bytes, "no memory");
        return 0;
    }
    n = isa_decode(word, &main, &aux, &is_bundle);
    if (main.op == INSN_ILLEGAL) {
        snprintf(out, bytes, ".int 0x%08x", word[0]);
        return ISA_WORD_BYTES;
    }
    target = branch_target(&main);
    if (target) {
        const char *name = image_symbolize(step_image(h), it, target, &offset);

        if (name)
            snprintf(label, sizeof(label), offset ? "%.100s+0x%x" : "%.100s", name, offset);
    }
    issue_text(&main, is_bundle ? &aux : NULL, *label ? label : NULL, out, bytes);
    return n;
}

/* Contexts of the tile that stand at an address: "w0 w1 s". */
static void contexts_at(const struct tile *t, uint32_t addr, char *out, size_t bytes)
{
    size_t n = 0;

    out[0] = 0;
    for (unsigned lane = 0; lane <= LANE_SUPER && n + 4 < bytes; lane++) {
        if (t->state[lane] != CONTEXT_INACTIVE && t->pc[lane] == addr)
            n += (size_t)snprintf(out + n, bytes - n, "%s%s", n ? " " : "", case_lane_name(lane));
    }
}

/* Where an answer begins that has some items before pc: items are found from the symbol on. */
static uint32_t code_before(const struct step_shell *h, uint32_t chip, uint32_t tile, uint32_t pc)
{
    const struct image_tile *it = run_image_tile(run_of(h), chip, tile);
    uint32_t offset = 0, last[CODE_BACK], n = 0;
    char text[STEP_PLACE_TEXT];

    if (!image_symbolize(step_image(h), it, pc, &offset) || offset > 1 << 16)
        return pc;
    for (uint32_t at = pc - offset; at < pc; n++) {
        unsigned bytes = step_item(h, chip, tile, at, text, sizeof(text));

        last[n % CODE_BACK] = at;
        if (!bytes)
            return pc;
        at += bytes;
        if (at > pc)
            return pc; /* what is before is no code */
    }
    return n < CODE_BACK ? pc - offset : last[n % CODE_BACK];
}

enum emu_status do_disassemble(struct step_shell *h, const struct step_words *w)
{
    struct step_place p = { .chip = stepper_chip(h->s),
                            .tile = stepper_tile(h->s),
                            .addr = step_tile_of(h)->pc[stepper_lane(h->s)] };
    uint64_t n = CODE_ITEMS;
    json_t *list = json_array();
    enum emu_status s = EMU_OK;

    if (w->count)
        s = step_place(h, w->word[0], &p);
    else
        p.addr = code_before(h, p.chip, p.tile, p.addr);
    if (s == EMU_OK && w->count > 1)
        s = step_number(w->word[1], "disassemble", 1, MEMORY_MAX, &n);
    p.addr &= ~3u;
    for (uint64_t i = 0; s == EMU_OK && i < n; i++) {
        char text[STEP_PLACE_TEXT], place[STEP_PLACE_TEXT], who[32];
        unsigned bytes = step_item(h, p.chip, p.tile, p.addr, text, sizeof(text));

        if (!bytes)
            break;
        place_text(step_image(h), p.chip, p.tile, p.addr, place, sizeof(place));
        contexts_at(machine_tile(machine_of_chip(run_of(h), p.chip), p.tile), p.addr, who,
                    sizeof(who));
        step_say(h, "%s 0x%05x %-24s %s%s%s\n", *who ? ">" : " ", p.addr, place, text,
                 *who ? "   " : "", who);
        json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:s}", "address", (json_int_t)p.addr,
                                              "place", place, "text", text, "contexts", who));
        p.addr += bytes;
    }
    step_put(h, "code", list);
    return s;
}

/* ---- where ---- */

static const char *state_name(const struct step_shell *h, unsigned lane)
{
    const struct tile *t = step_tile_of(h);

    if (t->state[lane] == CONTEXT_EXCEPTED)
        return "faulted";
    if (t->state[lane] == CONTEXT_INACTIVE)
        return "inactive";
    if (lane == LANE_SUPER && stepper_waits(h->s))
        return "waits";
    if (lane == LANE_SUPER && machine_barrel(stepper_machine(h->s), stepper_tile(h->s))->waiting)
        return "waits for its workers";
    return "runs";
}

void step_where(struct step_shell *h)
{
    static const char *const states[] = { [STEPPER_RUNS] = "runs",
                                          [STEPPER_ENDED] = "ended",
                                          [STEPPER_FAULTED] = "faulted",
                                          [STEPPER_DEADLOCK] = "deadlock",
                                          [STEPPER_ERROR] = "error" };
    uint32_t chip = stepper_chip(h->s), tile = stepper_tile(h->s);
    unsigned lane = stepper_lane(h->s);
    const struct tile *t = step_tile_of(h);
    const char *waits = stepper_waits(h->s);
    uint64_t superstep = stepper_superstep(h->s), cycle = stepper_cycle(h->s);
    const char *name = stepper_name(h->s, superstep);
    char place[STEP_PLACE_TEXT], text[STEP_PLACE_TEXT], prefix[40];
    json_t *o;

    step_tile_prefix(h, chip, tile, prefix);
    place_text(step_image(h), chip, tile, t->pc[lane], place, sizeof(place));
    step_item(h, chip, tile, t->pc[lane], text, sizeof(text));
    step_say(h, "cycle %" PRIu64 ", superstep %" PRIu64 " + %" PRIu64 "%s%s%s, %s | %s%s ", cycle,
             superstep, cycle - stepper_begin(h->s), name ? " (" : "", name ? name : "",
             name ? ")" : "", stepper_phase(h->s), prefix, case_lane_name(lane));
    if (waits && lane == LANE_SUPER)
        step_say(h, "waits %s, before ", waits);
    else if (strcmp(state_name(h, lane), "runs") != 0)
        step_say(h, "%s, ", state_name(h, lane));
    step_say(h, "0x%05x %s: %s\n", t->pc[lane], place, text);
    o = json_pack("{s:I, s:I, s:I, s:s, s:s, s:i, s:s, s:s, s:I, s:s, s:s}", "cycle",
                  (json_int_t)cycle, "superstep", (json_int_t)superstep, "begin",
                  (json_int_t)stepper_begin(h->s), "phase", stepper_phase(h->s), "run",
                  states[stepper_state(h->s)], "tile", (int)tile, "context", case_lane_name(lane),
                  "state", state_name(h, lane), "pc", (json_int_t)t->pc[lane], "place", place,
                  "next", text);
    if (run_of(h)->chips > 1)
        json_object_set_new(o, "chip", json_integer(chip));
    if (name)
        json_object_set_new(o, "layer", json_text(name));
    if (waits)
        json_object_set_new(o, "waits", json_text(waits));
    step_put(h, "where", o);
}

enum emu_status do_where(struct step_shell *h, const struct step_words *w)
{
    (void)w;
    step_where(h);
    return EMU_OK;
}

/* ---- registers ---- */

static int has_changed(const struct step_shell *h, const uint32_t (*before)[TILE_LANES], unsigned r,
                       uint32_t now)
{
    return h->before.is_set && h->before.tile == stepper_tile(h->s) &&
           h->before.chip == stepper_chip(h->s) && before[r][stepper_lane(h->s)] != now;
}

static json_t *register_json(uint32_t v, int changed)
{
    return json_pack("{s:I, s:b}", "bits", (json_int_t)v, "changed", changed);
}

static void say_register(struct step_shell *h, json_t *o, char file, unsigned r, uint32_t v,
                         int changed)
{
    char name[8], text[40];

    snprintf(name, sizeof(name), "%c%u", file, r);
    if (file == 'm')
        snprintf(text, sizeof(text), "%" PRId32, (int32_t)v);
    else
        snprintf(text, sizeof(text), "%.6g", (double)fp_float(v));
    step_say(h, r % 3 == 2 ? "%c$%-3s 0x%08x %s\n" : "%c$%-3s 0x%08x %-13s", changed ? '*' : ' ',
             name, v, text);
    json_object_set_new(o, name, register_json(v, changed));
}

static void say_file(struct step_shell *h, json_t *o, char file)
{
    const struct tile *t = step_tile_of(h);
    unsigned lane = stepper_lane(h->s), registers = file == 'm' ? 15 : 14;

    for (unsigned r = 0; r < registers; r++) {
        uint32_t v = file == 'm' ? tile_m(t, lane, r) : tile_a(t, lane, r);

        say_register(h, o, file, r, v,
                     file == 'm'
                         ? has_changed(h, (const uint32_t(*)[TILE_LANES])h->before.m, r, v)
                         : has_changed(h, (const uint32_t(*)[TILE_LANES])h->before.a, r, v));
    }
    if (registers % 3)
        step_say(h, "\n");
}

/* Reading a control register has no effect but for $PRNG_x, which are copied back. */
static void say_csrs(struct step_shell *h, json_t *o)
{
    struct tile *t = step_tile_of(h);
    unsigned lane = stepper_lane(h->s), n = 0;

    for (size_t i = 0; i < isa_csr_count(); i++) {
        const struct csr_row *r = isa_csr_row(i);
        struct prng prng = t->prng[lane];
        uint32_t v;

        if (!(r->access & 1) || (r->space == 'S') != (lane == LANE_SUPER))
            continue;
        v = tile_csr_get(t, lane, r->space, r->index);
        t->prng[lane] = prng;
        step_say(h, " %-18s 0x%08x%s", r->name, v, ++n % 3 ? "" : "\n");
        json_object_set_new(o, r->name, json_integer(v));
    }
    if (n % 3)
        step_say(h, "\n");
}

enum emu_status do_registers(struct step_shell *h, const struct step_words *w)
{
    const char *which = w->count ? w->word[0] : "";
    int all = !strcmp(which, "all");
    json_t *o;

    if (*which && !all && strcmp(which, "m") != 0 && strcmp(which, "a") != 0 &&
        strcmp(which, "csr") != 0)
        return FAIL(USAGE, "registers: '%.60s' is not m, a, csr or all", which);
    o = json_object();
    if (!*which || all || !strcmp(which, "m"))
        say_file(h, o, 'm');
    if (stepper_lane(h->s) != LANE_SUPER && (!*which || all || !strcmp(which, "a")))
        say_file(h, o, 'a');
    if (all || !strcmp(which, "csr"))
        say_csrs(h, o);
    step_put(h, "registers", o);
    return EMU_OK;
}

/* ---- memory ---- */

enum emu_status do_memory(struct step_shell *h, const struct step_words *w)
{
    struct step_place p;
    unsigned type, at = 1;
    uint64_t n;
    char place[STEP_PLACE_TEXT], name[40];
    const struct tile *t;
    json_t *o;

    if (!w->count)
        return FAIL(USAGE, "memory where? memory PLACE [TYPE] [N]");
    TRY(step_place(h, w->word[0], &p));
    type = p.type;
    if (w->count > at && (w->word[at][0] < '0' || w->word[at][0] > '9') &&
        !place_type_find(w->word[at++], &type))
        return FAIL(USAGE, "memory: '%.60s' is not u8, i8, u16, i16, u32, i32, f16, f32 or hex",
                    w->word[1]);
    n = place_count(&p, type);
    if (w->count > at)
        TRY(step_number(w->word[at], "memory", 1, MEMORY_MAX, &n));
    t = machine_tile(machine_of_chip(run_of(h), p.chip), p.tile);
    place_text(step_image(h), p.chip, p.tile, p.addr, place, sizeof(place));
    if (!h->json) {
        step_tile_name(h, p.chip, p.tile, name);
        step_say(h, "%s, 0x%x %s, %s\n", name, p.addr, place, place_type_name(type));
        if (n > 1024 && w->count <= at)
            step_say(h, "(the first 1024 of %" PRIu64 ")\n", n);
        place_print(t, p.addr, type, (uint32_t)(n > 1024 && w->count <= at ? 1024 : n), h->out);
        return EMU_OK;
    }
    o = place_json(t, p.addr, type, (uint32_t)(n < MEMORY_MAX ? n : MEMORY_MAX));
    if (run_of(h)->chips > 1)
        json_object_set_new(o, "chip", json_integer(p.chip));
    step_put(h, "memory", o);
    step_put(h, "place", json_text(place));
    return EMU_OK;
}

/* ---- names ---- */

static void say_name(struct step_shell *h, json_t *list, uint32_t addr, uint32_t bytes,
                     const char *kind, const char *name, unsigned *lines)
{
    if (++*lines <= LIST_MAX)
        step_say(h, "0x%05x %7u %-14s %s\n", addr, bytes, kind, name);
    json_array_append_new(list, json_pack("{s:I, s:I, s:s, s:s}", "address", (json_int_t)addr,
                                          "bytes", (json_int_t)bytes, "kind", kind, "name", name));
}

enum emu_status do_variables(struct step_shell *h, const struct step_words *w)
{
    const struct image *im = step_image(h);
    const struct image_tile *t = run_image_tile(run_of(h), stepper_chip(h->s), stepper_tile(h->s));
    const char *part = w->count ? w->word[0] : "";
    json_t *list = json_array();
    unsigned lines = 0;
    size_t n;
    const struct image_symbol *s = image_symbols_of(im, t->symbols, &n);

    for (size_t i = 0; i < n; i++) {
        if (strstr(image_text(im, s[i].name), part))
            say_name(h, list, s[i].addr, s[i].bytes, "symbol", image_text(im, s[i].name), &lines);
    }
    const struct image_range *r = image_map_of(im, t->map, &n);

    for (size_t i = 0; i < n; i++) {
        if (strstr(image_text(im, r[i].owner), part) || strstr(image_text(im, r[i].category), part))
            say_name(h, list, r[i].addr, r[i].bytes, image_text(im, r[i].category),
                     image_text(im, r[i].owner), &lines);
    }
    if (lines > LIST_MAX)
        step_say(h, "and %u more: variables TEXT\n", lines - LIST_MAX);
    step_put(h, "variables", list);
    return EMU_OK;
}

/* ---- the exchange ---- */

static void say_sends(struct step_shell *h, const struct exchange_log *log, json_t *list)
{
    for (size_t i = 0; i < log->sends; i++) {
        const struct exchange_send *s = &log->send[i];
        char place[STEP_PLACE_TEXT];

        place_text(step_image(h), stepper_chip(h->s), log->tile, s->addr, place, sizeof(place));
        if (i < LOG_LINES)
            step_say(h, "  event %u: sends %u words from 0x%x %s\n", s->event, s->words, s->addr,
                     place);
        json_array_append_new(list, json_pack("{s:i, s:i, s:i}", "event", (int)s->event, "address",
                                              (int)s->addr, "words", (int)s->words));
    }
}

/* What it has sent to other chips, as far as their phase is not over. */
static void say_transfers(struct step_shell *h, const struct exchange_log *log, json_t *list)
{
    for (size_t i = 0; i < log->transfers; i++) {
        const struct exchange_transfer *s = &log->transfer[i];
        int event = (int)(s->cycle - log->release);
        char place[STEP_PLACE_TEXT];

        place_text(step_image(h), stepper_chip(h->s), log->tile, s->from, place, sizeof(place));
        if (i < LOG_LINES)
            step_say(h, "  event %d: sends %u words from 0x%x %s to 0x%x of tile %u of chip %u\n",
                     event, s->to.words, s->from, place, s->to.addr, s->to.tile, s->to.chip);
        json_array_append_new(list, json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "event", event,
                                              "address", (int)s->from, "words", (int)s->to.words,
                                              "to_chip", (int)s->to.chip, "to_tile",
                                              (int)s->to.tile, "to_address", (int)s->to.addr));
    }
}

static void say_sets(struct step_shell *h, const struct exchange_log *log, json_t *muxes,
                     json_t *pointers)
{
    const struct arch *a = ss_image_arch(step_image(h));

    for (size_t i = 0; i < log->muxes; i++) {
        int from = arch_tile_logical(a, log->mux[i].value);

        if (i < LOG_LINES && from >= 0)
            step_say(h, "  event %u: listens to tile %d\n", log->mux[i].event, from);
        else if (i < LOG_LINES)
            step_say(h, "  event %u: listens to nobody\n", log->mux[i].event);
        json_array_append_new(
            muxes, json_pack("{s:i, s:i}", "event", (int)log->mux[i].event, "tile", from));
    }
    for (size_t i = 0; i < log->pics; i++) {
        if (i < LOG_LINES)
            step_say(h, "  event %u: incoming pointer 0x%x\n", log->pic[i].event,
                     log->pic[i].value);
        json_array_append_new(pointers, json_pack("{s:i, s:i}", "event", (int)log->pic[i].event,
                                                  "address", (int)log->pic[i].value));
    }
}

enum emu_status do_exchange(struct step_shell *h, const struct step_words *w)
{
    const struct arch *a = ss_image_arch(step_image(h));
    struct tile *t = step_tile_of(h);
    const struct exchange_log *log =
        exchange_log_of(machine_exchange(stepper_machine(h->s)), stepper_tile(h->s));
    uint32_t mux = tile_csr_get(t, LANE_SUPER, 'S', CSR_S_INCOMING_MUX);
    uint32_t base = tile_csr_get(t, LANE_SUPER, 'S', CSR_S_INCOMING_BASE);
    uint32_t delta = tile_csr_get(t, LANE_SUPER, 'S', CSR_S_INCOMING_DELTA);
    uint32_t awaited = tile_csr_get(t, LANE_SUPER, 'S', CSR_S_INCOMING_DCOUNT);
    int from = arch_tile_logical(a, mux);
    json_t *sends = json_array(), *muxes = json_array(), *pointers = json_array();

    (void)w;
    if (from >= 0)
        step_say(h, "listens to tile %d (mux %u)", from, mux);
    else
        step_say(h, "listens to nobody (mux %u)", mux);
    step_say(h,
             ", incoming pointer 0x%x + 0x%x, outgoing base 0x%x, %u words of the host%s awaited\n",
             base, 4 * delta, tile_csr_get(t, LANE_SUPER, 'S', CSR_S_OUTGOING_BASE), awaited,
             run_of(h)->chips > 1 ? " or other chips" : "");
    step_say(h,
             "this exchange: %zu sends of %u words, %zu changes of the mux, %zu of the pointer\n",
             log->sends, log->words_out, log->muxes, log->pics);
    say_sends(h, log, sends);
    say_transfers(h, log, sends);
    say_sets(h, log, muxes, pointers);
    step_put(h, "exchange",
             json_pack("{s:i, s:i, s:I, s:I, s:i, s:o, s:o, s:o}", "mux", (int)mux, "tile", from,
                       "incoming_base", (json_int_t)base, "incoming_delta", (json_int_t)4 * delta,
                       "awaited", (int)awaited, "sends", sends, "muxes", muxes, "pointers",
                       pointers));
    return EMU_OK;
}

/* ---- the run ---- */

enum emu_status do_info(struct step_shell *h, const struct step_words *w)
{
    json_t *list = json_array();

    (void)w;
    for (unsigned i = 0; i < STEPPER_POINTS; i++) {
        const struct stepper_point *p = stepper_point_at(h->s, i);
        char place[STEP_PLACE_TEXT], name[40];

        if (!p)
            continue;
        place_text(step_image(h), p->chip, p->tile, p->addr, place, sizeof(place));
        step_tile_name(h, p->chip, p->tile, name);
        step_say(h, "%d %s %s, 0x%x %s", p->number, p->is_watch ? "watch" : "break", name, p->addr,
                 place);
        if (p->is_watch)
            step_say(h, ", %u bytes\n", p->bytes);
        else
            step_say(h, "%s%s\n", p->lane == POINT_ANY_LANE ? "" : ", ",
                     p->lane == POINT_ANY_LANE ? "" : case_lane_name(p->lane));
        json_array_append_new(list, json_pack("{s:i, s:b, s:i, s:I, s:I, s:s}", "number", p->number,
                                              "watch", p->is_watch, "tile", (int)p->tile, "address",
                                              (json_int_t)p->addr, "bytes", (json_int_t)p->bytes,
                                              "place", place));
        if (run_of(h)->chips > 1)
            json_object_set_new(json_array_get(list, json_array_size(list) - 1), "chip",
                                json_integer(p->chip));
    }
    step_put(h, "points", list);
    return EMU_OK;
}

enum emu_status do_history(struct step_shell *h, const struct step_words *w)
{
    const struct history *past = stepper_history(h->s);

    (void)w;
    step_say(h, "%zu states of the past: %.1f MiB, beside a copy of memory of %.1f MiB\n",
             history_count(past), (double)history_bytes(past) / (1 << 20),
             (double)history_copy_bytes(past) / (1 << 20));
    step_put(h, "history",
             json_pack("{s:I, s:I, s:I}", "states", (json_int_t)history_count(past), "bytes",
                       (json_int_t)history_bytes(past), "copy_bytes",
                       (json_int_t)history_copy_bytes(past)));
    return EMU_OK;
}

enum emu_status do_table(struct step_shell *h, const struct step_words *w)
{
    const struct record *r = stepper_record(h->s);
    uint64_t n = 16, group = machine_tile_group(stepper_machine(h->s), stepper_tile(h->s));
    size_t first = record_count(r), seen = 0;
    json_t *list;

    if (w->count)
        TRY(step_number(w->word[0], "table", 1, UINT32_MAX, &n));
    list = json_array();
    while (first && seen < n)
        seen += record_at(r, --first)->group == group;
    step_say(h, "superstep      begins   cycles  words in   %s\n", "what");
    for (size_t i = first; i < record_count(r); i++) {
        const struct record_step *s = record_at(r, i);
        const char *name = s->group == group ? stepper_name(h->s, s->index) : NULL;
        struct tile_step t = record_tile(r, i, stepper_tile(h->s));

        if (s->group != group)
            continue;
        step_say(h, "%9" PRIu64 " %11" PRIu64 " %8" PRIu64 " %9u   %s\n", s->index, s->release,
                 s->end - s->release, t.words_in, name ? name : "");
        json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:i, s:s}", "superstep",
                                              (json_int_t)s->index, "begin", (json_int_t)s->release,
                                              "end", (json_int_t)s->end, "words_in",
                                              (int)t.words_in, "layer", name ? name : ""));
    }
    step_put(h, "supersteps", list);
    return EMU_OK;
}

/* Tiles of a chip that wait for the same. */
struct wait_kind {
    const char *text; /* NULL: they run */
    uint32_t count, first;
};

enum { WAIT_TEXTS = 16 };

static uint32_t collect_waits(const struct step_shell *h, uint32_t chip,
                              struct wait_kind kind[WAIT_TEXTS])
{
    const struct machine *m = machine_of_chip(run_of(h), chip);
    uint32_t kinds = 0;

    for (uint32_t i = 0; i < ss_image_arch(step_image(h))->tiles; i++) {
        const char *waits = machine_place(m, i).waits;
        uint32_t k = 0;

        if (!machine_tile_used(m, i))
            continue;
        while (k < kinds && kind[k].text != waits)
            k++;
        if (k == kinds && kinds < WAIT_TEXTS)
            kind[kinds++] = (struct wait_kind){ .text = waits, .first = i };
        if (k < kinds)
            kind[k].count++;
    }
    return kinds;
}

static void say_waits(struct step_shell *h, uint32_t chip, json_t *list)
{
    struct wait_kind kind[WAIT_TEXTS];
    uint32_t kinds = collect_waits(h, chip, kind);

    for (uint32_t k = 0; k < kinds; k++) {
        int one = kind[k].count == 1;
        char first[40];
        json_t *o = json_pack("{s:i, s:i, s:s}", "tiles", (int)kind[k].count, "first",
                              (int)kind[k].first, "wait", kind[k].text ? kind[k].text : "");

        step_tile_name(h, chip, kind[k].first, first);
        step_say(h, "%u tile%s %s%s (the first: %s)\n", kind[k].count, one ? "" : "s",
                 kind[k].text ? (one ? "waits " : "wait ") : (one ? "runs" : "run"),
                 kind[k].text ? kind[k].text : "", first);
        if (run_of(h)->chips > 1)
            json_object_set_new(o, "chip", json_integer(chip));
        json_array_append_new(list, o);
    }
}

enum emu_status do_waits(struct step_shell *h, const struct step_words *w)
{
    json_t *list = json_array();

    (void)w;
    for (uint32_t chip = 0; chip < run_of(h)->chips; chip++)
        say_waits(h, chip, list);
    step_put(h, "waits", list);
    return EMU_OK;
}

enum emu_status do_digest(struct step_shell *h, const struct step_words *w)
{
    struct hash128 d = stepper_digest(h->s);
    char text[33];

    (void)w;
    hash128_text(d, text);
    step_say(h, "digest %s\n", text);
    step_put(h, "digest", json_string(text));
    return EMU_OK;
}
