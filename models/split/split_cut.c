/* split_cut.c - reads where stages begin, and says what is wrong with it. */
#include "models/split/split_cut.h"

#include <string.h>

#include "emu/base/nearest.h"
#include "models/split/split.h"

enum { LISTED = 700, NAME_LISTED = 100 }; /* characters */

unsigned split_stages_of(const char *cut)
{
    unsigned stages = 1;

    for (; cut; cut = strchr(cut, ',') ? strchr(cut, ',') + 1 : NULL)
        stages++;
    return stages;
}

/* ---- messages ---- */

/* How much of a name is shown. */
static int shown(const struct split_cut *c)
{
    return c->length < NAME_LISTED ? (int)c->length : NAME_LISTED;
}

/* "block1a, block1b, .., block7b": as many names as there is room for, and the last one. */
static void list_names(const struct split_places *p, char text[LISTED])
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t k = 0; k < p->count; k++) {
        int is_last = k + 1 == p->count, is_full = at > LISTED - 3 * (size_t)NAME_LISTED;

        at += (size_t)snprintf(text + at, LISTED - at, "%s%.*s", k ? ", " : "", NAME_LISTED,
                               is_full && !is_last ? ".." : p->at[k].name);
        if (is_full)
            k = p->count - 2 > k ? p->count - 2 : k;
    }
}

static void try_names(struct nearest *near, const struct split_places *p)
{
    for (uint32_t k = 0; k < p->count; k++)
        nearest_try(near, p->at[k].name);
}

static enum emu_status no_such_name(const struct split_order *o, const struct split_cut *c)
{
    struct nearest near = { .word = c->at, .n = c->length };
    struct split_places blocks = { .count = 0 }, nodes = { .count = 0 };
    enum emu_status s = split_places(o->g, 0, &blocks);
    char listed[LISTED];

    if (s == EMU_OK)
        s = split_places(o->g, 1, &nodes);
    if (s == EMU_OK) {
        try_names(&near, &blocks);
        try_names(&near, &nodes);
        list_names(&blocks, listed);
        s = blocks.count
                ? FAIL(USAGE, "--cut %.*s: there is no such block or node;%s the %s are %s",
                       shown(c), c->at, nearest_hint(&near).text,
                       o->blocks.names ? "blocks" : "nodes", listed)
                : FAIL(USAGE, "--cut %.*s: the network has no place to cut", shown(c), c->at);
    }
    split_places_free(&blocks);
    split_places_free(&nodes);
    return s;
}

/* ---- names ---- */

static enum emu_status find_name(const struct split_order *o, struct split_cut *c, int *by_nodes)
{
    if (!c->length)
        return FAIL(USAGE,
                    "--cut: a name is missing; expected blocks or nodes, with commas between");
    c->node = split_names_find(&o->blocks, c->at, c->length);
    if (c->node != OP_NONE)
        return EMU_OK;
    c->node = split_names_find(&o->nodes, c->at, c->length);
    *by_nodes |= c->node != OP_NONE;
    return c->node != OP_NONE ? EMU_OK : no_such_name(o, c);
}

/* A cut begins behind the one before it; the first one behind the first node. */
static enum emu_status check_order(const struct split_cut *c, unsigned k)
{
    const struct split_cut *before = k ? &c[k - 1] : NULL;

    if (c[k].node > (before ? before->node : 0))
        return EMU_OK;
    if (!before)
        return FAIL(USAGE, "--cut %.*s: the network begins there, so stage 0 would be empty",
                    shown(&c[k]), c[k].at);
    return FAIL(USAGE, "--cut: %.*s begins %s %.*s; stages are in the order of the network",
                shown(&c[k]), c[k].at, c[k].node == before->node ? "with" : "before", shown(before),
                before->at);
}

enum emu_status split_cuts_read(const struct split_order *o, const char *names,
                                struct split_cuts *out)
{
    unsigned cuts = split_stages_of(names) - 1;

    *out = (struct split_cuts){ .cuts = cuts };
    out->cut = emu_alloc((size_t)cuts + 1, sizeof(*out->cut));
    if (!out->cut)
        return FAIL(NO_MEMORY, "%u cuts", cuts);
    for (unsigned k = 0; k < cuts; k++) {
        out->cut[k] = (struct split_cut){ .at = names, .length = (uint32_t)strcspn(names, ",") };
        TRY(find_name(o, &out->cut[k], &out->by_nodes));
        TRY(check_order(out->cut, k));
        names += out->cut[k].length + 1;
    }
    return EMU_OK;
}
