/* program_ports.c - .npy files for variables and streams of a program, by name. */
#include "programs/cli/program_ports.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "emu/base/json_text.h"
#include "programs/cli/program_options.h"
#include "programs/compiler/graph/graph_words.h"

/* What is read of the command line. */
OPTION_READ(LIST, input)
OPTION_READ(FLAG, json)
OPTION_READ(LIST, save)

enum { SHOWN = 16, NAMES_BYTES = 300 };

/* ---- names ---- */

static int is_stream(const struct graph_port *p)
{
    return p->stream != UINT32_MAX;
}

static int is_for(const struct graph_port *p, int write)
{
    return write ? p->is_written : p->is_read;
}

/* "x, y", the names of what may be written or read. */
static void names_text(const struct graph *g, int write, char out[NAMES_BYTES])
{
    struct graph_port p;
    size_t used = 0;

    snprintf(out, NAMES_BYTES, "there are none");
    for (size_t n = 0; ss_graph_port(g, n, &p) && used < NAMES_BYTES; n++) {
        if (is_for(&p, write))
            used +=
                (size_t)snprintf(out + used, NAMES_BYTES - used, "%s%s", used ? ", " : "", p.name);
    }
}

/* What "NAME=FILE" of an option names; "FILE" alone: the only one that there is. The last "=" that
 * makes a name counts. */
static enum emu_status find_port(const struct graph *g, const char *text, int write,
                                 struct graph_port *out, const char **file)
{
    struct graph_port p;
    char names[NAMES_BYTES];
    unsigned count = 0;

    for (size_t n = 0; ss_graph_port(g, n, &p); n++) {
        size_t length = strlen(p.name);

        if (!is_for(&p, write))
            continue;
        count++;
        *out = p;
        if (!strncmp(text, p.name, length) && text[length] == '=') {
            *file = text + length + 1;
            return EMU_OK;
        }
    }
    *file = text;
    if (count == 1 && !strchr(text, '='))
        return EMU_OK;
    names_text(g, write, names);
    return FAIL(USAGE, "--%s %s: expected NAME=FILE.npy with a name that the host may %s: %s",
                write ? "input" : "save", text, write ? "write" : "read", names);
}

/* ---- before a run ---- */

static enum emu_status wrong_shape(const struct graph_port *p, const struct graph *g,
                                   const char *file, const struct npy_array *a)
{
    const struct graph_text found = shape_text(a->rank, a->dim);

    if (is_stream(p))
        return FAIL(BAD_FILE, "%s: %s for stream %s, which takes %" PRIu64 " elements at a time",
                    file, found.text, p->name, p->elements);
    return FAIL(BAD_FILE, "%s: %s for %s, which is %s", file, found.text, p->name,
                shape_text(ss_tensor_rank(g, p->tensor), ss_tensor_shape(g, p->tensor)).text);
}

static enum emu_status check_shape(const struct graph_port *p, const struct graph *g,
                                   const char *file, const struct npy_array *a)
{
    unsigned rank = is_stream(p) ? 0 : ss_tensor_rank(g, p->tensor);

    if (a->fortran)
        return FAIL(BAD_FILE, "%s: expected C order: numpy.ascontiguousarray", file);
    if (is_stream(p))
        return a->elements % p->elements ? wrong_shape(p, g, file, a) : EMU_OK;
    if (a->rank != rank || memcmp(a->dim, ss_tensor_shape(g, p->tensor), rank * sizeof(*a->dim)))
        return wrong_shape(p, g, file, a);
    return EMU_OK;
}

/* The elements of an array in a type. *out is owned by the caller. */
static enum emu_status convert(const struct npy_array *a, enum elem e, const char *file, void **out)
{
    *out = emu_alloc(a->elements + 1, ss_elem_bytes(e));
    return *out ? elements_of_npy(a, e, file, *out) : FAIL(NO_MEMORY, "%s", file);
}

/* data: the numbers of the file; of a stream they stay in use. */
static enum emu_status give(struct session *s, const struct graph_port *p, const char *file,
                            void **data)
{
    struct npy_array a;
    void *bytes;
    enum emu_status st = npy_load(file, &bytes, &a);

    if (st == EMU_OK)
        st = check_shape(p, ss_session_graph(s), file, &a);
    if (st == EMU_OK)
        st = convert(&a, p->elem, file, data);
    ss_free(bytes);
    TRY(st);
    return is_stream(p) ? ss_session_feed(s, p->stream, *data, a.elements / p->elements)
                        : ss_session_write(s, p->tensor, *data);
}

