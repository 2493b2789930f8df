/* plan.h - how one operation is cut over tiles: closed formulas, exhaustive over the cuts.
 *
 * Costs are cycles: compute from the codelets' own formulas (codelet.h), exchange as words through
 * the busiest port plus the latency of a phase, syncs from struct arch. Nothing is fitted to a
 * problem. What a plan predicts is compared with executed cycles by tests.
 */
#ifndef PROGRAMS_PLAN_H
#define PROGRAMS_PLAN_H

#include "emu/emu.h"

/* Predicted cycles of the phases of an operation. */
struct plan_cost {
    uint64_t exchange_in, compute, exchange_partials, reduce, sync, rearrange, total;
    uint64_t tile_bytes; /* temporary memory of the busiest tile */
};

/* c [m][n] = a [m][k] b [k][n], f16: every tile takes m/sm rows, n/sn columns, k/sk of the sum;
 * n and k are cut in blocks of 16. */
struct matmul_plan {
    uint32_t m, n, k;
    uint32_t sm, sn, sk;
    uint32_t first_tile, tiles; /* it may use tiles [first_tile, first_tile + tiles) */
    uint64_t exchange_latency;  /* plan_exchange_latency() */
    struct plan_cost cost;
};

/* Proves that a plan can be carried out: sizes above 0, n and k multiples of 16, matrices of fewer
 * than 2^32 elements, no part empty, enough tiles, all of the chip. EMU_USAGE. */
enum emu_status plan_matmul_check(const struct arch *a, const struct matmul_plan *p) EMU_MUST_CHECK;

/* Predicted cycles and memory of a legal plan, from its sizes and cuts, into p->cost. */
void plan_matmul_cost(const struct arch *a, struct matmul_plan *p);

/* The cheapest plan on at most `tiles` tiles whose temporary memory is at most memory_bytes a tile,
 * else the one that needs least. Errors: EMU_USAGE for sizes and tiles that plan_matmul_check()
 * refuses. */
enum emu_status plan_matmul(const struct arch *a, uint32_t m, uint32_t n, uint32_t k,
                            uint32_t first_tile, uint32_t tiles, uint64_t memory_bytes,
                            struct matmul_plan *out) EMU_MUST_CHECK;

/* Cycles of an exchange phase in which the busiest port carries so many words, the sync before it
 * included; 0 words: no phase. Messages cost nothing of their own: changes of pointer and source
 * ride on words that pass anyway. */
uint64_t plan_exchange_cycles(const struct arch *a, uint64_t words);
/* Cycles of an exchange phase besides its sync and its words: the longest way, to memory. Cost:
 * some thousand pairs of tiles are looked at; who tries many cuts asks once. */
uint64_t plan_exchange_latency(const struct arch *a);

/* What exchange phases of a machine have in common. Ask once: some thousand pairs of tiles are
 * looked at. */
struct plan_port {
    uint64_t way; /* events of the longest way from a tile to a mux */
    uint64_t lag; /* from there to memory, at most */
};
struct plan_port plan_port(const struct arch *a);
/* Cycles of an exchange phase, without its sync, in which a tile takes in so many words of which
 * each goes to `fan_out` tiles at once. Where each goes to one, senders are as busy as receivers,
 * and the schedule has holes. */
uint64_t plan_port_cycles(const struct plan_port *p, uint64_t words, uint64_t fan_out);

/* A field of a codelet by its number (kernel/fields.h): elements of an edge or list, or the value
 * of a scalar. */
struct plan_field {
    unsigned field;
    uint32_t n;
};

struct codelet;

/* Cycles of one call by the codelet's own formula; lengths follow from the edges, other fields are
 * 0. */
uint64_t plan_cycles(const struct arch *a, const struct codelet *codelet,
                     const struct plan_field *field, unsigned fields);

/* Stages of a reduction of p partials of n elements each that lie on `sources` tiles: fan-in of
 * each stage, the product at least sources. At most PLAN_MAX_STAGES. */
enum { PLAN_MAX_STAGES = 4 };
struct reduce_plan {
    unsigned stages;
    uint32_t fan_in[PLAN_MAX_STAGES];
    struct plan_cost cost;
};
enum emu_status plan_reduce(const struct arch *a, uint32_t sources, uint64_t elements,
                            uint32_t tiles, struct reduce_plan *out) EMU_MUST_CHECK;

#endif
