/* equal_blocks.c - finds equal blocks: writes each as a list of words that hold everything its
 * lowering may look at, and compares the lists. */
#include "models/lower/equal_blocks.h"

#include <string.h>

#include "emu/base/hash.h"
#include "models/lower/readers.h"

enum { GROUPS_MIN = 3 }; /* with fewer nodes a call costs about as much as it saves */

/* A stretch as words. */
struct wording {
    const struct op_graph *g;
    uint32_t *number; /* owned; by value of the graph: 1 + its number; 0: it has none yet */
    uint64_t *word;   /* owned */
    size_t words, word_cap;
    uint32_t *value; /* owned; by number */
    uint32_t *reads; /* owned */
    uint8_t *made;   /* owned */
    uint32_t values;
    size_t value_cap, reads_cap, made_cap;
    int by_shape; /* 1: what parameters contain does not count */
    enum emu_status status;
};

/* A stretch with its words, while stretches are compared. */
struct worded {
    uint64_t *word; /* owned */
    size_t words;
    uint64_t hash;
};

/* ---- words ---- */

static void say(struct wording *w, uint64_t word)
{
    if (w->status == EMU_OK)
        w->status = emu_grow((void **)&w->word, w->words, &w->word_cap, sizeof(*w->word));
    if (w->status == EMU_OK)
        w->word[w->words++] = word;
}

static void say_float(struct wording *w, double f)
{
    uint64_t bits;

    memcpy(&bits, &f, sizeof(bits));
    say(w, bits);
}

static void say_bytes(struct wording *w, const void *data, size_t bytes)
{
    struct hash128 h = hash128(data, bytes);

    say(w, bytes);
    say(w, h.lo);
    say(w, h.hi);
}

static void say_text(struct wording *w, const char *text)
{
    say_bytes(w, text, strlen(text));
}

static void say_shape(struct wording *w, const struct op_shape *s)
{
    say(w, s->type);
    say(w, s->rank);
    for (unsigned k = 0; k < s->rank; k++)
        say(w, s->dim[k]);
}

int value_is_parameter_like(const struct op_value *v)
{
    return op_value_constant_kind(v) && op_type_kind(v->shape.type) == OP_KIND_FLOAT &&
           op_shape_count(&v->shape) >= PARAMETER_MIN;
}

/* What there is to know of a value, when it is first named. */
static void say_value(struct wording *w, uint32_t value)
{
    const struct op_value *v = &w->g->value[value];

    say(w, v->kind);
    say_shape(w, &v->shape);
    if (!op_value_constant_kind(v) || (w->by_shape && value_is_parameter_like(v)))
        return;
    if (v->data)
        say_bytes(w, v->data, op_shape_count(&v->shape) * op_type_bytes(v->shape.type));
    else
        say(w, value); /* numbers that are not known yet: equal only to itself */
}

/* Names a value. Returns its number. */
static uint32_t say_number(struct wording *w, uint32_t value)
{
    if (value == OP_NONE) {
        say(w, OP_NONE);
        return OP_NONE;
    }
    if (w->number[value]) {
        say(w, w->number[value]);
        return w->number[value] - 1;
    }
    say(w, 0);
    say_value(w, value);
    if (w->status == EMU_OK)
        w->status = emu_grow((void **)&w->value, w->values, &w->value_cap, sizeof(*w->value));
    if (w->status == EMU_OK)
        w->status = emu_grow((void **)&w->reads, w->values, &w->reads_cap, sizeof(*w->reads));
    if (w->status == EMU_OK)
        w->status = emu_grow((void **)&w->made, w->values, &w->made_cap, sizeof(*w->made));
    if (w->status != EMU_OK)
        return OP_NONE;
    w->value[w->values] = value;
    w->reads[w->values] = 0;
    w->made[w->values] = 0;
    w->number[value] = ++w->values;
    return w->values - 1;
}

static void say_attribute(struct wording *w, const struct op_attr *a)
{
    say(w, a->kind);
    say(w, a->count);
    switch (a->kind) {
    case OP_ATTR_NONE:
        break;
    case OP_ATTR_INT:
        say(w, (uint64_t)a->i);
        break;
    case OP_ATTR_FLOAT:
        say_float(w, a->f);
        break;
    case OP_ATTR_STRING:
        say_text(w, a->s);
        break;
    case OP_ATTR_INTS:
        say_bytes(w, a->ints, a->count * sizeof(*a->ints));
        break;
    case OP_ATTR_FLOATS:
        say_bytes(w, a->floats, a->count * sizeof(*a->floats));
        break;
    case OP_ATTR_TENSOR:
        say_value(w, a->value);
        break;
    case OP_ATTR_STRINGS:
        for (uint32_t k = 0; k < a->count; k++)
            say_text(w, a->texts[k]);
        break;
    }
}

