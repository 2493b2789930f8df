/* model_report_json.c - the answer as one JSON object. Units stand in the keys, or are cycles. */
#include <math.h>
#include <string.h>

#include "emu/base/hash.h"
#include "emu/base/json_text.h"
#include "emu/bsp/machine.h"
#include "emu/job/run_image.h"
#include "models/answer/host_cost.h"
#include "models/answer/model_report.h"
#include "models/ask/model_request.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, plan)
OPTION_READ(FLAG, host)

static json_t *integer(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* Takes over value; returns 0 when it is NULL or could not be stored. */
static int put(json_t *o, const char *key, json_t *value)
{
    return json_object_set_new(o, key, value) == 0;
}

static json_t *or_nothing(json_t *o, int good)
{
    if (good)
        return o;
    json_decref(o);
    return NULL;
}

/* ---- layers ---- */

/* How a convolution is cut: parts of each dimension, and the memory that the plan takes. */
static json_t *plan_json(const struct layer_plan *p)
{
    return json_pack("{s:s, s:{s:I, s:I, s:I, s:I, s:I}, s:I}", "method",
                     ss_conv_method_name(p->method), "parts", "pictures", (json_int_t)p->cut_n,
                     "rows", (json_int_t)p->cut_h, "columns", (json_int_t)p->cut_w,
                     "output_channels", (json_int_t)p->cut_out, "input_channels",
                     (json_int_t)p->cut_in, "temporary_bytes", (json_int_t)p->tile_bytes);
}

static json_t *layer_json(const struct model_answer *m, uint32_t row)
{
    const struct layer_bill *b = &m->layers->row[row];
    json_t *o = json_object();
    char why[REASON_TEXT];
    int good;

    layer_reason(b, why);
    good = o && (m->stages < 2 || put(o, "chip", integer(b->chip))) &&
           put(o, "name", json_text(model_bill_name(m, b))) &&
           put(o, "op", json_text(model_bill_op(m, b))) && put(o, "cycles", integer(b->cycles)) &&
           put(o, "compute", integer(b->compute)) && put(o, "exchange", integer(b->exchange)) &&
           put(o, "sync", integer(b->sync)) && put(o, "imbalance", integer(b->imbalance)) &&
           put(o, "supersteps", integer(b->supersteps)) && put(o, "macs", integer(b->macs)) &&
           put(o, "lower_bound", integer(b->bound)) && put(o, "predicted", integer(b->predicted)) &&
           put(o, "max_tile_bytes", integer(b->max_tile_bytes)) &&
           (!m->run || put(o, "why", json_string(why))) &&
           put(o, "held_bytes", integer(b->held_bytes)) &&
           put(o, "held_max_tile_bytes", integer(b->held_tile_bytes));
    if (good && m->ranges)
        good = put(o, "largest", json_real(m->ranges[row].largest)) &&
               put(o, "saturated", integer(m->ranges[row].saturated));
    if (good && option_plan(m->request) && b->predicted)
        good = put(o, "plan", plan_json(&m->layers->plan[row]));
    return or_nothing(o, good);
}

static json_t *layers_json(const struct model_answer *m)
{
    json_t *list = json_array();
    int good = list != NULL;

    for (uint32_t i = 0; i < m->layers->rows && good; i++)
        good = !json_array_append_new(list, layer_json(m, i));
    return or_nothing(list, good);
}

static json_t *phases_json(const struct layer_bill *t)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "compute", (json_int_t)t->compute, "exchange",
                     (json_int_t)t->exchange, "sync", (json_int_t)t->sync, "imbalance",
                     (json_int_t)t->imbalance, "lower_bound", (json_int_t)t->bound);
}

/* ---- classes ---- */

static json_t *top_json(const struct model_answer *m, uint32_t picture)
{
    uint32_t top[MODEL_TOP];
    json_t *list = json_array();
    int good = list != NULL;

    model_top(m, picture, top);
    for (uint32_t k = 0; k < MODEL_TOP && top[k] != UINT32_MAX && good; k++) {
        double score = m->scores[(size_t)picture * m->facts.classes + top[k]];
        const char *name = class_name(m->classes, top[k]);

        good = !json_array_append_new(list,
                                      json_pack("{s:I, s:o*, s:o}", "class", (json_int_t)top[k],
                                                "name", *name ? json_text(name) : NULL, "score",
                                                isfinite(score) ? json_real(score) : json_null()));
    }
    return or_nothing(list, good);
}

static json_t *pictures_json(const struct model_answer *m)
{
    json_t *list = json_array();
    int good = list != NULL;

    for (uint32_t p = 0; p < m->facts.batch && good; p++) {
        json_t *o = json_object();

        good = o && (!m->file || put(o, "picture", json_text(m->file[m->files > 1 ? p : 0]))) &&
               put(o, "top5", top_json(m, p));
        good = !json_array_append_new(list, or_nothing(o, good)) && good;
    }
    return or_nothing(list, good);
}

int model_put_classes(const struct model_answer *m, json_t *o)
{
    return put(o, "top5", top_json(m, 0)) && put(o, "pictures", pictures_json(m));
}

