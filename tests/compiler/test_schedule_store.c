/* test_schedule_store.c - packed instructions are those that were packed; schedules that are found
 * are those that would be made, on every machine that differs in nothing they depend on; and what
 * a folder has that is no schedule is not taken. */
#include "emu/arch/arch_numbers.h"
#include "tests/fixtures/chip_fixture.h"

#include <dirent.h>
#include <unistd.h>

#include "emu/base/disk_cache.h"
#include "emu/base/random.h"
#include "programs/compiler/schedule/schedule_store.h"
#include "tests/fixtures/exchange_patterns.h"

#define OK(expr) assert_int_equal(expr, EMU_OK)

/* ---- packed instructions ---- */

static struct exchange_insn random_insn(uint64_t *random, uint32_t event)
{
    struct exchange_insn c = { .op = (uint8_t)random_below(random, EXCHANGE_DELAYPIC + 1),
                               .event = event };

    c.events = 1 + random_below(random, c.op == EXCHANGE_DELAY ? 1 << 19 : 4096);
    c.source = c.op == EXCHANGE_DELAY ? 0 : random_below(random, 0x2000);
    c.ctl = (uint8_t)random_below(random, 4);
    if (exchange_has_from(&c))
        c.from = (struct symbolic_addr){ random_below(random, 3), (uint32_t)random_next(random) };
    if (exchange_has_to(&c))
        c.to = (struct symbolic_addr){ random_below(random, 3), (uint32_t)random_next(random) };
    return c;
}

static void test_packed(void **state)
{
    enum { INSNS = 20000 };
    struct exchange_sequence s = { .code = calloc(INSNS, sizeof(*s.code)), .count = INSNS };
    struct packed_code p = { { NULL } };
    struct packed_reader r;
    uint64_t random = 5;
    uint32_t event = 0;

    (void)state;
    assert_non_null(s.code);
    for (uint32_t i = 0; i < INSNS; i++) {
        s.code[i] = random_insn(&random, event);
        event += s.code[i].events;
    }
    OK(packed_code_add(&p, &s));
    OK(packed_code_add(&p, &s)); /* another tile: its bases are its own */
    for (int tile = 0; tile < 2; tile++) {
        r = (struct packed_reader){ .at = p.word.at + (size_t)tile * p.word.count / 2 };
        for (uint32_t i = 0; i < INSNS; i++) {
            struct exchange_insn c = packed_code_next(&r);

            assert_memory_equal(&c, &s.code[i], sizeof(c));
        }
    }
    assert_ptr_equal(r.at, p.word.at + p.word.count);
    free(s.code);
    packed_code_free(&p);
}

/* ---- the store ---- */

static void make_schedule(const struct pattern *p, const struct arch *a,
                          enum exchange_target target, struct exchange_schedule *out)
{
    struct exchange_problem problem = pattern_problem(p);

    problem.arch = a;
    OK(exchange_schedule(&problem, target, out));
}

static void assert_same(const struct exchange_schedule *a, const struct exchange_schedule *b)
{
    size_t bytes, others;
    const void *x = schedule_block_data(a->block, &bytes);
    const void *y = schedule_block_data(b->block, &others);

    assert_int_equal(bytes, others);
    assert_memory_equal(x, y, bytes);
}

static struct hash128 key_of(const struct schedule_store *s, const struct arch *a,
                             enum exchange_target target)
{
    return schedule_store_key(s, a, target, (struct hash128){ 1, 2 });
}

/* It only names what is kept. */
static const struct exchange_problem a_problem = { .messages = 1, .dest_count = 1 };

static void keep(struct schedule_store *s, const struct pattern *p, enum exchange_target target)
{
    struct exchange_schedule x;

    make_schedule(p, &p->arch, target, &x);
    schedule_store_keep(s, key_of(s, &p->arch, target), &a_problem, &x);
    exchange_schedule_free(&x);
}

