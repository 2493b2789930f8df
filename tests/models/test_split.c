/* test_split.c - graphs in stages: computed stage by stage they give the bits of the whole graph,
 * wherever they are cut; steps of training do, too, with nothing kept between forward and backward
 * parts but stashes. What cannot be split is refused by name. Places say what really crosses them.
 */
#include "tests/fixtures/split_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/random.h"
#include "models/operators/op_bytes.h"
#include "models/onnx/onnx.h"
#include "models/train/recompute.h"
#include "models/train/train_step.h"
#include "models/weights/weights.h"
#include "tests/fixtures/picture_fixture.h"
#include "tests/fixtures/random_operators.h"
#include "tests/fixtures/seed_range.h"
#include "tests/fixtures/small_networks.h"
#include "tests/fixtures/train_networks.h"

enum { CUT_MAX = 1 << 12, SEEDS = 60, SEEDS_LONG = 3000, GARBAGE = 200 };

static void (*const drafts[])(void) = { relu_and_tanh,
                                        swish_and_gelu,
                                        batch_norms,
                                        blocks,
                                        group_norms,
                                        layer_norms,
                                        class_token,
                                        plain_convolutions,
                                        residual_block,
                                        inverted_block,
                                        pools,
                                        three_blocks,
                                        four_blocks_with_group_norms,
                                        u_net };

/* ---- cuts ---- */

static uint64_t seed = 5;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random_next(&seed) >> 33) % n;
}

/* A list of so many of the places, in order, at random. */
static void draw_cut(const struct split_places *p, unsigned cuts, char text[CUT_MAX])
{
    uint32_t left = p->count;

    text[0] = '\0';
    for (uint32_t k = 0; k < p->count; k++, left--) {
        if (below(left) >= cuts)
            continue;
        if (text[0])
            strcat(text, ",");
        assert_true(strlen(text) + strlen(p->at[k].name) + 2 < CUT_MAX);
        strcat(text, p->at[k].name);
        cuts--;
    }
}

/* Right, or refused for one of two reasons. */
static int try_cut(const struct whole *w, const char *cut)
{
    struct split s;

    if (split_graph(w->g, cut, &s) == EMU_OK) {
        split_free(&s);
        split_is_right(w, cut);
        return 1;
    }
    if (!strstr(ss_error(), "is read in") && !strstr(ss_error(), "would be empty"))
        fail_msg("%s: %s", cut, ss_error());
    return 0;
}

/* Two stages at every place, and three and four at random ones. Returns how many were right. */
static unsigned cut_everywhere(struct op_graph *g, int nodes, const struct op_tensor *in)
{
    struct split_places p;
    struct whole w;
    char cut[CUT_MAX];
    unsigned right = 0;

    g->f32_nodes = g->nodes / 2;
    whole_begin(&w, g, in);
    split_is_right(&w, NULL);
    assert_int_equal(split_places(g, nodes, &p), EMU_OK);
    for (uint32_t k = 0; k < p.count; k++) {
        int is_right = try_cut(&w, p.at[k].name);

        assert_true(is_right || p.at[k].tied);
        right += (unsigned)is_right;
    }
    for (unsigned cuts = 2; cuts <= 3 && p.count >= cuts; cuts++) {
        draw_cut(&p, cuts, cut);
        right += (unsigned)try_cut(&w, cut);
    }
    split_places_free(&p);
    whole_end(&w);
    return right;
}

static void small_graphs_are_cut_everywhere(void **state)
{
    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(drafts); k++) {
        struct op_graph *g = draft_network(drafts[k]);

        assert_true(cut_everywhere(g, 0, NULL) > 0);
        assert_true(cut_everywhere(g, 1, NULL) > 2);
        op_graph_free(g);
    }
}

/* ---- networks from files ---- */

