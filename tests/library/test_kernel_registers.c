/* test_kernel_registers.c - no kernel names a register that the chips do not have: $m14, and $a8 to
 * $a13; and the supervisor's part of a kernel leaves those alone that the program keeps. All of the
 * embedded code is decoded, instruction by instruction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "emu/asm/asm.h"
#include "emu/isa/insn_ops.h"
#include "programs/library/kernel/codelet_table.h"

/* $m12 and $m13 can be read; $m15, $a14 and $a15 are zeros. */
static const uint32_t main_registers = 0xbfff, auxiliary_registers = 0xc0ff;

/* `nop` and `fnop` may be written as assignments to registers that do not exist. */
static int does_nothing(const struct insn *in)
{
    static const char *const spelling[] = { "nop", "fnop" };
    uint32_t word[2] = { 0, 0 }, idle[2] = { 0, 0 };

    isa_encode(in, word);
    for (unsigned i = 0; i < EMU_COUNT_OF(spelling); i++) {
        const struct insn_form *form = isa_form_find(spelling[i], strlen(spelling[i]));
        struct insn built[2];

        assert_non_null(form);
        assert_int_equal(isa_form_build(form, NULL, built), 1);
        isa_encode(&built[0], idle);
        if (word[0] == idle[0])
            return 1;
    }
    return 0;
}

static int names_missing_register(const struct insn *in)
{
    struct insn_regs r = isa_registers(in);

    return ((r.m_read | r.m_write) & ~main_registers) ||
           ((r.a_read | r.a_write) & ~auxiliary_registers);
}

/* A supervisor codelet may change $m0 to $m5: loops of the program count in $m6 to $m9. */
static int changes_kept_register(const struct insn *in)
{
    return (isa_registers(in).m_write & ~0x803fu) != 0;
}

typedef int wrong_insn(const struct insn *in);

/* How many instructions of some code are wrong. kernel: each is printed with this name, NULL: none.
 */
static unsigned wrong_insns(wrong_insn *is_wrong, const char *kernel, const uint8_t *code,
                            size_t bytes)
{
    unsigned found = 0;

    for (size_t at = 0; at + 4 <= bytes;) {
        struct insn in[2] = { { .op = INSN_ILLEGAL }, { .op = INSN_ILLEGAL } };
        uint32_t word[2] = { 0, 0 };
        size_t here = at;
        int bundle = 0;

        memcpy(word, code + at, bytes - at < 8 ? 4 : 8);
        at += isa_decode(word, &in[0], &in[1], &bundle);
        for (int k = 0; k <= bundle; k++) {
            char text[96];

            if (in[k].op == INSN_ILLEGAL || does_nothing(&in[k]) || !is_wrong(&in[k]))
                continue;
            found++;
            if (!kernel)
                continue;
            isa_print(&in[k], NULL, text, sizeof(text));
            print_error("%s + %zu: %s\n", kernel, here, text);
        }
    }
    return found;
}

static void test_kernels(void **state)
{
    const struct arch *mk2 = ss_arch_preset("mk2");
    unsigned found = 0;

    (void)state;
    for (unsigned i = 0; i < codelet_count; i++) {
        const struct codelet *c = &codelet_table[i];
        struct codelet_code code;

        assert_int_equal(codelet_link(mk2, &c, 1, mk2->mem_base, &code), EMU_OK);
        assert_true(code.bytes > 0);
        found += wrong_insns(names_missing_register, c->name, code.code, code.bytes);
        codelet_code_free(&code);
    }
    assert_int_equal(found, 0);
}

/* The function of a codelet's name is the supervisor's part; workers' parts follow it. */
static void test_supervisors(void **state)
{
    const struct arch *mk2 = ss_arch_preset("mk2");
    unsigned found = 0, supervisors = 0;

    (void)state;
    for (unsigned i = 0; i < codelet_count; i++) {
        const struct codelet *c = &codelet_table[i];
        const struct asm_symbol *entry;
        struct codelet_code code;

        if (c->kind != CODELET_SUPERVISOR)
            continue;
        assert_int_equal(codelet_link(mk2, &c, 1, mk2->mem_base, &code), EMU_OK);
        entry = asm_entry_find(code.image, c->name);
        assert_non_null(entry);
        assert_true(entry->size > 0 && (uint32_t)entry->value == code.entry[0]);
        found += wrong_insns(changes_kept_register, c->name,
                             code.code + (code.entry[0] - code.addr), entry->size);
        supervisors++;
        codelet_code_free(&code);
    }
    assert_true(supervisors > 10);
    assert_int_equal(found, 0);
}

/* The search finds what it looks for: in either lane, read or written, in pairs and quads. */
static void test_search(void **state)
{
    static const struct {
        const char *mnemonic;
        int64_t value[ISA_MAX_OPERANDS];
        unsigned found, kept;
    } row[] = {
        { "setzi", { 11, 1 }, 0, 1 },
        { "setzi", { 6, 1 }, 0, 1 },
        { "setzi", { 5, 1 }, 0, 0 },
        { "f32add", { 7, 15, 14 }, 0, 0 },
        { "f32add", { 8, 0, 0 }, 1, 0 },
        { "f32add", { 0, 13, 0 }, 1, 0 },
        { "f32v2add", { 0, 0, 12 }, 1, 0 },
        { "f32v4acc", { 8 }, 1, 0 },
        { "br", { 13 }, 0, 0 },
        { "br", { 14 }, 1, 0 },
        { "fnop", { 0 }, 0, 0 },
    };

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(row); i++) {
        const struct insn_form *form = isa_form_find(row[i].mnemonic, strlen(row[i].mnemonic));
        uint32_t word[2] = { 0, 0 };
        struct insn in[2];

        assert_non_null(form);
        assert_int_equal(isa_form_build(form, row[i].value, in), 1);
        isa_encode(&in[0], word);
        assert_int_equal(
            wrong_insns(names_missing_register, NULL, (const uint8_t *)word, ISA_WORD_BYTES),
            row[i].found);
        assert_int_equal(
            wrong_insns(changes_kept_register, NULL, (const uint8_t *)word, ISA_WORD_BYTES),
            row[i].kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_supervisors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
