/* test_case_run.c - cases from text to verdict: placement, the three ways to start a codelet,
 * faults, limits, differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/case_run.h"
#include "emu/tile/tile_check.h"

struct case_outcome {
    struct manifest *m;
    struct case_run *r;
    json_t *differences;
    uint64_t total;
    enum case_status verdict;
};

static const struct manifest_options raw = { .raw = 1 };
static const struct case_options plain_run;

/* Reads, builds, runs and compares. Fails the test when that is not possible. */
static struct case_outcome run(const char *text, struct case_options options)
{
    struct case_outcome o = { 0 };

    if (ss_manifest_read_text(text, strlen(text), "t.json", &raw, &o.m) != EMU_OK ||
        case_build(o.m, &options, &o.r) != EMU_OK || case_load(o.r) != EMU_OK)
        fail_msg("%s: %s", text, ss_error());
    case_execute(o.r);
    assert_int_equal(case_compare(o.r, &o.differences, &o.total), EMU_OK);
    o.verdict = case_verdict(o.r, o.total);
    return o;
}

static void end(struct case_outcome *o)
{
    json_decref(o->differences);
    case_run_free(o->r);
    ss_manifest_free(o->m);
    assert_int_equal(alloc_live(), 0);
}

static void one_worker(void **state)
{
    static const char text[] = "{\"asm\": \".worker\\ne: ld32 $m0, $m13, 0\\n ld32 $m1, $m0, 1\\n "
                               "get $m2, $WSR\\n st32 $m1, $m12, 0\\n"
                               " exitz $mzero\\n\", \"entry\": \"e\", \"as\": \"worker\","
                               " \"memory\": [{\"name\": \"x\", \"u32\": [7, 8]}], \"state\": "
                               "[\"x\"], \"registers\": {\"a3\": 9},"
                               " \"expect_registers\": {\"m1\": 8, \"m2\": 0, \"a3\": 9}, "
                               "\"expect_slots\": 5, \"expect_instructions\": 5}";
    struct case_outcome o = run(text, plain_run);
    uint32_t word = 0;

    (void)state;
    assert_int_equal(o.verdict, CASE_PASS);
    assert_int_equal(o.r->tile.m[13][0], o.r->state_at);
    assert_true(tile_read(&o.r->tile, o.r->scratch_at[0], &word, 4) && word == 8);
    assert_int_equal(o.r->barrel.issued[1], 0);
    /* run, then the worker's slot at least 6 cycles later; its exit is seen 6 later, and sync takes
     * 6 */
    assert_in_range(o.r->cycles, 6 + 4 * 6 + 6 + 6, 6 + 5 + 4 * 6 + 6 + 6);
    end(&o);
}

/* The memories of a case are those of a manifest with one tile. */
static void memories_as_in_a_manifest(void **state)
{
    static const char text[] =
        "{\"asm\": \".worker\\ne: exitz $mzero\\n\", \"entry\": \"e\", \"as\": \"worker\","
        " \"memory\": [{\"name\": \"x\", \"u32_per_tile\": \"3 * i + count + tile\", \"count\": "
        "4}],"
        " \"expect\": [{\"name\": \"x\", \"u32\": [1, 4, 7, 10]},"
        "  {\"name\": \"x\", \"from\": 1, \"u32_per_tile\": \"3 * i + 4\", \"count\": 3}]}";
    static const char bad[] =
        "{\"asm\": \".worker\\ne: exitz $mzero\\n\", \"entry\": \"e\", \"as\": \"worker\","
        " \"memory\": [{\"name\": \"x\", \"u8_per_tile\": \"300 * i\", \"count\": 2}]}";
    struct case_outcome o = run(text, plain_run);

    (void)state;
    assert_int_equal(o.verdict, CASE_PASS);
    end(&o);
    o = (struct case_outcome){ 0 };
    assert_int_equal(ss_manifest_read_text(bad, strlen(bad), "t.json", &raw, &o.m), EMU_OK);
    assert_int_equal(case_build(o.m, &plain_run, &o.r), EMU_OK);
    assert_int_equal(case_load(o.r), EMU_BAD_FILE);
    assert_string_equal(ss_error(),
                        "t.json: x: \"300 * i\" for tile 0, element 1: 300 does not fit u8");
    end(&o);
}

