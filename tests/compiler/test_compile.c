/* test_compile.c - the driver: exchanges scheduled once and copied with the right objects, whole
 * compilations, progress, errors with the name of their stage, out of memory as a result. */
#include "emu/arch/arch_numbers.h"
#include "tests/fixtures/lowered_fixture.h"

#include <string.h>
#include <unistd.h>

#include "programs/compiler/compile_exchange.h"
#include "programs/compiler/compile_store.h"
#include "programs/compiler/compiled.h"

/* ---- exchanges ---- */

enum { TILES = 8, BYTES = 64 };

/* An exchange in which tile t sends to tile (t + step) % TILES, from objects from[] to to[]. */
static void add_ring(struct handmade *r, uint32_t op, uint32_t distance, const uint32_t *from,
                     const uint32_t *to)
{
    struct step *step = &r->l.step.at[op];

    step->kind = STEP_EXCHANGE;
    step->first = (uint32_t)r->l.message.count;
    step->count = TILES;
    for (uint32_t t = 0; t < TILES; t++) {
        struct message x = { from[t], 4 * t, BYTES / 2, (uint32_t)r->l.message_dest.count, 1 };

        OK(VEC_PUSH(&r->l.message, x));
        OK(VEC_PUSH(&r->l.message_dest, (struct message_dest){ to[(t + distance) % TILES], 8 }));
    }
}

/* Objects of four rows, one per tile in each. */
static void add_rows(struct handmade *r, uint32_t row[4][TILES])
{
    for (int i = 0; i < 4; i++)
        for (uint32_t t = 0; t < TILES; t++)
            row[i][t] = handmade_object(r, t, BYTES, LIVE_ALWAYS, "row");
}

/* The same code; addresses of a are in rows from and to, those of b in the rows two after. */
static void assert_like(const struct exchange_schedule *a, const struct exchange_schedule *b,
                        uint32_t row[4][TILES])
{
    assert_int_equal(a->tiles, TILES);
    assert_int_equal(b->tiles, TILES);
    assert_int_equal(a->events, b->events);
    for (uint32_t t = 0; t < TILES; t++) {
        struct packed_reader p = exchange_schedule_read(a, &a->tile[t]);
        struct packed_reader q = exchange_schedule_read(b, &b->tile[t]);

        assert_int_equal(a->tile[t].insns, b->tile[t].insns);
        for (uint32_t i = 0; i < a->tile[t].insns; i++) {
            const struct exchange_insn c = packed_code_next(&p), *x = &c;
            const struct exchange_insn d = packed_code_next(&q), *y = &d;

            assert_int_equal(x->op, y->op);
            assert_int_equal(x->event, y->event);
            assert_int_equal(x->source, y->source);
            if (exchange_has_from(x)) {
                assert_int_equal(a->object[x->from.base], row[0][a->tile[t].tile]);
                assert_int_equal(b->object[y->from.base], row[2][a->tile[t].tile]);
                assert_int_equal(x->from.bytes, y->from.bytes);
            }
            if (exchange_has_to(x)) {
                assert_int_equal(a->object[x->to.base], row[1][a->tile[t].tile]);
                assert_int_equal(b->object[y->to.base], row[3][a->tile[t].tile]);
                assert_int_equal(x->to.bytes, y->to.bytes);
            }
        }
    }
}

static void free_schedules(struct exchange_schedule *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        exchange_schedule_free(&s[i]);
    memset(s, 0, n * sizeof(*s));
}

static void test_equal_exchanges_share_a_schedule(void **state)
{
    struct exchange_schedule s[4] = { { 0 } };
    struct exchange_totals t;
    struct handmade r;
    uint32_t row[4][TILES];

    (void)state;
    handmade_init(&r, "toy16", TILES, 4, 1);
    add_rows(&r, row);
    add_ring(&r, 0, 3, row[0], row[1]);
    add_ring(&r, 1, 2, row[0], row[1]);
    add_ring(&r, 3, 3, row[2], row[3]);
    for (int threads = 1; threads <= 2; threads++) {
        OK(compile_exchanges(&r.l, EXCHANGE_CYCLES, threads, NULL, NULL, s, &t));
        assert_int_equal(t.exchanges, 3);
        assert_int_equal(t.different, 2);
        assert_int_equal(t.messages, 3 * TILES);
        assert_int_equal(s[2].tiles, 0);
        assert_like(&s[0], &s[3], row);
        assert_ptr_equal(s[0].tile, s[3].tile); /* two exchanges, one schedule */
        assert_ptr_equal(s[0].block, s[3].block);
        assert_true(s[0].block != s[1].block);
        free_schedules(s, 4);
    }
    handmade_free(&r);
    assert_int_equal(alloc_live(), 0);
}

