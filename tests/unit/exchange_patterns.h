/* exchange_patterns.h - the exchanges by which the scheduler is measured, for its tests and its
 * benchmark. Every message is sent from base 0 of its tile and received in base 1, one behind the
 * other in the order in which they were added.
 */
#ifndef TESTS_EXCHANGE_PATTERNS_H
#define TESTS_EXCHANGE_PATTERNS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/schedule/schedule.h"

enum { PATTERN_FROM = 0, PATTERN_TO = 1 };

struct pattern {
    const char *name;
    struct arch arch;
    struct message *message;
    struct message_dest *dest;
    size_t messages, dests, message_cap, dest_cap;
    uint32_t *out, *in; /* [tiles] words so far */
    uint64_t random;
};

static inline void pattern_die(void)
{
    fprintf(stderr, "out of memory\n");
    abort();
}

static inline void pattern_new(struct pattern *p, const char *machine, const char *name)
{
    *p = (struct pattern){ .name = name, .arch = *arch_preset(machine), .random = 1 };
    p->out = calloc(p->arch.tiles, sizeof(*p->out));
    p->in = calloc(p->arch.tiles, sizeof(*p->in));
    if (!p->out || !p->in)
        pattern_die();
}

static inline void pattern_free(struct pattern *p)
{
    free(p->message);
    free(p->dest);
    free(p->out);
    free(p->in);
}

static inline struct exchange_problem pattern_problem(const struct pattern *p)
{
    return (struct exchange_problem){ .arch = &p->arch,
                                      .message = p->message,
                                      .messages = p->messages,
                                      .dest = p->dest,
                                      .dest_count = p->dests };
}

static inline uint32_t pattern_pick(struct pattern *p, uint32_t below)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->random >> 33) % below;
}

/* A message without receivers yet. */
static inline void pattern_send(struct pattern *p, uint32_t tile, uint32_t words)
{
    if (p->messages == p->message_cap) {
        p->message_cap = 2 * p->message_cap + 1024;
        p->message = realloc(p->message, p->message_cap * sizeof(*p->message));
        if (!p->message)
            pattern_die();
    }
    p->message[p->messages++] =
        (struct message){ .tile = tile,
                          .words = words,
                          .from = { .base = PATTERN_FROM, .bytes = 4 * (int64_t)p->out[tile] },
                          .first = (uint32_t)p->dests };
    p->out[tile] += words;
}

/* One more receiver of the last message. */
static inline void pattern_to(struct pattern *p, uint32_t tile)
{
    struct message *m = &p->message[p->messages - 1];

    if (p->dests == p->dest_cap) {
        p->dest_cap = 2 * p->dest_cap + 1024;
        p->dest = realloc(p->dest, p->dest_cap * sizeof(*p->dest));
        if (!p->dest)
            pattern_die();
    }
    p->dest[p->dests++] =
        (struct message_dest){ .tile = tile,
                               .to = { .base = PATTERN_TO, .bytes = 4 * (int64_t)p->in[tile] } };
    p->in[tile] += m->words;
    m->dests++;
}

static inline void pattern_unicast(struct pattern *p, uint32_t from, uint32_t to, uint32_t words)
{
    pattern_send(p, from, words);
    pattern_to(p, to);
}

/* Groups of `size` tiles, `stride` apart: number g, member k. Groups of stride 1 are consecutive.
 */
static inline uint32_t pattern_member(uint32_t size, uint32_t stride, uint32_t g, uint32_t k)
{
    return g / stride * stride * size + g % stride + k * stride;
}

static inline uint32_t pattern_groups(const struct pattern *p, uint32_t size, uint32_t stride)
{
    return p->arch.tiles / (size * stride) * stride;
}

/* Every tile sends its words to all others of its group. */
static inline void pattern_gather(struct pattern *p, uint32_t size, uint32_t stride, uint32_t words)
{
    for (uint32_t g = 0; g < pattern_groups(p, size, stride); g++) {
        for (uint32_t k = 0; k < size; k++) {
            pattern_send(p, pattern_member(size, stride, g, k), words);
            for (uint32_t i = 0; i < size; i++) {
                if (i != k)
                    pattern_to(p, pattern_member(size, stride, g, i));
            }
        }
    }
}

/* Every tile sends other words to each other one of its group. */
static inline void pattern_transpose(struct pattern *p, uint32_t size, uint32_t stride,
                                     uint32_t words)
{
    for (uint32_t g = 0; g < pattern_groups(p, size, stride); g++) {
        for (uint32_t k = 0; k < size; k++) {
            for (uint32_t i = 0; i < size; i++) {
                if (i != k)
                    pattern_unicast(p, pattern_member(size, stride, g, k),
                                    pattern_member(size, stride, g, i), words);
            }
        }
    }
}

