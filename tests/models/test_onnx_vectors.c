/* test_onnx_vectors.c - ONNX's own test vectors of operators through reader and reference.
 *
 * They lie in /usr/share/libonnx-testdata/data (Debian: libonnx-testdata), or where
 * ONNX_VECTORS says; without them nothing is tested. A folder holds a model and tensors for its
 * inputs and outputs. Inputs that a network would have as constants (integers and bools; what the
 * reading node's row wants to be constant) are bound as such, so that they fold; the others are
 * given to a run. What passes is written as a file, read again, and must pass again. Counts and
 * reasons are printed: SUPERSTEP_LONG=1 also prints the name of each refused folder.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "models/lower/op_program.h"
#include "models/onnx/onnx.h"
#include "models/onnx/onnx_fields.h"
#include "models/onnx/onnx_map.h"
#include "models/onnx/onnx_text.h"
#include "models/pass/op_pass.h"

enum { MAX_TENSORS = 64, MAX_REASONS = 1024 };

/* Beginnings of folders whose outputs are not what the operator's text says. */
static const char *const bad_vectors[] = {
    "test_resize_downsample_scales_linear_align_corners", /* scaled by out / in, not as given */
    "test_resize_downsample_scales_cubic_align_corners",
    "test_blackmanwindow", /* pi is 3.1415 */
    "test_hammingwindow",
    "test_hannwindow",
};

enum result { PASSED, REFUSED, WRONG };

/* Folders by what came of them. */
struct counts {
    unsigned passed, folded, wrong, bad, refused, reasons;
    struct {
        char *text;
        char *folders;
        unsigned count;
    } reason[MAX_REASONS];
};

/* A folder while it is tested. */
enum computer { /* who computes */
                REFERENCE,
                ON_CHIP,    /* emulated tiles */
                NO_WINDOWS, /* the same, what has convolutions and pools, in f32 */
};

struct vector {
    const char *path;
    char why[400];
    struct onnx_mapped model;
    char input[MAX_TENSORS][ONNX_TEXT_MAX + 1]; /* names */
    enum op_type type[MAX_TENSORS];             /* by input, as the model has it */
    unsigned inputs;
    int constant[MAX_TENSORS];  /* by input: a node wants it so */
    int parameter[MAX_TENSORS]; /* by input: networks have constants there */
    int folds;                  /* 1: no node is left */
    enum computer on_chip;
    enum elem real; /* of floats on the chip */
    struct op_tensor in[MAX_TENSORS];
};

/* --- what the model says of its inputs ---------------------------------------------------- */

/* Field `number` of a message, the last if there are several. */
static struct wire_span field(struct wire_source *src, enum onnx_message m, struct wire_span s,
                              uint32_t number)
{
    struct wire_span found = { s.at, s.at };
    struct wire_field f;

    for (;;) {
        assert_int_equal(onnx_next(src, m, &s, &f), EMU_OK);
        if (!f.number)
            return found;
        if (f.number == number)
            found = f.bytes;
    }
}

/* Whether input `port` of an operator is a parameter of its layer. */
static int is_parameter(const char *op, int port)
{
    static const char *const layers[] = { "Conv", "ConvTranspose", "BatchNormalization",
                                          "InstanceNormalization", "LayerNormalization" };

    for (unsigned k = 0; k < EMU_COUNT_OF(layers); k++) {
        if (!strcmp(op, layers[k]))
            return port > 0;
    }
    return 0;
}

/* Marks inputs that a node wants as constants. */
static void mark_constants(struct vector *v, struct wire_source *src, struct wire_span node)
{
    char op[ONNX_TEXT_MAX + 1];
    const struct op_row *row;
    struct op_attr_spec spec;
    struct wire_field f;
    int port = 0;

    onnx_text_copy(field(src, ONNX_NODE, node, ONNX_NODE_OP), op);
    row = op_row_find(op, 0);
    for (;;) {
        assert_int_equal(onnx_next(src, ONNX_NODE, &node, &f), EMU_OK);
        if (!f.number || !row)
            return;
        if (f.number != ONNX_NODE_INPUT)
            continue;
        for (unsigned i = 0; i < v->inputs; i++)
            v->parameter[i] |= onnx_text_is(f.bytes, v->input[i]) && is_parameter(op, port);
        for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
            for (unsigned i = 0; spec.input == port && i < v->inputs; i++)
                v->constant[i] |= onnx_text_is(f.bytes, v->input[i]);
        }
        port++;
    }
}

