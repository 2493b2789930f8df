/* test_report.c - compiled programs made by hand: categories, gaps and free bytes add up, sums that
 * do not are found, and reports say what fills the tiles and what would help. */
#include "tests/fixtures/lowered_fixture.h"

#include <string.h>

#include "programs/compiler/report/memory_report.h"
#include "programs/compiler/report/count_text.h"
#include "programs/compiler/report/memory_advice.h"

struct report_rig {
    struct handmade r;
    struct compiled c;
    uint32_t code[8];
};

static void report_rig_init(struct report_rig *x, const char *machine, uint32_t tiles, uint32_t ops)
{
    *x = (struct report_rig){ 0 };
    handmade_init(&x->r, machine, tiles, ops, 11);
    x->c.graph = x->r.graph;
    x->c.lowered = &x->r.l;
    x->c.codelets.bytes = 256;
    for (uint32_t t = 0; t < tiles; t++)
        x->code[t] = 1024 + 8 * t;
}

static uint32_t add(struct report_rig *x, uint32_t tile, enum category category, uint32_t bytes,
                    uint32_t live, const char *owner)
{
    uint32_t id = handmade_object(&x->r, tile, bytes, live, owner);

    x->r.l.object.at[id].category = (uint8_t)category;
    return id;
}

static void place(struct report_rig *x)
{
    OK(place_objects(&x->r.l, x->code, 1, &x->c.place));
    OK(placement_check(&x->r.l, &x->c.place, 1));
}

static void report_rig_free(struct report_rig *x)
{
    ss_image_free(x->c.image);
    placement_free(&x->c.place);
    ss_free(x->c.schedule);
    handmade_free(&x->r);
    assert_int_equal(alloc_live(), 0);
}

/* Everything ss_compiled_report() writes; ss_free it. */
static char *text_of(const struct compiled *c)
{
    char *text, *copy;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    ss_compiled_report(c, f);
    fclose(f);
    copy = emu_strdup(text);
    free(text);
    assert_non_null(copy);
    return copy;
}

static void assert_says(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("expected \"%s\" in:\n%s", words, text);
}

/* ---- sums ---- */

/* Category of every byte, painted in the order of the rule: first the objects in use at the worst
 * moment, then the others by number. */
static void paint(const struct report_rig *x, uint32_t tile, uint64_t bytes[CATEGORY_COUNT])
{
    uint8_t *taken = emu_alloc(x->r.arch.mem_bytes, 1);

    assert_non_null(taken);
    memset(bytes, 0, CATEGORY_COUNT * sizeof(*bytes));
    for (int dead = 0; dead < 2; dead++)
        for (size_t i = 0; i < x->r.l.object.count; i++) {
            const struct object *o = &x->r.l.object.at[i];

            if (o->tile != tile ||
                object_in_use(&x->r.l, o, x->c.place.tile[tile].peak_step) == dead)
                continue;
            for (uint32_t k = o->addr - x->r.arch.mem_base, n = 0; n < o->bytes; n++)
                if (!taken[k + n]) {
                    taken[k + n] = 1;
                    bytes[o->category]++;
                }
        }
    ss_free(taken);
}

static void fill_random(struct report_rig *x, uint32_t tiles)
{
    static const enum category kinds[] = { CATEGORY_VARIABLE,       CATEGORY_CONSTANT,
                                           CATEGORY_VERTEX_STATE,   CATEGORY_WORK_LIST,
                                           CATEGORY_MESSAGE_BUFFER, CATEGORY_REARRANGEMENT };

    for (uint32_t t = 0; t < tiles; t++)
        for (uint32_t i = 0; i < 30; i++) {
            char name[32];

            snprintf(name, sizeof(name), "thing%zu", x->r.l.object.count);
            add(x, t, kinds[handmade_below(&x->r, 6)], 1 + handmade_below(&x->r, 3000),
                handmade_below(&x->r, 3) ? handmade_random_live(&x->r) : LIVE_ALWAYS, name);
        }
}