/* The first of each group sends to the others. */
static inline void pattern_broadcast(struct pattern *p, uint32_t size, uint32_t stride,
                                     uint32_t words)
{
    for (uint32_t g = 0; g < pattern_groups(p, size, stride); g++) {
        pattern_send(p, pattern_member(size, stride, g, 0), words);
        for (uint32_t i = 1; i < size; i++)
            pattern_to(p, pattern_member(size, stride, g, i));
    }
}

/* A grid of tiles, row by row; every tile sends to its four neighbours (corners: to eight). */
static inline void pattern_halo(struct pattern *p, uint32_t columns, uint32_t words, int corners)
{
    int width = (int)columns, height = (int)(p->arch.tiles / columns);

    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    if ((!dx && !dy) || (!corners && dx && dy) || x + dx < 0 || x + dx >= width ||
                        y + dy < 0 || y + dy >= height)
                        continue;
                    pattern_unicast(p, (uint32_t)(y * width + x),
                                    (uint32_t)((y + dy) * width + x + dx), words);
                }
            }
        }
    }
}

/* Every tile shifts its words to the tile `distance` further on. */
static inline void pattern_rotate(struct pattern *p, uint32_t distance, uint32_t words)
{
    for (uint32_t t = 0; t < p->arch.tiles; t++)
        pattern_unicast(p, t, (t + distance) % p->arch.tiles, words);
}

/* Block i of `size` tiles holds what blocks i, i + 1 .. i + fan - 1 need: member k of a block sends
 * to all of a block, as weights go to the tiles of a column. */
static inline void pattern_aligned(struct pattern *p, uint32_t size, uint32_t fan, uint32_t words)
{
    uint32_t blocks = p->arch.tiles / size;

    for (uint32_t f = 1; f <= fan; f++) {
        for (uint32_t t = 0; t < blocks * size; t++) {
            pattern_send(p, t, words);
            for (uint32_t k = 0; k < size; k++)
                pattern_to(p, (t / size + f) % blocks * size + k);
        }
    }
}

/* Every tile sends `count` messages, and as many come in, from tiles chosen at random; in random
 * order. most > words: of random length up to it. */
static inline void pattern_irregular(struct pattern *p, uint32_t count, uint32_t words,
                                     uint32_t most)
{
    uint32_t n = p->arch.tiles, *to = malloc(n * sizeof(*to));

    if (!to)
        pattern_die();
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t t = 0; t < n; t++)
            to[t] = t;
        for (uint32_t t = n - 1; t; t--) { /* a cycle through all: nobody keeps his own */
            uint32_t other = pattern_pick(p, t), swap = to[t];

            to[t] = to[other];
            to[other] = swap;
        }
        for (uint32_t t = 0; t < n; t++)
            pattern_unicast(p, t, to[t],
                            words + (most > words ? pattern_pick(p, most - words) : 0));
    }
    for (size_t i = p->messages - 1; i; i--) {
        size_t other = pattern_pick(p, (uint32_t)i + 1);
        struct message swap = p->message[i];

        p->message[i] = p->message[other];
        p->message[other] = swap;
    }
    free(to);
}

/* `count` messages from random tiles to 1 .. fan random ones. */
static inline void pattern_random(struct pattern *p, uint32_t count, uint32_t words, uint32_t fan)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t from = pattern_pick(p, p->arch.tiles), dests = 1 + pattern_pick(p, fan);
        uint32_t to = pattern_pick(p, p->arch.tiles);

        pattern_send(p, from, 1 + pattern_pick(p, words));
        for (uint32_t i = 0; i < dests && i + 1 < p->arch.tiles; i++) {
            to = (to + 1) % p->arch.tiles;
            if (to == from)
                to = (to + 1) % p->arch.tiles;
            pattern_to(p, to);
        }
    }
}

/* Bytes of code that a tile may need: 12 per message in, 8 per message out or started 64 words. */
static inline uint64_t pattern_allowance(const struct pattern *p, uint32_t tile)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < p->messages; i++) {
        const struct message *m = &p->message[i];

        if (m->tile == tile)
            bytes += 8 * ((m->words + 63) / 64);
        for (uint32_t k = 0; k < m->dests; k++)
            bytes += p->dest[m->first + k].tile == tile ? 12 : 0;
    }
    return bytes;
}

#endif
