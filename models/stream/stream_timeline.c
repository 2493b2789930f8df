/* stream_timeline.c - lanes of characters (see stream_timeline.h). */
#include "models/stream/stream_timeline.h"

#include <inttypes.h>
#include <string.h>

enum { COLUMNS = 72, BATCHES = 4 };

struct lane {
    char text[COLUMNS + 1];
};

struct timeline_window {
    uint64_t begin, end;
};

static void lane_clear(struct lane *l)
{
    memset(l->text, '.', COLUMNS);
    l->text[COLUMNS] = 0;
}

/* Draws a mark from cycle `begin` to `end`, at least one column wide. */
static void lane_draw(struct lane *l, const struct timeline_window *w, uint64_t begin, uint64_t end,
                      char mark)
{
    uint64_t span = w->end - w->begin, from, to;

    if (!begin || end < w->begin || begin >= w->end || end < begin)
        return;
    from = begin > w->begin ? (begin - w->begin) * COLUMNS / span : 0;
    to = end < w->end ? (end - w->begin) * COLUMNS / span : COLUMNS;
    for (uint64_t i = from; i < COLUMNS && (i < to || i == from); i++)
        l->text[i] = mark;
}

static char digit_of(size_t batch)
{
    return (char)('0' + batch % 10);
}

void stream_timeline(const struct stream_record *r, FILE *f)
{
    struct lane link, io, compute;
    struct timeline_window w;
    size_t first = r->first, end = first + BATCHES < r->end ? first + BATCHES : r->end;

    if (first >= end)
        return;
    w.begin = r->row[first].joined ? r->row[first].joined : r->row[first].asked;
    w.end = r->row[end].joined ? r->row[end].joined : r->row[end].asked;
    lane_clear(&link);
    lane_clear(&io);
    lane_clear(&compute);
    for (size_t i = 0; i < r->rows; i++) {
        const struct stream_batch *b = &r->row[i];

        lane_draw(&link, &w, b->begun, b->here, digit_of(i));
        lane_draw(&compute, &w, b->computing, b->computed, digit_of(i));
        if (b->joined)
            lane_draw(&io, &w, b->here, b->joined, digit_of(i));
    }
    for (size_t i = 0; i < r->rows; i++) {
        const struct stream_batch *b = &r->row[i];

        lane_draw(&io, &w, b->joined, b->computing, 'J');
        lane_draw(&compute, &w, b->joined, b->computing, 'J');
    }
    fprintf(f, "\ntimeline of batches %zu to %zu, %" PRIu64 " cycles a character:\n", first, end,
            (w.end - w.begin) / COLUMNS);
    fprintf(f, "  link     %s  a batch crosses the link\n", link.text);
    fprintf(f, "  IO       %s  it waits for its join, the last batch that arrived\n", io.text);
    fprintf(f, "  compute  %s  it is computed; J: joining, .: waiting\n", compute.text);
}
