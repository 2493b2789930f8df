/* net_entry.c - writes and reads what the cache keeps of a compiled network. The JSON object:
 *
 *   rows    [layer, last, multiply-adds, bound, predicted, fullest tile, held, held by a tile,
 * name, block, operators] each held    the most that a tile holds of all rows plans   [row, method,
 * cuts of pictures, rows, columns, outputs, inputs, bytes of a tile] each steps   [superstep,
 * computes, row, cycles, then row and bytes of each share] each memory  memory_facts_pack() names
 * of the file of the weights; missing: there was none; more: of the command that kept it
 */
#include "models/keep/net_entry.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "programs/cli/program_request.h"

enum { ROW_NUMBERS = 8, PLAN_NUMBERS = 8, STEP_NUMBERS = 4 };

/* ---- numbers ---- */

static json_t *numbers(const uint64_t *value, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer((json_int_t)value[i]));
    return list;
}

/* ---- writing ---- */

static json_t *rows_json(const struct layer_cycles *k)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < k->rows; i++) {
        const struct layer_bill *b = &k->row[i];
        const uint64_t value[ROW_NUMBERS] = { b->layer,      b->last,           b->macs,
                                              b->bound,      b->predicted,      b->max_tile_bytes,
                                              b->held_bytes, b->held_tile_bytes };

        json_t *row = numbers(value, ROW_NUMBERS);

        json_array_append_new(row, json_text(k->text[i].name));
        json_array_append_new(row, json_text(k->text[i].block));
        json_array_append_new(row, json_text(k->text[i].op));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *plans_json(const struct layer_cycles *k)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < k->rows; i++) {
        const struct layer_plan *p = &k->plan[i];
        const uint64_t value[PLAN_NUMBERS] = { i,        p->method,  p->cut_n,  p->cut_h,
                                               p->cut_w, p->cut_out, p->cut_in, p->tile_bytes };

        if (p->planned)
            json_array_append_new(list, numbers(value, PLAN_NUMBERS));
    }
    return list;
}

static json_t *steps_json(const struct layer_cycles *k)
{
    json_t *list = json_array();

    for (size_t i = 0; i < k->steps; i++) {
        const struct billed_step *s = &k->step[i];
        const uint64_t value[STEP_NUMBERS] = { s->superstep, s->computes != 0, s->row, s->cycles };
        json_t *step = numbers(value, STEP_NUMBERS);

        for (uint32_t j = 0; j < s->shares; j++) {
            const struct moved_share *share = &k->share[s->first_share + j];

            json_array_append_new(step, json_integer(share->row));
            json_array_append_new(step, json_integer((json_int_t)share->bytes));
        }
        json_array_append_new(list, step);
    }
    return list;
}

static char *object_text(const struct compiled *c, const struct layer_cycles *k, const char *names,
                         json_t *more)
{
    json_t *o =
        json_pack("{s:o, s:I, s:o, s:o, s:o, s:s?, s:O?}", "rows", rows_json(k), "held",
                  (json_int_t)k->total.held_tile_bytes, "plans", plans_json(k), "steps",
                  steps_json(k), "memory", memory_facts_pack(c), "names", names, "more", more);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

    json_decref(o);
    return text;
}

enum emu_status net_entry_write(const struct compiled *c, const struct layer_cycles *k,
                                const char *names, json_t *more, const struct output_file *out)
{
    char *text = object_text(c, k, names, more);
    uint64_t bytes[2] = { text ? strlen(text) : 0, 0 };
    FILE *f = output_stream(out);
    void *profile = NULL;
    size_t n;
    enum emu_status s;
    int good;

    if (!text)
        return FAIL(NO_MEMORY, "an entry of the cache");
    s = program_profile_pack(c, &profile, &n);
    bytes[1] = n;
    good = s == EMU_OK && fwrite(bytes, sizeof(bytes), 1, f) == 1 &&
           fwrite(text, 1, bytes[0], f) == bytes[0] && fwrite(profile, 1, n, f) == n && !fflush(f);
    free(text); /* allocated by jansson */
    ss_free(profile);
    TRY(s);
    return good ? image_write_to(ss_compiled_image(c), out)
                : FAIL(IO, "%.200s: cannot be written", output_path(out));
}

