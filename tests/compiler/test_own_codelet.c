/* test_own_codelet.c - codelets that the user of a graph brings along: from a source, an object and
 * an archive they run alike; what is wrong with them is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/programs.h"
#include "programs/compiler/base/codelet.h"

enum { WORDS = 100 };

/* y = 3 x + add, by worker 0; `helper` is called for the product. State: x, y, n, add. */
static const char source[] = ".section .text.__runCodelet_triple, \"ax\"\n.worker\n"
                             ".globl __runCodelet_triple\n.type __runCodelet_triple, @function\n"
                             "__runCodelet_triple:\n"
                             "get $m0, $WSR\nand $m0, $m0, 7\nbrz $m0, 1f\nexitz $mzero\n"
                             "1: ld32 $m1, $mvertex_base, $mzero, 0\n"
                             "ld32 $m2, $mvertex_base, $mzero, 1\n"
                             "ld32 $m3, $mvertex_base, $mzero, 2\n"
                             "ld32 $m4, $mvertex_base, $mzero, 3\n"
                             "2: brz $m3, 3f\n"
                             "ld32step $m5, $mzero, $m1+=, 1\ncall $lr, helper\n"
                             "add $m5, $m5, $m4\nst32step $m5, $mzero, $m2+=, 1\n"
                             "add $m3, $m3, -1\nbri 2b\n3: exitz $mzero\n";
static const char helper[] = ".section .text.helper, \"ax\"\n.globl helper\n"
                             ".type helper, @function\n"
                             "helper: mul $m5, $m5, 3\nbr $lr\n.size helper, . - helper\n";

static const struct own_field fields[] = {
    { FIELD_IN, "x", ELEM_U32, 4, NULL },
    { FIELD_OUT, "y", ELEM_U32, 0, NULL },
    { FIELD_LENGTH, "n", ELEM_U32, 0, "x" },
    { FIELD_U32, "add", ELEM_U32, 0, NULL },
};

