/* test_barrel.c - docs/timing.md, rule by rule: every expected cycle is worked out by hand in the
 * comment beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "emu/arch/arch_numbers.h"
#include "emu/isa/insn_ops.h"
#include "emu/tile/exchange_port.h"
#include "tests/fixtures/tile_fixture.h"

struct expectation {
    const char *text;
    uint64_t cycle; /* at which `stop` can issue */
};

static void expect_cycles(const struct expectation *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct tile_fixture *r = tile_fixture_new("mk2", e[i].text);

        for (int plain = 0; plain < 2; plain++) {
            tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
            assert_int_equal(tile_fixture_run(r), BARREL_HALT);
            if (r->barrel.cycle != e[i].cycle)
                print_error("plain %d: %s\n", plain, e[i].text);
            assert_int_equal(r->barrel.cycle, e[i].cycle);
        }
        tile_fixture_free(r);
    }
}

static void test_supervisor_alone(void **state)
{
    static const struct expectation e[] = {
        { "start: setzi $m0, 1\n setzi $m1, 2\n setzi $m2, 3\n stop: nop", 3 },
        /* the result of cycle 0 is readable in cycle 6 */
        { "start: setzi $m0, 1\n add $m1, $m0, 1\n stop: nop", 7 },
        { "start: setzi $m0, 1\n nop\n nop\n nop\n nop\n nop\n add $m1, $m0, 1\n stop: nop", 7 },
        /* a zero register is never awaited */
        { "start: add $mzero, $mzero, 1\n add $m1, $mzero, 1\n stop: nop", 2 },
        { "start: bri l\n nop\n l: nop\n stop: nop", 7 },
        { "start: brnz $m0, l\n l: nop\n stop: nop", 2 },
        { "start: brz $m0, l\n nop\n l: nop\n stop: nop", 7 },
        /* n iterations of brnzdec alone: 6 (n - 1) + 1; its own result costs nothing more since a
           branch takes as long */
        { "start: l: brnzdec $m0, l\n stop: nop", 1 },
        { "start: setzi $m0, 3\n l: brnzdec $m0, l\n stop: nop", 6 + 6 * 3 + 1 },
        { "start: call $lr, f\n stop: nop\n f: br $lr", 6 + 6 },
        { "start: put $CCCSLOAD, $mzero\n nop\n stop: nop", 7 },
        { "start: sync 2\n stop: nop", 6 },
    };

    (void)state;
    expect_cycles(e, EMU_COUNT_OF(e));
}

static void test_weight_loads(void **state)
{
    /* setzi at 0, put at 6 (waits for it), loads at 12, 13, 14; stop at 15 */
    static const struct expectation e[] = {
        { "start: setzi $m0, data\n put $CCCSLOAD, $m0\n ld64putcs 0\n ld64putcs 1\n ld64putcs 2\n "
          "stop: nop\n"
          ".align 8\n data: .int 0, 0, 0, 0, 0, 0",
          15 },
    };

    (void)state;
    expect_cycles(e, EMU_COUNT_OF(e));
}

