/* lowered_run.h - runs a lowered program without a machine: every object is an array of its own,
 * transfers copy bytes, calls go to the references of the codelets.
 *
 * Before each operation, objects that are not alive in it are filled with random bytes, so a live
 * range that is too short gives wrong results. Only for programs whose codelets count with lengths.
 */
#ifndef TESTS_LOWERED_RUN_H
#define TESTS_LOWERED_RUN_H

#include <stdlib.h>
#include <string.h>

#include "programs/lower/lowered.h"

struct lr_stream {
    const uint8_t *in; /* borrowed */
    uint64_t in_left;  /* transfers */
    uint8_t *out;      /* owned */
    uint64_t outs;
};

struct lowered_run {
    const struct lowered *l; /* borrowed */
    uint8_t **mem;           /* of every object; owned */
    struct lr_stream *stream;
    uint64_t random;
    uint64_t ops, exchanges, calls; /* executed */
    int broke;                      /* an OP_BREAK was taken */
    const char *error;              /* the first thing that went wrong; NULL */
};

static inline uint8_t lr_random(struct lowered_run *r)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(r->random >> 40);
}

static inline void lr_scramble(struct lowered_run *r, uint32_t object)
{
    for (uint32_t i = 0; i < r->l->object.at[object].bytes; i++)
        r->mem[object][i] = lr_random(r);
}

static inline struct lowered_run *lowered_run_new(const struct lowered *l)
{
    struct lowered_run *r = emu_alloc(1, sizeof(*r));

    EMU_ASSERT(r);
    r->l = l;
    r->random = 1;
    r->mem = emu_alloc(l->object.count + 1, sizeof(*r->mem));
    r->stream = emu_alloc(l->graph->stream.count + 1, sizeof(*r->stream));
    EMU_ASSERT(r->mem && r->stream);
    for (uint32_t i = 0; i < l->object.count; i++) {
        const struct object *o = &l->object.at[i];

        r->mem[i] = emu_alloc_aligned(o->bytes + 16u, 1, 64);
        EMU_ASSERT(r->mem[i]);
        lr_scramble(r, i);
        if (o->data)
            memcpy(r->mem[i], o->data, o->bytes);
    }
    return r;
}

static inline void lowered_run_free(struct lowered_run *r)
{
    for (size_t i = 0; r && i < r->l->object.count; i++)
        emu_free(r->mem[i]);
    for (size_t i = 0; r && i < r->l->graph->stream.count; i++)
        emu_free(r->stream[i].out);
    if (r) {
        emu_free(r->mem);
        emu_free(r->stream);
    }
    emu_free(r);
}

/* ---- tensors ---- */

struct lr_walk {
    struct lowered_run *r;
    uint8_t *data;
    int write;
};

static inline enum emu_status lr_walk_run(void *ctx, const struct view_run *v)
{
    struct lr_walk *w = ctx;
    const struct lowered *l = w->r->l;
    const struct storage *s = &l->storage.at[v->var];
    unsigned unit = elem_bytes(l->graph->variable.at[v->var].elem);

    for (uint64_t e = v->offset; e < v->offset + v->elements; e++) {
        uint32_t i = s->first;
        uint8_t *at;

        while (l->storage_run.at[i].end <= e)
            i++;
        at = w->r->mem[l->storage_run.at[i].object] + l->storage_run.at[i].offset +
             (e - l->storage_run.at[i].begin) * unit;
        if (w->write)
            memcpy(at, w->data, unit);
        else
            memcpy(w->data, at, unit);
        w->data += unit;
    }
    return EMU_OK;
}

static inline void lr_tensor(struct lowered_run *r, struct tensor t, void *data, int write)
{
    struct lr_walk w = { r, data, write };

    EMU_ASSERT(view_runs(r->l->graph, t.view, 0, tensor_elements(r->l->graph, t), lr_walk_run,
                         &w) == EMU_OK);
}

static inline void lowered_run_write(struct lowered_run *r, struct tensor t, const void *data)
{
    lr_tensor(r, t, (void *)data, 1);
}

static inline void lowered_run_read(struct lowered_run *r, struct tensor t, void *data)
{
    lr_tensor(r, t, data, 0);
}

/* ---- operations ---- */

static inline int lr_is_live(const struct lowered *l, uint32_t set, uint32_t op)
{
    const struct live_set *s = &l->live_set.at[set];

    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        if (l->live_range.at[i].begin <= op && op < l->live_range.at[i].end)
            return 1;
    }
    return 0;
}

