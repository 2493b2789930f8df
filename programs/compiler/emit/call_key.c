/* call_key.c - timing keys (call_key.h). */
#include "programs/compiler/emit/call_key.h"

#include <stdio.h>

enum { ADDRESS_RESIDUE = 16 }; /* bytes of the widest access */

/* What a word of vertex state can be. */
enum word_kind { WORD_NUMBER, WORD_ADDRESS, WORD_TABLE, WORD_LIST };

struct key_state {
    const struct emit_index *p;
    enum codelet_time time;
    uint64_t hash;
};

static void mix(struct key_state *k, enum word_kind kind, uint64_t value)
{
    const uint64_t part[] = { k->hash, kind, value };

    k->hash = hash64(part, sizeof(part));
}

/* Bit 0 of the residue is free: it tells the regions. */
static void mix_address(struct key_state *k, enum word_kind kind, uint32_t addr)
{
    const struct arch *a = k->p->arch;
    int interleaved = addr - a->mem_base >= a->region0_bytes;

    mix(k, kind, k->time == TIME_PLACE ? addr : addr % ADDRESS_RESIDUE * 2 + (unsigned)interleaved);
}

static void mix_words(struct key_state *k, const struct object *o, int deep)
{
    const struct lowered *l = k->p->l;

    for (uint32_t i = 0; i < o->words; i++) {
        const struct object_word *w = &l->word.at[o->word + i];
        const struct object *to;

        if (w->object == LOWERED_NONE) {
            mix(k, WORD_NUMBER, w->value);
            continue;
        }
        to = &l->object.at[w->object];
        if (deep && to->category == CATEGORY_VERTEX_STATE) {
            mix_address(k, WORD_TABLE, to->addr + w->value);
            mix_words(k, to, 0);
        } else if (deep && to->category == CATEGORY_WORK_LIST) {
            mix_address(k, WORD_LIST, to->addr + w->value);
            mix(k, WORD_LIST, hash64(to->data, to->bytes));
        } else {
            mix_address(k, WORD_ADDRESS, to->addr + w->value);
        }
    }
}

uint64_t call_key_base(const struct codelet_code *codelets)
{
    return hash64(codelets->code, codelets->bytes);
}

uint64_t call_key(const struct emit_index *p, uint64_t base, uint32_t call)
{
    const struct call *c = &p->l->call.at[call];
    struct key_state k = { p, p->l->codelet.at[c->codelet]->time, base };

    if (k.time == TIME_DATA)
        return 0;
    mix(&k, WORD_NUMBER, p->in->codelets->entry[c->codelet]);
    mix_words(&k, &p->l->object.at[c->state], 1);
    return k.hash ? k.hash : 1;
}

static const struct codelet *data_codelet(const struct lowered *l, const struct step *s)
{
    for (uint64_t i = 0; s->kind == STEP_CALLS && i < s->count; i++) {
        const struct codelet *c = l->codelet.at[l->call.at[s->first + i].codelet];

        if (c->time == TIME_DATA)
            return c;
    }
    return NULL;
}

void call_key_depends(const struct lowered *l, char text[CALL_KEY_TEXT])
{
    *text = '\0';
    for (size_t i = 0; i < l->step.count; i++) {
        const struct step *s = &l->step.at[i];
        const struct codelet *c = data_codelet(l, s);
        const char *name = l->strings.text[s->name];

        if (c)
            snprintf(text, CALL_KEY_TEXT, "the time of codelet %.200s in step '%.200s'", c->name,
                     name);
        else if ((s->kind == STEP_IF && !s->rare) || s->kind == STEP_BREAK)
            snprintf(text, CALL_KEY_TEXT, "a branch in step '%.200s'", name);
        else
            continue;
        return;
    }
}

void call_key_usual(const struct lowered *l, char text[CALL_KEY_TEXT])
{
    *text = '\0';
    for (size_t i = 0; i < l->step.count && !*text; i++) {
        const struct step *s = &l->step.at[i];

        if (s->kind == STEP_IF && s->rare)
            snprintf(text, CALL_KEY_TEXT, "a branch in step '%.200s'", l->strings.text[s->name]);
    }
}
