/* system.c - the program of a system, and its machine (see system.h). */
#include "models/system/system.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "emu/base/progress.h"
#include "emu/bsp/machine.h"
#include "emu/host/host.h"
#include "emu/job/run_image.h"
#include "models/answer/op_bill.h"

/* ---- the program ---- */

void system_init(struct system *s, const struct arch *a, const struct op_graph *g,
                 const struct system_options *o)
{
    *s = (struct system){ .graph = g, .arch = *a, .options = *o };
}

void system_free(struct system *s)
{
    system_stop(s);
    system_ends_free(&s->ends);
    layer_cycles_free(&s->layers);
    memory_facts_free(&s->memory);
    net_entry_free(&s->kept);
    if (!s->stages.count)
        op_program_free(&s->program);
    system_stages_free(&s->stages);
    memset(s, 0, sizeof(*s));
}

int system_find(struct system *s, const struct net_cache_input *in, int for_timing)
{
    if (s->options.chips > 1)
        return 0;
    net_cache_open(in, &s->cache);
    if (!net_cache_find(&s->cache, for_timing, &s->kept))
        return 0;
    if (!system_ends_take(json_object_get(s->kept.more, "ends"), s->graph, &s->ends)) {
        system_ends_free(&s->ends);
        net_entry_free(&s->kept);
        return 0;
    }
    s->layers = s->kept.layers;
    s->memory = s->kept.memory;
    s->kept.layers = (struct layer_cycles){ .row = NULL };
    s->kept.memory = (struct memory_facts){ .compiled = NULL };
    return 1;
}

int system_find_ready(struct system *s, const struct net_cache_input *in, const char *what,
                      int for_timing)
{
    struct net_cache_input ready = *in;
    char label[DISK_CACHE_LABEL_MAX];

    ready.graph = s->graph;
    ready.lower = &s->options.program.lower;
    ready.what = what;
    ready.arch = &s->arch;
    ready.exchange = s->options.program.compile.exchange;
    if (!system_find(s, &ready, for_timing))
        return 0;
    net_cache_label(&ready, label, sizeof(label));
    if (s->options.progress)
        progress_report(s->options.progress, "cache",
                        "reused: lower, exchange, place, emit; ran: graph, load; %s", label);
    return 1;
}

const json_t *system_more(const struct system *s)
{
    return json_object_get(s->kept.more, "of");
}

static enum emu_status compile_with(struct system *s, const struct op_program_options *o)
{
    if (s->options.chips < 2)
        return op_program_new(&s->arch, s->graph, o, &s->program);
    TRY(system_stages_new(&s->arch, s->graph, s->options.cut, s->options.chips, o, &s->stages));
    s->program = s->stages.program[0];
    for (unsigned k = 1; k < s->stages.count; k++) {
        if (s->stages.program[k].need_bytes > s->program.need_bytes)
            s->program.need_bytes = s->stages.program[k].need_bytes;
    }
    return EMU_OK;
}

/* With the schedules of the folder. */
static enum emu_status compile_with_folder(struct system *s, struct op_program_options o)
{
    enum emu_status st;

    TRY(schedule_store_new(s->options.folder, &o.schedules));
    st = compile_with(s, &o);
    if (st == EMU_OK) /* a failure only costs the next compilation some time */
        (void)!schedule_store_write(o.schedules);
    schedule_store_free(o.schedules);
    return st;
}

static enum emu_status compile(struct system *s)
{
    const struct op_program_options *o = &s->options.program;

    if (s->options.ready)
        TRY(s->options.ready(s->options.ctx));
    TRY(o->schedules ? compile_with(s, o) : compile_with_folder(s, *o));
    if (s->options.progress)
        progress_skip(s->options.progress);
    return EMU_OK;
}

enum emu_status system_build(struct system *s)
{
    TRY(compile(s));
    s->memory.compiled = s->program.compiled;
    if (!s->stages.count)
        TRY(system_ends_of(s->program.network, s->program.graph, &s->ends));
    if (!system_fits(s) || s->options.program.outlook)
        return EMU_OK;
    if (!s->stages.count)
        return op_program_describe(&s->program);
    s->states_are_named = 1;
    return system_stages_describe(&s->stages);
}

int system_fits(const struct system *s)
{
    return s->kept.image || (s->program.compiled && ss_compiled_fits(s->program.compiled));
}

uint64_t system_need_bytes(const struct system *s)
{
    return s->program.need_bytes;
}

const struct image *system_image(const struct system *s)
{
    return s->kept.image ? s->kept.image : ss_compiled_image(s->program.compiled);
}