static void test_exchange_errors_name_the_step(void **state)
{
    struct exchange_schedule s[3] = { { 0 } };
    struct exchange_totals t;
    struct handmade r;
    uint32_t row[4][TILES];

    (void)state;
    handmade_init(&r, "toy16", TILES, 3, 1);
    add_rows(&r, row);
    add_ring(&r, 0, 1, row[0], row[1]);
    add_ring(&r, 2, 1, row[0], row[1]);
    r.l.message_dest.at[TILES + 1] = r.l.message_dest.at[TILES]; /* two words for one byte */
    assert_int_equal(compile_exchanges(&r.l, EXCHANGE_CYCLES, 2, NULL, NULL, s, &t),
                     EMU_BAD_EXCHANGE);
    assert_non_null(strstr(ss_error(), "step 2, 'step2': "));
    free_schedules(s, 3);
    handmade_free(&r);
    assert_int_equal(alloc_live(), 0);
}

static void test_exchanges_without_memory(void **state)
{
    struct handmade r;
    uint32_t row[4][TILES];
    long nth = 0;

    (void)state;
    handmade_init(&r, "toy16", TILES, 3, 1);
    add_rows(&r, row);
    add_ring(&r, 0, 3, row[0], row[1]);
    add_ring(&r, 2, 3, row[2], row[3]);
    for (;; nth++) {
        struct exchange_schedule s[3] = { { 0 } };
        struct exchange_totals t;
        long live = alloc_live();
        enum emu_status status;

        alloc_test_fail_at(nth);
        status = compile_exchanges(&r.l, EXCHANGE_CYCLES, 1, NULL, NULL, s, &t);
        alloc_test_fail_at(-1);
        free_schedules(s, 3);
        assert_int_equal(alloc_live(), live);
        if (status == EMU_OK)
            break;
        assert_int_equal(status, EMU_NO_MEMORY);
    }
    assert_true(nth > 10);
    handmade_free(&r);
}

/* ---- whole compilations ---- */

/* Copies n elements spread over the tiles to one tile and back, twice. */
static struct graph *make_graph_for(const char *machine, uint32_t n)
{
    struct graph *g;
    struct tensor a, b;
    struct program p;

    OK(ss_graph_new(ss_arch_preset(machine), &ss_kernel_library, &g));
    a = ss_graph_variable(g, ELEM_F32, 1, &n, "spread");
    b = ss_graph_variable(g, ELEM_F32, 1, &n, "gathered");
    ss_graph_map_linear(g, a, 2, 2, 0, 16);
    ss_graph_map(g, b, 5);
    ss_graph_keep(g, a);
    p = ss_program_sequence(g);
    for (int i = 0; i < 2; i++) {
        ss_program_add(g, p, ss_program_copy(g, a, b));
        ss_program_add(g, p, ss_program_copy(g, b, a));
    }
    ss_graph_set_program(g, p);
    return g;
}

static struct graph *make_graph(uint32_t n)
{
    return make_graph_for("toy16", n);
}

/* The bytes of a file; ss_free them. */
static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = emu_alloc(1 << 20, 1);

    assert_non_null(f);
    assert_non_null(data);
    *n = fread(data, 1, 1 << 20, f);
    fclose(f);
    return data;
}

static void test_images_are_equal_for_any_threads(void **state)
{
    char path[2][64] = { "/tmp/superstep_test_compile_XXXXXX",
                         "/tmp/superstep_test_compile_XXXXXX" };
    uint8_t *data[2];
    size_t n[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct compile_options o = { .threads = 1 + i };
        struct graph *g = make_graph(800);
        struct compiled *c;
        int fd = mkstemp(path[i]);

        assert_true(fd >= 0);
        close(fd);
        OK(ss_graph_compile(g, &o, &c));
        assert_true(ss_compiled_fits(c));
        OK(ss_image_write(ss_compiled_image(c), path[i]));
        data[i] = read_all(path[i], &n[i]);
        unlink(path[i]);
        ss_compiled_free(c);
        ss_graph_free(g);
    }
    assert_true(n[0] == n[1] && n[0] > 1000);
    assert_memory_equal(data[0], data[1], n[0]);
    ss_free(data[0]);
    ss_free(data[1]);
    assert_int_equal(alloc_live(), 0);
}

/* ---- schedules ahead ---- */

/* Transposes of all tiles to all tiles, each larger than the one before, so that threads that
 * schedule ahead of the others choose among several; the last one is the first again. */
static struct graph *make_transposes(void)
{
    static const unsigned turned[] = { 1, 0 };
    struct graph *g;
    struct program p;

    OK(ss_graph_new(ss_arch_preset("toy64"), &ss_kernel_library, &g));
    p = ss_program_sequence(g);
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t from_shape[] = { 64, 64 + 64 * (i % 5) };
        const uint32_t to_shape[] = { from_shape[1], from_shape[0] };
        struct tensor from = ss_graph_variable(g, ELEM_F32, 2, from_shape, "from");
        struct tensor to = ss_graph_variable(g, ELEM_F32, 2, to_shape, "to");