static void cut_file(const char *path)
{
    struct onnx_model *m;

    if (onnx_read_file(path, NULL, &m) != EMU_OK)
        fail_msg("%s: %s", path, ss_error());
    cut_everywhere(m->graph, 1, NULL);
    onnx_model_free(m);
}

/* Recurrent layers, tokens, several inputs and outputs, results that are absent. */
static void files_are_cut_everywhere(void **state)
{
    struct test_folder folder;

    (void)state;
    folder_new(&folder);
    for (const struct small_input *in = small_inputs; in->name; in++) {
        for (const struct small_output *out = small_outputs; out->name; out++) {
            const char *path = path_in(&folder, "%s.%s.onnx", in->name, out->name);

            assert_true(small_network_write(in->name, out->name, path));
            cut_file(path);
        }
    }
    for (const char *const *absent = small_absent; *absent; absent++) {
        const char *path = path_in(&folder, "%s.onnx", *absent);

        assert_true(small_network_write(*absent, NULL, path));
        cut_file(path);
    }
    folder_remove(&folder);
}

/* ---- networks by name ---- */

static struct net *network(const char *name, struct weights **w)
{
    const struct net_options o = { .batch = 1, .resolution = 64 };
    struct net *n;

    assert_int_equal(net_new(name, &o, &n), EMU_OK);
    assert_int_equal(weights_new(n, w), EMU_OK);
    weights_seed(*w, n, 1);
    weights_attach(*w, n);
    return n;
}

/* A step of a network with batch norms, squeeze and excitation, and whole branches left out. */
static void step_by_name(void **state)
{
    const struct net_options o = { .batch = 2, .resolution = 16, .classes = 10 };
    struct train_optimiser optimiser;
    struct train_step step;
    struct weights *weights;
    struct whole w;
    struct net *n;
    uint32_t count;

    (void)state;
    assert_int_equal(net_new("efficientnet-b0", &o, &n), EMU_OK);
    assert_int_equal(weights_new(n, &weights), EMU_OK);
    weights_seed(weights, n, 1);
    weights_attach(weights, n);
    assert_int_equal(train_optimiser_of("sgd", &optimiser), EMU_OK);
    optimiser.drop = (struct train_dropout){ 0.2, 0.2 };
    assert_int_equal(train_step_make(n->graph, &optimiser, &step), EMU_OK);
    assert_int_equal(train_recompute(n->graph, "all", &count), EMU_OK);
    whole_begin(&w, n->graph, NULL);
    split_is_right(&w, "block2b,block4b.add,block6c");
    whole_end(&w);
    weights_free(weights);
    net_free(n);
}

static void networks_by_name(void **state)
{
    static const char *const names[] = { "efficientnet-b0", "efficientnet-b0-g16" };
    static const char *const cuts[] = { NULL, "block2a,block4b,block6a.expand" };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(names); k++) {
        struct weights *weights;
        struct net *n = network(names[k], &weights);
        struct whole w;
        char *cut;

        whole_begin(&w, n->graph, NULL);
        assert_int_equal(split_auto(n->graph, 8, &cut), EMU_OK);
        assert_int_equal(split_stages_of(cut), 8);
        split_is_right(&w, cuts[k] ? cuts[k] : cut);
        ss_free(cut);
        whole_end(&w);
        weights_free(weights);
        net_free(n);
    }
}

/* ---- graphs by hand ---- */

static uint32_t value(struct op_graph *g, const char *name, enum op_value_kind kind,
                      struct op_shape s)
{
    uint32_t v;

    assert_int_equal(op_value_new(g, name, kind, &s, &v), EMU_OK);
    if (kind == OP_INPUT || kind == OP_STATE)
        assert_int_equal(op_graph_input(g, v), EMU_OK);
    if (op_value_constant_kind(&g->value[v])) {
        float *data = op_graph_alloc(g, op_shape_count(&s), sizeof(*data));

        assert_non_null(data);
        for (uint64_t k = 0; k < op_shape_count(&s); k++)
            data[k] = (float)below(1000) / 1000 - 0.5f;
        g->value[v].data = data;
    }
    return v;
}
#define F32(...)                                                                                   \
    ((struct op_shape){ OP_TYPE_F32, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, { __VA_ARGS__ } })