/* Whether the store has the schedule; what it has is right. */
static int finds(struct schedule_store *s, const struct pattern *p, enum exchange_target target)
{
    struct exchange_schedule want, x;

    if (!schedule_store_find(s, key_of(s, &p->arch, target), &x))
        return 0;
    make_schedule(p, &p->arch, target, &want);
    assert_same(&want, &x);
    exchange_schedule_free(&want);
    exchange_schedule_free(&x);
    return 1;
}

static void pattern_of(struct pattern *p)
{
    pattern_new(p, "mk2", "kept");
    pattern_random(p, 1500, 20, 4);
}

static void test_found(void **state)
{
    struct schedule_store *s;
    struct pattern p;

    (void)state;
    pattern_of(&p);
    OK(schedule_store_new("", &s));
    assert_false(finds(s, &p, EXCHANGE_CYCLES));
    keep(s, &p, EXCHANGE_CYCLES);
    keep(s, &p, EXCHANGE_CYCLES); /* as two threads may */
    assert_true(finds(s, &p, EXCHANGE_CYCLES));
    assert_false(finds(s, &p, EXCHANGE_MEMORY));
    keep(s, &p, EXCHANGE_MEMORY);
    assert_true(finds(s, &p, EXCHANGE_MEMORY) && finds(s, &p, EXCHANGE_CYCLES));
    assert_false(finds(NULL, &p, EXCHANGE_CYCLES));
    OK(schedule_store_write(s)); /* there is no folder */
    schedule_store_free(s);
    schedule_store_free(NULL);
    pattern_free(&p);
}

/* Enough of them that the table grows. */
static void test_many(void **state)
{
    struct exchange_schedule x, y;
    struct schedule_store *s;
    struct pattern p;

    (void)state;
    pattern_new(&p, "toy4", "many");
    pattern_unicast(&p, 0, 1, 8);
    make_schedule(&p, &p.arch, EXCHANGE_CYCLES, &x);
    OK(schedule_store_new("", &s));
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(schedule_store_keep(s, (struct hash128){ i % 7, i }, &a_problem, &x));
    assert_false(schedule_store_keep(s, (struct hash128){ 0, 0 }, &a_problem, &x)); /* is there */
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(schedule_store_find(s, (struct hash128){ i % 7, i }, &y));
        assert_same(&x, &y);
        exchange_schedule_free(&y);
    }
    assert_false(schedule_store_find(s, (struct hash128){ 0, 1 }, &y));
    schedule_store_free(s);
    exchange_schedule_free(&x);
    pattern_free(&p);
}

/* ---- machines ---- */

/* Gives a number of a machine another value that it may have; 0: there is none. */
static int vary(struct arch *a, size_t i)
{
    const struct arch_field *d = ss_arch_field_at(i);
    uint64_t now = ss_arch_field_number(a, i), other[] = { now + 1, now - 1, 2 * now, now / 2 };
    char text[128];

    for (size_t k = 0; d->type != ARCH_TYPE_text && k < EMU_COUNT_OF(other); k++) {
        struct arch b = *a;

        snprintf(text, sizeof(text), "%s=%llu", d->name, (unsigned long long)other[k]);
        if (other[k] != now && ss_arch_set(&b, text) == EMU_OK && ss_arch_check(&b) == EMU_OK) {
            *a = b;
            return 1;
        }
    }
    return 0;
}

/* Schedules depend on no field of which that is not said: all others are varied at once. Each of
 * the fields gives another key. The compiler schedules for tiles of 2 GB, whatever they have. */
