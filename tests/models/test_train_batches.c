/* test_train_batches.c - steps of several micro batches, and the cycles of a step: by pass, and by
 * the timing engine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/record.h"
#include "emu/job/run_file.h"
#include "emu/job/run_image.h"
#include "emu/load/image.h"
#include "models/train/train_bill.h"
#include "tests/fixtures/train_fixture.h"

/* A step of all pictures of a pair in so many parts; one that ends before is none. */
static void step_in_parts(struct train_chip *chip, struct pair *of, uint32_t parts, uint32_t end,
                          double *loss)
{
    struct parts p;
    const struct train_feed feed = { &p, next_part, part_done };
    uint64_t steps = chip->steps;
    int whole;

    parts_begin(&p, of, chip, end);
    if (train_chip_update(chip, &feed, 0.05, &whole) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(whole, end == parts);
    assert_int_equal(p.told, end);
    assert_int_equal(chip->steps, steps + (end == parts));
    *loss = p.loss / parts;
    parts_end(&p);
}

/* All states that two chips have, by their names, differ by a share of their size at most. */
static void near_states(struct train_chip *a, struct train_chip *b, double share)
{
    for (uint32_t k = 0; k < a->g->inputs; k++) {
        const struct op_value *v = &a->g->value[a->g->input[k]];
        struct op_tensor x, y;

        if (v->kind != OP_STATE)
            continue;
        assert_int_equal(train_chip_read(a, a->g->input[k], &x), EMU_OK);
        assert_int_equal(train_chip_read(b, op_value_find(b->g, v->name), &y), EMU_OK);
        for (uint64_t i = 0; i < op_shape_count(&x.shape); i++) {
            if (!(fabs(x.f[i] - y.f[i]) <= share * (fabs(x.f[i]) + 0.01)))
                fail_msg("%s: %g, not %g", v->name, y.f[i], x.f[i]);
        }
        op_tensor_free(&x);
        op_tensor_free(&y);
    }
}

/* Two micro batches of 3 pictures are a step of 6; other threads change no bit, and a step that
 * ends after one of them changes nothing. */
static void micro_batches_add_up(const struct arch *a, void (*network)(void), const char *method,
                                 enum elem real, double share)
{
    enum { PARTS = 2 };
    struct pair whole, part[2];

    trial_begin(&whole, a, network, method, real);
    draft.pictures = DRAFT_PICTURES / PARTS;
    draft.images = DRAFT_IMAGES / PARTS;
    trial.batches = PARTS;
    for (unsigned k = 0; k < 2; k++) {
        trial.threads = k ? 3 : 1;
        trial_begin(&part[k], a, network, method, real);
    }
    draft.pictures = DRAFT_PICTURES;
    draft.images = DRAFT_IMAGES;
    trial.batches = 0;
    trial.threads = 2;
    for (unsigned k = 0; k < TRIAL_STEPS; k++) {
        double want, loss[2];

        trial_draw(&whole);
        if (train_chip_step(&whole.chip, &whole.data, &whole.targets, 0.05, &want, NULL) != EMU_OK)
            fail_msg("%s", ss_error());
        if (k % 2)
            step_in_parts(&part[1].chip, &whole, PARTS, 1, &loss[1]);
        for (unsigned i = 0; i < 2; i++)
            step_in_parts(&part[i].chip, &whole, PARTS, PARTS, &loss[i]);
        if (loss[0] != loss[1])
            fail_msg("%s, step %u: losses %g, %g with other threads; %g", method, k, loss[0],
                     loss[1], want);
        assert_true(fabs(loss[0] - want) <= share * want);
    }
    assert_int_equal(part[0].chip.skipped + part[1].chip.skipped, 0);
    same_states(&part[0].chip, &part[1].chip);
    near_states(&whole.chip, &part[0].chip, share);
    trial_end(&whole);
    for (unsigned k = 0; k < 2; k++)
        trial_end(&part[k]);
}

static void gradients_add_up(void **state)
{
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    micro_batches_add_up(ss_arch_preset("toy64"), relu_and_tanh, "lars", ELEM_F32, 1e-4);
    micro_batches_add_up(ss_arch_preset("toy64"), group_norms, "adamw", ELEM_F32, 1e-3);
    /* Norms over other batches are other norms: only equal bits are asked for, of states and of
     * running statistics, whatever the threads and with a step that ended half-way. */
    micro_batches_add_up(ss_arch_preset("toy64"), batch_norms, "sgd", ELEM_F16, INFINITY);
    assert_int_equal(ss_arch_set(&a, "tiles=32"), EMU_OK);
    micro_batches_add_up(&a, plain_convolutions, "sgd", ELEM_F16, 0.03);
    trial.share_blocks = 1;
    trial.again = "all";
    micro_batches_add_up(ss_arch_preset("toy64"), blocks, "sgd", ELEM_F16, 0.03);
    trial.states = STATES_F16_NEAREST;
    micro_batches_add_up(ss_arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.03);
    trial.states = STATES_F32;
    trial.again = NULL;
    trial.share_blocks = 0;
}

/* ---- cycles ---- */

/* Two records of a step are the same, superstep by superstep and tile by tile. */
static void same_record(const struct record *a, const struct record *b)
{
    assert_int_equal(record_count(a), record_count(b));
    for (size_t i = 0; i < record_count(a); i++) {
        const struct record_step *x = record_at(a, i), *y = record_at(b, i);

        assert_int_equal(x->tiles, y->tiles);
        assert_int_equal(x->release, y->release);
        assert_int_equal(x->end, y->end);
        for (uint32_t k = 0; k < x->tiles; k++) {
            uint32_t tile[2];
            struct tile_step s = record_tile_at(a, i, k, &tile[0]);
            struct tile_step t = record_tile_at(b, i, k, &tile[1]);

            assert_int_equal(tile[0], tile[1]);
            assert_memory_equal(&s, &t, sizeof(s));
        }
    }
}

/* The cycles of a step by pass add up to the step, and passes that there are have some. */
static void check_bill(const struct train_chip *t, unsigned passes)
{
    struct train_bill b;
    uint64_t sum = 0;

    trial_bill(t, &b);
    for (unsigned k = 0; k < PASSES; k++) {
        sum += b.pass[k].cycles;
        if ((b.pass[k].cycles != 0) != (passes >> k & 1))
            fail_msg("%s: %llu cycles", train_pass_name((enum train_pass)k),
                     (unsigned long long)b.pass[k].cycles);
    }
    assert_int_equal(sum, b.cycles);
    assert_int_equal(sum, ss_session_cycles(t->system.session));
}

/* The timing engine has no numbers: nobody draws or packs what states begin with. */
static void no_states(struct train_chip *t)
{
    const struct run *r = ss_session_run_image(t->system.session);

    assert_int_equal(system_name_states(&t->system), EMU_OK);

    for (uint32_t k = 0; k < t->g->inputs; k++) {
        const struct op_value *v = &t->g->value[t->g->input[k]];
        const struct image_input *in;

        if (v->kind != OP_STATE)
            continue;
        in = image_input_at(r->im, image_input_find(r->im, v->name));
        for (uint32_t i = in->first_part; i < in->first_part + in->parts; i++) {
            const struct image_input_part *part = image_input_part_at(r->im, i);
            const struct tile *tile = machine_tile(r->machine, part->tile);

            for (uint32_t at = 0; at < part->bytes; at++)
                assert_int_equal(tile->mem[part->addr + at - tile->mem_base], 0);
        }
    }
}

static void one_timing(const struct arch *a, void (*network)(void), const char *method,
                       uint32_t parts, unsigned passes)
{
    struct pair values, times;
    const char *why;
    double loss;

    trial.batches = parts;
    trial_begin(&values, a, network, method, ELEM_F16);
    trial.timing = 1;
    trial_begin(&times, a, network, method, ELEM_F16);
    trial.timing = 0;
    trial.batches = 0;
    no_states(&times.chip);
    assert_int_equal(train_chip_time(&times.chip), EMU_OK);
    trial_draw(&values);
    if (parts > 1) {
        struct parts p;
        const struct train_feed feed = { &p, next_part, part_done };
        int whole;

        parts_begin(&p, &values, &values.chip, 1);
        p.end = UINT32_MAX; /* the same pictures in every micro batch */
        p.again = 1;
        assert_int_equal(train_chip_update(&values.chip, &feed, 0.05, &whole), EMU_OK);
        parts_end(&p);
    } else {
        assert_int_equal(
            train_chip_step(&values.chip, &values.data, &values.targets, 0.05, &loss, NULL),
            EMU_OK);
    }
    assert_int_equal(ss_run_engine(ss_session_run_image(values.chip.system.session), &why),
                     ENGINE_VALUES);
    assert_int_equal(ss_run_engine(ss_session_run_image(times.chip.system.session), &why),
                     ENGINE_TIMING);
    same_record(ss_session_record(values.chip.system.session),
                ss_session_record(times.chip.system.session));
    check_bill(&values.chip, passes);
    check_bill(&times.chip, passes);
    trial_end(&times);
    trial_end(&values);
}

/* The timing engine gives the cycles of a step exactly, on every tile. */
static void cycles_without_values(void **state)
{
    const unsigned usual =
        1u << PASS_FORWARD | 1u << PASS_DATA | 1u << PASS_WEIGHTS | 1u << PASS_UPDATE;
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    assert_int_equal(ss_arch_set(&a, "tiles=32"), EMU_OK);
    one_timing(&a, residual_block, "sgd", 0, usual);
    one_timing(ss_arch_preset("toy64"), relu_and_tanh, "adamw", 3,
               usual | 1u << PASS_ACCUMULATE | 1u << PASS_HOST);
    trial.share_blocks = 1;
    trial.again = "all";
    one_timing(&a, four_blocks_with_group_norms, "lars", 2,
               usual | 1u << PASS_AGAIN | 1u << PASS_ACCUMULATE | 1u << PASS_HOST);
    trial.again = NULL;
    trial.share_blocks = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(cycles_without_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