static uint32_t node(struct op_graph *g, const char *op, const char *name, const char *block,
                     uint32_t a, uint32_t b)
{
    const struct op_request r = { .op = op,
                                  .name = name,
                                  .block = block,
                                  .in = (uint32_t[]){ a, b },
                                  .ins = b == OP_NONE ? 1 : 2,
                                  .out_name = &name,
                                  .outs = 1 };
    uint32_t out;

    assert_int_equal(op_node(g, &r, &out), EMU_OK);
    if (g->problems)
        fail_msg("%s: %s", op, g->problem[0].why);
    return out;
}

static uint32_t node_ints(struct op_graph *g, const char *op, const char *name, const char *block,
                          uint32_t a, const char *attr, uint32_t n, const int64_t *list)
{
    const struct op_named_attr ints = { attr, { .kind = OP_ATTR_INTS, .count = n, .ints = list } };
    const struct op_request r = { .op = op,
                                  .name = name,
                                  .block = block,
                                  .in = &a,
                                  .ins = 1,
                                  .out_name = &name,
                                  .outs = 1,
                                  .attr = &ints,
                                  .attrs = 1 };
    uint32_t out;

    assert_int_equal(op_node(g, &r, &out), EMU_OK);
    if (g->problems)
        fail_msg("%s: %s", op, g->problem[0].why);
    return out;
}

enum { ROWS = 4, WIDTH = 8, LAYERS = 3 };

/* What is made before all layers, of inputs alone. */
struct early {
    uint32_t mask; /* an input */
    uint32_t ids;  /* integers */
    uint32_t none; /* an input to compare them with */
    uint32_t some; /* truth values */
};

/* Attention of one head, in blocks layer.0.attention and layer.0. */
static uint32_t encoder_layer(struct op_graph *g, unsigned k, uint32_t x, const struct early *e)
{
    static const int64_t turned[] = { 0, 2, 1 };
    const char *inner = op_graph_text(g, "layer.%u.attention", k);
    uint32_t y[3], q, bias;

    for (unsigned j = 0; j < 3; j++)
        y[j] = node(g, "MatMul", op_graph_text(g, "m%u.%u", k, j), inner, x,
                    value(g, op_graph_text(g, "w%u.%u", k, j), OP_PARAM, F32(WIDTH, WIDTH)));
    q = node_ints(g, "Transpose", op_graph_text(g, "turn%u", k), inner, y[1], "perm", 3, turned);
    q = node(g, "MatMul", op_graph_text(g, "scores%u", k), inner, y[0], q);
    bias = node(g, "Equal", op_graph_text(g, "equal%u", k), inner, e->ids, e->none);
    bias = node(g, "CastLike", op_graph_text(g, "bias%u", k), inner, bias, x);
    q = node(g, "Add", op_graph_text(g, "masked%u", k), inner, q, bias);
    bias = node(g, "CastLike", op_graph_text(g, "other%u", k), inner, e->some, x);
    q = node(g, "Sub", op_graph_text(g, "less%u", k), inner, q, bias);
    q = node(g, "Softmax", op_graph_text(g, "soft%u", k), inner, q, OP_NONE);
    q = node(g, "MatMul", op_graph_text(g, "picked%u", k), inner, q, y[2]);
    q = node(g, "Mul", op_graph_text(g, "kept%u", k), inner, q, e->mask);
    return node(g, "Add", op_graph_text(g, "layer%u", k), op_graph_text(g, "layer.%u", k), x, q);
}

/* What is outside all layers is in no block, or in one that comes back at the end. */
static struct op_graph *encoder(void)
{
    const struct op_shape ids = { OP_TYPE_I64, 3, { 1, ROWS, 1 } };
    struct early e;
    struct op_graph *g;
    uint32_t x;

