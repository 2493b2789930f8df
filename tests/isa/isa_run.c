/* isa_run.c - runs one row in one mode, and compares the whole tile with what it must be.
 *
 * Before the run every register holds a pattern of its own, so that reading or writing a wrong one
 * shows. Afterwards everything that the row does not list must be as before: registers,
 * accumulators, weights, CSRs, memory. Exceptions: what launching a worker sets, and names in the
 * block's `free` list.
 */
#include "tests/isa/isa_run.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/isa/csr_names.h"
#include "tests/isa/isa_program.h"

enum { CALL_AND_RETURN_CYCLES = 12, REG_LR = 10 };

/* One run, while it is prepared and judged. */
struct isa_trial {
    struct isa_program *p;
    struct case_run *r;
    struct isa_mode mode;
    const struct isa_row *row[TILE_WORKERS]; /* of each worker; [0] also of the supervisor */
    struct tile before, want;
    uint8_t *image;
    char *why;
    size_t bytes;
};

struct isa_mode isa_mode_at(unsigned i)
{
    return (struct isa_mode){ (enum isa_shape)(i % SHAPE_COUNT),
                              (enum isa_crew)(i / SHAPE_COUNT % CREW_COUNT),
                              i >= SHAPE_COUNT * CREW_COUNT };
}

void isa_mode_name(struct isa_mode m, char out[32])
{
    static const char *const crews[] = { "one", "six", "mixed", "super" };
    static const char *const shapes[] = { "lone", "bundle", "rpt" };

    snprintf(out, 32, "%s-%s-%s", m.plain ? "plain" : "fast", crews[m.crew], shapes[m.shape]);
}

static int block_writes(const struct isa_block *b, enum isa_place_kind kind)
{
    for (unsigned i = 0; i < b->out_count; i++) {
        if (b->out[i].kind == kind)
            return 1;
    }
    return 0;
}

/* CSRs of the supervisor belong to all workers: rows that set or read them cannot be mixed freely.
 */
static int is_super_csr(const struct isa_place *p)
{
    size_t n = strlen(p->name);

    return p->kind == PLACE_REGISTER && p->file == 'r' && !isa_csr_find('U', p->name, n) &&
           !isa_csr_find('W', p->name, n);
}

static int can_mix(const struct isa_block *b)
{
    if (block_writes(b, PLACE_MEMORY))
        return 0;
    for (unsigned i = 0; i < b->in_count; i++) {
        if (b->in[i].kind == PLACE_TEXT || b->in[i].kind == PLACE_MEMORY || b->in[i].file == 'w' ||
            b->in[i].lane >= 0)
            return 0;
    }
    for (unsigned i = 0; i < b->out_count; i++) {
        if (is_super_csr(&b->out[i]) || b->out[i].file == 'w' || b->out[i].lane >= 0)
            return 0;
    }
    return 1;
}

int isa_shape_applies(const struct isa_block *b, enum isa_shape shape)
{
    unsigned flags = b->form->flags;

    if (!(b->only & ONLY_WORKER))
        return 0;
    if (shape == SHAPE_LONE)
        return 1;
    if (!isa_block_is_single(b) || flags & INSN_SOLO)
        return 0;
    if (shape == SHAPE_BUNDLE)
        return !(b->skip & MODE_BUNDLE);
    return !(flags & (INSN_CONTROL | INSN_SYSTEM)) && !(b->skip & MODE_RPT);
}

int isa_mode_applies(const struct isa_block *b, struct isa_mode m)
{
    unsigned bits = m.plain ? MODE_PLAIN : MODE_FAST;

    bits |= m.crew == CREW_ONE ? MODE_ONE : m.crew == CREW_SIX ? MODE_SIX : 0u;
    bits |= m.crew == CREW_MIXED ? MODE_MIXED : 0u;
    if (b->skip & bits)
        return 0;
    if (m.crew == CREW_SUPER)
        return b->only & ONLY_SUPERVISOR && m.shape == SHAPE_LONE;
    return isa_shape_applies(b, m.shape) && (m.crew != CREW_MIXED || can_mix(b));
}

