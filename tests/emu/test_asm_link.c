/* test_asm_link.c - the assembler around its language: several files, the C preprocessor, text
 * forms, lack of memory. */
#include "emu/isa/csr_names.h"
#include "tests/fixtures/asm_fixture.h"

/* ---- linking ---- */

static void test_link_files(void **state)
{
    struct asm_unit *u = unit_new();
    const struct asm_image *image;
    const struct asm_symbol *s;
    uint32_t word, offset;

    (void)state;
    assert_int_equal(unit_add(u, "a.S", ".globl main\nmain: bri helper\nloop: bri loop\nbri table"),
                     EMU_OK);
    assert_int_equal(unit_add(u, "b.S",
                              "nop\nloop: bri loop\n.globl helper\n.type helper, @function\n"
                              "helper: br $m10\n.size helper, . - helper\n"
                              ".stack_usage helper, 32\n.Lhidden: nop"),
                     EMU_OK);
    assert_int_equal(
        unit_add(u, "c.S", ".section .rodata.t, \"a\"\n.globl table\ntable: .int main, table"),
        EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    image = asm_unit_image(u);
    assert_int_equal(image->section_count, 3);
    assert_int_equal(image->section[0].addr, MK2_BASE);
    assert_int_equal(image->section[1].addr, MK2_BASE + 16);
    assert_int_equal(image->section[2].addr, MK2_BASE + 32);
    memcpy(&word, image->section[0].bytes, 4); /* bri helper */
    assert_int_equal(word & 0x7ffff, (MK2_BASE + 24) / 4);
    memcpy(&word, image->section[1].bytes + 4, 4); /* bri loop: the one of this file */
    assert_int_equal(word & 0x7ffff, (MK2_BASE + 20) / 4);
    memcpy(&word, image->section[2].bytes, 4);
    assert_int_equal(word, MK2_BASE);

    s = asm_symbol_find(image, "helper");
    assert_non_null(s);
    assert_int_equal(s->value, MK2_BASE + 24);
    assert_int_equal(s->size, 4);
    assert_int_equal(s->type, ASM_FUNCTION);
    assert_int_equal(s->stack_bytes, 32);
    assert_true(s->global);
    assert_string_equal(s->file, "b.S");
    assert_null(asm_symbol_find(image, ".Lhidden"));
    assert_string_equal(asm_symbolize(image, MK2_BASE + 28, &offset)->name, "helper");
    assert_int_equal(offset, 4);
    assert_null(asm_symbolize(image, MK2_BASE + 16, &offset)); /* before the first symbol of b.S */
    assert_null(asm_symbolize(image, 0, &offset));
    assert_string_equal(asm_line_of(image, MK2_BASE + 24)->file, "b.S");
    assert_int_equal(asm_line_of(image, MK2_BASE + 24)->line, 5);
    assert_null(asm_line_of(image, MK2_BASE + 4096));
    asm_unit_free(u);
}

static void test_link_again(void **state)
{
    const struct asm_layout at = { .code_addr = 0x50000, .data_addr = 0x60000 };
    const struct asm_layout odd = { .code_addr = 0x50004 }, low = { .code_addr = 0x100 };
    const struct asm_layout over = { .code_addr = 0x50000, .data_addr = 0x50000 };
    struct asm_unit *u = unit_assemble("x: bri x\n.data\n.int x");
    uint32_t word;

    (void)state;
    assert_int_equal(asm_unit_link(u, &at), EMU_OK);
    assert_int_equal(asm_unit_image(u)->section[1].addr, 0x60000);
    memcpy(&word, asm_unit_image(u)->section[1].bytes, 4);
    assert_int_equal(word, 0x50000);
    assert_int_equal(asm_unit_link(u, &odd), EMU_BAD_ASM);
    assert_null(asm_unit_image(u));
    assert_int_equal(asm_unit_link(u, &low), EMU_BAD_ASM);
    assert_int_equal(asm_unit_link(u, &over), EMU_BAD_ASM);
    assert_int_equal(asm_diag_count(u), 1); /* earlier links are forgotten */
    assert_int_equal(unit_add(u, "more.S", "bri x"), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_BAD_ASM); /* x is local to the first file */
    asm_unit_free(u);
}

static void test_link_symbols(void **state)
{
    const struct asm_layout allow = { .allow_undefined = 1 };
    struct asm_unit *u = unit_new();
    uint32_t word;
    char *said;

    (void)state;
    assert_int_equal(
        unit_add(u, "a.S",
                 "bri one\nbri two\nbri one\n.weak w\nw: nop\nbri w\n.weak none\nbri none"),
        EMU_OK);
    assert_int_equal(unit_add(u, "b.S", "nop\nnop\n.globl w\nw: nop"), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_BAD_ASM);
    said = unit_diagnostics(u);
    assert_string_equal(said, "a.S:1:5: error: undefined symbol 'one' (2 uses)\n"
                              "a.S:2:5: error: undefined symbol 'two' (1 use)\n");
    free(said);
    assert_int_equal(asm_unit_link(u, &allow), EMU_OK);
    assert_int_equal(asm_diag_at(u, 0)->kind, ASM_WARNING);
    memcpy(&word, asm_unit_image(u)->section[0].bytes, 4);
    assert_int_equal(word & 0x7ffff, 0);
    memcpy(&word, asm_unit_image(u)->section[0].bytes + 16, 4); /* the strong w */
    assert_int_equal(word & 0x7ffff, (asm_unit_image(u)->section[1].addr + 8) / 4);
    assert_int_equal(unit_add(u, "c.S", ".globl w\nw: nop"), EMU_OK);
    assert_int_equal(asm_unit_link(u, &allow), EMU_BAD_ASM);
    said = unit_diagnostics(u);
    assert_non_null(strstr(said, "c.S:2:1: error: 'w' is already defined in another file\n"
                                 "b.S:4:1: note: here\n"));
    free(said);
    asm_unit_free(u);
}

static void test_link_alignment(void **state)
{
    struct asm_unit *u = unit_assemble("nop\n.section .text.b, \"ax\"\nnop\n.align 128\nx: nop");

    (void)state;
    assert_int_equal(asm_unit_image(u)->section[1].addr, MK2_BASE + 128);
    assert_int_equal(asm_symbol_find(asm_unit_image(u), "x")->value, MK2_BASE + 256);
    asm_unit_free(u);
}

static void test_link_room(void **state)
{
    struct asm_unit *u = unit_new();

    (void)state;
    assert_int_equal(unit_add(u, "t.S", ".rept 60000\nnop\n.endr"), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_BAD_ASM);
    assert_non_null(strstr(asm_diag_at(u, 0)->text, "the code needs 0x4c000..0x86980"));
    asm_unit_free(u);
}

/* ---- the C preprocessor ---- */

static void test_cpp(void **state)
{
    static const char text[] = "#include \"poplar/TileConstants.hpp\"\n"
                               "#include <poplar/StackSizeDefs.hpp>\n"
                               "#include \"poplar/AvailableVTypes.h\"\n"
                               "#define reg m3\n"
                               "#define a_pair a4:5\n"
                               "#define CAT(a, b) a##b\n"
                               ".macro m p\n"
                               " .int \\p\n"
                               ".endm\n"
                               "#define renamed a6\n"
                               ".macro n renamed x\n"
                               " .int $renamed_is_no_token, \\x\n"
                               ".endm\n"
                               ".section .text.f, FUNCTION_IS_WORKER\n"
                               "DEF_STACK_USAGE (8 + 8) f\n"
                               "f:\n"
                               " mov $reg, $m1\n"
                               " zero $a_pair\n"
                               " .int TMEM_REGION0_BASE_ADDR, TMEM_ELEMSIZE, CTXT_WORKERS\n"
                               "#if CSR_W_REPEAT_COUNT__VALUE__MASK > 0xfff\n"
                               " m CAT(1, 2)\n"
                               "#endif\n"
                               " m \\\n"
                               " 5\n";
    static const uint32_t want[] = { 0, 0, MK2_BASE, 0x4000, 6, 12, 5 };
    struct asm_unit *u;
    const struct asm_image *image;

    (void)state;
    assert_int_equal(asm_unit_new(NULL, &u), EMU_OK);
    if (unit_add(u, "dir/t.S", text) != EMU_OK || asm_unit_link(u, NULL) != EMU_OK)
        asm_diag_print(u, stderr);
    image = asm_unit_image(u);
    assert_non_null(image);
    assert_int_equal(image->section[0].size, sizeof(want));
    assert_memory_equal(image->section[0].bytes + 8, want + 2, sizeof(want) - 8);
    assert_int_equal(asm_symbol_find(image, "f")->stack_bytes, 16);
    assert_string_equal(asm_line_of(image, MK2_BASE)->file, "dir/t.S");
    assert_int_equal(asm_line_of(image, MK2_BASE)->line, 17);
    assert_int_equal(asm_line_of(image, MK2_BASE + 8)->line, 19);
    asm_unit_free(u);
}

/* What GNU cpp does to macro parameters: it replaces their names too, and leaves blanks. */
static void test_cpp_blanks(void **state)
{
    static const char text[] = "#define x a6\n"
                               "#define pair(p) a4:p\n"
                               "#define name(a, b) f_##a##_##b\n"
                               ".macro m x, t\n"
                               " f32add $\\x, $\\x, $a0\n"
                               " name(1, \\t\\()):\n"
                               ".endm\n"
                               " m a2, half\n"
                               " zero $pair(5)\n"
                               " bri f_1_half\n";
    struct asm_unit *u;

    (void)state;
    assert_int_equal(asm_unit_new(NULL, &u), EMU_OK);
    if (unit_add(u, "t.S", text) != EMU_OK || asm_unit_link(u, NULL) != EMU_OK) {
        asm_diag_print(u, stderr);
        fail();
    }
    asm_unit_free(u);
}

static void test_cpp_messages(void **state)
{
    const struct asm_options mk1 = { .arch = ss_arch_preset("mk1") };
    struct asm_unit *u;
    char *said;

    (void)state;
    assert_int_equal(asm_unit_new(NULL, &u), EMU_OK);
    assert_int_equal(unit_add(u, "t.S", "nop\n#include \"nowhere.h\"\n"), EMU_BAD_ASM);
    said = unit_diagnostics(u);
    assert_string_equal(said, "t.S:2:10: error: nowhere.h: No such file or directory\n");
    free(said);
    asm_unit_free(u);
    assert_int_equal(asm_unit_new(&mk1, &u), EMU_OK);
    assert_int_equal(unit_add(u, "t.S",
                              "#include \"arch/gc_tile_defines.h\"\n#if __IPU_ARCH_VERSION__ == 1\n"
                              " .if TMEM_REGION0_BASE_ADDR - 0x40000\n .error \"base\"\n .endif\n"
                              " .warning \"mk1\"\n#endif\n"),
                     EMU_OK);
    assert_int_equal(asm_diag_count(u), 1);
    assert_int_equal(asm_diag_at(u, 0)->line, 6);
    asm_unit_free(u);
    assert_int_equal(asm_unit_new(NULL, &u), EMU_OK);
    assert_int_equal(asm_unit_add_file(u, "/nowhere/x.S"), EMU_IO);
    asm_unit_free(u);
}

/* The preprocessor knows the instruction set of the machine. */
static void test_version_of_the_machine(void **state)
{
    static const struct {
        const char *machine, *version;
    } row[] = { { "mk1", "1" }, { "mk2", "2" }, { "bow", "2" }, { "c600", "21" } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const struct asm_options o = { .arch = ss_arch_preset(row[i].machine) };
        struct asm_unit *u;
        char text[100];

        snprintf(text, sizeof(text), "#if __IPU_ARCH_VERSION__ == %s\n .warning \"it\"\n#endif\n",
                 row[i].version);
        assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
        assert_int_equal(unit_add(u, "t.S", text), EMU_OK);
        assert_int_equal(asm_diag_count(u), 1);
        asm_unit_free(u);
    }
}

/* ---- text forms ---- */

static char *text_of(const struct asm_image *image,
                     enum emu_status (*print)(const struct asm_image *, FILE *))
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    assert_int_equal(print(image, f), EMU_OK);
    fclose(f);
    return text;
}

