/* fit_search.c - which changes are tried, and in which order: first options, which cost a user
 * nothing, unless far more memory is missing than they can save; then the batch, more chips, the
 * memory of a tile and the size of pictures, each down or up to the value nearest to the present
 * one that fits.
 */
#include "models/run/fit_search.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "emu/base/progress.h"
#include "emu/cli/options.h"
#include "models/ask/model_request.h"
#include "models/net/net.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(LIST, set)
OPTION_READ(FLAG, quiet)
OPTION_READ(WORD, exchange)
OPTION_READ(PART, parameter_memory)
OPTION_READ(NUMBER, batch)
OPTION_READ(NUMBER, resolution)
OPTION_READ(NUMBER, try_for)
OPTION_READ(WORD, precision)
OPTION_READ(TEXT, f32_until)
OPTION_READ(TEXT, recompute)
OPTION_READ(WORD, share_blocks)
OPTION_READ(NUMBER, chips)
OPTION_READ(TEXT, cut)
OPTION_READ(TEXT, write_weights)

enum {
    SECONDS = 60,   /* --try-for, if it is not given */
    NARROW = 16,    /* a batch or a memory is found to one NARROW-th of it */
    SIZE_TRIES = 7, /* of a size, at most */
    GROWTH = 8,     /* a memory that is too small still grows by one GROWTH-th of it */
    BLOCKS_ON = 2,  /* the word of --share-blocks */
    CHIPS_MOST = 8  /* --chips goes up to so many, or to half as many times those there are */
};

