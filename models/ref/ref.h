/* ref.h - a network in f64 on the host: the plain reference of everything the machine computes. */
#ifndef MODELS_REF_H
#define MODELS_REF_H

#include "models/weights/weights.h"

/* The output of each layer, [batch][c][h][w] in f64. */
struct ref {
    double **out; /* owned; by layer; NULL where it was not kept */
    uint32_t layers;
};

/* Runs all layers on input [batch][3][h][w]. keep: not 0: every output is kept; 0: only the last.
 * Uses all cores; the bits do not depend on their number. EMU_NO_MEMORY. Free with ref_free. */
enum emu_status ref_run(const struct net *n, const struct weights *w, const float *input, int keep,
                        struct ref *out) EMU_MUST_CHECK;
void ref_free(struct ref *r);

/* The same, but keeps nothing: visit is called for every layer in order, with its inputs (NULL
 * where it has none) and its output, all [batch][c][h][w] and valid during the call only. A tensor
 * is freed after the last layer that reads it. If visit returns an error, the run ends with it. */
typedef enum emu_status ref_visit(void *arg, uint32_t layer, const double *const in[2],
                                  const double *out);
enum emu_status ref_walk(const struct net *n, const struct weights *w, const float *input,
                         ref_visit *visit, void *arg) EMU_MUST_CHECK;

/* Computes one layer on given outputs of its input layers, each [batch][c][h][w]. out:
 * [batch][out_c][out_h][out_w], the caller's. */
void ref_layer(const struct net *n, const struct weights *w, uint32_t layer,
               const double *const in[2], double *out);

/* Sets the values that trained networks learn from their pictures, measured layer by layer on a
 * fixed seeded batch of `pictures` drawn ones (a multiple of 8 has equally many of each kind):
 *
 *   batch norms  running statistics; a tenth of the layer's mean variance is added to the variance
 *                of every channel, so that a channel which these pictures hardly move is not
 *                amplified for others. Group norms have no running statistics
 *   classifier   its bias subtracts the mean logits, since what all pictures share says nothing
 *                about a class; its weights are scaled so that the logits of these pictures have a
 *                deviation of 2 on average
 *
 * Pictures larger than CALIBRATION_SIDE are not needed: the statistics hold for any resolution from
 * that size on. Cost: ref_run() of all pictures at once, with the memory of the two largest
 * neighbouring outputs.
 */
enum { CALIBRATION_PICTURES = 16, CALIBRATION_SIDE = 192 };
enum emu_status weights_calibrate(struct weights *w, const struct net *n,
                                  uint32_t pictures) EMU_MUST_CHECK;
/* The side of the pictures that weights_calibrate() draws for a network. */
uint32_t calibration_side(const struct net *n);
/* Scales the classifier's weights as weights_calibrate() did, by a w->classifier_gain that was
 * kept. */
void weights_scale_classifier(struct weights *w, const struct net *n, float gain);

/* Draws pictures of eight kinds in turn: random fields, hard edged shapes, soft fields, strokes,
 * stripes, nearly flat ones, noise and gradients, each with its own brightness, tint and contrast,
 * within the range of a normalised photograph. out: [pictures][3][resolution][resolution], the
 * caller's. The bits depend on the seed, the picture's number and the resolution only. */
void ref_pictures(uint32_t resolution, uint64_t seed, uint32_t pictures, float *out);

#endif