    assert_int_equal(op_graph_new("encoder", &g), EMU_OK);
    x = value(g, "x", OP_INPUT, F32(1, ROWS, WIDTH));
    e.mask = value(g, "mask", OP_INPUT, F32(1, ROWS, 1));
    e.none = value(g, "none", OP_INPUT, ids);
    e.ids = value(g, "ids", OP_INPUT, ids);
    e.ids = node(g, "Add", "twice", "outside", e.ids, e.ids);
    e.some =
        node(g, "Not", "some", NULL, node(g, "Equal", "is_none", NULL, e.ids, e.none), OP_NONE);
    for (unsigned k = 0; k < LAYERS; k++)
        x = encoder_layer(g, k, x, &e);
    x = node(g, "Relu", "last", "outside", x, OP_NONE);
    assert_int_equal(op_graph_output(g, x), EMU_OK);
    return g;
}

static const struct split_edge *edge_of(const struct split *s, const struct op_graph *g,
                                        const char *name, uint32_t from, uint32_t to)
{
    uint32_t v = op_value_find(g, name);

    for (uint32_t k = 0; k < s->edges; k++) {
        const struct split_edge *e = &s->edge[k];

        if (e->value == v && e->from == from && e->to == to)
            return e;
    }
    return NULL;
}

static int has_input(const struct split *s, unsigned stage, const char *name)
{
    const struct op_graph *g = s->stage[stage].graph;
    uint32_t v = op_value_find(g, name);

    return v != OP_NONE && g->value[v].kind == OP_INPUT;
}

/* Masks of the host go to every stage, integers and truth values made of them straight to each; a
 * block goes with the blocks inside it, and what comes back at the end is where it can be. */
static void attention_in_stages(void **state)
{
    struct op_graph *g = encoder();
    struct split s;

    (void)state;
    assert_true(cut_everywhere(g, 0, NULL) > 0);
    assert_true(cut_everywhere(g, 1, NULL) > 0);
    assert_int_equal(split_graph(g, "layer.1,layer.2", &s), EMU_OK);
    for (unsigned k = 0; k < LAYERS; k++) {
        assert_true(has_input(&s, k, "mask"));
        assert_true(has_input(&s, k, "none"));
        assert_int_equal(has_input(&s, k, "x"), k == 0);
    }
    assert_non_null(edge_of(&s, g, "twice", 0, 1));
    assert_non_null(edge_of(&s, g, "twice", 0, 2));
    assert_non_null(edge_of(&s, g, "some", 0, 2));
    assert_non_null(edge_of(&s, g, "layer0", 0, 1));
    assert_null(edge_of(&s, g, "layer0", 0, 2));
    assert_int_equal(s.edges, 6);
    assert_int_equal(s.of_value[op_value_find(g, "layer1")], 1);
    assert_int_equal(s.of_value[op_value_find(g, "last")], 2);
    split_free(&s);
    op_graph_free(g);
}

/* A value that two stages further on read does not pass through the one between. */
static void skips_go_straight(void **state)
{
    struct op_graph *g = draft_network(u_net);
    struct split s;
    struct whole w;
    unsigned skips = 0;

    (void)state;
    whole_begin(&w, g, NULL);
    split_is_right(&w, "middle,up2");
    split_is_right(&w, "down2,middle,up2,up1");
    assert_int_equal(split_graph(g, "middle,up2", &s), EMU_OK);
    for (uint32_t k = 0; k < s.edges; k++) {
        assert_true(s.edge[k].from != 1 || s.edge[k].to == 2);
        skips += s.edge[k].from == 0 && s.edge[k].to == 2;
    }
    assert_int_equal(skips, 2);
    assert_int_equal(s.edges, 4);
    split_free(&s);
    whole_end(&w);
    op_graph_free(g);
}

