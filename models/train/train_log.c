/* train_log.c - rows of a training, as CSV and as a drawing. */
#include "models/train/train_log.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/profile/colours.h"

enum emu_status train_log_add(struct train_log *l, const struct train_row *r)
{
    if (l->rows == l->cap) {
        size_t cap = 2 * l->cap + 256;
        struct train_row *row = emu_realloc(l->row, cap, sizeof(*row));

        if (!row)
            return FAIL(NO_MEMORY, "a log of %zu steps", cap);
        l->row = row;
        l->cap = cap;
    }
    l->row[l->rows++] = *r;
    return EMU_OK;
}

void train_log_free(struct train_log *l)
{
    ss_free(l->row);
    memset(l, 0, sizeof(*l));
}

struct train_row train_log_epoch(const struct train_log *l, double epoch, int test)
{
    struct train_row sum = { .epoch = epoch, .test = test };

    for (size_t k = 0; k < l->rows; k++) {
        const struct train_row *r = &l->row[k];

        if (r->epoch != epoch || (r->test != 0) != test || !isfinite(r->loss))
            continue;
        sum.step = r->step;
        sum.rate = r->rate;
        sum.loss += r->loss * r->pictures;
        sum.accuracy += r->accuracy * r->pictures;
        sum.cycles += r->cycles;
        sum.pictures += r->pictures;
    }
    if (sum.pictures > 0) {
        sum.loss /= sum.pictures;
        sum.accuracy /= sum.pictures;
    }
    return sum;
}

void train_log_csv(const struct train_log *l, FILE *f)
{
    fprintf(f, "step,epoch,part,loss,accuracy,rate,cycles,pictures\n");
    for (size_t k = 0; k < l->rows; k++) {
        const struct train_row *r = &l->row[k];

        fprintf(f, "%.0f,%.0f,%s,%.9g,%.6f,%.9g,%.0f,%.0f\n", r->step, r->epoch,
                r->test != 0 ? "test" : "train", r->loss, r->accuracy, r->rate, r->cycles,
                r->pictures);
    }
}

/* ---- the drawing ---- */

enum { WIDTH = 900, LEFT = 70, RIGHT = 870, PANEL = 220, TOP = 70, GAP = 60, TICKS = 4 };
enum { SMOOTHED = 20 }; /* rows, at most, of which the thick line is the mean */

struct panel {
    const struct train_log *l;
    FILE *f;
    const char *name;
    int accuracy; /* else the loss */
    double top, most, steps;
};

static double number_of(const struct panel *p, const struct train_row *r)
{
    return p->accuracy ? 100 * r->accuracy : r->loss;
}

static double x_of(const struct panel *p, double step)
{
    return LEFT + (RIGHT - LEFT) * step / p->steps;
}

static double y_of(const struct panel *p, double v)
{
    return p->top + PANEL - PANEL * (p->most > 0 ? fmin(v, p->most) / p->most : 0);
}

/* A line through rows of one part; each is the mean of up to `over` rows that end with it. */
static void draw_line(const struct panel *p, int test, unsigned over, const char *colour,
                      double width)
{
    double sum = 0;
    size_t n = 0, begin = 0;

    fprintf(p->f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" points=\"", colour,
            width);
    for (size_t k = 0; k < p->l->rows; k++) {
        const struct train_row *r = &p->l->row[k];

        if ((r->test != 0) != test || !isfinite(r->loss))
            continue;
        sum += number_of(p, r);
        if (++n > over) {
            while ((p->l->row[begin].test != 0) != test || !isfinite(p->l->row[begin].loss))
                begin++;
            sum -= number_of(p, &p->l->row[begin++]);
            n--;
        }
        fprintf(p->f, "%.1f,%.1f ", x_of(p, r->step), y_of(p, sum / (double)n));
    }
    fprintf(p->f, "\"/>\n");
}

/* 1, 2 or 5 times a power of ten that divides `most` into a few parts. */
static double tick_of(double most)
{
    double tick = pow(10, floor(log10(most / TICKS)));

    return most / tick > 5 * TICKS ? 5 * tick : most / tick > 2 * TICKS ? 2 * tick : tick;
}

static void draw_axes(const struct panel *p)
{
    double tick = tick_of(p->most), step = tick_of(p->steps);

    fprintf(p->f, "<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", LEFT, p->top - 10,
            p->name);
    for (double v = 0; v <= p->most * 1.0001; v += tick)
        fprintf(p->f,
                "<path d=\"M%d %.1fH%d\" stroke=\"#cccccc\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%g</text>\n",
                LEFT, y_of(p, v), RIGHT, LEFT - 6, y_of(p, v) + 4, v);
    for (double s = 0; s <= p->steps; s += step < 1 ? 1 : step)
        fprintf(p->f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", x_of(p, s),
                p->top + PANEL + 16, s);
}

/* Steps that the strong line is the mean of. */
static unsigned smoothed_over(const struct panel *p)
{
    return (unsigned)fmax(1, fmin(SMOOTHED, p->steps / 20));
}

static void draw_panel(struct panel *p)
{
    for (size_t k = 0; k < p->l->rows; k++) {
        double v = number_of(p, &p->l->row[k]);

        p->most = !p->accuracy && isfinite(v) && v > p->most ? v : p->most;
    }
    if (!(p->most > 0))
        p->most = 1;
    draw_axes(p);
    draw_line(p, 0, 1, colour_light(COLOUR_step), 1);
    draw_line(p, 0, smoothed_over(p), colour_light(COLOUR_train), 2);
    draw_line(p, 1, 1, colour_light(COLOUR_test), 2);
}

void train_log_svg(const struct train_log *l, const char *title, FILE *f)
{
    struct panel loss = { .l = l, .f = f, .name = "Loss", .top = TOP, .steps = 1 };
    struct panel accuracy = { l, f, "Accuracy, %", 1, TOP + PANEL + GAP, 100, 1 };
    int height = TOP + 2 * PANEL + GAP + 50;

    for (size_t k = 0; k < l->rows; k++)
        loss.steps = accuracy.steps = fmax(loss.steps, l->row[k].step);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"24\" "
            "font-size=\"16\">",
            WIDTH, height, LEFT);
    for (const char *c = title; *c; c++) {
        if (*c == '<' || *c == '>' || *c == '&')
            fprintf(f, "&#%d;", *c);
        else
            fputc(*c, f);
    }
    fprintf(f,
            "</text>\n<text x=\"%d\" y=\"24\" text-anchor=\"end\"><tspan fill=\"%s\">"
            "each step</tspan> <tspan fill=\"%s\">training, mean of %u</tspan> "
            "<tspan fill=\"%s\">test</tspan></text>\n",
            RIGHT, colour_light(COLOUR_step), colour_light(COLOUR_train), smoothed_over(&loss),
            colour_light(COLOUR_test));
    draw_panel(&loss);
    draw_panel(&accuracy);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n</svg>\n",
            (LEFT + RIGHT) / 2, height - 12);
}