static void test_one_call(void **state)
{
    static const struct expectation e[] = {
        /* setzi 0; runall waits for it: issue 6. Workers' round begins at 12, slot 0. s slots: 6 s
           + 17 after the issue */
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n w: exitz $mzero",
          6 + 6 + 17 },
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n w: nop\n nop\n exitz "
          "$mzero",
          6 + 18 + 17 },
        /* a launch at cycle 7: the round begins at 13 with worker 1, so worker 0 is its last */
        { "start: setzi $m0, w\n nop\n nop\n nop\n nop\n nop\n nop\n runall $m0, $mzero, 0\n sync "
          "2\n stop: nop\n"
          "w: exitz $mzero",
          7 + 6 + 17 },
        /* multi-slot instructions: f32exp 3, f32ln 6, f32tanh 5, f32sqrt 5, f32oorx 4, f32oox 3,
           f32div 3, f16v2exp 2 */
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n"
          "w: f32exp $a0, $a0\n f32ln $a0, $a0\n f32tanh $a0, $a0\n f32sqrt $a0, $a0\n f32oorx "
          "$a0, $a0\n"
          "f32oox $a0, $a0\n f32div $a0, $a0, $a1\n f16v2exp $a0, $a0\n f16v2tanh $a0, $a0\n exitz "
          "$mzero",
          6 + 6 * (3 + 6 + 5 + 5 + 4 + 3 + 3 + 2 + 1 + 1) + 17 },
        /* a bundle costs the maximum of its halves */
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n.align 8\n"
          "w: { nop; f32exp $a0, $a0 }\n exitz $mzero",
          6 + 6 * 4 + 17 },
        /* rpt: 1 slot, body 2 x 5; then exit */
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n.align 8\n"
          "w: { rpt 5, 1; fnop }\n { nop; fnop }\n { nop; fnop }\n exitz $mzero",
          6 + 6 * 12 + 17 },
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n.align 8\n"
          "w: { rpt $mzero, 1; fnop }\n { nop; fnop }\n { nop; fnop }\n exitz $mzero",
          6 + 6 * 2 + 17 },
    };

    (void)state;
    expect_cycles(e, EMU_COUNT_OF(e));
}

static void test_one_worker(void **state)
{
    static const struct expectation e[] = {
        /* run at 6 starts worker 0 in slot 0, first cycle >= 12: 12. exit at 12, seen at 18, sync
           done at 24 */
        { "start: setzi $m0, w\n run $m0, $mzero, 0\n sync 2\n stop: nop\n w: exitz $mzero", 24 },
        /* run at 7: worker 0 issues at 18 */
        { "start: setzi $m0, w\n nop\n nop\n nop\n nop\n nop\n nop\n run $m0, $mzero, 0\n sync 2\n "
          "stop: nop\n w: exitz $mzero",
          30 },
        /* the supervisor goes on in the five free slots: run at 6, cycle 12 and 18 belong to worker
         * 0. nops at 13..17, 19 (12 and 18 are taken): six nops, then stop at 20 */
        { "start: setzi $m0, w\n run $m0, $mzero, 0\n nop\n nop\n nop\n nop\n nop\n nop\n stop: "
          "nop\n"
          "w: nop\n nop\n nop\n nop\n exitz $mzero",
          20 },
    };

    (void)state;
    expect_cycles(e, EMU_COUNT_OF(e));
}

/* With six workers the supervisor stands still until the first has left: worker 5 exits at once,
 * the others run long. */
static void test_supervisor_waits_for_a_slot(void **state)
{
    static const struct expectation e[] = {
        /* round 12..17: get; 18: and; 24: cmpeq; 30: brnz; worker 5 exits in the round of 36 at 41:
           its slot is free from 47 */
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n nop\n stop: nop\n"
          "w: get $m1, $WSR\n and $m1, $m1, 7\n cmpeq $m1, $m1, 5\n brnz $m1, out\n"
          "setzi $m2, 100\n l: brnzdec $m2, l\n out: exitz $mzero",
          53 },
    };

    (void)state;
    expect_cycles(e, EMU_COUNT_OF(e));
}

static void test_counters(void **state)
{
    struct tile_fixture *r = tile_fixture_new(
        "mk2", "start: get $m1, $SCOUNT_L\n nop\n get $m2, $SCOUNT_L\n setzi $m0, w\n"
               "runall $m0, $mzero, 0\n sync 2\n stop: nop\n"
               "w: get $m3, $COUNT_L\n get $m4, $COUNT_L\n exitz $mzero");

    (void)state;
    assert_int_equal(tile_fixture_run(r), BARREL_HALT);
    assert_int_equal(r->tile->m[1][LANE_SUPER], 0);
    assert_int_equal(r->tile->m[2][LANE_SUPER], 2);
    /* setzi at 3, runall at 9: the round begins at 15 with worker 3 */
    assert_int_equal(r->tile->m[3][3], 15);
    assert_int_equal(r->tile->m[3][2], 20);
    assert_int_equal(r->tile->m[4][2], 26);
    assert_int_equal(r->barrel.issued[2], 3);
    assert_int_equal(r->barrel.instructions[2], 3);
    tile_fixture_free(r);
}

