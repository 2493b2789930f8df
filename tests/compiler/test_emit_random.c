/* test_emit_random.c - the code of tiles: random programs of all constructs against a model of the
 * steps in C, on machines that check; the same image on any number of threads; too little
 * memory.
 */
#include "tests/fixtures/emit_fixture.h"

#include <unistd.h>

enum { FUNCTIONS = 4, WORDS = 24, MAX_STEPS = 2500 };

struct maker {
    struct emit_fixture *r;
    struct prng rng;
    uint32_t note[EMIT_TILES], data[EMIT_TILES], box[EMIT_TILES];
    uint32_t true_word, false_word; /* first in the list of predicates */
    uint64_t function_groups[FUNCTIONS];
    uint32_t function; /* that is made now; calls go to later ones */
    uint32_t budget;
};

static uint32_t below(struct maker *m, uint32_t n)
{
    return (uint32_t)((prng_next(&m->rng) >> 32) * n >> 32);
}

static int takes_part(const struct maker *m, uint32_t tile, uint64_t groups)
{
    return groups >> m->r->group[m->r->used[tile]] & 1;
}

/* A word on every tile. */
static uint32_t make_predicate(struct maker *m, uint32_t value)
{
    static const uint32_t initial[] = { 0, 1, 0xdead };
    uint32_t first = (uint32_t)m->r->l.predicate.count;

    for (uint32_t i = 0; i < m->r->l.used_tiles; i++) {
        uint32_t o =
            emit_fixture_object(m->r, i, 1, CATEGORY_VARIABLE, "predicate", &initial[value]);

        assert_int_equal(VEC_PUSH(&m->r->l.predicate, o), EMU_OK);
    }
    return first;
}

static void make_calls(struct maker *m, uint64_t groups)
{
    emit_fixture_step(m->r, STEP_CALLS, groups, "calls");
    for (uint32_t i = 0; i < m->r->l.used_tiles; i++) {
        uint32_t n = takes_part(m, i, groups) && below(m, 2) ? below(m, 4) : 0;

        for (uint32_t k = 0; k < n; k++) {
            uint32_t value = below(m, 1000);

            if (value % 5 == 0)
                emit_fixture_call_value(m->r, i, EMIT_NOTE_SUPER, m->note[i], value);
            else if (value % 5 == 1)
                emit_fixture_call(m->r, i, EMIT_NOTE_WORD, m->note[i],
                                  (struct object_word){ m->box[i], 4 * below(m, WORDS) });
            else if (value % 5 == 2)
                emit_fixture_call_value(m->r, i, EMIT_ADD, m->data[i], value);
            else
                emit_fixture_call_value(m->r, i, EMIT_NOTE, m->note[i], value);
        }
    }
}

/* Sets or changes a predicate on all tiles that will look at it. */
static void make_predicate_calls(struct maker *m, uint64_t groups, enum emit_fixture_codelet c,
                                 uint32_t predicate, uint32_t value)
{
    emit_fixture_step(m->r, STEP_CALLS, groups, "predicate");
    for (uint32_t i = 0; i < m->r->l.used_tiles; i++) {
        if (takes_part(m, i, groups))
            emit_fixture_call_value(m->r, i, c, m->r->l.predicate.at[predicate + i], value);
    }
}

/* From `data` of some tiles into disjoint words of `box` of others. */
static void make_exchange(struct maker *m, uint64_t groups)
{
    uint32_t filled[EMIT_TILES] = { 0 }, tiles = m->r->l.used_tiles;

    emit_fixture_step(m->r, STEP_EXCHANGE, groups, "exchange");
    for (uint32_t n = below(m, 5); n > 0; n--) {
        uint32_t from = below(m, tiles), words = 1 + below(m, 6), made = 0;

        if (!takes_part(m, from, groups))
            continue;
        for (uint32_t to = 0; to < tiles; to++) {
            if (to == from || !takes_part(m, to, groups) || filled[to] + words > WORDS ||
                below(m, 2))
                continue;
            if (!made++)
                emit_fixture_transfer(m->r, m->data[from], 4 * below(m, WORDS - words), 4 * words);
            emit_fixture_dest(m->r, m->box[to], 4 * filled[to]);
            filled[to] += words;
        }
    }
}

