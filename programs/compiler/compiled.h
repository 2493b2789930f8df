/* compiled.h - the result of ss_graph_compile(): every stage kept, for reports and sessions. */
#ifndef PROGRAMS_COMPILED_H
#define PROGRAMS_COMPILED_H

#include "programs/compiler/emit/emit.h"

/* What was made an input of the image. */
struct compiled_input {
    uint32_t name; /* string of the image */
    uint32_t view; /* of the graph */
};

struct compiled {
    struct graph *graph;         /* borrowed */
    enum exchange_target target; /* what the exchanges were scheduled for */
    struct lowered *lowered;     /* owned, like all that follows */
    struct codelet_code codelets;
    struct exchange_schedule *schedule; /* by step of lowered; NULL once there is an image */
    struct placement place;
    int given_up;        /* place is only its outlook, and there are no schedules */
    struct image *image; /* NULL when it does not fit */
    VEC(struct compiled_input) input;
    unsigned threads; /* of the host, for reports; 0: all cores */
    char **advice;    /* owned, compiled_set_advice(); NULL: reports have their own */
    size_t advices;
    uint32_t number;              /* of the chip in its replica */
    uint32_t chips;               /* of chip 0: of the replica; 0: one */
    struct compiled **chip;       /* of chip 0: all of them, which it owns but for itself */
    const struct compiled *first; /* of another chip: chip 0, which has the image */
};

/* Borrowed; NULL when one of the chips does not fit. */
static inline struct image *compiled_image(const struct compiled *c)
{
    return c->first ? c->first->image : c->image;
}

#endif
