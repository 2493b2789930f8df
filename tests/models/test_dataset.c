/* test_dataset.c - data sets for training: their formats, what is refused, batches that depend on
 * the seed only, pictures that cannot be read.
 */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <png.h>

#include "models/data/batches.h"
#include "models/data/dataset_formats.h"

enum { PATH = 512 };

static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/superstep-dataset-XXXXXX");
    return !mkdtemp(dir);
}

static int end(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command) || alloc_live() != 0;
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    char path[PATH];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
}

static void make_folder(const char *name)
{
    char path[PATH];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void refused(const char *what)
{
    struct dataset *d;

    assert_int_not_equal(dataset_open(dir, DATASET_TRAIN, &d), EMU_OK);
    assert_null(d);
    if (!strstr(ss_error(), what))
        fail_msg("'%s' does not say '%s'", ss_error(), what);
}

/* ---- IDX ---- */

enum { SIDE = 4, PICTURES = 10 };

static void put_word(uint8_t *at, uint32_t v)
{
    for (unsigned k = 0; k < 4; k++)
        at[k] = (uint8_t)(v >> (24 - 8 * k));
}

/* Picture k is all k + 1, its label k % 3. */
static void make_idx(const char *pictures, const char *labels, uint32_t said)
{
    uint8_t p[16 + PICTURES * SIDE * SIDE], l[8 + PICTURES];

    put_word(p, 0x803);
    put_word(p + 4, said);
    put_word(p + 8, SIDE);
    put_word(p + 12, SIDE);
    put_word(l, 0x801);
    put_word(l + 4, PICTURES);
    for (unsigned k = 0; k < PICTURES; k++) {
        memset(p + 16 + k * SIDE * SIDE, (int)k + 1, SIDE * SIDE);
        l[8 + k] = k % 3;
    }
    write_file(pictures, p, sizeof(p));
    if (labels)
        write_file(labels, l, sizeof(l));
}

static void idx_is_read(void **state)
{
    struct dataset *d;
    struct picture p;

    (void)state;
    make_idx("train-images.idx3-ubyte", "train-labels.idx1-ubyte", PICTURES);
    assert_false(dataset_has(dir, DATASET_TEST));
    assert_int_equal(dataset_open(dir, DATASET_TRAIN, &d), EMU_OK);
    assert_string_equal(d->format, "IDX");
    assert_int_equal(d->samples, PICTURES);
    assert_int_equal(d->classes, 3);
    assert_int_equal(dataset_picture(d, 7, &p), EMU_OK);
    assert_int_equal(p.rgb[0], 8);
    assert_int_equal(p.rgb[3 * SIDE * SIDE - 1], 8);
    assert_int_equal(d->label[7], 1);
    picture_free(&p);
    dataset_free(d);
}

static void idx_is_refused(void **state)
{
    static const uint8_t few[4] = { 0 };

    (void)state;
    refused("neither folders of classes");
    make_idx("train-images-idx3-ubyte", NULL, PICTURES);
    refused("there are no labels beside it");
    make_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", PICTURES + 1);
    refused("expected 11 pictures of 4 x 4");
    make_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", PICTURES);
    write_file("train-labels-idx1-ubyte", few, sizeof(few));
    refused("does not begin with 00 00 08 01");
}

/* ---- CIFAR ---- */

static void cifar_is_read(void **state)
{
    static uint8_t records[4 * 3073];
    struct dataset *d;
    struct picture p;

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        records[k * 3073] = (uint8_t)(9 - k);
        memset(records + k * 3073 + 1, 10, 1024);
        memset(records + k * 3073 + 1025, 20, 1024);
        memset(records + k * 3073 + 2049, 30, 1024);
    }
    write_file("data_batch_1.bin", records, sizeof(records));
    write_file("data_batch_2.bin", records, 2 * 3073);
    write_file("test_batch.bin", records, 3073);
    assert_int_equal(dataset_open(dir, DATASET_TRAIN, &d), EMU_OK);
    assert_string_equal(d->format, "CIFAR");
    assert_int_equal(d->samples, 6);
    assert_int_equal(d->classes, 10);
    assert_int_equal(d->label[5], 8);
    assert_int_equal(dataset_picture(d, 5, &p), EMU_OK);
    assert_int_equal(p.rgb[0], 10);
    assert_int_equal(p.rgb[1], 20);
    assert_int_equal(p.rgb[3 * 1024 - 1], 30);
    picture_free(&p);
    dataset_free(d);
    assert_int_equal(dataset_open(dir, DATASET_TEST, &d), EMU_OK);
    assert_int_equal(d->samples, 1);
    dataset_free(d);
    records[3073] = 10;
    write_file("data_batch_1.bin", records, sizeof(records));
    refused("record 1 has label 10");
    write_file("data_batch_1.bin", records, 100);
    refused("no whole records");
}

/* ---- folders ---- */

