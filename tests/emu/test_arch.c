/* test_arch.c - built-in machines against their published numbers, machine files in and out,
 * exchange geometry, the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "emu/arch/arch.h"
#include "emu/arch/arch_elements.h"
#include "emu/arch/arch_geometry.h"
#include "emu/base/alloc.h"
#include "emu/cli/commands.h"

/* ---- the built-in machines ---- */

static void test_presets_match_the_record(void **state)
{
    static const char *const names[] = { "mk1", "mk2", "bow", "c600" };
    static const struct {
        const char *field;
        uint64_t want[4];
        const char *marks;
    } rows[] = {
        { "tiles", { 1216, 1472, 1472, 1472 }, "HHHH" },
        { "mem_bytes", { 262144, 638976, 638976, 638976 }, "HHHH" },
        { "mem_base", { 0x40000, 0x4c000, 0x4c000, 0x4c000 }, "MMMM" },
        { "region0_bytes", { 131072, 212992, 212992, 212992 }, "HHHH" },
        { "region1_interleave", { 2, 2, 2, 2 }, "MMMM" },
        { "element_bytes", { 16384, 16384, 16384, 16384 }, "MMMM" },
        { "isa", { 1, 2, 2, 21 }, "HHHH" },
        { "workers", { 6, 6, 6, 6 }, "HHHH" },
        { "clock_mhz", { 1600, 1330, 1850, 1500 }, "HHHH" },
        { "f16_macs_f16", { 32, 64, 64, 64 }, "HHHH" },
        { "f16_macs_f32", { 32, 32, 32, 32 }, "HHHH" },
        { "f32_macs", { 8, 16, 16, 16 }, "HHHH" },
        { "accumulators", { 16, 32, 32, 32 }, "HHHH" },
        { "load_latency_cycles", { 6, 6, 6, 6 }, "HHHH" },
        { "mem_peak_bytes", { 24, 24, 24, 24 }, "HHHH" },
        { "exchange_bytes", { 4, 4, 4, 4 }, "HHHH" },
        { "exchange_pair_bytes", { 0, 8, 8, 8 }, "HHHH" },
        { "send_max_words", { 64, 64, 64, 64 }, "HHHH" },
        { "rpt_count_bits", { 12, 16, 16, 16 }, "HHHH" },
        { "exchange_rows", { 19, 23, 23, 23 }, "AMMM" },
        { "null_source", { 0x600, 0x640, 0x640, 0x640 }, "MMMM" },
        { "launch_cycles", { 6, 6, 6, 6 }, "AAAA" },
        { "exit_seen_cycles", { 6, 6, 6, 6 }, "AAAA" },
        { "sync_chip_cycles", { 64, 120, 120, 120 }, "AAAA" },
        { "sync_chips_cycles", { 600, 600, 600, 600 }, "MMMM" },
        { "loader_head_bytes", { 16, 16, 16, 16 }, "AMMM" },
        { "loader_tail_bytes", { 1104, 1104, 1104, 1104 }, "AMMM" },
        { "sync_host_zone", { 7, 7, 7, 7 }, "AMMM" },
        { "sync_host_cycles", { 1500, 1500, 1500, 1500 }, "AAAA" },
        { "link_mbytes_per_s", { 16000, 16000, 16000, 16000 }, "MMMM" },
        { "links_pair", { 4, 4, 4, 4 }, "MMMA" },
        { "links_up", { 2, 2, 2, 0 }, "MMMA" },
        { "link_payload_permille", { 850, 850, 850, 850 }, "MMMM" },
        { "link_latency_ns", { 500, 500, 500, 500 }, "AAAA" },
        { "host_link_mbytes_per_s", { 5500, 5500, 5500, 3900 }, "MMMM" },
        { "host_latency_ns", { 10000, 10000, 10000, 10000 }, "AAAA" },
        { "host_packet_bytes", { 1024, 1024, 1024, 1024 }, "AAAA" },
        { "stream_mem_bytes", { 64ull << 30, 64ull << 30, 64ull << 30, 64ull << 30 }, "AAAA" },
    };

    (void)state;
    for (size_t r = 0; r < EMU_COUNT_OF(rows); r++) {
        const struct arch_field *f = ss_arch_field_find(rows[r].field);
        size_t i;

        assert_non_null(f);
        i = (size_t)(f - ss_arch_field_at(0));
        for (size_t k = 0; k < 4; k++) {
            const struct arch *a = ss_arch_preset(names[k]);

            if (ss_arch_field_number(a, i) != rows[r].want[k] ||
                ss_arch_field_mark(a, i) != rows[r].marks[k])
                fail_msg("%s of %s", rows[r].field, names[k]);
        }
    }
}

