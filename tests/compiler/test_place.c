/* test_place.c - placements of random objects are proven pair by pair, byte by byte; planted
 * violations are found; what does not fit says what it needs. */
#include "emu/arch/arch_elements.h"
#include "tests/fixtures/lowered_fixture.h"

#include <string.h>

#include "programs/compiler/place/place.h"

/* ---- an own proof: slow and simple ---- */

/* Whether a step is in a live set. */
static int in_use(const struct lowered *l, uint32_t set, uint32_t step)
{
    const struct live_set *s = &l->live_set.at[set];

    for (uint32_t i = 0; i < s->count; i++)
        if (step >= l->live_range.at[s->first + i].begin &&
            step < l->live_range.at[s->first + i].end)
            return 1;
    return set == LIVE_ALWAYS;
}

static int used_together(const struct lowered *l, const struct object *x, const struct object *y)
{
    for (uint32_t step = 0; step < l->step.count; step++)
        if (in_use(l, x->live, step) && in_use(l, y->live, step))
            return 1;
    return x->live == LIVE_ALWAYS || y->live == LIVE_ALWAYS;
}

/* Whether two objects have words in one element, or one pair of interleaved elements. */
static int share_element(const struct arch *a, const struct object *x, const struct object *y)
{
    int first1 = (int)((a->mem_base + a->region0_bytes) / a->element_bytes);

    for (uint32_t p = 0; p < x->bytes; p += 4)
        for (uint32_t q = 0; q < y->bytes; q += 512) { /* no element is smaller than that */
            int e = arch_element_of(a, x->addr + p), f = arch_element_of(a, y->addr + q);

            if (e == f || (e >= first1 && f >= first1 && (e - first1) / 2 == (f - first1) / 2))
                return 1;
        }
    return 0;
}

static void prove_object(const struct arch *a, const struct tile_place *p, const struct object *o)
{
    uint32_t region1 = a->mem_base + a->region0_bytes;

    assert_int_equal(o->addr % o->align, 0);
    assert_true(o->addr >= ss_arch_loader_base(a) + p->code_bytes);
    assert_true(o->addr + o->bytes <= a->mem_base + a->mem_bytes);
    if (o->data)
        assert_true(o->addr + o->bytes <= a->mem_base + a->mem_bytes - arch_loader_tail_bytes(a));
    if (o->region == REGION0)
        assert_true(o->addr + o->bytes <= region1);
    if (o->region == REGION1)
        assert_true(o->addr >= region1);
}

/* A placement that fits: all pairs of a tile. */
static void prove(const struct handmade *r, const struct placement *p)
{
    const struct lowered *l = &r->l;

    assert_true(p->fits);
    for (size_t i = 0; i < l->object.count; i++) {
        const struct object *x = &l->object.at[i];

        prove_object(&r->arch, &p->tile[l->tile_index[x->tile]], x);
        for (size_t k = i + 1; k < l->object.count; k++) {
            const struct object *y = &l->object.at[k];

            if (x->tile == y->tile && x->addr < y->addr + y->bytes && y->addr < x->addr + x->bytes)
                assert_false(used_together(l, x, y));
        }
    }
    for (size_t i = 0; i < l->apart.count; i++) {
        const struct object *x = &l->object.at[l->apart.at[i].a];
        const struct object *y = &l->object.at[l->apart.at[i].b];

        if (used_together(l, x, y))
            assert_false(share_element(&r->arch, x, y) || share_element(&r->arch, y, x));
    }
}

/* The figures of a tile, counted byte by byte and step by step. */
static void prove_figures(const struct handmade *r, const struct placement *p, uint32_t tile)
{
    const struct lowered *l = &r->l;
    const struct tile_place *t = &p->tile[l->tile_index[tile]];
    uint8_t *used = emu_alloc(r->arch.mem_bytes, 1);
    uint32_t count = 0, peak = 0, peak_step = 0;

    assert_non_null(used);
    memset(used + arch_loader_head_bytes(&r->arch), 1, t->code_bytes);
    for (uint32_t step = 0; step < l->step.count; step++) {
        uint32_t now = t->code_bytes;

        for (size_t i = 0; i < l->object.count; i++)
            if (l->object.at[i].tile == tile && in_use(l, l->object.at[i].live, step))
                now += l->object.at[i].bytes;
        if (now > peak) {
            peak = now;
            peak_step = step;
        }
    }
    for (size_t i = 0; i < l->object.count; i++)
        if (l->object.at[i].tile == tile)
            memset(used + (l->object.at[i].addr - r->arch.mem_base), 1, l->object.at[i].bytes);
    for (uint32_t i = 0; i < r->arch.mem_bytes; i++)
        count += used[i];
    assert_int_equal(t->used_bytes, count);
    assert_int_equal(t->peak_bytes, peak);
    assert_int_equal(t->peak_step, peak_step);
    assert_int_equal(t->need_bytes, t->used_bytes + t->gap_bytes);
    assert_true(t->need_bytes <= r->arch.mem_bytes);
    ss_free(used);
}

