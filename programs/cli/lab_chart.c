/* lab_chart.c - draws a run as SVG: a matrix of who sends to whom, a bar for each superstep, and
 * two for prediction and run. Of a system of several chips each has a panel of its own.
 *
 * Colours are those of Okabe and Ito, which the colour-blind tell apart; each has one meaning.
 */
#include "programs/cli/lab_chart.h"

#include <inttypes.h>
#include <stdlib.h>

#include "emu/emu.h"
#include "emu/profile/colours.h"

enum {
    WIDTH = 1120,
    MATRIX_X = 80,
    MATRIX_Y = 110,
    MATRIX = 400,
    CELLS_MAX = 64,
    BARS_X = 640,
    BARS = 440,
    BARS_Y = 110,
    ROWS_MAX = 24,
    ROW = 16,
    PANEL = MATRIX + 170, /* from one chip to the next */
    CHIPS_MAX = 16,       /* that have one */
    PARTS_OF_ONE = 5,
    PARTS = 7 /* of several chips */
};

static const struct {
    const char *name;
    enum colour colour;
} parts[PARTS] = { { "exchange", COLOUR_exchange },
                   { "compute (mean tile)", COLOUR_compute },
                   { "imbalance (slowest tile)", COLOUR_imbalance },
                   { "wait for other groups, host", COLOUR_wait },
                   { "sync", COLOUR_sync },
                   { "words of other chips", COLOUR_link },
                   { "other chips, and the sync with them", COLOUR_outer } };

static int parts_of(const struct run *r)
{
    return r->chips > 1 ? PARTS : PARTS_OF_ONE;
}

/* Several supersteps in one bar, where there are many. */
struct bar {
    uint64_t first, last;
    double cycles[PARTS];
    uint64_t h;
};

static void text(FILE *f, double x, double y, const char *anchor, const char *what)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, what);
}

static void rect(FILE *f, double x, double y, double w, double h, const char *colour,
                 const char *title)
{
    fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">", x, y, w,
            h, colour);
    fprintf(f, "<title>%s</title></rect>\n", title);
}

/* ---- who sends to whom ---- */

struct matrix {
    uint32_t tiles, cells, each; /* tiles of a cell */
    double *sum;                 /* owned [cells][cells], words */
    uint64_t out, in;            /* of the busiest tiles */
    uint32_t sender, receiver;   /* these */
    double largest;
};

static enum emu_status matrix_of(const struct run *r, uint32_t chip, struct matrix *m)
{
    const uint64_t *pairs = exchange_pairs(machine_exchange(machine_of_chip(r, chip)));
    uint32_t n = ss_image_arch(r->im)->tiles;

    *m = (struct matrix){ .tiles = n, .each = (n + CELLS_MAX - 1) / CELLS_MAX };
    m->cells = (n + m->each - 1) / m->each;
    m->sum = emu_alloc((size_t)m->cells * m->cells, sizeof(*m->sum));
    if (!m->sum)
        return FAIL(NO_MEMORY, "a chart");
    for (uint32_t a = 0; pairs && a < n; a++) {
        uint64_t out = 0, in = 0;

        for (uint32_t b = 0; b < n; b++) {
            double *cell = &m->sum[(a / m->each) * m->cells + b / m->each];

            out += pairs[(size_t)a * n + b];
            in += pairs[(size_t)b * n + a];
            *cell += (double)pairs[(size_t)a * n + b];
            m->largest = *cell > m->largest ? *cell : m->largest;
        }
        if (out > m->out)
            m->out = out, m->sender = a;
        if (in > m->in)
            m->in = in, m->receiver = a;
    }
    return EMU_OK;
}

/* From light to dark: few to many words. */
static void shade(double part, char colour[8])
{
    static const int light[3] = { 222, 235, 247 }, dark[3] = { 8, 48, 107 };
    int c[3];

    for (int i = 0; i < 3; i++)
        c[i] = light[i] + (int)(part * (dark[i] - light[i]));
    snprintf(colour, 8, "#%02x%02x%02x", c[0] & 255, c[1] & 255, c[2] & 255);
}

