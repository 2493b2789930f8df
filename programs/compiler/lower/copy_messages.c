/* copy_messages.c - runs of whole words between tiles become messages, which are as long as
 * possible and are sent once where several tiles want the same words.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* Sources that overlap in part are cut into common parts of at least this length. One more message
 * costs its receiver about 12 bytes of code and its sender 8, and pays if it saves 8 sent words. */
enum { SPLIT_WORDS = 8, SPLIT_BYTES = 4 * SPLIT_WORDS };
/* More parts than this for each run rarely pay, and there could be millions of them. */
enum { MAX_PARTS = 16 };

static int same_source(const struct copy_run *a, const struct copy_run *b)
{
    return a->from == b->from && a->from_at == b->from_at && a->bytes == b->bytes;
}

enum emu_status copy_runs_join(struct copy_run_list *m)
{
    size_t kept = 0;

    TRY(KEY_SORT(m, struct copy_run, to, 2));
    for (size_t i = 0; i < m->count; i++) {
        struct copy_run *last = kept ? &m->at[kept - 1] : NULL;
        const struct copy_run *x = &m->at[i];

        if (last && last->to == x->to && last->from == x->from &&
            last->to_at + last->bytes == x->to_at && last->from_at + last->bytes == x->from_at)
            last->bytes += x->bytes;
        else
            m->at[kept++] = *x;
    }
    m->count = kept;
    return EMU_OK;
}

/* Sorts runs by source, length and target; they must be sorted by target already. */
static enum emu_status sort_by_source(struct copy_run *m, size_t n)
{
    TRY(key_sort(m, n, sizeof(*m), offsetof(struct copy_run, bytes), 1));
    return key_sort(m, n, sizeof(*m), offsetof(struct copy_run, from), 2);
}

/* ---- cutting ---- */

/* Begins and ends of n runs, ascending, at least SPLIT_BYTES apart. */
static enum emu_status find_cuts(const struct copy_run *m, size_t n, uint32_t *cut, size_t *cuts)
{
    size_t kept = 1;

    for (size_t i = 0; i < n; i++) {
        cut[2 * i] = m[i].from_at;
        cut[2 * i + 1] = m[i].from_at + m[i].bytes;
    }
    TRY(key_sort(cut, 2 * n, sizeof(*cut), 0, 1));
    for (size_t i = 1; i < 2 * n; i++) {
        if (cut[i] - cut[kept - 1] >= SPLIT_BYTES)
            cut[kept++] = cut[i];
    }
    *cuts = kept;
    return EMU_OK;
}

static enum emu_status cut_run(struct copy_run x, const uint32_t *cut, size_t cuts,
                               struct copy_run_list *out)
{
    uint32_t end = x.from_at + x.bytes;
    size_t low = 0, high = cuts;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (cut[middle] < x.from_at + SPLIT_BYTES)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < cuts && cut[low] + SPLIT_BYTES <= end; low++) {
        struct copy_run head = x;

        head.bytes = cut[low] - x.from_at;
        TRY(VEC_PUSH(out, head));
        x.from_at += head.bytes;
        x.to_at += head.bytes;
        x.bytes -= head.bytes;
    }
    return VEC_PUSH(out, x);
}

/* Messages and words that runs sorted by source need. */
static void count_messages(const struct copy_run *m, size_t n, uint64_t *messages, uint64_t *words)
{
    *messages = *words = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && same_source(&m[i - 1], &m[i]))
            continue;
        *messages += 1;
        *words += m[i].bytes / 4;
    }
}

/* Appends runs, cut at places where several of them begin or end; `cut` has room for 2 n. */
static enum emu_status cut_runs(const struct copy_run *m, size_t n, uint32_t *cut,
                                struct copy_run_list *out)
{
    size_t floor = out->count, cuts;

    TRY(find_cuts(m, n, cut, &cuts));
    for (size_t i = 0; i < n && out->count - floor <= MAX_PARTS * n; i++)
        TRY(cut_run(m[i], cut, cuts, out));
    TRY(key_sort(out->at + floor, out->count - floor, sizeof(*m), offsetof(struct copy_run, to),
                 2));
    return sort_by_source(out->at + floor, out->count - floor);
}

/* Appends runs whose sources overlap to out, cut where that pays. */
static enum emu_status cut_component(const struct copy_run *m, size_t n, struct copy_run_list *out)
{
    uint64_t messages, words, cut_messages, cut_words;
    size_t floor = out->count;

    count_messages(m, n, &messages, &words);
    if (messages > 1) {
        uint32_t *cut = emu_alloc(n, 2 * sizeof(*cut));
        enum emu_status s = cut ? cut_runs(m, n, cut, out) : FAIL(NO_MEMORY, "%zu cuts", n);

        ss_free(cut);
        TRY(s);
        count_messages(out->at + floor, out->count - floor, &cut_messages, &cut_words);
        if (out->count - floor <= MAX_PARTS * n &&
            cut_words + SPLIT_WORDS * cut_messages < words + SPLIT_WORDS * messages)
            return EMU_OK;
        out->count = floor;
    }
    for (size_t i = 0; i < n; i++)
        TRY(VEC_PUSH(out, m[i]));
    return EMU_OK;
}