/* ---- values ---- */

static int parse_half(const char *s, size_t n, uint16_t *out)
{
    char text[ISA_NAME], *end;
    struct fp_env env = { 0 };
    double v;

    if (n >= sizeof(text))
        return 0;
    memcpy(text, s, n);
    text[n] = 0;
    *out = 0;
    if (!strcmp(text, "nanh"))
        *out = FP_F16_NAN;
    else if (!strcmp(text, "infh") || !strcmp(text, "-infh"))
        *out = FP_F16_INF | (text[0] == '-' ? FP_F16_SIGN : 0);
    else if (!strcmp(text, "-0h"))
        *out = FP_F16_SIGN;
    else if (!strncmp(text, "0x", 2))
        *out = (uint16_t)strtoul(text, NULL, 16);
    else {
        v = strtod(text, &end);
        *out = fp_f16_from_f64(v, 0, &env);
        return end != text && (!strcmp(end, "h") || (!*end && n == 1 && text[0] == '0'));
    }
    return 1;
}

static int parse_float(const char *s, uint64_t *out)
{
    char *end;
    double v;

    if (!strcmp(s, "nanf"))
        *out = FP_F32_NAN;
    else if (!strcmp(s, "inff") || !strcmp(s, "-inff"))
        *out = FP_F32_INF | (s[0] == '-' ? FP_F32_SIGN : 0);
    else if (!strncmp(s, "0x", 2) || s[strlen(s) - 1] != 'f')
        return 0;
    else {
        v = strtod(s, &end);
        *out = fp_bits((float)v);
        return !strcmp(end, "f");
    }
    return 1;
}

static int parse_symbol(const struct isa_program *p, const char *text, int shape, uint64_t *out)
{
    const struct arch *a = p->run->arch;
    size_t n = strcspn(text, "+-");
    char name[ISA_NAME], *v;
    uint32_t address;
    int64_t addend = text[n] ? strtoll(text + n, NULL, 0) : 0;

    memcpy(name, text, n);
    name[n] = 0;
    v = strstr(name, "{v}");
    if (v) {
        v[0] = (char)('0' + shape);
        memmove(v + 1, v + 3, strlen(v + 3) + 1);
    }
    if (!strcmp(name, "base"))
        address = a->mem_base;
    else if (!strcmp(name, "end"))
        address = a->mem_base + a->mem_bytes;
    else if (!strcmp(name, "region1"))
        address = a->mem_base + a->region0_bytes;
    else if (!case_symbol(p->run, name, strlen(name), &address))
        return 0;
    *out = (uint32_t)(address + (uint64_t)addend);
    return 1;
}

int isa_token_value(const struct isa_program *p, const char *s, enum isa_shape shape, int super,
                    uint64_t *out)
{
    const char *bar = strchr(s, '|');
    uint16_t half[2] = { 0, 0 };
    char *end;

    *out = 0;
    if (!strcmp(s, "?"))
        return 0;
    if (bar) {
        if (!parse_half(s, (size_t)(bar - s), &half[0]) ||
            !parse_half(bar + 1, strlen(bar + 1), &half[1]))
            return 0;
        *out = fp_f16_pack(half[0], half[1]);
        return 1;
    }
    if (parse_float(s, out))
        return 1;
    if (strncmp(s, "0x", 2) && s[strlen(s) - 1] == 'h' && parse_half(s, strlen(s), &half[0])) {
        *out = half[0];
        return 1;
    }
    *out = s[0] == '-' ? (uint32_t)strtoll(s, &end, 0) : strtoull(s, &end, 0);
    return (end != s && !*end) || parse_symbol(p, s, super ? ISA_SHAPE_SUPER : (int)shape, out);
}

/* ---- places in a tile ---- */

static int is_super(const struct isa_trial *t)
{
    return t->mode.crew == CREW_SUPER;
}

