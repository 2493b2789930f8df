/* test_train_chip.c - steps of training executed on a machine against the same steps in f64: every
 * optimiser, every kind of layer, f32 and f16. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "models/train/train_watch.h"
#include "tests/fixtures/train_fixture.h"

static void every_optimiser(void **state)
{
    static const char *const method[] = { "sgd", "rmsprop", "lars", "adamw" };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(method); k++)
        steps_like_reference(ss_arch_preset("toy64"), relu_and_tanh, method[k], ELEM_F32, 1e-3);
}

static void layers_in_f32(void **state)
{
    (void)state;
    steps_like_reference(ss_arch_preset("toy64"), swish_and_gelu, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(ss_arch_preset("toy64"), batch_norms, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(ss_arch_preset("toy64"), group_norms, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(ss_arch_preset("toy64"), layer_norms, "sgd", ELEM_F32, 1e-3);
}

static void layers_in_f16(void **state)
{
    (void)state;
    steps_like_reference(ss_arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.02);
    steps_like_reference(ss_arch_preset("toy64"), swish_and_gelu, "sgd", ELEM_F16, 0.02);
    steps_like_reference(ss_arch_preset("toy64"), batch_norms, "sgd", ELEM_F16, 0.02);
    steps_like_reference(ss_arch_preset("toy64"), group_norms, "sgd", ELEM_F16, 0.02);
    steps_like_reference(ss_arch_preset("toy64"), layer_norms, "sgd", ELEM_F16, 0.02);
}

static void convolutions(void **state)
{
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    assert_int_equal(ss_arch_set(&a, "tiles=64"), EMU_OK);
    steps_like_reference(&a, plain_convolutions, "sgd", ELEM_F16, 0.03);
    steps_like_reference(&a, residual_block, "sgd", ELEM_F16, 0.03);
    steps_like_reference(&a, inverted_block, "sgd", ELEM_F16, 0.03);
    /* Which number of a window is the largest may be another one in f16. */
    steps_like_reference(&a, pools, "sgd", ELEM_F16, 0.05);
}