static const char mixed[] =
    ".globl main\n.type main, @function\nmain: bri 1f\n.int 0xffffffff, 0x7fffffff, 0, 0x80000000\n"
    "1: { ld64 $a0:1, $m0, 0; f32add $a2, $a3, $a4 }\n nop\n { brnzdec $m0, main; fnop }\n"
    ".int 0x9b000000\n.insn 0x20110005\n add $m0, $m0, -1\n call $m10, end\n.byte 1, 2, 3\n"
    ".section \".text.b c\", \"ax\"\n.align 32\nend: exitz $mzero\nnop\n.quad -1\n"
    ".supervisor\n sendpicp 1, 0x100, 1, 0, 5, 6\n get $m0, $SSR\n"
    ".data\nx: .byte 1, 2, 3, 4, 5\ny: .int main\n.equ n, 3\n";

static void test_disassembler(void **state)
{
    struct asm_unit *u = unit_assemble(mixed);
    char *text = text_of(asm_unit_image(u), asm_disassemble);

    (void)state;
    assembles_alike(mixed, text);
    assert_non_null(strstr(text, "\"main\":\n"));
    assert_non_null(strstr(text, "bri .L4c014\n"));
    assert_non_null(strstr(text, ".int 0xffffffff"));
    assert_non_null(strstr(text, "{ ld64 $a0:1, "));
    free(text);
    asm_unit_free(u);
}