/* A view that goes where its input goes, too, is made there; one whose input stays is sent. */
static void views_go_once(void **state)
{
    static const int64_t turned[] = { 1, 0 };
    struct op_graph *g;
    uint32_t x, y, view, sum;
    struct split s;

    (void)state;
    assert_int_equal(op_graph_new("views", &g), EMU_OK);
    x = node(g, "Relu", "x", "a", value(g, "in", OP_INPUT, F32(4, 4)), OP_NONE);
    view = node_ints(g, "Transpose", "view", "a", x, "perm", 2, turned);
    y = node(g, "Relu", "y", "a", x, OP_NONE);
    y = node_ints(g, "Transpose", "other", "a", y, "perm", 2, turned);
    sum = node(g, "Add", "sum", "b", view, x);
    assert_int_equal(op_graph_output(g, node(g, "Add", "end", "b", sum, y)), EMU_OK);
    assert_int_equal(split_graph(g, "b", &s), EMU_OK);
    assert_int_equal(s.of_value[view], 1);
    assert_int_equal(s.of_value[y], 0);
    assert_non_null(edge_of(&s, g, "x", 0, 1));
    assert_non_null(edge_of(&s, g, "other", 0, 1));
    assert_int_equal(s.edges, 2);
    split_free(&s);
    cut_everywhere(g, 1, NULL);
    op_graph_free(g);
}

/* ---- random graphs ---- */

/* Blocks of neighbours, which come back now and then. */
static void draw_blocks(struct op_graph *g)
{
    uint32_t block = 0;

    for (uint32_t i = 0; i < g->nodes; i++) {
        block += below(4) == 0;
        g->node[i].block = below(8) == 0 ? ""
                                         : op_graph_text(g, "b%u%s", below(10) ? block : below(8),
                                                         below(3) ? "" : ".in");
        assert_non_null(g->node[i].block);
    }
}

static void random_graphs(void **state)
{
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);
    unsigned right = 0;

    (void)state;
    for (uint64_t k = seeds.first; k < seeds.first + seeds.count; k++) {
        struct random_operators *r = random_operators_new(k, 0, NULL);
        struct op_tensor *in = emu_alloc(r->g->inputs + 1, sizeof(*in));

        assert_non_null(in);
        seed = k;
        for (uint32_t j = 0; j < r->g->inputs; j++)
            in[j] = ro_input_value(r, j)->t;
        right += cut_everywhere(r->g, 1, in);
        draw_blocks(r->g);
        right += cut_everywhere(r->g, 0, in);
        ss_free(in);
        random_operators_free(r);
    }
    assert_true(right > 5 * seeds.count);
}

/* Lists of anything: right, or refused. */
static void any_list_of_names(void **state)
{
    static const char *const words[] = { "block1", "block2", "block3",  "",     "block",
                                         "block4", ".",      "block1.", "loss", "Add_4" };
    struct op_graph *g = draft_network(blocks);
    unsigned right = 0;
    struct whole w;

    (void)state;
    whole_begin(&w, g, NULL);
    for (unsigned k = 0; k < GARBAGE; k++) {
        char cut[CUT_MAX] = "";
        struct split s;

        for (uint32_t n = below(4); n + 1 > 0; n--) {
            uint32_t word = below(2 * (uint32_t)EMU_COUNT_OF(words));

            strcat(cut, word < EMU_COUNT_OF(words) ? words[word] : g->node[below(g->nodes)].name);
            if (n)
                strcat(cut, ",");
        }
        if (split_graph(g, cut, &s) != EMU_OK) {
            assert_int_equal(split_graph(g, cut, &s), EMU_USAGE);
            continue;
        }
        split_free(&s);
        split_is_right(&w, cut);
        right++;
    }
    assert_in_range(right, 10, GARBAGE - 10);
    whole_end(&w);
    op_graph_free(g);
}

/* ---- steps of training ---- */