static uint64_t with_half(uint64_t v, unsigned high, uint32_t half)
{
    return high ? (v & UINT32_MAX) | (uint64_t)half << 32 : (v & ~(uint64_t)UINT32_MAX) | half;
}

/* Where a CSR stands in a tile, or NULL. */
static uint32_t *csr_word(struct tile *t, unsigned lane, char space, unsigned index)
{
    if (space == 'U') {
        uint32_t *const words[] = {
            &t->fp_sts[lane], NULL, &t->fp_ctl[lane], NULL, NULL, NULL, NULL, NULL, &t->tas[lane]
        };

        return index < EMU_COUNT_OF(words) ? words[index] : NULL;
    }
    if (index == CSR_W_DBG_DATA)
        return &t->dbg_data[lane];
    if (index == CSR_W_DBG_BRK_ID)
        return &t->dbg_brk_id[lane];
    if (space == 'W')
        return NULL;
    if (index >= CSR_S_WORKER0_BASE && index <= CSR_S_WORKER5_BASE)
        return &t->worker_base[index - CSR_S_WORKER0_BASE];
    switch (index) {
    case CSR_S_SSR:
        return &t->ssr;
    case CSR_S_FP_ICTL:
        return &t->fp_ictl;
    case CSR_S_CCCSLOAD:
        return &t->cccsload;
    case CSR_S_IBRK0:
        return &t->ibrk0;
    case CSR_S_DBRK0:
        return &t->dbrk0;
    default:
        return NULL;
    }
}

static const struct csr_row *find_csr(const struct isa_trial *t, const struct isa_place *p)
{
    const char *s = strchr(p->name, '.') ? strchr(p->name, '.') + 1 : p->name;
    const char *spaces = is_super(t) && p->lane < 0 ? "SUW" : "UWS";

    for (; *spaces; spaces++) {
        const struct csr_row *row = isa_csr_find(*spaces, s, strlen(s));

        if (row)
            return row;
    }
    EMU_ASSERT(!"the parser has accepted an unknown CSR");
    return NULL;
}

/* Stores what a place must hold into a plain copy of the tile: no side effects. */
static void expect_csr(const struct isa_trial *t, struct tile *tile, unsigned lane,
                       const struct isa_place *p, uint32_t v)
{
    const struct csr_row *row = find_csr(t, p);
    uint32_t *w = csr_word(tile, row->space == 'S' ? LANE_SUPER : lane, row->space, row->index);
    struct prng *g = &tile->prng[lane];

    if (w)
        *w = v;
    else if (row->space == 'U' && row->index <= CSR_U_PRNG_0_1)
        g->s0 = with_half(g->s0, row->index == CSR_U_PRNG_0_1, v);
    else if (row->space == 'U' && row->index <= CSR_U_PRNG_1_1)
        g->s1 = with_half(g->s1, row->index == CSR_U_PRNG_1_1, v);
    else
        EMU_ASSERT(!"a test expects a value in a register that cannot be compared");
}

static void expect_register(const struct isa_trial *t, struct tile *tile, unsigned lane,
                            const struct isa_place *p, uint64_t v)
{
    switch (p->file) {
    case 'm':
        tile->m[p->number][lane] = (uint32_t)v;
        break;
    case 'a':
        tile->a[p->number][lane] = (uint32_t)v;
        break;
    case 'c':
        tile_set_acc(tile, lane, p->number, (uint32_t)v);
        break;
    case 'w':
        tile->weight[p->number] = v;
        break;
    default:
        expect_csr(t, tile, lane, p, (uint32_t)v);
        break;
    }
}

