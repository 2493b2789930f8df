/* test_chips_graph.c - programs of several chips before they are compiled: what is refused, what
 * they mean, and as files.
 */
#include "programs/compiler/graph_file.h"
#include "tests/fixtures/graph_fixture.h"

#define OK(expr)                                                                                   \
    do {                                                                                           \
        if ((expr) != EMU_OK)                                                                      \
            fail_msg("%s", ss_error());                                                            \
    } while (0)

enum { CHIPS = 4, N = 6 };

static struct graph *graph_of_chips(unsigned chips)
{
    struct arch a = *ss_arch_preset("toy4");
    struct graph *g;
    char set[32];

    snprintf(set, sizeof(set), "chips=%u", chips);
    OK(ss_arch_set(&a, set));
    OK(ss_graph_new(&a, &ss_kernel_library, &g));
    return g;
}

static struct tensor kept(struct graph *g, const char *name, uint32_t n)
{
    struct tensor t = ss_graph_variable(g, ELEM_U32, SHAPE(n), name);

    ss_graph_map_linear(g, t, 1, 1, 0, 4);
    ss_graph_keep(g, t);
    return t;
}

/* ---- what is refused ---- */

static void builder_refuses(void **state)
{
    static const char *const says[] = {
        "channel a|6 elements of type u32",          /* another size */
        "channel a is used twice",                   /* in one step */
        "channel b goes to another replica|the pod", /* in an exchange of the replica */
        "there is no channel 7",
        "channel a: the graph has one of that name and direction",
        "channel c receives from replica 1",
        "channel d: 0 elements",
        "channel e: 5000 replicas further, expected at most 4095",
        "channel f: 4294967295 elements, expected at least 1, and less than 4 GiB",
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(says); k++) {
        struct graph *g = graph_of_chips(2);
        struct tensor t = kept(g, "t", N), u = kept(g, "u", N);
        uint32_t a = ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, N, 0, "a");
        uint32_t b = ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, N, 1, "b");
        const struct channel_use use[2] = { { k == 3   ? 7
                                              : k == 2 ? b
                                                       : a,
                                              k == 0 ? ss_tensor_slice(g, t, 0, 0, 2) : t },
                                            { a, u } };

        if (k < 4)
            (void)ss_program_exchange_chips(g, CHIPS_OF_REPLICA, use, k == 1 ? 2 : 1);
        else if (k == 4)
            (void)ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, N, 0, "a");
        else if (k == 5)
            (void)ss_graph_channel(g, CHANNEL_RECEIVE, ELEM_U32, N, 1, "c");
        else if (k == 6)
            (void)ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, 0, 0, "d");
        else if (k == 7)
            (void)ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, N, 5000, "e");
        else
            (void)ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, UINT32_MAX, 0, "f");
        builder_says(g, says[k]);
        ss_graph_free(g);
    }
}

static void check_refuses(void **state)
{
    static const char *const says[] = {
        "t[2] (tile 0) is|sent to channel a|received from channel b",
        "t[2] (tile 0) is|received from channel b|received from channel c",
        "in a part of ss_program_together|all groups come to it",
        "writes to the constant k",
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(says); k++) {
        static const uint32_t data[N] = { 0 };
        struct graph *g = graph_of_chips(2);
        struct tensor t = kept(g, "t", 2 * N), u = kept(g, "u", N);
        struct tensor c = ss_graph_constant(g, ELEM_U32, SHAPE(N), data, "k");
        struct tensor low = ss_tensor_slice(g, t, 0, 0, N),
                      high = ss_tensor_slice(g, t, 0, 2, N + 2);
        const struct channel_use use[2] = {
            { ss_graph_channel(g, k == 1 ? CHANNEL_RECEIVE : CHANNEL_SEND, ELEM_U32, N, 0,
                               k == 1 ? "c" : "a"),
              low },
            { ss_graph_channel(g, CHANNEL_RECEIVE, ELEM_U32, N, 0, "b"), k == 2   ? u
                                                                         : k == 3 ? c
                                                                                  : high }
        };
        struct program p = ss_program_exchange_chips(g, CHIPS_OF_POD, use, 2);

        ss_graph_map(g, c, 0);
        if (k == 2)
            p = ss_program_together(g, (const unsigned[]){ 0 }, &p, 1);
        ss_graph_set_program(g, p);
        assert_int_equal(ss_graph_check(g), EMU_BAD_PROGRAM);
        error_says(says[k]);
        ss_graph_free(g);
    }
}

/* ---- meaning ---- */