enum emu_status system_name_states(struct system *s)
{
    if (s->kept.image || s->states_are_named)
        return EMU_OK;
    s->states_are_named = 1;
    return op_program_describe_states(&s->program);
}

enum emu_status system_write_image(struct system *s, const struct output_file *f)
{
    TRY(system_name_states(s));
    return image_write_to(system_image(s), f);
}

enum emu_status system_note(struct system *s, const char *name, const char *text)
{
    return s->kept.image ? image_add_note_text(s->kept.image, name, text)
                         : ss_compiled_add_note(s->program.compiled, name, text);
}

struct compiled *system_compiled(const struct system *s)
{
    return s->kept.image ? NULL : s->program.compiled;
}

enum emu_status system_bill_layers(struct system *s)
{
    if (s->stages.count)
        return system_stages_bill(&s->stages, &s->arch, NULL, &s->layers);
    return s->kept.image
               ? EMU_OK
               : op_bill_init(s->program.network, s->program.compiled, &s->arch, &s->layers);
}

const struct layer_cycles *system_chip_layers(const struct system *s, unsigned chip)
{
    return s->stages.count ? &s->stages.at[chip].layers : &s->layers;
}

static enum emu_status keep(struct system *s, const char *names, json_t *more)
{
    enum emu_status st;
    json_t *o;

    TRY(system_name_states(s));
    if (!s->layers.row) {
        st = system_bill_layers(s);
        if (st != EMU_OK && st != EMU_USAGE) /* of a loop that the host ends there are no layers */
            return st;
    }
    o = json_pack("{s:o, s:O?}", "ends", system_ends_json(&s->ends), "of", more);
    if (!o)
        return FAIL(NO_MEMORY, "an entry of the cache");
    st = net_cache_keep(&s->cache, s->program.compiled, &s->layers, names, o);
    json_decref(o);
    return st;
}

void system_keep(struct system *s, const char *names, json_t *more)
{
    struct progress none = progress_begin(NULL),
                    *progress = s->options.progress ? s->options.progress : &none;

    if (s->stages.count || !s->cache.disk.folder[0] || s->kept.image || !system_fits(s) ||
        op_plans_hopeless(&s->program.network->plans, &s->arch))
        return;
    progress_skip(progress);
    if (keep(s, names, more) == EMU_OK)
        progress_report(progress, "cache", "kept for the next run");
    else
        progress_report(progress, "cache", "not kept: %s", ss_error());
}

uint64_t system_known_need(const struct system *s)
{
    uint64_t need;

    return s->cache.disk.folder[0] && net_cache_find_need(&s->cache, &need) ? need : 0;
}

enum emu_status system_keep_need(const struct system *s)
{
    return s->cache.disk.folder[0] ? net_cache_keep_need(&s->cache, s->program.need_bytes) : EMU_OK;
}

enum emu_status system_set_arch(struct system *s, const struct arch *a)
{
    TRY(s->kept.image ? image_set_arch(s->kept.image, a)
                      : ss_compiled_set_arch(s->program.compiled, a));
    s->arch = *a;
    return EMU_OK;
}

/* ---- values ---- */

static int is_input(const struct op_graph *g, uint32_t value)
{
    return g->value[value].kind == OP_INPUT || g->value[value].kind == OP_STATE;
}

static const struct system_end *end_of(const struct system *s, uint32_t value)
{
    const struct op_graph *g = s->graph;
    struct system_place at;

    if (s->stages.count) {
        EMU_ASSERT(system_stages_find(&s->stages, s->stages.split.of_value[value], value, &at));
        return at.end;
    }
    return is_input(g, value) ? &s->ends.in[op_graph_input_index(g, value)]
                              : &s->ends.out[op_graph_output_index(g, value)];
}

enum elem system_elem(const struct system *s, uint32_t value)
{
    return end_of(s, value)->elem;
}

int system_is_streamed(const struct system *s, uint32_t value)
{
    return end_of(s, value)->is_streamed;
}

unsigned system_lanes(const struct system *s, uint32_t value)
{
    return end_of(s, value)->lanes;
}

size_t system_transfer_bytes(const struct system *s, uint32_t value)
{
    const struct system_end *e = end_of(s, value);

    return (size_t)(e->elements * ss_elem_bytes(e->elem));
}

static enum emu_status pack(const struct system_end *e, const char *name, const struct op_tensor *t,
                            uint8_t **out, uint64_t *bytes)
{
    return op_numbers_pack(e->elem, e->lanes, name, t, out, bytes);
}

