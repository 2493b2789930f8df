/* test_elf.c - ELF objects whose bytes are made here and not by our assembler: the header, every
 * type of relocation and its limits, groups, common and weak symbols, archives, and what is
 * refused. */
#include "tests/fixtures/asm_fixture.h"
#include "tests/fixtures/elf_fixture.h"

/* ---- linking ---- */

static struct asm_unit *new_unit(void)
{
    struct asm_unit *u;

    assert_int_equal(asm_unit_new(NULL, &u), EMU_OK);
    return u;
}

static enum emu_status add_made(struct asm_unit *u, const char *name, const struct made *m)
{
    return asm_unit_add_object(u, name, m->at, m->n);
}

static const struct asm_section *section_named(const struct asm_unit *u, const char *name)
{
    const struct asm_image *image = asm_unit_image(u);

    for (size_t i = 0; image && i < image->section_count; i++) {
        if (!strcmp(image->section[i].name, name))
            return &image->section[i];
    }
    return NULL;
}

static uint64_t bytes_at(const struct asm_section *s, uint32_t offset, unsigned bytes)
{
    uint64_t v = 0;

    assert_true(offset + bytes <= s->size);
    memcpy(&v, s->bytes + offset, bytes);
    return v;
}

/* ---- relocations ---- */

/* One of each type: section 1 has eight bytes 0xff at 16 times k, symbol 1 is absolute. mk2's
 * region 0 begins at 0x4c000. */
static const struct {
    const char *name;
    uint32_t type, symbol;
    int32_t addend;
    unsigned bytes;
    uint64_t want;
    const char *why; /* refused: what is said */
} relocations[] = {
    { "none", 0, 0x12345, 0, 8, 0xffffffffffffffff, NULL },
    { "8", 1, 0xab, 1, 8, 0xffffffffffffffac, NULL },
    { "8 over", 1, 0xff, 1, 0, 0, "R_COLOSSUS_8 of 'v' + 1: expected 0x0..0xff, got 0x100" },
    { "16", 2, 0x8001, -1, 8, 0xffffffffffff8000, NULL },
    { "16 over", 2, 0x10000, 0, 0, 0, "R_COLOSSUS_16 of 'v': expected 0x0..0xffff, got 0x10000" },
    { "20", 3, 0x12345, 0, 8, 0xfffffffffff12345, NULL },
    { "20 over", 3, 0x100000, 0, 0, 0, "expected 0x0..0xfffff, got 0x100000" },
    { "32", 4, 0xfffffffe, 1, 8, 0xffffffffffffffff, NULL },
    { "32 small", 4, 7, -3, 8, 0xffffffff00000004, NULL },
    { "32 below", 4, 7, -8, 0, 0, "R_COLOSSUS_32 of 'v' - 8: expected 0x0..0xffffffff, got -0x1" },
    { "32 over", 4, 0xffffffff, 1, 0, 0, "got 0x100000000" },
    { "64", 5, 0x76543210, 0, 8, 0x0000000076543210, NULL },
    { "64 below", 5, 0, -1, 8, 0xffffffffffffffff, NULL },
    { "relative 16 s2", 6, 0x4c000 + 4 * 0xabcd, 0, 8, 0xffffffffffffabcd, NULL },
    { "relative odd", 6, 0x4c002, 0, 0, 0, "expected 0x4c000..0x8bffc, a multiple of 4" },
    { "relative below", 6, 0x4bffc, 0, 0, 0, "got 0x4bffc" },
    { "relative over", 6, 0x8c000, 0, 0, 0, "got 0x8c000" },
    { "18 s2", 7, 4 * 0x2abcd, 0, 8, 0xfffffffffffeabcd, NULL },
    { "18 s2 odd", 7, 0x1001, 0, 0, 0, "a multiple of 4" },
    { "18 s2 over", 7, 0x100000, 0, 0, 0, "got 0x100000" },
    { "19 s2", 8, 4 * 0x5abcd, 4, 8, 0xfffffffffffdabce, NULL },
    { "19 s2 over", 8, 0x200000, 0, 0, 0, "expected 0x0..0x1ffffc, a multiple of 4" },
    { "run", 9, 0x4c000 + 4 * 0x9abc, 0, 8, 0xfffffffffff9fabc, NULL },
    { "run odd", 9, 0x4c003, 0, 0, 0, "R_COLOSSUS_RUN" },
    { "run below", 9, 0x4bffc, 0, 0, 0, "expected 0x4c000..0x8bffc, a multiple of 4, got 0x4bffc" },
    { "run over", 9, 0x8c000, 0, 0, 0, "got 0x8c000" },
    { "16 s3", 14, 8 * 0xbcde, 0, 8, 0xffffffffffffbcde, NULL },
    { "16 s3 odd", 14, 12, 0, 0, 0, "a multiple of 8, got 0xc" },
    { "16 s3 over", 14, 0x80000, 0, 0, 0, "expected 0x0..0x7fff8, a multiple of 8" },
    { "16 s4", 15, 16 * 0xbcde, 0, 8, 0xffffffffffffbcde, NULL },
    { "16 s4 odd", 15, 24, 0, 0, 0, "a multiple of 16" },
    { "16 s4 over", 15, 0x100000, 0, 0, 0, "expected 0x0..0xffff0, a multiple of 16" },
    { "16 s5", 16, 32 * 0xbcde, 0, 8, 0xffffffffffffbcde, NULL },
    { "16 s5 over", 16, 0x200000, 0, 0, 0, "expected 0x0..0x1fffe0, a multiple of 32" },
    { "21", 17, 0x1abcde, 0, 8, 0xfffffffffffabcde, NULL },
    { "21 over", 17, 0x200000, 0, 0, 0, "expected 0x0..0x1fffff" },
    { "unassigned", 10, 0, 0, 0, 0, "relocation type 10 does not exist" },
    { "unassigned", 13, 0, 0, 0, 0, "relocation type 13 does not exist" },
    { "unassigned", 18, 0, 0, 0, 0, "relocation type 18 does not exist" },
};

