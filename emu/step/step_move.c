/* step_move.c - commands that move: what they ask of the stepper, and what stopped it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/job/case_run.h"
#include "emu/step/step_answer.h"

/* ---- before and after a move ---- */

static void note_registers(struct step_shell *h)
{
    const struct tile *t = step_tile_of(h);

    h->before.chip = stepper_chip(h->s);
    h->before.tile = stepper_tile(h->s);
    memcpy(h->before.m, t->m, sizeof(h->before.m));
    memcpy(h->before.a, t->a, sizeof(h->before.a));
    h->before.is_set = 1;
}

static void say_lanes(struct step_shell *h, uint32_t lanes)
{
    int first = 1;

    for (unsigned k = 0; k <= LANE_SUPER; k++) {
        if (!(lanes >> k & 1))
            continue;
        step_say(h, "%s%s", first ? " " : ", ", case_lane_name(k));
        first = 0;
    }
}

/* Systems of one chip say nothing of chips. */
static void put_chip(const struct step_shell *h, json_t *o, const char *key, uint32_t chip)
{
    if (stepper_run_of(h->s)->chips > 1)
        json_object_set_new(o, key, json_integer(chip));
}

void step_writer(struct step_shell *h, const struct memory_writer *w)
{
    static const char *const kinds[] = {
        [WRITER_CONTEXT] = "context", [WRITER_TILE] = "tile", [WRITER_HOST] = "host"
    };
    char place[STEP_PLACE_TEXT] = "", name[40];
    json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I}", "by", kinds[w->kind], "cycle",
                          (json_int_t)w->cycle, "tile", (json_int_t)w->tile, "address",
                          (json_int_t)w->addr, "bytes", (json_int_t)w->bytes);

    step_tile_name(h, w->chip, w->tile, name);
    step_say(h, "0x%x..0x%x of %s written ", w->addr, w->addr + w->bytes, name);
    put_chip(h, o, "chip", w->chip);
    if (w->kind == WRITER_CONTEXT) {
        place_text(step_image(h), w->chip, w->tile, w->pc, place, sizeof(place));
        step_say(h, "by %s at 0x%x %s: %s", case_lane_name(w->lane), w->pc, place, w->text);
        json_object_set_new(o, "context", json_string(case_lane_name(w->lane)));
        json_object_set_new(o, "pc", json_integer(w->pc));
        json_object_set_new(o, "place", json_text(place));
        json_object_set_new(o, "instruction", json_text(w->text));
    } else if (w->kind == WRITER_TILE) {
        place_text(step_image(h), w->from_chip, w->from, w->from_addr, place, sizeof(place));
        step_tile_name(h, w->from_chip, w->from, name);
        step_say(h, "by words from %s, 0x%x %s", name, w->from_addr, place);
        put_chip(h, o, "from_chip", w->from_chip);
        json_object_set_new(o, "from", json_integer(w->from));
        json_object_set_new(o, "from_address", json_integer(w->from_addr));
        json_object_set_new(o, "place", json_text(place));
    } else {
        step_say(h, "by the host");
    }
    step_say(h, ", cycle %" PRIu64 "\n", w->cycle);
    step_put(h, "writer", o);
}

static void say_end(struct step_shell *h)
{
    char *text;

    switch (stepper_state(h->s)) {
    case STEPPER_ENDED:
        step_say(h, "the run has ended\n");
        break;
    case STEPPER_FAULTED:
        text = ss_run_stop_text(stepper_run_of(h->s));
        step_say(h, "fault: %s\n", text ? text : "?");
        step_put(h, "fault", json_string(text ? text : "?"));
        ss_free(text);
        break;
    case STEPPER_DEADLOCK:
    case STEPPER_ERROR:
        step_say(h, "%s\n", stepper_why(h->s));
        step_put(h, "message", json_text(stepper_why(h->s)));
        break;
    case STEPPER_RUNS:
        break;
    }
}

/* The issue that was reached, with what it has left. */
static void say_issue(struct step_shell *h, const struct stepper_stop *stop)
{
    const struct issue *i = &stop->issue;
    uint32_t chip = stepper_chip(h->s);
    char text[STEP_PLACE_TEXT], place[STEP_PLACE_TEXT], prefix[40];

    if (!i->pc)
        return;
    step_tile_prefix(h, chip, i->tile, prefix);
    step_item(h, chip, i->tile, i->pc, text, sizeof(text));
    place_text(step_image(h), chip, i->tile, i->pc, place, sizeof(place));
    step_say(h, "%10" PRIu64 " %s%s 0x%05x %-24s %s%s%s\n", i->cycle, prefix,
             case_lane_name(i->lane), i->pc, place, text, *stop->values ? "   " : "", stop->values);
    step_put(h, "issue",
             json_pack("{s:I, s:I, s:s, s:I, s:s, s:s, s:s}", "cycle", (json_int_t)i->cycle, "tile",
                       (json_int_t)i->tile, "context", case_lane_name(i->lane), "pc",
                       (json_int_t)i->pc, "place", place, "instruction", text, "values",
                       stop->values));
}

