/* random_chip.h - random programs for a whole chip, and a model of what they do to memory.
 *
 * Tiles of two groups compute on different numbers of workers for different times, exchange random
 * messages without conflicts, meet in syncs of their group and of the chip and vote ahead for some.
 * The model moves words and computes without any machine: it knows the messages, not the
 * instructions that carry them. Clocks are the machine's matter; of them it knows only the order of
 * supersteps.
 *
 *   random_chip_new    draws the programs, works out what they leave, assembles them
 *   random_chip_check  compares memory and record of a machine that ran them
 */
#ifndef TESTS_RANDOM_CHIP_H
#define TESTS_RANDOM_CHIP_H

#include "tests/unit/chip_rig.h"

enum {
    DATA_WORDS = 192, /* of a tile: everything that moves or is computed on */
    HALF = DATA_WORDS / 2,
    SHARE = HALF / TILE_WORKERS, /* words that one worker writes */
    STEPS_MAX = 40,              /* supersteps of a group */
    EVENTS = 700,                /* of one exchange */
    LEAD_MAX = 3,                /* instructions between a sync and the exchange */
    GROUPS = 2
};

/* One superstep of a group, as one of its tiles takes part in it. */
struct random_step {
    uint8_t present; /* released by the sync that begins it */
    uint8_t recv, lead;
    uint8_t gc;
    uint32_t words_in, words_out;
};

struct random_tile {
    FILE *text, *state; /* program; data and vertex states */
    char *text_at, *state_at;
    size_t text_bytes, state_bytes;
    struct asm_unit *unit;
    uint32_t data, notes; /* addresses */

    unsigned group, lc, launches;
    int absent; /* steps of the stretch it has voted for and that are still to come */
    uint32_t word[DATA_WORDS], before[DATA_WORDS];
    struct random_step step[STEPS_MAX];

    /* the exchange being drawn: ports in use; event + 1 of the last send and of the arrival of a
       word, 0 if none */
    uint8_t out[EVENTS], in[EVENTS];
    uint32_t sent[DATA_WORDS], arrives[DATA_WORDS];
};

struct random_chip {
    const struct arch *arch;
    struct random_tile *tile;
    uint64_t random;
    uint32_t superstep[GROUPS]; /* the one that each group is in */
    int apart; /* in this exchange tiles send from one half of their data and receive into the other
                */
    uint32_t messages, receptions, votes, agreed;
};

static inline uint32_t pick(struct random_chip *w, uint32_t below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((w->random >> 33) % below);
}

static inline uint32_t pick_word(struct random_chip *w)
{
    return pick(w, 1 << 16) << 16 | pick(w, 1 << 16);
}

/* --- exchange --- */

static inline int port_free(const uint8_t *port, int64_t from, uint32_t words)
{
    if (from < LEAD_MAX || from + words > EVENTS)
        return 0;
    for (uint32_t k = 0; k < words; k++) {
        if (port[from + k])
            return 0;
    }
    return 1;
}

/* A word that is sent must have left before its replacement reaches the mux. */
static inline int may_send(const struct random_tile *t, uint32_t word, uint32_t words,
                           int64_t event)
{
    for (uint32_t k = 0; k < words; k++) {
        if (t->arrives[word + k] && t->arrives[word + k] - 1 <= event + k)
            return 0;
    }
    return 1;
}

static inline int may_store(const struct random_tile *t, uint32_t word, uint32_t words,
                            int64_t event)
{
    for (uint32_t k = 0; k < words; k++) {
        if (t->arrives[word + k] || t->sent[word + k] > event + k)
            return 0;
    }
    return 1;
}

