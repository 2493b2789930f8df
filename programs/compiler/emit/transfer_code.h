/* transfer_code.h - what a tile does in a step that leaves the chip: requests to the host, packets
 * to tiles of other chips; and the headers of both, which lie after the code.
 */
#ifndef PROGRAMS_TRANSFER_CODE_H
#define PROGRAMS_TRANSFER_CODE_H

#include "programs/compiler/emit/writer.h"

/* A header, and its label. */
struct transfer_header {
    uint32_t label, owner;
    uint32_t part;   /* in lowered.chip_part; LOWERED_NONE: it is one of a request to the host */
    uint32_t number; /* of the packet, or of the request */
};

struct transfer_code {
    const struct emit_index *p; /* borrowed, like the next */
    struct writer *out;
    int begins; /* the tile begins transfers and goes on: some may be under way */
    VEC(struct transfer_header) header; /* owned */
};

/* part: of the step; the tile has one. Errors are those of the buffer that is written. */
void transfer_host(struct transfer_code *t, const struct step_part *part, const struct step *step);
void transfer_await(struct transfer_code *t, const struct step *step);
void transfer_chips(struct transfer_code *t, const struct step_part *part, const struct step *step);
/* Writes all headers. */
void transfer_headers(struct transfer_code *t);
void transfer_code_free(struct transfer_code *t);

#endif