static void test_presets_are_complete(void **state)
{
    static const char *const order[] = { "mk1", "mk2", "bow", "c600", "toy4", "toy16", "toy64" };

    (void)state;
    assert_int_equal(ss_arch_preset_count(), EMU_COUNT_OF(order));
    for (size_t p = 0; p < EMU_COUNT_OF(order); p++) {
        const struct arch *a = ss_arch_preset(order[p]);

        assert_string_equal(ss_arch_preset_name(p), order[p]);
        assert_non_null(a);
        assert_string_equal(a->name, order[p]);
        assert_string_equal(a->base, order[p]);
        if (ss_arch_check(a) != EMU_OK)
            fail_msg("%s", ss_error());
    }
    assert_null(ss_arch_preset("mk3"));
    assert_int_equal(ss_arch_preset("toy4")->tiles, 4);
    assert_int_equal(ss_arch_preset("toy16")->tiles, 16);
    assert_int_equal(ss_arch_preset("toy64")->tiles, 64);
    assert_int_equal(ss_arch_preset("toy64")->mem_bytes, 65536);
    assert_int_equal(ss_arch_preset("toy64")->region0_bytes, 32768);
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        const struct arch_field *f = ss_arch_field_at(i);

        assert_true(*f->name && *f->unit && *f->source && *f->doc);
        assert_null(strchr(f->unit, ' ')); /* the printed list is read by columns */
        assert_true(f->min <= f->max);
        assert_non_null(strchr("HMA", f->mark));
        assert_ptr_equal(ss_arch_field_find(f->name), f);
    }
}

/* Published figures of the chips that the fields must reproduce; tolerance in percent, for rounded
 * figures. */
static void near(uint64_t got, double want, double percent)
{
    if ((double)got < want * (1 - percent / 100) || (double)got > want * (1 + percent / 100))
        fail_msg("%llu is not within %g %% of %g", (unsigned long long)got, percent, want);
}

static void test_peak_identities(void **state)
{
    const struct arch *mk2 = ss_arch_preset("mk2"), *bow = ss_arch_preset("bow");

    (void)state;
    assert_true(ss_arch_f16_ops_per_s(mk2) == 1472ull * 1330000000 * 128);
    assert_true(ss_arch_f32_ops_per_s(mk2) == 1472ull * 1330000000 * 32);
    assert_true(ss_arch_mem_bytes_per_s(mk2) == 1472ull * 1330000000 * 24);
    assert_true(ss_arch_exchange_bytes_per_s(mk2) == 1472ull * 1330000000 * 4);
    assert_true(ss_arch_link_bytes_per_s(mk2) == 320000000000); /* as advertised */
    near(ss_arch_f16_ops_per_s(mk2), 250e12, 0.5);
    near(ss_arch_f32_ops_per_s(mk2), 62.5e12, 0.5);
    near(ss_arch_mem_bytes_per_s(mk2), 47e12, 0.5);
    near(ss_arch_exchange_bytes_per_s(mk2), 7.8e12, 0.5);
    near(ss_arch_f16_ops_per_s(bow), 350e12, 0.5);
    near(ss_arch_mem_bytes_per_s(bow), 65e12, 0.6);
    near(ss_arch_exchange_bytes_per_s(bow), 10.9e12, 0.5);
    near(ss_arch_f16_ops_per_s(ss_arch_preset("mk1")), 125e12, 0.5);
    assert_true((uint64_t)mk2->tiles * mk2->mem_bytes > 896ull << 20); /* "900 MB" in memory */
}

static void test_cycles(void **state)
{
    const struct arch *a = ss_arch_preset("c600"); /* 1.5 cycles a nanosecond */

    (void)state;
    assert_true(ss_arch_cycles_from_ns(a, 0) == 0);
    assert_true(ss_arch_cycles_from_ns(a, 1) == 2);
    assert_true(ss_arch_cycles_from_ns(a, 2) == 3);
    assert_true(ss_arch_cycles_from_ns(ss_arch_preset("mk2"), 1) == 2); /* 1.33 */
    assert_true(ss_arch_cycles_from_ns(a, 10001) == 15002);
    assert_true(ss_arch_cycles_for_bytes(a, 0, 3900) == 0);
    assert_true(ss_arch_cycles_for_bytes(a, 1, 3900) == 1);
    assert_true(ss_arch_cycles_for_bytes(a, 39, 3900) == 15);
    assert_true(ss_arch_cycles_for_bytes(a, 40, 3900) == 16);
    assert_true(ss_arch_cycles_for_bytes(a, 1ull << 50, 1500) == 1ull << 50);
}

/* ---- memory elements ---- */

