/* test_chips.c - programs of several chips, compiled: what runs on a system has the values of the
 * interpreter and, in the timing engine, the cycles of the values; headers, packets and counts;
 * channels that do not go together; who deals out words; memory by chip.
 *
 * SUPERSTEP_LONG=1 runs 1,000 random programs; SUPERSTEP_SEED=n[,count] these.
 */
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/exchange/link_header.h"
#include "emu/load/image_internal.h"
#include "tests/fixtures/graph_fixture.h"
#include "tests/fixtures/seed_range.h"
#include "tests/fixtures/chip_system.h"

enum {
    SEEDS = 12,
    SEEDS_LONG = 1000,
    CHIPS_MAX = SYSTEM_CHIPS / 2,
    CHANNELS_MAX = 8,
    TURNS = 2,
    ROOM = 4096,
    MAX_CYCLE = 1000000
};

/* A machine makes no more threads than there are cores. Here it believes in sixteen. */
int omp_get_num_procs(void)
{
    return 16;
}

/* A program: chips of a replica, and what goes between them. */
struct link_end {
    unsigned chip;
    struct tensor t;
};
struct trial {
    uint64_t random;
    unsigned chips, replicas, channels;
    struct graph *g[CHIPS_MAX];
    struct link_end send[CHANNELS_MAX], receive[CHANNELS_MAX];
    enum elem elem[CHANNELS_MAX];
    uint32_t elements[CHANNELS_MAX];
    struct compiled *c;
};

/* ---- random programs ---- */

static uint32_t below(struct trial *x, uint32_t n)
{
    return random_below(&x->random, n);
}

static void map_somehow(struct trial *x, struct graph *g, struct tensor t)
{
    uint32_t n = (uint32_t)ss_tensor_elements(g, t), tiles = ss_graph_arch(g)->tiles, at = 0;
    struct tensor flat = ss_tensor_flatten(g, t);

    switch (below(x, 4)) {
    case 0:
        ss_graph_map(g, t, below(x, tiles));
        return;
    case 1:
        ss_graph_map_linear(g, t, 1 + below(x, 4), 1 + below(x, 8), 0, tiles);
        return;
    case 2:
        ss_graph_map_linear(g, t, 4, 1, below(x, tiles - 1), 2);
        return;
    default:
        while (at < n) {
            uint32_t part = 1 + below(x, 12), end = at + part < n ? at + part : n;

            ss_graph_map(g, ss_tensor_slice(g, flat, 0, at, end), below(x, tiles));
            at = end;
        }
    }
}

/* A kept variable, or a view of one. */
static struct tensor end_tensor(struct trial *x, struct graph *g, unsigned k, const char *name)
{
    uint32_t n = x->elements[k];
    struct tensor t;

    if (below(x, 3)) {
        t = ss_graph_variable(g, x->elem[k], SHAPE(n), name);
    } else if (below(x, 2)) {
        t = ss_graph_variable(g, x->elem[k], SHAPE(n, 3), name);
        map_somehow(x, g, t);
        ss_graph_keep(g, t);
        return ss_tensor_flatten(g, ss_tensor_slice(g, t, 1, 1, 2));
    } else {
        t = ss_graph_variable(g, x->elem[k], SHAPE(2 * n), name);
        map_somehow(x, g, t);
        ss_graph_keep(g, t);
        return ss_tensor_slice(g, t, 0, n - 1, 2 * n - 1);
    }
    map_somehow(x, g, t);
    ss_graph_keep(g, t);
    return t;
}

/* What a chip does in one turn: exchanges, and after each what has arrived goes into what will be
 * sent. */