static void six_workers(void **state)
{
    static const char text[] =
        "{\"asm\": \".worker\\ne: get $m2, $WSR\\n ld32 $m0, $m13, 0\\n stm32 $m2, $m0, $m2\\n "
        "exitz $mzero\\n\","
        " \"entry\": \"e\", \"as\": \"workers\", \"memory\": [{\"name\": \"x\", \"u32\": [9, 9, 9, "
        "9, 9, 9]}],"
        " \"state\": [\"x\"], \"expect\": [{\"name\": \"x\", \"u32\": [0, 1, 2, 3, 4, 5]}],"
        " \"registers\": {\"w4.m7\": 4, \"m6\": 1}, \"expect_registers\": {\"w4.m7\": 4, "
        "\"w3.m7\": 0, \"m6\": 1},"
        " \"expect_slots\": 4, \"expect_instructions\": 24}";
    struct case_outcome o = run(text, plain_run);

    (void)state;
    assert_int_equal(o.verdict, CASE_PASS);
    end(&o);
}

static void a_supervisor(void **state)
{
    static const char text[] =
        "{\"asm\": \".supervisor\\ne: ld32 $m1, $m0, 0\\n st32 $m1, $sp, $mzero, 0\\n add $sp, "
        "$sp, -8\\n"
        " setzi $m2, w\\n runall $m2, $m0, 0\\n sync 2\\n br $lr\\n .worker\\nw: ld32 $m5, $m13, "
        "0\\n exitz $mzero\\n\","
        " \"entry\": \"e\", \"as\": \"supervisor\", \"state\": [5],"
        " \"registers\": {\"m3\": 3}, \"expect_registers\": {\"m1\": 5, \"m3\": 3, \"w2.m5\": 5},"
        " \"csr\": {\"TAS\": 5}, \"expect_csr\": {\"TAS\": 5, \"w4.TAS\": 5, \"SSR\": 0},"
        " \"expect_slots\": [2, 2, 2, 2, 2, 2], \"expect_instructions\": 19, \"expect_fault\": "
        "\"INVALID_ADDR\"}";
    struct case_outcome o = run(text, plain_run);

    (void)state;
    assert_int_equal(o.r->stop, BARREL_HALT);
    assert_int_equal(o.verdict, CASE_FAIL); /* the expected fault did not happen */
    assert_int_equal(o.total, 1);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(o.differences, 0), "what")), "fault");
    assert_int_equal(tile_m(&o.r->tile, LANE_SUPER, 11), o.r->stack_high - 8);
    end(&o);
}

static void faults_and_limits(void **state)
{
    static const char fault[] = "{\"asm\": \".worker\\ne: nop\\nf: ld32 $m0, $mzero, 1\\n exitz "
                                "$mzero\\n\", \"entry\": \"e\","
                                " \"as\": \"worker\"}";
    static const char expected[] =
        "{\"asm\": \".worker\\ne: ld32 $m0, $mzero, 1\\n exitz $mzero\\n\", \"entry\": \"e\","
        " \"as\": \"worker\", \"expect_fault\": \"INVALID_ADDR\"}";
    static const char loop[] =
        "{\"asm\": \".worker\\ne: bri e\\n\", \"entry\": \"e\", \"as\": \"worker\","
        " \"max_cycles\": 1000}";
    static const char super_loop[] =
        "{\"asm\": \".supervisor\\ne: bri e\\n\", \"entry\": \"e\", \"as\": \"supervisor\","
        " \"max_cycles\": 1000}";
    static const char outer[] =
        "{\"asm\": \".supervisor\\ne: sync 3\\n br $lr\\n\", \"entry\": \"e\","
        " \"as\": \"supervisor\", \"expect_fault\": \"EXERR\"}";
    struct case_outcome o = run(fault, plain_run);

    (void)state;
    assert_int_equal(o.verdict, CASE_FAULT);
    assert_int_equal(o.r->tile.fault.addr, 4);
    assert_int_equal(o.r->tile.fault.pc, o.r->entry + 4);
    end(&o);
    o = run(expected, plain_run);
    assert_int_equal(o.verdict, CASE_PASS);
    end(&o);
    o = run(loop, plain_run);
    assert_int_equal(o.verdict, CASE_TIMEOUT);
    end(&o);
    o = run(super_loop, plain_run);
    assert_int_equal(o.verdict, CASE_TIMEOUT);
    end(&o);
    o = run(outer, plain_run);
    assert_int_equal(o.verdict, CASE_PASS);
    end(&o);
}

