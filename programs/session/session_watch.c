/* session_watch.c - what a session looks at after every superstep: the first overflow, and the
 * range of what codelets left. Later supersteps use the memory for something else.
 */
#include "programs/session/session_internal.h"

/* Calls visit for the numbers of an object, some at a time. */
static void read_numbers(struct tile *t, uint32_t addr, uint32_t bytes,
                         void (*visit)(void *ctx, const uint16_t *value, uint32_t n), void *ctx)
{
    uint16_t value[256];

    while (bytes >= sizeof(*value)) {
        uint32_t n = bytes < sizeof(value) ? bytes & ~1u : (uint32_t)sizeof(value);

        EMU_ASSERT(tile_read(t, addr, value, n)); /* an object of the placement */
        visit(ctx, value, n / (uint32_t)sizeof(*value));
        addr += n;
        bytes -= n;
    }
}

enum emu_status session_program(struct session *s, const struct compiled **out)
{
    if (!s->program && s->c)
        s->program = s->c;
    else if (!s->program && s->options.program)
        TRY(s->options.program(s->options.program_ctx, &s->program));
    *out = s->program;
    return EMU_OK;
}

enum emu_status session_watch_open(struct session *s, uint32_t chips)
{
    s->look = emu_alloc(chips, sizeof(*s->look));
    if (!s->look)
        return FAIL(NO_MEMORY, "a session");
    s->looks = chips;
    for (uint32_t k = 0; k < chips; k++) {
        s->look[k].s = s;
        s->look[k].chip = k;
    }
    return EMU_OK;
}

void session_watch_close(struct session *s)
{
    for (uint32_t k = 0; k < s->looks; k++) {
        ss_free(s->look[k].trace);
        ss_free(s->look[k].range);
        ss_free(s->look[k].overflow_tiles);
    }
    ss_free(s->look);
}

static struct tile *tile_of(const struct session_look *l, uint32_t tile)
{
    return machine_tile(machine_of_chip(l->s->run, l->chip), tile);
}

/* What the chip runs; NULL: an image alone. */
static enum emu_status program_of(const struct session_look *l, const struct compiled **out)
{
    TRY(session_program((struct session *)(uintptr_t)l->s, out));
    if (*out)
        *out = ss_compiled_chip(*out, l->chip % ss_compiled_chips(*out));
    return EMU_OK;
}

/* ---- overflow ---- */

/* Numbers of f16 that are no numbers or have its largest magnitude: what is clipped gets that. */
static void count_clipped(void *ctx, const uint16_t *value, uint32_t n)
{
    uint64_t *count = ctx;

    for (uint32_t i = 0; i < n; i++)
        *count += fp_f16_abs(value[i]) >= FP_F16_MAX;
}

static void visit_clipped(void *ctx, uint32_t tile, uint32_t addr, uint32_t bytes)
{
    struct session_look *l = ctx;
    struct tile *t = tile_of(l, tile);

    if (tile_exceptions(t) & FP_OFLO)
        read_numbers(t, addr, bytes, count_clipped, &l->overflow.values);
}

/* Visits the numbers of a type that the codelets of a superstep have left. */
static enum emu_status visit_superstep(struct session_look *l, uint64_t superstep, enum elem elem,
                                       result_visit *visit)
{
    enum emu_status st = EMU_OK;
    const struct compiled *c;
    struct trace_step *step;
    size_t steps;

    TRY(program_of(l, &c));
    if (!c)
        return EMU_OK;
    TRY(ss_compiled_trace(c, &step, &steps));
    for (size_t i = 0; i < steps && st == EMU_OK; i++) {
        if (step[i].superstep == superstep && step[i].kind == TRACE_COMPUTE)
            st = ss_compiled_step_results(c, step[i].step, elem, visit, l);
    }
    ss_free(step);
    return st;
}

enum { OVERFLOW_STEPS_MAX = 1 << 20 };

/* Keeps that tiles had their first overflow in a superstep; want of memory loses it. */
static void note_tiles(struct session_look *l, uint64_t superstep, uint32_t tiles)
{
    if (superstep >= OVERFLOW_STEPS_MAX)
        return;
    while (l->overflow_steps <= superstep) {
        if (emu_grow((void **)&l->overflow_tiles, l->overflow_steps, &l->overflow_cap,
                     sizeof(*l->overflow_tiles)) != EMU_OK)
            return;
        l->overflow_tiles[l->overflow_steps++] = 0;
    }
    l->overflow_tiles[superstep] += tiles;
}