struct fault_case {
    const char *text;
    enum fault kind;
    unsigned lane;
    const char *at; /* label of the PC */
};

static void test_faults(void **state)
{
    static const struct fault_case f[] = {
        { "start: bad: br $m0\n stop: nop", FAULT_INVALID_PC, .lane = LANE_SUPER },
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n w: nop\n bad: ld32 "
          "$m0, $mzero, $mzero, 0",
          FAULT_INVALID_ADDR, .at = "bad" },
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n w: nop\n bad: .int "
          "0x7fffffff",
          FAULT_INVALID_INSTR, .at = "bad" },
        { "start: bad: .int 0x5fffffff\n stop: nop", FAULT_INVALID_INSTR, .lane = LANE_SUPER,
          .at = "bad" },
        { ".allow_invalid_execution_mode\n start: bad: f32add $a0, $a0, $a0\n stop: nop",
          FAULT_INVALID_INSTR, .lane = LANE_SUPER, .at = "bad" },
        { ".allow_invalid_execution_mode\n start: setzi $m0, bad\n runall $m0, $mzero, 0\n sync "
          "2\n stop: nop\n bad: sync 2",
          FAULT_INVALID_INSTR, .at = "bad" },
        { "start: trap 0\n stop: nop", FAULT_PBRK0, .lane = LANE_SUPER, .at = "start" },
        { "start: setzi $m0, w\n runall $m0, $mzero, 0\n bad: runall $m0, $mzero, 0\n stop: nop\n"
          "w: get $m1, $WSR\n and $m1, $m1, 7\n brnz $m1, w2\n exitz $mzero\n w2: setzi $m2, 50\n "
          "l: brnzdec $m2, l\n exitz $mzero",
          FAULT_INVALID_OP, .lane = LANE_SUPER, .at = "bad" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(f); i++) {
        struct tile_fixture *r = tile_fixture_new("mk2", f[i].text);

        for (int plain = 0; plain < 2; plain++) {
            tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
            assert_int_equal(tile_fixture_run(r), BARREL_FAULT);
            if (r->tile->fault.kind != f[i].kind)
                print_error("%s: %s\n", f[i].text, r->tile->fault.detail);
            assert_int_equal(r->tile->fault.kind, f[i].kind);
            assert_int_equal(r->tile->fault.lane, f[i].lane);
            if (f[i].at)
                assert_int_equal(r->tile->fault.pc, tile_fixture_symbol(r, f[i].at));
        }
        tile_fixture_free(r);
    }
}

/* What an older instruction set lacks is no instruction: here `f16v4hihov4amp`, alone and in a
 * bundle, which mk2 executes. */
static void test_older_instruction_set(void **state)
{
    static const char *const words[] = { "0x5b000740", "0x99e00000, 0xdb000740" };
    char text[200];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(words); i++) {
        snprintf(text, sizeof(text),
                 "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n"
                 "w: .int %s\n exitz $mzero\n",
                 words[i]);
        for (int mk2 = 0; mk2 < 2; mk2++) {
            struct tile_fixture *r = tile_fixture_new(mk2 ? "mk2" : "mk1", text);

            tile_fixture_reset(r, &(struct barrel_options){ .plain = 0 });
            assert_int_equal(tile_fixture_run(r), mk2 ? BARREL_HALT : BARREL_FAULT);
            assert_int_equal(r->tile->fault.kind, mk2 ? FAULT_NONE : FAULT_INVALID_INSTR);
            tile_fixture_free(r);
        }
    }
}

/* Words that read registers which the chips do not have, alone and in a bundle: `add $m0, $m14,
 * $m1`, `f32add $a0, $a1, $a8`, and `f32v4acc $a8:11`, which a what-if with more registers
 * executes. What is written to such a register is lost, so every machine executes
 * `add $m14, $m0, $m1`, `f32add $a8, $a1, $a0`, `nop`, and `fnop`. */