static void say_node(struct wording *w, const struct op_node *n)
{
    uint32_t k;

    say(w, (uint64_t)(uintptr_t)n->row);
    say(w, (uint64_t)n->ins << 32 | n->outs);
    for (uint32_t i = 0; i < n->attrs; i++)
        say_attribute(w, &n->attr[i]);
    for (uint32_t i = 0; i < n->ins; i++) {
        k = say_number(w, n->in[i]);
        if (k != OP_NONE)
            w->reads[k]++;
    }
    for (uint32_t i = 0; i < n->outs; i++) {
        k = say_number(w, n->out[i]);
        if (k == OP_NONE)
            continue;
        w->made[k] = 1;
        say(w, result_answers(w->g, n, i));
    }
}

static void say_group(struct wording *w, const struct node_group *group)
{
    say(w, (uint64_t)group->nodes << 32 | (uint32_t)group->act);
    say(w, group->precision);
    for (unsigned k = 0; k < group->nodes; k++)
        say_node(w, &w->g->node[group->node[k]]);
    say_number(w, group->bias);
    say_number(w, group->added);
}

/* ---- stretches ---- */

static const char *block_of(const struct op_graph *g, const struct node_group *group)
{
    return g->node[group->node[0]].block;
}

/* Where the run of groups of one block ends that begins with group i. */
static uint32_t end_of_stretch(const struct op_graph *g, const struct node_groups *groups,
                               uint32_t i)
{
    const struct node_group *first = &groups->at[i];
    uint32_t end = i + 1;

    while (end < groups->count && node_group_around(&groups->at[end]) == node_group_around(first) &&
           !strcmp(block_of(g, &groups->at[end]), block_of(g, first)))
        end++;
    return end;
}

static void forget(struct wording *w)
{
    for (uint32_t k = 0; k < w->values; k++)
        w->number[w->value[k]] = 0;
    w->words = 0;
    w->values = 0;
}

static int is_same(const struct worded *a, const struct worded *b)
{
    return a->hash == b->hash && a->words == b->words &&
           !memcmp(a->word, b->word, a->words * sizeof(*a->word));
}

static void *copy_of(const void *data, size_t count, size_t size, enum emu_status *s)
{
    void *p = emu_alloc(count + 1, size);

    if (!p)
        *s = FAIL(NO_MEMORY, "equal blocks");
    else if (count)
        memcpy(p, data, count * size);
    return p;
}

/* Adds the stretch that the words describe, to the class with the same words or to a new one.
 * worded: by class. */
static enum emu_status add_stretch(struct wording *w, struct equal_blocks *b, uint32_t begin,
                                   uint32_t groups, struct worded *worded)
{
    struct stretch *s = &b->stretch[b->stretches];
    struct worded now = { w->word, w->words, hash64(w->word, w->words * sizeof(*w->word)) };
    enum emu_status st = w->status;
    struct block_class *c;

    TRY(st);
    *s = (struct stretch){ .begin = begin, .groups = groups };
    while (s->class < b->classes && !is_same(&worded[s->class], &now))
        s->class ++;
    c = &b->class[s->class];
    if (s->class == b->classes) {
        worded[b->classes++] = (struct worded){ copy_of(w->word, w->words, sizeof(*w->word), &st),
                                                now.words, now.hash };
        *c = (struct block_class){ .first = b->stretches, .values = w->values };
        c->reads = copy_of(w->reads, w->values, sizeof(*c->reads), &st);
        c->made = copy_of(w->made, w->values, sizeof(*c->made), &st);
        c->asked = emu_alloc(w->values + 1, sizeof(*c->asked));
        if (!c->asked)
            st = FAIL(NO_MEMORY, "equal blocks");
    }
    s->value = copy_of(w->value, w->values, sizeof(*s->value), &st);
    c->count++;
    b->stretches++;
    return st;
}

static enum emu_status find_all(struct wording *w, const struct node_groups *groups,
                                struct equal_blocks *b, struct worded *worded)
{
    /* Only after a change of precision: parameters that become states have the precision behind it.
     */
    for (uint32_t i = 0, end; i < groups->count; i = end) {
        end = end_of_stretch(w->g, groups, i);
        if (end - i < GROUPS_MIN || !*block_of(w->g, &groups->at[i]) ||
            node_group_around(&groups->at[i]) != node_group_around(&groups->at[groups->count - 1]))
            continue;
        for (uint32_t k = i; k < end; k++)
            say_group(w, &groups->at[k]);
        TRY(add_stretch(w, b, i, end - i, worded));
        forget(w);
    }
    return EMU_OK;
}

