/* test_cuts.c - cuts by executed cycles: what is predicted of each stage against the stage itself,
 * compiled and run; the best of many stages against all combinations; what breaks is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "models/pass/op_pass.h"
#include "models/system/system.h"
#include "models/system/system_cuts.h"
#include "tests/fixtures/split_fixture.h"
#include "tests/fixtures/train_networks.h"

#define OK(expr) assert_int_equal(expr, EMU_OK)

/* A network in the timing engine. */
struct trial {
    struct op_graph *g; /* owned */
    struct arch arch;
    struct system system;
};

static void begin(struct trial *t, void (*network)(void))
{
    t->g = draft_network(network);
    OK(pass_all(t->g));
    for (uint32_t i = 0; i < t->g->nodes; i++) /* rows of a bill need names of their own */
        t->g->node[i].name = op_graph_text(t->g, "%s.%s", t->g->node[i].block, t->g->node[i].name);
    t->arch = *ss_arch_preset("mk2");
    OK(ss_arch_set(&t->arch, "tiles=64"));
    t->system = (struct system){ .graph = NULL };
}

static void end(struct trial *t)
{
    system_free(&t->system);
    op_graph_free(t->g);
}

static void run(struct trial *t, const char *cut, unsigned chips)
{
    const struct system_options o = { .program = { .lower.real = ELEM_F16, .compile.threads = 1 },
                                      .folder = "",
                                      .chips = chips,
                                      .cut = cut };
    const struct session_options timing = { .threads = 1, .timing = 1, .record = 1 };

    system_free(&t->system);
    t->arch.chips = chips;
    OK(ss_arch_check(&t->arch));
    system_init(&t->system, &t->arch, t->g, &o);
    if (system_build(&t->system) != EMU_OK)
        fail_msg("%s: %s", cut ? cut : "whole", ss_error());
    assert_true(system_fits(&t->system));
    OK(system_bill_layers(&t->system));
    OK(system_start(&t->system, &timing));
    OK(system_write_zeros(&t->system));
    OK(system_run(&t->system));
    OK(system_bill(&t->system));
}

static uint64_t cycles_of(const struct layer_cycles *l)
{
    return l->total.cycles - l->row[l->rows - 1].cycles;
}

static void is_within(const char *what, const char *cut, uint64_t is, uint64_t want,
                      unsigned percent)
{
    uint64_t away = is > want ? is - want : want - is;

    if (away * 100 > want * percent)
        fail_msg("%s: %s %llu, executed %llu", cut, what, (unsigned long long)is,
                 (unsigned long long)want);
}

/* Every cut of a network in two: the slower stage. A chip bills the exchange before its stage to
 * the layer that computes first, so stage 1 takes the slot. */
static void is_as_predicted(void (*network)(void), const char *rearranging)
{
    struct system_cuts cuts;
    struct trial t;

    begin(&t, network);
    run(&t, NULL, 1);
    OK(system_cuts_new(&t.arch, t.g, &t.system.layers, 2, &cuts));
    assert_int_equal(cuts.count, 4);
    for (uint32_t k = 0; k < cuts.count; k++) {
        const struct system_cut *c = &cuts.at[k];
        unsigned slow = c->stage[1].cycles > c->stage[0].cycles;
        const struct layer_cycles *l;

        assert_null(c->tied);
        assert_int_equal(c->slot, c->stage[slow].cycles + c->exchange);
        assert_true(!k || c->slot >= cuts.at[k - 1].slot);
        run(&t, c->names, 2);
        l = &t.system.stages.at[slow].layers;
        is_within("cycles", c->names, slow ? c->slot : c->stage[0].cycles, cycles_of(l),
                  strcmp(c->names, rearranging) != 0 ? 5 : 15);
        is_within("bytes of a tile", c->names, c->stage[slow].tile_bytes, l->total.max_tile_bytes,
                  15);
        is_within("bytes across", c->names, c->bytes, system_stage_sends(&t.system.stages, 0), 0);
    }
    system_cuts_free(&cuts);
    end(&t);
}

static void predicted_as_executed(void **state)
{
    (void)state;
    is_as_predicted(four_blocks_with_group_norms, "");
    draft.images = 8;
    is_as_predicted(u_net, "middle"); /* three convolutions there rearrange what comes */
    draft.images = DRAFT_IMAGES;
}

/* The least slot of three stages, from the segments that cuts in two tell. */
static void best_of_all(void **state)
{
    struct system_cuts two, three;
    uint64_t least = UINT64_MAX;
    struct trial t;

    (void)state;
    begin(&t, u_net);
    run(&t, NULL, 1);
    OK(system_cuts_new(&t.arch, t.g, &t.system.layers, 2, &two));
    OK(system_cuts_new(&t.arch, t.g, &t.system.layers, 3, &three));
    for (uint32_t i = 0; i < two.count; i++) {
        for (uint32_t k = 0; k < two.count; k++) {
            const struct system_cut *a = &two.at[i], *b = &two.at[k];
            uint64_t most = a->stage[0].cycles, last = b->stage[1].cycles, middle;

            if (b->stage[0].cycles <= a->stage[0].cycles)
                continue;
            middle = b->stage[0].cycles - a->stage[0].cycles;
            most = most > middle ? most : middle;
            most = (most > last ? most : last) +
                   (a->exchange > b->exchange ? a->exchange : b->exchange);
            least = most < least ? most : least;
        }
    }
    assert_int_equal(three.count, two.count * (two.count - 1) / 2);
    assert_int_equal(three.at[0].slot, least);
    system_cuts_free(&two);
    system_cuts_free(&three);
    end(&t);
}