        ss_graph_map_linear(g, from, from_shape[1], 1, 0, 64);
        ss_graph_map_linear(g, to, to_shape[1], 1, 0, 64);
        ss_graph_keep(g, to);
        ss_program_add(g, p, ss_program_copy(g, ss_tensor_transpose(g, from, turned), to));
        ss_program_add(g, p, ss_program_copy(g, ss_tensor_transpose(g, to, turned), from));
    }
    ss_graph_set_program(g, p);
    return g;
}

/* Compiles the transposes; the bytes of the image (ss_free them) and, as *made, how many of its
 * exchanges the store had. */
static uint8_t *compile_transposes(unsigned threads, struct schedule_store *store, size_t *n,
                                   unsigned *made)
{
    char path[] = "/tmp/superstep_test_compile_XXXXXX";
    char *progress;
    size_t bytes;
    FILE *f = open_memstream(&progress, &bytes);
    struct compile_options o = { .threads = threads, .progress = f };
    struct graph *g = make_transposes();
    struct compiled *c;
    const char *at;
    uint8_t *data;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    OK(graph_compile_with(g, &o, store, &c));
    OK(ss_image_write(ss_compiled_image(c), path));
    data = read_all(path, n);
    unlink(path);
    fclose(f);
    at = strstr(progress, "different, ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "different, %u made before", made), 1);
    free(progress);
    ss_compiled_free(c);
    ss_graph_free(g);
    return data;
}

/* Images and what is said of the store are the same, however many threads schedule ahead. */
static void test_schedules_ahead(void **state)
{
    size_t plain_bytes, bytes;
    unsigned made;
    uint8_t *plain = compile_transposes(1, NULL, &plain_bytes, &made);

    (void)state;
    assert_int_equal(made, 0);
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct schedule_store *store;

        OK(schedule_store_new("", &store));
        for (unsigned again = 0; again < 2; again++) {
            uint8_t *data = compile_transposes(threads, store, &bytes, &made);

            assert_true(again ? made >= 5 : !made);
            assert_int_equal(bytes, plain_bytes);
            assert_memory_equal(data, plain, bytes);
            ss_free(data);
        }
        schedule_store_free(store);
    }
    ss_free(plain);
    assert_int_equal(alloc_live(), 0);
}

/* What an image loads on mk2 lies between the bytes that the loader cannot fill, and code begins
 * right after the first of them. */
static void test_images_are_loadable(void **state)
{
    struct graph *g = make_graph_for("mk2", 800);
    const struct arch *a = ss_arch_preset("mk2");
    struct compiled *c;

    (void)state;
    OK(ss_graph_compile(g, NULL, &c));
    for (size_t i = 0; i < image_tile_count(c->image); i++) {
        const struct image_tile *t = image_tile_at(c->image, i);
        uint32_t first = UINT32_MAX, end = 0;

        for (uint32_t k = 0; k < t->segments; k++) {
            const struct image_segment *s = image_segment_at(c->image, t->first_segment + k);

            first = s->addr < first ? s->addr : first;
            end = s->addr + s->bytes > end ? s->addr + s->bytes : end;
        }
        assert_int_equal(first, 0x4c010);
        assert_true(end <= 0xe7bb0 &&
                    end <= a->mem_base + a->mem_bytes - arch_loader_tail_bytes(a));
    }
    ss_compiled_free(c);
    ss_graph_free(g);
    assert_int_equal(alloc_live(), 0);
}

static void test_progress_and_report(void **state)
{
    static const char *const stages[] = { "check",   "lower", "codelets", "exchange",
                                          "measure", "place", "emit",     "memory" };
    char *progress, *report;
    size_t n, m;
    FILE *f = open_memstream(&progress, &n), *out = open_memstream(&report, &m);
    struct compile_options o = { .progress = f };
    struct graph *g = make_graph(800);
    struct compiled *c;
    const char *at;

    (void)state;
    OK(ss_graph_compile(g, &o, &c));
    ss_compiled_report(c, out);
    fclose(f);
    fclose(out);
    at = progress;
    for (size_t i = 0; i < EMU_COUNT_OF(stages); i++) {
        assert_memory_equal(at, stages[i], strlen(stages[i]));
        at = strchr(at, '\n');
        assert_non_null(at++);
    }
    assert_non_null(strstr(progress, "4 exchanges, 2 of them different"));
    assert_non_null(strstr(report, "gathered"));
    assert_non_null(strstr(report, "add up to its memory exactly"));
    free(progress);
    free(report);
    ss_compiled_free(c);
    ss_graph_free(g);
    assert_int_equal(alloc_live(), 0);
}

