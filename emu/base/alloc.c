/* alloc.c - allocation that is counted, and that tests can make fail (see alloc.h). */
#include "emu/base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static atomic_long live_blocks;
static atomic_long fail_countdown = -1;

static int must_fail(void)
{
    long n = atomic_load_explicit(&fail_countdown, memory_order_relaxed);

    if (n < 0)
        return 0;
    return atomic_fetch_sub(&fail_countdown, 1) == 0;
}

void *emu_alloc(size_t count, size_t size)
{
    void *p = must_fail() ? NULL : calloc(count ? count : 1, size ? size : 1);

    if (p)
        atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return p;
}

/* Blocks that are visited here and there cost the host less in large pages. */
enum { LARGE_PAGE = 2 << 20 };

void *emu_alloc_aligned(size_t count, size_t size, size_t align)
{
    size_t bytes;
    void *p;

    if (must_fail() || __builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - align)
        return NULL;
    bytes = (bytes + align - 1) & ~(align - 1); /* aligned_alloc wants a multiple */
    if (bytes >= LARGE_PAGE && align < LARGE_PAGE) {
        align = LARGE_PAGE;
        bytes = (bytes + align - 1) & ~(align - 1);
    }
    p = aligned_alloc(align, bytes ? bytes : align);
    if (!p)
        return NULL;
    if (align == LARGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* no is an answer, too */
    memset(p, 0, bytes);
    atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return p;
}

void *emu_realloc(void *p, size_t count, size_t size)
{
    void *q;

    if (!p)
        return emu_alloc(count, size);
    if (must_fail())
        return NULL;
    q = reallocarray(p, count ? count : 1, size ? size : 1);
    return q;
}

void ss_free(void *p)
{
    if (!p)
        return;
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    free(p);
}

char *emu_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *d = emu_alloc(len + 1, 1);

    if (d)
        memcpy(d, s, len);
    return d;
}

char *emu_strdup(const char *s)
{
    return emu_strndup(s, strlen(s));
}

void emu_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void *emu_reserve(size_t bytes)
{
    void *p;

    if (must_fail())
        return NULL;
    p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return p;
}

void emu_unreserve(void *p, size_t bytes)
{
    if (!p)
        return;
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    munmap(p, bytes ? bytes : 1);
}

enum emu_status emu_grow(void **p, size_t len, size_t *cap, size_t size)
{
    size_t want = *cap ? *cap * 2 : 16;
    void *q;

    if (len < *cap)
        return EMU_OK;
    q = emu_realloc(*p, want, size);
    if (!q)
        return FAIL(NO_MEMORY, "an array of %zu elements of %zu bytes", want, size);
    *p = q;
    *cap = want;
    return EMU_OK;
}

void alloc_test_fail_at(long nth)
{
    atomic_store(&fail_countdown, nth);
}

long alloc_live(void)
{
    return atomic_load(&live_blocks);
}