/* The first word of a two-word instruction at the end of a section has no second one. */
static void test_disassemble_half(void **state)
{
    static const char half[] = "nop\nnop\n.int 0xf0200201";
    struct asm_unit *u = unit_assemble(half);
    char *text = text_of(asm_unit_image(u), asm_disassemble);

    (void)state;
    assembles_alike(half, text);
    assert_non_null(strstr(text, ".int 0xf0200201\n"));
    free(text);
    asm_unit_free(u);
}

static void test_unit_file(void **state)
{
    struct asm_unit *u = unit_assemble(mixed);
    const struct asm_image *image = asm_unit_image(u);
    char *text = text_of(image, asm_image_write), *again;
    struct asm_image read;

    (void)state;
    assert_int_equal(asm_image_read_text("t.unit", text, strlen(text), &read), EMU_OK);
    assert_int_equal(read.section_count, image->section_count);
    for (size_t i = 0; i < read.section_count; i++)
        assert_memory_equal(read.section[i].bytes, image->section[i].bytes, read.section[i].size);
    assert_int_equal(asm_symbol_find(&read, "end")->value, asm_symbol_find(image, "end")->value);
    again = text_of(&read, asm_image_write);
    assert_string_equal(again, text);
    free(again);
    asm_image_free(&read);
    /* every shorter file is refused, or at least read without harm */
    for (size_t n = 0; n + 1 < strlen(text); n++)
        assert_int_equal(asm_image_read_text("t.unit", text, n, &read),
                         n + 1 < strlen(text) ? EMU_BAD_FILE : EMU_OK);
    free(text);
    asm_unit_free(u);
}