static void say_stop(struct step_shell *h, const struct stepper_stop *stop)
{
    static const char *const reasons[] = { [STOP_END] = "end",
                                           [STOP_THERE] = "there",
                                           [STOP_BREAK] = "breakpoint",
                                           [STOP_WATCH] = "watchpoint",
                                           [STOP_INTERRUPT] = "interrupt" };

    step_put(h, "stop", json_string(reasons[stop->why]));
    if (stop->point)
        step_put(h, "point", json_integer(stop->point));
    switch (stop->why) {
    case STOP_END:
        say_end(h);
        break;
    case STOP_THERE:
        say_issue(h, stop);
        break;
    case STOP_BREAK:
        step_say(h, "breakpoint %d:", stop->point);
        say_lanes(h, stop->lanes);
        step_say(h, "\n");
        break;
    case STOP_WATCH:
        step_say(h, "watchpoint %d: ", stop->point);
        step_writer(h, &stop->writer);
        break;
    case STOP_INTERRUPT:
        step_say(h, "interrupted\n");
        break;
    }
    step_where(h);
}

static int has_goal_lane(const struct stepper_stop *stop)
{
    return stop->why == STOP_BREAK || (stop->why == STOP_THERE && stop->lanes);
}

/* Moves; at a breakpoint the context is one that is about to issue there. */
static enum emu_status go(struct step_shell *h, const struct goal *g)
{
    struct stepper_stop stop;

    if (stepper_state(h->s) != STEPPER_RUNS) {
        say_end(h);
        return FAIL(USAGE, "there is nothing after this: `back` goes back");
    }
    note_registers(h);
    TRY(stepper_go(h->s, g, &stop));
    for (unsigned i = 0; i < STEPPER_POINTS && stop.point; i++) {
        const struct stepper_point *p = stepper_point_at(h->s, i);

        if (p && p->number == stop.point)
            stepper_choose(h->s, p->chip, p->tile, stepper_lane(h->s));
    }
    if (has_goal_lane(&stop) && !(stop.lanes >> stepper_lane(h->s) & 1))
        stepper_choose(h->s, stepper_chip(h->s), stepper_tile(h->s),
                       (unsigned)__builtin_ctz(stop.lanes));
    if (stop.why == STOP_WATCH && stop.writer.kind == WRITER_CONTEXT)
        stepper_choose(h->s, stepper_chip(h->s), stepper_tile(h->s), stop.writer.lane);
    say_stop(h, &stop);
    return EMU_OK;
}

static enum emu_status go_back_to(struct step_shell *h, uint64_t cycle)
{
    note_registers(h);
    TRY(stepper_go_to(h->s, cycle));
    step_where(h);
    return EMU_OK;
}

/* ---- forwards ---- */

/* A count that may be left out: then 1. */
static enum emu_status count_of(const struct step_words *w, const char *what, uint64_t *n)
{
    *n = 1;
    return w->count ? step_number(w->word[0], what, 1, 1000000000, n) : EMU_OK;
}

enum emu_status do_superstep(struct step_shell *h, const struct step_words *w)
{
    struct goal g = { .kind = GOAL_SUPERSTEP };

    TRY(count_of(w, "superstep", &g.number));
    g.number += stepper_superstep(h->s);
    return go(h, &g);
}

enum emu_status do_phase(struct step_shell *h, const struct step_words *w)
{
    struct goal g = { .kind = GOAL_PHASE };

    TRY(count_of(w, "phase", &g.number));
    return go(h, &g);
}

enum emu_status do_step(struct step_shell *h, const struct step_words *w)
{
    struct goal g = { .kind = GOAL_ISSUE };

    TRY(count_of(w, "step", &g.number));
    return go(h, &g);
}

enum emu_status do_continue(struct step_shell *h, const struct step_words *w)
{
    const struct goal g = { .kind = GOAL_END };

    (void)w;
    return go(h, &g);
}

/* ---- to ---- */

/* The beginning of a superstep that the run has come past. */
static uint64_t known_begin(const struct step_shell *h, uint64_t superstep)
{
    uint64_t here = stepper_superstep(h->s);

    if (superstep == here)
        return stepper_begin(h->s);
    return superstep ? stepper_boundary_before(
                           h->s, here - superstep + (stepper_begin(h->s) < stepper_cycle(h->s)))
                     : 0;
}

static enum emu_status to_superstep(struct step_shell *h, const char *word)
{
    struct goal g = { .kind = GOAL_SUPERSTEP };