/* The same place with the value that the tile has, where the row does not care. */
static void ignore_register(const struct isa_trial *t, struct tile *tile, const struct tile *got,
                            unsigned lane, const struct isa_place *p)
{
    if (p->file == 'm') {
        tile->m[p->number][lane] = got->m[p->number][lane];
    } else if (p->file == 'a') {
        tile->a[p->number][lane] = got->a[p->number][lane];
    } else if (p->file == 'c') {
        tile_set_acc(tile, lane, p->number, tile_acc(got, lane, p->number));
    } else if (p->file == 'w') {
        tile->weight[p->number] = got->weight[p->number];
    } else {
        const struct csr_row *row = find_csr(t, p);
        unsigned l = row->space == 'S' ? LANE_SUPER : lane;
        uint32_t *w = csr_word(tile, l, row->space, row->index);
        struct tile *g = (struct tile *)(uintptr_t)got; /* only read */

        if (w)
            *w = *csr_word(g, l, row->space, row->index);
        else
            tile->prng[lane] = got->prng[lane];
    }
}

static void put_initial(struct isa_trial *t, unsigned lane, const struct isa_place *p, uint64_t v)
{
    struct tile *tile = &t->r->tile;
    const struct csr_row *row;

    if (p->file != 'r') {
        expect_register(t, tile, lane, p, v);
        if (p->file == 'w')
            tile->weight_generation++;
        return;
    }
    row = find_csr(t, p);
    if (row->space == 'U' && row->index == CSR_U_FP_CTL)
        tile_csr_put(tile, LANE_SUPER, 'S', CSR_S_FP_ICTL, (uint32_t)v);
    else
        tile_csr_put(tile, row->space == 'S' ? LANE_SUPER : lane, row->space, row->index,
                     (uint32_t)v);
}

/* First and last lane of a place. */
static void lane_span(const struct isa_trial *t, const struct isa_place *p, unsigned *first,
                      unsigned *last)
{
    *first = *last = p->lane >= 0 ? (unsigned)p->lane : is_super(t) ? LANE_SUPER : 0u;
    if (p->lane < 0 && (t->mode.crew == CREW_SIX || t->mode.crew == CREW_MIXED))
        *last = TILE_WORKERS - 1;
}

static const struct isa_row *row_of(const struct isa_trial *t, unsigned lane)
{
    return t->row[lane < TILE_WORKERS ? lane : 0];
}

static int value_of(const struct isa_trial *t, const struct isa_token *token, uint64_t *v)
{
    return isa_token_value(t->p, token->text, t->mode.shape, is_super(t), v);
}

/* ---- before the run ---- */

static void fill_pattern(struct tile *t)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned k = 0; k < 14; k++) {
            if (k < 12)
                t->m[k][lane] = 0x5d000000u | lane << 16 | k << 8 | 0x4d;
            t->a[k][lane] = 0x4a000000u | lane << 16 | k << 8 | 0x41;
        }
        for (unsigned k = 0; k < TILE_ACC; k++)
            tile_set_acc(t, lane, k, 0x42000000u | lane << 16 | k << 8 | 0x43);
        t->tas[lane] = 0x40490fdbu + lane;
    }
    for (unsigned k = 0; k < TILE_WEIGHTS; k++)
        t->weight[k] = 0x5700000057000000u | (uint64_t)k << 32 | k;
    t->weight_generation++;
    for (unsigned k = 0; k < REG_LR; k++)
        t->m[k][LANE_SUPER] = 0x53000000u | k << 8 | 0x4d;
}

static int wrong_row(struct isa_trial *t, const char *what, const char *name)
{
    snprintf(t->why, t->bytes, "%s '%s'", what, name);
    return 0;
}

static int write_word(struct isa_trial *t, const char *where, uint64_t v, uint8_t *mem)
{
    const struct arch *a = t->r->arch;
    uint64_t address;
    uint32_t w = (uint32_t)v;

    if (!isa_token_value(t->p, where, t->mode.shape, is_super(t), &address) ||
        address - a->mem_base > a->mem_bytes - 4)
        return wrong_row(t, "no such word", where);
    memcpy(mem + (address - a->mem_base), &w, 4);
    return 1;
}

