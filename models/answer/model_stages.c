/* model_stages.c - the stages of a network that several chips compute. */
#include "models/answer/model_report.h"

#include "programs/compiler/report/count_text.h"

void model_print_stages(const struct model_answer *m, FILE *f)
{
    if (m->stages < 2)
        return;
    fprintf(f, "\n  %-8s %-28s %6s %10s %10s %15s %13s\n", "Stage", "first layer", "layers",
            m->run ? "cycles" : "", m->run ? "between" : "", "bytes of a tile", "bytes sent on");
    for (uint32_t k = 0; k < m->stages; k++) {
        const struct answer_stage *s = &m->stage[k];

        fprintf(f, "  chip %-3u %-28.28s %6u %10s %10s %15s %13s\n", k, s->first, s->layers,
                m->run ? count_text(s->cycles).at : "", m->run ? count_text(s->between).at : "",
                count_text(s->max_tile_bytes).at, count_text(s->sent_bytes).at);
    }
    if (m->run)
        fputs("  between: a chip waits for those before it, and words travel\n", f);
}

static json_t *stage_json(const struct model_answer *m, uint32_t k)
{
    const struct answer_stage *s = &m->stage[k];
    json_t *o =
        json_pack("{s:I, s:s, s:I, s:I, s:I, s:I}", "chip", (json_int_t)k, "first_layer", s->first,
                  "layers", (json_int_t)s->layers, "max_tile_bytes", (json_int_t)s->max_tile_bytes,
                  "need_bytes", (json_int_t)s->need_bytes, "sent_bytes", (json_int_t)s->sent_bytes);
    json_t *run = m->run && o ? json_pack("{s:I, s:I}", "cycles", (json_int_t)s->cycles, "between",
                                          (json_int_t)s->between)
                              : NULL;

    if (run && json_object_update(o, run)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(run);
    return o;
}

json_t *model_stages_json(const struct model_answer *m)
{
    json_t *list = json_array();

    for (uint32_t k = 0; list && k < m->stages; k++) {
        if (!json_array_append_new(list, stage_json(m, k)))
            continue;
        json_decref(list);
        list = NULL;
    }
    return list;
}