/* Of groups that run by themselves only the first uses the streams: their order would be open. */
static void make_host(struct maker *m, uint64_t groups)
{
    if (groups == 2)
        return;
    emit_fixture_step(m->r, STEP_HOST, groups, "host");
    for (uint32_t i = 0; i < m->r->l.used_tiles; i++) {
        uint32_t round = below(m, 3);

        for (uint32_t n = takes_part(m, i, groups) ? below(m, 3) : 0; n > 0; n--) {
            uint32_t stream = below(m, 2);

            emit_fixture_request(m->r, i, round, stream, stream ? m->data[i] : m->box[i],
                                 4 * below(m, WORDS - 4), 4 + 4 * below(m, 4));
            round += 1 + below(m, 3);
        }
    }
}

static void make_range(struct maker *m, uint64_t groups, uint32_t depth);

static void make_loop(struct maker *m, uint64_t groups, uint32_t depth)
{
    uint32_t predicate = make_predicate(m, 2);
    struct step *step;

    make_predicate_calls(m, groups, EMIT_SET, predicate, below(m, 4));
    emit_fixture_step(m->r, STEP_LOOP, groups, "while");
    make_range(m, groups, depth + 1);
    step = emit_fixture_step(m->r, STEP_BREAK, groups, "break");
    step->predicate = predicate;
    make_range(m, groups, depth + 1);
    make_predicate_calls(m, groups, EMIT_ADD, predicate, UINT32_MAX);
    emit_fixture_end(m->r, groups);
}

static void make_if(struct maker *m, uint64_t groups, uint32_t depth)
{
    struct step *step = emit_fixture_step(m->r, STEP_IF, groups, "if");

    step->predicate = below(m, 2) ? m->true_word : m->false_word;
    make_range(m, groups, depth + 1);
    emit_fixture_step(m->r, STEP_ELSE, groups, "else");
    make_range(m, groups, depth + 1);
    emit_fixture_end(m->r, groups);
}

static void make_call(struct maker *m, uint64_t groups)
{
    uint32_t f = m->function + 1 + below(m, FUNCTIONS);

    if (f < FUNCTIONS && m->function_groups[f] == groups)
        emit_fixture_step(m->r, STEP_CALL, groups, "call")->n = f;
}

static void make_op(struct maker *m, uint64_t groups, uint32_t depth)
{
    uint32_t kind = below(m, depth > 6 ? 9 : 16);

    if (kind < 3) {
        make_calls(m, groups);
    } else if (kind < 6) {
        make_exchange(m, groups);
    } else if (kind < 7) {
        make_host(m, groups);
    } else if (kind < 9) {
        make_call(m, groups);
    } else if (kind < 13) {
        emit_fixture_repeat(m->r, groups, below(m, 4));
        make_range(m, groups, depth + 1);
        emit_fixture_end(m->r, groups);
    } else if (kind < 14) {
        make_loop(m, groups, depth);
    } else if (kind < 15) {
        make_if(m, groups, depth);
    } else if (groups & (groups - 1)) { /* each group runs its own part */
        for (uint64_t g = 1; g <= groups; g <<= 1)
            make_range(m, g, depth + 1);
    }
}

static void make_range(struct maker *m, uint64_t groups, uint32_t depth)
{
    for (uint32_t n = below(m, 4) + (depth == 0) * 4; n > 0 && m->budget > 0; n--) {
        m->budget--;
        make_op(m, groups, depth);
    }
}

static void make_program(struct maker *m, struct emit_fixture *r, uint64_t seed)
{
    static uint32_t numbers[EMIT_TILES][WORDS];

    *m = (struct maker){ .r = r };
    prng_seed(&m->rng, (uint32_t)seed);
    emit_fixture_streams(r);
    for (uint32_t i = 0; i < r->l.used_tiles; i++) {
        for (uint32_t k = 0; k < WORDS; k++)
            numbers[i][k] = 1000 * (i + 1) + k;
        m->note[i] = emit_fixture_notes(r, i);
        m->data[i] = emit_fixture_object(r, i, WORDS, CATEGORY_VARIABLE, "data", numbers[i]);
        m->box[i] = emit_fixture_object(r, i, WORDS, CATEGORY_VARIABLE, "box", numbers[i]);
    }
    m->false_word = make_predicate(m, 0);
    m->true_word = make_predicate(m, 1);
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        m->function_groups[f] = f && r->l.groups > 1 && below(m, 2) ? 1 + below(m, 2) : r->l.groups;
    for (m->function = 0; m->function < FUNCTIONS; m->function++) {
        static const char *const name[FUNCTIONS] = { "main", "one", "two", "three" };

        m->budget = 12;
        make_range(m, m->function_groups[m->function], m->function != 0);
        emit_fixture_function(r, name[m->function]);
    }
    assert_int_equal(lowered_match(&r->l), EMU_OK); /* the model follows it */
}