/* Has tile d listen, if it can. The words reach its mux at `event`; they were sent from `from`. */
static inline int receive(struct random_chip *w, uint32_t s, uint32_t d, uint32_t from,
                          uint32_t words, int64_t event, int64_t sent_at)
{
    struct random_tile *t = &w->tile[d];
    uint32_t to = w->apart ? HALF + pick(w, HALF - words + 1) : pick(w, DATA_WORDS - words + 1);

    if (!port_free(t->in, event, words) || !may_store(t, to, words, event))
        return 0;
    for (uint32_t k = 0; k < words; k++) {
        t->in[event + k] = 1;
        t->arrives[to + k] = (uint32_t)event + k + 1;
        t->word[to + k] = w->tile[s].before[from + k];
    }
    fprintf(t->text, ".receive data + %u, %u, %lld, %u\n", 4 * to, words, (long long)sent_at, s);
    t->step[w->superstep[t->group]].words_in += words;
    w->receptions++;
    return 1;
}

/* A message from tile s to some of the n tiles. The send is drawn first: it must fit with what the
 * sender receives, and is sent even if nobody can listen. */
static inline void draw_message(struct random_chip *w, uint32_t s, const uint32_t *tile, uint32_t n)
{
    struct random_tile *t = &w->tile[s];
    uint32_t words = pick(w, 8) ? 1 + pick(w, 16) : 1 + pick(w, HALF);
    uint32_t from = pick(w, (w->apart ? HALF : DATA_WORDS) - words + 1);
    uint32_t fan = pick(w, 3) ? 1 : 1 + pick(w, 12);
    uint32_t heard = 0, last = s;
    int64_t event = pick(w, EVENTS - 250);

    if (!port_free(t->out, event, words) || !may_send(t, from, words, event))
        return;
    for (uint32_t k = 0; k < words; k++) {
        t->out[event + k] = 1;
        t->sent[from + k] = (uint32_t)event + k + 1 > t->sent[from + k] ? (uint32_t)event + k + 1
                                                                        : t->sent[from + k];
    }
    for (uint32_t i = 0; i < fan; i++) {
        uint32_t d = tile[pick(w, n)];
        int delay = arch_exchange_delay(w->arch, arch_tile_physical(w->arch, s),
                                        arch_tile_physical(w->arch, d));

        if (d != s && receive(w, s, d, from, words, event + delay, event)) {
            heard++;
            last = d;
        }
    }
    fprintf(t->text, ".send data + %u, %u, %lld", 4 * from, words, (long long)event);
    if (heard == 1 && pick(w, 2))
        fprintf(t->text, ", %u", last);
    fprintf(t->text, "\n");
    t->step[w->superstep[t->group]].words_out += words;
    w->messages++;
}

static inline void draw_exchange(struct random_chip *w, const uint32_t *tile, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct random_tile *t = &w->tile[tile[i]];

        memcpy(t->before, t->word, sizeof(t->word));
        memset(t->out, 0, sizeof(t->out));
        memset(t->in, 0, sizeof(t->in));
        memset(t->sent, 0, sizeof(t->sent));
        memset(t->arrives, 0, sizeof(t->arrives));
        fprintf(t->text, ".exchange TILE, %u\n", t->step[w->superstep[t->group]].lead);
    }
    w->apart = (int)pick(w, 2);
    for (uint32_t i = 0; i < 2 * n && n > 1; i++)
        draw_message(w, tile[pick(w, n)], tile, n);
    for (uint32_t i = 0; i < n; i++) {
        struct random_tile *t = &w->tile[tile[i]];
        struct random_step *s = &t->step[w->superstep[t->group]];

        fprintf(t->text, ".endexchange\n");
        s->recv = s->words_in || s->words_out || pick(w, 2);
        if (s->recv)
            fprintf(t->text, "sync 0\n");
    }
}

/* --- compute --- */