/* ---- reading ---- */

/* The texts of a row, which point into the list. */
static int take_text(const json_t *row, struct layer_text *out)
{
    const char *text[3];

    for (size_t i = 0; i < EMU_COUNT_OF(text); i++) {
        text[i] = json_string_value(json_array_get(row, ROW_NUMBERS + i));
        if (!text[i])
            return 0;
    }
    out->name = text[0];
    out->block = text[1];
    snprintf(out->op, sizeof(out->op), "%s", text[2]);
    return 1;
}

/* Rows ascend, and the last one is the row of no layer. There are no rows when the order of the
 * program depends on data. */
static int take_rows(const json_t *list, struct layer_cycles *k)
{
    size_t rows = json_array_size(list), i;
    const json_t *row;
    int good;

    k->row = emu_alloc(rows + 1, sizeof(*k->row));
    k->plan = emu_alloc(rows + 1, sizeof(*k->plan));
    k->text = emu_alloc(rows + 1, sizeof(*k->text));
    good = k->row && k->plan && k->text;
    for (i = 0; good && i < rows; i++) {
        int last = i + 1 == rows;
        uint64_t v[ROW_NUMBERS];

        row = json_array_get(list, i);
        good = json_take_numbers(row, ROW_NUMBERS, v) && v[0] <= v[1] &&
               take_text(row, &k->text[i]) &&
               (last ? v[0] == BILL_NONE && v[1] == BILL_NONE
                     : v[1] < BILL_NONE && (!i || v[0] > k->row[i - 1].last));
        k->row[k->rows++] = (struct layer_bill){ .layer = (uint32_t)v[0],
                                                 .last = (uint32_t)v[1],
                                                 .macs = v[2],
                                                 .bound = v[3],
                                                 .predicted = v[4],
                                                 .max_tile_bytes = v[5],
                                                 .held_bytes = v[6],
                                                 .held_tile_bytes = v[7] };
    }
    return good;
}

static int take_plans(const json_t *list, struct layer_cycles *k)
{
    const json_t *plan;
    size_t i;

    json_array_foreach(list, i, plan)
    {
        uint64_t v[PLAN_NUMBERS];

        if (!json_take_numbers(plan, PLAN_NUMBERS, v) || v[0] >= k->rows || v[1] > CONV_POOL)
            return 0;
        k->plan[v[0]] = (struct layer_plan){ .planned = 1,
                                             .method = (enum conv_method)v[1],
                                             .cut_n = (uint32_t)v[2],
                                             .cut_h = (uint32_t)v[3],
                                             .cut_w = (uint32_t)v[4],
                                             .cut_out = (uint32_t)v[5],
                                             .cut_in = (uint32_t)v[6],
                                             .tile_bytes = v[7] };
    }
    return json_is_array(list);
}

static int take_step(const json_t *list, struct layer_cycles *k)
{
    size_t shares =
        json_array_size(list) < STEP_NUMBERS ? 0 : (json_array_size(list) - STEP_NUMBERS) / 2;
    struct billed_step *s = &k->step[k->steps++];
    uint64_t v[STEP_NUMBERS];

    if (!json_take_numbers(list, STEP_NUMBERS, v) || v[0] > UINT32_MAX || v[2] >= k->rows)
        return 0;
    *s = (struct billed_step){ .superstep = (uint32_t)v[0],
                               .computes = v[1] != 0,
                               .row = (uint32_t)v[2],
                               .first_share = (uint32_t)k->shares,
                               .shares = (uint32_t)shares,
                               .cycles = v[3] };
    for (size_t j = 0; j < shares; j++) {
        json_int_t row = json_integer_value(json_array_get(list, STEP_NUMBERS + 2 * j));
        json_int_t bytes = json_integer_value(json_array_get(list, STEP_NUMBERS + 2 * j + 1));

        if (row < 0 || row >= k->rows || bytes < 0)
            return 0;
        k->share[k->shares++] = (struct moved_share){ (uint32_t)row, (uint64_t)bytes };
    }
    return k->steps == 1 || s->superstep >= s[-1].superstep;
}