enum emu_status system_pack(const struct system *s, uint32_t value, const struct op_tensor *t,
                            uint8_t **out, uint64_t *bytes)
{
    return pack(end_of(s, value), s->graph->value[value].name, t, out, bytes);
}

/* ---- runs ---- */

/* Of a program that was found: the compiler's, after all. */
static enum emu_status compiled_of(void *ctx, const struct compiled **out)
{
    struct system *s = ctx;

    if (!s->program.compiled)
        TRY(compile(s));
    *out = s->program.compiled;
    return EMU_OK;
}

enum emu_status system_start(struct system *s, const struct session_options *o)
{
    struct session_options with = *o;

    with.program = compiled_of;
    with.program_ctx = s;
    return s->kept.image ? ss_session_new_image(s->kept.image, &with, &s->session)
                         : ss_session_new(s->program.compiled, &with, &s->session);
}

void system_stop(struct system *s)
{
    ss_session_free(s->session);
    s->session = NULL;
}

/* Bytes of an input or a state, by its name: into the image as long as there is no machine. */
static enum emu_status write_bytes(struct system *s, const char *name, const void *data,
                                   uint64_t bytes)
{
    if (s->session)
        return ss_session_value_write(s->session, name, data, bytes);
    return s->kept.image ? image_fill_input(s->kept.image, name, data)
                         : ss_compiled_fill_input(s->program.compiled, name, data);
}

/* Whether a value is a state of a running machine that its image has no name for. */
static int is_unnamed(const struct system *s, uint32_t value)
{
    return s->session && !s->kept.image && !s->states_are_named &&
           s->graph->value[value].kind == OP_STATE;
}

static enum emu_status write_numbers(struct system *s, const struct system_place *at,
                                     const struct op_tensor *t)
{
    enum emu_status st;
    uint64_t bytes;
    uint8_t *data;

    TRY(pack(at->end, at->name, t, &data, &bytes));
    st = write_bytes(s, at->name, data, bytes);
    ss_free(data);
    return st;
}

enum emu_status system_write(struct system *s, uint32_t value, const struct op_tensor *t)
{
    struct system_place at = { s->graph->value[value].name, NULL };

    for (unsigned k = 0; k < s->stages.count; k++) {
        if (system_stages_find(&s->stages, k, value, &at))
            TRY(write_numbers(s, &at, t));
    }
    if (s->stages.count)
        return EMU_OK;
    if (is_unnamed(s, value))
        return op_program_write(&s->program, s->session, op_graph_input_index(s->graph, value), t);
    if (!s->session && s->graph->value[value].kind == OP_STATE)
        TRY(system_name_states(s));
    at.end = end_of(s, value);
    return write_numbers(s, &at, t);
}

/* Which element a word of the image means; ELEM_COUNT: none. */
static enum elem elem_called(const char *name)
{
    enum elem e = 0;

    while (e < ELEM_COUNT && strcmp(ss_elem_name(e), name) != 0)
        e++;
    return e;
}

/* Numbers by the name that the image has for them. */
static enum emu_status read_named(struct system *s, const char *name, const struct op_shape *shape,
                                  struct op_tensor *out)
{
    const struct image *im = ss_session_run_image(s->session)->im;
    size_t i = image_output_find(im, name);
    enum elem e = i < image_output_count(im)
                      ? elem_called(image_text(im, image_output_at(im, i)->type))
                      : ELEM_COUNT;
    uint64_t bytes = op_shape_count(shape) * (e < ELEM_COUNT ? ss_elem_bytes(e) : 0);
    enum emu_status st = EMU_OK;
    uint8_t *data;

    memset(out, 0, sizeof(*out));
    if (e == ELEM_COUNT)
        return FAIL(BAD_IMAGE, "an image without an output '%.200s'", name);
    data = emu_alloc(bytes + 1, 1);
    st = data ? ss_session_value_read(s->session, name, data, bytes) : FAIL(NO_MEMORY, "%s", name);
    if (st == EMU_OK)
        st = op_numbers_unpack(e, data, shape, out);
    ss_free(data);
    return st;
}

enum emu_status system_read(struct system *s, uint32_t value, struct op_tensor *out)
{
    const struct op_value *v = &s->graph->value[value];

    if (is_unnamed(s, value))
        return op_program_read_value(&s->program, s->session,
                                     &s->program.network->in[op_graph_input_index(s->graph, value)],
                                     out);
    return read_named(s, v->name, &v->shape, out);
}

