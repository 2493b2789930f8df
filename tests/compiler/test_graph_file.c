/* test_graph_file.c - graphs as files: what is written and read back is the same graph, whose image
 * has the same bytes; what is wrong with a file is named with its line.
 *
 * SUPERSTEP_LONG=1 runs 2,000 random graphs; SUPERSTEP_SEED=n[,count] these.
 */
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/load/image_internal.h"
#include "programs/compiler/compiled.h"
#include "emu/base/npy_file.h"
#include "programs/compiler/graph_file.h"
#include "programs/lab/lab.h"
#include "tests/fixtures/graph_fixture.h"
#include "tests/fixtures/random_graph.h"
#include "tests/fixtures/seed_range.h"

enum { SEEDS = 60, SEEDS_LONG = 2000, COMPILE = 6 }; /* images of every 6th seed */

/* ---- texts and images ---- */

static char *text_of(const struct graph *g)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    assert_int_equal(ss_graph_write(g, f), EMU_OK);
    fclose(f);
    return text;
}

static enum emu_status read_text(const char *text, const struct arch *arch, struct graph **out)
{
    const struct graph_source s = { .text = text, .bytes = strlen(text), .name = "test.graph" };

    return ss_graph_read(&s, arch, &ss_kernel_library, out);
}

static struct graph *graph_of(const char *text, const struct arch *arch)
{
    struct graph *g;

    if (read_text(text, arch, &g) != EMU_OK)
        fail_msg("%s\n%s", ss_error(), text);
    return g;
}

/* The bytes of the image of a graph; *bytes 0: it does not fit. */
static char *image_of(struct graph *g, size_t *bytes)
{
    struct compiled *c;
    char *out = NULL;
    int fd = memfd_create("image", 0);

    assert_true(fd >= 0);
    if (ss_graph_compile(g, NULL, &c) != EMU_OK)
        fail_msg("%s", ss_error());
    *bytes = 0;
    if (ss_compiled_fits(c)) {
        assert_int_equal(image_write_fd(c->image, fd, "image"), EMU_OK);
        *bytes = (size_t)lseek(fd, 0, SEEK_END);
        out = emu_alloc(*bytes + 1, 1);
        assert_non_null(out);
        assert_int_equal(pread(fd, out, *bytes, 0), (ssize_t)*bytes);
    }
    close(fd);
    ss_compiled_free(c);
    return out;
}

static void same_images(struct graph *a, struct graph *b)
{
    size_t x, y;
    char *p = image_of(a, &x), *q = image_of(b, &y);

    assert_int_equal(x, y);
    if (x)
        assert_memory_equal(p, q, x);
    ss_free(p);
    ss_free(q);
}

/* Written, read, written: the same text. Returns the graph that was read. */
static struct graph *again(const struct graph *g)
{
    char *first = text_of(g), *second;
    struct graph *h = graph_of(first, ss_graph_arch(g));

    second = text_of(h);
    assert_string_equal(first, second);
    free(first);
    free(second);
    return h;
}

static void random_graphs_are_the_same(void **state)
{
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);
    unsigned texts = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct random_graph *r = random_graph_new(seed, NULL);
        struct graph *h = again(r->g);

        if (seed % COMPILE == 0 || seeds.count > SEEDS || seeds.chosen)
            same_images(r->g, h);
        texts += h->vertex.count > 0;
        ss_graph_free(h);
        random_graph_free(r);
    }
    assert_true(seeds.chosen || texts > seeds.count / 2);
}

/* All programs of the lab that are compiled from a graph, as large as suits the machine. */
static void lab_programs_are_the_same(void **state)
{
    (void)state;
    for (const struct named_program *const *p = ss_lab_programs; *p; p++) {
        struct graph *g = graph_on("toy4"), *h;
        uint64_t value[PROGRAM_MAX_PARAMS];
        void *data = NULL;

        for (unsigned k = 0; k < (*p)->params; k++)
            value[k] = (*p)->param[k].value;
        lab_defaults(*p, ss_graph_arch(g), value);
        if ((*p)->build(g, value, &data) != EMU_OK || ss_graph_status(g) != EMU_OK)
            fail_msg("%s: %s", (*p)->name, ss_error());
        h = again(g);
        same_images(g, h);
        ss_graph_free(h);
        ss_graph_free(g);
        if ((*p)->done)
            (*p)->done(data);
    }
}

