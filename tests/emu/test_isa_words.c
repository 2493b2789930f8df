/* test_isa_words.c - the words of instructions against those of isa_words.def, which nobody derived
 * from insn.def; bundles; machines whose instruction set is older. */
#include "tests/fixtures/asm_fixture.h"

#include "emu/base/fail.h"
#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"

#define BUNDLE UINT32_C(0x80000000)

static const struct word_row {
    unsigned op;
    const char *text;
    uint32_t word;
} rows[] = {
#define WORD(row, text, word) { INSN_##row, text, word },
#include "tests/emu/isa_words.def"
#undef WORD
};

static struct insn decoded(uint32_t word)
{
    const uint32_t item[2] = { word, 0 };
    struct insn main, aux;
    int is_bundle;

    assert_int_equal(isa_decode(item, &main, &aux, &is_bundle), ISA_WORD_BYTES);
    assert_false(is_bundle);
    return main;
}

/* Repeats need bodies after them, and some rows write one register twice: only words matter. */
static uint32_t assembled(const char *text)
{
    char source[256];
    uint32_t word;
    uint8_t bytes[16];

    snprintf(source, sizeof(source), ".allow_invalid_repeat\n.warn_on_invalid_bundles\n%s\n", text);
    assert_int_equal(assembled_bytes(source, bytes, sizeof(bytes)), sizeof(word));
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static void test_every_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(rows); i++) {
        uint32_t word = assembled(rows[i].text);
        struct insn in = decoded(rows[i].word);
        char printed[160];

        if (word != rows[i].word || in.op != rows[i].op)
            fail_msg("%s: 0x%08x, expected 0x%08x, which is op %u, expected %u", rows[i].text, word,
                     rows[i].word, in.op, rows[i].op);
        isa_print(&in, NULL, printed, sizeof(printed));
        word = assembled(printed);
        if (word != rows[i].word)
            fail_msg("0x%08x is printed as %s, which is 0x%08x", rows[i].word, printed, word);
    }
}

static void test_every_row_has_a_word(void **state)
{
    char seen[INSN_COUNT] = "";

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(rows); i++)
        seen[rows[i].op] = 1;
    for (unsigned op = 0; op < INSN_COUNT; op++) {
        if (!seen[op] && op != INSN_sendpicp)
            fail_msg("%s", isa_op_form(op)->name);
    }
}

/* The one instruction of two words. */
static void test_sendpicp(void **state)
{
    static const uint32_t want[2] = { 0xf0000000u | 2u << 21 | 0x13000u << 3 | 1,
                                      0x640u << 18 | 0x13000 };
    uint8_t bytes[16];

    (void)state;
    assert_int_equal(
        assembled_bytes("sendpicp 2, 0x4c000, 1, 0, 0x640, 0x13000", bytes, sizeof(bytes)), 8);
    assert_memory_equal(bytes, want, sizeof(want));
}

static void test_bundles(void **state)
{
    static const uint32_t nop = 0x19e00000, fnop = 0x1ad00000, exitz = 0x43f04000;
    static const struct {
        uint32_t word[2];
        unsigned main, aux;
    } row[] = {
        { { nop | BUNDLE, fnop | BUNDLE }, INSN_nop, INSN_fnop },
        { { nop | BUNDLE, fnop }, INSN_nop, INSN_ILLEGAL },
        { { fnop | BUNDLE, fnop | BUNDLE }, INSN_ILLEGAL, INSN_fnop },
        { { nop | BUNDLE, nop | BUNDLE }, INSN_nop, INSN_ILLEGAL },
        { { exitz | BUNDLE, fnop | BUNDLE }, INSN_ILLEGAL, INSN_fnop },
        { { nop | BUNDLE, 0xffffffff }, INSN_nop, INSN_ILLEGAL },
        { { 0x41801000 | BUNDLE, fnop | BUNDLE }, INSN_trap, INSN_fnop },
        { { 0x4100c000 | BUNDLE, fnop | BUNDLE }, INSN_ld64putcs, INSN_fnop },
    };
    uint8_t bytes[16];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct insn main, aux;
        int is_bundle;

        assert_int_equal(isa_decode(row[i].word, &main, &aux, &is_bundle), ISA_BUNDLE_BYTES);
        assert_true(is_bundle);
        assert_int_equal(main.op, row[i].main);
        assert_int_equal(aux.op, row[i].aux);
    }
    assert_int_equal(assembled_bytes("{ nop ; fnop }", bytes, sizeof(bytes)), ISA_BUNDLE_BYTES);
    assert_memory_equal(bytes, row[0].word, ISA_BUNDLE_BYTES);
}