static int take_steps(const json_t *list, struct layer_cycles *k)
{
    const json_t *step;
    size_t shares = 0, i;
    int good;

    json_array_foreach(list, i, step)
    {
        shares += json_array_size(step);
    }
    k->step = emu_alloc(json_array_size(list) + 1, sizeof(*k->step));
    k->share = emu_alloc(shares + 1, sizeof(*k->share));
    good = json_is_array(list) && k->step && k->share;
    json_array_foreach(list, i, step)
    {
        good = good && take_step(step, k);
    }
    return good;
}

static int take_object(json_t *o, const struct arch *a, struct net_entry *e)
{
    const json_t *names = json_object_get(o, "names"), *held = json_object_get(o, "held");
    int good;

    e->rows = json_incref(json_object_get(o, "rows"));
    e->more = json_incref(json_object_get(o, "more"));
    good = json_is_integer(held) && json_integer_value(held) >= 0 &&
           take_rows(e->rows, &e->layers) && take_plans(json_object_get(o, "plans"), &e->layers) &&
           take_steps(json_object_get(o, "steps"), &e->layers) &&
           memory_facts_unpack(json_incref(json_object_get(o, "memory")), a->tiles, &e->memory);

    if (!good)
        return 0;
    e->layers.total.held_tile_bytes = (uint64_t)json_integer_value(held);
    layer_cycles_sum(&e->layers);
    if (json_is_string(names))
        e->names = emu_strdup(json_string_value(names));
    return !json_is_string(names) || e->names;
}

enum emu_status net_entry_read_object(const char *text, size_t bytes, const struct arch *a,
                                      struct net_entry *out)
{
    json_t *o = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    int good;

    memset(out, 0, sizeof(*out));
    good = o && take_object(o, a, out);
    json_decref(o);
    if (good)
        return EMU_OK;
    net_entry_free(out);
    return FAIL(BAD_IMAGE, "an entry of the cache: not what net_entry_write() writes");
}

enum emu_status net_entry_read(const void *body, size_t bytes, const struct arch *a, int for_timing,
                               struct net_entry *out)
{
    const uint8_t *at = body;
    enum emu_status s;
    uint64_t n[2] = { 0, 0 }, left = bytes;

    memset(out, 0, sizeof(*out));
    if (bytes >= sizeof(n)) {
        memcpy(n, at, sizeof(n));
        left -= sizeof(n);
    }
    if (bytes < sizeof(n) || n[0] > left || n[1] > left - n[0])
        return FAIL(BAD_IMAGE, "an entry of the cache: %zu bytes are too few", bytes);
    at += sizeof(n);
    TRY(net_entry_read_object((const char *)at, n[0], a, out));
    out->profile = emu_alloc(n[1] + 1, 1);
    out->profile_bytes = n[1];
    s = out->profile ? EMU_OK : FAIL(NO_MEMORY, "an entry of the cache");
    if (s == EMU_OK) {
        memcpy(out->profile, at + n[0], n[1]);
        s = (for_timing ? ss_image_read_bytes_for_timing : ss_image_read_bytes)(
            at + n[0] + n[1], left - n[0] - n[1], "an entry of the cache", &out->image);
    }
    if (s == EMU_OK)
        s = image_set_arch(out->image, a);
    if (s != EMU_OK)
        net_entry_free(out);
    return s;
}

void net_entry_free(struct net_entry *e)
{
    ss_image_free(e->image);
    layer_cycles_free(&e->layers);
    memory_facts_free(&e->memory);
    ss_free(e->names);
    ss_free(e->profile);
    json_decref(e->rows);
    json_decref(e->more);
    memset(e, 0, sizeof(*e));
}
