/* test_model_weights.c - the parameters of a run: seeded and measured, the same from the cache, the
 * same from a file that was written; a damaged cache is measured again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "models/ask/model_weights.h"

enum { TEXT = 300 };

struct cached_weights {
    char cache[32], folder[48], file[400]; /* of the cache: its place, what is in it */
    struct net *n;
    struct network_choice q;
};

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

/* Finds the only file of the cache. */
static void find_file(struct cached_weights *r)
{
    DIR *d = opendir(r->folder);
    struct dirent *e;
    int files = 0;

    assert_non_null(d);
    while ((e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(r->file, sizeof(r->file), "%s/%s", r->folder, e->d_name);
        files++;
    }
    closedir(d);
    assert_int_equal(files, 1);
}

static struct cached_weights cached_weights_new(const char *name, uint32_t resolution)
{
    struct net_options o = { .resolution = resolution, .classes = 10 };
    struct cached_weights r = { .cache = "/tmp/test_cache_XXXXXX", .q = { .seed = 7 } };

    assert_non_null(mkdtemp(r.cache));
    snprintf(r.folder, sizeof(r.folder), "%s/superstep", r.cache);
    unsetenv("SUPERSTEP_CACHE");
    setenv("XDG_CACHE_HOME", r.cache, 1);
    must(net_new(name, &o, &r.n));
    return r;
}

static void cached_weights_free(struct cached_weights *r)
{
    find_file(r);
    unlink(r->file);
    rmdir(r->folder);
    rmdir(r->cache);
    net_free(r->n);
    assert_int_equal(alloc_live(), 0);
}

/* The parameters, and where they say they come from. */
static struct weights *get(struct cached_weights *r, const struct net *n, const char *from)
{
    struct weights *w;
    char text[TEXT];

    must(model_weights_get(&r->q, n, &w, text, sizeof(text)));
    if (!strstr(text, from))
        fail_msg("'%s' does not say '%s'", text, from);
    return w;
}

static void same(struct weights *a, struct weights *b)
{
    assert_int_equal(a->params, b->params);
    for (uint32_t i = 0; i < a->params; i++) {
        if (memcmp(a->param[i].data, b->param[i].data, a->param[i].elements * sizeof(float)))
            fail_msg("%s differs", a->param[i].name);
    }
    weights_free(b);
}

/* Inverts a byte of the cached file. */
static void damage(struct cached_weights *r, long at)
{
    FILE *f;
    int c;

    find_file(r);
    f = fopen(r->file, "r+b");
    assert_non_null(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 0x40, f);
    fclose(f);
}

static void cached(void **state)
{
    static const char *const name[] = { "efficientnet-b0", "efficientnet-b0-g16" };

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(name); i++) {
        struct cached_weights r = cached_weights_new(name[i], 24);
        struct weights *w = get(&r, r.n, "statistics measured");

        same(w, get(&r, r.n, "measured before"));
        r.n->batch = 3; /* not a matter of parameters */
        same(w, get(&r, r.n, "measured before"));
        damage(&r, 0);
        same(w, get(&r, r.n, "statistics measured"));
        damage(&r, -5);
        same(w, get(&r, r.n, "statistics measured"));
        damage(&r, 12); /* key */
        same(w, get(&r, r.n, "statistics measured"));
        same(w, get(&r, r.n, "measured before"));
        weights_free(w);
        cached_weights_free(&r);
    }
}

/* Large pictures are all measured at one size. */
static void one_file_for_all_sizes(void **state)
{
    struct cached_weights r = cached_weights_new("efficientnet-b0", CALIBRATION_SIDE + 32);
    struct weights *w;
    struct net *n;

    (void)state;
    must(net_resized(r.n, 8, 1, &n));
    r.q.seed = 8;
    weights_free(get(&r, n, "statistics measured"));
    find_file(&r);
    unlink(r.file);
    net_free(n);
    r.q.seed = 7;
    w = get(&r, r.n, "statistics measured");
    must(net_resized(r.n, CALIBRATION_SIDE, 4, &n));
    same(w, get(&r, n, "measured before"));
    net_free(n);
    weights_free(w);
    cached_weights_free(&r);
}

static void written_and_read(void **state)
{
    struct cached_weights r = cached_weights_new("efficientnet-b0", 16);
    char path[] = "/tmp/test_weights_XXXXXX";
    struct weights *w;

    (void)state;
    close(mkstemp(path));
    r.q.write_weights = path;
    w = get(&r, r.n, "seed 7, statistics measured");
    r.q.write_weights = NULL;
    r.q.weights = path;
    same(w, get(&r, r.n, "names of torchvision"));
    unlink(path);
    weights_free(w);
    cached_weights_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached),
        cmocka_unit_test(one_file_for_all_sizes),
        cmocka_unit_test(written_and_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
