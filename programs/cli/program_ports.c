/* program_ports.c - .npy files for variables and streams of a program, by name. */
#include "programs/cli/program_ports.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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

/* A port of one chip of a system. */
struct chip_port {
    struct graph_port of;
    const struct graph *g; /* of its chip; borrowed */
    uint32_t chip;         /* of the system */
};

static uint32_t system_chips(const struct program_graphs *g)
{
    return ss_graph_arch(g->g[0])->chips;
}

/* The nth port of a chip of the system; 0: there are not so many. */
static int chip_port(const struct program_graphs *g, uint32_t chip, size_t n, struct chip_port *out)
{
    *out = (struct chip_port){ .g = g->g[chip % g->chips], .chip = chip };
    return ss_graph_port(out->g, n, &out->of);
}

/* What an option names: a port of a chip of the program, in some replicas. */
struct named_port {
    struct chip_port port;   /* in the first of them */
    uint32_t replicas, each; /* and so many chips further */
    const char *file;
};

/* "x, y", the names of what may be written or read. */
static void names_text(const struct program_graphs *g, int write, char out[NAMES_BYTES])
{
    struct chip_port p;
    size_t used = 0;

    snprintf(out, NAMES_BYTES, "there are none");
    for (uint32_t chip = 0; chip < g->chips; chip++)
        for (size_t n = 0; chip_port(g, chip, n, &p) && used < NAMES_BYTES; n++) {
            if (!is_for(&p.of, write))
                continue;
            used +=
                (size_t)snprintf(out + used, NAMES_BYTES - used, g->chips > 1 ? "%s%s@%u" : "%s%s",
                                 used ? ", " : "", p.of.name, chip);
        }
}

static enum emu_status refuse_port(const struct program_graphs *g, const char *text, int write)
{
    char names[NAMES_BYTES];

    names_text(g, write, names);
    return FAIL(USAGE, "--%s %s: expected NAME=FILE.npy with a name that the host may %s: %s",
                write ? "input" : "save", text, write ? "write" : "read", names);
}

/* Whether the text begins with the name of a port, "x=" or "x@3=". */
static int names_port(const struct program_graphs *g, const char *text, const struct chip_port *p,
                      struct named_port *out)
{
    size_t length = strlen(p->of.name);
    char *end;
    unsigned long chip;

    if (strncmp(text, p->of.name, length) != 0)
        return 0;
    *out = (struct named_port){ *p, system_chips(g) / g->chips, g->chips, text + length + 1 };
    if (text[length] == '=')
        return 1;
    if (text[length] != '@' || text[length + 1] < '0' || text[length + 1] > '9')
        return 0;
    chip = strtoul(text + length + 1, &end, 10);
    out->port.chip = (uint32_t)chip;
    out->replicas = 1;
    out->file = end + 1;
    return *end == '=' && chip < system_chips(g) && chip % g->chips == p->chip;
}

/* A port that several chips have, or one that cannot be read of several replicas. */
static enum emu_status check_number(const struct program_graphs *g, const char *text, int write,
                                    const struct named_port *n, unsigned count)
{
    if (count == 1 && (write || n->replicas == 1))
        return EMU_OK;
    return FAIL(USAGE, "--%s %s: several of %u chips have %s: expected %s@CHIP=FILE.npy",
                write ? "input" : "save", text, system_chips(g), n->port.of.name, n->port.of.name);
}

/* What "NAME=FILE" or "NAME@CHIP=FILE" of an option names; "FILE" alone: the only one that there
 * is. */
static enum emu_status find_port(const struct program_graphs *g, const char *text, int write,
                                 struct named_port *out)
{
    struct named_port named = { .file = NULL };
    struct chip_port p, last = { .g = NULL };
    unsigned count = 0, found = 0;

