/* report.c - the memory of a compiled program, for people: by category, by fullness, and what fills
 * the fullest tiles at their worst moment; out of memory, who needs how much and what would help.
 *
 * A byte that several objects use at different times counts once. All figures are bytes of tile
 * memory unless a column says otherwise.
 */
#include <string.h>

#include "programs/compiler/report/memory_report.h"
#include "programs/compiler/report/count_text.h"
#include "programs/compiler/report/memory_advice.h"

enum {
    OWNERS_SHOWN = 8,
    BINS = 16, /* of the histogram: equal parts of the memory */
    BAR = 40
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- categories ---- */

static void print_total(const struct memory_report *a, const char *name,
                        const struct category_total *c, FILE *f)
{
    uint64_t tiles = a->tiles ? a->tiles : 1;

    fprintf(f, "  %-16s %16s %14s %14s ", name, count_text(c->bytes).at,
            count_text(c->bytes / tiles).at, count_text(c->most).at);
    if (c->most)
        fprintf(f, "%8u", c->most_tile);
    else
        fprintf(f, "%8s", "-");
    fprintf(f, " %9.1f %%\n", percent(c->bytes, tiles * ss_graph_arch(a->c->graph)->mem_bytes));
}

static void print_categories(const struct memory_report *a, FILE *f)
{
    uint64_t total = 0, tiles = a->tiles ? a->tiles : 1;

    fprintf(f, "  %-16s %16s %14s %14s %8s %11s\n", "category, bytes", "on all tiles",
            "mean of a tile", "most on a tile", "tile", "of memory");
    for (int i = 0; i < CATEGORY_COUNT; i++)
        if (a->category[i].bytes)
            print_total(a, category_name((enum category)i), &a->category[i], f);
    print_total(a, "used", &a->used, f);
    print_total(a, "lost in gaps", &a->gap, f);
    print_total(a, "free", &a->free, f);
    for (uint32_t t = 0; t < a->tiles; t++)
        total += a->tile[t].total;
    fprintf(f, "  %-16s %16s %14s\n", a->over ? "memory and need" : "memory", count_text(total).at,
            count_text(total / tiles).at);
    fprintf(f, "  On every tile, categories, gaps and free bytes add up to %s exactly.\n",
            a->over ? "the memory, or to what it would need," : "its memory");
}

/* ---- histogram ---- */

static void print_bar(uint32_t n, uint32_t most, FILE *f)
{
    uint32_t length = most ? (uint32_t)((uint64_t)n * BAR / most) : 0;

    if (n && !length)
        length = 1;
    for (uint32_t i = 0; i < length; i++)
        fputc('#', f);
    fputc('\n', f);
}

static void print_bin(const char *from, const char *to, uint32_t n, uint32_t most, FILE *f)
{
    fprintf(f, "  %12s %12s %8s   ", from, to, count_text(n).at);
    print_bar(n, most, f);
}

static void print_histogram(const struct memory_report *a, FILE *f)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    uint32_t bin[REPORT_BINS], most = a->over, unused = arch->tiles - a->tiles;
    uint64_t width = memory_report_histogram(a, bin);

    for (int i = 0; i < REPORT_BINS; i++)
        most = bin[i] > most ? bin[i] : most;
    fprintf(f, "\nTiles by bytes used\n  %12s %12s %8s\n", "from, bytes", "to", "tiles");
    for (unsigned i = 0; i < REPORT_BINS; i++) {
        uint64_t end = (i + 1) * width - 1;

        if (bin[i])
            print_bin(count_text(i * width).at,
                      count_text(end < arch->mem_bytes ? end : arch->mem_bytes).at, bin[i], most,
                      f);
    }
    if (a->over)
        print_bin("do not fit", "", a->over, most, f);
    if (unused)
        fprintf(f, "  %12s %12s %8s\n", "not used", "", count_text(unused).at);
}

/* ---- fullest tiles ---- */

static void print_tile_head(const struct memory_report *a, uint32_t tile, FILE *f)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    const struct tile_place *p = &a->c->place.tile[tile];
    const struct tile_usage *t = &a->tile[tile];
    char moment[160];

    fprintf(f, "\n  tile %u: %s bytes used, %s lost in gaps, %s free",
            a->c->lowered->used_tile[tile], count_text(t->used).at, count_text(t->gap).at,
            count_text(t->free).at);
    if (!tile_fits(a, tile))
        fprintf(f, "; DOES NOT FIT: needs %s of %s bytes", count_text(p->need_bytes).at,
                count_text(arch->mem_bytes).at);
    if (p->code_need > arch->region0_bytes)
        fprintf(f, ", code %s of %s bytes of region 0", count_text(p->code_need).at,
                count_text(arch->region0_bytes).at);
    describe_step(a->c->lowered, p->peak_step, moment, sizeof(moment));
    fprintf(f, "\n    worst moment: %s, %s bytes in use\n", moment, count_text(p->peak_bytes).at);
}

