/* pool_window.h - how the kernels of pools walk over x [blocks][hp][wp][16]: the steps in their
 * states. A position is 16 channels, which they do in two halves, each by one or two loads.
 */
#ifndef PROGRAMS_POOL_WINDOW_H
#define PROGRAMS_POOL_WINDOW_H

#include <stdint.h>

#include "programs/library/conv/field_partition.h"

/* Loads for half a position: of maxpool_f16, 8 bytes each; of avgpool_f16, 16 bytes each. */
enum pool_loads { POOL_LOADS_MAX = 2, POOL_LOADS_MEAN = 1 };

struct pool_window {
    uint32_t more_h, more_w; /* rows and columns of a window after the first */
    /* In units of a load: from the last load of half a position to the first of the window's next
     * column; from that of half a row of the window to the first of the next row. */
    uint32_t column, row;
    /* Bytes, modulo 2^32: from the window of a position of y to that of its neighbour; from the
     * window that would follow a row of y to that of the next row; from the row that would follow a
     * block to the next block. */
    uint32_t across, down, next;
};

/* For ho x wo windows in hp x wp positions of x. Pads of the axes do not matter. */
struct pool_window pool_window_of(const struct window_axis *h, const struct window_axis *w,
                                  enum pool_loads loads, uint32_t ho, uint32_t wo, uint32_t hp,
                                  uint32_t wp);

/* How many positions of the field, or of the field and its pads, window o sees along a dimension
 * of `size` positions. */
uint32_t pool_window_seen(const struct window_axis *a, uint32_t o, uint32_t size,
                          uint32_t pad_after, int with_pads);

#endif