/* ---- random sets ---- */

/* Objects on a tile: some always in use, some constrained, pairs of them apart. */
static void add_random_objects(struct handmade *r, uint32_t tile, uint32_t n, uint32_t most_bytes)
{
    static const uint16_t aligns[] = { 4, 4, 8, 8, 16, 64 };
    uint32_t first = (uint32_t)r->l.object.count;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t bytes = 1 + handmade_below(r, most_bytes) / (1 + handmade_below(r, 16));
        uint32_t live = handmade_below(r, 4) ? handmade_random_live(r) : LIVE_ALWAYS;
        uint32_t id = handmade_object(r, tile, bytes, live, "x");
        uint32_t kind = handmade_below(r, 10);

        r->l.object.at[id].align = aligns[handmade_below(r, EMU_COUNT_OF(aligns))];
        if (handmade_below(r, 3) == 0)
            r->l.object.at[id].data = r;
        if (kind < 2)
            r->l.object.at[id].region = kind ? REGION1 : REGION0;
        if (i > 0 && kind == 2)
            OK(VEC_PUSH(&r->l.apart, (struct object_pair){ first + handmade_below(r, i), id }));
    }
}

static void test_random_objects(void **state)
{
    uint32_t seeds = 60, fit = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct handmade r;
        struct placement p;
        uint32_t code[3];

        handmade_init(&r, seed % 2 ? "toy16" : "mk2", 3, 1 + (uint32_t)(seed * 7 % 40), seed);
        for (uint32_t t = 0; t < 3; t++) {
            code[t] = 8 * handmade_below(&r, 1000);
            add_random_objects(&r, t, 5 + handmade_below(&r, 40), seed % 2 ? 4000 : 40000);
        }
        OK(place_objects(&r.l, code, 2, &p));
        OK(placement_check(&r.l, &p, 1));
        if (p.fits) {
            fit++;
            prove(&r, &p);
            for (uint32_t t = 0; t < 3; t++)
                prove_figures(&r, &p, t);
        }
        placement_free(&p);
        handmade_free(&r);
    }
    assert_true(fit > seeds / 2);
    assert_int_equal(alloc_live(), 0);
}

/* ---- rules ---- */

/* Three arrays of 28,000 bytes in 64 KiB: they fit because two of them are never needed at once. */
static void test_disjoint_lives_share(void **state)
{
    static const uint32_t early[] = { 0, 3 }, late[] = { 3, 6 };
    struct handmade r;
    struct placement p;
    uint32_t code[1] = { 8000 }, a, b;

    (void)state;
    handmade_init(&r, "toy4", 1, 6, 1);
    handmade_object(&r, 0, 28000, LIVE_ALWAYS, "always");
    a = handmade_object(&r, 0, 28000, handmade_live(&r, 1, early), "early");
    b = handmade_object(&r, 0, 27000, handmade_live(&r, 1, late), "late");
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_true(p.fits);
    assert_true(r.l.object.at[a].addr < r.l.object.at[b].addr + 27000);
    assert_true(r.l.object.at[b].addr < r.l.object.at[a].addr + 28000);
    assert_int_equal(p.tile[0].used_bytes, 8000 + 28000 + 28000);
    assert_int_equal(p.tile[0].peak_bytes, 8000 + 28000 + 28000);
    assert_int_equal(p.tile[0].peak_step, 0);
    placement_free(&p);
    handmade_free(&r);
}

