/* test_class_names.c - names of classes from text files: what is taken, what is refused and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "emu/base/alloc.h"
#include "models/answer/class_names.h"

#define TAKE(text, classes, c) class_names_take(text, sizeof(text) - 1, "x.txt", classes, c)

static void taken(void **state)
{
    struct class_names c;

    (void)state;
    assert_int_equal(TAKE("cat\ndog\nf\xc3\xbc"
                          "chs\n",
                          3, &c),
                     EMU_OK);
    assert_string_equal(class_name(&c, 0), "cat");
    assert_string_equal(class_name(&c, 2), "f\xc3\xbc"
                                           "chs");
    assert_string_equal(class_name(&c, 3), "");
    class_names_free(&c);
    assert_string_equal(class_name(&c, 0), "");
    assert_string_equal(class_name(NULL, 0), "");
    /* as an editor on Windows leaves it, without an end of the last line */
    assert_int_equal(TAKE("\xef\xbb\xbf"
                          "tabby, tabby cat\r\ndog",
                          2, &c),
                     EMU_OK);
    assert_string_equal(class_name(&c, 0), "tabby, tabby cat");
    assert_string_equal(class_name(&c, 1), "dog");
    class_names_free(&c);
    assert_int_equal(alloc_live(), 0);
}

static void refuse(const char *text, size_t bytes, uint32_t classes, const char *message)
{
    struct class_names c;

    assert_int_equal(class_names_take(text, bytes, "x.txt", classes, &c), EMU_BAD_FILE);
    assert_null(c.text);
    if (!strstr(ss_error(), message))
        fail_msg("\"%s\" does not say \"%s\"", ss_error(), message);
}
#define REFUSED(text, classes, message) refuse(text, sizeof(text) - 1, classes, message)

static void refused(void **state)
{
    struct class_names c;

    (void)state;
    REFUSED("cat\ndog\n", 3, "x.txt: 2 names, but the network has 3 classes");
    REFUSED("cat\n\ndog\n", 3, "x.txt:2: expected the name of a class in UTF-8, got an empty line");
    REFUSED("cat\n\xff\n", 2, "x.txt:2: expected the name of a class in UTF-8");
    REFUSED("cat\n\x1b[31mred\n", 2, "x.txt:2: ");
    REFUSED("cat\0\ndog\n", 2, "x.txt:1: ");
    REFUSED("", 1, "0 names");
    assert_int_equal(class_names_read("/nowhere/x.txt", 1, &c), EMU_IO);
    assert_int_equal(class_names_read("/tmp", 1, &c), EMU_IO);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
