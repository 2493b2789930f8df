/* calibrate.h - what trained networks learn from their pictures, measured on drawn ones.
 */
#ifndef MODELS_CALIBRATE_H
#define MODELS_CALIBRATE_H

#include "models/weights/weights.h"

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
 * that size on. Cost: the f64 reference of the network (op_graph_walk()) with all pictures
 * at once, and the memory of its two largest neighbouring results.
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
void synthetic_pictures(uint32_t resolution, uint64_t seed, uint32_t pictures, float *out);

#endif