/* ---- what a graph may have ---- */

/* Two things of one name, names of any characters, scopes that names do not say, numbers that are
 * none, vertices of two sets in turn. */
static struct graph *odd_graph(void)
{
    static const uint32_t odd[4] = { 0x7fc00001, 0xff800000, 0x80000000, 0x00000001 };
    static const uint16_t half[3] = { 0x3c01, 0xfe00, 0x8001 };
    struct graph *g = graph_on("toy16");
    uint32_t set[2], v;
    struct program all;
    struct tensor x, y, z;

    ss_graph_set_group(g, 12, 4, 3);
    ss_graph_set_nan_on_overflow(g);
    ss_graph_push(g, "net");
    ss_graph_push(g, "a/b c");
    x = ss_graph_constant(g, ELEM_F32, SHAPE(4), odd, "x");
    ss_graph_pop(g);
    ss_graph_push(g, "net");
    y = ss_graph_constant_repeated(g, ELEM_F16, SHAPE(2, 3), half, "0 \"quoted\" \\ \x01 name");
    ss_graph_pop(g);
    z = ss_graph_variable(g, ELEM_F32, SHAPE(4), "net");
    ss_graph_pop(g);
    ss_graph_variable(g, ELEM_F32, SHAPE(0, 2), "net/net");
    (void)ss_graph_variable(g, ELEM_F32, SHAPE(4), "net");
    ss_graph_map(g, x, 3);
    ss_graph_map(g, y, 5);
    for (uint32_t k = 0; k < g->variable.count; k++)
        ss_graph_map(g, g->variable.at[k].whole, k + 7);
    ss_graph_keep(g, z);
    ss_graph_set_initial(g, ss_tensor_slice(g, z, 0, 1, 2), &odd[0]);
    set[0] = ss_graph_compute_set(g, "set");
    set[1] = ss_graph_compute_set(g, "set");
    all = ss_program_sequence(g);
    ss_graph_push(g, "net");
    for (uint32_t k = 0; k < 4; k++) {
        v = ss_graph_vertex(g, set[k % 2], "fill_f32", k);
        ss_vertex_connect(g, v, "out", ss_tensor_slice(g, z, 0, k, k + 1));
        ss_vertex_set_f32(g, v, "value", k ? -1.0f / 3 : fp_float(odd[0]));
    }
    ss_program_add(g, all, ss_program_execute(g, set[1]));
    ss_graph_pop(g);
    ss_program_add(g, all, ss_program_execute(g, set[0]));
    ss_program_add(g, all, ss_program_copy(g, x, z));
    ss_graph_set_program(g, all);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    return g;
}

static void odd_things_come_back(void **state)
{
    struct graph *g = odd_graph(), *h = again(g);
    char *text = text_of(g);

    (void)state;
    assert_non_null(strstr(text, "\nscope 2 \"net/a/b c\" in net\n"));
    assert_non_null(strstr(text, "    = 0x7fc00001 -inf -0 1.40129846e-45\n"));
    assert_non_null(
        strstr(text, "\"net/0 \\\"quoted\\\" \\\\ \\x01 name\" f16 [2,3] contents 2 times"));
    assert_non_null(strstr(text, "out = net#2[0:1]\n"));
    assert_non_null(strstr(text, "    execute set#1 in net\n    execute set#0\n"));
    assert_non_null(strstr(text, "\nnan on overflow\n"));
    free(text);
    for (uint32_t k = 0; k < g->scope.count; k++)
        assert_int_equal(h->scope.at[k].parent, g->scope.at[k].parent);
    for (uint32_t k = 0; k < g->variable.count; k++)
        assert_int_equal(h->variable.at[k].scope, g->variable.at[k].scope);
    for (uint32_t k = 0; k < g->vertex.count; k++)
        assert_int_equal(h->vertex.at[k].compute_set, g->vertex.at[k].compute_set);
    assert_int_equal(h->field.at[1].value, 0x7fc00001);
    same_images(g, h);
    ss_graph_free(g);
    ss_graph_free(h);
}