/* Region 1 fills first, from the top; REGION0 objects lie above the code. */
static void test_regions_fill_in_order(void **state)
{
    struct handmade r;
    struct placement p;
    uint32_t code[1] = { 4096 }, any, zero, one, top;

    (void)state;
    handmade_init(&r, "mk2", 1, 1, 1);
    any = handmade_object(&r, 0, 1000, LIVE_ALWAYS, "any");
    zero = handmade_object(&r, 0, 64, LIVE_ALWAYS, "zero");
    one = handmade_object(&r, 0, 512, LIVE_ALWAYS, "one");
    r.l.object.at[zero].region = REGION0;
    r.l.object.at[one].region = REGION1;
    top = r.arch.mem_base + r.arch.mem_bytes;
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_int_equal(r.l.object.at[one].addr, top - 512);
    assert_int_equal(r.l.object.at[any].addr, top - 1512);
    assert_int_equal(r.l.object.at[zero].addr, r.arch.mem_base + r.arch.region0_bytes - 64);
    assert_int_equal(p.tile[0].gap_bytes, 16); /* before the code */
    placement_free(&p);
    handmade_free(&r);
}

/* What the loader fills ends where it can: on mk2 at 0xe7bb0. The rest may lie above. Without a
 * place there, the need says what memory it takes. */
static void test_loader_tail(void **state)
{
    struct handmade r;
    struct placement p;
    uint32_t code[1] = { 4096 }, data, words, plain, most;

    (void)state;
    handmade_init(&r, "mk2", 1, 1, 1);
    data = handmade_object(&r, 0, 4000, LIVE_ALWAYS, "data");
    words = handmade_object(&r, 0, 2000, LIVE_ALWAYS, "words");
    plain = handmade_object(&r, 0, 1000, LIVE_ALWAYS, "plain");
    r.l.object.at[data].data = code;
    r.l.object.at[words].words = 1;
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_true(p.fits);
    assert_int_equal(r.l.object.at[data].addr + 4000, 0xe7bb0);
    assert_int_equal(r.l.object.at[words].addr + 2000, 0xe7bb0 - 4000);
    assert_int_equal(r.l.object.at[plain].addr + 1000, 0xe8000);
    for (uint32_t i = data; i <= words; i++) { /* planted: the check finds both kinds */
        uint32_t addr = r.l.object.at[i].addr;

        r.l.object.at[i].addr = 0xe7bb4 - r.l.object.at[i].bytes;
        r.l.object.at[data + words - i].addr -= 8000;
        assert_int_equal(placement_check(&r.l, &p, 1), EMU_BAD_PROGRAM);
        assert_non_null(strstr(ss_error(), "where the loader cannot fill the memory"));
        r.l.object.at[i].addr = addr;
        r.l.object.at[data + words - i].addr += 8000;
    }
    placement_free(&p);
    most = r.arch.mem_bytes + arch_loader_head_bytes(&r.arch) + arch_loader_tail_bytes(&r.arch);
    r.l.object.at[data].bytes = r.arch.mem_bytes - 4096 - 2000 - 1000;
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_false(p.fits);
    assert_in_range(p.tile[0].need_bytes, most - 1000, most);
    placement_free(&p);
    handmade_free(&r);
}

/* Code begins after the bytes that the loader leaves out: on mk2 at 0x4c010. Objects follow it, and
 * the bytes count where it is asked what the tile and its code need. */
static void test_loader_head(void **state)
{
    struct handmade r;
    struct placement p;
    uint32_t code[1] = { 32768 }, low;

    (void)state;
    for (uint32_t head = 0; head <= 64; head += 16) {
        handmade_init(&r, "mk2", 1, 1, 1);
        r.graph->arch.number[ARCH_NUMBER_loader_head_bytes] =
            r.arch.number[ARCH_NUMBER_loader_head_bytes] = head;
        code[0] = r.arch.region0_bytes - 16 - 512;
        low = handmade_object(&r, 0, 512, LIVE_ALWAYS, "low");
        r.l.object.at[low].region = REGION0;
        OK(place_objects(&r.l, code, 1, &p));
        OK(placement_check(&r.l, &p, 1));
        assert_int_equal(p.fits, head <= 16);
        assert_int_equal(p.tile[0].code_need, head + code[0]);
        if (p.fits) {
            assert_int_equal(r.l.object.at[low].addr, 0x4c010 + code[0]);
            assert_int_equal(p.tile[0].gap_bytes, head);
            r.l.object.at[low].addr -= 16 - head + 8;
            assert_int_equal(placement_check(&r.l, &p, 1), EMU_BAD_PROGRAM);
            assert_non_null(strstr(ss_error(), "overlaps the code"));
        }
        placement_free(&p);
        handmade_free(&r);
    }
}

