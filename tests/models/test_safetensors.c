/* test_safetensors.c - headers that are right, headers that lie, and what is written is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "models/weights/safetensors.h"

/* A file with this header and `bytes` bytes 0, 1, 2, ... of data. */
static size_t make(const char *header, size_t bytes, uint8_t *out)
{
    size_t n = strlen(header);

    memset(out, 0, 8);
    out[0] = (uint8_t)n;
    out[1] = (uint8_t)(n >> 8);
    memcpy(out + 8, header, n);
    for (size_t i = 0; i < bytes; i++)
        out[8 + n + i] = (uint8_t)i;
    return 8 + n + bytes;
}

static void refuse(const char *header, size_t bytes, const char *expected)
{
    uint8_t *file = emu_alloc(4096, 1);
    struct safetensors f;
    size_t n = make(header, bytes, file);

    if (safetensors_open(file, n, "f.st", &f) != EMU_BAD_FILE)
        fail_msg("accepted: %s", header);
    if (!strstr(ss_error(), "f.st: ") || !strstr(ss_error(), expected))
        fail_msg("\"%s\" does not say \"%s\"", ss_error(), expected);
    assert_null(f.tensor);
    ss_free(file);
    assert_int_equal(alloc_live(), 0);
}

/* What people give in place of a file of tensors: what it is, and what to do. */
static void other_files(void **state)
{
    static const struct {
        const char *bytes, *why;
    } row[] = {
        { "PK\3\4 and more",
          "no safetensors file, but a zip archive, as torch.save() writes: save" },
        { "\x80\2}q and more", "no safetensors file, but a pickle" },
        { "version https://git-lfs.github.com/spec/v1", "but a Git LFS pointer, not the file" },
        { "PK and more", "no safetensors file: a header of" },
    };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++) {
        struct safetensors f;

        assert_int_equal(safetensors_open(row[k].bytes, strlen(row[k].bytes), "f.st", &f),
                         EMU_BAD_FILE);
        if (!strstr(ss_error(), row[k].why))
            fail_msg("\"%s\" does not say \"%s\"", ss_error(), row[k].why);
    }
}

