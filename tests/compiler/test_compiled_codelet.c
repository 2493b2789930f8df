/* test_compiled_codelet.c - objects in the manner of a compiler as codelets: workers and supervisor
 * have the stacks that they say they need, and keep to the calling convention; beside them runs a
 * kernel of the library. What they do wrong is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/arch/arch_numbers.h"
#include "programs/programs.h"
#include "programs/compiler/base/codelet.h"
#include "tests/fixtures/elf_fixture.h"

enum { WORDS = 100, ROUNDS = 15, WORKER_STACK = 32, SUPERVISOR_STACK = 24 };

/* y = x x + x by all workers. Frames are made below $mworker_base; poly preserves $m7 and $lr. */
static const char worker_code[] =
    ".section .text.__runCodelet_poly, \"ax\"\n.globl __runCodelet_poly\n"
    ".type __runCodelet_poly, @function\n"
    "__runCodelet_poly:\nadd $m11, $m12, -16\nget $m0, $WSR\nand $m0, $m0, 7\n"
    "ld32 $m7, $m13, $m15, 0\nld32 $m8, $m13, $m15, 1\nld32 $m9, $m13, $m15, 2\n"
    "bri .Ltest\n"
    ".Lnext: st32 $m0, $m11, $m15, 3\nshl $m1, $m0, 2\nld32 $m0, $m7, $m1, 0\n"
    "call $m10, poly\nld32 $m1, $m11, $m15, 3\nshl $m2, $m1, 2\nadd $m2, $m8, $m2\n"
    "st32 $m0, $m2, $m15, 0\nadd $m0, $m1, 6\n"
    ".Ltest: cmpult $m1, $m0, $m9\nbrnz $m1, .Lnext\nexitz $m15\n"
    ".size __runCodelet_poly, . - __runCodelet_poly\n"
    ".section .text.poly, \"ax\"\n.type poly, @function\n"
    "poly: add $m11, $m11, -16\nst32 $m10, $m11, $m15, 3\nst32 $m7, $m11, $m15, 2\n"
    "mov $m7, $m0\ncall $m10, square\nadd $m0, $m0, $m7\nld32 $m7, $m11, $m15, 2\n"
    "ld32 $m10, $m11, $m15, 3\nadd $m11, $m11, 16\nbr $m10\n.size poly, . - poly\n"
    ".section .text.square, \"ax\"\n.type square, @function\n"
    "square: mul $m0, $m0, $m0\nsetzi $m6, 1\nbr $m10\n.size square, . - square\n";
static const char worker_sizes[] = ".stack_usage __runCodelet_poly, 16\n.stack_usage poly, 16\n";

static const struct own_field worker_fields[] = {
    { FIELD_IN, "x", ELEM_U32, 0, NULL },
    { FIELD_OUT, "y", ELEM_U32, 0, NULL },
    { FIELD_LENGTH, "n", ELEM_U32, 0, "x" },
};

static void worker_meaning(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[0].data;
    uint32_t *y = call->arg[1].data;

    for (uint32_t i = 0; i < call->arg[2].value; i++)
        y[i] = x[i] * x[i] + x[i];
}

/* total += 3: an ordinary function, after which $m0 to $m6 are lost. */
static const char supervisor_code[] =
    ".section .text.__runCodelet_count, \"ax\"\n.supervisor\n.globl __runCodelet_count\n"
    ".type __runCodelet_count, @function\n"
    "__runCodelet_count:\nadd $m11, $m11, -16\nst32 $m10, $m11, $m15, 3\n"
    "st32 $m7, $m11, $m15, 2\nsetzi $m6, 0\nld32 $m7, $m0, $m15, 0\n"
    "ld32 $m0, $m7, $m15, 0\ncall $m10, add_3\nst32 $m0, $m7, $m15, 0\n"
    "ld32 $m7, $m11, $m15, 2\nld32 $m10, $m11, $m15, 3\nadd $m11, $m11, 16\nbr $m10\n"
    ".size __runCodelet_count, . - __runCodelet_count\n"
    ".section .text.add_3, \"ax\"\n.type add_3, @function\n"
    "add_3: add $m11, $m11, -8\nst32 $m0, $m11, $m15, 1\nsetzi $m0, 0\nsetzi $m1, 1\n"
    "setzi $m2, 2\nsetzi $m3, 3\nsetzi $m4, 4\nsetzi $m5, 5\nst32 $m5, $m11, $m15, 0\n"
    "ld32 $m0, $m11, $m15, 1\nadd $m0, $m0, 3\nadd $m11, $m11, 8\nbr $m10\n"
    ".size add_3, . - add_3\n";
