/* matrix_verbs.c - tables of what every verb can be asked for, and the rules for what it answers.
 */
#include "tests/matrix/matrix.h"

#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/hash.h"

/* ---- tables ---- */

enum {
    VALUES = 1, /* refused with the timing engine */
    SCORES = 2, /* refused unless the first output is a list of scores */
    JSON = 4,
    CYCLES = 8, /* they are printed, or "cycles" of the JSON answer */
    DIGEST = 16,
    SAVE = 32,   /* and every output as a file */
    SILENT = 64, /* nothing is printed */
    WORK = 128   /* the answer says what was compiled for it */
};

struct row {
    const char *words, *files;
    unsigned flags;
};

static const struct row run_rows[] = {
    { "", "", CYCLES | DIGEST },
    { "--report", "", CYCLES },
    { "--json", "", JSON | CYCLES | DIGEST },
    { "--plan", "", CYCLES | DIGEST },
    { "--steps", "", CYCLES | DIGEST },
    { "--steps --json", "", JSON | CYCLES | DIGEST },
    { "--host", "", CYCLES | DIGEST },
    { "--plain", "", CYCLES | DIGEST },
    { "--ranges", "", VALUES | CYCLES | DIGEST },
    { "--ranges --json", "", VALUES | JSON | CYCLES | DIGEST },
    { "--labels ../labels", "", VALUES | SCORES | CYCLES | DIGEST },
    { "--labels ../labels --json", "", VALUES | SCORES | JSON | CYCLES | DIGEST },
    { "", "", VALUES | SAVE | CYCLES | DIGEST },
    { "--json", "", VALUES | SAVE | JSON | CYCLES | DIGEST },
    { "--profile p.db", "p.db", CYCLES | DIGEST },
    { "--html p.html", "p.html", CYCLES | DIGEST },
    { "--chart c.svg", "c.svg", CYCLES | DIGEST },
    { "--trace-out t.json --trace-tiles all", "t.json", CYCLES | DIGEST },
    { "--digests d.txt", "d.txt", VALUES | CYCLES | DIGEST },
    { "-o x.img", "x.img", CYCLES | DIGEST },
    { "--compare-layers", "", VALUES },
    { "--compare-layers --json", "", VALUES | JSON },
    { "--dump groups", "", 0 },
    { "--dump tiles", "", 0 },
    { "--report --plan --steps --host --profile p.db --html p.html --chart c.svg --trace-out "
      "t.json "
      "-o x.img",
      "p.db p.html c.svg t.json x.img", CYCLES },
    { "--json --ranges --steps --plan --host --profile p.db --html p.html --chart c.svg "
      "--trace-out "
      "t.json --digests d.txt -o x.img",
      "p.db p.html c.svg t.json d.txt x.img", VALUES | SAVE | JSON | CYCLES | DIGEST },
};

static const struct row compile_rows[] = {
    { "-o x.img", "x.img", 0 },
    { "--report", "", 0 },
    { "--plan", "", 0 },
    { "-o x.img --json", "x.img", JSON },
    { "-o x.img --chart c.svg", "x.img c.svg", 0 },
    { "-o x.img --report --plan --chart c.svg", "x.img c.svg", 0 },
    { "--dump plans", "", 0 },
};

static const struct row image_rows[] = {
    { "", "", DIGEST },
    { "--json", "", JSON | CYCLES | DIGEST },
    { "--steps --json", "", JSON | CYCLES | DIGEST },
    { "--profile p.db --html p.html --trace-out t.json", "p.db p.html t.json", DIGEST },
    { "--digests d.txt", "d.txt", VALUES | DIGEST },
};

static const struct row sweep_rows[] = {
    { "-o s.db", "s.db", WORK },
    { "-o s.db --json", "s.db", JSON | WORK },
    { "-o s.db --html s.html", "s.db s.html", WORK },
};

static const struct row stream_rows[] = {
    { "", "", 0 },
    { "--json", "", JSON },
    { "-o r.csv", "r.csv", VALUES },
    { "-o r.jsonl --json", "r.jsonl", VALUES | JSON },
    { "--report --profile p.db --html p.html --trace-out t.json", "p.db p.html t.json", 0 },
};

