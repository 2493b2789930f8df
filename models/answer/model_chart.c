/* model_chart.c - the picture of an answer, drawn as SVG.
 *
 * * The upper panel has a bar for every block of the network: its cycles by phase, and a line at
 * the lower bound. The lower panel has the tiles from the fullest to the emptiest: their bytes by
 * category; neighbours share a column, which shows their mean. */
#include "emu/base/alloc.h"
#include "emu/profile/colours.h"
#include "models/answer/model_chart.h"
#include "programs/compiler/report/count_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1200, LEFT = 90, RIGHT = 1030, LEGEND = 1050, LINE = 20 };
enum { BARS_TOP = 110, PANEL = 260, BARS_NAMES = 90, COLUMNS = 184, TICKS = 5 };

struct chart {
    const struct model_answer *m;
    FILE *f;
    uint32_t top; /* of the panel in hand, in pixels from above */
};

/* ---- parts of both panels ---- */

static void draw_text(const struct chart *c, double x, double y, const char *how, const char *text)
{
    fprintf(c->f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, how);
    for (const char *p = text; *p; p++) {
        if (*p == '<' || *p == '>' || *p == '&')
            fprintf(c->f, "&#%d;", *p);
        else if ((unsigned char)*p >= ' ')
            fputc(*p, c->f);
    }
    fprintf(c->f, "</text>\n");
}

static void draw_box(const struct chart *c, double x, double y, double w, double h,
                     const char *fill)
{
    fprintf(c->f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
            y, w, h, fill);
}

static void draw_legend(const struct chart *c, unsigned line, const char *fill, const char *name)
{
    double y = c->top + LINE * line;

    draw_box(c, LEGEND, y, 12, 12, fill);
    draw_text(c, LEGEND + 18, y + 11, "", name);
}

/* A round number between a fifth and a half of `most`. */
static uint64_t tick_of(uint64_t most)
{
    uint64_t tick = 1;

    while (tick * 10 * TICKS <= most * 2)
        tick *= 10;
    if (tick * 5 * 2 <= most)
        return tick * 5;
    return tick * 2 * 2 <= most ? tick * 2 : tick;
}

static double height_of(double value, double most)
{
    return most > 0 ? value / most * PANEL : 0;
}

static void draw_scale(const struct chart *c, const char *title, uint64_t most)
{
    uint64_t tick = tick_of(most);

    draw_text(c, LEFT, c->top - 12, "font-weight=\"bold\"", title);
    for (uint64_t at = 0; at <= most && tick; at += tick) {
        double y = c->top + PANEL - height_of((double)at, (double)most);

        draw_box(c, LEFT, y, RIGHT - LEFT, 0.5, colour_light(COLOUR_line));
        draw_text(c, LEFT - 6, y + 4, "text-anchor=\"end\"", count_text(at).at);
    }
}

/* ---- cycles ---- */

enum { PHASES = 4 };
static const char *const phase_name[PHASES] = { "compute, mean tile", "imbalance", "exchange",
                                                "sync" };
static const enum colour phase_colour[PHASES] = { COLOUR_compute, COLOUR_imbalance, COLOUR_exchange,
                                                  COLOUR_sync };

/* A bar: neighbouring layers of a block. */
struct block_cycles {
    const char *name;
    uint64_t phase[PHASES], all, bound;
};

static void add_bill(struct block_cycles *b, const struct layer_bill *l)
{
    b->phase[0] += l->compute - l->imbalance;
    b->phase[1] += l->imbalance;
    b->phase[2] += l->exchange;
    b->phase[3] += l->sync;
    b->all += l->cycles;
    b->bound += l->bound;
}

static uint32_t collect_blocks(const struct model_answer *m, struct block_cycles *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->layers->rows; i++) {
        const struct layer_bill *l = &m->layers->row[i];
        const struct layer_text *text = &m->layers->text[i];
        const char *name = text->block;

        if (l->layer == BILL_NONE)
            continue;
        if (!*name)
            name = text->name;
        if (!n || strcmp(out[n - 1].name, name))
            out[n++].name = name;
        add_bill(&out[n - 1], l);
    }
    return n;
}

