/* test_colours.c - one table of colours: pages use no colour that is not in it, and charts have the
 * shades of light pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "emu/base/embedded.h"
#include "emu/profile/colours.h"

static char *css_text(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    assert_non_null(f);
    colours_print_css(f);
    fclose(f);
    return text; /* of open_memstream */
}

static void assert_defined(const char *css, const char *page, const char *name, size_t n)
{
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "%.*s: ", (int)n, name);
    if (!strstr(css, wanted))
        fail_msg("%s: %.*s is no colour of colours.def", page, (int)n, name);
}

/* Every --name that a page reads, but for those that it puts together. */
static void check_page(const char *css, const struct embedded_file *f)
{
    for (const char *at = (const char *)f->data; (at = strstr(at, "--")); at += 2) {
        size_t n = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789_");
        int reads = at != (const char *)f->data && (at[-1] == '(' || at[-1] == '"');

        if (reads && n > 2 && (at[n] == ')' || (at[n] == '"' && at[n + 2] != '+')))
            assert_defined(css, f->name, at, n);
    }
}

static void test_pages_use_the_table(void **state)
{
    char *css = css_text();
    unsigned pages = 0;

    (void)state;
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        if (strncmp(f->name, "emu/profile/page/", 17))
            continue;
        check_page(css, f);
        pages++;
    }
    assert_true(pages > 10);
    free(css);
}

/* A literal colour would be the same on a dark screen. */
static void test_pages_have_no_colours_of_their_own(void **state)
{
    (void)state;
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        const char *at = (const char *)f->data;

        if (strncmp(f->name, "emu/profile/page/", 17))
            continue;
        for (; (at = strchr(at, '#')); at++) {
            size_t n = strspn(at + 1, "0123456789abcdef");

            if ((n == 6 && at[7] != '-') && (at[7] == '"' || at[7] == ';' || at[7] == ' '))
                fail_msg("%s: %.7s", f->name, at);
        }
    }
}

static void test_charts_have_the_shades_of_light_pages(void **state)
{
    char *css = css_text(), wanted[64], *dark = strstr(css, "@media");

    (void)state;
    assert_non_null(dark);
    snprintf(wanted, sizeof(wanted), "--exchange: %s;", colour_light(COLOUR_exchange));
    assert_true(strstr(css, wanted) && strstr(css, wanted) < dark);
    assert_null(strstr(dark, wanted));
    snprintf(wanted, sizeof(wanted), "--memory-work_list: %s;", colour_of_category("work list", 0));
    assert_non_null(strstr(css, wanted));
    snprintf(wanted, sizeof(wanted), "--spare-1: %s;", colour_of_category("nosuch", 7));
    assert_non_null(strstr(css, wanted));
    free(css);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_use_the_table),
        cmocka_unit_test(test_pages_have_no_colours_of_their_own),
        cmocka_unit_test(test_charts_have_the_shades_of_light_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
