/* classic_meaning.c - what the integer codelets of programs/lab/codelet compute, in C: with it the
 * interpreter runs graphs of the classic programs. Fields are in the order in which the programs
 * name them; the assembly says what each is.
 */
#include "programs/lab/classic/classic.h"

#include <string.h>

static uint32_t *words(const struct codelet_call *c, unsigned field)
{
    return c->arg[field].data;
}

static uint32_t number(const struct codelet_call *c, unsigned field)
{
    return c->arg[field].value;
}

static void prefix(const struct codelet_call *c)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < number(c, 3); i++)
        words(c, 1)[i] = sum += words(c, 0)[i];
    words(c, 2)[0] = sum;
}

static void offset(const struct codelet_call *c)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < number(c, 4); i++)
        sum += words(c, 1)[i];
    for (uint32_t i = 0; i < number(c, 3); i++)
        words(c, 2)[i] = words(c, 0)[i] + sum;
}

/* Inserts the numbers of x into out, where those from `begin` on are sorted. */
static void insert(uint32_t *out, uint32_t begin, uint32_t i, uint32_t x)
{
    for (; i > begin && x < out[i - 1]; i--)
        out[i] = out[i - 1];
    out[i] = x;
}

static void sort_part(const struct codelet_call *c)
{
    uint32_t part = number(c, 3);

    for (uint32_t i = 0; i < number(c, 2); i++)
        insert(words(c, 1), i / part * part, i, words(c, 0)[i]);
}

static void merge(const struct codelet_call *c)
{
    const uint32_t *x = words(c, 0);
    uint32_t n = number(c, 3), part = number(c, 4);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = i % part;

        for (uint32_t k = 0; k < n; k++) {
            if (k / part != i / part)
                rank += k < i ? x[k] <= x[i] : x[k] < x[i];
        }
        words(c, 1)[i] = rank;
        words(c, 2)[rank] = x[i];
    }
}

static void keep(const struct codelet_call *c)
{
    const uint32_t *a = words(c, 0), *b = words(c, 1);
    uint32_t *out = words(c, 2), n = number(c, 4), i = 0, k = 0;

    if (!number(c, 3)) {
        for (uint32_t m = 0; m < n; m++)
            out[m] = b[k] < a[i] ? b[k++] : a[i++];
        return;
    }
    for (uint32_t m = n; m-- > 0;)
        out[m] = a[n - 1 - i] < b[n - 1 - k] ? b[n - 1 - k++] : a[n - 1 - i++];
}

static void buckets(const struct codelet_call *c)
{
    const uint32_t *x = words(c, 0), *sample = words(c, 1);
    uint32_t *out = words(c, 2), k = number(c, 3), room = number(c, 4), n = number(c, 5), i = 0;

    memset(out, 0xff, (size_t)k * room * sizeof(*out));
    for (uint32_t b = 0; b < k; b++) {
        uint32_t count = 0;

        for (; i < n && (b + 1 == k || x[i] < sample[(b + 1) * number(c, 7)]); i++) {
            if (count < room)
                out[b * room + count++] = x[i];
        }
    }
}

static void jump(const struct codelet_call *c)
{
    const uint32_t *next = words(c, 0), *rank = words(c, 1);

    for (uint32_t i = 0; i < number(c, 5); i++) {
        uint32_t own = number(c, 4) + i, to = next[own];

        words(c, 2)[i] = next[to];
        words(c, 3)[i] = rank[own] + rank[to];
    }
}

static void visit(const struct codelet_call *c)
{
    const uint32_t *level = words(c, 0), *edge = words(c, 1);
    uint32_t degree = number(c, 4);

    for (uint32_t i = 0; i < number(c, 5); i++) {
        int32_t least = (int32_t)words(c, 2)[i] - 1;

        for (uint32_t k = 0; k < degree; k++) {
            int32_t there = (int32_t)level[edge[i * degree + k]];

            least = there < least ? there : least;
        }
        words(c, 3)[i] = (uint32_t)least + 1;
    }
}

static void life(const struct codelet_call *c)
{
    const uint32_t *x = words(c, 0);
    uint32_t *y = words(c, 1), rows = number(c, 2), w = number(c, 3);

    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t *row = x + (size_t)(r + 1) * w;

        y[r * w] = y[r * w + w - 1] = 0;
        for (uint32_t i = 1; i + 1 < w; i++) {
            const uint32_t *up = row + i - w, *down = row + i + w;
            uint32_t sum =
                up[-1] + up[0] + up[1] + row[i - 1] + row[i + 1] + down[-1] + down[0] + down[1];

            y[r * w + i] = (sum | row[i]) == 3;
        }
    }
}

codelet_meaning *classic_meaning(const char *codelet)
{
    static const struct {
        const char *name;
        codelet_meaning *meaning;
    } all[] = {
        { "prefix_u32", prefix }, { "offset_u32", offset }, { "sort_part_u32", sort_part },
        { "merge_u32", merge },   { "keep_u32", keep },     { "buckets_u32", buckets },
        { "jump_u32", jump },     { "visit_u32", visit },   { "life_u32", life },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(all); i++) {
        if (!strcmp(all[i].name, codelet))
            return all[i].meaning;
    }
    return NULL;
}
