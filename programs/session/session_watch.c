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
    struct session *s = ctx;
    struct tile *t = machine_tile(s->run->machine, tile);

    if (tile_exceptions(t) & FP_OFLO)
        read_numbers(t, addr, bytes, count_clipped, &s->overflow.values);
}

/* Visits the numbers of a type that the codelets of a superstep have left. */
static enum emu_status visit_superstep(struct session *s, uint64_t superstep, enum elem elem,
                                       result_visit *visit)
{
    enum emu_status st = EMU_OK;
    const struct compiled *c;
    struct trace_step *step;
    size_t steps;

    TRY(session_program(s, &c));
    if (!c)
        return EMU_OK;
    TRY(ss_compiled_trace(c, &step, &steps));
    for (size_t i = 0; i < steps && st == EMU_OK; i++) {
        if (step[i].superstep == superstep && step[i].kind == TRACE_COMPUTE)
            st = ss_compiled_step_results(c, step[i].step, elem, visit, s);
    }
    ss_free(step);
    return st;
}

enum { OVERFLOW_STEPS_MAX = 1 << 20 };

/* Keeps that tiles had their first overflow in a superstep; want of memory loses it. */
static void note_tiles(struct session *s, uint64_t superstep, uint32_t tiles)
{
    if (superstep >= OVERFLOW_STEPS_MAX)
        return;
    while (s->overflow_steps <= superstep) {
        if (emu_grow((void **)&s->overflow_tiles, s->overflow_steps, &s->overflow_cap,
                     sizeof(*s->overflow_tiles)) != EMU_OK)
            return;
        s->overflow_tiles[s->overflow_steps++] = 0;
    }
    s->overflow_tiles[superstep] += tiles;
}

/* Looks at nothing before the machine exists. The values of the first overflow are counted now,
 * because later supersteps use the memory for something else; of a program whose order depends on
 * data, ss_compiled_trace() cannot say which they are. */
static void look_for_overflow(struct session *s, const struct machine_superstep *step)
{
    uint32_t tiles = 0;

    if (!s->run || step->group)
        return;
    for (uint32_t i = 0; i < ss_image_arch(s->run->im)->tiles; i++)
        tiles += (tile_exceptions(machine_tile(s->run->machine, i)) & FP_OFLO) != 0;
    if (tiles > s->overflow_seen)
        note_tiles(s, step->index, tiles - s->overflow_seen);
    s->overflow_seen = tiles;
    if (s->overflow.tiles || !tiles)
        return;
    s->overflow.tiles = tiles;
    s->overflow.superstep = step->index;
    if (visit_superstep(s, step->index, ELEM_F16, visit_clipped) != EMU_OK)
        s->overflow.values = 0;
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
    struct session *s = ctx;
    struct tile *t = machine_tile(s->run->machine, tile);
    struct session_not_finite here = { 0 };

    read_numbers(t, addr, bytes, count_halves, &here);
    add_tile(&s->not_finite, tile_exceptions(t), here.nan, here.infinite);
}

static void visit_words(void *ctx, uint32_t tile, uint32_t addr, uint32_t bytes)
{
    struct session *s = ctx;
    struct tile *t = machine_tile(s->run->machine, tile);
    uint64_t nan = 0, infinite = 0;
    uint32_t word;

    for (; bytes >= sizeof(word); addr += sizeof(word), bytes -= (uint32_t)sizeof(word)) {
        EMU_ASSERT(tile_read(t, addr, &word, sizeof(word)));
        word &= 0x7fffffffu;
        nan += word > 0x7f800000u;
        infinite += word == 0x7f800000u;
    }
    add_tile(&s->not_finite, tile_exceptions(t), nan, infinite);
}

