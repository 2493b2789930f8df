/* test_asm_vendor.c - what the vendor's assembler accepts, refuses and rewrites, beyond what
 * PopLibs needs: names of operands, constants of branches, permissions, bundles, bodies of repeats.
 */
#include "emu/isa/csr_names.h"
#include "emu/isa/isa.h"
#include "tests/fixtures/asm_fixture.h"

/* Two spellings of one thing. */
static void same_words(const char *const pair[][2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        assembles_alike(pair[i][0], pair[i][1]);
}

/* What is said about a source. */
static void messages(const char *const row[][2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        assembler_says(row[i][0], row[i][1]);
}

/* ---- operands ---- */

static void test_register_groups(void **state)
{
    static const char *const pair[][2] = {
        { "zero $ap0; zero $ap6; zero $ap15; zero $ap7; zero $ap14",
          "zero $a0:1; zero $a12:13; zero $a14:15; zero $azeros; zero $azeros" },
        { "ld128 $aq0, $m0, 0; ld128 $aq2, $m0, 0; ld128 $aq15, $m0, 0",
          "ld128 $a0:3, $m0, 0; ld128 $a8:11, $m0, 0; ld128 $a12:15, $m0, 0" },
    };
    static const char *const row[][2] = {
        { "zero $ap16", "1:6: error: expected $mN or $aN or $aN:N+1 (N even), found $ap16\n" },
        { "ld128 $aq3, $m0, 0", "1:7: error: expected $aN:N+3 (N multiple of 4), found $aq3\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* .allow_invalid_operands rounds the first register of a pair or quad down, and drops the high bits
 * of a branch's constant. */
static void test_invalid_operands(void **state)
{
    static const char *const pair[][2] = {
        { ".allow_invalid_operands\nor64 $a0:1, $a3:4, $a2:3", "or64 $a0:1, $a2:3, $a2:3" },
        { ".allow_invalid_operands\nld128 $a3:6, $m0, 0", "ld128 $a0:3, $m0, 0" },
        { ".allow_invalid_operands\nbri (1 << 19) + 5", "bri 5" },
        { "call $m0, (1 << 19)", ".insn 0x18080000" },
    };
    static const char *const row[][2] = {
        { ".allow_invalid_operands\n.error_on_invalid_operands\nor64 $a0:1, $a3:4, $a2:3",
          "3:13: error: expected $aN:N+1 (N even), found $a3:4\n" },
        { "bri 1 << 19", "1:5: error: immediate 524288 (0x80000) does not fit a label, or its word "
                         "number (0..524287)\n" },
        { ".allow_invalid_operands\nbri -4",
          "2:5: error: immediate -4 (0xfffffffffffffffc) does not fit a label, or its word number "
          "(0..524287)\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* Every load, st32 and st64 may leave out the delta, with an index and with a number. */
static void test_short_addresses(void **state)
{
    static const char *const mnemonic[][2] = {
        { "ld32", "$m0" },    { "ld32", "$a0" }, { "ldz16", "$m0" },  { "lds16", "$m0" },
        { "ldz8", "$m0" },    { "lds8", "$m0" }, { "ldb16", "$a0" },  { "ld64", "$a0:1" },
        { "ld128", "$a0:3" }, { "st32", "$a0" }, { "st64", "$a0:1" },
    };
    static const char *const row[][2] = {
        { "ld32 $m0, $m1", "1:1: error: 'ld32' takes 4 operands, found 2\n" },
        { "st32 $m0, $m1, $m2", "1:16: error: expected uimm12 (0..4095), found $m2\n" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(mnemonic); i++) {
        char text[2][200];

        for (int full = 0; full < 2; full++) {
            const char *delta = full ? "$mzero, " : "";

            snprintf(text[full], sizeof(text[full]), "%s %s, $m1, %s$m2\n%s %s, $m1, %s5\n",
                     mnemonic[i][0], mnemonic[i][1], delta, mnemonic[i][0], mnemonic[i][1], delta);
        }
        assembles_alike(text[0], text[1]);
    }
    assembles_alike("st32 $m0, $m1, 5", "st32 $m0, $m1, $mzero, 5");
    messages(row, EMU_COUNT_OF(row));
}

/* The vendor's parser does not look at the file of address registers. */
static void test_address_registers(void **state)
{
    static const char *const pair[][2] = {
        { "ld32 $a0, $m0, $azero, 1", "ld32 $a0, $m0, $mzero, 1" },
        { "ld64 $a0:1, $a3, $a4, 1", "ld64 $a0:1, $m3, $m4, 1" },
        { "st32 $m0, $m1, $azero, 2", "st32 $m0, $m1, $mzero, 2" },
    };
    static const char *const row[][2] = {
        { "add $m0, $a1, $m2", "1:10: error: expected $mN, found $a1\n" },
        { "ld32step $m0, $a1, $m2+=, 1", "1:15: error: expected $mN, found $a1\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* A constant is the field of a branch, a symbol is a byte address. */
static void test_branch_constants(void **state)
{
    static const char *const pair[][2] = {
        { ".set x, 5\nbri x", "bri 5" },
        { "bri x\n.set x, 20", "bri 5" },
        { "nop\nx: bri x + 4", "nop\nbri 0x13002" },
        { "brz $m1, 0x4c008 / 4", "brz $m1, 0x13002" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
}

/* The address of `run` counts words from the start of the memory when it is a symbol. */
static void test_run_symbol(void **state)
{
    static const char *const pair[][2] = {
        { "nop\nrun $m0, $m1, x\nnop\nx: nop", "nop\nrun $m0, $m1, 3\nnop\nnop" },
        { "run $m0, $m1, 3", "run $m0, $m1, x\n.set x, 0x4c00c" },
    };
    static const char *const row[][2] = {
        { "run $m0, $m1, x\n.byte 1\nx: .byte 2",
          "1:15: error: the address 0x4c005 is not a multiple of 4\n" },
        { "run $m0, $m1, x\n.set x, 0x4bffc",
          "1:15: error: immediate -1 (0xffffffffffffffff) does not fit uimm16 (0..65535)\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

static void test_dollar_symbols(void **state)
{
    static const char *const pair[][2] = {
        { ".set $x, 50\nget $m1, $x", "get $m1, 50" },
        { "nop\n$abc: bri $abc", "nop\nbri 0x13001" },
        { "bri $abc\n.globl $abc\n$abc:", "bri 0x13001" },
        { "$n = 3\nsetzi $m0, $n * 2", "setzi $m0, 6" },
        { ".ifdef $x\nnop\n.endif\nfnop", "fnop" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
}

/* Names of CSRs and of weight entries are numbers anywhere. */
static void test_csr_numbers(void **state)
{
    static const char *const pair[][2] = {
        { "setzi $m0, $WSR", "setzi $m0, 1" },
        { "setzi $m0, $COUNT_L + 1", "setzi $m0, 97" },
        { ".int $PRNG_SEED, $CCCSLOAD", ".int 7, 80" },
        { "uget $a0, $FP_CTL + 1", "uget $a0, 3" },
        { "ld64putcs $CWEI_0_0; ld64putcs $CWEI_3_2; ld128putcs $CWEI_15_3",
          "ld64putcs 0; ld64putcs 14; ld128putcs 63" },
    };
    static const char *const row[][2] = {
        { ".worker\nsetzi $m0, $SSR",
          "2:12: error: $SSR is a CSR of the supervisor, which is not meant here\n" },
        { ".worker\nsetzi $m0, $SSR + 1", "2:12: error: $SSR is not a name of workers\n" },
        { ".worker\n.int $CWEI_0_0", "2:6: error: $CWEI_0_0 is not a name of workers\n" },
        { "ld64putcs $CWEI_16_0", "1:11: error: undefined symbol '$CWEI_16_0' (1 use)\n" },
        { ".int 1 + $m3", "1:10: error: a register cannot be part of an expression\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* The header's constants are the registers' numbers; those of the upper space carry 0x100. */
static void test_csr_definitions(void **state)
{
    static const char *const row[][2] = {
        { "CSR_W_WSR__INDEX", "W WSR" },           { "CSR_W_FP_CLR__INDEX", "U FP_CLR" },
        { "CSR_W_FP_CTL__INDEX", "U FP_CTL" },     { "CSR_W_FP_NFMT__INDEX", "U FP_NFMT" },
        { "CSR_W_FP_SCL__INDEX", "U FP_SCL" },     { "CSR_S_FP_ICTL__INDEX", "S FP_ICTL" },
        { "CSR_S_FP_INFMT__INDEX", "S FP_INFMT" }, { "CSR_S_FP_ISCL__INDEX", "S FP_ISCL" },
        { "CSR_S_CCCSLOAD__INDEX", "S CCCSLOAD" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const char *name = row[i][1] + 2;
        const struct csr_row *csr = isa_csr_find(row[i][1][0], name, strlen(name));
        struct asm_unit *u;
        char text[200];

        assert_non_null(csr);
        snprintf(text, sizeof(text),
                 "#include \"arch/gc_tile_defines.h\"\n.if %s - 0x%x\n.error \"it is\"\n.endif\n",
                 row[i][0], csr->index | (csr->space == 'U' ? 0x100u : 0));
        assert_int_equal(asm_unit_new(NULL, &u), EMU_OK);
        assert_int_equal(unit_add(u, "t.S", text), EMU_OK);
        asm_unit_free(u);
    }
}

/* mk1 has one set of AMP units, and only ipu21 registers for FP8. */
static void test_names_of_machines(void **state)
{
    static const struct {
        const char *machine, *text;
        int known;
    } row[] = {
        { "mk1", ".int $CWEI_7_3", 1 },
        { "mk1", ".int $CWEI_8_0", 0 },
        { "mk2", ".int $CWEI_15_0", 1 },
        { "mk2", "uput $FP_SCL, $a0", 0 },
        { "c600", "uput $FP_SCL, $a0; uput $FP_NFMT, $a0; put $FP_ISCL, $m0; put $FP_INFMT, $m0",
          1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const struct asm_options o = { .raw = 1, .arch = ss_arch_preset(row[i].machine) };
        struct asm_unit *u;

        assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
        if (unit_add(u, "t.S", row[i].text) != EMU_OK ||
            (asm_unit_link(u, NULL) == EMU_OK) != row[i].known)
            fail_msg("%s: %s", row[i].machine, row[i].text);
        asm_unit_free(u);
    }
}

static void test_ldconst(void **state)
{
    static const char *const pair[][2] = {
        { ".set x, 4\nldconst $m0, x", "setzi $m0, 4" },
        { "ldconst $a1, 1.0h", "setzi $a1, 0x3c00" },
        { "x: nop\ny: ldconst $m0, y - x", "nop\nsetzi $m0, 4" },
    };
    static const char *const row[][2] = {
        { "x: ldconst $m0, x", "1:17: error: 'ldconst' needs a number that is known here\n" },
        { "ldconst $m0, x\nx = 4", "1:14: error: 'ldconst' needs a number that is known here\n" },
        { "ldconst $m0, 1 << 32", "1:14: error: immediate 4294967296 (0x100000000) does not fit "
                                  "imm32 (32 bits)\n" },
        { ".warn_on_invalid_bundles\n{ ldconst $m0, 5; fnop }",
          "2:1: warning: 'ldconst' cannot be in a bundle\n" },
        { "{ ldconst $m0, 5; fnop }", "1:1: error: 'ldconst' cannot be in a bundle\n" },
        { ".warn_on_invalid_bundles\n{ ldconst $m0, 0x12345678; fnop }",
          "2:1: error: 'ldconst' cannot be in a bundle\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* Spellings that say which of two forms is meant, and names of old. */
static void test_aliases(void **state)
{
    static const char *const pair[][2] = {
        { "adds $m0, $m1, 42; addz $m0, $m1, 42", ".insn 0x2210002a; .insn 0x2010002a" },
        { "add $m0, $m1, 42; add $m0, $m1, 40000", "adds $m0, $m1, 42; addz $m0, $m1, 40000" },
        { "cmpeq $m0, $m1, 5; maxs $m0, $m1, -5", "cmpeqs $m0, $m1, 5; max $m0, $m1, -5" },
        { "subs $m0, 5, $m1; mins $m0, $m1, 5", "sub $m0, 5, $m1; min $m0, $m1, 5" },
        { "strap", "put 255, $mzero" },
        { "f16v4sisov2amp $a0:1, $a2:3, $a4:5, 3; f16v4sisov2slic $a0:1, $a2:3, $a4:5, 1",
          "f16v4sisoamp $a0:1, $a2:3, $a4:5, 3; f16v4sisoslic $a0:1, $a2:3, $a4:5, 1" },
        { "get $a1, 2; put 8, $a1", "uget $a1, 2; uput 8, $a1" },
        { "sub $m0, $m1, 32767; sub $m0, $m1, -32767",
          "adds $m0, $m1, -32767; add $m0, $m1, 32767" },
    };
    static const char *const row[][2] = {
        { "adds $m0, $m1, 40000",
          "1:16: error: immediate 40000 (0x9c40) does not fit simm16 (-32768..32767)\n" },
        { "subz $m0, -1, $m1", "1:11: error: immediate -1 (0xffffffffffffffff) does not fit uimm16 "
                               "(0..65535)\n" },
        { "sub $m0, $m1, 32768", "1:15: error: immediate 32768 (0x8000) does not fit an immediate "
                                 "(-32767..32767)\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* ---- permissions ---- */

static void test_modes(void **state)
{
    static const char *const row[][2] = {
        { ".worker\n.allow_invalid_execution_mode\nsync 2\n.error_on_invalid_execution_mode\n"
          "sync 2",
          "5:1: error: 'sync' is for the supervisor only, and this is .worker code\n" },
    };

    (void)state;
    messages(row, EMU_COUNT_OF(row));
}

/* Every fault of a bundle that can be encoded becomes a warning, and the words are as written. */
static void test_warned_bundles(void **state)
{
    static const char *const row[][2] = {
        { ".warn_on_invalid_bundles\n{ exitz $m0; fnop }",
          "2:1: warning: 'exitz' cannot be in a bundle\n" },
        { ".warn_on_invalid_bundles\n{ fnop; nop }",
          "2:1: warning: 'fnop' cannot be the first instruction of a bundle: it belongs to the "
          "auxiliary lane\n" },
        { ".warn_on_invalid_bundles\n.supervisor\n{ nop; mov $m1, $m2 }",
          "3:1: warning: only workers have bundles, and this is .supervisor code\n"
          "3:1: warning: 'mov' cannot be the second instruction of a bundle: it belongs to the "
          "main "
          "lane\n" },
        { ".warn_on_invalid_bundles\n{ nop }",
          "2:1: error: a bundle has exactly two instructions, this one has 1\n" },
        { ".warn_on_invalid_bundles\n{ nop; sendpicp 1, 0x100, 1, 0, 5, 6 }",
          "2:1: error: 'sendpicp' cannot be in a bundle\n" },
        { ".warn_on_invalid_bundles\n.error_on_invalid_bundles\n{ exitz $m0; fnop }",
          "3:1: error: 'exitz' cannot be in a bundle\n" },
    };

    uint8_t first[8], second[4];

    (void)state;
    messages(row, EMU_COUNT_OF(row));
    assert_int_equal(assembled_bytes(".warn_on_invalid_bundles\n{ exitz $m0; fnop }", first, 8), 8);
    assert_int_equal(assembled_bytes("exitz $m0", second, 4), 4);
    second[3] |= 0x80;
    assert_memory_equal(first, second, 4);
}

static void test_invalid_repeats(void **state)
{
    static const char *const row[][2] = {
        { "rpt 3, 0\nnop\n.allow_invalid_repeat", "" }, /* anywhere in the file */
        { "{ rpt 3, 1; fnop }\n{ nop; fnop }", "" },    /* cut by the end of the section */
        { "{ rpt 3, 1; fnop }\n{ nop; fnop }\n.int 5\nnop", "" },
        { "{ rpt 3, 1; fnop }\n{ nop; fnop }\n.align 16\n.align 32\nnop", "" },
        { "rpt 3, 1\n.int 5\nnop", "" },
        { "{ rpt 3, 0; fnop }\n{ nop; fnop }\nnop", "" }, /* after the counted length */
    };

    (void)state;
    messages(row, EMU_COUNT_OF(row));
}

/* ---- .allow_optimizations ---- */

static void test_optimizations(void **state)
{
    static const char *const pair[][2] = {
        { ".allow_optimizations\n{ f32add $a0, $a1, $a2; add $m0, $m1, 2 }",
          "{ add $m0, $m1, 2; f32add $a0, $a1, $a2 }" },
        { ".allow_optimizations\n{ fnop; rpt 3, 0 }\n{ nop; fnop }",
          "{ rpt 3, 0; fnop }\n{ nop; fnop }" },
        /* the fnop goes where that aligns the body, and nowhere else */
        { ".allow_optimizations\nnop\n{ rpt 3, 0; fnop }\n{ nop; fnop }",
          "nop\nrpt 3, 0\n{ nop; fnop }" },
        { ".allow_optimizations\nnop\n{ rpt $m0, (2f - 1f) / 8 - 1; fnop }\n1: { nop; fnop }\n2:",
          "nop\nrpt $m0, 0\n{ nop; fnop }" },
    };
    static const char *const row[][2] = {
        { ".allow_optimizations\nnop\n{ rpt 3, 0; zero $a1 }\n{ nop; fnop }",
          "3:3: error: the body of a repeat must start at a multiple of 8, not at 0x4c00c: put a "
          "nop "
          "before the bundle\n" },
        { ".allow_optimizations\nrpt 3, 0\n{ nop; fnop }",
          "2:1: error: the body of a repeat must start at a multiple of 8, not at 0x4c004: bundle "
          "the rpt with a fnop\n" },
        { ".allow_optimizations\n{ nop; nop }",
          "2:1: error: 'nop' cannot be the second instruction of a bundle: it belongs to the main "
          "lane\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* ---- what compilers write ---- */

static const char compiled[] =
    "\t.text\n\t.allow_optimizations\n\t.file\t\"codelet.cpp\"\n"
    "\t.section\t.text.__runCodelet_V,\"ax\",@progbits\n"
    "\t.globl\t__runCodelet_V         # -- Begin function\n\t.p2align\t2\n"
    "\t.type\t__runCodelet_V,@function\n__runCodelet_V:\n.Lfunc_begin0:\n"
    "\t.cfi_startproc\n\t.loc\t1 12 3 prologue_end\n"
    "\tld32 $m0, $m13, $m15, 0\n\t.cfi_def_cfa_offset 8\n"
    "\t{\n\trpt $m0, 0\n\tfnop\n\t}\n\t{\n\tnop\n\tfnop\n\t}\n\texitz $m15\n"
    ".Lfunc_end0:\n\t.size\t__runCodelet_V, .Lfunc_end0-__runCodelet_V\n\t.cfi_endproc\n"
    "\t.section\t.stack_sizes,\"o\",@progbits,.text.__runCodelet_V\n"
    "\t.long\t.Lfunc_begin0\n\t.byte\t200\n\t.byte\t1\n"
    "\t.section\t.text.__runCodelet_V,\"ax\",@progbits\n"
    "\t.hidden\tv\n\t.type\tv,@object\n\t.section\t.rodata.cst4,\"aM\",@progbits,4\n"
    "\t.p2align\t2\nv:\n\t.long\t5\n"
    "\t.section\t.rodata.str1.1,\"aMS\",@progbits,1\n\t.asciz\t\"ab\"\n"
    "\t.section\t.debug_info,\"\",@progbits\n\t.long .Ldebug_end-.Ldebug_start\n"
    ".Ldebug_start:\n\t.short 5\n\t.uleb128 .Ldebug_end-.Ldebug_start\n\t.long abroad\n"
    ".Ldebug_end:\n\t.section\t.eh_frame,\"a\",@progbits\n\t.long 7\n"
    "\t.file 1 \"/src\" \"codelet.cpp\"\n\t.ident\t\"clang\"\n"
    "\t.section\t\".note.GNU-stack\",\"\",@progbits\n\t.addrsig\n\t.addrsig_sym v\n";

static void test_compiler_output(void **state)
{
    struct asm_unit *u = unit_assemble(compiled);
    const struct asm_image *image = asm_unit_image(u);

    (void)state;
    assembles_alike(compiled, "ld32 $m0, $m13, 0\nrpt $m0, 0\n{ nop; fnop }\nexitz $mzero\n"
                              ".rodata\n.int 5\n.section .rodata.b, \"a\"\n.asciz \"ab\"");
    assert_int_equal(image->section_count, 3);
    assert_int_equal(asm_symbol_find(image, "__runCodelet_V")->size, 20);
    assert_int_equal(asm_symbol_find(image, "__runCodelet_V")->stack_bytes, 200);
    asm_unit_free(u);
}

/* Sizes of frames: records of a place and ULEB128; a record of no place is none, and what
 * .stack_usage says goes first. */
static void test_stack_sizes(void **state)
{
    struct asm_unit *u = unit_assemble(
        ".globl f, g, h, k\nf: nop\n.Lg: g: nop\nh: nop\n.stack_usage k, 4\nk: nop\n"
        ".section .stack_sizes, \"o\", @progbits, .text\n"
        ".long f + 8\n.uleb128 300\n.long .Lg\n.byte 0x80, 2, 1\n.long abroad\n.byte 7\n"
        ".long k\n.byte 8\n.section .debug_x, \"\"\n.long f\n.byte 9");
    const struct asm_image *image = asm_unit_image(u);

    (void)state;
    assert_int_equal(asm_symbol_find(image, "f")->stack_bytes, 0);
    assert_int_equal(asm_symbol_find(image, "g")->stack_bytes, 256);
    assert_int_equal(asm_symbol_find(image, "h")->stack_bytes, 300);
    assert_int_equal(asm_symbol_find(image, "k")->stack_bytes, 4);
    asm_unit_free(u);
}

static void test_sections(void **state)
{
    static const char *const pair[][2] = {
        { "nop\n.pushsection .text.b, \"ax\"\nfnop\n.popsection\nnop",
          "nop\nnop\n.section .text.b, \"ax\"\nfnop" },
        { ".data\n.byte 1\n.text\nnop\n.previous\n.byte 2\n.previous\nnop",
          "nop\nnop\n.data\n.byte 1, 2" },
        { ".data\n.pushsection .rodata\n.byte 3\n.previous\n.byte 1\n.popsection\n.byte 2",
          ".data\n.byte 1, 2\n.rodata\n.byte 3" },
        { ".lcomm x, 6, 4\nnop\n.data\n.int x", "nop\n.bss\nx: .space 6\n.data\n.int x" },
        { ".section .stack_sizes.f, \"\", @progbits\n.dc.l .text.f\n.uleb128 0\n.text\nnop",
          "nop" },
    };
    static const char *const row[][2] = {
        { ".popsection", "1:1: error: this closes nothing: no .pushsection before it\n" },
        { ".section foo, \"axG\", @progbits, foo", "1:21: error: expected @type, group, comdat\n" },
        { ".section .x, \"e\"\n.int 5\n.section foo, \"aR\"\n.previous\n.popsection",
          "5:1: error: this closes nothing: no .pushsection before it\n" },
        { ".previous", "1:1: error: there was no other section before\n" },
        { ".lcomm x, -1", "1:1: error: the size or the alignment is negative\n" },
        { ".section .debug_line, \"\"\nnop",
          "2:1: error: an instruction in section '.debug_line', which is not executable\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* Functions that several files have are kept once. */
static void test_groups(void **state)
{
    static const char once[] =
        ".section .text.f, \"axG\", @progbits, f, comdat\n.weak f\nf: .Lf: nop\nexitz $mzero\n"
        ".size f, . - .Lf\n.section .rodata.f, \"aG\", @progbits, f, comdat\n.int 5\n";
    char second[300];
    struct asm_unit *u = unit_new();
    const struct asm_image *image;
    uint32_t word;

    (void)state;
    snprintf(second, sizeof(second), "%s.text\n.globl main\nmain: call $m10, f\n", once);
    assert_int_equal(unit_add(u, "a.S", once), EMU_OK);
    assert_int_equal(unit_add(u, "b.S", second), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    image = asm_unit_image(u);
    assert_int_equal(image->section_count, 3);
    memcpy(&word, image->section[1].bytes, sizeof(word));
    assert_int_equal((word & 0x7ffff) * 4, asm_symbol_find(image, "f")->value);
    assert_int_equal(asm_symbol_find(image, "f")->value, MK2_BASE);
    asm_unit_free(u);
}

/* The definition wins over common symbols, wherever it stands; of these the largest, with the
 * largest alignment. In one file they must agree. */
static void test_common(void **state)
{
    struct asm_unit *u = unit_new();
    const struct asm_symbol *s;
    unsigned rooms = 0;

    (void)state;
    assert_int_equal(unit_add(u, "a.S", ".comm x, 6, 16\n.comm y, 4\nsetzi $m0, x"), EMU_OK);
    assert_int_equal(unit_add(u, "b.S", ".comm x, 60, 8\n.comm y, 4\nsetzi $m0, x\n.comm x, 60, 4"),
                     EMU_OK);
    assert_int_equal(unit_add(u, "c.S", ".data\n.int 1\n.globl y\ny: .int 2"), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    s = asm_symbol_find(asm_unit_image(u), "x");
    assert_int_equal(s->size, 60);
    assert_int_equal(s->value % 16, 0);
    for (size_t k = 0; k < asm_unit_image(u)->section_count; k++)
        rooms += !strcmp(asm_unit_image(u)->section[k].name, "COMMON");
    assert_int_equal(rooms, 1); /* that of x; y is defined */
    assert_int_equal(s->type, ASM_OBJECT);
    for (int k = 0; k < 2; k++) {
        uint32_t word;

        memcpy(&word, asm_unit_image(u)->section[k].bytes, sizeof(word));
        assert_int_equal(word & 0xfffff, s->value);
    }
    asm_unit_free(u);
    assembler_says(".comm x, -1", "1:1: error: the size or the alignment is negative\n");
    assembler_says(".comm x, 4\n.comm x, 8",
                   "2:1: error: 'x' is already common with another size or alignment\n"
                   "1:1: note: here\n");
    assembler_says(".comm x, 4, 8\n.comm x, 4, 16",
                   "2:1: error: 'x' is already common with another size or alignment\n"
                   "1:1: note: here\n");
    assembler_says(".comm x, 4\nx: nop", "2:1: error: 'x' is already defined\n1:1: note: here\n");
}

static void test_numbers_of_data(void **state)
{
    static const char *const pair[][2] = {
        { ".data\n.uleb128 0, 127, 128, 624485", ".data\n.byte 0, 127, 128, 1, 0xe5, 0x8e, 0x26" },
        { ".data\n.sleb128 0, 63, 64, -1, -64, -65, -123456",
          ".data\n.byte 0, 63, 0xc0, 0, 0x7f, 0x40, 0xbf, 0x7f, 0xc0, 0xbb, 0x78" },
        { ".data\n.uleb128 -1", ".data\n.byte 255, 255, 255, 255, 255, 255, 255, 255, 255, 1" },
        { ".data\n.dc.b 1\n.dc.w 2\n.dc.l 3\n.dc.s 1.5\n.dc.d 1",
          ".data\n.byte 1\n.short 2\n.int 3\n.float 1.5\n.double 1" },
    };
    static const char *const row[][2] = {
        { ".data\n.uleb128 x\n.text\nx:",
          "2:10: error: the value must be a number that is known here\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

/* An address, or a part of it, as the graph tools of the vendor pack it. */
static void test_fields_of_data(void **state)
{
    static const char *const pair[][2] = {
        { "nop\nx: nop\n.data\n.short x@relative@16@s2, x@relative@16@s2 + 4\n.int 0",
          "nop\nnop\n.data\n.short 1, 2\n.int 0" },
        { "nop\nx: nop\n.data\n.long x@abs18@s2, x@abs19@s2 + 8, 2 + x@abs@21",
          "nop\nnop\n.data\n.int 0x13001, 0x13003, 0x4c006" },
        { ".quad x@abs18@s2\n.set x, 0xffffc", ".quad 0x3ffff" },
    };
    static const char *const row[][2] = {
        { ".long x@abs18@s2\n.set x, 0x100000",
          "1:7: error: the address does not fit its field\n" },
        { ".long x@abs18@s2\n.set x, 2", "1:7: error: the address does not fit its field\n" },
        { ".long x@relative@16@s2\n.set x, 0", "1:7: error: the address does not fit its field\n" },
        { ".short x@abs18@s2\nx:", "1:8: error: @abs18@s2 needs 18 bits\n" },
        { ".long x@got\nx:", "1:8: error: unknown field '@got'\n" },
        { "setzi $m0, x@abs@21\nx:", "1:13: error: @abs@21 can only stand in data\n" },
    };

    (void)state;
    same_words(pair, EMU_COUNT_OF(pair));
    messages(row, EMU_COUNT_OF(row));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register_groups),  cmocka_unit_test(test_invalid_operands),
        cmocka_unit_test(test_short_addresses),  cmocka_unit_test(test_address_registers),
        cmocka_unit_test(test_branch_constants), cmocka_unit_test(test_run_symbol),
        cmocka_unit_test(test_dollar_symbols),   cmocka_unit_test(test_csr_numbers),
        cmocka_unit_test(test_csr_definitions),  cmocka_unit_test(test_names_of_machines),
        cmocka_unit_test(test_ldconst),          cmocka_unit_test(test_modes),
        cmocka_unit_test(test_warned_bundles),   cmocka_unit_test(test_invalid_repeats),
        cmocka_unit_test(test_aliases),          cmocka_unit_test(test_optimizations),
        cmocka_unit_test(test_compiler_output),  cmocka_unit_test(test_stack_sizes),
        cmocka_unit_test(test_sections),         cmocka_unit_test(test_groups),
        cmocka_unit_test(test_common),           cmocka_unit_test(test_numbers_of_data),
        cmocka_unit_test(test_fields_of_data),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
