/* test_asm.c - the assembler's language: words, spellings, expressions, macros, and messages with
 * their places. */
#include "tests/fixtures/asm_fixture.h"

/* ---- words ---- */

/* Different spellings of one thing. */
static void test_spellings(void **state)
{
    static const char *const pair[][2] = {
        { "ld64 $a4:5, $m0, $mzero, 1", "ld64  $a4 : 5 ,$m0,$mzero , 1" },
        { "ld64step $a4:5, $mzero, $m6+=, 6",
          "ld64step $a4: 5 , $ mzero , $m6 += , (2 * 3) ; # six" },
        { "add $m0, $m1, -1", "add $m0, $m1, 0 - 1 // minus one" },
        { "sub $m0, $m1, 5", "add $m0, $m1, -5" },
        { "sub $m0, $m1, -5", "add $m0, $m1, 5" },
        { "mov $m1, $lr; mov $m2, $fp; mov $m3, $bp", "mov $m1, $m10; mov $m2, $m9; mov $m3, $m8" },
        { "mov $m1, $mworker_base; mov $m2, $mvertex_base", "mov $m1, $m12; mov $m2, $m13" },
        { "zero $a0:1", "or64 $a0:1, $azeros, $azeros" },
        { "f32v2add $azeros, $a0:B, $a2:3", "f32v2add $a14:15, $a0 :B, $a2:3" },
        { "or $m0, $m1, 0xfff00000", "or $m0, $m1, -0x100000" },
        { "setzi $a0, -1.0h; setzi $a1, 1.5h; setzi $a2, infh; setzi $a3, -infh",
          "setzi $a0, 0xbc00; setzi $a1, 0x3e00; setzi $a2, 0x7c00; setzi $a3, 0xfc00" },
        { "setzi $a0, 1.0e-3h", "setzi $a0, 0x1419" },
        { "get $m0, $WSR", "get $m0, 1" },
        { "put 0x50, $m2; ld32 $m1, $m2, 4", "put $CCCSLOAD, $m2; ld32 $m1, $m2, $mzero, 4" },
        { "put $TAS, $a0; get $a1, $FP_CTL", "uput 8, $a0; uget $a1, 0x102" },
        { "ldconst $m0, 5", "setzi $m0, 5" },
        { "ldconst $m0, 0x12345678", "setzi $m0, 0x45678; or $m0, $m0, 0x12300000" },
        { "ld32 $a0, $m1, $azero, 3", "ld32 $a0, $m1, $mzero, 3" },
        { "/* a\n b */ nop /* c */", "nop" },
        { "nop\r\n\tnop\f", "nop;nop" },
        { "a: b: 1: nop", "nop" },
        { "bri x\nx: nop", "bri 0x13001\nnop" },
        { "bri \"a b\"\n\"a b\": nop", "bri 0x13001\nnop" },
        { "x = 3\nadd $m0, $m0, x", "add $m0, $m0, 3" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(pair); i++)
        assembles_alike(pair[i][0], pair[i][1]);
}

/* ---- expressions and data ---- */

static void test_expressions(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } row[] = {
        { "1 + 2 * 3", 7 },
        { "(1 + 2) * 3", 9 },
        { "1 << 3 + 1", 16 },
        { "7 - 2 - 1", 4 },
        { "-7 / 2", -3 },
        { "-7 % 4", -3 },
        { "1 | 6 & 3", 3 },
        { "1 == 1 && 2 > 3 || 4 != 4", 0 },
        { "3 >= 3", 1 },
        { "1 <> 1", 0 },
        { "~0", -1 },
        { "!5 + 1", 1 },
        { "- - 3", 3 },
        { "0x10 + 0b11 + 010", 27 },
        { "0xffffffffffffffff", -1 },
        { "'a' + '\\n'", 107 },
        { "-8 >> 1", -4 },
        { "1 << 64", 0 },
        { "c - b", 16 },
        { "(c - b) / 8 - 1", 1 },
        { "b", MK2_BASE + 8 },
        { ". - a", 32 },
        { "x", 5 },
        { "later", MK2_BASE + 40 },
        { "(later - a) / 8 - 1", 4 },
        { "half + half", 10 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        char source[400];
        uint8_t bytes[128];
        int64_t v;

        snprintf(source, sizeof(source),
                 ".equ x, 4\n.equ x, x + 1\na: .space 8\nb: .space 16\nc: .space 8\n.quad %s\n"
                 "later:\n.equ x, 77\nhalf = 5\n",
                 row[i].text);
        assert_int_equal(assembled_bytes(source, bytes, sizeof(bytes)), 40);
        memcpy(&v, bytes + 32, 8);
        if (v != row[i].value) {
            print_error("%s: %lld, not %lld\n", row[i].text, (long long)v, (long long)row[i].value);
            fail();
        }
    }
}

/* A symbol has the value of this point of the source, a label may come later. */
static void test_equ_and_labels(void **state)
{
    (void)state;
    assembles_alike(".equ n, 1\n add $m0, $m0, n\n.equ n, 2\n add $m0, $m0, n",
                    "add $m0, $m0, 1\nadd $m0, $m0, 2");
    assembles_alike("add $m0, $m0, n\n.equ n, 1\n.equ n, 9", "add $m0, $m0, 9");
    assembles_alike("1: bri 1b\nbri 1f\n1: bri 1b\n bri 1f\n1:",
                    "bri 0x13000\nbri 0x13002\nbri 0x13002\nbri 0x13004");
    assembles_alike("0: bri 0b\n .int 0b11", "bri 0x13000\n.int 3");
    assembles_alike(
        "nop\n7: nop\n.if ( . - 7b ) & 0x7\n add $m0, $m0, 1\n.else\n add $m0, $m0, 2\n.endif",
        "nop\nnop\nadd $m0, $m0, 1");
    assembles_alike("nop\n.if . & 4\nadd $m0, $m0, 1\n.endif", "nop\nadd $m0, $m0, 1");
    assembles_alike("{ brnz $m0, x; fnop }\nx: nop", "{ brnz $m0, 0x13002; fnop }\nnop");
    assembles_alike("x: nop\n.data\ny: .int y - x",
                    "nop\n.data\n.int 8"); /* data is 8-byte aligned */
}

static void test_data(void **state)
{
    static const struct {
        const char *source, *bytes;
        size_t n;
    } row[] = {
        { ".byte 1, -1, 255", "\1\377\377", 3 },
        { ".half 0x1234, 1.0h\n.short -2", "\x34\x12\x00\x3c\xfe\xff", 6 },
        { ".int 1\n.long 2\n.word 3", "\1\0\0\0\2\0\0\0\3\0\0\0", 12 },
        { ".quad -2", "\xfe\xff\xff\xff\xff\xff\xff\xff", 8 },
        { ".float 1.5, -2e1, .25", "\0\0\xc0\x3f\0\0\xa0\xc1\0\0\x80\x3e", 12 },
        { ".double 1", "\0\0\0\0\0\0\xf0\x3f", 8 },
        { ".ascii \"a#;//b\\n\\x41\\101\\\"\"", "a#;//b\nAA\"", 10 },
        { ".asciz \"ab\", \"c\"", "ab\0c\0", 5 },
        { ".byte 9\n.space 2\n.zero 1\n.skip 1, 7", "\11\0\0\0\7", 5 },
        { ".fill 2, 2, 0x102\n.fill 1", "\2\1\2\1\0", 5 },
        { ".byte 1\n.p2align 2, 5\n.byte 2\n.org 6\n.byte 3", "\1\5\5\5\2\0\3", 7 },
        { ".byte 1\n.align 8, 0, 3\n.byte 2", "\1\2", 2 },
        { ".byte 1\n. = 3\n.byte 2", "\1\0\0\2", 4 },
        { ".set n, 3\n.rept n\n.byte n\n.endr", "\3\3\3", 3 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        char source[200];
        uint8_t got[64];

        snprintf(source, sizeof(source), ".data\n%s\n", row[i].source);
        if (assembled_bytes(source, got, sizeof(got)) != row[i].n ||
            memcmp(got, row[i].bytes, row[i].n))
            fail_msg("%s", row[i].source);
    }
    assembles_alike("nop\n.align 16\nnop",
                    "nop\nnop\nnop\nnop\nnop"); /* code falls through padding */
}

/* ---- conditionals, macros, repeats ---- */

static void test_conditionals(void **state)
{
    static const struct {
        const char *condition;
        int taken;
    } row[] = {
        { ".if 1", 1 },
        { ".if 0", 0 },
        { ".ifeq 0", 1 },
        { ".ifne 0", 0 },
        { ".ifgt 0", 0 },
        { ".ifge 0", 1 },
        { ".iflt -1", 1 },
        { ".ifle 1", 0 },
        { ".ifdef known", 1 },
        { ".ifdef unknown", 0 },
        { ".ifndef unknown", 1 },
        { ".ifb", 1 },
        { ".ifb  x", 0 },
        { ".ifnb x", 1 },
        { ".ifc a, a", 1 },
        { ".ifc  a ,\ta ", 1 },
        { ".ifc \"a b\", a b", 1 },
        { ".ifc a, b", 0 },
        { ".ifnc a, b", 1 },
        { ".ifc \"\", \"\"", 1 },
        { ".ifc a, a // same", 1 },
        { ".ifc \"a,b\", \"a,b\"", 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        char source[300];

        snprintf(
            source, sizeof(source),
            "known = 1\n%s\n.int 1\n.if 1\n.int 2\n.else\n.int 3\n.endif\n.else\n.int 4\n.endif\n",
            row[i].condition);
        assembles_alike(source, row[i].taken ? ".int 1\n.int 2" : ".int 4");
    }
    assembles_alike(".if 0\n.int 1\n.elseif 1\n.int 2\n.elseif 1\n.int 3\n.else\n.int 4\n.endif",
                    ".int 2");
    assembles_alike(".if 1\n.int 1\n.elseif nonsense (\n.int 2\n.endif", ".int 1");
    assembles_alike(".if 0\n.if nonsense (\n.else\n.endif\n \"}{ \n.endif\n.int 5", ".int 5");
}

static void test_macros(void **state)
{
    static const char *const pair[][2] = {
        { ".macro m a b\n.int \\a\n.int \\b\n.endm\nm 1, 2\nm 3 4\nm 5 (6 + 1)",
          ".int 1\n.int 2\n.int 3\n.int 4\n.int 5\n.int 7" },
        { ".macro m, a, b=7, c=\"8\"\n.int \\a, \\b, \\c\n.endm\nm 1\nm 1,,2\nm 1, c=3",
          ".int 1, 7, 8\n.int 1, 7, 2\n.int 1, 7, 3" },
        { ".macro m a:req b:vararg\n.int \\a\n.int \\b\n.endm\nm 1, 2, 3", ".int 1\n.int 2, 3" },
        { ".macro m a\n.int \\a\n.endm\nm 1 + 2\nm a = 4", ".int 3\n.int 4" },
        { ".macro m a b\n.int \\a, \\b\n.endm\nm (5 + 2) % 4, 1", ".int 3, 1" },
        { ".macro m i\n\\i\n.endm\nm \"add $m0, $m1, 2\"", "add $m0, $m1, 2" },
        { ".macro m p q\nf32v4\\p\\()acc \\q\n.endm\nm sq $a0:3", "f32v4sqacc $a0:3" },
        { ".macro m r\nmov $\\r, $m1\n.endm\nm m4", "mov $m4, $m1" },
        { ".macro m\nx\\@: bri x\\@\n.endm\nm\nm", "bri 0x13000\nbri 0x13001" },
        { ".macro in a\n.int \\a\n.endm\n.macro out a\nin \\a\nin (\\a + 1)\n.endm\nout 4",
          ".int 4\n.int 5" },
        { ".macro def n v\n.macro \\n\n.int \\v\n.endm\n.endm\ndef one 1\none", ".int 1" },
        { ".macro m a\n.if \\a\n.int 1\n.exitm\n.endif\n.int 2\n.endm\nm 1\nm 0",
          ".int 1\n.int 2" },
        { ".macro m\n.int 1\n.endm\nm\n.purgem m\n.macro m\n.int 2\n.endm\nm", ".int 1\n.int 2" },
        { ".macro m x\n.ifc \\x, half\n.int 1\n.else\n.int 2\n.endif\n.endm\nm half\nm float",
          ".int 1\n.int 2" },
        { ".macro b a\n{ \\a; f32add $a0, $a1, $a2 }\n.endm\nb nop",
          "{ nop\n f32add $a0, $a1, $a2\n}" },
        { "{ m\n.macro m\nnop; fnop\n.endm\n", "nop" },
        { ".macro m xy x\n.int \\xy\\()\\x\n.endm\nm 1 2", ".int 12" },
        { ".macro m a\n.asciz \"\\a\"\n.endm\nm \"x y\"", ".asciz \"x y\"" },
        { ".macro m a; .int \\a; .endm; m 3", ".int 3" },
        { ".rept 3\n.int 1\n.endr", ".int 1, 1, 1" },
        { ".rept 2\n.rept 2\n.int 1\n.endr\n.endr\n.rept 0\n.int 9\n.endr", ".int 1, 1, 1, 1" },
        { ".irp v, 1, (2 + 3) 4\n.int \\v\n.endr", ".int 1, 5, 4" },
        { ".irpc v, 123\n.int \\v\n.endr", ".int 1, 2, 3" },
        { ".macro m a\n.irp v, 1, 2\n.int \\v + \\a\n.endr\n.endm\nm 10", ".int 11, 12" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(pair); i++) {
        if (strncmp(pair[i][0], "{ m", 3))
            assembles_alike(pair[i][0], pair[i][1]);
    }
    assembles_alike(".macro m\nnop; fnop\n.endm\n{ m }", "{ nop; fnop }");
    assembles_alike(".macro m a\n\\a; fnop\n.endm\n{ m nop }; nop", "{ nop; fnop }\nnop");
}

/* ---- messages ---- */

static void test_operand_messages(void **state)
{
    static const char *const row[][2] = {
        { "add $m0, $m1", "1:1: error: 'add' takes 3 operands, found 2\n" },
        { "  brz $m0", "1:3: error: 'brz' takes 2 operands, found 1\n" },
        { "abs $m0, $a3", "1:10: error: expected $mN, found $a3\n" },
        { "and $m0, $m1, 5000",
          "1:15: error: immediate 5000 (0x1388) does not fit uimm12 (0..4095)\n" },
        { "add $m0, $m1, -40000", "1:15: error: immediate -40000 (0xffffffffffff63c0) does not fit "
                                  "simm16 (-32768..32767) or "
                                  "uimm16 (0..65535)\n" },
        { "ld32step $m0, $m1, $m2, 1", "1:20: error: expected $mN+=, found $m2\n" },
        { "ld32step $m0, $m1, $m2+=, 128",
          "1:27: error: immediate 128 does not fit simm8 (-128..127)\n" },
        { "or64 $a0:1, $a1:2, $a2:3", "1:13: error: expected $aN:N+1 (N even), found $a1:2\n" },
        { "f32v2add $a0:1, $a2, $a2:3",
          "1:17: error: expected $aN:N+1 (N even) or $aN:B, found $a2\n" },
        { "ad $m0, $m1, 1",
          "1:1: error: no instruction or macro is called 'ad'; did you mean 'add'?\n" },
        { "f32v2sbu $a0:1, $a0:1, $a2:3",
          "1:1: error: no instruction or macro is called 'f32v2sbu'; did you mean 'f32v2sub'?\n" },
        { "movz $m0, $m1, $m2",
          "1:1: error: 'movz' is no instruction: put the other value into the destination first "
          "and use 'movnz', which moves if its condition is not 0\n" },
        { "xyzzy", "1:1: error: no instruction or macro is called 'xyzzy'\n" },
        { "mov $m0, $m16", "1:10: error: expected $mN or $aN, found $m16\n" },
        { "mov $m0, $a1:9", "1:10: error: expected $mN or $aN, found $a1:9\n" },
        { "mov $m0, $m1:0", "1:14: error: bad register range ':0'\n" },
        { "get $m0, $FOO", "1:10: error: undefined symbol '$FOO' (1 use)\n" },
        { "bri -4", "1:5: error: immediate -4 (0xfffffffffffffffc) does not fit a label, or its "
                    "word number (0..524287)\n" },
        { "x = y + 2\nbri x\ny:",
          "2:5: error: immediate 311302 (0x4c006) does not fit an address (multiple of 4 below "
          "0x200000)\n" },
        { "setzi $m0, $", "1:12: error: expected a name after '$'\n" },
        { "setzi $m0, 1 +", "1:15: error: expected an expression\n" },
        { "setzi $m0, (1", "1:14: error: expected ')'\n" },
        { "setzi $m0, 1 2", "1:14: error: expected the end of the statement, found '2'\n" },
        { "setzi $m0, $m1 + 1", "1:16: error: expected the end of the statement, found '+'\n" },
        { "setzi $m0, 1 + $m1", "1:16: error: a register cannot be part of an expression\n" },
        { "setzi $m0, 12abc", "1:12: error: bad number '12abc'\n" },
        { "setzi $m0, 09", "1:12: error: bad number '09'\n" },
        { "setzi $m0, 1/0", "1:13: error: division by zero\n" },
        { "setzi $m0, 70000.0h", "1:12: error: 70000.0h is larger than an f16 can be\n" },
        { "setzi $m0, 1.5", "1:12: error: bad number '1.5'\n" },
        { "bri 1b", "1:5: error: no label '1:' before this\n" },
        { "bri 1f", "1:5: error: no label '1:' after this\n" },
        { "nop\nsetzi $m0, x\nx = 1 << 20",
          "2:12: error: immediate 1048576 (0x100000) does not fit uimm20 (0..1048575)\n" },
        { ".insn 0x80000000", "1:1: error: 0x80000000 is no instruction of one word\n" },
        { "setzi $m0, 1, 2, 3, 4, 5, 6", "1:26: error: more than 6 operands\n" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++)
        assembler_says(row[i][0], row[i][1]);
}

static void test_statement_messages(void **state)
{
    static const char *const row[][2] = {
        { ".aling 8", "1:1: error: unknown directive '.aling'; did you mean '.align'?\n" },
        { ".frobnicate 8", "1:1: error: unknown directive '.frobnicate'\n" },
        { "x: nop\nx: nop", "2:1: error: 'x' is already defined\n1:1: note: here\n" },
        { "x: nop\n.equ x, 1", "2:1: error: 'x' is already defined\n1:1: note: here\n" },
        { ".if 1\nnop", "1:1: error: no .endif for this\n" },
        { ".else", "1:1: error: .else without .if\n" },
        { ".if 1\n.else\n.else\n.endif", "3:1: error: .else after .else\n" },
        { "x: nop\n.data\n.if . - x\n.endif",
          "3:5: error: the condition must be a number that is known here\n" },
        { ".macro m\n.else\n.endm\n.if 1\nm\n.endif",
          "2:1: error: .else without .if\n5:1: note: in expansion of macro 'm'\n" },
        { ".if x\n.endif", "1:5: error: undefined symbol 'x'\n" },
        { ".if 1 + x\n.endif\nx = 1",
          "1:5: error: the condition must be known here, and 'x' is defined only further down\n" },
        { "rounds = 3\n.rept ruonds\n.endr\n.if SYNC_RECV\n.endif",
          "2:7: error: undefined symbol 'ruonds'; did you mean 'rounds'?\n"
          "4:5: error: undefined symbol 'SYNC_RECV'; #include <superstep/bsp.h> defines it\n" },
        { "there: bri thre\nbri SYNC_REC\nbri nowhere_near",
          "1:12: error: undefined symbol 'thre' (1 use); did you mean 'there'?\n"
          "2:5: error: undefined symbol 'SYNC_REC' (1 use); did you mean 'SYNC_RECV'?\n"
          "3:5: error: undefined symbol 'nowhere_near' (1 use)\n" },
        { ".macro m\nnop", "1:1: error: no .endm for this\n" },
        { ".endm", "1:1: error: this closes nothing: no .macro before it\n" },
        { ".rept 2\nnop", "1:1: error: no .endr for this\n" },
        { ".error \"not this\"", "1:1: error: not this\n" },
        { ".warning \"careful\"", "1:1: warning: careful\n" },
        { "/* open", "1:1: error: unterminated comment\n" },
        { ".ascii \"open", "1:8: error: unterminated string\n" },
        { ".byte 300", "1:7: error: 300 does not fit in 1 bytes\n" },
        { ".byte x\nx = 300", "1:7: error: 300 does not fit in 1 bytes\n" },
        { ".align 3", "1:1: error: the alignment must be a power of two up to 65536\n" },
        { ".section foo", "1:1: error: section 'foo' needs flags, such as \"ax\"\n" },
        { ".section foo, \"aq\"",
          "1:15: error: unknown section flag 'q' (known: a, w, x, G, M, S, o, e, R)\n" },
        { ".data\nnop",
          "2:1: error: an instruction in section '.data', which is not executable\n" },
        { ".byte 1\nnop",
          "2:1: error: an instruction at offset 1, which is not a multiple of 4\n" },
        { "!", "1:1: error: expected a statement, found '!'\n" },
        { "12 nop", "1:4: error: expected ':' after a number, found 'nop'\n" },
        { "\\x", "1:1: error: a macro parameter that does not exist, or is used outside\n" },
        { ".macro m a\n.endm\nm 1, 2", "3:6: error: macro 'm' takes 1 argument; too many: '2'\n" },
        { ".macro m a:req\n.endm\nm", "3:1: error: macro 'm' needs its argument 'a'\n" },
        { ".macro m\nfoo\n.endm\n.macro n\n m\n.endm\nnop; n",
          "2:1: error: no instruction or macro is called 'foo'\n"
          "5:2: note: in expansion of macro 'm'\n7:6: note: in expansion of macro 'n'\n" },
        { ".rept 1\n foo\n.endr", "2:2: error: no instruction or macro is called 'foo'\n1:1: note: "
                                  "in expansion of '.rept'\n" },
        { "bri nowhere\nbri nowhere", "1:5: error: undefined symbol 'nowhere' (2 uses)\n" },
        { "a = b\nb = a\nbri a", "3:5: error: a symbol is defined by itself\n" },
        { ".size x, nowhere - x\nx: nop", "" },
        { ".extern x\n.globl y\nnop", "" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++)
        assembler_says(row[i][0], row[i][1]);
}

static void test_bundle_messages(void **state)
{
    static const char *const row[][2] = {
        { "{ nop }", "1:1: error: a bundle has exactly two instructions, this one has 1\n" },
        { "{ }", "1:1: error: a bundle has exactly two instructions, this one has 0\n" },
        { "{ nop; fnop; fnop }",
          "1:1: error: a bundle has exactly two instructions, this one has 3\n" },
        { "{ fnop; nop }",
          "1:1: error: 'fnop' cannot be the first instruction of a bundle: it belongs to the "
          "auxiliary lane\n" },
        { "{ nop; nop }",
          "1:1: error: 'nop' cannot be the second instruction of a bundle: it belongs to the main "
          "lane\n" },
        { "{ exitz $m0; fnop }", "1:1: error: 'exitz' cannot be in a bundle\n" },
        { "{ ld32 $a0, $m0, 0; f32add $a0, $a1, $a2 }",
          "1:1: error: two results of this bundle go to $a0\n" },
        { "{ ld64 $a0:1, $m0, 0; f32add $a1, $a1, $a2 }",
          "1:1: error: two results of this bundle go to $a1\n" },
        { "{ ld64 $azeros, $m0, 0; f32v2add $azeros, $a0:1, $a2:3 }",
          "1:1: error: two results of this bundle go to $a14\n" },
        { "{ ld32 $a15, $m0, 0; setzi $a15, 1 }",
          "1:1: error: two results of this bundle go to $a15\n" },
        { "{ ld64a32 $a0:3, $m0++, $m1, $m2; setzi $a0, 1 }",
          "1:1: error: two results of this bundle go to $a0\n" },
        { "ld32step $m2, $m0, $m2+=, 1", "1:1: error: 'ld32step' writes $m2 twice\n" },
        { "ld2x64pace $a0:1, $a0:1, $m0:1+=, $m4, 0",
          "1:1: error: 'ld2x64pace' writes $a0 twice\n" },
        { "ld2x64pace $azeros, $azeros, $m0:1+=, $m4, 0", "" },
        { "{ nop; fnop", "1:1: error: no '}' for this\n" },
        { "}", "1:1: error: '}' without '{'\n" },
        { "{ { nop", "1:3: error: a bundle in a bundle\n1:1: error: no '}' for this\n" },
        { "{ nop\nx: fnop }",
          "2:1: error: a label cannot stand between the instructions of a bundle\n" },
        { "{ nop\n.align 8\nfnop }", "2:1: error: .align cannot stand in a bundle\n" },
        { "nop\n{ x: nop; fnop }\nbri x", "" },
        { ".warn_on_invalid_bundles\n{ ld32 $a0, $m0, 0; f32add $a0, $a1, $a2 }",
          "2:1: warning: two results of this bundle go to $a0\n" },
        { ".supervisor\n{ nop; fnop }",
          "2:8: error: 'fnop' is for workers only, and this is .supervisor code\n" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row) - 1; i++)
        assembler_says(row[i][0], row[i][1]);
    assembler_says(row[EMU_COUNT_OF(row) - 1][0], row[EMU_COUNT_OF(row) - 1][1]);
}

static void test_modes(void **state)
{
    static const char *const row[][2] = {
        { ".worker\nrunall $m0, $m1, 0",
          "2:1: error: 'runall' is for the supervisor only, and this is .worker code\n" },
        { ".supervisor\nf32add $a0, $a1, $a2",
          "2:1: error: 'f32add' is for workers only, and this is .supervisor code\n" },
        { ".worker\nget $m0, $SSR",
          "2:10: error: $SSR is a CSR of the supervisor, which is not meant here\n" },
        { ".supervisor\nget $m0, $WSR",
          "2:10: error: $WSR is a CSR of the lower space of workers, which is not meant here\n" },
        { ".worker\nget $m0, $TAS",
          "2:10: error: $TAS is a CSR of the upper space of workers (uget and uput), which is not "
          "meant here\n" },
        { ".worker\nnop\n.section .text.b, \"ax\"\nsync 2",
          "4:1: error: 'sync' is for the supervisor only, and this is .worker code\n" },
        { ".worker\nexitz $m0\n.supervisor\nsync 2", "" },
        { "runall $m0, $m1, 0\nf32add $a0, $a1, $a2\nget $m0, $SSR\nget $m1, $WSR", "" },
        { ".allow_invalid_execution_mode\n.worker\nrunall $m0, $m1, 0\nget $m0, $SSR", "" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++)
        assembler_says(row[i][0], row[i][1]);
}

static void test_repeats(void **state)
{
    static const char *const row[][2] = {
        { ".align 8\n nop\n rpt $m0, (2f - 1f) / 8 - 1\n1: { nop; fnop }\n { nop; fnop }\n2:", "" },
        { " rpt $m0, 0\n{ nop; fnop }",
          "1:2: error: the body of a repeat must start at a multiple of 8, not at 0x4c004: bundle "
          "the rpt with a fnop\n" },
        { "nop\n{ rpt 3, 0; fnop }\n{ nop; fnop }",
          "2:3: error: the body of a repeat must start at a multiple of 8, not at 0x4c00c: put a "
          "nop before the bundle\n" },
        { "{ rpt 3, 0; fnop }\nnop\nnop",
          "2: error: only bundles can be repeated\n1:3: note: in the body of this repeat\n" },
        { "{ rpt 3, 1; fnop }\n{ nop; fnop }\n{ get $m0, 1; fnop }",
          "3: error: control and system instructions cannot be repeated\n"
          "1:3: note: in the body of this repeat\n" },
        { "{ rpt $m0, 1; fnop }\n{ nop; fnop }\nnop",
          "3: error: only bundles can be repeated\n1:3: note: in the body of this repeat\n" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++)
        assembler_says(row[i][0], row[i][1]);
}

/* One error does not make others, and several are found in one run. */
static void test_recovery(void **state)
{
    struct asm_unit *u = unit_new();

    (void)state;
    assembler_says(
        "foo $m0\n1: nop\n{ bar; fnop }\n.if (\n.int 1, \n.else\n.endif\n bri 1b\n setzi $m0, 9z",
        "1:1: error: no instruction or macro is called 'foo'\n"
        "3:3: error: no instruction or macro is called 'bar'; did you mean 'br'?\n"
        "4:6: error: expected an expression\n"
        "9:13: error: bad number '9z'\n");
    for (int i = 0; i < 100; i++)
        assert_int_equal(unit_add(u, "t.S", "foo\n"), EMU_BAD_ASM);
    assert_int_equal(asm_diag_count(u), 51);
    assert_string_equal(asm_diag_at(u, 50)->text, "too many errors, giving up");
    asm_unit_free(u);
}

/* Inputs that would run for ever or use up the stack or the memory. */
static void test_limits(void **state)
{
    static const char *const row[][2] = {
        { ".macro m\nm\n.endm\nm", "nested more than 100 deep" },
        { ".macro m a\nm \\a\\a\n.endm\nm xxxxxxxx", "produce more than" },
        { ".rept 1 << 40\n.endr", "produce more than" },
        { ".rept -1\n.endr", "the count is negative" },
        { ".space 1 << 40", "larger than the memory of a tile" },
        { ".fill 1 << 61, 8", "larger than the memory of a tile" },
        { ".rept 100000\n.space 100\n.endr", "larger than the memory of a tile" },
        { "x = y + 1\n.rept 1000\nx = x + x\n.endr", "expression too large" },
        { ".align 1 << 40", "the alignment must be" },
        { ".org 1 << 62", "larger than the memory of a tile" },
    };
    char *deep = malloc(200001);

    (void)state;
    assert_non_null(deep);
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct asm_unit *u = unit_new();

        assert_int_equal(unit_add(u, "t.S", row[i][0]), EMU_BAD_ASM);
        if (!strstr(asm_diag_at(u, 0)->text, row[i][1]))
            fail_msg("%s: %s", row[i][0], asm_diag_at(u, 0)->text);
        asm_unit_free(u);
    }
    for (int k = 0; k < 4; k++) {
        struct asm_unit *u = unit_new();

        memset(deep, "(-~!"[k], 200000);
        memcpy(deep, ".if ", 4);
        deep[200000] = 0;
        assert_int_equal(unit_add(u, "t.S", deep), EMU_BAD_ASM);
        asm_unit_free(u);
    }
    free(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_equ_and_labels),   cmocka_unit_test(test_data),
        cmocka_unit_test(test_conditionals),     cmocka_unit_test(test_macros),
        cmocka_unit_test(test_operand_messages), cmocka_unit_test(test_statement_messages),
        cmocka_unit_test(test_bundle_messages),  cmocka_unit_test(test_modes),
        cmocka_unit_test(test_repeats),          cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