static void test_elements(void **state)
{
    static const struct {
        const char *machine;
        uint32_t addr;
        int want;
    } edge[] = {
        { "mk2", 0x4bfff, -1 },  { "mk2", 0x4c000, 19 },    { "mk2", 0x4ffff, 19 },
        { "mk2", 0x50000, 20 },  { "mk2", 0x7ffff, 31 },    { "mk2", 0x80000, 32 },
        { "mk2", 0x80007, 32 },  { "mk2", 0x80008, 33 },    { "mk2", 0x8000f, 33 },
        { "mk2", 0x80010, 32 },  { "mk2", 0x87ff8, 33 },    { "mk2", 0x88000, 34 },
        { "mk2", 0xe7ff0, 56 },  { "mk2", 0xe7fff, 57 },    { "mk2", 0xe8000, -1 },
        { "mk2", 0, -1 },        { "mk2", 0xffffffff, -1 }, { "mk1", 0x40000, 16 },
        { "mk1", 0x5ffff, 23 },  { "mk1", 0x60008, 25 },    { "mk1", 0x7fff0, 30 },
        { "toy4", 0x53fff, 20 }, { "toy4", 0x54000, 21 },   { "toy4", 0x54008, 22 },
        { "toy4", 0x5c000, -1 },
    };
    static uint32_t bytes[64];
    const struct arch *a = ss_arch_preset("mk2");

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(edge); i++)
        if (arch_element_of(ss_arch_preset(edge[i].machine), edge[i].addr) != edge[i].want)
            fail_msg("%s 0x%x", edge[i].machine, edge[i].addr);
    /* Every element holds exactly its size. */
    for (uint32_t addr = a->mem_base; addr < a->mem_base + a->mem_bytes; addr += 8)
        bytes[arch_element_of(a, addr)] += 8;
    for (uint32_t e = 0; e < 64; e++)
        assert_int_equal(bytes[e], e < 19 || e > 57 ? 0 : 16384);
}

/* ---- machine files ---- */

static void test_json_round_trip(void **state)
{
    (void)state;
    for (size_t p = 0; p <= ss_arch_preset_count(); p++) {
        struct arch a = *ss_arch_preset(ss_arch_preset_name(p % ss_arch_preset_count())), b;
        char *text;

        if (p == ss_arch_preset_count()) { /* a changed one */
            assert_int_equal(ss_arch_set(&a, "tiles=3000"), EMU_OK);
            assert_int_equal(ss_arch_set(&a, "name=odd \"one\" \\"), EMU_OK);
            assert_int_equal(ss_arch_set(&a, "exchange_kind=flat"), EMU_OK);
            assert_int_equal(ss_arch_set(&a, "stream_mem_bytes=1024Gi"), EMU_OK);
        }
        text = ss_arch_to_json(&a);
        assert_non_null(text);
        memset(&b, 0xff, sizeof(b));
        if (ss_arch_load_text(text, strlen(text), "round", &b) != EMU_OK)
            fail_msg("%s", ss_error());
        assert_true(ss_arch_equal(&a, &b));
        for (size_t i = 0; i < ARCH_FIELD_COUNT; i++)
            assert_int_equal(ss_arch_field_mark(&a, i), ss_arch_field_mark(&b, i));
        ss_free(text);
    }
}

/* ss_arch_equal sees every field, and so does JSON: change one at a time. */
static void test_every_field_survives(void **state)
{
    unsigned changed = 0;

    (void)state;
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        const struct arch_field *f = ss_arch_field_at(i);
        struct arch a = *ss_arch_preset("toy16"), b;
        uint64_t was = ss_arch_field_number(&a, i);
        char set[120], *text;

        if (f->min == f->max)
            continue;
        if (f->type == ARCH_TYPE_text)
            snprintf(set, sizeof(set), "%s=other", f->name);
        else if (f->type == ARCH_TYPE_kind)
            snprintf(set, sizeof(set), "%s=columns", f->name);
        else if (f->type == ARCH_TYPE_clash)
            snprintf(set, sizeof(set), "%s=fault", f->name);
        else if (f->type == ARCH_TYPE_rails)
            snprintf(set, sizeof(set), "%s=mesh", f->name);
        else
            snprintf(set, sizeof(set), "%s=%llu", f->name,
                     (unsigned long long)(was == f->max ? was - 1 : was + 1));
        assert_int_equal(ss_arch_set(&a, set), EMU_OK);
        assert_false(ss_arch_equal(&a, ss_arch_preset("toy16")));
        if (f->type != ARCH_TYPE_text)
            assert_int_equal(ss_arch_field_mark(&a, i), 'A');
        if (ss_arch_check(&a) != EMU_OK)
            continue; /* not alone */
        text = ss_arch_to_json(&a);
        assert_non_null(text);
        assert_int_equal(ss_arch_load_text(text, strlen(text), "one", &b), EMU_OK);
        assert_true(ss_arch_equal(&a, &b));
        ss_free(text);
        changed++;
    }
    assert_true(changed > 50);
}