/* Whether an option before number `end` names the same. */
static int is_named(const struct request *q, const struct graph *g, const char *name, size_t end)
{
    for (size_t i = 0; i < end; i++) {
        struct graph_port p;
        const char *file;

        if (find_port(g, option_input(q)->item[i], 1, &p, &file) == EMU_OK && !strcmp(p.name, name))
            return 1;
    }
    return 0;
}

/* What --input does not name: inputs are 0; streams must have numbers. */
static enum emu_status write_others(const struct request *q, struct session *s)
{
    const struct graph *g = ss_session_graph(s);
    struct graph_port p;

    for (size_t n = 0; ss_graph_port(g, n, &p); n++) {
        void *zeros;
        enum emu_status st;

        if (!p.is_written || p.is_read || is_named(q, g, p.name, option_input(q)->count))
            continue;
        if (is_stream(&p) && q->use & USE_RUN)
            return FAIL(USAGE, "stream %s has no numbers: --input %s=FILE.npy", p.name, p.name);
        if (is_stream(&p))
            continue;
        zeros = emu_alloc(p.elements + 1, ss_elem_bytes(p.elem));
        st = zeros ? ss_session_write(s, p.tensor, zeros) : FAIL(NO_MEMORY, "%s", p.name);
        ss_free(zeros);
        TRY(st);
    }
    return EMU_OK;
}

enum emu_status port_inputs_write(const struct request *q, struct session *s,
                                  struct port_inputs *in)
{
    in->fed = emu_alloc(option_input(q)->count + 1, sizeof(*in->fed));
    if (!in->fed)
        return FAIL(NO_MEMORY, "inputs");
    in->count = option_input(q)->count;
    for (size_t i = 0; i < option_input(q)->count; i++) {
        struct graph_port p;
        const char *file;

        TRY(find_port(ss_session_graph(s), option_input(q)->item[i], 1, &p, &file));
        if (is_named(q, ss_session_graph(s), p.name, i))
            return FAIL(USAGE, "--input %s: a second file for %s", option_input(q)->item[i],
                        p.name);
        TRY(give(s, &p, file, &in->fed[i]));
    }
    return write_others(q, s);
}

void port_inputs_free(struct port_inputs *in)
{
    for (size_t i = 0; i < in->count; i++)
        ss_free(in->fed[i]);
    ss_free(in->fed);
}

/* ---- after a run ---- */

/* All elements of what the host may read. *data is owned by the caller; of a stream, the elements
 * of all transfers. */
static enum emu_status read_port(struct session *s, const struct graph_port *p, void **data,
                                 uint64_t *elements)
{
    uint64_t transfers;

    if (is_stream(p)) {
        TRY(ss_session_output(s, p->stream, data, &transfers));
        *elements = transfers * p->elements;
        return EMU_OK;
    }
    *elements = p->elements;
    *data = emu_alloc(p->elements + 1, ss_elem_bytes(p->elem));
    return *data ? ss_session_read(s, p->tensor, *data) : FAIL(NO_MEMORY, "%s", p->name);
}

/* Of a stream: [transfers, elements]. */
static unsigned port_shape(const struct graph *g, const struct graph_port *p, uint64_t elements,
                           uint32_t shape[TENSOR_MAX_RANK])
{
    if (is_stream(p)) {
        shape[0] = (uint32_t)(elements / p->elements);
        shape[1] = (uint32_t)p->elements;
        return 2;
    }
    memcpy(shape, ss_tensor_shape(g, p->tensor), ss_tensor_rank(g, p->tensor) * sizeof(*shape));
    return ss_tensor_rank(g, p->tensor);
}

enum emu_status port_files_open(const struct request *q, struct port_files *f)
{
    f->saves = 0;
    f->save = emu_alloc(option_save(q)->count + 1, sizeof(struct output_file *));
    if (!f->save)
        return FAIL(NO_MEMORY, "outputs");
    for (; f->saves < option_save(q)->count; f->saves++) {
        const char *text = option_save(q)->item[f->saves], *equals = strrchr(text, '=');
        const char *file = equals ? equals + 1 : text;

        TRY(output_not_input(file, q->what));
        for (size_t i = 0; i < option_input(q)->count; i++) {
            const char *is = strrchr(option_input(q)->item[i], '=');

            TRY(output_not_input(file, is ? is + 1 : option_input(q)->item[i]));
        }
        TRY(output_open(file, &f->save[f->saves]));
    }
    return EMU_OK;
}