/* As somebody writes it: without numbers, with comments, a line for many tiles whose last one gets
 * less, numbers in any form. */
static const char by_hand[] = "# two halves\n"
                              "superstep-graph 1\n"
                              "machine toy4   # four tiles\n"
                              "\n"
                              "variable x f32 [10] kept contents\n"
                              "\t[0:10] on tiles 0 to 3, 3 each\n"
                              "    = 1 2.5 -3e2 0x3f800000 inf\n"
                              "    = 5 6 7 8 9\n"
                              "variable y f32 [10] kept\n"
                              "  [0:5] on tile 1\n"
                              "  [5:10] on tile 2\n"
                              "compute set fill\n"
                              " vertex fill_f32 on tile 1\n"
                              "     out = y[0 + 5 by 2]\n"
                              "     value = 0.1\n"
                              "program\n"
                              "  repeat 2\n"
                              "    sequence\n"
                              "      copy x to y\n"
                              "      execute fill\n";

static void a_file_by_hand_runs(void **state)
{
    static const float want[] = { 0.1f, 2.5f, 0.1f, 1, 0.1f, 5, 0.1f, 7, 0.1f, 9 };
    const struct graph_source source = { .text = by_hand, .bytes = strlen(by_hand), .name = "x" };
    struct graph *g = graph_of(by_hand, NULL);
    struct graph_port port;
    struct compiled *c;
    struct session *s;
    struct arch a;
    float got[10];

    (void)state;
    assert_int_equal(ss_graph_read_machine(&source, &a), EMU_OK);
    assert_int_equal(a.tiles, 4);
    assert_int_equal(ss_graph_arch(g)->tiles, 4);
    assert_int_equal(ss_graph_tile_of(g, g->variable.at[0].whole, 9), 3);
    assert_true(ss_graph_port(g, 1, &port) && port.is_read && port.is_written);
    assert_string_equal(port.name, "y");
    assert_false(ss_graph_port(g, 2, &port));
    assert_int_equal(ss_graph_compile(g, NULL, &c), EMU_OK);
    assert_int_equal(ss_session_new(c, NULL, &s), EMU_OK);
    assert_int_equal(ss_session_run(s), EMU_OK);
    assert_true(ss_graph_port(g, 1, &port));
    assert_int_equal(ss_session_read(s, port.tensor, got), EMU_OK);
    assert_memory_equal(got, want, sizeof(want));
    ss_session_free(s);
    ss_compiled_free(c);
    ss_graph_free(g);
}

/* Codelets of one's own, beside the graph file. */
static void own_codelets_come_along(void **state)
{
    static const char text[] = "superstep-graph 1\n"
                               "machine toy4\n"
                               "codelet cube multi stack 8 from \"own_codelet.S\"\n"
                               "    in x u32\n"
                               "    out y u32 align 8\n"
                               "    length n of x\n"
                               "    apart x from y\n"
                               "variable x u32 [3] contents\n"
                               "    [0:3] on tile 2\n"
                               "    = 1 2 3\n"
                               "variable y u32 [3] kept\n"
                               "    [0:3] on tile 2\n"
                               "compute set cubes\n"
                               "  vertex cube on tile 2\n"
                               "    x = x\n"
                               "    y = y\n"
                               "program\n"
                               "  execute cubes\n";
    struct graph_source source = { .text = text,
                                   .bytes = strlen(text),
                                   .name = "docs/howto/some.graph" };
    struct graph *g, *h;

    (void)state;
    if (ss_graph_read(&source, NULL, &ss_kernel_library, &g) != EMU_OK)
        fail_msg("%s", ss_error());
    h = again(g);
    same_images(g, h);
    ss_graph_free(g);
    ss_graph_free(h);
    source.no_files = 1;
    assert_int_equal(ss_graph_read(&source, NULL, &ss_kernel_library, &g), EMU_BAD_FILE);
    error_says("docs/howto/some.graph:3: file own_codelet.S: no files are read here");
    source.no_files = 0;
    source.name = "no/such/folder/some.graph";
    assert_int_equal(ss_graph_read(&source, NULL, &ss_kernel_library, &g), EMU_IO);
    error_says("some.graph:3: own_codelet.S: ");
}