static void test_partial_files(void **state)
{
    static const char half[] = "{\"base\": \"mk2\", \"name\": \"half\", \"tiles\": 736,\n"
                               " \"mem_base\": \"0x4c000\", \"clock_mhz\": 1500}";
    static const char rows[] = "{\"null_source\": \"0x900\", \"tiles\": 2048, \"base\": \"mk2\"}";
    static const char kind[] =
        "{\"base\": \"toy4\", \"tiles\": 2048, \"exchange_kind\": \"columns\"}";
    static const char flat[] = "{\"base\": \"mk2\", \"tiles\": 3001, \"exchange_kind\": \"flat\"}";
    static const char gone[] = "{\"base\": \"mk2\", \"links\": 10, \"rail\": \"mesh\",\n"
                               " \"links_total_mbytes_per_s\": 1, \"neighbour_mbytes_per_s\": 2}";
    struct arch a;

    (void)state;
    assert_int_equal(ss_arch_load_text(gone, strlen(gone), "gone", &a), EMU_OK);
    assert_int_equal(arch_rail(&a), ARCH_RAIL_MESH);
    assert_int_equal(ss_arch_set(&a, "rail=torus"), EMU_OK);
    assert_true(ss_arch_equal(&a, ss_arch_preset("mk2")));
    assert_int_equal(ss_arch_load_text(half, strlen(half), "half", &a), EMU_OK);
    assert_int_equal(a.tiles, 736);
    assert_int_equal(a.clock_mhz, 1500);
    assert_int_equal(a.mem_bytes, ss_arch_preset("mk2")->mem_bytes);
    assert_int_equal(ss_arch_field_mark(&a, ARCH_FIELD_tiles), 'A');
    assert_int_equal(ss_arch_field_mark(&a, ARCH_FIELD_mem_bytes), 'H');
    /* An explicit value beats what tiles does to it, wherever it stands. */
    assert_int_equal(ss_arch_load_text(rows, strlen(rows), "rows", &a), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 32);
    assert_int_equal(arch_host_source(&a), 2048);
    assert_int_equal(a.null_source, 0x900);
    assert_int_equal(ss_arch_load_text(kind, strlen(kind), "kind", &a), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 32);
    assert_int_equal(ss_arch_load_text(flat, strlen(flat), "flat", &a), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 23);
    assert_int_equal(arch_host_source(&a), 3008);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *text, *message; /* the message starts so */
    } bad[] = {
        { "", "f.json:1:0: '[' or '{' expected near end of file" },
        { "{\"base\": \"mk2\",\n \"tiles\": }", "f.json:2:11: unexpected token near '}'" },
        { "{\"base\": \"mk2\",\n\"tiles\": 4,\n\"tiles\": 4}",
          "f.json:3:7: duplicate object key near '\"tiles\"'" },
        { "{\"base\": \"mk2\"} x", "f.json:1:17: end of file expected near 'x'" },
        { "{\"base\": \"mk2\", \"tiles\": 99999999999999999999}",
          "f.json:1:45: too big integer near" },
        { "[]", "f.json: expected an object, got []" },
        { "{}", "f.json: base: expected one of mk1, mk2, bow, c600, toy4, toy16, toy64" },
        { "{\n \"base\": \"mk9\"}", "f.json: base: expected one of mk1, mk2, bow, c600, toy4, "
                                    "toy16, toy64, got \"mk9\"" },
        { "{\"base\": 2}", "f.json: base: expected one of mk1, mk2, bow, c600, toy4, toy16, "
                           "toy64, got 2" },
        { "{\"base\": \"mk2\",\n  \"tils\": 4}",
          "f.json: unknown field 'tils', did you mean 'tiles'?" },
        { "{\"base\": \"mk2\", \"zzzzzzzzzz\": 4}", "f.json: unknown field 'zzzzzzzzzz'" },
        { "{\"base\": \"mk2\",\n\n\t\"tiles\": \"many\"}",
          "f.json: tiles: expected an integer from 1 to 8064 (tiles), got \"many\"" },
        { "{\"base\": \"mk2\", \"tiles\": 736.0}",
          "f.json: tiles: expected an integer from 1 to 8064 (tiles), got 736.0" },
        { "{\"base\": \"mk2\", \"tiles\": [736]}",
          "f.json: tiles: expected an integer from 1 to 8064 (tiles), got [736]" },
        { "{\"base\": \"mk2\", \"tiles\": null}",
          "f.json: tiles: expected an integer from 1 to 8064 (tiles), got null" },
        { "{\"base\": \"mk2\", \"tiles\": 0}",
          "f.json: tiles: expected an integer from 1 to 8064 (tiles), got 0" },
        { "{\"base\": \"mk2\", \"tiles\": -2}",
          "f.json: tiles: expected an integer from 1 to 8064 (tiles), got -2" },
        { "{\"base\": \"mk2\", \"tiles\": 4294967298}",
          "f.json: tiles: expected an integer from 1 to 8064 (tiles), got 4294967298" },
        { "{\"base\": \"mk2\", \"mem_base\": \"4c000\"}",
          "f.json: mem_base: expected an integer from 0x0 to 0x1fffff (address), got "
          "\"4c000\"" },
        { "{\"base\": \"mk2\", \"exchange_kind\": \"torus\"}",
          "f.json: exchange_kind: expected \"flat\" or \"columns\", got \"torus\"" },
        { "{\"base\": \"mk2\", \"exchange_kind\": 1}",
          "f.json: exchange_kind: expected \"flat\" or \"columns\", got 1" },
        { "{\"base\": \"mk2\", \"name\": 7}",
          "f.json: name: expected a text of 1 to 31 printable bytes, got 7" },
        { "{\"base\": \"mk2\", \"name\": \"\"}",
          "f.json: name: expected a text of 1 to 31 printable bytes, got \"\"" },
        { "{\"base\": \"mk2\", \"name\": \"a\\nb\"}",
          "f.json: name: expected a text of 1 to 31 printable bytes, got \"a" },
        { "{\"base\": \"mk2\", \"element_word_bytes\": 4}",
          "f.json: element_word_bytes: expected 8 bytes: the instruction set fixes it, got "
          "4" },
        /* strings, nesting and characters of several bytes before the key that is meant */
        { "{\"na\\u006de\": \"{,\\\"tiles\\\": [\", \"title\": \"\xc3\xa9\", \"base\": \"mk2\"}",
          "f.json: title: expected a text of 1 to 63 printable bytes" },
        { "{\"title\": \"\xc3\xa9\", \"base\": \"mk9\"}", "f.json: base: expected one of" },
        { "{\"x\": {\"tiles\": [1, {\"a\": 2}]}, \"base\": \"mk\"}", "f.json: base: expected" },
        /* impossible combinations */
        { "{\"base\": \"mk2\",\n \"tiles\": 735}",
          "f.json: tiles: 735 is odd, but tiles of a column exchange come in pairs" },
        { "{\"base\": \"mk2\",\n \"mem_bytes\": 131072}",
          "f.json: region0_bytes: 212992 is more than mem_bytes 131072" },
        { "{\"base\": \"mk2\",\n \"workers\": 8}", "f.json: workers: 8, but the machine runs six" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        struct arch a = *ss_arch_preset("toy4");

        assert_int_equal(ss_arch_load_text(bad[i].text, strlen(bad[i].text), "f.json", &a),
                         EMU_BAD_FILE);
        if (strncmp(ss_error(), bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("\n got  %s\n want %s", ss_error(), bad[i].message);
        assert_true(ss_arch_equal(&a, ss_arch_preset("toy4"))); /* out is untouched */
    }
}

/* ---- --set and impossible machines ---- */

/* Every size that whole elements make is possible, with a third of it in region 0 as before; for
 * one between, and for other impossible numbers, the neighbours are offered. */
static void test_sram(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "sram=300000", "--set sram: 300000 is not a multiple of element_bytes 16384; nearest: "
                         "288K or 304K" },
        { "sram=16K", "--set sram: expected 32768 to 2097152 bytes, as in 256K, got '16K'" },
        { "sram=", "--set sram: expected" },
    };
    static const struct {
        const char *set, *near;
    } impossible[] = {
        { "mem_bytes=307200", "; nearest: mem_bytes 278528 or 311296" },
        { "tiles=735", "; nearest: tiles 734 or 736" },
        { "load_latency_cycles=9", "; nearest: load_latency_cycles 6" },
        { "workers=8", "; nearest: workers 6" },
        { "accumulators=31", "; nearest: accumulators 32" },
    };

    (void)state;
    for (uint32_t k = 3; k <= 109; k++) {
        struct arch a = *ss_arch_preset("mk2");
        char text[32];

        snprintf(text, sizeof(text), "sram=%uK", 16 * k);
        assert_int_equal(ss_arch_set(&a, text), EMU_OK);
        assert_int_equal(ss_arch_check(&a), EMU_OK);
        assert_int_equal(a.mem_bytes, 16384 * k);
        assert_in_range(3 * a.region0_bytes + 6 * 16384, a.mem_bytes + 3 * 16384,
                        a.mem_bytes + 9 * 16384);
    }
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        struct arch a = *ss_arch_preset("mk2");

        assert_int_equal(ss_arch_set(&a, bad[i].text), EMU_BAD_MACHINE);
        assert_memory_equal(ss_error(), bad[i].message, strlen(bad[i].message));
        assert_true(ss_arch_equal(&a, ss_arch_preset("mk2")));
    }
    for (size_t i = 0; i < EMU_COUNT_OF(impossible); i++) {
        struct arch a = *ss_arch_preset("mk2");
        const char *at;

        assert_int_equal(ss_arch_set(&a, impossible[i].set), EMU_OK);
        assert_int_equal(ss_arch_check(&a), EMU_BAD_MACHINE);
        at = strstr(ss_error(), "; nearest");
        assert_non_null(at);
        assert_string_equal(at, impossible[i].near);
    }
}

