/* test_schedule.c - the exchange scheduler: every pattern reaches its goal in events and bytes of
 * code and is proven; random exchanges run on the machine and move what plain copies move; mistakes
 * of the caller and damage to a schedule are found.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/isa/insn_ops.h"
#include "tests/fixtures/chip_fixture.h"

#include <inttypes.h>

#include "programs/compiler/emit/exchange_code.h"
#include "programs/compiler/schedule/schedule_private.h"
#include "tests/fixtures/exchange_patterns.h"

enum { ALWAYS = 112, PERCENT = 10, PERCENT_SCATTERED = 12, PERCENT_IRREGULAR = 15 };

/* ---- goals ---- */

static void prove(const struct pattern *p, const struct exchange_schedule *s)
{
    struct exchange_problem problem = pattern_problem(p);

    if (schedule_prove(&problem, s) != EMU_OK)
        fail_msg("%s: %s", p->name, ss_error());
}

static void schedule(const struct pattern *p, enum exchange_target target,
                     struct exchange_schedule *s)
{
    struct exchange_problem problem = pattern_problem(p);

    if (exchange_schedule(&problem, target, s) != EMU_OK)
        fail_msg("%s: %s", p->name, ss_error());
}

/* The instructions of a tile; owned by the caller. */
static struct exchange_sequence unpack(const struct exchange_schedule *s,
                                       const struct tile_schedule *t)
{
    struct packed_reader r = exchange_schedule_read(s, t);
    struct exchange_sequence c = { .code = emu_alloc(t->insns, sizeof(*c.code)),
                                   .count = t->insns };

    assert_non_null(c.code);
    for (uint32_t i = 0; i < t->insns; i++)
        c.code[i] = packed_code_next(&r);
    return c;
}

/* By its instructions. */
static uint32_t code_bytes(const struct exchange_schedule *s, const struct tile_schedule *t)
{
    struct packed_reader r = exchange_schedule_read(s, t);
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < t->insns; i++)
        bytes += packed_code_next(&r).op == EXCHANGE_SENDPICP ? 8 : 4;
    assert_int_equal(r.event, t->end_event);
    return bytes;
}

/* Bytes of code of every tile against what it may need. */
static void check_bytes(const struct pattern *p, const struct exchange_schedule *s)
{
    uint64_t *allowed = calloc(p->arch.tiles, sizeof(*allowed)), sum = 0;

    assert_non_null(allowed);
    for (uint32_t i = 0; i < s->tiles; i++) /* with parts of multicasts */
        allowed[s->tile[i].tile] = 8 * (uint64_t)s->tile[i].messages_out;
    for (size_t i = 0; i < p->messages; i++) {
        const struct exchange_message *m = &p->message[i];

        allowed[m->tile] += 8 * ((m->words - 1) / 64);
        for (uint32_t k = 0; k < m->dests; k++)
            allowed[p->dest[m->first + k].tile] += 12;
    }
    for (uint32_t i = 0; i < s->tiles; i++) {
        const struct tile_schedule *t = &s->tile[i];

        if (t->bytes > allowed[t->tile])
            fail_msg("%s: %u bytes on tile %u, %u allowed", p->name, t->bytes, t->tile,
                     (unsigned)allowed[t->tile]);
        assert_int_equal(t->bytes, code_bytes(s, t));
        sum += t->bytes;
    }
    assert_int_equal(sum, s->code_bytes);
    free(allowed);
}

/* A pattern as it was made; frees it. bound: B, by hand. */
static void reaches(struct pattern *p, uint32_t bound, unsigned percent)
{
    struct exchange_schedule s;
    uint32_t most = (bound + ALWAYS) * (100 + percent) / 100;

    schedule(p, EXCHANGE_CYCLES, &s);
    prove(p, &s);
    assert_int_equal(s.bound, bound);
    printf("# %s: %u events, B + %d + %d %%\n", p->name, s.events, ALWAYS,
           (int)(s.events * 100 / (bound + ALWAYS)) - 100);
    if (s.events > most)
        fail_msg("%s: %u events, at most %u allowed", p->name, s.events, most);
    check_bytes(p, &s);
    exchange_schedule_free(&s);
    pattern_free(p);
}

