/* test_fit_search.c - the search for what fits, on networks whose need is a formula: what it names
 * fits, what lies just beyond does not, and what does not help is not named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "models/ask/model_request.h"
#include "models/run/fit_search.h"

/* What is read of the command line. */
OPTION_READ(FLAG, quiet)
OPTION_READ(WORD, exchange)
OPTION_READ(NUMBER, batch)
OPTION_READ(NUMBER, chips)
OPTION_READ(TEXT, cut)
OPTION_READ(PART, parameter_memory)
OPTION_READ(NUMBER, try_for)
OPTION_READ(WORD, precision)

/* A network: bytes that it needs whatever its batch, for each input, and less for some options. */
struct formula {
    uint64_t fixed, input, exchange, f16, parameters;
    uint64_t places; /* more than 0: what is fixed is divided over chips, one more than those */
    unsigned asked;
    uint32_t chips;  /* asked for; 0: one */
    const char *cut; /* asked for */
    use_set use;     /* of the request; 0: `run` of a network */
};

static enum emu_status need_of(void *ctx, const struct request *q, const struct arch *a, int *fits,
                               uint64_t *need)
{
    struct formula *f = ctx;

    f->asked++;
    *fits = 0;
    *need = 0;
    if (f->places && a->chips > f->places + 1)
        return EMU_USAGE;
    *need = f->fixed / (f->places ? a->chips : 1) +
            f->input * (option_batch(q) ? option_batch(q) : 1) -
            (option_exchange(q) ? f->exchange : 0) -
            (option_parameter_memory(q) > 0 ? f->parameters : 0);
    if (!option_precision(q))
        *need -= f->f16;
    *fits = *need <= a->mem_bytes;
    return EMU_OK;
}

/* What is found for a batch of a network in 640 KiB, elements of 16 KiB. */
static struct fit_findings found_for(struct formula *f, uint64_t batch, uint64_t seconds)
{
    struct request q = { .use = f->use ? f->use : THING_NETWORK };
    struct arch a = *ss_arch_preset("mk2");
    struct fit_findings found;
    int fits;
    struct fit_subject s = {
        .q = &q, .arch = &a, .batch = (uint32_t)batch, .compile = need_of, .ctx = f
    };

    q.given[OPTION_try_for] = 1;
    q.value[OPTION_NUMBER_try_for].number = seconds;
    q.value[OPTION_FLAG_quiet].flag = 1;
    q.value[OPTION_NUMBER_batch].number = batch;
    q.value[OPTION_WORD_precision].word = f->f16 != 0;
    q.value[OPTION_TEXT_cut].text = f->cut;
    a.chips = f->chips ? f->chips : 1;
    assert_int_equal(ss_arch_set(&a, "sram=640K"), EMU_OK);
    assert_int_equal(need_of(f, &q, &a, &fits, &s.need_bytes), EMU_OK);
    assert_false(fits);
    f->asked = 0;
    fit_search(&s, &found);
    assert_int_equal(f->asked, found.tries);
    assert_true(found.lines > 0);
    return found;
}

static int says(const struct fit_findings *f, const char *text)
{
    for (unsigned k = 0; k < f->lines; k++) {
        if (strstr(f->line[k], text))
            return 1;
    }
    return 0;
}

/* 32 inputs miss by a little; 27 are the most that fit. */
static void test_batch(void **state)
{
    struct formula f = { .fixed = 100 * 1024, .input = 20 * 1024 };
    struct fit_findings found = found_for(&f, 32, 60);
    unsigned fits = 0, does_not = 0;

    (void)state;
    for (unsigned k = 0; k < found.lines; k++)
        (void)sscanf(found.line[k], "A smaller batch: --batch %u fits, %u does not", &fits,
                     &does_not);
    assert_in_range(fits, 25, 27);
    assert_in_range(does_not, 28, 29);
    assert_true(says(&found, "--set sram=752K fits, "));
    assert_false(says(&found, "--exchange"));
    assert_true(found.tries < 16);
}

