/* bsp_probe.c - the probes as manifests, and the line through their supersteps. */
#include "emu/job/bsp_probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/base/disk_cache.h"
#include "emu/job/run_image.h"
#include "emu/profile/bill.h"

/* h of the supersteps of the probe. */
static const unsigned words[] = { 1, 8, 64, 256 };

enum { WORDS_MAX = 256, PACKET_WORDS = 64, SET_TEXT = ARCH_TEXT_MAX + 64 };

/* Writes a manifest to f. */
typedef void write_probe(const struct arch *a, FILE *f);

/* ---- the program ---- */

/* Lines of assembly inside a JSON text. Each tile sends as soon as the tile that listens to it has
 * been released. A chip of one tile has nobody to send to: there g is 0. */
static void print_superstep(FILE *f, unsigned h, int sends)
{
    fprintf(f, "    .balign 8\\n    nop\\n    sync 4\\n"); /* an exchange of two words begins at a
                                                              multiple of 8 */
    if (!sends)
        return;
    fprintf(f,
            "    .exchange TILE\\n"
            "    .send here, %u, (exch_delay(TILE, TO) < 0) * -exch_delay(TILE, TO)\\n"
            "    .receive there, %u, (exch_delay(FROM, TILE) < 0) * -exch_delay(FROM, TILE), "
            "FROM\\n"
            "    .endexchange\\n"
            "    sync 0\\n",
            h, h);
}

static void write_on_chip(const struct arch *a, FILE *f)
{
    fprintf(f, "{ \"programs\": [ { \"tiles\": \"all\", \"asm\": \""
               "    .set TO, (TILE + TILES / 2) %% TILES\\n"
               "    .set FROM, (TILE + TILES - TILES / 2) %% TILES\\n"
               "    .supervisor\\nmain:\\n");
    for (size_t i = 0; i < EMU_COUNT_OF(words); i++)
        print_superstep(f, words[i], a->tiles > 1);
    fprintf(f,
            "    sync 4\\n    sync 6\\n\", \"memory\": [ { \"name\": \"here\", \"u32_per_tile\": "
            "\"i\", \"count\": "
            "%d }, { \"name\": \"there\", \"bytes\": %d } ] } ] }",
            WORDS_MAX, 4 * WORDS_MAX);
}

static unsigned packet_words(unsigned h, unsigned packet)
{
    unsigned rest = h - packet * PACKET_WORDS;

    return rest < PACKET_WORDS ? rest : PACKET_WORDS;
}

/* Every tile sends h words to the same tile of the next chip. */
static void print_outer_superstep(FILE *f, unsigned h)
{
    fprintf(f, "    sync 5\\n    setzi $m0, %u\\n    put $INCOMING_DCOUNT, $m0\\n", h);
    for (unsigned k = 0; k * PACKET_WORDS < h; k++)
        fprintf(f, "    send 1, heads_%u + %u, 4\\n    send %u, here + %u, 4\\n", h, 8 * k,
                packet_words(h, k) - 1, 4 * PACKET_WORDS * k);
    fprintf(f, "    sync 0\\n");
}

static void print_headers(FILE *f, unsigned h)
{
    fprintf(f, "heads_%u:\\n", h);
    for (unsigned k = 0; k * PACKET_WORDS < h; k++)
        fprintf(f, "    .int 1 << 30 | (there + %u), (CHIP + 1) %% CHIPS << 20 | TILE << 7 | %u\\n",
                4 * PACKET_WORDS * k, packet_words(h, k));
}

static void write_between_chips(const struct arch *a, FILE *f)
{
    fprintf(f,
            "{ \"chips\": %u, \"programs\": [ { \"tiles\": \"all\", \"asm\": \""
            "    .supervisor\\nmain:\\n",
            a->chips);
    for (size_t i = 0; i < EMU_COUNT_OF(words); i++)
        print_outer_superstep(f, words[i]);
    fprintf(f, "    sync 5\\n    sync 7\\n");
    for (size_t i = 0; i < EMU_COUNT_OF(words); i++)
        print_headers(f, words[i]);
    fprintf(f,
            "\", \"memory\": [ { \"name\": \"here\", \"u32_per_tile\": \"i\", \"count\": %d }, { "
            "\"name\": \"there\", \"bytes\": %d } ] } ] }",
            WORDS_MAX, 4 * WORDS_MAX);
}