/* Sets one input, unless its token is "?". */
static int put_input(struct isa_trial *t, const struct isa_place *p, const struct isa_token *fixed,
                     unsigned column)
{
    unsigned first, last;
    uint64_t v;

    if (p->kind == PLACE_TEXT)
        return 1;
    lane_span(t, p, &first, &last);
    for (unsigned lane = first; lane <= last; lane++) {
        const struct isa_token *token = fixed ? fixed : &row_of(t, lane)->in[column];

        if (!value_of(t, token, &v)) {
            if (!strcmp(token->text, "?"))
                continue;
            return wrong_row(t, "no value", token->text);
        }
        if (p->kind == PLACE_MEMORY)
            return write_word(t, p->name, v, t->r->mem);
        put_initial(t, lane, p, v);
    }
    return 1;
}

static int prepare(struct isa_trial *t)
{
    static const char *const entries[] = { "isa_lone", "isa_bundle", "isa_rpt" };
    const struct isa_block *b = t->p->block;
    const char *entry = is_super(t) ? "isa_super" : entries[t->mode.shape];
    struct case_run *r = t->r;
    uint8_t **image;
    uint32_t stub;

    r->as = is_super(t) ? CASE_SUPERVISOR : t->mode.crew == CREW_ONE ? CASE_WORKER : CASE_WORKERS;
    r->options.plain = t->mode.plain;
    if (!case_symbol(r, entry, strlen(entry), &r->entry) || case_load(r) != EMU_OK)
        return wrong_row(t, "cannot load", entry);
    image = &t->p->image[r->as];
    if (!*image) {
        *image = emu_alloc(r->arch->mem_bytes, 1);
        if (!*image)
            return wrong_row(t, "no memory", "");
        memcpy(*image, r->mem, r->arch->mem_bytes);
    }
    t->image = *image;
    stub = r->stub_at - r->arch->mem_base;
    memcpy(t->image + stub, r->mem + stub, r->stop_pc - r->stub_at); /* it holds the entry */
    fill_pattern(&r->tile);
    for (size_t i = 0; i < b->set_count; i++) {
        if (!put_input(t, &b->set[i].place, &b->set[i].value, 0))
            return 0;
    }
    for (unsigned i = 0; i < b->in_count; i++) {
        if (!put_input(t, &b->in[i], NULL, i))
            return 0;
    }
    t->before = t->want = r->tile;
    return 1;
}

/* ---- after the run ---- */

static int differs(struct isa_trial *t, const char *what, unsigned lane, uint64_t want,
                   uint64_t got)
{
    snprintf(t->why, t->bytes, "%s %s is 0x%llx, expected 0x%llx", case_lane_name(lane), what,
             (unsigned long long)got, (unsigned long long)want);
    return 0;
}

/* What a launch sets in every worker that it starts. */
static void expect_launch(struct isa_trial *t)
{
    const struct tile *got = &t->r->tile;
    unsigned count = t->mode.crew == CREW_ONE ? 1 : TILE_WORKERS;

    for (unsigned w = 0; w < count; w++) {
        t->want.m[12][w] = is_super(t) ? got->m[12][w] : t->r->scratch_at[w];
        t->want.m[13][w] = is_super(t) ? got->m[13][w] : t->r->state_at;
        t->want.fp_ctl[w] = is_super(t) ? got->fp_ctl[w] : t->want.fp_ictl;
        t->want.fp_sts[w] = is_super(t) ? got->fp_sts[w] : 0;
    }
    for (unsigned k = 0; k < 16; k++) {
        if (!is_super(t) || k == REG_LR)
            t->want.m[k][LANE_SUPER] = got->m[k][LANE_SUPER]; /* the stub's, and the link */
    }
}

/* The companion of a bundle, for each running worker. */
static void expect_companion(struct isa_trial *t)
{
    struct isa_companion c = isa_companion_of(t->p->block);
    unsigned count = t->mode.crew == CREW_ONE ? 1 : TILE_WORKERS;

    if (t->mode.shape == SHAPE_LONE || is_super(t))
        return;
    for (unsigned w = 0; w < count; w++) {
        uint32_t v = c.from < 0 ? c.value : t->before.a[c.from][w];

        if (c.file == 'm')
            t->want.m[c.number][w] = v;
        else
            t->want.a[c.number][w] = v;
    }
}

