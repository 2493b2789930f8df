/* test_elf_run.c - an object with every type of relocation runs: each value is used by an
 * instruction that goes wrong without it. */
#include "tests/fixtures/elf_fixture.h"
#include "tests/fixtures/tile_fixture.h"

/* The words before relocation; labels with r are where relocations apply. The state of the worker
 * is pointers to a word, as they are and scaled. */
static const char code[] = ".section .text, \"ax\"\n"
                           "start:\n"
                           "r20: setzi $m0, 0\n"
                           "rrun: run $m0, $mzero, 0\n"
                           "sync 2\n"
                           "r18: bri 0\n"
                           "setzi $m9, 1\n"
                           "stop: nop\n"
                           "worker:\n"
                           "ld32 $m0, $m13, $m15, 0\n ld32 $m0, $m0, $m15, 0\n"
                           "ld32 $m1, $m13, $m15, 2\n ld32 $m1, $m1, $m15, 0\n"
                           "ldz16 $m2, $m13, $m15, 8\n shl $m2, $m2, 3\n ld32 $m2, $m2, $m15, 0\n"
                           "ldz16 $m3, $m13, $m15, 9\n shl $m3, $m3, 4\n ld32 $m3, $m3, $m15, 0\n"
                           "ldz16 $m4, $m13, $m15, 10\n shl $m4, $m4, 5\n ld32 $m4, $m4, $m15, 0\n"
                           "ldz16 $m5, $m13, $m15, 11\n shl $m5, $m5, 2\n setzi $m6, 0x4c000\n"
                           "ld32 $m5, $m5, $m6, 0\n"
                           "ld32 $m6, $m13, $m15, 6\n ld32 $m6, $m6, $m15, 0\n"
                           "r19: call $m10, 0\n"
                           "r16: cmpult $m7, $m0, 0\n"
                           ".align 8\n"
                           "nop\n"
                           "r8: rpt 3, 0\n"
                           "{ add $m8, $m8, 1; fnop }\n { add $m8, $m8, 10; fnop }\n"
                           "r0: exitz $m15\n"
                           "function:\n"
                           "add $m0, $m0, $m1\n add $m0, $m0, $m2\n add $m0, $m0, $m3\n"
                           "add $m0, $m0, $m4\n add $m0, $m0, $m5\n add $m0, $m0, $m6\n br $m10\n"
                           ".align 8\n"
                           "state:\n"
                           "r32: .long 0\n .long 0\n"
                           "r64: .quad -1\n"
                           "rs3: .short 0\n"
                           "rs4: .short 0\n"
                           "rs5: .short 0\n"
                           "rrel: .short 0\n"
                           "r21: .long 0\n";

enum { VALUE = 1000, POINTERS = 7, LIMIT = POINTERS * VALUE + 1, SYMBOLS = 8 };

/* Where labels of the code are in its section. */
static uint32_t place_of(const struct asm_image *image, const char *label)
{
    const struct asm_symbol *s = asm_symbol_find(image, label);

    assert_non_null(s);
    return (uint32_t)s->value - s->section->addr;
}

static const struct {
    const char *place;
    uint32_t type, symbol;
    int32_t addend;
} use[] = {
    { "r0", 0, 8, 0 },   { "r8", 1, 8, 0 },   { "r16", 2, 7, 0 },  { "r20", 3, 3, 0 },
    { "r32", 4, 6, 0 },  { "r64", 5, 6, 0 },  { "rrel", 6, 6, 0 }, { "r18", 7, 1, 20 },
    { "r19", 8, 4, 0 },  { "rrun", 9, 5, 0 }, { "rs3", 14, 6, 0 }, { "rs4", 15, 6, 0 },
    { "rs5", 16, 6, 0 }, { "r21", 17, 6, 0 },
};

/* The object: section 1 the code, section 2 words of which one at a multiple of 32 is meant. One
 * relocation is left out: its type is 0. */
static struct made make_object(const struct asm_image *image, size_t without)
{
    static const char *const label[] = { "start", "stop", "worker", "function", "state" };
    static const uint32_t words[9] = { [8] = VALUE };
    const struct elf_section_row section[] = {
        { ".text", PROGBITS, ALLOC | EXEC, 0, 0, 8, 0, image->section[0].bytes,
          image->section[0].size },
        { ".data", PROGBITS, ALLOC, 0, 0, 32, 0, words, sizeof(words) },
    };
    struct elf_symbol_row symbol[SYMBOLS] = {
        [5] = { "value", 32, 4, GLOBAL, 2 },
        [6] = { "limit", LIMIT, 0, GLOBAL, ABS },
        [7] = { "length", 1, 0, GLOBAL, ABS }, /* of the repeat, in bundles less 1 */
    };
    struct elf_rela_row rela[EMU_COUNT_OF(use)];

    for (unsigned i = 0; i < EMU_COUNT_OF(label); i++)
        symbol[i] =
            (struct elf_symbol_row){ label[i], place_of(image, label[i]), 0, GLOBAL | FUNC, 1 };
    for (unsigned i = 0; i < EMU_COUNT_OF(use); i++)
        rela[i] = (struct elf_rela_row){ place_of(image, use[i].place), use[i].symbol,
                                         i == without ? 0 : use[i].type, use[i].addend };
    return make_elf(&(struct elf_plan){ section, symbol, rela, 2, SYMBOLS, EMU_COUNT_OF(use), 2 });
}

static struct made object_of_code(size_t without)
{
    const struct asm_options o = { .raw = 1 };
    struct asm_unit *u;
    struct made m;

    assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
    if (asm_unit_add_text(u, "code", code, strlen(code)) != EMU_OK ||
        asm_unit_link(u, NULL) != EMU_OK)
        fail_msg("%s", ss_error());
    m = make_object(asm_unit_image(u), without);
    asm_unit_free(u);
    return m;
}

/* Whether the object runs as it should. */
static int works(size_t without)
{
    struct made m = object_of_code(without);
    struct tile_fixture *r = tile_fixture_new_object("mk2", m.at, m.n);
    int good = tile_fixture_run(r) == BARREL_HALT;

    for (unsigned k = 1; k < POINTERS; k++)
        good = good && tile_m(r->tile, 0, k) == VALUE;
    good = good && tile_m(r->tile, 0, 0) == POINTERS * VALUE && tile_m(r->tile, 0, 7) == 1 &&
           tile_m(r->tile, 0, 8) == 3 * 11 && tile_m(r->tile, LANE_SUPER, 9) == 0;
    tile_fixture_free(r);
    return good;
}

static void every_relocation_runs(void **state)
{
    (void)state;
    assert_true(works(EMU_COUNT_OF(use)));
    assert_true(works(0)); /* it is of type 0 */
}

static void none_is_without_effect(void **state)
{
    (void)state;
    for (size_t i = 1; i < EMU_COUNT_OF(use); i++) {
        if (works(i))
            fail_msg("type %u is not needed", use[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_relocation_runs),
        cmocka_unit_test(none_is_without_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
