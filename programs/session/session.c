/* session.c - a compiled program on a machine: variables in and out of tile memory, the bytes of
 * streams in the order of the link, one run after another.
 *
 * Where a variable lies is lowered.storage; the image says in which order a transfer crosses the
 * link (image.h). The tiles' programs begin again when the host answers their host
 * sync, so run n is what happens up to the nth host sync.
 */
#include "programs/session/session_internal.h"

#include <inttypes.h>
#include <string.h>

#include "programs/compiler/graph/host_view.h"

/* ---- construction ---- */

static struct run_options run_options_of(const struct session_options *o)
{
    struct run_options ro = { .max_cycles = UINT64_MAX / 2, .unrecorded = !o || !o->record };

    if (o) {
        ro.threads = o->threads;
        ro.max_cycles = o->max_cycles ? o->max_cycles : ro.max_cycles;
        ro.plain = o->plain;
        ro.engine = o->timing ? ENGINE_TIMING : ENGINE_VALUES;
        ro.check = o->check;
        ro.digests = o->digests;
        ro.host = o->host;
        ro.record_exchanges = o->record_exchanges;
        ro.record_limit = o->record_limit;
        ro.watch = o->watch;
        ro.watch_ctx = o->watch_ctx;
    }
    return ro;
}

/* The program of a chip of the system; NULL: of an image alone. */
static const struct compiled *program_of(const struct session *s, unsigned chip)
{
    return s->c ? s->c->chip[chip % s->c->chips] : NULL;
}

/* Room for what was written of each chip. */
static enum emu_status note_variables(struct session *s)
{
    uint32_t chips = s->run->chips;
    size_t n = 0;

    s->written_first = emu_alloc((size_t)chips + 1, sizeof(*s->written_first));
    for (uint32_t k = 0; s->written_first && k < chips; k++) {
        s->written_first[k] = n;
        n += s->c ? program_of(s, k)->graph->variable.count : 0;
    }
    s->written = emu_alloc(n + 1, 1);
    return s->written && s->written_first ? EMU_OK : FAIL(NO_MEMORY, "a session");
}

/* c: NULL for an image alone. */
static enum emu_status new_session(const struct compiled *c, const struct image *im,
                                   const struct session_options *o, struct session **out)
{
    struct run_options ro = run_options_of(o);
    enum emu_status status = EMU_OK;
    struct session *s;

    *out = NULL;
    s = emu_alloc(1, sizeof(*s));
    if (!s)
        return FAIL(NO_MEMORY, "a session");
    s->c = c;
    if (o && (o->overflow || o->ranges) && !o->timing) {
        s->options = *o;
        ro.watch = session_watch;
        ro.watch_ctx = s;
        status = im ? session_watch_open(s, ss_image_arch(im)->chips) : EMU_OK;
    }
    if (status == EMU_OK)
        status = ss_run_new(im, &ro, &s->run);
    if (status == EMU_OK)
        status = note_variables(s);
    if (status == EMU_OK)
        status = session_open_streams(s);
    if (status == EMU_OK && s->options.ranges)
        status = session_watch_ranges(s);
    if (status != EMU_OK) {
        ss_session_free(s);
        return status;
    }
    *out = s;
    return EMU_OK;
}

enum emu_status ss_session_new(const struct compiled *c, const struct session_options *o,
                               struct session **out)
{
    *out = NULL;
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    if (!compiled_image(c))
        return FAIL(USAGE, "the program does not fit: there is no image to run");
    if (c->first)
        return FAIL(USAGE, "chip %u of a program of several: a session is of all of them",
                    c->number);
    return new_session(c, compiled_image(c), o, out);
}

enum emu_status ss_session_new_image(const struct image *im, const struct session_options *o,
                                     struct session **out)
{
    return new_session(NULL, im, o, out);
}

void ss_session_free(struct session *s)
{
    if (!s)
        return;
    ss_run_free(s->run);
    session_close_streams(s);
    session_watch_close(s);
    ss_free(s->written);
    ss_free(s->written_first);
    ss_free(s);
}

/* ---- variables ---- */

/* Calls back for every run of a view in tile memory, in the order of its elements. */
struct run_walk {
    const struct compiled *c;
    enum emu_status (*visit)(void *ctx, const struct object *o, uint32_t offset, uint32_t bytes);
    void *ctx;
};

/* The run of a variable's storage that holds an element. Runs ascend, so it is found by halving. */
static const struct storage_run *find_storage(const struct lowered *l, uint32_t var, uint64_t e)
{
    const struct storage *s = &l->storage.at[var];
    uint32_t low = s->first, high = s->first + s->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->storage_run.at[middle].end <= e)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == s->first + s->count || l->storage_run.at[low].begin > e)
        return NULL;
    return &l->storage_run.at[low];
}

