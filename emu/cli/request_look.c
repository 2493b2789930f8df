/* request_look.c - places as the stepper takes them, and its observers, in a plain run. */
#include "emu/cli/request_look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/cli/commands.h"
#include "emu/job/case_run.h"
#include "emu/job/manifest.h"
#include "emu/step/observe.h"
#include "emu/step/tile_place.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, steps)
OPTION_READ(TEXT, tiles)
OPTION_READ(LIST, show)
OPTION_READ(TEXT, trace_run)

enum { TEXT = 300 };

/* ---- supersteps ---- */

/* The tiles of --tiles; none when it was not given. */
static enum emu_status read_tiles(const struct request *q, const struct image *im,
                                  struct tile_list *out)
{
    *out = (struct tile_list){ .tile = NULL };
    if (!option_tiles(q))
        return EMU_OK;
    return tile_list_read_text("--tiles", option_tiles(q)[0] ? option_tiles(q) : "all",
                               ss_image_arch(im), out);
}

enum emu_status request_put_steps(const struct request *q, const struct run *r, json_t *answer,
                                  FILE *f)
{
    struct tile_list tiles;
    enum emu_status s = EMU_OK;

    if (!option_steps(q) && !option_tiles(q))
        return EMU_OK;
    TRY(read_tiles(q, r->im, &tiles));
    if (answer) {
        s = run_put_steps(r, &tiles, answer);
    } else {
        run_print_steps(r, &tiles, f);
        s = run_print_bsp(r, NULL, f);
    }
    tile_list_free(&tiles);
    return s;
}

/* ---- places ---- */

/* PLACE[:TYPE] */
static enum emu_status read_show(const struct image *im, const char *text, struct step_place *p,
                                 unsigned *type)
{
    const struct image_tile *first = image_tile_count(im) ? image_tile_at(im, 0) : NULL;
    char copy[TEXT];
    char *colon;

    if (strlen(text) >= sizeof(copy))
        return FAIL(USAGE, "--show: a place of %zu characters", strlen(text));
    snprintf(copy, sizeof(copy), "%s", text);
    colon = strrchr(copy, ':');
    if (colon && place_type_find(colon + 1, type))
        *colon = 0;
    else
        colon = NULL;
    if (tile_place_read(im, copy, first ? first->chip : 0, first ? first->tile : 0, NULL, p) !=
        EMU_OK)
        return FAIL(USAGE, "--show %s: %s", text, ss_error());
    if (!colon)
        *type = p->type;
    return EMU_OK;
}

enum emu_status request_show(const struct request *q, const struct run *r, json_t *answer, FILE *f)
{
    json_t *list = option_show(q)->count ? json_array() : NULL;
    enum emu_status s = EMU_OK;

    for (size_t i = 0; i < option_show(q)->count && s == EMU_OK; i++) {
        struct step_place p;
        unsigned type;
        const struct tile *t;

        s = read_show(r->im, option_show(q)->item[i], &p, &type);
        if (s != EMU_OK)
            break;
        t = machine_tile(machine_of_chip(r, p.chip), p.tile);
        if (option_json(q)) {
            json_t *o = place_json(t, p.addr, type, place_count(&p, type));

            if (r->chips > 1)
                json_object_set_new(o, "chip", json_integer(p.chip));
            json_array_append_new(list, o);
            continue;
        }
        fprintf(f, "%s tile %u", option_show(q)->item[i], p.tile);
        if (r->chips > 1)
            fprintf(f, " of chip %u", p.chip);
        fprintf(f, ", 0x%x, %s\n", p.addr, place_type_name(type));
        place_print(t, p.addr, type, place_count(&p, type), f);
    }
    if (list && option_json(q) && s == EMU_OK && answer)
        json_object_set(answer, "tile_memory", list);
    json_decref(list);
    return s;
}

/* ---- the trace ---- */

struct look_trace {
    const struct run *run; /* borrowed */
    struct observed *observed;
    uint32_t chip, tile;
    int has_superstep;
    uint64_t superstep;
};

/* "chip=1,tile=3,superstep=2", in any order. */
static enum emu_status read_trace(const struct request *q, const struct image *im,
                                  struct look_trace *out)
{
    char copy[TEXT], *rest = NULL;
    int has_tile = 0;