/* Two of 100 bytes apart go to different pairs of elements, unless they never meet. */
static void test_apart(void **state)
{
    static const uint32_t early[] = { 0, 1 }, late[] = { 1, 2 };
    struct handmade r;
    struct placement p;
    uint32_t code[1] = { 0 }, a, b, c, d, block, region1;

    (void)state;
    handmade_init(&r, "mk2", 1, 2, 1);
    a = handmade_object(&r, 0, 100, LIVE_ALWAYS, "a");
    b = handmade_object(&r, 0, 100, LIVE_ALWAYS, "b");
    c = handmade_object(&r, 0, 40, handmade_live(&r, 1, early), "c");
    d = handmade_object(&r, 0, 40, handmade_live(&r, 1, late), "d");
    OK(VEC_PUSH(&r.l.apart, (struct object_pair){ a, b }));
    OK(VEC_PUSH(&r.l.apart, (struct object_pair){ c, d }));
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    prove(&r, &p);
    block = arch_region1_interleave(&r.arch) * r.arch.element_bytes;
    region1 = r.arch.mem_base + r.arch.region0_bytes;
    assert_int_equal((r.l.object.at[a].addr - region1) / block,
                     (r.l.object.at[b].addr - region1) / block + 1);
    assert_int_equal(r.l.object.at[c].addr, r.l.object.at[d].addr);
    placement_free(&p);
    handmade_free(&r);
}

/* ---- wishes ---- */

/* Two tiles with an object each that is sent and one that receives; both of `bytes` bytes. */
static void exchanging_tiles(struct handmade *r, const char *machine, uint32_t bytes,
                             uint32_t sent[2], uint32_t received[2])
{
    handmade_init(r, machine, 2, 1, 1);
    for (uint32_t t = 0; t < 2; t++) {
        sent[t] = handmade_object(r, t, bytes, LIVE_ALWAYS, "sent");
        received[t] = handmade_object(r, t, bytes, LIVE_ALWAYS, "received");
    }
    for (uint32_t t = 0; t < 2; t++) {
        OK(VEC_PUSH(&r->l.message_dest, (struct message_dest){ received[1 - t], 0 }));
        OK(VEC_PUSH(&r->l.message, (struct message){ sent[t], 0, 4, t, 1 }));
    }
    r->l.step.at[0].kind = STEP_EXCHANGE;
    r->l.step.at[0].count = 2;
}

/* What is sent and what arrives go to different blocks of elements, where there is room. */
static void test_sent_apart_from_received(void **state)
{
    static const uint32_t code[2] = { 1000, 1000 };
    uint32_t sent[2], received[2];
    struct handmade r;
    struct placement p;

    (void)state;
    exchanging_tiles(&r, "mk2", 100, sent, received);
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_true(p.fits);
    for (uint32_t t = 0; t < 2; t++) {
        assert_false(share_element(&r.arch, &r.l.object.at[sent[t]], &r.l.object.at[received[t]]));
        assert_int_equal(p.tile[t].shared_pairs, 0);
        assert_int_equal(p.tile[t].beside_code, 0);
    }
    placement_free(&p);
    handmade_free(&r);
}

/* Where there is none, everything fits all the same, and the figures say so. */
static void test_wishes_give_way(void **state)
{
    static const uint32_t code[2] = { 1000, 1000 };
    uint32_t sent[2], received[2];
    struct handmade r;
    struct placement p;

    (void)state;
    exchanging_tiles(&r, "toy4", 11000, sent, received);
    for (uint32_t t = 0; t < 2; t++) {
        r.l.object.at[received[t]].bytes = 20000; /* reaches into both elements of region 0 */
        r.l.object.at[handmade_object(&r, t, 32768, LIVE_ALWAYS, "full")].region = REGION1;
    }
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_true(p.fits);
    assert_int_equal(p.tile[0].shared_pairs, 1);
    assert_int_equal(p.tile[0].beside_code, 1);
    p.tile[0].shared_pairs = 0;
    assert_int_equal(placement_check(&r.l, &p, 1), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "said to be 0 and 1"));
    p.tile[0].shared_pairs = 1;
    p.tile[0].beside_code = 0;
    assert_int_equal(placement_check(&r.l, &p, 1), EMU_BAD_PROGRAM);
    placement_free(&p);
    handmade_free(&r);
}

