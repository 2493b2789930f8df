/* test_case_read.c - case files: what is read, how numbers become bits, and that every mistake is
 * named with its place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest.h"
#include "emu/tile/tile.h"

static const struct manifest_options defaults;
static const char head[] = "\"asm\": \"x\", \"entry\": \"e\", \"as\": \"worker\"";

static struct manifest *read_ok(const char *body)
{
    char text[2000];
    struct manifest *m;
    enum emu_status s;

    snprintf(text, sizeof(text), "{%s, %s}", head, body);
    s = ss_manifest_read_text(text, strlen(text), "t.json", &defaults, &m);
    if (s != EMU_OK)
        fail_msg("%s: %s", body, ss_error());
    return m;
}

static void everything_is_read(void **state)
{
    static const char text[] =
        "{\"source\": [\"a.S\", \"b.S\"], \"include\": \"inc\", \"defines\": {\"A\": 3, \"B\": \"x "
        "y\"},"
        " \"machine\": \"toy4\", \"set\": {\"tiles\": 2}, \"needs_tiles\": [1, 2], \"entry\": "
        "\"e\", \"as\": \"workers\", \"max_cycles\": 77,"
        " \"memory\": [{\"name\": \"x\", \"region\": 0, \"align\": 16, \"f16\": [1, -2.5]},"
        "              {\"name\": \"y\", \"at\": \"0x80000\", \"bytes\": 12}],"
        " \"state\": [1, -1, \"x+8\", {\"u16\": [3, 4]}, {\"f32\": 0.5}],"
        " \"registers\": {\"m2\": 5, \"w3.a0\": \"0x3f800000\", \"acc7\": {\"f32\": 1}},"
        " \"csr\": {\"FP_CTL\": 7, \"w1.TAS\": 1, \"CCCSLOAD\": \"y-4\"},"
        " \"weights\": {\"f16\": [1, 2, 3, 4]},"
        " \"expect\": [{\"name\": \"x\", \"from\": 1, \"f16\": [2], \"tolerance\": 0.5},"
        "              {\"register\": \"a2\", \"f32\": [1, 2], \"relative\": 0.1}],"
        " \"expect_registers\": {\"w5.m0\": -1}, \"expect_csr\": {\"FP_STS\": 0, \"SSR\": 1},"
        " \"expect_cycles\": [10, 20], \"expect_slots\": 9, \"expect_instructions\": 12,"
        " \"expect_fault\": \"CONFLICT\", \"stack_bytes\": 64, \"scratch_bytes\": 8, \"note\": "
        "\"n\"}";
    const struct tile_case *c;
    struct manifest *m;

    (void)state;
    assert_int_equal(ss_manifest_read_text(text, sizeof(text) - 1, "t.json", &defaults, &m),
                     EMU_OK);
    c = m->tile_case;
    assert_int_equal(m->programs, 1);
    assert_int_equal(m->includes, 2);
    assert_string_equal(m->include[1], "inc");
    assert_string_equal(m->arch.base, "toy4");
    assert_int_equal(m->arch.tiles, 2);
    assert_int_equal(m->program->sources, 2);
    assert_string_equal(m->program->source[1], "b.S");
    assert_int_equal(m->program->defines, 2);
    assert_string_equal(m->program->define[0], "A=3");
    assert_string_equal(m->program->define[1], "B=x y");
    assert_int_equal(c->as, CASE_WORKERS);
    assert_int_equal(m->program->memories, 2);
    assert_int_equal(m->program->memory[0].place.region, 0);
    assert_int_equal(m->program->memory[0].init.data.bytes, 4);
    assert_memory_equal(m->program->memory[0].init.data.data, "\x00\x3c\x00\xc1", 4);
    assert_true(m->program->memory[1].place.is_fixed &&
                m->program->memory[1].place.address == 0x80000);
    assert_null(m->program->memory[1].init.data.data);
    /* 1, -1, x+8, {3, 4}, 0.5 */
    assert_int_equal(c->state.init.data.bytes, 20);
    assert_memory_equal(c->state.init.data.data,
                        "\x01\0\0\0\xff\xff\xff\xff\x08\0\0\0\x03\0\x04\0\0\0\0\x3f", 20);
    assert_int_equal(c->state.init.data.reloc_count, 1);
    assert_int_equal(c->state.init.data.reloc[0].offset, 8);
    assert_int_equal(c->set_count, 6);
    assert_int_equal(c->set[0].lane, CASE_LANE_RUNNING);
    assert_int_equal(c->set[1].lane, 3);
    assert_int_equal(c->set[3].file, 'S'); /* FP_CTL of all comes from FP_ICTL */
    assert_int_equal(c->set[5].value.data.reloc_count, 1);
    assert_int_equal(c->weights.bytes, 8);
    assert_int_equal(m->expects, 1);
    assert_int_equal(c->expect_register_count, 4);
    assert_int_equal(c->expect_register[0].value.data.bytes, 8);
    assert_true(m->expect_cycles.low == 10 && m->expect_cycles.high == 20);
    assert_true(c->expect_slots[5].is_set && c->expect_slots[5].low == 9);
    assert_true(m->expect_fault.is_set);
    assert_string_equal(m->expect_fault.name, "CONFLICT");
    assert_int_equal(m->max_cycles, 77);
    ss_manifest_free(m);
    assert_int_equal(alloc_live(), 0);
}

