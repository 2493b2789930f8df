/* model_hopeless.c - reports a network that was not compiled because its plans need far more memory
 * than the machine has: how much is missing, and what would help. */
#include "emu/base/json_text.h"
#include "models/run/model_fit.h"
#include "programs/compiler/report/count_text.h"

void model_hopeless(const struct model_facts *n, const struct conv_plans *p, const struct arch *a,
                    const struct fit_findings *found, FILE *f)
{
    fprintf(f,
            "OUT OF MEMORY: %s, %s, batch %u, on %s was not compiled\n"
            "  It is expected to need %s bytes on the fullest tile, %.1f times the %s there are;\n"
            "  %s of them are parameters of convolutions that stay there.\n"
            "\nWhat would help\n",
            n->name, n->input, n->batch, ss_arch_title(a).at, count_text(p->peak_bytes).at,
            (double)p->peak_bytes / a->mem_bytes, count_text(a->mem_bytes).at,
            count_text(p->resident_bytes).at);
    for (unsigned i = 0; i < found->lines; i++)
        fprintf(f, "  %u. %s\n", i + 1, found->line[i]);
    fprintf(f, "More: --report compiles it nevertheless and says what every tile would need.\n");
}

json_t *model_hopeless_json(const struct model_facts *n, const struct conv_plans *p,
                            const struct arch *a, const struct fit_findings *found)
{
    json_t *o =
        json_pack("{s:b, s:o, s:s, s:o, s:I, s:I, s:I, s:o, s:[]}", "fits", 0, "network",
                  json_text(n->name), "machine", a->name, "machine_changes", ss_arch_changes(a),
                  "tile_bytes", (json_int_t)a->mem_bytes, "expected_max_tile_bytes",
                  (json_int_t)p->peak_bytes, "resident_tile_bytes", (json_int_t)p->resident_bytes,
                  "tried", fit_findings_json(found), "advice");

    for (unsigned i = 0; o && i < found->lines; i++) {
        if (json_array_append_new(json_object_get(o, "advice"), json_text(found->line[i]))) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}