static void test_missing_registers(void **state)
{
    static const struct {
        const char *words;
        unsigned main, aux; /* what the machine must have */
        bool supervisor;
    } row[] = {
        { "0x44e01001", 13, 8, false },
        { "0x44e01001", 13, 8, true },
        { "0x58108000", 12, 9, false },
        { "0x99e00000, 0xd8108000", 12, 9, false },
        { "0x59808200", 12, 12, false },
        { "0x99e00000, 0xd9808200", 12, 12, false },
        { "0x440010e1", 12, 8, false },
        { "0x440010e1", 12, 8, true },
        { "0x58100080", 12, 8, false },
        { "0x99e00000, 0xd8100080", 12, 8, false },
        { "0x19e00000, 0x1ad00000", 12, 8, false },
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct arch machine[2] = { *ss_arch_preset("mk2"), *ss_arch_preset("mk2") };

        snprintf(text, sizeof(text),
                 row[i].supervisor
                     ? "start: bad: .int %s\n stop: nop\n"
                     : "start: setzi $m0, w\n setzi $m2, data\n runall $m0, $m2, 0\n sync 2\n"
                       "stop: nop\n w: mov $m2, $mvertex_base\n bad: .int %s\n exitz $mzero\n"
                       ".align 16\n data: .int 0, 0, 0, 0\n",
                 row[i].words);
        machine[1].number[ARCH_NUMBER_main_registers] = row[i].main;
        machine[1].number[ARCH_NUMBER_aux_registers] = row[i].aux;
        for (unsigned k = 0; k < 2; k++) {
            bool lacks = arch_main_registers(&machine[k]) < row[i].main ||
                         arch_aux_registers(&machine[k]) < row[i].aux;
            struct tile_fixture *r = tile_fixture_new_on(&machine[k], text);

            for (int plain = 0; plain < 2; plain++) {
                tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
                assert_int_equal(tile_fixture_run(r), lacks ? BARREL_FAULT : BARREL_HALT);
                assert_int_equal(r->tile->fault.kind, lacks ? FAULT_INVALID_INSTR : FAULT_NONE);
                if (lacks) {
                    assert_int_equal(r->tile->fault.pc, tile_fixture_symbol(r, "bad"));
                    assert_string_equal(r->tile->fault.detail,
                                        "it reads a register that the machine does not have");
                }
            }
            tile_fixture_free(r);
        }
    }
}

/* A store into the page being executed is seen from the next round on. */
static void test_self_modifying_code(void **state)
{
    struct tile_fixture *r = tile_fixture_new(
        "mk2", "start: setzi $m0, w\n setzi $m1, new\n runall $m0, $m1, 0\n sync 2\n stop: nop\n"
               "w: ld32 $m2, $mvertex_base, $mzero, 0\n setzi $m3, patch\n setzi $m4, 2\n"
               "l: brz $m4, out\n add $m4, $m4, -1\n patch: setzi $m5, 1\n st32 $m2, $m3, $mzero, "
               "0\n bri l\n"
               "out: exitz $mzero\n new: setzi $m5, 77");

    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        assert_int_equal(tile_fixture_run(r), BARREL_HALT);
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
            assert_int_equal(r->tile->m[5][lane], 77);
    }
    tile_fixture_free(r);
}

/* All workers' items of a round are fetched before one is executed: worker 0 stores over what the
 * others execute in that round, and they see it when they come back, whichever worker begins the
 * round. */