static struct op_graph *step_of(void (*of)(void), const char *method, double dropout,
                                const char *again, struct train_step *step)
{
    struct op_graph *g = draft_network(of);
    struct train_optimiser o;
    uint32_t count;

    assert_int_equal(train_optimiser_of(method, &o), EMU_OK);
    o.drop.dropout = dropout;
    if (train_step_make(g, &o, step) != EMU_OK)
        fail_msg("%s", ss_error());
    if (again)
        assert_int_equal(train_recompute(g, again, &count), EMU_OK);
    return g;
}

static void steps_are_cut_everywhere(void **state)
{
    static const char *const method[] = { "sgd", "rmsprop", "lars", "adamw" };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(drafts); k++) {
        struct train_step step;
        struct op_graph *g = step_of(drafts[k], method[k % EMU_COUNT_OF(method)],
                                     k % 3 == 2 ? 0.5 : 0, k % 3 ? "all" : NULL, &step);

        cut_everywhere(g, 0, NULL);
        assert_true(cut_everywhere(g, 1, NULL) > 1);
        op_graph_free(g);
    }
}

/* Who has what of a step in three stages. */
static void parts_of_a_step(void **state)
{
    struct train_step step;
    struct op_graph *g = step_of(u_net, "rmsprop", 0.5, "all", &step);
    struct split s;
    uint32_t parameters = 0;

    (void)state;
    assert_int_equal(split_graph(g, "middle,up2", &s), EMU_OK);
    assert_int_equal(s.of_value[step.loss], 2);
    assert_int_equal(s.of_value[step.data], 0);
    assert_int_equal(s.of_value[step.targets], 2);
    for (unsigned k = 0; k < s.stages; k++) {
        const struct split_stage *at = &s.stage[k];
        unsigned updates = 0;

        for (uint32_t i = at->f_nodes + at->b_nodes; i < at->graph->nodes; i++) {
            assert_true(op_node_is(&at->graph->node[i], OP_ParameterUpdate));
            updates++;
        }
        assert_int_equal(updates, 2);
        assert_true(at->own[step.rate] != OP_NONE && at->own[step.scale] != OP_NONE);
        assert_true(at->own[step.number] != OP_NONE && at->own[step.seed] != OP_NONE);
        assert_true(at->own[step.sum[0]] != OP_NONE && at->own[step.sum[1]] != OP_NONE);
        assert_int_equal(at->own[step.loss_scale] != OP_NONE, k == 2);
        assert_int_equal(at->own[step.masks] != OP_NONE, k == 2);
        parameters += at->graph->updates;
        assert_true(at->stashes > 0);
    }
    assert_int_equal(parameters, g->updates);
    for (uint32_t k = 0; k < s.edges; k++)
        assert_int_equal(s.edge[k].backward, s.edge[k].from > s.edge[k].to);
    split_free(&s);
    op_graph_free(g);
}

/* ---- places ---- */

static void bytes_are_those_of_edges(const struct op_graph *g, int nodes)
{
    struct split_places p;

    assert_int_equal(split_places(g, nodes, &p), EMU_OK);
    for (uint32_t k = 0; k < p.count; k++) {
        uint64_t forward = 0, back = 0;
        struct split s;

        if (p.at[k].tied)
            continue;
        assert_int_equal(split_graph(g, p.at[k].name, &s), EMU_OK);
        for (uint32_t e = 0; e < s.edges; e++)
            *(s.edge[e].backward ? &back : &forward) += op_value_bytes(g, s.edge[e].value);
        assert_int_equal(p.at[k].forward_bytes, forward);
        assert_int_equal(p.at[k].backward_bytes, back);
        assert_true(p.at[k].work < p.work && (k == 0 || p.at[k].work >= p.at[k - 1].work));
        split_free(&s);
    }
    split_places_free(&p);
}

