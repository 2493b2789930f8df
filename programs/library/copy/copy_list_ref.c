/* copy_list_ref.c - copy_list_64, _32, _16, _8: meaning and cycles. */
#include <string.h>

#include "programs/library/kernel/codelet_ref.h"

static void copy_list(const struct codelet_call *call, unsigned bytes)
{
    for (uint32_t k = 0; k < call->arg[copy_list__n].value; k++) {
        const struct codelet_run *src = &call->arg[copy_list__src].list[k],
                                 *dst = &call->arg[copy_list__dst].list[k];

        memcpy(dst->data, src->data, (size_t)src->elements * bytes);
    }
}

void copy_list_64_ref(const struct codelet_call *call)
{
    copy_list(call, 4);
}

void copy_list_32_ref(const struct codelet_call *call)
{
    copy_list(call, 4);
}

void copy_list_16_ref(const struct codelet_call *call)
{
    copy_list(call, 2);
}

void copy_list_8_ref(const struct codelet_call *call)
{
    copy_list(call, 1);
}

/* ---- cycles: the instructions of copy_list.inc, counted ---- */

/* Slots of a run, from the load of its row to the branch to the next one. src and dst matter modulo
 * 8. */
static uint64_t run_slots_32(uint32_t src, uint32_t dst, uint32_t n)
{
    uint64_t slots = 3 + 2;

    if (n >= 4) {
        slots += 3;
        if (!((src ^ dst) & 4)) {
            slots += 2;
            if (dst & 4) {
                slots += 3;
                n--;
            }
            slots += 3 + 2 * (n / 2);
            n %= 2;
        }
    }
    return slots + 1 + 2 * n + 1;
}

static uint64_t run_slots_16(uint32_t src, uint32_t dst, uint32_t n)
{
    uint64_t slots = 3 + 2;

    if (n == 1)
        return slots + 3 + (dst & 2 ? 4 : 3) + 1;
    slots += 2;
    if (dst & 2) {
        slots += 1;
        if (!n)
            return slots + 1;
        slots += 6;
        n--;
        src += 2;
        dst += 2;
    }
    slots += 2;
    if (src & 2) {
        slots += 2 + 4 * (n / 2);
    } else {
        slots += 2;
        if (n >= 8) {
            slots += 3;
            if (!((src ^ dst) & 4)) {
                slots += 2;
                if (dst & 4) {
                    slots += 3;
                    n -= 2;
                }
                slots += 3 + 2 * (n / 4);
                n %= 4;
            }
        }
        slots += 2 + 2 * (n / 2) + 1;
    }
    return slots + 2 + n % 2 * 4 + 1;
}

static uint64_t run_slots_8(uint32_t src, uint32_t dst, uint32_t n)
{
    uint32_t end = 8 + dst + n, at = 8 + dst, words;
    uint64_t slots = 3 + 1;

    if (!n)
        return slots + 1;
    slots += 6;
    if (at % 4 || n < 4) {
        slots += 30;
        at = (at & ~3u) + 4;
    }
    words = end > at ? (end - at) / 4 : 0;
    slots += 6;
    if ((src - dst) % 4 == 0)
        slots += 1 + 2 * words + 1;
    else
        slots += words ? 1 + 5 + 6 * words : 1;
    return slots + 2 + (at + 4 * words < end ? 30 : 0) + 1;
}

static uint64_t run_slots(unsigned bits, uint32_t src, uint32_t dst, uint32_t n)
{
    switch (bits) {
    case 8:
        return run_slots_8(src % 8, dst % 8, n);
    case 16:
        return run_slots_16(src % 8, dst % 8, n);
    case 32:
        return run_slots_32(src % 8, dst % 8, n);
    default:
        return 3 + 3 + 2 * (n / 2) + 1 + n % 2 * 2 + 1;
    }
}

/* The most slots that a run may take, wherever it lies. */
static uint64_t run_slots_most(unsigned bits, uint32_t n)
{
    uint64_t most = 0;

    for (uint32_t src = 0; src < 8; src += bits / 8) {
        for (uint32_t dst = 0; dst < 8; dst += bits / 8) {
            uint64_t slots = run_slots(bits, src, dst, n);

            most = slots > most ? slots : most;
        }
    }
    return most;
}

struct list_shape {
    const struct arch *arch;
    unsigned bits;
    uint32_t n;
    const uint32_t *src, *dst,
        *elements; /* NULL: not known; then the worst case counts, with lengths from list */
    const struct codelet_run *list; /* NULL: runs of one element */
};

static uint64_t shape_run_slots(const struct list_shape *s, uint32_t k)
{
    if (s->src)
        return run_slots(s->bits, s->src[k], s->dst[k], s->elements[k]);
    return run_slots_most(s->bits, s->list ? s->list[k].elements : 1);
}

/* How many slots more a run of n halves may take if its first half belongs to another worker. */
static uint64_t clip_slots(uint32_t n)
{
    uint64_t whole = run_slots_most(16, n), clipped = n ? run_slots_most(16, n - 1) : 0;

    return clipped > whole ? clipped - whole : 0;
}

