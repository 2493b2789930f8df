/* run_isa.c - every row of the instruction table: ordinary, edge and faulting cases, in every mode
 * that must agree.
 *
 *   run_isa [--mode NAME] [--keep-going] FILE.isa[:LINE] ...
 *
 * TAP on stdout, one line per block. With several whole files it also demands that every form of
 * insn.def has an ordinary row and an edge row, and that every form that accesses memory has a
 * misaligned and an out-of-range row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/isa/insn_ops.h"
#include "tests/isa/isa_run.h"

/* What the rows of one form have shown. */
struct cover {
    unsigned ok, edge, misaligned, outside,
        always; /* always: faults that are the meaning of the instruction */
};

struct totals {
    const char *only_mode; /* NULL: all */
    int line;              /* 0: all */
    int cover_all;
    unsigned tests, failed, rows;
    unsigned long runs;
    struct cover cover[FORM_COUNT];
};

static void count_fault(struct totals *t, const struct isa_program *p, const struct isa_row *row)
{
    struct cover *c = &t->cover[p->block->form->form];
    const struct arch *a = p->run->arch;
    uint64_t address;

    if (row->fault == FAULT_EXERR || row->fault == FAULT_INVALID_INSTR ||
        row->fault == FAULT_PBRK0 || row->fault == FAULT_PBRK1)
        c->always++;
    if (row->fault != FAULT_INVALID_ADDR ||
        !isa_token_value(p, row->address.text, SHAPE_LONE, 0, &address))
        return;
    if (address - a->mem_base >= a->mem_bytes)
        c->outside++;
    else
        c->misaligned++;
}

static void count_row(struct totals *t, const struct isa_program *p, const struct isa_row *row)
{
    struct cover *c = &t->cover[p->block->form->form];

    t->rows++;
    if (row->kind == ROW_OK)
        c->ok++;
    else if (row->kind == ROW_EDGE)
        c->edge++;
    else
        count_fault(t, p, row);
}

/* All modes of one row. Returns the number of failures. */
static unsigned run_row(struct totals *t, struct isa_program *p, size_t i)
{
    const struct isa_block *b = p->block;
    unsigned failures = 0;

    count_row(t, p, &b->row[i]);
    for (unsigned k = 0; k < ISA_MODES; k++) {
        struct isa_mode m = isa_mode_at(k);
        char name[32], why[400] = "";

        isa_mode_name(m, name);
        if (!isa_mode_applies(b, m) || (t->only_mode && strcmp(name, t->only_mode)))
            continue;
        t->runs++;
        if (isa_run_row(p, i, m, why, sizeof(why)))
            continue;
        printf("# %s:%d: %s: %s\n", b->file, b->row[i].line, name, why);
        printf("# again: build/obj/release/isa/run_isa --mode %s %s:%d\n", name, b->file,
               b->row[i].line);
        failures++;
    }
    return failures;
}

static int has_text_column(const struct isa_block *b)
{
    for (unsigned i = 0; i < b->in_count; i++) {
        if (b->in[i].kind == PLACE_TEXT)
            return 1;
    }
    return 0;
}

static unsigned run_rows(struct totals *t, const struct isa_block *b)
{
    struct isa_program *p = NULL;
    unsigned failures = 0;

    for (size_t i = 0; i < b->row_count; i++) {
        if (t->line && b->row[i].line != t->line && b->line != t->line)
            continue;
        if (!p || has_text_column(b)) {
            isa_program_free(p);
            if (isa_program_new(b, &b->row[i], &p) != EMU_OK || isa_program_check(p) != EMU_OK) {
                printf("# %s:%d: %s\n", b->file, b->row[i].line, ss_error());
                failures++;
                isa_program_free(p);
                p = NULL;
                continue;
            }
        }
        failures += run_row(t, p, i);
    }
    isa_program_free(p);
    return failures;
}

static int block_has_line(const struct isa_block *b, int line)
{
    for (size_t i = 0; i < b->row_count; i++) {
        if (b->row[i].line == line)
            return 1;
    }
    return b->line == line;
}

static void run_file(struct totals *t, const char *path)
{
    struct isa_file f;

    if (isa_file_read(path, &f) != EMU_OK) {
        printf("not ok %u - %s\n# %s\n", ++t->tests, path, ss_error());
        t->failed++;
    } else {
        for (size_t i = 0; i < f.block_count; i++) {
            const struct isa_block *b = &f.block[i];
            unsigned failures;

            if (t->line && !block_has_line(b, t->line))
                continue;
            failures = run_rows(t, b);
            t->failed += failures != 0;
            printf("%s %u - %s:%d %s\n", failures ? "not ok" : "ok", ++t->tests, b->file, b->line,
                   b->form->name);
        }
    }
    isa_file_free(&f);
}

static int accesses_memory(const struct insn_form *f)
{
    return (!strncmp(f->mnemonic, "ld", 2) || !strncmp(f->mnemonic, "st", 2)) &&
           strcmp(f->mnemonic, "ldconst") && strcmp(f->mnemonic, "strap");
}

static int accesses_bytes(const struct insn_form *f)
{
    return !strncmp(f->mnemonic, "ld", 2) && f->mnemonic[2] && f->mnemonic[3] == '8';
}

/* One test: every form has what it needs. */
static void check_cover(struct totals *t)
{
    unsigned missing = 0;

    for (unsigned i = 0; i < FORM_COUNT; i++) {
        const struct insn_form *f = isa_form(i);
        const struct cover *c = &t->cover[i];
        const char *what = NULL;

        if (c->always >= 2 && !c->ok)
            continue; /* it always faults: there is nothing else to show */
        if (!c->ok)
            what = "an ordinary row";
        else if (!c->edge)
            what = "an edge row";
        else if (accesses_memory(f) && !accesses_bytes(f) && !c->misaligned)
            what = "a misaligned row";
        else if (accesses_memory(f) && !c->outside)
            what = "an out-of-range row";
        if (!what)
            continue;
        printf("# %s (%s %s): %s is missing\n", f->name, f->mnemonic, f->operands, what);
        missing++;
    }
    t->failed += missing != 0;
    printf("%s %u - every one of %d forms has its rows\n", missing ? "not ok" : "ok", ++t->tests,
           (int)FORM_COUNT);
}

static int usage(void)
{
    fprintf(stderr, "usage: run_isa [--mode fast-six-bundle] arch_isa(&FILE)[:LINE] ...\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct totals t;
    int files = 0;

    for (int i = 1; i < argc; i++) {
        char *colon = strrchr(argv[i], ':');

        if (!strcmp(argv[i], "--mode")) {
            if (++i == argc)
                return usage();
            t.only_mode = argv[i];
            continue;
        }
        if (argv[i][0] == '-')
            return usage();
        t.line = 0;
        if (colon && colon[1] >= '0' && colon[1] <= '9') {
            t.line = atoi(colon + 1);
            *colon = 0;
        }
        t.cover_all += !t.line;
        files++;
        run_file(&t, argv[i]);
    }
    if (!files)
        return usage();
    if (t.cover_all > 1 && !t.only_mode)
        check_cover(&t);
    printf("1..%u\n# %u rows, %lu runs, %u of %u tests failed\n", t.tests, t.rows, t.runs, t.failed,
           t.tests);
    return t.failed != 0;
}