/* An exception alone may be that of a number that nobody reads, so results are looked at. */
static void look_for_not_finite(struct session *s, const struct machine_superstep *step)
{
    const struct session_not_finite none = { .superstep = step->index };
    uint32_t tiles = 0;

    if (!s->run || step->group || s->not_finite.nan || s->not_finite.infinite)
        return;
    for (uint32_t i = 0; i < ss_image_arch(s->run->im)->tiles; i++)
        tiles +=
            (tile_exceptions(machine_tile(s->run->machine, i)) & (FP_INV | FP_DIV0 | FP_OFLO)) != 0;
    if (tiles == s->wrong_seen)
        return;
    s->wrong_seen = tiles;
    s->not_finite = none;
    if (visit_superstep(s, step->index, ELEM_F16, visit_halves) != EMU_OK ||
        visit_superstep(s, step->index, ELEM_F32, visit_words) != EMU_OK)
        s->not_finite = none;
}

struct session_not_finite ss_session_not_finite(const struct session *s)
{
    return s->not_finite;
}

const uint32_t *ss_session_overflow_tiles(const struct session *s, size_t *supersteps)
{
    *supersteps = s ? s->overflow_steps : 0;
    return s ? s->overflow_tiles : NULL;
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
    struct session *s;
    struct session_range *range;
};

static void visit_range(void *ctx, uint32_t tile, uint32_t addr, uint32_t bytes)
{
    const struct range_visit *v = ctx;

    read_numbers(machine_tile(v->s->run->machine, tile), addr, bytes, measure, v->range);
}

/* Steps ascend by superstep. What cannot be measured for want of memory is left out. */
static void measure_superstep(struct session *s, const struct machine_superstep *step)
{
    uint64_t index = step->index - s->first_superstep;

    if (!s->range || !s->run || step->group || step->index < s->first_superstep)
        return;
    for (; s->measured < s->steps && s->trace[s->measured].superstep <= index; s->measured++) {
        const struct trace_step *t = &s->trace[s->measured];
        struct range_visit v = { s, &s->range[s->measured] };

        if (t->kind == TRACE_COMPUTE && t->superstep == index &&
            ss_compiled_step_results(s->program, t->step, ELEM_F16, visit_range, &v) != EMU_OK)
            s->range[s->measured] = (struct session_range){ .numbers = 0 };
    }
}

enum emu_status session_watch_ranges(struct session *s)
{
    const struct compiled *c;

    TRY(session_program(s, &c));
    if (!c)
        return FAIL(USAGE, "ranges of an image alone");
    TRY(ss_compiled_trace(c, &s->trace, &s->steps));
    s->range = emu_alloc(s->steps + 1, sizeof(*s->range));
    return s->range ? EMU_OK : FAIL(NO_MEMORY, "ranges of %zu steps", s->steps);
}

const struct session_range *ss_session_ranges(const struct session *s, size_t *steps)
{
    *steps = s && s->range ? s->steps : 0;
    return s ? s->range : NULL;
}

uint64_t ss_session_range_superstep(const struct session *s, size_t step)
{
    return s && step < s->steps ? s->trace[step].superstep : 0;
}

/* ---- after every superstep ---- */

static void look(struct session *s, const struct machine_superstep *step)
{
    if (s->options.overflow) {
        look_for_overflow(s, step);
        look_for_not_finite(s, step);
    }
    measure_superstep(s, step);
}

void session_watch_begin(struct session *s)
{
    s->measured = 0;
    /* The one in which the host was waited for ends only now. */
    s->first_superstep = s->runs ? s->superstep + 1 : 0;
}

void session_watch_end(struct session *s)
{
    const struct machine_superstep last = { .index = s->superstep };

    look(s, &last);
}

void session_watch(void *ctx, const struct machine_superstep *step)
{
    struct session *s = ctx;

    look(s, step);
    if (!step->group)
        s->superstep = step->index + 1;
    if (s->options.watch)
        s->options.watch(s->options.watch_ctx, step);
}

struct session_overflow ss_session_overflow(const struct session *s)
{
    return s ? s->overflow : (struct session_overflow){ 0 };
}