/* Vertex state: address in, address out, count, two constants, what exitz looks at. */
static const char codelets[] =
    ".worker\n"
    ".macro LOAD_STATE\n"
    "ld32 $m0, $m13, $mzero, 0\nld32 $m1, $m13, $mzero, 1\nld32 $m2, $m13, $mzero, 2\n"
    "ld32 $m3, $m13, $mzero, 3\nld32 $m4, $m13, $mzero, 4\nld32 $m5, $m13, $mzero, 5\n"
    ".endm\n"
    /* a generator of numbers, count + 1 times */
    "work0: LOAD_STATE\nld32 $m6, $m0, $mzero, 0\n"
    "1: mul $m6, $m6, $m3\nadd $m6, $m6, $m4\nshr $m7, $m6, 9\nxor $m6, $m6, $m7\n"
    "brnzdec $m2, 1b\nst32 $m6, $m1, $mzero, 0\nexitz $m5\n"
    /* the sum of count + 1 words */
    "work1: LOAD_STATE\nzero $m6\n"
    "1: ld32step $m7, $mzero, $m0+=, 1\nadd $m6, $m6, $m7\nbrnzdec $m2, 1b\n"
    "st32 $m6, $m1, $mzero, 0\nexitz $m5\n"
    /* x = x c + d in f32, count times, from an x between 1 and 1.0625 */
    "work2: LOAD_STATE\nld32 $m6, $m0, $mzero, 0\nsetzi $m7, 0x7ffff\nand $m6, $m6, $m7\n"
    "or $m6, $m6, 0x3f800000\nst32 $m6, $m1, $mzero, 0\nld32 $a0, $m1, $mzero, 0\n"
    "ld32 $a1, $m13, $mzero, 3\nld32 $a2, $m13, $mzero, 4\n.align 8\n{ rpt $m2, 1; fnop }\n"
    "{ add $m7, $m7, 1; f32mul $a0, $a0, $a1 }\n{ add $m7, $m7, 2; f32add $a0, $a0, $a2 }\n"
    "st32 $a0, $m1, $mzero, 0\nexitz $m5\n"
    /* eight words xor a constant */
    "work3: LOAD_STATE\n.align 8\n{ rpt 8, 2; fnop }\n{ ld32step $m6, $mzero, $m0+=, 1; fnop }\n"
    "{ xor $m6, $m6, $m3; fnop }\n{ st32step $m6, $mzero, $m1+=, 1; fnop }\nexitz $m5\n";

enum { GENERATE, SUM, AFFINE, XOR, KINDS, BLOCK = 8 };

struct work {
    unsigned kind;
    uint32_t in, out, count, c, d, no;
};

static inline float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static inline void model_work(uint32_t *word, const struct work *x)
{
    uint32_t v = word[x->in];
    float f;

    switch (x->kind) {
    case GENERATE:
        for (uint32_t k = 0; k <= x->count; k++) {
            v = v * x->c + x->d;
            v ^= v >> 9;
        }
        word[x->out] = v;
        break;
    case SUM:
        for (uint32_t k = 1; k <= x->count; k++)
            v += word[x->in + k];
        word[x->out] = v;
        break;
    case AFFINE:
        f = float_of((v & 0x7ffff) | 0x3f800000);
        for (uint32_t k = 0; k < x->count; k++) {
            f = f * float_of(x->c);
            f = f + float_of(x->d);
        }
        word[x->out] = bits_of(f);
        break;
    default:
        for (uint32_t k = 0; k < BLOCK; k++)
            word[x->out + k] = word[x->in + k] ^ x->c;
    }
}

/* Workers read one half of the data and write the other, each its share of it. */
static inline struct work draw_work(struct random_chip *w, unsigned kind, unsigned worker,
                                    unsigned half, uint32_t longest)
{
    struct work x = {
        .kind = kind, .count = pick(w, longest), .c = pick_word(w), .d = pick_word(w)
    };
    uint32_t in = pick(w, HALF - BLOCK), most = HALF - 1 - in;

    x.in = half * HALF + in;
    x.out = (1 - half) * HALF + worker * SHARE + pick(w, SHARE - BLOCK + 1);
    if (kind == SUM && x.count > most)
        x.count = most;
    if (kind == AFFINE) {
        x.c = 0x3f000000 | (x.c & 0x7fffff); /* 0.5 to 1 */
        x.d = 0x3e800000 | (x.d & 0x7fffff); /* 0.25 to 0.5 */
    }
    return x;
}

