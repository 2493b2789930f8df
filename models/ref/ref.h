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

/* Sets what trained networks learn from their pictures, measured layer by layer on a fixed seeded
 * batch of `pictures` drawn ones (a multiple of 8 has all kinds alike):
 *
 *   batch norms  running statistics; a tenth of the layer's mean variance is added to that of every
 *                channel, so that none is made loud that other pictures move more. Group norms need
 *                none
 *   classifier   its bias takes the mean logits away, since what all pictures share says nothing
 *                about a class; its weights are scaled so that the logits of these pictures have a
 *                deviation of 2 on average
 *
 * Pictures larger than CALIBRATION_SIDE are not needed: the statistics hold for any resolution from
 * there on. Cost: ref_run() of all pictures at once, with the memory of the two greatest
 * neighbouring outputs.
 */
enum { CALIBRATION_PICTURES = 16, CALIBRATION_SIDE = 192 };
enum emu_status weights_calibrate(struct weights *w, const struct net *n,
                                  uint32_t pictures) EMU_MUST_CHECK;
/* Side of the pictures that it looks at. */
uint32_t calibration_side(const struct net *n);
/* What it did to the classifier's weights; for those who keep w->classifier_gain. */
void weights_scale_classifier(struct weights *w, const struct net *n, float gain);

/* Drawn pictures of eight kinds in turn: random fields, hard edged shapes, soft fields, strokes,
 * stripes, nearly flat ones, noise and gradients, each with its own brightness, tint and contrast,
 * within the range of a normalised photograph. out: `pictures` x 3 x resolution x resolution
 * numbers. The bits depend on seed, picture and resolution only. */
void ref_pictures(uint32_t resolution, uint64_t seed, uint32_t pictures, float *out);

#endif
