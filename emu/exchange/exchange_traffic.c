/* exchange_traffic.c - lists of who sends to whom, as numbers and as a key. */
#include "emu/exchange/exchange_traffic.h"

struct hash128 exchange_traffic_key(const struct exchange_pair *pair, size_t pairs,
                                    const uint32_t *messages, uint32_t tiles)
{
    const struct hash128 part[2] = { hash128(pair, pairs * sizeof(*pair)),
                                     hash128(messages, 2 * (size_t)tiles * sizeof(*messages)) };

    return hash128(part, sizeof(part));
}

void exchange_pairs_to_planes(const struct exchange_pair *pair, size_t pairs, uint32_t *plane)
{
    for (size_t i = 0; i < pairs; i++) {
        plane[i] = pair[i].to;
        plane[pairs + i] = pair[i].from;
        plane[2 * pairs + i] = pair[i].words;
        plane[3 * pairs + i] = pair[i].messages;
    }
}

void exchange_pairs_of_planes(const uint32_t *plane, size_t pairs, struct exchange_pair *pair)
{
    for (size_t i = 0; i < pairs; i++)
        pair[i] = (struct exchange_pair){ .from = plane[pairs + i],
                                          .to = plane[i],
                                          .words = plane[2 * pairs + i],
                                          .messages = plane[3 * pairs + i] };
}