/* A ring: what a chip has goes to the next one, `turns` times; the last chip sends to the first. */
static struct graph *ring_member(unsigned chips, unsigned k, unsigned turns, struct tensor t[2])
{
    struct graph *g = graph_of_chips(chips);
    char to[16], from[16];
    struct program body = ss_program_sequence(g);

    snprintf(to, sizeof(to), "r%u", k);
    snprintf(from, sizeof(from), "r%u", (k + chips - 1) % chips);
    t[0] = kept(g, "out", N);
    t[1] = kept(g, "in", N);
    ss_program_add(g, body,
                   ss_program_exchange_chips(
                       g, CHIPS_OF_REPLICA,
                       (struct channel_use[]){
                           { ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, N, 0, to), t[0] },
                           { ss_graph_channel(g, CHANNEL_RECEIVE, ELEM_U32, N, 0, from), t[1] } },
                       2));
    ss_program_add(g, body, ss_program_copy(g, t[1], t[0]));
    ss_graph_set_program(g, ss_program_repeat(g, turns, body));
    return g;
}

static void words_go_round_a_ring(void **state)
{
    struct graph *g[CHIPS];
    struct interpreter *p[CHIPS];
    struct tensor t[CHIPS][2];
    uint32_t data[N];

    (void)state;
    for (uint32_t k = 0; k < CHIPS; k++) {
        g[k] = ring_member(CHIPS, k, 3, t[k]);
        OK(ss_graph_check(g[k]));
        OK(ss_interpreter_new(g[k], &p[k]));
        for (uint32_t i = 0; i < N; i++)
            data[i] = 100 * k + i;
        OK(ss_interpreter_write(p[k], t[k][0], data));
    }
    OK(ss_interpreters_run(p, CHIPS, 1, 1000));
    for (uint32_t k = 0; k < CHIPS; k++) {
        OK(ss_interpreter_read(p[k], t[k][1], data));
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(data[i], 100 * ((k + 1) % CHIPS) + i);
        ss_interpreter_free(p[k]);
        ss_graph_free(g[k]);
    }
}

/* One chip a replica: each sends to the next but one. */
static void replicas_send_round_their_ring(void **state)
{
    struct graph *g = graph_of_chips(3);
    struct tensor out = kept(g, "out", N), in = kept(g, "in", N);
    const struct channel_use use[] = {
        { ss_graph_channel(g, CHANNEL_SEND, ELEM_U32, N, -4, "x"), out },
        { ss_graph_channel(g, CHANNEL_RECEIVE, ELEM_U32, N, 0, "x"), in }
    };
    struct interpreter *p[3];
    uint32_t data[N] = { 0 };

    (void)state;
    ss_graph_set_program(g, ss_program_exchange_chips(g, CHIPS_OF_POD, use, 2));
    for (uint32_t r = 0; r < 3; r++) {
        OK(ss_interpreter_new(g, &p[r]));
        data[0] = r;
        OK(ss_interpreter_write(p[r], out, data));
    }
    OK(ss_interpreters_run(p, 1, 3, 100));
    for (uint32_t r = 0; r < 3; r++) {
        OK(ss_interpreter_read(p[r], in, data));
        assert_int_equal(data[0], (r + 4) % 3);
        ss_interpreter_free(p[r]);
    }
    ss_graph_free(g);
}

static void what_never_comes_is_named(void **state)
{
    static const char *const says[] = {
        "chip 0 waits|the replica|chip 1 is at its end", /* one turn less */
        "chip 0 waits|the replica|chip 1 waits|the pod",
        "chip 1 expects words of channel r0, and nobody sends any",
        "chip 1 sends to channel r1, and nobody receives it",
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(says); k++) {
        struct tensor t[2][2];
        struct graph *g[2] = { ring_member(2, 0, 2, t[0]), ring_member(2, 1, k ? 2 : 1, t[1]) };
        struct interpreter *p[2];

        for (uint32_t i = 0; i < g[1]->node.count && k == 1; i++)
            g[1]->node.at[i].chips = CHIPS_OF_POD;
        for (uint32_t i = 0; i < g[0]->node.count && k > 1; i++) { /* leaves out one use */
            struct node *n = &g[0]->node.at[i];

            n->a += n->kind == NODE_CHIPS && k == 2;
            n->b -= n->kind == NODE_CHIPS;
        }
        for (unsigned i = 0; i < 2; i++)
            OK(ss_interpreter_new(g[i], &p[i]));
        assert_int_equal(ss_interpreters_run(p, 2, 1, 100), EMU_FAULT);
        error_says(says[k]);
        for (unsigned i = 0; i < 2; i++) {
            ss_interpreter_free(p[i]);
            ss_graph_free(g[i]);
        }
    }
}

/* ---- files ---- */

