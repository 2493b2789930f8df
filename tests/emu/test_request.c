/* test_request.c - the command line as a request: what options of every kind take, which belong to
 * what is run, and what the table of options must not hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/cli/options.h"
#include "emu/cli/commands.h"
#include "emu/cli/request_store.h"
#include "models/ask/model_request.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(NUMBER, threads)
OPTION_READ(LIST, define)
OPTION_READ(FLAG, steps)
OPTION_READ(TEXT, tiles)
OPTION_READ(NUMBER, batch)
OPTION_READ(NUMBER, resolution)
OPTION_READ(NUMBER, seed)
OPTION_READ(PART, memory_proportion)
OPTION_READ(LIST, image)
OPTION_READ(WORD, input_type)

static const struct command run = { .name = "run", .uses = USE_RUN, .others = USE_COMPILE };

static struct request *request_for(use_set use)
{
    struct request *q = request_new(&run);

    assert_non_null(q);
    q->use = use;
    return q;
}

static enum emu_status give(struct request *q, const char *name, const char *arg)
{
    const struct option_row *o = option_find(name, strlen(name), ~(use_set)0);

    assert_non_null(o);
    return request_store(q, o, arg);
}

static void refused(enum emu_status s, const char *why)
{
    assert_int_equal(s, EMU_USAGE);
    if (!strstr(ss_error(), why))
        fail_msg("'%s', expected '%s'", ss_error(), why);
}

static void numbers(void **state)
{
    static const char *const bad[] = { "0",  "4097", "-1",
                                       "",   "x",    "1x",
                                       " 1", "1.5",  "99999999999999999999" };
    struct request *q = request_for(THING_NETWORK);

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++)
        refused(give(q, "batch", bad[i]), "is not a number from 1 to 4096");
    refused(give(q, "batch", "-1"), "--batch: '-1'");
    assert_int_equal(give(q, "batch", "0x10"), EMU_OK);
    assert_int_equal(option_batch(q), 16);
    assert_int_equal(give(q, "seed", "18446744073709551615"), EMU_OK);
    assert_true(option_seed(q) == UINT64_MAX && request_has(q, OPTION_seed));
    assert_false(request_has(q, OPTION_resolution));
    request_free(q);
}

static void kinds(void **state)
{
    struct request *q = request_for(THING_NETWORK);

    (void)state;
    refused(give(q, "memory-proportion", "0"), "above 0 and at most 1");
    refused(give(q, "memory-proportion", "1.01"), "above 0 and at most 1");
    refused(give(q, "memory-proportion", "nan"), "above 0 and at most 1");
    assert_int_equal(give(q, "memory-proportion", "0.5"), EMU_OK);
    assert_true(option_memory_proportion(q) == 0.5);
    refused(give(q, "input-type", "u"), "--input-type is u8, f16 or f32, not 'u'");
    refused(give(q, "exchange", ""), "--exchange is cycles or memory, not ''");
    assert_int_equal(give(q, "input-type", "f32"), EMU_OK);
    assert_int_equal(option_input_type(q), 2);
    assert_int_equal(give(q, "tiles", NULL), EMU_OK);
    assert_string_equal(option_tiles(q), "");
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(give(q, "image", "a.jpg"), EMU_OK);
    refused(give(q, "image", "b.jpg"), "more than 64 --image options");
    assert_int_equal(option_image(q)->count, 64);
    request_free(q);
}

/* given, then checked for a use */
static void check(const char *name, use_set use, const char *why)
{
    struct request *q = request_for(use);

    assert_int_equal(give(q, name, "1"), EMU_OK);
    if (why)
        refused(request_check(q), why);
    else
        assert_int_equal(request_check(q), EMU_OK);
    request_free(q);
}

static void belong(void **state)
{
    (void)state;
    check("chart", THING_NETWORK, NULL);
    check("chart", THING_IMAGE,
          "--chart does nothing for an image; it is for manifests, programs, networks and ONNX "
          "files");
    check("max-cycles", THING_PROGRAM, NULL);
    check("runs", THING_PROGRAM,
          "--runs does nothing for a program; it is for manifests, source files and images");
    check("machine", THING_IMAGE, "--machine does nothing for an image");
    check("threads", THING_IMAGE, NULL);
}

static void together(void **state)
{
    struct request *q = request_for(THING_NETWORK);

    (void)state;
    assert_int_equal(give(q, "compare-layers", NULL), EMU_OK);
    assert_int_equal(request_check(q), EMU_OK);
    assert_int_equal(give(q, "chart", "a.svg"), EMU_OK);
    refused(request_check(q), "either --compare-layers or --chart, not both");
    request_free(q);
}