/* A chain of blocks, "b0" and so on, of one Relu each. */
static struct op_graph *chain(unsigned blocks)
{
    const struct op_shape shape = { .type = OP_TYPE_F32, .rank = 2, .dim = { 4, 16 } };
    struct op_graph *g;
    uint32_t v;

    OK(op_graph_new("chain", &g));
    OK(op_value_new(g, "x", OP_INPUT, &shape, &v));
    OK(op_graph_input(g, v));
    for (unsigned k = 0; k < blocks; k++) {
        const struct op_request r = { .op = "Relu",
                                      .block = op_graph_text(g, "b%u", k),
                                      .name = op_graph_text(g, "b%u.relu", k),
                                      .in = (uint32_t[]){ v },
                                      .ins = 1,
                                      .outs = 1 };

        OK(op_node(g, &r, &v));
    }
    OK(op_graph_output(g, v));
    return g;
}

enum { CHAIN = 14 };

static uint64_t sum(const struct layer_bill *row, unsigned begin, unsigned end)
{
    uint64_t cycles = 0;

    while (begin < end)
        cycles += row[begin++].cycles;
    return cycles;
}

static uint64_t slower(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Of more combinations than are kept, the one with the least slot is first. */
static void best_of_many(void **state)
{
    struct layer_bill row[CHAIN];
    struct layer_text text[CHAIN];
    const struct layer_cycles rows = { .row = row, .text = text, .rows = CHAIN };
    struct op_graph *g = chain(CHAIN);
    uint64_t least = UINT64_MAX;
    struct system_cuts cuts;

    (void)state;
    for (unsigned k = 0; k < CHAIN; k++) {
        row[k] = (struct layer_bill){ .layer = k, .cycles = 1000 + k * 7919 % 5000 };
        text[k] = (struct layer_text){ g->node[k].name, g->node[k].block, "" };
    }
    for (unsigned a = 1; a < CHAIN; a++) {
        for (unsigned b = a + 1; b < CHAIN; b++) {
            for (unsigned c = b + 1; c < CHAIN; c++) {
                uint64_t most = slower(slower(sum(row, 0, a), sum(row, a, b)),
                                       slower(sum(row, b, c), sum(row, c, CHAIN)));

                least = most < least ? most : least;
            }
        }
    }
    OK(system_cuts_new(ss_arch_preset("mk2"), g, &rows, 4, &cuts));
    assert_int_equal(cuts.count, CUTS_KEPT);
    assert_int_equal(cuts.at[0].slot, least + cuts.at[0].exchange);
    system_cuts_free(&cuts);
    op_graph_free(g);
}

/* Two blocks that read one large parameter cannot be parted: that comes last, with the reason. */
static void tied_parameter(void **state)
{
    const struct op_shape shape = { .type = OP_TYPE_F32, .rank = 2, .dim = { 200, 200 } };
    static const char *const block[] = { "b0", "b1", "b2" };
    struct layer_bill row[3];
    struct layer_text text[3];
    const struct layer_cycles rows = { .row = row, .text = text, .rows = 3 };
    struct system_cuts cuts;
    struct op_graph *g;
    uint32_t v, weights;

    (void)state;
    OK(op_graph_new("tied", &g));
    OK(op_value_new(g, "x", OP_INPUT, &shape, &v));
    OK(op_graph_input(g, v));
    OK(op_value_new(g, "shared", OP_PARAM, &shape, &weights));
    for (unsigned k = 0; k < 3; k++) {
        const struct op_request r = { .op = k == 2 ? "Relu" : "MatMul",
                                      .block = block[k],
                                      .name = block[k],
                                      .in = (uint32_t[]){ v, weights },
                                      .ins = k == 2 ? 1 : 2,
                                      .outs = 1 };

        OK(op_node(g, &r, &v));
        row[k] = (struct layer_bill){ .layer = k, .cycles = 1000 };
        text[k] = (struct layer_text){ block[k], block[k], "" };
    }
    OK(op_graph_output(g, v));
    OK(system_cuts_new(ss_arch_preset("mk2"), g, &rows, 2, &cuts));
    assert_int_equal(cuts.count, 2);
    assert_string_equal(cuts.at[0].names, "b2");
    assert_null(cuts.at[0].tied);
    assert_string_equal(cuts.at[1].names, "b1");
    assert_non_null(strstr(cuts.at[1].tied, "parameter shared is read in b0"));
    system_cuts_free(&cuts);
    op_graph_free(g);
}

/* A stage that a tile does not hold, and a graph without so many places. */
static void what_breaks(void **state)
{
    struct system_cuts cuts;
    struct trial t;

    (void)state;
    begin(&t, u_net);
    run(&t, NULL, 1);
    OK(system_cuts_new(&t.arch, t.g, &t.system.layers, 2, &cuts));
    t.arch.mem_bytes = (uint32_t)cuts.at[0].stage[0].tile_bytes - 1;
    system_cuts_free(&cuts);
    OK(system_cuts_new(&t.arch, t.g, &t.system.layers, 2, &cuts));
    assert_true(cuts.at[cuts.count - 1].unfit);
    for (uint32_t k = 0; k < cuts.count; k++) {
        const struct system_cut *c = &cuts.at[k];

        assert_true(!k || c->unfit >= cuts.at[k - 1].unfit);
        if (c->unfit)
            assert_true(c->stage[c->first].tile_bytes > t.arch.mem_bytes);
    }
    system_cuts_free(&cuts);
    assert_int_equal(system_cuts_new(&t.arch, t.g, &t.system.layers, 8, &cuts), EMU_USAGE);
    system_cuts_free(&cuts);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicted_as_executed), cmocka_unit_test(best_of_all),
        cmocka_unit_test(best_of_many),          cmocka_unit_test(tied_parameter),
        cmocka_unit_test(what_breaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