static enum emu_status walk_run(void *ctx, const struct view_run *run)
{
    const struct run_walk *w = ctx;
    const struct lowered *l = w->c->lowered;
    const struct variable *v = &l->graph->variable.at[run->var];
    uint64_t at = run->offset, end = run->offset + run->elements;
    unsigned size = ss_elem_bytes(v->elem);

    while (at < end) {
        const struct storage_run *r = find_storage(l, run->var, at);
        uint64_t stop;

        if (!r)
            return FAIL(USAGE, "variable %s has no memory for element %" PRIu64, v->name, at);
        stop = r->end < end ? r->end : end;
        TRY(w->visit(w->ctx, &l->object.at[r->object], r->offset + (uint32_t)(at - r->begin) * size,
                     (uint32_t)(stop - at) * size));
        at = stop;
    }
    return EMU_OK;
}

static enum emu_status walk_view(const struct run_walk *w, struct tensor t, int write)
{
    const struct graph *g = w->c->graph;

    TRY(graph_host_view(g, t, write));
    return view_runs(g, t.view, 0, g->view.at[t.view].elements, walk_run, (void *)(uintptr_t)w);
}

/* A transfer between host memory and a view, run by run. */
struct transport {
    struct session *s;
    uint8_t *at; /* next byte of the host */
    int write;
    unsigned chip; /* of the system */
};

static enum emu_status move_bytes(void *ctx, const struct object *o, uint32_t offset,
                                  uint32_t bytes)
{
    struct transport *x = ctx;
    struct tile *t = machine_tile(machine_of_chip(x->s->run, x->chip), o->tile);
    int ok = x->write ? tile_write(t, o->addr + offset, x->at, bytes)
                      : tile_read(t, o->addr + offset, x->at, bytes);

    EMU_ASSERT(ok); /* the placement was proven to lie in memory */
    x->at += bytes;
    return EMU_OK;
}

static enum emu_status note_written(void *ctx, const struct view_run *run)
{
    const struct transport *x = ctx;

    x->s->written[x->s->written_first[x->chip] + run->var] = 1;
    return EMU_OK;
}

static enum emu_status note_view(struct session *s, unsigned chip, uint32_t view)
{
    const struct graph *g = program_of(s, chip)->graph;
    struct transport x = { .s = s, .chip = chip };

    return view_runs(g, view, 0, g->view.at[view].elements, note_written, &x);
}

static enum emu_status transport(struct session *s, unsigned chip, struct tensor t, uint8_t *data,
                                 int write)
{
    struct transport x = { s, data, write, chip };
    struct run_walk w = { NULL, move_bytes, &x };

    if (!s->c)
        return FAIL(USAGE, "a session of an image has no variables, only names");
    if (chip >= s->run->chips)
        return FAIL(USAGE, "chip %u: the system has %u", chip, s->run->chips);
    w.c = program_of(s, chip);
    if (ss_run_has_values(s->run))
        TRY(walk_view(&w, t, write));
    else if (!write)
        return FAIL(USAGE, "the timing engine has no values to read");
    return write ? note_view(s, chip, t.view) : EMU_OK;
}

enum emu_status ss_session_chip_write(struct session *s, unsigned chip, struct tensor t,
                                      const void *data)
{
    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: ss_session_new() has failed");
    return transport(s, chip, t, (uint8_t *)(uintptr_t)data, 1);
}

enum emu_status ss_session_chip_read(struct session *s, unsigned chip, struct tensor t, void *data)
{
    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: ss_session_new() has failed");
    return transport(s, chip, t, data, 0);
}

enum emu_status ss_session_write(struct session *s, struct tensor t, const void *data)
{
    return ss_session_chip_write(s, 0, t, data);
}

enum emu_status ss_session_read(struct session *s, struct tensor t, void *data)
{
    return ss_session_chip_read(s, 0, t, data);
}

/* ---- inputs and outputs of an image ---- */

/* What was made an input of the image is written as the variables that it is. */
static enum emu_status note_input(struct session *s, const char *name)
{
    for (unsigned chip = 0; chip < s->run->chips; chip++) {
        const struct compiled *c = program_of(s, chip);

        for (size_t i = 0; i < c->input.count; i++)
            if (!strcmp(image_text(s->run->im, c->input.at[i].name), name))
                TRY(note_view(s, chip, c->input.at[i].view));
    }
    return EMU_OK;
}

enum emu_status ss_session_value_write(struct session *s, const char *name, const void *data,
                                       uint64_t bytes)
{
    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: ss_session_new() has failed");
    TRY(ss_run_value_write(s->run, name, data, bytes));
    return s->c ? note_input(s, name) : EMU_OK;
}