static void test_set(void **state)
{
    static const struct {
        const char *text;
        uint32_t want;
    } good[] = { { "mem_bytes=131072", 131072 },   { "mem_bytes=0x20000", 131072 },
                 { "mem_bytes=0X2000A", 0x2000a }, { "mem_bytes=128Ki", 131072 },
                 { "mem_bytes=1Mi", 1 << 20 },     { "mem_bytes=128K", 131072 },
                 { "mem_bytes=1M", 1 << 20 } };
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "tiles", "--set 'tiles': expected field=value" },
        { "tils=4", "--set: unknown field 'tils', did you mean 'tiles'?" },
        { "interleave=2", "--set: unknown field 'interleave', did you mean 'region1_interleave'?" },
        { "=4", "--set: unknown field ''" },
        { "base=mk1", "--set: unknown field 'base'" },
        { "tiles=", "--set tiles: expected an integer from 1 to 8064 (tiles), got ''" },
        { "tiles=-4", "--set tiles: expected an integer from 1 to 8064 (tiles), got '-4'" },
        { "tiles= 4", "--set tiles: expected an integer from 1 to 8064 (tiles), got ' 4'" },
        { "tiles=4.0", "--set tiles: expected an integer from 1 to 8064 (tiles), got '4.0'" },
        { "tiles=8065", "--set tiles: expected an integer from 1 to 8064 (tiles), got '8065'" },
        { "tiles=4294967300", "--set tiles: expected" },
        { "stream_mem_bytes=18446744073709551617", "--set stream_mem_bytes: expected" },
        { "stream_mem_bytes=17179869185Gi", "--set stream_mem_bytes: expected" },
        { "tiles=0x", "--set tiles: expected" },
        { "tiles=Ki", "--set tiles: expected" },
        { "tiles=4i", "--set tiles: expected" },
        { "exchange_kind=0", "--set exchange_kind: expected \"flat\" or \"columns\", got '0'" },
        { "exchange_clash=stall",
          "--set exchange_clash: expected \"ignore\" or \"fault\" (a stall would make every later "
          "word meet another event than planned, so it has no meaning here), got 'stall'" },
        { "name=", "--set name: expected a text of 1 to 31 printable bytes, got ''" },
        { "name=0123456789012345678901234567890x", "--set name: expected a text of 1 to 31" },
        { "amp_units=16", "--set amp_units: expected 8 units: the instruction set fixes it, got" },
    };
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(good); i++) {
        assert_int_equal(ss_arch_set(&a, good[i].text), EMU_OK);
        assert_int_equal(a.mem_bytes, good[i].want);
    }
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        a = *ss_arch_preset("mk2");
        assert_int_equal(ss_arch_set(&a, bad[i].text), EMU_BAD_MACHINE);
        if (strncmp(ss_error(), bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("\n got  %s\n want %s", ss_error(), bad[i].message);
        assert_true(ss_arch_equal(&a, ss_arch_preset("mk2")));
    }
    assert_int_equal(ss_arch_set(&a, "name=a=b"), EMU_OK);
    assert_string_equal(a.name, "a=b");
}