static void test_sums(void **state)
{
    struct report_rig x;
    struct memory_report a;

    (void)state;
    report_rig_init(&x, "toy16", 8, 20);
    fill_random(&x, 8);
    place(&x);
    assert_true(x.c.place.fits);
    OK(memory_report_init(&x.c, &a));
    assert_int_equal(a.over, 0);
    for (uint32_t t = 0; t < 8; t++) {
        uint64_t bytes[CATEGORY_COUNT], sum = 0;
        struct owner_bytes *o;
        size_t n;

        paint(&x, t, bytes);
        bytes[CATEGORY_VERTEX_CODE] += 256;
        bytes[CATEGORY_CONTROL_CODE] += x.code[t] - 256;
        assert_memory_equal(a.tile[t].category, bytes, sizeof(bytes));
        for (int i = 0; i < CATEGORY_COUNT; i++)
            sum += bytes[i];
        assert_int_equal(sum + a.tile[t].gap + a.tile[t].free, x.r.arch.mem_bytes);
        OK(memory_report_owners(&a, t, &o, &n));
        sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += o[i].bytes;
            assert_true(!i || o[i].bytes <= o[i - 1].bytes);
        }
        assert_int_equal(sum, x.c.place.tile[t].peak_bytes);
        ss_free(o);
    }
    assert_int_equal(a.fullest_count, FULLEST_TILES);
    for (uint32_t i = 1; i < FULLEST_TILES; i++)
        assert_true(a.tile[a.fullest[i - 1]].used >= a.tile[a.fullest[i]].used);
    assert_int_equal(a.used.most, a.tile[a.fullest[0]].used);
    memory_report_free(&a);
    report_rig_free(&x);
}

/* ---- against an image ---- */

static uint32_t image_id(struct image *im, const char *text)
{
    uint32_t id;

    OK(image_string(im, text, &id));
    return id;
}

/* An image with one tile: code of two categories, then its objects, which do not overlap. damage: 1
 * a wrong category, 2 a range too short, 3 a range too many. */
static void make_image(struct report_rig *x, int damage)
{
    struct image_range range[8];
    struct image_tile tile = { .entry = x->r.arch.mem_base };
    uint32_t base = x->r.arch.mem_base, n = 2;

    OK(image_new(&x->r.arch, &x->c.image));
    range[0] = (struct image_range){ base, 256, image_id(x->c.image, "vertex code"),
                                     image_id(x->c.image, "codelet") };
    range[1] =
        (struct image_range){ base + 256, x->code[0] - 256, image_id(x->c.image, "exchange code"),
                              image_id(x->c.image, "gather") };
    for (size_t i = x->r.l.object.count; i--; n++) { /* placed from the top downwards */
        const struct object *o = &x->r.l.object.at[i];

        range[n] = (struct image_range){ o->addr, o->bytes,
                                         image_id(x->c.image, category_name(o->category)),
                                         image_id(x->c.image, "owner") };
    }
    if (damage == 1)
        range[2].category = image_id(x->c.image, "work list");
    if (damage == 2)
        range[2].bytes -= 4;
    if (damage == 3) {
        memmove(range + 3, range + 2, (n++ - 2) * sizeof(*range));
        range[2] = (struct image_range){ base + x->code[0], 8, image_id(x->c.image, "secret"), 0 };
    }
    OK(image_map(x->c.image, range, n, &tile.map));
    OK(image_add_tile(x->c.image, &tile, NULL, 0));
    OK(image_check_map(x->c.image, image_tile_at(x->c.image, 0)));
}

static void test_image_says_the_same(void **state)
{
    (void)state;
    for (int damage = 0; damage < 4; damage++) {
        struct report_rig x;
        struct memory_report a;

        report_rig_init(&x, "toy4", 1, 4);
        add(&x, 0, CATEGORY_VARIABLE, 4000, LIVE_ALWAYS, "v");
        add(&x, 0, CATEGORY_CONSTANT, 2000, LIVE_ALWAYS, "c");
        place(&x);
        make_image(&x, damage);
        if (damage) {
            assert_int_equal(memory_report_init(&x.c, &a), EMU_BAD_PROGRAM);
            assert_says(ss_error(), "tile 0");
            assert_says(ss_error(), damage == 1 ? "'constant'" : "in the image");
        } else {
            OK(memory_report_init(&x.c, &a));
            assert_int_equal(a.tile[0].category[CATEGORY_VERTEX_CODE], 256);
            assert_int_equal(a.tile[0].category[CATEGORY_EXCHANGE_CODE], 768);
            assert_int_equal(a.tile[0].category[CATEGORY_VARIABLE], 4000);
        }
        memory_report_free(&a);
        report_rig_free(&x);
    }
}