/* Bits of the elements of one memory. */
static void check_bits(const char *type, const char *json, const uint32_t *want, size_t n)
{
    char body[400];
    struct manifest *m;

    snprintf(body, sizeof(body), "\"memory\": [{\"name\": \"x\", \"%s\": %s}]", type, json);
    m = read_ok(body);
    assert_int_equal(m->program->memory[0].init.data.count, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(case_element_bits(&m->program->memory[0].init.data, (uint32_t)i), want[i]);
    ss_manifest_free(m);
}

static void numbers_become_bits(void **state)
{
    static const uint32_t f16[] = { 0x3c00, 0x8000, 0x7bff, 0x0001, 0x7e00,
                                    0x7c00, 0xfc00, 0x7d01, 0x3c00, 0x3c02 };
    static const uint32_t f32[] = { 0x3f800000, 0x80000000, 0x3dcccccd, 0x7fc00000,
                                    0xff800000, 0x00000001, 0x7f7fffff };
    static const uint32_t u32[] = { 0, 0xffffffff, 0xdeadbeef };
    static const uint32_t i8[] = { 0x80, 0x7f, 0xff };

    (void)state;
    /* 1.00048828125 is a tie: to even, both ways */
    check_bits("f16",
               "[1, -0.0, 65519, 4e-8, \"nan\", \"inf\", \"-inf\", \"0x7d01\", 1.00048828125, "
               "1.00146484375]",
               f16, 10);
    check_bits("f32", "[1, -0.0, 0.1, \"nan\", \"-inf\", 1e-45, 3.4028235e38]", f32, 7);
    check_bits("u32", "[0, 4294967295, \"0xDEADBEEF\"]", u32, 3);
    check_bits("i8", "[-128, 127, \"0xff\"]", i8, 3);
    assert_int_equal(alloc_live(), 0);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *body, *want;
    } bad[] = {
        { "\"expect_cylces\": 3", "t.json: expect_cylces: expected another key" },
        { "\"memory\": [{\"name\": \"x\", \"u8\": [1]}, {\"name\": \"y\", \"align\": 3, \"u8\": "
          "[1]}]",
          "t.json: memory[1].align: expected a power of two, got 3" },
        { "\"memory\": [{\"u8\": [1]}]", "memory[0].name: expected a string" },
        { "\"memory\": [{\"name\": \"x\"}]", "memory[0]: expected an array such as" },
        { "\"memory\": [{\"name\": \"x\", \"u8\": [1], \"f16\": [1]}]",
          "memory[0]: expected one array" },
        { "\"memory\": [{\"name\": \"x\", \"u8\": [1]}, {\"name\": \"x\", \"u8\": [1]}]",
          "memory[1].name: expected a name not used before, got \"x\"" },
        { "\"memory\": [{\"name\": \"9x\", \"u8\": [1]}]", "memory[0].name: expected letters" },
        { "\"memory\": [{\"name\": \"x\", \"region\": 2, \"u8\": [1]}]",
          "memory[0].region: expected an integer from 0 to 1, got 2" },
        { "\"memory\": [{\"name\": \"x\", \"region\": 1, \"at\": 4, \"u8\": [1]}]",
          "memory[0].at: expected \"at\" or \"region\"" },
        { "\"memory\": [{\"name\": \"x\", \"at\": 4, \"align\": 8, \"u8\": [1]}]",
          "memory[0].at: expected a multiple of the alignment" },
        { "\"memory\": [{\"name\": \"x\", \"u8\": [1, 256]}]",
          "memory[0].u8[1]: expected a u8: 0 to 255, got 256" },
        { "\"memory\": [{\"name\": \"x\", \"i16\": [-32769]}]",
          "memory[0].i16[0]: expected a i16" },
        { "\"memory\": [{\"name\": \"x\", \"u32\": [1.5]}]",
          "memory[0].u32[0]: expected an integer, got 1.5" },
        { "\"memory\": [{\"name\": \"x\", \"f16\": [65520]}]",
          "memory[0].f16[0]: expected a value in the range of f16" },
        { "\"memory\": [{\"name\": \"x\", \"f32\": [1e39]}]",
          "memory[0].f32[0]: expected a value in the range of f32" },
        { "\"memory\": [{\"name\": \"x\", \"f16\": [\"0x10000\"]}]",
          "memory[0].f16[0]: expected a number or a string" },
        { "\"memory\": [{\"name\": \"x\", \"u16\": [\"x\"]}]",
          "memory[0].u16[0]: expected a number or a string" },
        { "\"memory\": [{\"name\": \"x\", \"u32\": [\"x+\"]}]",
          "memory[0].u32[0]: expected a number or a string" },
        { "\"memory\": [{\"name\": \"x\", \"bytes\": -1}]",
          "memory[0].bytes: expected a number of bytes, got -1" },
        { "\"memory\": 3", "memory: expected a list" },
        { "\"state\": [[1]]", "state[0]: expected a word" },
        { "\"state\": [4294967296]", "state[0]: expected a u32" },
        { "\"state\": [{\"u16\": [1], \"u8\": [1]}]",
          "state[0]: expected an object with one typed array" },
        { "\"registers\": {\"m12\": 1}", "registers.m12: expected a register that can be written" },
        { "\"registers\": {\"w6.m1\": 1}", "registers.w6.m1: expected a worker w0 to w5" },
        { "\"registers\": {\"s.a1\": 1}", "registers.s.a1: expected a worker: the supervisor" },
        { "\"registers\": {\"s.\": 1}", "registers.s.: expected a register that can be written" },
        { "\"registers\": {\"\": 1}", "registers.: expected a register that can be written" },
        { "\"registers\": {\"m1\": [1]}", "registers.m1: expected one number" },
        { "\"registers\": {\"m1\": {\"u16\": 1}}",
          "registers.m1.u16: expected whole 32-bit words" },
        { "\"registers\": [1]", "registers: expected an object" },
        { "\"csr\": {\"FP_STS\": 1}", "csr.FP_STS: expected a CSR that can be written" },
        { "\"csr\": {\"w1.FP_CTL\": 1}", "csr.w1.FP_CTL: expected FP_CTL without a worker" },
        { "\"csr\": {\"NOPE\": 1}", "csr.NOPE: expected a CSR" },
        { "\"expect\": [{\"name\": \"x\", \"u8\": [1]}]",
          "expect[0].name: expected the name of a memory, got \"x\"" },
        { "\"memory\": [{\"name\": \"x\", \"u8\": [1]}], \"expect\": [{\"name\": \"x\", \"u8\": "
          "[1, 2]}]",
          "expect[0]: expected at most the 1 bytes of \"x\"" },
        { "\"expect\": [{\"register\": \"a15\", \"f32\": [1, 2]}]",
          "expect[0]: expected whole registers" },
        { "\"expect_registers\": {\"m16\": 1}",
          "expect_registers.m16: expected a register that can be read" },
        { "\"expect_cycles\": [1, 2, 3]",
          "expect_cycles: expected one number, or a lowest and a highest" },
        { "\"expect_cycles\": [2, 1]", "expect_cycles: expected an integer from 2" },
        { "\"expect_fault\": \"OOPS\"", "expect_fault: expected the name of a fault" },
        { "\"max_cycles\": 0", "max_cycles: expected an integer from 1" },
        { "\"source\": \"a.S\"", "t.json: expected either \"source\" or \"asm\"" },
        { "\"defines\": {\"A\": []}", "defines.A: expected a string or an integer" },
        { "\"needs_tiles\": 3000", "t.json: this program needs a machine with 3000 tiles" },
        { "\"streams\": []", "t.json: streams: expected another key" },
        { "\"state\": [{\"u16_per_tile\": \"i\"}]",
          "state[0].u16_per_tile: expected \"u16\" here" },
        { "\"weights\": {\"bytes\": 8}", "weights: expected at most 512 bytes of numbers" },
        { "\"note\": 3", "note: expected a string, got 3" },
        { "\"note\": ", "t.json:1:" },
        { "\"note\": 1, \"note\": 2", "duplicate" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        char text[600];
        struct manifest *m = (void *)text;

        snprintf(text, sizeof(text), "{%s, %s}", head, bad[i].body);
        assert_int_equal(ss_manifest_read_text(text, strlen(text), "t.json", &defaults, &m),
                         EMU_BAD_FILE);
        assert_null(m);
        if (!strstr(ss_error(), bad[i].want))
            fail_msg("%s\n  says %s\n  not  %s", bad[i].body, ss_error(), bad[i].want);
        assert_int_equal(alloc_live(), 0);
    }
}

/* All paths of a file begin where it stands, and its own directory is searched first. */
static void paths_are_relative_to_the_file(void **state)
{
    static const char text[] = "{\"asm\": \"x\", \"entry\": \"e\", \"as\": \"worker\", "
                               "\"include\": [\"a\", \"/b\"]}";
    static const char machine[] = "{\"asm\": \"x\", \"entry\": \"e\", \"as\": \"worker\", "
                                  "\"machine\": \"none.json\"}";
    static const char *const want[] = { "dir/.", "dir/a", "/b" };
    struct manifest *m;

    (void)state;
    assert_int_equal(ss_manifest_read_text(text, sizeof(text) - 1, "dir/t.json", &defaults, &m),
                     EMU_OK);
    assert_int_equal(m->includes, EMU_COUNT_OF(want));
    for (size_t i = 0; i < EMU_COUNT_OF(want); i++)
        assert_string_equal(m->include[i], want[i]);
    ss_manifest_free(m);
    assert_int_equal(
        ss_manifest_read_text(machine, sizeof(machine) - 1, "dir/t.json", &defaults, &m), EMU_IO);
    assert_non_null(strstr(ss_error(), "dir/none.json"));
    assert_int_equal(alloc_live(), 0);
}

static void missing_files(void **state)
{
    struct manifest *m;

    (void)state;
    assert_int_equal(ss_manifest_read("/nonexistent/case.json", &defaults, &m), EMU_IO);
    assert_non_null(strstr(ss_error(), "/nonexistent/case.json"));
    assert_int_equal(ss_manifest_read_text("", 0, "t.json", &defaults, &m), EMU_BAD_FILE);
    assert_int_equal(ss_manifest_read_text("[]", 2, "t.json", &defaults, &m), EMU_BAD_FILE);
}

/* Each allocation fails once; nothing leaks. */
static void every_allocation_fails_once(void **state)
{
    static const char text[] =
        "{\"source\": [\"a\", \"b\"], \"include\": [\"c\"], \"defines\": {\"A\": 1}, \"entry\": "
        "\"e\","
        " \"as\": \"worker\", \"memory\": [{\"name\": \"x\", \"u32\": [\"x\", \"x+4\"]}],"
        " \"state\": [\"x\", 1], \"registers\": {\"m1\": \"x\"}, \"weights\": {\"f16\": [1]},"
        " \"expect\": [{\"name\": \"x\", \"u32\": [1]}], \"expect_registers\": {\"m1\": 1}}";
    struct manifest *m;
    long n = 0;

    (void)state;
    for (;; n++) {
        alloc_test_fail_at(n);
        if (ss_manifest_read_text(text, sizeof(text) - 1, "t.json", &defaults, &m) == EMU_OK)
            break;
        assert_null(m);
        alloc_test_fail_at(-1);
        assert_int_equal(alloc_live(), 0);
    }
    alloc_test_fail_at(-1);
    ss_manifest_free(m);
    assert_int_equal(alloc_live(), 0);
    assert_true(n > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(numbers_become_bits),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(missing_files),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(paths_are_relative_to_the_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