static inline void lr_exchange(struct lowered_run *r, const struct op *op)
{
    const struct lowered *l = r->l;
    uint8_t *words, *at;
    size_t bytes = 0;

    for (uint64_t i = op->first; i < op->first + op->count; i++)
        bytes += l->transfer.at[i].bytes;
    at = words = emu_alloc(bytes + 1, 1);
    EMU_ASSERT(words);
    for (uint64_t i = op->first; i < op->first + op->count; i++) {
        const struct transfer *t = &l->transfer.at[i];

        memcpy(at, r->mem[t->object] + t->offset, t->bytes);
        at += t->bytes;
    }
    at = words;
    for (uint64_t i = op->first; i < op->first + op->count; i++) {
        const struct transfer *t = &l->transfer.at[i];

        for (uint32_t k = t->first; k < t->first + t->dests; k++)
            memcpy(r->mem[l->transfer_dest.at[k].object] + l->transfer_dest.at[k].offset, at,
                   t->bytes);
        at += t->bytes;
    }
    emu_free(words);
    r->exchanges++;
}

/* The host memory a word of a state or table points to. */
static inline uint8_t *lr_pointer(struct lowered_run *r, const struct object_word *w)
{
    return w->object == LOWERED_NONE ? NULL : r->mem[w->object] + w->value;
}

static inline void lr_list(struct lowered_run *r, const struct object_word *w,
                           struct codelet_arg *arg)
{
    const struct object *table = w->object == LOWERED_NONE ? NULL : &r->l->object.at[w->object];
    const struct object_word *row = table ? &r->l->word.at[table->word] : NULL;
    struct codelet_run *run = emu_alloc(table ? table->words : 1, sizeof(*run));

    EMU_ASSERT(run);
    arg->elements = table ? table->words / 2 : 0;
    for (uint32_t i = 0; i < arg->elements; i++)
        run[i] = (struct codelet_run){ lr_pointer(r, &row[2 * i]), row[2 * i + 1].value };
    arg->list = run;
}

static inline void lr_call(struct lowered_run *r, const struct call *c)
{
    const struct codelet *k = &codelet_table[c->codelet];
    const struct object_word *w = &r->l->word.at[r->l->object.at[c->state].word];
    struct codelet_call call = { .arch = &r->l->graph->arch };

    for (unsigned f = 0; f < k->fields; f++) {
        struct codelet_arg *arg = &call.arg[f];
        enum field_kind kind = k->field[f].kind;

        if (kind == FIELD_APART)
            continue;
        arg->value = w->value;
        if (field_is_edge(kind) || kind == FIELD_WORDS)
            arg->data = lr_pointer(r, w);
        if (kind == FIELD_WORDS && w->object != LOWERED_NONE)
            arg->elements = r->l->object.at[w->object].bytes / 4;
        if (field_is_list(kind))
            lr_list(r, w, arg);
        if (kind == FIELD_LENGTH)
            call.arg[codelet_field_find(k, k->field[f].other)].elements = w->value;
        w++;
    }
    k->ref(&call);
    for (unsigned f = 0; f < k->fields; f++)
        emu_free((void *)call.arg[f].list);
    r->calls++;
}

/* The bytes of one transfer of a stream in the order of the layout: to or from its tensor. */
static inline void lr_layout(struct lowered_run *r, const struct stream_layout *s, unsigned unit,
                             uint8_t *link, uint8_t *tensor, int in)
{
    for (uint32_t i = s->first; i < s->first + s->pieces; i++) {
        const struct stream_piece *p = &r->l->stream_piece.at[i];

        if (p->element == UINT64_MAX && in)
            memset(link, 0xee, p->bytes);
        else if (p->element != UINT64_MAX && in)
            memcpy(link, tensor + p->element * unit, p->bytes);
        else if (p->element != UINT64_MAX)
            memcpy(tensor + p->element * unit, link, p->bytes);
        link += p->bytes;
    }
}

/* Requests by round, then tile. */
static inline void lr_requests(struct lowered_run *r, const struct op *op, uint8_t *link, int in)
{
    for (uint32_t round = 0, left = 1; left; round++) {
        left = 0;
        for (uint64_t i = op->first; i < op->first + op->count; i++) {
            const struct host_request *x = &r->l->host_request.at[i];

            left |= x->round > round;
            if (x->round != round)
                continue;
            if (in)
                memcpy(r->mem[x->object] + x->offset, link, x->bytes);
            else
                memcpy(link, r->mem[x->object] + x->offset, x->bytes);
            link += x->bytes;
        }
    }
}

