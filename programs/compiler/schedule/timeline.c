/* timeline.c - bit timelines of ports (see timeline.h).
 *
 * The search looks at 64 events of all ports at a time: the shifted ORs of their bits. Short
 * messages fold the free bits onto each other, long ones look backwards from their last event and
 * jump past the first taken event they meet. For each port and size class the timeline keeps an
 * event before which no free run begins, so that its full part is not looked at again for every
 * message; it is looked for again once that run is no longer free.
 */
#include "programs/compiler/schedule/timeline.h"

#include <string.h>

enum {
    FOLD_WORDS_MAX = 32,            /* above this, 64 events hold too few places to begin */
    READ_AHEAD = 4 * TIMELINE_WORD, /* what is read behind the first event of a search */
    PAIR = 2                        /* ports of a message with one receiver: most messages */
};
#define ALWAYS_INLINE inline __attribute__((always_inline))

static uint32_t words_for(uint64_t events)
{
    return (uint32_t)((events + TIMELINE_WORD - 1) / TIMELINE_WORD);
}

enum emu_status timelines_init(struct timelines *t, uint32_t ports, uint32_t events)
{
    *t = (struct timelines){ .ports = ports, .stride = words_for((uint64_t)events + READ_AHEAD) };
    t->bits = emu_alloc((size_t)ports * t->stride, sizeof(*t->bits));
    t->no_run = emu_alloc(ports, sizeof(*t->no_run));
    if (!t->bits || !t->no_run) {
        timelines_free(t);
        return FAIL(NO_MEMORY, "timelines of %u ports", ports);
    }
    return EMU_OK;
}

void timelines_free(struct timelines *t)
{
    emu_free(t->bits);
    emu_free(t->no_run);
    *t = (struct timelines){ .bits = NULL };
}

void timelines_clear(struct timelines *t)
{
    memset(t->bits, 0, (size_t)t->ports * t->stride * sizeof(*t->bits));
    memset(t->no_run, 0, t->ports * sizeof(*t->no_run));
    t->top = 0;
}

static enum emu_status grow(struct timelines *t, uint64_t events)
{
    uint32_t stride = words_for(events + events / 2);
    uint64_t *bits = emu_alloc((size_t)t->ports * stride, sizeof(*bits));

    if (!bits)
        return FAIL(NO_MEMORY, "timelines of %u ports", t->ports);
    for (uint32_t p = 0; p < t->ports; p++)
        memcpy(bits + (size_t)p * stride, t->bits + (size_t)p * t->stride,
               t->stride * sizeof(*bits));
    emu_free(t->bits);
    t->bits = bits;
    t->stride = stride;
    return EMU_OK;
}

/* The taken events of a port, 64 from `at` on. */
static inline uint64_t taken_on(const struct timelines *t, uint32_t port, uint32_t at)
{
    const uint64_t *w = t->bits + (size_t)port * t->stride + at / TIMELINE_WORD;
    uint32_t k = at % TIMELINE_WORD;

    return w[0] >> k | w[1] << 1 << (TIMELINE_WORD - 1 - k);
}

/* Bit k: event + k is taken on one of the ports. */
static inline uint64_t taken(const struct timelines *t, const struct timeline_use *use,
                             uint32_t uses, uint32_t event)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < uses && (uses <= PAIR || all != UINT64_MAX); i++)
        all |= taken_on(t, use[i].port, event + (uint32_t)use[i].shift);
    return all;
}

/* Bit k: a run of `words` set bits begins at bit k and lies in the word. */
static inline uint64_t run_starts(uint64_t bits, uint32_t words)
{
    for (uint32_t have = 1; have < words;) {
        uint32_t step = have < words - have ? have : words - have;

        bits &= bits >> step;
        have += step;
    }
    return bits;
}

/* Bit k: event + k is on the grid. */
static inline uint64_t grid_bits(struct timeline_grid g, uint32_t event)
{
    uint64_t bits = 0;

    for (uint32_t k = (g.phase + g.unit - event % g.unit) % g.unit; k < TIMELINE_WORD; k += g.unit)
        bits |= UINT64_C(1) << k;
    return bits;
}

static inline uint32_t grid_up(struct timeline_grid g, uint32_t event)
{
    return event + (g.phase + g.unit - event % g.unit) % g.unit;
}

/* The first event >= from at which a run of free events begins. */
static ALWAYS_INLINE uint32_t find_short(const struct timelines *t, const struct timeline_use *use,
                                         uint32_t uses, uint32_t words, uint32_t from,
                                         struct timeline_grid grid)
{
    for (;; from += TIMELINE_WORD + 1 - words) {
        uint64_t starts = run_starts(~taken(t, use, uses, from), words);

        if (grid.unit > 1 && starts)
            starts &= grid_bits(grid, from);
        if (starts)
            return from + (uint32_t)__builtin_ctzll(starts);
    }
}