    snprintf(copy, sizeof(copy), "%s", option_trace_run(q));
    for (char *w = strtok_r(copy, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
        uint64_t n;

        if (!strncmp(w, "tile=", 5) && request_number(w + 5, 0, ss_image_arch(im)->tiles - 1, &n)) {
            out->tile = (uint32_t)n;
            has_tile = 1;
        } else if (!strncmp(w, "chip=", 5) &&
                   request_number(w + 5, 0, ss_image_arch(im)->chips - 1, &n)) {
            out->chip = (uint32_t)n;
        } else if (!strncmp(w, "superstep=", 10) &&
                   request_number(w + 10, 0, UINT64_MAX, &out->superstep)) {
            out->has_superstep = 1;
        } else {
            return FAIL(USAGE,
                        "--trace: '%.60s' is not tile=N, with N below %u, chip=N, with N below %u, "
                        "or superstep=N",
                        w, ss_image_arch(im)->tiles, ss_image_arch(im)->chips);
        }
    }
    if (!has_tile)
        return FAIL(USAGE, "--trace needs a tile: tile=N or tile=N,superstep=N");
    return image_find_tile(im, out->chip % image_chip_count(im), out->tile)
               ? EMU_OK
               : FAIL(USAGE, "--trace: tile %u takes no part in the program", out->tile);
}

static void print_issue(void *ctx, const struct tile *t, const struct issue *i)
{
    const struct look_trace *l = ctx;
    struct machine *m = machine_of_chip(l->run, l->chip);
    char place[TEXT], text[TEXT], values[TEXT];

    if (l->has_superstep && machine_supersteps(m, machine_tile_group(m, l->tile)) != l->superstep)
        return;
    place_text(l->run->im, l->chip, l->tile, i->pc, place, sizeof(place));
    issue_text(&i->main, i->is_bundle ? &i->aux : NULL, NULL, text, sizeof(text));
    issue_values(i, t, values, sizeof(values));
    fprintf(stderr, "%10" PRIu64 " %u.%s 0x%05x %-24s %s%s%s\n", i->cycle, l->tile,
            case_lane_name(i->lane), i->pc, place, text, *values ? "   " : "", values);
}

enum emu_status request_trace_begin(const struct request *q, struct run *r, struct look_trace **out)
{
    struct look_trace *l;
    enum emu_status s;

    *out = NULL;
    if (!option_trace_run(q))
        return EMU_OK;
    l = emu_alloc(1, sizeof(*l));
    if (!l)
        return FAIL(NO_MEMORY, "a trace");
    l->run = r;
    s = read_trace(q, r->im, l);
    if (s == EMU_OK)
        s = observe_begin(machine_of_chip(r, l->chip), l->tile,
                          &(struct observer_calls){ .ctx = l, .issued = print_issue },
                          &l->observed);
    if (s == EMU_OK)
        *out = l;
    else
        ss_free(l);
    return s;
}

void request_trace_end(struct look_trace *t)
{
    if (!t)
        return;
    observe_flush(t->observed);
    observe_end(t->observed);
    ss_free(t);
}

enum emu_status request_look_check(const struct request *q, const struct image *im)
{
    struct look_trace trace = { .run = NULL };
    struct tile_list tiles;

    TRY(read_tiles(q, im, &tiles));
    tile_list_free(&tiles);
    for (size_t i = 0; i < option_show(q)->count; i++) {
        struct step_place p;
        unsigned type;

        TRY(read_show(im, option_show(q)->item[i], &p, &type));
    }
    return option_trace_run(q) ? read_trace(q, im, &trace) : EMU_OK;
}

/* ---- findings ---- */

static void print_findings(struct run *r, FILE *f)
{
    static const char *const list[] = { "checks", "check_unheard", "check_clashes" };
    json_t *o = ss_run_report(r, "check", NULL, 0, 0);

    for (size_t i = 0; i < EMU_COUNT_OF(list); i++) {
        json_t *found = json_object_get(o, list[i]);

        if (json_array_size(found))
            ss_run_print(found, f);
    }
    json_decref(o);
}

int request_findings(const struct request *q, struct run *r, int listed)
{
    uint64_t words = 0;

    if (!run_check_findings(r))
        return 0;
    if (!listed)
        print_findings(r, request_notes(q));
    for (uint32_t chip = 0; chip < r->chips; chip++)
        words += exchange_clashes(machine_exchange(machine_of_chip(r, chip))).words;
    if (words)
        fprintf(request_notes(q),
                "superstep %s: --check: %" PRIu64 " words come into the memory element from which "
                "their tile sends or fetches then; compiled with --set exchange_clash=fault sends "
                "into and out of one array wait for each other, and what still clashes faults\n",
                q->command->name, words);
    return 1;
}