    TRY(step_number(word, "superstep", 0, UINT32_MAX, &g.number));
    if (g.number <= stepper_superstep(h->s))
        return go_back_to(h, known_begin(h, g.number));
    return go(h, &g);
}

static enum emu_status to_cycle(struct step_shell *h, const char *word)
{
    struct goal g = { .kind = GOAL_CYCLE };

    TRY(step_number(word, "cycle", 0, UINT64_MAX / 4, &g.number));
    if (g.number <= stepper_cycle(h->s))
        return go_back_to(h, g.number);
    return go(h, &g);
}

static enum emu_status to_pc(struct step_shell *h, const char *word)
{
    struct goal g = { .kind = GOAL_PC, .any_lane = 1 };
    struct step_place p;

    TRY(step_place(h, word, &p));
    stepper_choose(h->s, p.chip, p.tile, stepper_lane(h->s));
    g.number = p.addr;
    return go(h, &g);
}

static enum emu_status to_layer(struct step_shell *h, const char *word)
{
    const struct goal g = { .kind = GOAL_NAME, .name = word };

    if (!stepper_names(h->s))
        return FAIL(USAGE, "the supersteps of this program have no names");
    return go(h, &g);
}

/* "3", or "1.3" of another chip. */
static enum emu_status choose_tile(struct step_shell *h, const char *word)
{
    const struct run *r = stepper_run_of(h->s);
    const char *dot = strchr(word, '.');
    uint64_t n, chip = stepper_chip(h->s);
    char first[24];

    if (dot && (size_t)(dot - word) < sizeof(first)) {
        snprintf(first, sizeof(first), "%.*s", (int)(dot - word), word);
        TRY(step_number(first, "chip", 0, r->chips - 1, &chip));
        word = dot + 1;
    }
    TRY(step_number(word, "tile", 0, ss_image_arch(r->im)->tiles - 1, &n));
    if (!machine_tile_used(machine_of_chip(r, (uint32_t)chip), (uint32_t)n)) {
        char name[40];

        step_tile_name(h, (uint32_t)chip, (uint32_t)n, name);
        return FAIL(USAGE, "%s takes no part in the program", name);
    }
    stepper_choose(h->s, (uint32_t)chip, (uint32_t)n, stepper_lane(h->s));
    return EMU_OK;
}

static enum emu_status to_tile(struct step_shell *h, const char *word)
{
    const struct goal g = { .kind = GOAL_TILE };

    TRY(choose_tile(h, word));
    return go(h, &g);
}

enum emu_status do_to(struct step_shell *h, const struct step_words *w)
{
    static const struct {
        const char *name;
        enum emu_status (*go)(struct step_shell *h, const char *word);
    } places[] = { { "superstep", to_superstep },
                   { "cycle", to_cycle },
                   { "pc", to_pc },
                   { "layer", to_layer },
                   { "tile", to_tile } };
    const struct goal end = { .kind = GOAL_END, .ignores_points = 1 };

    if (w->count == 1 && !strcmp(w->word[0], "begin"))
        return go_back_to(h, 0);
    if (w->count == 1 && (!strcmp(w->word[0], "end") || !strcmp(w->word[0], "fault")))
        return go(h, &end);
    for (size_t i = 0; w->count == 2 && i < EMU_COUNT_OF(places); i++) {
        if (!strncmp(places[i].name, w->word[0], strlen(w->word[0])))
            return places[i].go(h, w->word[1]);
    }
    return FAIL(USAGE, "to what? superstep N, cycle N, pc PLACE, layer NAME, tile N, begin or end");
}

/* ---- back ---- */

static enum emu_status back_issues(struct step_shell *h, uint64_t n)
{
    uint64_t found;

    note_registers(h);
    TRY(stepper_back_issues(h->s, n, &found));
    if (found < n)
        step_say(h, "%s has issued %" PRIu64 " before that\n", case_lane_name(stepper_lane(h->s)),
                 found);
    step_where(h);
    return EMU_OK;
}

enum emu_status do_back(struct step_shell *h, const struct step_words *w)
{
    uint64_t n = 1, here = stepper_cycle(h->s);
    const char *unit = "superstep";

    for (unsigned k = 0; k < w->count; k++) {
        if (w->word[k][0] >= '0' && w->word[k][0] <= '9')
            TRY(step_number(w->word[k], "back", 1, 1000000, &n));
        else
            unit = w->word[k];
    }
    if (!strncmp("superstep", unit, strlen(unit)))
        return go_back_to(h, stepper_boundary_before(h->s, n));
    if (!strncmp("bundle", unit, strlen(unit)) || !strcmp(unit, "step"))
        return back_issues(h, n);
    if (!strncmp("cycle", unit, strlen(unit)))
        return go_back_to(h, here > n ? here - n : 0);
    return FAIL(USAGE, "back: '%.60s' is not superstep, bundle or cycle", unit);
}

