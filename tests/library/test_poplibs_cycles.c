/* test_poplibs_cycles.c - our codelets take no more cycles than the published PopLibs codelet for
 * the same job, both executed here on the same edges: next to each other, and far apart in
 * region 1.
 *
 * SUPERSTEP_POPLIBS=DIR: a checkout of PopLibs; without it the test is skipped. With
 * SUPERSTEP_VERBOSE=1 it prints every pair.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "emu/arch/arch_numbers.h"
#include "emu/isa/insn_ops.h"
#include "tests/fixtures/kernel_fixture.h"

struct pair {
    const char *ours, *fields, *file, *symbol, *state;
};

static const struct pair pairs[] = {
#define POPLIBS(ours, fields, file, symbol, state) { #ours, fields, file, symbol, state },
#include "tests/library/poplibs_rows.def"
#undef POPLIBS
};

enum { STATE_WORDS = 8, SCRATCH_BYTES = 256 };

/* A PopLibs codelet on the tile of a rig that has just run ours: edges stay where they are. */
struct theirs {
    struct asm_unit *unit;
    uint32_t free;   /* next free byte of region 0 */
    uint32_t scalar; /* where the value of a scalar stands; 0: nowhere yet */
    uint32_t stride; /* words from the state of a worker to that of the next */
};

static void read_fields(struct codelet_case *c, const struct codelet *row, const char *fields)
{
    while (*fields) {
        char name[32], *rest;
        int length = 0, i;

        if (sscanf(fields, " %31[^= ]=%n", name, &length) != 1 || !length)
            break;
        i = codelet_field_find(row, name);
        assert_true(i >= 0);
        if (field_is_edge(row->field[i].kind))
            c->elements[i] = (uint32_t)strtoul(fields + length, &rest, 0);
        else
            c->value[i] = (uint32_t)strtoul(fields + length, &rest, 0);
        fields = rest;
    }
}

/* The part of an edge that a worker gets: whole vectors, the last one the rest. Returns its
 * elements, *at is its address. */
static uint32_t part_of(const struct kernel_fixture *r, const struct codelet_case *c,
                        unsigned field, unsigned worker, uint32_t *at)
{
    uint32_t unit = ss_elem_bytes(r->codelet->field[field].elem), n = c->elements[field];
    uint32_t vector = 8 / unit, workers = r->arch.workers;
    uint32_t most = (n / vector + workers - 1) / workers * vector, first = most * worker;

    first = first < n ? first : n;
    *at = kernel_fixture_at(r, field) + first * unit;
    return worker == workers - 1 || n - first < most ? n - first : most;
}

/* One value of a vertex state: see poplibs_rows.def. Moves *text after it. */
static uint32_t read_value(struct kernel_fixture *r, const struct codelet_case *c, struct theirs *t,
                           unsigned worker, const char **text)
{
    char kind = **text, name[32] = "", *rest;
    int length = 0, i;

    if (!strchr("@#&%=", kind)) {
        uint32_t v = (uint32_t)strtoul(*text, &rest, 0);

        *text = rest;
        return v;
    }
    assert_int_equal(sscanf(*text + 1, "%31[a-z]%n", name, &length), 1);
    *text += 1 + length;
    i = codelet_field_find(r->codelet, name);
    assert_true(i >= 0);
    if (kind == '@')
        return kernel_fixture_at(r, (unsigned)i);
    if (kind == '#')
        return c->elements[i];
    if (kind == '%' || kind == '=') {
        uint32_t at, elements = part_of(r, c, (unsigned)i, worker, &at);

        return kind == '%' ? at : elements;
    }
    if (!t->scalar) {
        t->scalar = (t->free + 15) & ~15u;
        t->free = t->scalar + 16;
        tile_write(r->tile, t->scalar, &c->value[i], 4);
    }
    return t->scalar;
}

/* The words of a vertex state, of a worker if it is a vertex of its own; returns how many. */
static uint32_t read_state(struct kernel_fixture *r, const struct codelet_case *c, struct theirs *t,
                           unsigned worker, const char *text, uint32_t words[STATE_WORDS])
{
    uint32_t n = 0;

    for (; *text; n++) {
        int is_address = *text == '&';

        assert_true(n < STATE_WORDS);
        words[n] = read_value(r, c, t, worker, &text);
        if (*text == ',') {
            text++;
            words[n] = (is_address ? words[n] / 16 : words[n]) | read_value(r, c, t, worker, &text)
                                                                     << 16;
        }
        while (*text == ' ')
            text++;
    }
    return n;
}

static uint32_t write_state(struct kernel_fixture *r, const struct codelet_case *c,
                            struct theirs *t, const char *text)
{
    unsigned states = strpbrk(text, "%=") ? r->arch.workers : 1;
    uint32_t at = 0;

    for (unsigned w = 0; w < states; w++) {
        uint32_t words[STATE_WORDS], n = read_state(r, c, t, w, text, words);

        if (!w)
            at = t->free = (t->free + 7) & ~7u;
        tile_write(r->tile, t->free, words, 4 * n);
        t->free += 4 * n;
        t->stride = states > 1 ? n : 0;
    }
    return at;
}