static void draw_scale(FILE *f, const struct matrix *m)
{
    char line[120], colour[8];
    int y = MATRIX_Y + MATRIX + 58;

    for (int i = 0; i < 20; i++) {
        shade(i / 19.0, colour);
        rect(f, MATRIX_X + 8 * i, y, 8, 12, colour, "words");
    }
    text(f, MATRIX_X, y + 28, "start", "few");
    snprintf(line, sizeof(line), "%.0f words%s", m->largest,
             m->each > 1 ? " between two groups of tiles" : " from one tile to another");
    text(f, MATRIX_X + 168, y + 11, "start", line);
    text(f, MATRIX_X + 160, y + 28, "end", "many");
}

static void draw_axes(FILE *f, const struct matrix *m)
{
    char line[160];

    fprintf(f,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#444\"/>\n",
            MATRIX_X, MATRIX_Y, MATRIX, MATRIX);
    text(f, MATRIX_X, MATRIX_Y + MATRIX + 16, "start", "0");
    snprintf(line, sizeof(line), "%u", m->tiles - 1);
    text(f, MATRIX_X + MATRIX, MATRIX_Y + MATRIX + 16, "end", line);
    text(f, MATRIX_X + MATRIX / 2.0, MATRIX_Y + MATRIX + 32, "middle", "tile that receives");
    text(f, MATRIX_X - 6, MATRIX_Y + 10, "end", "0");
    text(f, MATRIX_X - 6, MATRIX_Y + MATRIX, "end", line);
    fprintf(f,
            "<text transform=\"translate(%d %d) rotate(-90)\" text-anchor=\"middle\">tile that "
            "sends</text>\n",
            MATRIX_X - 30, MATRIX_Y + MATRIX / 2);
    snprintf(line, sizeof(line), "busiest sender: tile %u, for %" PRIu64 " words that others take",
             m->sender, m->out);
    text(f, MATRIX_X, MATRIX_Y + MATRIX + 112, "start", line);
    snprintf(line, sizeof(line), "busiest receiver: tile %u, %" PRIu64 " words", m->receiver,
             m->in);
    text(f, MATRIX_X, MATRIX_Y + MATRIX + 130, "start", line);
}

static void draw_matrix(FILE *f, const struct matrix *m)
{
    double side = (double)MATRIX / m->cells;
    char colour[8], title[120];

    fprintf(f, "<text x=\"%d\" y=\"%d\" class=\"head\">Who sends to whom</text>\n", MATRIX_X,
            MATRIX_Y - 14);
    for (uint32_t a = 0; a < m->cells; a++) {
        for (uint32_t b = 0; b < m->cells; b++) {
            double words = m->sum[a * m->cells + b];

            if (words == 0)
                continue;
            shade(words / m->largest, colour);
            snprintf(title, sizeof(title), "tile %u%s to %u%s: %.0f words", a * m->each,
                     m->each > 1 ? ".." : "", b * m->each, m->each > 1 ? ".." : "", words);
            rect(f, MATRIX_X + b * side, MATRIX_Y + a * side, side, side, colour, title);
        }
    }
    draw_axes(f, m);
    if (m->largest > 0)
        draw_scale(f, m);
    else
        text(f, MATRIX_X + MATRIX / 2.0, MATRIX_Y + MATRIX / 2.0, "middle",
             "no words are exchanged");
}

/* ---- supersteps ---- */

static void add_step(struct bar *bar, const struct bill *b, uint64_t index)
{
    const double cycles[PARTS] = { (double)b->exchange,  (double)(b->compute - b->imbalance),
                                   (double)b->imbalance, (double)(b->wait + b->host),
                                   (double)b->sync,      (double)b->link,
                                   (double)b->outer };

    for (int k = 0; k < PARTS; k++)
        bar->cycles[k] += cycles[k];
    bar->h += b->h_words;
    bar->last = index;
}