/* 400,000 bytes on tile 5, which has 65,536. */
static void test_out_of_memory_is_a_result(void **state)
{
    struct graph *g = make_graph(100000);
    struct compiled *c;
    char *report;
    size_t n;
    FILE *out = open_memstream(&report, &n);

    (void)state;
    OK(ss_graph_compile(g, NULL, &c));
    assert_false(ss_compiled_fits(c));
    assert_null(ss_compiled_image(c));
    ss_compiled_report(c, out);
    fclose(out);
    assert_non_null(strstr(report, "OUT OF MEMORY"));
    assert_non_null(
        strstr(report, "Spread variable 'gathered' over more tiles: it sits on 1 of 16"));
    free(report);
    ss_compiled_free(c);
    ss_graph_free(g);
    assert_int_equal(alloc_live(), 0);
}

/* Whoever asks for it gets no schedules for what cannot fit, and what it needs at least. */
static void test_what_cannot_fit_is_given_up(void **state)
{
    char *progress;
    size_t n;
    FILE *f = open_memstream(&progress, &n);
    struct compile_options o = { .progress = f, .give_up = GIVE_UP_CODE };
    struct graph *g = make_graph(100000);
    struct compiled *whole, *c;

    (void)state;
    OK(ss_graph_compile(g, &o, &whole)); /* its code fits */
    fflush(f);
    assert_non_null(strstr(progress, "\nexchange "));
    rewind(f);
    o.give_up = GIVE_UP_MEMORY;
    OK(ss_graph_compile(g, &o, &c));
    fclose(f);
    assert_null(strstr(progress, "\nexchange "));
    assert_non_null(strstr(progress, "given up: about"));
    assert_false(ss_compiled_fits(c));
    assert_null(ss_compiled_image(c));
    assert_true(ss_compiled_need_bytes(c) > ss_graph_arch(g)->mem_bytes);
    assert_true(ss_compiled_need_bytes(c) <= ss_compiled_need_bytes(whole));
    assert_true(ss_compiled_code_bytes(c) <= ss_compiled_code_bytes(whole));
    free(progress);
    ss_compiled_free(whole);
    ss_compiled_free(c);
    ss_graph_free(g);
    assert_int_equal(alloc_live(), 0);
}

/* Of what fits, the outlook expects no more than it takes. */
static void test_outlook(void **state)
{
    struct graph *g = make_graph(800);
    struct placement p;
    struct compiled *c;
    struct lowered *l;

    (void)state;
    OK(ss_graph_compile(g, NULL, &c));
    OK(lower_graph(g, NULL, &l));
    OK(place_outlook(l, c->codelets.bytes, OUTLOOK_LEAST, 2, &p));
    assert_true(p.fits && ss_compiled_fits(c));
    assert_int_equal(p.tiles, c->place.tiles);
    for (uint32_t t = 0; t < p.tiles; t++) {
        assert_true(p.tile[t].need_bytes <= c->place.tile[t].need_bytes);
        assert_true(p.tile[t].need_bytes > c->place.tile[t].peak_bytes / 2);
        assert_true(p.tile[t].code_need <= c->place.tile[t].code_need);
    }
    placement_free(&p);
    lowered_free(l);
    ss_compiled_free(c);
    ss_graph_free(g);
    assert_int_equal(alloc_live(), 0);
}

static void test_errors_name_the_stage(void **state)
{
    struct compiled *c = NULL;
    uint32_t n = 8;
    struct tensor a, b;
    struct graph *g;

    (void)state;
    OK(ss_graph_new(ss_arch_preset("toy4"), &ss_kernel_library, &g));
    a = ss_graph_variable(g, ELEM_F32, 1, &n, "mapped");
    b = ss_graph_variable(g, ELEM_F32, 1, &n, "nowhere");
    ss_graph_map(g, a, 0);
    ss_graph_set_program(g, ss_program_copy(g, a, b));
    assert_int_equal(ss_graph_compile(g, NULL, &c), EMU_BAD_PROGRAM);
    assert_null(c);
    assert_memory_equal(ss_error(), "check: ", 7);
    assert_non_null(strstr(ss_error(), "nowhere"));
    ss_graph_free(g);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_exchanges_share_a_schedule),
        cmocka_unit_test(test_exchange_errors_name_the_step),
        cmocka_unit_test(test_exchanges_without_memory),
        cmocka_unit_test(test_images_are_equal_for_any_threads),
        cmocka_unit_test(test_schedules_ahead),
        cmocka_unit_test(test_images_are_loadable),
        cmocka_unit_test(test_progress_and_report),
        cmocka_unit_test(test_out_of_memory_is_a_result),
        cmocka_unit_test(test_what_cannot_fit_is_given_up),
        cmocka_unit_test(test_outlook),
        cmocka_unit_test(test_errors_name_the_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