/* Contents from a file beside the graph file, of another type; and one that does not suit. */
static void contents_come_from_npy(void **state)
{
    static const double numbers[] = { 1, 2, 70000 };
    static const char folder[] = "/tmp/graph_file_XXXXXX";
    char path[64], name[80], text[300];
    struct graph_source source = { .text = text, .name = name };
    struct graph *g;
    FILE *f;

    (void)state;
    snprintf(path, sizeof(path), "%s", folder);
    assert_non_null(mkdtemp(path));
    snprintf(name, sizeof(name), "%s/x.graph", path);
    strcat(path, "/n.npy");
    f = fopen(path, "wb");
    assert_non_null(f);
    npy_write_header("f8", 1, (const uint32_t[]){ 3 }, f);
    fwrite(numbers, sizeof(*numbers), 3, f);
    assert_int_equal(fclose(f), 0);
    for (int k = 0; k < 4; k++) {
        static const char *const type[] = { "f32 [3]", "f16 [3]", "f32 [4]", "u32 [3,1]" };
        static const char *const says[] = { NULL, ":3: |element 2 is 70000; expected a number that",
                                            ":3: |expected 4 numbers in C order", NULL };

        source.bytes = (size_t)snprintf(text, sizeof(text),
                                        "superstep-graph 1\nmachine toy4\n"
                                        "variable x %s contents from n.npy\n"
                                        "  [0:3] on tile 0\n",
                                        type[k]);
        if (says[k]) {
            assert_int_equal(ss_graph_read(&source, NULL, &ss_kernel_library, &g), EMU_BAD_FILE);
            error_says(says[k]);
            continue;
        }
        assert_int_equal(ss_graph_read(&source, NULL, &ss_kernel_library, &g), EMU_OK);
        assert_int_equal(((const uint32_t *)g->variable.at[0].initial)[2],
                         k ? 70000 : fp_bits(70000));
        ss_graph_free(again(g));
        ss_graph_free(g);
    }
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = 0;
    assert_int_equal(rmdir(path), 0);
}

/* ---- what is wrong ---- */

#define HEAD "superstep-graph 1\nmachine toy4\n"
#define XY   "variable x f32 [8]\n  [0:8] on tile 1\nvariable y f32 [2,4]\n  [0:8] on tile 2\n"
#define SET  "compute set s\n"

