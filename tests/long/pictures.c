/* pictures.c - for pictures.sh and stream_networks.sh: draws the pictures of
 * tests/fixtures/unlike_pictures.c as files, and compares what the machine made of them (--logits)
 * with the f64 reference.
 *
 *   pictures draw FOLDER [N]                      FOLDER/00-gradient.png ...; beyond the twenty
 * they come again larger, with other colours pictures compare NETWORK WEIGHTS LOGITS ...   files in
 * the order of the pictures
 */
#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/weights/calibrate.h"
#include "models/weights/safetensors.h"
#include "tests/fixtures/picture_fixture.h"

enum { SIDE = 480, ROUND_SIDE = 40, TOP = 5 };

/* Largest difference over the largest number of the reference. */
static const double error_limit = 2e-2;

/* ---- drawing ---- */

/* Red becomes green, green blue, blue red; so many times. */
static void turn_colours(struct picture *p, unsigned times)
{
    for (uint8_t *x = p->rgb; x < p->rgb + 3 * (size_t)p->width * p->height; x += 3) {
        for (unsigned k = 0; k < times % 3; k++) {
            uint8_t blue = x[2];

            x[2] = x[1];
            x[1] = x[0];
            x[0] = blue;
        }
    }
}

static enum emu_status draw_all(const char *folder, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned which = i % UNLIKE_PICTURES, round = i / UNLIKE_PICTURES;
        uint32_t side = SIDE + ROUND_SIDE * round;
        png_image image = {
            .version = PNG_IMAGE_VERSION, .width = side, .height = side, .format = PNG_FORMAT_RGB
        };
        char path[4096];
        struct picture p;
        int good;

        TRY(unlike_picture(which, side, &p));
        turn_colours(&p, round);
        snprintf(path, sizeof(path), "%.4000s/%02u-%s.png", folder, i, unlike_name[which]);
        good = png_image_write_to_file(&image, path, 0, p.rgb, 0, NULL);
        picture_free(&p);
        if (!good)
            return FAIL(IO, "%s: %s", path, image.message);
    }
    return EMU_OK;
}

/* ---- comparison ---- */

/* A file of --logits. */
struct answer {
    uint32_t batch, side, classes;
    float *input, *logits; /* owned */
};

static void answer_free(struct answer *a)
{
    ss_free(a->input);
    ss_free(a->logits);
}

static enum emu_status read_tensors(const struct safetensors *f, const char *path, struct answer *a)
{
    const struct safetensor *x = &f->tensor[0], *y = &f->tensor[1];

    if (f->tensors != 2 || strcmp(x->name, "input") || strcmp(y->name, "logits") || x->rank != 4 ||
        y->rank != 2 || x->shape[0] != y->shape[0])
        return FAIL(BAD_FILE, "%s: no pictures and logits", path);
    *a = (struct answer){ (uint32_t)x->shape[0], (uint32_t)x->shape[2], (uint32_t)y->shape[1],
                          emu_alloc(x->elements, 4), emu_alloc(y->elements, 4) };
    if (!a->input || !a->logits)
        return FAIL(NO_MEMORY, "%s", path);
    safetensors_to_f32(x, a->input);
    safetensors_to_f32(y, a->logits);
    return EMU_OK;
}

static enum emu_status answer_read(const char *path, struct answer *a)
{
    FILE *f = fopen(path, "rb");
    struct safetensors t;
    void *data = NULL;
    long bytes = 0;
    enum emu_status s;

    memset(a, 0, sizeof(*a));
    if (!f || fseek(f, 0, SEEK_END) || (bytes = ftell(f)) < 0)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    rewind(f);
    data = emu_alloc((size_t)bytes, 1);
    s = data && fread(data, 1, (size_t)bytes, f) == (size_t)bytes ? EMU_OK : FAIL(IO, "%s", path);
    fclose(f);
    if (s == EMU_OK)
        s = safetensors_open(data, (size_t)bytes, path, &t);
    if (s == EMU_OK) {
        s = read_tensors(&t, path, a);
        safetensors_free(&t);
    }
    ss_free(data);
    return s;
}

/* How many of x are larger, or as large and earlier. */
static unsigned rank_of(const double *x, uint32_t n, uint32_t k)
{
    unsigned larger = 0;

    for (uint32_t i = 0; i < n; i++)
        larger += x[i] > x[k] || (x[i] == x[k] && i < k);
    return larger;
}

static uint32_t at_rank(const double *x, uint32_t n, unsigned rank)
{
    for (uint32_t k = 0;; k++) {
        EMU_ASSERT(k < n);
        if (rank_of(x, n, k) == rank)
            return k;
    }
}