static const struct row train_rows[] = {
    { "", "", 0 },
    { "--json", "", JSON },
    { "--profile p.db --html p.html --trace-out t.json", "p.db p.html t.json", 0 },
    { "--report -o w.st --checkpoint c.st --curve c.svg", "w.st c.st c.svg", VALUES },
};

static const struct row step_rows[] = { { "", "", 0 }, { "--json", "", 0 } };

static const struct row report_rows[] = {
    { "report p.db", "", CYCLES },
    { "report p.db --json", "", JSON | CYCLES },
    { "report p.db --csv layers", "", 0 },
    { "report p.db --csv steps", "", 0 },
    { "report p.db --csv tiles", "", 0 },
    { "report p.db --tile 3", "", 0 },
    { "report p.db --html p.html --trace-out t.json", "p.html t.json", SILENT },
    { "compare p.db q.db", "", 0 },
    { "compare p.db q.db --json", "", JSON },
    { "compare p.db q.db --html p.html", "p.html", SILENT },
};

static const struct row models_rows[] = {
    { "", "", 0 },
    { "--dump groups", "", 0 },
    { "-o o.onnx", "o.onnx", 0 },
};

/* ---- words ---- */

enum cache { CACHE_OFF, CACHE_COLD, CACHE_WARM, CACHES };

static void add_machine(struct words *w, const struct group *g)
{
    words_add(w, "%s -m toy16 -q", g->network);
    if (g->batch > 1)
        words_add(w, "-b %u", g->batch);
}

static void add_source(struct words *w, const struct group *g)
{
    char list[64], *rest = list;

    if (g->source == SOURCE_PICTURE)
        words_add(w, "--image ../cat.jpg");
    if (g->source != SOURCE_FILES)
        return;
    snprintf(list, sizeof(list), "%s", g->in->input);
    for (char *one; (one = strtok_r(rest, " ", &rest));)
        words_add(w, "--input %.1s=../%s.%.1s.%u.npy", one, g->in->name, one, g->batch);
}

static void add_row(struct words *w, const struct group *g, const struct row *r)
{
    if (*r->words)
        words_add(w, "%s", r->words);
    for (const char *c = g->out->output; r->flags & SAVE && *c; c++) {
        if (*c != ',')
            words_add(w, "--save %c=%c.npy", *c, *c);
    }
}

static void add_cache(struct words *w, const struct group *g, enum cache cache)
{
    if (cache == CACHE_OFF)
        words_add(w, "--no-cache");
    else
        words_add(w, "--cache %s/cache", g->folder);
}

/* ---- files between combinations ---- */

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

