/* test_asm_object.c - objects that our own assembler makes: linked they are what the unit would
 * have become, only what is asked for is linked, and damaged ones are refused. */
#include "tests/fixtures/asm_fixture.h"

static const char first[] = ".section .text.a, \"ax\"\n.globl a\n.type a, @function\n"
                            "a: bri 1f\nbrz $m0, a\nnop\n1: call $lr, shared\n"
                            ".size a, . - a\n"
                            ".section .text.unused, \"ax\"\n.globl unused\nunused: bri unused\n";
static const char second[] = ".section .text.shared, \"ax\"\n.align 32\n.globl shared\n"
                             "local: bri local + 4\nshared: setzi $m0, table\n"
                             ".section .rodata, \"a\"\ntable: .int shared, . - table, 7\n";

/* The object of files named a.S, b.S ...; owned. */
static uint8_t *object_of(const char *const *text, size_t n, size_t *bytes)
{
    struct asm_unit *u = unit_new();
    uint8_t *out;

    for (size_t i = 0; i < n; i++) {
        char name[] = { (char)('a' + i), '.', 'S', 0 };

        assert_int_equal(unit_add(u, name, text[i]), EMU_OK);
    }
    assert_int_equal(asm_unit_object(u, &out, bytes), EMU_OK);
    asm_unit_free(u);
    return out;
}

/* Links what some symbols of an object need. *out: free with asm_unit_free. */
static enum emu_status link_roots(const uint8_t *data, size_t bytes, const struct arch *a,
                                  const char *const *root, size_t roots, struct asm_unit **out)
{
    const struct asm_options o = { .arch = a };
    const struct asm_layout layout = { .root = root, .roots = roots };
    enum emu_status s;

    s = asm_unit_new(&o, out);
    if (s == EMU_OK)
        s = asm_unit_add_object(*out, "t.o", data, bytes);
    return s == EMU_OK ? asm_unit_link(*out, &layout) : s;
}

