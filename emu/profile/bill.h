/* bill.h - where the cycles of supersteps went: the one place that turns what the machine recorded
 * (emu/bsp/record.h) into parts that add up. Everything that prints cycles uses it.
 *
 * A superstep of a sync group lasts from the release that began it to the release that ends it, or,
 * at the end of a run, to the last arrival. A tile counts up to its arrival at the sync that ends
 * it; the arrival of a tile that has voted ahead is its vote. In this order:
 *
 *   host      from the end of the superstep before: what the host takes between two runs
 *   exchange  the longest exchange of a tile: release to the end of its RECV, and host data
 *   link      what waiting for words of other chips adds to it
 *   compute   what computing adds: from there to the last arrival of the group
 *   wait      from there to the last arrival of all groups of the chip that the sync joins
 *   sync      from there to the release: what the sync itself costs
 *   outer     the same where the sync joins several chips: the others come, and what it costs
 *
 * and host + exchange + link + compute + wait + sync + outer is the whole time, exactly. Of a
 * system of one chip link and outer are 0. imbalance is a part of compute: what is above the mean
 * of what the tiles of the group computed meanwhile.
 */
#ifndef EMU_BILL_H
#define EMU_BILL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/api.h"

SUPERSTEP_API_BEGIN

struct image;
struct json_t; /* json_t of jansson */
struct record;

/* One superstep, or several together. Cycles of the tile clock, words of 4 bytes. */
struct bill {
    uint64_t total; /* host + exchange + link + compute + wait + sync + outer */
    uint64_t host, exchange, link, compute, wait, sync, outer;
    uint64_t imbalance;           /* part of compute: what is above mean_compute */
    uint64_t largest_compute;     /* w of the BSP model: the most that one tile computes */
    uint64_t mean_compute;        /* of the tiles of the group */
    uint64_t h_words;             /* h of the BSP model: the most that one tile sends or receives */
    uint64_t words_in, words_out; /* of all tiles */
};

size_t ss_bill_step_count(const struct record *r);
/* Superstep i < ss_bill_step_count(r). */
struct bill ss_bill_of_step(const struct record *r, size_t i);
/* All supersteps of a group: the total is the cycle in which its last one ended. */
struct bill ss_bill_of_group(const struct record *r, unsigned group);
void ss_bill_add(struct bill *sum, const struct bill *b);
/* The tile that arrived last at the end of superstep i, the first of several; 0: there was none. */
uint32_t ss_bill_slowest_tile(const struct record *r, size_t i);

/* What begins superstep i of a run of an image, and the scope it was made in, as the image calls
 * them: the operation that its first sync belongs to, or the program itself at the beginning.
 * "": the image does not say. */
struct bill_name {
    const char *operation, *scope; /* borrowed from the image */
};
struct bill_name ss_bill_name_of_step(const struct record *r, size_t i, const struct image *im);

/* Whether some sync of the run joined several chips: else link and outer are 0 everywhere. */
int ss_bill_joins_chips(const struct record *r);

/* ---- bill_table.c: for people ---- */

/* A line for every superstep of a run of an image, and a sum for every group. Here and in
 * bill_json.c, link and outer are only shown of runs that join chips. */
void ss_bill_print_steps(const struct record *r, const struct image *im, FILE *f);
/* A line for every superstep and each of these tiles that took part. */
void ss_bill_print_tiles(const struct record *r, const uint32_t *tile, size_t tiles, FILE *f);

/* ---- bill_json.c; all return new objects, NULL when out of memory ---- */

struct json_t *ss_bill_json(const struct bill *b); /* link and outer where they are not 0 */
/* An array of supersteps, each with what these tiles did. */
struct json_t *ss_bill_steps_json(const struct record *r, const struct image *im,
                                  const uint32_t *tile, size_t tiles);

SUPERSTEP_API_END

#endif