static const struct {
    const char *text, *message;
} wrong[] = {
    { "", "test.graph:1: expected 'superstep-graph', found the end of the file" },
    { "machine toy4\n", "test.graph:1: expected 'superstep-graph', found 'machine toy4'" },
    { "superstep-graph 2\n", ":1: expected version from 1 to 1, found '2'" },
    { "superstep-graph 1\n", ":1: expected 'machine', found the end of the file" },
    { "superstep-graph 1\nmachine toy5\n", ":2: machine toy5 is not built in" },
    { "superstep-graph 1\nmachine toy4 tiles 4000000000\n", ":2: |tiles" },
    { HEAD "  group 0 tile 1\n", ":3: expected no spaces before this line, found 'group" },
    { HEAD "what is this\n", ":3: expected group, nan, codelet,|found 'what is this'" },
    { HEAD "group 0 tiles 0 to 4\n", ":3: expected a tile from 0 to 3, found '4'" },
    { HEAD "group 64 tile 0\n", ":3: sync group 64" },
    { HEAD "scope 7 x\n",
      ":3: expected 1, the number of the next scope, or no number, found '7 x'" },
    { HEAD "scope x in y\n", ":3: there is no scope y above this line" },
    { HEAD "variable x f64 [8]\n", ":3: expected a type: u8, f16, f32, i32 or u32, found 'f64" },
    { HEAD "variable x f32 [8\n", ":3: expected ']', found the end of the line" },
    { HEAD "variable x f32 [1,1,1,1,1,1,1,1,1]\n", ":3: expected at most 8 sizes" },
    { HEAD "variable x f32 [4294967296]\n", ":3: expected a size from 0 to 4294967295" },
    { HEAD "variable x f32 [4294967295,4294967295]\n", ":3: variable x|more than 2^48 elements" },
    { HEAD "variable \"x f32 [8]\n", ":3: expected '\"'" },
    { HEAD "variable \"x\\q\" f32 [8]\n", ":3: expected \\\", \\\\ or" },
    { HEAD "variable \"\xff\" f32 [8]\n", ":3: expected a name in UTF-8" },
    { HEAD "variable x f32 [8] kept twice\n", ":3: expected the end of the line, found 'twice'" },
    { HEAD "variable x f32 [8]\n  [0:9] on tile 1\n", ":4: expected the end of a run from 0 to 8" },
    { HEAD "variable x f32 [8]\n  [0:8] on tile 4\n",
      ":4: expected a tile from 0 to 3, found '4'" },
    { HEAD "variable x f32 [8]\n  [0:8] on tiles 0 to 3, 1 each\n",
      ":4: 8 elements, 1 each, are not for 4 tiles" },
    { HEAD "variable x f32 [8]\n  = 1\n", ":4: numbers of a variable whose line does not say" },
    { HEAD "variable x f32 [8] contents\n  = 1 2\n", ":3: expected 8 numbers below x, found 2" },
    { HEAD "variable x f32 [1] contents\n  = 1 2\n", ":4: expected 1 numbers, found '2'" },
    { HEAD "variable x f16 [1] contents\n  = 70000\n", ":4: expected a number that f16 can hold" },
    { HEAD "variable x f32 [1] contents\n  = 1e39\n", ":4: expected a number that f32 can hold" },
    { HEAD "variable x u8 [1] contents\n  = 256\n", ":4: expected a whole number from 0 to 255" },
    { HEAD "variable x i32 [1] contents\n  = 1.5\n", ":4: expected a whole number of type i32" },
    { HEAD "variable x f32 [2] contents 2 times\n", ":3: expected the end of the line, found '2" },
    { HEAD "constant x f32 [2] contents 3 times\n",
      ":3: expected the size of the first dimension" },
    { HEAD "constant x f32 [2]\n", ":3: expected 'contents' of a constant" },
    { HEAD "stream s in f32 [0] depth 1\n", ":3: expected elements of a transfer from 1" },
    { HEAD "stream s up f32 [1] depth 1\n", ":3: expected 'in', found 'up" },
    { HEAD "stream s in f32 [1] depth 0\n", ":3: stream s: 1 elements, depth 0" },
    { HEAD "codelet c single from \"x.S\"\n", ":3: expected 'multi', found 'single" },
    { HEAD SET "  vertex no_such on tile 0\n",
      ":4: compute set s, tile 0: there is no codelet no_such" },
    { HEAD SET "  vertex fill_f32 on tile 4\n", ":4: compute set s: a vertex fill_f32 on tile 4" },
    { HEAD XY SET "  vertex fill_f32 on tile 0\n    out = x\n",
      ":8: expected a line for field value of codelet fill_f32" },
    { HEAD XY SET "  vertex fill_f32 on tile 0\n    in = x\n",
      ":9: codelet fill_f32 has no field in, it has out, value" },
    { HEAD XY SET "  vertex fill_f32 on tile 0\n    out = x\n    out = x\n",
      ":10: a second line for field out" },
    { HEAD XY SET "  vertex fill_f32 on tile 0\n    out = z\n",
      ":9: there is no variable z above this line" },
    { HEAD XY SET "  vertex fill_f32 on tile 0\n    value = many\n",
      ":9: expected a number, or the bits of one as 0x..., found 'many'" },
    { HEAD XY SET "  vertex 1 fill_f32 on tile 0\n    out = x\n    value = 1\n",
      ":8: expected 0, the number of the next vertex, or no number, found '1 fill" },
    { HEAD XY "program\n  copy x to y\n", ":8: ss_program_copy: x [8] of type f32 to y [2,4]" },
    { HEAD XY "program\n  copy x y\n", ":8: expected 'to', found 'y'" },
    { HEAD XY "program\n  copy x[0:9] to y\n", ":8: expected the end of a run from 0 to 8" },
    { HEAD XY "program\n  copy x[0 + 2 by 4 + 2 by 4] to y\n",
      ":8: expected a view that ends within the 8 elements" },
    { HEAD XY "program\n  copy x as [3,3] to y\n", ":8: [3,3] has not the 8 elements of [0:8]" },
    { HEAD XY "program\n  copy transpose(0: y) to y\n", ":8: transpose of y [2,4] names 1" },
    { HEAD XY "program\n  copy slice(1, 3:5: y) to y\n", ":8: ss_tensor_slice of y [2,4]: [3, 5)" },
    { HEAD XY "program\n  copy concat(0: x, y) to y\n", ":8: ss_tensor_concat, tensor 1" },
    { HEAD XY "program\n  copy x#1 to y\n", ":8: variable 1 is not called x" },
    { HEAD XY XY "program\n  copy x to y\n", ":12: 2 variables are called x; x#0 is the first" },
    { HEAD "program\n  sequence\n      sequence\n    sequence\n",
      ":6: expected 6 spaces before this line" },
    { HEAD "program\n  sequence\n  sequence\n", ":5: expected one node only" },
    { HEAD "program\n  repeat 5\n", ":4: expected an indented line before this one" },
    { HEAD XY "program\n  if x\n    else\n", ":9: expected 'then', found 'else'" },
    { HEAD "program\n  jump\n", ":4: expected sequence, execute," },
    { HEAD "program\n  execute s\n", ":4: there is no compute set s above this line" },
    { HEAD "program\n  call f\n", ":4: there is no function f above this line" },
    { HEAD "program\n  together\n", ":4: expected 'group', indented" },
    { HEAD "program\n  sequence\nprogram\n", ":5: a second program" },
};