static struct program chip_turn(struct trial *x, unsigned chip, const enum chips_scope *scope,
                                const uint32_t (*number)[2], unsigned steps)
{
    struct graph *g = x->g[chip];
    struct program all = ss_program_sequence(g);

    for (unsigned s = 0; s < steps; s++) {
        struct channel_use use[2 * CHANNELS_MAX];
        unsigned n = 0;

        for (unsigned k = s; k < x->channels; k += steps) {
            if (x->send[k].chip == chip)
                use[n++] = (struct channel_use){ number[k][0], x->send[k].t };
            if (x->receive[k].chip == chip)
                use[n++] = (struct channel_use){ number[k][1], x->receive[k].t };
        }
        ss_program_add(g, all, ss_program_exchange_chips(g, scope[s], use, n));
        for (unsigned k = 0; k < x->channels; k++)
            for (unsigned i = 0; i < x->channels; i++)
                if (x->receive[k].chip == chip && x->send[i].chip == chip &&
                    x->elem[k] == x->elem[i]) {
                    uint32_t m = x->elements[k] < x->elements[i] ? x->elements[k] : x->elements[i];

                    ss_program_add(g, all,
                                   ss_program_copy(g, ss_tensor_slice(g, x->receive[k].t, 0, 0, m),
                                                   ss_tensor_slice(g, x->send[i].t, 0, 0, m)));
                }
    }
    return all;
}

static void random_trial(struct trial *x, uint64_t seed)
{
    unsigned steps;
    enum chips_scope scope[2];
    uint32_t number[CHANNELS_MAX][2];

    *x = (struct trial){ .random = hash_mix(seed) };
    x->chips = 1u << below(x, 3);
    x->replicas = x->chips == 1 ? 2 + below(x, 2) : 1 + below(x, 2);
    x->channels = 1 + below(x, CHANNELS_MAX);
    steps = 1 + below(x, 2);
    for (unsigned s = 0; s < 2; s++)
        scope[s] = x->chips == 1 || below(x, 2) ? CHIPS_OF_POD : CHIPS_OF_REPLICA;
    for (unsigned k = 0; k < x->chips; k++)
        x->g[k] = graph_of_chips("toy16", x->chips * x->replicas);
    for (unsigned k = 0; k < x->channels; k++) {
        unsigned from = below(x, x->chips), to = below(x, x->chips);
        int32_t replica = 0;
        char name[16];

        if (scope[k % steps] == CHIPS_OF_POD && x->replicas > 1)
            replica = (int32_t)below(x, 2 * x->replicas) - (int32_t)x->replicas;
        if (from == to && replica % (int32_t)x->replicas == 0) {
            replica = x->chips == 1 ? 1 : replica;
            to = (to + 1) % x->chips;
        }
        x->elem[k] = (enum elem)below(x, ELEM_COUNT);
        x->elements[k] = 1 + below(x, below(x, 2) ? 300 : 20);
        x->send[k].chip = from;
        x->receive[k].chip = to;
        snprintf(name, sizeof(name), "c%u", k);
        number[k][0] =
            ss_graph_channel(x->g[from], CHANNEL_SEND, x->elem[k], x->elements[k], replica, name);
        number[k][1] =
            ss_graph_channel(x->g[to], CHANNEL_RECEIVE, x->elem[k], x->elements[k], 0, name);
        x->send[k].t = end_tensor(x, x->g[from], k, "out");
        x->receive[k].t = end_tensor(x, x->g[to], k, "in");
    }
    for (unsigned k = 0; k < x->chips; k++)
        ss_graph_set_program(
            x->g[k], ss_program_repeat(x->g[k], TURNS, chip_turn(x, k, scope, number, steps)));
}

static void trial_free(struct trial *x)
{
    ss_compiled_free(x->c);
    for (unsigned k = 0; k < x->chips; k++)
        ss_graph_free(x->g[k]);
    assert_int_equal(alloc_live(), 0);
}

static void trial_compile(struct trial *x, unsigned threads)
{
    const struct compile_options o = { .threads = threads };

    OK(ss_graphs_compile(x->g, x->chips, &o, &x->c));
    assert_true(ss_compiled_fits(x->c));
}