static void draw_bar(const struct chart *c, const struct block_cycles *b, double x, double step,
                     uint64_t most)
{
    double y = c->top + PANEL, names = y + 10;
    char how[96];

    fprintf(c->f, "<g><title>%s: %s cycles</title>\n", b->name, count_text(b->all).at);
    for (unsigned k = 0; k < PHASES; k++) {
        double h = height_of((double)b->phase[k], (double)most);

        y -= h;
        if (b->phase[k])
            draw_box(c, x + step * 0.1, y, step * 0.8, h, colour_light(phase_colour[k]));
    }
    draw_box(c, x, c->top + PANEL - height_of((double)b->bound, (double)most), step, 2,
             colour_light(COLOUR_ink));
    fprintf(c->f, "</g>\n");
    snprintf(how, sizeof(how), "transform=\"rotate(-60 %.1f %.1f)\" text-anchor=\"end\"",
             x + step * 0.7, names);
    draw_text(c, x + step * 0.7, names, how, b->name);
}

static enum emu_status draw_cycles(const struct chart *c)
{
    const struct model_answer *m = c->m;
    struct block_cycles *b = emu_alloc(m->layers->rows + 1, sizeof(*b));
    uint64_t most = 1;
    uint32_t n;

    if (!b)
        return FAIL(NO_MEMORY, "the picture of %u layers", m->layers->rows);
    n = collect_blocks(m, b);
    for (uint32_t i = 0; i < n; i++)
        most = b[i].all > most ? b[i].all : most;
    draw_scale(c, "Cycles of each block; the black line is the lower bound of its work", most);
    for (uint32_t i = 0; i < n; i++)
        draw_bar(c, &b[i], LEFT + (double)(RIGHT - LEFT) / n * i, (double)(RIGHT - LEFT) / n, most);
    for (unsigned k = 0; k < PHASES; k++)
        draw_legend(c, k, colour_light(phase_colour[k]), phase_name[k]);
    ss_free(b);
    return EMU_OK;
}

/* ---- memory ---- */

/* A row for every tile: its bytes in all, its number, its bytes by category. */
enum { ROW_SUM, ROW_TILE, ROW_CATEGORIES };
struct tile_table {
    unsigned categories;
    uint32_t tiles, cap;
    uint64_t *row; /* owned */
};

static uint64_t *row_at(const struct tile_table *t, uint32_t i)
{
    return t->row + (size_t)i * (ROW_CATEGORIES + t->categories);
}

static void add_tile(void *ctx, uint32_t tile, const uint64_t *bytes)
{
    struct tile_table *t = ctx;
    uint64_t *row = row_at(t, t->tiles);

    EMU_ASSERT(t->tiles < t->cap);
    row[ROW_TILE] = tile;
    for (unsigned k = 0; k < t->categories; k++) {
        row[ROW_CATEGORIES + k] = bytes[k];
        row[ROW_SUM] += bytes[k];
    }
    t->tiles++;
}

static int fuller_first(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    if (x[ROW_SUM] != y[ROW_SUM])
        return x[ROW_SUM] < y[ROW_SUM] ? 1 : -1;
    return x[ROW_TILE] < y[ROW_TILE] ? -1 : 1;
}

/* Mean of categories 0 to k on tiles [first, end). */
static double column_mean(const struct tile_table *t, uint32_t first, uint32_t end, unsigned k)
{
    double sum = 0;

    for (uint32_t i = first; i < end; i++) {
        for (unsigned j = 0; j <= k; j++)
            sum += (double)row_at(t, i)[ROW_CATEGORIES + j];
    }
    return end > first ? sum / (end - first) : 0;
}

/* Draws the area below the sum of categories 0 to k, as steps. Areas are drawn from the last
 * category to the first, each over the one before. */
static void draw_area(const struct chart *c, const struct tile_table *t, unsigned k, uint64_t most)
{
    uint32_t columns = t->tiles < COLUMNS ? t->tiles : COLUMNS;
    double step = (double)(RIGHT - LEFT) / columns;

    fprintf(c->f, "<path fill=\"%s\" d=\"M%d %d", colour_of_category(ss_compiled_category(k), k),
            LEFT, c->top + PANEL);
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t first = (uint32_t)((uint64_t)t->tiles * i / columns);
        uint32_t end = (uint32_t)((uint64_t)t->tiles * (i + 1) / columns);

        fprintf(c->f, "V%.1fH%.1f",
                c->top + PANEL - height_of(column_mean(t, first, end, k), (double)most),
                LEFT + step * (i + 1));
    }
    fprintf(c->f, "V%dZ\"/>\n", c->top + PANEL);
}