static void read_input(struct vector *v, struct wire_source *src, struct wire_span info)
{
    struct wire_span type = field(src, ONNX_VALUE_INFO, info, ONNX_VALUE_INFO_TYPE), number;
    uint64_t n = 0;

    assert_true(v->inputs < MAX_TENSORS);
    onnx_text_copy(field(src, ONNX_VALUE_INFO, info, ONNX_VALUE_INFO_NAME), v->input[v->inputs]);
    type = field(src, ONNX_TYPE, type, ONNX_TYPE_TENSOR);
    number = field(src, ONNX_ARRAY, type, ONNX_ARRAY_ELEMENT);
    if (wire_length(number))
        assert_int_equal(wire_varint(src, &number, &n), EMU_OK);
    v->type[v->inputs++] = op_type_number(n);
}

/* Old files list initializers among the inputs. */
static void drop_input(struct vector *v, struct wire_span name)
{
    for (unsigned k = 0; k < v->inputs; k++) {
        if (!onnx_text_is(name, v->input[k]))
            continue;
        v->inputs--;
        memmove(v->input[k], v->input[k + 1], (v->inputs - k) * sizeof(v->input[k]));
        memmove(&v->type[k], &v->type[k + 1], (v->inputs - k) * sizeof(v->type[k]));
        return;
    }
}

static void read_inputs(struct vector *v)
{
    struct wire_source src;
    struct wire_span graph, rest;
    struct wire_field f;

    wire_source_init(&src, v->model.at, v->model.bytes);
    graph = rest = field(&src, ONNX_MODEL, src.all, ONNX_MODEL_GRAPH);
    do {
        assert_int_equal(onnx_next(&src, ONNX_GRAPH, &rest, &f), EMU_OK);
        if (f.number == ONNX_GRAPH_INPUT)
            read_input(v, &src, f.bytes);
    } while (f.number);
    rest = graph;
    do {
        assert_int_equal(onnx_next(&src, ONNX_GRAPH, &rest, &f), EMU_OK);
        if (f.number == ONNX_GRAPH_INITIALIZER)
            drop_input(v, field(&src, ONNX_TENSOR, f.bytes, ONNX_TENSOR_NAME));
    } while (f.number);
    do {
        assert_int_equal(onnx_next(&src, ONNX_GRAPH, &graph, &f), EMU_OK);
        if (f.number == ONNX_GRAPH_NODE)
            mark_constants(v, &src, f.bytes);
    } while (f.number);
}

/* --- numbers ------------------------------------------------------------------------------ */

/* The vectors have bf16 as u16 with its bits. */
static void bf16_of_bits(struct op_tensor *t)
{
    uint64_t n = op_shape_count(&t->shape);
    uint16_t *bits = emu_alloc(n, sizeof(*bits));
    struct op_shape s = t->shape;

    assert_non_null(bits);
    op_tensor_pack(t, bits);
    op_tensor_free(t);
    s.type = OP_TYPE_BF16;
    assert_int_equal(op_tensor_unpack(&s, bits, t), EMU_OK);
    ss_free(bits);
}

/* What there is for an input or output of a type. 0: no tensor, or one of texts. */
static int read_tensor(const struct vector *v, const char *what, unsigned k, enum op_type type,
                       struct op_tensor *out)
{
    struct onnx_mapped file;
    char path[600];
    int ok;

    snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%u.pb", v->path, what, k);
    assert_int_equal(onnx_map(path, &file), EMU_OK);
    ok = onnx_tensor_read(file.at, file.bytes, path, out) == EMU_OK;
    onnx_unmap(&file);
    if (ok && type == OP_TYPE_BF16 && out->shape.type == OP_TYPE_U16)
        bf16_of_bits(out);
    return ok;
}

/* What a number of a type may differ by: 1e-6 of the largest; a unit in the last place of a half.
 * On the chip: 2e-5 of the largest in f32, which is what its functions are good for; in f16, and of
 * what goes through fields, 4e-3. */
static double bound_of(const struct vector *v, enum op_type type, double value, double largest)
{
    double magnitude = fabs(value);

    if (v->on_chip)
        return (v->real == ELEM_F32 ? 2e-5 : 4e-3) * fmax(largest, 1e-3);
    if (type == OP_TYPE_F16)
        return ldexp(fmax(magnitude, ldexp(1, -14)), -10);
    if (type == OP_TYPE_BF16)
        return ldexp(magnitude, -7);
    return 1e-6 * largest;
}