static void link_theirs(struct kernel_fixture *r, struct theirs *t, const struct pair *p,
                        const char *poplibs)
{
    char path[PATH_MAX], asm_dir[PATH_MAX], support[PATH_MAX];
    const char *dirs[] = { asm_dir, support };
    struct asm_options o = { .arch = &r->arch, .include_dirs = dirs, .include_dir_count = 2 };
    struct asm_layout layout = { .code_addr = (t->free + 63) & ~63u };
    const struct asm_image *image;

    snprintf(path, sizeof(path), "%s/lib/%s", poplibs, p->file);
    snprintf(asm_dir, sizeof(asm_dir), "%s/include", poplibs);
    snprintf(support, sizeof(support), "%s/lib/popops/codelets/asm", poplibs);
    assert_int_equal(asm_unit_new(&o, &t->unit), EMU_OK);
    if (asm_unit_add_file(t->unit, path) != EMU_OK || asm_unit_link(t->unit, &layout) != EMU_OK) {
        asm_diag_print(t->unit, stderr);
        fail_msg("%s does not assemble", path);
    }
    image = asm_unit_image(t->unit);
    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        tile_write(r->tile, s->addr, s->bytes, s->size);
        t->free = s->addr + s->size > t->free ? s->addr + s->size : t->free;
    }
}

/* Cycles of the PopLibs codelet, counted as the rig counts ours. */
static uint64_t run_theirs(struct kernel_fixture *r, const struct codelet_case *c,
                           const struct pair *p, const char *poplibs)
{
    struct theirs t = { .free = r->next[0] + 64 };
    const struct asm_symbol *symbol;
    uint64_t slots = 0;

    link_theirs(r, &t, p, poplibs);
    symbol = asm_symbol_find(asm_unit_image(t.unit), p->symbol);
    if (!symbol)
        fail_msg("no %s in %s", p->symbol, p->file);
    for (unsigned w = 0; w < r->arch.workers; w++)
        r->tile->worker_base[w] = ((t.free + 7) & ~7u) + w * SCRATCH_BYTES;
    t.free = ((t.free + 7) & ~7u) + r->arch.workers * SCRATCH_BYTES;
    r->code.entry[0] = (uint32_t)symbol->value;
    kernel_stub(r, write_state(r, c, &t, p->state));
    if (t.stride) {
        /* Third instruction of the stub: the workers' states lie one after the other. */
        struct insn launch = { .op = INSN_runall, .a = 0, .b = 1, .i = (int32_t)t.stride };
        uint32_t word[2];

        assert_int_equal(isa_encode(&launch, word), 1);
        tile_write(r->tile, r->stub + 8, word, 4);
    }
    kernel_run(r, c);
    for (unsigned w = 0; w < r->arch.workers; w++)
        slots = r->barrel.issued[w] > slots ? r->barrel.issued[w] : slots;
    asm_unit_free(t.unit);
    /* Vertices of their own are launched one by one. */
    return codelet_multi_cycles(&r->arch, slots) +
           (t.stride ? (r->arch.workers - 1) * arch_sup_runall_cycles(&r->arch) : 0);
}

static int compare(const struct pair *p, enum kernel_layout layout, const char *poplibs,
                   int verbose)
{
    struct kernel_fixture *r = kernel_fixture_new("mk2", p->ours);
    struct codelet_case c = codelet_case(p->fields, 1);
    uint64_t ours, theirs;

    c.layout = layout;
    c.tame = 1;
    read_fields(&c, r->codelet, p->fields);
    ours = kernel_fixture_call(r, &c);
    theirs = run_theirs(r, &c, p, poplibs);
    if (verbose || ours > theirs)
        print_message("%s%-18s %-5s ours %6llu PopLibs %6llu  %s\n", ours > theirs ? "SLOWER " : "",
                      p->ours, layout == LAYOUT_FAR ? "far" : "near", (unsigned long long)ours,
                      (unsigned long long)theirs, p->fields);
    kernel_fixture_free(r);
    return ours > theirs;
}

static void test_cycles(void **state)
{
    const char *poplibs = getenv("SUPERSTEP_POPLIBS"), *verbose = getenv("SUPERSTEP_VERBOSE");
    unsigned slower = 0, count = 0;

    (void)state;
    if (!poplibs || !*poplibs) {
        print_message("skipped: SUPERSTEP_POPLIBS does not name a checkout of PopLibs\n");
        skip();
    }
    for (size_t i = 0; i < EMU_COUNT_OF(pairs); i++) {
        /* The vertices of channels demand that input and output lie apart. */
        if (!strstr(pairs[i].ours, "_channel_")) {
            slower += (unsigned)compare(&pairs[i], LAYOUT_NEAR1, poplibs, verbose != NULL);
            count++;
        }
        slower += (unsigned)compare(&pairs[i], LAYOUT_FAR, poplibs, verbose != NULL);
        count++;
    }
    print_message("%u pairs, ours slower in %u\n", count, slower);
    assert_int_equal(slower, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cycles) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