/* What receives takes the place away from code before anything else does, even what is larger. */
static void test_receivers_leave_the_code(void **state)
{
    static const uint32_t code[2] = { 1000, 1000 };
    uint32_t sent[2], received[2];
    struct handmade r;
    struct placement p;

    (void)state;
    exchanging_tiles(&r, "toy4", 9000, sent, received);
    for (uint32_t t = 0; t < 2; t++) {
        r.l.object.at[handmade_object(&r, t, 32768, LIVE_ALWAYS, "full")].region = REGION1;
        r.l.object.at[sent[t]].bytes = 4000;
        handmade_object(&r, t, 10000, LIVE_ALWAYS, "larger");
    }
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_true(p.fits);
    assert_int_equal(p.tile[0].beside_code, 0);
    assert_int_equal(p.tile[0].shared_pairs, 0);
    placement_free(&p);
    handmade_free(&r);
}

/* What follows depends neither on threads nor on equal tiles being computed once. */
static void test_threads_and_equal_tiles(void **state)
{
    struct handmade r;
    struct placement one, two;
    uint32_t code[16] = { 0 }, *addr;
    size_t per_tile;

    (void)state;
    handmade_init(&r, "mk2", 16, 30, 5);
    add_random_objects(&r, 0, 60, 30000);
    per_tile = r.l.object.count;
    for (uint32_t t = 1; t < 16; t++)
        for (size_t i = 0; i < per_tile; i++) {
            struct object o = r.l.object.at[i];

            o.tile = t;
            if (t >= 8 && i == 0)
                o.bytes += 4 * t;
            OK(VEC_PUSH(&r.l.object, o));
        }
    OK(place_objects(&r.l, code, 1, &one));
    addr = emu_alloc(r.l.object.count, sizeof(*addr));
    for (size_t i = 0; i < r.l.object.count; i++)
        addr[i] = r.l.object.at[i].addr;
    OK(place_objects(&r.l, code, 2, &two));
    for (size_t i = 0; i < r.l.object.count; i++)
        assert_int_equal(addr[i], r.l.object.at[i].addr);
    assert_memory_equal(one.tile, two.tile, 16 * sizeof(*one.tile));
    for (size_t i = 0; i < per_tile; i++)
        assert_int_equal(addr[i + per_tile], addr[i + 2 * per_tile]); /* pairs: tile 0 only */
    OK(placement_check(&r.l, &two, 1));
    ss_free(addr);
    placement_free(&one);
    placement_free(&two);
    handmade_free(&r);
}

/* ---- planted violations ---- */

struct placement_damage {
    const char *words; /* in the message */
    void (*plant)(struct handmade *r, struct placement *p);
};

static void damage_align(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[2].addr -= 4;
}
static void damage_overlap(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[1].addr = r->l.object.at[0].addr + 96;
}
static void damage_region0(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[2].addr = r->arch.mem_base + r->arch.region0_bytes;
}
static void damage_region1(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[3].addr = r->arch.mem_base + r->arch.region0_bytes - 256;
}
static void damage_code(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[2].addr = ss_arch_loader_base(&r->arch) + 1008;
}
static void damage_end(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[0].addr = r->arch.mem_base + r->arch.mem_bytes - 96;
}
static void damage_apart(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[4].addr = r->l.object.at[0].addr - 1024;
}
static void damage_need(struct handmade *r, struct placement *p)
{
    p->tile[0].need_bytes = (uint64_t)r->arch.mem_bytes + 4;
}

/* An object in a set of steps that meets another one's only in its second range. */
static void damage_second_range(struct handmade *r, struct placement *p)
{
    (void)p;
    r->l.object.at[6].addr = r->l.object.at[5].addr;
}

static const struct placement_damage damages[] = {
    { "not aligned", damage_align },
    { "share bytes", damage_overlap },
    { "not in region 0", damage_region0 },
    { "not in region 1", damage_region1 },
    { "overlaps the code", damage_code },
    { "outside the memory", damage_end },
    { "share a memory element", damage_apart },
    { "does not fit, but", damage_need },
    { "share bytes", damage_second_range },
};