static void test_code_of_the_same_round(void **state)
{
    static const char text[] =
        "start: setzi $m0, w\n setzi $m1, new\n .rept %u\n nop\n .endr\n runall $m0, $m1, 0\n"
        "sync 2\n stop: nop\n"
        "w: get $m1, $WSR\n ld32 $m2, $mvertex_base, $mzero, 0\n setzi $m3, patch\n"
        "setzi $m4, 1\n and $m1, $m1, 7\n brz $m1, writer\n"
        "patch: add $m5, $m5, 1\n brnzdec $m4, patch\n exitz $mzero\n"
        "writer: st32 $m2, $m3, $mzero, 0\n exitz $mzero\n new: add $m5, $m5, 16\n";
    char program[1024];

    (void)state;
    for (unsigned phase = 0; phase < TILE_WORKERS; phase++) {
        struct tile_fixture *r;

        snprintf(program, sizeof(program), text, 4 + phase);
        r = tile_fixture_new("mk2", program);
        for (int plain = 0; plain < 2; plain++) {
            tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
            assert_int_equal(tile_fixture_run(r), BARREL_HALT);
            for (unsigned lane = 1; lane < TILE_WORKERS; lane++)
                assert_int_equal(r->tile->m[5][lane], 1 + 16);
        }
        tile_fixture_free(r);
    }
}

/* Bundles need only 4-byte alignment, also where they cross from one decoded page into the next. */
static void test_bundle_across_pages(void **state)
{
    struct tile_fixture *r =
        tile_fixture_new("mk2", "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n"
                                "w: nop\n.space 1004\n");
    struct insn nop[2], main[2], aux[2], done[2];
    uint32_t w[2], at, last;

    (void)state;
    isa_form_build(isa_form(FORM_nop), (int64_t[6]){ 0 }, nop);
    isa_form_build(isa_form(FORM_setzi_m), (int64_t[6]){ 3, 33 }, main);
    isa_form_build(isa_form(FORM_setzi_a), (int64_t[6]){ 4, 44 }, aux);
    isa_form_build(isa_form(FORM_exitz), (int64_t[6]){ 15 }, done);
    last = r->arch.mem_base + (1 << CODE_PAGE_BITS) - 4; /* last word of the first page */
    for (int plain = 0; plain < 2; plain++) {
        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        isa_encode(nop, w);
        for (at = tile_fixture_symbol(r, "w"); at < last; at += 4)
            tile_write(r->tile, at, w, 4);
        isa_encode_bundle(main, aux, w);
        tile_write(r->tile, last, w, 8);
        isa_encode(done, w);
        tile_write(r->tile, last + 8, w, 4);
        assert_int_equal(tile_fixture_run(r), BARREL_HALT);
        assert_int_equal(r->tile->m[3][5], 33);
        assert_int_equal(r->tile->a[4][5], 44);
        /* a new second half, then the same page again */
        aux[0].i = 55;
        isa_encode_bundle(main, aux, w);
        tile_write(r->tile, last + 4, &w[1], 4);
        aux[0].i = 44;
        barrel_init(&r->barrel, r->cache, &(struct barrel_options){ .plain = plain }, 0);
        r->tile->pc[LANE_SUPER] = tile_fixture_symbol(r, "start");
        assert_int_equal(tile_fixture_run(r), BARREL_HALT);
        assert_int_equal(r->tile->a[4][5], 55);
    }
    tile_fixture_free(r);
}

/* Of several faults of one round the one of the lowest cycle stays, in one cycle that of the
 * auxiliary half. */
static void test_which_fault_stays(void **state)
{
    static const char both[] =
        "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n.align 8\n"
        "w: setzi $m1, 1\n ldconst $a4, 0x7f800001\n setzi $a0, 7\n uput $FP_CTL, $a0\n nop\n"
        "bad: { st32 $m1, $mzero, $mzero, 0; f32add $a4, $a4, $a4 }\n exitz $mzero";
    static const char apart[] =
        "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n.align 8\n"
        "w: get $m1, $WSR\n and $m1, $m1, 7\n cmpeq $m2, $m1, 1\n cmpeq $m3, $m1, 3\n"
        "setzi $m5, w\n setzi $a0, 7\n uput $FP_CTL, $a0\n"
        "brz $m2, l1\n zero $m5\n bri l2\n l1: nop\n nop\n"
        "l2: brz $m3, l3\n ldconst $a4, 0x7f800001\n bri l4\n l3: zero $a4\n nop\n nop\n"
        "l4: nop\n"
        "bad: { ld32 $m6, $m5, $mzero, 0; f32add $a4, $a4, $a4 }\n exitz $mzero";

    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        struct tile_fixture *r = tile_fixture_new("mk2", both);

        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        assert_int_equal(tile_fixture_run(r), BARREL_FAULT);
        assert_int_equal(r->tile->fault.kind, FAULT_FP);
        assert_int_equal(r->tile->fault.lane, 0);
        tile_fixture_free(r);
        r = tile_fixture_new("mk2", apart);
        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        assert_int_equal(tile_fixture_run(r), BARREL_FAULT);
        assert_int_equal(r->tile->fault.kind, FAULT_INVALID_ADDR);
        assert_int_equal(r->tile->fault.lane, 1);
        tile_fixture_free(r);
    }
}