/* A placement whose figures are wrong is not reported. */
static void test_wrong_figures_are_found(void **state)
{
    (void)state;
    for (int damage = 0; damage < 3; damage++) {
        struct report_rig x;
        struct memory_report a;

        report_rig_init(&x, "toy16", 2, 6);
        fill_random(&x, 2);
        place(&x);
        x.c.place.tile[1].used_bytes += damage == 0 ? 4 : 0;
        x.c.place.tile[1].peak_bytes -= damage == 1 ? 4 : 0;
        x.c.place.tile[1].gap_bytes += damage == 2 ? 4 : 0;
        assert_int_equal(memory_report_init(&x.c, &a), EMU_BAD_PROGRAM);
        assert_says(ss_error(), "tile 1");
        memory_report_free(&a);
        report_rig_free(&x);
    }
}

/* ---- texts ---- */

static void test_counts(void **state)
{
    (void)state;
    assert_string_equal(count_text(0).at, "0");
    assert_string_equal(count_text(999).at, "999");
    assert_string_equal(count_text(1000).at, "1,000");
    assert_string_equal(count_text(1234567).at, "1,234,567");
    assert_string_equal(count_text(UINT64_MAX).at, "18,446,744,073,709,551,615");
}

static void test_report_names_moment_and_owners(void **state)
{
    static const uint32_t late[] = { 2, 3 };
    struct report_rig x;
    uint32_t live;
    char *text;

    (void)state;
    report_rig_init(&x, "toy4", 2, 4);
    live = handmade_live(&x.r, 1, late);
    add(&x, 0, CATEGORY_VARIABLE, 4000, LIVE_ALWAYS, "net/weights");
    add(&x, 1, CATEGORY_VARIABLE, 5000, LIVE_ALWAYS, "net/weights");
    add(&x, 1, CATEGORY_REARRANGEMENT, 12345, live, "net/multiply");
    place(&x);
    text = text_of(&x.c);
    assert_says(text, "Memory of 2 tiles of toy4, 65,536 bytes each\n");
    assert_says(text, "worst moment: step 2 'step2' (compute), 18,377 bytes in use");
    assert_says(text, "12,345 bytes   rearrangement    net/multiply");
    assert_says(text,
                "On every tile, categories, gaps and free bytes add up to its memory exactly");
    assert_says(text, "131,072"); /* the memory of both */
    assert_null(strstr(text, "OUT OF MEMORY"));
    if (getenv("SUPERSTEP_SHOW"))
        fputs(text, stderr);
    ss_free(text);
    report_rig_free(&x);
}

/* ---- out of memory ---- */

/* Tiles 0 and 1 of toy4: a variable on them alone, a temporary, much exchange code on tile 2. */
static void make_oom(struct report_rig *x)
{
    static const uint32_t late[] = { 3, 5 };
    uint32_t live;

    report_rig_init(x, "toy4", 3, 6);
    live = handmade_live(&x->r, 1, late);
    for (uint32_t t = 0; t < 2; t++) {
        add(x, t, CATEGORY_VARIABLE, 50000, LIVE_ALWAYS, "net/weights");
        add(x, t, CATEGORY_MESSAGE_BUFFER, 30000, live, "net/gather");
    }
    add(x, 2, CATEGORY_VARIABLE, 400, LIVE_ALWAYS, "small");
    x->r.l.step.at[1].kind = STEP_EXCHANGE;
    x->code[2] = 40000;
    x->c.schedule = emu_alloc(6, sizeof(*x->c.schedule));
    assert_non_null(x->c.schedule);
    place(x);
}

static void test_oom_report(void **state)
{
    struct tile_schedule exchange = { .tile = 2, .bytes = 36000 };
    struct report_rig x;
    char *text;

    (void)state;
    make_oom(&x);
    x.c.schedule[1] = (struct exchange_schedule){ .tile = &exchange, .tiles = 1 };
    text = text_of(&x.c);
    if (getenv("SUPERSTEP_SHOW"))
        fputs(text, stderr);
    assert_says(text, "OUT OF MEMORY: 3 of 3 tiles do not fit\n");
    assert_says(text, "81,032    123.6 %            1,032   1\n");
    assert_says(text, "81,024    123.6 %            1,024   0\n");
    assert_true(strstr(text, "81,032 ") < strstr(text, "81,024 "));
    assert_says(text, "2; code is longer than region 0\n");
    assert_says(text, "worst moment: step 3 'step3'");
    assert_says(text, "exchange code takes 36,000 of the 40,000 bytes of code on tile 2");
    assert_says(text,
                "Spread variable 'net/weights' over more tiles: it sits on 2 of 4, with 50,000 "
                "bytes on tile 1; dealt out evenly it would take 25,000 bytes on each.");
    assert_says(text, "Split 'net/gather' into parts");
    assert_says(text, "--set region0_bytes=49152 --set mem_bytes=81920");
    ss_free(text);
    x.c.target = EXCHANGE_MEMORY;
    text = text_of(&x.c);
    assert_says(text, "although it was scheduled for memory");
    ss_free(text);
    report_rig_free(&x);
}