static char *text_of(struct graph *const *g, unsigned n)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    OK(ss_graphs_write((const struct graph *const *)g, n, f));
    fclose(f);
    return text;
}

static enum emu_status read_text(const char *text, struct graph ***g, unsigned *n)
{
    const struct graph_source s = { .text = text, .bytes = strlen(text), .name = "x.graph" };

    return ss_graphs_read(&s, NULL, &ss_kernel_library, g, n);
}

static void files_are_read_back(void **state)
{
    struct tensor t[2];
    struct graph *g[CHIPS], **h, *one;
    char *first, *second;
    unsigned n;

    (void)state;
    for (unsigned k = 0; k < CHIPS; k++)
        g[k] = ring_member(CHIPS, k, 3, t);
    (void)ss_graph_channel(g[1], CHANNEL_SEND, ELEM_F16, 5, -2, "back");
    (void)ss_graph_channel(g[1], CHANNEL_SEND, ELEM_F16, 5, 7, "two words");
    first = text_of(g, CHIPS);
    OK(read_text(first, &h, &n));
    assert_int_equal(n, CHIPS);
    second = text_of(h, n);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "channel back send f16 [5] replica back 2\n"));
    assert_non_null(strstr(first, "chip 3\n"));
    assert_int_equal(
        ss_graph_read(
            &(struct graph_source){ .text = first, .bytes = strlen(first), .name = "x.graph" },
            NULL, &ss_kernel_library, &one),
        EMU_BAD_FILE);
    error_says("x.graph:2: a program of 4 chips: expected one of one chip");
    ss_graphs_free(h, n);
    for (unsigned k = 0; k < CHIPS; k++)
        ss_graph_free(g[k]);
    free(first);
    free(second);
}

static void files_are_refused_by_line(void **state)
{
#define HEAD "superstep-graph 1\nmachine toy4 tiles 4 chips 2\n"
#define CHIP0                                                                                      \
    "chip 0\nvariable x u32 [2] kept\n  [0:2] on tile 0\nchannel c send u32 [2]\nprogram\n"
    static const struct {
        const char *text, *says;
    } cases[] = {
        { HEAD "variable x u32 [2]\n", "x.graph:3: expected 'chip'" },
        { HEAD "chip 1\n", "x.graph:3: expected the number of the next chip" },
        { HEAD CHIP0 "  meet replica\n    send x to c\n", "expected 'chip'" },
        { HEAD CHIP0 "  meet replica\n    send x to c\nchip 1\nprogram\n  sequence\nchip 2\n",
          "expected the end of the file: the machine has 2 chips" },
        { HEAD CHIP0 "  meet all\n", "x.graph:8: expected replica or pod, found 'all'" },
        { HEAD CHIP0 "  meet pod\n    take x from c\n", "x.graph:9: expected send or receive" },
        { HEAD CHIP0 "  meet pod\n    receive x from c\n",
          "x.graph:9: there is no channel c of direction 'receive' above" },
        { HEAD CHIP0 "  meet pod\n    send x from c\n", "x.graph:9: expected 'to'" },
        { HEAD CHIP0 "  meet pod\n    send x[0:1] to c\nchip 1\n",
          "x.graph:8: ss_program_exchange_chips|channel c" },
        { "superstep-graph 1\nmachine toy4\nchannel c out u32 [2]\n",
          "x.graph:3: expected send or receive" },
        { "superstep-graph 1\nmachine toy4\nchannel c send u32 [2] replica back 9999\n",
          "x.graph:3: expected a number of replicas" },
        { "superstep-graph 1\nmachine toy4 chips 0\n", "x.graph:2: expected chips" },
        { "superstep-graph 1\nmachine toy4\nprogram\n  sequence\nchip 1\n",
          "expected the end of the file: the machine has 1 chip," },
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(cases); k++) {
        struct graph **g;
        unsigned n;

        assert_int_equal(read_text(cases[k].text, &g, &n), EMU_BAD_FILE);
        error_says(cases[k].says);
        assert_null(g);
    }
}

static int nothing_is_left(void **state)
{
    (void)state;
    return alloc_live() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(builder_refuses, nothing_is_left),
        cmocka_unit_test_teardown(check_refuses, nothing_is_left),
        cmocka_unit_test_teardown(words_go_round_a_ring, nothing_is_left),
        cmocka_unit_test_teardown(replicas_send_round_their_ring, nothing_is_left),
        cmocka_unit_test_teardown(what_never_comes_is_named, nothing_is_left),
        cmocka_unit_test_teardown(files_are_read_back, nothing_is_left),
        cmocka_unit_test_teardown(files_are_refused_by_line, nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