static void differences_are_listed(void **state)
{
    static const char text[] =
        "{\"asm\": \".worker\\ne: exitz $mzero\\n\", \"entry\": \"e\", \"as\": \"worker\","
        " \"memory\": [{\"name\": \"x\", \"f16\": [1, 2, 3, \"nan\"]}],"
        " \"expect\": [{\"name\": \"x\", \"f16\": [1, 2.5, 3.5, 0]},"
        "  {\"name\": \"x\", \"f16\": [1.5, 2.5, 3.5, \"0xfe01\"], \"tolerance\": 0.5},"
        "  {\"name\": \"x\", \"from\": 1, \"f16\": [2.5, 3.5], \"relative\": 0.19}],"
        " \"registers\": {\"m1\": 5, \"a2\": {\"f32\": 1}, \"a3\": \"0x40000000\"},"
        " \"expect_registers\": {\"m1\": 6}, \"expect_cycles\": 1, \"expect_slots\": [2, 0, 0, 0, "
        "0, 0]}";
    struct case_outcome o = run(text, plain_run);
    static const char *const want[] = {
        "x[1]", "x[2]", "x[3]", "x[1]", "m1", "cycles", "slots[0]"
    };

    (void)state;
    assert_int_equal(o.verdict, CASE_FAIL);
    assert_int_equal(o.total, EMU_COUNT_OF(want));
    for (size_t i = 0; i < EMU_COUNT_OF(want); i++)
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(o.differences, i), "what")), want[i]);
    end(&o);
}

/* A case runs again after case_load, with the same outcome, plain or not. */
static void runs_again(void **state)
{
    static const char text[] =
        "{\"asm\": \".worker\\ne: ld32 $m0, $m13, 0\\n ld32 $m1, $m0, 0\\n add $m1, $m1, 1\\n st32 "
        "$m1, $m0, 0\\n"
        " exitz $mzero\\n\", \"entry\": \"e\", \"as\": \"worker\", \"memory\": [{\"name\": \"x\", "
        "\"u32\": [1]}],"
        " \"state\": [\"x\"], \"expect\": [{\"name\": \"x\", \"u32\": [2]}]}";
    struct case_outcome o = run(text, plain_run);
    uint64_t cycles = o.r->cycles;

    (void)state;
    for (int k = 0; k < 3; k++) {
        json_decref(o.differences);
        o.r->options.plain = k & 1;
        assert_int_equal(case_load(o.r), EMU_OK);
        case_execute(o.r);
        assert_int_equal(case_compare(o.r, &o.differences, &o.total), EMU_OK);
        assert_int_equal(o.total, 0);
        assert_int_equal(o.r->cycles, cycles);
    }
    end(&o);
}

static void the_checking_mode_reports(void **state)
{
    static const char text[] = "{\"asm\": \".worker\\ne: ld32 $m0, $m13, 0\\n ld32 $m1, $m0, 0\\n "
                               "st32 $m1, $m0, 1\\n exitz $mzero\\n\","
                               " \"entry\": \"e\", \"as\": \"workers\", \"memory\": [{\"name\": "
                               "\"x\", \"bytes\": 8}], \"state\": [\"x\"]}";
    struct case_outcome o = run(text, (struct case_options){ .check = 1 });

    (void)state;
    assert_int_equal(o.verdict, CASE_CHECK);
    assert_int_equal(tile_check_count(&o.r->tile), 2);
    assert_int_equal(tile_check_report(&o.r->tile, 0)->kind, TILE_CHECK_UNWRITTEN);
    assert_int_equal(tile_check_report(&o.r->tile, 1)->kind, TILE_CHECK_RACE);
    end(&o);
}

/* A worker has the stack that its code says below its scratch area; that of the next one is not its
 * own. */