static uint64_t share_slots(const void *shape, unsigned w)
{
    const struct list_shape *s = shape;
    uint64_t slots = 0;

    for (uint32_t k = w; k < s->n; k += s->arch->workers)
        slots += shape_run_slots(s, k);
    return slots ? 12 + 3 + slots + 1 : 12 + 1;
}

/* copy_list_8: where the block that should begin at row k really begins; *slots: the cost of
 * finding that out. */
static uint32_t boundary(const struct list_shape *s, uint32_t k, uint64_t *slots)
{
    *slots = 0;
    for (;; k++, *slots += 14 + 2) {
        if (k >= s->n || k == 0) {
            *slots += k >= s->n ? 2 : 3;
            return k;
        }
        if (s->src && (s->dst[k - 1] + s->elements[k - 1] - 1) / 4 != s->dst[k] / 4) {
            *slots += 14;
            return k;
        }
    }
}

/* copy_list_8: without addresses the worst case is that one worker must take all runs. */
static uint64_t block_8_slots(const void *shape, unsigned w)
{
    const struct list_shape *s = shape;
    uint32_t most = (s->n + s->arch->workers - 1) / s->arch->workers;
    uint64_t slots = 11 + 4, search;
    uint32_t k = boundary(s, most * w, &search), end;

    slots += search;
    end = boundary(s, most * (w + 1), &search);
    slots += search;
    end = end < s->n ? end : s->n;
    if (k >= end)
        return slots + 1;
    for (slots += 3; k < end; k++)
        slots += shape_run_slots(s, k);
    return slots + 1;
}

/* copy_list_16: whether row k begins in the upper half of the word in which the row before ends. */
static int halves_meet(const struct list_shape *s, uint32_t k)
{
    return s->dst[k] % 4 == 2 && s->dst[k - 1] + 2 * s->elements[k - 1] == s->dst[k];
}

/* copy_list_16: slots of a worker besides its runs [k, end). *clip: whether the first half of the
 * first run belongs to another worker. */
static uint64_t block_16_extra(const struct list_shape *s, unsigned w, uint32_t k, uint32_t end,
                               int *clip)
{
    uint64_t slots = 1 + 1;
    uint32_t length, odd;

    *clip = 0;
    if (w) {
        *clip = s->src && halves_meet(s, k);
        slots += 2 + (!s->src || s->dst[k] % 4 ? 7 : 0) + (!s->src || *clip ? 4 : 0);
    }
    if (!s->src)
        return slots + 1 + (end == s->n ? 0 : 2 + 4 + 5) + 1;
    length = s->elements[end - 1] - (uint32_t)(*clip && end == k + 1);
    slots += length == 1; /* the branch from the code of single halves */
    if (end == s->n)
        return slots + 1;
    /* The last half is the lower half of a word, or the only one. */
    odd = length == 1 || (length && (s->dst[end - 1] + 2 * s->elements[end - 1]) % 4);
    return slots + 2 + (odd ? 4 : 0) + (halves_meet(s, end) ? 5 : 0) + 1;
}

static uint64_t block_16_slots(const void *shape, unsigned w)
{
    const struct list_shape *s = shape;
    uint32_t most = (s->n + s->arch->workers - 1) / s->arch->workers, k = most * w;
    uint32_t end = k + most < s->n ? k + most : s->n;
    uint64_t slots = 11 + 5;
    int clip;

    if (k >= end)
        return slots + 1;
    slots += 3 + block_16_extra(s, w, k, end, &clip);
    if (!s->src)
        slots += clip_slots(s->list ? s->list[k].elements : 1);
    if (clip)
        slots += run_slots(16, s->src[k] + 2, s->dst[k] + 2, s->elements[k] - 1);
    for (k += (uint32_t)clip; k < end; k++)
        slots += shape_run_slots(s, k);
    return slots;
}

static uint64_t list_cycles(const struct list_shape *s)
{
    return codelet_workers_cycles(s->arch,
                                  s->bits == 8    ? block_8_slots
                                  : s->bits == 16 ? block_16_slots
                                                  : share_slots,
                                  s);
}

uint64_t copy_list_cycles_at(const struct arch *a, unsigned bits, const uint32_t *src,
                             const uint32_t *dst, const uint32_t *elements, uint32_t n)
{
    struct list_shape s = { a, bits, n, src, dst, elements, NULL };

    return list_cycles(&s);
}

static uint64_t copy_list_cycles(const struct codelet_call *call, unsigned bits)
{
    struct list_shape s = { call->arch, bits, call->arg[copy_list__n].value, NULL,
                            NULL,       NULL, call->arg[copy_list__src].list };

    return list_cycles(&s);
}

uint64_t copy_list_64_cycles(const struct codelet_call *call)
{
    return copy_list_cycles(call, 64);
}

uint64_t copy_list_32_cycles(const struct codelet_call *call)
{
    return copy_list_cycles(call, 32);
}

uint64_t copy_list_16_cycles(const struct codelet_call *call)
{
    return copy_list_cycles(call, 16);
}

uint64_t copy_list_8_cycles(const struct codelet_call *call)
{
    return copy_list_cycles(call, 8);
}