/* Whether any two different sources overlap; runs are sorted by source. */
static int overlaps(const struct copy_run_list *m)
{
    for (size_t i = 1; i < m->count; i++) {
        const struct copy_run *a = &m->at[i - 1], *b = &m->at[i];

        if (a->from == b->from && b->from_at < a->from_at + a->bytes && !same_source(a, b))
            return 1;
    }
    return 0;
}

static enum emu_status cut_overlaps(struct copy_run_list *m)
{
    struct copy_run_list out = { 0 };
    enum emu_status s = EMU_OK;

    if (!overlaps(m))
        return EMU_OK;
    for (size_t i = 0, end; i < m->count && s == EMU_OK; i = end) {
        uint32_t reach = m->at[i].from_at + m->at[i].bytes;

        for (end = i + 1;
             end < m->count && m->at[end].from == m->at[i].from && m->at[end].from_at < reach;
             end++) {
            if (m->at[end].from_at + m->at[end].bytes > reach)
                reach = m->at[end].from_at + m->at[end].bytes;
        }
        s = cut_component(m->at + i, end - i, &out);
    }
    ss_free(m->at);
    *m = out;
    return s;
}

/* ---- messages ---- */

/* Makes a message of the runs of one round, [first, end) of order[]. */
static enum emu_status add_message(struct graph_lowering *w, const struct copy_run *m,
                                   const uint32_t *order, size_t first, size_t end)
{
    struct message t = { m->from, m->from_at, m->bytes, (uint32_t)w->l->message_dest.count, 0 };

    for (size_t i = first; i < end; i++) {
        const struct copy_run *r = &m[order[i]];

        TRY(VEC_PUSH(&w->l->message_dest, (struct message_dest){ r->to, r->to_at }));
        t.dests++;
    }
    return VEC_PUSH(&w->l->message, t);
}

/* Numbers runs by rounds: how many earlier ones go to the same tile. Returns the rounds. */
static uint32_t number_rounds(struct graph_lowering *w, const struct copy_run *m, size_t n,
                              uint32_t *round)
{
    uint32_t rounds = 0;

    w->mark++;
    for (size_t i = 0; i < n; i++) {
        uint32_t tile = lower_object(w, m[i].to)->tile;

        if (w->tile_mark[tile] != w->mark) {
            w->tile_mark[tile] = w->mark;
            w->tile_value[tile] = 0;
        }
        round[i] = w->tile_value[tile]++;
        if (round[i] >= rounds)
            rounds = round[i] + 1;
    }
    return rounds;
}

/* Makes messages of runs with equal sources. A tile receives one word at a time, so a second target
 * on the same tile needs a message of its own. room: for 3 n + 2 numbers. */
static enum emu_status add_messages(struct graph_lowering *w, const struct copy_run *m, size_t n,
                                    enum phase phase, uint32_t *room)
{
    uint32_t *round = room, *order = room + n, *end = room + 2 * n, rounds;

    TRY(lower_access(w, m->from, m->from_at, m->bytes, phase, 0));
    rounds = number_rounds(w, m, n, round);
    memset(end, 0, ((size_t)rounds + 1) * sizeof(*end));
    for (size_t i = 0; i < n; i++)
        end[round[i] + 1]++;
    for (uint32_t r = 0; r < rounds; r++)
        end[r + 1] += end[r];
    for (size_t i = 0; i < n; i++)
        order[end[round[i]]++] = (uint32_t)i;
    for (uint32_t r = 0; r < rounds; r++)
        TRY(add_message(w, m, order, r ? end[r - 1] : 0, end[r]));
    return EMU_OK;
}

static enum emu_status add_all_messages(struct graph_lowering *w, const struct copy_run_list *m,
                                        enum phase phase)
{
    uint32_t *room = emu_alloc(m->count + 1, 3 * sizeof(*room));
    enum emu_status s = room ? EMU_OK : FAIL(NO_MEMORY, "messages of %zu runs", m->count);

    for (size_t i = 0, end; s == EMU_OK && i < m->count; i = end) {
        for (end = i + 1; end < m->count && same_source(&m->at[i], &m->at[end]);)
            end++;
        s = add_messages(w, m->at + i, end - i, phase, room);
    }
    ss_free(room);
    return s;
}

enum emu_status messages_build(struct graph_lowering *w, struct copy_run_list *m, enum phase phase)
{
    size_t first = w->l->message.count;

    if (!m->count)
        return EMU_OK;
    TRY(copy_runs_join(m));
    for (size_t i = 0; i < m->count; i++)
        TRY(lower_access(w, m->at[i].to, m->at[i].to_at, m->at[i].bytes, phase, 1));
    TRY(sort_by_source(m->at, m->count));
    TRY(cut_overlaps(m));
    TRY(add_all_messages(w, m, phase));
    if (w->l->message_dest.count >= UINT32_MAX)
        return FAIL(BAD_PROGRAM, "lowering: too many messages");
    action_set_step(w, phase, STEP_EXCHANGE, first, w->l->message.count - first);
    return EMU_OK;
}
