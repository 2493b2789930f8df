/* timeline.c - bit timelines of ports (see timeline.h).
 *
 * A bit says whether the shortest message could begin at an event, so a message of that length
 * fits at the first bit that all ports have in common, and a longer one where as many follow each
 * other as it has more words, and one. Gaps that are too short for any message do not show.
 *
 * The search looks at 64 events of all ports at a time: the shifted ORs of their bits. Short rows
 * of bits are found by folding the word onto itself, long ones by looking backwards from their last
 * event and jumping past the first closed event. Two ports, the usual case, skip 256 events
 * without a common bit at once. For each port and size class the timeline keeps an event before
 * which no row of open events begins, so that its full part is not looked at again for every
 * message; it is looked for again once that row is no longer open.
 */
#include "programs/compiler/schedule/timeline.h"

#include <immintrin.h>
#include <string.h>

enum {
    FOLD_MAX = 32, /* above this, 64 events hold too few places to begin */
    LANES = 4,     /* words of a vector */
    READ_AHEAD = (LANES + 2) * TIMELINE_WORD, /* what is read behind the event that is found */
    PAIR = 2 /* ports of a message with one receiver: most messages */
};
#define ALWAYS_INLINE inline __attribute__((always_inline))

static uint32_t words_for(uint64_t events)
{
    return (uint32_t)((events + TIMELINE_WORD - 1) / TIMELINE_WORD);
}

enum emu_status timelines_init(struct timelines *t, uint32_t ports, uint32_t events,
                               uint32_t shortest)
{
    *t = (struct timelines){ .ports = ports,
                             .stride = words_for((uint64_t)events + READ_AHEAD),
                             .shortest = shortest };
    t->bits = emu_alloc((size_t)ports * t->stride, sizeof(*t->bits));
    t->no_row = emu_alloc(ports, sizeof(*t->no_row));
    if (!t->bits || !t->no_row) {
        timelines_free(t);
        return FAIL(NO_MEMORY, "timelines of %u ports", ports);
    }
    return EMU_OK;
}

void timelines_free(struct timelines *t)
{
    ss_free(t->bits);
    ss_free(t->no_row);
    *t = (struct timelines){ .bits = NULL };
}

void timelines_clear(struct timelines *t)
{
    memset(t->bits, 0, (size_t)t->ports * t->stride * sizeof(*t->bits));
    memset(t->no_row, 0, t->ports * sizeof(*t->no_row));
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
    ss_free(t->bits);
    t->bits = bits;
    t->stride = stride;
    return EMU_OK;
}

/* ---- rows of open events ---- */

/* The closed events of a port, 64 from `at` on. */
static inline uint64_t closed_on(const struct timelines *t, uint32_t port, uint32_t at)
{
    const uint64_t *w = t->bits + (size_t)port * t->stride + at / TIMELINE_WORD;
    uint32_t k = at % TIMELINE_WORD;

    return w[0] >> k | w[1] << 1 << (TIMELINE_WORD - 1 - k);
}

/* Bit k: event + k is closed on one of the ports. */
static inline uint64_t closed(const struct timelines *t, const struct timeline_use *use,
                              uint32_t uses, uint32_t event)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < uses && (uses <= PAIR || all != UINT64_MAX); i++)
        all |= closed_on(t, use[i].port, event + (uint32_t)use[i].shift);
    return all;
}

/* Bit k: a row of n set bits begins at bit k and lies in the word. */
static inline uint64_t row_starts(uint64_t bits, uint32_t n)
{
    for (uint32_t have = 1; have < n;) {
        uint32_t step = have < n - have ? have : n - have;

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

/* LANES words of a port, of which the first begins with bit k of *w. */
static inline __m256i closed_lanes(const uint64_t *w, uint32_t k)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)w);
    __m256i high = _mm256_loadu_si256((const __m256i *)(w + 1));

    return _mm256_or_si256(_mm256_srl_epi64(low, _mm_cvtsi32_si128((int)k)),
                           _mm256_sll_epi64(high, _mm_cvtsi32_si128((int)(TIMELINE_WORD - k))));
}

/* Skips words in which no event is open on both ports of a pair. */
static inline uint32_t skip_closed(const struct timelines *t, const struct timeline_use *use,
                                   uint32_t event)
{
    uint32_t at[PAIR] = { event + (uint32_t)use[0].shift, event + (uint32_t)use[1].shift };
    const uint64_t *a = t->bits + (size_t)use[0].port * t->stride + at[0] / TIMELINE_WORD;
    const uint64_t *b = t->bits + (size_t)use[1].port * t->stride + at[1] / TIMELINE_WORD;
    const __m256i full = _mm256_set1_epi64x(-1);

    for (;; a += LANES, b += LANES, event += LANES * TIMELINE_WORD) {
        __m256i both = _mm256_or_si256(closed_lanes(a, at[0] % TIMELINE_WORD),
                                       closed_lanes(b, at[1] % TIMELINE_WORD));
        uint32_t is_full =
            (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(both, full)));

        if (is_full != (1u << LANES) - 1)
            return event + TIMELINE_WORD * (uint32_t)__builtin_ctz(~is_full);
    }
}