/* All sections, in their order: to the byte what the unit links. */
static void test_same_as_unit(void **state)
{
    static const char *const text[] = { first, second };
    static const char *const root[] = { "a", "unused", "shared" };
    struct asm_unit *u = unit_new();
    const struct asm_image *want, *got;
    struct asm_unit *linked;
    size_t bytes;
    uint8_t *data = object_of(text, 2, &bytes);

    (void)state;
    assert_int_equal(unit_add(u, "a.S", first), EMU_OK);
    assert_int_equal(unit_add(u, "b.S", second), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    want = asm_unit_image(u);
    assert_int_equal(link_roots(data, bytes, ss_arch_preset("mk2"), root, 3, &linked), EMU_OK);
    got = asm_unit_image(linked);
    assert_int_equal(got->section_count, want->section_count);
    assert_int_equal(got->symbol_count, want->symbol_count);
    for (size_t i = 0; i < got->section_count; i++) {
        const struct asm_section *g = &got->section[i], *w = &want->section[i];

        assert_string_equal(g->name, w->name);
        assert_int_equal(g->addr, w->addr);
        assert_int_equal(g->size, w->size);
        assert_memory_equal(g->bytes, w->bytes, w->size);
        assert_int_equal(g->line_count, w->line_count);
        for (size_t k = 0; k < g->line_count; k++) {
            assert_int_equal(g->lines[k].line, w->lines[k].line);
            assert_string_equal(g->lines[k].file, w->lines[k].file);
        }
    }
    for (size_t i = 0; i < got->symbol_count; i++) {
        assert_string_equal(got->symbol[i].name, want->symbol[i].name);
        assert_int_equal(got->symbol[i].value, want->symbol[i].value);
        assert_int_equal(got->symbol[i].size, want->symbol[i].size);
    }
    asm_unit_free(linked);
    asm_unit_free(u);
    ss_free(data);
}

/* What is included in the middle of a section keeps the name of its file. */
static void test_lines_of_two_files(void **state)
{
    static const char text[] = "# 1 \"a.S\"\n.section .text.a, \"ax\"\n.globl a\na: nop\n"
                               "# 40 \"other.inc\"\nnop\nnop\n# 5 \"a.S\"\nnop\n";
    static const char *const root[] = { "a" };
    static const struct {
        const char *file;
        uint32_t line;
    } want[] = { { "a.S", 3 }, { "other.inc", 40 }, { "other.inc", 41 }, { "a.S", 5 } };
    struct asm_unit *u, *linked;
    uint8_t *data;
    size_t bytes;

    (void)state;
    assert_int_equal(asm_unit_new(&(struct asm_options){ .preprocessed = 1 }, &u), EMU_OK);
    assert_int_equal(asm_unit_add_text(u, "a.S", text, strlen(text)), EMU_OK);
    assert_int_equal(asm_unit_object(u, &data, &bytes), EMU_OK);
    asm_unit_free(u);
    assert_int_equal(link_roots(data, bytes, ss_arch_preset("mk2"), root, 1, &linked), EMU_OK);
    for (uint32_t i = 0; i < EMU_COUNT_OF(want); i++) {
        const struct asm_line *is = asm_line_of(asm_unit_image(linked), MK2_BASE + 4 * i);

        assert_string_equal(is->file, want[i].file);
        assert_int_equal(is->line, want[i].line);
    }
    asm_unit_free(linked);
    ss_free(data);
}

/* One root brings what it refers to, directly or not, and nothing else. */
static void test_only_what_is_needed(void **state)
{
    static const char *const text[] = { first, second }, *const root[] = { "a" };
    const struct asm_image *got;
    struct asm_unit *linked;
    uint32_t offset;
    size_t bytes;
    uint8_t *data = object_of(text, 2, &bytes);

    (void)state;
    assert_int_equal(link_roots(data, bytes, ss_arch_preset("mk2"), root, 1, &linked), EMU_OK);
    got = asm_unit_image(linked);
    assert_int_equal(got->section_count, 3);
    assert_int_equal(got->section[1].addr, MK2_BASE + 32); /* .align 32 */
    assert_null(asm_symbol_find(got, "unused"));
    assert_string_equal(asm_symbolize(got, MK2_BASE + 8, &offset)->name, "a");
    assert_int_equal(asm_line_of(got, MK2_BASE + 12)->line, 7);
    asm_unit_free(linked);
    ss_free(data);
}

/* One object of several files: a definition wins over the common and weak ones of other files, and
 * commons of one name become one that suits all. */
static void test_joined_symbols(void **state)
{
    static const char *const text[] = {
        ".comm x, 8, 8\n.data\n.globl table\ntable: .int x, y, z\n.comm y, 4\n.weak z\nz: .int 1",
        ".comm x, 40, 4\n.data\n.globl y\ny: .int 2\n.globl z\nz: .int 3",
        ".comm x, 12, 64\n.comm y, 400\n.data\n.weak z\nz: .int 4",
    };
    const struct asm_symbol *x;
    const struct asm_image *got;
    struct asm_unit *linked;
    size_t bytes;
    uint8_t *data = object_of(text, EMU_COUNT_OF(text), &bytes);
    uint32_t table[3];

    (void)state;
    assert_int_equal(link_roots(data, bytes, ss_arch_preset("mk2"), NULL, 0, &linked), EMU_OK);
    got = asm_unit_image(linked);
    x = asm_symbol_find(got, "x");
    assert_string_equal(x->section->name, "COMMON");
    assert_int_equal(x->size, 40);
    assert_int_equal(x->value % 64, 0);
    memcpy(table, asm_symbol_find(got, "table")->section->bytes, sizeof(table));
    assert_int_equal(table[0], x->value);
    assert_int_equal(table[1], asm_symbol_find(got, "y")->value);
    assert_int_equal(asm_symbol_find(got, "y")->size, 0); /* of a label */
    assert_int_equal(table[2], asm_symbol_find(got, "z")->value);
    assert_int_equal(asm_symbol_find(got, "z")->weak, 0);
    asm_unit_free(linked);
    ss_free(data);
}

/* What differs between machines is filled in for the machine that is linked for. */
static void test_machines(void **state)
{
    static const char *const text[] = {
        ".section .text.m, \"ax\"\n.globl m\nm: setzi $m0, SUPERSTEP_REGION1_BASE - 8\n"
        "cmpult $m0, $m0, 16 + SUPERSTEP_ELEMENT_PAIR_BYTES\n"
    };
    static const char *const root[] = { "m" }, *const machine[] = { "mk1", "mk2", "toy4" };
    struct asm_unit *linked;
    size_t bytes;
    uint8_t *data = object_of(text, 1, &bytes);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(machine); i++) {
        struct arch a = *ss_arch_preset(machine[i]);
        uint32_t word[2];

        assert_int_equal(link_roots(data, bytes, &a, root, 1, &linked), EMU_OK);
        memcpy(word, asm_unit_image(linked)->section[0].bytes, sizeof(word));
        assert_int_equal(word[0] & 0xfffff, a.mem_base + a.region0_bytes - 8);
        assert_int_equal(word[1] & 0xffff, 2 * a.element_bytes + 16);
        asm_unit_free(linked);
        a.element_bytes = 32768; /* 16 bits do not hold two of them */
        assert_int_equal(link_roots(data, bytes, &a, root, 1, &linked), EMU_BAD_ASM);
        assert_non_null(strstr(ss_error(), ".text.m+0x4: R_COLOSSUS_16 of "
                                           "'SUPERSTEP_ELEMENT_PAIR_BYTES' + 16: expected "
                                           "0x0..0xffff, got 0x10010"));
        asm_unit_free(linked);
    }
    ss_free(data);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
        int when_linked;
    } row[] = {
        { "bri one + two", "one symbol and a number", 0 },
        { "bri 8 - one", "one symbol and a number", 0 },
        { "sendpic 1, one, 2", "operand 2 must be a number", 0 },
        { "setzi $m0, 3 * one", "one symbol and a number", 0 },
        { "nop\nrpt $m0, 1\nnop\nnop", "only bundles can be repeated", 0 },
        { "bri one", "undefined symbol 'one'", 1 },
        { "bri t + 2", "a multiple of 4", 1 },
        { ".byte t", "expected 0x0..0xff, got 0x4c000", 1 },
        { ".space 300000", "the code needs", 1 },
    };
    static const char *const root[] = { "t" };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct asm_unit *u = unit_new(), *linked = NULL;
        char text[200], *said;
        uint8_t *data;
        size_t bytes;
        enum emu_status s;

        snprintf(text, sizeof(text), ".section .text.t, \"ax\"\n.globl t\nt: %s\n", row[i].text);
        assert_int_equal(unit_add(u, "t.S", text), EMU_OK);
        s = asm_unit_object(u, &data, &bytes);
        said = unit_diagnostics(u);
        assert_int_equal(s == EMU_OK, !*said);
        free(said);
        if (s == EMU_OK && row[i].when_linked)
            s = link_roots(data, bytes, ss_arch_preset("mk2"), root, 1, &linked);
        if (s != EMU_BAD_ASM || !strstr(ss_error(), row[i].why))
            fail_msg("%s: %s", row[i].text, ss_error());
        ss_free(data);
        asm_unit_free(linked);
        asm_unit_free(u);
    }
}