#define REACHES(machine, make, bound, percent)                                                     \
    do {                                                                                           \
        struct pattern p;                                                                          \
                                                                                                   \
        pattern_new(&p, machine, machine " " #make);                                               \
        make;                                                                                      \
        reaches(&p, bound, percent);                                                               \
    } while (0)

static void test_groups(void **state)
{
    (void)state;
    REACHES("mk2", pattern_gather(&p, 8, 1, 8), 64, PERCENT);
    REACHES("mk2", pattern_gather(&p, 64, 1, 8), 512, PERCENT);
    REACHES("mk2", pattern_gather(&p, 23, 1, 64), 23 * 64, PERCENT);
    REACHES("mk2", pattern_transpose(&p, 16, 1, 8), 120, PERCENT);
    REACHES("mk2", pattern_transpose(&p, 64, 1, 16), 63 * 16, PERCENT);
    REACHES("toy64", pattern_gather(&p, 8, 1, 8), 64, PERCENT);
    REACHES("toy64", pattern_transpose(&p, 64, 1, 8), 63 * 8, PERCENT);
}

static void test_strided(void **state)
{
    (void)state;
    REACHES("mk2", pattern_gather(&p, 16, 92, 8), 128, PERCENT);
    REACHES("mk2", pattern_gather(&p, 64, 23, 8), 512, PERCENT);
    REACHES("mk2", pattern_gather(&p, 32, 46, 32), 1024, PERCENT);
    REACHES("mk2", pattern_transpose(&p, 16, 92, 8), 120, PERCENT_SCATTERED);
    REACHES("mk2", pattern_transpose(&p, 64, 23, 8), 63 * 8, PERCENT);
    REACHES("toy64", pattern_gather(&p, 16, 4, 8), 128, PERCENT);
    REACHES("toy64", pattern_transpose(&p, 8, 8, 8), 56, PERCENT);
}

static void test_halo(void **state)
{
    (void)state;
    REACHES("mk2", pattern_halo(&p, 46, 8, 0), 32, PERCENT);
    REACHES("mk2", pattern_halo(&p, 32, 64, 0), 256, PERCENT);
    REACHES("mk2", pattern_halo(&p, 46, 32, 1), 256, PERCENT);
    REACHES("mk2", pattern_rotate(&p, 1, 64), 64, PERCENT);
    REACHES("mk2", pattern_rotate(&p, 700, 1000), 1000, PERCENT);
    REACHES("toy64", pattern_halo(&p, 8, 8, 1), 64, PERCENT);
}

static void test_multicast(void **state)
{
    (void)state;
    REACHES("mk2", pattern_broadcast(&p, 1472, 1, 1000), 1000, PERCENT);
    REACHES("mk2", pattern_broadcast(&p, 16, 1, 64), 64, PERCENT);
    REACHES("mk2", pattern_aligned(&p, 16, 2, 8), 256, PERCENT);
    REACHES("mk2", pattern_aligned(&p, 8, 8, 64), 4096, PERCENT);
    REACHES("toy64", pattern_aligned(&p, 8, 2, 8), 128, PERCENT);
}

static void test_irregular(void **state)
{
    (void)state;
    REACHES("mk2", pattern_irregular(&p, 8, 8, 8), 64, PERCENT_IRREGULAR);
    REACHES("mk2", pattern_irregular(&p, 68, 8, 8), 544, PERCENT_IRREGULAR);
    REACHES("toy64", pattern_irregular(&p, 40, 8, 8), 320, PERCENT_IRREGULAR);
}

/* Less code than for cycles, unless both are equal; within the same allowance. */
static void takes_less(struct pattern *p, unsigned bytes_per_message)
{
    struct exchange_schedule c, m;

    schedule(p, EXCHANGE_CYCLES, &c);
    schedule(p, EXCHANGE_MEMORY, &m);
    prove(p, &m);
    check_bytes(p, &m);
    printf("# %s: %.1f bytes per message in, for cycles %.1f; %u events, for cycles %u\n", p->name,
           (double)m.code_bytes / (double)p->dests, (double)c.code_bytes / (double)p->dests,
           m.events, c.events);
    assert_true(m.code_bytes <= c.code_bytes);
    assert_true(m.code_bytes <= (uint64_t)bytes_per_message * p->dests);
    exchange_schedule_free(&c);
    exchange_schedule_free(&m);
    pattern_free(p);
}

#define TAKES_LESS(machine, make, bytes_per_message)                                               \
    do {                                                                                           \
        struct pattern p;                                                                          \
                                                                                                   \
        pattern_new(&p, machine, machine " " #make);                                               \
        make;                                                                                      \
        takes_less(&p, bytes_per_message);                                                         \
    } while (0)

static void test_memory(void **state)
{
    (void)state;
    TAKES_LESS("mk2", pattern_gather(&p, 16, 92, 8), 8);
    TAKES_LESS("mk2", pattern_transpose(&p, 64, 1, 8), 10);
    TAKES_LESS("mk2", pattern_halo(&p, 46, 8, 0), 14);
    TAKES_LESS("mk2", pattern_irregular(&p, 16, 8, 8), 12);
    TAKES_LESS("toy64", pattern_transpose(&p, 64, 1, 8), 10);
}

/* ---- on the machine ---- */

/* Code at the start of memory, what is sent in the second quarter, what comes in after it. */
enum { FROM_QUARTER = 1, TO_QUARTER = 2, CODE_WORDS_MAX = 0x7000 };

static uint32_t address(void *context, struct symbolic_addr a)
{
    const struct arch *arch = context;
    uint32_t quarter = a.base == PATTERN_FROM ? FROM_QUARTER : TO_QUARTER;

    return arch->mem_base + arch->mem_bytes / 4 * quarter + (uint32_t)a.bytes;
}

static uint32_t place(struct chip *c, uint32_t base, uint32_t index)
{
    return address(&c->arch, (struct symbolic_addr){ .base = base, .bytes = 4 * (int64_t)index });
}

static uint32_t word_of(const struct insn_form *f, int64_t operand)
{
    const int64_t value[ISA_MAX_OPERANDS] = { operand };
    struct insn in[2];
    uint32_t word[2];

    assert_int_equal(isa_form_build(f, value, in), 1);
    assert_int_equal(isa_encode(in, word), 1);
    return word[0];
}

/* A tile that joins a sync, exchanges if it has a part in that, and waits for the host. */
static void load_code(struct chip *c, uint32_t tile, const struct exchange_schedule *s)
{
    const struct tile_schedule *t = exchange_schedule_of(s, tile);
    static uint32_t word[CODE_WORDS_MAX];
    uint32_t n = 2;

    word[1] = word_of(isa_form(FORM_sync), 3);
    if (t) {
        assert_true(t->bytes / 4 + 4 < CODE_WORDS_MAX);
        assert_int_equal(exchange_encode(s, t, address, &c->arch, word + n), EMU_OK);
        n += t->bytes / 4;
        word[n++] = word_of(isa_form(FORM_sync), 0);
    }
    word[n++] = word_of(isa_form(FORM_sync), 6);
    assert_true(tile_write(machine_tile(c->m, tile), c->arch.mem_base, word, 4 * n));
    machine_use(c->m, tile, c->arch.mem_base + 4, 0);
}

static uint32_t content(uint32_t tile, uint32_t index)
{
    return (tile * 65537 + index) * 2654435761u;
}

static void load_data(struct chip *c, const struct pattern *p)
{
    for (uint32_t t = 0; t < c->arch.tiles; t++) {
        for (uint32_t i = 0; i < p->out[t]; i++) {
            uint32_t v = content(t, i);

            assert_true(
                tile_write(machine_tile(c->m, t), place(c, PATTERN_FROM, i), &v, sizeof(v)));
        }
    }
}

static void compare_data(struct chip *c, const struct pattern *p)
{
    for (size_t i = 0; i < p->messages; i++) {
        const struct exchange_message *m = &p->message[i];

        for (uint32_t k = m->first; k < m->first + m->dests; k++) {
            for (uint32_t n = 0; n < m->words; n++) {
                uint32_t to = (uint32_t)p->dest[k].to.bytes / 4 + n;

                assert_int_equal(chip_word(c, p->dest[k].tile, place(c, p->dest[k].to.base, to)),
                                 content(m->tile, (uint32_t)m->from.bytes / 4 + n));
            }
        }
    }
    for (uint32_t t = 0; t < c->arch.tiles; t++)
        assert_int_equal(chip_word(c, t, place(c, PATTERN_TO, p->in[t])), 0);
}

/* chip_new() for any machine, checked. */
static void chip_of(struct chip *c, const struct arch *a)
{
    struct machine_options o = { .threads = 1, .check = 1 };

    *c = (struct chip){ .arch = *a, .live = alloc_live() };
    c->file = open_memstream(&c->lines, &c->line_bytes);
    assert_non_null(c->file);
    assert_int_equal(record_new(a->tiles, NULL, &c->record), EMU_OK);
    assert_int_equal(digests_new(&c->arch, c->file, &c->digests), EMU_OK);
    o.record = c->record;
    o.digests = c->digests;
    assert_int_equal(machine_new(&c->arch, &o, &c->m), EMU_OK);
}

static void run_pattern(const struct pattern *p, enum exchange_target target)
{
    struct exchange_schedule s;
    uint32_t events = 0, want;
    struct chip c;

    schedule(p, target, &s);
    prove(p, &s);
    want = s.events;
    chip_of(&c, &p->arch);
    for (uint32_t t = 0; t < c.arch.tiles; t++)
        load_code(&c, t, &s);
    load_data(&c, p);
    chip_stops(&c, MACHINE_HOST);
    assert_int_equal(machine_finish(c.m), EMU_OK);
    compare_data(&c, p);
    for (uint32_t t = 0; t < c.arch.tiles; t++) {
        struct tile_step step = record_tile(c.record, 1, t);
        const struct tile_schedule *ts = exchange_schedule_of(&s, t);

        if (ts && step.exchange_cycles > events)
            events = step.exchange_cycles;
        if (ts && ts->end_event + 1 > want) /* RECV takes a cycle, even when all is there */
            want = ts->end_event + 1;
        assert_int_equal(step.words_in, ts ? ts->words_in : 0);
        assert_int_equal(step.words_out, ts ? ts->words_out : 0);
    }
    assert_int_equal(events, want);
    chip_free(&c);
    exchange_schedule_free(&s);
}

#define RUNS(machine, seed, make)                                                                  \
    do {                                                                                           \
        struct pattern p;                                                                          \
                                                                                                   \
        pattern_new(&p, machine, machine " " #make);                                               \
        p.random = seed;                                                                           \
        make;                                                                                      \
        run_pattern(&p, EXCHANGE_CYCLES);                                                          \
        run_pattern(&p, EXCHANGE_MEMORY);                                                          \
        pattern_free(&p);                                                                          \
    } while (0)

/* The chip's geometry with few tiles, which then lie in the first column. */
static void run_few(uint64_t seed)
{
    struct pattern p;

    pattern_new(&p, "mk2", "few tiles");
    p.arch.tiles = 24;
    p.random = seed;
    pattern_random(&p, 300, 70, 6);
    pattern_transpose(&p, 24, 1, 2);
    run_pattern(&p, seed % 2 ? EXCHANGE_CYCLES : EXCHANGE_MEMORY);
    pattern_free(&p);
}

static void test_runs_on_toys(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        RUNS("toy4", seed, pattern_random(&p, 1 + (uint32_t)seed, 1 + (uint32_t)seed * 5, 3));
        RUNS("toy16", seed, pattern_random(&p, 200, 9, 1 + (uint32_t)seed % 8));
    }
    for (uint64_t seed = 1; seed <= 6; seed++)
        run_few(seed);
    RUNS("toy64", 3, pattern_random(&p, 2000, 3, 64));
    RUNS("toy64", 4, pattern_transpose(&p, 64, 1, 3));
}

static void test_runs_on_chips(void **state)
{
    (void)state;
    RUNS("mk2", 5, pattern_random(&p, 8000, 20, 6));
    RUNS("mk1", 8, pattern_random(&p, 3000, 200, 40));
}

/* Messages that go on where the last one ends, at both ends or at one of them only. */
static void pattern_bursts(struct pattern *p, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t from = pattern_pick(p, p->arch.tiles), hole = pattern_pick(p, 4);
        uint32_t to = (from + 1 + pattern_pick(p, p->arch.tiles - 1)) % p->arch.tiles;

        pattern_unicast(p, from, to, 5);
        p->in[to] += hole == 1;
        p->out[from] += hole == 2;
        pattern_unicast(p, from, to, 3);
    }
}

static void test_joins_what_follows(void **state)
{
    struct exchange_schedule s;
    struct pattern p;

    (void)state;
    pattern_new(&p, "toy4", "joined");
    for (unsigned k = 0; k < 20; k++)
        pattern_unicast(&p, 2, 3, 2);
    schedule(&p, EXCHANGE_CYCLES, &s);
    prove(&p, &s);
    assert_int_equal(exchange_schedule_of(&s, 2)->bytes, 4); /* one send */
    assert_int_equal(exchange_schedule_of(&s, 2)->messages_out, 20);
    assert_int_equal(exchange_schedule_of(&s, 3)->messages_in, 20);
    exchange_schedule_free(&s);
    pattern_free(&p);
}

static void test_runs_joined(void **state)
{
    (void)state;
    RUNS("toy4", 3, pattern_bursts(&p, 60));
    RUNS("toy16", 4, pattern_bursts(&p, 200));
}

/* ---- objects that are sent from and stored into ---- */

/* Lets words arrive in an object of the tile behind those that it sends, in that object where
 * `base` is PATTERN_FROM. */
static void receive_behind(struct pattern *p, uint32_t base)
{
    for (size_t k = 0; k < p->dests; k++) {
        p->dest[k].to.base = base;
        p->dest[k].to.bytes += 4 * (int64_t)p->out[p->dest[k].tile];
    }
}

/* The machine says whether a word meets a send in a memory element. */
#define RUNS_IN_PLACE(machine, seed, make)                                                         \
    RUNS(machine, seed, ({                                                                         \
             p.arch.number[ARCH_NUMBER_exchange_clash] = ARCH_CLASH_FAULT;                         \
             make;                                                                                 \
             receive_behind(&p, PATTERN_FROM);                                                     \
         }))

static void test_runs_in_place(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        RUNS_IN_PLACE("toy16", seed, pattern_random(&p, 200, 9, 1 + (uint32_t)seed % 8));
    RUNS_IN_PLACE("toy64", 3, pattern_transpose(&p, 64, 1, 3));
    RUNS_IN_PLACE("mk2", 5, pattern_halo(&p, 46, 32, 1));
    RUNS_IN_PLACE("mk2", 6, pattern_rotate(&p, 700, 500));
}

/* A schedule for two objects is none for one. */
static void test_proof_finds_clash(void **state)
{
    struct exchange_schedule s;
    struct exchange_problem problem;
    struct pattern p;

    (void)state;
    pattern_new(&p, "mk2", "clash");
    p.arch.number[ARCH_NUMBER_exchange_clash] = ARCH_CLASH_FAULT;
    pattern_rotate(&p, 700, 500);
    receive_behind(&p, PATTERN_TO);
    schedule(&p, EXCHANGE_CYCLES, &s);
    prove(&p, &s);
    for (size_t k = 0; k < p.dests; k++)
        p.dest[k].to.base = PATTERN_FROM;
    s.object = emu_alloc(PATTERN_TO + 1, sizeof(*s.object)); /* both bases: PATTERN_FROM */
    assert_non_null(s.object);
    assert_int_equal(PATTERN_FROM, 0);
    problem = pattern_problem(&p);
    assert_int_equal(schedule_prove(&problem, &s), EMU_BAD_EXCHANGE);
    assert_non_null(strstr(ss_error(), "sends from base 0 and stores into it"));
    exchange_schedule_free(&s);
    pattern_free(&p);
}

/* ---- the caller's mistakes ---- */

static void refuse(const struct pattern *p, const char *text)
{
    struct exchange_problem problem = pattern_problem(p);
    struct exchange_schedule s;

    assert_int_equal(exchange_schedule(&problem, EXCHANGE_CYCLES, &s), EMU_BAD_EXCHANGE);
    if (!strstr(ss_error(), text))
        fail_msg("'%s' does not say '%s'", ss_error(), text);
    assert_null(s.tile);
}

static void test_mistakes(void **state)
{
    struct pattern p;

    (void)state;
    pattern_new(&p, "toy4", "mistakes");
    pattern_unicast(&p, 0, 1, 8);
    pattern_unicast(&p, 2, 1, 8);
    p.dest[1].to.bytes = 28;
    refuse(&p, "messages 0 and 1 store at one address of tile 1: base 1, byte 28");
    p.dest[1].to.bytes = 32;
    p.dest[1].tile = 2;
    refuse(&p, "message 1 of tile 2 goes to its sender");
    p.dest[1].tile = 4;
    refuse(&p, "tile 4: there are 4 tiles");
    p.dest[1].tile = 1;
    p.message[1].tile = 9;
    refuse(&p, "tile 9: there are 4 tiles");
    p.message[1].tile = 2;
    p.message[1].words = 0;
    refuse(&p, "has no words");
    p.message[1].words = p.arch.mem_bytes / 4 + 1;
    refuse(&p, "words, a tile has");
    p.message[1].words = p.arch.mem_bytes / 4;
    refuse(&p, "receives more than");
    p.message[1].words = 8;
    p.message[1].dests = 0;
    refuse(&p, "has no receiver");
    p.message[1].dests = 1;
    p.dest[1].to.bytes = 34;
    refuse(&p, "inside a word of tile 1");
    p.dest[1].to.bytes = 32;
    p.message[1].from.bytes = 2;
    refuse(&p, "inside a word");
    p.message[1].from.bytes = 0;
    pattern_to(&p, 1);
    refuse(&p, "goes to tile 1 twice");
    pattern_free(&p);
}

static void test_nothing(void **state)
{
    struct pattern p;
    struct exchange_schedule s;

    (void)state;
    pattern_new(&p, "toy4", "nothing");
    schedule(&p, EXCHANGE_CYCLES, &s);
    assert_int_equal(s.tiles, 0);
    assert_null(exchange_schedule_of(&s, 0));
    exchange_schedule_free(&s);
    pattern_unicast(&p, 3, 1, 1);
    schedule(&p, EXCHANGE_CYCLES, &s);
    assert_int_equal(s.tiles, 2);
    assert_int_equal(s.bound, 1);
    assert_int_equal(s.events, arch_exchange_flat_cycles(&p.arch));
    assert_null(exchange_schedule_of(&s, 0));
    assert_null(exchange_schedule_of(&s, 2));
    assert_int_equal(exchange_schedule_of(&s, 1)->messages_in, 1);
    assert_int_equal(exchange_schedule_of(&s, 3)->messages_out, 1);
    exchange_schedule_free(&s);
    pattern_free(&p);
}

static void test_no_memory(void **state)
{
    struct exchange_schedule s;
    struct pattern p;
    enum emu_status st = EMU_NO_MEMORY;
    long before = alloc_live();

    (void)state;
    pattern_new(&p, "toy4", "no memory");
    p.arch.number[ARCH_NUMBER_exchange_clash] = ARCH_CLASH_FAULT;
    pattern_gather(&p, 4, 1, 100);
    pattern_transpose(&p, 4, 1, 7);
    receive_behind(&p, PATTERN_FROM);
    for (long n = 0; st != EMU_OK; n++) {
        struct exchange_problem problem = pattern_problem(&p);
        long live = alloc_live();

        alloc_test_fail_at(n);
        st = exchange_schedule(&problem, EXCHANGE_CYCLES, &s);
        alloc_test_fail_at(-1);
        if (st == EMU_OK)
            assert_true(n > 20);
        else
            assert_int_equal(st, EMU_NO_MEMORY);
        if (st != EMU_OK)
            assert_int_equal(alloc_live(), live);
    }
    exchange_schedule_free(&s);
    assert_int_equal(alloc_live(), before);
    pattern_free(&p);
}

/* Equal calls give equal code. */
static void test_same_again(void **state)
{
    struct exchange_schedule a, b;
    struct pattern p;

    (void)state;
    pattern_new(&p, "mk2", "same again");
    pattern_random(&p, 3000, 30, 5);
    schedule(&p, EXCHANGE_CYCLES, &a);
    schedule(&p, EXCHANGE_CYCLES, &b);
    assert_int_equal(a.tiles, b.tiles);
    for (uint32_t i = 0; i < a.tiles; i++) {
        struct exchange_sequence x = unpack(&a, &a.tile[i]), y = unpack(&b, &b.tile[i]);

        assert_int_equal(x.count, y.count);
        assert_memory_equal(x.code, y.code, x.count * sizeof(*x.code));
        exchange_sequence_free(&x);
        exchange_sequence_free(&y);
    }
    exchange_schedule_free(&a);
    exchange_schedule_free(&b);
    pattern_free(&p);
}

/* ---- a faster search finds the same ---- */

static struct hash128 schedule_hash(const struct pattern *p, enum exchange_target target)
{
    struct exchange_schedule s;
    struct hash128 h = { 0 };

    schedule(p, target, &s);
    for (uint32_t i = 0; i < s.tiles; i++) {
        struct exchange_sequence c = unpack(&s, &s.tile[i]);
        struct hash128 code = hash128(c.code, c.count * sizeof(*c.code));
        const uint64_t all[] = { h.lo, h.hi, code.lo, code.hi, s.tile[i].arrival };

        h = hash128(all, sizeof(all));
        exchange_sequence_free(&c);
    }
    exchange_schedule_free(&s);
    return h;
}

/* Both schedules of a pattern, which is freed, have these hashes (their low halves). */
static void check_unchanged(struct pattern *p, uint64_t cycles, uint64_t memory)
{
    uint64_t c = schedule_hash(p, EXCHANGE_CYCLES).lo, m = schedule_hash(p, EXCHANGE_MEMORY).lo;

    if (c != cycles || m != memory)
        fail_msg("%s: 0x%016" PRIx64 ", 0x%016" PRIx64, p->name, c, m);
    pattern_free(p);
}

#define UNCHANGED(machine, make, cycles, memory)                                                   \
    do {                                                                                           \
        struct pattern p;                                                                          \
                                                                                                   \
        pattern_new(&p, machine, machine " " #make);                                               \
        make;                                                                                      \
        check_unchanged(&p, UINT64_C(cycles), UINT64_C(memory));                                   \
    } while (0)

/* Short and long messages, with and without a grid; one part and many; split multicasts; objects in
 * place. The hashes are those of a search that leaves nothing out: a change of the schedules that
 * is wanted changes them. */
static void test_unchanged(void **state)
{
    (void)state;
    UNCHANGED("mk2", pattern_random(&p, 3000, 30, 5), 0x74c430595f3ba754, 0x3a405e387e807a1f);
    UNCHANGED("mk2", pattern_random(&p, 2000, 200, 3), 0xc7371975986dd7d9, 0x114f8f746d2ca73c);
    UNCHANGED("mk2", pattern_random(&p, 400, 40, 2), 0x641a9f8edd3baf92, 0x641a9f8edd3baf92);
    UNCHANGED("mk2", pattern_irregular(&p, 8, 16, 16), 0xcc1079a41acb097e, 0xc4a91318a5948268);
    UNCHANGED("mk2", pattern_gather(&p, 64, 23, 8), 0x733d278568d7b9dc, 0x7d1e1f0f7618df1f);
    UNCHANGED("mk2", pattern_halo(&p, 46, 8, 1), 0xebc6d0deb8aadc75, 0x73dfcb83d713276d);
    UNCHANGED("toy64", pattern_random(&p, 1500, 12, 9), 0x3f7eb27c4722b086, 0x46d620b1a21c9a98);
    UNCHANGED("toy64", ({
                  p.arch.number[ARCH_NUMBER_exchange_clash] = ARCH_CLASH_FAULT;
                  pattern_random(&p, 700, 60, 3);
                  receive_behind(&p, PATTERN_FROM);
              }),
              0x56cceb9be2332759, 0x59099faf584ce96b);
}

/* ---- the proof finds damage ---- */

/* Changes one instruction of a tile; 0 when that changes nothing. */
static int damage_code(struct pattern *p, struct exchange_sequence *s)
{
    struct exchange_insn *c = &s->code[pattern_pick(p, (uint32_t)s->count)];
    int waits =
        c->op == EXCHANGE_DELAY || c->op == EXCHANGE_DELAYPIC || c->op == EXCHANGE_DELAYXPIC;

    switch (pattern_pick(p, 4)) {
    case 0:
        if (c->op != EXCHANGE_SENDXPIC && c->op != EXCHANGE_DELAYXPIC && c->op != EXCHANGE_SENDPICP)
            return 0;
        c->source = c->source == p->arch.null_source ? arch_tile_physical(&p->arch, 0)
                                                     : p->arch.null_source;
        return 1;
    case 1:
        if (c->op != EXCHANGE_SENDPIC && c->op != EXCHANGE_DELAYPIC)
            return 0;
        for (size_t i = 0; i < s->count; i++) /* sendpicp may repeat it */
            s->code[i].to.bytes += 4;
        return 1;
    case 2:
        if (c->op != EXCHANGE_SEND)
            return 0;
        c->from.bytes -= 4;
        return 1;
    default:
        c->events += waits ? 1 : 64;
        return 1;
    }
}

/* Damages one tile; 0 when that changes nothing. */
static int damage(struct pattern *p, struct exchange_schedule *s)
{
    struct schedule_head head = { s->tiles, s->events, s->bound, 0, s->code_bytes };
    struct tile_schedule *tile = calloc(s->tiles, sizeof(*tile));
    struct packed_code code = { { NULL } };
    uint32_t damaged = pattern_pick(p, s->tiles);
    struct schedule_block *b;
    int changed = 0;

    assert_non_null(tile);
    for (uint32_t k = 0; k < s->tiles; k++) {
        struct exchange_sequence c = unpack(s, &s->tile[k]);

        if (k == damaged)
            changed = damage_code(p, &c);
        tile[k] = s->tile[k];
        tile[k].first = (uint32_t)code.word.count;
        assert_int_equal(packed_code_add(&code, &c), EMU_OK);
        exchange_sequence_free(&c);
    }
    head.words = (uint32_t)code.word.count;
    assert_int_equal(schedule_block_new(&head, tile, code.word.at, &b), EMU_OK);
    exchange_schedule_free(s);
    schedule_block_use(b, s);
    schedule_block_release(b);
    packed_code_free(&code);
    free(tile);
    return changed;
}

static void test_proof_finds_damage(void **state)
{
    unsigned damaged = 0;
    struct pattern p;

    (void)state;
    pattern_new(&p, "toy16", "damage");
    pattern_random(&p, 60, 6, 3);
    while (damaged < 200) {
        struct exchange_problem problem = pattern_problem(&p);
        struct exchange_schedule s;

        schedule(&p, EXCHANGE_CYCLES, &s);
        prove(&p, &s);
        if (damage(&p, &s)) {
            assert_int_equal(schedule_prove(&problem, &s), EMU_BAD_EXCHANGE);
            damaged++;
        }
        exchange_schedule_free(&s);
    }
    pattern_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_strided),
        cmocka_unit_test(test_halo),
        cmocka_unit_test(test_multicast),
        cmocka_unit_test(test_irregular),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_runs_on_toys),
        cmocka_unit_test(test_runs_on_chips),
        cmocka_unit_test(test_joins_what_follows),
        cmocka_unit_test(test_runs_joined),
        cmocka_unit_test(test_runs_in_place),
        cmocka_unit_test(test_proof_finds_clash),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_proof_finds_damage),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