static enum result compare_floats(struct vector *v, unsigned k, const struct op_tensor *got,
                                  const struct op_tensor *want)
{
    uint64_t n = op_shape_count(&want->shape);
    double largest = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (isfinite(want->f[i]))
            largest = fmax(largest, fabs(want->f[i]));
    }
    for (uint64_t i = 0; i < n; i++) {
        double a = got->f[i], b = want->f[i];

        if (a == b || (isnan(a) && isnan(b)) ||
            fabs(a - b) <= bound_of(v, want->shape.type, b, largest))
            continue;
        snprintf(v->why, sizeof(v->why), "output %u [%llu] is %.9g, expected %.9g", k,
                 (unsigned long long)i, a, b);
        return WRONG;
    }
    return PASSED;
}

static enum result compare(struct vector *v, unsigned k, const struct op_tensor *got,
                           const struct op_tensor *want)
{
    char a[OP_SHAPE_TEXT], b[OP_SHAPE_TEXT];

    if (got->shape.type != want->shape.type || !op_shape_equal(&got->shape, &want->shape)) {
        snprintf(v->why, sizeof(v->why), "output %u is %s, expected %s", k,
                 op_shape_text(&got->shape, a), op_shape_text(&want->shape, b));
        return WRONG;
    }
    if (op_type_kind(want->shape.type) == OP_KIND_FLOAT)
        return compare_floats(v, k, got, want);
    for (uint64_t i = 0; i < op_shape_count(&want->shape); i++) {
        if (got->i[i] != want->i[i]) {
            snprintf(v->why, sizeof(v->why), "output %u [%llu] is %lld, expected %lld", k,
                     (unsigned long long)i, (long long)got->i[i], (long long)want->i[i]);
            return WRONG;
        }
    }
    return PASSED;
}

/* --- a folder ----------------------------------------------------------------------------- */

static enum result refused(struct vector *v, const char *fmt, ...) EMU_PRINTF(2, 3);
static enum result refused(struct vector *v, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(v->why, sizeof(v->why), fmt, args);
    va_end(args);
    return REFUSED;
}

static enum result run_graph(struct vector *v, const struct op_graph *g, const struct op_tensor *in)
{
    struct op_tensor out[MAX_TENSORS], want;
    enum result result = PASSED;

    assert_true(g->outputs <= MAX_TENSORS);
    if (op_graph_run(g, in, 1, out) != EMU_OK)
        result = refused(v, "run: %s", ss_error());
    for (unsigned k = 0; k < g->outputs; k++) {
        if (result == PASSED) {
            assert_true(read_tensor(v, "output", k, out[k].shape.type, &want));
            result = compare(v, k, &out[k], &want);
            op_tensor_free(&want);
        }
        op_tensor_free(&out[k]);
    }
    return result;
}

/* ---- on the chip ---- */

/* Runs a program and compares its outputs. */
static enum result run_session(struct vector *v, const struct op_program *p,
                               const struct op_tensor *in)
{
    const struct session_options so = { .threads = 1 };
    const struct op_graph *g = p->network->graph;
    enum result result = PASSED;
    struct session *s;

    assert_int_equal(ss_session_new(p->compiled, &so, &s), EMU_OK);
    for (uint32_t k = 0; k < g->inputs && result == PASSED; k++) {
        if (op_program_write(p, s, k, &in[k]) != EMU_OK)
            result = refused(v, "numbers beyond f32");
    }
    if (result == PASSED && ss_session_run(s) != EMU_OK) {
        snprintf(v->why, sizeof(v->why), "%s", ss_error());
        result = WRONG;
    }
    for (uint32_t k = 0; k < g->outputs && result == PASSED; k++) {
        struct op_tensor got, want;

        assert_int_equal(op_program_read(p, s, k, &got), EMU_OK);
        assert_true(read_tensor(v, "output", k, got.shape.type, &want));
        result = compare(v, k, &got, &want);
        op_tensor_free(&got);
        op_tensor_free(&want);
    }
    ss_session_free(s);
    return result;
}

/* Whether convolutions or pools are left, which are f16. */
static int is_half(const struct op_graph *g)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (op_node_is_of(&g->node[i], FAMILY_conv) || op_node_is_of(&g->node[i], FAMILY_pool))
            return 1;
    }
    return 0;
}