struct fit_trial {
    const struct fit_subject *s;
    struct fit_findings *out;
    struct progress progress;
    int64_t end_ms;
    int late; /* something was left out for want of time */
};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void EMU_PRINTF(2, 3) say(struct fit_trial *x, const char *fmt, ...)
{
    va_list ap;

    if (x->out->lines == FIT_LINES_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(x->out->line[x->out->lines++], FIT_LINE_TEXT, fmt, ap);
    va_end(ap);
}

/* Whether what was asked for takes an option. */
static int takes(const struct fit_trial *x, unsigned option)
{
    const struct option_row *row = option_rows();

    while (row->name && (row->number != option || !(row->uses & x->s->q->use)))
        row++;
    return row->name != NULL;
}

/* ---- one try ---- */

/* Whether it fits; 0 when there is no time left to try. */
static int try_change(struct fit_trial *x, const struct request *q, const struct arch *a,
                      const char *change)
{
    struct fit_try *t = &x->out->tried[x->out->tries];

    if (x->out->tries == FIT_TRIES_MAX || now_ms() >= x->end_ms) {
        x->late = 1;
        return 0;
    }
    x->out->tries++;
    *t = (struct fit_try){ .fits = 0 };
    snprintf(t->change, sizeof(t->change), "%s", change);
    if (x->s->compile(x->s->ctx, q, a, &t->fits, &t->need_bytes) != EMU_OK)
        t->fits = 0;
    progress_report(&x->progress, "try", "%s %s%s%s%s", t->change,
                    t->fits ? "fits" : "does not fit", t->need_bytes ? ": " : "",
                    t->need_bytes ? count_text(t->need_bytes).at : "",
                    t->need_bytes ? " bytes on the fullest tile" : "");
    return t->fits;
}

/* ---- options ---- */

static void try_exchange(struct fit_trial *x)
{
    struct request q = *x->s->q;

    if (option_exchange(&q) || !takes(x, OPTION_exchange))
        return;
    q.value[OPTION_WORD_exchange].word = 1;
    if (try_change(x, &q, x->s->arch, "--exchange memory"))
        say(x, "Exchange code made short instead of fast: with --exchange memory it fits.");
}

static void try_precision(struct fit_trial *x)
{
    struct request q = *x->s->q;

    if (!takes(x, OPTION_precision) || (!option_precision(&q) && !option_f32_until(&q)))
        return;
    q.value[OPTION_WORD_precision].word = 0;
    q.value[OPTION_TEXT_f32_until].text = NULL;
    if (try_change(x, &q, x->s->arch, "--precision f16"))
        say(x, "Numbers of half the size: with --precision f16 it fits.");
}

static void try_blocks(struct fit_trial *x)
{
    struct request q = *x->s->q;

    if (x->s->trains || option_share_blocks(&q) || !takes(x, OPTION_share_blocks))
        return;
    q.value[OPTION_WORD_share_blocks].word = BLOCKS_ON;
    if (try_change(x, &q, x->s->arch, "--share-blocks on"))
        say(x, "Layers that repeat as one function: with --share-blocks on it fits.");
}

/* What makes code shorter. */
static void try_code(struct fit_trial *x)
{
    try_exchange(x);
    try_blocks(x);
}

/* Whether at most half as many bytes are missing as the memory for code has. Then shorter code,
 * which costs a user least, may be enough. */
static int code_may_mend(const struct fit_subject *s)
{
    return s->need_bytes <= s->arch->mem_bytes + s->arch->region0_bytes / 2;
}

static void try_parameters(struct fit_trial *x)
{
    struct request q = *x->s->q;

    if (option_parameter_memory(&q) > 0 || !takes(x, OPTION_parameter_memory))
        return;
    q.value[OPTION_PART_parameter_memory].part = 0.1;
    if (try_change(x, &q, x->s->arch, "--parameter-memory 0.1"))
        say(x, "Parameters fetched when they are needed: with --parameter-memory 0.1 it fits.");
}

static void try_recompute(struct fit_trial *x)
{
    struct request q = *x->s->q;

    if (!takes(x, OPTION_recompute) || !option_recompute(&q) ||
        strcmp(option_recompute(&q), "none") != 0)
        return;
    q.value[OPTION_TEXT_recompute].text = "all";
    if (try_change(x, &q, x->s->arch, "--recompute all"))
        say(x, "Results computed again instead of kept: with --recompute all it fits.");
}

/* ---- chips ---- */

/* Whether a request sets a field of the machine: "chips=". */
static int sets_field(const struct request *q, const char *field)
{
    const struct option_list *set = option_set(q);

    for (size_t k = 0; k < set->count; k++) {
        if (!strncmp(set->item[k], field, strlen(field)))
            return 1;
    }
    return 0;
}

/* A stage of the network on each; stages are chosen anew. */
static int try_chips(struct fit_trial *x, uint32_t chips)
{
    const char *uncut = option_cut(x->s->q) ? " without --cut" : "";
    struct request q = *x->s->q;
    struct arch a = *x->s->arch;
    char change[FIT_CHANGE_TEXT];
    int fits;

    q.given[OPTION_chips] = 1;
    q.value[OPTION_NUMBER_chips].number = a.chips = chips;
    q.given[OPTION_cut] = 0;
    q.value[OPTION_TEXT_cut].text = NULL;
    snprintf(change, sizeof(change), "--chips %u%s", chips, uncut);
    fits = ss_arch_check(&a) == EMU_OK && try_change(x, &q, &a, change);
    if (fits)
        say(x, "A stage of it on each of more chips: %s fits: %s bytes on the fullest tile.",
            change, count_text(x->out->tried[x->out->tries - 1].need_bytes).at);
    return fits;
}

/* The smallest power of 2 that does, above what there is; no further where a network has no more
 * places to cut (nothing is known of its need then). */
static void find_chips(struct fit_trial *x)
{
    uint32_t now = x->s->arch->chips, most = now > 1 ? now * CHIPS_MOST / 2 : CHIPS_MOST, n = 2;

    if (!takes(x, OPTION_chips) || option_write_weights(x->s->q) || sets_field(x->s->q, "chips="))
        return;
    while (n <= now)
        n *= 2;
    for (; n <= most && !x->late; n *= 2) {
        if (try_chips(x, n) || !x->out->tries || !x->out->tried[x->out->tries - 1].need_bytes)
            return;
    }
}

/* ---- sizes ---- */

/* A size and how a request is changed to it; the sizes that are tried are multiples of unit. */
struct size {
    uint64_t unit;
    uint64_t fits, does_not; /* the nearest so far; 0: none */
    int (*try)(struct fit_trial *x, const struct size *z, uint64_t n);
    const struct smaller *smaller; /* of try_smaller() */
};

static int note(struct fit_trial *x, struct size *z, uint64_t n)
{
    int fits = z->try(x, z, n);

    if (fits)
        z->fits = n;
    else if (!x->late)
        z->does_not = n;
    return fits;
}

/* The smallest or largest that fits, between one that does and one that does not. */
static void narrow(struct fit_trial *x, struct size *z)
{
    for (unsigned k = 0; k < SIZE_TRIES && z->fits && !x->late; k++) {
        uint64_t low = z->fits < z->does_not ? z->fits : z->does_not;
        uint64_t high = z->fits < z->does_not ? z->does_not : z->fits, middle;

        middle = (low + high) / 2 / z->unit * z->unit;
        if (middle <= low || (high - low) * NARROW <= high)
            return;
        note(x, z, middle);
    }
}

/* An estimate of the largest part of n that fits, as if all memory were in proportion to n; rounded
 * down to units. */
static uint64_t share_that_fits(const struct fit_trial *x, uint64_t n, uint64_t unit)
{
    uint64_t part = (uint64_t)((double)n * x->s->arch->mem_bytes / (double)x->s->need_bytes);

    part = part < n ? part / unit * unit : (n - 1) / unit * unit;
    return part > unit ? part : unit;
}

/* The largest below n. */
static void find_largest(struct fit_trial *x, struct size *z, uint64_t n)
{
    uint64_t k = share_that_fits(x, n, z->unit);

    z->does_not = n;
    while (!note(x, z, k) && k > z->unit && !x->late)
        k = k / 2 / z->unit * z->unit > z->unit ? k / 2 / z->unit * z->unit : z->unit;
    narrow(x, z);
}

/* A number that makes the network smaller if it is lowered. */
struct smaller {
    const char *option, *words;
    uint64_t unit;
    const unsigned *option_number; /* an option that is a number */
};

static int try_smaller(struct fit_trial *x, const struct size *z, uint64_t n)
{
    struct request q = *x->s->q;
    char change[FIT_CHANGE_TEXT];

    snprintf(change, sizeof(change), "%s%" PRIu64, z->smaller->option, n);
    q.value[*z->smaller->option_number].number = n;
    return try_change(x, &q, x->s->arch, change);
}

/* now: what is asked for; 0: it may not be changed. */
static void find_smaller(struct fit_trial *x, const struct smaller *s, uint32_t now)
{
    struct size z = { .unit = s->unit, .try = try_smaller, .smaller = s };

    if (now <= s->unit)
        return;
    find_largest(x, &z, now);
    if (z.fits)
        say(x, "%s: %s%" PRIu64 " fits, %" PRIu64 " does not.", s->words, s->option, z.fits,
            z.does_not);
}

static const struct smaller batch = { "--batch ", "A smaller batch", 1, &OPTION_NUMBER_batch };
static const struct smaller resolution = { "--resolution ", "Smaller pictures", NET_SIDE_MIN,
                                           &OPTION_NUMBER_resolution };

/* "sram=704K". */
struct sram_text {
    char at[32];
};

static struct sram_text sram_text(uint64_t n)
{
    int kib = n % 1024 == 0;
    struct sram_text t;

    snprintf(t.at, sizeof(t.at), "sram=%" PRIu64 "%s", kib ? n / 1024 : n, kib ? "K" : "");
    return t;
}

/* The machine, with the memory that it has by its name where the request changes that: what is
 * tried takes the place of the change. */
static struct arch machine_by_name(const struct fit_trial *x)
{
    const struct arch *named = ss_arch_preset(x->s->arch->name);
    struct arch a = *x->s->arch;

    if (named && sets_field(x->s->q, "sram=")) {
        a.mem_bytes = named->mem_bytes;
        a.region0_bytes = named->region0_bytes;
    }
    return a;
}

static int try_sram(struct fit_trial *x, const struct size *z, uint64_t n)
{
    struct arch a = machine_by_name(x);
    char change[FIT_CHANGE_TEXT];

    (void)z;
    snprintf(change, sizeof(change), "--set %s", sram_text(n).at);
    if (ss_arch_set(&a, sram_text(n).at) != EMU_OK || ss_arch_check(&a) != EMU_OK)
        return 0;
    return try_change(x, x->s->q, &a, change);
}

/* The smallest above what there is. */
static void find_sram(struct fit_trial *x)
{
    uint64_t unit = x->s->arch->element_bytes, memory = x->s->arch->mem_bytes, n;
    struct size z = { .unit = unit, .does_not = memory, .try = try_sram };

    n = (x->s->need_bytes > memory ? x->s->need_bytes : memory + 1) + unit - 1;
    n -= n % unit;
    for (unsigned k = 0; k < SIZE_TRIES && !x->late && !note(x, &z, n); k++)
        n += (n / GROWTH + unit - 1) / unit * unit;
    narrow(x, &z);
    if (z.fits)
        say(x, "Tiles with more memory: --set %s fits, %s does not.", sram_text(z.fits).at,
            sram_text(z.does_not).at);
}

/* ---- all of it ---- */

/* Says so when nothing fits, or when the search ran out of time. */
static void conclude(struct fit_trial *x, uint64_t seconds)
{
    if (!seconds)
        say(x, "Nothing was tried (--try-for 0).");
    else if (!x->out->lines && !x->late)
        say(x, "Nothing that was tried fits: a machine with more tiles, or a smaller network.");
    else if (x->late)
        say(x, "Not all was tried in %" PRIu64 " seconds; --try-for SECONDS gives it more.",
            seconds);
}

void fit_search(const struct fit_subject *s, struct fit_findings *out)
{
    uint64_t seconds = request_has(s->q, OPTION_try_for) ? option_try_for(s->q) : SECONDS;
    struct fit_trial x = { .s = s,
                           .out = out,
                           .progress = progress_begin(option_quiet(s->q) ? NULL : stderr),
                           .end_ms = now_ms() + (int64_t)seconds * 1000 };

    *out = (struct fit_findings){ .tries = 0 };
    if (seconds) {
        progress_report(&x.progress, "try", "what fits, for up to %" PRIu64 " seconds", seconds);
        try_precision(&x);
        try_recompute(&x);
        if (code_may_mend(s))
            try_code(&x);
        find_smaller(&x, &batch, s->batch);
        find_chips(&x);
        find_sram(&x);
        try_parameters(&x);
        if (!code_may_mend(s))
            try_code(&x);
        find_smaller(&x, &resolution, s->resolution);
    }
    conclude(&x, seconds);
}

json_t *fit_findings_json(const struct fit_findings *f)
{
    json_t *list = json_array();

    for (unsigned k = 0; k < f->tries; k++) {
        const struct fit_try *t = &f->tried[k];

        json_array_append_new(list, json_pack("{s:s, s:b, s:I}", "change", t->change, "fits",
                                              t->fits, "need_bytes", (json_int_t)t->need_bytes));
    }
    return list;
}
