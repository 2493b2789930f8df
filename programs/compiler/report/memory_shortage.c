/* memory_shortage.c - a program that does not fit, on one screen: how much is missing on how many
 * tiles, what fills the fullest one, what would help. ss_compiled_report() has all of it.
 */
#include <string.h>

#include "programs/compiler/report/memory_report.h"
#include "programs/compiler/report/count_text.h"
#include "programs/compiler/report/memory_advice.h"

enum { OWNERS_SHOWN = 4, ADVICE_SHOWN = 5, COLUMNS = 98, INDENT = 5 };

static uint64_t need_of(const struct memory_report *a, uint32_t tile)
{
    const struct tile_place *p = &a->c->place.tile[tile];
    uint64_t region0 = ss_graph_arch(a->c->graph)->region0_bytes;

    /* A tile whose code alone is longer than region 0 may have room for it elsewhere. */
    return p->code_need > region0 && p->code_need > p->need_bytes ? p->code_need : p->need_bytes;
}

static void print_need(const struct memory_report *a, uint32_t worst, FILE *f)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    const struct tile_place *p = &a->c->place.tile[worst];
    uint64_t need = need_of(a, worst), all = 0;

    for (uint32_t t = 0; t < a->tiles; t++)
        all += need_of(a, t);
    fprintf(f, "OUT OF MEMORY: %s%s of %s tiles of %s do not fit in %s bytes each\n",
            report_chip(a->c).at, count_text(a->over).at, count_text(a->tiles).at,
            ss_arch_title(arch).at, count_text(arch->mem_bytes).at);
    if (need > arch->mem_bytes)
        fprintf(f, "  The fullest, tile %u, needs %s bytes (%.0f %%): %s are missing.\n",
                a->c->lowered->used_tile[worst], count_text(need).at,
                100.0 * (double)need / arch->mem_bytes, count_text(need - arch->mem_bytes).at);
    if (p->code_need > arch->region0_bytes)
        fprintf(f, "  Its code takes %s bytes, and region 0, where code must be, has %s.\n",
                count_text(p->code_need).at, count_text(arch->region0_bytes).at);
    fprintf(f, "  All tiles together need %.1f MB; the chip has %.1f MB.\n", (double)all / 1e6,
            (double)arch->tiles * arch->mem_bytes / 1e6);
}

static enum emu_status print_owners(const struct memory_report *a, uint32_t worst, FILE *f)
{
    struct owner_bytes *o;
    char moment[160];
    size_t n;

    describe_step(a->c->lowered, a->c->place.tile[worst].peak_step, moment, sizeof(moment));
    TRY(memory_report_owners(a, worst, &o, &n));
    fprintf(f, "\nWhat fills tile %u at %.60s\n", a->c->lowered->used_tile[worst], moment);
    for (size_t i = 0; i < n && i < OWNERS_SHOWN; i++)
        fprintf(f, "  %14s bytes  %-16s %.60s\n", count_text(o[i].bytes).at,
                category_name(o[i].category), o[i].owner);
    ss_free(o);
    return EMU_OK;
}

/* A sentence, its lines broken at blanks, all but the first indented. */
static void print_wrapped(const char *text, FILE *f)
{
    size_t column = INDENT;

    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");

        if (word > text && column + 1 + n > COLUMNS) {
            fprintf(f, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (word > text) {
            fputc(' ', f);
            column++;
        }
        fprintf(f, "%.*s", (int)n, word);
        column += n;
        word += n;
    }
    fputc('\n', f);
}

static enum emu_status print_advice(const struct memory_report *a, FILE *f)
{
    struct advice v;
    enum emu_status s = shortage_advice(a, &v);

    if (s == EMU_OK && v.line.count)
        fprintf(f, "\nWhat would help\n");
    for (size_t i = 0; i < v.line.count && i < ADVICE_SHOWN && s == EMU_OK; i++) {
        fprintf(f, "  %zu. ", i + 1);
        print_wrapped(v.line.at[i], f);
    }
    advice_free(&v);
    return s;
}

static enum emu_status print_shortage(const struct memory_report *a, FILE *f)
{
    uint32_t worst = a->fullest[0];

    print_need(a, worst, f);
    TRY(print_owners(a, worst, f));
    TRY(print_advice(a, f));
    fprintf(f, "More: --report (all tiles that do not fit, all categories), --json\n");
    return EMU_OK;
}

static void print_chip(const struct compiled *c, FILE *f)
{
    struct memory_report a;
    enum emu_status s = memory_report_init(c, &a);

    if (s == EMU_OK && a.over)
        s = print_shortage(&a, f);
    if (s != EMU_OK)
        fprintf(f, "report: %s\n", ss_error());
    memory_report_free(&a);
}

void ss_compiled_shortage(const struct compiled *c, FILE *f)
{
    print_chip(c, f);
    for (uint32_t k = 1; c && k < c->chips; k++)
        print_chip(c->chip[k], f);
}