static void test_check_finds_violations(void **state)
{
    static const uint32_t two[] = { 0, 1, 4, 5 }, other[] = { 2, 3, 4, 6 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(damages); i++) {
        struct handmade r;
        struct placement p;
        uint32_t code[1] = { 1024 };

        handmade_init(&r, "mk2", 1, 6, 1);
        handmade_object(&r, 0, 112, LIVE_ALWAYS, "a");
        handmade_object(&r, 0, 112, LIVE_ALWAYS, "b");
        handmade_object(&r, 0, 64, LIVE_ALWAYS, "low");
        handmade_object(&r, 0, 64, LIVE_ALWAYS, "high");
        handmade_object(&r, 0, 64, LIVE_ALWAYS, "apart");
        handmade_object(&r, 0, 64, handmade_live(&r, 2, two), "first");
        handmade_object(&r, 0, 64, handmade_live(&r, 2, other), "second");
        for (size_t k = 0; k < 7; k++)
            r.l.object.at[k].align = 16;
        r.l.object.at[2].region = REGION0;
        r.l.object.at[3].region = REGION1;
        OK(VEC_PUSH(&r.l.apart, (struct object_pair){ 0, 4 }));
        OK(place_objects(&r.l, code, 1, &p));
        OK(placement_check(&r.l, &p, 1));
        damages[i].plant(&r, &p);
        assert_int_equal(placement_check(&r.l, &p, 1), EMU_BAD_PROGRAM);
        if (!strstr(ss_error(), damages[i].words))
            fail_msg("damage %zu: \"%s\", expected \"%s\"", i, ss_error(), damages[i].words);
        placement_free(&p);
        handmade_free(&r);
    }
}

/* ---- memory that instructions cannot name ---- */

/* A tile with twice the memory: the upper part is out of reach of sends. Objects of `bytes` each,
 * of which the first `exchanged` are sent or received, the first is the predicate of a branch that
 * another tile decides, too, and one is a vertex state. */
static void far_objects(struct handmade *r, uint32_t objects, uint32_t exchanged, uint32_t bytes)
{
    handmade_init(r, "mk2", 1, 4, 1);
    OK(ss_arch_set(&r->graph->arch, "mem_bytes=1277952"));
    OK(ss_arch_set(&r->graph->arch, "region0_bytes=425984"));
    for (uint32_t i = 0; i < objects; i++)
        handmade_object(r, 0, bytes, LIVE_ALWAYS, "x");
    for (uint32_t i = 0; i + 1 < exchanged; i += 2) {
        uint32_t first = (uint32_t)r->l.message_dest.count;

        OK(VEC_PUSH(&r->l.message_dest, (struct message_dest){ i + 1, 0 }));
        OK(VEC_PUSH(&r->l.message, (struct message){ i, 0, 4, first, 1 }));
    }
    OK(VEC_PUSH(&r->l.predicate, 0));
    OK(VEC_PUSH(&r->l.predicate, LOWERED_NONE));
    r->l.object.at[objects - 1].category = CATEGORY_VERTEX_STATE;
}

static void test_out_of_reach(void **state)
{
    enum { OBJECTS = 60, EXCHANGED = 20 };
    uint32_t code[1] = { 30000 }, above = 0;
    struct placement p;
    struct handmade r;

    (void)state;
    far_objects(&r, OBJECTS, EXCHANGED, 20000);
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_true(p.fits);
    for (uint32_t i = 0; i < OBJECTS; i++) {
        const struct object *o = &r.l.object.at[i];
        int beyond = o->addr + o->bytes > PLACE_REACH;

        assert_false(beyond && (i < EXCHANGED || i + 1 == OBJECTS));
        above += (uint32_t)beyond;
    }
    assert_true(above > 20); /* the rest takes the upper memory first */
    r.l.object.at[0].addr = PLACE_REACH;
    assert_int_equal(placement_check(&r.l, &p, 1), EMU_BAD_PROGRAM);
    placement_free(&p);
    handmade_free(&r);
    /* There is memory, but not where it would have to be. */
    far_objects(&r, OBJECTS, OBJECTS, 16000);
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_false(p.fits);
    placement_free(&p);
    handmade_free(&r);
}

/* ---- out of memory ---- */