static void test_relocations(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(relocations); i++) {
        uint8_t ones[24];
        const struct elf_section_row section = { .name = ".data",
                                                 .type = PROGBITS,
                                                 .flags = ALLOC | WRITE,
                                                 .align = 4,
                                                 .bytes = ones,
                                                 .size = sizeof(ones) };
        const struct elf_symbol_row v = { "v", relocations[i].symbol, 0, GLOBAL, ABS };
        const struct elf_rela_row r = { 8, 1, relocations[i].type, relocations[i].addend };
        const struct elf_plan plan = { &section, &v, &r, 1, 1, 1, 2 };
        struct asm_unit *u = new_unit();
        enum emu_status s;
        struct made m;

        memset(ones, 0xff, sizeof(ones));
        m = make_elf(&plan);
        s = add_made(u, "t.o", &m);
        if (s == EMU_OK)
            s = asm_unit_link(u, NULL);
        if (relocations[i].why) {
            if (s != EMU_BAD_ASM || !strstr(ss_error(), relocations[i].why) ||
                !strstr(ss_error(), "t.o: .data+0x8: "))
                fail_msg("%s: %s", relocations[i].name, s == EMU_OK ? "linked" : ss_error());
            asm_unit_free(u);
            continue;
        }
        if (s != EMU_OK)
            fail_msg("%s: %s", relocations[i].name, ss_error());
        if (bytes_at(section_named(u, ".data"), 8, 8) != relocations[i].want)
            fail_msg("%s: got 0x%llx", relocations[i].name,
                     (unsigned long long)bytes_at(section_named(u, ".data"), 8, 8));
        assert_int_equal(bytes_at(section_named(u, ".data"), 0, 8), UINT64_MAX);
        assert_int_equal(bytes_at(section_named(u, ".data"), 16, 8), UINT64_MAX);
        asm_unit_free(u);
    }
}

