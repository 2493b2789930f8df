/* test_isa.c - the instruction table: every row encodes, decodes and prints. The words themselves:
 * test_isa_words.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "emu/base/random.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"

static uint64_t rng_state = 1;

static uint32_t rng(void)
{
    return random_u32(&rng_state);
}

static int64_t random_value(const struct operand *o)
{
    int64_t v;

    do {
        v = rng();
        switch (o->kind) {
        case OPD_SIMM:
            v = v % (1 << o->bits) - (1 << (o->bits - 1));
            break;
        case OPD_SUBIMM:
            v = v % 65535 - 32767;
            break;
        case OPD_HIMM:
            v = (int64_t)(v & 0xfff) << 20;
            break;
        case OPD_IMM32:
            break;
        case OPD_ADDR:
            v = (v % (1 << o->bits)) * 4;
            break;
        case OPD_UIMM:
            v %= (1 << o->bits);
            break;
        case OPD_CSR:
        case OPD_CSRNAME:
            v &= 0xff;
            break;
        default:
            v &= 15;
            break;
        }
    } while (!isa_operand_accepts(o, v));
    return v;
}

static void test_row_count(void **state)
{
    (void)state;
    assert_int_equal(FORM_COUNT, 401);
}

static void test_every_form_round_trips(void **state)
{
    (void)state;
    for (unsigned f = 0; f < FORM_COUNT; f++) {
        const struct insn_form *form = isa_form(f);

        for (int n = 0; n < 50; n++) {
            int64_t value[ISA_MAX_OPERANDS] = { 0 };
            struct insn in[2], main, aux;
            unsigned count;

            for (unsigned k = 0; k < form->operand_count; k++)
                value[k] = random_value(&form->operand[k]);
            if (form->op == INSN_setzi_m || form->op == INSN_setzi_a)
                value[0] %= 13; /* `setzi $m14, 0` is nop, `setzi $a13, 0` fnop */
            count = isa_form_build(form, value, in);
            assert_in_range(count, 1, 2);
            for (unsigned i = 0; i < count; i++) {
                uint32_t w[2] = { 0, 0 };
                unsigned words = isa_encode(&in[i], w);
                int is_bundle;

                assert_int_equal(isa_decode(w, &main, &aux, &is_bundle), 4 * words);
                assert_false(is_bundle);
                assert_memory_equal(&main, &in[i], sizeof(main));
            }
        }
    }
}

static void test_no_word_confuses_the_decoder(void **state)
{
    (void)state;
    for (int n = 0; n < 3000000; n++) {
        uint32_t w[2] = { rng(), rng() }, back[2];
        struct insn main, aux;
        int is_bundle;
        char text[128];

        isa_decode(w, &main, &aux, &is_bundle);
        if (main.op == INSN_ILLEGAL)
            continue;
        isa_encode(&main, back);
        if (is_bundle)
            back[0] |= 1u << ISA_BUNDLE_BIT;
        if (main.op != INSN_call) /* bit 19 of its field is ignored, as documented */
            assert_int_equal(back[0], w[0]);
        assert_true(isa_print(&main, NULL, text, sizeof(text)) < (int)sizeof(text));
    }
}

static void test_pseudo_instructions(void **state)
{
    struct insn in[2];

    (void)state;
    assert_int_equal(isa_form_build(isa_form(FORM_sub_pseudo), (int64_t[6]){ 1, 2, 5 }, in), 1);
    assert_int_equal(in[0].op, INSN_add_ms16);
    assert_int_equal(in[0].i, -5);
    assert_int_equal(isa_form_build(isa_form(FORM_sub_pseudo), (int64_t[6]){ 1, 2, -32767 }, in),
                     1);
    assert_int_equal(in[0].op, INSN_add_ms16);
    assert_int_equal(in[0].i, 32767);
    assert_int_equal(isa_form_build(isa_form(FORM_sub_pseudo), (int64_t[6]){ 1, 2, -32768 }, in),
                     0);
    assert_int_equal(isa_form_build(isa_form(FORM_sub_pseudo), (int64_t[6]){ 1, 2, 32768 }, in), 0);
    assert_int_equal(isa_form_build(isa_form(FORM_ldconst_m), (int64_t[6]){ 1, 0xfffff }, in), 1);
    assert_int_equal(isa_form_build(isa_form(FORM_ldconst_m), (int64_t[6]){ 1, 0xabc00001 }, in),
                     2);
    assert_int_equal(in[0].i, 1);
    assert_int_equal((uint32_t)in[1].i, 0xabc00000);
    assert_int_equal(isa_form_build(isa_form(FORM_add_mu16), (int64_t[6]){ 1, 2, 65536 }, in), 0);
    assert_int_equal(isa_form_build(isa_form(FORM_ld64_ai), (int64_t[6]){ 1, 2, 3, 0 }, in), 0);
}

static void test_csr_lookup(void **state)
{
    (void)state;
    assert_int_equal(isa_csr_find('U', "TAS", 3)->index, 8);
    assert_null(isa_csr_find('W', "TAS", 3));
    assert_int_equal(CSR_S_CCCSLOAD, 0x50);
    for (size_t i = 0; i < isa_csr_count(); i++) {
        const struct csr_row *r = isa_csr_row(i);

        assert_ptr_equal(isa_csr_at(r->space, r->index), r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_count),
        cmocka_unit_test(test_every_form_round_trips),
        cmocka_unit_test(test_no_word_confuses_the_decoder),
        cmocka_unit_test(test_pseudo_instructions),
        cmocka_unit_test(test_csr_lookup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