static void test_limit_and_resume(void **state)
{
    struct tile_fixture *r = tile_fixture_new(
        "mk2",
        "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n.align 8\n"
        "w: setzi $m1, 20\n setzi $m3, 7\n l: { rpt $m3, 1; fnop }\n { add $m2, $m2, 1; fnop }\n"
        "{ add $m2, $m2, 2; fnop }\n brnzdec $m1, l\n nop\n exitz $mzero");
    uint64_t whole;

    (void)state;
    assert_int_equal(tile_fixture_run(r), BARREL_HALT);
    whole = r->barrel.cycle;
    assert_int_equal(r->tile->m[2][4], 21 * 7 * 3);
    for (uint64_t step = 1; step < 40; step += 3) {
        enum barrel_stop s = BARREL_LIMIT;

        tile_fixture_reset(r, NULL);
        for (uint64_t limit = step; s == BARREL_LIMIT; limit += step)
            s = barrel_run(&r->barrel, r->tile, tile_fixture_symbol(r, "stop"), limit);
        assert_int_equal(s, BARREL_HALT);
        assert_int_equal(r->barrel.cycle, whole);
        assert_int_equal(r->tile->m[2][4], 21 * 7 * 3);
    }
    tile_fixture_free(r);
}

/* All workers store at one address in one round: the last slot of the round stays, whichever worker
 * begins it. runall issues at 6 + phase, so the round begins with worker `phase`. */
static void test_last_slot_stays(void **state)
{
    static const char text[] =
        "start: setzi $m0, w\n .rept %u\n nop\n .endr\n runall $m0, $mzero, 0\n sync 2\n stop: "
        "nop\n"
        "w: get $m1, $WSR\n and $m1, $m1, 7\n shl $m6, $m1, 6\n"
        "setzi $m8, 0x8c000\n add $m8, $m8, $m6\n ldconst $m9, 0xac000\n add $m9, $m9, $m6\n"
        "st32 $m1, $m8, $mzero, 0\n ld32 $a0, $m8, $mzero, 0\n"
        "ldconst $m7, 0xb4000\n st32 $m1, $m7, $mzero, 0\n"
        "ldconst $m10, 0xb4008\n tapack $m4:5, $m8, $m9, $m10\n"
        "ld2xst64pace $a4:7, $a0:1, $m4:5+=, $mzero, 0\n"
        "ldst64pace $a4:5, $a0:1, $m4:5+=, $mzero, 0\n"
        "st64pace $a0:1, $m4:5+=, $mzero, 0\n exitz $mzero\n";
    char program[1024];

    (void)state;
    for (unsigned phase = 0; phase < TILE_WORKERS; phase++) {
        struct tile_fixture *r;

        snprintf(program, sizeof(program), text, 5 + phase);
        r = tile_fixture_new("mk2", program);
        for (int plain = 0; plain < 2; plain++) {
            uint32_t last = (phase + TILE_WORKERS - 1) % TILE_WORKERS;

            tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
            assert_int_equal(tile_fixture_run(r), BARREL_HALT);
            for (uint32_t at = 0xb4000; at <= 0xb4018; at += 8) {
                uint32_t word;

                assert_true(tile_read(r->tile, at, &word, sizeof(word)));
                assert_int_equal(word, last);
            }
        }
        tile_fixture_free(r);
    }
}

