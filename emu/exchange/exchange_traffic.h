/* exchange_traffic.h - who sends to whom in an exchange that is known before it runs
 * (exchange_part.h), and how much.
 */
#ifndef EMU_EXCHANGE_TRAFFIC_H
#define EMU_EXCHANGE_TRAFFIC_H

#include "emu/base/hash.h"
#include "emu/exchange/exchange.h"

/* Stands for all that is listed here of an exchange: equal keys, equal traffic.
 *
 * pair      ascending by to, then by from
 * messages  [2][tiles]: in, out */
struct hash128 exchange_traffic_key(const struct exchange_pair *pair, size_t pairs,
                                    const uint32_t *messages, uint32_t tiles);

/* The pairs as the numbers that are packed, [4][pairs]: to, from, words, messages; and back. */
enum { EXCHANGE_PAIR_PLANES = 4 };
void exchange_pairs_to_planes(const struct exchange_pair *pair, size_t pairs, uint32_t *plane);
void exchange_pairs_of_planes(const uint32_t *plane, size_t pairs, struct exchange_pair *pair);

/* One exchange. */
struct exchange_traffic {
    uint32_t exchange; /* its number, as in struct exchange_part */
    uint32_t pairs;
    struct hash128 key;
    const void *list; /* the pairs, packed (base/packed_numbers.h) */
    size_t list_bytes;
    const uint32_t *messages; /* [2][tiles]: in, out */
};

#endif
