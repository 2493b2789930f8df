/* memory_facts.h - what the memory of the tiles is for, as the answer shows it: from the compiler,
 * or, for an image from the cache, as the compiler said it then (net_entry.h).
 */
#ifndef MODELS_MEMORY_FACTS_H
#define MODELS_MEMORY_FACTS_H

#include <jansson.h>
#include <stdio.h>

#include "programs/programs.h"

struct memory_facts {
    const struct compiled *compiled; /* borrowed; NULL: the other members have the answers */
    json_t *kept;                    /* owned: memory_facts_pack() */
};

/* As ss_compiled_report_json(), ss_compiled_report() and ss_compiled_tiles(). */
json_t *memory_facts_json(const struct memory_facts *m);
void memory_facts_print(const struct memory_facts *m, FILE *f);
/* As ss_compiled_need_bytes(): in use and lost in gaps, on the tile that needs most. */
uint64_t memory_facts_need(const struct memory_facts *m);
enum emu_status memory_facts_tiles(const struct memory_facts *m, tile_bytes_visit *visit,
                                   void *ctx) EMU_MUST_CHECK;

/* All of it as a new object; NULL when out of memory. */
json_t *memory_facts_pack(const struct compiled *c);
/* Takes over what memory_facts_pack() made, for machines of that many tiles. Returns 0 when it is
 * something else; out is valid in any case. Free with memory_facts_free(). */
int memory_facts_unpack(json_t *o, uint32_t tiles, struct memory_facts *out);
void memory_facts_free(struct memory_facts *m);

#endif