static char folder[] = "/tmp/own_codelet_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[4][80];
    static unsigned next;
    char *out = path[next++ % EMU_COUNT_OF(path)];

    snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
    return out;
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    FILE *f = fopen(path_of(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* An object of a text, and an archive of that object. */
static void write_objects(const char *object, const char *archive, const char *text)
{
    char head[80];
    struct asm_unit *u;
    uint8_t *data;
    size_t bytes;
    FILE *f;

    assert_int_equal(asm_unit_new(&(struct asm_options){ .raw = 1 }, &u), EMU_OK);
    assert_int_equal(asm_unit_add_text(u, object, text, strlen(text)), EMU_OK);
    assert_int_equal(asm_unit_object(u, &data, &bytes), EMU_OK);
    write_file(object, data, bytes);
    snprintf(head, sizeof(head), "!<arch>\n%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "m.o/", 0, 0, 0, 644,
             bytes);
    f = fopen(path_of(archive), "wb");
    assert_non_null(f);
    fwrite(head, 1, strlen(head), f);
    fwrite(data, 1, bytes, f);
    assert_int_equal(fclose(f), 0);
    ss_free(data);
    asm_unit_free(u);
}

static struct graph *new_graph(void)
{
    struct graph *g;

    assert_int_equal(ss_graph_new(ss_arch_preset("toy4"), &ss_kernel_library, &g), EMU_OK);
    return g;
}

static struct tensor kept(struct graph *g, const char *name, uint32_t tile)
{
    const uint32_t shape = WORDS;
    struct tensor t = ss_graph_variable(g, ELEM_U32, 1, &shape, name);

    ss_graph_map(g, t, tile);
    ss_graph_keep(g, t);
    return t;
}

/* y = 3 x + 7 on tile 1, x on tile 0, beside a kernel of the library on tile 2. */
static void run_files(const char *const *file, unsigned files)
{
    const struct own_codelet own = { "triple", file, files, CODELET_MULTI, fields, 4, 0, NULL };
    const struct session_options so = { .threads = 1, .check = 1 };
    struct graph *g = new_graph();
    struct tensor x = kept(g, "x", 0), y = kept(g, "y", 1);
    struct program main = ss_program_sequence(g);
    uint32_t set = ss_graph_compute_set(g, "set"), data[WORDS], v;
    const uint32_t two = 2;
    struct tensor other = ss_graph_variable(g, ELEM_F32, 1, &two, "other");
    struct compiled *c;
    struct session *s;

    ss_graph_add_codelet(g, &own);
    v = ss_graph_vertex(g, set, "triple", 1);
    ss_vertex_connect(g, v, "x", x);
    ss_vertex_connect(g, v, "y", y);
    ss_vertex_set_u32(g, v, "add", 7);
    ss_program_add(g, main, ss_program_execute(g, set));
    ss_graph_map(g, other, 2);
    ss_op_fill(g, main, other, 1, "ones");
    ss_graph_set_program(g, main);
    if (ss_graph_compile(g, NULL, &c) != EMU_OK || ss_session_new(c, &so, &s) != EMU_OK)
        fail_msg("%s", ss_error());
    for (uint32_t i = 0; i < WORDS; i++)
        data[i] = i * i;
    if (ss_session_write(s, x, data) != EMU_OK || ss_session_run(s) != EMU_OK ||
        ss_session_read(s, y, data) != EMU_OK)
        fail_msg("%s: %s", file[0], ss_error());
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(data[i], 3 * i * i + 7);
    ss_session_free(s);
    ss_compiled_free(c);
    ss_graph_free(g);
}

static void sources_objects_and_archives_run(void **state)
{
    const char *const sources[] = { path_of("triple.S"), path_of("helper.S") };
    const char *const objects[] = { path_of("triple.a"), path_of("helper.a") };

    (void)state;
    run_files(sources, 2);
    run_files(objects, 2);
}

static enum emu_status compile_with(struct graph *g, const char *const *file, unsigned files)
{
    const struct own_codelet own = { "triple", file, files, CODELET_MULTI, fields, 4, 0, NULL };
    struct tensor x = kept(g, "x", 0), y = kept(g, "y", 0);
    uint32_t set = ss_graph_compute_set(g, "set"), v;
    struct compiled *c = NULL;
    enum emu_status s;

    ss_graph_add_codelet(g, &own);
    v = ss_graph_vertex(g, set, "triple", 0);
    ss_vertex_connect(g, v, "x", x);
    ss_vertex_connect(g, v, "y", y);
    ss_vertex_set_u32(g, v, "add", 7);
    ss_graph_set_program(g, ss_program_execute(g, set));
    s = ss_graph_compile(g, NULL, &c);
    ss_compiled_free(c);
    return s;
}

static void bad_code_is_named(void **state)
{
    static const struct {
        const char *text; /* of the second file; NULL: none */
        enum emu_status status;
        const char *why;
    } row[] = {
        { NULL, EMU_BAD_ASM, "undefined symbol 'helper'" },
        { ".globl helper\n.section .text.h, \"ax\"\nhelper: nonsense\n", EMU_BAD_ASM,
          "no instruction or macro is called 'nonsense'" },
        { ".globl helper\n.section .text.h, \"ax\"\n.type helper, @function\n"
          "helper: call $lr, __runCodelet_triple\nbr $lr\n",
          EMU_BAD_ASM, "calls itself" },
        { ".globl helper, fill_f32\n.section .text.h, \"ax\"\nhelper: br $lr\nfill_f32: br $lr\n",
          EMU_BAD_ASM, "'fill_f32' is already defined in another file" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const char *const file[] = { path_of("triple.S"), path_of("bad.S") };
        struct graph *g = new_graph();
        enum emu_status s;

        if (row[i].text)
            write_file("bad.S", row[i].text, strlen(row[i].text));
        s = compile_with(g, file, row[i].text ? 2 : 1);
        if (s != row[i].status || !strstr(ss_error(), row[i].why))
            fail_msg("%s: %s", row[i].why, s == EMU_OK ? "compiled" : ss_error());
        ss_graph_free(g);
    }
}

static void bad_descriptions_are_named(void **state)
{
    static const struct own_field twice[] = { { FIELD_IN, "x", ELEM_U32, 0, NULL },
                                              { FIELD_U32, "x", ELEM_U32, 0, NULL } };
    static const struct own_field odd[] = { { FIELD_IN, "x", ELEM_U32, 3, NULL } };
    static const struct own_field lost[] = { { FIELD_LENGTH, "n", ELEM_U32, 0, "x" } };
    static const struct own_field nameless[] = { { FIELD_U32, NULL, ELEM_U32, 0, NULL } };
    const char *const good = path_of("triple.S"), *const none = path_of("none.S");
    const struct {
        struct own_codelet own;
        enum emu_status status;
        const char *why;
    } row[] = {
        { { "f", &good, 1, CODELET_MULTI, twice, 2, 0, NULL }, EMU_BAD_PROGRAM, "two fields x" },
        { { "f", &good, 1, CODELET_MULTI, odd, 1, 0, NULL },
          EMU_BAD_PROGRAM,
          "1, 2, 4, 8 or 16 bytes" },
        { { "f", &good, 1, CODELET_MULTI, lost, 1, 0, NULL },
          EMU_BAD_PROGRAM,
          "of an edge or a list" },
        { { "f", &good, 1, CODELET_MULTI, nameless, 1, 0, NULL },
          EMU_BAD_PROGRAM,
          "a name and a kind" },
        { { "f", &good, 1, CODELET_MULTI, fields, 17, 0, NULL },
          EMU_BAD_PROGRAM,
          "at most 16 fields" },
        { { "f", &good, 0, CODELET_MULTI, fields, 4, 0, NULL },
          EMU_BAD_PROGRAM,
          "expected a name, files" },
        { { "fill_f32", &good, 1, CODELET_MULTI, fields, 4, 0, NULL },
          EMU_BAD_PROGRAM,
          "there is one" },
        { { "f", &none, 1, CODELET_MULTI, fields, 4, 0, NULL }, EMU_IO, "none.S" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct graph *g = new_graph();

        ss_graph_add_codelet(g, &row[i].own);
        if (ss_graph_status(g) != row[i].status || !strstr(ss_error(), row[i].why))
            fail_msg("%s: %s", row[i].why, ss_error());
        ss_graph_free(g);
    }
}

/* Two codelets of one file: it is linked once. The interpreter does not know what they mean. */
static void a_file_is_linked_once_and_not_interpreted(void **state)
{
    const char *const file[] = { path_of("triple.S"), path_of("helper.S") };
    const struct own_codelet one = { "triple", file, 2, CODELET_MULTI, fields, 4, 0, NULL }, two = {
        "__runCodelet_triple", file, 2, CODELET_MULTI, fields, 4, 0, NULL
    };
    struct graph *g = new_graph();
    struct interpreter *p;
    struct compiled *c;
    uint32_t set = ss_graph_compute_set(g, "set");

    (void)state;
    ss_graph_add_codelet(g, &one);
    ss_graph_add_codelet(g, &two);
    for (unsigned k = 0; k < 2; k++) {
        uint32_t v = ss_graph_vertex(g, set, k ? "triple" : "__runCodelet_triple", 0);

        ss_vertex_connect(g, v, "x", kept(g, "x", 0));
        ss_vertex_connect(g, v, "y", kept(g, "y", 0));
        ss_vertex_set_u32(g, v, "add", k);
    }
    ss_graph_set_program(g, ss_program_execute(g, set));
    if (ss_graph_compile(g, NULL, &c) != EMU_OK)
        fail_msg("%s", ss_error());
    ss_compiled_free(c);
    assert_int_equal(ss_interpreter_new(g, &p), EMU_OK);
    assert_int_equal(ss_interpreter_run(p, 10), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "has no meaning in C"));
    ss_interpreter_free(p);
    ss_graph_free(g);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    write_file("triple.S", source, strlen(source));
    write_file("helper.S", helper, strlen(helper));
    write_objects("triple.o", "triple.a", source);
    write_objects("helper.o", "helper.a", helper);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const name[] = { "triple.S", "helper.S", "triple.o", "helper.o",
                                        "triple.a", "helper.a", "bad.S" };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(name); i++)
        unlink(path_of(name[i]));
    return rmdir(folder) || alloc_live();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_objects_and_archives_run),
        cmocka_unit_test(bad_code_is_named),
        cmocka_unit_test(bad_descriptions_are_named),
        cmocka_unit_test(a_file_is_linked_once_and_not_interpreted),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