/* Group 0's supersteps in at most ROWS_MAX bars. */
static unsigned bars_of(const struct run *r, uint32_t chip, struct bar bar[ROWS_MAX])
{
    const struct record *record = r->chip[chip].record;
    uint64_t steps = machine_supersteps(machine_of_chip(r, chip), 0) + 1,
             each = (steps + ROWS_MAX - 1) / ROWS_MAX;
    unsigned n = 0;

    for (size_t i = 0; i < record_count(record); i++) {
        const struct record_step *s = record_at(record, i);
        struct bill b = ss_bill_of_step(record, i);

        if (s->group || s->index / each >= ROWS_MAX)
            continue;
        if (s->index % each == 0) {
            bar[s->index / each] = (struct bar){ .first = s->index };
            n = (unsigned)(s->index / each) + 1;
        }
        add_step(&bar[s->index / each], &b, s->index);
    }
    return n;
}

static double length_of(const struct bar *b)
{
    double sum = 0;

    for (int k = 0; k < PARTS; k++)
        sum += b->cycles[k];
    return sum;
}

static void draw_legend(FILE *f, int shown, double y)
{
    for (int k = 0; k < shown; k++) {
        double x = BARS_X + (k % 2) * 190;

        rect(f, x, y + (k / 2) * 18 - 10, 12, 12, colour_light(parts[k].colour), parts[k].name);
        text(f, x + 18, y + (k / 2) * 18, "start", parts[k].name);
    }
}

static void draw_bar(FILE *f, const struct bar *b, double y, double scale)
{
    char line[120];
    double x = BARS_X;

    if (b->first == b->last)
        snprintf(line, sizeof(line), "%" PRIu64, b->first);
    else
        snprintf(line, sizeof(line), "%" PRIu64 "-%" PRIu64, b->first, b->last);
    text(f, BARS_X - 8, y + ROW - 5, "end", line);
    for (int k = 0; k < PARTS; k++) {
        snprintf(line, sizeof(line), "%s: %.0f cycles, h %" PRIu64 " words", parts[k].name,
                 b->cycles[k], b->h);
        if (b->cycles[k] > 0)
            rect(f, x, y, b->cycles[k] * scale, ROW - 4, colour_light(parts[k].colour), line);
        x += b->cycles[k] * scale;
    }
    snprintf(line, sizeof(line), "%.0f, h %" PRIu64, length_of(b), b->h);
    text(f, x + 5, y + ROW - 5, "start", line);
}

/* Returns where the next thing may begin. */
static double draw_steps(FILE *f, const struct run *r, uint32_t chip)
{
    struct bar bar[ROWS_MAX];
    unsigned n = bars_of(r, chip, bar);
    double longest = 1, y = BARS_Y;

    fprintf(f,
            "<text x=\"%d\" y=\"%d\" class=\"head\">Supersteps%s: cycles of their parts, h in "
            "words</text>\n",
            BARS_X - 70, BARS_Y - 14, n && bar[0].last > bar[0].first ? ", several in a bar" : "");
    for (unsigned i = 0; i < n; i++)
        longest = length_of(&bar[i]) > longest ? length_of(&bar[i]) : longest;
    for (unsigned i = 0; i < n; i++, y += ROW)
        draw_bar(f, &bar[i], y, (BARS - 120) / longest);
    draw_legend(f, parts_of(r), y + 24);
    return y + 54 + 18 * ((parts_of(r) + 1) / 2 - 1);
}

/* ---- prediction ---- */

