/* run_matrix.c - run_matrix SUPERSTEP [NETWORKS [SEED]]: runs all combinations, or those of so many
 * networks for each row of the tables, as many groups at a time as there are cores, and prints how
 * many there were and what was wrong. */
#include "tests/matrix/matrix.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/base/random.h"
#include "models/graph/npy.h"

enum { TOKENS = 32, CLASSES = 10 };

static const unsigned batches[] = { 1, 4 };

static void must(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(2);
}

/* ---- files for all groups ---- */

static FILE *open_file(const struct matrix *m, const char *name)
{
    char path[PATH_BYTES + 64];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", m->folder, name);
    f = fopen(path, "w");
    must(f != NULL, path);
    return f;
}

/* Numbers of an input, INPUT.NAME.BATCH.npy; dims "1,8,8". */
static void write_numbers(const struct matrix *m, const struct small_input *in, char name,
                          const char *dims, unsigned batch)
{
    struct op_shape s = { .type = in->integers ? OP_TYPE_I64 : OP_TYPE_F32, .rank = 1 };
    uint64_t seed = batch + (unsigned char)name;
    struct op_tensor t;
    char file[64];
    FILE *f;

    s.dim[0] = batch;
    for (const char *at = dims; at;
         at = strpbrk(at, ", ") && *strpbrk(at, ", ") == ',' ? strchr(at, ',') + 1 : NULL)
        s.dim[s.rank++] = (uint32_t)atoi(at);
    must(op_tensor_new(&s, &t) == EMU_OK, "numbers");
    for (uint64_t k = 0; k < op_shape_count(&s); k++) {
        if (in->integers)
            t.i[k] = random_below(&seed, TOKENS);
        else
            t.f[k] = (double)random_u32(&seed) * 0x1p-31 - 1;
    }
    snprintf(file, sizeof(file), "%s.%c.%u.npy", in->name, name, batch);
    f = open_file(m, file);
    must(npy_write(&t, f) == EMU_OK && !fclose(f), file);
    op_tensor_free(&t);
}

static void write_inputs(const struct matrix *m)
{
    for (const struct small_input *in = small_inputs; in->name; in++) {
        for (unsigned b = 0; b < sizeof(batches) / sizeof(*batches); b++) {
            for (const char *at = in->input; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
                write_numbers(m, in, *at, at + 2, batches[b]);
        }
    }
}

static void link_picture(const struct matrix *m, const char *name, const char *as)
{
    char *from = realpath(name, NULL), to[PATH_BYTES + 64];

    must(from != NULL, name);
    snprintf(to, sizeof(to), "%s/%s", m->folder, as);
    for (char *c = to + strlen(m->folder) + 1; (c = strchr(c, '/')); c++) {
        *c = '\0';
        mkdir(to, 0777);
        *c = '/';
    }
    must(!symlink(from, to), to);
    free(from);
}

static void write_texts(const struct matrix *m)
{
    FILE *f = open_file(m, "labels");

    for (int k = 0; k < CLASSES; k++)
        fprintf(f, "class number %d\n", k);
    fclose(f);
    f = open_file(m, "script");
    fprintf(f, "step\nsuperstep\ncontinue\nback\nquit\n");
    fclose(f);
}

static void prepare(const struct matrix *m)
{
    static const char *const as[] = { "cat.jpg",
                                      "pictures/train/a/1.jpg",
                                      "pictures/train/a/2.jpg",
                                      "pictures/train/a/3.jpg",
                                      "pictures/train/b/1.jpg",
                                      "pictures/val/a/1.jpg",
                                      "pictures/val/b/1.jpg" };

    for (size_t k = 0; k < sizeof(as) / sizeof(*as); k++)
        link_picture(m, "models/pictures/cat.jpg", as[k]);
    write_inputs(m);
    write_texts(m);
}

/* ---- groups ---- */

static void be_group(struct group *g)
{
    static const char *const source[] = { "drawn", "files", "picture" };

    snprintf(g->folder, sizeof(g->folder), "%.300s/%s.%s.%u.%s", g->m->folder, g->in->name,
             g->out->name, g->batch, source[g->source]);
    must(!mkdir(g->folder, 0777), g->folder);
    snprintf(g->network, sizeof(g->network), "%.400s/%s.%s.onnx", g->folder, g->in->name,
             g->out->name);
    must(small_network_write(g->in->name, g->out->name, g->network), g->network);
    run_group(g);
    _exit(0);
}

/* Waits until fewer than so many processes run; one that failed is a combination that did. */
static void wait_for(const struct matrix *m, unsigned *running, unsigned below)
{
    for (; *running && *running >= below; (*running)--) {
        int status = 0;

        wait(&status);
        if (status)
            atomic_fetch_add(&m->totals->failed[WRONG_CRASH], 1);
    }
}

static void run_groups(const struct matrix *m)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned running = 0, index = 0, n = cores < 1 ? 1 : (unsigned)cores;

    for (const struct small_input *in = small_inputs; in->name; in++) {
        for (const struct small_output *out = small_outputs; out->name; out++, index += 2) {
            for (unsigned k = 0; k < 2 * SOURCES; k++) {
                struct group g = { .m = m,
                                   .in = in,
                                   .out = out,
                                   .batch = batches[k % 2],
                                   .network_index = index + k % 2,
                                   .source = (enum source)(k / 2) };

                wait_for(m, &running, n);
                if (!fork())
                    be_group(&g);
                running++;
            }
        }
    }
    wait_for(m, &running, 1);
}

/* ---- the whole ---- */

static unsigned count_networks(void)
{
    unsigned inputs = 0, outputs = 0;

    while (small_inputs[inputs].name)
        inputs++;
    while (small_outputs[outputs].name)
        outputs++;
    return inputs * outputs * (sizeof(batches) / sizeof(*batches));
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

int main(int argc, char **argv)
{
    struct matrix m = { .networks = count_networks(),
                        .share = argc > 2 ? (unsigned)atoi(argv[2]) : UINT_MAX,
                        .seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1,
                        .folder = "/tmp/superstep_matrix_XXXXXX" };
    struct totals *t =
        mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned wrong = 0;

    must(argc > 1, "run_matrix SUPERSTEP [NETWORKS [SEED]]");
    must(t != MAP_FAILED && mkdtemp(m.folder) && (m.program = realpath(argv[1], NULL)), argv[1]);
    m.totals = t;
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("SUPERSTEP_CACHE", "", 1);
    prepare(&m);
    run_groups(&m);
    for (unsigned k = 0; k < WRONG_KINDS; k++)
        wrong += t->failed[k];
    printf("%u combinations: %u crashes, %u lost outputs, %u wrong statuses, %u wrong numbers\n",
           t->combinations, t->failed[WRONG_CRASH], t->failed[WRONG_LOST], t->failed[WRONG_STATUS],
           t->failed[WRONG_NUMBER]);
    nftw(m.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return wrong || !t->combinations;
}