/* The same random contents for a system and interpreters, one for each of its chips. */
static void fill(struct trial *x, struct chip_system *s, struct interpreter **p)
{
    uint8_t data[ROOM];

    for (unsigned i = 0; i < x->chips * x->replicas; i++) {
        const struct graph *g = x->g[i % x->chips];

        for (uint32_t v = 0; v < g->variable.count; v++) {
            size_t bytes = g->variable.at[v].elements * ss_elem_bytes(g->variable.at[v].elem);

            assert_true(bytes <= ROOM);
            for (size_t k = 0; k < bytes; k++)
                data[k] = (uint8_t)below(x, 256);
            chip_system_move(s, i, v, data, 1);
            OK(ss_interpreter_write(p[i], g->variable.at[v].whole, data));
        }
    }
}

static void compare(struct trial *x, struct chip_system *s, struct interpreter **p, uint64_t seed)
{
    uint8_t is[ROOM], expected[ROOM];

    for (unsigned i = 0; i < x->chips * x->replicas; i++) {
        const struct graph *g = x->g[i % x->chips];

        for (uint32_t v = 0; v < g->variable.count; v++) {
            size_t bytes = g->variable.at[v].elements * ss_elem_bytes(g->variable.at[v].elem);

            chip_system_move(s, i, v, is, 0);
            OK(ss_interpreter_read(p[i], g->variable.at[v].whole, expected));
            if (memcmp(is, expected, bytes) != 0)
                fail_msg("seed %llu: chip %u, variable %u %s", (unsigned long long)seed, i, v,
                         g->variable.at[v].name);
        }
    }
}

/* ---- values, cycles, threads ---- */

/* The timing engine on other threads than the values. */
static void run_timing(struct trial *x, struct chip_system *values, uint64_t seed)
{
    static const unsigned threads[] = { 2, 3, 16 };
    struct chip_system timing;
    char who[40];

    snprintf(who, sizeof(who), "seed %llu", (unsigned long long)seed);
    chip_system_new(&timing, x->c, threads[seed % EMU_COUNT_OF(threads)], 1);
    chip_system_run(&timing, MAX_CYCLE);
    chip_system_same_records(values, &timing, who);
    chip_system_free(&timing);
}

/* Compiles the trial, and frees it. */
static void run_trial(struct trial *x, uint64_t seed)
{
    struct interpreter *p[2 * CHIPS_MAX];
    struct chip_system s;

    trial_compile(x, 1);
    chip_system_new(&s, x->c, 1, 0);
    for (unsigned i = 0; i < x->chips * x->replicas; i++)
        OK(ss_interpreter_new(x->g[i % x->chips], &p[i]));
    fill(x, &s, p);
    chip_system_run(&s, MAX_CYCLE);
    OK(ss_interpreters_run(p, x->chips, x->replicas, 100000));
    compare(x, &s, p, seed);
    run_timing(x, &s, seed);
    for (unsigned i = 0; i < x->chips * x->replicas; i++)
        ss_interpreter_free(p[i]);
    chip_system_free(&s);
    trial_free(x);
}

static void run_seed(uint64_t seed)
{
    struct trial x;

    random_trial(&x, seed);
    run_trial(&x, seed);
}

static void random_programs_mean_the_same(void **state)
{
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        run_seed(seed);
}

/* The bytes of an image. */
static char *image_bytes(const struct image *im, size_t *bytes)
{
    int fd = memfd_create("image", 0);
    char *out;

    assert_true(fd >= 0);
    OK(image_write_fd(im, fd, "image"));
    *bytes = (size_t)lseek(fd, 0, SEEK_END);
    out = emu_alloc(*bytes + 1, 1);
    assert_non_null(out);
    assert_int_equal(pread(fd, out, *bytes, 0), (ssize_t)*bytes);
    close(fd);
    return out;
}