enum emu_status ss_session_value_read(struct session *s, const char *name, void *data,
                                      uint64_t bytes)
{
    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: ss_session_new() has failed");
    if (!ss_run_has_values(s->run))
        return FAIL(USAGE, "the timing engine has no values to read");
    return ss_run_output_read(s->run, name, data, bytes);
}

struct input_parts {
    struct image *im;
    uint32_t chip;
    const uint8_t *data; /* the next byte; NULL: of an output, or the host must write it */
    VEC(struct image_input_part) part;
};

static enum emu_status add_part(void *ctx, const struct object *o, uint32_t offset, uint32_t bytes)
{
    struct input_parts *x = ctx;
    struct image_input_part p = {
        .chip = x->chip, .tile = o->tile, .addr = o->addr + offset, .bytes = bytes
    };

    if (x->data) {
        TRY(image_blob(x->im, x->data, bytes, &p.blob));
        x->data += bytes;
    }
    return VEC_PUSH(&x->part, p);
}

typedef enum emu_status add_to_image(struct image *im, const struct image_input *in,
                                     const struct image_input_part *p);

static enum emu_status add_tensor(struct compiled *c, struct tensor t, const char *name,
                                  const void *data, add_to_image *add)
{
    struct input_parts x = { .im = compiled_image(c), .chip = c->number, .data = data };
    const struct run_walk w = { c, add_part, &x };
    enum elem e = ss_tensor_elem(c->graph, t);
    struct image_input in = { .elem_bytes = ss_elem_bytes(e),
                              .elements = ss_tensor_elements(c->graph, t) };
    enum emu_status s;

    if (!compiled_image(c))
        return FAIL(USAGE, "the program does not fit: there is no image");
    s = walk_view(&w, t, add == image_add_input);
    in.parts = (uint32_t)x.part.count;
    if (s == EMU_OK)
        s = image_string(compiled_image(c), name, &in.name);
    if (s == EMU_OK)
        s = image_string(compiled_image(c), ss_elem_name(e), &in.type);
    if (s == EMU_OK)
        s = add(compiled_image(c), &in, x.part.at);
    if (s == EMU_OK && add == image_add_input)
        s = VEC_PUSH(&c->input, ((struct compiled_input){ in.name, t.view }));
    VEC_FREE(&x.part);
    return s;
}

enum emu_status ss_compiled_add_input(struct compiled *c, struct tensor t, const char *name,
                                      const void *data)
{
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    return add_tensor(c, t, name, data, image_add_input);
}

enum emu_status ss_compiled_fill_input(struct compiled *c, const char *name, const void *data)
{
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    return image_fill_input(compiled_image(c), name, data);
}

enum emu_status ss_compiled_add_output(struct compiled *c, struct tensor t, const char *name)
{
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    return add_tensor(c, t, name, NULL, image_add_output);
}

enum emu_status ss_compiled_add_note(struct compiled *c, const char *name, const char *text)
{
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    if (!compiled_image(c))
        return FAIL(USAGE, "the program does not fit: there is no image");
    return image_add_note_text(compiled_image(c), name, text);
}

static int is_written(const struct session *s, unsigned chip, uint32_t var)
{
    return s->written[s->written_first[chip] + var];
}

/* What a variable holds on a chip of the system; data has room for all of it. */
static enum emu_status read_variable(struct session *s, unsigned chip, uint32_t var, uint8_t *data)
{
    const struct compiled *c = program_of(s, chip);
    const struct view_run all = { .var = var, .elements = c->graph->variable.at[var].elements };
    struct transport x = { s, data, 0, chip };
    const struct run_walk w = { c, move_bytes, &x };

    return walk_run((void *)(uintptr_t)&w, &all); /* ss_session_read() does not read inputs */
}

/* The image is that of one replica: what was written must be the same in all of them. */
static enum emu_status check_replicas(struct session *s, const struct compiled *c, uint32_t var,
                                      const uint8_t *data)
{
    const struct variable *v = &c->graph->variable.at[var];
    size_t bytes = (size_t)v->elements * ss_elem_bytes(v->elem);
    uint8_t *other = emu_alloc(bytes + 1, 1);
    enum emu_status st = other ? EMU_OK : FAIL(NO_MEMORY, "input %s", v->name);

    for (uint32_t k = c->number; st == EMU_OK && (k += s->c->chips) < s->run->chips;) {
        st = read_variable(s, k, var, other);
        if (st == EMU_OK && (is_written(s, k, var) != is_written(s, c->number, var) ||
                             memcmp(data, other, bytes) != 0))
            st = FAIL(USAGE,
                      "the image is that of one replica: expected the same input %s on chips %u "
                      "and %u",
                      v->name, c->number, k);
    }
    ss_free(other);
    return st;
}

