/* model_hopeless.c - reports a network that was not compiled because its plans need far more memory
 * than the machine has: how much is missing, and what would help. */
#include <inttypes.h>

#include "emu/base/json_text.h"
#include "models/net/net.h"
#include "models/run/model_report.h"
#include "programs/compiler/report/count_text.h"

enum { ADVICE_MAX = 3, TEXT_MAX = 256 };

struct help {
    char line[ADVICE_MAX][TEXT_MAX];
    unsigned count;
};

static void find_help(const struct model_facts *n, const struct conv_plans *p, const struct arch *a,
                      struct help *h)
{
    int inputs = p->peak_bytes > 2 * p->resident_bytes; /* take most of it */
    uint32_t side = n->resolution / 2 > NET_SIDE_MIN ? n->resolution / 2 : NET_SIDE_MIN;

    h->count = 0;
    if (inputs && n->batch > 1)
        snprintf(h->line[h->count++], TEXT_MAX, "A smaller batch: --batch %u instead of %u.",
                 n->batch / 2, n->batch);
    if (inputs && n->resolution > NET_SIDE_MIN)
        snprintf(h->line[h->count++], TEXT_MAX, "Smaller pictures: --resolution %u instead of %u.",
                 side, n->resolution);
    snprintf(h->line[h->count++], TEXT_MAX,
             "A machine with more tiles or memory: %s has %s tiles of %s bytes.", a->name,
             count_text(a->tiles).at, count_text(a->mem_bytes).at);
}

void model_hopeless(const struct model_facts *n, const struct conv_plans *p, const struct arch *a,
                    FILE *f)
{
    struct help h;

    find_help(n, p, a, &h);
    fprintf(f,
            "OUT OF MEMORY: %s, %s, batch %u, on %s was not compiled\n"
            "  It is expected to need %s bytes on the fullest tile, %.1f times the %s there are;\n"
            "  %s of them are parameters of convolutions that stay there.\n"
            "\nWhat would help\n",
            n->name, n->input, n->batch, arch_title(a).at, count_text(p->peak_bytes).at,
            (double)p->peak_bytes / a->mem_bytes, count_text(a->mem_bytes).at,
            count_text(p->resident_bytes).at);
    for (unsigned i = 0; i < h.count; i++)
        fprintf(f, "  %u. %s\n", i + 1, h.line[i]);
    fprintf(f, "More: --report compiles it nevertheless and says what every tile would need.\n");
}

json_t *model_hopeless_json(const struct model_facts *n, const struct conv_plans *p,
                            const struct arch *a)
{
    json_t *o = json_pack("{s:b, s:o, s:s, s:o, s:I, s:I, s:I, s:[]}", "fits", 0, "network",
                          json_text(n->name), "machine", a->name, "machine_changes",
                          arch_changes(a), "tile_bytes", (json_int_t)a->mem_bytes,
                          "expected_max_tile_bytes", (json_int_t)p->peak_bytes,
                          "resident_tile_bytes", (json_int_t)p->resident_bytes, "advice");
    struct help h;

    find_help(n, p, a, &h);
    for (unsigned i = 0; o && i < h.count; i++) {
        if (json_array_append_new(json_object_get(o, "advice"), json_text(h.line[i]))) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}