static ALWAYS_INLINE uint32_t find_long(const struct timelines *t, const struct timeline_use *use,
                                        uint32_t uses, uint32_t words, uint32_t from,
                                        struct timeline_grid grid)
{
    uint32_t left = words;

    for (from = grid_up(grid, from); left;) {
        uint32_t n = left < TIMELINE_WORD ? left : TIMELINE_WORD;
        uint64_t hit = taken(t, use, uses, from + left - n) & UINT64_MAX >> (TIMELINE_WORD - n);

        left -= n;
        if (!hit)
            continue;
        from = grid_up(grid, from + left + TIMELINE_WORD - (uint32_t)__builtin_clzll(hit));
        left = words;
    }
    return from;
}

static ALWAYS_INLINE uint32_t find(const struct timelines *t, const struct timeline_use *use,
                                   uint32_t uses, uint32_t words, uint32_t from,
                                   struct timeline_grid grid)
{
    return words <= FOLD_WORDS_MAX ? find_short(t, use, uses, words, from, grid)
                                   : find_long(t, use, uses, words, from, grid);
}

/* The earliest event at which a run of 2^c free events can begin on one port. */
static uint32_t first_run(struct timelines *t, uint32_t port, uint32_t c)
{
    uint32_t *known = &t->no_run[port].event[c];
    const struct timeline_use use = { .port = port };
    const struct timeline_grid any = { .unit = 1 };

    if (*known & TIMELINE_STALE)
        *known = find(t, &use, 1, 1u << c, *known & ~TIMELINE_STALE, any);
    return *known;
}

/* The first runs that these events were part of can only begin behind them. */
static inline void forget_runs(struct first_runs *f, uint32_t event, uint32_t words)
{
    for (uint32_t c = 0; c < TIMELINE_CLASSES; c++) {
        uint32_t known = f->event[c] & ~TIMELINE_STALE;
        int hit = known < event + words && event < known + (1u << c);

        f->event[c] = hit ? (event + words) | TIMELINE_STALE : f->event[c];
    }
}

static inline void take(struct timelines *t, uint32_t port, uint32_t event, uint32_t words)
{
    uint64_t *w = t->bits + (size_t)port * t->stride + event / TIMELINE_WORD;
    uint32_t k = event % TIMELINE_WORD;

    forget_runs(&t->no_run[port], event, words);
    for (uint32_t left = words; left; w++) {
        uint32_t n = left < TIMELINE_WORD ? left : TIMELINE_WORD;
        uint64_t mask = UINT64_MAX >> (TIMELINE_WORD - n);

        w[0] |= mask << k;
        w[1] |= mask >> 1 >> (TIMELINE_WORD - 1 - k);
        left -= n;
    }
    if (event + words > t->top)
        t->top = event + words;
}

static ALWAYS_INLINE enum emu_status fit(struct timelines *t, const struct timeline_use *use,
                                         uint32_t uses, uint32_t words, uint32_t from,
                                         struct timeline_grid grid, uint32_t *event)
{
    uint32_t c = timeline_class(words);
    int32_t least = 0, most = 0;
    uint64_t end;

    for (uint32_t i = 0; i < uses; i++) {
        int64_t e = (int64_t)first_run(t, use[i].port, c) - use[i].shift;

        from = e > from ? (uint32_t)e : from;
        least = use[i].shift < least ? use[i].shift : least;
        most = use[i].shift > most ? use[i].shift : most;
    }
    end = (uint64_t)t->top + (uint32_t)-least; /* here, at the latest, it fits */
    end = (from > end ? from : end) + grid.unit + (uint32_t)most + words + READ_AHEAD;
    if (end > (uint64_t)t->stride * TIMELINE_WORD)
        TRY(grow(t, end));
    *event = find(t, use, uses, words, from, grid);
    for (uint32_t i = 0; i < uses; i++)
        take(t, use[i].port, *event + (uint32_t)use[i].shift, words);
    return EMU_OK;
}

enum emu_status timelines_fit(struct timelines *t, const struct timeline_use *use, uint32_t uses,
                              uint32_t words, uint32_t from, struct timeline_grid grid,
                              uint32_t *event)
{
    return uses == PAIR ? fit(t, use, PAIR, words, from, grid, event)
                        : fit(t, use, uses, words, from, grid, event);
}