static void images_are_equal_on_any_threads(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        char *data[2];
        size_t n[2];

        for (unsigned i = 0; i < 2; i++) {
            struct trial x;

            random_trial(&x, seed);
            trial_compile(&x, 1 + i);
            data[i] = image_bytes(ss_compiled_image(x.c), &n[i]);
            ss_compiled_free(x.c);
            for (unsigned k = 0; k < x.chips; k++)
                ss_graph_free(x.g[k]);
        }
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(data[0], data[1], n[0]);
        ss_free(data[0]);
        ss_free(data[1]);
    }
}

/* ---- sessions ---- */

/* A stream goes into chip 0, over a channel to chip 1 and out of there, with what is kept there
 * added to it by a copy of its own. */
static void stream_graphs(struct trial *x, struct tensor *kept, uint32_t n)
{
    *x = (struct trial){ .chips = 2, .replicas = 1 };
    for (unsigned k = 0; k < 2; k++) {
        struct graph *g = x->g[k] = graph_of_chips("toy16", 2);
        struct tensor t = ss_graph_variable(g, ELEM_U32, SHAPE(n), "t");
        uint32_t stream = ss_graph_stream(g, k ? STREAM_OUT : STREAM_IN, ELEM_U32, n, 1, "s");
        uint32_t c = ss_graph_channel(g, k ? CHANNEL_RECEIVE : CHANNEL_SEND, ELEM_U32, n, 0, "c");
        struct program meet =
            ss_program_exchange_chips(g, CHIPS_OF_REPLICA, &(struct channel_use){ c, t }, 1);
        struct program all = ss_program_sequence(g);

        kept[k] = ss_graph_variable(g, ELEM_U32, SHAPE(n), "kept");
        ss_graph_map_linear(g, t, 1, 1, 0, 3 + k);
        ss_graph_map(g, kept[k], 7);
        ss_graph_keep(g, kept[k]);
        ss_program_add(g, all, k ? meet : ss_program_stream(g, stream, t));
        ss_program_add(g, all, k ? ss_program_stream(g, stream, t) : meet);
        ss_program_add(g, all,
                       ss_program_copy(g, ss_tensor_slice(g, t, 0, 0, n / 2),
                                       ss_tensor_slice(g, kept[k], 0, n / 2, n)));
        ss_graph_set_program(g, all);
    }
}

static void sessions_reach_every_chip(void **state)
{
    enum { N = 40 };
    const struct session_options o = { .threads = 1, .check = 1 };
    uint32_t in[2 * N], data[N], stream, *out;
    uint64_t transfers;
    struct tensor kept[2];
    struct session *s;
    struct trial x;

    (void)state;
    for (uint32_t i = 0; i < 2 * N; i++)
        in[i] = 1000 + i;
    stream_graphs(&x, kept, N);
    trial_compile(&x, 1);
    OK(ss_session_new(x.c, &o, &s));
    OK(ss_session_feed(s, 0, in, 2));
    OK(ss_session_chip_write(s, 1, kept[1], in));
    OK(ss_session_chip_write(s, 0, kept[0], in + N));
    assert_int_equal(ss_session_chip_write(s, 2, kept[0], in), EMU_USAGE);
    error_says("chip 2: the system has 2");
    OK(ss_session_run(s));
    OK(ss_session_run(s));
    OK(ss_session_output(s, SESSION_CHIP_STREAMS, (void **)&out, &transfers));
    assert_int_equal(transfers, 2);
    assert_memory_equal(out, in, sizeof(in));
    ss_free(out);
    for (unsigned k = 0; k < 2; k++) {
        OK(ss_session_chip_read(s, k, kept[k], data));
        assert_memory_equal(data, k ? in : in + N, N / 2 * 4);
        assert_memory_equal(data + N / 2, in + N, N / 2 * 4);
    }
    OK(ss_session_stream_find(s, "s", &stream));
    assert_int_equal(stream, 0);
    ss_session_free(s);
    trial_free(&x);
}

/* ---- what the image says ---- */