/* ---- classes of more than one ---- */

static void class_free(struct block_class *c)
{
    ss_free(c->reads);
    ss_free(c->made);
    ss_free(c->asked);
}

/* Leaves out classes of one stretch. */
static enum emu_status drop_alone(struct equal_blocks *b)
{
    uint32_t *now = emu_alloc(b->classes + 1, sizeof(*now)), stretches = 0, classes = 0;

    if (!now)
        return FAIL(NO_MEMORY, "equal blocks");
    for (uint32_t c = 0; c < b->classes; c++) {
        now[c] = b->class[c].count > 1 ? classes : OP_NONE;
        if (now[c] == OP_NONE)
            class_free(&b->class[c]);
        else
            b->class[classes++] = b->class[c];
    }
    for (uint32_t i = 0; i < b->stretches; i++) {
        struct stretch *s = &b->stretch[i];

        if (now[s->class] == OP_NONE) {
            ss_free(s->value);
            continue;
        }
        s->class = now[s->class];
        if (b->class[s->class].first == i)
            b->class[s->class].first = stretches;
        b->stretch[stretches++] = *s;
    }
    b->stretches = stretches;
    b->classes = classes;
    ss_free(now);
    return EMU_OK;
}

static void mark_asked(const struct op_graph *g, struct equal_blocks *b)
{
    for (uint32_t i = 0; i < b->stretches; i++) {
        struct block_class *c = &b->class[b->stretch[i].class];

        for (uint32_t k = 0; k < c->values; k++)
            c->asked[k] |= (uint8_t)stretch_is_asked(g, b, &b->stretch[i], k);
    }
}

static enum emu_status find(const struct op_graph *g, const struct node_groups *groups,
                            int by_shape, struct equal_blocks *out)
{
    struct worded *worded = emu_alloc(groups->count + 1, sizeof(*worded));
    struct wording w = { .g = g,
                         .number = emu_alloc(g->values + 1, sizeof(*w.number)),
                         .by_shape = by_shape };
    enum emu_status s = EMU_OK;

    *out = (struct equal_blocks){
        .stretch = emu_alloc(groups->count + 1, sizeof(*out->stretch)),
        .class = emu_alloc(groups->count + 1, sizeof(*out->class)),
    };
    if (!worded || !w.number || !out->stretch || !out->class)
        s = FAIL(NO_MEMORY, "equal blocks of %u groups", groups->count);
    if (s == EMU_OK)
        s = find_all(&w, groups, out, worded);
    for (uint32_t c = 0; worded && c < out->classes; c++)
        ss_free(worded[c].word);
    if (s == EMU_OK)
        s = drop_alone(out);
    if (s == EMU_OK)
        mark_asked(g, out);
    else
        equal_blocks_free(out);
    ss_free(worded);
    ss_free(w.number);
    ss_free(w.word);
    ss_free(w.value);
    ss_free(w.reads);
    ss_free(w.made);
    return s;
}

enum emu_status equal_blocks_find(const struct op_graph *g, const struct node_groups *groups,
                                  struct equal_blocks *out)
{
    return find(g, groups, 0, out);
}

enum emu_status equal_blocks_find_by_shape(const struct op_graph *g,
                                           const struct node_groups *groups,
                                           struct equal_blocks *out)
{
    return find(g, groups, 1, out);
}

void equal_blocks_free(struct equal_blocks *b)
{
    for (uint32_t c = 0; b->class && c < b->classes; c++)
        class_free(&b->class[c]);
    for (uint32_t i = 0; b->stretch && i < b->stretches; i++)
        ss_free(b->stretch[i].value);
    ss_free(b->class);
    ss_free(b->stretch);
    memset(b, 0, sizeof(*b));
}

/* ---- questions ---- */

const struct stretch *equal_blocks_at(const struct equal_blocks *b, uint32_t group)
{
    for (uint32_t i = 0; i < b->stretches; i++) {
        if (b->stretch[i].begin == group)
            return &b->stretch[i];
    }
    return NULL;
}

int stretch_is_asked(const struct op_graph *g, const struct equal_blocks *b,
                     const struct stretch *s, uint32_t k)
{
    const struct block_class *c = &b->class[s->class];

    return c->made[k] && value_reads(g, s->value[k]) > c->reads[k];
}