static void test_impossible_machines(void **state)
{
    static const struct {
        const char *set[5], *field;
    } bad[] = {
        { { "mem_base=0x4c004" }, "mem_base" },
        { { "element_bytes=5000" }, "element_bytes" },
        { { "mem_bytes=638980" }, "mem_bytes" },
        { { "region0_bytes=212996" }, "region0_bytes" },
        { { "region0_bytes=655360" }, "region0_bytes" },
        { { "region0_bytes=229376" }, "mem_bytes" }, /* region 1 left with half a pair */
        { { "mem_bytes=2Mi", "region0_bytes=1Mi" }, "mem_bytes" },
        { { "workers=5" }, "workers" },
        { { "load_latency_cycles=7" }, "load_latency_cycles" },
        { { "accumulators=16" }, "accumulators" },
        { { "amp_sets=1" }, "accumulators" },
        { { "f16_macs_f16=128" }, "f16_macs_f16" },
        { { "isa=3" }, "isa" },
        { { "amp_sets=1", "accumulators=16", "f16_macs_f16=32", "f32_macs=8" }, "isa" },
        { { "f16_macs_f32=64" }, "f16_macs_f32" },
        { { "f32_macs=32" }, "f32_macs" },
        { { "exchange_columns=8" }, "exchange_columns" },
        { { "tiles=737" }, "tiles" },
        { { "exchange_rows=22" }, "tiles" },
        { { "exchange_rows=25" }, "host_source" },
        { { "host_source=0x500" }, "host_source" },
        { { "exchange_kind=flat", "host_source=0x500" }, "host_source" },
        { { "host_source=0x1fff" }, "host_source" },
        { { "null_source=5" }, "null_source" },
        { { "null_source=0x600" }, "null_source" },
        { { "null_source=0x63f" }, "null_source" },
        { { "exchange_pair_bytes=6" }, "exchange_pair_bytes" },
        { { "host_packet_bytes=1022" }, "host_packet_bytes" },
        { { "chips=512" }, "chips" },
        { { "chips_per_machine=512" }, "chips_per_machine" },
        { { "chips=4", "links_pair=0", "links_up=0", "links_down=0" }, "links_pair" },
        { { "chips=8", "chips_per_machine=3" }, "chips_per_machine" },
    };
    char start[80];
    struct arch a;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        a = *ss_arch_preset("mk2");
        for (size_t k = 0; k < 5 && bad[i].set[k]; k++)
            assert_int_equal(ss_arch_set(&a, bad[i].set[k]), EMU_OK);
        if (ss_arch_check(&a) != EMU_BAD_MACHINE)
            fail_msg("accepted: %s", bad[i].set[0]);
        snprintf(start, sizeof(start), "machine mk2: %s: ", bad[i].field);
        if (strncmp(ss_error(), start, strlen(start)) != 0)
            fail_msg("\n got  %s\n want %s", ss_error(), start);
    }
    a = *ss_arch_preset("mk2"); /* what ss_arch_set would not let through */
    a.clock_mhz = 0;
    assert_int_equal(ss_arch_check(&a), EMU_BAD_MACHINE);
    a = *ss_arch_preset("mk2");
    a.base[0] = 'x';
    assert_int_equal(ss_arch_check(&a), EMU_BAD_MACHINE);
    assert_int_equal(ss_arch_field_mark(&a, ARCH_FIELD_tiles), 'A');
}