static inline void emit_state(struct random_tile *t, const struct work *x)
{
    fprintf(t->state, ".int data + %u, data + %u, %u, %u, %u, %u\n", 4 * x->in, 4 * x->out,
            x->count, x->c, x->d, x->no);
}

/* steady: LC stays as it is. agree: LC becomes 1. */
static inline void draw_compute(struct random_chip *w, struct random_tile *t, int steady, int agree)
{
    uint32_t longest = pick(w, 6) ? 12 : 120;
    unsigned all = pick(w, 2), kind = pick(w, KINDS), half = pick(w, 2);
    unsigned workers = all ? TILE_WORKERS : pick(w, TILE_WORKERS + 1);
    struct work x[TILE_WORKERS];

    if (!steady && (agree || pick(w, 2))) {
        t->lc = agree || pick(w, 3);
        fprintf(t->text, "setzi $m2, %u\nput $CR, $m2\n", t->lc ? 2 : 1);
    }
    fprintf(t->state, "state%u:\n", t->launches);
    for (unsigned k = 0; k < workers; k++) {
        x[k] = draw_work(w, all ? kind : pick(w, KINDS), k, half, longest);
        x[k].no = !steady && !agree && pick(w, 30) == 0;
        t->lc &= !x[k].no;
        emit_state(t, &x[k]);
    }
    for (unsigned k = 0; k < workers; k++)
        model_work(t->word, &x[k]);
    if (all)
        fprintf(t->text, "setzi $m3, work%u\nsetzi $m4, state%u\nrunall $m3, $m4, 6\n", kind,
                t->launches);
    for (unsigned k = 0; !all && k < workers; k++)
        fprintf(t->text, "setzi $m3, work%u\nsetzi $m4, state%u - BASE\nrun $m3, $m4, %u\n",
                x[k].kind, t->launches, 6 * k);
    if (workers)
        fprintf(t->text, "sync 2\n");
    t->launches++;
}

/* --- supersteps --- */

/* Clock and GC go to the notes of a superstep. */
static inline void emit_notes(struct random_tile *t, uint32_t step)
{
    fprintf(t->text,
            "get $m0, $SCOUNT_L\nget $m1, $SSR\nst32 $m0, $m11, %u\nand $m1, $m1, 2\n"
            "st32 $m1, $m11, %u\n",
            2 * step, 2 * step + 1);
}

/* A sync of all tiles of `groups` (a bit each); those that have voted are released another time. */
static inline void draw_step(struct random_chip *w, unsigned groups, unsigned zone)
{
    uint32_t *tile = emu_alloc(w->arch->tiles, sizeof(*tile)), n = 0;
    unsigned gc = 1, agree = pick(w, 2);

    assert_non_null(tile);
    for (unsigned g = 0; g < GROUPS; g++)
        w->superstep[g] += groups >> g & 1;
    for (uint32_t i = 0; i < w->arch->tiles; i++) {
        struct random_tile *t = &w->tile[i];

        if (!(groups >> t->group & 1))
            continue;
        gc &= t->lc;
        if (!t->absent)
            tile[n++] = i;
        else
            t->absent--;
    }
    w->agreed += gc;
    for (uint32_t i = 0; i < n; i++) {
        struct random_tile *t = &w->tile[tile[i]];
        struct random_step *s = &t->step[w->superstep[t->group]];

        assert_true(w->superstep[t->group] < STEPS_MAX);
        *s = (struct random_step){ .present = 1, .gc = (uint8_t)gc, .lead = (uint8_t)pick(w, 4) };
        fprintf(t->text, "sync %u\n", zone > 3 && pick(w, 2) ? zone + 8 : zone);
        for (unsigned k = 0; k < s->lead; k++)
            fprintf(t->text, "add $m5, $m6, 1\n");
    }
    draw_exchange(w, tile, n);
    for (uint32_t i = 0; i < n; i++) {
        struct random_tile *t = &w->tile[tile[i]];

        emit_notes(t, w->superstep[t->group]);
        draw_compute(w, t, 0, (int)agree);
    }
    emu_free(tile);
}