static void remove_all(const struct group *g, const char *name)
{
    char path[PATH_BYTES + 64];

    snprintf(path, sizeof(path), "%s/%s", g->folder, name);
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_files(const struct group *g, const char *files)
{
    char list[256], *rest = list;

    snprintf(list, sizeof(list), "%s y.npy t.npy", files);
    for (char *name; (name = strtok_r(rest, " ", &rest));)
        remove_all(g, name);
}

/* Of the files that have nothing of the command line in them. */
static uint64_t hash_of_files(const struct group *g, const char *files)
{
    char list[256], *rest = list, path[PATH_BYTES + 64], block[4096];
    uint64_t hash = 0;

    snprintf(list, sizeof(list), "%s", files);
    for (char *name; (name = strtok_r(rest, " ", &rest));) {
        const char *dot = strrchr(name, '.');
        size_t n;
        FILE *f;

        if (strcmp(dot, ".svg") != 0 && strcmp(dot, ".img") != 0 && strcmp(dot, ".txt") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", g->folder, name);
        f = fopen(path, "r");
        while (f && (n = fread(block, 1, sizeof(block), f)) > 0)
            hash = hash64(block, n) + 3 * hash;
        if (f)
            fclose(f);
    }
    return hash;
}

/* ---- what is promised ---- */

static unsigned has_of(const struct row *r, int timing)
{
    return (r->flags & JSON ? HAS_JSON : 0u) | (r->flags & CYCLES ? HAS_CYCLES : 0u) |
           (r->flags & DIGEST && !timing ? HAS_DIGEST : 0u) | (r->flags & SAVE ? HAS_VALUES : 0u) |
           (r->flags & SILENT ? 0u : HAS_TEXT);
}

static int has_scores(const struct group *g)
{
    return g->out->output[0] == 'y';
}

static struct promise promise_of(const struct group *g, const struct row *r, int timing)
{
    struct promise p = { .files = r->files, .has = has_of(r, timing) };

    if (r->flags & VALUES && timing)
        p.refused = "--engine timing";
    else if (r->flags & SCORES && !has_scores(g))
        p.refused = "--labels";
    p.code = p.refused ? 2 : 0;
    return p;
}

/* ---- combinations ---- */

static void check_sweep(const struct group *g, const struct words *w)
{
    uint64_t good = db_number(g, "s.db", "SELECT count(*) FROM results WHERE status = 'ok'");
    uint64_t cycles = db_number(g, "s.db", "SELECT max(cycles) FROM results");

    if (good != 2)
        say_wrong(g, WRONG_LOST, w, "%" PRIu64 " of 2 points are ok", good);
    else if (cycles != g->truth.cycles)
        say_wrong(g, WRONG_NUMBER, w, "%" PRIu64 " cycles, the plain run has %" PRIu64, cycles,
                  g->truth.cycles);
}

/* The same command without a cache, with one that is empty and with one that has the network:
 * everything is the same. fill: a command that fills the cache, or NULL: the command itself. */
static void run_caches(struct group *g, const struct words *command, const struct row *r,
                       const struct promise *p, const struct words *fill)
{
    char *first = NULL;
    uint64_t files = 0;
    int good = 1;

    remove_all(g, "cache");
    for (enum cache c = CACHE_OFF; good && c < CACHES && (c == CACHE_OFF || !p->code); c++) {
        struct words w = *command;
        struct ended e;

        if (c == CACHE_COLD && fill) {
            struct words f = *fill;

            add_cache(&f, g, CACHE_WARM);
            e = run_words(g, &f);
            ended_free(&e);
        }
        add_cache(&w, g, c);
        remove_files(g, r->files);
        e = run_words(g, &w);
        good = check_ended(g, &w, &e, p);
        if (good && r->flags & WORK)
            check_sweep(g, &w);
        else if (good && c != CACHE_OFF && strcmp(first, e.out) != 0)
            say_wrong(g, WRONG_NUMBER, &w, "another answer than with --no-cache");
        else if (good && c != CACHE_OFF && files != hash_of_files(g, r->files))
            say_wrong(g, WRONG_NUMBER, &w, "another file than with --no-cache: %s", r->files);
        if (c == CACHE_OFF) {
            first = strdup(e.out);
            files = hash_of_files(g, r->files);
        }
        ended_free(&e);
    }
    free(first);
}

/* A command that knows no cache. Returns what it has printed, if all was right, else NULL; owned.
 */
static char *run_for_text(struct group *g, const struct words *w, const struct row *r,
                          const struct promise *p)
{
    char *text = NULL;
    struct ended e;

    remove_files(g, r->files);
    e = run_words(g, w);
    if (check_ended(g, w, &e, p))
        text = strdup(e.out);
    ended_free(&e);
    return text;
}

static void run_once(struct group *g, const struct words *w, const struct row *r,
                     const struct promise *p)
{
    free(run_for_text(g, w, r, p));
}

/* A number that is the same in all answers of a group that have it (not UINT64_MAX). */
static void check_same(const struct group *g, const struct words *w, uint64_t *first, uint64_t n)
{
    if (n == UINT64_MAX)
        return;
    if (!*first)
        *first = n;
    if (n != *first)
        say_wrong(g, WRONG_NUMBER, w, "%" PRIu64 " cycles, others have %" PRIu64, n, *first);
}

/* ---- the truth ---- */

static void find_truth(struct group *g)
{
    static const struct row row = { "--plain --json --no-cache", "", SAVE };
    struct words w = { .text = "run" };
    struct promise p = { .has = HAS_JSON | HAS_TEXT };
    struct ended e;
    unsigned outputs = 0;
    json_t *o;

    add_machine(&w, g);
    add_source(&w, g);
    add_row(&w, g, &row);
    e = run_words(g, &w);
    if (check_ended(g, &w, &e, &p)) {
        o = json_loads(e.out, 0, NULL);
        g->truth.cycles = json_number(e.out, "cycles");
        g->truth.fullest = json_number(e.out, "memory.max_tile_bytes");
        snprintf(g->truth.digest, sizeof(g->truth.digest), "%s",
                 json_string_value(json_object_get(o, "digest")));
        json_decref(o);
        g->truth.known = 1;
    }
    for (const char *c = g->out->output; g->truth.known && *c; c++) {
        char name[] = { *c, '.', 'n', 'p', 'y', '\0' };

        if (*c == ',')
            continue;
        if (!read_numbers(g, name, &g->truth.value[outputs]) ||
            g->truth.value[outputs++].shape.rank != (*c == 'y' ? 2 : 3)) {
            say_wrong(g, WRONG_LOST, &w, "%s is not that output", name);
            g->truth.known = 0;
        }
    }
    ended_free(&e);
    g->truth.failed = !g->truth.known;
}

/* Whether the next combination is to be run; then the truth is known. */
static int is_wanted(struct group *g)
{
    if (!is_picked(g) || g->truth.failed)
        return 0;
    if (!g->truth.known)
        find_truth(g);
    return g->truth.known;
}

/* ---- verbs ---- */

/* Of the profile that a run has written: cycles of the machine, of all layers, of all supersteps.
 */
static void check_profile(const struct group *g, const struct words *w)
{
    static const char *const sql[] = { "SELECT value FROM meta WHERE key = 'cycles'",
                                       "SELECT sum(cycles) FROM layers" };

    for (unsigned k = 0; k < 2; k++) {
        uint64_t n = db_number(g, "p.db", sql[k]);

        if (n != g->truth.cycles)
            say_wrong(g, WRONG_NUMBER, w, "%" PRIu64 " by %s, the plain run has %" PRIu64, n,
                      sql[k], g->truth.cycles);
    }
}

static void run_verb(struct group *g)
{
    for (size_t k = 0; k < sizeof(run_rows) / sizeof(*run_rows); k++) {
        const struct row *r = &run_rows[k];

        for (int timing = 0; timing < 2; timing++) {
            struct words w = { .text = "run" };
            struct promise p = promise_of(g, r, timing);

            if (!is_wanted(g))
                continue;
            add_machine(&w, g);
            add_source(&w, g);
            if (timing)
                words_add(&w, "--engine timing");
            add_row(&w, g, r);
            run_caches(g, &w, r, &p, NULL);
            if (!p.code && strstr(r->files, "p.db"))
                check_profile(g, &w);
        }
    }
}

static void compile_verb(struct group *g)
{
    for (size_t k = 0; k < sizeof(compile_rows) / sizeof(*compile_rows); k++) {
        const struct row *r = &compile_rows[k];
        struct promise p = promise_of(g, r, 0);
        struct words w = { .text = "compile" };

        if (!is_wanted(g))
            continue;
        add_machine(&w, g);
        add_row(&w, g, r);
        run_caches(g, &w, r, &p, NULL);
    }
}

static const struct row made_before = { "", "", 0 };

static void make_image(struct group *g)
{
    struct words w = { .text = "compile" };
    const struct promise p = { .files = "k.img", .has = HAS_TEXT };

    add_machine(&w, g);
    words_add(&w, "-o k.img --no-cache");
    if (check_file(g, "k.img"))
        run_once(g, &w, &made_before, &p);
}

/* Runs what compile writes. */
static void image_verb(struct group *g)
{
    struct promise p;

    for (size_t k = 0; k < sizeof(image_rows) / sizeof(*image_rows); k++) {
        for (int timing = 0; timing < 2; timing++) {
            struct words w = { .text = "run k.img -q" };

            if (!is_wanted(g))
                continue;
            make_image(g);
            p = promise_of(g, &image_rows[k], timing);
            add_row(&w, g, &image_rows[k]);
            if (timing)
                words_add(&w, "--engine timing");
            run_once(g, &w, &image_rows[k], &p);
        }
    }
}

static void sweep_verb(struct group *g)
{
    for (size_t k = 0; k < sizeof(sweep_rows) / sizeof(*sweep_rows); k++) {
        const struct row *r = &sweep_rows[k];

        for (int timing = 0; timing < 2; timing++) {
            struct words w = { .text = "sweep" }, fill = { .text = "run" };
            struct promise p = promise_of(g, r, 0);

            if (!is_wanted(g))
                continue;
            add_machine(&w, g);
            add_machine(&fill, g);
            words_add(&w, "-j 1 --vary clock_mhz=1000,1330 --engine %s",
                      timing ? "timing" : "values");
            add_row(&w, g, r);
            run_caches(g, &w, r, &p, &fill);
        }
    }
}

/* Why a stream does not take the network: pictures in colour that are square, and scores alone. */
static const char *stream_refusal(const struct group *g)
{
    return !g->in->streams               ? "[side][side]"
           : !has_scores(g)              ? "[n][classes]"
           : strchr(g->out->output, ',') ? "--outputs says which"
                                         : NULL;
}

static void stream_verb(struct group *g)
{
    const char *refused = stream_refusal(g);

    for (size_t k = 0; k < sizeof(stream_rows) / sizeof(*stream_rows); k++) {
        const struct row *r = &stream_rows[k];

        for (int timing = 0; timing < 2; timing++) {
            struct words w = { .text = "stream" };
            struct promise p = promise_of(g, r, timing);
            char *text;

            if (!is_wanted(g) || (refused && k))
                continue;
            if (refused && !p.code)
                p = (struct promise){ .code = 2, .files = r->files, .refused = refused };
            add_machine(&w, g);
            words_add(&w, "../pictures/train/a --io-tiles 4");
            if (timing)
                words_add(&w, "--engine timing");
            add_row(&w, g, r);
            text = run_for_text(g, &w, r, &p);
            if (text && r->flags & JSON)
                check_same(g, &w, &g->stream_cycles, json_number(text, "cycles"));
            if (text && !p.code && strstr(r->files, "p.db"))
                check_same(g, &w, &g->stream_cycles,
                           db_number(g, "p.db", "SELECT value FROM meta WHERE key = 'cycles'"));
            free(text);
        }
    }
}

static const char *train_refusal(const struct group *g)
{
    if (g->in->integers)
        return "the input is i64";
    if (strchr(g->in->input, ' '))
        return "2 inputs";
    return has_scores(g) ? NULL : "the output is";
}

/* A first step has the same cycles with both engines. Later ones begin with a sync with the host,
 * so the mean is that of the first only where no more are executed: "steps" 1, or 0 when timed. */
static void check_step_cycles(struct group *g, const struct words *w, const char *text)
{
    uint64_t first = json_sum(text, "passes", "cycles");

    if (first == UINT64_MAX)
        say_wrong(g, WRONG_LOST, w, "the answer has no passes");
    check_same(g, w, &g->train_cycles, first);
    if (json_number(text, "steps") < 2)
        check_same(g, w, &g->train_cycles, json_number(text, "cycles_per_step"));
}

static void train_verb(struct group *g)
{
    const char *refused = train_refusal(g);

    for (size_t k = 0; k < sizeof(train_rows) / sizeof(*train_rows); k++) {
        const struct row *r = &train_rows[k];

        for (int timing = 0; timing < 2; timing++) {
            struct words w = { .text = "train" };
            struct promise p = promise_of(g, r, timing);
            char *text;

            if (!is_wanted(g) || (refused && k) || (!timing && !g->in->pictures))
                continue;
            if (refused && !p.code)
                p = (struct promise){ .code = 2, .files = r->files, .refused = refused };
            add_machine(&w, g);
            if (g->batch == 1) /* the default is more than there are pictures */
                words_add(&w, "-b 2");
            words_add(&w, "--set sram=256K --io-tiles 0 -e 1 %s",
                      timing ? "--engine timing" : "--data ../pictures");
            add_row(&w, g, r);
            text = run_for_text(g, &w, r, &p);
            if (text && !p.code && r->flags & JSON)
                check_step_cycles(g, &w, text);
            free(text);
        }
    }
}

static void step_verb(struct group *g)
{
    for (size_t k = 0; k < sizeof(step_rows) / sizeof(*step_rows); k++) {
        struct promise p = { .files = "", .has = HAS_TEXT };
        struct words w = { .text = "step" };

        if (!is_wanted(g))
            continue;
        add_machine(&w, g);
        add_source(&w, g);
        words_add(&w, "--script ../script");
        add_row(&w, g, &step_rows[k]);
        run_caches(g, &w, &step_rows[k], &p, NULL);
    }
}

/* Profiles of both engines. */
static void make_profiles(struct group *g)
{
    for (int timing = 0; timing < 2 && check_file(g, "q.db"); timing++) {
        struct words w = { .text = "run" };
        struct promise p = { .files = timing ? "q.db" : "p.db", .has = HAS_TEXT };

        add_machine(&w, g);
        words_add(&w, "--no-cache --profile %s --engine %s", p.files, timing ? "timing" : "values");
        run_once(g, &w, &made_before, &p);
    }
}

/* Everything that reads profiles. */
static void report_verb(struct group *g)
{
    remove_all(g, "q.db");
    for (size_t k = 0; k < sizeof(report_rows) / sizeof(*report_rows); k++) {
        const struct row *r = &report_rows[k];
        struct promise p = promise_of(g, r, 0);
        struct words w = { .text = "" };

        if (!is_wanted(g))
            continue;
        make_profiles(g);
        words_add(&w, "%s", r->words);
        run_once(g, &w, r, &p);
    }
}

static void models_verb(struct group *g)
{
    for (size_t k = 0; k < sizeof(models_rows) / sizeof(*models_rows); k++) {
        struct promise p = promise_of(g, &models_rows[k], 0);
        struct words w = { .text = "models" };

        if (!is_wanted(g))
            continue;
        words_add(&w, "%s", g->network);
        if (g->batch > 1)
            words_add(&w, "-b %u", g->batch);
        add_row(&w, g, &models_rows[k]);
        run_once(g, &w, &models_rows[k], &p);
    }
}

/* A verb that knows no numbers of its own. */
static void refuse_source(struct group *g, const char *verb, const char *more, const char *option)
{
    static const struct row none = { "", "x.img s.db", 0 };
    const struct promise p = { .code = 2, .files = none.files, .refused = option };
    struct words w = { .text = "" };

    if (!is_picked(g))
        return;
    words_add(&w, "%s", verb);
    add_machine(&w, g);
    add_source(&w, g);
    words_add(&w, "%s", more);
    run_once(g, &w, &none, &p);
}

static int takes_source(const struct group *g)
{
    return g->source != SOURCE_PICTURE || g->in->pictures;
}

void run_group(struct group *g)
{
    const char *option = g->source == SOURCE_FILES ? "--input" : "--image";

    if (!takes_source(g)) {
        refuse_source(g, "run", "--json", "--image");
        return;
    }
    run_verb(g);
    step_verb(g);
    if (g->source != SOURCE_DRAWN) {
        refuse_source(g, "compile", "-o x.img", option);
        refuse_source(g, "sweep", "--vary tiles=8 -o s.db", option);
    } else {
        compile_verb(g);
        image_verb(g);
        sweep_verb(g);
        stream_verb(g);
        train_verb(g);
        report_verb(g);
        models_verb(g);
    }
    for (unsigned k = 0; k < OUTPUTS_MAX; k++)
        op_tensor_free(&g->truth.value[k]);
}