#define T(type, shape, begin, end)                                                                 \
    "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static void good_header(void **state)
{
    static const char text[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"b\":" T("F16", "[2,3]", "4", "16") ",\"empty\":" T(
            "F32", "[0,7]", "4", "4") ",\"a\":" T("F32", "[]", "0", "4") "}   ";
    uint8_t file[400];
    struct safetensors f;
    char shape[200];

    (void)state;
    assert_int_equal(safetensors_open(file, make(text, 16, file), "f", &f), EMU_OK);
    assert_int_equal(f.tensors, 3);
    assert_string_equal(f.tensor[0].name, "a");
    assert_int_equal(f.tensor[0].elements, 1);
    assert_string_equal(f.tensor[1].name, "empty");
    assert_int_equal(f.tensor[1].elements, 0);
    assert_string_equal(f.tensor[2].name, "b");
    safetensors_text(&f.tensor[2], shape);
    assert_string_equal(shape, "[2, 3] F16");
    assert_int_equal(*(const uint8_t *)f.tensor[2].data, 4);
    safetensors_free(&f);
    assert_int_equal(alloc_live(), 0);
}

static void lies(void **state)
{
    (void)state;
    refuse("", 0, "header");
    refuse("[]", 0, "expected an object");
    refuse("{", 0, "header: byte");
    refuse("{\"a\":1}", 0, "dtype, shape and data_offsets");
    refuse("{\"a\":" T("F32", "[1]", "0", "4") ",\"a\":" T("F32", "[1]", "0", "4") "}", 4,
           "duplicate");
    refuse("{\"a\":" T("F31", "[1]", "0", "4") "}", 4, "got F31");
    refuse("{\"a\":" T("F32", "1", "0", "4") "}", 4, "shape: expected an array");
    refuse("{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, "at most 8");
    refuse("{\"a\":" T("F32", "[-1]", "0", "4") "}", 4, "shape[0]");
    refuse("{\"a\":" T("F32", "[1.5]", "0", "4") "}", 4, "shape[0]");
    refuse("{\"a\":" T("F32", "[4294967296,4294967296]", "0", "4") "}", 4, "too many elements");
    refuse("{\"a\":" T("F64", "[4611686018427387904]", "0", "4") "}", 4, "too many elements");
    refuse("{\"a\":" T("F32", "[2]", "0", "4") "}", 4, "needs 8 bytes, it has 4");
    refuse("{\"a\":" T("F32", "[1]", "0", "4") "}", 3, "which has 3");
    refuse("{\"a\":" T("F32", "[1]", "4", "0") "}", 4, "expected [begin, end]");
    refuse("{\"a\":" T("F32", "[1]", "-4", "0") "}", 4, "expected [begin, end]");
    refuse("{\"a\":" T("F32", "[1]", "0", "18446744073709551620") "}", 4, "header");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8, "expected [");
    refuse("{\"a\":" T("F32", "[1]", "0", "4") "}", 8, "4 bytes after");
    refuse("{\"a\":" T("F32", "[1]", "4", "8") "}", 8, "begins at byte 4 of the data, expected 0");
    refuse("{\"a\":" T("F32", "[2]", "0", "8") ",\"b\":" T("F32", "[1]", "4", "8") "}", 8,
           "begins at byte 4 of the data, expected 8");
    refuse("{\"a\\n\":" T("F32", "[1]", "0", "4") "}", 4, "control character");
}

/* Every way to cut a file short, and header lengths that point outside, are refused. */
static void cut_short(void **state)
{
    uint8_t file[200];
    struct safetensors f;
    size_t n = make("{\"a\":" T("F32", "[1]", "0", "4") "}", 4, file);

    (void)state;
    for (size_t k = 0; k < n; k++) {
        uint8_t *part = emu_alloc(k + 1, 1);

        memcpy(part, file, k);
        assert_int_equal(safetensors_open(part, k, "f", &f), EMU_BAD_FILE);
        ss_free(part);
    }
    for (unsigned i = 0; i < 8; i++) {
        uint8_t bad[200];

        memcpy(bad, file, n);
        bad[i] |= 0x80;
        assert_int_equal(safetensors_open(bad, n, "f", &f), EMU_BAD_FILE);
    }
}

static void conversions(void **state)
{
    static const uint8_t f32[] = { 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0 };
    static const uint8_t f16[] = { 0, 0x3c, 1, 0, 0xff, 0x7b, 0, 0xfc, 0, 0x80 };
    static const uint8_t bf16[] = { 0x80, 0x3f, 0x49, 0xc0 };
    float v[5];

    (void)state;
    safetensors_to_f32(&(struct safetensor){ .type = SAFETENSORS_F32, .elements = 2, .data = f32 },
                       v);
    assert_true(v[0] == 1 && v[1] == -2);
    safetensors_to_f32(&(struct safetensor){ .type = SAFETENSORS_F16, .elements = 5, .data = f16 },
                       v);
    assert_true(v[0] == 1 && v[1] == 0x1p-24f && v[2] == 65504 && v[3] == -INFINITY);
    assert_true(v[4] == 0 && signbit(v[4]));
    safetensors_to_f32(
        &(struct safetensor){ .type = SAFETENSORS_BF16, .elements = 2, .data = bf16 }, v);
    assert_true(v[0] == 1 && v[1] == -3.140625f);
    assert_false(safetensors_is_real(&(struct safetensor){ .type = SAFETENSORS_F64 }));
}

static void written_is_read(void **state)
{
    static const float a[6] = { 1, 2, 3, 4, 5, 6 };
    static const uint8_t b[3] = { 7, 8, 9 };
    const struct safetensor t[] = {
        { .name = "a.weight",
          .type = SAFETENSORS_F32,
          .rank = 2,
          .shape = { 2, 3 },
          .elements = 6,
          .bytes = 24,
          .data = a },
        { .name = "a \"name\"",
          .type = SAFETENSORS_U8,
          .rank = 1,
          .shape = { 3 },
          .elements = 3,
          .bytes = 3,
          .data = b },
    };
    char path[] = "/tmp/test_safetensors_XXXXXX";
    uint8_t file[1000];
    struct safetensors f;
    size_t n;
    FILE *in;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(safetensors_write(t, 2, path), EMU_OK);
    in = fopen(path, "rb");
    n = fread(file, 1, sizeof(file), in);
    fclose(in);
    unlink(path);
    assert_int_equal(file[0] % 8, 0); /* data at a multiple of 8 */
    assert_int_equal(safetensors_open(file, n, path, &f), EMU_OK);
    assert_int_equal(f.tensors, 2);
    assert_string_equal(f.tensor[1].name, "a \"name\"");
    assert_int_equal(f.tensor[0].shape[1], 3);
    assert_memory_equal(f.tensor[0].data, a, sizeof(a));
    assert_memory_equal(f.tensor[1].data, b, sizeof(b));
    safetensors_free(&f);
    assert_int_equal(safetensors_write(t, 2, "/nonexistent/x"), EMU_IO);
    assert_int_equal(safetensors_write(t, 2, "/tmp"), EMU_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files), cmocka_unit_test(good_header),
        cmocka_unit_test(lies),        cmocka_unit_test(cut_short),
        cmocka_unit_test(conversions), cmocka_unit_test(written_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
