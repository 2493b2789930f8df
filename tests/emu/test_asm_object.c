/* test_asm_object.c - relocatable objects: linked they are what the unit would have become, only
 * what is asked for is linked, and damaged ones are refused. */
#include "emu/asm/asm_object.h"

#include "tests/fixtures/asm_fixture.h"

static const char first[] = ".section .text.a, \"ax\"\n.globl a\n.type a, @function\n"
                            "a: bri 1f\nbrz $m0, a\nnop\n1: call $lr, shared\n"
                            ".size a, . - a\n"
                            ".section .text.unused, \"ax\"\nunused: bri unused\n";
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

static enum emu_status link_roots(const uint8_t *data, size_t bytes, const struct arch *a,
                                  const char *const *root, size_t roots, struct asm_image *out)
{
    struct object_request q = {
        .arch = a, .addr = a->mem_base, .prefix = ".text.", .root = root, .roots = roots
    };
    struct asm_object o;
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    s = asm_object_read(data, bytes, &o);
    return s == EMU_OK ? asm_object_link(&o, &q, out) : s;
}

/* All sections, in their order: to the byte what the unit links. */
static void test_same_as_unit(void **state)
{
    static const char *const text[] = { first, second };
    static const char *const root[] = { "a", "unused", "shared" };
    struct asm_unit *u = unit_new();
    const struct asm_image *want;
    struct asm_image got;
    size_t bytes;
    uint8_t *data = object_of(text, 2, &bytes);

    (void)state;
    assert_int_equal(unit_add(u, "a.S", first), EMU_OK);
    assert_int_equal(unit_add(u, "b.S", second), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    want = asm_unit_image(u);
    assert_int_equal(link_roots(data, bytes, arch_preset("mk2"), root, 3, &got), EMU_OK);
    assert_int_equal(got.section_count, want->section_count);
    assert_int_equal(got.symbol_count, want->symbol_count);
    for (size_t i = 0; i < got.section_count; i++) {
        const struct asm_section *g = &got.section[i], *w = &want->section[i];

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
    for (size_t i = 0; i < got.symbol_count; i++) {
        assert_string_equal(got.symbol[i].name, want->symbol[i].name);
        assert_int_equal(got.symbol[i].value, want->symbol[i].value);
        assert_int_equal(got.symbol[i].size, want->symbol[i].size);
    }
    asm_image_free(&got);
    asm_unit_free(u);
    emu_free(data);
}

/* One root brings what it refers to, directly or not, and nothing else. */
static void test_only_what_is_needed(void **state)
{
    static const char *const text[] = { first, second }, *const root[] = { "a" };
    struct asm_image got;
    uint32_t offset;
    size_t bytes;
    uint8_t *data = object_of(text, 2, &bytes);

    (void)state;
    assert_int_equal(link_roots(data, bytes, arch_preset("mk2"), root, 1, &got), EMU_OK);
    assert_int_equal(got.section_count, 3);
    assert_int_equal(got.section[1].addr, MK2_BASE + 32); /* .align 32 */
    assert_null(asm_symbol_find(&got, "unused"));
    assert_string_equal(asm_symbolize(&got, MK2_BASE + 8, &offset)->name, "a");
    assert_int_equal(asm_line_of(&got, MK2_BASE + 12)->line, 7);
    asm_image_free(&got);
    emu_free(data);
}

/* What differs between machines is filled in for the machine that is linked for. */
static void test_machines(void **state)
{
    static const char *const text[] = {
        ".section .text.m, \"ax\"\nsetzi $m0, SUPERSTEP_REGION1_BASE - 8\n"
        "cmpult $m0, $m0, 16 + SUPERSTEP_ELEMENT_PAIR_BYTES\n"
    };
    static const char *const root[] = { "m" }, *const machine[] = { "mk1", "mk2", "toy4" };
    struct asm_image got;
    size_t bytes;
    uint8_t *data = object_of(text, 1, &bytes);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(machine); i++) {
        struct arch a = *arch_preset(machine[i]);
        uint32_t word[2];

        assert_int_equal(link_roots(data, bytes, &a, root, 1, &got), EMU_OK);
        memcpy(word, got.section[0].bytes, sizeof(word));
        assert_int_equal(word[0] & 0xfffff, a.mem_base + a.region0_bytes - 8);
        assert_int_equal(word[1] & 0xffff, 2 * a.element_bytes + 16);
        asm_image_free(&got);
        a.element_bytes = 32768; /* 16 bits do not hold two of them */
        assert_int_equal(link_roots(data, bytes, &a, root, 1, &got), EMU_BAD_ASM);
        assert_non_null(strstr(emu_error(), ".text.m+0x4: 65552 does not fit 16 bits"));
    }
    emu_free(data);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
        int when_linked;
    } row[] = {
        { "bri one + two", "one symbol and a number", 0 },
        { "bri 8 - one", "one symbol and a number", 0 },
        { ".short one", "only words", 0 },
        { "sendpic 1, one, 2", "operand 2 must be a number", 0 },
        { "setzi $m0, 3 * one", "one symbol and a number", 0 },
        { "nop\nrpt $m0, 1\nnop\nnop", "only bundles can be repeated", 0 },
        { "bri one", "undefined symbol 'one'", 1 },
        { "x: bri x + 2", "does not fit", 1 },
        { "x: ld32 $m0, $m0, $m0, x", "does not fit 12 bits", 1 },
        { ".space 300000", "the code needs", 1 },
    };
    static const char *const root[] = { "t" };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct asm_unit *u = unit_new();
        struct asm_image got;
        char text[200], *said;
        uint8_t *data;
        size_t bytes;
        enum emu_status s;

        snprintf(text, sizeof(text), ".section .text.t, \"ax\"\n%s\n", row[i].text);
        assert_int_equal(unit_add(u, "t.S", text), EMU_OK);
        s = asm_unit_object(u, &data, &bytes);
        said = unit_diagnostics(u);
        assert_int_equal(s == EMU_OK, !*said);
        free(said);
        if (s == EMU_OK && row[i].when_linked)
            s = link_roots(data, bytes, arch_preset("mk2"), root, 1, &got);
        if (s != EMU_BAD_ASM || !strstr(emu_error(), row[i].why))
            fail_msg("%s: %s", row[i].text, emu_error());
        emu_free(data);
        asm_unit_free(u);
    }
}

