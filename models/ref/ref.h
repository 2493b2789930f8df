/* ref.h - a network in f64 on the host: the plain reference of everything the machine computes. */
#ifndef MODELS_REF_H
#define MODELS_REF_H

#include "models/weights/weights.h"

/* Output of each layer, [batch][c][h][w] in f64; index by layer. */
struct ref {
    double **out; /* owned; NULL where it was dropped */
    uint32_t layers;
};

/* Runs all layers on [batch][3][h][w] numbers. keep: every output stays; else only the last.
 * Threads: all cores; bits do not depend on them. EMU_NO_MEMORY. Free with ref_free. */
enum emu_status ref_run(const struct net *n, const struct weights *w, const float *input, int keep,
                        struct ref *out) EMU_MUST_CHECK;
void ref_free(struct ref *r);

/* The same without keeping: visit gets every layer in order, with its inputs (NULL where there are
 * none) and its output, all [batch][c][h][w] and valid during the call only. Tensors live as long
 * as a later layer reads them. What visit returns other than EMU_OK ends the run. */
typedef enum emu_status ref_visit(void *arg, uint32_t layer, const double *const in[2],
                                  const double *out);
enum emu_status ref_walk(const struct net *n, const struct weights *w, const float *input,
                         ref_visit *visit, void *arg) EMU_MUST_CHECK;

/* One layer alone on given inputs ([batch][c][h][w] of its input layers). out: batch x out_c x
 * out_h x out_w numbers, owned by the caller. */
void ref_layer(const struct net *n, const struct weights *w, uint32_t layer,
               const double *const in[2], double *out);

/* Sets the running statistics of batch norms to those the network sees on a fixed seeded batch of
 * `pictures` synthetic pictures, layer by layer, so that no output is flat. Group norms need none.
 *
 * With 8 pictures the last norms of B4 leave a deviation of 0.99 on pictures not seen before; with
 * 2, whose means say too little about others, it is 3.8. Cost: ref_run() of all pictures at once,
 * with the memory of the two greatest neighbouring outputs.
 */
enum { CALIBRATION_PICTURES = 8 };
enum emu_status weights_calibrate(struct weights *w, const struct net *n,
                                  uint32_t pictures) EMU_MUST_CHECK;

/* Synthetic pictures: smooth random fields of five sizes of detail with common and own parts of the
 * colours, mean 0 and deviation about 1, as normalised photographs have. out: `pictures` x 3 x
 * resolution x resolution numbers. The bits depend on seed, picture and resolution only. */
void ref_pictures(uint32_t resolution, uint64_t seed, uint32_t pictures, float *out);

#endif