/* What an object says of stacks, sizes and bindings comes back; a second object of what was read is
 * the same file. */
static void test_read_and_written_again(void **state)
{
    static const char *const text[] = {
        ".section .text.f, \"ax\"\n.globl f\n.type f, @function\n.weak w\n"
        ".stack_usage f, 200\nf: call $lr, g\nw: bri w\n.size f, 4\n"
        ".section .bss, \"aw\"\n.globl zeros\n.type zeros, @object\nzeros: .space 24\n"
        ".section .rodata, \"a\"\n.byte 1, 2, 3\n.align 4\n.int g + 5, w, zeros - 4\n"
        ".globl number\n.equ number, 77\n"
    };
    size_t bytes, again_bytes;
    uint8_t *data = object_of(text, 1, &bytes), *again;
    const struct asm_symbol *f;
    struct asm_unit *u = unit_new();

    (void)state;
    assert_int_equal(asm_unit_add_object(u, "a.S", data, bytes), EMU_OK);
    assert_int_equal(asm_unit_object(u, &again, &again_bytes), EMU_OK);
    assert_int_equal(bytes, again_bytes);
    assert_memory_equal(data, again, bytes);
    assert_int_equal(unit_add(u, "g.S", ".section .text.g, \"ax\"\n.globl g\ng: br $lr\n"), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    f = asm_symbol_find(asm_unit_image(u), "f");
    assert_int_equal(f->stack_bytes, 200);
    assert_int_equal(f->size, 4);
    assert_int_equal(f->type, ASM_FUNCTION);
    assert_true(f->global && asm_symbol_find(asm_unit_image(u), "w")->weak);
    assert_int_equal(asm_symbol_find(asm_unit_image(u), "number")->value, 77);
    assert_int_equal(asm_symbol_find(asm_unit_image(u), "zeros")->type, ASM_OBJECT);
    ss_free(again);
    ss_free(data);
    asm_unit_free(u);
}

/* Every truncation is refused; every flipped bit is refused or harmless. */
static void test_damage(void **state)
{
    static const char *const text[] = { first, second }, *const root[] = { "a" };
    struct asm_unit *linked;
    size_t bytes, refused = 0;
    uint8_t *data = object_of(text, 2, &bytes), *copy = emu_alloc(bytes, 1);

    (void)state;
    for (size_t n = 0; n < bytes; n++) {
        memcpy(copy, data, n);
        assert_int_equal(link_roots(copy, n, ss_arch_preset("mk2"), root, 1, &linked), EMU_BAD_ASM);
        asm_unit_free(linked);
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        memcpy(copy, data, bytes);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refused += link_roots(copy, bytes, ss_arch_preset("mk2"), root, 1, &linked) != EMU_OK;
        asm_unit_free(linked);
    }
    assert_true(refused > bytes);
    ss_free(copy);
    ss_free(data);
}

static void test_no_memory(void **state)
{
    static const char *const text[] = { first, second }, *const root[] = { "a" };
    long live = alloc_live(), failures = 0;
    struct asm_unit *linked = NULL;
    size_t bytes;
    uint8_t *data = object_of(text, 2, &bytes);

    (void)state;
    for (;; failures++) {
        enum emu_status s;

        alloc_test_fail_at(failures);
        s = link_roots(data, bytes, ss_arch_preset("mk2"), root, 1, &linked);
        alloc_test_fail_at(-1);
        asm_unit_free(linked);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
    }
    assert_true(failures > 15);
    ss_free(data);
    assert_int_equal(alloc_live(), live);
}

static void test_no_memory_for_writing(void **state)
{
    long live = alloc_live(), failures = 0;
    uint8_t *data = NULL;
    size_t bytes;

    (void)state;
    for (;; failures++) {
        struct asm_unit *u = unit_new();
        enum emu_status s;

        assert_int_equal(unit_add(u, "a.S", first), EMU_OK);
        assert_int_equal(unit_add(u, "b.S", second), EMU_OK);
        alloc_test_fail_at(failures);
        s = asm_unit_object(u, &data, &bytes);
        alloc_test_fail_at(-1);
        asm_unit_free(u);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
        assert_null(data);
    }
    assert_true(failures > 5);
    ss_free(data);
    assert_int_equal(alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_unit),
        cmocka_unit_test(test_only_what_is_needed),
        cmocka_unit_test(test_lines_of_two_files),
        cmocka_unit_test(test_joined_symbols),
        cmocka_unit_test(test_machines),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_read_and_written_again),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_writing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