static void places_say_what_crosses(void **state)
{
    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(drafts); k++) {
        struct train_step step;
        struct op_graph *g = draft_network(drafts[k]);

        bytes_are_those_of_edges(g, 0);
        bytes_are_those_of_edges(g, 1);
        op_graph_free(g);
        g = step_of(drafts[k], "sgd", 0, "all", &step);
        bytes_are_those_of_edges(g, 0);
        bytes_are_those_of_edges(g, 1);
        op_graph_free(g);
    }
}

static void places_are_blocks(void **state)
{
    static const char *const want[] = { "layer.0", "layer.1", "layer.2" };
    struct op_graph *g = encoder();
    struct split_places p;
    struct weights *weights;
    struct net *n = network("efficientnet-b0", &weights);

    (void)state;
    assert_int_equal(split_places(g, 0, &p), EMU_OK);
    assert_int_equal(p.count, EMU_COUNT_OF(want));
    for (uint32_t k = 0; k < p.count; k++)
        assert_string_equal(p.at[k].name, want[k]);
    /* Rows, the integers and the truth values. */
    assert_int_equal(p.at[1].forward_bytes, ROWS * WIDTH * 2 + ROWS * 4 + ROWS * 2);
    split_places_free(&p);
    op_graph_free(g);
    assert_int_equal(split_places(n->graph, 0, &p), EMU_OK);
    for (uint32_t k = 0; k < p.count; k++) {
        if (!strcmp(p.at[k].name, "block4a"))
            assert_int_equal(p.at[k].forward_bytes, 8 * 8 * 40 * 2);
    }
    split_places_free(&p);
    weights_free(weights);
    net_free(n);
}

/* Layers of that many multiply-adds, 100 for each, one after the other; each pair is a block. */
static struct op_graph *chain(const uint32_t *width, uint32_t n)
{
    struct op_graph *g;
    uint32_t x;

    assert_int_equal(op_graph_new("chain", &g), EMU_OK);
    x = value(g, "in", OP_INPUT, F32(100, width[0]));
    for (uint32_t k = 0; k + 1 < n; k++)
        x = node(g, "MatMul", op_graph_text(g, "m%u", k), op_graph_text(g, "b%u", k / 2), x,
                 value(g, op_graph_text(g, "w%u", k), OP_PARAM, F32(width[k], width[k + 1])));
    assert_int_equal(op_graph_output(g, x), EMU_OK);
    return g;
}

static void auto_is(const struct op_graph *g, unsigned stages, const char *want)
{
    char *cut;

    assert_int_equal(split_auto(g, stages, &cut), EMU_OK);
    assert_string_equal(cut, want);
    ss_free(cut);
}

static void auto_balances(void **state)
{
    static const uint32_t even[] = { 10, 10, 10, 10, 10, 10, 10, 10, 10 };
    static const uint32_t uneven[] = { 4, 4, 4, 4, 64, 64 };
    uint32_t narrow[101];
    struct op_graph *g = chain(even, EMU_COUNT_OF(even));
    char *cut;

    (void)state;
    auto_is(g, 2, "b2");
    auto_is(g, 4, "b1,b2,b3");
    auto_is(g, 8, "m1,m2,m3,m4,m5,m6,m7");
    assert_int_equal(split_auto(g, 1, &cut), EMU_OK);
    assert_null(cut);
    assert_int_equal(split_auto(g, 9, &cut), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "7 places"));
    assert_null(cut);
    op_graph_free(g);
    g = chain(uneven, EMU_COUNT_OF(uneven)); /* the last layer is most of it */
    auto_is(g, 2, "b2");
    op_graph_free(g);
    for (uint32_t k = 0; k < EMU_COUNT_OF(narrow); k++)
        narrow[k] = 20;
    narrow[48] = 2; /* before b24; the middle is b25 */
    g = chain(narrow, EMU_COUNT_OF(narrow));
    auto_is(g, 2, "b24");
    op_graph_free(g);
}

/* ---- refusals ---- */