static uint64_t category_sum(const struct tile_table *t, unsigned k)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < t->tiles; i++)
        sum += row_at(t, i)[ROW_CATEGORIES + k];
    return sum;
}

static void draw_tiles(const struct chart *c, struct tile_table *t)
{
    uint64_t most = c->m->arch.mem_bytes;
    unsigned shown = 0;
    char title[128];

    qsort(t->row, t->tiles, (ROW_CATEGORIES + t->categories) * sizeof(*t->row), fuller_first);
    snprintf(title, sizeof(title), "Bytes in use on %s tiles of %s bytes each, the fullest first",
             count_text(t->tiles).at, count_text(most).at);
    draw_scale(c, title, most);
    for (unsigned k = t->categories; k-- > 0;) {
        if (category_sum(t, k))
            draw_area(c, t, k, most);
    }
    for (unsigned k = 0; k < t->categories; k++) {
        if (category_sum(t, k))
            draw_legend(c, shown++, colour_of_category(ss_compiled_category(k), k),
                        ss_compiled_category(k));
    }
}

static enum emu_status draw_memory(const struct chart *c)
{
    struct tile_table t = { .cap = c->m->arch.tiles };
    enum emu_status s;

    while (ss_compiled_category(t.categories))
        t.categories++;
    t.row = emu_alloc(t.cap, (ROW_CATEGORIES + t.categories) * sizeof(*t.row));
    if (!t.row)
        return FAIL(NO_MEMORY, "the picture of %u tiles", t.cap);
    s = memory_facts_tiles(c->m->memory, add_tile, &t);
    if (s == EMU_OK)
        draw_tiles(c, &t);
    ss_free(t.row);
    return s;
}

/* ---- the whole ---- */

static void draw_head(const struct chart *c)
{
    const struct model_answer *m = c->m;
    char text[512];
    size_t n;

    snprintf(text, sizeof(text), "%s, %s, batch %u, on %s tiles of %s", m->facts.name,
             m->facts.input, m->facts.batch, count_text(m->arch.tiles).at,
             ss_arch_title(&m->arch).at);
    draw_text(c, LEFT, 32, "font-size=\"20\" font-weight=\"bold\"", text);
    if (!m->run)
        return;
    n = (size_t)snprintf(text, sizeof(text), "%s cycles, %.3f ms at %u MHz, %.0f %s",
                         count_text(model_cycles(m)).at, 1e3 * model_seconds(m), m->arch.clock_mhz,
                         m->facts.batch / model_seconds(m), model_rate_unit(&m->facts));
    if (m->scores) {
        uint32_t top[MODEL_TOP];

        model_top(m, 0, top);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "; best classes");
        for (uint32_t k = 0; k < MODEL_TOP && top[k] != UINT32_MAX; k++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %u (%.3f)", k ? "," : "", top[k],
                                  (double)m->scores[top[k]]);
    }
    draw_text(c, LEFT, 58, "font-size=\"15\"", text);
}

enum emu_status model_chart_draw(const struct model_answer *m, FILE *f)
{
    struct chart c = { .m = m, .f = f, .top = BARS_TOP };
    uint32_t memory_top = m->run ? BARS_TOP + PANEL + BARS_NAMES + 2 * LINE : BARS_TOP;
    uint32_t height = memory_top + PANEL + LINE;

    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d "
            "%u\" font-family=\"sans-serif\" font-size=\"13\">\n",
            WIDTH, height, WIDTH, height);
    draw_box(&c, 0, 0, WIDTH, height, colour_light(COLOUR_paper));
    draw_head(&c);
    if (m->run)
        TRY(draw_cycles(&c));
    c.top = memory_top;
    TRY(draw_memory(&c));
    fprintf(f, "</svg>\n");
    return EMU_OK;
}