/* Applies the outputs of the rows to `want` and, for words of memory, to the image; old receives
 * what the image had there. */
static int expect_outputs(struct isa_trial *t, uint32_t old[ISA_MAX_COLUMNS])
{
    const struct isa_block *b = t->p->block;

    for (unsigned i = 0; i < b->out_count; i++) {
        const struct isa_place *p = &b->out[i];
        unsigned first, last;

        lane_span(t, p, &first, &last);
        for (unsigned lane = first; lane <= last; lane++) {
            const struct isa_token *token = &row_of(t, lane)->out[i];
            uint64_t v, address;
            int known = value_of(t, token, &v);

            if (!known && strcmp(token->text, "?"))
                return wrong_row(t, "no value", token->text);
            if (p->kind == PLACE_MEMORY && known) {
                if (!isa_token_value(t->p, p->name, t->mode.shape, is_super(t), &address))
                    return wrong_row(t, "no such word", p->name);
                memcpy(&old[i], t->image + (uint32_t)address - t->r->arch->mem_base, 4);
                if (!write_word(t, p->name, v, t->image))
                    return 0;
                break;
            }
            if (p->kind != PLACE_REGISTER)
                continue;
            if (known)
                expect_register(t, &t->want, lane, p, v);
            else
                ignore_register(t, &t->want, &t->r->tile, lane, p);
        }
    }
    return 1;
}

static int compare_counts(struct isa_trial *t)
{
    const struct isa_block *b = t->p->block;
    unsigned first, last;
    uint64_t v;
    int listed = 0;

    for (unsigned i = 0; i < b->out_count; i++) {
        if (b->out[i].kind == PLACE_CYCLES && is_super(t) && value_of(t, &t->row[0]->out[i], &v) &&
            t->r->cycles - CALL_AND_RETURN_CYCLES != v)
            return differs(t, "scycles", LANE_SUPER, v, t->r->cycles - CALL_AND_RETURN_CYCLES);
        if (b->out[i].kind != PLACE_SLOTS || is_super(t))
            continue;
        listed = 1;
        lane_span(t, &b->out[i], &first, &last);
        for (unsigned lane = first; lane <= last; lane++) {
            uint64_t got = t->r->barrel.issued[lane] - 1 - (t->mode.shape == SHAPE_RPT);

            if (value_of(t, &row_of(t, lane)->out[i], &v) && got != v)
                return differs(t, "slots", lane, v, got);
        }
    }
    if (listed || is_super(t) || !isa_block_is_single(b) || b->form->flags & INSN_CONTROL)
        return 1;
    v = t->r->barrel.issued[0] - 1 - (t->mode.shape == SHAPE_RPT);
    return v == 1 ? 1 : differs(t, "slots", 0, 1, v);
}

/* Compares one array of per-lane words unless it is free. */
static int compare_lanes(struct isa_trial *t, const char *name, const uint32_t *want,
                         const uint32_t *got, unsigned lanes)
{
    for (unsigned lane = 0; lane < lanes; lane++) {
        if (want[lane] != got[lane] && !isa_block_frees(t->p->block, name))
            return differs(t, name, lane, want[lane], got[lane]);
    }
    return 1;
}

static int compare_files(struct isa_trial *t)
{
    const struct tile *w = &t->want, *g = &t->r->tile;
    char name[16];

    for (unsigned k = 0; k < 16; k++) {
        snprintf(name, sizeof(name), "m%u", k);
        if (!compare_lanes(t, name, w->m[k], g->m[k], TILE_LANES - 1))
            return 0;
        snprintf(name, sizeof(name), "a%u", k);
        if (!compare_lanes(t, name, w->a[k], g->a[k], TILE_WORKERS))
            return 0;
    }
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned k = 0; k < TILE_ACC && !isa_block_frees(t->p->block, "acc"); k++) {
            snprintf(name, sizeof(name), "acc%u", k);
            if (tile_acc(w, lane, k) != tile_acc(g, lane, k))
                return differs(t, name, lane, tile_acc(w, lane, k), tile_acc(g, lane, k));
        }
    }
    for (unsigned k = 0; k < TILE_WEIGHTS && !isa_block_frees(t->p->block, "cw"); k++) {
        snprintf(name, sizeof(name), "cw%u", k);
        if (w->weight[k] != g->weight[k])
            return differs(t, name, LANE_SUPER, w->weight[k], g->weight[k]);
    }
    return 1;
}