/* Where the gradient of a state is, that the image has no name for; NULL: it was not kept. */
static const struct lowered_value *unnamed_gradient(const struct system *s, uint32_t state)
{
    const struct lowered_network *n = s->program.network;

    for (uint32_t k = 0; k < n->gradients; k++) {
        if (n->gradient[k].value == state)
            return &n->gradient[k];
    }
    return NULL;
}

int system_has_gradient(const struct system *s, uint32_t state)
{
    const struct image *im = system_image(s);

    if (is_unnamed(s, state))
        return unnamed_gradient(s, state) != NULL;
    return image_output_find(im, op_gradient_name(s->graph->value[state].name).at) <
           image_output_count(im);
}

enum emu_status system_read_gradient(struct system *s, uint32_t state, struct op_tensor *out)
{
    const struct op_value *v = &s->graph->value[state];

    if (is_unnamed(s, state) && system_has_gradient(s, state))
        return op_program_read_value(&s->program, s->session, unnamed_gradient(s, state), out);
    return read_named(s, op_gradient_name(v->name).at, &v->shape, out);
}

enum emu_status system_connect(struct system *s, uint32_t value, const struct session_calls *c)
{
    return ss_session_connect(s->session, end_of(s, value)->stream, c);
}

/* ---- batches of an open loop ---- */

/* One word for each of the first batches. */
static enum emu_status send_begin(void *ctx, uint64_t n, void *data)
{
    const struct system *s = ctx;
    uint32_t *word = data;
    int has;

    (void)n;
    for (uint32_t k = 0; k < s->ends.loop.depth; k++) {
        TRY(s->batches.has(s->batches.ctx, k, &has));
        word[k] = (uint32_t)has;
    }
    return EMU_OK;
}

/* Whether another one comes, and whether to ask for the one after all that IO tiles hold. */
static enum emu_status send_control(void *ctx, uint64_t n, void *data)
{
    const struct system *s = ctx;
    uint32_t *word = data, depth = s->ends.loop.depth;
    int go, ask = 0;

    TRY(s->batches.has(s->batches.ctx, depth ? n + 1 : n, &go));
    if (depth)
        TRY(s->batches.has(s->batches.ctx, n + depth, &ask));
    word[0] = (uint32_t)go;
    word[1] = (uint32_t)ask;
    return EMU_OK;
}

enum emu_status system_connect_batches(struct system *s, const struct system_batches *b)
{
    const struct session_calls begin = { .ctx = s, .transfer = send_begin };
    const struct session_calls control = { .ctx = s, .transfer = send_control };

    s->batches = *b;
    if (s->ends.loop.depth)
        TRY(ss_session_connect(s->session, s->ends.loop.begin, &begin));
    return ss_session_connect(s->session, s->ends.loop.control, &control);
}

const struct host_stream_record *system_link(const struct system *s, uint32_t value)
{
    return host_record(ss_session_run_image(s->session)->host, end_of(s, value)->stream);
}

enum emu_status system_write_ahead(struct system *s, uint32_t value, const void *data)
{
    return write_bytes(s, s->graph->value[value].name, data, system_transfer_bytes(s, value));
}

static enum emu_status write_zeros(struct system *s, uint32_t value)
{
    struct op_tensor zeros;
    enum emu_status st;

    TRY(op_tensor_new(&s->graph->value[value].shape, &zeros));
    st = system_write(s, value, &zeros);
    op_tensor_free(&zeros);
    return st;
}

enum emu_status system_write_zeros(struct system *s)
{
    for (uint32_t k = 0; k < s->graph->inputs; k++) {
        uint32_t value = s->graph->input[k];

        if (s->graph->value[value].kind != OP_STATE && !system_is_streamed(s, value))
            TRY(write_zeros(s, value));
    }
    return EMU_OK;
}

enum emu_status system_run(struct system *s)
{
    return ss_session_run(s->session);
}

enum emu_status system_bill(struct system *s)
{
    const struct run *r = ss_session_run_image(s->session);

    return s->stages.count ? system_stages_bill(&s->stages, &s->arch, r, &s->layers)
                           : layer_cycles_bill(&s->layers, r);
}

void system_digest_text(const struct system *s, char text[SYSTEM_DIGEST_TEXT])
{
    const struct run *r = system_machine(s);

    if (ss_run_has_values(r))
        hash128_text(pod_digest(r->pod), text);
    else
        snprintf(text, SYSTEM_DIGEST_TEXT, "none: --engine timing");
}

struct run *system_machine(const struct system *s)
{
    return ss_session_run_image(s->session);
}