/* Memory is found to one 16th, from above. */
static void test_memory(void **state)
{
    struct formula f = { .fixed = 1200 * 1024 };
    struct fit_findings found = found_for(&f, 1, 60);
    struct fit_try *t = NULL;

    (void)state;
    for (unsigned k = 0; k < found.tries; k++)
        t = found.tried[k].fits ? &found.tried[k] : t;
    assert_non_null(t);
    assert_true(says(&found, "--set sram=1200K fits"));
    assert_false(says(&found, "--batch"));
}

/* What helps is named with the others, what does not is only in the list of what was tried. */
static void test_options(void **state)
{
    struct formula f = { .fixed = 700 * 1024, .exchange = 70 * 1024, .parameters = 10 };
    struct fit_findings found = found_for(&f, 1, 60);

    (void)state;
    assert_true(says(&found, "--exchange memory it fits"));
    assert_false(says(&found, "--parameter-memory"));
    assert_string_equal(found.tried[0].change, "--exchange memory");
    assert_true(found.tried[0].fits);
    f = (struct formula){ .fixed = 1200 * 1024, .f16 = 600 * 1024 };
    found = found_for(&f, 1, 60);
    assert_true(says(&found, "--precision f16 it fits"));
    assert_false(says(&found, "--exchange"));
}

static int has_tried(const struct fit_findings *f, const char *change)
{
    for (unsigned k = 0; k < f->tries; k++) {
        if (!strncmp(f->tried[k].change, change, strlen(change)))
            return 1;
    }
    return 0;
}

/* Only what the command takes is tried. */
static void test_uses(void **state)
{
    struct formula f = { .fixed = 1200 * 1024, .f16 = 10, .use = USE_EVALUATE };
    struct fit_findings found = found_for(&f, 4, 60);

    (void)state;
    assert_true(has_tried(&found, "--exchange memory"));
    assert_true(has_tried(&found, "--parameter-memory"));
    assert_false(has_tried(&found, "--share-blocks"));
    assert_false(has_tried(&found, "--precision"));
    f.use = USE_STREAM;
    found = found_for(&f, 4, 60);
    assert_true(has_tried(&found, "--share-blocks"));
    f.use = 0;
    found = found_for(&f, 4, 60);
    assert_true(has_tried(&found, "--share-blocks"));
    assert_true(has_tried(&found, "--precision"));
    /* shorter code does not bring so much, so it is tried last */
    assert_non_null(strstr(found.tried[found.tries - 1].change, "--share-blocks"));
}

/* As few chips as it fits on, more than there are; no more than there are stages for. */
static void test_chips(void **state)
{
    struct formula f = { .fixed = 2400 * 1024, .places = 10 };
    struct fit_findings found = found_for(&f, 1, 60);

    (void)state;
    assert_true(says(&found, "--chips 4 fits: 614,400 bytes on the fullest tile"));
    assert_true(has_tried(&found, "--chips 2"));
    assert_false(has_tried(&found, "--chips 8"));
    f.places = 2;
    found = found_for(&f, 1, 60);
    assert_true(has_tried(&found, "--chips 4"));
    assert_false(has_tried(&found, "--chips 8"));
    assert_false(says(&found, "--chips"));
    f = (struct formula){ .fixed = 2400 * 1024, .places = 10, .chips = 2, .cut = "here" };
    found = found_for(&f, 1, 60);
    assert_true(says(&found, "--chips 4 without --cut fits"));
    assert_false(has_tried(&found, "--chips 2"));
    assert_true(has_tried(&found, "--set sram=1200K"));
    f.use = USE_STREAM;
    found = found_for(&f, 1, 60);
    assert_false(has_tried(&found, "--chips"));
}

/* Without time nothing is tried, and that is said. */
static void test_no_time(void **state)
{
    struct formula f = { .fixed = 700 * 1024 };
    struct fit_findings found = found_for(&f, 1, 0);
    json_t *list = fit_findings_json(&found);

    (void)state;
    assert_int_equal(found.tries, 0);
    assert_true(says(&found, "--try-for 0"));
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
}

/* Nothing on this machine: it is not promised that anything helps. */
static void test_nothing(void **state)
{
    struct formula f = { .fixed = UINT64_C(1) << 40 };
    struct fit_findings found = found_for(&f, 4, 60);

    (void)state;
    assert_false(says(&found, " fits,"));
    assert_true(says(&found, "Nothing that was tried fits"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_options), cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_uses),
        cmocka_unit_test(test_chips),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