static void errors_name_the_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(wrong); i++) {
        struct graph *g;
        enum emu_status s = read_text(wrong[i].text, NULL, &g);

        if (s == EMU_OK)
            fail_msg("accepted: %s", wrong[i].text);
        assert_true(s == EMU_BAD_FILE || s == EMU_BAD_MACHINE);
        assert_null(g);
        error_says(wrong[i].message);
        assert_non_null(strstr(ss_error(), "test.graph:"));
    }
}

static void depth_has_a_limit(void **state)
{
    char *text = NULL;
    struct graph *g;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    fprintf(f, HEAD "program\n");
    for (int k = 1; k < 200; k++)
        fprintf(f, "%*srepeat 1\n", k, "");
    fclose(f);
    assert_int_equal(read_text(text, NULL, &g), EMU_BAD_FILE);
    error_says("test.graph:132: more than 128 within each other");
    free(text);
}

static void every_allocation_may_fail(void **state)
{
    struct graph *odd = odd_graph(), *g;
    char *text = text_of(odd);
    long blocks = alloc_live();
    enum emu_status s = EMU_NO_MEMORY;
    unsigned failures = 0;

    (void)state;
    for (long n = 0; s != EMU_OK; n++) {
        alloc_test_fail_at(n);
        s = read_text(text, NULL, &g);
        alloc_test_fail_at(-1);
        ss_graph_free(g);
        failures += s != EMU_OK;
        assert_true(s == EMU_OK || s == EMU_NO_MEMORY);
        assert_int_equal(alloc_live(), blocks);
    }
    assert_true(failures > 10);
    free(text);
    ss_graph_free(odd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_the_same), cmocka_unit_test(odd_things_come_back),
        cmocka_unit_test(a_file_by_hand_runs),        cmocka_unit_test(own_codelets_come_along),
        cmocka_unit_test(contents_come_from_npy),     cmocka_unit_test(lab_programs_are_the_same),
        cmocka_unit_test(errors_name_the_line),       cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(every_allocation_may_fail),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("graph file", tests, NULL, NULL);
}