/* Two chips; what chip 0 has on `tiles` tiles goes to all tiles of chip 1. */
static void pair_trial(struct trial *x, const char *machine, uint32_t n, uint32_t tiles)
{
    uint32_t all;

    *x = (struct trial){ .chips = 2, .replicas = 1 };
    for (unsigned k = 0; k < 2; k++) {
        struct graph *g = x->g[k] = graph_of_chips(machine, 2);
        struct tensor t = ss_graph_variable(g, ELEM_U32, SHAPE(n), k ? "y" : "x");
        uint32_t c =
            ss_graph_channel(g, k ? CHANNEL_RECEIVE : CHANNEL_SEND, ELEM_U32, n, 0, "edge");

        all = ss_graph_arch(g)->tiles;
        ss_graph_map_linear(g, t, 1, 1, 0, k ? all : tiles);
        ss_graph_keep(g, t);
        ss_graph_set_program(
            g, ss_program_exchange_chips(g, CHIPS_OF_REPLICA, &(struct channel_use){ c, t }, 1));
        *(k ? &x->receive[0] : &x->send[0]) = (struct link_end){ k, t };
    }
}

static const struct storage_run *place_of(const struct lowered *l, uint32_t element)
{
    const struct storage_run *r = l->storage_run.at;

    while (r->end <= element)
        r++;
    return r;
}

static uint32_t word_of(const struct image *im, uint32_t chip, uint32_t tile, uint32_t addr)
{
    const struct image_tile *t = image_find_tile(im, chip, tile);
    uint32_t word = 0, bytes;

    for (uint32_t i = 0; i < t->segments; i++) {
        const struct image_segment *s = image_segment_at(im, t->first_segment + i);

        if (addr >= s->addr && addr - s->addr < s->bytes)
            memcpy(&word, image_blob_bytes(im, s->blob, &bytes) + (addr - s->addr), 4);
    }
    return word;
}

/* Headers in the order of tiles and addresses are those of the elements in their order, if a tile
 * holds a run. */
static void headers_say_where_words_go(void **state)
{
    enum { N = 1000 };
    struct trial x;
    const struct image *im;
    uint32_t element = 0;

    (void)state;
    pair_trial(&x, "toy16", N, 3);
    trial_compile(&x, 1);
    im = ss_compiled_image(x.c);
    assert_int_equal(image_chip_count(im), 2);
    for (size_t i = 0; i < image_link_count(im); i++) {
        const struct image_link *k = image_link_at(im, i);
        const struct lowered *l = ss_compiled_chip(x.c, 1)->lowered;
        uint32_t word[2] = { word_of(im, 0, k->tile, k->addr),
                             word_of(im, 0, k->tile, k->addr + 4) };
        const struct storage_run *r = place_of(l, element);
        struct link_header h = { 0 };

        assert_int_equal(k->chip, 0);
        assert_int_equal(k->replica, 0);
        assert_true(link_header_is(word) && link_header_unpack(word, &h));
        assert_int_equal(h.chip, 1);
        assert_int_equal(h.tile, l->object.at[r->object].tile);
        assert_int_equal(h.addr,
                         l->object.at[r->object].addr + r->offset + 4 * (element - r->begin));
        assert_true(h.words <= 64 && element + h.words <= r->end);
        element += h.words;
    }
    assert_int_equal(element, N);
    assert_int_equal(image_channel_count(im), 1);
    assert_string_equal(image_text(im, image_channel_at(im, 0)->name), "edge");
    assert_int_equal(image_channel_at(im, 0)->parts, 3 + 16);
    assert_int_equal(image_zone_scope(im, 5), SCOPE_REPLICA);
    assert_int_equal(image_zone_scope(im, 6), SCOPE_POD);
    assert_int_equal(image_zone_scope(im, 7), SCOPE_HOST);
    trial_free(&x);
}