/* ---- memory, assumptions ---- */

/* by_category as bytes on all tiles; the details beside it. */
static json_t *memory_json(const struct model_answer *m)
{
    json_t *o = memory_facts_json(m->memory), *bytes = json_object(), *category;
    int good = o && bytes;
    const char *name;

    if (good) {
        json_object_foreach(json_object_get(o, "by_category"), name, category)
        {
            good = good && !json_object_set(bytes, name, json_object_get(category, "total_bytes"));
        }
        good = good && !json_object_set(o, "categories", json_object_get(o, "by_category")) &&
               !json_object_set(o, "by_category", bytes);
    }
    json_decref(bytes);
    return or_nothing(o, good);
}

static void add_assumed(void *ctx, const char *text, const char *doc)
{
    json_array_append_new(ctx, json_pack("{s:s, s:s}", "value", text, "what", doc));
}

static json_t *assumed_json(const struct model_answer *m)
{
    json_t *list = json_array();

    if (list)
        model_assumed(&m->arch, add_assumed, list);
    return list;
}

/* ---- numbers ---- */

json_t *model_clamped_json(const struct precision_notes *p)
{
    json_t *list = json_array();
    int good = list != NULL;

    for (uint32_t k = 0; good && k < p->clamped && k < PRECISION_CLAMPED_MAX; k++)
        good = !json_array_append_new(list, json_text(p->clamp[k]));
    return or_nothing(list, good);
}

/* What became f32 in f16, and where NaN and infinity are. */
static int put_numbers(const struct model_answer *m, json_t *o)
{
    if (!m->precision || !m->not_finite)
        return 1;
    return put(o, "f32_nodes", integer(m->precision->nodes)) &&
           put(o, "clamped_constants", model_clamped_json(m->precision)) &&
           put(o, "not_finite", not_finite_json(m->not_finite));
}

/* ---- all of it ---- */

static int put_run(const struct model_answer *m, json_t *o)
{
    double seconds = model_seconds(m);
    struct host_cost host = host_cost_of(&m->arch, &m->facts);
    char digest[33], engine[RUN_ENGINE_TEXT];

    ss_run_engine_text(m->run, engine);
    if (ss_run_has_values(m->run))
        hash128_text(pod_digest(m->run->pod), digest);
    return put(o, "cycles", integer(model_cycles(m))) &&
           put(o, "cycles_per_picture", integer(model_cycles(m) / m->facts.batch)) &&
           put(o, "seconds", json_real(seconds)) &&
           put(o, "cycles_per_input", integer(model_cycles(m) / m->facts.batch)) &&
           put(o, "pictures_per_second", json_real(m->facts.batch / seconds)) &&
           put(o, "inputs_per_second", json_real(m->facts.batch / seconds)) &&
           (!option_host(m->request) ||
            put(o, "host", host_cost_json(&host, &m->facts, seconds))) &&
           put(o, "mac_efficiency", json_real(model_efficiency(m))) &&
           put(o, "phases", phases_json(&m->layers->total)) &&
           (!ss_run_has_values(m->run) || put(o, "digest", json_string(digest))) &&
           put(o, "engine", json_string(engine));
}

json_t *model_report_json(const struct model_answer *m)
{
    const struct model_facts *n = &m->facts;
    json_t *o = json_object();
    int good = o && put(o, "network", json_text(n->name)) &&
               put(o, "machine", json_string(m->arch.name)) &&
               put(o, "machine_changes", ss_arch_changes(&m->arch)) &&
               put(o, "tiles", integer(m->arch.tiles)) &&
               put(o, "clock_mhz", integer(m->arch.clock_mhz)) &&
               put(o, "batch", integer(n->batch)) && put(o, "resolution", integer(n->resolution)) &&
               put(o, "parameters", integer(n->parameters)) &&
               put(o, "macs_per_picture", integer(n->macs)) &&
               put(o, "macs_per_input", integer(n->macs)) &&
               put(o, "weights", json_text(m->weights));

    if (good && m->stages > 1)
        good = put(o, "chips", integer(m->stages)) && put(o, "stages", model_stages_json(m));
    if (good && m->recipe)
        good = put(o, "preprocessing", json_string(m->recipe));
    if (good && m->run)
        good = put_run(m, o);
    if (good && m->scores)
        good = model_put_classes(m, o);
    good = good && put_numbers(m, o) && put(o, "memory", memory_json(m)) &&
           put(o, "layers", layers_json(m)) && put(o, "published", model_published_json(m)) &&
           put(o, "assumed", assumed_json(m));
    return or_nothing(o, good);
}

enum emu_status model_report_fault(const struct request *q, const char *subject, struct session *s)
{
    json_t *o;

    request_failed(q, subject);
    o = ss_run_report(ss_session_run_image(s), "failed", NULL, 0, 0);
    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    if (option_json(q))
        ss_run_print_json(o, stdout);
    else
        ss_run_print(o, stdout);
    json_decref(o);
    return EMU_OK;
}
