/* test_codelet_library.c - the compiler with a library that is not the project's: two codelets that
 * stand in no table, one of which nobody finds by name, and copies and a linker of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "emu/emu.h"
#include "programs/compiler/base/codelet.h"
#include "programs/programs.h"

enum { WORDS = 12 };

/* ---- the library ---- */

/* out[i] = in[i] + add; worker 0 does it all. State: in, out, n; of `add_word` add, too. */
static const char source[] = ".macro ADD name add\n"
                             ".section .text.\\name\n.worker\n.align 8\n.globl \\name\n\\name:\n"
                             "get $m0, $WSR\nand $m0, $m0, 7\nbrz $m0, 1f\nexitz $mzero\n1:\n"
                             "ld32 $m1, $mvertex_base, $mzero, 0\n"
                             "ld32 $m2, $mvertex_base, $mzero, 1\n"
                             "ld32 $m3, $mvertex_base, $mzero, 2\n"
                             "setzi $m4, 0\n\\add\n"
                             "2:\nbrz $m3, 3f\n"
                             "ld32step $m5, $mzero, $m1+=, 1\nadd $m5, $m5, $m4\n"
                             "st32step $m5, $mzero, $m2+=, 1\nadd $m3, $m3, -1\nbri 2b\n"
                             "3:\nexitz $mzero\n"
                             ".endm\n"
                             "ADD move_words, \"\"\n"
                             "ADD add_word, \"ld32 $m4, $mvertex_base, $mzero, 3\"\n";

static const struct codelet_field fields[] = {
    { FIELD_IN, "in", ELEM_U32, .align = 4 },
    { FIELD_OUT, "out", ELEM_U32, .align = 4 },
    { FIELD_LENGTH, "n", ELEM_U32, .align = 4, .other = "in" },
    { FIELD_U32, "add", ELEM_U32, .align = 4 },
};

static void meaning(const struct codelet_call *call, uint32_t add)
{
    const uint32_t *in = call->arg[0].data;
    uint32_t *out = call->arg[1].data;

    for (uint32_t i = 0; i < call->arg[0].elements; i++)
        out[i] = in[i] + add;
}

static void move_words_ref(const struct codelet_call *call)
{
    meaning(call, 0);
}

static void add_word_ref(const struct codelet_call *call)
{
    meaning(call, call->arg[3].value);
}

static uint64_t no_cycles(const struct codelet_call *call)
{
    return call->arg[2].value;
}

static const struct codelet move_words = { .name = "move_words",
                                           .kind = CODELET_MULTI,
                                           .text = "out = in",
                                           .field = fields,
                                           .fields = 3,
                                           .ref = move_words_ref,
                                           .cycles = no_cycles };
static const struct codelet add_word = { .name = "add_word",
                                         .kind = CODELET_MULTI,
                                         .text = "out = in + add",
                                         .field = fields,
                                         .fields = 4,
                                         .ref = add_word_ref,
                                         .cycles = no_cycles };

static const struct codelet *find(const char *name)
{
    return strcmp(name, "move_words") ? NULL : &move_words;
}

static void check_set(const struct codelet *const *set, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(set[i] == &move_words || set[i] == &add_word);
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(set[i], set[k]);
    }
}

static enum emu_status link_set(const struct arch *arch, const struct codelet *const *set, size_t n,
                                uint32_t addr, struct codelet_code *out)
{
    const struct asm_options o = { .arch = arch, .raw = 1 };
    const char *name[2];
    struct asm_unit *u;

    check_set(set, n);
    assert_true(n <= 2);
    for (size_t i = 0; i < n; i++)
        name[i] = set[i]->name;
    assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
    if (asm_unit_add_text(u, "own.S", source, strlen(source)) != EMU_OK) {
        asm_diag_print(u, stderr);
        fail();
    }
    return codelet_code_link(u, set, name, n, addr, out);
}

/* Graphs of the test copy words, one run at a time. */
static const struct codelet_library own_library = {
    .find = find,
    .copy = { [2] = &move_words, [3] = &move_words },
    .link = link_set,
};

/* ---- graphs ---- */

struct case_graph {
    struct graph *g;
    struct program main;
    struct tensor x, y, z; /* y = x + 5 on another tile; z = x on the same */
};

static struct tensor kept(struct graph *g, enum elem e, const char *name, uint32_t tile)
{
    const uint32_t shape[] = { WORDS };
    struct tensor t = ss_graph_variable(g, e, 1, shape, name);

    ss_graph_map(g, t, tile);
    ss_graph_keep(g, t);
    return t;
}