static enum result run_on_chip(struct vector *v, struct op_graph *g, const struct op_tensor *in)
{
    struct op_program_options o = { .compile = { .threads = 1 } };
    enum result result = WRONG;
    struct op_program p;

    assert_int_equal(pass_all(g), EMU_OK);
    v->folds = !g->nodes;
    if (v->on_chip == NO_WINDOWS && !is_half(g))
        return refused(v, "no windows");
    if (!g->nodes)
        return run_graph(v, g, in);
    if (v->on_chip == NO_WINDOWS)
        assert_int_equal(pass_widen(g, NULL), EMU_OK);
    assert_int_equal(pass_spell_windows(g), EMU_OK);
    assert_int_equal(op_lower_check(g), EMU_OK);
    if (g->problems)
        return refused(v, "%s: %s", g->problem[0].op, g->problem[0].why);
    v->real = is_half(g) ? ELEM_F16 : ELEM_F32;
    o.lower.real = v->real;
    if (op_program_new(ss_arch_preset("toy64"), g, &o, &p) != EMU_OK) {
        snprintf(v->why, sizeof(v->why), "%s", ss_error());
        return WRONG;
    }
    if (ss_compiled_fits(p.compiled))
        result = run_session(v, &p, in);
    else
        result = refused(v, "it does not fit 64 tiles");
    op_program_free(&p);
    return result;
}

/* Written as a file and read again, the graph gives the same. */
static enum result run_written(struct vector *v, const struct op_graph *g,
                               const struct op_tensor *in)
{
    struct onnx_model *m = NULL;
    enum result result = WRONG;
    char *file = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&file, &bytes);

    assert_non_null(f);
    if (onnx_write(g, f) != EMU_OK || fclose(f) ||
        onnx_read_bytes(file, bytes, "written", NULL, &m) != EMU_OK)
        snprintf(v->why, sizeof(v->why), "written and read: %s", ss_error());
    else if (m->graph->problems)
        snprintf(v->why, sizeof(v->why), "written and read: %s", m->graph->problem[0].why);
    else
        result = run_graph(v, m->graph, in) == PASSED ? PASSED : WRONG;
    onnx_model_free(m);
    free(file);
    return result;
}

static enum result run_model(struct vector *v)
{
    struct onnx_binding bound[MAX_TENSORS];
    struct op_tensor given[MAX_TENSORS];
    struct onnx_options o = { .bound = bound };
    struct onnx_model *m;
    enum result result;
    unsigned n = 0;

    for (unsigned k = 0; k < v->inputs; k++) {
        if (!v->in[k].any)
            continue;
        if (v->constant[k] || (v->on_chip && v->parameter[k]) ||
            op_type_kind(v->in[k].shape.type) == OP_KIND_INT ||
            (!v->on_chip && op_type_kind(v->in[k].shape.type) != OP_KIND_FLOAT))
            bound[o.bounds++] = (struct onnx_binding){ v->input[k], &v->in[k] };
        else
            given[n++] = v->in[k];
    }
    if (onnx_read_bytes(v->model.at, v->model.bytes, "model", &o, &m) != EMU_OK)
        return refused(v, "%s", ss_error());
    if (m->graph->problems)
        result = refused(v, "%s: %s", m->graph->problem[0].op, m->graph->problem[0].why);
    else if (n != m->graph->inputs)
        result = refused(v, "a tensor for an input is none");
    else if (v->on_chip)
        result = run_on_chip(v, m->graph, given);
    else
        result = run_graph(v, m->graph, given);
    if (result == PASSED && !v->on_chip)
        result = run_written(v, m->graph, given);
    onnx_model_free(m);
    return result;
}

static enum result run_vector(struct vector *v, const char *path, enum computer on_chip)
{
    enum result result;
    char model[600];

    *v = (struct vector){ .path = path, .on_chip = on_chip };
    snprintf(model, sizeof(model), "%s/model.onnx", path);
    assert_int_equal(onnx_map(model, &v->model), EMU_OK);
    read_inputs(v);
    for (unsigned k = 0; k < v->inputs; k++) {
        if (!read_tensor(v, "input", k, v->type[k], &v->in[k]))
            v->in[k].any = NULL;
    }
    result = run_model(v);
    for (unsigned k = 0; k < v->inputs; k++)
        op_tensor_free(&v->in[k]);
    onnx_unmap(&v->model);
    return result;
}