static char *manifest_text(const struct arch *a, write_probe *write, size_t *bytes)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    if (!f)
        return NULL;
    write(a, f);
    if (!fclose(f))
        return text;
    free(text);
    return NULL;
}

/* The fields of a machine as a user would set them. */
struct machine_sets {
    char text[ARCH_FIELD_COUNT][SET_TEXT];
    const char *item[ARCH_FIELD_COUNT];
};

static struct machine_sets *sets_of(const struct arch *a)
{
    struct machine_sets *s = emu_alloc(1, sizeof(*s));
    char value[ARCH_TEXT_MAX];

    for (size_t i = 0; s && i < ARCH_FIELD_COUNT; i++) {
        ss_arch_field_text(a, i, value, sizeof(value));
        snprintf(s->text[i], SET_TEXT, "%s=%s", ss_arch_field_at(i)->name, value);
        s->item[i] = s->text[i];
    }
    return s;
}

/* ---- the line ---- */

/* Least squares over the supersteps that begin with an exchange: not the first of the run, nor the
 * last, which no sync ends. each: what a word of h counts for. */
static void fit(const struct record *r, uint32_t each, struct bsp_cost *out)
{
    double n = 0, h = 0, y = 0, hh = 0, hy = 0;

    for (size_t i = 1; i + 1 < ss_bill_step_count(r) && i <= EMU_COUNT_OF(words); i++) {
        struct bill b = ss_bill_of_step(r, i);
        double x = (double)each * words[i - 1],
               cycles = (double)(b.total - b.host - b.largest_compute);

        n += 1;
        h += x;
        y += cycles;
        hh += x * x;
        hy += x * cycles;
    }
    out->g = n * hh > h * h ? (n * hy - h * y) / (n * hh - h * h) : 0;
    out->l = n > 0 ? (y - out->g * h) / n : 0;
}

static enum emu_status run_it(const struct image *im, unsigned threads, uint32_t each,
                              struct bsp_cost *out)
{
    const struct run_options o = { .threads = threads, .max_cycles = UINT64_MAX / 2 };
    struct run *r;
    enum emu_status s;

    TRY(ss_run_new(im, &o, &r));
    s = ss_run_execute(r);
    if (s == EMU_OK && !ss_run_ended(r))
        s = FAIL(FAULT, "the probe of g and l does not end");
    if (s == EMU_OK)
        fit(r->record, each, out);
    ss_run_free(r);
    return s;
}

static enum emu_status build_and_run(const struct manifest_options *mo, const char *text,
                                     size_t bytes, unsigned threads, uint32_t each,
                                     struct bsp_cost *out)
{
    struct image *im = NULL;
    struct manifest *m;
    enum emu_status s;

    TRY(ss_manifest_read_text(text, bytes, "the probe of g and l", mo, &m));
    s = ss_manifest_build(m, threads, stderr, &im);
    if (s == EMU_OK)
        s = run_it(im, threads, each, out);
    ss_image_free(im);
    ss_manifest_free(m);
    return s;
}

/* The machine that is probed. Where clashes fault the probe would, which receives into the element
 * that it sends from; it takes as long on a machine that ignores them. */
static struct arch probed_of(const struct arch *a, uint32_t chips)
{
    struct arch copy = *a;

    copy.number[ARCH_NUMBER_exchange_clash] = ARCH_CLASH_IGNORE;
    copy.chips = chips;
    return copy;
}