static void stacks_lie_below_the_scratch_areas(void **state)
{
    static const char text[] =
        "{\"asm\": \".worker\\n.stack_usage e, 12\\ne: add $m0, $m12, -16\\n"
        " st32 $m1, $m0, $mzero, 0\\n add $m0, $m0, 528\\n st32 $m1, $m0, $mzero, 0\\n"
        " exitz $mzero\\n\", \"entry\": \"e\", \"as\": \"worker\"}";
    struct case_outcome o = run(text, (struct case_options){ .check = 1 });

    (void)state;
    assert_int_equal(o.r->scratch_at[1] - o.r->scratch_at[0], 16 + 512);
    assert_int_equal(o.verdict, CASE_CHECK);
    assert_int_equal(tile_check_count(&o.r->tile), 1);
    assert_int_equal(tile_check_report(&o.r->tile, 0)->kind, TILE_CHECK_STACK);
    assert_int_equal(tile_check_report(&o.r->tile, 0)->addr, o.r->scratch_at[1] - 16);
    end(&o);
}

/* The answer is JSON that says what happened, and nothing else. */
static void the_answer_is_json(void **state)
{
    static const char text[] = "{\"asm\": \".worker\\ne: nop\\nfoo: ld32 $m0, $mzero, 1\\n exitz "
                               "$mzero\\n\", \"entry\": \"e\","
                               " \"as\": \"worker\", \"memory\": [{\"name\": \"x\", \"f32\": [0.1, "
                               "\"nan\", \"0x7fa00001\", -0.0]},"
                               " {\"name\": \"b\", \"bytes\": 2}]}";
    struct case_outcome o = run(text, (struct case_options){ .check = 1 });
    char *out = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&out, &bytes);
    json_error_t error;
    json_t *root, *fault, *memory;

    (void)state;
    assert_int_equal(case_print(o.r, o.differences, o.total, f), EMU_OK);
    fclose(f);
    root = json_loads(out, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("line %d: %s in\n%s", error.line, error.text, out);
    assert_string_equal(json_string_value(json_object_get(root, "status")), "fault");
    fault = json_object_get(root, "fault");
    assert_string_equal(json_string_value(json_object_get(fault, "name")), "INVALID_ADDR");
    assert_string_equal(json_string_value(json_object_get(fault, "context")), "w0");
    assert_string_equal(json_string_value(json_object_get(fault, "symbol")), "foo");
    assert_string_equal(json_string_value(json_object_get(fault, "source")), "asm:3");
    assert_string_equal(json_string_value(json_object_get(fault, "address")), "0x4");
    memory = json_array_get(json_object_get(root, "memory"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(memory, "f32"), 2)),
                        "0x7fa00001");
    assert_int_equal(
        json_array_size(json_object_get(json_array_get(json_object_get(root, "memory"), 1), "u8")),
        2);
    assert_int_equal(json_array_size(json_object_get(root, "check")), 0);
    json_decref(root);
    free(out);
    end(&o);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        { "\"asm\": \"e: nop\\n\", \"entry\": \"x\"",
          "entry: expected a symbol of the code, got \"x\"" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"state\": [\"y\"]",
          "state: element 0: expected a memory or a symbol" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"machine\": \"toy4\", \"memory\": "
          "[{\"name\": \"x\", \"bytes\": 40000}]",
          "x: 40000 bytes aligned to 8 do not fit into region 1; 32" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"memory\": [{\"name\": \"x\", \"at\": "
          "\"0x4c000\", \"bytes\": 8}]",
          "x: 0x4c000 with 8 bytes overlaps .text" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"memory\": [{\"name\": \"x\", \"at\": 0, "
          "\"bytes\": 8}]",
          "x: 0x0 with 8 bytes leaves the memory" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"memory\": [{\"name\": \"x\", \"at\": "
          "\"0x80000\", \"bytes\": 8}, {\"name\": \"y\", \"at\": \"0x80004\", \"bytes\": 8}]",
          "y: 0x80004 with 8 bytes overlaps x at 0x80000 to 0x80008" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"machine\": \"nope\"", "nope" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"machine\": \"toy4\", \"stack_bytes\": "
          "100000",
          "the supervisor's stack" },
        { "\"asm\": \"e: oops\\n\", \"entry\": \"e\"", "oops" },
        { "\"source\": \"/nonexistent/a.S\", \"entry\": \"e\"", "/nonexistent/a.S" },
        { "\"asm\": \"e: nop\\n\", \"entry\": \"e\", \"memory\": [{\"name\": \"x\", \"u8\": 1}], "
          "\"expect\": [{\"name\": \"x\", \"u32\": 1}]",
          "t.json: expect[0]: expected at most the 1 bytes" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        char text[500];
        struct manifest *m;
        struct case_run *r;

        snprintf(text, sizeof(text), "{\"as\": \"worker\", %s}", bad[i].text);
        if (ss_manifest_read_text(text, strlen(text), "t.json", &raw, &m) == EMU_OK) {
            assert_int_not_equal(case_build(m, &plain_run, &r), EMU_OK);
            assert_null(r);
        }
        if (!strstr(ss_error(), bad[i].want))
            fail_msg("%s\n  says %s\n  not  %s", text, ss_error(), bad[i].want);
        ss_manifest_free(m);
        assert_int_equal(alloc_live(), 0);
    }
}