/* ---- files, printing, memory, the command ---- */

static void temporary_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
}

static void test_names_and_files(void **state)
{
    char path[] = "/tmp/test_arch_XXXXXX", want[120];
    struct arch a;

    (void)state;
    temporary_file(path, "{\"base\": \"toy4\",\n \"name\": \"mine\", \"tiles\": 5}\n");
    assert_int_equal(ss_arch_from_name_or_file("bow", &a), EMU_OK);
    assert_int_equal(a.clock_mhz, 1850);
    assert_int_equal(ss_arch_from_name_or_file(path, &a), EMU_OK);
    assert_string_equal(a.name, "mine");
    assert_int_equal(a.tiles, 5);
    assert_int_equal(truncate(path, 30), 0);
    assert_int_equal(ss_arch_load_file(path, &a), EMU_BAD_FILE);
    snprintf(want, sizeof(want), "%s:2:", path);
    assert_int_equal(strncmp(ss_error(), want, strlen(want)), 0);
    unlink(path);
    assert_int_equal(ss_arch_load_file(path, &a), EMU_IO);
    assert_int_equal(ss_arch_from_name_or_file("mk3", &a), EMU_IO);
    assert_non_null(strstr(ss_error(), "'mk3' is neither a built-in machine (mk1, mk2,"));
    assert_int_equal(ss_arch_load_file("/", &a), EMU_IO); /* a directory opens but cannot be read */
    assert_int_equal(ss_arch_load_file("/dev/zero", &a), EMU_BAD_FILE);
    assert_non_null(strstr(ss_error(), "/dev/zero:1:1: "));
}

static void changes_are(const struct arch *a, const char *want)
{
    json_t *list = ss_arch_changes(a);
    char *text = json_dumps(list, JSON_COMPACT);

    assert_string_equal(text, want);
    free(text);
    json_decref(list);
}

static void test_titles(void **state)
{
    static const char *const set[] = { "tiles=128", "sync_chip_cycles=60", "clock_mhz=1000",
                                       "exchange_kind=flat", "host_link_mbytes_per_s=2000" };
    static const char mine[] = "{\"base\": \"toy4\", \"name\": \"mine\", \"tiles\": 5}";
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    assert_string_equal(ss_arch_title(&a).at, "mk2");
    changes_are(&a, "[]");
    assert_int_equal(ss_arch_set(&a, set[0]), EMU_OK);
    assert_int_equal(ss_arch_set(&a, set[1]), EMU_OK);
    assert_string_equal(ss_arch_title(&a).at, "mk2 with tiles=128, sync_chip_cycles=60");
    changes_are(&a, "[\"tiles=128\",\"sync_chip_cycles=60\"]");
    assert_int_equal(ss_arch_set(&a, "tiles=1472"), EMU_OK); /* as it was */
    assert_string_equal(ss_arch_title(&a).at, "mk2 with sync_chip_cycles=60");
    for (size_t i = 0; i < EMU_COUNT_OF(set); i++)
        assert_int_equal(ss_arch_set(&a, set[i]), EMU_OK);
    assert_non_null(strstr(ss_arch_title(&a).at, "mk2 with tiles=128, "));
    assert_non_null(strstr(ss_arch_title(&a).at, ", 2 more"));
    assert_int_equal(ss_arch_load_text(mine, strlen(mine), "mine.json", &a), EMU_OK);
    assert_string_equal(ss_arch_title(&a).at, "mine");
    changes_are(&a, "[\"tiles=5\"]");
}