/* A channel that is sent from two tensors in turn, one of them twice: both places are there. */
static void channels_have_all_places(void **state)
{
    enum { N = 60 };
    struct trial x = { .chips = 2, .replicas = 1 };
    const struct image_channel *c;
    uint64_t bytes[2] = { 0, 0 };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct graph *g = x.g[k] = graph_of_chips("toy16", 2);
        struct tensor t[2] = { ss_graph_variable(g, ELEM_U32, SHAPE(N), "one"),
                               ss_graph_variable(g, ELEM_U32, SHAPE(N), "two") };
        uint32_t edge =
            ss_graph_channel(g, k ? CHANNEL_RECEIVE : CHANNEL_SEND, ELEM_U32, N, 0, "edge");
        struct program all = ss_program_sequence(g);

        for (unsigned i = 0; i < 2; i++) {
            ss_graph_map_linear(g, t[i], 1, 1, 6 * i, 3 + 2 * i);
            ss_graph_keep(g, t[i]);
        }
        for (unsigned i = 0; i < 3; i++)
            ss_program_add(
                g, all,
                ss_program_exchange_chips(g, CHIPS_OF_REPLICA,
                                          &(struct channel_use){ edge, t[k ? 0 : i % 2] }, 1));
        ss_graph_set_program(g, all);
    }
    trial_compile(&x, 1);
    c = image_channel_at(ss_compiled_image(x.c), 0);
    assert_int_equal(c->parts, 3 + 5 + 3);
    for (uint32_t i = 0; i < c->parts; i++) {
        const struct image_channel_part *p = image_channel_part_at(ss_compiled_image(x.c), i);

        assert_int_equal(p->chip, p->receives);
        bytes[p->receives] += p->bytes;
    }
    assert_int_equal(bytes[0], 2 * N * 4);
    assert_int_equal(bytes[1], N * 4);
    trial_free(&x);
}

/* ---- what overflows ---- */

/* Each chip meets the other k times, then rounds a number to f16, which is too large on chip 1. */
static void overflow_graphs(struct trial *x, unsigned replicas)
{
    *x = (struct trial){ .chips = 2, .replicas = replicas };
    for (unsigned k = 0; k < 2; k++) {
        const float number = k ? 1e6f : 2;
        struct graph *g = x->g[k] = graph_of_chips("toy4", 2 * replicas);
        struct tensor in = ss_graph_constant_repeated(g, ELEM_F32, SHAPE(8), &number, "in");
        struct tensor out = ss_graph_variable(g, ELEM_F16, SHAPE(8), "out");
        struct program all = ss_program_sequence(g);
        uint32_t cs = ss_graph_compute_set(g, "cast");
        uint32_t v = ss_graph_vertex(g, cs, "cast_f32_f16", 1);

        ss_graph_map(g, in, 1);
        ss_graph_map(g, out, 1);
        ss_graph_keep(g, out);
        ss_vertex_connect(g, v, "x", in);
        ss_vertex_connect(g, v, "y", out);
        for (unsigned i = 0; i < 2; i++)
            ss_program_add(g, all, ss_program_exchange_chips(g, CHIPS_OF_POD, NULL, 0));
        ss_program_add(g, all, ss_program_execute(g, cs));
        ss_graph_set_program(g, all);
    }
}

static void sessions_watch_every_chip(void **state)
{
    (void)state;
    for (unsigned replicas = 1; replicas <= 2; replicas++) {
        struct session_options o = { .threads = replicas, .overflow = 1, .ranges = 1 };
        struct trial x;
        struct session *s;

        overflow_graphs(&x, replicas);
        trial_compile(&x, 1);
        OK(ss_session_new(x.c, &o, &s));
        OK(ss_session_run(s));
        for (unsigned chip = 0; chip < 2 * replicas; chip++) {
            struct session_overflow over = ss_session_chip_overflow(s, chip);
            const struct session_range *range;
            uint64_t saturated = 0, numbers = 0;
            size_t steps;

            assert_int_equal(over.tiles, chip % 2);
            assert_int_equal(over.values, chip % 2 ? 8 : 0);
            assert_int_equal(over.superstep, chip % 2 ? 2 : 0);
            range = ss_session_chip_ranges(s, chip, &steps);
            for (size_t i = 0; i < steps; i++) {
                numbers += range[i].numbers;
                saturated += range[i].saturated;
            }
            assert_int_equal(numbers, 8);
            assert_int_equal(saturated, chip % 2 ? 8 : 0);
        }
        assert_int_equal(ss_session_overflow(s).tiles, 0);
        assert_int_equal(ss_session_chip_overflow(s, 2 * replicas).tiles, 0);
        ss_session_free(s);
        trial_free(&x);
    }
}