static void a_manifest_is_no_case(void **state)
{
    static const char text[] = "{\"programs\": [{\"asm\": \"main:\", \"tiles\": 0}]}";
    struct manifest *m;
    struct case_run *r;

    (void)state;
    assert_int_equal(ss_manifest_read_text(text, strlen(text), "t.json", &raw, &m), EMU_OK);
    assert_int_equal(case_build(m, &plain_run, &r), EMU_BAD_FILE);
    assert_null(r);
    assert_string_equal(ss_error(), "t.json: expected a case of one tile; this is a manifest: "
                                    "superstep run FILE");
    ss_manifest_free(m);
    assert_int_equal(alloc_live(), 0);
}

static void first_fit(void **state)
{
    struct case_layout l = { .arch = ss_arch_preset("toy4") };
    uint32_t base = l.arch->mem_base, middle = base + l.arch->region0_bytes, at;

    (void)state;
    assert_int_equal(case_layout_fix(&l, base + 64, 64, "a"), EMU_OK);
    assert_int_equal(case_layout_fit(&l, CASE_REGION0, 60, 4, "b", &at), EMU_OK);
    assert_int_equal(at, base); /* the gap before a */
    assert_int_equal(case_layout_fit(&l, CASE_REGION0, 8, 8, "c", &at), EMU_OK);
    assert_int_equal(at, base + 128); /* the rest of the gap is too small */
    assert_int_equal(case_layout_fit(&l, CASE_REGION0, 4, 4, "d", &at), EMU_OK);
    assert_int_equal(at, base + 60);
    assert_int_equal(
        case_layout_fit(&l, CASE_REGION1, l.arch->mem_bytes - l.arch->region0_bytes, 16, "e", &at),
        EMU_OK);
    assert_int_equal(at, middle);
    assert_int_equal(case_layout_fit(&l, CASE_REGION1_OR_0, 16, 1024, "f", &at), EMU_OK);
    assert_int_equal(at, base + 1024);
    assert_int_equal(case_layout_fit(&l, CASE_REGION1, 1, 1, "g", &at), EMU_BAD_FILE);
    assert_int_equal(case_layout_fit(&l, CASE_REGION1, 0, 1, "h", &at),
                     EMU_OK); /* nothing takes no room */
    case_layout_free(&l);
    /* a range over the border of the regions belongs to both */
    assert_int_equal(case_layout_fix(&l, middle - 8, 16, "a"), EMU_OK);
    assert_int_equal(case_layout_fit(&l, CASE_REGION1, 8, 8, "b", &at), EMU_OK);
    assert_int_equal(at, middle + 8);
    assert_int_equal(case_layout_fix(&l, middle + 4, 1, "c"), EMU_BAD_FILE);
    case_layout_free(&l);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker),
        cmocka_unit_test(memories_as_in_a_manifest),
        cmocka_unit_test(six_workers),
        cmocka_unit_test(a_supervisor),
        cmocka_unit_test(faults_and_limits),
        cmocka_unit_test(differences_are_listed),
        cmocka_unit_test(runs_again),
        cmocka_unit_test(the_checking_mode_reports),
        cmocka_unit_test(stacks_lie_below_the_scratch_areas),
        cmocka_unit_test(the_answer_is_json),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_manifest_is_no_case),
        cmocka_unit_test(first_fit),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
