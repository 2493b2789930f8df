/* lent_values.c - finds the results of functions that can be read where they were made. */
#include "models/lower/lent_values.h"

#include "emu/base/alloc.h"
#include "models/lower/readers.h"

/* Where the next stretch of the class of stretch i begins. */
static uint32_t next_of_class(const struct equal_blocks *b, uint32_t i)
{
    for (uint32_t k = i + 1; k < b->stretches; k++) {
        if (b->stretch[k].class == b->stretch[i].class)
            return b->stretch[k].begin;
    }
    return UINT32_MAX;
}

/* Notes which values stretch i makes and reads. reads: how often all stretches together read a
 * value; last: where the last stretch begins that reads it without making it; next: where the
 * function that makes it is called again. */
static void visit(const struct equal_blocks *b, uint32_t i, struct lent_value *lent,
                  uint32_t *reads, uint32_t *last, uint32_t *next)
{
    const struct stretch *s = &b->stretch[i];
    const struct block_class *c = &b->class[s->class];

    for (uint32_t k = 0; k < c->values; k++) {
        uint32_t value = s->value[k];

        reads[value] += c->reads[k];
        if (c->made[k]) {
            lent[value] = (struct lent_value){ s->class, k, c->reads[k] };
            next[value] = next_of_class(b, i);
        } else {
            last[value] = s->begin;
        }
    }
}

struct lent_value *lent_values_find(const struct op_graph *g, const struct equal_blocks *b)
{
    struct lent_value *lent = emu_alloc(g->values + 1, sizeof(*lent));
    uint32_t *of = emu_alloc(3 * ((size_t)g->values + 1), sizeof(*of));
    uint32_t *reads = of, *last = reads + g->values, *next = last + g->values;

    if (!lent || !of) {
        ss_free(lent);
        ss_free(of);
        return NULL;
    }
    for (uint32_t v = 0; v < g->values; v++)
        lent[v].class = OP_NONE;
    for (uint32_t i = 0; i < b->stretches; i++)
        visit(b, i, lent, reads, last, next);
    /* The next call may read it: its operands are copied before it makes anything. */
    for (uint32_t v = 0; v < g->values; v++) {
        if (reads[v] != value_reads(g, v) || last[v] > next[v])
            lent[v].class = OP_NONE;
    }
    ss_free(of);
    return lent;
}

struct lent_value lent_to_all(const struct op_graph *g, const struct equal_blocks *b,
                              const struct lent_value *lent, uint32_t class, uint32_t number,
                              int *only)
{
    const struct block_class *c = &b->class[class];
    struct lent_value all = lent[b->stretch[c->first].value[number]];

    *only = 1;
    for (uint32_t i = 0; i < b->stretches && all.class != OP_NONE; i++) {
        const struct stretch *s = &b->stretch[i];
        uint32_t value = s->value[number];

        if (s->class != class)
            continue;
        if (lent[value].class != all.class || lent[value].number != all.number ||
            all.class == class)
            all.class = OP_NONE;
        *only &= value_reads(g, value) == all.reads + c->reads[number];
    }
    return all;
}
