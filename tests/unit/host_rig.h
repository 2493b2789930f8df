/* host_rig.h - a host and a machine that does not run: the queues of its tiles show what the host
 * hands over. For the tests of emu/host.
 */
#ifndef HOST_RIG_H
#define HOST_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/prng.h"
#include "emu/bsp/machine_internal.h"
#include "emu/host/host_private.h"

struct rig {
    struct arch arch;
    struct machine *m;
    struct host *h;
    long live; /* allocations before */
};

static uint8_t pattern[1 << 16]; /* what streams from memory carry, over and over */

static inline void rig_new(struct rig *r, const char *const *set, const struct host_options *o)
{
    struct machine_options mo = { .threads = 1 };

    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)(i * 7 + (i >> 8));
    r->live = alloc_live();
    r->arch = *arch_preset("toy4");
    for (; set && *set; set++)
        assert_int_equal(arch_set(&r->arch, *set), EMU_OK);
    assert_int_equal(machine_new(&r->arch, &mo, &r->m), EMU_OK);
    assert_int_equal(host_new(&r->arch, o, &r->h), EMU_OK);
}

static inline void rig_free(struct rig *r)
{
    host_free(r->h);
    machine_free(r->m);
    assert_int_equal(alloc_live(), r->live);
}

static inline enum emu_status try_ask(struct rig *r, uint32_t tile, uint64_t cycle, uint32_t stream,
                                      uint32_t off, uint32_t bytes, int to_host)
{
    const struct host_header h = {
        .stream = stream, .addr = r->arch.mem_base + off, .bytes = bytes, .to_host = to_host
    };
    uint32_t word[2];

    host_header_pack(&h, word);
    return host_request(r->h, tile, cycle, word, to_host ? pattern : NULL);
}

/* A transfer to a tile, or on streams from 100 on to the host. */
static inline void ask(struct rig *r, uint32_t tile, uint64_t cycle, uint32_t stream,
                       uint32_t bytes)
{
    assert_int_equal(try_ask(r, tile, cycle, stream, 0, bytes, stream >= 100), EMU_OK);
}

static inline void from_memory(struct rig *r, uint32_t id, uint32_t depth)
{
    assert_int_equal(host_stream_from_memory(r->h, id, depth, pattern, sizeof(pattern), 1), EMU_OK);
}

static inline void advance(struct rig *r, uint64_t until)
{
    assert_int_equal(host_advance(r->h, r->m, until), EMU_OK);
}

static inline struct place *place(struct rig *r, uint32_t tile)
{
    return &r->m->place[tile];
}

static inline const struct arrival *last_of(struct rig *r, uint32_t tile)
{
    struct place *p = place(r, tile);

    assert_true(p->arrivals > 0);
    return &p->arrival[p->arrivals - 1];
}

/* ceil(bytes x clock / rate) */
static inline uint64_t link_cycles(const struct arch *a, uint64_t bytes)
{
    unsigned __int128 n = (unsigned __int128)bytes * a->clock_mhz;

    return (uint64_t)((n + a->host_link_mbytes_per_s - 1) / a->host_link_mbytes_per_s);
}

/* Issue to arrival of a transfer that has the link for itself. */
static inline uint64_t alone_cycles(const struct arch *a, uint64_t bytes)
{
    return a->host_route_cycles + arch_cycles_from_ns(a, a->host_latency_ns) +
           link_cycles(a, bytes);
}

#endif