/* Whether a program takes few enough steps; the model is as new afterwards. */
static int is_short(struct emit_fixture *r)
{
    int ok;

    model_new(r);
    (void)model_run(r, 0, r->l.function.at[0].count);
    ok = r->steps < MAX_STEPS && r->taken < EMIT_STREAM_BYTES / 4 &&
         r->given < EMIT_STREAM_BYTES / 4;
    for (size_t i = 0; i < r->l.object.count; i++)
        ss_free(r->model[i]);
    ss_free(r->model);
    r->model = NULL;
    r->taken = r->given = r->steps = 0;
    return ok;
}

static void test_random_programs(void **state)
{
    unsigned run = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 240; seed++) {
        struct emit_fixture r;
        struct maker m;

        emit_fixture_new(&r, seed % 8 == 7 ? "toy16" : "toy4", seed % 8 == 7 ? 7 : 4,
                         seed % 8 == 7 ? 2 : 1, seed % 2 ? 2 : 4);
        make_program(&m, &r, seed);
        if (is_short(&r)) {
            print_message(seed == 0 ? "seeds 0 to 239\n" : "");
            emit_fixture_place(&r, 1);
            emit_fixture_emit(&r, 1);
            emit_fixture_compare(&r, 1, 2);
            emit_fixture_check_maps(&r);
            run++;
        }
        emit_fixture_free(&r);
    }
    assert_true(run > 180);
}

static char *image_bytes(const struct image *im, size_t *bytes)
{
    char path[] = "/tmp/test_emit_XXXXXX", *data;
    int fd = mkstemp(path);
    FILE *f;

    assert_true(fd >= 0);
    assert_int_equal(ss_image_write(im, path), EMU_OK);
    f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    data = malloc(*bytes);
    assert_int_equal(fread(data, 1, *bytes, f), *bytes);
    fclose(f);
    close(fd);
    remove(path);
    return data;
}

static void test_threads_and_machines(void **state)
{
    (void)state;
    for (uint64_t seed = 300; seed < 304; seed++) {
        char *file[2];
        size_t bytes[2];

        for (unsigned k = 0; k < 2; k++) {
            struct emit_fixture r;
            struct maker m;

            emit_fixture_new(&r, seed % 2 ? "mk2" : "toy16", 8, seed % 2 ? 150 : 2, 5);
            make_program(&m, &r, seed);
            emit_fixture_place(&r, 1 + 3 * k);
            emit_fixture_emit(&r, 1 + 3 * k);
            file[k] = image_bytes(r.im, &bytes[k]);
            if (k == 0 && is_short(&r))
                emit_fixture_compare(&r, 2, 2);
            emit_fixture_free(&r);
        }
        assert_int_equal(bytes[0], bytes[1]);
        assert_memory_equal(file[0], file[1], bytes[0]);
        free(file[0]);
        free(file[1]);
    }
}

/* Every allocation fails once; nothing is lost. */
static void test_out_of_memory(void **state)
{
    struct emit_fixture r;
    struct maker m;
    struct emit_input in;
    uint32_t bytes[EMIT_TILES];
    enum emu_status s = EMU_NO_MEMORY;
    long live;

    (void)state;
    emit_fixture_new(&r, "toy4", 2, 1, 1);
    make_program(&m, &r, 5);
    emit_fixture_place(&r, 1);
    in = emit_fixture_input(&r);
    live = alloc_live();
    for (long nth = 0; s == EMU_NO_MEMORY; nth++) {
        alloc_test_fail_at(nth);
        s = emit_measure(&in, 1, bytes);
        alloc_test_fail_at(-1);
        assert_int_equal(alloc_live(), live);
    }
    assert_int_equal(s, EMU_OK);
    s = EMU_NO_MEMORY;
    for (long nth = 0; s == EMU_NO_MEMORY; nth++) {
        alloc_test_fail_at(nth);
        s = emit_image(&in, &r.place, 1, &r.im);
        alloc_test_fail_at(-1);
        assert_true(r.im || alloc_live() == live);
    }
    assert_int_equal(s, EMU_OK);
    emit_fixture_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_threads_and_machines),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