static int compare_csrs(struct isa_trial *t)
{
    const struct tile *w = &t->want, *g = &t->r->tile;
    int has_rpt = t->mode.shape == SHAPE_RPT || strstr(t->p->text, "rpt ") != NULL;
    const struct {
        const char *name;
        uint32_t want, got;
    } words[] = {
        { "SSR", w->ssr, g->ssr },
        { "FP_ICTL", w->fp_ictl, g->fp_ictl },
        { "CCCSLOAD", w->cccsload, g->cccsload },
        { "IBRK0", w->ibrk0, g->ibrk0 },
        { "DBRK0", w->dbrk0, g->dbrk0 },
    };

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if ((w->prng[lane].s0 != g->prng[lane].s0 || w->prng[lane].s1 != g->prng[lane].s1) &&
            !isa_block_frees(t->p->block, "PRNG"))
            return differs(t, "PRNG state", lane, w->prng[lane].s0, g->prng[lane].s0);
        if (w->worker_base[lane] != g->worker_base[lane])
            return differs(t, "WORKER_BASE", lane, w->worker_base[lane], g->worker_base[lane]);
    }
    for (unsigned i = 0; i < EMU_COUNT_OF(words); i++) {
        if (words[i].want != words[i].got && !isa_block_frees(t->p->block, words[i].name))
            return differs(t, words[i].name, LANE_SUPER, words[i].want, words[i].got);
    }
    return compare_lanes(t, "FP_STS", w->fp_sts, g->fp_sts, TILE_WORKERS) &&
           compare_lanes(t, "FP_CTL", w->fp_ctl, g->fp_ctl, TILE_WORKERS) &&
           compare_lanes(t, "TAS", w->tas, g->tas, TILE_WORKERS) &&
           compare_lanes(t, "DBG_DATA", w->dbg_data, g->dbg_data, TILE_LANES - 1) &&
           compare_lanes(t, "DBG_BRK_ID", w->dbg_brk_id, g->dbg_brk_id, TILE_LANES - 1) &&
           (has_rpt || compare_lanes(t, "REPEAT_COUNT", w->rpt_count, g->rpt_count, TILE_WORKERS));
}

static int compare_memory(struct isa_trial *t)
{
    uint32_t i = 0;

    if (!memcmp(t->image, t->r->mem, t->r->arch->mem_bytes))
        return 1;
    while (t->image[i] == t->r->mem[i])
        i++;
    snprintf(t->why, t->bytes, "memory at 0x%x is 0x%02x, expected 0x%02x",
             t->r->arch->mem_base + i, t->r->mem[i], t->image[i]);
    return 0;
}