static void add_vertex_of(struct case_graph *c, const struct codelet *codelet)
{
    uint32_t set = ss_graph_compute_set(c->g, "add"), v = graph_vertex_of(c->g, set, codelet, 1);

    ss_vertex_connect(c->g, v, "in", c->x);
    ss_vertex_connect(c->g, v, "out", c->y);
    ss_vertex_set_u32(c->g, v, "add", 5);
    ss_program_add(c->g, c->main, ss_program_execute(c->g, set));
}

static struct case_graph build(const struct codelet_library *library)
{
    struct case_graph c;

    assert_int_equal(ss_graph_new(ss_arch_preset("toy4"), library, &c.g), EMU_OK);
    c.main = ss_program_sequence(c.g);
    c.x = kept(c.g, ELEM_U32, "x", 0);
    c.y = kept(c.g, ELEM_U32, "y", 1);
    c.z = kept(c.g, ELEM_U32, "z", 0);
    add_vertex_of(&c, &add_word);
    ss_program_add(c.g, c.main, ss_program_copy(c.g, c.x, c.z));
    ss_graph_set_program(c.g, c.main);
    return c;
}

static void check_result(struct session *s, const struct case_graph *c)
{
    uint32_t x[WORDS], y[WORDS], z[WORDS];

    for (uint32_t i = 0; i < WORDS; i++)
        x[i] = 1000 * i + 7;
    assert_int_equal(ss_session_write(s, c->x, x), EMU_OK);
    if (ss_session_run(s) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(ss_session_read(s, c->y, y), EMU_OK);
    assert_int_equal(ss_session_read(s, c->z, z), EMU_OK);
    for (uint32_t i = 0; i < WORDS; i++) {
        assert_int_equal(y[i], x[i] + 5);
        assert_int_equal(z[i], x[i]);
    }
}

/* ---- tests ---- */

static void a_library_of_the_callers_own_runs(void **state)
{
    const struct compile_options co = { .threads = 1 };
    const struct session_options so = { .threads = 1, .check = 1 };
    struct case_graph c = build(&own_library);
    struct compiled *compiled;
    struct session *s;

    (void)state;
    if (ss_graph_compile(c.g, &co, &compiled) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(ss_session_new(compiled, &so, &s), EMU_OK);
    check_result(s, &c);
    ss_session_free(s);
    ss_compiled_free(compiled);
    ss_graph_free(c.g);
    assert_int_equal(alloc_live(), 0);
}

static void names_are_those_of_the_library(void **state)
{
    struct case_graph c = build(&own_library);
    uint32_t set = ss_graph_compute_set(c.g, "more");

    (void)state;
    assert_int_not_equal(ss_graph_vertex(c.g, set, "move_words", 0), UINT32_MAX);
    assert_int_equal(ss_graph_status(c.g), EMU_OK);
    assert_int_equal(ss_graph_vertex(c.g, set, "add_f32", 0),
                     UINT32_MAX); /* of the other library */
    assert_int_equal(ss_graph_status(c.g), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "there is no codelet add_f32"));
    ss_graph_free(c.g);
}

/* A copy that the library has no codelet for. */
static void a_missing_copy_is_named(void **state)
{
    const struct compile_options co = { .threads = 1 };
    struct case_graph c = build(&own_library);
    struct tensor bytes = kept(c.g, ELEM_U8, "bytes", 0), to = kept(c.g, ELEM_U8, "to", 0);
    struct compiled *compiled;

    (void)state;
    ss_program_add(c.g, c.main,
                   ss_program_copy(c.g, ss_tensor_slice(c.g, bytes, 0, 1, 2),
                                   ss_tensor_slice(c.g, to, 0, 1, 2)));
    assert_int_equal(ss_graph_compile(c.g, &co, &compiled), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "no codelet that copies a run at multiples of 1 byte"));
    ss_graph_free(c.g);
    assert_int_equal(alloc_live(), 0);
}

/* What a library cannot link is an error that names it, not code of something else. */
static void a_library_refuses_what_is_not_its_own(void **state)
{
    const struct compile_options co = { .threads = 1 };
    struct case_graph c = build(&ss_kernel_library);
    struct compiled *compiled;

    (void)state;
    assert_int_equal(ss_graph_compile(c.g, &co, &compiled), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "add_word is no codelet of the library"));
    assert_null(compiled);
    ss_graph_free(c.g);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_of_the_callers_own_runs),
        cmocka_unit_test(names_are_those_of_the_library),
        cmocka_unit_test(a_missing_copy_is_named),
        cmocka_unit_test(a_library_refuses_what_is_not_its_own),
    };

    return cmocka_run_group_tests_name("codelet library", tests, NULL, NULL);
}
