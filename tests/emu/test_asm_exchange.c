/* test_asm_exchange.c - .exchange blocks and the functions that know the fabric. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch_geometry.h"
#include "emu/asm/asm.h"
#include "emu/base/alloc.h"

static struct asm_unit *assemble(const char *machine, const char *text, enum emu_status want)
{
    const struct asm_options o = { .arch = ss_arch_preset(machine), .raw = 1 };
    struct asm_unit *u;
    enum emu_status s;

    assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
    s = asm_unit_add_text(u, "x.S", text, strlen(text));
    if (s == EMU_OK)
        s = asm_unit_link(u, NULL);
    if (s != want)
        fail_msg("%s", ss_error());
    return u;
}

/* The first section, disassembled, one item per line. */
static void expect_code(const char *machine, const char *text, const char *want)
{
    struct asm_unit *u = assemble(machine, text, EMU_OK);
    const struct asm_section *s = &asm_unit_image(u)->section[0];
    char got[2000] = "", item[200];

    for (uint32_t at = 0; at < s->size;) {
        at += asm_print_item(s, at, NULL, item, sizeof(item));
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s\n", item);
    }
    if (strcmp(got, want))
        fail_msg("got\n%swant\n%s", got, want);
    asm_unit_free(u);
}

static void refuse(const char *text, uint32_t line, const char *message)
{
    struct asm_unit *u = assemble("toy4", text, EMU_BAD_ASM);
    const struct asm_diag *d = asm_diag_at(u, 0);

    assert_int_equal(d->line, line);
    if (!strstr(d->text, message))
        fail_msg("\"%s\" does not say \"%s\"", d->text, message);
    asm_unit_free(u);
}

static void merges(void **state)
{
    (void)state;
    expect_code(
        "toy16",
        "sync 4\n.exchange 3\n.receive 0x50000, 4, 0, 2\n.send 0x40000, 2, 3\n.endexchange\n",
        "sync 4\n"
        "delaypic 2, 0, 81920\n" /* the wait for the send sets the pointer */
        "send 1, 0x40000, 3\n"
        "delayxpic 5, 0, 2\n"
        "delayxpic 3, 0, 1600\n");
    expect_code("toy16", ".exchange 3\n.endexchange\nsync 6\n", "sync 6\n");
    expect_code("toy16", ".exchange 0, 2\n.send 0x40000, 70, 4\n.endexchange\n",
                "delay 1\n"
                "send 63, 0x40000, 3\n"
                "sendoff 5, 0, 3\n");
}

/* Two messages of one event each, every event another source: the pointer is set once. */
static void contiguous_receives(void **state)
{
    (void)state;
    expect_code("toy16",
                ".exchange 0\n.receive 0x50000, 1, 0, 5\n.receive 0x50004, 1, 1, 6\n.endexchange\n",
                "delaypic 0, 0, 81920\n"
                "delayxpic 9, 0, 5\n"
                "delayxpic 0, 0, 6\n"
                "delayxpic 0, 0, 1600\n");
}

static void labels(void **state)
{
    (void)state;
    expect_code("toy4",
                "nop\nsync 4\n.data\n.space 8\na: .space 16\n.text\n"
                ".exchange 1\n.receive a + 4, 2, 0, 0\n.send a, 1, 10\n.endexchange\n",
                "nop\n"
                "sync 4\n"
                "delay 8\n" /* cut off so that sendpicp stands on a multiple of 8 */
                "delaypic 0, 0, 77835\n"
                "sendpicp 0, 0x4c028, 3, 0, 0, 77835\n"
                "delayxpic 1, 0, 1600\n");
}

static void functions(void **state)
{
    struct asm_unit *u =
        assemble("mk2",
                 ".equ T, 700\n.int exch_delay(T, T+1), exch_dir(0, 1), physical(90)\n"
                 ".int logical(physical(91)), pic_lag(T), exch_delay_min(), "
                 "exch_delay_max()\n.if exch_delay(0, 1) > 1000\noops\n.endif\n",
                 EMU_OK);
    const struct arch *a = ss_arch_preset("mk2");
    int32_t got[7];
    uint32_t s = arch_tile_physical(a, 700), d = arch_tile_physical(a, 701);

    (void)state;
    memcpy(got, asm_unit_image(u)->section[0].bytes, sizeof(got));
    assert_int_equal(got[0], arch_exchange_delay(a, s, d));
    assert_int_equal(
        got[1], arch_exchange_direction(a, arch_tile_physical(a, 0), arch_tile_physical(a, 1)));
    assert_int_equal(got[2], arch_tile_physical(a, 90));
    assert_int_equal(got[3], 91);
    assert_int_equal(got[4], arch_pic_lag(a, s));
    assert_int_equal(got[5], -78);
    assert_int_equal(got[6], 112);
    asm_unit_free(u);
}

/* Faults name the line of what an instruction is for: the .receive that it opens the mux for, else
 * the .send. */