/* The first event >= from at which a row of n open events begins. */
static ALWAYS_INLINE uint32_t find_short(const struct timelines *t, const struct timeline_use *use,
                                         uint32_t uses, uint32_t n, uint32_t from,
                                         struct timeline_grid grid)
{
    for (;;) {
        uint64_t starts = row_starts(~closed(t, use, uses, from), n);

        if (grid.unit > 1 && starts)
            starts &= grid_bits(grid, from);
        if (starts)
            return from + (uint32_t)__builtin_ctzll(starts);
        from += TIMELINE_WORD + 1 - n;
        if (uses == PAIR)
            from = skip_closed(t, use, from);
    }
}

static ALWAYS_INLINE uint32_t find_long(const struct timelines *t, const struct timeline_use *use,
                                        uint32_t uses, uint32_t n, uint32_t from,
                                        struct timeline_grid grid)
{
    uint32_t left = n;

    for (from = grid_up(grid, from); left;) {
        uint32_t k = left < TIMELINE_WORD ? left : TIMELINE_WORD;
        uint64_t hit = closed(t, use, uses, from + left - k) & UINT64_MAX >> (TIMELINE_WORD - k);

        left -= k;
        if (!hit)
            continue;
        from = grid_up(grid, from + left + TIMELINE_WORD - (uint32_t)__builtin_clzll(hit));
        left = n;
    }
    return from;
}

static ALWAYS_INLINE uint32_t find(const struct timelines *t, const struct timeline_use *use,
                                   uint32_t uses, uint32_t n, uint32_t from,
                                   struct timeline_grid grid)
{
    return n <= FOLD_MAX ? find_short(t, use, uses, n, from, grid)
                         : find_long(t, use, uses, n, from, grid);
}

/* The earliest event at which a row of 2^c open events can begin on one port. */
static uint32_t first_row(struct timelines *t, uint32_t port, uint32_t c)
{
    uint32_t *known = &t->no_row[port].event[c];
    const struct timeline_use use = { .port = port };
    const struct timeline_grid any = { .unit = 1 };

    if (*known & TIMELINE_STALE)
        *known = find(t, &use, 1, 1u << c, *known & ~TIMELINE_STALE, any);
    return *known;
}

/* ---- messages ---- */

/* The first rows that events from begin to end were part of can only begin behind them. */
static inline void forget_rows(struct first_rows *f, uint32_t begin, uint32_t end)
{
    for (uint32_t c = 0; c < TIMELINE_CLASSES; c++) {
        uint32_t known = f->event[c] & ~TIMELINE_STALE;
        int hit = known < end && begin < known + (1u << c);

        f->event[c] = hit ? end | TIMELINE_STALE : f->event[c];
    }
}

/* Closes the events of a message, and those before it at which no other can begin any more. */
static inline void take(struct timelines *t, uint32_t port, uint32_t event, uint32_t words)
{
    uint32_t begin = event < t->shortest ? 0 : event - (t->shortest - 1), end = event + words;
    uint64_t *w = t->bits + (size_t)port * t->stride + begin / TIMELINE_WORD;
    uint32_t k = begin % TIMELINE_WORD;

    forget_rows(&t->no_row[port], begin, end);
    for (uint32_t left = end - begin; left; w++) {
        uint32_t n = left < TIMELINE_WORD ? left : TIMELINE_WORD;
        uint64_t mask = UINT64_MAX >> (TIMELINE_WORD - n);

        w[0] |= mask << k;
        w[1] |= mask >> 1 >> (TIMELINE_WORD - 1 - k);
        left -= n;
    }
    if (end > t->top)
        t->top = end;
}

static ALWAYS_INLINE enum emu_status fit(struct timelines *t, const struct timeline_use *use,
                                         uint32_t uses, uint32_t words, uint32_t from,
                                         struct timeline_grid grid, uint32_t *event)
{
    uint32_t n = words - t->shortest + 1, c = timeline_class(t, words);
    int32_t least = 0, most = 0;
    uint64_t end;

    for (uint32_t i = 0; i < uses; i++) {
        int64_t e = (int64_t)first_row(t, use[i].port, c) - use[i].shift;

        from = e > from ? (uint32_t)e : from;
        least = use[i].shift < least ? use[i].shift : least;
        most = use[i].shift > most ? use[i].shift : most;
    }
    end = (uint64_t)t->top + (uint32_t)-least; /* here, at the latest, it fits */
    end = (from > end ? from : end) + grid.unit + (uint32_t)most + words + READ_AHEAD;
    if (end > (uint64_t)t->stride * TIMELINE_WORD)
        TRY(grow(t, end));
    *event = find(t, use, uses, n, from, grid);
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