static enum emu_status probe(const struct arch *a, write_probe *write, unsigned threads,
                             uint32_t each, struct bsp_cost *out)
{
    struct machine_sets *sets = sets_of(a);
    size_t bytes;
    char *text = manifest_text(a, write, &bytes);
    const struct manifest_options o = { .machine = a->base,
                                        .set = sets ? sets->item : NULL,
                                        .sets = ARCH_FIELD_COUNT,
                                        .no_files = 1,
                                        .raw = 1 };
    enum emu_status s = sets && text ? build_and_run(&o, text, bytes, threads, each, out)
                                     : FAIL(NO_MEMORY, "a probe");

    ss_free(sets);
    free(text); /* allocated by open_memstream() */
    return s;
}

enum emu_status bsp_probe(const struct arch *a, unsigned threads, struct bsp_cost *out)
{
    const struct arch probed = probed_of(a, 1);

    return probe(&probed, write_on_chip, threads, 1, out);
}

enum emu_status bsp_probe_chips(const struct arch *a, unsigned threads, struct bsp_cost *out)
{
    const struct arch probed = probed_of(a, a->chips);

    EMU_ASSERT(a->chips > 1);
    return probe(&probed, write_between_chips, threads, a->tiles, out);
}

/* ---- what is kept ---- */

static const char kind[] = "bsp";

/* Of the program, of what is probed and of every field of the machine. Returns 0 when nothing can
 * be kept. */
static int key_of(const struct arch *a, int is_between, struct hash128 *key)
{
    struct {
        struct hash128 program, fields;
        uint64_t is_between;
    } all = { .is_between = (uint64_t)is_between };
    struct machine_sets *sets = sets_of(a);

    if (!sets || !disk_cache_program(&all.program)) {
        ss_free(sets);
        return 0;
    }
    all.fields = hash128(sets->text, sizeof(sets->text));
    *key = hash128(&all, sizeof(all));
    ss_free(sets);
    return 1;
}

static int find_kept(const struct disk_cache *c, struct hash128 key, struct bsp_cost *out)
{
    struct disk_cache_entry e;
    int found;

    if (!disk_cache_read(c, key, kind, &e))
        return 0;
    found = e.bytes == sizeof(*out);
    if (found)
        memcpy(out, e.body, sizeof(*out));
    disk_cache_entry_free(&e);
    return found;
}

/* A failure only costs the next run some time. */
static void keep(const struct disk_cache *c, struct hash128 key, const char *label,
                 const struct bsp_cost *cost)
{
    struct disk_cache_writer w;

    if (disk_cache_begin(c, key, kind, label, &w) != EMU_OK)
        return;
    fwrite(cost, sizeof(*cost), 1, output_stream(w.out));
    if (disk_cache_end(c, &w, EMU_OK) != EMU_OK)
        return;
}

static enum emu_status cost_of(const struct arch *a, int is_between, unsigned threads,
                               const char *cache, struct bsp_cost *out)
{
    const struct disk_cache c = disk_cache_of(cache);
    char label[DISK_CACHE_LABEL_MAX];
    struct hash128 key;
    int keeps = *c.folder && key_of(a, is_between, &key);

    if (keeps && find_kept(&c, key, out))
        return EMU_OK;
    TRY((is_between ? bsp_probe_chips : bsp_probe)(a, threads, out));
    if (is_between)
        snprintf(label, sizeof(label), "g and l between %u chips %s, %u tiles each", a->chips,
                 a->name, a->tiles);
    else
        snprintf(label, sizeof(label), "g and l of %s, %u tiles", a->name, a->tiles);
    if (keeps)
        keep(&c, key, label, out);
    return EMU_OK;
}

enum emu_status bsp_cost_of(const struct arch *a, unsigned threads, const char *cache,
                            struct bsp_cost *out)
{
    const struct arch chip = probed_of(a, 1);

    return cost_of(&chip, 0, threads, cache, out);
}

enum emu_status bsp_cost_of_chips(const struct arch *a, unsigned threads, const char *cache,
                                  struct bsp_cost *out)
{
    const struct arch probed = probed_of(a, a->chips);

    return cost_of(&probed, 1, threads, cache, out);
}