/* ---- who deals out words ---- */

/* The tiles that send. */
static uint32_t senders(const struct compiled *c)
{
    const struct image *im = ss_compiled_image(c);
    uint32_t n = 0;

    for (size_t i = 0; i < image_link_count(im); i++)
        n += !i || image_link_at(im, i)->tile != image_link_at(im, i - 1)->tile;
    return n;
}

/* Of mk2, whose bundles have 46 tiles. A tile by itself has to send its words anyway. */
static void few_bundles_deal_out_their_words(void **state)
{
    static const struct {
        uint32_t words, tiles, senders;
    } cases[] = {
        { 46 * 1024, 46, 1472 }, /* one bundle */
        { 4096, 1, 1 },          /* one tile */
        { 46 * 16, 46, 46 },     /* too few */
        { 1472 * 64, 1472, 1472 },
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(cases); k++) {
        struct trial x;

        pair_trial(&x, "mk2", cases[k].words, cases[k].tiles);
        trial_compile(&x, 2);
        assert_int_equal(senders(x.c), cases[k].senders);
        trial_free(&x);
    }
}

/* Elements of which no tile has whole words are dealt out, to the same buffers in both exchanges
 * of a program: the sender knows one place. */
static void dealt_arrivals_have_one_place(void **state)
{
    enum { N = 40, TIMES = 2 };
    struct trial x = { .random = 1, .chips = 2, .replicas = 1 };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct graph *g = x.g[k] = graph_of_chips("toy16", 2);
        struct tensor t = ss_graph_variable(g, ELEM_F16, SHAPE(N), "t");
        struct tensor seen = ss_graph_variable(g, ELEM_F16, SHAPE(TIMES, N), "seen");
        struct program all = ss_program_sequence(g);
        uint32_t c =
            ss_graph_channel(g, k ? CHANNEL_RECEIVE : CHANNEL_SEND, ELEM_F16, N, 0, "edge");

        ss_graph_map_linear(g, t, 1, 1, 0, 16);
        ss_graph_map(g, seen, 3);
        ss_graph_keep(g, t);
        ss_graph_keep(g, seen);
        for (uint32_t i = 0; i < TIMES; i++) {
            struct tensor row = ss_tensor_flatten(g, ss_tensor_slice(g, seen, 0, i, i + 1));

            ss_program_add(
                g, all,
                ss_program_exchange_chips(g, CHIPS_OF_REPLICA, &(struct channel_use){ c, t }, 1));
            ss_program_add(g, all, k ? ss_program_copy(g, t, row) : ss_program_copy(g, row, t));
        }
        ss_graph_set_program(g, all);
    }
    run_trial(&x, 0);
}

/* ---- what does not go together ---- */

