/* host_cost.c - the host's share of a run, from the machine's fields; see host_cost.h. */
#include "models/answer/host_cost.h"

#include <stdio.h>

#include "emu/arch/arch_numbers.h"
#include "programs/compiler/report/count_text.h"

enum { HOST_SYNCS = 2 };

static double transfer(const struct arch *a, uint64_t bytes)
{
    return (double)arch_host_latency_ns(a) * 1e-9 +
           (double)bytes / ((double)arch_host_link_mbytes_per_s(a) * 1e6);
}

struct host_cost host_cost_of(const struct arch *a, const struct model_facts *n)
{
    struct host_cost c = {
        .launch = HOST_SYNCS * (double)arch_sync_host_cycles(a) / ((double)a->clock_mhz * 1e6),
        .input_bytes = n->input_bytes,
        .output_bytes = n->output_bytes,
    };

    c.input = transfer(a, c.input_bytes);
    c.output = transfer(a, c.output_bytes);
    return c;
}

double host_cost_seconds(const struct host_cost *c)
{
    return c->launch + c->input + c->output;
}

void host_cost_print(const struct host_cost *c, const struct model_facts *n, double seconds,
                     FILE *f)
{
    double all = seconds + host_cost_seconds(c);

    fprintf(f, "with the host %.6f s, %.1f %s: + %.1f us for two syncs, ", all, n->batch / all,
            model_rate_unit(n), 1e6 * c->launch);
    fprintf(f, "%.1f us for %s bytes in, ", 1e6 * c->input, count_text(c->input_bytes).at);
    fprintf(f, "%.1f us for %s bytes out\n", 1e6 * c->output, count_text(c->output_bytes).at);
}

json_t *host_cost_json(const struct host_cost *c, const struct model_facts *n, double seconds)
{
    double all = seconds + host_cost_seconds(c);

    return json_pack("{s:f, s:f, s:I, s:f, s:I, s:f, s:f, s:f}", "launch_seconds", c->launch,
                     "input_seconds", c->input, "input_bytes", (json_int_t)c->input_bytes,
                     "output_seconds", c->output, "output_bytes", (json_int_t)c->output_bytes,
                     "seconds", all, "inputs_per_second", n->batch / all, "pictures_per_second",
                     n->batch / all);
}