/* A grey picture of 6 x 5. */
static void make_png(const char *name, int grey)
{
    static uint8_t pixels[30];
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = 6, .height = 5, .format = PNG_FORMAT_GRAY
    };
    char path[PATH];

    memset(pixels, grey, sizeof(pixels));
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_true(png_image_write_to_file(&image, path, 0, pixels, 0, NULL));
}

static void make_classes(void)
{
    make_folder("train");
    make_folder("train/b");
    make_folder("train/a");
    make_png("train/b/1.png", 50);
    make_png("train/a/2.png", 100);
    make_png("train/a/1.png", 150);
    make_folder("val");
    make_folder("val/a");
    make_folder("val/b");
    make_png("val/a/x.png", 1);
    make_png("val/b/x.png", 2);
}

static void folders_are_read(void **state)
{
    struct dataset *d;
    struct picture p;
    char text[DATASET_TEXT];

    (void)state;
    make_classes();
    assert_int_equal(dataset_open(dir, DATASET_TRAIN, &d), EMU_OK);
    assert_string_equal(d->format, "folders");
    assert_int_equal(d->samples, 3);
    assert_int_equal(d->classes, 2);
    assert_string_equal(d->name[0], "a");
    assert_int_equal(d->label[0], 0);
    assert_int_equal(d->label[2], 1);
    assert_non_null(strstr(dataset_sample_text(d, 0, text), "train/a/1.png"));
    assert_int_equal(dataset_picture(d, 2, &p), EMU_OK);
    assert_int_equal(p.rgb[0], 50);
    picture_free(&p);
    dataset_free(d);
    assert_int_equal(dataset_open(dir, DATASET_TEST, &d), EMU_OK);
    assert_int_equal(d->samples, 2);
    dataset_free(d);
    make_folder("train/empty");
    refused("train/empty: a class without pictures");
}

static void one_class_is_refused(void **state)
{
    (void)state;
    make_folder("only");
    make_png("only/1.png", 9);
    refused("one class only");
}

/* ---- batches ---- */

static const struct batch_options usual = { .batch = 3,
                                            .recipe = { .width = SIDE,
                                                        .height = SIDE,
                                                        .whole = 1,
                                                        .planes = 1,
                                                        .channels = PICTURE_GRAY,
                                                        .std = { 1, 1, 1 } },
                                            .augment = AUGMENT_CROP,
                                            .seed = 5,
                                            .shuffle = 1,
                                            .smoothing = 0.3,
                                            .classes = 3 };

struct taken {
    struct op_tensor data, targets;
    uint32_t label[3], count;
};

static void take(struct batches *b, struct taken *t)
{
    static const struct op_shape data = { OP_TYPE_F32, 4, { 3, 1, SIDE, SIDE } };
    static const struct op_shape targets = { OP_TYPE_F32, 2, { 3, 3 } };

    assert_int_equal(op_tensor_new(&data, &t->data), EMU_OK);
    assert_int_equal(op_tensor_new(&targets, &t->targets), EMU_OK);
    if (batches_next(b, &t->data, &t->targets, t->label, &t->count) != EMU_OK)
        fail_msg("%s", ss_error());
}

static void taken_free(struct taken *t)
{
    op_tensor_free(&t->data);
    op_tensor_free(&t->targets);
}

/* The numbers of an epoch, added up so that order counts. */
static double epoch_sum(struct dataset *d, uint64_t epoch, uint64_t skip, unsigned threads)
{
    struct batches b;
    double sum = 0;
    int was = omp_get_max_threads();

    omp_set_num_threads((int)threads);
    assert_int_equal(batches_new(d, &usual, &b), EMU_OK);
    batches_begin(&b, epoch, skip);
    for (;;) {
        struct taken t;

        take(&b, &t);
        for (unsigned k = 0; t.count && k < 3 * SIDE * SIDE; k++)
            sum = sum * 1.001 + t.data.f[k];
        for (unsigned k = 0; t.count && k < 9; k++)
            sum = sum * 1.001 + t.targets.f[k];
        taken_free(&t);
        if (!t.count)
            break;
    }
    batches_free(&b);
    omp_set_num_threads(was);
    return sum;
}

static void batches_depend_on_the_seed_only(void **state)
{
    struct dataset *d;
    struct batches b;
    struct taken t;
    double first;

    (void)state;
    make_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", PICTURES);
    assert_int_equal(dataset_open(dir, DATASET_TRAIN, &d), EMU_OK);
    first = epoch_sum(d, 0, 0, 1);
    assert_true(first == epoch_sum(d, 0, 0, 3));
    assert_true(first != epoch_sum(d, 1, 0, 1));
    assert_int_equal(batches_new(d, &usual, &b), EMU_OK);
    take(&b, &t);
    assert_int_equal(t.count, 3);
    for (unsigned k = 0; k < 3; k++) {
        for (unsigned c = 0; c < 3; c++)
            assert_true(fabs(t.targets.f[3 * k + c] - (c == t.label[k] ? 0.8 : 0.1)) < 1e-12);
        /* Picture p is all p + 1: its label goes with it. */
        assert_int_equal((lround(t.data.f[k * SIDE * SIDE] * 255) - 1) % 3, t.label[k]);
    }
    taken_free(&t);
    batches_free(&b);
    dataset_free(d);
}