static void ends_must_go_together(void **state)
{
    static const char *const says[] = {
        "channel edge: chip 0 sends to it, and no chip receives it",
        "channel edge: chip 0 sends 8 elements of type u32, 32 bytes, and chip 1 receives 4 of "
        "type "
        "u32, 16 bytes",
        "channel edge: chips 0 and 1 both send to it",
        "channel edge: chip 0 sends to it in exchanges of all chips of the pod, and chip 1 "
        "receives "
        "it in those of the replica",
        "channel edge: chip 1 receives it in different places",
        "chip 1: its graph is for another machine",
        "a program of 2 chips on a machine of 3",
        "channel edge: chip 0 sends it to itself",
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(says); k++) {
        struct graph *g[2];
        struct compiled *c;
        unsigned n = k == 7 ? 1 : 2;

        for (unsigned i = 0; i < 2; i++) {
            uint32_t size = i && k == 1 ? 4 : 8, other;
            enum channel_way way = i && k != 2 ? CHANNEL_RECEIVE : CHANNEL_SEND;
            struct tensor t, u;
            struct program p;

            g[i] = graph_of_chips("toy4", k == 6 ? 3 : i && k == 5 ? 4 : 2);
            t = ss_graph_variable(g[i], ELEM_U32, SHAPE(size), "t");
            u = ss_graph_variable(g[i], ELEM_U32, SHAPE(size), "u");
            ss_graph_map(g[i], t, 1);
            ss_graph_map(g[i], u, 1);
            ss_graph_keep(g[i], t);
            ss_graph_keep(g[i], u);
            other = ss_graph_channel(g[i], way, ELEM_U32, size, k == 7 ? 2 : 0,
                                     i && !k ? "other" : "edge");
            p = ss_program_sequence(g[i]);
            if (k == 7) {
                const struct channel_use use[2] = {
                    { other, t },
                    { ss_graph_channel(g[i], CHANNEL_RECEIVE, ELEM_U32, size, 0, "edge"), u }
                };

                ss_program_add(g[i], p, ss_program_exchange_chips(g[i], CHIPS_OF_POD, use, 2));
            } else {
                ss_program_add(
                    g[i], p,
                    ss_program_exchange_chips(g[i], !i && k == 3 ? CHIPS_OF_POD : CHIPS_OF_REPLICA,
                                              &(struct channel_use){ other, t }, 1));
            }
            if (k == 4)
                ss_program_add(g[i], p,
                               ss_program_exchange_chips(g[i], CHIPS_OF_REPLICA,
                                                         &(struct channel_use){ other, u }, 1));
            ss_graph_set_program(g[i], p);
        }
        assert_int_equal(ss_graphs_compile(g, n, NULL, &c),
                         k == 5 || k == 6 ? EMU_BAD_MACHINE : EMU_BAD_PROGRAM);
        assert_null(c);
        error_says(says[k]);
        for (unsigned i = 0; i < 2; i++)
            ss_graph_free(g[i]);
    }
    assert_int_equal(alloc_live(), 0);
}

/* The one that is too full is named. */
static void memory_is_reported_by_chip(void **state)
{
    struct trial x;
    char *text = NULL;
    size_t bytes;
    struct tensor much;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    pair_trial(&x, "toy4", 100, 2);
    much = ss_graph_variable(x.g[1], ELEM_U32, SHAPE(100000), "much");
    ss_graph_map(x.g[1], much, 2);
    ss_graph_keep(x.g[1], much);
    OK(ss_graphs_compile(x.g, 2, NULL, &x.c));
    assert_false(ss_compiled_fits(x.c));
    assert_null(ss_compiled_image(x.c));
    assert_true(ss_compiled_need_bytes(x.c) > 400000);
    ss_compiled_shortage(x.c, f);
    fclose(f);
    assert_non_null(strstr(text, "OUT OF MEMORY: chip 1: 1 of 4 tiles"));
    assert_null(strstr(text, "chip 0"));
    free(text);
    trial_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_say_where_words_go),
        cmocka_unit_test(ends_must_go_together),
        cmocka_unit_test(memory_is_reported_by_chip),
        cmocka_unit_test(random_programs_mean_the_same),
        cmocka_unit_test(sessions_reach_every_chip),
        cmocka_unit_test(images_are_equal_on_any_threads),
        cmocka_unit_test(few_bundles_deal_out_their_words),
        cmocka_unit_test(channels_have_all_places),
        cmocka_unit_test(sessions_watch_every_chip),
        cmocka_unit_test(dealt_arrivals_have_one_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
