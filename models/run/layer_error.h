/* layer_error.h - a layer in f64, with a bound for the error that the machine may make.
 *
 * A value is a number of the reference and the largest distance that the machine's number may have
 * from it. u = 2^-11 is the relative error of a rounding to f16, t = 2^-25 its absolute error among
 * subnormals.
 *
 *   convolution, linear  weights are rounded once; a partial sum is rounded to f16 at most once for
 *                        every 16 input channels and place of the window, and up to four times more
 *                        (sums of several tiles, bias, residual, result). No partial sum is larger
 *                        than S = sum of |weight x input|: (roundings + 1) u S + t sum |input|.
 *                        Within 16 channels sums are f32: less than 2^-20 S together.
 *   folded norm          its shift: 4 u |shift|; the rest is scaled with it
 *   group norm           x, mean and shift are rounded at most 6 times: 6 u (|sx| + |s mean| + |b|)
 *   swish, sigmoid       slope 1.1 and 0.25; the function and a product: 4 u |y| + 16 t
 *   pool, scale, add     one or two roundings of the result; f32 sums over the field
 *   softmax              f32: 2^-16 y
 */
#ifndef MODELS_LAYER_ERROR_H
#define MODELS_LAYER_ERROR_H

#include "models/ref/ref.h"

struct layer_value {
    double *v; /* [batch][c][h][w] */
    double *e; /* bound of the error of each number; NULL: all are exact */
};

struct layer_bounds {
    const struct net *net; /* borrowed, like the next */
    const struct weights *weights;
    struct weights *magnitude; /* owned: absolute values of all weights */
};

/* EMU_NO_MEMORY. Free with layer_bounds_free, also on failure. */
enum emu_status layer_bounds_init(struct layer_bounds *b, const struct net *n,
                                  const struct weights *w) EMU_MUST_CHECK;
void layer_bounds_free(struct layer_bounds *b);

/* Computes one layer on given inputs. Free *out with layer_value_free. EMU_NO_MEMORY. */
enum emu_status layer_value(const struct layer_bounds *b, uint32_t layer,
                            const struct layer_value in[2], struct layer_value *out) EMU_MUST_CHECK;
void layer_value_free(struct layer_value *x);
/* Adds a rounding to f16 to the bounds of n numbers. */
void layer_value_round(struct layer_value *x, uint64_t n);

#endif