/* The numbers of all pictures, added up; their order does not count. */
static double sum_of(struct dataset *d, const struct batch_options *o)
{
    struct batches b;
    struct taken t;
    double sum = 0;

    assert_int_equal(batches_new(d, o, &b), EMU_OK);
    do {
        take(&b, &t);
        for (unsigned k = 0; k < t.count * SIDE * SIDE; k++)
            sum += t.data.f[k];
        taken_free(&t);
    } while (t.count);
    batches_free(&b);
    return sum;
}

/* Unless training draws pieces or moves pictures, it and an evaluation read the same numbers. */
static void training_and_testing_prepare_alike(void **state)
{
    struct batch_options o = usual;
    struct dataset *d;
    double sum[2][2];

    (void)state;
    make_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", PICTURES);
    assert_int_equal(dataset_open(dir, DATASET_TRAIN, &d), EMU_OK);
    d->samples = 9; /* whole batches */
    for (uint64_t k = 0; k < d->samples * d->stride; k++)
        d->data[d->first + k] = (uint8_t)(k * 37 % 251);
    o.augment = AUGMENT_NONE;
    o.recipe = picture_recipe_of_share(SIDE, SIDE, 0.5);
    picture_recipe_gray(&o.recipe);
    for (o.recipe.whole = 0; o.recipe.whole < 2; o.recipe.whole++) {
        for (o.shuffle = 0; o.shuffle < 2; o.shuffle++)
            sum[o.recipe.whole][o.shuffle] = sum_of(d, &o);
        assert_true(fabs(sum[o.recipe.whole][0] - sum[o.recipe.whole][1]) < 1e-9);
    }
    assert_true(fabs(sum[0][0] - sum[1][0]) > 1e-3);
    dataset_free(d);
}

static void bad_pictures_are_passed_over(void **state)
{
    struct batch_options o = usual;
    struct dataset *d;
    struct batches b;
    struct taken t;

    (void)state;
    make_classes();
    write_file("train/a/1.png", "no picture", 10);
    o.shuffle = 0; /* as in an evaluation: the last batch is filled up */
    assert_int_equal(dataset_open(dir, DATASET_TRAIN, &d), EMU_OK);
    assert_int_equal(batches_new(d, &o, &b), EMU_OK);
    take(&b, &t);
    assert_int_equal(t.count, 2);
    assert_int_equal(b.bads, 1);
    assert_int_equal(t.label[0], 0);
    assert_int_equal(t.label[1], 1);
    assert_int_equal(lround(t.data.f[0] * 255), 100);
    assert_int_equal(lround(t.data.f[SIDE * SIDE] * 255), 50);
    taken_free(&t);
    batches_free(&b);
    o.classes = 1;
    assert_int_equal(batches_new(d, &o, &b), EMU_USAGE);
    dataset_free(d);
}

static void pictures_are_mirrored_and_moved(void **state)
{
    struct picture p = { .width = 16, .height = 8 }, out;
    unsigned mirrored = 0, moved = 0;

    (void)state;
    p.rgb = emu_alloc(16 * 8, 3);
    assert_non_null(p.rgb);
    p.rgb[3 * (4 * 16 + 3)] = 255; /* red, at (3, 4) */
    for (uint64_t seed = 0; seed < 64; seed++) {
        assert_int_equal(augment_picture(&p, AUGMENT_FLIP, seed, 16, 8, &out), EMU_OK);
        assert_int_equal(out.rgb[3 * (4 * 16 + 3)] + out.rgb[3 * (4 * 16 + 12)], 255);
        mirrored += out.rgb[3 * (4 * 16 + 12)] == 255;
        picture_free(&out);
        assert_int_equal(augment_picture(&p, AUGMENT_SHIFT, seed, 16, 8, &out), EMU_OK);
        moved += out.rgb[3 * (4 * 16 + 3)] != 255 && out.rgb[3 * (4 * 16 + 12)] != 255;
        picture_free(&out);
        assert_int_equal(augment_picture(&p, AUGMENT_CROP, seed, 5, 7, &out), EMU_OK);
        assert_int_equal(out.width, 5);
        assert_int_equal(out.height, 7);
        picture_free(&out);
    }
    assert_in_range(mirrored, 16, 48);
    assert_in_range(moved, 32, 64);
    picture_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(idx_is_read, begin, end),
        cmocka_unit_test_setup_teardown(idx_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(cifar_is_read, begin, end),
        cmocka_unit_test_setup_teardown(folders_are_read, begin, end),
        cmocka_unit_test_setup_teardown(one_class_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(batches_depend_on_the_seed_only, begin, end),
        cmocka_unit_test_setup_teardown(training_and_testing_prepare_alike, begin, end),
        cmocka_unit_test_setup_teardown(bad_pictures_are_passed_over, begin, end),
        cmocka_unit_test_setup_teardown(pictures_are_mirrored_and_moved, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