/* Every truncation is refused; every flipped bit is refused or harmless. */
static void test_damage(void **state)
{
    static const char *const text[] = { first, second }, *const root[] = { "a" };
    struct asm_image got;
    size_t bytes, refused = 0;
    uint8_t *data = object_of(text, 2, &bytes), *copy = emu_alloc(bytes, 1);

    (void)state;
    for (size_t n = 0; n < bytes; n++) {
        memcpy(copy, data, n);
        if (n < bytes - 3)
            assert_int_equal(link_roots(copy, n, arch_preset("mk2"), root, 1, &got), EMU_BAD_FILE);
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        memcpy(copy, data, bytes);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (link_roots(copy, bytes, arch_preset("mk2"), root, 1, &got) == EMU_OK)
            asm_image_free(&got);
        else
            refused++;
    }
    assert_true(refused > bytes);
    emu_free(copy);
    emu_free(data);
}

static void test_no_memory(void **state)
{
    static const char *const root[] = { "a" };
    long live = alloc_live(), failures = 0;
    struct asm_unit *u = unit_new();
    struct asm_image got;
    uint8_t *data;
    size_t bytes;

    (void)state;
    assert_int_equal(unit_add(u, "a.S", first), EMU_OK);
    assert_int_equal(unit_add(u, "b.S", second), EMU_OK);
    assert_int_equal(asm_unit_object(u, &data, &bytes), EMU_OK);
    for (;; failures++) {
        enum emu_status s;

        alloc_test_fail_at(failures);
        s = link_roots(data, bytes, arch_preset("mk2"), root, 1, &got);
        alloc_test_fail_at(-1);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
    }
    assert_true(failures > 15);
    asm_image_free(&got);
    emu_free(data);
    asm_unit_free(u);
    assert_int_equal(alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_unit), cmocka_unit_test(test_only_what_is_needed),
        cmocka_unit_test(test_machines),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damage),       cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