static void print_tile_categories(const struct tile_usage *t, FILE *f)
{
    fprintf(f, "      %-16s %14s %18s\n", "category, bytes", "in memory", "at worst moment");
    for (int i = 0; i < CATEGORY_COUNT; i++)
        if (t->category[i] || t->peak[i])
            fprintf(f, "      %-16s %14s %18s\n", category_name((enum category)i),
                    count_text(t->category[i]).at, count_text(t->peak[i]).at);
}

static enum emu_status print_owners(const struct memory_report *a, uint32_t tile, FILE *f)
{
    struct owner_bytes *o;
    uint64_t rest = 0;
    size_t n;

    TRY(memory_report_owners(a, tile, &o, &n));
    fprintf(f, "      largest at the worst moment\n");
    for (size_t i = 0; i < n && i < OWNERS_SHOWN; i++)
        fprintf(f, "      %14s bytes   %-16s %s\n", count_text(o[i].bytes).at,
                category_name(o[i].category), o[i].owner);
    for (size_t i = OWNERS_SHOWN; i < n; i++)
        rest += o[i].bytes;
    if (rest)
        fprintf(f, "      %14s bytes   in %s others\n", count_text(rest).at,
                count_text(n - OWNERS_SHOWN).at);
    ss_free(o);
    return EMU_OK;
}

/* Many programs do the same on many tiles; once is enough then. */
static int is_like(const struct memory_report *a, uint32_t x, uint32_t y)
{
    return !memcmp(a->tile[x].category, a->tile[y].category, sizeof(a->tile[x].category)) &&
           !memcmp(a->tile[x].peak, a->tile[y].peak, sizeof(a->tile[x].peak)) &&
           a->c->place.tile[x].peak_step == a->c->place.tile[y].peak_step;
}

static enum emu_status print_fullest(const struct memory_report *a, FILE *f)
{
    uint32_t shown = 0; /* the last tile that was printed in full */

    fprintf(f, "\nFullest tiles\n");
    for (uint32_t i = 0; i < a->fullest_count; i++) {
        uint32_t tile = a->fullest[i];

        print_tile_head(a, tile, f);
        if (i && is_like(a, tile, shown)) {
            fprintf(f, "    by category the same as tile %u\n", a->c->lowered->used_tile[shown]);
            continue;
        }
        print_tile_categories(&a->tile[tile], f);
        TRY(print_owners(a, tile, f));
        shown = tile;
    }
    return EMU_OK;
}

/* ---- all of it ---- */

static enum emu_status print_advice(const struct memory_report *a, FILE *f)
{
    struct advice v;
    enum emu_status s = shortage_advice(a, &v);

    if (s == EMU_OK && v.line.count)
        fprintf(f, "\nWhat would help\n");
    for (size_t i = 0; i < v.line.count && s == EMU_OK; i++)
        fprintf(f, "  %zu. %s\n", i + 1, v.line.at[i]);
    advice_free(&v);
    return s;
}

/* Of what fits: what it would fit into. */
static void print_most(const struct memory_report *a, FILE *f)
{
    const struct placement *p = &a->c->place;

    if (!a->over && a->tiles)
        fprintf(f,
                "  Tile %u needs most to fit: %s bytes, used and lost in gaps; its code takes %s "
                "of them in region 0.\n",
                a->c->lowered->used_tile[p->fullest], count_text(p->tile[p->fullest].need_bytes).at,
                count_text(p->tile[p->fullest].code_need).at);
}

static enum emu_status print_report(const struct memory_report *a, FILE *f)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);

    /* The preset alone: this text is kept with the program, for what-ifs of other clocks, too. */
    fprintf(f, "Memory of %s%s tiles of %s, %s bytes each\n", report_chip(a->c).at,
            count_text(a->tiles).at, arch->name, count_text(arch->mem_bytes).at);
    if (a->over) {
        fprintf(f, "\nOUT OF MEMORY: %s%s of %s tiles do not fit\n", report_chip(a->c).at,
                count_text(a->over).at, count_text(a->tiles).at);
        TRY(shortage_print_tiles(a, f));
        TRY(print_advice(a, f));
    }
    fputc('\n', f);
    print_categories(a, f);
    print_most(a, f);
    print_histogram(a, f);
    return print_fullest(a, f);
}

static void print_chip(const struct compiled *c, FILE *f)
{
    struct memory_report a;
    enum emu_status s = memory_report_init(c, &a);

    if (s == EMU_OK)
        s = print_report(&a, f);
    if (s != EMU_OK)
        fprintf(f, "report: %s\n", ss_error());
    memory_report_free(&a);
}

void ss_compiled_report(const struct compiled *c, FILE *f)
{
    print_chip(c, f);
    for (uint32_t k = 1; c && k < c->chips; k++) {
        fputc('\n', f);
        print_chip(c->chip[k], f);
    }
}
