/* lab.h - what the graph programs of the lab share: inputs, and the comparison with plain C. */
#ifndef PROGRAMS_LAB_H
#define PROGRAMS_LAB_H

#include "emu/emu.h"
#include "programs/programs.h"

/* A program's tensors and host arrays; which are used is the program's business. */
struct lab {
    struct tensor in[2], out;
    uint64_t size[4];    /* parameters */
    float *x, *y, *want; /* owned */
    struct matmul_plan plan;
};

/* n numbers in [-1, 1), multiples of 2^-bits, the same for the same seed. bits: at most 10, so that
 * f16 holds them; with fewer, sums in f32 are exact longer. NULL when out of memory. */
float *lab_numbers(uint64_t n, uint64_t seed, unsigned bits);

enum emu_status lab_new(struct lab **out) EMU_MUST_CHECK;
/* With a vector in[0] of size[0] = n f32, over all tiles, for the host to write. */
enum emu_status lab_new_vector(struct graph *g, uint32_t n, struct lab **out) EMU_MUST_CHECK;
void lab_free(void *lab);

/* Writes numbers to a tensor in its type (f16 or f32). */
enum emu_status lab_write(struct session *s, const struct graph *g, struct tensor t, const float *x,
                          uint64_t n) EMU_MUST_CHECK;
/* The numbers of a f16 or f32 tensor; ss_free them. */
enum emu_status lab_read(struct session *s, const struct graph *g, struct tensor t, float **x,
                         uint64_t n) EMU_MUST_CHECK;

/* Compares got with want: |got - want| <= bound everywhere, else EMU_FAULT with the first place.
 * Notes the largest difference in the answer. */
enum emu_status lab_compare(const float *got, const float *want, uint64_t n, double bound,
                            json_t *answer) EMU_MUST_CHECK;

/* The same with a bound for each number. */
enum emu_status lab_compare_each(const float *got, const float *want, const float *bound,
                                 uint64_t n, json_t *answer) EMU_MUST_CHECK;

/* A default that is `full` on mk2, and on machines with less memory less in the same proportion
 * (root 1), as the side of a matrix (2), or as one of four factors (4); a multiple of `multiple`,
 * and at least that. */
uint64_t lab_scaled(const struct arch *a, uint64_t full, unsigned root, uint64_t multiple);

/* Changes the defaults of a program, value[k] of param[k], to what suits a machine. */
void lab_defaults(const struct named_program *n, const struct arch *a, uint64_t *value);
void lab_vector_defaults(const struct arch *a, uint64_t *value);
void lab_matmul_defaults(const struct arch *a, uint64_t *value);
void lab_transpose_defaults(const struct arch *a, uint64_t *value);
void lab_softmax_defaults(const struct arch *a, uint64_t *value);
void lab_rows_defaults(const struct arch *a, uint64_t *value);
void lab_blocks_defaults(const struct arch *a, uint64_t *value);
void lab_conv_defaults(const struct arch *a, uint64_t *value);

/* Notes a number in the answer. */
void lab_note(json_t *answer, const char *key, double value);

extern const struct named_program lab_vector_add, lab_total, lab_matvec_rows, lab_matvec_blocks,
    lab_matmul, lab_conv, lab_transpose, lab_softmax, lab_stencil;
/* With a mistake. */
extern const struct named_program mistake_memory, mistake_imbalance;
/* The classic BSP programs: classic/. */
extern const struct named_program classic_broadcast, classic_reduce, classic_scan, classic_exchange,
    classic_odd_even, classic_sample, classic_inner, classic_summa, classic_lu, classic_cg,
    classic_list, classic_search, classic_rank, classic_halo, classic_life, classic_bodies,
    classic_pi, classic_fourier;

#endif
