/* key_sort.c - a few records by insertion, others by radix, some bits of the key at a time. */
#include "programs/compiler/base/key_sort.h"

#include <string.h>

/* Few and many records are sorted by digits of fewer and more bits: with few, going through the
 * buckets is what takes time. */
enum { FEW = 32, MANY = 4096, BITS_FEW = 7, BITS_MANY = 11, BUCKETS = 1 << BITS_MANY };

struct sorter {
    char *at;
    size_t count, size, key; /* key: byte of a record where it begins */
    unsigned words;
    uint32_t low[2];  /* least value of each word */
    unsigned bits[2]; /* that the values above it need */
};

static uint32_t word_of(const struct sorter *s, const char *record, unsigned k)
{
    uint32_t v;

    memcpy(&v, record + s->key + 4 * k, 4);
    return v;
}

/* The key as one number, the first word above the second. */
static uint64_t key_of(const struct sorter *s, const char *record)
{
    uint64_t v = word_of(s, record, 0) - s->low[0];

    if (s->words == 2)
        v = v << s->bits[1] | (word_of(s, record, 1) - s->low[1]);
    return v;
}

/* Finds the range of the words; 1 when the records are in order already. */
static int look(struct sorter *s)
{
    uint32_t high[2] = { 0 };
    int sorted = 1;

    s->low[0] = s->low[1] = UINT32_MAX;
    for (size_t i = 0; i < s->count; i++) {
        const char *r = s->at + i * s->size;

        for (unsigned k = 0; k < s->words; k++) {
            uint32_t v = word_of(s, r, k);

            s->low[k] = v < s->low[k] ? v : s->low[k];
            high[k] = v > high[k] ? v : high[k];
        }
        if (i && sorted) {
            int64_t d = (int64_t)word_of(s, r, 0) - word_of(s, r - s->size, 0);

            if (!d && s->words == 2)
                d = (int64_t)word_of(s, r, 1) - word_of(s, r - s->size, 1);
            sorted = d >= 0;
        }
    }
    for (unsigned k = 0; k < s->words && !sorted; k++)
        s->bits[k] = high[k] == s->low[k] ? 0 : 32 - (unsigned)__builtin_clz(high[k] - s->low[k]);
    return sorted;
}

static void sort_few(const struct sorter *s)
{
    char record[KEY_SORT_BYTES];

    for (size_t i = 1; i < s->count; i++) {
        uint64_t key = key_of(s, s->at + i * s->size);
        size_t k = i;

        while (k && key_of(s, s->at + (k - 1) * s->size) > key)
            k--;
        if (k == i)
            continue;
        memcpy(record, s->at + i * s->size, s->size);
        memmove(s->at + (k + 1) * s->size, s->at + k * s->size, (i - k) * s->size);
        memcpy(s->at + k * s->size, record, s->size);
    }
}

static void sort_pass(const struct sorter *s, const char *from, char *to, unsigned shift,
                      unsigned bits)
{
    size_t first[BUCKETS + 1], buckets = (size_t)1 << bits;

    memset(first, 0, (buckets + 1) * sizeof(*first));
    for (size_t i = 0; i < s->count; i++)
        first[1 + ((key_of(s, from + i * s->size) >> shift) & (buckets - 1))]++;
    for (size_t i = 1; i < buckets; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < s->count; i++) {
        const char *r = from + i * s->size;

        memcpy(to + first[(key_of(s, r) >> shift) & (buckets - 1)]++ * s->size, r, s->size);
    }
}

static void sort_many(const struct sorter *s, void *spare)
{
    unsigned all = s->bits[0] + s->bits[1], bits = s->count < MANY ? BITS_FEW : BITS_MANY;
    char *from = s->at, *to = spare;

    for (unsigned shift = 0; shift < all; shift += bits) {
        char *swap = from;

        sort_pass(s, from, to, shift, bits);
        from = to;
        to = swap;
    }
    if (from == spare)
        memcpy(s->at, spare, s->count * s->size);
}

static struct sorter sorter_of(void *at, size_t count, size_t size, size_t key, unsigned words)
{
    EMU_ASSERT(size <= KEY_SORT_BYTES && words >= 1 && words <= 2);
    return (struct sorter){ .at = at, .count = count, .size = size, .key = key, .words = words };
}

void key_sort_in(void *at, void *spare, size_t count, size_t size, size_t key, unsigned words)
{
    struct sorter s = sorter_of(at, count, size, key, words);

    if (count < 2 || look(&s))
        return;
    if (count <= FEW)
        sort_few(&s);
    else
        sort_many(&s, spare);
}

enum emu_status key_sort(void *at, size_t count, size_t size, size_t key, unsigned words)
{
    struct sorter s = sorter_of(at, count, size, key, words);
    void *spare;

    if (count < 2 || look(&s))
        return EMU_OK;
    if (count <= FEW) {
        sort_few(&s);
        return EMU_OK;
    }
    spare = emu_alloc(count, size);
    if (!spare)
        return FAIL(NO_MEMORY, "sorting %zu records", count);
    sort_many(&s, spare);
    ss_free(spare);
    return EMU_OK;
}