/* Prints a row; 1 when it is within the limits. */
static int compare_one(const char *name, const double *want, const double *got, uint32_t n)
{
    double error = 0, largest = 0, sixth = want[at_rank(want, n, TOP)];
    uint32_t first = at_rank(want, n, 0), ours = at_rank(got, n, 0);
    unsigned certain = 0, found = 0;
    double part;

    for (uint32_t k = 0; k < n; k++) {
        error = fmax(error, fabs(got[k] - want[k]));
        largest = fmax(largest, fabs(want[k]));
    }
    for (uint32_t k = 0; k < n; k++) {
        if (want[k] - sixth > 2 * error) {
            certain++;
            found += rank_of(got, n, k) < TOP;
        }
    }
    part = error / largest;
    printf("%-14s %9.3f %9.4f %9.2e %8u of %u %8u %8u%s%s\n", name, largest, error, part, found,
           certain, first, ours, part <= error_limit ? "" : "  TOO FAR",
           found == certain ? "" : "  CLASSES LOST");
    return part <= error_limit && found == certain;
}

struct sums {
    unsigned pictures, good, same_top;
    double worst;
};

static enum emu_status compare_file(struct net *n, const struct weights *w, const struct answer *a,
                                    struct sums *sum)
{
    struct op_graph *g = n->graph;
    uint32_t classes = n->classes;
    double *got = emu_alloc(classes, sizeof(*got));
    struct op_tensor input, out[2]; /* scores, logits */

    if (!got)
        return FAIL(NO_MEMORY, "logits");
    TRY(op_graph_output(g, op_value_find(g, net_logits)));
    weights_attach(w, n);
    TRY(op_tensor_new(&g->value[g->input[0]].shape, &input));
    for (uint64_t k = 0; k < op_shape_count(&input.shape); k++)
        input.f[k] = (double)a->input[k];
    TRY(op_graph_run(g, &input, 0, out));
    for (uint32_t p = 0; p < n->batch && sum->pictures < UNLIKE_PICTURES; p++) {
        const double *want = out[1].f + (size_t)p * classes;

        for (uint32_t k = 0; k < classes; k++)
            got[k] = a->logits[(size_t)p * classes + k];
        sum->good += (unsigned)compare_one(unlike_name[sum->pictures++], want, got, classes);
        sum->same_top += at_rank(want, classes, 0) == at_rank(got, classes, 0);
        for (uint32_t k = 0; k < classes; k++)
            sum->worst = fmax(sum->worst, fabs(got[k] - want[k]));
    }
    op_tensor_free(&input);
    op_tensor_free(&out[0]);
    op_tensor_free(&out[1]);
    ss_free(got);
    return EMU_OK;
}

static enum emu_status compare_next(const char *name, const char *weights, const char *path,
                                    struct sums *sum)
{
    struct net_options o = { 0 };
    struct weights *w = NULL;
    struct net *n = NULL;
    struct answer a;
    enum emu_status s = answer_read(path, &a);

    o.batch = a.batch;
    o.resolution = a.side;
    o.classes = a.classes;
    if (s == EMU_OK)
        s = net_new(name, &o, &n);
    if (s == EMU_OK)
        s = weights_new(n, &w);
    if (s == EMU_OK)
        s = weights_read(w, n, weights, stderr);
    if (s == EMU_OK)
        s = compare_file(n, w, &a, sum);
    weights_free(w);
    net_free(n);
    answer_free(&a);
    return s;
}

static enum emu_status compare_all(int files, char **arg, struct sums *sum)
{
    printf("%-14s %9s %9s %9s %13s %8s %8s\n", arg[0], "largest", "error", "part", "certain", "f64",
           "machine");
    for (int i = 2; i < files; i++)
        TRY(compare_next(arg[0], arg[1], arg[i], sum));
    printf("%u pictures, %u good; the best class is the same for %u; largest error %.4f\n\n",
           sum->pictures, sum->good, sum->same_top, sum->worst);
    return EMU_OK;
}

int main(int argc, char **argv)
{
    struct sums sum = { 0 };
    enum emu_status s = EMU_USAGE;

    if ((argc == 3 || argc == 4) && !strcmp(argv[1], "draw"))
        s = draw_all(argv[2], argc == 4 ? (unsigned)atoi(argv[3]) : UNLIKE_PICTURES);
    else if (argc > 4 && !strcmp(argv[1], "compare"))
        s = compare_all(argc - 2, argv + 2, &sum);
    else
        return 2;
    if (s != EMU_OK)
        fprintf(stderr, "pictures: %s\n", ss_error());
    return s != EMU_OK ? 2 : sum.good != sum.pictures;
}