/* `x[:, 0]` of a batch of sequences: the gradient of what was not taken is 0. */
static void class_tokens(void **state)
{
    (void)state;
    steps_like_reference(ss_arch_preset("toy64"), class_token, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(ss_arch_preset("toy64"), class_token, "adamw", ELEM_F32, 1e-3);
    steps_like_reference(ss_arch_preset("toy64"), class_token, "sgd", ELEM_F16, 0.03);
}

/* What f16 would get wrong is in f32, and so are gradients of that. */
static void numbers_beyond_f16(void **state)
{
    (void)state;
    steps_like_reference(ss_arch_preset("toy64"), large_numbers, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(ss_arch_preset("toy64"), large_numbers, "sgd", ELEM_F16, 0.03);
    steps_like_reference(ss_arch_preset("toy64"), small_numbers, "sgd", ELEM_F16, 0.03);
}

/* ---- gradients ---- */

/* The numbers of a reference's state NAME or NAME.SLOT; owned by the caller. */
static double *state_copy(const struct pair *p, uint32_t parameter, const char *slot)
{
    const struct op_value *v = &p->g->value[parameter];
    uint64_t n = op_shape_count(&v->shape);
    double *copy = malloc(n * sizeof(*copy));
    char name[64];

    snprintf(name, sizeof(name), "%s%s", v->name, slot);
    assert_non_null(copy);
    memcpy(copy, train_reference_state(&p->reference, op_value_find(p->g, name))->f,
           n * sizeof(*copy));
    return copy;
}

/* What SGD has added to a momentum: the gradient, and of weights the decay. share: of the largest
 * number. */
static void compare_gradient(struct pair *p, const struct lowered_value *v, const double *weight,
                             const double *before, double share)
{
    enum { NO_DECAY = 1 /* dimensions */ };
    const double momentum = 0.9, decay = 0.01, little = 0.01;
    double *after = state_copy(p, v->value, ".momentum"), most = little, error = 0;
    struct op_tensor is;

    if (train_chip_gradient(&p->chip, v->value, &is) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_true(op_shape_equal(&is.shape, &p->g->value[v->value].shape));
    for (uint64_t k = 0; k < op_shape_count(&is.shape); k++) {
        double want = after[k] - momentum * before[k];

        want -= is.shape.rank > NO_DECAY ? decay * weight[k] : 0;
        most = fmax(most, fabs(want));
        error = fmax(error, fabs(is.f[k] - want));
    }
    if (!(error <= share * most))
        fail_msg("gradient of %s: off by %g of %g", v->name, error, most);
    op_tensor_free(&is);
    free(after);
}

/* Gradients of the last one of two steps, of which no momentum is made. */
static void gradients_like_reference(const struct arch *a, void (*network)(void), enum elem real,
                                     double share)
{
    enum { MOST = 32 };
    double *weight[MOST], *before[MOST], loss;
    const struct lowered_network *n;
    struct pair p;

    trial_begin(&p, a, network, "sgd", real);
    n = p.chip.system.program.network;
    assert_in_range(n->gradients, 2, MOST);
    for (unsigned step = 0; step < 2; step++) {
        trial_draw(&p);
        trial_step(&p);
        for (uint32_t k = 0; step && k < n->gradients; k++) {
            weight[k] = state_copy(&p, n->gradient[k].value, "");
            before[k] = state_copy(&p, n->gradient[k].value, ".momentum");
        }
        assert_int_equal(train_reference_step(&p.reference, &p.data, &p.targets, 0.05, &loss, NULL),
                         EMU_OK);
    }
    for (uint32_t k = 0; k < n->gradients; k++) {
        compare_gradient(&p, &n->gradient[k], weight[k], before[k], share);
        free(weight[k]);
        free(before[k]);
    }
    trial_end(&p);
}

static void gradients(void **state)
{
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    assert_int_equal(ss_arch_set(&a, "tiles=64"), EMU_OK);
    gradients_like_reference(ss_arch_preset("toy64"), relu_and_tanh, ELEM_F32, 1e-3);
    gradients_like_reference(ss_arch_preset("toy64"), class_token, ELEM_F32, 1e-3);
    gradients_like_reference(ss_arch_preset("toy64"), batch_norms, ELEM_F16, 0.03);
    gradients_like_reference(&a, residual_block, ELEM_F16, 0.05);
    trial.states = STATES_F16_NEAREST;
    gradients_like_reference(&a, plain_convolutions, ELEM_F16, 0.05);
    trial.states = STATES_F32;
}

/* Two steps of a network of four blocks. */
static void two_steps(const struct arch *a, struct pair *p, uint32_t calls, uint32_t functions)
{
    double loss;

    trial_begin(p, a, four_blocks_with_group_norms, "sgd", ELEM_F16);
    assert_int_equal(p->chip.system.program.network->calls, calls);
    assert_int_equal(p->chip.system.program.network->functions, functions);
    for (unsigned k = 0; k < 2; k++) {
        trial_draw(p);
        if (train_chip_step(&p->chip, &p->data, &p->targets, 0.05, &loss, NULL) != EMU_OK)
            fail_msg("%s", ss_error());
    }
}

/* A step whose equal blocks are functions, or whose blocks are computed again, is the same step. */
static void blocks_are_functions(void **state)
{
    struct arch a = *ss_arch_preset("mk2");
    struct pair p[3];

    (void)state;
    assert_int_equal(ss_arch_set(&a, "tiles=32"), EMU_OK);
    two_steps(&a, &p[0], 0, 0);
    trial.share_blocks = 1;
    two_steps(&a, &p[1], 8, 2);
    trial.again = "b,c";
    two_steps(&a, &p[2], 10, 2); /* forward parts and those again are one function */
    trial.again = "all";
    steps_like_reference(&a, three_blocks, "sgd", ELEM_F16, 0.03);
    trial.again = NULL;
    trial.share_blocks = 0;
    for (unsigned k = 1; k < 3; k++)
        same_states(&p[0].chip, &p[k].chip);
    for (unsigned k = 0; k < 3; k++)
        trial_end(&p[k]);
}

/* Names of blocks that are none. */
static void wrong_blocks(void **state)
{
    struct op_graph *graph = draft_network(three_blocks);
    struct train_optimiser opt;
    struct train_step step;
    uint32_t blocks;

    (void)state;
    assert_int_equal(train_optimiser_of("sgd", &opt), EMU_OK);
    assert_int_equal(train_step_make(graph, &opt, &step), EMU_OK);
    assert_int_equal(train_recompute(graph, "a,d", &blocks), EMU_USAGE);
    assert_string_equal(ss_error(), "--recompute: the network has no block d");
    assert_int_equal(train_recompute(graph, "a,,b", &blocks), EMU_USAGE);
    op_graph_free(graph);
}

/* ---- f16 states, steps that are skipped, masks ---- */

static void states_in_f16(void **state)
{
    /* adamw moves by the rate whatever the gradient: the sign of one that is rounding decides */
    static const char *const method[] = { "sgd", "rmsprop", "lars" };
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    assert_int_equal(ss_arch_set(&a, "tiles=64"), EMU_OK);
    trial.states = STATES_F16_STOCHASTIC;
    for (unsigned k = 0; k < EMU_COUNT_OF(method); k++)
        steps_like_reference(ss_arch_preset("toy64"), relu_and_tanh, method[k], ELEM_F16, 0.03);
    steps_like_reference(ss_arch_preset("toy64"), batch_norms, "sgd", ELEM_F16, 0.03);
    /* Norms of few positions make much of what the rounding of weights changes. */
    steps_like_reference(&a, residual_block, "sgd", ELEM_F16, 0.2);
    trial.states = STATES_F16_NEAREST;
    steps_like_reference(ss_arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.03);
    trial.states = STATES_F32;
}

/* All states of a chip, one after another; owned by the caller. */
static double *all_states(struct pair *p, uint64_t *count)
{
    double *all = NULL;

    *count = 0;
    for (uint32_t k = 0; k < p->g->inputs; k++) {
        struct op_tensor t;
        uint64_t n;

        if (p->g->value[p->g->input[k]].kind != OP_STATE)
            continue;
        assert_int_equal(train_chip_read(&p->chip, p->g->input[k], &t), EMU_OK);
        n = op_shape_count(&t.shape);
        all = realloc(all, (*count + n) * sizeof(*all));
        memcpy(all + *count, t.f, n * sizeof(*all));
        *count += n;
        op_tensor_free(&t);
    }
    return all;
}

/* Whether the states are those; frees `is`. */
static int has_states(struct pair *p, const double *was, uint64_t n)
{
    uint64_t count;
    double *is = all_states(p, &count);
    int same = count == n && !memcmp(is, was, n * sizeof(*is));

    free(is);
    return same;
}

/* A picture that is no number, and gradients beyond f16, change nothing and halve the loss scale.
 */
static void skip_with(enum lower_states kind)
{
    struct pair p;
    double *was, good;
    uint64_t n;

    trial.states = kind;
    trial_begin(&p, ss_arch_preset("toy64"), swish_and_gelu, "adamw", ELEM_F16);
    p.chip.loss_scale.dynamic = 1;
    trial_draw(&p);
    trial_step(&p);
    assert_int_equal(p.chip.skipped, 0);
    was = all_states(&p, &n);
    good = p.data.f[5];
    p.data.f[5] = INFINITY;
    trial_step(&p);
    assert_int_equal(p.chip.skipped, 1);
    assert_true(p.chip.loss_scale.now == 64);
    p.data.f[5] = good;
    for (uint64_t k = 0; k < op_shape_count(&p.data.shape); k++)
        p.data.f[k] *= 1000; /* scores are finite, gradients of the last weights are not */
    p.chip.loss_scale.now = LOSS_SCALE_MAX;
    trial_step(&p);
    assert_int_equal(p.chip.skipped, 2);
    assert_true(p.chip.loss_scale.now == LOSS_SCALE_MAX / 2);
    assert_true(has_states(&p, was, n));
    trial_draw(&p);
    p.chip.loss_scale.now = 128;
    trial_step(&p);
    assert_int_equal(p.chip.skipped, 2);
    assert_false(has_states(&p, was, n));
    free(was);
    trial_end(&p);
    trial.states = STATES_F32;
}

static void steps_are_skipped(void **state)
{
    (void)state;
    skip_with(STATES_F32);
    skip_with(STATES_F16_STOCHASTIC);
}

/* A second program says where it began: a picture that is infinite shows in the first layer. */
static void the_layer_is_named(void **state)
{
    const struct session_options so = { .threads = 2 };
    struct train_chip_options o = train_chip_usual();
    char where[256];
    struct parts parts;
    const struct train_feed feed = { &parts, next_part, part_done };
    struct pair p;

    (void)state;
    trial_begin(&p, ss_arch_preset("toy64"), batch_norms, "sgd", ELEM_F16);
    trial_draw(&p);
    trial_step(&p);
    p.data.f[5] = INFINITY;
    trial_step(&p);
    parts_begin(&parts, &p, &p.chip, 1);
    if (train_watch(ss_arch_preset("toy64"), &p.chip, &o, &so, &feed, 0.05, where) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_true(strstr(where, p.g->node[0].name) == where);
    parts_end(&parts);
    trial_end(&p);
}

static void masks(void **state)
{
    (void)state;
    trial.drop = (struct train_dropout){ .dropout = 0.4, .drop_connect = 0.6 };
    steps_like_reference(ss_arch_preset("toy64"), blocks, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(ss_arch_preset("toy64"), blocks, "sgd", ELEM_F16, 0.03);
    trial.drop = (struct train_dropout){ .dropout = 0.25 };
    steps_like_reference(ss_arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.03);
    trial.drop = (struct train_dropout){ 0 };
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimiser),      cmocka_unit_test(layers_in_f32),
        cmocka_unit_test(layers_in_f16),        cmocka_unit_test(convolutions),
        cmocka_unit_test(blocks_are_functions), cmocka_unit_test(wrong_blocks),
        cmocka_unit_test(states_in_f16),        cmocka_unit_test(steps_are_skipped),
        cmocka_unit_test(the_layer_is_named),   cmocka_unit_test(masks),
        cmocka_unit_test(class_tokens),         cmocka_unit_test(gradients),
        cmocka_unit_test(numbers_beyond_f16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