static inline void lr_host(struct lowered_run *r, const struct op *op)
{
    const struct stream_layout *layout = &r->l->stream_layout.at[op->n];
    const struct stream *s = &r->l->graph->stream.at[layout->stream];
    struct lr_stream *x = &r->stream[layout->stream];
    size_t bytes = s->elements * elem_bytes(s->elem), link_bytes = 0;
    uint8_t *link;

    for (uint32_t i = 0; i < layout->pieces; i++)
        link_bytes += r->l->stream_piece.at[layout->first + i].bytes;
    link = emu_alloc(link_bytes, 1);
    EMU_ASSERT(link);
    if (s->way == STREAM_IN && !x->in_left) {
        r->error = "a stream ran dry";
    } else if (s->way == STREAM_IN) {
        lr_layout(r, layout, elem_bytes(s->elem), link, (uint8_t *)x->in, 1);
        lr_requests(r, op, link, 1);
        x->in += bytes;
        x->in_left--;
    } else {
        x->out = emu_realloc(x->out, ++x->outs, bytes);
        EMU_ASSERT(x->out);
        lr_requests(r, op, link, 0);
        lr_layout(r, layout, elem_bytes(s->elem), link, x->out + (x->outs - 1) * bytes, 0);
    }
    emu_free(link);
}

/* The value of a predicate, which all tiles must see alike. */
static inline uint32_t lr_predicate(struct lowered_run *r, const struct op *op)
{
    uint32_t value = 0, first = 1;

    for (uint32_t i = 0; i < r->l->used_tiles; i++) {
        uint32_t object = r->l->predicate.at[op->predicate + i], here;

        if (object == LOWERED_NONE)
            continue;
        memcpy(&here, r->mem[object], 4);
        if (!first && !here != !value)
            r->error = "tiles see different predicates";
        value = here;
        first = 0;
    }
    return value;
}

/* The operation that ends the structure beginning at p, or its OP_ELSE. */
static inline uint32_t lr_end(const struct lowered *l, uint32_t p, int or_else)
{
    for (uint32_t depth = 0;; p++) {
        enum op_kind k = l->op.at[p].kind;

        depth += k == OP_REPEAT || k == OP_LOOP || k == OP_IF;
        depth -= k == OP_END;
        if (!depth || (or_else && depth == 1 && k == OP_ELSE))
            return p;
    }
}

static inline void lr_run(struct lowered_run *r, uint32_t p, uint32_t end);

static inline void lr_structure(struct lowered_run *r, uint32_t p, uint32_t end)
{
    const struct lowered *l = r->l;
    uint32_t part;

    switch (l->op.at[p].kind) {
    case OP_REPEAT:
        for (uint32_t i = 0; i < l->op.at[p].n && !r->broke && !r->error; i++)
            lr_run(r, p + 1, end);
        break;
    case OP_LOOP:
        while (!r->broke && !r->error)
            lr_run(r, p + 1, end);
        r->broke = 0;
        break;
    default:
        part = lr_end(l, p, 1);
        if (lr_predicate(r, &l->op.at[p]))
            lr_run(r, p + 1, part);
        else
            lr_run(r, part + 1, end);
    }
}

static inline void lr_run(struct lowered_run *r, uint32_t p, uint32_t end)
{
    const struct lowered *l = r->l;

    for (; p < end && !r->broke && !r->error; p++) {
        const struct op *op = &l->op.at[p];

        if (++r->ops > 1000000)
            r->error = "it does not end";
        for (uint32_t i = 0; i < l->object.count; i++) {
            if (!lr_is_live(l, l->object.at[i].live, p))
                lr_scramble(r, i);
        }
        switch (op->kind) {
        case OP_CALLS:
            for (uint64_t i = op->first; i < op->first + op->count; i++)
                lr_call(r, &l->call.at[i]);
            break;
        case OP_EXCHANGE:
            lr_exchange(r, op);
            break;
        case OP_HOST:
            lr_host(r, op);
            break;
        case OP_BREAK:
            r->broke = !lr_predicate(r, op);
            break;
        case OP_CALL:
            lr_run(r, l->function.at[op->n].first,
                   l->function.at[op->n].first + l->function.at[op->n].count);
            break;
        case OP_REPEAT:
        case OP_LOOP:
        case OP_IF:
            lr_structure(r, p, lr_end(l, p, 0));
            p = lr_end(l, p, 0);
            break;
        case OP_AWAIT:
        case OP_ELSE:
        case OP_END:
            break;
        }
    }
}

/* Runs the program once; NULL, or what went wrong. */
static inline const char *lowered_run_once(struct lowered_run *r)
{
    lr_run(r, r->l->function.at[0].first, r->l->function.at[0].first + r->l->function.at[0].count);
    return r->error;
}

#endif
