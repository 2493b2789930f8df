/* lower_options.c - every member of struct lower_options: keys of the cache must have all of them.
 */
#include "models/lower/lower_options.h"

#include <inttypes.h>

#include "emu/base/hash.h"

/* The tables are enough: they say how a byte or a number becomes a number. */
static void print_pixels(const struct pixel_format *p, FILE *f)
{
    char digits[33];

    if (!p)
        return;
    hash128_text(hash128(p->number, sizeof(p->number)), digits);
    fprintf(f, " pixels %d %s", (int)p->elem, digits);
}

static void print_loop(const struct lower_loop *o, FILE *f)
{
    fprintf(f, " batches %u open %d results %u link %u %u", o->batches, o->is_open, o->results,
            o->link.tiles, o->link.depth);
    print_pixels(o->pixels, f);
}

/* Nothing of a network on one chip. */
static void print_stage(const struct lower_stage *s, FILE *f)
{
    if (!s)
        return;
    fprintf(f, " stage %u %u results %u", s->number, s->stages, s->results);
    for (uint32_t k = 0; k < s->edges; k++)
        fprintf(f, " %u %u %u %d %s", s->edge[k].value, s->edge[k].from, s->edge[k].to,
                (int)s->edge[k].elem, s->edge[k].channel);
}

void lower_options_print(const struct lower_options *o, FILE *f)
{
    fprintf(f, "real %d memory %a parameters %a states %d reserve %" PRIu64 " least %d",
            (int)o->real, o->memory_proportion, o->parameter_proportion, (int)o->states,
            o->reserve_bytes, o->least_memory);
    fprintf(f, " depthwise %d partials %d keep %u %u blocks %d watch %d gradients %d",
            (int)o->depthwise, (int)o->partials, o->keep_begin, o->keep_end, (int)o->share_blocks,
            o->watch, o->gradients);
    print_loop(&o->loop, f);
    print_stage(o->stage, f);
    fprintf(f, "\n");
}