/* Everything against `want`. The image is put back afterwards. */
static int compare_all(struct isa_trial *t, int with_outputs)
{
    const struct isa_block *b = t->p->block;
    uint32_t old[ISA_MAX_COLUMNS], in_old[ISA_MAX_COLUMNS];
    uint64_t address, v;
    int ok;

    expect_launch(t);
    expect_companion(t);
    for (unsigned i = 0; i < b->in_count; i++) { /* words that were inputs */
        if (b->in[i].kind != PLACE_MEMORY)
            continue;
        isa_token_value(t->p, b->in[i].name, t->mode.shape, is_super(t), &address);
        memcpy(&in_old[i], t->image + (uint32_t)address - t->r->arch->mem_base, 4);
        if (value_of(t, &t->row[0]->in[i], &v))
            write_word(t, b->in[i].name, v, t->image);
    }
    ok = !with_outputs || expect_outputs(t, old);
    ok = ok && compare_files(t) && compare_csrs(t) && compare_memory(t);
    for (unsigned i = b->out_count; with_outputs && i-- > 0;) {
        if (b->out[i].kind == PLACE_MEMORY && value_of(t, &t->row[0]->out[i], &v))
            write_word(t, b->out[i].name, old[i], t->image);
    }
    for (unsigned i = b->in_count; i-- > 0;) {
        if (b->in[i].kind == PLACE_MEMORY)
            write_word(t, b->in[i].name, in_old[i], t->image);
    }
    return ok;
}

static int judge_fault(struct isa_trial *t)
{
    const struct fault_record *f = &t->r->tile.fault;
    const struct isa_row *row = t->row[0];
    uint32_t at = t->r->entry + (t->mode.shape == SHAPE_RPT ? 8 : 0);
    uint64_t address;

    if (t->r->stop != BARREL_FAULT || (int)f->kind != row->fault) {
        snprintf(t->why, t->bytes, "%s, expected fault %s",
                 t->r->stop == BARREL_FAULT ? fault_name(f->kind) : "no fault",
                 fault_name((enum fault)row->fault));
        return 0;
    }
    if (f->lane != (is_super(t) ? LANE_SUPER : 0) && t->mode.crew != CREW_SIX)
        return differs(t, "context of the fault", f->lane, 0, f->lane);
    if (value_of(t, &row->address, &address) && f->addr != address)
        return differs(t, "address of the fault", f->lane, address, f->addr);
    if (isa_block_is_single(t->p->block) && row->fault != FAULT_INVALID_PC && f->pc != at)
        return differs(t, "pc of the fault", f->lane, at, f->pc);
    return compare_all(t, row->has_out);
}

static int judge(struct isa_trial *t)
{
    const struct fault_record *f = &t->r->tile.fault;

    if (t->row[0]->kind == ROW_FAULT)
        return judge_fault(t);
    if (t->r->stop == BARREL_HALT)
        return compare_counts(t) && compare_all(t, 1);
    if (t->r->stop == BARREL_FAULT)
        snprintf(t->why, t->bytes, "fault %s in %s at 0x%x: %s", fault_name(f->kind),
                 case_lane_name(f->lane), f->pc, f->detail ? f->detail : "");
    else
        snprintf(t->why, t->bytes, "it does not end");
    return 0;
}

/* Rows that can run beside row i: no faults, and the same values in the CSRs that all workers
 * share. */
static int shares_csrs(const struct isa_block *b, const struct isa_row *x, const struct isa_row *y)
{
    for (unsigned i = 0; i < b->in_count; i++) {
        int shared = is_super_csr(&b->in[i]) || !strcmp(b->in[i].name, "FP_CTL");

        if (shared && strcmp(x->in[i].text, y->in[i].text))
            return 0;
    }
    return y->kind != ROW_FAULT;
}

static void choose_rows(struct isa_trial *t, size_t row)
{
    const struct isa_block *b = t->p->block;
    size_t next = row;

    for (unsigned w = 0; w < TILE_WORKERS; w++) {
        t->row[w] = &b->row[next];
        if (t->mode.crew != CREW_MIXED)
            continue;
        do
            next = (next + 1) % b->row_count;
        while (!shares_csrs(b, &b->row[row], &b->row[next]));
    }
}

int isa_run_row(struct isa_program *p, size_t row, struct isa_mode m, char *why, size_t bytes)
{
    struct isa_trial t = { .p = p, .r = p->run, .mode = m, .why = why, .bytes = bytes };

    if (m.crew == CREW_MIXED && p->block->row[row].kind == ROW_FAULT)
        return 1;
    choose_rows(&t, row);
    if (!prepare(&t))
        return 0;
    case_execute(t.r);
    return judge(&t);
}