static const char supervisor_sizes[] =
    ".stack_usage __runCodelet_count, 16\n.stack_usage add_3, 8\n";

static const struct own_field supervisor_fields[] = { { FIELD_INOUT, "total", ELEM_U32, 0, NULL } };

static void supervisor_meaning(const struct codelet_call *call)
{
    *(uint32_t *)call->arg[0].data += 3;
}

/* ---- files ---- */

static char file_path[] = "/tmp/compiled_codelet_XXXXXX";
static const char *const file[] = { file_path };

static void write_file(const void *data, size_t bytes)
{
    FILE *f = fopen(file_path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* Makes the file the object of a text, with what it says of stacks, for a machine that has all
 * registers. */
static void write_object(const char *code, const char *sizes)
{
    struct arch wide = *ss_arch_preset("mk2");
    char text[4096];
    struct asm_unit *u;
    uint8_t *data;
    size_t bytes;

    snprintf(text, sizeof(text), "%s%s", code, sizes);
    wide.number[ARCH_NUMBER_aux_registers] = 14;
    assert_int_equal(asm_unit_new(&(struct asm_options){ .arch = &wide, .raw = 1 }, &u), EMU_OK);
    if (asm_unit_add_text(u, "t.S", text, strlen(text)) != EMU_OK ||
        asm_unit_object(u, &data, &bytes) != EMU_OK)
        fail_msg("%s", ss_error());
    write_file(data, bytes);
    ss_free(data);
    asm_unit_free(u);
}

/* ---- graphs ---- */

struct rig {
    struct graph *g;
    struct tensor x, y, total, ones;
};

static struct tensor kept(struct graph *g, const char *name, uint32_t n, uint32_t tile)
{
    struct tensor t = ss_graph_variable(g, ELEM_U32, 1, &n, name);

    ss_graph_map(g, t, tile);
    ss_graph_keep(g, t);
    return t;
}

static struct rig rig_new(void)
{
    struct rig r;

    assert_int_equal(ss_graph_new(ss_arch_preset("toy4"), &ss_kernel_library, &r.g), EMU_OK);
    r.x = kept(r.g, "x", WORDS, 0);
    r.y = kept(r.g, "y", WORDS, 1);
    r.total = kept(r.g, "total", 1, 1);
    r.ones = ss_graph_variable(r.g, ELEM_F32, 1, &(uint32_t){ WORDS }, "ones");
    ss_graph_map(r.g, r.ones, 1);
    return r;
}

/* Tile 1: y = x x + x. */
static struct program poly(struct rig *r, uint32_t stack_bytes)
{
    const struct own_codelet own = { .name = "poly",
                                     .file = file,
                                     .files = 1,
                                     .kind = CODELET_MULTI,
                                     .field = worker_fields,
                                     .fields = 3,
                                     .stack_bytes = stack_bytes,
                                     .meaning = worker_meaning };
    uint32_t set = ss_graph_compute_set(r->g, "poly"), v;

    ss_graph_add_codelet(r->g, &own);
    v = ss_graph_vertex(r->g, set, "poly", 1);
    ss_vertex_connect(r->g, v, "x", r->x);
    ss_vertex_connect(r->g, v, "y", r->y);
    return ss_program_execute(r->g, set);
}

/* Tile 1: total += 3, ROUNDS times, in two loops, with a kernel of the library beside it. */
static struct program count(struct rig *r)
{
    const struct own_codelet own = { .name = "count",
                                     .file = file,
                                     .files = 1,
                                     .kind = CODELET_SUPERVISOR,
                                     .field = supervisor_fields,
                                     .fields = 1,
                                     .meaning = supervisor_meaning };
    uint32_t set = ss_graph_compute_set(r->g, "count"), v;
    struct program all = ss_program_sequence(r->g);

    ss_graph_add_codelet(r->g, &own);
    v = ss_graph_vertex(r->g, set, "count", 1);
    ss_vertex_connect(r->g, v, "total", r->total);
    ss_program_add(r->g, all, ss_program_execute(r->g, set));
    ss_op_fill(r->g, all, r->ones, 1, "ones");
    return ss_program_repeat(r->g, 3, ss_program_repeat(r->g, ROUNDS / 3, all));
}

static struct compiled *compile(struct rig *r)
{
    struct compiled *c;

    if (ss_graph_compile(r->g, NULL, &c) != EMU_OK || !ss_compiled_fits(c))
        fail_msg("%s", ss_error());
    return c;
}

static void run(struct compiled *c, struct tensor in, const uint32_t *x, struct tensor out,
                uint32_t *y)
{
    const struct session_options so = { .threads = 1, .check = 1 };
    struct session *s;

    if (ss_session_new(c, &so, &s) != EMU_OK)
        fail_msg("%s", ss_error());
    for (unsigned again = 0; again < 2; again++) {
        if (ss_session_write(s, in, x) != EMU_OK || ss_session_run(s) != EMU_OK ||
            ss_session_read(s, out, y) != EMU_OK)
            fail_msg("%s", ss_error());
    }
    ss_session_free(s);
}

static void interpret(struct rig *r, struct tensor in, const uint32_t *x, struct tensor out,
                      uint32_t *y)
{
    struct interpreter *p;

    if (ss_interpreter_new(r->g, &p) != EMU_OK || ss_interpreter_write(p, in, x) != EMU_OK ||
        ss_interpreter_run(p, 100) != EMU_OK || ss_interpreter_read(p, out, y) != EMU_OK)
        fail_msg("%s", ss_error());
    ss_interpreter_free(p);
}

/* ---- what the report says ---- */

struct stacks {
    unsigned category;
    uint64_t bytes[4]; /* by tile */
};

static void add_stack(void *ctx, uint32_t tile, const uint64_t *bytes)
{
    struct stacks *s = ctx;

    s->bytes[tile] = bytes[s->category];
}

static struct stacks stacks_of(const struct compiled *c)
{
    struct stacks s = { 0, { 0 } };

    while (strcmp(ss_compiled_category(s.category), "stack"))
        s.category++;
    assert_int_equal(ss_compiled_tiles(c, add_stack, &s), EMU_OK);
    return s;
}

/* ---- tests ---- */

/* Each worker has WORKER_STACK bytes below its $mworker_base and above it. */
static void workers_have_stacks(void **state)
{
    struct rig r = rig_new();
    uint32_t x[WORDS], got[WORDS], want[WORDS];
    struct compiled *c;

    (void)state;
    for (uint32_t i = 0; i < WORDS; i++)
        x[i] = 3 * i + 1;
    write_object(worker_code, worker_sizes);
    ss_graph_set_program(r.g, poly(&r, 0));
    c = compile(&r);
    run(c, r.x, x, r.y, got);
    interpret(&r, r.x, x, r.y, want);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(want[2], 7 * 7 + 7);
    assert_int_equal(stacks_of(c).bytes[0], 0);
    assert_int_equal(stacks_of(c).bytes[1], 2 * TILE_WORKERS * WORKER_STACK);
    ss_compiled_free(c);
    ss_graph_free(r.g);
}

/* The loops around the call go on counting, and the stack lies below the words of the walk: one of
 * those for the counter that the call may change. */
static void the_supervisor_has_a_stack(void **state)
{
    struct rig r = rig_new();
    uint32_t got[WORDS], want[WORDS];
    const uint32_t seven = 7;
    struct compiled *c;

    (void)state;
    write_object(supervisor_code, supervisor_sizes);
    ss_graph_set_program(r.g, count(&r));
    c = compile(&r);
    run(c, r.total, &seven, r.total, got);
    interpret(&r, r.total, &seven, r.total, want);
    assert_int_equal(want[0], 7 + 3 * ROUNDS);
    assert_int_equal(got[0], want[0]);
    assert_in_range(stacks_of(c).bytes[1], SUPERVISOR_STACK + 4, SUPERVISOR_STACK + 8);
    ss_compiled_free(c);
    ss_graph_free(r.g);
}

/* Code that does not say what it needs runs when the user does. */
static void the_user_knows_better(void **state)
{
    uint32_t x[WORDS], y[WORDS];
    struct rig r = rig_new();
    struct compiled *c;

    (void)state;
    for (uint32_t i = 0; i < WORDS; i++)
        x[i] = i;
    write_object(worker_code, "");
    ss_graph_set_program(r.g, poly(&r, WORKER_STACK + 4));
    c = compile(&r);
    run(c, r.x, x, r.y, y);
    assert_int_equal(y[99], 99 * 99 + 99);
    assert_int_equal(stacks_of(c).bytes[1], 2 * TILE_WORKERS * (WORKER_STACK + 8));
    ss_compiled_free(c);
    ss_graph_free(r.g);
}

/* Compiled code uses the bytes below $mworker_base, PopLibs' assembly those above it: the first and
 * the last of them belong to one worker. y[w] = w w. */
static void a_worker_has_bytes_on_both_sides(void **state)
{
    static const char code[] =
        ".section .text.__runCodelet_poly, \"ax\"\n.globl __runCodelet_poly\n"
        "__runCodelet_poly: get $m0, $WSR\nand $m0, $m0, 7\nadd $m1, $m12, -32\n"
        "st32 $m0, $m1, $m15, 0\nst32 $m0, $m12, $m15, 7\nld32 $m2, $m1, $m15, 0\n"
        "ld32 $m3, $m12, $m15, 7\nmul $m2, $m2, $m3\nld32 $m4, $m13, $m15, 1\n"
        "shl $m5, $m0, 2\nadd $m4, $m4, $m5\nst32 $m2, $m4, $m15, 0\nexitz $m15\n";
    uint32_t x[WORDS] = { 0 }, y[WORDS];
    struct rig r = rig_new();
    struct compiled *c;

    (void)state;
    write_object(code, "");
    ss_graph_set_program(r.g, poly(&r, WORKER_STACK));
    c = compile(&r);
    run(c, r.x, x, r.y, y);
    for (uint32_t w = 0; w < TILE_WORKERS; w++)
        assert_int_equal(y[w], w * w);
    ss_compiled_free(c);
    ss_graph_free(r.g);
}

static void what_is_wrong_is_named(void **state)
{
    static const char begin[] = ".section .text.poly, \"ax\"\n.globl poly\n.type poly, @function\n";
    static const struct {
        const char *code, *sizes;
        uint32_t stack_bytes;
        const char *why;
    } row[] = {
        { worker_code, "", 0, "codelet poly uses a stack of unknown size" },
        { worker_code, ".stack_usage poly, 16377\n", 0,
          "needs 16377 bytes of stack: at most 16376" },
        { worker_code, "", 16377, "needs 16377 bytes of stack: at most 16376" },
        { begin, "poly: f32add $a0, $a0, $a9\nexitz $mzero\n", 0,
          "reads $a9, which machine toy4 does not have" },
        { begin, "poly: sync 4\nexitz $mzero\n", 0, "codelet poly: workers have no sync" },
        { begin, "poly: exitz $mzero\n.size poly, . - poly\nsync 4\n", 0, NULL },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct rig r = rig_new();
        struct compiled *c = NULL;
        enum emu_status s;

        write_object(row[i].code, row[i].sizes);
        ss_graph_set_program(r.g, poly(&r, row[i].stack_bytes));
        s = ss_graph_compile(r.g, NULL, &c);
        if (row[i].why ? s == EMU_OK || !strstr(ss_error(), row[i].why) : s != EMU_OK)
            fail_msg("%zu: %s", i, s == EMU_OK ? "compiled" : ss_error());
        ss_compiled_free(c);
        ss_graph_free(r.g);
    }
}

/* Objects that no assembler makes: an entry in a section without bytes; a number of the same name
 * as the vertex, which is no entry. */
static void odd_entries(void **state)
{
    static const uint32_t exitz = 0x43f04000;
    static const struct {
        struct elf_symbol_row symbol[2];
        uint32_t bytes;
        enum emu_status want;
    } row[] = {
        { { { "__runCodelet_poly", 0, 0, GLOBAL | FUNC, 1 }, { "x", 1, 0, GLOBAL, ABS } },
          0,
          EMU_BAD_PROGRAM },
        { { { "__runCodelet_poly", 0, 0, GLOBAL | FUNC, 1 }, { "poly", 1, 0, GLOBAL, ABS } },
          4,
          EMU_OK },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const struct elf_section_row section = { ".text", PROGBITS, ALLOC | EXEC, 0,           0,
                                                 4,       0,        &exitz,       row[i].bytes };
        struct made m = make_elf(&(struct elf_plan){ &section, row[i].symbol, NULL, 1, 2, 0, 2 });
        struct rig r = rig_new();
        struct compiled *c = NULL;

        write_file(m.at, m.n);
        ss_graph_set_program(r.g, poly(&r, 0));
        assert_int_equal(ss_graph_compile(r.g, NULL, &c), row[i].want);
        if (row[i].want != EMU_OK)
            assert_non_null(strstr(ss_error(), "codelet poly has no code"));
        ss_compiled_free(c);
        ss_graph_free(r.g);
    }
}

static int set_up(void **state)
{
    int f = mkstemp(file_path);

    (void)state;
    return f < 0 || close(f);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(file_path) || alloc_live();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_have_stacks),
        cmocka_unit_test(the_supervisor_has_a_stack),
        cmocka_unit_test(the_user_knows_better),
        cmocka_unit_test(a_worker_has_bytes_on_both_sides),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(odd_entries),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