/* What the advice says about the machine is true. */
static void test_oom_advice_is_enough(void **state)
{
    struct report_rig x;
    struct memory_report a;
    struct advice v;
    unsigned bytes = 0;

    (void)state;
    report_rig_init(&x, "toy16", 8, 20);
    for (int i = 0; i < 3; i++)
        fill_random(&x, 8);
    place(&x);
    assert_false(x.c.place.fits);
    OK(memory_report_init(&x.c, &a));
    OK(shortage_advice(&a, &v));
    assert_true(v.line.count > 0);
    assert_says(v.line.at[0], "is large by itself");
    assert_int_equal(sscanf(v.line.at[v.line.count - 1],
                            "A machine with more memory: --set mem_bytes=%u", &bytes),
                     1);
    advice_free(&v);
    memory_report_free(&a);
    placement_free(&x.c.place);
    x.r.graph->arch.mem_bytes = bytes;
    OK(ss_arch_check(&x.r.graph->arch));
    place(&x);
    assert_true(x.c.place.fits);
    report_rig_free(&x);
}

static void test_json(void **state)
{
    struct report_rig x;
    json_t *o, *tiles, *variable;

    (void)state;
    make_oom(&x);
    o = ss_compiled_report_json(&x.c);
    assert_non_null(o);
    assert_true(json_is_false(json_object_get(o, "fits")));
    assert_int_equal(json_integer_value(json_object_get(o, "tile_bytes")), 65536);
    assert_int_equal(json_integer_value(json_object_get(o, "need_bytes")), 81032);
    assert_int_equal(json_integer_value(json_object_get(o, "code_need_bytes")), 40000);
    variable = json_object_get(json_object_get(o, "by_category"), "variable");
    assert_int_equal(json_integer_value(json_object_get(variable, "total_bytes")), 100400);
    assert_int_equal(json_integer_value(json_object_get(variable, "max_bytes")), 50000);
    tiles = json_object_get(o, "tiles");
    assert_int_equal(json_array_size(tiles), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(tiles, 0), "tile")), 1);
    assert_int_equal(json_array_size(json_object_get(o, "tiles_over")), 3);
    assert_true(json_array_size(json_object_get(o, "advice")) >= 3);
    json_decref(o);
    report_rig_free(&x);
}

/* Needs beyond 4 GB are told. */
static void test_enormous_need(void **state)
{
    struct report_rig x;
    char *text;

    (void)state;
    report_rig_init(&x, "toy4", 1, 2);
    for (int i = 0; i < 3; i++)
        add(&x, 0, CATEGORY_VARIABLE, 4000000000u, LIVE_ALWAYS, "huge");
    place(&x);
    text = text_of(&x.c);
    assert_says(text, "12,000,001,024");
    assert_says(text, "No setting of mem_bytes helps");
    ss_free(text);
    report_rig_free(&x);
}

static void test_no_memory(void **state)
{
    struct report_rig x;
    struct memory_report a;
    long nth = 0;

    (void)state;
    make_oom(&x);
    for (;; nth++) {
        long live = alloc_live();
        struct advice v = { 0 };
        enum emu_status s;

        alloc_test_fail_at(nth);
        s = memory_report_init(&x.c, &a);
        if (s == EMU_OK)
            s = shortage_advice(&a, &v);
        alloc_test_fail_at(-1);
        advice_free(&v);
        memory_report_free(&a);
        assert_int_equal(alloc_live(), live);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
    }
    assert_true(nth > 8);
    report_rig_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_image_says_the_same),
        cmocka_unit_test(test_wrong_figures_are_found),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_report_names_moment_and_owners),
        cmocka_unit_test(test_oom_report),
        cmocka_unit_test(test_oom_advice_is_enough),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_enormous_need),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