/* The need of a tile is what it takes: in a memory of that size everything fits. */
static void test_need_is_enough(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 120; seed++) {
        uint32_t code[1] = { 30000 };
        struct handmade r;
        struct placement p;
        uint64_t need;

        handmade_init(&r, "toy16", 1, 20, seed);
        for (uint32_t i = 0; i < 40; i++)
            handmade_object(&r, 0, 4 + 4 * handmade_below(&r, 3000),
                            handmade_below(&r, 3) ? handmade_random_live(&r) : LIVE_ALWAYS, "x");
        OK(place_objects(&r.l, code, 1, &p));
        OK(placement_check(&r.l, &p, 1));
        assert_false(p.fits);
        need = p.tile[0].need_bytes;
        assert_true(need > r.arch.mem_bytes && need >= p.tile[0].peak_bytes);
        assert_true(need < p.tile[0].peak_bytes * 6ull / 5); /* first fit is not that bad */
        placement_free(&p);
        r.graph->arch.mem_bytes = (uint32_t)((need + 32767) / 32768 * 32768);
        OK(place_objects(&r.l, code, 1, &p));
        OK(placement_check(&r.l, &p, 1));
        assert_true(p.fits);
        placement_free(&p);
        handmade_free(&r);
    }
}

static void test_code_too_long(void **state)
{
    struct handmade r;
    struct placement p;
    uint32_t code[2] = { 40000, 400 }, low;

    (void)state;
    handmade_init(&r, "toy4", 2, 1, 1);
    handmade_object(&r, 0, 64, LIVE_ALWAYS, "high");
    low = handmade_object(&r, 1, 64, LIVE_ALWAYS, "low");
    r.l.object.at[low].region = REGION0;
    OK(place_objects(&r.l, code, 2, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_false(p.fits);
    assert_int_equal(p.tile[0].code_need, 40000);
    assert_int_equal(p.tile[0].need_bytes, 40064); /* of memory there is enough */
    assert_int_equal(p.tile[1].need_bytes, 464);
    placement_free(&p);
    code[0] = 400;
    code[1] = 32768 - 32; /* leaves no room for the object that must lie in region 0 */
    OK(place_objects(&r.l, code, 2, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_false(p.fits);
    assert_int_equal(p.tile[1].need_bytes, 65536 + 64);
    placement_free(&p);
    handmade_free(&r);
}

/* Bytes beyond 32 bits in all: no wrong sum, no crash. */
static void test_enormous(void **state)
{
    struct handmade r;
    struct placement p;
    uint32_t code[1] = { 64 };

    (void)state;
    handmade_init(&r, "toy4", 1, 2, 1);
    for (uint32_t i = 0; i < 4; i++)
        handmade_object(&r, 0, 4000000000u, LIVE_ALWAYS, "huge");
    OK(place_objects(&r.l, code, 1, &p));
    OK(placement_check(&r.l, &p, 1));
    assert_false(p.fits);
    assert_true(p.tile[0].need_bytes == 16000000064u);
    assert_true(p.tile[0].peak_bytes == UINT32_MAX);
    placement_free(&p);
    handmade_free(&r);
}

static void test_no_memory(void **state)
{
    struct handmade r;
    struct placement p;
    uint32_t code[2] = { 64, 64 };
    long nth = 0;

    (void)state;
    handmade_init(&r, "toy4", 2, 8, 3);
    add_random_objects(&r, 0, 10, 1000);
    add_random_objects(&r, 1, 10, 1000);
    for (;; nth++) {
        enum emu_status s;
        long live = alloc_live();

        alloc_test_fail_at(nth);
        s = place_objects(&r.l, code, 1, &p);
        if (s == EMU_OK)
            s = placement_check(&r.l, &p, 1);
        alloc_test_fail_at(-1);
        placement_free(&p);
        assert_int_equal(alloc_live(), live);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
    }
    assert_true(nth > 15);
    handmade_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_objects),
        cmocka_unit_test(test_disjoint_lives_share),
        cmocka_unit_test(test_regions_fill_in_order),
        cmocka_unit_test(test_loader_tail),
        cmocka_unit_test(test_loader_head),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_sent_apart_from_received),
        cmocka_unit_test(test_wishes_give_way),
        cmocka_unit_test(test_receivers_leave_the_code),
        cmocka_unit_test(test_threads_and_equal_tiles),
        cmocka_unit_test(test_check_finds_violations),
        cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_need_is_enough),
        cmocka_unit_test(test_code_too_long),
        cmocka_unit_test(test_enormous),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