/* A field that names the first register of a pair or quad. */
static void test_groups_begin_where_they_must(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < 16; r++) {
        assert_int_equal(decoded(0x5f20f000 | r << 4).op, r % 2 ? INSN_ILLEGAL : INSN_st64_ai);
        assert_int_equal(decoded(0x4d000805 | r << 4).op, r % 4 ? INSN_ILLEGAL : INSN_ld128_ar);
        assert_int_equal(decoded(0x56002800 | r << 16).op,
                         r % 4 ? INSN_ILLEGAL : INSN_ld2xst64pace);
    }
}

/* How words are shown that have several spellings. */
static void test_shown_spellings(void **state)
{
    static const char *const row[][2] = {
        { "or $m1, $m0, 0", "mov $m1, $m0" },
        { "or $a1, $a0, 0", "mov $a1, $a0" },
        { "or64 $a2:3, $a0:1, $azeros", "mov $a2:3, $a0:1" },
        { "atom $m1, $a0", "mov $m1, $a0" },
        { "or $m6, $mzero, $mzero", "zero $m6" },
        { "or $a3, $azero, $azero", "zero $a3" },
        { "or64 $a2:3, $azeros, $azeros", "zero $a2:3" },
        { "or $m6, $mzero, $m5", "or $m6, $mzero, $m5" },
        { "roll16 $m1, $m2, $m2", "swap16 $m1, $m2" },
        { "roll16 $a1, $a2, $a2", "swap16 $a1, $a2" },
        { "roll16 $a1, $a2, $a3", "roll16 $a1, $a2, $a3" },
        { "uget $a0, 1", "get $a0, $FP_CLR" },
        { "uget $a0, 77", "get $a0, 77" },
        { "uput 8, $a0", "put $TAS, $a0" },
        { "setzi $m14, 0", "nop" },
        { "setzi $a13, 0", "fnop" },
        { "setzi $m14, 1", "setzi $m14, 1" },
        { ".insn 0x20000005", ".insn 0x20000005" },
        { "f32v2mul $a0:1, $a2:BL, $a4:5", "f32v2mul $a0:1, $a2:B, $a4:5" },
        { "f16v4mul $a0:1, $a2:B, $a4:5", "f16v4mul $a0:1, $a2:BL, $a4:5" },
        { "f16v2add $a0, $a1:B, $a2", "f16v2add $a0, $a1:BL, $a2" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct insn in = decoded(assembled(row[i][0]));
        char printed[160];

        isa_print(&in, NULL, printed, sizeof(printed));
        assert_string_equal(printed, row[i][1]);
    }
}

static void test_older_machine(void **state)
{
    static const char *const newer[] = { "f16v4hihov4amp $a0:1, $a2:3, $a4:5, 0",
                                         "sort4x16lo $a0, $a1:BU, $a2",
                                         "{ nop ; f32sisov2amp $a0:1, $a2, $a4:5, 0 }" };
    struct asm_options o = { .arch = ss_arch_preset("mk1"), .raw = 1 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(newer); i++) {
        struct asm_unit *u;
        char *said;

        assembled_bytes(newer[i], (uint8_t[16]){ 0 }, 16); /* mk2 */
        assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
        assert_int_equal(asm_unit_add_text(u, "t", newer[i], strlen(newer[i])), EMU_BAD_ASM);
        said = unit_diagnostics(u);
        assert_non_null(strstr(said, "needs the instruction set ipu2, and machine mk1 has ipu1"));
        free(said);
        asm_unit_free(u);
    }
}

/* The chips have $a0 to $a7 and $m0 to $m11: what reads another is refused where it stands; public
 * codelets write $a8 to $a11 to be rid of a result. */
static void test_registers_that_do_not_exist(void **state)
{
    static const struct {
        const char *text, *said; /* NULL: nothing */
    } row[] = {
        { "add $m14, $m0, $m1", NULL },
        { "add $m14, $m14, $m1", "t:1:1: error: machine mk2 has no register $m14\n" },
        { "nop\nadd $m0, $m14, $m1", "t:2:1: error: machine mk2 has no register $m14\n" },
        { "f32add $a0, $a1, $a8", "t:1:1: error: machine mk2 has no register $a8\n" },
        { "ld128 $a8:11, $m0, 0", NULL },
        { "or64 $a12:13, $a0:1, $a2:3", NULL },
        { "or64 $a0:1, $a12:13, $a2:3", "t:1:1: error: machine mk2 has no register $a12\n" },
        { "{ nop\nf32add $a0, $a1, $a13 }", "t:2:1: error: machine mk2 has no register $a13\n" },
        { ".insn 0x58108000", "t:1:1: error: machine mk2 has no register $a8\n" },
        { "{ nop ; fnop }", NULL },
        { "f32add $a7, $a14, $azero", NULL },
        { "ld128 $a12:15, $m11, $m12, 0", NULL },
        { "st32 $m13, $m12, $mzero, 0", NULL },
    };
    struct asm_options o = { .arch = ss_arch_preset("mk2"), .raw = 1 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct asm_unit *u;
        char *said;

        assembled_bytes(row[i].text, (uint8_t[16]){ 0 }, 16); /* a what-if that has them all */
        assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
        assert_int_equal(asm_unit_add_text(u, "t", row[i].text, strlen(row[i].text)),
                         row[i].said ? EMU_BAD_ASM : EMU_OK);
        said = unit_diagnostics(u);
        assert_string_equal(said, row[i].said ? row[i].said : "");
        free(said);
        asm_unit_free(u);
    }
}

static void test_missing_registers(void **state)
{
    const struct insn add = { .op = INSN_add_m, .d = 0, .a = 14, .b = 1 };
    const struct insn f32add = { .op = INSN_f32add, .d = 7, .a = 15, .b = 13 };
    unsigned missing = 99;

    (void)state;
    assert_int_equal(isa_needs(&add, ISA_IPU2, 12, 8, &missing), ISA_NEEDS_M_REGISTER);
    assert_int_equal(missing, 14);
    assert_int_equal(isa_needs(&add, ISA_IPU2, 13, 8, &missing), ISA_NEEDS_NOTHING);
    assert_int_equal(isa_needs(&f32add, ISA_IPU2, 12, 13, &missing), ISA_NEEDS_A_REGISTER);
    assert_int_equal(missing, 13);
    assert_int_equal(isa_needs(&f32add, ISA_IPU2, 12, 14, NULL), ISA_NEEDS_NOTHING);
    assert_int_equal(isa_needs(&(struct insn){ .op = INSN_nop }, ISA_IPU1, 12, 8, NULL),
                     ISA_NEEDS_NOTHING);
    assert_int_equal(isa_needs(&(struct insn){ .op = INSN_fnop }, ISA_IPU1, 12, 8, NULL),
                     ISA_NEEDS_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers_that_do_not_exist),
        cmocka_unit_test(test_missing_registers),
        cmocka_unit_test(test_every_word),
        cmocka_unit_test(test_every_row_has_a_word),
        cmocka_unit_test(test_sendpicp),
        cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_groups_begin_where_they_must),
        cmocka_unit_test(test_shown_spellings),
        cmocka_unit_test(test_older_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