/* The last bytes of a section are in reach, those after it are not. */
static void test_places(void **state)
{
    static const uint8_t bytes[8];
    static const struct elf_section_row section = {
        ".data", PROGBITS, ALLOC, 0, 0, 4, 0, bytes, 8
    };
    static const struct elf_symbol_row v = { "v", 1, 0, GLOBAL, ABS };
    static const struct {
        uint32_t offset, type;
        int fits;
    } row[] = { { 7, 1, 1 }, { 8, 1, 0 }, { 6, 2, 1 },         { 7, 2, 0 },
                { 4, 4, 1 }, { 5, 4, 0 }, { 0, 5, 1 },         { 1, 5, 0 },
                { 5, 3, 0 }, { 5, 9, 0 }, { UINT32_MAX, 1, 0 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const struct elf_rela_row r = { row[i].offset, 1, row[i].type, row[i].type == 9 };
        const struct elf_plan plan = { &section, &v, &r, 1, 1, 1, 2 };
        struct made m = make_elf(&plan);
        struct asm_unit *u = new_unit();

        assert_int_equal(add_made(u, "t.o", &m), row[i].fits ? EMU_OK : EMU_BAD_ASM);
        if (!row[i].fits)
            assert_non_null(strstr(ss_error(), "is outside the bytes of the section"));
        asm_unit_free(u);
    }
}

/* ---- symbols ---- */

static const uint8_t words[16] = { 0 };

/* A file of one section with one symbol, which refers to another by a word at 0. */
static struct made one_symbol(const char *name, uint8_t info, uint32_t value, const char *other,
                              uint8_t other_info)
{
    const struct elf_section_row section = { ".data", PROGBITS, ALLOC,        0, 0, 4,
                                             0,       words,    sizeof(words) };
    const struct elf_symbol_row symbol[] = { { name, value, 4, info, 1 },
                                             { other, 0, 0, other_info, 0 } };
    const struct elf_rela_row r = { 0, 2, 4, 0 };
    const struct elf_plan plan = { &section, symbol, &r, 1, 2, 1, 2 };

    return make_elf(&plan);
}

static int64_t value_of(const struct asm_unit *u, const char *name)
{
    const struct asm_symbol *s = asm_symbol_find(asm_unit_image(u), name);

    assert_non_null(s);
    return s->value;
}

/* A global definition is stronger than a weak one; what is weak and undefined counts as 0. */
static void test_weak(void **state)
{
    struct made a = one_symbol("x", WEAK, 4, "x", WEAK), b = one_symbol("x", GLOBAL, 8, "y", WEAK);
    struct asm_unit *u = new_unit();
    const struct asm_section *first;

    (void)state;
    assert_int_equal(add_made(u, "a.o", &a), EMU_OK);
    assert_int_equal(add_made(u, "b.o", &b), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    first = &asm_unit_image(u)->section[0];
    assert_int_equal(bytes_at(first, 0, 4), MK2_BASE + 16 + 8);
    assert_int_equal(bytes_at(&first[1], 0, 4), 0);
    asm_unit_free(u);

    u = new_unit();
    assert_int_equal(add_made(u, "a.o", &b), EMU_OK);
    assert_int_equal(add_made(u, "b.o", &b), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_BAD_ASM);
    assert_non_null(strstr(ss_error(), "'x' is already defined in another file"));
    asm_unit_free(u);
}

/* Local symbols of one name do not meet; all names that nothing defines are said at once. */
static void test_local_and_undefined(void **state)
{
    struct made a = one_symbol("x", LOCAL, 4, "nowhere", GLOBAL),
                b = one_symbol("x", LOCAL, 8, "elsewhere", GLOBAL);
    struct asm_unit *u = new_unit();
    char *said;

    (void)state;
    assert_int_equal(add_made(u, "a.o", &a), EMU_OK);
    assert_int_equal(add_made(u, "b.o", &b), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_BAD_ASM);
    said = unit_diagnostics(u);
    assert_string_equal(said, "a.o: error: undefined symbol 'nowhere' (1 use)\n"
                              "b.o: error: undefined symbol 'elsewhere' (1 use)\n");
    free(said);
    assert_int_equal(unit_add(u, "t.S",
                              ".globl nowhere, elsewhere\n.equ nowhere, 5\n"
                              ".section .text, \"ax\"\nelsewhere: br $lr\n"),
                     EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    assert_int_equal(bytes_at(section_named(u, ".data"), 0, 4), 5);
    asm_unit_free(u);
}

/* The largest of several commons gets room, unless a file defines the name. */
static void test_common(void **state)
{
    static const struct elf_symbol_row small = { "c", 8, 4, GLOBAL, COMMON },
                                       large = { "c", 16, 32, GLOBAL, COMMON };
    static const struct elf_section_row section = { ".data", PROGBITS, ALLOC,        0, 0, 4,
                                                    0,       words,    sizeof(words) };
    static const struct elf_rela_row r = { 0, 1, 4, 0 };
    const struct elf_plan plan_a = { &section, &small, &r, 1, 1, 1, 2 },
                          plan_b = { &section, &large, &r, 1, 1, 1, 2 };
    struct made a = make_elf(&plan_a), b = make_elf(&plan_b),
                d = one_symbol("c", GLOBAL, 4, "v", WEAK);
    struct asm_unit *u = new_unit();
    uint32_t c;

    (void)state;
    assert_int_equal(add_made(u, "a.o", &a), EMU_OK);
    assert_int_equal(add_made(u, "b.o", &b), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    assert_int_equal(asm_unit_image(u)->section_count, 3);
    c = (uint32_t)value_of(u, "c");
    assert_int_equal(c % 16, 0);
    assert_int_equal(section_named(u, "COMMON")->size, 32);
    assert_int_equal(bytes_at(section_named(u, ".data"), 0, 4), c);
    assert_int_equal(add_made(u, "d.o", &d), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    assert_null(section_named(u, "COMMON"));
    assert_int_equal(bytes_at(section_named(u, ".data"), 0, 4), value_of(u, "c"));
    asm_unit_free(u);
}

/* A file with a group: section 2 and its function belong to it. Section 1 calls the function. */
static struct made grouped(uint32_t word)
{
    static const uint32_t members[] = { 1, 2 };
    const struct elf_section_row section[] = {
        { ".text.call", PROGBITS, ALLOC | EXEC, 0, 0, 4, 0, words, 4 },
        { ".text.f", PROGBITS, ALLOC | EXEC | 0x200, 0, 0, 4, 0, &word, 4 },
        { ".group", GROUP, 0, 5, 1, 4, 4, members, sizeof(members) },
    };
    static const struct elf_symbol_row f = { "f", 0, 4, WEAK | FUNC, 2 };
    static const struct elf_rela_row r = { 0, 1, 8, 0 };
    const struct elf_plan plan = { section, &f, &r, 3, 1, 1, 2 };

    return make_elf(&plan);
}

static void test_group(void **state)
{
    struct made a = grouped(0x11111111), b = grouped(0x22222222);
    struct asm_unit *u = new_unit();
    size_t functions = 0;

    (void)state;
    assert_int_equal(add_made(u, "a.o", &a), EMU_OK);
    assert_int_equal(add_made(u, "b.o", &b), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    for (size_t i = 0; i < asm_unit_image(u)->section_count; i++) {
        const struct asm_section *s = &asm_unit_image(u)->section[i];

        functions += !strcmp(s->name, ".text.f");
        if (!strcmp(s->name, ".text.call"))
            assert_int_equal(bytes_at(s, 0, 4) * 4, value_of(u, "f"));
    }
    assert_int_equal(functions, 1);
    assert_int_equal(bytes_at(section_named(u, ".text.f"), 0, 4), 0x11111111);
    asm_unit_free(u);
}

/* ---- sections ---- */

/* Executable sections come first, what is not to be loaded does not come, and zeros are there. */
static void test_sections(void **state)
{
    static const uint32_t nop = 0x19e00000;
    static const struct elf_section_row section[] = {
        { ".data", PROGBITS, ALLOC | WRITE, 0, 0, 32, 0, words, 5 },
        { ".text.f", PROGBITS, ALLOC | EXEC, 0, 0, 4, 0, &nop, 4 },
        { ".bss", NOBITS, ALLOC | WRITE, 0, 0, 4, 0, NULL, 100 },
        { ".comment", PROGBITS, 0, 0, 0, 1, 0, "x", 1 },
        { ".eh_frame", PROGBITS, ALLOC, 0, 0, 4, 0, words, 8 },
    };
    static const struct elf_symbol_row f = { "__runCodelet_f", 0, 4, GLOBAL | FUNC, 2 };
    const struct elf_plan plan = { section, &f, NULL, 5, 1, 0, 2 };
    struct made m = make_elf(&plan);
    struct asm_unit *u = new_unit();
    const struct asm_image *image;

    (void)state;
    assert_int_equal(add_made(u, "t.o", &m), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    image = asm_unit_image(u);
    assert_int_equal(image->section_count, 3);
    assert_string_equal(image->section[0].name, ".text.f");
    assert_int_equal(image->section[0].addr, MK2_BASE);
    assert_string_equal(image->section[1].name, ".data");
    assert_int_equal(image->section[1].addr % 32, 0);
    assert_int_equal(image->section[2].size, 100);
    assert_int_equal(bytes_at(&image->section[2], 92, 8), 0);
    assert_int_equal(asm_entry_find(image, "f")->value, MK2_BASE);
    assert_null(asm_entry_find(image, "g"));
    asm_unit_free(u);
}

/* .stack_sizes: 300 bytes, as ULEB128, for the function at 4. */
static void test_stack_sizes(void **state)
{
    static const uint8_t sizes[] = { 0, 0, 0, 0, 0xac, 2 };
    static const struct elf_section_row section[] = {
        { ".stack_sizes", PROGBITS, 0x80, 2, 0, 1, 0, sizes, sizeof(sizes) },
        { ".text", PROGBITS, ALLOC | EXEC, 0, 0, 4, 0, words, 8 },
    };
    static const struct elf_symbol_row symbol[] = { { "", 0, 0, SECTION, 2 },
                                                    { "f", 4, 4, GLOBAL | FUNC, 2 },
                                                    { "g", 0, 4, GLOBAL | FUNC, 2 } };
    static const struct elf_rela_row r = { 0, 1, 4, 4 };
    const struct elf_plan plan = { section, symbol, &r, 2, 3, 1, 2 };
    struct made m = make_elf(&plan);
    struct asm_unit *u = new_unit();

    (void)state;
    assert_int_equal(add_made(u, "t.o", &m), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    assert_int_equal(asm_symbol_find(asm_unit_image(u), "f")->stack_bytes, 300);
    assert_int_equal(asm_symbol_find(asm_unit_image(u), "g")->stack_bytes, 0);
    asm_unit_free(u);
}

/* ---- architectures ---- */

static void test_architectures(void **state)
{
    static const struct {
        uint32_t flags;
        const char *said; /* NULL: nothing */
        enum emu_status status;
    } row[] = {
        { 0, NULL, EMU_OK },
        { 2, NULL, EMU_OK },
        { 1, "t.o: warning: the object is for architecture 0x01, mk2 has 0x02\n", EMU_OK },
        { 0x21, "t.o: warning: the object is for architecture 0x21, mk2 has 0x02\n", EMU_OK },
        { 3, "expected the flags of an architecture", EMU_BAD_ASM },
        { 0x102, "expected the flags of an architecture", EMU_BAD_ASM },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        static const struct elf_section_row section = { ".data", PROGBITS, ALLOC, 0, 0,
                                                        4,       0,        words, 4 };
        const struct elf_plan plan = { &section, NULL, NULL, 1, 0, 0, row[i].flags };
        struct made m = make_elf(&plan);
        struct asm_unit *u = new_unit();
        char *said;

        assert_int_equal(add_made(u, "t.o", &m), row[i].status);
        said = unit_diagnostics(u);
        if (row[i].said ? !strstr(said, row[i].said) : *said != 0)
            fail_msg("flags 0x%x: %s", row[i].flags, said);
        free(said);
        asm_unit_free(u);
    }
}

/* ---- what is refused ---- */

/* A good file in which one number is changed. */
static void test_refused(void **state)
{
    static const struct {
        uint32_t offset, bytes, value;
        const char *why;
    } row[] = {
        { 0, 1, 0, "expected an ELF file" },
        { 4, 1, 2, "of 32 bits" },
        { 5, 1, 2, "little endian" },
        { 7, 1, 9, "without an operating system, got ABI 9" },
        { 16, 2, 2, "expected a relocatable object, got an ELF file of type 2" },
        { 18, 2, 3, "expected an object for machine 248, got one for 3" },
        { 32, 4, 0xffffff00, "section headers lead outside" },
        { 46, 2, 64, "section headers lead outside" },
        { 48, 2, 0, "section headers lead outside" },
        { 48, 2, 999, "section headers lead outside" },
        { 50, 2, 77, "has no name" },
        { 50, 2, 1, "has no name" },
    };
    struct made good = one_symbol("x", GLOBAL, 4, "y", WEAK);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct made m = good;
        struct asm_unit *u = new_unit();

        memcpy(m.at + row[i].offset, &row[i].value, row[i].bytes);
        if (add_made(u, "t.o", &m) != EMU_BAD_ASM || !strstr(ss_error(), row[i].why))
            fail_msg("%u = %u: %s", row[i].offset, row[i].value, ss_error());
        asm_unit_free(u);
    }
}

static void test_refused_sections(void **state)
{
    static const struct {
        struct elf_section_row section;
        const char *why;
    } row[] = {
        { { ".tdata", PROGBITS, ALLOC | 0x400, 0, 0, 4, 0, words, 4 }, "flags 0x402" },
        { { ".init_array", 14, ALLOC, 0, 0, 4, 0, words, 4 }, "has type 14: nothing here uses it" },
        { { ".data", PROGBITS, ALLOC, 0, 0, 3, 0, words, 4 }, "alignment 3" },
        { { ".data", PROGBITS, ALLOC, 0, 0, 0x20000, 0, words, 4 }, "alignment 131072" },
        { { ".bss", NOBITS, ALLOC, 0, 0, 4, 0, NULL, 638977 }, "larger than the memory of a tile" },
        { { ".rel", REL, 0, 0, 1, 4, 8, words, 8 }, "relocations without addends" },
        { { ".symtab", SYMTAB, 0, 4, 0, 4, 16, words, 16 }, "are both tables of symbols" },
        { { ".group", GROUP, 0, 3, 9, 4, 4, "\1\0\0\0\2\0\0\0", 8 }, "has no name" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        const struct elf_symbol_row x = { "x", 0, 0, GLOBAL, ABS };
        const struct elf_plan plan = { &row[i].section, &x, NULL, 1, 1, 0, 2 };
        struct made m = make_elf(&plan);
        struct asm_unit *u = new_unit();

        if (add_made(u, "t.o", &m) != EMU_BAD_ASM || !strstr(ss_error(), row[i].why))
            fail_msg("%s: %s", row[i].section.name, ss_error());
        asm_unit_free(u);
    }
}

/* ---- archives ---- */

static void put_member(char *out, size_t *n, const char *name, const void *bytes, uint32_t size)
{
    *n += (size_t)sprintf(out + *n, "%-16s%-12d%-6d%-6d%-8d%-10u`\n", name, 0, 0, 0, 644, size);
    memcpy(out + *n, bytes, size);
    *n += size;
    if (size & 1)
        out[(*n)++] = '\n';
}

/* Members that define what is used come, and what these use; others stay away. Names of all three
 * kinds. */
static void test_archive(void **state)
{
    struct made a = one_symbol("a", GLOBAL, 4, "b", GLOBAL),
                b = one_symbol("b", GLOBAL, 8, "none", WEAK),
                c = one_symbol("c", GLOBAL, 4, "none", WEAK),
                user = one_symbol("user", GLOBAL, 0, "a", GLOBAL);
    struct asm_unit *u = new_unit();
    const struct asm_image *image;
    char bytes[FILE_MAX] = "!<arch>\n";
    static const char names[] = "a_name_that_is_long.o/\n";
    size_t n = 8;

    (void)state;
    put_member(bytes, &n, "/", words, 5); /* an index, which is not believed */
    put_member(bytes, &n, "//", names, sizeof(names) - 1);
    put_member(bytes, &n, "c.o/", c.at, c.n);
    put_member(bytes, &n, "b.o", b.at, b.n);
    put_member(bytes, &n, "/0", a.at, a.n);
    assert_true(asm_is_object(bytes, n));
    assert_int_equal(asm_unit_add_object(u, "lib.a", bytes, n), EMU_OK);
    assert_int_equal(add_made(u, "user.o", &user), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK);
    assert_int_equal(asm_unit_link(u, NULL), EMU_OK); /* members stay */
    image = asm_unit_image(u);
    assert_int_equal(image->section_count, 3);
    assert_null(asm_symbol_find(image, "c"));
    assert_string_equal(asm_symbol_find(image, "a")->file, "lib.a(a_name_that_is_long.o)");
    assert_string_equal(asm_symbol_find(image, "b")->file, "lib.a(b.o)");
    assert_int_equal(bytes_at(asm_symbol_find(image, "a")->section, 0, 4), value_of(u, "b"));
    asm_unit_free(u);
}

static void test_bad_archives(void **state)
{
    static const struct {
        const char *text, *why;
    } row[] = {
        { "!<arch>\nshort", "ends within its header" },
        { "!<arch>\n"
          "a.o/            0           0     0     644     4         xx1234",
          "has no header" },
        { "!<arch>\n"
          "a.o/            0           0     0     644     5         `\n1234",
          "leads outside the archive" },
        { "!<arch>\n"
          "/7              0           0     0     644     4         `\n1234",
          "has a name that leads outside" },
        { "!<arch>\n"
          "#1/5            0           0     0     644     4         `\n1234",
          "has a name that leads outside" },
        { "!<arch>\n"
          "a.o/            0           0     0     644     4         `\n1234",
          "lib.a(a.o): error: expected an ELF file" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct asm_unit *u = new_unit();
        char *said;

        assert_int_equal(asm_unit_add_object(u, "lib.a", row[i].text, strlen(row[i].text)),
                         EMU_BAD_ASM);
        said = unit_diagnostics(u);
        if (!strstr(said, row[i].why))
            fail_msg("%s: %s", row[i].why, said);
        free(said);
        asm_unit_free(u);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relocations),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_weak),
        cmocka_unit_test(test_local_and_undefined),
        cmocka_unit_test(test_common),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_stack_sizes),
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_sections),
        cmocka_unit_test(test_archive),
        cmocka_unit_test(test_bad_archives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