static void test_failing_allocations(void **state)
{
    char path[] = "/tmp/test_arch_XXXXXX", *text = NULL;
    long n = 0, before = alloc_live();
    struct arch a;

    (void)state;
    temporary_file(path, "{\"base\": \"toy4\"}");
    for (;; n++) {
        alloc_test_fail_at(n);
        if (ss_arch_load_file(path, &a) == EMU_OK && (text = ss_arch_to_json(&a)))
            break;
        assert_int_equal(alloc_live(), before);
    }
    alloc_test_fail_at(-1);
    ss_free(text);
    unlink(path);
    assert_int_equal(alloc_live(), before);
    assert_int_equal(n, 2); /* the text of the file, the text of the machine */
}

static void test_print(void **state)
{
    struct arch a = *ss_arch_preset("mk2");
    char *text = NULL, line[200];
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    assert_int_equal(ss_arch_set(&a, "tiles=736"), EMU_OK);
    ss_arch_print(&a, f);
    fclose(f);
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        char value[ARCH_TEXT_MAX];

        ss_arch_field_text(&a, i, value, sizeof(value));
        snprintf(line, sizeof(line), "\n%-24s  %-17s  %-12s  %c  ", ss_arch_field_at(i)->name,
                 value, ss_arch_field_at(i)->unit, ss_arch_field_mark(&a, i));
        if (!strstr(text, line))
            fail_msg("no line%s", line);
    }
    assert_non_null(strstr(text, "(mk2: 1472)\n"));
    assert_non_null(strstr(text, "0x4c000"));
    assert_non_null(strstr(text, "AMP units of one set; fixed by the instruction set [vendor"));
    assert_non_null(strstr(text, "one link, each way; cycles hang on it only where there are "
                                 "several chips [PopLibs cost model]"));
    assert_non_null(strstr(text, "320000000000       bytes/s, all links, both ways"));
    free(text);
}

/* Runs the command with stdout and stderr in a file; returns its exit code and the text, to be
 * freed. */
static int run_command(char **argv, char **text)
{
    FILE *file = tmpfile();
    int argc = 0, out = dup(1), err = dup(2), code;
    long bytes;

    while (argv[argc])
        argc++;
    fflush(stdout);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    code = command_main(command_find(emu_commands, "machines"), argc, argv);
    fflush(stdout);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    fseek(file, 0, SEEK_END);
    bytes = ftell(file);
    rewind(file);
    *text = calloc(1, (size_t)bytes + 1);
    assert_non_null(*text);
    assert_int_equal(fread(*text, 1, (size_t)bytes, file), bytes);
    fclose(file);
    return code;
}

static void test_command(void **state)
{
    static const struct {
        const char *argv[7];
        int code;
        const char *says;
    } runs[] = {
        { { "machines" }, 0, "toy64" },
        { { "machines", "--json" }, 0, "\"name\": \"toy64\"" },
        { { "machines", "mk2" }, 0, "mem_bytes                 638976" },
        { { "machines", "mk2", "--set", "tiles=736", "--json" }, 0, "\"tiles\": 736," },
        { { "machines", "mk2", "--set", "tiles=2000", "--set=tiles=4" }, 0, "(mk2: 1472)" },
        { { "machines", "mk9" }, 2, "neither a built-in machine" },
        { { "machines", "mk2", "--set", "tiles=0" }, 2, "expected an integer from 1 to" },
        { { "machines", "mk2", "--set", "workers=7" }, 2, "the machine runs six" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(runs); i++) {
        char *argv[8] = { NULL }, *text;
        int code;

        for (size_t k = 0; k < 7 && runs[i].argv[k]; k++)
            argv[k] = (char *)(uintptr_t)runs[i].argv[k];
        code = run_command(argv, &text);
        if (code != runs[i].code || !strstr(text, runs[i].says))
            fail_msg("run %zu: exit %d: %s", i, code, text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets_match_the_record),
        cmocka_unit_test(test_presets_are_complete),
        cmocka_unit_test(test_peak_identities),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_every_field_survives),
        cmocka_unit_test(test_partial_files),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_sram),
        cmocka_unit_test(test_impossible_machines),
        cmocka_unit_test(test_names_and_files),
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_command),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