/* ---- points ---- */

static enum emu_status add_point(struct step_shell *h, const struct stepper_point *p)
{
    int number = stepper_add_point(h->s, p);
    char place[STEP_PLACE_TEXT], name[40];

    if (!number)
        return FAIL(USAGE, "there are %d breakpoints and watchpoints already", STEPPER_POINTS);
    place_text(step_image(h), p->chip, p->tile, p->addr, place, sizeof(place));
    step_tile_name(h, p->chip, p->tile, name);
    step_say(h, "%s %d: %s, 0x%x %s\n", p->is_watch ? "watchpoint" : "breakpoint", number, name,
             p->addr, place);
    step_put(h, "point", json_integer(number));
    return EMU_OK;
}

enum emu_status do_break(struct step_shell *h, const struct step_words *w)
{
    struct stepper_point p = { .lane = POINT_ANY_LANE };
    struct step_place at;

    if (!w->count)
        return FAIL(USAGE, "break where? break PLACE [CONTEXT]");
    TRY(step_place(h, w->word[0], &at));
    p.chip = at.chip;
    p.tile = at.tile;
    p.addr = at.addr;
    if (w->count > 1) {
        p.lane = lane_of_name(w->word[1]);
        if (p.lane == TILE_LANES)
            return FAIL(USAGE, "'%.60s' is no context: s, or w0 to w5", w->word[1]);
    }
    return add_point(h, &p);
}

enum emu_status do_watch(struct step_shell *h, const struct step_words *w)
{
    struct stepper_point p = { .is_watch = 1 };
    struct step_place at;

    if (!w->count)
        return FAIL(USAGE, "watch what? watch PLACE: the bytes of a name, or BASE..END; else four");
    TRY(step_place(h, w->word[0], &at));
    p.chip = at.chip;
    p.tile = at.tile;
    p.addr = at.addr;
    p.bytes = at.count ? 4 * at.count : at.bytes ? at.bytes : 4;
    return add_point(h, &p);
}

enum emu_status do_delete(struct step_shell *h, const struct step_words *w)
{
    uint64_t n;

    if (!w->count)
        return FAIL(USAGE, "delete which? delete N, or delete all");
    if (!strcmp(w->word[0], "all")) {
        for (unsigned i = 0; i < STEPPER_POINTS; i++) {
            if (stepper_point_at(h->s, i))
                stepper_delete_point(h->s, stepper_point_at(h->s, i)->number);
        }
        return EMU_OK;
    }
    TRY(step_number(w->word[0], "delete", 1, INT32_MAX, &n));
    return stepper_delete_point(h->s, (int)n) ? EMU_OK
                                              : FAIL(USAGE, "there is no point %" PRIu64, n);
}

enum emu_status do_tile(struct step_shell *h, const struct step_words *w)
{
    unsigned at = 0, lane = stepper_lane(h->s);

    if (w->count && w->word[0][0] >= '0' && w->word[0][0] <= '9')
        TRY(choose_tile(h, w->word[at++]));
    if (w->count > at) {
        lane = lane_of_name(w->word[at]);
        if (lane == TILE_LANES)
            return FAIL(USAGE, "'%.60s' is no context: s, or w0 to w5", w->word[at]);
    }
    stepper_choose(h->s, stepper_chip(h->s), stepper_tile(h->s), lane);
    step_where(h);
    return EMU_OK;
}

enum emu_status do_chip(struct step_shell *h, const struct step_words *w)
{
    uint64_t n = stepper_chip(h->s);
    uint32_t tile;

    if (w->count) {
        TRY(step_number(w->word[0], "chip", 0, stepper_run_of(h->s)->chips - 1, &n));
        tile = stepper_tile(h->s);
        if (!machine_tile_used(machine_of_chip(stepper_run_of(h->s), (uint32_t)n), tile))
            tile = stepper_first_tile(h->s, (uint32_t)n);
        if (tile == UINT32_MAX)
            return FAIL(USAGE, "chip %" PRIu64 " takes no part in the program", n);
        stepper_choose(h->s, (uint32_t)n, tile, stepper_lane(h->s));
    }
    step_where(h);
    return EMU_OK;
}

enum emu_status do_who(struct step_shell *h, const struct step_words *w)
{
    struct step_place p;
    struct memory_writer writer;
    int found;

    if (!w->count)
        return FAIL(USAGE, "who wrote what? who PLACE");
    TRY(step_place(h, w->word[0], &p));
    TRY(stepper_last_writer(h->s, p.chip, p.tile, p.addr,
                            p.count   ? 4 * p.count
                            : p.bytes ? p.bytes
                                      : 4,
                            &writer, &found));
    if (found)
        step_writer(h, &writer);
    else
        step_say(h, "nobody has written there since the run began\n");
    return EMU_OK;
}