void port_files_close(struct port_files *f)
{
    for (size_t i = 0; f->save && i < f->saves; i++)
        output_discard(f->save[i]);
    ss_free(f->save);
    *f = (struct port_files){ NULL, 0 };
}

enum emu_status port_files_check(const struct request *q, const struct graph *g)
{
    for (size_t i = 0; i < option_save(q)->count; i++) {
        struct graph_port p;
        const char *file;

        TRY(find_port(g, option_save(q)->item[i], 0, &p, &file));
    }
    return EMU_OK;
}

enum emu_status port_files_write(const struct request *q, struct session *s, struct port_files *f)
{
    for (size_t i = 0; i < f->saves; i++) {
        uint32_t shape[TENSOR_MAX_RANK];
        struct graph_port p;
        const char *file;
        uint64_t elements = 0;
        void *data = NULL;
        enum emu_status st;
        FILE *out = output_stream(f->save[i]);

        TRY(find_port(ss_session_graph(s), option_save(q)->item[i], 0, &p, &file));
        st = read_port(s, &p, &data, &elements);
        if (st == EMU_OK) {
            unsigned rank = port_shape(ss_session_graph(s), &p, elements, shape);

            npy_write_header(npy_type_of(p.elem), rank, shape, out);
            fwrite(data, ss_elem_bytes(p.elem), elements, out);
        }
        ss_free(data);
        TRY(output_finish(&f->save[i], st));
    }
    return EMU_OK;
}

/* ---- the answer ---- */

static json_t *number_json(enum elem e, const uint8_t *at)
{
    uint32_t bits = 0;
    double value;

    memcpy(&bits, at, ss_elem_bytes(e));
    if (e != ELEM_F16 && e != ELEM_F32)
        return json_integer(e == ELEM_I32 ? (int32_t)bits : (int64_t)bits);
    value = e == ELEM_F32 ? (double)fp_float(bits) : fp_f16_value((uint16_t)bits);
    return isfinite(value) ? json_real(value)
                           : json_string(isnan(value) ? "nan"
                                         : value > 0  ? "inf"
                                                      : "-inf");
}

/* {"type": "f32", "shape": [8], "numbers": [the first ones]} */
static json_t *port_json(const struct graph *g, const struct graph_port *p, const uint8_t *data,
                         uint64_t elements)
{
    uint32_t shape[TENSOR_MAX_RANK];
    unsigned rank = port_shape(g, p, elements, shape);
    json_t *sizes = json_array(), *numbers = json_array();

    for (unsigned k = 0; sizes && k < rank; k++)
        (void)json_array_append_new(sizes, json_integer(shape[k]));
    for (uint64_t k = 0; numbers && k < elements && k < SHOWN; k++)
        (void)json_array_append_new(numbers,
                                    number_json(p->elem, data + k * ss_elem_bytes(p->elem)));
    return json_pack("{s:s, s:o, s:o}", "type", ss_elem_name(p->elem), "shape", sizes, "numbers",
                     numbers);
}

/* "f32 [8]: 0.5 1 2" */
static json_t *port_text(const struct graph *g, const struct graph_port *p, const uint8_t *data,
                         uint64_t elements)
{
    uint32_t shape[TENSOR_MAX_RANK];
    unsigned rank = port_shape(g, p, elements, shape);
    char *text = NULL;
    size_t bytes;
    json_t *out;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return NULL;
    fprintf(f, "%s %s:", ss_elem_name(p->elem), shape_text(rank, shape).text);
    for (uint64_t k = 0; k < elements && k < SHOWN; k++) {
        fprintf(f, " ");
        write_element(p->elem, data + k * ss_elem_bytes(p->elem), f);
    }
    if (elements > SHOWN)
        fprintf(f, " ...");
    fclose(f);
    out = text ? json_text(text) : NULL;
    free(text); /* allocated by open_memstream */
    return out;
}

enum emu_status ports_answer(const struct request *q, struct session *s, json_t *answer)
{
    const struct graph *g = ss_session_graph(s);
    struct graph_port p;

    for (size_t n = 0; ss_graph_port(g, n, &p); n++) {
        uint64_t elements = 0;
        void *data = NULL;
        enum emu_status st;
        json_t *v;

        if (!p.is_read)
            continue;
        st = read_port(s, &p, &data, &elements);
        if (st == EMU_OK) {
            v = (option_json(q) ? port_json : port_text)(g, &p, data, elements);
            if (!v || json_object_set_new(answer, p.name, v))
                st = FAIL(NO_MEMORY, "the answer");
        }
        ss_free(data);
        TRY(st);
    }
    return EMU_OK;
}