/* Some tiles of a group vote for a few of the `left` syncs to come, and compute meanwhile. */
static inline void draw_votes(struct random_chip *w, unsigned group, unsigned left)
{
    int first = 1;

    for (uint32_t i = 0; i < w->arch->tiles; i++) {
        struct random_tile *t = &w->tile[i];

        if (t->group != group)
            continue;
        if (!first && !t->absent && pick(w, 5) == 0) {
            t->absent = 1 + (int)pick(w, left);
            fprintf(t->text, "sans %d\n", t->absent - 1);
            draw_compute(w, t, 1, 0);
            fprintf(t->text, "sync 1\n");
            w->votes++;
        }
        first = 0; /* somebody must wait */
    }
}

static inline void draw_programs(struct random_chip *w, unsigned sections)
{
    for (unsigned s = 0; s < sections; s++) {
        draw_step(w, (1 << GROUPS) - 1, 4 + pick(w, 2));
        for (unsigned g = 0; g < GROUPS; g++) {
            for (unsigned left = pick(w, 5); left; left--) {
                draw_votes(w, g, left);
                draw_step(w, 1u << g, 3);
            }
        }
    }
    draw_step(w, (1 << GROUPS) - 1, 6);
}

static inline void begin_tile(struct random_chip *w, uint32_t i)
{
    struct random_tile *t = &w->tile[i];

    t->group = i < GROUPS ? i : pick(w, 3) == 0;
    t->text = open_memstream(&t->text_at, &t->text_bytes);
    t->state = open_memstream(&t->state_at, &t->state_bytes);
    assert_true(t->text && t->state);
    for (uint32_t k = 0; k < DATA_WORDS; k++)
        t->word[k] = pick_word(w);
    fprintf(t->state, ".data\n.align 8\ndata:\n");
    for (uint32_t k = 0; k < DATA_WORDS; k++)
        fprintf(t->state, ".int %u\n", t->word[k]);
    fprintf(t->text, "start: setzi $m11, notes\n");
    draw_compute(w, t, 0, 0);
}

/* The data come first: an exchange must know their addresses. Most tiles share the decoded page of
 * the codelets, which are alone in it; some have it at another place, next to their own code. */
static inline void end_tile(struct random_chip *w, uint32_t i)
{
    struct random_tile *t = &w->tile[i];
    const struct asm_symbol *data, *notes;
    int shared = i % 16 != 0;
    char *all;

    fclose(t->text);
    fclose(t->state);
    assert_true(asprintf(&all, "%snotes: .space %u\n.text\n%s%s.supervisor\n%ssync 6\n%s",
                         t->state_at, 8 * STEPS_MAX, shared ? codelets : "",
                         shared ? ".align 1024\n" : "", t->text_at, shared ? "" : codelets) > 0);
    t->unit = chip_assemble(w->arch, i, all);
    free(all);
    free(t->text_at);
    free(t->state_at);
    data = asm_symbol_find(asm_unit_image(t->unit), "data");
    notes = asm_symbol_find(asm_unit_image(t->unit), "notes");
    assert_true(data && notes);
    t->data = (uint32_t)data->value;
    t->notes = (uint32_t)notes->value;
}

/* Free with random_chip_free. sections: chip-wide syncs, each followed by some of the groups. */
static inline void random_chip_new(struct random_chip *w, const char *machine, uint64_t seed,
                                   unsigned sections)
{
    *w = (struct random_chip){ .arch = arch_preset(machine), .random = seed };
    w->tile = emu_alloc(w->arch->tiles, sizeof(*w->tile));
    assert_non_null(w->tile);
    for (uint32_t i = 0; i < w->arch->tiles; i++)
        begin_tile(w, i);
    draw_programs(w, sections);
    for (uint32_t i = 0; i < w->arch->tiles; i++)
        end_tile(w, i);
}