    for (uint32_t chip = 0; chip < g->chips; chip++)
        for (size_t n = 0; chip_port(g, chip, n, &p); n++) {
            if (!is_for(&p.of, write))
                continue;
            count++;
            last = p;
            if (!names_port(g, text, &p, &named))
                continue;
            if (!found++)
                *out = named;
            break; /* of things with one name the first */
        }
    if (!found && (count != 1 || strchr(text, '=')))
        return refuse_port(g, text, write);
    if (!found)
        *out = (struct named_port){ last, system_chips(g) / g->chips, g->chips, text };
    return check_number(g, text, write, out, found ? found : count);
}

/* "x", or "x@3". */
static json_t *key_of(const struct program_graphs *g, const struct chip_port *p)
{
    return system_chips(g) > 1 ? json_sprintf("%s@%" PRIu32, p->of.name, p->chip)
                               : json_text(p->of.name);
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

static uint32_t stream_of(const struct chip_port *p)
{
    return p->chip * SESSION_CHIP_STREAMS + p->of.stream;
}

static enum emu_status write_port(struct session *s, const struct chip_port *p, const void *data,
                                  uint64_t elements)
{
    return is_stream(&p->of) ? ss_session_feed(s, stream_of(p), data, elements / p->of.elements)
                             : ss_session_chip_write(s, p->chip, p->of.tensor, data);
}

/* data: the numbers of the file; of a stream they stay in use. */
static enum emu_status give(struct session *s, const struct named_port *n, void **data)
{
    struct chip_port p = n->port;
    struct npy_array a;
    void *bytes;
    enum emu_status st = npy_load(n->file, &bytes, &a);

    if (st == EMU_OK)
        st = check_shape(&p.of, p.g, n->file, &a);
    if (st == EMU_OK)
        st = convert(&a, p.of.elem, n->file, data);
    ss_free(bytes);
    for (uint32_t r = 0; r < n->replicas && st == EMU_OK; r++, p.chip += n->each)
        st = write_port(s, &p, *data, a.elements);
    return st;
}

static int is_one_of(const struct named_port *n, const struct chip_port *p)
{
    return !strcmp(n->port.of.name, p->of.name) && p->chip >= n->port.chip &&
           (p->chip - n->port.chip) % n->each == 0 &&
           (p->chip - n->port.chip) / n->each < n->replicas;
}

/* Whether an option before number `end` names the same. */
static int is_named(const struct request *q, const struct program_graphs *g,
                    const struct chip_port *p, size_t end)
{
    for (size_t i = 0; i < end; i++) {
        struct named_port n;

        if (find_port(g, option_input(q)->item[i], 1, &n) == EMU_OK && is_one_of(&n, p))
            return 1;
    }
    return 0;
}

/* What --input does not name: inputs are 0; streams must have numbers. */
static enum emu_status write_other(const struct request *q, struct session *s,
                                   const struct chip_port *p)
{
    void *zeros;
    enum emu_status st;

    if (is_stream(&p->of) && q->use & USE_RUN)
        return FAIL(USAGE, "stream %s has no numbers: --input %s=FILE.npy", p->of.name, p->of.name);
    if (is_stream(&p->of))
        return EMU_OK;
    zeros = emu_alloc(p->of.elements + 1, ss_elem_bytes(p->of.elem));
    st = zeros ? write_port(s, p, zeros, p->of.elements) : FAIL(NO_MEMORY, "%s", p->of.name);
    ss_free(zeros);
    return st;
}

static enum emu_status write_others(const struct request *q, struct session *s,
                                    const struct program_graphs *g)
{
    struct chip_port p;

    for (uint32_t chip = 0; chip < system_chips(g); chip++)
        for (size_t n = 0; chip_port(g, chip, n, &p); n++) {
            if (p.of.is_written && !p.of.is_read && !is_named(q, g, &p, option_input(q)->count))
                TRY(write_other(q, s, &p));
        }
    return EMU_OK;
}

/* A second file for what an option before number `end` names. */
static enum emu_status check_once(const struct request *q, const struct program_graphs *g,
                                  const struct named_port *n, size_t end)
{
    struct chip_port p = n->port;

    for (uint32_t r = 0; r < n->replicas; r++, p.chip += n->each) {
        if (is_named(q, g, &p, end))
            return FAIL(USAGE, "--input %s: a second file for %s", option_input(q)->item[end],
                        p.of.name);
    }
    return EMU_OK;
}

enum emu_status port_inputs_write(const struct request *q, struct session *s,
                                  const struct program_graphs *g, struct port_inputs *in)
{
    in->fed = emu_alloc(option_input(q)->count + 1, sizeof(*in->fed));
    if (!in->fed)
        return FAIL(NO_MEMORY, "inputs");
    in->count = option_input(q)->count;
    for (size_t i = 0; i < option_input(q)->count; i++) {
        struct named_port n;

        TRY(find_port(g, option_input(q)->item[i], 1, &n));
        TRY(check_once(q, g, &n, i));
        TRY(give(s, &n, &in->fed[i]));
    }
    return write_others(q, s, g);
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
static enum emu_status read_port(struct session *s, const struct chip_port *p, void **data,
                                 uint64_t *elements)
{
    uint64_t transfers;

    if (is_stream(&p->of)) {
        TRY(ss_session_output(s, stream_of(p), data, &transfers));
        *elements = transfers * p->of.elements;
        return EMU_OK;
    }
    *elements = p->of.elements;
    *data = emu_alloc(p->of.elements + 1, ss_elem_bytes(p->of.elem));
    return *data ? ss_session_chip_read(s, p->chip, p->of.tensor, *data)
                 : FAIL(NO_MEMORY, "%s", p->of.name);
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
    *f = (struct port_files){ NULL, 0, NULL };
}

enum emu_status port_files_check(const struct request *q, const struct program_graphs *g,
                                 struct port_files *f)
{
    f->g = g;
    for (size_t i = 0; i < option_save(q)->count; i++) {
        struct named_port n;

        TRY(find_port(g, option_save(q)->item[i], 0, &n));
    }
    return EMU_OK;
}

static enum emu_status save_port(struct session *s, const struct chip_port *p, FILE *f)
{
    uint32_t shape[TENSOR_MAX_RANK];
    uint64_t elements = 0;
    void *data = NULL;
    enum emu_status st = read_port(s, p, &data, &elements);

    if (st == EMU_OK) {
        unsigned rank = port_shape(p->g, &p->of, elements, shape);

        npy_write_header(npy_type_of(p->of.elem), rank, shape, f);
        fwrite(data, ss_elem_bytes(p->of.elem), elements, f);
    }
    ss_free(data);
    return st;
}

enum emu_status port_files_write(const struct request *q, struct session *s, struct port_files *f)
{
    for (size_t i = 0; i < f->saves; i++) {
        struct named_port n;

        TRY(find_port(f->g, option_save(q)->item[i], 0, &n));
        TRY(output_finish(&f->save[i], save_port(s, &n.port, output_stream(f->save[i]))));
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

static enum emu_status add_answer(const struct request *q, struct session *s,
                                  const struct program_graphs *g, const struct chip_port *p,
                                  json_t *answer)
{
    uint64_t elements = 0;
    void *data = NULL;
    json_t *key = key_of(g, p), *v = NULL;
    enum emu_status st = key ? read_port(s, p, &data, &elements) : FAIL(NO_MEMORY, "the answer");

    if (st == EMU_OK) {
        v = (option_json(q) ? port_json : port_text)(p->g, &p->of, data, elements);
        if (!v || json_object_set_new(answer, json_string_value(key), v))
            st = FAIL(NO_MEMORY, "the answer");
    }
    json_decref(key);
    ss_free(data);
    return st;
}

enum emu_status ports_answer(const struct request *q, struct session *s,
                             const struct program_graphs *g, json_t *answer)
{
    struct chip_port p;

    for (uint32_t chip = 0; chip < system_chips(g); chip++)
        for (size_t n = 0; chip_port(g, chip, n, &p); n++) {
            if (p.of.is_read)
                TRY(add_answer(q, s, g, &p, answer));
        }
    return EMU_OK;
}
