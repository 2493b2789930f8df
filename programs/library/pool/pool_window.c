/* pool_window.c - from windows and their input to steps. */
#include "programs/library/pool/pool_window.h"

enum { POSITION_BYTES = 32 };

struct pool_window pool_window_of(const struct window_axis *h, const struct window_axis *w,
                                  enum pool_loads loads, uint32_t ho, uint32_t wo, uint32_t hp,
                                  uint32_t wp)
{
    uint32_t position = 2 * loads, within = loads - 1;
    struct pool_window s = { .more_h = h->kernel - 1, .more_w = w->kernel - 1 };

    s.column = w->dilation * position - within;
    s.row = (h->dilation * wp - s.more_w * w->dilation) * position - within;
    s.across = w->stride * POSITION_BYTES;
    s.down = (h->stride * wp - w->stride * wo) * POSITION_BYTES;
    s.next = (hp - h->stride * ho) * wp * POSITION_BYTES;
    return s;
}

uint32_t pool_window_seen(const struct window_axis *a, uint32_t o, uint32_t size,
                          uint32_t pad_after, int with_pads)
{
    int64_t at = (int64_t)o * a->stride - a->pad, first = with_pads ? -(int64_t)a->pad : 0;
    int64_t end = with_pads ? (int64_t)size + pad_after : size;
    uint32_t n = 0;

    for (uint32_t k = 0; k < a->kernel; k++, at += a->dilation)
        n += at >= first && at < end;
    return n;
}