static void test_unit_file_damage(void **state)
{
    static const char *const row[] = {
        "",
        "superstep-unit 1\nmachine \"m\"\nend\n",
        "superstep-unit 2\nmachine \"m\n\"\nend\n",
        "superstep-unit 2\nmachine \"m\"\nsection 0x4 ax 8 4 \"a\" \"b\"\n 00000000\nend\n",
        "superstep-unit 2\nmachine \"m\"\nsection 0x8 ax 8 4 \"a\" \"b\"\n 0000000\nend\n",
        "superstep-unit 2\nmachine \"m\"\nsection 0x8 aq 8 0 \"a\" \"b\"\nend\n",
        "superstep-unit 2\nmachine \"m\"\nsection 0x8 ax 8 99999999999 \"a\" \"b\"\nend\n",
        "superstep-unit 2\nmachine \"m\"\nsymbol 0x8 g 0 0 \"a\" \"b\"\nend\n",
        "superstep-unit 2\nmachine \"\"\nsymbol 0 n 0 0 \"\"\"\"\nsection 8 a 8 0 \"\"\"\"\nend\n",
    };
    struct asm_image image;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        if (asm_image_read_text("t", row[i], strlen(row[i]), &image) != EMU_BAD_FILE)
            fail_msg("accepted: %s", row[i]);
    }
}

/* ---- memory ---- */

/* Every allocation fails once; nothing leaks, and the status says why. */
static void test_no_memory(void **state)
{
    static const char source[] =
        ".macro m a=1, b:vararg\n.int \\a, \\b\n.endm\nm 1, 2\n.rept 2\nnop\n.endr\n.irp v, 1, 2\n"
        ".int \\v\n.endr\nx: bri x\nbri later\nlater: { rpt 3, 0; fnop }\n.align 8\n"
        "{ nop; fnop }\n.data\n.asciz \"abc\"\n.int x + y\ny = 3\n1: .int 1b, 1f\n1: .space 5000\n";
    struct asm_unit *u = NULL;
    long live = alloc_live(), failures = 0;

    (void)state;
    for (;; failures++) {
        enum emu_status st;

        alloc_test_fail_at(failures);
        st = asm_unit_new(&(struct asm_options){ .raw = 1 }, &u);
        if (st == EMU_OK)
            st = unit_add(u, "t.S", source);
        if (st == EMU_OK)
            st = asm_unit_link(u, NULL);
        alloc_test_fail_at(-1);
        asm_unit_free(u);
        assert_int_equal(alloc_live(), live);
        if (st == EMU_OK)
            break;
        assert_int_equal(st, EMU_NO_MEMORY);
    }
    assert_true(failures > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link_files),
        cmocka_unit_test(test_link_again),
        cmocka_unit_test(test_link_symbols),
        cmocka_unit_test(test_link_alignment),
        cmocka_unit_test(test_link_room),
        cmocka_unit_test(test_cpp),
        cmocka_unit_test(test_cpp_blanks),
        cmocka_unit_test(test_cpp_messages),
        cmocka_unit_test(test_version_of_the_machine),
        cmocka_unit_test(test_disassembler),
        cmocka_unit_test(test_disassemble_half),
        cmocka_unit_test(test_unit_file),
        cmocka_unit_test(test_unit_file_damage),
        cmocka_unit_test(test_no_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