static inline void random_chip_free(struct random_chip *w)
{
    for (uint32_t i = 0; i < w->arch->tiles; i++)
        asm_unit_free(w->tile[i].unit);
    emu_free(w->tile);
}

/* --- what a machine made of it --- */

static inline void random_chip_load(const struct random_chip *w, struct chip *c)
{
    for (uint32_t i = 0; i < w->arch->tiles; i++)
        chip_load(c, i, w->tile[i].group, w->tile[i].unit);
}

static inline void check_memory(const struct random_chip *w, struct chip *c)
{
    for (uint32_t i = 0; i < w->arch->tiles; i++) {
        const struct random_tile *t = &w->tile[i];

        for (uint32_t k = 0; k < DATA_WORDS; k++) {
            uint32_t got = chip_word(c, i, t->data + 4 * k);

            if (got != t->word[k])
                fail_msg("tile %u, word %u: 0x%x, not 0x%x", i, k, got, t->word[k]);
        }
        for (uint32_t k = 0; k < STEPS_MAX; k++) {
            if (t->step[k].present)
                assert_int_equal(chip_word(c, i, t->notes + 8 * k + 4), t->step[k].gc ? SSR_GC : 0);
        }
    }
}

/* What a record says of a tile in a superstep that it took part in, against what it noted. A tile
 * that voted may have gone on beyond the end of the superstep. */
static inline void check_cost(const struct random_chip *w, struct chip *c, size_t i, uint32_t tile,
                              uint64_t release)
{
    const struct record_step *r = record_at(c->record, i);
    const struct random_step *s = &w->tile[tile].step[r->index];
    struct tile_step got = record_tile(c->record, i, tile);
    uint64_t sum = (uint64_t)got.exchange_cycles + got.compute_cycles + got.wait_cycles;
    uint32_t clock = chip_word(c, tile, w->tile[tile].notes + 8 * (uint32_t)r->index);
    int voted = r->index < w->superstep[r->group] && !s[1].present;

    if (got.words_in == s->words_in && got.words_out == s->words_out &&
        clock == release + got.exchange_cycles + (s->recv ? 0 : s->lead) &&
        (voted || release + sum == r->end))
        return;
    fail_msg("tile %u, superstep %llu of group %u: exchange %u compute %u wait %u in %u out %u, "
             "from %llu to %llu; it noted cycle %u, words %u and %u",
             tile, (unsigned long long)r->index, r->group, got.exchange_cycles, got.compute_cycles,
             got.wait_cycles, got.words_in, got.words_out, (unsigned long long)release,
             (unsigned long long)r->end, clock, s->words_in, s->words_out);
}

/* Supersteps of a group follow each other without gaps. */
static inline void check_record(const struct random_chip *w, struct chip *c)
{
    uint64_t end[GROUPS] = { 0 };
    uint32_t steps[GROUPS] = { 0 };

    for (size_t i = 0; i < record_count(c->record); i++) {
        const struct record_step *r = record_at(c->record, i);

        assert_true(r->group < GROUPS);
        assert_int_equal(r->index, steps[r->group]++);
        for (uint32_t k = 0; k < w->arch->tiles; k++) {
            if (w->tile[k].group == r->group && r->index && w->tile[k].step[r->index].present)
                check_cost(w, c, i, k, end[r->group]);
        }
        end[r->group] = r->end;
    }
    for (unsigned g = 0; g < GROUPS; g++) {
        assert_int_equal(steps[g], w->superstep[g] + 1);
        assert_int_equal(machine_supersteps(c->m, g), w->superstep[g] + 1);
    }
}

/* After machine_finish. */
static inline void random_chip_check(const struct random_chip *w, struct chip *c)
{
    check_memory(w, c);
    check_record(w, c);
    for (uint32_t i = 0; i < w->arch->tiles; i++)
        assert_int_equal(tile_check_count(machine_tile(c->m, i)), 0);
}

#endif