/* A supervisor that replaces an instruction of its own, again and again: what is issued is what
 * memory holds. */
static void test_supervisor_modifies_itself(void **state)
{
    struct tile_fixture *r = tile_fixture_new(
        "mk2", "start: setzi $m0, 9\n setzi $m1, at\n ld32 $m2, $m1, $mzero, 0\n setzi $m3, 0\n"
               "l: at: add $m3, $m3, 1\n"
               "ld32 $m5, $m1, $mzero, 0\n setzi $m4, other\n ld32 $m6, $m4, $mzero, 0\n"
               "st32 $m6, $m1, $mzero, 0\n st32 $m5, $m4, $mzero, 0\n brnzdec $m0, l\n"
               "stop: nop\n other: add $m3, $m3, 100\n");

    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        assert_int_equal(tile_fixture_run(r), BARREL_HALT);
        assert_int_equal(r->tile->m[3][LANE_SUPER], 5 * 1 + 5 * 100);
    }
    tile_fixture_free(r);
}

struct last_issue {
    struct exchange_port port;
    uint32_t o[4];
    unsigned issues;
};

static enum fault note_issue(struct exchange_port *p, struct tile *t, const struct insn *in)
{
    struct last_issue *l = (struct last_issue *)p;

    (void)t;
    l->o[l->issues++ % 4] = in->o;
    return FAULT_NONE;
}

/* Instructions of two words: both count, and they stand at multiples of 8 however often they were
 * issued before. */
static void test_two_words_of_the_supervisor(void **state)
{
    struct tile_fixture *r = tile_fixture_new("mk2", "start: nop\n.align 8\n"
                                                     "two: .space 16\n stop: nop\n");
    struct last_issue l = { .port.issue = note_issue };
    uint32_t word[2], at = tile_fixture_symbol(r, "two");
    struct insn in[2], nop[2];

    (void)state;
    isa_form_build(isa_form(FORM_sendpicp), (int64_t[6]){ 0, 0, 0, 0, 0, 5 }, in);
    isa_form_build(isa_form(FORM_nop), (int64_t[6]){ 0 }, nop);
    for (int plain = 0; plain < 2; plain++) {
        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        r->tile->exchange = &l.port;
        l.issues = 0;
        for (uint32_t k = 0; k < 2; k++) {
            in[0].o = 5 + k;
            assert_int_equal(isa_encode(in, word), 2);
            tile_write(r->tile, at + 8 * k, word, 8);
        }
        assert_int_equal(tile_fixture_run(r), BARREL_HALT);
        assert_int_equal(l.issues, 2);
        assert_int_equal(l.o[0], 5);
        assert_int_equal(l.o[1], 6);
        /* the same two words, one word further on */
        tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
        r->tile->exchange = &l.port;
        tile_write(r->tile, at + 4, word, 8);
        isa_encode(nop, word);
        tile_write(r->tile, at, word, 4);
        assert_int_equal(tile_fixture_run(r), BARREL_FAULT);
        assert_int_equal(r->tile->fault.kind, FAULT_INVALID_PC);
        assert_int_equal(r->tile->fault.pc, at + 4);
        assert_int_equal(l.issues, 2);
    }
    tile_fixture_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_supervisor_alone),
        cmocka_unit_test(test_weight_loads),
        cmocka_unit_test(test_one_call),
        cmocka_unit_test(test_one_worker),
        cmocka_unit_test(test_supervisor_waits_for_a_slot),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_older_instruction_set),
        cmocka_unit_test(test_missing_registers),
        cmocka_unit_test(test_self_modifying_code),
        cmocka_unit_test(test_code_of_the_same_round),
        cmocka_unit_test(test_bundle_across_pages),
        cmocka_unit_test(test_which_fault_stays),
        cmocka_unit_test(test_limit_and_resume),
        cmocka_unit_test(test_last_slot_stays),
        cmocka_unit_test(test_supervisor_modifies_itself),
        cmocka_unit_test(test_two_words_of_the_supervisor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