static void vary_machine(const char *geometry)
{
    struct exchange_schedule x, y;
    struct schedule_store *s;
    unsigned same = 0, others = 0;
    struct pattern p;
    struct arch a;

    pattern_of(&p);
    OK(ss_arch_set(&p.arch, geometry));
    OK(schedule_store_new("", &s));
    a = p.arch;
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        struct arch b = p.arch;
        int reads = schedule_store_reads(i);
        struct hash128 key = key_of(s, &p.arch, EXCHANGE_CYCLES);

        if (!vary(&b, i))
            continue;
        if (reads)
            assert_false(hash128_equal(key, key_of(s, &b, EXCHANGE_CYCLES)));
        else
            same += (unsigned)vary(&a, i);
        others += (unsigned)reads;
    }
    assert_true(same > 40 && others > 4);
    assert_true(hash128_equal(key_of(s, &p.arch, EXCHANGE_CYCLES), key_of(s, &a, EXCHANGE_CYCLES)));
    a.mem_bytes = p.arch.mem_bytes = 1u << 31;
    make_schedule(&p, &p.arch, EXCHANGE_CYCLES, &x);
    make_schedule(&p, &a, EXCHANGE_CYCLES, &y);
    assert_same(&x, &y);
    exchange_schedule_free(&x);
    exchange_schedule_free(&y);
    schedule_store_free(s);
    pattern_free(&p);
}

static void test_machines(void **state)
{
    (void)state;
    vary_machine("exchange_kind=flat");
    vary_machine("exchange_kind=columns");
}

/* ---- the folder ---- */

static void test_folder(void **state)
{
    char folder[] = "/tmp/superstep-schedules-XXXXXX";
    struct disk_cache disk;
    struct schedule_store *s;
    struct pattern p;

    (void)state;
    assert_non_null(mkdtemp(folder));
    disk = disk_cache_of(folder);
    pattern_of(&p);
    OK(schedule_store_new(folder, &s));
    keep(s, &p, EXCHANGE_CYCLES);
    OK(schedule_store_write(s));
    OK(schedule_store_write(s)); /* nothing is new */
    schedule_store_free(s);

    OK(schedule_store_new(folder, &s)); /* another process */
    assert_true(finds(s, &p, EXCHANGE_CYCLES));
    assert_false(finds(s, &p, EXCHANGE_MEMORY));
    keep(s, &p, EXCHANGE_CYCLES);
    OK(schedule_store_write(s)); /* is there */

    /* whole entries that are no schedules */
    OK(disk_cache_keep(&disk, key_of(s, &p.arch, EXCHANGE_MEMORY), "schedule", "none", "none", 4));
    assert_false(finds(s, &p, EXCHANGE_MEMORY));
    schedule_store_free(s);
    assert_int_equal(disk_cache_clear(&disk), 0);
    OK(schedule_store_new(folder, &s));
    assert_false(finds(s, &p, EXCHANGE_CYCLES));
    schedule_store_free(s);
    assert_int_equal(rmdir(folder), 0);
    pattern_free(&p);
}

static void test_no_block(void **state)
{
    struct schedule_head head = { .tiles = 1, .words = 2 };
    struct tile_schedule tile = { .tile = 3, .insns = 1, .end_event = 1 };
    const uint32_t word[2] = { EXCHANGE_DELAY, 0 };
    struct schedule_block *b, *c;
    const uint8_t *data;
    size_t bytes;

    (void)state;
    OK(schedule_block_new(&head, &tile, word, &b));
    data = schedule_block_data(b, &bytes);
    OK(schedule_block_read(data, bytes, &c));
    schedule_block_release(c);
    for (size_t n = 0; n < bytes; n++) {
        assert_int_equal(schedule_block_read(data, n, &c), EMU_BAD_FILE);
        assert_null(c);
    }
    schedule_block_release(b);
    tile.insns = 3; /* there are two words */
    OK(schedule_block_new(&head, &tile, word, &b));
    data = schedule_block_data(b, &bytes);
    assert_int_equal(schedule_block_read(data, bytes, &c), EMU_BAD_FILE);
    schedule_block_release(b);
    tile = (struct tile_schedule){ .tile = 3, .first = 3 };
    OK(schedule_block_new(&head, &tile, word, &b));
    data = schedule_block_data(b, &bytes);
    assert_int_equal(schedule_block_read(data, bytes, &c), EMU_BAD_FILE);
    schedule_block_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed), cmocka_unit_test(test_found),
        cmocka_unit_test(test_many),   cmocka_unit_test(test_machines),
        cmocka_unit_test(test_folder), cmocka_unit_test(test_no_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