/* Whether another chip has a variable of that name, too, which was written. */
static int is_of_several(const struct session *s, const struct compiled *c, const char *name)
{
    for (uint32_t k = 0; k < s->c->chips; k++) {
        const struct graph *g = program_of(s, k)->graph;

        for (uint32_t i = 0; k != c->number && i < g->variable.count; i++)
            if (is_written(s, k, i) && !strcmp(g->variable.at[i].name, name))
                return 1;
    }
    return 0;
}

/* A variable, as the session holds it, becomes an input; data has room for all of it. */
static enum emu_status add_variable(struct session *s, struct compiled *c, uint32_t var,
                                    uint8_t *data)
{
    const struct variable *v = &c->graph->variable.at[var];
    size_t room = strlen(v->name) + 12;
    enum emu_status st;
    char *name;

    TRY(read_variable(s, c->number, var, data));
    TRY(check_replicas(s, c, var, data));
    name = emu_alloc(room, 1);
    if (!name)
        return FAIL(NO_MEMORY, "input %s", v->name);
    snprintf(name, room, is_of_several(s, c, v->name) ? "%s@%" PRIu32 : "%s", v->name, c->number);
    st = ss_compiled_add_input(c, v->whole, name, data);
    ss_free(name);
    return st;
}

/* Whether it was written on a chip of some replica. */
static int is_input(const struct session *s, const struct compiled *c, uint32_t var)
{
    uint32_t k = c->number;

    while (k < s->run->chips && !is_written(s, k, var))
        k += s->c->chips;
    return k < s->run->chips;
}

static enum emu_status add_written(struct session *s, struct compiled *c)
{
    for (uint32_t i = 0; i < c->graph->variable.count; i++) {
        const struct variable *v = &c->graph->variable.at[i];
        enum emu_status st;
        uint8_t *data;

        if (!is_input(s, c, i))
            continue;
        data = emu_alloc(v->elements, ss_elem_bytes(v->elem));
        if (!data)
            return FAIL(NO_MEMORY, "input %s", v->name);
        st = add_variable(s, c, i, data);
        ss_free(data);
        TRY(st);
    }
    return EMU_OK;
}

enum emu_status ss_session_image_inputs(struct session *s, struct compiled *c)
{
    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: ss_session_new() has failed");
    if (!c || s->c != c)
        return FAIL(BAD_PROGRAM, "the session is not one of this compiled program");
    for (uint32_t k = 0; k < c->chips; k++)
        TRY(add_written(s, c->chip[k]));
    return EMU_OK;
}

/* ---- runs ---- */

/* Inputs must be written anew: what an earlier run leaves of them is of no use. */
static enum emu_status check_chip_inputs(struct session *s, uint32_t chip)
{
    const struct graph *g = program_of(s, chip)->graph;
    uint8_t *written = s->written + s->written_first[chip];

    for (uint32_t i = 0; i < g->variable.count; i++) {
        const struct variable *v = &g->variable.at[i];

        if (v->input && !variable_stays(v) && !written[i])
            return FAIL(USAGE, "run %" PRIu64 ": input %s was not written", s->runs, v->name);
        written[i] = 0;
    }
    return EMU_OK;
}

static enum emu_status check_inputs(struct session *s)
{
    const char *missing =
        !s->c && !s->runs && ss_run_has_values(s->run) ? run_input_missing(s->run) : NULL;

    if (missing)
        return FAIL(USAGE, "run 0: input %s was not written", missing);
    for (uint32_t k = 0; s->c && k < s->run->chips; k++)
        TRY(check_chip_inputs(s, k));
    return EMU_OK;
}

enum emu_status ss_session_run(struct session *s)
{
    struct run *r;
    char *text;

    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: ss_session_new() has failed");
    r = s->run;
    if (s->stopped)
        return FAIL(FAULT, "run %" PRIu64 ": the machine has stopped before", s->runs);
    TRY(check_inputs(s));
    r->options.runs = s->runs;
    session_watch_begin(s);
    TRY(ss_run_execute(r));
    if (ss_run_ended(r)) {
        session_watch_end(s);
        s->runs++;
        return EMU_OK;
    }
    s->stopped = 1;
    text = ss_run_stop_text(r);
    ss_fail(EMU_FAULT, "run %" PRIu64 ": %s", s->runs, text ? text : "the machine has stopped");
    ss_free(text);
    return EMU_FAULT;
}

uint64_t ss_session_cycles(const struct session *s)
{
    return s ? pod_cycles(s->run->pod) : 0;
}

const struct record *ss_session_record(const struct session *s)
{
    return s ? s->run->record : NULL;
}

struct run *ss_session_run_image(struct session *s)
{
    return s ? s->run : NULL;
}

struct graph *ss_session_graph(const struct session *s)
{
    return s && s->c ? s->c->graph : NULL;
}