static void arguments(void **state)
{
    (void)state;
    assert_true(option_takes_next("--digests", USE_RUN));
    assert_true(option_takes_next("--dig", USE_RUN));
    assert_true(option_takes_next("-o", USE_RUN));
    assert_true(option_takes_next("-kD", USE_RUN));
    assert_false(option_takes_next("-oFILE", USE_RUN));
    assert_false(option_takes_next("--digests=a", USE_RUN));
    assert_false(option_takes_next("--steps", USE_RUN));
    assert_false(option_takes_next("--tiles", USE_RUN));
    assert_false(option_takes_next("--nosuch", USE_RUN));
    assert_false(option_takes_next("--", USE_RUN));
}

/* Whether two rows are for one use; the bit of step goes with those of the things that it takes. */
static int share_a_use(const struct option_row *a, const struct option_row *b)
{
    use_set both = a->uses & b->uses;

    return both & ~USE_STEP || (both && (a->uses == USE_STEP || b->uses == USE_STEP));
}

/* No command has two options of one name or letter, and every row says what it is for. */
static void table(void **state)
{
    (void)state;
    for (const struct option_row *a = option_rows(); a->name; a++) {
        assert_true(a->uses && a->help[0] && a->low <= a->high);
        assert_int_equal(a->kind == KIND_FLAG, !a->arg);
        for (const struct option_row *b = a + 1; b->name; b++) {
            if (!share_a_use(a, b) || (b->uses == USE_STEP && a->number == b->number))
                continue;
            if (!strcmp(a->name, b->name) || (a->letter && a->letter == b->letter))
                fail_msg("--%s and --%s", a->name, b->name);
        }
    }
}

static int parameters(const struct request *q, const char *name, size_t length)
{
    (void)q;
    return (length == 1 && name[0] == 'm') || (length == 5 && !strncmp(name, "steps", 5));
}

static enum emu_status look_known(struct request *q, const struct option_list *candidates)
{
    assert_int_equal(candidates->count, 1); /* 4 is not one: --m may be cut short and take it */
    q->use = THING_PROGRAM;
    q->what = candidates->item[0];
    q->known = q;
    return EMU_OK;
}

static int seen(const struct request *q)
{
    assert_int_equal(q->argument.count, 1);
    assert_int_equal(option_define(q)->count, 2);
    assert_string_equal(option_define(q)->item[0], "m=4");
    assert_string_equal(option_define(q)->item[1], "steps=6");
    assert_true(option_steps(q) && option_threads(q) == 3 && !option_machine(q));
    return 77;
}

/* An exact parameter wins over an option cut short, an option over a parameter of its name. */
static void parameters_and_options(void **state)
{
    static const struct command c = { .name = "run",
                                      .uses = USE_RUN,
                                      .run = seen,
                                      .noun = "one program",
                                      .min = 1,
                                      .max = 1,
                                      .look = look_known,
                                      .is_parameter = parameters };
    char *argv[] = { "run", "name", "--m", "4", "--steps", "-D", "steps=6", "--thr=3", NULL };

    (void)state;
    assert_int_equal(command_main(&c, 8, argv), 77);
}

/* Rows of a higher floor stand where they say; what it takes of a lower one is one row with it. */
static void floors_join(void **state)
{
    static const struct option_row marked[] = {
        { .number = 0, .name = "a", .uses = USE_BIT(0) },
        { .number = 0, .name = "a", .uses = USE_BIT(1), .letter = 'a' },
        { .number = 1, .name = "b", .uses = USE_BIT(0) },
        { .number = 0, .kind = KIND_TAKES, .name = "", .uses = USE_BIT(2) },
        { .number = 0, .kind = KIND_AFTER, .name = "", .uses = USE_BIT(2) },
        { .number = 2, .name = "c", .uses = USE_BIT(2) },
        { .number = 3, .name = "d", .uses = USE_BIT(2) },
        { .number = 0, .kind = KIND_AFTER, .name = "", .uses = USE_ANY },
        { .number = 4, .name = "e", .uses = USE_BIT(2) },
        { .name = NULL },
    };
    struct option_row row[EMU_COUNT_OF(marked)];
    char order[EMU_COUNT_OF(marked)] = "";

    (void)state;
    options_join(marked, row);
    for (size_t i = 0; row[i].name; i++)
        order[i] = row[i].name[0];
    assert_string_equal(order, "acdaeb");
    assert_true(row[0].uses == (USE_BIT(0) | USE_BIT(2)));
    assert_true(row[3].uses == USE_BIT(1) && row[3].letter == 'a');
}

/* Two options of one use with one letter would take each other's values. */
static void letters_differ(void **state)
{
    (void)state;
    for (const struct option_row *a = option_rows(); a->name; a++) {
        for (const struct option_row *b = a + 1; b->name; b++) {
            if (a->letter && a->letter == b->letter && share_a_use(a, b))
                fail_msg("--%s and --%s have the letter %c", a->name, b->name, a->letter);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_differ), cmocka_unit_test(numbers),
        cmocka_unit_test(kinds),          cmocka_unit_test(belong),
        cmocka_unit_test(together),       cmocka_unit_test(arguments),
        cmocka_unit_test(table),          cmocka_unit_test(parameters_and_options),
        cmocka_unit_test(floors_join),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