static void bad_cuts_are_refused(void **state)
{
    struct weights *weights;
    struct net *n = network("efficientnet-b0", &weights);
    struct op_graph *g = draft_network(relu_and_tanh);

    (void)state;
    split_is_refused(n->graph, "block9z", "the blocks are block1a, block2a");
    split_is_refused(n->graph, "blok4a", "did you mean 'block4a'?");
    split_is_refused(n->graph, "block4a,", "a name is missing");
    split_is_refused(n->graph, "", "a name is missing");
    split_is_refused(n->graph, "block4a,block2a", "block2a begins before block4a");
    split_is_refused(n->graph, "block4a,block4a", "block4a begins with block4a");
    split_is_refused(n->graph, "stem", "stage 0 would be empty");
    split_is_refused(g, "Conv_1", "the nodes are");
    weights_free(weights);
    net_free(n);
    op_graph_free(g);
}

/* A large parameter or a state lies in one stage; numbers and small ones are copied. */
static void tied_parameters(void **state)
{
    struct op_graph *g;
    uint32_t x, large, small;
    struct split_places p;
    struct whole w;

    (void)state;
    assert_int_equal(op_graph_new("tied", &g), EMU_OK);
    x = value(g, "in", OP_INPUT, F32(2, 192));
    large = value(g, "embedding", OP_PARAM, F32(192, 192));
    small = value(g, "scale", OP_PARAM, F32(192));
    x = node(g, "Mul", "first", "a", node(g, "MatMul", "looked_up", "a", x, large), small);
    x = node(g, "Mul", "second", "b", x, small);
    x = node(g, "MatMul", "end", "c", x, large);
    assert_int_equal(op_graph_output(g, node(g, "Relu", "last", "d", x, OP_NONE)), EMU_OK);
    split_is_refused(g, "b", "parameter embedding is read in a (stage 0) and in c (stage 1)");
    whole_begin(&w, g, NULL);
    split_is_right(&w, "d");
    whole_end(&w);
    assert_int_equal(split_places(g, 0, &p), EMU_OK);
    assert_int_equal(p.count, 3);
    assert_string_equal(p.at[0].tied, "embedding");
    assert_string_equal(p.at[1].tied, "embedding");
    assert_null(p.at[2].tied);
    split_places_free(&p);
    auto_is(g, 2, "d");
    assert_int_equal(op_graph_state(g, small), EMU_OK);
    split_is_refused(g, "b", "parameter scale is read in a (stage 0) and in b (stage 1)");
    op_graph_free(g);
}

/* No allocation that fails leaves anything behind. */
static void memory_runs_out(void **state)
{
    struct train_step step;
    struct op_graph *g = step_of(blocks, "adamw", 0, "all", &step);
    struct split s;
    enum emu_status status = EMU_NO_MEMORY;
    long live = alloc_live();

    (void)state;
    for (long k = 0; status != EMU_OK; k += 7) {
        alloc_test_fail_at(k);
        status = split_graph(g, "block2,block3", &s);
        alloc_test_fail_at(-1);
        assert_true(status == EMU_OK || status == EMU_NO_MEMORY);
        if (status == EMU_OK)
            split_free(&s);
        assert_int_equal(alloc_live(), live);
    }
    op_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_graphs_are_cut_everywhere),
        cmocka_unit_test(files_are_cut_everywhere),
        cmocka_unit_test(networks_by_name),
        cmocka_unit_test(step_by_name),
        cmocka_unit_test(attention_in_stages),
        cmocka_unit_test(skips_go_straight),
        cmocka_unit_test(views_go_once),
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(any_list_of_names),
        cmocka_unit_test(steps_are_cut_everywhere),
        cmocka_unit_test(parts_of_a_step),
        cmocka_unit_test(places_say_what_crosses),
        cmocka_unit_test(places_are_blocks),
        cmocka_unit_test(auto_balances),
        cmocka_unit_test(bad_cuts_are_refused),
        cmocka_unit_test(tied_parameters),
        cmocka_unit_test(memory_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