/* The tiles that have had one of some exceptions. */
static uint32_t tiles_with(const struct session_look *l, uint32_t exceptions)
{
    uint32_t tiles = 0;

    for (uint32_t i = 0; i < ss_image_arch(l->s->run->im)->tiles; i++)
        tiles += (tile_exceptions(tile_of(l, i)) & exceptions) != 0;
    return tiles;
}

/* The values of the first overflow are counted now, because later supersteps use the memory for
 * something else; of a program whose order depends on data, ss_compiled_trace() cannot say which
 * they are. */
static void look_for_overflow(struct session_look *l, uint64_t superstep)
{
    uint32_t tiles = tiles_with(l, FP_OFLO);

    if (tiles > l->overflow_seen)
        note_tiles(l, superstep, tiles - l->overflow_seen);
    l->overflow_seen = tiles;
    if (l->overflow.tiles || !tiles)
        return;
    l->overflow.tiles = tiles;
    l->overflow.superstep = superstep;
    if (visit_superstep(l, superstep, ELEM_F16, visit_clipped) != EMU_OK)
        l->overflow.values = 0;
}

/* ---- NaN and infinity ---- */

/* Numbers that exceptions of a tile may have made. */
static void add_tile(struct session_not_finite *to, uint32_t exceptions, uint64_t nan,
                     uint64_t infinite)
{
    to->nan += exceptions & FP_INV ? nan : 0;
    to->infinite += exceptions & (FP_DIV0 | FP_OFLO) ? infinite : 0;
}

static void count_halves(void *ctx, const uint16_t *value, uint32_t n)
{
    struct session_not_finite *to = ctx;

    for (uint32_t i = 0; i < n; i++) {
        uint16_t magnitude = fp_f16_abs(value[i]);

        to->nan += magnitude > FP_F16_MAX + 1;
        to->infinite += magnitude == FP_F16_MAX + 1;
    }
}

static void visit_halves(void *ctx, uint32_t tile, uint32_t addr, uint32_t bytes)
{
    struct session_look *l = ctx;
    struct tile *t = tile_of(l, tile);
    struct session_not_finite here = { 0 };

    read_numbers(t, addr, bytes, count_halves, &here);
    add_tile(&l->not_finite, tile_exceptions(t), here.nan, here.infinite);
}

static void visit_words(void *ctx, uint32_t tile, uint32_t addr, uint32_t bytes)
{
    struct session_look *l = ctx;
    struct tile *t = tile_of(l, tile);
    uint64_t nan = 0, infinite = 0;
    uint32_t word;

    for (; bytes >= sizeof(word); addr += sizeof(word), bytes -= (uint32_t)sizeof(word)) {
        EMU_ASSERT(tile_read(t, addr, &word, sizeof(word)));
        word &= 0x7fffffffu;
        nan += word > 0x7f800000u;
        infinite += word == 0x7f800000u;
    }
    add_tile(&l->not_finite, tile_exceptions(t), nan, infinite);
}

/* An exception alone may be that of a number that nobody reads, so results are looked at. */
static void look_for_not_finite(struct session_look *l, uint64_t superstep)
{
    const struct session_not_finite none = { .superstep = superstep };
    uint32_t tiles;

    if (l->not_finite.nan || l->not_finite.infinite)
        return;
    tiles = tiles_with(l, FP_INV | FP_DIV0 | FP_OFLO);
    if (tiles == l->wrong_seen)
        return;
    l->wrong_seen = tiles;
    l->not_finite = none;
    if (visit_superstep(l, superstep, ELEM_F16, visit_halves) != EMU_OK ||
        visit_superstep(l, superstep, ELEM_F32, visit_words) != EMU_OK)
        l->not_finite = none;
}

/* ---- ranges ---- */

static void measure(void *ctx, const uint16_t *value, uint32_t n)
{
    struct session_range *r = ctx;

    r->numbers += n;
    count_clipped(&r->saturated, value, n);
    for (uint32_t i = 0; i < n; i++) {
        uint16_t magnitude = fp_f16_abs(value[i]);

        if (magnitude <= FP_F16_MAX && magnitude > r->largest)
            r->largest = magnitude;
    }
}

struct range_visit {
    const struct session_look *l;
    struct session_range *range;
};

static void visit_range(void *ctx, uint32_t tile, uint32_t addr, uint32_t bytes)
{
    const struct range_visit *v = ctx;

    read_numbers(tile_of(v->l, tile), addr, bytes, measure, v->range);
}

