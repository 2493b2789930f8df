/* test_npy.c - .npy files: what numpy writes, what is written here, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/graph/npy.h"

/* A file with a header of version 1, and elements. */
static size_t make(uint8_t *out, const char *header, const void *data, size_t bytes)
{
    size_t n = strlen(header);

    memcpy(out, "\x93NUMPY\1", 8);
    out[8] = (uint8_t)n;
    out[9] = (uint8_t)(n >> 8);
    memcpy(out + 10, header, n);
    memcpy(out + 10 + n, data, bytes);
    return 10 + n + bytes;
}

static void test_read(void **state)
{
    static const float row[] = { 1, 2.5f, -3, 4, 5, 6 };
    uint8_t file[512];
    struct op_tensor t;
    size_t n;

    (void)state;
    n = make(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", row,
             sizeof(row));
    assert_int_equal(npy_read(file, n, "x.npy", &t), EMU_OK);
    assert_int_equal(t.shape.type, OP_TYPE_F32);
    assert_int_equal(t.shape.rank, 2);
    assert_int_equal(t.shape.dim[1], 3);
    assert_true(t.f[1] == 2.5 && t.f[5] == 6);
    op_tensor_free(&t);
    n = make(file, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", row,
             sizeof(row));
    assert_int_equal(npy_read(file, n, "x.npy", &t), EMU_OK);
    assert_true(t.f[0] == 1 && t.f[1] == -3 && t.f[2] == 5 && t.f[3] == 2.5);
    op_tensor_free(&t);
    n = make(file, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", "\7", 1);
    assert_int_equal(npy_read(file, n, "x.npy", &t), EMU_OK);
    assert_true(t.shape.rank == 0 && t.i[0] == 7);
    op_tensor_free(&t);
}

static void test_round_trip(void **state)
{
    static const enum op_type type[] = { OP_TYPE_F16, OP_TYPE_F32, OP_TYPE_F64,
                                         OP_TYPE_I64, OP_TYPE_U8,  OP_TYPE_BOOL };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(type); k++) {
        const struct op_shape s = { .type = type[k], .rank = 3, .dim = { 2, 1, 5 } };
        struct op_tensor a, b;
        char *file = NULL;
        size_t bytes = 0;
        FILE *f = open_memstream(&file, &bytes);

        assert_int_equal(op_tensor_new(&s, &a), EMU_OK);
        for (unsigned i = 0; i < 10; i++) {
            if (op_type_kind(type[k]) == OP_KIND_FLOAT)
                a.f[i] = (double)i / 4 - 1;
            else
                a.i[i] = i % 2;
        }
        assert_int_equal(npy_write(&a, f), EMU_OK);
        assert_int_equal(fclose(f), 0);
        assert_int_equal((uint8_t)file[8] % 64, 64 - 10); /* elements begin at a multiple of 64 */
        assert_int_equal(npy_read(file, bytes, "x.npy", &b), EMU_OK);
        assert_int_equal(b.shape.type, type[k]);
        assert_true(op_shape_equal(&a.shape, &b.shape));
        assert_memory_equal(a.any, b.any, 10 * sizeof(double));
        op_tensor_free(&a);
        op_tensor_free(&b);
        free(file);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *header, *why;
    } bad[] = {
        { "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "its type is '>f4'" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "its type is '<c8'" },
        { "{'fortran_order': False, 'shape': (1,), }", "its type is missing" },
        { "{'descr': '<f4', 'shape': (1,), }", "no fortran_order" },
        { "{'descr': '<f4', 'fortran_order': False, }", "no shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "its shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }", "beyond 2^32" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (70000, 70000), }", "2^32 elements" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "its shape needs 8" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }",
          "up to 8 sizes" },
    };
    uint8_t file[512];
    struct op_tensor t;

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(bad); k++) {
        size_t n = make(file, bad[k].header, "\0\0\0\0", 4);

        assert_int_equal(npy_read(file, n, "x.npy", &t), EMU_BAD_FILE);
        if (!strstr(ss_error(), bad[k].why) || strncmp(ss_error(), "x.npy: ", 7))
            fail_msg("'%s', expected '%s'", ss_error(), bad[k].why);
    }
    assert_int_equal(npy_read("PK\3\4", 4, "x.npy", &t), EMU_BAD_FILE);
    assert_int_equal(npy_read("\x93NUMPY\4\0\0\0\0\0\0", 13, "x.npy", &t), EMU_BAD_FILE);
    assert_int_equal(npy_read("\x93NUMPY\1\0\xff\xff", 10, "x.npy", &t), EMU_BAD_FILE);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