static void lines(void **state)
{
    static const struct {
        const char *text;
        uint32_t line[5]; /* of the instructions, in order */
    } row[] = {
        { ".exchange 0\n.send 0x50000, 4, 0\n.send 0x50100, 1, 9\n.endexchange\n", { 2, 4, 3 } },
        { ".exchange 0\n.receive 0x50010, 1, 20, 2\n.receive 0x50000, 1, 0, 1\n.endexchange\n",
          { 3, 3, 3, 2, 2 } },
        { ".exchange 0\n.receive 0x50000, 2, 0, 1\n.send 0x50100, 30, 0\n.endexchange\n",
          { 3, 3, 2, 3 } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct asm_unit *u = assemble("toy4", row[i].text, EMU_OK);
        const struct asm_section *s = &asm_unit_image(u)->section[0];

        for (size_t k = 0; k < EMU_COUNT_OF(row[i].line) && row[i].line[k]; k++) {
            print_message("row %zu, instruction %zu\n", i, k);
            assert_true(k < s->line_count);
            assert_int_equal(s->lines[k].line, row[i].line[k]);
        }
        asm_unit_free(u);
    }
}

static void mistakes(void **state)
{
    (void)state;
    refuse(".send 0, 1, 0\n", 1, "outside of .exchange");
    refuse(".endexchange\n", 1, "closes nothing");
    refuse("nop\n.exchange 0\n", 2, "no .endexchange");
    refuse(".exchange 0\n.exchange 0\n.endexchange\n", 2, ".exchange in an exchange");
    refuse(".exchange 4\n", 1, "tile 4, but machine toy4 has tiles 0 to 3");
    refuse(".exchange 0, -1\n", 1, "cannot begin");
    refuse(".exchange 0\nnop\n.endexchange\n", 3, "only .send and .receive");
    refuse(".exchange 0\n.send 0x50001, 1, 0\n.endexchange\n", 2, "multiple of 4");
    refuse(".exchange 0\n.send later, 1, 0\n.endexchange\nlater:\n", 2,
           "'later' is defined only further down");
    refuse(".exchange 0\n.send nowhere, 1, 0\n.endexchange\n", 2, "undefined symbol 'nowhere'");
    refuse(".exchange 0\n.receive 0x50000, 1, FIRST_EVNT, 1\n.endexchange\n", 2,
           "undefined symbol 'FIRST_EVNT'; did you mean 'FIRST_EVENT'?");
    refuse(".exchange 0\n.send 0x50000, 0, 0\n.endexchange\n", 2, "room for 1 to");
    refuse(".exchange 0\n.receive 0x50000, 1, 0\n.endexchange\n", 2, "the tile that sends");
    refuse(".exchange 0\n.receive 0x50000, 1, 0, 0\n.endexchange\n", 2, "with itself");
    refuse(".exchange 0\n.receive 0x50000, 2, 0, 1\n.receive 0x50010, 2, 1, 2\n.endexchange\n", 3,
           "lasts to event 11");
    refuse(".exchange 0\n.send 0x50000, 1, -3\n.endexchange\n", 2, "3 events too early");
    refuse(".data\n.exchange 0\n.send 0x50000, 1, 0\n.endexchange\n", 4, "executable");
    refuse(".int exch_delay(0)\n", 1, "another tile");
    refuse(".int exch_delay(0, 4)\n", 1, "tiles 0 to 3");
    refuse(".int logical(4)\n", 1, "no tile with the physical number 4");
    refuse(".int physical(later)\nlater:\n", 1, "known here");
    refuse(".worker\n.exchange 0\n.send 0x50000, 1, 0\n.endexchange\n", 3, "supervisor");
}

static void no_leaks(void **state)
{
    static const char text[] =
        ".exchange 1\n.data\na: .space 8\n.text\n.exchange 1\n.receive a, 2, 0, 0\n";
    long live = alloc_live();

    (void)state;
    asm_unit_free(assemble("toy4", text, EMU_BAD_ASM));
    assert_int_equal(alloc_live(), live);
    for (long n = 0; n < 60; n++) {
        const struct asm_options o = { .arch = ss_arch_preset("toy4"), .raw = 1 };
        static const char good[] = ".data\na: .space 8\n.text\n.exchange 1\n.receive a, 2, 0, 0\n"
                                   ".endexchange\n";
        struct asm_unit *u = NULL;

        alloc_test_fail_at(n);
        if (asm_unit_new(&o, &u) == EMU_OK &&
            asm_unit_add_text(u, "x.S", good, strlen(good)) == EMU_OK)
            n = 60;
        alloc_test_fail_at(-1);
        asm_unit_free(u);
        assert_int_equal(alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges),   cmocka_unit_test(contiguous_receives),
        cmocka_unit_test(labels),   cmocka_unit_test(functions),
        cmocka_unit_test(lines),    cmocka_unit_test(mistakes),
        cmocka_unit_test(no_leaks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