static void draw_cost(FILE *f, const char *name, const struct chart_cost *c, double y, double scale)
{
    static const char *const term[] = { "w", "g h", "l" };
    static const enum colour colour[] = { COLOUR_compute, COLOUR_exchange, COLOUR_sync };
    const double cycles[] = { c->w, c->h, c->l };
    double x = BARS_X;
    char line[80];

    text(f, BARS_X - 8, y + ROW - 2, "end", name);
    for (int k = 0; k < 3; k++) {
        snprintf(line, sizeof(line), "%s: %.0f cycles", term[k], cycles[k]);
        rect(f, x, y, cycles[k] * scale, ROW + 2, colour_light(colour[k]), line);
        x += cycles[k] * scale;
    }
    snprintf(line, sizeof(line), "%.0f", c->w + c->h + c->l);
    text(f, x + 5, y + ROW - 2, "start", line);
}

static void draw_costs(FILE *f, double y, const struct chart_cost *p, const struct chart_cost *m)
{
    double a = p->w + p->h + p->l, b = m->w + m->h + m->l, longest = a > b ? a : b;
    double scale = (BARS - 60) / (longest > 0 ? longest : 1);

    fprintf(f,
            "<text x=\"%d\" y=\"%.1f\" class=\"head\">Predicted and measured, cycles: w (blue) + "
            "g h (orange) + l and the rest (grey)</text>\n",
            BARS_X - 70, y);
    draw_cost(f, "predicted", p, y + 14, scale);
    draw_cost(f, "measured", m, y + 40, scale);
}

/* ---- the picture ---- */

/* Everything of one chip; *y: where the next thing may begin. */
static enum emu_status draw_chip(FILE *f, const struct run *r, uint32_t chip, double *y)
{
    struct matrix m;

    TRY(matrix_of(r, chip, &m));
    if (r->chips > 1)
        fprintf(f,
                "<text x=\"20\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">chip %" PRIu32
                ": %" PRIu64 " cycles</text>\n",
                MATRIX_Y - 30, chip, machine_cycles(machine_of_chip(r, chip)));
    draw_matrix(f, &m);
    *y = draw_steps(f, r, chip);
    ss_free(m.sum);
    return EMU_OK;
}

static void draw_head(FILE *f, const char *name, const struct run *r, int height)
{
    char chips[32] = "";

    if (r->chips > 1)
        snprintf(chips, sizeof(chips), "%" PRIu32 " chips of ", r->chips);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\" font-family=\"sans-serif\" font-size=\"12\">\n<style>.head { font-size: 14px; "
            "font-weight: bold }</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    fprintf(
        f,
        "<text x=\"20\" y=\"36\" font-size=\"18\" font-weight=\"bold\">%s on %s%s: %" PRIu64
        " cycles</text>\n<text x=\"20\" y=\"58\">%u tiles, %zu of them used; cycles of the tile "
        "clock, words of 4 bytes</text>\n",
        name, chips, ss_arch_title(ss_image_arch(r->im)).at, pod_cycles(r->pod),
        ss_image_arch(r->im)->tiles * r->chips,
        image_tile_count(r->im) * r->chips / image_chip_count(r->im));
}

enum emu_status lab_chart(const char *path, const char *name, const struct run *r,
                          const struct chart_cost *predicted, const struct chart_cost *measured)
{
    uint32_t chips = r->chips < CHIPS_MAX ? r->chips : CHIPS_MAX;
    int top = r->chips > 1 ? 30 : 0; /* where chips have titles */
    enum emu_status s = EMU_OK;
    struct output_file *out;
    FILE *f;

    TRY(output_open(path, &out));
    f = output_stream(out);
    draw_head(f, name, r, top + MATRIX_Y + (int)chips * PANEL - 10);
    for (uint32_t chip = 0; chip < chips && s == EMU_OK; chip++) {
        double y = 0;

        fprintf(f, "<g transform=\"translate(0 %d)\">\n", top + (int)chip * PANEL);
        s = draw_chip(f, r, chip, &y);
        if (s == EMU_OK && !chip && predicted && measured)
            draw_costs(f, y, predicted, measured);
        fprintf(f, "</g>\n");
    }
    fprintf(f, "</svg>\n");
    return output_end(out, s);
}