/* Steps ascend by superstep. What cannot be measured for want of memory is left out. */
static void measure_superstep(struct session_look *l, uint64_t superstep)
{
    uint64_t index = superstep - l->first_superstep;
    const struct compiled *c;

    if (!l->range || superstep < l->first_superstep || program_of(l, &c) != EMU_OK)
        return;
    for (; l->measured < l->steps && l->trace[l->measured].superstep <= index; l->measured++) {
        const struct trace_step *t = &l->trace[l->measured];
        struct range_visit v = { l, &l->range[l->measured] };

        if (t->kind == TRACE_COMPUTE && t->superstep == index &&
            ss_compiled_step_results(c, t->step, ELEM_F16, visit_range, &v) != EMU_OK)
            l->range[l->measured] = (struct session_range){ .numbers = 0 };
    }
}

static enum emu_status watch_ranges(struct session_look *l)
{
    const struct compiled *c;

    TRY(program_of(l, &c));
    if (!c)
        return FAIL(USAGE, "ranges of an image alone");
    TRY(ss_compiled_trace(c, &l->trace, &l->steps));
    l->range = emu_alloc(l->steps + 1, sizeof(*l->range));
    return l->range ? EMU_OK : FAIL(NO_MEMORY, "ranges of %zu steps", l->steps);
}

enum emu_status session_watch_ranges(struct session *s)
{
    for (uint32_t k = 0; k < s->looks; k++)
        TRY(watch_ranges(&s->look[k]));
    return EMU_OK;
}

/* ---- after every superstep ---- */

/* Looks at nothing before the machine exists. */
static void look(struct session_look *l, uint64_t superstep)
{
    if (!l->s->run)
        return;
    if (l->s->options.overflow) {
        look_for_overflow(l, superstep);
        look_for_not_finite(l, superstep);
    }
    measure_superstep(l, superstep);
}

void session_watch_begin(struct session *s)
{
    for (uint32_t k = 0; k < s->looks; k++) {
        s->look[k].measured = 0;
        /* The one in which the host was waited for ends only now. */
        s->look[k].first_superstep = s->runs ? s->look[k].superstep + 1 : 0;
    }
}

void session_watch_end(struct session *s)
{
    for (uint32_t k = 0; k < s->looks; k++)
        look(&s->look[k], s->look[k].superstep);
}

void session_watch(void *ctx, const struct machine_superstep *step)
{
    struct session *s = ctx;

    if (!step->group) {
        look(&s->look[step->chip], step->index);
        s->look[step->chip].superstep = step->index + 1;
    }
    if (s->options.watch)
        s->options.watch(s->options.watch_ctx, step);
}

/* ---- what was seen ---- */

/* NULL: nothing. */
static const struct session_look *look_at(const struct session *s, unsigned chip)
{
    return s && chip < s->looks ? &s->look[chip] : NULL;
}

struct session_overflow ss_session_chip_overflow(const struct session *s, unsigned chip)
{
    const struct session_look *l = look_at(s, chip);

    return l ? l->overflow : (struct session_overflow){ 0 };
}

struct session_overflow ss_session_overflow(const struct session *s)
{
    return ss_session_chip_overflow(s, 0);
}

struct session_not_finite ss_session_chip_not_finite(const struct session *s, unsigned chip)
{
    const struct session_look *l = look_at(s, chip);

    return l ? l->not_finite : (struct session_not_finite){ 0 };
}

struct session_not_finite ss_session_not_finite(const struct session *s)
{
    return ss_session_chip_not_finite(s, 0);
}

const uint32_t *ss_session_chip_overflow_tiles(const struct session *s, unsigned chip,
                                               size_t *supersteps)
{
    const struct session_look *l = look_at(s, chip);

    *supersteps = l ? l->overflow_steps : 0;
    return l ? l->overflow_tiles : NULL;
}

const uint32_t *ss_session_overflow_tiles(const struct session *s, size_t *supersteps)
{
    return ss_session_chip_overflow_tiles(s, 0, supersteps);
}

const struct session_range *ss_session_chip_ranges(const struct session *s, unsigned chip,
                                                   size_t *steps)
{
    const struct session_look *l = look_at(s, chip);

    *steps = l && l->range ? l->steps : 0;
    return l ? l->range : NULL;
}

const struct session_range *ss_session_ranges(const struct session *s, size_t *steps)
{
    return ss_session_chip_ranges(s, 0, steps);
}

uint64_t ss_session_chip_range_superstep(const struct session *s, unsigned chip, size_t step)
{
    const struct session_look *l = look_at(s, chip);

    return l && step < l->steps ? l->trace[step].superstep : 0;
}

uint64_t ss_session_range_superstep(const struct session *s, size_t step)
{
    return ss_session_chip_range_superstep(s, 0, step);
}