/* --- all of them -------------------------------------------------------------------------- */

static void note_refusal(struct counts *c, const char *folder, const char *why)
{
    unsigned k = 0;
    char *list;

    while (k < c->reasons && strcmp(c->reason[k].text, why))
        k++;
    assert_true(k < MAX_REASONS);
    if (k == c->reasons)
        c->reason[c->reasons++].text = strdup(why);
    list = NULL;
    assert_true(asprintf(&list, "%s %s", c->reason[k].folders ? c->reason[k].folders : "", folder) >
                0);
    free(c->reason[k].folders);
    c->reason[k].folders = list;
    c->reason[k].count++;
    c->refused++;
}

static int is_bad(const char *folder)
{
    for (size_t k = 0; k < EMU_COUNT_OF(bad_vectors); k++) {
        if (!strncmp(folder, bad_vectors[k], strlen(bad_vectors[k])))
            return 1;
    }
    return 0;
}

static void print_counts(const struct counts *c)
{
    for (unsigned k = 0; k < c->reasons; k++) {
        printf("refused %3u  %s\n", c->reason[k].count, c->reason[k].text);
        if (getenv("SUPERSTEP_LONG"))
            printf("            %s\n", c->reason[k].folders);
        free(c->reason[k].text);
        free(c->reason[k].folders);
    }
    printf("%u passed (%u by folding alone), %u refused, %u wrong, %u of wrong vectors\n",
           c->passed, c->folded, c->refused, c->wrong, c->bad);
}

static void run_folder(struct vector *v, const char *root, const char *folder,
                       enum computer on_chip, struct counts *c)
{
    char path[512];
    enum result result;

    snprintf(path, sizeof(path), "%s/%s", root, folder);
    result = run_vector(v, path, on_chip);
    if (result == PASSED) {
        c->passed++;
        c->folded += v->folds != 0;
    } else if (result == REFUSED) {
        note_refusal(c, folder, v->why);
    } else if (is_bad(folder)) {
        c->bad++;
    } else {
        printf("WRONG %s: %s\n", folder, v->why);
        c->wrong++;
    }
}

static void run_set(const char *name, enum computer on_chip, unsigned passed_at_least)
{
    static struct vector v;
    struct counts *c = calloc(1, sizeof(*c));
    const char *data = getenv("ONNX_VECTORS");
    struct dirent **entry;
    char root[256];
    int n;

    assert_non_null(c);
    snprintf(root, sizeof(root), "%s/%s", data ? data : "/usr/share/libonnx-testdata/data", name);
    n = scandir(root, &entry, NULL, alphasort);
    if (n < 0) {
        printf("no vectors in %s: skipped\n", root);
        free(c);
        skip();
    }
    for (int k = 0; k < n; k++) {
        if (!strncmp(entry[k]->d_name, "test_", 5))
            run_folder(&v, root, entry[k]->d_name, on_chip, c);
        free(entry[k]);
    }
    free(entry);
    print_counts(c);
    assert_int_equal(c->wrong, 0);
    assert_true(c->passed >= passed_at_least);
    free(c);
    assert_int_equal(alloc_live(), 0);
}

static void nodes(void **state)
{
    (void)state;
    run_set("node", REFERENCE, 799);
}

static void nodes_of_pytorch(void **state)
{
    (void)state;
    run_set("pytorch-operator", REFERENCE, 35);
}

static void layers_of_pytorch(void **state)
{
    (void)state;
    run_set("pytorch-converted", REFERENCE, 82);
}

static void several_nodes(void **state)
{
    (void)state;
    run_set("simple", REFERENCE, 7);
}

static void nodes_on_chip(void **state)
{
    (void)state;
    run_set("node", ON_CHIP, 781);
}

static void pytorch_on_chip(void **state)
{
    (void)state;
    run_set("pytorch-operator", ON_CHIP, 30);
    run_set("pytorch-converted", ON_CHIP, 67);
}

static void without_windows(void **state)
{
    (void)state;
    run_set("node", NO_WINDOWS, 43);
    run_set("pytorch-converted", NO_WINDOWS, 41);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes),
        cmocka_unit_test(nodes_of_pytorch),
        cmocka_unit_test(layers_of_pytorch),
        cmocka_unit_test(several_nodes),
        cmocka_unit_test(nodes_on_chip),
        cmocka_unit_test(pytorch_on_chip),
        cmocka_unit_test(without_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
